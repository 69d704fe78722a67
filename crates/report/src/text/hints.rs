//! Hints: below a run each of its own, below a comparison those of its rows, each once.

use flashloom_config::Catalog;
use flashloom_figures::formula::Run;
use flashloom_figures::result::{ComparedHintResult, Comparison, HintResult, field};
use flashloom_run::{Percentile, few_samples, length_key};
use flashloom_units::visible_line;
use serde_json::Value;

use super::columns::Column;
use super::table::rows;

/// Maximum number of hints: more would not be read.
const MOST: usize = 3;
/// Hint about percentiles with too few samples; here it depends on the percentiles among the columns.
const FEW_SAMPLES: &str = "few-samples";
/// Hint about latencies that rank nothing; it stays even if its key varies, and comes first.
const OVERLOAD: &str = "overload";
/// Hints that are shown only if a column is about their subject; all others concern every figure.
const ABOUT: &[(&[&str], &[&str])] = &[
    (&["lifetime"], &["wear."]),
    (
        &["unpaid", "kept-data", "scaled-down"],
        &["wear.", "ftl.waf", "ftl.waf_bytes", "ftl.steady_waf_bytes", "ftl.block_erases"],
    ),
    (&["link", "queue-depth", "outstanding", "die", "channel", "buffer"], &["host.", "filebench."]),
    (&["own-rate"], &["host.iops", "host.throughput"]),
    (&[OVERLOAD], &["host.latency_ns", "scheduler."]),
    (&["slc-cache-full"], &["host.", "filebench."]),
    (&["no-slc-cache"], &["host.latency_ns.write.p99_9"]),
    (&["no-read-retries"], &["host.latency_ns.read.p99_9"]),
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

impl Held {
    /// A hint about several rows together.
    fn of_rows(hint: &ComparedHintResult) -> Self {
        let ComparedHintResult { about, text, key, rows } = hint.clone();
        let rows = rows.into_iter().map(|row| row as usize - 1).collect();
        Self { hint: HintResult { about, text, key }, rows, differs: false }
    }
}

/// Formats a hint with the key to change. `of` names the rows that it is about, in brackets, if not all are.
pub(super) fn paragraph(of: &str, HintResult { text, key, .. }: &HintResult) -> String {
    let (text, key) = (visible_line(text), visible_line(key));
    format!("\nhint{of}: {text}\n      The key is `{key}`; see `flashloom explain {key}`.\n")
}

/// The hints about a comparison, a paragraph each, the most misleading first; empty without hints. A hint whose key
/// varies is left out: the reader already varies it.
pub fn hints(catalog: &Catalog, comparison: &Comparison, columns: &[Column]) -> String {
    let seeds = comparison.repetitions();
    let axes: Vec<&String> = comparison.runs.first().into_iter().flat_map(|run| run.vary.keys()).collect();
    let is_useful = |about: &str, key: &String| {
        let sections = ABOUT.iter().find(|(names, _)| names.contains(&about)).map(|(_, sections)| *sections);
        let shows =
            |section: &&str| columns.iter().flat_map(|column| &column.paths).any(|path| path.starts_with(*section));
        let is_varied = about != OVERLOAD && axes.contains(&key);
        !is_varied && about != FEW_SAMPLES && sections.is_none_or(|of| of.iter().any(shows))
    };
    let of_all = comparison.hints.iter().filter(|hint| is_useful(&hint.about, &hint.key)).map(Held::of_rows);
    let (mut limits, mut samples): (Vec<Held>, Vec<Held>) = (Vec::new(), Vec::new());
    for (index, run) in comparison.runs.iter().enumerate() {
        for hint in run.result.hints.iter().filter(|hint| is_useful(&hint.about, &hint.key)) {
            hold(&mut limits, hint.clone(), index / seeds);
        }
        if let Some(hint) = of_columns(catalog, &Run::from(run).result, columns) {
            hold(&mut samples, hint, index / seeds);
        }
    }
    let (overload, limits): (Vec<Held>, Vec<Held>) = limits.into_iter().partition(|held| held.hint.about == OVERLOAD);
    let all = comparison.runs.len() / seeds;
    let text = |held: Held| {
        let figures = if held.differs { format!("; figures of row {}", held.rows[0] + 1) } else { String::new() };
        paragraph(&format!(" ({}{figures})", rows(&held.rows, all)), &held.hint)
    };
    overload.into_iter().chain(of_all).chain(limits).chain(samples).take(MOST).map(text).collect()
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
fn of_columns(catalog: &Catalog, result: &Value, columns: &[Column]) -> Option<HintResult> {
    let percentile = |column: &'_ Column| {
        let [path] = &column.paths[..] else { return None };
        let (distribution, last) = path.rsplit_once('.')?;
        let (_, one_in) = *PERCENTILES.iter().find(|(name, _)| *name == last)?;
        let samples = field(result, distribution)?.get("count")?.as_u64()?;
        Some((samples, one_in))
    };
    let shown: Vec<Percentile<'_>> = columns
        .iter()
        .filter_map(|column| {
            percentile(column).map(|(samples, one_in)| Percentile { name: &column.name, samples, one_in })
        })
        .collect();
    few_samples(&length_key(catalog, result), &shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_ends_with_its_key() {
        let hint =
            HintResult { about: "link".into(), text: "The link was full.".into(), key: "device.link_rate".into() };
        let shown = paragraph("", &hint);
        assert!(shown.contains("hint: The link was full.") && shown.contains("explain device.link_rate"), "{shown}");
    }
}
