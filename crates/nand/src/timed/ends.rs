//! Events: the end of an operation, and the operations that can proceed then.

use crate::{BlockId, Emitted, Origin};
use flashloom_units::{EventNumber, NO_INDEX, Ns};

use super::{Die, Group, Timed, Used, event};
use crate::event::{Event, OperationKind};
use crate::known::Note;
use crate::operation::{Operation, Waits};
use crate::path::Path;

impl Timed {
    /// Processes the next event, and the following ones up to `until_ns` as long as they affect nothing outside the
    /// array: no operation with a tag has ended, operations are in flight, and nobody observes. Returns the time of the
    /// last one. Appends the tags of ended operations to `completed`.
    pub(crate) fn step(&mut self, until_ns: Ns, path: &mut impl Path, completed: &mut Vec<u32>) -> Ns {
        while let Some((at, number, code)) = self.events.pop() {
            self.now = at;
            let index = code & event::INDEX;
            match code & !event::INDEX {
                event::ARRAY => self.array_ended(index, number, path, completed),
                event::WAKE => self.rouse(index),
                _ => self.transferred(index, path, completed),
            }
            if !completed.is_empty() || self.in_flight == 0 || path.recorded().is_some() {
                break;
            }
            self.serve_restless(path);
            if self.events.next_ns().is_none_or(|next_ns| next_ns > until_ns) {
                break;
            }
        }
        self.now
    }

    /// Handles the end of a read's data transfer.
    #[inline(always)]
    fn transferred(&mut self, id: u32, path: &mut impl Path, completed: &mut Vec<u32>) {
        let die = self.planes[self.operations[id as usize].plane.at()].die;
        let state = &mut self.dies[die as usize];
        state.transfers -= 1;
        if state.transfers == 0
            && let Some(group) = state.release(self.now, path)
        {
            self.used.add(&group, self.now);
        }
        self.complete(id, path, completed);
        self.rouse(die);
    }

    /// Handles the end of a die's array operation, unless a suspension has made the event obsolete.
    #[inline(always)]
    fn array_ended(&mut self, die: u32, number: EventNumber, path: &mut impl Path, completed: &mut Vec<u32>) {
        let state = &mut self.dies[die as usize];
        if !path.is_plain() && state.array_event != number {
            return;
        }
        if state.active.is_some_and(|group| group.kind == OperationKind::Read) {
            return self.send_data(die, path);
        }
        let group = state.release(self.now, path).expect("the array of an idle die does not end");
        self.used.add(&group, self.now);
        let mut id = group.head;
        let mut planes = 0;
        while id != NO_INDEX {
            id = self.complete(id, path, completed);
            planes += 1;
        }
        let together = if group.kind == OperationKind::Erase { &mut self.used.erases } else { &mut self.used.programs };
        together.commands += 1;
        together.planes += planes;
        self.rouse(die);
    }

    /// Reads have their data in the page registers: starts the transfers.
    #[inline(always)]
    fn send_data(&mut self, die: u32, path: &mut impl Path) {
        let state = &mut self.dies[die as usize];
        let channel = &mut self.channels[state.channel as usize];
        let group = state.active.as_ref();
        let mut observed = self
            .host_reads
            .as_mut()
            .filter(|_| !path.is_plain() && group.is_some_and(|group| group.origin == Origin::Host));
        if let (Some(reads), Some(group)) = (&mut observed, group) {
            reads.array_ns += self.now - group.since;
        }
        let mut id = group.map_or(NO_INDEX, |group| group.head);
        while id != NO_INDEX {
            let operation = &mut self.operations[id as usize];
            let is_whole = operation.mask == self.geometry.full_mask();
            let (sectors, transfer_ns) = if is_whole {
                (self.geometry.sectors_per_page(), self.page_data_ns)
            } else {
                (operation.mask.count_ones(), self.timing.transfer_ns(operation.mask.count_ones()))
            };
            channel.moved_sectors += u64::from(sectors);
            if let Some(reads) = &mut observed {
                reads.pages += 1;
                reads.channel_ns += transfer_ns;
            }
            let end = channel.occupy(self.now, transfer_ns);
            state.transfers += 1;
            self.events.schedule(end, event::TRANSFERRED | id);
            path.tell(|| Event::Transferring { number: id, ends: end, transfer_ns });
            id = std::mem::replace(&mut operation.next, NO_INDEX);
        }
    }

    /// Ends an operation. Returns the next one of its group.
    #[inline(always)]
    fn complete(&mut self, id: u32, path: &mut impl Path, completed: &mut Vec<u32>) -> u32 {
        path.tell(|| Event::Ended { command: self.command(id), failed: self.operations[id as usize].failed });
        let operation = &mut self.operations[id as usize];
        if !path.is_plain()
            && let Some(known) = &mut self.known.0
        {
            let note = known.notes.get(id as usize).copied().unwrap_or(Note::Nothing);
            known.ended(operation, note, known.sequence + operation.sequence, self.now);
            if operation.failed && operation.is_read() && operation.origin == Origin::Map {
                self.unreadable_map.push(Emitted { number: id, sequence: operation.sequence });
            }
        }
        let Operation { kind, tag, block, from, before, sequence, waiters, failed, .. } = *operation;
        let next = std::mem::replace(&mut operation.next, self.free);
        operation.sequence = Operation::ENDED;
        self.free = id;
        self.in_flight -= 1;
        if tag != NO_INDEX {
            completed.push(tag);
        }
        if kind == OperationKind::Erase {
            self.erased(block, path);
            return next;
        }
        let state = &mut self.blocks[block.at()];
        state.pending -= 1;
        let frees_erase = state.pending == 0 && state.erase != NO_INDEX;
        if kind != OperationKind::Read {
            state.programmed += 1;
            if state.reads != NO_INDEX || state.programs.head != NO_INDEX {
                self.queue_held(block, path);
            }
            self.drop_row(block);
        }
        if frees_erase {
            self.queue_erase(self.blocks[block.at()].erase, path);
        }
        if from.is_some() {
            let source = self.geometry.block_of(from);
            // A hold can belong to a life that has not begun only if the source page's program had not ended at
            // emission.
            if before == NO_INDEX || !self.let_go_ahead(source, sequence) {
                self.let_go(source, path);
            }
        }
        if waiters != NO_INDEX {
            if !path.is_plain() && failed && kind == OperationKind::Read {
                self.free_after_unreadable(waiters, path, completed);
            } else {
                self.free_waiters(waiters, path);
            }
        }
        next
    }

    /// Continues the operations that wait for an ended one.
    #[inline(always)]
    pub(super) fn free_waiters(&mut self, mut waiter: u32, path: &mut impl Path) {
        while waiter != NO_INDEX {
            waiter = self.free_waiter(waiter, path);
        }
    }

    /// Continues one of them; returns the next.
    #[inline(always)]
    pub(super) fn free_waiter(&mut self, waiter: u32, path: &mut impl Path) -> u32 {
        let operation = &mut self.operations[waiter as usize];
        let waited = std::mem::replace(&mut operation.waits, Waits::No);
        let Operation { sibling, kind, block, .. } = *operation;
        match (kind, waited) {
            (OperationKind::Read, Waits::InItsLife) => self.queue_read(waiter, path),
            (OperationKind::Read, _) => {
                self.queue_ahead(waiter, true, path);
            }
            _ => self.queue_programs(block, path),
        }
        sibling
    }

    /// Handles a programmed page: reads that waited for it can enter the queue, and so can programs of another class.
    fn queue_held(&mut self, block: BlockId, path: &mut impl Path) {
        let state = &mut self.blocks[block.at()];
        let (programmed, mut read) = (state.programmed, std::mem::replace(&mut state.reads, NO_INDEX));
        while read != NO_INDEX {
            let operation = &mut self.operations[read as usize];
            let next = std::mem::replace(&mut operation.next, NO_INDEX);
            let Operation { plane, class, .. } = *operation;
            if self.geometry.page_in_block(operation.ppn) < programmed {
                self.enqueue(read, plane, class, path);
            } else {
                self.hold_back(read);
            }
            read = next;
        }
        self.queue_programs(block, path);
    }

    /// Releases the hold of an operation on a block's erase.
    #[inline(always)]
    pub(super) fn let_go(&mut self, block: BlockId, path: &mut impl Path) {
        let state = &mut self.blocks[block.at()];
        state.pending -= 1;
        let erase = state.erase;
        if state.pending == 0 && erase != NO_INDEX {
            self.queue_erase(erase, path);
        }
    }

    /// Handles an erased block: operations of its next life can proceed, up to the next erase.
    fn erased(&mut self, block: BlockId, path: &mut impl Path) {
        let state = &mut self.blocks[block.at()];
        debug_assert_eq!((state.pending, state.reads, state.programs.head), (0, NO_INDEX, NO_INDEX), "all had ended");
        state.erase = NO_INDEX;
        state.programmed = 0;
        state.queued = 0;
        while self.blocks[block.at()].erase == NO_INDEX && self.blocks[block.at()].later.head != NO_INDEX {
            let id = self.blocks[block.at()].later.head;
            let next = std::mem::replace(&mut self.operations[id as usize].next, NO_INDEX);
            self.blocks[block.at()].later.head = next;
            self.enter(id, path);
        }
    }
}

impl Used {
    /// Adds the die time of an ended group to its purpose.
    #[inline(always)]
    fn add(&mut self, group: &Group, now: Ns) {
        let occupied = u128::from(now - group.since);
        if group.origin == Origin::Host {
            if group.kind == OperationKind::Program {
                self.write_ns += occupied;
            }
        } else if group.origin != Origin::Map {
            self.collection_ns += occupied;
        }
    }
}

impl Die {
    /// Ends the active group of a die, if any, and updates the busy times.
    #[inline(always)]
    fn release(&mut self, now: Ns, path: &impl Path) -> Option<Group> {
        if path.is_plain() || self.suspended.is_none() {
            self.busy_ns += now - self.busy_since;
        }
        self.active.take()
    }
}
