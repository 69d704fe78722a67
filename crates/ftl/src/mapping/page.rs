//! Page: a full page-level map in memory (the "pure page mapping" of the papers).
//!
//! ```text
//! write lpn:  a partial write first reads the page beneath; then program a page of the store, map lpn, and the old copy
//!             is dead
//! read lpn:   the map says where
//! ```
//!
//! The map costs no flash operation; where pages go and how space is won back is the page store's. Memory: the store's.

use flashloom_nand::{DeviceParams, Expect, Nand, OpId};
use flashloom_units::{Lpn, PolicySpec};

use super::Mapping;
use super::page_store::{self, PageStore};
use crate::{FtlReport, FtlSetup, Misfit, PageWrite, WantedStreams};

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "page",
    summary: "a full page-level map in memory",
    details: "Any page can be anywhere. Takes an allocation (ftl.allocation) and a collection policy (ftl.gc).",
    source: "the page mapping that ParDispatcher, SLAP and CAVE compare with",
    needs: &[],
    params: &[],
    statistics: &[],
};

pub(super) struct State {
    store: PageStore,
}

flashloom_units::state! { State { nested store; } }

impl State {
    pub(super) fn misfit(setup: &FtlSetup, device: &DeviceParams) -> Option<Misfit> {
        page_store::misfit(setup, device, 0)
    }

    pub(super) fn stream_pages(setup: &FtlSetup, device: &DeviceParams) -> u32 {
        page_store::stream_pages(setup, device)
    }

    pub(super) fn new(setup: &FtlSetup, device: &DeviceParams, nand: &Nand) -> Self {
        Self { store: PageStore::new(setup, device, nand, 0) }
    }
}

impl Mapping for State {
    flashloom_units::stateful!();

    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        let places = self.store.place(writes);
        for (write, place) in writes.iter().zip(&places) {
            self.store.write(nand, write, *place, OpId::DONE, &mut ());
        }
        self.store.placed(places);
    }

    fn wanted_streams(&self) -> Option<WantedStreams> {
        self.store.wanted_streams()
    }

    fn prepare(&self, lpn: Lpn) {
        self.store.prepare(lpn);
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, expect: Expect, tag: u32) -> bool {
        self.store.read(nand, lpn, mask, expect, OpId::DONE, tag)
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

    fn erase_counts(&self) -> &[u32] {
        self.store.erase_counts()
    }

    fn free_blocks(&self) -> u64 {
        self.store.free_blocks()
    }

    fn is_worn_out(&self) -> bool {
        self.store.is_worn_out()
    }

    fn check(&self) -> Result<(), String> {
        self.store.check()
    }
}
