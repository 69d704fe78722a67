//! The size of a map on flash, and which of its pages has which entries.

use std::ops::Range;

use flashloom_nand::{BlockId, Lpn, Ppn};
use flashloom_units::Divisor;

use super::EntryBits;
use crate::Space;
use crate::mapping::page_store::Own;
use crate::report::ADDRESS_BYTES;

flashloom_units::ids! {
    /// A page of the map, numbered from the first entry on.
    TranslationPage,
}

/// The size of a map.
#[derive(Clone, Copy, Debug)]
pub struct MapShape {
    entries: u32,
    by_entries: Divisor,
    planes: u32,
    by_pages: Divisor,
    blocks: u32,
}

impl MapShape {
    /// A map of `entries` entries, `entries_a_page` of them on each translation page, for a drive of `planes`, each of
    /// one block.
    pub const fn new(entries: u32, entries_a_page: u32, planes: u32) -> Self {
        let by_pages = Divisor::new(entries.div_ceil(planes));
        Self { entries, by_entries: Divisor::new(entries_a_page), planes, by_pages, blocks: planes }
    }

    /// The map of a drive.
    pub fn of(space: &Space) -> Self {
        let (entries_a_page, geometry) = ((space.page_bytes() / ADDRESS_BYTES) as u32, space.geometry());
        let shape = Self::new(space.logical_pages as u32, entries_a_page, geometry.total_planes());
        shape.with_blocks(geometry.total_blocks() as u32, geometry.pages)
    }

    /// The same map of a drive with `blocks` blocks of `pages` pages.
    #[must_use]
    pub const fn with_blocks(self, blocks: u32, pages: u32) -> Self {
        Self { by_pages: Divisor::new(pages), blocks, ..self }
    }

    /// Number of entries: the host's pages.
    pub const fn entries(&self) -> u32 {
        self.entries
    }

    /// Entries in a translation page.
    pub const fn entries_a_page(&self) -> u32 {
        self.by_entries.get()
    }

    /// Planes of the drive, to which consecutive pages are written in turn unless the allocation decides otherwise.
    pub const fn planes(&self) -> u32 {
        self.planes
    }

    /// Number of translation pages.
    pub const fn translation_pages(&self) -> u32 {
        self.entries.div_ceil(self.entries_a_page())
    }

    /// Space that the map needs in the store.
    pub fn own(&self) -> Own {
        Own::of_map(self.translation_pages())
    }

    /// The entries of a translation page, which the last one does not all have.
    pub(in crate::mapping) const fn places_of(&self, page: TranslationPage) -> Range<u32> {
        page.0 * self.entries_a_page()..(page.0 + 1) * self.entries_a_page()
    }

    /// A bit for each place of an entry.
    pub(in crate::mapping) fn bits(&self) -> EntryBits {
        EntryBits::new(self.translation_pages() * self.entries_a_page())
    }

    /// Number of blocks that pages are written to: with superblocks, of these.
    pub const fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Pages of such a block.
    pub const fn pages_a_block(&self) -> u32 {
        self.by_pages.get()
    }

    /// The block of a page.
    #[inline(always)]
    pub fn block_of(&self, page: Ppn) -> BlockId {
        BlockId(self.by_pages.quotient(page.0))
    }

    /// The translation page that holds an entry.
    #[inline(always)]
    pub fn page_of(&self, lpn: Lpn) -> TranslationPage {
        TranslationPage(self.by_entries.quotient(lpn.0))
    }
}
