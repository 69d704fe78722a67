//! Workloads before their runs: their input is read to its end, so that no run stops in the middle of a bad file.

use std::sync::Arc;

use flashloom_units::{Problem, ProblemPlace, Problems, Refusal};
use flashloom_workload::workload::{JobFiles, Running, Unfit, Workload};
use flashloom_workload::{Footprint, Pace, Replayed, Request, TASK_IDS, TraceInfo, TraceOptions, scan_trace};
use rayon::prelude::*;

use crate::load::Load;
use flashloom_config::{Config, Experiment, Variant};

type Scan = Result<Arc<TraceInfo>, Problem>;

/// Reason why a run has no workload.
pub struct Flaw {
    /// The problems.
    pub problems: Vec<Problem>,
    /// True if values of the configuration do not fit together; false if a file is bad.
    pub is_unfit: bool,
}

impl Flaw {
    fn unfit(problem: Problem) -> Self {
        Self { problems: vec![problem], is_unfit: true }
    }
}

/// The load of every run with its input read: every recording once, in parallel.
pub fn read_each(experiment: &Experiment) -> Vec<Result<Load<'static>, Flaw>> {
    let job_files = JobFiles::default();
    let build = |config: &Config| {
        let workload = experiment.workload_sharing(config, &job_files);
        workload.map_err(|refusal| Flaw::unfit(refused(experiment, config, refusal)))
    };
    let build_each = |variant: &Variant| variant.config.each().map(build).collect::<Result<Vec<_>, Flaw>>();
    let built: Vec<_> = experiment.variants.iter().map(build_each).collect();
    let scans = scan_all(built.iter().flatten().flatten());
    let read = |config: &Config, mut workload: Box<dyn Workload>| {
        let unfit = match scan_of(&*workload, &scans) {
            Some(Err(problem)) => Some(Unfit::Input(problem.clone().into())),
            scan => {
                let scan = scan.and_then(|scan| scan.as_ref().ok());
                workload.read(scan).err().or_else(|| Some(missing_task_ids(config, &*workload)?.into()))
            }
        };
        match unfit {
            None => Ok(workload),
            Some(Unfit::Refused(refusal)) => Err(Flaw::unfit(refused(experiment, config, refusal))),
            Some(Unfit::Input(Problems(found))) => {
                let problems = found.into_iter().map(|problem| at_the_path(experiment, config, problem)).collect();
                Err(Flaw { problems, is_unfit: false })
            }
        }
    };
    let read_each = experiment.variants.iter().zip(built).map(|(variant, built)| {
        let read = variant.config.each().zip(built?).map(|(config, workload)| read(config, workload));
        read.collect::<Result<Vec<_>, Flaw>>().map(Load::new)
    });
    read_each.collect()
}

/// Indices of the runs whose values do not fit together; empty if something else is wrong with any run, or all are
/// unfit.
pub fn unfit(read: &[Result<Load<'_>, Flaw>]) -> Vec<usize> {
    let is_fine = |read: &Result<_, Flaw>| read.as_ref().map_or_else(|flaw| flaw.is_unfit, |_| true);
    if !read.iter().all(is_fine) || read.iter().all(Result::is_err) {
        return Vec::new();
    }
    read.iter().enumerate().filter(|(_, read)| read.is_err()).map(|(index, _)| index).collect()
}

/// All loads, if none has a flaw.
///
/// # Errors
/// Every problem of their inputs, or between inputs and configuration.
pub fn all(read: Vec<Result<Load<'static>, Flaw>>) -> Result<Vec<Load<'static>>, Problems> {
    let (mut problems, mut workloads) = (Problems::default(), Vec::with_capacity(read.len()));
    for read in read {
        match read {
            Ok(workload) => workloads.push(workload),
            Err(flaw) => flaw.problems.into_iter().for_each(|problem| problems.add(problem)),
        }
    }
    problems.or(workloads)
}

/// Summary of each recording, by its path and reading options.
fn scan_all<'a>(workloads: impl Iterator<Item = &'a Box<dyn Workload>>) -> Vec<((String, TraceOptions), Scan)> {
    let mut distinct: Vec<(String, TraceOptions)> = Vec::new();
    for (path, options) in workloads.filter_map(|workload| workload.recording()) {
        if !distinct.iter().any(|(known, read)| *known == path && *read == options) {
            distinct.push((path.to_owned(), options));
        }
    }
    let scan = |(path, options): (String, TraceOptions)| {
        let scan = scan_trace(&path, &options, Footprint::Skip).map(Arc::new);
        ((path, options), scan)
    };
    distinct.into_par_iter().map(scan).collect()
}

fn scan_of<'s>(workload: &dyn Workload, scans: &'s [((String, TraceOptions), Scan)]) -> Option<&'s Scan> {
    let (path, options) = workload.recording()?;
    let found = scans.iter().find(|((known, read), _)| *known == path && *read == options);
    Some(&found.expect("every recording was scanned above").1)
}

fn refused(experiment: &Experiment, config: &Config, refusal: Refusal) -> Problem {
    experiment.problem(config, refusal.or_at("workload.kind"))
}

/// Points a problem of a file as a whole at the place where the configuration names it.
fn at_the_path(experiment: &Experiment, config: &Config, problem: Problem) -> Problem {
    if problem.place != ProblemPlace::File {
        return problem;
    }
    experiment.problem(config, problem.into_refusal().at(["workload.path"]))
}

/// Refusal that names the first policy that needs task ids, if the requests carry none.
fn missing_task_ids(config: &Config, workload: &dyn Workload) -> Option<Refusal> {
    if workload.has_task_ids() {
        return None;
    }
    let (key, policy) = config.policies().find(|(_, policy)| policy.needs.contains(&TASK_IDS))?;
    let key = key.path();
    let source = workload.recording().map_or(config.workload.kind, |(path, _)| path);
    let expected = format!("{}; those of `{source}` do not", TASK_IDS.in_words());
    Some(Refusal::new(format!("`{key}` = \"{}\"", policy.name), expected).at([key]))
}

/// Requests that another run issued, as a workload.
pub struct Issued<'a> {
    /// The requests, in their order.
    pub requests: &'a [Request],
    /// Number of requests outstanding at once.
    pub queue_depth: u32,
}

impl Workload for Issued<'_> {
    fn expected_requests(&self) -> u64 {
        self.requests.len() as u64
    }

    fn has_task_ids(&self) -> bool {
        self.requests.iter().any(|request| request.task > 0)
    }

    fn start(&self) -> Result<Box<dyn Running + '_>, Problems> {
        Ok(Box::new(Replayed::new(self.requests, Pace::Closed(self.queue_depth))))
    }
}
