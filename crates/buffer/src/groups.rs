//! The buffered pages of each logical block, for orders whose victim is a block.

use flashloom_units::{Divisor, Lbn, Lpn, NO_INDEX};
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
    /// Next and previous slot of the same group, and the page of each slot.
    next: Vec<u32>,
    previous: Vec<u32>,
    lpns: Vec<Lpn>,
}

flashloom_units::state! {
    Groups {
        nested index, next, previous, lpns;
        array groups;
        value free;
        fixed pages_per_block;
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Group {
    block: Lbn,
    first: u32,
    pages: u32,
}

impl Groups {
    /// Groups for a buffer of that many pages, so as many groups at most.
    pub(crate) fn new(pages: u32, pages_per_block: u32) -> Self {
        let none = || vec![NO_INDEX; pages as usize];
        Self {
            pages_per_block: Divisor::new(pages_per_block),
            index: Index::new(pages),
            groups: vec![Group { block: Lbn::NONE, first: NO_INDEX, pages: 0 }; pages as usize],
            free: (0..pages).rev().collect(),
            next: none(),
            previous: none(),
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

    /// Adds a page; answers its group and how many pages that has now.
    pub(crate) fn insert(&mut self, slot: SlotId, lpn: Lpn) -> (u32, u32) {
        let block = self.block_of(lpn);
        let group = self.index.get(block.0).unwrap_or(NO_INDEX);
        let group = if group == NO_INDEX {
            let group = self.free.pop().expect("there are as many groups as pages");
            self.groups[group as usize] = Group { block, first: NO_INDEX, pages: 0 };
            self.index.set(block.0, group);
            group
        } else {
            group
        };
        let entry = &mut self.groups[group as usize];
        entry.pages += 1;
        let first = std::mem::replace(&mut entry.first, slot.0);
        self.next[slot.at()] = first;
        self.previous[slot.at()] = NO_INDEX;
        if first != NO_INDEX {
            self.previous[first as usize] = slot.0;
        }
        self.lpns[slot.at()] = lpn;
        (group, self.groups[group as usize].pages)
    }

    /// Takes a page out; answers its group and how many pages that has left. A group without pages is gone.
    pub(crate) fn remove(&mut self, slot: SlotId) -> (u32, u32) {
        let block = self.block_of(self.lpns[slot.at()]);
        let group = self.index.get(block.0).expect("a page has a group");
        let (previous, next) = (self.previous[slot.at()], self.next[slot.at()]);
        let entry = &mut self.groups[group as usize];
        entry.pages -= 1;
        if previous == NO_INDEX {
            entry.first = next
        } else {
            self.next[previous as usize] = next
        }
        if next != NO_INDEX {
            self.previous[next as usize] = previous;
        }
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
        let Group { block, first, .. } = self.groups[group as usize];
        let mut slot = first;
        while slot != NO_INDEX {
            pages.push(SlotId(slot));
            slot = self.next[slot as usize];
        }
        self.index.remove(block.0);
        self.free.push(group);
    }
}
