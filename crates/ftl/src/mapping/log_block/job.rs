//! A merge that has begun.

use flashloom_nand::{BlockId, Lbn};
use serde::{Deserialize, Serialize};

use super::log_blocks::LogSlot;
use super::superblocks::SuperblockId;

/// The three merges of log-block mappings (KAST, section II).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MergeKind {
    Switch,
    Partial,
    Full,
}

/// A merge that has begun.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) slot: LogSlot,
    /// Its block, of several the first.
    pub(super) log_block: BlockId,
    pub(super) kind: MergeKind,
    /// k(L) when it began.
    pub(super) associativity: u32,
    /// The logical block that is gathered, and where: none between two of them.
    pub(super) lbn: Lbn,
    pub(super) to: SuperblockId,
    /// Pages that it has to hold.
    pub(super) end: u32,
    pub(super) copies: u32,
    pub(super) erases: u32,
}

impl Job {
    /// Whether it gathers pages in a block that is no log block.
    pub(super) fn gathers_apart(&self) -> bool {
        self.kind == MergeKind::Full && self.to.is_some()
    }

    /// Whether it gathers the pages of a logical block.
    pub(super) fn is_of(&self, lbn: Lbn) -> bool {
        self.lbn == lbn
    }

    pub(super) fn slot(&self) -> LogSlot {
        self.slot
    }

    /// The block that pages are gathered in.
    pub(super) fn target(&self) -> SuperblockId {
        self.to
    }
}
