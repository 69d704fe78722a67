//! Results as CSV, for plotting.

use std::collections::BTreeMap;

use flashloom_figures::result::{ComparedRun, Comparison, RepeatedFigure};
use serde_json::Value;

/// Returns every figure of every run: a line a run, the varied keys first, a column for each field that any result has.
///
/// With several seeds, up to four lines for each combination of varied keys follow: the means, half the widths of
/// their intervals, the differences to the first combination and half the widths of theirs. The first column, `row`,
/// then names the kind of line.
pub fn comparison(comparison: &Comparison) -> String {
    if comparison.repeated.is_empty() {
        return table(comparison.runs.iter().map(figures));
    }
    let row = |name: &str| ("row".to_owned(), name.to_owned());
    let runs = comparison.runs.iter().map(|run| std::iter::once(row("run")).chain(figures(run)).collect());
    let lines = comparison.repeated.iter().flat_map(|repeated| {
        OVER_SEEDS.iter().filter_map(move |(name, value)| {
            let figures = repeated
                .figures
                .iter()
                .filter_map(|(path, figure)| Some((path.clone(), cell(&Value::from(value(figure)?)))));
            let figures: Vec<_> = figures.collect();
            let keys = repeated.vary.iter().map(|(key, value)| (key.clone(), cell(value)));
            (!figures.is_empty()).then(|| std::iter::once(row(name)).chain(keys).chain(figures).collect())
        })
    });
    table(runs.chain(lines))
}

/// One of the lines for a combination over several seeds: its name, and its value of each figure.
type OverSeeds = (&'static str, fn(&RepeatedFigure) -> Option<f64>);
const OVER_SEEDS: [OverSeeds; 4] = [
    ("mean", |figure| Some(figure.mean)),
    ("half_width", |figure| Some(figure.half_width)),
    ("difference", |figure| figure.difference),
    ("difference_half_width", |figure| figure.difference_half_width),
];

fn figures(run: &ComparedRun) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = run.vary.iter().map(|(key, value)| (key.clone(), cell(value))).collect();
    let result = serde_json::to_value(&run.result).expect("results have text keys and finite numbers");
    for (part, value) in result.as_object().into_iter().flatten() {
        // The configuration is what varies, and what a run cost differs from one time to the next.
        if !["schema", "config", "run"].contains(&part.as_str()) {
            flatten(part, value, &mut fields);
        }
    }
    fields
}

/// Returns a line for each record, and a column for each name, in the order in which they first occur.
pub fn table(records: impl Iterator<Item = Vec<(String, String)>>) -> String {
    let mut columns: Vec<String> = Vec::new();
    let mut lines: Vec<BTreeMap<String, String>> = Vec::new();
    for fields in records {
        for (name, _) in &fields {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        lines.push(fields.into_iter().collect());
    }
    let line = |fields: Vec<String>| fields.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(",") + "\n";
    let mut text = line(columns.clone());
    for fields in &lines {
        text.push_str(&line(columns.iter().map(|column| fields.get(column).cloned().unwrap_or_default()).collect()));
    }
    text
}

/// Adds the fields of a value, each with its path.
pub fn flatten(path: &str, value: &Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(name, value)| flatten(&format!("{path}.{name}"), value, fields));
        }
        other => fields.push((path.to_owned(), cell(other))),
    }
}

/// A value without the quotes of JSON; empty for null.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A field of CSV, quoted where RFC 4180 requires it.
fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_csv_are_quoted_where_they_must_be() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("plain"), "plain");
    }

    #[test]
    fn a_record_without_a_column_leaves_its_field_empty() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let records = [vec![field("a", "1")], vec![field("b", "2")]];
        assert_eq!(table(records.into_iter()), "a,b\n1,\n,2\n");
    }
}
