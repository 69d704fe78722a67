//! DFTL: a page-level map on flash, of which the part in use is cached (Gupta, Kim and Urgaonkar, "DFTL: A Flash
//! Translation Layer Employing Demand-based Selective Caching of Page-level Address Mappings", ASPLOS 2009).
//!
//! ```text
//! translate lpn:  in the cached mapping table: a hit
//!                 else a miss: if the table is full, its victim leaves; a dirty one takes all dirty entries of its
//!                 translation page along (batched write-back); then the entry is read from the translation page that
//!                 the global translation directory, which is in memory, names
//! read, write, trim:  translate first; a write or a trim makes the entry dirty
//! write-back:     read the translation page, change it, program it elsewhere; its dirty entries are clean
//! collection:     of a data page:  entry cached: change it there, dirty (lazy copying)
//!                                  else note its translation page, once; when the victim is erased, write back every
//!                                  page noted, so that pages that moved together share a write (batch update)
//!                 of a translation page: only the directory changes
//! ```
//!
//! A read or a program of the host, and what a partial write reads beneath, start after the translation page that they
//! need has been read. The array does these reads with the priority of host reads. The victim's write-back is emitted
//! before the read of the entry, which does not wait for it. A page that was never written is known without looking: a
//! read of it costs nothing.
//!
//! The store keeps translation pages as pages of its own, numbered above the host's, in a lane of their own on every
//! plane in turn, so that a victim holds data or translations and never both. The collection policy chooses among both
//! kinds; with `ftl.gc_pace = "deadline"` among data only, and blocks of translation pages look after themselves. A page
//! of `p` bytes holds `p / 4` entries (a physical page number each), a cached entry takes 8 bytes.
//!
//! Why space suffices. Translation pages count among the pages that must fit beside the spare blocks (`shortage`). A
//! collection copies pages within its plane and erases before any write-back that it causes, so it never needs more than
//! the store keeps for it. Write-backs that are due can cause collections, which cause write-backs; but none of this kills
//! a data page, every collection of a data block uses up dead ones, and that of a translation block causes nothing: so it
//! ends. One entry of cache is enough: the entry of a request is read when its victim is already written.
//!
//! O(1) a translation, and O(1) a page moved. Memory: the store's (8 bytes a page: the map's two directions, the
//! truth of the model) and 4 bytes a page of the host to find cached entries, 24 an entry; 4 more a page in a verified
//! run, for what translation pages hold.

mod cache;

use std::collections::VecDeque;

use flashloom_nand::{Data, DeviceParams, Nand, OpId, Origin, Status};
use flashloom_units::{
    Capability, Divisor, KIB, Kind, Lpn, ParamSet, PlaneId, PolicySpec, Ppn, Refusal, Value, params,
};

use super::page_store::{self, Follow, PageStore};
use super::{Context, FtlFigures, Mapping, Profile, Site};
use crate::allocation::{Place, stripe_of_superpages};
use crate::lane::Lane;
use crate::superblock::superpage;
use crate::{FtlReport, MapCacheReport, PageWrite, WantedStreams};
use cache::MapCache;

/// Bytes of an entry in the cache: a logical and a physical page number.
const CACHED_ENTRY_BYTES: u64 = 8;

/// Bytes of an entry in a translation page, whose place says for which logical page it is.
const STORED_ENTRY_BYTES: u64 = 4;

params! {
    /// Parameters of DFTL.
    pub struct Dftl {
        /// Memory for cached entries of the map, 8 bytes each.
        cache_bytes: u64 => "cache", Kind::Size { min: CACHED_ENTRY_BYTES, max: 1 << 36 }, Value::Size(512 * KIB), "A larger cache reads and writes the map on flash less often.";
        /// Share of the cache for entries that were used again since they came in (the protected segment).
        protected: f64 => "protected", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.5), "A larger share keeps what was used twice longer, against entries that are used once.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "dftl",
    summary: "a page-level map on flash, of which the part in use is cached",
    details: "Segmented LRU of entries, batched write-back of a translation page's dirty entries, lazy copying. Takes an \
              allocation (ftl.allocation) and a collection policy (ftl.gc).",
    source: "Gupta et al., ASPLOS 2009",
    example: "ftl.mapping=dftl ftl.dftl.cache=1MiB workload.synthetic.pattern=zipf",
    instead: "Where random requests cover far more than the cache maps, most of them wait for a translation page: \
              enlarge `cache`. For a drive with memory for the whole map use `page`.",
    needs: &[],
    offers: &[Capability::PageMapping, Capability::TranslationPages, Capability::SavedState],
    params: Dftl::PARAMS,
    statistics: &[],
};

/// Translation pages that the map of a drive takes.
fn translation_pages(device: &DeviceParams) -> u64 {
    device.logical_pages().div_ceil(device.page_bytes / STORED_ENTRY_BYTES)
}

pub(super) fn profile(site: &Site<'_>) -> Result<Profile, Refusal> {
    page_store::profile(site, translation_pages(site.device))
}

pub(super) struct State {
    store: PageStore,
    table: Table,
    /// Planes in the order in which translation pages are placed, and whose turn it is.
    stripe: Vec<PlaneId>,
    next: usize,
    report: MapCacheReport,
    /// What the translation pages hold, on an array that is watched from the start, as that of a verified run is.
    stored: Option<Vec<Ppn>>,
}

flashloom_units::state! { State { nested store, table, stored; value next, report; fixed stripe; } }

/// What is in memory of the map, and what has to be written back.
struct Table {
    logical_pages: u32,
    by_entries: Divisor,
    cache: MapCache,
    /// Translation pages with entries that are neither cached nor stored: noted, in `noted` or `due`.
    is_noted: Vec<bool>,
    /// Noted within the job of each plane.
    noted: Vec<Vec<u32>>,
    /// Noted by jobs that have ended.
    due: VecDeque<u32>,
}

flashloom_units::state! { Table { nested cache, is_noted; array noted; value due; fixed logical_pages, by_entries; } }

impl Table {
    fn translation_page(&self, lpn: Lpn) -> u32 {
        self.by_entries.quotient(lpn.0)
    }

    /// A translation page cannot be written any more: the drive is worn out, and what was to be in it stays in memory.
    fn note(&mut self, translation_page: u32) {
        self.is_noted[translation_page as usize] = true;
    }

    /// The page of the store that a translation page is.
    fn page(&self, translation_page: u32) -> Lpn {
        Lpn(self.logical_pages + translation_page)
    }
}

impl Follow for Table {
    fn moved(&mut self, plane: PlaneId, lpn: Lpn) {
        // A translation page is found through the directory, which is in memory.
        if lpn.0 >= self.logical_pages || self.cache.mark_dirty(lpn) {
            return;
        }
        let translation_page = self.translation_page(lpn);
        if !std::mem::replace(&mut self.is_noted[translation_page as usize], true) {
            self.noted[plane.at()].push(translation_page);
        }
    }

    fn ended(&mut self, plane: PlaneId) {
        self.due.extend(self.noted[plane.at()].drain(..));
    }
}

impl State {
    pub(super) fn new(values: &[Value], on: &Context<'_>) -> Result<Self, Refusal> {
        let (Context { device, ftl, nand }, params) = (*on, Dftl::from_values(values));
        let (logical_pages, translation_pages) = (device.logical_pages(), translation_pages(device));
        let entries_a_page = (device.page_bytes / STORED_ENTRY_BYTES) as u32;
        let entries = (params.cache_bytes / CACHED_ENTRY_BYTES).min(logical_pages) as u32;
        let is_verified = nand.is_watched();
        let store = PageStore::new(on, translation_pages)?;
        let geometry = *store.geometry();
        let noted = Vec::with_capacity(geometry.pages as usize);
        let superpage = superpage(nand.geometry(), ftl.params.superblock);
        Ok(Self {
            store,
            table: Table {
                logical_pages: logical_pages as u32,
                by_entries: Divisor::new(entries_a_page),
                cache: MapCache::new(logical_pages as u32, entries, params.protected, entries_a_page),
                is_noted: vec![false; translation_pages as usize],
                noted: vec![noted; geometry.total_planes() as usize],
                due: VecDeque::with_capacity(translation_pages as usize),
            },
            stripe: stripe_of_superpages(&geometry, superpage, ftl.params.stripe_order),
            next: 0,
            report: MapCacheReport::default(),
            stored: is_verified.then(|| vec![Ppn::NONE; logical_pages as usize]),
        })
    }

    /// Makes sure that the entry of a page is cached; what needs it starts after the operation that this answers.
    fn translate(&mut self, nand: &mut Nand, lpn: Lpn) -> OpId {
        if self.table.cache.touch(lpn) {
            self.report.hits += 1;
            return OpId::DONE;
        }
        self.report.misses += 1;
        if let Some(victim) = self.table.cache.make_room() {
            self.write_back(nand, self.table.translation_page(victim));
        }
        self.table.cache.insert(lpn);
        self.read_translation_page(nand, self.table.translation_page(lpn))
    }

    fn read_translation_page(&mut self, nand: &mut Nand, translation_page: u32) -> OpId {
        let ppn = self.store.array_ppn(self.table.page(translation_page));
        if ppn.is_none() {
            return OpId::DONE;
        }
        self.report.reads += 1;
        let mask = nand.geometry().full_mask();
        nand.read(ppn, mask, Origin::Map, Lpn::NONE, Nand::NO_TAG)
    }

    /// Writes a translation page with all that is known of its entries.
    fn write_back(&mut self, nand: &mut Nand, translation_page: u32) {
        let lpn = self.table.page(translation_page);
        let place = Place { plane: self.stripe[self.next], lane: Lane::Map };
        self.next = (self.next + 1) % self.stripe.len();
        let Some(mut reserved) = self.store.reserve_for_map(nand, place.plane, &mut self.table) else {
            return self.table.note(translation_page);
        };
        // Only now: the collection that made room may have moved the page, and pages that it knows of.
        let mut after = self.read_translation_page(nand, translation_page);
        while let Status::Failed(failed) =
            self.store.program(nand, reserved, Origin::Map, Data::Map, after, Nand::NO_TAG)
        {
            after = failed;
            let Some(next) = self.store.reserve_again(nand, place, reserved.0, &mut self.table) else {
                return self.table.note(translation_page);
            };
            reserved = next;
        }
        self.store.bind(lpn, reserved.0, reserved.1);
        self.report.writes += 1;
        self.table.cache.clean(translation_page);
        self.table.is_noted[translation_page as usize] = false;
        if let Some(stored) = &mut self.stored {
            let entries = self.table.by_entries.get() as usize;
            let first = translation_page as usize * entries;
            let range = first..(first + entries).min(stored.len());
            stored[range.clone()].copy_from_slice(self.store.ppns(range));
        }
    }

    /// Writes back a share of what collections that have ended have noted: a translation page for each page that is
    /// written, more where more is due than a block of every plane has pages, and never all of a collection's at once.
    /// Meanwhile more pages of a translation page are moved, which its write covers.
    fn write_back_due(&mut self, nand: &mut Nand) {
        let geometry = self.store.geometry();
        let mut share = self.table.due.len().div_ceil((geometry.pages * geometry.total_planes()) as usize);
        while share > 0
            && let Some(translation_page) = self.table.due.pop_front()
        {
            // A write-back for another reason may have come first.
            if self.table.is_noted[translation_page as usize] {
                self.write_back(nand, translation_page);
                share -= 1;
            }
        }
    }

    /// Every entry is what its translation page holds, unless it is cached and dirty or its page is noted.
    fn check_stored(&self, stored: &[Ppn]) -> Result<(), String> {
        for (at, &held) in stored.iter().enumerate() {
            let lpn = Lpn(at as u32);
            let is_known = self.table.cache.is_dirty(lpn)
                || self.table.is_noted[self.table.translation_page(lpn) as usize]
                || held == self.store.ppn(lpn);
            if !is_known {
                return Err(format!("dftl: flash has lost the mapping of logical page {at}"));
            }
        }
        Ok(())
    }
}

impl Mapping for State {
    flashloom_units::stateful!();

    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        let places = self.store.place(writes);
        for (write, place) in writes.iter().zip(&places) {
            let translated = self.translate(nand, write.lpn);
            self.store.write(nand, write, *place, translated, &mut self.table);
            self.table.cache.mark_dirty(write.lpn);
            self.write_back_due(nand);
        }
        self.store.placed(places);
    }

    fn wanted_streams(&self) -> Option<WantedStreams> {
        self.store.wanted_streams()
    }

    fn prepare(&self, lpn: Lpn) {
        self.store.prepare(lpn);
        self.table.cache.prepare(lpn);
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool {
        if self.store.ppn(lpn).is_none() {
            return false;
        }
        let translated = self.translate(nand, lpn);
        self.store.read(nand, lpn, mask, translated, tag);
        self.write_back_due(nand);
        true
    }

    fn is_mapped(&self, lpn: Lpn) -> bool {
        self.store.ppn(lpn).is_some()
    }

    fn trim(&mut self, nand: &mut Nand, lpn: Lpn) {
        if self.store.ppn(lpn).is_some() {
            self.translate(nand, lpn);
            self.store.trim(lpn);
            self.table.cache.mark_dirty(lpn);
            self.write_back_due(nand);
        }
    }

    fn idle(&mut self, nand: &mut Nand) -> bool {
        let stepped = self.store.idle(nand, &mut self.table);
        self.write_back_due(nand);
        stepped
    }

    fn report(&self) -> FtlReport {
        FtlReport { map_cache: Some(self.report), ..self.store.report() }
    }

    fn reset_report(&mut self) {
        self.report = MapCacheReport::default();
        self.store.reset_report();
    }

    fn free_blocks(&self) -> u64 {
        self.store.free_blocks()
    }

    fn is_worn_out(&self) -> bool {
        self.store.is_worn_out()
    }

    fn figures(&self) -> FtlFigures {
        self.store.figures()
    }

    fn check(&self) -> Result<(), String> {
        self.store.check()?;
        self.table.cache.check()?;
        self.stored.as_ref().map_or(Ok(()), |stored| self.check_stored(stored))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FtlSetup;
    use flashloom_nand::HostPage;
    use flashloom_units::ParamSet;
    use flashloom_verify::Verifier;

    /// A drive of pages of 512 bytes, so that a translation page has 128 entries; a cache of four.
    fn lab() -> (Nand, Verifier, State) {
        let small = DeviceParams {
            channels: 2,
            ways: 1,
            planes: 1,
            blocks: 32,
            pages: 16,
            page_bytes: 512,
            ..DeviceParams::defaults()
        };
        let device = DeviceParams { dies: 1, over_provisioning: 0.5, ..small };
        let mut nand = Nand::new(&device);
        let verifier = Verifier::new(&mut nand, device.logical_pages());
        let set = [("cache", Value::Size(4 * CACHED_ENTRY_BYTES))];
        let mapping = super::super::builtin().choose("dftl", &set).expect("a parameter of dftl");
        let ftl = FtlSetup { mapping, ..FtlSetup::with_defaults() };
        let state = State::new(ftl.mapping.values(), &Context { device: &device, ftl: &ftl, nand: &nand });
        (nand, verifier, state.expect("it can be built"))
    }

    fn write((nand, verifier, state): &mut (Nand, Verifier, State), lpns: &[u32]) -> MapCacheReport {
        for &lpn in lpns {
            let page = HostPage { lpn: Lpn(lpn), mask: 1, write: verifier.oracle.writes() };
            verifier.oracle.written_through(page);
            state.write(nand, &[PageWrite::new(page, Nand::NO_TAG)]);
            verifier.follow(nand);
        }
        assert_eq!((state.check(), nand.check(), verifier.check()), (Ok(()), Ok(()), Ok(())));
        state.report
    }

    #[test]
    fn a_write_back_takes_all_dirty_entries_of_its_translation_page_along() {
        let mut lab = lab();
        let report = write(&mut lab, &[0, 1, 2, 3]);
        assert_eq!((report.misses, report.reads, report.writes), (4, 0, 0), "room for four, and nothing stored yet");
        let report = write(&mut lab, &[200, 201, 202, 203]);
        assert_eq!((report.misses, report.reads, report.writes), (8, 0, 1), "the first victim cleans the other three");
        let report = write(&mut lab, &[5]);
        assert_eq!((report.reads, report.writes), (1, 2), "the entry of page 5 is read from what was written back");
        let report = write(&mut lab, &[5, 5]);
        assert_eq!((report.hits, report.reads, report.writes), (2, 1, 2));
    }

    #[test]
    fn a_moved_page_changes_its_cached_entry_or_shares_a_write_with_others_of_its_translation_page() {
        let mut lab = lab();
        write(&mut lab, &[0, 1, 2, 3, 130, 131, 260, 261, 262, 263]);
        let before = write(&mut lab, &[263]);
        let (mut nand, _, mut state) = lab;
        // In the cache are 260 to 263; pages 0 to 127 are on one translation page, 128 to 255 on the next.
        let plane = PlaneId(1);
        [262, 0, 1, 130, 3, 131].into_iter().for_each(|lpn| state.table.moved(plane, Lpn(lpn)));
        assert!(state.table.cache.is_dirty(Lpn(262)));
        state.write_back_due(&mut nand);
        assert_eq!(state.report.writes, before.writes, "nothing is written before the victim is erased");
        state.table.ended(plane);
        for share in 1..=3 {
            state.write_back_due(&mut nand);
            assert_eq!(state.report.writes, before.writes + share.min(2), "one at a time, and each once");
        }
        assert_eq!(state.check(), Ok(()));
    }

    #[test]
    fn a_moved_translation_page_is_found_through_the_directory() {
        let mut lab = lab();
        let before = write(&mut lab, &[0, 1, 2, 3, 200]);
        let (mut nand, _, mut state) = lab;
        let page = state.table.page(0);
        state.table.moved(PlaneId(0), page);
        state.table.ended(PlaneId(0));
        state.write_back_due(&mut nand);
        assert_eq!(state.report, before);
    }
}
