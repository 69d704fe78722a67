//! Effective over-provisioning: the spare space that remains once every plane has set blocks aside.
//!
//! ```text
//! effective = pages a block x planes x (blocks - bad - kept free - open / 2) / (logical pages + pages of the map) - 1
//! ```
//!
//! `kept free` is the number of blocks that a plane holds free on average under a steady load: a garbage collection
//! paced by the writes begins when one block less than `gc_threshold` is free (at least three if blocks can fail), and
//! ends when the last free block has been filled; a collection done at once, because survivors share the host's blocks
//! or nothing may go between its copies, leaves half a block more. An open block is half full on average: half of each
//! holds nothing. This is the alpha - 1 at which the mean-field limit of greedy collection holds for planes of few
//! blocks too (`crates/experiment/tests/effective_over_provisioning.rs`). A lane with an open block that is no longer
//! written to (streams after a fill by streams) is counted as if it were.

use flashloom_ftl::allocation::AllocationSetup;
use flashloom_ftl::{GcBlocks, PAGE_MAPPING, Preemption, WearLevelling};

use super::Measured;

/// Bytes of a physical page number in a map stored on flash.
const MAP_ENTRY_BYTES: u64 = 4;

impl Measured<'_> {
    /// Effective over-provisioning of a page mapping's drive at the end of the run; `None` for mappings whose spare
    /// blocks are log blocks.
    pub(super) fn effective_over_provisioning(&self) -> Option<f64> {
        let config = self.config;
        if !config.mapping_offers(PAGE_MAPPING) {
            return None;
        }
        let (device, ftl) = (&config.device, &config.ftl);
        let geometry = device.geometry();
        let setup = config.drive_setup(false).ftl;
        let space = device.space();
        let site = AllocationSetup::new(&space, ftl);
        let demands = setup.allocation.profile(&site).map(|profile| profile.demands).unwrap_or_default();
        // A map that is all in memory takes no page.
        let has_map = self.outcome.ftl.map_writes > 0;
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
        // What a static cache sets aside is never collected; a dynamic one has a block open, which holds no page of it.
        let cached = ftl.slc_cache_blocks(geometry.blocks);
        let kept = f64::from(geometry.total_planes()) * (kept_free + open / 2.0 + f64::from(cached));
        let bad = self.outcome.ftl.retired.map_or(0, |bad| bad.factory + bad.program + bad.erase);
        let usable = (geometry.total_blocks() as f64 - bad as f64 - kept) * f64::from(geometry.pages);
        let logical = space.logical_pages;
        let entries = logical.div_ceil((ftl.mapping_unit_bytes / device.nand.page_bytes).max(1));
        let map = if has_map { (entries * MAP_ENTRY_BYTES).div_ceil(device.nand.page_bytes) } else { 0 };
        Some(usable / (logical + map) as f64 - 1.0)
    }
}
