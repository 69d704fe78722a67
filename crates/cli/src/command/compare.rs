//! `flashloom compare`.

mod ended;

use std::num::NonZeroU32;
use std::sync::Arc;

use flashloom::config::{Catalog, Experiment, Sweep};
use flashloom::figures::result::Comparison;
use flashloom::report::csv;
use flashloom::report::text::{columns, comparison, hints, missing_bounds, whole};
use flashloom::run::Prepared;

use super::kept::Kept;
use super::{json_text, pool, report_memory, report_skipped, report_unused};
use crate::arguments::CompareArguments;
use crate::cache;
use crate::output::{OutputFile, Stop, all, commit, failed, keep_apart, print, say};
use crate::progress::Bar;
use ended::Ended;

/// Runs every combination and shows the results side by side.
pub fn compare(catalog: &Arc<Catalog>, arguments: &CompareArguments) -> Result<(), Stop> {
    let mut experiment = load(catalog, arguments)?;
    if arguments.no_expect {
        experiment.expectations.clear();
        experiment.expects_end_of_life = false;
    }
    let paths: Vec<String> = experiment.axes.iter().map(|axis| axis.path()).collect();
    let keys: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut columns = columns::chosen(catalog, &arguments.columns, keys.iter().copied(), arguments.bounds)?;
    let to_stdout = arguments.json.as_deref() == Some("-");
    let pool = pool(arguments.jobs)?;
    let cache = cache::of_user(arguments.no_cache)?;
    let combinations = experiment.variants.len() / experiment.repetitions();
    let prepared = pool
        .install(|| match arguments.skip_unfit {
            true => Prepared::fitting(&mut experiment),
            false => Prepared::or_unfit(&experiment).map_err(|(problems, unfit)| {
                suggest_skipping(unfit, combinations);
                problems
            }),
        })?
        .with_cache(cache)
        .with_bounds(arguments.bounds);
    let experiment = prepared.experiment();
    let out = arguments.out.as_deref();
    let kept = out.map(|out| Kept::open(out, &prepared, arguments.verify, &|_| None)).transpose()?;
    keep_apart(&[], &[arguments.json.as_deref(), arguments.csv.as_deref()])?;
    // After the folder of `--out` exists, because an output may lie in it.
    let json = OutputFile::optional(arguments.json.as_deref().filter(|_| !to_stdout))?;
    let csv_file = OutputFile::optional(arguments.csv.as_deref())?;
    report_skipped(&prepared);
    report_unused(experiment);

    let is_to_run = |index: usize| kept.as_ref().is_none_or(|kept| !kept.has(index));
    let (runs, had) = (experiment.variants.len(), kept.as_ref().map_or(0, Kept::count));
    if had > 0 {
        say(format_args!("note: {had} of {runs} results are in {} already", out.unwrap_or_default()));
    }
    report_memory(prepared.expected_memory_bytes(arguments.verify, pool.current_num_threads(), &is_to_run));
    let requests = (0..runs).filter(|&index| is_to_run(index)).map(|index| prepared.expected_requests(index)).sum();
    let pages = prepared.expected_ageing(arguments.verify, &is_to_run);
    let bar = Bar::with_ageing(requests, pages, (runs - had) as u64).unless(arguments.quiet);
    let keeper = Ended::new(kept.as_ref(), &bar, &columns, runs - had, arguments.quiet);
    let compare = |bar: &Bar| pool.install(|| prepared.compare_keeping(arguments.verify, bar, &keeper));
    let mut compared = bar.over(compare)?;
    if arguments.no_hints {
        compared.hints.clear();
        compared.runs.iter_mut().for_each(|run| run.result.hints.clear());
    }
    if arguments.statistics {
        columns.extend(columns::statistics(catalog, &compared, &keys));
    }
    all([
        commit(csv_file, || csv::comparison(&compared)),
        commit(json, || json_text(&compared)),
        print(&if to_stdout { json_text(&compared) } else { whole(&comparison(&compared, &columns)) }),
    ])?;
    missing_bounds(&compared).lines().for_each(say);
    if !to_stdout && !arguments.no_hints {
        hints(catalog, &compared, &columns).lines().for_each(say);
    }
    judged(experiment, &compared)
}

/// Loads the experiment. If it is refused because some of its combinations cannot work, `--skip-unfit` is suggested
/// too.
fn load(catalog: &Arc<Catalog>, arguments: &CompareArguments) -> Result<Experiment, Stop> {
    let seeds = arguments.seeds.and_then(NonZeroU32::new);
    let sweep = Sweep { sets: &arguments.set, varies: &arguments.vary, skip_unfit: arguments.skip_unfit, seeds };
    let path = &arguments.experiment;
    let refused = match Experiment::load_comparison(catalog, path, &sweep) {
        Ok(experiment) => return Ok(experiment),
        Err(problems) => problems,
    };
    if let Ok(fitting) = Experiment::load_comparison(catalog, path, &Sweep { skip_unfit: true, ..sweep }) {
        let (unfit, fit) = (fitting.unfit.len(), fitting.variants.len() / fitting.repetitions());
        suggest_skipping(unfit, unfit + fit);
    }
    Err(refused.into())
}

/// Suggests `--skip-unfit` if some combinations cannot work and others can.
fn suggest_skipping(unfit: usize, all: usize) {
    if unfit > 0 {
        let (plural, them) = if unfit == 1 { ("does", "it") } else { ("do", "them") };
        say(format_args!(
            "note: {unfit} of {all} combinations {plural} not go together, as below; --skip-unfit leaves {them} out \
             and lists {them}\n"
        ));
    }
}

/// Fails if a drive's life ended unexpectedly or an expectation does not hold.
fn judged(experiment: &Experiment, comparison: &Comparison) -> Result<(), Stop> {
    let ended = comparison.runs.iter().filter(|run| run.result.end_of_life.is_some()).count();
    if ended > 0 && !experiment.expects_end_of_life {
        let runs = comparison.runs.len();
        return Err(failed(format_args!(
            "the drive's life ended in {ended} of {runs} runs, because too many blocks failed"
        )));
    }
    let all = comparison.expectations.len();
    match comparison.expectations.iter().filter(|expected| !expected.holds).count() {
        0 => Ok(()),
        broken => Err(failed(format_args!("{broken} of {all} expectations do not hold"))),
    }
}
