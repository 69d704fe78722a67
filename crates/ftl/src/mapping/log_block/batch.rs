//! Sorting of pages written in one batch by logical block.

use flashloom_nand::Lbn;
use flashloom_units::NO_INDEX;

use crate::PageWrite;

/// A sorter of batches. O(1) per page; allocates only for a batch longer than all before.
pub(super) struct Batch {
    /// The last page of each logical block in the batch so far.
    last: Vec<u32>,
    /// For each page of the batch, the next one of its logical block.
    next: Vec<u32>,
    /// The first page of each logical block of the batch.
    firsts: Vec<u32>,
    sorted: Vec<PageWrite>,
    /// True to sort the pages of a block by address.
    ascending: bool,
}

// Scratch: each batch restores `last`, and the other lists are written before they are read.
flashloom_units::state! { Batch { scratch firsts; fixed last, next, sorted, ascending; } }

impl Batch {
    /// A sorter for a drive of `logical_blocks`. The pages of a block keep their order, or are sorted by address if
    /// `ascending`.
    pub(super) fn new(logical_blocks: u32, ascending: bool) -> Self {
        let last = vec![NO_INDEX; logical_blocks as usize];
        Self { last, next: Vec::new(), firsts: Vec::new(), sorted: Vec::new(), ascending }
    }

    /// Returns the pages grouped by logical block. The blocks are in the order of their first pages in the batch; the
    /// pages of a block keep their order, or are sorted stably by address if `ascending`.
    pub(super) fn by_block(&mut self, writes: &[PageWrite], lbn_of: impl Fn(&PageWrite) -> Lbn) -> &[PageWrite] {
        self.sorted.clear();
        self.next.clear();
        self.next.resize(writes.len(), NO_INDEX);
        for (at, write) in (0..).zip(writes) {
            let last = std::mem::replace(&mut self.last[lbn_of(write).at()], at);
            if last == NO_INDEX {
                self.firsts.push(at);
            } else {
                self.next[last as usize] = at;
            }
        }
        for first in self.firsts.drain(..) {
            self.last[lbn_of(&writes[first as usize]).at()] = NO_INDEX;
            let mut at = first;
            while at != NO_INDEX {
                self.sorted.push(writes[at as usize]);
                at = self.next[at as usize];
            }
        }
        if self.ascending {
            for block in self.sorted.chunk_by_mut(|one, other| lbn_of(one) == lbn_of(other)) {
                block.sort_by_key(|write| write.lpn);
            }
        }
        &self.sorted
    }
}

#[cfg(test)]
mod tests {
    use flashloom_nand::{HostPage, Lpn, Nand};

    use super::*;

    #[test]
    fn blocks_keep_the_order_of_their_first_pages_and_pages_theirs() {
        let [mut kept, mut ascending] = [false, true].map(|ascending| Batch::new(4, ascending));
        for (lpns, sorted) in [
            (&[9, 0, 8, 13, 1][..], &[9, 8, 0, 1, 13][..]),
            (&[1, 4, 0], &[1, 0, 4]),
            (&[], &[]),
            (&[4, 5, 6], &[4, 5, 6]),
        ] {
            let write = |&lpn: &u32| PageWrite::new(HostPage { lpn: Lpn(lpn), mask: 1, write: 0 }, Nand::NO_TAG);
            let writes: Vec<PageWrite> = lpns.iter().map(write).collect();
            let by_block = |batch: &mut Batch| -> Vec<u32> {
                batch.by_block(&writes, |write| Lbn(write.lpn.0 / 4)).iter().map(|write| write.lpn.0).collect()
            };
            assert_eq!(by_block(&mut kept), sorted);
            let mut in_order = sorted.to_vec();
            in_order.chunk_by_mut(|one, other| one / 4 == other / 4).for_each(<[u32]>::sort);
            assert_eq!(by_block(&mut ascending), in_order);
        }
    }
}
