//! Checks of a loaded page store: its parts must agree with each other and with the array.
//!
//! ```text
//! store:   what every mapping checks of its blocks and pages (`crate::store`)
//! blocks:  open = the open block of a lane; closed = a candidate of the collection policy; victim = the victim of a
//!          job; bad = without valid pages, or to be emptied
//! planes:  room agrees with the usable blocks and the lanes that are open
//! jobs:    all valid pages of the victim are still to be copied
//! ```
//!
//! A store that passes never searches for a page or block in vain. A plane with room always has a block with a dead
//! page, because its room does not count the blocks that may be free or open. O(1) a page, only after loading.

use flashloom_nand::{BlockId, Nand, PlaneId};
use flashloom_units::{Violation, ensure, violation};

use super::plane::{CollectionJob, Frontier, NO_ROOM, Pace, Plane};
use super::store::PageStore;
use crate::lane::Lane;
use crate::store::BlockState;

/// Maximum of loaded steps and paid steps of a pace, so that their sums fit 32 bits.
const MOST_STEPS: u32 = 1 << 26;
const MOST_PAID: u32 = u32::MAX / 2;

impl PageStore {
    /// Checks a loaded state against the loaded array.
    pub fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        self.blocks.check_loaded(nand)?;
        self.pages.check_loaded(&self.blocks)?;
        let mut open = 0;
        for plane in (0..self.blocks.geometry.total_planes()).map(PlaneId) {
            open += self.check_lanes(plane)?;
        }
        if self.blocks.count(BlockState::Open) != open {
            return Err(violation!("page map: {open} lanes have open blocks, which not all open blocks are"));
        }
        self.check_jobs()?;
        let mut candidates = vec![None; self.opened_for.len()];
        for block in (0..self.opened_for.len() as u32).map(BlockId) {
            self.check_block(block)?;
            let is_candidate = self.blocks.state(block) == BlockState::Closed;
            if is_candidate && !self.is_apart(block) {
                candidates[block.at()] = Some(self.blocks.valid_of(block));
            }
        }
        self.check_loaded_cache(nand)?;
        self.collector.policy.check()?;
        self.collector.policy.check_candidates(&candidates)?;
        self.allocator.policy.check()?;
        self.heat.as_ref().map_or(Ok(()), |heat| heat.check())?;
        let is_outside = |plane: PlaneId| plane.0 >= self.blocks.geometry.total_planes();
        match &self.collector.spreading {
            Some(spreading) if is_outside(spreading.last) => {
                Err(violation!("page map: a stream was spread to plane {}, which is none", spreading.last.0))
            }
            _ => self.check(),
        }
    }

    /// Checks the open blocks of a plane, its room, and its counters of pages and erases. Returns the number of open
    /// blocks.
    fn check_lanes(&self, plane: PlaneId) -> Result<usize, Violation> {
        let (mut open, mut extra) = (0, 0);
        let frontiers = || self.frontiers.of_plane(plane).iter();
        for (lane, &Frontier { block, .. }) in frontiers().enumerate().filter(|(_, of)| of.block.is_some()) {
            open += 1;
            extra += u32::from(lane as u32 >= Lane::BASE);
            let is_sound = self.is_of(plane, block)
                && self.opened_for[block.at()].at() == lane
                && self.blocks.state(block) == BlockState::Open;
            ensure!(is_sound, "page map: block {} is not open for lane {lane} of plane {}", block.0, plane.0);
        }
        let pages = i64::from(self.blocks.pages());
        let cached = self.cache.as_ref().map_or(0, |cache| cache.kept(plane));
        let kept = self.collector.strategy.threshold + Lane::BASE + cached;
        let usable = i64::from(self.blocks.usable_in(plane)) - i64::from(kept);
        let (room, counted) = (self.plane(plane).room, (usable - i64::from(extra)) * pages);
        let worn_out = NO_ROOM - i64::from(self.blocks.geometry.blocks) * pages..=NO_ROOM;
        let has_room = if self.failures.is_worn_out { worn_out.contains(&room) } else { room == counted };
        ensure!(has_room, "page map: plane {} has room for {room} pages, not for {counted}", plane.0);
        let erased = self.plane(plane).erased;
        if erased.is_some() && !self.is_of(plane, erased) {
            return Err(violation!(
                "page map: block {} was erased last in plane {}, which has none",
                erased.0,
                plane.0
            ));
        }
        // As many pages as the lanes can have written by these openings.
        let (openings, most) = (self.plane(plane).openings, u64::from(u32::MAX));
        let written = (openings.min(most) + u64::from(self.lanes.open_blocks())) * u64::from(self.blocks.pages());
        let mut times = frontiers().flat_map(|of| [of.before.unwrap_or(0), of.last]);
        if openings > most || times.any(|time| time > written) {
            return Err(violation!("page map: plane {} has opened more blocks than it can have", plane.0));
        }
        Ok(open)
    }

    pub(super) fn is_of(&self, plane: PlaneId, block: BlockId) -> bool {
        u64::from(block.0) < self.blocks.geometry.total_blocks() && self.blocks.plane_of(block) == plane
    }

    /// Checks that a block belongs to the lane that opened it, and will be emptied if it is bad.
    fn check_block(&self, block: BlockId) -> Result<(), Violation> {
        let is_left = || self.failures.evacuations.contains(&block) || self.is_victim(block);
        let is_lost = self.blocks.state(block) == BlockState::Bad && self.blocks.valid_of(block) > 0 && !is_left();
        let is_sound = !is_lost && self.lanes.known.has(self.opened_for[block.at()]);
        ensure!(is_sound, "page map: block {} is bad with valid pages, or of no lane", block.0);
        Ok(())
    }

    fn is_victim(&self, block: BlockId) -> bool {
        let Plane { job, map_job, .. } = self.plane(self.blocks.plane_of(block));
        [job, map_job].into_iter().flatten().any(|job| job.victim == block)
    }

    /// Checks the collections under way and the blocks to be evacuated.
    fn check_jobs(&self) -> Result<(), Violation> {
        let mut victims = 0;
        for (plane, Plane { job, map_job, .. }) in (0..).map(PlaneId).zip(&self.planes) {
            for job in [job, map_job].into_iter().flatten() {
                if !self.is_sound(plane, job) {
                    return Err(violation!("page map: plane {} cannot be collecting block {}", plane.0, job.victim.0));
                }
                victims += usize::from(self.blocks.state(job.victim) == BlockState::Victim);
            }
            let same = job.zip(*map_job).is_some_and(|(one, other)| one.victim == other.victim);
            let is_of_map = map_job.is_none_or(|job| self.lanes.map.has(self.opened_for[job.victim.at()]));
            ensure!(!same && is_of_map, "page map: plane {} has no block of the map to collect", plane.0);
        }
        if self.blocks.count(BlockState::Victim) != victims {
            return Err(violation!("page map: {victims} victims are being collected, which are not all"));
        }
        let mut waiting = self.failures.evacuations.clone();
        waiting.sort_unstable();
        waiting.dedup();
        let is_bad = |block: &BlockId| {
            u64::from(block.0) < self.blocks.geometry.total_blocks() && self.blocks.state(*block) == BlockState::Bad
        };
        if waiting.len() != self.failures.evacuations.len() || !waiting.iter().all(is_bad) {
            return Err(Violation::new("page map: a block that did not fail is to be moved out"));
        }
        Ok(())
    }

    fn is_sound(&self, plane: PlaneId, job: &CollectionJob) -> bool {
        let CollectionJob { victim, next, valid, gain, pace, paid, lane, .. } = *job;
        let pages = self.blocks.pages();
        if !self.is_of(plane, victim) || next > pages {
            return false;
        }
        let is_ahead = self.pages.valid.next(&self.blocks.geometry, victim, 0).is_none_or(|first| first >= next);
        let has_pace = pace.is_none_or(|Pace { steps, .. }| steps <= MOST_STEPS) && paid <= MOST_PAID;
        is_ahead
            && has_pace
            && valid.max(gain) <= pages
            && self.lanes.known.has(lane)
            && matches!(self.blocks.state(victim), BlockState::Victim | BlockState::Bad)
    }
}
