//! Fits: the parameters of a drive that repeat measurements of a real one best.
//!
//! ```text
//! loads       jobs of fio, recordings and curves of rates, each repeated by one simulation
//! cells       jobs, slices of recordings and stretches of curves; some are held out, and no search sees them
//! space       the parameters: keys with ranges, and combinations of listed values
//! objective   how far the simulations of the fitted cells are from what was measured (figures)
//! search      the point of the least objective
//! spread      which other values are as good: those are not determined by these measurements
//! ```
//! Equal inputs, options and seeds make equal bytes, in any number of threads and however often a fit was interrupted.

mod bench;
mod cell;
mod combination;
mod evaluate;
mod figures;
mod journal;
mod load;
mod preset;
mod result;
mod search;
mod slices;
mod space;
mod spread;
mod text;
mod written_jobs;

pub use text::fit as text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashloom_config::{Axis, Catalog, Config, Experiment, FIT, Source, VARY, Variant};
use flashloom_device::PRESETS;
use flashloom_figures::result::HintResult;
use flashloom_run::{Failure, Progress};
use flashloom_units::{Problem, Problems, Refusal, choice};
use sha2::{Digest, Sha256};

use crate::validate::curve::is_curve;
use crate::validate::{Curve, begins_as, fio_output, text_of};
use bench::Bench;
use cell::{Cell, device, two_devices};
use combination::{Combination, Footprint};
use evaluate::{Evaluator, Found, IMPOSSIBLE};
use load::Load;
use search::{Search, search};
use space::{MOST_COMBINATIONS, Space, too_many};
use spread::{SEEDS, Spread, spread};

pub use bench::{Answer, Question, Simulator};
pub use journal::Journal;
pub use preset::fitted_preset;
pub use result::{
    CombinationResult, ErrorResult, FIT_SCHEMA, FitResult, FittedCell, FittedParameter, QuantityResult, SearchEnd,
    SummaryResult,
};
pub use written_jobs::{JobTime, PAGE, job_files};

/// Jobs, recordings and curves at most.
const MOST_LOADS: usize = 1_024;
/// Jobs, recordings and curves times combinations of listed values at most; each has the configurations of all seeds.
const MOST_RUNS: usize = 8_192;

choice! {
    /// Rule by which cells are held out: no search for the parameters that they judge has seen them.
    pub enum HoldOut {
        /// every second cell, in the order of the inputs
        Second = "second",
        /// each cell in turn, by a fit of all others; the result is the fit of all
        Each = "each",
        /// no cell: all errors are those of the fit itself
        None = "none",
    }
}

/// Options of a fit.
#[derive(Clone, Debug)]
pub struct FitOptions<'a> {
    /// Measurements: the JSON of fio, recordings with latencies, and curves of rates.
    pub inputs: &'a [String],
    /// The experiment to start from, of [`start_of`] or any other.
    pub start: &'a Source,
    /// Keys to set to another value than the start's, `KEY=VALUE`.
    pub sets: &'a [String],
    /// Parameters, `KEY=FROM..TO` or `KEY=A,B,C`, in addition to those of the start's `[fit]` section.
    pub varies: &'a [String],
    /// Rule by which cells are held out.
    pub hold_out: HoldOut,
    /// Requests simulated of each job of fio, and at most of each slice of a recording.
    pub requests: u64,
    /// Slices that a recording is cut into.
    pub slices: u64,
    /// Searches from different points.
    pub restarts: u64,
    /// Seed of these points.
    pub seed: u64,
}

/// A fit whose inputs have been checked.
pub struct Fit {
    start: Start,
    /// Options that replace keys of the start.
    sets: Vec<String>,
    inputs: Vec<String>,
    hold_out: HoldOut,
    requests: u64,
    slices: u64,
    restarts: u64,
    seed: u64,
    bench: Bench,
    cells: Vec<Cell>,
    space: Space,
    combinations: Vec<Combination>,
    left_out: Vec<(Combination, String)>,
}

/// Where a fit starts.
struct Start {
    name: String,
    /// Its file and what it reads.
    files: Vec<PathBuf>,
    source: Source,
    /// The start's own configuration, with the options.
    variant: Variant,
}

impl Fit {
    /// Loads the start and the measurements, and checks that they can be fitted.
    ///
    /// # Errors
    /// Every problem of the start and of the options, or the first of a measurement.
    pub fn load(catalog: &Arc<Catalog>, options: &FitOptions<'_>) -> Result<Self, Problems> {
        let FitOptions { inputs, start, sets, varies, hold_out, requests, slices, restarts, seed } = *options;
        let source = start.clone();
        let mut base = Experiment::from_source(catalog, source.clone(), sets, None)?;
        crate::validate::check_timed(&base)?;
        check_lists(&base)?;
        let axes = base.ranges_with(catalog, varies)?;
        let make =
            |of_load: &[String]| Experiment::from_source(catalog, source.clone(), &[sets, of_load].concat(), None);
        let (mut loads, mut cells, mut devices) = (Vec::new(), Vec::new(), Vec::new());
        for input in inputs {
            let is_curve = begins_as(input, is_curve)?;
            if !is_curve && begins_as(input, fio_output::is_json)? {
                for job in fio_output::read(input, &text_of(input)?)? {
                    check_number(loads.len() + 1, input)?;
                    devices.push((input.clone(), device(&job).map(str::to_owned)));
                    let (load, cell) = Load::job(loads.len(), input, job, &make, requests)?;
                    loads.push(load);
                    cells.push(cell);
                }
                continue;
            }
            check_number(loads.len() + 1, input)?;
            let (load, of_load) = if is_curve {
                Load::curve(loads.len(), input, Curve::read(input, &text_of(input)?)?, &make)?
            } else {
                Load::recording(loads.len(), input, &make, slices, requests)?
            };
            loads.push(load);
            cells.extend(of_load);
        }
        if let Some(problem) = two_devices(&devices).or_else(|| twice(&loads, &cells)) {
            return Err(problem.into());
        }
        let writes = loads.iter().any(|load: &Load| load.footprint.writes);
        let space = if axes.is_empty() {
            let reads = cells.iter().any(|cell: &Cell| cell.recorded.0[0].is_some());
            Space::around(&base.variants[0].config, reads, writes)
        } else {
            Space::new(&axes)
        };
        for axis in &axes {
            check_key(&axis.key.path()).map_err(|refusal| base.problem_of_range(axis, refusal))?;
        }
        let variant = base.variants[0].clone();
        let name = source.name.clone();
        let files = if is_preset(&name) { Vec::new() } else { base.inputs() };
        let start = Start { name, files, source, variant };
        let sets = sets.to_vec();
        let (bench, combinations, left_out) = (Bench::new(Vec::new(), 0), Vec::new(), Vec::new());
        let inputs = inputs.to_vec();
        let mut fit = Self {
            start,
            sets,
            inputs,
            hold_out,
            requests,
            slices,
            restarts,
            seed,
            bench,
            cells,
            space,
            combinations,
            left_out,
        };
        fit.check_cells()?;
        fit.combine(&base, loads)?;
        Ok(fit)
    }

    /// Files that are read.
    pub fn inputs(&self) -> Vec<PathBuf> {
        self.start.files.iter().cloned().chain(self.inputs.iter().map(PathBuf::from)).collect()
    }

    /// The saved drive that every simulation begins with, if the start names one.
    pub fn saved_drive(&self) -> Option<PathBuf> {
        let config = &self.start.variant.config;
        let experiment = self.bench.loads().first()?.prepared.experiment();
        config.run.state.as_deref().map(|path| experiment.located(config, "run.state", path))
    }

    /// Indices of the cells that the result is fitted to, and of those that it is judged by.
    fn parts(&self) -> [Vec<usize>; 2] {
        let is_held_out = |cell: &usize| self.hold_out == HoldOut::Second && cell % 2 == 1;
        let (held_out, fitted) = (0..self.cells.len()).partition(is_held_out);
        [fitted, held_out]
    }

    /// Refuses too few cells.
    fn check_cells(&self) -> Result<(), Problem> {
        let refuse = |found: String, expected: String, help: &str| {
            Err(Refusal::new(found, expected).help(help).in_file(self.inputs.first().map_or("fit", String::as_str)))
        };
        let [fitted, _] = self.parts();
        let least = if self.hold_out == HoldOut::None { 1 } else { 2 };
        if self.cells.len() < least {
            let found = format!("{} cell, of which some are to be held out", self.cells.len());
            return refuse(found, format!("at least {least} cells"), "`--hold-out none` fits all that there are");
        }
        let fewest = if self.hold_out == HoldOut::Each { fitted.len() - 1 } else { fitted.len() };
        let figures: usize = fitted.iter().take(fewest).map(|cell| self.cells[*cell].recorded.count()).sum();
        let parameters = self.space.ranges.len() + self.space.lists.len();
        if figures < parameters {
            let found = format!("{figures} measured figures of the fitted cells for {parameters} parameters");
            return refuse(found, "at least as many figures".to_owned(), "more cells, or fewer parameters (--vary)");
        }
        Ok(())
    }

    /// Builds the drives of all combinations, on which every cell is then prepared. Those whose values cannot work
    /// together are left out, if others remain.
    fn combine(&mut self, base: &Experiment, loads: Vec<Load>) -> Result<(), Problems> {
        let count = self.space.combinations();
        let Some(fewer) = count.filter(|count| *count <= MOST_COMBINATIONS) else {
            return Err(too_many(count).in_file("--vary").into());
        };
        let runs = loads.len() * fewer;
        if runs > MOST_RUNS {
            let found = format!("{runs} loads times combinations of listed values");
            let refusal = Refusal::new(found, format!("at most {MOST_RUNS}")).help("fewer values, or fewer jobs");
            return Err(refusal.in_file("--vary").into());
        }
        self.check_ends(base)?;
        let footprint = loads.iter().fold(Footprint::default(), |sum, load| sum.with(load.footprint));
        let mut first = None;
        for values in self.space.combined() {
            let mut combination = Combination::of_drive(&self.space, values, &self.start.variant.config);
            match base.replaced(&base.variants[0], &combination.sets) {
                Ok(variant) => {
                    combination.shrink(&variant.config, footprint);
                    self.combinations.push(combination);
                }
                Err(problems) => {
                    let reason = problems.0.first().map_or(String::new(), |problem| problem.refusal.found.clone());
                    self.left_out.push((combination, reason));
                    first.get_or_insert(problems);
                }
            }
        }
        if let Some(problems) = first.filter(|_| self.combinations.is_empty()) {
            return Err(problems);
        }
        let ready = loads.into_iter().map(|load| {
            let own = &load.experiment.variants[0];
            let variant = |combination: &Combination| load.experiment.replaced(own, &combination.sets);
            let variants = self.combinations.iter().map(variant).collect::<Result<Vec<_>, _>>()?;
            // The seed is that of the load plus `by`.
            let reseeded = |variant: &Variant, by: u64| variant.with_seed(variant.config.run.seed.wrapping_add(by));
            let of_seed = |by: u64| variants.iter().map(move |variant| reseeded(variant, by));
            let runs = (0..=SEEDS).flat_map(of_seed).collect();
            load.lay_out(runs)
        });
        self.bench = Bench::new(ready.collect::<Result<_, Problems>>()?, self.combinations.len());
        Ok(())
    }

    /// Refuses ranges whose ends cannot work with the start.
    fn check_ends(&self, base: &Experiment) -> Result<(), Problems> {
        for range in &self.space.ranges {
            for end in [&range.from, &range.to] {
                let set = flashloom_config::toml_value(end).map(|value| format!("{}={value}", range.key.path()));
                base.replaced(&base.variants[0], &set.into_iter().collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    /// Hash of all that the simulations depend on but their points: the loads, their drives, and the program, by the
    /// hash of its file.
    pub fn fingerprint(&self, program_sha256: &str) -> String {
        let mut hash = Sha256::new().chain_update(program_sha256);
        self.bench.loads().iter().for_each(|load| load.add_to(&mut hash));
        format!("{:x}", hash.finalize())
    }

    /// Opens the journal of this fit, or begins it: a file that keeps every simulation as it ends.
    ///
    /// # Errors
    /// A file that is no journal, or that of another fit or program; one that cannot be written.
    pub fn open_journal(&self, path: &Path, program_sha256: &str) -> Result<Journal, Problem> {
        let cells = |load: usize| self.cells.iter().filter(|cell| cell.load == load).count();
        let cells: Vec<usize> = (0..self.bench.loads().len()).map(cells).collect();
        Journal::open(path, &self.fingerprint(program_sha256), &cells)
    }

    /// Fits. What the journal has is not simulated again.
    ///
    /// # Errors
    /// A simulation that failed.
    pub fn run(&self, journal: Journal, progress: &dyn Progress) -> Result<FitResult, Failure> {
        self.run_on(self, journal, progress)
    }

    /// [`Self::run`] with simulations made by somebody else, such as fits in other processes; the result is the same.
    ///
    /// # Errors
    /// A simulation that failed.
    pub fn run_on(
        &self,
        simulator: &dyn Simulator,
        journal: Journal,
        progress: &dyn Progress,
    ) -> Result<FitResult, Failure> {
        let Self { space, combinations, bench, cells, .. } = self;
        let points = 0.into();
        let evaluator = Evaluator { space, combinations, bench, cells, simulator, journal, progress, points };
        let [fitted, held_out] = self.parts();
        let mut of_others: Vec<Search> = Vec::new();
        if self.hold_out == HoldOut::Each {
            for cell in &fitted {
                let others: Vec<usize> = fitted.iter().copied().filter(|other| other != cell).collect();
                of_others.push(search(&evaluator, &others, self.restarts, self.seed, &[])?);
            }
        }
        let known: Vec<Found> = of_others.iter().map(|search| search.best.clone()).collect();
        let found = search(&evaluator, &fitted, self.restarts, self.seed, &known)?;
        if found.best.objective >= IMPOSSIBLE {
            let message = "no drive within these ranges serves the measured loads: its values cannot work together, \
                           or its life ends";
            return Err(Failure::Unkept(message.to_owned()));
        }
        let spread = spread(&evaluator, &fitted, &found)?;
        let mut cells = Vec::with_capacity(self.cells.len());
        for (index, cell) in self.cells.iter().enumerate() {
            let errors_at = |search: &Search| -> Result<Vec<QuantityResult>, Failure> {
                let values = self.space.values(&search.best.point);
                let simulated = evaluator.simulated(cell.load, search.best.combination, &values, 0)?;
                Ok(simulated
                    .map(|of_load| cell.recorded.errors(&of_load.figures[cell.part], cell.null_rate))
                    .unwrap_or_default())
            };
            let (errors, seen_errors) = match of_others.get(index) {
                Some(others) => (errors_at(others)?, errors_at(&found)?),
                None => (errors_at(&found)?, Vec::new()),
            };
            cells.push(FittedCell {
                input: cell.input.clone(),
                job: Some(cell.job.clone()),
                load: cell.words.clone(),
                held_out: !of_others.is_empty() || held_out.contains(&index),
                errors,
                seen_errors,
            });
        }
        let hints = self.hints(&evaluator, &found.best)?;
        Ok(self.result(evaluator.points.into_inner(), &found, &spread, cells, hints))
    }

    /// What the runs of the best point say of its drive: each hint once, with the load that it holds for and the number
    /// of the others.
    fn hints(&self, evaluator: &Evaluator<'_>, best: &Found) -> Result<Vec<String>, Failure> {
        let values = self.space.values(&best.point);
        let mut said: Vec<(HintResult, &str, usize)> = Vec::new();
        for (index, load) in self.bench.loads().iter().enumerate() {
            let simulated = evaluator.simulated(index, best.combination, &values, 0)?;
            for hint in simulated.into_iter().flat_map(|simulated| simulated.hints) {
                match said.iter_mut().find(|(known, ..)| known.about == hint.about) {
                    Some((.., others)) => *others += 1,
                    None => said.push((hint, &load.name, 0)),
                }
            }
        }
        let shown = |(HintResult { text, key, .. }, load, others): (HintResult, &str, usize)| match others {
            0 => format!("{load}: {text} (`{key}`)"),
            others => format!("{load}, and {others} more: {text} (`{key}`)"),
        };
        Ok(said.into_iter().map(shown).collect())
    }

    fn result(
        &self,
        points: u64,
        found: &Search,
        spread: &Spread,
        cells: Vec<FittedCell>,
        hints: Vec<String>,
    ) -> FitResult {
        let best = &found.best;
        let least = |combination: usize| {
            let of = found.all.iter().filter(|found| found.combination == combination);
            of.map(|found| found.objective).min_by(f64::total_cmp)
        };
        let mut combinations: Vec<CombinationResult> = (0..self.combinations.len())
            .map(|index| CombinationResult {
                values: self.combinations[index].of_drive.clone(),
                objective: least(index),
                round: found.rounds[index],
                left_out: None,
            })
            .collect();
        let objective = |of: &CombinationResult| of.objective.unwrap_or(f64::INFINITY);
        combinations.sort_by(|one, other| objective(one).total_cmp(&objective(other)));
        combinations.extend(self.left_out.iter().map(|(combination, reason)| CombinationResult {
            values: combination.of_drive.clone(),
            objective: None,
            round: 0,
            left_out: Some(reason.clone()),
        }));
        let ranges = |point: &[f64]| {
            let values = self.space.values(point);
            let set = |(range, value): (&space::Range, &flashloom_units::Value)| {
                format!("{}={}", range.key.path(), value.show())
            };
            self.space.ranges.iter().zip(&values).map(set).collect::<Vec<_>>()
        };
        let ends = found.ends.iter().map(|end| SearchEnd { objective: end.objective, values: ranges(&end.point) });
        let summary = summary(&cells);
        let mut warnings: Vec<String> = worse_than_null(&summary).into_iter().collect();
        let of_loads = self.bench.loads().iter().flat_map(|load| load.warnings.iter().cloned());
        warnings.extend(of_loads.chain(hints));
        let parameters = spread::parameters(&self.space, &self.combinations, &self.start.variant.config, best, spread);
        let at_ends =
            parameters.iter().filter(|parameter| parameter.is_range && parameter.tried.contains(&parameter.value));
        warnings.extend(at_ends.map(|parameter| {
            format!("`{}` is at an end of its range, {}: a wider range may fit better", parameter.key, parameter.value)
        }));
        FitResult {
            schema: FIT_SCHEMA.to_owned(),
            start: self.start.name.clone(),
            sets: self.sets.clone(),
            inputs: self.inputs.clone(),
            hold_out: self.hold_out.name().to_owned(),
            requests: self.requests,
            slices: self.slices,
            restarts: self.restarts,
            seed: self.seed,
            points,
            objective: best.objective,
            noise: spread.noise,
            parameters,
            combinations,
            searches: ends.collect(),
            summary,
            cells,
            warnings,
        }
    }

    /// The start with the fitted values: the drive that a fit found, at its full size.
    ///
    /// # Errors
    /// Values of another fit.
    pub fn fitted(&self, result: &FitResult) -> Result<Config, Problems> {
        let mut sets = result.combinations.first().map_or_else(Vec::new, |best| best.values.clone());
        let ranges = result.parameters.iter().filter(|parameter| parameter.is_range);
        sets.extend(ranges.map(|parameter| format!("{}={}", parameter.key, parameter.value)));
        let catalog = self.start.variant.config.catalog();
        let base = Experiment::from_source(catalog, self.start.source.clone(), &[], None)?;
        base.replaced(&self.start.variant, &sets).map(|variant| variant.config)
    }
}

impl Simulator for Fit {
    fn simulate(&self, question: &Question, progress: &dyn Progress) -> Result<Answer, Failure> {
        self.bench.simulate(question, progress)
    }
}

/// Refuses too many loads, by the number of the next.
fn check_number(number: usize, input: &str) -> Result<(), Problem> {
    if number <= MOST_LOADS {
        return Ok(());
    }
    Err(Refusal::new(format!("more than {MOST_LOADS} measurements"), "fewer measurements").in_file(input))
}

/// Refusal of a measurement that is there twice: held out once, the searches would see it all the same.
fn twice(loads: &[Load], cells: &[Cell]) -> Option<Problem> {
    for (index, cell) in cells.iter().enumerate() {
        let is_equal = |other: &&Cell| {
            other.load != cell.load && other.recorded == cell.recorded && loads[other.load].is(&loads[cell.load])
        };
        if let Some(other) = cells[..index].iter().find(is_equal) {
            let found = format!("{:?} is the same measurement as {:?} of {}", cell.job, other.job, other.input);
            let refusal = Refusal::new(found, "each measurement once: a cell that is held out is not fitted");
            return Some(refusal.in_file(&cell.input));
        }
    }
    None
}

/// True if a name is that of a described drive.
fn is_preset(name: &str) -> bool {
    PRESETS.iter().any(|preset| preset.name == name)
}

/// The experiment that a fit starts from: a file, or a preset alone, by their names.
///
/// # Errors
/// A name that is neither, or a file that cannot be read.
pub fn start_of(start: &str) -> Result<Source, Problem> {
    if is_preset(start) {
        return Ok(Source::text(start, &format!("[device]\npreset = \"{start}\"\n")));
    }
    if !Path::new(start).exists() && !start.contains(['/', '\\', '.']) {
        let names = || PRESETS.iter().map(|preset| preset.name);
        let refusal = Refusal::new(
            format!("`{start}` is neither a preset nor a file"),
            format!("{}, or the file of an experiment", flashloom_units::one_of(names())),
        );
        return Err(refusal.suggesting(start, names()).in_file("--start"));
    }
    Source::read(start)
}

/// Refuses a start with lists of a comparison, of which none would be looked at.
fn check_lists(base: &Experiment) -> Result<(), Problems> {
    let refuse = |axis: &Axis| {
        let path = axis.key.path();
        let refusal = Refusal::new(format!("`{path}` in [{VARY}] of the start of a fit"), "one value");
        base.problem_of_range(axis, refusal.help(format!("parameters of a fit are in [{FIT}], or `--vary` options")))
    };
    let problems: Vec<Problem> = base.left_out.iter().map(refuse).collect();
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

/// Refuses keys that say what is measured, and not what the drive is.
fn check_key(path: &str) -> Result<(), Refusal> {
    const OF_DRIVES: [&str; 4] = ["device.", "buffer.", "ftl.", "host."];
    if path == "device.preset" || !OF_DRIVES.iter().any(|section| path.starts_with(section)) {
        let refusal = Refusal::new(format!("`{path}` as a parameter"), "a key of [device], [buffer], [ftl] or [host]");
        return Err(refusal.help("the load is that of the measurements, and the start says the preset"));
    }
    Ok(())
}

/// Errors of each quantity over the cells.
fn summary(cells: &[FittedCell]) -> Vec<SummaryResult> {
    // In the order of operations, and of the quantities of each.
    let order = |quantity: &str| figures::QUANTITIES.iter().position(|known| known.name == quantity);
    let of_cells = cells.iter().flat_map(|cell| &cell.errors);
    let names: BTreeSet<_> =
        of_cells.map(|one| (one.operation.clone(), order(&one.quantity), one.quantity.clone())).collect();
    let over = |errors: &[&QuantityResult]| {
        let count = errors.len() as f64;
        let absolute = || errors.iter().map(|one| one.error.abs());
        (!errors.is_empty()).then(|| ErrorResult {
            cells: errors.len() as u64,
            mean: absolute().sum::<f64>() / count,
            greatest: absolute().fold(0.0, f64::max),
            null_mean: errors.iter().map(|one| one.null_error.abs()).sum::<f64>() / count,
        })
    };
    let of = |(operation, _, quantity): (String, Option<usize>, String)| {
        let is_of = |one: &&QuantityResult| one.operation == operation && one.quantity == quantity;
        let seen = cells.iter().flat_map(|cell| if cell.held_out { &cell.seen_errors } else { &cell.errors });
        let unseen = cells.iter().filter(|cell| cell.held_out).flat_map(|cell| &cell.errors);
        let fitted = over(&seen.filter(is_of).collect::<Vec<_>>());
        let held_out = over(&unseen.filter(is_of).collect::<Vec<_>>());
        SummaryResult { fitted, held_out, operation, quantity }
    };
    names.into_iter().map(of).collect()
}

/// Warning of the quantities whose errors are above those of the null, in the cells that were held out if there are
/// any: of these the measured mean says more than the fitted drive.
fn worse_than_null(summary: &[SummaryResult]) -> Option<String> {
    let percent = flashloom_figures::number::percent;
    let worse: Vec<String> = summary
        .iter()
        .filter_map(|one| Some((one, one.held_out.or(one.fitted)?)))
        // Of the means themselves the null has no error.
        .filter(|(_, error)| error.null_mean > 0.0 && error.mean > error.null_mean)
        .map(|(SummaryResult { operation, quantity, .. }, error)| {
            format!("{operation} {quantity} {} (null {})", percent(error.mean), percent(error.null_mean))
        })
        .collect();
    let of = worse.join(", ");
    (!worse.is_empty()).then(|| format!("the fitted drive is further off than the null, the recorded mean alone: {of}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_that_are_further_off_than_the_null_are_named() {
        let error = |mean: f64, null_mean: f64| Some(ErrorResult { cells: 2, mean, greatest: mean, null_mean });
        let of = |quantity: &str, fitted, held_out| SummaryResult {
            operation: "read".to_owned(),
            quantity: quantity.to_owned(),
            fitted,
            held_out,
        };
        let summary = [
            of("requests/s", error(0.2, 0.0), None),
            of("p50", error(0.1, 0.2), error(0.3, 0.2)),
            of("p99", error(0.9, 0.8), error(0.1, 0.8)),
            of("p99.9", error(0.9, 0.8), None),
        ];
        let warning = worse_than_null(&summary).expect("some are");
        assert!(warning.ends_with("read p50 30.0 % (null 20.0 %), read p99.9 90.0 % (null 80.0 %)"), "{warning}");
        assert_eq!(worse_than_null(&summary[..1]), None, "the null has no error there");
    }
}
