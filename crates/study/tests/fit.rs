//! Fits whose truth is known: the inputs are what a simulated fio measured of a simulated drive, and the fit starts
//! from another drive. Beside them, measurements and parameters that cannot be fitted (`refusals`).

mod refusals;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use flashloom_config::{Catalog, Experiment, toml_value};
use flashloom_device::{Interest, Observer, Served};
use flashloom_run::log::Log;
use flashloom_run::{Failure, Prepared, Progress, Quiet};
use flashloom_study::fit::{
    Answer, ErrorResult, Fit, FitOptions, FitResult, FittedParameter, HoldOut, JobTime, Journal, PAGE, Question,
    Simulator, fitted_preset, job_files, start_of,
};
use flashloom_study::validate::Validation;
use flashloom_units::{Interrupt, Prng, Value};
use flashloom_workload::{Op, Request};
use tempfile::TempDir;

/// A drive of one kind of pages.
const DRIVE: &str = "
[device]
channels = 2
ways = 2
planes = 2
blocks = 256
pages = 64
bits_per_cell = 1
read_time = \"50us\"
bus_rate = \"400MB/s\"
link_rate = \"2GB/s\"
controller_time = \"6us\"

[host]
queue_depth = 256
nr_requests = 256

[buffer]
capacity = \"0B\"
";

/// Requests of a simulated fio, and of each cell of a fit.
const REQUESTS: u64 = 20_000;

struct Lab(TempDir);

impl Lab {
    fn new() -> Self {
        let lab = Self(tempfile::tempdir().expect("a temporary folder can be made"));
        lab.write("start.toml", DRIVE);
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file of the test can be written");
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("its name is UTF-8").to_owned()
    }

    /// Runs fio on a drive with these options, once for each depth and size of blocks; returns the names of its
    /// outputs.
    fn measure(&self, drive: &[String], cells: &[(u32, &str)], requests: u64) -> Vec<String> {
        self.measure_of("randread", drive, cells, requests)
    }

    fn measure_of(&self, pattern: &str, drive: &[String], cells: &[(u32, &str)], requests: u64) -> Vec<String> {
        let measure = |&(depth, size): &(u32, &str)| {
            let job = format!(
                "[global]\ndirect=1\nioengine=libaio\nrw={pattern}\nbs={size}\niodepth={depth}\n\
                 number_ios={requests}\nsize=100%\nnorandommap=1\n[job]\nfilename=/dev/nvme0n1\n"
            );
            let name = format!("{size}-{depth}.json");
            self.write(&name, self.run_fio(&job, drive));
            name
        };
        cells.iter().map(measure).collect()
    }

    /// Runs a job file on a drive with these options, and returns what fio would write.
    fn run_fio(&self, job: &str, drive: &[String]) -> String {
        self.write("job.fio", job);
        let of_fio = ["workload.kind=fio".to_owned(), format!("workload.path={:?}", self.text("job.fio"))];
        let sets = [drive, &of_fio].concat();
        let experiment = Experiment::load_run(&Catalog::builtin(), &self.text("start.toml"), &sets);
        let experiment = experiment.unwrap_or_else(|problems| panic!("{problems}\n{job}"));
        let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}\n{job}"));
        let finished = prepared.run(false, &Quiet, &mut []).expect("every check holds");
        finished.fio_json.expect("the workload is a fio job file").to_string()
    }

    /// Records an open load on a drive with these options: its log, or, of issued requests, what blkparse prints.
    fn record(&self, name: &str, drive: &[String], is_issued: bool) {
        let experiment = Experiment::load_run(&Catalog::builtin(), &self.text("start.toml"), drive);
        let experiment = experiment.unwrap_or_else(|problems| panic!("{problems}"));
        let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
        let (mut log, mut events) = (Log::new(Vec::new()), Events::default());
        prepared.run(false, &Quiet, &mut [&mut log, &mut events]).expect("every check holds");
        match is_issued {
            true => self.write(name, events.text()),
            false => self.write(name, log.finish().expect("memory takes everything")),
        }
    }

    fn load(&self, inputs: &[String], varies: &[&str], hold_out: HoldOut, restarts: u64) -> Result<Fit, String> {
        self.load_as(inputs, &Asked { varies, hold_out, restarts, ..Asked::default() })
    }

    fn load_as(&self, inputs: &[String], asked: &Asked<'_>) -> Result<Fit, String> {
        let Asked { sets, varies, hold_out, restarts, slices, requests } = *asked;
        let inputs: Vec<String> = inputs.iter().map(|name| self.text(name)).collect();
        let varies: Vec<String> = varies.iter().map(|&vary| vary.to_owned()).collect();
        let start = start_of(&self.text("start.toml")).map_err(|problem| problem.to_string())?;
        let options = FitOptions {
            inputs: &inputs,
            start: &start,
            sets,
            varies: &varies,
            hold_out,
            requests,
            slices,
            restarts,
            seed: 1,
        };
        Fit::load(&Catalog::builtin(), &options).map_err(|problems| problems.to_string())
    }

    fn refusal(&self, inputs: &[String], varies: &[&str]) -> String {
        self.load(inputs, varies, HoldOut::Second, 1).err().expect("it is refused")
    }
}

/// What is asked of a fit.
struct Asked<'a> {
    sets: &'a [String],
    varies: &'a [&'a str],
    hold_out: HoldOut,
    restarts: u64,
    slices: u64,
    requests: u64,
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Self { sets: &[], varies: &[], hold_out: HoldOut::Second, restarts: 1, slices: 4, requests: REQUESTS }
    }
}

/// Issues and completions of every request, each with its time.
#[derive(Default)]
struct Events(Vec<(u64, char, Request)>);

impl Observer for Events {
    fn interest(&self) -> Interest {
        Interest { served: true, ..Interest::default() }
    }

    fn served(&mut self, served: &Served) {
        self.0.push((served.dispatched_ns, 'D', served.request));
        self.0.push((served.ended_ns, 'C', served.request));
    }
}

impl Events {
    fn text(mut self) -> String {
        self.0.sort_by_key(|(at, event, _)| (*at, *event));
        let line = |(at, event, request): &(u64, char, Request)| {
            let op = if request.op == Op::Read { 'R' } else { 'W' };
            let (s, ns) = (at / 1_000_000_000, at % 1_000_000_000);
            format!("8,0 0 1 {s}.{ns:09} 7 {event} {op} {} + {} [0]\n", request.lba, request.sectors)
        };
        self.0.iter().map(line).collect()
    }
}

fn sets(of: &[(&str, &str)]) -> Vec<String> {
    of.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

fn parameter<'a>(result: &'a FitResult, key: &str) -> &'a FittedParameter {
    result.parameters.iter().find(|one| one.key == key).unwrap_or_else(|| panic!("{key} was fitted"))
}

/// Errors of a quantity of reads over the fitted cells.
fn fitted(result: &FitResult, quantity: &str) -> ErrorResult {
    let one = result.summary.iter().find(|one| one.quantity == quantity).expect("it was compared");
    one.fitted.expect("there are such cells")
}

/// Errors of a quantity of reads over the cells held out.
fn held_out(result: &FitResult, quantity: &str) -> ErrorResult {
    let one = result.summary.iter().find(|one| one.quantity == quantity).expect("it was compared");
    one.held_out.expect("there are such cells")
}

/// The number of a quantity in nanoseconds or bytes a second.
fn number(catalog_key: &str, text: &str) -> f64 {
    let catalog = Catalog::builtin();
    let (_, value) = flashloom_config::check_set(&catalog, &format!("{catalog_key}={text}"))
        .unwrap_or_else(|problems| panic!("{problems}"));
    match value {
        Value::Time(number) | Value::Rate(number) => number as f64,
        other => panic!("no quantity: {other:?}"),
    }
}

const CELLS: [(u32, &str); 4] = [(1, "4k"), (4, "4k"), (16, "16k"), (32, "4k")];
const VARIES: [&str; 3] = ["device.read_time=20us..150us", "device.controller_time=1us..30us", "device.ways=1,2"];

#[test]
fn a_known_drive_comes_back_from_what_fio_measured_of_it() {
    let lab = Lab::new();
    let truth = sets(&[("device.read_time", "81us"), ("device.controller_time", "14us"), ("device.ways", "1")]);
    let inputs = lab.measure(&truth, &CELLS, REQUESTS);
    let fit = lab.load(&inputs, &VARIES, HoldOut::Second, 2).unwrap_or_else(|problems| panic!("{problems}"));
    let result = fit.run(Journal::in_memory(), &Quiet).expect("every check holds");
    assert_eq!(parameter(&result, "device.ways").value, "1");
    for (key, truth) in [("device.read_time", 81_000.0), ("device.controller_time", 14_000.0)] {
        let one = parameter(&result, key);
        assert!(one.is_determined, "{one:?}");
        assert!((number(key, &one.value) / truth - 1.0).abs() < 0.1, "{one:?}, in truth {truth}");
    }
    for (quantity, most) in [("requests/s", 0.05), ("p50", 0.05), ("p99", 0.1)] {
        let found = held_out(&result, quantity).greatest;
        assert!(found < most, "{quantity} of a cell held out is {found} off");
    }
    assert_eq!(result.cells.iter().map(|cell| cell.held_out).collect::<Vec<_>>(), [false, true, false, true]);

    // The file of the drive is a preset: it has the values of the fit and of the start, at the full size.
    let config = fit.fitted(&result).unwrap_or_else(|problems| panic!("{problems}"));
    let preset = fitted_preset(&result, &config);
    fs::create_dir(lab.path("drives")).expect("a folder of the test can be made");
    lab.write("drives/mine.toml", &preset);
    lab.write("use.toml", "device.preset = \"./drives/mine.toml\"\ndevice.channels = 4\n");
    let used = Experiment::load_run(&Catalog::builtin(), &lab.text("use.toml"), &[]);
    let used = used.unwrap_or_else(|problems| panic!("{problems}\n{preset}"));
    let of_drive = |section: &str| ["device", "buffer", "ftl", "host"].contains(&section);
    for ((key, value), (_, expected)) in used.variants[0].config.values().zip(config.values()) {
        let path = key.path();
        let expected = match path.as_str() {
            "device.preset" => continue,
            "device.channels" => "4".to_owned(),
            _ => toml_value(expected).unwrap_or_default(),
        };
        if path.split('.').next().is_some_and(of_drive) {
            assert_eq!(toml_value(value).unwrap_or_default(), expected, "{path}");
        }
    }
    assert!(used.inputs().iter().any(|input| input.ends_with("drives/mine.toml")));
    let prepared = Prepared::new(&used).unwrap_or_else(|problems| panic!("{problems}"));
    let inputs = prepared.inputs(0);
    assert!(inputs.iter().any(|input| input.role == "preset" && input.name.ends_with("mine.toml")), "{inputs:?}");

    // Names of files and jobs may be a stranger's: whatever they are, they stay within their comments.
    let hostile = "x\n[ftl]\r\ngc_threshold = 77 # \u{1b}[31m\u{202e}";
    let mut poisoned = result.clone();
    poisoned.start = hostile.to_owned();
    poisoned.warnings = vec![hostile.to_owned()];
    for cell in &mut poisoned.cells {
        (cell.input, cell.job, cell.load) = (hostile.to_owned(), Some(hostile.to_owned()), hostile.to_owned());
    }
    let poisoned = fitted_preset(&poisoned, &config);
    lab.write("drives/mine.toml", &poisoned);
    let again = Experiment::load_run(&Catalog::builtin(), &lab.text("use.toml"), &[]);
    let again = again.unwrap_or_else(|problems| panic!("{problems}\n{poisoned}"));
    assert_eq!(again.variants[0].config.to_toml(), used.variants[0].config.to_toml());
    assert_eq!(poisoned.lines().count() + result.warnings.len(), preset.lines().count() + 1, "no line is a name's");
    assert!(poisoned.contains("x\\n[ftl]\\r\\ngc_threshold") && !poisoned.contains(['\u{1b}', '\u{202e}', '\r']));
}

/// An open load of reads and writes, as options.
const LOAD: [(&str, &str); 5] = [
    ("workload.synthetic.requests", "24000"),
    ("workload.synthetic.read_share", "0.8"),
    ("workload.synthetic.interarrival", "200us"),
    ("workload.synthetic.request_size", "8KiB"),
    ("workload.synthetic.footprint_size", "32MiB"),
];

/// Of a fit whose truth is known: parameters that are determined within a tenth, the first of them among these; medians
/// that were held out within 5 %, p99 within 10 %.
fn check_truth(result: &FitResult, truth: &[(&str, &str)]) {
    assert!(parameter(result, truth[0].0).is_determined, "{result:?}");
    for (key, truth) in truth {
        let one = parameter(result, key);
        if !one.is_range {
            assert_eq!(one.value, *truth);
            continue;
        }
        let off = number(key, &one.value) / number(key, truth) - 1.0;
        assert!(!one.is_determined || off.abs() < 0.1, "{one:?}, in truth {truth}");
    }
    for one in &result.summary {
        let most = match &one.quantity[..] {
            "p50" => 0.05,
            "p99" => 0.1,
            _ => continue,
        };
        // A median may lie at a step between requests that waited and those that did not: then one cell is off by it.
        let found = one.held_out.expect("cells were held out").mean;
        assert!(found < most, "{} {} of the cells held out is {found} off", one.operation, one.quantity);
    }
}

#[test]
fn a_known_drive_comes_back_from_a_recording_of_it() {
    let lab = Lab::new();
    let truth = [
        ("device.read_time", "81us"),
        ("device.program_time", "430us"),
        ("device.controller_time", "14us"),
        ("device.ways", "1"),
    ];
    // Fewer dies of more blocks each: the capacity is that of the start.
    lab.record("log.csv", &sets(&[&LOAD[..], &truth, &[("device.blocks", "512")]].concat()), false);
    let varies = [&VARIES[..], &["device.program_time=200us..1500us"]].concat();
    let given = sets(&[("workload.sort", "true")]);
    let asked = |slices| Asked { sets: &given, varies: &varies, restarts: 2, slices, ..Asked::default() };
    let load = |slices| lab.load_as(&["log.csv".to_owned()], &asked(slices));
    let fit = load(6).unwrap_or_else(|problems| panic!("{problems}"));
    let result = fit.run(Journal::in_memory(), &Quiet).expect("every check holds");
    check_truth(&result, &truth);
    let shown: Vec<_> = result.cells.iter().map(|cell| (cell.job.as_deref(), cell.held_out)).collect();
    assert_eq!((shown.len(), shown[0], shown[5]), (6, (Some("slice 1 of 6"), false), (Some("slice 6 of 6"), true)));
    assert_eq!(result.cells[1].load, "flashloom, requests 4,001 to 8,000 at their recorded times");
    let quantities: Vec<_> = result.summary.iter().map(|one| (&one.operation[..], &one.quantity[..])).collect();
    let expected = [("read", "p50"), ("read", "p90"), ("read", "p99"), ("write", "p50"), ("write", "p90")];
    assert!(expected.iter().all(|one| quantities.contains(one)), "{quantities:?}");
    assert!(quantities.iter().all(|(_, quantity)| *quantity != "requests/s"), "the recording has fixed it");
    // A mean says of no slice what the fitted drive does.
    let null = result.summary.iter().filter_map(|one| one.held_out).map(|error| error.null_mean).fold(0.0, f64::max);
    assert!(null > 0.3, "{null}");

    // Too many slices leave some without figures; they end where they are said to.
    let problem = load(5_000).err().expect("it is refused");
    assert!(problem.contains("requests 1 to 5, slice 1 of 4800") && problem.contains("--slices"), "{problem}");
}

/// A drive with an SLC cache of a part of its blocks, erased before it is filled.
const CACHED: &str = "
[device]
channels = 2
ways = 2
planes = 2
blocks = 128
pages = 96
bits_per_cell = 3
page_size = \"8KiB\"
over_provisioning = 0.6
bus_rate = \"800MB/s\"
read_time = \"60us\"
program_time = \"600us\"
slc_read_time = \"30us\"
slc_program_time = \"100us\"

[ftl]
slc_cache = \"static\"
slc_static_share = 0.3

[buffer]
capacity = \"256KiB\"

[run]
precondition = \"none\"
";

/// The curve of a fill of a drive with these options, in six stretches.
fn fill_of(lab: &Lab, drive: &[String]) -> String {
    let curve = |rates: [f64; 6]| {
        let line = |(number, rate): (usize, f64)| format!("{},{rate}\n", (number + 1) * 26_000_000);
        let lines: String = rates.into_iter().enumerate().map(line).collect();
        format!("written_bytes,bytes_per_second\n{lines}")
    };
    lab.write("any.csv", curve([1e8; 6]));
    let start = start_of(&lab.text("start.toml")).expect("it is there");
    let validation = Validation::load(&Catalog::builtin(), &[start], drive, &[lab.text("any.csv")], REQUESTS);
    let validation = validation.unwrap_or_else(|problems| panic!("{problems}"));
    let ready = validation.prepare().unwrap_or_else(|problems| panic!("{problems}"));
    let result = ready.run(&Quiet).expect("every check holds");
    let stretches = result.comparisons[0].rates.iter().filter(|rate| rate.quantity.starts_with("bytes/s, to "));
    let rates: Vec<f64> = stretches.map(|rate| rate.rate.simulated).collect();
    curve(rates.try_into().expect("all six are compared"))
}

#[test]
fn a_known_drive_comes_back_from_the_curve_of_a_fill() {
    let lab = Lab::new();
    lab.write("start.toml", CACHED);
    let truth = [("device.slc_program_time", "140us"), ("device.program_time", "800us")];
    lab.write("fill.csv", fill_of(&lab, &sets(&truth)));
    let inputs = ["fill.csv".to_owned()];
    let varies = ["device.slc_program_time=50us..400us", "device.program_time=300us..2ms"];
    let fit = lab.load(&inputs, &varies, HoldOut::Second, 1).unwrap_or_else(|problems| panic!("{problems}"));
    let result = fit.run(Journal::in_memory(), &Quiet).expect("every check holds");
    for (key, truth) in truth {
        let one = parameter(&result, key);
        assert!(one.is_determined, "{one:?}");
        assert!((number(key, &one.value) / number(key, truth) - 1.0).abs() < 0.1, "{one:?}, in truth {truth}");
    }
    let rates = held_out(&result, "requests/s");
    assert!(rates.cells == 3 && rates.greatest < 0.05 && rates.null_mean > 0.2, "{rates:?}");
    assert!(result.cells.iter().all(|cell| cell.job.as_ref().is_some_and(|job| job.starts_with("to "))));
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);

    // A drive that was full has another rate, which is said; one that does not hold every stretch does not fit.
    let of = |set: &str| {
        let asked = Asked {
            sets: &[set.to_owned()],
            varies: &varies[1..],
            hold_out: HoldOut::Second,
            restarts: 1,
            ..Asked::default()
        };
        lab.load_as(&inputs, &asked)
    };
    let full = of("run.precondition=fill").unwrap_or_else(|problems| panic!("{problems}"));
    let warnings = full.run(Journal::in_memory(), &Quiet).expect("every check holds").warnings;
    assert!(warnings.iter().any(|one| one.contains("fill.csv: the simulated drive is full before the fill")));
    let short = of("device.pages=24").unwrap_or_else(|problems| panic!("{problems}"));
    let failure = short.run(Journal::in_memory(), &Quiet).expect_err("it does not hold all of the fill");
    assert!(failure.to_string().contains("no drive within these ranges serves the measured loads"), "{failure}");
    lab.write("bad.csv", "written_bytes,bytes_per_second\n100,4e9\n90,1e9\n");
    let bad = lab.load(&["bad.csv".to_owned()], &varies, HoldOut::None, 1);
    assert!(bad.err().is_some_and(|problem| problem.contains("bad.csv:3:1")));
}

#[test]
fn issued_requests_and_jobs_of_fio_are_fitted_together() {
    let lab = Lab::new();
    let truth = [("device.read_time", "64us"), ("device.controller_time", "9us")];
    let load = [&LOAD[..], &[("workload.synthetic.read_share", "1"), ("workload.synthetic.interarrival", "40us")]];
    lab.record("issued.txt", &sets(&[&load.concat()[..], &truth].concat()), true);
    let mut inputs = lab.measure(&sets(&truth), &[(1, "4k"), (8, "16k")], 4_000);
    inputs.push("issued.txt".to_owned());
    let varies = ["device.read_time=20us..150us", "device.controller_time=1us..30us"];
    let fit = lab.load(&inputs, &varies, HoldOut::Second, 1).unwrap_or_else(|problems| panic!("{problems}"));
    let result = fit.run(Journal::in_memory(), &Quiet).expect("every check holds");
    check_truth(&result, &truth);
    let held_out: Vec<_> = result.cells.iter().map(|cell| cell.held_out).collect();
    assert_eq!(held_out, [false, true, false, true, false, true]);
    assert!(result.cells[2].load.starts_with("blkparse, issued requests 1 to "), "{:?}", result.cells[2]);

    // A journal knows the requests of a recording.
    let open = |fit: &Fit| fit.open_journal(&lab.path("journal"), "program").map(|journal| journal.taken());
    assert_eq!(open(&fit).unwrap_or_else(|problem| panic!("{problem}")), 0);
    let text = fs::read_to_string(lab.path("issued.txt")).expect("it was written");
    lab.write("issued.txt", text.replacen(" + 16 [0]\n8,0", " + 8 [0]\n8,0", 1));
    let other = lab.load(&inputs, &varies, HoldOut::Second, 1).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(open(&other).expect_err("it is another load").to_string().contains("the journal of another fit"));
}

#[test]
fn a_known_drive_comes_back_from_the_jobs_that_are_written_for_a_fit() {
    let lab = Lab::new();
    let truth = [("device.read_time", "58us"), ("device.controller_time", "11us"), ("device.bus_rate", "310MB/s")];
    let mut inputs = Vec::new();
    for (path, text) in job_files(JobTime::FiveMinutes) {
        let Some((folder, name)) = path.strip_suffix(".fio").and_then(|path| path.split_once('/')) else {
            assert!(path == PAGE && text.contains("--readonly --filename="), "{path}: {text}");
            continue;
        };
        let writes = text.lines().any(|line| ["rw=write", "rw=randwrite", "rw=randrw"].contains(&line));
        assert!(writes == (folder == "destructive") && writes == text.contains("OVERWRITES"), "{path}: {text}");
        assert!(!text.contains("filename"), "fio has it from its user");
        let runtime = text.lines().find(|line| line.starts_with("runtime=")).expect("every job has one");
        let text = text.replace("[global]\n", "[global]\nfilename=/dev/nvme0n1\n").replace(runtime, "runtime=400ms");
        let json = lab.run_fio(&text, &sets(&truth));
        let file = format!("{name}.json");
        lab.write(&file, json);
        // The page says which results a fit can use.
        let page = &job_files(JobTime::FiveMinutes)[0].1;
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}.fio`"))).expect("every file has a row");
        let alone = [file.clone()];
        let loaded = lab.load_as(&alone, &Asked { hold_out: HoldOut::None, varies: &VARIES[..1], ..Asked::default() });
        let is_used = row.ends_with("| yes |");
        assert_eq!(loaded.is_ok(), is_used || name == "1-fill", "{path}: {:?}", loaded.err());
        if is_used && folder == "read-only" {
            inputs.push(file);
        }
    }
    assert_eq!(inputs, ["latency-by-size.json", "parallelism-by-depth.json", "sequential.json"]);
    let varies = [VARIES[0], VARIES[1], "device.bus_rate=80MB/s..2400MB/s"];
    let asked = Asked { varies: &varies, requests: 4_000, ..Asked::default() };
    let fit = lab.load_as(&inputs[..2], &asked).unwrap_or_else(|problems| panic!("{problems}"));
    let result = fit.run(Journal::in_memory(), &Quiet).expect("every check holds");
    assert_eq!(result.cells.len(), 20);
    check_truth(&result, &truth);
}

/// Progress that ends a fit after so many simulations.
struct EndsAfter {
    left: std::sync::atomic::AtomicU64,
    interrupt: Interrupt,
}

impl Progress for EndsAfter {
    fn requests(&self, _count: u64) {}
    fn ageing(&self, _pages: u64) {}
    fn ageing_ended(&self, _pages: u64, _expected: u64) {}
    fn run_ended(&self) {
        if self.left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 1 {
            self.interrupt.raise();
        }
    }
    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

#[test]
fn a_fit_that_was_interrupted_goes_on_and_ends_as_any_other_in_any_number_of_threads() {
    let lab = Lab::new();
    let inputs = lab.measure(&sets(&[("device.read_time", "70us")]), &CELLS[..2], 4_000);
    let fit = lab.load(&inputs, &VARIES[..1], HoldOut::Second, 1).unwrap_or_else(|problems| panic!("{problems}"));
    let run = |threads: usize, journal: Journal| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        pool.install(|| fit.run(journal, &Quiet)).expect("every check holds")
    };
    let whole = run(1, Journal::in_memory());
    assert_eq!(run(3, Journal::in_memory()), whole);
    let ends = EndsAfter { left: 9.into(), interrupt: Interrupt::default() };
    let open = || fit.open_journal(&lab.path("journal"), "program").unwrap_or_else(|problem| panic!("{problem}"));
    let ended = fit.run(open(), &ends);
    assert!(matches!(ended, Err(Failure::Interrupted)), "{ended:?}");
    let journal = open();
    assert!((1..=10).contains(&journal.taken()), "{} simulations are kept", journal.taken());
    assert_eq!(run(2, journal), whole);
    assert!(open().taken() > 20, "all are kept");
}

/// Hands every question to another fit, as text, as if it were in another process.
struct Elsewhere<'a> {
    worker: &'a Fit,
    asked: AtomicU64,
}

impl Simulator for Elsewhere<'_> {
    fn simulate(&self, question: &Question, progress: &dyn Progress) -> Result<Answer, Failure> {
        let sent = serde_json::to_string(question).expect("a question is text and numbers");
        let received: Question = serde_json::from_str(&sent).expect("it was written here");
        self.asked.fetch_add(1, Ordering::Relaxed);
        let answer = serde_json::to_string(&self.worker.simulate(&received, progress)?).expect("so is an answer");
        Ok(serde_json::from_str(&answer).expect("it was written here"))
    }
}

/// Answers without figures.
struct Mute;

impl Simulator for Mute {
    fn simulate(&self, _: &Question, _: &dyn Progress) -> Result<Answer, Failure> {
        Ok(serde_json::from_str("{\"figures\":[]}").expect("it has no figures"))
    }
}

#[test]
fn a_fit_whose_simulations_are_made_elsewhere_ends_as_any_other() {
    let lab = Lab::new();
    let truth = sets(&[("device.read_time", "70us")]);
    lab.record("open.csv", &[&sets(&LOAD)[..], &truth].concat(), false);
    let mut inputs = lab.measure(&truth, &CELLS[..2], 2_000);
    inputs.push("open.csv".to_owned());
    let given = sets(&[("workload.sort", "true")]);
    let asked = Asked { sets: &given, varies: &VARIES[..2], requests: 2_000, ..Asked::default() };
    let load = |inputs: &[String]| lab.load_as(inputs, &asked).unwrap_or_else(|problems| panic!("{problems}"));
    let fit = load(&inputs);
    // The worker has the same recording under another name.
    fs::copy(lab.path("open.csv"), lab.path("copy.csv")).expect("it can be copied");
    inputs[2] = "copy.csv".to_owned();
    let worker = load(&inputs);
    assert_eq!(worker.fingerprint("program"), fit.fingerprint("program"));
    let elsewhere = Elsewhere { worker: &worker, asked: 0.into() };
    let run = |journal: Journal| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(16).build().expect("threads can be started");
        pool.install(|| fit.run_on(&elsewhere, journal, &Quiet)).expect("every check holds")
    };
    let open = || fit.open_journal(&lab.path("journal"), "program").unwrap_or_else(|problem| panic!("{problem}"));
    let whole = fit.run(Journal::in_memory(), &Quiet).expect("every check holds");
    assert_eq!(run(open()), whole);
    let asked = elsewhere.asked.load(Ordering::Relaxed);
    assert!(asked > 100, "{asked} simulations were made elsewhere");
    // What was made elsewhere is in the journal.
    assert_eq!(fit.run(open(), &Quiet).expect("every check holds"), whole);
    assert_eq!((run(open()), elsewhere.asked.load(Ordering::Relaxed)), (whole, asked));

    // Another program, start or recording is another fit.
    let fingerprint = fit.fingerprint("program");
    assert_ne!(fit.fingerprint("other"), fingerprint);
    let text = fs::read_to_string(lab.path("copy.csv")).expect("it was written");
    lab.write("copy.csv", text.replacen(",R,", ",W,", 1));
    assert_ne!(load(&inputs).fingerprint("program"), fingerprint);
    inputs[2] = "open.csv".to_owned();
    lab.write("start.toml", DRIVE.replace("bus_rate = \"400MB/s\"", "bus_rate = \"300MB/s\""));
    assert_ne!(load(&inputs).fingerprint("program"), fingerprint);

    // An answer about another load fails the fit.
    let two = lab.load(&inputs[..2], &VARIES[..2], HoldOut::Second, 1).unwrap_or_else(|problems| panic!("{problems}"));
    let failed = fit.run_on(&two, Journal::in_memory(), &Quiet).expect_err("it lacks the third load").to_string();
    assert!(failed.contains("a question of another fit"), "{failed}");
    let failed = two.run_on(&Mute, Journal::in_memory(), &Quiet).expect_err("it says nothing of cells").to_string();
    assert!(failed.contains("figures of 0 cells, of 1"), "{failed}");

    // What is no question of this fit is refused, and does not panic.
    for wrong in ["\"load\":3", "\"combination\":9", "\"seed\":99", "\"seed\":18446744073709551615"] {
        let (field, _) = wrong.split_once(':').expect("it has a value");
        let whole = r#"{"load":0,"combination":0,"seed":0,"sets":[]}"#;
        let question = serde_json::from_str(&whole.replace(&format!("{field}:0"), wrong)).expect("it has every field");
        let refused = fit.simulate(&question, &Quiet).expect_err("it is of another fit").to_string();
        assert!(refused.contains("a question of another fit"), "{wrong}: {refused}");
    }
}

#[test]
fn a_fit_says_what_its_runs_say_of_the_drive() {
    let lab = Lab::new();
    let inputs = lab.measure_of("randwrite", &sets(&[("run.precondition", "none")]), &CELLS[..2], 2_000);
    let warnings = |precondition: &str| {
        let given = sets(&[("run.precondition", precondition)]);
        let asked = Asked { sets: &given, varies: &VARIES[1..2], requests: 2_000, ..Asked::default() };
        let fit = lab.load_as(&inputs, &asked).unwrap_or_else(|problems| panic!("{problems}"));
        fit.run(Journal::in_memory(), &Quiet).expect("every check holds").warnings
    };
    let never = warnings("none");
    let said = never.iter().find(|one| one.contains(": No block was erased during the run")).expect("it is said");
    assert!(said.contains("4k-1.json, job \"job\", and 1 more: ") && said.ends_with("(`run.precondition`)"), "{said}");
    // What a run says of its load is the measurement's.
    assert!(never.iter().all(|one| !one.contains("outstanding") && !one.contains("percentile")), "{never:?}");
    let steady = warnings("steady");
    assert!(steady.iter().all(|one| !one.contains("No block was erased")), "{steady:?}");
}

#[test]
fn each_cell_is_left_out_in_turn() {
    let lab = Lab::new();
    let inputs = lab.measure(&[], &CELLS[..2], 4_000);
    let fit = lab.load(&inputs, &VARIES[..1], HoldOut::Each, 1).unwrap_or_else(|problems| panic!("{problems}"));
    let result = fit.run(Journal::in_memory(), &Quiet).expect("every check holds");
    assert!(result.cells.iter().all(|cell| cell.held_out && !cell.errors.is_empty() && !cell.seen_errors.is_empty()));
    assert!(fitted(&result, "p50").greatest <= held_out(&result, "p50").greatest);
}

/// A drive of random figures, as options; the fit looks for the last four.
fn random_drive(prng: &mut Prng) -> Vec<(&'static str, String)> {
    let mut between = |from: f64, to: f64| {
        let place = prng.below(1 << 20) as f64 / (1 << 20) as f64;
        (from * (to / from).powf(place)).round()
    };
    let mut pick = |of: &[u32]| of[between(1.0, f64::from(1 << of.len())).log2() as usize % of.len()].to_string();
    let (channels, planes, ways) = (pick(&[1, 2, 4]), pick(&[1, 2]), pick(&[1, 2, 4]));
    let pages = [between(25.0, 120.0), between(2.0, 25.0), between(150.0, 1_200.0)];
    vec![
        ("device.channels", channels),
        ("device.planes", planes),
        ("device.ways", ways),
        ("device.read_time", format!("{}us", pages[0])),
        ("device.controller_time", format!("{}us", pages[1])),
        ("device.bus_rate", format!("{}MB/s", pages[2])),
    ]
}

#[test]
#[ignore = "ten fits take minutes: make test-fit"]
fn ten_random_drives_come_back() {
    const REQUESTS: u64 = 80_000;
    let cells: Vec<(u32, &str)> =
        [1, 2, 4, 8, 16, 32].iter().flat_map(|&depth| [(depth, "4k"), (depth, "16k")]).collect();
    // Sizes and depths are both among the fitted and among those held out.
    let order = [0, 2, 4, 6, 8, 10, 3, 1, 7, 5, 11, 9];
    let mut prng = Prng::new(1).branch("drives");
    for drive in 0..10 {
        let lab = Lab::new();
        let truth = random_drive(&mut prng);
        let options: Vec<String> = truth.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let cells: Vec<(u32, &str)> = order.iter().map(|&cell| cells[cell]).collect();
        let inputs = lab.measure(&options, &cells, REQUESTS);
        // What is not fitted is known.
        let start = DRIVE.replace("channels = 2\n", &format!("channels = {}\n", truth[0].1));
        lab.write("start.toml", start.replace("planes = 2\n", &format!("planes = {}\n", truth[1].1)));
        let varies = [
            "device.ways=1,2,4",
            "device.read_time=15us..200us",
            "device.controller_time=1us..50us",
            "device.bus_rate=80MB/s..2400MB/s",
        ];
        let fit = lab.load(&inputs, &varies, HoldOut::Second, 3).unwrap_or_else(|problems| panic!("{problems}"));
        let result = fit.run(Journal::in_memory(), &Quiet).expect("every check holds");
        let [p50, p99] = ["p50", "p99"].map(|quantity| held_out(&result, quantity));
        let shown = |error: ErrorResult| format!("{:.1} % ({:.1} %)", error.mean * 100.0, error.greatest * 100.0);
        println!("drive {drive}: {}", options.join(", "));
        result.combinations.iter().for_each(|one| println!("  {:?} {:?}", one.values, (one.objective, one.round)));
        println!("  held out, mean (greatest) error: p50 {}, p99 {}", shown(p50), shown(p99));
        for (key, expected) in &truth[2..] {
            let one = parameter(&result, key);
            let verdict = if one.is_determined { "" } else { ", not determined" };
            println!("  {key}: in truth {expected}, fitted {}{verdict} ({:?} is as good)", one.value, one.as_good);
            if *key == "device.ways" {
                assert!(!one.is_determined || one.value == *expected, "{one:?}, in truth {expected}");
            } else if one.is_determined {
                let off = number(key, &one.value) / number(key, expected) - 1.0;
                assert!(off.abs() < 0.1, "{one:?}, in truth {expected}");
            }
        }
        // A median may lie at a step between requests that waited and those that did not: then one cell is off by it.
        assert!(p50.mean < 0.05 && p99.mean < 0.1, "p50 {p50:?}, p99 {p99:?}");
    }
}
