//! The pages that were used longest ago: a window at the old end of a list of all pages.

use crate::SlotId;
use crate::rings::Rings;

/// All pages of an order by age, and which of them are the oldest. O(1) an operation.
///
/// A page that has come into the window leaves it only when it is removed, because younger pages are added at the other
/// end. So the list itself is needed only for the pages outside.
pub(crate) struct Window {
    outside: Rings,
    contains: Vec<bool>,
    within: u32,
    size: u32,
}

impl Window {
    /// For a buffer of that many pages; the window is that share of them, rounded up.
    pub(crate) fn new(pages: u32, share: f64) -> Self {
        let size = (f64::from(pages) * share).ceil() as u32;
        Self { outside: Rings::new(pages, 1), contains: vec![false; pages as usize], within: 0, size }
    }

    /// Adds a page as the youngest of all. [`Self::slide`] must follow.
    pub(crate) fn push(&mut self, slot: SlotId) {
        self.outside.push(0, slot.0);
    }

    /// Takes a page out; answers whether it was in the window. [`Self::slide`] must follow.
    pub(crate) fn remove(&mut self, slot: SlotId) -> bool {
        let was_within = std::mem::take(&mut self.contains[slot.at()]);
        if was_within {
            self.within -= 1;
        } else {
            self.outside.remove(slot.0);
        }
        was_within
    }

    /// Moves the oldest page outside into the window if that has room, and answers which; pages come in by age.
    pub(crate) fn slide(&mut self) -> Option<SlotId> {
        if self.within == self.size {
            return None;
        }
        let oldest = self.outside.oldest(0)?;
        self.outside.remove(oldest);
        self.contains[oldest as usize] = true;
        self.within += 1;
        Some(SlotId(oldest))
    }

    /// Whether a page is in the window.
    pub(crate) fn contains(&self, slot: SlotId) -> bool {
        self.contains[slot.at()]
    }
}
