//! Validation: a model beside measurements of a real drive.
//!
//! A measurement is replayed on the drive of an experiment, and what was recorded stands beside what was simulated:
//! latencies by operation and size ([`distribution`] says how far apart two distributions are), stalls and rates, each
//! beside the error of a null model that knows the measurement's own mean.

mod cells;
pub mod curve;
pub mod distribution;
mod fio_job;
pub mod fio_output;
mod recording;
mod result;
mod text;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use flashloom_config::{Catalog, Experiment, Source};
use flashloom_files::{BYTE_ORDER_MARK, TEXT_LIMIT_BYTES, open_input, read_input};
use flashloom_run::{Cache, Failure, Prepared, Progress};
use flashloom_units::{Problem, Problems};

pub(crate) use cells::Interval;
pub(crate) use curve::Curve;
pub(crate) use fio_job::ClosedLoad;
pub(crate) use recording::{Recording, check_timed};
pub use text::{CELL_COLUMNS, RATE_COLUMNS, cell_rows, rate_row, signed, validation as text};

pub use result::{
    CellResult, Compared, PercentileResult, RateResult, Score, StallResult, VALIDATION_SCHEMA, ValidatedInput,
    ValidationResult,
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
    Closed(ClosedLoad),
    Curve(Curve),
}

impl Validation {
    /// Loads experiments, and checks the measurements that each is held against: the files `against`, or the recording
    /// that is its own workload. A load of which only figures were measured is simulated for at most `limit` requests.
    ///
    /// # Errors
    /// Every problem of an experiment, or the first of a measurement.
    pub fn load(
        catalog: &Arc<Catalog>,
        experiments: &[Source],
        sets: &[String],
        against: &[String],
        limit: u64,
    ) -> Result<Self, Problems> {
        let mut cases = Vec::new();
        for source in experiments {
            let load = |sets: &[String]| Experiment::from_source(catalog, source.clone(), sets, None);
            if against.is_empty() {
                cases.push(Case::recording(load(sets)?)?);
            }
            for file in against {
                if begins_as(file, fio_output::is_json)? {
                    for job in fio_output::read(file, &text_of(file)?)? {
                        let closed = ClosedLoad::new(file, job);
                        cases.push(Case::closed(load(&[sets, &closed.sets()].concat())?, closed, limit)?);
                    }
                    continue;
                }
                cases.push(if begins_as(file, curve::is_curve)? {
                    let curve = Curve::read(file, &text_of(file)?)?;
                    Case::curve(load(&[sets, &curve.sets()].concat())?, curve)?
                } else {
                    let named = ["workload.kind=\"trace\"".to_owned(), format!("workload.path={file:?}")];
                    Case::recording(load(&[sets, &named].concat())?)?
                });
            }
        }
        Ok(Self { cases })
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
        let ready = self.cases.iter().map(|case| Ok((case, Prepared::new(&case.experiment)?)));
        ready.collect::<Result<_, _>>().map(Ready)
    }
}

/// True if the beginning of a file says so; what cannot be read is refused later, as what it is then.
///
/// # Errors
/// A pipe: what was read of it to find out what it is cannot be read again.
pub(crate) fn begins_as(file: &str, is: fn(&[u8]) -> bool) -> Result<bool, Problem> {
    const BEGINNING: u64 = 64 << 10;
    let path = Path::new(file);
    if fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        let problem = Problem::file(file, "this is no ordinary file, and can be read only once", "a file");
        return Err(problem.with_help("a measurement is read more than once: write it to a file"));
    }
    let mut beginning = Vec::new();
    let read = open_input(path).map(|input| input.take(BEGINNING).read_to_end(&mut beginning));
    Ok(read.is_ok_and(|read| read.is_ok()) && is(beginning.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&beginning)))
}

/// The text of a file of bounded length.
pub(crate) fn text_of(file: &str) -> Result<String, Problem> {
    let expected = "a measurement: a recording, the JSON of fio, or a curve of rates";
    let refuse = |found: String| Problem::file(file, found, expected);
    let bytes = read_input(Path::new(file), TEXT_LIMIT_BYTES).map_err(|reason| refuse(reason.to_string()))?;
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    str::from_utf8(bytes).map(str::to_owned).map_err(|_| refuse("this is not UTF-8 text".to_owned()))
}

impl Case {
    fn closed(mut experiment: Experiment, load: ClosedLoad, limit: u64) -> Result<Self, Problems> {
        recording::check_timed(&experiment)?;
        ClosedLoad::lay_out(&mut experiment, limit)?;
        Ok(Self { experiment, measurement: Measurement::Closed(load) })
    }

    fn curve(mut experiment: Experiment, curve: Curve) -> Result<Self, Problems> {
        recording::check_timed(&experiment)?;
        experiment.variants = vec![curve.laid_out(&experiment, &experiment.variants[0])?];
        Ok(Self { experiment, measurement: Measurement::Curve(curve) })
    }

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
        let ready = self.0.into_iter().map(|(case, prepared)| Ok((case, prepared.with_cache(cache()?))));
        ready.collect::<Result<_, _>>().map(Self)
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
            Measurement::Closed(load) => load.compare(prepared, progress),
            Measurement::Curve(curve) => curve.compare(prepared, progress),
        };
        let comparisons = self.0.iter().map(compare).collect::<Result<_, Failure>>()?;
        Ok(ValidationResult { schema: VALIDATION_SCHEMA.to_owned(), comparisons })
    }
}
