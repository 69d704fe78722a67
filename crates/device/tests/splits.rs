//! Requests that are larger than blk-mq lets one be.

use flashloom_device::{Outcome, Simulation};
use flashloom_host::{HostParams, Linux};
use flashloom_units::{KIB, MS, Ns, OrName, ParamSet};
use flashloom_workload::{Op, Pace, Request};

use crate::support::{plain_device, plain_nand, replayed, request, unbuffered, under};

/// Runs requests under `none` of Linux 6.12 with requests of at most 32 KiB.
fn run(change: impl FnOnce(&mut HostParams), pace: Pace, requests: &[Request]) -> Outcome {
    let setup = unbuffered(plain_device());
    let max_request_bytes = OrName::Number(32 * KIB);
    let mut host = HostParams { scheduler: "none", linux: Linux::V6_12, max_request_bytes, ..HostParams::defaults() };
    change(&mut host);
    let mut engine = under(&host, &setup, MS);
    engine.start_timing(&plain_nand());
    let mut simulation = Simulation::new(engine);
    simulation.run(&mut replayed(requests.to_vec(), pace), Ns::MAX, &mut []).unwrap();
    simulation.check().unwrap();
    simulation.outcome()
}

/// 200 sectors are three parts of 64 and one of 8. They take the time of four requests, and are one that took it.
#[test]
fn a_large_request_is_served_in_parts_and_ends_with_the_last() {
    let parts = [(0, 64), (64, 64), (128, 64), (192, 8)].map(|(lba, sectors)| request(0, Op::Write, lba, sectors));
    for depth in [1, 2, 31] {
        let at_depth = |host: &mut HostParams| (host.queue_depth, host.merging) = (depth, false);
        let split = run(at_depth, Pace::Timestamps(1.0), &[request(0, Op::Write, 0, 200)]);
        let apart = run(at_depth, Pace::Timestamps(1.0), &parts);
        assert_eq!((split.host.total_completed(), split.host.write_bytes), (1, 200 * 512));
        assert_eq!((split.scheduler.inserted, split.scheduler.dispatched), (4, 4));
        assert_eq!(split.host.duration_ns, apart.host.duration_ns, "depth {depth}");
        assert_eq!(split.host.write_latency.max(), apart.host.write_latency.max());
        assert_eq!(split.host.write_latency.max(), split.host.duration_ns);
    }
}

/// Ten parts find two tags. Those that are left go on where they were, before what came later.
#[test]
fn parts_that_find_no_tag_wait_before_what_came_later() {
    let requests = [request(0, Op::Write, 0, 640), request(0, Op::Write, 6_400, 8)];
    let outcome = run(|host| host.queue_depth = 2, Pace::Timestamps(1.0), &requests);
    assert_eq!((outcome.host.total_completed(), outcome.scheduler.dispatched), (2, 11));
    assert_eq!(outcome.host.write_bytes, 648 * 512);
    assert!(outcome.host.write_latency.percentile(1.0) > outcome.host.write_latency.max() * 9 / 10, "both end last");
}

/// A closed workload gives all of its requests one cookie.
#[test]
fn large_requests_of_one_cookie_are_told_apart() {
    let requests: Vec<Request> = (0..200).map(|n| request(0, Op::Read, 24 * n, 8 + 40 * (n as u32 % 9))).collect();
    let outcome = run(|host| host.queue_depth = 4, Pace::Closed(16), &requests);
    assert_eq!(outcome.host.total_completed(), 200);
    assert_eq!(outcome.host.read_bytes, requests.iter().map(|one| u64::from(one.sectors) * 512).sum::<u64>());
    assert!(outcome.scheduler.inserted > 500);
}

#[test]
fn discards_and_the_requests_of_before_blk_mq_stay_whole() {
    let large = |op| [request(0, op, 0, 640)];
    let dispatched = |outcome: Outcome| outcome.scheduler.dispatched;
    assert_eq!(dispatched(run(|_| (), Pace::Timestamps(1.0), &large(Op::Discard))), 1);
    let of_before = |host: &mut HostParams| (host.scheduler, host.linux) = ("noop", Linux::Auto);
    assert_eq!(dispatched(run(of_before, Pace::Timestamps(1.0), &large(Op::Read))), 1);
    assert_eq!(dispatched(run(|_| (), Pace::Timestamps(1.0), &large(Op::Read))), 10);
}

/// A segment is a page of 4 KiB: five of them are 40 sectors.
#[test]
fn segments_limit_requests_too() {
    let few = |host: &mut HostParams| host.max_segments = Some(5);
    let outcome = run(few, Pace::Timestamps(1.0), &[request(0, Op::Read, 0, 160)]);
    assert_eq!((outcome.host.read_bytes, outcome.scheduler.dispatched), (160 * 512, 4));
}
