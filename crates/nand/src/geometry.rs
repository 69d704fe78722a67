//! The shape of the array, and the arithmetic between its levels.
//!
//! Numbering is dense and nested: channel, way (chip), die, plane, block, page, each within the one before. A physical
//! page number is `block * pages_per_block + page`, a block `plane * blocks_per_plane + block in plane`, and so on up.

use crate::{BlockId, DieId, PlaneId, Ppn};
use flashloom_units::Divisor;

/// The number of channels, ways, dies and so on. Built with [`Self::new`], which precomputes the divisions.
///
/// Every module that converts page numbers on the hot path keeps its own copy, about 100 bytes: a shared one would cost
/// a pointer dereference per division. It never changes, so copies cannot differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Channels; each is one bus.
    pub channels: u32,
    /// Chips on each channel.
    pub ways: u32,
    /// Dies in each chip; a die runs one array operation (or one multi-plane group) at a time.
    pub dies: u32,
    /// Planes in each die.
    pub planes: u32,
    /// Erase blocks in each plane.
    pub blocks: u32,
    /// Pages in each block, programmed in order.
    pub pages: u32,
    /// Data bytes in a page.
    pub page_bytes: u32,
    by_pages: Divisor,
    by_blocks: Divisor,
    by_planes: Divisor,
    by_dies: Divisor,
}

/// The sizes of a geometry, each at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Channels.
    pub channels: u32,
    /// Chips on each channel.
    pub ways: u32,
    /// Dies in each chip.
    pub dies: u32,
    /// Planes in each die.
    pub planes: u32,
    /// Erase blocks in each plane.
    pub blocks: u32,
    /// Pages in each block.
    pub pages: u32,
    /// Data bytes in a page: 512 B to 16 KiB, a power of two.
    pub page_bytes: u32,
}

impl Geometry {
    /// The geometry of that shape.
    pub const fn new(shape: Shape) -> Self {
        let Shape { channels, ways, dies, planes, blocks, pages, page_bytes } = shape;
        Self {
            channels,
            ways,
            dies,
            planes,
            blocks,
            pages,
            page_bytes,
            by_pages: Divisor::new(pages),
            by_blocks: Divisor::new(blocks),
            by_planes: Divisor::new(planes),
            by_dies: Divisor::new(ways * dies),
        }
    }

    /// Dies in the drive.
    pub const fn total_dies(&self) -> u32 {
        self.channels * self.ways * self.dies
    }

    /// Planes in the drive.
    pub const fn total_planes(&self) -> u32 {
        self.total_dies() * self.planes
    }

    /// Erase blocks in the drive.
    pub const fn total_blocks(&self) -> u64 {
        self.total_planes() as u64 * self.blocks as u64
    }

    /// Pages in the drive; fits in 32 bits, or the configuration is refused.
    pub const fn total_pages(&self) -> u64 {
        self.total_blocks() * self.pages as u64
    }

    /// Data bytes in the drive, spare blocks included.
    pub const fn raw_bytes(&self) -> u64 {
        self.total_pages() * self.page_bytes as u64
    }

    /// 512-byte sectors in a page, at most 32 so that a page's sectors fit one bit mask.
    pub const fn sectors_per_page(&self) -> u32 {
        self.page_bytes / 512
    }

    /// The sector mask of a whole page: one bit per sector, all set.
    pub const fn full_mask(&self) -> u32 {
        u32::MAX >> (32 - self.sectors_per_page())
    }

    /// The block that a page is in.
    #[inline(always)]
    pub const fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(self.by_pages.quotient(ppn.0))
    }

    /// The index of a page within its block.
    #[inline(always)]
    pub const fn page_in_block(&self, ppn: Ppn) -> u32 {
        self.by_pages.remainder(ppn.0)
    }

    /// The page at `index` in a block.
    #[inline(always)]
    pub const fn page(&self, block: BlockId, index: u32) -> Ppn {
        Ppn(block.0 * self.pages + index)
    }

    /// The plane that a block is in.
    #[inline(always)]
    pub const fn plane_of(&self, block: BlockId) -> PlaneId {
        PlaneId(self.by_blocks.quotient(block.0))
    }

    /// The first block of a plane; its other blocks have the next numbers.
    pub const fn first_block(&self, plane: PlaneId) -> BlockId {
        BlockId(plane.0 * self.blocks)
    }

    /// The index of a plane within its die.
    #[inline(always)]
    pub const fn plane_in_die(&self, plane: PlaneId) -> u32 {
        self.by_planes.remainder(plane.0)
    }

    /// The die that a plane is in.
    #[inline(always)]
    pub const fn die_of(&self, plane: PlaneId) -> DieId {
        DieId(self.by_planes.quotient(plane.0))
    }

    /// The channel that a die is on.
    #[inline(always)]
    pub const fn channel_of(&self, die: DieId) -> u32 {
        self.by_dies.quotient(die.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_nest_and_number_densely() {
        let shape = Shape { channels: 2, ways: 3, dies: 2, planes: 4, blocks: 5, pages: 7, page_bytes: 4096 };
        let geometry = Geometry::new(shape);
        let mut last = None;
        for ppn in 0..geometry.total_pages() as u32 {
            let block = geometry.block_of(Ppn(ppn));
            let die = geometry.die_of(geometry.plane_of(block));
            assert_eq!(geometry.page(block, geometry.page_in_block(Ppn(ppn))), Ppn(ppn));
            assert!(last <= Some((geometry.channel_of(die), die, geometry.plane_of(block), block)));
            last = Some((geometry.channel_of(die), die, geometry.plane_of(block), block));
        }
        assert_eq!(last.map(|(channel, die, plane, block)| (channel, die.0, plane.0, block.0)), Some((1, 11, 47, 239)));
        assert_eq!(geometry.full_mask(), 0xff);
    }
}
