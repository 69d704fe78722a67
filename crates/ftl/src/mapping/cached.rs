//! Mappings whose map is on flash, of which part is cached: a page store under a [`Translation`].
//!
//! ```text
//! read, write, trim:  translate first; a write or a trim makes the entry dirty; then a share of the write-backs that
//!                     collections have made due
//! ```
//!
//! What is cached, and what leaves, is the mapping's own: a [`MapCache`].

use flashloom_nand::{Lpn, Nand};
use flashloom_units::{Policy, PolicySpec, Refusal, Value};

use super::page_store::{self, PageStore};
use super::translation::{MapCache, MapShape, Translation};
use super::{Context, FtlFigures, Mapping};
use crate::{FtlReport, PageWrite, WantedStreams};

/// A mapping with a cached map as a policy.
pub fn policy<C: MapCache>(spec: &'static PolicySpec) -> Policy<dyn Mapping> {
    let policy = Policy::<dyn Mapping>::new(spec, |values, on| Ok(Box::new(CachedMap::<C>::new(values, on)?)));
    policy.with_profile(|values, site| {
        let shape = MapShape::of(site.space);
        C::suits(values, shape)?;
        page_store::profile(site, &shape.own())
    })
}

/// A page-level mapping whose map is on flash.
pub struct CachedMap<C> {
    pub(super) store: PageStore,
    pub(super) map: Translation<C>,
}

flashloom_units::state! { for<C: MapCache> CachedMap<C> { nested store, map; } }

impl<C: MapCache> CachedMap<C> {
    pub(super) fn new(values: &[Value], on: &Context<'_>) -> Result<Self, Refusal> {
        let store = PageStore::new(on, &MapShape::of(on.space).own())?;
        Ok(Self { map: Translation::new(values, on, &store), store })
    }
}

impl<C: MapCache> Mapping for CachedMap<C> {
    flashloom_units::stateful!();

    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        let Self { store, map } = self;
        store.place(writes);
        for (index, write) in writes.iter().enumerate() {
            let translated = map.translate(store, nand, write.lpn);
            store.write(nand, write, store.placed(index), translated, map);
            map.cache.mark_dirty(write.lpn);
            map.write_back_due(store, nand);
        }
    }

    fn wanted_streams(&self) -> Option<WantedStreams> {
        self.store.wanted_streams()
    }

    fn prepare(&self, lpn: Lpn) {
        self.store.prepare(lpn);
        self.map.cache.prepare(lpn);
    }

    fn prepare_old(&self, lpn: Lpn) {
        self.store.prepare_old(lpn);
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool {
        let Self { store, map } = self;
        if store.ppn(lpn).is_none() {
            return false;
        }
        let translated = map.translate(store, nand, lpn);
        store.read(nand, lpn, mask, translated, tag);
        map.write_back_due(store, nand);
        true
    }

    fn is_mapped(&self, lpn: Lpn) -> bool {
        self.store.ppn(lpn).is_some()
    }

    fn trim(&mut self, nand: &mut Nand, lpn: Lpn) {
        let Self { store, map } = self;
        if store.ppn(lpn).is_some() {
            map.translate(store, nand, lpn);
            store.trim(lpn);
            map.cache.mark_dirty(lpn);
            map.write_back_due(store, nand);
        }
    }

    fn idle(&mut self, nand: &mut Nand) -> bool {
        let stepped = self.store.idle(nand, &mut self.map);
        self.map.write_back_due(&mut self.store, nand);
        stepped
    }

    fn report(&self) -> FtlReport {
        FtlReport { map_cache: Some(self.map.report), ..self.store.report() }
    }

    fn reset_report(&mut self) {
        self.map.report = Default::default();
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

    fn check_loaded(&self, nand: &Nand) -> Result<(), String> {
        self.store.check_loaded(nand)?;
        self.map.check_loaded(&self.store)
    }

    fn check(&self) -> Result<(), String> {
        self.store.check()?;
        self.map.check(&self.store)
    }
}
