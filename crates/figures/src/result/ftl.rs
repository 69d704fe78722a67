//! The part of a result about the flash translation layer.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RoomResult, Statistics, TallyResult};

result_types! {
    /// The flash translation layer.
    FtlResult {
        /// Mapping policy.
        mapping: String,
        /// Allocation policy, which places pages on planes; absent for mappings that place pages by their own rules.
        #[serde(skip_serializing_if = "Option::is_none")]
        allocation: Option<String>,
        /// Garbage collection policy, which chooses the victim; absent for mappings that merge log blocks instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        gc: Option<String>,
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
        /// Garbage collections begun because a write found too few free blocks; absent for mappings that merge instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        foreground_collections: Option<u64>,
        /// Garbage collections begun while the drive was idle; absent for mappings that merge instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        background_collections: Option<u64>,
        /// Write amplification of pages: pages programmed per page written by the layer above, without padding.
        #[serde(skip_serializing_if = "Option::is_none")]
        waf: Option<f64>,
        /// Write amplification factor: bytes programmed per byte that the host wrote.
        #[serde(skip_serializing_if = "Option::is_none")]
        waf_bytes: Option<f64>,
        /// `waf_bytes` once erased pages that were used up are paid for; absent if less than half is.
        #[serde(skip_serializing_if = "Option::is_none")]
        steady_waf_bytes: Option<f64>,
        /// Spare space without bad blocks, blocks kept free and half of each open one, as a share of what is stored.
        #[serde(skip_serializing_if = "Option::is_none")]
        effective_over_provisioning: Option<f64>,
        /// Erased pages that the run used up, and what it has not paid for; results of older versions have none.
        #[serde(skip_serializing_if = "Option::is_none")]
        room: Option<RoomResult>,
        /// Pages written as hot pages; absent unless hot and cold pages are separated.
        #[serde(skip_serializing_if = "Option::is_none")]
        hot_page_writes: Option<u64>,
        /// Pages programmed because the host wrote others of their mapping unit; absent unless that has several pages.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        unit_rewrites: Option<u64>,
        /// Blocks whose data static wear levelling moved; absent without it.
        #[serde(skip_serializing_if = "Option::is_none")]
        wear_moves: Option<u64>,
        /// Bad blocks; absent for a drive whose blocks cannot fail.
        #[serde(skip_serializing_if = "Option::is_none")]
        retired_blocks: Option<RetiredResult>,
        /// Merges of log blocks; absent for mappings without log blocks.
        #[serde(skip_serializing_if = "Option::is_none")]
        merges: Option<MergesResult>,
        /// Data blocks that merged log blocks were associated with: k(L) in KAST's terms; absent without merges.
        #[serde(skip_serializing_if = "Option::is_none")]
        associativity: Option<TallyResult>,
        /// Time for which a merge occupies an otherwise idle chip: its copies and erases at their cost.
        #[serde(skip_serializing_if = "Option::is_none")]
        blocking_ns: Option<BlockingResult>,
        /// Time that a page of the host waits for merges.
        #[serde(skip_serializing_if = "Option::is_none")]
        wait_ns: Option<WaitResult>,
        /// Log pages that preemption reserves, so that writes can go on during a merge.
        #[serde(skip_serializing_if = "Option::is_none")]
        reserved_pages: Option<u64>,
        /// The cache of a map that is stored on flash; absent for maps that are entirely in memory.
        #[serde(skip_serializing_if = "Option::is_none")]
        map_cache: Option<MapCacheResult>,
        /// Streams detected by the allocation; absent for allocations without streams.
        #[serde(skip_serializing_if = "Option::is_none")]
        streams: Option<StreamsResult>,
        /// The SLC cache; absent without one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        slc_cache: Option<SlcCacheResult>,
        /// Bytes of memory that the mapping's tables take in a controller, caches full; absent if it does not say.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        memory_bytes: Option<u64>,
        /// Statistics of the FTL's policies, by the key that chose them: mapping, allocation, gc, placement.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        statistics: BTreeMap<String, Statistics>,
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

    /// The SLC cache: blocks with one bit per cell that take the host's pages first.
    SlcCacheResult {
        /// Pages of the host written to the cache.
        cached_writes: u64,
        /// Pages of the host written past the cache, because it was full.
        writes_beside: u64,
        /// Blocks folded and erased; a superblock counts as one.
        folded_blocks: u64,
        /// Pages copied out of the cache; the others were overwritten or discarded in it, or are still there.
        folded_pages: u64,
    }

    /// Merges of log blocks, by kind, and their costs besides copies.
    MergesResult {
        /// Switch merges: log blocks that became data blocks without a copy.
        switch: u64,
        /// Partial merges: log blocks that became data blocks after their missing pages were copied in.
        partial: u64,
        /// Full merges: log blocks whose pages were copied with those of their data blocks into new data blocks.
        full: u64,
        /// Filler pages, programmed without data because the page at their offset was never written.
        filler_pages: u64,
        /// Pages moved because their logical block was placed on another chip.
        migrated_pages: u64,
    }

    /// Time for which a merge occupies an otherwise idle chip.
    BlockingResult {
        /// The mean; absent if nothing was merged.
        #[serde(skip_serializing_if = "Option::is_none")]
        mean: Option<f64>,
        /// The 99th percentile: the value that 99 % of the merges do not exceed.
        #[serde(skip_serializing_if = "Option::is_none")]
        p99: Option<u64>,
        /// The longest.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<u64>,
        /// Upper bound: N k C_copy + (k + 1) C_erase for the largest k that the mapping allows.
        bound: u64,
    }

    /// Time that a page of the host waits for merges.
    WaitResult {
        /// Longest time that merges put between two pages of the host on a chip.
        max: u64,
        /// Upper bound of that time.
        bound: u64,
    }

    /// The cache of a map that is stored on flash.
    MapCacheResult {
        /// Translations found in the cache.
        hits: u64,
        /// Translations that had to be read from flash.
        misses: u64,
        /// Hit ratio: hits as a share of all translations.
        #[serde(skip_serializing_if = "Option::is_none")]
        hit_ratio: Option<f64>,
        /// Translation pages read from flash.
        reads: u64,
        /// Translation pages written to flash.
        writes: u64,
    }

    /// Streams: runs of pages that were written together.
    StreamsResult {
        /// Streams detected.
        detected: u64,
        /// Pages in them.
        pages: u64,
        /// Stream threshold in pages at the end of the run; an adaptive threshold changes.
        threshold: u64,
        /// Chips that a stream was split over at the end of the run; absent unless `ftl.slap.substreams` is "auto".
        #[serde(skip_serializing_if = "Option::is_none")]
        substreams: Option<u64>,
        /// Pages of streams that garbage collection spread over the chips because they are often read.
        spread_pages: u64,
    }
}
