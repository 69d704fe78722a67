//! Studies: what is asked of many runs at once.
//!
//! [`validate`] holds a drive against measurements of a real one, and [`fit`] looks for the drive that repeats them.
//! [`probe`] finds the regions of a drive, and the number of requests that one of them serves in parallel.
//! [`reproduce`] repeats the experiments of published papers, and says which figures come out.

use flashloom_experiment::registry::Output;
use schemars::schema_for;

use fit::FitResult;
use probe::ProbeResult;
use validate::ValidationResult;

pub mod fit;
pub mod probe;
pub mod reproduce;
pub mod validate;

/// What studies write, for the registry of a program that has them.
pub const OUTPUTS: [Output; 3] = [
    Output { name: "probe", file: Some("probe.json"), schema: || schema_for!(ProbeResult).to_value() },
    Output { name: "validation", file: Some("validation.json"), schema: || schema_for!(ValidationResult).to_value() },
    Output { name: "fit", file: Some("fit.json"), schema: || schema_for!(FitResult).to_value() },
];
