//! Whole personalities against a device that serves one request after another.

use super::*;
use flashloom_units::{MIB, MS, ParamSet, US};

const CAPACITY: u64 = 4 << 21;

fn params(personality: Personality) -> FilebenchParams {
    FilebenchParams { personality, runtime_ns: 400 * MS, cache_bytes: 64 * MIB, ..FilebenchParams::defaults() }
}

/// Runs to the end on a device that takes `service_ns` per request; returns the requests and the maximum outstanding.
fn run(filebench: &mut Filebench, service_ns: Ns) -> (Vec<Request>, usize) {
    let (mut now, mut busy_until) = (0, 0);
    let mut out: VecDeque<(Ns, u32)> = VecDeque::new();
    let (mut requests, mut most) = (Vec::new(), 0);
    loop {
        let arrival = filebench.next_ns(now).expect("there is room").map(|at| at.max(now));
        let completion = out.front().map(|&(at, _)| at);
        let Some(next) = [arrival, completion].into_iter().flatten().min() else { break };
        now = next;
        if completion == Some(now) {
            let (_, cookie) = out.pop_front().expect("it is there");
            filebench.completed(now, cookie);
            continue;
        }
        while filebench.next_ns(now).expect("there is room") == Some(now) && !filebench.out.is_empty() {
            let (request, cookie) = filebench.take(now);
            busy_until = now.max(busy_until) + service_ns;
            out.push_back((busy_until, cookie));
            requests.push(request);
            most = most.max(out.len());
        }
    }
    (requests, most)
}

fn filebench(params: &FilebenchParams) -> Filebench {
    Filebench::new(params, CAPACITY, None, &Prng::new(3)).expect("valid parameters")
}

#[test]
fn no_more_is_outstanding_than_a_request_a_thread_and_what_the_background_may() {
    for &choice in Personality::CHOICES {
        let personality = Personality::named(choice.name).expect("it is a choice");
        let mut filebench = filebench(&params(personality));
        let (requests, most) = run(&mut filebench, 50 * US);
        let bound = filebench.threads.len() + 2 * BACKGROUND_DEPTH as usize;
        assert!(most > 1 && most <= bound, "{most} outstanding with {bound} allowed");
        assert!(requests.len() > 500 && filebench.is_over(), "{} requests", requests.len());
        assert!(requests.iter().all(|request| request.end() <= CAPACITY && request.task > 0));
        assert!(requests.windows(2).all(|pair| pair[0].arrival_ns <= pair[1].arrival_ns));
    }
}

#[test]
fn the_same_seed_gives_the_same_requests() {
    for personality in [Personality::Varmail, Personality::Oltp] {
        let once = || run(&mut filebench(&params(personality)), 70 * US).0;
        assert_eq!(once(), once());
    }
}

#[test]
fn an_fsync_ends_after_its_data_and_the_commit_block() {
    let lone = FilebenchParams { threads: Some(1), operations: Some(4), ..params(Personality::Varmail) };
    let mut filebench = filebench(&lone);
    let (requests, _) = run(&mut filebench, 100 * US);
    let kinds: Vec<(Op, u32, u8)> = requests.iter().map(|request| (request.op, request.task, request.flags)).collect();
    let commit = Request::SYNC | Request::PREFLUSH | Request::FUA;
    let data = kinds.iter().position(|&(op, task, _)| op == Op::Write && task == 1).expect("the file is written");
    let last = kinds.last().expect("there are requests");
    assert_eq!(*last, (Op::Write, 3, commit), "the journal is the second task after the threads");
    assert!(kinds[data + 1..kinds.len() - 1].iter().all(|&(op, task, flags)| (op, task, flags) == (Op::Write, 3, 1)));
    let fsync = filebench.report.flows.iter().find(|flow| flow.name == "fsyncfile2").expect("it is reported");
    let after_data = (kinds.len() - data) as u64;
    assert_eq!((fsync.latency.count(), fsync.latency.max()), (1, after_data * 100 * US));
}

#[test]
fn every_flow_operation_is_counted_by_its_name() {
    let mut filebench = filebench(&FilebenchParams { operations: Some(2_200), ..params(Personality::Fileserver) });
    run(&mut filebench, 20 * US);
    let report = filebench.report;
    assert_eq!(report.operations, 2_200);
    assert_eq!(report.flows.iter().map(|flow| flow.latency.count()).sum::<u64>(), 2_200);
    assert_eq!(report.flows.len(), 11);
}

#[test]
fn what_does_not_fit_names_its_key() {
    let key = |change: fn(&mut FilebenchParams)| {
        let mut params = params(Personality::Fileserver);
        change(&mut params);
        Filebench::new(&params, CAPACITY, None, &Prng::new(1)).err().map(|refusal| refusal.keys.join(", "))
    };
    for (change, name) in [
        ((|p| p.files = Some(1 << 20)) as fn(&mut FilebenchParams), "files"),
        (|p| p.file_bytes = Some(MIB << 10), "file_size"),
        (|p| p.size_bytes = Some(1 << 40), "file_system_size"),
        (|p| p.background_share = 0.5, "dirty_background_ratio"),
    ] {
        assert_eq!(key(change), Some(format!("workload.filebench.{name}")));
    }
}

#[test]
fn a_file_system_that_fills_up_ends_the_run_with_a_problem() {
    let mut tiny = params(Personality::Webserver);
    (tiny.size_bytes, tiny.append_bytes, tiny.runtime_ns) = (Some(128 * MIB), 64 * MIB, 100_000 * MS);
    let mut filebench = filebench(&tiny);
    let (mut now, mut cookies) = (0, Vec::new());
    let problem = loop {
        match filebench.next_ns(now) {
            Err(problem) => break problem,
            Ok(Some(at)) if at <= now => cookies.push(filebench.take(now).1),
            Ok(at) => {
                now = at.unwrap_or(now + MS).min(now + MS);
                cookies.drain(..).for_each(|cookie| filebench.completed(now, cookie));
            }
        }
    };
    assert_eq!(problem.file, "workload.filebench.file_system_size");
}

#[test]
fn operations_a_second_are_at_most_processors_over_processor_time() {
    // On a device that answers at once, 50 threads with 100 us an operation make 20,000 operations a second on two
    // processors, to the last operation that each had begun.
    let few = FilebenchParams { processors: Some(2), cpu_ns: 100 * US, ..params(Personality::Fileserver) };
    let operations = |params: &FilebenchParams| {
        let mut filebench = filebench(params);
        run(&mut filebench, 1);
        let report = filebench.report;
        assert!(report.cpu_ns <= report.duration_ns * u64::from(params.processors.unwrap_or(50)) + 50 * 100 * US);
        (report.operations as f64, report.duration_ns as f64 / 1e9)
    };
    let (made, seconds) = operations(&few);
    assert!(made <= 20_000.0 * seconds + 50.0, "{made} operations in {seconds} s");
    assert!(made > 0.95 * 20_000.0 * seconds, "{made} operations in {seconds} s: the processors were not busy");
    let (unlimited, _) = operations(&FilebenchParams { processors: None, ..few });
    assert!(unlimited > 10.0 * made, "{unlimited} operations with a processor for every thread");
}

#[test]
fn as_many_processors_as_threads_are_no_limit() {
    let once =
        |processors| run(&mut filebench(&FilebenchParams { processors, ..params(Personality::Fileserver) }), US).0;
    assert_eq!(once(None), once(Some(50)));
}

#[test]
fn a_packed_set_lies_at_the_start_of_the_drive_and_a_spread_one_everywhere() {
    let parts = |layout| {
        let mut filebench =
            filebench(&FilebenchParams { layout, files: Some(1_000), ..params(Personality::Webserver) });
        let reads = run(&mut filebench, 50 * US).0.into_iter().filter(|request| request.op == Op::Read);
        let mut parts = [0; 16];
        reads.for_each(|read| parts[(read.lba * 16 / CAPACITY) as usize] += 1);
        parts
    };
    let (packed, spread) = (parts(layout::Layout::Packed), parts(layout::Layout::Spread));
    let share =
        |parts: [u32; 16]| f64::from(*parts.iter().max().expect("parts")) / f64::from(parts.iter().sum::<u32>());
    assert!(share(packed) > 0.5, "{packed:?}");
    assert!(spread.iter().all(|&reads| reads > 0) && share(spread) < 0.1, "{spread:?}");
}
