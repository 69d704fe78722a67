//! REF, recently evicted first: evict pages of logical blocks that lost pages recently (Seo and Shin, IEEE
//! Transactions on Consumer Electronics 54(3), 2008).
//!
//! ```text
//! window:   the pages at the old end of an LRU list of pages, `window` of the buffer's room
//! written:  move the page to the young end of the LRU list
//! victim:   the oldest page in the window that belongs to a victim block
//!           if there is none, first make the block with the most pages in the window a victim block; if there are
//!           `victim_blocks` already, it replaces the one that has been a victim block longest
//! ```
//!
//! The cost of merging a log block grows with the number of logical blocks that have pages in it. REF keeps that number
//! low; there should be fewer victim blocks than the FTL has log blocks. Among blocks with equally many pages in the
//! window, the one whose number of pages changed longest ago is chosen: this and the defaults are choices made here.
//! The block of a page that leaves out of turn (FUA) does not become a victim block. O(1) an operation.

use std::collections::VecDeque;

use super::prelude::*;
use crate::window::Window;

params! {
    /// Parameters of REF.
    pub struct RefParams {
        /// Size of the window of the oldest pages that victims are chosen from, as a share of the buffer.
        window: f64 => "window", Kind::Ratio { min: 0.001, max: 1.0 }, Value::Ratio(0.5),
            "A larger window finds more pages of a victim block, and evicts younger pages.";
        /// Number of logical blocks that pages are evicted from at a time.
        victim_blocks: u32 => "victim_blocks", Kind::Count { min: 1, max: 65_536 }, Value::Count(4),
            "More blocks evict older pages, and use more log blocks at a time.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "ref",
    summary: "evicts pages of blocks that lost pages recently, within a window of the oldest pages",
    details: "A new victim block is the one with the most pages in the window. Use fewer victim blocks than the FTL \
              has log blocks. The defaults are choices made here.",
    source: "Seo and Shin: Recently-Evicted-First Buffer Replacement Policy for Flash Storage Devices, IEEE \
             Transactions on Consumer Electronics 54(3), 2008",
    example: "buffer.order=ref buffer.ref.victim_blocks=8 ftl.mapping=fast workload.synthetic.pattern=zipf",
    instead: "With a page-level mapping there is no merge to make cheaper: use `page-lru`. To evict whole blocks at \
              once, use `block-lru` or `fab`.",
    offers: &[Capability::SAVED_STATE],
    params: RefParams::PARAMS,
    ..PolicySpec::BLANK
};

pub(super) struct Ref {
    window: Window,
    lpns: Vec<Lpn>,
    /// Pages in the window whose block is not a victim block, by block, and these blocks by their number of pages.
    others: Groups,
    blocks: Sizes,
    /// Pages in the window whose block is a victim block, the oldest first. One list for all victim blocks is enough: a
    /// block becomes a victim block only when the list is empty, so its pages and those that come into the window later
    /// are appended in order of age.
    victims: Lists<SlotId>,
    /// The victim blocks, the longest standing first.
    victim_blocks: VecDeque<Lbn>,
    is_victim_block: Index,
    most_victim_blocks: u32,
    /// Pages of the block that becomes a victim block.
    joining: Vec<SlotId>,
}

flashloom_units::state! {
    Ref {
        nested window, lpns, others, blocks, victims, is_victim_block;
        value victim_blocks;
        scratch joining;
        fixed most_victim_blocks;
    }
}

impl Ref {
    pub(super) fn new(params: RefParams, on: &OrderSetup) -> Self {
        let OrderSetup { pages, pages_per_block, .. } = *on;
        let largest = pages_per_block.min(pages);
        Self {
            window: Window::new(pages, params.window),
            lpns: vec![Lpn::NONE; pages as usize],
            others: Groups::new(pages, pages_per_block),
            blocks: Sizes::new(pages, largest),
            victims: Lists::new(pages, 1),
            victim_blocks: VecDeque::with_capacity(params.victim_blocks as usize),
            is_victim_block: Index::new(params.victim_blocks),
            most_victim_blocks: params.victim_blocks,
            joining: Vec::with_capacity(largest as usize),
        }
    }

    fn is_victim(&self, slot: SlotId) -> bool {
        self.is_victim_block.get(self.others.block_of(self.lpns[slot.at()]).0).is_some()
    }

    /// Puts the pages that come into the window into their lists.
    fn slide(&mut self) {
        while let Some(slot) = self.window.slide() {
            if self.is_victim(slot) {
                self.victims.push_back(0, slot);
                continue;
            }
            let (block, pages) = self.others.insert(slot, self.lpns[slot.at()]);
            self.blocks.update(block, pages);
        }
    }

    /// Removes a page from the window and from its list.
    fn unlist(&mut self, slot: SlotId) {
        if !self.window.remove(slot) {
            return;
        }
        if self.is_victim(slot) {
            return self.victims.remove(slot);
        }
        let (block, left) = self.others.remove(slot);
        self.blocks.update(block, left);
    }

    /// Makes the block with the most pages in the window a victim block. Called when the window has no page of a victim
    /// block.
    fn choose_victim_block(&mut self) {
        let Some(group) = self.blocks.take_largest() else { return };
        if self.victim_blocks.len() == self.most_victim_blocks as usize {
            let longest = self.victim_blocks.pop_front().expect("there is at least one victim block");
            self.is_victim_block.remove(longest.0);
        }
        let block = self.others.block(group);
        self.victim_blocks.push_back(block);
        // The index is used as a set: any value will do.
        self.is_victim_block.set(block.0, 0);
        self.others.take_youngest_first(group, &mut self.joining);
        for slot in self.joining.drain(..).rev() {
            self.victims.push_back(0, slot);
        }
    }
}

flashloom_units::component! { Ref }

impl Order for Ref {
    fn inserted(&mut self, slot: SlotId, lpn: Lpn) {
        self.lpns[slot.at()] = lpn;
        self.window.push(slot);
        self.slide();
    }

    fn touched(&mut self, slot: SlotId, lpn: Lpn) {
        self.unlist(slot);
        self.inserted(slot, lpn);
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        self.unlist(slot);
        self.slide();
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        if self.victims.is_empty(0) {
            self.choose_victim_block();
        }
        if let Some(oldest) = self.victims.front(0) {
            self.removed(oldest, self.lpns[oldest.at()]);
            pages.push(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use flashloom_units::Value;

    use crate::order::model::{Naive, PAGES_PER_BLOCK, ROOM, assert_same_victims};

    /// All pages in LRU order, the oldest first; the first `within` are in the window.
    struct Pages {
        pages: Vec<u32>,
        within: usize,
        size: usize,
        /// The victim blocks, the longest standing first.
        victim_blocks: Vec<u32>,
        most: usize,
        /// Number of each block's pages in the window as counted last, and the time of its last change.
        counted: Vec<(usize, u32)>,
        changes: u32,
    }

    impl Pages {
        fn new(window: f64, most: usize) -> Self {
            let size = (ROOM as f64 * window).ceil() as usize;
            let (pages, victim_blocks, counted) = (Vec::new(), Vec::new(), vec![(0, 0); 12]);
            Self { pages, within: 0, size, victim_blocks, most, counted, changes: 0 }
        }

        /// Updates the time of the block whose number of pages in the window has changed; called after each single
        /// change.
        fn count(&mut self) {
            self.changes += 1;
            for (block, (count, changed)) in self.counted.iter_mut().enumerate() {
                let window = self.pages[..self.within].iter();
                let now = window.filter(|&&lpn| lpn / PAGES_PER_BLOCK == block as u32).count();
                if now != *count {
                    (*count, *changed) = (now, self.changes);
                }
            }
        }

        fn slide(&mut self) {
            while self.within < self.size && self.within < self.pages.len() {
                self.within += 1;
                self.count();
            }
        }

        fn take(&mut self, lpn: u32) {
            if let Some(at) = self.pages.iter().position(|&page| page == lpn) {
                self.pages.remove(at);
                self.within -= usize::from(at < self.within);
                self.count();
            }
        }

        fn oldest_of_victim_blocks(&self) -> Option<u32> {
            let mut window = self.pages[..self.within].iter().copied();
            window.find(|lpn| self.victim_blocks.contains(&(lpn / PAGES_PER_BLOCK)))
        }
    }

    impl Naive for Pages {
        fn written(&mut self, lpn: u32, _is_new: bool) {
            self.take(lpn);
            self.pages.push(lpn);
            self.slide();
        }

        fn removed(&mut self, lpn: u32) {
            self.take(lpn);
            self.slide();
        }

        fn victim(&mut self) -> Vec<u32> {
            if self.pages.is_empty() {
                return Vec::new();
            }
            if self.oldest_of_victim_blocks().is_none() {
                let rank = |&block: &u32| {
                    let (count, changed) = self.counted[block as usize];
                    (count, std::cmp::Reverse(changed))
                };
                let chosen = (0..self.counted.len() as u32).max_by_key(rank).unwrap();
                if self.victim_blocks.len() == self.most {
                    self.victim_blocks.remove(0);
                }
                self.victim_blocks.push(chosen);
            }
            let victim = self.oldest_of_victim_blocks().unwrap();
            self.removed(victim);
            vec![victim]
        }
    }

    #[test]
    fn victims_are_those_of_a_sorted_list() {
        for (window, most) in [(0.5, 4), (0.001, 1), (1.0, 1), (0.75, 2), (0.3, 12)] {
            let set = [("window", Value::Ratio(window)), ("victim_blocks", Value::Count(most))];
            assert_same_victims("ref", &set, Pages::new(window, most as usize));
        }
    }
}
