//! A plane of a store: its open blocks, what is collected there, and the pages that it may hold.

use flashloom_nand::{BlockId, Geometry, Origin, PlaneId};
use serde::{Deserialize, Serialize};

use crate::lane::Lane;

/// An open block and the next page to be written in it.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Frontier {
    pub(super) block: BlockId,
    pub(super) next: u32,
}

impl Frontier {
    /// No open block: the next page is taken from one that is still to be opened.
    pub(super) const fn none(geometry: &Geometry) -> Self {
        Self { block: BlockId::NONE, next: geometry.pages }
    }
}

/// A pace: steps of the collection for a number of pages written.
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

    /// The share of it that each page gained pays for.
    pub(super) fn share(&self) -> Pace {
        Pace { steps: self.valid + 1, pages: self.gain }
    }
}

/// When the lanes of a plane opened blocks, in pages written to all of them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Openings {
    /// Blocks that were opened.
    pub(super) blocks: u64,
    /// For each lane that is written to, its last opening but one, nothing where there was only one, and its last.
    pub(super) last: [(Option<u64>, u64); Lane::ENTRIES],
}

impl Openings {
    /// A lane has opened a block, when that many pages were written.
    pub(super) fn opened(&mut self, lane: Lane, now: u64) {
        let (before, last) = &mut self.last[lane.at()];
        let is_first = (*before, *last) == (None, 0);
        *before = (!is_first).then_some(*last);
        *last = now;
    }

    /// Whether no count is above what that many openings of blocks of that many pages can have counted.
    pub(super) fn are_within(&self, most: u64, pages: u32) -> bool {
        let written = (self.blocks.min(most) + Lane::ENTRIES as u64) * u64::from(pages);
        let mut counts = self.last.iter().flat_map(|&(before, last)| [before.unwrap_or(0), last]);
        self.blocks <= most && counts.all(|count| count <= written)
    }
}

/// Less than the room of any plane that takes another page.
pub(super) const NO_ROOM: i64 = i64::MIN / 2;

/// What a store knows of a plane.
pub(super) struct Plane {
    /// The open block of each lane.
    pub(super) open: [Frontier; Lane::ENTRIES],
    /// The collection under way.
    pub(super) job: Option<Job>,
    /// What is won back of the map meanwhile.
    pub(super) map_job: Option<Job>,
    /// Valid pages that it may hold; below zero where too many blocks failed for it to hold any.
    pub(super) room: i64,
    /// The plane to try next when this one has no room.
    pub(super) after: PlaneId,
    /// The superblock that was erased last: while its erase has not ended its programs wait, and all that is written to
    /// the plane behind them. None where superblocks are blocks.
    pub(super) erased: BlockId,
    pub(super) openings: Openings,
}

impl Plane {
    /// A plane of which nothing is written.
    pub(super) fn new(geometry: &Geometry, room: i64, after: PlaneId) -> Self {
        Self {
            open: [Frontier::none(geometry); Lane::ENTRIES],
            job: None,
            map_job: None,
            room,
            after,
            erased: BlockId::NONE,
            openings: Openings::default(),
        }
    }

    /// The open block of a lane, or none.
    #[inline(always)]
    pub(super) fn open(&self, lane: Lane) -> Frontier {
        self.open[lane.at()]
    }

    /// Swaps the collection of data and that of the map: whatever is done to one of them is done to the other.
    pub(super) fn swap_jobs(&mut self) {
        std::mem::swap(&mut self.job, &mut self.map_job);
    }
}
