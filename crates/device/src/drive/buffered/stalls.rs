//! Stalled writes: those that found the buffer full, in order of arrival, with their pages that still need a slot.

use std::collections::VecDeque;
use std::ops::Range;

use flashloom_buffer::WriteBuffer;
use flashloom_nand::Lpn;
use flashloom_units::{Ns, Reader, State, StateError, Writer};
use serde::{Deserialize, Serialize};

use crate::drive::commands::CommandId;

/// Number of counters of [`Awaited`].
const CELLS: usize = 256;

/// The queue of stalled writes.
#[derive(Default)]
pub(super) struct Stalls {
    queue: VecDeque<Stalled>,
    /// Pages of all stalled writes that still need a slot.
    lacking: u64,
    awaited: Awaited,
    /// What the first write needs, and the buffer's [`WriteBuffer::dirty_changes`] when that was counted.
    first_needs: Option<(u32, u32)>,
}

/// A counting filter over the pages that wait for slots, by remainder modulo [`CELLS`]: a page whose counter is zero is
/// in no stalled write, which saves searching them all.
struct Awaited([u32; CELLS]);

impl Default for Awaited {
    fn default() -> Self {
        Self([0; CELLS])
    }
}

impl Awaited {
    #[inline]
    fn cell(&mut self, page: u32) -> &mut u32 {
        &mut self.0[page as usize % CELLS]
    }

    fn add(&mut self, pages: Range<u32>) {
        pages.for_each(|page| *self.cell(page) += 1);
    }

    fn remove(&mut self, pages: Range<u32>) {
        pages.for_each(|page| *self.cell(page) -= 1);
    }

    /// True if any of the pages may wait for a slot.
    fn may_hold(&self, mut pages: Range<u32>) -> bool {
        pages.any(|page| self.0[page as usize % CELLS] > 0)
    }
}

/// A stalled write.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stalled {
    id: CommandId,
    since: Ns,
    /// Its pages that have no slot yet.
    pages: Range<u32>,
    /// Pages that need a slot of their own: not in the buffer when the write stalled, nor in a stalled write before it.
    lacking: u32,
}

// The filter is rebuilt from the queue.
impl State for Stalls {
    fn save(&self, to: &mut Writer) {
        to.value(&(&self.queue, self.lacking));
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        (self.queue, self.lacking) = from.value()?;
        self.first_needs = None;
        self.awaited = Awaited::default();
        self.queue.iter().for_each(|stalled| self.awaited.add(stalled.pages.clone()));
        Ok(())
    }
}

impl Stalls {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn contains(&self, id: CommandId) -> bool {
        self.queue.iter().any(|stalled| stalled.id == id)
    }

    /// Slots that the first write needs, to be stored as a whole or as far as the buffer can hold it; 0 without one.
    pub(super) fn first_needs(&mut self, buffer: &WriteBuffer) -> u32 {
        let Some(first) = self.queue.front() else { return 0 };
        let changes = buffer.dirty_changes();
        match self.first_needs {
            Some((needs, then)) if then == changes => needs,
            _ => {
                let needs = buffer.fills(first.pages.clone());
                self.first_needs = Some((needs, changes));
                needs
            }
        }
    }

    /// Pages of all writes that wait for a slot.
    pub(super) fn waiting_pages(&self) -> u64 {
        // The first page counts in any case: if it was in the buffer when its write stalled, it may have left since.
        self.lacking.max(u64::from(!self.is_empty()))
    }

    /// Adds a write, which needs a slot for each of its pages that is neither in the buffer nor in an earlier stalled
    /// write.
    pub(super) fn push(&mut self, now: Ns, id: CommandId, pages: Range<u32>, buffer: &WriteBuffer) {
        let others = || self.queue.iter().map(|other| &other.pages);
        let is_apart = |other: &Range<u32>| other.end <= pages.start || pages.end <= other.start;
        let is_alone = !self.awaited.may_hold(pages.clone()) || others().all(is_apart);
        let is_awaited = |lpn| !is_alone && others().any(|other| other.contains(&lpn));
        let lacks = |&lpn: &u32| !buffer.holds(Lpn(lpn)) && !is_awaited(lpn);
        let lacking = pages.clone().filter(lacks).count() as u32;
        self.awaited.add(pages.clone());
        self.queue.push_back(Stalled { id, since: now, pages, lacking });
        self.lacking += u64::from(lacking);
    }

    /// The first write, the time when it stalled, and its first page without a slot.
    #[inline]
    pub(super) fn first(&self) -> Option<(CommandId, Ns, Lpn)> {
        self.queue.front().map(|stalled| (stalled.id, stalled.since, Lpn(stalled.pages.start)))
    }

    /// Called when the next page of the first write gets a slot. Later writes queue behind stalled ones, even if slots
    /// are free.
    #[inline]
    pub(super) fn page_stored(&mut self, is_new: bool) {
        let Some(first) = self.queue.front_mut() else { return };
        self.first_needs = None;
        *self.awaited.cell(first.pages.start) -= 1;
        first.pages.start += 1;
        if is_new && first.lacking > 0 {
            first.lacking -= 1;
            self.lacking -= 1;
        }
    }

    /// Removes and returns the first write.
    pub(super) fn pop(&mut self) -> Option<CommandId> {
        let Stalled { id, pages, lacking, .. } = self.queue.pop_front()?;
        self.first_needs = None;
        self.awaited.remove(pages);
        self.lacking -= u64::from(lacking);
        Some(id)
    }
}
