//! Counters and measurements of the write buffer.

use flashloom_units::{Figure, Ns, Statistic};
use serde::{Deserialize, Serialize};

/// Buffer occupancy over time by pages of one kind: its average and maximum, in constant memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// Sum over all pages of the time for which the buffer held them, in page-nanoseconds.
    pub page_ns: u128,
    /// Maximum number of pages at any moment.
    pub max_pages: u32,
}

impl Level {
    /// Average number of pages over a run of `duration_ns`; none for a run of no time.
    pub fn mean_pages(&self, duration_ns: Ns) -> Option<f64> {
        (duration_ns > 0).then(|| self.page_ns as f64 / duration_ns as f64)
    }
}

/// Counters of the write buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferReport {
    /// Pages written by the host.
    pub page_writes: u64,
    /// Pages read by the host.
    pub page_reads: u64,
    /// Write hits: page writes that found the page dirty in the buffer and not being evicted. Each saves a program.
    pub write_hits: u64,
    /// Read hits: page reads that found all their sectors in the buffer.
    pub read_hits: u64,
    /// Victims chosen because room was needed, not by a flush or a drain: pages or blocks, depending on the replacement
    /// policy.
    pub evictions: u64,
    /// Dirty pages sent to flash, by evictions, flushes, FUA and a drain; without those that only pad a block.
    pub evicted_pages: u64,
    /// Of these, pages evicted before their turn because they form a stream of consecutive pages with a victim.
    pub gathered_pages: u64,
    /// Padding pages: read from flash and programmed again to complete victim blocks.
    pub padding_pages: u64,
    /// Pages cached because the host read them.
    pub filled_pages: u64,
    /// Of these, clean pages dropped for others, which needs no program.
    pub dropped_pages: u64,
    /// Writes that waited for a free slot: they found the buffer full, or an earlier write waiting.
    pub stalled_writes: u64,
    /// Sum of the time that they waited, in nanoseconds.
    pub stall_ns: u128,
    /// Occupancy by all pages, including those that are being programmed or read from flash.
    pub held: Level,
    /// Occupancy by dirty pages alone, without those that are being evicted.
    pub dirty: Level,
}

/// What the buffer counts for every order.
pub(crate) const COUNTED: &[Statistic] = &[
    Statistic::count(
        "gathered_pages",
        "Evicted pages that left early because they share a stream with a victim; absent without streams.",
    )
    .in_summary("pages evicted early, with a stream"),
    Statistic::count(
        "padding_pages",
        "Pages read from flash and written again to make evicted blocks whole; absent without padding.",
    )
    .in_summary("pages that pad blocks"),
    Statistic::count(
        "filled_pages",
        "Pages cached because the host read them; absent for a replacement policy that caches no reads.",
    )
    .in_summary("pages kept because they were read"),
    Statistic::count("dropped_pages", "Cached read pages that were dropped at no cost because flash holds them too."),
];

impl BufferReport {
    /// The values of [`COUNTED`], of a buffer that gathers streams, pads its victims and keeps what is read, or not.
    pub(crate) fn figures(&self, gathers: bool, pads: bool, keeps_reads: bool) -> [Figure; COUNTED.len()] {
        let counted = |is_counted: bool, pages| Figure::count_or_absent(is_counted.then_some(pages));
        [
            counted(gathers, self.gathered_pages),
            counted(pads, self.padding_pages),
            counted(keeps_reads, self.filled_pages),
            counted(keeps_reads, self.dropped_pages),
        ]
    }

    /// Adds a time during which `held` pages were in the buffer, of which `dirty` were dirty.
    #[inline]
    pub(crate) fn elapse(&mut self, held: u32, dirty: u32, duration_ns: Ns) {
        self.held.page_ns += u128::from(held) * u128::from(duration_ns);
        self.dirty.page_ns += u128::from(dirty) * u128::from(duration_ns);
    }

    /// Updates the maxima with the present number of pages.
    #[inline]
    pub(crate) fn reach(&mut self, held: u32, dirty: u32) {
        self.held.max_pages = self.held.max_pages.max(held);
        self.dirty.max_pages = self.dirty.max_pages.max(dirty);
    }
}
