//! Histogram: a coarser copy of a distribution, small enough to keep one for every interval of a run.
//!
//! Eight neighbouring buckets of [`Latency`] make one: 128 for each power of two, so that none is wider than a part in
//! 128 of its values (8 ns below 2,048 ns).

use super::{LARGEST, Latency, bucket_of, values_of};
use crate::Ns;

/// Buckets of a distribution that make one of its histogram.
const TOGETHER: usize = 8;

/// Number of latencies by bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(Vec<u64>);

impl Latency {
    /// The latencies by buckets that are no wider than a part in 128 of their values.
    pub fn histogram(&self) -> Histogram {
        let used = self.buckets.len().min(bucket_of(self.max.min(LARGEST)) + 1);
        Histogram(self.buckets[..used].chunks(TOGETHER).map(|bucket| bucket.iter().sum()).collect())
    }
}

impl Histogram {
    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// What was added since an earlier copy of the same distribution.
    pub fn since(&self, earlier: &Self) -> Self {
        let earlier = earlier.0.iter().copied().chain(std::iter::repeat(0));
        Self(self.0.iter().zip(earlier).map(|(now, before)| now - before).collect())
    }

    /// Buckets that hold any latency: the lowest latency of each, and how many it holds.
    pub fn recorded(&self) -> impl Iterator<Item = (Ns, u64)> + '_ {
        let buckets = self.0.iter().enumerate().filter(|&(_, &latencies)| latencies > 0);
        buckets.map(|(bucket, &latencies)| (values_of(bucket * TOGETHER).0, latencies))
    }

    /// The latency that `percent` (0 to 100) of all do not exceed, rounded up to the end of its bucket; `None` of an
    /// empty histogram.
    pub fn percentile(&self, percent: f64) -> Option<Ns> {
        let wanted = ((percent / 100.0 * self.count() as f64).ceil() as u64).max(1);
        let mut up_to = 0;
        let bucket = self.0.iter().position(|latencies| {
            up_to += latencies;
            up_to >= wanted
        })?;
        Some(values_of(bucket * TOGETHER + TOGETHER - 1).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prng;

    fn latency(seed: u64, count: u32) -> Latency {
        let (mut prng, mut latency) = (Prng::new(seed), Latency::new());
        (0..count).for_each(|_| latency.record(prng.bits() >> (20 + prng.below(40))));
        latency
    }

    #[test]
    fn percentiles_are_those_of_the_distribution_to_a_part_in_128() {
        let latency = latency(7, 50_000);
        let histogram = latency.histogram();
        assert_eq!(histogram.count(), latency.count());
        for percent in [0.1, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0] {
            let exact = latency.percentile(percent);
            let found = histogram.percentile(percent).expect("it has latencies");
            assert!(found >= exact && found - exact <= (exact / 128).max(8), "p{percent}: {found}, not {exact}");
        }
        assert_eq!(Latency::new().histogram().percentile(50.0), None);
    }

    #[test]
    fn what_was_added_since_a_copy_is_what_was_recorded_since() {
        let (mut all, added) = (latency(1, 900), latency(2, 400));
        let before = all.histogram();
        all.merge(&added);
        assert_eq!(
            all.histogram().since(&before).recorded().collect::<Vec<_>>(),
            added.histogram().recorded().collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_bucket_is_named_by_its_lowest_latency() {
        let mut latency = Latency::new();
        [0, 7, 8, 2_047, 2_048, 2_063, 2_064, u64::MAX].into_iter().for_each(|value| latency.record(value));
        let recorded: Vec<_> = latency.histogram().recorded().collect();
        let last = LARGEST - (LARGEST >> 8);
        assert_eq!(recorded, [(0, 2), (8, 1), (2_040, 1), (2_048, 2), (2_064, 1), (last, 1)]);
    }
}
