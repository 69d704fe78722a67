//! SLC cache: blocks that hold one bit per cell for a time, which take the host's pages first (`fold`).

use std::collections::VecDeque;

use flashloom_nand::{BlockId, CellMode, NandParams, PlaneId};
use flashloom_units::{Ns, Refusal};
use serde::{Deserialize, Serialize};

use crate::report::SlcReport;
use crate::store::Blocks;
use crate::{Demands, FtlParams, HotCold, SlcCacheKind, WhenFull};

/// The cache's part of a plane.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct CachePlane {
    /// The block that takes pages; `NONE` if there is none.
    pub(super) open: BlockId,
    /// Blocks that are full, or were closed to be folded; the oldest first.
    pub(super) full: VecDeque<BlockId>,
    /// Erased blocks of those set aside, the one erased first at the front.
    pub(super) erased: VecDeque<BlockId>,
    /// Blocks set aside that are not bad.
    pub(super) set_aside: u32,
}

/// The SLC cache of a store.
pub(super) struct SlcCache {
    kind: SlcCacheKind,
    pub(super) share: f64,
    when_full: WhenFull,
    /// Free blocks of a plane below which its pages do not go beside the cache.
    fold_below: u32,
    pub(super) flush_delay_ns: Ns,
    /// Pages of a block, or of a superblock, in SLC mode.
    pub(super) pages: u32,
    pub(super) planes: Vec<CachePlane>,
    pub(super) report: SlcReport,
}

flashloom_units::state! {
    SlcCache { array planes; value report; fixed kind, share, when_full, fold_below, flush_delay_ns, pages; }
}

/// The cell mode of the cache's blocks; `None` without a cache.
///
/// # Errors
/// The array or another part of the FTL cannot be used with a cache.
pub(super) fn cells(params: &FtlParams, nand: &NandParams, demands: Demands) -> Result<Option<CellMode>, Refusal> {
    if params.slc_cache == SlcCacheKind::None {
        return Ok(None);
    }
    let refuse = |found: &str, expected: &str, key: &'static str| {
        Err(Refusal::new(found.to_owned(), expected.to_owned()).at(["ftl.slc_cache", key]))
    };
    if nand.bits_per_cell == 1 {
        return refuse(
            "an SLC cache on flash that stores one bit per cell already",
            "flash of two or more bits per cell",
            "device.bits_per_cell",
        );
    }
    if params.hot_cold != HotCold::None {
        return refuse(
            "an SLC cache with hot and cold pages apart, which folding would write to the same blocks",
            "`ftl.hot_cold = \"none\"` with an SLC cache",
            "ftl.hot_cold",
        );
    }
    if demands.streams || demands.isolation {
        return refuse(
            "an SLC cache with an allocation that keeps streams or survivors apart, which folding would write to the \
             same blocks",
            "an allocation without blocks of its own, such as `interleave`, with an SLC cache",
            "ftl.allocation",
        );
    }
    let pages = nand.pages / nand.bits_per_cell;
    if pages == 0 {
        return refuse(
            "an SLC cache of blocks with fewer pages than a cell has bits",
            "blocks of at least one page per bit",
            "device.pages",
        );
    }
    match (nand.slc_read_ns, nand.slc_program_ns) {
        (Some(read_ns), Some(program_ns)) => Ok(Some(CellMode { pages, read_ns, program_ns })),
        (None, _) => {
            refuse("an SLC cache without tR in SLC mode", "a time as `device.slc_read_time`", "device.slc_read_time")
        }
        (_, None) => refuse(
            "an SLC cache without tPROG in SLC mode",
            "a time as `device.slc_program_time`",
            "device.slc_program_time",
        ),
    }
}

impl SlcCache {
    /// The cache of a store with these blocks; `None` without one. Takes those of a static cache from the pool.
    pub(super) fn new(params: &FtlParams, cells: Option<CellMode>, blocks: &mut Blocks) -> Option<Self> {
        let pages = cells?.pages * blocks.superblocks.width();
        let blocks_a_plane = blocks.geometry.blocks;
        let set_aside = match params.slc_cache {
            SlcCacheKind::Static => params.slc_cache_blocks(blocks_a_plane),
            SlcCacheKind::None | SlcCacheKind::Dynamic => 0,
        };
        let planes = (0..blocks.geometry.total_planes()).map(PlaneId).map(|plane| CachePlane {
            open: BlockId::NONE,
            full: VecDeque::new(),
            erased: (0..set_aside).map(|_| blocks.open_for_cache(plane, BlockId::NONE)).collect(),
            set_aside,
        });
        Some(Self {
            kind: params.slc_cache,
            share: params.slc_dynamic_share,
            when_full: params.slc_when_full,
            fold_below: (f64::from(blocks_a_plane) * params.slc_fold_threshold).ceil() as u32,
            flush_delay_ns: params.slc_flush_delay_ns,
            pages,
            planes: planes.collect(),
            report: SlcReport::default(),
        })
    }

    pub(super) fn is_static(&self) -> bool {
        self.kind == SlcCacheKind::Static
    }

    /// Whether pages of a plane with so many free blocks go beside the full cache.
    pub(super) fn goes_beside(&self, free: u32) -> bool {
        self.when_full == WhenFull::Beside && free >= self.fold_below
    }

    /// Whether pages go beside the cache first and wait for folding later.
    pub(super) fn folds_late(&self) -> bool {
        self.when_full == WhenFull::Beside
    }

    /// Blocks of a plane that the cache never gives back.
    pub(super) fn kept(&self, plane: PlaneId) -> u32 {
        if self.is_static() { self.planes[plane.at()].set_aside } else { 1 }
    }

    /// The blocks of a plane that hold pages of the cache.
    pub(super) fn in_use(&self, plane: PlaneId) -> impl Iterator<Item = BlockId> + '_ {
        let CachePlane { open, full, .. } = &self.planes[plane.at()];
        full.iter().copied().chain(Some(*open).filter(|block| block.is_some()))
    }
}
