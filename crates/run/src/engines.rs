//! Engines of a configuration: host and drive in the state before the workload, for runs and for programs that drive
//! one by hand.

use flashloom_device::{Ageing, Drive, Engine, Outcome, Overwrite, Preconditioned};
use flashloom_host::{BlockLayer, HostParams, Scheduler, Throttling, scheduler};
use flashloom_units::{Chosen, GIB, Ns, OrName, Prng, violation};

use super::aged::{AgedDrive, bring};
use super::hints;
use super::measure::Measured;
use super::{Cache, Failure, Progress, Quiet};
use flashloom_config::{Config, Precondition, Timing};
use flashloom_figures::result::RunResult;

/// What the engine of a run is prepared with.
#[derive(Clone, Copy)]
pub(super) struct Preparation<'a> {
    pub(super) config: &'a Config,
    /// Whether every command and sector is checked.
    pub(super) verify: bool,
    pub(super) aged: Aged<'a>,
    pub(super) progress: &'a dyn Progress,
}

impl<'a> Preparation<'a> {
    /// An unverified engine, whose drive is aged without a word.
    pub(super) fn quiet(config: &'a Config) -> Self {
        Self { config, verify: false, aged: Aged::default(), progress: &Quiet }
    }

    /// A new drive.
    pub(super) fn drive(&self) -> Result<Drive, Failure> {
        Ok(Drive::new(&self.config.drive_setup(self.verify))?)
    }
}

/// Puts a drive under its host.
pub(super) type Build<'a> = &'a dyn Fn(Drive) -> Result<Engine, Failure>;

/// Sources of a run's aged drive; the run ages it itself if neither has it.
#[derive(Clone, Copy, Default)]
pub(super) struct Aged<'a> {
    /// The drive, if it was aged before.
    pub(super) drive: Option<&'a AgedDrive>,
    /// The cache that may hold one like it, and stores new ones.
    pub(super) cache: Option<&'a Cache>,
    /// Whether the engine is for a run that leaves its flash to the next one ([`AgedDrive::leave`]).
    pub(super) is_left: bool,
}

/// The engine (host and drive) of a configuration as its runs begin: the drive aged, and timed if `run.timing` says so.
/// The workload is the caller's; the keys of `[workload]`, `run.drain` and `run.end_of_life` have no effect on it.
///
/// # Errors
/// A policy that cannot be built, or a drive that never became steady.
pub(super) fn engine(with: Preparation<'_>) -> Result<Engine, Failure> {
    let config = with.config;
    started(with, &|drive| with_scheduler(config, &config.host, built(config, &config.scheduler())?, drive))
}

/// The timed engine of a configuration whose state is to be restored: its drive is new.
///
/// # Errors
/// A policy that cannot be built.
pub(super) fn unaged(config: &Config) -> Result<Engine, Failure> {
    let drive = Preparation::quiet(config).drive()?;
    let mut engine = with_scheduler(config, &config.host, built(config, &config.scheduler())?, drive)?;
    start_timing(config, false, &mut engine);
    Ok(engine)
}

/// The engine of a configuration under another scheduler, without merging: the scheduler sees every request as it is.
///
/// # Errors
/// The errors of [`engine`].
pub(super) fn unmerged(
    with: Preparation<'_>,
    scheduler: &dyn Fn() -> Result<Box<dyn Scheduler>, Failure>,
) -> Result<Engine, Failure> {
    let config = with.config;
    let host = HostParams {
        merging: false,
        max_request_bytes: OrName::Number(GIB),
        max_segments: None,
        wbt: Throttling::Off,
        queue_depth: config.host.device_depth(),
        hardware_queues: 1,
        ..config.host.clone()
    };
    started(with, &|drive| with_scheduler(config, &host, scheduler()?, drive))
}

/// The drive of a configuration alone, in the state of [`engine`]: no block layer, `host.queue_depth` commands at once.
///
/// # Errors
/// The errors of [`engine`].
pub(super) fn bare_engine(with: Preparation<'_>) -> Result<Engine, Failure> {
    let config = with.config;
    started(with, &|drive| Ok(Engine::bare(drive, config.host.queue_depth, config.ftl.idle_delay_ns)))
}

/// The engine under a block layer that only queues: requests reach the drive unmerged and in their order, and wait
/// while it is full.
///
/// # Errors
/// A policy that cannot be built, or a drive that never became steady.
pub fn unscheduled(config: &Config) -> Result<Engine, Failure> {
    queueing(Preparation::quiet(config))
}

/// [`unscheduled`] with what a run is prepared with.
pub(super) fn queueing(with: Preparation<'_>) -> Result<Engine, Failure> {
    let noop = scheduler::builtin().choose("noop", &[])?;
    unmerged(with, &|| built(with.config, &noop))
}

fn built(config: &Config, scheduler: &Chosen<dyn Scheduler>) -> Result<Box<dyn Scheduler>, Failure> {
    let setup = BlockLayer::setup(&config.host, config.device.capacity_sectors());
    Ok(scheduler.build(&setup).map_err(|refusal| refusal.or_at(scheduler::SLOT.key))?)
}

fn with_scheduler(
    config: &Config,
    host: &HostParams,
    scheduler: Box<dyn Scheduler>,
    drive: Drive,
) -> Result<Engine, Failure> {
    Ok(Engine::new(BlockLayer::new(host, scheduler), drive, config.ftl.idle_delay_ns))
}

/// Builds an engine and brings it into the state before the workload: by ageing it, or by loading an aged drive. A
/// verified run checks latencies by cause too.
fn started(with: Preparation<'_>, build: Build<'_>) -> Result<Engine, Failure> {
    let build = |drive| {
        let mut engine = build(drive)?;
        engine.interrupted_by(with.progress.interrupt());
        Ok(engine)
    };
    let mut engine = match with.aged.drive {
        Some(drive) if with.aged.is_left => drive.engine_to_leave(with, &build)?,
        Some(drive) => drive.engine(with, &build)?,
        None => bring(with, &build)?.engine,
    };
    if with.config.run.timing == Timing::Timed {
        start_timing(with.config, with.verify, &mut engine);
    }
    Ok(engine)
}

fn start_timing(config: &Config, verify: bool, engine: &mut Engine) {
    engine.start_timing(&config.device.nand);
    if verify || config.run.anatomy {
        engine.keep_anatomy().expect("an engine that takes time and was given no request");
    }
}

/// Ages a drive as a configuration says; `None` if it is to be new.
///
/// # Errors
/// A drive that never became steady.
pub(super) fn precondition(with: Preparation<'_>, engine: &mut Engine) -> Result<Option<Preconditioned>, Failure> {
    let Preparation { config, progress, .. } = with;
    let Some(ageing) = ageing(config) else { return Ok(None) };
    let mut told = 0;
    let mut tell = |pages: u64| {
        progress.ageing(pages.saturating_sub(told));
        told = told.max(pages);
    };
    let interrupt = progress.interrupt();
    engine.interrupted_by(interrupt.clone());
    let aged = engine.precondition(&ageing, &mut tell);
    if interrupt.is_raised() {
        return Err(Failure::Interrupted);
    }
    tell(aged.pages);
    progress.ageing_ended(aged.pages, expected_pages(config));
    if !aged.stable && !aged.is_worn_out {
        return Err(Failure::Check(violation!(
            "write amplification was not steady after {} pages, on a drive of {} which are all to be used first (it \
             was {:.3} in the last window): raise run.steady_windows or run.steady_tolerance, or run.steady_window",
            aged.pages,
            config.device.geometry().total_pages(),
            aged.waf.unwrap_or_default()
        )));
    }
    Ok(Some(aged))
}

/// Approximate number of pages that ageing writes; 0 if the drive is to be new. A steady state takes every page of the
/// drive once, and then at least two more windows.
pub(super) fn expected_pages(config: &Config) -> u64 {
    let Some(Ageing { fill_pages, overwrite, .. }) = ageing(config) else { return 0 };
    let Some(Overwrite { window, .. }) = overwrite.filter(|_| fill_pages > 0) else { return fill_pages };
    let window = window_pages(fill_pages, window);
    let overwritten = config.device.geometry().total_pages().saturating_sub(fill_pages);
    fill_pages + overwritten.next_multiple_of(window) + 2 * window
}

/// Checks the figures that a file has about the ageing of a configuration's drive: what [`precondition`] returns comes
/// in whole windows, of which it takes three to be steady.
///
/// # Errors
/// The figures that no such drive has.
pub(super) fn check_aged(config: &Config, aged: &Preconditioned) -> Result<(), String> {
    let Preconditioned { pages, waf, stable, is_worn_out } = *aged;
    let is_one =
        ageing(config).is_some_and(|Ageing { fill_pages, overwrite, .. }| match overwrite.filter(|_| fill_pages > 0) {
            _ if is_worn_out => !stable && waf.is_none(),
            None => stable && waf.is_none() && pages == fill_pages,
            Some(Overwrite { window, max_windows, .. }) => {
                let (window, overwritten) = (window_pages(fill_pages, window), pages.saturating_sub(fill_pages));
                let windows = overwritten / window;
                let are_whole = overwritten.is_multiple_of(window) && (3..=u64::from(max_windows)).contains(&windows);
                stable && waf.is_some_and(f64::is_finite) && are_whole
            }
        });
    if is_one {
        return Ok(());
    }
    let shown = waf.map_or("none".to_owned(), |waf| waf.to_string());
    Err(format!("{pages} pages, a write amplification of {shown}, steady: {stable}, worn out: {is_worn_out}"))
}

/// Pages of a window of overwrites.
fn window_pages(fill_pages: u64, window: f64) -> u64 {
    ((fill_pages as f64 * window) as u64).max(1)
}

fn ageing(config: &Config) -> Option<Ageing> {
    let run = &config.run;
    let overwrite = Overwrite {
        prng: Prng::new(run.seed).branch("precondition"),
        window: run.steady_window,
        tolerance: run.steady_tolerance,
        max_windows: run.steady_windows,
        rest: config.rests(),
    };
    let fill_pages = (config.device.logical_pages() as f64 * run.fill).floor() as u64;
    let fill_streams = run.fill_streams;
    let overwrite = (run.precondition == Precondition::Steady).then_some(overwrite);
    (run.precondition != Precondition::None).then_some(Ageing { fill_pages, fill_streams, overwrite })
}

/// Result of an engine of that configuration that was driven by hand and is idle: equal to that of a run of the same
/// requests, except for the parts that only a workload knows (`filebench`, `synthesized`, `host.skipped_lines`), the
/// cost (`run`) and the origin (`provenance`).
///
/// # Errors
/// A check that failed.
pub fn result(config: &Config, engine: &Engine) -> Result<RunResult, Failure> {
    engine.check().map_err(Failure::Check)?;
    Ok(result_so_far(config, &engine.outcome(), engine.now_ns()))
}

/// [`result`] of the figures that an engine has at any moment, unchecked. Requests that have not ended count as arrived
/// alone, and what only the buffer has is not yet written.
pub fn result_so_far(config: &Config, outcome: &Outcome, now_ns: Ns) -> RunResult {
    let mut result = Measured { config, outcome, info: None, state_sha256: None, end_ns: now_ns }.result();
    result.hints = hints::of(config, None, &outcome.host, &result);
    result
}
