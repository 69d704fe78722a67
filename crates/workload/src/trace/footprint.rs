//! The 4 KiB pages that were touched: one bitmap for each touched 16 MiB of address space, so memory grows with the
//! addresses, not with the requests.

use std::collections::BTreeMap;

use crate::Request;

const PAGE_SECTORS: u64 = 8;
const PAGE_BYTES: u64 = 4096;
const CHUNK_PAGES: u64 = 4096;
const WORDS: usize = (CHUNK_PAGES / 64) as usize;

/// Set of pages touched so far.
#[derive(Default)]
pub(crate) struct TouchedPages {
    chunks: BTreeMap<u64, Box<[u64; WORDS]>>,
    pages: u64,
}

impl TouchedPages {
    /// Adds every page that a request touches.
    pub fn touch(&mut self, request: &Request) {
        let (mut page, end) = (request.lba / PAGE_SECTORS, request.end().div_ceil(PAGE_SECTORS));
        while page < end {
            let chunk = self.chunks.entry(page / CHUNK_PAGES).or_insert_with(|| Box::new([0; WORDS]));
            let chunk_end = end.min((page / CHUNK_PAGES + 1) * CHUNK_PAGES);
            while page < chunk_end {
                let bit = page % 64;
                let count = (chunk_end - page).min(64 - bit);
                let mask = (u64::MAX >> (64 - count)) << bit;
                let word = &mut chunk[(page % CHUNK_PAGES / 64) as usize];
                self.pages += u64::from((mask & !*word).count_ones());
                *word |= mask;
                page += count;
            }
        }
    }

    /// Size of all touched pages, in bytes.
    pub fn bytes(&self) -> u64 {
        self.pages * PAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_bitmap_counts_what_a_set_counts(
            requests in prop::collection::vec((0u64..200_000, 1u32..70_000), 1..20), far: bool,
        ) {
            let base = if far { 1u64 << 54 } else { 0 };
            let (mut touched, mut set) = (TouchedPages::default(), BTreeSet::new());
            for (lba, sectors) in requests {
                let (op, lba) = (Op::Read, base + lba);
                let request =
                    Request { arrival_ns: 0, lba, sectors, task: 0, recorded_latency_ns: 0, op, flags: 0 };
                touched.touch(&request);
                set.extend(lba / 8..=(lba + u64::from(sectors) - 1) / 8);
                prop_assert_eq!(touched.bytes(), set.len() as u64 * 4096);
            }
        }
    }
}
