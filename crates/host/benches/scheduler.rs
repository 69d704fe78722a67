//! Cost of a request in the block layer: submit, dispatch and complete with a hundred requests waiting, for each
//! scheduler, and for pardispatcher with ten and ten thousand regions.

use divan::counter::ItemsCount;
use flashloom_host::scheduler::builtin;
use flashloom_host::{Admission, BlockLayer, Decision, HostParams};
use flashloom_units::{GIB, MIB, ParamSet, Prng, US, Value};
use flashloom_workload::{Op, Request};

/// Number of requests in an iteration.
const REQUESTS: u32 = 10_000;
const WAITING: u64 = 100;

fn main() {
    if cfg!(debug_assertions) && std::env::args().any(|argument| argument == "--bench") {
        eprintln!("this measures: run it with optimisation, `cargo bench`");
        std::process::exit(1);
    }
    for spec in builtin().specs() {
        let order = churn(&mut block_layer(spec.name, 60 * GIB, &[]), 60 * GIB);
        println!("{:14} order of dispatch {order:016x}", spec.name);
    }
    divan::main();
}

fn block_layer(name: &str, capacity_bytes: u64, set: &[(&str, Value)]) -> BlockLayer {
    let host = HostParams::defaults();
    let chosen = builtin().choose(name, set).expect("the scheduler takes these parameters");
    let setup = BlockLayer::setup(&host, capacity_bytes / 512);
    BlockLayer::new(&host, chosen.build(&setup).expect("the parameters are in order"))
}

/// Serves random 4 KiB reads and writes of sixteen tasks. Returns a checksum of the sectors in the order of dispatch.
fn churn(layer: &mut BlockLayer, capacity_bytes: u64) -> u64 {
    let mut prng = Prng::new(1);
    let (mut now, mut cookie, mut done, mut order) = (0, 0, 0u64, 0u64);
    while done < u64::from(REQUESTS) {
        now += 10 * US;
        while layer.queued() < WAITING {
            let op = if prng.chance(0.7) { Op::Read } else { Op::Write };
            let (lba, task) = (prng.below(capacity_bytes / 4_096) * 8, prng.below(16) as u32);
            let request = Request::new(op, lba, 8).arriving_at(now).of_task(task);
            if layer.submit(now, &request, cookie) == Admission::Full {
                break; // `none` queues no more than the device takes.
            }
            cookie += 1;
        }
        match layer.dispatch(now) {
            Decision::Dispatch(dispatched) => {
                done += 1;
                order = order.wrapping_add(dispatched.lba.wrapping_mul(done));
                layer.complete(now, dispatched.id, |_| {});
            }
            Decision::NotBefore(time) => now = time,
            Decision::Idle => unreachable!("requests wait and the device is empty"),
        }
    }
    order
}

#[divan::bench(args = [
    "noop", "deadline", "anticipatory", "cfq", "fios", "pardispatcher", "none", "mq-deadline", "kyber",
])]
fn request(bencher: divan::Bencher, name: &str) {
    let mut layer = block_layer(name, 60 * GIB, &[]);
    bencher.counter(ItemsCount::new(REQUESTS)).bench_local(|| churn(&mut layer, 60 * GIB));
}

#[divan::bench(args = [10, 10_000])]
fn pardispatcher_regions(bencher: divan::Bencher, regions: u64) {
    let capacity = 10_000 * 8 * MIB;
    let mut layer = block_layer("pardispatcher", capacity, &[("region_size", Value::Size(capacity / regions))]);
    bencher.counter(ItemsCount::new(REQUESTS)).bench_local(|| churn(&mut layer, capacity));
}
