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

    /// The entry of a set bit at or after `from`, of which the first has number 0.
    pub(in crate::mapping) fn nth(&self, from: u32, mut number: u32) -> Option<u32> {
        let mut at = (from / u64::BITS) as usize;
        let mut word = self.words.get(at)? & u64::MAX << (from % u64::BITS);
        while word.count_ones() <= number {
            number -= word.count_ones();
            at += 1;
            word = *self.words.get(at)?;
        }
        (0..number).for_each(|_| word &= word - 1);
        Some(at as u32 * u64::BITS + word.trailing_zeros())
    }

    /// The words of some entries, which begin and end with one.
    pub(in crate::mapping) fn of(&mut self, entries: Range<u32>) -> &mut [u64] {
        &mut self.words[words_of(entries)]
    }

    /// Whether one of some entries, which begin and end with a word, has its bit set.
    pub(in crate::mapping) fn any(&self, entries: Range<u32>) -> bool {
        self.words[words_of(entries)].iter().any(|&word| word != 0)
    }
}

fn words_of(entries: Range<u32>) -> Range<usize> {
    let word = |entry: u32| (entry / u64::BITS) as usize;
    word(entries.start)..word(entries.end)
}
