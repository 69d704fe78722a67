//! Page-level mappings: a page store and a map that is in memory, wholly or in part.
//!
//! ```text
//! read, write, trim:  translate the page first, unless the map takes changes unseen; a write or a trim changes its
//!                     entry; then take a share of the map write-backs that garbage collection has made due
//! ```
//!
//! Each mapping decides where its map is, what is cached and what is evicted: `page` has the whole map in memory,
//! others have it on flash and cache a part of it ([`MapCache`]).

use flashloom_nand::{DieId, Lpn, Nand, OpId};
use flashloom_units::{Component, Figure, Figures, Ns, Policy, PolicySpec, Refusal, Value, Violation};

use super::interface::{Mapping, MappingExtras, write_each};
use super::map::Map;
use super::page_store::{self, PageStore};
use super::translation::{MapCache, Translation};
use crate::setup::Context;
use crate::{FtlReport, ObservedRead, PageWrite, WantedStreams};

/// The policy of a mapping whose map is on flash, with the given cache. Panics unless the statistics of `spec` begin
/// with [`translation::STATISTICS`](super::translation::STATISTICS).
pub fn policy<C: MapCache>(spec: &'static PolicySpec) -> Policy<dyn Mapping> {
    page_level::<Translation<C>>(spec)
}

/// The policy of a page-level mapping with the given map.
pub(super) fn page_level<M: Map>(spec: &'static PolicySpec) -> Policy<dyn Mapping> {
    assert!(
        spec.statistics.starts_with(M::STATISTICS),
        "the statistics of `{}` begin with those of its map",
        spec.name
    );
    let policy = Policy::<dyn Mapping>::new(spec, |values, on| Ok(Box::new(PageLevel::<M>::new(values, on)?)));
    policy.with_profile(|values, site| {
        M::suits(values, site.space)?;
        page_store::profile(site, &M::own(site.space))
    })
}

/// A page-level mapping.
pub(super) struct PageLevel<M> {
    pub(super) store: PageStore,
    pub(super) map: M,
}

flashloom_units::state! { for<M: Map> PageLevel<M> { nested store, map; } }

impl<M: Map> PageLevel<M> {
    pub(super) fn new(values: &[Value], on: &Context<'_>) -> Result<Self, Refusal> {
        let store = PageStore::new(on, &M::own(on.space))?;
        Ok(Self { map: M::new(values, on, &store), store })
    }
}

impl<M: Map> MappingExtras for PageLevel<M> {
    fn wanted_streams(&self) -> Option<WantedStreams> {
        self.store.wanted_streams()
    }

    fn observes_reads(&self) -> bool {
        self.store.observes_reads()
    }

    fn observe_read(&mut self, read: ObservedRead) {
        self.store.observe_read(read);
    }

    fn gathered(&mut self, streams: &[u32]) {
        self.store.gathered(streams);
    }

    fn die_of(&self, lpn: Lpn) -> Option<DieId> {
        self.store.die_of(lpn)
    }

    fn prepare(&self, lpn: Lpn) {
        self.store.prepare(lpn);
        self.map.prepare(lpn);
    }

    fn figures_taken(&self) -> Figures {
        self.store.figures()
    }

    fn idle(&mut self, nand: &mut Nand) -> bool {
        let stepped = self.store.on(nand, &mut self.map).idle();
        self.map.write_back_due(&mut self.store, nand);
        stepped
    }

    fn fill(&mut self, nand: &mut Nand, pages: u64, group: u64) -> bool {
        M::IS_IN_MEMORY && self.store.fill(nand, pages, group)
    }

    fn trust_loaded(&mut self) {
        self.store.trust_loaded();
    }

    fn rest(&mut self, nand: &mut Nand) {
        self.map.rest(nand);
    }

    fn flush_delay_ns(&self) -> Option<Ns> {
        self.store.flush_delay_ns()
    }

    fn flush(&mut self, nand: &mut Nand) -> bool {
        let stepped = self.store.on(nand, &mut self.map).flush();
        self.map.write_back_due(&mut self.store, nand);
        stepped
    }

    fn is_worn_out(&self) -> bool {
        self.store.is_worn_out()
    }
}

impl<M: Map> Component for PageLevel<M> {
    flashloom_units::stateful!();

    fn figures(&self) -> Vec<Figure> {
        self.map.figures()
    }

    fn check(&self) -> Result<(), Violation> {
        self.store.check()?;
        self.map.check(&self.store)
    }
}

impl<M: Map> Mapping for PageLevel<M> {
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        let Self { store, map } = self;
        store.place(writes);
        for (index, write) in writes.iter().enumerate() {
            let is_whole = write.mask == nand.geometry().full_mask();
            let mut translated = OpId::DONE;
            if !(M::CHANGES_UNSEEN && is_whole) {
                translated = map.translate(store, nand, write.lpn);
            }
            if !is_whole {
                translated = map.locate(store, nand, write.lpn, translated);
            }
            let place = store.placed(index);
            store.on(nand, map).write(write, place, translated);
            map.changed(store, write.lpn);
            map.write_back_due(store, nand);
        }
    }

    fn write_apart(&mut self, nand: &mut Nand, writes: &[PageWrite]) -> usize {
        write_each(self, nand, writes, |mapping, lpn| mapping.store.prepare_old(lpn))
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool {
        let Self { store, map } = self;
        if store.ppn(lpn).is_none() {
            return false;
        }
        let translated = map.translate(store, nand, lpn);
        let located = map.locate(store, nand, lpn, translated);
        store.read(nand, lpn, mask, located, tag);
        map.write_back_due(store, nand);
        true
    }

    fn is_mapped(&self, lpn: Lpn) -> bool {
        self.store.ppn(lpn).is_some()
    }

    fn trim(&mut self, nand: &mut Nand, lpn: Lpn) {
        let Self { store, map } = self;
        if store.ppn(lpn).is_some() {
            if !M::CHANGES_UNSEEN {
                map.translate(store, nand, lpn);
            }
            store.trim(lpn);
            map.changed(store, lpn);
            map.write_back_due(store, nand);
        }
    }

    fn report(&self) -> FtlReport {
        FtlReport {
            map_writes: self.map.writes(),
            memory_bytes: Some(self.map.memory_bytes(&self.store)),
            ..self.store.report()
        }
    }

    fn reset_report(&mut self) {
        self.map.reset_report();
        self.store.reset_report();
    }

    fn free_blocks(&self) -> u64 {
        self.store.free_blocks()
    }

    fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        self.store.check_loaded(nand)?;
        self.map.check_loaded(&self.store)
    }
}
