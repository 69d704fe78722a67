//! The `[device]` section: the parameters of the drive, each declared by the crate or module that uses it.

use std::sync::LazyLock;

use flashloom_ftl::{CapacityParams, Space};
use flashloom_nand::{Geometry, NandParams};
use flashloom_units::{Param, ParamSet, Value};

use crate::drive::{FrontParams, InterfaceParams, ReadCacheParams};
use crate::preset::PresetParams;

/// Parameters of the drive; a preset gives each of them a value, which a configuration may override.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceParams {
    /// The preset that the other parameters start from.
    pub preset: PresetParams,
    /// The array.
    pub nand: NandParams,
    /// The share of the array that the host sees.
    pub capacity: CapacityParams,
    /// The host interface: the link and the controller.
    pub interface: InterfaceParams,
    /// The front: submission queues and their arbiter.
    pub front: FrontParams,
    /// The read cache.
    pub read_cache: ReadCacheParams,
}

impl ParamSet for DeviceParams {
    fn params() -> &'static [Param] {
        static ALL: LazyLock<Vec<Param>> = LazyLock::new(|| {
            let of_drive =
                [CapacityParams::PARAMS, InterfaceParams::PARAMS, FrontParams::PARAMS, ReadCacheParams::PARAMS]
                    .concat();
            [PresetParams::PARAMS, NandParams::PARAMS, &of_drive].concat()
        });
        &ALL
    }

    fn from_values(mut values: &[Value]) -> Self {
        let device = Self {
            preset: ParamSet::take_from(&mut values),
            nand: ParamSet::take_from(&mut values),
            capacity: ParamSet::take_from(&mut values),
            interface: ParamSet::take_from(&mut values),
            front: ParamSet::take_from(&mut values),
            read_cache: ParamSet::take_from(&mut values),
        };
        assert!(values.is_empty(), "one value for each parameter");
        device
    }
}

impl DeviceParams {
    /// The geometry of the array.
    pub fn geometry(&self) -> Geometry {
        self.nand.geometry()
    }

    /// The number of logical pages.
    pub fn logical_pages(&self) -> u64 {
        self.capacity.logical_pages(&self.geometry())
    }

    /// The capacity that the host sees, in 512-byte sectors.
    pub fn capacity_sectors(&self) -> u64 {
        self.logical_pages() * u64::from(self.geometry().sectors_per_page())
    }

    /// The sizes that the FTL works with.
    pub fn space(&self) -> Space {
        Space::new(self.nand.clone(), &self.capacity)
    }
}
