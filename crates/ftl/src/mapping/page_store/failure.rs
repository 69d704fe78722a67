//! Blocks that fail: what is in them moves out, and they are used no more.
//!
//! ```text
//! a program fails:  the page goes to another block; the failed one takes no more, and counts in no plane's room
//!                   before the next page is written: the job of its plane is brought to its end, and the valid pages
//!                   of the failed block are copied as those of a victim, which is not erased
//! an erase fails:   the victim, which holds nothing any more, counts in no plane's room
//! worn out:         no plane has room for a page, or a page that has to move finds no free page anywhere
//! ```
//!
//! A plane keeps one free block more where blocks can fail: for the pages of a block that failed, while the block for
//! the collector is kept as ever. Where blocks fail faster than that is won back, pages move to another plane that has
//! a page to give at once. Only when there is none either the drive is worn out with pages still to move: they stay
//! where they are, and can be read. With several planes that hardly happens before there is no room; a plane alone can
//! end some blocks earlier, because winning back a block takes the longer the fuller the plane is.

use flashloom_nand::{BlockId, Data, Nand, OpId, Origin, PageCopy, PlaneId, Ppn, Program, Status, Urgency};

use super::collect::Job;
use super::frontier::Frontier;
use super::{CollectionListener, PageStore};
use crate::allocation::Place;

/// Less than any plane with room for a page has.
pub(super) const NO_ROOM: i64 = i64::MIN / 2;

impl PageStore {
    /// Takes another page of a lane after the program of one in `failed` failed; none once the drive is worn out.
    #[cold]
    pub fn reserve_again(
        &mut self,
        nand: &mut Nand,
        place: Place,
        failed: BlockId,
        listener: &mut impl CollectionListener,
    ) -> Option<(BlockId, u32)> {
        self.program_failed(failed);
        self.reserve_anew(nand, place, listener)
    }

    /// A program on the open block of a lane failed.
    #[cold]
    pub(super) fn program_failed(&mut self, block: BlockId) {
        let (plane, lane) = (self.geometry.plane_of(block), self.opened_for[block.at()]);
        self.blocks.program_failed(block);
        self.frontiers[plane.at()][lane.at()] = Frontier::none(&self.geometry);
        // A lane that is not open needs no room; its next block will, as its first did.
        if !lane.is_extra() {
            self.lose_room(plane);
        }
        self.evacuations.push(block);
    }

    /// The erase of a victim failed.
    #[cold]
    pub(super) fn erase_failed(&mut self, plane: PlaneId, victim: BlockId) {
        self.blocks.erase_failed(victim);
        self.lose_room(plane);
    }

    fn lose_room(&mut self, plane: PlaneId) {
        self.room[plane.at()] -= i64::from(self.geometry.pages);
    }

    /// Moves what is valid out of all blocks that failed.
    pub(super) fn evacuate(&mut self, nand: &mut Nand, listener: &mut impl CollectionListener) {
        while let Some(&failed) = self.evacuations.last()
            && !self.is_worn_out
        {
            let plane = self.geometry.plane_of(failed);
            if self.jobs[plane.at()].is_none() {
                self.evacuations.pop();
                let lane = self.lanes.survivors(self.opened_for[failed.at()]);
                let job = Job::new(failed, lane, Origin::Gc, self.geometry.pages);
                self.begin_with(nand, plane, job, listener);
            }
            while self.step(nand, plane, u32::MAX, self.foreground, listener) > 0 {}
        }
    }

    /// Copies a page to the next page of a lane, elsewhere again while that fails; nothing if there is nowhere to go.
    /// `read` is the operation that brings the page to the controller, if that was emitted.
    #[inline(always)]
    pub(super) fn copy(
        &mut self,
        nand: &mut Nand,
        from: Ppn,
        to: Place,
        origin: Origin,
        urgency: Urgency,
        read: Option<OpId>,
    ) -> Option<(BlockId, u32)> {
        let Place { mut plane, lane } = to;
        let source = self.superblocks.ppn(from);
        let mut after = read;
        loop {
            if self.is_full(plane, lane) {
                if self.blocks.free_in(plane) > 0 {
                    self.open(plane, lane);
                } else {
                    plane = self.refuge(to)?;
                    continue;
                }
            }
            let (block, page) = self.take(plane, lane);
            let (to, index) = self.superblocks.page(block, page);
            let status = match after {
                None => nand.copy(PageCopy { urgency, ..PageCopy::new(source, to, index, origin) }),
                Some(after) => {
                    let program = Program::new(to, index, Data::Copy(source), origin);
                    nand.program(Program { urgency, after, ..program })
                }
            };
            match status {
                Status::Passed => return Some((block, page)),
                Status::Failed(operation) => after = Some(operation),
            }
            self.program_failed(block);
        }
    }

    /// A plane that can take a page of another one at once, and still has a free block for its own collector; where
    /// there is none the drive is worn out.
    #[cold]
    fn refuge(&mut self, from: Place) -> Option<PlaneId> {
        let Place { plane, lane } = from;
        let mut to = self.after[plane.at()];
        while to != plane {
            if self.has_room(to, lane) && self.blocks.free_in(to) > u32::from(self.is_full(to, lane)) {
                return Some(to);
            }
            to = self.after[to.at()];
        }
        self.wear_out();
        None
    }

    /// Nothing is written any more: no plane has room.
    #[cold]
    pub(super) fn wear_out(&mut self) {
        self.is_worn_out = true;
        self.room.fill(NO_ROOM);
    }
}
