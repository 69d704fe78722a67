//! The flash translation layer: mapping, allocation of pages, garbage collection, wear.
//!
//! An FTL decides and updates its state at the moment it is called, and emits flash operations to [`Nand`] with what
//! they must wait for; so the same code serves the counting and the timed back end. Four choices, each a slot with
//! one file a policy: the [`mapping`], the [`allocation`] of pages to planes, the [`collection`] victim, and the
//! [`placement`] of logical blocks on chips.

pub mod allocation;
mod blocks;
mod capability;
mod capacity;
pub mod collection;
mod lane;
pub mod mapping;
mod params;
pub mod placement;
mod report;
mod superblock;

pub use allocation::WantedStreams;
pub use capability::{FIXED_HOMES, PAGE_MAPPING, RANDOM_CHOICES, SINGLE_CHIP, TRANSLATION_PAGES, WRITE_BUFFER};
pub use capacity::{CapacityParams, Space};
pub use lane::{DeclaredLane, Demands, Lane};
pub use mapping::{FtlFigures, Mapping};
pub use params::{FtlParams, GcBlocks, GcPace, HotCold, Preemption, StripeOrder, Superblock, WearLevelling};
pub use report::{FtlReport, MapCacheReport, MergeReport, RetiredBlocks, StreamReport};

use flashloom_nand::{BlockId, Data, Geometry, HostPage, Lpn, Nand, OpId, Origin, Ppn, Program, Read};
use flashloom_units::{Chosen, ParamSet, Prng, Refusal, Role};

use allocation::Allocation;
use collection::Collection;
use placement::Placement;

/// One page that the layer above writes. Pages written in one call were evicted together.
#[derive(Clone, Copy, Debug)]
pub struct PageWrite {
    /// Which page.
    pub lpn: Lpn,
    /// Which of its sectors; the others keep what they hold.
    pub mask: u32,
    /// Handed back by [`Nand`] when the page is programmed.
    pub tag: u32,
    given: HostPage,
}

impl PageWrite {
    /// A write of a page.
    pub fn new(page: HostPage, tag: u32) -> Self {
        Self { lpn: page.lpn, mask: page.mask, tag, given: page }
    }

    /// The same for a mapping that numbers pages in its own way.
    #[must_use]
    pub fn renumbered(self, lpn: Lpn) -> Self {
        Self { lpn, ..self }
    }

    /// The page as the layer above knows it: what flash is told, whatever a mapping calls it.
    pub fn given(&self) -> HostPage {
        self.given
    }

    /// Programs the page to the next page of a block, for FTLs whose programs cannot fail. Where `old` holds the page
    /// and the host did not write all of it, the rest is read from there first; then this returns true.
    pub fn program(&self, nand: &mut Nand, block: BlockId, page: u32, old: Option<Ppn>) -> bool {
        let beneath = nand.geometry().full_mask() & !self.mask;
        let old = old.filter(|_| beneath != 0);
        let read = |old| nand.read(Read::new(old, beneath, Origin::Host));
        let (base, after) = (old.unwrap_or(Ppn::NONE), old.map_or(OpId::DONE, read));
        let data = Data::Host { page: self.given, base };
        nand.program(Program { after, tag: self.tag, ..Program::new(block, page, data, Origin::Host) });
        old.is_some()
    }
}

/// An FTL: the `[ftl]` section and the policies that it chose.
#[derive(Clone, Debug)]
pub struct FtlSetup {
    /// The `[ftl]` section. The policies that it names are the fields below; the names are not read again.
    pub params: FtlParams,
    /// How logical pages are mapped to physical ones.
    pub mapping: Chosen<dyn Mapping>,
    /// Which plane a page goes to, for mappings that ask.
    pub allocation: Chosen<dyn Allocation>,
    /// Which block is collected, for mappings that ask.
    pub collection: Chosen<dyn Collection>,
    /// Which chip a logical block goes to, for mappings that ask.
    pub placement: Chosen<dyn Placement>,
    /// The root of the run's random streams: a policy that draws branches off its own.
    pub prng: Prng,
}

impl FtlSetup {
    /// The default policies with the defaults of their parameters.
    pub fn with_defaults() -> Self {
        let params = FtlParams::defaults();
        Self {
            mapping: first(mapping::builtin().choose(params.mapping, &[])),
            allocation: first(allocation::builtin().choose(params.allocation, &[])),
            collection: first(collection::builtin().choose(params.gc, &[])),
            placement: first(placement::builtin().choose(params.placement, &[])),
            prng: Prng::new(1),
            params,
        }
    }

    /// What the mapping asks of the layers beside it.
    ///
    /// # Errors
    /// Why the FTL does not go with that space.
    pub fn profile(&self, space: &Space) -> Result<mapping::Profile, Refusal> {
        if space.logical_pages == 0 {
            let found = "a drive whose over-provisioning leaves nothing for the host";
            let refusal = Refusal::new(found, "a drive of at least one page");
            let refusal = refusal.at(["device.over_provisioning", "device.blocks", "device.preset"]);
            return Err(refusal.help("lower device.over_provisioning, or raise device.blocks"));
        }
        let site = mapping::Site { space, ftl: self };
        self.mapping.profile(&site).map_err(|refusal| refusal.or_at(mapping::SLOT.key))
    }

    /// Consecutive pages that a die is given to program at once, where the mapping has superblocks; else 1.
    pub fn superpage(&self, geometry: &Geometry) -> u32 {
        let has_superblocks = self.mapping.offers(PAGE_MAPPING);
        if has_superblocks { superblock::superpage(geometry, self.params.superblock) } else { 1 }
    }

    /// What the allocation asks of the store beneath it.
    pub(crate) fn allocation_profile(&self, space: &Space) -> Result<allocation::Profile, Refusal> {
        let site = allocation::Setup::new(space, &self.params);
        self.allocation.profile(&site).map_err(|refusal| refusal.or_at(allocation::SLOT.key))
    }

    /// Builds the allocation.
    pub(crate) fn build_allocation(&self, space: &Space) -> Result<Box<dyn Allocation>, Refusal> {
        let site = allocation::Setup::new(space, &self.params);
        self.allocation.build(&site).map_err(|refusal| refusal.or_at(allocation::SLOT.key))
    }

    /// Builds the chosen FTL for an erased array.
    ///
    /// # Errors
    /// Why it does not go with that space.
    pub fn build(&self, space: &Space, nand: &Nand) -> Result<Box<dyn Mapping>, Refusal> {
        self.profile(space)?;
        let context = mapping::Context { space, ftl: self, nand };
        self.mapping.build(&context).map_err(|refusal| refusal.or_at(mapping::SLOT.key))
    }
}

/// A built-in policy chosen by a default of the same tables.
fn first<P: Role + ?Sized>(chosen: Result<Chosen<P>, Refusal>) -> Chosen<P> {
    chosen.unwrap_or_else(|refusal| panic!("a default is in its table: {refusal}"))
}
