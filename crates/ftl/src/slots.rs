//! The configuration keys of the FTL's slots, and the statistics that are counted for any policy in them.

use flashloom_units::{SlotSpec, Statistic};

use crate::report;

/// Slot of the mapping.
pub static MAPPING: SlotSpec = SlotSpec {
    name: "mappings",
    key: "ftl.mapping",
    role: "mapping",
    help: "how logical pages are mapped to physical ones",
    statistics: report::COUNTED,
};

/// Slot of the allocation.
pub static ALLOCATION: SlotSpec = SlotSpec {
    name: "allocations",
    key: "ftl.allocation",
    role: "page allocation",
    help: "which plane a page is written to",
    statistics: &[Statistic::count(
        "spread_pages",
        "Pages of streams that garbage collection moved to another plane because the stream is often read; absent \
         where the allocation does not ask for it.",
    )],
};

/// Slot of the collection policy.
pub static COLLECTION: SlotSpec = SlotSpec {
    name: "gc",
    key: "ftl.gc",
    role: "garbage collection policy",
    help: "which block is collected",
    statistics: report::COLLECTIONS,
};

/// Slot of the placement.
pub static PLACEMENT: SlotSpec = SlotSpec {
    name: "placements",
    key: "ftl.placement",
    role: "chip placement",
    help: "which chip an evicted logical block goes to, where every chip has an FTL of its own",
    statistics: &[Statistic::count(
        "migrated_pages",
        "Pages moved because their logical block was placed on another chip.",
    )
    .in_summary("pages moved to another chip")],
};
