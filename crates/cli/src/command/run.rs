//! `flashloom run`.

mod watchers;

use std::sync::Arc;

use flashloom::config::{Catalog, Experiment};
use flashloom::report::text::{summary, whole};
use flashloom::run::{Finished, Prepared, Quiet};
use flashloom::units::Problem;

use super::{json_text, lived, report_memory, report_skipped, report_unused};
use crate::arguments::RunArguments;
use crate::cache;
use crate::output::{OutputFile, Stop, all, commit, failed, keep_apart, print, say};
use crate::progress::Bar;
use watchers::Watchers;

/// Runs one experiment and prints its result.
pub fn run(catalog: &Arc<Catalog>, arguments: &RunArguments) -> Result<(), Stop> {
    let experiment = Experiment::load_run(catalog, &arguments.experiment, &arguments.set)?;
    let to_stdout = arguments.json.as_deref() == Some("-");
    let json = OutputFile::optional(arguments.json.as_deref().filter(|_| !to_stdout))?;
    let mut watchers = Watchers::new(&experiment, arguments)?;
    let fio_json = OutputFile::optional(arguments.fio_json.as_deref())?;
    let state_file = OutputFile::optional(arguments.save_state.as_deref())?;
    let cache = cache::of_user(arguments.no_cache)?;
    let mut prepared = Prepared::new(&experiment)?.with_cache(cache);
    let RunArguments { json: to_json, timeline, log, perfetto, fio_json: to_fio, save_state, .. } = arguments;
    keep_apart(&[], &[to_json, timeline, log, perfetto, to_fio, save_state].map(Option::as_deref))?;
    if fio_json.is_some() && !prepared.runs_fio() {
        let expected = "`kind` = \"fio\" in [workload]";
        return Err(Problem::file("--fio-json", "the workload is not a fio job file", expected).into());
    }
    report_skipped(&prepared);
    report_unused(&experiment);
    for axis in &experiment.left_out {
        let path = axis.key.path();
        say(format_args!("note: [vary] lists values of `{path}`; `flashloom compare` runs them all"));
    }
    report_memory(prepared.expected_memory_bytes(arguments.verify, 1, &|_| true));
    if let Some(file) = state_file {
        let drive = prepared.age(arguments.verify, &Quiet)?.to_file();
        file.commit(drive.map_err(|error| failed(format_args!("the drive cannot be saved: {error}")))?)?;
    }
    let bar = Bar::new(prepared.total_requests(), 1).unless(arguments.quiet);
    let finished = bar.over(|bar| prepared.run(arguments.verify, bar, &mut watchers.observers()));
    let Finished { mut result, fio_json: fio_result, .. } = finished?;
    if arguments.no_hints {
        result.hints.clear();
    }
    let story = watchers.story();
    let watched = watchers.commit();
    let text = match &story {
        _ if to_stdout => json_text(&result),
        Some(story) => format!("{}\n{story}", whole(&summary(catalog, &result))),
        None => whole(&summary(catalog, &result)),
    };
    let written = all([
        commit(json, || json_text(&result)),
        fio_result.map_or(Ok(()), |result| commit(fio_json, || json_text(&result))),
        print(&text),
        watched,
    ]);
    story.iter().filter(|_| to_stdout).for_each(|story| say(story.trim_end()));
    written?;
    lived(&experiment, &result)
}
