//! Random requests on small drives with every check on: what is read is what was written, no command is illegal, and
//! everything adds up, on a drive whose life has ended too.
//!
//! Strategy: a drive of a few dozen blocks under a random combination of switches, buffer, FTL options and scheduler;
//! some hundred requests of random operation, address, length and flags at random times, dense enough that collections,
//! flushes and stalls overlap. The generator leaves out operations at random (swarm testing), because a mix of
//! everything seldom goes deep anywhere. The checks are those of a verified run, which know nothing of the FTL.

use crate::support::Run;
use std::collections::BTreeSet;

use crate::support::random::{
    on_random_queues, pick, random_requests, random_setup, seeds_asked_for, with_random_values,
};
use flashloom_device::{DriveSetup, Outcome, Reason};
use flashloom_ftl::mapping;
use flashloom_nand::{Suspend, reliability};
use flashloom_units::{MS, Prng};
use flashloom_workload::{Op, Pace};
use proptest::prelude::*;

fn run(seed: u64, count: usize) {
    let mut prng = Prng::new(seed);
    let setup = random_setup(&mut prng);
    if setup.ftl.profile(&setup.device.space()).is_ok() {
        run_on(setup, &mut prng, count);
    }
}

/// Runs random requests on a drive, with every check on.
pub fn run_on(setup: DriveSetup, prng: &mut Prng, count: usize) -> Outcome {
    let mut requests = random_requests(prng, setup.device.capacity_sectors(), count);
    if setup.device.front.commands.is_some() {
        on_random_queues(prng, &mut requests);
    }
    let writes = requests.iter().any(|request| request.op == Op::Read);
    let run = Run {
        queue_depth: pick(prng, &[1, 4, 31]),
        pace: pick(prng, &[Pace::Timestamps(1.0), Pace::Timestamps(0.1), Pace::Closed(8), Pace::Dependent(1.0)]),
        fill: prng.chance(0.5),
        timed: prng.chance(0.8),
        scheduler: pick(
            prng,
            &["noop", "deadline", "anticipatory", "cfq", "fios", "pardispatcher", "none", "mq-deadline", "kyber"],
        ),
        idle_delay_ns: pick(prng, &[0, MS]),
        drain: prng.chance(0.5),
        read_only: prng.chance(0.5),
        ..Run::new(setup)
    };
    let outcome = run.run(requests);
    let unreadable = outcome.host.failed[Reason::Unreadable.at()];
    if let Some(end) = outcome.end_of_life {
        let (completed, failed) = (outcome.host.total_completed(), outcome.host.total_failed());
        let unserved = end.unserved_requests + unreadable;
        assert_eq!((completed + failed, failed), (outcome.host.generated, unserved), "{end:?}");
        assert!(completed + failed == count as u64 || !run.read_only, "{end:?}");
        return outcome;
    }
    assert_eq!(outcome.host.total_completed() + unreadable, count as u64);
    assert!(unreadable == 0 || outcome.reads.is_some_and(|reads| reads.unreadable[0] > 0), "{unreadable} failed");
    assert_eq!(outcome.drained_pages.is_some(), run.drain);
    let checks = outcome.sectors_checked.unwrap() > 0;
    assert!(if unreadable > 0 { writes } else { checks == writes }, "reads are checked, and nothing else");
    outcome
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_of_whatever_drive_reads_return_what_was_written(seed: u64) {
        run(seed, 400);
    }
}

/// A drive that nobody looks at, and that has nothing of what few drives have, takes a path of its own through the
/// array.
#[test]
fn a_drive_that_nobody_looks_at_does_what_it_does_before_observers() {
    let mut plain = 0;
    for seed in 0..300 {
        let mut prng = Prng::new(seed);
        let mut setup = random_setup(&mut prng);
        if seed % 4 > 0 {
            let nand = &mut setup.device.nand;
            (nand.bad_blocks, nand.program_failures, nand.erase_failures) = (0.0, 0.0, 0.0);
            (nand.suspend, nand.cache_program, nand.copyback) = (Suspend::None, false, false);
            (nand.read_spread, nand.program_spread, nand.erase_spread) = (0.0, 0.0, 0.0);
            setup.reliability = reliability::builtin().choose("none", &[]).unwrap();
            setup.keeps_out_of_band = false;
        }
        if setup.ftl.profile(&setup.device.space()).is_err() {
            continue;
        }
        let requests = random_requests(&mut prng, setup.device.capacity_sectors(), 300);
        let idle_delay_ns = pick(&mut prng, &[0, MS]);
        let outcome = |verify: bool| {
            let setup = DriveSetup { verify, ..setup.clone() };
            let run = Run { idle_delay_ns, read_only: true, anatomy: verify, ..Run::new(setup) };
            let outcome = run.run(requests.clone());
            format!("{:?}", Outcome { anatomy: None, sectors_checked: None, filled: None, ..outcome })
        };
        assert_eq!(outcome(false), outcome(true), "seed {seed}");
        plain += u32::from(seed % 4 > 0);
    }
    assert!(plain > 60, "{plain} drives are plain");
}

/// Writes a drive of each mapping in turn, whose blocks fail, until it has worn out or the requests have ended; tells
/// the mapping, and whether it has. None for a drive that there is not.
fn wear_out(seed: u64, count: usize) -> Option<(&'static str, bool)> {
    let mut prng = Prng::new(seed);
    let mut setup = random_setup(&mut prng);
    let mappings = mapping::builtin();
    let policies = mappings.policies();
    setup.ftl.mapping = with_random_values(&mut prng, &policies[seed as usize % policies.len()]);
    let nand = &mut setup.device.nand;
    (nand.blocks, nand.pages) = (pick(&mut prng, &[16, 24]), pick(&mut prng, &[3, 4, 8]));
    nand.bad_blocks = pick(&mut prng, &[0.0, 0.05]);
    nand.program_failures = pick(&mut prng, &[0.0003, 0.003, 0.03]);
    nand.erase_failures = pick(&mut prng, &[0.003, 0.03]);
    setup.ftl.prng = prng.branch("failures");
    setup.ftl.profile(&setup.device.space()).ok()?;
    let name = setup.ftl.mapping.name();
    Some((name, run_on(setup, &mut prng, count).end_of_life.is_some()))
}

#[test]
fn drives_of_every_mapping_wear_out_with_all_that_they_hold() {
    let (mut worn, mappings) = (BTreeSet::new(), mapping::builtin().policies().len());
    for seed in 0..20 * mappings as u64 {
        worn.extend(wear_out(seed, 1_500).filter(|&(_, is_worn)| is_worn).map(|(name, _)| name));
    }
    assert_eq!(worn.len(), mappings, "{worn:?}");
}

/// The same for the seeds that the environment asks for.
#[test]
fn as_many_runs_as_are_asked_for_wear_drives_out() {
    let found: Vec<_> = seeds_asked_for().filter_map(|seed| wear_out(seed, 6_000)).collect();
    let worn = found.iter().filter(|(_, is_worn)| *is_worn).count();
    println!("{} drives, {worn} of them worn out", found.len());
    assert!(worn * 2 >= found.len());
}

/// Regression: after an idle step had ended a merge, the whole merge was counted as the wait of the next page, which
/// exceeded the bound.
#[test]
fn a_page_after_idle_time_waits_no_longer_than_any_page_can() {
    run(9_004_496, 3_000);
}

/// Regression: a copy that ended before its source had the label of a filler.
#[test]
fn a_copy_that_ends_before_the_program_of_its_source_has_the_label_of_both() {
    run(11_003_054, 3_000);
}

/// Regression: a read that was given up because other sectors of its page were lost returned what flash held, and not
/// what the host had written to the buffer meanwhile.
#[test]
fn a_read_that_is_repeated_sees_what_was_written_meanwhile() {
    assert_eq!(wear_out(12_015_582, 6_000).map(|(mapping, _)| mapping), Some("superblock-ftl"));
}

/// The same for the seeds that the environment asks for.
#[test]
fn as_many_runs_as_are_asked_for() {
    for seed in seeds_asked_for() {
        println!("seed {seed}");
        run(seed, 3_000);
    }
}
