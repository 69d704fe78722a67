//! Runs: recordings are checked first, then every variant runs on a thread of its own, then its accounts are checked.

mod measure;
mod recording;

use std::fmt;

use flashloom_device::{Ageing, Drive, Overwrite, Sample, Simulation};
use flashloom_host::BlockLayer;
use flashloom_units::{Prng, Problem, Problems};
use flashloom_workload::{Limited, Pace, Replay, Replayed, Request, SkippedLines, Source, Synthetic, fit, open_trace};
use rayon::prelude::*;

use crate::config::{Config, Experiment, Precondition, Timing, Variant};
use crate::result::{COMPARE_SCHEMA, ComparedRun, Comparison, RunResult};
use measure::{Measured, Stopwatch};
use recording::Recording;

/// Why a run has no result.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The accounts do not add up, a check of a verified run failed, or the drive never became steady.
    Check(String),
    /// A recording that was in order when it was checked no longer is.
    Input(Problem),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Check(message) => write!(f, "error: a check failed: {message}"),
            Failure::Input(problem) => problem.fmt(f),
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

/// An experiment whose input has been checked to the end: nothing that the user wrote can stop it any more.
pub struct Prepared<'a> {
    experiment: &'a Experiment,
    /// What each variant reads; nothing for a generator.
    recordings: Vec<Option<Recording>>,
}

impl<'a> Prepared<'a> {
    /// Checks every recording that a variant reads, each once, and that requests fit device, replay and policies.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn new(experiment: &'a Experiment) -> Result<Self, Problems> {
        let recordings = recording::check_all(experiment)?;
        Ok(Self { experiment, recordings })
    }

    /// Requests of all runs together.
    pub fn total_requests(&self) -> u64 {
        let variants = self.experiment.variants.iter().zip(&self.recordings);
        variants.map(|(variant, recording)| expected_requests(&variant.config, recording.as_ref())).sum()
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

    /// Runs the first variant. `observe` gets a sample after every interval of the timeline.
    ///
    /// # Errors
    /// A check that failed.
    pub fn run(
        &self,
        verify: bool,
        progress: &dyn Progress,
        observe: &mut dyn FnMut(&Sample),
    ) -> Result<RunResult, Failure> {
        run_one(&self.experiment.variants[0].config, self.recordings[0].as_ref(), verify, progress, observe)
    }

    /// Runs every variant, in as many threads as the caller's pool has. The results are in the order of the variants,
    /// whatever the threads did.
    ///
    /// # Errors
    /// The failure of the first variant that failed, with the values that vary in it.
    pub fn compare(&self, verify: bool, progress: &dyn Progress) -> Result<Comparison, Failure> {
        let one = |(variant, recording): (&Variant, &Option<Recording>)| {
            run_one(&variant.config, recording.as_ref(), verify, progress, &mut |_| {})
        };
        let variants = &self.experiment.variants;
        let results: Vec<_> = variants.par_iter().zip(&self.recordings).map(one).collect();
        let mut runs = Vec::with_capacity(results.len());
        for (variant, result) in variants.iter().zip(results) {
            let result = result.map_err(|failure| match failure {
                Failure::Check(message) if !variant.vary.is_empty() => {
                    Failure::Check(format!("{message} (with {})", variant.label()))
                }
                other => other,
            })?;
            runs.push(ComparedRun { vary: variant.vary_to_json(), result });
        }
        Ok(Comparison { schema: COMPARE_SCHEMA.to_owned(), runs })
    }
}

fn expected_requests(config: &Config, recording: Option<&Recording>) -> u64 {
    let offered = match (recording, config.synthetic()) {
        (Some(recording), _) => recording.info.requests,
        (None, Some(generator)) => generator.requests,
        (None, None) => 0,
    };
    offered.min(config.workload.requests.unwrap_or(u64::MAX))
}

/// One run: age the drive, replay the workload, check the accounts.
fn run_one(
    config: &Config,
    recording: Option<&Recording>,
    verify: bool,
    progress: &dyn Progress,
    observe: &mut dyn FnMut(&Sample),
) -> Result<RunResult, Failure> {
    let stopwatch = Stopwatch::start();
    let root = Prng::new(config.run.seed);
    let mut simulation = build(config, verify);
    let aged = ageing(config, &root).map(|ageing| simulation.precondition(&ageing, &mut |_| {}));
    if let Some(aged) = aged.filter(|aged| !aged.stable) {
        return Err(Failure::Check(format!(
            "write amplification was not steady after {} pages (it was {:.3} in the last window): raise \
             run.steady_windows or run.steady_tolerance",
            aged.pages,
            aged.waf.unwrap_or_default()
        )));
    }
    if config.run.timing == Timing::Timed {
        simulation.start_timing(&config.device);
    }
    let (source, has_times) = open(config, recording, &root).map_err(Failure::Input)?;
    let mut source = Counted { source, progress, untold: 0 };
    let mut end_ns = 0;
    let mut observed = |sample: &Sample| {
        end_ns = sample.time_ns;
        observe(sample);
    };
    let interval_ns = config.run.timeline_interval_ns;
    let mut arrivals = Replayed::new(&mut source, pace(config, has_times));
    simulation.run(&mut arrivals, interval_ns, &mut observed).map_err(Failure::Input)?;
    source.tell();
    simulation.check().map_err(Failure::Check)?;
    let outcome = simulation.outcome();
    let expected = expected_requests(config, recording);
    if outcome.host.generated != expected {
        let generated = outcome.host.generated;
        return Err(Failure::Check(format!("workload: {expected} requests offered, but {generated} arrived")));
    }
    progress.run_ended();
    let info = recording.map(|recording| &recording.info);
    Ok(Measured { config, outcome: &outcome, info, aged, end_ns }.result(&stopwatch))
}

fn build(config: &Config, verify: bool) -> Simulation {
    let (scheduler, values) = config.policy("host.scheduler");
    let setup = BlockLayer::setup(&config.host, config.device.capacity_sectors());
    let scheduler = flashloom_host::build(scheduler.name, values, &setup)
        .and_then(Result::ok)
        .expect("the configuration was refused if its scheduler cannot be built");
    let host = BlockLayer::new(&config.host, scheduler);
    Simulation::new(host, Drive::new(&config.drive_setup(verify)), config.ftl.idle_delay_ns)
}

fn ageing(config: &Config, root: &Prng) -> Option<Ageing> {
    let run = &config.run;
    let overwrite = Overwrite {
        prng: root.branch("precondition"),
        window: run.steady_window,
        tolerance: run.steady_tolerance,
        max_windows: run.steady_windows,
    };
    let fill_pages = (config.device.logical_pages() as f64 * run.fill).floor() as u64;
    match run.precondition {
        Precondition::None => None,
        Precondition::Fill => Some(Ageing { fill_pages, overwrite: None }),
        Precondition::Steady => Some(Ageing { fill_pages, overwrite: Some(overwrite) }),
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
    let (source, span, has_times): (Box<dyn Source>, u64, bool) = match (recording, config.synthetic()) {
        (Some(recording), _) => {
            let trace = open_trace(&recording.path, &workload.trace_options())?;
            (Box::new(trace), recording.info.end_sector(), true)
        }
        (None, generator) => {
            let generator = generator.expect("a workload without a recording is a generator");
            let has_times = generator.interarrival_ns.is_some();
            (Box::new(Synthetic::new(&generator, capacity, &root.branch("workload"))?), capacity, has_times)
        }
    };
    let source = Limited::new(source, workload.requests);
    Ok((Box::new(fit(source, capacity, workload.addresses, span)), has_times))
}

/// Tells the progress of a source, a few thousand requests at a time.
struct Counted<'a> {
    source: Box<dyn Source>,
    progress: &'a dyn Progress,
    untold: u64,
}

impl Counted<'_> {
    const STEP: u64 = 4_096;

    fn tell(&mut self) {
        self.progress.requests(std::mem::take(&mut self.untold));
    }
}

impl Source for Counted<'_> {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        let request = self.source.next_request()?;
        self.untold += u64::from(request.is_some());
        if self.untold == Self::STEP {
            self.tell();
        }
        Ok(request)
    }
}
