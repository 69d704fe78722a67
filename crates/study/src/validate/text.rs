//! The result of a validation as text: for each measurement a table of latencies, a list of rates, and what is to be
//! known of both.

use flashloom_figures::number::{count, factor, percent, size, time};
use flashloom_report::text::{Part, Table};

use super::{CellResult, Compared, PercentileResult, RateResult, Score, ValidatedInput, ValidationResult};

/// Columns of the latencies of a cell.
pub const CELL_COLUMNS: [&str; 6] = ["latency", "", "recorded", "simulated", "error", "null's error"];
/// Columns of rates.
pub const RATE_COLUMNS: [&str; 4] = ["rate", "recorded", "simulated", "error"];

/// The tables of all measurements, and the lines between them.
pub fn validation(result: &ValidationResult) -> Vec<Part> {
    let mut parts = Vec::new();
    for one in &result.comparisons {
        if !parts.is_empty() {
            parts.push(Part::blank());
        }
        parts.extend(comparison(one));
    }
    parts
}

fn comparison(one: &ValidatedInput) -> Vec<Part> {
    let job = one.job.as_ref().map_or(String::new(), |job| format!(", job {job}"));
    let mut head = format!("{} against {}{job}: {}\n", one.experiment, one.input, one.kind);
    head.push_str(&format!("load: {}, {} requests\n", one.load, count(one.requests)));
    if let Some(interval) = &one.interval {
        head.push_str(&format!("latency: {interval}\n"));
    }
    let mut parts = vec![Part::Lines(head)];
    let mut add = |header: &[&str], names: usize, rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            parts.extend([Part::blank(), Part::Table(Table::new(header, names, rows))]);
        }
    };
    add(&CELL_COLUMNS, 2, one.cells.iter().flat_map(cell_rows).collect());
    add(&RATE_COLUMNS, 1, one.rates.iter().map(rate_row).collect());
    if let Some(Score { simulated, null }) = one.rate_distance {
        let line = format!("distance of the rates: {}, null's {}\n", percent(simulated), percent(null));
        parts.extend([Part::blank(), Part::Lines(line)]);
    }
    let notes = [("not compared", &one.not_compared), ("warning", &one.warnings)];
    let notes: String =
        notes.iter().flat_map(|(title, lines)| lines.iter().map(move |line| format!("{title}: {line}\n"))).collect();
    if !notes.is_empty() {
        parts.extend([Part::blank(), Part::Lines(notes)]);
    }
    parts
}

/// The rows of a cell: its mean, percentiles, distances and stalls.
pub fn cell_rows(cell: &CellResult) -> Vec<Vec<String>> {
    let name = match &cell.size {
        Some(size) => format!("{} {size}", cell.operation),
        None => format!("{}, {}", cell.operation, count(cell.recorded_requests)),
    };
    let Compared { recorded, simulated, error } = cell.mean_ns;
    let mut rows = vec![row(&name, "mean", [time(recorded), time(simulated), signed(error), signed(Some(0.0))])];
    rows.extend(cell.percentiles.iter().map(percentile));
    for (name, Score { simulated, null }) in [("distance", cell.distance), ("KS", cell.kolmogorov_smirnov)] {
        rows.push(row("", name, ["".to_owned(), "".to_owned(), percent(simulated), percent(null)]));
    }
    for stall in &cell.stalls {
        let name = format!("{} and longer", time(stall.at_least_ns as f64));
        let errors = [stall.simulated, stall.null].map(|share| signed(Compared::of(stall.recorded, share).error));
        let [error, null_error] = errors;
        let cells = [percent(stall.recorded), percent(stall.simulated), error, null_error];
        rows.push(row("", &name, cells));
    }
    rows
}

fn percentile(one: &PercentileResult) -> Vec<String> {
    let cells =
        [time(one.recorded_ns as f64), time(one.simulated_ns as f64), signed(one.error), signed(one.null_error)];
    row("", &format!("p{}", one.percent), cells)
}

fn row(name: &str, figure: &str, cells: [String; 4]) -> Vec<String> {
    [name.to_owned(), figure.to_owned()].into_iter().chain(cells).collect()
}

/// An error with its sign, such as `+3.1 %`.
pub fn signed(error: Option<f64>) -> String {
    error.map_or("-".to_owned(), |error| format!("{}{}", if error > 0.0 { "+" } else { "" }, percent(error)))
}

/// The row of a rate.
pub fn rate_row(one: &RateResult) -> Vec<String> {
    let shown = |value: f64| if one.quantity.contains("bytes") { format!("{}/s", size(value)) } else { factor(value) };
    let Compared { recorded, simulated, error } = one.rate;
    vec![one.quantity.clone(), shown(recorded), shown(simulated), signed(error)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_of_stalls_has_errors_in_the_columns_of_errors() {
        let score = json!({"simulated": 0.1, "null": 0.5});
        let stall =
            |recorded: f64| json!({"at_least_ns": 10_000_000, "recorded": recorded, "simulated": 0.03, "null": 0.0});
        let cell: CellResult = serde_json::from_value(json!({
            "operation": "read", "recorded_requests": 1_000, "simulated_requests": 1_000,
            "mean_ns": {"recorded": 100.0, "simulated": 110.0, "error": 0.1}, "percentiles": [],
            "distance": score, "kolmogorov_smirnov": score, "stalls": [stall(0.02), stall(0.0)],
        }))
        .expect("it is a cell");
        let rows = cell_rows(&cell);
        let cells = |row: usize| rows[row][2..].join("|");
        assert_eq!(cells(3), "2.00 %|3.00 %|+50.0 %|-100 %");
        assert_eq!(cells(4), "0 %|3.00 %|-|-", "nothing is a share of 0");
    }
}
