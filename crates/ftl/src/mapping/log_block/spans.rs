//! Spans: the number of chips over which the logical blocks of a region are distributed, as a permutation of addresses.
//!
//! A region is `widest` logical blocks, one on each chip. With a span of c, c logical blocks at a time share their
//! pages: page p of the c blocks, of N pages each, becomes page p / c of block p mod c. All other code works with
//! permuted addresses. A change of span moves the whole region, in order, into new data blocks.

use crate::PageWrite;
use flashloom_nand::{BlockId, Lbn, Lpn, Nand, PlaneId, Ppn};
use flashloom_units::{Violation, violation};
use serde::{Deserialize, Serialize};

use super::store::{Chip, Store};
use crate::placement::{Ledger, Placement, Region, Run, Times};
use crate::store::WornOut;

/// The spans of all regions.
pub(super) struct Spans {
    /// Pages of a logical block; logical blocks of a region.
    pages: u32,
    widest: u32,
    regions: Vec<Region>,
    times: Times,
    reading: Reading,
}

flashloom_units::state! { Spans { array regions; value reading; fixed pages, widest, times; } }

/// The current run of consecutive reads.
#[derive(Serialize, Deserialize)]
struct Reading {
    next: Lpn,
    run: Run,
}

impl Reading {
    const NONE: Self = Self { next: Lpn::NONE, run: Run { pages: 0, together: 0, is_write: false, copied: 0 } };
}

impl Spans {
    /// Regions of `widest` logical blocks over the host's pages. A remainder at the end keeps a span of one.
    pub(super) fn new(store: &mut Store, widest: u32, logical_pages: u64) -> Self {
        store.watch_copies();
        let pages = store.blocks.pages();
        let regions = (logical_pages / u64::from(pages * widest)) as usize;
        Self {
            pages,
            widest,
            regions: vec![Region::NARROW; regions],
            times: store.costs.times(pages),
            reading: Reading::NONE,
        }
    }

    /// Checks loaded regions: their spans, and that their sums cannot overflow.
    pub(super) fn check(&self) -> Result<(), Violation> {
        let is_sound = |region: &Region| {
            let Ledger { wider_ns, narrower_ns, blocks_written, blocks_if_narrower, blocks_if_wider } = region.ledger;
            let greatest = [wider_ns, narrower_ns, blocks_if_wider].into_iter().max().unwrap_or(0);
            region.span.is_power_of_two()
                && region.span <= self.widest
                && greatest < 1 << 60
                && (blocks_if_narrower..=blocks_if_wider).contains(&blocks_written)
                && region.reversals < 1 << 30
        };
        if let Some(region) = self.regions.iter().position(|region| !is_sound(region)) {
            return Err(violation!("placement: region {region} has a span or a ledger that no run leads to"));
        }
        let Reading { next, run: Run { pages, together, copied, .. } } = self.reading;
        let is_read = pages == 0 || (next.0 > 0 && next != Lpn::NONE);
        if is_read && pages.max(together).max(copied) < 1 << 30 {
            return Ok(());
        }
        Err(violation!("placement: a run of {pages} pages was read before page {}", next.0))
    }

    fn region_of(&self, lpn: Lpn) -> usize {
        (lpn.0 / (self.pages * self.widest)) as usize
    }

    /// The address of a page under a given span.
    fn permuted(&self, lpn: Lpn, span: u32) -> Lpn {
        let size = self.pages * span;
        let (base, page) = (lpn.0 / size * size, lpn.0 % size);
        Lpn(base + page % span * self.pages + page / span)
    }

    /// The permuted address of a page.
    pub(super) fn placed(&self, lpn: Lpn) -> Lpn {
        self.regions.get(self.region_of(lpn)).map_or(lpn, |region| self.permuted(lpn, region.span))
    }

    /// Counts a page about to be read. A run ends, and is reported to the placement, when a page is read that does not
    /// follow it, or when the array is idle at the next read.
    pub(super) fn watch_read(&mut self, placement: &mut dyn Placement, store: &mut Store, nand: &mut Nand, lpn: Lpn) {
        let in_flight = nand.in_flight() as u32;
        let begins_region = lpn.0.is_multiple_of(self.pages * self.widest);
        if lpn == self.reading.next && in_flight > 0 && !begins_region {
            self.reading.run.pages += 1;
            self.reading.run.together += 1;
        } else {
            let Reading { next, run } = std::mem::replace(&mut self.reading, Reading::NONE);
            if run.pages > 0 {
                self.watch(placement, store, nand, Lpn(next.0 - 1), run);
            }
            self.reading.run = Run { pages: 1, together: in_flight + 1, ..Reading::NONE.run };
        }
        self.reading.next = Lpn(lpn.0 + 1);
    }

    /// Widens the spans of regions whose first page is in this write, before the pages are written. A sequence then
    /// goes to the log in order. Widening in the middle of it would break the order and cost a full merge each time.
    pub(super) fn widen_for(
        &mut self,
        placement: &dyn Placement,
        store: &mut Store,
        nand: &mut Nand,
        writes: &[PageWrite],
    ) {
        let size = self.pages * self.widest;
        for write in writes.iter().filter(|write| write.lpn.0.is_multiple_of(size)) {
            let index = self.region_of(write.lpn);
            if let Some(region) = self.regions.get(index) {
                let span = placement.span(region, &self.times).max(region.span);
                self.change_to(store, nand, index, span);
            }
        }
    }

    /// Tells the placement which pages were written together.
    pub(super) fn watch_writes(
        &mut self,
        placement: &mut dyn Placement,
        store: &mut Store,
        nand: &mut Nand,
        writes: &[PageWrite],
    ) {
        let (size, together) = (self.pages * self.widest, nand.in_flight() as u32);
        for run in writes.chunk_by(|one, other| one.lpn.0 + 1 == other.lpn.0 && one.lpn.0 / size == other.lpn.0 / size)
        {
            let pages = run.len() as u32;
            self.watch(placement, store, nand, run[0].lpn, Run { pages, together, is_write: true, copied: 0 });
        }
    }

    /// Reports a run to the placement, and moves the region if the placement returns another span. After a write the
    /// span only narrows: `widen_for` widens it before the next one.
    fn watch(&mut self, placement: &mut dyn Placement, store: &mut Store, nand: &mut Nand, lpn: Lpn, run: Run) {
        let index = self.region_of(lpn);
        let Some(mut region) = self.regions.get(index).copied() else { return };
        let first = Lbn(index as u32 * self.widest);
        let copied = (0..self.widest).map(|block| store.take_copies(Lbn(first.0 + block))).sum();
        placement.watch(&mut region, &Run { copied, ..run }, &self.times);
        self.regions[index] = region;
        let span = placement.span(&region, &self.times);
        self.change_to(store, nand, index, if run.is_write { span.min(region.span) } else { span });
    }

    fn change_to(&mut self, store: &mut Store, nand: &mut Nand, index: usize, span: u32) {
        let old = self.regions[index].span;
        if span != old && !store.blocks.is_worn_out() {
            // In a drive that wears out meanwhile the region is under the one span or the other.
            let _ = self.change(store, nand, index, span);
        }
    }

    /// Moves a region to the addresses of its new span. All pages are copied before the old copies die.
    fn change(&mut self, store: &mut Store, nand: &mut Nand, index: usize, new: u32) -> Result<(), WornOut> {
        let (first, old) = (Lbn(index as u32 * self.widest), self.regions[index].span);
        let blocks = (0..self.widest).map(|block| Lbn(first.0 + block));
        let group_of = |lbn: Lbn, store: &Store| lbn.0 % store.groups();
        for lbn in blocks.clone() {
            let group = group_of(lbn, store);
            Chip { store, nand, group }.finish_before_move()?;
        }
        let start = Lpn(first.0 * self.pages);
        let mut copies = vec![Ppn::NONE; (self.pages * self.widest) as usize];
        for lpn in (start.0..start.0 + self.pages * self.widest).map(Lpn) {
            copies[(self.permuted(lpn, new).0 - start.0) as usize] = store.newest(self.permuted(lpn, old));
        }
        let gathered = copies.chunks_mut(self.pages as usize).zip(blocks.clone()).map(|(pages, lbn)| {
            let group = group_of(lbn, store);
            Chip { store, nand, group }.gather(pages)
        });
        let gathered = gathered.collect::<Result<Vec<BlockId>, _>>()?;
        store.rebind(start, &copies);
        self.regions[index].change_to(new);
        for (lbn, to) in blocks.zip(gathered) {
            let group = group_of(lbn, store);
            let old = store.set_data_block(lbn, to);
            if old.is_some() {
                Chip { store, nand, group }.erase(old)?;
            }
        }
        Ok(())
    }
}

impl Chip<'_> {
    /// Copies pages, in order, to a new block, and replaces them in `pages` by their copies. Returns `NONE` if none is
    /// mapped.
    fn gather(&mut self, pages: &mut [Ppn]) -> Result<BlockId, WornOut> {
        let Some(last) = pages.iter().rposition(|page| page.is_some()) else { return Ok(BlockId::NONE) };
        let to = self.store.blocks.open(PlaneId(self.group));
        for page in &mut pages[..=last] {
            let copied = self.copy_page(*page, to)?;
            if page.is_some() {
                *page = copied;
                self.store.merges.migrated_pages += 1;
            }
        }
        Ok(to)
    }
}

#[cfg(test)]
mod tests {
    use super::super::lab::{setup, space};
    use super::super::store::Limits;
    use super::*;
    use crate::mapping::Site;
    use crate::mapping::bast::Bast;

    #[test]
    fn a_span_permutes_the_pages_of_a_region_and_deals_them_to_its_blocks_in_turn() {
        let (setup, space) = (setup("bast", &[]), space(4, 4, 16));
        let layout = Bast::with_width(&Site { space: &space, ftl: &setup }, 1, 16);
        let limits = Limits { associativity: layout.associativity, steps_a_page: 1 };
        let spans = Spans::new(&mut Store::new(&setup, &space, &Nand::new(&space.nand), limits, (1, 16)), 4, 70);
        for span in [1, 2, 4] {
            let mut placed: Vec<u32> = (16..32).map(|lpn| spans.permuted(Lpn(lpn), span).0).collect();
            let blocks: Vec<u32> = placed.iter().take(4).map(|lpn| lpn / 4 - 4).collect();
            assert_eq!(blocks, (0..4).map(|page| page % span).collect::<Vec<_>>());
            placed.sort();
            assert_eq!(placed, (16..32).collect::<Vec<_>>());
        }
        assert_eq!(spans.placed(Lpn(69)), Lpn(69), "the incomplete region at the end");
    }
}
