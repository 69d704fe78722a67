//! The log blocks of every group, and which data blocks each is associated with.
//!
//! The associativity k(L) of a log block L is the number of logical blocks that have valid pages in it; KAST calls the
//! set of them A(L). It grows when a page of a further logical block is written to L. It falls when the last valid page
//! of a logical block dies, because it was written elsewhere, copied by a merge or trimmed.
//!
//! Memory: 8 bytes a page of the log, 2 bytes a logical block. A change costs O(k).

use flashloom_nand::{BlockId, Lbn};
use flashloom_units::{Violation, violation};

use serde::{Deserialize, Serialize};

flashloom_units::ids! {
    /// Index of a log block in the table. A slot is reused for another block after each merge.
    LogSlot,
}

/// A logical block with valid pages in a log block, and the number of these pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Association {
    pub(crate) lbn: Lbn,
    pub(crate) pages: u32,
}

/// The error for a scheme whose state disagrees with its log block.
pub(in crate::mapping) fn mistaken(slot: LogSlot) -> Violation {
    violation!("log blocks: slot {} holds other pages, or another time, than its scheme says", slot.0)
}

pub(crate) struct LogBlocks {
    per_group: u32,
    /// Maximum associations of a log block: its pages.
    capacity: usize,
    superblocks: Vec<BlockId>,
    slots: Vec<LogSlot>,
    associations: Vec<Association>,
    associativity: Vec<u32>,
    /// Number of log blocks that hold valid pages of each logical block.
    log_blocks_of: Vec<u16>,
    in_use: Vec<u32>,
}

flashloom_units::state! {
    LogBlocks {
        ids superblocks [slots.len()], slots [superblocks.len()];
        nested associativity, log_blocks_of, in_use;
        array associations;
        fixed per_group, capacity;
    }
}

impl LogBlocks {
    pub(super) fn new(per_group: u32, groups: u32, pages: u32, superblocks: u32, logical_blocks: u32) -> Self {
        let slots = (per_group * groups) as usize;
        Self {
            per_group,
            capacity: pages as usize,
            superblocks: vec![BlockId::NONE; slots],
            slots: vec![LogSlot::NONE; superblocks as usize],
            associations: vec![Association { lbn: Lbn::NONE, pages: 0 }; slots * pages as usize],
            associativity: vec![0; slots],
            log_blocks_of: vec![0; logical_blocks as usize],
            in_use: vec![0; groups as usize],
        }
    }

    /// Number of slots of all groups, for tables indexed by slot.
    pub(crate) fn slots(&self) -> usize {
        self.superblocks.len()
    }

    /// Slots of all groups that hold a log block.
    pub(crate) fn all_in_use(&self) -> impl Iterator<Item = LogSlot> {
        (0..self.slots() as u32).map(LogSlot).filter(|&slot| self.superblock(slot).is_some())
    }

    /// All slots of a group, free or not.
    pub(crate) fn of_group(&self, group: u32) -> impl Iterator<Item = LogSlot> + use<> {
        (group * self.per_group..(group + 1) * self.per_group).map(LogSlot)
    }

    /// Slots of a group that hold a log block.
    pub(crate) fn in_use(&self, group: u32) -> impl Iterator<Item = LogSlot> {
        self.of_group(group).filter(|&slot| self.superblock(slot).is_some())
    }

    pub(crate) fn free_slots(&self, group: u32) -> u32 {
        self.per_group - self.in_use[group as usize]
    }

    /// The superblock of a log block, or none for a free slot.
    #[inline]
    pub(crate) fn superblock(&self, slot: LogSlot) -> BlockId {
        self.superblocks[slot.at()]
    }

    /// The slot of a superblock; `NONE` if it is no log block.
    #[inline]
    pub(crate) fn slot_of(&self, superblock: BlockId) -> LogSlot {
        self.slots[superblock.at()]
    }

    /// A(L), in arbitrary order.
    #[inline]
    pub(crate) fn associations(&self, slot: LogSlot) -> &[Association] {
        let first = slot.at() * self.capacity;
        &self.associations[first..first + self.associativity[slot.at()] as usize]
    }

    /// k(L).
    #[inline]
    pub(crate) fn associativity(&self, slot: LogSlot) -> u32 {
        self.associativity[slot.at()]
    }

    /// Whether the logical block is in A(L).
    pub(crate) fn is_associated(&self, slot: LogSlot, lbn: Lbn) -> bool {
        self.log_blocks_of[lbn.at()] > 0 && self.associations(slot).iter().any(|association| association.lbn == lbn)
    }

    /// Whether any log block has valid pages of the logical block.
    pub(crate) fn has_log_pages(&self, lbn: Lbn) -> bool {
        self.log_blocks_of[lbn.at()] > 0
    }

    pub(super) fn open(&mut self, group: u32, superblock: BlockId) -> LogSlot {
        let mut slots = self.of_group(group);
        let slot = slots.find(|&slot| self.superblock(slot).is_none()).expect("a free slot was made before");
        self.superblocks[slot.at()] = superblock;
        self.slots[superblock.at()] = slot;
        self.in_use[group as usize] += 1;
        slot
    }

    /// Checks loaded tables: slots and superblocks refer to each other, and the counts agree with the associations.
    pub(super) fn check(&self, group_of: impl Fn(BlockId) -> u32) -> Result<(), Violation> {
        for slot in (0..self.slots() as u32).map(LogSlot) {
            let (superblock, k) = (self.superblock(slot), self.associativity(slot) as usize);
            let is_known = superblock.is_none() && k == 0
                || superblock.is_some()
                    && self.slot_of(superblock) == slot
                    && group_of(superblock) == slot.0 / self.per_group;
            if !is_known || k > self.capacity {
                return Err(violation!(
                    "log blocks: slot {} is not that of block {}, or of too many",
                    slot.0,
                    superblock.0
                ));
            }
        }
        let named = self.slots.iter().filter(|slot| slot.is_some()).count();
        let in_use = (0..self.in_use.len() as u32).map(|group| self.in_use(group).count());
        let (counted, total) = in_use.zip(&self.in_use).fold((true, 0), |(is_counted, total), (slots, &counted)| {
            (is_counted && slots == counted as usize, total + slots)
        });
        if !counted || named != total {
            return Err(violation!(
                "log blocks: {total} slots are in use, but {named} blocks have one, or groups differ"
            ));
        }
        let mut log_blocks_of = vec![0; self.log_blocks_of.len()];
        for association in (0..self.slots() as u32).flat_map(|slot| self.associations(LogSlot(slot))) {
            let Some(count) = log_blocks_of.get_mut(association.lbn.at()) else {
                return Err(violation!(
                    "log blocks: one has pages of logical block {}, which is none",
                    association.lbn.0
                ));
            };
            *count += 1;
        }
        match log_blocks_of.iter().zip(&self.log_blocks_of).position(|(counted, kept)| counted != kept) {
            Some(lbn) => Err(violation!("log blocks: logical block {lbn} is in {} of them", log_blocks_of[lbn])),
            None => Ok(()),
        }
    }

    /// Whether all valid pages of a log block are of one logical block.
    pub(crate) fn is_only_of(&self, slot: LogSlot, lbn: Lbn) -> bool {
        self.associations(slot).iter().all(|association| association.lbn == lbn)
    }

    /// Frees a slot and its associations; returns its superblock, which may become a data block.
    pub(super) fn close(&mut self, slot: LogSlot) -> BlockId {
        while let Some(&Association { lbn, pages }) = self.associations(slot).last() {
            (0..pages).for_each(|_| self.forget(slot, lbn));
        }
        let superblock = std::mem::replace(&mut self.superblocks[slot.at()], BlockId::NONE);
        self.slots[superblock.at()] = LogSlot::NONE;
        self.in_use[(slot.0 / self.per_group) as usize] -= 1;
        superblock
    }

    /// Counts a valid page of the logical block in the log block.
    pub(super) fn associate(&mut self, slot: LogSlot, lbn: Lbn) {
        let (first, k) = (slot.at() * self.capacity, self.associativity[slot.at()] as usize);
        let known = self.associations[first..first + k].iter_mut().find(|association| association.lbn == lbn);
        if let Some(association) = known {
            association.pages += 1;
        } else {
            self.associations[first + k] = Association { lbn, pages: 1 };
            self.associativity[slot.at()] += 1;
            self.log_blocks_of[lbn.at()] += 1;
        }
    }

    /// Counts a page of the logical block in the log block as dead.
    pub(super) fn forget(&mut self, slot: LogSlot, lbn: Lbn) {
        let (first, k) = (slot.at() * self.capacity, self.associativity[slot.at()] as usize);
        let known = self.associations[first..first + k].iter().position(|association| association.lbn == lbn);
        let index = first + known.expect("a valid page of a log block is accounted for");
        self.associations[index].pages -= 1;
        if self.associations[index].pages == 0 {
            self.associations.swap(index, first + k - 1);
            self.associativity[slot.at()] -= 1;
            self.log_blocks_of[lbn.at()] -= 1;
        }
    }
}
