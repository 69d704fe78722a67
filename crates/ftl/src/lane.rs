//! Lanes: the open blocks of a plane, each for pages that are expected to die together.
//!
//! Each part of an FTL declares the lanes that it needs: the allocation (streams and what is isolated), hot and cold
//! separation, wear levelling, a map on flash, a mapping for pages of its own. Every plane keeps room for the two that
//! all setups have; another one costs a plane a block only from the moment it is first opened there, so that a policy
//! that finds nothing to keep apart changes nothing.

use serde::{Deserialize, Serialize};

use crate::{FtlParams, GcBlocks};

/// One of the open blocks of a plane. An enum, so that a table by lane needs no check of its bounds on the path of a
/// page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Lane {
    /// Pages of the host that nothing more is known of.
    Host,
    /// Pages that collections moved.
    Collected,
    /// Streams that an allocation found.
    Stream,
    /// Pages that collections moved out of blocks of streams.
    CollectedStream,
    /// Pages of the host that are written often.
    Hot,
    /// Pages that collections moved and that are written often.
    CollectedHot,
    /// Pages that wear levelling moved.
    Cold,
    /// Translation pages.
    Map,
    /// Pages that a mapping keeps apart by a rule of its own.
    Own,
    /// More such pages, by another rule.
    OtherOwn,
}

impl Lane {
    /// Entries of a table by lane: a power of two, so that one a plane is found by a shift.
    pub(crate) const ENTRIES: usize = 16;

    /// Lanes that every plane may open at any time.
    pub(crate) const BASE: u32 = 2;

    /// Whether a plane may open it only while it has a block to spare.
    #[inline(always)]
    pub(crate) const fn is_extra(self) -> bool {
        self as u32 >= Self::BASE
    }

    /// Its index in a table by lane.
    #[inline(always)]
    pub(crate) const fn at(self) -> usize {
        self as usize
    }
}

/// A lane that some part of an FTL declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredLane {
    lane: Lane,
    is_written: bool,
    survivors: Option<Lane>,
}

impl DeclaredLane {
    /// A lane that pages are written to. What survives a collection goes where all survivors go.
    pub const fn written(lane: Lane) -> Self {
        Self { lane, is_written: true, survivors: None }
    }

    /// A lane that only collections move pages to.
    pub const fn collected(lane: Lane) -> Self {
        Self { lane, is_written: false, survivors: None }
    }

    /// The same lane with another one, or itself, for what survives a collection of its blocks.
    #[must_use]
    pub const fn surviving_in(self, lane: Lane) -> Self {
        Self { survivors: Some(lane), ..self }
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
        let survivors = DeclaredLane::collected(Lane::CollectedStream).surviving_in(Lane::CollectedStream);
        let streams = DeclaredLane::written(Lane::Stream);
        let streams = if self.isolation { streams.surviving_in(Lane::CollectedStream) } else { streams };
        self.streams.then_some(streams).into_iter().chain(self.isolation.then_some(survivors))
    }

    /// The lane of collected pages that nothing more is known of.
    pub(crate) fn collected(self, params: &FtlParams) -> Lane {
        let is_shared = params.gc_blocks == GcBlocks::Shared && !self.isolation;
        if is_shared { Lane::Host } else { Lane::Collected }
    }
}

/// The lanes of a store.
pub(crate) struct Lanes {
    declared: Vec<DeclaredLane>,
    /// Where what survives a collection goes, by the lane that the block was opened for: all of a block to one lane,
    /// but for hot pages where these are kept apart.
    survivors: [Lane; Lane::ENTRIES],
}

impl Lanes {
    /// The two that all setups have, those of the allocation, and `others`.
    pub(crate) fn new(params: &FtlParams, demands: Demands, others: impl IntoIterator<Item = DeclaredLane>) -> Self {
        let base = [DeclaredLane::written(Lane::Host), DeclaredLane::collected(Lane::Collected)];
        let declared: Vec<_> = base.into_iter().chain(demands.lanes()).chain(others).collect();
        let mut survivors = [demands.collected(params); Lane::ENTRIES];
        for declared in &declared {
            let to = &mut survivors[declared.lane.at()];
            *to = declared.survivors.unwrap_or(*to);
        }
        Self { declared, survivors }
    }

    /// Open blocks that a plane may have at a time.
    pub(crate) fn open_blocks(&self) -> u32 {
        self.declared.len() as u32
    }

    /// Whether somebody has declared a lane.
    pub(crate) fn has(&self, lane: Lane) -> bool {
        self.declared.iter().any(|declared| declared.lane == lane)
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
}
