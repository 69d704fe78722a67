//! The kit of page-level mappings from outside the crate: a store with a lane of its own, and what it tells of
//! collections.

use std::collections::BTreeSet;

use flashloom_ftl::allocation::Place;
use flashloom_ftl::mapping::Context;
use flashloom_ftl::mapping::page_store::{self, CollectionListener, Own, PageStore};
use flashloom_ftl::{CapacityParams, DeclaredLane, FtlSetup, Lane, PageWrite, Space, mapping};
use flashloom_nand::{BlockId, HostPage, Lpn, Nand, NandParams, OpId, PlaneId};
use flashloom_units::{ParamSet, Prng};
use flashloom_verify::Verifier;

/// Two planes of so many blocks.
fn space(blocks: u32, over_provisioning: f64) -> Space {
    let two = NandParams { channels: 2, ways: 1, dies: 1, planes: 1, ..NandParams::defaults() };
    let nand = NandParams { blocks, pages: 8, page_bytes: 512, ..two };
    Space::new(nand, &CapacityParams { over_provisioning })
}

fn small() -> Space {
    space(24, 0.5)
}

/// The upper half of the pages is kept apart, and so is what survives of it.
const OWN: Own = Own { pages: 0, lanes: &[DeclaredLane::written(Lane::Own).surviving_in(Lane::Own)] };

/// What collections are about to move, by plane, and how many pages they moved.
#[derive(Default)]
struct Announced {
    valid: BTreeSet<u32>,
    begun: u32,
    moved: u32,
}

impl CollectionListener for Announced {
    fn begins(&mut self, _nand: &mut Nand, store: &PageStore, victim: BlockId) {
        let lpns: Vec<u32> = store.valid_pages(victim).map(|lpn| lpn.0).collect();
        let upper = lpns.iter().filter(|&&lpn| is_upper(lpn)).count();
        assert!(upper == 0 || upper == lpns.len(), "no block holds pages of both lanes: {lpns:?}");
        self.valid.extend(lpns);
        self.begun += 1;
    }

    fn moved(&mut self, _plane: PlaneId, lpn: Lpn) {
        assert!(self.valid.contains(&lpn.0), "page {} was valid when its collection began", lpn.0);
        self.moved += 1;
    }

    fn ended(&mut self, _plane: PlaneId) {}
}

fn is_upper(lpn: u32) -> bool {
    u64::from(lpn) >= small().logical_pages / 2
}

#[test]
fn a_lane_of_its_own_keeps_pages_apart_and_every_collection_is_announced() {
    let (space, ftl) = (small(), FtlSetup::with_defaults());
    let mut nand = Nand::new(&space.nand);
    let mut verifier = Verifier::new(&mut nand, space.logical_pages);
    let mut store = PageStore::new(&Context { space: &space, ftl: &ftl, nand: &nand }, &OWN).expect("it can be built");
    let (mut announced, mut prng) = (Announced::default(), Prng::new(3));
    let mask = nand.geometry().full_mask();
    for _ in 0..4_000 {
        let lpn = prng.below(space.logical_pages) as u32;
        let page = HostPage { lpn: Lpn(lpn), mask, write: verifier.oracle.writes() };
        verifier.oracle.written_through(page);
        let lane = if is_upper(lpn) { Lane::Own } else { Lane::Host };
        let place = Place { plane: PlaneId(lpn % 2), lane };
        store.write(&mut nand, &PageWrite::new(page, Nand::NO_TAG), place, OpId::DONE, &mut announced);
        verifier.follow(&mut nand);
    }
    assert_eq!((store.check(), nand.check(), verifier.check()), (Ok(()), Ok(()), Ok(())));
    assert!(announced.begun > 100 && announced.moved > 100);
}

#[test]
fn a_declared_lane_needs_a_block_more_in_every_plane() {
    let ftl = FtlSetup::with_defaults();
    let fits = |blocks: u32, own: &Own| {
        page_store::profile(&mapping::Site { space: &space(blocks, 0.25), ftl: &ftl }, own).is_ok()
    };
    let least = |own: &Own| (4..64).find(|&blocks| fits(blocks, own)).expect("a large drive holds it");
    assert!(least(&OWN) > least(&Own::default()));
}
