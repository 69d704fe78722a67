//! Memory that runs take, so that much of it can be announced before they begin.
//!
//! ```text
//! engine  12 B a page of the drive (map and owners of pages, index of the buffer, map of a cached map), 24 verified;
//!         with mapping units of several pages 12 B a unit and a bit a page; 128 B a page that the write buffer holds
//! aged    8 B a page for a drive that is kept to be shared or stored (its state, or what has changed since), and as
//!         much again while it is compressed
//! fio     the distributions in the reports of clones: 16 B a request, up to 0.44 MB for each direction
//! runs    as many at once as there are threads
//! ```
//!
//! An estimate from above: drives with all of their map in memory take 8 B a page, 16 verified
//! (`crates/cli/tests/cli/memory.rs` measures both). What else a workload holds follows from its own limits.

use flashloom_config::{Config, Precondition};

use super::Prepared;

const UNIT_BYTES: u64 = 12;
const VERIFIED_PAGE_BYTES: u64 = 12;
const BUFFERED_PAGE_BYTES: u64 = 128;
const AGED_PAGE_BYTES: u64 = 8;

impl Prepared<'_> {
    /// Approximate memory of the runs that `is_to_run` selects by index, in bytes, if `threads` of them run at once: an
    /// estimate from above.
    pub fn expected_memory_bytes(&self, verify: bool, threads: usize, is_to_run: &dyn Fn(usize) -> bool) -> u64 {
        let variants = &self.experiment.variants;
        let of = |index: usize| {
            let of_workload = self.workloads[index].memory_bytes();
            self.expected_of(&variants[index].config, verify).saturating_add(of_workload)
        };
        let mut each: Vec<u64> = (0..variants.len()).filter(|index| is_to_run(*index)).map(of).collect();
        each.sort_unstable();
        each.iter().rev().take(threads.max(1)).fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    fn expected_of(&self, config: &Config, verify: bool) -> u64 {
        let pages = config.device.geometry().total_pages();
        let buffered = config.buffer.capacity_bytes / config.device.nand.page_bytes;
        let is_alone = self.experiment.variants.len() == 1;
        let images = match config.run.precondition {
            _ if config.run.state.is_some() => 1,
            Precondition::Steady if self.cache.is_some() => 2,
            Precondition::None => 0,
            _ => u64::from(!is_alone),
        };
        let unit_pages = config.ftl.mapping_unit_bytes / config.device.nand.page_bytes;
        let units = pages.div_ceil(unit_pages.max(1));
        let held = if unit_pages > 1 { pages.div_ceil(8) } else { 0 };
        let verified = if verify { pages * VERIFIED_PAGE_BYTES } else { 0 };
        units * (UNIT_BYTES + images * AGED_PAGE_BYTES) + held + verified + buffered * BUFFERED_PAGE_BYTES
    }
}
