//! Merges reclaim log blocks, a step at a time.
//!
//! ```text
//! switch   the log block holds all pages of its logical block in order: it becomes the data block, the old is erased
//! partial  it holds the first pages in order: the rest is copied in, then as for a switch
//! full     for each logical block in A(L): gather the newest copies of its pages in a new data block, erase the old;
//!          then erase the log block
//! ```
//!
//! A step programs one page or erases one block. The host may write between steps. Such pages go to another log block
//! and are newer than what the merge copies, at any point of the merge.

use flashloom_nand::{BlockId, Lbn, Origin, PlaneId};
use flashloom_units::{Violation, violation};

use super::job::{MergeJob, MergeKind};
use super::log_blocks::LogSlot;
use super::scheme::Scheme;
use super::store::{Chip, Store};
use crate::store::WornOut;
use crate::{PageWrite, Preemption};

impl Store {
    /// Checks a loaded merge: only pages of its logical block that are still to be gathered remain, and its cost so far
    /// leaves it within its bound.
    pub(super) fn check_merge(&self, job: &MergeJob, group: u32) -> Result<(), Violation> {
        let MergeJob { slot, in_array, kind, associativity, lbn, to, end, copies, erases } = *job;
        let cannot = |what: &str| Err(violation!("log-block map: group {group} cannot be merging {what}"));
        if !self.log.of_group(group).any(|own| own == slot) || self.log.superblock(slot).is_none() {
            return cannot("a log block that it has not");
        }
        let log = self.log.superblock(slot);
        let gathers = lbn.is_some();
        let is_target = match kind {
            MergeKind::Full => gathers == to.is_some() && to != log,
            MergeKind::Switch | MergeKind::Partial => to == log && gathers && self.log.is_only_of(slot, lbn),
        };
        if !self.blocks.is_of_array(in_array) || !is_target || end > self.blocks.pages() {
            return cannot("that log block there");
        }
        // Pages of the log block or data block outside the range still to be copied would be lost; pages already
        // gathered must be at their offsets in the target.
        let written = if gathers { self.blocks.written(to) } else { 0 };
        if gathers {
            if lbn.0 >= self.logical_blocks() {
                return cannot("a logical block that there is not");
            }
            for offset in 0..self.blocks.pages() {
                let page = self.newest(self.lpn(lbn, offset));
                let holder = page.is_some().then(|| self.blocks.block_of(page));
                let is_gathered = holder == Some(to);
                let is_left = holder == Some(self.data_block(lbn)) || (holder == Some(log) && to != log);
                let is_in_place = !is_gathered || page == self.blocks.page(to, offset);
                if !is_in_place || (is_left && !(written..end).contains(&offset)) {
                    return cannot("a logical block whose pages lie elsewhere");
                }
            }
        }
        let left = self.log.associations(slot).iter().filter(|other| other.lbn != lbn).count() as u32;
        let ended = associativity.checked_sub(left + u32::from(gathers && kind == MergeKind::Full));
        let pages = u64::from(self.blocks.pages());
        let is_bounded = match kind {
            MergeKind::Full => ended.is_some_and(|ended| {
                u64::from(copies) <= u64::from(ended) * pages + u64::from(written) && erases <= ended
            }),
            _ => copies <= written && erases == 0,
        };
        if is_bounded && associativity <= self.limits.associativity { Ok(()) } else { cannot("so much") }
    }

    /// Whether a merge is gathering the pages of a logical block. Its old data block then takes no more pages.
    pub(super) fn is_gathered(&self, group: u32, lbn: Lbn) -> bool {
        self.jobs[group as usize].is_some_and(|job| job.lbn == lbn)
    }

    /// The cheapest merge of a log block that holds a single logical block. It can become the data block if its valid
    /// pages are at their offsets and, below its write pointer, no page has its newest copy in the old data block.
    /// Newest copies in other log blocks stay there. A log block without valid pages counts as `Full`, which then only
    /// erases it.
    pub(crate) fn sequential_merge(&self, slot: LogSlot, lbn: Lbn) -> MergeKind {
        let (log, data) = (self.log.superblock(slot), self.data_block(lbn));
        let in_place = |offset| {
            let page = self.newest(self.lpn(lbn, offset));
            !page.is_some() || {
                let superblock = self.blocks.block_of(page);
                (superblock != log || page == self.blocks.page(log, offset))
                    && (superblock != data || offset >= self.blocks.written(log))
            }
        };
        if self.log.associativity(slot) == 0 || !(0..self.blocks.pages()).all(in_place) {
            MergeKind::Full
        } else if self.end_of_data(lbn) <= self.blocks.written(log) {
            MergeKind::Switch
        } else {
            MergeKind::Partial
        }
    }

    /// Offset behind the last page of a logical block whose newest copy is in its data block.
    fn end_of_data(&self, lbn: Lbn) -> u32 {
        let data = self.data_block(lbn);
        let is_in_data = |&offset: &u32| {
            let page = self.newest(self.lpn(lbn, offset));
            page.is_some() && self.blocks.block_of(page) == data
        };
        (0..self.blocks.pages()).rev().find(is_in_data).map_or(0, |last| last + 1)
    }
}

impl Chip<'_> {
    /// Opens a log block and leaves at least `kept` free. If there are too few, the scheme's victim is merged first.
    /// With preemption that merge began when the last free log block was opened, and has ended by now.
    pub(crate) fn open_log_block(&mut self, scheme: &mut impl Scheme, kept: u32) -> Result<LogSlot, WornOut> {
        while self.store.log.free_slots(self.group) <= kept {
            self.begin_if_idle(scheme, LogSlot::NONE);
            self.finish()?;
        }
        let slot = self.take_log_block();
        if self.store.preemption == Preemption::Page && self.store.log.free_slots(self.group) <= kept {
            self.begin_if_idle(scheme, slot);
        }
        Ok(slot)
    }

    fn begin_if_idle(&mut self, scheme: &mut impl Scheme, opened: LogSlot) {
        if self.store.jobs[self.group as usize].is_none() {
            let (slot, kind) = scheme.victim(self.store, self.group, opened);
            self.begin(slot, kind);
        }
    }

    /// Merges a log block completely, after completing the merge under way on its group.
    pub(crate) fn merge(&mut self, slot: LogSlot, kind: MergeKind) -> Result<(), WornOut> {
        let merging = self.store.is_merging(self.group, slot);
        self.finish()?;
        if !merging {
            self.begin(slot, kind);
            self.finish()?;
        }
        Ok(())
    }

    /// Completes the group's merge.
    pub(super) fn finish(&mut self) -> Result<(), WornOut> {
        while self.step()? {}
        Ok(())
    }

    /// Begins a merge. The log block takes no more pages.
    pub(super) fn begin(&mut self, slot: LogSlot, kind: MergeKind) {
        debug_assert!(self.store.jobs[self.group as usize].is_none(), "a group merges one log block at a time");
        let mut job = MergeJob {
            slot,
            in_array: self.store.blocks.first_in_array(self.store.log.superblock(slot)),
            kind,
            associativity: self.store.log.associativity(slot),
            lbn: Lbn::NONE,
            to: BlockId::NONE,
            end: 0,
            copies: 0,
            erases: 0,
        };
        if kind != MergeKind::Full {
            job.lbn = self.store.log.associations(slot)[0].lbn;
            job.to = self.store.log.superblock(slot);
            job.end = if kind == MergeKind::Partial { self.store.end_of_data(job.lbn) } else { 0 };
        }
        self.store.jobs[self.group as usize] = Some(job);
        self.nand.begin_job(Origin::Merge, job.in_array);
    }

    /// Merges a sequential log block partially and writes a host page into it at its offset.
    pub(crate) fn partial_merge_with(&mut self, slot: LogSlot, write: &PageWrite) -> Result<(), WornOut> {
        self.finish()?;
        self.begin(slot, MergeKind::Partial);
        let (offset, to) = (self.store.offset(write.lpn), self.store.log.superblock(slot));
        if let Some(job) = &mut self.store.jobs[self.group as usize] {
            job.end = job.end.max(offset + 1);
        }
        while self.store.blocks.written(to) < offset {
            self.step()?;
        }
        self.append(to, write)?;
        if self.store.preemption == Preemption::None { self.finish() } else { Ok(()) }
    }

    /// Takes one step of the group's merge; returns false if none is left.
    pub(super) fn step(&mut self) -> Result<bool, WornOut> {
        let Some(mut job) = self.store.jobs[self.group as usize] else { return Ok(false) };
        let (copies, erases) = (job.copies, job.erases);
        let mut ended = false;
        if job.lbn.is_none() && !self.choose(&mut job) {
            let log = self.store.log.close(job.slot);
            self.erase(log)?;
            job.erases += 1;
            ended = true;
        } else if self.store.blocks.written(job.to) < job.end {
            let offset = self.store.blocks.written(job.to);
            self.copy_or_fill(self.store.lpn(job.lbn, offset), job.to)?;
            job.copies += 1;
        } else {
            ended = self.replace_data_block(&mut job)?;
        }
        self.store.add_to_wait(self.group, job.copies - copies, job.erases - erases);
        self.store.jobs[self.group as usize] = (!ended).then_some(job);
        if ended {
            self.store.merged(&job);
            self.nand.end_job(Origin::Merge, job.in_array);
        }
        Ok(!ended)
    }

    /// Begins to gather the next logical block of a full merge; returns false if none is left.
    fn choose(&mut self, job: &mut MergeJob) -> bool {
        let Some(association) = self.store.log.associations(job.slot).first() else { return false };
        job.lbn = association.lbn;
        job.end = self.store.mapped_end(job.lbn);
        job.to = self.store.blocks.open(PlaneId(self.group));
        true
    }

    /// Makes the gathered block the data block, and erases the old one. Returns true if the merge ends with this.
    fn replace_data_block(&mut self, job: &mut MergeJob) -> Result<bool, WornOut> {
        if job.kind != MergeKind::Full {
            self.store.log.close(job.slot);
        }
        let old = self.store.set_data_block(job.lbn, job.to);
        if old.is_some() {
            self.erase(old)?;
            job.erases += 1;
        }
        (job.lbn, job.to) = (Lbn::NONE, BlockId::NONE);
        Ok(job.kind != MergeKind::Full)
    }
}

impl Store {
    /// Counts a completed merge, and asserts that it kept within its bound.
    fn merged(&mut self, job: &MergeJob) {
        let blocking = self.costs.of(job.copies, job.erases);
        let bound = self.costs.full_merge(self.blocks.pages(), job.associativity.max(1));
        assert!(blocking <= bound, "a merge of k(L) = {} took {blocking} ns, not {bound} at most", job.associativity);
        let merges = &mut self.merges;
        merges.blocking_ns.record(blocking);
        match job.kind {
            MergeKind::Switch => merges.switch += 1,
            MergeKind::Partial => merges.partial += 1,
            MergeKind::Full => merges.full += 1,
        }
        let k = job.associativity as usize;
        merges.associativity.resize(merges.associativity.len().max(k + 1), 0);
        merges.associativity[k] += 1;
    }
}
