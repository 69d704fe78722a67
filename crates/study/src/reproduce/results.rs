//! Results of the runs of a report, as formulas look them up: by experiment, arm and seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flashloom_figures::formula::{Formula, Run, Runs};
use flashloom_figures::result::NOT_FOUND_OUT;
use serde_json::{Map, Value};

use super::drive::{SEEDS, Seeds, on};
use super::plan::{PlannedPaper, PlannedStudy};
use super::published::{Workload, scoped};

/// Results of distinct configurations. Configurations that differ in their seed alone form a family.
#[derive(Default)]
pub(crate) struct Outcomes {
    /// Family and result of each job that was run.
    results: BTreeMap<usize, (usize, Arc<Value>)>,
    /// First result of each family.
    first: BTreeMap<usize, Arc<Value>>,
    /// Families of which two seeds gave different results.
    draws: BTreeSet<usize>,
}

impl Outcomes {
    pub(crate) fn insert(&mut self, job: usize, family: usize, result: Value) {
        let result = Arc::new(result);
        let first = self.first.entry(family).or_insert_with(|| Arc::clone(&result));
        if !found_out_the_same(first, &result) {
            self.draws.insert(family);
        }
        self.results.insert(job, (family, result));
    }

    /// True if the seed changes the results of a family.
    pub(crate) fn draws(&self, family: usize) -> bool {
        self.draws.contains(&family)
    }
}

/// True if two results are equal in all measured parts, those beside the configuration and the cost of the run.
fn found_out_the_same(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return one == other };
    let counts = |part: &&String| !NOT_FOUND_OUT.contains(&part.as_str());
    let parts: BTreeSet<&String> = one.keys().chain(other.keys()).filter(counts).collect();
    parts.into_iter().all(|part| one.get(part) == other.get(part))
}

/// Runs of an experiment, by arm, seed and variant.
struct Study {
    name: String,
    seeds: Seeds,
    arms: Vec<[Vec<Run>; SEEDS.len()]>,
    /// True for each arm in which the seed changes any run.
    draws: Vec<bool>,
    /// True for each arm in which any run has a configuration other than that of arm 0.
    replaced: Vec<bool>,
}

/// Runs of a paper's experiments.
pub(crate) struct Results {
    studies: Vec<Study>,
}

impl Results {
    /// Looks up the outcome of every run. `job_of` holds the job of every run of every study of the paper.
    pub(crate) fn new(planned: &PlannedPaper, outcomes: &Outcomes, job_of: &[Vec<usize>]) -> Self {
        let study = |(study, job_of): (&PlannedStudy, &Vec<usize>)| {
            let result = |runs: &[usize; SEEDS.len()], seed: usize| {
                let of = |seed: usize| outcomes.results.get(&job_of[runs[seed]]);
                let (family, result) = of(seed).or_else(|| of(0)).expect("every run has a result for its first seed");
                (outcomes.draws(*family), Arc::clone(result))
            };
            let vary = |run: usize| -> Map<String, Value> {
                let mut vary = study.experiment.variants[run].vary_to_json();
                vary.shift_remove("run.seed");
                vary
            };
            let arm = |arm: &Vec<[usize; SEEDS.len()]>| -> [Vec<Run>; SEEDS.len()] {
                std::array::from_fn(|seed| {
                    arm.iter().map(|runs| Run { vary: vary(runs[0]), result: result(runs, seed).1 }).collect()
                })
            };
            let draws = |arm: &Vec<[usize; SEEDS.len()]>| arm.iter().any(|runs| result(runs, 0).0);
            Study {
                name: study.name.clone(),
                seeds: study.seeds,
                arms: study.arms.iter().map(arm).collect(),
                draws: study.arms.iter().map(draws).collect(),
                replaced: study.arms.iter().map(|arm| *arm != study.arms[0]).collect(),
            }
        };
        Self { studies: planned.studies.iter().zip(job_of).map(study).collect() }
    }

    /// Results that hold nothing but configurations, to test formulas with.
    #[cfg(test)]
    pub(crate) fn of_configurations(planned: &PlannedPaper) -> Self {
        let runs: Vec<_> = planned.studies.iter().flat_map(|study| &study.experiment.variants).collect();
        let mut outcomes = Outcomes::default();
        for (job, variant) in runs.iter().enumerate() {
            outcomes.insert(job, job, serde_json::json!({"config": variant.config.to_json()}));
        }
        let mut next = 0..;
        let job_of = |study: &PlannedStudy| next.by_ref().take(study.experiment.variants.len()).collect();
        let job_of: Vec<Vec<usize>> = planned.studies.iter().map(job_of).collect();
        Self::new(planned, &outcomes, &job_of)
    }

    /// Returns the results as formulas of a group see them: experiments with its workload and on its drive go by their
    /// names without prefix and suffix.
    pub(crate) fn scope<'a>(&'a self, workload: Option<&'a Workload>, drive: Option<&'a str>) -> Scope<'a> {
        Scope { results: self, workload, drive }
    }

    /// All distinct runs, each with the name of its experiment, its arm and its seed.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, usize, u64, &Run)> {
        self.studies.iter().flat_map(|study| {
            study.arms.iter().enumerate().flat_map(move |(arm, seeds)| {
                let as_it_is = &study.arms[0];
                let count = if study.draws[arm] { SEEDS.len() } else { 1 };
                let seeds = study.seeds.iter().zip(seeds).zip(as_it_is).take(count);
                seeds.flat_map(move |((seed, runs), as_they_are)| {
                    let differs =
                        move |(run, as_it_is): &(&Run, &Run)| arm == 0 || !Arc::ptr_eq(&run.result, &as_it_is.result);
                    let runs = runs.iter().zip(as_they_are).filter(differs);
                    runs.map(move |(run, _)| (study.name.as_str(), arm, *seed, run))
                })
            })
        })
    }
}

/// Results of a paper as a group or a table with one workload on one drive sees them.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    results: &'a Results,
    pub(crate) workload: Option<&'a Workload>,
    drive: Option<&'a str>,
}

/// Results of one arm with one seed.
struct View<'a> {
    scope: Scope<'a>,
    arm: usize,
    seed: usize,
}

impl Runs for View<'_> {
    fn runs(&self, experiment: &str) -> Option<&[Run]> {
        self.scope.study(experiment).map(|study| &study.arms[self.arm][self.seed][..])
    }
}

impl<'a> Scope<'a> {
    /// Returns the results as seen with another workload.
    pub(crate) fn with(&self, workload: &'a Workload) -> Self {
        Self { workload: Some(workload), ..*self }
    }
}

impl Scope<'_> {
    fn study(&self, name: &str) -> Option<&Study> {
        let named = |name: &str| {
            let name = on(self.drive, name);
            self.results.studies.iter().find(|study| study.name == name)
        };
        named(&scoped(self.workload, name)).or_else(|| named(name))
    }

    /// True if an arm changes the configuration of any run of these experiments.
    pub(crate) fn is_replaced(&self, experiments: &BTreeSet<String>, arm: usize) -> bool {
        let studies = experiments.iter().filter_map(|name| self.study(name));
        studies.into_iter().any(|study| study.replaced[arm])
    }

    /// Number of seeds that the figures of these experiments are computed for: one if the seed changes no result.
    pub(crate) fn seeds(&self, experiments: &BTreeSet<String>, arm: usize) -> usize {
        let draws = |name: &String| self.study(name).is_some_and(|study| study.draws[0] || study.draws[arm]);
        if experiments.iter().any(draws) { SEEDS.len() } else { 1 }
    }

    /// Computes a formula for each of the first `seeds` seeds; none if a result lacks one of its fields.
    ///
    /// # Errors
    /// The formula names a run that does not exist, or yields several numbers where one is expected.
    pub(crate) fn values(
        &self,
        formula: &Formula,
        default: &str,
        arm: usize,
        seeds: usize,
    ) -> Result<Option<Vec<f64>>, String> {
        let views: Vec<View<'_>> = (0..seeds).map(|seed| View { scope: *self, arm, seed }).collect();
        let views: Vec<&dyn Runs> = views.iter().map(|view| view as &dyn Runs).collect();
        formula.repeated(&views, default)
    }

    /// Description of the workloads of some experiments.
    pub(crate) fn workloads(&self, experiments: &BTreeSet<String>) -> String {
        let mut names: Vec<String> = Vec::new();
        for run in experiments.iter().filter_map(|name| self.study(name)).flat_map(|study| &study.arms[0][0]) {
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
    fn results_are_the_same_whatever_they_cost_and_whatever_their_seed() {
        let result = |seed: u64, wall: f64, copies: u64| {
            json!({
                "config": {"run": {"seed": seed}},
                "run": {"wall_seconds": wall},
                "ftl": {"page_copies": copies},
            })
        };
        assert!(found_out_the_same(&result(1, 0.5, 7), &result(2, 0.7, 7)));
        assert!(!found_out_the_same(&result(1, 0.5, 7), &result(2, 0.5, 8)));
    }

    #[test]
    fn a_family_draws_random_numbers_once_two_of_its_seeds_differ() {
        let mut outcomes = Outcomes::default();
        for (job, family, copies) in [(0, 0, 7), (1, 0, 7), (2, 1, 7), (3, 1, 8)] {
            outcomes.insert(job, family, json!({"ftl": {"page_copies": copies}}));
        }
        assert_eq!([outcomes.draws(0), outcomes.draws(1)], [false, true]);
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

    #[test]
    fn a_figure_has_every_seed_if_one_changes_it_or_the_arm_beside_it() {
        let seeds = |draws: [bool; 2]| {
            let name = "drawn".to_owned();
            let study = Study { name, seeds: SEEDS, arms: Vec::new(), draws: draws.into(), replaced: Vec::new() };
            let results = Results { studies: vec![study] };
            results.scope(None, None).seeds(&BTreeSet::from(["drawn".to_owned()]), 1)
        };
        assert_eq!([[false, false], [true, false], [false, true]].map(seeds), [1, SEEDS.len(), SEEDS.len()]);
    }
}
