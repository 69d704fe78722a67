//! Writes that found the buffer full, in order of arrival, and for how many of their pages a slot is still lacking.

use std::collections::VecDeque;
use std::ops::Range;

use flashloom_buffer::WriteBuffer;
use flashloom_units::{Lpn, Ns};
use serde::{Deserialize, Serialize};

use crate::drive::commands::{CommandId, Commands};

/// The writes that wait for slots.
#[derive(Default)]
pub(super) struct Stalls {
    queue: VecDeque<Stalled>,
    /// Pages that they lack slots for, all together.
    lacking: u64,
}

/// A write that waits for slots.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Stalled {
    id: CommandId,
    since: Ns,
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
    pub(super) fn push(&mut self, now: Ns, id: CommandId, commands: &Commands, buffer: &WriteBuffer) {
        let pages = unstored(id, commands);
        let others = || self.queue.iter().map(|other| unstored(other.id, commands));
        let is_alone = others().all(|other| other.end <= pages.start || pages.end <= other.start);
        let lacks = |&lpn: &u32| !buffer.holds(Lpn(lpn)) && (is_alone || !others().any(|other| other.contains(&lpn)));
        let lacking = pages.clone().filter(lacks).count() as u32;
        self.queue.push_back(Stalled { id, since: now, lacking });
        self.lacking += u64::from(lacking);
    }

    /// The first write, and when it stalled.
    pub(super) fn first(&self) -> Option<(CommandId, Ns)> {
        self.queue.front().map(|stalled| (stalled.id, stalled.since))
    }

    /// A page of the first write has a slot that was free; nothing if the page is of a write that did not stall.
    pub(super) fn slot_taken(&mut self) {
        if let Some(first) = self.queue.front_mut().filter(|first| first.lacking > 0) {
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

/// The pages of a write that have no slot yet.
fn unstored(id: CommandId, commands: &Commands) -> Range<u32> {
    let first = commands.first_page(id).0;
    first + commands[id].moved..first + commands.page_count(id)
}
