//! Static: the address alone determines the plane (Hu et al., ICS 2011, static allocation).
//!
//! ```text
//! striped:     page lpn goes to stripe[lpn mod planes]
//! contiguous:  the planes form groups of g neighbours in the stripe: one plane, or all planes of region_chips chips;
//!              a group holds g * ceil(logical pages / planes) consecutive pages,
//!              and page lpn goes to the (lpn mod g)th plane of its group
//! ```
//!
//! Striped, a sequential read always finds its pages on different chips, in whatever order they were written; a skewed
//! write load makes some chips busier than others. Contiguous, every group holds one range of the address space, and
//! requests to different groups run in parallel only if their addresses are far apart: the relation between regions and
//! chips on which ParDispatcher (section II-A) speculates. With all chips in one group, contiguous equals striped. No
//! layout gives a plane more than its share of the pages. With superblocks a die takes the place of its planes;
//! striped, it receives a superpage of consecutive pages at a time. O(1) a page.

use flashloom_nand::{Geometry, Lpn, NandParams, PlaneId};
use flashloom_units::{Capability, Kind, PolicySpec, Refusal, Used, Value, choice, params};

use super::stripe::stripe_of_superpages;
use super::{Allocation, AllocationSetup, PagePlace, Profile, Turns};
use crate::PageWrite;
use crate::lane::Lane;

choice! {
    /// Division of the address space among the planes.
    pub enum Layout {
        /// Consecutive pages go to consecutive planes.
        Striped = "striped",
        /// Each plane, or each group of `region_chips` chips, holds one contiguous range of pages.
        Contiguous = "contiguous",
    }
}

params! {
    /// Parameters of the static allocation.
    pub struct StaticParams {
        /// Division of the address space among the planes.
        layout: Layout => "layout", Kind::Choice(Layout::CHOICES), Value::Name("striped"),
            "Striped, neighbouring pages are read at once; contiguous, a plane is kept busy only by its own range of \
            addresses.";
        /// Chips that each contiguous range is striped over, with all their planes. Default: a single plane.
        region_chips: Option<u32> => "region_chips", Kind::Count { min: 1, max: 1 << 16 }, Value::Absent,
            "More chips serve more requests of a range at once, and leave fewer ranges that work independently.",
            Used::with("layout", &["contiguous"]);
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "static",
    summary: "the address determines the plane",
    details: "Striped, page lpn goes to plane lpn mod planes of the stripe (ftl.stripe_order); contiguous, each plane \
              of the stripe, or each group of `region_chips` chips, holds the next range of consecutive pages.",
    source: "Hu et al., ICS 2011, static allocation; ParDispatcher, section II-A, regions that are chips",
    example: "ftl.allocation=static ftl.static.layout=contiguous ftl.static.region_chips=2",
    instead: "Where some addresses are written far more than others, their planes are busy while the rest are idle: \
              `interleave` gives each page to the next plane.",
    offers: &[Capability::SAVED_STATE],
    params: StaticParams::PARAMS,
    ..PolicySpec::BLANK
};

pub(super) struct Static {
    /// All planes, sorted by group; with superblocks, the die of each plane.
    groups: Vec<PlaneId>,
    /// Planes in a group.
    width: usize,
    /// Maximum number of consecutive host pages in a group.
    range: usize,
}

flashloom_units::state! { Static { fixed groups, width, range; } }

impl Static {
    pub(super) fn new(params: StaticParams, on: &AllocationSetup<'_>) -> Self {
        let AllocationSetup { space, geometry, superpage, stripe_order } = *on;
        let mut groups = stripe_of_superpages(&geometry, superpage, stripe_order);
        let chips = (geometry.channels * geometry.ways) as usize;
        let width = match params.layout {
            Layout::Striped => groups.len(),
            Layout::Contiguous => {
                params.region_chips.map_or(superpage as usize, |k| chips.min(k as usize) * groups.len() / chips)
            }
        };
        if let (Layout::Contiguous, Some(region_chips)) = (params.layout, params.region_chips) {
            gather_chips(&mut groups, &geometry, region_chips as usize);
        }
        let range = width * (space.logical_pages as usize).div_ceil(groups.len());
        Self { groups, width, range }
    }

    #[inline]
    fn plane(&self, lpn: Lpn) -> PlaneId {
        self.groups[lpn.at() / self.range * self.width + lpn.at() % self.width]
    }
}

/// Refuses ranges that do not divide the chips of the drive, and parameters without effect.
pub(super) fn profile(params: StaticParams, nand: &NandParams) -> Result<Profile, Refusal> {
    let StaticParams { layout, region_chips } = params;
    let Some(region_chips) = region_chips else { return Ok(Profile::default()) };
    let key = "ftl.static.region_chips";
    if layout == Layout::Striped {
        let found = "`region_chips` with `layout` = \"striped\", which puts every range on all chips";
        let refusal = Refusal::new(found, "`layout` = \"contiguous\" in [ftl.static]").at([key, "ftl.static.layout"]);
        return Err(refusal.help(format!("leave {key} out, or change ftl.static.layout")));
    }
    let chips = nand.channels * nand.ways;
    if chips.is_multiple_of(region_chips) {
        return Ok(Profile::default());
    }
    let divisors: Vec<_> = (1..=chips).filter(|k| chips.is_multiple_of(*k)).map(|k| k.to_string()).collect();
    let found = format!("ranges of {region_chips} chips on a drive of {chips} (channels x ways)");
    let refusal = Refusal::new(found, "a number that divides the chips of the drive");
    let refusal = refusal.at([key, "device.ways", "device.channels", "device.preset"]);
    Err(refusal.help(format!("one of {}", divisors.join(", "))))
}

/// Groups the planes by chips, which are in the order in which the stripe first visits them. Within a group the planes
/// keep their order in the stripe.
fn gather_chips(stripe: &mut [PlaneId], geometry: &Geometry, region_chips: usize) {
    let planes_a_chip = (geometry.dies * geometry.planes) as usize;
    let chip_of = |plane: PlaneId| plane.at() / planes_a_chip;
    let mut visited = vec![None; (geometry.channels * geometry.ways) as usize];
    let mut chips = 0;
    for &plane in stripe.iter() {
        visited[chip_of(plane)].get_or_insert_with(|| {
            chips += 1;
            chips - 1
        });
    }
    stripe.sort_by_key(|&plane| visited[chip_of(plane)].map(|chip: usize| chip / region_chips));
}

flashloom_units::component! { Static }

impl Allocation for Static {
    fn plane_of(&self, lpn: Lpn) -> Option<PlaneId> {
        Some(self.plane(lpn))
    }

    fn place(&mut self, writes: &[PageWrite], _copies: u64, places: &mut Vec<PagePlace>) {
        places.extend(writes.iter().map(|write| PagePlace { plane: self.plane(write.lpn), lane: Lane::HOST }));
    }

    fn layout(&self, pages: u64) -> Option<Vec<Turns>> {
        let range = self.range as u64;
        let groups = self.groups.chunks(self.width).zip((0..pages).step_by(self.range));
        Some(groups.map(|(planes, first)| Turns { planes: planes.to_vec(), pages: range.min(pages - first) }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CapacityParams, FtlParams, Space, StripeOrder, Superblock};
    use flashloom_units::{ParamSet, Parameters};
    use proptest::prelude::*;

    /// Two channels of two chips of two planes, and the host capacity of this array.
    fn drive(blocks: u32, over_provisioning: f64) -> Space {
        let shape = NandParams { channels: 2, ways: 2, dies: 1, planes: 2, ..NandParams::defaults() };
        let nand = NandParams { blocks, pages: 4, page_bytes: 512, ..shape };
        Space::new(nand, &CapacityParams::of(over_provisioning))
    }

    const STRIPED: [Value; 2] = [Value::Name("striped"), Value::Absent];
    const CONTIGUOUS: [Value; 2] = [Value::Name("contiguous"), Value::Absent];

    const fn ranges(region_chips: u64) -> [Value; 2] {
        [Value::Name("contiguous"), Value::Count(region_chips)]
    }

    /// The plane of every host page.
    fn planes(values: &[Value], space: &Space, stripe_order: StripeOrder, superblock: Superblock) -> Vec<u32> {
        let params = FtlParams { stripe_order, superblock, ..FtlParams::defaults() };
        let state = Static::new(Parameters::of(values), &AllocationSetup::new(space, &params));
        (0..space.logical_pages as u32).map(|lpn| state.plane(Lpn(lpn)).0).collect()
    }

    /// Chips 0 to 3 have the planes 2c and 2c + 1; channels first, a stripe visits the chips 0, 2, 1, 3. With
    /// superblocks there are four dies, numbered 2 x channel + way, with superpages of two pages.
    #[test]
    fn a_page_is_on_the_plane_that_its_address_says() {
        use StripeOrder::{Cwdp, Pdwc};
        let (none, die) = (Superblock::None, Superblock::Die);
        for (rule, values, order, superblock, expected) in [
            (
                "consecutive pages on consecutive planes",
                STRIPED,
                Pdwc,
                none,
                [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7],
            ),
            ("of the stripe", STRIPED, Cwdp, none, [0, 4, 2, 6, 1, 5, 3, 7, 0, 4, 2, 6, 1, 5, 3, 7]),
            ("each plane has the next range", CONTIGUOUS, Pdwc, none, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]),
            ("of the stripe", CONTIGUOUS, Cwdp, none, [0, 0, 4, 4, 2, 2, 6, 6, 1, 1, 5, 5, 3, 3, 7, 7]),
            (
                "a range over the planes of its chip",
                ranges(1),
                Cwdp,
                none,
                [0, 1, 0, 1, 4, 5, 4, 5, 2, 3, 2, 3, 6, 7, 6, 7],
            ),
            ("of two chips", ranges(2), Cwdp, none, [0, 4, 1, 5, 0, 4, 1, 5, 2, 6, 3, 7, 2, 6, 3, 7]),
            (
                "a die takes the pages of its planes together",
                STRIPED,
                Cwdp,
                die,
                [0, 0, 2, 2, 1, 1, 3, 3, 0, 0, 2, 2, 1, 1, 3, 3],
            ),
            ("and has a range", CONTIGUOUS, Cwdp, die, [0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3]),
            ("of two dies", ranges(2), Cwdp, die, [0, 0, 2, 2, 0, 0, 2, 2, 1, 1, 3, 3, 1, 1, 3, 3]),
        ] {
            assert_eq!(planes(&values, &drive(1, 1.0), order, superblock), expected, "{rule}: {values:?}, {order:?}");
        }
    }

    #[test]
    fn contiguous_the_last_ranges_take_what_equal_ranges_leave() {
        // 18 pages over eight planes: ranges of three.
        let planes = planes(&CONTIGUOUS, &drive(1, 0.75), StripeOrder::Pdwc, Superblock::None);
        assert_eq!(planes, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5]);
    }

    #[test]
    fn a_range_over_all_chips_is_striped() {
        let planes = |values| planes(values, &drive(3, 0.2), StripeOrder::Wcpd, Superblock::None);
        assert_eq!(planes(&ranges(4)), planes(&STRIPED));
    }

    #[test]
    fn chips_of_a_range_divide_those_of_the_drive_and_need_the_contiguous_layout() {
        let drive = drive(1, 1.0);
        let help = |values: &[Value]| profile(Parameters::of(values), &drive.nand).map_err(|refusal| refusal.help);
        let divisors = Err(Some("one of 1, 2, 4".to_owned()));
        assert_eq!((help(&ranges(3)), help(&ranges(8))), (divisors.clone(), divisors));
        let free = Ok(Profile::default());
        assert_eq!((help(&ranges(2)), help(&CONTIGUOUS)), (free.clone(), free));
        let striped = help(&[Value::Name("striped"), Value::Count(2)]).unwrap_err();
        assert!(striped.is_some_and(|help| help.contains("ftl.static.layout")));
    }

    proptest! {
        #[test]
        fn no_plane_holds_more_than_its_share(blocks in 1_u32..40, over_provisioning in 0.001_f64..8.0) {
            let drive = drive(blocks, over_provisioning);
            for values in [STRIPED, CONTIGUOUS, ranges(1), ranges(2), ranges(4)] {
                let mut held = [0; 8];
                let planes = planes(&values, &drive, StripeOrder::Cwdp, Superblock::None);
                planes.iter().for_each(|&plane| held[plane as usize] += 1);
                let share = drive.logical_pages.div_ceil(8);
                prop_assert!(held.iter().all(|&pages| pages <= share), "{values:?}: {held:?}");
            }
        }
    }
}
