//! Page-level mappings from outside the crate: a page store with a lane of its own, and its listener to collections.

use std::collections::{BTreeSet, VecDeque};

use flashloom_ftl::allocation::PagePlace;
use flashloom_ftl::mapping::Context;
use flashloom_ftl::mapping::page_store::{self, CollectionListener, Own, PageStore};
use flashloom_ftl::{CapacityParams, DeclaredLane, FtlSetup, Lane, PageWrite, Space, mapping};
use flashloom_nand::{BlockId, CellMode, HostPage, Lpn, Nand, NandParams, OpId, Origin, PlaneId, Ppn, Region};
use flashloom_units::{ParamSet, Prng};
use flashloom_verify::Verifier;

/// Two planes of that many blocks.
fn space(blocks: u32, over_provisioning: f64) -> Space {
    let two = NandParams { channels: 2, ways: 1, dies: 1, planes: 1, ..NandParams::defaults() };
    let nand = NandParams { blocks, pages: 8, page_bytes: 512, ..two };
    Space::new(nand, &CapacityParams::of(over_provisioning))
}

fn small() -> Space {
    space(24, 0.5)
}

/// The last of all lanes: for the upper half of the pages, and for their survivors.
const UPPER: Lane = Lane::own(Lane::OWN - 1);
const OWN: Own = Own { pages: 0, lanes: &[DeclaredLane::written(UPPER).surviving_in(UPPER)] };

/// A listener: pages that collections are about to move, by plane, and the number of pages moved.
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

    fn moved(&mut self, _plane: PlaneId, lpn: Lpn, _map: &[Ppn]) {
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
        let lane = if is_upper(lpn) { UPPER } else { Lane::HOST };
        let place = PagePlace { plane: PlaneId(lpn % 2), lane };
        let write = PageWrite::new(page, Nand::NO_TAG);
        store.on(&mut nand, &mut announced).write(&write, place, OpId::DONE);
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

/// Pages that the region holds before one of them moves to the other blocks.
const CACHED: u64 = 24;

/// The host writes to a region in another cell mode; when that is full, its oldest page moves out. Some programs fail,
/// and most writes are partial.
#[test]
fn pages_move_between_stores_over_regions_of_one_array() {
    let two = NandParams { channels: 2, ways: 1, dies: 1, planes: 1, ..NandParams::defaults() };
    let params = NandParams { blocks: 26, pages: 8, page_bytes: 2_048, program_failures: 0.0003, ..two };
    let (pages, ftl) = (144, FtlSetup::with_defaults());
    let cells = CellMode { pages: 4, read_ns: 1, program_ns: 1 };
    let regions = [Region::new(0, 9).with_cells(cells), Region::new(9, 17)];
    let mut nand = Nand::new(&params).with_region(&regions[0]).with_failures(&params, &Prng::new(4));
    let mut verifier = Verifier::new(&mut nand, pages);
    let [mut cache, mut rest] = regions.map(|region| {
        let space = Space::of_region(&params, &region, pages);
        let on = Context { space: &space, ftl: &ftl, nand: &nand };
        PageStore::over(&region, &on, &Own::default()).expect("it can be built")
    });
    let (mut queue, mut prng, mut moved) = (VecDeque::new(), Prng::new(8), 0);
    let full = nand.geometry().full_mask();
    for turn in 0..6_000_u32 {
        let lpn = Lpn(prng.below(pages) as u32);
        let mask = if prng.chance(0.3) { full } else { 1 << prng.below(4) };
        if turn % 3 == 0 && (cache.ppn(lpn).is_some() || rest.ppn(lpn).is_some()) {
            verifier.oracle.read_flash(lpn, mask, None);
            let is_cached = cache.read(&mut nand, lpn, mask, OpId::DONE, Nand::NO_TAG);
            assert!(is_cached != rest.read(&mut nand, lpn, mask, OpId::DONE, Nand::NO_TAG), "it is in one of them");
        }
        let is_new = cache.ppn(lpn).is_none();
        while is_new && cache.mapped() >= CACHED {
            let oldest = queue.pop_front().expect("the cache holds pages");
            let place = PagePlace { plane: PlaneId(turn % 2), lane: Lane::HOST };
            let from = cache.array_ppn(oldest);
            assert!(rest.on(&mut nand, &mut ()).take_in(oldest, from, place, Origin::Gc), "there is room");
            assert!(cache.forget(oldest));
            moved += 1;
        }
        let page = HostPage { lpn, mask, write: verifier.oracle.writes() };
        verifier.oracle.written_through(page);
        let (write, elsewhere) = (PageWrite::new(page, Nand::NO_TAG), rest.array_ppn(lpn));
        let place = PagePlace { plane: PlaneId(prng.below(2) as u32), lane: Lane::HOST };
        cache.on(&mut nand, &mut ()).write_over(&write, place, OpId::DONE, elsewhere);
        rest.forget(lpn);
        queue.extend(is_new.then_some(lpn));
        verifier.follow(&mut nand);
    }
    assert_eq!((cache.check(), rest.check(), nand.check(), verifier.check()), (Ok(()), Ok(()), Ok(()), Ok(())));
    assert_eq!((cache.check_loaded(&nand), rest.check_loaded(&nand)), (Ok(()), Ok(())));
    let failed: u64 = nand.counts().failed_programs.iter().sum();
    assert!(
        moved > 1_000 && failed > 0 && !cache.is_worn_out() && !rest.is_worn_out(),
        "{moved} moved, {failed} failed"
    );
    let both = cache.report().and(&rest.report());
    let programs: u64 = nand.counts().programs.iter().sum();
    assert_eq!(both.host_page_writes + both.page_copies + failed, programs, "every program is counted once");
}
