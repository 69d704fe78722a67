//! FAB, flash-aware buffer: evict the logical block with the most buffered pages, among equals the one that was
//! written, or lost a page, longest ago (Jo et al., IEEE Transactions on Consumer Electronics 52(2), 2006).
//!
//! ```text
//! written:  move the page's block to the young end of the list for its number of pages
//! lost:     likewise a block that loses a page to a discard or FUA
//! victim:   the block at the old end of the list for the highest number, its pages in order of address
//! ```
//!
//! A block that is nearly complete merges cheaply, and small pieces of metadata, which are rewritten soon, stay. O(1)
//! an operation; a victim costs the sorting of its pages.

use super::prelude::*;

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "fab",
    summary: "evicts the block with the most buffered pages",
    details: "Among blocks with equally many pages it evicts the one that was written, or lost a page to a discard or \
              FUA, longest ago. Pages leave in order of address.",
    source: "Jo, Kang, Park, Kim and Lee: FAB, IEEE Transactions on Consumer Electronics 52(2), 2006",
    example: "buffer.order=fab ftl.mapping=bast workload.synthetic.request_size=64KiB",
    instead: "A large block is evicted even if it is written all the time: `clc` keeps the recently written ones. With \
              a page-level mapping use `page-lru`.",
    offers: &[Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

pub(super) struct Fab {
    groups: Groups,
    blocks: Sizes,
}

flashloom_units::state! { Fab { nested groups, blocks; } }

impl Fab {
    pub(super) fn new((): (), on: &OrderSetup) -> Self {
        let OrderSetup { pages, pages_per_block, .. } = *on;
        Self { groups: Groups::new(pages, pages_per_block), blocks: Sizes::new(pages, pages_per_block.min(pages)) }
    }
}

flashloom_units::component! { Fab }

impl Order for Fab {
    fn inserted(&mut self, slot: SlotId, lpn: Lpn) {
        let (group, pages) = self.groups.insert(slot, lpn);
        self.blocks.update(group, pages);
    }

    fn touched(&mut self, _slot: SlotId, lpn: Lpn) {
        let (group, pages) = self.groups.of(lpn);
        self.blocks.update(group, pages);
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        let (group, left) = self.groups.remove(slot);
        self.blocks.update(group, left);
    }

    fn evicts_blocks(&self) -> bool {
        true
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        if let Some(group) = self.blocks.take_largest() {
            self.groups.take(group, pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::order::model::{Block, Naive, assert_same_victims, take, take_written};

    /// The blocks, in order of when they were last written or lost a page; the oldest first.
    struct Blocks(Vec<Block>);

    impl Naive for Blocks {
        fn written(&mut self, lpn: u32, _is_new: bool) {
            let block = take_written(&mut self.0, lpn);
            self.0.push(block);
        }

        fn removed(&mut self, lpn: u32) {
            let mut block = take(&mut self.0, lpn).unwrap();
            block.pages.retain(|&page| page != lpn);
            self.0.extend((!block.pages.is_empty()).then_some(block));
        }

        fn victim(&mut self) -> Vec<u32> {
            let most = self.0.iter().map(|block| block.pages.len()).max();
            let at = self.0.iter().position(|block| Some(block.pages.len()) == most);
            at.map_or(Vec::new(), |at| self.0.remove(at).victim())
        }
    }

    #[test]
    fn victims_are_those_of_a_sorted_list() {
        assert_same_victims("fab", &[], Blocks(Vec::new()));
    }
}
