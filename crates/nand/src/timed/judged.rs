//! Reads with retries and failed reads: the policy of read reliability is called when a die begins a read. Also the
//! handling of operations that wait for a read that fails.

use flashloom_units::{NO_INDEX, Ns};

use super::dies::QueuePlace;
use super::{Group, Timed};
use crate::event::{Event, OperationKind};
use crate::operation::{Operation, Waits};
use crate::path::Path;

impl Timed {
    /// Begins operations of an array that knows something of its pages: reads may need retries.
    // By itself, so that the group of other arrays is never in memory before it is in its die.
    #[inline(never)]
    pub(super) fn begin_known(&mut self, die: u32, place: QueuePlace, path: &mut impl Path) {
        let mut group = self.take_group(die, place, path);
        let longer = if group.kind == OperationKind::Read { self.judge(&mut group, path) } else { 0 };
        self.begin_group(die, group, path);
        if longer > 0 {
            self.note_repeated(&group, longer, path);
        }
    }

    /// Calls the policy for the reads of a group that were not decided at emission. Returns the additional array time:
    /// reads on several planes have their data at the same time, so the longest counts.
    fn judge(&mut self, group: &mut Group, path: &impl Path) -> Ns {
        let Some(known) = self.known.0.as_deref_mut().filter(|known| known.reads.is_some()) else { return 0 };
        let once = group.ends - group.array_from;
        let (mut longest, mut id) = (once, group.head);
        while let Some(operation) = self.operations.get_mut(id as usize) {
            let note = known.begin(operation, known.notes[id as usize], self.now);
            known.notes[id as usize] = note;
            let read_ns = self.array_ns.of(operation.block, operation.row, OperationKind::Read, path);
            longest = longest.max((1 + Ns::from(note.repeats())) * read_ns);
            id = operation.next;
        }
        group.ends = group.array_from + longest;
        longest - once
    }

    /// Records the retries of reads, and the array time that they add to their command.
    fn note_repeated(&self, group: &Group, array_ns: Ns, path: &mut impl Path) {
        let (Some(events), Some(known)) = (path.recorded(), &self.known.0) else { return };
        for number in self.members(group) {
            let retries = known.notes[number as usize].repeats().into();
            events.push(Event::Repeated { number, retries, array_ns });
        }
    }

    /// Handles a read that ended without its data. Host reads ordered after it needed that data to find their page and
    /// end with it; all other operations continue, and so do reads of sectors that the host has written meanwhile.
    #[cold]
    pub(super) fn free_after_unreadable(&mut self, mut waiter: u32, path: &mut impl Path, completed: &mut Vec<u32>) {
        while waiter != NO_INDEX {
            let Operation { sibling, kind, lpn, .. } = self.operations[waiter as usize];
            if kind == OperationKind::Read && lpn.is_some() && !self.is_being_written(waiter) {
                self.miss(waiter, path, completed);
            } else {
                self.free_waiter(waiter, path);
            }
            waiter = sibling;
        }
    }

    /// Whether a read asks for sectors that a program has yet to write, which that program's owner knows.
    fn is_being_written(&self, read: u32) -> bool {
        let Operation { before, mask, sequence, .. } = self.operations[read as usize];
        let program = self.operations.get(before as usize);
        program.is_some_and(|program| program.sequence < sequence && program.mask & mask != 0)
    }

    /// Ends a read that no die has begun.
    fn miss(&mut self, id: u32, path: &mut impl Path, completed: &mut Vec<u32>) {
        let operation = &mut self.operations[id as usize];
        let Operation { block, waits, tag, waiters, .. } = *operation;
        if let Some(known) = &mut self.known.0 {
            known.missed(operation);
        }
        path.tell(|| Event::Missed { command: self.command(id) });
        if tag != NO_INDEX {
            completed.push(tag);
        }
        if waits == Waits::InItsLife {
            self.retire(id);
            self.let_go(block, path);
        } else {
            self.unlist(block, id);
            self.retire(id);
        }
        self.free_waiters(waiters, path);
    }
}
