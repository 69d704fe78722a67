//! A set of small integers with a fast search for the next member: a hierarchy of bitmaps.
//!
//! Each bit of a level stands for a 64-bit word of the level below, so 10,000 members take three levels. Every
//! operation touches one or two words of each level, however large the gaps between members are.

/// A set of integers below a fixed limit.
#[derive(Debug)]
pub struct IndexSet {
    /// Bitmaps from the members up; a bit is set if the word below it is not zero. The last level is one word.
    levels: Vec<Vec<u64>>,
}

crate::state! { IndexSet { each levels; } }

impl IndexSet {
    /// Makes an empty set of integers below `len`.
    pub fn new(len: u32) -> Self {
        let mut levels = Vec::new();
        let mut words = len as usize;
        loop {
            words = words.div_ceil(64).max(1);
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels };
            }
        }
    }

    /// True if `index` is a member.
    #[inline]
    pub fn contains(&self, index: u32) -> bool {
        self.levels[0][index as usize / 64] & 1 << (index % 64) != 0
    }

    /// Adds `index`.
    #[inline]
    pub fn insert(&mut self, index: u32) {
        let mut at = index as usize;
        for level in &mut self.levels {
            level[at / 64] |= 1 << (at % 64);
            at /= 64;
        }
    }

    /// Removes `index`.
    #[inline]
    pub fn remove(&mut self, index: u32) {
        let mut at = index as usize;
        for level in &mut self.levels {
            level[at / 64] &= !(1 << (at % 64));
            if level[at / 64] != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The least member that is at least `from`; none if there is no such member.
    #[inline]
    pub fn at_or_after(&self, from: u32) -> Option<u32> {
        let mut at = from as usize;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(at / 64)? & (!0 << (at % 64));
            if word != 0 {
                let found = at / 64 * 64 + word.trailing_zeros() as usize;
                return Some(self.least_below(height, found) as u32);
            }
            at = at / 64 + 1;
        }
        None
    }

    /// The least member below a bit that is set at some level.
    fn least_below(&self, height: usize, bit: usize) -> usize {
        self.levels[..height].iter().rev().fold(bit, |at, level| at * 64 + level[at].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_search_among_ten_thousand_looks_at_three_levels() {
        assert_eq!(IndexSet::new(10).levels.len(), 1);
        assert_eq!(IndexSet::new(10_000).levels.len(), 3);
        assert_eq!(IndexSet::new(1 << 20).levels.len(), 4);
    }

    proptest! {
        #[test]
        fn it_behaves_as_a_sorted_set(
            len in 1..300_000u32,
            steps in prop::collection::vec((any::<bool>(), any::<u32>(), any::<u32>()), 0..200),
        ) {
            let (mut set, mut model) = (IndexSet::new(len), BTreeSet::new());
            for (add, index, from) in steps {
                let (index, from) = (index % len, from % (len + 1));
                if add {
                    set.insert(index);
                    model.insert(index);
                } else {
                    set.remove(index);
                    model.remove(&index);
                }
                prop_assert_eq!(set.contains(index), add);
                prop_assert_eq!(set.at_or_after(from), model.range(from..).next().copied());
                prop_assert_eq!(set.at_or_after(0), model.first().copied());
            }
        }
    }
}
