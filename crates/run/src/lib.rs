//! Runs: inputs of the workloads are checked first, then every variant runs within one thread, then its accounts are
//! checked.

mod aged;
mod bounds;
mod cache;
mod compare;
mod engines;
mod failure;
mod fio;
mod hints;
mod load;
pub mod log;
mod measure;
mod memory;
mod progress;
mod provenance;
mod queue;
mod report;
pub mod series;
mod served;
mod shares;
pub mod slowest;
mod spent;
mod tenants;
pub mod timeline;
mod undrawn;
mod watched;
mod workloads;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use flashloom_device::{Engine, HostReport, Observer, Simulation};
use flashloom_host::Throttling;
use flashloom_units::{Problems, violation};
use flashloom_workload::{Event, Request, SkippedLines};

use crate::series::Series;
use bounds::Record;
use engines::{Aged, Preparation, bare_engine, engine, queueing};
use flashloom_config::{Config, EndOfLife, Experiment, Timing, Unfit, Variant};
use flashloom_figures::result::{InputResult, RunResult};
use load::Load;
use measure::{Measured, Stopwatch};
use watched::{Issues, Watched};
use workloads::{Flaw, Issued};

pub use aged::AgedDrive;
pub use cache::{Cache, Cleared, DEFAULT_LIMIT_BYTES, Entry, EntryKind, LIMIT_VARIABLE, Notice, Store};
pub use compare::{KeepNothing, Keeper};
pub use engines::{result, result_so_far, unscheduled};
pub use failure::Failure;
pub use hints::{Percentile, doubt_of_pairs, few_samples, length_key};
pub use progress::{Progress, Quiet};
pub use provenance::program_sha256;
pub use queue::PAGES_A_REQUEST;
pub use served::{
    SERVED_HOST, aged_to_serve, check_kept, check_served, served_again, served_engine, switched_off_copy,
};
pub use undrawn::check_seeds;

/// An experiment whose inputs have been checked to the end: nothing that the user wrote can stop it any more.
pub struct Prepared<'a> {
    experiment: Cow<'a, Experiment>,
    /// The workload of each variant, with its input read.
    workloads: Vec<Load<'static>>,
    /// The aged drive of each variant that names one.
    drives: Vec<Option<Arc<AgedDrive>>>,
    /// Cache of aged drives for later runs.
    cache: Option<Cache>,
    /// Input files of each variant.
    inputs: Vec<Vec<InputResult>>,
    /// True if comparisons compute the distance of each run from the best possible one.
    has_bounds: bool,
}

/// Outcome of a run.
pub struct Finished {
    /// Its result.
    pub result: RunResult,
    /// Its result in fio's own output format, if its workload is a fio job file.
    pub fio_json: Option<serde_json::Value>,
    /// Counters of the host, and whole distributions of latency, of which the result has some percentiles.
    pub host: HostReport,
}

impl Finished {
    /// Passes the outcome on if its drive lived through the load of that name.
    ///
    /// # Errors
    /// The drive's life ended.
    pub fn lived(self, load: &str) -> Result<Self, Failure> {
        let Some(end) = &self.result.end_of_life else { return Ok(self) };
        Err(Failure::Unserved(format!("{load}: {}", end.words())))
    }

    /// A warning of reads that failed; `None` if none did.
    pub fn unread(&self) -> Option<String> {
        let failed = self.host.total_failed();
        (failed > 0).then(|| format!("{failed} simulated requests failed, and are compared in nothing"))
    }
}

impl<'a> Prepared<'a> {
    /// Checks the expectations against the runs, and reads the input of every workload to its end, each recording once:
    /// it has to fit device, replay and policies.
    ///
    /// # Errors
    /// Every problem of the expectations and inputs.
    pub fn new(experiment: &'a Experiment) -> Result<Self, Problems> {
        Self::or_unfit(experiment).map_err(|(problems, _)| problems)
    }

    /// [`Self::new`] that also returns the number of combinations that [`Self::fitting`] would leave out: 0 if
    /// something else is wrong, or nothing would remain.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn or_unfit(experiment: &'a Experiment) -> Result<Self, (Problems, usize)> {
        let all_wrong = |problems| (problems, 0);
        experiment.check_expectations().map_err(all_wrong)?;
        let read = workloads::read_each(experiment);
        let unfit = workloads::unfit(&read).into_iter().map(|index| index / experiment.repetitions());
        let unfit = unfit.collect::<BTreeSet<usize>>().len();
        let workloads = workloads::all(read).map_err(|problems| (problems, unfit))?;
        Self::of_workloads(Cow::Borrowed(experiment), workloads).map_err(all_wrong)
    }

    /// [`Self::new`] of an experiment that belongs to what is prepared.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn owned(experiment: Experiment) -> Result<Prepared<'static>, Problems> {
        experiment.check_expectations()?;
        let workloads = workloads::all(workloads::read_each(&experiment))?;
        Prepared::of_workloads(Cow::Owned(experiment), workloads)
    }

    fn of_workloads(mut experiment: Cow<'a, Experiment>, workloads: Vec<Load<'static>>) -> Result<Self, Problems> {
        throttle_what_is_known(&mut experiment, &workloads);
        undrawn::check(&experiment, &workloads)?;
        let drives = aged::read_all(&experiment)?;
        let inputs = provenance::inputs(&experiment, &workloads)?;
        Ok(Self { experiment, workloads, drives, inputs, cache: None, has_bounds: false })
    }

    /// Takes the steady drives of all runs from a cache if it has them, and stores the others there. Results are the
    /// same as without, except for the cost of the run.
    #[must_use]
    pub fn with_cache(self, cache: Option<Cache>) -> Self {
        Self { cache, ..self }
    }

    /// Has comparisons work out how far each run is from the best that is possible: [`RunResult::bounds`].
    #[must_use]
    pub fn with_bounds(self, has_bounds: bool) -> Self {
        Self { has_bounds, ..self }
    }

    /// True if comparisons compute bounds.
    pub fn has_bounds(&self) -> bool {
        self.has_bounds
    }

    /// [`Self::new`] that leaves out combinations which do not fit the inputs of their workloads (a policy that needs
    /// task ids with a recording that has none), if others remain: they become part of [`Experiment::unfit`].
    ///
    /// # Errors
    /// Every other problem.
    pub fn fitting(experiment: &'a mut Experiment) -> Result<Self, Problems> {
        let read = workloads::read_each(experiment);
        let is_unfit = |read: &Result<_, Flaw>| read.as_ref().is_err_and(|flaw| flaw.is_unfit);
        if read.iter().all(is_unfit) {
            return workloads::all(read).and_then(|_| Self::new(experiment));
        }
        let (mut fit, mut variants) = (Vec::with_capacity(read.len()), Vec::with_capacity(read.len()));
        for (variant, read) in std::mem::take(&mut experiment.variants).into_iter().zip(read) {
            match read {
                Err(Flaw { problems, is_unfit: true }) => {
                    // All its seeds are unfit alike, and stand together: it is listed once.
                    let keys = variant.vary.len() - usize::from(experiment.seeds.is_some());
                    let variant = Variant { vary: variant.vary[..keys].to_vec(), config: variant.config };
                    if experiment.unfit.last().is_none_or(|last| last.variant.vary != variant.vary) {
                        experiment.unfit.push(Unfit { variant, problems });
                    }
                }
                read => {
                    variants.push(variant);
                    fit.push(read);
                }
            }
        }
        experiment.variants = variants;
        let experiment: &'a Experiment = experiment;
        experiment.check_expectations()?;
        Self::of_workloads(Cow::Borrowed(experiment), workloads::all(fit)?)
    }

    /// The prepared experiment.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Number of requests of all runs together; approximate for workloads that count them as they issue them.
    pub fn total_requests(&self) -> u64 {
        self.workloads.iter().map(Load::expected_requests).sum()
    }

    /// True if requests may have I/O priorities.
    pub fn has_priorities(&self) -> bool {
        self.workloads.iter().any(Load::has_priorities)
    }

    /// Approximate number of pages needed to age the drives of the variants that `is_to_run` selects by index; a drive
    /// shared by several counts once.
    pub fn expected_ageing(&self, verify: bool, is_to_run: &dyn Fn(usize) -> bool) -> u64 {
        let variants = self.experiment.variants.iter().enumerate().filter(|(index, _)| is_to_run(*index));
        aged::pages_to_age(&self.experiment, verify, variants.map(|(_, variant)| variant))
    }

    /// Number of requests of one variant, by its index in the experiment; approximate for a workload that counts them
    /// as it issues them.
    pub fn expected_requests(&self, index: usize) -> u64 {
        self.workloads[index].expected_requests()
    }

    fn preparation<'s>(&'s self, index: usize, verify: bool, progress: &'s dyn Progress) -> Preparation<'s> {
        let aged = Aged { drive: self.drives[index].as_deref(), cache: self.cache.as_ref(), is_left: false };
        Preparation { config: &self.experiment.variants[index].config, verify, aged, progress }
    }

    fn input<'s>(&'s self, index: usize, verify: bool, progress: &'s dyn Progress) -> Input<'s> {
        let (with, workload) = (self.preparation(index, verify, progress), &self.workloads[index]);
        Input { with, workload, is_issued: false, files: &self.inputs[index] }
    }

    fn run_input(&self, input: Input<'_>, watched: Watched<'_, '_>) -> Result<Finished, Failure> {
        run_one(input, watched).map_err(|failure| self.pointed(input.with.config, failure))
    }

    /// Ages the drive of the first variant, to be saved in a file; the run uses it too.
    ///
    /// # Errors
    /// A drive that is not aged, or a policy whose state cannot be saved; a drive that never became steady.
    pub fn age(&mut self, verify: bool, progress: &dyn Progress) -> Result<Arc<AgedDrive>, Failure> {
        let with = self.preparation(0, verify, progress);
        aged::check_saving(&self.experiment, with.config).map_err(Failure::Input)?;
        let drive = Arc::new(aged::to_be_saved(with).map_err(|failure| self.pointed(with.config, failure))?);
        self.drives[0] = Some(Arc::clone(&drive));
        Ok(drive)
    }

    /// The engine (host and drive) of a variant as its run begins, to be driven by hand: the drive aged, and timed if
    /// `run.timing` says so. The keys of `[workload]`, `run.drain` and `run.end_of_life` have no effect on it.
    ///
    /// # Errors
    /// A policy that cannot be built, or a drive that never became steady.
    pub fn engine(&self, index: usize, verify: bool) -> Result<Engine, Failure> {
        let with = self.preparation(index, verify, &Quiet);
        engine(with).map_err(|failure| self.pointed(with.config, failure))
    }

    /// The drive of a variant alone, in the state of [`Self::engine`]: no block layer, `host.queue_depth` commands at
    /// once.
    ///
    /// # Errors
    /// The errors of [`Self::engine`].
    pub fn bare_engine(&self, index: usize, verify: bool) -> Result<Engine, Failure> {
        let with = self.preparation(index, verify, &Quiet);
        bare_engine(with).map_err(|failure| self.pointed(with.config, failure))
    }

    /// Input files of a variant, the experiment first.
    pub fn inputs(&self, index: usize) -> &[InputResult] {
        &self.inputs[index]
    }

    /// Hash of the saved drive that a variant begins with, if it names one.
    pub fn state_sha256(&self, index: usize) -> Option<&str> {
        self.drives[index].as_deref().and_then(AgedDrive::hash)
    }

    /// True if the first variant runs a fio job file.
    pub fn runs_fio(&self) -> bool {
        self.workloads[0].reports_fio()
    }

    /// Lines left out of the recordings, as asked for: the file, and their problems.
    pub fn skipped(&self) -> Vec<(&str, &SkippedLines)> {
        let mut skipped: Vec<(&str, &SkippedLines)> = Vec::new();
        for workload in self.workloads.iter().flat_map(Load::each) {
            let (Some((path, _)), Some(info)) = (workload.recording(), workload.scanned()) else { continue };
            if info.skipped_lines > 0 && skipped.iter().all(|(known, _)| *known != path) {
                skipped.push((path, &info.skipped));
            }
        }
        skipped
    }

    /// Runs the first variant. Observers that want samples get one after every interval of the timeline.
    ///
    /// # Errors
    /// A check that failed.
    pub fn run(
        &self,
        verify: bool,
        progress: &dyn Progress,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Finished, Failure> {
        self.run_input(self.input(0, verify, progress), Watched { observers, queued: None })
    }

    /// Runs one variant, by its index, with the whole distributions of its latencies.
    ///
    /// # Errors
    /// A check that failed.
    pub fn run_whole(&self, index: usize, progress: &dyn Progress) -> Result<Finished, Failure> {
        self.run_input(self.input(index, false, progress), Watched::default())
    }

    /// Runs the workload of one variant, by its index, on a drive with other values of keys that have nothing to do
    /// with the workload. An aged drive is taken if it is the same as that of the configuration. Requests that are
    /// issued ones go past merging and scheduler.
    ///
    /// # Errors
    /// A check that failed.
    pub fn run_as(
        &self,
        index: usize,
        config: &Config,
        drive: Option<&AgedDrive>,
        is_issued: bool,
        progress: &dyn Progress,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Finished, Failure> {
        let input = Input { is_issued, ..self.input(index, false, progress) };
        let drive = drive.filter(|drive| drive.is_of(config));
        let input = Input { with: Preparation { config, ..input.with }, ..input }.over(drive);
        self.run_input(input, Watched { observers, queued: None })
    }

    /// The aged drive of a variant, for [`Self::run_as`]; `None` if its runs age their own, because it cannot be saved
    /// or is not aged.
    ///
    /// # Errors
    /// A drive that never became steady.
    pub fn aged_drive(&self, index: usize, progress: &dyn Progress) -> Result<Option<Arc<AgedDrive>>, Failure> {
        let with = self.preparation(index, false, progress);
        if aged::check_saving(&self.experiment, with.config).is_err() {
            return Ok(None);
        }
        let drive = AgedDrive::age(with);
        drive.map(|drive| Some(Arc::new(drive))).map_err(|failure| self.pointed(with.config, failure))
    }

    /// [`Self::run`] of requests that a scheduler has issued before: they go to the drive past merging and scheduler.
    ///
    /// # Errors
    /// A check that failed.
    pub fn run_issued(
        &self,
        progress: &dyn Progress,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Finished, Failure> {
        let input = Input { is_issued: true, ..self.input(0, false, progress) };
        self.run_input(input, Watched { observers, queued: None })
    }

    /// Runs the first variant, and passes each of its requests to a callback at an event: as the workload queues it,
    /// or, merged, as the scheduler issues it.
    ///
    /// # Errors
    /// A check that failed.
    pub fn requests(
        &self,
        event: Event,
        progress: &dyn Progress,
        show: &mut dyn FnMut(&Request),
    ) -> Result<Finished, Failure> {
        match event {
            Event::Queue => {
                self.run_input(self.input(0, false, progress), Watched { observers: &mut [], queued: Some(show) })
            }
            Event::Issue => self.run(false, progress, &mut [&mut Issues(show)]),
        }
    }

    /// Points a failure to build a policy at the key that chose it.
    fn pointed(&self, config: &Config, failure: Failure) -> Failure {
        served::pointed(&self.experiment, config, failure)
    }

    /// Runs one variant, by its index in the experiment.
    ///
    /// # Errors
    /// A check that failed, with the varied values of the variant.
    pub fn run_variant(&self, index: usize, verify: bool, progress: &dyn Progress) -> Result<RunResult, Failure> {
        self.run_with(index, verify, progress, None)
    }

    /// Runs one variant, on the given aged drive if there is one.
    fn run_with(
        &self,
        index: usize,
        verify: bool,
        progress: &dyn Progress,
        drive: Option<&AgedDrive>,
    ) -> Result<RunResult, Failure> {
        let mut input = self.input(index, verify, progress).over(drive);
        // Bounds run the drive again, while they are worked out.
        input.with.aged.is_left = !self.has_bounds;
        let result = if self.has_bounds {
            bounded(input)
        } else {
            run_one(input, Watched::default()).map(|finished| finished.result)
        };
        result.map_err(|failure| self.told_apart(index, failure))
    }

    /// Adds the variant's varied values to a failure, if there are several runs.
    fn told_apart(&self, index: usize, failure: Failure) -> Failure {
        let variant = &self.experiment.variants[index];
        match self.pointed(&variant.config, failure) {
            Failure::Check(message) if !variant.vary.is_empty() => {
                Failure::Check(violation!("{message} (with {})", variant.label()))
            }
            other => other,
        }
    }

    /// Runs one variant, and returns the requests that its scheduler issues to the drive.
    ///
    /// # Errors
    /// A check that failed.
    pub fn issued_by(&self, index: usize, progress: &dyn Progress) -> Result<Vec<Request>, Failure> {
        let mut issued = Vec::new();
        let mut issues = Issues(|request: &Request| issued.push(*request));
        let watched = Watched { observers: &mut [&mut issues], queued: None };
        self.run_input(self.input(index, false, progress), watched)?;
        Ok(issued)
    }

    /// Replays requests that another run issued on the drive of a variant, in their order and without a scheduler, with
    /// `workload.queue_depth` of them outstanding.
    ///
    /// # Errors
    /// A check that failed.
    pub fn replay(&self, index: usize, issued: &[Request], progress: &dyn Progress) -> Result<RunResult, Failure> {
        let input = self.input(index, false, progress);
        let workload = Issued { requests: issued, queue_depth: input.with.config.workload.queue_depth };
        let workload = &Load::of_drive(Box::new(workload));
        let finished = self.run_input(Input { workload, is_issued: true, ..input }, Watched::default())?;
        Ok(finished.result)
    }
}

/// Switches off throttling that nobody asked for where nothing is known of which writes a task waits for, so that it
/// would be a guess which of them it holds up.
fn throttle_what_is_known(experiment: &mut Cow<'_, Experiment>, workloads: &[Load<'_>]) {
    let guesses = experiment
        .variants
        .iter()
        .zip(workloads)
        .map(|(variant, workload)| variant.config.host.wbt == Throttling::Auto && !workload.tells_sync_writes());
    let guesses: Vec<usize> = (0..).zip(guesses).filter(|(_, is_guess)| *is_guess).map(|(index, _)| index).collect();
    for index in guesses {
        experiment.to_mut().variants[index].config.host.wbt = Throttling::Off;
    }
}

/// Inputs of a run.
#[derive(Clone, Copy)]
struct Input<'a> {
    with: Preparation<'a>,
    workload: &'a Load<'a>,
    /// True if the requests are those that another run issued: they go to the drive past the scheduler.
    is_issued: bool,
    /// Input files.
    files: &'a [InputResult],
}

impl<'a> Input<'a> {
    /// The run on an aged drive, if there is one.
    fn over(mut self, drive: Option<&'a AgedDrive>) -> Self {
        self.with.aged.drive = drive.or(self.with.aged.drive);
        self
    }
}

/// Executes one run: age the drive, replay the workload, check the accounts.
fn run_one(input: Input<'_>, watched: Watched<'_, '_>) -> Result<Finished, Failure> {
    let stopwatch = Stopwatch::start();
    let Preparation { config, verify, aged, .. } = input.with;
    if let Some(refusal) = aged.drive.and_then(|drive| drive.unlike(verify)) {
        return Err(Failure::Refused(refusal));
    }
    let mut simulation = simulation(input)?;
    let finished = simulate(input, stopwatch, watched, &mut simulation);
    // What does not pass a check may not be what it says that it was.
    if let Some(drive) = aged.drive
        && aged.is_left
        && !matches!(finished, Err(Failure::Check(_)))
    {
        drive.leave(config, verify, simulation.into_engine());
    }
    finished
}

/// Replays the workload on a drive in the state before it, and checks the accounts.
fn simulate(
    input: Input<'_>,
    stopwatch: Stopwatch,
    watched: Watched<'_, '_>,
    simulation: &mut Simulation,
) -> Result<Finished, Failure> {
    let Preparation { config, progress, aged, .. } = input.with;
    let mut running = input.workload.start(config)?;
    let mut series = config.run.series_ns.map(Series::new);
    let interval_ns = config.run.timeline_interval_ns;
    let (end_ns, reports) = watched.run(simulation, &mut running, interval_ns, series.as_mut(), progress)?;
    simulation.check().map_err(Failure::Check)?;
    let outcome = simulation.outcome();
    let is_cut = outcome.end_of_life.is_some() && config.run.end_of_life == EndOfLife::Stop;
    let expected =
        || input.workload.each().zip(&running).map(|(of, run)| run.issued().unwrap_or(of.expected_requests()));
    tenants::check(&outcome.host, &reports, expected().collect(), is_cut).map_err(Failure::Check)?;
    progress.run_ended();
    let info = input.workload.scanned();
    let state_sha256 = aged.drive.and_then(AgedDrive::hash);
    let mut result = Measured { config, outcome: &outcome, info, state_sha256, end_ns }.result();
    result.series = series.map(|series| Box::new(series.result(&config.device.geometry(), &outcome)));
    result.run = Some(stopwatch.cost(outcome.host.total_completed(), outcome.filled));
    result.provenance = Some(provenance::provenance(config, input.files, &result));
    let remarks = input.workload.remarks().into_iter().map(hints::remarked);
    let remarks = remarks.chain(hints::priorities(config, input.workload));
    result.hints = remarks.chain(hints::of(config, info, &outcome.host, &result)).collect();
    let fio_json = match &mut running[..] {
        [one] => {
            let report = one.report().map_err(Failure::Input)?;
            let config = config.each().next().unwrap_or(config);
            report::add(&mut result, config, &report, one.figures())
        }
        several => {
            result.tenants = tenants::results(config, &reports, several);
            None
        }
    };
    Ok(Finished { result, fio_json, host: outcome.host })
}

/// One run with its bounds.
fn bounded(input: Input<'_>) -> Result<RunResult, Failure> {
    let config = input.with.config;
    let mut record = Record::new(config.device.logical_pages() as u32, config.host.device_depth());
    let mut result = run_one(input, Watched { observers: &mut [&mut record], queued: None })?.result;
    result.bounds = Some(bounds::of(input, record, &result)?);
    Ok(result)
}

/// Builds the simulation of a run: engine and drive in the state before the workload.
fn simulation(input: Input<'_>) -> Result<Simulation, Failure> {
    let config = input.with.config;
    if input.is_issued {
        return Ok(simulation_of(config, queueing(input.with)?, false));
    }
    Ok(simulation_of(config, engine(input.with)?, config.run.drain))
}

/// Builds the simulation of a run on a given engine.
fn simulation_of(config: &Config, engine: Engine, drains: bool) -> Simulation {
    let mut simulation = Simulation::new(engine);
    if drains {
        simulation = simulation.with_drain();
    }
    if config.run.timing == Timing::Counting {
        simulation = simulation.with_samples_by_pages(config.run.timeline_pages);
    }
    if config.run.end_of_life == EndOfLife::ReadOnly {
        simulation = simulation.beyond_end_of_life();
    }
    simulation
}
