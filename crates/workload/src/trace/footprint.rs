//! The 4 KiB pages that were touched: one bitmap for each touched 16 MiB of address space, and runs of chunks that were
//! touched whole, so memory grows with the addresses, not with the requests nor with what a single one covers.

use std::collections::BTreeMap;

use crate::Request;

const PAGE_SECTORS: u64 = 8;
const PAGE_BYTES: u64 = 4096;
const CHUNK_PAGES: u64 = 4096;
const WORDS: usize = (CHUNK_PAGES / 64) as usize;

/// Set of pages touched so far.
#[derive(Default)]
pub(crate) struct TouchedPages {
    /// Chunks that were touched in part, by their number.
    chunks: BTreeMap<u64, Box<[u64; WORDS]>>,
    /// Runs of chunks that were touched whole: the first one, and the one behind the last. No two meet.
    whole: BTreeMap<u64, u64>,
    pages: u64,
}

impl TouchedPages {
    /// Adds every page that a request touches.
    pub fn touch(&mut self, request: &Request) {
        let (mut page, end) = (request.lba / PAGE_SECTORS, request.end().div_ceil(PAGE_SECTORS));
        while page < end {
            let chunk = page / CHUNK_PAGES;
            if page.is_multiple_of(CHUNK_PAGES) && end - page >= CHUNK_PAGES {
                self.touch_whole(chunk, end / CHUNK_PAGES);
                page = end / CHUNK_PAGES * CHUNK_PAGES;
                continue;
            }
            let chunk_end = end.min((chunk + 1) * CHUNK_PAGES);
            if !self.is_whole(chunk) {
                self.touch_part(page, chunk_end);
            }
            page = chunk_end;
        }
    }

    fn is_whole(&self, chunk: u64) -> bool {
        self.whole.range(..=chunk).next_back().is_some_and(|(_, &end)| chunk < end)
    }

    /// Adds pages of one chunk.
    fn touch_part(&mut self, mut page: u64, end: u64) {
        let chunk = self.chunks.entry(page / CHUNK_PAGES).or_insert_with(|| Box::new([0; WORDS]));
        while page < end {
            let bit = page % 64;
            let count = (end - page).min(64 - bit);
            let mask = (u64::MAX >> (64 - count)) << bit;
            let word = &mut chunk[(page % CHUNK_PAGES / 64) as usize];
            self.pages += u64::from((mask & !*word).count_ones());
            *word |= mask;
            page += count;
        }
    }

    /// Adds whole chunks: runs that they meet become one, and bitmaps of theirs are dropped.
    fn touch_whole(&mut self, first: u64, end: u64) {
        let mut run = (first, end);
        let mut pages = (end - first) * CHUNK_PAGES;
        while let Some((&start, &behind)) = self.whole.range(..=end).next_back().filter(|(_, behind)| **behind >= first)
        {
            self.whole.remove(&start);
            pages -= behind.min(end).saturating_sub(start.max(first)) * CHUNK_PAGES;
            run = (run.0.min(start), run.1.max(behind));
        }
        self.whole.insert(run.0, run.1);
        let parts: Vec<u64> = self.chunks.range(first..end).map(|(chunk, _)| *chunk).collect();
        for words in parts.iter().filter_map(|chunk| self.chunks.remove(chunk)) {
            pages -= words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
        self.pages += pages;
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

    #[test]
    fn a_request_of_two_tebibytes_takes_no_bitmap_of_its_own() {
        let mut touched = TouchedPages::default();
        let op = Op::Read;
        for number in 0..1_000_u64 {
            let (lba, sectors) = (number << 32, u32::MAX);
            touched.touch(&Request::new(op, lba, sectors));
        }
        assert_eq!((touched.chunks.len(), touched.whole.len()), (0, 1), "runs that meet become one");
        assert_eq!(touched.bytes(), 1_000 << 41);
    }

    proptest! {
        #[test]
        fn the_bitmap_counts_what_a_set_counts(
            requests in prop::collection::vec((0u64..200_000, 1u32..170_000), 1..20), far: bool,
        ) {
            let base = if far { 1u64 << 54 } else { 0 };
            let (mut touched, mut set) = (TouchedPages::default(), BTreeSet::new());
            for (lba, sectors) in requests {
                let (op, lba) = (Op::Read, base + lba);
                let request = Request::new(op, lba, sectors);
                touched.touch(&request);
                set.extend(lba / 8..=(lba + u64::from(sectors) - 1) / 8);
                prop_assert_eq!(touched.bytes(), set.len() as u64 * 4096);
            }
        }
    }
}
