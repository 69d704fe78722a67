//! The commands, one file per command.

pub mod cache;
pub mod compare;
pub mod generate;
pub mod help;
pub mod install;
pub mod probe;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod trace;

use flashloom::experiment::config::Experiment;
use flashloom::experiment::run::Prepared;
use flashloom::units::visible_json;
use serde_json::Value;

use crate::figures::rows;
use crate::output::say;

/// Formats JSON for a file or a terminal: indented, with a newline at the end, and nothing hidden in it.
fn json_text(value: &impl serde::Serialize) -> String {
    let value: Value = serde_json::to_value(value).expect("results have text keys and finite numbers");
    visible_json(&format!("{value:#}\n")).into_owned()
}

/// Reports on standard error the lines that `skip_bad_lines` left out of recordings.
fn report_skipped(prepared: &Prepared<'_>) {
    for (path, skipped) in prepared.skipped() {
        trace::report_skipped(path, skipped);
    }
}

/// Reports on standard error the keys that were given and have no effect.
fn report_unused(experiment: &Experiment) {
    report_unused_of(experiment, &[""]);
}

/// [`report_unused`] for the keys of some sections alone.
fn report_unused_of(experiment: &Experiment, sections: &[&str]) {
    let all = experiment.variants.len() / experiment.repetitions();
    let is_of = |path: &String| sections.iter().any(|section| path.trim_start_matches('[').starts_with(section));
    for unused in experiment.unused().iter().filter(|unused| unused.keys.iter().any(is_of)) {
        say(format_args!("note: {}", unused.sentence(|chosen| rows(chosen, all))));
    }
}
