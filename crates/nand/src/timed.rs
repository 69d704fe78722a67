//! The timed back end: planes, dies and channels as resources, one event queue, nothing allocated once warm.
//!
//! - An operation waits in a queue of its plane and class until its die takes it. Classes are host reads; host programs
//!   and what they need done (collection for their space); and what is done ahead of need. A die takes the highest
//!   class first and the oldest first within it, but no operation is overtaken without bound.
//! - A die runs one array operation at a time, or one of a kind on several planes (multi-plane). A program occupies it
//!   from the start of its data transfer to the end of tPROG, a read from its command to the end of its transfer, so
//!   that the page register is never used twice; with cache program the next program's data is transferred meanwhile.
//! - A channel carries one transfer at a time, in the order in which they become ready.
//! - A host read may suspend an erase or a program that runs on its die, if the drive can.
//!
//! Dependencies are per block: programs in page order, reads after the program of their page, an erase after all that
//! was emitted before it for the block (the programs that copy out of it included), programs after a pending erase.

use flashloom_units::{BlockId, EventNumber, EventQueue, NO_INDEX, Ns, Ppn};

use crate::operation::{Kind, Operation};
use crate::{DeviceParams, DieOrder, Geometry, MultiPlane, OpId, Origin, Suspend, Timing, Urgency, Verifier};

const CLASSES: usize = 3;
const HOST_READS: usize = 0;

/// How busy the parts of the array were, summed over all of them, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Utilization {
    /// Time that channels carried something.
    pub channel_busy_ns: u128,
    /// Time that dies were occupied.
    pub die_busy_ns: u128,
    /// Die time of programs for the host.
    pub write_ns: u128,
    /// Die time of collection, merges and wear levelling: their reads, programs and erases.
    pub collection_ns: u128,
}

/// What an event means: the upper two bits of its code; the others are the index of a die or an operation.
mod event {
    /// The array operation of a die ends.
    pub(super) const ARRAY: u32 = 0 << INDEX_BITS;
    /// The data of a staged program is in the die's cache register.
    pub(super) const STAGED: u32 = 1 << INDEX_BITS;
    /// The data of a read has crossed the channel.
    pub(super) const TRANSFERRED: u32 = 2 << INDEX_BITS;

    pub(super) const INDEX: u32 = (1 << INDEX_BITS) - 1;
    const INDEX_BITS: u32 = 26;
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

impl List {
    const EMPTY: Self = Self { head: NO_INDEX, tail: NO_INDEX };
}

/// What is known of a block: how far it is programmed, and what waits for it.
#[derive(Clone, Copy, Debug)]
struct Block {
    programmed: u32,
    /// Operations that the next erase has to wait for.
    pending: u32,
    /// The erase that is emitted and not ended, or none.
    erase: u32,
    /// What was emitted for the block after its pending erase, in order: it belongs to the block's next life.
    later: List,
    /// Programs in page order that are not in their plane's queue yet.
    programs: List,
    /// Reads of pages whose program has not ended.
    reads: u32,
    /// The class of the program that was queued last: within one class the queue keeps page order.
    queued_class: u8,
    /// Pages in the queue, running or done.
    queued: u32,
}

/// Operations that run together on a die: one, or one a plane.
#[derive(Clone, Copy, Debug)]
struct Group {
    head: u32,
    kind: Kind,
    /// When the array begins (after the transfer of a program's data), and when it ends.
    array_from: Ns,
    ends: Ns,
    /// When the die was occupied by it, for the accounts.
    since: Ns,
}

#[derive(Clone, Copy, Debug)]
struct Die {
    channel: u32,
    /// The event that ends its array operation; one that a suspension overtook is not this one any more.
    array_event: EventNumber,
    active: Option<Group>,
    /// Reads of the active group whose data is still to cross the channel.
    transfers: u32,
    staged: Option<Group>,
    suspended: Option<(Group, Ns)>,
    /// A bit for each plane with something queued, by class.
    queued: [u32; CLASSES],
    /// How often a class was passed over for a higher one since its last turn.
    overtaken: [u16; CLASSES],
    busy_since: Ns,
}

pub(crate) struct Timed {
    geometry: Geometry,
    timing: Timing,
    /// tR and tPROG of each page of a block, by its type.
    page_times: Vec<(Ns, Ns)>,
    /// Command and data of a whole page on the channel.
    page_transfer_ns: Ns,
    multi_plane: MultiPlane,
    copyback: bool,
    cache_program: bool,
    suspend: Suspend,
    suspend_ns: Ns,
    max_overtakes: u16,
    order: DieOrder,
    now: Ns,
    sequence: u64,
    events: EventQueue,
    operations: Vec<Operation>,
    free: u32,
    in_flight: u64,
    blocks: Vec<Block>,
    queues: Vec<[List; CLASSES]>,
    dies: Vec<Die>,
    channel_free: Vec<Ns>,
    used: Utilization,
}

type Checks = Option<Box<Verifier>>;

/// Emission: what the FTL asks for, and when it may be queued.
impl Timed {
    pub(crate) fn new(params: &DeviceParams, written: &[u32]) -> Self {
        let geometry = params.geometry();
        let block = |&programmed: &u32| Block {
            programmed,
            pending: 0,
            erase: NO_INDEX,
            later: List::EMPTY,
            programs: List::EMPTY,
            reads: NO_INDEX,
            queued_class: 0,
            queued: programmed,
        };
        let die = |die| Die {
            channel: geometry.channel_of(flashloom_units::DieId(die)),
            array_event: 0,
            active: None,
            transfers: 0,
            staged: None,
            suspended: None,
            queued: [0; CLASSES],
            overtaken: [0; CLASSES],
            busy_since: 0,
        };
        let timing = params.timing();
        let page_times = (0..geometry.pages).map(|page| {
            let page_type = (page % timing.page_types) as usize;
            (timing.read_ns[page_type], timing.program_ns[page_type])
        });
        Self {
            geometry,
            page_times: page_times.collect(),
            page_transfer_ns: timing.command_ns + timing.transfer_ns(geometry.sectors_per_page()),
            timing,
            multi_plane: params.multi_plane,
            copyback: params.copyback,
            cache_program: params.cache_program,
            suspend: params.suspend,
            suspend_ns: params.suspend_ns,
            max_overtakes: params.max_overtakes as u16,
            order: params.die_order,
            now: 0,
            sequence: 0,
            events: EventQueue::default(),
            operations: Vec::new(),
            free: NO_INDEX,
            in_flight: 0,
            blocks: written.iter().map(block).collect(),
            queues: vec![[List::EMPTY; CLASSES]; geometry.total_planes() as usize],
            dies: (0..geometry.total_dies()).map(die).collect(),
            channel_free: vec![0; geometry.channels as usize],
            used: Utilization::default(),
        }
    }

    pub(crate) fn next_event_ns(&self) -> Option<Ns> {
        self.events.next_ns()
    }

    pub(crate) fn set_now(&mut self, now: Ns) {
        debug_assert!(now >= self.now, "time does not go back");
        self.now = now;
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    pub(crate) fn utilization(&self) -> Utilization {
        self.used
    }

    pub(crate) fn can_copy_back(&self, geometry: &Geometry, from: Ppn, source: BlockId, to: BlockId) -> bool {
        self.copyback
            && geometry.plane_of(source) == geometry.plane_of(to)
            && self.blocks[source.at()].erase == NO_INDEX
            && geometry.page_in_block(from) < self.blocks[source.at()].programmed
    }

    fn admit(&mut self, mut operation: Operation) -> u32 {
        operation.page = self.geometry.page_in_block(operation.ppn);
        operation.plane = self.geometry.plane_of(operation.block);
        operation.sequence = self.sequence;
        self.sequence += 1;
        self.in_flight += 1;
        if self.free == NO_INDEX {
            self.operations.push(operation);
            return self.operations.len() as u32 - 1;
        }
        let id = self.free;
        self.free = self.operations[id as usize].next;
        self.operations[id as usize] = operation;
        id
    }

    pub(crate) fn issue_read(&mut self, operation: Operation, checks: &mut Checks) -> OpId {
        let id = self.admit(operation);
        self.enter(id, checks);
        OpId(id)
    }

    pub(crate) fn issue_program(&mut self, operation: Operation, after: OpId, checks: &mut Checks) {
        let id = self.admit(operation);
        if after != OpId::DONE {
            let first = &mut self.operations[after.0 as usize].waiters;
            let sibling = std::mem::replace(first, id);
            self.operations[id as usize].sibling = sibling;
            self.operations[id as usize].waiting = true;
        }
        self.enter(id, checks);
        if operation.from.is_some() {
            self.hold(operation.from, checks);
        }
    }

    /// The data of a page is on its way to another block: the next erase of the page's own block has to wait.
    fn hold(&mut self, from: Ppn, checks: &mut Checks) {
        let source = self.geometry.block_of(from);
        if self.blocks[source.at()].erase == NO_INDEX {
            self.blocks[source.at()].pending += 1;
        } else {
            let hold = self.admit(Operation::new(Kind::Hold, from, source, Origin::Host, NO_INDEX));
            self.enter(hold, checks);
        }
    }

    pub(crate) fn issue_erase(&mut self, operation: Operation, checks: &mut Checks) {
        let id = self.admit(operation);
        self.enter(id, checks);
    }

    /// An operation joins the life of its block that it was emitted for: the present one, or after a pending erase the
    /// next, which begins when that erase has ended.
    fn enter(&mut self, id: u32, checks: &mut Checks) {
        let Operation { block, kind, page, .. } = self.operations[id as usize];
        if self.blocks[block.at()].erase != NO_INDEX {
            let mut later = self.blocks[block.at()].later;
            self.append(&mut later, id);
            self.blocks[block.at()].later = later;
            return;
        }
        let state = &mut self.blocks[block.at()];
        state.pending += u32::from(kind != Kind::Erase);
        match kind {
            Kind::Read if page < state.programmed => self.enqueue(id, checks),
            Kind::Read => {
                self.operations[id as usize].next = state.reads;
                state.reads = id;
            }
            Kind::Program | Kind::Copyback => {
                let mut programs = state.programs;
                self.append(&mut programs, id);
                self.blocks[block.at()].programs = programs;
                self.queue_programs(block, checks);
            }
            Kind::Hold => self.retire(id),
            Kind::Erase => {
                state.erase = id;
                if state.pending == 0 {
                    self.enqueue(id, checks);
                }
            }
        }
    }

    /// An operation is over: its place is free.
    fn retire(&mut self, id: u32) {
        self.operations[id as usize].next = self.free;
        self.free = id;
        self.in_flight -= 1;
    }

    /// Queues the programs of a block that nothing holds back any more, in page order.
    fn queue_programs(&mut self, block: BlockId, checks: &mut Checks) {
        loop {
            let state = &self.blocks[block.at()];
            let id = state.programs.head;
            if id == NO_INDEX || self.operations[id as usize].waiting {
                return;
            }
            let class = class_of(&self.operations[id as usize]) as u8;
            if class != state.queued_class && state.programmed != state.queued {
                return;
            }
            let next = self.operations[id as usize].next;
            let state = &mut self.blocks[block.at()];
            state.programs.head = next;
            state.queued_class = class;
            state.queued += 1;
            self.enqueue(id, checks);
        }
    }

    fn append(&mut self, list: &mut List, id: u32) {
        self.operations[id as usize].next = NO_INDEX;
        if list.head == NO_INDEX {
            list.head = id;
        } else {
            self.operations[list.tail as usize].next = id;
        }
        list.tail = id;
    }

    fn enqueue(&mut self, id: u32, checks: &mut Checks) {
        let operation = &self.operations[id as usize];
        let (plane, class) = (operation.plane, class_of(operation));
        let mut queue = self.queues[plane.at()][class];
        self.append(&mut queue, id);
        self.queues[plane.at()][class] = queue;
        let die = self.geometry.die_of(plane);
        self.dies[die.at()].queued[class] |= 1 << self.geometry.plane_in_die(plane);
        self.serve(die.0, checks);
    }
}

/// Dies: what runs next, and for how long.
impl Timed {
    /// Gives a die work if it can take any.
    fn serve(&mut self, die: u32, checks: &mut Checks) {
        let state = &self.dies[die as usize];
        match state.active {
            None => match self.pick(die) {
                Some(head) => self.start(die, head, self.now, checks),
                None => self.resume(die),
            },
            Some(group) if self.may_suspend(die, &group) => {
                let state = &mut self.dies[die as usize];
                state.active = None;
                state.suspended = Some((group, group.ends - self.now));
                let head = self.pick(die).expect("a host read waits, or nothing would be suspended");
                self.start(die, head, self.now + self.suspend_ns, checks);
            }
            Some(group) => self.stage(die, &group, checks),
        }
    }

    fn may_suspend(&self, die: u32, active: &Group) -> bool {
        let state = &self.dies[die as usize];
        let allowed = match active.kind {
            Kind::Erase => self.suspend != Suspend::None,
            Kind::Program | Kind::Copyback => self.suspend == Suspend::ProgramErase,
            Kind::Read | Kind::Hold => false,
        };
        allowed
            && state.queued[HOST_READS] != 0
            && state.suspended.is_none()
            && state.staged.is_none()
            && self.now >= active.array_from
            && active.ends > self.now + self.suspend_ns
            && self.operations[active.head as usize].overtaken < self.max_overtakes
    }

    fn resume(&mut self, die: u32) {
        let now = self.now;
        let state = &mut self.dies[die as usize];
        if let Some((mut group, left)) = state.suspended.take() {
            group.array_from = now + self.suspend_ns;
            group.ends = group.array_from + left;
            state.active = Some(group);
            self.schedule_array_end(die, group.ends);
        }
    }

    /// With cache program, sends the data of the next program while the die still programs.
    fn stage(&mut self, die: u32, active: &Group, checks: &mut Checks) {
        let state = &self.dies[die as usize];
        let fits = self.cache_program
            && active.kind == Kind::Program
            && self.now >= active.array_from
            && state.staged.is_none()
            && state.suspended.is_none();
        if !fits || state.queued[HOST_READS] != 0 {
            return;
        }
        let Some((class, plane)) = self.first(die, CLASSES) else { return };
        let head = self.queues[self.plane(die, plane)][class].head;
        if self.operations[head as usize].kind != Kind::Program {
            return;
        }
        let head = self.take_group(die, class, plane);
        let loaded = self.transfer_in(die, head, self.now);
        let group = Group { head, kind: Kind::Program, array_from: loaded, ends: 0, since: self.now };
        self.dies[die as usize].staged = Some(group);
        self.note_start(head, checks);
    }

    fn plane(&self, die: u32, plane: u32) -> usize {
        (die * self.geometry.planes + plane) as usize
    }

    /// The class and plane of the operation that is next among the first `classes`.
    fn first(&self, die: u32, classes: usize) -> Option<(usize, u32)> {
        let state = &self.dies[die as usize];
        let mut classes = 0..classes;
        if self.order == DieOrder::Priority {
            let starved = classes.clone().rfind(|&class| state.overtaken[class] >= self.max_overtakes);
            let class = starved.or_else(|| classes.find(|&class| state.queued[class] != 0))?;
            if state.queued[class].is_power_of_two() {
                return Some((class, state.queued[class].trailing_zeros()));
            }
            classes = class..class + 1;
        }
        let mut best: Option<(usize, u32)> = None;
        let mut oldest = u64::MAX;
        for class in classes {
            let mut planes = state.queued[class];
            while planes != 0 {
                let plane = planes.trailing_zeros();
                planes &= planes - 1;
                let head = self.queues[self.plane(die, plane)][class].head;
                let sequence = self.operations[head as usize].sequence;
                if sequence < oldest {
                    oldest = sequence;
                    best = Some((class, plane));
                }
            }
        }
        best
    }

    /// Takes what runs next; before a suspended operation goes on only host reads, and not without end.
    fn pick(&mut self, die: u32) -> Option<u32> {
        let mut classes = CLASSES;
        if let Some((group, _)) = self.dies[die as usize].suspended {
            let suspended = &mut self.operations[group.head as usize];
            if suspended.overtaken == self.max_overtakes {
                return None;
            }
            suspended.overtaken += 1;
            classes = HOST_READS + 1;
        }
        let (class, plane) = self.first(die, classes)?;
        Some(self.take_group(die, class, plane))
    }

    /// Takes the head of a plane's queue, and with multi-plane commands the heads of the other planes that match it.
    fn take_group(&mut self, die: u32, class: usize, plane: u32) -> u32 {
        let state = &mut self.dies[die as usize];
        state.overtaken[class] = 0;
        for lower in (class + 1..CLASSES).filter(|&lower| state.queued[lower] != 0) {
            state.overtaken[lower] += 1;
        }
        let head = self.pop(die, class, plane);
        let mut others = self.dies[die as usize].queued[class] & !(1 << plane);
        if self.multi_plane == MultiPlane::None || others == 0 {
            return head;
        }
        let (kind, page) = self.kind_and_page(head);
        let mut tail = head;
        while others != 0 {
            let other = others.trailing_zeros();
            others &= others - 1;
            let (other_kind, other_page) = self.kind_and_page(self.queues[self.plane(die, other)][class].head);
            let aligned = kind == Kind::Erase || page == other_page || self.multi_plane == MultiPlane::Independent;
            if kind == other_kind && aligned {
                let id = self.pop(die, class, other);
                self.operations[tail as usize].next = id;
                tail = id;
            }
        }
        head
    }

    fn kind_and_page(&self, id: u32) -> (Kind, u32) {
        let operation = &self.operations[id as usize];
        (operation.kind, operation.page)
    }

    fn pop(&mut self, die: u32, class: usize, plane: u32) -> u32 {
        let index = self.plane(die, plane);
        let queue = &mut self.queues[index][class];
        let id = queue.head;
        queue.head = std::mem::replace(&mut self.operations[id as usize].next, NO_INDEX);
        if queue.head == NO_INDEX {
            self.dies[die as usize].queued[class] &= !(1 << plane);
        }
        id
    }

    /// Starts a group at `from`, which is later than now while an operation is being suspended.
    fn start(&mut self, die: u32, head: u32, from: Ns, checks: &mut Checks) {
        let kind = self.operations[head as usize].kind;
        let longest = self.array_time(head);
        let array_from = match kind {
            Kind::Program => self.transfer_in(die, head, from),
            _ => self.occupy(die, from, self.timing.command_ns),
        };
        let ends = array_from + longest;
        let now = self.now;
        let state = &mut self.dies[die as usize];
        if state.suspended.is_none() {
            state.busy_since = now;
        }
        state.active = Some(Group { head, kind, array_from, ends, since: now });
        self.schedule_array_end(die, ends);
        if self.cache_program && kind == Kind::Program && array_from > now {
            self.events.schedule(array_from, event::STAGED | die);
        }
        self.note_start(head, checks);
    }

    /// The longest array time of a group.
    fn array_time(&self, head: u32) -> Ns {
        let mut longest = 0;
        let mut id = head;
        while id != NO_INDEX {
            let operation = &self.operations[id as usize];
            let (read_ns, program_ns) = self.page_times[operation.page as usize];
            longest = longest.max(match operation.kind {
                Kind::Read => read_ns,
                Kind::Program => program_ns,
                Kind::Copyback => read_ns + program_ns,
                Kind::Erase => self.timing.erase_ns,
                Kind::Hold => unreachable!("a hold is never queued"),
            });
            id = operation.next;
        }
        longest
    }

    /// Commands and data of a group of programs over the channel; answers when the last is in.
    fn transfer_in(&mut self, die: u32, head: u32, from: Ns) -> Ns {
        let (mut id, mut loaded) = (head, from);
        while id != NO_INDEX {
            loaded = self.occupy(die, from, self.page_transfer_ns);
            id = self.operations[id as usize].next;
        }
        loaded
    }

    /// Takes the next free stretch of the die's channel; answers when it ends.
    fn occupy(&mut self, die: u32, from: Ns, duration: Ns) -> Ns {
        if duration == 0 {
            return from;
        }
        let free = &mut self.channel_free[self.dies[die as usize].channel as usize];
        *free = from.max(*free) + duration;
        self.used.channel_busy_ns += u128::from(duration);
        *free
    }

    fn note_start(&mut self, head: u32, checks: &mut Checks) {
        if let Some(verifier) = checks {
            let mut id = head;
            while id != NO_INDEX {
                let operation = &self.operations[id as usize];
                verifier.start(operation.kind, operation.ppn, operation.from, operation.block);
                id = operation.next;
            }
        }
    }

    fn schedule_array_end(&mut self, die: u32, at: Ns) {
        self.dies[die as usize].array_event = self.events.schedule(at, event::ARRAY | die);
    }
}

/// Events: what ends, and what that sets free.
impl Timed {
    /// Processes the next event; the tags of what ended are added to `completed`.
    pub(crate) fn step(&mut self, checks: &mut Checks, completed: &mut Vec<u32>) {
        let Some((at, number, code)) = self.events.pop() else { return };
        debug_assert_eq!(at, self.now, "events are processed when they are due");
        let index = code & event::INDEX;
        match code & !event::INDEX {
            event::ARRAY if self.dies[index as usize].array_event == number => {
                self.array_ended(index, checks, completed);
            }
            event::ARRAY => {}
            event::STAGED => self.serve(index, checks),
            _ => self.transferred(index, checks, completed),
        }
    }

    fn transferred(&mut self, id: u32, checks: &mut Checks, completed: &mut Vec<u32>) {
        let die = self.geometry.die_of(self.operations[id as usize].plane).0;
        self.dies[die as usize].transfers -= 1;
        if self.dies[die as usize].transfers == 0 {
            self.release(die);
        }
        self.complete(id, checks, completed);
        if self.dies[die as usize].active.is_none() {
            self.serve(die, checks);
        }
    }

    fn array_ended(&mut self, die: u32, checks: &mut Checks, completed: &mut Vec<u32>) {
        let group = self.dies[die as usize].active.expect("the array of an idle die does not end");
        let mut id = group.head;
        if group.kind == Kind::Read {
            while id != NO_INDEX {
                let sectors = self.operations[id as usize].mask.count_ones();
                let end = self.occupy(die, self.now, self.timing.transfer_ns(sectors));
                self.dies[die as usize].transfers += 1;
                self.events.schedule(end, event::TRANSFERRED | id);
                id = std::mem::replace(&mut self.operations[id as usize].next, NO_INDEX);
            }
            return;
        }
        self.release(die);
        if let Some(mut staged) = self.dies[die as usize].staged.take() {
            let state = &mut self.dies[die as usize];
            staged.array_from = staged.array_from.max(self.now);
            staged.since = self.now;
            state.busy_since = self.now;
            staged.ends = staged.array_from + self.array_time(staged.head);
            self.dies[die as usize].active = Some(staged);
            self.schedule_array_end(die, staged.ends);
            if staged.array_from > self.now {
                self.events.schedule(staged.array_from, event::STAGED | die);
            }
        }
        while id != NO_INDEX {
            let next = std::mem::replace(&mut self.operations[id as usize].next, NO_INDEX);
            self.complete(id, checks, completed);
            id = next;
        }
        self.serve(die, checks);
    }

    /// The die is free of its active group: closes its accounts.
    fn release(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        let group = state.active.take().expect("an idle die has nothing to release");
        if state.suspended.is_none() {
            self.used.die_busy_ns += u128::from(self.now - state.busy_since);
        }
        let occupied = u128::from(self.now - group.since);
        match (self.operations[group.head as usize].origin, group.kind) {
            (Origin::Host, Kind::Program) => self.used.write_ns += occupied,
            (Origin::Host | Origin::Map, _) => {}
            (Origin::Gc | Origin::Merge | Origin::Wear, _) => self.used.collection_ns += occupied,
        }
    }

    fn complete(&mut self, id: u32, checks: &mut Checks, completed: &mut Vec<u32>) {
        let operation = self.operations[id as usize];
        self.retire(id);
        if let Some(verifier) = checks {
            match operation.kind {
                Kind::Read => verifier.end_read(operation.ppn, operation.mask, operation.expect()),
                Kind::Erase => verifier.end_erase(operation.block),
                kind => verifier.end_program(operation.ppn, operation.data(), kind == Kind::Copyback),
            }
        }
        if operation.tag != NO_INDEX {
            completed.push(operation.tag);
        }
        match operation.kind {
            Kind::Read => {}
            Kind::Erase => return self.erased(operation.block, checks),
            _ => self.programmed(operation.block, operation.page, checks),
        }
        self.let_go(operation.block, checks);
        if operation.from.is_some() {
            self.let_go(self.geometry.block_of(operation.from), checks);
        }
        let mut waiter = operation.waiters;
        while waiter != NO_INDEX {
            let next = self.operations[waiter as usize].sibling;
            self.operations[waiter as usize].waiting = false;
            self.queue_programs(self.operations[waiter as usize].block, checks);
            waiter = next;
        }
    }

    /// A page was programmed: reads that waited for it may go, and programs of another class.
    fn programmed(&mut self, block: BlockId, page: u32, checks: &mut Checks) {
        let state = &mut self.blocks[block.at()];
        state.programmed = page + 1;
        let mut read = std::mem::replace(&mut state.reads, NO_INDEX);
        while read != NO_INDEX {
            let next = self.operations[read as usize].next;
            if self.operations[read as usize].page <= page {
                self.enqueue(read, checks);
            } else {
                let state = &mut self.blocks[block.at()];
                self.operations[read as usize].next = state.reads;
                state.reads = read;
            }
            read = next;
        }
        if self.blocks[block.at()].programs.head != NO_INDEX {
            self.queue_programs(block, checks);
        }
    }

    fn let_go(&mut self, block: BlockId, checks: &mut Checks) {
        let state = &mut self.blocks[block.at()];
        state.pending -= 1;
        if state.pending == 0 && state.erase != NO_INDEX {
            let erase = state.erase;
            self.enqueue(erase, checks);
        }
    }

    /// A block is erased: what was emitted for its next life may go, up to the erase that ends that life.
    fn erased(&mut self, block: BlockId, checks: &mut Checks) {
        let state = &mut self.blocks[block.at()];
        debug_assert_eq!((state.pending, state.reads, state.programs.head), (0, NO_INDEX, NO_INDEX), "all had ended");
        state.erase = NO_INDEX;
        state.programmed = 0;
        state.queued = 0;
        while self.blocks[block.at()].erase == NO_INDEX && self.blocks[block.at()].later.head != NO_INDEX {
            let id = self.blocks[block.at()].later.head;
            self.blocks[block.at()].later.head = self.operations[id as usize].next;
            self.enter(id, checks);
        }
    }
}

fn class_of(operation: &Operation) -> usize {
    match (operation.origin, operation.kind, operation.urgency) {
        (Origin::Host | Origin::Map, Kind::Read, _) => HOST_READS,
        (_, _, Urgency::Needed) => 1,
        (_, _, Urgency::Spare) => 2,
    }
}

impl Timing {
    /// Time of the channel for the data of that many sectors.
    pub fn transfer_ns(&self, sectors: u32) -> Ns {
        (u64::from(sectors) * self.sector_ps).div_ceil(1_000)
    }
}
