//! Superblocks of a page-level mapping: a block of every plane of a die, allocated, written and collected as one.
//!
//! ```text
//! pages of a superblock of p planes:   page 0 of plane 0, .., page 0 of plane p - 1, page 1 of plane 0, ..
//! superpage i:                         pages i p to i p + p - 1: page i of each plane, one aligned multi-plane program
//! superblock s of a die:               the s-th block of each plane, not counting factory bad blocks
//! ```
//!
//! A page store works on a *folded* geometry, in which each die has one plane, whose blocks are the superblocks. Its
//! planes, blocks and physical pages are folded ones; [`Superblocks`] translates them to the array's when operations
//! are emitted. Without superblocks the two are the same.
//!
//! A superblock is the unit in which drives allocate and erase (Software-Enabled Flash API, "Super Blocks"). In most
//! drives it also spans dies; here it is of one die, so that dies work independently. Factory bad blocks cost only as
//! many superblocks as the worst plane of the die has bad blocks, because good blocks are combined wherever they are,
//! as in drives (patent application US 2026/0126924). The combination is fixed: a block that goes bad in use retires
//! its whole superblock, where a drive may combine the remaining blocks anew (patent US 11,640,259).
//!
//! The pages of a store may be mapping units (`crate::mapping_unit`): then its index of a page in a block counts units,
//! each of as many pages of the superblock, and a step writes a whole unit, which is a number of superpages.
//!
//! A store may also be over a region of the array, blocks of every plane in a cell mode of their own: its numbers then
//! begin at zero with the region's first block, and a block has as many pages as the mode gives it.
//!
//! O(1) per page. Memory: four bytes per block, none without superblocks and regions.

use flashloom_nand::{BlockId, Erase, Geometry, Nand, Origin, PlaneId, Ppn, Region, Shape, Status, Urgency};
use flashloom_units::Divisor;

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

/// The translation of folded blocks and pages to those of the array.
pub(crate) struct Superblocks {
    array: Geometry,
    /// Blocks of a superblock.
    width: u32,
    /// Pages of a mapping unit.
    unit_pages: u32,
    by_width: Divisor,
    by_pages: Divisor,
    /// The array's blocks that form each superblock, sorted by plane; empty if superblocks are single blocks with the
    /// array's numbers.
    members: Vec<BlockId>,
}

// Fixed: the members follow from the factory bad blocks, which follow from the seed.
flashloom_units::state! { Superblocks { fixed array, width, unit_pages, by_width, by_pages, members; } }

impl Superblocks {
    /// The most planes that a die can have.
    pub(crate) const MOST_PLANES: usize = 32;

    /// The superblocks of a region of an erased array: first of good blocks, as long as each plane of the die has one,
    /// then of the remaining blocks. Their pages are counted in units of `unit_pages`, which divide a block.
    pub(crate) fn new(nand: &Nand, superblock: Superblock, region: &Region, unit_pages: u32) -> Self {
        let array = *nand.geometry();
        let width = superpage(&array, superblock);
        let Geometry { blocks, pages, .. } = region.geometry(&array);
        let mut members = Vec::new();
        if width > 1 || *region != Region::whole(&array) {
            members = vec![BlockId::NONE; (array.total_planes() * blocks) as usize];
            let ordered = |plane: u32| {
                let of_plane = || region.blocks_of(&array, PlaneId(plane));
                let good = of_plane().filter(|&block| !nand.is_bad(block));
                good.chain(of_plane().filter(|&block| nand.is_bad(block)))
            };
            for plane in 0..array.total_planes() {
                let (die, plane_in_die) = (plane / width, plane % width);
                for (nth, block) in (0..).zip(ordered(plane)) {
                    members[((die * blocks + nth) * width + plane_in_die) as usize] = block;
                }
            }
        }
        let by_pages = Divisor::new(pages * width / unit_pages);
        Self { array, width, unit_pages, by_width: Divisor::new(width), by_pages, members }
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
        match self.of(superblock) {
            [] => nand.is_bad(superblock),
            members => members.iter().any(|&block| nand.is_bad(block)),
        }
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
        let (page, plane) = (self.by_width.quotient(index), self.by_width.remainder(index));
        (self.members[(superblock.0 * self.width + plane) as usize], page)
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
        match self.of(superblock) {
            [] => nand.use_other_cells(superblock),
            members => members.iter().for_each(|&block| nand.use_other_cells(block)),
        }
    }

    /// Whether a superblock is in the array's other cell mode.
    pub(crate) fn has_other_cells(&self, nand: &Nand, superblock: BlockId) -> bool {
        nand.has_other_cells(self.first(superblock))
    }

    /// The first block of a superblock.
    pub(crate) fn first(&self, superblock: BlockId) -> BlockId {
        self.of(superblock).first().copied().unwrap_or(superblock)
    }

    /// Erases all blocks of a superblock together; returns the number of erases that failed.
    pub(crate) fn erase(&self, nand: &mut Nand, superblock: BlockId, origin: Origin, urgency: Urgency) -> u32 {
        match self.of(superblock) {
            [] => u32::from(nand.erase(Erase { urgency, ..Erase::new(superblock, origin) }) != Status::Passed),
            members => nand.erase_together(members, origin, urgency),
        }
    }

    /// Number of pages or units of a superblock that are programmed; `None` if its blocks were not programmed in turn,
    /// or not erased together, or if a unit is not whole.
    pub(crate) fn written(&self, nand: &Nand, superblock: BlockId) -> Option<u32> {
        let single = [superblock];
        let members = if self.members.is_empty() { &single[..] } else { self.of(superblock) };
        let erases = nand.erase_counts()[members[0].at()];
        let written: u32 = members.iter().map(|&block| nand.written(block)).sum();
        let of_member = |plane: u32| self.by_width.quotient(written + self.width - 1 - plane);
        let in_step = (0..).zip(members).all(|(plane, &block)| {
            nand.written(block) == of_member(plane) && nand.erase_counts()[block.at()] == erases
        });
        let is_whole = written.is_multiple_of(self.unit_pages);
        (in_step && is_whole).then_some(written / self.unit_pages)
    }

    /// The blocks of a superblock; empty if folded numbers are those of the array.
    fn of(&self, superblock: BlockId) -> &[BlockId] {
        if self.members.is_empty() {
            return &[];
        }
        let first = superblock.at() * self.width as usize;
        &self.members[first..first + self.width as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_nand::{CellMode, NandParams};
    use flashloom_units::{ParamSet, Prng};
    use std::collections::BTreeSet;

    fn nand(planes: u32, bad_blocks: f64) -> Nand {
        let shape = NandParams { channels: 2, ways: 1, dies: 2, planes, ..NandParams::defaults() };
        let device = NandParams { blocks: 10, pages: 6, page_bytes: 512, bad_blocks, ..shape };
        Nand::new(&device).with_failures(&device, &Prng::new(3))
    }

    fn of_array(nand: &Nand, superblock: Superblock) -> Superblocks {
        Superblocks::new(nand, superblock, &Region::whole(nand.geometry()), 1)
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

    #[test]
    fn a_region_is_numbered_from_zero_and_has_the_pages_that_its_blocks_hold() {
        for superblock in [Superblock::None, Superblock::Die] {
            let nand = nand(2, 0.0);
            let array = *nand.geometry();
            let cells = CellMode { pages: 2, read_ns: 1, program_ns: 1 };
            let region = Region::new(3, 4).with_cells(cells);
            let folded = units(&region.geometry(&array), superblock);
            let superblocks = Superblocks::new(&nand, superblock, &region, 1);
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
