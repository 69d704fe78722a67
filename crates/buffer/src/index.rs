//! Index of the buffer: a flat hash table of fixed size from page or block numbers to slots or groups.
//!
//! A table of the size of the buffer stays in the processor's cache, where an array over all logical pages would miss
//! it on every random access. Open addressing with linear probing at half load; deletion shifts entries back, so there
//! are no tombstones.

use flashloom_units::NO_INDEX;

/// Map from the number of a page to its slot, or from the number of a logical block to its group.
pub(crate) struct Index {
    entries: Vec<(u32, u32)>,
    mask: usize,
}

flashloom_units::state! { Index { array entries; fixed mask; } }

const EMPTY: (u32, u32) = (NO_INDEX, NO_INDEX);

impl Index {
    /// Makes an empty map with room for `entries` entries.
    pub(crate) fn new(entries: u32) -> Self {
        let size = (2 * entries as usize).next_power_of_two().max(2);
        Self { entries: vec![EMPTY; size], mask: size - 1 }
    }

    /// Fibonacci hashing: neighbouring numbers are spread over the table.
    #[inline]
    fn home(&self, number: u32) -> usize {
        (u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & self.mask
    }

    #[inline]
    fn position(&self, number: u32) -> Option<usize> {
        let mut at = self.home(number);
        loop {
            match self.entries[at].0 {
                found if found == number => return Some(at),
                NO_INDEX => return None,
                _ => at = (at + 1) & self.mask,
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<u32> {
        self.position(number).map(|at| self.entries[at].1)
    }

    /// Maps a number to a place, and replaces an earlier place.
    #[inline]
    pub(crate) fn set(&mut self, number: u32, place: u32) {
        let mut at = self.home(number);
        loop {
            let entry = &mut self.entries[at];
            if entry.0 == number || entry.0 == NO_INDEX {
                *entry = (number, place);
                return;
            }
            at = (at + 1) & self.mask;
        }
    }

    pub(crate) fn remove(&mut self, number: u32) {
        if let Some(at) = self.position(number) {
            self.empty(at);
        }
    }

    /// Removes a number unless it is mapped to another place.
    #[inline]
    pub(crate) fn remove_from(&mut self, number: u32, place: u32) {
        if let Some(at) = self.position(number).filter(|&at| self.entries[at].1 == place) {
            self.empty(at);
        }
    }

    #[inline]
    fn empty(&mut self, mut hole: usize) {
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask;
            let entry = self.entries[at];
            if entry.0 == NO_INDEX {
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
        fn any_sequence_leaves_what_a_map_holds(steps in prop::collection::vec((0u32..4, 0u32..40), 0..400)) {
            let mut index = Index::new(20);
            let mut model = BTreeMap::new();
            for (step, (action, number)) in steps.into_iter().enumerate() {
                if action == 0 {
                    index.remove(number);
                    model.remove(&number);
                } else if action == 3 {
                    index.remove_from(number, NO_INDEX);
                    if let Some(&place) = model.get(&number).filter(|&&place| place % 2 == 0) {
                        index.remove_from(number, place);
                        model.remove(&number);
                    }
                } else if model.len() < 20 || model.contains_key(&number) {
                    index.set(number, step as u32);
                    model.insert(number, step as u32);
                }
                for number in 0..40 {
                    prop_assert_eq!(index.get(number), model.get(&number).copied());
                }
            }
        }
    }
}
