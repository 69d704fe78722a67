//! KAST against a naive model: plain lists, searched anew for each decision.
//!
//! Strategy: a case is a small chip under random parameters of KAST, filled or not, and some hundred operations: single
//! pages, runs of pages from the beginning of a logical block or from anywhere, all over the chip or on a few logical
//! blocks, and trims. After each operation FTL and model must have made the same number of merges of each kind, copies
//! and erases, with the same associativities.
//!
//! `FLASHLOOM_CASES` sets the number of cases, `FLASHLOOM_SEED` the seed of the first; `make fuzz-ftl` runs 5,000.

use crate::support::{Ftl, chip, number, pick, with_mapping};
use flashloom_ftl::{FtlSetup, Preemption};
use flashloom_units::{Prng, Value};

/// Default number of cases.
const CASES: u64 = 100;
/// Operations per case.
const OPERATIONS: u32 = 250;

/// Counters of merges, copies and erases.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counts {
    switch: u64,
    partial: u64,
    full: u64,
    copies: u64,
    erases: u64,
    /// Merges by k(L).
    associativity: Vec<u64>,
}

/// The place of the newest copy of a page: in the data block of its logical block, or at a page of a log block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CopyPlace {
    Data,
    Log(usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Merge {
    Switch,
    Partial,
    Full,
}

#[derive(Clone, Debug, Default)]
struct Log {
    /// The logical page written to each page; `None` for a filler.
    pages: Vec<Option<u32>>,
    /// The logical block of a sequential log block.
    sequence_of: Option<u32>,
    written: u64,
}

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
        let counts = [
            ("log_blocks", self.log_blocks),
            ("k", self.k),
            ("sequential_log_blocks", self.sequential_log_blocks),
            ("reserved_log_blocks", self.reserved_log_blocks),
            ("small_gap", self.small_gap),
            ("many_free_percent", self.many_free_percent),
        ];
        let mut set = counts.map(|(name, count)| (name, Value::Count(count.into()))).to_vec();
        set.push(("long_time", self.long_time.map_or(Value::Absent, |pages| Value::Count(pages.into()))));
        set.push(("sequential_start", Value::Name(self.sequential_start)));
        set.push(("start_merge", Value::Name(self.start_merge)));
        set.push(("large_gap", Value::Name(self.large_gap)));
        set.push(("random_victim", Value::Name(self.random_victim)));
        let mut setup = with_mapping("kast", &set);
        setup.params.preemption = Preemption::None;
        setup
    }
}

struct Model {
    params: Params,
    logs: Vec<Option<Log>>,
    /// By logical page.
    newest: Vec<Option<CopyPlace>>,
    /// Pages programmed of each data block.
    data: Vec<Option<u32>>,
    clock: u64,
    counts: Counts,
}

impl Model {
    fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            logs: vec![None; params.log_blocks as usize],
            newest: vec![None; (params.blocks * params.n) as usize],
            data: vec![None; params.blocks as usize],
            clock: 0,
            counts: Counts::default(),
        }
    }

    // Queries on log blocks.

    fn log(&mut self, at: usize) -> &mut Log {
        self.logs[at].as_mut().expect("it is in use")
    }

    fn in_use(&self) -> Vec<usize> {
        (0..self.logs.len()).filter(|&at| self.logs[at].is_some()).collect()
    }

    fn free_log_blocks(&self) -> u32 {
        self.logs.iter().filter(|log| log.is_none()).count() as u32
    }

    fn written(&self, at: usize) -> u32 {
        self.logs[at].as_ref().map_or(0, |log| log.pages.len() as u32)
    }

    fn free_pages(&self, at: usize) -> u32 {
        self.params.n - self.written(at)
    }

    /// A(L).
    fn data_blocks_of(&self, at: usize) -> Vec<u32> {
        let of = |(lpn, place): (u32, &Option<CopyPlace>)| {
            matches!(place, Some(CopyPlace::Log(log, _)) if *log == at).then_some(lpn / self.params.n)
        };
        let mut blocks: Vec<u32> = (0..).zip(&self.newest).filter_map(of).collect();
        blocks.dedup();
        blocks
    }

    /// k(L).
    fn k(&self, at: usize) -> u32 {
        self.data_blocks_of(at).len() as u32
    }

    /// The logical block of a sequential log block with a valid page.
    fn sequence_of(&self, at: usize) -> Option<u32> {
        self.logs[at].as_ref().and_then(|log| log.sequence_of).filter(|_| self.k(at) > 0)
    }

    fn sequences(&self) -> Vec<usize> {
        self.in_use().into_iter().filter(|&at| self.sequence_of(at).is_some()).collect()
    }

    fn has_many_free_pages(&self, at: usize) -> bool {
        let many = (self.params.n * self.params.many_free_percent).div_ceil(100);
        self.free_pages(at) >= many.max(1)
    }

    fn waits_long(&self, at: usize) -> bool {
        let written = self.logs[at].as_ref().map_or(0, |log| log.written);
        self.clock - written > self.params.long_time.unwrap_or(self.params.n).into()
    }

    fn place(&self, block: u32, offset: u32) -> Option<CopyPlace> {
        self.newest[(block * self.params.n + offset) as usize]
    }

    /// Number of pages of a logical block up to the last for which the condition holds.
    fn end(&self, block: u32, holds: impl Fn(Option<CopyPlace>) -> bool) -> u32 {
        (1..=self.params.n).rev().find(|&end| holds(self.place(block, end - 1))).unwrap_or(0)
    }

    /// The kind of merge for a sequential log block.
    fn merge_of(&self, at: usize, block: u32) -> Merge {
        let written = self.written(at);
        let is_in_place = |offset: u32| match self.place(block, offset) {
            Some(CopyPlace::Data) => offset >= written,
            Some(CopyPlace::Log(log, index)) => log != at || index as u32 == offset,
            None => true,
        };
        if self.k(at) == 0 || !(0..self.params.n).all(is_in_place) {
            Merge::Full
        } else if self.end(block, |place| place == Some(CopyPlace::Data)) <= written {
            Merge::Switch
        } else {
            Merge::Partial
        }
    }

    // Merges.

    fn append(&mut self, at: usize, lpn: u32) {
        let clock = self.clock;
        let log = self.log(at);
        log.pages.push(Some(lpn));
        log.written = clock;
        self.newest[lpn as usize] = Some(CopyPlace::Log(at, self.written(at) as usize - 1));
        assert!(self.k(at) <= self.params.k && self.written(at) <= self.params.n);
    }

    /// Copies pages of a logical block to its sequential log block, up to an offset.
    fn pad(&mut self, at: usize, block: u32, upto: u32) {
        for offset in self.written(at)..upto {
            let lpn = block * self.params.n + offset;
            let is_mapped = self.newest[lpn as usize].is_some();
            self.log(at).pages.push(is_mapped.then_some(lpn));
            if is_mapped {
                self.newest[lpn as usize] = Some(CopyPlace::Log(at, offset as usize));
            }
            self.counts.copies += 1;
        }
    }

    fn replace_data_block(&mut self, block: u32, pages: u32) {
        self.counts.erases += u64::from(self.data[block as usize].is_some());
        self.data[block as usize] = Some(pages);
    }

    fn note_merge(&mut self, at: usize) {
        let k = self.k(at) as usize;
        let length = self.counts.associativity.len().max(k + 1);
        self.counts.associativity.resize(length, 0);
        self.counts.associativity[k] += 1;
    }

    /// Switch: a sequential log block becomes the data block of its logical block.
    fn becomes_data_block(&mut self, at: usize, block: u32) {
        for place in &mut self.newest {
            if matches!(place, Some(CopyPlace::Log(log, _)) if *log == at) {
                *place = Some(CopyPlace::Data);
            }
        }
        self.replace_data_block(block, self.written(at));
        self.logs[at] = None;
    }

    fn merge(&mut self, at: usize, kind: Merge) {
        self.note_merge(at);
        if kind != Merge::Full {
            let block = self.data_blocks_of(at)[0];
            if kind == Merge::Partial {
                self.counts.partial += 1;
                self.pad(at, block, self.end(block, |place| place == Some(CopyPlace::Data)));
            } else {
                self.counts.switch += 1;
            }
            return self.becomes_data_block(at, block);
        }
        self.counts.full += 1;
        for block in self.data_blocks_of(at) {
            let end = self.end(block, |place| place.is_some());
            let first = block * self.params.n;
            self.newest[first as usize..(first + end) as usize]
                .iter_mut()
                .flatten()
                .for_each(|place| *place = CopyPlace::Data);
            self.counts.copies += u64::from(end);
            self.replace_data_block(block, end);
        }
        self.counts.erases += 1;
        self.logs[at] = None;
    }

    // The three steps of KAST.

    fn victim(&self) -> (usize, Merge) {
        let (mut sequential, mut random) = (Vec::new(), Vec::new());
        for at in self.in_use() {
            let kind = self.sequence_of(at).map_or(Merge::Full, |block| self.merge_of(at, block));
            if kind == Merge::Full {
                let k = u64::from(self.k(at));
                let by_page = (k << 32) / u64::from(self.written(at).max(1));
                let cost = if self.params.random_victim == "cost" { k } else { by_page };
                random.push((cost, self.free_pages(at), at));
            } else {
                sequential.push((self.free_pages(at), at, kind));
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
        if self.free_log_blocks() == 0 {
            let (at, kind) = self.victim();
            self.merge(at, kind);
        }
        let at = self.logs.iter().position(Option::is_none).expect("one was merged");
        self.logs[at] = Some(Log { sequence_of, ..Log::default() });
        at
    }

    fn switch_complete(&mut self) -> bool {
        let is_complete = |at: &usize| {
            let kind = self.sequence_of(*at).map(|block| self.merge_of(*at, block));
            self.free_pages(*at) == 0 && kind == Some(Merge::Switch)
        };
        let complete = self.sequences().into_iter().find(is_complete);
        if let Some(at) = complete {
            self.merge(at, Merge::Switch);
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
        let written = |at: &usize| self.logs[*at].as_ref().map(|log| log.written);
        let oldest = sequences.into_iter().min_by_key(written).expect("the limit is above zero");
        if !self.waits_long(oldest) {
            return false;
        }
        if self.has_many_free_pages(oldest) {
            self.log(oldest).sequence_of = None;
        } else {
            let block = self.sequence_of(oldest).expect("it is sequential");
            self.merge(oldest, self.merge_of(oldest, block));
        }
        true
    }

    fn continue_sequence(&mut self, at: usize, block: u32, lpn: u32) -> bool {
        let (offset, written) = (lpn % self.params.n, self.written(at));
        if (written..=written + self.params.small_gap).contains(&offset) {
            self.pad(at, block, offset);
            self.append(at, lpn);
            return true;
        }
        let transforms = match self.params.large_gap {
            "merge" => false,
            "transform" => true,
            _ => self.has_many_free_pages(at),
        };
        if transforms && self.free_pages(at) > 0 {
            self.log(at).sequence_of = None;
            self.append(at, lpn);
            return true;
        }
        let kind = self.merge_of(at, block);
        if kind == Merge::Full || offset <= written {
            self.merge(at, kind);
            return false;
        }
        self.note_merge(at);
        self.counts.partial += 1;
        let end = self.end(block, |place| place == Some(CopyPlace::Data)).max(offset + 1);
        self.pad(at, block, offset);
        self.append(at, lpn);
        self.pad(at, block, end);
        self.becomes_data_block(at, block);
        true
    }

    /// Writes the page at offset 0 of a logical block that a random log block has pages of.
    fn start_beside(&mut self, random: usize, block: u32, lpn: u32) {
        if self.params.sequential_start == "append" || !self.admits_sequence() {
            return self.append(random, lpn);
        }
        let at = self.open(Some(block));
        self.append(at, lpn);
        if self.params.sequential_start == "copy" {
            let is_there = |place| matches!(place, Some(CopyPlace::Log(log, _)) if log == random);
            self.pad(at, block, self.end(block, is_there));
        }
    }

    /// Step 2: the log block for a page.
    fn least_associated(&self) -> Option<usize> {
        let k_of = |at: usize| match self.sequence_of(at) {
            None => Some(self.k(at)),
            Some(_) => (self.waits_long(at) && self.has_many_free_pages(at)).then_some(1),
        };
        let candidates = self.in_use().into_iter().filter_map(|at| Some((k_of(at)?, self.written(at), at)));
        let takes = |&(k, written, _): &(u32, u32, usize)| k < self.params.k && written < self.params.n;
        candidates.filter(takes).min().map(|(.., at)| at)
    }

    fn write_to_log(&mut self, block: u32, lpn: u32) {
        let begins = lpn.is_multiple_of(self.params.n);
        let own = self.sequences().into_iter().filter(|&at| self.sequence_of(at) == Some(block));
        let own = own.max_by_key(|&at| self.logs[at].as_ref().map(|log| log.written));
        if own.is_some_and(|at| self.continue_sequence(at, block, lpn)) {
            return;
        }
        let is_home = |&at: &usize| {
            self.sequence_of(at).is_none() && self.data_blocks_of(at).contains(&block) && self.free_pages(at) > 0
        };
        let home = self.in_use().into_iter().rev().filter(is_home).max_by_key(|&at| self.free_pages(at));
        match home {
            Some(at) if begins => self.start_beside(at, block, lpn),
            Some(at) => self.append(at, lpn),
            None => {
                let left = if begins { 0 } else { self.reserved() };
                if own.is_none() && self.free_log_blocks() <= left {
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
            && self.free_log_blocks() == 0
            && self.has_many_free_pages(self.victim().0);
        if begins && !spares && self.admits_sequence() {
            let at = self.open(Some(block));
            return self.append(at, lpn);
        }
        let taker = if self.free_log_blocks() <= self.reserved() { self.least_associated() } else { None };
        let sequence_of = (taker.is_none() && spares && self.admits_sequence()).then_some(block);
        let at = taker.unwrap_or_else(|| self.open(sequence_of));
        self.log(at).sequence_of = sequence_of;
        self.append(at, lpn);
    }

    fn write(&mut self, lpn: u32) {
        let (block, offset) = (lpn / self.params.n, lpn % self.params.n);
        let is_in_log = (0..self.params.n).any(|page| matches!(self.place(block, page), Some(CopyPlace::Log(..))));
        let data = &mut self.data[block as usize];
        if *data == Some(offset) || (data.is_none() && offset == 0 && !is_in_log) {
            *data = Some(offset + 1);
            self.newest[lpn as usize] = Some(CopyPlace::Data);
        } else {
            self.clock += 1;
            self.write_to_log(block, lpn);
        }
    }
}

/// A drive and its model.
struct Pair {
    ftl: Ftl,
    model: Model,
}

impl Pair {
    fn new(params: &Params) -> Self {
        let space = chip(params.blocks, params.log_blocks + 2, params.n);
        Self { ftl: Ftl::new(&space, &params.setup(), false), model: Model::new(params) }
    }

    fn write(&mut self, lpn: u32) {
        self.ftl.write(&[(lpn, 1)]);
        self.model.write(lpn);
    }

    fn compare(&self) {
        let (report, merges) = (self.ftl.report(), self.ftl.merges());
        let counts = Counts {
            switch: merges.switch,
            partial: merges.partial,
            full: merges.full,
            copies: report.page_copies,
            erases: report.block_erases,
            associativity: merges.associativity,
        };
        assert_eq!(counts, self.model.counts, "{:?}", self.model.params);
    }
}

/// Runs some hundred operations on a drive; returns their cost.
fn run(seed: u64) -> Counts {
    let mut prng = Prng::new(seed).branch("kast");
    let params = Params::random(&mut prng);
    let (pages, n) = (params.blocks * params.n, params.n);
    let mut pair = Pair::new(&params);
    if prng.chance(0.7) {
        (0..pages).for_each(|lpn| pair.write(lpn));
    }
    let span = pick(&mut prng, &[params.blocks, params.blocks, params.blocks.div_ceil(3)]);
    let [runs, trims] = [0.3, 0.05].map(|share| if prng.chance(0.8) { share } else { 0.0 });
    for _ in 0..OPERATIONS {
        let block = prng.below(span.into()) as u32;
        let (lpn, draw) = (block * n + prng.below(n.into()) as u32, prng.unit());
        if draw < trims {
            pair.ftl.trim(lpn);
            pair.model.newest[lpn as usize] = None;
        } else if draw < trims + runs {
            let first = if prng.chance(0.7) { block * n } else { lpn };
            (first..pages.min(first + 1 + prng.below((n + 2).into()) as u32)).for_each(|lpn| pair.write(lpn));
        } else {
            pair.write(lpn);
        }
        pair.compare();
    }
    pair.ftl.check();
    pair.model.counts
}

/// Runs that many cases, and checks that merges of all kinds occurred.
fn run_cases(first: u64, cases: u64) {
    let mut total = Counts::default();
    for seed in first..first + cases {
        println!("seed {seed}");
        let Counts { switch, partial, full, .. } = run(seed);
        total = Counts { switch: total.switch + switch, partial: total.partial + partial, ..total };
        total.full += full;
    }
    assert!([total.switch, total.partial, total.full].iter().all(|&merges| merges > 0), "{total:?}");
}

#[test]
fn kast_merges_copies_and_erases_as_a_naive_model_does() {
    run_cases(number("FLASHLOOM_SEED").unwrap_or(1), number("FLASHLOOM_CASES").unwrap_or(CASES));
}
