//! Reliability of reads: the data about pages that a policy of read reliability needs, and the handling of data that
//! cannot be read.
//!
//! ```text
//! when a read is emitted   the policy decides it, if it provides data for a program (a copy, the old copy of a
//!                          partial write), because the program depends on the result; in counting mode it decides all
//!                          reads
//! when a die begins it     the policy decides host reads and reads of the map, for the page that is really read, which
//!                          may be an older copy
//! lost                     a page, or sectors of it, whose data was taken from a page that could not be read. The
//!                          program is done all the same. A host read of a lost sector fails. A copy of the page is
//!                          lost too. Sectors that the host writes again, and map pages written again, are not lost
//! ```
//!
//! Emission runs ahead of the array: the FTL may emit a new program of a page while a die still has to read the old
//! data. The lives of a block, the times between its erases, are therefore distinguished by its erase count.

use std::collections::BTreeMap;

use flashloom_units::{Ns, Reader, State, StateError, Writer};
use serde::{Deserialize, Serialize};

use crate::event::OperationKind;
use crate::operation::{ByOrigin, Operation, load_counts, save_counts};
use crate::reliability::{PageCondition, Reading, Reliability};
use crate::{BlockId, Geometry, Origin, Ppn};

/// Reads that did not succeed at once, by origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Reads that were repeated at least once.
    pub repeated: ByOrigin,
    /// Number of retries in total.
    pub retries: ByOrigin,
    /// Reads that failed. Of the host and of the map also those that asked for sectors lost earlier.
    pub unreadable: ByOrigin,
    /// Pages programmed with data that could not be read, wholly or in part.
    pub lost_pages: u64,
    /// Those of the retries that were of pages in the array's other cell mode.
    pub other_retries: u64,
}

/// Upper bound of the counters of a saved drive, so that a run cannot overflow them.
pub(crate) const MOST_COUNTED: u64 = 1 << 60;

/// A page in one life of its block, given by the number of erases before it.
pub(crate) type PageOfLife = (Ppn, u32);

/// Data about a block.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct BlockReads {
    /// Successful erases that have ended.
    erases: u32,
    /// Reads since the last erase.
    reads: u64,
}

/// The policy of read reliability, and the data about pages that it is given.
pub(crate) struct Reads {
    geometry: Geometry,
    pub(crate) policy: Box<dyn Reliability>,
    pub(crate) counts: ReadCounts,
    blocks: Vec<BlockReads>,
    /// Time at which the program of each page ended.
    programmed_ns: Vec<Ns>,
    /// Mask of the lost sectors of each page that has any.
    lost: BTreeMap<PageOfLife, u32>,
}

impl State for Reads {
    fn save(&self, to: &mut Writer) {
        let Self { policy, counts, blocks, programmed_ns, lost, geometry: _ } = self;
        to.policy("reliability", policy.state());
        let ReadCounts { repeated, retries, unreadable, lost_pages, other_retries: _ } = counts;
        [repeated, retries, unreadable].into_iter().for_each(|counts| save_counts(to, counts));
        to.value(lost_pages);
        to.array(blocks);
        programmed_ns.save(to);
        to.value(lost);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        from.policy(self.policy.state_mut()).map_err(|error| error.within("reliability"))?;
        self.counts = Self::load_counts(from).map_err(|error| error.within("counts"))?;
        from.array(&mut self.blocks).map_err(|error| error.within("blocks"))?;
        self.programmed_ns.load(from).map_err(|error| error.within("programmed_ns"))?;
        // The number of entries is limited by the bytes of the file; they are checked with the rest of the array.
        self.lost = from.value().map_err(|error| error.within("lost"))?;
        Ok(())
    }
}

impl Reads {
    fn load_counts(from: &mut Reader) -> Result<ReadCounts, StateError> {
        let [repeated, retries, unreadable] = [load_counts(from)?, load_counts(from)?, load_counts(from)?];
        Ok(ReadCounts { repeated, retries, unreadable, lost_pages: from.value()?, other_retries: 0 })
    }

    /// Saves the counts that only an array with another cell mode has.
    pub(crate) fn save_folds(&self, to: &mut Writer) {
        let ReadCounts { repeated, retries, unreadable, lost_pages: _, other_retries } = &self.counts;
        to.value(other_retries);
        [repeated, retries, unreadable].into_iter().for_each(|counts| to.value(&counts[Origin::Fold as usize]));
    }

    /// Loads what [`Self::save_folds`] saved.
    pub(crate) fn load_folds(&mut self, from: &mut Reader) -> Result<(), StateError> {
        let ReadCounts { repeated, retries, unreadable, lost_pages: _, other_retries } = &mut self.counts;
        *other_retries = from.value()?;
        [repeated, retries, unreadable].into_iter().try_for_each(|counts| {
            counts[Origin::Fold as usize] = from.value()?;
            Ok(())
        })
    }

    pub(crate) fn new(geometry: &Geometry, policy: Box<dyn Reliability>) -> Self {
        Self {
            geometry: *geometry,
            policy,
            counts: ReadCounts::default(),
            blocks: vec![BlockReads::default(); geometry.total_blocks() as usize],
            programmed_ns: vec![0; geometry.total_pages() as usize],
            lost: BTreeMap::new(),
        }
    }

    /// Takes all pages for programmed when time begins.
    pub(crate) fn forget_ages(&mut self) {
        self.programmed_ns.fill(0);
    }

    /// Checks a loaded state for an array without operations in flight.
    pub(crate) fn check_loaded(&self, erase_counts: &[u32]) -> Result<(), String> {
        let erases = self.blocks.iter().map(|block| block.erases);
        if let Some(block) = erases.zip(erase_counts).position(|(erases, &count)| erases != count) {
            return Err(format!("reliability: block {block} was erased another number of times than the array says"));
        }
        if let Some(ppn) = self.programmed_ns.iter().position(|&at| at > 0) {
            return Err(format!(
                "reliability: page {ppn} was programmed after the time of a drive that has served nothing"
            ));
        }
        let ReadCounts { repeated, retries, unreadable, lost_pages, other_retries } = self.counts;
        let counts = [repeated, retries, unreadable].into_iter().flatten().chain([lost_pages, other_retries]);
        if counts.chain(self.blocks.iter().map(|block| block.reads)).any(|count| count > MOST_COUNTED) {
            return Err(format!("reliability: a drive that was aged has counted more than {MOST_COUNTED} reads"));
        }
        let full = self.geometry.full_mask();
        let is_wrong = |&(&(ppn, life), &mask): &(&PageOfLife, &u32)| {
            let is_there = u64::from(ppn.0) < self.geometry.total_pages();
            !is_there || life != erase_counts[self.geometry.block_of(ppn).at()] || mask == 0 || mask & !full != 0
        };
        match self.lost.iter().find(is_wrong) {
            Some(((ppn, life), mask)) => {
                Err(format!("reliability: sectors {mask:#x} of page {} are lost in life {life} of its block", ppn.0))
            }
            None => Ok(self.policy.check()?),
        }
    }
}

/// Reads.
impl Reads {
    /// Calls the policy for a read that ends at once (counting mode) or that a die begins, with the page as it is in
    /// the array.
    pub(crate) fn take(&mut self, now: Ns, operation: &Operation) -> Reading {
        let Operation { ppn, block, mask, origin, row, .. } = *operation;
        let BlockReads { erases, reads } = self.blocks[block.at()];
        let age_ns = now - self.programmed_ns[ppn.at()];
        let page = PageCondition { age_ns, reads, ..self.condition(ppn, block, erases) };
        let asked = self.policy.read(&page);
        let is_readable = asked.is_readable && self.lost_of((ppn, erases)) & mask == 0;
        self.count_read(block);
        let is_in_other = u32::from(row) >= self.geometry.pages;
        self.count(origin, Reading { is_readable, ..asked }, is_in_other)
    }

    /// Calls the policy for a read that is emitted to provide data for a program. The page is given with the life of
    /// its block; `is_programmed` tells whether its program has ended. If it cannot be read, the program's page is
    /// lost.
    pub(crate) fn ask(
        &mut self,
        now: Ns,
        from: PageOfLife,
        is_programmed: bool,
        origin: Origin,
        is_in_other: bool,
    ) -> Reading {
        let (ppn, erases) = from;
        let block = self.geometry.block_of(ppn);
        let mut page = self.condition(ppn, block, erases);
        if is_programmed {
            (page.age_ns, page.reads) = (now - self.programmed_ns[ppn.at()], self.blocks[block.at()].reads);
        }
        let asked = self.policy.read(&page);
        if !asked.is_readable {
            self.lost.insert(from, self.geometry.full_mask());
        }
        self.count(origin, asked, is_in_other)
    }

    fn condition(&self, ppn: Ppn, block: BlockId, erases: u32) -> PageCondition {
        PageCondition::new(ppn, block, self.geometry.page_in_block(ppn), erases)
    }

    /// Counts a read of a page of a block.
    pub(crate) fn count_read(&mut self, block: BlockId) {
        self.blocks[block.at()].reads += 1;
    }

    fn count(&mut self, origin: Origin, reading: Reading, is_in_other: bool) -> Reading {
        let at = origin as usize;
        self.counts.repeated[at] += u64::from(reading.retries > 0);
        self.counts.retries[at] += u64::from(reading.retries);
        self.counts.other_retries += u64::from(reading.retries) * u64::from(is_in_other);
        self.counts.unreadable[at] += u64::from(!reading.is_readable);
        reading
    }

    /// Counts a read that is given up before a die begins it, because its map entry could not be read.
    pub(crate) fn count_missed(&mut self, origin: Origin) {
        self.counts.unreadable[origin as usize] += 1;
    }

    /// The sectors that a failed read lacks: those lost earlier, or all that it asked for if the page is unreadable.
    pub(crate) fn missing(&self, read: &Operation) -> u32 {
        let lost = self.lost_of((read.ppn, self.blocks[read.block.at()].erases)) & read.mask;
        if lost == 0 { read.mask } else { lost }
    }

    fn lost_of(&self, page: PageOfLife) -> u32 {
        if self.lost.is_empty() { 0 } else { self.lost.get(&page).copied().unwrap_or(0) }
    }
}

/// Programs and erases.
impl Reads {
    /// A program is emitted that takes data from another page, except the sectors of its own mask: copies the lost
    /// sectors.
    pub(crate) fn copy(&mut self, from: PageOfLife, to: PageOfLife, own: u32) {
        let lost = self.lost_of(from) & !own;
        if lost != 0 {
            self.lost.insert(to, lost);
            self.counts.lost_pages += 1;
        }
    }

    /// Handles the end of an operation.
    pub(crate) fn ended(&mut self, operation: &Operation, now: Ns) {
        let Operation { kind, ppn, block, failed, .. } = *operation;
        match kind {
            OperationKind::Program => self.programmed_ns[ppn.at()] = now,
            OperationKind::Copyback => {
                self.programmed_ns[ppn.at()] = now;
                self.count_read(self.geometry.block_of(operation.from));
            }
            OperationKind::Erase => {
                let state = &mut self.blocks[block.at()];
                let ended = state.erases;
                *state = BlockReads { erases: ended + u32::from(!failed), reads: 0 };
                self.forget(block, ended);
            }
            OperationKind::Read | OperationKind::Hold => {}
        }
    }

    /// Forgets the lost sectors of a past life of a block. A life is the time between two erases.
    fn forget(&mut self, block: BlockId, life: u32) {
        if self.lost.is_empty() {
            return;
        }
        let first = self.geometry.page(block, 0);
        let pages = (first, 0)..=(Ppn(first.0 + self.geometry.pages - 1), u32::MAX);
        let over: Vec<PageOfLife> =
            self.lost.range(pages).map(|(&page, _)| page).filter(|page| page.1 == life).collect();
        for page in over {
            self.lost.remove(&page);
        }
    }
}
