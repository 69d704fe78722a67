//! Block-level LRU: evict the logical block that was written longest ago, with all its buffered pages (CAVE, section
//! 4.2); with both options it is BPLRU (Kim and Ahn, FAST 2008, section 3).
//!
//! ```text
//! written:       move the page's block to the young end
//! compensation:  if the block was now written from its first page to its last in order, move it to the old end
//! victim:        the block at the old end, its pages in order of address
//! padding:       the pages of the block that the buffer lacks are read from flash and written in their places
//! ```
//!
//! The pages of a block are evicted together, so a block-mapped FTL merges less; a write to any page of a block keeps
//! all of them. Padding makes every victim a whole block, which such an FTL takes by a switch merge. Pages that were
//! written in sequence will probably not be written again soon: compensation keeps them from evicting the rest.
//!
//! A page that was never programmed cannot be read, and is not padded. A flush pads its victims too; a page that is
//! evicted out of turn (FUA) is not padded. A block has the pages of an erase block of one chip, as in CAVE's Figure 3:
//! if the mapping stripes its logical blocks over several chips (mcsplit), padding completes none of them and causes no
//! switch merges. Padding pages count as write amplification, because the host did not write them. Writing the last
//! page of a run again does not break the run, for requests smaller than a page. O(1) an operation; a victim costs the
//! sorting of its pages, or with padding a visit to each page of its block.

use super::prelude::*;

params! {
    /// Parameters of block-level LRU.
    pub struct BlockLruParams {
        /// True to complete a victim with pages read from flash, and write it as a whole block.
        padding: bool => "padding", Kind::Flag, Value::Flag(false),
            "Saves full merges of a block-mapped FTL, and costs a read and a write for each page that the buffer \
             lacks.";
        /// True to evict a block next if it was written in sequence.
        compensation: bool => "compensation", Kind::Flag, Value::Flag(false),
            "Keeps long writes from evicting pages that are written again, and gives up hits on blocks that are \
             written in sequence again and again.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "block-lru",
    summary: "evicts the block that was written longest ago, with all its pages",
    details: "A write makes the whole block of its page the youngest. Pages leave in order of address. With `padding` \
              and `compensation` it is BPLRU. A flush pads its victims too, FUA pages leave alone. Padding programs \
              pages that the host did not write, which raises write amplification (ftl.waf); it fills one erase block, \
              so under a mapping that stripes its logical blocks over chips (mcsplit) it causes no switch merges.",
    source: "Kim and Ahn: BPLRU, FAST 2008, section 3; CAVE, section 4.2",
    example: "buffer.order=block-lru buffer.block-lru.padding=true buffer.block-lru.compensation=true ftl.mapping=bast \
              workload.synthetic.request_size=64KiB",
    instead: "With a page-level mapping evicting by blocks saves no merges: `page-lru` keeps more of the pages that \
              are written again. With log blocks and without sequential writes, compare it with `fab`.",
    offers: &[Capability::SAVED_STATE],
    params: BlockLruParams::PARAMS,
    ..PolicySpec::BLANK
};

pub(super) struct BlockLru {
    params: BlockLruParams,
    groups: Groups,
    blocks: Lists<u32>,
    /// Number of pages of each block that were written in sequence, from its first page on.
    runs: Vec<u32>,
}

flashloom_units::state! { BlockLru { nested groups, blocks, runs; fixed params; } }

impl BlockLru {
    pub(super) fn new(params: BlockLruParams, on: &OrderSetup) -> Self {
        let OrderSetup { pages, pages_per_block, .. } = *on;
        let (groups, runs) = (Groups::new(pages, pages_per_block), vec![0; pages as usize]);
        Self { params, groups, blocks: Lists::new(pages, 1), runs }
    }

    /// Updates the run of a block whose page was written, and puts the block back into the list.
    fn written(&mut self, block: u32, lpn: Lpn) {
        let offset = self.groups.offset_of(lpn);
        let run = &mut self.runs[block as usize];
        if offset == *run || offset == 0 {
            *run = offset + 1;
        } else if offset + 1 != *run {
            *run = 0;
        }
        if self.params.compensation && *run == self.groups.pages_per_block() {
            self.blocks.push_front(0, block);
        } else {
            self.blocks.push_back(0, block);
        }
    }
}

flashloom_units::component! { BlockLru }

impl Order for BlockLru {
    fn inserted(&mut self, slot: SlotId, lpn: Lpn) {
        let (block, pages) = self.groups.insert(slot, lpn);
        if pages > 1 {
            self.blocks.remove(block);
        } else {
            self.runs[block as usize] = 0;
        }
        self.written(block, lpn);
    }

    fn touched(&mut self, _slot: SlotId, lpn: Lpn) {
        let (block, _) = self.groups.of(lpn);
        self.blocks.remove(block);
        self.written(block, lpn);
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        let (block, left) = self.groups.remove(slot);
        if left == 0 {
            self.blocks.remove(block);
        }
    }

    fn evicts_blocks(&self) -> bool {
        true
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        if let Some(oldest) = self.blocks.pop_front(0) {
            self.groups.take(oldest, pages);
        }
    }

    fn padded_block(&self) -> Option<u32> {
        self.params.padding.then(|| self.groups.pages_per_block())
    }
}

#[cfg(test)]
mod tests {
    use flashloom_units::Value;

    use crate::order::model::{Block, Naive, PAGES_PER_BLOCK, assert_same_victims, take, take_written};

    /// The blocks, in order of eviction.
    struct Blocks {
        blocks: Vec<Block>,
        compensation: bool,
    }

    /// True if the last writes went through the whole block in sequence; a page may be repeated in a row.
    fn was_written_in_sequence(block: &Block) -> bool {
        let mut writes = block.writes.clone();
        writes.dedup();
        let start = block.number * PAGES_PER_BLOCK;
        writes.ends_with(&(start..start + PAGES_PER_BLOCK).collect::<Vec<_>>())
    }

    impl Naive for Blocks {
        fn written(&mut self, lpn: u32, _is_new: bool) {
            let mut block = take_written(&mut self.blocks, lpn);
            // More of the past does not matter, and would make the test quadratic.
            let old = block.writes.len().saturating_sub(100);
            block.writes.drain(..old);
            let at = if self.compensation && was_written_in_sequence(&block) { 0 } else { self.blocks.len() };
            self.blocks.insert(at, block);
        }

        fn removed(&mut self, lpn: u32) {
            self.blocks.iter_mut().for_each(|block| block.pages.retain(|&page| page != lpn));
            self.blocks.retain(|block| !block.pages.is_empty());
        }

        fn victim(&mut self) -> Vec<u32> {
            let next = self.blocks.first().map(|block| block.pages[0]);
            next.and_then(|lpn| take(&mut self.blocks, lpn)).map_or(Vec::new(), Block::victim)
        }
    }

    #[test]
    fn victims_are_those_of_a_sorted_list() {
        assert_same_victims("block-lru", &[], Blocks { blocks: Vec::new(), compensation: false });
    }

    #[test]
    fn with_compensation_a_block_written_in_sequence_is_the_next_victim() {
        let set = [("compensation", Value::Flag(true))];
        assert_same_victims("block-lru", &set, Blocks { blocks: Vec::new(), compensation: true });
    }
}
