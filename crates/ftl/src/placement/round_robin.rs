//! Round-robin: every evicted logical block goes to the next chip (CAVE, section 4.2).
//!
//! ```text
//! evicted logical blocks go to chips 0, 1, 2, ... in turn
//! pages that an evicted logical block has on another chip are moved to its new one
//! ```
//!
//! This is the paper's allocator to the letter: the victims of one eviction use as many chips as there are victims,
//! whatever their addresses. The paper assumes that moves are rare because the buffer absorbs frequent updates. They
//! are not, and are reported as migrated pages. Under [`super::first_touch`], the other reading of the paper, nothing
//! moves. O(1), and the moves.

use flashloom_nand::Lbn;
use flashloom_units::{Capability, PolicySpec};

use super::{Placement, PlacementSetup};
use crate::capability::{SINGLE_CHIP, WRITE_BUFFER};

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "round-robin",
    summary: "every evicted logical block goes to the next chip, with its pages",
    details: "Pages that it has on another chip are moved, and counted as ftl.placement.migrated_pages. `first-touch` \
              moves none.",
    source: "Park et al.: CAVE, SAC 2011, section 4.2",
    example: "ftl.placement=round-robin buffer.order=block-lru ftl.mapping=bast",
    instead: "Pages of a block that lie on another chip are copied at each eviction: `first-touch` spreads blocks \
              without moving any. Use it to see what moving costs.",
    needs: &[SINGLE_CHIP, WRITE_BUFFER],
    offers: &[Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

pub(super) struct RoundRobin {
    chips: u32,
    next: u32,
}

flashloom_units::state! { RoundRobin { below next [*chips]; fixed chips; } }

impl RoundRobin {
    pub(super) fn new((): (), &PlacementSetup { chips }: &PlacementSetup) -> Self {
        Self { chips, next: 0 }
    }
}

flashloom_units::component! { RoundRobin }

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
