//! Sections of the report on a validation.

use flashloom_figures::number::{count, percent, time};
use flashloom_study::validate::{
    CELL_COLUMNS, CellResult, PercentileResult, RATE_COLUMNS, ValidatedInput, ValidationResult, cell_rows, rate_row,
    signed,
};
use serde_json::json;

use super::chart::{Chart, Kind, Table, head};
use super::facts;
use super::long::{Cell, Long};
use super::section::{Part, Section};

/// Cells that are drawn, at most; the table has all of them.
const MAX_DRAWN: usize = 8;
/// Percentiles in the table of all cells.
const LISTED: [f64; 3] = [50.0, 99.0, 99.9];

/// The sections, in order.
pub(super) fn sections(result: &ValidationResult) -> Vec<Section> {
    vec![
        Section { id: "overview", title: "Errors", parts: overview(result) },
        Section { id: "latency", title: "Latency", parts: latencies(result) },
        Section { id: "rates", title: "Rates", parts: rates(result) },
        Section { id: "doubts", title: "Not compared, and doubts", parts: doubts(result) },
        Section { id: "configuration", title: "Configuration", parts: configuration(result) },
    ]
}

/// The drive and the measurement.
fn name(of: &ValidatedInput) -> String {
    let job = of.job.as_ref().map_or(String::new(), |job| format!(", job {job}"));
    format!("{} against {}{job}", of.experiment, of.input)
}

/// The requests of a cell.
fn requests(cell: &CellResult) -> String {
    cell.size.as_ref().map_or_else(|| cell.operation.clone(), |size| format!("{} {size}", cell.operation))
}

fn cells(result: &ValidationResult) -> impl Iterator<Item = (&ValidatedInput, &CellResult)> {
    result.comparisons.iter().flat_map(|one| one.cells.iter().map(move |cell| (one, cell)))
}

fn overview(result: &ValidationResult) -> Vec<Part> {
    let columns = ["requests", "recorded", "mean", "p50", "p99", "p99.9", "distance", "null's distance", "load"];
    let long = Long {
        caption: "Simulated / recorded - 1, and distances".to_owned(),
        is_folded: false,
        head: head("drive and measurement", columns.into_iter()),
        rows: cells(result).map(|(one, cell)| row(one, cell)).collect(),
    };
    let null = "The null says the recorded mean of every request: a distance above its own tells less of this load \
                than that one number.";
    vec![Part::Long(long), Part::Text(null.to_owned())]
}

fn row(one: &ValidatedInput, cell: &CellResult) -> Vec<Cell> {
    let error = |error: Option<f64>| error.map_or_else(|| Cell::text("-"), |of| Cell::number(of, signed(Some(of))));
    let at = |listed: f64| cell.percentiles.iter().find(|one| one.percent == listed).and_then(|one| one.error);
    let recorded = cell.recorded_requests;
    [Cell::text(name(one)), Cell::text(requests(cell)), Cell::number(recorded as f64, count(recorded))]
        .into_iter()
        .chain([error(cell.mean_ns.error)])
        .chain(LISTED.map(|listed| error(at(listed))))
        .chain([cell.distance.simulated, cell.distance.null].map(|of| Cell::number(of, percent(of))))
        .chain([Cell::text(one.load.clone())])
        .collect()
}

fn latencies(result: &ValidationResult) -> Vec<Part> {
    // Sizes together first: they say of each measurement whether the others are worth reading.
    let whole = cells(result).filter(|(_, cell)| cell.size.is_none());
    let mut drawn: Vec<_> = whole.chain(cells(result).filter(|(_, cell)| cell.size.is_some())).collect();
    if drawn.is_empty() {
        return vec![Part::Missing("No latency could be compared; why, stands under the doubts.".to_owned())];
    }
    let all = drawn.len();
    drawn.truncate(MAX_DRAWN);
    let mut parts: Vec<_> = drawn.into_iter().map(|(one, cell)| Part::Chart(chart(one, cell))).collect();
    if all > MAX_DRAWN {
        parts.push(Part::Text(format!("The first {MAX_DRAWN} of {}; the table of errors has all.", count(all as u64))));
    }
    parts
}

/// Latency by percentile: recorded, simulated, and by the null.
fn chart(one: &ValidatedInput, cell: &CellResult) -> Chart {
    let line = |name: &str, of: fn(&PercentileResult) -> f64| {
        let nines = |one: &PercentileResult| -(1.0 - one.percent / 100.0).log10();
        let points: Vec<_> = cell.percentiles.iter().map(|one| (nines(one), of(one))).collect();
        json!({ "name": name, "points": points })
    };
    let recorded = line("recorded", |one| one.recorded_ns as f64);
    let simulated = line("simulated", |one| one.simulated_ns as f64);
    let mean = cell.mean_ns.recorded;
    let ends = [cell.percentiles.first(), cell.percentiles.last()].into_iter().flatten();
    let level: Vec<_> = ends.map(|one| (-(1.0 - one.percent / 100.0).log10(), mean)).collect();
    Chart {
        title: format!("{}: {}", requests(cell), name(one)),
        summary: format!(
            "Mean {} recorded and {} simulated; distance {}, that of the null {}.",
            time(mean),
            time(cell.mean_ns.simulated),
            percent(cell.distance.simulated),
            percent(cell.distance.null)
        ),
        kind: Kind::Percentiles,
        spec: json!({ "lines": [recorded, simulated, { "name": "null", "points": level }] }),
        table: Table { head: CELL_COLUMNS.map(str::to_owned).to_vec(), rows: cell_rows(cell) },
    }
}

fn rates(result: &ValidationResult) -> Vec<Part> {
    let rows: Vec<Vec<String>> = result
        .comparisons
        .iter()
        .flat_map(|one| one.rates.iter().map(|rate| [vec![name(one)], rate_row(rate)].concat()))
        .collect();
    if rows.is_empty() {
        return vec![Part::Missing("No rate could be compared.".to_owned())];
    }
    vec![Part::Table(Table { head: head("drive and measurement", RATE_COLUMNS.into_iter()), rows })]
}

fn doubts(result: &ValidationResult) -> Vec<Part> {
    let mut parts = Vec::new();
    for one in &result.comparisons {
        let said = [("not compared", &one.not_compared), ("warning", &one.warnings)];
        for (what, lines) in said {
            parts.extend(lines.iter().map(|line| Part::Text(format!("{}: {what}: {line}", name(one)))));
        }
    }
    if parts.is_empty() {
        parts.push(Part::Text("Everything was compared, and nothing makes it doubtful.".to_owned()));
    }
    parts
}

fn configuration(result: &ValidationResult) -> Vec<Part> {
    let Some(first) = result.comparisons.first() else { return Vec::new() };
    let note = format!("That of {}.", name(first));
    vec![Part::Text(note), facts::configuration(&first.config)]
}
