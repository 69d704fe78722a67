//! The parts of a page store, and operations that move no page: reads, lookups, statistics.

use flashloom_nand::{BlockId, DieId, Geometry, Lpn, Nand, OpId, Origin, PlaneId, Ppn, Program, Read, Region, Status};
use flashloom_units::{Figure, Figures, Refusal, Violation, ensure};

use super::heat::Heat;
use super::plane::{Frontiers, NO_ROOM, Plane};
use super::profile::{Own, of_collection};
use super::slc_cache::{self, SlcCache};
use super::spreading::Spreading;
use super::strategy::Strategy;
use super::units::Units;
use super::watermarks::Watermarks;
use crate::allocation::{self, Allocation, PagePlace, stripe};
use crate::collection::{self, Collection, CollectionSetup};
use crate::lane::{Lane, Lanes};
use crate::mapping::Context;
use crate::store::superblocks::{Superblocks, units};
use crate::store::{BlockState, Blocks, Pages};
use crate::{FtlReport, PageWrite, SlcReport};

/// The allocation, and the places that it returned last.
pub(super) struct Allocator {
    pub(super) policy: Box<dyn Allocation>,
    pub(super) places: Vec<PagePlace>,
}

/// The collection policy and the state of background collection.
pub(super) struct Collector {
    pub(super) policy: Box<dyn Collection>,
    pub(super) strategy: Strategy,
    /// Plane whose collection takes the next step in the background.
    pub(super) turn: u32,
    pub(super) spreading: Option<Spreading>,
    pub(super) watermarks: Option<Watermarks>,
}

/// Failed blocks, on an array where blocks can fail.
pub(super) struct Failures {
    pub(super) can_fail: bool,
    /// Failed blocks with valid pages that have to be moved out.
    pub(super) evacuations: Vec<BlockId>,
    /// Whether a page once found no place to go.
    pub(super) is_worn_out: bool,
}

/// The page store: host pages on all planes, and the map that finds them. [`Self::on`] makes the cursor that writes.
pub struct PageStore {
    pub(super) pages: Pages,
    pub(super) blocks: Blocks,
    pub(super) planes: Vec<Plane>,
    pub(super) frontiers: Frontiers,
    pub(super) lanes: Lanes,
    /// Lane that each block was last opened for.
    pub(super) opened_for: Vec<Lane>,
    pub(super) allocator: Allocator,
    pub(super) collector: Collector,
    pub(super) heat: Option<Heat>,
    pub(super) failures: Failures,
    pub(super) cache: Option<Box<SlcCache>>,
    /// The pages of the host, if those of the store are units.
    pub(super) units: Option<Units>,
    pub(super) report: FtlReport,
}

impl PageStore {
    /// A store on the whole array, for host pages and the mapping's own pages.
    ///
    /// # Errors
    /// A policy that the store uses cannot be built.
    pub fn new(on: &Context<'_>, own: &Own) -> Result<Self, Refusal> {
        Self::over(&Region::whole(on.nand.geometry()), on, own)
    }

    /// A store on a region of the array, whose space is that of the region ([`Space::of_region`](crate::Space)). Its
    /// numbering, and everything that its policies see, covers the region only.
    ///
    /// # Errors
    /// A policy that the store uses cannot be built.
    pub fn over(region: &Region, on: &Context<'_>, own: &Own) -> Result<Self, Refusal> {
        let Context { space, ftl, nand } = *on;
        let params = &ftl.params;
        let geometry = units(&space.geometry(), params.superblock);
        let superblocks = Superblocks::of_dies(nand, params.superblock, region, space.unit_pages);
        let site = CollectionSetup { geometry: &geometry, prng: &ftl.prng };
        let allocation::Profile { demands, .. } = ftl.allocation_profile(space)?;
        let lanes = own.lanes(params, demands);
        let cells = slc_cache::cells(params, &space.nand, demands)?;
        if cells.is_some() && (cells != nand.other_cells() || *region != Region::whole(nand.geometry())) {
            let found = "an SLC cache over a region of the array, or on one without its cell mode";
            return Err(Refusal::new(found, "a cache over the whole array").at(["ftl.slc_cache"]));
        }
        let mut blocks = Blocks::new(geometry, superblocks, params, nand);
        let strategy = Strategy::new(on, &lanes, &blocks.superblocks);
        let order = stripe(&geometry, params.stripe_order);
        let mut after = order.clone();
        order.iter().zip(order.iter().cycle().skip(1)).for_each(|(plane, &next)| after[plane.at()] = next);
        let kept = i64::from(strategy.threshold + Lane::BASE);
        let cache = SlcCache::new(params, cells, &mut blocks).map(Box::new);
        let kept = |plane| kept + i64::from(cache.as_ref().map_or(0, |cache| cache.kept(plane)));
        let room = |plane| (i64::from(blocks.usable_in(plane)) - kept(plane)) * i64::from(geometry.pages);
        let planes = (0..).map(PlaneId).zip(&after).map(|(plane, &after)| Plane::new(room(plane), after));
        let planes: Vec<_> = planes.collect();
        Ok(Self {
            // Who checks every operation of the array checks every page, too.
            pages: Pages::new(&geometry, space.logical_pages + own.pages, nand.is_watched() || cfg!(debug_assertions)),
            frontiers: Frontiers::new(planes.len(), lanes.entries()),
            planes,
            blocks,
            opened_for: vec![Lane::HOST; geometry.total_blocks() as usize],
            allocator: Allocator { policy: ftl.build_allocation(space)?, places: Vec::new() },
            collector: Collector {
                policy: ftl.collection.build(&site).map_err(of_collection)?,
                strategy,
                turn: 0,
                spreading: demands.spread_reads.map(|reads| Spreading::new(&geometry, reads)),
                watermarks: Watermarks::new(params, geometry.total_blocks()),
            },
            lanes,
            heat: Heat::new(params, space.logical_pages),
            failures: Failures { can_fail: nand.can_fail(), evacuations: Vec::new(), is_worn_out: false },
            cache,
            units: (space.unit_pages > 1).then(|| Units::new(space.unit_pages, space.logical_pages)),
            report: FtlReport::default(),
        })
    }

    /// Asks the allocation for the places of pages that are written together; [`Self::placed`] returns them.
    #[inline]
    pub fn place(&mut self, writes: &[PageWrite]) {
        self.collector.policy.written(writes.len() as u32);
        let Allocator { policy, places } = &mut self.allocator;
        places.clear();
        policy.place(writes, self.report.page_copies, places);
    }

    /// The place of a page in the last call of [`Self::place`], by its index there.
    #[inline]
    pub fn placed(&self, index: usize) -> PagePlace {
        self.allocator.places[index]
    }

    /// The allocation, for what a mapping passes on to it.
    pub fn allocation(&self) -> &dyn Allocation {
        &*self.allocator.policy
    }

    /// The allocation, for what a mapping passes on to it.
    pub fn allocation_mut(&mut self) -> &mut dyn Allocation {
        &mut *self.allocator.policy
    }

    /// Reads sectors of a page of the host after the operation `after`. Returns false if it is not mapped.
    pub fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, after: OpId, tag: u32) -> bool {
        let (stored, place) = self.units.as_ref().map_or((lpn, 0), |units| units.of(lpn));
        let ppn = self.ppn(stored);
        if ppn.is_some() {
            self.report.host_page_reads += 1;
            if let Some(spreading) = &mut self.collector.spreading {
                spreading.count(self.blocks.block_of(ppn));
            }
            nand.read(Read {
                lpn,
                after,
                tag,
                ..Read::new(self.blocks.superblocks.ppn_of_place(ppn, place), mask, Origin::Host)
            });
        }
        ppn.is_some()
    }

    /// Programs a reserved page; block and page are in the store's numbering.
    #[inline]
    pub fn program(&self, nand: &mut Nand, program: Program) -> Status {
        self.blocks.program(nand, program)
    }

    /// Maps an address to a page just programmed; the old copy dies.
    #[inline(always)] // Once for every page that is written.
    pub fn bind(&mut self, lpn: Lpn, block: BlockId, page: u32) {
        let page = self.blocks.page(block, page);
        if let Some(died) = self.pages.bind(lpn, (block, page), &mut self.blocks) {
            self.note_death(died);
        }
    }

    /// The place of a page of the host, which may be hot.
    #[inline(always)]
    pub(super) fn place_of_host(&mut self, lpn: Lpn, place: PagePlace) -> PagePlace {
        if let Some(heat) = &mut self.heat
            && heat.is_hot(lpn)
            && place.lane == Lane::HOST
        {
            return PagePlace { lane: Lane::HOT, ..place };
        }
        place
    }

    /// Tells the collection policy that a page of a candidate has died, and how many valid pages the block has left.
    #[inline(always)] // As above.
    fn note_death(&mut self, (block, left): (BlockId, u32)) {
        if self.blocks.state(block) == BlockState::Closed && !self.is_apart(block) {
            self.collector.policy.invalidated(block, left);
        }
    }

    /// Unmaps a page that the host discards, or its unit once that holds no other.
    pub fn trim(&mut self, lpn: Lpn) {
        let is_trimmed = match &mut self.units {
            None => self.forget(lpn),
            Some(units) => {
                let (is_held, unit) = (units.holds(lpn), units.of(lpn).0);
                if units.drop(lpn) {
                    self.forget(unit);
                }
                is_held
            }
        };
        self.report.trimmed_pages += u64::from(is_trimmed);
    }

    /// Unmaps a page that another store holds now. Returns whether it was mapped.
    #[inline]
    pub fn forget(&mut self, lpn: Lpn) -> bool {
        let died = self.pages.unbind(lpn, &mut self.blocks);
        died.into_iter().for_each(|died| self.note_death(died));
        died.is_some()
    }
}

/// Queries between the parts of the store.
impl PageStore {
    #[inline(always)]
    pub(super) fn plane(&self, plane: PlaneId) -> &Plane {
        &self.planes[plane.at()]
    }

    #[inline(always)]
    pub(super) fn plane_mut(&mut self, plane: PlaneId) -> &mut Plane {
        &mut self.planes[plane.at()]
    }

    /// Whether a block is withheld from the collection policy. Almost no block ever is.
    #[inline(always)]
    pub(super) fn is_apart(&self, block: BlockId) -> bool {
        !self.lanes.apart.is_empty() && self.lanes.apart.has(self.opened_for[block.at()])
    }

    /// Ends all writing: no plane has room any more.
    #[cold]
    pub(super) fn wear_out(&mut self) {
        self.failures.is_worn_out = true;
        self.planes.iter_mut().for_each(|plane| plane.room = NO_ROOM);
    }
}

/// Queries for the mapping.
impl PageStore {
    /// Planes, blocks and pages in the store's numbering.
    pub fn geometry(&self) -> &Geometry {
        &self.blocks.geometry
    }

    /// The page that holds a logical page, in the store's numbering.
    pub fn ppn(&self, lpn: Lpn) -> Ppn {
        self.pages.newest(lpn)
    }

    /// The die that a page would be written to, if the allocation goes by addresses.
    pub fn die_of(&self, lpn: Lpn) -> Option<DieId> {
        self.allocator.policy.plane_of(lpn).map(|plane| self.blocks.geometry.die_of(plane))
    }

    /// The whole map: the page that holds each logical page, in the store's numbering.
    pub fn map(&self) -> &[Ppn] {
        self.pages.map()
    }

    /// The page that holds a logical page, in the array's numbering.
    pub fn array_ppn(&self, lpn: Lpn) -> Ppn {
        self.blocks.in_array(self.ppn(lpn))
    }

    /// Number of valid pages of this space.
    pub fn total_valid(&self) -> u64 {
        self.blocks.total_valid()
    }

    /// The logical pages that are valid in a block.
    pub fn valid_pages(&self, block: BlockId) -> impl Iterator<Item = Lpn> {
        self.pages.of_block(&self.blocks.geometry, block)
    }

    /// The pages that hold a range of logical pages, in the store's numbering.
    pub fn ppns(&self, range: std::ops::Range<usize>) -> &[Ppn] {
        &self.pages.map()[range]
    }

    /// Prefetch hint: the map entry of a page will be looked up soon.
    pub fn prepare(&self, lpn: Lpn) {
        self.pages.prepare(lpn);
    }

    /// Prefetch hint: a page whose map entry has been prefetched will be written soon. Fetches the state of its old
    /// copy.
    pub fn prepare_old(&self, lpn: Lpn) {
        let old = self.ppn(lpn);
        if old.is_some() {
            self.pages.valid.prepare(old);
            self.blocks.prepare(self.blocks.block_of(old));
        }
    }

    /// Number of mapped pages.
    pub fn mapped(&self) -> u64 {
        self.pages.mapped
    }

    /// The counters, from the last reset.
    pub fn report(&self) -> FtlReport {
        FtlReport {
            hot_page_writes: self.heat.as_ref().map(|heat| heat.hot_writes),
            retired: self.blocks.retired_in_array(self.failures.can_fail),
            wear_moves: self.blocks.wear_moves(),
            unit_rewrites: self.units.as_ref().map(|units| units.rewritten),
            slc_cache: self.cache.as_ref().map(|cache| cache.report),
            ..self.report.clone()
        }
    }

    /// Resets the counters. Wear is kept.
    pub fn reset_report(&mut self) {
        self.report = FtlReport::default();
        self.allocator.policy.reset_report();
        self.heat.iter_mut().for_each(|heat| heat.hot_writes = 0);
        self.blocks.reset_wear_moves();
        self.collector.spreading.iter_mut().for_each(|spreading| spreading.pages = 0);
        self.cache.iter_mut().for_each(|cache| cache.report = SlcReport::default());
        self.units.iter_mut().for_each(|units| units.rewritten = 0);
    }

    /// Free blocks of the whole drive.
    pub fn free_blocks(&self) -> u64 {
        self.blocks.free_in_array()
    }

    /// Whether a page could not be stored because too many blocks have gone bad.
    pub fn is_worn_out(&self) -> bool {
        self.failures.is_worn_out
    }

    /// The values of the statistics of the allocation and of the collection policy.
    pub fn figures(&self) -> Figures {
        let spread = Figure::count_or_absent(self.collector.spreading.as_ref().map(|spreading| spreading.pages));
        let placed = std::iter::once(spread).chain(self.allocator.policy.figures()).collect();
        let collected = self.report.collections().into_iter().chain(self.collector.policy.figures()).collect();
        Figures::default().with(&allocation::SLOT, placed).with(&collection::SLOT, collected)
    }

    /// Checks that valid pages equal mapped pages, and that every mapped page that was written since the drive was
    /// filled in closed form is the valid copy of its address. If the run is verified, and in tests, every mapped page.
    ///
    /// # Errors
    /// The first page or counter that is wrong.
    pub fn check(&self) -> Result<(), Violation> {
        let (valid, mapped) = (self.blocks.total_valid(), self.mapped());
        ensure!(valid == mapped, "page map: {valid} valid pages, but {mapped} mapped ones");
        self.pages.check()?;
        self.units.as_ref().map_or(Ok(()), |units| units.check(self.map(), self.pages.checks_all()))?;
        self.check_cache()
    }
}
