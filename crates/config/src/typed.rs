//! Configuration of one run: the typed parameters of every section, and the inputs of the run's construction.

mod effective;
mod example;
pub(super) mod rules;
mod spare;

use std::ops::Range;
use std::sync::Arc;

use flashloom_buffer::BufferParams;
use flashloom_device::{DeviceParams, DriveSetup, preset};
use flashloom_ftl::{FtlParams, FtlSetup, PAGE_MAPPING, SlcCacheKind, Superblock};
use flashloom_host::{HostParams, Scheduler, SyncWrites, WriteCache};
use flashloom_units::{Capability, Chosen, FieldType, PolicySpec, Prng, Role, Slot, Value};
use flashloom_workload::workload::{Context, JobFiles, Profile, Site, Workload};
use flashloom_workload::{Limits, Part, Replay, WorkloadParams};

use super::catalog::{Catalog, KeyId, Precondition, Rest, RunParams, Timing, WorkloadName};
use super::checked::{PRESET, Settings};
use super::raw::Sources;

/// Key that a preset may set for page-level mappings alone.
const SUPERBLOCK: &str = "ftl.superblock";

pub use effective::{json_value, toml_value};
pub use example::example;
pub use spare::Found;

/// Configuration of one run: typed, checked key by key and across keys.
#[derive(Clone, Debug)]
pub struct Config {
    /// The `[workload]` section.
    pub workload: WorkloadParams,
    /// The `[host]` section.
    pub host: HostParams,
    /// The `[device]` section, with the preset's figures filled in.
    pub device: DeviceParams,
    /// The `[buffer]` section.
    pub buffer: BufferParams,
    /// The `[ftl]` section.
    pub ftl: FtlParams,
    /// The `[run]` section.
    pub run: RunParams,
    /// True if the issued requests of a recording are paired with their completions, to be held against those of the
    /// run. No key says so: `validate` does.
    pub completions: bool,
    /// The configuration of each of several workloads, which is that of the run but for `[workload]`; none if there is
    /// one. Then `workload` and the keys of its section are at their defaults.
    pub workloads: Vec<(WorkloadName, Self)>,
    /// The workload that it is the configuration of, if there are several.
    of: Option<WorkloadName>,
    pub(super) settings: Settings,
}

impl Config {
    pub(super) fn new(settings: Settings) -> Self {
        let mut config = Self {
            workload: settings.typed("workload"),
            host: settings.typed("host"),
            device: settings.typed("device"),
            buffer: settings.typed("buffer"),
            ftl: settings.typed("ftl"),
            run: settings.typed("run"),
            completions: false,
            workloads: Vec::new(),
            of: None,
            settings,
        };
        let names = config.settings.workloads();
        let of_workload = |&workload: &WorkloadName| {
            let of = (names.len() > 1).then_some(workload);
            (workload, Self { of, ..Self::new(config.settings.of_workload(workload.index)) })
        };
        config.workloads = names.iter().map(of_workload).collect();
        // A built-in preset's superblocks were fitted with a page-level mapping; others must ask for them.
        let has_superblocks = config.ftl.superblock != Superblock::None;
        if has_superblocks && !config.settings.is_given(SUPERBLOCK) && !config.mapping_offers(PAGE_MAPPING) {
            config.settings.set(SUPERBLOCK, Value::Name("none"));
            config.ftl = config.settings.typed("ftl");
        }
        if rules::has_shape(&config) {
            config.count_from_raw();
        }
        if config.host.write_cache == WriteCache::Auto {
            let has_buffer = config.buffer.capacity_bytes > 0;
            config.host.write_cache = if has_buffer { WriteCache::Back } else { WriteCache::Through };
        }
        if config.host.sync_writes == SyncWrites::Auto {
            let is_cached = config.each().any(|one| one.policy("workload.kind").0.name == "filebench");
            config.host.sync_writes = if is_cached { SyncWrites::Fsync } else { SyncWrites::Direct };
        }
        config
    }

    /// The configurations of its workloads: this one, or that of each of several.
    pub fn each(&self) -> impl Iterator<Item = &Self> {
        let one = self.workloads.is_empty().then_some(self);
        one.into_iter().chain(self.workloads.iter().map(|(_, config)| config))
    }

    /// Sets the seed, on which no check depends.
    pub(super) fn seed(&mut self, seed: u64) {
        self.settings.set("run.seed", Value::Count(seed));
        self.run.seed = seed;
        self.workloads.iter_mut().for_each(|(_, config)| config.seed(seed));
    }

    /// Has recordings replayed as the replicates that the seed draws, unless `workload.replicate` says otherwise.
    pub(super) fn replicate(&mut self) {
        for (workload, config) in &mut self.workloads {
            config.replicate();
            self.settings.set_of(*workload, "workload.replicate", config.settings.value("workload.replicate").clone());
        }
        if self.workloads.is_empty() && self.workload.replicate.is_none() && self.replays_a_recording() {
            self.settings.set("workload.replicate", Value::Flag(true));
            self.workload.replicate = Some(true);
        }
    }

    /// The policy that a key such as `host.scheduler` chose, with one checked value for each of its parameters.
    pub fn policy(&self, key: &str) -> (&'static PolicySpec, &[Value]) {
        let chosen = self.settings.chosen().find(|(id, _, _)| id.path() == key);
        let (_, policy, table) = chosen.unwrap_or_else(|| panic!("`{key}` chooses a policy"));
        (policy, self.settings.values(table))
    }

    /// What the workload says of itself and its section; nothing of one that is refused.
    pub fn workload_profile(&self) -> Profile {
        let is_asked = |key: &str| self.settings.asks(key);
        self.chosen_workload().profile(&self.workload_site(&is_asked, None)).unwrap_or_default()
    }

    /// How requests arrive; none if the workload paces itself.
    fn replay(&self) -> Option<Replay> {
        self.workload.replay.or_else(|| self.workload_profile().replay)
    }

    /// True if the next request of the workload waits for one to complete (closed loop).
    pub fn is_closed(&self) -> bool {
        self.each().all(|one| one.replay() == Some(Replay::Closed))
    }

    /// True if requests have arrival times of their own, recorded or drawn (open loop).
    pub(super) fn is_open(&self) -> bool {
        self.each().any(|one| one.replay().is_some_and(|replay| replay != Replay::Closed))
    }

    /// True if requests come at times of their own, whenever those before them complete.
    pub fn has_arrival_times(&self) -> bool {
        self.is_open() && self.each().all(|one| one.workload.replay != Some(Replay::Dependent))
    }

    /// True if the drive has an SLC cache.
    pub fn has_slc_cache(&self) -> bool {
        self.ftl.slc_cache != SlcCacheKind::None
    }

    /// True if a drive that is aged to its steady state then has idle time.
    pub fn rests(&self) -> bool {
        let is_steady = self.run.precondition == Precondition::Steady;
        let rests = match self.run.rest {
            Rest::Open => self.run.timing == Timing::Timed && self.is_open(),
            Rest::Always => true,
            Rest::Never => false,
        };
        is_steady && rests
    }

    /// The configuration with other numbers of blocks a plane and pages a block; `None` if a rule refuses them.
    pub fn reshaped(&self, blocks: u32, pages: u32) -> Option<Self> {
        self.with(&[("device.blocks", Value::Count(blocks.into())), ("device.pages", Value::Count(pages.into()))])
    }

    /// The configuration with other values of some keys; `None` if a rule refuses them.
    pub fn with(&self, changes: &[(&'static str, Value)]) -> Option<Self> {
        let mut settings = self.settings.clone();
        changes.iter().for_each(|(key, value)| settings.set(key, value.clone()));
        let config = Self { of: self.of, ..Self::new(settings) };
        rules::is_sound(&config).then_some(config)
    }

    /// Blocks a plane of the built-in preset that the drive starts from; `None` if that comes from a file.
    pub fn blocks_of_preset(&self) -> Option<u32> {
        let Value::Name(name) = *self.settings.value(PRESET) else { return None };
        let (_, blocks, _) = preset(name)?.figures.iter().find(|(key, ..)| *key == "blocks")?;
        Some(u32::from_value(blocks))
    }

    /// True if the TBW of a data sheet is that of this drive: written with it, or of a preset with all of its blocks.
    pub fn has_its_own_sheet(&self) -> bool {
        let is_whole = self.blocks_of_preset().is_none_or(|blocks| blocks == self.device.nand.blocks);
        is_whole || self.settings.is_given("device.rated_writes")
    }

    /// Every chosen policy with the key that chose it.
    pub fn policies(&self) -> impl Iterator<Item = (KeyId, &'static PolicySpec)> {
        self.settings.chosen().map(|(key, policy, _)| (key, policy))
    }

    /// The catalog of the configuration.
    pub fn catalog(&self) -> &Arc<Catalog> {
        self.settings.catalog()
    }

    /// The chosen policy of a slot of the registry.
    fn chosen<P: Role + ?Sized>(&self, slot: &Slot<P>) -> Chosen<P> {
        let (spec, values) = self.policy(slot.spec.key);
        slot.find(spec.name).expect("the catalog was made of this slot").with_values(values.to_vec())
    }

    /// The chosen workload.
    pub fn chosen_workload(&self) -> Chosen<dyn Workload> {
        self.chosen(&self.catalog().registry().workloads)
    }

    /// Inputs of the workload's construction; `sources` are the texts of the configuration.
    pub(super) fn workload_context(&self, sources: &Sources) -> Context {
        let located = |path: &String| self.settings.located("workload.path", path, sources);
        Context {
            params: self.workload.clone(),
            path: self.workload.path.as_ref().map(|path| located(path).to_string_lossy().into_owned()),
            capacity_sectors: self.range_of_workload().map_or(0, |range| range.end - range.start),
            is_timed: self.run.timing == Timing::Timed,
            prng: self.prng_of_workload(),
            job_files: JobFiles::default(),
            completions: self.completions,
        }
    }

    /// Random numbers of its workload. Those of several are branches by name, which stay what they are when others come
    /// or go.
    fn prng_of_workload(&self) -> Prng {
        let all = Prng::new(self.run.seed).branch("workload");
        self.of.map_or_else(|| all.clone(), |workload| all.branch(workload.name))
    }

    /// The sectors of the drive that its workload has, whole pages; `None` if that is not a page.
    pub(super) fn range_of_workload(&self) -> Option<Range<u64>> {
        let WorkloadParams { range_begin, range_end, .. } = self.workload;
        let capacity = self.device.capacity_sectors();
        let (pages, of_page) = (self.device.logical_pages(), capacity / self.device.logical_pages().max(1));
        let at = |share: f64| if share == 1.0 { capacity } else { (pages as f64 * share) as u64 * of_page };
        Some(at(range_begin)..at(range_end)).filter(|range| range.start < range.end)
    }

    /// The part of the drive and of the time that its workload has; `None` if that is all.
    pub fn part(&self) -> Option<Part> {
        let WorkloadParams { begin_ns, end_ns, .. } = self.workload;
        let part = Part { first_sector: self.range_of_workload()?.start, begin_ns, end_ns };
        (part != Part::default()).then_some(part)
    }

    /// The limits of what its workload sends; `None` without any.
    pub fn limits(&self) -> Option<Limits> {
        let WorkloadParams { most_requests, most_bytes, most_outstanding, .. } = self.workload;
        let limits = Limits { requests_per_s: most_requests, bytes_per_s: most_bytes, outstanding: most_outstanding };
        (limits != Limits::default()).then_some(limits)
    }

    /// The configuration as its workload is held against it.
    fn workload_site<'a>(&'a self, is_asked: &'a dyn Fn(&str) -> bool, context: Option<&'a Context>) -> Site<'a> {
        let is_chosen = self.settings.is_written("workload.kind");
        Site { params: &self.workload, is_chosen, is_asked, context }
    }

    /// True if the workload is a recording, of which there are replicates.
    pub fn replays_a_recording(&self) -> bool {
        self.each().any(|one| one.workload_profile().has_replicates)
    }

    /// The chosen I/O scheduler of the host.
    pub fn scheduler(&self) -> Chosen<dyn Scheduler> {
        self.chosen(&self.catalog().registry().schedulers)
    }

    /// Inputs of the drive's construction.
    pub fn drive_setup(&self, verify: bool) -> DriveSetup {
        let registry = self.catalog().registry();
        DriveSetup {
            device: self.device.clone(),
            reliability: self.chosen(&registry.reliabilities),
            keeps_out_of_band: false,
            buffer_bytes: self.buffer.capacity_bytes,
            order: self.chosen(&registry.orders),
            rate: self.chosen(&registry.rates),
            admission: self.buffer.admission,
            ftl: FtlSetup {
                params: self.ftl.clone(),
                mapping: self.chosen(&registry.mappings),
                allocation: self.chosen(&registry.allocations),
                collection: self.chosen(&registry.collections),
                placement: self.chosen(&registry.placements),
                prng: Prng::new(self.run.seed),
            },
            queue_classes: self.each().map(|one| one.workload.queue_class).collect(),
            verify,
        }
    }

    /// True if the chosen mapping offers a capability.
    pub fn mapping_offers(&self, capability: Capability) -> bool {
        self.policy("ftl.mapping").0.offers.contains(&capability)
    }
}
