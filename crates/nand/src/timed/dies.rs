//! Dies: which operation they begin next, for how long it runs, and what may suspend it.

use std::ops::Range;

use crate::path::{Path, Recorded};
use crate::{DieId, DieOrder, MultiPlane, Suspend};
use flashloom_units::NO_INDEX;

use super::{BLOCKING, CLASSES, Die, Group, HOST_READS, Plane, Suspended, Timed, event};
use crate::event::{Event, OperationKind};
use crate::operation::Operation;

/// A non-empty queue of a die.
#[derive(Clone, Copy)]
pub(super) struct QueuePlace {
    class: u8,
    plane: u8,
}

impl Timed {
    /// Lets a die that was woken begin an operation, if it can.
    #[inline(always)]
    pub(super) fn serve(&mut self, die: u32, path: &mut impl Path) {
        let state = &mut self.dies[die as usize];
        state.restless = false;
        if !path.is_plain() && self.begins_while_busy {
            self.serve_busy(die, path);
        } else if state.active.is_none() && state.classes != 0 {
            self.begin_next(die, path);
        }
    }

    /// The same for a die that may be busy: it may suspend its operation or stage another.
    #[inline(never)]
    fn serve_busy(&mut self, die: u32, path: &mut impl Path) {
        let state = &self.dies[die as usize];
        if self.now < state.settles_at {
            return;
        }
        if state.active.is_some() {
            self.suspend_active(die, path);
        } else if state.suspended.is_some() || state.staged.is_some() {
            self.begin_read_before(die, path);
        } else if state.classes != 0 {
            self.begin_next(die, path);
        }
        if self.cache_program {
            self.stage(die, path);
        }
    }

    /// Lets an idle die begin its next operation, unless that has to wait for its group.
    #[inline(always)]
    fn begin_next(&mut self, die: u32, path: &mut impl Path) {
        if let Some(place) = self.first(die) {
            self.begin(die, place, path);
        }
    }

    /// Lets host reads overtake a suspended or staged operation, up to the limit; then that operation continues.
    fn begin_read_before(&mut self, die: u32, path: &mut impl Path) {
        let place = self.first_of(die, HOST_READS as u8);
        let most = self.max_overtakes;
        let state = &mut self.dies[die as usize];
        let may_go = state.starved == 0 || self.order == DieOrder::Fifo;
        let held = state.suspended.as_mut().map(|suspended| &mut suspended.group).or(state.staged.as_mut());
        if let (Some(held), Some(place)) = (held.filter(|held| may_go && held.overtaken < most), place) {
            held.overtaken += 1;
            return self.begin(die, place, path);
        }
        self.go_on(die, path);
    }

    fn can_suspend(&self, kind: OperationKind) -> bool {
        match kind {
            OperationKind::Erase => self.suspend != Suspend::None,
            OperationKind::Program | OperationKind::Copyback => self.suspend == Suspend::ProgramErase,
            OperationKind::Read | OperationKind::Hold => false,
        }
    }

    fn may_suspend(&self, die: u32, active: &Group) -> bool {
        let state = &self.dies[die as usize];
        self.can_suspend(active.kind)
            && state.queued[HOST_READS] != 0
            && usize::from(self.operations[active.head as usize].class) != BLOCKING
            && state.suspended.is_none()
            && state.staged.is_none_or(|staged| staged.array_from <= self.now)
            && self.now >= active.array_from
            && active.ends > self.now + self.suspend_ns
            && active.overtaken < self.max_overtakes
            && (state.starved == 0 || self.order == DieOrder::Fifo)
    }

    /// Suspends the operations of a die if host reads are queued that may overtake them.
    fn suspend_active(&mut self, die: u32, path: &mut impl Path) {
        let Some(group) = self.dies[die as usize].active.filter(|group| self.may_suspend(die, group)) else { return };
        let state = &mut self.dies[die as usize];
        state.active = None;
        state.array_event = 0;
        state.suspended = Some(Suspended { group, left: group.ends - self.now, at: self.now });
        state.settles_at = self.now + self.suspend_ns;
        self.events.schedule(self.now + self.suspend_ns, event::WAKE | die);
        path.tell(|| Event::Suspended { die: DieId(die), settled: self.now + self.suspend_ns });
    }

    /// No more host reads overtake: resumes the suspended operation, or starts the staged one.
    fn go_on(&mut self, die: u32, path: &mut impl Path) {
        let state = &mut self.dies[die as usize];
        if let Some(Suspended { mut group, left, at }) = state.suspended.take() {
            group.since += self.now - at;
            group.array_from = self.now + self.suspend_ns;
            group.ends = group.array_from + left;
            self.occupy_die(die, group, path);
            path.tell(|| Event::Resumed { die: DieId(die), array_from: group.array_from });
        } else if let Some(mut group) = state.staged.take() {
            group.since = self.now;
            let array_ns = group.ends - group.array_from;
            group.array_from = group.array_from.max(self.now);
            group.ends = group.array_from + array_ns;
            self.dies[die as usize].busy_since = self.now;
            self.occupy_die(die, group, path);
            self.note_beginning(&group, path);
        }
    }

    /// Makes a group of operations the active one of its die.
    #[inline(always)]
    fn occupy_die(&mut self, die: u32, group: Group, path: &impl Path) {
        let state = &mut self.dies[die as usize];
        state.active = Some(group);
        state.array_event = self.events.schedule(group.ends, event::ARRAY | die);
        // Before its array operation begins, nothing can be staged or suspended. Wake the die then, in case something
        // waits.
        if path.is_plain() {
            return;
        }
        let can_stage = self.cache_program && group.kind == OperationKind::Program;
        if self.begins_while_busy && group.array_from > self.now && (can_stage || self.can_suspend(group.kind)) {
            self.events.schedule(group.array_from, event::WAKE | die);
        }
    }

    /// With cache program, sends the data of the next program while the die still programs.
    fn stage(&mut self, die: u32, path: &mut impl Path) {
        let state = &self.dies[die as usize];
        let Some(active) = state.active else { return };
        let fits = active.kind == OperationKind::Program
            && self.now >= active.array_from
            && state.staged.is_none()
            && state.suspended.is_none();
        if !fits || state.classes == 0 || state.queued[HOST_READS] != 0 {
            return;
        }
        let Some(place) = self.first(die) else { return };
        let plane = (self.dies[die as usize].first_plane + u32::from(place.plane)) as usize;
        let head = self.planes[plane].queues[place.class as usize].head;
        if self.operations[head as usize].kind != OperationKind::Program {
            return;
        }
        let group = self.take_group(die, place, path);
        self.dies[die as usize].staged = Some(group);
        // As soon as it is staged, a host read may suspend the program before it.
        if self.can_suspend(OperationKind::Program) {
            self.events.schedule(group.array_from, event::WAKE | die);
        }
        self.note_start(die, true, path);
    }

    /// The queue of the next operation on a die that has any queued.
    #[inline(always)]
    fn first(&self, die: u32) -> Option<QueuePlace> {
        match self.order {
            DieOrder::Fifo => self.oldest(die, 0..CLASSES as u8),
            DieOrder::Priority => self.first_of(die, self.dies[die as usize].next_class()),
        }
    }

    /// The queue of the next operation of a class.
    #[inline(always)]
    fn first_of(&self, die: u32, class: u8) -> Option<QueuePlace> {
        let planes = self.dies[die as usize].queued[class as usize];
        if planes.is_power_of_two() {
            Some(QueuePlace { class, plane: planes.trailing_zeros() as u8 })
        } else {
            self.oldest(die, class..class + 1)
        }
    }

    /// The queue with the oldest operation of some classes.
    fn oldest(&self, die: u32, classes: Range<u8>) -> Option<QueuePlace> {
        let state = &self.dies[die as usize];
        let queues = &self.planes[state.first_plane as usize..];
        let mut best = None;
        let mut oldest = u64::MAX;
        for class in classes {
            let mut planes = state.queued[class as usize];
            while planes != 0 {
                let plane = planes.trailing_zeros();
                planes &= planes - 1;
                let head = queues[plane as usize].queues[class as usize].head;
                let operation = &self.operations[head as usize];
                if operation.sequence < oldest && self.is_whole(head, operation) {
                    oldest = operation.sequence;
                    best = Some(QueuePlace { class, plane: plane as u8 });
                }
            }
        }
        best
    }

    /// Whether the head of a queue may begin. Erases emitted together begin together: the first waits until all of them
    /// head their queues. They were queued at the same time, so two such groups are in the same order in every plane.
    #[inline(always)]
    fn is_whole(&self, head: u32, operation: &Operation) -> bool {
        if operation.kind != OperationKind::Erase || self.multi_plane == MultiPlane::None {
            return true;
        }
        let mut member = operation.sibling;
        while member != head {
            let Operation { plane, sibling, .. } = self.operations[member as usize];
            if self.planes[plane.at()].queues[operation.class as usize].head != member {
                return false;
            }
            member = sibling;
        }
        true
    }

    /// Begins the head of a plane's queue, with multi-plane commands together with matching heads of other planes.
    #[inline(always)]
    fn begin(&mut self, die: u32, place: QueuePlace, path: &mut impl Path) {
        if !path.is_plain() && self.known.0.is_some() {
            return self.begin_known(die, place, path);
        }
        let group = self.take_group(die, place, path);
        self.begin_group(die, group, path);
    }

    #[inline(always)]
    pub(super) fn begin_group(&mut self, die: u32, group: Group, path: &mut impl Path) {
        let state = &mut self.dies[die as usize];
        if path.is_plain() || state.suspended.is_none() {
            state.busy_since = self.now;
        }
        self.occupy_die(die, group, path);
        self.note_start(die, false, path);
    }

    /// Takes the head of a plane's queue, with multi-plane commands together with matching heads of other planes.
    /// Reserves the channel for their commands and the data of programs, after which the array operation begins.
    #[inline(always)]
    pub(super) fn take_group(&mut self, die: u32, place: QueuePlace, path: &impl Path) -> Group {
        let (class, plane) = (usize::from(place.class), u32::from(place.plane));
        let (now, operations, state) = (self.now, &mut self.operations[..], &mut self.dies[die as usize]);
        let head = state.pop(&mut self.planes, operations, class, plane);
        state.has_turn(class, self.max_overtakes);
        let others = state.queued[class] & !(1 << plane);
        if others != 0 && self.multi_plane != MultiPlane::None {
            state.take_others(&mut self.planes, operations, class, (head, others), self.multi_plane);
        }
        let Operation { kind, origin, row, block, mut next, .. } = operations[head as usize];
        let (load_ns, load_sectors) = (self.load_ns[kind as usize], self.load_sectors[kind as usize]);
        let channel = &mut self.channels[state.channel as usize];
        channel.moved_sectors += load_sectors;
        let mut array_from = channel.occupy(now, load_ns);
        let mut array_ns = self.array_ns.of(block, row, kind, path);
        while next != NO_INDEX {
            let other = &operations[next as usize];
            if kind == OperationKind::Program {
                array_from = channel.occupy(now, load_ns);
                channel.moved_sectors += load_sectors;
            }
            array_ns = array_ns.max(self.array_ns.of(other.block, other.row, kind, path));
            next = other.next;
        }
        Group { head, kind, origin, array_from, ends: array_from + array_ns, since: now, overtaken: 0 }
    }

    #[inline(always)]
    fn note_start(&self, die: u32, is_staged: bool, path: &mut impl Path) {
        if let Some(events) = path.recorded() {
            self.tell_start(die, is_staged, events);
        }
    }

    #[cold]
    fn tell_start(&self, die: u32, is_staged: bool, events: &mut Recorded) {
        let state = &self.dies[die as usize];
        let Some(group) = (if is_staged { state.staged } else { state.active }) else { return };
        let (transfer_ns, array_from) = (self.load_ns[group.kind as usize], group.array_from);
        for id in self.members(&group) {
            events.push(Event::Started { command: self.command(id), array_from, transfer_ns, is_staged });
        }
    }

    fn note_beginning(&self, group: &Group, path: &mut impl Path) {
        let Some(events) = path.recorded() else { return };
        let array_from = group.array_from;
        self.members(group).for_each(|number| events.push(Event::Began { number, array_from }));
    }

    /// The operations of a group.
    pub(super) fn members(&self, group: &Group) -> impl Iterator<Item = u32> + '_ {
        let next = |&id: &u32| Some(self.operations[id as usize].next).filter(|&next| next != NO_INDEX);
        std::iter::successors(Some(group.head), next)
    }
}

impl Die {
    /// The class to serve next, among those with queued operations: the highest, unless a lower one was overtaken too
    /// often.
    #[inline(always)]
    fn next_class(&self) -> u8 {
        let is_blocked = self.classes & (1 << BLOCKING) != 0;
        let class = if self.starved == 0 || is_blocked { self.classes.trailing_zeros() } else { self.starved.ilog2() };
        class as u8
    }

    /// Takes the first operation from the queue of a plane and class.
    #[inline(always)]
    fn pop(&mut self, planes: &mut [Plane], operations: &mut [Operation], class: usize, plane: u32) -> u32 {
        let queue = &mut planes[(self.first_plane + plane) as usize].queues[class];
        let id = queue.head;
        queue.head = std::mem::replace(&mut operations[id as usize].next, NO_INDEX);
        if queue.head == NO_INDEX {
            self.queued[class] &= !(1 << plane);
            self.classes &= !(u32::from(self.queued[class] == 0) << class);
        }
        id
    }

    /// Takes the heads of other planes that can run together with an operation, the first of the group.
    fn take_others(
        &mut self,
        planes: &mut [Plane],
        operations: &mut [Operation],
        class: usize,
        (head, mut others): (u32, u32),
        multi_plane: MultiPlane,
    ) {
        let Operation { kind, row, .. } = operations[head as usize];
        let can_differ = kind == OperationKind::Erase || multi_plane == MultiPlane::Independent;
        let mut tail = head;
        while others != 0 {
            let plane = others.trailing_zeros();
            others &= others - 1;
            let first = planes[(self.first_plane + plane) as usize].queues[class].head;
            let other = &operations[first as usize];
            if kind == other.kind && (row == other.row || can_differ) {
                let id = self.pop(planes, operations, class, plane);
                operations[tail as usize].next = id;
                tail = id;
            }
        }
    }

    /// Gives a class its turn. Lower classes with queued operations count as overtaken.
    #[inline(always)]
    fn has_turn(&mut self, class: usize, max_overtakes: u16) {
        self.overtaken[class] = 0;
        self.starved &= !(1 << class);
        let lower = self.classes & (u32::MAX << class << 1);
        if class != BLOCKING && lower != 0 {
            self.overtake(lower, max_overtakes);
        }
    }

    /// Counts classes as overtaken by a higher one.
    fn overtake(&mut self, mut classes: u32, most: u16) {
        while classes != 0 {
            let class = classes.trailing_zeros();
            classes &= classes - 1;
            let overtaken = &mut self.overtaken[class as usize];
            *overtaken = overtaken.saturating_add(1);
            self.starved |= u32::from(*overtaken >= most) << class;
        }
    }
}
