//! Conversion of a command's sectors to pages.

use flashloom_nand::Lpn;

/// Splits ranges of sectors into pages. A page is a power of two of sectors, so numbers are shifted, not divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paging {
    sectors_per_page: u32,
    shift: u32,
}

impl Paging {
    pub(super) fn new(sectors_per_page: u32) -> Self {
        debug_assert!(sectors_per_page.is_power_of_two(), "pages are a power of two of sectors");
        Self { sectors_per_page, shift: sectors_per_page.trailing_zeros() }
    }

    /// The page that a sector is in.
    #[inline]
    pub(super) fn page_of(self, lba: u64) -> Lpn {
        Lpn((lba >> self.shift) as u32)
    }

    /// The number of pages that `sectors` sectors from `lba` on touch, whole or in part.
    #[inline]
    pub(super) fn count(self, lba: u64, sectors: u32) -> u32 {
        let last = lba + u64::from(sectors) - 1;
        ((last >> self.shift) - (lba >> self.shift) + 1) as u32
    }

    /// The page at `index` among those that `sectors` sectors from `lba` on touch, and the mask of its touched sectors.
    #[inline]
    pub(super) fn nth(self, lba: u64, sectors: u32, index: u32) -> (Lpn, u32) {
        let lpn = (lba >> self.shift) + u64::from(index);
        let start = lpn << self.shift;
        let first = lba.saturating_sub(start);
        let last = (lba + u64::from(sectors) - start).min(u64::from(self.sectors_per_page));
        let mask = (u64::MAX >> (64 - (last - first))) << first;
        (Lpn(lpn as u32), mask as u32)
    }

    /// The pages that `sectors` sectors from `lba` on cover whole.
    pub(super) fn whole(self, lba: u64, sectors: u32) -> impl Iterator<Item = Lpn> + use<> {
        let end = (lba + u64::from(sectors)) >> self.shift;
        (lba.div_ceil(u64::from(self.sectors_per_page))..end).map(|lpn| Lpn(lpn as u32))
    }
}
