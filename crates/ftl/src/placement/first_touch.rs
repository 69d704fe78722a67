//! First touch: a logical block goes to the next chip when it is first written, and stays there (CAVE, section 4.2).
//!
//! ```text
//! logical blocks without pages on flash go to chips 0, 1, 2, ... in turn
//! all others stay on their chip
//! ```
//!
//! CAVE allocates channels "to a block" round-robin and says that pages of one block on two channels do "not frequently
//! occur". Under [`super::round_robin`], which takes the next chip at every eviction, they occur whenever a block is
//! evicted twice. First touch is the reading under which the statement holds: nothing is ever moved. On a drive that
//! was filled in order, logical blocks are where [`super::static`] puts them. O(1).

use flashloom_nand::Lbn;
use flashloom_units::{Capability, PolicySpec};

use super::{Placement, PlacementSetup};
use crate::capability::{SINGLE_CHIP, WRITE_BUFFER};

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "first-touch",
    summary: "round-robin when a logical block is first written, and then it stays",
    details: "Nothing is moved. Blocks that first leave the buffer together are on different chips, whatever their \
              addresses.",
    source: "Park et al.: CAVE, SAC 2011, section 4.2, the channel allocator as it can be read",
    example: "ftl.placement=first-touch buffer.order=block-lru ftl.mapping=bast",
    instead: "Only the first write decides: where the pattern changes later, use `adaptive`. Where the address has to \
              say which chip it is on, use `static`.",
    needs: &[SINGLE_CHIP, WRITE_BUFFER],
    offers: &[Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

pub(super) struct FirstTouch {
    chips: u32,
    next: u32,
}

flashloom_units::state! { FirstTouch { below next [*chips]; fixed chips; } }

impl FirstTouch {
    pub(super) fn new((): (), &PlacementSetup { chips }: &PlacementSetup) -> Self {
        Self { chips, next: 0 }
    }
}

flashloom_units::component! { FirstTouch }

impl Placement for FirstTouch {
    fn place(&mut self, _lbn: Lbn, home: Option<u32>) -> u32 {
        home.unwrap_or_else(|| {
            let chip = self.next;
            self.next = (chip + 1) % self.chips;
            chip
        })
    }

    fn chip_of(&self, _lbn: Lbn, home: Option<u32>) -> Option<u32> {
        home
    }
}
