//! Rules of cfq, one a test, with the exact order of dispatch.

use flashloom_workload::{Op, Priority, PriorityClass};

use super::*;
use crate::lab::Lab;
use crate::{Admission, Decision};

const FAR: u64 = 1 << 20;

fn lab(change: impl FnOnce(&mut CfqParams)) -> Lab {
    Lab::new(Cfq::new, change)
}

/// Serves requests one after the other, each in the same time.
fn serve_slowly(lab: &mut Lab, requests: usize, each_ns: Ns) -> Vec<u64> {
    (0..requests)
        .map(|_| {
            let lba = lab.start_one();
            lab.now += each_ns;
            lab.finish(lba);
            lba
        })
        .collect()
}

#[test]
fn tasks_take_slices_in_turn_whose_clock_starts_with_the_first_completion() {
    let mut lab = lab(|_| {});
    lab.reads_of(1, [100, 200, 300, 400]);
    lab.reads_of(2, [FAR, FAR + 100, FAR + 200, FAR + 300]);
    let order = serve_slowly(&mut lab, 8, 60 * MS);
    assert_eq!(order, [100, 200, 300, FAR, FAR + 100, FAR + 200, 400, FAR + 300]);
    assert_eq!(lab.counts(), [4, 0, 0]);
}

#[test]
fn a_queue_holds_a_quantum_of_the_device_and_four_times_that_alone() {
    let mut lab = lab(|_| {});
    lab.reads_of(1, (1..20).map(|n| 100 * n));
    assert_eq!((0..16).map(|_| lab.start_one()).last(), Some(1_600));
    assert_eq!(lab.start(), Decision::Idle);
    let mut lab = self::lab(|_| {});
    lab.reads_of(1, (1..20).map(|n| 100 * n));
    lab.reads_of(2, [FAR]);
    assert_eq!((0..4).map(|_| lab.start_one()).last(), Some(400));
    assert_eq!(lab.start(), Decision::Idle);
}

#[test]
fn asynchronous_requests_wait_until_no_synchronous_one_is_at_the_device_and_the_reverse() {
    let mut lab = lab(|_| {});
    lab.writes([9_000, 9_100]);
    assert_eq!(lab.start_one(), 9_000);
    assert_eq!(lab.start(), Decision::Idle, "one at a time, so soon after the last synchronous completion");
    lab.reads_of(1, [100]);
    assert_eq!(lab.start(), Decision::Idle, "the read has the device's next turn, when the write is done");
    lab.finish(9_000);
    assert_eq!(lab.start_one(), 100);
    assert_eq!(lab.start(), Decision::Idle);
    lab.finish(100);
    assert_eq!(lab.start_one(), 9_100);
    assert_eq!(lab.counts(), [3, 1, 0], "three slices, one preemption, no idling");
}

#[test]
fn asynchronous_requests_go_one_deeper_for_each_slice_without_synchronous_ones() {
    let mut lab = lab(|_| {});
    lab.now = 350 * MS;
    lab.writes((0..9).map(|n| 9_000 + 100 * n));
    assert_eq!((0..3).map(|_| lab.start_one()).last(), Some(9_200));
    assert_eq!(lab.start(), Decision::Idle);
    let mut eager = self::lab(|params| params.low_latency = false);
    eager.writes((0..9).map(|n| 9_000 + 100 * n));
    assert_eq!((0..9).map(|_| eager.start_one()).last(), Some(9_800));
}

#[test]
fn an_asynchronous_slice_ends_after_its_number_while_others_wait() {
    let mut lab = lab(|params| params.slice_async_rq = 1);
    lab.writes((0..10).map(|n| 9_000 + 100 * n));
    assert_eq!(lab.serve(1), [9_000]);
    lab.reads_of(1, [100]);
    assert_eq!(lab.serve(1), [100]);
    assert_eq!(lab.serve(3), [9_100, 9_200, 9_300]);
    let slices = lab.counts()[0];
    lab.now = 41 * MS;
    lab.serve(9);
    assert_eq!((slices, lab.counts()[0]), (3, 4), "40 ms after its first completion a slice is over");
}

#[test]
fn a_seeking_device_is_idled_for_the_next_request_of_the_slice() {
    let mut lab = lab(|params| params.rotational = true);
    lab.reads_of(1, [100]);
    lab.reads_of(2, [FAR]);
    assert_eq!(lab.start_one(), 100);
    lab.finish(100);
    assert_eq!(lab.start(), Decision::NotBefore(8 * MS));
    lab.now = 5 * MS;
    lab.reads_of(1, [200]);
    assert_eq!(lab.start_one(), 200);
    lab.finish(200);
    assert_eq!(lab.start(), Decision::NotBefore(13 * MS));
    lab.now = 13 * MS;
    assert_eq!(lab.start_one(), FAR);
    assert_eq!(lab.counts(), [2, 0, 2]);
}

#[test]
fn a_device_without_seeks_that_queues_is_not_idled_for() {
    let mut lab = lab(|_| {});
    lab.reads_of(1, [100]);
    lab.reads_of(2, [FAR]);
    assert_eq!(lab.serve(9), [100, FAR]);
}

/// Serves reads of task 1 one at a time while more than five of them wait.
fn serve_singly(lab: &mut Lab, reads: u64) {
    for _ in 0..reads {
        let lba = lab.now * 100;
        lab.reads_of(1, [lba]);
        lab.now += 1;
        assert_eq!(lab.serve(1).len(), 1);
    }
}

/// True if cfq idles for task 1 while task 2 waits, after task 1 has run out of requests.
fn is_idled_for(lab: &mut Lab) -> bool {
    lab.reads_of(2, [1_000 * FAR]);
    let mut idled = false;
    while let Some(decision) = Some(lab.start()).filter(|decision| *decision != Decision::Idle) {
        match decision {
            Decision::NotBefore(time) => (idled, lab.now) = (true, time),
            Decision::Dispatch(dispatched) => drop(lab.finish(dispatched.lba)),
            Decision::Idle => {}
        }
    }
    idled
}

#[test]
fn a_drive_that_was_deep_once_is_not_idled_for_by_the_rule_of_2_6_33() {
    for (hw_tag, idled) in [(HwTag::Linux2_6_32, true), (HwTag::Linux2_6_33, false)] {
        let mut lab = lab(|params| (params.hw_tag, params.quantum) = (hw_tag, 8));
        lab.reads_of(1, (1..14).map(|n| FAR + 100 * n));
        let held: Vec<u64> = (0..6).map(|_| lab.start_one()).collect();
        held.into_iter().for_each(|lba| drop(lab.finish(lba)));
        serve_singly(&mut lab, 96);
        assert_eq!(is_idled_for(&mut lab), idled, "{}", hw_tag.name());
    }
}

#[test]
fn a_near_request_takes_the_device_from_a_queue_that_is_idled_for() {
    let mut lab = lab(|params| params.rotational = true);
    lab.reads_of(1, [100]);
    assert_eq!(lab.serve(1), [100]);
    lab.reads_of(2, [FAR]);
    assert_eq!(lab.start(), Decision::NotBefore(8 * MS));
    lab.reads_of(3, [108 + SEEKY_SECTORS]);
    assert_eq!(lab.start_one(), 108 + SEEKY_SECTORS);
    assert_eq!(lab.counts()[1], 1);
}

#[test]
fn the_head_of_the_fifo_goes_first_once_a_slice_if_it_has_expired() {
    let mut lab = lab(|_| {});
    lab.reads_of(1, [500, 100, 200]);
    lab.now = 125 * MS;
    assert_eq!(lab.serve(9), [500, 100, 200]);
    let mut early = self::lab(|_| {});
    early.reads_of(1, [500, 100, 200]);
    early.now = 125 * MS - 1;
    assert_eq!(early.serve(9), [100, 200, 500]);
}

#[test]
fn only_requests_of_one_queue_merge() {
    let mut lab = lab(|_| {});
    lab.reads_of(1, [100]);
    assert_eq!(lab.submit(Op::Read, 2, 0, 108, 8), Admission::Queued, "another task");
    assert_eq!(lab.submit(Op::Read, 1, 0, 108, 8), Admission::Merged);
    assert_eq!(lab.submit(Op::Read, 1, 0, 92, 8), Admission::Merged);
    lab.submit(Op::Write, 1, Request::SYNC, 500, 8);
    assert_eq!(lab.submit(Op::Write, 1, 0, 508, 8), Admission::Queued, "asynchronous behind synchronous");
    assert_eq!(lab.submit(Op::Write, 2, 0, 516, 8), Admission::Merged, "asynchronous ones share a queue");
    assert_eq!(lab.submit(Op::Write, 1, Request::SYNC, 524, 8), Admission::Queued, "and the reverse");
}

#[test]
fn a_queue_comes_later_the_shorter_its_slice_and_the_more_others_there_are() {
    let mut lab = lab(|_| {});
    lab.reads_of(1, [100]);
    lab.reads_of(2, [FAR]);
    lab.writes([9_000]);
    assert_eq!(lab.serve(1), [100]);
    lab.now = 10 * MS;
    lab.reads_of(3, [2 * FAR]);
    // Keys: task 2 at 80 ms, the writes at 2 * 140 ms, task 3 at 10 ms + 2 * 80 ms.
    assert_eq!(lab.serve(9), [FAR, 2 * FAR, 9_000]);
}

#[test]
fn a_queue_that_overran_its_slice_comes_later_by_as_much() {
    let mut lab = lab(|_| {});
    lab.reads_of(1, [100, 200, 300]);
    lab.reads_of(2, [FAR, FAR + 100]);
    assert_eq!(lab.serve(1), [100]);
    assert_eq!(serve_slowly(&mut lab, 1, 1_000 * MS), [200], "900 ms past the end of the slice");
    assert_eq!(serve_slowly(&mut lab, 1, 500 * MS), [FAR]);
    lab.reads_of(3, [2 * FAR]);
    // Keys: task 1 at 1000 + 80 + 900 ms, task 3 at 1500 + 2 * 80 ms.
    assert_eq!(serve_slowly(&mut lab, 3, 200 * MS), [FAR + 100, 2 * FAR, 300]);
}

#[test]
fn a_request_that_takes_in_an_elder_one_takes_its_place_in_the_fifo() {
    let mut lab = lab(|_| {});
    for lba in [116, 50, 100] {
        lab.reads_of(1, [lba]);
        lab.now += MS;
    }
    assert_eq!(lab.submit(Op::Read, 1, 0, 108, 8), Admission::Merged);
    lab.now = 125 * MS;
    assert_eq!(lab.serve(9), [100, 50]);
}

/// Flags of a request of that priority.
fn of(class: PriorityClass, level: u8) -> u8 {
    Request::flush().with_priority(Priority::new(class, level)).flags
}

const URGENT: PriorityClass = PriorityClass::RealTime;
const NORMAL: PriorityClass = PriorityClass::BestEffort;
const IDLE: PriorityClass = PriorityClass::Idle;

fn read(lab: &mut Lab, task: u32, flags: u8, sectors: impl IntoIterator<Item = u64>) {
    lab.queue(Op::Read, task, flags, sectors);
}

#[test]
fn every_priority_has_an_asynchronous_queue_and_none_is_best_effort_4() {
    for (index, rank) in Rank::all().enumerate() {
        assert_eq!(rank.index() as usize, index, "{rank:?}");
    }
    assert_eq!(Rank::all().count(), Rank::COUNT as usize);
    assert_eq!(Rank::of_flags(0), Rank::of_flags(of(NORMAL, 4)));
    assert_eq!(Rank::of_flags(of(PriorityClass::None, 1)), Rank::of_flags(of(NORMAL, 4)), "no class, no level");
    assert_eq!(Rank::of_flags(of(IDLE, 0)), Rank::of_flags(of(IDLE, 7)), "the idle class has no levels");
}

#[test]
fn a_slice_is_a_fifth_longer_or_shorter_for_each_level() {
    let slices =
        |normal| [0, 1, 2, 3, 4, 5, 6, 7].map(|level| Rank { class: Class::BestEffort, level }.slice_ns(normal));
    assert_eq!(slices(100 * MS), [180, 160, 140, 120, 100, 80, 60, 40].map(|ms| ms * MS));
    assert_eq!(slices(40 * MS), [72, 64, 56, 48, 40, 32, 24, 16].map(|ms| ms * MS));
    let mut lab = lab(|_| {});
    read(&mut lab, 1, of(NORMAL, 0), (1..30).map(|n| 100 * n));
    read(&mut lab, 2, of(NORMAL, 7), (1..30).map(|n| FAR + 100 * n));
    let order = serve_slowly(&mut lab, 26, 20 * MS);
    let runs: Vec<usize> = order.chunk_by(|a, b| (*a < FAR) == (*b < FAR)).map(<[u64]>::len).collect();
    // The clock starts with the first completion: 20 ms and nine times 20 ms, 20 ms and twice 20 ms.
    assert_eq!(runs, [10, 3, 10, 3]);
}

#[test]
fn a_queue_comes_later_the_higher_its_level() {
    let mut lab = lab(|_| {});
    read(&mut lab, 9, 0, [100]);
    read(&mut lab, 1, of(NORMAL, 7), [FAR]);
    lab.now = 10 * MS;
    read(&mut lab, 2, of(NORMAL, 0), [2 * FAR]);
    read(&mut lab, 3, of(NORMAL, 4), [3 * FAR]);
    // Keys: task 1 at 140 ms, task 2 at 10 ms + 2 * 0 ms, task 3 at 10 ms + 3 * 80 ms.
    assert_eq!(lab.serve(9), [100, 2 * FAR, FAR, 3 * FAR]);
}

#[test]
fn real_time_goes_first_and_idle_only_when_nothing_else_is_queued() {
    let mut lab = lab(|_| {});
    read(&mut lab, 1, of(IDLE, 0), [100, 200]);
    read(&mut lab, 2, of(NORMAL, 0), (0..4).map(|n| FAR + 100 * n));
    read(&mut lab, 3, of(URGENT, 7), (0..4).map(|n| 2 * FAR + 100 * n));
    let order = serve_slowly(&mut lab, 10, 60 * MS);
    let far = |times: u64| (0..4).map(move |n| times * FAR + 100 * n);
    assert_eq!(order, far(2).chain(far(1)).chain([100, 200]).collect::<Vec<_>>(), "whatever the slices");
}

#[test]
fn a_queue_of_the_idle_class_has_one_request_at_the_device() {
    let mut lab = lab(|_| {});
    read(&mut lab, 1, of(IDLE, 4), [100, 200]);
    assert_eq!(lab.start_one(), 100);
    assert_eq!(lab.start(), Decision::Idle, "although no other queue has requests");
    lab.finish(100);
    assert_eq!(lab.start_one(), 200);
    assert_eq!(lab.counts()[0], 2, "the completion ended the slice");
}

#[test]
fn queues_of_the_idle_class_take_turns_after_each_request() {
    let mut lab = lab(|_| {});
    read(&mut lab, 1, of(IDLE, 4), [100, 200]);
    read(&mut lab, 2, of(IDLE, 4), [FAR, FAR + 100]);
    // Keys: task 1 at 200 ms, then at 600 ms behind task 2 at 400 ms, which then comes at 800 ms.
    assert_eq!([lab.start_one(), lab.start_one()], [100, FAR]);
    assert_eq!(lab.start(), Decision::Idle, "task 1 is active and has one at the device");
    lab.finish(100);
    assert_eq!(lab.start(), Decision::Idle, "task 1 has gone behind task 2, which has one at the device");
    lab.finish(FAR);
    assert_eq!([lab.start_one(), lab.start_one()], [200, FAR + 100]);
}

#[test]
fn a_queue_of_the_idle_class_is_not_idled_for() {
    for (class, waits) in [(IDLE, false), (NORMAL, true)] {
        let mut lab = lab(|params| params.rotational = true);
        read(&mut lab, 1, of(class, 4), [100]);
        assert_eq!(lab.serve(1), [100]);
        read(&mut lab, 2, of(class, 4), [FAR]);
        assert_eq!(lab.start() == Decision::NotBefore(8 * MS), waits, "{class:?}");
    }
}

#[test]
fn a_queue_preempts_lower_classes() {
    let sync =
        [(URGENT, 7), (URGENT, 0), (NORMAL, 7), (NORMAL, 0), (IDLE, 7)].map(|(class, level)| (class, of(class, level)));
    for (active, flags) in sync {
        for (class, new) in sync {
            let mut lab = lab(|_| {});
            read(&mut lab, 1, flags, [100, 200]);
            assert_eq!(lab.start_one(), 100);
            read(&mut lab, 2, new, [FAR]);
            let preempts = class < active;
            assert_eq!(lab.counts()[1], u64::from(preempts), "{class:?} by level preempts {active:?}");
            if preempts {
                assert_eq!(lab.start_one(), FAR);
            }
        }
    }
}

#[test]
fn a_synchronous_request_preempts_an_asynchronous_queue_of_real_time_which_is_chosen_again() {
    let mut lab = lab(|_| {});
    lab.queue(Op::Write, 1, of(URGENT, 0), [9_000, 9_100]);
    assert_eq!(lab.start_one(), 9_000);
    read(&mut lab, 2, of(NORMAL, 4), [100]);
    assert_eq!(lab.counts()[1], 1);
    lab.finish(9_000);
    assert_eq!(lab.serve(9), [9_100, 100], "the front of best effort is behind real time");
}

#[test]
fn asynchronous_requests_of_a_class_and_level_share_a_queue() {
    let mut lab = lab(|_| {});
    lab.queue(Op::Write, 1, of(IDLE, 4), [9_000]);
    lab.queue(Op::Write, 1, of(NORMAL, 4), [500]);
    lab.queue(Op::Write, 1, of(URGENT, 4), [9_200]);
    assert_eq!(lab.submit(Op::Write, 2, of(NORMAL, 4), 508, 8), Admission::Merged);
    assert_eq!(lab.submit(Op::Write, 2, of(NORMAL, 5), 516, 8), Admission::Queued, "another level");
    assert_eq!(lab.serve(9), [9_200, 500, 516, 9_000]);
    assert_eq!(lab.counts()[0], 4, "a slice for each queue");
}

#[test]
fn an_asynchronous_slice_has_more_requests_the_lower_its_level() {
    let mut lab = lab(|params| (params.slice_async_rq, params.low_latency) = (1, false));
    lab.queue(Op::Write, 1, of(NORMAL, 7), (0..9).map(|n| FAR + 100 * n));
    lab.queue(Op::Write, 1, of(NORMAL, 0), (0..20).map(|n| 100 * n));
    assert_eq!(lab.serve(2), [FAR, FAR + 100]);
    assert_eq!((lab.counts()[0], lab.serve(16).last(), lab.counts()[0]), (1, Some(&1_500), 2));
    // Keys: level 7 at 164 ms, level 0 at 108 ms, which therefore has another slice.
    assert_eq!((lab.serve(1), lab.counts()[0]), (vec![1_600], 3));
}

#[test]
fn a_task_that_changes_its_priority_takes_its_queue_along_when_that_is_inserted_anew() {
    let mut lab = lab(|_| {});
    read(&mut lab, 1, of(NORMAL, 4), [100, 200]);
    read(&mut lab, 2, of(NORMAL, 4), [FAR]);
    read(&mut lab, 1, of(IDLE, 4), [300]);
    assert_eq!(lab.serve(9), [100, FAR, 200, 300], "in its old place once, then behind the others");
    read(&mut lab, 2, 0, [FAR]);
    read(&mut lab, 1, of(URGENT, 4), [400]);
    assert_eq!(lab.serve(9), [400, FAR]);
}
