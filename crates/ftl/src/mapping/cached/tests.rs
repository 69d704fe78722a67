//! A small drive with a map on flash, on which every write and read is checked.

use flashloom_nand::{HostPage, NandParams};
use flashloom_units::{ParamSet, Parameters, Value};
use flashloom_verify::Verifier;

use super::*;
use crate::mapping::builtin;
use crate::{CapacityParams, FtlSetup, Space};

pub struct Lab<M> {
    pub nand: Nand,
    pub verifier: Verifier,
    pub state: PageLevel<M>,
}

impl<M: Map> Lab<M> {
    /// Two planes of that many blocks, and pages of 512 bytes, so that a translation page has 128 entries.
    pub fn new(mapping: &str, blocks: u32, cache_bytes: impl Fn(&Space) -> u64) -> Self {
        let shape = NandParams { channels: 2, ways: 1, dies: 1, planes: 1, ..NandParams::defaults() };
        let params = NandParams { blocks, pages: 16, page_bytes: 512, ..shape };
        let space = Space::new(params, &CapacityParams::of(0.5));
        let mut nand = Nand::new(&space.nand);
        let verifier = Verifier::new(&mut nand, space.logical_pages);
        let set = [("cache", Value::Size(cache_bytes(&space)))];
        let mapping = builtin().choose(mapping, &set).expect("it has a cache");
        let ftl = FtlSetup { mapping, ..FtlSetup::with_defaults() };
        let on = Context { space: &space, ftl: &ftl, nand: &nand };
        let state = PageLevel::new(Parameters::of(ftl.mapping.values()), &on).expect("it can be built");
        Self { nand, verifier, state }
    }

    /// Writes pages; returns the map.
    pub fn write(&mut self, lpns: impl IntoIterator<Item = u32>) -> &M {
        for lpn in lpns {
            let page = HostPage { lpn: Lpn(lpn), mask: 1, write: self.verifier.oracle.writes() };
            self.verifier.oracle.written_through(page);
            self.state.write(&mut self.nand, &[PageWrite::new(page, Nand::NO_TAG)]);
            self.verifier.follow(&mut self.nand);
        }
        self.checked()
    }

    /// Reads pages; returns the map.
    pub fn read(&mut self, lpns: impl IntoIterator<Item = u32>) -> &M {
        for lpn in lpns {
            self.verifier.oracle.read_flash(Lpn(lpn), 1, None);
            self.state.read(&mut self.nand, Lpn(lpn), 1, Nand::NO_TAG);
            self.verifier.follow(&mut self.nand);
        }
        self.checked()
    }

    fn checked(&self) -> &M {
        assert_eq!((self.state.check(), self.nand.check(), self.verifier.check()), (Ok(()), Ok(()), Ok(())));
        &self.state.map
    }
}
