//! The result of a validation, as JSON.

use flashloom_figures::result_types;
use flashloom_units::Ns;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Format identifier of [`ValidationResult`]; the number changes if programs that read it have to.
pub const VALIDATION_SCHEMA: &str = "flashloom/validation/1";

/// A drive beside one measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ValidatedInput {
    /// Name of the experiment.
    pub experiment: String,
    /// File of the measurement.
    pub input: String,
    /// Name of the job, of several measurements in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Kind and format of the measurement.
    pub kind: String,
    /// Beginning and end of a latency, on both sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// Load that was simulated.
    pub load: String,
    /// Number of requests simulated.
    pub requests: u64,
    /// Effective configuration of the simulated drive and its load, with every default filled in.
    pub config: serde_json::Value,
    /// Latencies, by operation and size.
    pub cells: Vec<CellResult>,
    /// Rates.
    pub rates: Vec<RateResult>,
    /// Of a curve of rates: mean over the bytes of the absolute difference, as a share of the recorded mean rate. The
    /// null has that mean everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_distance: Option<Score>,
    /// What could not be compared, and why.
    pub not_compared: Vec<String>,
    /// Reasons to doubt the comparison.
    pub warnings: Vec<String>,
}

result_types! {
    /// Result of a validation: the drives of experiments beside measurements of real ones.
    ValidationResult {
        /// Format identifier of this object.
        schema: String,
        /// Every experiment with each of its inputs.
        comparisons: Vec<ValidatedInput>,
    }

    /// Latencies of the requests of an operation and a class of sizes.
    CellResult {
        /// Operation.
        operation: String,
        /// Class of sizes, such as "to 4 KiB"; absent for all sizes together.
        size?: String,
        /// Recorded latencies.
        recorded_requests: u64,
        /// Simulated latencies.
        simulated_requests: u64,
        /// Mean latency, in nanoseconds.
        mean_ns: Compared,
        /// Percentiles with at least ten samples beyond them on both sides.
        percentiles: Vec<PercentileResult>,
        /// Mean absolute difference of the quantiles from p1 to p99.9, as a share of the recorded mean.
        distance: Score,
        /// Kolmogorov-Smirnov statistic: greatest difference of the shares of requests that are at most so long; of a
        /// measurement that has percentiles alone, at those.
        kolmogorov_smirnov: Score,
        /// Shares of requests that took long, where there were any.
        stalls: Vec<StallResult>,
    }

    /// A figure of both sides.
    #[derive(Copy)]
    Compared {
        /// Of the measurement.
        recorded: f64,
        /// Of the simulation.
        simulated: f64,
        /// Simulated / recorded - 1; absent if the recorded figure is 0.
        error?: f64,
    }

    /// A percentile of both sides.
    #[derive(Copy)]
    PercentileResult {
        /// The percentile: 99.9 for the latency that 99.9 % of the requests do not exceed.
        percent: f64,
        /// Of the measurement, in nanoseconds.
        recorded_ns: Ns,
        /// Of the simulation, in nanoseconds.
        simulated_ns: Ns,
        /// Simulated / recorded - 1; absent if the recorded one is 0.
        error?: f64,
        /// Error of a model that says the recorded mean of every request.
        null_error?: f64,
    }

    /// A distance from the measurement: 0 is equal to it.
    #[derive(Copy)]
    Score {
        /// Of the simulation.
        simulated: f64,
        /// Of a model that says the recorded mean of every request.
        null: f64,
    }

    /// Requests that took at least so long.
    #[derive(Copy)]
    StallResult {
        /// Latency from which on a request counts, in nanoseconds.
        at_least_ns: Ns,
        /// Share of the recorded requests.
        recorded: f64,
        /// Share of the simulated requests.
        simulated: f64,
        /// Share by a model that says the recorded mean of every request: 0 or 1.
        null: f64,
    }

    /// A rate of both sides.
    RateResult {
        /// Quantity, with its unit.
        quantity: String,
        /// Its values.
        #[serde(flatten)]
        rate: Compared,
    }
}

impl Compared {
    /// A figure of both sides.
    pub fn of(recorded: f64, simulated: f64) -> Self {
        Self { recorded, simulated, error: error(recorded, simulated) }
    }
}

fn error(recorded: f64, simulated: f64) -> Option<f64> {
    (recorded > 0.0).then(|| simulated / recorded - 1.0)
}

impl PercentileResult {
    /// A percentile of both sides; `mean_ns` is the recorded mean.
    pub fn of(percent: f64, recorded_ns: Ns, simulated_ns: Ns, mean_ns: f64) -> Self {
        let recorded = recorded_ns as f64;
        Self {
            percent,
            recorded_ns,
            simulated_ns,
            error: error(recorded, simulated_ns as f64),
            null_error: error(recorded, mean_ns),
        }
    }
}
