//! Where the policies of an FTL are in a configuration, and what is counted for each of them, whoever wrote it.

use flashloom_units::{SlotSpec, Statistic};

/// The place of the mapping.
pub static MAPPING: SlotSpec = SlotSpec {
    name: "mappings",
    key: "ftl.mapping",
    role: "mapping",
    help: "how logical pages are mapped to physical ones",
    statistics: &[],
};

/// The place of the allocation.
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

/// The place of the collection policy.
pub static COLLECTION: SlotSpec = SlotSpec {
    name: "gc",
    key: "ftl.gc",
    role: "garbage collection policy",
    help: "which block is collected",
    statistics: &[],
};

/// The place of the placement.
pub static PLACEMENT: SlotSpec = SlotSpec {
    name: "placements",
    key: "ftl.placement",
    role: "chip placement",
    help: "which chip an evicted logical block goes to, where every chip has an FTL of its own",
    statistics: &[Statistic::count(
        "migrated_pages",
        "Pages moved because their logical block was placed on another chip.",
    )],
};
