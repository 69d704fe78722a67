//! The blocks of each superblock and the pages in them.
//!
//! A superblock of the paper is called an *area* here, because a superblock is a set of physical blocks elsewhere in
//! this crate. Its physical blocks are superblocks of one block.

use flashloom_nand::{BlockId, Lpn, Nand, Origin, PlaneId, Ppn, Urgency};
use flashloom_units::{Lists, Violation, ensure, violation};

use crate::mapping::{Context, Site};
use crate::store::{Blocks, Pages, WornOut};
use crate::{FtlReport, Space};

flashloom_units::ids! {
    /// Logical blocks that share physical blocks: a superblock of the paper.
    AreaId,
}

/// Blocks of a chip that a collection copies to, besides those of the data and the U-blocks.
pub(super) const COLLECTED_TO: u32 = 1;

/// How pages are divided into areas, and areas among chips.
#[derive(Clone, Copy)]
pub(super) struct AreaShape {
    pub(super) areas: u32,
    chips: u32,
    /// Pages of an area, and of a block.
    pub(super) pages: u32,
    block_pages: u32,
    /// Whether neighbouring logical blocks are dealt to the chips in turn.
    spreads: bool,
    /// D-blocks of an area, its most U-blocks, and the U-blocks of a chip.
    pub(super) blocks: u32,
    update_blocks: u32,
    of_chip: u32,
}

impl AreaShape {
    /// Shape for N D-blocks and at most K U-blocks an area, and M U-blocks a chip. With `spreads` on n chips an area
    /// holds every n-th logical block; without, neighbouring ones.
    pub(super) fn new([blocks, update_blocks, of_chip]: [u32; 3], spreads: bool, site: &Site<'_>) -> Self {
        let geometry = site.geometry();
        let (chips, pages) = (geometry.total_dies(), blocks * geometry.pages);
        let areas = |pages: u64| site.space.logical_pages.div_ceil(pages) as u32;
        Self {
            areas: if spreads { areas(u64::from(pages) * u64::from(chips)) * chips } else { areas(pages.into()) },
            chips,
            pages,
            block_pages: geometry.pages,
            spreads,
            blocks,
            update_blocks,
            of_chip,
        }
    }

    /// Blocks of a chip that the data take.
    pub(super) fn data_blocks(&self) -> u32 {
        self.areas.div_ceil(self.chips) * self.blocks
    }

    /// Pages by the numbers that they have here: more than the host's where areas are not full.
    fn placed_pages(&self, space: &Space) -> u64 {
        if self.spreads { u64::from(self.areas) * u64::from(self.pages) } else { space.logical_pages }
    }

    /// The number that a page of the host has here: those of an area follow one another.
    pub(super) fn placed(&self, lpn: Lpn) -> Lpn {
        if !self.spreads {
            return lpn;
        }
        let (lbn, offset) = (lpn.0 / self.block_pages, lpn.0 % self.block_pages);
        let (chip, nth) = (lbn % self.chips, lbn / self.chips);
        let area = nth / self.blocks * self.chips + chip;
        Lpn(area * self.pages + nth % self.blocks * self.block_pages + offset)
    }

    pub(super) fn area_of(&self, lpn: Lpn) -> AreaId {
        AreaId(lpn.0 / self.pages)
    }

    pub(super) fn chip_of(&self, area: AreaId) -> u32 {
        area.0 % self.chips
    }
}

/// The pages and blocks of all areas.
pub(super) struct Areas {
    pub(super) shape: AreaShape,
    pub(super) blocks: Blocks,
    pub(super) pages: Pages,
    /// The blocks of each area, in the order in which they were opened, and their number.
    of_areas: Lists<BlockId>,
    held: Vec<u32>,
    valid: Vec<u32>,
    /// The blocks of each area that take pages: of the host, and survivors of collections. `NONE` if it is full.
    open: Vec<BlockId>,
    survivors: Vec<BlockId>,
    /// The areas of each chip that have U-blocks, in the order in which they got the first.
    updated: Lists<AreaId>,
    /// U-blocks of each chip in use.
    in_use: Vec<u32>,
}

flashloom_units::state! {
    Areas {
        nested blocks, pages, of_areas, held, valid;
        ids open [blocks.total()], survivors [blocks.total()];
        nested updated, in_use;
        fixed shape;
    }
}

impl Areas {
    pub(super) fn new(shape: &AreaShape, on: &Context<'_>) -> Self {
        let Context { space, ftl, nand } = *on;
        let mut blocks = Blocks::of_groups(nand, &ftl.params, 1);
        blocks.needed = shape.data_blocks() + shape.of_chip + COLLECTED_TO;
        let areas = shape.areas as usize;
        Self {
            shape: *shape,
            pages: Pages::new(&blocks.geometry, shape.placed_pages(space), true),
            of_areas: Lists::new(blocks.total(), shape.areas),
            held: vec![0; areas],
            valid: vec![0; areas],
            open: vec![BlockId::NONE; areas],
            survivors: vec![BlockId::NONE; areas],
            updated: Lists::new(shape.areas, shape.chips),
            in_use: vec![0; shape.chips as usize],
            blocks,
        }
    }

    /// Maps a page to a copy that was just programmed.
    pub(super) fn bind(&mut self, lpn: Lpn, page: Ppn) {
        let to = (self.blocks.block_of(page), page);
        let old = self.pages.bind(lpn, to, &mut self.blocks);
        self.valid[self.shape.area_of(lpn).at()] += u32::from(old.is_none());
    }

    /// Unmaps a page, if it is mapped.
    pub(super) fn unbind(&mut self, lpn: Lpn) {
        if self.pages.unbind(lpn, &mut self.blocks).is_some() {
            self.valid[self.shape.area_of(lpn).at()] -= 1;
        }
    }

    /// Physical blocks of an area.
    pub(super) fn held(&self, area: AreaId) -> u32 {
        self.held[area.at()]
    }

    fn with_room(&self, block: BlockId) -> Option<BlockId> {
        Some(block).filter(|&block| block.is_some() && !self.blocks.is_full(block))
    }

    /// The block that takes the host's pages of an area, if it has room.
    pub(super) fn open_block(&self, area: AreaId) -> Option<BlockId> {
        self.with_room(self.open[area.at()])
    }

    /// The block that takes survivors of an area, if it has room.
    pub(super) fn survivors_block(&self, area: AreaId) -> Option<BlockId> {
        self.with_room(self.survivors[area.at()])
    }

    pub(super) fn open_for_host(&mut self, area: AreaId) -> BlockId {
        self.open[area.at()] = self.take_block(area);
        self.open[area.at()]
    }

    pub(super) fn open_for_survivors(&mut self, area: AreaId) -> BlockId {
        self.survivors[area.at()] = self.take_block(area);
        self.survivors[area.at()]
    }

    fn take_block(&mut self, area: AreaId) -> BlockId {
        let chip = self.shape.chip_of(area);
        let block = self.blocks.open(PlaneId(chip));
        self.of_areas.push_back(area.at(), block);
        self.held[area.at()] += 1;
        if self.held(area) > self.shape.blocks {
            self.in_use[chip as usize] += 1;
        }
        if self.held(area) == self.shape.blocks + 1 {
            self.updated.push_back(chip as usize, area);
        }
        block
    }

    /// Erases a block of an area, which must have no valid pages.
    pub(super) fn erase(
        &mut self,
        nand: &mut Nand,
        report: &mut FtlReport,
        (area, block): (AreaId, BlockId),
        by: (Origin, Urgency),
    ) -> Result<(), WornOut> {
        let erased = self.blocks.reclaim(nand, report, block, by);
        self.of_areas.remove(block);
        if self.held(area) > self.shape.blocks {
            self.in_use[self.shape.chip_of(area) as usize] -= 1;
        }
        if self.held(area) == self.shape.blocks + 1 {
            self.updated.remove(area);
        }
        self.held[area.at()] -= 1;
        for taking in [&mut self.open[area.at()], &mut self.survivors[area.at()]] {
            if *taking == block {
                *taking = BlockId::NONE;
            }
        }
        erased
    }

    /// Whether an area of N blocks or more may open a U-block.
    pub(super) fn may_open_update_block(&self, area: AreaId) -> bool {
        let is_below_own_limit = self.held(area) < self.shape.blocks + self.shape.update_blocks;
        is_below_own_limit && self.in_use[self.shape.chip_of(area) as usize] < self.shape.of_chip
    }

    /// A block of an area without valid pages.
    pub(super) fn dead_block(&self, area: AreaId) -> Option<BlockId> {
        self.of_areas.iter(area.at()).find(|&block| self.blocks.valid_of(block) == 0)
    }

    /// Whether the valid pages of an area fit one block less than it has.
    pub(super) fn can_give(&self, area: AreaId) -> bool {
        self.valid[area.at()].div_ceil(self.blocks.pages()) < self.held(area)
    }

    /// Of the areas with U-blocks on the chip of an area, the one with the smallest share of valid pages among those
    /// programmed. There is one, because all U-blocks of the chip are in use.
    pub(super) fn least_utilised(&self, area: AreaId) -> AreaId {
        let chip = self.shape.chip_of(area) as usize;
        let pages = |of: AreaId| {
            let written: u32 = self.of_areas.iter(of.at()).map(|block| self.blocks.written(block)).sum();
            (of, u64::from(self.valid[of.at()]), u64::from(written))
        };
        let least = self.updated.iter(chip).map(pages).reduce(|least, other| {
            let is_less = other.1 * least.2 < least.1 * other.2;
            if is_less { other } else { least }
        });
        least.expect("an area has a U-block").0
    }

    /// The block of an area to be emptied next: the one with the fewest valid pages. Not the one that takes survivors,
    /// unless it is full or has none.
    pub(super) fn victim(&self, area: AreaId) -> BlockId {
        let takes = self.survivors_block(area);
        let valid = |block: BlockId| self.blocks.valid_of(block);
        let candidates = self.of_areas.iter(area.at()).filter(|&block| Some(block) != takes || valid(block) == 0);
        candidates.min_by_key(|&block| valid(block)).expect("an area with a block to give has several")
    }

    /// Whether a page of an area's range may be in this block, which is in use.
    pub(super) fn is_of(&self, block: BlockId, area: AreaId) -> bool {
        self.of_areas.iter(area.at()).any(|own| own == block)
    }

    /// Checks a loaded state against the loaded array.
    pub(super) fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        self.blocks.check_loaded(nand)?;
        if self.blocks.is_worn_out() {
            return self.pages.check_loaded(&self.blocks);
        }
        let mut area_of = vec![AreaId::NONE; self.blocks.total() as usize];
        let mut updated = vec![0; self.shape.areas as usize];
        let mut in_use = vec![0; self.in_use.len()];
        for area in (0..self.shape.areas).map(AreaId) {
            let chip = self.shape.chip_of(area);
            let mut blocks = 0;
            for block in self.of_areas.iter(area.at()) {
                area_of[block.at()] = area;
                blocks += 1;
                if self.blocks.plane_of(block).0 != chip {
                    return Err(violation!("superblocks: block {} is on another chip", block.0));
                }
            }
            let (open, survivors) = (self.open[area.at()], self.survivors[area.at()]);
            let is_own = |block: BlockId| block.is_none() || area_of[block.at()] == area;
            let is_apart = open.is_none() || open != survivors;
            let most = self.shape.blocks + self.shape.update_blocks;
            if !is_own(open) || !is_own(survivors) || !is_apart || blocks != self.held(area) || blocks > most {
                return Err(violation!("superblocks: superblock {} has not the blocks that it counts", area.0));
            }
            in_use[chip as usize] += blocks.saturating_sub(self.shape.blocks);
            updated[area.at()] = u32::from(blocks > self.shape.blocks);
        }
        let fits = |block: u32, area: &AreaId| self.blocks.fits_use(BlockId(block), area.is_some());
        if let Some((block, _)) = (0..).zip(&area_of).find(|&(block, area)| !fits(block, area)) {
            return Err(violation!("superblocks: block {block} is in use without a superblock, or the reverse"));
        }
        for chip in 0..self.shape.chips {
            for area in self.updated.iter(chip as usize) {
                let Some(left) = updated[area.at()].checked_sub(1).filter(|_| self.shape.chip_of(area) == chip) else {
                    return Err(violation!("superblocks: superblock {} has no U-block on chip {chip}", area.0));
                };
                updated[area.at()] = left;
            }
        }
        if in_use != self.in_use || in_use.iter().any(|&blocks| blocks > self.shape.of_chip) || updated.contains(&1) {
            return Err(Violation::new("superblocks: the U-blocks in use are not those counted"));
        }
        self.pages.check_loaded(&self.blocks)?;
        for (lpn, &page) in (0..).map(Lpn).zip(self.pages.map()).filter(|(_, page)| page.is_some()) {
            let is_own = area_of[self.blocks.block_of(page).at()] == self.shape.area_of(lpn);
            ensure!(is_own, "superblocks: page {} is in a block of another superblock", lpn.0);
        }
        Ok(())
    }

    /// Checks that map and reverse map agree, and that all counters agree with a recount.
    pub(super) fn check(&self) -> Result<(), Violation> {
        self.pages.check_with(&self.blocks)?;
        ensure!(
            self.pages.mapped_of_each(self.shape.pages) == self.valid,
            "superblocks: a superblock has not the valid pages that it counts"
        );
        Ok(())
    }
}
