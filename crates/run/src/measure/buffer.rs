//! Part of the result about the write buffer.

use flashloom_buffer::{Level, order, rate};

use super::{Measured, share};
use flashloom_figures::result::{BufferResult, OccupancyResult};

impl Measured<'_> {
    /// The figures of the buffer; `None` for a drive without one.
    pub(super) fn buffer(&self, timed: bool) -> Option<BufferResult> {
        let report = self.outcome.buffer?;
        let capacity_pages = self.config.buffer.capacity_bytes / self.config.device.nand.page_bytes;
        let over_time = |level: Level| level.mean_pages(self.end_ns).filter(|_| timed);
        Some(BufferResult {
            order: self.policy(&order::SLOT),
            rate: self.policy(&rate::SLOT),
            page_writes: report.page_writes,
            page_reads: report.page_reads,
            read_hits: report.read_hits,
            write_hits: report.write_hits,
            hit_ratio: share(report.write_hits as f64, report.page_writes as f64),
            evictions: report.evictions,
            evicted_pages: report.evicted_pages,
            drained_pages: self.outcome.drained_pages,
            stalled_writes: report.stalled_writes,
            stall_ns: timed.then_some(report.stall_ns as u64),
            occupancy: OccupancyResult {
                capacity_pages,
                held_pages_mean: over_time(report.held),
                held_pages_max: report.held.max_pages,
                dirty_pages_mean: over_time(report.dirty),
                dirty_pages_max: report.dirty.max_pages,
            },
        })
    }
}
