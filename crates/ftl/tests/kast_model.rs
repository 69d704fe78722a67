//! KAST against a naive model: plain lists, searched anew for each decision.
//!
//! Strategy: a case is a small chip under random parameters of KAST, and random operations on it ([`compare`]). After
//! each, FTL and model must have made the same number of merges of each kind, copies and erases, with the same
//! associativities.
//!
//! `FLASHLOOM_CASES` sets the number of cases, `FLASHLOOM_SEED` the seed of the first; `make fuzz-ftl` runs 5,000.

use std::ops::Range;

use crate::support::log_blocks::{CopyPlace, Counts, LogBlocks, Merge};
use crate::support::{self, Ftl, chip, compare, counts, over_seeds, pick, preempted, seeds};
use flashloom_ftl::{FtlSetup, Preemption};
use flashloom_units::{Prng, Value};

/// Default number of cases.
const CASES: u64 = 200;

#[derive(Clone, Debug)]
struct Params {
    /// Pages per block.
    n: u32,
    blocks: u32,
    log_blocks: u32,
    k: u32,
    sequential_log_blocks: u32,
    reserved_log_blocks: u32,
    small_gap: u32,
    many_free_percent: u32,
    long_time: Option<u32>,
    sequential_start: &'static str,
    start_merge: &'static str,
    large_gap: &'static str,
    random_victim: &'static str,
}

impl Params {
    fn random(prng: &mut Prng) -> Self {
        let n = pick(prng, &[3, 4, 8, 13]);
        let log_blocks = pick(prng, &[2, 3, 4, 5, 8]);
        let below = |prng: &mut Prng, end: u32| prng.below(end.into()) as u32;
        Self {
            n,
            blocks: pick(prng, &[5, 12, 24]),
            log_blocks,
            k: 1 + below(prng, n),
            sequential_log_blocks: below(prng, log_blocks + 2),
            reserved_log_blocks: below(prng, log_blocks),
            small_gap: below(prng, n + 1),
            many_free_percent: pick(prng, &[0, 25, 50, 100]),
            long_time: pick(prng, &[None, Some(0), Some(3), Some(20), Some(1_000)]),
            sequential_start: pick(prng, &["append", "allocate", "copy"]),
            start_merge: pick(prng, &["any", "filled"]),
            large_gap: pick(prng, &["merge", "transform", "auto"]),
            random_victim: pick(prng, &["cost", "cost-per-page"]),
        }
    }

    fn setup(&self) -> FtlSetup {
        let mut set = counts([
            ("log_blocks", self.log_blocks),
            ("k", self.k),
            ("sequential_log_blocks", self.sequential_log_blocks),
            ("reserved_log_blocks", self.reserved_log_blocks),
            ("small_gap", self.small_gap),
            ("many_free_percent", self.many_free_percent),
        ]);
        let names = [
            ("sequential_start", self.sequential_start),
            ("start_merge", self.start_merge),
            ("large_gap", self.large_gap),
            ("random_victim", self.random_victim),
        ];
        set.extend(names.map(|(name, choice)| (name, Value::Name(choice))));
        set.push(("long_time", self.long_time.map_or(Value::Absent, |pages| Value::Count(pages.into()))));
        preempted("kast", Preemption::None, &set)
    }
}

struct Model {
    params: Params,
    chip: LogBlocks,
}

impl Model {
    fn new(params: &Params) -> Self {
        Self { params: params.clone(), chip: LogBlocks::new(params.n, params.blocks, params.log_blocks) }
    }

    /// The logical block of a sequential log block with a valid page.
    fn sequence_of(&self, at: usize) -> Option<u32> {
        self.chip.logs[at].as_ref().and_then(|log| log.sequence_of).filter(|_| self.chip.k(at) > 0)
    }

    fn sequences(&self) -> Vec<usize> {
        self.chip.in_use().into_iter().filter(|&at| self.sequence_of(at).is_some()).collect()
    }

    fn has_many_free_pages(&self, at: usize) -> bool {
        let many = (self.params.n * self.params.many_free_percent).div_ceil(100);
        self.chip.free_pages(at) >= many.max(1)
    }

    fn waits_long(&self, at: usize) -> bool {
        let written = self.chip.logs[at].as_ref().map_or(0, |log| log.written);
        self.chip.clock - written > self.params.long_time.unwrap_or(self.params.n).into()
    }

    // The three steps of KAST.

    fn victim(&self) -> (usize, Merge) {
        let (mut sequential, mut random) = (Vec::new(), Vec::new());
        for at in self.chip.in_use() {
            let kind = self.sequence_of(at).map_or(Merge::Full, |block| self.chip.merge_of(at, block));
            if kind == Merge::Full {
                let k = u64::from(self.chip.k(at));
                let by_page = (k << 32) / u64::from(self.chip.written(at).max(1));
                let cost = if self.params.random_victim == "cost" { k } else { by_page };
                random.push((cost, self.chip.free_pages(at), at));
            } else {
                sequential.push((self.chip.free_pages(at), at, kind));
            }
        }
        let fullest = sequential.into_iter().min_by_key(|&(free, at, _)| (free, at));
        let is_worth_it = |&(_, at, _): &(u32, usize, Merge)| !self.has_many_free_pages(at);
        match (fullest, random.into_iter().min()) {
            (Some((_, at, kind)), random) if fullest.as_ref().is_some_and(is_worth_it) || random.is_none() => {
                (at, kind)
            }
            (_, random) => (random.expect("a log block is in use").2, Merge::Full),
        }
    }

    fn open(&mut self, sequence_of: Option<u32>) -> usize {
        if self.chip.free_log_blocks() == 0 {
            let (at, kind) = self.victim();
            self.chip.merge(at, kind);
        }
        self.chip.open(sequence_of)
    }

    fn switch_complete(&mut self) -> bool {
        let is_complete = |at: &usize| {
            let kind = self.sequence_of(*at).map(|block| self.chip.merge_of(*at, block));
            self.chip.free_pages(*at) == 0 && kind == Some(Merge::Switch)
        };
        let complete = self.sequences().into_iter().find(is_complete);
        if let Some(at) = complete {
            self.chip.merge(at, Merge::Switch);
        }
        complete.is_some()
    }

    /// True if one more sequential log block may begin.
    fn admits_sequence(&mut self) -> bool {
        let sequences = self.sequences();
        if self.params.sequential_log_blocks == 0 {
            return false;
        }
        if sequences.len() < self.params.sequential_log_blocks as usize || self.switch_complete() {
            return true;
        }
        let written = |at: &usize| self.chip.logs[*at].as_ref().map(|log| log.written);
        let oldest = sequences.into_iter().min_by_key(written).expect("the limit is above zero");
        if !self.waits_long(oldest) {
            return false;
        }
        if self.has_many_free_pages(oldest) {
            self.chip.log(oldest).sequence_of = None;
        } else {
            let block = self.sequence_of(oldest).expect("it is sequential");
            self.chip.merge(oldest, self.chip.merge_of(oldest, block));
        }
        true
    }

    fn continue_sequence(&mut self, at: usize, block: u32, lpn: u32) -> bool {
        let (offset, written) = (lpn % self.params.n, self.chip.written(at));
        if (written..=written + self.params.small_gap).contains(&offset) {
            self.chip.pad(at, block, offset);
            self.chip.append(at, lpn);
            return true;
        }
        let transforms = match self.params.large_gap {
            "merge" => false,
            "transform" => true,
            _ => self.has_many_free_pages(at),
        };
        if transforms && self.chip.free_pages(at) > 0 {
            self.chip.log(at).sequence_of = None;
            self.chip.append(at, lpn);
            return true;
        }
        let kind = self.chip.merge_of(at, block);
        if kind == Merge::Full || offset <= written {
            self.chip.merge(at, kind);
            return false;
        }
        self.chip.note_merge(at);
        self.chip.counts.partial += 1;
        let end = self.chip.end(block, |place| place == Some(CopyPlace::Data)).max(offset + 1);
        self.chip.pad(at, block, offset);
        self.chip.append(at, lpn);
        self.chip.pad(at, block, end);
        self.chip.becomes_data_block(at, block);
        true
    }

    /// Writes the page at offset 0 of a logical block that a random log block has pages of.
    fn start_beside(&mut self, random: usize, block: u32, lpn: u32) {
        if self.params.sequential_start == "append" || !self.admits_sequence() {
            return self.chip.append(random, lpn);
        }
        let at = self.open(Some(block));
        self.chip.append(at, lpn);
        if self.params.sequential_start == "copy" {
            let is_there = |place| matches!(place, Some(CopyPlace::Log(log, _)) if log == random);
            self.chip.pad(at, block, self.chip.end(block, is_there));
        }
    }

    /// Step 2: the log block for a page.
    fn least_associated(&self) -> Option<usize> {
        let k_of = |at: usize| match self.sequence_of(at) {
            None => Some(self.chip.k(at)),
            Some(_) => (self.waits_long(at) && self.has_many_free_pages(at)).then_some(1),
        };
        let candidates = self.chip.in_use().into_iter().filter_map(|at| Some((k_of(at)?, self.chip.written(at), at)));
        let takes = |&(k, written, _): &(u32, u32, usize)| k < self.params.k && written < self.params.n;
        candidates.filter(takes).min().map(|(.., at)| at)
    }

    fn write_to_log(&mut self, block: u32, lpn: u32) {
        let begins = lpn.is_multiple_of(self.params.n);
        let own = self.sequences().into_iter().filter(|&at| self.sequence_of(at) == Some(block));
        let own = own.max_by_key(|&at| self.chip.logs[at].as_ref().map(|log| log.written));
        if own.is_some_and(|at| self.continue_sequence(at, block, lpn)) {
            return;
        }
        let is_home = |&at: &usize| {
            self.sequence_of(at).is_none()
                && self.chip.data_blocks_of(at).contains(&block)
                && self.chip.free_pages(at) > 0
        };
        let home = self.chip.in_use().into_iter().rev().filter(is_home).max_by_key(|&at| self.chip.free_pages(at));
        match home {
            Some(at) if begins => self.start_beside(at, block, lpn),
            Some(at) => self.chip.append(at, lpn),
            None => {
                let left = if begins { 0 } else { self.reserved() };
                if own.is_none() && self.chip.free_log_blocks() <= left {
                    self.switch_complete();
                }
                self.write_elsewhere(block, lpn, begins);
            }
        }
    }

    /// Number of log blocks reserved for sequences.
    fn reserved(&self) -> u32 {
        if self.params.sequential_log_blocks == 0 { 0 } else { self.params.reserved_log_blocks }
    }

    fn write_elsewhere(&mut self, block: u32, lpn: u32, begins: bool) {
        let spares = begins
            && self.params.start_merge == "filled"
            && self.chip.free_log_blocks() == 0
            && self.has_many_free_pages(self.victim().0);
        if begins && !spares && self.admits_sequence() {
            let at = self.open(Some(block));
            return self.chip.append(at, lpn);
        }
        let taker = if self.chip.free_log_blocks() <= self.reserved() { self.least_associated() } else { None };
        let sequence_of = (taker.is_none() && spares && self.admits_sequence()).then_some(block);
        let at = taker.unwrap_or_else(|| self.open(sequence_of));
        self.chip.log(at).sequence_of = sequence_of;
        self.chip.append(at, lpn);
    }
}

impl support::Model for Model {
    fn write(&mut self, lpns: Range<u32>, _request_pages: u32) {
        for lpn in lpns {
            if !self.chip.write_in_place(lpn) {
                self.write_to_log(lpn / self.params.n, lpn);
            }
        }
    }

    fn trim(&mut self, lpn: u32) {
        self.chip.newest[lpn as usize] = None;
    }
}

fn run(seed: u64) -> Counts {
    let mut prng = Prng::new(seed).branch("kast");
    let params = Params::random(&mut prng);
    let space = chip(params.blocks, params.log_blocks + 2, params.n);
    let (mut ftl, mut model) = (Ftl::new(&space, &params.setup(), true), Model::new(&params));
    compare((&mut ftl, &mut model), &mut prng, params.n, |ftl, model, operation| {
        assert_eq!(Counts::of(ftl), model.chip.counts, "seed {seed}, operation {operation}, {params:?}");
    });
    model.chip.counts
}

#[test]
fn kast_merges_copies_and_erases_as_a_naive_model_does() {
    let mut seen = [0; 3];
    for Counts { switch, partial, full, .. } in over_seeds(seeds(CASES), run) {
        [switch, partial, full].iter().zip(&mut seen).for_each(|(count, seen)| *seen += count);
    }
    assert!(seen.iter().all(|&count| count > 0), "switch, partial and full merges: {seen:?}");
}
