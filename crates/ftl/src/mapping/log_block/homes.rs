//! Which group of chips each logical block is on, and how one moves to another.

use flashloom_units::{Lbn, NO_INDEX, SuperblockId};

use super::store::Chip;
use crate::PageWrite;
use crate::placement::Placement;

/// The groups that logical blocks are on.
pub(super) struct Homes {
    pub(super) placement: Box<dyn Placement>,
    home: Vec<u32>,
    /// Logical blocks of each group, and how many it has room for.
    placed: Vec<u32>,
    room: u32,
}

impl Homes {
    pub(super) fn new(placement: Box<dyn Placement>, groups: u32, logical_blocks: u32, room: u32) -> Self {
        Self { placement, home: vec![NO_INDEX; logical_blocks as usize], placed: vec![0; groups as usize], room }
    }

    /// The group of a logical block; any if it has no pages.
    pub(super) fn of(&self, lbn: Lbn) -> Option<u32> {
        let home = self.home[lbn.at()];
        (home != NO_INDEX).then_some(home)
    }

    /// The group for pages of a logical block that are written together, and the one that it leaves for that.
    pub(super) fn place(&mut self, lbn: Lbn) -> (u32, Option<u32>) {
        let old = self.of(lbn);
        let mut group = self.placement.place(lbn, old);
        while old != Some(group) && self.placed[group as usize] >= self.room {
            group = (group + 1) % self.placed.len() as u32;
        }
        if old == Some(group) {
            return (group, None);
        }
        self.home[lbn.at()] = group;
        self.placed[group as usize] += 1;
        if let Some(old) = old {
            self.placed[old as usize] -= 1;
        }
        (group, old)
    }
}

impl Chip<'_> {
    /// Writes pages of a logical block and moves its others to this group: all of them in order into a new data block.
    /// The old data block is erased; log blocks that had pages of it lose them.
    pub(super) fn move_in(&mut self, lbn: Lbn, from: u32, writes: &[PageWrite]) {
        // The bounds on waits are those of merges; moves are the placement's.
        let waits = (self.store.since_host[self.group as usize], self.store.since_host[from as usize]);
        // A merge that gathers the logical block where it was would go on with pages that are here.
        Chip { store: self.store, nand: self.nand, group: from }.finish();
        let to = self.store.blocks.allocate(self.group);
        let last_written = writes.iter().map(|write| self.store.offset(write.lpn) + 1).max().unwrap_or(0);
        for offset in 0..self.store.mapped_end(lbn).max(last_written) {
            match writes.iter().find(|write| self.store.offset(write.lpn) == offset) {
                Some(write) => self.append(to, write),
                None => {
                    self.copy_or_fill(self.store.lpn(lbn, offset), to);
                    self.store.merges.migrated_pages += 1;
                }
            }
        }
        let old = self.store.set_data_block(lbn, to);
        if old != SuperblockId::NONE {
            Chip { store: self.store, nand: self.nand, group: from }.erase(old);
        }
        (self.store.since_host[self.group as usize], self.store.since_host[from as usize]) = waits;
    }
}
