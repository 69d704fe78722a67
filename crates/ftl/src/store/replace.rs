//! Blocks that fail or wear, under mappings that name the block of every page: another block takes their place.
//!
//! ```text
//! a program fails:     a free block of the plane gets the number of the failed one, and copies of the pages before the
//!                      failed one; then the page itself is programmed there. No map or list changes
//! an erase fails:      the block is not used again
//! too little worn:     after an erase, with static wear levelling (levelling): the most worn free block of the plane
//!                      gets the number and copies of the pages of a block that is little worn, which is erased
//! worn out:            a plane has fewer good blocks than its mapping needs
//! ```
//!
//! Dead pages are copied, too: blocks are programmed in order, a page may be copied before it is mapped, and a spare
//! area may still be needed. A failed program costs its own time and at most N - 1 copies, N being the pages of a
//! block, whatever the block was used for; an exchange costs at most N copies and an erase. A block may fail while it
//! takes the place of another: that of a failed one is replaced in turn, at the same price; an exchange is given up.

use super::Blocks;
use super::failures::{Upkeep, WornOut};
use crate::FtlReport;
use flashloom_nand::{BlockId, Nand, Origin, Status, Urgency};

impl Blocks {
    /// What blocks took since the last call beside what the mapping asked of them; `None` if that was nothing.
    #[inline(always)]
    pub(crate) fn take_upkeep(&mut self) -> Option<Upkeep> {
        (self.upkeep != Upkeep::default()).then(|| std::mem::take(&mut self.upkeep))
    }

    /// Whether blocks of this array can have taken this much while one page of the host waited: each block fails once
    /// at most, and each exchange follows an erase, of which a wait has fewer than the drive has blocks.
    pub(crate) fn can_have_taken(&self, upkeep: Upkeep, nand: &Nand) -> bool {
        let failures = if nand.can_fail() { nand.geometry().total_blocks() } else { 0 };
        let exchanges = if self.levelling.is_some() { u64::from(self.total()) } else { 0 };
        let found = [upkeep.failures, upkeep.exchanges].map(u64::from);
        let copies = found[0] * u64::from(self.pages() - 1) + found[1] * u64::from(self.pages());
        found[0] <= failures && found[1] <= exchanges && u64::from(upkeep.copies) <= copies.min(u64::from(u32::MAX / 2))
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
            self.upkeep.failures += 1;
            if self.retire_failed(block).is_err() {
                source.into_iter().for_each(|source| self.swap(block, source));
                return Err(WornOut);
            }
            let spare = self.open(self.plane_of(block));
            self.swap(block, spare);
            let source = *source.get_or_insert(spare);
            if self.copy_pages(nand, source, kept, block, by) == Status::Passed {
                return Ok(());
            }
        }
    }

    /// Copies the first pages of a block to an empty one, until one cannot be programmed.
    fn copy_pages(&mut self, nand: &mut Nand, from: BlockId, pages: u32, to: BlockId, by: (Origin, Urgency)) -> Status {
        for _ in 0..pages {
            let index = self.take(to, 1);
            let status = self.relocate(nand, self.page(from, index), (to, index), by, None);
            if status != Status::Passed {
                return status;
            }
            self.upkeep.copies += 1;
        }
        Status::Passed
    }

    /// Exchanges the blocks that two numbers stand for: a block in use, and one without valid pages.
    fn swap(&mut self, block: BlockId, other: BlockId) {
        self.superblocks.swap(block, other);
        self.written.swap(block.at(), other.at());
        self.erases.swap(block.at(), other.at());
        self.state.swap(block.at(), other.at());
    }

    /// Erases a block, which must have no valid pages, and frees it, unless an erase fails; then levels wear, if that
    /// is asked for. Counts the erases that pass.
    ///
    /// # Errors
    /// A block fails, and the plane has too few now.
    pub(crate) fn reclaim(
        &mut self,
        nand: &mut Nand,
        report: &mut FtlReport,
        block: BlockId,
        by: (Origin, Urgency),
    ) -> Result<(), WornOut> {
        if !self.erase_and_release(nand, report, block, by)? {
            // There may be no free block to move data to.
            return Ok(());
        }
        match self.coldest(block, |all, block| all.fits_use(block, true) && all.written(block) > 0) {
            Some(cold) => self.exchange(nand, report, cold, (Origin::Wear, by.1)),
            None => Ok(()),
        }
    }

    /// Erases a block and frees it; false if it fails and is not used again.
    fn erase_and_release(
        &mut self,
        nand: &mut Nand,
        report: &mut FtlReport,
        block: BlockId,
        by: (Origin, Urgency),
    ) -> Result<bool, WornOut> {
        let failed = self.erase(nand, block, by);
        report.block_erases += u64::from(self.superblocks.width() - failed);
        if failed == 0 {
            self.release(block);
            return Ok(true);
        }
        self.erase_failed(block);
        self.check_life(block).map(|()| false)
    }

    /// Puts the most worn free block of the plane in the place of one in use that is little worn, and frees that.
    fn exchange(
        &mut self,
        nand: &mut Nand,
        report: &mut FtlReport,
        cold: BlockId,
        by: (Origin, Urgency),
    ) -> Result<(), WornOut> {
        let worn = self.open_worn(self.plane_of(cold));
        if self.copy_pages(nand, cold, self.written(cold), worn, by) != Status::Passed {
            self.upkeep.failures += 1;
            return self.retire_failed(worn);
        }
        self.swap(cold, worn);
        self.upkeep.exchanges += 1;
        self.count_wear_move();
        self.erase_and_release(nand, report, worn, by).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FtlParams, WearLevelling};
    use flashloom_nand::{Data, NandParams, PlaneId, Program};
    use flashloom_units::{ParamSet, Prng};

    /// A block that is written in part and stays, beside one that is erased over and over, until the plane is worn out.
    #[test]
    fn an_exchange_is_whole_or_given_up_with_a_failure_and_none_follows_a_failed_erase() {
        let by = (Origin::Merge, Urgency::Blocking);
        let shape =
            NandParams { channels: 1, ways: 1, dies: 1, planes: 1, blocks: 64, pages: 8, ..NandParams::defaults() };
        let device = NandParams { program_failures: 0.05, erase_failures: 0.05, ..shape };
        let params = FtlParams { wear_levelling: WearLevelling::Static, wear_threshold: 1, ..FtlParams::defaults() };
        let (mut whole, mut given_up, mut not_erased) = (0, 0, 0);
        for seed in 0..200 {
            let mut nand = Nand::new(&device).with_failures(&device, &Prng::new(seed));
            let (mut blocks, mut report) = (Blocks::of_groups(&nand, &params, 1), FtlReport::default());
            blocks.needed = 8;
            let cold = blocks.open(PlaneId(0));
            let filler = |page| Program::new(cold, page, Data::Filler, Origin::Merge);
            let is_written = (0..5).all(|_| {
                let page = blocks.take(cold, 1);
                blocks.program(&mut nand, filler(page)) == Status::Passed
            });
            if !is_written {
                continue;
            }
            loop {
                let hot = blocks.open(PlaneId(0));
                let before = blocks.retired_in_array(true).expect("blocks can fail");
                let end = blocks.reclaim(&mut nand, &mut report, hot, by);
                let after = blocks.retired_in_array(true).expect("blocks can fail");
                let (programs, erases) = (after.program - before.program, after.erase - before.erase);
                let upkeep = blocks.take_upkeep().unwrap_or_default();
                assert_eq!(programs, u64::from(upkeep.failures));
                match (upkeep.failures, upkeep.exchanges) {
                    (0, 0) => assert_eq!(upkeep.copies, 0),
                    (0, 1) => assert_eq!(upkeep.copies, 5),
                    (1, 0) => assert!(upkeep.copies < 5 && erases == 0, "the first erase has passed"),
                    found => panic!("{found:?}"),
                }
                whole += upkeep.exchanges;
                given_up += upkeep.failures;
                not_erased += u64::from(upkeep == Upkeep::default() && erases == 1);
                assert!(erases == 0 || upkeep.exchanges == 1 || upkeep == Upkeep::default());
                assert_eq!(blocks.written(cold), 5, "the block in use is as it was");
                if end.is_err() {
                    break;
                }
            }
            assert!(blocks.is_worn_out());
        }
        assert!(whole > 100 && given_up > 100 && not_erased > 100, "{whole} {given_up} {not_erased}");
    }
}
