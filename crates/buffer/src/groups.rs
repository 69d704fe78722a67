//! The buffered pages of each logical block, for orders whose victim is a block.

use flashloom_units::{Divisor, Lbn, Lists, Lpn};
use serde::{Deserialize, Serialize};

use crate::SlotId;
use crate::index::Index;

/// Pages of the buffer grouped by the logical block that they belong to. Nothing is allocated once it is built.
pub(crate) struct Groups {
    pages_per_block: Divisor,
    /// Which group a logical block has.
    index: Index,
    groups: Vec<Group>,
    free: Vec<u32>,
    /// The slots of each group, the one that was inserted last first.
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
    /// Groups for a buffer of that many pages, so as many groups at most.
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

    /// The place of a page in its logical block.
    pub(crate) fn offset_of(&self, lpn: Lpn) -> u32 {
        self.pages_per_block.remainder(lpn.0)
    }

    /// Pages of a logical block.
    pub(crate) fn pages_per_block(&self) -> u32 {
        self.pages_per_block.get()
    }

    /// Adds a page; returns its group and how many pages that has now.
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

    /// Takes a page out; returns its group and how many pages that has left. A group without pages is gone.
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

    /// The group of a page and how many pages it has.
    pub(crate) fn of(&self, lpn: Lpn) -> (u32, u32) {
        let group = self.index.get(self.block_of(lpn).0).expect("a page has a group");
        (group, self.groups[group as usize].pages)
    }

    /// The logical block of a group.
    pub(crate) fn block(&self, group: u32) -> Lbn {
        self.groups[group as usize].block
    }

    /// How many pages a group has.
    pub(crate) fn pages(&self, group: u32) -> u32 {
        self.groups[group as usize].pages
    }

    /// Takes a group out whole; appends its pages in order of address, as a log block takes them best.
    pub(crate) fn take(&mut self, group: u32, pages: &mut Vec<SlotId>) {
        let from = pages.len();
        self.take_youngest_first(group, pages);
        pages[from..].sort_unstable_by_key(|slot| self.lpns[slot.at()]);
    }

    /// Takes a group out whole; appends its pages, the one that was inserted last first.
    pub(crate) fn take_youngest_first(&mut self, group: u32, pages: &mut Vec<SlotId>) {
        pages.extend(std::iter::from_fn(|| self.slots.pop_front(group as usize)));
        self.index.remove(self.block(group).0);
        self.free.push(group);
    }
}
