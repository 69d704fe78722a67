//! Contents of pages, as version stamps of their sectors: one word a page where all sectors have the same stamp.

use flashloom_units::{Violation, violation};

/// The stamps of the sectors of one page.
pub(crate) type Stamps = [u32; 32];

/// Stamps of the sectors of many pages.
///
/// A page whose sectors all carry one stamp, the common case, takes four bytes; others take a slab entry, which is
/// recycled when the page is written again. Stamp 0 is "never written".
#[derive(Debug)]
pub(crate) struct Contents {
    pages: Vec<u32>,
    mixed: Vec<Stamps>,
    free: Vec<u32>,
}

flashloom_units::state! { Contents { nested pages; list mixed [pages.len()], free [pages.len()]; } }

/// Marks a word that is an index into the slab instead of a stamp.
const MIXED: u32 = 1 << 31;

impl Contents {
    /// Makes the contents of `pages` pages that were never written.
    pub(crate) fn new(pages: usize) -> Self {
        Self { pages: vec![0; pages], mixed: Vec::new(), free: Vec::new() }
    }

    /// Checks contents that were loaded: each entry of the slab is one page's, or free.
    pub(crate) fn check(&self) -> Result<(), Violation> {
        let mut is_used = vec![false; self.mixed.len()];
        let of_pages = self.pages.iter().filter(|&&word| word & MIXED != 0).map(|&word| word & !MIXED);
        for index in of_pages.chain(self.free.iter().copied()) {
            match is_used.get_mut(index as usize) {
                Some(is_used) if !*is_used => *is_used = true,
                _ => {
                    return Err(violation!(
                        "verification: the contents of a page are in entry {index}, which is not its"
                    ));
                }
            }
        }
        if is_used.contains(&false) { Err(Violation::new("verification: contents that no page has")) } else { Ok(()) }
    }

    /// Returns the stamps of all sectors of a page. Entries beyond the page's size mean nothing.
    pub(crate) fn get(&self, page: usize) -> Stamps {
        match self.pages[page] {
            word if word & MIXED != 0 => self.mixed[(word & !MIXED) as usize],
            stamp => [stamp; 32],
        }
    }

    /// Replaces the stamps of a page of `sectors` sectors.
    pub(crate) fn set(&mut self, page: usize, stamps: &Stamps, sectors: u32) {
        let uniform = stamps[1..sectors as usize].iter().all(|stamp| *stamp == stamps[0]);
        let old = self.pages[page];
        if uniform {
            if old & MIXED != 0 {
                self.free.push(old & !MIXED);
            }
            self.pages[page] = stamps[0];
        } else if old & MIXED != 0 {
            self.mixed[(old & !MIXED) as usize] = *stamps;
        } else {
            let index = self.free.pop().unwrap_or_else(|| {
                self.mixed.push([0; 32]);
                self.mixed.len() as u32 - 1
            });
            self.mixed[index as usize] = *stamps;
            self.pages[page] = index | MIXED;
        }
    }

    /// Replaces the stamps of the sectors in the mask by one stamp, below 2^31.
    pub(crate) fn stamp(&mut self, page: usize, mask: u32, stamp: u32, sectors: u32) {
        let mut stamps = self.get(page);
        (0..32).filter(|sector| mask >> sector & 1 == 1).for_each(|sector| stamps[sector] = stamp);
        self.set(page, &stamps, sectors);
    }

    /// Resets a page to never written.
    pub(crate) fn clear(&mut self, page: usize) {
        self.set(page, &[0; 32], 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_pages_take_a_word_and_mixed_ones_recycle_their_entry() {
        let mut contents = Contents::new(2);
        contents.stamp(0, 0xff, 7, 8);
        assert_eq!(contents.get(0)[..8], [7; 8]);
        contents.stamp(0, 0b11, 9, 8);
        assert_eq!(contents.get(0)[..4], [9, 9, 7, 7]);
        contents.clear(0);
        contents.stamp(1, 1, 3, 8);
        assert_eq!((contents.get(0)[0], contents.get(1)[..2].to_vec(), contents.mixed.len()), (0, vec![3, 0], 1));
    }
}
