//! Lanes: the open blocks of a plane, each for pages that are expected to die together.
//!
//! Whoever needs a lane declares it, with what the store does about its blocks: the allocation (streams, and what is
//! isolated), hot and cold separation, wear levelling, a map on flash, a mapping for pages of its own. How the store
//! treats a block follows from what was declared of its lane. Every plane keeps room for the two that all setups have;
//! another one costs a plane a block only from the moment it is first opened there, so that a policy that finds nothing
//! to keep apart changes nothing.

use serde::{Deserialize, Serialize};

use crate::{FtlParams, GcBlocks, GcPace};

/// One of the open blocks of a plane, by its number.
///
/// The numbers are part of a saved state. Those of this crate are below; [`Self::own`] has the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Lane(u8);

impl Lane {
    /// Pages of the host that nothing more is known of.
    pub const HOST: Self = Self(0);
    /// Pages that collections moved.
    pub const COLLECTED: Self = Self(1);
    /// Streams that an allocation found.
    pub const STREAM: Self = Self(2);
    /// Pages that collections moved out of blocks of streams.
    pub const COLLECTED_STREAM: Self = Self(3);
    /// Pages of the host that are written often.
    pub const HOT: Self = Self(4);
    /// Pages that collections moved and that are written often.
    pub const COLLECTED_HOT: Self = Self(5);
    /// Pages that wear levelling moved.
    pub const COLD: Self = Self(6);
    /// Translation pages.
    pub const MAP: Self = Self(7);

    /// Lanes that a mapping may keep apart by rules of its own.
    pub const OWN: u8 = 8;

    /// Entries of a table by lane: a power of two, so that one a plane is found by a shift.
    pub(crate) const ENTRIES: usize = Self::OWN as usize * 2;

    /// Lanes that every plane may open at any time.
    pub(crate) const BASE: u32 = 2;

    /// A lane for pages that a mapping keeps apart by a rule of its own, the first of which is number 0.
    ///
    /// # Panics
    /// There are [`Self::OWN`] of them; in a constant the compiler refuses another.
    pub const fn own(number: u8) -> Self {
        assert!(number < Self::OWN, "a mapping has that many lanes of its own");
        Self(Self::OWN + number)
    }

    /// Whether a plane may open it only while it has a block to spare.
    #[inline(always)]
    pub(crate) const fn is_extra(self) -> bool {
        self.0 as u32 >= Self::BASE
    }

    /// Its index in a table by lane.
    #[inline(always)]
    pub(crate) const fn at(self) -> usize {
        self.0 as usize % Self::ENTRIES
    }
}

impl TryFrom<u8> for Lane {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        let is_lane = usize::from(number) < Self::ENTRIES;
        is_lane.then_some(Self(number)).ok_or_else(|| format!("lane {number}, of {}", Self::ENTRIES))
    }
}

impl From<Lane> for u8 {
    fn from(lane: Lane) -> Self {
        lane.0
    }
}

/// Some of the lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LaneSet(u16);

const _: () = assert!(Lane::ENTRIES == u16::BITS as usize, "a bit for each lane");

impl LaneSet {
    fn of(declared: &[DeclaredLane], holds: impl Fn(&DeclaredLane) -> bool) -> Self {
        Self(declared.iter().filter(|declared| holds(declared)).fold(0, |set, declared| set | 1 << declared.lane.at()))
    }

    #[inline(always)]
    const fn has(self, lane: Lane) -> bool {
        self.0 >> lane.at() & 1 == 1
    }
}

/// What the store does about the blocks of a lane, besides writing pages to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing.
    Plain,
    /// They hold streams, whose survivors can be spread over the chips.
    Streams,
    /// They are the most worn of the free ones: what they hold will stay.
    Worn,
    /// They hold pages of a map: its directory, which is in memory, is all that changes when a collection moves them.
    Map,
}

/// A lane that some part of an FTL declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredLane {
    lane: Lane,
    is_written: bool,
    survivors: Option<Lane>,
    kind: Kind,
}

impl DeclaredLane {
    /// A lane that pages are written to. What survives a collection goes where all survivors go.
    pub const fn written(lane: Lane) -> Self {
        Self { lane, is_written: true, survivors: None, kind: Kind::Plain }
    }

    /// A lane that only collections move pages to.
    pub const fn collected(lane: Lane) -> Self {
        Self { is_written: false, ..Self::written(lane) }
    }

    /// The same lane with another one, or itself, for what survives a collection of its blocks.
    #[must_use]
    pub const fn surviving_in(self, lane: Lane) -> Self {
        Self { survivors: Some(lane), ..self }
    }

    /// The same lane for streams: an allocation can ask that survivors of those that are read often are spread over the
    /// chips ([`Demands::spread_reads`]).
    #[must_use]
    pub const fn of_streams(self) -> Self {
        Self { kind: Kind::Streams, ..self }
    }

    /// The same lane on the most worn free blocks of its plane, for pages that nobody changes.
    #[must_use]
    pub const fn on_worn_blocks(self) -> Self {
        Self { kind: Kind::Worn, ..self }
    }

    /// The same lane for the pages of a map.
    pub(crate) const fn of_map(self) -> Self {
        Self { kind: Kind::Map, ..self }
    }
}

/// What an allocation asks of the store beneath it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// It places pages in the lane of streams.
    pub streams: bool,
    /// Pages that collections move are kept apart from new ones, and those out of blocks of streams from others.
    pub isolation: bool,
    /// Pages that collections move out of blocks of streams are spread over the chips where the host has read each page
    /// of the block that often, on average.
    pub spread_reads: Option<u32>,
}

impl Demands {
    /// The lanes of an allocation.
    fn lanes(self) -> impl Iterator<Item = DeclaredLane> {
        let survivors = DeclaredLane::collected(Lane::COLLECTED_STREAM).surviving_in(Lane::COLLECTED_STREAM);
        let streams = DeclaredLane::written(Lane::STREAM);
        let streams = if self.isolation { streams.surviving_in(Lane::COLLECTED_STREAM) } else { streams };
        let lanes = self.streams.then_some(streams).into_iter().chain(self.isolation.then_some(survivors));
        lanes.map(DeclaredLane::of_streams)
    }

    /// The lane of collected pages that nothing more is known of.
    pub(crate) fn collected(self, params: &FtlParams) -> Lane {
        let is_shared = params.gc_blocks == GcBlocks::Shared && !self.isolation;
        if is_shared { Lane::HOST } else { Lane::COLLECTED }
    }
}

/// The lanes of a store.
pub(crate) struct Lanes {
    declared: Vec<DeclaredLane>,
    /// Where what survives a collection goes, by the lane that the block was opened for: all of a block to one lane,
    /// but for hot pages where these are kept apart.
    survivors: [Lane; Lane::ENTRIES],
    known: LaneSet,
    streams: LaneSet,
    worn: LaneSet,
    map: LaneSet,
    apart: LaneSet,
}

impl Lanes {
    /// The two that all setups have, those of the allocation, and `others`.
    pub(crate) fn new(params: &FtlParams, demands: Demands, others: impl IntoIterator<Item = DeclaredLane>) -> Self {
        let base = [DeclaredLane::written(Lane::HOST), DeclaredLane::collected(Lane::COLLECTED)];
        let declared: Vec<_> = base.into_iter().chain(demands.lanes()).chain(others).collect();
        let mut survivors = [demands.collected(params); Lane::ENTRIES];
        for declared in &declared {
            let to = &mut survivors[declared.lane.at()];
            *to = declared.survivors.unwrap_or(*to);
        }
        let of_kind = |kind| LaneSet::of(&declared, |declared| declared.kind == kind);
        let map = of_kind(Kind::Map);
        Self {
            survivors,
            known: LaneSet::of(&declared, |_| true),
            streams: of_kind(Kind::Streams),
            worn: of_kind(Kind::Worn),
            map,
            apart: if params.gc_pace == GcPace::Deadline { map } else { LaneSet::default() },
            declared,
        }
    }

    /// Open blocks that a plane may have at a time.
    pub(crate) fn open_blocks(&self) -> u32 {
        self.declared.len() as u32
    }

    /// Whether somebody has declared a lane.
    pub(crate) fn has(&self, lane: Lane) -> bool {
        self.known.has(lane)
    }

    /// Lanes that pages go to which no collection moves.
    pub(crate) fn written(&self) -> impl Iterator<Item = Lane> {
        self.declared.iter().filter(|declared| declared.is_written).map(|declared| declared.lane)
    }

    /// Where what survives a collection of a block goes that was opened for a lane.
    #[inline]
    pub(crate) fn survivors(&self, lane: Lane) -> Lane {
        self.survivors[lane.at()]
    }

    /// Whether survivors of the blocks of a lane can be spread over the chips.
    pub(crate) fn has_streams(&self, lane: Lane) -> bool {
        self.streams.has(lane)
    }

    /// Whether a lane opens the most worn free block.
    pub(crate) fn is_on_worn_blocks(&self, lane: Lane) -> bool {
        self.worn.has(lane)
    }

    /// Whether the blocks of a lane hold pages of a map.
    #[inline]
    pub(crate) fn has_map(&self, lane: Lane) -> bool {
        self.map.has(lane)
    }

    /// Whether the blocks of a lane are none of the collection policy's business: those of a map see to themselves
    /// where collections go by deadlines.
    #[inline]
    pub(crate) fn is_apart(&self, lane: Lane) -> bool {
        self.apart.has(lane)
    }

    /// Whether there is such a lane.
    #[inline]
    pub(crate) fn has_apart(&self) -> bool {
        self.apart != LaneSet::default()
    }
}
