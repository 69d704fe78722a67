//! What a file and its options describe: one run, or the runs of a comparison.
//!
//! An [`Experiment`] is loaded from a file, the `--set` options that override it and the `--vary` options that multiply
//! it: every problem in one pass, or one [`Config`] a run.

mod sweep;
mod unused;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use flashloom_units::{Problem, Problems, Refusal, Value};
use flashloom_workload::Fingerprint;
use flashloom_workload::workload::Workload;

use super::catalog::{Catalog, KeyId};
use super::raw::{Axis, Expectation, Report, Source, Sources, read_document, read_set, read_vary};
use super::typed::{Config, json_value, rules};
use crate::formula::Run;

pub use sweep::{Sweep, Unfit};
pub use unused::{Need, Reason, Unused, needs, path_of};

/// One run of an experiment.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The varied keys with this run's values, in the order in which they were given.
    pub vary: Vec<(KeyId, Value)>,
    /// Everything that the run needs.
    pub config: Config,
}

impl Variant {
    /// The varied keys with their values, as `--set` takes them.
    pub fn label(&self) -> String {
        let pairs: Vec<_> = self.vary.iter().map(|(key, value)| format!("{}={}", key.path(), value.show())).collect();
        pairs.join(", ")
    }

    /// The same run with another seed, on which nothing that is checked depends.
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut config = self.config.clone();
        config.settings.set("run.seed", Value::Count(seed));
        config.run.seed = seed;
        Self { vary: self.vary.clone(), config }
    }

    /// The varied keys with their values, for a result.
    pub fn vary_to_json(&self) -> serde_json::Map<String, serde_json::Value> {
        self.vary.iter().filter_map(|(key, value)| Some((key.path(), json_value(value)?))).collect()
    }
}

/// What a file and its options describe: one configuration, or the cross product of the varied keys.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The file as it was named.
    pub name: String,
    /// The keys that vary; empty for a single run.
    pub axes: Vec<KeyId>,
    /// The runs, in the order of the cross product; the key given first varies slowest.
    pub variants: Vec<Variant>,
    /// The combinations that were left out because their values do not go together.
    pub unfit: Vec<Unfit>,
    /// Seeds of each combination, whose runs stand together; nothing where each is run once.
    pub seeds: Option<NonZeroU32>,
    /// The keys of the file's `[vary]` section that a single run leaves to comparisons.
    pub left_out: Vec<KeyId>,
    /// What the file expects of a comparison; a single run leaves that out too.
    pub expectations: Vec<Expectation>,
    /// Whether a formula of the file reads how a drive's life ended or which requests failed: then that is no failure
    /// of a run, but what the experiment is about.
    pub expects_end_of_life: bool,
    sources: Sources,
}

impl Experiment {
    /// The single run that a file describes: its `[vary]` section is checked, and left to comparisons.
    pub fn load_run(catalog: &Arc<Catalog>, path: &str, sets: &[String]) -> Result<Self, Problems> {
        Self::from_source(catalog, Source::read(path)?, sets, None)
    }

    /// The cross product of the `--vary` options and, for keys that no option names, of the file's `[vary]` section.
    pub fn load_comparison(catalog: &Arc<Catalog>, path: &str, sweep: &Sweep<'_>) -> Result<Self, Problems> {
        Self::read(catalog, Source::read(path)?, sweep.sets, Some(sweep))
    }

    /// As [`Self::load_run`] does and, with a list of `--vary` options, [`Self::load_comparison`], from a text that is
    /// already in memory.
    pub fn from_source(
        catalog: &Arc<Catalog>,
        source: Source,
        sets: &[String],
        varies: Option<&[String]>,
    ) -> Result<Self, Problems> {
        let sweep = varies.map(|varies| Sweep { sets, varies, ..Sweep::default() });
        Self::read(catalog, source, sets, sweep.as_ref())
    }

    /// As [`Self::load_comparison`] does, from a text that is already in memory.
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
        let mut document = read_document(catalog, &mut report, index);
        let sets: Vec<_> = sets.iter().filter_map(|text| read_set(catalog, &mut report, text)).collect();
        let written: Vec<_> = varies.iter().filter_map(|text| read_vary(catalog, &mut report, text)).collect();
        let axes = sweep::choose_axes(&mut report, std::mem::take(&mut document.axes), written, &sets);
        document.assignments.extend(sets);
        let (mut axes, left_out) = if sweep.is_some() { (axes, Vec::new()) } else { (Vec::new(), axes) };
        if sweep.is_some() && axes.is_empty() && seeds.is_none() && report.is_clean() {
            let expected = "at least one `--vary KEY=A,B`, or a [vary] section";
            let found = "nothing varies, so that there is nothing to compare";
            return Err(Problem::file(&name, found, expected).into());
        }
        if !sweep::check_size(&mut report, &axes, seeds) {
            return Err(Problems(report.into_problems()));
        }
        let variants = sweep::cross_product(catalog, &document, &axes);
        let (mut variants, unfit) = sweep::fitting(variants, skip_unfit, &mut report);
        if let Some(seeds) = seeds {
            variants = sweep::with_seeds(catalog, variants, &mut axes, seeds, &mut report);
        }
        if !report.is_clean() {
            return Err(Problems(report.into_problems()));
        }
        let keys = |axes: &[Axis]| axes.iter().map(|axis| axis.key).collect();
        let reads = |field: &str| ["end_of_life", "host.failed"].iter().any(|section| field.starts_with(section));
        let expects_end_of_life =
            document.expectations.iter().any(|expected| expected.formula.fields().iter().any(|field| reads(field)));
        let expectations = if sweep.is_some() { document.expectations } else { Vec::new() };
        Ok(Self {
            name,
            axes: keys(&axes),
            variants,
            unfit,
            seeds,
            left_out: keys(&left_out),
            expectations,
            expects_end_of_life,
            sources: report.sources,
        })
    }

    /// A run of this experiment with other values for some keys, also of keys that vary: its varied keys keep the
    /// values that tell it from the others, whatever the configuration then says.
    ///
    /// # Errors
    /// Everything that is wrong with the options or with the configuration that they make.
    pub fn replaced(&self, variant: &Variant, sets: &[String]) -> Result<Variant, Problems> {
        let catalog = variant.config.catalog();
        let mut report = Report::default();
        report.sources = self.sources.clone();
        let sets: Vec<_> = sets.iter().filter_map(|text| read_set(catalog, &mut report, text)).collect();
        for set in sets.iter().filter(|set| set.key.path() == "device.preset") {
            report.refuse(&set.origin, Refusal::new("another preset in place of that of the run", "any other key"));
        }
        let mut settings = variant.config.settings.clone();
        settings.assign(&sets);
        let config = Config::new(settings);
        rules::check(&config, &mut report);
        if !report.is_clean() {
            return Err(Problems(report.into_problems()));
        }
        Ok(Variant { vary: variant.vary.clone(), config })
    }

    /// A refusal as a problem that points at where its keys were written in a run's configuration.
    pub fn problem(&self, config: &Config, refusal: Refusal) -> Problem {
        self.sources.problem(&config.settings.pointer(&refusal.keys), refusal)
    }

    /// What is wrong with the expectations for these runs: options may have left out some that a formula names.
    pub(crate) fn problems_of_expectations(&self) -> impl Iterator<Item = Problem> {
        let variants = self.of_first_seed();
        let refusal =
            move |expected: &Expectation| Some(self.sources.problem(&expected.origin, misfit(expected, &variants)?));
        self.expectations.iter().filter_map(refusal)
    }

    /// How many runs with seeds of their own stand together for each combination.
    pub fn repetitions(&self) -> usize {
        self.seeds.map_or(1, |seeds| seeds.get() as usize)
    }

    /// The combinations as one repetition has them: without the seed, unless it is one of the varied keys.
    fn of_first_seed(&self) -> Vec<Variant> {
        let without_seed = |variant: &Variant| {
            let keys = variant.vary.len() - usize::from(self.seeds.is_some());
            Variant { vary: variant.vary[..keys].to_vec(), config: variant.config.clone() }
        };
        self.variants.iter().step_by(self.repetitions()).map(without_seed).collect()
    }

    /// The files that the runs read, as far as the configuration names them: itself, recordings, job files, saved
    /// drives.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let paths = |variant: &Variant| {
            let Config { workload, run, .. } = &variant.config;
            let named = [("workload.path", workload.path.as_deref()), ("run.state", run.state.as_deref())];
            named.map(|(key, path)| path.map(|path| self.located(&variant.config, key, path))).into_iter().flatten()
        };
        std::iter::once(PathBuf::from(&self.name)).chain(self.variants.iter().flat_map(paths)).collect()
    }

    /// The hash of the experiment's own file, as it was read.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let source = self.sources.get(0);
        Fingerprint::of(&source.name, source.text.as_bytes())
    }

    /// The workload of a run, before its input is read.
    ///
    /// # Errors
    /// Why it cannot be built.
    pub fn workload(&self, config: &Config) -> Result<Box<dyn Workload>, Refusal> {
        config.chosen_workload().build(&config.workload_context(&self.sources))
    }

    /// A path that was written as the value of `key`, from the folder of the file or the working directory of the
    /// option that it was written in.
    pub fn located(&self, config: &Config, key: &str, path: &str) -> PathBuf {
        config.settings.located(key, path, &self.sources)
    }
}

/// What is wrong with the formula of an expectation for these runs, before there are results.
fn misfit(expected: &Expectation, variants: &[Variant]) -> Option<Refusal> {
    const LEAVE_OUT: &str = "`--no-expect` leaves the expectations of the file out";
    let needs_anatomy = expected.formula.fields().iter().any(|field| field.starts_with("host.anatomy."));
    if needs_anatomy && variants.iter().any(|variant| !variant.config.run.anatomy) {
        let refusal = Refusal::new("`host.anatomy` of runs that keep no anatomy", "`run.anatomy = true`");
        return Some(refusal.help(LEAVE_OUT));
    }
    let run = |variant: &Variant| Run { vary: variant.vary_to_json(), result: Arc::new(serde_json::Value::Null) };
    let runs: Vec<Run> = variants.iter().map(run).collect();
    let found = expected.value(&runs).err()?;
    Some(Refusal::new(found, "one number of the runs of this comparison").help(LEAVE_OUT))
}
