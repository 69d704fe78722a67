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

use flashloom_nand::{BlockId, Nand, Origin, PlaneId};

use super::collect::Job;
use super::{CollectionListener, PageStore};
use crate::allocation::Place;
use crate::blocks::BlockState;
use crate::lane::Lane;

impl PageStore {
    /// Takes the next page of a plane for a page of the map, as [`Self::reserve`] does.
    pub fn reserve_for_map(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        listener: &mut impl CollectionListener,
    ) -> Option<(BlockId, u32)> {
        let is_nearly_full = self.left(plane, Lane::Map) < self.geometry.pages / 8;
        if self.map_jobs[plane.at()].is_some() {
            if self.begins_superpage(plane, Lane::Map) {
                self.pay_for_map(nand, plane, listener);
            }
        } else if is_nearly_full && self.blocks.free_in(plane) < self.gc_threshold {
            self.replace_map_block(nand, plane, listener);
        }
        self.reserve(nand, Place { plane, lane: Lane::Map }, listener)
    }

    /// Whether blocks of the map are none of the collection policy's business.
    pub(super) fn keeps_map_apart(&self, lane: Lane) -> bool {
        self.has_map_apart && lane == Lane::Map
    }

    /// Makes sure that there is a page for the map where its block is full, if blocks of the map can see to that.
    pub(super) fn make_page_for_map(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        listener: &mut impl CollectionListener,
    ) -> bool {
        if self.map_jobs[plane.at()].is_none() {
            return self.replace_map_block(nand, plane, listener);
        }
        self.step_for_map(nand, plane, None, listener);
        let has_block = self.blocks.free_in(plane) > 0;
        if has_block && self.is_full(plane, Lane::Map) {
            self.open(plane, Lane::Map);
            self.choose_map_victim(nand, plane, listener);
        }
        has_block
    }

    /// A block for the map has been opened: chooses what is won back while it is filled.
    pub(super) fn choose_map_victim(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        listener: &mut impl CollectionListener,
    ) {
        if self.map_jobs[plane.at()].is_some() || !self.keeps_map_apart(Lane::Map) {
            return;
        }
        let Some(victim) = self.least_valid_of_map(plane) else { return };
        if self.blocks.valid_of(victim) <= self.geometry.pages / 4 {
            self.with_map_job(plane, |store| store.begin_on_map(nand, plane, victim, listener));
        }
    }

    fn begin_on_map(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        victim: BlockId,
        listener: &mut impl CollectionListener,
    ) {
        let gain = self.geometry.pages - self.blocks.valid_of(victim);
        self.begin_with(nand, plane, Job::new(victim, Lane::Map, Origin::Gc, gain), listener);
    }

    /// The full block of the map with the least valid pages in a plane.
    fn least_valid_of_map(&self, plane: PlaneId) -> Option<BlockId> {
        let first = self.geometry.first_block(plane).0;
        let of_map = (first..first + self.geometry.blocks).map(BlockId).filter(|&block| {
            self.opened_for[block.at()] == Lane::Map && self.blocks.state(block) == BlockState::Closed
        });
        of_map.min_by_key(|&block| self.blocks.valid_of(block))
    }

    /// What a plane without a dead page of data still has to collect: a block of the map that is not all valid.
    pub(super) fn victim_of_map(&self, plane: PlaneId) -> Option<BlockId> {
        let victim = self.least_valid_of_map(plane).filter(|_| self.keeps_map_apart(Lane::Map));
        victim.filter(|&block| self.blocks.valid_of(block) < self.geometry.pages)
    }

    fn is_its_own_victim(&self, plane: PlaneId) -> bool {
        let block = self.frontiers[plane.at()][Lane::Map.at()].block;
        let few = (self.geometry.pages / 8).max(1).min(self.geometry.pages - 1);
        block.is_some() && self.blocks.valid_of(block) <= few
    }

    /// Copies as many pages of the map's victim as have to be before the next superpage of the map.
    fn pay_for_map(&mut self, nand: &mut Nand, plane: PlaneId, listener: &mut impl CollectionListener) {
        let Some(job) = &self.map_jobs[plane.at()] else { return };
        let copies = self.blocks.valid_of(job.victim);
        let pages = self.left(plane, Lane::Map).saturating_sub(copies).max(1);
        self.step_for_map(nand, plane, Some((copies * self.superblocks.width()).div_ceil(pages)), listener);
    }

    /// Continues the map's job: by a number of copies, or to its end.
    pub(super) fn step_for_map(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        copies: Option<u32>,
        listener: &mut impl CollectionListener,
    ) {
        let Some(job) = self.map_jobs[plane.at()] else { return };
        let until = copies.map(|copies| self.blocks.valid_of(job.victim).saturating_sub(copies));
        self.with_map_job(plane, |store| {
            while until.is_none_or(|until| store.blocks.valid_of(job.victim) > until)
                && store.step(nand, plane, 1, store.foreground, listener) > 0
            {}
        });
    }

    /// Replaces the block for the map, if little in it is valid and another one is free.
    fn replace_map_block(&mut self, nand: &mut Nand, plane: PlaneId, listener: &mut impl CollectionListener) -> bool {
        let has_block = self.blocks.free_in(plane) + 1 >= self.free_to_open;
        if !self.paces_by_deadline || !has_block || !self.is_its_own_victim(plane) {
            return false;
        }
        let block = self.frontiers[plane.at()][Lane::Map.at()].block;
        self.with_map_job(plane, |store| {
            store.open_next(plane, Lane::Map);
            store.begin_on_map(nand, plane, block, listener);
            while store.step(nand, plane, u32::MAX, store.foreground, listener) > 0 {}
        });
        true
    }

    /// Does something with the map's job of a plane in the place of the plane's collection, which waits meanwhile.
    fn with_map_job(&mut self, plane: PlaneId, act: impl FnOnce(&mut Self)) {
        let waiting = std::mem::replace(&mut self.jobs[plane.at()], self.map_jobs[plane.at()].take());
        act(self);
        self.map_jobs[plane.at()] = std::mem::replace(&mut self.jobs[plane.at()], waiting);
    }
}
