//! Reports as CSV, for plotting.

use std::collections::BTreeSet;

use flashloom_figures::formula::Run;
use flashloom_figures::result::field;
use flashloom_report::csv::{cell, flatten, table};

use super::published::Null;
use super::row::Report;

/// Returns a line for each run with the given fields of its result. Each run comes with the name of its experiment, its
/// arm and its seed; arm 0 is the experiment as it is, and arm `n` has null `n - 1` in the place of the policy.
pub(crate) fn runs<'a>(
    runs: impl Iterator<Item = (&'a str, usize, u64, &'a Run)>,
    fields: &BTreeSet<&str>,
    nulls: &[&Null],
) -> String {
    table(runs.map(|(experiment, arm, seed, run)| {
        let null = arm.checked_sub(1).map_or(String::new(), |null| nulls[null].policy.clone());
        let mut record = vec![
            ("experiment".to_owned(), experiment.to_owned()),
            ("null".to_owned(), null),
            ("seed".to_owned(), seed.to_string()),
        ];
        record.extend(run.vary.iter().map(|(key, value)| (key.clone(), cell(value))));
        for path in fields {
            record.push(((*path).to_owned(), field(&run.result, path).map(cell).unwrap_or_default()));
        }
        record
    }))
}

/// Returns a line for each row of the report.
pub fn report(report: &Report) -> String {
    table(report.rows.iter().map(|row| {
        let value = serde_json::to_value(row).expect("reports have text keys and finite numbers");
        let mut fields = Vec::new();
        for (name, value) in value.as_object().into_iter().flatten() {
            flatten(name, value, &mut fields);
        }
        fields
    }))
}
