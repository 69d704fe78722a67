//! Effective over-provisioning at the end of a run: the spare space that collection was left with.

use flashloom_ftl::PAGE_MAPPING;

use super::{Measured, share};
use flashloom_config::Found;

impl Measured<'_> {
    /// Usable pages over valid ones, less one ([`Config::usable_pages`](flashloom_config::Config::usable_pages)): space
    /// that was never written, or discarded, is spare space too. `None` for mappings whose spare blocks are log blocks,
    /// and for an empty drive.
    pub(super) fn effective_over_provisioning(&self) -> Option<f64> {
        if !self.config.mapping_offers(PAGE_MAPPING) {
            return None;
        }
        let ftl = &self.outcome.ftl;
        let usable = self.config.usable_pages(Found {
            // A map that is all in memory takes no page.
            has_map: ftl.map_writes > 0,
            has_hot: ftl.hot_page_writes.is_some_and(|pages| pages > 0),
            bad_blocks: ftl.retired.map_or(0, |bad| bad.factory + bad.program + bad.erase),
        });
        Some(share(usable, self.outcome.valid_pages? as f64)? - 1.0)
    }
}
