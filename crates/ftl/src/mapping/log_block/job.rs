//! A merge in progress.

use flashloom_nand::{BlockId, Lbn};
use serde::{Deserialize, Serialize};

use super::log_blocks::LogSlot;

/// The three merges of log-block mappings (KAST, section II).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MergeKind {
    Switch,
    Partial,
    Full,
}

/// A merge in progress.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct MergeJob {
    pub(super) slot: LogSlot,
    /// The array's first block of the log block when the merge began, which names it in events.
    pub(super) in_array: BlockId,
    pub(super) kind: MergeKind,
    /// k(L), the associativity of the log block, when the merge began.
    pub(super) associativity: u32,
    /// The logical block being gathered, and the block that it is gathered in; `None` between two logical blocks.
    pub(super) lbn: Lbn,
    pub(super) to: BlockId,
    /// Number of pages that the gathered block will have at the end of the merge.
    pub(super) end: u32,
    pub(super) copies: u32,
    pub(super) erases: u32,
}

impl MergeJob {
    /// True if it gathers pages in a new block, not in the log block.
    pub(super) fn gathers_apart(&self) -> bool {
        self.kind == MergeKind::Full && self.to.is_some()
    }
}
