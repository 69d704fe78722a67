//! Results as text: the bytes that the program writes, and the tables that it prints.

use flashloom::config::Catalog;
use flashloom::figures::result::{Comparison, RunResult, parse, schema_of};
use flashloom::report::text::{Part, Table, columns, comparison, hints, missing_bounds, summary};
use flashloom::study::fit::FitResult;
use flashloom::study::validate::ValidationResult;
use flashloom::study::{fit, validate};
use flashloom::units::{Problem, Problems, visible_json, visible_line};
use serde::Serialize;

/// JSON as `--json` writes it.
pub(crate) fn json(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("results have text keys and finite numbers");
    visible_json(&format!("{value:#}\n")).into_owned()
}

/// A table of a text: headings, the number of columns of names, and the rows.
type TableParts = (Vec<String>, usize, Vec<Vec<String>>);

/// A part of a text: as it is printed and, if it is a table, its cells.
pub(crate) type TextParts = Vec<(String, Option<TableParts>)>;

/// The result of a run, as `flashloom run` prints it but for what it cost: equal results are printed alike.
pub(crate) fn of_result(json: &str) -> Result<TextParts, Problems> {
    let result: RunResult = read(json)?;
    Ok(shown(summary(&Catalog::builtin(), &RunResult { run: None, ..result })))
}

/// A comparison, as `flashloom compare --columns` prints it: the usual columns without any names.
pub(crate) fn of_comparison(catalog: &Catalog, json: &str, names: &[String]) -> Result<TextParts, Problems> {
    let compared: Comparison = read(json)?;
    let keys = compared.runs.first().into_iter().flat_map(|run| run.vary.keys().map(String::as_str));
    let has_bounds = compared.runs.iter().any(|run| run.result.bounds.is_some());
    let columns = columns::chosen(catalog, names, keys, has_bounds)?;
    let below = missing_bounds(&compared) + &hints(catalog, &compared, &columns);
    let below = (!below.is_empty()).then_some(Part::Lines(below));
    Ok(shown(comparison(&compared, &columns).into_iter().chain(below)))
}

/// A validation or a fit, as the program prints it.
pub(crate) fn of_measured(json: &str) -> Result<TextParts, Problems> {
    Ok(shown(match read(json)? {
        Measured::Fit(result) => fit::text(&result),
        Measured::Validation(result) => validate::text(&result),
    }))
}

/// A result of either kind, which have no field in common but the first.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Measured {
    Fit(Box<FitResult>),
    Validation(ValidationResult),
}

fn read<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, Problems> {
    let read = schema_of(json.as_bytes()).and_then(|_| parse(json.as_bytes()));
    read.map_err(|unread| Problem::file("<result>", unread.to_string(), "a result that this version wrote").into())
}

fn shown(parts: impl IntoIterator<Item = Part>) -> TextParts {
    let of = |part: Part| match part {
        Part::Lines(_) => (part.to_string(), None),
        Part::Table(table) => {
            let text = table.to_string();
            let Table { header, names, rows } = table;
            let shown = |cells: Vec<String>| cells.iter().map(|cell| visible_line(cell).into_owned()).collect();
            (text, Some((shown(header), names, rows.into_iter().map(shown).collect())))
        }
    };
    parts.into_iter().map(of).collect()
}
