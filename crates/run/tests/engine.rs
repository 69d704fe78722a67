//! Engines that are driven by hand give the same results as runs.

use std::collections::VecDeque;

use crate::support::{CLOSED, prepared, single};
use flashloom_device::{Completion, Engine, Status, Submitted};
use flashloom_run::Quiet;
use flashloom_workload::{Event, Op, Request};

const OUTSTANDING: u64 = 16;

/// Submits requests as long as fewer than `most` are outstanding, or, without such a limit, as the engine accepts them,
/// until all have completed and the drive is idle.
fn drive(engine: &mut Engine, mut requests: VecDeque<Request>, most: u64, mut cookie: u32) -> Vec<Completion> {
    let mut completions = Vec::new();
    loop {
        let now = engine.now_ns();
        while engine.outstanding() < most
            && let Some(request) = requests.front().map(|request| request.arriving_at(now))
        {
            let submitted = engine.submit(now, &request, cookie).expect("sound");
            if submitted != Submitted::Accepted {
                assert_eq!(most, u64::MAX, "{submitted:?} with {} outstanding", engine.outstanding());
                break;
            }
            requests.pop_front();
            cookie += 1;
        }
        match engine.next_event_ns() {
            Some(next_ns) if !engine.is_idle() || !requests.is_empty() => {
                engine.advance_to(next_ns).expect("events are in order");
            }
            _ => return completions,
        }
        completions.extend(engine.completions());
    }
}

/// A run by its workload and the same requests by hand: both results as JSON, without cost and origin.
fn both_ways(sets: &[&str], verify: bool) -> [String; 2] {
    let prepared = prepared(single(CLOSED, sets));
    let mut requests = VecDeque::new();
    let mut keep = |request: &Request| requests.push_back(*request);
    prepared.requests(Event::Queue, &Quiet, &mut keep).expect("it runs");
    let mut by_itself = prepared.run(verify, &Quiet, &mut []).expect("it runs").result;
    (by_itself.run, by_itself.provenance) = (None, None);
    let config = &prepared.experiment().variants[0].config;
    let mut engine = prepared.engine(0, verify).expect("it ages");
    drive(&mut engine, requests, OUTSTANDING, 0);
    let by_hand = flashloom_run::result(config, &engine).expect("everything adds up");
    [by_itself, by_hand].map(|result| serde_json::to_string_pretty(&result).expect("numbers and names"))
}

#[test]
fn an_engine_driven_by_hand_gives_the_result_of_the_run_to_the_byte() {
    for sets in [
        &[][..],
        &["host.scheduler=anticipatory"],
        &["host.scheduler=cfq", "ftl.idle_delay=0ns", "ftl.background_threshold=8"],
        &["buffer.capacity=0B", "host.queue_depth=4", "ftl.mapping=dftl"],
        &["run.timing=counting"],
        &["run.precondition=none", "device.controller_time=0ns"],
    ] {
        let [by_itself, by_hand] = both_ways(sets, true);
        assert!(by_itself.contains("\"requests\": 6000"), "{by_itself}");
        assert_eq!(by_itself, by_hand, "{sets:?}");
    }
}

#[test]
fn an_engine_driven_by_hand_gives_the_result_of_a_run_beyond_the_end_of_life_too() {
    let sets = ["device.program_failures=0.004", "run.end_of_life=read-only", "workload.requests=5000"];
    let [by_itself, by_hand] = both_ways(&sets, true);
    assert!(by_itself.contains("\"read_only\":"), "{by_itself}");
    assert_eq!(by_itself, by_hand);
}

#[test]
fn a_drive_alone_takes_as_many_commands_as_it_holds() {
    let mut engine = prepared(single(CLOSED, &["host.queue_depth=4"])).bare_engine(0, true).expect("it ages");
    let request = |lba| Request::new(Op::Write, lba, 16).with_flags(Request::FUA);
    let answers = (0..5).map(|cookie| engine.submit(0, &request(16 * u64::from(cookie)), cookie).expect("sound"));
    let answers: Vec<Submitted> = answers.collect();
    assert_eq!(answers[..4], [Submitted::Accepted; 4]);
    assert_eq!(answers[4], Submitted::Full);
    let requests = (0..400).map(|at| request(16 * (at * 37 % 800))).collect();
    let completions = drive(&mut engine, requests, u64::MAX, 100);
    assert_eq!(completions.len(), 404);
    assert!(completions.iter().all(|completion| completion.status == Status::DONE));
    assert!(completions.is_sorted_by_key(|completion| completion.time_ns));
    engine.check().expect("everything adds up");
}
