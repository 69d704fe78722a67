use flashloom_workload::Op;

use super::*;
use crate::lab::Lab;
use crate::{Admission, Decision, HostParams};

const BOTH: [Linux; 2] = [Linux::V6_1, Linux::V6_12];
const RT: u8 = flags(PriorityClass::RealTime, 0);
const BE: u8 = flags(PriorityClass::BestEffort, 4);
const IDLE: u8 = flags(PriorityClass::Idle, 0);

const fn flags(class: PriorityClass, level: u8) -> u8 {
    Request::new(Op::Write, 0, 8).with_priority(Priority::new(class, level)).flags
}

fn lab(linux: Linux, change: impl FnOnce(&mut MqDeadlineParams)) -> Lab {
    Lab::of_blk_mq(MqDeadline::new, change, |host: &mut HostParams| host.linux = linux)
}

fn read(lab: &mut Lab, flags: u8, lba: u64) {
    assert_eq!(lab.submit(Op::Read, 0, flags, lba, 8), Admission::Queued, "read {lba}");
}

#[test]
fn the_first_batch_is_of_writes_in_6_12_and_of_reads_in_6_1() {
    for (linux, order) in [(Linux::V6_1, [100, 700, 300]), (Linux::V6_12, [300, 700, 100])] {
        let mut lab = lab(linux, |_| {});
        lab.writes([700, 300]);
        lab.reads([100]);
        assert_eq!(lab.serve(9), order, "{linux:?}");
    }
}

#[test]
fn a_first_batch_begins_with_the_eldest_in_6_1_and_at_sector_0_in_6_12() {
    for (linux, order) in [(Linux::V6_1, [500, 700, 900, 100, 300]), (Linux::V6_12, [100, 300, 500, 700, 900])] {
        let mut lab = lab(linux, |_| {});
        lab.reads([500, 100, 900, 300, 700]);
        assert_eq!(lab.serve(9), order, "{linux:?}");
    }
}

#[test]
fn what_comes_behind_the_last_request_follows_it_in_6_12_and_not_in_6_1() {
    for (linux, order) in [(Linux::V6_1, [100, 900]), (Linux::V6_12, [900, 100])] {
        let mut lab = lab(linux, |params| params.fifo_batch = 1);
        lab.reads([500]);
        assert_eq!(lab.serve(9), [500]);
        lab.reads([100, 900]);
        assert_eq!(lab.serve(9), order, "{linux:?}: nothing followed 500 when it was sent");
    }
}

#[test]
fn reads_go_first_until_writes_have_been_passed_over_writes_starved_times() {
    for linux in BOTH {
        let mut lab = lab(linux, |params| (params.fifo_batch, params.writes_starved) = (2, 2));
        lab.reads([10]);
        assert_eq!(lab.serve(1), [10], "the batch is one of reads");
        lab.reads([100, 200, 300, 400, 500, 600, 700]);
        lab.writes([1_000, 1_100, 1_200, 1_300]);
        let order = match linux {
            // Nothing followed 10, so the batch is over: 100 and 200 begin one, which passes writes over.
            Linux::V6_1 => [100, 200, 300, 400, 1_000, 1_100, 500, 600, 700, 1_200, 1_300],
            // 100 ends the batch of 10; 200 and 300, 400 and 500 pass writes over.
            _ => [100, 200, 300, 400, 500, 1_000, 1_100, 600, 700, 1_200, 1_300],
        };
        assert_eq!(lab.serve(99), order, "{linux:?}");
    }
}

#[test]
fn a_request_whose_tick_has_come_begins_the_next_batch() {
    for linux in BOTH {
        let mut lab = lab(linux, |params| (params.fifo_batch, params.read_expire_ns) = (2, 10 * MS));
        lab.now = 3 * MS;
        lab.reads([300]);
        assert_eq!(lab.serve(1), [300]);
        lab.reads([400, 100, 500, 600, 700]);
        // Queued in tick 0 and 10 ms are three ticks of 4 ms: due in tick 3.
        lab.now = 12 * MS - 1;
        let first = match linux {
            Linux::V6_1 => vec![400, 500],
            _ => vec![400],
        };
        assert_eq!(lab.serve(first.len()), first, "{linux:?}");
        lab.now = 12 * MS;
        let rest = match linux {
            Linux::V6_1 => vec![100, 600, 700],
            _ => vec![100, 500, 600, 700],
        };
        assert_eq!(lab.serve(9), rest, "{linux:?}");
        assert_eq!(lab.layer.stats().expired, 0, "no tick has passed");
    }
}

#[test]
fn a_class_waits_until_those_above_have_completed_everything() {
    for linux in BOTH {
        let mut lab = lab(linux, |_| {});
        read(&mut lab, IDLE, 100);
        read(&mut lab, 0, 200);
        read(&mut lab, BE, 300);
        read(&mut lab, RT, 400);
        assert_eq!(lab.start_one(), 400);
        assert_eq!(lab.start(), Decision::NotBefore(4 * MS), "3 ms are a tick of 4 ms");
        lab.now = 5 * MS;
        assert_eq!(lab.start(), Decision::NotBefore(8 * MS));
        lab.finish(400);
        assert_eq!([lab.start_one(), lab.start_one()], [200, 300], "no class is best effort, whatever the level");
        assert_eq!(lab.start(), Decision::NotBefore(8 * MS));
        lab.finish(200);
        lab.finish(300);
        assert_eq!(lab.start_one(), 100);
        assert_eq!(lab.start(), Decision::Idle);
    }
}

#[test]
fn a_request_that_has_waited_for_prio_aging_expire_goes_before_higher_classes() {
    for linux in BOTH {
        let mut lab = lab(linux, |params| params.prio_aging_expire_ns = 40 * MS);
        read(&mut lab, IDLE, 100);
        read(&mut lab, IDLE, 200);
        read(&mut lab, RT, 300);
        read(&mut lab, RT, 500);
        lab.now = 40 * MS - 1;
        assert_eq!(lab.start_one(), 300);
        lab.now = 40 * MS;
        assert_eq!([lab.start_one(), lab.start_one()], [100, 200], "{linux:?}: ten ticks");
        assert_eq!(lab.start_one(), 500);
        assert_eq!(lab.counts(), [2]);
    }
}

#[test]
fn a_choice_that_aging_forbids_has_counted_the_writes_as_passed_over() {
    for linux in BOTH {
        let mut lab = lab(linux, |params| (params.fifo_batch, params.writes_starved) = (1, 1));
        read(&mut lab, RT, 10);
        assert_eq!(lab.serve(1), [10], "the batch is one of reads, and over");
        assert_eq!(lab.submit(Op::Write, 0, BE, 1_000, 8), Admission::Queued);
        read(&mut lab, BE, 100);
        read(&mut lab, RT, 500);
        assert_eq!(lab.start_one(), 500, "the read 100 was chosen before and forbidden");
        lab.finish(500);
        assert_eq!(lab.start_one(), 1_000, "{linux:?}: writes have been passed over once");
    }
}

#[test]
fn reads_and_writes_share_nr_requests_and_writes_may_have_async_depth_of_them() {
    let mut lab = Lab::of_blk_mq(
        MqDeadline::new,
        |params: &mut MqDeadlineParams| params.async_depth = OrName::Number(100),
        |host: &mut HostParams| host.merging = false,
    );
    lab.writes((0..100).map(|n| n * 100));
    assert_eq!(lab.submit(Op::Write, 0, Request::SYNC, 50_000, 8), Admission::Full, "whoever waits for it");
    lab.reads((0..28).map(|n| n * 100));
    assert_eq!(lab.submit(Op::Read, 0, 0, 50_000, 8), Admission::Full);
}
