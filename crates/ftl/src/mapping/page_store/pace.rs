//! The pace of a collection: the number of steps that each page written to the plane pays for.
//!
//! ```text
//! share:     a victim with v of b pages valid costs v copies and an erase and gains b - v pages: each page written
//!            pays for (v + 1) / (b - v) steps, and free space stays constant on average
//! deadline:  for each open block, estimate the number of pages written until it is full; the n-th of these times is
//!            the deadline for n more free blocks. The steps for them are spread evenly over the pages up to the
//!            deadline, and the fastest of these paces is used
//! ```
//!
//! With `share` free space is constant only on average: a block that is needed a little early is collected at once, and
//! a write waits for hundreds of copies. With `deadline` the block is ready in time, as far as later victims are like
//! the present one; the pace is computed anew for every victim and every block opened. The time when an open block will
//! be full is estimated from how fast the lane has filled since this block, and the one before it, were opened.
//!
//! Map blocks are excluded: each one opened is paired with one erased (`map_block`). Map pages come in bursts, and
//! neither pay nor count.

use flashloom_nand::PlaneId;

use super::plane::{CollectionJob, Frontier, Pace};
use super::store::{Collector, PageStore};
use crate::GcPace;
use crate::lane::Lane;

impl PageStore {
    /// The new pace of a plane's collection.
    pub(super) fn pace_of(&self, job: &CollectionJob, plane: PlaneId) -> Pace {
        let strategy = &self.collector.strategy;
        let below = self.collector.watermarks.as_ref().filter(|watermarks| watermarks.is_collecting);
        let below = below.map(|watermarks| watermarks.pace_of(job));
        if strategy.pace == GcPace::Share || self.blocks.free_in(plane) >= strategy.threshold {
            return below.unwrap_or(job.share());
        }
        let mut deadlines = [u32::MAX; Lane::MOST];
        let mut lanes = 0;
        for lane in self.lanes.written() {
            deadlines[lanes] = self.full_in(plane, lane);
            lanes += 1;
        }
        let deadlines = &mut deadlines[..lanes];
        deadlines.sort_unstable();
        let missing = i64::from(strategy.threshold) - i64::from(self.blocks.free_in(plane));
        let paces =
            deadlines.iter().copied().zip(missing..).filter(|&(pages, missing)| pages < u32::MAX && missing > 0);
        let pace = paces.map(|(pages, missing)| Pace { steps: self.steps_to_gain(job, plane, missing), pages });
        pace.chain(below).reduce(Pace::steeper).unwrap_or(job.share())
    }

    /// Whether all planes are collected because of the watermarks.
    #[inline]
    pub(super) fn is_below_watermarks(&self) -> bool {
        self.collector.watermarks.as_ref().is_some_and(|watermarks| watermarks.is_collecting)
    }

    /// Called when the number of free blocks has changed.
    #[inline]
    pub(super) fn note_free_blocks(&mut self) {
        if self.collector.watermarks.is_some() {
            self.pass_watermark();
        }
    }

    fn pass_watermark(&mut self) {
        let free = self.blocks.total_free();
        if self.collector.watermarks.as_mut().is_some_and(|watermarks| watermarks.pass(free)) {
            // Jobs under way go on at the pace that counts from now on.
            for job in self.planes.iter_mut().filter_map(|plane| plane.job.as_mut()) {
                (job.pace, job.paid) = (None, 0);
            }
        }
    }

    /// True if a lane may open a block. The last free block is for survivors, unless the current collection has room
    /// for all of its survivors: it then needs no block, and frees one.
    pub(super) fn can_open(&self, plane: PlaneId) -> bool {
        let free = self.blocks.free_in(plane);
        let needs_none = |job: &CollectionJob| {
            let fits = self.blocks.valid_of(job.victim) <= self.left(plane, Lane::COLLECTED);
            job.lane == Lane::COLLECTED && fits && self.frees_block(job)
        };
        let Collector { strategy, spreading, .. } = &self.collector;
        let is_alone = self.heat.is_none() && spreading.is_none() && self.blocks.wear_moves().is_none();
        let is_alone = is_alone && strategy.pace == GcPace::Deadline;
        free >= strategy.free_to_open + self.blocks_for_fold(plane)
            || (free + 1 == strategy.free_to_open && is_alone && self.plane(plane).job.as_ref().is_some_and(needs_none))
    }

    /// Pages written to the paying lanes of a plane, plus a constant.
    fn written(&self, plane: PlaneId) -> u64 {
        let paying = self.lanes.written().filter(|&lane| !self.lanes.apart.has(lane));
        let left: u32 = paying.map(|lane| self.left(plane, lane)).sum();
        (self.plane(plane).openings + u64::from(self.lanes.open_blocks())) * u64::from(self.blocks.pages())
            - u64::from(left)
    }

    /// Estimated pages written to the plane until the open block of a lane is full.
    fn full_in(&self, plane: PlaneId, lane: Lane) -> u32 {
        if self.lanes.apart.has(lane) || self.open_block(plane, lane).is_none() {
            return u32::MAX;
        }
        let (b, left) = (u64::from(self.blocks.pages()), u64::from(self.left(plane, lane)));
        let Frontier { before, last, .. } = *self.frontiers.of(plane, lane);
        let taken = b - left + if before.is_some() { b } else { 0 };
        let of = self.written(plane).saturating_sub(before.unwrap_or(last));
        // A lane that nothing is written to is never full.
        (left * of).checked_div(taken).map_or(u32::MAX, |pages| pages.clamp(1, u64::from(u32::MAX)) as u32)
    }

    /// Steps until `blocks` more blocks of a plane are free, if later victims are like this one. Their copies fill the
    /// open block for survivors, and open further ones.
    fn steps_to_gain(&self, job: &CollectionJob, plane: PlaneId, blocks: i64) -> u32 {
        let b = i64::from(self.blocks.pages());
        let copies = self.blocks.valid_of(job.victim);
        let (mut steps, mut gained) = (copies + 1, 1);
        let mut room = i64::from(self.left(plane, job.lane)) - i64::from(copies);
        loop {
            while room < 0 {
                (room, gained) = (room + b, gained - 1);
            }
            if gained >= blocks || i64::from(job.valid) >= b {
                return steps;
            }
            (steps, gained, room) = (steps + job.valid + 1, gained + 1, room - i64::from(job.valid));
        }
    }

    /// Called when a lane of a plane opens a block: recomputes the pace.
    pub(super) fn note_opening(&mut self, plane: PlaneId, lane: Lane) {
        if self.collector.strategy.pace == GcPace::Share {
            return;
        }
        if !self.lanes.apart.has(lane) && self.lanes.written().any(|written| written == lane) {
            self.plane_mut(plane).openings += 1;
            let now = self.written(plane);
            self.frontiers.of_mut(plane, lane).opened(now);
        }
        if let Some(job) = &mut self.plane_mut(plane).job {
            (job.pace, job.paid) = (None, 0);
        }
    }
}
