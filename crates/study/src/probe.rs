//! The micro-tests of ParDispatcher, section II-A: find the regions of a drive, and the number of requests that one of
//! them serves in parallel.
//!
//! ```text
//! a span:  the first S bytes of the drive    S = the capacity, a half of it, .. a 1024th of it
//! a queue: Q requests outstanding            Q = 1, 2, 3, 4, 6, 8, 12, .. host.queue_depth
//! reach:   a throughput reaches another if it is at least 0.9 of it
//! regions: reads of one sector, at random within each span, with the longest queue: neither link nor bus limits them.
//!            A region is the smallest span that does not reach the next one; if every span does, none follows
//!          then requests alternate between the start of the drive and a place X: below the end of the first region
//!            they share its chips, beyond it they do not, and bisection finds the X between
//! batches: reads and writes of a page, at random within each span, with each queue. The batch is the shortest queue
//!            that reaches the best one of the region's span
//! ```
//! The paper says that region size and number of requests are varied and that "the optimal point on the performance
//! curve tells the appropriate subregion size and the dispatching batch value", but not what that point is: the rule is
//! decision 0040. [`judge`] sees figures alone, and [`sweep`] drives a [`Target`] that need not be a model.

mod drive;
pub mod judge;
mod result;
pub mod sweep;

use std::ops::Range;

use flashloom_units::{Problem, Problems, Refusal, SECTOR_BYTES, format_size};
use flashloom_workload::Op;
use rayon::prelude::*;

use flashloom_config::{Config, Experiment, Precondition, Timing};
use flashloom_run::{Failure, Progress};
pub use result::{
    DirectionResult, IopsResult, PROBE_SCHEMA, PointResult, ProbeResult, RegionResult, SearchResult, SpanEffect,
};
use sweep::{Grid, Swept};

/// Parameters of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeParams {
    /// Size of a request; a page of the drive if it is `None`.
    pub request_bytes: Option<u64>,
    /// Requests measured at each point on each drive.
    pub requests: u32,
    /// Number of drives, with consecutive seeds from `run.seed` on.
    pub seeds: u32,
    /// Longest queue; `host.queue_depth` if it is `None`.
    pub outstanding: Option<u32>,
    /// Share of a throughput that counts as reaching it.
    pub reach: f64,
}

impl ProbeParams {
    /// The default parameters.
    pub const DEFAULT: Self = Self { request_bytes: None, requests: 1_000, seeds: 5, outstanding: None, reach: 0.9 };
}

/// Size of a load's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// One sector: reads are limited by the chips alone.
    Sector,
    /// The size asked for: the unit in which places are given.
    Request,
}

/// Two ranges of a drive, in requests from its start; the second is empty for a load of one place.
pub type Places = [Range<u64>; 2];

/// A load on a drive: one point of a curve.
#[derive(Clone, Debug)]
pub struct Load {
    /// Reads or writes.
    pub op: Op,
    /// Size of the requests.
    pub size: Size,
    /// Ranges in which they begin: each request draws one of the two with equal probability, and a position in it
    /// uniformly.
    pub places: Places,
    /// Requests outstanding at all times.
    pub outstanding: u32,
    /// Requests to measure.
    pub requests: u32,
}

/// Measurement of a load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measure {
    /// Requests that completed.
    pub requests: u64,
    /// Simulated time that they took.
    pub elapsed_ns: u64,
}

/// A drive to probe: a model, or a real device.
pub trait Target {
    /// Capacity, in requests.
    fn capacity(&self) -> u64;

    /// Capacity of the write buffer, in requests.
    fn buffered(&self) -> u32;

    /// Restores the state before the first load that writes.
    ///
    /// # Errors
    /// Reason why the state could not be restored.
    fn renew(&mut self) -> Result<(), Failure>;

    /// Serves a load and measures it.
    ///
    /// # Errors
    /// Reason why the load could not be served.
    fn measure(&mut self, load: &Load) -> Result<Measure, Failure>;
}

/// A probe whose input has been checked.
pub struct Probe<'a> {
    config: &'a Config,
    params: ProbeParams,
    request_bytes: u64,
    grid: Grid,
}

impl<'a> Probe<'a> {
    /// Checks that the drive of an experiment can be probed. Its workload and its scheduler are not used.
    ///
    /// # Errors
    /// Everything that prevents it, with its place in the configuration.
    pub fn new(experiment: &'a Experiment, params: &ProbeParams) -> Result<Self, Problems> {
        let config = &experiment.variants[0].config;
        let request_bytes = params.request_bytes.unwrap_or(config.device.nand.page_bytes);
        let mut problems = problems_of_the_run(experiment, config);
        if request_bytes == 0 || !request_bytes.is_multiple_of(SECTOR_BYTES) {
            let found = format!("requests of {}", format_size(request_bytes));
            problems.push(Problem::file("--request-size", found, "a multiple of the 512 bytes of a sector"));
            return Err(Problems(problems));
        }
        let queue_depth = config.host.queue_depth;
        let most = params.outstanding.unwrap_or(queue_depth);
        if most > queue_depth {
            let found =
                format!("{most} requests outstanding, and a device that holds {queue_depth} (host.queue_depth)");
            problems.push(Problem::file("--outstanding", found, "at most as many as the device holds at once"));
        }
        let capacity = config.device.capacity_sectors() * SECTOR_BYTES / request_bytes;
        let grid = Grid::new(capacity, most, params.requests);
        if grid.spans.len() < 2 {
            let found = format!("a drive of {capacity} requests of {}", format_size(request_bytes));
            let expected = format!("one of at least {}, so that spans differ", 2 * Grid::LEAST_SPAN);
            problems.push(Problem::file("--request-size", found, expected));
        }
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        Ok(Self { config, params: params.clone(), request_bytes, grid })
    }

    /// Approximate number of requests of all drives together.
    pub fn total_requests(&self) -> u64 {
        self.grid.requests() * u64::from(self.params.seeds)
    }

    /// Probes one drive per seed, in as many threads as the caller's pool has, and judges their common result.
    ///
    /// # Errors
    /// A check that failed.
    pub fn run(&self, progress: &dyn Progress) -> Result<ProbeResult, Failure> {
        let first = self.config.run.seed;
        let seeds: Vec<u64> = (0..u64::from(self.params.seeds)).map(|index| first.wrapping_add(index)).collect();
        let one = |&seed: &u64| {
            let mut drive = drive::ModelledDrive::new(self.config, seed, self.request_bytes, progress)?;
            let swept = sweep::sweep(&mut drive, &self.grid, self.params.reach)?;
            progress.run_ended();
            Ok(swept)
        };
        let swept: Vec<Result<Swept, Failure>> = seeds.par_iter().map(one).collect();
        let swept: Vec<Swept> = swept.into_iter().collect::<Result<_, Failure>>()?;
        Ok(result::describe(self, &seeds, &swept))
    }
}

/// Refuses a run that cannot be probed: in counting mode, on a saved drive, or on a drive that is not full.
fn problems_of_the_run(experiment: &Experiment, config: &Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut refuse = |key: &str, found: String, expected: &str| {
        problems.push(experiment.problem(config, Refusal::new(found, expected).at([key])));
    };
    if config.run.timing == Timing::Counting {
        refuse("run.timing", "a probe without time".to_owned(), "\"timed\": a probe measures throughput");
    }
    if config.run.state.is_some() {
        let expected = "no saved drive: a probe ages a drive for each of its seeds";
        refuse("run.state", "a probe of a saved drive".to_owned(), expected);
    }
    if config.run.precondition == Precondition::None {
        let expected = "\"fill\" or \"steady\": a read of what was never written touches no flash";
        refuse("run.precondition", "a probe of an empty drive".to_owned(), expected);
    } else if config.run.fill < 1.0 {
        let expected = "1.0: a read of what was never written touches no flash";
        refuse("run.fill", format!("a probe of a drive of which {} is written", config.run.fill), expected);
    }
    problems
}
