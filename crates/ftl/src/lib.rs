//! The flash translation layer: mapping, allocation of pages, garbage collection, wear.
//!
//! An FTL decides and updates its state at the moment it is called, and emits flash operations to [`Nand`] with what
//! they must wait for; so the same code serves the counting and the timed back end. Three choices, each a slot with
//! one file a policy: the [`mapping`], the [`allocation`] of pages to planes, and the [`collection`] victim.

pub mod allocation;
mod blocks;
pub mod collection;
mod lane;
pub mod mapping;
mod params;
pub mod placement;
mod report;

pub use allocation::WantedStreams;
pub use lane::{Demands, Lane};
pub use mapping::Mapping;
pub use params::{FtlParams, GcBlocks, HotCold, Preemption, StripeOrder, WearLevelling};
pub use report::{FtlReport, MapCacheReport, MergeReport, RetiredBlocks, StreamReport};

use flashloom_nand::{DeviceParams, Nand, Payload};
use flashloom_units::{Lpn, ParamSet, Prng, Slot, Value};

/// One page that the layer above writes. Pages written in one call were evicted together.
#[derive(Clone, Copy, Debug)]
pub struct PageWrite {
    /// Which page.
    pub lpn: Lpn,
    /// Which of its sectors; the others keep what they hold.
    pub mask: u32,
    /// The stamps of the sectors, in a verified run.
    pub payload: Payload,
    /// Handed back by [`Nand`] when the page is programmed.
    pub tag: u32,
}

/// The policies of an FTL with their own checked parameters.
#[derive(Clone, Debug)]
pub struct FtlSetup {
    /// The `[ftl]` section.
    pub params: FtlParams,
    /// Values of the mapping's own parameters.
    pub mapping: Vec<Value>,
    /// Values of the allocation's own parameters.
    pub allocation: Vec<Value>,
    /// Values of the collection policy's own parameters.
    pub collection: Vec<Value>,
    /// Which chip a logical block goes to, and that policy's own parameters: from the `[buffer]` section.
    pub placement: (&'static str, Vec<Value>),
    /// The root of the run's random streams: a policy that draws branches off its own.
    pub prng: Prng,
}

impl FtlSetup {
    /// The default policies with the defaults of their parameters.
    pub fn with_defaults() -> Self {
        let params = FtlParams::defaults();
        let values = |slot: &Slot, name: &str| slot.find(name).expect("a default is in its table").values(&[]);
        let placement = placement::SLOT.policies[0];
        Self {
            mapping: values(&mapping::SLOT, params.mapping),
            allocation: values(&allocation::SLOT, params.allocation),
            collection: values(&collection::SLOT, params.gc),
            placement: (placement.name, placement.values(&[])),
            prng: Prng::new(1),
            params,
        }
    }

    /// The same with a mapping of the table and some of its parameters, by name.
    #[must_use]
    pub fn with_mapping(mut self, name: &str, set: &[(&str, Value)]) -> Self {
        let mapping = mapping::SLOT.find(name).expect("a mapping of the table");
        (self.params.mapping, self.mapping) = (mapping.name, mapping.values(set));
        self
    }

    /// Pages of the streams that the FTL wants written together from the start; 1 where it looks for none.
    pub fn stream_pages(&self, device: &DeviceParams) -> u32 {
        mapping::stream_pages(self, device)
    }

    /// Builds the chosen FTL for an erased array. [`misfit`] must have found nothing.
    pub fn build(&self, device: &DeviceParams, nand: &Nand) -> Box<dyn Mapping> {
        debug_assert_eq!(misfit(device, self), None, "checked with the configuration");
        mapping::build(self, device, nand)
    }
}

/// Why an FTL and a device do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The configuration keys that it is about, the most telling first.
    pub keys: Vec<String>,
    /// What does not fit.
    pub found: String,
    /// What would.
    pub expected: String,
    /// The way out.
    pub help: String,
}

/// What keeps an FTL from working on a device, if anything does.
pub fn misfit(device: &DeviceParams, ftl: &FtlSetup) -> Option<Misfit> {
    if device.logical_pages() == 0 {
        return Some(Misfit {
            keys: ["device.over_provisioning", "device.blocks", "device.preset"].map(str::to_owned).to_vec(),
            found: "a drive whose over-provisioning leaves nothing for the host".to_owned(),
            expected: "a drive of at least one page".to_owned(),
            help: "lower device.over_provisioning, or raise device.blocks".to_owned(),
        });
    }
    mapping::misfit(ftl, device)
}
