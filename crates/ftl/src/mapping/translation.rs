//! A map on flash: translation pages, the directory that finds them, and a cache of the entries in use.
//!
//! ```text
//! translate lpn:  entry cached: a hit. Else a miss: a full cache evicts a victim, whose translation page is written
//!                 back if the victim is dirty; then the translation page of lpn is read from where the global
//!                 translation directory says
//! write-back:     read the translation page, unless it was never written or all its entries are cached; change it;
//!                 program it to a new place; its dirty entries become clean (batched)
//! collection      of a data page:  entry cached: change it there, dirty (lazy copying)
//!                                  else note its translation page, once. When the victim is erased, all noted pages
//!                                  become due, so that entries moved together share a write-back (batch update)
//!                 of a translation page:  only the directory changes
//! due pages:      one write-back for each page written, read or trimmed and for each idle step; more once more are due
//!                 than a row of blocks, one on each plane, has pages: a large collection's write-backs are spread
//! ```
//!
//! This is the algorithm of DFTL (Gupta, Kim and Urgaonkar, ASPLOS 2009) with any cache: a [`MapCache`] decides which
//! entries are in memory and which are evicted. `PageLevel` (`cached.rs`) is the mapping on top.
//!
//! A request, and the read of the old copy for a partial write, start after the read of their translation page, which
//! has the priority of a host read. A hit while that read is in flight waits for it too (`translation/loads.rs`); a
//! miss of another entry reads the same page again. If the read fails, requests for the entry read again until one
//! succeeds or the entry changes: a write knows its new value. The victim's write-back is emitted before that read, but
//! the read does not wait for it unless both are of the same translation page. Whether a page was ever written is known
//! without a lookup.
//!
//! Translation pages are stored in the page store under addresses above the host's. They have a lane of their own on
//! every plane, taken in turn, so a block holds either data or translation pages. The collection policy chooses among
//! both kinds of block. With `ftl.gc_pace = "deadline"` it chooses among data blocks only, and blocks of translation
//! pages have their own collection (`page_store/map_block.rs`). A page of `p` bytes holds `p / 4` entries.
//!
//! With mapping units (`crate::mapping_unit`) entries are of units, and a translation page is a unit, too: a miss reads
//! the page of the array that the entry is on, a write-back reads and programs all of them. Statistics count pages of
//! the array.
//!
//! Why there is always enough space: translation pages count among the pages that must fit beside the spare blocks
//! (`profile`). A collection copies pages within its plane and erases its victim before any write-back that it causes,
//! so it needs no more than the store keeps for it. Due write-backs can cause collections, which cause write-backs in
//! turn. This ends, because no write-back kills a data page, every collection of a data block uses up dead pages, and
//! the collection of a translation block causes no write-back. A cache of one entry is enough: room is made before an
//! entry is read.
//!
//! O(1) a translation and a moved page, without the cache. Memory: 8 bytes a translation page, as the directory is part
//! of the store's map; 4 bytes a frame of the cache; 4 bytes a host page in a verified run, for the contents of
//! translation pages.

mod cache;
mod entry_bits;
mod loads;
mod shape;

use std::collections::VecDeque;

use flashloom_nand::{BlockId, Data, Lpn, Nand, OpId, Origin, PlaneId, Ppn, Program, Read, Status};
use flashloom_units::{Best, Figure, Refusal, Statistic, Unit, Violation, violation};
use serde::{Deserialize, Serialize};

use super::map::Map;
use super::page_store::{CollectionListener, Own, PageStore};
use crate::Space;
use crate::allocation::{AllocationSetup, PagePlace, stripe_of_superpages};
use crate::lane::Lane;
use crate::mapping_unit::MOST_PAGES;
use crate::report::ADDRESS_BYTES;
use crate::setup::Context;
pub use cache::{MapCache, WriteBack};
pub(super) use entry_bits::EntryBits;
pub use loads::Frame;
pub(super) use loads::Loads;
pub use shape::{MapShape, TranslationPage};

/// Statistics of a map on flash. The statistics of a mapping with its own cache ([`policy`](super::cached::policy))
/// begin with these.
pub const STATISTICS: &[Statistic] = &[
    Statistic::count("map_hits", "Translations found in the cache of the map."),
    Statistic::count("map_misses", "Translations that had to be read from flash."),
    Statistic::new("map_hit_ratio", Unit::Ratio, "Hit ratio of the map: hits as a share of all translations.")
        .best(Best::Highest)
        .as_column("map hits"),
    Statistic::count("map_reads", "Translation pages read from flash.").in_summary("translation pages read"),
    Statistic::count("map_writes", "Translation pages written to flash.").in_summary("translation pages written"),
];

/// Counters of a map on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MapReport {
    /// Translations whose entry was cached.
    pub(super) hits: u64,
    /// Translations whose entry had to be read from flash.
    pub(super) misses: u64,
    /// Translation pages read.
    pub(super) reads: u64,
    /// Translation pages written.
    pub(super) writes: u64,
}

impl MapReport {
    /// The values of [`STATISTICS`], and then those of a cache.
    pub(super) fn figures(self, of_cache: impl IntoIterator<Item = Figure>) -> Vec<Figure> {
        let [hits, misses, reads, writes] = [self.hits, self.misses, self.reads, self.writes].map(Figure::Count);
        [hits, misses, hit_ratio(self.hits, self.misses), reads, writes].into_iter().chain(of_cache).collect()
    }
}

/// Hits as a share of all lookups; absent if there was none.
pub(super) fn hit_ratio(hits: u64, misses: u64) -> Figure {
    let lookups = hits + misses;
    Figure::Ratio((lookups > 0).then(|| hits as f64 / lookups as f64))
}

/// A map on flash with a part of its entries cached.
pub struct Translation<C> {
    pub(super) cache: C,
    loads: Loads,
    shape: MapShape,
    /// For each translation page, whether flash holds outdated entries of it that are not cached: it is in `noted` or
    /// `due`.
    is_noted: Vec<bool>,
    /// Translation pages noted by the collection under way on each plane.
    noted: Vec<Vec<TranslationPage>>,
    /// Translation pages noted by collections that have ended; to be written back.
    due: VecDeque<TranslationPage>,
    /// Number of due write-backs above which more than one is taken at a time.
    due_a_share: usize,
    /// Contents of the translation pages; kept only on an array that is checked from the start, as in a verified run.
    stored: Option<Vec<Ppn>>,
    /// Planes in the order in which translation pages are placed, and the next one.
    stripe: Vec<PlaneId>,
    next: usize,
    /// Whether the last translation read its translation page, which has every entry exactly.
    has_missed: bool,
    pub(super) report: MapReport,
}

flashloom_units::state! {
    for<C: MapCache> Translation<C> {
        nested cache, loads, is_noted;
        array noted;
        value due;
        nested stored;
        below next [stripe.len()];
        value report;
        fixed shape, due_a_share, stripe, has_missed;
    }
}

impl<C: MapCache> CollectionListener for Translation<C> {
    fn begins(&mut self, _nand: &mut Nand, store: &PageStore, victim: BlockId) {
        let entries = self.shape.entries();
        self.cache.collecting(store.valid_pages(victim).filter(|lpn| lpn.0 < entries));
    }

    fn moved(&mut self, plane: PlaneId, lpn: Lpn, map: &[Ppn]) {
        // Translation pages themselves are found through the directory, which is in memory.
        if lpn.0 >= self.shape.entries() || self.change(lpn, map) {
            return;
        }
        let page = self.shape.page_of(lpn);
        if !std::mem::replace(&mut self.is_noted[page.at()], true) {
            self.noted[plane.at()].push(page);
        }
    }

    fn ended(&mut self, plane: PlaneId) {
        self.due.extend(self.noted[plane.at()].drain(..));
    }
}

impl<C: MapCache> Map for Translation<C> {
    type Params = C::Params;

    const STATISTICS: &'static [Statistic] = STATISTICS;
    const IS_IN_MEMORY: bool = false;
    const CHANGES_UNSEEN: bool = C::CHANGES_UNSEEN;

    fn suits(params: &C::Params, space: &Space) -> Result<(), Refusal> {
        C::suits(params, MapShape::of(space))
    }

    fn own(space: &Space) -> Own {
        MapShape::of(space).own()
    }

    /// Builds the map of an empty drive on a store that reserves its space ([`MapShape::own`]).
    fn new(params: C::Params, on: &Context<'_>, store: &PageStore) -> Self {
        let Context { space, ftl, nand } = *on;
        let geometry = store.geometry();
        let shape = MapShape::of(space).with_blocks(geometry.total_blocks() as u32, geometry.pages);
        let AllocationSetup { superpage, .. } = AllocationSetup::new(space, &ftl.params);
        let (pages, planes) = (shape.translation_pages() as usize, geometry.total_planes() as usize);
        let cache = C::new(params, shape);
        Self {
            loads: Loads::new(cache.frames()),
            cache,
            shape,
            is_noted: vec![false; pages],
            noted: vec![Vec::with_capacity(geometry.pages as usize); planes],
            due: VecDeque::with_capacity(pages),
            due_a_share: geometry.pages as usize * planes,
            stored: nand.is_watched().then(|| vec![Ppn::NONE; shape.entries() as usize]),
            stripe: stripe_of_superpages(geometry, superpage, ftl.params.stripe_order),
            next: 0,
            has_missed: false,
            report: MapReport::default(),
        }
    }

    fn prepare(&self, lpn: Lpn) {
        self.cache.prepare(lpn);
    }

    /// Brings the entry of a page into the cache. Returns the read of its translation page until that has ended: all
    /// users of the entry wait for it.
    fn translate(&mut self, store: &mut PageStore, nand: &mut Nand, lpn: Lpn) -> OpId {
        self.loads.follow(nand);
        let cached = self.cache.touch(lpn);
        self.has_missed = false;
        if let Some(awaited) = cached.and_then(|frame| self.loads.awaited(frame, nand)) {
            self.report.hits += 1;
            return awaited;
        }
        self.report.misses += 1;
        self.has_missed = true;
        // A frame whose read has failed is read again in its place.
        let frame = cached.unwrap_or_else(|| {
            while let Some(victim) = self.cache.make_room(lpn, store.map()) {
                self.write_back(store, nand, victim);
            }
            self.cache.insert(lpn, store.map())
        });
        let page = self.shape.page_of(lpn);
        let entries_a_place = self.shape.entries_a_page() / store.unit_pages();
        let read = self.read(store, nand, page, (lpn.0 - self.shape.places_of(page).start) / entries_a_place);
        self.loads.begin(frame, read, nand);
        read
    }

    fn locate(&mut self, store: &PageStore, nand: &mut Nand, lpn: Lpn, after: OpId) -> OpId {
        let page = store.array_ppn(lpn);
        if page.is_none() || self.has_missed || !self.cache.mispredicts(lpn, store.map()) {
            return after;
        }
        // A page nearby, whose read takes as long as that of this one.
        nand.read(Read { after, ..Read::new(page, nand.geometry().full_mask(), Origin::Map) })
    }

    fn changed(&mut self, store: &PageStore, lpn: Lpn) {
        self.change(lpn, store.map());
    }

    fn rest(&mut self, nand: &mut Nand) {
        self.loads.rest(nand);
    }

    /// Takes a share of the due write-backs. Spreading them lets more pages of a translation page be moved meanwhile,
    /// which the same write-back then covers.
    fn write_back_due(&mut self, store: &mut PageStore, nand: &mut Nand) {
        let mut share = self.due.len().div_ceil(self.due_a_share);
        while share > 0
            && let Some(page) = self.due.pop_front()
        {
            // It may have been written back for another reason already.
            if self.is_noted[page.at()] {
                self.write_back(store, nand, WriteBack { page, whole: self.cache.whole(page) });
                share -= 1;
            }
        }
        while let Some(victim) = self.cache.overflow() {
            self.write_back(store, nand, victim);
        }
    }

    fn figures(&self) -> Vec<Figure> {
        self.report.figures(self.cache.figures())
    }

    fn writes(&self) -> u64 {
        self.report.writes
    }

    fn unwritten_pages(&self) -> u64 {
        let pages = (0..self.shape.translation_pages()).map(TranslationPage);
        pages.filter(|&page| self.cache.has_dirty(page)).count() as u64
    }

    fn memory_bytes(&self, _store: &PageStore) -> u64 {
        let directory = ADDRESS_BYTES * u64::from(self.shape.translation_pages());
        directory + self.cache.memory_bytes()
    }

    fn reset_report(&mut self) {
        self.report = MapReport::default();
        self.cache.reset_report();
    }

    /// Checks a loaded state: every noted page is a translation page and is due for write-back.
    fn check_loaded(&self, store: &PageStore) -> Result<(), Violation> {
        let pages = self.is_noted.len();
        let mut is_due = vec![false; pages];
        for page in self.noted.iter().flatten().chain(&self.due) {
            let Some(due) = is_due.get_mut(page.at()) else {
                return Err(violation!("map on flash: translation page {} is due, of {pages}", page.0));
            };
            *due = true;
        }
        let is_lost = |(is_noted, is_due): (&bool, &bool)| *is_noted && !is_due;
        if !store.is_worn_out() && self.is_noted.iter().zip(&is_due).any(is_lost) {
            return Err(Violation::new("map on flash: a translation page is noted, and not due"));
        }
        self.check(store)
    }

    /// Checks the cache. In a verified run also checks that each entry equals the one in its translation page, unless
    /// it is cached and dirty or its page is noted.
    fn check(&self, store: &PageStore) -> Result<(), Violation> {
        self.cache.check(store.map())?;
        for (lpn, &held) in (0..).map(Lpn).zip(self.stored.iter().flatten()) {
            let is_noted = self.is_noted[self.shape.page_of(lpn).at()];
            if !is_noted && held != store.ppn(lpn) && !self.cache.is_dirty(lpn) {
                return Err(violation!("map on flash: the mapping of logical page {} is lost", lpn.0));
            }
        }
        Ok(())
    }
}

impl<C: MapCache> Translation<C> {
    /// The address of a translation page in the store: the directory is the end of the store's map.
    pub(super) fn lpn(&self, page: TranslationPage) -> Lpn {
        Lpn(self.shape.entries() + page.0)
    }

    /// Changes the entry of a page in the cache; false if it is not cached.
    fn change(&mut self, lpn: Lpn, map: &[Ppn]) -> bool {
        let frame = self.cache.mark_dirty(lpn, map);
        if !C::ENTRIES_SHARE_FRAMES {
            frame.iter().for_each(|&frame| self.loads.changed(frame));
        }
        frame.is_some()
    }

    /// Reads the page of the array with the entry at `place` of a translation page, which is a whole mapping unit.
    fn read(&mut self, store: &PageStore, nand: &mut Nand, page: TranslationPage, place: u32) -> OpId {
        let ppn = store.array_place(store.ppn(self.lpn(page)), place);
        if ppn.is_none() {
            return OpId::DONE;
        }
        self.report.reads += 1;
        let mask = nand.geometry().full_mask();
        nand.read(Read::new(ppn, mask, Origin::Map))
    }

    /// Programs a translation page with the current values of its entries. On a worn-out drive nothing can be
    /// programmed, and the entries stay in memory.
    fn write_back(&mut self, store: &mut PageStore, nand: &mut Nand, WriteBack { page, whole }: WriteBack) {
        let place = PagePlace { plane: self.stripe[self.next], lane: Lane::MAP };
        self.next = (self.next + 1) % self.stripe.len();
        let mut reserved = store.on(nand, self).reserve_for_map(place.plane);
        // Looked up only now: the collection that made room may have moved this page, or pages whose entries it holds.
        // A frame is whole once its own read has ended, and only if that did not fail.
        self.loads.follow(nand);
        let loaded = whole.and_then(|frame| self.loads.awaited(frame, nand));
        let is_read = reserved.is_some() && loaded.is_none();
        if let Some(reserved) = reserved.filter(|_| store.unit_pages() > 1) {
            return self.write_back_unit(store, nand, page, (reserved, loaded));
        }
        let mut after = if is_read { self.read(store, nand, page, 0) } else { loaded.unwrap_or(OpId::DONE) };
        while let Some((block, index)) = reserved {
            let base = if is_read { store.array_ppn(self.lpn(page)) } else { Ppn::NONE };
            let program =
                Program { after, ..Program::new(block, index, Data::Map { page: page.0, base }, Origin::Map) };
            match store.program(nand, program) {
                Status::Passed => return self.written(store, page, (block, index)),
                Status::Failed(failed) => after = failed,
            }
            reserved = store.on(nand, self).reserve_again(place, block);
        }
        self.is_noted[page.at()] = true;
    }

    /// Programs all pages of a translation page that is a mapping unit. What is not `loaded` is read first.
    fn write_back_unit(
        &mut self,
        store: &mut PageStore,
        nand: &mut Nand,
        page: TranslationPage,
        (reserved, loaded): ((BlockId, u32), Option<OpId>),
    ) {
        let old = store.ppn(self.lpn(page));
        let mut reads = [OpId::DONE; MOST_PAGES as usize];
        let reads = &mut reads[..store.unit_pages() as usize];
        for (place, read) in (0..).zip(&mut *reads) {
            *read = loaded.unwrap_or_else(|| self.read(store, nand, page, place));
        }
        for (place, &after) in (0..).zip(&*reads) {
            let base = if loaded.is_none() { store.array_place(old, place) } else { Ppn::NONE };
            let data = Data::Map { page: page.0 * store.unit_pages() + place, base };
            let program = Program::new(reserved.0, reserved.1, data, Origin::Map);
            store.program_place(nand, reserved, place, Program { after, ..program });
        }
        self.report.writes += u64::from(store.unit_pages() - 1);
        self.written(store, page, reserved);
    }

    /// Records that a translation page was programmed with the current values of its entries.
    fn written(&mut self, store: &mut PageStore, page: TranslationPage, (block, index): (BlockId, u32)) {
        store.bind(self.lpn(page), block, index);
        self.report.writes += 1;
        self.cache.clean(page);
        self.is_noted[page.at()] = false;
        if let Some(stored) = &mut self.stored {
            let entries = self.shape.entries_a_page() as usize;
            let first = page.at() * entries;
            let range = first..(first + entries).min(stored.len());
            stored[range.clone()].copy_from_slice(store.ppns(range));
        }
    }
}
