//! A queue that is emptied before long.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Reader, State, StateError, Writer};

/// A queue that is emptied again and again: a list, and how many of its entries were taken. Cheaper than a ring where
/// that holds; where it does not, the entries that were taken use memory.
#[derive(Clone, Debug)]
pub struct Fifo<T> {
    entries: Vec<T>,
    taken: usize,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), taken: 0 }
    }
}

impl<T: Copy> Fifo<T> {
    /// Adds an entry behind the others.
    #[inline]
    pub fn push(&mut self, entry: T) {
        self.entries.push(entry);
    }

    /// Takes the entry that was added first.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let entry = *self.entries.get(self.taken)?;
        self.taken += 1;
        if self.taken == self.entries.len() {
            self.entries.clear();
            self.taken = 0;
        }
        Some(entry)
    }

    /// True if there is nothing to take.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries that can be taken.
    pub fn len(&self) -> usize {
        self.entries.len() - self.taken
    }
}

impl<T: Copy + Serialize + DeserializeOwned> State for Fifo<T> {
    fn save(&self, to: &mut Writer) {
        to.value(&self.entries[self.taken..]);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        *self = Self { entries: from.value()?, taken: 0 };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load_state, save_state};

    #[test]
    fn entries_come_out_as_they_went_in_and_a_saved_queue_goes_on() {
        let mut queue = Fifo::default();
        (0..5).for_each(|entry| queue.push(entry));
        assert_eq!([queue.take(), queue.take()], [Some(0), Some(1)]);
        let mut loaded = Fifo::default();
        load_state(&mut loaded, &save_state(&queue).unwrap()).unwrap();
        for mut queue in [queue, loaded] {
            queue.push(5);
            assert_eq!((queue.len(), queue.is_empty()), (4, false));
            assert_eq!(std::iter::from_fn(|| queue.take()).collect::<Vec<_>>(), [2, 3, 4, 5]);
            assert!(queue.is_empty() && queue.take().is_none());
        }
    }
}
