//! The registry: every policy that an experiment can choose, by slot.
//!
//! [`Registry::builtin`] is the whole table. A program adds policies of its own to a slot and makes a
//! [`Catalog`](crate::Catalog) of it; everything given that catalog knows them: configurations, help, schemas,
//! checks, results.

use flashloom_buffer::{Order, Rate, order, rate};
use flashloom_figures::schema::{OUTPUTS, Output};
use flashloom_ftl::allocation::{self, Allocation};
use flashloom_ftl::collection::{self, Collection};
use flashloom_ftl::mapping::{self, Mapping};
use flashloom_ftl::placement::{self, Placement};
use flashloom_host::scheduler::{self, Scheduler};
use flashloom_nand::reliability::{self, Reliability};
use flashloom_units::{Capability, PolicySpec, Slot, SlotSpec};
use flashloom_workload::workload::{self, Workload};

/// Revision of a program that does not state its own.
pub const UNKNOWN_REVISION: &str = "unknown";

/// The policies of every slot, along the path of a request.
#[derive(Clone, Debug)]
pub struct Registry {
    /// Workloads: the origin of requests.
    pub workloads: Slot<dyn Workload>,
    /// I/O schedulers of the host.
    pub schedulers: Slot<dyn Scheduler>,
    /// Replacement policies of the write buffer: the page or block to evict next.
    pub orders: Slot<dyn Order>,
    /// Eviction batch sizes of the write buffer: the number of victims at a time.
    pub rates: Slot<dyn Rate>,
    /// Placements: the chip to which an evicted logical block goes.
    pub placements: Slot<dyn Placement>,
    /// Mappings of logical to physical pages.
    pub mappings: Slot<dyn Mapping>,
    /// Allocations: the plane to which a page is written.
    pub allocations: Slot<dyn Allocation>,
    /// Garbage collection policies: the block to collect.
    pub collections: Slot<dyn Collection>,
    /// Policies of read reliability: how often a read is repeated, and whether it fails.
    pub reliabilities: Slot<dyn Reliability>,
    /// What the program writes.
    pub outputs: Vec<Output>,
    /// Git revision of the program, for the provenance of results; a program sets its own.
    pub revision: &'static str,
}

impl Registry {
    /// The built-in policies.
    pub fn builtin() -> Self {
        Self {
            workloads: workload::builtin(),
            schedulers: scheduler::builtin(),
            orders: order::builtin(),
            rates: rate::builtin(),
            placements: placement::builtin(),
            mappings: mapping::builtin(),
            allocations: allocation::builtin(),
            collections: collection::builtin(),
            reliabilities: reliability::builtin(),
            outputs: OUTPUTS.to_vec(),
            revision: UNKNOWN_REVISION,
        }
    }

    /// Every slot with the specifications of its policies, along the path of a request.
    pub fn slots(&self) -> [(&'static SlotSpec, Vec<&'static PolicySpec>); 9] {
        [
            (self.workloads.spec, self.workloads.specs().collect()),
            (self.schedulers.spec, self.schedulers.specs().collect()),
            (self.orders.spec, self.orders.specs().collect()),
            (self.rates.spec, self.rates.specs().collect()),
            (self.placements.spec, self.placements.specs().collect()),
            (self.mappings.spec, self.mappings.specs().collect()),
            (self.allocations.spec, self.allocations.specs().collect()),
            (self.collections.spec, self.collections.specs().collect()),
            (self.reliabilities.spec, self.reliabilities.specs().collect()),
        ]
    }

    /// These policies without those that `has` is false of.
    #[must_use]
    pub fn only(mut self, has: impl Fn(&SlotSpec, &PolicySpec) -> bool) -> Self {
        self.workloads.retain(&has);
        self.schedulers.retain(&has);
        self.orders.retain(&has);
        self.rates.retain(&has);
        self.placements.retain(&has);
        self.mappings.retain(&has);
        self.allocations.retain(&has);
        self.collections.retain(&has);
        self.reliabilities.retain(&has);
        self
    }

    /// Names of the policies that offer a capability.
    pub fn offering(&self, capability: Capability) -> Vec<&'static str> {
        let specs = self.slots().into_iter().flat_map(|(_, specs)| specs);
        specs.filter(|spec| spec.offers.contains(&capability)).map(|spec| spec.name).collect()
    }
}
