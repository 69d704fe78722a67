//! The valid pages: a bitmap with counts by plane.

use flashloom_nand::{BlockId, Geometry, PlaneId, Ppn};
use flashloom_units::prefetch;

/// A bit for every page, set if it is valid, and the number of valid pages of each plane.
pub(crate) struct ValidPages {
    bits: Vec<u64>,
    in_plane: Vec<u32>,
}

flashloom_units::state! { ValidPages { nested bits, in_plane; } }

impl ValidPages {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let words = geometry.total_pages().div_ceil(64) as usize;
        Self { bits: vec![0; words], in_plane: vec![0; geometry.total_planes() as usize] }
    }

    #[inline]
    pub(crate) fn insert(&mut self, plane: PlaneId, ppn: Ppn) {
        self.put(ppn);
        self.in_plane[plane.at()] += 1;
    }

    /// Sets consecutive pages of a plane, none of which is valid.
    pub(crate) fn insert_row(&mut self, plane: PlaneId, first: Ppn, pages: u32) {
        let (mut at, end) = (first.at(), first.at() + pages as usize);
        while at < end {
            let taken = (64 - at % 64).min(end - at);
            self.bits[at / 64] |= u64::MAX >> (64 - taken) << (at % 64);
            at += taken;
        }
        self.in_plane[plane.at()] += pages;
    }

    #[inline]
    pub(crate) fn remove(&mut self, plane: PlaneId, ppn: Ppn) {
        debug_assert!(self.contains(ppn), "a page dies once");
        self.bits[ppn.at() / 64] &= !(1 << (ppn.0 % 64));
        self.in_plane[plane.at()] -= 1;
    }

    /// Clears and returns the first valid page at or after a given one; its block must have one. The caller then sets
    /// another page of the same plane with [`Self::put`], so the plane's count does not change.
    #[inline(always)]
    pub(crate) fn take_next(&mut self, from: Ppn) -> Ppn {
        let mut at = from.at() / 64;
        let mut word = self.bits[at] & (u64::MAX << (from.0 % 64));
        while word == 0 {
            at += 1;
            word = self.bits[at];
        }
        self.bits[at] ^= word & word.wrapping_neg();
        Ppn(at as u32 * 64 + word.trailing_zeros())
    }

    /// Sets a page of a plane in exchange for the one cleared there.
    #[inline(always)]
    pub(crate) fn put(&mut self, ppn: Ppn) {
        self.bits[ppn.at() / 64] |= 1 << (ppn.0 % 64);
    }

    /// Prefetches the bit of a page into the processor's cache.
    #[inline]
    pub(crate) fn prepare(&self, ppn: Ppn) {
        prefetch(&self.bits, ppn.at() / 64);
    }

    pub(crate) fn contains(&self, ppn: Ppn) -> bool {
        self.bits[ppn.at() / 64] >> (ppn.0 % 64) & 1 == 1
    }

    /// Number of valid pages of a plane.
    pub(crate) fn in_plane(&self, plane: PlaneId) -> u32 {
        self.in_plane[plane.at()]
    }

    /// The number of set bits. A check compares it with the planes' counts: no bit beyond the last page may be set.
    pub(crate) fn total(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The number of valid pages of a block.
    pub(crate) fn count(&self, geometry: &Geometry, block: BlockId) -> u32 {
        let (first, end) = (geometry.page(block, 0).at(), geometry.page(block, 0).at() + geometry.pages as usize);
        let (mut at, mut pages) = (first, 0);
        while at < end {
            let taken = (64 - at % 64).min(end - at);
            pages += (self.bits[at / 64] >> (at % 64) & (u64::MAX >> (64 - taken))).count_ones();
            at += taken;
        }
        pages
    }

    /// The index in a block of its first valid page at or after an index.
    pub(crate) fn next(&self, geometry: &Geometry, block: BlockId, from: u32) -> Option<u32> {
        let first = geometry.page(block, 0).0;
        let (mut at, end) = (first + from, first + geometry.pages);
        while at < end {
            let word = self.bits[at as usize / 64] >> (at % 64);
            if word != 0 {
                let found = at + word.trailing_zeros();
                return (found < end).then(|| found - first);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}
