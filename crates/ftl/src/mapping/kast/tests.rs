//! KAST's rules and figures, each on full data blocks of four pages: page p of block B is 4 B + p.

use flashloom_nand::NandParams;
use flashloom_units::{GIB, MS, ParamSet, US, Value};

use super::LogState::{Free, Random};
use super::*;
use crate::mapping::log_block::lab::{Cost, Lab, SEQUENCE, setup, space};
use crate::{CapacityParams, FtlSetup, Preemption, Space};

mod room;

type Set<'a> = &'a [(&'a str, Value)];

const fn count(name: &str, count: u64) -> (&str, Value) {
    (name, Value::Count(count))
}

const fn name(name: &'static str, choice: &'static str) -> (&'static str, Value) {
    (name, Value::Name(choice))
}

/// A setup of KAST under a preemption.
fn kast(preemption: Preemption, set: Set) -> FtlSetup {
    let mut setup = setup("kast", set);
    setup.params.preemption = preemption;
    setup
}

/// Four log blocks and K = 2, with one sequential log block, no reserve, and merges of any log block for a page of
/// offset 0.
const USUAL: [(&str, Value); 5] = [
    count("log_blocks", 4),
    count("k", 2),
    count("sequential_log_blocks", 1),
    count("reserved_log_blocks", 0),
    name("start_merge", "any"),
];

/// Eight data blocks. One page is a small gap, two free pages are many, and no time is long. `set` overrides these.
fn lab(set: Set) -> Lab<Kast> {
    let gaps = [count("small_gap", 1), count("many_free_percent", 50), count("long_time", 1_000)];
    let setup = kast(Preemption::None, &[set, &USUAL, &gaps].concat());
    Lab::filled(&space(1, 8, KastParams::from_values(setup.mapping.values()).log_blocks), &setup)
}

const NO_SEQUENCES: (&str, Value) = count("sequential_log_blocks", 0);

fn states(lab: &Lab<Kast>) -> Vec<LogState> {
    let slots = lab.store().log.of_group(0);
    slots.map(|slot| lab.scheme().state(lab.store(), slot)).collect()
}

const fn sequential(block: u32) -> LogState {
    LogState::Sequential(Lbn(block))
}

const NOTHING: Cost = Cost { switch: 0, partial: 0, full: 0, copies: 0, erases: 0 };
const SWITCH: Cost = Cost { switch: 1, erases: 1, ..NOTHING };

/// A full merge of a log block with k data blocks.
fn full(k: u64) -> Cost {
    Cost { full: 1, copies: 4 * k, erases: k + 1, ..NOTHING }
}

fn partial(copies: u64) -> Cost {
    Cost { partial: 1, copies, erases: 1, ..NOTHING }
}

fn copies(copies: u64) -> Cost {
    Cost { copies, ..NOTHING }
}

/// Tests of a rule each: a drive, pages that are written one by one and what that costs, the states of the log blocks
/// then, and the log blocks that hold pages.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident {
        $lab:expr;
        $($lpns:expr => $cost:expr),+
        $(; states $states:expr)?
        $(; pages $pages:expr => $slots:expr)?
    })+) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            let mut lab = $lab;
            $(assert_eq!(lab.write($lpns), $cost);)+
            $(assert_eq!(states(&lab), $states);)?
            $(assert_eq!($pages.map(|lpn| lab.log_block_of(lpn)), $slots);)?
        }
    )+};
}
use rules;

/// The figure has every first write in a log block of its own and no sequential one, although all have offset 0.
#[test]
fn figure_2_associativity_grows_last_and_not_for_pages_of_associated_blocks() {
    let mut lab = lab(&[NO_SEQUENCES]);
    let place = |lab: &Lab<Kast>| SEQUENCE.map(|lpn| lab.log_block_of(lpn));
    assert_eq!(lab.write(SEQUENCE[..6].iter().copied()), NOTHING);
    assert_eq!(lab.associativity(), [2, 2, 1, 1]);
    assert_eq!(lab.write(SEQUENCE[6..].iter().copied()), NOTHING);
    assert_eq!(place(&lab), [0, 1, 2, 3, 0, 1, 0, 1].map(Some));
    assert_eq!(lab.associativity(), [2, 2, 1, 1]);
    assert_eq!(states(&lab), [Random(2), Random(2), Random(1), Random(1)]);
}

// Preemption: the last free log block is kept for the time of a merge.

fn preempted(set: Set) -> Lab<Kast> {
    Lab::filled(&space(1, 8, 4), &kast(Preemption::Page, &[set, &USUAL].concat()))
}

/// Three log blocks take pages. When each is associated with K = 2 data blocks, the fourth is opened and a merge
/// begins.
#[test]
fn with_preemption_associativity_grows_before_the_last_free_log_block_is_opened() {
    let mut lab = preempted(&[NO_SEQUENCES]);
    assert_eq!(lab.write([1, 5, 9, 13, 17, 21]), NOTHING);
    assert_eq!(states(&lab), [Random(2), Random(2), Random(2), Free]);
    assert_eq!(lab.report().longest.wait_ns, 0);
    let Cost { copies, .. } = lab.write([25]);
    assert!(copies > 0, "a merge has begun");
}

rules! {
    with_preemption_page_0_begins_a_sequence_in_the_last_free_log_block {
        preempted(&[]); [1, 5, 9] => NOTHING, [16] => full(1); states [Free, Random(1), Random(1), sequential(4)]
    }
}

#[test]
fn with_preemption_a_complete_sequence_is_switched_before_the_last_free_log_block_is_opened() {
    for sequences in 1..=4 {
        let mut lab = preempted(&[count("sequential_log_blocks", sequences)]);
        assert_eq!(lab.write([5, 9, 16, 17, 18, 19]), NOTHING);
        assert_eq!(lab.write([24]), SWITCH);
        assert_eq!(states(&lab), [Random(1), Random(1), sequential(6), Free]);
    }
}

/// Every log block is at K = 2, so the merge that page 24 begins takes longer than the steps that this page pays for.
const LAST_IS_A_SEQUENCE: [u32; 7] = [1, 5, 9, 13, 17, 21, 24];

#[test]
fn with_preemption_a_sequence_takes_the_page_that_would_wait_for_the_merge() {
    let mut lab = preempted(&[]);
    lab.write(LAST_IS_A_SEQUENCE);
    assert_eq!(states(&lab)[3], sequential(6));
    lab.write([29]);
    assert_eq!((states(&lab)[3], lab.log_block_of(29)), (Random(2), Some(3)));
    let report = lab.report();
    assert!(report.longest.wait_ns < report.blocking_ns.max(), "the page did not wait for the merge");
}

#[test]
fn with_preemption_a_sequence_is_padded_during_a_merge_while_k_pages_stay_free() {
    for (next, state) in [(26, sequential(6)), (27, Random(1))] {
        let mut lab = preempted(&[count("small_gap", 2)]);
        lab.write(LAST_IS_A_SEQUENCE);
        lab.write([next]);
        assert_eq!((states(&lab)[3], lab.log_block_of(next)), (state, Some(3)));
    }
}

const ERASE: Cost = Cost { erases: 1, ..NOTHING };

/// Page 25 begins a merge of eleven steps and pays for eight: two data blocks of four copies and an erase each, and the
/// erase of the log block.
const LEAVES_THREE_STEPS: [u32; 7] = [1, 5, 9, 13, 17, 21, 25];

#[test]
fn a_page_in_or_after_an_idle_time_waits_for_the_last_step_that_was_begun_even_where_that_ended_the_merge() {
    let steps = [(copies(1), true), (ERASE, true), (Cost { full: 1, ..ERASE }, false)];
    let erase_ns = NandParams::defaults().erase_ns;
    for (taken, waits_ns) in [(1, 1..erase_ns), (3, erase_ns..erase_ns + 1)] {
        let mut lab = preempted(&[NO_SEQUENCES]);
        lab.write(LEAVES_THREE_STEPS);
        steps[..taken].iter().for_each(|&step| assert_eq!(lab.idle(), step));
        lab.write([26]);
        assert!(waits_ns.contains(&lab.report().longest.wait_ns), "after {taken} steps");
    }
}

#[test]
fn an_idle_drive_takes_one_step_at_a_time_on_one_of_its_chips() {
    let set = [count("log_blocks", 4), count("k", 2), NO_SEQUENCES];
    let mut lab = Lab::<Kast>::filled(&space(2, 8, 4), &kast(Preemption::Page, &set));
    for chip in 0..2 {
        lab.write(LEAVES_THREE_STEPS.map(|lpn| lpn / 4 * 8 + chip * 4 + lpn % 4));
    }
    for left in (0..6).rev() {
        let (Cost { copies, erases, .. }, goes_on) = lab.idle();
        assert_eq!((copies + erases, goes_on), (1, left > 0), "{left} steps are left");
    }
    assert_eq!(lab.idle(), (NOTHING, false));
}

/// With K = 1, the rest of a partial merge and another sequence's merge together are longer: 3 + 4 copies, 1 + 2
/// erases.
#[test]
fn without_preemption_the_bound_on_a_wait_is_one_full_merge_and_the_padding_of_figure_4d() {
    for (k, start, bound) in [
        (1, "append", (7, 3)),
        (1, "copy", (7, 3)),
        (2, "append", (8, 3)),
        (2, "allocate", (8, 3)),
        (2, "copy", (8 + 3, 3)),
    ] {
        let lab = lab(&[count("k", k), name("sequential_start", start)]);
        let NandParams { erase_ns, .. } = NandParams::defaults();
        let copy_ns = (lab.bounds().blocking_ns - (k + 1) * erase_ns) / (4 * k);
        assert_eq!(lab.bounds().wait_ns, bound.0 * copy_ns + bound.1 * erase_ns, "K = {k}, {start}");
    }
}

// The edges of Figure 3.

/// All random log blocks are at K = 2; a sequential one has one page and is idle.
const ALL_AT_K: [u32; 7] = [0, 5, 9, 13, 17, 21, 25];
const ONE_AT_K: [LogState; 4] = [Random(2), Random(1), Random(1), Random(1)];

rules! {
    f_to_s_with_page_0_and_f_to_r1_with_any_other {
        lab(&[]); [0, 5] => NOTHING; states [sequential(0), Random(1), Free, Free]
    }
    s_stays_while_pages_follow_each_other {
        lab(&[]); 0..4 => NOTHING; states [sequential(0), Free, Free, Free]; pages [3] => [Some(0)]
    }
    r1_stays_with_pages_of_its_data_block { lab(&[]); [1, 3, 1] => NOTHING; states [Random(1), Free, Free, Free] }
    r1_to_r2_with_a_page_of_another_data_block { lab(&[]); [1, 5, 9, 13, 17] => NOTHING; states ONE_AT_K }
    /// L0 is full, so p17 goes to the least associated of the others.
    r2_to_r1_when_its_last_page_of_a_data_block_is_written_elsewhere {
        lab(&[]); [1, 5, 9, 13, 17, 2, 3] => NOTHING, [17] => NOTHING;
        states [Random(1), Random(2), Random(1), Random(1)]
    }
    s_to_r1_when_its_data_block_breaks_the_sequence_while_many_pages_are_free {
        lab(&[]); [0, 3] => NOTHING; states [Random(1), Free, Free, Free]
    }
    s_to_r2_with_a_page_of_another_data_block_after_a_long_time {
        lab(&[count("long_time", 6)]); ALL_AT_K => NOTHING, [29] => NOTHING; states [Random(2); 4]
    }
    before_a_long_time_s_is_kept_and_a_log_block_merged {
        lab(&[count("long_time", 7)]); ALL_AT_K => NOTHING, [29] => full(2);
        states [sequential(0), Random(1), Random(2), Random(2)]
    }
    s_to_r2_needs_a_k_of_two { lab(&[count("k", 1), NO_TIME]); [0, 5, 9, 13] => NOTHING, [17] => full(1) }
    s_to_f_by_a_switch_merge_of_one_erase {
        lab(&[]); [0, 1, 2, 3, 5, 9, 13] => NOTHING, [17] => SWITCH; states [Random(1); 4]
    }
}

/// Logical blocks are distributed over the chips round-robin.
#[test]
fn the_long_time_is_that_of_the_chip() {
    let on_chip_0 = |lpn: u32| lpn / 4 * 8 + lpn % 4;
    for (long_time, cost) in [(6, NOTHING), (7, full(2))] {
        let set = [("log_blocks", 4), ("k", 2), ("sequential_log_blocks", 1), ("long_time", long_time)];
        let setup = kast(Preemption::None, &set.map(|(name, value)| count(name, value)));
        let mut lab = Lab::<Kast>::filled(&space(2, 8, 4), &setup);
        lab.write(ALL_AT_K.map(on_chip_0));
        lab.write([5, 6, 5, 6]);
        assert_eq!(lab.write([on_chip_0(29)]), cost);
    }
}

#[test]
fn r_i_to_f_by_a_full_merge_of_n_i_copies_and_i_plus_1_erases() {
    for k in 1..=3 {
        let mut lab = lab(&[count("k", k), count("log_blocks", 2), NO_SEQUENCES]);
        // One page of each of 2 K data blocks brings both log blocks to K.
        assert_eq!(lab.write((0..2 * k as u32).map(|block| 4 * block + 1)), NOTHING);
        assert_eq!(states(&lab), [Random(k as u32); 2]);
        assert_eq!(lab.write([4 * 7 + 1]), full(k));
        let report = lab.report();
        assert_eq!((report.blocking_ns.max(), report.associativity[k as usize]), (lab.bounds().blocking_ns, 1));
    }
}

// Section III-B, step 1.

fn with_start(start: &'static str) -> Lab<Kast> {
    lab(&[name("sequential_start", start)])
}

fn with_gap(gap: &'static str, small: u64) -> Lab<Kast> {
    lab(&[name("large_gap", gap), count("small_gap", small)])
}

rules! {
    a_page_joins_its_data_block_though_log_blocks_are_free {
        lab(&[]); [1, 2, 7] => NOTHING; pages [1, 2, 7] => [Some(0), Some(0), Some(1)]
    }
    figure_4b_page_0_is_appended_to_the_random_log_block_of_its_data_block {
        with_start("append"); [1, 3, 0] => NOTHING;
        states [Random(1), Free, Free, Free]; pages [0, 1, 3] => [Some(0); 3]
    }
    figure_4c_page_0_begins_a_sequence_and_the_others_stay_until_they_are_updated {
        with_start("allocate"); [1, 3, 0] => NOTHING;
        states [Random(1), sequential(0), Free, Free]; pages [0, 1, 3] => [Some(1), Some(0), Some(0)]
    }
    figure_4c_the_sequence_takes_the_others_when_they_are_updated {
        with_start("allocate"); [1, 3, 0, 1, 2, 3] => NOTHING;
        states [Random(0), sequential(0), Free, Free]; pages [0, 1, 2, 3] => [Some(1); 4]
    }
    /// p1 and p3 from the log block, p2 from the data block.
    figure_4d_page_0_begins_a_sequence_and_the_others_are_copied_with_those_between_them {
        with_start("copy"); [1, 3] => NOTHING, [0] => copies(3);
        states [Random(0), sequential(0), Free, Free]; pages [0, 1, 2, 3] => [Some(1); 4]
    }
    figure_5b_a_small_gap_is_filled_from_the_data_block {
        lab(&[]); [0, 2] => copies(1); states [sequential(0), Free, Free, Free]; pages [0, 1, 2] => [Some(0); 3]
    }
    /// p1 and p3 are copied, p2 is the host's.
    figure_5c_a_large_gap_is_merged_over_and_the_page_written_in_its_course {
        with_gap("merge", 0); [0, 2] => partial(2); states [Free; 4]; pages [2] => [None]
    }
    figure_5c_a_page_that_is_in_the_sequence_is_written_elsewhere_after_the_merge {
        with_gap("merge", 1); [0, 1, 1] => partial(2); states [Random(1), Free, Free, Free]; pages [1] => [Some(0)]
    }
    figure_5d_a_large_gap_makes_the_sequence_random {
        with_gap("transform", 1); [0, 3] => NOTHING; states [Random(1), Free, Free, Free]; pages [3] => [Some(0)]
    }
    figure_5d_a_page_that_is_in_the_sequence_makes_it_random {
        with_gap("transform", 1); [0, 0] => NOTHING; states [Random(1), Free, Free, Free]; pages [0] => [Some(0)]
    }
}

#[test]
fn figure_4_does_not_keep_more_sequences_than_are_allowed() {
    for (long_time, left) in [(1, [Random(1), Random(1), sequential(0)]), (2, [sequential(1), Random(1), Free])] {
        let mut lab = lab(&[name("sequential_start", "allocate"), count("long_time", long_time)]);
        assert_eq!(lab.write([4, 1, 0]), NOTHING);
        assert_eq!(states(&lab)[..3], left, "a long time of {long_time} pages");
    }
}

/// Figure 4c leaves p3 in a random log block beside the complete sequence of its data block.
#[test]
fn a_page_that_its_sequence_does_not_take_joins_the_random_log_block_of_its_data_block() {
    let mut lab = lab(&[count("k", 1), name("sequential_start", "allocate")]);
    assert_eq!(lab.write([3, 0, 1, 2]), NOTHING);
    // p1 is already in the sequence, which is therefore merged. p3 has a newer copy elsewhere, so it is copied.
    lab.write([1]);
    assert_eq!(lab.log_block_of(1), Some(0));
    assert_eq!(lab.write([5, 9, 13]), NOTHING, "three log blocks are left for three other data blocks");
}

#[test]
fn figure_5_the_sequence_is_made_random_only_while_it_has_many_free_pages() {
    for (written, cost) in [(2, NOTHING), (3, partial(1)), (4, SWITCH)] {
        let mut lab = lab(&[]);
        lab.write(0..written);
        assert_eq!(lab.write([1]), cost, "{written} pages written");
    }
}

// The limit of sequential log blocks.

const NO_TIME: (&str, Value) = count("long_time", 0);

rules! {
    at_the_limit_the_sequence_written_longest_ago_is_merged_when_it_has_few_free_pages {
        lab(&[NO_TIME]); [0, 1, 2] => NOTHING, [4] => partial(1); states [sequential(1), Free, Free, Free]
    }
    at_the_limit_a_complete_sequence_is_switched_for_page_0 {
        lab(&[]); 0..4 => NOTHING, [4] => SWITCH; states [sequential(1), Free, Free, Free]
    }
    the_switch_merge_that_makes_room_lets_page_0_begin_the_next_sequence {
        lab(&[count("log_blocks", 2)]); 0..16 => Cost { switch: 3, erases: 3, ..NOTHING }
    }
}

#[test]
fn at_the_limit_the_first_page_is_as_any_other_until_a_sequence_has_waited_for_a_long_time() {
    for (long_time, left) in [(1, [sequential(0), Random(1)]), (0, [Random(1), sequential(1)])] {
        let mut lab = lab(&[count("long_time", long_time)]);
        assert_eq!(lab.write([0, 4]), NOTHING);
        assert_eq!(states(&lab)[..2], left, "a long time of {long_time} pages");
    }
}

#[test]
fn a_long_time_is_a_block_of_pages_where_it_is_not_given() {
    for (others, left) in [(3, sequential(0)), (4, Random(1))] {
        let mut lab = lab(&[("long_time", Value::Absent)]);
        lab.write([0].into_iter().chain((0..others).map(|page| 5 + page % 2)).chain([8]));
        assert_eq!(states(&lab)[0], left, "after {others} other pages and page 0");
    }
}

#[test]
fn at_the_limit_the_sequence_written_longest_ago_becomes_random_while_it_has_many_free_pages() {
    for (writes, left) in [(&[0, 4][..], [Random(1), sequential(1)]), (&[0, 4, 1], [sequential(0), Random(1)])] {
        let mut lab = lab(&[count("sequential_log_blocks", 2), NO_TIME]);
        lab.write(writes.iter().copied());
        assert_eq!(lab.write([8]), NOTHING);
        assert_eq!(states(&lab), [left[0], left[1], sequential(2), Free], "after {writes:?}");
    }
}

#[test]
fn sequences_that_do_not_go_on_hold_no_quota() {
    for k in 1..=4 {
        let mut lab = lab(&[count("sequential_log_blocks", 2), count("k", k), NO_TIME]);
        // One page of each of two logical blocks, and then a stream.
        assert_eq!(lab.write([0, 4]), NOTHING);
        assert_eq!(lab.write(8..32), Cost { switch: 5, erases: 5, ..NOTHING }, "K = {k}");
        assert_eq!(states(&lab)[..2], [Random(1), sequential(1)], "the stream needs one");
    }
}

// Section III-B, step 2.

rules! {
    a_free_log_block_is_taken_before_a_complete_sequence_is_switched {
        lab(&[]); [0, 1, 2, 3, 5] => NOTHING; states [sequential(0), Random(1), Free, Free]
    }
    page_0_skips_the_second_step_and_merges_for_a_sequence {
        lab(&[]); [1, 5, 9, 13] => NOTHING, [16] => full(1); states [sequential(4), Random(1), Random(1), Random(1)]
    }
    of_equally_associated_log_blocks_the_one_with_most_free_pages_grows {
        lab(&[]); [1, 5, 9, 13, 2, 6, 14, 17] => NOTHING; pages [17] => [Some(2)]
    }
    /// L0 has two data blocks and two free pages, the others one of each.
    a_lower_associativity_goes_before_more_free_pages {
        lab(&[count("k", 3)]); [1, 5, 9, 13, 17, 6, 7, 10, 11, 14, 15] => NOTHING, [21] => NOTHING;
        pages [21] => [Some(1)]
    }
}

#[test]
fn an_idle_sequence_competes_with_the_random_log_blocks_of_one_data_block() {
    for (long_time, taker) in [(6, 0), (7, 1)] {
        let mut lab = lab(&[count("long_time", long_time)]);
        // The sequence of B0 has one page, the random log blocks have two each.
        lab.write([0, 5, 9, 13, 6, 10, 14]);
        assert_eq!(lab.write([17]), NOTHING);
        assert_eq!(lab.log_block_of(17), Some(taker), "a long time of {long_time} pages");
    }
}

// Section III-B, step 3.

rules! {
    a_sequence_with_few_free_pages_is_merged_first {
        lab(&[]); [0, 1, 2, 5, 9, 13, 17, 21, 25] => NOTHING, [29] => partial(1);
        states [Random(1), Random(2), Random(2), Random(2)]
    }
    a_sequence_with_many_free_pages_is_kept_for_pages_to_come {
        lab(&[]); ALL_AT_K => NOTHING, [29] => full(2); states [sequential(0), Random(1), Random(2), Random(2)]
    }
    where_there_are_only_sequences_with_many_free_pages_the_fullest_is_merged {
        lab(&[count("sequential_log_blocks", 4)]); [0, 4, 5, 8, 12] => NOTHING, [17] => partial(2);
        states [sequential(0), Random(1), sequential(2), sequential(3)]
    }
    /// L0 is full of one data block, the others hold two.
    of_random_log_blocks_the_one_that_is_cheapest_to_merge_goes_first {
        lab(&[]); [1, 2, 3, 1, 5, 9, 13, 17, 21, 25] => NOTHING, [29] => full(1); pages [29] => [Some(0)]
    }
    of_equally_costly_log_blocks_the_one_with_fewest_free_pages_goes_first {
        lab(&[count("k", 1)]); [1, 5, 9, 13, 10] => NOTHING, [17] => full(1); pages [17] => [Some(2)]
    }
}

/// L0 is full and has two data blocks, the others have one page each.
#[test]
fn the_cheapest_merge_and_the_cheapest_for_a_page_written_are_different_ones() {
    for (choice, cost, victim) in [("cost", full(1), 1), ("cost-per-page", full(2), 0)] {
        let mut lab = lab(&[name("random_victim", choice)]);
        lab.write([1, 5, 9, 13, 17, 2, 3]);
        assert_eq!(lab.write([28]), cost, "{choice}");
        assert_eq!(lab.log_block_of(28), Some(victim), "{choice}");
    }
}

// What the paper leaves open.

rules! {
    /// The merge of L0 gathers B0, whose page 0 is in the sequence.
    a_sequence_whose_pages_were_gathered_by_another_merge_is_random {
        with_start("allocate"); [1, 0, 9, 13, 17, 21, 25] => NOTHING, [29] => full(2);
        states [Random(1), Random(0), Random(2), Random(2)]
    }
    a_sequence_whose_pages_were_gathered_takes_any_page {
        with_start("allocate"); [1, 0, 9, 13, 17, 21, 25] => NOTHING, [29] => full(2), [5] => NOTHING;
        states [Random(1), Random(1), Random(2), Random(2)]; pages [5] => [Some(1)]
    }
}

#[test]
fn a_sequence_whose_pages_were_trimmed_is_random() {
    let mut lab = lab(&[]);
    lab.write([0, 1]);
    lab.trim(0..2);
    assert_eq!(states(&lab), [Random(0), Free, Free, Free]);
}

// Section II: what merges cost.

/// The array of the preset `kast-slc`, with few blocks, which are quick to build.
fn kast_slc() -> NandParams {
    NandParams {
        channels: 1,
        ways: 1,
        dies: 1,
        planes: 1,
        blocks: 64,
        pages: 64,
        page_bytes: 2_048,
        bits_per_cell: 1,
        read_ns: 25 * US,
        program_ns: 200 * US,
        erase_ns: 2 * MS,
        bus_rate: 100 * GIB,
        ..NandParams::defaults()
    }
}

/// Half of that array is the host's.
fn half(nand: NandParams) -> Space {
    Space::new(nand, &CapacityParams::of(1.0))
}

#[test]
fn a_switch_merge_on_the_papers_drive_takes_2_ms() {
    let mut lab = Lab::<Kast>::filled(&half(kast_slc()), &setup("kast", &[count("log_blocks", 2)]));
    // The sequence of B0, then random pages of one data block after the other, until the sequence is merged.
    lab.write(0..64);
    assert_eq!(lab.write([64 + 1, 2 * 64 + 1]), SWITCH);
    let report = lab.report();
    assert_eq!((report.switch, report.blocking_ns.max()), (1, 2 * MS));
}

/// N² C_copy + (N + 1) C_erase with 128 pages a block and 50, 650 and 2,000 us. The paper says "about 6 seconds",
/// which its formula does not give.
#[test]
fn the_worst_merge_of_fast_on_the_papers_mlc_takes_11_7_s() {
    let nand = NandParams { pages: 128, read_ns: 50 * US, program_ns: 650 * US, ..kast_slc() };
    let lab = Lab::<super::super::fast::Fast>::empty(&half(nand), &setup("fast", &[]));
    let by_hand = 128 * 128 * 700 * US + 129 * 2 * MS;
    assert_eq!(by_hand, 11_726_800 * US);
    let bound = lab.bounds().blocking_ns;
    // The bus is not infinitely fast: 20 ns a page and transfer.
    assert!((by_hand..by_hand + MS).contains(&bound), "{bound} ns");
}

// Streams of SLAP in the place of the paper's "offset 0".

fn streams_of(pages: u64, set: Set) -> Lab<Kast> {
    lab(&[&[count("stream_threshold", pages)], set].concat())
}

#[test]
fn a_stream_threshold_of_1_is_the_papers_rule_and_looks_for_no_stream() {
    let mut lab = streams_of(1, &[]);
    assert_eq!((lab.write_together(&[0, 1]), states(&lab)[0]), (NOTHING, sequential(0)));
    assert_eq!(lab.streams(), None);
}

#[test]
fn page_0_begins_a_sequence_only_with_as_many_pages_behind_it_as_the_threshold_asks_for() {
    let mut lab = streams_of(3, &[]);
    assert_eq!(lab.write_together(&[0, 1, 3]), NOTHING);
    assert_eq!((states(&lab), lab.streams()), (vec![Random(1), Free, Free, Free], Some(0)));
    assert_eq!(lab.write_together(&[4, 5, 6]), NOTHING);
    assert_eq!((states(&lab), lab.streams()), (vec![Random(1), sequential(1), Free, Free], Some(1)));
    assert_eq!(lab.write([7]), NOTHING, "a stream goes on page by page");
    assert_eq!(states(&lab)[1], sequential(1));
}

#[test]
fn a_stream_is_found_in_any_order_and_written_in_that_of_its_pages() {
    let mut lab = streams_of(4, &[]);
    assert_eq!(lab.write_together(&[6, 17, 4, 7, 5]), NOTHING);
    assert_eq!(states(&lab), [sequential(1), Random(1), Free, Free]);
    assert_eq!(lab.write_together(&[8, 9, 10, 11]), SWITCH, "the first sequence is complete and in order");
}

/// Page 0 of a block that a random log block holds is written like any other page unless a stream begins with it.
#[test]
fn beside_a_random_log_block_too_only_a_stream_begins_a_sequence() {
    let start = name("sequential_start", "allocate");
    for (together, state) in [(&[0, 2][..], Free), (&[0, 1, 2], sequential(0))] {
        let mut lab = streams_of(3, std::slice::from_ref(&start));
        lab.write([3]);
        lab.write_together(together);
        assert_eq!(states(&lab)[1], state);
    }
}

#[test]
fn whole_blocks_in_order_are_streams_and_copy_nothing_under_either_preemption() {
    for preemption in [Preemption::None, Preemption::Page] {
        for threshold in 1..=4 {
            let set = [count("log_blocks", 4), count("k", 2), count("stream_threshold", threshold)];
            let mut lab = Lab::<Kast>::filled(&space(1, 8, 4), &kast(preemption, &set));
            let costs = (0..40).map(|block| lab.write_together(&[0, 1, 2, 3].map(|page| block % 8 * 4 + page)));
            assert!(costs.into_iter().all(|cost| cost == NOTHING || cost == SWITCH), "{preemption:?}, {threshold}");
        }
    }
}

/// One page at offset 0 of each of sixteen blocks in turn, with a whole block written after every second one. By the
/// paper's rule each single page opens a log block. With streams the single pages share random log blocks, so fewer log
/// blocks are merged, and the whole blocks are switched as before.
#[test]
fn short_writes_at_offset_0_among_whole_blocks_cost_less_if_only_streams_open_sequences() {
    let cost = |threshold: u64| {
        let set = [count("k", 4), count("log_blocks", 4), count("stream_threshold", threshold)];
        let mut lab = Lab::<Kast>::filled(&space(1, 24, 4), &setup("kast", &set));
        let mut total = NOTHING;
        for round in 0..96 {
            let mut add = |cost: Cost| {
                total.copies += cost.copies;
                total.erases += cost.erases;
                total.switch += cost.switch;
            };
            add(lab.write_together(&[round % 16 * 4]));
            if round % 2 == 0 {
                add(lab.write_together(&[0, 1, 2, 3].map(|page| (16 + round / 2 % 8) * 4 + page)));
            }
        }
        total
    };
    let (paper, streams) = (cost(1), cost(4));
    assert!(streams.copies < paper.copies, "{streams:?}, {paper:?}");
    assert!(streams.erases < paper.erases, "{streams:?}, {paper:?}");
    assert!(
        streams.switch + 1 >= paper.switch,
        "all are switched but one that is still written: {streams:?}, {paper:?}"
    );
}

#[test]
fn a_stream_longer_than_a_block_is_refused() {
    let set = [count("stream_threshold", 5), count("k", 4), count("log_blocks", 4)];
    let refused = setup("kast", &set).profile(&space(1, 8, 4));
    let key = refused.map_err(|refusal| refusal.keys[0].clone());
    assert_eq!(key, Err("ftl.kast.stream_threshold".to_owned()));
}
