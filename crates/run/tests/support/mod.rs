//! Shared by tests: a drive with enough pages for its ageing to be cached, a small drive that is kept busy, and results
//! without their cost.

use std::sync::Arc;

use flashloom_config::{Catalog, Experiment, Source};
use flashloom_device::Observer;
use flashloom_figures::result::RunResult;
use flashloom_run::{Failure, Prepared, Quiet};

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
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let varies = (!varies.is_empty()).then(|| owned(varies));
    Experiment::from_source(catalog, Source::text("aged.toml", EXPERIMENT), &owned(sets), varies.as_deref())
        .unwrap_or_else(|problems| panic!("{problems}"))
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
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let experiment = Experiment::from_source(&Catalog::builtin(), Source::text("busy.toml", BUSY), &sets, None);
    let experiment = experiment.map_err(|problems| problems.to_string())?;
    let prepared = Prepared::new(&experiment).map_err(|problems| problems.to_string())?;
    let finished = prepared.run(false, &Quiet, observers).map_err(|failure: Failure| failure.to_string())?;
    Ok(finished.result)
}

/// A result without its cost, as JSON.
pub fn lasting(mut result: RunResult) -> String {
    result.run = None;
    serde_json::to_string(&result).expect("a result is JSON")
}
