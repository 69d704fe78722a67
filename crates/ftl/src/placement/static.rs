//! Static: the address of a logical block determines its chip.
//!
//! ```text
//! logical block lbn is on chip lbn mod chips
//! ```
//!
//! Nothing is ever moved. Logical blocks that are evicted together may be on the same chip. O(1).

use flashloom_nand::Lbn;
use flashloom_units::{Capability, PolicySpec};

use super::{Placement, PlacementSetup};
use crate::capability::FIXED_HOMES;

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "static",
    summary: "the address determines the chip",
    details: "Logical block lbn is on chip lbn mod chips.",
    source: "the alternative to CAVE's channel allocator",
    example: "ftl.placement=static buffer.order=block-lru ftl.mapping=bast",
    instead: "Where some addresses are written far more than others their chips are busy while the rest are idle: use \
              `first-touch` or `adaptive`. For a page-level mapping set `ftl.allocation` instead.",
    offers: &[FIXED_HOMES, Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

pub(super) struct Static {
    chips: u32,
}

flashloom_units::state! { Static { fixed chips; } }

impl Static {
    pub(super) fn new((): (), &PlacementSetup { chips }: &PlacementSetup) -> Self {
        Self { chips }
    }
}

flashloom_units::component! { Static }

impl Placement for Static {
    fn place(&mut self, lbn: Lbn, _home: Option<u32>) -> u32 {
        lbn.0 % self.chips
    }

    fn chip_of(&self, lbn: Lbn, _home: Option<u32>) -> Option<u32> {
        Some(lbn.0 % self.chips)
    }
}
