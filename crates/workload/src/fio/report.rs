//! What fio reports of a job: requests, bytes and latencies by direction, and samples of the throughput.

use flashloom_units::{Latency, Ns, S};

use super::DIRECTIONS;

/// Throughput is sampled over windows of this length, as fio does by default.
const WINDOW_NS: Ns = S / 2;

/// What a job did, or the clones of one that reports as a group.
#[derive(Clone, Debug)]
pub struct FioReport {
    /// The name of the job.
    pub name: String,
    /// The options of its section, as they were written.
    pub options: Vec<(String, String)>,
    /// Jobs of one number run together.
    pub group: u32,
    /// Requests that it keeps outstanding at most.
    pub depth: u32,
    /// From the start of its first clone to its last completion.
    pub elapsed_ns: Ns,
    /// Reads, writes and trims.
    pub directions: [FioDirection; DIRECTIONS],
    /// Latencies of flushes.
    pub flushes: Samples,
    /// Requests that were issued while 1, 2, 4, 8, 16, 32, or 64 and more (each up to below the next) were outstanding.
    pub depths: [u64; 7],
    start_ns: Ns,
}

/// What a job did in one direction.
#[derive(Clone, Debug, Default)]
pub struct FioDirection {
    /// Bytes that completed.
    pub bytes: u64,
    /// From issue to completion.
    pub latency: Samples,
    /// Bytes a second of each window, in KiB.
    pub bandwidth: FioSamples,
    /// Requests a second of each window.
    pub iops: FioSamples,
    window: Window,
}

/// Latencies, whose memory is taken at the first.
#[derive(Clone, Debug, Default)]
pub struct Samples(Option<Box<Latency>>);

impl Samples {
    fn record(&mut self, value: Ns) {
        self.0.get_or_insert_with(|| Box::new(Latency::new())).record(value);
    }

    /// The distribution; nothing of nothing.
    pub fn get(&self) -> Option<&Latency> {
        self.0.as_deref()
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.get().map_or(0, Latency::count)
    }
}

/// What has completed in the window that goes on.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    begin_ns: Ns,
    bytes: u64,
    requests: u64,
}

/// Moments of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FioSamples {
    /// How many there are.
    pub count: u64,
    /// The least.
    pub min: f64,
    /// The greatest.
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

    /// The mean; zero of nothing.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// The standard deviation of the samples; zero of fewer than two.
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

    /// A clone starts.
    pub(super) fn started(&mut self, now: Ns) {
        if self.start_ns == Ns::MAX {
            self.start_ns = now;
            for direction in &mut self.directions {
                direction.window.begin_ns = now;
            }
        }
    }

    /// A request was issued, which makes that many outstanding.
    pub(super) fn issued(&mut self, outstanding: u32) {
        self.depths[(outstanding.max(1).ilog2() as usize).min(6)] += 1;
    }

    /// A request completed.
    pub(super) fn completed(&mut self, now: Ns, direction: usize, bytes: u64, latency_ns: Ns) {
        self.directions[direction].completed(now, bytes, latency_ns);
        self.elapsed_ns = now - self.start_ns;
    }

    /// A flush completed.
    pub(super) fn flushed(&mut self, now: Ns, latency_ns: Ns) {
        self.flushes.record(latency_ns);
        self.elapsed_ns = now - self.start_ns;
    }
}
