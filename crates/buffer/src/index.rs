//! Which slot of the buffer holds a logical page: a flat open-addressing table of fixed size.
//!
//! A table over the buffer's slots stays in the processor's cache, where an array over all logical pages would miss it
//! on every random access. Linear probing at half load, deletion by shifting back, so there are no tombstones.

use flashloom_units::{Lpn, NO_INDEX};

use crate::SlotId;

pub(crate) struct Index {
    entries: Vec<(u32, u32)>,
    mask: usize,
}

const EMPTY: (u32, u32) = (NO_INDEX, NO_INDEX);

impl Index {
    /// Room for that many pages.
    pub(crate) fn new(pages: u32) -> Self {
        let size = (2 * pages as usize).next_power_of_two().max(2);
        Self { entries: vec![EMPTY; size], mask: size - 1 }
    }

    /// Fibonacci hashing: neighbouring pages are spread over the table.
    fn home(&self, lpn: u32) -> usize {
        (u64::from(lpn).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & self.mask
    }

    fn position(&self, lpn: Lpn) -> Option<usize> {
        let mut at = self.home(lpn.0);
        while self.entries[at] != EMPTY {
            if self.entries[at].0 == lpn.0 {
                return Some(at);
            }
            at = (at + 1) & self.mask;
        }
        None
    }

    pub(crate) fn get(&self, lpn: Lpn) -> Option<SlotId> {
        self.position(lpn).map(|at| SlotId(self.entries[at].1))
    }

    /// Points a page at a slot, in place of the slot it was at.
    pub(crate) fn set(&mut self, lpn: Lpn, slot: SlotId) {
        let mut at = self.home(lpn.0);
        while self.entries[at] != EMPTY && self.entries[at].0 != lpn.0 {
            at = (at + 1) & self.mask;
        }
        self.entries[at] = (lpn.0, slot.0);
    }

    pub(crate) fn remove(&mut self, lpn: Lpn) {
        let Some(mut hole) = self.position(lpn) else { return };
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask;
            let entry = self.entries[at];
            if entry == EMPTY {
                break;
            }
            // An entry may move into the hole unless its home lies between the hole and itself.
            let distance = |from: usize, to: usize| to.wrapping_sub(from) & self.mask;
            if distance(self.home(entry.0), at) >= distance(hole, at) {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole] = EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn any_sequence_leaves_what_a_map_holds(steps in prop::collection::vec((0u32..3, 0u32..40), 0..400)) {
            let mut index = Index::new(20);
            let mut model = BTreeMap::new();
            for (step, (action, lpn)) in steps.into_iter().enumerate() {
                if action == 0 {
                    index.remove(Lpn(lpn));
                    model.remove(&lpn);
                } else if model.len() < 20 || model.contains_key(&lpn) {
                    index.set(Lpn(lpn), SlotId(step as u32));
                    model.insert(lpn, step as u32);
                }
                for lpn in 0..40 {
                    prop_assert_eq!(index.get(Lpn(lpn)).map(|slot| slot.0), model.get(&lpn).copied());
                }
            }
        }
    }
}
