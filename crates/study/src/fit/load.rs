//! A load: what one simulation repeats, a job of fio, a recording or a curve of rates, and its cells.

use flashloom_config::{Config, Experiment, Variant};
use flashloom_device::Observer;
use flashloom_figures::number::count;
use flashloom_figures::result::{HintResult, RunResult};
use flashloom_run::{AgedDrive, Failure, Prepared, Progress};
use flashloom_units::{Problems, Refusal};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::cell::{Cell, disk};
use super::combination::Footprint;
use super::figures::{Figures, Side};
use super::slices::{Cut, Slices};
use crate::validate::curve::{Fill, WRITE_BYTES};
use crate::validate::fio_output::MeasuredJob;
use crate::validate::{ClosedLoad, Curve, Recording};

/// Hints of a run that hold for a fit too: they doubt the drive that was simulated, where the others doubt what follows
/// from the load, which is that of the measurement. The drive of a curve is in the state that its measurement began in.
const OF_DRIVES: [&str; 5] = ["never-collected", "buffered", "short-for-drive", "slc-cache-full", "no-slc-cache"];

/// A load before its runs are laid out.
pub struct Load {
    /// Its input, with the job of fio that it is.
    name: String,
    /// The experiment that repeats it.
    pub experiment: Experiment,
    /// What it takes of a drive.
    pub footprint: Footprint,
    /// Reasons to doubt it, each with its input.
    pub warnings: Vec<String>,
    /// Hash of what the cells are of: of the requests of a recording, of the stretches of a curve. Those of a job are
    /// drawn.
    pub sha256: Option<String>,
    parts: Parts,
}

/// A load on a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// Figures of its cells.
    pub(super) figures: Vec<Figures>,
    /// Hints of the run about the state of the drive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) hints: Vec<HintResult>,
}

/// The cells of a load.
enum Parts {
    /// A job of fio is one.
    Whole,
    /// The slices of a recording.
    Slices(Slices),
    /// The stretches of a curve.
    Stretches(Curve),
}

/// Makes the experiment of a load, from the options of its workload.
pub type Make<'a> = &'a dyn Fn(&[String]) -> Result<Experiment, Problems>;

impl Load {
    /// A job of fio, of which so many requests are simulated, with its cell; `number` is that of the load.
    ///
    /// # Errors
    /// A problem of the experiment, or a job that is not of a flash drive.
    pub fn job(
        number: usize,
        input: &str,
        job: MeasuredJob,
        make: Make<'_>,
        requests: u64,
    ) -> Result<(Self, Cell), Problems> {
        if let Some(refusal) = disk(&job) {
            return Err(refusal.in_file(input).into());
        }
        let recorded = [&job.read, &job.write].map(|of| of.as_ref().map(Side::recorded));
        let footprint = Footprint {
            outstanding_bytes: u64::from(job.outstanding).saturating_mul(job.block_bytes),
            writes: job.write.is_some(),
            ..Footprint::default()
        };
        let job_name = job.name.clone();
        let name = format!("{input}, job {job_name:?}");
        let closed = ClosedLoad::new(input, job);
        let mut sets = closed.sets();
        sets.push(format!("workload.synthetic.requests={requests}"));
        let experiment = make(&sets)?;
        let doubts = closed.doubts(&experiment).into_iter();
        let warnings = doubts.map(|doubt| format!("{name}: {doubt}")).collect();
        let cell = Cell {
            input: input.to_owned(),
            job: job_name,
            words: closed.load(),
            recorded: Figures(recorded),
            null_rate: None,
            load: number,
            part: 0,
        };
        Ok((Self { name, experiment, footprint, warnings, sha256: None, parts: Parts::Whole }, cell))
    }

    /// A recording with latencies, whose first `slices` times `requests` requests are replayed, with the cells of its
    /// slices; `number` is that of the load.
    ///
    /// # Errors
    /// A problem of the experiment or the recording, latencies that cannot be those of a flash drive, or a slice of
    /// which nothing can be compared.
    pub fn recording(
        number: usize,
        input: &str,
        make: Make<'_>,
        slices: u64,
        requests: u64,
    ) -> Result<(Self, Vec<Cell>), Problems> {
        let named = ["workload.kind=\"trace\"".to_owned(), format!("workload.path={input:?}")];
        let most = slices.saturating_mul(requests);
        let own = make(&named)?.variants[0].config.workload.requests;
        let limit = format!("workload.requests={}", own.map_or(most, |own| own.min(most)));
        let mut experiment = make(&[&named[..], &[limit]].concat())?;
        let recording = Recording::read(&experiment)?;
        if let Some(found) = recording.disk() {
            return Err(Refusal::new(found, "a flash drive").in_file(recording.path()).into());
        }
        experiment.variants.iter_mut().for_each(|variant| variant.config.completions = true);
        // Everything that a replay can be refused for, before anything runs.
        Prepared::new(&experiment)?;
        let config = &experiment.variants[0].config;
        let Cut { slices, each, span_bytes, writes, sha256 } = Slices::cut(&recording, config, slices)?;
        let footprint = Footprint {
            span_bytes,
            writes,
            // How long free pages last, and how many of the others a collection moves, depends on the drive's size.
            keeps_size: writes,
            ..Footprint::default()
        };
        let issued = if slices.is_issued() { "issued requests" } else { "requests" };
        let cell = |(part, slice): (usize, &super::slices::Slice)| {
            let [first, last] = slice.requests.map(count);
            Cell {
                input: input.to_owned(),
                job: format!("slice {} of {}", part + 1, each.len()),
                words: format!("{}, {issued} {first} to {last} at their recorded times", recording.format_name()),
                recorded: slice.recorded.clone(),
                null_rate: None,
                load: number,
                part,
            }
        };
        let cells = each.iter().enumerate().map(cell).collect();
        let left_out = recording.left_out().into_iter().map(|what| format!("not compared: {what}"));
        let warnings =
            recording.doubts().into_iter().chain(left_out).map(|doubt| format!("{input}: {doubt}")).collect();
        let (name, sha256, parts) = (input.to_owned(), Some(sha256), Parts::Slices(slices));
        Ok((Self { name, experiment, footprint, warnings, sha256, parts }, cells))
    }

    /// A curve of rates, each of whose stretches is a cell; `number` is that of the load.
    ///
    /// # Errors
    /// A problem of the experiment, or a drive that does not hold the first stretch.
    pub fn curve(number: usize, input: &str, curve: Curve, make: Make<'_>) -> Result<(Self, Vec<Cell>), Problems> {
        let mut experiment = make(&curve.sets())?;
        experiment.variants = vec![curve.laid_out(&experiment, &experiment.variants[0])?];
        // Where its knees are depends on the drive's size.
        let footprint = Footprint { writes: true, keeps_size: true, ..Footprint::default() };
        let null_rate = Some(curve.mean_rate() / WRITE_BYTES as f64);
        let cell = |(part, (words, bytes, rate)): (usize, (String, f64, f64))| Cell {
            input: input.to_owned(),
            job: words,
            words: Curve::load(),
            recorded: Figures([None, Some(Side::of_stretch(bytes, rate))]),
            null_rate,
            load: number,
            part,
        };
        let cells = curve.stretches().into_iter().enumerate().map(cell).collect();
        let doubts = Curve::doubts(&experiment.variants[0].config).into_iter();
        let warnings = doubts.map(|doubt| format!("{input}: {doubt}")).collect();
        let ends =
            curve.stretches().iter().fold(Sha256::new(), |hash, (_, bytes, _)| hash.chain_update(bytes.to_le_bytes()));
        let sha256 = Some(format!("{:x}", ends.finalize()));
        let (name, parts) = (input.to_owned(), Parts::Stretches(curve));
        Ok((Self { name, experiment, footprint, warnings, sha256, parts }, cells))
    }

    /// Replaces the runs of the experiment by these, and reads their inputs.
    ///
    /// # Errors
    /// A drive that does not hold the load, or a problem of an input.
    pub fn lay_out(self, variants: Vec<Variant>) -> Result<ReadyLoad, Problems> {
        let Self { name, mut experiment, warnings, sha256, parts, .. } = self;
        let own = |variant| parts.own(&experiment, variant);
        experiment.variants = variants.into_iter().map(own).collect::<Result<_, _>>()?;
        Ok(ReadyLoad { name, prepared: Prepared::owned(experiment)?, warnings, sha256, parts })
    }

    /// True if another load is the same measurement.
    pub fn is(&self, other: &Self) -> bool {
        match (&self.sha256, &other.sha256) {
            (None, None) => {
                self.experiment.variants[0].config.to_json() == other.experiment.variants[0].config.to_json()
            }
            (one, two) => one == two,
        }
    }
}

impl Parts {
    /// A run with what the load says of it.
    fn own(&self, experiment: &Experiment, mut variant: Variant) -> Result<Variant, Problems> {
        variant.config.completions = matches!(self, Parts::Slices(_));
        match self {
            Parts::Stretches(curve) => curve.laid_out(experiment, &variant),
            Parts::Whole | Parts::Slices(_) => Ok(variant),
        }
    }
}

/// A load on the drive of each combination.
pub struct ReadyLoad {
    /// Its input, with the job of fio that it is.
    pub name: String,
    /// The experiment that repeats it: a run for each combination, and then for each with other seeds.
    pub prepared: Prepared<'static>,
    /// Reasons to doubt it, each with its input.
    pub warnings: Vec<String>,
    sha256: Option<String>,
    parts: Parts,
}

impl ReadyLoad {
    /// Adds to a hash what all its simulations depend on but their points and the program: the contents of its files,
    /// not their paths. Combinations differ in what their points say.
    pub fn add_to(&self, hash: &mut Sha256) {
        let experiment = self.prepared.experiment();
        let mut config = experiment.variants[0].config.to_json();
        for (section, key) in [("workload", "path"), ("run", "state")] {
            config[section][key].take();
        }
        hash.update(config.to_string());
        hash.update(self.sha256.as_deref().unwrap_or_default());
        hash.update(self.prepared.state_sha256(0).unwrap_or_default());
        let recording = self.prepared.inputs(0).iter().filter(|file| file.role == "workload");
        recording.for_each(|file| hash.update(&file.sha256));
    }

    /// The experiment with one run alone.
    ///
    /// # Errors
    /// A drive that does not hold the load.
    pub fn alone(&self, variant: &Variant) -> Result<Experiment, Problems> {
        let experiment = self.prepared.experiment();
        Ok(experiment.alone(self.parts.own(experiment, variant.clone())?))
    }

    /// Simulates it with a configuration; `None` if the drive's life ends.
    ///
    /// # Errors
    /// A check that failed.
    pub fn simulate(
        &self,
        prepared: &Prepared<'_>,
        index: usize,
        config: &Config,
        drive: Option<&AgedDrive>,
        progress: &dyn Progress,
    ) -> Result<Option<Simulated>, Failure> {
        let run = |is_issued: bool, observers: &mut [&mut dyn Observer]| {
            prepared.run_as(index, config, drive, is_issued, progress, observers)
        };
        let (finished, figures) = match &self.parts {
            Parts::Whole => {
                let finished = run(false, &mut [])?;
                let host = &finished.host;
                let both = [&host.read_latency, &host.write_latency];
                let figures = vec![Figures(both.map(|latency| Side::of(latency, Some(host.duration_ns))))];
                (finished, figures)
            }
            Parts::Slices(slices) => {
                let mut observed = slices.observer();
                (run(slices.is_issued(), &mut [&mut observed])?, observed.figures())
            }
            Parts::Stretches(curve) => {
                let mut fill = Fill::default();
                let finished = run(false, &mut [&mut fill])?;
                let side = |((_, bytes, _), rate): ((String, f64, f64), Option<f64>)| {
                    Figures([None, rate.map(|rate| Side::of_stretch(bytes, rate))])
                };
                (finished, curve.stretches().into_iter().zip(curve.simulated(&fill)).map(side).collect())
            }
        };
        let RunResult { end_of_life, mut hints, .. } = finished.result;
        let is_kept = |hint: &HintResult| OF_DRIVES.contains(&&*hint.about);
        hints.retain(|hint| !matches!(self.parts, Parts::Stretches(_)) && is_kept(hint));
        Ok(end_of_life.is_none().then_some(Simulated { figures, hints }))
    }
}
