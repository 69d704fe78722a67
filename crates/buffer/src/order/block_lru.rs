//! Block-level LRU: the logical block that was written longest ago leaves first, with all its buffered pages (Kim and
//! Ahn, FAST 2008, without padding and compensation; CAVE, section 4.2).
//!
//! ```text
//! written:  move the page's block to the young end
//! victim:   the block at the old end, its pages in order of address
//! ```
//!
//! What belongs to one block leaves together, so a block-mapped FTL merges less, and a write to any page of a block keeps
//! all of it. O(1) an operation, and a victim costs the sorting of its pages.

use flashloom_units::{Lpn, PolicySpec, Value};

use super::Order;
use crate::SlotId;
use crate::groups::Groups;
use crate::rings::Rings;

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "block-lru",
    summary: "the block that was written longest ago, with all its pages",
    details: "A write makes the whole block of its page young again. Pages leave in order of address.",
    source: "Kim and Ahn, FAST 2008, section 3.1, without padding and LRU compensation; CAVE, section 4.2",
    needs: &[],
    params: &[],
    statistics: &[],
};

pub(super) struct State {
    groups: Groups,
    blocks: Rings,
}

impl State {
    pub(super) fn new(_values: &[Value], pages: u32, pages_per_block: u32) -> Self {
        Self { groups: Groups::new(pages, pages_per_block), blocks: Rings::new(pages, 1) }
    }
}

impl Order for State {
    fn inserted(&mut self, slot: SlotId, lpn: Lpn) {
        let (group, pages) = self.groups.insert(slot, lpn);
        if pages > 1 {
            self.blocks.remove(group);
        }
        self.blocks.push(0, group);
    }

    fn touched(&mut self, _slot: SlotId, lpn: Lpn) {
        let (group, _) = self.groups.of(lpn);
        self.blocks.remove(group);
        self.blocks.push(0, group);
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        let (group, left) = self.groups.remove(slot);
        if left == 0 {
            self.blocks.remove(group);
        }
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        if let Some(oldest) = self.blocks.oldest(0) {
            self.blocks.remove(oldest);
            self.groups.take(oldest, pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::order::model::{assert_same_victims, block_of, pages_of};

    #[test]
    fn victims_are_those_of_a_sorted_list() {
        assert_same_victims("block-lru", |pages| {
            let written = |block| pages_of(pages, block).map(|entry| entry.block_written).max();
            let block = pages.iter().map(|entry| block_of(entry.lpn)).min_by_key(|&block| written(block))?;
            let mut victims: Vec<u32> = pages_of(pages, block).map(|entry| entry.lpn).collect();
            victims.sort();
            Some(victims)
        });
    }
}
