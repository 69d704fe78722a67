//! Part of the result about the flash translation layer, from the counters of every FTL and its policies' figures.

use flashloom_ftl::{PAGE_MAPPING, RetiredBlocks, SlcReport};

use super::older::Older;
use super::room::{copies, room};
use super::{Measured, share, statistics_of};
use flashloom_figures::result::{FtlResult, RetiredResult, SlcCacheResult};

impl Measured<'_> {
    pub(super) fn ftl(&self) -> FtlResult {
        let (config, report, figures) = (&self.config.ftl, &self.outcome.ftl, &self.outcome.figures);
        let older = Older::of(self.config, figures);
        let programs: u64 = self.outcome.counts.programs.iter().sum();
        // What pads a victim is the buffer's work, not the host's: it amplifies.
        let padding = self.outcome.buffer.map_or(0, |buffer| buffer.padding_pages);
        let page_bytes = self.config.device.nand.page_bytes as f64;
        let host_bytes = self.outcome.host.write_bytes as f64;
        let room = room(&self.config.device, self.outcome);
        let copies = copies(self.outcome) as f64;
        let charged = |charge| programs as f64 - copies + room.unwritten_pages as f64 + charge * copies;
        let collects = self.config.mapping_offers(PAGE_MAPPING);
        FtlResult {
            mapping: config.mapping.to_owned(),
            allocation: collects.then(|| config.allocation.to_owned()),
            gc: collects.then(|| config.gc.to_owned()),
            host_page_writes: report.host_page_writes,
            host_page_reads: report.host_page_reads,
            page_copies: report.page_copies,
            block_erases: report.block_erases,
            read_modify_writes: report.read_modify_writes,
            trimmed_pages: report.trimmed_pages,
            foreground_collections: collects.then_some(report.foreground_collections),
            background_collections: collects.then_some(report.background_collections),
            waf_bytes: share(programs as f64 * page_bytes, host_bytes),
            steady_waf_bytes: room.charge.and_then(|charge| share(charged(charge) * page_bytes, host_bytes)),
            waf: share(programs as f64, report.host_page_writes as f64 - padding as f64),
            effective_over_provisioning: self.effective_over_provisioning(),
            room: Some(room),
            hot_page_writes: report.hot_page_writes,
            unit_rewrites: report.unit_rewrites,
            wear_moves: report.wear_moves,
            retired_blocks: report.retired.map(retired),
            merges: older.merges(),
            associativity: older.associativity(),
            blocking_ns: older.blocking_ns(),
            wait_ns: older.wait_ns(),
            reserved_pages: older.reserved_pages(),
            map_cache: older.map_cache(),
            streams: older.streams(),
            slc_cache: report.slc_cache.map(slc_cache),
            memory_bytes: report.memory_bytes,
            statistics: statistics_of(self.config, "ftl", figures),
        }
    }
}

fn slc_cache(SlcReport { cached_writes, writes_beside, folded_blocks, folded_pages }: SlcReport) -> SlcCacheResult {
    SlcCacheResult { cached_writes, writes_beside, folded_blocks, folded_pages }
}

fn retired(RetiredBlocks { factory, program, erase }: RetiredBlocks) -> RetiredResult {
    RetiredResult { factory, program, erase }
}
