//! Page-level mappings: a page store and a map that is in memory, wholly or in part.
//!
//! ```text
//! read, write, trim:  translate the page first, unless the map takes changes unseen; a write or a trim changes its
//!                     entry; then take a share of the map write-backs that garbage collection has made due
//! ```
//!
//! Each mapping decides where its map is, what is cached and what is evicted: `page` has the whole map in memory,
//! others have it on flash and cache a part of it ([`MapCache`]).

use flashloom_nand::{DieId, Lpn, Nand, OpId, Ppn};
use flashloom_units::{Component, Figure, Figures, Policy, PolicySpec, Refusal, Violation};

use super::interface::{Mapping, MappingExtras, Traits, write_each};
use super::map::Map;
use super::page_store::{self, PageStore};
use super::translation::{MapCache, Translation};
use crate::mapping_unit::in_units;
use crate::setup::{Context, Site};
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
    let policy = Policy::<dyn Mapping>::new(spec, |params, on| Ok(Box::new(PageLevel::<M>::new(params, on)?)));
    policy.with_profile(|params: M::Params, site| {
        let space = &in_units(site.space, &site.ftl.params)?;
        M::suits(&params, space)?;
        page_store::profile(&Site { space, ..*site }, &M::own(space))
    })
}

/// A page-level mapping.
pub(super) struct PageLevel<M> {
    pub(super) store: PageStore,
    pub(super) map: M,
    /// Writes of a group by unit, while it is written.
    units: Vec<PageWrite>,
}

flashloom_units::state! { for<M: Map> PageLevel<M> { nested store, map; scratch units; } }

impl<M: Map> PageLevel<M> {
    pub(super) fn new(params: M::Params, on: &Context<'_>) -> Result<Self, Refusal> {
        let space = &in_units(on.space, &on.ftl.params)?;
        let on = &Context { space, ..*on };
        let store = PageStore::new(on, &M::own(space))?;
        Ok(Self { map: M::new(params, on, &store), store, units: Vec::new() })
    }
}

impl<M: Map> MappingExtras for PageLevel<M> {
    fn wanted_streams(&self) -> Option<WantedStreams> {
        self.store.allocation().wanted_streams()
    }

    fn traits(&self) -> Traits {
        Traits {
            unit_pages: self.store.unit_pages(),
            observes_reads: self.store.allocation().observes_reads(),
            flush_delay_ns: self.store.flush_delay_ns(),
        }
    }

    fn observe_read(&mut self, read: ObservedRead) {
        self.store.allocation_mut().observe_read(read);
    }

    fn die_of(&self, lpn: Lpn) -> Option<DieId> {
        self.store.die_of(self.store.unit_of(lpn))
    }

    fn prepare(&self, lpn: Lpn) {
        let lpn = self.store.unit_of(lpn);
        self.store.prepare(lpn);
        self.map.prepare(lpn);
    }

    fn figures_taken(&self) -> Figures {
        self.store.figures()
    }

    fn valid_pages(&self) -> Option<u64> {
        Some(self.store.total_valid() * u64::from(self.store.unit_pages()))
    }

    fn unwritten_map_pages(&self) -> u64 {
        self.map.unwritten_pages()
    }

    fn idle(&mut self, nand: &mut Nand) -> bool {
        let stepped = self.store.on(nand, &mut self.map).idle();
        self.map.write_back_due(&mut self.store, nand);
        stepped
    }

    fn fill(&mut self, nand: &mut Nand, pages: u64, group: u64) -> bool {
        M::IS_IN_MEMORY && self.store.fill(nand, pages, group)
    }

    fn rest(&mut self, nand: &mut Nand) {
        self.map.rest(nand);
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

impl<M: Map> PageLevel<M> {
    /// [`Mapping::write`] where pages are mapped in units: neighbours in `writes` that are of one unit are written as
    /// one.
    fn write_units(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        let Self { store, map, .. } = self;
        let mut groups = std::mem::take(&mut self.units);
        let mut left = writes;
        while let Some(first) = left.first() {
            let (_, rest) = left.split_at(store.first_of_one_unit(left));
            groups.push(first.renumbered(store.unit_of(first.lpn)));
            left = rest;
        }
        store.place(&groups);
        let mut left = writes;
        for (index, PageWrite { lpn: unit, .. }) in groups.iter().enumerate() {
            let (group, rest) = left.split_at(store.first_of_one_unit(left));
            let is_whole = store.writes_whole_unit(group, nand.geometry().full_mask());
            let found = look_up(map, store, nand, *unit, is_whole);
            let place = store.placed(index);
            store.on(nand, map).write_unit(group, place, found);
            map.changed(store, *unit);
            map.write_back_due(store, nand);
            left = rest;
        }
        groups.clear();
        self.units = groups;
    }
}

/// Looks up what a write needs of the map: nothing, if it is of a whole page and the map takes changes unseen. Returns
/// the operation to wait for.
#[inline(always)]
fn look_up<M: Map>(map: &mut M, store: &mut PageStore, nand: &mut Nand, lpn: Lpn, is_whole: bool) -> OpId {
    let unseen = M::CHANGES_UNSEEN && is_whole;
    let translated = if unseen { OpId::DONE } else { map.translate(store, nand, lpn) };
    if is_whole { translated } else { map.locate(store, nand, lpn, translated) }
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
        if self.store.unit_pages() > 1 {
            return self.write_units(nand, writes);
        }
        let Self { store, map, .. } = self;
        store.place(writes);
        for (index, write) in writes.iter().enumerate() {
            let is_whole = write.mask() == nand.geometry().full_mask();
            let found = look_up(map, store, nand, write.lpn, is_whole);
            let place = store.placed(index);
            store.on(nand, map).write(write, place, found);
            map.changed(store, write.lpn);
            map.write_back_due(store, nand);
        }
    }

    fn write_apart(&mut self, nand: &mut Nand, writes: &[PageWrite]) -> usize {
        write_each(self, nand, writes, |mapping, lpn| mapping.store.prepare_old(mapping.store.unit_of(lpn)))
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool {
        let Self { store, map, .. } = self;
        if !store.holds(lpn) {
            return false;
        }
        let unit = store.unit_of(lpn);
        let translated = map.translate(store, nand, unit);
        let located = map.locate(store, nand, unit, translated);
        store.read(nand, lpn, mask, located, tag);
        map.write_back_due(store, nand);
        true
    }

    fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.store.place_of(lpn)
    }

    fn is_mapped(&self, lpn: Lpn) -> bool {
        self.store.holds(lpn)
    }

    fn trim(&mut self, nand: &mut Nand, lpn: Lpn) {
        let Self { store, map, .. } = self;
        if store.holds(lpn) {
            let (unit, unmaps) = (store.unit_of(lpn), store.is_last_of_unit(lpn));
            if unmaps && !M::CHANGES_UNSEEN {
                map.translate(store, nand, unit);
            }
            store.trim(lpn);
            if unmaps {
                map.changed(store, unit);
            }
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

#[cfg(test)]
pub(super) mod tests;
