//! Evicted victims whose programs have not ended, for eviction rates that keep a number of victims in flight.

use flashloom_units::NO_INDEX;

use crate::SlotId;

/// Victims in flight: each counts until its last page is programmed, however many pages it has. O(1) a page. A victim
/// has at least one page, so there are never more victims than slots.
pub(crate) struct OnTheirWay {
    victim_of: Vec<u32>,
    /// Pages of each victim that are not programmed yet.
    left: Vec<u32>,
    free: Vec<u32>,
}

flashloom_units::state! { OnTheirWay { nested victim_of, left; value free; } }

impl OnTheirWay {
    /// Makes an empty set of victims for a buffer of `pages` pages.
    pub(crate) fn new(pages: u32) -> Self {
        Self { victim_of: vec![NO_INDEX; pages as usize], left: vec![0; pages as usize], free: (0..pages).collect() }
    }

    /// Adds a victim, whose pages (at least one) have been sent to the FTL.
    #[inline]
    pub(crate) fn depart(&mut self, pages: &[SlotId]) {
        let victim = self.free.pop().expect("there are as many numbers as slots");
        self.left[victim as usize] = pages.len() as u32;
        pages.iter().for_each(|slot| self.victim_of[slot.at()] = victim);
    }

    /// Removes a page that has been programmed, and with its last page the victim.
    #[inline]
    pub(crate) fn arrive(&mut self, page: SlotId) {
        let victim = std::mem::replace(&mut self.victim_of[page.at()], NO_INDEX);
        let left = &mut self.left[victim as usize];
        *left -= 1;
        if *left == 0 {
            self.free.push(victim);
        }
    }

    /// Number of victims in flight.
    #[inline]
    pub(crate) fn victims(&self) -> u32 {
        (self.left.len() - self.free.len()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_victim_is_on_its_way_until_its_last_page_is_programmed() {
        let mut way = OnTheirWay::new(4);
        way.depart(&[SlotId(2), SlotId(0)]);
        way.depart(&[SlotId(1)]);
        assert_eq!(way.victims(), 2);
        way.arrive(SlotId(2));
        way.depart(&[SlotId(2)]);
        assert_eq!(way.victims(), 3, "a slot is used again before the rest of its victim has come to flash");
        [SlotId(0), SlotId(1)].into_iter().for_each(|page| way.arrive(page));
        assert_eq!(way.victims(), 1);
        way.arrive(SlotId(2));
        assert_eq!(way.victims(), 0);
    }
}
