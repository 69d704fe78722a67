//! What a result says of the flash translation layer.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Statistics;

result_types! {
    /// The flash translation layer.
    FtlResult {
        /// The mapping.
        mapping: String,
        /// The allocation of pages; absent for mappings that give every page its block by their own rules.
        #[serde(skip_serializing_if = "Option::is_none")]
        allocation: Option<String>,
        /// The choice of the block that is collected; absent for mappings that merge log blocks instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        gc: Option<String>,
        /// Pages that the layer above wrote, those that pad a block among them.
        host_page_writes: u64,
        /// Pages that the layer above read from flash.
        host_page_reads: u64,
        /// Pages that collections, merges, moves and wear levelling programmed, fillers included.
        page_copies: u64,
        /// Blocks erased.
        block_erases: u64,
        /// Partial writes that first had to read the page beneath.
        read_modify_writes: u64,
        /// Pages whose mapping a discard removed.
        trimmed_pages: u64,
        /// Collections begun because a write found too few free blocks; absent for mappings that merge instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        foreground_collections: Option<u64>,
        /// Collections begun while the drive was idle; absent for mappings that merge instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        background_collections: Option<u64>,
        /// Write amplification: pages programmed for each page that the layer above wrote, padding left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        waf: Option<f64>,
        /// Over-provisioning without bad blocks, those kept free and half of each open one; absent with log blocks.
        #[serde(skip_serializing_if = "Option::is_none")]
        effective_over_provisioning: Option<f64>,
        /// Pages that were written as hot ones; absent unless hot and cold pages are kept apart.
        #[serde(skip_serializing_if = "Option::is_none")]
        hot_page_writes: Option<u64>,
        /// Blocks whose data static wear levelling moved; absent without it.
        #[serde(skip_serializing_if = "Option::is_none")]
        wear_moves: Option<u64>,
        /// Blocks that are bad; absent for a drive whose blocks cannot be.
        #[serde(skip_serializing_if = "Option::is_none")]
        retired_blocks: Option<RetiredResult>,
        /// Merges of log blocks; absent for mappings without these.
        #[serde(skip_serializing_if = "Option::is_none")]
        merges: Option<MergesResult>,
        /// Data blocks that merged log blocks were associated with: k(L) in KAST's terms; absent without merges.
        #[serde(skip_serializing_if = "Option::is_none")]
        associativity: Option<AssociativityResult>,
        /// How long merges occupy an idle chip: their copies and erases at their cost.
        #[serde(skip_serializing_if = "Option::is_none")]
        blocking_ns: Option<BlockingResult>,
        /// How long a page of the host waits for merges.
        #[serde(skip_serializing_if = "Option::is_none")]
        wait_ns: Option<WaitResult>,
        /// Log pages that preemption keeps from the mapping, so that writes can go on during a merge.
        #[serde(skip_serializing_if = "Option::is_none")]
        reserved_pages: Option<u64>,
        /// The cached part of a map that lives on flash; absent for maps that are all in memory.
        #[serde(skip_serializing_if = "Option::is_none")]
        map_cache: Option<MapCacheResult>,
        /// Streams that the allocation found; absent for allocations that look for none.
        #[serde(skip_serializing_if = "Option::is_none")]
        streams: Option<StreamsResult>,
        /// What its policies count besides, by the key that chose them: mapping, allocation, gc, placement.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        statistics: BTreeMap<String, Statistics>,
    }

    /// Blocks that hold nothing any more, by what made them bad; since the drive was new, preconditioning included.
    RetiredResult {
        /// Bad when the drive was new.
        factory: u64,
        /// A program failed.
        program: u64,
        /// An erase failed.
        erase: u64,
    }

    /// Merges of log blocks, by kind, and what they cost besides copies.
    MergesResult {
        /// Log blocks that became data blocks without a copy.
        switch: u64,
        /// Log blocks that became data blocks after their missing pages were copied in.
        partial: u64,
        /// Log blocks whose pages were gathered with those of their data blocks into new data blocks.
        full: u64,
        /// Pages programmed with nothing in them, because a page of their offset was never written.
        filler_pages: u64,
        /// Pages moved because their logical block was placed on another chip.
        migrated_pages: u64,
    }

    /// k(L) of the log blocks that were merged, at the beginning of their merge.
    AssociativityResult {
        /// The mean.
        mean: f64,
        /// The greatest.
        max: u64,
        /// How many log blocks were merged with each number of data blocks, from none on.
        histogram: Vec<u64>,
    }

    /// How long merges occupy an idle chip.
    BlockingResult {
        /// The mean; absent where nothing was merged.
        #[serde(skip_serializing_if = "Option::is_none")]
        mean: Option<f64>,
        /// What 99 % do not pass.
        #[serde(skip_serializing_if = "Option::is_none")]
        p99: Option<u64>,
        /// The longest.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<u64>,
        /// What none can pass: N k C_copy + (k + 1) C_erase for the largest k that the mapping allows.
        bound: u64,
    }

    /// How long a page of the host waits for merges.
    WaitResult {
        /// The longest time that merges put between two pages of the host on a chip.
        max: u64,
        /// What that cannot pass.
        bound: u64,
    }

    /// The cached part of a map that lives on flash.
    MapCacheResult {
        /// Translations found in memory.
        hits: u64,
        /// Translations that had to be fetched.
        misses: u64,
        /// Hits as a share of all translations.
        #[serde(skip_serializing_if = "Option::is_none")]
        hit_ratio: Option<f64>,
        /// Translation pages read.
        reads: u64,
        /// Translation pages written.
        writes: u64,
    }

    /// Streams among pages that were written together.
    StreamsResult {
        /// Streams found.
        detected: u64,
        /// Pages in them.
        pages: u64,
        /// Pages a stream at the end; an adaptive threshold moves.
        threshold: u64,
        /// Pages of streams that collections spread over the chips because they are read a lot.
        spread_pages: u64,
    }
}
