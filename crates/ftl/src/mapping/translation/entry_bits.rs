//! A bit for each entry of the map.

use super::{MapShape, TranslationPage};

/// A bit for each entry of the map. The entries of a translation page are whole words.
pub(in crate::mapping) struct EntryBits {
    words: Vec<u64>,
}

flashloom_units::state! { EntryBits { nested words; } }

impl EntryBits {
    pub(in crate::mapping) fn new(shape: &MapShape) -> Self {
        let entries = shape.translation_pages() * shape.entries_a_page();
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

    pub(in crate::mapping) fn of_page(&mut self, page: TranslationPage, shape: &MapShape) -> &mut [u64] {
        let words = (shape.entries_a_page() / u64::BITS) as usize;
        &mut self.words[page.at() * words..(page.at() + 1) * words]
    }
}
