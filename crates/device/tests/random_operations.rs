//! Random requests on small drives with every check on: what is read is what was written, no command is illegal, and
//! everything adds up, on a drive whose life has ended too.
//!
//! Strategy: a drive of a few dozen blocks under a random combination of switches, buffer, FTL options and scheduler;
//! some hundred requests of random operation, address, length and flags at random times, dense enough that collections,
//! flushes and stalls overlap. The generator leaves out operations at random (swarm testing), because a mix of
//! everything seldom goes deep anywhere. The checks are those of a verified run, which know nothing of the FTL.
#![allow(missing_docs)]

mod support;

use flashloom_device::DriveSetup;
use flashloom_ftl::{
    GcBlocks, HotCold, Preemption, StripeOrder, WearLevelling, allocation, collection, mapping, placement,
};
use flashloom_nand::{DeviceParams, DieOrder, MultiPlane, Suspend};
use flashloom_units::{Kind, MS, Ns, Param, ParamSet, PolicySpec, Prng, Slot, US, Value};
use flashloom_workload::{Op, Pace, Request};
use proptest::prelude::*;
use support::Run;

fn pick<T: Copy>(prng: &mut Prng, from: &[T]) -> T {
    from[prng.below(from.len() as u64) as usize]
}

fn random_device(prng: &mut Prng) -> DeviceParams {
    DeviceParams {
        channels: pick(prng, &[1, 2, 3]),
        ways: pick(prng, &[1, 2]),
        dies: pick(prng, &[1, 2]),
        planes: pick(prng, &[1, 2, 4]),
        blocks: pick(prng, &[8, 9, 16, 24]),
        pages: pick(prng, &[3, 4, 8, 13]),
        page_bytes: pick(prng, &[512, 2_048, 4_096, 16_384]),
        over_provisioning: pick(prng, &[1.5, 2.0, 4.0]),
        bits_per_cell: pick(prng, &[1, 2, 3]),
        program_ns_2: pick(prng, &[None, Some(2 * MS)]),
        command_ns: pick(prng, &[0, 200]),
        controller_ns: pick(prng, &[0, 3 * US]),
        full_duplex: prng.chance(0.5),
        multi_plane: pick(prng, &[MultiPlane::None, MultiPlane::Aligned, MultiPlane::Independent]),
        copyback: prng.chance(0.5),
        cache_program: prng.chance(0.5),
        suspend: pick(prng, &[Suspend::None, Suspend::Erase, Suspend::ProgramErase]),
        max_overtakes: pick(prng, &[1, 8]),
        die_order: pick(prng, &[DieOrder::Priority, DieOrder::Fifo]),
        ..DeviceParams::defaults()
    }
}

/// Any policy of a slot.
fn random_policy(prng: &mut Prng, slot: &Slot) -> (&'static str, Vec<Value>) {
    let policy = pick(prng, slot.policies);
    with_random_values(prng, policy)
}

/// A policy with its flags and shares at random, its counts and sizes small or at their defaults, and every other
/// parameter at its default.
fn with_random_values(prng: &mut Prng, policy: &'static PolicySpec) -> (&'static str, Vec<Value>) {
    let value = |param: &Param| match param.kind {
        Kind::Flag => Value::Flag(prng.chance(0.5)),
        Kind::Choice(choices) => Value::Name(pick(prng, choices).name),
        Kind::Ratio { min, max } => Value::Ratio(pick(prng, &[min, 0.3, 0.7, max])),
        Kind::Count { min, max } if prng.chance(0.7) => Value::Count((min + prng.below(4)).min(max)),
        Kind::Size { min, max } if prng.chance(0.7) => Value::Size((min * pick(prng, &[1, 3, 40])).min(max)),
        _ => param.default.clone(),
    };
    (policy.name, policy.params.iter().map(value).collect())
}

fn random_setup(prng: &mut Prng) -> DriveSetup {
    let mut setup = DriveSetup::with_defaults(random_device(prng));
    setup.verify = true;
    setup.buffer.capacity_bytes = setup.device.page_bytes * pick(prng, &[0, 1, 3, 20, 200]);
    (setup.buffer.order, setup.order) = random_policy(prng, &flashloom_buffer::order::SLOT);
    (setup.buffer.rate, setup.rate) = random_policy(prng, &flashloom_buffer::rate::SLOT);
    (setup.ftl.params.mapping, setup.ftl.mapping) = random_policy(prng, &mapping::SLOT);
    setup.ftl.placement = random_policy(prng, &placement::SLOT);
    (setup.ftl.params.allocation, setup.ftl.allocation) = random_policy(prng, &allocation::SLOT);
    (setup.ftl.params.gc, setup.ftl.collection) = random_policy(prng, &collection::SLOT);
    setup.ftl.params.preemption = pick(prng, &[Preemption::Page, Preemption::None]);
    setup.ftl.params.hot_cold = pick(prng, &[HotCold::None, HotCold::MultiHash]);
    setup.ftl.params.wear_threshold = pick(prng, &[1, 2, 5]);
    if ["page", "dftl"].contains(&setup.ftl.params.mapping) && prng.chance(0.4) {
        setup.device.bad_blocks = pick(prng, &[0.0, 0.13]);
        setup.device.program_failures = pick(prng, &[0.0, 0.0003, 0.003, 0.03]);
        setup.device.erase_failures = pick(prng, &[0.0, 0.01, 0.2]);
        setup.ftl.prng = prng.branch("failures");
    }
    setup.ftl.params.gc_blocks = pick(prng, &[GcBlocks::Separate, GcBlocks::Shared]);
    setup.ftl.params.stripe_order = pick(prng, &[StripeOrder::Cwdp, StripeOrder::Pdwc]);
    setup.ftl.params.wear_levelling = pick(prng, &[WearLevelling::None, WearLevelling::Dynamic, WearLevelling::Static]);
    setup.ftl.params.background_threshold = pick(prng, &[0, 4, 6]);
    setup
}

fn random_requests(prng: &mut Prng, capacity: u64, count: usize) -> Vec<Request> {
    let weights: Vec<(Op, u64)> = [(Op::Write, 6), (Op::Read, 5), (Op::Discard, 2), (Op::Flush, 1)]
        .into_iter()
        .filter(|(op, _)| *op == Op::Write || prng.chance(0.8))
        .collect();
    let total: u64 = weights.iter().map(|(_, weight)| weight).sum();
    let span = (capacity / pick(prng, &[1, 1, 4])).max(1);
    let longest = pick(prng, &[8, 64, 300]).min(span);
    let gap: Ns = pick(prng, &[0, 20 * US, 500 * US, 5 * MS]);
    let (fua, preflush) = (pick(prng, &[0.0, 0.2]), pick(prng, &[0.0, 0.1]));
    let mut now = 0;
    (0..count)
        .map(|_| {
            now += prng.below(gap + 1);
            let mut left = prng.below(total);
            let &(op, _) = weights
                .iter()
                .find(|(_, weight)| {
                    let found = left < *weight;
                    left = left.saturating_sub(*weight);
                    found
                })
                .unwrap();
            let sectors = 1 + prng.below(longest);
            let lba = prng.below(span - sectors + 1);
            let mut request = support::request(now, op, lba, sectors as u32);
            if op == Op::Flush {
                (request.lba, request.sectors) = (0, 0);
            }
            if op == Op::Write {
                request.flags |= if prng.chance(fua) { Request::FUA } else { 0 };
                request.flags |= if prng.chance(preflush) { Request::PREFLUSH } else { 0 };
            }
            request
        })
        .collect()
}

fn run(seed: u64, count: usize) {
    let mut prng = Prng::new(seed);
    let setup = random_setup(&mut prng);
    if flashloom_ftl::misfit(&setup.device, &setup.ftl).is_some() {
        return;
    }
    let requests = random_requests(&mut prng, setup.device.capacity_sectors(), count);
    let writes = requests.iter().any(|request| request.op == Op::Read);
    let run = Run {
        queue_depth: pick(&mut prng, &[1, 4, 31]),
        pace: pick(&mut prng, &[Pace::Timestamps(1.0), Pace::Timestamps(0.1), Pace::Closed(8), Pace::Dependent(1.0)]),
        fill: prng.chance(0.5),
        timed: prng.chance(0.8),
        scheduler: pick(&mut prng, &["noop", "deadline", "anticipatory", "cfq", "fios", "pardispatcher"]),
        idle_delay_ns: pick(&mut prng, &[0, MS]),
        drain: prng.chance(0.5),
        read_only: prng.chance(0.5),
        ..Run::new(setup)
    };
    let outcome = run.run(requests);
    if let Some(end) = outcome.end_of_life {
        let (completed, failed) = (outcome.host.total_completed(), outcome.host.total_failed());
        assert_eq!((completed + failed, failed), (outcome.host.generated, end.unserved_requests), "{end:?}");
        assert!(completed + failed == count as u64 || !run.read_only, "{end:?}");
        return;
    }
    assert_eq!(outcome.host.total_completed(), count as u64);
    assert_eq!(outcome.drained_pages.is_some(), run.drain);
    assert_eq!(outcome.sectors_checked.unwrap() > 0, writes, "reads are checked, and nothing else");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_of_whatever_drive_reads_return_what_was_written(seed: u64) {
        run(seed, 400);
    }
}

/// The long form: `FLASHLOOM_CASES` runs from seed `FLASHLOOM_SEED` on, none where it is not set.
#[test]
fn as_many_runs_as_are_asked_for() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    for seed in (0..number("FLASHLOOM_CASES")).map(|case| number("FLASHLOOM_SEED") + case) {
        println!("seed {seed}");
        run(seed, 3_000);
    }
}
