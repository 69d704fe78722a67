//! A configuration: TOML files and command-line options in, checked and typed parameters out.
//!
//! An [`Experiment`] is loaded from a file, the `--set` options that override it and the `--vary` options that multiply
//! it: every problem in one pass, or one [`Config`] a run. Nothing after it sees an unchecked value.

mod catalog;
mod cross_check;
mod document;
mod effective;
mod example;
mod expectation;
mod option;
mod range;
mod run_params;
mod settings;
mod source;
mod sweep;
mod unused;
mod value;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use flashloom_buffer::BufferParams;
use flashloom_device::DriveSetup;
use flashloom_ftl::{FtlParams, FtlSetup};
use flashloom_host::{HostParams, Scheduler};
use flashloom_nand::DeviceParams;
use flashloom_units::{Capability, Chosen, ParamSet, PolicySpec, Prng, Problem, Problems, Refusal, Role, Slot, Value};
use flashloom_workload::workload::{Context, Workload};
use flashloom_workload::{Fingerprint, Replay, SyntheticParams, WorkloadParams};

pub use catalog::{Catalog, Fault, KeyId, SECTIONS, Section, Table, VARY};
pub use document::Axis;
pub use effective::{json_value, toml_value};
pub use example::example;
pub use expectation::{Bounds, EXPECT, Expectation, KEYS as EXPECT_KEYS};
pub use run_params::{EndOfLife, Precondition, Rest, RunParams, Timing};
pub use source::{Origin, Source};
pub use sweep::{Sweep, Unfit};
pub use unused::{Need, Reason, Unused, needs, path_of};

use settings::Settings;
use source::{Report, Sources};

/// One run's configuration: typed, checked key by key and across keys.
#[derive(Clone, Debug)]
pub struct Config {
    /// The `[workload]` section.
    pub workload: WorkloadParams,
    /// The `[host]` section.
    pub host: HostParams,
    /// The `[device]` section, the preset's figures filled in.
    pub device: DeviceParams,
    /// The `[buffer]` section.
    pub buffer: BufferParams,
    /// The `[ftl]` section.
    pub ftl: FtlParams,
    /// The `[run]` section.
    pub run: RunParams,
    settings: Settings,
}

impl Config {
    fn new(settings: Settings) -> Self {
        Self {
            workload: settings.typed("workload"),
            host: settings.typed("host"),
            device: settings.typed("device"),
            buffer: settings.typed("buffer"),
            ftl: settings.typed("ftl"),
            run: settings.typed("run"),
            settings,
        }
    }

    /// The policy that a key such as `host.scheduler` chose, with one checked value for each of its parameters.
    pub fn policy(&self, key: &str) -> (&'static PolicySpec, &[Value]) {
        let chosen = self.settings.chosen().find(|(id, _, _)| id.path() == key);
        let (_, policy, table) = chosen.unwrap_or_else(|| panic!("`{key}` chooses a policy"));
        (policy, self.settings.values(table))
    }

    /// The parameters of a synthetic workload, if that is what runs.
    pub(crate) fn synthetic(&self) -> Option<SyntheticParams> {
        let (kind, values) = self.policy("workload.kind");
        (kind.name == "synthetic").then(|| SyntheticParams::from_values(values))
    }

    /// Whether the next request of the workload waits for one to complete.
    pub(crate) fn is_closed(&self) -> bool {
        match (self.workload.replay, self.synthetic()) {
            (Some(replay), _) => replay == Replay::Closed,
            (None, Some(params)) => params.interarrival_ns.is_none(),
            (None, None) => self.workload.kind == "synthesized",
        }
    }

    /// Whether requests come at times of their own, recorded or drawn.
    fn is_open(&self) -> bool {
        match (self.workload.replay, self.synthetic()) {
            (Some(replay), _) => replay != Replay::Closed,
            (None, Some(params)) => params.interarrival_ns.is_some(),
            (None, None) => self.workload.kind == "trace",
        }
    }

    /// Whether a drive that is aged until steady is left idle then.
    pub(crate) fn rests(&self) -> bool {
        let is_steady = self.run.precondition == Precondition::Steady;
        let rests = match self.run.rest {
            Rest::Open => self.run.timing == Timing::Timed && self.is_open(),
            Rest::Always => true,
            Rest::Never => false,
        };
        is_steady && rests
    }

    /// Every chosen policy with the key that chose it.
    pub fn policies(&self) -> impl Iterator<Item = (KeyId, &'static PolicySpec)> {
        self.settings.chosen().map(|(key, policy, _)| (key, policy))
    }

    /// What the configuration could say.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.settings.catalog()
    }

    /// The policy of a slot of the registry that the configuration chose.
    fn chosen<P: Role + ?Sized>(&self, slot: &Slot<P>) -> Chosen<P> {
        let (spec, values) = self.policy(slot.spec.key);
        slot.find(spec.name).expect("the catalog was made of this slot").with_values(values.to_vec())
    }

    /// Where the requests come from.
    pub fn chosen_workload(&self) -> Chosen<dyn Workload> {
        self.chosen(&self.catalog().registry().workloads)
    }

    /// What the workload is built from; `sources` are what the configuration was read from.
    fn workload_context(&self, sources: &Sources) -> Context {
        let located = |path: &String| self.settings.located("workload.path", path, sources);
        Context {
            params: self.workload.clone(),
            path: self.workload.path.as_ref().map(|path| located(path).to_string_lossy().into_owned()),
            capacity_sectors: self.device.capacity_sectors(),
            is_timed: self.run.timing == Timing::Timed,
            prng: Prng::new(self.run.seed).branch("workload"),
        }
    }

    /// The host's scheduler.
    pub fn scheduler(&self) -> Chosen<dyn Scheduler> {
        self.chosen(&self.catalog().registry().schedulers)
    }

    /// Everything that the drive is built from.
    pub fn drive_setup(&self, verify: bool) -> DriveSetup {
        let registry = self.catalog().registry();
        DriveSetup {
            device: self.device.clone(),
            buffer_bytes: self.buffer.capacity_bytes,
            order: self.chosen(&registry.orders),
            rate: self.chosen(&registry.rates),
            ftl: FtlSetup {
                params: self.ftl.clone(),
                mapping: self.chosen(&registry.mappings),
                allocation: self.chosen(&registry.allocations),
                collection: self.chosen(&registry.collections),
                placement: self.chosen(&registry.placements),
                prng: Prng::new(self.run.seed),
            },
            verify,
        }
    }

    /// Whether the chosen mapping offers a capability.
    pub fn mapping_offers(&self, capability: Capability) -> bool {
        self.policy("ftl.mapping").0.offers.contains(&capability)
    }

    /// The values of every key that counts, defaults filled in: those of the sections and of the policies that are
    /// chosen.
    pub fn values(&self) -> impl Iterator<Item = (KeyId, &Value)> {
        effective::flat(&self.settings)
    }

    /// The effective configuration, every default filled in, as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        effective::to_json(&self.settings)
    }

    /// The effective configuration as a file that reads back to the same values.
    pub fn to_toml(&self) -> String {
        effective::to_toml(&self.settings)
    }
}

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
        let mut document = document::read(catalog, &mut report, index);
        let sets: Vec<_> = sets.iter().filter_map(|text| option::read_set(catalog, &mut report, text)).collect();
        let written: Vec<_> = varies.iter().filter_map(|text| option::read_vary(catalog, &mut report, text)).collect();
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
        let sets: Vec<_> = sets.iter().filter_map(|text| option::read_set(catalog, &mut report, text)).collect();
        for set in sets.iter().filter(|set| set.key.path() == "device.preset") {
            report.refuse(&set.origin, Fault::new("another preset in place of that of the run", "any other key"));
        }
        let mut settings = variant.config.settings.clone();
        settings.assign(&sets);
        let config = Config::new(settings);
        cross_check::check(&config, &mut report);
        if !report.is_clean() {
            return Err(Problems(report.into_problems()));
        }
        Ok(Variant { vary: variant.vary.clone(), config })
    }

    /// A problem that points at where these keys of a run's configuration were written.
    pub fn problem_at(&self, config: &Config, keys: &[&str], fault: Fault) -> Problem {
        self.sources.problem(&config.settings.pointer(keys), fault)
    }

    /// What is wrong with the expectations for these runs: options may have left out some that a formula names.
    pub(crate) fn problems_of_expectations(&self) -> impl Iterator<Item = Problem> {
        let variants = self.of_first_seed();
        let fault =
            move |expected: &Expectation| Some(self.sources.problem(&expected.origin, expected.fault(&variants)?));
        self.expectations.iter().filter_map(fault)
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
