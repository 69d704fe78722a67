//! Chains: many first-in-first-out lists over one set of blocks, each block in one of them at most.

use flashloom_units::{BlockId, NO_INDEX};

/// Doubly linked lists in flat arrays: every operation is O(1), and nothing is allocated after the start.
pub(super) struct Chains {
    heads: Vec<u32>,
    tails: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
}

flashloom_units::state! { Chains { nested heads, tails, next, previous; } }

impl Chains {
    /// Empty chains for the blocks of a drive.
    pub(super) fn new(chains: usize, blocks: usize) -> Self {
        Self {
            heads: vec![NO_INDEX; chains],
            tails: vec![NO_INDEX; chains],
            next: vec![NO_INDEX; blocks],
            previous: vec![NO_INDEX; blocks],
        }
    }

    /// The block that has been longest in a chain, or none.
    #[inline]
    pub(super) fn head(&self, chain: usize) -> BlockId {
        BlockId(self.heads[chain])
    }

    /// The block behind another, or none.
    pub(super) fn after(&self, block: BlockId) -> BlockId {
        BlockId(self.next[block.at()])
    }

    #[inline]
    pub(super) fn append(&mut self, chain: usize, block: BlockId) {
        let tail = std::mem::replace(&mut self.tails[chain], block.0);
        self.next[block.at()] = NO_INDEX;
        self.previous[block.at()] = tail;
        if tail == NO_INDEX { self.heads[chain] = block.0 } else { self.next[tail as usize] = block.0 }
    }

    /// Takes a block out of the chain that it is in.
    #[inline]
    pub(super) fn remove(&mut self, chain: usize, block: BlockId) {
        let (previous, next) = (self.previous[block.at()], self.next[block.at()]);
        if previous == NO_INDEX {
            self.heads[chain] = next
        } else {
            self.next[previous as usize] = next
        }
        if next == NO_INDEX { self.tails[chain] = previous } else { self.previous[next as usize] = previous }
    }
}
