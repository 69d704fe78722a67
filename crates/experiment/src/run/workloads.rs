//! Workloads before their runs: what they read is read to its end, so that no run stops in the middle of a bad file.

use std::sync::Arc;

use flashloom_units::{Capability, Place, Problem, Problems, Refusal};
use flashloom_workload::workload::{Running, Unfit, Workload};
use flashloom_workload::{Footprint, Pace, Replayed, Request, TraceInfo, TraceOptions, scan_trace};
use rayon::prelude::*;

use crate::config::{Config, Experiment, Fault};

type Scan = Result<Arc<TraceInfo>, Problem>;

/// The workload of every run, read: every recording once, in parallel.
///
/// # Errors
/// Everything that is wrong with what they read, or that it does not go with.
pub fn read_all(experiment: &Experiment) -> Result<Vec<Box<dyn Workload>>, Problems> {
    let mut problems: Vec<Problem> = Vec::new();
    let mut built = Vec::with_capacity(experiment.variants.len());
    for variant in &experiment.variants {
        match experiment.workload(&variant.config) {
            Ok(workload) => built.push((&variant.config, workload)),
            Err(refusal) => add(&mut problems, [refused(experiment, &variant.config, refusal)]),
        }
    }
    let scans = scan_all(built.iter().map(|(_, workload)| workload));
    let mut workloads = Vec::with_capacity(built.len());
    for (config, mut workload) in built {
        match scan_of(&*workload, &scans) {
            Some(Err(problem)) => add(&mut problems, [at_the_path(experiment, config, problem.clone())]),
            scan => {
                let scan = scan.and_then(|scan| scan.as_ref().ok());
                let unfit = workload.read(scan).err().or_else(|| Some(missing_task_ids(config, &*workload)?.into()));
                add(&mut problems, unfit.into_iter().flat_map(|unfit| pointed(experiment, config, unfit)));
            }
        }
        workloads.push(workload);
    }
    if problems.is_empty() { Ok(workloads) } else { Err(Problems(problems)) }
}

/// Each problem once.
fn add(problems: &mut Vec<Problem>, found: impl IntoIterator<Item = Problem>) {
    for problem in found {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
}

/// What each recording holds, by its path and how it is read.
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

fn pointed(experiment: &Experiment, config: &Config, unfit: Unfit) -> Vec<Problem> {
    match unfit {
        Unfit::Input(Problems(found)) => {
            found.into_iter().map(|problem| at_the_path(experiment, config, problem)).collect()
        }
        Unfit::Refused(refusal) => vec![refused(experiment, config, refusal)],
    }
}

fn refused(experiment: &Experiment, config: &Config, refusal: Refusal) -> Problem {
    let Refusal { keys, found, expected, help } = refusal.or_at("workload.kind");
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    experiment.problem_at(config, &keys, Fault { found, expected, help })
}

/// What is wrong with a file as a whole is shown where the configuration names the file.
fn at_the_path(experiment: &Experiment, config: &Config, problem: Problem) -> Problem {
    if problem.place != Place::File {
        return problem;
    }
    let found = format!("{}: {}", problem.file, problem.found);
    let fault = Fault { found, expected: problem.expected, help: problem.help };
    experiment.problem_at(config, &["workload.path"], fault)
}

/// The first policy that needs task ids, where the requests carry none.
fn missing_task_ids(config: &Config, workload: &dyn Workload) -> Option<Refusal> {
    if workload.has_task_ids() {
        return None;
    }
    let (key, policy) = config.policies().find(|(_, policy)| policy.needs.contains(&Capability::TaskIds))?;
    let key = key.path();
    let source = workload.recording().map_or(config.workload.kind, |(path, _)| path);
    let expected = format!("{}; those of `{source}` do not", Capability::TaskIds.in_words());
    Some(Refusal::new(format!("`{key}` = \"{}\"", policy.name), expected).at([key]))
}

/// Requests that another run issued, in the place of a run's own workload.
pub struct Issued<'a> {
    /// In their order.
    pub requests: &'a [Request],
    /// How many are outstanding at once.
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
