//! Where the pages of a command are: the host counts in sectors, flash in pages.

use flashloom_nand::Lpn;

use super::commands::Command;

/// Cuts the sectors of commands into pages. Pages are a power of two of sectors: numbers are shifted, not divided.
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

    /// The first page that a command touches.
    #[inline]
    pub(super) fn first(self, command: &Command) -> Lpn {
        Lpn((command.lba >> self.shift) as u32)
    }

    /// How many pages a command touches, whole or in part.
    #[inline]
    pub(super) fn count(self, command: &Command) -> u32 {
        let last = command.lba + u64::from(command.sectors) - 1;
        ((last >> self.shift) - (command.lba >> self.shift) + 1) as u32
    }

    /// The page of that index among those that a command touches, and which of its sectors.
    #[inline]
    pub(super) fn nth(self, command: &Command, index: u32) -> (Lpn, u32) {
        let lpn = (command.lba >> self.shift) + u64::from(index);
        let start = lpn << self.shift;
        let first = command.lba.saturating_sub(start);
        let last = (command.lba + u64::from(command.sectors) - start).min(u64::from(self.sectors_per_page));
        let mask = (u64::MAX >> (64 - (last - first))) << first;
        (Lpn(lpn as u32), mask as u32)
    }

    /// The pages that a command covers from their first sector to their last.
    pub(super) fn whole(self, command: &Command) -> impl Iterator<Item = Lpn> + use<> {
        let sectors = u64::from(self.sectors_per_page);
        let end = (command.lba + u64::from(command.sectors)) / sectors;
        (command.lba.div_ceil(sectors)..end).map(|lpn| Lpn(lpn as u32))
    }
}
