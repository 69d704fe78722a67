//! The commands, one file each.

pub mod compare;
pub mod generate;
pub mod help;
pub mod probe;
pub mod reproduce;
pub mod run;
pub mod trace;

use flashloom::experiment::run::Prepared;
use serde_json::Value;

/// JSON as it is written to files: indented, with a newline at the end.
fn json_text(value: &impl serde::Serialize) -> String {
    let value: Value = serde_json::to_value(value).expect("results have text keys and finite numbers");
    format!("{value:#}\n")
}

/// Says on standard error what was left out of recordings, because `skip_bad_lines` asked for it.
fn report_skipped(prepared: &Prepared<'_>) {
    for (path, skipped) in prepared.skipped() {
        trace::report_skipped(path, skipped);
    }
}
