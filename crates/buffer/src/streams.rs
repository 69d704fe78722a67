//! Streams: pages that leave the buffer with a victim because the layer below wants them together.
//!
//! ```text
//! by address:  a run of consecutive dirty pages is cut, from its lowest page on, into streams of n pages. If the
//!              lowest is REACH streams or more before the victim, the stream begins at the victim instead, or ends
//!              with the run if that is too short; so a victim costs O(n) look-ups
//! by block:    only the first n pages of a logical block are a stream
//! by time:     n pages that were written within a window (recent.rs)
//! ```

use std::ops::Range;

use flashloom_units::{NO_INDEX, Ns};
use serde::{Deserialize, Serialize};

use crate::SlotId;
use crate::recent::Recent;

/// Longest search for the lowest page of a run of dirty pages, in streams.
const REACH: u32 = 8;

/// The streams that a buffer gathers. By default there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gather {
    /// Number of pages in a stream; 1 if victims leave without other pages.
    pub pages: u32,
    /// Number of pages of a logical block, if only its first pages form a stream.
    pub block_pages: Option<u32>,
    /// Time within which the pages of a stream arrived, if they are found by time. It does not change later.
    pub window_ns: Option<Ns>,
}

impl Gather {
    /// Streams of `pages` consecutive logical pages.
    pub const fn consecutive(pages: u32) -> Self {
        Self { pages, block_pages: None, window_ns: None }
    }
}

/// The search for streams.
pub(crate) struct Streams {
    wanted: Gather,
    /// The search by time, if that is wanted.
    pub(crate) by_time: Option<Box<Recent>>,
}

flashloom_units::state! { Streams { nested by_time; value wanted; } }

impl Streams {
    pub(crate) const fn none() -> Self {
        Self { wanted: Gather::consecutive(1), by_time: None }
    }

    /// Sets the streams to search for. `slots` is the number of slots of the buffer.
    pub(crate) fn set(&mut self, wanted: Gather, slots: u32) {
        self.wanted = wanted;
        if let Some(window_ns) = wanted.window_ns {
            self.by_time.get_or_insert_with(|| Box::new(Recent::new(slots, window_ns)));
        }
    }

    /// Number of pages in a stream; 1 if there are none.
    #[inline]
    pub(crate) fn pages(&self) -> u32 {
        self.wanted.pages
    }

    /// The pages of the stream by address that a page is evicted in; none if it is in no stream. `is_free` tells which
    /// pages are dirty and in no stream yet.
    pub(crate) fn run_around(&self, lpn: u32, is_free: impl Fn(u32) -> bool) -> Range<u32> {
        let Gather { pages, block_pages, .. } = self.wanted;
        if let Some(block) = block_pages {
            let first = lpn - lpn % block;
            let stream = first..first + pages;
            let is_stream = stream.contains(&lpn) && stream.clone().all(is_free);
            return if is_stream { stream } else { 0..0 };
        }
        let mut lowest = lpn;
        while lpn - lowest < REACH * pages && lowest > 0 && is_free(lowest - 1) {
            lowest -= 1;
        }
        let is_lowest = lpn - lowest < REACH * pages;
        let first = if is_lowest { lpn - (lpn - lowest) % pages } else { lpn };
        let mut end = lpn + 1;
        while end - first < pages && is_free(end) {
            end += 1;
        }
        match end - first == pages {
            true => first..end,
            false if is_lowest => 0..0,
            false => end - pages..end,
        }
    }
}

/// Streams by time.
impl Streams {
    /// A page is not dirty any more.
    #[inline]
    pub(crate) fn forget(&mut self, slot: SlotId) {
        self.by_time.iter_mut().for_each(|recent| recent.forget(slot));
    }

    /// A dirty page leaves; returns its stream, or [`NO_INDEX`].
    #[inline]
    pub(crate) fn leaves(&mut self, slot: SlotId) -> u32 {
        self.by_time.as_mut().map_or(NO_INDEX, |recent| recent.leaves(slot))
    }
}
