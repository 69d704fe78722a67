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
    /// A die can do something that it could not do before: begin, stage or suspend.
    pub(super) const WAKE: u32 = 1 << INDEX_BITS;
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

/// A group that host reads interrupted.
#[derive(Clone, Copy, Debug)]
struct Suspended {
    group: Group,
    /// What its array operation has left.
    left: Ns,
    at: Ns,
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
    suspended: Option<Suspended>,
    /// While an operation is being suspended nothing else can begin.
    settles_at: Ns,
    /// Whether it is in the list of dies that may have something to begin.
    restless: bool,
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
    /// Dies to look at before time goes on, in the order in which something happened to them.
    restless: Vec<u32>,
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
            settles_at: 0,
            restless: false,
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
            restless: Vec::new(),
            channel_free: vec![0; geometry.channels as usize],
            used: Utilization::default(),
        }
    }

    /// When the next event is due. Dies begin what they can only here, when everything that is emitted at a moment has
    /// been: so operations that are emitted together can run together on the planes of an idle die.
    pub(crate) fn next_event_ns(&mut self, checks: &mut Checks) -> Option<Ns> {
        for at in 0..self.restless.len() {
            let die = self.restless[at];
            self.dies[die as usize].restless = false;
            self.serve(die, checks);
        }
        self.restless.clear();
        self.events.next_ns()
    }

    fn rouse(&mut self, die: u32) {
        if !std::mem::replace(&mut self.dies[die as usize].restless, true) {
            self.restless.push(die);
        }
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
            assert!(self.operations.len() < event::INDEX as usize, "events name at most {} operations", event::INDEX);
            self.operations.push(operation);
            return self.operations.len() as u32 - 1;
        }
        let id = self.free;
        self.free = self.operations[id as usize].next;
        self.operations[id as usize] = operation;
        id
    }

    pub(crate) fn issue_read(&mut self, operation: Operation) -> OpId {
        let id = self.admit(operation);
        self.enter(id);
        OpId(id)
    }

    pub(crate) fn issue_program(&mut self, operation: Operation, after: OpId) {
        let id = self.admit(operation);
        if after != OpId::DONE {
            let first = &mut self.operations[after.0 as usize].waiters;
            let sibling = std::mem::replace(first, id);
            self.operations[id as usize].sibling = sibling;
            self.operations[id as usize].waiting = true;
        }
        self.enter(id);
        if operation.from.is_some() {
            self.hold(operation.from);
        }
    }

    /// The data of a page is on its way to another block: the next erase of the page's own block has to wait.
    fn hold(&mut self, from: Ppn) {
        let source = self.geometry.block_of(from);
        if self.blocks[source.at()].erase == NO_INDEX {
            self.blocks[source.at()].pending += 1;
        } else {
            let hold = self.admit(Operation::new(Kind::Hold, from, source, Origin::Host, NO_INDEX));
            self.enter(hold);
        }
    }

    pub(crate) fn issue_erase(&mut self, operation: Operation) {
        let id = self.admit(operation);
        self.enter(id);
    }

    /// An operation joins the life of its block that it was emitted for: the present one, or after a pending erase the
    /// next, which begins when that erase has ended.
    fn enter(&mut self, id: u32) {
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
            Kind::Read if page < state.programmed => self.enqueue(id),
            Kind::Read => {
                self.operations[id as usize].next = state.reads;
                state.reads = id;
            }
            Kind::Program | Kind::Copyback => {
                let mut programs = state.programs;
                self.append(&mut programs, id);
                self.blocks[block.at()].programs = programs;
                self.queue_programs(block);
            }
            Kind::Hold => self.retire(id),
            Kind::Erase => {
                state.erase = id;
                if state.pending == 0 {
                    self.enqueue(id);
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
    fn queue_programs(&mut self, block: BlockId) {
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
            self.enqueue(id);
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

    fn enqueue(&mut self, id: u32) {
        let operation = &self.operations[id as usize];
        let (plane, class) = (operation.plane, class_of(operation));
        let mut queue = self.queues[plane.at()][class];
        self.append(&mut queue, id);
        self.queues[plane.at()][class] = queue;
        let die = self.geometry.die_of(plane);
        self.dies[die.at()].queued[class] |= 1 << self.geometry.plane_in_die(plane);
        self.rouse(die.0);
    }
}

/// Dies: what runs next, and for how long.
impl Timed {
    /// Gives a die work if it can take any.
    fn serve(&mut self, die: u32, checks: &mut Checks) {
        let state = &self.dies[die as usize];
        if self.now < state.settles_at {
            return;
        }
        match state.active {
            None => match self.pick(die) {
                Some(head) => self.start(die, head, checks),
                None => self.go_on(die),
            },
            Some(group) if self.may_suspend(die, &group) => self.suspend(die, group),
            Some(_) => {}
        }
        if let Some(group) = self.dies[die as usize].active {
            self.stage(die, &group, checks);
        }
    }

    fn can_suspend(&self, kind: Kind) -> bool {
        match kind {
            Kind::Erase => self.suspend != Suspend::None,
            Kind::Program | Kind::Copyback => self.suspend == Suspend::ProgramErase,
            Kind::Read | Kind::Hold => false,
        }
    }

    fn may_suspend(&self, die: u32, active: &Group) -> bool {
        let state = &self.dies[die as usize];
        self.can_suspend(active.kind)
            && state.queued[HOST_READS] != 0
            && state.suspended.is_none()
            && state.staged.is_none_or(|staged| staged.array_from <= self.now)
            && self.now >= active.array_from
            && active.ends > self.now + self.suspend_ns
            && self.operations[active.head as usize].overtaken < self.max_overtakes
    }

    fn suspend(&mut self, die: u32, group: Group) {
        let state = &mut self.dies[die as usize];
        state.active = None;
        state.array_event = 0;
        state.suspended = Some(Suspended { group, left: group.ends - self.now, at: self.now });
        state.settles_at = self.now + self.suspend_ns;
        self.events.schedule(self.now + self.suspend_ns, event::WAKE | die);
    }

    /// No host read goes before it any more: what was suspended goes on, or what is staged begins.
    fn go_on(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        if let Some(Suspended { mut group, left, at }) = state.suspended.take() {
            group.since += self.now - at;
            group.array_from = self.now + self.suspend_ns;
            group.ends = group.array_from + left;
            self.occupy_die(die, group);
        } else if let Some(mut group) = state.staged.take() {
            group.since = self.now;
            group.array_from = group.array_from.max(self.now);
            group.ends = group.array_from + self.array_time(group.head);
            self.dies[die as usize].busy_since = self.now;
            self.occupy_die(die, group);
        }
    }

    /// A group is the die's active one from now on.
    fn occupy_die(&mut self, die: u32, group: Group) {
        self.dies[die as usize].active = Some(group);
        self.dies[die as usize].array_event = self.events.schedule(group.ends, event::ARRAY | die);
        // Before the array begins nothing can be staged or suspended; then there may be something that waits for it.
        let watched = self.cache_program && group.kind == Kind::Program || self.can_suspend(group.kind);
        if watched && group.array_from > self.now {
            self.events.schedule(group.array_from, event::WAKE | die);
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
        // Once it is loaded a host read may suspend the program before it.
        if self.can_suspend(Kind::Program) {
            self.events.schedule(loaded, event::WAKE | die);
        }
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

    /// Takes what runs next. Before an operation that is suspended or staged only host reads go, and not without end.
    fn pick(&mut self, die: u32) -> Option<u32> {
        let state = &self.dies[die as usize];
        let Some(held) = state.suspended.map(|suspended| suspended.group).or(state.staged) else {
            let (class, plane) = self.first(die, CLASSES)?;
            return Some(self.take_group(die, class, plane));
        };
        if self.operations[held.head as usize].overtaken == self.max_overtakes {
            return None;
        }
        let (class, plane) = self.first(die, HOST_READS + 1)?;
        self.operations[held.head as usize].overtaken += 1;
        Some(self.take_group(die, class, plane))
    }

    /// Takes the head of a plane's queue, and with multi-plane commands the heads of the other planes that match it.
    fn take_group(&mut self, die: u32, class: usize, plane: u32) -> u32 {
        let state = &mut self.dies[die as usize];
        state.overtaken[class] = 0;
        for lower in (class + 1..CLASSES).filter(|&lower| state.queued[lower] != 0) {
            state.overtaken[lower] = state.overtaken[lower].saturating_add(1);
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

    /// Starts a group on an idle die.
    fn start(&mut self, die: u32, head: u32, checks: &mut Checks) {
        let kind = self.operations[head as usize].kind;
        let array_from = match kind {
            Kind::Program => self.transfer_in(die, head, self.now),
            _ => self.occupy(die, self.now, self.timing.command_ns),
        };
        let ends = array_from + self.array_time(head);
        if self.dies[die as usize].suspended.is_none() {
            self.dies[die as usize].busy_since = self.now;
        }
        self.occupy_die(die, Group { head, kind, array_from, ends, since: self.now });
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
            event::WAKE => self.rouse(index),
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
        self.rouse(die);
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
        while id != NO_INDEX {
            let next = std::mem::replace(&mut self.operations[id as usize].next, NO_INDEX);
            self.complete(id, checks, completed);
            id = next;
        }
        self.rouse(die);
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
            Kind::Erase => return self.erased(operation.block),
            _ => self.programmed(operation.block, operation.page),
        }
        self.let_go(operation.block);
        if operation.from.is_some() {
            self.let_go(self.geometry.block_of(operation.from));
        }
        let mut waiter = operation.waiters;
        while waiter != NO_INDEX {
            let next = self.operations[waiter as usize].sibling;
            self.operations[waiter as usize].waiting = false;
            self.queue_programs(self.operations[waiter as usize].block);
            waiter = next;
        }
    }

    /// A page was programmed: reads that waited for it may go, and programs of another class.
    fn programmed(&mut self, block: BlockId, page: u32) {
        let state = &mut self.blocks[block.at()];
        state.programmed = page + 1;
        let mut read = std::mem::replace(&mut state.reads, NO_INDEX);
        while read != NO_INDEX {
            let next = self.operations[read as usize].next;
            if self.operations[read as usize].page <= page {
                self.enqueue(read);
            } else {
                let state = &mut self.blocks[block.at()];
                self.operations[read as usize].next = state.reads;
                state.reads = read;
            }
            read = next;
        }
        if self.blocks[block.at()].programs.head != NO_INDEX {
            self.queue_programs(block);
        }
    }

    fn let_go(&mut self, block: BlockId) {
        let state = &mut self.blocks[block.at()];
        state.pending -= 1;
        if state.pending == 0 && state.erase != NO_INDEX {
            let erase = state.erase;
            self.enqueue(erase);
        }
    }

    /// A block is erased: what was emitted for its next life may go, up to the erase that ends that life.
    fn erased(&mut self, block: BlockId) {
        let state = &mut self.blocks[block.at()];
        debug_assert_eq!((state.pending, state.reads, state.programs.head), (0, NO_INDEX, NO_INDEX), "all had ended");
        state.erase = NO_INDEX;
        state.programmed = 0;
        state.queued = 0;
        while self.blocks[block.at()].erase == NO_INDEX && self.blocks[block.at()].later.head != NO_INDEX {
            let id = self.blocks[block.at()].later.head;
            self.blocks[block.at()].later.head = self.operations[id as usize].next;
            self.enter(id);
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
