//! SLC region: the first pages of the drive are in blocks that store one bit per cell, the others
//! beside them in blocks that store as many as the device has. Two page stores, each over a region.

use flashloom::ftl::mapping::page_store::{self, Own, PageStore};
use flashloom::nand::{CellMode, Region};
use flashloom::prelude::*;

params! {
    /// The parameters of this mapping.
    pub struct Params {
        /// Share of the blocks of every plane; half of their pages are spare.
        share: f64 => "share", Kind::Ratio { min: 0.01, max: 0.5 }, Value::Ratio(0.1),
            "More pages are fast, and the others have less spare space.";
        /// Time to program a page there.
        program_ns: Ns => "program_time", Kind::Time { min: 0, max: S }, Value::Time(200 * US), "";
    }
}

static SPEC: PolicySpec = PolicySpec {
    name: "slc-region",
    summary: "a page-level map whose first pages are in blocks with one bit per cell",
    offers: &[PAGE_MAPPING],
    params: Params::PARAMS,
    statistics: &[
        Statistic::count("slc_programs", "Pages programmed in the SLC region."),
        Statistic::count("other_programs", "Pages programmed elsewhere."),
    ],
    ..PolicySpec::BLANK
};

/// The SLC region and the other, each with the pages that it has of the host's.
fn regions(params: &Params, whole: &Space) -> [(Region, u64); 2] {
    let array = &whole.nand;
    let blocks = (f64::from(array.blocks) * params.share).ceil() as u32;
    let (pages, read_ns) = (array.pages.div_ceil(array.bits_per_cell), array.read_ns);
    let cells = CellMode {
        pages,
        read_ns,
        program_ns: params.program_ns,
    };
    let slc = Region::new(0, blocks).with_cells(cells);
    let pages = slc.geometry(&array.geometry()).total_pages() / 2;
    let other = Region::new(blocks, array.blocks - blocks);
    [
        (slc, pages),
        (other, whole.logical_pages.saturating_sub(pages)),
    ]
}

/// The mapping as a policy.
pub fn policy() -> Policy<dyn Mapping> {
    let build = |params: Params, on: &Context<'_>| -> Result<Box<dyn Mapping>, Refusal> {
        let [slc, other] = regions(&params, on.space);
        // Both stores know pages by the host's numbers, whatever they have room for.
        let pages = on.space.logical_pages;
        let [first, second] = [slc.0, other.0].map(|region| {
            let space = &Space::of_region(&on.space.nand, &region, pages);
            PageStore::over(&region, &Context { space, ..*on }, &Own::default())
        });
        Ok(Box::new(SlcRegion {
            stores: [first?, second?],
            split: slc.1,
        }))
    };
    Policy::<dyn Mapping>::new(&SPEC, build).with_profile(|params: Params, site| {
        let regions = regions(&params, site.space);
        for (region, pages) in regions {
            let space = &Space::of_region(&site.space.nand, &region, pages);
            page_store::profile(&Site { space, ..*site }, &Own::default())?;
        }
        Ok(Profile {
            region: Some(regions[0].0),
            ..Profile::default()
        })
    })
}

struct SlcRegion {
    stores: [PageStore; 2],
    split: u64,
}

impl SlcRegion {
    fn of(&mut self, lpn: Lpn) -> &mut PageStore {
        &mut self.stores[usize::from(u64::from(lpn.0) >= self.split)]
    }
}

impl MappingExtras for SlcRegion {}

impl Component for SlcRegion {
    fn figures(&self) -> Vec<Figure> {
        let reports = self.stores.iter().map(PageStore::report);
        let programs = reports.map(|it| Figure::Count(it.host_page_writes + it.page_copies));
        programs.collect()
    }

    fn check(&self) -> Result<(), Violation> {
        self.stores.iter().try_for_each(PageStore::check)
    }
}

impl Mapping for SlcRegion {
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        for write in writes {
            let store = self.of(write.lpn);
            store.place(&[*write]);
            let place = store.placed(0);
            store.on(nand, &mut ()).write(write, place, OpId::DONE);
        }
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool {
        self.of(lpn).read(nand, lpn, mask, OpId::DONE, tag)
    }

    fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.stores.iter().find_map(|store| store.place_of(lpn))
    }

    fn trim(&mut self, _nand: &mut Nand, lpn: Lpn) {
        self.of(lpn).trim(lpn);
    }

    fn report(&self) -> FtlReport {
        self.stores[0].report().and(&self.stores[1].report())
    }

    fn reset_report(&mut self) {
        self.stores.iter_mut().for_each(PageStore::reset_report);
    }

    fn free_blocks(&self) -> u64 {
        self.stores.iter().map(PageStore::free_blocks).sum()
    }
}
