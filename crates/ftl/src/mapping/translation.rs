//! A map on flash: translation pages, the directory that finds them, and a cache of the entries in use.
//!
//! ```text
//! translate lpn:  entry in the cache: a hit
//!                 else a miss: if the cache is full, its victim leaves, and if it is dirty its translation page is
//!                 written back; then the translation page of lpn is read, from where the global translation
//!                 directory says
//! write-back:     read the translation page, unless it was never written or all of its entries are in memory; change
//!                 it, program it elsewhere; its dirty entries are clean (batched)
//! collection:     of a data page:  entry in the cache: changed there, dirty (lazy copying)
//!                                  else its translation page is noted, once; when the victim is erased, every page
//!                                  noted is due, so that pages that moved together share a write (batch update)
//!                 of a translation page: only the directory changes
//! due:            a write-back for each page that is written, read or trimmed and for each idle step, more where more
//!                 is due than a block of every plane has pages: so those of a large collection are spread
//! ```
//!
//! The algorithm of DFTL (Gupta, Kim and Urgaonkar, ASPLOS 2009), whatever the cache: which entries are in memory and
//! which leave is the [`MapCache`]'s. `PageLevel` (`cached.rs`) is a mapping on it.
//!
//! A request, and what a partial write reads beneath, starts after the read of its translation page. The array does
//! these reads with the priority of host reads. The victim's write-back is emitted before that read, which does not
//! wait for it unless both are of one translation page. A page that was never written is known without looking.
//!
//! Translation pages are pages of the store's own, numbered above the host's, in a lane of their own on every plane in
//! turn, so that a victim holds data or translations and never both. The collection policy chooses among both kinds;
//! with `ftl.gc_pace = "deadline"` among data only, and blocks of translation pages look after themselves
//! (`page_store/map_block.rs`). A page of `p` bytes holds `p / 4` entries.
//!
//! Why space suffices. Translation pages count among the pages that must fit beside the spare blocks (`profile`). A
//! collection copies pages within its plane and erases before any write-back that it causes, so it never needs more
//! than the store keeps for it. Write-backs that are due can cause collections, which cause write-backs; but none of
//! this kills a data page, every collection of a data block uses up dead ones, and that of a translation block causes
//! nothing: so it ends. A cache of one entry is enough: room for an entry is made before it is read.
//!
//! O(1) a translation and a page moved, besides the cache. Memory: 8 bytes a translation page, the directory being part
//! of the store's map; 4 bytes a page of the host in a verified run, for what translation pages hold.

use std::collections::VecDeque;

use flashloom_nand::{BlockId, Data, Lpn, Nand, OpId, Origin, PlaneId, Ppn, Program, Read, Status};
use flashloom_units::{Divisor, Figure, Refusal, State, Statistic, Unit, Value, Violation, violation};
use serde::{Deserialize, Serialize};

use super::map::Map;
use super::page_store::{CollectionListener, Own, PageStore};
use crate::Space;
use crate::allocation::{PagePlace, stripe_of_superpages};
use crate::lane::{DeclaredLane, Lane};
use crate::setup::Context;
use crate::superblock::superpage;

/// Bytes of an entry in a translation page: a physical page number; its place says for which logical page.
const STORED_ENTRY_BYTES: u64 = 4;

/// Statistics of a map on flash: those of a mapping with a cache of its own ([`policy`](super::cached::policy)) begin
/// with them.
pub const STATISTICS: &[Statistic] = &[
    Statistic::count("map_hits", "Translations found in the cache of the map."),
    Statistic::count("map_misses", "Translations that had to be read from flash."),
    Statistic::new("map_hit_ratio", Unit::Ratio, "Hit ratio of the map: hits as a share of all translations."),
    Statistic::count("map_reads", "Translation pages read from flash."),
    Statistic::count("map_writes", "Translation pages written to flash."),
];

/// Counters of a map on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MapReport {
    /// Translations found in memory.
    pub(super) hits: u64,
    /// Translations that had to be fetched.
    pub(super) misses: u64,
    /// Translation pages read.
    pub(super) reads: u64,
    /// Translation pages written.
    pub(super) writes: u64,
}

/// A page of the map, by its number from the first entry on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranslationPage(pub u32);

impl TranslationPage {
    /// The number as an index of a table by translation page.
    #[inline(always)]
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

/// The size of a map.
#[derive(Clone, Copy, Debug)]
pub struct MapShape {
    entries: u32,
    by_entries: Divisor,
}

impl MapShape {
    /// A map of `entries` entries, `entries_a_page` of them on each translation page.
    pub const fn new(entries: u32, entries_a_page: u32) -> Self {
        Self { entries, by_entries: Divisor::new(entries_a_page) }
    }

    /// The map of a drive.
    pub fn of(space: &Space) -> Self {
        Self::new(space.logical_pages as u32, (space.nand.page_bytes / STORED_ENTRY_BYTES) as u32)
    }

    /// Entries: the pages of the host.
    pub const fn entries(&self) -> u32 {
        self.entries
    }

    /// Entries of a translation page.
    pub const fn entries_a_page(&self) -> u32 {
        self.by_entries.get()
    }

    /// Translation pages of the map.
    pub const fn translation_pages(&self) -> u32 {
        self.entries.div_ceil(self.entries_a_page())
    }

    /// What the map keeps in the store.
    pub fn own(&self) -> Own {
        const LANES: &[DeclaredLane] = &[DeclaredLane::written(Lane::MAP).surviving_in(Lane::MAP).of_map()];
        Own { pages: u64::from(self.translation_pages()), lanes: LANES }
    }

    /// The translation page of an entry.
    #[inline(always)]
    pub fn page_of(&self, lpn: Lpn) -> TranslationPage {
        TranslationPage(self.by_entries.quotient(lpn.0))
    }
}

/// A translation page that has to be written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBack {
    /// Which page.
    pub page: TranslationPage,
    /// Whether all of its entries are in memory, so that it is not read before it is changed.
    pub is_whole: bool,
}

/// The cache of a map on flash: which entries are in memory, which of them are dirty, and which leave. It holds no
/// mappings: those are the store's.
pub trait MapCache: State + Send + Sized + 'static {
    /// Refuses what of the parameters cannot work on a drive.
    ///
    /// # Errors
    /// What was found, what would do, and the keys that decide it.
    fn suits(_values: &[Value], _shape: MapShape) -> Result<(), Refusal> {
        Ok(())
    }

    /// An empty cache with the parameters of its mapping.
    fn new(values: &[Value], shape: MapShape) -> Self;

    /// A hint that the entry of a page is about to be looked up: its tables can be fetched into the processor's cache.
    fn prepare(&self, _lpn: Lpn) {}

    /// Looks up the entry of a page and counts the reference: whether it is in the cache.
    fn touch(&mut self, lpn: Lpn) -> bool;

    /// Evicts a victim if there is no room for another entry. Returns its translation page if the victim was dirty: it
    /// is written back, with all of its entries that are dirty in the cache.
    fn make_room(&mut self) -> Option<WriteBack>;

    /// Takes in the entry of a page, clean, in the room that was made.
    fn insert(&mut self, lpn: Lpn);

    /// Marks the entry of a page as changed; false if it is not in the cache.
    fn mark_dirty(&mut self, lpn: Lpn) -> bool;

    /// Whether the entry of a page is in the cache and newer than its translation page.
    fn is_dirty(&self, lpn: Lpn) -> bool;

    /// Marks the entries of a translation page as clean: it was written back.
    fn clean(&mut self, page: TranslationPage);

    /// Pages of the host that a collection is about to move: their entries will change.
    fn collecting(&mut self, _lpns: impl Iterator<Item = Lpn>) {}

    /// What the cache itself counts: the values of its mapping's statistics behind [`STATISTICS`].
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Starts what it counts again at zero, after preconditioning.
    fn reset_report(&mut self) {}

    /// Checks the cache's own accounts, in checked runs.
    fn check(&self) -> Result<(), Violation>;
}

/// A map on flash, of which part is in memory.
pub struct Translation<C> {
    pub(super) cache: C,
    shape: MapShape,
    /// Translation pages with entries that are neither cached nor stored: noted, in `noted` or `due`.
    is_noted: Vec<bool>,
    /// Noted within the job of each plane.
    noted: Vec<Vec<TranslationPage>>,
    /// Noted by jobs that have ended.
    due: VecDeque<TranslationPage>,
    /// Write-backs that are due from which on more than one is done at a time.
    due_a_share: usize,
    /// What the translation pages hold, on an array that is watched from the start, as that of a verified run is.
    stored: Option<Vec<Ppn>>,
    /// Planes in the order in which translation pages are placed, and whose turn it is.
    stripe: Vec<PlaneId>,
    next: usize,
    pub(super) report: MapReport,
}

flashloom_units::state! {
    for<C: MapCache> Translation<C> {
        nested cache, is_noted;
        array noted;
        value due;
        nested stored;
        below next [stripe.len()];
        value report;
        fixed shape, due_a_share, stripe;
    }
}

impl<C: MapCache> CollectionListener for Translation<C> {
    fn begins(&mut self, _nand: &mut Nand, store: &PageStore, victim: BlockId) {
        let entries = self.shape.entries;
        self.cache.collecting(store.valid_pages(victim).filter(|lpn| lpn.0 < entries));
    }

    fn moved(&mut self, plane: PlaneId, lpn: Lpn) {
        // A translation page is found through the directory, which is in memory.
        if lpn.0 >= self.shape.entries || self.cache.mark_dirty(lpn) {
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
    const STATISTICS: &'static [Statistic] = STATISTICS;

    fn suits(values: &[Value], space: &Space) -> Result<(), Refusal> {
        C::suits(values, MapShape::of(space))
    }

    fn own(space: &Space) -> Own {
        MapShape::of(space).own()
    }

    /// The map of an empty drive on a store that has what the map keeps there ([`MapShape::own`]).
    fn new(values: &[Value], on: &Context<'_>, store: &PageStore) -> Self {
        let Context { space, ftl, nand } = *on;
        let (shape, geometry) = (MapShape::of(space), store.geometry());
        let superpage = superpage(nand.geometry(), ftl.params.superblock);
        let (pages, planes) = (shape.translation_pages() as usize, geometry.total_planes() as usize);
        Self {
            cache: C::new(values, shape),
            shape,
            is_noted: vec![false; pages],
            noted: vec![Vec::with_capacity(geometry.pages as usize); planes],
            due: VecDeque::with_capacity(pages),
            due_a_share: geometry.pages as usize * planes,
            stored: nand.is_watched().then(|| vec![Ppn::NONE; shape.entries as usize]),
            stripe: stripe_of_superpages(geometry, superpage, ftl.params.stripe_order),
            next: 0,
            report: MapReport::default(),
        }
    }

    fn prepare(&self, lpn: Lpn) {
        self.cache.prepare(lpn);
    }

    /// Makes sure that the entry of a page is cached. Returns the read of its translation page, which whatever needs
    /// the entry has to wait for.
    fn translate(&mut self, store: &mut PageStore, nand: &mut Nand, lpn: Lpn) -> OpId {
        if self.cache.touch(lpn) {
            self.report.hits += 1;
            return OpId::DONE;
        }
        self.report.misses += 1;
        if let Some(victim) = self.cache.make_room() {
            self.write_back(store, nand, victim);
        }
        self.cache.insert(lpn);
        self.read(store, nand, self.shape.page_of(lpn))
    }

    fn changed(&mut self, lpn: Lpn) {
        self.cache.mark_dirty(lpn);
    }

    /// Does a share of the write-backs that collections have made due; meanwhile more pages of a translation page are
    /// moved, which its write covers.
    fn write_back_due(&mut self, store: &mut PageStore, nand: &mut Nand) {
        let mut share = self.due.len().div_ceil(self.due_a_share);
        while share > 0
            && let Some(page) = self.due.pop_front()
        {
            // A write-back for another reason may have come first.
            if self.is_noted[page.at()] {
                self.write_back(store, nand, WriteBack { page, is_whole: false });
                share -= 1;
            }
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let MapReport { hits, misses, reads, writes } = self.report;
        let translations = hits + misses;
        let hit_ratio = (translations > 0).then(|| hits as f64 / translations as f64);
        let [hits, misses, reads, writes] = [hits, misses, reads, writes].map(Figure::Count);
        [hits, misses, Figure::Ratio(hit_ratio), reads, writes].into_iter().chain(self.cache.figures()).collect()
    }

    fn writes(&self) -> u64 {
        self.report.writes
    }

    fn reset_report(&mut self) {
        self.report = MapReport::default();
        self.cache.reset_report();
    }

    /// Checks a state that was loaded: what is noted is a translation page, and is to be written back.
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

    /// Checks the cache; in a verified run also that every entry is what its translation page holds, unless it is
    /// cached and dirty or its page is noted.
    fn check(&self, store: &PageStore) -> Result<(), Violation> {
        self.cache.check()?;
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
    /// The page of the store that a translation page is: the directory is the end of the store's map.
    pub(super) fn lpn(&self, page: TranslationPage) -> Lpn {
        Lpn(self.shape.entries + page.0)
    }

    fn read(&mut self, store: &PageStore, nand: &mut Nand, page: TranslationPage) -> OpId {
        let ppn = store.array_ppn(self.lpn(page));
        if ppn.is_none() {
            return OpId::DONE;
        }
        self.report.reads += 1;
        let mask = nand.geometry().full_mask();
        nand.read(Read::new(ppn, mask, Origin::Map))
    }

    /// Writes a translation page with all that is known of its entries. On a drive that is worn out it cannot be
    /// written any more, and what was to be in it stays in memory.
    fn write_back(&mut self, store: &mut PageStore, nand: &mut Nand, WriteBack { page, is_whole }: WriteBack) {
        let place = PagePlace { plane: self.stripe[self.next], lane: Lane::MAP };
        self.next = (self.next + 1) % self.stripe.len();
        let mut reserved = store.on(nand, self).reserve_for_map(place.plane);
        // Only now: the collection that made room may have moved the page, and pages that it knows of.
        let is_read = reserved.is_some() && !is_whole;
        let mut after = if is_read { self.read(store, nand, page) } else { OpId::DONE };
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

    /// A translation page has been programmed, with all that is known of its entries.
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
