//! The commands, one file each.

pub mod compare;
pub mod generate;
pub mod help;
pub mod probe;
pub mod reproduce;
pub mod run;
pub mod trace;

use flashloom::experiment::config::Experiment;
use flashloom::experiment::run::Prepared;
use serde_json::Value;

use crate::figures::rows;
use crate::output::say;

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

/// Says on standard error which keys were given and have no effect.
fn report_unused(experiment: &Experiment) {
    report_unused_of(experiment, &[""]);
}

/// As [`report_unused`], of the keys of some sections alone.
fn report_unused_of(experiment: &Experiment, sections: &[&str]) {
    let all = experiment.variants.len() / experiment.repetitions();
    let is_of = |path: &String| sections.iter().any(|section| path.trim_start_matches('[').starts_with(section));
    for unused in experiment.unused().iter().filter(|unused| unused.keys.iter().any(is_of)) {
        say(format_args!("note: {}", unused.sentence(|chosen| rows(chosen, all))));
    }
}
