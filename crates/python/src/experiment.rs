//! A loaded experiment: one configuration, or the runs of a comparison, to be run in jobs.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use flashloom::config::{self, Sweep};
use flashloom::device::{HostReport, Observer};
use flashloom::run::{Cache, DEFAULT_LIMIT_BYTES, Finished, Prepared, Store, check_seeds};
use flashloom::units::{Latency, Problems};
use flashloom_live::{Options, Session};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPool;

use crate::engine::Engine;
use crate::errors::Fault;
use crate::job::{Answer, BackgroundJob, Counts, answer, unharmed};
use crate::live::{self, LiveDrive};
use crate::policy::{self, Raised, threads};
use crate::rows::{Requests, Timeline, log_schema, timeline_schema};
use crate::stream::Stream;
use crate::text::json;

/// An experiment whose texts have been checked.
#[pyclass(frozen, module = "flashloom._flashloom")]
pub(crate) struct Loaded {
    experiment: Arc<config::Experiment>,
    raised: Raised,
}

/// Reads the text of a configuration file, and the folder that its paths start from. A job, because a pipe may keep its
/// reader waiting.
#[pyfunction]
pub(crate) fn read_source(path: String) -> PyResult<BackgroundJob> {
    BackgroundJob::spawn(Raised::default(), move |_| {
        let source = config::Source::read(&path).map_err(|problem| Fault::Config(problem.into()))?;
        Ok(answer((source.text, source.folder)))
    })
}

#[pymethods]
impl Loaded {
    /// A single run without `varies`, else a comparison.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Called from one place in Python, by name.")]
    fn new(
        py: Python<'_>,
        name: String,
        text: String,
        folder: PathBuf,
        sets: Vec<String>,
        varies: Option<Vec<String>>,
        seeds: Option<u32>,
        skip_unfit: bool,
        policies: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let policies = policy::catalog(&policies)?;
        let source = config::Source { name, text, folder };
        let load = || match &varies {
            None => config::Experiment::from_source(&policies.catalog, source, &sets, None),
            Some(varies) => {
                let sweep = Sweep { sets: &sets, varies, skip_unfit, seeds: seeds.and_then(NonZeroU32::new) };
                config::Experiment::comparison_from_source(&policies.catalog, source, &sweep)
            }
        };
        let experiment = py.detach(|| unharmed(|| load().map_err(Fault::Config)));
        // The check of a configuration makes an instance of its scheduler.
        let experiment = experiment.map_err(|fault| policies.raised.take().unwrap_or_else(|| fault.into()))?;
        Ok(Self { experiment: Arc::new(experiment), raised: policies.raised })
    }

    /// The effective configuration of the first run, as a file that reads back to it.
    fn to_toml(&self) -> String {
        self.experiment.variants[0].config.to_toml()
    }

    /// The effective configuration of the first run, as JSON.
    fn config(&self) -> String {
        self.experiment.variants[0].config.to_json().to_string()
    }

    /// The varied values of each run, as JSON.
    fn variants(&self) -> Vec<String> {
        let vary = |variant: &config::Variant| serde_json::Value::from(variant.vary_to_json()).to_string();
        self.experiment.variants.iter().map(vary).collect()
    }

    /// Keys that were written and have no effect, in a sentence each.
    fn notes(&self) -> Vec<String> {
        let named = |rows: &[usize]| match rows {
            [row] => format!("combination {row}"),
            rows => format!("{} combinations", rows.len()),
        };
        self.experiment.unused().iter().map(|unused| unused.sentence(named).replace("--set:", "set:")).collect()
    }

    /// Checks that that many seeds of the first variant can differ. Inputs that cannot be read are left to its run.
    fn check_seeds(&self, seeds: u32) -> PyResult<BackgroundJob> {
        let mut experiment = (*self.experiment).clone();
        experiment.seeds = NonZeroU32::new(seeds);
        BackgroundJob::spawn(self.raised.clone(), move |_| {
            let checked = pool(&Raised::default(), 1)?.install(|| check_seeds(&experiment));
            checked.map_err(|problems| Fault::of_experiment(&experiment.name, problems))?;
            Ok(Box::new(|py| Ok(py.None())))
        })
    }

    /// Runs the first variant; its aged drive is taken from a cache, or stored there: a folder, and the hash of this
    /// library's file.
    #[pyo3(signature = (verify, cache=None))]
    fn run(&self, verify: bool, cache: Option<(PathBuf, String)>) -> PyResult<BackgroundJob> {
        let experiment = Arc::clone(&self.experiment);
        BackgroundJob::spawn(self.raised.clone(), move |counts| {
            let cache = cache.map(cache_of).transpose()?;
            let prepared = prepared(&experiment, counts, verify)?.with_cache(cache);
            Ok(run_answer(prepared.run(verify, counts, &mut []).map_err(Fault::Run)?))
        })
    }

    /// The file of a cache that the first variant's aged drive is stored in, if it is one that is stored.
    fn aged_drive(&self, verify: bool, cache: (PathBuf, String)) -> Option<PathBuf> {
        let (folder, library) = cache;
        let cache = Cache::new(folder, DEFAULT_LIMIT_BYTES, |_| {}).of_program(library);
        cache.place(&self.experiment.variants[0].config, verify)
    }

    /// Runs the first variant, and passes a row for each request that ends.
    fn log(&self, verify: bool, rows: usize) -> PyResult<Stream> {
        let experiment = Arc::clone(&self.experiment);
        Stream::spawn(self.raised.clone(), log_schema(), rows.max(1), move |counts, outlet| {
            let mut log = Requests::of_log(outlet);
            let finished = observed(&experiment, counts, verify, &mut log)?;
            log.flush();
            Ok(run_answer(finished))
        })
    }

    /// Runs the first variant, and passes a row for each interval of its timeline.
    fn timeline(&self, verify: bool, rows: usize) -> PyResult<Stream> {
        let experiment = Arc::clone(&self.experiment);
        let has_cache = self.experiment.variants[0].config.has_slc_cache();
        Stream::spawn(self.raised.clone(), timeline_schema(has_cache), rows.max(1), move |counts, outlet| {
            let mut timeline = Timeline::new(outlet, has_cache);
            let finished = observed(&experiment, counts, verify, &mut timeline)?;
            timeline.flush();
            Ok(run_answer(finished))
        })
    }

    /// Runs every variant in `jobs` threads, as many as there are processors if that is 0.
    fn compare(&self, verify: bool, bounds: bool, jobs: usize, skip_unfit: bool) -> PyResult<BackgroundJob> {
        let (experiment, raised) = (Arc::clone(&self.experiment), self.raised.clone());
        BackgroundJob::spawn(self.raised.clone(), move |counts| {
            let mut experiment = (*experiment).clone();
            let name = experiment.name.clone();
            let pool = pool(&raised, jobs)?;
            let prepared = pool.install(|| match skip_unfit {
                true => Prepared::fitting(&mut experiment),
                false => Prepared::new(&experiment),
            });
            let prepared = prepared.map_err(|problems| Fault::of_experiment(&name, problems))?.with_bounds(bounds);
            let runs = prepared.experiment().variants.len();
            let requests = (0..runs).map(|index| prepared.expected_requests(index)).sum();
            counts.expect(requests, prepared.expected_ageing(verify, &|_| true), runs as u64);
            let comparison = pool.install(|| prepared.compare(verify, counts)).map_err(Fault::Run)?;
            Ok(answer(json(&comparison)))
        })
    }

    /// The engine of the first variant, its drive aged.
    fn engine(&self, verify: bool, bare: bool) -> PyResult<BackgroundJob> {
        let experiment = Arc::clone(&self.experiment);
        let raised = self.raised.clone();
        BackgroundJob::spawn(self.raised.clone(), move |counts| {
            let prepared = prepared(&experiment, counts, verify)?;
            let engine = if bare { prepared.bare_engine(0, verify) } else { prepared.engine(0, verify) };
            let config = experiment.variants[0].config.clone();
            Ok(answer(Engine::new(engine.map_err(Fault::Run)?, config, raised)))
        })
    }

    /// The drive of the first variant with data in it, aged; options as the plugin of nbdkit takes them.
    fn live(&self, options: Vec<(String, String)>) -> PyResult<BackgroundJob> {
        let experiment = Arc::clone(&self.experiment);
        let raised = self.raised.clone();
        BackgroundJob::spawn(self.raised.clone(), move |_| {
            let mut given = Options::default();
            options.iter().try_for_each(|(name, value)| given.set(name, value)).map_err(Fault::Other)?;
            let session = Session::of(&experiment, &given).map_err(|error| live::fault(&experiment.name, error))?;
            Ok(answer(LiveDrive::new(session, raised)))
        })
    }
}

/// A cache in a folder, for this library with its hash. Many runs use it at a time: nothing is told of each.
fn cache_of((folder, library): (PathBuf, String)) -> Result<Cache, Fault> {
    let limit_bytes = Store::limit_of_user().map_err(|problem| Fault::Config(problem.into()))?;
    Ok(Cache::new(folder, limit_bytes, |_| {}).of_program(library))
}

/// Removes the least recently used files of the cache in a folder until the others fit, and leftovers of processes that
/// were killed. `kept` stays. A folder that cannot be read keeps what it has.
#[pyfunction]
pub(crate) fn trim_cache(folder: PathBuf, kept: PathBuf) -> PyResult<()> {
    let limit_bytes = Store::limit_of_user().map_err(|problem| Fault::Config(problem.into()))?;
    let store = Store::new(folder, limit_bytes);
    if store.check().is_ok() {
        let _ = store.trim(Some(&kept));
    }
    Ok(())
}

/// Threads of a job's own: those of a process that was forked are not there.
pub(crate) fn pool(raised: &Raised, jobs: usize) -> Result<ThreadPool, Fault> {
    threads::pool(raised, jobs).map_err(|error| Fault::Other(format!("the threads cannot be started: {error}")))
}

/// The experiment with its inputs read.
fn prepared<'a>(experiment: &'a config::Experiment, counts: &Counts, verify: bool) -> Result<Prepared<'a>, Fault> {
    let of_experiment = |problems: Problems| Fault::of_experiment(&experiment.name, problems);
    let prepared = pool(&Raised::default(), 1)?.install(|| Prepared::new(experiment)).map_err(of_experiment)?;
    counts.expect(prepared.total_requests(), prepared.expected_ageing(verify, &|_| true), 1);
    Ok(prepared)
}

fn observed(
    experiment: &config::Experiment,
    counts: &Counts,
    verify: bool,
    observer: &mut dyn Observer,
) -> Result<Finished, Fault> {
    prepared(experiment, counts, verify)?.run(verify, counts, &mut [observer]).map_err(Fault::Run)
}

/// The answer of a run: its result as JSON, its distributions of latency by name, and fio's own output if it has one.
fn run_answer(finished: Finished) -> Answer {
    let (result, fio) = (json(&finished.result), finished.fio_json.as_ref().map(json));
    Box::new(move |py| (result, distributions(py, &finished.host), fio).into_py_any(py))
}

/// A distribution: lowest and highest latency and count of each bucket, as bytes of 64-bit integers; then the exact
/// count, mean, standard deviation, minimum and maximum.
type Parts<'py> = ([Bound<'py, PyBytes>; 3], u64, f64, f64, u64, u64);

/// The distributions by their names in `host.latency_ns`.
fn distributions<'py>(py: Python<'py>, host: &HostReport) -> Vec<(&'static str, Parts<'py>)> {
    let named = [
        ("read", &host.read_latency),
        ("write", &host.write_latency),
        ("fua_write", &host.fua_latency),
        ("preflush_write", &host.preflush_latency),
        ("flush", &host.flush_latency),
        ("discard", &host.discard_latency),
        ("all", &host.latency()),
        ("device", &host.device_latency),
    ];
    let parts = |latency: &Latency| {
        let bytes = |of: fn((u64, u64, u64)) -> u64| {
            let bytes: Vec<u8> = latency.buckets().flat_map(|bucket| of(bucket).to_ne_bytes()).collect();
            PyBytes::new(py, &bytes)
        };
        let columns = [bytes(|bucket| bucket.0), bytes(|bucket| bucket.1), bytes(|bucket| bucket.2)];
        (columns, latency.count(), latency.mean(), latency.stddev(), latency.min(), latency.max())
    };
    named.map(|(name, latency)| (name, parts(latency))).into()
}
