//! The map, its inverse and the valid bits, and the check that they agree.
//!
//! ```text
//! set:    an entry of the map is changed, and the chunk of the map that it is in is marked as written
//! check:  every entry of a chunk that was written: its page names it in the inverse map, and is valid; the mapped
//!         pages of the chunks add up to those that are counted
//! ```
//!
//! A chunk without a mark is what it was when it was known to be right ([`Tracked`]): empty, filled in closed form, or
//! loaded and checked. In a run that is verified, and in tests, every chunk is checked.
//!
//! Why the chunks of the map suffice for the inverse, which is put back by them: the entry of a page that was valid
//! then changes only when the page is programmed again, after its block was erased; before that its address was mapped
//! to another page or to none, by `set`. Entries of pages that are not valid are left as they are: nothing reads them.
//!
//! O(1) a page.

use flashloom_nand::{BlockId, Geometry, Lpn, PlaneId, Ppn};
use flashloom_units::{Reader, State, StateError, Tracked, Violation, Writer, ensure, prefetch, violation};

use super::Blocks;
use super::valid_pages::ValidPages;

/// How many entries before its program an entry of the inverse map is prefetched: one cache line. Each plane fills two
/// blocks at a time, too many streams for the processor's own prefetcher.
pub(crate) const REVERSE_AHEAD: usize = 16;

/// The map of a store, its inverse, and the valid bits.
pub(crate) struct Pages {
    map: Tracked<Ppn>,
    pub(crate) reverse: Vec<Lpn>,
    pub(crate) mapped: u64,
    pub(crate) valid: ValidPages,
    settled: Settled,
    /// Whether chunks that were not written are checked, too.
    checks_all: bool,
}

/// The mapped pages when the map was known to be right.
struct Settled {
    of_chunk: Vec<u16>,
    all: u64,
}

impl State for Pages {
    fn save(&self, to: &mut Writer) {
        let Self { map, reverse, mapped, valid, settled: _, checks_all: _ } = self;
        map.save(to);
        to.rolled_back(reverse);
        valid.save(to);
        to.value(mapped);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        let within = |name: &'static str| move |error: StateError| error.within(name);
        self.put_inverse_back();
        self.map.load_ids(from, self.reverse.len() as u64).map_err(within("map"))?;
        from.rolled_back_ids(&mut self.reverse, self.map.len() as u64).map_err(within("reverse"))?;
        self.valid.load(from).map_err(within("valid"))?;
        self.mapped = from.value().map_err(within("mapped"))?;
        if from.rolls_back() {
            self.forget_stale();
        }
        Ok(())
    }

    fn settle(&mut self, keeps: bool) {
        self.map.settle(keeps);
        for (mapped, entries) in self.settled.of_chunk.iter_mut().zip(self.map.chunks(self.map.chunk_entries())) {
            *mapped = entries.iter().map(|ppn| u16::from(ppn.is_some())).sum();
        }
        self.settled.all = self.settled.of_chunk.iter().map(|&pages| u64::from(pages)).sum();
        if keeps {
            self.forget_stale();
        }
    }
}

impl Pages {
    /// Nothing is mapped. `checks_all` is for a run that is verified.
    pub(crate) fn new(geometry: &Geometry, mapped_by: u64, checks_all: bool) -> Self {
        let map = Tracked::new(vec![Ppn::NONE; mapped_by as usize]);
        let of_chunk = vec![0; map.len().div_ceil(map.chunk_entries())];
        Self {
            map,
            reverse: vec![Lpn::NONE; geometry.total_pages() as usize],
            mapped: 0,
            valid: ValidPages::new(geometry),
            settled: Settled { of_chunk, all: 0 },
            checks_all,
        }
    }

    /// The map.
    #[inline(always)]
    pub(crate) fn map(&self) -> &[Ppn] {
        &self.map
    }

    /// The page that holds a logical page, or `NONE`.
    #[inline(always)]
    pub(crate) fn newest(&self, lpn: Lpn) -> Ppn {
        self.map[lpn.at()]
    }

    /// The pages that hold consecutive logical pages, as far as there are such pages.
    pub(crate) fn newest_from(&self, first: Lpn, pages: u32) -> &[Ppn] {
        &self.map[first.at()..self.map.len().min(first.at() + pages as usize)]
    }

    /// The number of mapped pages in each group of `pages` consecutive logical pages.
    pub(crate) fn mapped_of_each(&self, pages: u32) -> Vec<u32> {
        let mapped = |pages: &[Ppn]| pages.iter().filter(|page| page.is_some()).count() as u32;
        self.map.chunks(pages as usize).map(mapped).collect()
    }

    /// The logical page that is valid in a page, or `NONE`.
    pub(crate) fn owner(&self, page: Ppn) -> Lpn {
        if self.valid.contains(page) { self.reverse[page.at()] } else { Lpn::NONE }
    }

    /// The logical pages that are valid in a block.
    pub(crate) fn of_block(&self, geometry: &Geometry, block: BlockId) -> impl Iterator<Item = Lpn> {
        let next = move |from| self.valid.next(geometry, block, from);
        let indices = std::iter::successors(next(0), move |&index| next(index + 1));
        indices.map(move |index| self.reverse[geometry.page(block, index).at()])
    }

    /// Prefetch hint: the entry of a page will be looked up soon.
    #[inline(always)]
    pub(crate) fn prepare(&self, lpn: Lpn) {
        prefetch(&self.map, lpn.at());
    }

    /// Maps a logical page to a page just programmed in a block. Returns the block whose page dies with it, if there is
    /// one, and the valid pages that this has left.
    #[inline(always)] // Once for every page that is written.
    pub(crate) fn bind(&mut self, lpn: Lpn, to: (BlockId, Ppn), blocks: &mut Blocks) -> Option<(BlockId, u32)> {
        let old = self.newest(lpn);
        let died = if old.is_some() {
            let block = blocks.block_of(old);
            Some((block, self.invalidate((block, old), blocks)))
        } else {
            self.mapped += 1;
            None
        };
        self.point(lpn, to, blocks);
        died
    }

    /// Unmaps a logical page. Returns the block that held it, if it was mapped, and the valid pages that this has left.
    #[inline]
    pub(crate) fn unbind(&mut self, lpn: Lpn, blocks: &mut Blocks) -> Option<(BlockId, u32)> {
        let old = self.newest(lpn);
        old.is_some().then(|| {
            self.set(lpn, Ppn::NONE);
            self.mapped -= 1;
            let block = blocks.block_of(old);
            (block, self.invalidate((block, old), blocks))
        })
    }

    /// Points a logical page to a page just programmed in a block; the page that held it is invalid already.
    #[inline(always)] // Once for every page that is written.
    pub(crate) fn point(&mut self, lpn: Lpn, (block, page): (BlockId, Ppn), blocks: &mut Blocks) {
        self.set(lpn, page);
        prefetch(&self.reverse, page.at() + REVERSE_AHEAD);
        self.reverse[page.at()] = lpn;
        self.valid.insert(blocks.plane_of(block), page);
        blocks.gained(block);
    }

    /// Marks a page of a block as invalid; returns the valid pages that this has left there.
    #[inline]
    pub(crate) fn invalidate(&mut self, (block, page): (BlockId, Ppn), blocks: &mut Blocks) -> u32 {
        self.valid.remove(blocks.plane_of(block), page);
        blocks.lost(block)
    }

    /// Whether every entry is checked, not only those that were written.
    pub(crate) fn checks_all(&self) -> bool {
        self.checks_all
    }

    /// Changes an entry of the map.
    #[inline(always)]
    pub(crate) fn set(&mut self, lpn: Lpn, ppn: Ppn) {
        self.map.set(lpn.at(), ppn);
    }

    /// Changes entries of an empty map: consecutive ones from `first` on, in rounds. Each place of a round has its next
    /// page and the distance to the one of the next round.
    pub(crate) fn fill(&mut self, first: Lpn, rounds: u32, places: &mut [(Ppn, u32)]) {
        let pages = rounds as usize * places.len();
        for (lpn, (ppn, step)) in (first.0..).zip(&*places) {
            let of_place = self.reverse[ppn.at()..].iter_mut().step_by(*step as usize);
            let lpns = (lpn..).step_by(places.len());
            of_place.zip(lpns).take(rounds as usize).for_each(|(entry, lpn)| *entry = Lpn(lpn));
        }
        for entries in self.map.settled_mut()[first.at()..][..pages].chunks_exact_mut(places.len()) {
            for (entry, (ppn, step)) in entries.iter_mut().zip(&mut *places) {
                *entry = *ppn;
                ppn.0 += *step;
            }
        }
        let (mut from, end) = (first.at(), first.at() + pages);
        while from < end {
            let to = (from + 1).next_multiple_of(self.map.chunk_entries()).min(end);
            self.settled.of_chunk[self.map.chunk_of(from)] += (to - from) as u16;
            from = to;
        }
        self.settled.all += pages as u64;
        self.mapped += pages as u64;
    }

    /// Puts the entries of the inverse back whose pages were mapped when the map was settled, if it keeps what it was.
    fn put_inverse_back(&mut self) {
        for (first, entries) in self.map.before() {
            for (lpn, &ppn) in (first as u32..).zip(entries).filter(|(_, ppn)| ppn.is_some()) {
                self.reverse[ppn.at()] = Lpn(lpn);
            }
        }
    }

    /// Where assertions are checked, takes the owner from pages that are not valid: whoever reads it is found.
    fn forget_stale(&mut self) {
        if cfg!(debug_assertions) {
            let is_stale = |ppn: &usize| self.map.get(self.reverse[*ppn].at()) != Some(&Ppn(*ppn as u32));
            let stale: Vec<usize> = (0..self.reverse.len()).filter(is_stale).collect();
            stale.into_iter().for_each(|ppn| self.reverse[ppn] = Lpn::NONE);
        }
    }

    /// Checks the map, its inverse, the valid bits and counts of a loaded state against the loaded blocks: mapped pages
    /// are programmed.
    pub(crate) fn check_loaded(&self, blocks: &Blocks) -> Result<(), Violation> {
        let (mapped, valid) = (self.check_entries(0..self.map.len())?, self.valid.total());
        ensure!((mapped, mapped) == (valid, self.mapped), "page map: {valid} pages are valid, but {mapped} mapped");
        let is_erased =
            |&&ppn: &&Ppn| ppn.is_some() && blocks.geometry.page_in_block(ppn) >= blocks.written(blocks.block_of(ppn));
        if let Some(ppn) = self.map.iter().find(is_erased) {
            return Err(violation!("page map: page {} is mapped, and erased", ppn.0));
        }
        self.check_counts(blocks)
    }

    /// Runs [`Self::check`]. Checks also that each block counts its valid pages, and that as many pages are mapped as
    /// are valid.
    pub(crate) fn check_with(&self, blocks: &Blocks) -> Result<(), Violation> {
        self.check()?;
        self.check_counts(blocks)?;
        let valid = blocks.total_valid();
        ensure!(valid == self.mapped, "page map: {valid} valid pages, but {} mapped ones", self.mapped);
        Ok(())
    }

    /// Checks that blocks and planes count their valid pages.
    fn check_counts(&self, blocks: &Blocks) -> Result<(), Violation> {
        let geometry = &blocks.geometry;
        for plane in (0..geometry.total_planes()).map(PlaneId) {
            let first = geometry.first_block(plane).0;
            let mut of_plane = 0;
            for block in (first..first + geometry.blocks).map(BlockId) {
                let (pages, counted) = (self.valid.count(geometry, block), blocks.valid_of(block));
                ensure!(pages == counted, "page map: block {} has {pages} valid pages, not {counted}", block.0);
                of_plane += pages;
            }
            let counted = self.valid.in_plane(plane);
            ensure!(of_plane == counted, "page map: plane {} has {of_plane} valid pages, not {counted}", plane.0);
        }
        Ok(())
    }

    /// Checks that every mapped page of the chunks that were written is the valid copy of its address, and the number
    /// of mapped pages.
    pub(crate) fn check(&self) -> Result<(), Violation> {
        let mut mapped = self.settled.all;
        if self.checks_all {
            mapped = self.check_entries(0..self.map.len())?;
        } else {
            for chunk in self.map.written() {
                mapped -= u64::from(self.settled.of_chunk[chunk]);
                mapped += self.check_entries(self.map.range_of(chunk))?;
            }
        }
        ensure!(mapped == self.mapped, "page map: {mapped} entries, but {} counted", self.mapped);
        Ok(())
    }

    fn check_entries(&self, lpns: std::ops::Range<usize>) -> Result<u64, Violation> {
        let mut mapped = 0;
        for (lpn, ppn) in lpns.clone().zip(&self.map[lpns]).filter(|(_, ppn)| ppn.is_some()) {
            mapped += 1;
            if self.reverse[ppn.at()].at() != lpn || !self.valid.contains(*ppn) {
                return Err(violation!("page map: logical page {lpn} points at page {}, which is not its copy", ppn.0));
            }
        }
        Ok(mapped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_nand::{NandParams, PlaneId};
    use flashloom_units::{ParamSet, load_with, roll_back_with, save_for_rollback, save_with};

    /// Entries of a chunk of so short a map.
    const CHUNK: usize = 16;

    /// A map of a few chunks on one plane, filled in closed form, in which only written chunks are checked.
    fn filled() -> Pages {
        let shape = NandParams { channels: 1, ways: 1, dies: 1, planes: 1, ..NandParams::defaults() };
        let geometry = NandParams { blocks: 64, pages: 512, ..shape }.geometry();
        let mut pages = Pages::new(&geometry, 4 * CHUNK as u64, false);
        pages.fill(Lpn(0), 3 * CHUNK as u32 + 7, &mut [(Ppn(0), 1)]);
        pages.valid.insert_row(PlaneId(0), Ppn(0), 3 * CHUNK as u32 + 7);
        pages
    }

    /// Writes `lpn` to a new page, as the store does, but for the entry of the map, which is that of `entry`.
    fn write(pages: &mut Pages, lpn: Lpn, to: Ppn, entry: usize) {
        let old = pages.map[lpn.at()];
        if old.is_some() {
            pages.valid.remove(PlaneId(0), old);
        }
        pages.mapped += u64::from(old.is_none());
        pages.set(lpn, to);
        // What a mutant of `set` does that writes elsewhere: its mark is that of the page, its entry another one.
        pages.map.settled_mut()[lpn.at()] = old;
        pages.map.settled_mut()[entry] = to;
        pages.reverse[to.at()] = lpn;
        pages.valid.insert(PlaneId(0), to);
    }

    #[test]
    fn a_write_to_its_own_entry_passes_and_one_elsewhere_does_not() {
        let next = Ppn(4 * CHUNK as u32);
        // A page that is written again, and one that is new, each beside an entry of its chunk and one of another.
        for (lpn, others) in [(5, [6, 2 * CHUNK]), (3 * CHUNK + 9, [3 * CHUNK + 10, 1])] {
            let mut pages = filled();
            write(&mut pages, Lpn(lpn as u32), next, lpn);
            assert_eq!(pages.check(), Ok(()), "{lpn}");
            for entry in others {
                let mut pages = filled();
                write(&mut pages, Lpn(lpn as u32), next, entry);
                assert!(pages.check().is_err(), "{lpn} was written to the entry of {entry}");
            }
        }
    }

    #[test]
    fn a_map_that_is_trusted_is_checked_where_it_is_written_and_one_that_is_loaded_everywhere() {
        let mut pages = filled();
        (pages.settled.all, pages.settled.of_chunk) = (0, vec![0; 4]);
        pages.settle(false);
        assert_eq!(pages.check(), Ok(()), "the pages of all chunks are counted");
        write(&mut pages, Lpn(5), Ppn(4 * CHUNK as u32), 6);
        assert!(pages.check().is_err());
        let mut pages = filled();
        pages.map.settled_mut()[CHUNK + 1] = Ppn(3);
        let saved = save_with(|to| pages.save(to));
        load_with(&saved.unwrap(), |from| pages.load(from)).unwrap();
        assert!(pages.check().is_err(), "nobody has checked what was loaded");
    }

    #[test]
    fn an_inverse_is_rolled_back_with_its_map() {
        let mut pages = filled();
        pages.settle(true);
        let (state, rest) = (save_with(|to| pages.save(to)).unwrap(), save_for_rollback(|to| pages.save(to)).unwrap());
        let both = 4 * (pages.map.len() + pages.reverse.len());
        assert!(rest.len() <= state.len() - both, "neither map nor inverse");
        let map = |pages: &Pages| (pages.map.to_vec(), pages.reverse.clone(), pages.check());
        let before = map(&pages);
        let last = 3 * CHUNK as u32;
        for (round, state) in [&rest, &state, &rest].into_iter().enumerate() {
            let mut next = Ppn(4 * CHUNK as u32);
            // Pages that are written again, twice, one that is new, and one that is forgotten; in one round none.
            for lpn in [5, 6, 5, CHUNK as u32, last, last + 8].into_iter().filter(|_| round != 1) {
                write(&mut pages, Lpn(lpn), next, lpn as usize);
                next.0 += 1;
            }
            if round != 1 {
                let old = pages.map[last as usize + 6];
                pages.valid.remove(PlaneId(0), old);
                pages.set(Lpn(last + 6), Ppn::NONE);
                pages.mapped -= 1;
                // Its page is programmed anew, for another address.
                write(&mut pages, Lpn(7), old, 7);
                assert_eq!(pages.check(), Ok(()));
                assert_ne!(map(&pages), before);
            }
            roll_back_with(state, |from| pages.load(from)).unwrap();
            assert_eq!(map(&pages), before, "round {round}");
        }
    }

    #[test]
    fn chunks_that_nobody_wrote_are_checked_where_all_are() {
        let mut pages = filled();
        pages.map.settled_mut()[CHUNK + 1] = Ppn(3);
        assert_eq!(pages.check(), Ok(()), "no write leads to this");
        pages.checks_all = true;
        assert!(pages.check().is_err());
    }
}
