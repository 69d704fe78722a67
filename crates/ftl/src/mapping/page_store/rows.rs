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

use flashloom_nand::{BlockId, Nand, Origin, PageCopy, PlaneId, Ppn, Urgency};
use flashloom_units::prefetch;

use super::collect::{Job, PREFETCH_PAGES};
use super::{CollectionListener, PageStore, REVERSE_AHEAD};

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

impl PageStore {
    /// Copies the next pages of a job, `most` at most, as far as there is room in the open block of its lane. Returns
    /// how many; none where they do not all go there, or where something else is to be done. Nearly all copies are done
    /// here: what is to be counted is counted once for all of them. Each costs `price` of what was paid.
    #[inline(always)]
    pub(super) fn copy_in_a_row(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        most: u32,
        price: u32,
        urgency: Urgency,
        listener: &mut impl CollectionListener,
    ) -> u32 {
        if !self.copies_in_a_row {
            return 0;
        }
        let Some(job) = &mut self.jobs[plane.at()] else { return 0 };
        let Job { victim, origin, lane, .. } = *job;
        let open = &mut self.frontiers[plane.at()][lane.at()];
        let (block, first) = (open.block, open.next);
        let pages = most.min(self.blocks.valid_of(victim)).min(self.geometry.pages - first);
        if pages == 0 || job.is_spread {
            return 0;
        }
        open.next += pages;
        let row = Row { victim, next: job.next, block, first, pages, origin, urgency };
        let next = if nand.count_copies(block, first, pages, origin) {
            self.copy_row::<false>(nand, plane, row, listener)
        } else {
            self.copy_row::<true>(nand, plane, row, listener)
        };
        if let Some(job) = &mut self.jobs[plane.at()] {
            job.next = next;
            job.paid -= pages * price;
        }
        pages
    }

    /// Copies the pages of a row, and emits the copies where they are not only counted. Returns the index in the victim
    /// of the page behind the last.
    #[inline(always)]
    fn copy_row<const EMITS: bool>(
        &mut self,
        nand: &mut Nand,
        plane: PlaneId,
        row: Row,
        listener: &mut impl CollectionListener,
    ) -> u32 {
        let Row { victim, next, block, first, pages, origin, urgency } = row;
        let of_victim = self.geometry.page(victim, 0).0;
        let mut from = Ppn(of_victim + next);
        let mut to = self.geometry.page(block, first);
        for page in first..first + pages {
            from = self.valid.take_next(from);
            self.valid.put(to);
            if EMITS {
                nand.copy(PageCopy { urgency, ..PageCopy::new(from, block, page, origin) });
            }
            prefetch(&self.reverse, from.at() + 3 * PREFETCH_PAGES);
            prefetch(&self.reverse, to.at() + REVERSE_AHEAD);
            if let Some(ahead) = self.reverse.get(from.at() + PREFETCH_PAGES) {
                prefetch(&self.map, ahead.at());
            }
            let lpn = self.reverse[from.at()];
            self.map[lpn.at()] = to;
            self.reverse[to.at()] = lpn;
            listener.moved(plane, lpn);
            from.0 += 1;
            to.0 += 1;
        }
        self.blocks.moved(victim, block, pages);
        self.report.page_copies += u64::from(pages);
        from.0 - of_victim
    }
}
