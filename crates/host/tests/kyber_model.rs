//! kyber compared with a naive model, over software and hardware queues: for the same random submissions, dispatches,
//! completions, returned requests and times both give the same results, down to the members of merged requests.
//!
//! Each seed draws numbers of processors, hardware queues and tags, latency targets, and how often each operation
//! comes, so that in some runs domains are congested, and their tokens shrink to less than the device takes. What
//! happened is counted, and nothing may be missing.

use std::collections::BTreeMap;

use crate::model::Kyber;
use crate::support::{complete, layer, same};
use flashloom_host::{AsyncLimits, HostParams, Linux, RequestId, Throttling};
use flashloom_units::{Figure, MS, Ns, OrName, ParamSet, Prng, Value};
use flashloom_workload::{Op, Priority, PriorityClass, Request};

const SEEDS: u64 = 160;
const STEPS: usize = 1_500;
const MAX_SECTORS: u64 = 40;
/// Of 12 tags 75 %, by six words of 2 bits: one of each in 6.1; in 6.12 nine, as the shares come to 2, 2, 2, 1, 1, 1.
const NR_REQUESTS: u32 = 12;

/// How often what happened: the three admissions, the three decisions, and more.
type Seen = BTreeMap<String, u64>;

fn drawn(prng: &mut Prng) -> Request {
    let op = *[Op::Read, Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Discard, Op::Flush]
        .get(prng.below(8) as usize)
        .expect("one of eight");
    if op == Op::Flush {
        return Request::new(op, 0, 0);
    }
    let request = Request::new(op, prng.below(40) * 4, 4 * (1 + prng.below(4) as u32));
    let request = match prng.below(8) {
        0 => request.with_priority(Priority::new(PriorityClass::BestEffort, 7)),
        1 => request.with_priority(Priority::new(PriorityClass::Idle, 0)),
        _ => request,
    };
    let flags = [Request::SYNC, Request::SYNC, Request::FUA, Request::PREFLUSH, 0, 0, 0, 0][prng.below(8) as usize];
    request.with_flags(if op == Op::Read { request.flags } else { request.flags | flags })
}

fn run(seed: u64, seen: &mut Seen) {
    let mut prng = Prng::new(seed);
    let linux = if seed.is_multiple_of(2) { Linux::V6_12 } else { Linux::V6_1 };
    let processors = 1 + prng.below(5) as u32;
    // A quarter of the runs has tags enough that tokens alone hold requests back.
    let is_deep = prng.below(4) == 0;
    let host = HostParams {
        linux,
        processors,
        hardware_queues: 1 + prng.below(u64::from(processors)) as u32,
        nr_requests: OrName::Number(if is_deep { 1_024 } else { NR_REQUESTS }),
        async_limits: AsyncLimits::NrRequests,
        wbt: Throttling::Off,
        queue_depth: if is_deep { 512 } else { 1 + prng.below(8) as u32 },
        max_request_bytes: OrName::Number(MAX_SECTORS * 512),
        hz: [100, 250, 300, 1_000][prng.below(4) as usize],
        ..HostParams::defaults()
    };
    let async_tags = match linux {
        _ if is_deep => 768,
        Linux::V6_1 => 6,
        _ => 9,
    };
    let targets_ns = [1 + prng.below(4 * MS), 1 + prng.below(100 * MS)];
    let set = [("read_lat", Value::Time(targets_ns[0])), ("write_lat", Value::Time(targets_ns[1]))];
    let mut layer = layer(&host, 1 << 20, "kyber", &set);
    let mut see = |what: &str, times: u64| *seen.entry(what.to_owned()).or_default() += times;
    let mut model = Kyber::new(&host, async_tags, targets_ns);
    let mut held: Vec<(RequestId, Op, Vec<u32>)> = Vec::new();
    let mut now: Ns = 0;
    let weights = [2 + prng.below(9), 1 + prng.below(9), 1 + prng.below(6), prng.below(2), 1];
    for step in 0..STEPS {
        let at = format!("seed {seed}, step {step}");
        let mut turn = prng.below(weights.iter().sum());
        let kind = weights.iter().position(|&weight| {
            let is_here = turn < weight;
            turn = turn.saturating_sub(weight);
            is_here
        });
        match kind.expect("below their sum") {
            0 => {
                let request = drawn(&mut prng).arriving_at(now).of_task(prng.below(9) as u32);
                let expected = model.submit(now, &request, step as u32);
                assert_eq!(layer.submit(now, &request, step as u32), expected, "{at}");
                see(&format!("{expected:?}"), 1);
            }
            1 => {
                let expected = model.dispatch(now);
                let what = match &expected {
                    Ok(_) => "sent",
                    Err(None) => "idle",
                    Err(Some(_)) => "not before",
                };
                see(what, 1);
                if let Some((real, expected)) = same(layer.dispatch(now), expected, &at) {
                    let found = (real.op, real.lba, u64::from(real.sectors));
                    assert_eq!(found, (expected.op, expected.lba, expected.sectors), "{at}");
                    held.push((real.id, real.op, expected.cookies));
                    see("flushes", u64::from(real.op == Op::Flush));
                }
            }
            2 if !held.is_empty() => {
                let (id, _, expected) = held.swap_remove(prng.below(held.len() as u64) as usize);
                assert_eq!(complete(&mut layer, now, id), expected, "{at}");
                model.complete(now, &expected);
            }
            3 if held.iter().any(|(_, op, _)| *op != Op::Flush) => {
                let at = held.iter().position(|(_, op, _)| *op != Op::Flush).expect("there is one");
                let (id, _, expected) = held.swap_remove(at);
                layer.requeue(now, id);
                model.requeue(now, &expected);
                see("returned", 1);
            }
            4 => now += if prng.below(6) == 0 { prng.below(900 * MS) } else { prng.below(9 * MS) },
            _ => {}
        }
        assert_eq!(layer.queued(), model.waiting(), "{at}");
        see("kept", model.kept());
        layer.check().unwrap_or_else(|violation| panic!("{at}: {violation}"));
    }
    let counts = layer.figures().split_off(flashloom_host::scheduler::SLOT.statistics.len());
    let count = |at: usize| if let Figure::Count(count) = counts[at] { count } else { panic!("{counts:?}") };
    see("waits for tokens", count(0));
    see("resized", count(1));
}

#[test]
fn kyber_agrees_with_the_naive_model() {
    let mut seen = Seen::new();
    (0..SEEDS).for_each(|seed| run(seed, &mut seen));
    assert!(seen.len() == 11 && seen.values().all(|&times| times > 20), "{seen:?}");
}
