//! The open blocks of each plane: their free pages, and the opening of the next block.

use flashloom_nand::{BlockId, PlaneId};

use super::store::PageStore;
use crate::lane::Lane;
use crate::store::BlockState;

impl PageStore {
    /// True if a lane has no open block, or its open block has no page left.
    #[inline]
    pub(super) fn is_full(&self, plane: PlaneId, lane: Lane) -> bool {
        self.left(plane, lane) == 0
    }

    /// True if the next page of a lane pays for the collection of its plane.
    #[inline]
    pub(super) fn is_to_pay(&self, plane: PlaneId, lane: Lane) -> bool {
        (self.blocks.free_in(plane) < self.collector.strategy.threshold || self.is_below_watermarks())
            && self.begins_superpage(plane, lane)
            && !self.lanes.apart.has(lane)
    }

    /// True if the next page of a lane begins a superpage. Collection steps are taken only then, so that no operation
    /// comes between the pages of a superpage.
    #[inline]
    pub(super) fn begins_superpage(&self, plane: PlaneId, lane: Lane) -> bool {
        let next = self.blocks.pages() - self.left(plane, lane);
        self.blocks.superblocks.left_of_superpage(next) == self.blocks.superblocks.superpage()
    }

    /// True if a page can be placed in a plane: its valid pages leave room for the blocks that collection needs, and
    /// for a block of this lane if it was never opened there.
    #[inline]
    pub(super) fn has_room(&self, plane: PlaneId, lane: Lane) -> bool {
        let state = self.plane(plane);
        let first = lane.is_extra() && self.open_block(plane, lane).is_none();
        i64::from(self.pages.valid.in_plane(plane) + u32::from(first) * self.blocks.pages()) < state.room
    }

    /// Closes the open block of a lane, if there is one, and opens another.
    pub(super) fn open(&mut self, plane: PlaneId, lane: Lane) {
        let full = self.open_block(plane, lane);
        if full.is_some() {
            self.blocks.set_state(full, BlockState::Closed);
            if !self.lanes.apart.has(lane) {
                self.collector.policy.closed(full, self.blocks.valid_of(full));
            }
        } else if lane.is_extra() {
            self.lose_room(plane);
        }
        self.open_next(plane, lane);
    }

    /// Opens a block for a lane whose last block, if any, is closed.
    pub(super) fn open_next(&mut self, plane: PlaneId, lane: Lane) {
        assert!(self.lanes.known.has(lane), "a lane is declared by whoever opens blocks for it");
        let block = if self.lanes.worn.has(lane) {
            self.blocks.open_worn(plane)
        } else {
            let last = self.plane(plane).erased;
            self.blocks.open_another(plane, last)
        };
        self.opened_for[block.at()] = lane;
        self.frontiers.of_mut(plane, lane).block = block;
        self.note_free_blocks();
        self.note_opening(plane, lane);
    }

    /// Reduces the room of a plane by a block.
    pub(super) fn lose_room(&mut self, plane: PlaneId) {
        let pages = i64::from(self.blocks.pages());
        self.plane_mut(plane).room -= pages;
    }

    /// The open block of a lane; `NONE` if it has none.
    #[inline(always)]
    pub(super) fn open_block(&self, plane: PlaneId, lane: Lane) -> BlockId {
        self.frontiers.of(plane, lane).block
    }

    /// Pages left in the open block of a lane; 0 if it has none.
    #[inline(always)]
    pub(super) fn left(&self, plane: PlaneId, lane: Lane) -> u32 {
        let open = self.open_block(plane, lane);
        if open.is_none() { 0 } else { self.blocks.pages() - self.blocks.written(open) }
    }

    /// Takes the next page of the open block of a lane; `None` if the block is full.
    #[inline]
    pub(super) fn take_left(&mut self, plane: PlaneId, lane: Lane) -> Option<(BlockId, u32)> {
        let open = self.open_block(plane, lane);
        (self.left(plane, lane) > 0).then(|| (open, self.blocks.take(open, 1)))
    }

    #[inline]
    pub(super) fn take(&mut self, plane: PlaneId, lane: Lane) -> (BlockId, u32) {
        let page = self.take_left(plane, lane);
        page.expect("a full block is replaced before a page of it is taken")
    }
}
