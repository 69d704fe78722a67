//! Superblocks: sets of `width` blocks, one on each chip of a group, that are written page by page in turn and erased
//! together.
//!
//! Chips form groups of `width` in the order of the stripe. Block b of every chip of a group makes one superblock. Page
//! i of it is page i / width of the block on chip i mod width, so writing it in order programs each block in order.
//! With a width of one a superblock is a block and a group is a chip; the single-channel mappings use it so.

use flashloom_nand::{BlockId, Data, DieId, Erase, Geometry, Nand, OpId, Origin, PageCopy, PlaneId, Ppn, Program};
use flashloom_nand::{Shape, Urgency};
use flashloom_units::{Divisor, Violation, violation};

use crate::allocation::stripe;
use crate::blocks::{BlockState, Blocks};
use crate::{FtlParams, FtlReport, PageWrite};

flashloom_units::ids! {
    /// A set of blocks, one on each chip of a group, that are written and erased together. With a group of one chip, a
    /// block.
    SuperblockId,
    /// A page of a superblock: `superblock * pages + index`, contiguous over the drive.
    Spn,
}

/// Write pointers and pool of all superblocks, and their blocks in the array.
pub(crate) struct Superblocks {
    /// Geometry of the pool, in which a superblock counts as a block and a group as a plane.
    units: Geometry,
    pool: Blocks,
    width: u32,
    by_width: Divisor,
    pages_per_block: u32,
    /// First block of each chip, in the order of the stripe.
    first: Vec<BlockId>,
    written: Vec<u32>,
}

flashloom_units::state! {
    Superblocks { nested written, pool; fixed units, width, by_width, pages_per_block, first; }
}

impl Superblocks {
    /// Superblocks of an erased array, in groups of `width` dies, which must divide the number of dies.
    pub(in crate::mapping) fn new(geometry: &Geometry, params: &FtlParams, width: u32) -> Self {
        let Geometry { planes, blocks, pages, page_bytes, .. } = *geometry;
        let first = dies(geometry, params).into_iter().map(|die| BlockId(die.0 * planes * blocks));
        let channels = geometry.total_dies() / width;
        let shape =
            Shape { channels, ways: 1, dies: 1, planes: 1, blocks: planes * blocks, pages: pages * width, page_bytes };
        let units = Geometry::new(shape);
        Self {
            units,
            pool: Blocks::new(units, params.wear_levelling, |_| false),
            width,
            by_width: Divisor::new(width),
            pages_per_block: pages,
            first: first.collect(),
            written: vec![0; units.total_blocks() as usize],
        }
    }

    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// Checks a loaded state against the loaded array: a superblock is free and erased, or in use with its pages
    /// programmed in turn.
    pub(in crate::mapping) fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        self.pool.check()?;
        for superblock in (0..self.total()).map(SuperblockId) {
            let (state, written) = (self.pool.state(unit(superblock)), self.written(superblock));
            let is_known = match state {
                BlockState::Free => written == 0,
                BlockState::Open => written <= self.pages() && self.valid(superblock) <= written,
                _ => false,
            };
            let is_of_array = |member: u32| {
                let block = self.block(superblock, member);
                let programmed = self.by_width.quotient(written + self.width - 1 - member);
                nand.written(block) == programmed
                    && nand.erase_counts()[block.at()] == self.pool.erase_counts()[superblock.at()]
            };
            if !is_known || !(0..self.width).all(is_of_array) {
                let id = superblock.0;
                return Err(violation!("log-block map: block {id} is {state:?} with {written} pages, which is not so"));
            }
        }
        Ok(())
    }

    /// The group of a superblock.
    pub(in crate::mapping) fn group_of(&self, superblock: SuperblockId) -> u32 {
        self.units.plane_of(unit(superblock)).0
    }

    /// Whether a superblock is in the pool.
    pub(in crate::mapping) fn is_free(&self, superblock: SuperblockId) -> bool {
        self.pool.state(unit(superblock)) == BlockState::Free
    }

    /// Pages in a superblock.
    pub(crate) fn pages(&self) -> u32 {
        self.units.pages
    }

    pub(in crate::mapping) fn groups(&self) -> u32 {
        self.units.total_planes()
    }

    /// Number of superblocks in the drive.
    pub(in crate::mapping) fn total(&self) -> u32 {
        self.written.len() as u32
    }

    pub(in crate::mapping) fn free_blocks(&self) -> u64 {
        self.pool.total_free() * u64::from(self.width)
    }

    /// Free superblocks of a group.
    pub(in crate::mapping) fn free_in(&self, group: u32) -> u32 {
        self.pool.free_in(PlaneId(group))
    }

    /// Write pointer: pages programmed since the last erase.
    #[inline]
    pub(crate) fn written(&self, superblock: SuperblockId) -> u32 {
        self.written[superblock.at()]
    }

    pub(crate) fn is_full(&self, superblock: SuperblockId) -> bool {
        self.written(superblock) == self.pages()
    }

    pub(crate) fn valid(&self, superblock: SuperblockId) -> u32 {
        self.pool.valid_of(unit(superblock))
    }

    pub(crate) fn superblock_of(&self, page: Spn) -> SuperblockId {
        SuperblockId(self.units.block_of(Ppn(page.0)).0)
    }

    pub(crate) fn page(&self, superblock: SuperblockId, index: u32) -> Spn {
        Spn(self.units.page(unit(superblock), index).0)
    }

    /// The physical page of a superblock's page.
    pub(crate) fn physical(&self, page: Spn) -> Ppn {
        let (block, index) = self.block_and_page(self.superblock_of(page), self.units.page_in_block(Ppn(page.0)));
        Ppn(block.0 * self.pages_per_block + index)
    }

    fn block_and_page(&self, superblock: SuperblockId, index: u32) -> (BlockId, u32) {
        (self.block(superblock, self.by_width.remainder(index)), self.by_width.quotient(index))
    }

    /// The block of a superblock on the `member`-th chip of its group.
    pub(in crate::mapping) fn block(&self, superblock: SuperblockId, member: u32) -> BlockId {
        let group = self.units.plane_of(unit(superblock));
        let in_group = superblock.0 - self.units.first_block(group).0;
        BlockId(self.first[(group.0 * self.width + member) as usize].0 + in_group)
    }

    /// The die of a group of one die; none if a group has several.
    pub(in crate::mapping) fn lone_die(&self, group: u32) -> Option<DieId> {
        (self.width == 1).then(|| DieId(self.first[group as usize].0 / self.units.blocks))
    }

    /// Takes a free superblock of a group, chosen by the pool's wear levelling.
    pub(in crate::mapping) fn allocate(&mut self, group: u32) -> SuperblockId {
        let superblock = SuperblockId(self.pool.open(PlaneId(group), BlockId::NONE).0);
        debug_assert_eq!(self.written(superblock), 0, "a free block is erased");
        superblock
    }

    /// Advances the write pointer of a superblock; returns the page in the superblock, and its block and page in the
    /// array.
    pub(in crate::mapping) fn take_page(&mut self, superblock: SuperblockId) -> (Spn, BlockId, u32) {
        let index = self.written[superblock.at()];
        debug_assert!(index < self.pages(), "a full block takes no page");
        self.written[superblock.at()] = index + 1;
        let (block, page) = self.block_and_page(superblock, index);
        (self.page(superblock, index), block, page)
    }

    /// Programs a page of the host to the next page of a superblock, not before `found` has ended, which finds its old
    /// copy. Returns the page programmed.
    #[inline]
    pub(in crate::mapping) fn write_page(
        &mut self,
        nand: &mut Nand,
        report: &mut FtlReport,
        write: &PageWrite,
        (old, found): (Spn, OpId),
        to: SuperblockId,
    ) -> Spn {
        let beneath = old.is_some().then(|| self.physical(old));
        let (page, block, index) = self.take_page(to);
        report.read_modify_writes += u64::from(write.program_after(nand, (block, index), beneath, found));
        report.host_page_writes += 1;
        page
    }

    /// Copies a page to the next page of a superblock, or programs a filler if there is none to copy. Returns the page
    /// programmed.
    #[inline]
    pub(in crate::mapping) fn copy_page(
        &mut self,
        nand: &mut Nand,
        from: Spn,
        to: SuperblockId,
        urgency: Urgency,
    ) -> Spn {
        let (page, block, index) = self.take_page(to);
        if from.is_some() {
            nand.copy(PageCopy { urgency, ..PageCopy::new(self.physical(from), block, index, Origin::Merge) });
        } else {
            nand.program(Program { urgency, ..Program::new(block, index, Data::Filler, Origin::Merge) });
        }
        page
    }

    pub(in crate::mapping) fn validated(&mut self, superblock: SuperblockId) {
        self.pool.gained(unit(superblock));
    }

    pub(in crate::mapping) fn invalidated(&mut self, superblock: SuperblockId) {
        self.pool.lost(unit(superblock));
    }

    /// Erases a superblock, which must have no valid pages, and returns it to the pool.
    pub(in crate::mapping) fn erase(&mut self, nand: &mut Nand, superblock: SuperblockId, urgency: Urgency) {
        assert_eq!(self.valid(superblock), 0, "no valid page is ever erased");
        for member in 0..self.width {
            nand.erase(Erase { urgency, ..Erase::new(self.block(superblock, member), Origin::Merge) });
        }
        self.written[superblock.at()] = 0;
        self.pool.release(unit(superblock));
    }
}

/// The id under which the pool counts a superblock.
const fn unit(superblock: SuperblockId) -> BlockId {
    BlockId(superblock.0)
}

/// All dies, in the order of their first appearance in the stripe.
fn dies(geometry: &Geometry, params: &FtlParams) -> Vec<DieId> {
    let mut seen = vec![false; geometry.total_dies() as usize];
    let planes = stripe(geometry, params.stripe_order).into_iter();
    planes.map(|plane| geometry.die_of(plane)).filter(|die| !std::mem::replace(&mut seen[die.at()], true)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::ParamSet;

    #[test]
    fn every_page_of_the_array_belongs_to_one_superblock_and_is_written_in_order() {
        let shape = Shape { channels: 2, ways: 3, dies: 1, planes: 2, blocks: 4, pages: 8, page_bytes: 512 };
        let geometry = Geometry::new(shape);
        for width in [1, 2, 3, 6] {
            let mut blocks = Superblocks::new(&geometry, &FtlParams::defaults(), width);
            let mut next = vec![0; geometry.total_blocks() as usize];
            for superblock in (0..blocks.total()).map(SuperblockId) {
                for _ in 0..blocks.pages() {
                    let (page, block, index) = blocks.take_page(superblock);
                    assert_eq!(blocks.physical(page), geometry.page(block, index));
                    assert_eq!(next[block.at()], index);
                    next[block.at()] += 1;
                }
            }
            assert!(next.iter().all(|&pages| pages == geometry.pages));
        }
    }

    #[test]
    fn neighbouring_pages_of_a_superblock_are_on_different_channels() {
        let shape = Shape { channels: 4, ways: 2, dies: 1, planes: 1, blocks: 2, pages: 8, page_bytes: 512 };
        let geometry = Geometry::new(shape);
        let blocks = Superblocks::new(&geometry, &FtlParams::defaults(), 4);
        let channel = |page| {
            let block = geometry.block_of(blocks.physical(Spn(page)));
            geometry.channel_of(geometry.die_of(geometry.plane_of(block)))
        };
        assert_eq!((0..4).map(channel).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }
}
