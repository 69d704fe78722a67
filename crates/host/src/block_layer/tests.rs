use super::*;
use crate::lab::Lab;
use crate::scheduler::deadline;
use flashloom_workload::{Priority, PriorityClass};

fn lab() -> Lab {
    Lab::new(deadline::Deadline::new, |_| {})
}

#[test]
fn only_requests_that_ask_the_same_merge() {
    let mut lab = lab();
    for op in [Op::Read, Op::Write, Op::Discard] {
        assert_eq!(lab.submit(op, 0, 0, 100, 8), Admission::Queued, "{op:?}");
    }
    for op in [Op::Read, Op::Write, Op::Discard] {
        assert_eq!(lab.submit(op, 0, 0, 108, 8), Admission::Merged, "{op:?} behind");
        assert_eq!(lab.submit(op, 0, 0, 92, 8), Admission::Merged, "{op:?} before");
    }
    assert_eq!(lab.layer.queued(), 3);
    assert_eq!((lab.layer.stats().inserted, lab.layer.stats().merged), (9, 6));
}

#[test]
fn requests_of_different_queues_handles_or_priorities_do_not_merge_and_reach_the_device_with_theirs() {
    let at = |lba| Request::new(Op::Write, lba, 8);
    let urgent = Priority::new(PriorityClass::RealTime, 0);
    let kinds: [fn(Request, Priority) -> Request; 3] = [
        |request, _| request.on_queue(1),
        |request, _| request.with_handle(7),
        |request, priority| request.with_priority(priority),
    ];
    for kind in kinds {
        let mut lab = lab();
        let of_kind = |lba| kind(at(lba), urgent);
        for request in [at(100), of_kind(108), at(124), of_kind(132)] {
            assert_eq!(lab.layer.submit(0, &request, 0), Admission::Queued, "it touches only others");
        }
        assert_eq!(lab.layer.submit(0, &of_kind(116), 0), Admission::Merged, "behind 108, and 124 stays another");
        assert_eq!(lab.layer.submit(0, &of_kind(140), 0), Admission::Merged);
        let sent = std::iter::from_fn(|| match lab.start() {
            Decision::Dispatch(dispatched) => Some(dispatched.issued(0)),
            _ => None,
        });
        let of = |request: Request| (request.lba, request.sectors, request.queue, request.handle, request.flags);
        let kept = |lba, sectors| of(kind(Request::new(Op::Write, lba, sectors), urgent));
        assert_eq!(sent.map(of).collect::<Vec<_>>(), [of(at(100)), kept(108, 16), of(at(124)), kept(132, 16)]);
    }
}

#[test]
fn a_synchronous_and_an_asynchronous_write_merge_and_keep_the_flags_of_the_first() {
    let mut lab = lab();
    lab.writes([100]);
    assert_eq!(lab.submit(Op::Write, 3, Request::SYNC, 108, 8), Admission::Merged);
    let Decision::Dispatch(dispatched) = lab.start() else { panic!("one request waits") };
    assert_eq!((dispatched.sectors, dispatched.flags), (16, 0));
}

#[test]
fn max_request_bounds_what_merging_makes_to_the_sector() {
    let mut lab = lab();
    lab.submit(Op::Write, 0, 0, 0, 1_000);
    assert_eq!(lab.submit(Op::Write, 0, 0, 1_000, 25), Admission::Queued);
    assert_eq!(lab.submit(Op::Write, 0, 0, 5_000, 24), Admission::Queued);
    assert_eq!(lab.submit(Op::Write, 0, 0, 4_000, 1_000), Admission::Merged);
    lab.submit(Op::Read, 0, 0, 0, 600);
    lab.submit(Op::Read, 0, 0, 700, 600);
    assert_eq!(lab.submit(Op::Read, 0, 0, 600, 100), Admission::Merged, "but 1300 sectors are not joined");
    assert_eq!(lab.layer.queued(), 5);
}

#[test]
fn nr_requests_holds_for_synchronous_and_asynchronous_requests_each_and_merging_needs_no_room() {
    let mut lab = lab();
    lab.reads((0..127).map(|n| n * 100));
    assert_eq!(lab.submit(Op::Write, 0, Request::SYNC, 70_000, 8), Admission::Queued, "counts with the reads");
    for (op, flags) in [(Op::Read, 0), (Op::Write, Request::SYNC)] {
        assert_eq!(lab.submit(op, 0, flags, 50_000, 8), Admission::Full, "{op:?}");
    }
    assert_eq!(lab.submit(Op::Read, 0, 0, 8, 8), Admission::Merged);
    lab.writes((0..127).map(|n| n * 100));
    assert_eq!(lab.submit(Op::Discard, 0, 0, 50_000, 8), Admission::Queued, "a discard counts with the writes");
    assert_eq!(lab.submit(Op::Write, 0, 0, 60_000, 8), Admission::Full);
    assert_eq!(lab.submit(Op::Flush, 0, 0, 0, 0), Admission::Queued);
}

#[test]
fn nr_requests_counts_what_the_device_holds_until_it_has_completed() {
    let mut lab = lab();
    lab.reads((0..128).map(|n| n * 100));
    let held: Vec<u64> = (0..31).map(|_| lab.start_one()).collect();
    assert_eq!(lab.layer.queued(), 97);
    assert_eq!(lab.submit(Op::Read, 0, 0, 50_000, 8), Admission::Full, "97 wait and the device holds 31");
    lab.finish(held[3]);
    assert_eq!(lab.submit(Op::Read, 0, 0, 50_000, 8), Admission::Queued);
    assert_eq!(lab.submit(Op::Read, 0, 0, 60_000, 8), Admission::Full);
}

#[test]
fn two_requests_that_join_free_one_of_nr_requests() {
    let mut lab = lab();
    lab.writes((0..127).map(|n| 1_000 + n * 100));
    lab.writes([1_016]);
    assert_eq!(lab.submit(Op::Write, 0, 0, 50_000, 8), Admission::Full);
    assert_eq!(lab.submit(Op::Write, 0, 0, 1_008, 8), Admission::Merged, "and closes the gap to 1016");
    assert_eq!(lab.submit(Op::Write, 0, 0, 50_000, 8), Admission::Queued);
}

#[test]
fn a_flush_overtakes_what_is_queued_and_needs_no_room() {
    let mut lab = lab();
    lab.reads((0..128).map(|n| n * 100));
    assert_eq!(lab.submit(Op::Flush, 0, 0, 0, 0), Admission::Queued);
    let Decision::Dispatch(Dispatched { op, sectors, .. }) = lab.start() else { panic!("a flush waits") };
    assert_eq!((op, sectors), (Op::Flush, 0));
    assert_eq!(lab.finish(0), [0]);
    assert_eq!(lab.layer.stats().max_wait_ns(), 0);
    assert_eq!(lab.serve(999).len(), 128);
}

#[test]
fn the_wait_is_counted_from_arrival_to_dispatch_by_direction() {
    let mut lab = lab();
    lab.reads([100]);
    lab.writes([500]);
    lab.now = 70;
    assert_eq!(lab.start_one(), 100);
    lab.now = 90;
    assert_eq!(lab.start_one(), 500);
    lab.now = 1_000;
    lab.finish(100);
    lab.finish(500);
    let stats = lab.layer.stats();
    assert_eq!(Direction::BOTH.map(|direction| stats.wait[direction.at()].max()), [70, 90]);
    assert_eq!((stats.max_wait_ns(), stats.direction_switches), (90, 1));
}

#[test]
fn requests_wait_in_line_with_those_that_wait_for_the_same_tags() {
    use flashloom_units::OrName;

    use crate::scheduler::{kyber::Kyber, mq_deadline::MqDeadline, none::NoScheduler};
    let lines = |lab: Lab| {
        let line = |op, flags| lab.layer.line_of(&Request::new(op, 0, 8).with_flags(flags));
        [line(Op::Read, 0), line(Op::Write, Request::SYNC), line(Op::Write, 0)]
    };
    assert_eq!(lines(lab()), [0, 0, 1], "Linux 2.6.32 counts two classes");
    assert_eq!(lines(Lab::of_blk_mq(NoScheduler::new, |_| {}, |_| {})), [0; 3]);
    assert_eq!(lines(Lab::of_blk_mq(MqDeadline::new, |_| {}, |_| {})), [0; 3]);
    let limited = Lab::of_blk_mq(MqDeadline::new, |params| params.async_depth = OrName::Number(96), |_| {});
    assert_eq!(lines(limited), [0, 1, 1], "the limit leaves tags to reads");
    assert_eq!(lines(Lab::of_blk_mq(Kyber::new, |_| {}, |_| {})), [0, 0, 2]);
}
