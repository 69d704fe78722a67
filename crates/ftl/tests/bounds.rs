//! What merges may take, against an adversary: a search that looks for the writes that block longest.
//!
//! Strategy: hill climbing over sequences of writes, trims, idle steps and rests on a small full drive. A sequence is
//! changed here and there and kept if the longest merge and the longest wait of the host that it causes are no shorter.
//! No sequence on the way may pass a bound; and where a bound can be reached, the search has to reach it.

use crate::support::{Ftl, Merges, chip, pick, preempted, with_mapping};
use flashloom_ftl::{FtlSetup, Preemption};
use flashloom_units::{Ns, Prng, Value};

const LOGICAL_BLOCKS: u32 = 12;
const PAGES: u32 = 4;
const LENGTH: usize = 96;

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u32),
    Trim(u32),
    /// One background step, on an idle drive.
    Idle,
    /// Background steps until none is left.
    Rest,
}

fn random_step(prng: &mut Prng) -> Step {
    let lpn = prng.below((LOGICAL_BLOCKS * PAGES).into()) as u32;
    match prng.below(20) {
        0 => Step::Trim(lpn),
        1 => pick(prng, &[Step::Idle, Step::Rest]),
        _ => Step::Write(lpn),
    }
}

/// The same steps with a few changed, repeated or exchanged.
fn changed(steps: &[Step], prng: &mut Prng) -> Vec<Step> {
    let mut steps = steps.to_vec();
    for _ in 0..=prng.below(4) {
        let (at, other) = (prng.below(LENGTH as u64) as usize, prng.below(LENGTH as u64) as usize);
        match prng.below(3) {
            0 => steps[at] = random_step(prng),
            1 => steps[at] = steps[other],
            _ => steps.swap(at, other),
        }
    }
    steps
}

/// An FTL after the steps. Checks all counters, and thereby the bound on waits.
fn after(setup: &FtlSetup, steps: &[Step]) -> Ftl {
    let mut ftl = Ftl::filled(&chip(LOGICAL_BLOCKS, 8, PAGES), setup, false);
    for step in steps {
        match *step {
            Step::Write(lpn) => ftl.write(&[(lpn, 1)]),
            Step::Trim(lpn) => ftl.trim(lpn),
            Step::Idle => _ = ftl.idle(),
            Step::Rest => while ftl.idle() {},
        }
    }
    ftl.check();
    ftl
}

/// Runs the steps; returns the counters of merges.
fn blocked(setup: &FtlSetup, steps: &[Step]) -> Merges {
    let merges = after(setup, steps).merges();
    let (blocking, wait) = (merges.blocking_ns.max(), merges.longest_wait_ns);
    assert!(blocking <= merges.blocking_bound_ns, "a merge of {blocking} ns, against {}", merges.blocking_bound_ns);
    assert!(wait <= merges.wait_bound_ns, "a wait of {wait} ns, against {}", merges.wait_bound_ns);
    merges
}

/// The most harm that the search found in so many rounds.
fn most_harm<R>(seed: u64, rounds: u32, run: impl Fn(&[Step]) -> R, harm: impl Fn(&R) -> Ns) -> R {
    let mut prng = Prng::new(seed).branch("adversary");
    let mut steps: Vec<Step> = (0..LENGTH).map(|_| random_step(&mut prng)).collect();
    let mut found = run(&steps);
    for _ in 0..rounds {
        let next = changed(&steps, &mut prng);
        let report = run(&next);
        if harm(&report) >= harm(&found) {
            (steps, found) = (next, report);
        }
    }
    found
}

/// The longest merge and wait that the search found.
fn worst(setup: &FtlSetup, seed: u64, rounds: u32) -> Merges {
    let harm = |merges: &Merges| merges.blocking_ns.max() + merges.longest_wait_ns;
    most_harm(seed, rounds, |steps| blocked(setup, steps), harm)
}

const LOG_BLOCKS: (&str, Value) = ("log_blocks", Value::Count(5));

/// KAST with all combinations of its choices.
fn kast(prng: &mut Prng, preemption: Preemption) -> FtlSetup {
    let count = |prng: &mut Prng, of: &[u64]| Value::Count(pick(prng, of));
    let set = [
        LOG_BLOCKS,
        ("k", count(prng, &[1, 2, 3, 4])),
        ("sequential_log_blocks", count(prng, &[0, 1, 2, 5])),
        ("reserved_log_blocks", count(prng, &[0, 1, 2, 3])),
        ("small_gap", count(prng, &[0, 1, 3])),
        ("many_free_percent", count(prng, &[0, 50, 100])),
        ("long_time", count(prng, &[0, 5, 1_000])),
        ("sequential_start", Value::Name(pick(prng, &["append", "allocate", "copy"]))),
        ("start_merge", Value::Name(pick(prng, &["any", "filled"]))),
        ("large_gap", Value::Name(pick(prng, &["merge", "transform", "auto"]))),
        ("random_victim", Value::Name(pick(prng, &["cost", "cost-per-page"]))),
    ];
    preempted("kast", preemption, &set)
}

#[test]
fn no_merge_of_kast_passes_its_bound_whatever_is_written() {
    let mut prng = Prng::new(3);
    for seed in 0..24 {
        let setup = kast(&mut prng, Preemption::None);
        let merges = worst(&setup, seed, 200);
        println!("{:?}: {} of {} ns", setup.mapping, merges.blocking_ns.max(), merges.blocking_bound_ns);
    }
}

#[test]
fn with_preemption_no_wait_for_kast_passes_its_bound_whatever_is_written() {
    let mut prng = Prng::new(4);
    for seed in 0..24 {
        let setup = kast(&mut prng, Preemption::Page);
        let merges = worst(&setup, seed, 200);
        println!("{:?}: {} of {} ns", setup.mapping, merges.longest_wait_ns, merges.wait_bound_ns);
    }
}

/// Few log blocks, so that the writes have data blocks enough to bring all of them to K.
#[test]
fn the_adversary_reaches_the_bound_of_kasts_longest_merge() {
    for k in 1..=4 {
        let set = [("log_blocks", Value::Count(2)), ("k", Value::Count(k)), ("sequential_log_blocks", Value::Count(0))];
        let merges = worst(&preempted("kast", Preemption::None, &set), k, 400);
        assert_eq!(merges.blocking_ns.max(), merges.blocking_bound_ns, "K = {k}");
    }
}

/// The price is log space: a log block of every chip is kept for the meantime.
#[test]
fn with_preemption_the_longest_wait_found_is_shorter_than_the_longest_merge_and_log_space_is_kept() {
    let set = [LOG_BLOCKS, ("k", Value::Count(4)), ("sequential_log_blocks", Value::Count(0))];
    let (none, page) = (
        worst(&preempted("kast", Preemption::None, &set), 1, 400),
        worst(&preempted("kast", Preemption::Page, &set), 1, 400),
    );
    println!("none waits {} ns, page {} ns of {}", none.longest_wait_ns, page.longest_wait_ns, page.wait_bound_ns);
    assert!(page.longest_wait_ns < none.longest_wait_ns);
    assert_eq!((none.reserved_pages, page.reserved_pages), (0, PAGES.into()));
}

#[test]
fn no_scheme_passes_its_bounds_whatever_is_written() {
    for mapping in ["bast", "fast", "sast", "mcsplit"] {
        for preemption in [Preemption::None, Preemption::Page] {
            let merges = worst(&preempted(mapping, preemption, &[LOG_BLOCKS]), 7, 400);
            let (blocking, wait) = (merges.blocking_ns.max(), merges.longest_wait_ns);
            println!(
                "{mapping}, {preemption:?}: merge {blocking} of {} ns, wait {wait} of {} ns",
                merges.blocking_bound_ns, merges.wait_bound_ns
            );
        }
    }
}

/// Mappings that are no log-block mappings, and state a bound of their own on the wait of a page.
#[test]
fn no_other_mapping_passes_the_wait_bound_that_it_states_whatever_is_written() {
    let count = |name, count| (name, Value::Count(count));
    let superblocks = [1, 2, 3, 4].map(|blocks| {
        let set = [count("blocks", blocks), count("update_blocks", 3), count("log_blocks", 7), count("tables", 1)];
        ("superblock-ftl", set.to_vec())
    });
    let table = 4 * u64::from(PAGES + 1);
    let areas = [(1, 0.0), (1, 1.0), (2, 0.5), (3, 1.0), (12, 0.0), (12, 1_000.0)].map(|(tables, patience)| {
        let set = [("map", Value::Size(tables * table)), ("patience", Value::Ratio(patience)), count("streams", 2)];
        ("janus-ftl", set.to_vec())
    });
    for (mapping, set) in superblocks.into_iter().chain(areas) {
        let setup = with_mapping(mapping, &set);
        let wait = |steps: &[Step]| {
            let ftl = after(&setup, steps);
            let (wait, bound) = (ftl.count("longest_wait_ns"), ftl.count("wait_bound_ns"));
            assert!(wait <= bound, "{mapping} {set:?}: a wait of {wait} ns, against {bound}");
            (wait, bound)
        };
        let (wait, bound) = most_harm(7, 400, wait, |&(wait, _)| wait);
        println!("{mapping} {set:?}: {wait} of {bound} ns");
        assert!(wait > 0, "{mapping} {set:?}: nothing had to wait");
    }
}
