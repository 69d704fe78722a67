//! The registry: every policy that an experiment can choose, slot by slot.
//!
//! [`Registry::builtin`] is the whole table. A program adds policies of its own to a slot and makes a
//! [`Catalog`](crate::config::Catalog) of it; whatever is then given that catalog knows them: configurations, help,
//! schemas, checks, results.

use flashloom_buffer::{Order, Rate, order, rate};
use flashloom_ftl::allocation::{self, Allocation};
use flashloom_ftl::collection::{self, Collection};
use flashloom_ftl::mapping::{self, Mapping};
use flashloom_ftl::placement::{self, Placement};
use flashloom_host::scheduler::{self, Scheduler};
use flashloom_units::{Capability, PolicySpec, Slot, SlotSpec};
use flashloom_workload::workload::{self, Workload};

/// The revision of a program that does not say where it was built from.
pub const UNKNOWN_REVISION: &str = "unknown";

/// The policies of every slot, along the path of a request.
#[derive(Clone, Debug)]
pub struct Registry {
    /// Where requests come from.
    pub workloads: Slot<dyn Workload>,
    /// In which order the host sends them to the device.
    pub schedulers: Slot<dyn Scheduler>,
    /// Which page or block the write buffer evicts next.
    pub orders: Slot<dyn Order>,
    /// How many victims leave the write buffer at a time.
    pub rates: Slot<dyn Rate>,
    /// Which chip an evicted logical block goes to.
    pub placements: Slot<dyn Placement>,
    /// How logical pages are mapped to physical ones.
    pub mappings: Slot<dyn Mapping>,
    /// Which plane a page is written to.
    pub allocations: Slot<dyn Allocation>,
    /// Which block is collected.
    pub collections: Slot<dyn Collection>,
    /// The git revision of the program, for the provenance of results; a program sets its own.
    pub revision: &'static str,
}

impl Registry {
    /// The policies that are built in.
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
            revision: UNKNOWN_REVISION,
        }
    }

    /// Every slot with the specifications of its policies, along the path of a request.
    pub fn slots(&self) -> [(&'static SlotSpec, Vec<&'static PolicySpec>); 8] {
        [
            (self.workloads.spec, self.workloads.specs().collect()),
            (self.schedulers.spec, self.schedulers.specs().collect()),
            (self.orders.spec, self.orders.specs().collect()),
            (self.rates.spec, self.rates.specs().collect()),
            (self.placements.spec, self.placements.specs().collect()),
            (self.mappings.spec, self.mappings.specs().collect()),
            (self.allocations.spec, self.allocations.specs().collect()),
            (self.collections.spec, self.collections.specs().collect()),
        ]
    }

    /// The names of the policies that offer a capability.
    pub fn offering(&self, capability: Capability) -> Vec<&'static str> {
        let specs = self.slots().into_iter().flat_map(|(_, specs)| specs);
        specs.filter(|spec| spec.offers.contains(&capability)).map(|spec| spec.name).collect()
    }
}
