//! Round-robin: every evicted logical block goes to the next chip (CAVE, section 4.2).
//!
//! ```text
//! the logical blocks that are evicted go to chips 0, 1, 2, ... in turn
//! a logical block with pages on another chip: those are moved to this one
//! ```
//!
//! The paper's allocator to the letter: as many victims as chips use all of them at once, whatever their addresses. It
//! assumes that moves are rare, because the buffer absorbs frequent updates; they are not, and are reported as migrated
//! pages. [`super::first_touch`] is the reading under which they are. O(1), and the moves.

use flashloom_nand::Lbn;
use flashloom_units::{Capability, Component, PolicySpec, Value};

use super::Placement;
use crate::capability::{SINGLE_CHIP, WRITE_BUFFER};

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "round-robin",
    summary: "every evicted logical block goes to the next chip, with its pages",
    details: "Pages that it has on another chip are moved, and counted as ftl.merges.migrated_pages. `first-touch` \
              moves none.",
    source: "Park et al.: CAVE, SAC 2011, section 4.2",
    example: "ftl.placement=round-robin buffer.order=block-lru ftl.mapping=bast",
    instead: "Pages of a block that lie on another chip are copied at each eviction: `first-touch` spreads blocks \
              without moving any. Use it to see what moving costs.",
    needs: &[SINGLE_CHIP, WRITE_BUFFER],
    offers: &[Capability::SAVED_STATE],
    params: &[],
    statistics: &[],
};

pub(super) struct RoundRobin {
    chips: u32,
    next: u32,
}

flashloom_units::state! { RoundRobin { below next [*chips]; fixed chips; } }

impl RoundRobin {
    pub(super) fn new(_values: &[Value], chips: u32) -> Self {
        Self { chips, next: 0 }
    }
}

impl Component for RoundRobin {
    flashloom_units::stateful!();
}

impl Placement for RoundRobin {
    fn place(&mut self, _lbn: Lbn, _home: Option<u32>) -> u32 {
        let chip = self.next;
        self.next = (chip + 1) % self.chips;
        chip
    }

    fn moves(&self) -> bool {
        true
    }
}
