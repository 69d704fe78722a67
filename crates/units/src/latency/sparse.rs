//! Sparse distribution: memory for the buckets that hold anything, where thousands of distributions have few latencies
//! each.
//!
//! Count, sum and extremes are those of a [`Latency`] without buckets, in the order of recording, so that what becomes
//! of both is the same to the bit. Recording searches the buckets, and moves those above a new one: it is for a few.

use super::{HALF, LARGEST, Latency, bucket_of, values_of};
use crate::Ns;

/// Buckets that are kept here at most: with more of them the dense distribution is hardly larger.
const MOST: usize = 2_048;

impl Latency {
    /// Memory of a distribution at most, in bytes.
    pub const MOST_BYTES: u64 = (54 * HALF * size_of::<u64>()) as u64;
}

/// A distribution of few latencies in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct SparseLatency {
    /// All but the buckets.
    moments: Latency,
    /// Latencies by bucket, in order.
    buckets: Vec<(u32, u32)>,
}

impl SparseLatency {
    /// An empty distribution.
    pub fn new() -> Self {
        Self::default()
    }

    /// Memory after so many latencies, in bytes, until which there may be a dense distribution in its place.
    pub fn bytes(latencies: u64) -> u64 {
        // A list that grows has up to twice the length that it needs.
        if latencies <= MOST as u64 { latencies * 2 * size_of::<(u32, u32)>() as u64 } else { Latency::MOST_BYTES }
    }

    /// Adds one latency; false if the next ones belong into a dense distribution.
    pub fn record(&mut self, value: Ns) -> bool {
        self.moments.record_moments(value);
        let bucket = bucket_of(value.min(LARGEST)) as u32;
        let mut is_full = false;
        match self.buckets.binary_search_by_key(&bucket, |&(bucket, _)| bucket) {
            Ok(at) => {
                self.buckets[at].1 += 1;
                is_full = self.buckets[at].1 == u32::MAX;
            }
            Err(at) => self.buckets.insert(at, (bucket, 1)),
        }
        !is_full && self.buckets.len() < MOST
    }

    /// Number of latencies recorded.
    pub fn count(&self) -> u64 {
        self.moments.count()
    }

    /// The dense distribution of the same latencies.
    pub fn to_latency(&self) -> Latency {
        let mut latency = self.moments.clone();
        for &(bucket, latencies) in &self.buckets {
            *latency.new_bucket(values_of(bucket as usize).0) = latencies.into();
        }
        latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Prng, save_state};

    #[test]
    fn it_becomes_the_dense_distribution_to_the_bit_however_far_it_went() {
        for (most, bits) in [(10, 64), (500, 30), (9_000, 44)] {
            let (mut prng, mut dense) = (Prng::new(most), Latency::new());
            let mut sparse = SparseLatency::new();
            let mut taken = 0;
            while taken < most {
                let value = prng.bits() >> (64 - bits) >> prng.below(20);
                dense.record(value);
                taken += 1;
                if !sparse.record(value) {
                    break;
                }
            }
            assert_eq!(taken < most, most == 9_000, "the last one has too many buckets");
            assert_eq!(save_state(&sparse.to_latency()).unwrap(), save_state(&dense).unwrap());
            assert_eq!(sparse.count(), dense.count());
        }
    }

    #[test]
    fn it_takes_no_more_than_it_says() {
        let mut sparse = SparseLatency::new();
        for value in 0..MOST as u64 - 1 {
            assert!(sparse.record(value << 20));
            let taken = sparse.buckets.capacity() * size_of::<(u32, u32)>();
            assert!(taken as u64 <= SparseLatency::bytes((value + 1).max(4)), "{value}: {taken}");
        }
        assert!(!sparse.record(u64::MAX));
    }
}
