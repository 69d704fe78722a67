//! Validation: a model beside measurements of a real drive.
//!
//! A measurement is replayed on the drive of an experiment, and what was recorded stands beside what was simulated:
//! latencies by operation and size ([`distribution`] says how far apart two distributions are), stalls and rates, each
//! beside the error of a null model that knows the measurement's own mean.

mod cells;
pub mod distribution;
mod recording;
mod result;

use std::path::PathBuf;
use std::sync::Arc;

use flashloom_units::{Problem, Problems};

use crate::config::{Catalog, Experiment};
use crate::run::{Cache, Failure, Prepared, Progress};
use recording::Recording;

pub use result::{
    CellResult, Compared, CurvePoint, CurveResult, PercentileResult, RateResult, Score, StallResult, VALIDATION_SCHEMA,
    ValidatedInput, ValidationResult,
};

/// Every measurement that is to be compared, each with the experiment of its drive; all have been checked.
pub struct Validation {
    cases: Vec<Case>,
}

/// A drive and a measurement.
struct Case {
    experiment: Experiment,
    measurement: Measurement,
}

enum Measurement {
    Recording(Recording),
}

impl Validation {
    /// Loads experiments, and checks the measurements that each is held against: the files `against`, or the recording
    /// that is its own workload.
    ///
    /// # Errors
    /// Every problem of an experiment, or the first of a measurement.
    pub fn load(
        catalog: &Arc<Catalog>,
        experiments: &[String],
        sets: &[String],
        against: &[String],
    ) -> Result<Self, Problems> {
        let mut cases = Vec::new();
        for path in experiments {
            if against.is_empty() {
                cases.push(Case::recording(Experiment::load_run(catalog, path, sets)?)?);
            }
            for file in against {
                let named = ["workload.kind=\"trace\"".to_owned(), format!("workload.path={file:?}")];
                let sets = [sets, &named].concat();
                cases.push(Case::recording(Experiment::load_run(catalog, path, &sets)?)?);
            }
        }
        Ok(Self { cases })
    }

    /// Files that are read.
    pub fn inputs(&self) -> Vec<PathBuf> {
        self.cases.iter().flat_map(|case| case.experiment.inputs()).collect()
    }

    /// The experiments.
    pub fn experiments(&self) -> impl Iterator<Item = &Experiment> {
        self.cases.iter().map(|case| &case.experiment)
    }

    /// Checks every experiment with its input to the end.
    ///
    /// # Errors
    /// Every problem of an input.
    pub fn prepare(&self) -> Result<Ready<'_>, Problems> {
        let mut ready = Vec::with_capacity(self.cases.len());
        for case in &self.cases {
            ready.push((case, Prepared::new(&case.experiment)?));
        }
        Ok(Ready(ready))
    }
}

impl Case {
    fn recording(mut experiment: Experiment) -> Result<Self, Problem> {
        let recording = Recording::read(&experiment)?;
        experiment.variants.iter_mut().for_each(|variant| variant.config.completions = true);
        Ok(Self { experiment, measurement: Measurement::Recording(recording) })
    }
}

/// A validation of which nothing can be wrong any more.
pub struct Ready<'a>(Vec<(&'a Case, Prepared<'a>)>);

impl Ready<'_> {
    /// Takes the steady drives of all runs from caches, of which `cache` makes one for each experiment.
    ///
    /// # Errors
    /// An error of `cache`.
    pub fn with_caches(self, cache: impl Fn() -> Result<Option<Cache>, Problem>) -> Result<Self, Problem> {
        let mut ready = Vec::with_capacity(self.0.len());
        for (case, prepared) in self.0 {
            ready.push((case, prepared.with_cache(cache()?)));
        }
        Ok(Self(ready))
    }

    /// Number of requests of all runs together, approximately.
    pub fn total_requests(&self) -> u64 {
        self.0.iter().map(|(_, prepared)| prepared.total_requests()).sum()
    }

    /// Runs all, one after another.
    ///
    /// # Errors
    /// A check that failed.
    pub fn run(&self, progress: &dyn Progress) -> Result<ValidationResult, Failure> {
        let compare = |(case, prepared): &(&Case, Prepared<'_>)| match &case.measurement {
            Measurement::Recording(recording) => recording.compare(prepared, progress),
        };
        let comparisons = self.0.iter().map(compare).collect::<Result<_, Failure>>()?;
        Ok(ValidationResult { schema: VALIDATION_SCHEMA.to_owned(), comparisons })
    }
}
