//! Capacity and over-provisioning: the share of the array that the host sees.

use flashloom_nand::{Geometry, NandParams, Region};
use flashloom_units::{Kind, Value, params};

params! {
    /// The capacity of the drive: a key of the `[device]` section.
    pub struct CapacityParams {
        /// Space beyond what the host sees, as a share of what the host sees; `ftl.effective_over_provisioning` of a
        /// result says what collection is left with.
        over_provisioning: f64 => "over_provisioning", Kind::Ratio { min: 0.001, max: 1.0 }, Value::Ratio(0.07),
            "More spare space collects more cheaply and stores less.";
    }
}

impl CapacityParams {
    /// The number of logical pages: raw pages divided by 1 + over-provisioning, rounded down.
    pub fn logical_pages(&self, geometry: &Geometry) -> u64 {
        (geometry.total_pages() as f64 / (1.0 + self.over_provisioning)).floor() as u64
    }
}

/// The sizes that an FTL maps between: logical pages and the array.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// The array.
    pub nand: NandParams,
    /// The number of logical pages.
    pub logical_pages: u64,
    /// Pages of the array that each page here stands for: more than 1 in a space of mapping units
    /// ([`in_units`](crate::mapping_unit::in_units)).
    pub unit_pages: u32,
}

impl Space {
    /// The space of an array under the configured over-provisioning.
    pub fn new(nand: NandParams, capacity: &CapacityParams) -> Self {
        Self { logical_pages: capacity.logical_pages(&nand.geometry()), nand, unit_pages: 1 }
    }

    /// The space of a region of an array, with `logical_pages` pages for the host.
    pub fn of_region(array: &NandParams, region: &Region, logical_pages: u64) -> Self {
        Self { nand: region.params(array), logical_pages, unit_pages: 1 }
    }

    /// Data bytes of a page of this space.
    pub fn page_bytes(&self) -> u64 {
        self.nand.page_bytes * u64::from(self.unit_pages)
    }

    /// The geometry of the array, with blocks of so many pages of this space.
    pub fn geometry(&self) -> Geometry {
        self.nand.geometry()
    }
}
