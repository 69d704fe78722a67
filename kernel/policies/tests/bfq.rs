//! bfq as compiled: every request comes out once, and again in the same order.

use flashloom_host::{Admission, BlockLayer, Decision, HostParams, RequestId};
use flashloom_kernel_policies::policies;
use flashloom_units::{MS, Ns, ParamSet, Prng, US, Value};
use flashloom_workload::{Op, Priority, PriorityClass, Request};

fn layer(name: &str, host: &HostParams, set: &[(&str, Value)]) -> BlockLayer {
    let policy = policies().into_iter().find(|policy| policy.spec.name == name).expect("it is one of them");
    let scheduler = policy.with(set).expect("in range").build(&BlockLayer::setup(host, 1 << 30)).expect("in order");
    BlockLayer::new(host, scheduler)
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

/// Two tasks of best effort with levels `levels` keep `depth` random reads each in the block layer, and the device
/// serves one in 100 us; returns the sectors of each.
fn shares(name: &str, levels: [u8; 2]) -> [u64; 2] {
    let host = HostParams { queue_depth: 1, nr_requests: 256, merging: false, ..HostParams::defaults() };
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
