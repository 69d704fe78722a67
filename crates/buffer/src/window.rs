//! A window of the least recently used pages: the old end of an LRU list of all pages.

use flashloom_units::Lists;
use serde::{Deserialize, Serialize};

use crate::SlotId;

/// All pages of a replacement policy in LRU order, and a mark on those in the window. O(1) an operation.
///
/// A page that has come into the window leaves it only when it is removed, because younger pages are added at the other
/// end. So the list itself is needed only for the pages outside.
pub(crate) struct Window {
    outside: Lists<SlotId>,
    place: Vec<WindowPlace>,
    within: u32,
    size: u32,
}

flashloom_units::state! { Window { nested outside; array place; value within; fixed size; } }

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum WindowPlace {
    Outside,
    Within,
    /// In the window, but not counted against its size.
    Between,
}

impl Window {
    /// Makes the window of a buffer of `pages` pages: `share` of them, rounded up.
    pub(crate) fn new(pages: u32, share: f64) -> Self {
        let size = (f64::from(pages) * share).ceil() as u32;
        Self { outside: Lists::new(pages, 1), place: vec![WindowPlace::Outside; pages as usize], within: 0, size }
    }

    /// Adds a page as the most recently used. [`Self::slide`] must follow.
    pub(crate) fn push(&mut self, slot: SlotId) {
        self.outside.push_back(0, slot);
    }

    /// Removes a page; returns true if it was in the window. [`Self::slide`] must follow.
    pub(crate) fn remove(&mut self, slot: SlotId) -> bool {
        let place = std::mem::replace(&mut self.place[slot.at()], WindowPlace::Outside);
        match place {
            WindowPlace::Outside => self.outside.remove(slot),
            WindowPlace::Within => self.within -= 1,
            WindowPlace::Between => {}
        }
        place != WindowPlace::Outside
    }

    /// Moves the oldest page outside into the window if that is not full, and returns it. To be called until it returns
    /// none.
    pub(crate) fn slide(&mut self) -> Option<SlotId> {
        self.slide_past(|_| false)
    }

    /// Does the same as [`Self::slide`], but does not count the pages for which `takes_no_room` is true against the
    /// window's size.
    pub(crate) fn slide_past(&mut self, takes_no_room: impl Fn(SlotId) -> bool) -> Option<SlotId> {
        if self.within == self.size {
            return None;
        }
        let oldest = self.outside.pop_front(0)?;
        let is_between = takes_no_room(oldest);
        self.place[oldest.at()] = if is_between { WindowPlace::Between } else { WindowPlace::Within };
        self.within += u32::from(!is_between);
        Some(oldest)
    }

    /// True if a page is in the window.
    pub(crate) fn contains(&self, slot: SlotId) -> bool {
        self.place[slot.at()] != WindowPlace::Outside
    }
}
