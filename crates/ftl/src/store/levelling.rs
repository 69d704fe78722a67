//! Static wear levelling: which data keeps a little-worn block out of use.
//!
//! ```text
//! after an erase:  spread = erases of the block - erases of the plane's least worn block of data
//!                  if spread > wear_threshold: that block's data moves to the most worn free block of the plane, and
//!                  the block is erased and used again
//! ```
//!
//! The exchange of the dual-pool algorithm (Chang, "On Efficient Wear Leveling for Large-Scale Flash-Memory Storage
//! Systems", SAC 2007), within a plane and without its two pools: when the spread exceeds the threshold, a scan of the
//! plane's blocks finds the least worn one; at most one scan per erase. The erase of an exchange never causes another.
//!
//! Page-level mappings move the data as a collection does, and so gather what is valid
//! (`crate::mapping`'s `page_store`). Others name the block of every page, so a block's pages move together, dead ones
//! too, and its number moves with them ([`replace`](super::replace)).

use flashloom_nand::{BlockId, PlaneId};

/// State of static wear levelling.
pub(super) struct Levelling {
    threshold: u32,
    /// For each plane, a lower bound on the erases of its blocks.
    least: Vec<u32>,
    /// Blocks whose data was moved since the last reset.
    pub(super) moves: u64,
}

flashloom_units::state! { Levelling { nested least; value moves; fixed threshold; } }

impl Levelling {
    pub(super) fn new(planes: u32, threshold: u32) -> Self {
        Self { threshold, least: vec![0; planes as usize], moves: 0 }
    }

    /// The block whose data has to move after an erase of `erased`, of those that `can_move` holds for; `None` if the
    /// spread is small enough. `blocks` are those of the plane, `erases` the erases of each block.
    pub(super) fn coldest(
        &mut self,
        (plane, erased): (PlaneId, BlockId),
        (erases, blocks): (&[u32], impl Iterator<Item = BlockId> + Clone),
        can_move: impl Fn(BlockId) -> bool,
    ) -> Option<BlockId> {
        let limit = erases[erased.at()].saturating_sub(self.threshold);
        let least = &mut self.least[plane.at()];
        if *least >= limit {
            return None;
        }
        *least = blocks.clone().map(|block| erases[block.at()]).min().unwrap_or(0);
        let coldest = blocks.filter(|&block| can_move(block)).min_by_key(|block| erases[block.at()]);
        coldest.filter(|block| erases[block.at()] < limit)
    }

    /// The first of a plane's blocks that was erased less often than is known of all of them.
    pub(super) fn mistaken(
        &self,
        plane: PlaneId,
        (erases, mut blocks): (&[u32], impl Iterator<Item = BlockId>),
    ) -> Option<BlockId> {
        blocks.find(|block| erases[block.at()] < self.least[plane.at()])
    }
}
