//! An FTL before it is built: its parameters, the chosen policies, and the space that a mapping is built for.

use flashloom_nand::{Geometry, Nand, Region};
use flashloom_units::{Chosen, Prng, Refusal, Role};

use crate::allocation::{self, Allocation, AllocationSetup};
use crate::capacity::Space;
use crate::collection::Collection;
use crate::mapping::{Mapping, Profile};
use crate::params::FtlParams;
use crate::placement::Placement;
use crate::store::superblocks;
use crate::{mapping_unit, slots};

/// An FTL to be built: the `[ftl]` section and the chosen policies.
#[derive(Clone, Debug)]
pub struct FtlSetup {
    /// The `[ftl]` section. The policies are the fields below; their names in the section are not used.
    pub params: FtlParams,
    /// The mapping.
    pub mapping: Chosen<dyn Mapping>,
    /// The allocation, for mappings that need one.
    pub allocation: Chosen<dyn Allocation>,
    /// The garbage collection policy, for mappings that need one.
    pub collection: Chosen<dyn Collection>,
    /// The placement, for mappings that need one.
    pub placement: Chosen<dyn Placement>,
    /// The root of the run's random streams; a policy that draws has a branch of its own.
    pub prng: Prng,
}

impl FtlSetup {
    /// What the mapping requires of the write buffer and of the array.
    ///
    /// # Errors
    /// The FTL does not fit this space.
    pub fn profile(&self, space: &Space) -> Result<Profile, Refusal> {
        if space.logical_pages == 0 {
            let found = "a drive whose over-provisioning leaves nothing for the host";
            let refusal = Refusal::new(found, "a drive of at least one page");
            let refusal = refusal.at(["device.over_provisioning", "device.blocks", "device.preset"]);
            return Err(refusal.help("lower device.over_provisioning, or raise device.blocks"));
        }
        let site = Site { space, ftl: self };
        mapping_unit::suits(&self.params, self.mapping.spec())?;
        mapping_unit::fits(space, &self.params, self.mapping.spec())?;
        let profile = self.mapping.profile(&site).map_err(|refusal| refusal.or_at(slots::MAPPING.key))?;
        match profile.region.filter(|region| !region.is_within(&space.geometry())) {
            None => Ok(profile),
            Some(Region { first, blocks, .. }) => {
                let found = format!("a mapping that wants {blocks} blocks of every plane, from number {first} on");
                let expected = format!("a region of the {} blocks of a plane", space.nand.blocks);
                Err(Refusal::new(found, expected).at([slots::MAPPING.key, "device.blocks", "device.preset"]))
            }
        }
    }

    /// Consecutive pages that a die programs together: a mapping unit of several pages, a superpage with superblocks,
    /// else 1.
    pub fn superpage(&self, geometry: &Geometry) -> u32 {
        let unit = self.params.mapping_unit_bytes / u64::from(geometry.page_bytes);
        if unit > 1 {
            return unit as u32;
        }
        superblocks::superpage(geometry, self.params.superblock)
    }

    /// The demands of the allocation on the store.
    pub(crate) fn allocation_profile(&self, space: &Space) -> Result<allocation::Profile, Refusal> {
        let site = AllocationSetup::new(space, &self.params);
        self.allocation.profile(&site).map_err(|refusal| refusal.or_at(slots::ALLOCATION.key))
    }

    /// Builds the allocation.
    pub(crate) fn build_allocation(&self, space: &Space) -> Result<Box<dyn Allocation>, Refusal> {
        let site = AllocationSetup::new(space, &self.params);
        self.allocation.build(&site).map_err(|refusal| refusal.or_at(slots::ALLOCATION.key))
    }

    /// Builds the chosen FTL for an erased array.
    ///
    /// # Errors
    /// Why it does not fit that space.
    pub fn build(&self, space: &Space, nand: &Nand) -> Result<Box<dyn Mapping>, Refusal> {
        self.profile(space)?;
        let context = Context { space, ftl: self, nand };
        self.mapping.build(&context).map_err(|refusal| refusal.or_at(slots::MAPPING.key))
    }
}

/// The stack around a mapping, before the mapping is built.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The array, and the logical pages.
    pub space: &'a Space,
    /// The `[ftl]` section, and the policies that a mapping may use: allocation, collection, placement.
    pub ftl: &'a FtlSetup,
}

impl Site<'_> {
    /// The array as the mapping numbers it: with superblocks each die has one plane, whose blocks are these.
    pub(crate) fn geometry(&self) -> Geometry {
        superblocks::units(&self.space.geometry(), self.ftl.params.superblock)
    }

    /// The blocks of each die that are not bad from the factory, and what a message adds to their number if some are.
    pub(crate) fn good_blocks(&self) -> (u64, &'static str) {
        let (geometry, bad) = (self.geometry(), self.space.nand.bad_blocks_a_plane());
        let which = if bad > 0 { " that are not bad (device.bad_blocks)" } else { "" };
        (u64::from(geometry.planes) * u64::from(geometry.blocks - bad), which)
    }
}

/// The stack that a mapping is built for.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The array, and the logical pages.
    pub space: &'a Space,
    /// The `[ftl]` section, and the policies that a mapping may use: allocation, collection, placement.
    pub ftl: &'a FtlSetup,
    /// The erased array, which knows its bad blocks.
    pub nand: &'a Nand,
}

impl Role for dyn Mapping {
    type Site<'a> = Site<'a>;
    type Profile = Profile;
    type Context<'a> = Context<'a>;
}
