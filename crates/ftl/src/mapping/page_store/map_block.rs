//! How blocks of translation pages are won back.
//!
//! ```text
//! page of the map:  its share of the copies of the plane's victim, if there is one, so that they are done when the open
//!                   block for the map is full; they go to that block
//! block full:       with a victim: it is erased, and a block is opened in its place
//!                   else, if at most an eighth of the full block is valid: a block is opened, takes what is valid,
//!                   and the full one is erased
//!                   else a block is opened as for any lane
//! block opened:     victim = the plane's block of the map with the least valid pages, if that is at most a quarter of it
//! ```
//!
//! A translation page is written again and again, so that of a block of them little is valid: less than of any block of
//! data. And the map's pages come in bursts, because what collections of data move has to be written there. Left to the
//! collection policy, a block for the map would be wanted at about the same time as one for the host; two would have to
//! be free then, and a write would wait for the whole collection of a block of data. So the blocks of the map look after
//! themselves: one is given back for each that is taken, at the cost of its few valid pages, and the pace of the plane's
//! collection knows only what the host writes. The policy is not offered them; where it has nothing to offer, because no
//! page of data is dead, the plane's collection takes them nevertheless.
//!
//! Where the whole map of a plane is a small part of a block, as with a few hundred blocks a plane, its full block is its
//! own victim. Then there has to be a free block while it is replaced; a plane may have none for a time, because the last
//! is open for survivors or lent to the host, and therefore it is replaced from when it is nearly full.

use flashloom_nand::{Nand, Origin};
use flashloom_units::{BlockId, PlaneId};

use super::collect::Job;
use super::{Follow, PageStore};
use crate::allocation::Place;
use crate::blocks::BlockState;
use crate::lane::Lane;

impl PageStore {
    /// Takes the next page of a plane for a page of the map, as [`Self::reserve`] does.
    pub(in crate::mapping) fn reserve_for_map(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        follow: &mut impl Follow,
    ) -> Option<(BlockId, u32)> {
        let is_nearly_full = self.left(plane, Lane::Map) < self.geometry.pages / 8;
        if self.map_jobs[plane.at()].is_some() {
            self.pay_for_map(nand, plane, follow);
        } else if is_nearly_full && self.blocks.free_in(plane) < self.gc_threshold {
            self.replace_map_block(nand, plane, follow);
        }
        self.reserve(nand, Place { plane, lane: Lane::Map }, follow)
    }

    /// Whether blocks of the map are none of the collection policy's business.
    pub(super) fn keeps_map_apart(&self, lane: Lane) -> bool {
        lane == Lane::Map && self.paces_by_deadline
    }

    /// Makes sure that there is a page for the map where its block is full, if blocks of the map can see to that.
    pub(super) fn make_page_for_map(&mut self, nand: &mut Nand, plane: PlaneId, follow: &mut impl Follow) -> bool {
        if self.map_jobs[plane.at()].is_none() {
            return self.replace_map_block(nand, plane, follow);
        }
        self.step_for_map(nand, plane, None, follow);
        let has_block = self.blocks.free_in(plane) > 0;
        if has_block && self.is_full(plane, Lane::Map) {
            self.open(plane, Lane::Map);
            self.choose_map_victim(nand, plane);
        }
        has_block
    }

    /// A block for the map has been opened: chooses what is won back while it is filled.
    pub(super) fn choose_map_victim(&mut self, nand: &mut Nand, plane: PlaneId) {
        let is_busy = |job: &Option<Job>| job.as_ref().is_some_and(|job| job.lane == Lane::Map);
        let has_job = self.map_jobs[plane.at()].is_some() || is_busy(&self.jobs[plane.at()]);
        if has_job || !self.keeps_map_apart(Lane::Map) {
            return;
        }
        let Some(victim) = self.least_valid_of_map(plane) else { return };
        let valid = self.blocks.valid_of(victim);
        if valid > self.geometry.pages / 4 {
            return;
        }
        let waiting = self.jobs[plane.at()].take();
        self.begin_with(nand, plane, victim, Lane::Map, Origin::Gc, self.geometry.pages - valid);
        self.report.foreground_collections += 1;
        self.map_jobs[plane.at()] = std::mem::replace(&mut self.jobs[plane.at()], waiting);
    }

    /// The full block of the map with the least valid pages in a plane.
    fn least_valid_of_map(&self, plane: PlaneId) -> Option<BlockId> {
        let first = self.geometry.first_block(plane).0;
        let of_map = (first..first + self.geometry.blocks)
            .map(BlockId)
            .filter(|&block| self.lanes[block.at()] == Lane::Map && self.blocks.state(block) == BlockState::Closed);
        of_map.min_by_key(|&block| self.blocks.valid_of(block))
    }

    /// What a plane without a dead page of data still has to collect: a block of the map that is not all valid.
    pub(super) fn victim_of_map(&self, plane: PlaneId) -> Option<BlockId> {
        let victim = self.least_valid_of_map(plane).filter(|_| self.keeps_map_apart(Lane::Map));
        victim.filter(|&block| self.blocks.valid_of(block) < self.geometry.pages)
    }

    fn is_its_own_victim(&self, plane: PlaneId) -> bool {
        let block = self.frontiers[plane.at()][Lane::Map as usize].block;
        block.is_some() && self.blocks.valid_of(block) <= (self.geometry.pages / 8).max(1)
    }

    /// Copies as many pages of the map's victim as have to be before the next page of the map.
    fn pay_for_map(&mut self, nand: &mut Nand, plane: PlaneId, follow: &mut impl Follow) {
        let Some(job) = &self.map_jobs[plane.at()] else { return };
        let copies = self.blocks.valid_of(job.victim);
        let pages = self.left(plane, Lane::Map).saturating_sub(copies).max(1);
        self.step_for_map(nand, plane, Some(copies.div_ceil(pages)), follow);
    }

    /// Goes on with the map's job: with so many copies, or to its end.
    pub(super) fn step_for_map(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        copies: Option<u32>,
        follow: &mut impl Follow,
    ) {
        let Some(job) = self.map_jobs[plane.at()].take() else { return };
        let waiting = self.jobs[plane.at()].replace(job);
        let until = copies.map(|copies| self.blocks.valid_of(job.victim).saturating_sub(copies));
        while until.is_none_or(|until| self.blocks.valid_of(job.victim) > until)
            && self.step(nand, plane, self.foreground, follow)
        {}
        self.map_jobs[plane.at()] = std::mem::replace(&mut self.jobs[plane.at()], waiting);
    }

    /// Replaces the block for the map, if little in it is valid and another one is free.
    fn replace_map_block(&mut self, nand: &mut Nand, plane: PlaneId, follow: &mut impl Follow) -> bool {
        let has_block = self.blocks.free_in(plane) + 1 >= self.free_to_open;
        if !self.paces_by_deadline || !has_block || !self.is_its_own_victim(plane) {
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
