//! Groups of pages by how many pages they have, for orders whose victim is the largest.

use crate::rings::Rings;

/// A ring of groups for each number of pages. O(1) an operation: the highest number that any group has only has to be
/// looked for below where it was, and rises by one page at a time.
pub(crate) struct Sizes {
    groups: Rings,
    /// No group has more pages.
    highest: u32,
}

impl Sizes {
    /// For that many groups of at most `largest` pages.
    pub(crate) fn new(groups: u32, largest: u32) -> Self {
        Self { groups: Rings::new(groups, largest + 1), highest: 0 }
    }

    /// Adds a group of that many pages, as the youngest among equals.
    pub(crate) fn push(&mut self, group: u32, pages: u32) {
        self.groups.push(pages, group);
        self.highest = self.highest.max(pages);
    }

    /// Takes a group out.
    pub(crate) fn remove(&mut self, group: u32) {
        self.groups.remove(group);
    }

    /// Takes the group with the most pages out, the oldest among equals.
    pub(crate) fn take_largest(&mut self) -> Option<u32> {
        while self.highest > 0 {
            if let Some(oldest) = self.groups.oldest(self.highest) {
                self.groups.remove(oldest);
                return Some(oldest);
            }
            self.highest -= 1;
        }
        None
    }
}
