//! Studies: what is asked of many runs at once.
//!
//! [`validate`] holds a drive against measurements of a real one, and [`fit`] looks for the drive that repeats them.
//! [`probe`] finds the regions of a drive, and the number of requests that one of them serves in parallel.
//! [`reproduce`] repeats the experiments of published papers, and says which figures come out.

use flashloom_figures::output;
use flashloom_figures::schema::Output;

pub mod fit;
pub mod probe;
pub mod reproduce;
pub mod validate;

/// What studies write, for the registry of a program that has them.
pub const OUTPUTS: [Output; 3] = [
    output!("probe", "probe.json", probe::ProbeResult),
    output!("validation", "validation.json", validate::ValidationResult),
    output!("fit", "fit.json", fit::FitResult),
];
