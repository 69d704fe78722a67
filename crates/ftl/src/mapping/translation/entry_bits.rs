//! A bit for each entry of the map.

use std::ops::Range;

/// A bit for each entry of the map. The entries of a translation page are whole words.
pub(in crate::mapping) struct EntryBits {
    words: Vec<u64>,
}

flashloom_units::state! { EntryBits { nested words; } }

impl EntryBits {
    pub(in crate::mapping) fn new(entries: u32) -> Self {
        Self { words: vec![0; entries.div_ceil(u64::BITS) as usize] }
    }

    pub(in crate::mapping) fn get(&self, entry: u32) -> bool {
        self.words[(entry / u64::BITS) as usize] >> (entry % u64::BITS) & 1 == 1
    }

    /// Sets a bit; returns what it was.
    pub(in crate::mapping) fn replace(&mut self, entry: u32, bit: bool) -> bool {
        let (word, at) = (&mut self.words[(entry / u64::BITS) as usize], entry % u64::BITS);
        let was = *word >> at & 1 == 1;
        *word = *word & !(1 << at) | u64::from(bit) << at;
        was
    }

    /// The words of some entries, which begin and end with one.
    pub(in crate::mapping) fn of(&mut self, entries: Range<u32>) -> &mut [u64] {
        let word = |entry: u32| (entry / u64::BITS) as usize;
        &mut self.words[word(entries.start)..word(entries.end)]
    }
}
