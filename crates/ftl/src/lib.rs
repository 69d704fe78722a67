//! The flash translation layer: mapping, allocation of pages, garbage collection, wear.
//!
//! An FTL decides and updates its state at the moment it is called, and emits flash operations to [`Nand`] with what
//! they must wait for; so the same code serves the counting and the timed back end. Three choices, each a slot with
//! one file a policy: the [`mapping`], the [`allocation`] of pages to planes, and the [`collection`] victim.

pub mod allocation;
mod blocks;
pub mod collection;
pub mod mapping;
mod params;

pub use mapping::{FtlReport, Mapping};
pub use params::{FtlParams, GcBlocks, StripeOrder, WearLevelling};

use flashloom_nand::{DeviceParams, Nand, Payload};
use flashloom_units::{Lpn, Value};

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
}

impl FtlSetup {
    /// Builds the chosen FTL for an erased array. [`shortage`] must have found nothing to say.
    pub fn build(&self, device: &DeviceParams, nand: &Nand) -> Box<dyn Mapping> {
        debug_assert_eq!(shortage(device, &self.params), None, "checked with the configuration");
        mapping::build(self, device, nand)
    }
}

/// Why a drive is too small for its spare blocks, if it is: each plane keeps `gc_threshold` blocks free and two open,
/// and the rest must hold its share of what the host sees.
pub fn shortage(device: &DeviceParams, ftl: &FtlParams) -> Option<String> {
    let geometry = device.geometry();
    let planes = u64::from(geometry.total_planes());
    let kept = u64::from(ftl.gc_threshold) + u64::from(blocks::OPEN_BLOCKS);
    let usable = u64::from(geometry.blocks).saturating_sub(kept) * u64::from(geometry.pages);
    let share = device.logical_pages().div_ceil(planes);
    if device.logical_pages() == 0 {
        return Some("its over-provisioning leaves nothing for the host".to_owned());
    }
    (share >= usable).then(|| {
        let needed = share / u64::from(geometry.pages) + 1 + kept;
        format!(
            "a plane has {} blocks, and needs {needed}: {} for its share of the host's capacity, {} that collection \
             keeps free (ftl.gc_threshold) and {} open ones",
            geometry.blocks,
            needed - kept,
            ftl.gc_threshold,
            blocks::OPEN_BLOCKS
        )
    })
}
