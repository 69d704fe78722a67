//! What is compared of a cell, and how far a simulation is from it.
//!
//! ```text
//! error of a quantity      simulated / recorded - 1
//! error of a cell          the mean over its quantities of (ln(simulated / recorded) / scale)^2
//! objective                the mean of the errors of the fitted cells
//! ```
//! The scale of a quantity ([`QUANTITIES`]) is the error at which it counts as one: a tail is not known as well as a
//! median, neither by a measurement of a minute nor by a simulation of 20,000 requests. A ratio and its inverse count
//! alike.

use flashloom_units::{Latency, Ns};
use flashloom_workload::Op;
use serde::{Deserialize, Serialize};

use super::result::QuantityResult;
use crate::validate::curve::WRITE_BYTES;
use crate::validate::fio_output::MeasuredDirection;

/// A quantity that is compared.
pub struct Quantity {
    /// Name.
    pub name: &'static str,
    /// The percentile that it is; `None` for the rate.
    pub percent: Option<f64>,
    /// Error that counts as one.
    pub scale: f64,
}

/// All quantities, of reads and of writes.
pub const QUANTITIES: [Quantity; 5] = [
    Quantity { name: "requests/s", percent: None, scale: 0.07 },
    Quantity { name: "p50", percent: Some(50.0), scale: 0.10 },
    Quantity { name: "p90", percent: Some(90.0), scale: 0.15 },
    Quantity { name: "p99", percent: Some(99.0), scale: 0.20 },
    Quantity { name: "p99.9", percent: Some(99.9), scale: 0.30 },
];

/// Error that a measured figure may have of itself.
const KNOWN: f64 = 0.01;

/// Samples beyond a percentile that it takes to be compared.
const SAMPLES: f64 = 10.0;

/// Recorded or simulated figures of the reads, or the writes, of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Requests a second; nothing of a recording, which has its own times.
    pub rate: Option<f64>,
    /// Mean latency, in nanoseconds.
    pub mean_ns: f64,
    /// Requests.
    pub requests: u64,
    /// The percentiles of [`QUANTITIES`] that have samples enough, in nanoseconds.
    pub percentiles: [Option<Ns>; QUANTITIES.len() - 1],
}

/// Figures of a cell: of its reads and its writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures(pub [Option<Side>; 2]);

impl Side {
    /// Figures of latencies; with the time that they took also their rate. A percentile of 0 is none: no error is a
    /// share of it.
    pub fn of(latency: &Latency, duration_ns: Option<Ns>) -> Option<Self> {
        let requests = latency.count();
        let percentile = |percent: f64| {
            has_samples(percent, requests).then(|| latency.percentile(percent)).filter(|latency_ns| *latency_ns > 0)
        };
        (requests > 0).then(|| Self {
            rate: duration_ns.map(|duration_ns| requests as f64 * 1e9 / duration_ns.max(1) as f64),
            mean_ns: latency.mean(),
            requests,
            percentiles: percents().map(percentile),
        })
    }

    /// Recorded figures.
    pub fn recorded(of: &MeasuredDirection) -> Self {
        let percentile = |percent: f64| {
            let found = of.percentiles.iter().find(|(known, ns)| *known == percent && *ns > 0);
            found.filter(|_| has_samples(percent, of.requests)).map(|(_, ns)| *ns)
        };
        Self {
            rate: Some(of.iops),
            mean_ns: of.mean_ns,
            requests: of.requests,
            percentiles: percents().map(percentile),
        }
    }

    /// A stretch of a sequential fill, by its bytes and their rate.
    pub fn of_stretch(bytes: f64, bytes_per_second: f64) -> Self {
        let write_bytes = WRITE_BYTES as f64;
        Self {
            rate: Some(bytes_per_second / write_bytes),
            mean_ns: 0.0,
            requests: (bytes / write_bytes) as u64,
            percentiles: Default::default(),
        }
    }

    /// The value of a quantity, by its index.
    fn value(&self, quantity: usize) -> Option<f64> {
        match quantity {
            0 => self.rate,
            _ => self.percentiles[quantity - 1].map(|ns| ns as f64),
        }
    }
}

impl Side {
    /// Indices of the quantities that it has.
    fn compared(&self) -> impl Iterator<Item = usize> {
        (0..QUANTITIES.len()).filter(|quantity| self.value(*quantity).is_some())
    }
}

fn percents() -> [f64; QUANTITIES.len() - 1] {
    [1, 2, 3, 4].map(|quantity: usize| QUANTITIES[quantity].percent.expect("all but the first are percentiles"))
}

fn has_samples(percent: f64, requests: u64) -> bool {
    requests as f64 * (100.0 - percent) / 100.0 >= SAMPLES - 1e-6
}

impl Figures {
    /// True if a simulation can have them.
    pub fn is_sound(&self) -> bool {
        let is_positive = |number: f64| number.is_finite() && number > 0.0;
        let is_side = |side: &Side| {
            let in_order = side.percentiles.iter().flatten().is_sorted();
            side.rate.is_none_or(is_positive) && side.mean_ns.is_finite() && side.mean_ns >= 0.0 && in_order
        };
        self.0.iter().flatten().all(is_side)
    }

    /// Error of a cell of which every quantity is off by a hundredth: no measurement knows its figures better. The
    /// buckets of fio are a sixty-fourth wide.
    pub fn known(&self) -> f64 {
        let quantities = self.0.iter().flatten().flat_map(Side::compared);
        let errors: Vec<f64> = quantities.map(|quantity| (KNOWN / QUANTITIES[quantity].scale).powi(2)).collect();
        errors.iter().sum::<f64>() / errors.len().max(1) as f64
    }

    /// True if these simulated figures have all operations that were recorded.
    fn is_met_by(&self, simulated: &Self) -> bool {
        self.0.iter().zip(&simulated.0).all(|(recorded, simulated)| recorded.is_none() || simulated.is_some())
    }

    /// Number of quantities.
    pub fn count(&self) -> usize {
        self.0.iter().flatten().map(|side| side.compared().count()).sum()
    }

    /// Quantities that both have, each with its operation and index, recorded and simulated.
    fn pairs<'a>(&'a self, simulated: &'a Self) -> impl Iterator<Item = (Op, usize, &'a Side, [f64; 2])> {
        let sides = [Op::Read, Op::Write].into_iter().zip(self.0.iter().zip(&simulated.0));
        sides.filter_map(|(op, (recorded, simulated))| Some((op, recorded.as_ref()?, simulated.as_ref()?))).flat_map(
            |(op, recorded, simulated)| {
                let pair = move |quantity: usize| {
                    let values = [recorded.value(quantity)?, simulated.value(quantity)?];
                    Some((op, quantity, recorded, values))
                };
                (0..QUANTITIES.len()).filter_map(pair)
            },
        )
    }

    /// Error of the cell with these simulated figures; nothing if they lack an operation, or have no quantity that was
    /// recorded.
    pub fn error(&self, simulated: &Self) -> Option<f64> {
        let (mut sum, mut count) = (0.0, 0_u32);
        for (_, quantity, _, [recorded, simulated]) in self.pairs(simulated) {
            let error = libm::log(simulated.max(1.0) / recorded) / QUANTITIES[quantity].scale;
            sum += error * error;
            count += 1;
        }
        (count > 0 && self.is_met_by(simulated)).then(|| sum / f64::from(count))
    }

    /// Error of each quantity, beside that of a model that says the recorded mean of every request, and of a fill the
    /// mean rate of all of it.
    pub fn errors(&self, simulated: &Self, null_rate: Option<f64>) -> Vec<QuantityResult> {
        let result = |(op, quantity, side, [recorded, simulated]): (Op, usize, &Side, [f64; 2])| QuantityResult {
            operation: op.name().to_owned(),
            quantity: QUANTITIES[quantity].name.to_owned(),
            recorded,
            simulated,
            error: simulated / recorded - 1.0,
            null_error: match quantity {
                0 => null_rate.map_or(0.0, |rate| rate / recorded - 1.0),
                _ => side.mean_ns / recorded - 1.0,
            },
        };
        self.pairs(simulated).map(result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(rate: f64, percentiles: [Option<Ns>; 4]) -> Figures {
        Figures([Some(Side { rate: Some(rate), mean_ns: 100.0, requests: 20_000, percentiles }), None])
    }

    #[test]
    fn a_cell_is_as_far_as_its_quantities_are_on_average_in_their_scales() {
        let recorded = side(1_000.0, [Some(100), None, None, None]);
        assert_eq!(recorded.error(&recorded), Some(0.0));
        // Twice the rate, half of the median: ln 2 over 7 %, and over 10 %.
        let simulated = side(2_000.0, [Some(50), Some(7), None, None]);
        let expected = ((libm::log(2.0) / 0.07).powi(2) + (libm::log(2.0) / 0.1).powi(2)) / 2.0;
        let found = recorded.error(&simulated).expect("it has the same quantities");
        assert!((found / expected - 1.0).abs() < 1e-12);
        assert_eq!(recorded.count(), 2);
        // What was not simulated is not right.
        assert_eq!(recorded.error(&Figures([None, None])), None);
        let simulated =
            Side { rate: None, percentiles: [None, Some(7), None, None], ..simulated.0[0].clone().unwrap() };
        assert_eq!(recorded.error(&Figures([Some(simulated), None])), None);
    }

    #[test]
    fn errors_stand_beside_those_of_the_mean() {
        let recorded = side(1_000.0, [Some(80), Some(200), None, None]);
        let errors = recorded.errors(&side(900.0, [Some(88), Some(150), Some(9), None]), None);
        let shown: Vec<_> = errors.iter().map(|one| (&one.quantity[..], one.error, one.null_error)).collect();
        assert_eq!(shown[0], ("requests/s", 900.0 / 1_000.0 - 1.0, 0.0));
        assert_eq!(shown[1], ("p50", 88.0 / 80.0 - 1.0, 0.25));
        assert_eq!(shown[2], ("p90", -0.25, -0.5));
        assert_eq!(shown.len(), 3);
    }

    #[test]
    fn a_percentile_takes_ten_samples_beyond_it() {
        let mut latency = Latency::new();
        (0..1_000).for_each(|_| latency.record(50));
        let side = Side::of(&latency, Some(1_000_000)).expect("it has requests");
        assert_eq!(side.percentiles, [Some(50), Some(50), Some(50), None]);
        assert_eq!(side.rate, Some(1e6));
    }
}
