//! Capacity and over-provisioning: the share of the array that the host sees.

use flashloom_nand::{Geometry, NandParams, Region};
use flashloom_units::{Kind, ParamSet, Value, choice, params};

choice! {
    /// What over-provisioning is a share of: which part of the array is not for the host.
    pub enum Counts {
        /// All pages of the array beyond those of the host, as drives are sold.
        Raw = "raw",
        /// What collection is left with: all of that without blocks that are kept free, open, bad, or an SLC cache's.
        Effective = "effective",
    }
}

params! {
    /// The capacity of the drive: a key of the `[device]` section.
    pub struct CapacityParams {
        /// Space beyond the drive's capacity, as a share of the capacity; `ftl.effective_over_provisioning` of a result
        /// says what collection is left with. Space of the capacity that is never written serves as well:
        /// device.unpartitioned, or run.fill with a workload of that footprint.
        over_provisioning: f64 => "over_provisioning", Kind::Ratio { min: 0.001, max: 1.0 }, Value::Ratio(0.07),
            "More spare space collects more cheaply and stores less.";
        /// Whether over_provisioning counts the array's blocks, or what is left of them for collection.
        counts: Counts => "over_provisioning_counts", Kind::Choice(Counts::CHOICES), Value::Name("raw"),
            "A scaled-down drive keeps as many blocks free and open as the whole one, of fewer, and its write \
             amplification is higher with \"raw\". With \"effective\" the capacity depends on the keys of [ftl] that \
             set blocks aside, so that policies are compared with \"raw\".";
        /// Share of the capacity that no partition covers, so that the host never writes it.
        unpartitioned: f64 => "unpartitioned", Kind::Ratio { min: 0.0, max: 0.95 }, Value::Ratio(0.0),
            "It is spare space for garbage collection, as over-provisioning is: workload, footprint and run.fill are \
             within the rest.";
    }
}

impl CapacityParams {
    /// A drive that is partitioned as a whole, with so much space beyond its capacity.
    pub fn of(over_provisioning: f64) -> Self {
        Self { over_provisioning, ..Self::defaults() }
    }

    /// The number of pages of the drive's capacity: raw pages divided by 1 + over-provisioning, rounded down.
    pub fn capacity_pages(&self, geometry: &Geometry) -> u64 {
        (geometry.total_pages() as f64 / (1.0 + self.over_provisioning)).floor() as u64
    }

    /// The number of logical pages that the host uses: those of the capacity that are partitioned.
    pub fn logical_pages(&self, geometry: &Geometry) -> u64 {
        (self.capacity_pages(geometry) as f64 * (1.0 - self.unpartitioned)).floor() as u64
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
