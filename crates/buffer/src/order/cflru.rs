//! CFLRU, clean-first LRU: drop clean pages before evicting dirty ones, within a window of the oldest pages (Park et
//! al., CASES 2006).
//!
//! ```text
//! window:         the pages at the old end of an LRU list of pages, `window` of the buffer's room
//! read, written:  move the page to the young end; a page read from flash enters there, clean
//! room needed:    drop the oldest clean page in the window
//!                 if there is none, evict the oldest dirty page
//! ```
//!
//! Dropping a clean page costs a read when it is missed, evicting a dirty one costs a program. The paper's cache
//! belongs to the operating system; here it is the drive's, so that:
//!
//! - a read miss reads a whole page from flash and completes with that read, whether or not the page can be cached: if
//!   no clean page can be dropped for it, a dirty one is evicted, and the page that was read is not cached;
//! - if the buffer holds part of a page, the sectors that a read takes from flash are not cached;
//! - the dirty page that is evicted before the buffer is full is the oldest one, in the window or not.
//!
//! Each page that leaves lets a younger one into the window, so clean pages can be dropped one after another until the
//! window is full of dirty ones: all clean pages that are older than the dirty page which would fill it. The rate
//! counts these as free room. The default of the window is a choice made here. O(1) an operation.

use super::prelude::*;
use crate::window::Window;

params! {
    /// Parameters of CFLRU.
    pub struct CflruParams {
        /// Size of the window of the oldest pages in which clean pages are dropped first, as a share of the buffer.
        window: f64 => "window", Kind::Ratio { min: 0.001, max: 1.0 }, Value::Ratio(0.25),
            "A larger window saves programs, and drops clean pages that may be read again.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "cflru",
    summary: "drops clean pages first, within a window of the oldest pages; caches pages that the host reads",
    details: "Reads and writes move a page to the young end. A read never waits for a free slot. The default of the \
              window is a choice made here.",
    source: "Park, Jung, Kang, Kim and Lee: CFLRU, CASES 2006, section 3",
    example: "buffer.order=cflru buffer.cflru.window=0.5 workload.synthetic.read_share=0.5 \
              workload.synthetic.pattern=zipf",
    instead: "Where the host seldom reads the same page again, clean pages take room from dirty ones: use `page-lru`. \
              It evicts pages, not blocks: with log blocks use `clc` or `fab`.",
    offers: &[Capability::SAVED_STATE],
    params: CflruParams::PARAMS,
    ..PolicySpec::BLANK
};

pub(super) struct Cflru {
    window: Window,
    /// The window if all clean pages in it were dropped one after another: as many dirty pages as it has room for, and
    /// all clean ones that are older than the last of these.
    reach: Window,
    /// Number of clean pages in `reach`.
    clean_room: u32,
    /// All pages in LRU order, dirty and clean ones in lists of their own.
    pages: Lists<SlotId>,
    is_clean: Vec<bool>,
}

flashloom_units::state! { Cflru { nested window, reach, pages, is_clean; value clean_room; } }

const DIRTY: usize = 0;
const CLEAN: usize = 1;

impl Cflru {
    pub(super) fn new(params: CflruParams, on: &OrderSetup) -> Self {
        let window = || Window::new(on.pages, params.window);
        let (pages, is_clean) = (Lists::new(on.pages, 2), vec![false; on.pages as usize]);
        Self { window: window(), reach: window(), clean_room: 0, pages, is_clean }
    }

    fn enter(&mut self, slot: SlotId, is_clean: bool) {
        self.is_clean[slot.at()] = is_clean;
        self.pages.push_back(if is_clean { CLEAN } else { DIRTY }, slot);
        self.window.push(slot);
        self.reach.push(slot);
        self.fill_windows();
    }

    fn leave(&mut self, slot: SlotId) {
        self.pages.remove(slot);
        self.window.remove(slot);
        let was_in_reach = self.reach.remove(slot);
        self.clean_room -= u32::from(was_in_reach && self.is_clean[slot.at()]);
        self.fill_windows();
    }

    fn fill_windows(&mut self) {
        while self.window.slide().is_some() {}
        while let Some(slot) = self.reach.slide_past(|slot| self.is_clean[slot.at()]) {
            self.clean_room += u32::from(self.is_clean[slot.at()]);
        }
    }
}

flashloom_units::component! { Cflru }

impl Order for Cflru {
    fn inserted(&mut self, slot: SlotId, _lpn: Lpn) {
        self.enter(slot, false);
    }

    fn touched(&mut self, slot: SlotId, _lpn: Lpn) {
        self.leave(slot);
        self.enter(slot, false);
    }

    fn read(&mut self, slot: SlotId, _lpn: Lpn) {
        self.leave(slot);
        self.enter(slot, self.is_clean[slot.at()]);
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        self.leave(slot);
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        if let Some(oldest) = self.pages.front(DIRTY) {
            self.leave(oldest);
            pages.push(oldest);
        }
    }

    fn keeps_reads(&self) -> bool {
        true
    }

    fn filled(&mut self, slot: SlotId, _lpn: Lpn) {
        self.enter(slot, true);
    }

    fn clean_victim(&mut self) -> Option<SlotId> {
        let oldest = self.pages.front(CLEAN).filter(|&slot| self.window.contains(slot))?;
        self.leave(oldest);
        Some(oldest)
    }

    fn clean_room(&self) -> u32 {
        self.clean_room
    }
}

#[cfg(test)]
mod tests {
    use flashloom_units::Value;

    use crate::order::model::{Naive, ROOM, assert_same_victims};

    /// The pages in LRU order, the oldest first, each with true if it is clean.
    struct Pages {
        pages: Vec<(u32, bool)>,
        window: usize,
    }

    impl Pages {
        fn enter(&mut self, lpn: u32, is_clean: bool) {
            self.removed(lpn);
            self.pages.push((lpn, is_clean));
        }
    }

    impl Naive for Pages {
        fn written(&mut self, lpn: u32, _is_new: bool) {
            self.enter(lpn, false);
        }

        fn removed(&mut self, lpn: u32) {
            self.pages.retain(|&(page, _)| page != lpn);
        }

        fn victim(&mut self) -> Vec<u32> {
            let oldest = self.pages.iter().position(|&(_, is_clean)| !is_clean);
            oldest.map(|at| self.pages.remove(at).0).into_iter().collect()
        }

        fn read(&mut self, lpn: u32) {
            let is_clean = self.pages.contains(&(lpn, true));
            self.enter(lpn, is_clean);
        }

        fn filled(&mut self, lpn: u32) {
            self.enter(lpn, true);
        }

        fn clean_victim(&mut self) -> Option<u32> {
            let oldest = self.pages.iter().take(self.window).position(|&(_, is_clean)| is_clean);
            oldest.map(|at| self.pages.remove(at).0)
        }

        fn clean_room(&self) -> u32 {
            let mut left = Pages { pages: self.pages.clone(), window: self.window };
            std::iter::from_fn(|| left.clean_victim()).count() as u32
        }
    }

    #[test]
    fn victims_are_those_of_a_sorted_list() {
        for share in [0.001, 0.25, 0.6, 1.0] {
            let window = (ROOM as f64 * share).ceil() as usize;
            assert_same_victims("cflru", &[("window", Value::Ratio(share))], Pages { pages: Vec::new(), window });
        }
    }
}
