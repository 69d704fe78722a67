//! Part of the result about the write buffer.

use flashloom_buffer::Level;
use flashloom_ftl::SINGLE_CHIP;

use super::older::Older;
use super::{Measured, share, statistics_of};
use flashloom_figures::result::{BufferResult, OccupancyResult};

impl Measured<'_> {
    /// The figures of the buffer; `None` for a drive without one.
    pub(super) fn buffer(&self, timed: bool) -> Option<BufferResult> {
        let report = self.outcome.buffer?;
        let (policy, _) = self.config.policy("buffer.order");
        let older = Older::of(self.config, &self.outcome.figures);
        let capacity_pages = self.config.buffer.capacity_bytes / self.config.device.nand.page_bytes;
        let places = self.config.mapping_offers(SINGLE_CHIP);
        let over_time = |level: Level| level.mean_pages(self.end_ns).filter(|_| timed);
        Some(BufferResult {
            order: policy.name.to_owned(),
            rate: self.config.buffer.rate.to_owned(),
            placement: places.then(|| self.config.ftl.placement.to_owned()),
            page_writes: report.page_writes,
            page_reads: report.page_reads,
            read_hits: report.read_hits,
            write_hits: report.write_hits,
            hit_ratio: share(report.write_hits as f64, report.page_writes as f64),
            evictions: report.evictions,
            evicted_pages: report.evicted_pages,
            gathered_pages: older.streams().map(|_| report.gathered_pages),
            drained_pages: self.outcome.drained_pages,
            padding_pages: report.pads.then_some(report.padding_pages),
            migrated_pages: older.migrated_pages().filter(|_| places),
            filled_pages: report.keeps_reads.then_some(report.filled_pages),
            dropped_pages: report.keeps_reads.then_some(report.dropped_pages),
            stalled_writes: report.stalled_writes,
            stall_ns: timed.then_some(report.stall_ns as u64),
            occupancy: OccupancyResult {
                capacity_pages,
                held_pages_mean: over_time(report.held),
                held_pages_max: report.held.max_pages,
                dirty_pages_mean: over_time(report.dirty),
                dirty_pages_max: report.dirty.max_pages,
            },
            statistics: statistics_of(self.config, "buffer", &self.outcome.figures),
        })
    }
}
