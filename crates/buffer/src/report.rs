//! What a buffer counts and measures.

use flashloom_units::{Figure, Ns};
use serde::{Deserialize, Serialize};

/// How many pages of a kind the buffer held over time, in constant memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// Pages times the nanoseconds for which the buffer held them.
    pub page_ns: u128,
    /// The most pages at any moment.
    pub max_pages: u32,
}

impl Level {
    /// Pages held on average over a run of that length; nothing where no time passed.
    pub fn mean_pages(&self, duration_ns: Ns) -> Option<f64> {
        (duration_ns > 0).then(|| self.page_ns as f64 / duration_ns as f64)
    }
}

/// The values of the statistics of a buffer's policies.
#[derive(Clone, Debug, Default)]
pub struct BufferFigures {
    /// Of its order of eviction.
    pub order: Vec<Figure>,
    /// Of its rate of eviction.
    pub rate: Vec<Figure>,
}

/// What a buffer counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferReport {
    /// Pages written by the host.
    pub page_writes: u64,
    /// Pages read by the host.
    pub page_reads: u64,
    /// Page writes that found the page in the buffer, not yet in flash nor on its way there: each saves a program.
    pub write_hits: u64,
    /// Page reads that found all their sectors in the buffer.
    pub read_hits: u64,
    /// Victims chosen because room was needed: pages or blocks, as the order has it.
    pub evictions: u64,
    /// Pages sent to flash, by evictions, flushes and FUA; without those that only pad a block.
    pub evicted_pages: u64,
    /// Of these, pages that left before their turn because they made a stream with a victim.
    pub gathered_pages: u64,
    /// Pages read from flash and written again to make victim blocks whole.
    pub padding_pages: u64,
    /// Whether the order pads its victims, so that there may be such pages.
    pub pads: bool,
    /// Whether the order keeps pages that the host reads.
    pub keeps_reads: bool,
    /// Pages kept because the host read them.
    pub filled_pages: u64,
    /// Of these, pages given up for others at no cost, because flash held them too.
    pub dropped_pages: u64,
    /// Writes that waited for room: they found the buffer full, or an earlier write waiting.
    pub stalled_writes: u64,
    /// Time that they waited, summed over them.
    pub stall_ns: u128,
    /// All pages that the buffer held, those on their way to or from flash among them.
    pub held: Level,
    /// Dirty pages among these: flash did not hold them, and they were not on their way there.
    pub dirty: Level,
}

impl BufferReport {
    /// That many pages were held, and dirty, for that long.
    pub(crate) fn elapse(&mut self, held: u32, dirty: u32, duration_ns: Ns) {
        self.held.page_ns += u128::from(held) * u128::from(duration_ns);
        self.dirty.page_ns += u128::from(dirty) * u128::from(duration_ns);
    }

    /// That many pages are held, and dirty, from now on.
    pub(crate) fn reach(&mut self, held: u32, dirty: u32) {
        self.held.max_pages = self.held.max_pages.max(held);
        self.dirty.max_pages = self.dirty.max_pages.max(dirty);
    }
}
