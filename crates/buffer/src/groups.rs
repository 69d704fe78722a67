//! The buffered pages of each logical block, for replacement policies whose victim is a block.

use flashloom_nand::{Lbn, Lpn};
use flashloom_units::{Divisor, Lists};
use serde::{Deserialize, Serialize};

use crate::SlotId;
use crate::index::Index;

/// Buffered pages grouped by logical block. A group exists while its block has a page in the buffer. Nothing is
/// allocated after construction.
pub(crate) struct Groups {
    pages_per_block: Divisor,
    /// Group of each logical block that has pages in the buffer.
    index: Index,
    groups: Vec<Group>,
    free: Vec<u32>,
    /// The slots of each group, the last inserted first.
    slots: Lists<SlotId>,
    /// The page of each slot.
    lpns: Vec<Lpn>,
}

flashloom_units::state! {
    Groups {
        nested index, slots, lpns;
        array groups;
        value free;
        fixed pages_per_block;
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Group {
    block: Lbn,
    pages: u32,
}

impl Groups {
    /// Makes the groups of a buffer of `pages` pages; there are never more groups than pages.
    pub(crate) fn new(pages: u32, pages_per_block: u32) -> Self {
        Self {
            pages_per_block: Divisor::new(pages_per_block),
            index: Index::new(pages),
            groups: vec![Group { block: Lbn::NONE, pages: 0 }; pages as usize],
            free: (0..pages).rev().collect(),
            slots: Lists::new(pages, pages),
            lpns: vec![Lpn::NONE; pages as usize],
        }
    }

    /// The logical block of a page.
    pub(crate) fn block_of(&self, lpn: Lpn) -> Lbn {
        Lbn(self.pages_per_block.quotient(lpn.0))
    }

    /// Offset of a page in its logical block, in pages.
    pub(crate) fn offset_of(&self, lpn: Lpn) -> u32 {
        self.pages_per_block.remainder(lpn.0)
    }

    /// Number of pages of a logical block.
    pub(crate) fn pages_per_block(&self) -> u32 {
        self.pages_per_block.get()
    }

    /// Adds a page; returns its group and the number of pages in it now.
    pub(crate) fn insert(&mut self, slot: SlotId, lpn: Lpn) -> (u32, u32) {
        let block = self.block_of(lpn);
        let group = self.index.get(block.0).unwrap_or_else(|| {
            let group = self.free.pop().expect("there are as many groups as pages");
            self.groups[group as usize] = Group { block, pages: 0 };
            self.index.set(block.0, group);
            group
        });
        self.slots.push_front(group as usize, slot);
        self.lpns[slot.at()] = lpn;
        let pages = &mut self.groups[group as usize].pages;
        *pages += 1;
        (group, *pages)
    }

    /// Removes a page; returns its group and the number of pages left in it. A group without pages ceases to exist.
    pub(crate) fn remove(&mut self, slot: SlotId) -> (u32, u32) {
        let block = self.block_of(self.lpns[slot.at()]);
        let group = self.index.get(block.0).expect("a page has a group");
        self.slots.remove(slot);
        let entry = &mut self.groups[group as usize];
        entry.pages -= 1;
        let pages = entry.pages;
        if pages == 0 {
            self.index.remove(block.0);
            self.free.push(group);
        }
        (group, pages)
    }

    /// Returns the group of a page and the number of pages in it.
    pub(crate) fn of(&self, lpn: Lpn) -> (u32, u32) {
        let group = self.index.get(self.block_of(lpn).0).expect("a page has a group");
        (group, self.groups[group as usize].pages)
    }

    /// The logical block of a group.
    pub(crate) fn block(&self, group: u32) -> Lbn {
        self.groups[group as usize].block
    }

    /// Number of pages in a group.
    pub(crate) fn pages(&self, group: u32) -> u32 {
        self.groups[group as usize].pages
    }

    /// Removes a group and appends its pages by ascending address, which suits log blocks best.
    pub(crate) fn take(&mut self, group: u32, pages: &mut Vec<SlotId>) {
        let from = pages.len();
        self.take_youngest_first(group, pages);
        pages[from..].sort_unstable_by_key(|slot| self.lpns[slot.at()]);
    }

    /// Removes a group and appends its pages, the last inserted first.
    pub(crate) fn take_youngest_first(&mut self, group: u32, pages: &mut Vec<SlotId>) {
        pages.extend(std::iter::from_fn(|| self.slots.pop_front(group as usize)));
        self.index.remove(self.block(group).0);
        self.free.push(group);
    }
}
