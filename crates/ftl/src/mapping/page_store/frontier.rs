//! The open blocks of each plane: which have a page left, and how the next one is opened.

use flashloom_nand::{BlockId, Geometry, PlaneId};
use serde::{Deserialize, Serialize};

use super::PageStore;
use crate::blocks::BlockState;
use crate::lane::Lane;

/// An open block and the next page to be written in it.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Frontier {
    pub(super) block: BlockId,
    pub(super) next: u32,
}

impl Frontier {
    /// No open block: the next page is taken from one that is still to be opened.
    pub(super) const fn none(geometry: &Geometry) -> Self {
        Self { block: BlockId::NONE, next: geometry.pages }
    }
}

impl PageStore {
    /// Whether the open block of a lane has no page left, or there is no open block.
    #[inline]
    pub(super) fn is_full(&self, plane: PlaneId, lane: Lane) -> bool {
        self.frontiers[plane.at()][lane.at()].next == self.geometry.pages
    }

    /// Whether the next page of a lane pays for the collection of its plane.
    #[inline]
    pub(super) fn is_to_pay(&self, plane: PlaneId, lane: Lane) -> bool {
        self.blocks.free_in(plane) < self.gc_threshold
            && self.begins_superpage(plane, lane)
            && !self.keeps_map_apart(lane)
    }

    /// Whether the next page of a lane is the first of a superpage: what has to be done is done before it, so that
    /// nothing comes between its pages.
    #[inline]
    pub(super) fn begins_superpage(&self, plane: PlaneId, lane: Lane) -> bool {
        let next = self.frontiers[plane.at()][lane.at()].next;
        self.superblocks.left_of_superpage(next) == self.superblocks.width()
    }

    /// Whether a page can be placed in a plane: its valid pages leave room for the blocks that collection needs, and
    /// for the open block of a lane that was never opened there.
    #[inline]
    pub(super) fn has_room(&self, plane: PlaneId, lane: Lane) -> bool {
        let first = lane.is_extra() && self.frontiers[plane.at()][lane.at()].block.is_none();
        i64::from(self.valid.in_plane(plane) + u32::from(first) * self.geometry.pages) < self.room[plane.at()]
    }

    /// Closes the open block of a lane, if it has one, and opens another.
    pub(super) fn open(&mut self, plane: PlaneId, lane: Lane) {
        let full = self.frontiers[plane.at()][lane.at()].block;
        if full.is_some() {
            self.blocks.set_state(full, BlockState::Closed);
            if !self.keeps_map_apart(lane) {
                self.collection.closed(full, self.blocks.valid_of(full));
            }
        } else if lane.is_extra() {
            self.room[plane.at()] -= i64::from(self.geometry.pages);
        }
        self.open_next(plane, lane);
    }

    /// Opens a block for a lane whose last one, if there was one, has been seen to.
    pub(super) fn open_next(&mut self, plane: PlaneId, lane: Lane) {
        assert!(self.lanes.has(lane), "a lane is declared by whoever opens blocks for it");
        let block = match lane {
            Lane::Cold => self.blocks.open_worn(plane),
            _ => self.blocks.open(plane, self.erased[plane.at()]),
        };
        self.opened_for[block.at()] = lane;
        self.frontiers[plane.at()][lane.at()] = Frontier { block, next: 0 };
        self.note_opening(plane, lane);
    }

    /// Pages left in the open block of a lane.
    #[inline]
    pub(super) fn left(&self, plane: PlaneId, lane: Lane) -> u32 {
        self.geometry.pages - self.frontiers[plane.at()][lane.at()].next
    }

    /// Takes the next page of the open block of a lane, if it has one left.
    #[inline]
    pub(super) fn take_left(&mut self, plane: PlaneId, lane: Lane) -> Option<(BlockId, u32)> {
        let open = &mut self.frontiers[plane.at()][lane.at()];
        let page = open.next;
        (page < self.geometry.pages).then(|| {
            open.next = page + 1;
            (open.block, page)
        })
    }

    #[inline]
    pub(super) fn take(&mut self, plane: PlaneId, lane: Lane) -> (BlockId, u32) {
        let open = &mut self.frontiers[plane.at()][lane.at()];
        debug_assert!(open.next < self.geometry.pages, "a full block is replaced before a page of it is taken");
        open.next += 1;
        (open.block, open.next - 1)
    }
}
