//! Folding: how the pages of a store enter its SLC cache, and leave it.
//!
//! ```text
//! a page is written:  to the plane's open block of the cache; when that is full, another one is opened, if the cache
//!                     may have it; if not, the cache is full:
//!                       beside:  the page is written as without a cache; below slc_fold_threshold free blocks the
//!                                oldest full block is folded, and a free block takes its place in the cache
//!                       fold:    the plane's oldest full block is folded, and the page then looks again
//! fold a block:       its valid pages are copied to the plane's open block for survivors, and it is erased: a job like
//!                     a collection, of an origin of its own
//! may have another:   static:   if one of the blocks set aside in the plane is erased
//!                     dynamic:  if more than gc_threshold blocks are free, and the cache has fewer blocks than
//!                               share * (room - valid pages outside the cache) / pages of a block
//! idle for long:      a step of folding in every plane, until the cache is empty
//! ```
//!
//! A page that is overwritten or discarded in the cache is never copied. With `dynamic` the cache gives way: a plane
//! that is short of free blocks folds before it collects, because a block of the cache holds few pages for the space
//! that it takes. With `static` folding needs space and frees none, so it takes blocks as host pages do: only while
//! enough are free.
//!
//! Progress (see the head of the store) stays as it is. The pages in the cache count as valid pages of the plane, and
//! its room leaves out what the cache never gives back: the blocks set aside, or the one that is open. So all of them
//! can be folded in place. A fold of a dynamic cache needs at most one block and frees one, as a collection does; while
//! one of a static cache may need a block, the host leaves it one more ([`PageStore::can_open`]).
//!
//! No drive's firmware is known. Fills of whole drives, as reviewers publish them, show all of these: a cache of fixed
//! size, one of a third (three bits) or a quarter (four) of the free space, and after it a rate of writes beside it
//! or of folding. O(1) per page, and O(blocks of the cache in the plane) per block opened.

use flashloom_nand::{BlockId, Nand, Origin, PlaneId};
use flashloom_units::{Ns, Violation, ensure, violation};

use super::cursor::{CollectionListener, Cursor};
use super::plane::CollectionJob;
use super::slc_cache::{CachePlane, SlcCache};
use super::store::PageStore;
use crate::lane::Lane;
use crate::store::BlockState;

impl PageStore {
    /// Idle time of the drive before the cache is folded; `None` without one.
    pub fn flush_delay_ns(&self) -> Option<Ns> {
        self.cache.as_ref().map(|cache| cache.flush_delay_ns)
    }

    /// Whether the erase of the job's victim gives a block to the pool.
    pub(super) fn frees_block(&self, job: &CollectionJob) -> bool {
        job.origin != Origin::Fold || !self.cache.as_ref().is_some_and(|cache| cache.is_static())
    }

    /// Blocks that the fold under way in a plane may still take from the pool without giving one back.
    pub(super) fn blocks_for_fold(&self, plane: PlaneId) -> u32 {
        let may_need = |job: &CollectionJob| {
            !self.frees_block(job) && self.blocks.valid_of(job.victim) > self.left(plane, job.lane)
        };
        u32::from(self.plane(plane).job.as_ref().is_some_and(may_need))
    }

    /// The block to be folded where a plane is short of free blocks: the oldest of a dynamic cache.
    pub(super) fn give_way(&mut self, plane: PlaneId) -> Option<BlockId> {
        let cache = self.cache.as_mut().filter(|cache| !cache.is_static())?;
        cache.planes[plane.at()].full.pop_front()
    }

    /// Whether a plane's cache may have another block.
    fn can_grow(&self, cache: &SlcCache, plane: PlaneId) -> bool {
        if cache.is_static() {
            return !cache.planes[plane.at()].erased.is_empty();
        }
        let (mut blocks, mut cached) = (0, 0);
        let folded = self.plane(plane).job.filter(|job| job.origin == Origin::Fold).map(|job| job.victim);
        for block in cache.in_use(plane).chain(folded) {
            blocks += 1;
            cached += i64::from(self.blocks.valid_of(block));
        }
        let outside = i64::from(self.pages.valid.in_plane(plane)) - cached;
        let space = (self.plane(plane).room - outside).max(0) as f64 * cache.share;
        let limit = (space / f64::from(self.blocks.pages())) as u64;
        blocks < limit && self.blocks.free_in(plane) > self.collector.strategy.threshold
    }

    /// Whether a plane's cache takes a free block in exchange for the one that was folded, whatever its share is.
    fn exchanges(&self, plane: PlaneId) -> bool {
        let is_late = self.cache.as_ref().is_some_and(|cache| !cache.is_static() && cache.folds_late());
        is_late && self.blocks.free_in(plane) > self.collector.strategy.threshold
    }

    /// Closes the open block of a plane's cache, if it holds a page.
    fn close_in_cache(&mut self, plane: PlaneId) {
        let Some(cache) = &mut self.cache else { return };
        let state = &mut cache.planes[plane.at()];
        if state.open.is_some() && self.blocks.written(state.open) > 0 {
            state.full.push_back(std::mem::replace(&mut state.open, BlockId::NONE));
        }
    }

    /// Called when a program in the open block of the cache fails.
    #[cold]
    pub(super) fn program_failed_in_cache(&mut self, plane: PlaneId) {
        let Some(cache) = &mut self.cache else { return };
        let is_static = cache.is_static();
        // The page goes beside the cache now.
        cache.report.cached_writes -= 1;
        let state = &mut cache.planes[plane.at()];
        state.open = BlockId::NONE;
        state.set_aside -= u32::from(is_static);
        if !is_static {
            self.lose_room(plane);
        }
    }

    /// Called when the erase of a block of the cache fails.
    #[cold]
    pub(super) fn erase_failed_in_cache(&mut self, plane: PlaneId) {
        match &mut self.cache {
            Some(cache) if cache.is_static() => cache.planes[plane.at()].set_aside -= 1,
            _ => self.lose_room(plane),
        }
    }

    /// Called when a block of the cache was folded and erased.
    pub(super) fn release_from_cache(&mut self, plane: PlaneId, block: BlockId) {
        let Some(cache) = &mut self.cache else { return };
        cache.report.folded_blocks += 1;
        if cache.is_static() {
            self.blocks.release_to_cache(block);
            cache.planes[plane.at()].erased.push_back(block);
        } else {
            self.blocks.release(block);
        }
    }

    /// Counts a page that a job moved out of the cache.
    #[inline]
    pub(super) fn count_folded(&mut self, pages: u32) {
        self.cache.iter_mut().for_each(|cache| cache.report.folded_pages += u64::from(pages));
    }

    /// Checks the cache: its blocks are those that the pool counts as such.
    pub(super) fn check_cache(&self) -> Result<(), Violation> {
        let counted = self.blocks.count(BlockState::Cache);
        let Some(cache) = &self.cache else {
            return if counted == 0 { Ok(()) } else { Err(violation!("SLC cache: {counted} blocks, and no cache")) };
        };
        let mut listed: Vec<BlockId> = Vec::new();
        for plane in (0..self.blocks.geometry.total_planes()).map(PlaneId) {
            let CachePlane { erased, open, set_aside, .. } = &cache.planes[plane.at()];
            let in_use: Vec<_> = cache.in_use(plane).collect();
            let is_of = |block: &BlockId| self.is_of(plane, *block) && self.blocks.state(*block) == BlockState::Cache;
            if !in_use.iter().chain(erased).all(is_of) {
                return Err(violation!("SLC cache: a block of plane {} that the pool does not know", plane.0));
            }
            let written = if open.is_some() { self.blocks.written(*open) } else { 0 };
            ensure!(written <= cache.pages, "SLC cache: plane {} is at page {written} of a block", plane.0);
            let folded = self.plane(plane).job.filter(|job| job.origin == Origin::Fold && job.victim.is_some());
            let folded = u32::from(folded.is_some());
            let all = (in_use.len() + erased.len()) as u32 + folded;
            if cache.is_static() && all != *set_aside || !cache.is_static() && *set_aside + erased.len() as u32 > 0 {
                return Err(violation!("SLC cache: plane {} has {all} blocks, and {set_aside} set aside", plane.0));
            }
            if let Some(block) = in_use.iter().find(|&&block| self.blocks.valid_of(block) > cache.pages) {
                return Err(violation!("SLC cache: block {} has more valid pages than it holds", block.0));
            }
            listed.extend(in_use.iter().chain(erased));
        }
        listed.sort_unstable();
        listed.dedup();
        if listed.len() == counted {
            return Ok(());
        }
        Err(violation!("SLC cache: {} blocks, but {counted} in the pool", listed.len()))
    }

    /// [`Self::check_cache`] of a loaded state, against the loaded array: what is in use is in SLC mode, nothing else
    /// is, and the blocks that are set aside are erased.
    pub(super) fn check_loaded_cache(&self, nand: &Nand) -> Result<(), Violation> {
        self.check_cache()?;
        let Some(cache) = &self.cache else { return Ok(()) };
        for plane in (0..self.blocks.geometry.total_planes()).map(PlaneId) {
            let CachePlane { erased, .. } = &cache.planes[plane.at()];
            let folded = self.plane(plane).job.filter(|job| job.origin == Origin::Fold).map(|job| job.victim);
            let in_use: Vec<_> = cache.in_use(plane).chain(folded).collect();
            for block in self.blocks.of_plane(plane).filter(|&block| self.blocks.state(block) != BlockState::Bad) {
                if self.blocks.superblocks.has_other_cells(nand, block) != in_use.contains(&block) {
                    return Err(violation!("SLC cache: block {} is not in the cell mode that it should be", block.0));
                }
            }
            let are_erased = erased.iter().all(|&block| self.blocks.written(block) == 0);
            ensure!(are_erased, "SLC cache: a block of plane {} that is set aside is not erased", plane.0);
        }
        Ok(())
    }
}

impl<L: CollectionListener> Cursor<'_, L> {
    /// Takes the next page of a plane's cache for a page of the host; `None` if that is full.
    #[cold]
    pub(super) fn reserve_in_cache(&mut self, plane: PlaneId) -> Option<(BlockId, u32)> {
        if self.store.failures.can_fail {
            self.evacuate();
        }
        while self.store.has_room(plane, Lane::HOST) {
            let cache = self.store.cache.as_mut()?;
            let open = cache.planes[plane.at()].open;
            if open.is_some() && self.store.blocks.written(open) < cache.pages {
                cache.report.cached_writes += 1;
                return Some((open, self.store.blocks.take(open, 1)));
            }
            self.store.close_in_cache(plane);
            let cache = self.store.cache.as_ref()?;
            if self.store.can_grow(cache, plane) {
                self.open_in_cache(plane);
            } else if cache.goes_beside(self.store.blocks.free_in(plane)) || !self.fold_oldest(plane) {
                break;
            } else if self.store.exchanges(plane) {
                self.open_in_cache(plane);
            }
        }
        self.store.cache.iter_mut().for_each(|cache| cache.report.writes_beside += 1);
        None
    }

    fn open_in_cache(&mut self, plane: PlaneId) {
        let Self { store, nand, .. } = self;
        let last = store.plane(plane).erased;
        let Some(cache) = &mut store.cache else { return };
        let is_static = cache.is_static();
        let state = &mut cache.planes[plane.at()];
        let block = match state.erased.pop_front() {
            Some(block) if is_static => block,
            _ => store.blocks.open_for_cache(plane, last),
        };
        state.open = block;
        store.opened_for[block.at()] = Lane::HOST;
        store.blocks.superblocks.use_other_cells(nand, block);
        store.note_free_blocks();
    }

    /// Folds the oldest full block of a plane's cache to its end, because a write waits for it. False if the plane has
    /// none, or the drive is worn out.
    fn fold_oldest(&mut self, plane: PlaneId) -> bool {
        self.finish(plane);
        if !self.make_room_for_fold(plane) || !self.begin_fold(plane) {
            return false;
        }
        self.finish(plane);
        self.store.plane(plane).job.is_none()
    }

    /// Collects until a fold can begin in a plane without a job. False if it cannot, or if there is nothing to fold.
    fn make_room_for_fold(&mut self, plane: PlaneId) -> bool {
        while !self.store.can_fold(plane) {
            let is_worn_out = self.store.failures.is_worn_out || !self.store.has_room(plane, Lane::HOST);
            if is_worn_out || self.store.oldest(plane).is_none() {
                return false;
            }
            self.collect(plane);
        }
        true
    }

    /// Begins to fold the oldest full block of a plane's cache, if the plane has one and no job.
    fn begin_fold(&mut self, plane: PlaneId) -> bool {
        let store = &mut *self.store;
        if store.plane(plane).job.is_some() {
            return false;
        }
        let oldest = store.cache.as_mut().and_then(|cache| cache.planes[plane.at()].full.pop_front());
        oldest.inspect(|&victim| self.begin_fold_of(plane, victim)).is_some()
    }

    /// Begins to fold a block that is no longer in the list of full ones.
    pub(super) fn begin_fold_of(&mut self, plane: PlaneId, victim: BlockId) {
        let lane = self.store.lanes.survivors(Lane::HOST);
        let gain = self.store.blocks.pages() - self.store.blocks.valid_of(victim);
        self.begin_with(plane, CollectionJob::new(victim, lane, Origin::Fold, gain));
    }

    /// Folds a step in every plane in the background; false if the cache is empty.
    pub fn flush(&mut self) -> bool {
        if self.store.failures.can_fail {
            self.evacuate();
        }
        if self.store.cache.is_none() || self.store.failures.is_worn_out {
            return false;
        }
        let mut stepped = false;
        for plane in (0..self.store.blocks.geometry.total_planes()).map(PlaneId) {
            self.store.close_in_cache(plane);
            let has_job = self.store.plane(plane).job.is_some();
            if !has_job && self.store.oldest(plane).is_none() {
                continue;
            }
            // Where folding lacks space, a collection wins it first.
            let has_begun =
                has_job || if self.store.can_fold(plane) { self.begin_fold(plane) } else { self.begin(plane) };
            if has_begun {
                self.step_in_background(plane);
                stepped = true;
            }
        }
        stepped
    }
}

impl PageStore {
    /// The block of a plane's cache to be folded first.
    fn oldest(&self, plane: PlaneId) -> Option<BlockId> {
        self.cache.as_ref().and_then(|cache| cache.planes[plane.at()].full.front().copied())
    }

    /// Whether a fold may begin in a plane without a job: its pages fit the open block for survivors, or enough blocks
    /// are free for another.
    fn can_fold(&self, plane: PlaneId) -> bool {
        let Some(victim) = self.oldest(plane) else { return false };
        let lane = self.lanes.survivors(Lane::HOST);
        let is_static = self.cache.as_ref().is_some_and(|cache| cache.is_static());
        !is_static || self.blocks.valid_of(victim) <= self.left(plane, lane) || self.can_open(plane)
    }
}
