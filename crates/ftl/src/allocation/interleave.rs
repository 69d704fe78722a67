//! Interleave: dynamic round-robin over all planes, the allocation that SLAP calls traditional (SLAP, section 2).
//!
//! ```text
//! next = 0
//! for each page written:  place it on stripe[next];  next = (next + 1) mod planes
//! ```
//!
//! Writes that come together go to as many chips as there are, whatever their addresses; pages with neighbouring
//! addresses end up in different blocks. O(1) a page.

use flashloom_nand::Geometry;
use flashloom_units::{PlaneId, PolicySpec, Value};

use super::{Allocation, Place, stripe};
use crate::{PageWrite, StripeOrder};

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "interleave",
    summary: "dynamic round-robin over all planes",
    details: "Each page goes to the next plane of the stripe (ftl.stripe_order), whatever its address.",
    source: "SLAP, section 2 (the traditional allocation)",
    needs: &[],
    params: &[],
    statistics: &[],
};

pub(super) struct State {
    stripe: Vec<PlaneId>,
    next: usize,
}

impl State {
    pub(super) fn new(_values: &[Value], geometry: &Geometry, order: StripeOrder) -> Self {
        Self { stripe: stripe(geometry, order), next: 0 }
    }
}

impl Allocation for State {
    fn place(&mut self, writes: &[PageWrite], places: &mut Vec<Place>) {
        for _ in writes {
            places.push(Place { plane: self.stripe[self.next] });
            self.next = if self.next + 1 == self.stripe.len() { 0 } else { self.next + 1 };
        }
    }
}
