//! Reads and writes behind merges, in timed mode: with preemption a read waits for one flash operation, without it for
//! the whole merge; and no write waits longer than the account of merges says.
#![allow(missing_docs)]

mod support;

use flashloom_device::{DeviceParams, Outcome};
use flashloom_ftl::{Preemption, mapping};
use flashloom_nand::NandParams;
use flashloom_units::{MS, Ns, ParamSet, Prng, S, Value, transfer_ns};
use flashloom_workload::{Op, Pace, Request};
use support::random::{pick, random_device, with_random_values};
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

/// A filled drive of one die a channel under a random log-block mapping, and random writes of whole pages, one after the
/// other: nothing but merges is in their way. None where the drive has no room for the log blocks.
fn writes_alone(prng: &mut Prng) -> Option<Run> {
    let device = random_device(prng);
    let nand = NandParams { ways: 1, dies: 1, ..device.nand };
    let mut setup = unbuffered(DeviceParams { nand, ..device });
    let name = pick(prng, &["bast", "fast", "sast", "kast"]);
    setup.ftl.mapping = with_random_values(prng, mapping::builtin().find(name).expect("it is in the table"));
    setup.ftl.params.preemption = pick(prng, &[Preemption::Page, Preemption::None]);
    setup.ftl.profile(&setup.device.space()).ok()?;
    let idle_delay_ns = pick(prng, &[0, 3_600 * S]);
    Some(Run { queue_depth: 1, pace: Pace::Closed(1), idle_delay_ns, ..Run::new(setup) })
}

/// The wait is held in time, and not only the account against its bound: a write takes what it takes on an idle drive,
/// and at most the longest wait of the account more.
#[test]
fn no_write_takes_longer_than_on_an_idle_drive_and_the_longest_wait_for_merges() {
    let mut prng = Prng::new(27);
    let (mut merged, mut reached) = (0, 0);
    for case in 0..150 {
        let Some(run) = writes_alone(&mut prng) else { continue };
        let DeviceParams { nand, interface, .. } = &run.setup.device;
        let (timing, page_sectors) = (nand.timing(), nand.page_bytes / 512);
        let slowest = timing.program_ns[..timing.page_types as usize].iter().max().expect("a cell has a page type");
        let load_ns = nand.command_ns + timing.transfer_ns(page_sectors as u32);
        let unloaded = interface.controller_ns + transfer_ns(nand.page_bytes, interface.link_rate) + load_ns + slowest;
        let pages = run.setup.device.logical_pages();
        let writes = (0..600).map(|_| request(0, Op::Write, prng.below(pages) * page_sectors, page_sectors as u32));
        let outcome = run.run(writes.collect::<Vec<_>>());
        let merges = outcome.ftl.merges.expect("a log-block mapping reports merges");
        let (latency, wait) = (outcome.host.write_latency.max(), merges.longest_wait_ns);
        assert!(wait <= merges.wait_bound_ns, "case {case}: {wait} ns against {}", merges.wait_bound_ns);
        assert!(latency <= unloaded + wait, "case {case}: {latency} ns against {unloaded} ns and {wait} ns");
        merged += u32::from(merges.full > 0);
        reached += u32::from(latency == unloaded + wait);
    }
    println!("{merged} drives merged, {reached} had a write that waited for all of its account");
    assert!(merged > 50 && reached > 0, "{merged} drives merged, {reached} reached the bound");
}
