//! Reads and writes behind merges, in timed mode: with preemption a read waits for one flash operation, without it for
//! the whole merge; and no write waits longer than the account of merges says.

use crate::support::random::{pick, random_device, with_random_values};
use crate::support::{Run, channel_ns, count, figure, mapped, plain, plain_nand, request, unbuffered};
use flashloom_device::{DeviceParams, Outcome};
use flashloom_ftl::{Preemption, mapping};
use flashloom_nand::{MultiPlane, NandParams};
use flashloom_units::{Figure, MS, Ns, Prng, S, Value, transfer_ns};
use flashloom_workload::{Op, Request};

const PAGES: u64 = 16;

fn one_chip() -> DeviceParams {
    plain(NandParams { channels: 1, ways: 1, blocks: 48, pages: PAGES as u32, ..plain_nand() })
}

/// Page 1 of one logical block after the other, a second apart: associativity grows to K, and log blocks are merged.
fn writes() -> impl Iterator<Item = Request> {
    (0..64).map(|at| request((at + 1) * S, Op::Write, (at % 32 * PAGES + 1) * 8, 8))
}

/// Delays between each write and the read after it, which meets the write's merge in different stages.
fn delay(at: Ns) -> Ns {
    MS + at * 7 % 13 * MS
}

/// Reads of pages that are never written, one after each write.
fn reads() -> impl Iterator<Item = Request> {
    (0..64).map(|at| request((at + 1) * S + delay(at), Op::Read, (at % 32 * PAGES + 3) * 8, 8))
}

fn run(preemption: Preemption, queue_depth: u32, requests: impl Iterator<Item = Request>) -> Outcome {
    let set = [("log_blocks", 4), ("k", 4), ("sequential_log_blocks", 0)];
    let mut setup = mapped(unbuffered(one_chip()), "kast", &set.map(|(name, count)| (name, Value::Count(count))));
    setup.ftl.params.preemption = preemption;
    let mut requests: Vec<_> = requests.collect();
    requests.sort_by_key(|request| request.arrival_ns);
    Run { queue_depth, ..Run::new(setup) }.run(requests)
}

/// Latency of a read on an idle drive.
fn unloaded() -> Ns {
    run(Preemption::Page, 1, reads()).host.read_latency.max()
}

#[test]
fn with_preemption_a_read_behind_a_merge_waits_for_one_flash_operation_at_most() {
    let device = one_chip();
    let longest_operation = device.nand.erase_ns.max(device.nand.program_ns + channel_ns(&device));
    for queue_depth in [1, 2] {
        let outcome = run(Preemption::Page, queue_depth, writes().chain(reads()));
        let full = count(&outcome, "full_merges");
        let (longest, unloaded) = (outcome.host.read_latency.max(), unloaded());
        assert!(full > 0 && longest > unloaded, "some reads come during a merge");
        assert!(longest <= unloaded + longest_operation, "{longest} ns, {unloaded} ns unloaded");
    }
}

#[test]
fn without_preemption_a_read_waits_until_the_merge_is_over() {
    for queue_depth in [1, 2] {
        let outcome = run(Preemption::None, queue_depth, writes().chain(reads()));
        let Some(Figure::Times(blocking_ns)) = figure(&outcome, "blocking_ns") else { panic!("merges have times") };
        let (longest, merge) = (outcome.host.read_latency.max(), blocking_ns.max());
        assert_eq!(merge, count(&outcome, "blocking_bound_ns"), "log blocks of K data blocks were merged");
        // A read comes a millisecond after its write at the earliest, and the merge begins with the write.
        assert!(longest + 2 * MS > merge, "{longest} ns behind a merge of {merge} ns");
    }
}

/// A filled drive of one die a channel under a random log-block mapping; `None` if it has no room for the log blocks.
fn drive_of_lone_dies(prng: &mut Prng) -> Option<Run> {
    let device = random_device(prng);
    let nand = NandParams { ways: 1, dies: 1, ..device.nand };
    let mut setup = unbuffered(DeviceParams { nand, ..device });
    let name = pick(prng, &["bast", "fast", "last", "sast", "kast"]);
    setup.ftl.mapping = with_random_values(prng, mapping::builtin().find(name).expect("it is in the table"));
    setup.ftl.params.preemption = pick(prng, &[Preemption::Page, Preemption::None]);
    setup.ftl.profile(&setup.device.space()).ok()?;
    Some(Run { idle_delay_ns: pick(prng, &[0, MS, 3_600 * S]), ..Run::new(setup) })
}

/// Latency of a page write on an idle drive, and transfer time of a page over the channel.
fn unloaded_write(device: &DeviceParams) -> (Ns, Ns) {
    let DeviceParams { nand, interface, .. } = device;
    let timing = nand.slowest_timing();
    let slowest = timing.program_ns[..timing.page_types as usize].iter().max().expect("a cell has a page type");
    let load_ns = nand.command_ns + timing.transfer_ns((nand.page_bytes / 512) as u32);
    let packets = nand.page_bytes.div_ceil(interface.link_packet_bytes);
    let link_bytes = nand.page_bytes + packets * interface.link_packet_overhead;
    let link_ns = interface.link_command_ns + transfer_ns(link_bytes, interface.link_rate);
    (interface.controller_ns + interface.controller_page_ns + link_ns + load_ns + slowest, load_ns)
}

/// The corollary of docs/waits.md in time, and not only the account against its bound: writes that come no faster than
/// one in the time of a write and the bound take no longer than a write and the longest wait of the account.
#[test]
fn writes_that_leave_merges_their_time_wait_no_longer_than_the_account_says() {
    let mut prng = Prng::new(27);
    let (mut merged, mut reached) = (0, 0);
    for case in 0..200 {
        let Some(run) = drive_of_lone_dies(&mut prng) else { continue };
        let device = &run.setup.device;
        let (pages, sectors) = (device.logical_pages(), device.nand.page_bytes / 512);
        let (unloaded, load_ns) = unloaded_write(device);
        let bound = count(&run.run([]), "wait_bound_ns");
        let gap = unloaded + bound;
        let mut write = |at: u64| request(at * gap, Op::Write, prng.below(pages) * sectors, sectors as u32);
        let outcome = run.run((1..600).map(&mut write).collect::<Vec<_>>());
        let (latency, wait) = (outcome.host.write_latency.max(), count(&outcome, "longest_wait_ns"));
        // An operation takes at most one page of each other plane along.
        let shortest = |ns: Ns, spread: f64| (ns as f64 * (1.0 - spread)) as Ns;
        let shortest_program = shortest(device.nand.program_ns, device.nand.program_spread);
        let shortest_erase = shortest(device.nand.erase_ns, device.nand.erase_spread);
        let operations = 1 + 2 * (wait / shortest_program.min(shortest_erase));
        let joined = match device.nand.multi_plane {
            MultiPlane::None => 0,
            _ => operations * u64::from(device.nand.planes - 1) * load_ns,
        };
        assert!(wait <= bound, "case {case}: {wait} ns against {bound} ns");
        assert!(latency <= unloaded + wait + joined, "case {case}: {latency} ns, {unloaded} + {wait} + {joined} ns");
        merged += u32::from(count(&outcome, "full_merges") > 0);
        reached += u32::from(latency >= unloaded + wait);
    }
    assert!(merged > 60 && reached > 0, "{merged} drives merged, {reached} reached the account");
}
