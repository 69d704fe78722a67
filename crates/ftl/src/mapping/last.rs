//! LAST: locality-aware sector translation (Lee, Shin, Kim and Kim, ACM SIGOPS Operating Systems Review 42(6), 2008).
//!
//! ```text
//! request of `threshold` pages or more  to a sequential log block, one for each data block. None free: the one used
//!                                       least recently is merged (switch or partial)
//! any other                             to the random log blocks, a hot page to hot ones: a page whose newest copy is
//!                                       among the last `window` pages written there. The rest goes to cold ones
//! random victim                         of the full ones: one without valid pages (an erase alone), else the cold one
//!                                       of least merge cost, else the hot one. A hot log block whose newest page is
//!                                       no longer among the last `window` is a cold one
//! ```
//!
//! What is written again soon lies together in hot log blocks, which die as a whole. One that holds on to a page that
//! is written no more would not: it is cold once all that it got is. The paper could not be read here beyond what other
//! papers say of it; these are choices of ours:
//!
//! - A request is a run of consecutive pages of the host that are written together, on whatever blocks and chips, or
//!   the host's own request that a page came with, whichever is longer.
//! - A sequential log block is kept in place: pages before the first one, and a gap, are padded with copies. A page
//!   behind its write pointer merges it, and opens another one; so does one that finds all its pages written elsewhere.
//!   Its merge is a full one where pages of it were written to its data block meanwhile, or it has none left.
//! - The cost of a merge is that of its data blocks, k(L). Of equal ones the one opened first is merged.
//! - `window` is fixed, and hot and cold log blocks share one number; in the paper both follow the load.
//!
//! k(L) can reach N, as in FAST. Two log blocks take random pages at a time, so with preemption every page may need
//! one, and pays for a whole merge, as in BAST. A page costs O(log blocks of a chip); 8 bytes a page of the random log
//! blocks, and none of the sequential ones, whose pages are in place.

use std::collections::VecDeque;

use flashloom_nand::{Lbn, Lpn};
use flashloom_units::{Capability, Kind, PolicySpec, Refusal, Value, Violation, params};
use serde::{Deserialize, Serialize};

use super::Site;
use super::log_block::{Chip, LATEST, Layout, LogSlot, MERGES, MergeKind, Scheme, Store, mistaken};
use crate::capability::SINGLE_CHIP;
use crate::store::WornOut;
use crate::{BLOCK_EXCHANGE, DIE_SUPERBLOCKS, PageWrite, Preemption};

params! {
    /// Parameters of LAST.
    pub struct LastParams {
        /// Log blocks of each chip, including the sequential ones.
        log_blocks: u32 => "log_blocks", Kind::Count { min: 3, max: 1 << 16 }, Value::Count(16),
            "More log blocks put merges off and leave less for data.";
        /// Sequential log blocks of each chip.
        sequential_log_blocks: u32 => "sequential_log_blocks", Kind::Count { min: 1, max: 1 << 16 }, Value::Count(4),
            "As many streams can be written at a time without a merge before their blocks are complete.";
        /// Pages of a request that goes to sequential log blocks: consecutive ones that are written together, or that
        /// came with one request of the host.
        threshold: u32 => "threshold", Kind::Count { min: 1, max: (1 << 16) - 1 }, Value::Count(4),
            "A higher threshold keeps more requests in the random log blocks: on recordings, whose larger requests are \
             often no sequences, an eighth of a block copies less.";
        /// Pages written to the random log blocks of a chip after which a page is no longer hot. Default: half of the
        /// pages that these log blocks have.
        window: Option<u32> => "window", Kind::Count { min: 0, max: 1 << 30 }, Value::Absent,
            "A longer one calls more pages hot; with 0 none is.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "last",
    summary: "sequential log blocks for large requests, and hot and cold random ones",
    details: "One FTL a chip. Merges a log block without valid pages first, else the cold one with the fewest data \
              blocks.",
    source: "Lee et al., ACM SIGOPS Operating Systems Review 42(6), 2008",
    example: "ftl.mapping=last ftl.last.log_blocks=32 ftl.last.sequential_log_blocks=8 buffer.order=block-lru",
    instead: "A stream of small requests is taken for random writes: `kast` finds it. One merge can involve as many \
              data blocks as a log block has pages: `kast` bounds it by K. With memory for a page map use `page`.",
    needs: &[],
    offers: &[BLOCK_EXCHANGE, DIE_SUPERBLOCKS, SINGLE_CHIP, Capability::SAVED_STATE],
    params: LastParams::PARAMS,
    statistics: MERGES,
};

/// The least number of random log blocks: one that takes hot pages, and one for cold ones.
const LEAST_RANDOM: u32 = 2;

pub(super) struct Last {
    sequential: usize,
    threshold: u32,
    window: u64,
    chips: Vec<Logs>,
    /// When each page of the log was written, in pages written to the random log blocks of its chip.
    written: Vec<u64>,
}

flashloom_units::state! { Last { array chips; nested written; fixed sequential, threshold, window; } }

/// The log blocks of one chip.
#[derive(Serialize, Deserialize)]
struct Logs {
    /// Sequential log blocks and their logical blocks, least recently used first.
    streams: VecDeque<(LogSlot, Lbn)>,
    /// Random log blocks, the one opened first in front, and whether each is hot. Of each kind the last takes pages.
    random: VecDeque<(LogSlot, bool)>,
    /// Pages written to the random log blocks so far.
    clock: u64,
}

impl Logs {
    fn filling(&self, hot: bool) -> Option<LogSlot> {
        self.random.iter().rev().find(|&&(_, is_hot)| is_hot == hot).map(|&(slot, _)| slot)
    }
}

impl Last {
    fn logs(&mut self, chip: &Chip) -> &mut Logs {
        &mut self.chips[chip.group as usize]
    }

    fn write_sequential(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut> {
        let (lbn, offset) = (chip.store.lbn(write.lpn), chip.store.offset(write.lpn));
        let own = self.logs(chip).streams.iter().position(|&(_, of)| of == lbn);
        let mut stream = own.and_then(|at| self.logs(chip).streams.remove(at));
        let ends = |slot| chip.store.log_written(slot) > offset || chip.store.log.associativity(slot) == 0;
        if let Some((slot, _)) = stream.filter(|&(slot, _)| ends(slot)) {
            chip.merge(slot, chip.store.sequential_merge(slot, lbn))?;
            stream = None;
        }
        if stream.is_none() && self.logs(chip).streams.len() == self.sequential {
            let (oldest, of) = self.logs(chip).streams.pop_front().expect("there is one at least");
            chip.merge(oldest, chip.store.sequential_merge(oldest, of))?;
        }
        // One is free: random pages leave it.
        let (slot, _) = stream.unwrap_or_else(|| (chip.take_log_block(), lbn));
        self.logs(chip).streams.push_back((slot, lbn));
        chip.pad(slot, lbn, offset)?;
        chip.append_to_log(slot, write)
    }

    fn write_random(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut> {
        let is_hot = self.is_hot(chip, write.lpn);
        let filling = self.logs(chip).filling(is_hot);
        let slot = match filling.filter(|&slot| !chip.store.log_is_full(slot)) {
            Some(slot) => slot,
            None => {
                let kept = (self.sequential - self.logs(chip).streams.len()) as u32;
                let slot = chip.open_log_block(self, kept)?;
                self.logs(chip).random.push_back((slot, is_hot));
                slot
            }
        };
        let at = self.page_of_log(chip.store, slot, chip.store.log_written(slot));
        let logs = self.logs(chip);
        logs.clock += 1;
        self.written[at] = self.chips[chip.group as usize].clock;
        chip.append_to_log(slot, write)
    }

    /// Whether the newest copy of a page is among the last pages written to the random log blocks.
    fn is_hot(&self, chip: &Chip, lpn: Lpn) -> bool {
        let (logs, slot) = (&self.chips[chip.group as usize], chip.store.log_block_of(lpn));
        let is_random = slot.is_some() && logs.streams.iter().all(|&(stream, _)| stream != slot);
        is_random && {
            let at = self.page_of_log(chip.store, slot, chip.store.index_of(chip.store.newest(lpn)));
            logs.clock - self.written[at] < self.window
        }
    }

    fn page_of_log(&self, store: &Store, slot: LogSlot, index: u32) -> usize {
        slot.at() * store.blocks.pages() as usize + index as usize
    }
}

impl Scheme for Last {
    type Params = LastParams;

    // When it was written: a clock that a controller lets wrap, where this one is 8 bytes long.
    const BYTES_A_LOG_PAGE: u64 = 4;

    const LOOKS_AT_RUNS: bool = true;

    fn in_place_log_blocks(&self) -> u32 {
        self.sequential as u32
    }

    fn layout(params: &LastParams, site: &Site<'_>) -> Layout {
        let pages = site.geometry().pages;
        // A page may merge its sequential log block, and be padded up to in the next.
        let besides = (2 * pages, 2);
        Layout { width: 1, log_blocks: params.log_blocks, associativity: pages, pages_a_log_block: 1, besides }
    }

    fn check(params: &LastParams, site: &Site<'_>) -> Result<(), Refusal> {
        let LastParams { log_blocks, sequential_log_blocks, .. } = *params;
        let kept = u32::from(site.ftl.params.preemption == Preemption::Page);
        if sequential_log_blocks + LEAST_RANDOM + kept <= log_blocks {
            return Ok(());
        }
        let [sequential, all] = ["sequential_log_blocks", "log_blocks"].map(|key| format!("ftl.last.{key}"));
        let found = format!("`{sequential}` = {sequential_log_blocks} with `{all}` = {log_blocks}");
        let least = LEAST_RANDOM + kept;
        let why = if kept > 0 { ", one of them kept by `ftl.preemption` = \"page\"" } else { "" };
        let expected = match log_blocks.checked_sub(least).filter(|&most| most > 0) {
            Some(most) => format!("at most {most}: random pages need {least} log blocks{why}"),
            None => format!("{} log blocks at least: random pages need {least}{why}", least + 1),
        };
        let (keys, help) = match log_blocks > least {
            true => ([&*sequential, &*all], format!("lower {sequential}, or raise {all}")),
            false => ([&*all, &*sequential], format!("raise {all}")),
        };
        let refusal = Refusal::new(found, expected).at([keys[0], keys[1], "ftl.preemption", "ftl.mapping"]);
        Err(refusal.help(help))
    }

    fn new(params: LastParams, _site: &Site<'_>, store: &Store) -> Self {
        let LastParams { log_blocks, sequential_log_blocks, threshold, window } = params;
        let random_pages = u64::from(log_blocks - sequential_log_blocks) * u64::from(store.blocks.pages());
        let logs = || Logs { streams: VecDeque::new(), random: VecDeque::new(), clock: 0 };
        Self {
            sequential: sequential_log_blocks as usize,
            threshold,
            window: window.map_or(random_pages / 2, u64::from),
            chips: (0..store.groups()).map(|_| logs()).collect(),
            written: vec![0; store.log.slots() * store.blocks.pages() as usize],
        }
    }

    fn write(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut> {
        if chip.store.run >= self.threshold {
            self.write_sequential(chip, write)
        } else {
            self.write_random(chip, write)
        }
    }

    fn victim(&mut self, store: &Store, group: u32, opened: LogSlot) -> (LogSlot, MergeKind) {
        let logs = &self.chips[group as usize];
        // Its newest page is the last one: only full ones are compared by it.
        let age = |slot| logs.clock - self.written[self.page_of_log(store, slot, store.blocks.pages() - 1)];
        let cost = |&(slot, is_hot): &(LogSlot, bool)| {
            let (k, is_full) = (store.log.associativity(slot), store.log_is_full(slot));
            (!is_full, k > 0 && is_hot && is_full && age(slot) < self.window, k)
        };
        let candidates = (0..logs.random.len()).filter(|&at| logs.random[at].0 != opened);
        let at = candidates.min_by_key(|&at| cost(&logs.random[at])).expect("there is another random log block");
        let (slot, _) = self.chips[group as usize].random.remove(at).expect("it was found");
        (slot, MergeKind::Full)
    }

    fn check_loaded(&self, store: &Store) -> Result<(), Violation> {
        for (group, Logs { streams, random, clock }) in (0..).zip(&self.chips) {
            let known = random.iter().map(|&(slot, _)| slot).chain(streams.iter().map(|&(slot, _)| slot));
            store.check_known(group, known)?;
            let is_of =
                |&(slot, lbn): &(LogSlot, Lbn)| lbn.0 < store.logical_blocks() && store.log.is_only_of(slot, lbn);
            if let Some(&(slot, _)) = streams.iter().find(|stream| !is_of(stream)) {
                return Err(mistaken(slot));
            }
            let pages = store.blocks.pages() as usize;
            let mut times = store.log.of_group(group).map(|slot| (slot, &self.written[slot.at() * pages..][..pages]));
            if let Some((slot, _)) = times.find(|(_, times)| times.iter().any(|time| time > clock)) {
                return Err(mistaken(slot));
            }
            let is_twice = |&(at, of): &(usize, Lbn)| streams.iter().skip(at + 1).any(|&(_, lbn)| lbn == of);
            let lbns = streams.iter().map(|&(_, lbn)| lbn).enumerate();
            let is_double = lbns.clone().any(|stream| is_twice(&stream));
            // A sequential log block can always be opened: random ones leave it.
            let left = store.log.of_group(group).count() - random.len() - store.merging(group).iter().count();
            if streams.len() > self.sequential || left < self.sequential || is_double || *clock >= LATEST {
                return Err(mistaken(LogSlot::NONE));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::log_block::lab::{Cost, Lab, setup, space};

    /// Six full data blocks of four pages, and two sequential log blocks.
    fn lab_of(log_blocks: u64, window: u64) -> Lab<Last> {
        let values = [("log_blocks", log_blocks), ("sequential_log_blocks", 2), ("threshold", 2), ("window", window)];
        let setup = setup("last", &values.map(|(name, count)| (name, Value::Count(count))));
        Lab::filled(&space(1, 6, log_blocks as u32), &setup)
    }

    fn lab(window: u64) -> Lab<Last> {
        lab_of(5, window)
    }

    #[test]
    fn requests_of_several_streams_fill_a_sequential_log_block_each_that_is_switched() {
        let mut lab = lab(6);
        for lpns in [[0, 1], [4, 5], [2, 3], [6, 7]] {
            assert_eq!(lab.write_together(&lpns), Cost::default());
        }
        assert_eq!([0, 3, 4, 7].map(|lpn| lab.log_block_of(lpn)), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(lab.write_together(&[8, 9]), Cost { switch: 1, erases: 1, ..Cost::default() });
    }

    #[test]
    fn the_stream_used_least_recently_is_merged_partially() {
        let mut lab = lab(6);
        lab.write_together(&[0, 1]);
        lab.write_together(&[4, 5]);
        lab.write_together(&[2, 3]);
        assert_eq!(lab.write_together(&[8, 9]), Cost { partial: 1, copies: 2, erases: 1, ..Cost::default() });
        assert_eq!(lab.log_block_of(4), None, "the second stream's");
    }

    #[test]
    fn a_request_in_the_middle_of_a_block_is_padded_up_to_and_a_gap_too() {
        let mut lab = lab(6);
        assert_eq!(lab.write_together(&[2, 3]), Cost { copies: 2, ..Cost::default() });
        assert_eq!(lab.write_together(&[4, 5]), Cost::default());
        // Behind the write pointer: the log block is complete, and page 1 is padded up to in another one.
        assert_eq!(lab.write_together(&[1, 2]), Cost { switch: 1, copies: 1, erases: 1, ..Cost::default() });
    }

    #[test]
    fn a_run_counts_whole_over_the_border_of_blocks() {
        let mut lab = lab(6);
        lab.write_together(&[3, 4]);
        assert_eq!([3, 4].map(|lpn| lab.log_block_of(lpn)), [Some(0), Some(1)], "sequential ones, of two blocks");
        assert_eq!(lab.scheme().chips[0].random.len(), 0);
    }

    /// Four random log blocks of four pages. FAST merges the oldest, whose pages are still valid.
    #[test]
    fn hot_pages_lie_together_and_die_together_so_that_their_log_block_is_erased_alone() {
        let mut lab = lab_of(6, 8);
        assert_eq!(lab.write([9, 13, 17, 18]), Cost::default(), "cold");
        assert_eq!(lab.write([1, 5]), Cost::default(), "cold, as they were not in the log");
        assert_eq!(lab.write([1, 5, 1, 5, 1, 5, 1, 5]), Cost::default(), "two hot log blocks");
        assert_eq!([9, 1, 5].map(|lpn| lab.log_block_of(lpn)), [Some(0), Some(3), Some(3)]);
        for _ in 0..4 {
            assert_eq!(lab.write([1, 5, 1, 5]), Cost { full: 1, erases: 1, ..Cost::default() });
        }
        assert_eq!(lab.log_block_of(9), Some(0));
    }

    /// Four random log blocks, one of them hot, with the only copy of page 1: it is not written again.
    #[test]
    fn a_hot_log_block_whose_newest_page_is_older_than_the_window_is_a_cold_one() {
        let mut lab = lab_of(6, 4);
        lab.write([9, 13, 17, 1]);
        lab.write([1, 1, 1, 1]);
        assert_eq!(lab.log_block_of(1), Some(1), "hot");
        // Two cold log blocks of four data blocks each, then the victim is the hot one of a single data block.
        assert_eq!(lab.write([2, 6, 10, 14, 18, 22, 3, 7]), Cost::default());
        assert_eq!(lab.write([11]), Cost { full: 1, copies: 4, erases: 2, ..Cost::default() });
        assert_eq!(lab.log_block_of(1), None);
    }

    #[test]
    fn without_a_window_no_page_is_hot_and_the_victim_is_that_of_fewest_data_blocks() {
        let mut lab = lab(0);
        lab.write([1, 5, 9, 13]);
        lab.write([17, 18, 19, 21]);
        lab.write([1, 1, 1, 5]);
        assert!(lab.scheme().chips[0].random.iter().all(|&(_, is_hot)| !is_hot));
        // k(L) is 2 (of 9 and 13), 2 and 2: the first. Then 2 and 2 again.
        assert_eq!(lab.associativity()[..3], [2, 2, 2]);
        assert_eq!(lab.write([3]), Cost { full: 1, copies: 8, erases: 3, ..Cost::default() });
    }

    #[test]
    fn more_sequential_log_blocks_than_random_pages_leave_are_refused() {
        let values = [("log_blocks", 5), ("sequential_log_blocks", 4)];
        let setup = setup("last", &values.map(|(name, count)| (name, Value::Count(count))));
        let refusal = setup.profile(&space(1, 6, 5)).expect_err("one is left for random pages");
        assert!(refusal.to_string().contains("at most 3"), "{refusal}");
    }
}
