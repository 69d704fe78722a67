//! Runs of a report: every experiment with every seed, as it is and with each null in the place of its policy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flashloom_config::{Catalog, Experiment, Source};
use flashloom_figures::result::{ComparedRun, RunResult};
use flashloom_run::{Cache, Failure, Keeper, Prepared, Progress};
use flashloom_units::{Problem, Problems, visible_path};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::drive::{SEEDS, Seeds};
use super::published::{PAPERS, Paper, Study, Workload};
use super::results::{Outcomes, Results};
use super::{Reproduction, reproduction};

/// Options of a report.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// True for shorter workloads on smaller drives, whose verdicts mean nothing: a quick test of the whole path.
    pub quick: bool,
    /// Folder of recordings. Generators take the place of recordings that are not in it, or of all if there is none.
    pub traces: Option<PathBuf>,
    /// Ids of the groups of rows to make; if empty, all groups and the tables are made.
    pub only: Vec<String>,
}

/// A paper with the planned runs of its experiments.
pub(crate) struct PlannedPaper {
    pub(crate) paper: Paper,
    /// The experiments, in the order of [`Paper::studies`].
    pub(crate) studies: Vec<PlannedStudy>,
}

/// The planned runs of one experiment: each of its variants, with each seed and in each arm.
pub(crate) struct PlannedStudy {
    /// Name of the experiment in formulas.
    pub(crate) name: String,
    pub(crate) experiment: Experiment,
    /// Its seeds.
    pub(crate) seeds: Seeds,
    /// Index of the run for each arm, variant and seed. Arm 0 is the experiment as it is; each other arm has one of
    /// [`Paper::nulls`] in the place of the policy. A variant that a null does not change has the run of arm 0.
    pub(crate) arms: Vec<Vec<[usize; SEEDS.len()]>>,
    /// For a variant that replays the requests that another's scheduler issues, that other variant.
    issued_by: BTreeMap<usize, usize>,
}

/// The experiments of the requested papers, read and checked.
pub struct Plan {
    pub(crate) quick: bool,
    pub(crate) papers: Vec<PlannedPaper>,
}

/// A plan whose recordings have been checked too: no error in the user's input can stop it any more.
pub struct Ready<'a> {
    plan: &'a Plan,
    prepared: Vec<Prepared<'a>>,
    /// The distinct configurations of all experiments. Equal ones are run once.
    jobs: Vec<PlannedRun>,
    /// Index of the job of every run of every study.
    job_of: Vec<Vec<usize>>,
}

/// One distinct configuration: the study and variant of the first run that has it.
struct PlannedRun {
    study: usize,
    variant: usize,
    /// The variant whose scheduler issues the requests that the job replays, if it replays any.
    issued_by: Option<usize>,
    /// The configuration of that variant. Jobs with the same one replay the same run.
    recording: Option<String>,
    /// Number of the family: the jobs that differ in nothing but their seeds.
    family: usize,
    /// True if its seed is one of the first two of a study that has it.
    is_early: bool,
}

impl Plan {
    /// Reads and checks the experiments of the named papers.
    ///
    /// # Errors
    /// An unknown name, or all errors in the configurations and folders.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, options: &Options) -> Result<Self, Problems> {
        let folder = options.traces.as_deref();
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let found = if folder.exists() { "this is no folder" } else { "there is no such folder" };
            return Err(Problem::file(visible_path(folder), found, "a folder of recordings").into());
        }
        let paper = |name: &str| {
            let mut paper = Paper::named(name).ok_or_else(|| {
                Problem::file(name, "no report has this name", format!("one of {}", PAPERS.join(", ")))
            })?;
            if !options.only.is_empty() {
                paper.only(&options.only)?;
            }
            let studies: Vec<_> = paper.studies().collect();
            let plan = |(name, study, workload): (String, &Study, Option<&Workload>)| {
                PlannedStudy::new(name, load(&paper, study, workload, options.quick, folder)?, study, &paper)
            };
            let studies = studies.into_par_iter().with_max_len(1).map(plan).collect::<Result<_, Problems>>()?;
            Ok(PlannedPaper { paper, studies })
        };
        let papers = names.into_iter().map(paper).collect::<Result<_, Problems>>()?;
        Ok(Self { quick: options.quick, papers })
    }

    /// Checks all recordings, and finds the distinct configurations.
    ///
    /// # Errors
    /// All errors in the recordings.
    pub fn prepare(&self) -> Result<Ready<'_>, Problems> {
        let studies = || self.papers.iter().flat_map(|paper| &paper.studies);
        let prepared = studies().map(|study| Prepared::new(&study.experiment)).collect::<Result<_, _>>()?;
        let mut ready = Ready { plan: self, prepared, jobs: Vec::new(), job_of: Vec::new() };
        let (mut known, mut families) = (BTreeMap::new(), BTreeMap::new());
        for (study, planned) in studies().enumerate() {
            let early = &planned.seeds[..2];
            let mut job_of = Vec::new();
            for (variant, run) in planned.experiment.variants.iter().enumerate() {
                let issued_by = planned.issued_by.get(&variant).copied();
                if planned.issued_by.values().any(|&issuer| issuer == variant) {
                    // It runs for the others alone, and has no result of its own.
                    job_of.push(usize::MAX);
                    continue;
                }
                let recorded = issued_by.map(|issuer| planned.experiment.variants[issuer].config.to_json());
                let recording = recorded.as_ref().map(Value::to_string);
                let mut config = json!([run.config.to_json(), recorded]);
                let whole = config.to_string();
                let job = *known.entry(whole).or_insert_with(|| {
                    for part in config.as_array_mut().into_iter().flatten().filter(|part| part.is_object()) {
                        part["run"]["seed"] = Value::Null;
                    }
                    let next = families.len();
                    let family = *families.entry(config.to_string()).or_insert(next);
                    ready.jobs.push(PlannedRun { study, variant, issued_by, recording, family, is_early: false });
                    ready.jobs.len() - 1
                });
                ready.jobs[job].is_early |= early.contains(&run.config.run.seed);
                job_of.push(job);
            }
            ready.job_of.push(job_of);
        }
        Ok(ready)
    }
}

impl PlannedStudy {
    fn new(name: String, mut experiment: Experiment, study: &Study, paper: &Paper) -> Result<Self, Problems> {
        let as_it_is: Vec<usize> = (0..experiment.variants.len()).collect();
        let mut arms = vec![as_it_is.clone()];
        for null in paper.nulls() {
            let mut arm = as_it_is.clone();
            for run in &mut arm {
                if null.changes(&experiment.variants[*run].config.to_json()) {
                    let replaced = experiment.replaced(&experiment.variants[*run], &null.set)?;
                    *run = experiment.variants.len();
                    experiment.variants.push(replaced);
                }
            }
            arms.push(arm);
        }
        let mut issued_by = BTreeMap::new();
        if let Some(sets) = &study.issued_by {
            for run in 0..experiment.variants.len() {
                let issuer = experiment.replaced(&experiment.variants[run], sets)?;
                issued_by.insert(run, experiment.variants.len());
                experiment.variants.push(issuer);
            }
        }
        let count = experiment.variants.len();
        let of_seed =
            |seed: usize| issued_by.iter().map(move |(run, issuer)| (run + seed * count, issuer + seed * count));
        let issued_by = (0..SEEDS.len()).flat_map(of_seed).collect();
        let of_seed = |seed: &u64| experiment.variants.iter().map(|run| run.replicate(*seed)).collect::<Vec<_>>();
        experiment.variants = study.seeds.iter().flat_map(of_seed).collect();
        let of_every_seed = |run: usize| std::array::from_fn(|seed| run + seed * count);
        let arms = arms.into_iter().map(|arm| arm.into_iter().map(of_every_seed).collect()).collect();
        Ok(Self { name, experiment, seeds: study.seeds, arms, issued_by })
    }
}

/// Reads one experiment with the first seed, as its paper's data file describes it.
fn load(
    paper: &Paper,
    study: &Study,
    workload: Option<&Workload>,
    quick: bool,
    folder: Option<&Path>,
) -> Result<Experiment, Problems> {
    let text = paper.configuration(&study.file).expect("a test holds the data files against the configurations");
    let generator = workload.map_or(&[][..], |workload| &workload.set);
    let mut sets = generator.to_vec();
    let recording = study.recording.as_ref().or(workload.and_then(|workload| workload.recording.as_ref()));
    let recorded = recording.zip(folder).map(|(recording, folder)| (recording, folder.join(&recording.file)));
    let mut quick_sets: Vec<String> = Vec::new();
    match recorded.filter(|(_, path)| is_there(path)) {
        Some((recording, path)) => {
            let file = ["workload.kind=trace".to_owned(), format!("workload.path={}", path.display())];
            let of_recording = file.into_iter().chain(recording.set.iter().cloned());
            let of_study = study.set.iter().cloned();
            // An experiment's own recording comes after its settings, that of a workload before.
            match study.recording.is_some() {
                true => sets.extend(of_study.chain(of_recording)),
                false => sets.extend(of_recording.chain(of_study)),
            }
            quick_sets.extend(recording.quick.iter().cloned());
        }
        None => {
            sets.extend(study.set.iter().cloned());
            quick_sets.extend(workload.iter().flat_map(|workload| &workload.quick).chain(&study.quick).cloned());
        }
    }
    if quick {
        sets.append(&mut quick_sets);
    }
    let name = format!("experiments/papers/{}/{}", paper.paper, study.file);
    // The seed varies in every experiment, so that there is something to compare where nothing else does.
    let seed = format!("run.seed={}", study.seeds[0]);
    Experiment::from_source(&Catalog::builtin(), Source::text(&name, text), &sets, Some(&[seed]))
}

/// True if a recording exists. A recording of several files is named by their common prefix.
fn is_there(path: &Path) -> bool {
    ["", ".0", ".0.zst"].iter().any(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        Path::new(&name).exists()
    })
}

impl Ready<'_> {
    /// Takes aged drives from a cache, and stores them there: each experiment has its own, of the same folder.
    ///
    /// # Errors
    /// The cache cannot be made.
    pub fn with_caches(mut self, cache: impl Fn() -> Result<Option<Cache>, Problem>) -> Result<Self, Problem> {
        let prepared = self.prepared.into_iter().map(|one| Ok(one.with_cache(cache()?)));
        self.prepared = prepared.collect::<Result<_, Problem>>()?;
        Ok(self)
    }

    /// The experiments of all papers.
    pub fn experiments(&self) -> &[Prepared<'_>] {
        &self.prepared
    }

    /// Configuration of the run whose issued requests a variant of an experiment replays, if it replays any.
    pub fn issuer(&self, experiment: usize, variant: usize) -> Option<Value> {
        let study = self.plan.papers.iter().flat_map(|paper| &paper.studies).nth(experiment)?;
        let issuer = study.issued_by.get(&variant)?;
        Some(study.experiment.variants[*issuer].config.to_json())
    }

    /// The distinct runs, each by its experiment and its variant there, including those that will be skipped because
    /// the seed has no effect.
    pub fn runs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.jobs.iter().map(|job| (job.study, job.variant))
    }

    /// Runs everything, in as many threads as the caller's rayon pool has, and returns one reproduction a paper. There
    /// is a keeper for each experiment, or none at all; results that a keeper has are not computed again.
    ///
    /// # Errors
    /// A run fails one of its checks, or a formula names a run or field that does not exist.
    pub fn run(&self, keepers: &[impl Keeper], progress: &dyn Progress) -> Result<Vec<Reproduction>, Failure> {
        let outcomes = self.outcomes(keepers, progress)?;
        let mut first = 0;
        let of_paper = |planned: &PlannedPaper| {
            let studies = first..first + planned.studies.len();
            first = studies.end;
            let results = Results::new(planned, &outcomes, &self.job_of[studies]);
            reproduction(self.plan.quick, &planned.paper, &results).map_err(|found| Failure::Check(found.into()))
        };
        self.plan.papers.iter().map(of_paper).collect()
    }

    /// Runs the first two seeds of every configuration, and the other seeds of those whose first two results differ.
    fn outcomes(&self, keepers: &[impl Keeper], progress: &dyn Progress) -> Result<Outcomes, Failure> {
        let mut outcomes = Outcomes::default();
        let jobs_where = |wanted: &dyn Fn(&PlannedRun) -> bool| -> Vec<usize> {
            (0..self.jobs.len()).filter(|&job| wanted(&self.jobs[job])).collect()
        };
        let run_all = |jobs: Vec<usize>, outcomes: &mut Outcomes| -> Result<(), Failure> {
            let together = self.together(&jobs);
            let run = |jobs: &Vec<usize>| self.run_jobs(jobs, keepers, progress);
            let results: Vec<_> = together.par_iter().with_max_len(1).map(run).collect();
            for (job, result) in results.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
                outcomes.insert(job, self.jobs[job].family, result);
            }
            Ok(())
        };
        run_all(jobs_where(&|job| job.is_early), &mut outcomes)?;
        let others = jobs_where(&|job| !job.is_early && outcomes.draws(job.family));
        run_all(others, &mut outcomes)?;
        Ok(outcomes)
    }

    /// Groups jobs into lots: jobs that replay the same run's requests form a lot, every other job one of its own.
    fn together(&self, jobs: &[usize]) -> Vec<Vec<usize>> {
        let mut lots: Vec<Vec<usize>> = Vec::new();
        let mut lot_of = BTreeMap::new();
        for &job in jobs {
            let lot = match &self.jobs[job].recording {
                Some(recording) => *lot_of.entry(recording).or_insert(lots.len()),
                None => lots.len(),
            };
            lots.resize_with(lots.len().max(lot + 1), Vec::new);
            lots[lot].push(job);
        }
        lots
    }

    /// Runs a lot of jobs, and returns the result of each with its job.
    fn run_jobs(
        &self,
        jobs: &[usize],
        keepers: &[impl Keeper],
        progress: &dyn Progress,
    ) -> Result<Vec<(usize, Value)>, Failure> {
        let (mut results, mut to_run) = (Vec::with_capacity(jobs.len()), Vec::new());
        let with_result = |job: usize, result: &RunResult| {
            (job, serde_json::to_value(result).expect("results have text keys and finite numbers"))
        };
        for &job in jobs {
            let &PlannedRun { study, variant, .. } = &self.jobs[job];
            match keepers.get(study).and_then(|keeper| keeper.kept(variant)) {
                Some(result) => results.push(with_result(job, &result)),
                None => to_run.push(job),
            }
        }
        let issuer = to_run.first().and_then(|&job| Some((self.jobs[job].study, self.jobs[job].issued_by?)));
        let issued = issuer.map(|(study, issuer)| self.prepared[study].issued_by(issuer, progress)).transpose()?;
        for job in to_run {
            let &PlannedRun { study, variant, .. } = &self.jobs[job];
            let prepared = &self.prepared[study];
            let result = match &issued {
                Some(requests) => prepared.replay(variant, requests, progress)?,
                None => prepared.run_variant(variant, false, progress)?,
            };
            let vary = prepared.experiment().variants[variant].vary_to_json();
            let run = ComparedRun { vary, result: Box::new(result) };
            keepers.get(study).map_or(Ok(()), |keeper| keeper.keep(variant, &run)).map_err(Failure::Unkept)?;
            results.push(with_result(job, &run.result));
        }
        Ok(results)
    }

    /// The variants of all studies.
    #[cfg(test)]
    pub(crate) fn variants(&self) -> impl Iterator<Item = &flashloom_config::Variant> {
        self.plan.papers.iter().flat_map(|paper| &paper.studies).flat_map(|study| &study.experiment.variants)
    }
}
