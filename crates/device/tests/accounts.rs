//! The figures of an outcome: which requests count in which distribution, and what a sample contains.

use crate::support::{Kept, Run, buffered, pages, plain_device, plain_nand, replayed, request, unbuffered};
use flashloom_device::{Sample, Simulation};
use flashloom_units::{MS, Ns};
use flashloom_workload::{Op, Pace, Request};

/// A write with these flags.
fn write(arrival_ns: Ns, lpn: u64, flags: u8) -> Request {
    request(arrival_ns, Op::Write, 8 * lpn, 8).with_flags(flags)
}

/// Each request arrives long after the one before it has ended.
#[test]
fn what_a_write_asks_besides_has_a_distribution_of_its_own() {
    let run = Run::new(buffered(plain_device(), 64, "page-lru", "linear-threshold"));
    let host = run
        .run([
            write(0, 1, 0),
            write(20 * MS, 2, Request::FUA),
            write(40 * MS, 3, Request::PREFLUSH),
            write(60 * MS, 4, Request::FUA | Request::PREFLUSH),
            request(80 * MS, Op::Flush, 0, 0),
            request(100 * MS, Op::Discard, 0, 64),
            request(120 * MS, Op::Read, 800, 8),
        ])
        .host;
    let counts = [&host.read_latency, &host.write_latency, &host.flush_latency, &host.discard_latency];
    assert_eq!(counts.map(|latency| latency.count()), [1, 4, 1, 1]);
    assert_eq!((host.fua_latency.count(), host.preflush_latency.count(), host.latency().count()), (2, 2, 7));
    let program_ns = plain_nand().program_ns;
    assert!(host.write_latency.min() < program_ns, "a plain write ends in the buffer");
    assert!(host.fua_latency.min() > program_ns, "a durable one waits for its program");
    assert!(host.preflush_latency.min() < host.preflush_latency.max(), "the one that is durable too waits twice");
}

/// A request of four pages, the first of which was discarded, on a drive of which only some pages were written.
#[test]
fn sectors_that_nothing_is_stored_for_are_counted() {
    let run = Run { fill: false, ..Run::new(unbuffered(plain_device())) };
    let mut requests = pages(Op::Write, 0, 0..2);
    requests.push(request(20 * MS, Op::Discard, 0, 8));
    requests.push(request(40 * MS, Op::Read, 4, 28));
    let outcome = run.run(requests);
    assert_eq!(outcome.unmapped_read_sectors, 4 + 8 + 8);
    assert_eq!(outcome.counts.reads[0], 1, "the page that is stored");
}

/// The samples of a run of requests.
fn sampled(pace: Pace, mut simulation: Simulation, interval_ns: Ns, requests: Vec<Request>) -> Vec<Sample> {
    let mut kept = Kept::default();
    simulation.run(&mut replayed(requests, pace), interval_ns, &mut [&mut kept]).unwrap();
    simulation.check().unwrap();
    kept.samples
}

/// Two writes at once to one die in the second interval of three, nothing in the others.
#[test]
fn a_sample_says_what_the_requests_of_its_interval_waited_for() {
    let device = plain_device();
    let dies = u64::from(device.nand.channels * device.nand.ways);
    let run = Run::new(unbuffered(device.clone()));
    let requests = [write(15 * MS, 0, 0), write(15 * MS, dies, 0), write(25 * MS, 1, 0)];
    let samples = sampled(run.pace, Simulation::new(run.started()), 10 * MS, requests.into());
    let longest = |sample: &Sample| sample.latency.map(|latency| latency.max_ns);
    assert_eq!(samples.iter().map(|sample| sample.completed).collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!((longest(&samples[0]), samples[1].programs[0], samples[1].host_page_writes), (None, 2, 2));
    let [slow, fast] = [&samples[1], &samples[2]].map(|sample| sample.latency.unwrap());
    assert!(slow.p50_ns < slow.max_ns && slow.p99_ns == slow.max_ns, "{slow:?}");
    assert!(slow.max_ns > fast.max_ns, "the longest of an interval is not that of the one before");
    assert!(fast.max_ns > device.nand.program_ns && fast.p50_ns == fast.max_ns, "{fast:?}");
}

/// In counting mode all requests arrive and end at time zero, so intervals are counted in pages. A request of sixteen
/// pages fills several of them at once.
#[test]
fn samples_come_after_every_so_many_pages_where_nothing_takes_time() {
    let run = Run { timed: false, pace: Pace::Closed(1), ..Run::new(unbuffered(plain_device())) };
    let large = vec![request(0, Op::Write, 0, 16 * 8)];
    let requests = [pages(Op::Write, 0, 0..25), large, pages(Op::Write, 0, 0..3)].concat();
    let simulation = Simulation::new(run.started()).with_samples_by_pages(10);
    let samples = sampled(run.pace, simulation, MS, requests);
    assert_eq!(samples.iter().map(|sample| sample.host_page_writes).collect::<Vec<_>>(), [10, 20, 41, 44]);
    assert!(samples.iter().all(|sample| !sample.is_timed && sample.latency.is_none()));
}
