//! Latency statistics in constant memory: exact count, mean, deviation and maximum, percentiles to three digits.
//!
//! The buckets are those of HdrHistogram with three significant digits: one a nanosecond below 2,048 ns, and 1,024 for
//! each power of two above, so that no bucket is wider than a thousandth of its values. The tests compare with the
//! `hdrhistogram` crate; recording is written out here because every request does it three times.

mod histogram;
mod sparse;

use crate::{Ns, Reader, State, StateError, Writer};

pub use histogram::Histogram;
pub use sparse::SparseLatency;

/// Bits of a value that choose its bucket: 2,048 is the first power of two that three digits fit in.
const PRECISION_BITS: u32 = 11;
/// Buckets of each power of two.
const HALF: usize = 1 << (PRECISION_BITS - 1);
/// Buckets that are summed at once in the search for a percentile.
const ROW: usize = 64;
/// Longer latencies (292 years) share the last bucket.
const LARGEST: Ns = (1 << 63) - 1;

/// The bucket of a value; beyond the last for one above [`LARGEST`].
#[inline]
const fn bucket_of(value: Ns) -> usize {
    let below = (1 << PRECISION_BITS) - 1;
    let shift = (Ns::BITS - PRECISION_BITS) - (value | below).leading_zeros();
    shift as usize * HALF + (value >> shift) as usize
}

/// The lowest and the highest value of a bucket.
fn values_of(bucket: usize) -> (Ns, Ns) {
    let shift = (bucket / HALF).saturating_sub(1);
    let lowest = ((bucket - shift * HALF) as Ns) << shift;
    (lowest, lowest + ((1 << shift) - 1))
}

/// A distribution of latencies in nanoseconds.
///
/// Percentiles come from a histogram with three significant digits that covers any value; count, minimum,
/// maximum, mean and deviation are kept exactly beside it.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Latencies by bucket, up to the power of two of the longest so far.
    buckets: Vec<u64>,
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
    /// An empty distribution. It takes 8 KiB for each power of two up to the longest latency (170 KiB for a second, at
    /// most 0.4 MB), and nothing before the first is recorded.
    pub fn new() -> Self {
        Self { buckets: Vec::new(), count: 0, sum: 0, sum_of_squares: 0.0, min: Ns::MAX, max: 0 }
    }

    /// Adds one latency.
    #[inline]
    pub fn record(&mut self, value: Ns) {
        match self.buckets.get_mut(bucket_of(value)) {
            Some(latencies) => *latencies += 1,
            None => *self.new_bucket(value) += 1,
        }
        self.record_moments(value);
    }

    /// Adds one latency to all but the buckets.
    #[inline]
    fn record_moments(&mut self, value: Ns) {
        self.count += 1;
        self.sum += u128::from(value);
        // Up to `LARGEST` the same number, in one instruction where an unsigned one takes five.
        let value_f64 = value.cast_signed() as f64;
        self.sum_of_squares += value_f64 * value_f64;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The bucket of a value beyond the longest so far.
    #[cold]
    fn new_bucket(&mut self, value: Ns) -> &mut u64 {
        let bucket = bucket_of(value.min(LARGEST));
        let buckets = (bucket / HALF + 1) * HALF;
        self.buckets.resize(buckets.max(self.buckets.len()), 0);
        &mut self.buckets[bucket]
    }

    /// Adds all of another distribution.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.resize(self.buckets.len().max(other.buckets.len()), 0);
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(latencies, others)| *latencies += others);
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Removes all latencies; the memory is kept for reuse.
    pub fn clear(&mut self) {
        self.buckets.fill(0);
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

    /// The buckets that hold anything, in order: lowest and highest latency of each, and how many are in it.
    pub fn buckets(&self) -> impl Iterator<Item = (Ns, Ns, u64)> {
        let filled = self.buckets.iter().enumerate().filter(|&(_, &latencies)| latencies > 0);
        filled.map(|(bucket, &latencies)| {
            let (lowest, highest) = values_of(bucket);
            (lowest, highest, latencies)
        })
    }

    /// Number of latencies in `low..high`. The two bounds are rounded to three significant digits.
    pub fn count_within(&self, low: Ns, high: Ns) -> u64 {
        let below = |bound: Ns| {
            let end = if bound == 0 { 0 } else { bucket_of((bound - 1).min(LARGEST)) + 1 };
            self.buckets.iter().take(end).sum::<u64>()
        };
        below(high) - below(low)
    }

    /// The percentile in nanoseconds (`percent` from 0 to 100), to three significant digits and never above the
    /// maximum; zero for an empty distribution.
    pub fn percentile(&self, percent: f64) -> Ns {
        let share = (percent / 100.0).min(1.0);
        // The first latency at least.
        let wanted = ((share * self.count as f64).ceil() as u64).max(1);
        let mut up_to = 0;
        let mut reaches = |latencies: u64| {
            let is_there = up_to + latencies >= wanted;
            up_to += if is_there { 0 } else { latencies };
            is_there
        };
        // Row by row at first, because most hold nothing.
        let row = self.buckets.chunks(ROW).position(|row| reaches(row.iter().sum()));
        let first = row.map_or(self.buckets.len(), |row| row * ROW);
        let bucket = self.buckets[first..].iter().position(|&latencies| reaches(latencies)).map(|at| first + at);
        let (lowest, highest) = bucket.map_or((0, 0), values_of);
        if share == 0.0 { lowest } else { highest }.min(self.max)
    }
}

impl State for Latency {
    fn save(&self, to: &mut Writer) {
        let Self { buckets, count, sum, sum_of_squares, min, max } = self;
        to.value(&(count, sum, sum_of_squares, min, max));
        // Few of the buckets hold anything.
        let recorded = buckets.iter().enumerate().filter(|&(_, &latencies)| latencies > 0);
        let recorded = recorded.map(|(bucket, &latencies)| (values_of(bucket).0, latencies));
        to.value(&recorded.collect::<Vec<(u64, u64)>>());
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        (self.count, self.sum, self.sum_of_squares, self.min, self.max) = from.value()?;
        let recorded: Vec<(u64, u64)> = from.value()?;
        self.buckets.clear();
        for &(value, latencies) in &recorded {
            if value > LARGEST {
                return Err(from.error(format!("latencies up to {LARGEST}"), value.to_string()));
            }
            let bucket = self.new_bucket(value);
            *bucket = bucket.saturating_add(latencies);
        }
        let recorded = recorded.iter().fold(0u64, |sum, (_, latencies)| sum.saturating_add(*latencies));
        if recorded != self.count {
            return Err(from.error(format!("{} latencies in all buckets", self.count), recorded.to_string()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    /// Values of every length that has buckets of its own, those beside a power of two among them.
    fn latency() -> impl Strategy<Value = Ns> {
        let of_length = (0..63u32, any::<u64>()).prop_map(|(bits, value)| value & ((1 << bits) - 1));
        let beside_power = (0..63u32, 0..3u64).prop_map(|(bits, beside)| ((1 << bits) + beside).saturating_sub(1));
        prop_oneof![of_length, beside_power, Just(LARGEST)]
    }

    proptest! {
        #[test]
        fn it_agrees_with_hdrhistogram(
            values in prop::collection::vec(latency(), 1..60),
            others in prop::collection::vec(latency(), 0..20),
            bounds in prop::collection::vec(latency(), 2),
        ) {
            let mut model = Histogram::<u64>::new_with_bounds(1, 1 << 62, 3).unwrap();
            values.iter().chain(&others).for_each(|&value| model.saturating_record(value));
            let [mut latency, mut other] = [Latency::new(), Latency::new()];
            values.iter().for_each(|&value| latency.record(value));
            others.iter().for_each(|&value| other.record(value));
            latency.merge(&other);
            for percent in [0.0, 0.1, 1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 100.0, 101.0] {
                let expected = model.value_at_percentile(percent).min(latency.max());
                prop_assert_eq!(latency.percentile(percent), expected, "p{}", percent);
            }
            let below = |bound: Ns| if bound == 0 { 0 } else { model.count_between(0, bound - 1) };
            let (low, high) = (bounds[0].min(bounds[1]), bounds[0].max(bounds[1]));
            prop_assert_eq!(latency.count_within(low, high), below(high) - below(low));
            let buckets = model.iter_recorded().map(|bucket| model.lowest_equivalent(bucket.value_iterated_to()));
            let recorded = latency.buckets.iter().enumerate().filter(|&(_, &latencies)| latencies > 0);
            prop_assert_eq!(recorded.map(|(at, _)| values_of(at).0).collect::<Vec<_>>(), buckets.collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_is_taken_before_it_is_needed_and_never_more_than_0_4_mb() {
        let mut latency = Latency::new();
        assert_eq!(latency.buckets.capacity(), 0);
        latency.record(1 << 29);
        assert_eq!(latency.buckets.len() * 8, 168 << 10);
        (0..3).for_each(|_| latency.record(u64::MAX));
        assert_eq!((latency.buckets.len(), latency.percentile(99.0)), (54 * HALF, LARGEST));
    }

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
