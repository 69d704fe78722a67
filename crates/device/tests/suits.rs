//! Every order, rate and placement on the workload that suits it perfectly, with the cost that its paper promises
//! there; and beside it one that does not suit it, or another policy on the same workload.

use crate::support::{
    Run, allocated, buffered, channel_ns, count, mapped, pages, plain, plain_device, plain_nand, request,
};
use flashloom_buffer::{order, rate};
use flashloom_device::{DriveSetup, Outcome};
use flashloom_ftl::placement;
use flashloom_nand::{NandParams, Origin};
use flashloom_units::{MIB, MS, Ns, S, US, Value};
use flashloom_workload::{Op, Pace, Request};

/// Pages of a logical block, and chips.
const BLOCK: u64 = 64;
const CHIPS: u64 = 8;

/// A drive of one BAST a chip, under a buffer of that many pages.
fn over_bast(pages: u64, order: &'static str, rate: &'static str, placement: &'static str) -> DriveSetup {
    let mut setup = mapped(buffered(plain_device(), pages, order, rate), "bast", &[("log_blocks", Value::Count(4))]);
    setup.ftl.placement = placement::builtin().choose(placement, &[]).unwrap();
    setup
}

fn with_order(mut setup: DriveSetup, set: &[(&str, Value)]) -> DriveSetup {
    setup.order = order::builtin().choose(setup.order.name(), set).unwrap();
    setup
}

/// One request after the other, until all that they wrote is in flash.
fn closed(setup: DriveSetup, requests: Vec<Request>) -> Outcome {
    Run { pace: Pace::Closed(1), drain: true, ..Run::new(setup) }.run(requests)
}

/// The same on a drive that holds nothing.
fn closed_on_empty(setup: DriveSetup, requests: Vec<Request>) -> Outcome {
    Run { pace: Pace::Closed(1), drain: true, fill: false, ..Run::new(setup) }.run(requests)
}

fn write(lpns: impl IntoIterator<Item = u64>) -> Vec<Request> {
    pages(Op::Write, MS, lpns)
}

/// Switch, partial and full merges, and pages copied by them.
fn merges(outcome: &Outcome) -> (u64, u64, u64, u64) {
    let [switch, partial, full] = ["switch_merges", "partial_merges", "full_merges"].map(|name| count(outcome, name));
    (switch, partial, full, outcome.ftl.page_copies)
}

fn migrated(outcome: &Outcome) -> u64 {
    count(outcome, "migrated_pages")
}

fn programs(outcome: &Outcome) -> u64 {
    outcome.counts.programs[Origin::Host as usize]
}

/// Eight pages that are written in each round, and eight that come once.
#[test]
fn page_lru_never_evicts_pages_that_are_written_again_soon() {
    let rounds = 50;
    let requests = (0..rounds).flat_map(|round| (0..8).chain(100 + 8 * round..108 + 8 * round));
    let outcome = closed(buffered(plain_device(), 24, "page-lru", "single"), write(requests));
    assert_eq!(outcome.buffer.unwrap().write_hits, (rounds - 1) * 8);
    assert_eq!(programs(&outcome), 8 * rounds + 8, "pages that come once, and each of the others once, at the end");
}

/// Whole logical blocks whose pages come in no order and mixed with those of seven other blocks; six a chip, twice.
fn scattered_blocks() -> Vec<Request> {
    let page = |at: u64| (at % CHIPS) * BLOCK + at / CHIPS * 37 % BLOCK;
    write((0..12).flat_map(|round| (0..CHIPS * BLOCK).map(move |at| round % 6 * CHIPS * BLOCK + page(at))))
}

#[test]
fn block_lru_makes_whole_blocks_of_scattered_pages_that_are_merged_by_switches_alone() {
    let run = |order| closed(over_bast(CHIPS * BLOCK, order, "single", "static"), scattered_blocks());
    let (switch, partial, full, copies) = merges(&run("block-lru"));
    assert_eq!((switch, partial, full, copies), ((12 - 3) * CHIPS, 0, 0, 0), "all but what three log blocks hold");
    assert!(merges(&run("page-lru")).2 > 0, "pages leave as they came");
}

/// One page of each logical block: padding reads the others, and no merge copies any.
#[test]
fn bplru_makes_whole_blocks_of_single_pages_and_gives_up_first_what_came_in_sequence() {
    let bplru = [("padding", Value::Flag(true)), ("compensation", Value::Flag(true))];
    let single_pages: Vec<u64> = (0..200).map(|at| at * 7 % 40 * BLOCK + at * 11 % BLOCK).collect();
    let run = |set: &[_]| {
        let setup = with_order(over_bast(16, "block-lru", "single", "static"), set);
        closed(setup, write(single_pages.iter().copied()))
    };
    let (padded, plain) = (run(&bplru), run(&[]));
    assert_eq!((merges(&padded).1, merges(&padded).2, merges(&padded).3), (0, 0, 0));
    assert!(merges(&plain).2 > 0, "without padding they are merged in full");
    // A hot page of each of eight blocks, and whole blocks in sequence: only these leave.
    let hot = |_| (0..8).map(|at| at * BLOCK);
    let mixed = (0..10).flat_map(|round| hot(round).chain((10 + round) * BLOCK..(11 + round) * BLOCK));
    let setup = with_order(over_bast(BLOCK + 8, "block-lru", "single", "static"), &bplru);
    assert_eq!(closed(setup, write(mixed)).buffer.unwrap().write_hits, 9 * 8);
}

/// Small pieces of eight blocks that are written again, among whole blocks that come once.
#[test]
fn fab_gives_up_whole_blocks_and_keeps_small_pieces() {
    let rounds = 20;
    let pieces = |_| (0..8).map(|at| at * BLOCK);
    let requests =
        (0..rounds).flat_map(|round| pieces(round).chain((10 + 2 * round) * BLOCK..(12 + 2 * round) * BLOCK));
    let run = |order| closed(over_bast(BLOCK + 8, order, "single", "static"), write(requests.clone()));
    let outcome = run("fab");
    assert_eq!(outcome.buffer.unwrap().write_hits, (rounds - 1) * 8, "no piece ever leaves");
    assert_eq!(merges(&outcome).3, 0, "whole blocks are switched");
    assert!(run("page-lru").buffer.unwrap().write_hits < (rounds - 1) * 8);
}

/// A whole block that is written again in each round, and half blocks that come once: the largest is not the coldest.
#[test]
fn clc_gives_up_the_largest_among_the_cold_and_keeps_a_large_block_that_is_hot() {
    let rounds = 20;
    let requests =
        (0..rounds).flat_map(|round| (0..BLOCK).chain((10 + round) * BLOCK..(10 + round) * BLOCK + BLOCK / 2));
    let hits = |order, set: &[_]| {
        let setup = with_order(over_bast(2 * BLOCK, order, "single", "static"), set);
        closed(setup, write(requests.clone())).buffer.unwrap().write_hits
    };
    assert_eq!(hits("clc", &[("hot_share", Value::Ratio(0.5))]), (rounds - 1) * BLOCK);
    assert!(hits("fab", &[]) < (rounds - 1) * BLOCK / 2, "the hot block is the largest");
}

/// Sixteen blocks, of each of which one page is written again and again, and the others once, mixed with those of
/// seven more blocks.
#[test]
fn bpac_keeps_the_hot_pages_of_cold_blocks_and_gives_up_the_others_together() {
    let (blocks, rounds) = (2 * CHIPS, 2 * (BLOCK - 1));
    let hot = |_| (0..blocks).map(|at| at * BLOCK);
    let cold = move |round: u64| {
        let half = round / (BLOCK - 1) * CHIPS;
        (half..half + CHIPS).map(move |at| at * BLOCK + 1 + round % (BLOCK - 1) * 37 % (BLOCK - 1))
    };
    let requests = write((0..rounds).flat_map(|round| hot(round).chain(cold(round))));
    let run = |order| {
        let buffer = closed(over_bast(CHIPS * BLOCK, order, "single", "static"), requests.clone()).buffer.unwrap();
        (buffer.write_hits, buffer.evictions)
    };
    let ((hits, victims), by_age, by_block) = (run("bpac"), run("page-lru"), run("block-lru"));
    assert_eq!(hits, (rounds - 1) * blocks, "no hot page ever leaves");
    assert!(victims < blocks, "a block's cold pages leave together");
    assert!(by_age.0 == hits && by_age.1 > 40 * victims, "pages leave one by one");
    assert!(by_block.0 < hits && by_block.1 > 4 * victims, "hot pages take cold ones with them that are yet to come");
}

/// Single pages of twelve blocks in turn, three times as many as a chip has log blocks.
#[test]
fn ref_evicts_pages_of_one_block_after_the_other_so_that_log_blocks_are_filled_before_they_are_merged() {
    let device = plain(NandParams { channels: 1, ways: 1, ..plain_nand() });
    let run = |order: &'static str, set: &[_]| {
        let mut setup = with_order(over_bast(192, order, "single", "static"), set);
        setup.device = device.clone();
        closed(setup, write((0..12 * 48).map(|at| at % 12 * BLOCK + at / 12 * 5 % BLOCK)))
    };
    let all = |outcome: &Outcome| merges(outcome).0 + merges(outcome).1 + merges(outcome).2;
    let set = [("window", Value::Ratio(1.0)), ("victim_blocks", Value::Count(2))];
    let (recently, lru) = (all(&run("ref", &set)), all(&run("page-lru", &[])));
    assert!(lru >= 300, "nearly every page takes a log block from another block: {lru}");
    assert!(4 * recently < lru, "{recently} merges against {lru}");
}

/// Bursts of sixteen whole blocks, two of each chip, whose pages come in no order, each burst with a flush behind it.
#[test]
fn region_writes_what_came_in_no_order_in_ascending_order_so_that_every_merge_is_a_switch() {
    let page = |at: u64| (at % 16) * BLOCK + at / 16 * 37 % BLOCK;
    let burst = |round: u64| write((0..16 * BLOCK).map(move |at| round % 3 * 16 * BLOCK + page(at)));
    let requests = (0..6).flat_map(|round| [burst(round), vec![request(MS, Op::Flush, 0, 0)]].concat());
    let run = |order, set: &[_]| {
        let setup = with_order(over_bast(16 * BLOCK, order, "single", "static"), set);
        merges(&closed(setup, requests.clone().collect()))
    };
    let (switch, partial, full, copies) = run("region", &[("region_size", Value::Size(2 * MIB))]);
    assert_eq!((switch, partial, full, copies), ((12 - 3) * CHIPS, 0, 0, 0), "all but what three log blocks hold");
    assert!(run("page-lru", &[]).2 > 0, "pages leave as they came");
}

/// Eight regions, each on a chip of its own: a turn of each is programmed at once.
#[test]
fn region_keeps_the_chips_busy_that_a_whole_drive_in_order_keeps_busy_one_after_the_other() {
    let (device, turn, rounds) = (plain_device(), 8, 3);
    // Contiguous ranges of the addresses; 64 pages at the start of each lie in one region of 1 MiB.
    let range = device.logical_pages().div_ceil(CHIPS);
    let requests = write((0..rounds * CHIPS * 64).map(|at| at % CHIPS * range + at / CHIPS % 64));
    let run = |order: &'static str, set: &[_]| {
        let setup = with_order(buffered(device.clone(), CHIPS * 32, order, "cave"), set);
        let setup = allocated(setup, "static", &[("layout", Value::Name("contiguous"))]);
        let outcome = Run { pace: Pace::Closed(1), ..Run::new(setup) }.run(requests.clone());
        assert_eq!(outcome.ftl.page_copies, 0);
        outcome.host.duration_ns
    };
    let regions = |size| run("region", &[("region_size", Value::Size(size)), ("batch", Value::Count(turn))]);
    // Two ways share a channel; the data of the requests crosses the link meanwhile.
    let batch = turn * (device.nand.program_ns + 2 * channel_ns(&device)) + CHIPS * turn * 10 * US;
    let batches = (rounds * 64 * CHIPS - CHIPS * 32) / (turn * CHIPS);
    let (divided, whole) = (regions(MIB), regions(1 << 50));
    assert!(divided < (batches + 1) * batch, "{divided} ns, {batches} batches of {batch}");
    assert!(whole > 3 * divided, "{whole} ns: the lowest pages are those of two chips");
}

/// Sixteen pages of each chip in turn, with as many writes waiting as there are chips: the oldest pages are those of
/// one chip, and the window holds pages of all.
#[test]
fn chip_aware_keeps_all_chips_busy_where_the_oldest_pages_are_those_of_one() {
    const RUN: u64 = 16;
    let device = plain_device();
    let range = device.logical_pages().div_ceil(CHIPS);
    let pages = |round: u64| (0..CHIPS * RUN).map(move |at| at / RUN * range + round * RUN + at % RUN);
    let requests = write((0..12).flat_map(pages));
    let run = |order: &'static str, allocation: &str| {
        let mut setup = buffered(device.clone(), 2 * CHIPS * RUN, order, "single");
        if order == "chip-aware" {
            setup = with_order(setup, &[("window", Value::Count(CHIPS * RUN))]);
        }
        let contiguous = [("layout", Value::Name("contiguous"))];
        let set = if allocation == "static" { &contiguous[..] } else { &[] };
        let run = Run { pace: Pace::Closed(CHIPS as u32), ..Run::new(allocated(setup, allocation, set)) };
        let outcome = run.run(requests.clone());
        assert_eq!(outcome.ftl.page_copies, 0);
        outcome.host.duration_ns
    };
    // Programs of the pages that leave while the host writes, all chips at work, two of them on each channel.
    let program = device.nand.program_ns + 2 * channel_ns(&device);
    let busy = (12 - 2) * RUN * program;
    let (aware, lru) = (run("chip-aware", "static"), run("page-lru", "static"));
    assert!(aware < busy + busy / 5, "{aware} ns, {busy} with all chips at work");
    assert!(lru > 3 * aware, "{lru} ns by age alone, {aware}");
    // An FTL that puts any page on any chip leaves nothing to choose.
    assert_eq!(run("chip-aware", "interleave"), run("page-lru", "interleave"));
}

/// Requests of 16 pages in order, over regions that spread over chips: pages that follow one another are then on
/// several chips, and yet are one request.
#[test]
fn last_finds_requests_whose_pages_are_spread_over_chips() {
    let run = |threshold| {
        let set = [("log_blocks", 8), ("sequential_log_blocks", 4), ("threshold", threshold)];
        let set = set.map(|(name, count)| (name, Value::Count(count)));
        let mut setup = mapped(buffered(plain_device(), 16 * BLOCK, "block-lru", "cave"), "last", &set);
        setup.ftl.placement = placement::builtin().choose("adaptive", &[]).unwrap();
        let sectors = 16 * 8;
        let requests = (0..3 * 40 * BLOCK / 16).map(|at| request(MS, Op::Write, at % (40 * BLOCK / 16) * sectors, 128));
        merges(&closed(setup, requests.collect()))
    };
    let (_, partial, full, _) = run(4);
    assert_eq!((partial, full), (0, 0));
    assert!(run(1_000).2 > 0, "as random pages they are merged in full");
}

/// A block that a write moves to another chip is moved once, whatever gaps there are in the write.
#[test]
fn last_moves_a_block_as_often_as_fast_does() {
    let [last, fast] = ["last", "fast"].map(|name| {
        let setup = buffered(plain_device(), 2 * BLOCK, "block-lru", "single");
        let mut setup = mapped(setup, name, &[("log_blocks", Value::Count(8))]);
        setup.ftl.placement = placement::builtin().choose("round-robin", &[]).unwrap();
        let mut prng = flashloom_units::Prng::new(3);
        migrated(&closed(setup, write((0..4_000).map(|_| prng.below(20 * BLOCK)))))
    });
    assert_eq!(last, fast);
}

/// Pages that are read again and again, and a few dirty ones that come once: clean pages leave, and nothing is
/// programmed.
#[test]
fn cflru_gives_up_clean_pages_and_programs_nothing() {
    let requests = || [write(0..2), pages(Op::Read, MS, (0..400).map(|at| 100 + at % 40))].concat();
    let run = |order| Run { pace: Pace::Closed(1), ..Run::new(buffered(plain_device(), 16, order, "single")) };
    let outcome = run("cflru").run(requests());
    assert_eq!((programs(&outcome), outcome.buffer.unwrap().dropped_pages), (0, 400 - 14));
}

/// Eight chips: each batch of eight pages is transferred and programmed at once.
#[test]
fn cave_programs_a_page_on_every_chip_at_once_in_the_time_of_one() {
    let device = plain_device();
    let batches = 50;
    let duration = |rate| {
        let requests = write((0..CHIPS * (batches + 1)).map(|at| at % CHIPS * BLOCK + at / CHIPS));
        Run { pace: Pace::Closed(1), ..Run::new(buffered(device.clone(), CHIPS, "page-lru", rate)) }
            .run(requests)
            .host
            .duration_ns
    };
    // Two ways share a channel; the data of eight requests crosses the link meanwhile.
    let batch = device.nand.program_ns + 2 * channel_ns(&device) + 30 * US;
    assert!(duration("cave") < batches * batch, "{} ns, {batches} batches of {batch}", duration("cave"));
    assert!(duration("single") > 7 * batches * device.nand.program_ns, "one program after the other");
}

/// What the paper's request waits for: its own page is programmed first, others of its batch go to the same chip.
#[test]
fn cave_has_a_request_wait_for_its_own_page_or_for_the_whole_batch() {
    let device = plain(NandParams { channels: 1, ways: 1, ..plain_nand() });
    let stall = |wait| {
        let mut setup = buffered(device.clone(), 4, "page-lru", "cave");
        setup.rate = rate::builtin().choose("cave", &[("victims", Value::Count(4)), ("wait", wait)]).unwrap();
        let outcome = Run::new(setup).run([write(0..4), pages(Op::Write, S, [8])].concat());
        assert_eq!(outcome.buffer.unwrap().stalled_writes, 1);
        outcome.buffer.unwrap().stall_ns as Ns
    };
    let (channel, program) = (channel_ns(&device), device.nand.program_ns);
    assert_eq!(stall(Value::Name("own-page")), channel + program);
    assert_eq!(stall(Value::Name("batch")), 4 * (channel + program));
}

/// A page every half program on eight chips, which take sixteen times as much.
#[test]
fn linear_threshold_lets_no_request_wait_while_the_flash_keeps_up() {
    let stalled = |rate| {
        let setup = buffered(plain_device(), 32, "page-lru", rate);
        let requests = (0..2_000).map(|at| request(MS + at * plain_nand().program_ns / 2, Op::Write, 8 * at, 8));
        Run::new(setup).run(requests).buffer.unwrap().stalled_writes
    };
    assert_eq!(stalled("linear-threshold"), 0);
    assert!(stalled("single") > 1_900 && stalled("cave") > 200);
}

/// Bursts of four fifths of the buffer, with pauses in which all of it could drain.
#[test]
fn linear_threshold_with_a_floor_makes_room_for_the_bursts_that_it_has_seen() {
    const PAGES: u64 = 64;
    let stalled = |bursts: u64, floor: &[_]| {
        let mut setup = buffered(plain_device(), PAGES, "page-lru", "linear-threshold");
        setup.rate = rate::builtin().choose("linear-threshold", floor).unwrap();
        let page = |at: u64| request(S + at / (PAGES * 4 / 5) * S, Op::Write, 8 * at, 8);
        Run::new(setup).run((0..bursts * PAGES * 4 / 5).map(page)).buffer.unwrap().stalled_writes
    };
    let floor = [("floor", Value::Ratio(0.1))];
    let (fixed, falling) = ([2, 3, 12].map(|bursts| stalled(bursts, &[])), [2, 3, 12].map(|b| stalled(b, &floor)));
    assert!(fixed[1] > fixed[0] && fixed[2] > 5 * fixed[0], "each burst finds the buffer half full");
    assert_eq!(falling, [fixed[0]; 3], "from the third burst on there is room");
}

/// As many pages as the buffer has room for leave nothing to write, and each more has one victim.
#[test]
fn single_evicts_nothing_before_it_must_and_then_one_page_for_each_that_comes() {
    for (written, evicted) in [(64, 0), (65, 1), (100, 36)] {
        let run = |rate| Run::new(buffered(plain_device(), 64, "page-lru", rate)).run(write(0..written));
        assert_eq!(programs(&run("single")), evicted);
    }
}

/// Logical blocks 0, 8, 16, ...: all of them on chip 0 by their addresses.
fn strided(placement: &'static str, blocks: u64, rounds: u64) -> Outcome {
    let block = |number: u64| CHIPS * number * BLOCK..CHIPS * number * BLOCK + BLOCK;
    let requests = write((0..rounds).flat_map(|_| (0..blocks).flat_map(block)));
    closed_on_empty(over_bast(CHIPS * BLOCK, "block-lru", "cave", placement), requests)
}

#[test]
fn round_robin_spreads_blocks_that_come_once_over_all_chips_whatever_their_addresses() {
    let (spread, fixed) = (strided("round-robin", 24, 1), strided("static", 24, 1));
    assert_eq!((migrated(&spread), migrated(&fixed)), (0, 0));
    let gain = fixed.host.duration_ns as f64 / spread.host.duration_ns as f64;
    assert!((7.0..=8.0).contains(&gain), "{gain} times as fast on eight chips");
}

#[test]
fn first_touch_spreads_blocks_as_round_robin_does_and_moves_none_that_come_again() {
    let (first, always) = (strided("first-touch", 25, 1), strided("round-robin", 25, 1));
    assert_eq!(first.host.duration_ns, always.host.duration_ns, "as long as no block comes twice");
    // A page of each block, again and again, with more blocks between than the buffer holds pages.
    let updates: Vec<Request> = write((0..250).map(|at| CHIPS * (at % 25) * BLOCK + at % BLOCK));
    let run = |placement| {
        let whole = (0..25).flat_map(|number| CHIPS * number * BLOCK..CHIPS * number * BLOCK + BLOCK);
        let requests = [write(whole), updates.clone()].concat();
        closed_on_empty(over_bast(16, "page-lru", "cave", placement), requests)
    };
    let (first, always) = (run("first-touch"), run("round-robin"));
    assert_eq!(migrated(&first), 0);
    assert!(migrated(&always) > 0 && first.host.duration_ns < always.host.duration_ns);
}

/// Pages of one block after the other: each eviction finds the rest of its block on another chip, but under `static`
/// and `first-touch`.
#[test]
fn static_and_first_touch_never_move_a_page_where_round_robin_moves_whole_blocks() {
    let updates = || write((0..400).map(|at| at * 11 % 25 * BLOCK + at * 7 % BLOCK));
    let run = |placement| closed(over_bast(16, "page-lru", "cave", placement), updates());
    assert_eq!(["static", "first-touch"].map(|placement| migrated(&run(placement))), [0, 0]);
    assert!(migrated(&run("round-robin")) > 10_000);
}

/// Reads of half a block, of a few blocks: on one chip each by address, on eight when they are spread.
#[test]
fn adaptive_spreads_blocks_that_are_read_in_long_runs_and_beats_static_and_round_robin() {
    let reads =
        (0..3_000).map(|at| request(MS, Op::Read, 8 * (at % 16 * BLOCK + at % 2 * BLOCK / 2), 8 * BLOCK as u32 / 2));
    let reads: Vec<_> = reads.collect();
    let duration = |placement| closed(over_bast(16, "block-lru", "cave", placement), reads.clone()).host.duration_ns;
    let [adaptive, others @ ..] = ["adaptive", "static", "round-robin", "first-touch"].map(duration);
    others.iter().for_each(|&other| assert!(2 * adaptive < other, "{adaptive} ns against {other} ns"));
}

/// Blocks that leave the buffer one at a time, in order: on one chip each, or a stripe over eight.
#[test]
fn adaptive_spreads_blocks_that_leave_one_by_one_in_order_and_copies_nothing() {
    let rounds = 12;
    let run = |placement| {
        let requests = write((0..rounds).flat_map(|_| 0..4 * CHIPS * BLOCK));
        closed(over_bast(2 * BLOCK, "block-lru", "single", placement), requests)
    };
    let (adaptive, fixed) = (run("adaptive"), run("static"));
    assert!(3 * adaptive.host.duration_ns < fixed.host.duration_ns);
    assert_eq!((merges(&adaptive).1, merges(&adaptive).2), (0, 0), "all by switches");
}

/// Scattered pages: a span of more chips would merge more blocks for nothing.
#[test]
fn adaptive_stays_narrow_where_spreading_costs_merges() {
    let updates = || write((0..2_000).map(|at| at * 37 % 300 * BLOCK / 4 + at * 7 % 16));
    for order in ["page-lru", "block-lru"] {
        let run = |placement| closed(over_bast(64, order, "cave", placement), updates());
        let (adaptive, fixed) = (run("adaptive"), run("static"));
        assert_eq!(migrated(&adaptive), 0);
        assert_eq!(adaptive.host.duration_ns, fixed.host.duration_ns, "{order}");
    }
}

/// Without a drain, time ends with the last request, whatever the buffer still holds; with one, everything is in flash.
#[test]
fn a_run_that_ends_with_a_drain_takes_as_long_as_writing_all_of_it() {
    let (device, written) = (plain_device(), 4 * CHIPS);
    let run = |drain| {
        let setup = buffered(device.clone(), 64, "page-lru", "single");
        Run { pace: Pace::Closed(1), drain, ..Run::new(setup) }.run(write(0..written))
    };
    let (left, drained) = (run(false), run(true));
    assert_eq!((programs(&left), left.drained_pages), (0, None));
    assert_eq!((programs(&drained), drained.drained_pages), (written, Some(written)));
    let writing = written / CHIPS * device.nand.program_ns;
    let more = drained.host.duration_ns - left.host.duration_ns;
    assert!((writing..writing + MS / 2).contains(&more), "{more} ns for four pages on each chip, {writing} at least");
    assert_eq!(drained.host.total_completed(), written, "the drain is no request");
    assert_eq!(drained.host.write_latency.max(), left.host.write_latency.max());
}

#[test]
fn a_drain_in_counting_mode_programs_as_much_and_takes_no_time() {
    let setup = buffered(plain_device(), 64, "page-lru", "single");
    let outcome = Run { timed: false, drain: true, ..Run::new(setup) }.run(write(0..32));
    assert_eq!((programs(&outcome), outcome.drained_pages), (32, Some(32)));
    assert_eq!(outcome.host.duration_ns, MS, "when the requests came");
}
