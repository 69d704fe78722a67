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

use flashloom_nand::{BlockId, OpId, Origin, PlaneId, Ppn, Status, Urgency};

use super::cursor::{CollectionListener, Cursor, copy_to};
use super::plane::{Frontier, Job};
use super::store::PageStore;
use crate::allocation::Place;

impl PageStore {
    /// A program on the open block of a lane failed.
    #[cold]
    pub(super) fn program_failed(&mut self, block: BlockId) {
        let (plane, lane) = (self.geometry.plane_of(block), self.opened_for[block.at()]);
        self.blocks.program_failed(block);
        self.planes[plane.at()].open[lane.at()] = Frontier::none(&self.geometry);
        // A lane that is not open needs no room; its next block will, as its first did.
        if !lane.is_extra() {
            self.lose_room(plane);
        }
        self.failures.evacuations.push(block);
    }

    /// The erase of a victim failed.
    #[cold]
    pub(super) fn erase_failed(&mut self, plane: PlaneId, victim: BlockId) {
        self.blocks.erase_failed(victim);
        self.lose_room(plane);
    }

    /// A plane that can take a page of another one at once, and still has a free block for its own collector; where
    /// there is none the drive is worn out.
    #[cold]
    fn refuge(&mut self, from: Place) -> Option<PlaneId> {
        let Place { plane, lane } = from;
        let mut to = self.plane(plane).after;
        while to != plane {
            if self.has_room(to, lane) && self.blocks.free_in(to) > u32::from(self.is_full(to, lane)) {
                return Some(to);
            }
            to = self.plane(to).after;
        }
        self.wear_out();
        None
    }
}

impl<L: CollectionListener> Cursor<'_, L> {
    /// Moves what is valid out of all blocks that failed.
    pub(super) fn evacuate(&mut self) {
        while let Some(&failed) = self.store.failures.evacuations.last()
            && !self.store.failures.is_worn_out
        {
            let store = &mut *self.store;
            let plane = store.geometry.plane_of(failed);
            if store.plane(plane).job.is_none() {
                store.failures.evacuations.pop();
                let lane = store.lanes.survivors(store.opened_for[failed.at()]);
                let job = Job::new(failed, lane, Origin::Gc, store.geometry.pages);
                self.begin_with(plane, job);
            }
            self.finish(plane);
        }
    }

    /// Copies a page to the next page of a lane, elsewhere again while that fails; nothing if there is nowhere to go.
    /// `read` is the operation that brings the page to the controller, if that was emitted.
    #[inline(always)]
    pub(super) fn copy(
        &mut self,
        from: Ppn,
        to: Place,
        origin: Origin,
        urgency: Urgency,
        read: Option<OpId>,
    ) -> Option<(BlockId, u32)> {
        let Self { store, nand, .. } = self;
        let Place { mut plane, lane } = to;
        let source = store.superblocks.ppn(from);
        let mut after = read;
        loop {
            if store.is_full(plane, lane) {
                if store.blocks.free_in(plane) > 0 {
                    store.open(plane, lane);
                } else {
                    plane = store.refuge(to)?;
                    continue;
                }
            }
            let (block, page) = store.take(plane, lane);
            match copy_to(nand, source, store.superblocks.page(block, page), (origin, urgency), after) {
                Status::Passed => return Some((block, page)),
                Status::Failed(operation) => after = Some(operation),
            }
            store.program_failed(block);
        }
    }
}
