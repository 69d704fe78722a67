//! LazyFTL: a page-level map on flash that is changed by whole blocks, long after their pages were written (Ma, Feng
//! and Li, "LazyFTL: A Page-level Flash Translation Layer Optimized for NAND Flash Memory", SIGMOD 2011).
//!
//! ```text
//! write       of a whole page looks nothing up: its entry goes to the update table, whatever the map on flash says
//! read        the update table, then the cached map pages, then the map on flash
//! collection  the entries of survivors go to the update table too, so that a collection writes no map
//! areas       blocks with entries in the table: update blocks (pages of the host) and cold blocks (survivors)
//! convert     the table is full: the block whose entries take the fewest writes of the map leaves its area. Each map
//!             page of its entries is written once (read, change, program), with all entries of the table that belong
//!             to it; those of other blocks stay in the table, but need no write any more. No data is copied
//! age         a block is converted at the latest when `age` others have entered the areas after it
//! ```
//!
//! The paper could not be read here beyond its abstract, and notes that others took of its algorithms; these are
//! choices of ours:
//!
//! - Both areas share one table, so that their sizes follow what is written. It is full by its entries, not by blocks:
//!   "fewest writes" is counted for each entry that leaves, among the `window` oldest blocks, so that a block that was
//!   just opened is not the cheapest.
//! - Which pages are valid is known at once. The paper finds out when it converts (its flags of entries to invalidate),
//!   and until then takes a page for valid that was written elsewhere.
//! - Any closed block can be collected, as `ftl.gc` says, and leaves its area with the last survivor. The paper
//!   collects data blocks only. It keeps update blocks apart from cold ones, as `ftl.gc_blocks = "separate"` does.
//! - The cache of map pages is an LRU of whole ones. Entries of removed pages are converted like those of a block.
//!
//! O(1) a hit and a change, O(`window` times pages of a block) a conversion, which writes at most as many map pages as
//! a block has pages, one after the other. Memory beyond the store's: 8 bytes and a bit a host page.

use flashloom_nand::{Lpn, Ppn};
use flashloom_units::{Capability, Figure, KIB, Kind, Lists, PolicySpec, Refusal, Statistic, Value};
use flashloom_units::{Violation, params, violation};

use super::translation::{self, EntryBits, Frame, MapCache, MapShape, TranslationPage, WriteBack};
use crate::capability::{PAGE_MAPPING, TRANSLATION_PAGES};

/// Bytes of an entry in the update table: a logical and a physical page number.
const ENTRY_BYTES: u64 = 8;
/// Bytes that a cached map page takes besides its entries: its number and its neighbours in the list.
const HEADER_BYTES: u64 = 8;
/// Bytes of a physical page number.
const STORED_BYTES: u64 = 4;

params! {
    /// Parameters of LazyFTL.
    pub struct LazyftlParams {
        /// Memory for the update table and cached map pages.
        cache_bytes: u64 => "cache", Kind::Size { min: 512, max: 1 << 36 }, Value::Size(512 * KIB),
            "A larger one converts blocks less often, and reads the map on flash less often.";
        /// Share of the memory for the update table, 8 bytes an entry.
        table: f64 => "table", Kind::Ratio { min: 0.01, max: 0.99 }, Value::Ratio(0.5),
            "A larger share writes the map less often; reads find fewer map pages cached.";
        /// Blocks, oldest first, of which the cheapest is converted.
        window: u32 => "window", Kind::Count { min: 1, max: 4_096 }, Value::Count(8),
            "With 1 the oldest block is converted; more find one whose entries share map pages.";
        /// Blocks that may enter the areas after a block before that is converted at the latest.
        age: u32 => "age", Kind::Count { min: 1, max: 1 << 30 }, Value::Count(1_024),
            "After a failure of power so many blocks would have to be read to find the entries of the table again.";
    }
}

const STATISTICS: &[Statistic] = &Statistic::joined::<{ translation::STATISTICS.len() + 3 }>(&[
    translation::STATISTICS,
    &[
        Statistic::count("cached_pages", "Map pages in the cache at the end."),
        Statistic::count("table_entries", "Entries in the update table at the end."),
        Statistic::count("conversions", "Blocks that were converted: their entries left the update table."),
    ],
]);

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "lazyftl",
    summary: "a page-level map on flash that is changed by whole blocks, after a while",
    details: "A table of the pages written or moved lately, an LRU of map pages for the rest, and conversion of the \
              block that takes the fewest writes of the map. Takes an allocation (ftl.allocation) and a collection \
              policy (ftl.gc).",
    source: "Ma et al., SIGMOD 2011",
    example: "ftl.mapping=lazyftl ftl.lazyftl.cache=256KiB ftl.lazyftl.table=0.7",
    instead: "A conversion writes up to a map page for each page of a block at once: where slow single writes matter \
              use `dftl`, whose evictions write one. For a drive with memory for the whole map use `page`.",
    needs: &[],
    offers: &[PAGE_MAPPING, TRANSLATION_PAGES, Capability::SAVED_STATE],
    params: LazyftlParams::PARAMS,
    statistics: STATISTICS,
};

/// The update table, and cached map pages.
pub(super) struct UpdateTable {
    shape: MapShape,
    /// Most entries of the table, and most cached map pages.
    capacity: u32,
    most_pages: u32,
    window: u32,
    age: u32,
    /// The entries of the table, by the block that holds the page; those of removed pages behind the last block.
    entries: Lists<u32>,
    held: u32,
    /// Entries that are newer than the map on flash.
    is_dirty: EntryBits,
    /// The blocks with entries, in the order in which they entered the areas, and how many had entered before each.
    areas: Lists<u32>,
    entered_before: Vec<u64>,
    entered: u64,
    /// The block that is being converted. None between two requests.
    converting: Option<u32>,
    /// The cached map pages, least recently used first.
    recency: Lists<u32>,
    cached: u32,
    conversions: u64,
    /// Map pages of a block, while its cost is counted.
    counted: Vec<TranslationPage>,
}

flashloom_units::state! {
    UpdateTable {
        nested entries;
        value held;
        nested is_dirty, areas, entered_before;
        value entered;
        nested recency;
        value cached, conversions;
        fixed shape, capacity, most_pages, window, age, converting, counted;
    }
}

impl UpdateTable {
    fn with_capacity(shape: MapShape, capacity: u32, most_pages: u32, window: u32, age: u32) -> Self {
        let (pages, blocks) = (shape.translation_pages(), shape.blocks() + 1);
        Self {
            shape,
            capacity,
            most_pages,
            window,
            age,
            entries: Lists::new(shape.entries(), blocks),
            held: 0,
            is_dirty: shape.bits(),
            areas: Lists::new(blocks, 1),
            entered_before: vec![0; blocks as usize],
            entered: 0,
            converting: None,
            recency: Lists::new(pages, 1),
            cached: 0,
            conversions: 0,
            counted: Vec::new(),
        }
    }

    /// The list of an entry.
    fn area(&self, page: Ppn) -> u32 {
        if page.is_none() { self.shape.blocks() } else { self.shape.block_of(page).0 }
    }

    /// The frame of all entries of the table. No read loads it.
    fn table_frame(&self) -> Frame {
        Frame(self.shape.translation_pages())
    }

    fn is_cached(&self, page: TranslationPage) -> bool {
        self.recency.contains(page.0)
    }

    fn remove(&mut self, lpn: u32) {
        if let Some(area) = self.entries.alone_in(lpn) {
            self.areas.remove(area as u32);
        }
        self.entries.remove(lpn);
        self.held -= 1;
    }

    /// The block that has to be converted because of its age.
    fn aged(&self) -> Option<u32> {
        let oldest = self.areas.front(0)?;
        (self.entered - self.entered_before[oldest as usize] > u64::from(self.age)).then_some(oldest)
    }

    /// The block whose conversion is cheapest.
    fn cheapest(&mut self) -> Option<u32> {
        let oldest = self.areas.front(0)?;
        let mut counted = std::mem::take(&mut self.counted);
        let mut best = (oldest, u64::MAX, 1);
        for block in self.areas.iter(0).take(self.window as usize) {
            counted.clear();
            let mut leaving = 0;
            for lpn in self.entries.iter(block as usize) {
                leaving += 1;
                counted.extend(self.is_dirty.get(lpn).then(|| self.shape.page_of(Lpn(lpn))));
            }
            counted.sort_unstable_by_key(|page| page.0);
            counted.dedup();
            let writes = counted.len() as u64;
            // Fewer writes for each entry; of equals the older one.
            if u128::from(writes) * u128::from(best.2 as u64) < u128::from(best.1) * u128::from(leaving as u64) {
                best = (block, writes, leaving);
            }
        }
        self.counted = counted;
        Some(best.0)
    }
}

/// Bytes of a cached map page.
fn page_bytes(shape: &MapShape) -> u64 {
    HEADER_BYTES + STORED_BYTES * u64::from(shape.entries_a_page())
}

/// Entries of the table, and map pages beside it.
fn shares(params: &LazyftlParams, shape: &MapShape) -> (u64, u64) {
    let entries = (params.cache_bytes as f64 * params.table / ENTRY_BYTES as f64) as u64;
    (entries, (params.cache_bytes - ENTRY_BYTES * entries) / page_bytes(shape))
}

impl MapCache for UpdateTable {
    type Params = LazyftlParams;

    const ENTRIES_SHARE_FRAMES: bool = true;
    const CHANGES_UNSEEN: bool = true;

    fn suits(params: &LazyftlParams, shape: MapShape) -> Result<(), Refusal> {
        let (entries, pages) = shares(params, &shape);
        if entries >= u64::from(shape.pages_a_block()) && pages >= 1 {
            return Ok(());
        }
        let found = format!(
            "{entries} entries and {pages} map pages: `ftl.lazyftl.cache` = {}, of which `ftl.lazyftl.table` = {} is \
             for entries of {ENTRY_BYTES} bytes",
            params.cache_bytes, params.table
        );
        let (block, page) = (shape.pages_a_block(), page_bytes(&shape));
        let expected = format!("room for the entries of a block, {block}, and for a map page, {page} bytes");
        let keys = ["ftl.lazyftl.cache", "ftl.lazyftl.table", "device.page_size", "device.pages", "device.preset"];
        Err(Refusal::new(found, expected).at(keys).help("raise ftl.lazyftl.cache"))
    }

    fn new(params: LazyftlParams, shape: MapShape) -> Self {
        let (entries, pages) = shares(&params, &shape);
        let entries = entries.min(shape.entries().into()) as u32;
        let pages = pages.min(shape.translation_pages().into()) as u32;
        Self::with_capacity(shape, entries, pages, params.window, params.age)
    }

    fn frames(&self) -> u32 {
        self.shape.translation_pages() + 1
    }

    fn touch(&mut self, lpn: Lpn) -> Option<Frame> {
        if self.entries.contains(lpn.0) {
            return Some(self.table_frame());
        }
        let page = self.shape.page_of(lpn);
        self.is_cached(page).then(|| {
            self.recency.remove(page.0);
            self.recency.push_back(0, page.0);
            Frame(page.0)
        })
    }

    fn make_room(&mut self, _lpn: Lpn, _map: &[Ppn]) -> Option<WriteBack> {
        if self.cached == self.most_pages {
            self.recency.pop_front(0);
            self.cached -= 1;
        }
        None
    }

    fn insert(&mut self, lpn: Lpn, _map: &[Ppn]) -> Frame {
        let page = self.shape.page_of(lpn);
        self.recency.push_back(0, page.0);
        self.cached += 1;
        Frame(page.0)
    }

    fn mark_dirty(&mut self, lpn: Lpn, map: &[Ppn]) -> Option<Frame> {
        if self.entries.contains(lpn.0) {
            self.remove(lpn.0);
        }
        let area = self.area(map[lpn.at()]);
        if self.entries.is_empty(area as usize) {
            self.areas.push_back(0, area);
            self.entered_before[area as usize] = self.entered;
            self.entered += 1;
        }
        self.entries.push_back(area as usize, lpn.0);
        self.held += 1;
        self.is_dirty.replace(lpn.0, true);
        Some(self.table_frame())
    }

    fn whole(&self, page: TranslationPage) -> Option<Frame> {
        self.is_cached(page).then_some(Frame(page.0))
    }

    /// Converts blocks that are too old, and others while the table has too many entries.
    fn overflow(&mut self) -> Option<WriteBack> {
        loop {
            if self.converting.is_none() {
                self.converting = match self.aged() {
                    None if self.held > self.capacity => self.cheapest(),
                    aged => aged,
                };
                self.conversions += u64::from(self.converting.is_some());
            }
            let block = self.converting?;
            while let Some(lpn) = self.entries.front(block as usize) {
                if self.is_dirty.get(lpn) {
                    let page = self.shape.page_of(Lpn(lpn));
                    self.clean(page);
                    return Some(WriteBack { page, whole: self.whole(page) });
                }
                self.remove(lpn);
            }
            self.converting = None;
        }
    }

    fn is_dirty(&self, lpn: Lpn) -> bool {
        self.is_dirty.get(lpn.0)
    }

    fn has_dirty(&self, page: TranslationPage) -> bool {
        self.is_dirty.any(self.shape.places_of(page))
    }

    fn clean(&mut self, page: TranslationPage) {
        self.is_dirty.of(self.shape.places_of(page)).fill(0);
    }

    fn memory_bytes(&self) -> u64 {
        ENTRY_BYTES * u64::from(self.capacity) + page_bytes(&self.shape) * u64::from(self.most_pages)
    }

    fn figures(&self) -> Vec<Figure> {
        [self.cached.into(), self.held.into(), self.conversions].map(Figure::Count).to_vec()
    }

    fn reset_report(&mut self) {
        self.conversions = 0;
    }

    /// Checks every list and count against the map and a recount.
    fn check(&self, map: &[Ppn]) -> Result<(), Violation> {
        let mut held = 0;
        for area in 0..=self.shape.blocks() {
            for lpn in self.entries.iter(area as usize) {
                held += 1;
                if map.get(lpn as usize).is_none_or(|&page| self.area(page) != area) {
                    return Err(violation!("update table: logical page {lpn} is not in the block that lists it"));
                }
            }
            let is_empty = self.entries.is_empty(area as usize);
            if self.areas.contains(area) == is_empty || self.entered_before[area as usize] > self.entered {
                return Err(violation!("update table: block {area} is not in the areas as its entries say"));
            }
        }
        if let Some(lpn) = (0..self.shape.entries()).find(|&lpn| self.is_dirty.get(lpn) && !self.entries.contains(lpn))
        {
            return Err(violation!("update table: the entry of logical page {lpn} is newer than flash, and not held"));
        }
        let cached = self.recency.iter(0).count() as u32;
        if (held, cached) != (self.held, self.cached) || held > self.capacity || cached > self.most_pages {
            return Err(violation!(
                "update table: {held} entries and {cached} map pages, but {} and {} counted, of {} and {}",
                self.held,
                self.cached,
                self.capacity,
                self.most_pages
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
