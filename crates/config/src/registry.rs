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

/// Declares the registry from its slots: the policies of each, and the built-in ones.
macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $slot:ident: $role:ty = $builtin:expr;)+) => {
        /// The policies of every slot, along the path of a request.
        #[derive(Clone, Debug)]
        pub struct Registry {
            $($(#[doc = $doc])+ pub $slot: Slot<$role>,)+
            /// What the program writes.
            pub outputs: Vec<Output>,
            /// Git revision of the program, for the provenance of results; a program sets its own.
            pub revision: &'static str,
            /// Git revision of Flashloom's sources, which saved drives name.
            pub sources: &'static str,
        }

        impl Registry {
            /// The built-in policies.
            pub fn builtin() -> Self {
                let revision = UNKNOWN_REVISION;
                Self { $($slot: $builtin,)+ outputs: OUTPUTS.to_vec(), revision, sources: revision }
            }

            /// Every slot with the specifications of its policies, along the path of a request.
            pub fn slots(&self) -> [(&'static SlotSpec, Vec<&'static PolicySpec>); 9] {
                [$((self.$slot.spec, self.$slot.specs().collect()),)+]
            }

            /// These policies without those that `has` is false of.
            #[must_use]
            pub fn only(mut self, has: impl Fn(&SlotSpec, &PolicySpec) -> bool) -> Self {
                $(self.$slot.retain(&has);)+
                self
            }
        }
    };
}

registry! {
    /// Workloads: the origin of requests.
    workloads: dyn Workload = workload::builtin();
    /// I/O schedulers of the host.
    schedulers: dyn Scheduler = scheduler::builtin();
    /// Replacement policies of the write buffer: the page or block to evict next.
    orders: dyn Order = order::builtin();
    /// Eviction batch sizes of the write buffer: the number of victims at a time.
    rates: dyn Rate = rate::builtin();
    /// Placements: the chip to which an evicted logical block goes.
    placements: dyn Placement = placement::builtin();
    /// Mappings of logical to physical pages.
    mappings: dyn Mapping = mapping::builtin();
    /// Allocations: the plane to which a page is written.
    allocations: dyn Allocation = allocation::builtin();
    /// Garbage collection policies: the block to collect.
    collections: dyn Collection = collection::builtin();
    /// Policies of read reliability: how often a read is repeated, and whether it fails.
    reliabilities: dyn Reliability = reliability::builtin();
}

impl Registry {
    /// Names of the policies that offer a capability.
    pub fn offering(&self, capability: Capability) -> Vec<&'static str> {
        let specs = self.slots().into_iter().flat_map(|(_, specs)| specs);
        specs.filter(|spec| spec.offers.contains(&capability)).map(|spec| spec.name).collect()
    }
}
