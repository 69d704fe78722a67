//! Writing to a store: the store, the array and the listener together, and how a page finds its place.

use flashloom_nand::{BlockId, Data, Lpn, Nand, OpId, Origin, PageCopy, PlaneId, Ppn, Program, Read, Status, Urgency};

use super::store::PageStore;
use crate::PageWrite;
use crate::allocation::Place;
use crate::lane::Lane;

/// A map that is not all in memory, and has to know which pages collections move.
pub trait CollectionListener {
    /// A job is about to move the valid pages of a block ([`PageStore::valid_pages`]). What has to be in memory by then
    /// can be kept there, or read ([`PageStore::array_ppn`]); nothing can be written yet.
    fn begins(&mut self, _nand: &mut Nand, _store: &PageStore, _victim: BlockId) {}

    /// A page was moved by the job of a plane.
    fn moved(&mut self, plane: PlaneId, lpn: Lpn);

    /// The job of a plane that moved pages of data has ended.
    fn ended(&mut self, plane: PlaneId);
}

/// A map that is all in memory is that of the store itself.
impl CollectionListener for () {
    fn moved(&mut self, _plane: PlaneId, _lpn: Lpn) {}
    fn ended(&mut self, _plane: PlaneId) {}
}

/// A store that is written to: on which array, and who is told of what collections move.
pub struct Cursor<'a, L> {
    pub(super) store: &'a mut PageStore,
    pub(super) nand: &'a mut Nand,
    pub(super) listener: &'a mut L,
}

impl PageStore {
    /// Writes to the store, on its array.
    #[inline(always)]
    pub fn on<'a, L: CollectionListener>(&'a mut self, nand: &'a mut Nand, listener: &'a mut L) -> Cursor<'a, L> {
        Cursor { store: self, nand, listener }
    }
}

impl<L: CollectionListener> Cursor<'_, L> {
    /// Writes a page of the host; reads of what is beneath it, and its program, start after `after`. Refused where the
    /// drive is worn out.
    #[inline]
    pub fn write(&mut self, write: &PageWrite, place: Place, after: OpId) {
        self.write_over(write, place, after, Ppn::NONE);
    }

    /// The same where the page is somewhere else in the array, of which this store knows nothing: `elsewhere` is where
    /// the sectors come from that the host did not write, as long as the store itself has none.
    #[inline(always)]
    pub fn write_over(&mut self, write: &PageWrite, mut place: Place, mut after: OpId, elsewhere: Ppn) {
        if let Some(heat) = &mut self.store.heat
            && heat.is_hot(write.lpn)
            && place.lane == Lane::HOST
        {
            place.lane = Lane::HOT;
        }
        let Some((mut block, mut page)) = self.reserve(place) else { return self.refuse(write) };
        let beneath = self.store.geometry.full_mask() & !write.mask;
        let mut base = Ppn::NONE;
        loop {
            let Self { store, nand, .. } = self;
            if beneath != 0 {
                // Looked up only now: the collection that made room may have moved the page.
                let own = store.ppn(write.lpn);
                let old = if own.is_some() { store.superblocks.ppn(own) } else { elsewhere };
                if old != base {
                    store.report.read_modify_writes += u64::from(base.is_none());
                    after = nand.read(Read { after, ..Read::new(old, beneath, Origin::Host) });
                    base = old;
                }
            }
            let data = Data::Host { page: write.given(), base };
            let program = Program { after, tag: write.tag, ..Program::new(block, page, data, Origin::Host) };
            match store.program(nand, program) {
                Status::Passed => break,
                Status::Failed(operation) => after = operation,
            }
            let Some(next) = self.reserve_again(place, block) else { return self.refuse(write) };
            (block, page) = next;
        }
        self.store.report.host_page_writes += 1;
        self.store.bind(write.lpn, block, page);
    }

    /// Takes in a page that is somewhere else in the array: copies it, which is counted as a copy. False, and nothing
    /// has changed, where the drive is worn out.
    pub fn take_in(&mut self, lpn: Lpn, from: Ppn, place: Place, origin: Origin) -> bool {
        let mut reserved = self.reserve(place);
        let mut after = None;
        while let Some((block, page)) = reserved {
            let urgency = self.store.collector.strategy.urgency;
            let (to, index) = self.store.superblocks.page(block, page);
            match copy_to(self.nand, from, (to, index), (origin, urgency), after) {
                Status::Passed => {
                    self.store.report.page_copies += 1;
                    self.store.bind(lpn, block, page);
                    return true;
                }
                Status::Failed(operation) => after = Some(operation),
            }
            reserved = self.reserve_again(place, block);
        }
        false
    }

    #[cold]
    fn refuse(&mut self, write: &PageWrite) {
        self.nand.refuse(write.given().lpn, write.mask, write.tag);
    }

    /// Takes the next page of a lane for a page that is about to be programmed and bound; none once the drive is worn
    /// out.
    #[inline(always)]
    pub fn reserve(&mut self, place: Place) -> Option<(BlockId, u32)> {
        // Nearly always the open block of the plane has a page left.
        let Place { plane, lane } = place;
        if self.store.failures.evacuations.is_empty() && self.store.has_room(plane, lane) {
            if !self.store.is_full(plane, lane) && self.store.is_to_pay(plane, lane) {
                self.pay(plane);
            }
            if let Some(page) = self.store.take_left(plane, lane) {
                return Some(page);
            }
        }
        self.reserve_anew(place)
    }

    /// Takes another page of a lane after the program of one in `failed` failed; none once the drive is worn out.
    #[cold]
    pub fn reserve_again(&mut self, place: Place, failed: BlockId) -> Option<(BlockId, u32)> {
        self.store.program_failed(failed);
        self.reserve_anew(place)
    }

    /// As [`Self::reserve`] where a block has to be opened, or another plane found.
    #[cold]
    fn reserve_anew(&mut self, place: Place) -> Option<(BlockId, u32)> {
        let Place { mut plane, lane } = place;
        loop {
            if self.store.failures.can_fail {
                self.evacuate();
            }
            plane = self.plane_with_room(plane, lane)?;
            if self.make_page(plane, lane) {
                return Some(self.store.take(plane, lane));
            }
        }
    }

    /// The plane itself or the first after it that has room for a page of a lane.
    fn plane_with_room(&mut self, first: PlaneId, lane: Lane) -> Option<PlaneId> {
        let mut plane = first;
        while !self.store.has_room(plane, lane) {
            plane = self.store.plane(plane).after;
            if plane == first {
                self.store.wear_out();
                return None;
            }
        }
        Some(plane)
    }

    /// Makes sure that the open block of a lane has a page left, in a plane with room; false if failures have changed
    /// what there is to choose from.
    fn make_page(&mut self, plane: PlaneId, lane: Lane) -> bool {
        let is_apart = self.store.lanes.is_apart(lane);
        loop {
            // Collected pages may share the block and fill it again, so this may take more than one round.
            while self.store.is_full(plane, lane) {
                if is_apart && self.make_page_for_map(plane) {
                    continue;
                }
                if self.store.can_open(plane) {
                    self.store.open(plane, lane);
                    if is_apart {
                        self.choose_map_victim(plane);
                    }
                    continue;
                }
                self.collect(plane);
                // A collection may have opened a lane, or have met failures.
                if !self.store.has_room(plane, lane) {
                    return false;
                }
            }
            if self.store.is_to_pay(plane, lane) {
                self.pay(plane);
            }
            if !self.store.is_full(plane, lane) {
                return true;
            }
        }
    }
}

/// Copies a page of the array; `read` is the operation that brings it to the controller, if that was emitted.
#[inline(always)]
pub(super) fn copy_to(
    nand: &mut Nand,
    from: Ppn,
    (block, page): (BlockId, u32),
    (origin, urgency): (Origin, Urgency),
    read: Option<OpId>,
) -> Status {
    match read {
        None => nand.copy(PageCopy { urgency, ..PageCopy::new(from, block, page, origin) }),
        Some(after) => {
            let program = Program::new(block, page, Data::Copy(from), origin);
            nand.program(Program { urgency, after, ..program })
        }
    }
}
