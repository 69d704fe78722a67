//! fio's report of a job: requests, bytes and latencies by direction, and samples of the throughput.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use flashloom_files::{TEXT_LIMIT_BYTES, TEXT_LIMIT_VARIABLE, limit_of};
use flashloom_units::{Latency, Ns, Refusal, S, SparseLatency};

use super::DIRECTIONS;
use super::job::FioJob;
use super::job_file::Findings;
use super::value::{Expected, real};
use crate::Priority;

/// Length of a throughput sample's window, fio's default.
const WINDOW_NS: Ns = S / 2;

/// Percentiles that a job reports, and of which latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct FioPercentiles {
    /// In per cent, in ascending order.
    pub list: Vec<f64>,
    /// True if those of the completion latency are reported (`clat_percentiles`).
    pub of_completion: bool,
    /// True if those of the whole latency are reported (`lat_percentiles`).
    pub of_all: bool,
}

/// Percentiles of a list at most, as fio takes them.
const MOST_PERCENTILES: usize = 20;

impl Default for FioPercentiles {
    fn default() -> Self {
        let list =
            vec![1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
        Self { list, of_completion: true, of_all: false }
    }
}

impl FioPercentiles {
    pub(super) fn set_list(&mut self, text: &str) -> Result<(), Expected> {
        let list = text.split(':').map(|part| real(part, 0.000_001, 100.0)).collect::<Result<Vec<_>, _>>();
        let mut list = list.map_err(|_| "percentages above 0, separated by colons, such as 50:99:99.9".to_owned())?;
        if list.len() > MOST_PERCENTILES {
            return Err(format!("at most {MOST_PERCENTILES} percentiles, as fio has them"));
        }
        list.sort_by(f64::total_cmp);
        list.dedup();
        self.list = list;
        Ok(())
    }
}

/// Report of a clone of a job, or of all clones that report as a group.
#[derive(Clone, Debug, Default)]
pub struct FioReport {
    /// Name of the job.
    pub name: Arc<str>,
    /// Options of its section, as written.
    pub options: Arc<[(String, String)]>,
    /// Percentiles that it reports.
    pub percentiles: Arc<FioPercentiles>,
    /// Group number; jobs of the same group run together.
    pub group: u32,
    /// Maximum number of requests outstanding.
    pub depth: u32,
    /// Time from the start of its first clone to its last completion.
    pub elapsed_ns: Ns,
    /// Figures of reads, writes and trims.
    pub directions: [FioDirection; DIRECTIONS],
    /// Latencies of flushes.
    pub flushes: Samples,
    /// Requests by the number outstanding when they were issued: 1, 2, 4, 8, 16, 32, or 64 and more (each up to below
    /// the next).
    pub depths: [u64; 7],
    start_ns: Ns,
    is_sparse: bool,
}

/// Figures of one direction of a job.
#[derive(Clone, Debug, Default)]
pub struct FioDirection {
    /// Bytes of completed requests.
    pub bytes: u64,
    /// Latency from issue to completion.
    pub latency: Samples,
    /// Latencies by priority, of a job whose requests have several.
    pub priorities: Vec<(Priority, Samples)>,
    /// Throughput of each window, in KiB per second.
    pub bandwidth: FioSamples,
    /// Requests per second of each window.
    pub iops: FioSamples,
    window: Window,
}

/// Latencies; memory is allocated at the first one.
#[derive(Clone, Debug, Default)]
pub struct Samples(Option<Box<Kept>>);

/// Latencies of one report of few, or of thousands.
#[derive(Clone, Debug)]
enum Kept {
    Dense(Latency),
    Sparse(SparseLatency),
}

impl Samples {
    fn record(&mut self, value: Ns, is_sparse: bool) {
        let new = || if is_sparse { Kept::Sparse(SparseLatency::new()) } else { Kept::Dense(Latency::new()) };
        let kept = self.0.get_or_insert_with(|| Box::new(new()));
        match &mut **kept {
            Kept::Dense(latency) => latency.record(value),
            Kept::Sparse(latency) => {
                if !latency.record(value) {
                    **kept = Kept::Dense(latency.to_latency());
                }
            }
        }
    }

    /// The distribution; `None` if there are no samples.
    pub fn get(&self) -> Option<Cow<'_, Latency>> {
        self.0.as_deref().map(|kept| match kept {
            Kept::Dense(latency) => Cow::Borrowed(latency),
            Kept::Sparse(latency) => Cow::Owned(latency.to_latency()),
        })
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        match self.0.as_deref() {
            None => 0,
            Some(Kept::Dense(latency)) => latency.count(),
            Some(Kept::Sparse(latency)) => latency.count(),
        }
    }
}

/// Reports of a job file above which each begins with latencies that take memory as they differ: thousands of clones
/// with a distribution of every length for each direction took 1.8 GB.
const MOST_DENSE: u64 = 64;

/// Memory of the reports of these jobs at the end of a run, in bytes: an estimate from above.
pub(super) fn memory_bytes(jobs: &[FioJob]) -> u64 {
    let is_sparse = are_sparse(jobs);
    let differ = jobs.windows(2).any(|pair| pair[0].priority != pair[1].priority);
    let of_job = |job: &FioJob| {
        let directions = (0..DIRECTIONS).filter(|&direction| job.has(direction)).count() as u64 + 1;
        let of_group = u64::from(differ && job.reports_as_group);
        let of_priorities = |direction| 1 + of_group + job.commands.of(direction).count() as u64;
        let directions = directions + (0..DIRECTIONS).map(of_priorities).filter(|&count| count > 1).sum::<u64>();
        let requests = job.most_requests_of_clone();
        let each = if is_sparse { SparseLatency::bytes(requests) } else { Latency::MOST_BYTES };
        u64::from(job.clones) * directions * each
    };
    jobs.iter().map(of_job).fold(0, u64::saturating_add)
}

/// Memory of an option in a report of fio, beside its name and its value.
const OPTION_BYTES: u64 = 128;
/// Memory of the options in all reports, for each byte that a job file may have.
const OPTIONS: u64 = 16;

/// Refuses jobs of one group of which some report the percentiles of the whole latency and others do not, as fio does.
pub(super) fn check_percentiles(jobs: &[FioJob], findings: &mut Findings) {
    for pair in jobs.windows(2) {
        let (before, job) = (&pair[0], &pair[1]);
        let is_of_group = !job.stonewall && !job.new_group;
        if is_of_group && job.percentiles.of_all != before.percentiles.of_all {
            let found = format!("`lat_percentiles` of the job `{}` is not that of the job before it", job.name);
            let expected = "the same in all jobs of a group (`stonewall`, `new_group`), as in fio";
            job.refuse(findings, &["lat_percentiles"], found, expected);
        }
    }
}

/// Refuses jobs whose options, which fio writes again for each clone, take more than the limit with those before them.
pub(super) fn check_options(jobs: &[FioJob], findings: &mut Findings) {
    let limit = limit_of(TEXT_LIMIT_VARIABLE, TEXT_LIMIT_BYTES).unwrap_or(TEXT_LIMIT_BYTES).saturating_mul(OPTIONS);
    let mut bytes = 0u64;
    for job in jobs {
        // Of an option that is written twice the last value is reported.
        let options: BTreeMap<&str, &str> = job.written.iter().map(|(name, value)| (&**name, &**value)).collect();
        let of_clone = options.iter().map(|(name, value)| (name.len() + value.len()) as u64 + OPTION_BYTES);
        let of_clone = of_clone.sum::<u64>() + job.name.len() as u64;
        bytes = bytes.saturating_add(of_clone.saturating_mul(job.clones.into()));
        if bytes > limit {
            let found = format!("options of {bytes} bytes in the reports of all clones, up to the job `{}`", job.name);
            let raises = format!("{TEXT_LIMIT_VARIABLE} (bytes, {OPTIONS} of these for each) raises the limit");
            let refusal = Refusal::new(found, format!("at most {limit}: shorter options, or fewer clones"));
            findings.refuse(job.place(&["numjobs"]), || refusal.help(raises));
            return;
        }
    }
}

/// True if these jobs have more reports, if none report as a group, than are kept with a distribution of every length
/// each.
pub(super) fn are_sparse(jobs: &[FioJob]) -> bool {
    jobs.iter().map(|job| u64::from(job.clones)).sum::<u64>() > MOST_DENSE
}

/// Completions in the current window.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    begin_ns: Ns,
    bytes: u64,
    requests: u64,
}

/// Count, extremes and moments of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FioSamples {
    /// Number of samples.
    pub count: u64,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
    sum: f64,
    sum_of_squares: f64,
}

impl FioSamples {
    fn add(&mut self, value: f64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum += value;
        self.sum_of_squares += value * value;
    }

    /// Mean; 0 without samples.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// Standard deviation; 0 for fewer than two samples.
    pub fn stddev(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let deviation = self.sum_of_squares - self.sum * self.mean();
        (deviation.max(0.0) / (self.count - 1) as f64).sqrt()
    }
}

impl FioDirection {
    fn completed(&mut self, now: Ns, priority: Priority, bytes: u64, latency_ns: Ns, is_sparse: bool) {
        self.bytes += bytes;
        self.latency.record(latency_ns, is_sparse);
        if let Some((_, latency)) = self.priorities.iter_mut().find(|(of, _)| *of == priority) {
            latency.record(latency_ns, is_sparse);
        }
        self.window.bytes += bytes;
        self.window.requests += 1;
        let length_ns = now - self.window.begin_ns;
        if length_ns >= WINDOW_NS {
            let per_second = |count: u64| count as f64 * S as f64 / length_ns as f64;
            self.bandwidth.add(per_second(self.window.bytes) / 1_024.0);
            self.iops.add(per_second(self.window.requests));
            self.window = Window { begin_ns: now, ..Window::default() };
        }
    }
}

impl FioReport {
    pub(super) fn new(job: &FioJob, group: u32, is_sparse: bool) -> Self {
        Self { name: Arc::clone(&job.name), group, is_sparse, start_ns: Ns::MAX, ..Self::default() }
    }

    /// Adds a job, of which there is one at least. As in fio, the report has the options of the last.
    pub(super) fn add(&mut self, job: &FioJob) {
        (self.options, self.percentiles) = (Arc::clone(&job.written), Arc::clone(&job.percentiles));
        self.depth = job.depth;
        let is_used = |direction: usize| job.iolog.is_some() || job.has(direction);
        for (direction, of) in self.directions.iter_mut().enumerate().filter(|(direction, _)| is_used(*direction)) {
            for priority in [job.priority].into_iter().chain(job.commands.of(direction)) {
                if of.priorities.iter().all(|(known, _)| *known != priority) {
                    of.priorities.push((priority, Samples::default()));
                }
            }
        }
    }

    /// Keeps latencies by priority only where requests may have several.
    pub(super) fn settle_priorities(&mut self) {
        self.directions.iter_mut().filter(|of| of.priorities.len() < 2).for_each(|of| of.priorities.clear());
    }

    /// Records the start of a clone.
    pub(super) fn started(&mut self, now: Ns) {
        if self.start_ns == Ns::MAX {
            self.start_ns = now;
            for direction in &mut self.directions {
                direction.window.begin_ns = now;
            }
        }
    }

    /// Records an issued request, after which `outstanding` are outstanding.
    pub(super) fn issued(&mut self, outstanding: u32) {
        self.depths[(outstanding.max(1).ilog2() as usize).min(6)] += 1;
    }

    /// Records a completed request.
    pub(super) fn completed(&mut self, now: Ns, (direction, priority): (usize, Priority), bytes: u64, latency_ns: Ns) {
        self.directions[direction].completed(now, priority, bytes, latency_ns, self.is_sparse);
        self.elapsed_ns = now - self.start_ns;
    }

    /// Records a completed flush.
    pub(super) fn flushed(&mut self, now: Ns, latency_ns: Ns) {
        self.flushes.record(latency_ns, self.is_sparse);
        self.elapsed_ns = now - self.start_ns;
    }
}
