//! Software and hardware queues: the rules of docs/linux-schedulers.md by hand-made cases, and conservation under
//! random operations.

use flashloom_units::{MS, Ns, OrName};
use flashloom_workload::{Op, Request};
use proptest::prelude::*;

use crate::lab::Lab;
use crate::{Admission, Decision, HostParams, Linux};

const BLK_MQ: [&str; 3] = ["none", "mq-deadline", "kyber"];

fn two_queues(queue_depth: u32) -> HostParams {
    HostParams { processors: 2, hardware_queues: 2, queue_depth, ..Lab::blk_mq_host() }
}

#[test]
fn each_hardware_queue_has_its_own_tags_of_scheduler_and_device() {
    let mut lab = Lab::named("none", &two_queues(2));
    lab.reads_of(0, [100, 200]);
    assert_eq!(lab.submit(Op::Read, 2, 0, 300, 8), Admission::Full, "task 2 runs on processor 0");
    lab.reads_of(1, [400, 500]);
    assert_eq!(lab.submit(Op::Read, 1, 0, 600, 8), Admission::Full);
    assert_eq!(lab.start_all(), [100, 200, 400, 500]);
    lab.finish(400);
    assert_eq!(lab.submit(Op::Read, 0, 0, 300, 8), Admission::Full, "the tag is the other queue's");
    lab.reads_of(1, [600]);
    for name in ["mq-deadline", "kyber"] {
        let mut lab = Lab::named(name, &HostParams { nr_requests: OrName::Number(3), ..two_queues(1) });
        lab.reads_of(0, [100, 300, 400]);
        assert_eq!(lab.submit(Op::Read, 0, 0, 500, 8), Admission::Full, "{name}");
        lab.reads_of(1, [200, 600, 700]);
        assert_eq!(lab.start_all(), [100, 200], "{name}: the device has a tag of each");
    }
}

#[test]
fn processors_are_mapped_to_hardware_queues_as_the_version_of_linux_maps_them() {
    for (linux, of_queue_0) in [(Linux::V6_1, [0, 2]), (Linux::V6_12, [0, 1])] {
        let mut lab = Lab::named("none", &HostParams { processors: 4, queue_depth: 1, linux, ..two_queues(1) });
        lab.reads_of(of_queue_0[0], [100]);
        assert_eq!(lab.submit(Op::Read, of_queue_0[1], 0, 200, 8), Admission::Full, "{linux:?}");
        lab.reads_of(3, [300]);
    }
}

#[test]
fn mq_deadline_has_one_order_and_what_finds_no_tag_waits_at_its_queue_and_stops_that() {
    let mut lab = Lab::named("mq-deadline", &two_queues(1));
    lab.reads_of(0, [100, 300, 500]);
    lab.reads_of(1, [200]);
    // Of queue 0: 100 goes; 200 with the tag of queue 1; 300 finds none and ends the run of queue 0, which it waits at.
    // Queue 1 is run next, is given 500, which finds none either.
    assert_eq!(lab.start_all(), [100, 200]);
    assert_eq!(lab.submit(Op::Read, 0, 0, 308, 8), Admission::Queued, "300 has left the scheduler and merges no more");
    lab.finish(100);
    assert_eq!(lab.start_all(), [300], "before 308, though both wait for the tag");
    lab.finish(200);
    lab.finish(300);
    assert_eq!(lab.start_all(), [500], "it was taken before 308 was queued");
    lab.finish(500);
    assert_eq!(lab.start_all(), [308]);
}

#[test]
fn requests_of_a_full_hardware_queue_stand_before_others_of_mq_deadline_and_not_of_kyber() {
    for (name, sent) in [("mq-deadline", vec![100]), ("kyber", vec![100, 400])] {
        let mut lab = Lab::named(name, &two_queues(1));
        // Queue 0 keeps 200. Queue 1 is given 300, which finds no tag either, and mq-deadline gives it no other.
        lab.reads_of(0, [100, 200, 300]);
        lab.reads_of(1, [400]);
        assert_eq!(lab.start_all(), sent, "{name}");
    }
}

#[test]
fn a_run_goes_on_if_all_that_another_queue_was_given_went() {
    let three = HostParams { processors: 3, hardware_queues: 3, ..two_queues(1) };
    let mut lab = Lab::named("mq-deadline", &three);
    lab.reads_of(0, [100, 600]);
    lab.reads_of(1, [200, 300]);
    lab.reads_of(2, [400, 500]);
    // Queue 0 is given 100, 200, and 300 that finds no tag. As all of its own went, it is given 400, and 500 that finds
    // none: all that it was given since is of one queue, of which something is left.
    assert_eq!(lab.start_all(), [100, 200, 400]);
    // Nobody waits for the tag of queue 0, so that its completion runs nothing; queue 1 is given 600, which it sends.
    lab.finish(100);
    assert!(lab.start_all().is_empty());
    lab.finish(200);
    assert_eq!(lab.start_all(), [300, 600]);
}

#[test]
fn a_queue_that_found_no_tag_of_late_is_given_one_request_at_a_time() {
    for (is_busy, second) in [(true, 750), (false, 800)] {
        let mut lab = Lab::named("mq-deadline", &two_queues(1));
        lab.reads_of(0, if is_busy { vec![100, 200] } else { vec![100] });
        assert_eq!(lab.start_all(), [100]);
        lab.finish(100);
        if is_busy {
            assert_eq!(lab.start_all(), [200]);
            lab.finish(200);
        }
        lab.reads_of(0, [500]);
        lab.reads_of(1, [600, 700, 800]);
        // A busy queue is given 500 alone, then 600 and 700; 700 finds no tag, and the run ends before 800 is given.
        // A queue that is not busy is given all three requests at once, so that 800 follows 700.
        assert_eq!(lab.start_all(), [500, 600]);
        lab.reads_of(1, [750]);
        for (first, next) in [(600, 700), (700, second)] {
            assert!(lab.start_all().is_empty());
            lab.finish(first);
            assert_eq!(lab.start_all(), [next]);
        }
    }
}

#[test]
fn a_request_that_the_device_returns_runs_its_queue_though_no_tag_was_waited_for() {
    for name in ["mq-deadline", "kyber"] {
        let mut lab = Lab::named(name, &two_queues(1));
        lab.reads_of(0, [100]);
        assert_eq!(lab.start_all(), [100]);
        let (_, id) = lab.held.remove(0);
        lab.layer.requeue(0, id);
        assert_eq!(lab.start_all(), [100], "{name}");
    }
}

#[test]
fn runs_can_be_followed_one_by_one() {
    let mut lab = Lab::named("mq-deadline", &two_queues(1));
    lab.reads_of(0, [100, 300]);
    lab.reads_of(1, [200]);
    let mut run = |queue, asks| lab.layer.run_queue(0, queue, asks).map(|sent| sent.lba);
    assert_eq!(run(1, false), None, "nothing was given to it before");
    assert_eq!(run(1, true), Some(100), "the first of all");
    assert_eq!(run(1, true), Some(200));
    assert_eq!(run(1, true), None, "300 finds no tag, and the run goes on, as queue 1 has all of its own");
    assert!(lab.layer.is_run(1) && !lab.layer.is_run(0));
    assert_eq!((lab.layer.queued(), lab.layer.with_scheduler()), (1, 0));
}

#[test]
fn mq_deadline_merges_requests_of_different_hardware_queues_and_kyber_those_of_one_processor() {
    let mut lab = Lab::named("mq-deadline", &two_queues(4));
    lab.reads_of(0, [100]);
    assert_eq!(lab.submit(Op::Read, 1, 0, 108, 8), Admission::Merged);
    assert_eq!(lab.start_all(), [100]);
    lab.finish(100);
    let one_queue = HostParams { processors: 2, ..Lab::blk_mq_host() };
    for params in [two_queues(4), one_queue] {
        let mut lab = Lab::named("kyber", &params);
        lab.reads_of(0, [100]);
        assert_eq!(
            lab.submit(Op::Read, 1, 0, 108, 8),
            Admission::Queued,
            "processor 1 has a software queue of its own"
        );
        assert_eq!(lab.submit(Op::Read, 2, 0, 108, 8), Admission::Merged, "task 2 runs on processor 0");
    }
}

#[test]
fn kyber_moves_the_software_queues_of_a_hardware_queue_in_the_order_of_its_processors() {
    let host = |linux| HostParams { processors: 4, linux, ..two_queues(31) };
    for (linux, order) in
        [(Linux::V6_12, [40, 80, 10, 50, 20, 60, 30, 70]), (Linux::V6_1, [40, 80, 20, 60, 10, 50, 30, 70])]
    {
        let mut lab = Lab::named("kyber", &host(linux));
        // Of processors 1, 2, 3, 0, and again.
        (1..=8).for_each(|n| lab.reads_of(n, [1_000 * u64::from(n)]));
        assert_eq!(lab.start_all(), order.map(|lba| lba * 100), "{linux:?}");
    }
}

#[test]
fn kyber_has_a_batch_for_each_hardware_queue_and_one_set_of_tokens_for_the_device() {
    let mut lab = Lab::named("kyber", &HostParams { nr_requests: OrName::Number(1_024), ..two_queues(1_024) });
    for task in [0, 1] {
        lab.reads_of(task, (0..20).map(|n| 10_000 + n * 100));
        for lba in (0..10).map(|n| 20_000 + n * 100) {
            assert_eq!(lab.submit(Op::Write, task, Request::SYNC, lba, 8), Admission::Queued);
        }
    }
    let domains: Vec<u64> = lab.start_all().iter().map(|lba| lba / 10_000).collect();
    let of_one = [vec![1; 16], vec![2; 8], vec![1; 4], vec![2; 2]].concat();
    assert_eq!(domains, [of_one.clone(), of_one].concat());

    let mut lab = Lab::named("kyber", &HostParams { nr_requests: OrName::Number(1_024), ..two_queues(1_024) });
    lab.reads_of(0, (0..200).map(|n| n * 100));
    lab.reads_of(1, (200..400).map(|n| n * 100));
    assert_eq!(lab.start_all().len(), 256, "the tokens of reads");
    lab.finish(0);
    assert_eq!(lab.start_all(), [25_600], "queue 1 has the token that queue 0 gave back: it waits for one, and is run");
}

#[test]
fn a_flush_goes_with_its_hardware_queue_and_before_all_others() {
    let mut lab = Lab::named("mq-deadline", &two_queues(1));
    lab.reads_of(0, [100]);
    assert_eq!(lab.start_all(), [100]);
    let flush = |task| Request::new(Op::Flush, 0, 0).of_task(task);
    assert_eq!(lab.layer.submit(0, &flush(0), 0), Admission::Queued);
    assert_eq!(lab.start_all(), [0u64; 0], "the device has no room for it");
    lab.reads_of(1, [200]);
    assert_eq!(lab.layer.submit(0, &flush(1), 0), Admission::Queued);
    assert_eq!(lab.start_all(), [0], "that of queue 1, before the read");
    lab.finish(100);
    assert_eq!(lab.start_all(), [0]);
}

#[derive(Clone, Debug)]
enum Step {
    Submit { op: Op, task: u32, lba: u64 },
    Send,
    Complete { which: usize },
    Pass { ns: Ns },
}

fn step() -> impl Strategy<Value = Step> {
    let op = prop::sample::select(vec![Op::Read, Op::Write, Op::Discard, Op::Flush]);
    prop_oneof![
        8 => (op, 0..9u32, 0..40u64).prop_map(|(op, task, lba)| Step::Submit { op, task, lba: lba * 8 }),
        3 => Just(Step::Send),
        4 => any::<usize>().prop_map(|which| Step::Complete { which }),
        1 => (0..9 * MS).prop_map(|ns| Step::Pass { ns }),
    ]
}

/// Runs random steps on a host, and then serves what is left. Nothing may be lost, or wait for ever.
fn conserves(name: &str, params: &HostParams, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut lab = Lab::named(name, params);
    let (mut queued, mut done) = (0, 0);
    let complete = |lab: &mut Lab, which: usize| {
        let (_, id) = lab.held.swap_remove(which);
        let mut members = 0;
        lab.layer.complete(lab.now, id, |_| members += 1);
        members
    };
    for (cookie, step) in steps.iter().enumerate() {
        match *step {
            Step::Submit { op, task, lba } => {
                let sectors = if op == Op::Flush { 0 } else { 8 };
                let lba = if op == Op::Flush { 0 } else { lba };
                let request = Request::new(op, lba, sectors).arriving_at(lab.now).of_task(task);
                queued += u64::from(lab.layer.submit(lab.now, &request, cookie as u32) != Admission::Full);
                while let Some(sent) = lab.layer.dispatch_unplugged(lab.now) {
                    lab.held.push((sent.lba, sent.id));
                }
            }
            Step::Send => drop(lab.start_all()),
            Step::Complete { .. } if lab.held.is_empty() => {}
            Step::Complete { which } => {
                let which = which % lab.held.len();
                done += complete(&mut lab, which);
            }
            Step::Pass { ns } => lab.now += ns,
        }
        prop_assert!(lab.layer.check().is_ok(), "step {cookie}: {:?}", lab.layer.check());
    }
    while done < queued {
        lab.start_all();
        if lab.held.is_empty() {
            let Decision::NotBefore(at) = lab.layer.dispatch(lab.now) else {
                return Err(TestCaseError::fail(format!("{} of {queued} requests are left", queued - done)));
            };
            prop_assert!(at > lab.now);
            lab.now = at;
        } else {
            done += complete(&mut lab, 0);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_request_is_lost_between_scheduler_and_device(
        steps in prop::collection::vec(step(), 1..200),
        (processors, share) in (1..7u32, 0..7u32),
        (queue_depth, nr_requests) in (1..4u32, 1..9u32),
        (is_new, plug) in any::<(bool, bool)>(),
    ) {
        let linux = if is_new { Linux::V6_12 } else { Linux::V6_1 };
        let hardware_queues = 1 + share % processors;
        let defaults = Lab::blk_mq_host();
        let nr_requests = OrName::Number(nr_requests);
        let params = HostParams { processors, hardware_queues, queue_depth, nr_requests, linux, plug, ..defaults };
        for name in BLK_MQ {
            conserves(name, &params, &steps)?;
        }
    }
}
