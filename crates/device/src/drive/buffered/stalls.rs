//! Writes that found the buffer full, in order of arrival, and for how many of their pages a slot is still lacking.

use std::collections::VecDeque;
use std::ops::Range;

use flashloom_buffer::WriteBuffer;
use flashloom_nand::Lpn;
use flashloom_units::Ns;
use serde::{Deserialize, Serialize};

use crate::drive::commands::CommandId;

/// The writes that wait for slots.
#[derive(Default)]
pub(super) struct Stalls {
    queue: VecDeque<Stalled>,
    /// Pages that they lack slots for, all together.
    lacking: u64,
}

/// A write that waits for slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stalled {
    id: CommandId,
    since: Ns,
    /// Its pages that have no slot yet.
    pages: Range<u32>,
    /// Pages that were not in the buffer when it stalled, nor waited for by a write before it, and have no slot yet.
    lacking: u32,
}

flashloom_units::state! { Stalls { value queue, lacking; } }

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

    /// Pages that wait for a slot.
    pub(super) fn waiting_pages(&self) -> u64 {
        // A page that was in the buffer when its write stalled may have left since, so the first always counts.
        self.lacking.max(u64::from(!self.is_empty()))
    }

    /// A write waits for a slot for each of its pages that the buffer does not hold, and no write before it waits for.
    pub(super) fn push(&mut self, now: Ns, id: CommandId, pages: Range<u32>, buffer: &WriteBuffer) {
        let others = || self.queue.iter().map(|other| &other.pages);
        // Nearly always all of them have to be looked at, which takes least if none ends the search.
        let touches = |other: &Range<u32>| (other.start < pages.end) & (pages.start < other.end);
        let is_alone = !others().fold(false, |any, other| any | touches(other));
        let is_awaited = |lpn| !is_alone && others().any(|other| other.contains(&lpn));
        let lacks = |&lpn: &u32| !buffer.holds(Lpn(lpn)) && !is_awaited(lpn);
        let lacking = pages.clone().filter(lacks).count() as u32;
        self.queue.push_back(Stalled { id, since: now, pages, lacking });
        self.lacking += u64::from(lacking);
    }

    /// The first write, when it stalled, and its first page that has no slot.
    #[inline]
    pub(super) fn first(&self) -> Option<(CommandId, Ns, Lpn)> {
        self.queue.front().map(|stalled| (stalled.id, stalled.since, Lpn(stalled.pages.start)))
    }

    /// The next page of the first write has a slot, perhaps one that was free before. Writes that do not stall are
    /// stored only while none does.
    #[inline]
    pub(super) fn page_stored(&mut self, is_new: bool) {
        let Some(first) = self.queue.front_mut() else { return };
        first.pages.start += 1;
        if is_new && first.lacking > 0 {
            first.lacking -= 1;
            self.lacking -= 1;
        }
    }

    /// Takes the first write.
    pub(super) fn pop(&mut self) -> Option<CommandId> {
        let Stalled { id, lacking, .. } = self.queue.pop_front()?;
        self.lacking -= u64::from(lacking);
        Some(id)
    }
}
