//! Spare space of a page mapping's drive, once every plane has set blocks aside.
//!
//! ```text
//! usable = pages a block x planes x (blocks - bad - kept free - cached - open / 2)
//! effective over-provisioning = usable / (pages of data + pages of the map) - 1
//! ```
//!
//! `kept free` is the number of blocks that a plane holds free on average under a steady load: a garbage collection
//! paced by the writes begins when one block less than `gc_threshold` is free (at least three if blocks can fail), and
//! ends when the last free block has been filled; a collection done at once, because survivors share the host's blocks
//! or nothing may go between its copies, leaves half a block more. An open block is half full on average: half of each
//! holds nothing. This is the alpha - 1 at which the mean-field limit of greedy collection holds for planes of few
//! blocks too (`crates/run/tests/effective_over_provisioning.rs`). A lane with an open block that is no longer
//! written to (streams after a fill by streams) is counted as if it were.

use flashloom_device::DeviceParams;
use flashloom_ftl::allocation::AllocationSetup;
use flashloom_ftl::{Counts, GcBlocks, HotCold, PAGE_MAPPING, Preemption, TRANSLATION_PAGES, WearLevelling};

use super::Config;

/// Bytes of a physical page number in a map stored on flash.
const MAP_ENTRY_BYTES: u64 = 4;

/// What a drive's spare space depends on beside its configuration.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Whether map pages are written.
    pub has_map: bool,
    /// Whether hot pages are found, and have open blocks.
    pub has_hot: bool,
    /// Bad blocks.
    pub bad_blocks: u64,
}

impl Config {
    /// Pages that data and map can take, beyond what planes set aside. For page mappings.
    pub fn usable_pages(&self, found: Found) -> f64 {
        let (device, ftl) = (&self.device, &self.ftl);
        let geometry = device.geometry();
        let setup = self.drive_setup(false).ftl;
        let space = device.space();
        let site = AllocationSetup::new(&space, ftl);
        let demands = setup.allocation.profile(&site).map(|profile| profile.demands).unwrap_or_default();
        let separates = ftl.gc_blocks == GcBlocks::Separate || demands.isolation;
        let is_paced = separates && ftl.preemption == Preemption::Page;
        let lanes = [
            true,
            separates,
            demands.streams,
            demands.isolation,
            // What finds no hot pages opens no block for them.
            found.has_hot,
            found.has_hot && separates,
            ftl.wear_levelling == WearLevelling::Static,
            found.has_map,
        ];
        let open = lanes.into_iter().filter(|&lane| lane).count() as f64;
        let kept_free = f64::from(ftl.collects_below(&device.nand)) - if is_paced { 1.0 } else { 0.5 };
        // What a static cache sets aside is never collected; a dynamic one has a block open, which holds no page of it.
        let cached = ftl.slc_cache_blocks(geometry.blocks);
        let kept = f64::from(geometry.total_planes()) * (kept_free + open / 2.0 + f64::from(cached));
        (geometry.total_blocks() as f64 - found.bad_blocks as f64 - kept) * f64::from(geometry.pages)
    }

    /// Pages of flash that the map takes, one entry a mapping unit.
    pub fn map_pages(&self, logical_pages: u64) -> u64 {
        let page_bytes = self.device.nand.page_bytes;
        let entries = logical_pages.div_ceil((self.ftl.mapping_unit_bytes / page_bytes).max(1));
        (entries * MAP_ENTRY_BYTES).div_ceil(page_bytes)
    }

    /// The effective over-provisioning of a full drive of this configuration; `None` for mappings with log blocks.
    pub fn effective_over_provisioning(&self) -> Option<f64> {
        if !self.mapping_offers(PAGE_MAPPING) {
            return None;
        }
        let found = self.foreseen();
        let logical = self.device.logical_pages();
        let map = if found.has_map { self.map_pages(logical) } else { 0 };
        Some(self.usable_pages(found) / (logical + map) as f64 - 1.0)
    }

    /// What is known before a run of what spare space depends on.
    fn foreseen(&self) -> Found {
        let bad = self.device.nand.bad_blocks_a_plane() * self.device.geometry().total_planes();
        Found {
            has_map: self.mapping_offers(TRANSLATION_PAGES),
            has_hot: self.ftl.hot_cold != HotCold::None,
            bad_blocks: bad.into(),
        }
    }

    /// The over-provisioning of the array's blocks that leaves the effective one of `device.over_provisioning`, whole
    /// pages of capacity; `None` if planes set too much aside for that. For page mappings.
    pub(super) fn raw_over_provisioning(&self) -> Option<f64> {
        let found = self.foreseen();
        let usable = self.usable_pages(found);
        // As it is written: that of `self` may have been replaced by the result already.
        let DeviceParams { capacity, .. } = self.settings.typed("device");
        let both = usable / (1.0 + capacity.over_provisioning);
        if both < 1.0 {
            return None;
        }
        // Data and its map take `both`; the map's share is small, so that a second step is exact to a page.
        let of_map = |data: f64| if found.has_map { self.map_pages(data as u64) as f64 } else { 0.0 };
        let data = (both - of_map(both - of_map(both))).floor();
        // In the middle of what is rounded down to this page.
        (data >= 1.0).then(|| self.device.geometry().total_pages() as f64 / (data + 0.5) - 1.0)
    }

    /// Whether over-provisioning is counted after what planes set aside.
    pub(super) fn counts_effective(&self) -> bool {
        self.device.capacity.counts == Counts::Effective
    }

    /// Replaces an effective over-provisioning by that of the array's blocks, where it can be.
    pub(super) fn count_from_raw(&mut self) {
        let is_counted = self.counts_effective() && self.mapping_offers(PAGE_MAPPING);
        if let Some(raw) = is_counted.then(|| self.raw_over_provisioning()).flatten() {
            self.device.capacity.over_provisioning = raw;
        }
    }
}
