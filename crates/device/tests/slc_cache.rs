//! The SLC cache: what it takes and for how long against forms on paper, and random drives with every check on.

use crate::random_operations::run_on;
use crate::support::random::{pick, random_setup, seeds_asked_for, with_cache};
use crate::support::{Run, channel_ns, link_ns, pages, plain_nand, plain_with, request, unbuffered};
use flashloom_device::{Cause, DriveSetup, Outcome};
use flashloom_ftl::{SlcCacheKind, SlcReport, Superblock, WhenFull};
use flashloom_nand::{ByOrigin, NandParams, Origin};
use flashloom_units::{MS, Ns, Prng, US};
use flashloom_workload::{Op, Pace, Request};

/// tR and tPROG of this drive's blocks in SLC mode.
const SLC_READ: Ns = 20 * US;
const SLC_PROGRAM: Ns = 100 * US;

/// One plane of 30 blocks of 12 pages, three bits per cell.
fn nand() -> NandParams {
    let (slc_read_ns, slc_program_ns) = (Some(SLC_READ), Some(SLC_PROGRAM));
    let plain = NandParams { channels: 1, ways: 1, blocks: 30, pages: 12, ..plain_nand() };
    NandParams { bits_per_cell: 3, program_ns: MS, slc_read_ns, slc_program_ns, ..plain }
}

fn setup(kind: SlcCacheKind) -> DriveSetup {
    let mut setup = unbuffered(plain_with(nand(), 1.0));
    setup.ftl.params.slc_cache = kind;
    setup.ftl.params.slc_static_share = 0.2;
    setup
}

fn empty(setup: DriveSetup) -> Run {
    Run { fill: false, pace: Pace::Closed(1), queue_depth: 1, ..Run::new(setup) }
}

fn writes(lpns: impl IntoIterator<Item = u64>) -> Vec<Request> {
    pages(Op::Write, 0, lpns)
}

/// Requests that come by their timestamps, to a drive whose background work begins after a millisecond.
fn timed(setup: DriveSetup) -> Run {
    Run { pace: Pace::Timestamps(1.0), idle_delay_ns: MS, ..empty(setup) }
}

/// Time of a read or a write of a page on the idle drive, whose array operation takes so long.
fn access_ns(program_ns: Ns) -> Ns {
    let device = plain_with(nand(), 1.0);
    link_ns(&device) + channel_ns(&device) + program_ns
}

fn cache(outcome: &Outcome) -> SlcReport {
    outcome.ftl.slc_cache.expect("the drive has a cache")
}

/// Six blocks of four pages: a burst of 24 pages takes 24 times tPROG of SLC mode, and the next page that of TLC.
#[test]
fn a_burst_of_the_caches_size_takes_the_time_of_slc_programs() {
    let time = |kind, pages| empty(setup(kind)).run(writes(0..pages)).host.duration_ns;
    assert_eq!(time(SlcCacheKind::Static, 24), 24 * access_ns(SLC_PROGRAM));
    assert_eq!(time(SlcCacheKind::Static, 25), 24 * access_ns(SLC_PROGRAM) + access_ns(MS));
    assert_eq!(time(SlcCacheKind::None, 24), 24 * access_ns(MS));
}

/// A plane of 30 blocks keeps 2 free and 2 for lanes open at all times, and the cache's open block: room for 25 blocks
/// of 12 pages. Of an empty drive all of that is free, so 25 blocks of 4 pages are in the cache's limit; a second free
/// block stays for the others, which leaves 28 that it could have.
#[test]
fn a_dynamic_cache_takes_its_share_of_the_free_space() {
    let mut dynamic = setup(SlcCacheKind::Dynamic);
    let cached = |setup: &DriveSetup, pages| cache(&empty(setup.clone()).run(writes(0..pages))).cached_writes;
    assert_eq!(cached(&dynamic, 150), 25 * 4);
    dynamic.ftl.params.slc_dynamic_share = 0.5;
    assert_eq!(cached(&dynamic, 150), 12 * 4);
    dynamic.ftl.params.slc_dynamic_share = 0.0;
    assert_eq!(cached(&dynamic, 150), 0);
}

/// Of the 300 pages that the plane has room for, those that an earlier burst left behind, folded by now, are taken: the
/// next burst finds a block less for every 12 of them. A static cache has its six blocks whatever the drive holds.
#[test]
fn a_dynamic_cache_shrinks_as_the_drive_fills_and_a_static_one_stays() {
    for (mapped, blocks) in [(12, 24), (13, 23), (60, 20), (84, 18)] {
        let second = |kind, in_cache| {
            let burst =
                |at: Ns, first: u64, pages| (first..first + pages).map(move |page| request(at, Op::Write, 8 * page, 8));
            let outcome = timed(setup(kind)).run(burst(0, 0, mapped).chain(burst(100_000 * MS, mapped, in_cache + 5)));
            let first = if kind == SlcCacheKind::Static { mapped.min(24) } else { mapped };
            assert_eq!(cache(&outcome).folded_pages, first, "of the first burst, and once each");
            (cache(&outcome).cached_writes - first, cache(&outcome).writes_beside - (mapped - first))
        };
        assert_eq!(second(SlcCacheKind::Dynamic, blocks * 4), (blocks * 4, 5), "beside {mapped} pages");
        assert_eq!(second(SlcCacheKind::Static, 24), (24, 5), "beside {mapped} pages");
    }
}

/// The knee of a sequential fill lies where the form puts it. With `beside` the cache's pages take tPROG of SLC mode,
/// and every page after them tPROG. With `fold` the cache first fills; then every block of 4 pages waits for at least 4
/// copies and an erase.
#[test]
fn a_fill_of_the_drive_has_its_knees_at_the_caches_size() {
    let ended = |setup: &DriveSetup, pages| empty(setup.clone()).run(writes(0..pages)).host.duration_ns;
    let mut setup = setup(SlcCacheKind::Dynamic);
    let rate = |setup: &DriveSetup, from, to| (ended(setup, to) - ended(setup, from)) / (to - from);
    assert_eq!(rate(&setup, 0, 100), access_ns(SLC_PROGRAM), "25 blocks of 4 pages");
    assert_eq!(rate(&setup, 100, 120), access_ns(MS), "beside the cache");
    setup.ftl.params.slc_when_full = WhenFull::Fold;
    assert_eq!(rate(&setup, 0, 100), access_ns(SLC_PROGRAM));
    let copy_ns = SLC_READ + MS + 2 * nand().timing().transfer_ns(8);
    let folding_ns = access_ns(SLC_PROGRAM) + copy_ns + nand().erase_ns / 4;
    let folded_ns = rate(&setup, 100, 140);
    assert!(folded_ns >= folding_ns && folded_ns < 2 * folding_ns, "{folded_ns} ns a page, and {folding_ns} at least");
}

/// Half of the free space: 12 blocks of 4 pages in SLC mode, 18 blocks free. Pages go beside the cache until fewer than
/// 0.2 of the 30 blocks are free: 12 blocks and the first page of a 13th. From then on a block is folded for every four
/// pages, which go to the cache.
#[test]
fn pages_go_beside_the_cache_until_few_blocks_are_free() {
    let mut setup = setup(SlcCacheKind::Dynamic);
    setup.device.capacity.over_provisioning = 0.25;
    setup.ftl.params.slc_dynamic_share = 0.5;
    let took = |setup: &DriveSetup, pages| {
        let outcome = empty(setup.clone()).run(writes(0..pages));
        let SlcReport { cached_writes, writes_beside, folded_blocks, folded_pages } = cache(&outcome);
        ([cached_writes, writes_beside, folded_blocks, folded_pages], outcome.host.duration_ns)
    };
    assert_eq!(took(&setup, 240).0, [48, 192, 0, 0], "without a threshold");
    setup.ftl.params.slc_fold_threshold = 0.2;
    for (pages, expected) in [
        (48, [48, 0, 0, 0]),
        (48 + 145, [48, 145, 0, 0]),
        (48 + 146, [49, 145, 1, 4]),
        (48 + 149, [52, 145, 1, 4]),
        (48 + 150, [53, 145, 2, 8]),
        (48 + 154, [57, 145, 3, 12]),
    ] {
        assert_eq!(took(&setup, pages).0, expected, "{pages} pages");
    }
    let duration = |pages| took(&setup, pages).1;
    assert_eq!(duration(193) - duration(48), 145 * access_ns(MS));
    // Four pages and one block folded: the die's time, and at most as much more as the transfers take.
    let busy_ns = 4 * (SLC_PROGRAM + SLC_READ + MS) + nand().erase_ns;
    let (cycle_ns, transfer_ns) = (duration(202) - duration(198), nand().timing().transfer_ns(8));
    assert!(cycle_ns >= busy_ns && cycle_ns < busy_ns + 16 * transfer_ns, "{cycle_ns} ns, {busy_ns} of the die");
}

/// The planes of an array have a cache each, and superblocks one of whole superblocks: eight planes of six blocks of
/// four pages hold 192 pages, whichever way. The next page that any of them takes is past its cache.
#[test]
fn the_caches_of_all_planes_are_full_at_the_same_byte() {
    for superblock in [Superblock::None, Superblock::Die] {
        let mut setup = setup(SlcCacheKind::Static);
        setup.device.nand = NandParams { channels: 2, ways: 2, planes: 2, ..nand() };
        setup.ftl.params.superblock = superblock;
        let past = |pages| cache(&empty(setup.clone()).run(writes(0..pages))).writes_beside;
        assert_eq!((past(192), past(193), past(200)), (0, 1, 8), "{superblock:?}");
    }
}

/// A page read from the cache takes tR of SLC mode.
#[test]
fn reads_of_the_cache_take_the_time_of_slc_reads() {
    let outcome = |kind| empty(setup(kind)).run([writes([0]), pages(Op::Read, 0, [0])].concat());
    assert_eq!(outcome(SlcCacheKind::Static).host.read_latency.max(), access_ns(SLC_READ));
    assert_eq!(outcome(SlcCacheKind::None).host.read_latency.max(), access_ns(nand().read_ns));
}

/// Pages overwritten in the cache are not copied, and a pause empties the cache for the next burst.
#[test]
fn what_was_overwritten_costs_no_copy_and_a_pause_restores_the_cache() {
    for kind in [SlcCacheKind::Static, SlcCacheKind::Dynamic] {
        // Four pages, six times each: five in six are dead when the drive is idle.
        let burst = |at: Ns| (0..24).map(move |page| request(at, Op::Write, 8 * (page % 4), 8));
        let mut setup = setup(kind);
        setup.ftl.params.slc_flush_delay_ns = 10 * MS;
        let outcome = timed(setup).run(burst(0).chain(burst(1_000 * MS)));
        assert_eq!(outcome.ftl.slc_cache.map(|cache| cache.writes_beside), Some(0), "{kind:?}");
        assert_eq!(cache(&outcome).cached_writes, 48);
        assert_eq!((cache(&outcome).folded_pages, outcome.counts.programs[Origin::Fold as usize]), (4, 4));
        assert_eq!(outcome.counts.erases[Origin::Fold as usize], 6, "{kind:?}");
    }
}

/// After a pause in which the cache is folded a burst takes what the first one took, to the nanosecond. After a shorter
/// one it finds the cache full, and every page takes tPROG of the full cells.
#[test]
fn a_burst_after_a_pause_is_as_fast_as_the_first() {
    let slowest = |pause_ns: Ns| {
        let burst = |at: Ns, first: u64| (first..first + 24).map(move |page| request(at, Op::Write, 8 * page, 8));
        let mut setup = setup(SlcCacheKind::Static);
        setup.ftl.params.slc_flush_delay_ns = 400 * MS;
        timed(setup).run(burst(0, 0).chain(burst(pause_ns, 24))).host.write_latency.max()
    };
    let folded_ns = 24 * (SLC_READ + MS + 2 * nand().timing().transfer_ns(8)) + 6 * nand().erase_ns;
    assert_eq!(slowest(24 * access_ns(SLC_PROGRAM) + 400 * MS + folded_ns), 24 * access_ns(SLC_PROGRAM));
    assert_eq!(slowest(300 * MS), 24 * access_ns(MS));
}

/// The fold of a page takes its read and its program once, and each block one erase: nothing else occupies the die.
#[test]
fn a_fold_takes_a_read_and_a_program_for_every_valid_page() {
    for (kind, overwritten) in [(SlcCacheKind::Static, 0), (SlcCacheKind::Static, 9), (SlcCacheKind::Dynamic, 5)] {
        let transfer_ns = nand().timing().transfer_ns(8);
        // The last pages overwrite the first.
        let burst = writes((0..24 - overwritten).chain(0..overwritten));
        let outcome = timed(setup(kind)).run([burst, pages(Op::Read, 100_000 * MS, [0])].concat());
        let used = outcome.utilization.expect("time passes");
        let folded = 24 - overwritten;
        let programs_ns = 24 * (transfer_ns + SLC_PROGRAM);
        let folds_ns = folded * (SLC_READ + transfer_ns + transfer_ns + MS) + 6 * nand().erase_ns;
        let read_ns = nand().read_ns + transfer_ns;
        assert_eq!(used.die_busy_ns, u128::from(programs_ns + folds_ns + read_ns), "{kind:?}, {overwritten}");
        assert_eq!(outcome.slc_pages.map(|pages| (pages.reads, pages.programs)), Some((folded, 24)));
        assert_eq!(outcome.slc_erase_counts.iter().sum::<u32>(), 6);
    }
}

/// A read that comes while a page is programmed for a fold waits for the rest of that, which is a cause of its own.
#[test]
fn a_wait_for_a_fold_is_a_cause_of_its_own() {
    let mut setup = setup(SlcCacheKind::Static);
    setup.ftl.params.slc_flush_delay_ns = 10 * MS;
    let begun_ns = 4 * access_ns(SLC_PROGRAM) + 10 * MS;
    let requests = [writes(0..4), pages(Op::Read, begun_ns + 500 * US, [3])].concat();
    let (served, _) = timed(setup).served(requests);
    let read = served.last().expect("it has ended");
    let fold_ns = SLC_READ + MS + 2 * nand().timing().transfer_ns(8);
    assert_eq!((read.parts[Cause::Fold], read.parts[Cause::Collection]), (fold_ns - 500 * US, 0));
    assert_eq!(read.parts[Cause::Served], SLC_READ + nand().timing().transfer_ns(8), "it is still in the cache");
    assert_eq!(read.parts.total(), read.latency_ns());
}

/// The cache is folded when the drive has been idle for `slc_flush_delay`, and not before.
#[test]
fn a_pause_shorter_than_the_flush_delay_folds_nothing() {
    let folded = |delay_ns| {
        let mut setup = setup(SlcCacheKind::Static);
        setup.ftl.params.slc_flush_delay_ns = delay_ns;
        cache(&timed(setup).run([writes(0..8), pages(Op::Write, 500 * MS, [0])].concat())).folded_pages
    };
    assert_eq!((folded(400 * MS), folded(600 * MS)), (8, 0));
}

/// With `fold` a write waits for the oldest block: of pages that nobody overwrites each is copied.
#[test]
fn a_full_cache_folds_for_every_block_that_is_written() {
    let mut fold = setup(SlcCacheKind::Static);
    fold.ftl.params.slc_when_full = WhenFull::Fold;
    let outcome = empty(fold).run(writes(0..100));
    let SlcReport { cached_writes, writes_beside, folded_blocks, folded_pages } = cache(&outcome);
    assert_eq!((cached_writes, writes_beside), (100, 0));
    assert_eq!((folded_blocks, folded_pages), (19, 76), "100 pages are 25 blocks, and the cache has 6");
    assert_eq!(outcome.counts.programs[Origin::Host as usize], 100);
    assert_eq!(outcome.counts.programs[Origin::Fold as usize], 76);
}

fn random_cached(prng: &mut Prng) -> DriveSetup {
    let mut setup = random_setup(prng);
    with_cache(prng, &mut setup);
    if prng.chance(0.5) {
        setup.device.nand.program_failures = pick(prng, &[0.0, 0.0003, 0.003, 0.03]);
        setup.device.nand.erase_failures = pick(prng, &[0.0, 0.01, 0.2]);
    }
    setup
}

/// False if the drive is too small for its cache.
fn run(seed: u64) -> bool {
    let mut prng = Prng::new(seed);
    let setup = random_cached(&mut prng);
    if setup.ftl.profile(&setup.device.space()).is_err() {
        return false;
    }
    let can_fail = setup.device.nand.can_fail();
    let outcome = run_on(setup, &mut prng, 400);
    assert!(can_fail || outcome.end_of_life.is_none(), "seed {seed}: a drive whose blocks are good never wears out");
    let counts = &outcome.counts;
    let programs: u64 = counts.programs.iter().sum();
    let failed: u64 = counts.failed_programs.iter().sum();
    let stored = outcome.ftl.host_page_writes + outcome.ftl.other_programs();
    assert_eq!(programs, stored + failed, "seed {seed}: every program is a page of the host, a copy, or of the map");
    let SlcReport { cached_writes, writes_beside, .. } = cache(&outcome);
    let written = cached_writes + writes_beside;
    assert!(can_fail || written == outcome.ftl.host_page_writes, "seed {seed}: {written} pages to the cache or beside");
    let of_fold = |all: ByOrigin| all[Origin::Fold as usize];
    let folded = cache(&outcome).folded_pages;
    assert_eq!(of_fold(counts.programs) - of_fold(counts.failed_programs), folded, "seed {seed}");
    true
}

/// A hundred drives that have room for a cache.
#[test]
fn random_drives_with_a_cache_return_what_was_written() {
    assert_eq!((0..1_000).filter(|&seed| run(seed)).take(100).count(), 100);
}

/// The same for the seeds that the environment asks for.
#[test]
fn as_many_drives_with_a_cache_as_are_asked_for() {
    let mut drives = 0;
    for seed in seeds_asked_for() {
        println!("seed {seed}");
        drives += u32::from(run(seed));
    }
    println!("{drives} drives had room for a cache");
}
