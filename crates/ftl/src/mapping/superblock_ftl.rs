//! Superblock FTL: neighbouring blocks share physical blocks, in which any page of them can be anywhere (Kang, Jo, Kim
//! and Lee, "A Superblock-based Flash Translation Layer for NAND Flash Memory", EMSOFT 2006; Jung et al., ACM TECS
//! 9(4), 2010).
//!
//! ```text
//! superblock  N neighbouring logical blocks (or, with `spread`, N that are as far apart as there are chips), on one
//!             chip, in up to N + K physical blocks: N D-blocks, and U-blocks, of which the chip has M for all
//! write       to the next page of the superblock's open block. When that is full, open a D-block while the superblock
//!             has fewer than N blocks. Else erase a block of it without valid pages, if there is one (switch merge);
//!             without one, open a U-block, if it has fewer than K and one of the M is free; else collect first
//! collect     the superblock itself, if its valid pages fit one block less than it has; else that with a U-block and
//!             the smallest share of valid pages among those programmed. Again and again the block with the fewest
//!             valid pages: copy these to the superblock's block for survivors, and erase it, until there is one block
//!             less. Partial merge: one block was enough. Full merge: several were
//! hot, cold   survivors have a block of their own, so pages that are written again and again gather in U-blocks,
//!             which die whole
//! page map    a tree of three levels for each superblock. A page is programmed with the tables on its path in its
//!             spare area, so the newest copy of a table is where a page of its range was programmed last. Few page
//!             tables are in memory, by LRU; who needs another reads the spare areas on its path, one after the other
//! ```
//!
//! The papers could not be read here beyond their abstracts and what later papers say of them; these are choices of
//! ours:
//!
//! - A superblock is on one chip. With `spread` its logical blocks are not neighbours, so that what is written to these
//!   does not wait for one chip: the abstracts do not say how a drive of several chips is divided.
//! - Each table has `2^b` entries, b a third of the bits of a page's number in its superblock, rounded up.
//! - A read of a spare area takes as long as one of a sector. A table that two levels of the path have in one spare
//!   area takes one read. Collections look up the pages that they copy in the same way; which pages are valid is in
//!   memory.
//! - A page table is in memory with the tables above it. Tables whose page is being programmed are in the controller's
//!   memory until that has ended, beside those: a collection, which programs all its copies at once, reads few. A table
//!   whose newest copy is in the spare area of a trimmed page is there after the erase of that page, until the next
//!   write. Neither is part of `memory_bytes`; of a superblock that is collected all tables may be in flight.
//! - A discard unmaps its pages, and gives no block by itself.
//! - The open block of the host is a victim as others are, and its unwritten pages are then lost. Of equal blocks, and
//!   superblocks, the one that came first is taken.
//!
//! Bound: one page of the host causes one collection at most. It copies no more than `N n + n - 1` pages (n: pages of a
//! block) and erases no more than N + 1 blocks: while r blocks are erased and as many opened, the copies exceed the
//! `(r - 1) n` pages that all but the last opened hold, but none of the N n valid pages is copied twice, except for
//! those copied to the rest of a block that was open before, fewer than n. Each copy reads up to three spare areas.
//!
//! O(1) a page, O(N + K) a victim of a superblock, O(M (N + K)) the choice of another superblock. Memory that the
//! scheme keeps: 4 bytes a physical block, a table of `2^b` entries for each of `tables` and each above it, a bit a
//! page.

mod blocks;
mod tables;

use flashloom_nand::{BlockId, DieId, Lpn, Nand, OpId, Origin, PlaneId, Ppn, Read, Urgency};
use flashloom_units::{Best, Capability, Component, Figure, Kind, Latency, Ns, Policy, PolicySpec, Refusal, ensure};
use flashloom_units::{Statistic, Unit, Value, Violation, params};

use super::log_block::{Costs, LongestWait, merges, time_figures, times};
use super::translation::MapReport;
use super::{Mapping, MappingExtras, Profile};
use crate::setup::{Context, Site};
use crate::store::{Upkeep, WornOut};
use crate::{ADDRESS_BYTES, BLOCK_EXCHANGE, DIE_SUPERBLOCKS, FtlReport, PageWrite};
use blocks::{AreaId, AreaShape, Areas, COLLECTED_TO};
use tables::{LEVELS, TableReport, Tables};

params! {
    /// Parameters of Superblock FTL.
    pub struct SuperblockFtlParams {
        /// Logical blocks that share physical blocks, neighbours unless `spread`: N.
        blocks: u32 => "blocks", Kind::Count { min: 1, max: 1 << 10 }, Value::Count(4),
            "More blocks share their space better, and take longer to collect.";
        /// Most U-blocks of one superblock: K.
        update_blocks: u32 => "update_blocks", Kind::Count { min: 1, max: 1 << 10 }, Value::Count(4),
            "More let a superblock that is written often put its collection off, and leave fewer for others.";
        /// U-blocks of each chip: M.
        log_blocks: u32 => "log_blocks", Kind::Count { min: 1, max: 1 << 16 }, Value::Count(16),
            "More U-blocks put collections off and leave less for data.";
        /// Deals logical blocks to the chips in turn: on n chips a superblock has every n-th, not neighbours.
        spread: bool => "spread", Kind::Flag, Value::Flag(false),
            "Neighbouring blocks are written and collected at the same time; on one chip, which is what the abstract \
             speaks of, they wait for one another.";
        /// Page tables of each chip in memory.
        tables: u32 => "tables", Kind::Count { min: 1, max: 1 << 20 }, Value::Count(64),
            "More tables in memory save reads of spare areas.";
    }
}

const STATISTICS: &[Statistic] = &Statistic::joined::<12>(&[
    &merges([
        "Switch merges: blocks without valid pages that were erased without a copy.",
        "Partial merges: collections that emptied one block.",
        "Full merges: collections that emptied several blocks of a superblock.",
    ]),
    &times([
        "Time for which a collection occupies an otherwise idle chip: its copies, erases and reads of spare areas.",
        "Upper bound of that time: (N + 1) n - 1 copies, each with three reads of spare areas, and N + 1 erases.",
        "Longest time that collections put between two pages of the host on a chip.",
        "Upper bound of that time.",
    ]),
    &[
        Statistic::count("map_hits", "Lookups whose page table was in memory."),
        Statistic::count("map_misses", "Lookups of other page tables."),
        Statistic::new("map_hit_ratio", Unit::Ratio, "Hit ratio of the page tables: hits as a share of all lookups.")
            .best(Best::Highest)
            .as_column("map hits"),
        Statistic::count("map_reads", "Spare areas read to find a page."),
        Statistic::count("map_writes", "Map pages written: none, because the map is programmed with the pages."),
    ],
]);

static SPEC: PolicySpec = PolicySpec {
    name: "superblock-ftl",
    summary: "neighbouring blocks share physical blocks and update blocks, with a page map in spare areas",
    details: "One FTL a chip; a superblock's address determines its chip. Not to be confused with `ftl.superblock`, \
              which writes the planes of a die together.",
    source: "Kang et al., EMSOFT 2006; Jung et al., ACM TECS 9(4), 2010",
    example: "ftl.mapping=superblock-ftl ftl.superblock-ftl.blocks=8 ftl.superblock-ftl.tables=256",
    instead: "Where whole blocks are written in order `bast` does as well without a page map. With memory for a page \
              map use `page`, which gathers free space from the whole drive.",
    needs: &[],
    offers: &[BLOCK_EXCHANGE, DIE_SUPERBLOCKS, Capability::SAVED_STATE],
    params: SuperblockFtlParams::PARAMS,
    statistics: STATISTICS,
};

impl SuperblockFtlParams {
    fn shape(&self, site: &Site<'_>) -> AreaShape {
        AreaShape::new([self.blocks, self.update_blocks, self.log_blocks], self.spread, site)
    }
}

/// The policy of this mapping.
pub(super) fn policy() -> Policy<dyn Mapping> {
    let policy = Policy::<dyn Mapping>::new(&SPEC, |params, on| Ok(Box::new(SuperblockFtl::new(params, on)?)));
    policy.with_profile(profile)
}

/// Refuses a drive whose chips have too few blocks for their superblocks, the U-blocks, and one to collect to.
fn profile(params: SuperblockFtlParams, site: &Site<'_>) -> Result<Profile, Refusal> {
    let shape = params.shape(site);
    let (has, good) = site.good_blocks();
    let data = u64::from(shape.data_blocks());
    let kept = u64::from(COLLECTED_TO + u32::from(site.space.nand.can_fail()));
    let most = has.saturating_sub(data + kept);
    if u64::from(params.log_blocks) <= most {
        return Ok(Profile::default());
    }
    let (key, blocks) = ("ftl.superblock-ftl.log_blocks", params.blocks);
    let failing = if site.space.nand.can_fail() { ", and one that fails another" } else { "" };
    let device_keys =
        ["device.bad_blocks", "device.over_provisioning", "device.blocks", "device.preset", "ftl.mapping"];
    let lower = if good.is_empty() { "" } else { ", or lower device.bad_blocks" };
    let found = format!(
        "{} U-blocks (`{key}`) on chips of {has} blocks{good}, of which superblocks of {blocks} take {data}",
        params.log_blocks
    );
    if most > 0 {
        let refusal = Refusal::new(found, format!("at most {most}: a collection needs a block besides{failing}"));
        let refusal = refusal.at([&[key], &device_keys[..]].concat());
        return Err(refusal.help(format!("lower the U-blocks, or raise device.over_provisioning{lower}")));
    }
    let refusal =
        Refusal::new(found, format!("{} blocks at least: a U-block, and one to collect to{failing}", data + kept + 1));
    let refusal = refusal.at([&device_keys[..], &[key]].concat());
    let help = "raise device.over_provisioning or device.blocks, or lower ftl.superblock-ftl.blocks";
    Err(refusal.help(format!("{help}{lower}")))
}

/// Collections since the last reset.
#[derive(Clone, Default)]
struct Collections {
    switch: u64,
    partial: u64,
    full: u64,
    blocking_ns: Latency,
    longest: LongestWait,
}

flashloom_units::state! { Collections { value switch, partial, full, longest; nested blocking_ns; } }

/// What a collection did.
#[derive(Clone, Copy, Default)]
struct Work {
    copies: u32,
    erases: u32,
    spare_reads: u32,
}

/// An array of Superblock FTLs, one for each chip.
struct SuperblockFtl {
    areas: Areas,
    tables: Tables,
    costs: Costs,
    most: Work,
    urgency: Urgency,
    report: FtlReport,
    collections: Collections,
    /// Time of the collection that the page being written has caused, and what blocks took besides.
    waited_ns: Ns,
    upkeep: Upkeep,
    can_fail: bool,
}

flashloom_units::state! {
    SuperblockFtl {
        nested areas, tables, report, collections;
        fixed costs, most, urgency, waited_ns, upkeep, can_fail;
    }
}

impl SuperblockFtl {
    fn new(params: SuperblockFtlParams, on: &Context<'_>) -> Result<Self, Refusal> {
        let Context { space, ftl, nand } = *on;
        let site = Site { space, ftl };
        let shape = params.shape(&site);
        let copies = (params.blocks + 1) * site.geometry().pages - 1;
        let areas = Areas::new(&shape, on);
        Ok(Self {
            costs: Costs::new(&space.nand, 1, areas.blocks.superblocks.width()),
            areas,
            tables: Tables::new(&shape, params.tables, space.geometry().total_dies()),
            most: Work { copies, erases: params.blocks + 1, spare_reads: LEVELS * copies },
            urgency: ftl.params.preemption.urgency(),
            report: FtlReport::default(),
            collections: Collections::default(),
            waited_ns: 0,
            upkeep: Upkeep::default(),
            can_fail: nand.can_fail(),
        })
    }

    fn time(&self, work: Work) -> Ns {
        self.costs.of(work.copies, work.erases) + self.costs.of_spare_reads(work.spare_reads)
    }

    /// Upper bound of the time that a page of the host waits for: for the collection that it causes, and for no other.
    fn wait_bound_ns(&self) -> Ns {
        self.collections.longest.bound_ns(self.time(self.most), &self.costs, self.areas.blocks.pages())
    }

    /// Brings the page table of a page into memory; returns the read to wait for.
    fn look_up(&mut self, nand: &mut Nand, lpn: Lpn) -> OpId {
        let chip = self.areas.shape.chip_of(self.areas.shape.area_of(lpn));
        self.tables.look_up(nand, &self.areas.blocks, chip, lpn)
    }

    fn write_page(&mut self, nand: &mut Nand, write: &PageWrite) {
        if self.areas.blocks.is_worn_out() || self.store_page(nand, write).is_err() {
            write.refuse(nand);
        }
    }

    fn store_page(&mut self, nand: &mut Nand, write: &PageWrite) -> Result<(), WornOut> {
        (self.waited_ns, self.upkeep) = (0, Upkeep::default());
        let area = self.areas.shape.area_of(write.lpn);
        let found = self.look_up(nand, write.lpn);
        let open = match self.areas.open_block(area) {
            Some(open) => open,
            None => {
                self.make_room(nand, area)?;
                self.areas.open_for_host(area)
            }
        };
        let (of, by) = ((&mut self.report, &self.areas.pages), (Origin::Merge, self.urgency));
        let page = self.areas.blocks.write(nand, of, write, found, open, by);
        self.count_upkeep();
        self.bind(write.lpn, page?);
        self.collections.longest.note(&self.costs, self.waited_ns, self.upkeep);
        Ok(())
    }

    /// Counts the copies to blocks that have taken the place of others.
    fn count_upkeep(&mut self) {
        if let Some(upkeep) = self.areas.blocks.take_upkeep() {
            self.report.page_copies += u64::from(upkeep.copies);
            self.upkeep += upkeep;
        }
    }

    fn bind(&mut self, lpn: Lpn, page: Ppn) {
        self.areas.bind(lpn, page);
        self.tables.programmed(lpn, page);
    }

    /// Sees to it that a superblock whose open block is full may open another.
    fn make_room(&mut self, nand: &mut Nand, area: AreaId) -> Result<(), WornOut> {
        if self.areas.held(area) < self.areas.shape.blocks {
            return Ok(());
        }
        if let Some(dead) = self.areas.dead_block(area) {
            self.nand_job(nand, dead, |ftl, nand| {
                ftl.erase(nand, area, dead)?;
                Ok(Work { erases: 1, ..Work::default() })
            })
        } else if !self.areas.may_open_update_block(area) {
            let from = if self.areas.can_give(area) { area } else { self.areas.least_utilised(area) };
            self.collect(nand, from)
        } else {
            Ok(())
        }
    }

    /// Does the work of a collection that begins with this block, and counts it.
    fn nand_job(
        &mut self,
        nand: &mut Nand,
        block: BlockId,
        job: impl FnOnce(&mut Self, &mut Nand) -> Result<Work, WornOut>,
    ) -> Result<(), WornOut> {
        let named = self.areas.blocks.first_in_array(block);
        nand.begin_job(Origin::Merge, named);
        let work = job(self, nand)?;
        nand.end_job(Origin::Merge, named);
        let (time, bound) = (self.time(work), self.time(self.most));
        assert!(time <= bound, "a collection took {time} ns, not {bound} at most");
        let kind = match work {
            Work { copies: 0, .. } => &mut self.collections.switch,
            Work { erases: 1, .. } => &mut self.collections.partial,
            _ => &mut self.collections.full,
        };
        *kind += 1;
        self.collections.blocking_ns.record(time);
        self.waited_ns = time;
        Ok(())
    }

    /// Collects a superblock until it has one block less.
    fn collect(&mut self, nand: &mut Nand, area: AreaId) -> Result<(), WornOut> {
        let first = self.areas.victim(area);
        self.nand_job(nand, first, |ftl, nand| {
            let (mut work, mut opened) = (Work::default(), 0);
            while work.erases <= opened {
                let victim = ftl.areas.victim(area);
                for index in 0..ftl.areas.blocks.written(victim) {
                    let from = ftl.areas.blocks.page(victim, index);
                    let lpn = ftl.areas.pages.owner(from);
                    if lpn.is_some() {
                        let reads = ftl.tables.report.reads;
                        ftl.look_up(nand, lpn);
                        work.spare_reads += (ftl.tables.report.reads - reads) as u32;
                        opened += u32::from(ftl.copy(nand, area, lpn)?);
                        work.copies += 1;
                    }
                }
                ftl.erase(nand, area, victim)?;
                work.erases += 1;
            }
            Ok(work)
        })
    }

    /// Copies a page to the superblock's block for survivors. Returns whether one had to be opened.
    fn copy(&mut self, nand: &mut Nand, area: AreaId, lpn: Lpn) -> Result<bool, WornOut> {
        let open = self.areas.survivors_block(area);
        let to = open.unwrap_or_else(|| self.areas.open_for_survivors(area));
        let from = self.areas.pages.newest(lpn);
        debug_assert!(from.is_some(), "a survivor is mapped");
        let page = self.areas.blocks.append(nand, from, to, (Origin::Merge, self.urgency));
        self.count_upkeep();
        self.bind(lpn, page?);
        self.report.page_copies += 1;
        Ok(open.is_none())
    }

    fn erase(&mut self, nand: &mut Nand, area: AreaId, block: BlockId) -> Result<(), WornOut> {
        self.tables.erased(&self.areas.blocks, area, block);
        let erased = self.areas.erase(nand, &mut self.report, (area, block), (Origin::Merge, self.urgency));
        self.count_upkeep();
        erased
    }
}

impl MappingExtras for SuperblockFtl {
    fn is_worn_out(&self) -> bool {
        self.areas.blocks.is_worn_out()
    }

    fn die_of(&self, lpn: Lpn) -> Option<DieId> {
        let shape = &self.areas.shape;
        self.areas.blocks.lone_die(PlaneId(shape.chip_of(shape.area_of(shape.placed(lpn)))))
    }

    fn prepare(&self, lpn: Lpn) {
        self.areas.pages.prepare(self.areas.shape.placed(lpn));
    }

    fn rest(&mut self, nand: &mut Nand) {
        self.tables.rest(nand);
    }
}

impl Component for SuperblockFtl {
    flashloom_units::stateful!();

    fn figures(&self) -> Vec<Figure> {
        let (Collections { switch, partial, full, blocking_ns, longest }, bound) =
            (&self.collections, self.time(self.most));
        let times = time_figures(blocking_ns, [bound, longest.wait_ns, self.wait_bound_ns()]);
        let TableReport { hits, misses, reads } = self.tables.report;
        let map = MapReport { hits, misses, reads, writes: 0 }.figures([]);
        [*switch, *partial, *full].map(Figure::Count).into_iter().chain(times).chain(map).collect()
    }

    fn check(&self) -> Result<(), Violation> {
        let (longest, bound) = (self.collections.blocking_ns.max(), self.time(self.most));
        ensure!(longest <= bound, "a collection took {longest} ns, not {bound} ns at most");
        let (longest, bound) = (self.collections.longest.wait_ns, self.wait_bound_ns());
        ensure!(longest <= bound, "a page of the host waited {longest} ns for a collection, not {bound} ns at most");
        self.areas.check()
    }
}

impl Mapping for SuperblockFtl {
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        writes.iter().for_each(|write| self.write_page(nand, &write.renumbered(self.areas.shape.placed(write.lpn))));
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool {
        let Some(page) = self.place_of(lpn) else { return false };
        let after = self.look_up(nand, self.areas.shape.placed(lpn));
        self.report.host_page_reads += 1;
        nand.read(Read { lpn, tag, after, ..Read::new(page, mask, Origin::Host) });
        true
    }

    fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        let page = self.areas.pages.newest(self.areas.shape.placed(lpn));
        page.is_some().then(|| self.areas.blocks.in_array(page))
    }

    fn trim(&mut self, nand: &mut Nand, lpn: Lpn) {
        if self.is_mapped(lpn) {
            let placed = self.areas.shape.placed(lpn);
            self.look_up(nand, placed);
            self.areas.unbind(placed);
            self.report.trimmed_pages += 1;
        }
    }

    fn report(&self) -> FtlReport {
        let of_blocks = ADDRESS_BYTES * u64::from(self.areas.blocks.total());
        let memory_bytes = Some(of_blocks + self.tables.memory_bytes());
        let (retired, wear_moves) = (self.areas.blocks.retired_in_array(self.can_fail), self.areas.blocks.wear_moves());
        FtlReport { memory_bytes, retired, wear_moves, ..self.report.clone() }
    }

    fn reset_report(&mut self) {
        self.report = FtlReport::default();
        self.collections = Collections::default();
        self.tables.report = TableReport::default();
        self.areas.blocks.reset_wear_moves();
    }

    fn free_blocks(&self) -> u64 {
        self.areas.blocks.free_in_array()
    }

    fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        self.areas.check_loaded(nand)?;
        self.tables.check_loaded(&self.areas)?;
        self.check()
    }
}
