//! The part of a result about the flash translation layer.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PolicyResult, RoomResult};

result_types! {
    /// The flash translation layer.
    FtlResult {
        /// Mapping policy.
        mapping: PolicyResult,
        /// Allocation policy, which places pages on planes; absent for mappings that place pages by their own rules.
        allocation?: PolicyResult,
        /// Garbage collection policy, which chooses the victim; absent for mappings that merge log blocks instead.
        gc?: PolicyResult,
        /// Placement of logical blocks on chips; absent unless every chip has an FTL of its own.
        placement?: PolicyResult,
        /// Pages written by the layer above (host or write buffer), including those that pad a block.
        host_page_writes: u64,
        /// Pages read from flash by the layer above.
        host_page_reads: u64,
        /// Pages programmed by garbage collection, merges, moves and wear levelling, fillers included.
        page_copies: u64,
        /// Blocks erased.
        block_erases: u64,
        /// Partial page writes that first had to read the rest of the page.
        read_modify_writes: u64,
        /// Pages unmapped by a discard.
        trimmed_pages: u64,
        /// Write amplification of pages: pages programmed per page written by the layer above, without padding.
        waf?: f64,
        /// Write amplification factor: bytes programmed per byte that the host wrote.
        waf_bytes?: f64,
        /// `waf_bytes` once erased pages that were used up are paid for; absent if less than half is.
        steady_waf_bytes?: f64,
        /// Spare space without bad blocks, blocks kept free and half of each open one, as a share of what is stored.
        effective_over_provisioning?: f64,
        /// Erased pages that the run used up, and what it has not paid for; results of older versions have none.
        room?: RoomResult,
        /// Bad blocks; absent for a drive whose blocks cannot fail.
        retired_blocks?: RetiredResult,
    }

    /// Bad blocks by cause, since the drive was new, preconditioning included.
    RetiredResult {
        /// Blocks that were bad when the drive was new.
        factory: u64,
        /// Blocks retired because a program failed.
        program: u64,
        /// Blocks retired because an erase failed.
        erase: u64,
    }
}
