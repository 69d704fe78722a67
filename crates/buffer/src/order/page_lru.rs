//! Page-level LRU: the page that was written longest ago leaves first (CAVE, section 5.1).
//!
//! ```text
//! written:  move the page to the young end
//! victim:   the page at the old end
//! ```
//!
//! Reads do not make a page younger: the buffer exists to absorb rewrites, and what is only read is in flash soon.
//! O(1) an operation, eight bytes a page.

use flashloom_units::{Lpn, NO_INDEX, PolicySpec, Value};

use super::Order;
use crate::SlotId;

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "page-lru",
    summary: "the page that was written longest ago",
    details: "A write makes a page young again, a read does not.",
    source: "CAVE, section 5.1 (page-level LRU)",
    needs: &[],
    params: &[],
    statistics: &[],
};

pub(super) struct State {
    /// Neighbours of each slot; the entry after the last slot is the ring's head, between young and old end.
    older: Vec<u32>,
    younger: Vec<u32>,
}

impl State {
    pub(super) fn new(_values: &[Value], pages: u32) -> Self {
        let mut state = Self { older: vec![NO_INDEX; pages as usize + 1], younger: vec![NO_INDEX; pages as usize + 1] };
        state.older[pages as usize] = pages;
        state.younger[pages as usize] = pages;
        state
    }

    fn head(&self) -> usize {
        self.older.len() - 1
    }

    fn unlink(&mut self, slot: SlotId) {
        let (older, younger) = (self.older[slot.at()], self.younger[slot.at()]);
        self.younger[older as usize] = younger;
        self.older[younger as usize] = older;
    }

    fn link_young(&mut self, slot: SlotId) {
        let head = self.head();
        let youngest = std::mem::replace(&mut self.older[head], slot.0);
        self.younger[youngest as usize] = slot.0;
        self.older[slot.at()] = youngest;
        self.younger[slot.at()] = head as u32;
    }
}

impl Order for State {
    fn inserted(&mut self, slot: SlotId, _lpn: Lpn) {
        self.link_young(slot);
    }

    fn touched(&mut self, slot: SlotId, _lpn: Lpn) {
        self.unlink(slot);
        self.link_young(slot);
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        self.unlink(slot);
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        let oldest = self.younger[self.head()];
        if oldest as usize != self.head() {
            self.unlink(SlotId(oldest));
            pages.push(SlotId(oldest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::Prng;

    #[test]
    fn victims_are_those_of_a_sorted_list() {
        let pages = 16;
        let mut lru = State::new(&[], pages);
        let mut model: Vec<u32> = Vec::new();
        let mut prng = Prng::new(5);
        for step in 0..50_000 {
            let slot = SlotId(prng.below(u64::from(pages)) as u32);
            let listed = model.iter().position(|entry| *entry == slot.0);
            match (prng.below(4), listed) {
                (0 | 1, None) => {
                    lru.inserted(slot, Lpn(0));
                    model.push(slot.0);
                }
                (0 | 1, Some(at)) => {
                    lru.touched(slot, Lpn(0));
                    model.remove(at);
                    model.push(slot.0);
                }
                (2, Some(at)) => {
                    lru.removed(slot, Lpn(0));
                    model.remove(at);
                }
                (3, _) => {
                    let mut victim = Vec::new();
                    lru.victim(&mut victim);
                    let oldest = (!model.is_empty()).then(|| model.remove(0));
                    assert_eq!(victim.first().map(|slot| slot.0), oldest, "step {step}");
                }
                _ => {}
            }
        }
    }
}
