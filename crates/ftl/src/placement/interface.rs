//! What a placement is, what it learns from, and what it is built for.

use flashloom_nand::Lbn;
use flashloom_units::{Component, Ns, Role};
use serde::{Deserialize, Serialize};

/// A policy of placement.
pub trait Placement: Component {
    /// The chip for the pages of a logical block that are written together; `home` is where its pages are, if it has
    /// any. A chip that is full is passed over for the next.
    fn place(&mut self, lbn: Lbn, home: Option<u32>) -> u32;

    /// Whether a logical block may be sent away from its home. Then its pages among those that are written together are
    /// brought together first, so that it is placed, and moves, once.
    fn moves(&self) -> bool {
        false
    }

    /// A run of a region has been read or written. What is learned from it is kept in the region's ledger.
    fn watch(&mut self, _region: &mut Region, _run: &Run, _times: &Times) {}

    /// How many chips the logical blocks of a region span from now on: a power of two, [`Profile::widest`] at most.
    fn span(&self, region: &Region, _times: &Times) -> u32 {
        region.span
    }
}

/// Consecutive logical blocks, as many as [`Profile::widest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Chips that each of them spans.
    pub span: u32,
    /// How often a wider span was followed by a narrower one, or the reverse.
    pub reversals: u32,
    /// Whether the last change made the span wider; none if there was no change.
    pub widened: Option<bool>,
    /// What was learned since the last change.
    pub ledger: Ledger,
}

impl Region {
    /// A region with a span of one, of which nothing is known.
    pub const NARROW: Self = Self {
        span: 1,
        reversals: 0,
        widened: None,
        ledger: Ledger { wider_ns: 0, narrower_ns: 0, blocks_written: 0, blocks_if_narrower: 0, blocks_if_wider: 0 },
    };

    /// Takes another span, and begins to learn anew; nothing happens if it has that span.
    pub(crate) fn change_to(&mut self, span: u32) {
        if span != self.span {
            let widened = Some(span > self.span);
            let reverses = self.widened.is_some() && self.widened != widened;
            *self = Self { span, reversals: self.reversals + u32::from(reverses), widened, ledger: Ledger::default() };
        }
    }
}

/// What other spans would have saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Time that twice the span would have saved, net.
    pub wider_ns: Ns,
    /// Time that half the span would have saved, net.
    pub narrower_ns: Ns,
    /// Blocks that write runs went to.
    pub blocks_written: u64,
    /// Blocks that they would have gone to with half the span.
    pub blocks_if_narrower: u64,
    /// Blocks that they would have gone to with twice the span.
    pub blocks_if_wider: u64,
}

/// Pages of a region, one after the other in address, that were read or written at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// How many.
    pub pages: u32,
    /// Flash operations that were under way then or began with them, the run's own among them.
    pub together: u32,
    /// Whether they were written.
    pub is_write: bool,
    /// Pages of the region that merges copied since the run before.
    pub copied: u32,
}

/// What flash operations take on an idle chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Reading a page, with its transfer.
    pub read_ns: Ns,
    /// Writing a page, with its transfer.
    pub program_ns: Ns,
    /// Copying a page.
    pub copy_ns: Ns,
    /// Changing the span of a region, all of whose chips copy at once.
    pub change_ns: Ns,
}

/// What a placement is built for.
#[derive(Clone, Copy, Debug)]
pub struct PlacementSetup {
    /// Groups of chips with an FTL of their own: chips, unless the mapping stripes over several.
    pub chips: u32,
}

/// What a placement states before it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Most chips that the pages of a logical block are spread over: a power of two, and the logical blocks of a
    /// region.
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
