//! Recordings are read to their end before anything runs, so that no run stops in the middle of a bad one.

use flashloom_units::{Capability, Place, Problem, Problems};
use flashloom_workload::{
    Addresses, Footprint, Limited, Replay, Source, TraceInfo, fit, open_trace, rebase, scan_trace,
};
use rayon::prelude::*;

use crate::config::{Config, Experiment, Fault};

/// A recording that was read to its end.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where it lies.
    pub path: String,
    /// What it holds.
    pub info: TraceInfo,
}

/// One way of reading one recording, or of fitting it to a device.
struct Task<'a> {
    config: &'a Config,
    path: String,
}

impl Task<'_> {
    /// Whether reading it for `other` finds the same.
    fn reads_as(&self, other: &Task<'_>) -> bool {
        let key = |task: &Task<'_>| {
            let workload = &task.config.workload;
            (workload.format, workload.event, workload.sort, workload.skip_bad_lines)
        };
        self.path == other.path && key(self) == key(other)
    }

    /// The sector after the last one that the replay names.
    fn span(&self, info: &TraceInfo) -> u64 {
        info.end_sector().saturating_sub(self.config.workload.first_sector)
    }
}

/// Reads every recording of an experiment once, in parallel, and holds it against the configurations that use it.
pub fn check_all(experiment: &Experiment) -> Result<Vec<Option<Recording>>, Problems> {
    let task = |config| task(experiment, config);
    let tasks: Vec<Option<Task<'_>>> = experiment.variants.iter().map(|variant| task(&variant.config)).collect();
    let mut distinct: Vec<&Task<'_>> = Vec::new();
    for task in tasks.iter().flatten() {
        if !distinct.iter().any(|known| known.reads_as(task)) {
            distinct.push(task);
        }
    }
    let scanned: Vec<_> = distinct
        .par_iter()
        .map(|task| scan_trace(&task.path, &task.config.workload.trace_options(), Footprint::Skip))
        .collect();
    let mut problems: Vec<Problem> = Vec::new();
    let mut recordings = Vec::with_capacity(tasks.len());
    for task in &tasks {
        let Some(task) = task else {
            recordings.push(None);
            continue;
        };
        let index = distinct.iter().position(|known| known.reads_as(task)).expect("every task was made distinct above");
        let found = match &scanned[index] {
            Ok(info) => {
                recordings.push(Some(Recording { path: task.path.clone(), info: info.clone() }));
                misfit(experiment, task, info)
            }
            Err(problem) => Some(at_the_path(experiment, task.config, problem)),
        };
        problems.extend(found.filter(|problem| !problems.contains(problem)));
    }
    if problems.is_empty() { Ok(recordings) } else { Err(Problems(problems)) }
}

fn task<'a>(experiment: &Experiment, config: &'a Config) -> Option<Task<'a>> {
    let path = config.workload.path.as_deref().filter(|_| config.workload.kind == "trace")?;
    let path = experiment.located(config, "workload.path", path).to_string_lossy().into_owned();
    Some(Task { config, path })
}

/// What is wrong with a file as a whole is shown where the configuration names the file.
fn at_the_path(experiment: &Experiment, config: &Config, problem: &Problem) -> Problem {
    if problem.place != Place::File {
        return problem.clone();
    }
    let fault = Fault {
        found: format!("{}: {}", problem.file, problem.found),
        expected: problem.expected.clone(),
        help: problem.help.clone(),
    };
    experiment.problem_at(config, &["workload.path"], fault)
}

/// What makes a sound recording unfit for a configuration.
fn misfit(experiment: &Experiment, task: &Task<'_>, info: &TraceInfo) -> Option<Problem> {
    missing_task_ids(experiment, task, info).or_else(|| outside_the_device(task, info))
}

fn missing_task_ids(experiment: &Experiment, task: &Task<'_>, info: &TraceInfo) -> Option<Problem> {
    if info.has_task_ids {
        return None;
    }
    let config = task.config;
    let expected = format!("{}; those of `{}` do not", Capability::TaskIds.in_words(), task.path);
    if config.workload.replay == Some(Replay::Dependent) {
        let fault = Fault::new("a dependent replay", expected);
        return Some(experiment.problem_at(config, &["workload.replay"], fault));
    }
    let (key, policy) = config.policies().find(|(_, policy)| policy.needs.contains(&Capability::TaskIds))?;
    let key = key.path();
    let fault = Fault::new(format!("`{key}` = \"{}\"", policy.name), expected);
    Some(experiment.problem_at(config, &[&key], fault))
}

/// Reads again only a recording that reaches beyond the device or begins before it, to point at the request that does.
fn outside_the_device(task: &Task<'_>, info: &TraceInfo) -> Option<Problem> {
    let workload = &task.config.workload;
    let capacity = task.config.device.capacity_sectors();
    let reaches_beyond = workload.addresses == Addresses::Error && task.span(info) > capacity;
    if !reaches_beyond && info.first_sector >= workload.first_sector {
        return None;
    }
    let first_problem = || -> Result<(), Problem> {
        let trace = open_trace(&task.path, &workload.trace_options())?;
        let limited = Limited::new(rebase(trace, workload.first_sector), workload.requests);
        let mut source = fit(limited, capacity, workload.addresses, task.span(info));
        while source.next_request()?.is_some() {}
        Ok(())
    };
    first_problem().err()
}
