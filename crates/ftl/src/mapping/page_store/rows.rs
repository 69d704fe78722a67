//! Copies in a row: the survivors of a victim that go to one open block, one after the other.
//!
//! ```text
//! row:   the next valid pages of the victim, as many as have been paid for and as the open block has room for
//! page:  its bit moves from the victim to the open block, and the map follows; in timed mode its copy is emitted
//! then:  valid pages of both blocks, programs and copies are counted once for all of them
//! ```
//!
//! Nearly all copies of a drive are such: an aged drive programs several survivors for each page of the host, and what
//! is done for each of them is what ageing costs. A page that may go elsewhere is moved by `move_next` (`collect`): a
//! hot one, one of a stream that is spread, one whose program can fail, one of a superpage, and the first of a block.

use flashloom_nand::{BlockId, Origin, PageCopy, PlaneId, Ppn, Urgency};
use flashloom_units::prefetch;

use super::cursor::{CollectionListener, Cursor};
use super::plane::Job;
use super::store::{PageStore, Pages, REVERSE_AHEAD};
use super::strategy::Copies;

/// How far ahead of a collection's copies their entries of the map are fetched.
pub(super) const PREFETCH_PAGES: usize = 12;

/// Pages of a victim that are copied one after the other to the same block.
#[derive(Clone, Copy)]
struct Row {
    victim: BlockId,
    /// The page of the victim from which on they are valid ones.
    next: u32,
    /// Where they go: a block and its next page.
    block: BlockId,
    first: u32,
    pages: u32,
    origin: Origin,
    urgency: Urgency,
}

impl<L: CollectionListener> Cursor<'_, L> {
    /// Copies the next pages of a job, `most` at most, as far as there is room in the open block of its lane. Returns
    /// how many; none where they do not all go there, or where something else is to be done. Nearly all copies are done
    /// here, and counters are updated once for all of a row. Each costs `price` of what was paid.
    #[inline(always)]
    pub(super) fn copy_in_a_row(&mut self, plane: PlaneId, most: u32, price: u32, urgency: Urgency) -> u32 {
        let PageStore { geometry, blocks, planes, collector, .. } = &mut *self.store;
        if collector.strategy.copies == Copies::OneByOne {
            return 0;
        }
        let state = &mut planes[plane.at()];
        let Some(job) = &mut state.job else { return 0 };
        let Job { victim, origin, lane, .. } = *job;
        let open = &mut state.open[lane.at()];
        let (block, first) = (open.block, open.next);
        let pages = most.min(blocks.valid_of(victim)).min(geometry.pages - first);
        if pages == 0 || job.is_spread {
            return 0;
        }
        open.next += pages;
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

    /// Copies the pages of a row, and emits the copies where they are not only counted. Returns the index in the victim
    /// of the page behind the last.
    #[inline(always)]
    fn copy_row<const EMITS: bool>(&mut self, plane: PlaneId, row: Row) -> u32 {
        let Row { victim, next, block, first, pages, origin, urgency } = row;
        let PageStore { geometry, pages: Pages { map, reverse, valid, .. }, blocks, report, .. } = &mut *self.store;
        let of_victim = geometry.page(victim, 0).0;
        let mut from = Ppn(of_victim + next);
        let mut to = geometry.page(block, first);
        for page in first..first + pages {
            from = valid.take_next(from);
            valid.put(to);
            if EMITS {
                self.nand.copy(PageCopy { urgency, ..PageCopy::new(from, block, page, origin) });
            }
            prefetch(reverse, from.at() + 3 * PREFETCH_PAGES);
            prefetch(reverse, to.at() + REVERSE_AHEAD);
            if let Some(ahead) = reverse.get(from.at() + PREFETCH_PAGES) {
                prefetch(map, ahead.at());
            }
            let lpn = reverse[from.at()];
            map[lpn.at()] = to;
            reverse[to.at()] = lpn;
            self.listener.moved(plane, lpn);
            from.0 += 1;
            to.0 += 1;
        }
        blocks.moved(victim, block, pages);
        report.page_copies += u64::from(pages);
        from.0 - of_victim
    }
}
