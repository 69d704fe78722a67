//! Keys that have an effect only with some mappings, and why.

use flashloom_units::Capability;

use crate::{BLOCK_EXCHANGE, DIE_SUPERBLOCKS, FtlParams, GcPace, SlcCacheKind, Superblock, WearLevelling};

const MERGES: &str = "wins space back by its own rules";
const NO_SPARES: &str = "cannot replace a bad block";

/// Keys that have an effect only with page-level mappings, or with those that say so by a capability, each with what
/// other mappings do instead.
pub const OF_PAGE_MAPPINGS: &[(&str, &str)] = &[
    ("ftl.allocation", "gives every page its block by its own rules"),
    ("ftl.gc", MERGES),
    ("ftl.gc_threshold", MERGES),
    ("ftl.background_threshold", MERGES),
    ("ftl.gc_low_watermark", MERGES),
    ("ftl.gc_blocks", MERGES),
    ("ftl.gc_pace", MERGES),
    ("ftl.hot_cold", MERGES),
    ("ftl.hot_threshold", MERGES),
    ("ftl.hot_decay", MERGES),
    ("ftl.hot_share", MERGES),
    ("ftl.slc_cache", "writes to blocks of its own first"),
    ("ftl.superblock", "puts blocks together by its own rules"),
    ("ftl.wear_levelling", "moves no data to level wear"),
    ("device.bad_blocks", NO_SPARES),
    ("device.program_failures", NO_SPARES),
    ("device.erase_failures", NO_SPARES),
];

/// The capability by which another mapping says that a key of [`OF_PAGE_MAPPINGS`] has its effect there, too; none if
/// only page-level mappings have it.
pub fn other_mappings_offer(key: &str) -> Option<Capability> {
    match key {
        "device.bad_blocks" | "device.program_failures" | "device.erase_failures" | "ftl.wear_levelling" => {
            Some(BLOCK_EXCHANGE)
        }
        "ftl.superblock" => Some(DIE_SUPERBLOCKS),
        _ => None,
    }
}

/// True if a key has an effect only with page-level mappings, whatever its value.
pub fn is_of_page_mappings(key: &str) -> bool {
    other_mappings_offer(key).is_none() && OF_PAGE_MAPPINGS.iter().any(|(known, _)| *known == key)
}

impl FtlParams {
    /// True if a key of [`OF_PAGE_MAPPINGS`] has a value that needs a page-level mapping; `is_given` is true if the
    /// configuration has the key.
    pub fn asks_of_page_mapping(&self, key: &str, is_given: bool) -> bool {
        match key {
            // These five have only one value each that another mapping may not support.
            "ftl.wear_levelling" => self.wear_levelling == WearLevelling::Static,
            "ftl.gc_pace" => is_given && self.gc_pace == GcPace::Deadline,
            "ftl.gc_low_watermark" => self.gc_low_watermark > 0.0,
            "ftl.slc_cache" => self.slc_cache != SlcCacheKind::None,
            "ftl.superblock" => self.superblock == Superblock::Die,
            _ => is_given,
        }
    }
}
