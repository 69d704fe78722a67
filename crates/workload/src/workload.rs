//! The workload slot: the trait of a workload, and the one table of those that are built in.
//!
//! A workload is checked in three steps, in this order:
//!
//! ```text
//! profile   the configuration alone, and the drive: keys without effect, sizes that do not fit
//! read      its input, to the end: recordings, job files
//! start     the arrivals of one run: nothing that the user wrote stops it any more
//! ```
//!
//! At its end a run's workload returns a [`Report`], and the figures that its specification describes.
//!
//! To add one, write a file `workload/NAME.rs` with its type, and its line in the table below; or, from another crate,
//! call [`Slot::add`]. A generator is a [`Source`] that [`Context::replayed`] turns into arrivals.

mod filebench;
mod fio;
mod synthesized;
mod synthetic;
mod trace;

use std::sync::Arc;

use flashloom_units::{Chosen, Figure, Parameters, Policy, PolicySpec, Prng, Problem, Problems, Refusal, Role, Slot};

use crate::{
    Arrivals, Character, FilebenchReport, FioReport, Limited, Pace, Remark, Replay, Replayed, Source, TraceInfo,
    TraceOptions, WORKLOADS, WorkloadParams, fit,
};

pub use fio::JobFiles;

/// The workload of one run. [`Self::read`] is called once, before the methods below it.
pub trait Workload: Send + Sync {
    /// The recording to scan before [`Self::read`]: its path and reading options. A recording that several runs read in
    /// the same way is scanned once.
    fn recording(&self) -> Option<(&str, TraceOptions)> {
        None
    }

    /// Reads the input to its end and checks it against the drive. `scanned` is the summary of [`Self::recording`].
    ///
    /// # Errors
    /// Everything that is wrong inside the input, or the configuration's keys that do not fit the input.
    fn read(&mut self, _scanned: Option<&Arc<TraceInfo>>) -> Result<(), Unfit> {
        Ok(())
    }

    /// Summary of the recording, if one was read.
    fn scanned(&self) -> Option<&TraceInfo> {
        None
    }

    /// Number of requests that a run will issue; an approximation, or 0, if [`Running::issued`] counts them.
    fn expected_requests(&self) -> u64;

    /// True if the requests carry task ids.
    fn has_task_ids(&self) -> bool;

    /// False if nothing is known of which writes a task waits for.
    fn tells_sync_writes(&self) -> bool {
        true
    }

    /// True if requests may have priorities.
    fn has_priorities(&self) -> bool {
        false
    }

    /// What the user should know of the requests that the configuration asks for, beside hints at figures; asked for
    /// after [`Self::read`].
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }

    /// Reason why runs with different seeds get the same requests at the same times, and what would change that; none
    /// if the seed matters.
    fn undrawn(&self) -> Option<Refusal> {
        None
    }

    /// True if its runs end with [`Report::Fio`].
    fn reports_fio(&self) -> bool {
        false
    }

    /// Memory that one run takes beside its requests, in bytes: an estimate from above, if it may be much.
    fn memory_bytes(&self) -> u64 {
        0
    }

    /// Starts one run; every run of the same workload gets the same requests.
    ///
    /// # Errors
    /// A problem with input that has changed since it was read.
    fn start(&self) -> Result<Box<dyn Running + '_>, Problems>;
}

/// The requests of one run as they arrive, and their report.
pub trait Running: Arrivals {
    /// Number of requests issued, if [`Workload::expected_requests`] could not know it.
    fn issued(&self) -> Option<u64> {
        None
    }

    /// Report of the workload at the end of the run, asked for once.
    ///
    /// # Errors
    /// A problem with a stream that is generated again to be measured.
    fn report(&mut self) -> Result<Report, Problem> {
        Ok(Report::Plain)
    }

    /// The values of the workload's `statistics`, in that order.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

impl<S: Source> Running for Replayed<S> {}

/// Report of a workload, beside the figures of host and drive.
#[derive(Clone, Debug)]
pub enum Report {
    /// No report.
    Plain,
    /// Figures of a Filebench personality's threads.
    Filebench(FilebenchReport),
    /// Figures that fio would report.
    Fio {
        /// Options of the job file's `[global]` sections, as written.
        global_options: Vec<(String, String)>,
        /// One report per clone of a job, or per group of clones that report together.
        jobs: Vec<FioReport>,
    },
    /// Fit of a stream to its characterisation.
    Character {
        /// Characterisation asked for.
        target: Character,
        /// Characterisation of the stream as generated.
        achieved: Character,
    },
}

/// Reason why a workload cannot run with its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Problems inside the input: file, line and column.
    Input(Problems),
    /// Keys of the configuration that do not fit the input.
    Refused(Refusal),
}

impl From<Problem> for Unfit {
    fn from(problem: Problem) -> Self {
        Self::Input(problem.into())
    }
}

impl From<Problems> for Unfit {
    fn from(problems: Problems) -> Self {
        Self::Input(problems)
    }
}

impl From<Refusal> for Unfit {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Inputs of a workload's construction.
#[derive(Clone, Debug)]
pub struct Context {
    /// The `[workload]` section.
    pub params: WorkloadParams,
    /// Path of `workload.path`, if the section names one.
    pub path: Option<String>,
    /// The capacity of the drive, in sectors.
    pub capacity_sectors: u64,
    /// True if time passes in the run; if not, nothing ends by time.
    pub is_timed: bool,
    /// The workload's own branch of the run's random numbers.
    pub prng: Prng,
    /// Job files that the runs which are read together share.
    pub job_files: JobFiles,
    /// True if the issued requests of a recording are paired with their completions ([`TraceOptions::completions`]).
    pub completions: bool,
}

impl Context {
    /// Replays a source by the `[workload]` section: at most `workload.requests` requests, addresses within the drive,
    /// at the pace of `workload.replay`. `span` is the sector after the last one of the source; `has_times`: its
    /// requests have arrival times.
    pub fn replayed<'a>(&self, source: impl Source + 'a, span: u64, has_times: bool) -> Replayed<Box<dyn Source + 'a>> {
        let params = &self.params;
        let pace = match params.replay_or_default(has_times) {
            Replay::Timestamps => Pace::Timestamps(params.speed),
            Replay::Closed => Pace::Closed(params.queue_depth),
            Replay::Dependent => Pace::Dependent(params.speed),
        };
        let limited = Limited::new(source, params.requests);
        let fitted: Box<dyn Source + 'a> = Box::new(fit(limited, self.capacity_sectors, params.addresses, span));
        Replayed::new(fitted, pace).with_submission(params.submit_time_ns)
    }

    /// Options for reading a recording.
    pub fn trace_options(&self) -> TraceOptions {
        TraceOptions { completions: self.completions, ..self.params.trace_options() }
    }

    /// Number of requests that `workload.requests` lets pass, out of `requests`.
    pub fn limited(&self, requests: u64) -> u64 {
        requests.min(self.params.requests.unwrap_or(u64::MAX))
    }
}

/// The configuration that a workload is checked against.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The `[workload]` section.
    pub params: &'a WorkloadParams,
    /// True if `workload.kind` was written, rather than left at its default.
    pub is_chosen: bool,
    /// Returns true if a key, such as `workload.replay`, was set to a value other than its default.
    pub is_asked: &'a dyn Fn(&str) -> bool,
    /// Inputs of the workload's construction; absent if the section is checked alone, because the drive may be wrong
    /// itself.
    pub context: Option<&'a Context>,
}

/// Statement of a workload about a configuration, before it is built.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Keys of the configuration that have no effect or do not fit, all of them in one pass.
    pub misfits: Vec<Refusal>,
    /// True if its addresses count from `workload.first_sector`; other workloads are refused with that key.
    pub has_first_sector: bool,
    /// True if it replays a recording, of which `workload.replicate` makes replicates.
    pub has_replicates: bool,
    /// How its requests arrive where `workload.replay` is left out; none if it paces itself.
    pub replay: Option<Replay>,
    /// True if it reads the file that `workload.path` names.
    pub reads_path: bool,
    /// The key that changes how many requests come in a time; none if only `workload.speed` does.
    pub rate_key: Option<&'static str>,
    /// The addresses that it uses, if a key says so.
    pub footprint: Option<Footprint>,
    /// Its way through the addresses, if it goes through them in order and then begins again.
    pub rounds: Option<Rounds>,
}

/// Addresses that are passed in order, again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// Bytes from the beginning of a request to that of the next.
    pub step_bytes: u64,
    /// The addresses of a round.
    pub footprint: Footprint,
    /// The key that decides them.
    pub key: &'static str,
}

/// Addresses that a workload uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Footprint {
    /// So many bytes.
    Bytes(u64),
    /// A share of the drive.
    Share(f64),
}

impl Role for dyn Workload {
    type Site<'a> = Site<'a>;
    type Profile = Profile;
    type Context<'a> = Context;
}

/// Every key of a configuration that its workload cannot follow.
pub fn misfits(workload: &Chosen<dyn Workload>, site: &Site<'_>) -> Vec<Refusal> {
    let profile = match workload.profile(site) {
        Ok(profile) => profile,
        Err(refusal) => return vec![refusal],
    };
    let first_sector = site.params.first_sector;
    let moved = (!profile.has_first_sector && first_sector > 0).then(|| {
        let found = format!("`first_sector` = {first_sector} with `kind` = \"{}\"", workload.name());
        Refusal::new(found, format!("a recording (\"{}\")", trace::SPEC.name)).at(["workload.first_sector"])
    });
    profile.misfits.into_iter().chain(moved).collect()
}

/// The built-in kinds of workload.
pub fn builtin() -> Slot<dyn Workload> {
    let kinds = [trace::policy(), synthetic::policy(), fio::policy(), filebench::policy(), synthesized::policy()];
    Slot::new(&WORKLOADS, kinds)
}

/// A workload that is made from parameters of its own alone.
struct Generated<P> {
    params: P,
    context: Context,
}

impl<P: Parameters + 'static> Generated<P>
where
    Self: Workload,
{
    fn policy(spec: &'static PolicySpec) -> Policy<dyn Workload> {
        Policy::<dyn Workload>::new(spec, |params: P, context| Ok(Box::new(Self { params, context: context.clone() })))
    }
}

/// Refuses the first of these keys of `[workload]`, separated by blanks, that was set: they are for other kinds.
fn of_others(spec: &PolicySpec, site: &Site<'_>, names: &str, expected: String) -> Option<Refusal> {
    let name = names.split(' ').find(|name| (site.is_asked)(&format!("workload.{name}")))?;
    let found = format!("`{name}` with `kind` = \"{}\"", spec.name);
    Some(Refusal::new(found, expected).at([format!("workload.{name}")]))
}

/// Refuses a workload that needs a file, without its path.
fn pathless(name: &str, file: &str) -> Refusal {
    Refusal::new(format!("`kind` = \"{name}\" without a path"), format!("`path` in [workload], naming the {file}"))
}

/// Points a refusal of a generator's parameters at the device's size too, which may be the fault.
fn unfit(mut refusal: Refusal) -> Refusal {
    refusal.keys.extend(["device.blocks", "device.preset"].map(str::to_owned));
    refusal
}
