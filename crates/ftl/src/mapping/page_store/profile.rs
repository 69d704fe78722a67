//! The demands of a page-level mapping, checked against the drive.

use flashloom_nand::Geometry;
use flashloom_units::Refusal;

use super::{heat, slc_cache, watermarks, wear};
use crate::collection::{self, CollectionSetup};
use crate::lane::{DeclaredLane, Lane, Lanes};
use crate::mapping::{Profile, Site};
use crate::store::superblocks::units;
use crate::{Demands, FtlParams, Superblock, params};

/// Pages and lanes that a mapping keeps in the store for itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// The number of its own pages, whose numbers follow the host's.
    pub pages: u64,
    /// Its own lanes.
    pub lanes: &'static [DeclaredLane],
}

impl Own {
    /// A map of `pages` pages on flash, in a lane of their own.
    pub(in crate::mapping) fn of_map(pages: u32) -> Self {
        const LANES: &[DeclaredLane] = &[DeclaredLane::written(Lane::MAP).surviving_in(Lane::MAP).of_map()];
        Self { pages: u64::from(pages), lanes: LANES }
    }

    /// The lanes of a store: the mapping's, and those of other parts.
    pub(super) fn lanes(&self, params: &FtlParams, demands: Demands) -> Lanes {
        let others = heat::lanes(params, demands).into_iter().chain(wear::lane(params));
        Lanes::new(params, demands, others.chain(self.lanes.iter().copied()))
    }
}

/// Adds the key of the collection policy to its refusal.
pub(super) fn of_collection(refusal: Refusal) -> Refusal {
    refusal.or_at(collection::SLOT.key)
}

/// Refuses superblocks whose pages do not fit in 16 bits, in which collection counts valid pages.
fn superblocks_are_not_too_large(geometry: &Geometry) -> Result<(), Refusal> {
    if geometry.pages <= u32::from(u16::MAX) {
        return Ok(());
    }
    let found = format!("superblocks of {} pages (device.planes x device.pages)", geometry.pages);
    let keys = ["ftl.superblock", "device.pages", "device.planes", "device.preset"];
    let refusal = Refusal::new(found, format!("superblocks of at most {} pages", u16::MAX)).at(keys);
    Err(refusal.help("set ftl.superblock to \"none\", or lower device.pages"))
}

/// The demands of a page-level mapping, with its allocation.
///
/// # Errors
/// The allocation does not fit the device; or the device is too small for its spare blocks: each plane keeps
/// `gc_threshold` blocks free and one open for each of its lanes, and the rest must hold its share of the host's pages
/// and of the mapping's own.
pub fn profile(site: &Site<'_>, own: &Own) -> Result<Profile, Refusal> {
    let Site { space, ftl } = *site;
    let params = &ftl.params;
    let geometry = units(&space.geometry(), params.superblock);
    superblocks_are_not_too_large(&geometry)?;
    let planes = u64::from(geometry.total_planes());
    let allocation = ftl.allocation_profile(space)?;
    if space.unit_pages > 1 && allocation.stream_pages.is_some() {
        let found = format!("ftl.mapping_unit and `{}`, which looks for streams of pages", ftl.allocation.spec().name);
        let refusal = Refusal::new(found, "an allocation that takes each page by itself, such as `interleave`");
        return Err(refusal.at(["ftl.mapping_unit", "ftl.allocation"]));
    }
    let site = CollectionSetup { geometry: &geometry, prng: &ftl.prng };
    ftl.collection.profile(&site).map_err(of_collection)?;
    let cells = slc_cache::cells(params, &space.nand, allocation.demands)?;
    let cached = params.slc_cache_blocks(geometry.blocks);
    let open = own.lanes(params, allocation.demands).open_blocks();
    let least_free = params::free_to_open(&space.nand);
    let kept_free = params.gc_threshold.max(least_free);
    let lower = if kept_free > least_free { ", or lower ftl.gc_threshold" } else { "" };
    let bad = space.nand.bad_blocks_a_plane();
    let kept = u64::from(kept_free) + u64::from(open) + u64::from(bad) + u64::from(cached);
    let usable = u64::from(geometry.blocks).saturating_sub(kept) * u64::from(geometry.pages);
    let share = (space.logical_pages + own.pages).div_ceil(planes);
    if share < usable {
        let open = u64::from(open) + u64::from(bad) + u64::from(cached);
        let full = share / u64::from(geometry.pages) + 1 + open;
        watermarks::are_within(params, (u64::from(geometry.blocks), u64::from(geometry.blocks).saturating_sub(full)))?;
        return Ok(Profile { stream_pages: allocation.stream_pages, cells, ..Profile::default() });
    }
    let needed = share / u64::from(geometry.pages) + 1 + kept;
    let found = format!(
        "the device is too small for its spare blocks: a {} has {} {}, and needs {needed}: {} for its share of \
         the host's capacity{}, {kept_free} that collection keeps free (ftl.gc_threshold){}{} and {open} open ones",
        if params.superblock == Superblock::Die { "die" } else { "plane" },
        geometry.blocks,
        if params.superblock == Superblock::Die { "superblocks" } else { "blocks" },
        needed - kept,
        if own.pages > 0 { " and the map" } else { "" },
        if bad > 0 { format!(", {bad} that may be bad at birth (device.bad_blocks)") } else { String::new() },
        if cached > 0 { format!(", {cached} of the SLC cache (ftl.slc_cache)") } else { String::new() },
    );
    let keys = ["device.blocks", "device.over_provisioning", "ftl.gc_threshold", "device.preset"];
    let refusal = Refusal::new(found, "a drive whose planes hold their spare blocks").at(keys);
    Err(refusal.help(format!("raise device.blocks or device.over_provisioning{lower}")))
}
