//! Latency statistics in constant memory: exact count, mean, deviation and maximum, percentiles to three digits.

use hdrhistogram::Histogram;

use crate::{Ns, Reader, State, StateError, Writer};

/// Longer latencies (146 years) share the last bucket.
const LARGEST_BUCKET: Ns = 1 << 62;

/// A distribution of latencies in nanoseconds.
///
/// Percentiles come from a histogram with three significant digits that covers any value; count, minimum,
/// maximum, mean and deviation are kept exactly beside it.
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
    count: u64,
    sum: u128,
    sum_of_squares: f64,
    min: Ns,
    max: Ns,
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Latency {
    /// An empty distribution. It takes about 0.4 MB, whatever is recorded.
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LARGEST_BUCKET, 3)
            .expect("one to LARGEST_BUCKET at three significant digits is within what the crate accepts");
        Self { histogram, count: 0, sum: 0, sum_of_squares: 0.0, min: Ns::MAX, max: 0 }
    }

    /// Adds one latency.
    #[inline]
    pub fn record(&mut self, value: Ns) {
        self.histogram.saturating_record(value);
        self.count += 1;
        self.sum += u128::from(value);
        self.sum_of_squares += value as f64 * value as f64;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all of another distribution.
    pub fn merge(&mut self, other: &Self) {
        // Most runs have kinds of requests that none asked for, and a histogram has 60,000 buckets.
        if other.count == 0 {
            return;
        }
        self.histogram.add(&other.histogram).expect("both histograms have the same bounds");
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Removes all latencies; the memory is kept for reuse.
    pub fn clear(&mut self) {
        self.histogram.reset();
        (self.count, self.sum, self.sum_of_squares, self.min, self.max) = (0, 0, 0.0, Ns::MAX, 0);
    }

    /// Number of latencies recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact mean in nanoseconds; zero for an empty distribution.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The standard deviation of the population in nanoseconds; zero for an empty distribution.
    pub fn stddev(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        (self.sum_of_squares / self.count as f64 - self.mean() * self.mean()).max(0.0).sqrt()
    }

    /// The exact minimum; zero for an empty distribution.
    pub fn min(&self) -> Ns {
        if self.count == 0 { 0 } else { self.min }
    }

    /// The exact maximum; zero for an empty distribution.
    pub fn max(&self) -> Ns {
        self.max
    }

    /// Sum of all latencies, in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Number of latencies in `low..high`. The two bounds are rounded to three significant digits.
    pub fn count_within(&self, low: Ns, high: Ns) -> u64 {
        let below = |bound: Ns| if bound == 0 { 0 } else { self.histogram.count_between(0, bound - 1) };
        below(high) - below(low)
    }

    /// The percentile in nanoseconds (`percent` from 0 to 100), to three significant digits and never above the
    /// maximum; zero for an empty distribution.
    pub fn percentile(&self, percent: f64) -> Ns {
        if self.count == 0 { 0 } else { self.histogram.value_at_percentile(percent).min(self.max) }
    }
}

impl State for Latency {
    fn save(&self, to: &mut Writer) {
        let Self { histogram, count, sum, sum_of_squares, min, max } = self;
        to.value(&(count, sum, sum_of_squares, min, max));
        // Few of the buckets hold anything.
        let lowest = |value| histogram.lowest_equivalent(value);
        let buckets =
            histogram.iter_recorded().map(|bucket| (lowest(bucket.value_iterated_to()), bucket.count_at_value()));
        to.value(&buckets.collect::<Vec<(u64, u64)>>());
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        (self.count, self.sum, self.sum_of_squares, self.min, self.max) = from.value()?;
        let buckets: Vec<(u64, u64)> = from.value()?;
        self.histogram.reset();
        for &(value, count) in &buckets {
            if self.histogram.record_n(value, count).is_err() {
                return Err(from.error(format!("latencies up to {LARGEST_BUCKET}"), value.to_string()));
            }
        }
        let recorded = buckets.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        if recorded != self.count {
            return Err(from.error(format!("{} latencies in all buckets", self.count), recorded.to_string()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact_and_percentiles_are_within_a_thousandth() {
        let mut latency = Latency::new();
        (1..=100_000u64).for_each(|value| latency.record(value * 1_000));
        assert_eq!((latency.count(), latency.min(), latency.max()), (100_000, 1_000, 100_000_000));
        assert_eq!(latency.mean(), 50_000_500.0);
        for (percent, exact) in [(50.0, 50_000_000.0), (99.0, 99_000_000.0), (99.9, 99_900_000.0)] {
            let value = latency.percentile(percent) as f64;
            assert!((value / exact - 1.0).abs() < 1e-3, "p{percent} is {value}, not {exact}");
        }
    }

    #[test]
    fn a_loaded_distribution_goes_on_as_the_saved_one() {
        let mut latency = Latency::new();
        let mut prng = crate::Prng::new(3);
        for round in 0..200 {
            (0..round % 5).for_each(|_| latency.record(prng.bits() >> prng.below(64)));
            let bytes = crate::save_state(&latency).unwrap();
            let mut loaded = Latency::new();
            loaded.record(77);
            crate::load_state(&mut loaded, &bytes).unwrap();
            assert_eq!(crate::save_state(&loaded).unwrap(), bytes);
            let all = |latency: &Latency| {
                let percentiles: Vec<Ns> = (0..=100).map(|percent| latency.percentile(f64::from(percent))).collect();
                let moments = (latency.count(), latency.sum(), latency.mean().to_bits(), latency.stddev().to_bits());
                (percentiles, moments, latency.min(), latency.max(), latency.count_within(5, 1 << 40))
            };
            assert_eq!(all(&loaded), all(&latency));
            latency = loaded;
        }
        let bytes = crate::save_state(&latency).unwrap();
        let mut damaged = bytes.clone();
        damaged[0] ^= 1;
        let message = crate::load_state(&mut Latency::new(), &damaged).unwrap_err().to_string();
        assert!(message.contains("latencies in all buckets"), "{message}");
    }

    #[test]
    fn an_empty_distribution_answers_zero_and_the_widest_value_is_kept() {
        let mut latency = Latency::new();
        assert_eq!((latency.mean(), latency.stddev(), latency.min(), latency.percentile(99.0)), (0.0, 0.0, 0, 0));
        latency.record(u64::MAX);
        assert_eq!(latency.max(), u64::MAX);
    }
}
