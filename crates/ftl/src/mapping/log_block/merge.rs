//! Merges: how a log block becomes free again, a step at a time.
//!
//! ```text
//! switch   the log block holds every page of its logical block, in order: it becomes the data block; the old is erased
//! partial  it holds the first ones in order: the others are copied in, then as a switch
//! full     for each logical block in A(L): the newest copies of its pages are gathered in a new data block, and the
//!          old one is erased; then the log block is erased
//! ```
//!
//! A step is one page programmed or one block erased. The host may write between steps: what it writes goes to another
//! log block and is newer, wherever the merge has got to.

use flashloom_nand::{Lbn, Origin};
use flashloom_units::{Violation, violation};

use super::job::{MergeJob, MergeKind};
use super::log_blocks::LogSlot;
use super::scheme::Scheme;
use super::store::{Chip, Store};
use super::superblocks::SuperblockId;
use crate::{PageWrite, Preemption};

impl Store {
    /// Checks a merge that was loaded: what is left of it are pages of its logical block that are still to be gathered,
    /// and it will have cost no more than its bound.
    pub(super) fn check_merge(&self, job: &MergeJob, group: u32) -> Result<(), Violation> {
        let MergeJob { slot, log_block, kind, associativity, lbn, to, end, copies, erases } = *job;
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
        if log_block != self.blocks.block(log, 0) || !is_target || end > self.blocks.pages() {
            return cannot("that log block there");
        }
        // Pages of the log block and the data block that lie behind what is gathered would be lost; those before it are
        // where they belong.
        let written = if gathers { self.blocks.written(to) } else { 0 };
        if gathers {
            if lbn.0 >= self.logical_blocks() {
                return cannot("a logical block that there is not");
            }
            for offset in 0..self.blocks.pages() {
                let page = self.newest(self.lpn(lbn, offset));
                let holder = page.is_some().then(|| self.blocks.superblock_of(page));
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
        if is_bounded && associativity <= self.limits().associativity { Ok(()) } else { cannot("so much") }
    }

    /// Whether the pages of a logical block are being gathered, so that its old data block takes no more.
    pub(super) fn is_gathered(&self, group: u32, lbn: Lbn) -> bool {
        self.jobs[group as usize].is_some_and(|job| job.lbn == lbn)
    }

    /// How a log block of one logical block can be merged. It can become the data block if its valid pages are in place
    /// and the data block holds nothing that is newest below what was written; pages that are newest in other log
    /// blocks stay there. A log block whose pages are all dead is only erased.
    pub(crate) fn sequential_merge(&self, slot: LogSlot, lbn: Lbn) -> MergeKind {
        let (log, data) = (self.log.superblock(slot), self.data_block(lbn));
        let in_place = |offset| {
            let page = self.newest(self.lpn(lbn, offset));
            !page.is_some() || {
                let superblock = self.blocks.superblock_of(page);
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

    /// How many pages of a logical block there are up to the last that is newest in its data block.
    fn end_of_data(&self, lbn: Lbn) -> u32 {
        let data = self.data_block(lbn);
        let is_in_data = |&offset: &u32| {
            let page = self.newest(self.lpn(lbn, offset));
            page.is_some() && self.blocks.superblock_of(page) == data
        };
        (0..self.blocks.pages()).rev().find(is_in_data).map_or(0, |last| last + 1)
    }
}

impl Chip<'_> {
    /// Opens a log block, and leaves `kept` of them for others. Where none is free, what the scheme chooses is merged
    /// first; with preemption that merge began when the last free one was taken, and is over by now.
    pub(crate) fn open_log_block(&mut self, scheme: &mut impl Scheme, kept: u32) -> LogSlot {
        while self.store.log.free_slots(self.group) <= kept {
            self.begin_if_idle(scheme, LogSlot::NONE);
            self.finish();
        }
        let slot = self.take_log_block();
        if self.store.preemption == Preemption::Page && self.store.log.free_slots(self.group) <= kept {
            self.begin_if_idle(scheme, slot);
        }
        slot
    }

    fn begin_if_idle(&mut self, scheme: &mut impl Scheme, opened: LogSlot) {
        if self.store.jobs[self.group as usize].is_none() {
            let (slot, kind) = scheme.victim(self.store, self.group, opened);
            self.begin(slot, kind);
        }
    }

    /// Merges a log block to the end, after the merge that its group is at.
    pub(crate) fn merge(&mut self, slot: LogSlot, kind: MergeKind) {
        let merging = self.store.is_merging(self.group, slot);
        self.finish();
        if !merging {
            self.begin(slot, kind);
            self.finish();
        }
    }

    /// Goes on with the group's merge to its end.
    pub(super) fn finish(&mut self) {
        while self.step() {}
    }

    /// Begins a merge; the log block takes no page any more.
    pub(super) fn begin(&mut self, slot: LogSlot, kind: MergeKind) {
        debug_assert!(self.store.jobs[self.group as usize].is_none(), "a group merges one log block at a time");
        let mut job = MergeJob {
            slot,
            log_block: self.store.blocks.block(self.store.log.superblock(slot), 0),
            kind,
            associativity: self.store.log.associativity(slot),
            lbn: Lbn::NONE,
            to: SuperblockId::NONE,
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
        self.nand.begin_job(Origin::Merge, job.log_block);
    }

    /// Writes a page for the host into a sequential log block, at its place, while that is merged partially.
    pub(crate) fn partial_merge_with(&mut self, slot: LogSlot, write: &PageWrite) {
        self.finish();
        self.begin(slot, MergeKind::Partial);
        let (offset, to) = (self.store.offset(write.lpn), self.store.log.superblock(slot));
        if let Some(job) = &mut self.store.jobs[self.group as usize] {
            job.end = job.end.max(offset + 1);
        }
        while self.store.blocks.written(to) < offset {
            self.step();
        }
        self.append(to, write);
        if self.store.preemption == Preemption::None {
            self.finish();
        }
    }

    /// One step of the group's merge; false once there is none.
    pub(super) fn step(&mut self) -> bool {
        let Some(mut job) = self.store.jobs[self.group as usize] else { return false };
        let (copies, erases) = (job.copies, job.erases);
        let mut ended = false;
        if job.lbn.is_none() && !self.choose(&mut job) {
            let log = self.store.log.close(job.slot);
            self.erase(log);
            job.erases += 1;
            ended = true;
        } else if self.store.blocks.written(job.to) < job.end {
            let offset = self.store.blocks.written(job.to);
            self.copy_or_fill(self.store.lpn(job.lbn, offset), job.to);
            job.copies += 1;
        } else {
            ended = self.replace_data_block(&mut job);
        }
        self.store.add_to_wait(self.group, job.copies - copies, job.erases - erases);
        self.store.jobs[self.group as usize] = (!ended).then_some(job);
        if ended {
            self.store.merged(&job);
            self.nand.end_job(Origin::Merge, job.log_block);
        }
        !ended
    }

    /// Begins with the next logical block of a full merge; false if none is left.
    fn choose(&mut self, job: &mut MergeJob) -> bool {
        let Some(association) = self.store.log.associations(job.slot).first() else { return false };
        job.lbn = association.lbn;
        job.end = self.store.mapped_end(job.lbn);
        job.to = self.store.blocks.allocate(self.group);
        true
    }

    /// What was gathered is the data block from now on; true if that ends the merge.
    fn replace_data_block(&mut self, job: &mut MergeJob) -> bool {
        if job.kind != MergeKind::Full {
            self.store.log.close(job.slot);
        }
        let old = self.store.set_data_block(job.lbn, job.to);
        if old.is_some() {
            self.erase(old);
            job.erases += 1;
        }
        (job.lbn, job.to) = (Lbn::NONE, SuperblockId::NONE);
        job.kind != MergeKind::Full
    }
}

impl Store {
    /// A merge is over: its account.
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
