//! Targets from outside, and workloads that share one, by Flashloom's public names alone.

use std::collections::BTreeMap;
use std::path::Path;

use flashloom::device::{
    HostReport, Interest, Misuse, Observer, Queues, Served, Simulation, Submitted, Target, Tenant,
};
use flashloom::run::log::Log;
use flashloom::units::{Ns, Prng};
use flashloom::workload::{
    LOG_COLUMNS, Op, Pace, Replayed, Request, Source, TraceOptions, read_trace,
};
use flashloom_example_policies::raid0::Raid0;
use flashloom_example_policies::stripe::Stripe;
use flashloom_example_policies::tenants::{drive, drive_with_room, reads_beside_a_log};

#[test]
fn two_workloads_on_one_drive_have_a_latency_each() {
    let (_, [alone, nothing]) = reads_beside_a_log(0).expect("it runs");
    let (all, [reads, log]) = reads_beside_a_log(400).expect("it runs");
    assert_eq!(
        (reads.completed_of(Op::Read), log.completed_of(Op::Write)),
        (4_000, 400)
    );
    assert_eq!((nothing.generated, log.completed_of(Op::Read)), (0, 0));
    assert_eq!(
        reads.latency_sum_ns() + log.latency_sum_ns(),
        all.latency_sum_ns()
    );
    let mean = |report: &HostReport| report.latency().mean();
    assert!(
        mean(&log) > 4.0 * mean(&reads),
        "a program takes longer than a read"
    );
    assert!(
        mean(&reads) > 1.05 * mean(&alone),
        "reads wait for the programs of the log"
    );
}

fn array(drives: u64, chunk_sectors: u64) -> Raid0<flashloom::device::Engine> {
    let engines = (0..drives).map(|_| drive().expect("the defaults go together"));
    let queues = Queues::new(engines.collect());
    over(queues, drives, chunk_sectors)
}

fn over<T: Target>(queues: Queues<T>, drives: u64, chunk_sectors: u64) -> Raid0<T> {
    Raid0 {
        queues,
        stripe: Stripe {
            drives,
            chunk_sectors,
        },
        held: BTreeMap::new(),
        waiting: Vec::new(),
    }
}

/// Reads and writes of up to four chunks of 64 KiB, in a closed loop.
fn requests(capacity_sectors: u64) -> Vec<Request> {
    let mut prng = Prng::new(7);
    let mut next = |_| {
        let op = if prng.chance(0.7) {
            Op::Read
        } else {
            Op::Write
        };
        let sectors = 16 + prng.below(512 - 16);
        Request::new(op, prng.below(capacity_sectors - sectors), sectors as u32)
    };
    (0..2_000).map(&mut next).collect()
}

#[derive(Default)]
struct Kept(Vec<Served>);

impl Observer for Kept {
    fn interest(&self) -> Interest {
        Interest {
            served: true,
            ..Interest::default()
        }
    }

    fn served(&mut self, served: &Served) {
        self.0.push(*served);
    }
}

/// The report, the log and the duration of the same requests on an array.
fn logged(drives: u64) -> (HostReport, String, Vec<Served>) {
    let requests = requests(array(1, 128).capacity_sectors());
    let mut log = Log::new(Vec::new());
    let mut kept = Kept::default();
    let mut arrivals = Replayed::new(&requests[..], Pace::Closed(16));
    let mut tenants = [Tenant::new(&mut arrivals)];
    let mut simulation = Simulation::new(array(drives, 128));
    simulation
        .run_together(&mut tenants, Ns::MAX, &mut [&mut log, &mut kept])
        .expect("it runs");
    let report = tenants[0].report().clone();
    for engine in simulation.target().engines() {
        engine.check().expect("everything adds up on each drive");
    }
    let text = String::from_utf8(log.finish().expect("memory takes it")).expect("CSV is text");
    (report, text, kept.0)
}

#[test]
fn the_log_of_an_array_reads_as_any() {
    let (report, text, served) = logged(4);
    assert_eq!(
        text.lines().next().expect("a header"),
        LOG_COLUMNS.join(",")
    );
    let options = TraceOptions {
        sort: true,
        ..TraceOptions::default()
    };
    let mut trace =
        read_trace("log.csv", text.into_bytes().into(), &options).expect("it is a trace");
    let mut read: Vec<Request> =
        std::iter::from_fn(|| trace.next_request().expect("sound")).collect();
    assert_eq!(read.len() as u64, report.total_completed());
    let what = |request: &Request| (request.op, request.lba, request.sectors);
    let mut offered: Vec<_> = requests(array(1, 128).capacity_sectors())
        .iter()
        .map(what)
        .collect();
    offered.sort_unstable();
    read.sort_unstable_by_key(what);
    assert_eq!(read.iter().map(what).collect::<Vec<_>>(), offered);
    let latency = |request: &Request| u128::from(request.recorded_latency_ns);
    assert_eq!(
        read.iter().map(latency).sum::<u128>(),
        report.latency_sum_ns()
    );
    assert!(
        served
            .iter()
            .all(|served| served.parts.total() == served.latency_ns())
    );
}

#[test]
fn four_drives_serve_more_than_one_and_every_sector_lies_where_it_should() {
    let [one, four] = [1, 4].map(|drives| logged(drives).0.duration_ns);
    assert!(four * 2 < one, "{four} ns with four drives, {one} with one");
    let mut array = array(4, 128);
    // From the last sector of the first chunk to the first of the sixth.
    let write = Request::new(Op::Write, 127, 1 + 4 * 128 + 1);
    assert_eq!(array.submit(0, &write, 9), Ok(Submitted::Accepted));
    while array.take_completion().is_none() {
        let next_ns = array.next_event_ns().expect("four parts are under way");
        array.advance_to(next_ns).expect("in order");
    }
    let written = |engine: &flashloom::device::Engine| engine.host_report().write_bytes / 512;
    let sectors: Vec<u64> = array.engines().into_iter().map(written).collect();
    assert_eq!(sectors, [1 + 128, 1 + 128, 128, 128]);
}

#[test]
fn a_request_beyond_the_array_is_refused_and_nothing_of_it_reaches_a_drive() {
    let mut array = array(4, 128);
    let capacity_sectors = array.capacity_sectors();
    for (lba, sectors) in [
        (capacity_sectors, 1),
        (capacity_sectors - 255, 256),
        (u64::MAX, 8),
    ] {
        let write = Request::new(Op::Write, lba, sectors);
        let beyond = Misuse::BeyondEnd {
            lba,
            sectors,
            capacity_sectors,
        };
        assert_eq!(array.submit(0, &write, 0), Err(beyond));
    }
    let nothing = Request::new(Op::Read, 0, 0);
    let refused = Err(Misuse::NoSectors(Op::Read));
    assert_eq!(array.submit(0, &nothing, 0), refused);
    let reports = array.engines();
    assert!(
        reports
            .iter()
            .all(|engine| engine.host_report().generated == 0)
    );
    let last = Request::new(Op::Write, capacity_sectors - 256, 256);
    assert_eq!(array.submit(0, &last, 0), Ok(Submitted::Accepted));
    assert_eq!(
        array.submit(0, &Request::flush(), 1),
        Ok(Submitted::Accepted)
    );
    array.advance_to(10_000_000_000).expect("in order");
    let mut ended: Vec<u32> = std::iter::from_fn(|| array.take_completion())
        .map(|completion| completion.cookie)
        .collect();
    ended.sort_unstable();
    assert_eq!(ended, [0, 1]);
}

/// Advances an array until a request has come back, and returns its cookie.
fn next_of<T: Target>(array: &mut Raid0<T>) -> u32 {
    loop {
        if let Some(completion) = array.take_completion() {
            return completion.cookie;
        }
        let next_ns = array.next_event_ns().expect("a part is under way");
        array.advance_to(next_ns).expect("in order");
    }
}

#[test]
fn a_write_with_preflush_flushes_every_drive() {
    let mut array = array(4, 128);
    // To the second drive only.
    let write = Request::new(Op::Write, 128, 16);
    for (cookie, request) in [write, write.with_flags(Request::PREFLUSH)]
        .iter()
        .enumerate()
    {
        let now = array.now_ns();
        let taken = array.submit(now, request, cookie as u32);
        assert_eq!(taken, Ok(Submitted::Accepted));
        assert_eq!(next_of(&mut array), cookie as u32);
    }
    let reports = array.engines();
    let flushes = reports
        .iter()
        .map(|engine| engine.host_report().completed_of(Op::Flush));
    assert_eq!(flushes.collect::<Vec<_>>(), [1, 0, 1, 1]);
    let preflushed = reports[1].host_report();
    assert_eq!(preflushed.completed_of(Op::Write), 2);
    assert_eq!(preflushed.preflush_latency.count(), 1);
}

#[test]
fn parts_wait_for_drives_that_have_no_room() {
    // Drives that take so many requests at a time, under sixteen of up to four chunks.
    let run = |room| {
        let engines = (0..3).map(|_| drive_with_room(room).expect("the defaults go together"));
        let array = over(Queues::new(engines.collect()), 3, 128);
        let requests = requests(array.capacity_sectors() / 3);
        let mut arrivals = Replayed::new(&requests[..], Pace::Closed(16));
        let mut tenants = [Tenant::new(&mut arrivals)];
        let mut simulation = Simulation::new(array);
        simulation
            .run_together(&mut tenants, Ns::MAX, &mut [])
            .expect("it runs");
        for engine in simulation.target().engines() {
            engine.check().expect("everything adds up on each drive");
        }
        let report = tenants[0].report();
        assert_eq!(report.total_completed(), 2_000);
        report.duration_ns
    };
    assert!(run(2) > run(32), "fewer requests at a time");
    // However coarsely time is advanced: the parts of the second request wait for those of the first.
    let ended = [false, true].map(|at_once| {
        let one = (0..3).map(|_| drive_with_room(1).expect("as above"));
        let mut array = over(Queues::new(one.collect()), 3, 128);
        for (cookie, lba) in [(0, 0), (1, 100)] {
            let write = Request::new(Op::Write, lba, 300);
            let taken = array.submit(0, &write, cookie);
            assert_eq!(taken, Ok(Submitted::Accepted));
        }
        assert_eq!(array.waiting.len(), 3);
        let third = array.submit(0, &Request::new(Op::Read, 0, 8), 2);
        assert_eq!(third, Ok(Submitted::Full));
        let mut ended = Vec::new();
        while ended.len() < 2 {
            let next_ns = array.next_event_ns().expect("parts are under way");
            let to_ns = if at_once { 1_000_000_000 } else { next_ns };
            array.advance_to(to_ns).expect("in order");
            let completions = std::iter::from_fn(|| array.take_completion());
            ended.extend(completions.map(|completion| (completion.cookie, completion.time_ns)));
        }
        ended
    });
    assert_eq!(ended[0], ended[1]);
    assert!(ended[0][0].1 < ended[0][1].1, "one after the other");
}

#[test]
fn an_array_that_is_restored_goes_on_as_it_was() {
    let (mut saved, mut restored) = (array(2, 128), array(2, 128));
    let mut requests = requests(saved.capacity_sectors());
    requests.truncate(20);
    for (cookie, request) in (0..).zip(&requests) {
        assert_eq!(saved.submit(0, request, cookie), Ok(Submitted::Accepted));
    }
    saved.advance_to(400_000).expect("in order");
    restored
        .restore(&saved.snapshot().expect("it can be saved"))
        .expect("it fits");
    let ended = [saved, restored].map(|mut array| {
        array.advance_to(10_000_000_000).expect("in order");
        std::iter::from_fn(|| array.take_completion()).collect::<Vec<_>>()
    });
    assert_eq!((ended[0].len(), &ended[0]), (20, &ended[1]));
}

#[test]
fn the_examples_are_short() {
    for (name, most) in [("tenants.rs", 60), ("raid0.rs", 80)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
        let lines = std::fs::read_to_string(path)
            .expect("it is there")
            .lines()
            .count();
        assert!(lines < most, "{name}: {lines} lines");
    }
}
