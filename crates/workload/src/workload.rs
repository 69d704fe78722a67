//! The workload's place on the path of a request: what a workload is, and the one table of those that are built in.
//!
//! A workload is checked in three steps, each before the next:
//!
//! ```text
//! profile   the configuration alone, and the drive: keys that it cannot follow, sizes that do not fit
//! read      its input, to the end: recordings, job files
//! start     the arrivals of one run: nothing that the user wrote stops it any more
//! ```
//!
//! What a workload has to say of a run is a [`Report`], and the figures that its specification describes.
//!
//! Adding one: a file `workload/NAME.rs` with its type, and its line in the table below; or, from another crate,
//! [`Slot::add`]. A generator is a [`Source`] that [`Context::replayed`] makes arrivals of.

mod filebench;
mod fio;
mod synthesized;
mod synthetic;
mod trace;

use std::sync::Arc;

use flashloom_units::{Chosen, Figure, Prng, Problem, Problems, Refusal, Role, Slot};

use crate::{
    Arrivals, Character, FilebenchReport, FioReport, Limited, Pace, Replay, Replayed, Source, TraceInfo, TraceOptions,
    WORKLOADS, WorkloadParams, fit,
};

/// A workload of one run: where its requests come from. [`Self::read`] is called once, before all that is below it.
pub trait Workload: Send + Sync {
    /// The recording that is scanned before [`Self::read`]: its path, and how it is read. One that several runs read in
    /// the same way is scanned once.
    fn recording(&self) -> Option<(&str, TraceOptions)> {
        None
    }

    /// Reads the input to its end and holds it against the drive. `scanned` is what [`Self::recording`] holds.
    ///
    /// # Errors
    /// Everything that is wrong inside the input, or the keys of the configuration that it does not go with.
    fn read(&mut self, _scanned: Option<&Arc<TraceInfo>>) -> Result<(), Unfit> {
        Ok(())
    }

    /// What the recording holds, if one was read.
    fn scanned(&self) -> Option<&TraceInfo> {
        None
    }

    /// How many requests a run will issue; where [`Running::issued`] counts them, about as many.
    fn expected_requests(&self) -> u64;

    /// Whether the requests carry task ids.
    fn has_task_ids(&self) -> bool;

    /// Whether its runs end with [`Report::Fio`].
    fn reports_fio(&self) -> bool {
        false
    }

    /// The requests of one run, from the first; every run of the same workload gets the same.
    ///
    /// # Errors
    /// What is wrong with the input after all: it has changed since it was read.
    fn start(&self) -> Result<Box<dyn Running + '_>, Problems>;
}

/// The requests of one run as they arrive, and what they come to.
pub trait Running: Arrivals {
    /// How many requests were issued, where [`Workload::expected_requests`] could not know.
    fn issued(&self) -> Option<u64> {
        None
    }

    /// What the workload has to say of the run at its end.
    ///
    /// # Errors
    /// What is wrong with a stream that is made again to be measured.
    fn report(&self) -> Result<Report, Problem> {
        Ok(Report::Plain)
    }

    /// The values of the workload's `statistics`, in that order.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

impl<S: Source> Running for Replayed<S> {}

/// What a workload reports beside the figures of host and drive.
#[derive(Clone, Debug)]
pub enum Report {
    /// Nothing.
    Plain,
    /// What the threads of a personality did.
    Filebench(FilebenchReport),
    /// What fio would report.
    Fio {
        /// The options of the job file's `[global]` sections, as they were written.
        global_options: Vec<(String, String)>,
        /// Of each job, or of each group of jobs that report together.
        jobs: Vec<FioReport>,
    },
    /// How well a stream fits its characterisation.
    Character {
        /// What was asked for.
        target: Character,
        /// What the stream has.
        achieved: Character,
    },
}

/// Why a workload cannot run with its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// What is wrong inside the input: file, line and column.
    Input(Problems),
    /// The keys of the configuration that the input does not go with.
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

/// What a workload is built from.
#[derive(Clone, Debug)]
pub struct Context {
    /// The `[workload]` section.
    pub params: WorkloadParams,
    /// Where `workload.path` lies, if the section names one.
    pub path: Option<String>,
    /// The capacity of the drive, in sectors.
    pub capacity_sectors: u64,
    /// Whether time passes in the run; where it does not, nothing ends by time.
    pub is_timed: bool,
    /// The workload's own branch of the run's random numbers.
    pub prng: Prng,
}

impl Context {
    /// The replay of a source as the section says: at most `workload.requests`, addresses within the drive, at the pace
    /// of `workload.replay`. `span` is the sector after the last one of the source; `has_times` says whether its
    /// requests have times of arrival.
    pub fn replayed<'a>(&self, source: impl Source + 'a, span: u64, has_times: bool) -> Replayed<Box<dyn Source + 'a>> {
        let params = &self.params;
        let pace = match params.replay_or_default(has_times) {
            Replay::Timestamps => Pace::Timestamps(params.speed),
            Replay::Closed => Pace::Closed(params.queue_depth),
            Replay::Dependent => Pace::Dependent(params.speed),
        };
        let limited = Limited::new(source, params.requests);
        Replayed::new(Box::new(fit(limited, self.capacity_sectors, params.addresses, span)), pace)
    }

    /// Of so many requests, those that `workload.requests` lets pass.
    pub fn limited(&self, requests: u64) -> u64 {
        requests.min(self.params.requests.unwrap_or(u64::MAX))
    }
}

/// What is known of a configuration when a workload is held against it.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The `[workload]` section.
    pub params: &'a WorkloadParams,
    /// Whether `workload.kind` was written, rather than left at its default.
    pub is_chosen: bool,
    /// Whether a key, such as `workload.replay`, was given another value than its default.
    pub is_asked: &'a dyn Fn(&str) -> bool,
    /// What the workload will be built from; absent where the section is checked alone: the drive may be wrong itself.
    pub context: Option<&'a Context>,
}

impl Site<'_> {
    /// The first of these keys of `[workload]` that was asked for.
    fn asked<'k>(&self, names: &[&'k str]) -> Option<&'k str> {
        names.iter().copied().find(|name| (self.is_asked)(&format!("workload.{name}")))
    }
}

/// What a workload states before it is built.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Everything in the configuration that it cannot follow: the user gets all of it in one pass.
    pub misfits: Vec<Refusal>,
    /// Whether its addresses count from `workload.first_sector`; another workload is refused with that key.
    pub has_first_sector: bool,
}

impl Role for dyn Workload {
    type Site<'a> = Site<'a>;
    type Profile = Profile;
    type Context<'a> = Context;
}

/// Everything in a configuration that its workload cannot follow.
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

/// The kinds of workload that are built in.
pub fn builtin() -> Slot<dyn Workload> {
    let kinds = [trace::policy(), synthetic::policy(), fio::policy(), filebench::policy(), synthesized::policy()];
    Slot::new(&WORKLOADS, kinds)
}

/// A workload of a file without its path.
fn pathless(name: &str, file: &str) -> Refusal {
    Refusal::new(format!("`kind` = \"{name}\" without a path"), format!("`path` in [workload], naming the {file}"))
}

/// What a generator found wrong with its parameters may also be the fault of the device's size.
fn unfit(mut refusal: Refusal) -> Refusal {
    refusal.keys.extend(["device.blocks", "device.preset"].map(str::to_owned));
    refusal
}
