//! The commands, one file per command.

#[cfg(not(feature = "full"))]
pub mod absent;
pub mod cache;
pub mod compare;
#[cfg(feature = "study")]
pub mod fit;
pub mod generate;
pub mod help;
#[cfg(feature = "install")]
pub mod install;
mod kept;
#[cfg(feature = "study")]
pub mod probe;
#[cfg(feature = "export")]
pub mod report;
#[cfg(feature = "study")]
pub mod reproduce;
pub mod run;
#[cfg(feature = "live")]
pub mod serve;
pub mod trace;
#[cfg(feature = "study")]
pub mod validate;

use flashloom::config::Experiment;
use flashloom::figures::result::RunResult;
use flashloom::run::Prepared;
use flashloom::units::visible_json;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::Value;

use crate::figures::rows;
use crate::output::{Stop, failed, say};

/// Formats JSON for a file or a terminal: indented, with a newline at the end, and nothing hidden in it.
fn json_text(value: &impl serde::Serialize) -> String {
    let value: Value = serde_json::to_value(value).expect("results have text keys and finite numbers");
    visible_json(&format!("{value:#}\n")).into_owned()
}

/// Fails if the drive's life ended and the experiment does not expect it.
fn lived(experiment: &Experiment, result: &RunResult) -> Result<(), Stop> {
    let end = result.end_of_life.as_ref().filter(|_| !experiment.expects_end_of_life);
    end.map_or(Ok(()), |end| Err(failed(end.words())))
}

/// Makes the threads for parallel runs: `jobs` of them, or without a number one for each processor.
fn pool(jobs: Option<u16>) -> Result<ThreadPool, Stop> {
    let pool = ThreadPoolBuilder::new().num_threads(jobs.map_or(0, usize::from)).build();
    pool.map_err(|error| failed(format_args!("the threads cannot be started: {error}")))
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

/// Says on standard error how much memory the runs take, if that is more than half of the machine's.
fn report_memory(expected_bytes: u64) {
    if let Some(note) = memory_bytes().and_then(|machine| memory_note(expected_bytes, machine)) {
        say(note);
    }
}

fn memory_note(expected_bytes: u64, machine_bytes: u64) -> Option<String> {
    let [expected, machine] = [expected_bytes, machine_bytes].map(|bytes| bytes as f64 / 1e9);
    (expected_bytes > machine_bytes / 2).then(|| {
        format!(
            "note: this takes up to {expected:.1} GB of memory, more than half of the {machine:.1} GB of this machine; \
             a drive of fewer blocks (`device.blocks`) takes less, and so do fewer runs at once (`compare --jobs`)"
        )
    })
}

/// Memory of the machine, if the system tells it.
fn memory_bytes() -> Option<u64> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_of_the_memory_is_announced() {
        assert_eq!(memory_note(8_000_000_000, 16_000_000_000), None);
        let note = memory_note(8_000_000_001, 16_000_000_000).expect("it is more than half");
        assert!(note.contains("up to 8.0 GB") && note.contains("the 16.0 GB"), "{note}");
    }
}
