//! Models beside measurements of real drives: validations and fits, as jobs.

use std::path::{Path, PathBuf};

use flashloom::experiment::config::Source;
use flashloom::experiment::fit::{Fit, FitOptions, HoldOut, Journal, fitted_preset, start_of};
use flashloom::experiment::validate::Validation;
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::Fault;
use crate::experiment::pool;
use crate::job::BackgroundJob;
use crate::policy;
use crate::text::json_text;

/// An experiment: its name, its text, and the folder that its paths start from.
type Text = (String, String, PathBuf);

fn source((name, text, folder): Text) -> Source {
    Source { name, text, folder }
}

fn json(result: &impl Serialize) -> String {
    json_text(&serde_json::to_value(result).expect("results have text keys and finite numbers"))
}

/// Holds the drive of an experiment against measurements: the result as JSON.
#[pyfunction]
pub(crate) fn validate(
    experiment: Text,
    sets: Vec<String>,
    policies: Vec<Bound<'_, PyAny>>,
    against: Vec<String>,
    requests: u64,
) -> PyResult<BackgroundJob> {
    let policies = policy::catalog(&policies)?;
    let raised = policies.raised.clone();
    BackgroundJob::spawn(policies.raised, move |counts| {
        let source = source(experiment);
        let name = source.name.clone();
        let result = pool(&raised, 1)?.install(|| {
            let refused = |problems| Fault::of_experiment(&name, problems);
            let all = Validation::load(&policies.catalog, &[source], &sets, &against, requests).map_err(refused)?;
            let ready = all.prepare().map_err(refused)?;
            counts.expect(ready.total_requests(), 0, all.experiments().count() as u64);
            ready.run(counts).map_err(Fault::Run)
        })?;
        Ok(Box::new(move |py| Ok(json(&result).into_pyobject(py)?.into_any().unbind())))
    })
}

/// Fits a drive: the result as JSON, and the file of the drive. The start is an experiment or, without one, the preset
/// or the file that `start` names.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Called from one place in Python, by name.")]
pub(crate) fn fit(
    inputs: Vec<String>,
    start: String,
    experiment: Option<Text>,
    sets: Vec<String>,
    varies: Vec<String>,
    hold_out: &str,
    requests: u64,
    slices: u64,
    restarts: u64,
    seed: u64,
    journal: Option<String>,
    jobs: usize,
) -> PyResult<BackgroundJob> {
    let policies = policy::catalog(&[])?;
    let raised = policies.raised.clone();
    let hold_out = HoldOut::ALL.into_iter().find(|rule| rule.name() == hold_out).unwrap_or(HoldOut::None);
    BackgroundJob::spawn(policies.raised, move |counts| {
        let source = match experiment {
            Some(experiment) => source(experiment),
            None => start_of(&start).map_err(|problem| Fault::Config(problem.into()))?,
        };
        let name = source.name.clone();
        let (inputs, sets, varies) = (&inputs[..], &sets[..], &varies[..]);
        let options = FitOptions { inputs, start: &source, sets, varies, hold_out, requests, slices, restarts, seed };
        let (result, preset) = pool(&raised, jobs)?.install(|| {
            let refused = |problems| Fault::of_experiment(&name, problems);
            let fit = Fit::load(&policies.catalog, &options).map_err(refused)?;
            let journal = match &journal {
                None => Journal::in_memory(),
                Some(path) => {
                    let is_input = fit.inputs().iter().any(|input| input == Path::new(path));
                    let opened = if is_input { None } else { Some(fit.open_journal(Path::new(path))) };
                    let refused = || Fault::Other(format!("the journal {path} is an input of the fit"));
                    opened.ok_or_else(refused)?.map_err(|problem| Fault::Input(problem.into()))?
                }
            };
            let result = fit.run(journal, counts).map_err(Fault::Run)?;
            let preset = fitted_preset(&result, &fit.fitted(&result).map_err(refused)?);
            Ok((result, preset))
        })?;
        Ok(Box::new(move |py| Ok((json(&result), preset).into_pyobject(py)?.into_any().unbind())))
    })
}
