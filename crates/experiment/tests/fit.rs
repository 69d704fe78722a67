//! Fits whose truth is known: the inputs are what a simulated fio measured of a simulated drive, and the fit starts
//! from another drive. Beside them, measurements and parameters that cannot be fitted.

use std::fs;
use std::path::PathBuf;

use flashloom_experiment::config::{Catalog, Experiment, toml_value};
use flashloom_experiment::fit::{
    ErrorResult, Fit, FitOptions, FitResult, FittedParameter, HoldOut, Journal, fitted_preset,
};
use flashloom_experiment::run::{Failure, Prepared, Progress, Quiet};
use flashloom_units::{Interrupt, Prng, Value};
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
            self.write("job.fio", job);
            let of_fio = ["workload.kind=fio".to_owned(), format!("workload.path={:?}", self.text("job.fio"))];
            let sets = [drive, &of_fio].concat();
            let experiment = Experiment::load_run(&Catalog::builtin(), &self.text("start.toml"), &sets);
            let experiment = experiment.unwrap_or_else(|problems| panic!("{problems}"));
            let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
            let finished = prepared.run(false, &Quiet, &mut []).expect("every check holds");
            let name = format!("{size}-{depth}.json");
            self.write(&name, finished.fio_json.expect("the workload is a fio job file").to_string());
            name
        };
        cells.iter().map(measure).collect()
    }

    fn load(&self, inputs: &[String], varies: &[&str], hold_out: HoldOut, restarts: u64) -> Result<Fit, String> {
        let inputs: Vec<String> = inputs.iter().map(|name| self.text(name)).collect();
        let varies: Vec<String> = varies.iter().map(|&vary| vary.to_owned()).collect();
        let start = self.text("start.toml");
        let options = FitOptions {
            inputs: &inputs,
            start: &start,
            sets: &[],
            varies: &varies,
            hold_out,
            requests: REQUESTS,
            restarts,
            seed: 1,
        };
        Fit::load(&Catalog::builtin(), &options).map_err(|problems| problems.to_string())
    }

    fn refusal(&self, inputs: &[String], varies: &[&str]) -> String {
        self.load(inputs, varies, HoldOut::Second, 1).err().expect("it is refused")
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
    let (_, value) = flashloom_experiment::config::check_set(&catalog, &format!("{catalog_key}={text}"))
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
    let open = || fit.open_journal(&lab.path("journal")).unwrap_or_else(|problem| panic!("{problem}"));
    let ended = fit.run(open(), &ends);
    assert!(matches!(ended, Err(Failure::Interrupted)), "{ended:?}");
    let journal = open();
    assert!((1..=10).contains(&journal.taken()), "{} simulations are kept", journal.taken());
    assert_eq!(run(2, journal), whole);
    assert!(open().taken() > 20, "all are kept");
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

#[test]
fn what_cannot_be_fitted_is_refused_with_its_place() {
    let lab = Lab::new();
    let inputs = lab.measure(&[], &CELLS[..2], 2_000);
    let refused = |varies: &[&str], found: &str, place: &str| {
        let problem = lab.refusal(&inputs, varies);
        assert!(problem.contains(found) && problem.contains(place), "{varies:?}: {problem}");
    };
    refused(&["device.raed_time=1us..9us"], "unknown key `raed_time`", "did you mean `read_time`?");
    refused(&["device.read_time=9us..1us"], "the empty range from 9us to 1us", "--vary:1:18");
    refused(&["device.read_time=9us..9us"], "the empty range from 9us to 9us", "--vary:1:18");
    refused(&["device.read_time=9us,10us"], "`9us,10us` is not a range", "FROM..TO");
    refused(&["device.read_time=9us..10"], "`10` has no unit", "--vary:1:23");
    refused(&["device.page_size=4KiB..16KiB"], "expected a size with a unit", "--vary:1:18");
    refused(&["device.ways=1,99999"], "`99999` is out of range", "--vary:1:15");
    refused(&["workload.queue_depth=1,2"], "`workload.queue_depth` as a parameter", "--vary:1:1");
    refused(&["device.ways=1..20", "device.channels=1..20"], "400 combinations", "at most 256");
    refused(&["device.ways=1", "device.ways=2"], "`device.ways` is varied twice", "--vary:1:1");
    assert!(lab.refusal(&inputs[..1], &VARIES[..1]).contains("1 cell, of which some are to be held out"));
    assert!(lab.refusal(&["start.toml".to_owned()], &VARIES).contains("this is not JSON"));
    assert!(lab.refusal(&["missing.json".to_owned()], &VARIES).contains("missing.json"));

    let changed = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(lab.path(&inputs[1])).expect("it was written");
        assert!(text.contains(from), "{from} is in {text}");
        lab.write(name, text.replace(from, to));
        lab.refusal(&[inputs[0].clone(), name.to_owned()], &VARIES[..1])
    };
    let problem = changed("other.json", "/dev/nvme0n1", "/dev/sda");
    assert!(problem.contains("a measurement of `/dev/sda`") && problem.contains("other.json"), "{problem}");
    let problem = changed("empty.json", "\"total_ios\":2000", "\"total_ios\":0");
    assert!(problem.contains("no reads"), "{problem}");
    let problem = changed("broken.json", "\"50.000000\":", "\"50.000000\":17179869184, \"50.5\":17179869184, \"x\":");
    assert!(problem.contains("broken.json"), "{problem}");
    let problem = changed("polled.json", "\"percentile\":{", "\"percentile\":{\"0.500000\":17179869184,");
    assert!(problem.contains("percentiles in ascending order") && problem.contains("polled.json"), "{problem}");

    // The ranges of an experiment have places, too.
    for (written, found) in [
        ("\"device.read_time\" = [\"9us\"]", "1 values for `device.read_time`"),
        ("\"device.read_time\" = [\"9us\", \"4us\"]", "the empty range from 9us to 4us"),
        ("\"device.read_tim\" = [\"9us\", \"40us\"]", "unknown key `read_tim`"),
        ("device.ways = []", "an empty list"),
        ("device.ways = [1, 2]\n\"device.ways\" = [1, 4]", "`device.ways` is listed twice in [fit]"),
    ] {
        lab.write("start.toml", format!("[fit]\n{written}\n{DRIVE}"));
        let problem = lab.refusal(&inputs, &[]);
        assert!(problem.contains(found) && problem.contains("start.toml:2:"), "{written}: {problem}");
    }
}

#[test]
fn a_measurement_that_is_there_twice_is_refused() {
    let lab = Lab::new();
    let inputs = lab.measure(&[], &CELLS[..2], 2_000);
    let problem = lab.refusal(&[&inputs[..], &inputs[1..]].concat(), &VARIES[..1]);
    assert!(problem.contains("job \"job\" has the same figures as \"job\" of ") && problem.contains("4k-4.json"));
}

#[test]
fn on_a_drive_of_another_capacity_the_load_is_laid_out_anew() {
    let lab = Lab::new();
    let inputs = lab.measure_of("randwrite", &sets(&[("device.over_provisioning", "0.2")]), &[(4, "4k")], 2_000);
    let fitted = |starts_with: &str| {
        lab.write("start.toml", DRIVE.replace("[device]", &format!("[device]\nover_provisioning = {starts_with}")));
        let fit = lab.load(&inputs, &["device.over_provisioning=0.1999..0.2"], HoldOut::None, 1);
        let fit = fit.unwrap_or_else(|problems| panic!("{problems}"));
        fit.run(Journal::in_memory(), &Quiet).expect("every check holds")
    };
    let [less, more] = ["0.1", "0.5"].map(fitted);
    assert_eq!((less.objective, &less.cells[0].errors), (more.objective, &more.cells[0].errors));
    assert!(!less.cells[0].errors.is_empty());
}

#[test]
fn a_drive_that_does_not_live_through_the_load_fits_nothing() {
    let lab = Lab::new();
    let inputs = lab.measure_of("randwrite", &[], &[(4, "4k")], 20_000);
    lab.write("start.toml", DRIVE.replace("[device]", "[device]\nprogram_failures = 0.05"));
    let fit = lab.load(&inputs, &["device.read_time=20us..80us"], HoldOut::None, 1);
    let fit = fit.unwrap_or_else(|problems| panic!("{problems}"));
    let failure = fit.run(Journal::in_memory(), &Quiet).expect_err("no drive serves all");
    assert!(failure.to_string().contains("no drive within these ranges"), "{failure}");
}

#[test]
fn reads_of_a_disk_are_refused() {
    let lab = Lab::new();
    let inputs = lab.measure(&sets(&[("device.read_time", "6ms")]), &CELLS[..2], 2_000);
    let problem = lab.refusal(&inputs, &VARIES[..1]);
    assert!(problem.contains("a disk, or a network volume") && problem.contains("4k-1.json"), "{problem}");
}

#[test]
fn a_preset_in_a_file_that_is_none_is_refused_with_its_place() {
    let lab = Lab::new();
    let refused = |preset: &str, found: &str, place: &str| {
        lab.write("mine.toml", preset);
        lab.write("use.toml", "[device]\npreset = \"./mine.toml\"\n");
        let used = Experiment::load_run(&Catalog::builtin(), &lab.text("use.toml"), &[]);
        let problem = used.expect_err("it is refused").to_string();
        assert!(problem.contains(found) && problem.contains(place), "{preset}: {problem}");
    };
    refused("[device]\nchanels = 2\n", "unknown key `chanels`", "mine.toml:2:1");
    refused("[device]\nread_time = 2\n", "`2` has no unit", "mine.toml:2:13");
    refused("[device]\npreset = \"mlc-16g\"\n", "a preset in the file of a preset", "mine.toml:2:10");
    refused("[run]\nseed = 2\n", "`run.seed` in the file of a drive", "mine.toml:2:8");
    refused("[vary]\n\"device.ways\" = [1, 2]\n", "a list of an experiment in the file of a drive", "mine.toml:2:1");
    refused("[fit]\n\"device.ways\" = [1, 2]\n", "a list of an experiment in the file of a drive", "mine.toml:2:1");
    refused("[device]\nblocks = 3\n", "the device is too small", "use.toml:2:10");
    fs::remove_file(lab.path("mine.toml")).expect("it was written");
    let missing = Experiment::load_run(&Catalog::builtin(), &lab.text("use.toml"), &[]);
    let problem = missing.expect_err("it is refused").to_string();
    assert!(problem.contains("mine.toml") && problem.contains("use.toml:2:10"), "{problem}");
    let misspelt = ["device.preset=nvme-tlc-512".to_owned()];
    let used = Experiment::load_run(&Catalog::builtin(), &lab.text("start.toml"), &misspelt);
    assert!(used.expect_err("it is refused").to_string().contains("did you mean `nvme-tlc-512g`?"));
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
