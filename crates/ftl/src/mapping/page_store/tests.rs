//! The example of the SLAP paper, and rules of the page store that are visible only inside.

use flashloom_nand::{BlockId, HostPage, Lpn, Nand, NandParams, OpId, Origin, PlaneId, Ppn, Urgency};
use flashloom_units::{ParamSet, Prng, Value};
use flashloom_verify::Verifier;

use super::strategy::Copies;
use super::{CollectionListener, Own, PageStore};
use crate::allocation;
use crate::lane::Lane;
use crate::mapping::Context;
use crate::store::BlockState;
use crate::{CapacityParams, FtlSetup, GcBlocks, HotCold, PageWrite, Space, WearLevelling};

/// A listener that records the pages moved by collections, in order.
#[derive(Default)]
struct Moved(Vec<u32>);

impl CollectionListener for Moved {
    fn moved(&mut self, _plane: PlaneId, lpn: Lpn, _map: &[Ppn]) {
        self.0.push(lpn.0);
    }

    fn ended(&mut self, _plane: PlaneId) {}
}

fn setup(allocation: &str, set: &[(&str, Value)]) -> FtlSetup {
    let allocation = allocation::builtin().choose(allocation, set).expect("the allocation takes these parameters");
    FtlSetup { allocation, ..FtlSetup::with_defaults() }
}

fn chips(chips: u32, blocks: u32, pages: u32, over_provisioning: f64) -> Space {
    let channel = NandParams { ways: 1, dies: 1, planes: 1, blocks, pages, page_bytes: 512, ..NandParams::defaults() };
    Space::new(NandParams { channels: chips, ..channel }, &CapacityParams::of(over_provisioning))
}

struct Lab {
    nand: Nand,
    verifier: Verifier,
    store: PageStore,
    moved: Moved,
}

impl Lab {
    fn new(space: &Space, setup: &FtlSetup) -> Self {
        let mut nand = Nand::new(&space.nand);
        let verifier = Verifier::new(&mut nand, space.logical_pages);
        let store = PageStore::new(&Context { space, ftl: setup, nand: &nand }, &Own::default());
        Self { store: store.expect("it can be built"), nand, verifier, moved: Moved::default() }
    }

    fn write(&mut self, lpns: &[u32]) {
        let mask = self.nand.geometry().full_mask();
        let writes: Vec<PageWrite> = lpns
            .iter()
            .map(|&lpn| {
                let page = HostPage { lpn: Lpn(lpn), mask, write: self.verifier.oracle.writes() };
                self.verifier.oracle.written_through(page);
                PageWrite::new(page, Nand::NO_TAG)
            })
            .collect();
        self.store.place(&writes);
        for (index, write) in writes.iter().enumerate() {
            let place = self.store.placed(index);
            self.store.on(&mut self.nand, &mut self.moved).write(write, place, OpId::DONE);
        }
        self.check();
    }

    fn check(&mut self) {
        self.verifier.follow(&mut self.nand);
        assert_eq!((self.nand.check(), self.verifier.check()), (Ok(()), Ok(())));
        assert_eq!(self.store.check(), Ok(()));
    }

    /// Closes all full open blocks. In a run a full block is closed only when its lane opens the next one.
    fn close_full(&mut self) {
        let PageStore { frontiers, blocks, collector, .. } = &mut self.store;
        for open in frontiers.all_mut().iter_mut().map(|frontier| &mut frontier.block) {
            if open.is_some() && blocks.is_full(*open) {
                blocks.set_state(*open, BlockState::Closed);
                collector.policy.closed(*open, blocks.valid_of(*open));
                *open = BlockId::NONE;
            }
        }
    }

    /// Collects every full block with a dead page.
    fn collect_all(&mut self) {
        self.close_full();
        for plane in (0..self.nand.geometry().total_planes()).map(PlaneId) {
            let mut cursor = self.store.on(&mut self.nand, &mut self.moved);
            while cursor.begin(plane) {
                while cursor.step(plane, 1, Urgency::Needed) > 0 {}
            }
        }
        self.check();
    }
}

/// Figures 2 and 3 of the paper: four chips of four blocks of four pages, empty at first.
///
/// The drawings are not in the text, which gives: D1 on the first chip and D2 on the second; the streams D7-D10,
/// D11-D14 and D22-D25; and seven pages copied under interleaving. Sixteen pages, these seven and nine that are
/// deleted, fill the first block of each chip. The order used here leaves the valid pages (D1, D38), (D2, D39), (D22,
/// D37), (D23) on the chips, which is the order of the text; D24 and D25 of the third stream follow. SLAP copies three
/// pages only if the block of D15 is full and three of its pages stay valid, so the buffer is assumed to hold eight
/// more pages without neighbours. The figure has none of the spare blocks that a drive usually keeps for collection.
fn figure(allocation: &str) -> (Vec<u32>, u64) {
    const BUFFER: [u32; 26] =
        [1, 2, 7, 8, 9, 10, 11, 12, 13, 14, 22, 23, 38, 39, 37, 15, 24, 25, 42, 44, 46, 48, 50, 52, 54, 56];
    let mut lab = Lab::new(&chips(4, 4, 4, 0.07), &setup(allocation, &[]));
    lab.store.planes.iter_mut().for_each(|plane| plane.room = 16);
    lab.write(&BUFFER);
    (7..=15).for_each(|lpn| lab.store.trim(Lpn(lpn)));
    lab.collect_all();
    let report = lab.store.report();
    assert_eq!(report.page_copies, lab.moved.0.len() as u64);
    (lab.moved.0, report.block_erases)
}

#[test]
fn slap_figure_2_interleaving_copies_seven_pages_and_erases_four_blocks() {
    assert_eq!(figure("interleave"), (vec![1, 38, 2, 39, 22, 37, 23], 4));
}

#[test]
fn slap_figure_3_streams_leave_three_copies_and_three_erases() {
    let (copied, erases) = figure("slap");
    assert_eq!((copied.len(), erases), (3, 3), "{copied:?}");
    assert!(copied.contains(&2), "the block of D15 holds D2: {copied:?}");
}

/// Rewrites random pages on a drive of a few planes, to test where pages are placed.
fn worked(setup: &FtlSetup, lpns: impl Fn(&mut Prng) -> Vec<u32>) -> Lab {
    let space = chips(2, 24, 8, 1.0);
    let mut lab = Lab::new(&space, setup);
    let mut prng = Prng::new(9);
    for first in (0..space.logical_pages as u32).step_by(8) {
        lab.write(&(first..(first + 8).min(space.logical_pages as u32)).collect::<Vec<_>>());
    }
    for _ in 0..2_000 {
        let lpns = lpns(&mut prng);
        lab.write(&lpns);
    }
    lab
}

/// The plane follows from the address as long as every plane has room for its share, and survivors stay on it.
#[test]
fn static_pages_are_on_the_plane_of_their_address_after_any_overwrites() {
    for (layout, plane_of) in [("striped", (|lpn| lpn % 2) as fn(u32) -> u32), ("contiguous", |lpn| lpn / 96)] {
        let setup = setup("static", &[("layout", Value::Name(layout))]);
        let lab = worked(&setup, |prng| vec![prng.below(192) as u32]);
        assert!(lab.store.report().page_copies > 100, "{layout}: collections have moved pages");
        let geometry = lab.nand.geometry();
        for lpn in 0..192 {
            let plane = geometry.plane_of(geometry.block_of(lab.store.ppn(Lpn(lpn))));
            assert_eq!(plane.0, plane_of(lpn), "{layout}: page {lpn}");
        }
    }
}

/// The lanes that have blocks with pages.
fn lanes_used(lab: &Lab) -> Vec<Lane> {
    let geometry = lab.nand.geometry();
    let mut lanes: Vec<Lane> = Vec::new();
    for ppn in lab.store.pages.map().iter().filter(|ppn| ppn.is_some()) {
        let lane = lab.store.opened_for[geometry.block_of(*ppn).at()];
        if !lanes.contains(&lane) {
            lanes.push(lane);
        }
    }
    lanes.sort_by_key(|&lane: &Lane| lane.at());
    lanes
}

fn runs_and_single_pages(prng: &mut Prng) -> Vec<u32> {
    let first = prng.below(180) as u32;
    if prng.chance(0.5) { (first..first + 4).collect() } else { vec![first] }
}

#[test]
fn slap_isolation_keeps_survivors_of_streams_in_blocks_of_their_own() {
    let lanes = |gc_blocks, isolation| {
        let mut setup = setup("slap", &[("gc_isolation", Value::Flag(isolation))]);
        setup.params.gc_blocks = gc_blocks;
        lanes_used(&worked(&setup, runs_and_single_pages))
    };
    assert_eq!(lanes(GcBlocks::Shared, false), [Lane::HOST, Lane::STREAM]);
    assert_eq!(lanes(GcBlocks::Separate, false), [Lane::HOST, Lane::COLLECTED, Lane::STREAM]);
    let isolated = [Lane::HOST, Lane::COLLECTED, Lane::STREAM, Lane::COLLECTED_STREAM];
    assert_eq!(lanes(GcBlocks::Shared, true), isolated);
    assert_eq!(lanes(GcBlocks::Separate, true), isolated);
}

#[test]
fn hot_pages_are_written_to_a_lane_of_their_own() {
    let mut separated = setup("interleave", &[]);
    separated.params.hot_cold = HotCold::MultiHash;
    let lab = worked(&separated, |prng| {
        let span = if prng.chance(0.9) { 8 } else { 180 };
        vec![prng.below(span) as u32]
    });
    let hot = lab.store.report().hot_page_writes.expect("they are counted");
    assert!((1_200..2_000).contains(&hot), "{hot} of about 1800 writes to eight pages, and few others");
    assert!(lanes_used(&lab).contains(&Lane::HOT));
}

#[test]
fn static_levelling_bounds_the_spread_that_cold_data_causes() {
    let spread = |levelling| {
        let mut levelled = setup("interleave", &[]);
        (levelled.params.wear_levelling, levelled.params.wear_threshold) = (levelling, 4);
        let lab = worked(&levelled, |prng| (0..16).map(|_| prng.below(16) as u32).collect());
        let erases = lab.nand.erase_counts();
        let moves = lab.store.report().wear_moves;
        assert_eq!(lab.nand.counts().erases[Origin::Wear as usize], moves.unwrap_or(0), "every move ends in an erase");
        (erases.iter().max().unwrap() - erases.iter().min().unwrap(), moves)
    };
    let (dynamic, none) = spread(WearLevelling::Dynamic);
    let (levelled, moves) = spread(WearLevelling::Static);
    assert!(none.is_none() && moves.is_some_and(|moves| moves > 10), "{moves:?}");
    assert!(dynamic > 100 && levelled <= 8, "a spread of {dynamic} erases without, {levelled} with a threshold of 4");
}

/// The even pages die, so the odd ones of every stream survive its collection.
#[test]
fn slap_spreads_survivors_of_streams_that_are_read_a_lot_over_the_chips() {
    let planes_of_survivors = |reads: u32| {
        let reorganizing = setup("slap", &[("read_reorganization", Value::Flag(true))]);
        let mut lab = Lab::new(&chips(4, 16, 4, 1.0), &reorganizing);
        // Two streams of one block each on every chip: the second closes the block of the first.
        lab.write(&(0..32).collect::<Vec<_>>());
        for _ in 0..reads {
            (0..4).for_each(|lpn| {
                lab.verifier.oracle.read_flash(Lpn(lpn), 1, None);
                lab.store.read(&mut lab.nand, Lpn(lpn), 1, OpId::DONE, Nand::NO_TAG);
                lab.verifier.follow(&mut lab.nand);
            });
        }
        [0, 2].into_iter().for_each(|lpn| lab.store.trim(Lpn(lpn)));
        let plane = PlaneId(0);
        let mut cursor = lab.store.on(&mut lab.nand, &mut lab.moved);
        assert!(cursor.begin(plane));
        while cursor.step(plane, 1, Urgency::Needed) > 0 {}
        lab.check();
        assert_eq!(lab.moved.0, [1, 3]);
        let geometry = *lab.nand.geometry();
        let planes = [1, 3].map(|lpn| geometry.plane_of(geometry.block_of(lab.store.ppn(Lpn(lpn)))).0);
        (planes, lab.store.figures().of(&allocation::SLOT)[0].whole())
    };
    assert_eq!(planes_of_survivors(1), ([0, 0], Some(0)), "read once a page: it stays together");
    assert_eq!(planes_of_survivors(2), ([1, 2], Some(2)), "read twice a page: each page goes to the next plane");
}

/// Random overwrites of nine tenths of the pages: the plane of each, the array's counters, and the pages moved.
#[test]
fn copies_in_a_row_are_those_that_are_made_one_at_a_time() {
    let written = |in_a_row: bool| {
        let space = chips(4, 16, 24, 0.3);
        let mut nand = Nand::new(&space.nand);
        let setup = FtlSetup::with_defaults();
        let store = PageStore::new(&Context { space: &space, ftl: &setup, nand: &nand }, &Own::default());
        let mut store = store.expect("it can be built");
        let copies = &mut store.collector.strategy.copies;
        assert_eq!(*copies, Copies::InARow);
        if !in_a_row {
            *copies = Copies::OneByOne;
        }
        let (mut moved, mut prng) = (Moved::default(), Prng::new(3));
        for _ in 0..20_000 {
            let page = HostPage { lpn: Lpn(prng.below(space.logical_pages * 9 / 10) as u32), mask: 1, write: 0 };
            let write = PageWrite::new(page, Nand::NO_TAG);
            store.place(&[write]);
            let place = store.placed(0);
            store.on(&mut nand, &mut moved).write(&write, place, OpId::DONE);
        }
        assert_eq!((store.check(), nand.check()), (Ok(()), Ok(())));
        (store.pages.map().to_vec(), moved.0, nand.counts().programs, nand.counts().reads, nand.erase_counts().to_vec())
    };
    assert!(written(true) == written(false));
}
