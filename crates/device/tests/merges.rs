//! Reads behind merges, in timed mode on one chip: with preemption they wait for one flash operation, without it for
//! the whole merge.
#![allow(missing_docs)]

mod support;

use flashloom_device::{DeviceParams, Outcome};
use flashloom_ftl::{Preemption, mapping};
use flashloom_nand::NandParams;
use flashloom_units::{MS, Ns, S, Value};
use flashloom_workload::{Op, Request};
use support::{Run, plain, plain_nand, request, unbuffered};

const PAGES: u64 = 16;

fn one_chip() -> DeviceParams {
    plain(NandParams { channels: 1, ways: 1, blocks: 48, pages: PAGES as u32, ..plain_nand() })
}

/// Page 1 of one logical block after the other, a second apart: associativity grows to K, and log blocks are merged.
fn writes() -> impl Iterator<Item = Request> {
    (0..64).map(|at| request((at + 1) * S, Op::Write, (at % 32 * PAGES + 1) * 8, 8))
}

/// How long after each write a read comes: sooner or later in what the write has set off.
fn delay(at: Ns) -> Ns {
    MS + at * 7 % 13 * MS
}

/// Reads of pages that are never written, one after each write.
fn reads() -> impl Iterator<Item = Request> {
    (0..64).map(|at| request((at + 1) * S + delay(at), Op::Read, (at % 32 * PAGES + 3) * 8, 8))
}

fn run(preemption: Preemption, queue_depth: u32, requests: impl Iterator<Item = Request>) -> Outcome {
    let mut setup = unbuffered(one_chip());
    let set = [("log_blocks", Value::Count(4)), ("k", Value::Count(4)), ("sequential_log_blocks", Value::Count(0))];
    setup.ftl.mapping = mapping::builtin().choose("kast", &set).unwrap();
    setup.ftl.params.preemption = preemption;
    let mut requests: Vec<_> = requests.collect();
    requests.sort_by_key(|request| request.arrival_ns);
    Run { queue_depth, ..Run::new(setup) }.run(requests)
}

/// The latency of a read when nothing else is going on.
fn unloaded() -> Ns {
    run(Preemption::Page, 1, reads()).host.read_latency.max()
}

#[test]
fn with_preemption_a_read_behind_a_merge_waits_for_one_flash_operation_at_most() {
    let device = one_chip();
    let longest_operation = device.nand.erase_ns.max(device.nand.program_ns + device.nand.timing().transfer_ns(8));
    for queue_depth in [1, 2] {
        let outcome = run(Preemption::Page, queue_depth, writes().chain(reads()));
        let merges = outcome.ftl.merges.unwrap();
        let (longest, unloaded) = (outcome.host.read_latency.max(), unloaded());
        println!("depth {queue_depth}: {} full merges, reads {unloaded} to {longest} ns", merges.full);
        assert!(merges.full > 0 && longest > unloaded, "some reads come during a merge");
        assert!(longest <= unloaded + longest_operation, "{longest} ns, {unloaded} ns unloaded");
    }
}

#[test]
fn without_preemption_a_read_waits_until_the_merge_is_over() {
    for queue_depth in [1, 2] {
        let outcome = run(Preemption::None, queue_depth, writes().chain(reads()));
        let merges = outcome.ftl.merges.unwrap();
        let (longest, merge) = (outcome.host.read_latency.max(), merges.blocking_ns.max());
        println!("depth {queue_depth}: merges of up to {merge} ns, reads up to {longest} ns");
        assert_eq!(merge, merges.blocking_bound_ns, "log blocks of K data blocks were merged");
        // A read comes a millisecond after its write at the earliest, and the merge begins with the write.
        assert!(longest + 2 * MS > merge, "{longest} ns behind a merge of {merge} ns");
    }
}
