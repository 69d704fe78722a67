//! Collections as jobs: beginning, steps, and the lanes of survivors.

use flashloom_nand::{BlockId, Lpn, OpId, Origin, PlaneId, Read, Urgency};
use flashloom_units::prefetch;

use super::cursor::{CollectionListener, Cursor};
use super::heat::Heat;
use super::plane::{CollectionJob, Pace};
use super::rows::PREFETCH_PAGES;
use super::store::PageStore;
use super::strategy::{Copies, Progress};
use crate::allocation::PagePlace;
use crate::lane::Lane;
use crate::store::BlockState;
use crate::store::superblocks::Superblocks;

impl PageStore {
    /// Pages that the next step of a job copies: up to the end of the lane's superpage, or what is left of the victim.
    #[inline]
    fn next_pages(&self, job: &CollectionJob, plane: PlaneId) -> u32 {
        let left = self.blocks.valid_of(job.victim);
        if self.blocks.superblocks.superpage() == 1 {
            return left.min(1);
        }
        let to = self.blocks.pages() - self.left(plane, job.lane);
        left.min(self.blocks.superblocks.left_of_superpage(to))
    }

    /// True if a job runs to its end at once: by the strategy, or because it is on a map block.
    fn is_whole(&self, job: &CollectionJob) -> bool {
        self.collector.strategy.progress != Progress::InSteps || self.lanes.apart.has(job.lane)
    }

    /// Whether the job of a plane is a collection, not a fold.
    fn collects(&self, plane: PlaneId) -> bool {
        self.plane(plane).job.is_some_and(|job| job.origin != Origin::Fold)
    }

    /// The lane that a page of a victim is copied to: for a hot page that of hot survivors. A job may open only one
    /// block; if the page's lane has no room then, the page goes to the other lane, and is judged again when it is next
    /// collected.
    fn survivor_lane(&self, heat: &Heat, job: &CollectionJob, lpn: Lpn) -> Lane {
        let plane = self.blocks.plane_of(job.victim);
        let is_of_map = self.lanes.map.has(self.opened_for[job.victim.at()]);
        if job.lane != self.lanes.survivors(Lane::HOST) || job.origin != Origin::Gc || is_of_map {
            return job.lane;
        }
        let hot = if job.lane == Lane::HOST { Lane::HOT } else { Lane::COLLECTED_HOT };
        let is_open = self.open_block(plane, hot).is_some();
        let is_hot = heat.is_hot_survivor(lpn) && (is_open || self.has_room(plane, hot));
        let (lane, other) = if is_hot { (hot, job.lane) } else { (job.lane, hot) };
        let has_page = !self.is_full(plane, lane) || self.blocks.free_in(plane) > 0;
        if has_page || self.is_full(plane, other) { lane } else { other }
    }

    /// The plane for the next survivor of a stream that is spread: the next plane, after the last one used, that has
    /// room without a collection and no job that may need its free blocks. The victim's own plane if there is none.
    fn spread(&mut self, plane: PlaneId, lane: Lane) -> PlaneId {
        let Some(spreading) = &self.collector.spreading else { return plane };
        let mut to = spreading.last;
        for _ in 0..self.planes.len() {
            to = self.plane(to).after;
            let has_page = !self.is_full(to, lane) || self.blocks.free_in(to) > self.collector.strategy.threshold;
            if to == plane || (self.plane(to).job.is_none() && self.has_room(to, lane) && has_page) {
                break;
            }
        }
        if let Some(spreading) = &mut self.collector.spreading {
            spreading.went(to, plane);
        }
        to
    }

    /// The block whose data static wear levelling moves, after another block of its plane was erased.
    fn coldest(&mut self, erased: BlockId) -> Option<BlockId> {
        let Self { lanes, opened_for, blocks, .. } = self;
        if lanes.map.has(opened_for[erased.at()]) {
            return None;
        }
        let is_apart = |block: BlockId| lanes.apart.has(opened_for[block.at()]);
        blocks.coldest(erased, |all, block| all.state(block) == BlockState::Closed && !is_apart(block))
    }
}

impl<L: CollectionListener> Cursor<'_, L> {
    /// Takes the steps of the plane's collection that a superpage written pays for.
    #[inline]
    pub(super) fn pay(&mut self, plane: PlaneId) {
        let PageStore { planes, lanes, collector, .. } = &mut *self.store;
        let strategy = &collector.strategy;
        // The common case: a collection with a known pace is under way, and the steps are a few copies in a row.
        if strategy.copies == Copies::InARow
            && strategy.progress == Progress::InSteps
            && let Some(job) = &mut planes[plane.at()].job
            && let Some(pace) = job.pace
            && !lanes.map.has(job.lane)
        {
            job.paid += pace.steps;
            if job.paid < pace.pages {
                return;
            }
            let steps = job.paid / pace.pages.max(1);
            let urgency = strategy.urgency;
            let copied = self.copy_in_a_row(plane, steps, pace.pages, urgency);
            if copied < steps {
                self.work_off(plane, pace);
            }
            return;
        }
        self.pay_in_steps(plane);
    }

    /// [`Self::pay`] in all other cases: begins a collection, computes its pace, runs it to its end at once, or takes
    /// single steps.
    #[inline(never)]
    fn pay_in_steps(&mut self, plane: PlaneId) {
        if self.store.plane(plane).job.is_none() {
            let has_begun = self.begin(plane);
            self.store.report.foreground_collections += u64::from(has_begun && self.store.collects(plane));
        }
        let store = &mut *self.store;
        let Some(job) = &store.plane(plane).job else { return };
        let pace = job.pace.unwrap_or_else(|| store.pace_of(job, plane));
        let superpage = store.blocks.superblocks.superpage();
        if let Some(job) = &mut store.plane_mut(plane).job {
            job.pace = Some(pace);
            job.paid += pace.steps * superpage;
        }
        self.work_off(plane, pace);
    }

    /// Takes the paid steps of a plane's collection.
    fn work_off(&mut self, plane: PlaneId, pace: Pace) {
        while let Some(job) = &self.store.plane(plane).job
            && !self.store.failures.is_worn_out
        {
            let is_whole = self.store.is_whole(job);
            let is_single = self.store.blocks.superblocks.superpage() == 1;
            let pages = if is_single { 1 } else { self.store.next_pages(job, plane).max(1) };
            let cost = pace.pages.saturating_mul(pages);
            if job.paid < cost && !is_whole {
                return;
            }
            let most = if is_whole { u32::MAX } else { job.paid.checked_div(cost).unwrap_or(u32::MAX) };
            let urgency = self.store.collector.strategy.urgency;
            let steps = self.step(plane, most, urgency).max(1);
            // Another job, or a new pace, begins with nothing paid.
            if let Some(job) = &mut self.store.plane_mut(plane).job {
                job.paid = job.paid.saturating_sub(steps.saturating_mul(cost));
            }
        }
    }

    /// Runs a collection of a plane to its end, because a write finds too few free blocks.
    pub(super) fn collect(&mut self, plane: PlaneId) {
        let is_new = self.store.plane(plane).job.is_none();
        if !self.begin(plane) {
            assert!(self.store.plane(plane).map_job.is_some(), "a plane with room has a block with a dead page");
            return self.step_for_map(plane, None);
        }
        self.store.report.foreground_collections += u64::from(is_new && self.store.collects(plane));
        self.finish(plane);
    }

    /// Takes all remaining steps of a plane's collection.
    pub(super) fn finish(&mut self, plane: PlaneId) {
        let urgency = self.store.collector.strategy.urgency;
        while self.step(plane, u32::MAX, urgency) > 0 {}
    }

    /// Begins a collection in a plane unless there is one; false if no block has a dead page.
    pub(super) fn begin(&mut self, plane: PlaneId) -> bool {
        let store = &mut *self.store;
        if store.plane(plane).job.is_none() {
            if let Some(victim) = store.give_way(plane) {
                self.begin_fold_of(plane, victim);
                return true;
            }
            let victim = store.collector.policy.victim(plane).or_else(|| store.victim_of_map(plane));
            let Some(victim) = victim else { return false };
            let lane = store.lanes.survivors(store.opened_for[victim.at()]);
            let gain = store.blocks.pages() - store.blocks.valid_of(victim);
            self.begin_with(plane, CollectionJob::new(victim, lane, Origin::Gc, gain));
        }
        true
    }

    /// Begins a job on a block that is not, or no longer, known to the collection policy.
    pub(super) fn begin_with(&mut self, plane: PlaneId, job: CollectionJob) {
        let Self { store, nand, listener } = self;
        debug_assert!(store.plane(plane).job.is_none(), "a plane has one job at a time");
        let CollectionJob { victim, mut lane, origin, .. } = job;
        listener.begins(nand, store, victim);
        nand.begin_job(origin, store.blocks.first_in_array(victim));
        let is_read_hot = |block| store.collector.spreading.as_ref().is_some_and(|reads| reads.is_read_hot(block));
        let is_spread = store.lanes.streams.has(store.opened_for[victim.at()]) && is_read_hot(victim);
        if lane.is_extra() && store.open_block(plane, lane).is_none() {
            // Open the survivors' lane at once, while there is room; without room use a lane that every plane has.
            if store.has_room(plane, lane) && store.blocks.free_in(plane) > 0 {
                store.open(plane, lane);
            } else {
                lane = Lane::COLLECTED;
            }
        }
        let valid = store.blocks.valid_of(victim);
        if store.blocks.state(victim) != BlockState::Bad {
            store.blocks.set_state(victim, BlockState::Victim);
        }
        store.plane_mut(plane).job = Some(CollectionJob { valid, lane, is_spread, ..job });
    }

    /// Takes at most `most` steps of the plane's collection: copies of a page or a superpage, or the erase that ends
    /// it. Returns the number of copying steps: 0 if the collection has ended, or the drive is worn out.
    pub(super) fn step(&mut self, plane: PlaneId, most: u32, urgency: Urgency) -> u32 {
        let copied = self.copy_in_a_row(plane, most, 0, urgency);
        if copied > 0 {
            return copied;
        }
        let Some(job) = &self.store.plane(plane).job else { return 0 };
        match self.store.next_pages(job, plane) {
            0 => {
                let CollectionJob { victim, origin, lane, .. } = *job;
                self.end(plane, (victim, origin), urgency);
                if !self.store.lanes.map.has(lane) {
                    self.listener.ended(plane);
                }
                0
            }
            1 => u32::from(self.move_next(plane, None, urgency)),
            pages => u32::from(self.move_superpage(plane, pages as usize, urgency)),
        }
    }

    /// Moves the next pages of a job. All reads are emitted before the programs, so that these run together.
    fn move_superpage(&mut self, plane: PlaneId, pages: usize, urgency: Urgency) -> bool {
        let Self { store, nand, .. } = self;
        let Some(CollectionJob { victim, mut next, origin, .. }) = store.plane(plane).job else { return false };
        let mut reads = [OpId::DONE; Superblocks::MOST_PLANES];
        for read in &mut reads[..pages] {
            let Some(index) = store.pages.valid.next(&store.blocks.geometry, victim, next) else { break };
            let from = store.blocks.in_array(store.blocks.page(victim, index));
            *read = nand.read(Read { urgency, ..Read::new(from, store.blocks.geometry.full_mask(), origin) });
            next = index + 1;
        }
        reads[..pages].iter().all(|&read| self.move_next(plane, Some(read), urgency))
    }

    /// Moves the next page of a job, which has one; `read` is its read, if that was emitted already. False if there is
    /// no room anywhere.
    #[inline(always)]
    fn move_next(&mut self, plane: PlaneId, read: Option<OpId>, urgency: Urgency) -> bool {
        let store = &mut *self.store;
        let Some(job) = &mut store.planes[plane.at()].job else { return false };
        let Some(index) = store.pages.valid.next(&store.blocks.geometry, job.victim, job.next) else { return false };
        job.next = index + 1;
        let CollectionJob { victim, mut lane, origin, is_spread, .. } = *job;
        let from = store.blocks.page(victim, index);
        let lpn = store.pages.reverse[from.at()];
        if let (Some(heat), Some(job)) = (&store.heat, &store.plane(plane).job) {
            lane = store.survivor_lane(heat, job, lpn);
        }
        let to = if is_spread { store.spread(plane, lane) } else { plane };
        if let Some(ahead) = store.pages.reverse.get(from.at() + PREFETCH_PAGES) {
            prefetch(store.pages.map(), ahead.at());
        }
        let Some((block, page)) = self.copy(from, PagePlace { plane: to, lane }, origin, urgency, read) else {
            if let Some(job) = &mut self.store.plane_mut(plane).job {
                job.next = index;
            }
            return false;
        };
        self.store.report.page_copies += u64::from(self.store.unit_pages());
        if origin == Origin::Fold {
            self.store.count_folded(1);
        }
        let PageStore { pages, blocks, .. } = &mut *self.store;
        pages.invalidate((victim, from), blocks);
        pages.point(lpn, (block, blocks.page(block, page)), blocks);
        self.listener.moved(plane, lpn, self.store.map());
        true
    }

    fn end(&mut self, plane: PlaneId, (victim, origin): (BlockId, Origin), urgency: Urgency) {
        let Self { store, nand, .. } = self;
        store.plane_mut(plane).job = None;
        nand.end_job(origin, store.blocks.first_in_array(victim));
        // A failed block is not erased; the erase of another one may fail.
        if store.blocks.state(victim) == BlockState::Bad {
            return;
        }
        let (width, failures) = (store.blocks.superblocks.width(), store.blocks.erase(nand, victim, (origin, urgency)));
        store.report.block_erases += u64::from(width - failures);
        if failures > 0 {
            return store.erase_failed(plane, victim, origin);
        }
        match origin {
            Origin::Fold => store.release_from_cache(plane, victim),
            _ => store.blocks.release(victim),
        }
        store.note_free_blocks();
        if width > 1 {
            store.plane_mut(plane).erased = victim;
        }
        if let Some(spreading) = &mut store.collector.spreading {
            spreading.forget(victim);
        }
        if origin == Origin::Gc {
            self.level(plane, victim);
        }
    }

    /// Called after an erase: begins to move cold data if static wear levelling asks for it.
    fn level(&mut self, plane: PlaneId, erased: BlockId) {
        let Some(coldest) = self.store.coldest(erased) else { return };
        let store = &mut *self.store;
        store.blocks.count_wear_move();
        store.collector.policy.withdraw(coldest);
        let opened_for = store.opened_for[coldest.at()];
        let lane = if store.lanes.map.has(opened_for) { opened_for } else { Lane::COLD };
        let gain = (store.blocks.valid_of(coldest) + 1).div_ceil(2);
        self.begin_with(plane, CollectionJob::new(coldest, lane, Origin::Wear, gain));
    }

    /// Takes a background step; false if no plane is short of free blocks.
    pub fn idle(&mut self) -> bool {
        if self.store.failures.can_fail {
            self.evacuate();
        }
        if self.store.is_below_watermarks() && self.collect_all() {
            return true;
        }
        let strategy = self.store.collector.strategy;
        if strategy.background_threshold <= strategy.threshold || self.store.failures.is_worn_out {
            return false;
        }
        for _ in 0..self.store.planes.len() {
            let plane = PlaneId(self.store.collector.turn);
            let is_short = self.store.blocks.free_in(plane) < strategy.background_threshold;
            let has_begun = self.store.plane(plane).job.is_some();
            if has_begun || (is_short && self.begin(plane)) {
                let is_new = !has_begun && self.store.collects(plane);
                self.store.report.background_collections += u64::from(is_new);
                self.step_in_background(plane);
                return true;
            }
            self.store.collector.turn = (plane.0 + 1) % self.store.blocks.geometry.total_planes();
        }
        false
    }

    /// Takes a background step in every plane, as the drive is below its watermarks; false if none has a block with
    /// a dead page.
    fn collect_all(&mut self) -> bool {
        let mut stepped = false;
        for plane in (0..self.store.blocks.geometry.total_planes()).map(PlaneId) {
            let has_begun = self.store.plane(plane).job.is_some();
            if self.store.failures.is_worn_out || !self.store.is_below_watermarks() || !self.begin(plane) {
                continue;
            }
            let is_new = !has_begun && self.store.collects(plane);
            self.store.report.background_collections += u64::from(is_new);
            self.step_in_background(plane);
            stepped = true;
        }
        stepped
    }

    /// Takes a step of a plane's collection, or all of them if it must run to its end at once.
    pub(super) fn step_in_background(&mut self, plane: PlaneId) {
        let PageStore { lanes, collector, .. } = &*self.store;
        let is_apart = self.store.plane(plane).job.is_some_and(|job| lanes.apart.has(job.lane));
        let is_whole = collector.strategy.progress == Progress::SharesBlocks || is_apart;
        let most = if is_whole { u32::MAX } else { 1 };
        while self.step(plane, most, Urgency::Spare) > 0 && is_whole {}
    }
}
