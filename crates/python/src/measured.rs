//! Models beside measurements of real drives: validations and fits, as jobs.
//!
//! ```text
//! this process     LoadedFit.run_elsewhere: threads ask, each waits for its answer
//! Python           Questions.take -> an executor -> Questions.answer
//! workers          LoadedFit.simulate, of a fit with the same fingerprint
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flashloom::config::Source;
use flashloom::run::{Failure, Progress};
use flashloom::study::fit::{self, Fit, FitOptions, HoldOut, Journal, Question, Simulator, fitted_preset, start_of};
use flashloom::study::validate::Validation;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::Fault;
use crate::experiment::pool;
use crate::job::{Answer, BackgroundJob, Counts, answer};
use crate::locked;
use crate::policy::{self, Raised};
use crate::text::json;

/// An experiment: its name, its text, and the folder that its paths start from.
type Text = (String, String, PathBuf);

fn source((name, text, folder): Text) -> Source {
    Source { name, text, folder }
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
        Ok(answer(json(&result)))
    })
}

/// A fit whose inputs have been checked. Other processes have the same, and answer its questions.
#[pyclass(frozen, module = "flashloom._flashloom")]
pub(crate) struct LoadedFit {
    fit: Arc<Fit>,
    start: Source,
    /// Hash of this library's file.
    library: String,
}

/// Loads a fit. The start is an experiment or, without one, the preset or the file that `start` names.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Called from one place in Python, by name.")]
pub(crate) fn load_fit(
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
    library: String,
) -> PyResult<BackgroundJob> {
    let hold_out = HoldOut::named(hold_out).unwrap_or(HoldOut::None);
    let policies = policy::catalog(&[])?;
    BackgroundJob::spawn(policies.raised, move |_| {
        let start = match experiment {
            Some(experiment) => source(experiment),
            None => start_of(&start).map_err(|problem| Fault::Config(problem.into()))?,
        };
        let (inputs, sets, varies) = (&inputs[..], &sets[..], &varies[..]);
        let options = FitOptions { inputs, start: &start, sets, varies, hold_out, requests, slices, restarts, seed };
        let fit = pool(&Raised::default(), 1)?.install(|| Fit::load(&policies.catalog, &options));
        let fit = Arc::new(fit.map_err(|problems| Fault::of_experiment(&start.name, problems))?);
        Ok(answer(LoadedFit { fit, start, library }))
    })
}

#[pymethods]
impl LoadedFit {
    /// The experiment that it starts from: its name, its text, and the folder that its paths start from.
    fn start(&self) -> Text {
        let Source { name, text, folder } = self.start.clone();
        (name, text, folder)
    }

    /// The saved drive that it begins with.
    fn saved_drive(&self) -> Option<PathBuf> {
        self.fit.saved_drive()
    }

    /// Hash of what all simulations depend on: equal fits answer each other's questions.
    fn fingerprint(&self) -> String {
        self.fit.fingerprint(&self.library)
    }

    /// Fits in so many threads: the result as JSON, and the file of the drive.
    fn run(&self, journal: Option<String>, jobs: usize) -> PyResult<BackgroundJob> {
        let (fit, library) = (Arc::clone(&self.fit), self.library.clone());
        BackgroundJob::spawn(Raised::default(), move |counts| {
            let journal = opened(&fit, journal.as_deref(), &library)?;
            pool(&Raised::default(), jobs)?.install(|| fitted(&fit, &*fit, journal, counts))
        })
    }

    /// Fits with simulations that others make, so many at a time: they take the questions, and answer them.
    fn run_elsewhere(&self, journal: Option<String>, in_flight: usize) -> PyResult<(BackgroundJob, Questions)> {
        let (fit, library) = (Arc::clone(&self.fit), self.library.clone());
        let (ask, asked) = channel();
        let job = BackgroundJob::spawn(Raised::default(), move |counts| {
            let journal = opened(&fit, journal.as_deref(), &library)?;
            pool(&Raised::default(), in_flight)?.install(|| fitted(&fit, &Elsewhere(ask), journal, counts))
        })?;
        Ok((job, Questions { asked: Mutex::new(Some(asked)), taken: Mutex::default() }))
    }

    /// Answers a question: JSON of both. The progress of the job says what it cost.
    fn simulate(&self, question: &str) -> PyResult<BackgroundJob> {
        let fit = Arc::clone(&self.fit);
        let question: Question =
            serde_json::from_str(question).map_err(|error| no_text_of_a_fit("question", &error))?;
        BackgroundJob::spawn(Raised::default(), move |counts| {
            let simulated = pool(&Raised::default(), 1)?.install(|| fit.simulate(&question, counts));
            Ok(answer(json(&simulated.map_err(Fault::Run)?)))
        })
    }
}

fn no_text_of_a_fit(what: &str, error: &serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("no {what} of a fit: {error}"))
}

/// The journal of a fit, in memory if no file is named.
fn opened(fit: &Fit, path: Option<&str>, library: &str) -> Result<Journal, Fault> {
    let Some(path) = path else { return Ok(Journal::in_memory()) };
    if fit.inputs().iter().any(|input| input == Path::new(path)) {
        return Err(Fault::Other(format!("the journal {path} is an input of the fit")));
    }
    fit.open_journal(Path::new(path), library).map_err(|problem| Fault::Input(problem.into()))
}

/// The answer of a job that fits.
fn fitted(fit: &Fit, simulator: &dyn Simulator, journal: Journal, counts: &Counts) -> Result<Answer, Fault> {
    let result = fit.run_on(simulator, journal, counts).map_err(Fault::Run)?;
    let drive = fit.fitted(&result).map_err(|problems| Fault::of_experiment(&result.start, problems))?;
    let preset = fitted_preset(&result, &drive);
    Ok(answer((json(&result), preset)))
}

/// A question on its way, with where its answer goes: that, and the requests and pages that it took.
type Asked = (Question, Sender<(fit::Answer, u64, u64)>);

/// Hands the questions of a fit to Python.
struct Elsewhere(Sender<Asked>);

impl Simulator for Elsewhere {
    fn simulate(&self, question: &Question, progress: &dyn Progress) -> Result<fit::Answer, Failure> {
        let (reply, replied) = channel();
        // Python that takes no more questions, or drops one, has given the fit up.
        self.0.send((question.clone(), reply)).map_err(|_| Failure::Interrupted)?;
        let (answer, requests, pages) = replied.recv().map_err(|_| Failure::Interrupted)?;
        progress.requests(requests);
        progress.ageing(pages);
        progress.run_ended();
        Ok(answer)
    }
}

/// Where answers go, by the numbers of the questions that were taken.
type Taken = BTreeMap<u64, Sender<(fit::Answer, u64, u64)>>;

/// Questions of a fit, until they are closed.
#[pyclass(frozen, module = "flashloom._flashloom")]
pub(crate) struct Questions {
    asked: Mutex<Option<Receiver<Asked>>>,
    /// Apart, so that answers do not wait for whoever waits for a question; with the next number.
    taken: Mutex<(Taken, u64)>,
}

#[pymethods]
impl Questions {
    /// The next question with its number; `None` if there is none within some seconds.
    fn take(&self, py: Python<'_>, seconds: f64) -> Option<(u64, String)> {
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| {
            let (question, reply) = locked(&self.asked).as_ref()?.recv_timeout(limit).ok()?;
            let (taken, next) = &mut *locked(&self.taken);
            let number = *next;
            *next += 1;
            taken.insert(number, reply);
            Some((number, json(&question)))
        })
    }

    /// Answers the question with a number, with the requests and pages that its simulation took.
    fn answer(&self, py: Python<'_>, number: u64, answer: &str, requests: u64, pages: u64) -> PyResult<()> {
        let answer = serde_json::from_str(answer).map_err(|error| no_text_of_a_fit("answer", &error))?;
        py.detach(|| {
            let reply = locked(&self.taken).0.remove(&number);
            // A fit that has ended takes no answer.
            let _ = reply.map(|reply| reply.send((answer, requests, pages)));
        });
        Ok(())
    }

    /// Gives the fit up, unless it has ended: whoever asks gets no answer.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            locked(&self.asked).take();
            locked(&self.taken).0.clear();
        });
    }
}
