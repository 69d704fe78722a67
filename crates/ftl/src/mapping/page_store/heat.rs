//! Identification of hot pages by a sketch of recent write counts, and the lanes that hot pages are written to.
//!
//! ```text
//! write lpn:  increment the smaller of the lpn's two counters, or both if they are equal, up to 15; the page is hot if
//!             both are at least hot_threshold
//! decay:      halve all counters after every hot_decay x logical pages writes
//! separate:   write a hot page to the open block for hot pages, as long as at least a quarter of the writes of the
//!             last window were hot (a window is a quarter of the logical pages)
//! collect:    copy a hot survivor to the block for hot survivors, or, if collected pages share the host's blocks, to
//!             the block for hot pages
//! ```
//!
//! Hsieh, Kuo and Chang, "Efficient Identification of Hot Data for Flash Memory Storage Systems" (ACM Transactions on
//! Storage 2(1), 2006): two hash functions, four-bit counters whose upper bits separate hot from cold, only the
//! smallest counter incremented, all halved at intervals.
//!
//! The paper's constants (4,096 counters for a disk of any size, halved after 5,117 writes, hot from 4 on) classify a
//! page as hot if it is rewritten within a few thousand writes. Garbage collection gains from another scale: whether a
//! page is written more often than the average page of the drive. With counters halved after d writes a page, a page
//! written k times as often as the average has a count between k d, just after a decay, and 2 k d, just before the
//! next. So there is one counter for every page, whatever the drive's size. With d = 2 and a threshold of 8, the
//! uppermost of the four bits, a page with k = 4 is always hot, and one with k = 1, whose count is 2 to 4, almost
//! never.
//!
//! A window with fewer than a quarter of hot writes is not separated, because an open block costs spare space. Uniform
//! writes, of which a few per cent are classified as hot by chance, are therefore not affected. The paper does not
//! cover survivors of garbage collection; they are classified when they are moved, because hot survivors in a common
//! block would leave holes among the cold ones.
//!
//! `known` treats the first `hot_share` of the pages as hot instead: an upper bound for any identification.
//!
//! O(1) a page, including the decay. Memory: one to two bytes for every host page.

use flashloom_nand::Lpn;
use flashloom_units::{Violation, violation};

use crate::lane::{DeclaredLane, Lane};
use crate::{Demands, FtlParams, HotCold};

/// Two odd multipliers, for hashing by multiplication and shift.
const MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];
/// The maximum of a four-bit counter.
const HIGHEST: u8 = 15;
/// A window is a quarter of the logical pages, and a quarter of it must be hot.
const QUARTER: u64 = 4;

/// The lanes of hot pages, and of hot survivors if collected pages have lanes of their own.
pub(super) fn lanes(params: &FtlParams, demands: Demands) -> Vec<DeclaredLane> {
    let is_apart = demands.collected(params) != Lane::HOST;
    let survivors = is_apart.then_some(DeclaredLane::collected(Lane::COLLECTED_HOT));
    let is_separated = params.hot_cold != HotCold::None;
    let lanes = [DeclaredLane::written(Lane::HOT)].into_iter().chain(survivors);
    lanes.filter(|_| is_separated).collect()
}

/// Counters of writes by hash of the page.
pub(super) struct Heat {
    counters: Vec<u8>,
    /// Right shift of the hash product that leaves an index.
    shift: u32,
    threshold: u8,
    /// With `known`: the first page that is not hot.
    known: Option<Lpn>,
    interval: u64,
    until_decay: u64,
    window: u64,
    until_window: u64,
    /// Hot writes in the current window, and whether the last window had enough.
    hot_in_window: u64,
    separates: bool,
    /// Writes to the lanes of hot pages since the last reset.
    pub(super) hot_writes: u64,
}

flashloom_units::state! {
    Heat {
        nested counters;
        below until_decay [*interval + 1], until_window [*window + 1], hot_in_window [*window + 1];
        value separates, hot_writes;
        fixed shift, threshold, known, interval, window;
    }
}

impl Heat {
    /// `None` if hot pages are not separated.
    pub(super) fn new(params: &FtlParams, logical_pages: u64) -> Option<Self> {
        let known = match params.hot_cold {
            HotCold::None => return None,
            HotCold::MultiHash => None,
            HotCold::Known => Some(Lpn((logical_pages as f64 * params.hot_share).round() as u32)),
        };
        let size = if known.is_some() { 0 } else { logical_pages.next_power_of_two().max(64) };
        let interval = ((logical_pages as f64 * params.hot_decay) as u64).max(1);
        let window = logical_pages.div_ceil(QUARTER);
        Some(Self {
            counters: vec![0; size as usize],
            shift: u64::BITS - size.trailing_zeros(),
            threshold: params.hot_threshold as u8,
            known,
            interval,
            until_decay: interval,
            window,
            until_window: window,
            hot_in_window: 0,
            separates: known.is_some(),
            hot_writes: 0,
        })
    }

    /// Counts a write of a page; returns whether it goes to the lane of hot pages.
    pub(super) fn is_hot(&mut self, lpn: Lpn) -> bool {
        let is_hot = match self.known {
            Some(end) => lpn < end,
            None => self.count(lpn) >= self.threshold && self.separates,
        };
        self.hot_writes += u64::from(is_hot);
        is_hot
    }

    /// Whether a survivor of a collection goes to a lane of hot pages.
    pub(super) fn is_hot_survivor(&self, lpn: Lpn) -> bool {
        match self.known {
            Some(end) => lpn < end,
            None => self.separates && self.counted(self.slots(lpn)) >= self.threshold,
        }
    }

    fn slots(&self, lpn: Lpn) -> [usize; 2] {
        MULTIPLIERS.map(|by| ((u64::from(lpn.0) + 1).wrapping_mul(by) >> self.shift) as usize)
    }

    fn counted(&self, [one, other]: [usize; 2]) -> u8 {
        self.counters[one].min(self.counters[other])
    }

    /// Counts a write of a page; returns its new count.
    fn count(&mut self, lpn: Lpn) -> u8 {
        if self.until_decay == 0 {
            self.counters.iter_mut().for_each(|counter| *counter /= 2);
            self.until_decay = self.interval;
        }
        self.until_decay -= 1;
        let slots = self.slots(lpn);
        let more = (self.counted(slots) + 1).min(HIGHEST);
        for slot in slots {
            self.counters[slot] = self.counters[slot].max(more);
        }
        self.hot_in_window += u64::from(more >= self.threshold);
        self.until_window -= 1;
        if self.until_window == 0 {
            self.separates = self.hot_in_window * QUARTER >= self.window;
            (self.until_window, self.hot_in_window) = (self.window, 0);
        }
        more
    }

    /// Checks loaded counters: the current window has not ended.
    pub(super) fn check(&self) -> Result<(), Violation> {
        let is_counted = self.counters.iter().all(|&counter| counter <= HIGHEST);
        if is_counted && self.until_window > 0 {
            return Ok(());
        }
        Err(violation!("hot pages: a counter is above {HIGHEST}, or a window that is over was not ended"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::{ParamSet, Prng};

    fn sketch(pages: u64) -> Heat {
        let params = FtlParams { hot_cold: HotCold::MultiHash, ..FtlParams::defaults() };
        Heat::new(&params, pages).expect("hot pages are kept apart")
    }

    #[test]
    fn a_page_is_counted_up_to_fifteen_and_halved_by_a_decay() {
        let mut heat = sketch(4_096);
        assert_eq!([(); 17].map(|()| heat.count(Lpn(7)))[13..], [14, 15, 15, 15]);
        (17..heat.interval).for_each(|_| {
            heat.count(Lpn(8));
        });
        assert_eq!((heat.until_decay, heat.count(Lpn(7))), (0, 8), "half of fifteen, and one");
    }

    #[test]
    fn nothing_is_hot_before_a_window_had_a_quarter_of_hot_writes() {
        let mut heat = sketch(4_096);
        let hot = (0..2_048).filter(|_| heat.is_hot(Lpn(7))).count();
        assert_eq!(hot, 1_025, "from the last of the 1,024 writes of the first window on");
    }

    /// One page in five takes 80 % of the writes, so a hot page is written four times as often as the average page.
    #[test]
    fn pages_written_four_times_the_average_are_told_from_the_rest() {
        let (pages, writes) = (16_384, 200_000);
        let mut heat = sketch(pages);
        let mut prng = Prng::new(6);
        let (mut hot, mut cold) = ([0u32; 2], [0u32; 2]);
        for _ in 0..writes {
            let is_hot_page = prng.chance(0.8);
            let lpn = if is_hot_page { prng.below(pages / 5) } else { pages / 5 + prng.below(pages * 4 / 5) };
            let told = usize::from(heat.count(Lpn(lpn as u32)) >= heat.threshold);
            if is_hot_page { hot[told] += 1 } else { cold[told] += 1 }
        }
        assert!(hot[1] > 2 * hot[0] && cold[0] > 19 * cold[1], "hot pages {hot:?}, cold ones {cold:?}");
    }
}
