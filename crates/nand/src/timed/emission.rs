//! Emission of operations by the FTL, and the dependencies that keep them out of the queues.
//!
//! A block's *life* is the time from one erase to the next. Operations emitted behind a pending erase belong to the
//! block's next life, and are kept in its list `later` until that erase has ended.

use crate::{BlockId, DieId, OpId, Origin, PlaneId, Ppn, Urgency};
use flashloom_units::NO_INDEX;

use super::{BLOCKING, HOST_READS, List, Timed, event};
use crate::event::{Command, Event, OperationKind};
use crate::known::Note;
use crate::operation::{Operation, Waits};
use crate::path::Path;

/// An operation with those of its fields that determine when it is queued.
#[derive(Clone, Copy)]
struct Admitted {
    id: u32,
    block: BlockId,
    page: u32,
    plane: PlaneId,
    class: u8,
    waits: Waits,
}

impl Timed {
    pub(crate) fn can_copy_back(&self, from: Ppn, source: BlockId, to: BlockId) -> bool {
        let geometry = &self.geometry;
        self.copyback
            && geometry.plane_of(source) == geometry.plane_of(to)
            && self.blocks[source.at()].erase == NO_INDEX
            && geometry.page_in_block(from) < self.blocks[source.at()].programmed
    }

    /// Adds an operation to the table, and to the waiters of `after` unless that is [`OpId::DONE`].
    #[inline(always)]
    fn admit(&mut self, operation: Operation, after: OpId) -> Admitted {
        if self.free == NO_INDEX {
            self.grow();
        }
        let (id, operations) = (self.free, &mut self.operations[..]);
        let (waits, sibling) = if after == OpId::DONE {
            (Waits::No, NO_INDEX)
        } else {
            (Waits::Yes, std::mem::replace(&mut operations[after.0 as usize].waiters, id))
        };
        let place = &mut operations[id as usize];
        self.free = place.next;
        let block = operation.block;
        let page = operation.ppn.0 - block.0 * self.geometry.pages;
        let (plane, class) = (self.geometry.plane_of(block), class_of(&operation) as u8);
        // Until here it is only the offset of the block's mode.
        let (sequence, row) = (self.sequence, operation.row + page as u16);
        *place = Operation { row, plane, class, waits, sibling, sequence, ..operation };
        self.sequence += 1;
        self.in_flight += 1;
        Admitted { id, block, page, plane, class, waits }
    }

    /// Grows the table by one, when more operations are in flight than ever before.
    #[cold]
    fn grow(&mut self) {
        assert!(self.operations.len() < event::INDEX as usize, "events name at most {} operations", event::INDEX);
        self.free = self.operations.len() as u32;
        self.operations.push(Operation::new(OperationKind::Hold, Ppn::NONE, BlockId::NONE, Origin::Host, NO_INDEX));
    }

    #[inline(always)] // Few callers: emission for the host and of copies, on each path. `issue_program` likewise.
    pub(crate) fn issue_read(&mut self, operation: Operation, note: Note, after: OpId, path: &mut impl Path) -> OpId {
        let read = self.admit(operation, after);
        self.note_known(read.id, note, path);
        self.note_issue(read.id, after, path);
        let state = &self.blocks[read.block.at()];
        if state.erase == NO_INDEX && read.page < state.programmed {
            self.enter_read(read, path);
        } else {
            self.issue_unfinished(read, path);
        }
        OpId(read.id)
    }

    /// [`Self::issue_read`] of a page whose program has not ended.
    #[cold]
    fn issue_unfinished(&mut self, read: Admitted, path: &mut impl Path) {
        self.operations[read.id as usize].before = self.program_of(read.block, read.page);
        let is_ahead = self.blocks[read.block.at()].erase != NO_INDEX && read.waits == Waits::No;
        let has_gone = is_ahead && self.queue_ahead(read.id, false, path);
        if !has_gone && !self.comes_later(read) {
            self.enter_read(read, path);
        }
    }

    #[inline(always)]
    pub(crate) fn issue_program(
        &mut self,
        operation: Operation,
        note: Note,
        after: OpId,
        path: &mut impl Path,
    ) -> OpId {
        let from = operation.from;
        let program = self.admit(operation, after);
        if !path.is_plain() {
            self.note_written(program.id, note);
        }
        self.note_issue(program.id, after, path);
        self.note_program(program.id, program.block, program.page);
        if !self.comes_later(program) {
            self.enter_program(program, path);
        }
        if from.is_some() {
            self.hold(program.id, from, path);
        }
        OpId(program.id)
    }

    /// Called in an array with another cell mode when the FTL begins a life of a block. If an erase of the block is
    /// pending, that life begins later, with its first program ([`Self::enter`]).
    #[cold]
    pub(crate) fn program_first(&mut self, block: BlockId, in_other_mode: bool) {
        if self.blocks[block.at()].erase == NO_INDEX {
            self.begin_life(block, in_other_mode);
        }
    }

    fn begin_life(&mut self, block: BlockId, in_other_mode: bool) {
        if let Some(in_other) = self.in_other.get_mut(block.at()) {
            *in_other = in_other_mode;
        }
    }

    #[inline(always)]
    fn note_known(&mut self, id: u32, note: Note, path: &impl Path) {
        if !path.is_plain()
            && let Some(known) = &mut self.known.0
        {
            known.note(id, note);
        }
    }

    /// Notes what a program writes, if the array keeps that.
    fn note_written(&mut self, id: u32, note: Note) {
        let program = &self.operations[id as usize];
        let Some(known) = self.known.0.as_deref().filter(|known| known.labels.is_some()) else { return };
        let source = Some(program.from).filter(|from| from.is_some());
        let writer = |from| self.program_of(self.geometry.block_of(from), self.geometry.page_in_block(from));
        let note = known.written(program, note, source.map(writer).filter(|&writer| writer != NO_INDEX));
        self.known.0.iter_mut().for_each(|known| known.note(id, note));
    }

    #[inline(always)]
    fn note_issue(&self, id: u32, after: OpId, path: &mut impl Path) {
        path.tell(|| Event::Issued(self.command(id), (after != OpId::DONE).then_some(after.0)));
    }

    pub(super) fn command(&self, id: u32) -> Command {
        let operation = &self.operations[id as usize];
        operation.command(id, self.geometry.die_of(operation.plane), self.geometry.pages)
    }

    /// A program that copies a page delays the next erase of the page's block until it has ended.
    #[inline(always)]
    fn hold(&mut self, program: u32, from: Ppn, path: &mut impl Path) {
        let source = self.geometry.block_of(from);
        let page = from.0 - source.0 * self.geometry.pages;
        let state = &mut self.blocks[source.at()];
        if state.erase == NO_INDEX && page < state.programmed {
            state.pending += 1;
            return;
        }
        self.operations[program as usize].before = self.program_of(source, page);
        if self.blocks[source.at()].erase == NO_INDEX {
            self.blocks[source.at()].pending += 1;
        } else {
            let hold = Operation::new(OperationKind::Hold, from, source, Origin::Host, NO_INDEX);
            let hold = self.admit(hold, OpId::DONE).id;
            self.enter(hold, path);
        }
    }

    pub(crate) fn issue_erase(&mut self, operation: Operation, path: &mut impl Path) -> OpId {
        let id = self.admit_erase(operation, None, path);
        self.enter_erases(id, path);
        id
    }

    /// Admits one erase of a group that begins together; `last` is the one admitted before. The group is a ring linked
    /// by `sibling`, a field that erases do not use otherwise, because no erase waits for an operation.
    pub(crate) fn admit_erase(&mut self, operation: Operation, last: Option<OpId>, path: &mut impl Path) -> OpId {
        let id = self.admit(operation, OpId::DONE).id;
        self.note_issue(id, OpId::DONE, path);
        let first = last.map_or(id, |last| std::mem::replace(&mut self.operations[last.0 as usize].sibling, id));
        self.operations[id as usize].sibling = first;
        OpId(id)
    }

    /// Makes the erases of a complete ring pending in their blocks.
    pub(crate) fn enter_erases(&mut self, last: OpId, path: &mut impl Path) {
        let mut id = last.0;
        loop {
            id = self.operations[id as usize].sibling;
            self.enter(id, path);
            if id == last.0 {
                return;
            }
        }
    }

    /// Called when all operations before an erase have ended. Queues its whole ring if that holds for every member.
    #[cold] // Once for hundreds of pages.
    pub(super) fn queue_erase(&mut self, id: u32, path: &mut impl Path) {
        let mut member = id;
        loop {
            let Operation { block, sibling, .. } = self.operations[member as usize];
            let state = &self.blocks[block.at()];
            if state.erase != member || state.pending > 0 {
                return;
            }
            member = sibling;
            if member == id {
                break;
            }
        }
        loop {
            let Operation { plane, class, sibling, .. } = self.operations[member as usize];
            self.enqueue(member, plane, class, path);
            member = sibling;
            if member == id {
                return;
            }
        }
    }

    /// Enters an operation into the life of its block that it was emitted for: the present one, or the next one if an
    /// erase is pending.
    #[cold] // Reads and programs are nearly always entered when they are issued.
    pub(super) fn enter(&mut self, id: u32, path: &mut impl Path) {
        let Operation { block, ppn, row, plane, class, waits, kind, .. } = self.operations[id as usize];
        let page = self.geometry.page_in_block(ppn);
        let operation = Admitted { id, block, page, plane, class, waits };
        if self.comes_later(operation) {
            return;
        }
        match kind {
            OperationKind::Read => self.enter_read(operation, path),
            OperationKind::Program | OperationKind::Copyback => {
                if page == 0 {
                    self.begin_life(block, row > 0);
                }
                self.enter_program(operation, path);
            }
            OperationKind::Hold => {
                self.blocks[block.at()].pending += 1;
                self.retire(id);
            }
            OperationKind::Erase => {
                let state = &mut self.blocks[block.at()];
                state.erase = id;
                if state.pending == 0 {
                    self.queue_erase(id, path);
                }
            }
        }
    }

    /// True if an operation belongs to the next life of its block; it is then added to the block's `later`.
    #[inline(always)]
    fn comes_later(&mut self, operation: Admitted) -> bool {
        let state = &mut self.blocks[operation.block.at()];
        let comes_later = state.erase != NO_INDEX;
        if comes_later {
            append(&mut self.operations, &mut state.later, operation.id);
        }
        comes_later
    }

    /// Counts a read as pending in its block. Queues it unless it waits for another operation or the program of its
    /// page.
    #[inline(always)]
    fn enter_read(&mut self, read: Admitted, path: &mut impl Path) {
        let state = &mut self.blocks[read.block.at()];
        state.pending += 1;
        if read.waits != Waits::No {
            self.operations[read.id as usize].waits = Waits::InItsLife;
        } else if read.page < state.programmed {
            self.enqueue(read.id, read.plane, read.class, path);
        } else {
            self.queue_unfinished(read.id, path);
        }
    }

    /// Queues a read whose wait for another operation has ended, unless it also waits for the program of its page.
    pub(super) fn queue_read(&mut self, id: u32, path: &mut impl Path) {
        let Operation { block, ppn, plane, class, .. } = self.operations[id as usize];
        if self.geometry.page_in_block(ppn) < self.blocks[block.at()].programmed {
            self.enqueue(id, plane, class, path);
        } else {
            self.queue_unfinished(id, path);
        }
    }

    /// Adds a read to those that wait for a program of its block.
    pub(super) fn hold_back(&mut self, id: u32) {
        let operation = &mut self.operations[id as usize];
        operation.next = std::mem::replace(&mut self.blocks[operation.block.at()].reads, id);
    }

    #[inline(always)]
    fn enter_program(&mut self, program: Admitted, path: &mut impl Path) {
        let Admitted { id, block, plane, class, waits, .. } = program;
        let state = &mut self.blocks[block.at()];
        state.pending += 1;
        // A program behind others in `programs` is queued with them, in page order.
        if waits == Waits::No && state.programs.head == NO_INDEX && state.takes(class) {
            state.queues(class);
            self.enqueue(id, plane, class, path);
        } else {
            append(&mut self.operations, &mut state.programs, id);
        }
    }

    /// Frees the table entry of a hold that has ended.
    pub(super) fn retire(&mut self, id: u32) {
        let operation = &mut self.operations[id as usize];
        (operation.next, operation.sequence) = (std::mem::replace(&mut self.free, id), Operation::ENDED);
        self.in_flight -= 1;
    }

    /// Queues the programs of a block in page order, up to the first that still waits.
    #[inline(always)]
    pub(super) fn queue_programs(&mut self, block: BlockId, path: &mut impl Path) {
        loop {
            let state = &mut self.blocks[block.at()];
            let id = state.programs.head;
            let Some(operation) = self.operations.get_mut(id as usize) else { return };
            let Operation { waits, class, plane, .. } = *operation;
            if waits != Waits::No || !state.takes(class) {
                return;
            }
            state.programs.head = std::mem::replace(&mut operation.next, NO_INDEX);
            state.queues(class);
            self.enqueue(id, plane, class, path);
        }
    }

    #[inline(always)]
    pub(super) fn enqueue(&mut self, id: u32, plane: PlaneId, class: u8, path: &mut impl Path) {
        let plane = &mut self.planes[plane.at()];
        path.tell(|| Event::Queued { number: id, die: DieId(plane.die) });
        append(&mut self.operations, &mut plane.queues[class as usize], id);
        let state = &mut self.dies[plane.die as usize];
        state.queued[class as usize] |= plane.bit;
        state.classes |= 1 << class;
        let may_begin = (!path.is_plain() && self.begins_while_busy) || state.active.is_none();
        if may_begin && !std::mem::replace(&mut state.restless, true) {
            self.restless.push(plane.die);
        }
    }
}

/// Appends an operation, which is in no list, to a list.
#[inline(always)]
fn append(operations: &mut [Operation], list: &mut List, id: u32) {
    debug_assert_eq!(operations[id as usize].next, NO_INDEX, "it is in one at a time");
    if list.head == NO_INDEX {
        list.head = id;
    } else {
        operations[list.tail as usize].next = id;
    }
    list.tail = id;
}

#[inline(always)]
fn class_of(operation: &Operation) -> usize {
    match (operation.urgency, operation.origin, operation.kind) {
        (Urgency::Blocking, ..) => BLOCKING,
        (_, Origin::Host | Origin::Map, OperationKind::Read) => HOST_READS,
        (Urgency::Needed, ..) => 2,
        (Urgency::Spare, ..) => 3,
    }
}
