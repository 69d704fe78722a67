//! How the block that a plane writes translation pages to is replaced.
//!
//! A translation page is written again and again, so that of a block that is full of them a few are valid: a plane of
//! 64 blocks of 768 pages has a dozen in all. Such a block is not left to the collection policy. As soon as it is full it
//! is replaced: another one is opened, takes what is still valid, and the full one is erased. That takes a free block and
//! gives one back, at a cost of a few copies and an erase, so it does not count on the plane's collection, which waits
//! meanwhile. Otherwise a plane would have to have two blocks free when the host and the map open theirs at about the
//! same time, and a write would wait for the whole collection of a block of data.
//!
//! A plane may have no free block for a time, because the last is open for survivors, or lent to the host. Therefore the
//! block is replaced as soon as it is nearly full where one block only is free.

use flashloom_nand::{Nand, Origin};
use flashloom_units::PlaneId;

use super::{Follow, PageStore};
use crate::lane::Lane;

/// Of a block that is replaced at most such a part is valid; and it is nearly full when such a part is left.
const SMALL_PART: u32 = 8;

impl PageStore {
    /// Whether the block for translation pages of a plane holds so little that is valid that it will be replaced.
    pub(super) fn map_block_is_replaced(&self, plane: PlaneId) -> bool {
        let block = self.frontiers[plane.at()][Lane::Map as usize].block;
        self.paces_by_deadline && block.is_some() && self.blocks.valid_of(block) <= self.geometry.pages / SMALL_PART
    }

    /// Whether the block for translation pages has so little left that it is better replaced now than too late.
    pub(super) fn is_map_block_nearly_full(&self, plane: PlaneId) -> bool {
        self.left(plane, Lane::Map) < self.geometry.pages / SMALL_PART
    }

    /// Replaces the block for translation pages of a plane, if little in it is valid and there is another one.
    pub(super) fn replace_map_block(&mut self, nand: &mut Nand, plane: PlaneId, follow: &mut impl Follow) -> bool {
        if !self.map_block_is_replaced(plane) || self.blocks.free_in(plane) + 1 < self.free_to_open {
            return false;
        }
        let block = self.frontiers[plane.at()][Lane::Map as usize].block;
        let waiting = self.jobs[plane.at()].take();
        self.report.foreground_collections += 1;
        self.open_next(plane, Lane::Map);
        let gain = self.geometry.pages - self.blocks.valid_of(block);
        self.begin_with(nand, plane, block, Lane::Map, Origin::Gc, gain);
        while self.step(nand, plane, self.foreground, follow) {}
        self.jobs[plane.at()] = waiting;
        true
    }
}
