//! The strategy of a store's collection, computed once from the configuration.

use flashloom_nand::Urgency;

use crate::lane::{Lane, Lanes};
use crate::mapping::Context;
use crate::store::superblocks::Superblocks;
use crate::{GcPace, HotCold, Preemption, params};

/// How much of a collection is done at once while the host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The whole collection, in idle time too, because host pages and survivors share blocks.
    SharesBlocks,
    /// The whole collection, because no request may come between its copies; in idle time single steps.
    AtOnce,
    /// The steps that the pages written have paid for (`pace.rs`).
    InSteps,
}

/// The way in which survivors are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copies {
    /// One page at a time, because each may be copied to a different block.
    OneByOne,
    /// Several pages in a row (`rows.rs`): all go to one lane, by single-page copies that cannot fail.
    InARow,
}

/// The configuration of collection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strategy {
    pub(super) progress: Progress,
    pub(super) copies: Copies,
    /// The rule by which pages written pay for a collection.
    pub(super) pace: GcPace,
    /// Urgency of a collection that a write needs.
    pub(super) urgency: Urgency,
    /// Free blocks that a plane needs before the host opens one of them.
    pub(super) free_to_open: u32,
    /// Free blocks of a plane below which it is collected: by writes, and in idle time.
    pub(super) threshold: u32,
    pub(super) background_threshold: u32,
}

impl Strategy {
    /// The strategy of a store with those lanes.
    pub(super) fn new(on: &Context<'_>, lanes: &Lanes, superblocks: &Superblocks) -> Self {
        let Context { space, ftl, nand } = *on;
        let params = &ftl.params;
        let progress = match params.preemption {
            _ if lanes.survivors(Lane::HOST) == Lane::HOST => Progress::SharesBlocks,
            Preemption::None => Progress::AtOnce,
            Preemption::Page => Progress::InSteps,
        };
        let in_a_row = params.hot_cold == HotCold::None && superblocks.are_blocks() && !nand.can_fail();
        Self {
            progress,
            copies: if in_a_row { Copies::InARow } else { Copies::OneByOne },
            pace: params.gc_pace,
            urgency: params.preemption.urgency(),
            free_to_open: params::free_to_open(&space.nand),
            threshold: params.collects_below(&space.nand),
            background_threshold: params.background_threshold,
        }
    }
}
