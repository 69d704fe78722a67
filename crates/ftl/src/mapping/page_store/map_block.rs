//! How blocks of translation pages are won back.
//!
//! ```text
//! page of the map:  its share of the copies of the plane's victim, if there is one, so that they are done when the
//!                   open block for the map is full; they go to that block
//! block full:       with a victim: it is erased, and a block is opened in its place
//!                   else, if at most an eighth of the full block is valid (a page at least): a block is opened, takes
//!                   what is valid, and the full one is erased
//!                   else a block is opened as for any lane
//! block opened:     victim = the plane's block of the map with the least valid pages, if that is at most a quarter of
//!                   it
//! ```
//!
//! A translation page is written again and again, so that of a block of them little is valid: less than of any block of
//! data. And the map's pages come in bursts, because what collections of data move has to be written there. Left to the
//! collection policy, a block for the map would be wanted at about the same time as one for the host; two would have to
//! be free then, and a write would wait for the whole collection of a block of data. So the blocks of the map look
//! after themselves: once there are as many as the map takes, one is given back for each that is taken, at the cost of
//! its few valid pages, and the deadlines of the plane's collection are those of the host's blocks only. The policy is
//! not offered them; where it has nothing to offer, because no page of data is dead, the plane's collection takes them
//! nevertheless, and each to its end at once: the map's pages would fill the block that its copies count on.
//! Collections of the map count neither as foreground ones, which a write begins that finds too few free blocks, nor as
//! background ones.
//!
//! Where the whole map of a plane is a small part of a block, as with a few hundred blocks a plane, its full block is
//! its own victim. Then there has to be a free block while it is replaced; a plane may have none for a time, because
//! the last is open for survivors or lent to the host, and therefore it is replaced from when it is nearly full.

use flashloom_nand::{BlockId, Origin, PlaneId};

use super::cursor::{CollectionListener, Cursor};
use super::plane::Job;
use super::store::PageStore;
use crate::GcPace;
use crate::allocation::Place;
use crate::blocks::BlockState;
use crate::lane::Lane;

impl PageStore {
    /// The full block of the map with the least valid pages in a plane, where they see to themselves.
    fn least_valid_of_map(&self, plane: PlaneId) -> Option<BlockId> {
        let is_full = |&block: &BlockId| self.is_apart(block) && self.blocks.state(block) == BlockState::Closed;
        self.blocks_of(plane).filter(is_full).min_by_key(|&block| self.blocks.valid_of(block))
    }

    /// What a plane without a dead page of data still has to collect: a block of the map that is not all valid.
    pub(super) fn victim_of_map(&self, plane: PlaneId) -> Option<BlockId> {
        let victim = self.least_valid_of_map(plane);
        victim.filter(|&block| self.blocks.valid_of(block) < self.geometry.pages)
    }

    fn is_its_own_victim(&self, plane: PlaneId) -> bool {
        let block = self.plane(plane).open(Lane::MAP).block;
        let few = (self.geometry.pages / 8).max(1).min(self.geometry.pages - 1);
        block.is_some() && self.blocks.valid_of(block) <= few
    }
}

impl<L: CollectionListener> Cursor<'_, L> {
    /// Takes the next page of a plane for a page of the map, as [`Self::reserve`] does.
    pub fn reserve_for_map(&mut self, plane: PlaneId) -> Option<(BlockId, u32)> {
        let store = &*self.store;
        let is_nearly_full = store.left(plane, Lane::MAP) < store.geometry.pages / 8;
        if store.plane(plane).map_job.is_some() {
            if store.begins_superpage(plane, Lane::MAP) {
                self.pay_for_map(plane);
            }
        } else if is_nearly_full && store.blocks.free_in(plane) < store.collector.strategy.threshold {
            self.replace_map_block(plane);
        }
        self.reserve(Place { plane, lane: Lane::MAP })
    }

    /// Makes sure that there is a page for the map where its block is full, if blocks of the map can see to that.
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

    /// A block for the map has been opened: chooses what is won back while it is filled.
    pub(super) fn choose_map_victim(&mut self, plane: PlaneId) {
        if self.store.plane(plane).map_job.is_some() {
            return;
        }
        let Some(victim) = self.store.least_valid_of_map(plane) else { return };
        if self.store.blocks.valid_of(victim) <= self.store.geometry.pages / 4 {
            self.with_map_job(plane, |cursor| cursor.begin_on_map(plane, victim));
        }
    }

    fn begin_on_map(&mut self, plane: PlaneId, victim: BlockId) {
        let gain = self.store.geometry.pages - self.store.blocks.valid_of(victim);
        self.begin_with(plane, Job::new(victim, Lane::MAP, Origin::Gc, gain));
    }

    /// Copies as many pages of the map's victim as have to be before the next superpage of the map.
    fn pay_for_map(&mut self, plane: PlaneId) {
        let store = &*self.store;
        let Some(job) = &store.plane(plane).map_job else { return };
        let copies = store.blocks.valid_of(job.victim);
        let pages = store.left(plane, Lane::MAP).saturating_sub(copies).max(1);
        let share = (copies * store.superblocks.width()).div_ceil(pages);
        self.step_for_map(plane, Some(share));
    }

    /// Continues the map's job: by a number of copies, or to its end.
    pub(super) fn step_for_map(&mut self, plane: PlaneId, copies: Option<u32>) {
        let Some(Job { victim, .. }) = self.store.plane(plane).map_job else { return };
        let until = copies.map(|copies| self.store.blocks.valid_of(victim).saturating_sub(copies));
        let urgency = self.store.collector.strategy.urgency;
        self.with_map_job(plane, |cursor| {
            while until.is_none_or(|until| cursor.store.blocks.valid_of(victim) > until)
                && cursor.step(plane, 1, urgency) > 0
            {}
        });
    }

    /// Replaces the block for the map, if little in it is valid and another one is free.
    fn replace_map_block(&mut self, plane: PlaneId) -> bool {
        let strategy = &self.store.collector.strategy;
        let has_block = self.store.blocks.free_in(plane) + 1 >= strategy.free_to_open;
        if strategy.pace == GcPace::Share || !has_block || !self.store.is_its_own_victim(plane) {
            return false;
        }
        let block = self.store.plane(plane).open(Lane::MAP).block;
        self.with_map_job(plane, |cursor| {
            cursor.store.open_next(plane, Lane::MAP);
            cursor.begin_on_map(plane, block);
            cursor.finish(plane);
        });
        true
    }

    /// Does something with the map's job of a plane in the place of the plane's collection, which waits meanwhile.
    fn with_map_job(&mut self, plane: PlaneId, act: impl FnOnce(&mut Self)) {
        self.store.plane_mut(plane).swap_jobs();
        act(self);
        self.store.plane_mut(plane).swap_jobs();
    }
}
