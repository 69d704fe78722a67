//! Janus-FTL: one pool of blocks, of which a part is mapped by pages and the rest by blocks; data moves between the two
//! as it is written (Kwon, Kim, Choi, Lee and Noh, "Janus-FTL: Finding the Optimal Point on the Spectrum Between Page
//! and Block Mapping Schemes", EMSOFT 2010; in Korean: Journal of KIISE 36(12), 2009).
//!
//! ```text
//! block area  a logical block whose page i is page i of one physical block, its home: one entry of the block map
//! page area   other logical blocks have a table of pages, and their pages are anywhere in the blocks of the page area
//! write       in order stays in the block area: to the home of a block that has no more pages yet; or, if a run of
//!             `sequential_pages` or more begins at the block's first page, or that came with a request of as many, to
//!             a new home, and what follows in order too. When that is full, the old home is erased without a copy
//!             (switch).
//!             Any other page goes to the page area's open block, after the fusion of its logical block
//! fusion      the logical block gets a table, and its home, and what there is of a new one, are blocks of the page
//!             area from now on. Nothing is copied
//! defusion    the valid pages of a logical block are copied to a new home, in order, and its table is free
//! when        if no table is free, the logical block of the page area that was written least recently; and one of
//!             which collections have copied, since its last write, `patience` times the pages that its defusion would
//!             program
//! collect     below three free blocks: the block of the page area with the fewest valid pages is emptied to the open
//!             block for survivors, again and again, until there is one free block more
//! ```
//!
//! The papers could not be read here beyond their abstracts, which name fusion, defusion and a cost model that has an
//! optimal point. The rest is a choice of ours:
//!
//! - A page in the page area costs its copies by collections, and one in the block area none, but its logical block
//!   must be copied there whole. Whether that pays depends on when it will be written next. So it stays until it has
//!   cost as many pages as its defusion. By its own pages, that is at most twice what would have been best, had the
//!   next write been known; the rest of a block that few pages fill alone is not counted. These are the measured costs
//!   that the share of the page area follows. `patience` 0 is the end of the spectrum towards block mapping; with a
//!   table for each logical block, a high one is a page map.
//! - Memory bounds the page area: `map` bytes, divided among the chips, hold tables of an address a page and a counter.
//! - A page that was never written, or trimmed, before the last of a logical block is a filler in its home.
//! - At most `streams` new homes a chip are being written; one more fuses the logical block of the oldest. A defusion
//!   completes a new home that its logical block has. Of equal victims, the one that has been equal longest.
//! - A discard unmaps its pages, and gives no block by itself.
//!
//! Bound: a page of the host causes three collections, two defusions and one erase at most. With T tables a chip and n
//! pages a block, a collection copies `T n + n - 1` pages and erases `T + 1` blocks at most, and a defusion programs n
//! pages. `docs/waits.md` has the proof.
//!
//! O(1) a page of the host, O(n) a defusion; a victim O(n), and for each page copied as much as its logical block has
//! unmapped pages at its end. Memory that the scheme keeps: 4 bytes a logical block, `4 (n + 1)` bytes a table, 4 bytes
//! a new home.

mod areas;
mod upkeep;

use flashloom_nand::{BlockId, DieId, Lbn, Lpn, Nand, OpId, Origin, PlaneId, Ppn, Read, Urgency};
use flashloom_units::{Capability, Component, Figure, KIB, Kind, Latency, Ns, Policy, PolicySpec, Refusal, ensure};
use flashloom_units::{Statistic, Value, Violation, params};

use super::log_block::{Costs, LongestWait, time_figures, times};
use super::{Mapping, MappingExtras, Profile};
use crate::setup::{Context, Site};
use crate::store::{Upkeep, WornOut};
use crate::{ADDRESS_BYTES, BLOCK_EXCHANGE, DIE_SUPERBLOCKS, FtlReport, PageWrite};
use areas::{Areas, Shape};

params! {
    /// Parameters of Janus-FTL.
    pub struct JanusFtlParams {
        /// Memory for the tables of page-mapped logical blocks: 4 bytes a page, and 4 more.
        map_bytes: u64 => "map", Kind::Size { min: 8, max: 1 << 36 }, Value::Size(512 * KIB),
            "More lets more logical blocks be page-mapped, and saves defusions.";
        /// Copies of a logical block's pages by collections, since its last write, that cause its defusion: a multiple
        /// of the pages that this programs.
        patience: f64 => "patience", Kind::Ratio { min: 0.0, max: 1_000.0 }, Value::Ratio(1.0),
            "A higher one keeps cold data in the page area, where collections copy it; a lower one copies whole blocks \
             that are soon written again.";
        /// Shortest run that opens a new home. A run begins at the first page of a logical block; its length is the
        /// number of pages written together in that block, or the size of the first page's host request if larger.
        sequential_pages: u32 => "sequential_pages", Kind::Count { min: 1, max: (1 << 16) - 1 }, Value::Count(2),
            "Longer ones take fewer blocks for runs that end early, and see fewer that go on.";
        /// Most new homes of each chip that are being written.
        streams: u32 => "streams", Kind::Count { min: 1, max: 1 << 16 }, Value::Count(4),
            "More follow more sequences at a time, and take a block each.";
    }
}

const STATISTICS: &[Statistic] = &Statistic::joined::<11>(&[
    &[
        Statistic::count("fusions", "Fusions: logical blocks that became page-mapped with the pages that they had."),
        Statistic::count("defusions", "Defusions: logical blocks whose pages were gathered in a home."),
        Statistic::count(
            "due_defusions",
            "Those among them that collections had cost enough; the others lacked a table.",
        ),
        Statistic::count("switches", "New homes that were filled in order, without a copy."),
        Statistic::count("collections", "Collections in the page area: each took one block out of use."),
        Statistic::count("filler_pages", "Filler pages, programmed without data by defusions."),
        Statistic::count("page_mapped_blocks", "Logical blocks that are page-mapped now."),
    ],
    &times([
        "Time for which a collection, a defusion or an erase occupies an otherwise idle chip.",
        "Upper bound of that time: T n + n - 1 copies and T + 1 erases, with T tables a chip.",
        "Longest time of this kind that one page of the host caused.",
        "Upper bound of that time: three collections, two defusions, an erase.",
    ]),
]);

static SPEC: PolicySpec = PolicySpec {
    name: "janus-ftl",
    summary: "blocks written in order are block-mapped and others page-mapped, and data moves between by its costs",
    details: "One FTL a chip; a logical block's address determines its chip.",
    source: "Kwon et al., EMSOFT 2010",
    example: "ftl.mapping=janus-ftl ftl.janus-ftl.map=2MiB ftl.janus-ftl.patience=0.5",
    instead: "With memory for a table of every logical block use `page`, which gathers free space from the whole \
              drive. Random writes to more logical blocks than there are tables for copy a whole one each: use `dftl`.",
    needs: &[],
    offers: &[BLOCK_EXCHANGE, DIE_SUPERBLOCKS, Capability::SAVED_STATE],
    params: JanusFtlParams::PARAMS,
    statistics: STATISTICS,
};

impl JanusFtlParams {
    /// Tables of each chip that the memory holds.
    fn tables(&self, site: &Site<'_>) -> u64 {
        let geometry = site.geometry();
        self.map_bytes / u64::from(geometry.total_dies()) / table_bytes(geometry.pages)
    }

    fn shape(&self, site: &Site<'_>) -> Shape {
        Shape::new(site, self.tables(site), self.streams, self.patience)
    }
}

/// Bytes of the table of a logical block of so many pages: their addresses, and a counter of copies.
fn table_bytes(pages: u32) -> u64 {
    ADDRESS_BYTES * (u64::from(pages) + 1)
}

/// The policy of this mapping.
pub(super) fn policy() -> Policy<dyn Mapping> {
    let policy = Policy::<dyn Mapping>::new(&SPEC, |params, on| Ok(Box::new(JanusFtl::new(params, on)?)));
    policy.with_profile(profile)
}

/// Refuses a memory without a table for each chip, and chips with too few blocks beside those of the data.
fn profile(params: JanusFtlParams, site: &Site<'_>) -> Result<Profile, Refusal> {
    let (geometry, shape) = (site.geometry(), params.shape(site));
    if params.tables(site) == 0 {
        let (chips, table) = (geometry.total_dies(), table_bytes(geometry.pages));
        let found = format!("`ftl.janus-ftl.map` = {} for {chips} chips", params.map_bytes);
        let least = u64::from(chips) * table;
        let refusal = Refusal::new(found, format!("{least} bytes at least: a table of {table} bytes a chip"));
        let refusal = refusal.at(["ftl.janus-ftl.map", "device.pages", "device.preset", "ftl.mapping"]);
        return Err(refusal.help("raise ftl.janus-ftl.map"));
    }
    let (has, good) = site.good_blocks();
    let data = shape.blocks.div_ceil(shape.chips);
    let needs = u64::from(shape.needed() + u32::from(site.space.nand.can_fail()));
    if needs <= has {
        return Ok(Profile::default());
    }
    let failing = if site.space.nand.can_fail() { ", and one takes the place of one that fails" } else { "" };
    let others = if failing.is_empty() { "five" } else { "of six, five" };
    let key = "ftl.janus-ftl.streams";
    let found = format!("chips of {has} blocks{good}, with data for {data} and {} new homes (`{key}`)", params.streams);
    let refusal =
        Refusal::new(found, format!("{needs} blocks at least: {others} are open, free or hold dead pages{failing}"));
    let device_keys =
        ["device.bad_blocks", "device.over_provisioning", "device.blocks", "device.preset", "ftl.mapping"];
    let lower = if good.is_empty() { "" } else { ", or lower device.bad_blocks" };
    let help = "raise device.over_provisioning or device.blocks, or lower ftl.janus-ftl.streams";
    Err(refusal.at([&device_keys[..], &[key]].concat()).help(format!("{help}{lower}")))
}

/// What was done since the last reset.
#[derive(Clone, Default)]
struct Counts {
    fusions: u64,
    defusions: u64,
    due_defusions: u64,
    switches: u64,
    collections: u64,
    filler_pages: u64,
    longest: LongestWait,
    blocking_ns: Latency,
}

flashloom_units::state! {
    Counts {
        value fusions, defusions, due_defusions, switches, collections, filler_pages, longest;
        nested blocking_ns;
    }
}

/// An array of Janus-FTLs, one for each chip.
struct JanusFtl {
    areas: Areas,
    sequential_pages: u32,
    costs: Costs,
    urgency: Urgency,
    report: FtlReport,
    counts: Counts,
    /// Time of the jobs that the page being written has caused, and what blocks took besides.
    waited_ns: Ns,
    upkeep: Upkeep,
    can_fail: bool,
}

flashloom_units::state! {
    JanusFtl {
        nested areas, report, counts;
        fixed sequential_pages, costs, urgency, waited_ns, upkeep, can_fail;
    }
}

impl JanusFtl {
    fn new(params: JanusFtlParams, on: &Context<'_>) -> Result<Self, Refusal> {
        let Context { space, ftl, nand } = *on;
        let areas = Areas::new(&params.shape(&Site { space, ftl }), on);
        Ok(Self {
            costs: Costs::new(&space.nand, 1, areas.pool.superblocks.width()),
            areas,
            sequential_pages: params.sequential_pages,
            urgency: ftl.params.preemption.urgency(),
            report: FtlReport::default(),
            counts: Counts::default(),
            waited_ns: 0,
            upkeep: Upkeep::default(),
            can_fail: nand.can_fail(),
        })
    }

    /// The longest collection.
    fn blocking_bound_ns(&self) -> Ns {
        let Shape { tables, pages, .. } = self.areas.shape;
        self.costs.of((tables + 1) * pages - 1, tables + 1)
    }

    /// The longest time that one page of the host can cause: by collections, defusions and an erase.
    fn wait_bound_ns(&self) -> Ns {
        let pages = self.areas.shape.pages;
        let planned = 3 * self.blocking_bound_ns() + 2 * self.costs.of(pages, 0) + self.costs.of(0, 1);
        self.counts.longest.bound_ns(planned, &self.costs, pages)
    }

    /// Pages of a call, from the first on, that follow each other in one logical block.
    fn run(&self, writes: &[PageWrite]) -> u32 {
        let first = writes[0].lpn;
        let in_order = (first.0..).zip(writes).take_while(|(lpn, write)| write.lpn.0 == *lpn);
        in_order
            .take_while(|(_, write)| self.areas.shape.block_of(write.lpn) == self.areas.shape.block_of(first))
            .count() as u32
    }

    /// Writes the first page of a call; `run` pages of it from that on follow each other.
    fn write_page(&mut self, nand: &mut Nand, write: &PageWrite, run: u32) {
        let stored = self.report.host_page_writes;
        let is_worn_out = self.areas.pool.is_worn_out() || self.store_page(nand, write, run).is_err();
        if is_worn_out && self.report.host_page_writes == stored {
            write.refuse(nand);
        }
    }

    fn store_page(&mut self, nand: &mut Nand, write: &PageWrite, run: u32) -> Result<(), WornOut> {
        let (block, offset) = self.areas.shape.place_of(write.lpn);
        (self.waited_ns, self.upkeep) = (0, Upkeep::default());
        self.make_room(nand, self.areas.shape.chip_of(block))?;
        self.areas.touch(block);
        let to = self.choose(nand, block, offset, run)?;
        let (of, by) = ((&mut self.report, &self.areas.pages), (Origin::Merge, self.urgency));
        let page = self.areas.pool.write(nand, of, write, OpId::DONE, to, by);
        self.count_upkeep();
        self.areas.bind(write.lpn, page?);
        self.areas.close_full(block);
        if let Some(old) = self.areas.finish_stream(block) {
            self.counts.switches += 1;
            if old.is_some() {
                self.job(nand, old, |ftl, nand| {
                    ftl.erase(nand, old)?;
                    Ok((0, 1))
                })?;
            }
        }
        self.counts.longest.note(&self.costs, self.waited_ns, self.upkeep);
        let (longest, bound) = (self.counts.longest.wait_ns, self.wait_bound_ns());
        assert!(longest <= bound, "a page of the host caused {longest} ns of work, not {bound} at most");
        Ok(())
    }

    /// The physical block for a page of the host.
    fn choose(&mut self, nand: &mut Nand, block: Lbn, offset: u32, run: u32) -> Result<BlockId, WornOut> {
        let areas = &mut self.areas;
        if let Some(to) = areas.taking(block).filter(|&to| areas.pool.written(to) == offset) {
            return Ok(to);
        }
        if areas.stream(block).is_some() {
            self.fuse(nand, block)?;
        } else if offset == 0 && self.areas.is_new(block) {
            return Ok(self.areas.open_home(block));
        }
        if offset == 0 && run >= self.sequential_pages {
            if let Some(oldest) = self.areas.stream_too_many(block) {
                self.fuse(nand, oldest)?;
            }
            return Ok(self.areas.open_stream(block));
        }
        if !self.areas.is_paged(block) {
            self.fuse(nand, block)?;
        }
        Ok(self.areas.open_for_host(block))
    }
}

impl MappingExtras for JanusFtl {
    fn is_worn_out(&self) -> bool {
        self.areas.pool.is_worn_out()
    }

    fn die_of(&self, lpn: Lpn) -> Option<DieId> {
        let shape = &self.areas.shape;
        self.areas.pool.lone_die(PlaneId(shape.chip_of(shape.block_of(lpn))))
    }

    fn prepare(&self, lpn: Lpn) {
        self.areas.pages.prepare(lpn);
    }
}

impl Component for JanusFtl {
    flashloom_units::stateful!();

    fn figures(&self) -> Vec<Figure> {
        let Counts { fusions, defusions, due_defusions, switches, collections, filler_pages, .. } = self.counts;
        let paged = self.areas.paged();
        let counts = [fusions, defusions, due_defusions, switches, collections, filler_pages, paged];
        let bounds = [self.blocking_bound_ns(), self.counts.longest.wait_ns, self.wait_bound_ns()];
        counts.map(Figure::Count).into_iter().chain(time_figures(&self.counts.blocking_ns, bounds)).collect()
    }

    fn check(&self) -> Result<(), Violation> {
        let (longest, bound) = (self.counts.blocking_ns.max(), self.blocking_bound_ns());
        ensure!(longest <= bound, "janus-ftl: a collection took {longest} ns, not {bound} ns at most");
        let (longest, bound) = (self.counts.longest.wait_ns, self.wait_bound_ns());
        ensure!(longest <= bound, "janus-ftl: a page of the host caused {longest} ns of work, not {bound} at most");
        self.areas.check()
    }
}

impl Mapping for JanusFtl {
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        for (index, write) in writes.iter().enumerate() {
            let begins_block = self.areas.shape.place_of(write.lpn).1 == 0;
            let run = if begins_block { self.run(&writes[index..]).max(write.hints.request_pages) } else { 0 };
            self.write_page(nand, write, run);
        }
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool {
        let Some(page) = self.place_of(lpn) else { return false };
        self.report.host_page_reads += 1;
        nand.read(Read { lpn, tag, ..Read::new(page, mask, Origin::Host) });
        true
    }

    fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        let page = self.areas.pages.newest(lpn);
        page.is_some().then(|| self.areas.pool.in_array(page))
    }

    fn trim(&mut self, _nand: &mut Nand, lpn: Lpn) {
        if self.is_mapped(lpn) {
            self.areas.unbind(lpn);
            self.report.trimmed_pages += 1;
        }
    }

    fn report(&self) -> FtlReport {
        let Shape { blocks, chips, tables, streams, pages, .. } = self.areas.shape;
        let of_blocks = ADDRESS_BYTES * (u64::from(blocks) + u64::from(chips) * u64::from(streams));
        let of_tables = u64::from(chips) * u64::from(tables) * table_bytes(pages);
        let (retired, wear_moves) = (self.areas.pool.retired_in_array(self.can_fail), self.areas.pool.wear_moves());
        FtlReport { memory_bytes: Some(of_blocks + of_tables), retired, wear_moves, ..self.report.clone() }
    }

    fn reset_report(&mut self) {
        self.report = FtlReport::default();
        self.counts = Counts::default();
        self.areas.pool.reset_wear_moves();
    }

    fn free_blocks(&self) -> u64 {
        self.areas.pool.free_in_array()
    }

    fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        self.areas.check_loaded(nand)?;
        self.check()
    }
}
