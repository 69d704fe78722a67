//! Hints about tails that the model makes longer, or leaves shorter, than drives have them.

use super::{P99_9, Run, SAMPLES, hint};
use crate::figures::time;
use crate::result::{Distribution, HintResult};

/// Bits in a cell from which on drives have a part of their cells hold one, as a cache.
const CACHED_BITS: u32 = 3;
/// Multiples of the median from which on a percentile is a tail.
const TAIL: u64 = 4;

impl Run<'_> {
    /// Hint if the tail of the writes is the wait for a buffer that an SLC cache would have emptied.
    pub(super) fn no_slc_cache(&self) -> Option<HintResult> {
        let (buffer, writes) = (self.result.buffer.as_ref()?, self.latency()?.write.as_ref()?);
        let bits = self.config.device.nand.bits_per_cell;
        let waited = buffer.stalled_writes >= (writes.count / P99_9).max(1);
        let has_cache = self.result.ftl.slc_cache.is_some();
        if has_cache || bits < CACHED_BITS || !waited || !has_p99_9(writes) || writes.p99_9 < TAIL * writes.p50 {
            return None;
        }
        let text = format!(
            "The slowest writes waited for room in the buffer (p99.9 is {}): drives of {bits} bits a cell take such \
             bursts into an SLC cache until that is full, and this one has none (ftl.slc_cache).",
            time(writes.p99_9 as f64)
        );
        hint("no-slc-cache", "buffer.capacity", text)
    }

    /// Hint if reads have so short a tail that one repeated read in a thousand would be most of it.
    pub(super) fn no_read_retries(&self) -> Option<HintResult> {
        let reads = self.latency()?.read.as_ref()?;
        let nand = &self.config.device.nand;
        let timing = nand.timing();
        let array_ns = timing.read_ns[..timing.page_types as usize].iter().max().copied()?;
        let is_modelled = self.result.nand.reliability.is_some();
        if is_modelled || nand.bits_per_cell < 2 || !has_p99_9(reads) || reads.p99_9 > reads.p50 + TAIL * array_ns {
            return None;
        }
        let text = format!(
            "Reads have hardly a tail (p50 {}, p99.9 {}): read retries and the spread between blocks, which are most \
             of it on a drive that is little loaded, are not modelled, so that p99.9 is that of waits alone.",
            time(reads.p50 as f64),
            time(reads.p99_9 as f64)
        );
        hint("no-read-retries", "device.read_time", text)
    }
}

/// True if enough samples lie beyond p99.9.
fn has_p99_9(of: &Distribution) -> bool {
    of.count / P99_9 >= SAMPLES
}
