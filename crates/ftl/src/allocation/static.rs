//! Static: the address alone determines the plane (Hu et al., ICS 2011, static allocation).
//!
//! ```text
//! striped:     page lpn goes to stripe[lpn mod planes]
//! contiguous:  page lpn goes to stripe[lpn div ceil(logical pages / planes)]
//! ```
//!
//! Striped, a sequential read always finds its pages on different chips, however they were written; a skewed write load
//! finds some chips busier than others. Contiguous, every plane holds a range of the address space of its own, and
//! requests run at once only if their addresses are far apart: the relation between regions and chips that ParDispatcher
//! (section II-A) speculates about. Either way no plane has more than its share of the pages. O(1) a page.

use flashloom_nand::DeviceParams;
use flashloom_units::{Kind, Lpn, ParamSet, PlaneId, PolicySpec, Value, choice, params};

use super::{Allocation, Place, stripe};
use crate::lane::Lane;
use crate::{PageWrite, StripeOrder};

choice! {
    /// How addresses are divided among the planes.
    pub enum Layout {
        /// Consecutive pages go to consecutive planes.
        Striped = "striped",
        /// Each plane holds one range of consecutive pages.
        Contiguous = "contiguous",
    }
}

params! {
    /// Parameters of the static allocation.
    pub struct Static {
        /// How addresses are divided among the planes.
        layout: Layout => "layout", Kind::Choice(Layout::CHOICES), Value::Name("striped"), "Striped, neighbouring pages are read at once; contiguous, a plane is kept busy only by its own range of addresses.";
    }
}

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "static",
    summary: "the address determines the plane",
    details: "Striped, page lpn goes to plane lpn mod planes of the stripe (ftl.stripe_order); contiguous, each plane of the \
              stripe holds the next range of consecutive pages.",
    source: "Hu et al., ICS 2011, static allocation; ParDispatcher, section II-A, regions that are chips",
    needs: &[],
    params: Static::PARAMS,
    statistics: &[],
};

pub(super) struct State {
    layout: Layout,
    stripe: Vec<PlaneId>,
    /// Pages of the host that a plane holds at most.
    share: usize,
}

impl State {
    pub(super) fn new(values: &[Value], drive: &DeviceParams, order: StripeOrder) -> Self {
        let stripe = stripe(&drive.geometry(), order);
        let share = (drive.logical_pages() as usize).div_ceil(stripe.len());
        Self { layout: Static::from_values(values).layout, stripe, share }
    }

    #[inline]
    fn plane(&self, lpn: Lpn) -> PlaneId {
        self.stripe[match self.layout {
            Layout::Striped => lpn.at() % self.stripe.len(),
            Layout::Contiguous => lpn.at() / self.share,
        }]
    }
}

impl Allocation for State {
    fn place(&mut self, writes: &[PageWrite], _copies: u64, places: &mut Vec<Place>) {
        places.extend(writes.iter().map(|write| Place { plane: self.plane(write.lpn), lane: Lane::Host }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two channels of two chips of two planes, and what the host sees of them.
    fn drive(blocks: u32, over_provisioning: f64) -> DeviceParams {
        let shape = DeviceParams { channels: 2, ways: 2, dies: 1, planes: 2, ..DeviceParams::defaults() };
        DeviceParams { blocks, pages: 4, page_bytes: 512, over_provisioning, ..shape }
    }

    fn state(layout: &'static str, drive: &DeviceParams, order: StripeOrder) -> State {
        State::new(&[Value::Name(layout)], drive, order)
    }

    /// The plane of every page of the host.
    fn planes(state: &State, drive: &DeviceParams) -> Vec<u32> {
        (0..drive.logical_pages() as u32).map(|lpn| state.plane(Lpn(lpn)).0).collect()
    }

    #[test]
    fn striped_consecutive_pages_go_to_consecutive_planes_of_the_stripe() {
        let drive = drive(2, 1.0);
        assert_eq!(planes(&state("striped", &drive, StripeOrder::Pdwc), &drive)[..9], [0, 1, 2, 3, 4, 5, 6, 7, 0]);
        assert_eq!(planes(&state("striped", &drive, StripeOrder::Cwdp), &drive)[..9], [0, 4, 2, 6, 1, 5, 3, 7, 0]);
    }

    #[test]
    fn contiguous_each_plane_of_the_stripe_holds_the_next_range() {
        let drive = drive(1, 1.0);
        let by_plane = planes(&state("contiguous", &drive, StripeOrder::Pdwc), &drive);
        assert_eq!(by_plane, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
        let by_channel = planes(&state("contiguous", &drive, StripeOrder::Cwdp), &drive);
        assert_eq!(by_channel, [0, 0, 4, 4, 2, 2, 6, 6, 1, 1, 5, 5, 3, 3, 7, 7]);
    }

    #[test]
    fn contiguous_the_last_ranges_take_what_equal_ranges_leave() {
        // 18 pages over eight planes: ranges of three.
        let drive = drive(1, 0.75);
        let planes = planes(&state("contiguous", &drive, StripeOrder::Pdwc), &drive);
        assert_eq!(planes, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5]);
    }

    proptest! {
        #[test]
        fn no_plane_holds_more_than_its_share(blocks in 1_u32..40, over_provisioning in 0.001_f64..8.0) {
            let drive = drive(blocks, over_provisioning);
            for layout in Layout::CHOICES {
                let mut held = [0; 8];
                let planes = planes(&state(layout.name, &drive, StripeOrder::Cwdp), &drive);
                planes.iter().for_each(|&plane| held[plane as usize] += 1);
                let share = drive.logical_pages().div_ceil(8);
                prop_assert!(held.iter().all(|&pages| pages <= share), "{}: {held:?}", layout.name);
            }
        }
    }
}
