//! Writing to a store: the cursor over store, array and listener, and the choice of a page's place.

use flashloom_nand::{BlockId, Data, Lpn, Nand, OpId, Origin, PlaneId, Ppn, Program, Read, Status};

use super::store::PageStore;
use crate::PageWrite;
use crate::allocation::PagePlace;
use crate::lane::Lane;

/// A listener to collections, for a map that is not all in memory.
pub trait CollectionListener {
    /// Called before a job moves the valid pages of a block ([`PageStore::valid_pages`]). The map may pin or read
    /// ([`PageStore::array_ppn`]) what it needs in memory; it must not write yet.
    fn begins(&mut self, _nand: &mut Nand, _store: &PageStore, _victim: BlockId) {}

    /// Called when the job of a plane has moved a page. `map` is the store's, in which the page is moved.
    fn moved(&mut self, plane: PlaneId, lpn: Lpn, map: &[Ppn]);

    /// Called when the job of a plane that moved data pages has ended.
    fn ended(&mut self, plane: PlaneId);
}

/// No listener: for a map all in memory, which is the store's own.
impl CollectionListener for () {
    fn moved(&mut self, _plane: PlaneId, _lpn: Lpn, _map: &[Ppn]) {}
    fn ended(&mut self, _plane: PlaneId) {}
}

/// Write access to a store: with its array, and the listener to its collections.
pub struct Cursor<'a, L> {
    pub(super) store: &'a mut PageStore,
    pub(super) nand: &'a mut Nand,
    pub(super) listener: &'a mut L,
}

impl PageStore {
    /// A cursor on a store and its array.
    #[inline(always)]
    pub fn on<'a, L: CollectionListener>(&'a mut self, nand: &'a mut Nand, listener: &'a mut L) -> Cursor<'a, L> {
        Cursor { store: self, nand, listener }
    }
}

impl<L: CollectionListener> Cursor<'_, L> {
    /// Writes a host page. Its program, and the read of sectors that the host did not write, wait for `after`. On a
    /// worn-out drive the page is refused ([`Nand::refuse`]).
    #[inline]
    pub fn write(&mut self, write: &PageWrite, place: PagePlace, after: OpId) {
        self.write_over(write, place, after, Ppn::NONE);
    }

    /// [`Self::write`] for a page whose old copy may be outside this store, at `elsewhere` in the array. Sectors that
    /// the host did not write are read from there.
    #[inline(always)]
    pub fn write_over(&mut self, write: &PageWrite, place: PagePlace, mut after: OpId, elsewhere: Ppn) {
        let place = self.store.place_of_host(write.lpn, place);
        let cached = if self.store.cache.is_some() { self.reserve_in_cache(place.plane) } else { None };
        let Some((mut block, mut page)) = cached.or_else(|| self.reserve(place)) else { return self.refuse(write) };
        let beneath = self.store.blocks.geometry.full_mask() & !write.mask();
        let mut base = Ppn::NONE;
        loop {
            let Self { store, nand, .. } = self;
            if beneath != 0 {
                // Looked up after room was made, because the collection may have moved the page.
                let own = store.ppn(write.lpn);
                let old = if own.is_some() { store.blocks.in_array(own) } else { elsewhere };
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

    /// Copies a page from a place in the array outside this store; counted as a copy. False, with nothing changed, if
    /// the drive is worn out.
    pub fn take_in(&mut self, lpn: Lpn, from: Ppn, place: PagePlace, origin: Origin) -> bool {
        let mut reserved = self.reserve(place);
        let mut after = None;
        while let Some((block, page)) = reserved {
            let urgency = self.store.collector.strategy.urgency;
            match self.store.blocks.copy_in(self.nand, from, (block, page), (origin, urgency), after) {
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
    pub(super) fn refuse(&mut self, write: &PageWrite) {
        write.refuse(self.nand);
    }

    /// Takes the next page of a lane for a page about to be programmed and bound; `None` if the drive is worn out.
    #[inline(always)]
    pub fn reserve(&mut self, place: PagePlace) -> Option<(BlockId, u32)> {
        // The common case: the open block has a page left.
        let PagePlace { plane, lane } = place;
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

    /// Takes another page of a lane after a program failed in block `failed`; `None` if the drive is worn out.
    #[cold]
    pub fn reserve_again(&mut self, place: PagePlace, failed: BlockId) -> Option<(BlockId, u32)> {
        self.store.program_failed(failed);
        self.reserve_anew(place)
    }

    /// [`Self::reserve`] if a block has to be opened, or another plane found.
    #[cold]
    fn reserve_anew(&mut self, place: PagePlace) -> Option<(BlockId, u32)> {
        let PagePlace { mut plane, lane } = place;
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

    /// The first plane, from `first` on in the order of the stripe, that has room for a page of this lane.
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

    /// Ensures that the open block of a lane has a page left, in a plane with room; false if blocks failed meanwhile,
    /// so that the plane has to be chosen again.
    fn make_page(&mut self, plane: PlaneId, lane: Lane) -> bool {
        let is_apart = self.store.lanes.apart.has(lane);
        loop {
            // May take several rounds: survivors may share the block and fill it again.
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
                // A collection may have opened a lane, or blocks may have failed.
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
