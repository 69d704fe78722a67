//! Durability: which evictions have ended, and the flushes that wait for them.

use std::collections::VecDeque;

use flashloom_buffer::SlotId;

use crate::drive::commands::CommandId;

/// Evictions, numbered in order of their begin, and the flushes that wait for them.
pub(super) struct Durability {
    evictions: Evictions,
    /// The number of each slot's eviction.
    slot_eviction: Vec<u64>,
    /// Flushes, each with a number: it waits until all evictions below that number have ended.
    flushes: VecDeque<(u64, CommandId)>,
}

flashloom_units::state! { Durability { nested evictions, slot_eviction; value flushes; } }

impl Durability {
    pub(super) fn new(slots: u32) -> Self {
        Self { evictions: Evictions::default(), slot_eviction: vec![0; slots as usize], flushes: VecDeque::new() }
    }

    /// Called when the page of a slot is evicted.
    pub(super) fn eviction_began(&mut self, slot: SlotId) {
        self.slot_eviction[slot.0 as usize] = self.evictions.begin();
    }

    /// Called when the page of a slot is in flash.
    pub(super) fn eviction_ended(&mut self, slot: SlotId) {
        self.evictions.end(self.slot_eviction[slot.0 as usize]);
    }

    /// True if no page is on its way to flash.
    pub(super) fn is_all_in_flash(&self) -> bool {
        self.evictions.ended.is_empty()
    }

    /// Makes a flush wait for all evictions that have begun.
    pub(super) fn wait(&mut self, id: CommandId) {
        self.flushes.push_back((self.evictions.next(), id));
    }

    /// The number of flushes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.flushes.len()
    }

    /// Removes and returns a flush whose evictions have all ended.
    pub(super) fn take_flushed(&mut self) -> Option<CommandId> {
        let &(upto, id) = self.flushes.front()?;
        (upto <= self.evictions.first).then(|| {
            self.flushes.pop_front();
            id
        })
    }

    /// The eviction of a slot whose page could not be stored.
    pub(super) fn refused_eviction(&self, slot: SlotId) -> u64 {
        self.slot_eviction[slot.0 as usize]
    }

    /// Removes and returns the last flush that waits for that eviction.
    pub(super) fn take_waiting_for(&mut self, eviction: u64) -> Option<CommandId> {
        let &(upto, id) = self.flushes.back()?;
        (upto > eviction).then(|| {
            self.flushes.pop_back();
            id
        })
    }
}

/// The evictions that have ended, as a window over their numbers.
#[derive(Default)]
struct Evictions {
    first: u64,
    ended: VecDeque<bool>,
}

flashloom_units::state! { Evictions { value first, ended; } }

impl Evictions {
    fn begin(&mut self) -> u64 {
        self.ended.push_back(false);
        self.next() - 1
    }

    fn next(&self) -> u64 {
        self.first + self.ended.len() as u64
    }

    fn end(&mut self, number: u64) {
        self.ended[(number - self.first) as usize] = true;
        while self.ended.front() == Some(&true) {
            self.ended.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_waits_for_the_evictions_before_it_and_for_none_after() {
        let mut durability = Durability::new(3);
        durability.eviction_began(SlotId(0));
        durability.eviction_began(SlotId(1));
        durability.wait(CommandId(7));
        durability.eviction_began(SlotId(2));
        durability.eviction_ended(SlotId(1));
        assert_eq!(durability.take_flushed(), None, "the oldest is under way");
        durability.eviction_ended(SlotId(0));
        assert_eq!(durability.take_flushed(), Some(CommandId(7)));
        assert!(!durability.is_all_in_flash());
        durability.eviction_ended(SlotId(2));
        assert!(durability.is_all_in_flash());
    }

    #[test]
    fn flushes_that_wait_for_an_eviction_are_those_after_it() {
        let mut durability = Durability::new(3);
        for slot in 0..3 {
            durability.eviction_began(SlotId(slot));
            durability.wait(CommandId(slot));
        }
        let refused = durability.refused_eviction(SlotId(1));
        let failed: Vec<_> = std::iter::from_fn(|| durability.take_waiting_for(refused)).collect();
        assert_eq!((failed, durability.waiting()), (vec![CommandId(2), CommandId(1)], 1));
    }
}
