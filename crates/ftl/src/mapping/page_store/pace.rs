//! How much of a plane's collection a page pays for that is written there.
//!
//! ```text
//! share:     a victim with v of b pages valid costs v copies and an erase and gains b - v pages: each page that is
//!            written pays for (v + 1) / (b - v) steps, and free space holds its level on average
//! deadline:  the next of the open blocks that pages are written to is full after so many pages, the one after it after
//!            so many more; by each of these times a free block more is wanted. What has to be done for it is spread
//!            evenly over the pages until then, and the steepest of these paces is kept
//! ```
//!
//! Where a share holds the level only on average, a block that is wanted a little early is collected at once, all of
//! it: hundreds of copies that a write waits for. With a deadline it is there when it is wanted, as far as the victims
//! to come are like the one at hand; the pace is reckoned anew with every victim and every block that is opened. When
//! the open blocks will be full is told from how fast each was filled since it, and the one before it, was opened.
//!
//! Blocks for pages of a map are no such blocks: one is given back for each that is taken (`map_block`). Its pages come
//! in bursts, and neither pay nor count.

use flashloom_nand::PlaneId;
use serde::{Deserialize, Serialize};

use super::PageStore;
use super::collect::Job;
use crate::lane::Lane;

/// A pace: steps of the collection for a number of pages written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pace {
    pub(super) steps: u32,
    pub(super) pages: u32,
}

impl Pace {
    fn steeper(self, other: Self) -> Self {
        let is_steeper =
            u64::from(self.steps) * u64::from(other.pages) > u64::from(other.steps) * u64::from(self.pages);
        if is_steeper { self } else { other }
    }
}

/// When the lanes of a plane opened blocks, in pages written to all of them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Openings {
    /// Blocks that were opened.
    blocks: u64,
    /// For each lane that is written to, its last opening and the one before; nothing for a first.
    last: [(Option<u64>, u64); Lane::ENTRIES],
}

impl Openings {
    /// Whether no count is above what that many openings of blocks of that many pages can have counted.
    pub(super) fn are_within(&self, most: u64, pages: u32) -> bool {
        let written = (self.blocks.min(most) + Lane::ENTRIES as u64) * u64::from(pages);
        let mut counts = self.last.iter().flat_map(|&(before, last)| [before.unwrap_or(0), last]);
        self.blocks <= most && counts.all(|count| count <= written)
    }
}

impl PageStore {
    /// The pace of a plane's collection from now on.
    pub(super) fn pace_of(&self, job: &Job, plane: PlaneId) -> Pace {
        if !self.paces_by_deadline {
            return Pace { steps: job.valid + 1, pages: job.gain };
        }
        let mut deadlines = [u32::MAX; Lane::ENTRIES];
        for (deadline, lane) in deadlines.iter_mut().zip(self.lanes.written()) {
            *deadline = self.full_in(plane, lane);
        }
        deadlines.sort_unstable();
        let missing = i64::from(self.gc_threshold) - i64::from(self.blocks.free_in(plane));
        let paces = deadlines.into_iter().zip(missing..).filter(|&(pages, missing)| pages < u32::MAX && missing > 0);
        let pace = paces.map(|(pages, missing)| Pace { steps: self.steps_to_gain(job, plane, missing), pages });
        pace.reduce(Pace::steeper).unwrap_or(Pace { steps: job.valid + 1, pages: job.gain })
    }

    /// Whether a lane may open a block. The last that is free is for survivors, unless the collection at hand has room
    /// for all of its own: it ends without a block, and gives one back.
    pub(super) fn can_open(&self, plane: PlaneId) -> bool {
        let free = self.blocks.free_in(plane);
        let needs_none = |job: &Job| {
            job.lane == Lane::Collected && self.blocks.valid_of(job.victim) <= self.left(plane, Lane::Collected)
        };
        let is_alone =
            self.paces_by_deadline && self.heat.is_none() && self.spreading.is_none() && self.levelling.is_none();
        free >= self.free_to_open
            || (free + 1 == self.free_to_open && is_alone && self.jobs[plane.at()].as_ref().is_some_and(needs_none))
    }

    /// Pages written to the lanes of a plane that pay, but for a constant.
    fn written(&self, plane: PlaneId) -> u64 {
        let paying = self.lanes.written().filter(|&lane| !self.keeps_map_apart(lane));
        let left: u32 = paying.map(|lane| self.left(plane, lane)).sum();
        (self.openings[plane.at()].blocks + Lane::ENTRIES as u64) * u64::from(self.geometry.pages) - u64::from(left)
    }

    /// After how many more pages that are written to a plane the open block of a lane will be full.
    fn full_in(&self, plane: PlaneId, lane: Lane) -> u32 {
        if self.keeps_map_apart(lane) || self.frontiers[plane.at()][lane.at()].block.is_none() {
            return u32::MAX;
        }
        let (b, left) = (u64::from(self.geometry.pages), u64::from(self.left(plane, lane)));
        let (before, last) = self.openings[plane.at()].last[lane.at()];
        let taken = b - left + if before.is_some() { b } else { 0 };
        let of = self.written(plane).saturating_sub(before.unwrap_or(last));
        // A lane that nothing is written to is never full.
        (left * of).checked_div(taken).map_or(u32::MAX, |pages| pages.clamp(1, u64::from(u32::MAX)) as u32)
    }

    /// Steps until `blocks` more of a plane are free, if the victims to come are like this one: their copies fill
    /// the open block for survivors, and open others.
    fn steps_to_gain(&self, job: &Job, plane: PlaneId, blocks: i64) -> u32 {
        let b = i64::from(self.geometry.pages);
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

    /// A lane of a plane has opened a block: what has to be done before the next is wanted is reckoned anew.
    pub(super) fn note_opening(&mut self, plane: PlaneId, lane: Lane) {
        if !self.paces_by_deadline {
            return;
        }
        if !self.keeps_map_apart(lane) && self.lanes.written().any(|written| written == lane) {
            let is_first = self.openings[plane.at()].last[lane.at()] == (None, 0);
            self.openings[plane.at()].blocks += 1;
            let now = self.written(plane);
            let (_, last) = self.openings[plane.at()].last[lane.at()];
            self.openings[plane.at()].last[lane.at()] = ((!is_first).then_some(last), now);
        }
        if let Some(job) = &mut self.jobs[plane.at()] {
            (job.pace, job.paid) = (None, 0);
        }
    }
}
