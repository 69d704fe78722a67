//! Effective over-provisioning: what is left of the spare space once every plane has set blocks aside.
//!
//! ```text
//! effective = pages a block x planes x (blocks - bad - kept free - open / 2) / (logical pages + pages of the map) - 1
//! ```
//!
//! `kept free` is what a plane holds free on average under a steady load: a collection that goes on at the pace of the
//! writes begins when one block less than `gc_threshold` is free (three at least where blocks can fail), and is over
//! when the last of them has been filled; one that is done at once, because survivors share the host's blocks or
//! nothing may go between its copies, leaves half a block more. An open block is half full on average: of each, half a
//! block holds nothing. This is the alpha - 1 at which the mean-field limit of greedy collection holds for planes of
//! few blocks too (`crates/experiment/tests/effective_over_provisioning.rs`). A lane that has a block open and is not
//! written to any more (streams after a fill by streams) is taken for one that is.

use flashloom_ftl::{GcBlocks, Preemption, WearLevelling, allocation};
use flashloom_units::Capability;

use super::Measured;

/// Bytes of a physical page number in a map that lies on flash.
const MAP_ENTRY_BYTES: u64 = 4;

impl Measured<'_> {
    /// The effective over-provisioning of a page mapping's drive as it is at the end of the run; nothing for mappings
    /// whose spare blocks are log blocks.
    pub(super) fn effective_over_provisioning(&self) -> Option<f64> {
        let config = self.config;
        if !config.mapping_offers(Capability::PageMapping) {
            return None;
        }
        let (device, ftl) = (&config.device, &config.ftl);
        let geometry = device.geometry();
        let setup = config.drive_setup(false).ftl;
        let space = device.space();
        let site = allocation::Setup::new(&space, ftl);
        let demands = setup.allocation.profile(&site).map(|profile| profile.demands).unwrap_or_default();
        // A map that is all in memory takes no page.
        let has_map = self.outcome.ftl.map_cache.is_some_and(|map| map.writes > 0);
        let separates = ftl.gc_blocks == GcBlocks::Separate || demands.isolation;
        let is_paced = separates && ftl.preemption == Preemption::Page;
        // What finds no hot pages opens no block for them.
        let has_hot = self.outcome.ftl.hot_page_writes.is_some_and(|pages| pages > 0);
        let lanes = [
            true,
            separates,
            demands.streams,
            demands.isolation,
            has_hot,
            has_hot && separates,
            ftl.wear_levelling == WearLevelling::Static,
            has_map,
        ];
        let open = lanes.into_iter().filter(|&lane| lane).count() as f64;
        let kept_free = f64::from(ftl.collects_below(&device.nand)) - if is_paced { 1.0 } else { 0.5 };
        let kept = f64::from(geometry.total_planes()) * (kept_free + open / 2.0);
        let bad = self.outcome.ftl.retired.map_or(0, |bad| bad.factory + bad.program + bad.erase);
        let usable = (geometry.total_blocks() as f64 - bad as f64 - kept) * f64::from(geometry.pages);
        let logical = space.logical_pages;
        let map = if has_map { (logical * MAP_ENTRY_BYTES).div_ceil(device.nand.page_bytes) } else { 0 };
        Some(usable / (logical + map) as f64 - 1.0)
    }
}
