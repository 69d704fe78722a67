//! Copies in a row: consecutive survivors of a victim that go to the same open block.
//!
//! ```text
//! row:       the next valid pages of the victim: as many as are paid for, and as the open block has room for
//! each page: its valid bit moves from the victim to the open block, and the map is updated; in timed mode its copy is
//!            emitted
//! after:     counters of valid pages, programs and copies are updated once per row
//! ```
//!
//! This is the hot path of ageing: an aged drive programs several survivors for each page of the host. Pages that may
//! go elsewhere are moved by `move_next` (`collect`): hot pages, pages of a stream that is spread, pages of a
//! superpage, all pages if programs can fail, and the first page of a block.

use flashloom_nand::{BlockId, Origin, PageCopy, PlaneId, Ppn, Urgency};
use flashloom_units::prefetch;

use super::cursor::{CollectionListener, Cursor};
use super::plane::{CollectionJob, Plane};
use super::store::PageStore;
use super::strategy::Copies;
use crate::store::REVERSE_AHEAD;

/// Distance of prefetching, in pages: map entries are fetched this far ahead of the copies.
pub(super) const PREFETCH_PAGES: usize = 12;

/// A row: pages of a victim that are copied to the same block.
#[derive(Clone, Copy)]
struct Row {
    victim: BlockId,
    /// Index in the victim from which its valid pages are taken.
    next: u32,
    /// Destination: a block, and the next page of it.
    block: BlockId,
    first: u32,
    pages: u32,
    origin: Origin,
    urgency: Urgency,
}

impl<L: CollectionListener> Cursor<'_, L> {
    /// Copies at most `most` pages of a job, as far as the open block of its lane has room. Returns their number: 0 if
    /// the pages may go elsewhere, or if the next step is not a copy. Each copy uses up `price` of the paid steps.
    #[inline(always)]
    pub(super) fn copy_in_a_row(&mut self, plane: PlaneId, most: u32, price: u32, urgency: Urgency) -> u32 {
        let PageStore { blocks, planes, frontiers, collector, .. } = &mut *self.store;
        if collector.strategy.copies == Copies::OneByOne {
            return 0;
        }
        let Plane { job: Some(job), .. } = &planes[plane.at()] else { return 0 };
        let CollectionJob { victim, origin, lane, .. } = *job;
        let block = frontiers.of(plane, lane).block;
        if block.is_none() || job.is_spread {
            return 0;
        }
        let pages = most.min(blocks.valid_of(victim)).min(blocks.pages() - blocks.written(block));
        if pages == 0 {
            return 0;
        }
        let first = blocks.take(block, pages);
        let row = Row { victim, next: job.next, block, first, pages, origin, urgency };
        let next = if self.nand.count_copies(block, first, pages, origin) {
            self.copy_row::<false>(plane, row)
        } else {
            self.copy_row::<true>(plane, row)
        };
        if let Some(job) = &mut self.store.plane_mut(plane).job {
            job.next = next;
            job.paid -= pages * price;
        }
        pages
    }

    /// Copies the pages of a row, and emits the copies unless they are only counted. Returns the index in the victim
    /// after the last page copied.
    #[inline(always)]
    fn copy_row<const EMITS: bool>(&mut self, plane: PlaneId, row: Row) -> u32 {
        let Row { victim, next, block, first, pages: count, origin, urgency } = row;
        let PageStore { pages, blocks, report, .. } = &mut *self.store;
        let of_victim = blocks.page(victim, 0).0;
        let mut from = Ppn(of_victim + next);
        let mut to = blocks.page(block, first);
        for page in first..first + count {
            from = pages.valid.take_next(from);
            pages.valid.put(to);
            let lpn = pages.reverse[from.at()];
            if EMITS {
                // In timed mode the copies that fetched it ahead were a while ago. A store to the map that waits for
                // the cache would hold up those of the next emission.
                prefetch(pages.map(), lpn.at());
                self.nand.copy(PageCopy { urgency, ..PageCopy::new(from, block, page, origin) });
            }
            prefetch(&pages.reverse, from.at() + 3 * PREFETCH_PAGES);
            prefetch(&pages.reverse, to.at() + REVERSE_AHEAD);
            if let Some(ahead) = pages.reverse.get(from.at() + PREFETCH_PAGES) {
                prefetch(pages.map(), ahead.at());
            }
            pages.set(lpn, to);
            pages.reverse[to.at()] = lpn;
            self.listener.moved(plane, lpn, pages.map());
            from.0 += 1;
            to.0 += 1;
        }
        blocks.moved(victim, block, count);
        report.page_copies += u64::from(count);
        if origin == Origin::Fold {
            self.store.count_folded(count);
        }
        from.0 - of_victim
    }
}
