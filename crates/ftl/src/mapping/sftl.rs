//! S-FTL: a page-level map on flash with a cache of whole translation pages, each as small as its mapping is sequential
//! (Jiang, Zhang, Yuan, Hu and Chen, "S-FTL: An Efficient Address Translation for Flash Memory by Exploiting Spatial
//! Locality", MSST 2011).
//!
//! ```text
//! sequential writes  a cached page is kept as its runs: a bitmap of one bit an entry marks where a run of consecutive
//!                    physical pages begins, and only the first page of each run is stored
//! clustered access   the cache holds whole translation pages, in an LRU list: a miss loads all neighbours
//! sparse writes      a victim with few dirty entries leaves without a write: they move to the dirty buffer. When that
//!                    is full, the translation page with most entries in it is written back (read, change, program)
//! any other victim   written back without a read if it is dirty, because all its entries are in memory
//! ```
//!
//! The paper could not be read here beyond its abstract and what later papers say of it; these are choices of ours:
//!
//! - A drive of P planes writes consecutive pages to consecutive planes. Physical pages are therefore compared along a
//!   plane: an entry goes on with the run of the entry P before it. With one plane that is the paper's rule.
//! - A condensed page takes `8 + min(entries / 8 + 4 runs, 4 entries)` bytes: a page without runs is kept plain. Its
//!   size follows every change of its entries; what no longer fits is evicted with the next page of the host, or step
//!   of background work.
//! - "Few" is `sparse` entries, and among the pages with most entries in the buffer the one that came first is written.
//!
//! O(1) a hit and a change, O(entries of a translation page) a miss. Memory beyond the store's: two bits a host page
//! and 32 bytes a translation page.

use std::ops::Range;

use flashloom_nand::{Lpn, Ppn};
use flashloom_units::{Capability, Figure, KIB, Kind, Lists, PolicySpec, Refusal, Statistic, Unit};
use flashloom_units::{Value, Violation, params, violation};

use super::translation::{self, EntryBits, Frame, MapCache, MapShape, TranslationPage, WriteBack};
use crate::capability::{PAGE_MAPPING, TRANSLATION_PAGES};

/// Bytes that a cached translation page takes besides its entries: its number and its neighbours in the list.
const HEADER_BYTES: u64 = 8;
/// Bytes of a physical page number.
const STORED_BYTES: u64 = 4;
/// Bytes of an entry in the dirty buffer: a logical and a physical page number.
const BUFFERED_BYTES: u64 = 8;

params! {
    /// Parameters of S-FTL.
    pub struct SftlParams {
        /// Memory for condensed translation pages and the dirty buffer.
        cache_bytes: u64 => "cache", Kind::Size { min: 512, max: 1 << 36 }, Value::Size(512 * KIB),
            "A larger cache reads and writes the map on flash less often.";
        /// Share of the cache for the dirty buffer, 8 bytes an entry.
        dirty_buffer: f64 => "dirty_buffer", Kind::Ratio { min: 0.0, max: 0.9 }, Value::Ratio(0.1),
            "A larger one lets more pages with few changes leave without a write, and holds fewer pages.";
        /// Most dirty entries of a page that leaves by way of the dirty buffer.
        sparse: u32 => "sparse", Kind::Count { min: 1, max: 4_096 }, Value::Count(16),
            "A higher limit puts more writes of the map off, until the buffer is full.";
    }
}

const STATISTICS: &[Statistic] = &Statistic::joined::<{ translation::STATISTICS.len() + 3 }>(&[
    translation::STATISTICS,
    &[
        Statistic::count("cached_pages", "Translation pages in the cache at the end."),
        Statistic::new("cached_bytes", Unit::Bytes, "What these take, condensed; a page map takes 4 bytes a page."),
        Statistic::count("spared_writes", "Dirty translation pages that left by way of the dirty buffer."),
    ],
]);

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "sftl",
    summary: "a page-level map on flash, cached as runs of consecutive pages",
    details: "LRU of condensed translation pages, and a buffer for the dirty entries of pages with few. Takes an \
              allocation (ftl.allocation) and a collection policy (ftl.gc).",
    source: "Jiang et al., MSST 2011",
    example: "ftl.mapping=sftl ftl.sftl.cache=64KiB workload.synthetic.pattern=sequential",
    instead: "Where writes are small and scattered, pages do not condense and every miss loads a whole one: `dftl` \
              then holds more of what is used. For a drive with memory for the whole map use `page`.",
    needs: &[],
    offers: &[PAGE_MAPPING, TRANSLATION_PAGES, Capability::SAVED_STATE],
    params: SftlParams::PARAMS,
    statistics: STATISTICS,
};

/// Condensed translation pages, and the dirty buffer.
///
/// An entry is in the buffer if it is dirty and its page is not cached: a page that comes back takes its entries out.
pub(super) struct CondensedPages {
    shape: MapShape,
    /// Bytes for pages, and entries for the buffer.
    capacity: u64,
    buffer_entries: u32,
    sparse: u32,
    /// The cached pages, least recently used first.
    recency: Lists<u32>,
    /// Where a run begins, of the entries of cached pages, and the number of runs of each.
    begins: EntryBits,
    runs: Vec<u32>,
    /// Bytes of all cached pages.
    bytes: u64,
    is_dirty: EntryBits,
    /// Dirty entries of each translation page, in its cached page or in the buffer.
    dirty: Vec<u32>,
    /// Pages with entries in the buffer, by their number, in the order in which they came.
    buffer: Lists<u32>,
    buffered: u32,
    spared: u64,
}

flashloom_units::state! {
    CondensedPages {
        nested recency, begins, runs;
        value bytes;
        nested is_dirty, dirty, buffer;
        value buffered, spared;
        fixed shape, capacity, buffer_entries, sparse;
    }
}

/// Whether a page goes on with the run of a page: it is the next one, or neither entry has a page.
#[inline(always)]
fn follows(before: Ppn, page: Ppn) -> bool {
    page.0 == before.0.wrapping_add(u32::from(before.is_some()))
}

/// Whether an entry goes on with the run of the entry a stripe before it in its translation page.
fn goes_on(shape: &MapShape, map: &[Ppn], entry: u32) -> bool {
    let planes = shape.planes();
    entry % shape.entries_a_page() >= planes && follows(map[(entry - planes) as usize], map[entry as usize])
}

impl CondensedPages {
    fn with_capacity(shape: MapShape, capacity: u64, buffer_entries: u32, sparse: u32) -> Self {
        let pages = shape.translation_pages();
        let sparse = sparse.min(buffer_entries);
        Self {
            shape,
            capacity,
            buffer_entries,
            sparse,
            recency: Lists::new(pages, 1),
            begins: shape.bits(),
            runs: vec![0; pages as usize],
            bytes: 0,
            is_dirty: shape.bits(),
            dirty: vec![0; pages as usize],
            buffer: Lists::new(pages, sparse + 1),
            buffered: 0,
            spared: 0,
        }
    }

    fn entries_of(&self, page: TranslationPage) -> Range<u32> {
        let first = page.0 * self.shape.entries_a_page();
        first..(first + self.shape.entries_a_page()).min(self.shape.entries())
    }

    fn is_cached(&self, page: TranslationPage) -> bool {
        self.recency.contains(page.0)
    }

    fn is_buffered(&self, lpn: Lpn) -> bool {
        !self.is_cached(self.shape.page_of(lpn)) && self.is_dirty.get(lpn.0)
    }

    /// The frame of the entries of a page that are in the buffer. No read loads it.
    fn buffer_frame(&self, page: TranslationPage) -> Frame {
        Frame(self.shape.translation_pages() + page.0)
    }

    /// Removes the page used least recently until the others take at most so many bytes. Returns what has to be written
    /// first; to be called again then.
    fn shrink_to(&mut self, bytes: u64) -> Option<WriteBack> {
        while self.bytes > bytes
            && let Some(victim) = self.recency.front(0)
        {
            let (page, dirty) = (TranslationPage(victim), self.dirty[victim as usize]);
            let is_sparse = dirty <= self.sparse;
            if dirty > 0 && is_sparse && self.buffered + dirty > self.buffer_entries {
                return Some(self.empty_buffer());
            }
            self.recency.remove(victim);
            self.bytes -= condensed_bytes(&self.shape, self.runs[victim as usize]);
            if dirty > 0 && !is_sparse {
                self.forget_dirty(page);
                return Some(WriteBack { page, whole: Some(Frame(victim)) });
            }
            if dirty > 0 {
                self.buffer.push_back(dirty as usize, victim);
                self.buffered += dirty;
                self.spared += 1;
            }
        }
        None
    }

    /// Takes the entries of one translation page out of the buffer, which holds some.
    fn empty_buffer(&mut self) -> WriteBack {
        let fullest = (1..=self.sparse as usize).rev().find_map(|entries| self.buffer.front(entries));
        let page = TranslationPage(fullest.expect("a buffer without room holds entries"));
        self.leave_buffer(page);
        self.forget_dirty(page);
        WriteBack { page, whole: None }
    }

    fn leave_buffer(&mut self, page: TranslationPage) {
        if self.buffer.contains(page.0) {
            self.buffer.remove(page.0);
            self.buffered -= self.dirty[page.at()];
        }
    }

    fn forget_dirty(&mut self, page: TranslationPage) {
        self.dirty[page.at()] = 0;
        self.is_dirty.of(self.shape.places_of(page)).fill(0);
    }

    /// Looks again whether a run begins at an entry of a cached page.
    fn look_again(&mut self, page: TranslationPage, entry: u32, map: &[Ppn]) {
        let begins = !goes_on(&self.shape, map, entry);
        let began = self.begins.replace(entry, begins);
        let runs = &mut self.runs[page.at()];
        self.bytes -= condensed_bytes(&self.shape, *runs);
        *runs = *runs + u32::from(begins) - u32::from(began);
        self.bytes += condensed_bytes(&self.shape, *runs);
    }
}

/// Bytes of a translation page without runs.
fn plain_bytes(shape: &MapShape) -> u64 {
    HEADER_BYTES + STORED_BYTES * u64::from(shape.entries_a_page())
}

/// Bytes of a translation page of so many runs.
fn condensed_bytes(shape: &MapShape, runs: u32) -> u64 {
    let condensed = u64::from(shape.entries_a_page()) / 8 + STORED_BYTES * u64::from(runs);
    plain_bytes(shape).min(HEADER_BYTES + condensed)
}

/// Bytes for pages, and entries of the dirty buffer.
fn shares(params: &SftlParams) -> (u64, u32) {
    let entries = params.cache_bytes as f64 * params.dirty_buffer / BUFFERED_BYTES as f64;
    let entries = entries.min(f64::from(u32::MAX)) as u32;
    (params.cache_bytes - u64::from(entries) * BUFFERED_BYTES, entries)
}

impl MapCache for CondensedPages {
    type Params = SftlParams;

    const ENTRIES_SHARE_FRAMES: bool = true;

    fn suits(params: &SftlParams, shape: MapShape) -> Result<(), Refusal> {
        let ((pages, _), plain) = (shares(params), plain_bytes(&shape));
        if pages >= plain {
            return Ok(());
        }
        let found = format!(
            "{pages} bytes for translation pages: `ftl.sftl.cache` = {} less `ftl.sftl.dirty_buffer` = {}",
            params.cache_bytes, params.dirty_buffer
        );
        let refusal = Refusal::new(found, format!("room for a translation page without runs, {plain} bytes"));
        let refusal = refusal.at(["ftl.sftl.cache", "ftl.sftl.dirty_buffer", "device.page_size", "device.preset"]);
        Err(refusal.help("raise ftl.sftl.cache, or lower ftl.sftl.dirty_buffer"))
    }

    fn new(params: SftlParams, shape: MapShape) -> Self {
        let (pages, entries) = shares(&params);
        Self::with_capacity(shape, pages, entries, params.sparse)
    }

    fn frames(&self) -> u32 {
        2 * self.shape.translation_pages()
    }

    fn touch(&mut self, lpn: Lpn) -> Option<Frame> {
        let page = self.shape.page_of(lpn);
        if !self.is_cached(page) {
            return self.is_buffered(lpn).then(|| self.buffer_frame(page));
        }
        self.recency.remove(page.0);
        self.recency.push_back(0, page.0);
        Some(Frame(page.0))
    }

    fn make_room(&mut self, lpn: Lpn, map: &[Ppn]) -> Option<WriteBack> {
        let Range { start, end } = self.entries_of(self.shape.page_of(lpn));
        let (own, planes) = (&map[start as usize..end as usize], self.shape.planes() as usize);
        // Every miss counts: by pairs, of which the processor takes many at a time.
        let pairs = own.iter().zip(own.iter().skip(planes));
        let begun: u32 = pairs.map(|(&before, &page)| u32::from(!follows(before, page))).sum();
        let runs = own.len().min(planes) as u32 + begun;
        self.shrink_to(self.capacity - condensed_bytes(&self.shape, runs))
    }

    fn insert(&mut self, lpn: Lpn, map: &[Ppn]) -> Frame {
        let page = self.shape.page_of(lpn);
        self.leave_buffer(page);
        self.begins.of(self.shape.places_of(page)).fill(0);
        self.runs[page.at()] = 0;
        let (entries, planes) = (self.entries_of(page), self.shape.planes());
        for entry in entries.clone() {
            let is_first = entry - entries.start < planes;
            if is_first || !follows(map[(entry - planes) as usize], map[entry as usize]) {
                self.begins.replace(entry, true);
                self.runs[page.at()] += 1;
            }
        }
        self.bytes += condensed_bytes(&self.shape, self.runs[page.at()]);
        self.recency.push_back(0, page.0);
        Frame(page.0)
    }

    fn mark_dirty(&mut self, lpn: Lpn, map: &[Ppn]) -> Option<Frame> {
        let page = self.shape.page_of(lpn);
        if !self.is_cached(page) {
            return self.is_buffered(lpn).then(|| self.buffer_frame(page));
        }
        self.dirty[page.at()] += u32::from(!self.is_dirty.replace(lpn.0, true));
        let following = lpn.0 + self.shape.planes();
        self.look_again(page, lpn.0, map);
        if self.entries_of(page).contains(&following) {
            self.look_again(page, following, map);
        }
        Some(Frame(page.0))
    }

    fn whole(&self, page: TranslationPage) -> Option<Frame> {
        self.is_cached(page).then_some(Frame(page.0))
    }

    fn overflow(&mut self) -> Option<WriteBack> {
        self.shrink_to(self.capacity)
    }

    fn is_dirty(&self, lpn: Lpn) -> bool {
        self.is_dirty.get(lpn.0)
    }

    fn has_dirty(&self, page: TranslationPage) -> bool {
        self.dirty[page.at()] > 0
    }

    fn clean(&mut self, page: TranslationPage) {
        self.leave_buffer(page);
        self.forget_dirty(page);
    }

    fn memory_bytes(&self) -> u64 {
        let all = plain_bytes(&self.shape) * u64::from(self.shape.translation_pages());
        self.capacity.min(all) + BUFFERED_BYTES * u64::from(self.buffer_entries)
    }

    fn figures(&self) -> Vec<Figure> {
        let cached = self.recency.iter(0).count() as u64;
        vec![Figure::Count(cached), Figure::Bytes(self.bytes), Figure::Count(self.spared)]
    }

    fn reset_report(&mut self) {
        self.spared = 0;
    }

    /// Checks every count against a recount, and every cached page against the map.
    fn check(&self, map: &[Ppn]) -> Result<(), Violation> {
        let (mut bytes, mut buffered) = (0, 0);
        for page in (0..self.shape.translation_pages()).map(TranslationPage) {
            let dirty = self.entries_of(page).filter(|&entry| self.is_dirty.get(entry)).count() as u32;
            let list = if self.is_cached(page) { None } else { Some(dirty).filter(|&dirty| dirty > 0) };
            let is_listed = |dirty: u32| self.buffer.iter(dirty as usize).any(|other| other == page.0);
            let is_buffered = list.is_none_or(|dirty| dirty <= self.sparse && is_listed(dirty));
            if dirty != self.dirty[page.at()] || self.buffer.contains(page.0) != list.is_some() || !is_buffered {
                return Err(violation!("map cache: translation page {} has not the dirty entries counted", page.0));
            }
            buffered += list.unwrap_or(0);
            if self.is_cached(page) {
                let begins = |entry: &u32| !goes_on(&self.shape, map, *entry);
                let runs = self.entries_of(page).filter(begins).count() as u32;
                let is_marked = |entry: u32| self.begins.get(entry) == begins(&entry);
                if runs != self.runs[page.at()] || !self.entries_of(page).all(is_marked) {
                    return Err(violation!("map cache: translation page {} has not {runs} runs", page.0));
                }
                bytes += condensed_bytes(&self.shape, runs);
            }
        }
        if (bytes, buffered) != (self.bytes, self.buffered) {
            let (counted, entries) = (self.bytes, self.buffered);
            return Err(violation!(
                "map cache: {bytes} bytes and {buffered} entries in the buffer, but {counted} and {entries} counted"
            ));
        }
        if bytes > self.capacity || buffered > self.buffer_entries {
            let (most, entries) = (self.capacity, self.buffer_entries);
            return Err(violation!(
                "map cache: {bytes} bytes where there are {most}, {buffered} entries in a buffer of {entries}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
