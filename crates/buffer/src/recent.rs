//! Dirty pages in the order in which they were written last, for streams of pages that were written at the same time.
//!
//! ```text
//! stream of a page p:  of the pages written before p, within window of it and at most n - 1, the first, f
//!                      the n pages from f on, in order of writing, if the last was written within window of f
//!                      pages that are in a stream already are passed over
//! ```
//!
//! O(n) a victim; 24 bytes a slot.

use flashloom_units::{Lists, NO_INDEX, Ns};

use crate::SlotId;

/// Dirty pages by time, and the streams that those belong to which leave.
pub(crate) struct Recent {
    window_ns: Ns,
    pages: Lists<SlotId>,
    written_ns: Vec<Ns>,
    /// The stream of each page that is about to leave.
    stream_of: Vec<u32>,
    /// Number of the next stream. Counted on, so that streams that leave together have different numbers.
    next_stream: u32,
    /// The pages of the stream that was gathered last.
    gathered: Vec<SlotId>,
}

flashloom_units::state! {
    Recent {
        nested pages;
        array written_ns, stream_of;
        value next_stream;
        fixed window_ns, gathered;
    }
}

impl Recent {
    pub(crate) fn new(slots: u32, window_ns: Ns) -> Self {
        Self {
            window_ns,
            pages: Lists::new(slots, 1),
            written_ns: vec![0; slots as usize],
            stream_of: vec![NO_INDEX; slots as usize],
            next_stream: 0,
            gathered: Vec::with_capacity(slots as usize),
        }
    }

    /// A page was written, and is dirty.
    pub(crate) fn written(&mut self, slot: SlotId, now: Ns) {
        self.forget(slot);
        self.pages.push_back(0, slot);
        self.written_ns[slot.at()] = now;
    }

    /// A page is not dirty any more.
    pub(crate) fn forget(&mut self, slot: SlotId) {
        if self.pages.contains(slot) {
            self.pages.remove(slot);
        }
    }

    /// Gathers the stream of a page that leaves, if it is in one of `pages` pages and not in one already; returns its
    /// pages.
    pub(crate) fn gather(&mut self, slot: SlotId, pages: u32) -> &[SlotId] {
        self.gathered.clear();
        if !self.is_free(slot) {
            return &[];
        }
        let mut gathered = std::mem::take(&mut self.gathered);
        let is_within =
            |from: SlotId, to: SlotId| self.written_ns[to.at()] - self.written_ns[from.at()] <= self.window_ns;
        let before = std::iter::successors(self.pages.prev(slot), |&page| self.pages.prev(page));
        let before = before.filter(|&page| self.is_free(page)).take_while(|&page| is_within(page, slot));
        let first = before.take(pages as usize - 1).last().unwrap_or(slot);
        let from = std::iter::successors(Some(first), |&page| self.pages.next(page));
        let from = from.filter(|&page| self.is_free(page)).take_while(|&page| is_within(first, page));
        gathered.extend(from.take(pages as usize));
        if gathered.len() == pages as usize {
            gathered.iter().for_each(|page| self.stream_of[page.at()] = self.next_stream);
            self.next_stream = self.next_stream.wrapping_add(1) % NO_INDEX;
        } else {
            gathered.clear();
        }
        self.gathered = gathered;
        &self.gathered
    }

    fn is_free(&self, slot: SlotId) -> bool {
        self.stream_of[slot.at()] == NO_INDEX
    }

    /// A dirty page leaves; returns its stream, or [`NO_INDEX`] if it is in none.
    pub(crate) fn leaves(&mut self, slot: SlotId) -> u32 {
        self.forget(slot);
        std::mem::replace(&mut self.stream_of[slot.at()], NO_INDEX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOTS: u32 = 12;

    fn gathered(recent: &mut Recent, slot: u32, pages: u32) -> Vec<u32> {
        recent.gather(SlotId(slot), pages).iter().map(|slot| slot.0).collect()
    }

    #[test]
    fn a_stream_is_the_pages_that_were_written_within_the_window() {
        let mut recent = Recent::new(SLOTS, 10);
        for (slot, at) in [(4, 0), (7, 0), (1, 100), (5, 104), (2, 110), (8, 112), (3, 300)] {
            recent.written(SlotId(slot), at);
        }
        assert_eq!(gathered(&mut recent, 4, 3), [], "two pages are no stream of three");
        assert_eq!(gathered(&mut recent, 5, 3), [1, 5, 2], "from the first page that is within the window");
        assert_eq!(gathered(&mut recent, 8, 2), [], "the pages beside it are in a stream already");
        assert_eq!(gathered(&mut recent, 7, 2), [4, 7]);
        let streams = [2, 8, 1, 5, 4, 7].map(|slot| recent.leaves(SlotId(slot)));
        assert_eq!(streams, [0, NO_INDEX, 0, 0, 1, 1]);
    }

    /// (slot, time, is in a stream), in order of writing.
    fn naive(pages: &[(u32, Ns, bool)], slot: u32, count: usize) -> Vec<u32> {
        let free: Vec<(u32, Ns)> = pages.iter().filter(|page| !page.2).map(|&(slot, at, _)| (slot, at)).collect();
        let Some(at) = free.iter().position(|page| page.0 == slot) else { return Vec::new() };
        let first = (0..=at).rev().take(count).take_while(|&index| free[at].1 - free[index].1 <= 10).last();
        let first = first.unwrap_or(at);
        let stream: Vec<u32> = free[first..]
            .iter()
            .take(count)
            .take_while(|page| page.1 - free[first].1 <= 10)
            .map(|page| page.0)
            .collect();
        if stream.len() == count { stream } else { Vec::new() }
    }

    proptest! {
        #[test]
        fn the_list_finds_the_streams_that_a_search_through_all_pages_does(
            steps in prop::collection::vec((0..SLOTS, 0u64..8, 1u32..5, any::<bool>()), 1..80),
        ) {
            let (mut recent, mut pages, mut now) = (Recent::new(SLOTS, 10), Vec::<(u32, Ns, bool)>::new(), 0);
            for (slot, later, count, writes) in steps {
                now += later;
                if writes {
                    pages.retain(|page| page.0 != slot || page.2);
                    if pages.iter().all(|page| page.0 != slot) {
                        recent.written(SlotId(slot), now);
                        pages.push((slot, now, false));
                    }
                } else if pages.iter().any(|page| page.0 == slot) {
                    let expected = naive(&pages, slot, count as usize);
                    prop_assert_eq!(gathered(&mut recent, slot, count), expected.clone());
                    for page in &mut pages {
                        page.2 |= expected.contains(&page.0);
                    }
                }
            }
        }
    }
}
