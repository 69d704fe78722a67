//! Interleave: dynamic round-robin over all planes, the allocation that SLAP calls traditional (SLAP, section 2).
//!
//! ```text
//! next = 0
//! for each page written:  place it on stripe[next];  next = (next + 1) mod planes
//! with superblocks:       next advances after a whole superpage was placed on the die
//! ```
//!
//! Pages written together are distributed over as many chips as there are, whatever their addresses. Pages with
//! neighbouring addresses end up in different blocks. O(1) a page.

use flashloom_units::{Capability, PolicySpec};

use super::stripe::{Rotation, stripe_of_superpages};
use super::{Allocation, AllocationSetup, PagePlace, Turns};
use crate::PageWrite;
use crate::lane::Lane;

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "interleave",
    summary: "dynamic round-robin over all planes",
    details: "Each page goes to the next plane of the stripe (ftl.stripe_order), whatever its address.",
    source: "SLAP, section 2 (the traditional allocation)",
    example: "ftl.allocation=interleave ftl.stripe_order=WCDP",
    instead: "Pages of an extent lie in the blocks of many planes and die apart from each other: `slap` keeps a stream \
              in one block. `static` spreads sequential reads whatever was written in between.",
    offers: &[Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

pub(super) struct Interleave {
    rotation: Rotation,
}

flashloom_units::state! { Interleave { nested rotation; } }

impl Interleave {
    pub(super) fn new((): (), on: &AllocationSetup<'_>) -> Self {
        Self { rotation: Rotation::new(stripe_of_superpages(&on.geometry, on.superpage, on.stripe_order)) }
    }
}

flashloom_units::component! { Interleave }

impl Allocation for Interleave {
    fn place(&mut self, writes: &[PageWrite], _copies: u64, places: &mut Vec<PagePlace>) {
        places.extend(writes.iter().map(|_| PagePlace { plane: self.rotation.next(), lane: Lane::HOST }));
    }

    fn layout(&self, pages: u64) -> Option<Vec<Turns>> {
        Some(vec![self.rotation.turns(pages)])
    }

    fn laid_out(&mut self, pages: u64) {
        self.rotation.skip(pages);
    }
}
