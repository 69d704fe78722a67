//! Every mapping and collection policy on the workload that suits it perfectly, with the cost that its paper promises
//! there: a policy that is not cheap even then is wrong.
//!
//! | policy | workload | cost |
//! |---|---|---|
//! | every log-block mapping | whole blocks in order, over and over | switch merges alone: one erase a block, no copy |
//! | `bast` | one block rewritten at random | a merge each N pages, of one data block |
//! | `fast` | random pages, none of offset 0 | no log page unused: a merge each N pages |
//! | `last` | hot pages that fit its hot log blocks, and cold ones the others | an erase a log block, no copy |
//! | `sast` | random pages of one set of K data blocks | a merge each N pages, of K data blocks at most |
//! | `kast` | as many sequential streams at a time as sequential log blocks | switch merges alone |
//! | `kast` | as many data blocks as log blocks, less than N pages of each | no merge |
//! | `kast` that merges filled log blocks alone | short sequences that fit | no merge |
//! | `kast` with a reserve | whole blocks, and random pages that fit the log blocks beside it | switch merges alone |
//! | `mcsplit` | a stripe rewritten in order | one switch merge erases the stripe, no copy |
//! | `superblock-ftl` | hot pages of all blocks, a block full of them in each superblock | an erase a block, no copy |
//! | `janus-ftl` | whole blocks in order, over and over | an erase a block, no copy, nothing page-mapped |
//! | `janus-ftl` | hot pages whose logical blocks have tables | one fusion each, an erase a block of pages, no copy |
//! | page maps, any allocation and collection | the whole drive in order, over and over | no copy |
//! | `dftl` | pages whose entries fit its cache | no read or write of the map |
//! | `sftl` | the whole drive in order, where only runs of it fit the cache | no read or write of the map |
//! | `leaftl` | the same | the same, and no read in vain |
//! | `u-ftl` | the same | the same: an extent a block |
//! | `lazyftl` | whole pages in any order, read soon after | no lookup; a conversion writes a map page a page at most |

use crate::support::{Ftl, Merges, chip, chips, counts, preempted};
use flashloom_ftl::{FtlSetup, Preemption, Space, allocation, collection};
use flashloom_units::{Prng, Value};

/// Pages of a block.
const N: u32 = 8;

const PREEMPTIONS: [Preemption; 2] = [Preemption::None, Preemption::Page];

/// A full drive of one chip, which has room for ten blocks beside its data.
fn filled(mapping: &str, preemption: Preemption, set: &[(&str, Value)]) -> Ftl {
    Ftl::filled(&chip(24, 10, N), &preempted(mapping, preemption, set), true)
}

/// A full drive that was written in order four times.
fn written_in_order(space: &Space, setup: &FtlSetup) -> Ftl {
    let mut ftl = Ftl::filled(space, setup, true);
    (0..4).for_each(|_| ftl.write_each(0..ftl.logical_pages()));
    ftl.check();
    ftl
}

/// Four passes over a full drive in order must erase a block for each that was written, less those still in the log,
/// and copy nothing.
fn copies_nothing_on_whole_blocks_in_order(space: &Space, mapping: &str, set: &[(&str, Value)]) {
    for preemption in PREEMPTIONS {
        let ftl = written_in_order(space, &preempted(mapping, preemption, set));
        let (report, Merges { switch, partial, full, .. }) = (ftl.report(), ftl.merges());
        let which = format!("{mapping} with {set:?}, {preemption:?}");
        assert_eq!((report.page_copies, partial, full), (0, 0, 0), "{which}: {switch} switch merges");
        assert_eq!(report.block_erases % switch, 0, "{which}: a switch merge erases a block of each chip");
        let written = u64::from(4 * ftl.logical_pages() / N);
        assert!(report.block_erases <= written && report.block_erases >= written - 40, "{which}: {report:?}");
    }
}

/// The most log blocks that the drives below have room for.
const LOG_BLOCKS: [u32; 3] = [4, 5, 8];

#[test]
fn bast_and_fast_copy_nothing_on_whole_blocks_in_order() {
    for (mapping, log_blocks) in LOG_BLOCKS.into_iter().flat_map(|blocks| [("bast", blocks), ("fast", blocks)]) {
        copies_nothing_on_whole_blocks_in_order(&chip(24, 10, N), mapping, &counts([("log_blocks", log_blocks)]));
    }
}

#[test]
fn last_copies_nothing_on_whole_blocks_in_order() {
    for (log_blocks, sequential) in [(4, 1), (5, 2), (8, 1), (8, 4)] {
        let set = [("log_blocks", log_blocks), ("sequential_log_blocks", sequential), ("threshold", 1)];
        copies_nothing_on_whole_blocks_in_order(&chip(24, 10, N), "last", &counts(set));
    }
}

#[test]
fn sast_copies_nothing_on_whole_blocks_in_order() {
    for (log_blocks, n, k) in [(4, 1, 1), (5, 2, 2), (8, 4, 4), (8, 1, 4), (8, 4, 1), (4, 8, 8)] {
        let set = counts([("log_blocks", log_blocks), ("n", n), ("k", k)]);
        copies_nothing_on_whole_blocks_in_order(&chip(24, 10, N), "sast", &set);
    }
}

#[test]
fn kast_copies_nothing_on_whole_blocks_in_order() {
    for log_blocks in LOG_BLOCKS {
        for (sequential, k) in [1, 2, 4, log_blocks].into_iter().flat_map(|s| [(s, 1), (s, 2), (s, 3), (s, N)]) {
            let set = counts([("log_blocks", log_blocks), ("sequential_log_blocks", sequential), ("k", k)]);
            copies_nothing_on_whole_blocks_in_order(&chip(24, 10, N), "kast", &set);
        }
    }
}

#[test]
fn kast_copies_nothing_on_whole_blocks_in_order_under_any_of_its_choices() {
    for start in ["append", "allocate", "copy"] {
        for (gap, victim) in [("merge", "cost"), ("transform", "cost-per-page"), ("auto", "cost")] {
            for (many_free, long_time) in [(0, 0), (50, 0), (100, 1_024)] {
                let names = [("sequential_start", start), ("large_gap", gap), ("random_victim", victim)];
                let mut set = counts([("log_blocks", 5), ("many_free_percent", many_free), ("long_time", long_time)]);
                set.extend(names.map(|(name, choice)| (name, Value::Name(choice))));
                copies_nothing_on_whole_blocks_in_order(&chip(24, 10, N), "kast", &set);
            }
        }
    }
}

/// Four chips of one plane.
fn four_chips() -> Space {
    chips(4, 24, 10, N)
}

#[test]
fn mcsplit_copies_nothing_on_whole_stripes_in_order() {
    for (width, log_blocks) in [(1, 5), (2, 4), (4, 4), (4, 8)] {
        let set = counts([("width", width), ("log_blocks", log_blocks)]);
        copies_nothing_on_whole_blocks_in_order(&four_chips(), "mcsplit", &set);
    }
}

#[test]
fn one_ftl_a_chip_copies_nothing_on_whole_blocks_in_order_over_four_chips() {
    for mapping in ["bast", "fast", "sast", "kast"] {
        copies_nothing_on_whole_blocks_in_order(&four_chips(), mapping, &counts([("log_blocks", 4)]));
    }
}

/// A full drive of one chip after random writes of pages that `lpn` draws.
fn written(setup: &FtlSetup, pages: u32, lpn: impl Fn(&mut Prng) -> u32) -> Merges {
    let mut ftl = Ftl::filled(&chip(24, 10, N), setup, true);
    let mut prng = Prng::new(1).branch("perfect");
    ftl.write_each((0..pages).map(|_| lpn(&mut prng)));
    ftl.check();
    ftl.merges()
}

fn below(prng: &mut Prng, end: u32) -> u32 {
    prng.below(end.into()) as u32
}

/// Pages 1 to N - 1, so that no log block is in place by chance.
fn within_block(prng: &mut Prng) -> u32 {
    1 + below(prng, N - 1)
}

/// N C_copy + 2 C_erase, for N pages written.
#[test]
fn bast_merges_one_data_block_for_each_n_pages_of_a_hot_one() {
    for preemption in PREEMPTIONS {
        let merges = written(&preempted("bast", preemption, &counts([("log_blocks", 4)])), 100 * N, within_block);
        assert_eq!((merges.full, merges.switch + merges.partial), (99, 0), "all but the pages in the last log block");
        assert_eq!(merges.associativity, [0, 99], "each of one data block");
    }
}

#[test]
fn fast_leaves_no_log_page_unused_under_random_writes() {
    let log_blocks = 5;
    let merges =
        written(&preempted("fast", Preemption::None, &counts([("log_blocks", log_blocks)])), 100 * N, |prng| {
            below(prng, 24) * N + within_block(prng)
        });
    // One is kept for the sequential log block; the others are full when the first merge begins.
    assert_eq!((merges.full, merges.partial), (u64::from(100 - (log_blocks - 1)), 0));
}

#[test]
fn sast_merges_k_data_blocks_at_most_for_each_n_pages_of_a_hot_set() {
    for (n, k) in [(1, 2), (2, 2), (4, 4), (2, 6)] {
        let set = counts([("log_blocks", 4), ("n", n), ("k", k)]);
        let merges = written(&preempted("sast", Preemption::None, &set), 100 * N, |prng| {
            below(prng, k) * N + within_block(prng)
        });
        assert_eq!(merges.full + merges.partial + merges.switch, u64::from(100 - n), "{n} log blocks for {k}");
        assert!(merges.associativity.len() as u32 <= k + 1, "{:?}", merges.associativity);
    }
}

/// "There are multiple SLBs unlike the FAST scheme which has only one SLB."
#[test]
fn kast_copies_nothing_on_as_many_streams_as_sequential_log_blocks() {
    for preemption in PREEMPTIONS {
        for streams in 1..=4 {
            let set = counts([("log_blocks", 6), ("sequential_log_blocks", streams)]);
            let mut ftl = filled("kast", preemption, &set);
            // Each stream rewrites a part of the drive in order, all a page at a time.
            let part = 24 / streams * N;
            for pass in 0..3 * part {
                ftl.write_each((0..streams).map(|stream| stream * part + pass % part));
            }
            ftl.check();
            let Merges { switch, partial, full, .. } = ftl.merges();
            assert_eq!((ftl.report().page_copies, partial, full), (0, 0, 0), "{streams} streams, {preemption:?}");
            assert!(switch > 0);
        }
    }
}

/// "By delaying the partial merge for such an SLB, we can utilize it for the future subsequent write request."
#[test]
fn kast_switches_the_blocks_of_a_stream_among_random_writes() {
    let switched = |preemption, long_time: Value| {
        let mut set = counts([("log_blocks", 8)]);
        set.push(("long_time", long_time));
        let mut ftl = Ftl::filled(&chip(64, 20, N), &preempted("kast", preemption, &set), true);
        let mut prng = Prng::new(1).branch("perfect");
        for page in 0..32 * N {
            ftl.write_each([page, (32 + below(&mut prng, 32)) * N + within_block(&mut prng)]);
        }
        ftl.check();
        ftl.merges().switch
    };
    for preemption in PREEMPTIONS {
        assert!(switched(preemption, Value::Absent) >= 32 - 4, "all but the blocks that are in the log");
        assert!(switched(preemption, Value::Count(0)) < 16, "with no patience random pages take its log blocks");
    }
}

/// Four logical blocks of which only page 0 is written, sixteen of which another page is, and then a stream.
#[test]
fn kast_copies_no_more_than_bast_when_sequences_do_not_go_on() {
    let copies = |mapping, preemption, set: &[(&'static str, Value)]| {
        let mut ftl = Ftl::filled(&chip(64, 20, N), &preempted(mapping, preemption, set), true);
        ftl.write_each((0..4).map(|block| block * N).chain((4..20).map(|block| block * N + 5)));
        ftl.write_each(20 * N..64 * N);
        ftl.check();
        ftl.report().page_copies
    };
    for preemption in PREEMPTIONS {
        let bast = copies("bast", preemption, &counts([("log_blocks", 16)]));
        for (k, sequences) in (1..=N).flat_map(|k| [(k, 1), (k, 2), (k, 4), (k, 16)]) {
            let set = counts([("log_blocks", 16), ("k", k), ("sequential_log_blocks", sequences)]);
            let kast = copies("kast", preemption, &set);
            assert!(kast <= bast, "K = {k}, {sequences} sequential log blocks, {preemption:?}: {kast}, not {bast}");
        }
    }
}

/// "To minimize the associativities of log blocks, the write requests on the different LBNs are distributed among
/// different log blocks."
#[test]
fn kast_merges_nothing_while_each_data_block_has_a_log_block() {
    let set = counts([("log_blocks", 8), ("sequential_log_blocks", 0), ("k", 2)]);
    let mut ftl = filled("kast", Preemption::None, &set);
    ftl.write_each((0..N).flat_map(|page| (0..8).map(move |block| block * N + page)));
    let Merges { switch, partial, full, .. } = ftl.merges();
    assert_eq!((switch, partial, full), (0, 0, 0));
    // The log is full of one data block each: the next page costs the merge of one.
    ftl.write_each([9 * N + 1]);
    assert_eq!(ftl.merges().associativity, [0, 1]);
}

/// Whole blocks, and after every second one a random page of another data block. The random pages fit two log blocks; a
/// reserve keeps them from taking what each switch merge frees, which the next whole block would need.
#[test]
fn kast_with_a_reserve_copies_nothing_on_whole_blocks_among_random_pages_that_fit() {
    let copies = |preemption, reserved| {
        let set = counts([("log_blocks", 5), ("k", N), ("reserved_log_blocks", reserved)]);
        let mut ftl = filled("kast", preemption, &set);
        for (random, pair) in (0..2 * N).zip((0..).step_by(2)) {
            ftl.write_each((pair..pair + 2).flat_map(|block| block % 16 * N..(block % 16 + 1) * N));
            ftl.write_each([(16 + random % 8) * N + 1 + random / 8]);
        }
        ftl.check();
        let Merges { switch, .. } = ftl.merges();
        assert!(switch > 20, "{preemption:?}, {reserved} reserved: {switch} switch merges");
        ftl.report().page_copies
    };
    for preemption in PREEMPTIONS {
        assert_eq!([1, 2].map(|reserved| copies(preemption, reserved)), [0, 0], "{preemption:?}");
        assert!(copies(preemption, 0) > 0, "without a reserve random pages are in the way: {preemption:?}");
    }
}

/// Twelve sequences of two pages, which eight log blocks hold: by the paper's letter those that find none free merge
/// one of two pages each.
#[test]
fn kast_that_merges_filled_log_blocks_alone_copies_nothing_for_short_sequences_that_fit() {
    let copies = |preemption, start_merge| {
        let mut set = counts([("log_blocks", 8), ("k", N), ("reserved_log_blocks", 0)]);
        set.push(("start_merge", Value::Name(start_merge)));
        let mut ftl = filled("kast", preemption, &set);
        ftl.write_each((0..12).flat_map(|block| [block * N, block * N + 1]));
        ftl.check();
        ftl.report().page_copies
    };
    for preemption in PREEMPTIONS {
        assert_eq!(copies(preemption, "filled"), 0, "{preemption:?}");
        assert!(copies(preemption, "any") > 0, "{preemption:?}");
    }
}

/// The whole drive in order: whatever a policy looks at, the block that was written first is dead.
#[test]
fn page_maps_copy_nothing_when_the_drive_is_written_in_order() {
    for space in [chip(24, 10, N), four_chips()] {
        for collection in collection::builtin().specs().map(|spec| spec.name) {
            for allocation in allocation::builtin().specs().map(|spec| spec.name) {
                let mut setup = FtlSetup::with_defaults();
                setup.allocation = allocation::builtin().choose(allocation, &[]).unwrap();
                // Enough draws to meet a dead block: a random policy promises nothing with fewer.
                let draws = if collection == "d-choices" { counts([("d", 1_000)]) } else { Vec::new() };
                setup.collection = collection::builtin().choose(collection, &draws).unwrap();
                let ftl = written_in_order(&space, &setup);
                let report = ftl.report();
                assert_eq!(report.page_copies, 0, "{collection} with {allocation}");
                assert!(report.block_erases >= u64::from(3 * ftl.logical_pages() / N), "{report:?}");
            }
        }
    }
}

/// Sixteen hot pages of sixteen data blocks, written in turn: in FAST each merge of the oldest log block finds the cold
/// pages that lie between them.
#[test]
fn last_erases_hot_log_blocks_without_a_copy_where_fast_gathers_cold_pages_too() {
    for preemption in PREEMPTIONS {
        let [last, fast] = [("last", "sequential_log_blocks"), ("fast", "log_blocks")].map(|(mapping, key)| {
            let set = counts([(key, if key == "log_blocks" { 8 } else { 1 }), ("log_blocks", 8)]);
            let mut ftl = filled(mapping, preemption, &set);
            let hot = || (0..16).map(|block| block * N + 1);
            // Cold pages, once, each followed by a hot one.
            ftl.write_each((0..8).zip(hot()).flat_map(|(page, hot)| [(16 + page) * N + 3, hot]));
            (0..50).for_each(|_| ftl.write_each(hot()));
            ftl.check();
            (ftl.report().page_copies, ftl.merges().full)
        });
        assert_eq!(last.0, 0, "{preemption:?}: {last:?}");
        assert!(last.1 > 40 && fast.0 > 0, "{preemption:?}: {last:?}, {fast:?}");
    }
}

/// Whole superblocks in order: their blocks die one after the other.
#[test]
fn superblock_ftl_copies_nothing_on_whole_superblocks_in_order() {
    for (space, chips) in [(chip(24, 10, N), 1), (four_chips(), 4)] {
        for (blocks, update_blocks, log_blocks) in [(1, 1, 1), (4, 1, 1), (4, 4, 9), (8, 2, 3), (24, 1, 4)] {
            let set = counts([("blocks", blocks), ("update_blocks", update_blocks), ("log_blocks", log_blocks)]);
            let ftl = written_in_order(&space, &preempted("superblock-ftl", Preemption::Page, &set));
            let (report, written) = (ftl.report(), u64::from(4 * ftl.logical_pages() / N));
            assert_eq!(report.page_copies, 0, "{blocks} blocks, {chips} chips: {report:?}");
            let least = written - u64::from(chips * log_blocks);
            assert!((least..=written).contains(&report.block_erases), "{blocks} blocks: {report:?}");
        }
    }
}

/// Two hot pages in each block, written in turn: within a superblock they fill one block, and die together, while FAST
/// gathers the cold pages that lie between them whenever it merges.
#[test]
fn superblock_ftl_erases_blocks_of_hot_pages_without_a_copy_where_fast_gathers_cold_pages_too() {
    for preemption in PREEMPTIONS {
        let [superblocks, fast] = ["superblock-ftl", "fast"].map(|mapping| {
            let set = counts([("log_blocks", 4)]);
            let mut ftl = filled(mapping, preemption, &set);
            let hot = || (0..24).flat_map(|block| [block * N + 1, block * N + 5]);
            (0..3).for_each(|_| ftl.write_each(hot()));
            let before = ftl.report();
            (0..50).for_each(|_| ftl.write_each(hot()));
            ftl.check();
            let report = ftl.report();
            (report.page_copies - before.page_copies, report.block_erases - before.block_erases)
        });
        assert_eq!(superblocks, (0, 50 * 48 / u64::from(N)), "{preemption:?}");
        assert!(fast.0 > 1_000, "{preemption:?}: {fast:?}");
    }
}

/// What is written in order stays in the block area.
#[test]
fn janus_ftl_copies_nothing_on_whole_blocks_in_order() {
    for (space, preemption) in [(chip(24, 10, N), Preemption::None), (four_chips(), Preemption::Page)] {
        for streams in [1, 4] {
            let set = counts([("sequential_pages", 1), ("streams", streams)]);
            let ftl = written_in_order(&space, &preempted("janus-ftl", preemption, &set));
            let (report, written) = (ftl.report(), u64::from(4 * ftl.logical_pages() / N));
            assert_eq!((report.page_copies, report.block_erases), (0, written), "{report:?}");
            assert_eq!((ftl.count("fusions"), ftl.count("switches")), (0, written));
        }
    }
}

/// Two hot pages in each of eight blocks: in the page area they fill blocks that die whole, while the homes with their
/// cold neighbours lie there untouched.
#[test]
fn janus_ftl_erases_blocks_of_hot_pages_without_a_copy_while_their_blocks_have_tables() {
    let tables = 4 * (u64::from(N) + 1) * 8;
    for preemption in PREEMPTIONS {
        let mut ftl =
            Ftl::filled(&chip(24, 16, N), &preempted("janus-ftl", preemption, &[("map", Value::Size(tables))]), true);
        let hot = || (0..8).flat_map(|block| [block * N + 1, block * N + 5]);
        (0..10).for_each(|_| ftl.write_each(hot()));
        let before = ftl.report().block_erases;
        (0..50).for_each(|_| ftl.write_each(hot()));
        ftl.check();
        assert_eq!((ftl.report().page_copies, ftl.report().block_erases - before), (0, 50 * 16 / u64::from(N)));
        assert_eq!((ftl.count("fusions"), ftl.count("page_mapped_blocks")), (8, 8));
    }
}

/// A hit costs nothing on flash; only cold misses read the map.
#[test]
fn dftl_neither_reads_nor_writes_the_map_while_its_cache_holds_the_pages_in_use() {
    let mut setup = preempted("dftl", Preemption::Page, &[("cache", Value::Size(8 * 64))]);
    setup.params.gc_threshold = 4;
    let mut ftl = Ftl::filled(&chip(24, 40, N), &setup, true);
    let mut prng = Prng::new(1).branch("perfect");
    // All of the hot pages are in the cache once.
    ftl.write_each(0..48);
    let counted = |ftl: &Ftl| ["map_hits", "map_misses", "map_reads", "map_writes"].map(|name| ftl.count(name));
    let [hits, misses, reads, writes] = counted(&ftl);
    for _ in 0..2_000 {
        let lpn = below(&mut prng, 48);
        ftl.read(lpn);
        ftl.write_each([lpn]);
    }
    ftl.check();
    assert_eq!(counted(&ftl), [hits + 4_000, misses, reads, writes]);
}

/// Writes a drive of two planes on two channels in order four times, and then reads it. Its map cache has `cache`
/// bytes, too few for a map of pages. Returns the drive with the lookups missed, and the map pages read and written.
fn mapped_in_order(mapping: &str, (blocks, pages): (u32, u32), cache: u64, set: &[(&str, Value)]) -> (Ftl, [u64; 3]) {
    let mut space = chips(2, 0, blocks, pages);
    space.logical_pages = u64::from(2 * blocks * pages) * 2 / 3;
    assert!(4 * space.logical_pages > 2 * cache, "the map is far larger than the cache");
    let set = [&[("cache", Value::Size(cache))], set].concat();
    let mut ftl = written_in_order(&space, &preempted(mapping, Preemption::Page, &set));
    (0..ftl.logical_pages()).for_each(|lpn| ftl.read(lpn));
    ftl.check();
    let counted = ["map_misses", "map_reads", "map_writes"].map(|name| ftl.count(name));
    (ftl, counted)
}

/// The same with `dftl`, whose translation pages have 128 entries: it reads and writes all of them in every pass.
fn dftl_reads_and_writes_the_map_of(shape: (u32, u32), cache: u64) {
    let (ftl, [_, reads, writes]) = mapped_in_order("dftl", shape, cache, &[]);
    let in_four_passes = 4 * u64::from(ftl.logical_pages().div_ceil(128));
    assert!(reads >= in_four_passes && writes >= in_four_passes, "{reads} reads, {writes} writes");
}

/// On a drive in order every translation page is one run for each plane, so all of them fit where one does plainly:
/// condensed to two runs they take 32 bytes, plain 520.
#[test]
fn sftl_holds_the_map_of_a_drive_in_order_where_dftl_reads_and_writes_it() {
    let (_, sftl) = mapped_in_order("sftl", (128, 16), 1_024, &[]);
    assert_eq!(sftl, [0; 3]);
    dftl_reads_and_writes_the_map_of((128, 16), 1_024);
}

/// On a drive in order a translation page is a few segments, and every prediction is right. 22 translation pages take
/// 40 bytes each as segments of a block; of single entries one takes 1,288. 128 entries wait, and what lies under newer
/// segments is dropped when they are learned.
#[test]
fn leaftl_holds_the_map_of_a_drive_in_order_and_predicts_it_exactly_where_dftl_reads_and_writes_it() {
    let set = counts([("buffer", 128), ("compaction", 128)]);
    let (ftl, leaftl) = mapped_in_order("leaftl", (64, 32), 4_800, &set);
    assert_eq!((leaftl, ftl.count("mispredictions")), ([0; 3], 0));
    dftl_reads_and_writes_the_map_of((64, 32), 4_800);
}

/// On a drive in order an extent is a block, and the tree of all of them fits where a map of pages does not.
#[test]
fn u_ftl_holds_the_map_of_a_drive_in_order_as_an_extent_a_block() {
    let (ftl, extents) = mapped_in_order("u-ftl", (128, 16), 4_096, &[]);
    assert_eq!(extents, [0; 3]);
    // A leaf ends the extents of both planes, and a block that was only begun may be followed by another.
    let of_blocks = ftl.count("extents") - 2 * ftl.count("leaves");
    assert!(of_blocks <= u64::from(ftl.logical_pages().div_ceil(16)), "{of_blocks} extents");
    dftl_reads_and_writes_the_map_of((128, 16), 4_096);
}

/// Writes of whole pages look nothing up, and what was written lately is in the table.
#[test]
fn lazyftl_reads_the_map_for_conversions_alone_where_dftl_reads_it_for_every_write() {
    let space = Space { logical_pages: 2_730, ..chips(2, 0, 128, 16) };
    let [lazyftl, dftl] = ["lazyftl", "dftl"].map(|mapping| {
        let set = [("cache", Value::Size(4_096))];
        let mut ftl = Ftl::filled(&space, &preempted(mapping, Preemption::Page, &set), true);
        let mut prng = Prng::new(5).branch("lazyftl");
        for _ in 0..20_000 {
            let lpn = below(&mut prng, ftl.logical_pages());
            ftl.write_each([lpn]);
            ftl.read(lpn);
        }
        ftl.check();
        let conversions = if mapping == "lazyftl" { ftl.count("conversions") } else { 0 };
        (["map_hits", "map_misses", "map_reads", "map_writes"].map(|name| ftl.count(name)), conversions)
    });
    let ([hits, misses, reads, writes], conversions) = lazyftl;
    assert_eq!((hits, misses), (20_000, 0), "each page is in the table when it is read, and was not looked up before");
    // The map was written when the drive was filled, so each write of a map page reads it first.
    assert!(reads <= writes && conversions > 500 && writes <= 16 * conversions, "{lazyftl:?}");
    let [_, missed, of_dftl, written] = dftl.0;
    assert!(missed > 16_000 && of_dftl > 2 * reads && written > writes, "{dftl:?}, {lazyftl:?}");
}
