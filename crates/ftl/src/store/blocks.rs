//! The blocks of every mapping: state, write pointer, valid pages and erase count of each, and the free ones.
//!
//! Planes and blocks are those of the mapping's numbering ([`superblocks`](super::superblocks)). A log-block mapping
//! erases a block when it is done with it, so none of its blocks is ever closed, or a victim.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashloom_nand::{BlockId, Geometry, Nand, PlaneId, Ppn};
use flashloom_units::{Violation, ensure, prefetch, violation};
use serde::{Deserialize, Serialize};

use super::failures::{Upkeep, WornOut};
use super::levelling::Levelling;
use super::superblocks::{self, Superblocks};
use crate::allocation::stripe;
use crate::{FtlParams, RetiredBlocks, WearLevelling};

/// State of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BlockState {
    Free,
    /// In use: it takes pages, or a log-block mapping will merge it.
    Open,
    /// Full, and a candidate for garbage collection.
    Closed,
    /// Being collected.
    Victim,
    /// Never programmed or erased again. Its valid pages still have to be moved out.
    Bad,
    /// Of an SLC cache, unless it is being folded: then it is a victim.
    Cache,
}

fn of_plane(geometry: Geometry, plane: PlaneId) -> impl Iterator<Item = BlockId> + Clone {
    let first = geometry.first_block(plane).0;
    (first..first + geometry.blocks).map(BlockId)
}

/// State, pages and wear of every block; the free blocks of each plane.
pub(crate) struct Blocks {
    /// Planes, blocks and pages in the mapping's numbering.
    pub(crate) geometry: Geometry,
    /// Their place in the array.
    pub(crate) superblocks: Superblocks,
    order: WearLevelling,
    pub(super) levelling: Option<Levelling>,
    pub(super) state: Vec<BlockState>,
    /// Pages programmed since the last erase: the next one is programmed at this index.
    pub(super) written: Vec<u32>,
    valid: Vec<u32>,
    pub(super) erases: Vec<u32>,
    /// Free blocks of each plane as a heap: the next to open on top, by erase count or by time of release.
    free: Vec<BinaryHeap<Reverse<(u32, BlockId)>>>,
    freed: u32,
    total_free: u64,
    bad_in_plane: Vec<u32>,
    retired: RetiredBlocks,
    /// Good blocks of each plane without which a mapping that replaces blocks cannot go on; 0 for others.
    pub(crate) needed: u32,
    pub(super) is_worn_out: bool,
    pub(super) upkeep: Upkeep,
}

flashloom_units::state! {
    Blocks {
        array state, free;
        nested written, valid, erases, bad_in_plane, superblocks, levelling;
        value freed, total_free, retired, is_worn_out;
        fixed geometry, order, needed, upkeep;
    }
}

impl Blocks {
    /// All blocks of an erased array free, except factory bad blocks.
    pub(crate) fn new(geometry: Geometry, superblocks: Superblocks, params: &FtlParams, nand: &Nand) -> Self {
        let blocks = geometry.total_blocks() as usize;
        let of_plane = |plane| of_plane(geometry, PlaneId(plane));
        let is_levelled = params.wear_levelling == WearLevelling::Static;
        let is_bad = |block| superblocks.is_bad(nand, block);
        let planes = 0..geometry.total_planes();
        let free = |plane| of_plane(plane).filter(|&block| !is_bad(block)).map(|block| Reverse((0, block))).collect();
        let state = |block| if is_bad(BlockId(block)) { BlockState::Bad } else { BlockState::Free };
        let bad = |plane| of_plane(plane).filter(|&block| is_bad(block)).count() as u32;
        let bad_in_plane: Vec<u32> = planes.clone().map(bad).collect();
        let factory = bad_in_plane.iter().map(|&bad| u64::from(bad)).sum();
        Self {
            geometry,
            order: params.wear_levelling,
            levelling: is_levelled.then(|| Levelling::new(geometry.total_planes(), params.wear_threshold)),
            state: (0..blocks as u32).map(state).collect(),
            written: vec![0; blocks],
            valid: vec![0; blocks],
            erases: vec![0; blocks],
            free: planes.map(free).collect(),
            freed: 0,
            total_free: geometry.total_blocks() - factory,
            bad_in_plane,
            retired: RetiredBlocks { factory, ..RetiredBlocks::default() },
            needed: 0,
            is_worn_out: false,
            upkeep: Upkeep::default(),
            superblocks,
        }
    }

    /// Blocks of groups of `width` chips, which follow one another in the stripe: superblocks of a block of each, or of
    /// every plane of each.
    pub(crate) fn of_groups(nand: &Nand, params: &FtlParams, width: u32) -> Self {
        let array = nand.geometry();
        let mut seen = vec![false; array.total_dies() as usize];
        let dies = stripe(array, params.stripe_order).into_iter().map(|plane| array.die_of(plane));
        let dies: Vec<_> = dies.filter(|die| !std::mem::replace(&mut seen[die.at()], true)).collect();
        let superblocks = Superblocks::of_groups(nand, &dies, width, params.superblock);
        Self::new(superblocks::groups(&superblocks::units(array, params.superblock), width), superblocks, params, nand)
    }

    /// The blocks of a plane.
    pub(crate) fn of_plane(&self, plane: PlaneId) -> impl Iterator<Item = BlockId> + Clone + use<> {
        of_plane(self.geometry, plane)
    }

    /// Number of blocks.
    pub(crate) fn total(&self) -> u32 {
        self.state.len() as u32
    }

    /// Pages of a block.
    #[inline(always)]
    pub(crate) fn pages(&self) -> u32 {
        self.geometry.pages
    }

    /// The block of a page.
    #[inline(always)]
    pub(crate) fn block_of(&self, page: Ppn) -> BlockId {
        self.geometry.block_of(page)
    }

    /// The page of a block at an index.
    #[inline(always)]
    pub(crate) fn page(&self, block: BlockId, index: u32) -> Ppn {
        self.geometry.page(block, index)
    }

    /// The plane of a block.
    #[inline(always)]
    pub(crate) fn plane_of(&self, block: BlockId) -> PlaneId {
        self.geometry.plane_of(block)
    }

    /// Write pointer: pages programmed since the last erase, and the index of the next.
    #[inline(always)]
    pub(crate) fn written(&self, block: BlockId) -> u32 {
        self.written[block.at()]
    }

    /// Whether a block, in the array's own cell mode, has no page left.
    #[inline(always)]
    pub(crate) fn is_full(&self, block: BlockId) -> bool {
        self.written(block) == self.pages()
    }

    /// Advances the write pointer of a block by pages that are about to be programmed; returns the index of the first.
    #[inline(always)]
    pub(crate) fn take(&mut self, block: BlockId, pages: u32) -> u32 {
        let written = &mut self.written[block.at()];
        let first = *written;
        *written += pages;
        debug_assert!(*written <= self.geometry.pages, "a full block takes no page");
        first
    }

    /// Blocks of a plane that are not bad.
    pub(crate) fn usable_in(&self, plane: PlaneId) -> u32 {
        self.geometry.blocks - self.bad_in_plane[plane.at()]
    }

    /// Bad blocks of the array by cause; `None` if there are none and none can be.
    pub(crate) fn retired_in_array(&self, can_fail: bool) -> Option<RetiredBlocks> {
        let retired = self.retired.times(self.superblocks.width());
        (can_fail || retired.factory > 0).then_some(retired)
    }

    /// Whether the state of a block is one that it can have under a log-block mapping that uses it, or does not.
    pub(crate) fn fits_use(&self, block: BlockId, is_used: bool) -> bool {
        match self.state(block) {
            BlockState::Open => is_used,
            BlockState::Free | BlockState::Bad => !is_used,
            BlockState::Closed | BlockState::Victim | BlockState::Cache => false,
        }
    }

    /// Marks an open block as bad after a failed program; it takes no more pages.
    pub(crate) fn program_failed(&mut self, block: BlockId) {
        self.retired.program += 1;
        self.retire(block);
    }

    /// [`Self::program_failed`], unless the drive cannot go on without the block: then an error.
    pub(super) fn retire_failed(&mut self, block: BlockId) -> Result<(), WornOut> {
        self.program_failed(block);
        self.check_life(block)
    }

    /// An error from the moment on in which the plane of a block has too few good ones.
    pub(super) fn check_life(&mut self, block: BlockId) -> Result<(), WornOut> {
        self.is_worn_out |= self.usable_in(self.plane_of(block)) < self.needed;
        if self.is_worn_out { Err(WornOut) } else { Ok(()) }
    }

    /// Marks a block without valid pages as bad after a failed erase.
    pub(crate) fn erase_failed(&mut self, block: BlockId) {
        debug_assert_eq!(self.valid[block.at()], 0, "no valid page is ever erased");
        self.written[block.at()] = 0;
        self.retired.erase += 1;
        self.retire(block);
    }

    fn retire(&mut self, block: BlockId) {
        self.state[block.at()] = BlockState::Bad;
        self.bad_in_plane[self.geometry.plane_of(block).at()] += 1;
    }

    /// Free blocks of a plane.
    pub(crate) fn free_in(&self, plane: PlaneId) -> u32 {
        self.free[plane.at()].len() as u32
    }

    /// Free blocks.
    pub(crate) fn total_free(&self) -> u64 {
        self.total_free
    }

    /// Free blocks of the array.
    pub(crate) fn free_in_array(&self) -> u64 {
        self.total_free * u64::from(self.superblocks.width())
    }

    /// Valid pages of a block.
    #[inline]
    pub(crate) fn valid_of(&self, block: BlockId) -> u32 {
        self.valid[block.at()]
    }

    pub(crate) fn state(&self, block: BlockId) -> BlockState {
        self.state[block.at()]
    }

    pub(crate) fn set_state(&mut self, block: BlockId, state: BlockState) {
        self.state[block.at()] = state;
    }

    /// Whether no block was ever erased.
    pub(crate) fn is_unworn(&self) -> bool {
        self.freed == 0
    }

    /// Opens a free block of a plane, chosen by wear levelling.
    pub(crate) fn open(&mut self, plane: PlaneId) -> BlockId {
        self.open_another(plane, BlockId::NONE)
    }

    /// [`Self::open`], but opens `last` only if no other is free; `last` may be `NONE`.
    pub(crate) fn open_another(&mut self, plane: PlaneId, last: BlockId) -> BlockId {
        let free = &mut self.free[plane.at()];
        let first = free.pop().expect("a block is kept free in every plane");
        if first.0.1 != last {
            return self.opened(first.0.1);
        }
        let second = free.pop();
        let Reverse((_, block)) = second.unwrap_or(first);
        free.extend(second.map(|_| first));
        self.opened(block)
    }

    /// [`Self::open_another`] for an SLC cache.
    pub(crate) fn open_for_cache(&mut self, plane: PlaneId, last: BlockId) -> BlockId {
        let block = self.open_another(plane, last);
        self.set_state(block, BlockState::Cache);
        block
    }

    /// Opens the most worn free block of a plane, for cold data. Linear in the free blocks of the plane, which are few.
    pub(crate) fn open_worn(&mut self, plane: PlaneId) -> BlockId {
        let mut free = std::mem::take(&mut self.free[plane.at()]).into_vec();
        let worn = (0..free.len()).max_by_key(|&at| free[at].0).expect("a block is kept free in every plane");
        let Reverse((_, block)) = free.swap_remove(worn);
        self.free[plane.at()] = free.into();
        self.opened(block)
    }

    fn opened(&mut self, block: BlockId) -> BlockId {
        debug_assert_eq!((self.valid[block.at()], self.written(block)), (0, 0), "a free block is erased");
        self.state[block.at()] = BlockState::Open;
        self.total_free -= 1;
        block
    }

    /// The block whose data has to move after an erase of `erased`, of those of its plane that `can_move` holds for;
    /// `None` if the spread is small enough, or wear is not levelled so.
    pub(crate) fn coldest(&mut self, erased: BlockId, can_move: impl Fn(&Self, BlockId) -> bool) -> Option<BlockId> {
        let mut levelling = self.levelling.take()?;
        let plane = self.plane_of(erased);
        let blocks = (&self.erases[..], self.of_plane(plane));
        let coldest = levelling.coldest((plane, erased), blocks, |block| can_move(self, block));
        self.levelling = Some(levelling);
        coldest
    }

    /// Counts a block whose data moves because it is little worn.
    pub(crate) fn count_wear_move(&mut self) {
        self.levelling.iter_mut().for_each(|levelling| levelling.moves += 1);
    }

    /// Blocks whose data was moved because they were little worn, since the last reset; `None` if none ever is.
    pub(crate) fn wear_moves(&self) -> Option<u64> {
        self.levelling.as_ref().map(|levelling| levelling.moves)
    }

    /// Resets [`Self::wear_moves`].
    pub(crate) fn reset_wear_moves(&mut self) {
        self.levelling.iter_mut().for_each(|levelling| levelling.moves = 0);
    }

    /// Returns an erased block to the pool.
    pub(crate) fn release(&mut self, block: BlockId) {
        self.count_erase(block);
        self.state[block.at()] = BlockState::Free;
        self.total_free += 1;
        let rank = match self.order {
            WearLevelling::Dynamic | WearLevelling::Static => self.erases[block.at()],
            WearLevelling::None => self.freed,
        };
        self.free[self.geometry.plane_of(block).at()].push(Reverse((rank, block)));
    }

    /// Returns an erased block to the SLC cache that it is set aside for.
    pub(crate) fn release_to_cache(&mut self, block: BlockId) {
        self.count_erase(block);
        self.state[block.at()] = BlockState::Cache;
    }

    fn count_erase(&mut self, block: BlockId) {
        debug_assert_eq!(self.valid[block.at()], 0, "no valid page is ever erased");
        self.written[block.at()] = 0;
        self.erases[block.at()] += 1;
        self.freed += 1;
    }

    /// Counts a new valid page.
    #[inline]
    pub(crate) fn gained(&mut self, block: BlockId) {
        self.valid[block.at()] += 1;
    }

    /// Counts new valid pages.
    pub(crate) fn gained_row(&mut self, block: BlockId, pages: u32) {
        self.valid[block.at()] += pages;
    }

    /// Counts a page as dead; returns the number of valid pages left.
    #[inline]
    pub(crate) fn lost(&mut self, block: BlockId) -> u32 {
        self.valid[block.at()] -= 1;
        self.valid[block.at()]
    }

    /// Moves the count of valid pages from one block to another.
    #[inline]
    pub(crate) fn moved(&mut self, from: BlockId, to: BlockId, pages: u32) {
        self.valid[from.at()] -= pages;
        self.valid[to.at()] += pages;
    }

    /// Prefetches the state of a block into the processor's cache.
    #[inline]
    pub(crate) fn prepare(&self, block: BlockId) {
        prefetch(&self.valid, block.at());
        prefetch(&self.state, block.at());
    }

    /// Checks a loaded state: all tables agree about every block, and with the loaded array.
    pub(crate) fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        self.superblocks.check_loaded(self.geometry.total_planes())?;
        let blocks = self.state.len();
        let mut is_listed = vec![false; blocks];
        for (plane, free) in (0..).map(PlaneId).zip(&self.free) {
            for &Reverse((_, block)) in free {
                let is_free = block.at() < blocks
                    && self.geometry.plane_of(block) == plane
                    && self.state[block.at()] == BlockState::Free
                    && !std::mem::replace(&mut is_listed[block.at()], true);
                ensure!(is_free, "blocks: {} is none of the free ones of plane {}", block.0, plane.0);
            }
        }
        let (mut bad, mut erases) = (vec![0; self.free.len()], 0);
        for (block, &state) in (0..).map(BlockId).zip(&self.state) {
            if (state == BlockState::Free) != is_listed[block.at()] {
                return Err(violation!("blocks: {} is free, and not listed as such", block.0));
            }
            ensure!(self.is_as_in(nand, block), "blocks: {} is {state:?}, which the array denies", block.0);
            let (valid, written) = (self.valid_of(block), self.written(block));
            ensure!(valid <= written, "blocks: {} has {valid} valid pages of {written}", block.0);
            bad[self.geometry.plane_of(block).at()] += u32::from(state == BlockState::Bad);
            erases += u64::from(self.erases[block.at()]);
        }
        let free = is_listed.iter().filter(|&&is_free| is_free).count() as u64;
        let RetiredBlocks { factory, program, erase } = self.retired;
        let retired = [factory, program, erase].into_iter().fold(0, u64::saturating_add);
        let counted: u64 = bad.iter().map(|&bad| u64::from(bad)).sum();
        if (free, &bad, counted) != (self.total_free, &self.bad_in_plane, retired) {
            return Err(violation!(
                "blocks: {free} are free and {counted} bad, but {} and {retired} counted; bad ones by plane: {bad:?}",
                self.total_free
            ));
        }
        let mut planes = (0..self.geometry.total_planes()).map(PlaneId);
        if planes.any(|plane| self.usable_in(plane) < self.needed) != self.is_worn_out {
            return Err(violation!("blocks: worn out: {}, which their number denies", self.is_worn_out));
        }
        if erases != u64::from(self.freed) || self.freed > u32::MAX / 2 {
            return Err(violation!("blocks: {erases} erases, but {} counted", self.freed));
        }
        let known = self.levelling.as_ref();
        let of_plane = |plane| (&self.erases[..], self.of_plane(plane));
        let mut mistaken =
            (0..self.geometry.total_planes()).map(PlaneId).filter_map(|plane| known?.mistaken(plane, of_plane(plane)));
        match mistaken.next() {
            Some(block) => Err(violation!("blocks: {} was erased less often than all of its plane were", block.0)),
            None => Ok(()),
        }
    }

    /// Whether a block is bad in the array, too, or was programmed and erased there as often as it is counted here.
    fn is_as_in(&self, nand: &Nand, block: BlockId) -> bool {
        let is_bad = self.superblocks.is_bad(nand, block);
        let (state, written, programmed) =
            (self.state(block), self.written(block), self.superblocks.programmed(nand, block));
        let is_written = match state {
            BlockState::Bad => return is_bad && programmed == Some(written),
            BlockState::Free => written == 0,
            BlockState::Closed => written == self.pages(),
            BlockState::Open | BlockState::Victim | BlockState::Cache => true,
        };
        let in_array = (programmed, self.superblocks.erases(nand, block));
        !is_bad && is_written && in_array == (Some(written), Some(self.erases[block.at()]))
    }

    /// Number of blocks of the drive in a state.
    pub(crate) fn count(&self, state: BlockState) -> usize {
        self.state.iter().filter(|&&other| other == state).count()
    }

    /// Valid pages of the whole drive, summed over its blocks.
    pub(crate) fn total_valid(&self) -> u64 {
        self.valid.iter().map(|&valid| u64::from(valid)).sum()
    }
}
