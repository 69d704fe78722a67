use flashloom_units::OrName;

use super::*;
use crate::lab::Lab;
use crate::{Admission, Decision, HostParams};

fn lab(change: impl FnOnce(&mut KyberParams)) -> Lab {
    Lab::of_blk_mq(Kyber::new, change, |host: &mut HostParams| {
        (host.queue_depth, host.nr_requests) = (1_024, OrName::Number(1_024))
    })
}

/// Sends `n` requests at once, of the operation, and completes them after `after_ns`; all begin `100` sectors apart.
fn burst(lab: &mut Lab, op: Op, n: u64, after_ns: Ns) {
    for lba in (0..n).map(|n| n * 100) {
        lab.submit(op, 0, Request::SYNC, lba, 8);
    }
    let started: Vec<u64> = (0..n).map(|_| lab.start_one()).collect();
    lab.now += after_ns;
    started.into_iter().for_each(|lba| drop(lab.finish(lba)));
}

fn depth(lab: &mut Lab, op: Op) -> u64 {
    let far = 1_000_000;
    for n in 0..300 {
        assert_eq!(lab.submit(op, 0, Request::SYNC, far + n * 100, 8), Admission::Queued);
    }
    let mut held = Vec::new();
    while let Decision::Dispatch(sent) = lab.start() {
        held.push(sent.lba);
    }
    let depth = held.len() as u64;
    // Complete one after another, so that all are gone at the same time.
    while let Some(lba) = held.pop() {
        lab.finish(lba);
        while let Decision::Dispatch(sent) = lab.start() {
            held.push(sent.lba);
        }
    }
    depth
}

#[test]
fn batches_of_domains_take_turns() {
    let mut lab = lab(|_| {});
    lab.reads((0..20).map(|n| 10_000 + n * 100));
    lab.writes((0..10).map(|n| 20_000 + n * 100));
    lab.submit(Op::Discard, 0, 0, 30_000, 8);
    lab.submit(Op::Discard, 0, 0, 30_100, 8);
    let domains: Vec<u64> = lab.serve(99).iter().map(|lba| lba / 10_000).collect();
    let expected = [vec![1; 16], vec![2; 8], vec![3], vec![1; 4], vec![2; 2], vec![3]].concat();
    assert_eq!(domains, expected);
}

#[test]
fn a_batch_goes_on_after_a_time_without_requests() {
    let mut lab = lab(|_| {});
    lab.reads((0..10).map(|n| 10_000 + n * 100));
    assert_eq!(lab.serve(99).len(), 10);
    assert_eq!(lab.start(), Decision::Idle);
    lab.reads((0..10).map(|n| 10_000 + n * 100));
    lab.writes([20_000]);
    let domains: Vec<u64> = lab.serve(99).iter().map(|lba| lba / 10_000).collect();
    assert_eq!(domains, [vec![1; 6], vec![2], vec![1; 4]].concat());
}

#[test]
fn each_domain_has_its_tokens() {
    for (op, tokens) in [(Op::Read, 256), (Op::Write, 128), (Op::Discard, 64)] {
        assert_eq!(depth(&mut lab(|_| {}), op), tokens, "{op:?}");
    }
}

#[test]
fn a_request_merges_with_the_last_eight_of_its_software_queue_at_either_end() {
    let mut lab = lab(|_| {});
    lab.reads((0..9).map(|n| 1_000 + n * 100));
    assert_eq!(lab.submit(Op::Read, 0, 0, 1_008, 8), Admission::Queued, "1000 is the ninth");
    assert_eq!(lab.submit(Op::Read, 0, 0, 1_208, 8), Admission::Merged, "1200 is the eighth");
    assert_eq!(lab.submit(Op::Read, 0, 0, 1_292, 8), Admission::Merged, "at the front of 1300");
    assert_eq!(lab.start_one(), 1_000, "and all are on the dispatch list");
    assert_eq!(lab.submit(Op::Read, 0, 0, 1_808, 8), Admission::Queued);
}

#[test]
fn a_bucket_is_a_quarter_of_the_target() {
    let of = |latency_ns| bucket_of(latency_ns, 2 * MS);
    let edges = [0, 1, MS / 2, MS / 2 + 1, 2 * MS, 2 * MS + 1, 7 * MS / 2, 7 * MS / 2 + 1, S];
    assert_eq!(edges.map(of), [0, 0, 0, 1, 3, 4, 6, 7, 7]);
    assert_eq!([0, 1, 2, 9].map(|latency_ns| bucket_of(latency_ns, 0)), [0, 0, 1, 7], "a width of 1 ns");
}

#[test]
fn a_percentile_waits_for_500_samples_or_a_second_and_is_the_first_bucket_that_reaches_it() {
    let ticks = Ticks::new(250);
    let p90 = |domain: &mut Domain, tick| domain.percentile(IO, 90, tick, ticks);
    let mut domain = Domain::new(1);
    assert_eq!(p90(&mut domain, 10), None, "no samples, and no deadline is set");
    domain.latencies[IO] = [450, 50, 0, 0, 0, 0, 0, 0];
    assert_eq!(p90(&mut domain, 20), Some(0), "450 of 500");
    domain.latencies[IO] = [449, 50, 0, 0, 0, 0, 0, 1];
    assert_eq!(p90(&mut domain, 20), Some(1), "one too few");
    domain.latencies[IO] = [1, 0, 0, 0, 0, 0, 0, 9];
    assert_eq!((p90(&mut domain, 30), p90(&mut domain, 279)), (None, None), "the deadline is tick 280");
    assert_eq!((p90(&mut domain, 280), domain.latencies[IO]), (Some(7), [0; BUCKETS]));
}

/// Three bursts of 200 reads fill the samples of one round of the timer.
fn round(lab: &mut Lab, op: Op, n: u64, after_ns: Ns) {
    (0..3).for_each(|_| burst(lab, op, n, after_ns));
}

#[test]
fn congestion_takes_tokens_from_a_domain_that_keeps_its_target_and_gives_them_to_none_beyond_all() {
    let mut lab = lab(|_| {});
    // Reads beyond their target of 2 ms (bucket 7), writes in a tenth of theirs of 10 ms (bucket 0).
    round(&mut lab, Op::Read, 200, 10 * MS);
    (0..5).for_each(|_| burst(&mut lab, Op::Write, 100, MS));
    lab.now += 100 * MS;
    assert_eq!(depth(&mut lab, Op::Write), 32, "128 * (0 + 1) / 4");
    assert_eq!(depth(&mut lab, Op::Read), 256, "256 * 8 / 4 is more than there are");
    assert_eq!(lab.counts()[1], 1, "the number of the reads' tokens did not change");
}

#[test]
fn without_congestion_a_domain_that_keeps_its_target_keeps_its_tokens() {
    let mut lab = lab(|_| {});
    round(&mut lab, Op::Read, 200, MS);
    (0..5).for_each(|_| burst(&mut lab, Op::Write, 100, MS));
    lab.now += 100 * MS;
    assert_eq!((depth(&mut lab, Op::Write), lab.counts()[1]), (128, 0));
}
