//! An array that knows which of its parts have changed since it was known to be right, and the way back to that state.
//!
//! ```text
//! set:        an entry is changed, and the chunk that it is in is marked as written. If the way back is kept, what the
//!             chunk was is kept first
//! settle:     the array is right as it is: no chunk is marked
//! roll back:  the chunks that are marked are put back
//! ```
//!
//! [`Tracked::set`] is the only way to change an entry of a settled array, so that a chunk without a mark is what it
//! was when it was known to be right. O(1) an entry; a way back takes O(what was written), and there are at most
//! [`MOST_CHUNKS`] marks.

use std::ops::{Deref, Range};

use crate::{Id, Reader, State, StateError, Word, Writer};

/// Fewest entries in a chunk, as a power of two: those of one line of the processor's cache.
const LEAST_SHIFT: u32 = 4;
/// Most chunks: their marks then stay in the processor's first cache.
const MOST_CHUNKS: usize = 1 << 17;

/// An array of words. It is saved and loaded as their vector is, and rolled back by itself
/// ([`roll_back_with`](crate::roll_back_with)).
pub struct Tracked<T> {
    entries: Vec<T>,
    /// Entries in a chunk, as a power of two.
    shift: u32,
    /// A bit for each chunk whether it was written: looked at with every entry that is.
    is_written: Vec<u64>,
    /// The chunks that were, in the order in which they were written first.
    written: Vec<u32>,
    /// What the entries of those chunks were before, one chunk after the other, if the way back is kept.
    before: Option<Vec<T>>,
}

impl<T: Word> Tracked<T> {
    /// An array that is right as it is.
    pub fn new(entries: Vec<T>) -> Self {
        let shift = entries.len().div_ceil(MOST_CHUNKS).next_power_of_two().trailing_zeros().max(LEAST_SHIFT);
        let chunks = entries.len().div_ceil(1 << shift);
        let (is_written, written) = (vec![0; chunks.div_ceil(64)], Vec::with_capacity(chunks));
        Self { entries, shift, is_written, written, before: None }
    }

    /// Changes an entry.
    ///
    /// # Panics
    /// There is no such entry.
    #[inline(always)]
    pub fn set(&mut self, at: usize, value: T) {
        let chunk = self.chunk_of(at);
        if self.is_written[chunk / 64] >> (chunk % 64) & 1 == 0 {
            self.write_first(chunk);
        }
        self.entries[at] = value;
    }

    /// Marks a chunk as written, just before it is.
    #[cold]
    #[inline(never)]
    fn write_first(&mut self, chunk: usize) {
        let entries = self.range_of(chunk);
        self.is_written[chunk / 64] |= 1 << (chunk % 64);
        self.written.push(chunk as u32);
        if let Some(before) = &mut self.before {
            before.extend_from_slice(&self.entries[entries]);
        }
    }

    /// The entries, for changes that belong to the state that is known to be right: they are not marked.
    pub fn settled_mut(&mut self) -> &mut [T] {
        &mut self.entries
    }

    /// Number of entries of every chunk but perhaps the last: a power of two.
    pub fn chunk_entries(&self) -> usize {
        1 << self.shift
    }

    /// The chunk of an entry.
    #[inline(always)]
    pub fn chunk_of(&self, at: usize) -> usize {
        at >> self.shift
    }

    /// The entries of a chunk.
    pub fn range_of(&self, chunk: usize) -> Range<usize> {
        let first = chunk * self.chunk_entries();
        first..self.entries.len().min(first + self.chunk_entries())
    }

    /// The chunks that were written.
    pub fn written(&self) -> impl Iterator<Item = usize> + '_ {
        self.written.iter().map(|&chunk| chunk as usize)
    }

    /// What the chunks that were written were before, each with its first entry; nothing unless the way back is kept.
    pub fn before(&self) -> impl Iterator<Item = (usize, &[T])> {
        let mut rest = self.before.as_deref().unwrap_or_default();
        self.written().filter(|_| self.before.is_some()).map(move |chunk| {
            let range = self.range_of(chunk);
            let (of_chunk, others) = rest.split_at(range.len());
            rest = others;
            (range.start, of_chunk)
        })
    }

    /// Marks every chunk, or none.
    fn mark_all(&mut self, are_written: bool) {
        self.is_written.fill(if are_written { u64::MAX } else { 0 });
        self.written.clear();
        let chunks = self.entries.len().div_ceil(self.chunk_entries()) as u32;
        self.written.extend(0..if are_written { chunks } else { 0 });
    }

    fn roll_back(&mut self) -> bool {
        let Some(mut before) = self.before.take() else { return false };
        let (written, mut rest) = (std::mem::take(&mut self.written), &before[..]);
        for &chunk in &written {
            let range = self.range_of(chunk as usize);
            let (of_chunk, others) = rest.split_at(range.len());
            self.entries[range].copy_from_slice(of_chunk);
            rest = others;
        }
        before.clear();
        (self.written, self.before) = (written, Some(before));
        self.mark_all(false);
        true
    }

    fn load_by(
        &mut self,
        from: &mut Reader,
        load: impl FnOnce(&mut Reader, &mut Vec<T>) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        if !from.rolls_back() {
            self.before = None;
            self.mark_all(true);
            return load(from, &mut self.entries);
        }
        from.skip_rolled_back::<T>(self.entries.len())?;
        if self.roll_back() { Ok(()) } else { Err(from.error("an array that keeps what it was", "one that does not")) }
    }
}

impl<T: Word + Id> Tracked<T> {
    /// [`State::load`] of identifiers, each below a bound or none.
    ///
    /// # Errors
    /// The bytes are no such array.
    pub fn load_ids(&mut self, from: &mut Reader, bound: u64) -> Result<(), StateError> {
        self.load_by(from, |from, entries| from.ids(entries, bound))
    }
}

impl<T> Deref for Tracked<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.entries
    }
}

/// All chunks that are loaded count as written.
impl<T: Word> State for Tracked<T> {
    fn save(&self, to: &mut Writer) {
        to.rolled_back(&self.entries);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        self.load_by(from, |from, entries| from.words(entries))
    }

    fn settle(&mut self, keeps: bool) {
        self.before = keeps.then(Vec::new);
        self.mark_all(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load_with, roll_back_with, save_for_rollback, save_with};

    const CHUNK: usize = 1 << LEAST_SHIFT;

    #[test]
    fn it_is_rolled_back_from_every_chunk_and_as_often_as_it_is_asked_to() {
        // The last chunk is cut off.
        let first: Vec<u32> = (0..3 * CHUNK as u32 + 9).collect();
        let mut array = Tracked::new(first.clone());
        array.settle(true);
        let (whole, rest) = (save_with(|to| array.save(to)).unwrap(), save_for_rollback(|to| array.save(to)).unwrap());
        assert_eq!((whole.len() - rest.len(), rest.len()), (4 * first.len(), 1));
        for (round, state) in [&rest, &whole, &rest].into_iter().enumerate() {
            // Entries that are written twice, one alone in its chunk, and the last; in one round none.
            for at in [5, 6, 5, CHUNK, first.len() - 1].into_iter().filter(|_| round != 1) {
                array.set(at, 1_000 + at as u32);
            }
            let chunks: Vec<_> = array.written().collect();
            assert_eq!(chunks, if round == 1 { vec![] } else { vec![0, 1, 3] }, "in the order of their first writes");
            for (start, before) in array.before() {
                assert_eq!(before, &first[start..first.len().min(start + CHUNK)]);
            }
            assert_eq!(array.before().count(), chunks.len());
            roll_back_with(state, |from| array.load(from)).unwrap();
            assert_eq!((&*array, array.written().count()), (&first[..], 0), "round {round}");
        }
        let other = save_with(|to| to.rolled_back(&[0_u32])).unwrap();
        assert!(roll_back_with(&other, |from| array.load(from)).unwrap_err().expected.contains("57 entries, or"));
    }

    #[test]
    fn what_is_loaded_counts_as_written_and_is_not_kept() {
        let mut array = Tracked::new((0..40_u32).collect());
        array.settle(true);
        let whole = save_with(|to| array.save(to)).unwrap();
        load_with(&whole, |from| array.load(from)).unwrap();
        assert_eq!((array.written().count(), array.before().count()), (3, 0));
        assert!(roll_back_with(&whole, |from| array.load(from)).is_err());
        array.settle(false);
        array.set(7, 0);
        assert_eq!(array.before().count(), 0, "no way back is kept");
    }

    #[test]
    fn chunks_are_as_small_as_their_number_allows() {
        let shape = |entries| {
            let array = Tracked::new(vec![0_u8; entries]);
            (array.chunk_entries(), array.written.capacity())
        };
        assert_eq!([1, 16, 17].map(shape), [(16, 1), (16, 1), (16, 2)]);
        assert_eq!(shape(16 * MOST_CHUNKS), (16, MOST_CHUNKS));
        assert_eq!(shape(16 * MOST_CHUNKS + 1), (32, MOST_CHUNKS / 2 + 1));
    }
}
