//! fio job files against a device that takes a fixed time per request: issuer and time of each request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashloom_units::{Ns, Prng, Problems};
use flashloom_workload::{Arrivals, FioJobFile, FioJobs, Op, Request};
use proptest::prelude::*;

const CAPACITY: u64 = 64 << 20;
const SERVICE_NS: Ns = 10_000;

fn start(job: &str) -> FioJobs {
    let started = FioJobFile::parse("job.fio", job.as_bytes()).and_then(|file| {
        file.check(CAPACITY, true)?;
        file.start(CAPACITY, &Prng::new(1))
    });
    started.unwrap_or_else(|problems| panic!("{problems}"))
}

/// Runs the jobs, or their first `limit` requests; every request takes the same time.
fn run(jobs: &mut FioJobs, limit: usize) -> Vec<Request> {
    let (mut now, mut requests) = (0, Vec::new());
    let mut completions = BinaryHeap::new();
    while requests.len() < limit {
        let arrival = jobs.next_ns(now).expect("there is no input to go wrong").map(|at| at.max(now));
        let completion = completions.peek().map(|&Reverse((at, _))| at);
        match (arrival, completion) {
            (None, None) => {
                assert!(jobs.is_over(), "nothing moves any more");
                break;
            }
            (Some(at), done) if done.is_none_or(|done| at < done) => {
                now = at;
                let (request, cookie) = jobs.take(now);
                assert_eq!(request.arrival_ns, now);
                completions.push(Reverse((now + SERVICE_NS, cookie)));
                requests.push(request);
            }
            _ => {
                let Reverse((at, cookie)) = completions.pop().expect("a completion is due");
                now = at;
                jobs.completed(now, cookie);
            }
        }
    }
    requests
}

fn issue(job: &str) -> Vec<Request> {
    run(&mut start(job), 100_000)
}

fn times(requests: &[Request]) -> Vec<Ns> {
    requests.iter().map(|request| request.arrival_ns / 1_000).collect()
}

fn sectors(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|request| request.lba).collect()
}

#[test]
fn a_synchronous_job_waits_for_each_request() {
    let requests = issue("[a]\nrw=write\nsize=16k\niodepth=8");
    assert_eq!(times(&requests), [0, 10, 20, 30]);
    assert_eq!(sectors(&requests), [0, 8, 16, 24]);
    assert!(requests.iter().all(|request| request.op == Op::Write && request.has(Request::SYNC)));
}

#[test]
fn an_asynchronous_job_keeps_its_depth_outstanding() {
    assert_eq!(times(&issue("[a]\nrw=read\nsize=20k\nioengine=libaio\niodepth=2")), [0, 0, 10, 10, 20]);
}

#[test]
fn a_stonewall_waits_for_the_jobs_above_it_and_every_file_has_its_extent() {
    let requests = issue("[a]\nrw=read\nsize=8k\nnumjobs=2\n[b]\nstonewall\nrw=read\nsize=4k\nstartdelay=5us");
    assert_eq!(times(&requests), [0, 0, 10, 10, 25]);
    assert_eq!(sectors(&requests), [0, 2_048, 8, 2_056, 4_096], "extents begin at whole MiB");
    assert_eq!(requests.iter().map(|request| request.task).collect::<Vec<_>>(), [1, 2, 1, 2, 3]);
}

#[test]
fn offsets_in_a_device_are_those_of_the_device_and_grow_by_clone() {
    let requests = issue("[a]\nfilename=/dev/sdx\noffset=1m\noffset_increment=1m\nnumjobs=2\nrw=read\nsize=4k");
    assert_eq!(sectors(&requests), [2_048, 4_096]);
}

#[test]
fn think_time_begins_when_everything_has_completed() {
    let requests = issue("[a]\nrw=read\nsize=16k\nthinktime=7\nthinktime_blocks=2\nioengine=libaio\niodepth=4");
    assert_eq!(times(&requests), [0, 0, 17, 17]);
}

#[test]
fn a_rate_spaces_requests_and_the_runtime_ends_them() {
    assert_eq!(times(&issue("[a]\nrw=read\nsize=1m\nrate_iops=10000\nruntime=350us")), [0, 100, 200, 300]);
    assert_eq!(times(&issue("[a]\nrw=read\nsize=12k\nrate=40960000")), [0, 100, 200]);
    assert_eq!(issue("[a]\nrw=read\nsize=8k\ntime_based\nruntime=55us").len(), 6, "from the beginning again and again");
}

#[test]
fn a_job_that_goes_on_beyond_simulated_time_is_a_problem_and_one_that_ends_by_time_is_none() {
    let late = |job: &str| {
        let mut jobs = start(job);
        let mut now = 0;
        loop {
            match jobs.next_ns(now) {
                Ok(Some(at)) => {
                    now = now.max(at);
                    let (_, cookie) = jobs.take(now);
                    now += SERVICE_NS;
                    jobs.completed(now, cookie);
                }
                Ok(None) => return None,
                Err(problem) => return Some(problem.to_string()),
            }
        }
    };
    // 36 years each.
    for job in ["rw=read\nsize=32k\nthinktime=13343d", "rw=write\nsize=64m\nbs=16m\nrate=1\nloops=80"] {
        let problem = late(&format!("[long]\n{job}\n")).expect("it goes on for more than 146 years");
        assert!(problem.contains("job `long` is due more than 146 years"), "{problem}");
        assert_eq!(late(&format!("[long]\n{job}\nruntime=13343d\n")), None);
    }
    let delayed = "[a]\nrw=read\nsize=4k\nstartdelay=13343d\n".to_owned();
    let after: String = (0..4).map(|at| format!("[{at}]\nstonewall\nrw=read\nsize=4k\nstartdelay=13343d\n")).collect();
    assert!(late(&(delayed.clone() + &after)).is_some());
    assert_eq!(late(&delayed), None);
}

#[test]
fn the_last_option_above_a_job_or_in_it_counts_and_their_number_is_limited() {
    let jobs = "[global]\nsize=4k\nbs=4k\n[a]\nrw=read\n[global]\nbs=2k\nbs=1k\n[b]\nbs=2k\nrw=read\n[c]\nrw=read\n";
    let mut sizes: Vec<u32> = issue(jobs).iter().map(|request| request.sectors).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [2, 2, 2, 2, 4, 4, 8]);
    let many = "[global]\n".to_owned() + &"bs=4k\n".repeat(64 * 4_096) + "[a]\nsize=4k\nrw=read\n";
    let refused = FioJobFile::parse("job.fio", many.as_bytes()).map(|_| ()).expect_err("one job has many options");
    assert!(refused.to_string().contains("one option more"), "{refused}");
}

#[test]
fn a_flush_is_waited_for_and_comes_after_so_many_writes() {
    let ops: Vec<Op> =
        issue("[a]\nrw=write\nsize=16k\nfsync=2\nend_fsync=1").iter().map(|request| request.op).collect();
    assert_eq!(ops, [Op::Write, Op::Write, Op::Flush, Op::Write, Op::Write, Op::Flush]);
}

/// Requests in short: operation and block of 4 KiB, or F for a flush.
fn in_short(jobs: &str) -> String {
    let short = |request: &Request| match request.op {
        Op::Read => format!("r{}", request.lba / 8),
        Op::Write => format!("w{}", request.lba / 8),
        Op::Discard => format!("t{}", request.lba / 8),
        Op::Flush => "F".to_owned(),
    };
    issue(jobs).iter().map(short).collect::<Vec<_>>().join(" ")
}

/// What fio 3.33 wrote with `write_iolog` for the same jobs.
#[test]
fn loops_limits_holes_backwards_and_flushes_at_the_end_are_those_of_fio() {
    for (options, of_fio) in [
        // The limit is that of all loops together.
        ("rw=read\nsize=16k\nloops=3\nnumber_ios=2", "r0 r1 r2 r3 r0 r1"),
        ("rw=read\nsize=16k\nloops=2\nnumber_ios=6", "r0 r1 r2 r3 r0 r1 r2 r3"),
        ("rw=write\nsize=64k\nloops=3\nnumber_ios=2", "w0 w1 w2 w3 w4 w5"),
        ("rw=read\nsize=16k\nio_size=64k\nnumber_ios=6", "r0 r1 r2 r3 r0 r1"),
        // Backwards beyond the start a hole wraps to the end.
        ("rw=write:-8k\nsize=32k\nio_size=32k", "w0 w6 w5 w4 w3 w2 w1 w0"),
        ("rw=write:-12k\nsize=32k\nio_size=32k", "w0 w5 w3 w1 w5 w3 w1 w5"),
        ("rw=read:-64k\nsize=32k\nio_size=16k", "r0 r0 r0 r0"),
        // A flush ends every loop of a job that can write.
        ("rw=write\nsize=16k\nloops=2\nend_fsync=1", "w0 w1 w2 w3 F w0 w1 w2 w3 F"),
        ("rw=read\nsize=16k\nend_fsync=1", "r0 r1 r2 r3"),
        ("rw=rw\nrwmixread=100\nsize=16k\nend_fsync=1", "r0 r1 r2 r3 F"),
        ("rw=write\nsize=64k\nnumber_ios=2\nend_fsync=1", "w0 w1 F"),
    ] {
        assert_eq!(in_short(&format!("[a]\nbs=4k\n{options}")), of_fio, "{options}");
    }
}

#[test]
fn every_block_is_discarded_before_it_is_written() {
    for kind in ["trimwrite", "randtrimwrite"] {
        let requests = issue(&format!("[a]\nrw={kind}\nsize=64k"));
        assert_eq!(requests.len(), 32);
        for pair in requests.chunks(2) {
            assert_eq!((pair[0].op, pair[1].op, pair[0].lba), (Op::Discard, Op::Write, pair[1].lba));
        }
    }
}

#[test]
fn a_random_job_does_every_block_once_a_loop_and_repeats_its_loops() {
    let first = sectors(&issue("[a]\nrw=randread\nsize=256k"));
    let mut sorted = first.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..64).map(|block| block * 8).collect::<Vec<_>>());
    assert_ne!(first, sorted);
    let twice = sectors(&issue("[a]\nrw=randread\nsize=256k\nloops=2"));
    assert_eq!((&twice[..64], &twice[64..]), (&first[..], &first[..]));
    let other = sectors(&issue("[a]\nrw=randread\nsize=256k\nloops=2\nrandrepeat=0"));
    assert_ne!(other[..64], other[64..]);
    assert_ne!(sectors(&issue("[a]\nrw=randread\nsize=256k\nrandseed=7")), first);
}

#[test]
fn an_iolog_is_replayed_at_its_times_or_as_fast_as_it_goes() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let log =
        "fio version 3 iolog\n0 f add\n0 f open\n0 f read 4096 4096\n40 f write 8192 4096\n40 f sync 0 0\n60 f close\n";
    std::fs::write(folder.path().join("v3.log"), log).expect("a file of the test can be written");
    let log = "fio version 2 iolog\nf add\nf open\nf read 4096 4096\nf wait 40\nf trim 8192 4096\nf close\n";
    std::fs::write(folder.path().join("v2.log"), log).expect("a file of the test can be written");
    let replay = |options: &str| {
        let path = folder.path().join("job.fio");
        std::fs::write(&path, format!("[a]\n{options}\n")).expect("a file of the test can be written");
        let file = FioJobFile::read(&path.to_string_lossy()).unwrap_or_else(|problems| panic!("{problems}"));
        file.check(CAPACITY, true).unwrap_or_else(|problems| panic!("{problems}"));
        let requests = run(&mut file.start(CAPACITY, &Prng::new(1)).expect("it was checked"), 100);
        requests.iter().map(|request| (request.arrival_ns / 1_000, request.op, request.lba)).collect::<Vec<_>>()
    };
    let recorded = [(0, Op::Read, 8), (40, Op::Write, 16), (50, Op::Flush, 0)];
    assert_eq!(replay("read_iolog=v3.log"), recorded);
    assert_eq!(replay("read_iolog=v3.log\nreplay_time_scale=50")[1], (80, Op::Write, 16));
    assert_eq!(replay("read_iolog=v3.log\nreplay_no_stall=1")[1], (10, Op::Write, 16));
    assert_eq!(replay("read_iolog=v2.log"), [(0, Op::Read, 8), (40, Op::Discard, 16)]);
    // Of several clones, which have the requests in memory, each does what one does alone.
    let thrice = replay("read_iolog=v3.log\nnumjobs=3");
    let each = recorded.iter().flat_map(|request| [request; 3]);
    assert_eq!(thrice.iter().collect::<Vec<_>>(), each.collect::<Vec<_>>());
}

/// Asserts that every problem shows its place, and none is empty.
fn shown(problems: &Problems) {
    assert!(!problems.0.is_empty());
    for problem in &problems.0 {
        assert!(problem.to_string().starts_with("error: ") && !problem.refusal.found.is_empty(), "{problem:?}");
    }
}

fn exhaust(bytes: &[u8], capacity: u64) {
    let file = match FioJobFile::parse("job.fio", bytes) {
        Ok(file) => file,
        Err(problems) => return shown(&problems),
    };
    match file.check(capacity, true) {
        Err(problems) => shown(&problems),
        Ok(()) => {
            let mut jobs = file.start(capacity, &Prng::new(3)).expect("it was checked");
            for request in run(&mut jobs, 500) {
                assert!(request.end() * 512 <= capacity, "{request:?} in {}", String::from_utf8_lossy(bytes));
                assert_eq!(request.sectors == 0, request.op == Op::Flush, "{request:?}");
            }
        }
    }
}

/// A job file line with a known option and a value that may be wrong.
fn line() -> impl Strategy<Value = String> {
    let directions = "(read|write|trim|rw|randread|randwrite|randtrim|randrw|trimwrite|randtrimwrite)(:[1-9]k?)?";
    let sizes = "[0-9]{1,3}[kmgi%]?";
    let law = "(zipf:[0-2]\\.[0-9]|pareto:0\\.[0-9]|normal:[0-9]{1,2}|random|zoned:60/10:40/[0-9]{1,2})(:0\\.[0-9])?";
    prop_oneof![
        4 => directions.prop_map(|value| format!("rw={value}")),
        4 => ("(size|bs|ba|offset|io_size|offset_increment|iodepth|number_ios|loops|fsync|rate|rate_iops)", sizes)
            .prop_map(|(name, value)| format!("{name}={value}")),
        2 => ("(bs|ba|bssplit|bsrange)", "(4k|8k|512|12k)([-/:,](4k|8k|50|64k)){0,3}")
            .prop_map(|(name, value)| format!("{name}={value}")),
        1 => law.prop_map(|value| format!("random_distribution={value}")),
        1 => "(runtime|thinktime|startdelay)=[0-9]{1,3}(us|ms)".prop_map(String::from),
        1 => "(time_based|norandommap|stonewall|end_fsync|group_reporting)(=[01])?".prop_map(String::from),
        1 => "(numjobs=[1-4]|ioengine=(libaio|psync)|filename=(f|/dev/sda)|percentage_random=[0-9]{1,3})"
            .prop_map(String::from),
        1 => "\\[(global|a|b)\\]".prop_map(String::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        exhaust(&bytes, CAPACITY);
    }

    #[test]
    fn any_options_are_refused_or_stay_within_the_device(
        lines in proptest::collection::vec(line(), 1..9), capacity in (1u64 << 11)..1 << 22,
    ) {
        let job = format!("[a]\nrw=randrw\nsize=64k\n{}\n", lines.join("\n"));
        exhaust(job.as_bytes(), capacity / 512 * 512);
    }
}
