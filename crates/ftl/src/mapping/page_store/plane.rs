//! The planes of a store: their collections and room for pages, and what their lanes have open.

use flashloom_nand::{BlockId, Origin, PlaneId};
use serde::{Deserialize, Serialize};

use crate::lane::Lane;

/// A pace: a number of steps of the collection per number of pages written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pace {
    pub(super) steps: u32,
    pub(super) pages: u32,
}

impl Pace {
    pub(super) fn steeper(self, other: Self) -> Self {
        let is_steeper =
            u64::from(self.steps) * u64::from(other.pages) > u64::from(other.steps) * u64::from(self.pages);
        if is_steeper { self } else { other }
    }
}

/// A collection under way.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct CollectionJob {
    pub(super) victim: BlockId,
    /// Next page of the victim: all pages below it are copied or dead.
    pub(super) next: u32,
    /// Valid pages of the victim when the collection began. `gain` is the number of pages that it frees.
    pub(super) valid: u32,
    pub(super) gain: u32,
    /// Steps per page written; `None` until computed.
    pub(super) pace: Option<Pace>,
    /// Paid steps not yet taken, multiplied by the pages of the pace.
    pub(super) paid: u32,
    /// Lane of the survivors, except hot ones.
    pub(super) lane: Lane,
    pub(super) origin: Origin,
    /// True if the survivors are distributed over all chips.
    pub(super) is_spread: bool,
}

impl CollectionJob {
    /// A collection of `victim` that copies its survivors to `lane` and frees `gain` pages.
    pub(super) fn new(victim: BlockId, lane: Lane, origin: Origin, gain: u32) -> Self {
        Self { victim, next: 0, valid: 0, gain, pace: None, paid: 0, lane, origin, is_spread: false }
    }

    /// The pace `share`: all steps of the job, over the pages that it frees.
    pub(super) fn share(&self) -> Pace {
        Pace { steps: self.valid + 1, pages: self.gain }
    }
}

/// What a lane of a plane has open, and when it opened it, in pages written to all lanes of the plane.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Frontier {
    /// The open block; `NONE` if there is none.
    pub(super) block: BlockId,
    /// Time of the opening before the last; `None` if there was only one.
    pub(super) before: Option<u64>,
    /// Time of the last opening; zero if there was none.
    pub(super) last: u64,
}

impl Frontier {
    const NONE: Self = Self { block: BlockId::NONE, before: None, last: 0 };

    /// Records that a block was opened when `now` pages were written.
    pub(super) fn opened(&mut self, now: u64) {
        let is_first = (self.before, self.last) == (None, 0);
        self.before = (!is_first).then_some(self.last);
        self.last = now;
    }
}

/// The frontiers of all planes and lanes.
pub(super) struct Frontiers {
    all: Vec<Frontier>,
    /// Entries of a plane: two to the power of this.
    shift: u32,
}

flashloom_units::state! { Frontiers { array all; fixed shift; } }

impl Frontiers {
    /// Without open blocks. `entries` is a power of two ([`Lanes::entries`](crate::lane::Lanes::entries)).
    pub(super) fn new(planes: usize, entries: usize) -> Self {
        Self { all: vec![Frontier::NONE; planes * entries], shift: entries.ilog2() }
    }

    #[inline(always)]
    fn at(&self, plane: PlaneId, lane: Lane) -> usize {
        assert!(lane.at() >> self.shift == 0, "a lane is declared by whoever opens blocks for it");
        plane.at() << self.shift | lane.at()
    }

    #[inline(always)]
    pub(super) fn of(&self, plane: PlaneId, lane: Lane) -> &Frontier {
        &self.all[self.at(plane, lane)]
    }

    #[inline(always)]
    pub(super) fn of_mut(&mut self, plane: PlaneId, lane: Lane) -> &mut Frontier {
        let at = self.at(plane, lane);
        &mut self.all[at]
    }

    /// The frontiers of a plane, by lane.
    pub(super) fn of_plane(&self, plane: PlaneId) -> &[Frontier] {
        &self.all[plane.at() << self.shift..(plane.at() + 1) << self.shift]
    }

    #[cfg(test)]
    pub(super) fn all_mut(&mut self) -> &mut [Frontier] {
        &mut self.all
    }
}

/// Sentinel: the plane takes no more pages.
pub(super) const NO_ROOM: i64 = i64::MIN / 2;

/// Per-plane state of a store.
pub(super) struct Plane {
    /// The current collection.
    pub(super) job: Option<CollectionJob>,
    /// The current collection of a map block.
    pub(super) map_job: Option<CollectionJob>,
    /// Maximum number of valid pages in the plane; negative if too many of its blocks have failed.
    pub(super) room: i64,
    /// The plane to try next when this one has no room.
    pub(super) after: PlaneId,
    /// The superblock erased last: programs to it, and all later ones of the plane, wait until its erase has ended.
    /// `None` without superblocks.
    pub(super) erased: BlockId,
    /// Number of blocks that its lanes have opened, if the pace asks for it.
    pub(super) openings: u64,
}

impl Plane {
    /// An erased plane.
    pub(super) fn new(room: i64, after: PlaneId) -> Self {
        Self { job: None, map_job: None, room, after, erased: BlockId::NONE, openings: 0 }
    }

    /// Swaps the collection of data and that of the map, so that code for the one can work on the other.
    pub(super) fn swap_jobs(&mut self) {
        std::mem::swap(&mut self.job, &mut self.map_job);
    }
}
