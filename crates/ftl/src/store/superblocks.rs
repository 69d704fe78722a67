//! Superblocks: blocks of several planes or chips that are allocated, written and erased as one.
//!
//! ```text
//! of a die (page-level mappings):      a block of each plane
//! of a group (log-block mappings):     a block of each of `width` chips, which follow one another in the stripe; every
//!                                      block of a chip takes part, whatever its plane. Or of a die, as above
//! superblock s of either:              the s-th block of each, not counting factory bad blocks
//! pages of a superblock of n blocks:   page 0 of block 0, .., page 0 of block n - 1, page 1 of block 0, ..
//! superpage i of a die:                pages i n to i n + n - 1: page i of each block, one aligned multi-plane program
//! ```
//!
//! A store works on a *folded* geometry, in which each die, or group, has one plane, whose blocks are the superblocks.
//! Its planes, blocks and physical pages are folded ones; [`Superblocks`] translates them to the array's when
//! operations are emitted. Without superblocks the two are the same. With a group of one chip a superblock is a block.
//!
//! A superblock is the unit in which drives allocate and erase (Software-Enabled Flash API, "Super Blocks"). In most
//! drives it also spans dies; under a page-level mapping here it is of one die, so that dies work independently.
//! Factory bad blocks cost only as many superblocks as the worst plane of the die has bad blocks, because good blocks
//! are combined wherever they are, as in drives (patent application US 2026/0126924). The combination is fixed: a block
//! that goes bad in use retires its whole superblock, where a drive may combine the remaining blocks anew (patent US
//! 11,640,259).
//!
//! The pages of a store may be mapping units (`crate::mapping_unit`): then its index of a page in a block counts units,
//! each of as many pages of the superblock, and a step writes a whole unit, which is a number of superpages.
//!
//! A store may also be over a region of the array, blocks of every plane in a cell mode of their own: its numbers then
//! begin at zero with the region's first block, and a block has as many pages as the mode gives it.
//!
//! O(1) per page. Memory: four bytes per block, none where superblocks are the array's blocks.

use flashloom_nand::{BlockId, DieId, Erase, Geometry, Nand, Origin, PlaneId, Ppn, Region, Shape, Status, Urgency};
use flashloom_units::{Divisor, Violation, ensure};

use crate::Superblock;

/// Pages of a superpage: consecutive pages of a folded block, which the planes of a die program together.
pub(crate) fn superpage(array: &Geometry, superblock: Superblock) -> u32 {
    match superblock {
        Superblock::None => 1,
        Superblock::Die => array.planes,
    }
}

/// The folded geometry: planes, blocks and pages as a page-level mapping sees them.
pub(crate) fn units(array: &Geometry, superblock: Superblock) -> Geometry {
    let width = superpage(array, superblock);
    let Geometry { channels, ways, dies, planes, blocks, pages, page_bytes, .. } = *array;
    Geometry::new(Shape { channels, ways, dies, planes: planes / width, blocks, pages: pages * width, page_bytes })
}

/// The folded geometry of groups of `width` dies: each is a plane, whose blocks are the superblocks of the group.
pub(crate) fn groups(array: &Geometry, width: u32) -> Geometry {
    let Geometry { planes, blocks, pages, page_bytes, .. } = *array;
    let (channels, blocks, pages) = (array.total_dies() / width, planes * blocks, pages * width);
    Geometry::new(Shape { channels, ways: 1, dies: 1, planes: 1, blocks, pages, page_bytes })
}

/// The translation of folded blocks and pages to those of the array.
pub(crate) struct Superblocks {
    array: Geometry,
    /// Blocks of a superblock.
    width: u32,
    /// Pages of a mapping unit.
    unit_pages: u32,
    by_width: Divisor,
    by_pages: Divisor,
    /// The array's blocks that form each superblock, in the order in which its pages are dealt to them; empty if
    /// superblocks are single blocks with the array's numbers.
    members: Vec<BlockId>,
}

flashloom_units::state! {
    Superblocks {
        ids members [array.total_blocks()];
        fixed array, width, unit_pages, by_width, by_pages;
    }
}

impl Superblocks {
    /// The most planes that a die can have.
    pub(crate) const MOST_PLANES: usize = 32;

    /// The superblocks of dies, or single blocks, in a region of an erased array. Their pages are counted in units of
    /// `unit_pages`, which divide a block.
    pub(crate) fn of_dies(nand: &Nand, superblock: Superblock, region: &Region, unit_pages: u32) -> Self {
        let array = *nand.geometry();
        let width = superpage(&array, superblock);
        let planes = if width > 1 || *region != Region::whole(&array) { array.total_planes() } else { 0 };
        let columns = (0..planes).map(|plane| region.blocks_of(&array, PlaneId(plane)));
        Self::new(nand, (width, region.pages(&array) * width / unit_pages, unit_pages), columns)
    }

    /// The superblocks of groups of `width` dies, which are given in the order of their groups, and which `width`
    /// divides. All blocks of a die take part: one of any plane in each superblock, or one of every plane.
    pub(crate) fn of_groups(nand: &Nand, dies: &[DieId], width: u32, superblock: Superblock) -> Self {
        let array = nand.geometry();
        let of_die = superpage(array, superblock);
        let (width, blocks) = (width * of_die, array.planes * array.blocks / of_die);
        let columns = dies.iter().flat_map(|die| die.0 * of_die..(die.0 + 1) * of_die);
        let columns = columns.map(|column| (column * blocks..(column + 1) * blocks).map(BlockId));
        Self::new(nand, (width, array.pages * width, 1), columns)
    }

    /// Superblocks of a block of each of `width` columns: first of good blocks, as long as every column has one, then
    /// of the remaining blocks. Without columns, single blocks of the whole array.
    fn new<C: Iterator<Item = BlockId> + Clone>(
        nand: &Nand,
        (width, pages, unit_pages): (u32, u32, u32),
        columns: impl Iterator<Item = C>,
    ) -> Self {
        let columns: Vec<C> = columns.collect();
        let good_first = |blocks: &C| {
            let good = blocks.clone().filter(|&block| !nand.is_bad(block));
            good.chain(blocks.clone().filter(|&block| nand.is_bad(block)))
        };
        let mut members = Vec::new();
        for set in columns.chunks(width as usize) {
            let mut set: Vec<_> = set.iter().map(good_first).collect();
            while let Some(block) = set[0].next() {
                members.push(block);
                members.extend(set[1..].iter_mut().filter_map(Iterator::next));
            }
        }
        let (by_width, by_pages) = (Divisor::new(width), Divisor::new(pages));
        Self { array: *nand.geometry(), width, unit_pages, by_width, by_pages, members }
    }

    /// Whether the array has a block.
    pub(super) fn has(&self, block: BlockId) -> bool {
        u64::from(block.0) < self.array.total_blocks()
    }

    /// Exchanges the blocks of two superblocks.
    pub(super) fn swap(&mut self, one: BlockId, other: BlockId) {
        let width = self.width as usize;
        let first = |superblock: BlockId| superblock.at() * width;
        (0..width).for_each(|member| self.members.swap(first(one) + member, first(other) + member));
    }

    /// Checks loaded superblocks: each block of the array is in one of them at most, and the blocks that their pages
    /// are dealt to in turn are of one die each.
    pub(super) fn check_loaded(&self, planes: u32) -> Result<(), Violation> {
        let mut is_member = vec![false; self.array.total_blocks() as usize];
        let of_plane = self.members.len().div_ceil(planes as usize).max(1);
        for superblocks in self.members.chunks(of_plane) {
            for (block, first) in superblocks.iter().zip(superblocks.iter().cycle().take(self.width as usize).cycle()) {
                let is_new = block.is_some() && !std::mem::replace(&mut is_member[block.at()], true);
                let is_there = is_new && first.is_some() && self.die_of(*block) == self.die_of(*first);
                ensure!(
                    is_there,
                    "superblocks: block {} is in two of them, or on another die than the others of its place",
                    block.0
                );
            }
        }
        Ok(())
    }

    /// Blocks of a superblock.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// Pages of the array in a mapping unit.
    #[inline(always)]
    pub(crate) fn unit_pages(&self) -> u32 {
        self.unit_pages
    }

    /// Pages of a superpage, or 1 if they are units, which are superpages themselves.
    #[inline(always)]
    pub(crate) fn superpage(&self) -> u32 {
        if self.unit_pages == 1 { self.width } else { 1 }
    }

    /// True if the store's numbers of blocks and pages are those of the array, because no blocks are folded and no
    /// pages are units.
    #[inline(always)]
    pub(crate) fn are_blocks(&self) -> bool {
        self.members.is_empty() && self.unit_pages == 1
    }

    /// Pages left in the current superpage, given the superblock's write pointer.
    #[inline(always)]
    pub(crate) fn left_of_superpage(&self, index: u32) -> u32 {
        if self.superpage() == 1 { 1 } else { self.width - self.by_width.remainder(index) }
    }

    /// True if a block of the superblock is bad.
    pub(crate) fn is_bad(&self, nand: &Nand, superblock: BlockId) -> bool {
        self.of(&superblock).iter().any(|&block| nand.is_bad(block))
    }

    /// The block of the array, and the page in it, of a page of a superblock: of a unit, the first.
    #[inline(always)]
    pub(crate) fn page(&self, superblock: BlockId, index: u32) -> (BlockId, u32) {
        self.place(superblock, index, 0)
    }

    /// The block of the array, and the page in it, at a place of a unit of a superblock.
    #[inline(always)]
    pub(crate) fn place(&self, superblock: BlockId, index: u32, place: u32) -> (BlockId, u32) {
        if self.are_blocks() {
            return (superblock, index);
        }
        let index = index * self.unit_pages + place;
        if self.members.is_empty() {
            return (superblock, index);
        }
        let (page, member) = (self.by_width.quotient(index), self.by_width.remainder(index));
        (self.members[(superblock.0 * self.width + member) as usize], page)
    }

    /// The page of the array of a folded physical page, of a unit the first; [`Ppn::NONE`] stays that.
    #[inline(always)]
    pub(crate) fn ppn(&self, ppn: Ppn) -> Ppn {
        self.ppn_of_place(ppn, 0)
    }

    /// The page of the array at a place of a unit; [`Ppn::NONE`] stays that.
    #[inline(always)]
    pub(crate) fn ppn_of_place(&self, unit: Ppn, place: u32) -> Ppn {
        if self.are_blocks() || unit.is_none() {
            return unit;
        }
        let (superblock, index) = (BlockId(self.by_pages.quotient(unit.0)), self.by_pages.remainder(unit.0));
        let (block, page) = self.place(superblock, index, place);
        self.array.page(block, page)
    }

    /// Uses the blocks of an erased superblock in the array's other cell mode until their next erase.
    pub(crate) fn use_other_cells(&self, nand: &mut Nand, superblock: BlockId) {
        self.of(&superblock).iter().for_each(|&block| nand.use_other_cells(block));
    }

    /// Whether a superblock is in the array's other cell mode.
    pub(crate) fn has_other_cells(&self, nand: &Nand, superblock: BlockId) -> bool {
        nand.has_other_cells(self.first(superblock))
    }

    /// The first block of a superblock.
    pub(crate) fn first(&self, superblock: BlockId) -> BlockId {
        self.of(&superblock)[0]
    }

    /// The die of a superblock; none if it has blocks of several.
    pub(crate) fn lone_die(&self, superblock: BlockId) -> Option<DieId> {
        let mut dies = self.of(&superblock).iter().map(|&block| self.die_of(block));
        let die = dies.next()?;
        dies.all(|other| other == die).then_some(die)
    }

    fn die_of(&self, block: BlockId) -> DieId {
        self.array.die_of(self.array.plane_of(block))
    }

    /// Erases all blocks of a superblock, those of a die together; returns the number of erases that failed.
    pub(crate) fn erase(&self, nand: &mut Nand, superblock: BlockId, origin: Origin, urgency: Urgency) -> u32 {
        let of_dies = self.of(&superblock).chunk_by(|&one, &other| self.die_of(one) == self.die_of(other));
        let erase = |blocks: &[BlockId]| match *blocks {
            [block] => u32::from(nand.erase(Erase { urgency, ..Erase::new(block, origin) }) != Status::Passed),
            _ => nand.erase_together(blocks, origin, urgency),
        };
        of_dies.map(erase).sum()
    }

    /// Number of pages or units of a superblock that are programmed; `None` if its blocks were not programmed in turn,
    /// or if a unit is not whole.
    pub(crate) fn programmed(&self, nand: &Nand, superblock: BlockId) -> Option<u32> {
        let members = self.of(&superblock);
        let written: u32 = members.iter().map(|&block| nand.written(block)).sum();
        let of_member = |member: u32| self.by_width.quotient(written + self.width - 1 - member);
        let in_step = (0..).zip(members).all(|(member, &block)| nand.written(block) == of_member(member));
        (in_step && written.is_multiple_of(self.unit_pages)).then_some(written / self.unit_pages)
    }

    /// Erases of a superblock; `None` if its blocks were not erased together.
    pub(crate) fn erases(&self, nand: &Nand, superblock: BlockId) -> Option<u32> {
        let members = self.of(&superblock);
        let erases = nand.erase_counts()[members[0].at()];
        members.iter().all(|block| nand.erase_counts()[block.at()] == erases).then_some(erases)
    }

    /// The blocks of a superblock.
    fn of<'a>(&'a self, superblock: &'a BlockId) -> &'a [BlockId] {
        if self.members.is_empty() {
            return std::slice::from_ref(superblock);
        }
        let first = superblock.at() * self.width as usize;
        &self.members[first..first + self.width as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FtlParams;
    use crate::store::Blocks;
    use flashloom_nand::{CellMode, NandParams};
    use flashloom_units::{ParamSet, Prng};
    use std::collections::BTreeSet;

    fn nand(planes: u32, bad_blocks: f64) -> Nand {
        let shape = NandParams { channels: 2, ways: 1, dies: 2, planes, ..NandParams::defaults() };
        let device = NandParams { blocks: 10, pages: 6, page_bytes: 512, bad_blocks, ..shape };
        Nand::new(&device).with_failures(&device, &Prng::new(3))
    }

    fn of_array(nand: &Nand, superblock: Superblock) -> Superblocks {
        Superblocks::of_dies(nand, superblock, &Region::whole(nand.geometry()), 1)
    }

    #[test]
    fn every_page_of_the_array_is_one_page_of_a_superblock_of_its_die_and_a_superpage_is_aligned() {
        for planes in [1, 2, 3, 4] {
            let nand = nand(planes, 0.0);
            let array = *nand.geometry();
            let folded = units(&array, Superblock::Die);
            let superblocks = of_array(&nand, Superblock::Die);
            let mut seen = vec![false; array.total_pages() as usize];
            for ppn in (0..folded.total_pages() as u32).map(Ppn) {
                let (block, index) = (folded.block_of(ppn), folded.page_in_block(ppn));
                let page = superblocks.ppn(ppn);
                assert!(!std::mem::replace(&mut seen[page.at()], true));
                assert_eq!(array.die_of(array.plane_of(array.block_of(page))), folded.die_of(folded.plane_of(block)));
                assert_eq!(array.page_in_block(page), index / planes, "in step with its superpage");
                assert_eq!(array.plane_in_die(array.plane_of(array.block_of(page))), index % planes);
            }
            assert_eq!(superblocks.ppn(Ppn::NONE), Ppn::NONE);
        }
    }

    #[test]
    fn bad_blocks_cost_as_many_superblocks_as_a_plane_has_of_them() {
        let nand = nand(4, 0.2);
        let superblocks = of_array(&nand, Superblock::Die);
        for die in 0..4 {
            let bad = (die * 10..die * 10 + 10).filter(|&block| superblocks.is_bad(&nand, BlockId(block)));
            assert_eq!(bad.collect::<Vec<_>>(), [die * 10 + 8, die * 10 + 9]);
        }
        let single = of_array(&nand, Superblock::None);
        assert!((0..160).map(BlockId).all(|block| single.is_bad(&nand, block) == nand.is_bad(block)));
    }

    /// The chips of a group are neighbours in the stripe, which goes over the channels first by default.
    #[test]
    fn every_page_of_the_array_is_one_page_of_a_group_and_its_pages_are_dealt_to_the_channels() {
        let shape = NandParams { channels: 2, ways: 3, dies: 1, planes: 2, ..NandParams::defaults() };
        let nand = Nand::new(&NandParams { blocks: 4, pages: 8, page_bytes: 512, ..shape });
        let array = *nand.geometry();
        for width in [1, 2, 3, 6] {
            let mut blocks = Blocks::of_groups(&nand, &FtlParams::defaults(), width);
            let mut next = vec![0; array.total_blocks() as usize];
            for group in 0..6 / width {
                for _ in 0..array.planes * array.blocks {
                    let superblock = blocks.open(PlaneId(group));
                    let mut channels = Vec::new();
                    for index in 0..blocks.pages() {
                        assert_eq!(blocks.take(superblock, 1), index);
                        let page = blocks.in_array(blocks.page(superblock, index));
                        let block = array.block_of(page);
                        assert_eq!(array.page_in_block(page), next[block.at()], "blocks are programmed in order");
                        next[block.at()] += 1;
                        channels.push(array.channel_of(array.die_of(array.plane_of(block))));
                    }
                    let in_turn = |pair: &[u32]| width % 2 == 1 || pair[1] == (pair[0] + 1) % 2;
                    assert!(channels.windows(2).all(in_turn), "{channels:?}");
                }
            }
            assert!(next.iter().all(|&pages| pages == array.pages));
        }
    }

    #[test]
    fn bad_blocks_of_a_group_meet_in_its_last_superblocks() {
        let nand = nand(2, 0.2);
        for width in [1, 2, 4] {
            let blocks = Blocks::of_groups(&nand, &FtlParams::defaults(), width);
            // Each of the four dies has two planes of ten blocks, two of which are bad.
            for group in 0..4 / width {
                let bad = (group * 20..group * 20 + 20).filter(|&id| blocks.superblocks.is_bad(&nand, BlockId(id)));
                assert_eq!(bad.collect::<Vec<_>>(), (group * 20 + 16..group * 20 + 20).collect::<Vec<_>>());
                assert_eq!(blocks.usable_in(PlaneId(group)), 16);
            }
            assert_eq!(blocks.retired_in_array(false).map(|retired| retired.factory), Some(16));
        }
    }

    #[test]
    fn a_region_is_numbered_from_zero_and_has_the_pages_that_its_blocks_hold() {
        for superblock in [Superblock::None, Superblock::Die] {
            let nand = nand(2, 0.0);
            let array = *nand.geometry();
            let cells = CellMode { pages: 2, read_ns: 1, program_ns: 1 };
            let region = Region::new(3, 4).with_cells(cells);
            let folded = units(&region.geometry(&array), superblock);
            let superblocks = Superblocks::of_dies(&nand, superblock, &region, 1);
            let pages: BTreeSet<_> = (0..folded.total_pages() as u32).map(|ppn| superblocks.ppn(Ppn(ppn))).collect();
            assert_eq!(pages.len() as u32, array.total_planes() * 4 * 2);
            let is_inside = |&page: &Ppn| {
                let block = array.block_of(page);
                (3..7).contains(&(block.0 % array.blocks)) && array.page_in_block(page) < 2
            };
            assert!(pages.iter().all(is_inside));
        }
    }
}
