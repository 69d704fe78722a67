//! Runs: recordings are checked first, then every variant runs on a thread of its own, then its accounts are checked.

mod aged;
mod engines;
mod fio;
mod generated;
mod measure;
mod recording;
mod watched;

use std::fmt;
use std::sync::Arc;

use flashloom_device::{Engine, Sample, Simulation};
use flashloom_units::{Prng, Problem, Problems, Refusal};
use flashloom_workload::{
    Arrivals, Event, Filebench, FilebenchReport, FioJobFile, FioJobs, Limited, Pace, Replay, Replayed, Request,
    SkippedLines, Source, Synthetic, fit, open_trace, rebase,
};
use rayon::prelude::*;

use crate::config::{Config, EndOfLife, Expectation, Experiment, Fault, Variant};
use crate::formula::Run;
use crate::result::{COMPARE_SCHEMA, ComparedRun, Comparison, ExpectationResult, RunResult};
use aged::Shares;
use engines::{bare_engine, engine};
use measure::{Measured, Stopwatch};
use recording::Recording;
use watched::Watched;

pub use aged::AgedDrive;
pub use engines::result;
pub(crate) use engines::unscheduled;

/// Why a run has no result.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The accounts do not add up, a check of a verified run failed, or the drive never became steady.
    Check(String),
    /// A recording that was in order when it was checked no longer is.
    Input(Problem),
    /// A policy that went with the configuration could not be built all the same.
    Refused(Refusal),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Check(message) => write!(f, "error: a check failed: {message}"),
            Failure::Input(problem) => problem.fmt(f),
            Failure::Refused(refusal) => write!(f, "error: {refusal}"),
        }
    }
}

impl std::error::Error for Failure {}

/// What is told while runs go on, from several threads at once.
pub trait Progress: Sync {
    /// That many more requests were handed to the host.
    fn requests(&self, count: u64);
    /// A run has ended.
    fn run_ended(&self);
}

/// Tells nobody.
pub struct Quiet;

impl Progress for Quiet {
    fn requests(&self, _count: u64) {}
    fn run_ended(&self) {}
}

/// An experiment whose input has been checked to the end: nothing that the user wrote can stop it any more.
pub struct Prepared<'a> {
    experiment: &'a Experiment,
    /// What each variant reads; nothing for a generator.
    recordings: Vec<Option<Recording>>,
    /// The fio job file of each variant that has one.
    job_files: Vec<Option<FioJobFile>>,
    /// The aged drive of each variant that names one.
    drives: Vec<Option<Arc<AgedDrive>>>,
}

/// What a run gives.
pub struct Finished {
    /// What it found out.
    pub result: RunResult,
    /// The same in fio's own output format, if its workload was a fio job file.
    pub fio_json: Option<serde_json::Value>,
}

impl<'a> Prepared<'a> {
    /// Checks what is expected against the runs that there will be, every recording that a variant reads, each once, and
    /// that requests fit device, replay and policies.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn new(experiment: &'a Experiment) -> Result<Self, Problems> {
        let expectations: Vec<Problem> = experiment.problems_of_expectations().collect();
        if !expectations.is_empty() {
            return Err(Problems(expectations));
        }
        let recordings = recording::check_all(experiment)?;
        let job_files = fio::check_all(experiment)?;
        let drives = aged::read_all(experiment).map_err(Problems)?;
        Ok(Self { experiment, recordings, job_files, drives })
    }

    /// Requests of all runs together; of fio jobs, about as many.
    pub fn total_requests(&self) -> u64 {
        self.inputs().map(|(variant, input)| input.expected_requests(&variant.config)).sum()
    }

    /// Requests of one variant, by its index among those of the experiment; of fio jobs, about as many.
    pub fn expected_requests(&self, index: usize) -> u64 {
        let (variant, input) = self.inputs().nth(index).expect("the index is that of a variant");
        input.expected_requests(&variant.config)
    }

    fn inputs(&self) -> impl Iterator<Item = (&Variant, Input<'_>)> {
        let inputs = self.recordings.iter().zip(&self.job_files).zip(&self.drives);
        let inputs = inputs.map(|((recording, jobs), drive)| Input {
            recording: recording.as_ref(),
            jobs: jobs.as_ref(),
            issued: None,
            drive: drive.as_deref(),
        });
        self.experiment.variants.iter().zip(inputs)
    }

    /// Ages the drive of the first variant, to be kept in a file; the run uses it too.
    ///
    /// # Errors
    /// A drive that is not aged, or policies of which nothing can be saved; a drive that never became steady.
    pub fn age(&mut self, verify: bool) -> Result<Arc<AgedDrive>, Failure> {
        let config = &self.experiment.variants[0].config;
        aged::check_saving(self.experiment, config).map_err(Failure::Input)?;
        let drive = aged::to_be_saved(config, verify).map_err(|failure| self.pointed(config, failure))?;
        let drive = Arc::new(drive);
        self.drives[0] = Some(Arc::clone(&drive));
        Ok(drive)
    }

    /// Host and drive of a variant as its run begins, to be driven by hand: the drive aged, and in time where `run.timing`
    /// says so. The keys of `[workload]`, `run.drain` and `run.end_of_life` mean nothing to it.
    ///
    /// # Errors
    /// A policy that cannot be built, or a drive that never became steady.
    pub fn engine(&self, index: usize, verify: bool) -> Result<Engine, Failure> {
        let config = &self.experiment.variants[index].config;
        engine(config, verify, self.drives[index].as_deref()).map_err(|failure| self.pointed(config, failure))
    }

    /// The drive of a variant alone, as [`Self::engine`] has it: no block layer, `host.queue_depth` commands at once.
    ///
    /// # Errors
    /// As of [`Self::engine`].
    pub fn bare_engine(&self, index: usize, verify: bool) -> Result<Engine, Failure> {
        let config = &self.experiment.variants[index].config;
        bare_engine(config, verify, self.drives[index].as_deref()).map_err(|failure| self.pointed(config, failure))
    }

    /// Whether the first variant runs a fio job file.
    pub fn runs_fio(&self) -> bool {
        self.job_files[0].is_some()
    }

    /// What was left out of the recordings because that was asked for: the file, and what was wrong.
    pub fn skipped(&self) -> Vec<(&str, &SkippedLines)> {
        let mut skipped: Vec<(&str, &SkippedLines)> = Vec::new();
        for recording in self.recordings.iter().flatten() {
            let is_new = skipped.iter().all(|(path, _)| *path != recording.path);
            if recording.info.skipped_lines > 0 && is_new {
                skipped.push((&recording.path, &recording.info.skipped));
            }
        }
        skipped
    }

    /// Runs the first variant. `observe`, if given, gets a sample after every interval of the timeline; `requests` gets
    /// every request at the event that it names: as the workload queues it, or, merged, as the scheduler issues it.
    ///
    /// # Errors
    /// A check that failed.
    pub fn run<'w>(
        &self,
        verify: bool,
        progress: &'w dyn Progress,
        observe: Option<&'w mut dyn FnMut(&Sample)>,
        requests: (Event, &'w mut dyn FnMut(&Request)),
    ) -> Result<Finished, Failure> {
        let (variant, input) = self.inputs().next().expect("an experiment has at least one variant");
        let finished = run_one(&variant.config, input, verify, &mut Watched { progress, observe, requests, untold: 0 });
        finished.map_err(|failure| self.pointed(&variant.config, failure))
    }

    /// A policy that cannot be built is a problem of the configuration that chose it.
    fn pointed(&self, config: &Config, failure: Failure) -> Failure {
        let Failure::Refused(Refusal { keys, found, expected, help }) = failure else { return failure };
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        Failure::Input(self.experiment.problem_at(config, &keys, Fault { found, expected, help }))
    }

    /// Runs one variant, by its index among those of the experiment.
    ///
    /// # Errors
    /// A check that failed, with the values that vary in the variant.
    pub fn run_variant(&self, index: usize, verify: bool, progress: &dyn Progress) -> Result<RunResult, Failure> {
        self.run_with(index, verify, progress, None)
    }

    /// Runs one variant, on a drive that was aged before if one is given.
    fn run_with(
        &self,
        index: usize,
        verify: bool,
        progress: &dyn Progress,
        drive: Option<&AgedDrive>,
    ) -> Result<RunResult, Failure> {
        let (variant, input) = self.inputs().nth(index).expect("the index is that of a variant");
        let input = Input { drive: drive.or(input.drive), ..input };
        let nobody = &mut |_: &Request| {};
        let watched = &mut Watched { progress, observe: None, requests: (Event::Queue, nobody), untold: 0 };
        let finished = run_one(&variant.config, input, verify, watched);
        finished.map(|finished| finished.result).map_err(|failure| match self.pointed(&variant.config, failure) {
            Failure::Check(message) if !variant.vary.is_empty() => {
                Failure::Check(format!("{message} (with {})", variant.label()))
            }
            other => other,
        })
    }

    /// Runs one variant, and keeps the requests that its scheduler issues to the drive.
    ///
    /// # Errors
    /// A check that failed.
    pub fn issued_by(&self, index: usize, progress: &dyn Progress) -> Result<Vec<Request>, Failure> {
        let (variant, input) = self.inputs().nth(index).expect("the index is that of a variant");
        let mut issued = Vec::new();
        let keep = &mut |request: &Request| issued.push(*request);
        let watched = &mut Watched { progress, observe: None, requests: (Event::Issue, keep), untold: 0 };
        run_one(&variant.config, input, false, watched).map_err(|failure| self.pointed(&variant.config, failure))?;
        Ok(issued)
    }

    /// Replays requests that another run issued on the drive of a variant, in their order and with no scheduler between,
    /// as many at once as `workload.queue_depth` says.
    ///
    /// # Errors
    /// A check that failed.
    pub fn replay(&self, index: usize, issued: &[Request], progress: &dyn Progress) -> Result<RunResult, Failure> {
        let variant = &self.experiment.variants[index];
        let input = Input { recording: None, jobs: None, issued: Some(issued), drive: self.drives[index].as_deref() };
        let nobody = &mut |_: &Request| {};
        let watched = &mut Watched { progress, observe: None, requests: (Event::Queue, nobody), untold: 0 };
        let finished = run_one(&variant.config, input, false, watched);
        finished.map(|finished| finished.result).map_err(|failure| self.pointed(&variant.config, failure))
    }

    /// Runs every variant, in as many threads as the caller's pool has. The results are in the order of the variants,
    /// whatever the threads did.
    ///
    /// # Errors
    /// The failure of the first variant that failed, with the values that vary in it.
    pub fn compare(&self, verify: bool, progress: &dyn Progress) -> Result<Comparison, Failure> {
        let variants = &self.experiment.variants;
        let shares = Shares::new(self.experiment, verify);
        let run = |index: usize| {
            let drive = shares.drive(index, &variants[index].config, verify);
            drive.and_then(|drive| self.run_with(index, verify, progress, drive.as_deref()))
        };
        let results: Vec<_> = (0..variants.len()).into_par_iter().map(run).collect();
        let mut runs = Vec::with_capacity(results.len());
        for (variant, result) in variants.iter().zip(results) {
            runs.push(ComparedRun { vary: variant.vary_to_json(), result: result? });
        }
        let expectations = self.hold_expectations(&runs);
        Ok(Comparison { schema: COMPARE_SCHEMA.to_owned(), runs, expectations })
    }

    fn hold_expectations(&self, runs: &[ComparedRun]) -> Vec<ExpectationResult> {
        let expectations = &self.experiment.expectations;
        let runs: Vec<Run> = if expectations.is_empty() { Vec::new() } else { runs.iter().map(Run::from).collect() };
        let result = |expected: &Expectation| {
            let value = expected.value(&runs).expect("the formula was held against these runs before");
            ExpectationResult {
                claim: expected.claim.clone(),
                formula: expected.formula.text().to_owned(),
                at_least: expected.bounds.at_least,
                at_most: expected.bounds.at_most,
                value,
                holds: expected.bounds.hold(value),
            }
        };
        expectations.iter().map(result).collect()
    }
}

/// What a run reads, if it reads anything.
#[derive(Clone, Copy)]
struct Input<'a> {
    recording: Option<&'a Recording>,
    jobs: Option<&'a FioJobFile>,
    /// What another run issued, in the place of the variant's own workload.
    issued: Option<&'a [Request]>,
    /// The drive, if it was aged before.
    drive: Option<&'a AgedDrive>,
}

impl Input<'_> {
    fn expected_requests(&self, config: &Config) -> u64 {
        if let Some(issued) = self.issued {
            return issued.len() as u64;
        }
        let generated = || {
            let synthesized = || config.synthesized().map(|params| params.target().requests);
            config.synthetic().map(|params| params.requests).or_else(synthesized)
        };
        let offered = match (self.recording, self.jobs) {
            (Some(recording), _) => recording.info.requests,
            (None, Some(jobs)) => return jobs.expected_requests(),
            // How many requests a personality issues is known at its end.
            (None, None) => generated().unwrap_or(0),
        };
        offered.min(config.workload.requests.unwrap_or(u64::MAX))
    }
}

/// One run: age the drive, replay the workload, check the accounts.
fn run_one(config: &Config, input: Input<'_>, verify: bool, watched: &mut Watched<'_>) -> Result<Finished, Failure> {
    let stopwatch = Stopwatch::start();
    if let Some(fault) = input.drive.and_then(|drive| drive.unlike(verify)) {
        let refusal = Refusal::new(fault.found, fault.expected).at(["run.state"]);
        return Err(Failure::Refused(Refusal { help: fault.help, ..refusal }));
    }
    let root = Prng::new(config.run.seed);
    let mut simulation = simulation(config, input, verify)?;
    let mut workload = Workload::open(config, input, &root)?;
    let end_ns = watched.run(&mut simulation, workload.arrivals(), config.run.timeline_interval_ns)?;
    simulation.check().map_err(Failure::Check)?;
    let outcome = simulation.outcome();
    let expected = workload.issued().unwrap_or_else(|| input.expected_requests(config));
    let is_cut = outcome.end_of_life.is_some() && config.run.end_of_life == EndOfLife::Stop;
    if outcome.host.generated != expected && !is_cut {
        let generated = outcome.host.generated;
        return Err(Failure::Check(format!("workload: {expected} requests offered, but {generated} arrived")));
    }
    watched.progress.run_ended();
    let info = input.recording.map(|recording| &recording.info);
    let mut result = Measured { config, outcome: &outcome, info, aged: input.drive, end_ns }.result();
    result.run = Some(stopwatch.cost(outcome.host.total_completed()));
    generated::describe(&mut result, config, workload.filebench_report(), &root).map_err(Failure::Input)?;
    let fio_json = input.jobs.and_then(|file| workload.fio_json(file));
    Ok(Finished { result, fio_json })
}

/// What a run goes through; requests that another run issued go to the drive past the scheduler.
fn simulation(config: &Config, input: Input<'_>, verify: bool) -> Result<Simulation, Failure> {
    let mut simulation = match input.issued {
        Some(_) => Simulation::new(unscheduled(config, verify, input.drive)?),
        None if config.run.drain => Simulation::new(engine(config, verify, input.drive)?).with_drain(),
        None => Simulation::new(engine(config, verify, input.drive)?),
    };
    if config.run.end_of_life == EndOfLife::ReadOnly {
        simulation = simulation.beyond_end_of_life();
    }
    Ok(simulation)
}

/// The requests of a run as they arrive.
enum Workload<'a> {
    Replayed(Replayed<Box<dyn Source + 'a>>),
    Fio(Box<FioJobs>),
    Filebench(Box<Filebench>),
}

impl<'a> Workload<'a> {
    fn open(config: &Config, input: Input<'a>, root: &Prng) -> Result<Self, Failure> {
        if let Some(issued) = input.issued {
            let source: Box<dyn Source + 'a> = Box::new(issued);
            return Ok(Self::Replayed(Replayed::new(source, Pace::Closed(config.workload.queue_depth))));
        }
        if let Some(file) = input.jobs {
            return fio::start(config, file, root).map(|jobs| Self::Fio(Box::new(jobs)));
        }
        if let Some(filebench) = generated::filebench(config, root).map_err(Failure::Input)? {
            return Ok(Self::Filebench(filebench));
        }
        let (source, has_times) = open(config, input.recording, root).map_err(Failure::Input)?;
        Ok(Self::Replayed(Replayed::new(source, pace(config, has_times))))
    }

    fn arrivals(&mut self) -> &mut dyn Arrivals {
        match self {
            Self::Replayed(replayed) => replayed,
            Self::Fio(jobs) => jobs.as_mut(),
            Self::Filebench(filebench) => filebench.as_mut(),
        }
    }

    /// How many requests it has issued, where nobody could know before.
    fn issued(&self) -> Option<u64> {
        match self {
            Self::Replayed(_) => None,
            Self::Fio(jobs) => Some(jobs.issued()),
            Self::Filebench(filebench) => Some(filebench.issued()),
        }
    }

    fn filebench_report(&self) -> Option<&FilebenchReport> {
        if let Self::Filebench(filebench) = self { Some(filebench.report()) } else { None }
    }

    fn fio_json(&self, file: &FioJobFile) -> Option<serde_json::Value> {
        match self {
            Self::Replayed(_) | Self::Filebench(_) => None,
            Self::Fio(jobs) => Some(fio::json(file, jobs)),
        }
    }
}

fn pace(config: &Config, has_times: bool) -> Pace {
    let workload = &config.workload;
    match workload.replay_or_default(has_times) {
        Replay::Timestamps => Pace::Timestamps(workload.speed),
        Replay::Closed => Pace::Closed(workload.queue_depth),
        Replay::Dependent => Pace::Dependent(workload.speed),
    }
}

/// The requests of a run, all of them within the device, and whether they have times.
fn open(config: &Config, recording: Option<&Recording>, root: &Prng) -> Result<(Box<dyn Source>, bool), Problem> {
    let workload = &config.workload;
    let capacity = config.device.capacity_sectors();
    let synthesized = generated::synthesized(config, root)?;
    let (source, span, has_times): (Box<dyn Source>, u64, bool) = match (recording, synthesized, config.synthetic()) {
        (None, Some(source), _) => (source, capacity, false),
        (Some(recording), ..) => {
            let trace = open_trace(&recording.path, &workload.trace_options())?;
            let span = recording.info.end_sector().saturating_sub(workload.first_sector);
            (Box::new(rebase(trace, workload.first_sector)), span, true)
        }
        (None, None, generator) => {
            let generator = generator.expect("a workload without a recording is a generator");
            let has_times = generator.interarrival_ns.is_some();
            (Box::new(Synthetic::new(&generator, capacity, &root.branch("workload"))?), capacity, has_times)
        }
    };
    let source = Limited::new(source, workload.requests);
    Ok((Box::new(fit(source, capacity, workload.addresses, span)), has_times))
}
