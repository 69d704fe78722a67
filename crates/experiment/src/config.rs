//! A configuration: TOML files and command-line options in, checked and typed parameters out.
//!
//! An [`Experiment`] is loaded from a file, the `--set` options that override it and the `--vary` options that multiply
//! it: every problem in one pass, or one [`Config`] a run. Nothing after it sees an unchecked value.

mod catalog;
mod cross_check;
mod document;
mod effective;
mod expectation;
mod option;
mod run_params;
mod settings;
mod source;
mod value;

use std::path::PathBuf;
use std::sync::Arc;

use flashloom_buffer::BufferParams;
use flashloom_device::DriveSetup;
use flashloom_ftl::{FtlParams, FtlSetup};
use flashloom_host::{HostParams, Scheduler};
use flashloom_nand::DeviceParams;
use flashloom_units::{Capability, Chosen, PolicySpec, Prng, Problem, Problems, Refusal, Role, Slot, Value};
use flashloom_workload::workload::{Context, Workload};
use flashloom_workload::{Fingerprint, WorkloadParams};

pub use catalog::{Catalog, Fault, KeyId, SECTIONS, Section, Table, VARY};
pub use document::Axis;
pub use effective::{json_value, toml_value};
pub use expectation::{Bounds, EXPECT, Expectation, KEYS as EXPECT_KEYS};
pub use run_params::{EndOfLife, Precondition, RunParams, Timing};
pub use source::{Origin, Source};

use document::{Assignment, Document};
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

    /// The values of every key that counts, defaults filled in: those of the sections and of the policies that are chosen.
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
    pub fn load_comparison(
        catalog: &Arc<Catalog>,
        path: &str,
        sets: &[String],
        varies: &[String],
    ) -> Result<Self, Problems> {
        Self::from_source(catalog, Source::read(path)?, sets, Some(varies))
    }

    /// As [`Self::load_run`] and [`Self::load_comparison`] do, from a text that is already in memory.
    pub fn from_source(
        catalog: &Arc<Catalog>,
        source: Source,
        sets: &[String],
        varies: Option<&[String]>,
    ) -> Result<Self, Problems> {
        let name = source.name.clone();
        let mut report = Report::default();
        let index = report.sources.add(source);
        let mut document = document::read(catalog, &mut report, index);
        let sets: Vec<_> = sets.iter().filter_map(|text| option::read_set(catalog, &mut report, text)).collect();
        let written: Vec<_> =
            varies.unwrap_or(&[]).iter().filter_map(|text| option::read_vary(catalog, &mut report, text)).collect();
        let axes = choose_axes(&mut report, std::mem::take(&mut document.axes), written, &sets);
        document.assignments.extend(sets);
        let (axes, left_out) = if varies.is_some() { (axes, Vec::new()) } else { (Vec::new(), axes) };
        if varies.is_some() && axes.is_empty() && report.is_clean() {
            let expected = "at least one `--vary KEY=A,B`, or a [vary] section";
            let found = "nothing varies, so that there is nothing to compare";
            return Err(Problem::file(&name, found, expected).into());
        }
        let variants = cross_product(catalog, &document, &axes);
        for variant in &variants {
            cross_check::check(&variant.config, &mut report);
        }
        if !report.is_clean() {
            return Err(Problems(report.into_problems()));
        }
        let keys = |axes: &[Axis]| axes.iter().map(|axis| axis.key).collect();
        let reads = |field: &str| ["end_of_life", "host.failed"].iter().any(|section| field.starts_with(section));
        let expects_end_of_life =
            document.expectations.iter().any(|expected| expected.formula.fields().iter().any(|field| reads(field)));
        let expectations = if varies.is_some() { document.expectations } else { Vec::new() };
        let (axes, left_out) = (keys(&axes), keys(&left_out));
        Ok(Self { name, axes, variants, left_out, expectations, expects_end_of_life, sources: report.sources })
    }

    /// A run of this experiment with other values for some keys, also of keys that vary: its varied keys keep the values
    /// that tell it from the others, whatever the configuration then says.
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
        let fault =
            |expected: &Expectation| Some(self.sources.problem(&expected.origin, expected.fault(&self.variants)?));
        self.expectations.iter().filter_map(fault)
    }

    /// The files that the runs read, as far as the configuration names them: itself, recordings, job files, saved drives.
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

/// The axes of the file without those that an option sets or varies, then those of the options.
fn choose_axes(report: &mut Report, of_file: Vec<Axis>, of_options: Vec<Axis>, sets: &[Assignment]) -> Vec<Axis> {
    for (index, axis) in of_options.iter().enumerate() {
        let path = axis.key.path();
        let section = Some(axis.key.section());
        if sets.iter().any(|set| set.key == axis.key) {
            let fault = Fault::new(format!("`{path}` is both set and varied"), "one of --set and --vary for a key");
            report.fault(&axis.origin, fault, section);
        }
        if of_options[..index].iter().any(|other| other.key == axis.key) {
            let fault = Fault::new(format!("`{path}` is varied twice"), "all its values in one --vary");
            report.fault(&axis.origin, fault, section);
        }
    }
    let overridden = |axis: &Axis| {
        sets.iter().any(|set| set.key == axis.key) || of_options.iter().any(|other| other.key == axis.key)
    };
    let mut axes: Vec<Axis> = of_file.into_iter().filter(|axis| !overridden(axis)).collect();
    axes.extend(of_options);
    axes
}

/// One configuration for each combination of values; the first axis varies slowest.
fn cross_product(catalog: &Arc<Catalog>, document: &Document, axes: &[Axis]) -> Vec<Variant> {
    let mut combinations: Vec<Vec<Assignment>> = vec![Vec::new()];
    for axis in axes {
        combinations = combinations
            .iter()
            .flat_map(|chosen| {
                axis.values.iter().map(move |(value, origin)| {
                    let assignment = Assignment { key: axis.key, value: value.clone(), origin: origin.clone() };
                    chosen.iter().cloned().chain([assignment]).collect()
                })
            })
            .collect();
    }
    let variant = |chosen: Vec<Assignment>| {
        let mut assignments = document.assignments.clone();
        assignments.extend(chosen.iter().cloned());
        let settings = Settings::new(catalog, &assignments, &document.headers);
        let vary = chosen.into_iter().map(|assignment| (assignment.key, assignment.value)).collect();
        Variant { vary, config: Config::new(settings) }
    };
    combinations.into_iter().map(variant).collect()
}
