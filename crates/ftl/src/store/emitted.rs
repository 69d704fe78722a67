//! What is done with blocks in the array: programs, copies, fillers and erases.

use flashloom_nand::{BlockId, Data, DieId, Nand, OpId, Origin, PageCopy, PlaneId, Ppn, Program, Status, Urgency};

use super::Blocks;
use crate::{FtlReport, PageWrite};

impl Blocks {
    /// The page of the array; of a unit, the first. [`Ppn::NONE`] stays that.
    #[inline(always)]
    pub(crate) fn in_array(&self, page: Ppn) -> Ppn {
        self.superblocks.ppn(page)
    }

    /// The die of a plane that is of one die; none if it is of several.
    pub(crate) fn lone_die(&self, plane: PlaneId) -> Option<DieId> {
        self.superblocks.lone_die(self.geometry.first_block(plane))
    }

    /// Programs a page that was taken; its numbers are those of the mapping.
    #[inline(always)]
    pub(crate) fn program(&self, nand: &mut Nand, program: Program) -> Status {
        let (block, page) = self.superblocks.page(program.block, program.page);
        nand.program(Program { block, page, ..program })
    }

    /// Copies a page to one that was taken; `read` is its read, if that was emitted already.
    #[inline(always)]
    pub(crate) fn relocate(
        &self,
        nand: &mut Nand,
        from: Ppn,
        to: (BlockId, u32),
        by: (Origin, Urgency),
        read: Option<OpId>,
    ) -> Status {
        self.copy_in(nand, self.in_array(from), to, by, read)
    }

    /// [`Self::relocate`] from anywhere in the array, in its numbering.
    #[inline(always)]
    pub(crate) fn copy_in(
        &self,
        nand: &mut Nand,
        from: Ppn,
        (block, page): (BlockId, u32),
        (origin, urgency): (Origin, Urgency),
        read: Option<OpId>,
    ) -> Status {
        let (block, page) = self.superblocks.page(block, page);
        match read {
            None => nand.copy(PageCopy { urgency, ..PageCopy::new(from, block, page, origin) }),
            Some(after) => {
                let program = Program::new(block, page, Data::Copy(from), origin);
                nand.program(Program { urgency, after, ..program })
            }
        }
    }

    /// Programs a page of the host to the next page of a block, not before `found` has ended, which finds its old copy.
    /// Returns the page programmed.
    #[inline]
    pub(crate) fn write(
        &mut self,
        nand: &mut Nand,
        report: &mut FtlReport,
        write: &PageWrite,
        (old, found): (Ppn, OpId),
        to: BlockId,
    ) -> Ppn {
        let beneath = old.is_some().then(|| self.in_array(old));
        let index = self.take(to, 1);
        let place = self.superblocks.page(to, index);
        report.read_modify_writes += u64::from(write.program_after(nand, place, beneath, found));
        report.host_page_writes += 1;
        self.page(to, index)
    }

    /// Copies a page to the next page of a block, or programs a filler if there is none to copy. Returns the page
    /// programmed.
    #[inline]
    pub(crate) fn append(&mut self, nand: &mut Nand, from: Ppn, to: BlockId, by: (Origin, Urgency)) -> Ppn {
        let index = self.take(to, 1);
        if from.is_some() {
            self.relocate(nand, from, (to, index), by, None);
        } else {
            let filler = Program::new(to, index, Data::Filler, by.0);
            self.program(nand, Program { urgency: by.1, ..filler });
        }
        self.page(to, index)
    }

    /// Notes that a job on a block begins.
    pub(crate) fn begin_job(&self, nand: &mut Nand, origin: Origin, block: BlockId) {
        nand.begin_job(origin, self.superblocks.first(block));
    }

    /// Notes that the job on a block has ended.
    pub(crate) fn end_job(&self, nand: &mut Nand, origin: Origin, block: BlockId) {
        nand.end_job(origin, self.superblocks.first(block));
    }

    /// Erases a block, which must have no valid pages, and frees it.
    pub(crate) fn reclaim(&mut self, nand: &mut Nand, block: BlockId, by: (Origin, Urgency)) {
        self.erase(nand, block, by);
        self.release(block);
    }

    /// Erases a block, which must have no valid pages; returns the number of erases that failed.
    pub(crate) fn erase(&self, nand: &mut Nand, block: BlockId, (origin, urgency): (Origin, Urgency)) -> u32 {
        assert_eq!(self.valid_of(block), 0, "no valid page is ever erased");
        self.superblocks.erase(nand, block, origin, urgency)
    }
}
