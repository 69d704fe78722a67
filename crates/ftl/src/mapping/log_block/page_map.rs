//! Where the newest copy of each page is, for mappings of blocks that page-map some of them.

use flashloom_nand::Lpn;
use flashloom_units::{Violation, ensure, prefetch, violation};

use super::superblocks::{Spn, SuperblockId, Superblocks};

/// The newest copy of each logical page, and the logical page of each physical page, in all physical blocks.
pub(crate) struct PageMap {
    newest: Vec<Spn>,
    logical: Vec<Lpn>,
}

flashloom_units::state! {
    PageMap {
        ids newest [logical.len()], logical [newest.len()];
    }
}

impl PageMap {
    /// The map of so many logical pages, none of which has a copy in the blocks.
    pub(crate) fn new(logical_pages: u64, blocks: &Superblocks) -> Self {
        Self {
            newest: vec![Spn::NONE; logical_pages as usize],
            logical: vec![Lpn::NONE; (blocks.total() * blocks.pages()) as usize],
        }
    }

    pub(crate) fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.newest, lpn.at());
    }

    /// The newest copy of a page, or `NONE`.
    pub(crate) fn newest(&self, lpn: Lpn) -> Spn {
        self.newest[lpn.at()]
    }

    /// The newest copies of consecutive pages, as far as there are such pages.
    pub(crate) fn newest_from(&self, first: Lpn, pages: u32) -> &[Spn] {
        let end = self.newest.len().min(first.at() + pages as usize);
        &self.newest[first.at()..end]
    }

    /// The logical page that is valid in a page, or `NONE`.
    pub(crate) fn logical(&self, page: Spn) -> Lpn {
        self.logical[page.at()]
    }

    /// Maps a page that is not mapped to a copy that was just programmed.
    pub(crate) fn bind(&mut self, lpn: Lpn, page: Spn, blocks: &mut Superblocks) {
        self.newest[lpn.at()] = page;
        self.logical[page.at()] = lpn;
        blocks.validated(blocks.superblock_of(page));
    }

    /// Unmaps a page; returns the block that held it, if it was mapped.
    pub(crate) fn unbind(&mut self, lpn: Lpn, blocks: &mut Superblocks) -> Option<SuperblockId> {
        let page = std::mem::replace(&mut self.newest[lpn.at()], Spn::NONE);
        page.is_some().then(|| {
            self.logical[page.at()] = Lpn::NONE;
            let held = blocks.superblock_of(page);
            blocks.invalidated(held);
            held
        })
    }

    /// Checks that a loaded state has only newest copies, in pages that were written and that `may_hold` a logical page
    /// by their block and their number in it.
    pub(crate) fn check_loaded(
        &self,
        blocks: &Superblocks,
        may_hold: impl Fn(SuperblockId, u32, Lpn) -> bool,
    ) -> Result<(), Violation> {
        for (page, &lpn) in (0..).map(Spn).zip(&self.logical).filter(|(_, lpn)| lpn.is_some()) {
            let block = blocks.superblock_of(page);
            let index = page.0 - blocks.page(block, 0).0;
            if self.newest(lpn) != page || index >= blocks.written(block) || !may_hold(block, index, lpn) {
                return Err(violation!("map: page {} is no copy of logical page {}", page.0, lpn.0));
            }
        }
        Ok(())
    }

    /// Checks that both directions agree, and that blocks count their valid pages. Calls `count` for each mapped page.
    pub(crate) fn check(&self, blocks: &Superblocks, mut count: impl FnMut(Lpn)) -> Result<(), Violation> {
        let mut valid = vec![0; blocks.total() as usize];
        for (lpn, &page) in (0..).map(Lpn).zip(&self.newest).filter(|(_, page)| page.is_some()) {
            ensure!(self.logical(page) == lpn, "map: logical page {} is not in page {}", lpn.0, page.0);
            valid[blocks.superblock_of(page).at()] += 1;
            count(lpn);
        }
        let is_counted = |block: u32| blocks.valid(SuperblockId(block)) == valid[block as usize];
        match (0..blocks.total()).find(|&block| !is_counted(block)) {
            Some(block) => Err(violation!("map: block {block} has {} valid pages", valid[block as usize])),
            None => Ok(()),
        }
    }
}
