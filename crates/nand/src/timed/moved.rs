//! Pages that are being moved: where a read finds their data.
//!
//! The FTL's map refers to a new page as soon as its program is emitted. Until the program has ended, the data that it
//! takes from another page is still in that page: all of it for a copy, the sectors that the host did not write for a
//! partial write, the unchanged entries for a map page (the controller has the changed ones in memory). The source
//! block is not erased before ([`Timed::hold`]).
//!
//! A host read or a read of the map is therefore redirected to the source page. If the program of that page has not
//! ended either, it is redirected to that program's source, and so on. The read joins the current life of the source
//! block, so an erase that was emitted already waits for it. The target is chosen when the read is queued. After the
//! program has ended, reads go to the new page, so the old block is held only for reads queued before.
//!
//! Other reads wait for the program of their page: reads of sectors that the host has just written, which are nowhere
//! else on flash; reads that provide data for copies; and reads of pages moved by an uninterrupted job
//! ([`Urgency::Blocking`](crate::Urgency)), because the die serves nothing else before such a job is over.

use crate::path::Path;
use crate::{BlockId, Ppn};
use flashloom_units::NO_INDEX;
use serde::{Deserialize, Serialize};

use super::{BLOCKING, Block, HOST_READS, Timed};
use crate::event::{Event, OperationKind};
use crate::operation::{Operation, Waits};

/// Programs that have not ended, by page. A block with such programs owns a row with one entry for each of its pages.
/// An entry is valid from the emission of a program of the page, in the block's latest life, to the end of that
/// program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Unfinished {
    entries: Vec<u32>,
    /// Rows without a block, which are reused before a new one is created.
    free_rows: Vec<u32>,
}

impl Unfinished {
    fn take_row(&mut self, pages: u32) -> u32 {
        self.free_rows.pop().unwrap_or_else(|| {
            let row = self.entries.len() as u32 / pages;
            self.entries.resize(self.entries.len() + pages as usize, NO_INDEX);
            row
        })
    }
}

/// Where a read finds the data of a page whose program has not ended.
enum DataPlace {
    /// In the source page of the program.
    Source(Ppn),
    /// Nowhere on flash until a program has ended: that of the page itself, or of a source page.
    Behind(u32),
}

/// The table of programs by page.
impl Timed {
    /// Enters a program in the latest life of its block.
    #[inline(always)]
    pub(super) fn note_program(&mut self, id: u32, block: BlockId, page: u32) {
        let pages = self.geometry.pages;
        let row = &mut self.blocks[block.at()].row;
        if *row == NO_INDEX {
            *row = self.unfinished.take_row(pages);
        }
        self.unfinished.entries[(*row * pages + page) as usize] = id;
    }

    /// Removes an ended program of a block. With the last one the block gives up its row.
    #[inline(always)]
    pub(super) fn drop_row(&mut self, block: BlockId) {
        let state = &mut self.blocks[block.at()];
        let is_last = state.programmed == state.queued && state.programs.head == NO_INDEX;
        if is_last && state.later.head == NO_INDEX {
            self.unfinished.free_rows.push(std::mem::replace(&mut state.row, NO_INDEX));
        }
    }

    /// The program of a page in the latest life of its block (after the last erase emitted), or none if it has ended.
    #[inline(always)]
    pub(super) fn program_of(&self, block: BlockId, page: u32) -> u32 {
        let state = &self.blocks[block.at()];
        if state.erase == NO_INDEX && page < state.programmed {
            return NO_INDEX;
        }
        debug_assert_ne!(state.row, NO_INDEX, "only pages that were programmed are read or copied");
        self.unfinished.entries[(state.row * self.geometry.pages + page) as usize]
    }
}

/// Reads of pages whose program has not ended.
impl Timed {
    /// Handles a read that is ready but whose page is not programmed: redirects it to the source page, or lets it wait
    /// for the program.
    #[cold]
    pub(super) fn queue_unfinished(&mut self, id: u32, path: &mut impl Path) {
        let Operation { block, before, .. } = self.operations[id as usize];
        match self.place_of(id) {
            DataPlace::Source(page) => {
                // The program that it does not wait for is pending too, so no erase can become ready.
                self.blocks[block.at()].pending -= 1;
                self.queue_at(id, page, path);
            }
            DataPlace::Behind(program) if program == before => self.hold_back(id),
            DataPlace::Behind(program) => self.wait_behind(id, program, Waits::InItsLife, path),
        }
    }

    /// The same for a read that was emitted for the next life of its block, before that has begun. `is_listed` tells
    /// whether it is in the block's list of later operations. Returns whether it was redirected.
    #[cold]
    pub(super) fn queue_ahead(&mut self, id: u32, is_listed: bool, path: &mut impl Path) -> bool {
        let Operation { block, before, .. } = self.operations[id as usize];
        match self.place_of(id) {
            DataPlace::Source(page) => {
                if is_listed {
                    self.unlist(block, id);
                }
                self.queue_at(id, page, path);
                return true;
            }
            DataPlace::Behind(program) if program == before => {}
            DataPlace::Behind(program) => self.wait_behind(id, program, Waits::Yes, path),
        }
        false
    }

    /// Handles the end of a program that took sectors from another page and held off the erase of the source block. If
    /// the program's read was redirected, the hold may belong to the source block's next life, which has not begun. The
    /// hold is then removed. Returns false if that life has begun.
    #[inline]
    pub(super) fn let_go_ahead(&mut self, block: BlockId, program: u64) -> bool {
        let Block { erase, later, .. } = self.blocks[block.at()];
        erase != NO_INDEX && later.head != NO_INDEX && self.take_hold_back(block, program)
    }

    #[cold]
    fn take_hold_back(&mut self, block: BlockId, program: u64) -> bool {
        let mut at = self.blocks[block.at()].later.head;
        while let Some(&Operation { kind, sequence, next, .. }) = self.operations.get(at as usize) {
            // The hold was emitted right after its program.
            if kind == OperationKind::Hold && sequence == program + 1 {
                self.unlist(block, at);
                self.retire(at);
                return true;
            }
            at = next;
        }
        false
    }

    /// Removes an operation from the list of those emitted for the next life of a block.
    pub(super) fn unlist(&mut self, block: BlockId, id: u32) {
        let next = std::mem::replace(&mut self.operations[id as usize].next, NO_INDEX);
        let later = &mut self.blocks[block.at()].later;
        if later.head == id {
            later.head = next;
            return;
        }
        let mut before = later.head;
        while self.operations[before as usize].next != id {
            before = self.operations[before as usize].next;
        }
        self.operations[before as usize].next = next;
        if later.tail == id {
            later.tail = before;
        }
    }

    /// Redirects a read to another page, whose program has ended and whose block is held for a copy.
    fn queue_at(&mut self, id: u32, ppn: Ppn, path: &mut impl Path) {
        let block = self.geometry.block_of(ppn);
        let state = &mut self.blocks[block.at()];
        debug_assert!(state.pending > 0, "a page that is being copied holds its block");
        state.pending += 1;
        let operation = &mut self.operations[id as usize];
        (operation.ppn, operation.block, operation.plane) = (ppn, block, self.geometry.plane_of(block));
        let in_other = self.in_other.get(block.at()).is_some_and(|&in_other| in_other);
        let offset = if in_other { self.geometry.pages } else { 0 };
        let was_in_other = u32::from(operation.row) >= self.geometry.pages;
        self.moved_to_other += i64::from(in_other) - i64::from(was_in_other);
        operation.row = (self.geometry.page_in_block(ppn) + offset) as u16;
        let Operation { plane, class, .. } = *operation;
        self.enqueue(id, plane, class, path);
    }

    /// Lets a read wait for the program of a page that its own page is copied from.
    fn wait_behind(&mut self, id: u32, program: u32, waits: Waits, path: &mut impl Path) {
        path.tell(|| Event::Held { number: id, by: program });
        let sibling = std::mem::replace(&mut self.operations[program as usize].waiters, id);
        let operation = &mut self.operations[id as usize];
        (operation.waits, operation.sibling) = (waits, sibling);
    }

    /// Finds the data of a read whose page is not programmed.
    fn place_of(&self, read: u32) -> DataPlace {
        let Operation { class, mask, before: mut program, .. } = self.operations[read as usize];
        loop {
            let operation = &self.operations[program as usize];
            let is_elsewhere = operation.from.is_some() && operation.mask & mask == 0;
            if !is_elsewhere || usize::from(operation.class) == BLOCKING || usize::from(class) != HOST_READS {
                return DataPlace::Behind(program);
            }
            // The number of an ended program may have been reused by a newer operation; or that operation has ended as
            // well.
            let before = self.operations.get(operation.before as usize);
            match before.filter(|before| before.sequence < operation.sequence) {
                Some(_) => program = operation.before,
                None => return DataPlace::Source(operation.from),
            }
        }
    }
}
