//! The page store: pages anywhere on the drive, found through a map; what every page-mapped FTL stands on.
//!
//! ```text
//! write:      plane = allocation's choice, or the next of the stripe that has room
//!             page  = next page of the plane's open block of that lane; when it is full, collect until two blocks are
//!                     free, then open the one that wear levelling prefers
//!             while less than gc_threshold blocks are free, go on with the plane's collection, at its pace
//! collect:    victim = collection's choice; copy its valid pages to the plane's open block for survivors; erase
//! pace:       a victim with v of b pages valid costs v copies and an erase and gains b - v pages, so every page that
//!             is written pays for (v + 1) / (b - v) steps: free space then holds its level
//! idle:       one step of a collection in a plane with less than background_threshold free blocks
//! ```
//!
//! A collection is a job that goes on a step at a time, whoever pays for the step. Two free blocks before one is opened
//! leave a block for the collector, and a job needs at most one: all pages of a victim go to one lane, or to two that
//! stand in for each other. So it can always be brought to its end. Where collected pages share the host's block that
//! does not hold for a job that is left half done, because the host may fill the block meanwhile: there a collection
//! runs to its end at once. A page may be placed in a plane only while its valid pages leave room for the blocks that
//! collection and the open lanes need, so a victim with a dead page always exists. Blocks of a map that lies on flash
//! are won back on the side (`map_block`). O(1) a page besides collection.
//!
//! What the host waits for. With `preemption = "page"` a page that is written pays for `ceil((v + 1) / (b - v))` steps,
//! and its program waits for no more of them; a read waits for the one that its die is at, at most an erase. With
//! `preemption = "none"` a collection that a write begins, or finds half done, runs to its end at once and nothing of
//! the host goes before it on its die: a request waits for the collections of the pages that were written to its die
//! just before, each at most `(b - 1) C_copy + C_erase`, as KAST has it for merges.
//!
//! Pages are numbered as the mapping above likes: the host's by their logical number, its own (translation pages) above
//! them. Memory: 8 bytes a page (both directions of the map) and one bit; a byte a block, and four more where reads are
//! counted.
//!
//! With superblocks (`crate::superblock`) what is called plane and block here is a die and its superblock; a step
//! copies what fills a superpage, and is paid for by a superpage.

mod collect;
mod failure;
mod frontier;
mod heat;
mod loaded;
mod map_block;
mod pace;
mod profile;
mod rows;
#[cfg(test)]
mod tests;
mod valid_pages;
mod wear;

use flashloom_nand::{BlockId, Data, Geometry, Lpn, Nand, OpId, Origin, PlaneId, Ppn, Program, Read, Status, Urgency};
use flashloom_units::{Refusal, prefetch};

pub use profile::{Own, profile};

use collect::Job;
use frontier::Frontier;
use heat::Heat;
use pace::Openings;
use profile::of_collection;
use valid_pages::ValidPages;

use super::{Context, FtlFigures};
use crate::allocation::{self, Allocation, Place, WantedStreams, stripe};
use crate::blocks::{BlockState, Blocks};
use crate::collection::{self, Collection};
use crate::lane::{Lane, Lanes};
use crate::superblock::{Superblocks, units};
use crate::{FtlReport, GcPace, HotCold, PageWrite, Preemption, WearLevelling, params};

/// How far ahead of the pages that are programmed their entries of the reverse map are fetched: a cache line. Each
/// plane fills two blocks at a time, which are too many streams for the processor to tell.
const REVERSE_AHEAD: usize = 16;

/// A map that is not all in memory, and has to know which pages collections move.
pub trait CollectionListener {
    /// A job is about to move the valid pages of a block ([`PageStore::valid_pages`]). What has to be in memory by then
    /// can be kept there, or read ([`PageStore::array_ppn`]); nothing can be written yet.
    fn begins(&mut self, _nand: &mut Nand, _store: &PageStore, _victim: BlockId) {}

    /// A page was moved by the job of a plane.
    fn moved(&mut self, plane: PlaneId, lpn: Lpn);

    /// The job of a plane that moved pages of data has ended.
    fn ended(&mut self, plane: PlaneId);
}

/// A map that is all in memory is that of the store itself.
impl CollectionListener for () {
    fn moved(&mut self, _plane: PlaneId, _lpn: Lpn) {}
    fn ended(&mut self, _plane: PlaneId) {}
}

/// Pages anywhere on the drive, and the map that finds them.
pub struct PageStore {
    /// Planes, blocks and pages as the store numbers them, and which of the array they are.
    geometry: Geometry,
    superblocks: Superblocks,
    map: Vec<Ppn>,
    reverse: Vec<Lpn>,
    mapped: u64,
    blocks: Blocks,
    valid: ValidPages,
    frontiers: Vec<[Frontier; Lane::ENTRIES]>,
    /// The superblock of each plane that was erased last: while its erase has not ended its programs wait, and all that
    /// is written to the plane behind them. None where superblocks are blocks.
    erased: Vec<BlockId>,
    lanes: Lanes,
    /// The lane that each block was opened for last.
    opened_for: Vec<Lane>,
    jobs: Vec<Option<Job>>,
    /// What is won back of the map in each plane.
    map_jobs: Vec<Option<Job>>,
    openings: Vec<Openings>,
    allocation: Box<dyn Allocation>,
    collection: Box<dyn Collection>,
    /// The next plane to try when one has no room.
    after: Vec<PlaneId>,
    /// Valid pages that each plane may hold; below zero where too many blocks failed for it to hold any.
    room: Vec<i64>,
    /// Free blocks before the host opens one.
    free_to_open: u32,
    gc_threshold: u32,
    background_threshold: u32,
    /// Whether a collection can be left half done while the host writes.
    is_paced: bool,
    /// Whether all survivors of a block go to one lane, by copies of one page that do not fail: then those that have
    /// been paid for can be copied in a row.
    copies_in_a_row: bool,
    /// Whether what has to be done is spread over the pages until it has to be done.
    paces_by_deadline: bool,
    /// Whether there are blocks of a map, which the collection policy does not know of.
    has_map_apart: bool,
    foreground: Urgency,
    /// The plane whose turn it is in the background.
    background: u32,
    heat: Option<Heat>,
    spreading: Option<collect::Spreading>,
    levelling: Option<wear::Levelling>,
    places: Vec<Place>,
    /// Whether blocks can fail, which of those that did hold pages that have to leave, and whether there was once
    /// nowhere to go.
    can_fail: bool,
    evacuations: Vec<BlockId>,
    is_worn_out: bool,
    report: FtlReport,
}

flashloom_units::state! {
    PageStore {
        nested superblocks;
        ids map [geometry.total_pages()], reverse [map.len()];
        nested blocks, valid, room, heat, spreading, levelling, report;
        array frontiers, erased, opened_for, jobs, map_jobs, openings;
        value mapped, is_worn_out;
        below background [geometry.total_planes()];
        list evacuations [geometry.total_blocks()];
        policy allocation, collection;
        fixed places, geometry, lanes, after, free_to_open, gc_threshold, background_threshold, is_paced,
            copies_in_a_row, paces_by_deadline, has_map_apart, foreground, can_fail;
    }
}

impl PageStore {
    /// A store for the host's pages and those of the mapping.
    pub fn new(on: &Context<'_>, own: &Own) -> Result<Self, Refusal> {
        let Context { space, ftl, nand } = *on;
        let params = &ftl.params;
        let geometry = units(nand.geometry(), params.superblock);
        let superblocks = Superblocks::new(nand, params.superblock);
        let site = collection::Setup { geometry: &geometry, prng: &ftl.prng };
        let planes = geometry.total_planes() as usize;
        let order = stripe(&geometry, params.stripe_order);
        let mut after = vec![PlaneId(0); planes];
        (0..planes).for_each(|index| after[order[index].at()] = order[(index + 1) % planes]);
        let allocation::Profile { demands, .. } = ftl.allocation_profile(space)?;
        let lanes = own.lanes(params, demands);
        let blocks = Blocks::new(geometry, params.wear_levelling, |block| superblocks.is_bad(nand, block));
        let free_to_open = params::free_to_open(&space.nand);
        let gc_threshold = params.collects_below(&space.nand);
        let kept = i64::from(gc_threshold + Lane::BASE);
        let room = |plane| (i64::from(blocks.usable_in(PlaneId(plane))) - kept) * i64::from(geometry.pages);
        Ok(Self {
            copies_in_a_row: params.hot_cold == HotCold::None && superblocks.width() == 1 && !nand.can_fail(),
            geometry,
            superblocks,
            map: vec![Ppn::NONE; (space.logical_pages + own.pages) as usize],
            reverse: vec![Lpn::NONE; geometry.total_pages() as usize],
            mapped: 0,
            room: (0..geometry.total_planes()).map(room).collect(),
            blocks,
            valid: ValidPages::new(&geometry),
            frontiers: vec![[Frontier::none(&geometry); Lane::ENTRIES]; planes],
            erased: vec![BlockId::NONE; planes],
            opened_for: vec![Lane::Host; geometry.total_blocks() as usize],
            jobs: vec![None; planes],
            map_jobs: vec![None; planes],
            openings: vec![Openings::default(); planes],
            collection: ftl.collection.build(&site).map_err(of_collection)?,
            free_to_open,
            gc_threshold,
            background_threshold: params.background_threshold,
            is_paced: lanes.survivors(Lane::Host) != Lane::Host && params.preemption == Preemption::Page,
            has_map_apart: params.gc_pace == GcPace::Deadline && lanes.has(Lane::Map),
            lanes,
            paces_by_deadline: params.gc_pace == GcPace::Deadline,
            foreground: match params.preemption {
                Preemption::None => Urgency::Blocking,
                Preemption::Page => Urgency::Needed,
            },
            background: 0,
            heat: Heat::new(params, space.logical_pages),
            spreading: demands.spread_reads.map(|reads| collect::Spreading::new(&geometry, reads)),
            levelling: (params.wear_levelling == WearLevelling::Static)
                .then(|| wear::Levelling::new(planes, params.wear_threshold)),
            allocation: ftl.build_allocation(space)?,
            after,
            places: Vec::new(),
            can_fail: nand.can_fail(),
            evacuations: Vec::new(),
            is_worn_out: false,
            report: FtlReport::default(),
        })
    }

    /// Has the allocation place pages that are written together; [`Self::placed`] returns the places.
    #[inline]
    pub fn place(&mut self, writes: &[PageWrite]) {
        self.collection.written(writes.len() as u32);
        self.places.clear();
        self.allocation.place(writes, self.report.page_copies, &mut self.places);
    }

    /// The place of one of the pages that were placed last, by its index among them.
    #[inline]
    pub fn placed(&self, index: usize) -> Place {
        self.places[index]
    }

    /// The streams that the allocation wants written together.
    pub fn wanted_streams(&self) -> Option<WantedStreams> {
        self.allocation.wanted_streams()
    }

    /// Writes a page of the host; reads of what is beneath it, and its program, start after `after`. Refused where the
    /// drive is worn out.
    #[inline]
    pub fn write(
        &mut self,
        nand: &mut Nand,
        write: &PageWrite,
        mut place: Place,
        mut after: OpId,
        listener: &mut impl CollectionListener,
    ) {
        if let Some(heat) = &mut self.heat
            && heat.is_hot(write.lpn)
            && place.lane == Lane::Host
        {
            place.lane = Lane::Hot;
        }
        let refuse = |nand: &mut Nand| nand.refuse(write.given().lpn, write.mask, write.tag);
        let Some((mut block, mut page)) = self.reserve(nand, place, listener) else { return refuse(nand) };
        let beneath = self.geometry.full_mask() & !write.mask;
        let mut base = Ppn::NONE;
        loop {
            // Looked up only now: the collection that made room may have moved the page.
            let old = self.map[write.lpn.at()];
            if beneath != 0 && old != base {
                self.report.read_modify_writes += u64::from(base.is_none());
                let from = self.superblocks.ppn(old);
                after = nand.read(Read { after, ..Read::new(from, beneath, Origin::Host) });
                base = old;
            }
            let data = Data::Host { page: write.given(), base: self.superblocks.ppn(base) };
            let program = Program { after, tag: write.tag, ..Program::new(block, page, data, Origin::Host) };
            match self.program(nand, program) {
                Status::Passed => break,
                Status::Failed(operation) => after = operation,
            }
            let Some(next) = self.reserve_again(nand, place, block, listener) else { return refuse(nand) };
            (block, page) = next;
        }
        self.report.host_page_writes += 1;
        self.bind(write.lpn, block, page);
    }

    /// Reads sectors of a page for the host, after `after`; false if nothing is mapped there.
    pub fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, after: OpId, tag: u32) -> bool {
        let ppn = self.map[lpn.at()];
        if ppn.is_some() {
            self.report.host_page_reads += 1;
            if let Some(spreading) = &mut self.spreading {
                spreading.count(self.geometry.block_of(ppn));
            }
            nand.read(Read { lpn, after, tag, ..Read::new(self.superblocks.ppn(ppn), mask, Origin::Host) });
        }
        ppn.is_some()
    }

    /// Programs a page that was reserved; its block and page are as the store numbers them.
    #[inline]
    pub fn program(&self, nand: &mut Nand, program: Program) -> Status {
        let (block, page) = self.superblocks.page(program.block, program.page);
        nand.program(Program { block, page, ..program })
    }

    /// Takes the next page of a lane for a page that is about to be programmed and bound; none once the drive is worn
    /// out.
    #[inline(always)]
    pub fn reserve(
        &mut self,
        nand: &mut Nand,
        place: Place,
        listener: &mut impl CollectionListener,
    ) -> Option<(BlockId, u32)> {
        // Nearly always the open block of the plane has a page left.
        let Place { plane, lane } = place;
        if self.evacuations.is_empty() && self.has_room(plane, lane) {
            if !self.is_full(plane, lane) && self.is_to_pay(plane, lane) {
                self.pay(nand, plane, listener);
            }
            if let Some(page) = self.take_left(plane, lane) {
                return Some(page);
            }
        }
        self.reserve_anew(nand, place, listener)
    }

    /// The same where a block has to be opened, or another plane found.
    #[cold]
    fn reserve_anew(
        &mut self,
        nand: &mut Nand,
        place: Place,
        listener: &mut impl CollectionListener,
    ) -> Option<(BlockId, u32)> {
        let Place { mut plane, lane } = place;
        loop {
            if self.can_fail {
                self.evacuate(nand, listener);
            }
            plane = self.plane_with_room(plane, lane)?;
            if self.make_page(nand, plane, lane, listener) {
                return Some(self.take(plane, lane));
            }
        }
    }

    /// The plane itself or the first after it that has room for a page of a lane.
    fn plane_with_room(&mut self, first: PlaneId, lane: Lane) -> Option<PlaneId> {
        let mut plane = first;
        while !self.has_room(plane, lane) {
            plane = self.after[plane.at()];
            if plane == first {
                self.wear_out();
                return None;
            }
        }
        Some(plane)
    }

    /// Makes sure that the open block of a lane has a page left, in a plane with room; false if failures have changed
    /// what there is to choose from.
    fn make_page(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        lane: Lane,
        listener: &mut impl CollectionListener,
    ) -> bool {
        loop {
            // Collected pages may share the block and fill it again, so this may take more than one round.
            while self.is_full(plane, lane) {
                if lane == Lane::Map && self.make_page_for_map(nand, plane, listener) {
                    continue;
                }
                if self.can_open(plane) {
                    self.open(plane, lane);
                    if lane == Lane::Map {
                        self.choose_map_victim(nand, plane, listener);
                    }
                    continue;
                }
                self.collect(nand, plane, listener);
                // A collection may have opened a lane, or have met failures.
                if !self.has_room(plane, lane) {
                    return false;
                }
            }
            if self.is_to_pay(plane, lane) {
                self.pay(nand, plane, listener);
            }
            if !self.is_full(plane, lane) {
                return true;
            }
        }
    }

    /// A programmed page is the copy of its address from now on; the one before it is dead.
    #[inline(always)] // Once for every page that is written.
    pub fn bind(&mut self, lpn: Lpn, block: BlockId, page: u32) {
        let old = self.map[lpn.at()];
        if old.is_some() {
            self.kill(old);
        } else {
            self.mapped += 1;
        }
        self.point(lpn, block, page);
    }

    #[inline(always)] // Once for every page that is written.
    fn point(&mut self, lpn: Lpn, block: BlockId, page: u32) {
        let ppn = self.geometry.page(block, page);
        self.map[lpn.at()] = ppn;
        prefetch(&self.reverse, ppn.at() + REVERSE_AHEAD);
        self.reverse[ppn.at()] = lpn;
        self.valid.insert(self.geometry.plane_of(block), ppn);
        self.blocks.gained(block);
    }

    /// A page holds nothing any more that is mapped; how many valid ones its block has left.
    #[inline]
    fn invalidate(&mut self, block: BlockId, ppn: Ppn) -> u32 {
        self.valid.remove(self.geometry.plane_of(block), ppn);
        self.blocks.lost(block)
    }

    /// A page is dead: its block may become a better victim.
    #[inline(always)] // As above.
    fn kill(&mut self, ppn: Ppn) {
        let block = self.geometry.block_of(ppn);
        let left = self.invalidate(block, ppn);
        let is_of_map = self.has_map_apart && self.opened_for[block.at()] == Lane::Map;
        if self.blocks.state(block) == BlockState::Closed && !is_of_map {
            self.collection.invalidated(block, left);
        }
    }

    /// Forgets a page of the host, if there is one.
    pub fn trim(&mut self, lpn: Lpn) {
        let ppn = std::mem::replace(&mut self.map[lpn.at()], Ppn::NONE);
        if ppn.is_some() {
            self.kill(ppn);
            self.mapped -= 1;
            self.report.trimmed_pages += 1;
        }
    }
}

/// What the mapping above asks for on behalf of the drive.
impl PageStore {
    /// Planes, blocks and pages as the store numbers them.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Where a page is, as the store numbers pages.
    pub fn ppn(&self, lpn: Lpn) -> Ppn {
        self.map[lpn.at()]
    }

    /// Where a page is in the array.
    pub fn array_ppn(&self, lpn: Lpn) -> Ppn {
        self.superblocks.ppn(self.map[lpn.at()])
    }

    /// The logical pages that are valid in a block.
    pub fn valid_pages(&self, block: BlockId) -> impl Iterator<Item = Lpn> {
        let next = move |from| self.valid.next(&self.geometry, block, from);
        let indices = std::iter::successors(next(0), move |&index| next(index + 1));
        indices.map(move |index| self.reverse[self.geometry.page(block, index).at()])
    }

    /// Where the pages of a range are, as the store numbers pages.
    pub fn ppns(&self, range: std::ops::Range<usize>) -> &[Ppn] {
        &self.map[range]
    }

    /// A hint that a page is about to be looked up: its part of the map can be fetched into the processor's cache.
    pub fn prepare(&self, lpn: Lpn) {
        prefetch(&self.map, lpn.at());
    }

    /// A hint that a page is about to be written whose part of the map is in the cache: what is known of its old copy
    /// can be fetched too.
    pub fn prepare_old(&self, lpn: Lpn) {
        let old = self.map[lpn.at()];
        if old.is_some() {
            self.valid.prepare(old);
            self.blocks.prepare(self.geometry.block_of(old));
        }
    }

    /// The counters, from the last reset.
    pub fn report(&self) -> FtlReport {
        let mut report = self.report.clone();
        report.streams = self.allocation.streams();
        report.hot_page_writes = self.heat.as_ref().map(Heat::hot_writes);
        let retired = self.blocks.retired().times(self.superblocks.width());
        report.retired = (self.can_fail || retired.factory > 0).then_some(retired);
        report.wear_moves = self.levelling.as_ref().map(wear::Levelling::moves);
        if let (Some(streams), Some(spreading)) = (&mut report.streams, &self.spreading) {
            streams.spread_pages = spreading.pages();
        }
        report
    }

    /// Starts the counters again at zero; wear is kept.
    pub fn reset_report(&mut self) {
        self.report = FtlReport::default();
        self.allocation.reset_report();
        self.heat.iter_mut().for_each(Heat::reset);
        self.levelling.iter_mut().for_each(wear::Levelling::reset);
        self.spreading.iter_mut().for_each(collect::Spreading::reset);
    }

    /// Free blocks of the whole drive.
    pub fn free_blocks(&self) -> u64 {
        self.blocks.total_free() * u64::from(self.superblocks.width())
    }

    /// Whether a page could not be stored, because too many blocks have gone bad.
    pub fn is_worn_out(&self) -> bool {
        self.is_worn_out
    }

    /// The figures of the allocation and of the collection policy.
    pub fn figures(&self) -> FtlFigures {
        let (allocation, collection) = (self.allocation.figures(), self.collection.figures());
        FtlFigures { allocation, collection, ..FtlFigures::default() }
    }

    /// Valid pages = mapped pages, and every mapped page is the valid copy of its address.
    pub fn check(&self) -> Result<(), String> {
        let valid = self.blocks.total_valid();
        if valid != self.mapped {
            return Err(format!("page map: {valid} valid pages, but {} mapped ones", self.mapped));
        }
        let mut mapped = 0;
        for (lpn, ppn) in self.map.iter().enumerate().filter(|(_, ppn)| ppn.is_some()) {
            mapped += 1;
            if self.reverse[ppn.at()].at() != lpn || !self.valid.contains(*ppn) {
                return Err(format!("page map: logical page {lpn} points at page {}, which is not its copy", ppn.0));
            }
        }
        if mapped != self.mapped {
            return Err(format!("page map: {mapped} entries, but {} counted", self.mapped));
        }
        Ok(())
    }
}
