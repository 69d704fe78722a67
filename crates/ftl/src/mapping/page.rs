//! Page: a full page-level map in memory (the "pure page mapping" of the papers).
//!
//! ```text
//! write lpn:  a partial write reads the old copy; program a page of the store and map lpn to it; the old copy dies
//! read lpn:   read the page that the map names
//! ```
//!
//! The map costs no flash operation. Allocation and garbage collection belong to the page store, as does the memory.

use flashloom_nand::{Lpn, Nand, OpId, PlaneId, Ppn};
use flashloom_units::{Capability, PolicySpec};

use super::map::Map;
use super::page_store::{CollectionListener, PageStore};
use crate::capability::{MAPPING_UNITS, PAGE_MAPPING};
use crate::report::ADDRESS_BYTES;
use crate::setup::Context;

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "page",
    summary: "a full page-level map in memory",
    details: "Any page can be anywhere. Takes an allocation (ftl.allocation) and a collection policy (ftl.gc).",
    source: "the page mapping that ParDispatcher, SLAP and CAVE compare with",
    example: "ftl.mapping=page ftl.gc=cost-benefit workload.synthetic.pattern=zipf",
    instead: "A drive needs memory for the whole map: for one that caches a part of it use `dftl`, for the controllers \
              of cards and early drives a log-block mapping such as `fast` or `kast`.",
    offers: &[PAGE_MAPPING, MAPPING_UNITS, Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

/// A map that is entirely in memory: no misses, no write-backs.
pub(super) struct InMemory;

flashloom_units::state! { InMemory {} }

impl CollectionListener for InMemory {
    fn moved(&mut self, _plane: PlaneId, _lpn: Lpn, _map: &[Ppn]) {}
    fn ended(&mut self, _plane: PlaneId) {}
}

impl Map for InMemory {
    type Params = ();

    const IS_IN_MEMORY: bool = true;

    fn new((): (), _on: &Context<'_>, _store: &PageStore) -> Self {
        Self
    }

    fn translate(&mut self, _store: &mut PageStore, _nand: &mut Nand, _lpn: Lpn) -> OpId {
        OpId::DONE
    }

    fn changed(&mut self, _store: &PageStore, _lpn: Lpn) {}

    fn write_back_due(&mut self, _store: &mut PageStore, _nand: &mut Nand) {}

    fn memory_bytes(&self, store: &PageStore) -> u64 {
        ADDRESS_BYTES * store.map().len() as u64
    }
}
