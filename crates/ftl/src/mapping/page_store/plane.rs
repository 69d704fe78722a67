//! A plane of a store: its open blocks, its collection, and its room for pages.

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

/// Times at which the lanes of a plane opened blocks, in pages written to all of them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Openings {
    /// Number of blocks opened.
    pub(super) blocks: u64,
    /// For each lane, the time of its opening before the last (`None` if there was only one), and of its last.
    pub(super) last: [(Option<u64>, u64); Lane::ENTRIES],
}

impl Openings {
    /// Records that a lane opened a block when `now` pages were written.
    pub(super) fn opened(&mut self, lane: Lane, now: u64) {
        let (before, last) = &mut self.last[lane.at()];
        let is_first = (*before, *last) == (None, 0);
        *before = (!is_first).then_some(*last);
        *last = now;
    }

    /// Checks loaded counts: true if they are possible with this many block openings and pages per block.
    pub(super) fn are_within(&self, most: u64, pages: u32) -> bool {
        let written = (self.blocks.min(most) + Lane::ENTRIES as u64) * u64::from(pages);
        let mut counts = self.last.iter().flat_map(|&(before, last)| [before.unwrap_or(0), last]);
        self.blocks <= most && counts.all(|count| count <= written)
    }
}

/// Sentinel: the plane takes no more pages.
pub(super) const NO_ROOM: i64 = i64::MIN / 2;

/// Per-plane state of a store.
pub(super) struct Plane {
    /// The open block of each lane; `NONE` if it has none.
    pub(super) open: [BlockId; Lane::ENTRIES],
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
    pub(super) openings: Openings,
}

impl Plane {
    /// An erased plane.
    pub(super) fn new(room: i64, after: PlaneId) -> Self {
        Self {
            open: [BlockId::NONE; Lane::ENTRIES],
            job: None,
            map_job: None,
            room,
            after,
            erased: BlockId::NONE,
            openings: Openings::default(),
        }
    }

    /// The open block of a lane, or `NONE`.
    #[inline(always)]
    pub(super) fn open(&self, lane: Lane) -> BlockId {
        self.open[lane.at()]
    }

    /// Swaps the collection of data and that of the map, so that code for the one can work on the other.
    pub(super) fn swap_jobs(&mut self) {
        std::mem::swap(&mut self.job, &mut self.map_job);
    }
}
