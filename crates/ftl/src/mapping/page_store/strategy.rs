//! How a store collects, as far as the configuration decides it: values that are asked where it matters, in the place
//! of conditions over parameters.

use flashloom_nand::Urgency;

use crate::lane::{Lane, Lanes};
use crate::mapping::Context;
use crate::superblock::Superblocks;
use crate::{GcPace, HotCold, Preemption, params};

/// How much of a collection is done at a time while the host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// All of it, and so it is while the drive is idle: the host writes to the blocks that its copies go to.
    SharesBlocks,
    /// All of it: the host may not go between its copies. While the drive is idle a step is done at a time.
    AtOnce,
    /// The steps that have been paid for.
    InSteps,
}

/// How the survivors of a victim are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copies {
    /// Each is judged, and may go elsewhere than the one before it.
    OneByOne,
    /// All go to one lane, by copies of one page that do not fail: those that have been paid for are made in a row.
    InARow,
}

/// What a configuration says of collection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strategy {
    pub(super) progress: Progress,
    pub(super) copies: Copies,
    /// How much of a collection a page that is written pays for.
    pub(super) pace: GcPace,
    /// That of a collection that a write needs.
    pub(super) urgency: Urgency,
    /// Free blocks of a plane before the host opens one.
    pub(super) free_to_open: u32,
    /// Free blocks of a plane below which it is collected: when it is written to, and while the drive is idle.
    pub(super) threshold: u32,
    pub(super) background_threshold: u32,
}

impl Strategy {
    /// For a store with those lanes.
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
            urgency: match params.preemption {
                Preemption::None => Urgency::Blocking,
                Preemption::Page => Urgency::Needed,
            },
            free_to_open: params::free_to_open(&space.nand),
            threshold: params.collects_below(&space.nand),
            background_threshold: params.background_threshold,
        }
    }
}
