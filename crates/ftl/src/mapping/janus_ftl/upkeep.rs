//! Moving logical blocks between the areas, and reclaiming blocks of the page area.

use flashloom_nand::{BlockId, Lbn, Lpn, Nand, Origin, PlaneId};

use super::JanusFtl;
use super::areas::KEPT_FREE;
use crate::store::WornOut;

impl JanusFtl {
    /// Moves a logical block to the page area, with a new home that it may have. One of the page area keeps its table.
    pub(super) fn fuse(&mut self, nand: &mut Nand, block: Lbn) -> Result<(), WornOut> {
        if !self.areas.is_paged(block) {
            if let Some(oldest) = self.areas.table_to_free(block) {
                self.defuse(nand, oldest)?;
            }
            self.counts.fusions += 1;
        }
        self.areas.fuse(block);
        Ok(())
    }

    /// Sees to it that enough blocks of a chip are free for a page of the host, and that what has cost enough leaves
    /// the page area.
    pub(super) fn make_room(&mut self, nand: &mut Nand, chip: u32) -> Result<(), WornOut> {
        self.free(nand, chip)?;
        if let Some(due) = self.areas.due(chip) {
            self.counts.due_defusions += 1;
            self.defuse(nand, due)?;
            self.free(nand, chip)?;
        }
        Ok(())
    }

    /// Blocks of a chip that are kept free for those that fail.
    fn spares(&self, chip: u32) -> u32 {
        if self.can_fail { self.areas.pool.usable_in(PlaneId(chip)).saturating_sub(self.areas.pool.needed) } else { 0 }
    }

    fn free(&mut self, nand: &mut Nand, chip: u32) -> Result<(), WornOut> {
        while self.areas.pool.free_in(PlaneId(chip)) < KEPT_FREE + self.spares(chip) {
            self.collect(nand, chip)?;
        }
        Ok(())
    }

    /// Does a job that begins with this block and returns how many pages it has programmed and blocks erased; counts
    /// its time.
    pub(super) fn job(
        &mut self,
        nand: &mut Nand,
        block: BlockId,
        job: impl FnOnce(&mut Self, &mut Nand) -> Result<(u32, u32), WornOut>,
    ) -> Result<(), WornOut> {
        let named = self.areas.pool.first_in_array(block);
        nand.begin_job(Origin::Merge, named);
        let (programs, erases) = job(self, nand)?;
        nand.end_job(Origin::Merge, named);
        let (time, bound) = (self.costs.of(programs, erases), self.blocking_bound_ns());
        assert!(time <= bound, "a job took {time} ns, not {bound} at most");
        self.counts.blocking_ns.record(time);
        self.waited_ns += time;
        Ok(())
    }

    /// Collects blocks of a chip's page area until one more is free.
    fn collect(&mut self, nand: &mut Nand, chip: u32) -> Result<(), WornOut> {
        self.counts.collections += 1;
        let first = self.areas.victim(chip);
        self.job(nand, first, |ftl, nand| {
            let (mut copies, mut erases, mut opened) = (0, 0, 0);
            while erases <= opened {
                let victim = ftl.areas.victim(chip);
                for index in 0..ftl.areas.pool.written(victim) {
                    let lpn = ftl.areas.pages.owner(ftl.areas.pool.page(victim, index));
                    if lpn.is_some() {
                        let (block, _) = ftl.areas.shape.place_of(lpn);
                        let (to, is_new) = ftl.areas.open_for_survivors(chip);
                        opened += u32::from(is_new);
                        ftl.copy_or_fill(nand, lpn, to)?;
                        ftl.areas.close_full(block);
                        ftl.areas.note_copy(block);
                        copies += 1;
                    }
                }
                ftl.erase(nand, victim)?;
                erases += 1;
            }
            Ok((copies, erases))
        })
    }

    /// Gathers the pages of a logical block of the page area in a home.
    fn defuse(&mut self, nand: &mut Nand, block: Lbn) -> Result<(), WornOut> {
        self.counts.defusions += 1;
        let end = self.areas.end(block);
        let Some(home) = self.areas.begin_defusion(block, end) else { return Ok(()) };
        self.job(nand, home, |ftl, nand| {
            let from = ftl.areas.pool.written(home);
            for offset in from..end {
                ftl.copy_or_fill(nand, ftl.areas.shape.lpn(block, offset), home)?;
            }
            Ok((end.saturating_sub(from), 0))
        })
    }

    /// Copies a page to the next page of a block, or programs a filler if the page is not mapped.
    fn copy_or_fill(&mut self, nand: &mut Nand, lpn: Lpn, to: BlockId) -> Result<(), WornOut> {
        let from = self.areas.pages.newest(lpn);
        let page = self.areas.pool.append(nand, from, to, (Origin::Merge, self.urgency));
        self.count_upkeep();
        let page = page?;
        self.report.page_copies += 1;
        if from.is_some() {
            self.areas.bind(lpn, page);
        } else {
            self.counts.filler_pages += 1;
        }
        Ok(())
    }

    pub(super) fn erase(&mut self, nand: &mut Nand, block: BlockId) -> Result<(), WornOut> {
        let erased = self.areas.erase(nand, &mut self.report, block, (Origin::Merge, self.urgency));
        self.count_upkeep();
        erased
    }

    /// Counts the copies to blocks that have taken the place of others.
    pub(super) fn count_upkeep(&mut self) {
        if let Some(upkeep) = self.areas.pool.take_upkeep() {
            self.report.page_copies += u64::from(upkeep.copies);
            self.upkeep += upkeep;
        }
    }
}
