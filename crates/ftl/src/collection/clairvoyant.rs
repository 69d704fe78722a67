//! Clairvoyant: a page-mapped FTL that knows when every page dies, run over a recorded sequence of page writes.
//!
//! ```text
//! page written or copied: to the open block of its lane; a lane has the pages of similar remaining lifetime
//! lanes:  ranges of lifetimes from the shortest on, each wide enough to fill a block within its width:
//!         width * share of the writes with such lifetimes >= pages of a block;
//!         the widths are doubled until the spare space can hold all open blocks;
//!         pages that never die have a lane of their own
//! last valid page of a block dies: the block is erased, without copies
//! a block is needed and only one is free: collect the closed block with the highest
//!         (space gained * time until its last page would have died) / pages copied
//! ```
//!
//! A *reference*, not a bound: the copies of one FTL that knows the future; the best such FTL makes as many or fewer.
//! The only provable bound is no copies, write amplification 1: a log with an open block for every group of pages that
//! die together reaches it (the ideal placement of Wang et al.: SepBIT, FAST 2022). Victims are chosen as by
//! cost-benefit, with the known time until the space would be free in place of the age, by which cost-benefit
//! estimates it.
//!
//! It needs the future, so it is a function of a recorded sequence, not a policy in the table. All blocks form one
//! pool: planes, superblocks and translation pages are not modelled. O(log blocks) per page, O(pages of a block * log
//! blocks) per collection.

use std::collections::BTreeSet;

/// A change requested of an FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A write of a page.
    Write {
        /// The logical page.
        lpn: u32,
    },
    /// A discard of a page.
    Trim {
        /// The logical page.
        lpn: u32,
    },
}

impl Change {
    fn lpn(self) -> u32 {
        match self {
            Self::Write { lpn } | Self::Trim { lpn } => lpn,
        }
    }
}

/// Size of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Usable blocks.
    pub blocks: u32,
    /// Pages per block.
    pub block_pages: u32,
}

/// A lower bound on the blocks that any FTL erases for `page_writes` writes, on an array that begins with
/// `erased_pages` erased pages.
///
/// Proof. Count the erased pages of the array. Each page written programs one of them, whatever the mapping, and so
/// does each copy, filler, translation page and failed program; only an erase adds any, at most the pages of one block.
/// After `w` writes and `e` erases at most `erased_pages + e * block_pages - w` are left, which is not negative. So
/// `e >= (w - erased_pages) / block_pages`, rounded up. Pages that were dead at first do not count: they can be written
/// only after an erase of their block, which is one of the `e`.
///
/// The bound is tight if erased blocks hold no valid pages and few erased pages are left at the end. It ignores the
/// copies of valid pages, which makes it loose otherwise.
pub fn least_erases(block_pages: u32, erased_pages: u64, page_writes: u64) -> u64 {
    page_writes.saturating_sub(erased_pages).div_ceil(u64::from(block_pages))
}

/// Pages that the clairvoyant FTL copies for a sequence of changes; `None` if the array has too little spare space.
/// `valid` are the logical pages that the array holds at first, placed in the order in which they die.
pub fn copies(array: Array, valid: impl Iterator<Item = u32>, changes: &[Change]) -> Option<u64> {
    let future = Future::of(valid, changes);
    let mut log = Log::new(array, &future)?;
    for &page in &future.first {
        log.write(page, 0)?;
    }
    log.collected = 0;
    for (now, &change) in changes.iter().enumerate() {
        let now = now as u32;
        log.die(now);
        if let Change::Write { lpn } = change {
            log.write(Page { lpn, dies: future.deaths[now as usize] }, now)?;
        }
    }
    Some(log.collected)
}

/// A page, and the index of the change that kills it; [`NEVER`] if none does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Page {
    dies: u32,
    lpn: u32,
}

const NEVER: u32 = u32::MAX;
const NO_BLOCK: u32 = u32::MAX;

/// The future, from the recorded sequence.
struct Future {
    /// For each change that is a write, the index of the change that kills its page.
    deaths: Vec<u32>,
    /// The initially valid pages, in the order in which they die.
    first: Vec<Page>,
    /// Maximum number of pages valid at the same time.
    most_valid: u64,
}

impl Future {
    fn of(valid: impl Iterator<Item = u32>, changes: &[Change]) -> Self {
        assert!(changes.len() < NEVER as usize, "changes are told apart by 32-bit numbers");
        let all = changes.len() as u32;
        let mut by_page: Vec<u32> = (0..all).collect();
        by_page.sort_unstable_by_key(|&at| (changes[at as usize].lpn(), at));
        let mut deaths = vec![NEVER; changes.len()];
        for pair in by_page.windows(2).map(|pair| [pair[0] as usize, pair[1] as usize]) {
            if changes[pair[0]].lpn() == changes[pair[1]].lpn() {
                deaths[pair[0]] = pair[1] as u32;
            }
        }
        let first_change = |lpn: u32| {
            let place = by_page.partition_point(|&at| changes[at as usize].lpn() < lpn);
            by_page.get(place).copied().filter(|&at| changes[at as usize].lpn() == lpn).unwrap_or(NEVER)
        };
        let mut first: Vec<Page> = valid.map(|lpn| Page { dies: first_change(lpn), lpn }).collect();
        first.sort_unstable();
        let most_valid = most_valid(&first, changes, &deaths);
        Self { deaths, first, most_valid }
    }

    /// The longest lifetime of each lane but the last two: these have all longer lifetimes, and pages that never die.
    fn lanes(&self, block_pages: u32, most: usize) -> Vec<u32> {
        let dying = self.deaths.iter().enumerate().filter(|(_, dies)| **dies != NEVER);
        let mut lives: Vec<u32> = dying.map(|(at, dies)| dies - at as u32).collect();
        lives.sort_unstable();
        let mut wanted = self.deaths.len() as u128 * u128::from(block_pages);
        loop {
            let (mut lanes, mut begin, mut from) = (Vec::new(), 0, 0);
            for (place, &life) in lives.iter().enumerate() {
                if u128::from(life - from) * (place + 1 - begin) as u128 >= wanted {
                    lanes.push(life);
                    (begin, from) = (place + 1, life);
                }
            }
            lanes.dedup();
            if lanes.len() + 2 <= most.max(2) {
                return lanes;
            }
            wanted *= 2;
        }
    }
}

/// Maximum number of pages valid at the same time, among the initial pages and those written.
fn most_valid(first: &[Page], changes: &[Change], deaths: &[u32]) -> u64 {
    let mut dies = vec![false; changes.len()];
    let all = first.iter().map(|page| page.dies).chain(deaths.iter().copied());
    all.filter(|&at| at != NEVER).for_each(|at| dies[at as usize] = true);
    let (mut valid, mut most) = (first.len() as u64, first.len() as u64);
    for (change, dies) in changes.iter().zip(dies) {
        valid -= u64::from(dies && valid > 0);
        valid += u64::from(matches!(change, Change::Write { .. }));
        most = most.max(valid);
    }
    most
}

/// A block, and the pages written to it since its erase.
#[derive(Clone, Debug, Default)]
struct Block {
    pages: Vec<Page>,
    valid: u32,
    /// Time at which its last page dies.
    last: u32,
}

/// The array and its open blocks, one per lane.
struct Log {
    array: Array,
    blocks: Vec<Block>,
    free: Vec<u32>,
    /// The longest lifetime of each lane but the last two.
    lives: Vec<u32>,
    open: Vec<u32>,
    /// Full blocks, sorted by number of valid pages, then by the time at which the last of these dies.
    closed: BTreeSet<(u32, u32, u32)>,
    /// The block that holds the page that each change kills.
    holds: Vec<u32>,
    collected: u64,
}

impl Log {
    /// An empty log; `None` if the pages do not fit.
    fn new(array: Array, future: &Future) -> Option<Self> {
        let needed = future.most_valid.div_ceil(u64::from(array.block_pages));
        let spare = u64::from(array.blocks).checked_sub(needed + 1)?;
        let lives = future.lanes(array.block_pages, (spare / 2) as usize);
        Some(Self {
            array,
            blocks: vec![Block::default(); array.blocks as usize],
            free: (0..array.blocks).rev().collect(),
            open: vec![NO_BLOCK; lives.len() + 2],
            lives,
            closed: BTreeSet::new(),
            holds: vec![NO_BLOCK; future.deaths.len()],
            collected: 0,
        })
    }

    fn lane_of(&self, page: Page, now: u32) -> usize {
        match page.dies {
            NEVER => self.lives.len() + 1,
            dies => self.lives.partition_point(|&life| life < dies - now),
        }
    }

    /// Writes a page; `None` if there is no room and nothing to collect.
    fn write(&mut self, page: Page, now: u32) -> Option<()> {
        if self.open[self.lane_of(page, now)] == NO_BLOCK {
            while self.free.len() <= 1 && self.collect(now)? {}
        }
        self.place(page, now)
    }

    /// Puts a page into the open block of its lane. Without such a block and a free one, uses the open block of the
    /// nearest lane.
    fn place(&mut self, page: Page, now: u32) -> Option<()> {
        let mut lane = self.lane_of(page, now);
        if self.open[lane] == NO_BLOCK {
            if let Some(block) = self.free.pop() {
                self.open[lane] = block;
            } else {
                let has_room = |&other: &usize| self.open[other] != NO_BLOCK;
                lane = (0..self.open.len()).filter(has_room).min_by_key(|other| other.abs_diff(lane))?;
            }
        }
        let at = self.open[lane];
        if page.dies != NEVER {
            self.holds[page.dies as usize] = at;
        }
        let block = &mut self.blocks[at as usize];
        block.pages.push(page);
        block.valid += 1;
        block.last = block.last.max(page.dies);
        if block.pages.len() as u32 == self.array.block_pages {
            self.open[lane] = NO_BLOCK;
            self.closed.insert((block.valid, block.last, at));
        }
        Some(())
    }

    /// Marks the page dead that a change kills; erases its block if it is closed and has no other valid page.
    fn die(&mut self, change: u32) {
        let at = self.holds[change as usize];
        if at == NO_BLOCK {
            return;
        }
        let block = &mut self.blocks[at as usize];
        let was_closed = self.closed.remove(&(block.valid, block.last, at));
        block.valid -= 1;
        if was_closed && block.valid == 0 {
            self.erase(at);
        } else if was_closed {
            self.closed.insert((block.valid, block.last, at));
        }
    }

    fn erase(&mut self, at: u32) {
        self.blocks[at as usize] = Block::default();
        self.free.push(at);
    }

    /// Copies the valid pages of the victim and erases it; false if no closed block has a dead page, `None` if there is
    /// no room for its pages.
    fn collect(&mut self, now: u32) -> Option<bool> {
        let Some((valid, last, at)) = self.victim(now) else { return Some(false) };
        self.closed.remove(&(valid, last, at));
        let pages = std::mem::take(&mut self.blocks[at as usize].pages);
        for &page in pages.iter().filter(|page| page.dies > now) {
            self.place(page, now)?;
        }
        self.collected += u64::from(valid);
        self.erase(at);
        Some(true)
    }

    /// The closed block with the highest benefit for its cost. Of blocks with equally many valid pages only the one
    /// whose last page dies latest is compared.
    fn victim(&self, now: u32) -> Option<(u32, u32, u32)> {
        let horizon = self.holds.len() as u32;
        let worth = |(valid, last, _): (u32, u32, u32)| {
            u128::from(self.array.block_pages - valid) * u128::from(last.min(horizon) - now + 1)
        };
        let (mut best, mut least): (Option<(u32, u32, u32)>, u32) = (None, 1);
        while let Some(&(valid, ..)) = self.closed.range((least, 0, 0)..(self.array.block_pages, 0, 0)).next() {
            least = valid + 1;
            let candidate = *self.closed.range(..(least, 0, 0)).next_back().expect("one has that many valid pages");
            let is_better =
                |best: (u32, u32, u32)| worth(candidate) * u128::from(best.0) > worth(best) * u128::from(candidate.0);
            if best.is_none_or(is_better) {
                best = Some(candidate);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use flashloom_units::Prng;

    use super::*;

    /// A block of the search: the number of programmed pages, and which of them are valid.
    type Written = (u32, Vec<u32>);

    /// Cost of a step.
    #[derive(Clone, Copy, PartialEq)]
    enum Cost {
        Copies,
        Erases,
    }

    fn erased(array: Array) -> Vec<Written> {
        vec![(0, Vec::new()); array.blocks as usize]
    }

    /// Random initial blocks: partly programmed, with most of their pages dead.
    fn aged(prng: &mut Prng, array: Array, pages: u32) -> Vec<Written> {
        let mut blocks = erased(array);
        for (written, _) in &mut blocks {
            *written = pick_most(prng, array.block_pages);
        }
        for lpn in 0..pages {
            let (at, is_valid) = (prng.below(blocks.len() as u64) as usize, prng.chance(0.4));
            let (written, valid) = &mut blocks[at];
            if is_valid && (valid.len() as u32) < *written {
                valid.push(lpn);
            }
        }
        blocks
    }

    /// Picks all pages of a block in half of the cases, else a random number of them.
    fn pick_most(prng: &mut Prng, block_pages: u32) -> u32 {
        if prng.chance(0.5) { block_pages } else { prng.below(u64::from(block_pages) + 1) as u32 }
    }

    /// The lowest cost of any sequence of placements, copies and erases from the given blocks: Dijkstra's search over
    /// all states, with sorted blocks because their order does not matter. `None` if the pages do not fit.
    fn least(array: Array, first: &[Written], changes: &[Change], cost: Cost) -> Option<u64> {
        let start = (0usize, first.to_vec());
        let mut reached: BTreeMap<(usize, Vec<Written>), u64> = BTreeMap::from([(start.clone(), 0)]);
        let mut queue = BTreeSet::from([(0, start)]);
        while let Some((spent, (at, blocks))) = queue.pop_first() {
            if at == changes.len() {
                return Some(spent);
            }
            let mut offer = |at: usize, mut blocks: Vec<Written>, price: u64| {
                blocks.iter_mut().for_each(|(_, valid)| valid.sort_unstable());
                blocks.sort_unstable();
                let known = reached.entry((at, blocks.clone())).or_insert(u64::MAX);
                if spent + price < *known {
                    *known = spent + price;
                    queue.insert((spent + price, (at, blocks)));
                }
            };
            let with_room = |blocks: &[Written]| -> Vec<usize> {
                (0..blocks.len()).filter(|&block| blocks[block].0 < array.block_pages).collect()
            };
            let put = |blocks: &mut [Written], block: usize, lpn: u32| {
                blocks[block].0 += 1;
                blocks[block].1.push(lpn);
            };
            let mut after = blocks.clone();
            after.iter_mut().for_each(|(_, valid)| valid.retain(|&lpn| lpn != changes[at].lpn()));
            match changes[at] {
                Change::Trim { .. } => offer(at + 1, after, 0),
                Change::Write { lpn } => {
                    for block in with_room(&after) {
                        let mut after = after.clone();
                        put(&mut after, block, lpn);
                        offer(at + 1, after, 0);
                    }
                }
            }
            for from in 0..blocks.len() {
                if blocks[from].0 > 0 && blocks[from].1.is_empty() {
                    let mut after = blocks.clone();
                    after[from] = (0, Vec::new());
                    offer(at, after, u64::from(cost == Cost::Erases));
                }
                for (place, &lpn) in blocks[from].1.iter().enumerate() {
                    for to in with_room(&blocks).into_iter().filter(|&to| to != from) {
                        let mut after = blocks.clone();
                        after[from].1.remove(place);
                        put(&mut after, to, lpn);
                        offer(at, after, u64::from(cost == Cost::Copies));
                    }
                }
            }
        }
        None
    }

    fn random(prng: &mut Prng, length: u64, pages: u64) -> Vec<Change> {
        let change = |prng: &mut Prng| match (prng.below(8), prng.below(pages) as u32) {
            (0, lpn) => Change::Trim { lpn },
            (_, lpn) => Change::Write { lpn },
        };
        (0..length).map(|_| change(prng)).collect()
    }

    #[test]
    fn no_way_to_place_and_collect_erases_less_than_the_bound_and_the_reference_copies_no_less_than_the_best() {
        let mut prng = Prng::new(3).branch("clairvoyant");
        let array = Array { blocks: 4, block_pages: 2 };
        let (mut tight, mut best_copies, mut reference_copies) = (0, 0, 0);
        for case in 0..40 {
            let changes = random(&mut prng, 14, 5);
            let writes = changes.iter().filter(|change| matches!(change, Change::Write { .. })).count() as u64;
            let (erases, bound) = (least(array, &erased(array), &changes, Cost::Erases), least_erases(2, 8, writes));
            let erases = erases.expect("there is spare space");
            assert!(bound <= erases, "case {case}: {erases} erases, bound {bound}: {changes:?}");
            tight += u32::from(bound == erases);
            let (best, reference) =
                (least(array, &erased(array), &changes, Cost::Copies), copies(array, [].into_iter(), &changes));
            let (best, reference) = (best.expect("there is spare space"), reference.expect("as the search found"));
            assert!(best <= reference, "case {case}: {best} copies at best, {reference} of the reference: {changes:?}");
            (best_copies, reference_copies) = (best_copies + best, reference_copies + reference);
        }
        assert!(tight >= 20, "the bound of erases is reached in {tight} of 40 cases");
        assert!(reference_copies > 0, "the reference has to collect: the best copies {best_copies} pages");
    }

    /// Initially dead pages are no free space: the exhaustive search, which may copy and erase at will, must erase for
    /// them too.
    #[test]
    fn no_way_to_go_on_with_an_aged_array_erases_less_than_the_bound() {
        let mut prng = Prng::new(4).branch("aged");
        let (mut tight, mut tighter, mut cases) = (0, 0, 0);
        for (blocks, block_pages) in [(4, 2), (3, 3), (5, 2)].repeat(40) {
            let array = Array { blocks, block_pages };
            let first = aged(&mut prng, array, 5);
            let changes = random(&mut prng, 9, 5);
            let writes = changes.iter().filter(|change| matches!(change, Change::Write { .. })).count() as u64;
            let erased_pages: u64 = first.iter().map(|(written, _)| u64::from(block_pages - written)).sum();
            let bound = least_erases(block_pages, erased_pages, writes);
            let Some(erases) = least(array, &first, &changes, Cost::Erases) else { continue };
            assert!(bound <= erases, "{erases} erases, bound {bound}: {first:?}, {changes:?}");
            let valid: u64 = first.iter().map(|(_, valid)| valid.len() as u64).sum();
            let without_valid = u64::from(blocks * block_pages) - valid;
            cases += 1;
            tight += u32::from(bound == erases);
            tighter += u32::from(bound > least_erases(block_pages, without_valid, writes));
        }
        println!(
            "{cases} aged arrays: the bound is reached on {tight}, and above that of dead pages as room on {tighter}"
        );
        assert!(cases >= 80 && 2 * tight >= cases && 2 * tighter >= cases, "{cases}, {tight}, {tighter}");
    }

    #[test]
    fn pages_that_die_in_turn_are_never_copied() {
        let array = Array { blocks: 12, block_pages: 4 };
        let changes: Vec<Change> = (0..400).map(|at| Change::Write { lpn: at % 32 }).collect();
        assert_eq!(copies(array, 0..32, &changes), Some(0));
    }

    #[test]
    fn valid_pages_without_spare_space_have_no_reference() {
        let array = Array { blocks: 4, block_pages: 4 };
        assert_eq!(copies(array, 0..16, &[Change::Write { lpn: 3 }]), None);
    }

    #[test]
    fn knowing_the_future_saves_most_copies_of_uniform_writes() {
        let mut prng = Prng::new(5).branch("uniform");
        let array = Array { blocks: 128, block_pages: 32 };
        let changes: Vec<Change> = (0..40_000).map(|_| Change::Write { lpn: prng.below(3_500) as u32 }).collect();
        let copies = copies(array, 0..3_500, &changes).expect("there is spare space");
        // Greedy collection copies about three pages per write here.
        assert!(copies > 0 && copies < 40_000, "{copies} copies");
    }
}
