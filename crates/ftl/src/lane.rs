//! Lanes: the open blocks of a plane, each for pages that are expected to die together. A lane is a tag of one byte
//! that a page carries to its place.
//!
//! The part of an FTL that needs a lane declares it, with the rules for its blocks: the allocation (streams, isolated
//! survivors), hot and cold separation, wear levelling, a map on flash, a mapping with pages of its own. Every plane
//! reserves room for the two lanes that all setups have. Any other lane takes a block of a plane only when it is first
//! opened there, so that an unused lane costs nothing.

use serde::{Deserialize, Serialize};

use crate::{FtlParams, GcBlocks, GcPace};

/// The number of a lane.
///
/// The numbers are part of a saved state. The constants below are this crate's; [`Self::own`] has the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lane(u8);

impl Lane {
    /// Pages of the host that belong to no other lane.
    pub const HOST: Self = Self(0);
    /// Survivors of collections.
    pub const COLLECTED: Self = Self(1);
    /// Streams found by an allocation.
    pub const STREAM: Self = Self(2);
    /// Survivors from blocks of streams.
    pub const COLLECTED_STREAM: Self = Self(3);
    /// Hot pages of the host.
    pub const HOT: Self = Self(4);
    /// Hot survivors of collections.
    pub const COLLECTED_HOT: Self = Self(5);
    /// Pages moved by wear levelling.
    pub const COLD: Self = Self(6);
    /// Translation pages.
    pub const MAP: Self = Self(7);

    /// The first lane for a mapping's own use.
    const FIRST_OWN: u8 = 8;

    /// Number of lanes for a mapping's own use.
    pub const OWN: u8 = u8::MAX - Self::FIRST_OWN + 1;

    /// Number of lanes that there are.
    pub(crate) const MOST: usize = 1 << u8::BITS;

    /// Number of lanes that every plane may open at any time.
    pub(crate) const BASE: u32 = 2;

    /// A lane for a mapping's own use, numbered from 0.
    ///
    /// # Panics
    /// If `number` is not below [`Self::OWN`]; in a constant this is a compile error.
    pub const fn own(number: u8) -> Self {
        assert!(number < Self::OWN, "a mapping has that many lanes of its own");
        Self(Self::FIRST_OWN + number)
    }

    /// True if a plane may open this lane only while it has a spare block.
    #[inline(always)]
    pub(crate) const fn is_extra(self) -> bool {
        self.0 as u32 >= Self::BASE
    }

    /// Its index in a table by lane.
    #[inline(always)]
    pub(crate) const fn at(self) -> usize {
        self.0 as usize
    }
}

/// A set of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneSet {
    words: [u64; Self::WORDS],
    is_empty: bool,
}

impl LaneSet {
    const WORDS: usize = Lane::MOST / u64::BITS as usize;

    /// No lanes.
    const NONE: Self = Self { words: [0; Self::WORDS], is_empty: true };

    fn of(declared: &[DeclaredLane], holds: impl Fn(&DeclaredLane) -> bool) -> Self {
        declared.iter().filter(|declared| holds(declared)).fold(Self::NONE, |mut set, declared| {
            set.words[declared.lane.at() / u64::BITS as usize] |= 1 << (declared.lane.at() % u64::BITS as usize);
            Self { is_empty: false, ..set }
        })
    }

    #[inline(always)]
    pub(crate) const fn has(self, lane: Lane) -> bool {
        self.words[lane.at() / u64::BITS as usize] >> (lane.at() % u64::BITS as usize) & 1 == 1
    }

    #[inline(always)]
    pub(crate) const fn is_empty(self) -> bool {
        self.is_empty
    }
}

/// Special rules of the store for the blocks of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// None.
    Plain,
    /// Blocks of streams: their survivors can be spread over the chips.
    Streams,
    /// Blocks for cold data: the most worn free block is opened.
    Worn,
    /// Blocks of translation pages: a collection that moves these only changes the map's directory, in memory.
    Map,
}

/// The declaration of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredLane {
    lane: Lane,
    is_written: bool,
    survivors: Option<Lane>,
    kind: Kind,
}

impl DeclaredLane {
    /// A lane that pages are written to, with survivors in the default lane.
    pub const fn written(lane: Lane) -> Self {
        Self { lane, is_written: true, survivors: None, kind: Kind::Plain }
    }

    /// A lane that only survivors of collections go to.
    pub const fn collected(lane: Lane) -> Self {
        Self { is_written: false, ..Self::written(lane) }
    }

    /// Sets the lane for survivors of its blocks, which may be itself.
    #[must_use]
    pub const fn surviving_in(self, lane: Lane) -> Self {
        Self { survivors: Some(lane), ..self }
    }

    /// Marks its blocks as streams: an allocation can have survivors of often-read streams spread over the chips
    /// ([`Demands::spread_reads`]).
    #[must_use]
    pub const fn of_streams(self) -> Self {
        Self { kind: Kind::Streams, ..self }
    }

    /// Makes it open the most worn free blocks of its plane, for pages that do not change.
    #[must_use]
    pub const fn on_worn_blocks(self) -> Self {
        Self { kind: Kind::Worn, ..self }
    }

    /// Marks its blocks as translation pages.
    pub(crate) const fn of_map(self) -> Self {
        Self { kind: Kind::Map, ..self }
    }
}

/// The demands of an allocation on the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// True if it places pages in the lane of streams.
    pub streams: bool,
    /// True to keep survivors apart from new pages, and survivors of streams apart from others.
    pub isolation: bool,
    /// Threshold of the mean reads per page since the erase of a block of streams, above which its survivors are spread
    /// over the chips.
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

    /// The lane of survivors that belong to no other lane.
    pub(crate) fn collected(self, params: &FtlParams) -> Lane {
        let is_shared = params.gc_blocks == GcBlocks::Shared && !self.isolation;
        if is_shared { Lane::HOST } else { Lane::COLLECTED }
    }
}

/// All lanes of a store, with the rules declared for them.
pub(crate) struct Lanes {
    declared: Vec<DeclaredLane>,
    /// The lane of survivors, by the lane that the victim was opened for. All survivors of a block go to one lane,
    /// except hot pages if these are kept apart.
    survivors: Vec<Lane>,
    /// All lanes that were declared.
    pub(crate) known: LaneSet,
    /// Lanes of streams: survivors of their blocks can be spread over the chips.
    pub(crate) streams: LaneSet,
    /// Lanes that open the most worn free block.
    pub(crate) worn: LaneSet,
    /// Lanes whose blocks hold translation pages.
    pub(crate) map: LaneSet,
    /// Lanes whose blocks the collection policy does not see: with deadlines (`gc_pace`), map blocks are collected by
    /// rules of their own (`map_block`).
    pub(crate) apart: LaneSet,
}

impl Lanes {
    /// The two lanes that all setups have, those of the allocation, and `others`.
    pub(crate) fn new(params: &FtlParams, demands: Demands, others: impl IntoIterator<Item = DeclaredLane>) -> Self {
        let base = [DeclaredLane::written(Lane::HOST), DeclaredLane::collected(Lane::COLLECTED)];
        let declared: Vec<_> = base.into_iter().chain(demands.lanes()).chain(others).collect();
        let highest = declared.iter().map(|declared| declared.lane.at()).max().unwrap_or(0);
        let mut survivors = vec![demands.collected(params); (highest + 1).next_power_of_two()];
        for declared in &declared {
            let to = &mut survivors[declared.lane.at()];
            *to = declared.survivors.unwrap_or(*to);
        }
        let is_declared = |lane: Lane| declared.iter().any(|declared| declared.lane == lane);
        assert!(survivors.iter().all(|&lane| is_declared(lane)), "survivors go to a lane that is declared");
        let of_kind = |kind| LaneSet::of(&declared, |declared| declared.kind == kind);
        let map = of_kind(Kind::Map);
        Self {
            survivors,
            known: LaneSet::of(&declared, |_| true),
            streams: of_kind(Kind::Streams),
            worn: of_kind(Kind::Worn),
            map,
            apart: if params.gc_pace == GcPace::Deadline { map } else { LaneSet::NONE },
            declared,
        }
    }

    /// Entries of a table by lane. A power of two, so that tables by plane and lane are indexed with a shift.
    pub(crate) fn entries(&self) -> usize {
        self.survivors.len()
    }

    /// The most open blocks of a plane at a time.
    pub(crate) fn open_blocks(&self) -> u32 {
        self.declared.len() as u32
    }

    /// The lanes that new pages are written to.
    pub(crate) fn written(&self) -> impl Iterator<Item = Lane> {
        self.declared.iter().filter(|declared| declared.is_written).map(|declared| declared.lane)
    }

    /// The lane of survivors of a block that was opened for `lane`.
    #[inline]
    pub(crate) fn survivors(&self, lane: Lane) -> Lane {
        self.survivors[lane.at()]
    }
}
