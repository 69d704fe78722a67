//! Static: the address alone determines the plane (Hu et al., ICS 2011, static allocation).
//!
//! ```text
//! page lpn goes to stripe[lpn mod planes]
//! ```
//!
//! A sequential read always finds its pages on different chips, however they were written; a skewed write load
//! finds some chips busier than others. O(1) a page.

use flashloom_nand::Geometry;
use flashloom_units::{PlaneId, PolicySpec, Value};

use super::{Allocation, Place, stripe};
use crate::lane::Lane;
use crate::{PageWrite, StripeOrder};

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "static",
    summary: "the address determines the plane",
    details: "Page lpn goes to plane lpn mod planes of the stripe (ftl.stripe_order).",
    source: "Hu et al., ICS 2011, static allocation",
    needs: &[],
    params: &[],
    statistics: &[],
};

pub(super) struct State {
    stripe: Vec<PlaneId>,
}

impl State {
    pub(super) fn new(_values: &[Value], geometry: &Geometry, order: StripeOrder) -> Self {
        Self { stripe: stripe(geometry, order) }
    }
}

impl Allocation for State {
    fn place(&mut self, writes: &[PageWrite], _copies: u64, places: &mut Vec<Place>) {
        let planes = self.stripe.len();
        let plane = |write: &PageWrite| self.stripe[write.lpn.at() % planes];
        places.extend(writes.iter().map(|write| Place { plane: plane(write), lane: Lane::Host }));
    }
}
