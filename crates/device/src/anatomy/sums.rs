//! Sums of parts by bucket of latency, so that the tail can be told from the whole in constant memory.

use flashloom_units::Ns;

use super::cause::{Cause, Parts};

/// Requests, and where their time went together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// How many requests.
    pub requests: u64,
    /// Nanoseconds by cause, in the order of [`Cause::ALL`], summed over the requests.
    pub parts_ns: [u128; Cause::COUNT],
}

impl Sums {
    /// Latencies of the requests, summed: all causes together.
    pub fn total_ns(&self) -> u128 {
        self.parts_ns.iter().sum()
    }

    /// Counts one more request.
    pub fn record(&mut self, parts: &Parts) {
        self.requests += 1;
        self.parts_ns.iter_mut().zip(parts.iter()).for_each(|(sum, (_, part))| *sum += u128::from(part));
    }

    /// Adds other requests.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.parts_ns.iter_mut().zip(other.parts_ns).for_each(|(sum, more)| *sum += more);
    }
}

/// The requests of one kind: all of them, and the slowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// All.
    pub whole: Sums,
    /// Those as slow as the 99th percentile, to three digits, or slower: at least one in a hundred.
    pub p99: Sums,
    /// That percentile.
    pub p99_ns: Ns,
    /// Those as slow as the 99.9th percentile or slower.
    pub p99_9: Sums,
    /// That percentile.
    pub p99_9_ns: Ns,
}

/// Where the time of a run's requests went. Only requests that were done count, as in the latencies of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnatomyReport {
    /// Reads.
    pub read: Tail,
    /// Writes.
    pub write: Tail,
}
