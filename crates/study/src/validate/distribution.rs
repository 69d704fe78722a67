//! How far one distribution of latencies is from another.
//!
//! ```text
//! error of a percentile   simulated / recorded - 1
//! distance                mean over the quantiles from p1 to p99.9 of |simulated - recorded|, as a share of the
//!                         recorded mean
//! Kolmogorov-Smirnov      greatest difference, at any latency, of the shares of requests that are at most that long
//! null                    the same of a model that says of every request that it takes the recorded mean
//! ```
//! The distance is the 1-Wasserstein distance without the ends, of which a sample says little: it has the unit of the
//! mean, and it is 0 for equal distributions alone. The null knows more of the drive than a model may: a model that
//! does not beat it tells less than one number that was measured.

use flashloom_units::{Latency, Ns};

use super::result::{Compared, PercentileResult, Score, StallResult};

/// Percentiles that are compared.
pub const PERCENTS: [f64; 7] = [1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9];

/// Samples beyond a percentile, on its thinner side, that it takes to be compared.
const SAMPLES: f64 = 10.0;

/// Shares between which the distance is taken.
const FROM: f64 = 0.01;
const TO: f64 = 0.999;

/// Latencies from which on a request counts as stalled.
const STALLS_NS: [Ns; 3] = [10_000_000, 100_000_000, 1_000_000_000];

/// A quantile function of steps: each value, in ascending order, with the share of all that do not exceed it.
struct Steps(Vec<(f64, f64)>);

impl Steps {
    fn of(latency: &Latency) -> Self {
        let (mut up_to, count) = (0, latency.count() as f64);
        let step = |(lowest, highest, latencies): (Ns, Ns, u64)| {
            up_to += latencies;
            ((lowest as f64 + highest as f64) / 2.0, up_to as f64 / count)
        };
        Self(latency.buckets().map(step).collect())
    }

    fn constant(value: f64) -> Self {
        Self(vec![(value, 1.0)])
    }

    /// The integral of the absolute difference of the quantiles, divided by its width.
    fn distance(&self, other: &Self) -> f64 {
        let (mut one, mut two) = (self.0.iter().peekable(), other.0.iter().peekable());
        let (mut share, mut sum) = (0.0_f64, 0.0);
        while let (Some(&&(a, end_a)), Some(&&(b, end_b))) = (one.peek(), two.peek()) {
            let end = end_a.min(end_b);
            let width = end.min(TO) - share.max(FROM);
            if width > 0.0 {
                sum += width * (a - b).abs();
            }
            share = end;
            if end_a <= end {
                one.next();
            }
            if end_b <= end {
                two.next();
            }
        }
        sum / (TO - FROM)
    }

    /// Greatest difference of the shares that do not exceed a value.
    fn kolmogorov_smirnov(&self, other: &Self) -> f64 {
        let (mut one, mut two) = (self.0.iter().peekable(), other.0.iter().peekable());
        let (mut below_one, mut below_two, mut greatest) = (0.0_f64, 0.0_f64, 0.0_f64);
        while one.peek().is_some() || two.peek().is_some() {
            let [a, b] = [one.peek(), two.peek()].map(|next| next.map_or(f64::INFINITY, |next| next.0));
            if a <= b {
                below_one = one.next().map_or(1.0, |step| step.1);
            }
            if b <= a {
                below_two = two.next().map_or(1.0, |step| step.1);
            }
            greatest = greatest.max((below_one - below_two).abs());
        }
        greatest
    }
}

/// Comparison of two distributions.
pub struct Likeness {
    /// The means.
    pub mean: Compared,
    /// Percentiles that both have samples enough for.
    pub percentiles: Vec<PercentileResult>,
    /// Distance as a share of the recorded mean.
    pub distance: Score,
    /// Kolmogorov-Smirnov statistic.
    pub kolmogorov_smirnov: Score,
    /// Stalled requests.
    pub stalls: Vec<StallResult>,
}

impl Likeness {
    /// Compares a simulated distribution with the recorded one; neither is empty. `None` if all recorded latencies are
    /// 0, which no error is a share of.
    pub fn of(recorded: &Latency, simulated: &Latency) -> Option<Self> {
        let mean = recorded.mean();
        if mean == 0.0 {
            return None;
        }
        let (real, model, null) = (Steps::of(recorded), Steps::of(simulated), Steps::constant(mean));
        let fewer = recorded.count().min(simulated.count());
        let percentile = |percent: f64| {
            let [recorded_ns, simulated_ns] = [recorded, simulated].map(|of| of.percentile(percent));
            PercentileResult::of(percent, recorded_ns, simulated_ns, mean)
        };
        let percentiles = PERCENTS.into_iter().filter(|&percent| samples_beyond(percent, fewer) >= SAMPLES);
        Some(Self {
            mean: Compared::of(mean, simulated.mean()),
            percentiles: percentiles.map(percentile).collect(),
            distance: Score { simulated: real.distance(&model) / mean, null: real.distance(&null) / mean },
            kolmogorov_smirnov: Score {
                simulated: real.kolmogorov_smirnov(&model),
                null: real.kolmogorov_smirnov(&null),
            },
            stalls: STALLS_NS.into_iter().filter_map(|at_least_ns| stall(at_least_ns, recorded, simulated)).collect(),
        })
    }
}

/// [`Likeness::of`] of a measurement of which the mean and some percentiles are known, in ascending order. The
/// quantiles between two percentiles are taken to lie on a line, on both sides; the shares that do not exceed a latency
/// are compared at the percentiles alone.
pub fn likeness_of_percentiles(
    mean: f64,
    recorded: &[(f64, Ns)],
    recorded_count: u64,
    simulated: &Latency,
) -> Likeness {
    let model = |percent: f64| simulated.percentile(percent) as f64;
    let within = |(percent, _): &&(f64, Ns)| (FROM * 100.0..=TO * 100.0).contains(percent);
    let known: Vec<(f64, f64)> = recorded.iter().filter(within).map(|&(percent, ns)| (percent, ns as f64)).collect();
    let width = known.last().map_or(0.0, |last| last.0) - known.first().map_or(0.0, |first| first.0);
    let distance = |differences: &dyn Fn(f64, f64) -> f64| {
        let area = |pair: &[(f64, f64)]| {
            let [from, to] = [pair[0], pair[1]].map(|(percent, ns)| differences(percent, ns));
            (pair[1].0 - pair[0].0) * (from + to) / 2.0
        };
        if width > 0.0 { known.windows(2).map(area).sum::<f64>() / width / mean } else { 0.0 }
    };
    let greatest = |share: &dyn Fn(f64) -> f64| {
        known.iter().map(|&(percent, ns)| (share(ns) - percent / 100.0).abs()).fold(0.0, f64::max)
    };
    let of_model = |ns: f64| simulated.count_within(0, ns as Ns + 1) as f64 / simulated.count() as f64;
    let has = |&percent: &f64| {
        let known = recorded.iter().find(|known| known.0 == percent)?;
        (samples_beyond(percent, recorded_count.min(simulated.count())) >= SAMPLES).then_some(known)
    };
    let percentiles = PERCENTS.iter().filter_map(has);
    Likeness {
        mean: Compared::of(mean, simulated.mean()),
        percentiles: percentiles
            .map(|&(percent, ns)| PercentileResult::of(percent, ns, simulated.percentile(percent), mean))
            .collect(),
        distance: Score {
            simulated: distance(&|percent, ns| (model(percent) - ns).abs()),
            null: distance(&|_, ns| (mean - ns).abs()),
        },
        kolmogorov_smirnov: Score {
            simulated: greatest(&of_model),
            null: greatest(&|ns| f64::from(u8::from(ns >= mean))),
        },
        stalls: Vec::new(),
    }
}

/// Half the width of the 95 % interval of p99.9, as a share of it: between the order statistics that lie 1.96 standard
/// deviations of the binomial distribution on either side of it.
pub fn uncertainty_of_p99_9(latency: &Latency) -> f64 {
    const SHARE: f64 = 0.999;
    let count = latency.count() as f64;
    let deviation = (count * SHARE * (1.0 - SHARE)).sqrt();
    let [low, middle, high] = [-1.96, 0.0, 1.96].map(|deviations| {
        let rank = count * SHARE + deviations * deviation;
        latency.percentile((rank / count * 100.0).min(100.0)) as f64
    });
    let reaches_beyond = count * SHARE + 1.96 * deviation >= count;
    if reaches_beyond || middle == 0.0 { f64::INFINITY } else { (high - low) / 2.0 / middle }
}

/// Samples beyond a percentile, on its thinner side.
fn samples_beyond(percent: f64, count: u64) -> f64 {
    // Rounded, because the percentiles are binary fractions.
    (count as f64 * percent.min(100.0 - percent) / 100.0 * 1e6).round() / 1e6
}

/// Shares of requests of at least that length; `None` if there are none on either side.
fn stall(at_least_ns: Ns, recorded: &Latency, simulated: &Latency) -> Option<StallResult> {
    let share = |of: &Latency| of.count_within(at_least_ns, Ns::MAX) as f64 / of.count() as f64;
    let (recorded_share, simulated_share) = (share(recorded), share(simulated));
    (recorded_share + simulated_share > 0.0).then(|| StallResult {
        at_least_ns,
        recorded: recorded_share,
        simulated: simulated_share,
        null: f64::from(recorded.mean() >= at_least_ns as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(values: &[(Ns, u64)]) -> Latency {
        let mut latency = Latency::new();
        for &(value, times) in values {
            (0..times).for_each(|_| latency.record(value));
        }
        latency
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn a_distribution_is_at_no_distance_from_itself() {
        let one = latency(&[(5, 3), (1_000, 9_000), (70_000, 1_000), (3_000_000_000, 7)]);
        let likeness = Likeness::of(&one, &one).expect("its mean is not 0");
        assert_eq!((likeness.distance.simulated, likeness.kolmogorov_smirnov.simulated), (0.0, 0.0));
        assert!(likeness.distance.null > 0.5 && likeness.kolmogorov_smirnov.null > 0.5);
        assert!(likeness.percentiles.iter().all(|one| one.error == Some(0.0)) && likeness.percentiles.len() == 7);
        assert_eq!(likeness.mean.error, Some(0.0));
    }

    #[test]
    fn the_distance_is_the_area_between_the_quantiles_from_p1_to_p99_9() {
        // Recorded: half 100, half 300, mean 200. Simulated: a quarter 100, the rest 300. They differ by 200 over the
        // quarter from 0.25 to 0.5.
        let (recorded, simulated) = (latency(&[(100, 500), (300, 500)]), latency(&[(100, 250), (300, 750)]));
        let likeness = Likeness::of(&recorded, &simulated).expect("its mean is not 0");
        near(likeness.distance.simulated, 0.25 * 200.0 / 0.989 / 200.0);
        near(likeness.kolmogorov_smirnov.simulated, 0.25);
        // The null is 100 off everywhere; half of the requests are shorter than it, and none of its own.
        near(likeness.distance.null, 0.5);
        near(likeness.kolmogorov_smirnov.null, 0.5);
        near(likeness.mean.error.unwrap(), 0.25);
    }

    #[test]
    fn the_ends_beyond_p1_and_p99_9_are_no_part_of_the_distance() {
        let recorded = latency(&[(100, 10_000)]);
        let simulated = latency(&[(1, 100), (100, 9_890), (2_000, 10)]);
        assert_eq!(Likeness::of(&recorded, &simulated).unwrap().distance.simulated, 0.0);
        let simulated = latency(&[(1, 200), (100, 9_780), (2_000, 20)]);
        let expected = (0.01 * 99.0 + 0.001 * 1_900.0) / 0.989 / 100.0;
        near(Likeness::of(&recorded, &simulated).unwrap().distance.simulated, expected);
    }

    #[test]
    fn errors_of_percentiles_are_shares_of_the_recorded_ones_beside_those_of_the_mean() {
        let (recorded, simulated) = (latency(&[(100, 800), (600, 200)]), latency(&[(150, 1_000)]));
        let percentiles = Likeness::of(&recorded, &simulated).unwrap().percentiles;
        let median = percentiles.iter().find(|one| one.percent == 50.0).expect("it has samples");
        assert_eq!((median.recorded_ns, median.simulated_ns), (100, 150));
        assert_eq!((median.error, median.null_error), (Some(0.5), Some(1.0)));
        let slow = percentiles.iter().find(|one| one.percent == 90.0).expect("it has samples");
        assert_eq!((slow.error, slow.null_error), (Some(-0.75), Some(200.0 / 600.0 - 1.0)));
    }

    #[test]
    fn a_percentile_takes_ten_samples_beyond_it_on_both_sides() {
        let percents = |recorded: u64, simulated: u64| {
            let likeness = Likeness::of(&latency(&[(9, recorded)]), &latency(&[(9, simulated)])).unwrap();
            likeness.percentiles.iter().map(|one| one.percent).collect::<Vec<_>>()
        };
        assert_eq!(percents(100, 10_000), [10.0, 50.0, 90.0]);
        assert_eq!(percents(10_000, 999), [10.0, 50.0, 90.0, 95.0]);
        assert_eq!(percents(1_000, 1_000), [1.0, 10.0, 50.0, 90.0, 95.0, 99.0]);
        assert_eq!(percents(10_000, 10_000), PERCENTS);
    }

    #[test]
    fn a_percentile_of_0_has_no_error_and_a_distribution_of_it_no_distance() {
        assert!(Likeness::of(&latency(&[(0, 500)]), &latency(&[(7, 500)])).is_none());
        let percentiles = Likeness::of(&latency(&[(0, 500), (100, 500)]), &latency(&[(7, 999)])).unwrap().percentiles;
        assert_eq!((percentiles[0].error, percentiles[0].null_error), (None, None));
    }

    #[test]
    fn of_percentiles_the_distance_is_the_area_between_the_lines_through_them() {
        // Recorded: 100 at p1, 300 at p50, 700 at p99; simulated: 200 everywhere. Between p1 and p50 the differences
        // are 100 at either end, between p50 and p99 100 and 500.
        let recorded = [(1.0, 100), (50.0, 300), (99.0, 700), (99.99, 9_000)];
        let simulated = latency(&[(200, 5_000)]);
        let likeness = likeness_of_percentiles(250.0, &recorded, 5_000, &simulated);
        near(likeness.distance.simulated, (49.0 * 100.0 + 49.0 * 300.0) / 98.0 / 250.0);
        near(likeness.distance.null, (49.0 * (150.0 + 50.0) / 2.0 + 49.0 * (50.0 + 450.0) / 2.0) / 98.0 / 250.0);
        // At 300 all of the simulated requests have ended, and half of the recorded ones.
        near(likeness.kolmogorov_smirnov.simulated, 0.5);
        near(likeness.kolmogorov_smirnov.null, 0.5);
        let shown: Vec<_> = likeness.percentiles.iter().map(|one| (one.percent, one.error)).collect();
        assert_eq!(shown, [(1.0, Some(1.0)), (50.0, Some(200.0 / 300.0 - 1.0)), (99.0, Some(200.0 / 700.0 - 1.0))]);
        near(likeness.mean.error.unwrap(), -0.2);
    }

    #[test]
    fn the_interval_of_p99_9_is_between_order_statistics() {
        // 1,000,000 requests of 1, 2, 3, ..: p99.9 is 999,000, and 1.96 deviations are 62 ranks (to three digits: 1,024
        // of 999,000).
        let mut even = Latency::new();
        (1..=1_000_000).for_each(|ns| even.record(ns));
        assert!(uncertainty_of_p99_9(&even) < 0.001);
        assert_eq!(uncertainty_of_p99_9(&latency(&[(100, 3_000)])), f64::INFINITY);
        // Of 10,000 the tail of 10 is uneven: ranks 9,990 +- 6.2.
        let tail = latency(&[(100, 9_985), (200, 9), (500, 6)]);
        near(uncertainty_of_p99_9(&tail), 200.0 / 200.0);
    }

    #[test]
    fn stalls_are_shares_of_the_requests_that_took_ten_milliseconds_and_more() {
        let recorded = latency(&[(1_000, 90), (20_000_000, 9), (200_000_000, 1)]);
        let simulated = latency(&[(1_000, 95), (20_000_000, 5)]);
        let stalls = Likeness::of(&recorded, &simulated).unwrap().stalls;
        let seen: Vec<_> = stalls.iter().map(|one| (one.at_least_ns, one.recorded, one.simulated, one.null)).collect();
        assert_eq!(seen, [(10_000_000, 0.1, 0.05, 0.0), (100_000_000, 0.01, 0.0, 0.0)]);
    }
}
