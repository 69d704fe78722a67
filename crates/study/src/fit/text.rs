//! The result of a fit as text: the parameters, the errors of each cell and of all, and what is to be known of them.

use flashloom_figures::number::{factor, percent, time};
use flashloom_report::text::{Part, Table};

use crate::validate::signed;

use super::{ErrorResult, FitResult, FittedCell, FittedParameter, QuantityResult};

/// The tables of a fit, and the lines between them.
pub fn fit(result: &FitResult) -> Vec<Part> {
    let head = format!(
        "start: {}; {} cells of at most {} requests, {} points simulated\nobjective: {}, noise {}\n",
        result.start_in_words(),
        result.cells.len(),
        result.requests,
        result.points,
        factor(result.objective),
        factor(result.noise),
    );
    let mut parts = vec![Part::Lines(head)];
    let mut add = |header: &[&str], names: usize, rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            parts.extend([Part::blank(), Part::Table(Table::new(header, names, rows))]);
        }
    };
    let parameters = result.parameters.iter().map(parameter).collect();
    add(&["parameter", "tried", "start", "fitted", "as good", ""], 2, parameters);
    let is_each = result.cells.iter().any(|cell| !cell.seen_errors.is_empty());
    let header: &[&str] = if is_each {
        &["cell", "", "recorded", "simulated", "error left out", "error fitted", "null's error"]
    } else {
        &["cell", "", "recorded", "simulated", "error", "null's error"]
    };
    add(header, 2, result.cells.iter().flat_map(|one| cell(one, &name_of(result, one), is_each)).collect());
    let summary = result.summary.iter().map(|one| {
        let null = one.held_out.or(one.fitted).map_or("-".to_owned(), |error| percent(error.null_mean));
        vec![format!("{} {}", one.operation, one.quantity), errors(one.fitted), errors(one.held_out), null]
    });
    add(&["mean (greatest) error", "fitted", "held out", "null"], 1, summary.collect());
    let undetermined: Vec<&str> =
        result.parameters.iter().filter(|one| !one.is_determined).map(|one| &one.key[..]).collect();
    let mut notes = String::new();
    if !undetermined.is_empty() {
        notes.push_str(&format!("not determined by this input: {}\n", undetermined.join(", ")));
    }
    for one in result.combinations.iter().filter(|one| one.left_out.is_some()) {
        let reason = one.left_out.as_deref().unwrap_or_default();
        notes.push_str(&format!("left out: {}: {reason}\n", one.values.join(", ")));
    }
    result.warnings.iter().for_each(|warning| notes.push_str(&format!("warning: {warning}\n")));
    if !notes.is_empty() {
        parts.extend([Part::blank(), Part::Lines(notes)]);
    }
    parts
}

fn parameter(one: &FittedParameter) -> Vec<String> {
    let between = if one.is_range { " .. " } else { ", " };
    let verdict = if one.is_determined { "" } else { "not determined" };
    let cells = [&one.tried.join(between), &one.start, &one.value, &one.as_good.join(between), verdict];
    std::iter::once(one.key.clone()).chain(cells.map(str::to_owned)).collect()
}

/// The name of a cell: that of its file, and of its job where the file has several.
fn name_of(result: &FitResult, cell: &FittedCell) -> String {
    let file = cell.input.rsplit('/').next().unwrap_or_default();
    let is_alone = result.cells.iter().filter(|other| other.input == cell.input).count() == 1;
    let job = cell.job.as_ref().filter(|_| !is_alone).map_or(String::new(), |job| format!(", {job}"));
    format!("{file}{job}")
}

/// The rows of a cell.
fn cell(cell: &FittedCell, name: &str, is_each: bool) -> Vec<Vec<String>> {
    let mut name = name.to_owned();
    if cell.held_out && !is_each {
        name.push_str(" (held out)");
    }
    let mut rows = Vec::with_capacity(cell.errors.len());
    for one in &cell.errors {
        let seen =
            cell.seen_errors.iter().find(|seen| (&seen.operation, &seen.quantity) == (&one.operation, &one.quantity));
        let seen = is_each.then(|| seen.map_or(String::new(), |seen| signed(Some(seen.error))));
        let row = [
            std::mem::take(&mut name),
            format!("{} {}", one.operation, one.quantity),
            shown(one, one.recorded),
            shown(one, one.simulated),
            signed(Some(one.error)),
        ];
        rows.push(row.into_iter().chain(seen).chain([signed(Some(one.null_error))]).collect());
    }
    rows
}

fn shown(one: &QuantityResult, value: f64) -> String {
    if one.quantity.starts_with('p') { time(value) } else { factor(value) }
}

/// The mean and the greatest error, as shares; a dash for none.
pub(super) fn errors(error: Option<ErrorResult>) -> String {
    error.map_or("-".to_owned(), |error| format!("{} ({})", percent(error.mean), percent(error.greatest)))
}
