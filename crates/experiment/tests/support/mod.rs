//! Shared by tests of aged drives: a drive with enough pages to be cached, and results without their cost.

use std::sync::Arc;

use flashloom_experiment::config::{Catalog, Experiment, Source};
use flashloom_experiment::result::RunResult;

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

/// A result without its cost, as JSON.
pub fn lasting(mut result: RunResult) -> String {
    result.run = None;
    serde_json::to_string(&result).expect("a result is JSON")
}
