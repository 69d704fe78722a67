//! Collection of *map blocks*, the blocks of translation pages.
//!
//! ```text
//! map page written:  copies its share of the victim's valid pages, if the plane has a victim, so that all are copied
//!                    when the open map block is full; they go to that block
//! block full:        with a victim: erase it, and open a block in its place
//!                    else, if at most an eighth of the full block is valid (but at least a page): open a block, copy
//!                    the valid pages to it, and erase the full one
//!                    else open a block as for any lane
//! block opened:      victim = the plane's map block with the fewest valid pages, if these are at most a quarter of it
//! ```
//!
//! Translation pages are overwritten often, so a map block has fewer valid pages than any data block. They also come in
//! bursts, because collections of data write back the entries that they moved. If the collection policy handled map
//! blocks, map and host would often need a block at the same time; two would have to be free, and a write would wait
//! for the whole collection of a data block. So map blocks are collected apart: once there are enough for the map, each
//! block opened is paired with one erased, at the cost of its few valid pages, and the deadlines of the plane's
//! collection are those of the host's blocks only. The policy does not see map blocks. Only if no data page of a plane
//! is dead does the plane's collection take one, and runs to its end at once, because the map's own pages would
//! otherwise fill the block that its copies need. Collections of map blocks count neither as foreground nor as
//! background collections.
//!
//! If the whole map of a plane is a small part of a block, as with a few hundred blocks per plane, the full block is
//! its own victim. Replacing it needs a free block, and a plane may have none for a time, because the last is open for
//! survivors or lent to the host. So it is replaced from when it is nearly full.

use flashloom_nand::{BlockId, Origin, PlaneId};

use super::cursor::{CollectionListener, Cursor};
use super::plane::CollectionJob;
use super::store::PageStore;
use crate::GcPace;
use crate::allocation::PagePlace;
use crate::lane::Lane;
use crate::store::BlockState;

impl PageStore {
    /// The full map block of a plane with the fewest valid pages, if map blocks are collected apart.
    fn least_valid_of_map(&self, plane: PlaneId) -> Option<BlockId> {
        let is_full = |&block: &BlockId| self.is_apart(block) && self.blocks.state(block) == BlockState::Closed;
        self.blocks.of_plane(plane).filter(is_full).min_by_key(|&block| self.blocks.valid_of(block))
    }

    /// A victim for a plane without a dead data page: a map block that is not all valid.
    pub(super) fn victim_of_map(&self, plane: PlaneId) -> Option<BlockId> {
        let victim = self.least_valid_of_map(plane);
        victim.filter(|&block| self.blocks.valid_of(block) < self.blocks.pages())
    }

    fn is_its_own_victim(&self, plane: PlaneId) -> bool {
        let block = self.open_block(plane, Lane::MAP);
        let few = (self.blocks.pages() / 8).max(1).min(self.blocks.pages() - 1);
        block.is_some() && self.blocks.valid_of(block) <= few
    }
}

impl<L: CollectionListener> Cursor<'_, L> {
    /// [`Self::reserve`] for a page of the map.
    pub fn reserve_for_map(&mut self, plane: PlaneId) -> Option<(BlockId, u32)> {
        let store = &*self.store;
        let is_nearly_full = store.left(plane, Lane::MAP) < store.blocks.pages() / 8;
        if store.plane(plane).map_job.is_some() {
            if store.begins_superpage(plane, Lane::MAP) {
                self.pay_for_map(plane);
            }
        } else if is_nearly_full && store.blocks.free_in(plane) < store.collector.strategy.threshold {
            self.replace_map_block(plane);
        }
        self.reserve(PagePlace { plane, lane: Lane::MAP })
    }

    /// If the open map block is full, opens the next one in the place of a map block, if that is possible.
    pub(super) fn make_page_for_map(&mut self, plane: PlaneId) -> bool {
        if self.store.plane(plane).map_job.is_none() {
            return self.replace_map_block(plane);
        }
        self.step_for_map(plane, None);
        let has_block = self.store.blocks.free_in(plane) > 0;
        if has_block && self.store.is_full(plane, Lane::MAP) {
            self.store.open(plane, Lane::MAP);
            self.choose_map_victim(plane);
        }
        has_block
    }

    /// Called when a map block is opened: chooses the victim that is collected while it fills.
    pub(super) fn choose_map_victim(&mut self, plane: PlaneId) {
        if self.store.plane(plane).map_job.is_some() {
            return;
        }
        let Some(victim) = self.store.least_valid_of_map(plane) else { return };
        if self.store.blocks.valid_of(victim) <= self.store.blocks.pages() / 4 {
            self.with_map_job(plane, |cursor| cursor.begin_on_map(plane, victim));
        }
    }

    fn begin_on_map(&mut self, plane: PlaneId, victim: BlockId) {
        let gain = self.store.blocks.pages() - self.store.blocks.valid_of(victim);
        self.begin_with(plane, CollectionJob::new(victim, Lane::MAP, Origin::Gc, gain));
    }

    /// Copies the pages of the map's victim that are due before the next superpage of the map.
    fn pay_for_map(&mut self, plane: PlaneId) {
        let store = &*self.store;
        let Some(job) = &store.plane(plane).map_job else { return };
        let copies = store.blocks.valid_of(job.victim);
        let pages = store.left(plane, Lane::MAP).saturating_sub(copies).max(1);
        let share = (copies * store.blocks.superblocks.superpage()).div_ceil(pages);
        self.step_for_map(plane, Some(share));
    }

    /// Continues the map's job by a number of copies, or to its end.
    pub(super) fn step_for_map(&mut self, plane: PlaneId, copies: Option<u32>) {
        let Some(CollectionJob { victim, .. }) = self.store.plane(plane).map_job else { return };
        let until = copies.map(|copies| self.store.blocks.valid_of(victim).saturating_sub(copies));
        let urgency = self.store.collector.strategy.urgency;
        self.with_map_job(plane, |cursor| {
            while until.is_none_or(|until| cursor.store.blocks.valid_of(victim) > until)
                && cursor.step(plane, 1, urgency) > 0
            {}
        });
    }

    /// Replaces the open map block, if few of its pages are valid and another block is free.
    fn replace_map_block(&mut self, plane: PlaneId) -> bool {
        let strategy = &self.store.collector.strategy;
        let has_block = self.store.blocks.free_in(plane) + 1 >= strategy.free_to_open;
        if strategy.pace == GcPace::Share || !has_block || !self.store.is_its_own_victim(plane) {
            return false;
        }
        let block = self.store.open_block(plane, Lane::MAP);
        self.with_map_job(plane, |cursor| {
            cursor.store.open_next(plane, Lane::MAP);
            cursor.begin_on_map(plane, block);
            cursor.finish(plane);
        });
        true
    }

    /// Calls a function with the map's job in the place of the plane's collection.
    fn with_map_job(&mut self, plane: PlaneId, act: impl FnOnce(&mut Self)) {
        self.store.plane_mut(plane).swap_jobs();
        act(self);
        self.store.plane_mut(plane).swap_jobs();
    }
}
