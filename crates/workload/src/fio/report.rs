//! fio's report of a job: requests, bytes and latencies by direction, and samples of the throughput.

use flashloom_units::{Latency, Ns, S};

use super::DIRECTIONS;

/// Length of a throughput sample's window, fio's default.
const WINDOW_NS: Ns = S / 2;

/// Report of a clone of a job, or of all clones that report as a group.
#[derive(Clone, Debug)]
pub struct FioReport {
    /// Name of the job.
    pub name: String,
    /// Options of its section, as written.
    pub options: Vec<(String, String)>,
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
}

/// Figures of one direction of a job.
#[derive(Clone, Debug, Default)]
pub struct FioDirection {
    /// Bytes of completed requests.
    pub bytes: u64,
    /// Latency from issue to completion.
    pub latency: Samples,
    /// Throughput of each window, in KiB per second.
    pub bandwidth: FioSamples,
    /// Requests per second of each window.
    pub iops: FioSamples,
    window: Window,
}

/// Latencies; memory is allocated at the first one.
#[derive(Clone, Debug, Default)]
pub struct Samples(Option<Box<Latency>>);

impl Samples {
    fn record(&mut self, value: Ns) {
        self.0.get_or_insert_with(|| Box::new(Latency::new())).record(value);
    }

    /// The distribution; `None` if there are no samples.
    pub fn get(&self) -> Option<&Latency> {
        self.0.as_deref()
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.get().map_or(0, Latency::count)
    }
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
    pub(super) fn completed(&mut self, now: Ns, bytes: u64, latency_ns: Ns) {
        self.bytes += bytes;
        self.latency.record(latency_ns);
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
    pub(super) fn new(name: &str, options: &[(String, String)], group: u32, depth: u32) -> Self {
        Self {
            name: name.to_owned(),
            options: options.to_vec(),
            group,
            depth,
            elapsed_ns: 0,
            directions: Default::default(),
            flushes: Samples::default(),
            depths: [0; 7],
            start_ns: Ns::MAX,
        }
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
    pub(super) fn completed(&mut self, now: Ns, direction: usize, bytes: u64, latency_ns: Ns) {
        self.directions[direction].completed(now, bytes, latency_ns);
        self.elapsed_ns = now - self.start_ns;
    }

    /// Records a completed flush.
    pub(super) fn flushed(&mut self, now: Ns, latency_ns: Ns) {
        self.flushes.record(latency_ns);
        self.elapsed_ns = now - self.start_ns;
    }
}
