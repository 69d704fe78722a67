//! Filling a new drive in order of address, by stretches instead of pages.
//!
//! ```text
//! stretch:     whole rounds of the allocation's turns, up to the end of the first open block that gets full
//! each page:   its entries in the map and in the inverse map
//! afterwards:  for each block of the stretch at once: write pointer, valid bits, counters, programs
//! ```
//!
//! Between stretches full blocks are closed and others opened by the code of any write, in the same order, so that the
//! state afterwards is that of writing page by page. It works where a page written has no further effect: nothing is
//! collected, nothing fails, pages are neither hot nor in an SLC cache, and nobody observes the array. All other fills
//! write page by page.

use flashloom_nand::{Lpn, Nand, Origin, PlaneId, Ppn};

use super::store::PageStore;
use crate::allocation::Turns;
use crate::lane::Lane;

impl PageStore {
    /// Writes the first `pages` pages of a new drive in order of address, `group` at a time. Returns false, and does
    /// nothing, unless the result is known to be that of writing page by page.
    pub fn fill(&mut self, nand: &mut Nand, pages: u64, group: u64) -> bool {
        let unit_pages = u64::from(self.unit_pages());
        if !group.is_multiple_of(unit_pages) {
            return false;
        }
        if !self.fill_units(nand, pages.div_ceil(unit_pages), group / unit_pages) {
            return false;
        }
        self.units.iter_mut().for_each(|units| units.fill(pages));
        self.report.host_page_writes += pages;
        true
    }

    /// [`Self::fill`] in pages of the store, without the counters of the host's.
    fn fill_units(&mut self, nand: &mut Nand, pages: u64, group: u64) -> bool {
        let Some(layout) = self.allocator.policy.layout(pages).filter(|layout| self.can_fill(nand, layout)) else {
            return false;
        };
        let (mut told, mut lpn) = (0, 0);
        for Turns { planes, pages: in_turn } in &layout {
            let end = lpn + in_turn;
            while lpn < end {
                let round = &planes[..planes.len().min((end - lpn) as usize)];
                for (page, &plane) in (lpn..).zip(round) {
                    if self.is_full(plane, Lane::HOST) {
                        self.tell_of_writes(&mut told, page, (pages, group));
                        self.open(plane, Lane::HOST);
                    }
                }
                lpn += self.fill_stretch(nand, round, lpn, end - lpn);
            }
        }
        if pages > 0 {
            self.tell_of_writes(&mut told, pages - 1, (pages, group));
        }
        self.allocator.policy.laid_out(pages);
        true
    }

    /// Whether the drive is new, and writing pages of a layout has no effect beyond their own places.
    fn can_fill(&self, nand: &Nand, layout: &[Turns]) -> bool {
        let is_new = |plane| self.blocks.free_in(plane) == self.blocks.usable_in(plane);
        let is_new = self.pages.mapped == 0 && self.planes().all(is_new) && self.blocks.is_unworn();
        let has_no_effect = nand.only_counts() && !nand.can_fail() && self.heat.is_none() && self.cache.is_none();
        let mut in_planes = vec![0; self.planes.len()];
        for Turns { planes, pages } in layout {
            let (rounds, rest) = (pages / planes.len() as u64, pages % planes.len() as u64);
            for (place, plane) in (0..).zip(planes) {
                in_planes[plane.at()] += rounds + u64::from(place < rest);
            }
        }
        let strategy = &self.collector.strategy;
        let kept = strategy.threshold.max(strategy.free_to_open.saturating_sub(1));
        let fits = |(plane, &pages): (PlaneId, &u64)| {
            let opened = pages.div_ceil(self.blocks.pages().into());
            let kept = u64::from(kept) + opened;
            pages as i64 <= self.plane(plane).room && kept <= self.blocks.free_in(plane).into()
        };
        let superpage = u64::from(self.blocks.superblocks.superpage());
        let is_aligned = layout.iter().rev().skip(1).all(|turns| turns.pages.is_multiple_of(superpage));
        is_new
            && has_no_effect
            && is_aligned
            && self.collector.watermarks.is_none()
            && self.planes().zip(&in_planes).all(fits)
    }

    /// Tells the collection policy of the groups of pages up to that of a page, as their writes would.
    fn tell_of_writes(&mut self, told: &mut u64, page: u64, (pages, group): (u64, u64)) {
        while *told <= page {
            self.collector.policy.written(group.min(pages - *told) as u32);
            *told += group;
        }
    }

    /// Fills rounds from a page on, as many as the open blocks and `left` pages allow; returns the pages written.
    fn fill_stretch(&mut self, nand: &mut Nand, round: &[PlaneId], first: u64, left: u64) -> u64 {
        let mut places: Vec<(Ppn, u32)> = Vec::with_capacity(round.len());
        let mut rounds = u32::try_from(left / round.len() as u64).unwrap_or(u32::MAX);
        // With superblocks a die has neighbouring places, one for each page of a superpage.
        for of_plane in round.chunk_by(PlaneId::eq) {
            let (plane, step) = (of_plane[0], of_plane.len() as u32);
            let open = self.open_block(plane, Lane::HOST);
            let ppn = self.blocks.page(open, self.blocks.written(open)).0;
            places.extend((ppn..ppn + step).map(|ppn| (Ppn(ppn), step)));
            rounds = rounds.min(self.left(plane, Lane::HOST) / step);
        }
        self.pages.fill(Lpn(first as u32), rounds, &mut places);
        for places in round.chunk_by(PlaneId::eq) {
            self.count_filled(nand, places[0], rounds * places.len() as u32);
        }
        u64::from(rounds) * round.len() as u64
    }

    /// Counts pages that were filled into the open block of a plane.
    fn count_filled(&mut self, nand: &mut Nand, plane: PlaneId, pages: u32) {
        let block = self.open_block(plane, Lane::HOST);
        let first = self.blocks.take(block, pages);
        self.pages.valid.insert_row(plane, self.blocks.page(block, first), pages);
        self.blocks.gained_row(block, pages);
        if self.blocks.superblocks.are_blocks() {
            return nand.count_programs(block, first, pages, Origin::Host);
        }
        for index in first..first + pages {
            for place in 0..self.unit_pages() {
                let (member, page) = self.blocks.superblocks.place(block, index, place);
                nand.count_programs(member, page, 1, Origin::Host);
            }
        }
    }

    fn planes(&self) -> impl Iterator<Item = PlaneId> + use<> {
        (0..self.blocks.geometry.total_planes()).map(PlaneId)
    }
}
