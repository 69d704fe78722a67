//! The result of a fit, as JSON.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Format identifier of [`FitResult`]; the number changes if programs that read it have to.
pub const FIT_SCHEMA: &str = "flashloom/fit/1";

/// Result of a fit: the parameters of a drive that repeat measurements best, and how well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FitResult {
    /// Format identifier of this object.
    pub schema: String,
    /// Preset or experiment that the fit started from.
    pub start: String,
    /// Options that replaced keys of the start.
    pub sets: Vec<String>,
    /// Files that were fitted.
    pub inputs: Vec<String>,
    /// Rule by which cells were held out.
    pub hold_out: String,
    /// Requests simulated of each job of fio, and at most of each slice of a recording.
    pub requests: u64,
    /// Slices that a recording was to be cut into.
    pub slices: u64,
    /// Searches from different points.
    pub restarts: u64,
    /// Seed of the points from which the searches started.
    pub seed: u64,
    /// Points at which cells were simulated, each with all cells that were needed.
    pub points: u64,
    /// Objective of the best point: the mean square error of the fitted cells, in the scales of their quantities.
    pub objective: f64,
    /// Standard deviation of the objective over seeds of the simulation, at the best point.
    pub noise: f64,
    /// The parameters.
    pub parameters: Vec<FittedParameter>,
    /// Combinations of the listed values, the best first.
    pub combinations: Vec<CombinationResult>,
    /// Ends of the searches of the best combination, the best first.
    pub searches: Vec<SearchEnd>,
    /// Every cell.
    pub cells: Vec<FittedCell>,
    /// Errors of each quantity over the cells.
    pub summary: Vec<SummaryResult>,
    /// Reasons to doubt the fit.
    pub warnings: Vec<String>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FittedParameter {
    /// The key.
    pub key: String,
    /// The ends of its range, or all values that were tried.
    pub tried: Vec<String>,
    /// True if it has a range, and values between its ends were tried.
    pub is_range: bool,
    /// Its value at the start.
    pub start: String,
    /// Its fitted value.
    pub value: String,
    /// Values with which the objective is as good within its noise: the least and the greatest, or all of a list.
    pub as_good: Vec<String>,
    /// True if these values are within a tenth of the fitted one.
    pub is_determined: bool,
}

/// A combination of listed values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CombinationResult {
    /// Its values, as options.
    pub values: Vec<String>,
    /// The least objective that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<f64>,
    /// The last round that it took part in: 1 points alone, 2 one search, 3 all searches.
    pub round: u64,
    /// Reason why it was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// End of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SearchEnd {
    /// Its objective.
    pub objective: f64,
    /// Values of the keys with ranges, as options.
    pub values: Vec<String>,
}

/// A cell: a job of fio, or a slice of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FittedCell {
    /// File of the measurement.
    pub input: String,
    /// Name of the job, or of the slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Load that was simulated.
    pub load: String,
    /// True if the errors are those of a fit that did not see this cell.
    pub held_out: bool,
    /// The errors.
    pub errors: Vec<QuantityResult>,
    /// Of a cell that was left out in turn: the errors of the fit that saw it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen_errors: Vec<QuantityResult>,
}

/// A quantity of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct QuantityResult {
    /// Operation.
    pub operation: String,
    /// Name of the quantity.
    pub quantity: String,
    /// Of the measurement: requests a second, or nanoseconds.
    pub recorded: f64,
    /// Of the simulation.
    pub simulated: f64,
    /// Simulated / recorded - 1.
    pub error: f64,
    /// Error of a model that says the recorded mean of every request.
    pub null_error: f64,
}

/// Errors of a quantity over cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SummaryResult {
    /// Operation.
    pub operation: String,
    /// Name of the quantity.
    pub quantity: String,
    /// Of the cells that the fit saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fitted: Option<ErrorResult>,
    /// Of those that it did not see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out: Option<ErrorResult>,
}

/// Errors over cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ErrorResult {
    /// Number of cells.
    pub cells: u64,
    /// Mean of the absolute errors.
    pub mean: f64,
    /// Greatest absolute error.
    pub greatest: f64,
    /// Mean of the absolute errors of a model that says the recorded mean of every request.
    pub null_mean: f64,
}

impl FitResult {
    /// The start in words: its name, and the options that replaced keys of it.
    pub fn start_in_words(&self) -> String {
        let sets = self.sets.iter().map(|set| format!(", {set}"));
        std::iter::once(self.start.clone()).chain(sets).collect()
    }
}
