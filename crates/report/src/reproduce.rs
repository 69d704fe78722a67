//! Runs the experiments of papers and makes their reports.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use flashloom_experiment::config::{Experiment, Source};
use flashloom_experiment::formula::{Run, Runs};
use flashloom_experiment::result::Comparison;
use flashloom_experiment::run::{Failure, Prepared, Progress};
use flashloom_units::{Problem, Problems};
use rayon::prelude::*;
use serde_json::Value;

use crate::csv;
use crate::published::{Group, PAPERS, Paper, PublishedRow, Study, Table, Workload, scoped};
use crate::row::{FigureLine, FigureTable, Report, Row, SCHEMA};
use crate::verdict::{Measure, Verdict};

/// How a report is made.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Shorter workloads on smaller drives: a rehearsal of everything.
    pub quick: bool,
    /// Where recordings are; generators take the place of those that are not there.
    pub traces: Option<PathBuf>,
}

/// The experiments of some papers, read and checked.
pub struct Plan {
    quick: bool,
    papers: Vec<(Paper, Vec<Experiment>)>,
}

/// A plan whose recordings have been checked: nothing that the user wrote can stop it any more.
pub struct Ready<'a> {
    plan: &'a Plan,
    prepared: Vec<Vec<Prepared<'a>>>,
}

/// What came out for one paper.
pub struct Reproduction {
    /// Its report.
    pub report: Report,
    /// The results of all its runs as CSV.
    pub runs: String,
}

impl Plan {
    /// Reads the experiments of these papers.
    ///
    /// # Errors
    /// A name of no paper, or everything that is wrong with configurations and folders.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, options: &Options) -> Result<Self, Problems> {
        let folder = options.traces.as_deref();
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let name = folder.display().to_string();
            return Err(Problem::file(name, "there is no such folder", "a folder of recordings").into());
        }
        let paper = |name: &str| {
            let paper = Paper::named(name).ok_or_else(|| {
                Problem::file(name, "no report has this name", format!("one of {}", PAPERS.join(", ")))
            })?;
            let load = |(_, study, workload)| load(&paper, study, workload, options.quick, folder);
            let experiments = paper.studies().map(load).collect::<Result<Vec<_>, Problems>>()?;
            Ok((paper, experiments))
        };
        let papers = names.into_iter().map(paper).collect::<Result<_, Problems>>()?;
        Ok(Self { quick: options.quick, papers })
    }

    /// Checks every recording.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn prepare(&self) -> Result<Ready<'_>, Problems> {
        let mut prepared = Vec::with_capacity(self.papers.len());
        for (_, experiments) in &self.papers {
            prepared.push(experiments.iter().map(Prepared::new).collect::<Result<_, _>>()?);
        }
        Ok(Ready { plan: self, prepared })
    }

    /// Runs of all experiments.
    pub fn runs(&self) -> usize {
        self.papers.iter().flat_map(|(_, experiments)| experiments).map(|experiment| experiment.variants.len()).sum()
    }
}

/// One experiment as its paper's data file asks for it.
fn load(
    paper: &Paper,
    study: &Study,
    workload: Option<&Workload>,
    quick: bool,
    folder: Option<&Path>,
) -> Result<Experiment, Problems> {
    let text = paper.configuration(&study.file).expect("a test holds the data files against the configurations");
    let generator = workload.map_or(&[][..], |workload| &workload.set);
    let mut sets: Vec<String> = generator.iter().chain(&study.set).cloned().collect();
    let recording = study.recording.as_ref().or(workload.and_then(|workload| workload.recording.as_ref()));
    let recorded = recording.zip(folder).map(|(recording, folder)| (recording, folder.join(&recording.file)));
    let mut quick_sets: Vec<String> = Vec::new();
    match recorded.filter(|(_, path)| is_there(path)) {
        Some((recording, path)) => {
            sets.extend(["workload.kind=trace".to_owned(), format!("workload.path={}", path.display())]);
            sets.extend(recording.set.iter().cloned());
            quick_sets.extend(recording.quick.iter().cloned());
        }
        None => {
            quick_sets.extend(workload.iter().flat_map(|workload| &workload.quick).chain(&study.quick).cloned());
        }
    }
    if quick {
        sets.append(&mut quick_sets);
    }
    let name = format!("experiments/papers/{}/{}", paper.paper, study.file);
    let source = || Source::option(&name, text);
    let single = Experiment::from_source(source(), &sets, None)?;
    if single.left_out.is_empty() { Ok(single) } else { Experiment::from_source(source(), &sets, Some(&[])) }
}

/// Whether a recording is there; one of several files is named by their common prefix.
fn is_there(path: &Path) -> bool {
    ["", ".0", ".0.zst"].iter().any(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        Path::new(&name).exists()
    })
}

impl Ready<'_> {
    /// Requests of all runs together.
    pub fn total_requests(&self) -> u64 {
        self.prepared.iter().flatten().map(Prepared::total_requests).sum()
    }

    /// Runs everything, in as many threads as the caller's pool has, and makes the reports.
    ///
    /// # Errors
    /// A check of a run that failed, or a formula that asks for what no run has.
    pub fn run(&self, progress: &dyn Progress) -> Result<Vec<Reproduction>, Failure> {
        let experiments: Vec<&Prepared<'_>> = self.prepared.iter().flatten().collect();
        let comparisons: Vec<_> = experiments.par_iter().map(|prepared| prepared.compare(false, progress)).collect();
        let mut comparisons = comparisons.into_iter();
        let mut reproductions = Vec::with_capacity(self.plan.papers.len());
        for (paper, _) in &self.plan.papers {
            let mut named: Vec<(String, Comparison)> = Vec::new();
            for (name, ..) in paper.studies() {
                named.push((name, comparisons.next().expect("each experiment ran")?));
            }
            let runs = csv::experiments(named.iter().map(|(name, comparison)| (name.as_str(), comparison)));
            let results = named.into_iter().map(|(name, comparison)| (name, seen_by_formulas(&comparison)));
            let results = Results { quick: self.plan.quick, runs: results.collect() };
            let report = results.report(paper).map_err(Failure::Check)?;
            reproductions.push(Reproduction { report, runs });
        }
        Ok(reproductions)
    }
}

fn seen_by_formulas(comparison: &Comparison) -> Vec<Run> {
    comparison.runs.iter().map(Run::from).collect()
}

/// Why a row of a quick run is not reproduced; the reasons in the data files were found in full runs.
const REHEARSAL: &str =
    "A quick run: its workload is too short, and its drive too small, for the verdict to mean anything.";

/// The runs of a paper's experiments, by name.
struct Results {
    /// Whether workloads were shortened.
    quick: bool,
    runs: Vec<(String, Vec<Run>)>,
}

/// The same as a group or a table sees them: its workload's experiments go by their names alone.
struct Scope<'a> {
    results: &'a Results,
    workload: Option<&'a Workload>,
}

impl Runs for Scope<'_> {
    fn runs(&self, experiment: &str) -> Option<&[Run]> {
        let named = |name: &str| self.results.runs.iter().find(|(of, _)| of == name).map(|(_, runs)| &runs[..]);
        named(&scoped(self.workload, experiment)).or_else(|| named(experiment))
    }
}

impl Results {
    fn report(&self, paper: &Paper) -> Result<Report, String> {
        let (mut rows, mut tables) = (Vec::new(), Vec::new());
        for group in &paper.groups {
            for workload in paper.each(group.each_workload) {
                let scope = Scope { results: self, workload };
                for row in &group.rows {
                    rows.push(scope.row(group, row).map_err(|error| format!("{}-{}: {error}", group.id, row.id))?);
                }
            }
        }
        for table in &paper.tables {
            for workload in paper.each(table.each_workload) {
                tables.push(Scope { results: self, workload }.table(table)?);
            }
        }
        let Paper { paper, title, reference, notes, .. } = paper.clone();
        Ok(Report { schema: SCHEMA, paper, title, reference, notes, quick: self.quick, rows, tables })
    }
}

impl Scope<'_> {
    fn row(&self, group: &Group, row: &PublishedRow) -> Result<Row, String> {
        let ours = row.ours.value(self, &group.experiment)?;
        let reference = match &row.reference {
            Some(reference) => reference.ours.value(self, &group.experiment)?.map(|ours| [reference.published, ours]),
            None => row.neutral.or(group.neutral).map(|neutral| [neutral; 2]),
        };
        let band = row.band.or(group.band);
        let measure = Measure { published: row.published, band, reference };
        let verdict = measure.judge(ours);
        let why = if self.results.quick { Some(REHEARSAL) } else { group.why(&row.id) };
        let why = why.filter(|_| verdict != Verdict::Reproduced);
        Ok(Row {
            id: format!("{}-{}", scoped(self.workload, &group.id), row.id),
            claim: row.claim.clone(),
            source: group.source.clone(),
            published: row.published,
            ours,
            ratio: measure.ratio(ours),
            verdict,
            why: why.map(str::to_owned),
            workload: self.workloads(&row.ours.experiments(&group.experiment)),
            unit: group.unit.clone(),
            band,
            formula: row.ours.text().to_owned(),
            group: group.title.clone(),
        })
    }

    fn table(&self, table: &Table) -> Result<FigureTable, String> {
        let line = |experiment: &String| {
            let figures = table.columns.iter().map(|column| column.ours.value(self, experiment));
            Ok(FigureLine { experiment: experiment.clone(), figures: figures.collect::<Result<_, String>>()? })
        };
        let lines = table.experiments.iter().map(line).collect::<Result<_, String>>()?;
        Ok(FigureTable {
            title: self.workload.map_or(table.title.clone(), |workload| format!("{}: {}", table.title, workload.name)),
            workload: self.workloads(&table.experiments.iter().cloned().collect()),
            columns: table.columns.iter().map(|column| column.name.clone()).collect(),
            lines,
        })
    }

    /// What the runs of some experiments were given to do.
    fn workloads(&self, experiments: &BTreeSet<String>) -> String {
        let mut names: Vec<String> = Vec::new();
        for run in experiments.iter().filter_map(|name| self.runs(name)).flatten() {
            let name = workload_of(&run.result["config"]["workload"]);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join("; ")
    }
}

/// An effective `[workload]` section in a few words.
fn workload_of(workload: &Value) -> String {
    let text = |key: &str| workload[key].as_str().unwrap_or_default().to_owned();
    let kind = text("kind");
    let of_kind = |key: &str| workload[&kind][key].as_str().unwrap_or_default().to_owned();
    let name = match kind.as_str() {
        "trace" => format!("recording {}", text("path").rsplit('/').next().unwrap_or_default()),
        "filebench" => format!("generated: Filebench {}", of_kind("personality")),
        "synthesized" => format!("synthesised: {}", of_kind("preset")),
        _ => format!("generated: {kind} {}", of_kind("pattern")),
    };
    workload["requests"].as_u64().map_or(name.clone(), |requests| format!("{name}, first {requests} requests"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_experiment_is_sound_in_full_and_in_its_quick_form() {
        for quick in [false, true] {
            for paper in PAPERS {
                let plan = Plan::new([*paper], &Options { quick, traces: None });
                let plan = plan.unwrap_or_else(|problems| panic!("{paper}, quick: {quick}\n{problems}"));
                let ready = plan.prepare().unwrap_or_else(|problems| panic!("{paper}, quick: {quick}\n{problems}"));
                assert!(plan.runs() >= ready.prepared.iter().flatten().count());
            }
        }
    }

    #[test]
    fn every_formula_chooses_runs_that_its_experiment_has() {
        for name in PAPERS {
            let plan = Plan::new([*name], &Options::default()).expect("another test says what is wrong with it");
            let (paper, experiments) = &plan.papers[0];
            let runs = |experiment: &Experiment| {
                let run = |variant: &flashloom_experiment::config::Variant| {
                    let result = json!({"config": variant.config.to_json()});
                    Run { vary: variant.vary_to_json(), result }
                };
                experiment.variants.iter().map(run).collect()
            };
            let named = paper.studies().zip(experiments).map(|((name, ..), experiment)| (name, runs(experiment)));
            let results = Results { quick: false, runs: named.collect() };
            results.report(paper).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_refused() {
        let traces = Some(PathBuf::from("no/such/folder"));
        assert!(Plan::new(["kast"], &Options { quick: true, traces }).is_err());
        assert!(Plan::new(["fios"], &Options::default()).is_err());
    }

    #[test]
    fn a_workload_is_told_in_a_few_words() {
        for (workload, expected) in [
            (
                json!({"kind": "trace", "path": "a/b.csv.zst", "requests": 500}),
                "recording b.csv.zst, first 500 requests",
            ),
            (json!({"kind": "filebench", "filebench": {"personality": "oltp"}}), "generated: Filebench oltp"),
            (json!({"kind": "synthesized", "synthesized": {"preset": "sysmark"}}), "synthesised: sysmark"),
        ] {
            assert_eq!(workload_of(&workload), expected);
        }
    }
}
