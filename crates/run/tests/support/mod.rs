//! Shared by tests: experiments and runs of a text, a drive with enough pages for its ageing to be cached, a small
//! drive that is kept busy, and results without their cost.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use flashloom_config::{Catalog, Experiment, Source};
use flashloom_device::Observer;
use flashloom_figures::result::RunResult;
use flashloom_run::timeline::Timeline;
use flashloom_run::{Finished, Prepared, Quiet};

/// What is expected to be sound: an error fails the test in its own words.
pub trait Sound<T> {
    fn sound(self) -> T;
}

impl<T, E: Display> Sound<T> for Result<T, E> {
    #[track_caller]
    fn sound(self) -> T {
        self.unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Options, as experiments take them.
pub fn owned(options: &[&str]) -> Vec<String> {
    options.iter().map(|&option| option.to_owned()).collect()
}

/// The run of a text, with keys set.
pub fn single(text: &str, sets: &[&str]) -> Experiment {
    Experiment::from_source(&Catalog::builtin(), Source::text("test.toml", text), &owned(sets), None).sound()
}

/// The runs of a text, with keys set and others varied.
pub fn varied(text: &str, sets: &[&str], varies: &[&str]) -> Experiment {
    varied_in(PathBuf::new(), text, sets, varies)
}

/// The runs of a text that names files in a folder.
pub fn varied_in(folder: PathBuf, text: &str, sets: &[&str], varies: &[&str]) -> Experiment {
    let source = Source { folder, ..Source::text("test.toml", text) };
    Experiment::from_source(&Catalog::builtin(), source, &owned(sets), Some(&owned(varies))).sound()
}

/// An experiment whose inputs are sound.
pub fn prepared(experiment: Experiment) -> Prepared<'static> {
    Prepared::owned(experiment).sound()
}

/// Result of the run of a text, with keys set.
pub fn run(text: &str, sets: &[&str], verify: bool) -> RunResult {
    prepared(single(text, sets)).run_variant(0, verify, &Quiet).sound()
}

/// The run of a text, with the numbers of these columns of its timeline, a line each.
pub fn with_timeline<const N: usize>(text: &str, columns: [&str; N]) -> (Finished, Vec<[f64; N]>) {
    let mut timeline = Timeline::new(Vec::new(), true);
    let finished = prepared(single(text, &[])).run(false, &Quiet, &mut [&mut timeline]).sound();
    let table = String::from_utf8(timeline.finish().sound()).sound();
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("it has a head");
    let at = columns.map(|name| head.iter().position(|&column| column == name).expect("it is a column"));
    (finished, lines.map(|line| at.map(|at| line[at].parse().expect("a number"))).collect())
}

const EXPERIMENT: &str = r#"
[workload.synthetic]
requests = 3000
read_share = 0.3

[device]
preset = "mlc-16g"
blocks = 32
over_provisioning = 0.5

[buffer]
capacity = "1MiB"

[run]
precondition = "steady"
steady_tolerance = 0.2
steady_window = 0.31
"#;

/// A workload on a steady drive, with keys set, and others varied if there are any.
pub fn steady(catalog: &Arc<Catalog>, sets: &[&str], varies: &[&str]) -> Experiment {
    let varies = (!varies.is_empty()).then(|| owned(varies));
    Experiment::from_source(catalog, Source::text("aged.toml", EXPERIMENT), &owned(sets), varies.as_deref()).sound()
}

const BUSY: &str = r#"
[workload.synthetic]
requests = 12000
read_share = 0.4
request_size = "8KiB"

[device]
channels = 2
ways = 2
planes = 2
blocks = 96
over_provisioning = 0.25
pages = 32

[buffer]
capacity = "1MiB"
"#;

/// A run of a small drive that writes, collects and reads, with keys set, under those who watch it.
pub fn try_busy(sets: &[&str], observers: &mut [&mut dyn Observer]) -> Result<RunResult, String> {
    let source = Source::text("busy.toml", BUSY);
    let experiment = Experiment::from_source(&Catalog::builtin(), source, &owned(sets), None);
    let prepared = experiment.and_then(Prepared::owned).map_err(|problems| problems.to_string())?;
    prepared.run(false, &Quiet, observers).map(|finished| finished.result).map_err(|failure| failure.to_string())
}

/// [`try_busy`] of keys that are sound.
pub fn busy(sets: &[&str]) -> RunResult {
    try_busy(sets, &mut []).sound()
}

/// Requests of every kind, on a drive that collects garbage, under a scheduler that merges.
pub const CLOSED: &str = "
[workload]
kind = \"synthetic\"
requests = 6000
replay = \"closed\"
queue_depth = 16

[workload.synthetic]
footprint = \"60%\"
read_share = 0.4

[device]
channels = 2
ways = 1
dies = 1
planes = 1
blocks = 80
pages = 32
page_size = \"8KiB\"
over_provisioning = 0.25

[buffer]
capacity = \"512KiB\"
";

/// A result without its cost, as JSON.
pub fn lasting(mut result: RunResult) -> String {
    result.run = None;
    serde_json::to_string(&result).expect("a result is JSON")
}
