//! Page-level LRU: evict the page that was written longest ago (CAVE, section 5.1).
//!
//! ```text
//! written:  move the page to the young end
//! victim:   the page at the old end
//! ```
//!
//! Reads do not move a page: the buffer exists to absorb rewrites, and a page that is only read may as well be read
//! from flash. O(1) an operation, eight bytes a page.

use super::prelude::*;

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "page-lru",
    summary: "evicts the page that was written longest ago",
    details: "A write moves a page to the young end, a read does not.",
    source: "CAVE, section 5.1 (page-level LRU)",
    example: "buffer.order=page-lru buffer.capacity=32MiB workload.synthetic.pattern=zipf",
    instead: "With log blocks, single pages of many blocks cause full merges: `block-lru`, `fab` and `clc` evict the \
              pages of a block together. To cache pages that the host reads, use `cflru`.",
    offers: &[Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

pub(super) struct PageLru {
    pages: Lists<SlotId>,
}

flashloom_units::state! { PageLru { nested pages; } }

impl PageLru {
    pub(super) fn new((): (), on: &OrderSetup) -> Self {
        Self { pages: Lists::new(on.pages, 1) }
    }
}

flashloom_units::component! { PageLru }

impl Order for PageLru {
    fn inserted(&mut self, slot: SlotId, _lpn: Lpn) {
        self.pages.push_back(0, slot);
    }

    fn touched(&mut self, slot: SlotId, _lpn: Lpn) {
        self.pages.remove(slot);
        self.pages.push_back(0, slot);
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        self.pages.remove(slot);
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        pages.extend(self.pages.pop_front(0));
    }
}

#[cfg(test)]
mod tests {
    use crate::order::model::{Naive, assert_same_victims};

    /// The pages in order of their last write, the oldest first.
    struct Pages(Vec<u32>);

    impl Naive for Pages {
        fn written(&mut self, lpn: u32, _is_new: bool) {
            self.removed(lpn);
            self.0.push(lpn);
        }

        fn removed(&mut self, lpn: u32) {
            self.0.retain(|&page| page != lpn);
        }

        fn victim(&mut self) -> Vec<u32> {
            self.0.drain(..self.0.len().min(1)).collect()
        }
    }

    #[test]
    fn victims_are_those_of_a_sorted_list() {
        assert_same_victims("page-lru", &[], Pages(Vec::new()));
    }
}
