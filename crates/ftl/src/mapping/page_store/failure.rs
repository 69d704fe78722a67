//! Failed blocks: their valid pages are moved, and they are retired.
//!
//! ```text
//! a program fails:  the page goes to another block; the failed block takes no more pages, and its room is lost
//!                   before the next page is written: the job of its plane runs to its end, and the valid pages of the
//!                   failed block are copied like those of a victim, without an erase
//! an erase fails:   the victim, which is empty, is retired, and its room is lost
//! worn out:         no plane has room for a page, or there is no free page for one that has to move
//! ```
//!
//! If blocks can fail, a plane keeps one more block free, for the pages of a failed block, besides the one for the
//! collector. If blocks fail faster than that one is regained, pages move to another plane with a free page. If there
//! is none, the drive is worn out with pages still to move: they stay where they are, and can be read. With several
//! planes that is rare before all room is lost; a single plane can wear out some blocks earlier, because the fuller a
//! plane is, the longer it takes to regain a block.

use flashloom_nand::{BlockId, OpId, Origin, PlaneId, Ppn, Status, Urgency};

use super::cursor::{CollectionListener, Cursor};
use super::plane::CollectionJob;
use super::store::PageStore;
use crate::allocation::PagePlace;
use crate::store::BlockState;

impl PageStore {
    /// Called when a program in the open block of a lane fails.
    #[cold]
    pub(super) fn program_failed(&mut self, block: BlockId) {
        let (plane, lane) = (self.blocks.plane_of(block), self.opened_for[block.at()]);
        let is_cached = self.blocks.state(block) == BlockState::Cache;
        self.blocks.program_failed(block);
        self.failures.evacuations.push(block);
        if is_cached {
            return self.program_failed_in_cache(plane);
        }
        self.frontiers.of_mut(plane, lane).block = BlockId::NONE;
        // The room of an extra lane's block was taken when the lane was first opened, and is taken anew by its next.
        if !lane.is_extra() {
            self.lose_room(plane);
        }
    }

    /// Called when the erase of a victim fails.
    #[cold]
    pub(super) fn erase_failed(&mut self, plane: PlaneId, victim: BlockId, origin: Origin) {
        self.blocks.erase_failed(victim);
        match origin {
            Origin::Fold => self.erase_failed_in_cache(plane),
            _ => self.lose_room(plane),
        }
    }

    /// A plane that has room for a page of another plane without a collection, and still a free block for its own
    /// collector. If there is none, the drive is worn out.
    #[cold]
    fn refuge(&mut self, from: PagePlace) -> Option<PlaneId> {
        let PagePlace { plane, lane } = from;
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
    /// Moves the valid pages out of all failed blocks.
    pub(super) fn evacuate(&mut self) {
        while let Some(&failed) = self.store.failures.evacuations.last()
            && !self.store.failures.is_worn_out
        {
            let store = &mut *self.store;
            let plane = store.blocks.plane_of(failed);
            if store.plane(plane).job.is_none() {
                store.failures.evacuations.pop();
                let lane = store.lanes.survivors(store.opened_for[failed.at()]);
                let job = CollectionJob::new(failed, lane, Origin::Gc, store.blocks.pages());
                self.begin_with(plane, job);
            }
            self.finish(plane);
        }
    }

    /// Copies a page to the next page of a lane, and again to another block as long as the program fails; `None` if
    /// there is no room. `read` is the read of the page, if that was emitted already.
    #[inline(always)]
    pub(super) fn copy(
        &mut self,
        from: Ppn,
        to: PagePlace,
        origin: Origin,
        urgency: Urgency,
        read: Option<OpId>,
    ) -> Option<(BlockId, u32)> {
        let Self { store, nand, .. } = self;
        let PagePlace { mut plane, lane } = to;
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
            if store.unit_pages() > 1 {
                self.copy_unit(from, (block, page), origin, urgency);
                return Some((block, page));
            }
            match store.blocks.relocate(nand, from, (block, page), (origin, urgency), after) {
                Status::Passed => return Some((block, page)),
                Status::Failed(operation) => after = Some(operation),
            }
            store.program_failed(block);
        }
    }
}
