//! Static wear levelling: moves cold data out of little-worn blocks, so that these are used again.
//!
//! ```text
//! after a collection's erase:  spread = erases of the block - erases of the plane's least worn full block of data
//!                              if spread > wear_threshold: that block's pages move to the lane of cold data, whose
//!                              blocks are the most worn free ones, and the block is erased and used again
//! ```
//!
//! The exchange of the dual-pool algorithm (Chang, "On Efficient Wear Leveling for Large-Scale Flash-Memory Storage
//! Systems", SAC 2007), within a plane and without its two pools: when the spread exceeds the threshold, a scan of the
//! plane's blocks finds the least worn one; at most one scan per erase. The move is a job like a collection, at a pace
//! of two steps per page written. Its erase never causes another move, nor does that of a map block, so that
//! write-backs of a map on flash come to an end.

use flashloom_nand::{BlockId, PlaneId};

use crate::lane::{DeclaredLane, Lane};
use crate::store::Blocks;
use crate::{FtlParams, WearLevelling};

/// The lane of moved data; `None` without static wear levelling.
pub(super) fn lane(params: &FtlParams) -> Option<DeclaredLane> {
    (params.wear_levelling == WearLevelling::Static).then_some(DeclaredLane::collected(Lane::COLD).on_worn_blocks())
}

/// State of static wear levelling.
pub(super) struct Levelling {
    threshold: u32,
    /// For each plane, a lower bound on the erases of its blocks.
    pub(super) least: Vec<u32>,
    /// Blocks whose data was moved since the last reset.
    pub(super) moves: u64,
}

flashloom_units::state! { Levelling { nested least; value moves; fixed threshold; } }

impl Levelling {
    pub(super) fn new(planes: usize, threshold: u32) -> Self {
        Self { threshold, least: vec![0; planes], moves: 0 }
    }

    /// The block of a plane whose data has to move after an erase of `erased`; `None` if the spread is small enough.
    /// `blocks` are those of the plane, and `can_move` is true for full blocks of data.
    pub(super) fn coldest(
        &mut self,
        (plane, erased): (PlaneId, BlockId),
        (all, blocks): (&Blocks, impl Iterator<Item = BlockId> + Clone),
        can_move: impl Fn(BlockId) -> bool,
    ) -> Option<BlockId> {
        let erases = all.erase_counts();
        let limit = erases[erased.at()].saturating_sub(self.threshold);
        let least = &mut self.least[plane.at()];
        if *least >= limit {
            return None;
        }
        *least = blocks.clone().map(|block| erases[block.at()]).min().unwrap_or(0);
        let coldest = blocks.filter(|&block| can_move(block)).min_by_key(|block| erases[block.at()]);
        let coldest = coldest.filter(|block| erases[block.at()] < limit);
        self.moves += u64::from(coldest.is_some());
        coldest
    }
}
