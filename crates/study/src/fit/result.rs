//! The result of a fit, as JSON.

use flashloom_figures::result_types;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Format identifier of [`FitResult`]; the number changes if programs that read it have to.
pub const FIT_SCHEMA: &str = "flashloom/fit/1";

result_types! {
    /// Result of a fit: the parameters of a drive that repeat measurements best, and how well.
    FitResult {
        /// Format identifier of this object.
        schema: String,
        /// Preset or experiment that the fit started from.
        start: String,
        /// Options that replaced keys of the start.
        sets: Vec<String>,
        /// Files that were fitted.
        inputs: Vec<String>,
        /// Rule by which cells were held out.
        hold_out: String,
        /// Requests simulated of each job of fio, and at most of each slice of a recording.
        requests: u64,
        /// Slices that a recording was to be cut into.
        slices: u64,
        /// Searches from different points.
        restarts: u64,
        /// Seed of the points from which the searches started.
        seed: u64,
        /// Points at which cells were simulated, each with all cells that were needed.
        points: u64,
        /// Objective of the best point: the mean square error of the fitted cells, in the scales of their quantities.
        objective: f64,
        /// Standard deviation of the objective over seeds of the simulation, at the best point.
        noise: f64,
        /// The parameters.
        parameters: Vec<FittedParameter>,
        /// Combinations of the listed values, the best first.
        combinations: Vec<CombinationResult>,
        /// Ends of the searches of the best combination, the best first.
        searches: Vec<SearchEnd>,
        /// Every cell.
        cells: Vec<FittedCell>,
        /// Errors of each quantity over the cells.
        summary: Vec<SummaryResult>,
        /// Reasons to doubt the fit.
        warnings: Vec<String>,
    }

    /// A parameter.
    FittedParameter {
        /// The key.
        key: String,
        /// The ends of its range, or all values that were tried.
        tried: Vec<String>,
        /// True if it has a range, and values between its ends were tried.
        is_range: bool,
        /// Its value at the start.
        start: String,
        /// Its fitted value.
        value: String,
        /// Values with which the objective is as good within its noise: the least and the greatest, or all of a list.
        as_good: Vec<String>,
        /// True if these values are within a tenth of the fitted one.
        is_determined: bool,
    }

    /// A combination of listed values.
    CombinationResult {
        /// Its values, as options.
        values: Vec<String>,
        /// The least objective that was found.
        objective?: f64,
        /// The last round that it took part in: 1 points alone, 2 one search, 3 all searches.
        round: u64,
        /// Reason why it was left out.
        left_out?: String,
    }

    /// End of a search.
    SearchEnd {
        /// Its objective.
        objective: f64,
        /// Values of the keys with ranges, as options.
        values: Vec<String>,
    }

    /// A cell: a job of fio, or a slice of a recording.
    FittedCell {
        /// File of the measurement.
        input: String,
        /// Name of the job, or of the slice.
        job?: String,
        /// Load that was simulated.
        load: String,
        /// True if the errors are those of a fit that did not see this cell.
        held_out: bool,
        /// The errors.
        errors: Vec<QuantityResult>,
        /// Of a cell that was left out in turn: the errors of the fit that saw it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen_errors: Vec<QuantityResult>,
    }

    /// A quantity of a cell.
    QuantityResult {
        /// Operation.
        operation: String,
        /// Name of the quantity.
        quantity: String,
        /// Of the measurement: requests a second, or nanoseconds.
        recorded: f64,
        /// Of the simulation.
        simulated: f64,
        /// Simulated / recorded - 1.
        error: f64,
        /// Error of a model that says the recorded mean of every request.
        null_error: f64,
    }

    /// Errors of a quantity over cells.
    SummaryResult {
        /// Operation.
        operation: String,
        /// Name of the quantity.
        quantity: String,
        /// Of the cells that the fit saw.
        fitted?: ErrorResult,
        /// Of those that it did not see.
        held_out?: ErrorResult,
    }

    /// Errors over cells.
    #[derive(Copy)]
    ErrorResult {
        /// Number of cells.
        cells: u64,
        /// Mean of the absolute errors.
        mean: f64,
        /// Greatest absolute error.
        greatest: f64,
        /// Mean of the absolute errors of a model that says the recorded mean of every request.
        null_mean: f64,
    }
}

impl FitResult {
    /// The start in words: its name, and the options that replaced keys of it.
    pub fn start_in_words(&self) -> String {
        let sets = self.sets.iter().map(|set| format!(", {set}"));
        std::iter::once(self.start.clone()).chain(sets).collect()
    }
}
