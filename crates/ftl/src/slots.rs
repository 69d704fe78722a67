//! Where the policies of an FTL are in a configuration.

use flashloom_units::SlotSpec;

/// The place of the mapping.
pub static MAPPING: SlotSpec = SlotSpec {
    name: "mappings",
    key: "ftl.mapping",
    role: "mapping",
    help: "how logical pages are mapped to physical ones",
};

/// The place of the allocation.
pub static ALLOCATION: SlotSpec = SlotSpec {
    name: "allocations",
    key: "ftl.allocation",
    role: "page allocation",
    help: "which plane a page is written to",
};

/// The place of the collection policy.
pub static COLLECTION: SlotSpec =
    SlotSpec { name: "gc", key: "ftl.gc", role: "garbage collection policy", help: "which block is collected" };

/// The place of the placement.
pub static PLACEMENT: SlotSpec = SlotSpec {
    name: "placements",
    key: "ftl.placement",
    role: "chip placement",
    help: "which chip an evicted logical block goes to, where every chip has an FTL of its own",
};
