//! Page: a full page-level map in memory (the "pure page mapping" of the papers).
//!
//! ```text
//! write lpn:  a partial write first reads the page beneath; then program a page of the store, map lpn, and the old
//!             copy is dead
//! read lpn:   the map says where
//! ```
//!
//! The map costs no flash operation; where pages go and how space is won back is the page store's. Memory: the store's.

use flashloom_nand::{Lpn, Nand, OpId};
use flashloom_units::{Capability, PolicySpec, Refusal};

use super::page_store::{Own, PageStore};
use super::{Context, FtlFigures, Mapping};
use crate::capability::PAGE_MAPPING;
use crate::{FtlReport, PageWrite, WantedStreams};

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "page",
    summary: "a full page-level map in memory",
    details: "Any page can be anywhere. Takes an allocation (ftl.allocation) and a collection policy (ftl.gc).",
    source: "the page mapping that ParDispatcher, SLAP and CAVE compare with",
    example: "ftl.mapping=page ftl.gc=cost-benefit workload.synthetic.pattern=zipf",
    instead: "A drive needs memory for the whole map: for one that caches a part of it use `dftl`, for the controllers \
              of cards and early drives a log-block mapping such as `fast` or `kast`.",
    needs: &[],
    offers: &[PAGE_MAPPING, Capability::SAVED_STATE],
    params: &[],
    statistics: &[],
};

pub(super) struct PageMap {
    store: PageStore,
}

flashloom_units::state! { PageMap { nested store; } }

impl PageMap {
    pub(super) fn new(on: &Context<'_>) -> Result<Self, Refusal> {
        Ok(Self { store: PageStore::new(on, &Own::default())? })
    }
}

impl Mapping for PageMap {
    flashloom_units::stateful!();

    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        self.store.place(writes);
        for (index, write) in writes.iter().enumerate() {
            let place = self.store.placed(index);
            self.store.write(nand, write, place, OpId::DONE, &mut ());
        }
    }

    fn wanted_streams(&self) -> Option<WantedStreams> {
        self.store.wanted_streams()
    }

    fn prepare(&self, lpn: Lpn) {
        self.store.prepare(lpn);
    }

    fn prepare_old(&self, lpn: Lpn) {
        self.store.prepare_old(lpn);
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool {
        self.store.read(nand, lpn, mask, OpId::DONE, tag)
    }

    fn is_mapped(&self, lpn: Lpn) -> bool {
        self.store.ppn(lpn).is_some()
    }

    fn trim(&mut self, _nand: &mut Nand, lpn: Lpn) {
        self.store.trim(lpn);
    }

    fn idle(&mut self, nand: &mut Nand) -> bool {
        self.store.idle(nand, &mut ())
    }

    fn report(&self) -> FtlReport {
        self.store.report()
    }

    fn reset_report(&mut self) {
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
        self.store.check_loaded(nand)
    }

    fn check(&self) -> Result<(), String> {
        self.store.check()
    }
}
