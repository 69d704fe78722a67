//! Blocks that fail, under mappings that name the block of every page: another block takes the place of a failed one.
//!
//! ```text
//! a program fails:  a free block of the plane gets the number of the failed one, and copies of the pages before the
//!                   failed one; then the page itself is programmed there. No map or list changes
//! an erase fails:   the block is not used again
//! worn out:         a plane has fewer good blocks than its mapping needs
//! ```
//!
//! Dead pages are copied, too: blocks are programmed in order, a page may be copied before it is mapped, and a spare
//! area may still be needed. A failed program costs its own time and at most N - 1 copies, N being the pages of a
//! block, whatever the block was used for. A block may fail while it takes the place of another, at the same price.

use super::Blocks;
use super::failures::{Replaced, WornOut};
use crate::FtlReport;
use flashloom_nand::{BlockId, Nand, Origin, Status, Urgency};

impl Blocks {
    /// What replacing blocks took since the last call; `None` if none was replaced.
    #[inline(always)]
    pub(crate) fn take_replaced(&mut self) -> Option<Replaced> {
        (self.replaced.failures > 0).then(|| std::mem::take(&mut self.replaced))
    }

    /// Whether a plane has fewer good blocks than the mapping needs.
    pub(crate) fn is_worn_out(&self) -> bool {
        self.is_worn_out
    }

    /// Puts another block in the place of an open one whose last program has failed; the next page that it takes is
    /// the one that failed. Its other pages are copied by `by`.
    ///
    /// # Errors
    /// No block is left for it. Then it stays in its place, with the pages that it had before.
    #[cold]
    pub(super) fn replace(&mut self, nand: &mut Nand, block: BlockId, by: (Origin, Urgency)) -> Result<(), WornOut> {
        let kept = self.written(block) - 1;
        // The number that the block with the pages has meanwhile.
        let mut source = None;
        loop {
            self.replaced.failures += 1;
            if self.retire_failed(block).is_err() {
                source.into_iter().for_each(|source| self.swap(block, source));
                return Err(WornOut);
            }
            let spare = self.open(self.plane_of(block));
            self.swap(block, spare);
            let source = *source.get_or_insert(spare);
            if (0..kept).all(|_| self.copy_to_place(nand, source, block, by) == Status::Passed) {
                return Ok(());
            }
        }
    }

    /// Copies a page of the block that is numbered `source` to the next page of the one that takes its place.
    fn copy_to_place(&mut self, nand: &mut Nand, source: BlockId, block: BlockId, by: (Origin, Urgency)) -> Status {
        let index = self.take(block, 1);
        let status = self.relocate(nand, self.page(source, index), (block, index), by, None);
        self.replaced.copies += u32::from(status == Status::Passed);
        status
    }

    /// Exchanges the blocks that two numbers stand for: a block in use, and one without valid pages.
    fn swap(&mut self, block: BlockId, other: BlockId) {
        self.superblocks.swap(block, other);
        self.written.swap(block.at(), other.at());
        self.erases.swap(block.at(), other.at());
        self.state.swap(block.at(), other.at());
    }

    /// Erases a block, which must have no valid pages, and frees it, unless an erase fails. Counts those that pass.
    ///
    /// # Errors
    /// One fails, and the plane has too few blocks now.
    pub(crate) fn reclaim(
        &mut self,
        nand: &mut Nand,
        report: &mut FtlReport,
        block: BlockId,
        by: (Origin, Urgency),
    ) -> Result<(), WornOut> {
        let failed = self.erase(nand, block, by);
        report.block_erases += u64::from(self.superblocks.width() - failed);
        if failed == 0 {
            self.release(block);
            return Ok(());
        }
        self.erase_failed(block);
        self.check_life(block)
    }
}
