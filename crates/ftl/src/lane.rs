//! Lanes: the open blocks of a plane, each for pages that are expected to die together.
//!
//! Which lanes there are follows from the setup. Every plane counts the two that all setups have; another one costs a
//! plane a block only from the moment it is first opened there, so that a policy that finds nothing to keep apart
//! changes nothing.

use flashloom_units::Capability;
use serde::{Deserialize, Serialize};

use crate::{FtlSetup, GcBlocks, HotCold, WearLevelling};

/// One of the open blocks of a plane.
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
}

impl Lane {
    /// How many lanes there are.
    pub(crate) const COUNT: usize = 8;

    /// Lanes that every plane may open at any time.
    pub(crate) const BASE: u32 = 2;

    /// Lanes that pages go to which no collection moves.
    pub(crate) const WRITTEN: [Self; 4] = [Self::Host, Self::Stream, Self::Hot, Self::Map];

    /// Whether a plane may open it only while it has a block to spare.
    pub(crate) const fn is_extra(self) -> bool {
        self as u32 >= Self::BASE
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

/// Open blocks that a plane may have at a time under a setup.
pub(crate) fn open_blocks(setup: &FtlSetup, demands: Demands) -> u32 {
    let (params, Demands { streams, isolation, .. }) = (&setup.params, demands);
    let extra = [
        streams,
        isolation,
        params.hot_cold != HotCold::None,
        params.hot_cold != HotCold::None && (params.gc_blocks == GcBlocks::Separate || isolation),
        params.wear_levelling == WearLevelling::Static,
        setup.mapping.offers(Capability::TranslationPages),
    ];
    Lane::BASE + extra.into_iter().map(u32::from).sum::<u32>()
}

/// The lane that the pages of a victim go to, by the lane that its block was opened for: all to one, but for hot pages
/// where these are kept apart.
pub(crate) fn survivors(gc_blocks: GcBlocks, isolation: bool) -> [Lane; Lane::COUNT] {
    let collected = if gc_blocks == GcBlocks::Shared && !isolation { Lane::Host } else { Lane::Collected };
    let mut lanes = [collected; Lane::COUNT];
    lanes[Lane::Map as usize] = Lane::Map;
    if isolation {
        lanes[Lane::Stream as usize] = Lane::CollectedStream;
        lanes[Lane::CollectedStream as usize] = Lane::CollectedStream;
    }
    lanes
}
