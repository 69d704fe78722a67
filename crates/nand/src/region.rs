//! Regions of the array: blocks of every plane that are used in a way of their own.

use flashloom_units::Ns;

use crate::geometry::{Geometry, Shape};
use crate::id::{BlockId, PlaneId};
use crate::params::NandParams;

/// How the cells of a block are used, where it is not as the array's parameters say: a block of an array of three bits
/// a cell that stores one holds a third of the pages, and programs them sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellMode {
    /// Pages that a block holds, the first of those that it has.
    pub pages: u32,
    /// Time of the array to read a page.
    pub read_ns: Ns,
    /// Time of the array to program a page.
    pub program_ns: Ns,
}

/// Consecutive blocks of every plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first, by its index in its plane.
    pub first: u32,
    /// How many.
    pub blocks: u32,
    /// How their cells are used; nothing where that is the array's own way.
    pub cells: Option<CellMode>,
}

impl Region {
    /// All blocks.
    pub const fn whole(array: &Geometry) -> Self {
        Self { first: 0, blocks: array.blocks, cells: None }
    }

    /// The blocks of every plane from an index on, used in the array's own way.
    pub const fn new(first: u32, blocks: u32) -> Self {
        Self { first, blocks, cells: None }
    }

    /// The same blocks in another cell mode.
    #[must_use]
    pub const fn with_cells(self, cells: CellMode) -> Self {
        Self { cells: Some(cells), ..self }
    }

    /// Pages that each of its blocks holds.
    pub fn pages(&self, array: &Geometry) -> u32 {
        self.cells.map_or(array.pages, |cells| cells.pages)
    }

    /// An array that is nothing but the region.
    pub fn params(&self, array: &NandParams) -> NandParams {
        let (shape, blocks) = (array.geometry(), self.blocks);
        // All blocks that are bad from birth may lie in the region.
        let bad = array.bad_blocks_a_plane().min(blocks);
        let bad_blocks = if bad == 0 { 0.0 } else { (f64::from(bad) + 0.5) / f64::from(blocks) };
        NandParams { blocks, pages: self.pages(&shape), bad_blocks, ..array.clone() }
    }

    /// Its shape.
    pub fn geometry(&self, array: &Geometry) -> Geometry {
        let Geometry { channels, ways, dies, planes, page_bytes, .. } = *array;
        let (blocks, pages) = (self.blocks, self.pages(array));
        Geometry::new(Shape { channels, ways, dies, planes, blocks, pages, page_bytes })
    }

    /// Its blocks in a plane of the array.
    pub fn blocks_of(&self, array: &Geometry, plane: PlaneId) -> impl Iterator<Item = BlockId> + Clone + use<> {
        let first = array.first_block(plane).0 + self.first;
        (first..first + self.blocks).map(BlockId)
    }

    /// Whether all of it is there.
    pub fn is_within(&self, array: &Geometry) -> bool {
        let end = self.first.checked_add(self.blocks);
        let pages = self.pages(array);
        self.blocks > 0 && end.is_some_and(|end| end <= array.blocks) && (1..=array.pages).contains(&pages)
    }
}

/// The cell mode of each block, where not all are used in the array's own way.
#[derive(Clone, Debug)]
pub(crate) struct CellModes {
    of_block: Vec<Option<CellMode>>,
}

impl CellModes {
    pub(crate) fn new(array: &Geometry) -> Self {
        Self { of_block: vec![None; array.total_blocks() as usize] }
    }

    /// The blocks of a region are used as it says.
    pub(crate) fn set(&mut self, array: &Geometry, region: &Region) {
        for plane in (0..array.total_planes()).map(PlaneId) {
            region.blocks_of(array, plane).for_each(|block| self.of_block[block.at()] = region.cells);
        }
    }

    /// How a block is used, unless in the array's own way.
    pub(crate) fn of(&self, block: BlockId) -> Option<CellMode> {
        self.of_block[block.at()]
    }
}
