//! The interface of a placement policy, the measurements it learns from, and what it is built from.

use flashloom_nand::Lbn;
use flashloom_units::{Component, Ns, Role};
use serde::{Deserialize, Serialize};

/// A placement policy: it distributes logical blocks over chips under a log-block mapping.
pub trait Placement: Component {
    /// Returns the chip for pages of a logical block that are about to be written. `home` is the chip that holds the
    /// block now, if any. If the returned chip is full, the next one with room is used.
    fn place(&mut self, lbn: Lbn, home: Option<u32>) -> u32;

    /// The chip that [`Self::place`] would return, if the block and its home decide that.
    fn chip_of(&self, _lbn: Lbn, _home: Option<u32>) -> Option<u32> {
        None
    }

    /// Whether [`Self::place`] may return another chip than `home`. If so, the pages of a write are grouped by logical
    /// block first, so that each block is placed, and moved, once.
    fn moves(&self) -> bool {
        false
    }

    /// Called after a run of a region was read or written. The policy records what it learns in the region's ledger.
    fn watch(&mut self, _region: &mut Region, _run: &Run, _times: &Times) {}

    /// Returns the number of chips that the logical blocks of a region span from now on: a power of two, at most
    /// [`Profile::widest`].
    fn span(&self, region: &Region, _times: &Times) -> u32 {
        region.span
    }
}

/// [`Profile::widest`] consecutive logical blocks, which share one span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Number of chips that each of the logical blocks spans.
    pub span: u32,
    /// Number of changes of span in the opposite direction to the change before.
    pub reversals: u32,
    /// Whether the last change widened the span; `None` before the first change.
    pub widened: Option<bool>,
    /// Measurements since the last change.
    pub ledger: Ledger,
}

impl Region {
    /// A new region: span of one, no measurements.
    pub const NARROW: Self = Self {
        span: 1,
        reversals: 0,
        widened: None,
        ledger: Ledger { wider_ns: 0, narrower_ns: 0, blocks_written: 0, blocks_if_narrower: 0, blocks_if_wider: 0 },
    };

    /// Changes the span and starts new measurements. Does nothing if the region has that span already.
    pub(crate) fn change_to(&mut self, span: u32) {
        if span != self.span {
            let widened = Some(span > self.span);
            let reverses = self.widened.is_some() && self.widened != widened;
            *self = Self { span, reversals: self.reversals + u32::from(reverses), widened, ledger: Ledger::default() };
        }
    }
}

/// Measurements of a region: what other spans would have saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Net time that twice the span would have saved.
    pub wider_ns: Ns,
    /// Net time that half the span would have saved.
    pub narrower_ns: Ns,
    /// Blocks that write runs were written to.
    pub blocks_written: u64,
    /// Blocks that they would have been written to with half the span.
    pub blocks_if_narrower: u64,
    /// Blocks that they would have been written to with twice the span.
    pub blocks_if_wider: u64,
}

/// Pages of a region, at consecutive addresses, that were read or written at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Number of pages.
    pub pages: u32,
    /// Flash operations outstanding at the time, including those of the run itself.
    pub together: u32,
    /// Whether the run is a write.
    pub is_write: bool,
    /// Pages of the region copied by merges since the previous run.
    pub copied: u32,
}

/// Latencies of flash operations on an idle chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Page read, including transfer.
    pub read_ns: Ns,
    /// Page program, including transfer.
    pub program_ns: Ns,
    /// Page copy.
    pub copy_ns: Ns,
    /// Change of a region's span, for which all its chips copy at the same time.
    pub change_ns: Ns,
}

/// What a placement is built from.
#[derive(Clone, Copy, Debug)]
pub struct PlacementSetup {
    /// Number of chip groups that have an FTL each. A group is one chip unless the mapping stripes over several.
    pub chips: u32,
}

/// What a placement declares before it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Largest span that it uses: a power of two. It is also the number of logical blocks in a region.
    pub widest: u32,
}

impl Default for Profile {
    fn default() -> Self {
        Self { widest: 1 }
    }
}

impl Role for dyn Placement {
    type Site<'a> = PlacementSetup;
    type Profile = Profile;
    type Context<'a> = PlacementSetup;
}
