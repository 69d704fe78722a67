//! bfq as compiled: every request comes out once, and again in the same order; tasks share by weight, and an
//! interactive one is served beside a flood.

use std::collections::{BTreeMap, VecDeque};

use flashloom_host::scheduler::builtin;
use flashloom_host::{Admission, AsyncLimits, BlockLayer, Decision, HostParams, RequestId};
use flashloom_kernel_policies::policies;
use flashloom_units::{MS, Ns, OrName, ParamSet, Prng, US, Value};
use flashloom_workload::{Op, Priority, PriorityClass, Request};

/// A block layer with a compiled scheduler, or with a built-in one of that name.
fn layer(name: &str, host: &HostParams, set: &[(&str, Value)]) -> BlockLayer {
    let setup = BlockLayer::setup(host, 1 << 30);
    let scheduler = match policies().into_iter().find(|policy| policy.spec.name == name) {
        Some(policy) => policy.with(set).expect("in range").build(&setup),
        None => builtin().choose(name, set).expect("it is one of them").build(&setup),
    };
    BlockLayer::new(host, scheduler.expect("in order"))
}

/// Random submissions, completions and times; returns what was dispatched when.
fn run(name: &str, seed: u64) -> Vec<(Ns, u64, u32)> {
    let mut random = Prng::new(seed);
    let host = HostParams { queue_depth: 1 + random.below(31) as u32, ..HostParams::defaults() };
    let mut layer = layer(name, &host, &[]);
    let (mut now, mut order, mut held, mut submitted, mut completed) = (0, Vec::new(), Vec::<RequestId>::new(), 0, 0);
    let mut is_full = false;
    while completed < 5_000 {
        if submitted < 5_000 && !is_full && random.chance(0.5) {
            let op = [Op::Read, Op::Write, Op::Discard][random.below(3) as usize];
            let flags = if op == Op::Write && random.chance(0.5) { Request::SYNC } else { 0 };
            let request = Request::new(op, 8 * random.below(5_000), 8).of_task(random.below(6) as u32);
            match layer.submit(now, &request.arriving_at(now).with_flags(flags), submitted) {
                Admission::Full => is_full = true,
                _ => submitted += 1,
            }
        }
        while let Decision::Dispatch(dispatched) = layer.dispatch(now) {
            order.push((now, dispatched.lba, dispatched.sectors));
            held.push(dispatched.id);
        }
        if !held.is_empty() && random.chance(0.7) {
            let id = held.swap_remove(random.below(held.len() as u64) as usize);
            layer.complete(now, id, |_| completed += 1);
            is_full = false;
        }
        now += random.below(200 * US);
        if order.len() % 100 == 0 {
            layer.check().expect("the block layer adds up");
        }
    }
    layer.check().expect("the block layer adds up");
    assert_eq!((layer.queued(), layer.in_flight(), submitted, completed), (0, 0, 5_000, 5_000));
    order
}

#[test]
fn every_request_comes_out_once_and_again_in_the_same_order() {
    for policy in policies() {
        for seed in 0..5 {
            assert_eq!(run(policy.spec.name, seed), run(policy.spec.name, seed), "{}, seed {seed}", policy.spec.name);
        }
    }
}

/// A host of 256 tags, of which limits are a part.
fn of_256() -> HostParams {
    let (nr_requests, async_limits) = (OrName::Number(256), AsyncLimits::NrRequests);
    HostParams { nr_requests, async_limits, merging: false, ..HostParams::defaults() }
}

/// Two tasks of best effort with levels `levels` keep `depth` random reads each in the block layer, and the device
/// serves one in 100 us; returns the sectors of each.
fn shares(name: &str, levels: [u8; 2]) -> [u64; 2] {
    let host = HostParams { queue_depth: 1, ..of_256() };
    let mut layer = layer(name, &host, &[("low_latency", Value::Flag(false))]);
    let mut random = Prng::new(1);
    let (mut now, mut waiting, mut sectors, mut idle_until) = (0, [0, 0], [0, 0], 0);
    while now < 60_000 * MS {
        for task in 0..2 {
            while waiting[task] < 32 {
                let priority = Priority::new(PriorityClass::BestEffort, levels[task]);
                let request = Request::new(Op::Read, 8 * random.below(1 << 20), 8).of_task(task as u32);
                assert_eq!(
                    layer.submit(now, &request.arriving_at(now).with_priority(priority), task as u32),
                    Admission::Queued
                );
                waiting[task] += 1;
            }
        }
        match layer.dispatch(now) {
            Decision::Dispatch(dispatched) => {
                now += 100 * US;
                layer.complete(now, dispatched.id, |_| {});
                sectors[dispatched.task as usize] += u64::from(dispatched.sectors);
                waiting[dispatched.task as usize] -= 1;
            }
            Decision::NotBefore(time) => (now, idle_until) = (time, time),
            Decision::Idle => panic!("it has requests, at {now} ns, idle until {idle_until}"),
        }
    }
    sectors
}

#[test]
fn shares_of_a_saturated_device_follow_the_weights() {
    // Level n of best effort has the weight 10 * (8 - n).
    for (levels, expected) in [([0, 4], 2.0), ([0, 6], 4.0), ([4, 4], 1.0)] {
        for name in ["linux-6-1-bfq", "linux-6-12-bfq"] {
            let [first, second] = shares(name, levels);
            let ratio = first as f64 / second as f64;
            println!("{name}: levels {levels:?}: {first} and {second} sectors, {ratio:.3} for {expected}");
            assert!((ratio / expected - 1.0).abs() < 0.05, "{name}: {ratio} for {expected}");
        }
    }
}

/// An interactive task beside a flood.
#[derive(Clone, Copy)]
struct Beside<'a> {
    /// Attributes of the scheduler.
    set: &'a [(&'static str, Value)],
    /// Priorities of the interactive task and of the flood.
    priorities: [Priority; 2],
    /// When the interactive task begins; the flood begins at 0.
    begins_ns: Ns,
}

impl Default for Beside<'_> {
    fn default() -> Self {
        Self { set: &[], priorities: [BEST_EFFORT; 2], begins_ns: 0 }
    }
}

/// A task reads 8 sectors at random places, one request at a time, beside one that keeps 128 writes of 128 sectors
/// outstanding. Who finds no tag stands in line, as in the program. The device takes 31 and serves one after the other,
/// a read in 100 us and a write in 500 us. Returns the reads and writes of the ten seconds in which both run.
fn interactive(name: &str, beside: &Beside<'_>) -> [u64; 2] {
    let Beside { set, priorities, begins_ns } = *beside;
    let host = of_256();
    let mut layer = layer(name, &host, set);
    let mut random = Prng::new(1);
    let (mut now, mut outstanding, mut served) = (0, [0, 0], [0, 0]);
    let mut lines: BTreeMap<u32, VecDeque<Request>> = BTreeMap::new();
    let mut held: VecDeque<(RequestId, usize)> = VecDeque::new();
    while now < begins_ns + 10_000 * MS {
        for (task, op, most, sectors) in [(1, Op::Write, 128, 128), (0, Op::Read, 1, 8)] {
            while outstanding[task] < most && (task == 1 || now >= begins_ns) {
                let request = Request::new(op, 128 * random.below(1 << 22), sectors).of_task(task as u32);
                let request = request.arriving_at(now).with_flags(Request::SYNC).with_priority(priorities[task]);
                lines.entry(layer.line_of(&request)).or_default().push_back(request);
                outstanding[task] += 1;
            }
        }
        for line in lines.values_mut() {
            while line.front().is_some_and(|first| layer.submit(now, first, 0) != Admission::Full) {
                line.pop_front();
            }
        }
        let wakes_ns = loop {
            match layer.dispatch(now) {
                Decision::Dispatch(sent) => held.push_back((sent.id, sent.task as usize)),
                Decision::NotBefore(time) => break time,
                Decision::Idle => break Ns::MAX,
            }
        };
        let Some((id, task)) = held.pop_front() else {
            assert!(wakes_ns < Ns::MAX, "{name} has requests, at {now} ns");
            now = wakes_ns;
            continue;
        };
        now += [100 * US, 500 * US][task];
        layer.complete(now, id, |_| {});
        outstanding[task] -= 1;
        served[task] += u64::from(now >= begins_ns);
    }
    served
}

const BOTH: [&str; 2] = ["linux-6-1-bfq", "linux-6-12-bfq"];
const BEST_EFFORT: Priority = Priority::new(PriorityClass::BestEffort, 4);

/// Reads of the interactive task under a scheduler, printed.
fn reads(name: &str, beside: &Beside<'_>) -> u64 {
    let [reads, writes] = interactive(name, beside);
    let begins_ms = beside.begins_ns / MS;
    println!("{name}: {:?}, {begins_ms} ms after the flood: {reads} reads and {writes} writes", beside.set);
    reads
}

/// On a drive that does not rotate and has a queue, bfq makes one queue of tasks whose first requests come within 180
/// ms of each other, if they have one priority: the reads then stand behind the flood, as without a scheduler.
#[test]
fn tasks_that_begin_together_are_one_queue_of_bfq() {
    let plain = Beside::default();
    let [none, mq_deadline, kyber] = ["none", "mq-deadline", "kyber"].map(|name| reads(name, &plain));
    assert!(3 * none < mq_deadline && mq_deadline < kyber, "{none}, {mq_deadline}, {kyber}");
    for name in BOTH {
        let bfq = reads(name, &plain);
        assert!((bfq as f64 / none as f64 - 1.0).abs() < 0.1, "{bfq}, of none {none}");
        let set = &[("low_latency", Value::Flag(false))];
        let [within, after] = [170, 190].map(|ms| reads(name, &Beside { set, begins_ns: ms * MS, ..plain }));
        assert!(within < 2 * none && after > 3 * none, "{within} and {after}, of none {none}");
    }
}

/// A task that comes later is weighted up for three seconds; one of a higher weight always goes before the flood, for
/// which bfq leaves the drive idle. Otherwise its reads wait for what the drive has, as under kyber.
#[test]
fn bfq_favours_an_interactive_task_that_comes_later_or_has_more_weight() {
    let later = Beside { begins_ns: 1_000 * MS, ..Beside::default() };
    let kyber = reads("kyber", &later);
    for name in BOTH {
        let favoured = reads(name, &later);
        assert!(favoured > 10 * kyber, "{favoured}, of kyber {kyber}");
        let not_favoured = reads(name, &Beside { set: &[("low_latency", Value::Flag(false))], ..later });
        assert!((not_favoured as f64 / kyber as f64 - 1.0).abs() < 0.1, "{not_favoured}, of kyber {kyber}");
        let levels = [0, 7].map(|level| Priority::new(PriorityClass::BestEffort, level));
        let weighted = reads(name, &Beside { priorities: levels, ..Beside::default() });
        assert!(weighted > 100 * kyber, "{weighted}, of kyber {kyber}");
    }
}
