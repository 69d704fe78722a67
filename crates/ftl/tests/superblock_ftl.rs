//! Superblock FTL against a naive model: lists of pages, searched anew for each decision.
//!
//! Strategy: a case is a small drive of one or two chips under random parameters, and random operations on it
//! ([`compare`]). After each, FTL and model must have made the same collections of each kind, copies and erases, and
//! the same hits, misses and reads of spare areas.
//!
//! `FLASHLOOM_CASES` sets the number of cases, `FLASHLOOM_SEED` the seed of the first.

use std::ops::Range;

use crate::support::{self, Ftl, chips, compare, counters, counts, over_seeds, pick, seeds, with_mapping};
use flashloom_ftl::{FtlSetup, Space};
use flashloom_units::{Prng, Value};

/// Number of cases; a case takes some milliseconds.
const CASES: u64 = 2_000;

#[derive(Clone, Debug)]
struct Params {
    chips: u32,
    /// Pages of a block.
    n: u32,
    /// Superblocks of each chip.
    superblocks: u32,
    blocks: u32,
    spread: bool,
    update_blocks: u32,
    log_blocks: u32,
    tables: u32,
}

impl Params {
    fn random(prng: &mut Prng) -> Self {
        Self {
            chips: pick(prng, &[1, 1, 2]),
            n: pick(prng, &[2, 3, 4, 8]),
            superblocks: pick(prng, &[1, 2, 3, 6]),
            blocks: pick(prng, &[1, 2, 3, 4]),
            spread: prng.chance(0.3),
            update_blocks: pick(prng, &[1, 2, 3]),
            log_blocks: pick(prng, &[1, 2, 3, 5]),
            tables: pick(prng, &[1, 2, 5, 100]),
        }
    }

    fn setup(&self) -> FtlSetup {
        let (own, of_chip) = (self.update_blocks, self.log_blocks);
        let set = [("blocks", self.blocks), ("update_blocks", own), ("log_blocks", of_chip), ("tables", self.tables)];
        let mut set = counts(set);
        set.push(("spread", Value::Flag(self.spread)));
        with_mapping("superblock-ftl", &set)
    }

    /// The page of a superblock that a page of the host is: with `spread` logical blocks are dealt to the chips like
    /// cards, and superblocks are taken from the hands in turn.
    fn place(&self, lpn: u32) -> u32 {
        if !self.spread {
            return lpn;
        }
        let mut hands = vec![Vec::new(); self.chips as usize];
        (0..self.superblocks * self.chips * self.blocks).for_each(|lbn| hands[(lbn % self.chips) as usize].push(lbn));
        let rounds = (0..self.superblocks).flat_map(|round| hands.iter().map(move |hand| (round, hand)));
        let order = rounds.flat_map(|(round, hand)| &hand[(round * self.blocks) as usize..][..self.blocks as usize]);
        let at = order.copied().position(|lbn| lbn == lpn / self.n).expect("it was dealt") as u32;
        at * self.n + lpn % self.n
    }

    /// A drive with as many blocks as these parameters need.
    fn space(&self) -> Space {
        chips(self.chips, self.superblocks * self.blocks, self.log_blocks + 1, self.n)
    }
}

counters! {
    ftl:
    switch = ftl.count("switch_merges"),
    partial = ftl.count("partial_merges"),
    full = ftl.count("full_merges"),
    copies = ftl.report().page_copies,
    erases = ftl.report().block_erases,
    hits = ftl.count("map_hits"),
    misses = ftl.count("map_misses"),
    reads = ftl.count("map_reads"),
}

/// A page of a block, by the number of the block and the index in it.
type Place = (u64, usize);

#[derive(Clone, Debug, Default)]
struct Superblock {
    /// Numbers of its blocks in the order in which they were opened, and the pages programmed in each.
    blocks: Vec<(u64, Vec<u32>)>,
    open: Option<u64>,
    survivors: Option<u64>,
}

struct Model {
    params: Params,
    superblocks: Vec<Superblock>,
    /// Where the newest copy of each page is.
    newest: Vec<Option<Place>>,
    /// Every page that was ever programmed, and where.
    history: Vec<(u32, Place)>,
    /// Superblocks with U-blocks, in the order in which they got the first.
    updated: Vec<usize>,
    /// Page tables in memory of each chip, least recently used first.
    tables: Vec<Vec<(usize, u32)>>,
    next: u64,
    counts: Counts,
}

impl Model {
    fn new(params: &Params) -> Self {
        let superblocks = (params.superblocks * params.chips) as usize;
        Self {
            params: params.clone(),
            superblocks: vec![Superblock::default(); superblocks],
            newest: vec![None; superblocks * (params.blocks * params.n) as usize],
            history: Vec::new(),
            updated: Vec::new(),
            tables: vec![Vec::new(); params.chips as usize],
            next: 0,
            counts: Counts::default(),
        }
    }

    fn pages(&self) -> u32 {
        self.params.blocks * self.params.n
    }

    fn of(&self, lpn: u32) -> usize {
        (lpn / self.pages()) as usize
    }

    fn chip(&self, at: usize) -> usize {
        at % self.params.chips as usize
    }

    fn d_blocks(&self) -> usize {
        self.params.blocks as usize
    }

    /// Bits of a page's number that each level of the tree takes.
    fn bits(&self) -> u32 {
        let bits: u32 = (0..).find(|bits| 1 << bits >= self.pages()).expect("there is a number");
        bits.div_ceil(3)
    }

    /// The place of the newest copy of the table with a page, `above` levels over the pages.
    fn table(&self, lpn: u32, above: u32) -> Option<Place> {
        let (pages, bits) = (self.pages(), self.bits() * above);
        let number = |lpn: u32| (lpn / pages, (lpn % pages) >> bits);
        let is_in = |other: u32| number(other) == number(lpn);
        let (_, place) = self.history.iter().rev().find(|(other, _)| is_in(*other))?;
        let blocks = &self.superblocks[self.of(lpn)].blocks;
        blocks.iter().any(|(number, _)| *number == place.0).then_some(*place)
    }

    fn look_up(&mut self, lpn: u32) {
        let table = (self.of(lpn), (lpn % self.pages()) >> self.bits());
        let chip = self.chip(table.0);
        let tables = &mut self.tables[chip];
        if let Some(at) = tables.iter().position(|&other| other == table) {
            tables.remove(at);
            tables.push(table);
            self.counts.hits += 1;
            return;
        }
        if tables.len() == self.params.tables as usize {
            tables.remove(0);
        }
        tables.push(table);
        self.counts.misses += 1;
        let mut places: Vec<Place> = [3, 2, 1].iter().filter_map(|&above| self.table(lpn, above)).collect();
        places.dedup();
        self.counts.reads += places.len() as u64;
    }

    fn valid(&self, block: u64) -> usize {
        self.newest.iter().flatten().filter(|place| place.0 == block).count()
    }

    fn valid_of(&self, at: usize) -> usize {
        self.superblocks[at].blocks.iter().map(|&(block, _)| self.valid(block)).sum()
    }

    fn open(&mut self, at: usize) -> u64 {
        self.next += 1;
        self.superblocks[at].blocks.push((self.next, Vec::new()));
        if self.superblocks[at].blocks.len() == self.d_blocks() + 1 {
            self.updated.push(at);
        }
        self.next
    }

    fn erase(&mut self, at: usize, block: u64) {
        assert_eq!(self.valid(block), 0);
        let d_blocks = self.d_blocks();
        let superblock = &mut self.superblocks[at];
        superblock.blocks.retain(|(other, _)| *other != block);
        for taking in [&mut superblock.open, &mut superblock.survivors] {
            *taking = taking.filter(|&other| other != block);
        }
        if superblock.blocks.len() == d_blocks {
            self.updated.retain(|&other| other != at);
        }
        self.counts.erases += 1;
    }

    fn written(&self, at: usize, block: u64) -> usize {
        let own = self.superblocks[at].blocks.iter().find(|(other, _)| *other == block);
        own.expect("it is the superblock's").1.len()
    }

    fn has_room(&self, at: usize, block: Option<u64>) -> Option<u64> {
        block.filter(|&block| self.written(at, block) < self.params.n as usize)
    }

    fn program(&mut self, at: usize, block: u64, lpn: u32) {
        let own = self.superblocks[at].blocks.iter_mut().find(|(other, _)| *other == block);
        let pages = &mut own.expect("it is the superblock's").1;
        let place = (block, pages.len());
        pages.push(lpn);
        self.newest[lpn as usize] = Some(place);
        self.history.push((lpn, place));
    }

    /// Empties the block with the fewest valid pages, the first of them; returns its pages.
    fn empty(&mut self, at: usize) -> u64 {
        let takes = self.has_room(at, self.superblocks[at].survivors);
        let blocks: Vec<u64> = self.superblocks[at].blocks.iter().map(|(block, _)| *block).collect();
        let candidates = blocks.into_iter().filter(|&block| Some(block) != takes || self.valid(block) == 0);
        let victim = candidates.min_by_key(|&block| self.valid(block)).expect("it has blocks");
        let own = self.superblocks[at].blocks.iter().find(|(block, _)| *block == victim);
        let pages = own.expect("it is the superblock's").1.clone();
        let mut copies = 0;
        for (index, lpn) in pages.into_iter().enumerate() {
            if self.newest[lpn as usize] == Some((victim, index)) {
                self.look_up(lpn);
                let to = self.has_room(at, self.superblocks[at].survivors).unwrap_or_else(|| self.open(at));
                self.superblocks[at].survivors = Some(to);
                self.program(at, to, lpn);
                copies += 1;
            }
        }
        self.erase(at, victim);
        copies
    }

    fn collect(&mut self, at: usize) {
        let had = self.superblocks[at].blocks.len();
        let (mut emptied, mut copies) = (0, 0);
        while self.superblocks[at].blocks.len() == had {
            copies += self.empty(at);
            emptied += 1;
        }
        self.counts.copies += copies;
        match (copies, emptied) {
            (0, _) => self.counts.switch += 1,
            (_, 1) => self.counts.partial += 1,
            _ => self.counts.full += 1,
        }
    }

    fn make_room(&mut self, at: usize) {
        let (had, d_blocks) = (self.superblocks[at].blocks.len(), self.d_blocks());
        if had < d_blocks {
            return;
        }
        if let Some(&(dead, _)) = self.superblocks[at].blocks.iter().find(|&&(block, _)| self.valid(block) == 0) {
            self.erase(at, dead);
            self.counts.switch += 1;
            return;
        }
        let of_chip: Vec<usize> =
            self.updated.iter().copied().filter(|&other| self.chip(other) == self.chip(at)).collect();
        let in_use: usize = of_chip.iter().map(|&other| self.superblocks[other].blocks.len() - d_blocks).sum();
        if had < d_blocks + self.params.update_blocks as usize && in_use < self.params.log_blocks as usize {
            return;
        }
        let fits = self.valid_of(at) <= (had - 1) * self.params.n as usize;
        let programmed = |at: usize| self.superblocks[at].blocks.iter().map(|(_, pages)| pages.len()).sum::<usize>();
        let share = |at: usize| self.valid_of(at) as f64 / programmed(at) as f64;
        let from = if fits {
            at
        } else {
            let least = of_chip.iter().map(|&other| share(other)).fold(f64::INFINITY, f64::min);
            of_chip.iter().copied().find(|&other| share(other) == least).expect("one has a U-block")
        };
        self.collect(from);
    }

    fn write_page(&mut self, lpn: u32) {
        self.look_up(lpn);
        let at = self.of(lpn);
        let open = self.has_room(at, self.superblocks[at].open).unwrap_or_else(|| {
            self.make_room(at);
            self.open(at)
        });
        self.superblocks[at].open = Some(open);
        self.program(at, open, lpn);
    }

    /// Looks a page up, if it is mapped.
    fn find(&mut self, lpn: u32) {
        if self.newest[lpn as usize].is_some() {
            self.look_up(lpn);
        }
    }
}

impl support::Model for Model {
    fn write(&mut self, lpns: Range<u32>, _request_pages: u32) {
        lpns.for_each(|lpn| self.write_page(self.params.place(lpn)));
    }

    fn read(&mut self, lpn: u32) {
        self.find(self.params.place(lpn));
    }

    fn trim(&mut self, lpn: u32) {
        let place = self.params.place(lpn);
        self.find(place);
        self.newest[place as usize] = None;
    }
}

fn run(seed: u64) -> Counts {
    let mut prng = Prng::new(seed).branch("superblock-ftl");
    let params = Params::random(&mut prng);
    let (mut ftl, mut model) = (Ftl::new(&params.space(), &params.setup(), true), Model::new(&params));
    compare((&mut ftl, &mut model), &mut prng, params.n, |ftl, model, operation| {
        assert_eq!(Counts::of(ftl), model.counts, "seed {seed}, operation {operation}, {params:?}");
    });
    model.counts
}

#[test]
fn superblock_ftl_collects_and_looks_up_as_a_naive_model_does() {
    let mut seen = [0; 4];
    for Counts { switch, partial, full, reads, .. } in over_seeds(seeds(CASES), run) {
        [switch, partial, full, reads].iter().zip(&mut seen).for_each(|(count, seen)| *seen += count);
    }
    let cases = seeds(CASES).count() as u64;
    assert!(seen.iter().all(|&count| count > cases), "switch, partial, full merges and spare areas read: {seen:?}");
}

/// A drive of one chip with three superblocks of two blocks of four pages, and so many U-blocks, filled.
fn drive(update_blocks: u32, log_blocks: u32) -> Ftl {
    let params =
        Params { chips: 1, n: 4, superblocks: 3, blocks: 2, spread: false, update_blocks, log_blocks, tables: 100 };
    Ftl::filled(&params.space(), &params.setup(), true)
}

/// Writes pages; returns the merges, copies and erases that this took.
fn write(ftl: &mut Ftl, lpns: impl IntoIterator<Item = u32>) -> Counts {
    let before = Counts::of(ftl);
    ftl.write_each(lpns);
    ftl.check();
    Counts { hits: 0, misses: 0, reads: 0, ..Counts::of(ftl).since(&before) }
}

#[test]
fn a_page_goes_to_any_block_of_its_superblock_and_a_dead_block_is_erased_without_a_copy() {
    let mut ftl = drive(1, 1);
    assert_eq!(write(&mut ftl, [0, 1, 2, 3]), Counts::default(), "a U-block, and the first D-block is dead");
    let switch = Counts { switch: 1, erases: 1, ..Counts::default() };
    assert_eq!(write(&mut ftl, [4]), switch);
    assert_eq!(write(&mut ftl, [4, 4, 4]), Counts::default());
}

#[test]
fn a_partial_merge_empties_one_block_into_the_block_for_survivors() {
    let mut ftl = drive(2, 2);
    // Two U-blocks are full: 8 of the 16 pages are valid, in blocks of 3, 1, 2 and 2.
    assert_eq!(write(&mut ftl, [0, 4, 5, 6, 4, 5, 0, 4]), Counts::default());
    // The first with one: its page opens the block for survivors, which has room for that of the second.
    assert_eq!(write(&mut ftl, [0]), Counts { full: 1, copies: 2, erases: 2, ..Counts::default() });
    // The open block has one valid page then, and the block for survivors room for two.
    assert_eq!(write(&mut ftl, [0, 0, 0]), Counts::default());
    assert_eq!(write(&mut ftl, [1]), Counts { partial: 1, copies: 1, erases: 1, ..Counts::default() });
}

/// Blocks of 2, 3 and 3 valid pages of 4: two of them leave no block free.
#[test]
fn a_collection_copies_every_page_of_its_superblock_at_worst() {
    let mut ftl = drive(1, 1);
    assert_eq!(write(&mut ftl, [0, 0, 1, 4]), Counts::default());
    assert_eq!(write(&mut ftl, [8]), Counts { full: 1, copies: 8, erases: 3, ..Counts::default() });
}

#[test]
fn survivors_and_pages_of_the_host_are_in_different_blocks_so_that_hot_ones_die_whole() {
    let mut ftl = drive(1, 1);
    let hot = [0, 2, 4, 6];
    assert_eq!(write(&mut ftl, hot), Counts::default());
    // Both D-blocks are emptied into one, with the four cold pages.
    assert_eq!(write(&mut ftl, hot), Counts { full: 1, copies: 4, erases: 2, ..Counts::default() });
    for _ in 0..10 {
        assert_eq!(write(&mut ftl, hot), Counts { switch: 1, erases: 1, ..Counts::default() });
    }
}

#[test]
fn a_superblock_that_has_nothing_to_give_takes_from_the_least_utilised() {
    let mut ftl = drive(2, 2);
    // The second and the third get a U-block each.
    write(&mut ftl, [8, 9, 12, 13]);
    write(&mut ftl, [16, 17, 20, 21]);
    [18, 22].into_iter().for_each(|lpn| ftl.trim(lpn));
    // The first is full: 8 valid pages in two blocks. The third has 6 in three, two D-blocks with one each.
    assert_eq!(write(&mut ftl, [0]), Counts { full: 1, copies: 2, erases: 2, ..Counts::default() });
    // The second has a block to give itself: two of its three have two valid pages each.
    write(&mut ftl, [1, 2, 3]);
    assert_eq!(write(&mut ftl, [8]), Counts { full: 1, copies: 4, erases: 2, ..Counts::default() });
}

/// 16 pages: two bits a level, so that a table of the second level has them all, and a page table four.
#[test]
fn a_lookup_reads_the_spare_areas_on_its_path_that_differ() {
    let params =
        Params { chips: 1, n: 8, superblocks: 1, blocks: 2, spread: false, update_blocks: 1, log_blocks: 1, tables: 1 };
    let mut ftl = Ftl::filled(&params.space(), &params.setup(), true);
    let reads = |ftl: &mut Ftl, lpn: u32| {
        let before = ftl.count("map_reads");
        ftl.read(lpn);
        ftl.count("map_reads") - before
    };
    assert_eq!(reads(&mut ftl, 15), 0, "it was written last: its table is in memory");
    assert_eq!(reads(&mut ftl, 3), 2, "root and second level with page 15, the page table with page 3");
    assert_eq!(reads(&mut ftl, 0), 0, "the same table");
    assert_eq!(reads(&mut ftl, 12), 1, "all with page 15");
}

/// Five logical blocks on two chips, in superblocks of two: the first chip has three of them, the second two.
#[test]
fn spread_neighbours_are_on_different_chips_and_a_drive_that_does_not_divide_evenly_holds_all() {
    let space = Space { logical_pages: 5 * 4, ..chips(2, 6, 6, 4) };
    let set = [("blocks", Value::Count(2)), ("log_blocks", Value::Count(2)), ("spread", Value::Flag(true))];
    let mut ftl = Ftl::new(&space, &with_mapping("superblock-ftl", &set), true);
    for _ in 0..3 {
        ftl.write_each(0..20);
        (0..20).for_each(|lpn| ftl.read(lpn));
    }
    let chips = [0, 4, 8, 12, 16].map(|lpn| ftl.die_of(lpn).map(|die| die.0));
    assert_eq!(chips, [Some(0), Some(1), Some(0), Some(1), Some(0)]);
    ftl.check();
}
