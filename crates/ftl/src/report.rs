//! Counters that every FTL has; its policies declare further statistics of their own.

use flashloom_units::{Figure, Reader, State, StateError, Statistic, Unit, Writer};
use serde::{Deserialize, Serialize};

/// Counters of an FTL. Those that do not apply are `None`. The fields that serde knows are saved, in their order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FtlReport {
    /// Pages written by the layer above.
    pub host_page_writes: u64,
    /// Pages read from flash for the layer above.
    pub host_page_reads: u64,
    /// Valid pages copied by collections and merges.
    pub page_copies: u64,
    /// Blocks erased.
    pub block_erases: u64,
    /// Partial writes that first had to read the old copy of the page.
    pub read_modify_writes: u64,
    /// Pages unmapped by discards.
    pub trimmed_pages: u64,
    /// Garbage collections begun by a write that found too few free blocks.
    pub foreground_collections: u64,
    /// Garbage collections begun while the drive was idle.
    pub background_collections: u64,
    /// Pages written as hot; `None` unless hot and cold pages are separated.
    pub hot_page_writes: Option<u64>,
    /// Blocks moved by static wear levelling.
    pub wear_moves: Option<u64>,
    /// Bad blocks; `None` unless blocks can be or become bad.
    pub retired: Option<RetiredBlocks>,
    /// Pages that were programmed because the host wrote others of their mapping unit; `None` if the unit is a page.
    /// Saved with the store.
    #[serde(skip)]
    pub unit_rewrites: Option<u64>,
    /// Map pages programmed; 0 if the map is not on flash.
    #[serde(skip)]
    pub map_writes: u64,
    /// The SLC cache; `None` without one.
    #[serde(skip)]
    pub slc_cache: Option<SlcReport>,
    /// Bytes of a controller's memory that the mapping's tables take: [`ADDRESS_BYTES`] for each address in the map, in
    /// its directory and in tables of log blocks, and the cache of a map on flash, full. What every mapping needs to
    /// manage blocks is not counted. `None` if the mapping does not say.
    #[serde(skip)]
    pub memory_bytes: Option<u64>,
}

/// What is counted for every mapping besides the counters that all have.
pub(crate) const COUNTED: &[Statistic] = &[
    Statistic::count("hot_page_writes", "Pages written as hot pages; absent unless hot and cold pages are separated.")
        .in_summary("hot page writes"),
    Statistic::count(
        "unit_rewrites",
        "Pages programmed because the host wrote others of their mapping unit; absent unless that has several pages.",
    )
    .in_summary("pages written again with their mapping unit"),
    Statistic::count("wear_moves", "Blocks whose data static wear levelling moved; absent without it.")
        .in_summary("blocks moved by wear levelling"),
    Statistic::count("slc_writes", "Pages of the host written to the SLC cache; absent without one.")
        .in_summary("pages written to the SLC cache"),
    Statistic::count("slc_writes_beside", "Pages of the host written past the SLC cache, because it was full.")
        .in_summary("pages written beside the SLC cache"),
    Statistic::count("slc_folded_blocks", "Blocks of the SLC cache folded and erased; a superblock counts as one.")
        .in_summary("SLC blocks folded"),
    Statistic::count(
        "slc_folded_pages",
        "Pages copied out of the SLC cache; the others were overwritten or discarded in it, or are still there.",
    )
    .in_summary("pages copied by folds"),
    Statistic::new(
        "memory_bytes",
        Unit::Bytes,
        "Bytes of memory that the mapping's tables take in a controller, caches full; absent if it does not say.",
    ),
];

/// What is counted for every collection policy.
pub(crate) const COLLECTIONS: &[Statistic] = &[
    Statistic::count("foreground_collections", "Garbage collections begun because a write found too few free blocks."),
    Statistic::count("background_collections", "Garbage collections begun while the drive was idle."),
];

/// Bytes of an address in a table, as the papers count them.
pub const ADDRESS_BYTES: u64 = 4;

/// Counters of an SLC cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlcReport {
    /// Pages of the host written to the cache.
    pub cached_writes: u64,
    /// Pages of the host written past the cache, because it was full.
    pub writes_beside: u64,
    /// Blocks folded and erased; a superblock counts as one.
    pub folded_blocks: u64,
    /// Pages copied out of the cache.
    pub folded_pages: u64,
}

impl State for FtlReport {
    fn save(&self, to: &mut Writer) {
        to.value(self);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        *self = from.value()?;
        Ok(())
    }
}

impl FtlReport {
    /// The values of what is counted for every mapping; they stand before those of the mapping itself.
    pub fn figures(&self) -> impl Iterator<Item = Figure> + use<> {
        let cache = |of: fn(SlcReport) -> u64| self.slc_cache.map(of);
        let counts = [
            self.hot_page_writes,
            self.unit_rewrites,
            self.wear_moves,
            cache(|cache| cache.cached_writes),
            cache(|cache| cache.writes_beside),
            cache(|cache| cache.folded_blocks),
            cache(|cache| cache.folded_pages),
        ];
        let memory = self.memory_bytes.map_or(Figure::Absent, Figure::Bytes);
        counts.map(Figure::count_or_absent).into_iter().chain([memory])
    }

    /// The values of [`COLLECTIONS`].
    pub(crate) fn collections(&self) -> [Figure; COLLECTIONS.len()] {
        [self.foreground_collections, self.background_collections].map(Figure::Count)
    }

    /// Sums the counters of two stores of one mapping. Counters that only one kind of mapping has are taken from
    /// `self`.
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
            map_writes: self.map_writes + other.map_writes,
            ..self
        }
    }

    /// Pages programmed for a write by the layer above: those written, and the others of their mapping units.
    pub fn host_programs(&self) -> u64 {
        self.host_page_writes + self.unit_rewrites.unwrap_or(0)
    }

    /// Pages programmed for any other reason than a write by the layer above.
    pub fn other_programs(&self) -> u64 {
        self.page_copies + self.map_writes
    }
}

/// Bad blocks by cause, since the drive was new. A bad block of a superblock makes the other blocks of it bad too.
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
    /// Bad superblocks converted to blocks: each counts `width` times.
    pub(crate) fn times(self, width: u32) -> Self {
        let [factory, program, erase] =
            [self.factory, self.program, self.erase].map(|blocks| blocks * u64::from(width));
        Self { factory, program, erase }
    }
}
