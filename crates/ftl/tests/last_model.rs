//! LAST against a naive model: plain lists, searched anew for each decision.
//!
//! Strategy: a case is a small chip under random parameters of LAST, and random operations on it ([`compare`]). After
//! each, FTL and model must have made the same number of merges of each kind, copies and erases, with the same
//! associativities.
//!
//! `FLASHLOOM_CASES` sets the number of cases, `FLASHLOOM_SEED` the seed of the first.

use std::ops::Range;

use crate::support::log_blocks::{CopyPlace, Counts, LogBlocks, Merge};
use crate::support::{self, Ftl, chip, compare, counts, over_seeds, pick, preempted, seeds};
use flashloom_ftl::{FtlSetup, Preemption};
use flashloom_units::Prng;

/// Number of cases; a case takes some milliseconds.
const CASES: u64 = 2_000;

#[derive(Clone, Debug)]
struct Params {
    /// Pages per block.
    n: u32,
    blocks: u32,
    log_blocks: u32,
    sequential_log_blocks: u32,
    threshold: u32,
    window: u32,
}

impl Params {
    fn random(prng: &mut Prng) -> Self {
        let log_blocks = pick(prng, &[3, 4, 5, 8]);
        Self {
            n: pick(prng, &[3, 4, 8]),
            blocks: pick(prng, &[5, 12, 20]),
            log_blocks,
            sequential_log_blocks: 1 + prng.below(u64::from(log_blocks - 2)) as u32,
            threshold: pick(prng, &[1, 2, 3, 6]),
            window: pick(prng, &[0, 2, 8, 20]),
        }
    }

    fn setup(&self) -> FtlSetup {
        let set = [
            ("log_blocks", self.log_blocks),
            ("sequential_log_blocks", self.sequential_log_blocks),
            ("threshold", self.threshold),
            ("window", self.window),
        ];
        preempted("last", Preemption::None, &counts(set))
    }
}

struct Model {
    params: Params,
    chip: LogBlocks,
    /// Sequential log blocks, least recently used first.
    streams: Vec<usize>,
    /// Random log blocks in the order in which they were opened, and whether each is hot.
    random: Vec<(usize, bool)>,
    /// The pages written to the random log blocks, in order, and the log block that each went to.
    history: Vec<(u32, usize)>,
    /// Victims without a valid page, and hot ones that counted as cold.
    dead_victims: u64,
    cooled_victims: u64,
}

impl Model {
    fn new(params: &Params) -> Self {
        let chip = LogBlocks::new(params.n, params.blocks, params.log_blocks);
        let (streams, random, history) = (Vec::new(), Vec::new(), Vec::new());
        Self { params: params.clone(), chip, streams, random, history, dead_victims: 0, cooled_victims: 0 }
    }

    fn block_of(&self, stream: usize) -> u32 {
        let log = self.chip.logs[stream].as_ref().expect("it is in use");
        log.sequence_of.expect("it is a sequential one")
    }

    fn merge_stream(&mut self, stream: usize) {
        self.streams.retain(|&other| other != stream);
        self.chip.merge(stream, self.chip.merge_of(stream, self.block_of(stream)));
    }

    fn write_sequential(&mut self, lpn: u32) {
        let (block, offset) = (lpn / self.params.n, lpn % self.params.n);
        let own = self.streams.iter().copied().find(|&stream| self.block_of(stream) == block);
        let goes_on = own.filter(|&stream| self.chip.written(stream) <= offset && self.chip.k(stream) > 0);
        if goes_on.is_none()
            && let Some(stream) = own
        {
            self.merge_stream(stream);
        }
        let stream = goes_on.unwrap_or_else(|| {
            if self.streams.len() == self.params.sequential_log_blocks as usize {
                self.merge_stream(self.streams[0]);
            }
            self.chip.open(Some(block))
        });
        self.streams.retain(|&other| other != stream);
        self.streams.push(stream);
        self.chip.pad(stream, block, offset);
        self.chip.append(stream, lpn);
    }

    /// Whether the newest copy of a page is in a random log block, and not long since.
    fn is_hot(&self, lpn: u32) -> bool {
        let is_random = |place| matches!(place, Some(CopyPlace::Log(at, _)) if !self.streams.contains(&at));
        let recent = self.history.iter().rev().take(self.params.window as usize);
        is_random(self.chip.newest[lpn as usize]) && recent.into_iter().any(|&(other, _)| other == lpn)
    }

    fn write_random(&mut self, lpn: u32) {
        let is_hot = self.is_hot(lpn);
        let filling = self.random.iter().rev().find(|&&(_, hot)| hot == is_hot).map(|&(at, _)| at);
        let at = filling.filter(|&at| self.chip.free_pages(at) > 0).unwrap_or_else(|| {
            if self.random.len() as u32 == self.params.log_blocks - self.params.sequential_log_blocks {
                self.merge_random();
            }
            let at = self.chip.open(None);
            self.random.push((at, is_hot));
            at
        });
        self.history.push((lpn, at));
        self.chip.append(at, lpn);
    }

    fn merge_random(&mut self) {
        let full = self.random.iter().filter(|&&(at, _)| self.chip.free_pages(at) == 0);
        let candidates: Vec<_> = if full.clone().count() > 0 { full.collect() } else { self.random.iter().collect() };
        let dead = candidates.iter().find(|&&&(at, _)| self.chip.k(at) == 0);
        let recent = || self.history.iter().rev().take(self.params.window as usize);
        let still_hot = |&(at, is_hot): &(usize, bool)| {
            is_hot && (self.chip.free_pages(at) > 0 || recent().any(|&(_, other)| other == at))
        };
        let cheapest = |hot: bool| {
            let of_kind = candidates.iter().filter(move |log| still_hot(log) == hot);
            of_kind.min_by_key(|&&&(at, _)| self.chip.k(at))
        };
        let &&(at, is_hot) = dead.or_else(|| cheapest(false)).or_else(|| cheapest(true)).expect("one is in use");
        self.dead_victims += u64::from(dead.is_some());
        self.cooled_victims += u64::from(dead.is_none() && is_hot && !still_hot(&(at, true)));
        self.random.retain(|&(other, _)| other != at);
        self.chip.merge(at, Merge::Full);
    }
}

impl support::Model for Model {
    fn write(&mut self, lpns: Range<u32>, request_pages: u32) {
        let run = request_pages.max(lpns.len() as u32);
        for lpn in lpns {
            if self.chip.write_in_place(lpn) {
                continue;
            } else if run >= self.params.threshold {
                self.write_sequential(lpn);
            } else {
                self.write_random(lpn);
            }
        }
    }

    fn trim(&mut self, lpn: u32) {
        self.chip.newest[lpn as usize] = None;
    }
}

/// Runs a case; returns its cost, and how often a log block without valid pages was merged, and a hot one that counted
/// as cold.
fn run(seed: u64) -> (Counts, [u64; 2]) {
    let mut prng = Prng::new(seed).branch("last");
    let params = Params::random(&mut prng);
    let space = chip(params.blocks, params.log_blocks + 2, params.n);
    let (mut ftl, mut model) = (Ftl::new(&space, &params.setup(), true), Model::new(&params));
    compare((&mut ftl, &mut model), &mut prng, params.n, |ftl, model, operation| {
        assert_eq!(Counts::of(ftl), model.chip.counts, "seed {seed}, operation {operation}, {params:?}");
    });
    (model.chip.counts, [model.dead_victims, model.cooled_victims])
}

#[test]
fn last_merges_copies_and_erases_as_a_naive_model_does() {
    let mut seen = [0; 5];
    for (Counts { switch, partial, full, .. }, [dead, cooled]) in over_seeds(seeds(CASES), run) {
        [switch, partial, full, dead, 8 * cooled].iter().zip(&mut seen).for_each(|(count, seen)| *seen += count);
    }
    let cases = seeds(CASES).count() as u64;
    // One case in five has a hot log block that cools; of the rest there is one a case at least.
    assert!(seen.iter().all(|&count| count > cases), "switch, partial, full merges, dead and cooled victims: {seen:?}");
}
