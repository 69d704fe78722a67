//! Keys that an FTL follows only with some mappings, and why.

use crate::{FtlParams, GcPace, Superblock, WearLevelling};

const MERGES: &str = "wins space back by its own rules";
const NO_SPARES: &str = "cannot replace a bad block";

/// Keys that only page-level mappings follow, each with what another mapping does instead.
pub const OF_PAGE_MAPPINGS: &[(&str, &str)] = &[
    ("ftl.allocation", "gives every page its block by its own rules"),
    ("ftl.gc", MERGES),
    ("ftl.gc_threshold", MERGES),
    ("ftl.background_threshold", MERGES),
    ("ftl.gc_blocks", MERGES),
    ("ftl.gc_pace", MERGES),
    ("ftl.hot_cold", MERGES),
    ("ftl.hot_threshold", MERGES),
    ("ftl.hot_decay", MERGES),
    ("ftl.hot_share", MERGES),
    ("ftl.superblock", "puts blocks together by its own rules"),
    ("ftl.wear_levelling", "levels wear by its own rules"),
    ("device.bad_blocks", NO_SPARES),
    ("device.program_failures", NO_SPARES),
    ("device.erase_failures", NO_SPARES),
];

/// Whether only page-level mappings follow a key, whatever its value.
pub fn is_of_page_mappings(key: &str) -> bool {
    // Log-block mappings open the least worn blocks, too.
    key != "ftl.wear_levelling" && OF_PAGE_MAPPINGS.iter().any(|(known, _)| *known == key)
}

impl FtlParams {
    /// Whether a key of [`OF_PAGE_MAPPINGS`] asks for what only a page-level mapping does; `is_given` says whether it
    /// was written.
    pub fn asks_of_page_mapping(&self, key: &str, is_given: bool) -> bool {
        match key {
            // Of the values of these three only one asks for something that a log-block mapping does not do.
            "ftl.wear_levelling" => self.wear_levelling == WearLevelling::Static,
            "ftl.gc_pace" => is_given && self.gc_pace == GcPace::Deadline,
            "ftl.superblock" => self.superblock == Superblock::Die,
            _ => is_given,
        }
    }
}
