//! Cell modes: of a region, which is a range of blocks in every plane, or of a block until its next erase.
//!
//! An array has its own mode and at most one other. An operation belongs to a life of its block, and runs in the mode
//! of that life: the FTL may have emitted an erase, and programs in another mode, while a die still reads the block as
//! it was. So an operation carries the *row* of its page in the table of times, which is the page's index in its block,
//! plus the pages of a block if it is in the other mode. Planes that run one operation on the same row are aligned.

use flashloom_units::Ns;
use serde::{Deserialize, Serialize};

use crate::Nand;
use crate::geometry::{Geometry, Shape};
use crate::id::{BlockId, PlaneId};
use crate::params::NandParams;

/// The cell mode of a block, where it differs from the array's parameters. For example, a TLC block in SLC mode holds a
/// third of the pages and programs them faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellMode {
    /// Pages per block: the first ones of the block are used.
    pub pages: u32,
    /// tR of every page.
    pub read_ns: Ns,
    /// tPROG of every page.
    pub program_ns: Ns,
}

/// A range of blocks, the same in every plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first block, as its index in the plane.
    pub first: u32,
    /// Blocks in each plane.
    pub blocks: u32,
    /// Their cell mode; `None` is the array's own.
    pub cells: Option<CellMode>,
}

impl Region {
    /// The region of all blocks.
    pub const fn whole(array: &Geometry) -> Self {
        Self { first: 0, blocks: array.blocks, cells: None }
    }

    /// The region of `blocks` blocks per plane from index `first` on, in the array's own cell mode.
    pub const fn new(first: u32, blocks: u32) -> Self {
        Self { first, blocks, cells: None }
    }

    /// The same blocks in another cell mode.
    #[must_use]
    pub const fn with_cells(self, cells: CellMode) -> Self {
        Self { cells: Some(cells), ..self }
    }

    /// Pages per block.
    pub fn pages(&self, array: &Geometry) -> u32 {
        self.cells.map_or(array.pages, |cells| cells.pages)
    }

    /// The parameters of an array that consists of this region alone.
    pub fn params(&self, array: &NandParams) -> NandParams {
        let (shape, blocks) = (array.geometry(), self.blocks);
        // In the worst case all factory bad blocks of a plane are in the region.
        let bad = array.bad_blocks_a_plane().min(blocks);
        let bad_blocks = if bad == 0 { 0.0 } else { (f64::from(bad) + 0.5) / f64::from(blocks) };
        NandParams { blocks, pages: self.pages(&shape), bad_blocks, ..array.clone() }
    }

    /// The geometry of an array that consists of this region alone.
    pub fn geometry(&self, array: &Geometry) -> Geometry {
        let Geometry { channels, ways, dies, planes, page_bytes, .. } = *array;
        let (blocks, pages) = (self.blocks, self.pages(array));
        Geometry::new(Shape { channels, ways, dies, planes, blocks, pages, page_bytes })
    }

    /// The blocks of the region in a plane of the array.
    pub fn blocks_of(&self, array: &Geometry, plane: PlaneId) -> impl Iterator<Item = BlockId> + Clone + use<> {
        let first = array.first_block(plane).0 + self.first;
        (first..first + self.blocks).map(BlockId)
    }

    /// True if the array has all its blocks and pages, and it has at least one of each.
    pub fn is_within(&self, array: &Geometry) -> bool {
        let end = self.first.checked_add(self.blocks);
        let pages = self.pages(array);
        self.blocks > 0 && end.is_some_and(|end| end <= array.blocks) && (1..=array.pages).contains(&pages)
    }
}

/// How a block uses the other cell mode of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Use {
    /// Not: it is in the array's own mode.
    Never,
    /// Until its next erase.
    InThisLife,
    /// Always, as a block of a region.
    Always,
}

/// The other cell mode of an array, and the blocks that are in it as the FTL sees them: in the life that began with
/// the last erase emitted.
#[derive(Clone, Debug)]
pub(crate) struct CellModes {
    pub(crate) other: CellMode,
    of_block: Vec<Use>,
    /// Erases of each block in the other mode since the array was new, and those of them before the last reset.
    pub(crate) erases: Vec<u32>,
    pub(crate) erases_before: Vec<u32>,
    /// Pages read and programmed in the other mode since the last reset of the counters.
    pub(crate) pages: OtherPages,
}

/// Pages read and programmed in the array's other cell mode, for their energy: in timed mode each, in counting mode
/// only if the array has observers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherPages {
    /// Pages read, without retries.
    pub reads: u64,
    /// Pages programmed, failed programs and copies included.
    pub programs: u64,
}

flashloom_units::state! { CellModes { array of_block; nested erases, erases_before; value pages; fixed other; } }

impl CellModes {
    /// No block is in the other mode.
    pub(crate) fn new(array: &Geometry, other: CellMode) -> Self {
        let blocks = array.total_blocks() as usize;
        let (erases, pages) = (vec![0; blocks], OtherPages::default());
        Self { other, of_block: vec![Use::Never; blocks], erases_before: erases.clone(), erases, pages }
    }

    /// Uses all blocks of a region in the other mode, for good.
    pub(crate) fn set(&mut self, array: &Geometry, region: &Region) {
        for plane in (0..array.total_planes()).map(PlaneId) {
            region.blocks_of(array, plane).for_each(|block| self.of_block[block.at()] = Use::Always);
        }
    }

    /// Uses an erased block in the other mode until its next erase.
    pub(crate) fn enter(&mut self, block: BlockId) {
        let of_block = &mut self.of_block[block.at()];
        if *of_block == Use::Never {
            *of_block = Use::InThisLife;
        }
    }

    /// Returns an erased block to the array's own mode, unless its region is in the other one.
    pub(crate) fn erased(&mut self, block: BlockId, failed: bool) {
        self.erases[block.at()] += u32::from(self.has(block) && !failed);
        let of_block = &mut self.of_block[block.at()];
        if *of_block == Use::InThisLife {
            *of_block = Use::Never;
        }
    }

    /// [`Self::has`] for a page that is read now.
    #[cold]
    pub(crate) fn reads(&mut self, block: BlockId) -> bool {
        let has = self.has(block);
        self.pages.reads += u64::from(has);
        has
    }

    /// [`Self::has`] for a page that is programmed now.
    #[cold]
    pub(crate) fn programs(&mut self, block: BlockId) -> bool {
        let has = self.has(block);
        self.pages.programs += u64::from(has);
        has
    }

    /// Resets the counters, but not wear.
    pub(crate) fn reset_counts(&mut self) {
        self.erases_before.clone_from(&self.erases);
        self.pages = OtherPages::default();
    }

    /// Whether a block is in the other mode.
    pub(crate) fn has(&self, block: BlockId) -> bool {
        self.of_block[block.at()] != Use::Never
    }
}

impl Nand {
    /// Uses the blocks of a region in its cell mode. Call before anything is programmed.
    ///
    /// # Panics
    /// The region is not within the array, or the array has a third cell mode with it.
    #[must_use]
    pub fn with_region(mut self, region: &Region) -> Self {
        assert!(region.is_within(&self.geometry), "a region of the array: {region:?}");
        if let Some(cells) = region.cells {
            self = self.with_cells(cells);
            self.cells.iter_mut().for_each(|cells| cells.set(&self.geometry, region));
        }
        self
    }

    /// Lets blocks be used in another cell mode than the array's, each until its next erase:
    /// [`Self::use_other_cells`].
    ///
    /// # Panics
    /// A block has more pages in it than the array's own have, or the array has a third cell mode with it.
    #[must_use]
    pub fn with_cells(mut self, other: CellMode) -> Self {
        self.assert_new();
        assert!((1..=self.geometry.pages).contains(&other.pages), "a mode of the array's blocks: {other:?}");
        let cells = self.cells.get_or_insert_with(|| Box::new(CellModes::new(&self.geometry, other)));
        assert_eq!(cells.other, other, "an array has one cell mode beside its own");
        self
    }

    /// Uses an erased block in the other cell mode until its next erase.
    ///
    /// # Panics
    /// The array has no other cell mode.
    pub fn use_other_cells(&mut self, block: BlockId) {
        debug_assert_eq!(self.written[block.at()], 0, "the mode of a block changes while it is erased");
        self.cells.as_mut().expect("an array built with another cell mode").enter(block);
    }

    /// The other cell mode, if blocks are or can be used in one.
    pub fn other_cells(&self) -> Option<CellMode> {
        self.cells.as_ref().map(|cells| cells.other)
    }

    /// Erases of each block in the other cell mode: since the array was new, and before the last reset of the counters.
    /// Empty without another mode.
    pub fn erase_counts_of_other_cells(&self) -> (&[u32], &[u32]) {
        self.cells.as_ref().map_or((&[], &[]), |cells| (&cells.erases, &cells.erases_before))
    }

    /// Pages read and programmed in the other cell mode since the last reset of the counters; `None` without one.
    pub fn other_pages(&self) -> Option<OtherPages> {
        let moved = self.timed.as_ref().map_or(0, |timed| timed.moved_to_other);
        let with_moved = |pages: OtherPages| OtherPages { reads: pages.reads.saturating_add_signed(moved), ..pages };
        self.cells.as_ref().map(|cells| with_moved(cells.pages))
    }

    /// Pages that can be programmed before the next erase: those not programmed since the last erase, in blocks that
    /// are not bad. In timed mode an emitted program counts as done.
    pub fn erased_pages(&self) -> u64 {
        self.usable().map(|block| self.left_in(block)).sum()
    }

    /// [`Self::erased_pages`] in pages of the array's own cell mode: a block in SLC mode has the room of the block that
    /// it is again after its next erase.
    pub fn free_room(&self) -> u64 {
        let pages = u64::from(self.geometry.pages);
        self.usable().map(|block| self.left_in(block) * pages / u64::from(self.pages_of(block))).sum()
    }

    fn usable(&self) -> impl Iterator<Item = BlockId> {
        (0..self.written.len() as u32).map(BlockId).filter(|&block| !self.is_bad(block))
    }

    fn left_in(&self, block: BlockId) -> u64 {
        (self.pages_of(block) - self.written[block.at()]).into()
    }

    /// Whether a block is in the other cell mode, as emitted.
    pub fn has_other_cells(&self, block: BlockId) -> bool {
        self.cells.as_ref().is_some_and(|cells| cells.has(block))
    }

    /// What the rows of a block begin with ([`self`]): its first page's. `has` says whether the block is in the other
    /// cell mode, and counts what is done with it.
    #[inline(always)]
    pub(crate) fn row_of(&mut self, block: BlockId, has: fn(&mut CellModes, BlockId) -> bool) -> u16 {
        match &mut self.cells {
            None => 0,
            Some(cells) => u16::from(has(cells, block)) * self.geometry.pages as u16,
        }
    }
}
