//! fio job files against a device that takes a fixed time per request: issuer and time of each request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashloom_units::{Ns, Prng, Problem, Problems};
use flashloom_workload::{Addresses, Arrivals, FioDrive, FioJobFile, FioJobs, Op, Priority, PriorityClass, Request};
use proptest::prelude::*;

use crate::support::Folder;

const CAPACITY: u64 = 64 << 20;
const SERVICE_NS: Ns = 10_000;

fn drive() -> FioDrive {
    FioDrive::of_bytes(CAPACITY)
}

/// A job file that fits on the drive.
fn checked(job: &str) -> Result<FioJobFile, Problems> {
    let file = FioJobFile::parse("job.fio", job.as_bytes())?;
    file.check(&drive()).map(|()| file)
}

fn start(job: &str) -> FioJobs {
    let started = checked(job).and_then(|file| file.start(&drive(), &Prng::new(1)));
    started.unwrap_or_else(|problems| panic!("{problems}"))
}

/// Runs the jobs, or their first `limit` requests; every request takes the same time.
fn run(jobs: &mut FioJobs, limit: usize) -> Vec<Request> {
    try_run(jobs, limit).expect("there is no input to go wrong")
}

fn try_run(jobs: &mut FioJobs, limit: usize) -> Result<Vec<Request>, Problem> {
    let (mut now, mut requests) = (0, Vec::new());
    let mut completions = BinaryHeap::new();
    while requests.len() < limit {
        let arrival = jobs.next_ns(now)?.map(|at| at.max(now));
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
    Ok(requests)
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

/// The blocks of 4 KiB that the requests of a job begin at.
fn blocks(job: &str) -> Vec<u64> {
    issue(job).iter().map(|request| request.lba / 8).collect()
}

#[test]
fn requests_are_issued_at_the_times_that_depth_think_time_and_rate_allow() {
    for (options, expected, why) in [
        ("rw=write\nsize=16k\niodepth=8", &[0, 10, 20, 30][..], "a synchronous job waits for each request"),
        ("rw=read\nsize=20k\nioengine=libaio\niodepth=2", &[0, 0, 10, 10, 20], "an asynchronous one keeps its depth"),
        (
            "rw=read\nsize=12k\nloops=2\nioengine=libaio\niodepth=2",
            &[0, 0, 10, 20, 20, 30],
            "a loop waits for the requests of the one before, as in fio",
        ),
        (
            "rw=read\nsize=16k\nthinktime=7\nthinktime_blocks=2\nioengine=libaio\niodepth=4",
            &[0, 0, 17, 17],
            "think time begins when everything has completed",
        ),
        ("rw=read\nsize=1m\nrate_iops=10000\nruntime=350us", &[0, 100, 200, 300], "until the runtime is over"),
        ("rw=read\nsize=12k\nrate=40960000", &[0, 100, 200], "4 KiB in 100 us"),
        ("rw=read\nsize=8k\ntime_based\nruntime=55us", &[0, 10, 20, 30, 40, 50], "from the beginning again and again"),
    ] {
        assert_eq!(times(&issue(&format!("[a]\n{options}"))), expected, "{options}: {why}");
    }
    let writes = issue("[a]\nrw=write\nsize=16k");
    assert_eq!(sectors(&writes), [0, 8, 16, 24]);
    assert!(writes.iter().all(|request| request.op == Op::Write && request.has(Request::SYNC)));
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
fn a_job_that_goes_on_beyond_simulated_time_is_a_problem_and_one_that_ends_by_time_is_none() {
    let late = |job: &str| try_run(&mut start(job), 100_000).err().map(|problem| problem.to_string());
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
    assert!(refusal(&many).contains("one option more"));
}

#[test]
fn a_flush_is_waited_for_and_comes_after_so_many_writes() {
    assert_eq!(in_short("[a]\nrw=write\nsize=16k\nfsync=2\nend_fsync=1"), "w0 w1 F w2 w3 F");
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
        ("rw=rw\nrwmixread=100\nsize=16k\nloops=2\nend_fsync=1", "r0 r1 r2 r3 F r0 r1 r2 r3 F"),
        ("rw=write\nsize=64k\nnumber_ios=2\nend_fsync=1", "w0 w1 F"),
        // A flush that is due begins the next loop too; one that ended a loop is not repeated at the end.
        ("rw=write\nsize=16k\nloops=2\nend_fsync=1\nfsync=2", "w0 w1 F w2 w3 F F w0 w1 F w2 w3 F"),
        ("rw=write\nsize=16k\nloops=2\nfsync=4", "w0 w1 w2 w3 F F w0 w1 w2 w3"),
        ("rw=write\nsize=16k\nio_size=18k\nfsync=4\nend_fsync=1", "w0 w1 w2 w3 F"),
        // Bytes are counted over all loops together, and a loop ends with the file.
        ("rw=read\nsize=16k\nio_size=8k\nloops=2", "r0 r1 r2 r3"),
        ("rw=read\nsize=16k\nio_size=50k\nloops=2", "r0 r1 r2 r3 r0 r1 r2 r3 r0 r1 r2 r3"),
        ("rw=read\nsize=16k\nio_size=16k\nloops=2", "r0 r1 r2 r3 r0 r1 r2 r3"),
        ("rw=read\nsize=16k\nio_size=24k\nioengine=libaio", "r0 r1 r2 r3 r0 r1"),
        ("rw=read\nsize=16k\nio_size=8k\nloops=2\nioengine=libaio", "r0 r1 r2 r3"),
        ("rw=read\nsize=16k\nio_size=50%", "r0 r1"),
        ("rw=read\nsize=16k\nio_size=50%\nloops=2", "r0 r1 r2 r3"),
        ("rw=write\nsize=16k\nio_size=8k\nloops=2\nend_fsync=1", "w0 w1 w2 w3 F F"),
        // `number_ios` counts pairs, and twice as many in each loop after the first.
        ("rw=trimwrite\nsize=64k\nnumber_ios=2", "t0 w0 t1 w1"),
        ("rw=trimwrite\nsize=16k\nnumber_ios=1\nloops=2", "t0 w0 t1 w1 t0 w0 t1 w1"),
        // A hole wraps at the end of the file, and not at that of the job's part of a device.
        ("rw=write:4k\nsize=32k", "w0 w2 w4 w6 w0 w2 w4 w6"),
        ("rw=write:4k\nsize=32k\nfilename=/dev/x", "w0 w2 w4 w6"),
        ("rw=write:8k\noffset=16k\nsize=32k\nio_size=64k", "w4 w7 w10 w4 w7 w10 w4 w7 w10 w4 w7 w10 w4 w7 w10 w4"),
        ("rw=write:8k\noffset=16k\nsize=32k\nfilename=/dev/x", "w4 w7 w10"),
        ("rw=write:-8k\noffset=16k\nsize=32k\nfilename=/dev/x", "w6 w5 w4 w10 w9 w8 w7 w6"),
        ("rw=write:-8k\noffset=64k\nsize=32k", "w22 w21 w20 w19 w18 w17 w16 w22"),
        ("rw=read\nsize=10k", "r0 r1"),
        ("rw=read\nsize=10k\nfilename=/dev/x", "r0 r1 r2"),
    ] {
        assert_eq!(in_short(&format!("[a]\nbs=4k\n{options}")), of_fio, "{options}");
    }
}

/// What fio 3.33 did on a file or device of 64 MiB, counted or in sectors.
#[test]
fn parts_of_a_device_begin_and_end_as_in_fio() {
    let of_device = |options: &str| issue(&format!("[a]\nbs=4k\nrw=read\nfilename=/dev/x\n{options}\n"));
    assert_eq!(of_device("rw=write:4k\nsize=1m").len(), 128);
    let offsets = |options: &str| sectors(&of_device(&format!("{options}\nnumber_ios=1")));
    assert_eq!(offsets("offset_increment=33%\nsize=25%\nnumjobs=2"), [0, 22_147_072 / 512]);
    assert_eq!(offsets("bs=64k,4k\noffset=33%"), [22_147_072 / 512]);
    let shares = of_device("bs=64k\nsize=33%");
    assert_eq!((shares.len(), shares[336].lba * 512), (337, 21_504 << 10));
    let clones = offsets("size=64k\noffset_increment=1m\nnumjobs=4");
    assert_eq!(clones, [0, 3 * 2_048, 2 * 2_048, 2_048], "after the first clone, all others from the last");
}

/// Of a file that grows, the size is that when a job is laid out: holes wrapped in fio 3.33 as here.
#[test]
fn a_shared_file_is_as_long_as_the_jobs_so_far_have_made_it() {
    let job = |name: &str, size: &str| format!("[{name}]\nstonewall\nsize={size}\n");
    let blocks = |jobs: &[String]| {
        let all = issue(&format!("[global]\nfilename=q\nrw=write:4k\nbs=4k\n{}", jobs.concat()));
        all.iter().map(|request| (request.task, request.lba / 8)).collect::<Vec<_>>()
    };
    let first = blocks(&[job("z", "16k"), job("y", "32k")]);
    assert_eq!(first[..4], [(1, 0), (1, 2), (1, 0), (1, 2)]);
    let after = blocks(&[job("x", "16k"), job("y", "32k"), job("z", "16k")]);
    assert_eq!(after.iter().filter(|(task, _)| *task == 3).collect::<Vec<_>>(), [&(3, 0), &(3, 2)]);
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
    let seeded = sectors(&issue("[a]\nrw=randread\nsize=256k\nloops=2\nrandseed=7"));
    assert_ne!(seeded[..64], first);
    assert_ne!(seeded[..64], seeded[64..], "a seed ends `randrepeat`, as in fio");
}

#[test]
fn requests_in_a_row_come_before_the_first_random_position_as_in_fio() {
    let blocks = |options: &str| blocks(&format!("[a]\nbs=4k\nrw=randread:4\nsize=64k\n{options}\n"));
    let rows = blocks("norandommap");
    assert_eq!((rows.len(), &rows[..3]), (16, &[0, 1, 2][..]));
    let same = blocks("rw_sequencer=identical");
    assert!(same[..3] == [0, 0, 0] && same[3..15].chunks(4).all(|row| row.iter().all(|at| *at == row[0])), "{same:?}");
}

#[test]
fn another_alignment_turns_the_random_map_off_and_its_blocks_are_whole() {
    let blocks = |options: &str| blocks(&format!("[a]\nbs=4k\nrw=randread\n{options}\n"));
    let aligned = blocks("size=64k\nba=8k");
    let distinct: std::collections::BTreeSet<_> = aligned.iter().collect();
    assert!(aligned.len() == 16 && distinct.len() < 9 && aligned.iter().all(|at| at % 2 == 0), "{aligned:?}");
    assert_eq!(blocks("size=68k\nba=64k"), [0; 17], "as fio 3.33 read");
    assert!(blocks("size=64k\nbs=8k\nba=4k").iter().all(|at| *at < 15));
    for job in ["rw=randrw\nbs=4k,8k", "rw=randread\nbs=8k,4k", "rw=randread\nrandom_distribution=zipf\nba=8k"] {
        assert!(refusal(&format!("[a]\nsize=1m\n{job}\n")).contains("before it has accessed all"), "{job}");
    }
    assert!(!issue("[a]\nsize=64k\nrw=randrw\nbs=4k,8k\nnorandommap\n").is_empty());
}

/// Of 9,610 requests, fio 3.33 gave 3,824 to 4 KiB, 3,809 to 8 KiB and 1,977 to 10 KiB; of 4k-16k, each a quarter.
#[test]
fn sizes_of_a_range_have_the_shares_of_fio() {
    let share = |range: &str, bytes: u32| {
        let all = issue(&format!("[a]\nrw=randwrite\nnorandommap\nsize=32m\nbsrange={range}\n"));
        all.iter().filter(|request| request.sectors * 512 == bytes).count() as f64 / all.len() as f64
    };
    let near = |share: f64, expected: f64| (share - expected).abs() < 0.02;
    assert!(near(share("4k-10k", 4_096), 0.4) && near(share("4k-10k", 8_192), 0.4));
    assert!(near(share("4k-10k", 10_240), 0.2) && near(share("4k-16k", 16_384), 0.25));
}

#[test]
fn an_iolog_is_replayed_at_its_times_or_as_fast_as_it_goes() {
    let logs = [
        (
            "v3.log",
            "fio version 3 iolog\n0 f add\n0 f open\n5 f read 4096 4096\n45 f write 8192 4096\n45 f sync 0 0\n\
             65 f close\n",
        ),
        ("v2.log", "fio version 2 iolog\nf add\nf open\nf read 4096 4096\nf wait 40 0\nf trim 8192 4096\nf close\n"),
    ];
    let replay =
        |options: &str| replay(&logs, &format!("[a]\n{options}\n"), None).unwrap_or_else(|said| panic!("{said}"));
    let recorded = [(0, Op::Read, 8), (40, Op::Write, 16), (50, Op::Flush, 0)];
    assert_eq!(replay("read_iolog=v3.log"), recorded);
    assert_eq!(replay("read_iolog=v3.log\nreplay_time_scale=50")[1], (80, Op::Write, 16));
    assert_eq!(replay("read_iolog=v3.log\nreplay_no_stall=1")[1], (10, Op::Write, 16));
    assert_eq!(replay("read_iolog=v2.log"), [(0, Op::Read, 8), (40_000, Op::Discard, 16)]);
    // Of several clones, which have the requests in memory, each does what one does alone.
    let thrice = replay("read_iolog=v3.log\nnumjobs=3");
    let each = recorded.iter().flat_map(|request| [request; 3]);
    assert_eq!(thrice.iter().collect::<Vec<_>>(), each.collect::<Vec<_>>());
}

/// The priorities of the requests of a job.
fn priorities(options: &str) -> Vec<Priority> {
    issue(&format!("[a]\nsize=1m\n{options}\n")).iter().map(Request::priority).collect()
}

#[test]
fn a_job_has_the_priority_of_its_process() {
    use PriorityClass::{BestEffort, Idle, None, RealTime};
    let all = |options: &str, class, level| {
        let found = priorities(options);
        assert!(found.iter().all(|one| *one == Priority::new(class, level)) && found.len() > 100, "{options}");
    };
    all("rw=randread", None, 0);
    all("rw=randread\nprioclass=1\nprio=2", RealTime, 2);
    all("rw=write\nprioclass=3\nprio=7", Idle, 7);
    all("rw=write\nprio=5", BestEffort, 5);
    all("rw=write\nprioclass=0", BestEffort, 0);
    assert!(refusal("[a]\nsize=1m\nprio=8\n").contains("from 0 to 7"));
    assert!(refusal("[a]\nsize=1m\nprioclass=4\n").contains("from 0 to 3"));
}

#[test]
fn single_requests_have_a_priority_with_the_engines_that_give_it() {
    let of_class = |options: &str, class| {
        let found = priorities(&format!("size=8m\nioengine=libaio\n{options}"));
        found.iter().filter(|one| one.class() == class).count() as f64 / found.len() as f64
    };
    for (options, class, share) in [
        ("rw=randread\ncmdprio_percentage=30", PriorityClass::RealTime, 0.3),
        ("rw=randrw\ncmdprio_percentage=0,100\ncmdprio_class=3", PriorityClass::Idle, 0.5),
        ("rw=randread\nbssplit=4k/50:8k/50\ncmdprio_bssplit=8k/40/3/1", PriorityClass::Idle, 0.2),
    ] {
        assert!((of_class(options, class) - share).abs() < 0.05, "{options}");
    }
    assert_eq!(of_class("rw=randread\ncmdprio_class=1", PriorityClass::RealTime), 0.0, "no share is given");
    let refused = |options: &str| refusal(&format!("[a]\nsize=1m\n{options}\n"));
    assert!(refused("ioengine=psync\ncmdprio_percentage=3").contains("`ioengine` = libaio or io_uring"));
    let both = refused("ioengine=libaio\ncmdprio_percentage=3\ncmdprio_bssplit=4k/3");
    assert!(both.contains("exclude each other"), "{both}");
}

/// The options of fio 3.33 and of its engines that are simulated, aliases among them.
const OPTIONS: &str = "
    allow_file_create allow_mounted_write allrandrepeat atomic ba block_error_percentiles blockalign blocksize
    blocksize_range blocksize_unaligned bs bs_is_seq_rand bs_unaligned bsrange bssplit buffer_compress_chunk
    buffer_compress_percentage buffer_pattern buffered bwavgtime cgroup cgroup_nodelete cgroup_weight
    clat_percentiles clocksource cmd_type cmdprio cmdprio_bssplit cmdprio_class cmdprio_percentage continue_on_error
    cpumask cpus_allowed cpus_allowed_policy create_fsync create_on_open create_only create_serialize dedupe_global
    dedupe_mode dedupe_percentage dedupe_working_set_percentage description direct directory disable_bw
    disable_bw_measurement disable_clat disable_lat disable_slat disk_util do_verify end_fsync error_dump
    exec_postrun exec_prerun exit_what exitall exitall_on_error experimental_verify fadvise_hint fallocate fdatasync
    file_append file_service_type filename filename_format fileoffset filesize fill_device fill_fs fixedbufs flow
    flow_id flow_sleep flow_watermark force_async fsync fsync_on_close gid gpu_dev_id group_reporting gtod_cpu
    gtod_reduce hipri hipri_percentage hugepage-size ignore_error ignore_zone_limits invalidate io_limit io_size
    io_submit_mode iodepth iodepth_batch iodepth_batch_complete iodepth_batch_complete_max
    iodepth_batch_complete_min iodepth_batch_submit iodepth_low ioengine iomem iomem_align iopsavgtime ioscheduler
    job_max_open_zones kb_base lat_percentiles latency_percentile latency_run latency_target latency_window lockfile
    lockmem log_alternate_epoch log_alternate_epoch_clock_id log_avg_msec log_compression log_compression_cpus
    log_entries log_hist_coarseness log_hist_msec log_max_value log_offset log_prio log_store_compressed
    log_unix_epoch loops max_latency max_open_zones mem mem_align merge_blktrace_file merge_blktrace_iters
    merge_blktrace_scalars name new_group nice no_completion_thread nonvectored norandommap nowait nr_files nrfiles
    numa_cpu_nodes numa_mem_policy number_ios numjobs offset offset_align offset_increment opendir openfiles
    overwrite per_job_logs percentage_random percentile_list pre_read prio prioclass profile ramp_time
    random_distribution random_generator randrepeat randseed rate rate_cycle rate_ignore_thinktime rate_iops
    rate_iops_min rate_min rate_process ratecycle ratemin read_beyond_wp read_iolog read_iolog_chunked readwrite
    refill_buffers registerfiles replay_align replay_no_stall replay_redirect replay_scale replay_skip
    replay_time_scale runtime rw rw_sequencer rwmixread rwmixwrite scramble_buffers serialize_overlap
    significant_figures size slat_percentiles softrandommap sqthread_poll sqthread_poll_cpu ss ss_dur ss_ramp
    startdelay stats steadystate steadystate_duration steadystate_ramp_time stonewall sync sync_file_range thinktime
    thinktime_blocks thinktime_blocks_type thinktime_iotime thinktime_spin thp thread time_based timeout
    trim_backlog trim_backlog_batch trim_percentage trim_verify_zero uid uncached unified_rw_reporting
    unique_filename unit_base unlink unlink_each_loop userspace_reap verify verify_async verify_async_cpus
    verify_backlog verify_backlog_batch verify_dump verify_fatal verify_interval verify_offset verify_only
    verify_pattern verify_state_load verify_state_save verifysort verifysort_nr wait_for wait_for_previous
    write_barrier write_bw_log write_hint write_hist_log write_iolog write_iops_log write_lat_log zero_buffers
    zone_reset_frequency zone_reset_threshold zonecapacity zonemode zonerange zonesize zoneskip
";

/// The error that a job file gives, on a drive of [`CAPACITY`] bytes.
fn refusal(job: &str) -> String {
    checked(job).map(|_| ()).expect_err("it is refused").to_string()
}

#[test]
fn every_option_of_fio_is_known_and_those_of_other_versions_are_told_apart() {
    for name in OPTIONS.split_whitespace() {
        let checked = checked(&format!("[j]\nfilename=/dev/x\nsize=64k\n{name}=1\n"));
        let said = checked.err().map(|problems| problems.to_string()).unwrap_or_default();
        assert!(!said.contains("unknown option") && !said.contains("an option that came with"), "{said}");
    }
    let said = |name: &str| refusal(&format!("[j]\nsize=64k\n{name}=1\n"));
    assert!(said("fdp").contains("an option that came with fio 3.34"));
    assert!(said("spr_cs").contains("an option that came with fio 3.42"));
    assert!(said("rbdname").contains("an option of the engine `rbd`, which is not simulated"));
    assert!(said("rwmixcycle").contains("fio 3.33 refuses as deprecated"));
    assert!(said("cmdprio_bssplit=4k/10/1/0/2\n;").contains("hints came with fio 3.36"));
    assert!(said("iodept").contains("unknown option `iodept`") && said("iodept").contains("did you mean `iodepth`?"));
    assert!(said("ss_dur").contains("the length of a job does not depend on what it measures"));
}

#[test]
fn a_recording_that_is_given_as_a_job_is_named_in_one_error() {
    let folder = Folder::new();
    let path = folder.write("disk.csv", "0,R,126703644672,4096,1577808000000626\n".repeat(300));
    let problems = FioJobFile::read(&path).expect_err("it is no job file");
    let [problem] = &problems.0[..] else { panic!("{problems}") };
    assert_eq!(problem.refusal.found, "this is a recording of the format `alibaba`");
    assert!(problem.refusal.help.as_ref().is_some_and(|help| help.contains("\"trace\"")), "{problem}");
}

#[test]
fn a_job_that_reaches_beyond_the_drive_is_refused_or_placed_as_its_key_says() {
    let large = "[one]\nfilename=/dev/sdg\nrw=write\nbs=1m\nsize=128m\n";
    let said = refusal(large);
    assert!(said.contains("the job `one` reaches to 128MiB of `/dev/sdg`"), "{said}");
    assert!(said.contains("at most the 64MiB") && said.contains("workload.addresses = \"wrap\""), "{said}");
    for job in ["rw=read\noffset=32m\nsize=48m", "rw=randwrite\nsize=32m\noffset_increment=32m\nnumjobs=3"] {
        let said = refusal(&format!("[one]\nfilename=/dev/sdg\n{job}\n"));
        assert!(said.contains("reaches to") || said.contains("begins beyond"), "{said}");
    }
    for job in ["size=100%\noffset=50%", "offset=48m", "size=25%\noffset_increment=25%\nnumjobs=4", "size=64m"] {
        assert!(!issue(&format!("[one]\nfilename=/dev/sdg\nrw=read\nbs=1m\n{job}\n")).is_empty(), "{job}");
    }
    assert_eq!(issue("[one]\nfilename=/dev/sdg\nrw=read\nbs=1m\nsize=100%\noffset=50%\n").len(), 32, "as fio cuts");
    let file = FioJobFile::parse("job.fio", large.as_bytes()).unwrap();
    for (addresses, of_65th) in [(Addresses::Wrap, 0), (Addresses::Scale, 32 * 2_048)] {
        let drive = FioDrive { addresses, ..drive() };
        file.check(&drive).unwrap();
        let requests = run(&mut file.start(&drive, &Prng::new(1)).unwrap(), 1_000);
        assert_eq!((requests.len(), requests[64].lba), (128, of_65th));
        assert!(requests.iter().all(|request| request.end() * 512 <= CAPACITY));
    }
}

#[test]
fn without_a_map_a_loop_repeats_the_one_before_with_engines_that_queue_alone() {
    let twice = |options: &str| {
        let all = sectors(&issue(&format!("[a]\nrw=randread\nsize=256k\nloops=2\n{options}\n")));
        assert_eq!(all.len(), 128);
        all[..64] == all[64..]
    };
    assert!(twice(""));
    let zones = |last: &str| {
        sectors(&issue(&format!("[a]\nrw=randread\nsize=1m\nrandom_distribution=zoned:60/10:40/{last}\n")))
    };
    assert_eq!(zones(""), zones("90"), "the last zone is the rest");
    assert!(!twice("norandommap") && !twice("random_distribution=zipf:1.2"));
    // With an engine that queues requests, a loop ends after `size` and the next has the same random numbers; but
    // positions of these distributions are drawn on, as in fio.
    assert!(twice("norandommap\nioengine=libaio") && twice("random_distribution=zoned:60/50:40/50\nioengine=libaio"));
    assert!(!twice("norandommap\nioengine=libaio\nrandrepeat=0"));
    assert!(!twice("random_distribution=zipf:1.2\nioengine=libaio"));
    let writes = |options: &str| sectors(&issue(&format!("[a]\nrw=randwrite\nsize=32k\nioengine=libaio\n{options}\n")));
    let thrice = writes("norandommap\nio_size=16k\nloops=3");
    assert_eq!((thrice.len(), &thrice[8..]), (12, &thrice[..4]), "a pass of 32 KiB, and half of another");
    let once = writes("norandommap\nio_size=64k");
    assert_ne!(once[..8], once[8..], "writes without a map go on to `io_size`");
}

/// What fio 3.33 wrote with `write_iolog`: file and block of 4 KiB.
#[test]
fn several_files_have_their_turns_as_in_fio() {
    let order = |options: &str| {
        let requests = issue(&format!("[a]\nbs=4k\nrw=write\nsize=64k\n{options}\n"));
        let short = |request: &Request| match request.op {
            Op::Flush => "F".to_owned(),
            _ => format!("{}{}", ["a", "b", "c"][request.lba as usize / 2_048], request.lba % 2_048 / 8),
        };
        requests.iter().map(short).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order("filename=fa:fb"), "a0 b0 a1 b1 a2 b2 a3 b3 a4 b4 a5 b5 a6 b6 a7 b7");
    assert_eq!(order("nrfiles=2\nio_size=24k"), "a0 b0 a1 b1 a2 b2");
    assert_eq!(order("filename=fa:fb\noffset=16k\nsize=32k"), "a4 b4 a5 b5 a6 b6 a7 b7");
    assert_eq!(order("filename=fa:fb\nsize=50k"), "a0 b0 a1 b1 a2 b2 a3 b3 a4 b4 a5 b5");
    assert_eq!(order("filename=fa:fb\nfile_service_type=roundrobin:2\nsize=32k"), "a0 a1 b0 b1 a2 a3 b2 b3");
    assert_eq!(order("filename=fa:fb\nfile_service_type=sequential\nsize=32k"), "a0 a1 a2 a3 b0 b1 b2 b3");
    assert_eq!(order("filename=fa:fb\nloops=2\nsize=16k"), "a0 b0 a1 b1 a0 b0 a1 b1");
    assert_eq!(order("filename=fa:fb\nsize=16k\nio_size=32k"), "a0 b0 a1 b1 a0 b0 a1 b1");
    // A flush has its turn too, and a name that is written twice is two files.
    assert_eq!(order("filename=fa:fb\nfsync=2\nnumber_ios=8"), "a0 b0 F b1 a1 F a2 b2 F b3 a3");
    assert_eq!(order("filename=fa:fb\nfsync=3\nnumber_ios=8"), "a0 b0 a1 F a2 b1 a3 F a4 b2");
    let three = "filename=fa:fb\nfsync=2\nfile_service_type=roundrobin:3\nnumber_ios=10";
    assert_eq!(order(three), "a0 a1 F b0 b1 F a2 a3 F b2 b3 F a4 a5");
    assert_eq!(order("filename=fa\nfilename=fb\nnumber_ios=4"), "a0 b0 a1 b1");
    assert_eq!(order("filename=fa:fb\nnrfiles=1\nsize=16k"), "a0 b0 a1 b1", "names count last in a section");
    let of_global = |global: &str, job: &str| {
        let requests = issue(&format!("[global]\nbs=4k\nrw=write\n{global}\n[j]\n{job}\n"));
        requests.iter().map(|request| (request.lba / 2_048, request.lba % 2_048 / 8)).collect::<Vec<_>>()
    };
    let with_twice = [(0, 0), (1, 0), (1, 0), (0, 1), (1, 1), (1, 1)];
    assert_eq!(of_global("filename=a:b\nsize=32k", "filename=b"), with_twice);
    assert_eq!(of_global("filename=a:b\nsize=16k", "nrfiles=1"), [(0, 0), (0, 1), (0, 2), (0, 3)]);
    assert!(refusal("[a]\nsize=1m\nfilename=a:b:c\nopenfiles=2\n").contains("`openfiles` = 2 of 3 files"));
    assert!(refusal("[a]\nsize=1m\nfilename_format=x.$jobnum\n").contains("`filename_format`"));
    let drawn = order("filename=fa:fb:fc\nrw=randwrite\nfile_service_type=random");
    let mut random: Vec<_> = drawn.split(' ').map(str::to_owned).collect();
    let turns: Vec<_> = random.iter().map(|request| request[..1].to_owned()).collect();
    assert!(turns.windows(2).any(|pair| pair[0] == pair[1]) && turns.windows(2).any(|pair| pair[0] != pair[1]));
    random.sort();
    assert!(refusal("[a]\nsize=1m\nnrfiles=10000\nnumjobs=4\n").contains("40000 files of all clones so far"));
    assert_eq!(random.join(" "), "a0 a1 a2 a3 a4 b0 b1 b2 b3 b4 c0 c1 c2 c3 c4");
}

/// The jobs of a file, with the devices that were chosen.
fn on_device(job: &str, device: &str) -> Result<Vec<Request>, Problems> {
    let file = FioJobFile::parse("job.fio", job.as_bytes())?.on_device(device)?;
    file.check(&drive())?;
    Ok(run(&mut file.start(&drive(), &Prng::new(1))?, 10_000))
}

#[test]
fn files_that_cannot_be_addressed_are_refused_wherever_addresses_are_placed() {
    let job = "[a]\nrw=write\nsize=1024p\nnumjobs=17\n";
    let file = FioJobFile::parse("job.fio", job.as_bytes()).expect("each alone can be");
    for addresses in [Addresses::Error, Addresses::Wrap, Addresses::Scale] {
        let said = file.check(&FioDrive { addresses, ..drive() }).expect_err("all together cannot").to_string();
        assert!(said.contains("too large to be addressed"), "{said}");
    }
    let mixed = on_device("[a]\nrw=write\nbs=4k\nfilename=f:/dev/sda\nsize=1m\noffset=1m\n", "all");
    assert_eq!(mixed.unwrap_or_else(|problems| panic!("{problems}")).len(), 256, "a file has no end of its own");
}

#[test]
fn jobs_of_several_devices_are_one_at_a_time_or_one_after_another() {
    let jobs = "[global]\nrw=write\nbs=4k\nsize=8k\n[one]\nfilename=/dev/sdb\n[two]\nfilename=/dev/sda\noffset=1m\n\
                [three]\nfilename=/dev/sdb\nstonewall\n";
    let said = refusal(jobs);
    assert!(said.contains("the jobs use several devices or files: `/dev/sdb`, `/dev/sda`"), "{said}");
    assert!(said.contains("job.fio:8:10") && said.contains("`workload.device`, one of them or \"all\""), "{said}");
    let of = |device: &str| sectors(&on_device(jobs, device).unwrap_or_else(|problems| panic!("{problems}")));
    assert_eq!(of("/dev/sdb"), [0, 8, 0, 8]);
    assert_eq!(of("/dev/sda"), [2_048, 2_056]);
    // Each behind the other: a MiB of the one, then the MiB and more of the other.
    assert_eq!(of("all"), [0, 2_048 + 2_048, 8, 2_048 + 2_056, 0, 8]);
    let unknown = on_device(jobs, "/dev/sdc").expect_err("no job names it").to_string();
    assert!(unknown.contains("no job of the device `/dev/sdc`") && unknown.contains("`/dev/sda`"), "{unknown}");
    // One file of a drive and the drive itself lie over one another too; several files do not.
    assert!(refusal("[a]\nfilename=/dev/sda\n[b]\nsize=4k\n").contains("and files of jobs that name none"));
    assert_eq!(sectors(&issue("[a]\nsize=4k\nfilename=x\n[b]\nsize=4k\nfilename=y\n")), [0, 2_048]);
}

#[test]
fn a_job_of_several_devices_runs_on_all_of_them_and_a_size_may_be_a_share() {
    let list = "[a]\nfilename=/dev/sda:/dev/sdb\nrw=write\nbs=4k\nsize=16k\n";
    assert!(refusal(list).contains("`/dev/sda`, `/dev/sdb`"));
    assert_eq!(sectors(&on_device(list, "all").unwrap()), [0, 2_048, 8, 2_056]);
    let one = on_device(list, "/dev/sda").expect_err("it spreads its requests").to_string();
    assert!(one.contains("spreads its requests over `/dev/sda`, `/dev/sdb`"), "{one}");
    // 64 MiB: 1 for the sized one, 31 for each of the others.
    let shares = "[global]\nrw=read\nbs=1m\n[a]\nfilename=/dev/a\nsize=1m\n[b]\nfilename=/dev/b\n[c]\nfilename=/dev/c\n\
                  size=50%\n";
    let requests = on_device(shares, "all").unwrap();
    let of_task = |task: u32| {
        let of = requests.iter().filter(|request| request.task == task).map(|request| request.lba / 2_048);
        (of.clone().min().unwrap(), of.clone().max().unwrap(), of.count())
    };
    assert_eq!((of_task(1), of_task(2), of_task(3)), ((0, 0, 1), (1, 31, 31), (32, 46, 15)));
}

/// Replays iologs in a folder by a job, with the device that was chosen: microseconds, operation and sector.
fn replay(logs: &[(&str, &str)], job: &str, device: Option<&str>) -> Result<Vec<(Ns, Op, u64)>, String> {
    let folder = Folder::new();
    logs.iter().for_each(|(name, text)| drop(folder.write(name, text)));
    let started = FioJobFile::read(&folder.write("job.fio", job)).and_then(|file| {
        let file = device.map_or_else(|| Ok(file.clone()), |device| file.on_device(device))?;
        file.check(&drive())?;
        file.start(&drive(), &Prng::new(1))
    });
    let requests = run(&mut started.map_err(|problems| problems.to_string())?, 100);
    Ok(requests.iter().map(|request| (request.arrival_ns / 1_000, request.op, request.lba)).collect())
}

#[test]
fn waits_of_version_2_count_from_the_start_of_all_jobs() {
    let log = "fio version 2 iolog\ndisk add\ndisk open\ndisk write 0 4096\ndisk wait 500 0\ndisk write 4096 4096\n\
               disk wait 300 0\ndisk write 8192 4096\ndisk wait 900 0\ndisk write 12288 4096\ndisk close\n";
    let times = |job: &str| {
        let found = replay(&[("v2.log", log)], job, None).unwrap_or_else(|said| panic!("{said}"));
        found.iter().filter(|(_, op, _)| *op == Op::Write).map(|(at, ..)| *at).collect::<Vec<_>>()
    };
    assert_eq!(times("[a]\nread_iolog=v2.log\n"), [0, 500_000, 500_010, 900_000]);
    // A scale is one of version 3 alone, as in fio.
    assert_eq!(times("[a]\nread_iolog=v2.log\nreplay_time_scale=50\n"), [0, 500_000, 500_010, 900_000]);
    assert_eq!(times("[a]\nread_iolog=v2.log\nreplay_no_stall=1\n"), [0, 10, 20, 30]);
    let behind = "[first]\nread_iolog=v2.log\n[second]\nstonewall\nread_iolog=v2.log\n";
    assert_eq!(times(behind)[4..], [900_010, 900_020, 900_030, 900_040], "all waits have passed");
}

#[test]
fn clones_replay_the_iologs_of_a_list_in_turn_and_a_late_request_delays_those_after_it() {
    let [a, b] = ["0", "8192"].map(|at| {
        format!("fio version 3 iolog\n0 f add\n0 f open\n5 f read {at} 4096\n45 f read {at} 4096\n60 f close\n")
    });
    let logs = [("a.log", &*a), ("b:.log", &*b)];
    let read = |job: &str| replay(&logs, job, None).unwrap_or_else(|said| panic!("{said}"));
    let job = "[j]\nnumjobs=3\nread_iolog=a.log:b\\:.log\n";
    let r = |at, lba| (at, Op::Read, lba);
    let third_before_second = [r(0, 0), r(0, 0), r(0, 16), r(40, 0), r(40, 0), r(40, 16)];
    assert_eq!(read(job), third_before_second, "clones start from the last, after the first");
    let late = "fio version 3 iolog\n0 f add\n0 f open\n1 f read 0 4096\n2 f read 0 4096\n17 f read 0 4096\n";
    let times: Vec<_> = replay(&[("l", late)], "[j]\nread_iolog=l\n", None).unwrap().iter().map(|one| one.0).collect();
    assert_eq!(times, [0, 10, 25], "15 us after the one that was 9 us late");
}

/// What fio 3.33 waited for at the same times in milliseconds.
#[test]
fn a_gap_of_version_3_counts_from_the_first_time_that_is_not_zero() {
    let times = |lines: &str| {
        let log = format!("fio version 3 iolog\n{lines}");
        let found = replay(&[("l", &log)], "[j]\nread_iolog=l\n", None).unwrap_or_else(|said| panic!("{said}"));
        found.iter().map(|one| one.0).collect::<Vec<_>>()
    };
    let reads = "0 f read 0 4096\n300 f read 4096 4096\n500 f read 8192 4096\n";
    assert_eq!(times(&format!("0 f add\n0 f open\n{reads}")), [0, 10, 210], "each takes 10 us");
    assert_eq!(times(&format!("0 f add\n0 f open\n{}", reads.replace("0 f read 0", "1 f read 0"))), [0, 299, 499]);
    assert_eq!(times("100 f add\n200 f open\n300 f read 0 4096\n400 f read 4096 4096\n"), [200, 300]);
    let closed = "0 f add\n0 f open\n0 f read 0 4096\n200 f close\n300 f open\n500 f read 4096 4096\n";
    assert_eq!(times(closed), [0, 300]);
}

#[test]
fn an_iolog_of_too_many_files_is_refused() {
    let mut log = String::from("fio version 3 iolog\n");
    (0..=32_769).for_each(|file| log += &format!("0 f{file} add\n1 f{file} read 0 4096\n"));
    let said = replay(&[("l", &log)], "[j]\nread_iolog=l\nreplay_redirect=/dev/x\n", None).expect_err("too many");
    assert!(said.contains("requests to more than 32768 files"), "{said}");
}

#[test]
fn iologs_of_several_files_ask_for_a_device_and_other_recordings_are_named() {
    let log = "fio version 3 iolog\n0 /dev/a add\n0 /dev/b add\n1 /dev/a write 0 4096\n2 /dev/b write 1048576 4096\n\
               30 /dev/b read 4096 4096\n";
    let job = "[j]\nioengine=libaio\niodepth=8\nread_iolog=l\n";
    let with = |job: &str, device| replay(&[("l", log)], job, device);
    let said = with(job, None).expect_err("there are two");
    assert!(said.contains("several devices or files: `/dev/a`, `/dev/b`") && said.contains("job.fio:4:12"), "{said}");
    assert_eq!(with(job, Some("/dev/a")).unwrap(), [(0, Op::Write, 0)]);
    assert_eq!(with(job, Some("/dev/b")).unwrap(), [(1, Op::Write, 2_048), (29, Op::Read, 8)]);
    let all = [(0, Op::Write, 0), (1, Op::Write, 2_048 + 2_048), (29, Op::Read, 2_048 + 8)];
    assert_eq!(with(job, Some("all")).unwrap(), all);
    let redirected = format!("{job}replay_redirect=/dev/c\n");
    assert_eq!(with(&redirected, None).unwrap(), [(0, Op::Write, 0), (1, Op::Write, 2_048), (29, Op::Read, 8)]);
    let two = "[j]\nread_iolog=l\nreplay_redirect=/dev/c\n[k]\nfilename=/dev/d\nsize=4k\n";
    assert!(with(two, None).expect_err("c and d").contains("`/dev/c`, `/dev/d`"));
    let blktrace = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/varmail.blktrace.0.zst");
    let said = with(&format!("[j]\nread_iolog={blktrace}\n"), None).expect_err("it is a blktrace");
    assert!(said.contains("is a recording of the format `blktrace`") && said.contains("\"trace\""), "{said}");
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
    for (addresses, device) in [(Addresses::Error, None), (Addresses::Wrap, Some("all")), (Addresses::Scale, None)] {
        let file = device.map_or_else(|| file.clone(), |device| file.on_device(device).expect("it is no name"));
        let drive = FioDrive { addresses, ..FioDrive::of_bytes(capacity) };
        match file.check(&drive) {
            Err(problems) => shown(&problems),
            Ok(()) => {
                file.remarks(&drive);
                let mut jobs = file.start(&drive, &Prng::new(3)).expect("it was checked");
                for request in run(&mut jobs, 300) {
                    assert!(request.end() * 512 <= capacity, "{request:?} in {}", String::from_utf8_lossy(bytes));
                    assert_eq!(request.sectors == 0, request.op == Op::Flush, "{request:?}");
                }
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
        1 => "(numjobs=[1-4]|ioengine=(libaio|psync)|percentage_random=[0-9]{1,3}|nrfiles=[1-5])"
            .prop_map(String::from),
        1 => "filename=(f|/dev/sda|/dev/sdb|f:g:h|/dev/sda:/dev/sdb)".prop_map(String::from),
        1 => "file_service_type=(random:2|roundrobin:3|sequential)".prop_map(String::from),
        1 => "(prio=[0-9]|cmdprio_percentage=[0-9]{1,3}|cmdprio_bssplit=4k/[0-9]{1,2}/[0-4]/[0-9])"
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
