//! Conclusions from the curves of a probe. They depend on figures alone, not on where these were measured.
//!
//! One number decides everything: `reach`, the share of a throughput that counts as reaching it. Chance moves a mean of
//! some thousand requests by about one per cent, a tenth of the distance that `reach` leaves.

/// Effect of the span's size on throughput, with the longest queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Every span reaches the throughput of the whole drive.
    None,
    /// Small spans are slower: their requests share parts of the drive. The index is that of the smallest span that
    /// does not reach the next one.
    Parallel(usize),
    /// Small spans are faster, and none is slower: a cache on the drive holds their data or their map entries. The
    /// index is that of the largest span that reaches the fastest one.
    Cached(usize),
}

/// Judges the effect of the span from the throughput of each; each span is half of the next, and the last one is the
/// whole drive.
pub fn effect(by_span: &[f64], reach: f64) -> Effect {
    let whole = *by_span.last().expect("there is at least the whole drive");
    let fastest = by_span.iter().copied().fold(0.0, f64::max);
    let first_grows = by_span.windows(2).position(|pair| pair[0] < reach * pair[1]);
    let fast = by_span.iter().rposition(|&iops| iops >= reach * fastest);
    match (first_grows, fast) {
        (Some(span), _) => Effect::Parallel(span),
        (None, Some(span)) if whole < reach * fastest => Effect::Cached(span),
        (None, _) => Effect::None,
    }
}

/// Returns the shortest queue that reaches the best throughput, from the throughput with each number of outstanding
/// requests. Throughput is interpolated linearly between the measured queues, and the queue rounded up, so that a small
/// difference of throughput makes a small difference of the batch.
pub fn batch(outstanding: &[u32], by_queue: &[f64], reach: f64) -> u32 {
    let limit = reach * by_queue.iter().copied().fold(0.0, f64::max);
    let first = by_queue.iter().position(|&iops| iops >= limit).expect("the best one reaches itself");
    let Some(before) = first.checked_sub(1) else { return outstanding[0] };
    let (low, high) = (f64::from(outstanding[before]), f64::from(outstanding[first]));
    let share = (limit - by_queue[before]) / (by_queue[first] - by_queue[before]);
    (low + (high - low) * share).ceil() as u32
}

/// Throughput of a mix: half of the requests stay in a region, and half of the others are in that region and half in
/// another. `same` is the throughput with all requests in one region, `apart` with requests in two.
pub fn between(same: f64, apart: f64) -> f64 {
    2.0 * same * apart / (same + apart)
}

/// A region known to within `error`, rounded to a whole fraction of the capacity if one is that close.
pub fn rounded(region: u64, capacity: u64, error: u64) -> u64 {
    let parts = (capacity as f64 / region as f64).round().max(1.0) as u64;
    let fraction = capacity.div_ceil(parts);
    if fraction.abs_diff(region) <= error { fraction } else { region }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::Prng;
    use proptest::prelude::*;

    const REACH: f64 = 0.9;

    /// The curve of a drive whose regions have the size of `region` smallest spans, with a noise of the share `noise`.
    fn regions(region: u32, noise: f64, seed: u64) -> Vec<f64> {
        let mut prng = Prng::new(seed);
        let iops = |power: u32| 1_000.0 * (f64::from(1 << power) / f64::from(region)).max(1.0);
        (0..11).map(|power| iops(power) * (1.0 + noise * (2.0 * prng.unit() - 1.0))).collect()
    }

    #[test]
    fn a_region_is_the_smallest_span_that_does_not_reach_the_next() {
        assert_eq!(effect(&[100.0, 101.0, 99.0, 200.0, 380.0], REACH), Effect::Parallel(2));
        assert_eq!(effect(&[400.0, 130.0, 101.0, 99.0, 200.0], REACH), Effect::Parallel(3), "behind a cache");
    }

    #[test]
    fn where_every_span_reaches_the_whole_drive_there_is_no_region() {
        assert_eq!(effect(&[95.0, 100.0, 104.0, 100.0], REACH), Effect::None);
        assert_eq!(effect(&[100.0], REACH), Effect::None);
    }

    #[test]
    fn small_spans_that_are_faster_are_cached_and_no_region() {
        assert_eq!(effect(&[300.0, 290.0, 150.0, 100.0], REACH), Effect::Cached(1));
    }

    #[test]
    fn a_batch_is_the_shortest_queue_that_reaches_the_best() {
        let queues = [1, 2, 4, 8];
        assert_eq!(batch(&queues, &[50.0, 90.0, 100.0, 99.0], REACH), 2);
        assert_eq!(batch(&queues, &[50.0, 70.0, 80.0, 100.0], REACH), 6, "half of the way from 4 to 8");
        assert_eq!(batch(&queues, &[50.0, 70.0, 80.0, 101.0], REACH), 7, "a little more than half, rounded up");
        assert_eq!(batch(&queues, &[100.0, 100.0, 100.0, 100.0], REACH), 1);
        assert_eq!(batch(&queues, &[10.0, 20.0, 40.0, 80.0], REACH), 8);
    }

    #[test]
    fn a_region_near_a_whole_fraction_of_the_drive_is_that_fraction() {
        assert_eq!(rounded(62_400, 1_000_000, 200), 62_500);
        assert_eq!(rounded(62_100, 1_000_000, 200), 62_100);
        assert_eq!(rounded(1_000_100, 1_000_000, 200), 1_000_000);
    }

    proptest! {
        #[test]
        fn noise_of_three_percent_changes_no_verdict(seed in any::<u64>(), power in 0u32..10) {
            prop_assert_eq!(effect(&regions(1 << power, 0.03, seed), REACH), Effect::Parallel(power as usize));
            prop_assert_eq!(effect(&regions(1 << 10, 0.03, seed), REACH), Effect::None);
        }
    }
}
