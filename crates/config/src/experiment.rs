//! A file and its options: one run, or the runs of a comparison.
//!
//! An [`Experiment`] is loaded from a file, the `--set` options that override it and the `--vary` options that multiply
//! it: either every problem in one pass, or one [`Config`] per run.

mod preset_file;
mod sweep;
mod unused;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use flashloom_files::{TEXT_LIMIT_BYTES, TEXT_LIMIT_VARIABLE, limit_of};
use flashloom_units::{Problem, Problems, Refusal, Value};
use flashloom_workload::Fingerprint;
use flashloom_workload::workload::{Context, JobFiles, Workload};

use super::catalog::{Catalog, KeyId, WORKLOAD};
use super::raw::{Axis, Expectation, Report, Source, Sources, read_document, read_ends, read_set, read_vary};
use super::typed::{Config, json_value, rules};
use flashloom_figures::formula::Run;

use preset_file::PresetFiles;
pub use sweep::{Sweep, Unfit};
pub use unused::{Need, Reason, Unused, needs, path_of};

/// Length of all formulas times the number of runs, for each byte that a text may have.
const FORMULAS: u64 = 128;

/// One run of an experiment.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Varied keys with this run's values, in the order in which they were given.
    pub vary: Vec<(KeyId, Value)>,
    /// Configuration of the run.
    pub config: Config,
}

impl Variant {
    /// Varied keys with their values, in the form of `--set`.
    pub fn label(&self) -> String {
        let pairs: Vec<_> = self.vary.iter().map(|(key, value)| format!("{}={}", key.path(), value.show())).collect();
        pairs.join(", ")
    }

    /// The run with another seed, on which no check depends.
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut config = self.config.clone();
        config.seed(seed);
        Self { vary: self.vary.clone(), config }
    }

    /// The run as one of several with different seeds: of a recording, the replicate that the seed draws, unless
    /// `workload.replicate` says otherwise.
    pub fn replicate(&self, seed: u64) -> Self {
        let mut run = self.with_seed(seed);
        run.config.replicate();
        run
    }

    /// Varied keys with their values, for a result.
    pub fn vary_to_json(&self) -> serde_json::Map<String, serde_json::Value> {
        to_json(&self.vary)
    }
}

/// Keys with their values, for a result.
fn to_json(vary: &[(KeyId, Value)]) -> serde_json::Map<String, serde_json::Value> {
    vary.iter().filter_map(|(key, value)| Some((key.path(), json_value(value)?))).collect()
}

/// A file with its options: one configuration, or the cross product of the varied keys.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name of the file as given.
    pub name: String,
    /// The keys that vary; empty for a single run.
    pub axes: Vec<KeyId>,
    /// Runs, in the order of the cross product; the key given first varies slowest.
    pub variants: Vec<Variant>,
    /// Combinations that were left out because their values cannot work together.
    pub unfit: Vec<Unfit>,
    /// Number of seeds per combination, whose runs are consecutive; `None` if each is run once.
    pub seeds: Option<NonZeroU32>,
    /// Lists of the file's `[vary]` section, which a single run ignores.
    pub left_out: Vec<Axis>,
    /// Expectations of the file about a comparison; a single run ignores them too.
    pub expectations: Vec<Expectation>,
    /// Ranges of the file's `[fit]` section, which all but a fit ignore.
    pub ranges: Vec<Axis>,
    /// True if a formula of the file reads the drive's end of life or failed requests: then these are the subject of
    /// the experiment, and not failures of a run.
    pub expects_end_of_life: bool,
    presets: PresetFiles,
    sources: Sources,
}

/// Limit on a text of a file; one that is no number was refused when the file was read.
fn text_limit() -> u64 {
    limit_of(TEXT_LIMIT_VARIABLE, TEXT_LIMIT_BYTES).unwrap_or(TEXT_LIMIT_BYTES)
}

/// Checks the text of a `--set` option by itself: the key, and its value's kind and range. What goes together with
/// other keys is seen when the experiment is loaded.
///
/// # Errors
/// The problem, which points into the option.
pub fn check_set(catalog: &Catalog, text: &str) -> Result<(KeyId, Value), Problems> {
    let mut report = Report::default();
    read_set(catalog, &mut report, text).map(|set| (set.key, set.value)).ok_or_else(|| report.into_problems())
}

impl Experiment {
    /// Loads the single run of a file; its `[vary]` section is checked, but ignored.
    pub fn load_run(catalog: &Arc<Catalog>, path: &str, sets: &[String]) -> Result<Self, Problems> {
        Self::from_source(catalog, Source::read(path)?, sets, None)
    }

    /// Loads the cross product of the `--vary` options and, for keys that no option names, of the file's `[vary]`
    /// section.
    pub fn load_comparison(catalog: &Arc<Catalog>, path: &str, sweep: &Sweep<'_>) -> Result<Self, Problems> {
        Self::read(catalog, Source::read(path)?, sweep.sets, Some(sweep))
    }

    /// Loads an experiment from a text in memory: like [`Self::load_run`] or, with a list of `--vary` options, like
    /// [`Self::load_comparison`].
    pub fn from_source(
        catalog: &Arc<Catalog>,
        source: Source,
        sets: &[String],
        varies: Option<&[String]>,
    ) -> Result<Self, Problems> {
        let sweep = varies.map(|varies| Sweep { sets, varies, ..Sweep::default() });
        Self::read(catalog, source, sets, sweep.as_ref())
    }

    /// Loads a comparison from a text in memory, like [`Self::load_comparison`].
    pub fn comparison_from_source(catalog: &Arc<Catalog>, source: Source, sweep: &Sweep<'_>) -> Result<Self, Problems> {
        Self::read(catalog, source, sweep.sets, Some(sweep))
    }

    fn read(
        catalog: &Arc<Catalog>,
        source: Source,
        sets: &[String],
        sweep: Option<&Sweep<'_>>,
    ) -> Result<Self, Problems> {
        let name = source.name.clone();
        let Sweep { varies, skip_unfit, seeds, .. } = sweep.copied().unwrap_or_default();
        let mut report = Report::default();
        let index = report.sources.add(source);
        let (catalog, mut document) = read_document(catalog, &mut report, index);
        let catalog = &catalog;
        let sets: Vec<_> = sets.iter().filter_map(|text| read_set(catalog, &mut report, text)).collect();
        let options = varies.iter().enumerate();
        let written: Vec<Axis> =
            options.flat_map(|(number, text)| read_vary(catalog, &mut report, text, number)).collect();
        let of_file = std::mem::take(&mut document.axes);
        if sweep.is_some() {
            sweep::check_groups(&mut report, &of_file, &written, &sets);
        }
        let axes = sweep::choose_axes(&mut report, of_file, written, &sets);
        document.assignments.extend(sets);
        let presets = PresetFiles::read(catalog, &mut report, &document.assignments, &axes);
        let (mut axes, left_out) = if sweep.is_some() { (axes, Vec::new()) } else { (Vec::new(), axes) };
        if sweep.is_some() && axes.is_empty() && seeds.is_none() && report.is_clean() {
            let expected = "at least one `--vary KEY=A,B`, or a [vary] section";
            let found = "nothing varies, so that there is nothing to compare";
            return Err(Problem::file(&name, found, expected).into());
        }
        if !sweep::check_size(&mut report, &document.assignments, &axes, seeds) {
            return Err(report.into_problems());
        }
        let variants = sweep::cross_product(catalog, &document, &axes, &presets);
        let (mut variants, unfit) = sweep::fitting(variants, skip_unfit, &mut report);
        if let Some(seeds) = seeds {
            variants = sweep::with_seeds(catalog, variants, &mut axes, seeds, &mut report);
        }
        if !report.is_clean() {
            return Err(report.into_problems());
        }
        let reads = |field: &str| ["end_of_life", "host.failed"].iter().any(|section| field.starts_with(section));
        let expects_end_of_life =
            document.expectations.iter().any(|expected| expected.formula.fields().iter().any(|field| reads(field)));
        let expectations = if sweep.is_some() { document.expectations } else { Vec::new() };
        Ok(Self {
            name,
            axes: axes.iter().map(|axis| axis.key).collect(),
            variants,
            unfit,
            seeds,
            left_out,
            expectations,
            ranges: document.fit,
            expects_end_of_life,
            presets,
            sources: report.sources,
        })
    }

    /// The ranges of a fit that starts from this experiment: those of `--vary` options, and the file's for keys that no
    /// option names.
    ///
    /// # Errors
    /// Every problem of the options.
    pub fn ranges_with(&mut self, catalog: &Catalog, options: &[String]) -> Result<Vec<Axis>, Problems> {
        let mut report = Report::on(self.sources.clone());
        let written = options.iter().filter_map(|text| read_ends(catalog, &mut report, text)).collect();
        let ranges = sweep::choose_axes(&mut report, self.ranges.clone(), written, &[]);
        self.sources = report.sources.clone();
        report.or(ranges)
    }

    /// The experiment with one run alone.
    pub fn alone(&self, variant: Variant) -> Self {
        let variants = vec![variant];
        Self {
            name: self.name.clone(),
            axes: Vec::new(),
            variants,
            unfit: Vec::new(),
            seeds: None,
            left_out: Vec::new(),
            expectations: Vec::new(),
            ranges: Vec::new(),
            expects_end_of_life: self.expects_end_of_life,
            presets: self.presets.clone(),
            sources: self.sources.clone(),
        }
    }

    /// Turns a refusal into a problem at the place of a range.
    pub fn problem_of_range(&self, range: &Axis, refusal: Refusal) -> Problem {
        self.sources.problem(&range.origin, refusal)
    }

    /// A run of this experiment with other values for some keys, including keys that vary. Its varied keys keep the
    /// values that identify it among the runs, whatever the new configuration has.
    ///
    /// # Errors
    /// Every problem of the options, or of the resulting configuration.
    pub fn replaced(&self, variant: &Variant, sets: &[String]) -> Result<Variant, Problems> {
        let catalog = variant.config.catalog();
        let mut report = Report::on(self.sources.clone());
        let sets: Vec<_> = sets.iter().filter_map(|text| read_set(catalog, &mut report, text)).collect();
        for set in sets.iter().filter(|set| set.key.path() == "device.preset") {
            report.refuse(&set.origin, Refusal::new("another preset in place of that of the run", "any other key"));
        }
        let mut settings = variant.config.settings.clone();
        settings.assign(&sets);
        let config = Config::new(settings);
        rules::check(&config, &mut report);
        report.or(Variant { vary: variant.vary.clone(), config })
    }

    /// Refuses several workloads, for what is about one.
    ///
    /// # Errors
    /// An experiment that has several, at the last of them.
    pub fn check_one_workload(&self) -> Result<(), Problem> {
        let several = self.variants.iter().map(|variant| &variant.config).find(|config| !config.workloads.is_empty());
        let Some(config) = several else { return Ok(()) };
        let found = format!("[[{WORKLOAD}]], a list of {}", config.workloads.len());
        Err(self.problem(config, Refusal::new(found, format!("one workload, [{WORKLOAD}]")).at(["workload.kind"])))
    }

    /// Turns a refusal into a problem that points at its keys in a run's configuration.
    pub fn problem(&self, config: &Config, refusal: Refusal) -> Problem {
        self.sources.problem(&config.settings.pointer(&refusal.keys), refusal)
    }

    /// Checks the expectations with these runs: options may have left out some that a formula names.
    ///
    /// # Errors
    /// Every problem of a formula.
    pub fn check_expectations(&self) -> Result<(), Problems> {
        if self.expectations.is_empty() {
            return Ok(());
        }
        let has_anatomy = self.variants.iter().all(|variant| variant.config.run.anatomy);
        let runs = self.runs_of_first_seed();
        let mut report = Report::on(self.sources.clone());
        // Each figure of a formula looks at each run.
        let looks = self.expectations.iter().map(|expected| expected.formula.text().len() as u64).sum::<u64>();
        let (looks, most) = (looks.saturating_mul(runs.len() as u64), text_limit().saturating_mul(FORMULAS));
        if looks > most {
            let found = format!("formulas whose length, times the {} runs that they look at, is {looks}", runs.len());
            let help = format!("fewer of them; {TEXT_LIMIT_VARIABLE} (bytes, {FORMULAS} for each) raises the limit");
            let refusal = Refusal::new(found, format!("at most {most}")).help(help);
            report.refuse(&self.expectations[0].origin, refusal);
            return report.or(());
        }
        for expected in &self.expectations {
            if let Some(refusal) = misfit(expected, has_anatomy, &runs) {
                report.refuse(&expected.origin, refusal);
            }
        }
        report.or(())
    }

    /// Number of consecutive runs with different seeds for each combination.
    pub fn repetitions(&self) -> usize {
        self.seeds.map_or(1, |seeds| seeds.get() as usize)
    }

    /// The combinations of one repetition as formulas see them before there are results: without the seed, unless it is
    /// one of the varied keys.
    fn runs_of_first_seed(&self) -> Vec<Run> {
        let no_result = Arc::new(serde_json::Value::Null);
        let of_formulas = |variant: &Variant| {
            let keys = variant.vary.len() - usize::from(self.seeds.is_some());
            Run { vary: to_json(&variant.vary[..keys]), result: Arc::clone(&no_result) }
        };
        self.variants.iter().step_by(self.repetitions()).map(of_formulas).collect()
    }

    /// Input files of the runs, as far as the configuration names them: itself, recordings, job files, saved drives.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let paths = |variant: &Variant| {
            let config = &variant.config;
            let located = |config: &Config, key: &str, path: &Option<String>| {
                path.as_ref().map(|path| self.located(config, key, path))
            };
            let mut paths: Vec<PathBuf> =
                config.each().filter_map(|one| located(one, "workload.path", &one.workload.path)).collect();
            paths.extend(located(config, "run.state", &config.run.state));
            paths
        };
        let presets = self.presets.sources().map(|source| PathBuf::from(&self.sources.get(source).name));
        let own = std::iter::once(PathBuf::from(&self.name)).chain(presets);
        own.chain(self.variants.iter().flat_map(paths)).collect()
    }

    /// Hash of the experiment's own file, as it was read.
    pub fn fingerprint(&self) -> Fingerprint {
        let source = self.sources.get(0);
        Fingerprint::of(&source.name, source.text.as_bytes())
    }

    /// Hash of the file of a run's preset, as it was read; nothing of a preset with a name.
    pub fn preset_fingerprint(&self, config: &Config) -> Option<Fingerprint> {
        let Value::Text(path) = config.settings.value("device.preset") else { return None };
        let source = self.sources.get(self.presets.source(path)?);
        Some(Fingerprint::of(&source.name, source.text.as_bytes()))
    }

    /// Builds the workload of one of several runs, which share the job files that they read, before its input is read.
    ///
    /// # Errors
    /// Reason why it cannot be built.
    pub fn workload_sharing(&self, config: &Config, job_files: &JobFiles) -> Result<Box<dyn Workload>, Refusal> {
        let context = Context { job_files: job_files.clone(), ..config.workload_context(&self.sources) };
        config.chosen_workload().build(&context)
    }

    /// Resolves a path that is the value of `key`: relative to the folder of the file, or to the working directory if
    /// an option gave it.
    pub fn located(&self, config: &Config, key: &str, path: &str) -> PathBuf {
        config.settings.located(key, path, &self.sources)
    }
}

/// Refusal of an expectation whose formula does not fit these runs, before there are results.
fn misfit(expected: &Expectation, has_anatomy: bool, runs: &[Run]) -> Option<Refusal> {
    const LEAVE_OUT: &str = "`--no-expect` leaves the expectations of the file out";
    let needs_anatomy = expected.formula.fields().iter().any(|field| field.starts_with("host.anatomy."));
    if needs_anatomy && !has_anatomy {
        let refusal = Refusal::new("`host.anatomy` of runs that keep no anatomy", "`run.anatomy = true`");
        return Some(refusal.help(LEAVE_OUT));
    }
    let found = expected.value(runs).err()?;
    Some(Refusal::new(found, "one number of the runs of this comparison").help(LEAVE_OUT))
}
