//! Page: a full page-level map in memory (the "pure page mapping" of the papers).
//!
//! ```text
//! write lpn:  plane = allocation's choice, or the next of the stripe that has room
//!             page  = next page of the plane's open block; when that is full, collect until two blocks are free, then
//!                     open the one that wear levelling prefers
//!             a partial write first reads the page beneath; then program, map lpn, and the old copy is dead
//!             while less than gc_threshold blocks are free, go on with the plane's collection, at its pace
//! collect:    victim = collection's choice; copy its valid pages to the plane's open block for collected pages; erase
//! pace:       a victim with v of b pages valid costs v copies and an erase and gains b - v pages, so every page that the
//!             host writes pays for (v + 1) / (b - v) steps: free space then holds its level
//! idle:       one step of a collection in a plane with less than background_threshold free blocks
//! ```
//!
//! A collection is a job that goes on a step at a time, whoever pays for the step. Two free blocks before one is opened
//! leave a block for the collector, and a job needs at most one, so it can always be brought to its end. Where collected
//! pages share the host's block that does not hold for a job that is left half done, because the host may fill the block
//! meanwhile: there a collection runs to its end at once. A page may be placed in a plane only while its valid pages
//! leave room for the blocks that collection needs, so a victim with a dead page always exists. O(1) a page besides
//! collection.
//!
//! Memory: 8 bytes a page (both directions of the map) and one bit.

use flashloom_nand::{Data, DeviceParams, Expect, Geometry, Nand, OpId, Origin, Urgency};
use flashloom_units::{BlockId, Lpn, PlaneId, PolicySpec, Ppn, prefetch};

use super::{FtlReport, Mapping};
use crate::allocation::{self, Allocation, Place, stripe};
use crate::blocks::{BlockState, Blocks, OPEN_BLOCKS};
use crate::collection::{self, Collection};
use crate::{FtlSetup, GcBlocks, PageWrite};

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "page",
    summary: "a full page-level map in memory",
    details: "Any page can be anywhere. Takes an allocation (ftl.allocation) and a collection policy (ftl.gc).",
    source: "the page mapping that ParDispatcher, SLAP and CAVE compare with",
    needs: &[],
    params: &[],
    statistics: &[],
};

/// How far ahead of a collection's copies their entries of the map are fetched.
const PREFETCH_PAGES: usize = 12;

/// An open block and the next page to be written in it.
#[derive(Clone, Copy)]
struct Frontier {
    block: BlockId,
    next: u32,
}

/// A collection that has begun.
#[derive(Clone, Copy)]
struct Job {
    victim: BlockId,
    /// Pages below are copied or dead.
    next: u32,
    /// Steps that it takes, and pages that it gains: a page written pays for the quotient.
    steps: u32,
    gain: u32,
    /// What was paid and not yet used, in steps times `gain`.
    paid: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Host,
    Collector,
}

pub(super) struct State {
    geometry: Geometry,
    map: Vec<Ppn>,
    reverse: Vec<Lpn>,
    mapped: u64,
    blocks: Blocks,
    frontiers: Vec<Frontier>,
    jobs: Vec<Option<Job>>,
    allocation: Box<dyn Allocation>,
    collection: Box<dyn Collection>,
    /// The next plane to try when one has no room.
    after: Vec<PlaneId>,
    /// Valid pages that a plane may hold.
    room: u32,
    gc_threshold: u32,
    background_threshold: u32,
    gc_blocks: GcBlocks,
    /// The plane whose turn it is in the background.
    background: u32,
    places: Vec<Place>,
    report: FtlReport,
}

impl State {
    pub(super) fn new(setup: &FtlSetup, device: &DeviceParams, nand: &Nand) -> Self {
        let geometry = *nand.geometry();
        let params = &setup.params;
        let planes = geometry.total_planes() as usize;
        let order = stripe(&geometry, params.stripe_order);
        let mut after = vec![PlaneId(0); planes];
        (0..planes).for_each(|index| after[order[index].at()] = order[(index + 1) % planes]);
        Self {
            geometry,
            map: vec![Ppn::NONE; device.logical_pages() as usize],
            reverse: vec![Lpn::NONE; geometry.total_pages() as usize],
            mapped: 0,
            blocks: Blocks::new(geometry, params.wear_levelling),
            frontiers: vec![Frontier { block: BlockId::NONE, next: geometry.pages }; planes * OPEN_BLOCKS as usize],
            jobs: vec![None; planes],
            allocation: allocation::build(params.allocation, &setup.allocation, &geometry, params.stripe_order),
            collection: collection::build(params.gc, &setup.collection, &geometry),
            after,
            room: (geometry.blocks - params.gc_threshold - OPEN_BLOCKS) * geometry.pages,
            gc_threshold: params.gc_threshold,
            background_threshold: params.background_threshold,
            gc_blocks: params.gc_blocks,
            background: 0,
            places: Vec::new(),
            report: FtlReport::default(),
        }
    }

    fn write_page(&mut self, nand: &mut Nand, write: &PageWrite, place: Place) {
        let mut plane = place.plane;
        while self.blocks.valid_in(plane) >= self.room {
            plane = self.after[plane.at()];
        }
        let (block, page) = self.host_page(nand, plane);
        // Looked up only now: the collection that made room may have moved the page.
        let old = self.map[write.lpn.at()];
        let (mut base, mut after) = (Ppn::NONE, OpId::DONE);
        let beneath = self.geometry.full_mask() & !write.mask;
        if beneath != 0 && old.is_some() {
            self.report.read_modify_writes += 1;
            base = old;
            after = nand.read(old, beneath, Origin::Host, Expect::Anything, Nand::NO_TAG);
        }
        let data = Data::Host { payload: write.payload, mask: write.mask, base };
        nand.program(block, page, Origin::Host, data, after, write.tag);
        self.report.host_page_writes += 1;
        if old.is_some() {
            self.kill(old);
        } else {
            self.mapped += 1;
        }
        self.bind(write.lpn, block, page);
    }

    fn bind(&mut self, lpn: Lpn, block: BlockId, page: u32) {
        let ppn = self.geometry.page(block, page);
        self.map[lpn.at()] = ppn;
        self.reverse[ppn.at()] = lpn;
        self.blocks.validate(block, ppn);
    }

    /// A page is dead: its block may become a better victim.
    fn kill(&mut self, ppn: Ppn) {
        let block = self.geometry.block_of(ppn);
        let left = self.blocks.invalidate(block, ppn);
        if self.blocks.state(block) == BlockState::Closed {
            self.collection.invalidated(block, left);
        }
    }

    /// The next page for the host in a plane.
    fn host_page(&mut self, nand: &mut Nand, plane: PlaneId) -> (BlockId, u32) {
        // Collected pages may share the block and fill it again, so this may take more than one round.
        while self.frontiers[frontier(plane, Writer::Host)].next == self.geometry.pages {
            while self.blocks.free_in(plane) < OPEN_BLOCKS {
                self.report.foreground_collections += u64::from(self.jobs[plane.at()].is_none());
                let begun = self.begin(plane);
                assert!(begun, "a plane with room has a block with a dead page");
                while self.step(nand, plane, Urgency::Needed) {}
            }
            self.open(plane, Writer::Host);
        }
        if self.blocks.free_in(plane) < self.gc_threshold {
            self.pay(nand, plane);
        }
        self.take(plane, Writer::Host)
    }

    /// A page that the host writes pays for its share of the plane's collection.
    fn pay(&mut self, nand: &mut Nand, plane: PlaneId) {
        if self.jobs[plane.at()].is_none() {
            self.report.foreground_collections += u64::from(self.begin(plane));
        }
        if let Some(job) = &mut self.jobs[plane.at()] {
            job.paid += job.steps;
        }
        while let Some(job) = &mut self.jobs[plane.at()]
            && (job.paid >= job.gain || self.gc_blocks == GcBlocks::Shared)
        {
            job.paid = job.paid.saturating_sub(job.gain);
            self.step(nand, plane, Urgency::Needed);
        }
    }

    /// Closes the open block of a writer, if it has one, and opens another.
    fn open(&mut self, plane: PlaneId, writer: Writer) {
        let full = self.frontiers[frontier(plane, writer)].block;
        if full.is_some() {
            self.blocks.set_state(full, BlockState::Closed);
            self.collection.closed(full, self.blocks.valid_of(full));
        }
        self.frontiers[frontier(plane, writer)] = Frontier { block: self.blocks.open(plane), next: 0 };
    }

    fn take(&mut self, plane: PlaneId, writer: Writer) -> (BlockId, u32) {
        let open = &mut self.frontiers[frontier(plane, writer)];
        debug_assert!(open.next < self.geometry.pages, "a full block is replaced before a page of it is taken");
        open.next += 1;
        (open.block, open.next - 1)
    }

    /// Makes sure that a collection has begun in a plane; false if no block has a dead page.
    fn begin(&mut self, plane: PlaneId) -> bool {
        if self.jobs[plane.at()].is_none() {
            let Some(victim) = self.collection.victim(plane) else { return false };
            self.blocks.set_state(victim, BlockState::Victim);
            let valid = self.blocks.valid_of(victim);
            let gain = self.geometry.pages - valid;
            self.jobs[plane.at()] = Some(Job { victim, next: 0, steps: valid + 1, gain, paid: 0 });
        }
        true
    }

    /// One page copy of the plane's collection, or its erase, which ends it; false once it has ended.
    fn step(&mut self, nand: &mut Nand, plane: PlaneId, urgency: Urgency) -> bool {
        let Some(job) = self.jobs[plane.at()] else { return false };
        let Some(index) = self.blocks.next_valid(job.victim, job.next) else {
            nand.erase(job.victim, Origin::Gc, urgency);
            self.blocks.release(job.victim);
            self.report.block_erases += 1;
            self.jobs[plane.at()] = None;
            return false;
        };
        let writer = if self.gc_blocks == GcBlocks::Shared { Writer::Host } else { Writer::Collector };
        if self.frontiers[frontier(plane, writer)].next == self.geometry.pages {
            self.open(plane, writer);
        }
        let (block, page) = self.take(plane, writer);
        let from = self.geometry.page(job.victim, index);
        if let Some(ahead) = self.reverse.get(from.at() + PREFETCH_PAGES) {
            prefetch(&self.map, ahead.at());
        }
        nand.copy(from, block, page, Origin::Gc, urgency);
        self.report.page_copies += 1;
        self.blocks.invalidate(job.victim, from);
        self.bind(self.reverse[from.at()], block, page);
        self.jobs[plane.at()] = Some(Job { next: index + 1, ..job });
        true
    }
}

fn frontier(plane: PlaneId, writer: Writer) -> usize {
    plane.at() * OPEN_BLOCKS as usize + writer as usize
}

impl Mapping for State {
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        let mut places = std::mem::take(&mut self.places);
        self.allocation.place(writes, &mut places);
        for (write, place) in writes.iter().zip(&places) {
            self.write_page(nand, write, *place);
        }
        places.clear();
        self.places = places;
    }

    fn prepare(&self, lpn: Lpn) {
        prefetch(&self.map, lpn.at());
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, expect: Expect, tag: u32) -> bool {
        let ppn = self.map[lpn.at()];
        if ppn.is_some() {
            self.report.host_page_reads += 1;
            nand.read(ppn, mask, Origin::Host, expect, tag);
        }
        ppn.is_some()
    }

    fn is_mapped(&self, lpn: Lpn) -> bool {
        self.map[lpn.at()].is_some()
    }

    fn trim(&mut self, _nand: &mut Nand, lpn: Lpn) {
        let ppn = std::mem::replace(&mut self.map[lpn.at()], Ppn::NONE);
        if ppn.is_some() {
            self.kill(ppn);
            self.mapped -= 1;
            self.report.trimmed_pages += 1;
        }
    }

    fn idle(&mut self, nand: &mut Nand) -> bool {
        if self.background_threshold <= self.gc_threshold {
            return false;
        }
        let planes = self.geometry.total_planes();
        for _ in 0..planes {
            let plane = PlaneId(self.background);
            let begun = self.jobs[plane.at()].is_some();
            if begun || (self.blocks.free_in(plane) < self.background_threshold && self.begin(plane)) {
                self.report.background_collections += u64::from(!begun);
                while self.step(nand, plane, Urgency::Spare) && self.gc_blocks == GcBlocks::Shared {}
                return true;
            }
            self.background = (self.background + 1) % planes;
        }
        false
    }

    fn report(&self) -> FtlReport {
        self.report.clone()
    }

    fn reset_report(&mut self) {
        self.report = FtlReport::default();
    }

    fn erase_counts(&self) -> &[u32] {
        self.blocks.erase_counts()
    }

    fn free_blocks(&self) -> u64 {
        self.blocks.total_free()
    }

    fn check(&self) -> Result<(), String> {
        let valid = self.blocks.total_valid();
        if valid != self.mapped {
            return Err(format!("page map: {valid} valid pages, but {} mapped ones", self.mapped));
        }
        let mut mapped = 0;
        for (lpn, ppn) in self.map.iter().enumerate().filter(|(_, ppn)| ppn.is_some()) {
            mapped += 1;
            if self.reverse[ppn.at()].at() != lpn || !self.blocks.is_valid(*ppn) {
                return Err(format!("page map: logical page {lpn} points at page {}, which is not its copy", ppn.0));
            }
        }
        if mapped != self.mapped {
            return Err(format!("page map: {mapped} entries, but {} counted", self.mapped));
        }
        Ok(())
    }
}
