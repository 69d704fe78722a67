//! Region: pages leave by regions of the address space, which take turns, in ascending order: as ParDispatcher
//! dispatches the requests of the host.
//!
//! ```text
//! region(r) = first page of r / S                   S = region_size; ceil(C / S) regions on a drive of C pages
//! written:  into the next sweep of its region, wherever it was
//! victim:   a turn of the next region with pages, in address order and round the end:
//!             the `batch` lowest pages of the region's sweep, ascending; if nothing is left of that, all pages that
//!             wait in the region are the new sweep
//!           the turn ends with the sweep, or after `batch` pages
//! lost:     a page that is discarded, or leaves out of turn (FUA), leaves its sweep
//! ```
//!
//! The cache scheme for their scheduler that Wang et al. announce (ParDispatcher, section IV, future work) and do not
//! describe: the rules are those of `host.scheduler = "pardispatcher"`, section II, with pages in place of requests.
//! - A turn is one victim. `buffer.rate` says how many turns are taken at a time.
//! - Pages that come while a region is swept wait for its next sweep, as there, so that what is written again and again
//!   at the end of a sweep does not keep the rest of the region from leaving. A page of the sweep under way that is
//!   written again moves to the next one: it stays for a whole round more. Ordering writes by address with a second
//!   chance is WOW (Gill and Modha, FAST 2005), for one region.
//! - A buffer holds writes only, so that a region has one direction and no turn in the other.
//! - There are no deadlines: a page in the buffer has completed, and nobody waits for it. A page that is not written
//!   again leaves with the next sweep of its region at the latest.
//!
//! O(1) an operation; a sweep costs the sorting of its pages, once. Memory: 16 bytes a page, 16 a region.

use flashloom_units::{Divisor, GIB, IndexSet, MIB, Refusal, format_size};

use super::prelude::*;

params! {
    /// Parameters of the order by regions; the defaults are those of the scheduler.
    pub struct RegionParams {
        /// Size of a region; the last one may be smaller.
        region_size_bytes: u64 => "region_size", Kind::Size { min: MIB, max: 1 << 50 }, Value::Size(4 * GIB),
            "Smaller regions spread consecutive turns wider over the drive; larger ones give longer sorted runs.";
        /// Maximum number of pages in a turn.
        batch: u32 => "batch", Kind::Count { min: 1, max: 65_536 }, Value::Count(8),
            "Longer turns write longer sorted runs; shorter ones leave more in the buffer to be written again.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "region",
    summary: "evicts pages by regions that take turns, each in ascending order, as the scheduler pardispatcher",
    details: "A victim is a turn: up to `batch` pages of one region in order of address. Pages that are written while \
              their region is swept wait for its next sweep. Regions and batches are chosen apart from those of \
              `host.pardispatcher`, whose defaults they share.",
    source: "Wang, Huang, He, Zhou, Li, He: A Novel I/O Scheduler for SSD with Improved Performance and Lifetime, \
             section IV (announced there), by the rules of section II",
    example: "buffer.order=region buffer.region.region_size=64MiB ftl.mapping=bast workload.synthetic.pattern=zipf",
    instead: "It looks at addresses before time: `page-lru` keeps more of the pages that are written again. Where the \
              pages of a block are to leave together whatever their number, `block-lru` does that.",
    offers: &[Capability::SAVED_STATE],
    params: RegionParams::PARAMS,
    statistics: &[
        Statistic::count("turns", "Turns of regions, each one victim."),
        Statistic::count("sweeps", "Sweeps begun, each through all pages that a region had then."),
    ],
    ..PolicySpec::BLANK
};

/// Maximum number of regions: finer division helps no drive and only takes memory.
const MAX_REGIONS: u64 = 1 << 20;

pub(super) struct Region {
    batch: u32,
    region_pages: Divisor,
    /// Number of regions.
    regions: u32,
    /// Two lists a region: the pages that wait for its next sweep, and those left of the one under way, ascending.
    pages: Lists<SlotId>,
    lpns: Vec<Lpn>,
    /// Regions with pages.
    pending: IndexSet,
    /// Region from which the round looks for its next one.
    round_at: u32,
    turns: u64,
    sweeps: u64,
    /// The pages of a sweep that begins.
    sorting: Vec<SlotId>,
}

flashloom_units::state! {
    Region {
        nested pages, lpns, pending;
        value turns, sweeps;
        below round_at [*regions + 1];
        scratch sorting;
        fixed batch, region_pages, regions;
    }
}

impl Region {
    /// Makes empty lists for all regions of the drive.
    ///
    /// # Errors
    /// The region size is not a multiple of the page size, or makes too many regions.
    pub(super) fn new(params: RegionParams, on: &OrderSetup) -> Result<Self, Refusal> {
        let RegionParams { region_size_bytes, batch } = params;
        let regions = regions(region_size_bytes, on)?;
        // A region that is larger than the drive is the whole of it.
        let region_pages = (region_size_bytes / on.page_bytes).min(u64::from(on.logical_pages.max(1))) as u32;
        Ok(Self {
            batch,
            region_pages: Divisor::new(region_pages),
            regions,
            pages: Lists::new(on.pages, LISTS * regions),
            lpns: vec![Lpn::NONE; on.pages as usize],
            pending: IndexSet::new(regions),
            round_at: 0,
            turns: 0,
            sweeps: 0,
            sorting: Vec::with_capacity(on.pages as usize),
        })
    }

    fn region_of(&self, lpn: Lpn) -> u32 {
        self.region_pages.quotient(lpn.0)
    }

    fn is_empty(&self, region: u32) -> bool {
        self.pages.is_empty(waiting(region)) && self.pages.is_empty(sweep(region))
    }

    /// The next region with pages after the last one that had a turn.
    fn next_of_round(&mut self) -> Option<u32> {
        let region = self.pending.at_or_after(self.round_at).or_else(|| self.pending.at_or_after(0))?;
        self.round_at = region + 1;
        Some(region)
    }

    /// Makes the pages that wait in a region its sweep.
    fn begin_sweep(&mut self, region: u32) {
        self.sorting.extend(std::iter::from_fn(|| self.pages.pop_front(waiting(region))));
        self.sorting.sort_unstable_by_key(|slot| self.lpns[slot.at()]);
        for slot in self.sorting.drain(..) {
            self.pages.push_back(sweep(region), slot);
        }
        self.sweeps += 1;
    }
}

/// Number of lists of a region.
const LISTS: u32 = 2;

/// List of the pages that wait for a region's next sweep.
fn waiting(region: u32) -> usize {
    (LISTS * region) as usize
}

/// List of the pages that are left of a region's sweep.
fn sweep(region: u32) -> usize {
    waiting(region) + 1
}

/// Checks the parameters against a drive before a run.
pub(super) fn check(params: RegionParams, on: &OrderSetup) -> Result<(), Refusal> {
    regions(params.region_size_bytes, on).map(drop)
}

/// Number of regions of a drive.
///
/// # Errors
/// The region size is not a multiple of the page size, or makes too many regions.
fn regions(region_size_bytes: u64, on: &OrderSetup) -> Result<u32, Refusal> {
    let found = format!("region_size is {}", format_size(region_size_bytes));
    let refuse = |found, expected| Refusal::new(found, expected).at(["buffer.region.region_size", "buffer.order"]);
    if !region_size_bytes.is_multiple_of(on.page_bytes) {
        return Err(refuse(found, format!("a multiple of the page size, {}", format_size(on.page_bytes))));
    }
    let regions = u64::from(on.logical_pages).div_ceil(region_size_bytes / on.page_bytes).max(1);
    if regions > MAX_REGIONS {
        let found = format!("{found}, which divides the drive into {regions} regions");
        return Err(refuse(found, format!("at most {MAX_REGIONS} regions")));
    }
    Ok(regions as u32)
}

flashloom_units::component! { Region: turns, sweeps }

impl Order for Region {
    fn inserted(&mut self, slot: SlotId, lpn: Lpn) {
        let region = self.region_of(lpn);
        self.lpns[slot.at()] = lpn;
        self.pages.push_back(waiting(region), slot);
        self.pending.insert(region);
    }

    fn touched(&mut self, slot: SlotId, lpn: Lpn) {
        self.pages.remove(slot);
        self.pages.push_back(waiting(self.region_of(lpn)), slot);
    }

    fn removed(&mut self, slot: SlotId, lpn: Lpn) {
        let region = self.region_of(lpn);
        self.pages.remove(slot);
        if self.is_empty(region) {
            self.pending.remove(region);
        }
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        let Some(region) = self.next_of_round() else { return };
        if self.pages.is_empty(sweep(region)) {
            self.begin_sweep(region);
        }
        let lowest = std::iter::from_fn(|| self.pages.pop_front(sweep(region)));
        pages.extend(lowest.take(self.batch as usize));
        if self.is_empty(region) {
            self.pending.remove(region);
        }
        self.turns += 1;
    }

    fn check_dirty(&self, dirty: u32) -> Result<(), Violation> {
        let mut listed = 0;
        for region in 0..self.regions {
            let before = listed;
            let lpns = |list| self.pages.iter(list).map(|slot| self.lpns[slot.at()]);
            for lpn in lpns(waiting(region)).chain(lpns(sweep(region))) {
                listed += 1;
                let is_own = self.region_of(lpn) == region;
                ensure!(is_own, "region: page {} is listed in region {region}, which is not its own", lpn.0);
            }
            ensure!(lpns(sweep(region)).is_sorted(), "region: the sweep of region {region} does not ascend");
            let pages = listed - before;
            let is_known = self.pending.contains(region) == (pages > 0);
            ensure!(is_known, "region: region {region} has {pages} pages, unknown to the round");
        }
        ensure!(listed == dirty, "region: {listed} pages in lists, but {dirty} are dirty");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flashloom_units::Parameters;

    use super::*;
    use crate::order::model::{Naive, SETUP, assert_same_victims};

    /// The pages by region: each with the sweep that it leaves in, counted from the one under way.
    struct Regions {
        pages: Vec<Vec<(u32, bool)>>,
        size: u32,
        batch: usize,
        last: Option<usize>,
        turns_and_sweeps: [u64; 2],
    }

    impl Regions {
        fn new(size: u32, batch: usize) -> Self {
            let regions = SETUP.logical_pages.div_ceil(size) as usize;
            Self { pages: vec![Vec::new(); regions], size, batch, last: None, turns_and_sweeps: [0; 2] }
        }
    }

    impl Naive for Regions {
        fn written(&mut self, lpn: u32, _is_new: bool) {
            self.removed(lpn);
            self.pages[(lpn / self.size) as usize].push((lpn, false));
        }

        fn removed(&mut self, lpn: u32) {
            self.pages[(lpn / self.size) as usize].retain(|&(page, _)| page != lpn);
        }

        fn victim(&mut self) -> Vec<u32> {
            let after = (0..self.pages.len()).filter(|&region| self.last.is_none_or(|last| region > last));
            let mut round = after.chain(0..self.pages.len());
            let Some(region) = round.find(|&region| !self.pages[region].is_empty()) else { return Vec::new() };
            self.last = Some(region);
            self.turns_and_sweeps[0] += 1;
            let pages = &mut self.pages[region];
            pages.sort();
            if pages.iter().all(|&(_, is_swept)| !is_swept) {
                pages.iter_mut().for_each(|(_, is_swept)| *is_swept = true);
                self.turns_and_sweeps[1] += 1;
            }
            let turn: Vec<u32> = pages.iter().filter(|(_, is_swept)| *is_swept).map(|(lpn, _)| *lpn).collect();
            let turn = &turn[..turn.len().min(self.batch)];
            pages.retain(|(lpn, _)| !turn.contains(lpn));
            turn.to_vec()
        }

        fn counts(&self) -> Vec<u64> {
            self.turns_and_sweeps.to_vec()
        }
    }

    /// A region size in pages of the model.
    fn sized(pages: u32, batch: u64) -> [(&'static str, Value); 2] {
        [("region_size", Value::Size(u64::from(pages) * SETUP.page_bytes)), ("batch", Value::Count(batch))]
    }

    #[test]
    fn victims_are_those_of_a_sorted_list() {
        for (size, batch) in [(1, 1), (5, 3), (8, 1), (16, 8), (16, 100), (48, 4), (1_000, 8)] {
            assert_same_victims("region", &sized(size, batch), Regions::new(size, batch as usize));
        }
    }

    #[test]
    fn a_region_size_that_cannot_be_is_refused() {
        let new = |size, pages| {
            let on = OrderSetup { page_bytes: 3 * MIB, logical_pages: pages, ..SETUP };
            let values = SPEC.values(&[("region_size", Value::Size(size))]).unwrap();
            Region::new(Parameters::of(&values), &on).map(drop).map_err(|refusal| (refusal.found, refusal.keys))
        };
        assert!(new(3 * MIB, 1 << 20).is_ok());
        let keys = ["buffer.region.region_size", "buffer.order"].map(str::to_owned).to_vec();
        assert_eq!(new(4 * MIB, 9), Err(("region_size is 4MiB".to_owned(), keys.clone())));
        let found = "region_size is 3MiB, which divides the drive into 1048577 regions".to_owned();
        assert_eq!(new(3 * MIB, (1 << 20) + 1), Err((found, keys)));
    }
}
