//! Writes and copies of mapping units of several pages ([`crate::mapping_unit`]): the store's pages are units, and only
//! here and where operations are emitted are they pages of the host and of the array.
//!
//! ```text
//! write of a unit:  room for all of it is made; sectors of it that the host does not write are read, all at once, and
//!                   all its pages are programmed: the host's, those that were read, and fillers where there never was
//!                   one; then it is mapped as a page is
//! copies:           a unit is copied as a whole, whatever is held of it (`units`): all reads, then all programs
//! ```
//!
//! Pages that the host did not write count as programs of the host, as sectors of a page do that it did not write, and
//! as rewritten besides. O(k) a unit of k pages.

use flashloom_nand::{BlockId, Data, Lpn, Nand, OpId, Origin, Ppn, Program, Read, Urgency};

use super::cursor::{CollectionListener, Cursor};
use super::store::PageStore;
use crate::PageWrite;
use crate::allocation::PagePlace;
use crate::mapping_unit::MOST_PAGES;

const MOST: usize = MOST_PAGES as usize;

/// What the host writes of a unit, by place; the last write of a page that comes twice is in another group.
fn by_place(writes: &[PageWrite], pages: u32) -> [Option<&PageWrite>; MOST] {
    let mut given = [None; MOST];
    writes.iter().for_each(|write| given[(write.lpn.0 % pages) as usize] = Some(write));
    given
}

impl PageStore {
    /// Pages of a mapping unit: 1 if the store maps pages.
    #[inline(always)]
    pub fn unit_pages(&self) -> u32 {
        self.blocks.superblocks.unit_pages()
    }

    /// The store's page that holds a page of the host: its unit, or itself.
    #[inline(always)]
    pub fn unit_of(&self, lpn: Lpn) -> Lpn {
        self.units.as_ref().map_or(lpn, |units| units.of(lpn).0)
    }

    /// Whether a page of the host is stored.
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.units.as_ref().map_or_else(|| self.ppn(lpn).is_some(), |units| units.holds(lpn))
    }

    /// The page of the array that holds a page of the host.
    pub fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        let (stored, place) = self.units.as_ref().map_or((lpn, 0), |units| units.of(lpn));
        self.holds(lpn).then(|| self.blocks.superblocks.ppn_of_place(self.ppn(stored), place))
    }

    /// The number of the first writes that are of one unit, each of another page.
    pub fn first_of_one_unit(&self, writes: &[PageWrite]) -> usize {
        let (Some(units), Some(first)) = (&self.units, writes.first()) else { return writes.len().min(1) };
        let (unit, mut places) = (units.of(first.lpn).0, 0_u64);
        let is_next = |write: &&PageWrite| {
            let (of, place) = units.of(write.lpn);
            let is_new = places >> place & 1 == 0;
            places |= 1 << place;
            of == unit && is_new
        };
        writes.iter().take_while(is_next).count()
    }

    /// Whether nothing but this page is held of its unit, or of the store's page.
    pub fn is_last_of_unit(&self, lpn: Lpn) -> bool {
        let Some(units) = &self.units else { return true };
        let first = units.of(lpn).0.0 * units.pages;
        (first..first + units.pages).map(Lpn).all(|other| other == lpn || !units.holds(other))
    }

    /// Whether such writes cover their unit.
    pub fn writes_whole_unit(&self, writes: &[PageWrite], full_mask: u32) -> bool {
        writes.len() == self.unit_pages() as usize && writes.iter().all(|write| write.mask() == full_mask)
    }

    /// Programs a page of a reserved unit; block and page are in the store's numbering, that of the program's own page
    /// is taken from them and from its place in the unit.
    pub fn program_place(&self, nand: &mut Nand, (block, page): (BlockId, u32), place: u32, program: Program) {
        let (block, page) = self.blocks.superblocks.place(block, page, place);
        let status = nand.program(Program { block, page, ..program });
        debug_assert_eq!(status, flashloom_nand::Status::Passed, "units are on arrays whose programs do not fail");
    }

    /// The page of the array at a place of a unit; the unit's page is in the store's numbering.
    pub fn array_place(&self, unit: Ppn, place: u32) -> Ppn {
        self.blocks.superblocks.ppn_of_place(unit, place)
    }
}

impl<L: CollectionListener> Cursor<'_, L> {
    /// Writes pages of one unit, each another; reads and programs wait for `after`.
    pub fn write_unit(&mut self, writes: &[PageWrite], place: PagePlace, after: OpId) {
        let Some(first) = writes.first() else { return };
        let unit = self.store.unit_of(first.lpn);
        let place = self.store.place_of_host(unit, place);
        let Some(reserved) = self.reserve(place) else {
            return writes.iter().for_each(|write| self.refuse(write));
        };
        let Self { store, nand, .. } = self;
        // Looked up after room was made, because the collection may have moved the unit.
        let old = store.ppn(unit);
        let Some(units) = &store.units else { return };
        let pages = units.pages;
        let given = by_place(writes, pages);
        let full = nand.geometry().full_mask();
        let mut bases = [(Ppn::NONE, after); MOST];
        let mut is_read = false;
        for (at, base) in (0..pages).zip(&mut bases) {
            let beneath = full & !given[at as usize].map_or(0, |write| write.mask());
            if beneath != 0 && units.holds(Lpn(unit.0 * pages + at)) {
                let from = store.blocks.superblocks.ppn_of_place(old, at);
                *base = (from, nand.read(Read { after, ..Read::new(from, beneath, Origin::Host) }));
                is_read = true;
            }
        }
        for (at, &(base, after)) in (0..pages).zip(&bases) {
            let (data, tag) = match given[at as usize] {
                Some(write) => (Data::Host { page: write.given(), base }, write.tag),
                None if base.is_some() => (Data::Copy(base), Nand::NO_TAG),
                None => (Data::Filler, Nand::NO_TAG),
            };
            let program = Program::new(reserved.0, reserved.1, data, Origin::Host);
            store.program_place(nand, reserved, at, Program { after, tag, ..program });
        }
        if let Some(units) = &mut store.units {
            units.wrote(writes.iter().map(|write| write.lpn));
        }
        store.report.read_modify_writes += u64::from(is_read);
        store.report.host_page_writes += writes.len() as u64;
        store.bind(unit, reserved.0, reserved.1);
    }

    /// Copies a unit: all its reads, then all its programs, so that these run together.
    pub(super) fn copy_unit(&mut self, from: Ppn, to: (BlockId, u32), origin: Origin, urgency: Urgency) {
        let Self { store, nand, .. } = self;
        let full = nand.geometry().full_mask();
        let mut reads = [(Ppn::NONE, OpId::DONE); MOST];
        let reads = &mut reads[..store.unit_pages() as usize];
        for (place, read) in (0..).zip(&mut *reads) {
            let from = store.blocks.superblocks.ppn_of_place(from, place);
            *read = (from, nand.read(Read { urgency, ..Read::new(from, full, origin) }));
        }
        for (place, &(from, after)) in (0..).zip(&*reads) {
            let program = Program::new(to.0, to.1, Data::Copy(from), origin);
            store.program_place(nand, to, place, Program { urgency, after, ..program });
        }
    }
}
