//! A small log-block drive for tests that look inside: counting mode, all checks on.

use flashloom_units::Parameters;
use std::ops::Range;

use flashloom_nand::{HostPage, Lpn, Nand, NandParams, Origin};
use flashloom_units::{Component, ParamSet, Value};
use flashloom_verify::Verifier;

use super::ftl::Ftl;
use super::report::{Bounds, MERGES, MergeReport};
use super::{LogSlot, Scheme, Store};
use crate::mapping::{Context, Mapping, MappingExtras, builtin};
use crate::streams::STREAMS;
use crate::{FtlSetup, PageWrite, Preemption, Space};

/// What writing some pages cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) switch: u64,
    pub(crate) partial: u64,
    pub(crate) full: u64,
    pub(crate) copies: u64,
    pub(crate) erases: u64,
}

/// The writes of KAST's Figures 1 and 2, on six full data blocks of four pages and four log blocks.
pub(crate) const SEQUENCE: [u32; 8] = [0, 4, 8, 12, 16, 20, 1, 5];

/// Blocks that a chip needs as the target of a merge.
const GATHERED_IN: u32 = 1;

/// Chips of one plane whose blocks have four pages, as in the papers' figures.
pub(crate) const PAGES: u32 = 4;

/// An array with the default times, `chips` channels and room for `data_blocks` logical blocks on each.
pub(crate) fn space(chips: u32, data_blocks: u32, log_blocks: u32) -> Space {
    let nand = NandParams {
        channels: chips,
        ways: 1,
        dies: 1,
        planes: 1,
        blocks: data_blocks + log_blocks + GATHERED_IN,
        pages: PAGES,
        page_bytes: 512,
        ..NandParams::defaults()
    };
    Space { nand, logical_pages: u64::from(chips * data_blocks * PAGES), unit_pages: 1 }
}

/// A setup without preemption, as in the papers.
pub(crate) fn setup(mapping: &str, set: &[(&str, Value)]) -> FtlSetup {
    let mut setup = FtlSetup::with_defaults();
    setup.mapping = builtin().choose(mapping, set).expect("the mapping takes these parameters");
    setup.params.preemption = Preemption::None;
    setup
}

/// A drive under test.
pub(crate) struct Lab<S> {
    ftl: Ftl<S>,
    nand: Nand,
    verifier: Verifier,
    logical_pages: u32,
}

impl<S: Scheme> Lab<S> {
    /// An erased drive.
    pub(crate) fn empty(space: &Space, setup: &FtlSetup) -> Self {
        setup.profile(space).expect("the FTL goes with the array");
        let mut nand = Nand::new(&space.nand);
        let verifier = Verifier::new(&mut nand, space.logical_pages);
        let ftl = Ftl::new(Parameters::of(setup.mapping.values()), &Context { space, ftl: setup, nand: &nand });
        Self { ftl: ftl.expect("it can be built"), nand, verifier, logical_pages: space.logical_pages as u32 }
    }

    /// A drive whose data blocks are full.
    pub(crate) fn filled(space: &Space, setup: &FtlSetup) -> Self {
        let mut lab = Self::empty(space, setup);
        let cost = lab.write(0..space.logical_pages as u32);
        assert_eq!(cost, Cost::default(), "pages in order are written to data blocks");
        lab
    }

    /// Writes pages one after the other, and checks the drive.
    pub(crate) fn write(&mut self, lpns: impl IntoIterator<Item = u32>) -> Cost {
        self.costing(|lab| lpns.into_iter().for_each(|lpn| lab.write_at_once(&[lpn])))
    }

    fn costing(&mut self, write: impl FnOnce(&mut Self)) -> Cost {
        let before = self.total();
        write(self);
        self.check();
        let Cost { switch, partial, full, copies, erases } = self.total();
        Cost {
            switch: switch - before.switch,
            partial: partial - before.partial,
            full: full - before.full,
            copies: copies - before.copies,
            erases: erases - before.erases,
        }
    }

    /// Writes pages together, and checks the drive.
    pub(crate) fn write_together(&mut self, lpns: &[u32]) -> Cost {
        self.costing(|lab| lab.write_at_once(lpns))
    }

    fn write_at_once(&mut self, lpns: &[u32]) {
        let mask = self.nand.geometry().full_mask();
        let mut page_write = |&lpn: &u32| {
            let page = HostPage { lpn: Lpn(lpn), mask, write: self.verifier.oracle.writes() };
            self.verifier.oracle.written_through(page);
            PageWrite::new(page, Nand::NO_TAG)
        };
        let writes: Vec<PageWrite> = lpns.iter().map(&mut page_write).collect();
        self.ftl.write(&mut self.nand, &writes);
        self.verifier.follow(&mut self.nand);
    }

    pub(crate) fn trim(&mut self, lpns: Range<u32>) {
        for lpn in lpns.map(Lpn) {
            self.verifier.oracle.discarded(lpn);
            self.ftl.trim(&mut self.nand, lpn);
        }
        self.check();
    }

    /// Checks the counters, and that every page holds what was written last.
    fn check(&mut self) {
        let mask = self.nand.geometry().full_mask();
        for lpn in (0..self.logical_pages).map(Lpn) {
            if self.ftl.is_mapped(lpn) {
                self.verifier.oracle.read_flash(lpn, mask, None);
                self.ftl.read(&mut self.nand, lpn, mask, Nand::NO_TAG);
                self.verifier.follow(&mut self.nand);
            }
        }
        self.ftl.check().expect("the mapping adds up");
        self.ftl.check_loaded(&self.nand).expect("and could have been loaded");
        self.nand.check().expect("nothing is left");
        self.verifier.check().expect("every command was legal, and every sector as expected");
    }

    /// Takes one idle step: its cost, and whether work remains.
    pub(crate) fn idle(&mut self) -> (Cost, bool) {
        let mut goes_on = false;
        let cost = self.costing(|lab| {
            goes_on = lab.ftl.idle(&mut lab.nand);
            lab.verifier.follow(&mut lab.nand);
        });
        (cost, goes_on)
    }

    fn total(&self) -> Cost {
        let report = self.ftl.report();
        let merges = self.report();
        Cost {
            switch: merges.switch,
            partial: merges.partial,
            full: merges.full,
            copies: report.page_copies,
            erases: self.nand.counts().erases[Origin::Merge as usize],
        }
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.ftl.bounds
    }

    pub(crate) fn report(&self) -> MergeReport {
        (*self.ftl.store.merges).clone()
    }

    /// Streams found so far; `None` if the scheme does not look for them.
    pub(crate) fn streams(&self) -> Option<u64> {
        let index = MERGES.len() + STREAMS.iter().position(|statistic| statistic.name == "streams")?;
        self.ftl.figures().get(index)?.whole()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.ftl.store
    }

    pub(crate) fn scheme(&self) -> &S {
        &self.ftl.scheme
    }

    /// The index of the log block that holds the newest copy of a page; none if that is in a data block.
    pub(crate) fn log_block_of(&self, lpn: u32) -> Option<u32> {
        let slot = self.ftl.store.log_block_of(Lpn(lpn));
        slot.is_some().then_some(slot.0)
    }

    /// k(L) of every log block.
    pub(crate) fn associativity(&self) -> Vec<u32> {
        let log = &self.ftl.store.log;
        (0..log.slots() as u32).map(|slot| log.associativity(LogSlot(slot))).collect()
    }
}
