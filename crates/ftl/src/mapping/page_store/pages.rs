//! The map, its inverse and the valid bits, and the check that they agree.
//!
//! ```text
//! set:     an entry of the map is changed, and the chunk of the map that it is in is marked as written
//! check:   every entry of a chunk that was written: its page names it in the inverse map, and is valid; the mapped
//!          pages of the chunks add up to those that are counted
//! ```
//!
//! [`Pages::set`] is the only way to change an entry, so that a chunk without a mark is what it was when it was known
//! to be right: empty, filled in closed form, or loaded and checked. In a run that is verified, and in tests, every
//! chunk is checked.

use flashloom_nand::{Geometry, Lpn, Ppn};
use flashloom_units::{Reader, StateError, Violation, violation};

use super::valid_pages::ValidPages;

/// Entries of the map in a chunk, as a power of two.
const CHUNK_SHIFT: u32 = 12;
const CHUNK: usize = 1 << CHUNK_SHIFT;

/// The map of a store, its inverse, and the valid bits.
pub(super) struct Pages {
    map: Vec<Ppn>,
    pub(super) reverse: Vec<Lpn>,
    pub(super) mapped: u64,
    pub(super) valid: ValidPages,
    chunks: Chunks,
}

/// What is known of the chunks of the map.
struct Chunks {
    /// Whether entries were changed. A byte each, because they are set with every page written.
    is_written: Vec<bool>,
    /// The mapped pages of those that were not.
    mapped: Vec<u32>,
    /// Whether the others are checked, too.
    checks_all: bool,
}

impl Pages {
    /// Nothing is mapped. `checks_all` is for a run that is verified.
    pub(super) fn new(geometry: &Geometry, mapped_by: u64, checks_all: bool) -> Self {
        let chunks = mapped_by.div_ceil(CHUNK as u64) as usize;
        Self {
            map: vec![Ppn::NONE; mapped_by as usize],
            reverse: vec![Lpn::NONE; geometry.total_pages() as usize],
            mapped: 0,
            valid: ValidPages::new(geometry),
            chunks: Chunks { is_written: vec![false; chunks], mapped: vec![0; chunks], checks_all },
        }
    }

    /// The map.
    #[inline(always)]
    pub(super) fn map(&self) -> &[Ppn] {
        &self.map
    }

    /// Whether every entry is checked, not only those that were written.
    pub(super) fn checks_all(&self) -> bool {
        self.chunks.checks_all
    }

    /// Changes an entry of the map.
    #[inline(always)]
    pub(super) fn set(&mut self, lpn: Lpn, ppn: Ppn) {
        self.map[lpn.at()] = ppn;
        self.chunks.is_written[lpn.at() >> CHUNK_SHIFT] = true;
    }

    /// Changes entries of an empty map: consecutive ones from `first` on, in rounds. Each place of a round has its next
    /// page and the distance to the one of the next round.
    pub(super) fn fill(&mut self, first: Lpn, rounds: u32, places: &mut [(Ppn, u32)]) {
        let pages = rounds as usize * places.len();
        for (lpn, (ppn, step)) in (first.0..).zip(&*places) {
            let of_place = self.reverse[ppn.at()..].iter_mut().step_by(*step as usize);
            let lpns = (lpn..).step_by(places.len());
            of_place.zip(lpns).take(rounds as usize).for_each(|(entry, lpn)| *entry = Lpn(lpn));
        }
        for entries in self.map[first.at()..][..pages].chunks_exact_mut(places.len()) {
            for (entry, (ppn, step)) in entries.iter_mut().zip(&mut *places) {
                *entry = *ppn;
                ppn.0 += *step;
            }
        }
        let (mut from, end) = (first.at(), first.at() + pages);
        while from < end {
            let to = (from + 1).next_multiple_of(CHUNK).min(end);
            self.chunks.mapped[from >> CHUNK_SHIFT] += (to - from) as u32;
            from = to;
        }
        self.mapped += pages as u64;
    }

    /// Loads the map and its inverse; all chunks count as written.
    pub(super) fn load(&mut self, from: &mut Reader, pages: u64) -> Result<(), StateError> {
        self.chunks.is_written.fill(true);
        let within = |name: &'static str| move |error: StateError| error.within(name);
        from.ids(&mut self.map, pages).map_err(within("map"))?;
        from.ids(&mut self.reverse, self.map.len() as u64).map_err(within("reverse"))
    }

    /// Takes all chunks for unwritten, because what was loaded is known to be right.
    pub(super) fn trust(&mut self) {
        self.chunks.is_written.fill(false);
        for (mapped, entries) in self.chunks.mapped.iter_mut().zip(self.map.chunks(CHUNK)) {
            *mapped = entries.iter().map(|ppn| u32::from(ppn.is_some())).sum();
        }
    }

    /// Checks that every mapped page of the chunks that were written is the valid copy of its address, and the number
    /// of mapped pages.
    pub(super) fn check(&self) -> Result<(), Violation> {
        let mut mapped = 0;
        for (chunk, entries) in self.map.chunks(CHUNK).enumerate() {
            if self.chunks.is_written[chunk] || self.chunks.checks_all {
                mapped += self.check_chunk(chunk * CHUNK, entries)?;
            } else {
                mapped += u64::from(self.chunks.mapped[chunk]);
            }
        }
        if mapped != self.mapped {
            return Err(violation!("page map: {mapped} entries, but {} counted", self.mapped));
        }
        Ok(())
    }

    fn check_chunk(&self, first: usize, entries: &[Ppn]) -> Result<u64, Violation> {
        let mut mapped = 0;
        for (lpn, ppn) in (first..).zip(entries).filter(|(_, ppn)| ppn.is_some()) {
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
    use flashloom_units::{ParamSet, load_with, save_with};

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
        pages.map[lpn.at()] = old;
        pages.map[entry] = to;
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
        pages.chunks.mapped.fill(0);
        pages.trust();
        assert_eq!(pages.check(), Ok(()), "the pages of all chunks are counted");
        write(&mut pages, Lpn(5), Ppn(4 * CHUNK as u32), 6);
        assert!(pages.check().is_err());
        let mut pages = filled();
        pages.map[CHUNK + 1] = Ppn(3);
        let saved = save_with(|to| {
            to.words(&pages.map);
            to.words(&pages.reverse);
        });
        load_with(&saved.unwrap(), |from| pages.load(from, 1 << 20)).unwrap();
        assert!(pages.check().is_err(), "nobody has checked what was loaded");
    }

    #[test]
    fn chunks_that_nobody_wrote_are_checked_where_all_are() {
        let mut pages = filled();
        pages.map[CHUNK + 1] = Ppn(3);
        assert_eq!(pages.check(), Ok(()), "no write leads to this");
        pages.chunks.checks_all = true;
        assert!(pages.check().is_err());
    }
}
