//! The random map of a job: blocks of a file already accessed, so that each is accessed once before any is again.
//!
//! A tree of 64-bit words over the blocks: a bit of a level is set when the word below it is full, so the next free
//! block is found in as many steps as there are levels.

/// Set of blocks already accessed.
#[derive(Clone, Debug)]
pub(super) struct RandomMap {
    blocks: u64,
    /// One bit per block in the first level; the last level is one word.
    levels: Vec<Vec<u64>>,
}

impl RandomMap {
    /// An empty map of `blocks` blocks, at least one.
    pub fn new(blocks: u64) -> Self {
        let mut map = Self { blocks, levels: Vec::new() };
        let mut bits = blocks;
        while map.levels.is_empty() || bits > 1 {
            let words = bits.div_ceil(64);
            map.levels.push(vec![0; words as usize]);
            bits = words;
        }
        map.clear();
        map
    }

    /// Memory of a map of `blocks` blocks, in bytes, without the upper levels (1/63 more).
    pub fn bytes(blocks: u64) -> u64 {
        blocks.div_ceil(64) * 8
    }

    /// Empties the map. Bits beyond the end count as set.
    pub fn clear(&mut self) {
        let mut bits = self.blocks;
        for level in &mut self.levels {
            level.fill(0);
            if let (Some(last), used @ 1..) = (level.last_mut(), bits % 64) {
                *last = !0 << used;
            }
            bits = level.len() as u64;
        }
    }

    /// True if a block is in the map.
    pub fn is_done(&self, block: u64) -> bool {
        self.levels[0][(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    /// Adds a block.
    pub fn mark(&mut self, block: u64) {
        let mut bit = block;
        for level in &mut self.levels {
            let word = &mut level[(bit / 64) as usize];
            *word |= 1 << (bit % 64);
            if *word != !0 {
                break;
            }
            bit /= 64;
        }
    }

    /// The first block from `block` on that is not in the map, wrapping around at the end; `None` if all are.
    pub fn next_free(&self, block: u64) -> Option<u64> {
        self.free_from(block).or_else(|| self.free_from(0))
    }

    fn free_from(&self, block: u64) -> Option<u64> {
        let mut bit = block;
        for (height, level) in self.levels.iter().enumerate() {
            let (word, shift) = ((bit / 64) as usize, bit % 64);
            let free = level.get(word).map_or(0, |word| !word & (!0 << shift));
            if free != 0 {
                let mut found = word as u64 * 64 + u64::from(free.trailing_zeros());
                for below in self.levels[..height].iter().rev() {
                    found = found * 64 + u64::from((!below[found as usize]).trailing_zeros());
                }
                return Some(found);
            }
            bit = word as u64 + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_next_free_block_is_the_one_that_a_search_finds(
            blocks in 1u64..9_000, marks in proptest::collection::vec(any::<u64>(), 0..300), dense: bool,
        ) {
            let mut map = RandomMap::new(blocks);
            let mut done = vec![false; blocks as usize];
            let runs = marks.iter().flat_map(|at| (0..if dense { 90 } else { 1 }).map(move |step| at % blocks + step));
            for block in runs.filter(|&block| block < blocks) {
                map.mark(block);
                done[block as usize] = true;
            }
            for from in marks.iter().map(|at| at % blocks).chain([0, blocks - 1]) {
                let search = (from..blocks).chain(0..from).find(|&block| !done[block as usize]);
                prop_assert_eq!(map.next_free(from), search);
                prop_assert_eq!(map.is_done(from), done[from as usize]);
            }
            (0..blocks).for_each(|block| map.mark(block));
            prop_assert_eq!(map.next_free(0), None);
            map.clear();
            prop_assert_eq!(map.next_free(blocks - 1), Some(blocks - 1));
        }
    }
}
