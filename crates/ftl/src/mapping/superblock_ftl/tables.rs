//! The page map in spare areas, and the page tables in memory.
//!
//! The pages of an area are numbered; the number is cut into three parts of equal length. The first names a table of
//! the second level in the root, the second a page table in that, the third a page in the page table.

use flashloom_nand::{BlockId, Lpn, Nand, OpId, Origin, Ppn, Read};
use flashloom_units::{Lists, Violation, ensure, violation};
use serde::{Deserialize, Serialize};

use super::blocks::{AreaId, AreaShape, Areas};
use crate::ADDRESS_BYTES;
use crate::mapping::translation::{Frame, Loads};
use crate::store::Blocks;

/// Levels of the tree, which are as many spare areas to read at most.
pub(super) const LEVELS: u32 = 3;

/// A spare area is read like one sector.
const SPARE_AREA: u32 = 1;

/// Lookups since the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableReport {
    pub(super) hits: u64,
    pub(super) misses: u64,
    /// Spare areas read.
    pub(super) reads: u64,
}

/// The tables of one level.
struct Level {
    /// Tables of an area, and bits of a page's number below theirs.
    tables: u32,
    shift: u32,
    /// The page whose spare area has the newest copy of each table; `NONE` if it was never programmed, or only in pages
    /// that were trimmed and erased.
    newest: Vec<Ppn>,
}

// Which pages there are is known to the areas, which check them.
flashloom_units::state! { Level { array newest; fixed tables, shift; } }

impl Level {
    fn new(shape: &AreaShape, shift: u32) -> Self {
        let tables = ((shape.pages - 1) >> shift) + 1;
        Self { tables, shift, newest: vec![Ppn::NONE; (tables * shape.areas) as usize] }
    }

    fn table(&self, area: u32, page: u32) -> usize {
        (area * self.tables + (page >> self.shift)) as usize
    }
}

/// The tables of all areas.
pub(super) struct Tables {
    /// Pages of an area.
    pages: u32,
    /// From the root to the page tables.
    levels: [Level; LEVELS as usize],
    /// The page tables in memory, for each chip, least recently used first, and their number.
    cached: Lists<u32>,
    count: Vec<u32>,
    most: u32,
    loads: Loads,
    pub(super) report: TableReport,
}

flashloom_units::state! {
    Tables {
        each levels;
        nested cached, count, loads;
        value report;
        fixed pages, most;
    }
}

impl Tables {
    pub(super) fn new(shape: &AreaShape, most: u32, chips: u32) -> Self {
        let bits = (u32::BITS - (shape.pages - 1).leading_zeros()).div_ceil(LEVELS);
        let levels = [LEVELS, 2, 1].map(|above| Level::new(shape, bits * above));
        let tables = levels[2].newest.len() as u32;
        Self {
            pages: shape.pages,
            levels,
            cached: Lists::new(tables, chips),
            count: vec![0; chips as usize],
            most,
            loads: Loads::new(tables),
            report: TableReport::default(),
        }
    }

    /// Bytes of the page tables in memory, when all of them are in use, and of the tables above them.
    pub(super) fn memory_bytes(&self) -> u64 {
        let most = u64::from(self.most) * self.count.len() as u64;
        let tables: u64 = self.levels.iter().map(|level| most.min(level.newest.len() as u64)).sum();
        ADDRESS_BYTES * (tables << self.levels[2].shift)
    }

    /// See [`MappingExtras::rest`](crate::mapping::MappingExtras::rest).
    pub(super) fn rest(&mut self, nand: &mut Nand) {
        self.loads.rest(nand);
    }

    /// The tables on the path to a page, from the root.
    fn path(&self, lpn: Lpn) -> [usize; LEVELS as usize] {
        let (area, page) = (lpn.0 / self.pages, lpn.0 % self.pages);
        [0, 1, 2].map(|level| self.levels[level].table(area, page))
    }

    /// Brings the page table of a page into memory; returns the read that has to end before it is there.
    pub(super) fn look_up(&mut self, nand: &mut Nand, blocks: &Blocks, chip: u32, lpn: Lpn) -> OpId {
        self.loads.follow(nand);
        let path = self.path(lpn);
        let (table, of_chip) = (path[2] as u32, chip as usize);
        let is_cached = self.cached.contains(table);
        if is_cached {
            self.cached.remove(table);
        } else if self.count[of_chip] == self.most {
            self.cached.pop_front(of_chip);
        } else {
            self.count[of_chip] += 1;
        }
        self.cached.push_back(of_chip, table);
        // A table whose read has failed is read again.
        if let Some(awaited) = self.loads.awaited(Frame(table), nand).filter(|_| is_cached) {
            self.report.hits += 1;
            return awaited;
        }
        self.report.misses += 1;
        let (mut read, mut last) = (OpId::DONE, Ppn::NONE);
        for (level, table) in self.levels.iter().zip(path) {
            let page = level.newest[table];
            if page.is_some() && page != last && nand.is_programmed(blocks.in_array(page)) {
                let from = Read::new(blocks.in_array(page), SPARE_AREA, Origin::Map);
                read = nand.read(Read { after: read, ..from });
                self.report.reads += 1;
                last = page;
            }
        }
        self.loads.begin(Frame(table), read, nand);
        read
    }

    /// Notes that a page was programmed with the tables on its path.
    pub(super) fn programmed(&mut self, lpn: Lpn, page: Ppn) {
        let path = self.path(lpn);
        self.levels.iter_mut().zip(path).for_each(|(level, table)| level.newest[table] = page);
    }

    /// Forgets the tables in a block that is erased: their pages were trimmed.
    pub(super) fn erased(&mut self, blocks: &Blocks, area: AreaId, block: BlockId) {
        for level in &mut self.levels {
            let first = (area.0 * level.tables) as usize;
            let of_area = level.newest[first..first + level.tables as usize].iter_mut();
            of_area.filter(|page| page.is_some() && blocks.block_of(**page) == block).for_each(|page| {
                *page = Ppn::NONE;
            });
        }
    }

    /// Checks loaded tables: their newest copies are in programmed pages of their area, and no chip has too many in
    /// memory.
    pub(super) fn check_loaded(&self, areas: &Areas) -> Result<(), Violation> {
        let pages = areas.blocks.total() * areas.blocks.pages();
        for level in &self.levels {
            for (table, &page) in (0..).zip(&level.newest).filter(|(_, page)| page.is_some()) {
                let is_there = || {
                    let block = areas.blocks.block_of(page);
                    let index = page.0 - areas.blocks.page(block, 0).0;
                    index < areas.blocks.written(block) && areas.is_of(block, AreaId(table / level.tables))
                };
                ensure!(page.0 < pages && is_there(), "superblocks: table {table} is not in page {}", page.0);
            }
        }
        let of_area = self.levels[2].tables;
        for (chip, &count) in (0..).zip(&self.count) {
            let own = |table: u32| areas.shape.chip_of(AreaId(table / of_area)) == chip;
            let cached = || self.cached.iter(chip as usize);
            if cached().count() != count as usize || count > self.most || !cached().all(own) {
                return Err(violation!("superblocks: chip {chip} has not {count} tables in memory"));
            }
        }
        Ok(())
    }
}
