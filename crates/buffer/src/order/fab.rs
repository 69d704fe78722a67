//! FAB: the logical block with the most buffered pages leaves first, the one written longest ago among equals (Jo et al.,
//! IEEE TCE 2006).
//!
//! ```text
//! written:  move the page's block to the young end of the list for its number of pages
//! victim:   the block at the old end of the list for the highest number, its pages in order of address
//! ```
//!
//! A block that is nearly whole merges cheaply, and small pieces of metadata, which are rewritten soon, stay. O(1) an
//! operation: the highest number only has to be looked for below where it was.

use flashloom_units::{Lpn, PolicySpec, Value};

use super::Order;
use crate::SlotId;
use crate::groups::Groups;
use crate::rings::Rings;

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "fab",
    summary: "the block with the most buffered pages",
    details: "Among blocks with equally many pages the one that was written longest ago. Pages leave in order of address.",
    source: "Jo, Kang, Park, Kim and Lee: FAB, IEEE Transactions on Consumer Electronics 52(2), 2006",
    needs: &[],
    params: &[],
    statistics: &[],
};

pub(super) struct State {
    groups: Groups,
    /// A ring for each number of pages.
    blocks: Rings,
    /// No block has more pages.
    highest: u32,
}

impl State {
    pub(super) fn new(_values: &[Value], pages: u32, pages_per_block: u32) -> Self {
        let groups = Groups::new(pages, pages_per_block);
        Self { groups, blocks: Rings::new(pages, pages_per_block.min(pages) + 1), highest: 0 }
    }
}

impl Order for State {
    fn inserted(&mut self, slot: SlotId, lpn: Lpn) {
        let (group, pages) = self.groups.insert(slot, lpn);
        if pages > 1 {
            self.blocks.remove(group);
        }
        self.blocks.push(pages, group);
        self.highest = self.highest.max(pages);
    }

    fn touched(&mut self, _slot: SlotId, lpn: Lpn) {
        let (group, pages) = self.groups.of(lpn);
        self.blocks.remove(group);
        self.blocks.push(pages, group);
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        let (group, left) = self.groups.remove(slot);
        self.blocks.remove(group);
        if left > 0 {
            self.blocks.push(left, group);
        }
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        while self.highest > 0 {
            if let Some(oldest) = self.blocks.oldest(self.highest) {
                self.blocks.remove(oldest);
                return self.groups.take(oldest, pages);
            }
            self.highest -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::order::model::{assert_same_victims, block_of, pages_of};

    #[test]
    fn victims_are_those_of_a_sorted_list() {
        assert_same_victims("fab", |pages| {
            let rank = |block: u32| {
                let count = pages_of(pages, block).count();
                let changed = pages_of(pages, block).map(|entry| entry.block_changed).max();
                (std::cmp::Reverse(count), changed)
            };
            let block = pages.iter().map(|entry| block_of(entry.lpn)).min_by_key(|&block| rank(block))?;
            let mut victims: Vec<u32> = pages_of(pages, block).map(|entry| entry.lpn).collect();
            victims.sort();
            Some(victims)
        });
    }
}
