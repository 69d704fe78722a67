//! What is done with blocks in the array: programs, copies, fillers and erases.

use flashloom_nand::{
    BlockId, Data, DieId, Nand, OpId, Origin, PageCopy, PlaneId, Ppn, Program, Read, Status, Urgency,
};

use super::{Blocks, Pages, WornOut};
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
    /// If the host wrote only part of the page, the rest is read from that copy first. Should the block fail, another
    /// takes its place. Returns the page programmed.
    ///
    /// # Errors
    /// The drive is worn out, and the page not stored.
    #[inline]
    pub(crate) fn write(
        &mut self,
        nand: &mut Nand,
        (report, pages): (&mut FtlReport, &Pages),
        write: &PageWrite,
        found: OpId,
        to: BlockId,
        by: (Origin, Urgency),
    ) -> Result<Ppn, WornOut> {
        let beneath = nand.geometry().full_mask() & !write.mask();
        let (mut base, mut after) = (Ppn::NONE, found);
        if beneath != 0 {
            base = self.in_array(pages.newest(write.lpn));
        }
        if base.is_some() {
            after = nand.read(Read { after, ..Read::new(base, beneath, Origin::Host) });
            report.read_modify_writes += 1;
        }
        let index = self.take(to, 1);
        let data = Data::Host { page: write.given(), base };
        let program = Program { after, tag: write.tag, ..Program::new(to, index, data, Origin::Host) };
        let page = match self.program(nand, program) {
            Status::Passed => self.page(to, index),
            Status::Failed(after) => self.program_again(nand, Program { after, ..program }, by)?,
        };
        report.host_page_writes += 1;
        Ok(page)
    }

    /// Copies a page to the next page of a block, or programs a filler if there is none to copy. Should the block fail,
    /// another takes its place. Returns the page programmed.
    ///
    /// # Errors
    /// The drive is worn out, and nothing is copied.
    #[inline]
    pub(crate) fn append(
        &mut self,
        nand: &mut Nand,
        from: Ppn,
        to: BlockId,
        by: (Origin, Urgency),
    ) -> Result<Ppn, WornOut> {
        let (index, from) = (self.take(to, 1), self.in_array(from));
        let status = match from.is_some() {
            true => self.copy_in(nand, from, (to, index), by, None),
            false => self.program(nand, Program { urgency: by.1, ..Program::new(to, index, Data::Filler, by.0) }),
        };
        match status {
            Status::Passed => Ok(self.page(to, index)),
            Status::Failed(after) => self.append_again(nand, from, to, by, after),
        }
    }

    #[cold]
    fn append_again(
        &mut self,
        nand: &mut Nand,
        from: Ppn,
        to: BlockId,
        by: (Origin, Urgency),
        after: OpId,
    ) -> Result<Ppn, WornOut> {
        let data = if from.is_some() { Data::Copy(from) } else { Data::Filler };
        let program = Program { urgency: by.1, after, ..Program::new(to, 0, data, by.0) };
        self.program_again(nand, program, by)
    }

    /// Programs a page whose program has failed, once that is known, to the block that takes the place of the failed
    /// one.
    #[cold]
    fn program_again(&mut self, nand: &mut Nand, mut program: Program, by: (Origin, Urgency)) -> Result<Ppn, WornOut> {
        loop {
            self.replace(nand, program.block, by)?;
            program.page = self.take(program.block, 1);
            match self.program(nand, program) {
                Status::Passed => return Ok(self.page(program.block, program.page)),
                Status::Failed(operation) => program.after = operation,
            }
        }
    }

    /// Whether the array has a block.
    pub(crate) fn is_of_array(&self, block: BlockId) -> bool {
        self.superblocks.has(block)
    }

    /// The first block of the array of a block; jobs on it have its name in events.
    pub(crate) fn first_in_array(&self, block: BlockId) -> BlockId {
        self.superblocks.first(block)
    }

    /// Erases a block, which must have no valid pages; returns the number of erases that failed.
    pub(crate) fn erase(&self, nand: &mut Nand, block: BlockId, (origin, urgency): (Origin, Urgency)) -> u32 {
        assert_eq!(self.valid_of(block), 0, "no valid page is ever erased");
        self.superblocks.erase(nand, block, origin, urgency)
    }
}
