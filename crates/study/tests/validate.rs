//! Validations whose truth is known: a run's own log against the drive that wrote it, and measurements that cannot be
//! those of a device.

use std::fs;
use std::path::{Path, PathBuf};

use flashloom_config::{Catalog, Experiment, Source};
use flashloom_run::log::Log;
use flashloom_run::{Prepared, Quiet};
use flashloom_study::validate::{ValidatedInput, Validation};
use tempfile::TempDir;

/// A drive that collects garbage while requests queue.
const DRIVE: &str = "
[workload]
addresses = \"wrap\"

[workload.synthetic]
requests = 20_000
read_share = 0.5
interarrival = \"300us\"

[host]
queue_depth = 16

[device]
channels = 2
ways = 2
planes = 2
blocks = 96
pages = 32
over_provisioning = 0.25

[buffer]
capacity = \"1MiB\"

[run]
precondition = \"steady\"
steady_tolerance = 0.2
";

/// Requests of a simulated load at most.
const LIMIT: u64 = 80_000;

struct Lab(TempDir);

impl Lab {
    fn new() -> Self {
        let lab = Self(tempfile::tempdir().expect("a temporary folder can be made"));
        lab.write("drive.toml", DRIVE);
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), content).expect("a file of the test can be written");
        self
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("its name is UTF-8").to_owned()
    }

    fn load(&self, sets: &[&str], against: &[&str]) -> Result<Validation, String> {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        let against: Vec<String> = against.iter().map(|name| self.text(name)).collect();
        let drive = Source::read(&self.text("drive.toml")).map_err(|problem| problem.to_string())?;
        let validation = Validation::load(&Catalog::builtin(), &[drive], &sets, &against, LIMIT);
        validation.map_err(|problems| problems.to_string())
    }

    fn run(&self, sets: &[&str], against: &[&str]) -> Vec<ValidatedInput> {
        let validation = self.load(sets, against).unwrap_or_else(|problems| panic!("{problems}"));
        let ready = validation.prepare().unwrap_or_else(|problems| panic!("{problems}"));
        ready.run(&Quiet).expect("every check holds").comparisons
    }

    fn refusal(&self, sets: &[&str], against: &[&str]) -> String {
        self.load(sets, against).err().expect("it is refused")
    }

    /// Runs the drive and writes its log.
    fn log(&self, name: &str) {
        let experiment = Experiment::load_run(&Catalog::builtin(), &self.text("drive.toml"), &[]).expect("it is sound");
        let mut log = Log::new(Vec::new());
        let prepared = Prepared::new(&experiment).expect("it is sound");
        prepared.run(false, &Quiet, &mut [&mut log]).expect("every check holds");
        self.write(name, log.finish().expect("memory takes everything"));
    }
}

/// A trace of Flashloom's own with these columns and lines.
fn own(columns: &str, lines: impl IntoIterator<Item = String>) -> String {
    let lines: Vec<String> = lines.into_iter().collect();
    format!("timestamp_ns,op,lba,sectors{columns}\n{}\n", lines.join("\n"))
}

/// Reads, 100 us apart, of a latency each.
fn reads(latencies_ns: impl IntoIterator<Item = u64>) -> String {
    let lines = latencies_ns.into_iter().enumerate();
    own(",latency_ns", lines.map(|(at, ns)| format!("{},R,{},8,{ns}", at * 100_000, at * 64 % 4_096)))
}

#[test]
fn a_drive_is_at_no_distance_from_its_own_log_and_another_is_at_one() {
    let lab = Lab::new();
    lab.log("log.csv");
    let [one] = &lab.run(&["workload.sort=true"], &["log.csv"])[..] else { panic!("one measurement") };
    assert_eq!((one.requests, one.not_compared.len(), one.warnings.len()), (20_000, 0, 0), "{one:?}");
    assert_eq!(one.cells.iter().map(|cell| &cell.operation[..]).collect::<Vec<_>>(), ["read", "write"]);
    for cell in &one.cells {
        assert_eq!((cell.distance.simulated, cell.kolmogorov_smirnov.simulated), (0.0, 0.0));
        assert!(cell.percentiles.len() >= 6 && cell.percentiles.iter().all(|one| one.error == Some(0.0)));
        assert_eq!(cell.mean_ns.error, Some(0.0));
        assert!(cell.distance.null > 0.2 && cell.kolmogorov_smirnov.null > 0.2, "{cell:?}");
        assert!(cell.stalls.iter().all(|stall| stall.recorded == stall.simulated));
    }
    assert!(one.rates.iter().all(|rate| rate.rate.error == Some(0.0)) && one.rates.len() == 3, "{:?}", one.rates);
    // Another drive is at a distance.
    let slower = lab.run(&["workload.sort=true", "device.read_time=400us"], &["log.csv"]);
    let cell = &slower[0].cells[0];
    assert_eq!(cell.operation, "read");
    assert!(cell.mean_ns.error > Some(0.05) && cell.distance.simulated > 0.05, "{cell:?}");
    assert!(cell.kolmogorov_smirnov.simulated > 0.05);
}

#[test]
fn issued_requests_go_past_the_scheduler_and_take_their_time_in_the_drive() {
    // Two reads of neighbouring sectors that a scheduler would merge, again and again.
    let pair = |pair: u64| {
        let (at, lba) = (pair * 5_000, pair * 64);
        [event(at, 'D', lba), event(at, 'D', lba + 8), event(at + 70, 'C', lba), event(at + 90, 'C', lba + 8)].concat()
    };
    let lab = Lab::new();
    lab.write("reads.txt", (0..100).map(pair).collect::<String>());
    let one = &lab.run(&["host.queue_depth=1", "device.read_time=60us"], &["reads.txt"])[0];
    assert_eq!((one.requests, &one.kind[..]), (200, "recording (blkparse)"));
    let cell = &one.cells[0];
    assert_eq!((cell.recorded_requests, cell.mean_ns.recorded), (200, 80_000.0));
    // The second of each pair waits for the first, which is no part of its latency.
    let (first, last) = (cell.percentiles[0].simulated_ns, cell.percentiles.last().unwrap().simulated_ns);
    assert!(first > 60_000 && last < 100_000, "{cell:?}");
    assert!(one.warnings[0].starts_with("50.0 % of the simulated requests waited for the drive"), "{:?}", one.warnings);
}

/// An event of blkparse.
fn event(time_us: u64, action: char, lba: u64) -> String {
    format!("8,0 1 1 {}.{:06} 7 {action} R {lba} + 8 [0]\n", time_us / 1_000_000, time_us % 1_000_000)
}

#[test]
fn measurements_that_cannot_be_compared_are_refused() {
    let lab = Lab::new();
    let before = |at: u64| {
        let (first, last) = if at.is_multiple_of(50) { ('C', 'D') } else { ('D', 'C') };
        event(at * 100, first, at * 8) + &event(at * 100 + 50, last, at * 8)
    };
    let two = (0..200).map(|at| format!("{},R,0,8,100,{}", at * 1_000, u8::from(at % 4 == 0)));
    // 4 s each, 10 us apart: by Little's law more than any queue holds.
    let little = (0..400_000_u64).map(|at| format!("{},R,0,8,4000000000", at * 10_000));
    let back = ["5,R,0,8,100", "4,R,8,8,100"].map(str::to_owned);
    for (name, content) in [
        ("issued.txt", (0..200).map(|at| event(at, 'D', at * 8)).collect()),
        ("spc.txt", "0,20941264,8192,W,0.551706,Alpha/NT\n".to_owned()),
        ("zero.csv", reads([0; 500])),
        ("few.csv", reads((0..99).map(|at| 50_000 + at))),
        ("back.csv", own(",latency_ns", back)),
        ("before.txt", (0..200).map(before).collect()),
        ("two.csv", own(",latency_ns,device", two)),
        ("polled.csv", reads([17_179_869_183; 500])),
        ("little.csv", own(",latency_ns", little)),
        ("reads.csv", reads((0..200).map(|at| 50_000 + at))),
        ("bad.json", "{\n \"fio version\": ?\n}".to_owned()),
        ("own.json", fio_output(1, 1.0)),
    ] {
        lab.write(name, content);
    }
    let rows: [(&str, &[&str], &[&str]); 18] = [
        ("issued.txt", &[], &["none of 200 issued requests (D) has a completion (C)"]),
        ("spc.txt", &[], &["the format `spc` has no latencies", "blktrace"]),
        ("zero.csv", &[], &["0 of 500 requests have a latency"]),
        ("few.csv", &[], &["99 of 99 requests have a latency", "at least 100"]),
        ("back.csv", &[], &["the time goes back by 1 ns", "workload.sort"]),
        ("before.txt", &[], &["4 of 200 requests complete before they are issued"]),
        ("two.csv", &[], &["requests of 2 devices: `0` (150), `1` (50)", "`--set workload.device=NAME` chooses it"]),
        ("two.csv", &["workload.device=2"], &["holds no request of device `2`", "a device that has such: `0`, `1`"]),
        ("two.csv", &["workload.device=1"], &["50 of 50 requests have a latency"]),
        ("polled.csv", &[], &["every other latency is 17.0 s or longer (p1 17.0 s, p99 17.0 s)"]),
        ("little.csv", &[], &["requests outstanding on average, by Little's law"]),
        ("reads.csv", &["workload.replay=closed"], &["`replay` = \"closed\"", "--set"]),
        ("reads.csv", &["workload.speed=2"], &["`speed` = 2", "--set"]),
        ("reads.csv", &["workload.replicate=true"], &["`replicate` = true", "--set"]),
        ("reads.csv", &["run.timing=counting"], &["a validation without time", "--set"]),
        ("", &[], &["a workload of kind \"synthetic\"", "--against"]),
        ("bad.json", &[], &["bad.json:2:", "this is not JSON"]),
        ("own.json", &[], &["requests outstanding (Little's law)"]),
    ];
    for (name, sets, found) in rows {
        let against: &[&str] = if name.is_empty() { &[] } else { &[name] };
        let problem = lab.load(sets, against).err().unwrap_or_else(|| panic!("{name} {sets:?} is not refused"));
        found.iter().for_each(|found| assert!(problem.contains(found), "{name} {sets:?}: {problem}"));
    }
    assert!(lab.load(&["workload.device=0"], &["two.csv"]).is_ok());
}

#[test]
fn latencies_that_are_doubtful_are_compared_all_the_same() {
    let lab = Lab::new();
    lab.write("enough.csv", reads((0..100).map(|at| 50_000 + at))).write("even.csv", reads([80_000; 1_000]));
    assert_eq!(lab.run(&[], &["enough.csv"])[0].cells.len(), 1);
    let doubts = &lab.run(&[], &["even.csv"])[0].warnings;
    assert!(doubts[0].starts_with("nearly every recorded latency is 80.0 us"), "{doubts:?}");
}

#[test]
fn lone_reads_of_milliseconds_may_be_those_of_a_disk() {
    let lab = Lab::new();
    let lines = |ns: u64| (0..200).map(move |at| format!("{},R,{},8,{}", at * 20_000_000, at * 64, ns + at % 7));
    lab.write("disk.csv", own(",latency_ns", lines(6_000_000))).write("flash.csv", own(",latency_ns", lines(600_000)));
    let disk = &lab.run(&[], &["disk.csv"])[0].warnings;
    assert!(disk[0].starts_with("this may be a disk: of 199 reads elsewhere"), "{disk:?}");
    assert!(lab.run(&[], &["flash.csv"])[0].warnings.is_empty());
}

#[test]
fn the_recording_of_the_experiment_itself_is_compared_if_no_other_is_named() {
    let lab = Lab::new();
    lab.write("reads.csv", reads((0..300).map(|at| 50_000 + at)));
    let sets = ["workload.kind=trace", &format!("workload.path={:?}", lab.text("reads.csv")), "workload.requests=250"];
    let one = &lab.run(&sets, &[])[0];
    assert_eq!((one.requests, one.cells[0].recorded_requests), (250, 250));
    assert!(Path::new(&one.input).ends_with("reads.csv"));
}

/// What fio would print of a run of the drive.
fn fio_output(depth: u32, mean_factor: f64) -> String {
    fio_output_by(depth, mean_factor, 0)
}

/// What fio would print of it if a submission took so many microseconds.
fn fio_output_by(depth: u32, mean_factor: f64, submission_us: u32) -> String {
    let submission = format!("workload.submit_time={submission_us}us");
    let sets = [
        &submission[..],
        "workload.queue_depth=4",
        "workload.replay=closed",
        "workload.synthetic.read_share=1",
        "workload.synthetic.requests=40000",
    ];
    let sets = sets.map(str::to_owned);
    let text = DRIVE.replace("interarrival = \"300us\"", "");
    let source = Source::text("drive.toml", &text);
    let experiment = Experiment::from_source(&Catalog::builtin(), source, &sets, None).expect("it is sound");
    let finished = Prepared::new(&experiment).expect("it is sound").run(false, &Quiet, &mut []).expect("it runs");
    let latency = &finished.host.read_latency;
    let percentiles = [1.0, 10.0, 50.0, 90.0, 99.0, 99.9]
        .map(|percent| format!("\"{percent:.6}\": {}", (latency.percentile(percent) as f64 * mean_factor) as u64));
    let iops = latency.count() as f64 * 1e9 / finished.host.duration_ns as f64 / mean_factor;
    format!(
        r#"{{"fio version": "fio-3.35", "jobs": [{{"jobname": "reads",
            "job options": {{"rw": "randread", "iodepth": "{depth}", "ioengine": "io_uring", "direct": "1"}},
            "read": {{"total_ios": 40000, "iops": {iops}, "slat_ns": {{"mean": {submission_us}e3}},
            "clat_ns": {{"mean": {}, "percentile": {{{}}}}}}}}}]}}"#,
        latency.mean() * mean_factor,
        percentiles.join(", ")
    )
}

#[test]
fn a_drive_is_near_what_fio_would_have_measured_of_it_and_far_from_one_that_takes_twice_as_long() {
    let lab = Lab::new();
    lab.write("own.json", fio_output(4, 1.0)).write("slow.json", fio_output(4, 2.0));
    let both = lab.run(&[], &["own.json", "slow.json"]);
    let [own, slow] = &both[..] else { panic!("two measurements") };
    assert_eq!((own.job.as_deref(), &own.cells[0].operation[..]), (Some("reads"), "read"));
    let (near, far) = (&own.cells[0], &slow.cells[0]);
    assert!(near.distance.simulated < 0.01 && near.mean_ns.error.unwrap().abs() < 0.01, "{near:?}");
    assert!(near.percentiles.iter().all(|one| one.error.unwrap().abs() < 0.05) && near.percentiles.len() == 6);
    assert!((far.mean_ns.error.unwrap() + 0.5).abs() < 0.01 && far.distance.simulated > 0.4, "{far:?}");
    assert!(own.rates[0].rate.error.unwrap().abs() < 0.01 && slow.rates[0].rate.error.unwrap() > 0.95);
    assert!(own.warnings.is_empty() && own.requests < LIMIT, "{own:?}");
}

#[test]
fn a_process_submits_its_requests_one_after_another() {
    let lab = Lab::new();
    let slow = fio_output_by(4, 1.0, 25);
    lab.write("slow.json", &slow).write("at-once.json", slow.replace("25e3", "0"));
    lab.write(
        "two.json",
        slow.replace("\"iodepth\": \"4\"", "\"iodepth\": \"2\", \"numjobs\": \"2\", \"group_reporting\": \"1\""),
    );
    let [slow, at_once, two] = &lab.run(&[], &["slow.json", "at-once.json", "two.json"])[..] else { panic!("three") };
    assert!(slow.rates[0].rate.error.unwrap().abs() < 0.01 && slow.warnings.is_empty(), "{:?}", slow.rates);
    assert!(slow.cells[0].distance.simulated < 0.02, "{:?}", slow.cells[0].distance);
    assert!(at_once.rates[0].rate.error.unwrap() > 0.1, "{:?}", at_once.rates);
    assert_eq!(at_once.rates[0].rate.simulated, two.rates[0].rate.simulated, "processes submit at once");
    for (time, found) in [("-1", "-1 ns"), ("1e9", "1000000000 ns")] {
        lab.write("bad.json", fio_output(4, 1.0).replace("0e3", time));
        assert!(lab.refusal(&[], &["bad.json"]).contains(found));
    }
}

#[test]
fn a_load_that_is_not_closed_and_a_queue_that_is_too_short_are_doubted() {
    let lab = Lab::new();
    lab.write("deep.json", fio_output(32, 1.0));
    let warnings = &lab.run(&[], &["deep.json"])[0].warnings;
    for doubt in [
        "of 32 requests were in the recorded drive or being submitted on average",
        "the simulated drive holds 16 requests",
    ] {
        assert!(warnings.iter().any(|one| one.contains(doubt)), "{doubt}: {warnings:?}");
    }
}

/// A drive with an SLC cache of a quarter of its blocks.
const CACHED: [&str; 15] = [
    "device.bits_per_cell=3",
    "device.program_time=600us",
    "device.program_time_2=600us",
    "device.program_time_3=600us",
    "device.blocks=128",
    "device.over_provisioning=0.6",
    "device.pages=96",
    "device.slc_program_time=100us",
    "ftl.slc_cache=static",
    "ftl.slc_static_share=0.3",
    "device.slc_read_time=30us",
    "device.page_size=8KiB",
    "device.bus_rate=800MB/s",
    "run.precondition=none",
    "buffer.capacity=256KiB",
];

#[test]
fn a_fill_has_the_plateaus_and_the_knee_of_its_slc_cache() {
    let lab = Lab::new();
    let curve = |lines: &str| format!("written_bytes,bytes_per_second\n{lines}");
    // As far as any drive of this size goes, in one stretch: what the model itself makes of it.
    lab.write("mean.csv", curve("150000000,100e6\n"));
    let one = &lab.run(&CACHED, &["mean.csv"])[0];
    assert_eq!((&one.kind[..], one.cells.len()), ("curve of the rate over the bytes written", 0));
    let alone = one.not_compared.iter().find(|line| line.contains("a knee that is simulated alone")).expect("a knee");
    // The knee is where the cache is full, and the rates on either side are those of the two kinds of programs.
    let lines = |knee: f64, rates: [f64; 2]| curve(&format!("{knee},{}\n150000000,{}\n", rates[0], rates[1]));
    let knee: f64 = alone.split(" at ").nth(1).and_then(|at| at.split(' ').next()).unwrap().parse().unwrap();
    let own = lab.run(&CACHED, &["mean.csv"]);
    assert_eq!(own[0].rates, one.rates, "equal bytes");
    lab.write("two.csv", lines((knee * 1e6).round(), [200e6, 100e6]));
    let two = &lab.run(&CACHED, &["two.csv"])[0];
    let rate = |quantity: &str| two.rates.iter().find(|rate| rate.quantity.contains(quantity)).expect(quantity).rate;
    let (fast, slow) = (two.rates[1].rate.simulated, two.rates[2].rate.simulated);
    assert!(fast > 1.5 * slow, "{two:?}");
    assert!(rate("knee 1").error.is_some_and(|error| error.abs() < 0.05), "{two:?}");
    // The same curve is at no distance, and a constant rate is.
    let curve = lines((knee * 1e6).round(), [fast, slow]);
    lab.write("own.csv", curve);
    let own = &lab.run(&CACHED, &["own.csv"])[0];
    let distance = own.rate_distance.expect("of a curve");
    assert!(distance.simulated < 1e-6 && distance.null > 0.1, "{distance:?}");
    assert!(own.warnings.is_empty(), "{:?}", own.warnings);
    let full = &lab.run(&[&CACHED[..], &["run.precondition=fill"]].concat(), &["own.csv"])[0];
    assert!(full.warnings[0].contains("is full before the fill begins"), "{:?}", full.warnings);

    lab.write("long.csv", "written_bytes,bytes_per_second\n100000000,2e8\n900000000000,1e8\n");
    let long = &lab.run(&CACHED, &["long.csv"])[0];
    assert!(long.not_compared.iter().any(|line| line.starts_with("1 stretches beyond the")), "{:?}", long.not_compared);
    let refused = |text: &str, found: &str| {
        lab.write("bad.csv", text);
        let problem = lab.refusal(&CACHED, &["bad.csv"]);
        assert!(problem.contains(found) && problem.contains("bad.csv"), "{problem}");
    };
    refused("written_bytes,bytes_per_second\n1e6,5\n", "no stretch of a fill");
    refused("written_bytes,bytes_per_second\n900000000000,5\n", "a first stretch of 900 GB");
}

#[test]
fn a_load_is_simulated_until_its_tail_is_known_or_it_may_be_no_longer() {
    let lab = Lab::new();
    lab.write("own.json", fio_output(4, 1.0));
    let drive = Source::read(&lab.text("drive.toml")).unwrap();
    let validation = Validation::load(&Catalog::builtin(), &[drive], &[], &[lab.text("own.json")], 1_000);
    let one = &validation.unwrap().prepare().unwrap().run(&Quiet).unwrap().comparisons[0];
    assert_eq!(one.requests, 1_000);
    assert!(one.warnings[0].starts_with("p99.9 of 1,000 simulated requests has an interval of"), "{:?}", one.warnings);
    // A tenth are writes, and no order statistic bounds p99.9 of 2,000 from above.
    let reads = fio_output(8, 1.0).replace("\"randread\"", "\"randrw\", \"rwmixread\": \"90\"");
    let (job, direction) = reads.split_once("\"read\": ").expect("it has reads");
    let direction = direction.strip_suffix("}]}").expect("the ends of job, jobs and output");
    lab.write("mixed.json", format!("{job}\"read\": {direction}, \"write\": {direction}}}]}}"));
    let one = &lab.run(&[], &["mixed.json"])[0];
    assert!((40_000..=LIMIT).contains(&one.requests), "{one:?}");
    assert_eq!(one.warnings.iter().any(|one| one.contains("--requests allows more")), one.requests == LIMIT);
}
