//! The state that all log-block mappings share: data blocks, log blocks, and the place of the newest copy of each page.
//!
//! A logical block has at most one data block, in which page i is at offset i. Blocks are programmed in order, so a
//! host page is written
//!
//! ```text
//! to its data block         if it is the next page there: so never-written tails are filled
//! to a new data block       if it is page 0 of a logical block that has no data block and no pages in the log
//! to the log                otherwise, by the rules of the scheme
//! ```
//!
//! Merges do not copy pages that were never written. If a later page of the block is copied, a filler is programmed in
//! their place.

use super::costs::Costs;
use super::report::MergeReport;
use crate::{ADDRESS_BYTES, FtlReport, FtlSetup, PageWrite, Preemption, Space};
use flashloom_nand::{BlockId, Lbn, Lpn, Nand, OpId, Origin, PlaneId, Ppn, Urgency};
use flashloom_units::{Violation, ensure, violation};
use serde::{Deserialize, Serialize};

use super::job::MergeJob;
use super::log_blocks::{LogBlocks, LogSlot, mistaken};
use crate::store::{Blocks, Pages, Upkeep, WornOut};

/// What a host page of a group waits for.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Waits {
    copies: u32,
    erases: u32,
    upkeep: Upkeep,
}

/// Limits that the store enforces and reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) associativity: u32,
    pub(super) steps_a_page: u32,
}

/// Data blocks, log blocks and page map of a drive.
pub(crate) struct Store {
    pub(crate) blocks: Blocks,
    pub(crate) log: LogBlocks,
    pub(super) pages: Pages,
    /// First page of the stream being written; `NONE` if there is none or the scheme does not look for streams.
    pub(super) stream: Lpn,
    /// Number of consecutive pages that are written together and that the page being written is one of. 0 if the scheme
    /// does not look at it.
    pub(crate) run: u32,
    data: Vec<BlockId>,
    pub(super) jobs: Vec<Option<MergeJob>>,
    pub(super) limits: Limits,
    pub(super) preemption: Preemption,
    pub(super) costs: Costs,
    /// For each group, what merges and padding have emitted since the last host page: the next host page waits for it.
    /// Moves of logical blocks are not counted.
    pub(super) since_host: Vec<Waits>,
    /// Pages of each logical block copied by merges; empty unless a placement reads it.
    copies: Vec<u32>,
    pub(super) report: FtlReport,
    pub(super) merges: Box<MergeReport>,
}

flashloom_units::state! {
    Store {
        nested blocks, pages, log;
        ids data [blocks.total()];
        nested copies, report, merges;
        array jobs, since_host;
        value stream;
        fixed run, limits, preemption, costs;
    }
}

impl Store {
    pub(super) fn new(
        setup: &FtlSetup,
        space: &Space,
        nand: &Nand,
        limits: Limits,
        (width, log_blocks): (u32, u32),
    ) -> Self {
        let blocks = Blocks::of_groups(nand, &setup.params, width);
        let logical_blocks = space.logical_pages.div_ceil(blocks.pages().into()) as usize;
        Self {
            log: LogBlocks::new(
                log_blocks,
                blocks.geometry.total_planes(),
                blocks.pages(),
                blocks.total(),
                logical_blocks as u32,
            ),
            pages: Pages::new(&blocks.geometry, space.logical_pages, true),
            stream: Lpn::NONE,
            run: 0,
            data: vec![BlockId::NONE; logical_blocks],
            jobs: vec![None; blocks.geometry.total_planes() as usize],
            limits,
            preemption: setup.params.preemption,
            costs: Costs::new(&space.nand, width, blocks.superblocks.width() / width),
            since_host: vec![Waits::default(); blocks.geometry.total_planes() as usize],
            copies: Vec::new(),
            report: FtlReport::default(),
            merges: Box::default(),
            blocks,
        }
    }

    pub(crate) fn lbn(&self, lpn: Lpn) -> Lbn {
        Lbn(lpn.0 / self.blocks.pages())
    }

    /// The offset of a page in its logical block.
    pub(crate) fn offset(&self, lpn: Lpn) -> u32 {
        lpn.0 % self.blocks.pages()
    }

    pub(crate) fn lpn(&self, lbn: Lbn, offset: u32) -> Lpn {
        Lpn(lbn.0 * self.blocks.pages() + offset)
    }

    /// Bytes of a controller's memory that the tables take ([`FtlReport::memory_bytes`]): the data block of each
    /// logical block, each log block, and the logical page of each of its pages with `a_log_page` bytes of the scheme.
    /// The `in_place` log blocks of each group have their pages where a data block has them, and need no such table.
    pub(super) fn memory_bytes(&self, a_log_page: u64, in_place: u32) -> u64 {
        let log_blocks = self.log.slots() as u64;
        let paged = (log_blocks - u64::from(in_place * self.groups())) * u64::from(self.blocks.pages());
        ADDRESS_BYTES * (self.data.len() as u64 + log_blocks) + (ADDRESS_BYTES + a_log_page) * paged
    }

    /// Whether this page is the first of a stream, as `Scheme::stream_pages` defines it.
    pub(crate) fn begins_stream(&self, lpn: Lpn) -> bool {
        self.stream == lpn
    }

    /// The newest copy of a page; `NONE` if it is not mapped or lies beyond the last logical block.
    pub(crate) fn newest(&self, lpn: Lpn) -> Ppn {
        self.pages.map().get(lpn.at()).copied().unwrap_or(Ppn::NONE)
    }

    /// The index of a page in its block.
    pub(crate) fn index_of(&self, page: Ppn) -> u32 {
        page.0 % self.blocks.pages()
    }

    pub(super) fn physical(&self, lpn: Lpn) -> Option<Ppn> {
        let page = self.newest(lpn);
        page.is_some().then(|| self.blocks.in_array(page))
    }

    pub(super) fn prefetch(&self, lpn: Lpn) {
        self.pages.prepare(lpn);
    }

    /// The data block of a logical block, or `NONE`.
    pub(crate) fn data_block(&self, lbn: Lbn) -> BlockId {
        self.data[lbn.at()]
    }

    pub(super) fn set_data_block(&mut self, lbn: Lbn, superblock: BlockId) -> BlockId {
        std::mem::replace(&mut self.data[lbn.at()], superblock)
    }

    /// The log block with the newest copy of a page; `NONE` if that is in a data block or the page is not mapped.
    pub(crate) fn log_block_of(&self, lpn: Lpn) -> LogSlot {
        let page = self.newest(lpn);
        if page.is_some() { self.log.slot_of(self.blocks.block_of(page)) } else { LogSlot::NONE }
    }

    pub(crate) fn groups(&self) -> u32 {
        self.blocks.geometry.total_planes()
    }

    pub(crate) fn logical_blocks(&self) -> u32 {
        self.data.len() as u32
    }

    /// Programmed pages of a log block.
    pub(crate) fn log_written(&self, slot: LogSlot) -> u32 {
        self.blocks.written(self.log.superblock(slot))
    }

    pub(crate) fn log_is_full(&self, slot: LogSlot) -> bool {
        self.blocks.is_full(self.log.superblock(slot))
    }

    /// Whether the newest copy of a page is in a block.
    pub(super) fn is_in(&self, lpn: Lpn, block: BlockId) -> bool {
        let page = self.newest(lpn);
        page.is_some() && self.blocks.block_of(page) == block
    }

    /// Whether its group is merging this log block, which therefore takes no more pages.
    pub(crate) fn is_merging(&self, group: u32, slot: LogSlot) -> bool {
        self.jobs[group as usize].is_some_and(|job| job.slot == slot)
    }

    /// Offset behind the last mapped page of a logical block.
    pub(super) fn mapped_end(&self, lbn: Lbn) -> u32 {
        let pages = (0..self.blocks.pages()).rev();
        pages.into_iter().find(|&offset| self.newest(self.lpn(lbn, offset)).is_some()).map_or(0, |last| last + 1)
    }

    /// Maps a page to a copy just programmed. The old copy dies.
    fn bind(&mut self, lpn: Lpn, page: Ppn) {
        let block = self.blocks.block_of(page);
        let old = self.pages.bind(lpn, (block, page), &mut self.blocks);
        self.leave(lpn, old);
        let slot = self.log.slot_of(block);
        if slot.is_some() {
            self.log.associate(slot, self.lbn(lpn));
            let k = self.log.associativity(slot);
            assert!(k <= self.limits.associativity, "k(L) = {k} exceeds {}", self.limits.associativity);
        }
    }

    /// Unmaps a page. Returns whether it was mapped.
    fn unbind(&mut self, lpn: Lpn) -> bool {
        let old = self.pages.unbind(lpn, &mut self.blocks);
        self.leave(lpn, old);
        old.is_some()
    }

    /// Notes that a page has died in a block, if it had a copy.
    fn leave(&mut self, lpn: Lpn, old: Option<(BlockId, u32)>) {
        let slot = old.map_or(LogSlot::NONE, |(block, _)| self.log.slot_of(block));
        if slot.is_some() {
            self.log.forget(slot, self.lbn(lpn));
        }
    }

    /// Maps pages of consecutive addresses, whose contents were permuted, to their new copies. The old copies die.
    pub(super) fn rebind(&mut self, first: Lpn, copies: &[Ppn]) {
        let lpns = (first.0..).map(Lpn);
        lpns.clone().take(copies.len()).for_each(|lpn| {
            self.unbind(lpn);
        });
        for (lpn, &page) in lpns.zip(copies).filter(|(_, page)| page.is_some()) {
            self.bind(lpn, page);
        }
    }

    /// Starts counting the copies of each logical block.
    pub(super) fn watch_copies(&mut self) {
        self.copies = vec![0; self.data.len()];
    }

    fn note_copy(&mut self, lpn: Lpn) {
        if !self.copies.is_empty() {
            let lbn = self.lbn(lpn);
            self.copies[lbn.at()] += 1;
        }
    }

    /// The log block that a group is merging.
    pub(crate) fn merging(&self, group: u32) -> Option<LogSlot> {
        self.jobs[group as usize].map(|job| job.slot)
    }

    /// Checks that a scheme knows each log block of a group in use exactly once, if it is not being merged.
    pub(crate) fn check_known(&self, group: u32, known: impl Iterator<Item = LogSlot>) -> Result<(), Violation> {
        let mut is_known = vec![false; self.log.slots()];
        for slot in known.chain(self.merging(group)) {
            match is_known.get_mut(slot.at()) {
                Some(is_known) if !*is_known && self.log.in_use(group).any(|own| own == slot) => *is_known = true,
                _ => return Err(mistaken(slot)),
            }
        }
        self.log.in_use(group).find(|slot| !is_known[slot.at()]).map_or(Ok(()), |slot| Err(mistaken(slot)))
    }

    /// The origin and urgency of merges.
    fn by(&self) -> (Origin, Urgency) {
        (Origin::Merge, self.preemption.urgency())
    }

    /// Pages of a logical block copied by merges since the last call.
    pub(super) fn take_copies(&mut self, lbn: Lbn) -> u32 {
        std::mem::take(&mut self.copies[lbn.at()])
    }

    /// Resets the work that the next host page of a group waits for: the drive is idle, so all of it has completed.
    pub(super) fn nobody_waits(&mut self, group: u32) {
        self.since_host[group as usize] = Waits::default();
    }

    /// Adds copies and erases to the work that the next host page of a group waits for.
    pub(super) fn add_to_wait(&mut self, group: u32, copies: u32, erases: u32) {
        let waits = &mut self.since_host[group as usize];
        waits.copies += copies;
        waits.erases += erases;
    }

    /// Counts the copies to blocks that have taken the place of others on a group; the next host page waits for them,
    /// too.
    #[inline(always)]
    fn count_upkeep(&mut self, group: u32) {
        if let Some(upkeep) = self.blocks.take_upkeep() {
            self.report.page_copies += u64::from(upkeep.copies);
            self.since_host[group as usize].upkeep += upkeep;
        }
    }

    pub(super) fn trim(&mut self, lpn: Lpn) {
        self.report.trimmed_pages += u64::from(self.unbind(lpn));
    }

    /// Checks a loaded state against the loaded array. The map and its inverse agree, and each superblock in use is the
    /// data block of one logical block, the log block of one slot, or the target of one merge.
    pub(super) fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        self.blocks.check_loaded(nand)?;
        self.log.check(|superblock| self.blocks.plane_of(superblock).0)?;
        let pages = u64::from(self.blocks.total()) * u64::from(self.blocks.pages());
        let is_short = |&Waits { copies, erases, upkeep }: &Waits| {
            u64::from(copies.max(erases)) <= pages && self.blocks.can_have_taken(upkeep, nand)
        };
        if !self.since_host.iter().all(is_short) || self.copies.iter().any(|&copies| copies > u32::MAX / 2) {
            return Err(Violation::new("log-block map: merges have copied more than the drive has"));
        }
        if self.blocks.is_worn_out() {
            return self.check_pages();
        }
        let mut is_used = vec![false; self.blocks.total() as usize];
        let targets = self.jobs.iter().flatten().filter(|job| job.gathers_apart()).map(|job| job.to);
        let logs = (0..self.groups()).flat_map(|group| self.log.in_use(group)).map(|slot| self.log.superblock(slot));
        for superblock in self.data.iter().copied().filter(|data| data.is_some()).chain(logs).chain(targets) {
            match is_used.get_mut(superblock.at()) {
                Some(is_used) if !*is_used => *is_used = true,
                _ => return Err(violation!("log-block map: block {} is used twice, or is none", superblock.0)),
            }
        }
        if !(0..).zip(&is_used).all(|(superblock, &is_used)| self.blocks.fits_use(BlockId(superblock), is_used)) {
            return Err(Violation::new("log-block map: a block is in use that is free or bad, or the reverse"));
        }
        self.check_pages()?;
        for (group, job) in (0..).zip(&self.jobs) {
            job.map_or(Ok(()), |job| self.check_merge(&job, group))?;
        }
        Ok(())
    }

    /// Checks that every valid page lies at its offset if it is in a data block, and is counted if it is in a log
    /// block.
    fn check_pages(&self) -> Result<(), Violation> {
        self.pages.check_loaded(&self.blocks)?;
        let mut of_slot = Vec::new();
        for block in (0..self.blocks.total()).map(BlockId) {
            let slot = self.log.slot_of(block);
            of_slot.clear();
            for lpn in self.pages.of_block(&self.blocks.geometry, block) {
                let lbn = self.lbn(lpn);
                let is_data = || self.data[lbn.at()] == block && self.offset(lpn) == self.index_of(self.newest(lpn));
                // The target of a merge is checked with that merge.
                let is_gathered = || self.jobs.iter().flatten().any(|job| job.to == block && job.lbn == lbn);
                // A drive that wears out leaves pages wherever they are.
                let is_anywhere = self.blocks.is_worn_out() || slot.is_some();
                let is_in_place = is_anywhere || is_data() || is_gathered();
                ensure!(is_in_place, "log-block map: logical page {} is out of place in block {}", lpn.0, block.0);
                of_slot.push(lbn);
            }
            if slot.is_some() {
                of_slot.sort_unstable();
                let counted = of_slot.chunk_by(|one, other| one == other);
                let is_kept = |pages: &[Lbn]| {
                    let kept = self.log.associations(slot).iter().find(|association| association.lbn == pages[0]);
                    kept.is_some_and(|kept| kept.pages as usize == pages.len())
                };
                let k = self.log.associativity(slot);
                let is_within = k <= self.limits.associativity && counted.clone().count() == k as usize;
                if !is_within || !counted.clone().all(is_kept) {
                    return Err(violation!("log blocks: slot {} is not associated as its pages are", slot.0));
                }
            }
        }
        Ok(())
    }

    /// Whether all pages and blocks of a logical block are on this group.
    pub(super) fn is_on(&self, lbn: Lbn, group: u32) -> bool {
        let data = self.data_block(lbn);
        let pages = self.pages.newest_from(self.lpn(lbn, 0), self.blocks.pages());
        let mut holders = pages.iter().filter(|page| page.is_some()).map(|&page| self.blocks.block_of(page));
        let is_there = |superblock| self.blocks.plane_of(superblock).0 == group;
        holders.all(is_there) && (data.is_none() || is_there(data)) && self.is_gathered_at_most_by(lbn, Some(group))
    }

    /// Whether a logical block has neither pages nor blocks anywhere.
    pub(super) fn is_nowhere(&self, lbn: Lbn) -> bool {
        let has_pages = (0..self.blocks.pages()).any(|offset| self.newest(self.lpn(lbn, offset)).is_some());
        !has_pages && self.data_block(lbn).is_none() && self.is_gathered_at_most_by(lbn, None)
    }

    fn is_gathered_at_most_by(&self, lbn: Lbn, group: Option<u32>) -> bool {
        (0..self.groups()).all(|other| Some(other) == group || !self.is_gathered(other, lbn))
    }

    /// Checks that valid pages equal mapped pages, that all counters agree with a recount, and that every page is in
    /// its data block or in the log.
    pub(super) fn check(&self) -> Result<(), Violation> {
        self.pages.check_with(&self.blocks)?;
        if self.blocks.is_worn_out() {
            return Ok(());
        }
        for (lpn, &page) in (0..).map(Lpn).zip(self.pages.map()).filter(|(_, page)| page.is_some()) {
            let (block, lbn) = (self.blocks.block_of(page), self.lbn(lpn));
            let slot = self.log.slot_of(block);
            let gathered = self.jobs.iter().flatten().any(|job| job.to == block);
            let known = if slot.is_some() { self.log.is_associated(slot, lbn) } else { self.data[lbn.at()] == block };
            ensure!(
                known || gathered,
                "log-block map: logical page {} is neither in its data block nor in the log",
                lpn.0
            );
        }
        Ok(())
    }
}

/// A group of chips with the store and the array: the argument of every decision of a scheme.
pub(crate) struct Chip<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) nand: &'a mut Nand,
    pub(crate) group: u32,
}

impl Chip<'_> {
    /// Programs a host page to the next page of a block.
    pub(crate) fn append(&mut self, to: BlockId, write: &PageWrite) -> Result<(), WornOut> {
        let store = &mut *self.store;
        let (by, of) = (store.by(), (&mut store.report, &store.pages));
        let page = store.blocks.write(self.nand, of, write, OpId::DONE, to, by);
        store.count_upkeep(self.group);
        store.bind(write.lpn, page?);
        let Waits { copies, erases, upkeep } = std::mem::take(&mut store.since_host[self.group as usize]);
        store.merges.longest.note(&store.costs, store.costs.of(copies, erases), upkeep);
        Ok(())
    }

    /// Programs a host page to a log block.
    pub(crate) fn append_to_log(&mut self, slot: LogSlot, write: &PageWrite) -> Result<(), WornOut> {
        self.append(self.store.log.superblock(slot), write)
    }

    /// Copies the newest copy of a page to the next page of a block, or programs a filler if the page is not mapped.
    pub(super) fn copy_or_fill(&mut self, lpn: Lpn, to: BlockId) -> Result<(), WornOut> {
        let from = self.store.newest(lpn);
        let page = self.copy_page(from, to)?;
        if from.is_some() {
            self.store.bind(lpn, page);
            self.store.note_copy(lpn);
        }
        Ok(())
    }

    /// Copies a page to the next page of a block, or programs a filler if there is none to copy; returns the page
    /// programmed.
    #[inline(always)] // Once for every page that a merge copies.
    pub(super) fn copy_page(&mut self, from: Ppn, to: BlockId) -> Result<Ppn, WornOut> {
        let store = &mut *self.store;
        let page = store.blocks.append(self.nand, from, to, store.by());
        store.count_upkeep(self.group);
        let page = page?;
        store.report.page_copies += 1;
        store.merges.filler_pages += u64::from(from.is_none());
        Ok(page)
    }

    /// Pads a log block with the newest copies of a logical block's pages, up to an offset.
    pub(crate) fn pad(&mut self, slot: LogSlot, lbn: Lbn, upto: u32) -> Result<(), WornOut> {
        let to = self.store.log.superblock(slot);
        while self.store.blocks.written(to) < upto {
            self.copy_or_fill(self.store.lpn(lbn, self.store.blocks.written(to)), to)?;
            self.store.add_to_wait(self.group, 1, 0);
        }
        Ok(())
    }

    pub(super) fn erase(&mut self, superblock: BlockId) -> Result<(), WornOut> {
        let (by, store) = (self.store.by(), &mut *self.store);
        let erased = store.blocks.reclaim(self.nand, &mut store.report, superblock, by);
        store.count_upkeep(self.group);
        erased
    }

    /// Opens a log block; the caller knows that one is free.
    pub(crate) fn take_log_block(&mut self) -> LogSlot {
        let superblock = self.store.blocks.open(PlaneId(self.group));
        self.store.log.open(self.group, superblock)
    }

    /// Free log blocks that may be opened at will. With preemption that is one less than are free: the last one takes
    /// the writes that arrive while a merge reclaims another.
    pub(crate) fn openable(&self) -> u32 {
        let kept = u32::from(self.store.preemption == Preemption::Page);
        self.store.log.free_slots(self.group).saturating_sub(kept)
    }

    /// Whether the group has a merge under way, so that another merge would have to wait.
    pub(crate) fn must_wait(&self) -> bool {
        self.store.jobs[self.group as usize].is_some()
    }

    /// Completes the group's merge before a logical block moves. Host pages wait for it, but it counts as part of the
    /// move and not as a wait for merges.
    pub(super) fn finish_before_move(&mut self) -> Result<(), WornOut> {
        let waits = self.store.since_host[self.group as usize];
        self.finish()?;
        self.store.since_host[self.group as usize] = waits;
        Ok(())
    }

    /// Takes the steps of the group's merge that one host page pays for.
    pub(super) fn pay(&mut self) -> Result<(), WornOut> {
        let steps = if self.store.preemption == Preemption::Page { self.store.limits.steps_a_page } else { 0 };
        for _ in 0..steps {
            if !self.step()? {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::lab::{setup, space};
    use super::*;
    use crate::store::BlockState;

    /// What nobody uses and what is not free would be lost to a drive of a stranger, which needs each of its blocks.
    #[test]
    fn a_block_that_nobody_uses_is_refused_whatever_it_is_said_to_be() {
        let (setup, space) = (setup("bast", &[]), space(1, 4, 4));
        let nand = Nand::new(&space.nand);
        let limits = Limits { associativity: 1, steps_a_page: 1 };
        for state in [BlockState::Open, BlockState::Victim, BlockState::Cache] {
            let mut store = Store::new(&setup, &space, &nand, limits, (1, 4));
            assert_eq!(store.check_loaded(&nand), Ok(()));
            let block = store.blocks.open(PlaneId(0));
            store.blocks.set_state(block, state);
            assert!(store.check_loaded(&nand).is_err(), "{state:?}");
        }
    }
}
