//! noop, deadline, fios, pardispatcher and mq-deadline compared with a naive block layer: for the same random
//! submissions, dispatches and times both give the same results, down to the order of the members of every merged
//! request.
//!
//! Addresses are few and requests short, so that most of them touch, overlap or begin alike; a part of the runs has
//! none of one kind of operation. proptest prints the failing input and its seed.

use crate::model::{Fios, Model, MqDeadline, Rule};
use crate::support::{self, complete, same};
use flashloom_host::{AsyncLimits, BlockLayer, Decision, HostParams, Linux, RequestId, Throttling};
use flashloom_units::{MIB, MS, Ns, OrName, ParamSet, Value};
use flashloom_workload::{Op, Priority, PriorityClass, Request};
use proptest::prelude::*;

const NR_REQUESTS: u32 = 12;
const QUEUE_DEPTH: u32 = 4;
const MAX_SECTORS: u64 = 40;
/// Size of a region in sectors, and the number of regions.
const REGION: u64 = MIB / 512;
const REGIONS: u64 = 6;

#[derive(Clone, Debug)]
enum Step {
    Submit { op: Op, lba: u64, sectors: u32, flags: u8, task: u32 },
    Dispatch,
    Complete { which: usize },
    Pass { ns: Ns },
}

/// Sectors close together around the borders of regions.
fn sector() -> impl Strategy<Value = u64> {
    (0..REGIONS, 0..24u64, any::<bool>()).prop_map(|(region, step, far)| {
        let offset = if far { REGION - 96 } else { 0 };
        (region * REGION + offset + step * 4).min(REGIONS * REGION - 1)
    })
}

/// Priorities as in the flags of a request: mostly none, and two levels of a class.
fn priority() -> impl Strategy<Value = u8> {
    let of = |class, level| Request::new(Op::Write, 0, 8).with_priority(Priority::new(class, level)).flags;
    prop_oneof![
        6 => Just(0),
        1 => Just(of(PriorityClass::RealTime, 0)),
        1 => Just(of(PriorityClass::BestEffort, 4)),
        1 => Just(of(PriorityClass::BestEffort, 7)),
        1 => Just(of(PriorityClass::Idle, 0)),
    ]
}

fn step(ops: Vec<Op>) -> impl Strategy<Value = Step> {
    let flags =
        prop_oneof![6 => Just(0), 1 => Just(Request::SYNC), 1 => Just(Request::FUA), 1 => Just(Request::PREFLUSH)];
    let kinds = (flags, priority());
    let submit = (prop::sample::select(ops), sector(), 1..5u32, kinds, 0..4u32).prop_map(|step| {
        let (op, lba, length, (flags, priority), task) = step;
        let flags = if op == Op::Write { flags | priority } else { priority };
        Step::Submit { op, lba, sectors: length * 4, flags, task }
    });
    prop_oneof![
        6 => submit,
        4 => Just(Step::Dispatch),
        2 => any::<usize>().prop_map(|which| Step::Complete { which }),
        1 => (0..40 * MS).prop_map(|ns| Step::Pass { ns }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let all = vec![Op::Read, Op::Write, Op::Discard];
    prop::sample::subsequence(all, 1..=3).prop_flat_map(|ops| prop::collection::vec(step(ops), 1..250))
}

fn host_params() -> HostParams {
    HostParams {
        nr_requests: OrName::Number(NR_REQUESTS),
        async_limits: AsyncLimits::NrRequests,
        wbt: Throttling::Off,
        queue_depth: QUEUE_DEPTH,
        max_request_bytes: OrName::Number(MAX_SECTORS * 512),
        ..HostParams::defaults()
    }
}

fn layer(scheduler: &str, set: &[(&str, Value)]) -> BlockLayer {
    support::layer(&host_params(), REGIONS * REGION, scheduler, set)
}

/// Runs both and compares all results.
fn compare(mut layer: BlockLayer, rule: Rule, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut model = Model::new(rule, NR_REQUESTS as usize, MAX_SECTORS);
    let mut held: Vec<(RequestId, Vec<u32>)> = Vec::new();
    let mut now = 0;
    for (cookie, step) in steps.iter().enumerate() {
        match *step {
            Step::Submit { op, lba, sectors, flags, task } => {
                let request = Request::new(op, lba, sectors).arriving_at(now).of_task(task).with_flags(flags);
                let expected = model.submit(now, &request, cookie as u32);
                prop_assert_eq!(layer.submit(now, &request, cookie as u32), expected, "step {}", cookie);
            }
            Step::Dispatch if held.len() < QUEUE_DEPTH as usize => {
                let at = format!("step {cookie}");
                if let Some((real, expected)) = same(layer.dispatch(now), model.dispatch(now), &at) {
                    let found = (real.op, real.lba, u64::from(real.sectors));
                    prop_assert_eq!(found, (expected.op, expected.lba, expected.sectors), "{}", at);
                    held.push((real.id, expected.cookies));
                }
            }
            Step::Dispatch => prop_assert_eq!(layer.dispatch(now), Decision::Idle),
            Step::Complete { .. } if held.is_empty() => {}
            Step::Complete { which } => {
                let (id, expected) = held.swap_remove(which % held.len());
                model.complete(now, &expected);
                prop_assert_eq!(complete(&mut layer, now, id), expected);
            }
            Step::Pass { ns } => now += ns,
        }
        prop_assert_eq!(layer.queued(), model.waiting.len() as u64, "step {}", cookie);
        layer.check()?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn noop_agrees_with_the_naive_model(steps in steps()) {
        compare(layer("noop", &[]), Rule::Noop, &steps)?;
    }

    #[test]
    fn deadline_agrees_with_the_naive_model(
        steps in steps(),
        fifo_batch in 1..5u32,
        writes_starved in 1..4u32,
        expire_ms in [1..60u64, 1..60u64],
        front_merges: bool,
    ) {
        let expire_ns = expire_ms.map(|ms| ms * MS);
        let real = layer("deadline", &[
            ("read_expire", Value::Time(expire_ns[0])),
            ("write_expire", Value::Time(expire_ns[1])),
            ("fifo_batch", Value::Count(fifo_batch.into())),
            ("writes_starved", Value::Count(writes_starved.into())),
            ("front_merges", Value::Flag(front_merges)),
        ]);
        let (fifo_batch, writes_starved) = (fifo_batch as usize, writes_starved as usize);
        compare(real, Rule::Deadline { expire_ns, fifo_batch, writes_starved, front_merges }, &steps)?;
    }

    #[test]
    fn fios_agrees_with_the_naive_model(
        steps in steps(),
        timeslice_ms in 1..60u64,
        is_linear: bool,
        carry_debt: bool,
        block_writes: bool,
        alpha in prop::sample::select(vec![0.0, 0.5, 0.8]),
        expire_ms in 1..200u64,
    ) {
        let costs_ns = [(3 * MS, MS), (8 * MS, 2 * MS)];
        let real = layer("fios", &[
            ("timeslice", Value::Time(timeslice_ms * MS)),
            ("cost", Value::Name(if is_linear { "linear" } else { "shared" })),
            ("read_cost", Value::Time(costs_ns[0].0)),
            ("read_cost_4k", Value::Time(costs_ns[0].1)),
            ("write_cost", Value::Time(costs_ns[1].0)),
            ("write_cost_4k", Value::Time(costs_ns[1].1)),
            ("carry_debt", Value::Flag(carry_debt)),
            ("block_writes", Value::Flag(block_writes)),
            ("alpha", Value::Ratio(alpha)),
            ("write_expire", Value::Time(expire_ms * MS)),
        ]);
        let rule = Fios {
            timeslice_ns: (timeslice_ms * MS) as i64,
            linear_ns: is_linear.then_some(costs_ns),
            carry_debt,
            block_writes,
            alpha,
            write_expire_ns: expire_ms * MS,
        };
        compare(real, Rule::Fios(rule), &steps)?;
    }

    #[test]
    fn mq_deadline_agrees_with_the_naive_model(
        steps in steps(),
        is_6_1: bool,
        fifo_batch in 1..5u32,
        writes_starved in 1..4u32,
        expire_ms in [1..60u64, 1..60u64],
        aging_ms in 0..80u64,
        front_merges: bool,
    ) {
        let linux = if is_6_1 { Linux::V6_1 } else { Linux::V6_12 };
        let (expire_ns, aging_ns) = (expire_ms.map(|ms| ms * MS), aging_ms * MS);
        // Of 12 tags, which are six words of 2 bits in 6.1: 7 are 2 bits of each, rounded up.
        let (async_depth, write_tags) = (7, if is_6_1 { 12 } else { 7 });
        let host = HostParams { linux, ..host_params() };
        let real = support::layer(&host, REGIONS * REGION, "mq-deadline", &[
            ("read_expire", Value::Time(expire_ns[0])),
            ("write_expire", Value::Time(expire_ns[1])),
            ("fifo_batch", Value::Count(fifo_batch.into())),
            ("writes_starved", Value::Count(writes_starved.into())),
            ("front_merges", Value::Flag(front_merges)),
            ("async_depth", Value::Count(async_depth)),
            ("prio_aging_expire", Value::Time(aging_ns)),
        ]);
        let (fifo_batch, writes_starved) = (fifo_batch as usize, writes_starved as usize);
        let rule = MqDeadline { is_6_1, expire_ns, fifo_batch, writes_starved, front_merges, aging_ns, write_tags };
        compare(real, Rule::MqDeadline(rule), &steps)?;
    }

    #[test]
    fn pardispatcher_agrees_with_the_naive_model(
        steps in steps(),
        batch in [1..5u32, 1..5u32],
        expire_ms in [1..60u64, 1..60u64],
        resume: bool,
        front_merges: bool,
    ) {
        let expire_ns = expire_ms.map(|ms| ms * MS);
        let real = layer("pardispatcher", &[
            ("region_size", Value::Size(REGION * 512)),
            ("read_batch", Value::Count(batch[0].into())),
            ("write_batch", Value::Count(batch[1].into())),
            ("read_expire", Value::Time(expire_ns[0])),
            ("write_expire", Value::Time(expire_ns[1])),
            ("scan", Value::Name(if resume { "continue" } else { "lowest" })),
            ("front_merges", Value::Flag(front_merges)),
        ]);
        let batch = batch.map(|batch| batch as usize);
        compare(real, Rule::ParDispatcher { region: REGION, batch, expire_ns, resume, front_merges }, &steps)?;
    }
}
