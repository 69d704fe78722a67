//! The group of chips that each logical block is placed on, and moves to another group.

use crate::PageWrite;
use flashloom_nand::{BlockId, Lbn, PlaneId};
use flashloom_units::{NO_INDEX, Violation, violation};

use super::store::Chip;
use crate::placement::Placement;
use crate::store::WornOut;

/// Groups of all logical blocks.
pub(super) struct Homes {
    pub(super) placement: Box<dyn Placement>,
    home: Vec<u32>,
    /// Number of logical blocks on each group; `room` is the maximum.
    placed: Vec<u32>,
    room: u32,
}

flashloom_units::state! { Homes { policy placement; ids home [placed.len()]; nested placed; fixed room; } }

impl Homes {
    pub(super) fn new(placement: Box<dyn Placement>, groups: u32, logical_blocks: u32, room: u32) -> Self {
        Self { placement, home: vec![NO_INDEX; logical_blocks as usize], placed: vec![0; groups as usize], room }
    }

    /// Checks loaded homes: no group holds more logical blocks than it has room for.
    pub(super) fn check(&self) -> Result<(), Violation> {
        let mut placed = vec![0; self.placed.len()];
        self.home.iter().filter(|&&home| home != NO_INDEX).for_each(|&home| placed[home as usize] += 1);
        match placed.iter().zip(&self.placed).position(|(counted, kept)| counted != kept || *kept > self.room) {
            Some(group) => Err(violation!("placement: group {group} has {} logical blocks", placed[group])),
            None => Ok(()),
        }
    }

    /// The group of a logical block; `None` before its first write, when it may be placed anywhere.
    pub(super) fn of(&self, lbn: Lbn) -> Option<u32> {
        let home = self.home[lbn.at()];
        (home != NO_INDEX).then_some(home)
    }

    /// Places a logical block whose pages are about to be written: returns its group, and the previous one if it has to
    /// move.
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
    /// Writes pages of a logical block and moves the rest of it to this group: all pages, in order, to a new data
    /// block. The old data block is erased; the copies in log blocks of the old group die.
    ///
    /// # Errors
    /// The drive is worn out. Pages that are in the block that this returns are stored, if it is one.
    pub(super) fn move_in(&mut self, lbn: Lbn, from: u32, writes: &[PageWrite]) -> Result<(), BlockId> {
        // A merge that is gathering this logical block on the old group has to end before the block moves.
        let mut old = Chip { store: self.store, nand: self.nand, group: from };
        old.finish_before_move().map_err(|WornOut| BlockId::NONE)?;
        let to = self.store.blocks.open(PlaneId(self.group));
        self.fill(to, lbn, writes).map_err(|WornOut| to)?;
        let old = self.store.set_data_block(lbn, to);
        if old != BlockId::NONE {
            Chip { store: self.store, nand: self.nand, group: from }.erase(old).map_err(|WornOut| to)?;
        }
        Ok(())
    }

    /// Writes pages of a logical block to a new block, in order, and copies the others to it.
    fn fill(&mut self, to: BlockId, lbn: Lbn, writes: &[PageWrite]) -> Result<(), WornOut> {
        let last_written = writes.iter().map(|write| self.store.offset(write.lpn) + 1).max().unwrap_or(0);
        for offset in 0..self.store.mapped_end(lbn).max(last_written) {
            match writes.iter().find(|write| self.store.offset(write.lpn) == offset) {
                Some(write) => self.append(to, write)?,
                None => {
                    let lpn = self.store.lpn(lbn, offset);
                    self.store.merges.migrated_pages += u64::from(self.store.newest(lpn).is_some());
                    self.copy_or_fill(lpn, to)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::mapping::bast::Bast;
    use crate::mapping::log_block::lab::{Lab, setup, space};
    use crate::mapping::log_block::report::MergeReport;
    use crate::{FtlSetup, placement};

    /// Four empty chips with room for two logical blocks each.
    fn round_robin() -> Lab<Bast> {
        let placement = placement::builtin().choose("round-robin", &[]).expect("a placement of the table");
        let setup = FtlSetup { placement, ..setup("bast", &[]) };
        Lab::empty(&space(4, 2, 16), &setup)
    }

    fn moves(lab: &Lab<Bast>) -> (u64, u64) {
        let MergeReport { migrated_pages, filler_pages, .. } = lab.report();
        (migrated_pages, filler_pages)
    }

    #[test]
    fn a_logical_block_is_placed_once_among_pages_that_are_written_together() {
        let mut lab = round_robin();
        lab.write_together(&[0, 4, 1, 5]);
        assert_eq!(moves(&lab), (0, 0), "logical block 0 is on chip 0 whole, and block 1 on chip 1");
        lab.write_together(&[2, 6, 3, 7]);
        assert_eq!(moves(&lab), (4, 0), "both move to the next chips, with two pages each");
    }

    #[test]
    fn only_pages_that_are_there_count_as_migrated_and_the_gaps_as_fillers() {
        let mut lab = round_robin();
        lab.write_together(&[3]);
        lab.write_together(&[0]);
        assert_eq!(moves(&lab), (1, 2));
    }
}
