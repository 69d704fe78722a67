//! Collections as jobs, and where the pages that survive one go.

use flashloom_nand::{BlockId, Geometry, Nand, OpId, Origin, PlaneId, Read, Urgency};
use flashloom_units::prefetch;
use serde::{Deserialize, Serialize};

use super::pace::Pace;
use super::{CollectionListener, PageStore};
use crate::allocation::Place;
use crate::blocks::BlockState;
use crate::lane::Lane;
use crate::superblock::Superblocks;

/// How far ahead of a collection's copies their entries of the map are fetched.
pub(super) const PREFETCH_PAGES: usize = 12;

/// A collection under way.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) victim: BlockId,
    /// Pages below are copied or dead.
    pub(super) next: u32,
    /// Pages that were valid when it began, and pages that it gains.
    pub(super) valid: u32,
    pub(super) gain: u32,
    /// What a page that is written pays for, if that is known.
    pub(super) pace: Option<Pace>,
    /// What was paid and not yet used, in steps times the pages of the pace.
    pub(super) paid: u32,
    /// Where the survivors go, but for hot ones.
    pub(super) lane: Lane,
    pub(super) origin: Origin,
    /// Whether they are spread over the chips.
    pub(super) is_spread: bool,
}

impl Job {
    /// A job on a victim: the lane that its survivors go to, and the pages that it gains.
    pub(super) fn new(victim: BlockId, lane: Lane, origin: Origin, gain: u32) -> Self {
        Self { victim, next: 0, valid: 0, gain, pace: None, paid: 0, lane, origin, is_spread: false }
    }
}

impl PageStore {
    /// A superpage that is written pays for its share of the plane's collection.
    #[inline]
    pub(super) fn pay(&mut self, nand: &mut Nand, plane: PlaneId, listener: &mut impl CollectionListener) {
        // Nearly always a collection is under way and its pace known, and what is paid for are a few copies in a row.
        if self.copies_in_a_row
            && self.is_paced
            && let Some(job) = &mut self.jobs[plane.at()]
            && let Some(pace) = job.pace
            && job.lane != Lane::Map
        {
            job.paid += pace.steps;
            if job.paid < pace.pages {
                return;
            }
            let steps = job.paid / pace.pages.max(1);
            let copied = self.copy_in_a_row(nand, plane, steps, pace.pages, self.foreground, listener);
            if copied < steps {
                self.work_off(nand, plane, pace, listener);
            }
            return;
        }
        self.pay_in_steps(nand, plane, listener);
    }

    /// The same where a collection has to be begun, its pace reckoned, or all of it done at once, and where there are
    /// no copies in a row.
    #[inline(never)]
    fn pay_in_steps(&mut self, nand: &mut Nand, plane: PlaneId, listener: &mut impl CollectionListener) {
        if self.jobs[plane.at()].is_none() {
            self.report.foreground_collections += u64::from(self.begin(nand, plane, listener));
        }
        let Some(job) = &self.jobs[plane.at()] else { return };
        let pace = job.pace.unwrap_or_else(|| self.pace_of(job, plane));
        if let Some(job) = &mut self.jobs[plane.at()] {
            job.pace = Some(pace);
            job.paid += pace.steps * self.superblocks.width();
        }
        self.work_off(nand, plane, pace, listener);
    }

    /// Takes the steps of a plane's collection that are paid for.
    fn work_off(&mut self, nand: &mut Nand, plane: PlaneId, pace: Pace, listener: &mut impl CollectionListener) {
        while let Some(job) = &self.jobs[plane.at()]
            && !self.is_worn_out
        {
            let is_whole = !self.is_paced || self.keeps_map_apart(job.lane);
            let is_single = self.superblocks.width() == 1;
            let pages = if is_single { 1 } else { self.next_pages(job, plane).max(1) };
            let cost = pace.pages.saturating_mul(pages);
            if job.paid < cost && !is_whole {
                return;
            }
            let most = if is_whole { u32::MAX } else { job.paid.checked_div(cost).unwrap_or(u32::MAX) };
            let steps = self.step(nand, plane, most, self.foreground, listener).max(1);
            // The job may be another by now, or its pace be reckoned anew: then nothing is paid yet.
            if let Some(job) = &mut self.jobs[plane.at()] {
                job.paid = job.paid.saturating_sub(steps.saturating_mul(cost));
            }
        }
    }

    /// Pages that the next step of a job copies: what is left of the victim, as far as it fills a superpage of the
    /// lane.
    #[inline]
    fn next_pages(&self, job: &Job, plane: PlaneId) -> u32 {
        let left = self.blocks.valid_of(job.victim);
        if self.superblocks.width() == 1 {
            return left.min(1);
        }
        let to = self.frontiers[plane.at()][job.lane.at()].next;
        left.min(self.superblocks.left_of_superpage(to))
    }

    /// Brings a collection of a plane to its end, because a page that is written finds too few free blocks.
    pub(super) fn collect(&mut self, nand: &mut Nand, plane: PlaneId, listener: &mut impl CollectionListener) {
        let is_new = self.jobs[plane.at()].is_none();
        if !self.begin(nand, plane, listener) {
            assert!(self.map_jobs[plane.at()].is_some(), "a plane with room has a block with a dead page");
            return self.step_for_map(nand, plane, None, listener);
        }
        self.report.foreground_collections += u64::from(is_new);
        while self.step(nand, plane, u32::MAX, self.foreground, listener) > 0 {}
    }

    /// Makes sure that a collection has begun in a plane; false if no block has a dead page.
    pub(super) fn begin(&mut self, nand: &mut Nand, plane: PlaneId, listener: &mut impl CollectionListener) -> bool {
        if self.jobs[plane.at()].is_none() {
            let victim = self.collection.victim(plane).or_else(|| self.victim_of_map(plane));
            let Some(victim) = victim else { return false };
            let lane = self.lanes.survivors(self.opened_for[victim.at()]);
            let gain = self.geometry.pages - self.blocks.valid_of(victim);
            self.begin_with(nand, plane, Job::new(victim, lane, Origin::Gc, gain), listener);
        }
        true
    }

    /// Begins a job on a block that the collection policy does not know of, or no more.
    pub(super) fn begin_with(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        job: Job,
        listener: &mut impl CollectionListener,
    ) {
        debug_assert!(self.jobs[plane.at()].is_none(), "a plane has one job at a time");
        let Job { victim, mut lane, origin, .. } = job;
        listener.begins(nand, self, victim);
        nand.begin_job(origin, self.superblocks.first(victim));
        let is_stream = matches!(self.opened_for[victim.at()], Lane::Stream | Lane::CollectedStream);
        let is_spread = is_stream && self.spreading.as_ref().is_some_and(|spreading| spreading.is_read_hot(victim));
        if lane.is_extra() && self.frontiers[plane.at()][lane.at()].block.is_none() {
            // Opened at once, while there is room for it; where there is none the pages go to a lane that is always
            // there.
            if self.has_room(plane, lane) && self.blocks.free_in(plane) > 0 {
                self.open(plane, lane);
            } else {
                lane = Lane::Collected;
            }
        }
        let valid = self.blocks.valid_of(victim);
        if self.blocks.state(victim) != BlockState::Bad {
            self.blocks.set_state(victim, BlockState::Victim);
        }
        self.jobs[plane.at()] = Some(Job { valid, lane, is_spread, ..job });
    }

    /// Takes the next steps of the plane's collection, `most` at most: copies of a page, or of as many as fill a
    /// superpage; or its erase, which ends it. Returns how many it took; none once it has ended, or cannot go on
    /// because the drive is worn out.
    pub(super) fn step(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        most: u32,
        urgency: Urgency,
        listener: &mut impl CollectionListener,
    ) -> u32 {
        let copied = self.copy_in_a_row(nand, plane, most, 0, urgency, listener);
        if copied > 0 {
            return copied;
        }
        let Some(job) = &self.jobs[plane.at()] else { return 0 };
        match self.next_pages(job, plane) {
            0 => {
                let Job { victim, origin, lane, .. } = *job;
                self.end(nand, plane, (victim, origin), urgency, listener);
                if lane != Lane::Map {
                    listener.ended(plane);
                }
                0
            }
            1 => u32::from(self.move_next(nand, plane, None, urgency, listener)),
            pages => u32::from(self.move_superpage(nand, plane, pages as usize, urgency, listener)),
        }
    }

    /// Moves the next pages of a job. All are read before any is programmed, so that the programs run together.
    fn move_superpage(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        pages: usize,
        urgency: Urgency,
        listener: &mut impl CollectionListener,
    ) -> bool {
        let Some(Job { victim, mut next, origin, .. }) = self.jobs[plane.at()] else { return false };
        let mut reads = [OpId::DONE; Superblocks::MOST_PLANES];
        for read in &mut reads[..pages] {
            let Some(index) = self.valid.next(&self.geometry, victim, next) else { break };
            let from = self.superblocks.ppn(self.geometry.page(victim, index));
            *read = nand.read(Read { urgency, ..Read::new(from, self.geometry.full_mask(), origin) });
            next = index + 1;
        }
        reads[..pages].iter().all(|&read| self.move_next(nand, plane, Some(read), urgency, listener))
    }

    /// Moves the next page of a job, which has one; `read` is the operation that brings it to the controller, if that
    /// was emitted. False if there is nowhere to go.
    #[inline(always)]
    fn move_next(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        read: Option<OpId>,
        urgency: Urgency,
        listener: &mut impl CollectionListener,
    ) -> bool {
        let Some(job) = &mut self.jobs[plane.at()] else { return false };
        let Some(index) = self.valid.next(&self.geometry, job.victim, job.next) else { return false };
        job.next = index + 1;
        let Job { victim, mut lane, origin, is_spread, .. } = *job;
        let from = self.geometry.page(victim, index);
        if let (Some(heat), Some(job)) = (&self.heat, &self.jobs[plane.at()]) {
            lane = self.survivor_lane(heat, job, self.reverse[from.at()]);
        }
        let to = if is_spread { self.spread(plane, lane) } else { plane };
        if let Some(ahead) = self.reverse.get(from.at() + PREFETCH_PAGES) {
            prefetch(&self.map, ahead.at());
        }
        let Some((block, page)) = self.copy(nand, from, Place { plane: to, lane }, origin, urgency, read) else {
            if let Some(job) = &mut self.jobs[plane.at()] {
                job.next = index;
            }
            return false;
        };
        self.report.page_copies += 1;
        self.invalidate(victim, from);
        let lpn = self.reverse[from.at()];
        self.point(lpn, block, page);
        listener.moved(plane, lpn);
        true
    }

    fn end(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        (victim, origin): (BlockId, Origin),
        urgency: Urgency,
        listener: &mut impl CollectionListener,
    ) {
        self.jobs[plane.at()] = None;
        nand.end_job(origin, self.superblocks.first(victim));
        // A block that failed is not erased; and one that is may fail.
        if self.blocks.state(victim) == BlockState::Bad {
            return;
        }
        let failures = self.superblocks.erase(nand, victim, origin, urgency);
        self.report.block_erases += u64::from(self.superblocks.width() - failures);
        if failures > 0 {
            return self.erase_failed(plane, victim);
        }
        self.blocks.release(victim);
        if self.superblocks.width() > 1 {
            self.erased[plane.at()] = victim;
        }
        if let Some(spreading) = &mut self.spreading {
            spreading.forget(victim);
        }
        if origin == Origin::Gc {
            self.level(nand, plane, victim, listener);
        }
    }

    /// One step in the background; false if no plane is short of free blocks.
    pub fn idle(&mut self, nand: &mut Nand, listener: &mut impl CollectionListener) -> bool {
        if self.can_fail {
            self.evacuate(nand, listener);
        }
        if self.background_threshold <= self.gc_threshold || self.is_worn_out {
            return false;
        }
        let planes = self.geometry.total_planes();
        for _ in 0..planes {
            let plane = PlaneId(self.background);
            let begun = self.jobs[plane.at()].is_some();
            if begun || (self.blocks.free_in(plane) < self.background_threshold && self.begin(nand, plane, listener)) {
                self.report.background_collections += u64::from(!begun);
                let is_whole =
                    self.shares_blocks() || self.jobs[plane.at()].is_some_and(|job| self.keeps_map_apart(job.lane));
                let most = if is_whole { u32::MAX } else { 1 };
                while self.step(nand, plane, most, Urgency::Spare, listener) > 0 && is_whole {}
                return true;
            }
            self.background = (self.background + 1) % planes;
        }
        false
    }

    /// Whether collected pages go where the host writes, so that no collection can be left half done.
    fn shares_blocks(&self) -> bool {
        self.lanes.survivors(Lane::Host) == Lane::Host
    }

    /// The plane for the next page of a stream that is spread: the next one after the last that has a page to give
    /// without any collection, and no job that counts on its free blocks; the plane itself where there is none.
    fn spread(&mut self, plane: PlaneId, lane: Lane) -> PlaneId {
        let Some(spreading) = &self.spreading else { return plane };
        let mut to = spreading.last;
        for _ in 0..self.after.len() {
            to = self.after[to.at()];
            let has_page = !self.is_full(to, lane) || self.blocks.free_in(to) > self.gc_threshold;
            if to == plane || (self.jobs[to.at()].is_none() && self.has_room(to, lane) && has_page) {
                break;
            }
        }
        if let Some(spreading) = &mut self.spreading {
            spreading.last = to;
            spreading.pages += u64::from(to != plane);
        }
        to
    }
}

/// Reads of blocks, so that streams that are read a lot can be spread over the chips when they are collected.
pub(super) struct Spreading {
    /// Reads of each block since it was erased.
    reads: Vec<u32>,
    /// Reads that make a block one that is read a lot.
    threshold: u32,
    last: PlaneId,
    pages: u64,
}

flashloom_units::state! { Spreading { nested reads; value last, pages; fixed threshold; } }

impl Spreading {
    pub(super) fn new(geometry: &Geometry, reads_a_page: u32) -> Self {
        let reads = vec![0; geometry.total_blocks() as usize];
        Self { reads, threshold: reads_a_page.saturating_mul(geometry.pages), last: PlaneId(0), pages: 0 }
    }

    /// The plane that a page went to last.
    pub(super) fn last(&self) -> PlaneId {
        self.last
    }

    /// The host reads a page of a block.
    pub(super) fn count(&mut self, block: BlockId) {
        self.reads[block.at()] = self.reads[block.at()].saturating_add(1);
    }

    fn is_read_hot(&self, block: BlockId) -> bool {
        self.reads[block.at()] >= self.threshold
    }

    fn forget(&mut self, block: BlockId) {
        self.reads[block.at()] = 0;
    }

    /// Pages that went to another plane.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// Counts pages anew.
    pub(super) fn reset(&mut self) {
        self.pages = 0;
    }
}
