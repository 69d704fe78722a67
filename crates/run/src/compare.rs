//! Runs every variant of an experiment except those with a kept result, and joins the results: statistics over seeds,
//! expectations.

use std::collections::BTreeMap;
use std::iter;
use std::sync::{Arc, OnceLock};

use flashloom_units::Problem;
use serde_json::{Map, Value};

use super::aged::AgedDrive;
use super::engines::expected_pages;
use super::queue::{Queue, Work};
use super::shares::{Handing, Shares};
use super::{Failure, Prepared, Progress, hints};
use flashloom_config::{Expectation, OfThisExperiment, Unfit};
use flashloom_figures::estimate::{Estimate, Paired};
use flashloom_figures::formula::{Run, Runs};
use flashloom_figures::result::{
    COMPARE_SCHEMA, ComparedRun, Comparison, ExpectationResult, LeftOutResult, NOT_FOUND_OUT, RepeatedFigure,
    RepeatedResult, RunResult,
};

/// Store of the results of runs: it keeps new ones, and returns those kept before; by default it keeps nothing. Called
/// from several threads at once.
pub trait Keeper: Sync {
    /// Returns the kept result of a variant, by its index in the experiment.
    fn kept(&self, _index: usize) -> Option<RunResult> {
        None
    }

    /// Keeps the result of a variant that has run.
    ///
    /// # Errors
    /// Reason why it could not be kept.
    fn keep(&self, _index: usize, _run: &ComparedRun) -> Result<(), String> {
        Ok(())
    }
}

/// A [`Keeper`] that keeps nothing: every variant runs.
pub struct KeepNothing;

impl Keeper for KeepNothing {}

impl Prepared<'_> {
    /// Runs every variant, in as many threads as the caller's pool has. The results are in the order of the variants,
    /// whatever the order of execution.
    ///
    /// # Errors
    /// Failure of the first variant that failed, with its varied values.
    pub fn compare(&self, verify: bool, progress: &dyn Progress) -> Result<Comparison, Failure> {
        self.compare_keeping(verify, progress, &KeepNothing)
    }

    /// [`Self::compare`] with a keeper: a variant with a kept result does not run, and the results of the others are
    /// kept as they end.
    ///
    /// # Errors
    /// The errors of [`Self::compare`], and a result that cannot be kept. Those of the other variants are kept all the
    /// same.
    pub fn compare_keeping(
        &self,
        verify: bool,
        progress: &dyn Progress,
        keeper: &dyn Keeper,
    ) -> Result<Comparison, Failure> {
        let variants = 0..self.experiment.variants.len();
        let threads = rayon::current_num_threads();
        let handing = match threads {
            _ if self.has_bounds => Handing::Never,
            1 => Handing::OneByOne,
            _ => Handing::AmongSeveral,
        };
        let shares = Shares::new(&self.experiment, verify, handing);
        let first = OnceLock::new();
        // Most of a configuration is that of all runs.
        let share = |result: &mut RunResult| result.config.share(first.get_or_init(|| result.config.clone()));
        let (mut results, mut works) = (Vec::with_capacity(variants.len()), Vec::with_capacity(variants.len()));
        for index in variants {
            match keeper.kept(index) {
                Some(mut result) => {
                    shares.forgo(index);
                    share(&mut result);
                    let vary = self.experiment.variants[index].vary_to_json();
                    results.push((index, Ok(ComparedRun { vary, result: Box::new(result) })));
                }
                None => works.push(self.work(index, &shares)),
            }
        }
        let queue = Queue::new(works, threads);
        let interrupt = progress.interrupt();
        let run_next = || {
            let work = queue.take().filter(|_| !interrupt.is_raised())?;
            let drive = self.drive_of(work.index, verify, progress, &shares);
            queue.aged(&work);
            let run = drive.and_then(|drive| self.compared(work.index, verify, progress, drive.as_deref()));
            queue.ended(&work);
            let keep = |mut run: ComparedRun| {
                share(&mut run.result);
                keeper.keep(work.index, &run).map(|()| run).map_err(Failure::Unkept)
            };
            Some((work.index, run.and_then(keep)))
        };
        let of_threads = rayon::broadcast(|_| iter::from_fn(run_next).collect::<Vec<_>>());
        results.extend(of_threads.into_iter().flatten());
        if interrupt.is_raised() {
            return Err(Failure::Interrupted);
        }
        results.sort_by_key(|(index, _)| *index);
        let runs = results.into_iter().map(|(_, result)| result).collect::<Result<Vec<_>, _>>()?;
        let seeded = self.experiment.seeds.is_some();
        let repeated = if seeded { repeated(&runs, self.experiment.repetitions()) } else { Vec::new() };
        let expectations = self.hold_expectations(&runs);
        let left_out = self.experiment.unfit.iter().map(left_out).collect();
        let hints = hints::compared(&self.experiment, &runs);
        Ok(Comparison { schema: COMPARE_SCHEMA.to_owned(), runs, repeated, left_out, hints, expectations })
    }

    /// Expected work of a run.
    fn work(&self, index: usize, shares: &Shares) -> Work {
        let config = &self.experiment.variants[index].config;
        Work {
            index,
            ageing_pages: if config.run.state.is_some() { 0 } else { expected_pages(config) },
            requests: self.expected_requests(index),
            drive_pages: config.device.geometry().total_pages(),
            drive: shares.of(index),
        }
    }

    /// The aged drive that a run shares with others; `None` if it ages its own.
    fn drive_of(
        &self,
        index: usize,
        verify: bool,
        progress: &dyn Progress,
        shares: &Shares,
    ) -> Result<Option<Arc<AgedDrive>>, Failure> {
        let drive = shares.drive(index, self.preparation(index, verify, progress));
        drive.map_err(|failure| self.told_apart(index, failure))
    }

    /// Runs a variant, on the given aged drive if there is one.
    fn compared(
        &self,
        index: usize,
        verify: bool,
        progress: &dyn Progress,
        drive: Option<&AgedDrive>,
    ) -> Result<ComparedRun, Failure> {
        let result = Box::new(self.run_with(index, verify, progress, drive)?);
        Ok(ComparedRun { vary: self.experiment.variants[index].vary_to_json(), result })
    }

    /// Evaluates the expectations; with several seeds, a number is the mean of those of each.
    fn hold_expectations(&self, runs: &[ComparedRun]) -> Vec<ExpectationResult> {
        let expectations = &self.experiment.expectations;
        if expectations.is_empty() {
            return Vec::new();
        }
        let repetitions = self.experiment.repetitions();
        let seeds = self.experiment.seeds.is_some();
        let of_seed = |seed: usize| {
            let runs = runs.iter().skip(seed).step_by(repetitions).map(Run::from);
            runs.map(|run| if seeds { Run { vary: without_seed(&run.vary), ..run } } else { run }).collect()
        };
        let of_seeds: Vec<Vec<Run>> = (0..repetitions).map(of_seed).collect();
        let of_seeds: Vec<_> = of_seeds.iter().map(|runs| OfThisExperiment(runs)).collect();
        let of_seeds: Vec<&dyn Runs> = of_seeds.iter().map(|runs| runs as &dyn Runs).collect();
        let result = |expected: &Expectation| {
            let values = expected.formula.repeated(&of_seeds, "");
            let values = values.expect("the formula was held against these runs before");
            let value = values.map(|values| Estimate::of(&values).mean);
            ExpectationResult {
                claim: expected.claim.clone(),
                formula: expected.formula.text().to_owned(),
                at_least: expected.bounds.at_least,
                at_most: expected.bounds.at_most,
                value,
                holds: expected.bounds.hold(value),
            }
        };
        expectations.iter().map(result).collect()
    }
}

fn left_out(unfit: &Unfit) -> LeftOutResult {
    let problems = unfit.problems.iter().map(Problem::to_string).collect();
    LeftOutResult { vary: unfit.variant.vary_to_json(), problems }
}

/// The varied keys without the seed, which comes last.
fn without_seed(vary: &Map<String, Value>) -> Map<String, Value> {
    let keys = vary.len().saturating_sub(1);
    vary.iter().take(keys).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Statistics of each figure over runs of the same combination with different seeds, which are consecutive.
fn repeated(runs: &[ComparedRun], seeds: usize) -> Vec<RepeatedResult> {
    let mut first: Option<Vec<BTreeMap<String, f64>>> = None;
    let of_combination = |runs: &[ComparedRun]| {
        let numbers: Vec<BTreeMap<String, f64>> = runs.iter().map(|run| numbers(&run.result)).collect();
        let series = |of: &[BTreeMap<String, f64>], path: &str| {
            of.iter().map(|numbers| numbers.get(path).copied()).collect::<Option<Vec<f64>>>()
        };
        let figure = |path: &String| {
            let own = series(&numbers, path)?;
            let estimate = Estimate::of(&own);
            let others = first.as_ref().and_then(|first| series(first, path));
            let paired = others.map(|others| Paired::of(&own, &others));
            let figure = RepeatedFigure {
                mean: estimate.mean,
                half_width: estimate.half_width,
                difference: paired.map(|paired| paired.difference.mean),
                difference_half_width: paired.map(|paired| paired.difference.half_width),
                unpaired_half_width: paired.map(|paired| paired.unpaired_half_width),
            };
            Some((path.clone(), figure))
        };
        let result = RepeatedResult {
            vary: without_seed(&runs[0].vary),
            seeds: runs.iter().filter_map(|run| run.vary.values().next_back()?.as_u64()).collect(),
            figures: numbers[0].keys().filter_map(figure).collect(),
        };
        first.get_or_insert(numbers);
        result
    };
    runs.chunks(seeds).map(of_combination).collect()
}

/// Every number in a run's result, by the path of its field.
fn numbers(result: &RunResult) -> BTreeMap<String, f64> {
    fn collect(path: &str, value: &Value, numbers: &mut BTreeMap<String, f64>) {
        match value {
            Value::Object(object) => {
                object.iter().for_each(|(name, value)| collect(&format!("{path}.{name}"), value, numbers));
            }
            other => drop(other.as_f64().and_then(|number| numbers.insert(path.to_owned(), number))),
        }
    }
    let result = serde_json::to_value(result).expect("results have text keys and finite numbers");
    let mut numbers = BTreeMap::new();
    for (part, value) in result.as_object().into_iter().flatten() {
        if !NOT_FOUND_OUT.contains(&part.as_str()) {
            collect(part, value, &mut numbers);
        }
    }
    numbers
}
