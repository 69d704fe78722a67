//! Factory bad blocks and blocks that go bad in use: data survives, no bad block is used again (the NAND checker
//! watches), and the drive's end of life is a reported result.

use crate::support::random::pick;
use crate::support::{Run, filled_with, mapped, plain_nand, plain_with, request, unbuffered};
use flashloom_device::{Ageing, DeviceParams, DriveSetup, EndOfLife, Outcome, Overwrite};
use flashloom_ftl::mapping;
use flashloom_nand::{ByOrigin, NandParams, Origin};
use flashloom_units::{MS, Prng, US, Value};
use flashloom_workload::{Op, Pace, Request};

/// Two dies of two planes: 256 blocks of 16 pages, of which the host sees two thirds. `change` sets other parameters.
fn device_of(change: impl FnOnce(&mut NandParams)) -> DeviceParams {
    let mut nand = NandParams { channels: 2, ways: 1, planes: 2, pages: 16, ..plain_nand() };
    change(&mut nand);
    plain_with(nand, 0.5)
}

/// Random reads, writes and discards of up to eight pages, whole and in part.
fn requests(prng: &mut Prng, device: &DeviceParams, count: usize) -> Vec<Request> {
    let capacity = device.capacity_sectors();
    (0..count as u64)
        .map(|at| {
            let op = pick(prng, &[Op::Write, Op::Write, Op::Write, Op::Read, Op::Read, Op::Discard]);
            let sectors = 1 + prng.below(64);
            request(at * 200 * US, op, prng.below(capacity - sectors), sectors as u32)
        })
        .collect()
}

/// Runs the requests on a new drive.
fn run(setup: DriveSetup, requests: Vec<Request>) -> Outcome {
    let run = Run { pace: Pace::Closed(8), idle_delay_ns: MS, fill: false, ..Run::new(setup) };
    run.run(requests)
}

/// The figures of failures of a run, for comparison between runs.
fn told(outcome: &Outcome) -> (Option<EndOfLife>, ByOrigin, u64, u64) {
    let retired = outcome.ftl.retired.expect("blocks can fail");
    (outcome.end_of_life, outcome.counts.failed_programs, retired.program, retired.erase)
}

#[test]
fn data_survives_failures_of_programs_and_erases() {
    let mut ends = 0;
    for seed in 0..40 {
        let mut prng = Prng::new(seed);
        let mut setup = unbuffered(device_of(|nand| {
            (nand.copyback, nand.cache_program) = (prng.chance(0.5), prng.chance(0.5));
            nand.program_failures = pick(&mut prng, &[0.0, 0.0005, 0.003]);
            nand.erase_failures = pick(&mut prng, &[0.01, 0.05]);
            nand.bad_blocks = pick(&mut prng, &[0.0, 0.05]);
        }));
        setup.ftl.prng = prng.branch("run");
        if prng.chance(0.3) {
            setup = mapped(setup, "dftl", &[("cache", Value::Size(256)), ("protected", Value::Ratio(0.5))]);
        }
        if prng.chance(0.5) {
            setup.buffer_bytes = 64 << 12;
        }
        let requests = requests(&mut prng, &setup.device, 6_000);
        let outcome = run(setup, requests);
        let (end, failed_programs, program, erase) = told(&outcome);
        println!("seed {seed}: {end:?}, {failed_programs:?} programs failed, retired {program} and {erase}");
        assert!(program + erase > 0, "seed {seed}: something must fail");
        ends += u32::from(end.is_some());
    }
    assert!((5..35).contains(&ends), "some drives must live and some must not, not {ends} of 40");
}

/// A drive of the same blocks in that many planes, overwritten at random until its end of life.
fn worn_out(planes: u32, program_failures: f64, erase_failures: f64) -> (DeviceParams, Outcome) {
    let device = device_of(|nand| {
        (nand.channels, nand.planes, nand.blocks) = (1, planes, 256 / planes);
        (nand.program_failures, nand.erase_failures) = (program_failures, erase_failures);
    });
    let mut prng = Prng::new(3);
    let pages = device.logical_pages();
    let writes = (0..400_000).map(|_| request(0, Op::Write, prng.below(pages) * 8, 8));
    (device.clone(), run(unbuffered(device), writes.collect()))
}

#[test]
fn the_end_of_life_comes_when_the_spare_blocks_are_used_up_and_is_reported() {
    for (planes, program_failures, erase_failures) in [(4, 0.001, 0.0), (4, 0.0, 0.02), (1, 0.0005, 0.01)] {
        let (device, outcome) = worn_out(planes, program_failures, erase_failures);
        let (end, failed_programs, program, erase) = told(&outcome);
        let end = end.expect("it cannot live that long");
        assert_eq!(failed_programs.iter().sum::<u64>(), program);
        assert_eq!(outcome.counts.failed_erases.iter().sum::<u64>(), erase);
        assert_eq!(outcome.counts.failed_erases[Origin::Gc as usize], erase);
        assert_eq!(end.host_page_writes, outcome.ftl.host_page_writes);
        assert_eq!(outcome.host.generated, outcome.host.total_completed() + end.unserved_requests);
        assert!(end.unserved_requests > 0 && end.unwritten_pages == 0 && end.time_ns > 0);
        // Each plane keeps three blocks free and two open: the others have too little room for the pages of the host. A
        // single plane can wear out a little earlier, if two blocks fail before the space of the first is reclaimed.
        let left = (256 - program - erase - u64::from(planes) * (3 + 2)) * u64::from(device.nand.pages);
        let (held, block) = (device.logical_pages(), u64::from(device.nand.pages));
        let early = if planes == 1 { 8 * block } else { 0 };
        assert!((held - block..=held + early).contains(&left), "{left} pages were left for {held}: {end:?}");
    }
}

#[test]
fn the_same_seed_wears_the_same_drive_out_in_the_same_way() {
    let ((_, one), (_, other)) = (worn_out(2, 0.001, 0.01), worn_out(2, 0.001, 0.01));
    assert_eq!(told(&one), told(&other));
    assert_eq!((one.counts, one.erase_counts), (other.counts, other.erase_counts));
}

#[test]
fn a_page_whose_write_failed_is_not_acknowledged_before_it_is_stored() {
    let certain = device_of(|nand| nand.program_failures = 1.0);
    let outcome = run(unbuffered(certain), vec![request(0, Op::Write, 0, 8)]);
    let (end, failed_programs, program, _) = told(&outcome);
    let end = end.expect("no program ever passes");
    assert_eq!((end.host_page_writes, end.unserved_requests, outcome.host.total_completed()), (0, 1, 0));
    assert_eq!(failed_programs[Origin::Host as usize], program);
}

#[test]
fn preconditioning_stops_at_the_end_of_life() {
    let device = device_of(|nand| nand.program_failures = 0.01);
    let mut engine = Run::new(unbuffered(device.clone())).engine();
    let overwrite = Overwrite { prng: Prng::new(1), window: 4.0, tolerance: 0.01, max_windows: 1_000, rest: false };
    let ageing = Ageing { overwrite: Some(overwrite), ..filled_with(device.logical_pages()) };
    let aged = engine.precondition(&ageing, &mut |_| {});
    assert!(aged.is_worn_out && !aged.stable && aged.pages > device.logical_pages(), "{aged:?}");
    assert_eq!(engine.outcome().end_of_life.map(|end| end.host_page_writes), Some(aged.pages));
    engine.check().unwrap();
}

#[test]
fn blocks_that_are_bad_from_birth_are_never_erased() {
    let device = device_of(|nand| nand.bad_blocks = 0.1);
    let mut prng = Prng::new(4);
    let requests = requests(&mut prng, &device, 20_000);
    for mapping in mapping::builtin().policies() {
        let (name, setup) = (mapping.spec.name, mapped(unbuffered(device.clone()), mapping.spec.name, &[]));
        let outcome = run(setup, requests.clone());
        let retired = outcome.ftl.retired.expect("some are bad");
        assert_eq!((retired.factory, retired.program, retired.erase), (4 * 6, 0, 0), "{name}");
        assert!(outcome.ftl.block_erases > 10 * 256, "{name}: every block must have had its chance");
        let never = outcome.erase_counts.iter().filter(|&&erases| erases == 0).count();
        assert_eq!(never, 4 * 6, "{name}: all others are worn evenly enough to be used");
    }
}
