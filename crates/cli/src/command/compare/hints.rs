//! Hints below a comparison: those of its runs, each once, with the rows that it holds for.

use flashloom::experiment::config::{Config, Experiment};
use flashloom::experiment::formula::Run;
use flashloom::experiment::result::{Comparison, HintResult};
use flashloom::experiment::run::{Percentile, few_samples};
use serde_json::Value;

use super::columns::Column;
use crate::command::run::hint_text;
use crate::figures::rows;

/// Maximum number of hints: more would not be read.
const MOST: usize = 3;
/// Hint about percentiles with too few samples; here it depends on the percentiles among the columns.
const FEW_SAMPLES: &str = "few-samples";
/// Hints that are shown only if a column is about their subject; all others concern every figure.
const ABOUT: &[(&[&str], &[&str])] = &[
    (&["lifetime"], &["wear."]),
    (&["link", "queue-depth", "outstanding", "die", "channel", "buffer"], &["host.", "filebench."]),
];
/// Percentiles of a distribution, each with N where one sample in N lies beyond it.
const PERCENTILES: &[(&str, u64)] = &[("p50", 2), ("p95", 20), ("p99", 100), ("p99_9", 1_000), ("p99_99", 10_000)];

/// A hint and the rows that it holds for.
struct Held {
    /// The hint of the first of these rows.
    hint: HintResult,
    rows: Vec<usize>,
    /// True if other rows have other figures in it.
    differs: bool,
}

/// One paragraph per hint, the most misleading first; empty without hints. A hint whose key varies is left out: the
/// reader already varies it.
pub fn of(experiment: &Experiment, comparison: &Comparison, columns: &[Column]) -> String {
    let seeds = experiment.repetitions();
    let axes: Vec<String> = experiment.axes.iter().map(|axis| axis.path()).collect();
    let is_useful = |hint: &HintResult| {
        let sections =
            ABOUT.iter().find(|(names, _)| names.contains(&hint.about.as_str())).map(|(_, sections)| *sections);
        let shows = |section: &&str| columns.iter().flat_map(Column::paths).any(|path| path.starts_with(*section));
        !axes.contains(&hint.key) && hint.about != FEW_SAMPLES && sections.is_none_or(|of| of.iter().any(shows))
    };
    let (mut limits, mut samples): (Vec<Held>, Vec<Held>) = (Vec::new(), Vec::new());
    for (index, (run, variant)) in comparison.runs.iter().zip(&experiment.variants).enumerate() {
        for hint in run.result.hints.iter().filter(|hint| is_useful(hint)) {
            hold(&mut limits, hint.clone(), index / seeds);
        }
        if let Some(hint) = of_columns(&variant.config, &Run::from(run).result, columns) {
            hold(&mut samples, hint, index / seeds);
        }
    }
    let all = comparison.runs.len() / seeds;
    let text = |held: Held| {
        let figures = if held.differs { format!("; figures of row {}", held.rows[0] + 1) } else { String::new() };
        hint_text(&format!(" ({}{figures})", rows(&held.rows, all)), &held.hint)
    };
    limits.into_iter().chain(samples).take(MOST).map(text).collect()
}

/// Adds a row to the hint of the same kind, or a new hint.
fn hold(held: &mut Vec<Held>, hint: HintResult, row: usize) {
    match held.iter_mut().find(|known| known.hint.about == hint.about && known.hint.key == hint.key) {
        Some(known) => {
            known.differs |= known.hint.text != hint.text;
            if known.rows.last() != Some(&row) {
                known.rows.push(row);
            }
        }
        None => held.push(Held { hint, rows: vec![row], differs: false }),
    }
}

/// The hint about too few samples for the percentiles among the columns.
fn of_columns(config: &Config, result: &Value, columns: &[Column]) -> Option<HintResult> {
    let percentile = |column: &'_ Column| {
        let [path] = column.paths() else { return None };
        let (distribution, last) = path.rsplit_once('.')?;
        let (_, one_in) = *PERCENTILES.iter().find(|(name, _)| *name == last)?;
        let samples =
            distribution.split('.').try_fold(result, |value, part| value.get(part))?.get("count")?.as_u64()?;
        Some((samples, one_in))
    };
    let shown: Vec<Percentile<'_>> = columns
        .iter()
        .filter_map(|column| {
            percentile(column).map(|(samples, one_in)| Percentile { name: &column.name, samples, one_in })
        })
        .collect();
    few_samples(config, &shown)
}
