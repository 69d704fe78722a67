//! What mapping units of several pages ([`crate::mapping_unit`]) hold of the host's pages.
//!
//! ```text
//! held:   a bit for each page of the host, set from its write to its discard; a unit is mapped while it has a page
//!         that is held. Without a bit a page reads as one that was never written
//! ```
//!
//! Memory: a bit for each page of the host.

use flashloom_nand::{Lpn, Ppn};
use flashloom_units::{Reader, State, StateError, Violation, Writer, ensure, violation};

/// The pages of the host within mapping units.
pub(super) struct Units {
    /// Pages of a unit.
    pub(super) pages: u32,
    /// Pages of all units.
    host_pages: u64,
    held: Vec<u64>,
    held_pages: u64,
    /// Pages of units that were programmed though the host did not write them, since the last reset.
    pub(super) rewritten: u64,
}

impl Units {
    /// Nothing is held of so many units of as many pages as given.
    pub(super) fn new(pages: u32, units: u64) -> Self {
        let host_pages = units * u64::from(pages);
        Self { pages, host_pages, held: vec![0; host_pages.div_ceil(64) as usize], held_pages: 0, rewritten: 0 }
    }

    /// The unit of a page, and the place of the page in it.
    #[inline]
    pub(super) fn of(&self, lpn: Lpn) -> (Lpn, u32) {
        (Lpn(lpn.0 / self.pages), lpn.0 % self.pages)
    }

    /// Whether a page is held. Places of the last unit beyond the host's pages never are.
    #[inline]
    pub(super) fn holds(&self, lpn: Lpn) -> bool {
        self.held.get(lpn.at() / 64).is_some_and(|word| word >> (lpn.0 % 64) & 1 == 1)
    }

    /// Holds pages of a unit that was written with them, and with others for their sake.
    pub(super) fn wrote(&mut self, lpns: impl ExactSizeIterator<Item = Lpn>) {
        self.rewritten += u64::from(self.pages) - lpns.len() as u64;
        for lpn in lpns {
            self.held_pages += u64::from(!self.holds(lpn));
            self.held[lpn.at() / 64] |= 1 << (lpn.0 % 64);
        }
    }

    /// Drops a page. Returns whether its unit holds no other.
    pub(super) fn drop(&mut self, lpn: Lpn) -> bool {
        self.held_pages -= u64::from(self.holds(lpn));
        self.held[lpn.at() / 64] &= !(1 << (lpn.0 % 64));
        !self.holds_any(self.of(lpn).0)
    }

    /// Holds the first pages of a drive that holds none. The units that they are in were written whole.
    pub(super) fn fill(&mut self, pages: u64) {
        let (words, rest) = ((pages / 64) as usize, pages % 64);
        self.held[..words].fill(u64::MAX);
        if rest > 0 {
            self.held[words] = (1 << rest) - 1;
        }
        self.held_pages = pages;
        self.rewritten += pages.next_multiple_of(self.pages.into()) - pages;
    }

    /// Whether any page of a unit is held.
    fn holds_any(&self, unit: Lpn) -> bool {
        (0..self.pages).any(|place| self.holds(Lpn(unit.0 * self.pages + place)))
    }

    /// Checks the number of pages held, and, if `all` are to be checked, that the mapped units are those with a page
    /// that is held.
    pub(super) fn check(&self, map: &[Ppn], all: bool) -> Result<(), Violation> {
        let held: u64 = self.held.iter().map(|word| u64::from(word.count_ones())).sum();
        ensure!(held == self.held_pages, "mapping units: {held} pages are held, but {} counted", self.held_pages);
        let units = (0..self.host_pages.div_ceil(self.pages.into()) as u32).map(Lpn).filter(|_| all);
        match units.zip(map).find(|&(unit, ppn)| ppn.is_some() != self.holds_any(unit)) {
            Some((unit, _)) => Err(violation!("mapping units: unit {} is mapped and holds nothing, or not", unit.0)),
            None => Ok(()),
        }
    }
}

impl State for Units {
    fn save(&self, to: &mut Writer) {
        let Self { pages: _, host_pages: _, held, held_pages, rewritten } = self;
        held.save(to);
        to.value(held_pages);
        to.value(rewritten);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        self.held.load(from).map_err(|error| error.within("held"))?;
        self.held_pages = from.value()?;
        self.rewritten = from.value()?;
        let beyond = self.host_pages % 64;
        let last = self.held.last().copied().unwrap_or(0);
        if beyond > 0 && last >> beyond != 0 {
            return Err(from.error("pages of the host".to_owned(), "one beyond the last".to_owned()));
        }
        Ok(())
    }
}
