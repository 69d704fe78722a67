//! Sums of parts in buckets of latency: the anatomy of all requests and of the tail, in constant memory.

use std::collections::BTreeMap;

use flashloom_units::Ns;
use serde::{Deserialize, Serialize};

use super::cause::{Cause, Parts};

/// A number of requests, and the sum of their time by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// The number of requests.
    pub requests: u64,
    /// Sums over the requests in nanoseconds, in the order of [`Cause::ALL`].
    pub parts_ns: [u128; Cause::COUNT],
}

impl Sums {
    /// The sum of the latencies, in nanoseconds: that of all causes.
    pub fn total_ns(&self) -> u128 {
        self.parts_ns.iter().sum()
    }

    /// Adds one request.
    pub fn record(&mut self, parts: &Parts) {
        self.requests += 1;
        self.parts_ns.iter_mut().zip(parts.iter()).for_each(|(sum, (_, part))| *sum += u128::from(part));
    }

    /// Adds the requests of another sum.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.parts_ns.iter_mut().zip(other.parts_ns).for_each(|(sum, more)| *sum += more);
    }
}

/// The requests of one kind: all, and the slowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// All requests.
    pub whole: Sums,
    /// Requests of at least `p99_ns`: one in a hundred, or more.
    pub p99: Sums,
    /// The lower end of the bucket of the 99th percentile; buckets are 1/128 of a latency wide.
    pub p99_ns: Ns,
    /// Requests of at least `p99_9_ns`: one in a thousand, or more.
    pub p99_9: Sums,
    /// The lower end of the bucket of the 99.9th percentile.
    pub p99_9_ns: Ns,
}

/// Latency by cause of a run's reads and writes. Like the host's latencies, without failed requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnatomyReport {
    /// Reads.
    pub read: Tail,
    /// Writes.
    pub write: Tail,
}

/// Leading binary digits of a latency that select its bucket.
const DIGITS: u32 = 8;

/// The lower end of the bucket of a latency.
fn bucket(latency_ns: Ns) -> Ns {
    let shift = (Ns::BITS - latency_ns.leading_zeros()).saturating_sub(DIGITS);
    latency_ns >> shift << shift
}

/// Sums by bucket of latency, at most 128 buckets for each power of two.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ByLatency(BTreeMap<Ns, Sums>);

impl ByLatency {
    pub(super) fn record(&mut self, latency_ns: Ns, parts: &Parts) {
        self.0.entry(bucket(latency_ns)).or_default().record(parts);
    }

    pub(super) fn tail(&self) -> Tail {
        let mut tail = Tail::default();
        let total: u64 = self.0.values().map(|sums| sums.requests).sum();
        for (&from_ns, sums) in self.0.iter().rev() {
            if tail.p99.requests * 100 < total {
                tail.p99.add(sums);
                tail.p99_ns = from_ns;
            }
            if tail.p99_9.requests * 1_000 < total {
                tail.p99_9.add(sums);
                tail.p99_9_ns = from_ns;
            }
            tail.whole.add(sums);
        }
        tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 990 requests of 100 ns, 9 of 1,000 ns and one of 10,000 ns: the slowest hundredth is the last ten of them, the
    /// slowest thousandth the last.
    #[test]
    fn the_tail_is_cut_where_at_least_so_many_requests_are_in_it() {
        let mut sums = ByLatency::default();
        for (count, latency_ns, cause) in
            [(990, 100, Cause::Served), (9, 1_000, Cause::Erase), (1, 10_000, Cause::Collection)]
        {
            let mut parts = Parts::default();
            parts[cause] = latency_ns;
            (0..count).for_each(|_| sums.record(latency_ns, &parts));
        }
        let tail = sums.tail();
        assert_eq!((tail.whole.requests, tail.whole.total_ns()), (1_000, 99_000 + 9_000 + 10_000));
        assert_eq!((tail.p99.requests, tail.p99.total_ns()), (10, 19_000));
        assert_eq!((tail.p99_9.requests, tail.p99_9.total_ns()), (1, 10_000));
        assert_eq!((tail.p99_ns, tail.p99_9_ns), (1_000, 9_984), "10,000 is within one part in 128 of 9,984");
    }

    #[test]
    fn buckets_are_one_part_in_128_wide_at_most() {
        assert_eq!([0, 1, 255, 256, 257, 511, 512, 1_023].map(bucket), [0, 1, 255, 256, 256, 510, 512, 1_020]);
        assert_eq!(bucket(Ns::MAX), 255 << 56);
    }
}
