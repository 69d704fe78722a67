//! What the tests of whole FTLs share: one on an array in counting mode, and a model of what it must hold.
#![allow(dead_code, missing_docs)]

use std::collections::BTreeMap;

use flashloom_ftl::{FtlReport, FtlSetup, Mapping, MergeReport, PageWrite, mapping};
use flashloom_nand::{DeviceParams, Expect, Nand, Origin, Payload};
use flashloom_units::{Lpn, ParamSet, Prng, Value};

/// One of some things.
pub fn pick<T: Copy>(prng: &mut Prng, from: &[T]) -> T {
    from[prng.below(from.len() as u64) as usize]
}

/// The number in an environment variable, if it is set.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a whole number"))
}

/// A drive of one chip that has `logical_blocks` logical blocks of `pages` pages and `spare_blocks` blocks more.
pub fn chip(logical_blocks: u32, spare_blocks: u32, pages: u32) -> DeviceParams {
    let blocks = logical_blocks + spare_blocks;
    // Half a page more than the logical ones, so that rounding down gives exactly those.
    let over_provisioning = f64::from(blocks * pages) / (f64::from(logical_blocks * pages) + 0.5) - 1.0;
    DeviceParams {
        channels: 1,
        ways: 1,
        dies: 1,
        planes: 1,
        blocks,
        pages,
        page_bytes: 512,
        over_provisioning,
        ..DeviceParams::defaults()
    }
}

/// The default FTL but for its mapping, which has those parameters.
pub fn with_mapping(mapping: &str, set: &[(&str, Value)]) -> FtlSetup {
    let mapping = mapping::builtin().choose(mapping, set).expect("the mapping takes these parameters");
    FtlSetup { mapping, ..FtlSetup::with_defaults() }
}

/// An FTL on its array, and the stamps of the sectors of every page that the host has written.
pub struct Ftl {
    pub nand: Nand,
    mapping: Box<dyn Mapping>,
    model: BTreeMap<u32, [u32; 32]>,
    logical_pages: u32,
    verified: bool,
}

impl Ftl {
    pub fn new(device: &DeviceParams, setup: &FtlSetup, verified: bool) -> Self {
        let nand = Nand::new(device, verified);
        let mapping = setup.build(device, &nand).expect("the FTL goes with the device");
        Self { nand, mapping, model: BTreeMap::new(), logical_pages: device.logical_pages() as u32, verified }
    }

    /// One on which every page was written in order, with counters at zero.
    pub fn filled(device: &DeviceParams, setup: &FtlSetup, verified: bool) -> Self {
        let mut ftl = Self::new(device, setup, verified);
        let mask = ftl.nand.geometry().full_mask();
        (0..ftl.logical_pages).for_each(|lpn| ftl.write(&[(lpn, mask)]));
        ftl.mapping.reset_report();
        ftl.nand.reset_counts();
        ftl
    }

    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Writes sectors of pages together.
    pub fn write(&mut self, pages: &[(u32, u32)]) {
        let writes: Vec<PageWrite> = pages.iter().map(|&(lpn, mask)| self.page_write(lpn, mask)).collect();
        self.mapping.write(&mut self.nand, &writes);
    }

    fn page_write(&mut self, lpn: u32, mask: u32) -> PageWrite {
        let mut payload = Payload::NONE;
        if let Some(verifier) = self.nand.verifier() {
            let stamp = verifier.host_write(Lpn(lpn), mask);
            payload = verifier.payload([stamp; 32]);
            let held = self.model.entry(lpn).or_insert([0; 32]);
            (0..32).filter(|sector| mask >> sector & 1 == 1).for_each(|sector| held[sector] = stamp);
        }
        PageWrite { lpn: Lpn(lpn), mask, payload, tag: Nand::NO_TAG }
    }

    /// Reads a page, which must hold what the model says, and be mapped if the model has it.
    pub fn read(&mut self, lpn: u32) {
        let (mask, held) = (self.nand.geometry().full_mask(), self.model.get(&lpn));
        let verifier = self.nand.verifier().expect("reads are compared in verified runs");
        let expect = held.map_or(Expect::Anything, |stamps| Expect::Stamps(verifier.payload(*stamps)));
        let found = self.mapping.read(&mut self.nand, Lpn(lpn), mask, expect, Nand::NO_TAG);
        assert_eq!(found, self.model.contains_key(&lpn), "page {lpn} is mapped if it was written and not trimmed");
    }

    pub fn trim(&mut self, lpn: u32) {
        if let Some(verifier) = self.nand.verifier() {
            verifier.host_discard(Lpn(lpn));
        }
        self.mapping.trim(&mut self.nand, Lpn(lpn));
        self.model.remove(&lpn);
    }

    pub fn idle(&mut self) -> bool {
        self.mapping.idle(&mut self.nand)
    }

    pub fn report(&self) -> FtlReport {
        self.mapping.report()
    }

    pub fn merges(&self) -> MergeReport {
        *self.report().merges.expect("a log-block mapping reports merges")
    }

    /// The accounts agree with each other, and in a verified run the map with the model.
    pub fn check(&self) {
        self.mapping.check().expect("the mapping adds up");
        self.nand.check().expect("every command was legal, and every sector as expected");
        let (report, programs) = (self.report(), self.nand.counts().programs);
        assert_eq!(report.host_page_writes, programs[Origin::Host as usize]);
        assert_eq!(report.host_page_writes + report.other_programs(), programs.iter().sum());
        assert_eq!(report.block_erases, self.nand.counts().erases.iter().sum());
        if self.verified {
            let unlike = |&lpn: &u32| self.mapping.is_mapped(Lpn(lpn)) != self.model.contains_key(&lpn);
            assert_eq!((0..self.logical_pages).find(unlike), None, "a page is mapped, or not, unlike in the model");
        }
    }
}
