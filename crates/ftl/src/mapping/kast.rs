//! KAST: K-associative sector translation, log blocks of bounded associativity (Cho et al., DATE 2009).
//!
//! Where page p of data block d(p) is written, by the rules of section III-B, with the parameters' names for the
//! paper's thresholds:
//!
//! ```text
//! 1  d(p) has a sequential log block (SLB) S
//!      p is the next page of S                  append
//!      p is at most small_gap pages further     copy the gap from the data block, append (Figure 5b)
//!      otherwise, by large_gap                  "merge": merge S partially, p written in its course (5c)
//!                                               "transform": S becomes a random log block and takes p (5d)
//!                                               "auto": transform if S has at least many_free_pages, else merge
//!    a random log block (RLB) L holds pages of d(p), so that d(p) is in A(L)
//!      offset > 0                               append: k(L) does not grow
//!      offset 0, by sequential_start            append (4b); open an SLB (4c); or open one and copy into it
//!                                               d(p)'s pages in L and those between them (4d)
//!    neither, and offset 0                      open an SLB. With sequential_log_blocks open, switch a complete one
//!                                               first; if none is, and the least recently written one was not
//!                                               written for long_time pages, that becomes an RLB if it has at least
//!                                               many_free_pages, else it is merged partially
//!    neither, and another offset                open a free log block if more are free than reserved; if not, switch a
//!                                               complete SLB, which frees one, and look again; else step 2
//! 2  append to the log block with the smallest k(L) < K, ties to the one with most free pages. Candidates: RLBs, and
//!    idle SLBs, with at least many_free_pages, not written for long_time pages (they become RLBs with k = 2). Pages of
//!    offset 0 skip this step, unless start_merge = "filled" and the log block that step 3 would merge has
//!    many_free_pages.
//! 3  merge, by the first rule that finds one: the SLB with fewest free pages, unless all have many_free_pages; the RLB
//!    chosen by random_victim: the smallest merge cost, k(L), and then fewest free pages, or the smallest cost per page
//!    written.
//! ```
//!
//! With `stream_threshold` above 1, "offset 0" in these rules means a page of offset 0 that starts a stream (SLAP): at
//! least that many consecutive pages that leave the write buffer together. The paper assumes that any write to the
//! start of a block will fill the block. The buffer then looks for streams among all its pages, and the pages of a
//! logical block that leave together are written in order of address. Any other page of offset 0 is written like the
//! rest (decision 0044).
//!
//! Two rules are not from the paper; the first is on by default (decision 0087). Step 1 leaves `reserved_log_blocks` to
//! SLBs as long as step 2 can take random pages. Without this, random pages open every log block that a switch merge
//! frees, and the next sequence has to merge one of them to get its SLB. With `start_merge` = "filled" a page of offset
//! 0 that step 2 can take does not merge a log block with many free pages. Without this, short sequences merge log
//! blocks that hold only a few pages. The values 0 and "any" follow the paper.
//!
//! [`LogState`] has the states of Figure 3. Choices that the paper leaves open:
//!
//! - Its three thresholds are parameters, and so is the weight of the two criteria in step 3.
//! - At the limit of SLBs the paper says that one "can be changed into a random log block if there is no subsequent
//!   sequential write request". Here that is the least recently written one, after the same long time; if none has
//!   waited that long, page 0 is written like any other page.
//! - A page that its SLB already holds (its offset is below the write pointer) cannot be written in the course of the
//!   SLB's merge: it goes to another log block afterwards.
//! - An SLB whose pages are all dead, gathered by another merge or trimmed, is an RLB of k = 0.
//! - If step 3 finds only SLBs with many free pages, it merges the one with fewest.
//!
//! See docs/decisions/0023-sequences-that-wait.md.
//!
//! With preemption, writes never wait for the merge under way. An SLB that would be merged is transformed instead, in
//! step 2 too if no other log block takes the page, and an SLB is padded only while K of its pages stay free. The last
//! free log block, whose opening begins a merge, therefore takes at least K pages, sequential or not, and step 2 is
//! tried before it is opened for a random page.
//!
//! Every write asserts k(L) <= K. A page costs O(log blocks of a chip).

mod params;

use flashloom_nand::Lbn;
use flashloom_units::{Capability, PolicySpec, Refusal, Statistic, Violation};
use serde::{Deserialize, Serialize};

use super::Site;
use super::log_block::{
    Chip, LATEST, Layout, LogSlot, MERGES, MergeKind, Scheme, Store, check_associativity, mistaken,
};
use crate::capability::SINGLE_CHIP;
use crate::store::WornOut;
use crate::streams::STREAMS;
use crate::{BLOCK_EXCHANGE, DIE_SUPERBLOCKS, PageWrite};
use params::{KastParams, LargeGap, RandomVictim, SequentialStart, StartMerge, besides, check_reserve};

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "kast",
    summary: "log blocks associated with at most K data blocks",
    details: "One FTL a chip. Pages of different logical blocks are spread over log blocks; where all but those \
              reserved for sequences are in use, the associativity of the least associated one grows, never beyond K: \
              no merge exceeds N K C_copy + (K + 1) C_erase.",
    source: "Cho et al.: KAST, DATE 2009, section III",
    example: "ftl.mapping=kast ftl.kast.k=4 ftl.kast.log_blocks=32 buffer.order=block-lru",
    instead: "Where no bound on the longest merge is needed, `fast` has fewer parameters to set. With memory for a \
              page map use `page` or `dftl`.",
    needs: &[],
    offers: &[BLOCK_EXCHANGE, DIE_SUPERBLOCKS, SINGLE_CHIP, Capability::SAVED_STATE],
    params: KastParams::PARAMS,
    statistics: &Statistic::joined::<{ MERGES.len() + STREAMS.len() }>(&[MERGES, STREAMS]),
};

/// The state of a log block (Figure 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogState {
    /// State F.
    Free,
    /// State S; holds its one logical block.
    Sequential(Lbn),
    /// State R_i; holds i, which is k(L).
    Random(u32),
}

/// KAST's own state of a log block; pages and associations are in the store.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Log {
    /// Logical block of a sequential log block; `Lbn::NONE` for a random one.
    sequential: Lbn,
    /// Last write, in the clock of its chip.
    written: u64,
}

pub(super) struct Kast {
    params: KastParams,
    many_free: u32,
    /// Log blocks kept for sequential writes; 0 if the configuration allows no sequential ones.
    reserved: u32,
    logs: Vec<Log>,
    /// Clock of each chip: pages written to its log blocks.
    clocks: Vec<u64>,
}

flashloom_units::state! { Kast { array logs; nested clocks; fixed params, many_free, reserved; } }

impl Kast {
    fn state(&self, store: &Store, slot: LogSlot) -> LogState {
        let (sequential, k) = (self.logs[slot.at()].sequential, store.log.associativity(slot));
        if store.log.superblock(slot).is_none() {
            LogState::Free
        } else if sequential.is_some() && k > 0 {
            LogState::Sequential(sequential)
        } else {
            LogState::Random(k)
        }
    }

    /// Log blocks in use on the chip with their states, except the one being merged.
    fn states<'a>(&'a self, store: &'a Store, group: u32) -> impl Iterator<Item = (LogSlot, LogState)> + 'a {
        let in_use = store.log.in_use(group).filter(move |&slot| !store.is_merging(group, slot));
        in_use.map(|slot| (slot, self.state(store, slot)))
    }

    fn free_pages(store: &Store, slot: LogSlot) -> u32 {
        store.blocks.pages() - store.log_written(slot)
    }

    /// SLBs of the chip.
    fn sequences<'a>(&'a self, store: &'a Store, group: u32) -> impl Iterator<Item = (LogSlot, Lbn)> + 'a {
        self.states(store, group).filter_map(|(slot, state)| match state {
            LogState::Sequential(lbn) => Some((slot, lbn)),
            _ => None,
        })
    }

    /// The SLB of a logical block. If there are two, the older one is complete and waits for its switch merge: returns
    /// the newer.
    fn sequential_of(&self, chip: &Chip, lbn: Lbn) -> Option<LogSlot> {
        let own = self.sequences(chip.store, chip.group).filter(|&(_, other)| other == lbn);
        own.map(|(slot, _)| slot).max_by_key(|slot| self.logs[slot.at()].written)
    }

    /// The RLB with free pages that is associated with a logical block; of several, the one with most free pages.
    fn random_of(&self, chip: &Chip, lbn: Lbn) -> Option<LogSlot> {
        let store = &*chip.store;
        if !store.log.has_log_pages(lbn) {
            return None;
        }
        let random = self.states(store, chip.group).filter(|(slot, state)| {
            matches!(state, LogState::Random(_)) && store.log.is_associated(*slot, lbn) && !store.log_is_full(*slot)
        });
        random.map(|(slot, _)| slot).max_by_key(|&slot| (Self::free_pages(store, slot), std::cmp::Reverse(slot.0)))
    }

    fn append(&mut self, chip: &mut Chip, slot: LogSlot, write: &PageWrite) -> Result<(), WornOut> {
        self.logs[slot.at()].written = self.clocks[chip.group as usize];
        chip.append_to_log(slot, write)
    }

    /// Merges an SLB, which frees its slot.
    fn merge_sequence(&mut self, chip: &mut Chip, slot: LogSlot, kind: MergeKind) -> Result<(), WornOut> {
        self.logs[slot.at()].sequential = Lbn::NONE;
        chip.merge(slot, kind)
    }

    fn has_many_free_pages(&self, store: &Store, slot: LogSlot) -> bool {
        Self::free_pages(store, slot) >= self.many_free.max(1)
    }

    /// Whether a log block may be padded up to an offset. While a merge is under way, K of its pages must stay free:
    /// the host pages written there pay for the merge's steps.
    fn may_pad(&self, chip: &Chip, upto: u32) -> bool {
        !chip.must_wait() || chip.store.blocks.pages() - upto >= self.params.k
    }

    /// Step 1 for a logical block that has an SLB. Returns false if the page has to be written elsewhere.
    fn continue_sequence(&mut self, chip: &mut Chip, slot: LogSlot, write: &PageWrite) -> Result<bool, WornOut> {
        let (offset, written) = (chip.store.offset(write.lpn), chip.store.log_written(slot));
        let lbn = chip.store.lbn(write.lpn);
        let fills = offset == written || (offset > written && self.may_pad(chip, offset));
        if fills && offset - written <= self.params.small_gap {
            chip.pad(slot, lbn, offset)?;
            self.append(chip, slot, write)?;
            return Ok(true);
        }
        let transforms = match self.params.large_gap {
            LargeGap::Merge => false,
            LargeGap::Transform => true,
            LargeGap::Auto => self.has_many_free_pages(chip.store, slot),
        };
        if (transforms || chip.must_wait()) && !chip.store.log_is_full(slot) {
            self.logs[slot.at()].sequential = Lbn::NONE;
            self.append(chip, slot, write)?;
            return Ok(true);
        }
        if chip.must_wait() {
            return Ok(false);
        }
        let kind = chip.store.sequential_merge(slot, lbn);
        if kind != MergeKind::Full && offset > written {
            self.logs[slot.at()].sequential = Lbn::NONE;
            chip.partial_merge_with(slot, write)?;
            return Ok(true);
        }
        self.merge_sequence(chip, slot, kind)?;
        Ok(false)
    }

    /// Whether a page may open an SLB.
    fn may_begin(&self, chip: &Chip, write: &PageWrite) -> bool {
        let is_stream = self.params.stream_threshold == 1 || chip.store.begins_stream(write.lpn);
        is_stream && chip.store.offset(write.lpn) == 0
    }

    /// Makes room for one more SLB; returns false if it cannot. At the limit it switches a complete SLB. If none is
    /// complete and the least recently written has been idle for `long_time`, that one becomes an RLB (with many free
    /// pages) or is merged.
    fn admits_sequence(&mut self, chip: &mut Chip) -> Result<bool, WornOut> {
        let (limit, group) = (self.params.sequential_log_blocks as usize, chip.group);
        if limit == 0 || (chip.must_wait() && chip.store.log.free_slots(group) == 0) {
            return Ok(false);
        }
        if self.sequences(chip.store, group).count() < limit {
            return Ok(true);
        }
        if self.switch_complete_sequence(chip)? {
            return Ok(true);
        }
        let oldest = self.sequences(chip.store, group).min_by_key(|(slot, _)| self.logs[slot.at()].written);
        let (slot, lbn) = oldest.expect("the limit is above zero");
        if !self.waits_long(chip, slot) {
            return Ok(false);
        }
        if self.has_many_free_pages(chip.store, slot) {
            self.logs[slot.at()].sequential = Lbn::NONE;
        } else if chip.must_wait() {
            return Ok(false);
        } else {
            self.merge_sequence(chip, slot, chip.store.sequential_merge(slot, lbn))?;
        }
        Ok(true)
    }

    /// Opens an SLB with the first page of a logical block.
    fn begin_sequence(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<LogSlot, WornOut> {
        let slot = chip.open_log_block(self, 0)?;
        self.logs[slot.at()].sequential = chip.store.lbn(write.lpn);
        self.append(chip, slot, write)?;
        Ok(slot)
    }

    /// Figure 4: writes page 0 of a logical block that is associated with an RLB with free pages.
    fn start_beside(&mut self, chip: &mut Chip, random: LogSlot, write: &PageWrite) -> Result<(), WornOut> {
        if self.params.sequential_start == SequentialStart::Append || !self.admits_sequence(chip)? {
            return self.append(chip, random, write);
        }
        let slot = self.begin_sequence(chip, write)?;
        if self.params.sequential_start == SequentialStart::Copy {
            let lbn = chip.store.lbn(write.lpn);
            let in_random = |&offset: &u32| chip.store.log_block_of(chip.store.lpn(lbn, offset)) == random;
            let last = (1..chip.store.blocks.pages()).rev().find(in_random);
            if let Some(last) = last
                && self.may_pad(chip, last + 1)
            {
                chip.pad(slot, lbn, last + 1)?;
            }
        }
        Ok(())
    }

    /// Switches a complete SLB, at the cost of one erase. Returns false if there is none, or if another merge is under
    /// way.
    fn switch_complete_sequence(&mut self, chip: &mut Chip) -> Result<bool, WornOut> {
        let store = &*chip.store;
        let complete = |&(slot, lbn): &(LogSlot, Lbn)| {
            store.log_is_full(slot) && store.sequential_merge(slot, lbn) == MergeKind::Switch
        };
        let found = self.sequences(store, chip.group).find(complete).filter(|_| !chip.must_wait());
        if let Some((slot, _)) = found {
            self.merge_sequence(chip, slot, MergeKind::Switch)?;
        }
        Ok(found.is_some())
    }

    /// Step 2: the log block that takes a page of another logical block, so that its associativity grows. An idle SLB
    /// counts as an RLB of one data block. While a merge is under way, which a write must not wait for, any SLB is
    /// taken as the last resort.
    fn least_associated(&mut self, chip: &Chip) -> Option<LogSlot> {
        let (store, waits) = (&*chip.store, chip.must_wait());
        let candidates = self.states(store, chip.group).filter_map(|(slot, state)| {
            let (last_resort, k) = match state {
                LogState::Random(k) => (false, k),
                LogState::Sequential(_) if self.waits_long(chip, slot) && self.has_many_free_pages(store, slot) => {
                    (false, 1)
                }
                LogState::Sequential(_) if waits => (true, 1),
                _ => return None,
            };
            (k < self.params.k && !store.log_is_full(slot)).then_some((last_resort, k, store.log_written(slot), slot))
        });
        let (.., slot) = candidates.min_by_key(|&(last_resort, k, written, slot)| (last_resort, k, written, slot.0))?;
        self.logs[slot.at()].sequential = Lbn::NONE;
        Some(slot)
    }

    /// Whether an SLB was not written for a long time.
    fn waits_long(&self, chip: &Chip, slot: LogSlot) -> bool {
        let long_time = self.params.long_time.unwrap_or(chip.store.blocks.pages());
        self.clocks[chip.group as usize] - self.logs[slot.at()].written > u64::from(long_time)
    }

    /// Merge cost of a random log block in the units of `random_victim`; only for comparison.
    fn merge_cost(&self, store: &Store, slot: LogSlot) -> u64 {
        let k = u64::from(store.log.associativity(slot));
        match self.params.random_victim {
            RandomVictim::Cost => k,
            RandomVictim::CostPerPage => (k << 32) / u64::from(store.log_written(slot).max(1)),
        }
    }

    /// Free log blocks that this page must not open: those reserved for SLBs, unless it may open one itself.
    fn left_free(&self, chip: &Chip, write: &PageWrite) -> u32 {
        if self.may_begin(chip, write) { 0 } else { self.reserved }
    }

    /// Whether a page of offset 0 tries step 2 first (`start_merge` = "filled"): the log block that would be merged for
    /// its SLB has many free pages.
    fn spares_victim(&self, chip: &Chip) -> bool {
        if self.params.start_merge == StartMerge::Any || chip.openable() > 0 || chip.must_wait() {
            return false;
        }
        let victim = self.to_merge(chip.store, chip.group, LogSlot::NONE);
        victim.is_some_and(|(slot, _)| self.has_many_free_pages(chip.store, slot))
    }

    /// Writes a page that neither the SLB nor an RLB of its logical block takes: the rest of step 1, then steps 2 and
    /// 3.
    fn write_elsewhere(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut> {
        let begins = self.may_begin(chip, write);
        if begins && !self.spares_victim(chip) && self.admits_sequence(chip)? {
            self.begin_sequence(chip, write).map(|_| ())
        } else if chip.openable() <= self.reserved
            && let Some(slot) = self.least_associated(chip)
        {
            self.append(chip, slot, write)
        } else if begins && self.admits_sequence(chip)? {
            // Step 2 found no log block, so one is merged after all.
            self.begin_sequence(chip, write).map(|_| ())
        } else {
            let slot = chip.open_log_block(self, 0)?;
            self.logs[slot.at()].sequential = Lbn::NONE;
            self.append(chip, slot, write)
        }
    }

    /// Step 3: the log block to merge, and how; `None` if none but `opened` is in use.
    fn to_merge(&self, store: &Store, group: u32, opened: LogSlot) -> Option<(LogSlot, MergeKind)> {
        let (mut sequential, mut random) = (None, None);
        for (slot, state) in self.states(store, group).filter(|(slot, _)| *slot != opened) {
            let free = Self::free_pages(store, slot);
            let kind = match state {
                LogState::Sequential(lbn) => store.sequential_merge(slot, lbn),
                _ => MergeKind::Full,
            };
            let better = |best: Option<((u64, u32), LogSlot, MergeKind)>, cost| match best {
                Some((least, ..)) if least <= cost => best,
                _ => Some((cost, slot, kind)),
            };
            if kind == MergeKind::Full {
                random = better(random, (self.merge_cost(store, slot), free));
            } else {
                sequential = better(sequential, (0, free));
            }
        }
        let worth_it = sequential.filter(|&(_, slot, _)| !self.has_many_free_pages(store, slot));
        worth_it.or(random).or(sequential).map(|(_, slot, kind)| (slot, kind))
    }
}

impl Scheme for Kast {
    type Params = KastParams;

    fn layout(params: &KastParams, site: &Site<'_>) -> Layout {
        let KastParams { log_blocks, k, .. } = *params;
        let besides = besides(params, site.geometry().pages, site.ftl.params.preemption);
        Layout { width: 1, log_blocks, associativity: k, pages_a_log_block: k, besides }
    }

    fn check(params: &KastParams, site: &Site<'_>) -> Result<(), Refusal> {
        let (pages, stream_threshold) = (site.geometry().pages, params.stream_threshold);
        check_associativity("ftl.kast.k", params.k, pages)?;
        check_reserve(params, site.ftl.params.preemption)?;
        if stream_threshold <= pages {
            return Ok(());
        }
        let found = format!("streams of {stream_threshold} pages in blocks of {pages} (device.pages)");
        let expected = "a threshold of at most the pages of a block, because a log block takes no more";
        let refusal = Refusal::new(found, expected).at(["ftl.kast.stream_threshold", "device.pages", "device.preset"]);
        Err(refusal.help("lower ftl.kast.stream_threshold"))
    }

    fn stream_pages(params: &KastParams) -> Option<u32> {
        Some(params.stream_threshold)
    }

    fn new(params: KastParams, _site: &Site<'_>, store: &Store) -> Self {
        Self {
            many_free: (store.blocks.pages() * params.many_free_percent).div_ceil(100),
            reserved: if params.sequential_log_blocks == 0 { 0 } else { params.reserved_log_blocks },
            logs: vec![Log { sequential: Lbn::NONE, written: 0 }; store.log.slots()],
            params,
            clocks: vec![0; store.groups() as usize],
        }
    }

    fn write(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut> {
        self.clocks[chip.group as usize] += 1;
        let lbn = chip.store.lbn(write.lpn);
        let own = self.sequential_of(chip, lbn);
        if let Some(slot) = own
            && self.continue_sequence(chip, slot, write)?
        {
            return Ok(());
        }
        // Reached also if the SLB of its logical block did not take the page. No associativity grows here.
        if let Some(slot) = self.random_of(chip, lbn) {
            return if self.may_begin(chip, write) {
                self.start_beside(chip, slot, write)
            } else {
                self.append(chip, slot, write)
            };
        }
        // At most one merge a page: nothing is switched if the SLB of its own logical block was merged.
        if own.is_none() && chip.openable() <= self.left_free(chip, write) {
            self.switch_complete_sequence(chip)?;
        }
        self.write_elsewhere(chip, write)
    }

    fn victim(&mut self, store: &Store, group: u32, opened: LogSlot) -> (LogSlot, MergeKind) {
        let victim = self.to_merge(store, group, opened);
        let (slot, kind) = victim.expect("another log block is in use when none is free");
        self.logs[slot.at()].sequential = Lbn::NONE;
        (slot, kind)
    }

    fn check_loaded(&self, store: &Store) -> Result<(), Violation> {
        for (group, &clock) in (0..).zip(&self.clocks) {
            let is_sound = |&slot: &LogSlot| {
                let Log { sequential, written } = self.logs[slot.at()];
                let is_one = sequential.is_none()
                    || (sequential.0 < store.logical_blocks() && store.log.is_only_of(slot, sequential));
                is_one && written <= clock
            };
            let wrong = store.log.of_group(group).find(|slot| !is_sound(slot));
            if wrong.is_some() || clock >= LATEST {
                return Err(mistaken(wrong.unwrap_or(LogSlot::NONE)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
