//! What an FTL reports about a run.

use flashloom_units::{Latency, Ns};
use serde::{Deserialize, Serialize};

/// What an FTL reports; what does not apply to a mapping or an allocation is absent.
#[derive(Clone, Debug, Default)]
pub struct FtlReport {
    /// Pages written by the layer above.
    pub host_page_writes: u64,
    /// Pages read for the layer above, from flash.
    pub host_page_reads: u64,
    /// Valid pages copied by collections and merges.
    pub page_copies: u64,
    /// Blocks erased.
    pub block_erases: u64,
    /// Partial writes that first had to read the page beneath.
    pub read_modify_writes: u64,
    /// Pages whose mapping a discard removed.
    pub trimmed_pages: u64,
    /// Collections begun because a write found too few free blocks.
    pub foreground_collections: u64,
    /// Collections begun while the drive was idle.
    pub background_collections: u64,
    /// Pages that were written as hot ones, where hot and cold pages are kept apart.
    pub hot_page_writes: Option<u64>,
    /// Blocks whose data static wear levelling moved.
    pub wear_moves: Option<u64>,
    /// Blocks that are bad, of a drive that has such or whose blocks can fail.
    pub retired: Option<RetiredBlocks>,
    /// What a log-block mapping did.
    pub merges: Option<Box<MergeReport>>,
    /// What a cached map did.
    pub map_cache: Option<MapCacheReport>,
    /// What an allocation that looks for streams found.
    pub streams: Option<StreamReport>,
}

flashloom_units::state! {
    FtlReport {
        value host_page_writes, host_page_reads, page_copies, block_erases, read_modify_writes, trimmed_pages,
            foreground_collections, background_collections, hot_page_writes, wear_moves, retired, map_cache, streams;
        nested merges;
    }
}

impl FtlReport {
    /// The counters of two stores of a mapping together. What only one kind of mapping counts is the first's.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            host_page_writes: self.host_page_writes + other.host_page_writes,
            host_page_reads: self.host_page_reads + other.host_page_reads,
            page_copies: self.page_copies + other.page_copies,
            block_erases: self.block_erases + other.block_erases,
            read_modify_writes: self.read_modify_writes + other.read_modify_writes,
            trimmed_pages: self.trimmed_pages + other.trimmed_pages,
            foreground_collections: self.foreground_collections + other.foreground_collections,
            background_collections: self.background_collections + other.background_collections,
            ..self
        }
    }

    /// Pages programmed for another reason than that the layer above wrote them.
    pub fn other_programs(&self) -> u64 {
        self.page_copies + self.map_cache.map_or(0, |cache| cache.writes)
    }
}

/// Blocks that hold nothing any more, by what made them bad; since the drive was new, preconditioning included. A block
/// of a superblock that is bad takes the others along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredBlocks {
    /// Bad when the drive was new.
    pub factory: u64,
    /// A program failed.
    pub program: u64,
    /// An erase failed.
    pub erase: u64,
}

impl RetiredBlocks {
    /// The blocks of as many superblocks of a width.
    pub(crate) fn times(self, width: u32) -> Self {
        let [factory, program, erase] =
            [self.factory, self.program, self.erase].map(|blocks| blocks * u64::from(width));
        Self { factory, program, erase }
    }
}

/// Merges of a log-block mapping.
#[derive(Clone, Debug, Default)]
pub struct MergeReport {
    /// Log blocks that became data blocks without a copy.
    pub switch: u64,
    /// Log blocks that became data blocks after their missing pages were copied in.
    pub partial: u64,
    /// Log blocks whose pages were gathered with those of their data blocks into new data blocks.
    pub full: u64,
    /// Pages programmed with nothing in them because a page of their offset was never written: blocks are programmed
    /// in order.
    pub filler_pages: u64,
    /// Pages moved because their logical block was placed on another chip.
    pub migrated_pages: u64,
    /// Log blocks merged with each number of associated data blocks: k(L) in KAST's terms.
    pub associativity: Vec<u64>,
    /// How long each merge would occupy an idle chip: its copies and erases at their cost.
    pub blocking_ns: Latency,
    /// What no merge can exceed: N k C_copy + (k + 1) C_erase for the largest k that the mapping allows.
    pub blocking_bound_ns: Ns,
    /// Longest time that merge steps put between two pages of the host on a chip; the whole merge without preemption.
    pub longest_wait_ns: Ns,
    /// What that time cannot exceed.
    pub wait_bound_ns: Ns,
    /// Log pages that preemption keeps from the mapping, so that writes can go on during a merge.
    pub reserved_pages: u64,
}

flashloom_units::state! {
    MergeReport {
        value switch, partial, full, filler_pages, migrated_pages, associativity, blocking_bound_ns, longest_wait_ns,
            wait_bound_ns, reserved_pages;
        nested blocking_ns;
    }
}

/// The cached part of a map that lives on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapCacheReport {
    /// Translations found in memory.
    pub hits: u64,
    /// Translations that had to be fetched.
    pub misses: u64,
    /// Translation pages read.
    pub reads: u64,
    /// Translation pages written.
    pub writes: u64,
}

/// Streams that an allocation found among pages written together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamReport {
    /// Streams found.
    pub detected: u64,
    /// Pages in them.
    pub pages: u64,
    /// Pages a stream at the moment: an adaptive threshold moves.
    pub threshold: u64,
    /// Chips that a stream is split over at the moment, where what reads take decides. Not saved with the counters: the
    /// allocation's state has it.
    #[serde(skip)]
    pub substreams: Option<u64>,
    /// Pages of streams that collections moved to another plane because the stream is read a lot.
    pub spread_pages: u64,
}
