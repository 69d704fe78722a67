//! One run's configuration: the parameters of every section with their types, and what the run is built from.

mod effective;
mod example;
pub(super) mod rules;

use std::sync::Arc;

use flashloom_buffer::BufferParams;
use flashloom_device::{DeviceParams, DriveSetup};
use flashloom_ftl::{FtlParams, FtlSetup};
use flashloom_host::{HostParams, Scheduler};
use flashloom_units::{Capability, Chosen, ParamSet, PolicySpec, Prng, Role, Slot, Value};
use flashloom_workload::workload::{Context, Workload};
use flashloom_workload::{Replay, SyntheticParams, WorkloadParams};

use super::catalog::{Catalog, KeyId, Precondition, Rest, RunParams, Timing};
use super::checked::Settings;
use super::raw::Sources;

pub use effective::{json_value, toml_value};
pub use example::example;

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
    pub(super) settings: Settings,
}

impl Config {
    pub(super) fn new(settings: Settings) -> Self {
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
    pub(super) fn is_open(&self) -> bool {
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
    pub(super) fn workload_context(&self, sources: &Sources) -> Context {
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
