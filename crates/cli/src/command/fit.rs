//! `flashloom fit`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use flashloom::experiment::config::Catalog;
use flashloom::experiment::fit::{Fit, FitOptions, fitted_preset};
use flashloom::report::text::{fit as text_of, whole};
use rayon::ThreadPoolBuilder;

use super::json_text;
use crate::arguments::FitArguments;
use crate::figures::count;
use crate::output::{OutputFile, Stop, keep_apart, print, say};
use crate::progress::Bar;

/// Fits a drive to measurements of a real one.
pub fn fit(catalog: &Arc<Catalog>, arguments: &FitArguments) -> Result<(), Stop> {
    let FitArguments { inputs, start, output, vary, set, hold_out, requests, restarts, seed, journal, jobs, json } =
        arguments;
    let options = FitOptions {
        inputs,
        start,
        sets: set,
        varies: vary,
        hold_out: *hold_out,
        requests: *requests,
        restarts: *restarts,
        seed: *seed,
    };
    let fit = Fit::load(catalog, &options)?;
    let beside = format!("{output}.journal");
    let kept = journal.as_deref().unwrap_or(&beside);
    keep_apart(&fit.inputs(), &[Some(output), json.as_deref(), Some(kept)])?;
    let to_stdout = json.as_deref() == Some("-");
    let json = OutputFile::optional(json.as_deref().filter(|_| !to_stdout))?;
    let file = OutputFile::create(output)?;
    let pool = ThreadPoolBuilder::new().num_threads(jobs.map_or(0, usize::from)).build();
    let pool = pool.map_err(|error| Stop::Failed(format!("error: the threads cannot be started: {error}")))?;
    let opened = fit.open_journal(Path::new(kept))?;
    if opened.taken() > 0 {
        say(format_args!("note: {} simulations are taken from {kept}", count(opened.taken() as u64)));
    }
    let bar = Bar::counting();
    let result = pool.install(|| fit.run(opened, &bar));
    bar.clear();
    let result = result?;
    let preset = fitted_preset(&result, &fit.fitted(&result)?);
    file.commit(preset)?;
    if let Some(json) = json {
        json.commit(json_text(&result))?;
    }
    if journal.is_none() {
        let removed = fs::remove_file(&beside);
        removed.map_err(|error| Stop::Failed(format!("error: {beside} cannot be removed: {error}")))?;
    }
    print(&if to_stdout { json_text(&result) } else { whole(&text_of(&result)) })
}
