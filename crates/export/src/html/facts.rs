//! Sections on where a result comes from: what was checked, its hints, and the configuration.

use flashloom_figures::number::count;
use flashloom_figures::result::{InputResult, RunResult, plain};
use serde_json::Value;

use super::chart::{Table, head};
use super::section::{Part, Section};

/// The sections, in order.
pub(super) fn sections(result: &RunResult) -> Vec<Section> {
    vec![
        Section { id: "checks", title: "What was checked", parts: checks(result) },
        Section { id: "configuration", title: "Configuration", parts: vec![configuration(&result.config.to_json())] },
        Section { id: "origin", title: "Origin", parts: origin(result) },
    ]
}

/// What was checked of a run: its data, its commands, and what its figures can say.
pub(super) fn checks(result: &RunResult) -> Vec<Part> {
    let accounts =
        "The accounts of every run are held against each other: requests, merges, operations by origin, valid pages.";
    let mut parts = vec![Part::Text(accounts.to_owned())];
    parts.push(match (result.integrity.verified, result.integrity.sectors_checked) {
        (true, Some(sectors)) => Part::Text(format!(
            "Every flash command was held against the rules of NAND, and {} sectors against the data last written to \
             them (--verify).",
            count(sectors)
        )),
        _ => Part::Missing("Commands and data were not verified: run with --verify.".to_owned()),
    });
    if let Some(end) = &result.end_of_life {
        let unserved = count(end.unserved_requests);
        parts.push(Part::Text(format!("The drive's life ended: {unserved} requests were not served.")));
    }
    parts.extend(result.hints.iter().map(|hint| Part::Text(format!("Hint: {} (key {})", hint.text, hint.key))));
    parts
}

/// Every key of a configuration in effect, with its value.
pub(super) fn configuration(config: &Value) -> Part {
    let mut rows = Vec::new();
    flatten(config, "", &mut rows);
    Part::Table(Table { head: head("key", ["value"].into_iter()), rows })
}

fn flatten(value: &Value, path: &str, rows: &mut Vec<Vec<String>>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            flatten(member, &path, rows);
        }),
        other => rows.push(vec![path.to_owned(), plain(other)]),
    }
}

/// A value with four digits, to tell it from others.
pub(super) fn short(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if number.fract() != 0.0 => {
            let digits = (3 - number.abs().log10().floor() as i32).clamp(0, 12) as usize;
            format!("{number:.digits$}").trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => plain(value),
    }
}

/// Program, revision and files.
pub(super) fn origin(result: &RunResult) -> Vec<Part> {
    let Some(provenance) = &result.provenance else {
        return vec![Part::Missing("No origin: the drive was driven by hand.".to_owned())];
    };
    let program = [
        ("flashloom".to_owned(), provenance.version.clone()),
        ("revision".to_owned(), provenance.revision.clone()),
        ("configuration (SHA-256)".to_owned(), provenance.config_sha256.clone()),
    ];
    let files = provenance.inputs.iter().map(|InputResult { role, name, bytes, sha256 }| {
        (format!("{role}: {name}"), format!("{} bytes, SHA-256 {sha256}", count(*bytes)))
    });
    vec![Part::Table(Table::pairs(program.into_iter().chain(files)))]
}
