//! Part of the result about the flash translation layer, from the mapping's report.

use flashloom_ftl::{MapCacheReport, MergeReport, PAGE_MAPPING, RetiredBlocks, StreamReport};

use super::{Measured, share, statistics_of};
use crate::result::{
    AssociativityResult, BlockingResult, FtlResult, MapCacheResult, MergesResult, RetiredResult, StreamsResult,
    WaitResult,
};

impl Measured<'_> {
    pub(super) fn ftl(&self) -> FtlResult {
        let (config, report, figures) = (&self.config.ftl, &self.outcome.ftl, &self.outcome.figures.ftl);
        let programs: u64 = self.outcome.counts.programs.iter().sum();
        // What pads a victim is the buffer's work, not the host's: it amplifies.
        let padding = self.outcome.buffer.map_or(0, |buffer| buffer.padding_pages);
        let collects = self.config.mapping_offers(PAGE_MAPPING);
        let merges = report.merges.as_deref();
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
            waf: share(programs as f64, report.host_page_writes as f64 - padding as f64),
            effective_over_provisioning: self.effective_over_provisioning(),
            hot_page_writes: report.hot_page_writes,
            wear_moves: report.wear_moves,
            retired_blocks: report.retired.map(RetiredResult::of),
            merges: merges.map(MergesResult::of),
            associativity: merges.and_then(AssociativityResult::of),
            blocking_ns: merges.map(BlockingResult::of),
            wait_ns: merges.map(|merges| WaitResult { max: merges.longest_wait_ns, bound: merges.wait_bound_ns }),
            reserved_pages: merges.map(|merges| merges.reserved_pages),
            map_cache: report.map_cache.map(MapCacheResult::of),
            streams: report.streams.map(StreamsResult::of),
            statistics: statistics_of(
                self.config,
                "ftl",
                &[
                    ("mapping", &figures.mapping),
                    ("allocation", &figures.allocation),
                    ("gc", &figures.collection),
                    ("placement", &figures.placement),
                ],
            ),
        }
    }
}

impl RetiredResult {
    fn of(RetiredBlocks { factory, program, erase }: RetiredBlocks) -> Self {
        Self { factory, program, erase }
    }
}

impl MergesResult {
    fn of(report: &MergeReport) -> Self {
        Self {
            switch: report.switch,
            partial: report.partial,
            full: report.full,
            filler_pages: report.filler_pages,
            migrated_pages: report.migrated_pages,
        }
    }
}

impl AssociativityResult {
    fn of(report: &MergeReport) -> Option<Self> {
        let histogram = report.associativity.clone();
        let by_k = || (0u64..).zip(&histogram);
        let data_blocks: u64 = by_k().map(|(k, merges)| k * merges).sum();
        let mean = share(data_blocks as f64, histogram.iter().sum::<u64>() as f64)?;
        let max = by_k().filter(|(_, merges)| **merges > 0).map(|(k, _)| k).max()?;
        Some(Self { mean, max, histogram })
    }
}

impl BlockingResult {
    fn of(report: &MergeReport) -> Self {
        let blocking = Some(&report.blocking_ns).filter(|blocking| blocking.count() > 0);
        Self {
            mean: blocking.map(|blocking| blocking.mean()),
            p99: blocking.map(|blocking| blocking.percentile(99.0)),
            max: blocking.map(|blocking| blocking.max()),
            bound: report.blocking_bound_ns,
        }
    }
}

impl MapCacheResult {
    fn of(MapCacheReport { hits, misses, reads, writes }: MapCacheReport) -> Self {
        Self { hits, misses, hit_ratio: share(hits as f64, (hits + misses) as f64), reads, writes }
    }
}

impl StreamsResult {
    fn of(StreamReport { detected, pages, threshold, substreams, spread_pages }: StreamReport) -> Self {
        Self { detected, pages, threshold, substreams, spread_pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn associativity_is_summarised_over_all_merges() {
        let report = MergeReport { associativity: vec![1, 0, 2, 3], ..MergeReport::default() };
        let found = AssociativityResult::of(&report).expect("something was merged");
        assert_eq!((found.mean, found.max, found.histogram), (13.0 / 6.0, 3, vec![1, 0, 2, 3]));
    }

    #[test]
    fn without_merges_there_is_a_bound_and_nothing_to_compare_with_it() {
        let report = MergeReport { blocking_bound_ns: 7, ..MergeReport::default() };
        assert_eq!(AssociativityResult::of(&report), None);
        assert_eq!(BlockingResult::of(&report), BlockingResult { mean: None, p99: None, max: None, bound: 7 });
    }
}
