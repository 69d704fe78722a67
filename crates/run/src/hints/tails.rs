//! Hints about tails that the model makes longer, or leaves shorter, than drives have them, and about SLC caches.

use flashloom_ftl::SlcCacheKind;

use super::{NOTABLE, P99_9, Run, SAMPLES, hint};
use flashloom_config::Precondition;
use flashloom_figures::number::{count, time};
use flashloom_figures::result::{Distribution, HintResult};

/// Bits in a cell from which on drives have a part of their cells hold one, as a cache.
const CACHED_BITS: u32 = 3;
/// Blocks of a plane that are open: for the host's pages, and for survivors.
const OPEN_BLOCKS: u32 = 2;
/// Multiples of the median from which on a percentile is a tail.
const TAIL: u64 = 4;

impl Run<'_> {
    /// Hint if the tail of the writes is the wait for a buffer that an SLC cache would have emptied.
    pub(super) fn no_slc_cache(&self) -> Option<HintResult> {
        let (buffer, writes) = (self.result.buffer.as_ref()?, self.latency()?.write.as_ref()?);
        let bits = self.config.device.nand.bits_per_cell;
        let waited = buffer.stalled_writes >= (writes.count / P99_9).max(1);
        let has_cache = self.result.ftl.mapping.whole("slc_writes").is_some();
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

    /// Hint if writes were slow because the SLC cache was full of what had aged the drive.
    pub(super) fn slc_cache_full(&self) -> Option<HintResult> {
        let (mapping, writes) = (&self.result.ftl.mapping, self.latency()?.write.as_ref()?);
        let beside = mapping.whole("slc_writes_beside")?;
        let written = mapping.whole("slc_writes")? + beside;
        let empty = self.pages_of_empty_cache()?;
        let is_slow = match &self.result.buffer {
            Some(buffer) => buffer.stalled_writes as f64 >= NOTABLE * writes.count as f64,
            None => self.config.is_closed(),
        };
        let nand = &self.config.device.nand;
        let folded = mapping.whole("slc_folded_blocks")? * u64::from(nand.pages / nand.bits_per_cell);
        // What would have gone beside, or into blocks that were folded, is no more than what an empty one is too small
        // for.
        let refused = (beside + folded).min(written);
        let lost = refused.saturating_sub(written.saturating_sub(empty));
        if !is_slow || (lost as f64) < NOTABLE * written as f64 {
            return None;
        }
        let precondition = self.config.run.precondition.name();
        let (key, advice) = if precondition == "steady" {
            ("run.rest", "\"always\" leaves it empty")
        } else {
            ("run.precondition", "\"none\" leaves it empty, and \"steady\" with `run.rest` = \"always\" a static one")
        };
        let text = format!(
            "The SLC cache was full when the run began, of what `run.precondition` = \"{precondition}\" wrote: {} of \
             {} pages found no room in it that an empty one has, as after `ftl.slc_flush_delay` of idleness; {advice}.",
            count(lost),
            count(written)
        );
        hint("slc-cache-full", key, text)
    }

    /// Pages that the SLC cache of an aged drive holds if it is empty; `None` if the drive was left idle before the
    /// run, or is not aged, or has no blocks for a dynamic one, because all are in use.
    fn pages_of_empty_cache(&self) -> Option<u64> {
        let config = self.config;
        let (nand, geometry) = (&config.device.nand, config.device.geometry());
        let planes = u64::from(geometry.total_planes());
        let aged = config.run.precondition;
        if aged == Precondition::None || config.rests() {
            return None;
        }
        let blocks = match config.ftl.slc_cache {
            SlcCacheKind::Static => u64::from(config.ftl.slc_cache_blocks(geometry.blocks)),
            SlcCacheKind::Dynamic if aged == Precondition::Fill => {
                let kept = config.ftl.collects_below(nand) + OPEN_BLOCKS;
                let room = f64::from(geometry.blocks.saturating_sub(kept)) * f64::from(geometry.pages);
                let mapped = config.device.logical_pages() as f64 * config.run.fill / planes as f64;
                ((room - mapped).max(0.0) * config.ftl.slc_dynamic_share / f64::from(geometry.pages)) as u64
            }
            SlcCacheKind::Dynamic | SlcCacheKind::None => return None,
        };
        Some(blocks * planes * u64::from(nand.pages / nand.bits_per_cell))
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
