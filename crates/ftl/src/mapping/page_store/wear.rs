//! Static wear levelling: data that does not change gives up its little-worn block.
//!
//! ```text
//! after a collection's erase:  spread = erases of the block - erases of the plane's least worn full block of data
//!                              if spread > wear_threshold: that block's pages move to the lane of cold data, whose
//!                              blocks are the most worn free ones, and the block is erased and used again
//! ```
//!
//! The exchange of the dual-pool algorithm (Chang, "On Efficient Wear Leveling for Large-Scale Flash-Memory Storage
//! Systems", SAC 2007), decided within a plane and without its two pools: the least worn block is looked for when the
//! spread has passed the threshold. That is a scan of the plane's blocks, at most once an erase. The move is a job like
//! a collection, at a pace of two steps a page that is written, and it never
//! asks for another one; nor does the collection of a translation block, so that write-backs of a map on flash come to
//! an end.

use flashloom_nand::{BlockId, Nand, Origin, PlaneId};

use super::collect::Job;
use super::{CollectionListener, PageStore};
use crate::blocks::BlockState;
use crate::lane::{DeclaredLane, Lane};
use crate::{FtlParams, WearLevelling};

/// The lane of data that is moved.
pub(super) fn lane(params: &FtlParams) -> Option<DeclaredLane> {
    (params.wear_levelling == WearLevelling::Static).then_some(DeclaredLane::collected(Lane::Cold))
}

/// When data is moved for the sake of wear.
pub(super) struct Levelling {
    threshold: u32,
    /// No block of the plane was erased less often.
    least: Vec<u32>,
    moves: u64,
}

flashloom_units::state! { Levelling { nested least; value moves; fixed threshold; } }

impl Levelling {
    pub(super) fn new(planes: usize, threshold: u32) -> Self {
        Self { threshold, least: vec![0; planes], moves: 0 }
    }

    /// No block of a plane was erased less often.
    pub(super) fn least(&self, plane: PlaneId) -> u32 {
        self.least[plane.at()]
    }

    /// Blocks whose data was moved.
    pub(super) fn moves(&self) -> u64 {
        self.moves
    }

    /// Counts blocks anew.
    pub(super) fn reset(&mut self) {
        self.moves = 0;
    }
}

impl PageStore {
    /// A block of a plane has been erased once more: begins to move the coldest data, if it is time.
    pub(super) fn level(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        erased: BlockId,
        listener: &mut impl CollectionListener,
    ) {
        let Some(levelling) = &mut self.levelling else { return };
        if self.opened_for[erased.at()] == Lane::Map {
            return;
        }
        let erases = self.blocks.erase_counts();
        let limit = erases[erased.at()].saturating_sub(levelling.threshold);
        if levelling.least[plane.at()] >= limit {
            return;
        }
        let first = self.geometry.first_block(plane).0;
        let blocks = (first..first + self.geometry.blocks).map(BlockId);
        levelling.least[plane.at()] = blocks.clone().map(|block| erases[block.at()]).min().unwrap_or(0);
        let is_candidate = |block: &BlockId| {
            self.blocks.state(*block) == BlockState::Closed && !self.keeps_map_apart(self.opened_for[block.at()])
        };
        let Some(coldest) = blocks.filter(is_candidate).min_by_key(|block| erases[block.at()]) else { return };
        if erases[coldest.at()] >= limit {
            return;
        }
        if let Some(levelling) = &mut self.levelling {
            levelling.moves += 1;
        }
        self.collection.withdraw(coldest);
        let lane = if self.opened_for[coldest.at()] == Lane::Map { Lane::Map } else { Lane::Cold };
        let gain = (self.blocks.valid_of(coldest) + 1).div_ceil(2);
        self.begin_with(nand, plane, Job::new(coldest, lane, Origin::Wear, gain), listener);
    }
}
