//! Sums of parts by latency, so that the tail can be told from the whole in constant memory.

use std::collections::BTreeMap;

use flashloom_units::Ns;
use serde::{Deserialize, Serialize};

use super::cause::{Cause, Parts};

/// Requests, and where their time went together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Those that took `p99_ns` or longer: at least one in a hundred.
    pub p99: Sums,
    /// The latency that so many of them reach, to one part in 128.
    pub p99_ns: Ns,
    /// Those that took `p99_9_ns` or longer: at least one in a thousand.
    pub p99_9: Sums,
    /// The latency that so many of them reach, to one part in 128.
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

/// Binary digits of a latency that buckets tell apart.
const DIGITS: u32 = 8;

/// The least latency of the bucket that one is in.
fn bucket(latency_ns: Ns) -> Ns {
    let shift = (Ns::BITS - latency_ns.leading_zeros()).saturating_sub(DIGITS);
    latency_ns >> shift << shift
}

/// Sums by bucket of latency: at most 128 for each power of two.
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
