//! Which pages are hot: a sketch of how often pages were written lately, and where hot pages go.
//!
//! ```text
//! write lpn:  of the lpn's two counters the smaller, or both if they are equal, goes up by one, to at most 15
//!             the page is hot if both are at least hot_threshold
//! decay:      after hot_decay x logical pages writes, all counters are halved
//! separate:   a hot page goes to the open block for hot pages, while at least a quarter of the writes of the last
//!             window (a quarter of the logical pages) were hot
//! collect:    a page that survives a collection and is hot goes to a block for hot survivors, or to the one for hot
//!             pages where collected pages share the host's blocks
//! ```
//!
//! Hsieh, Kuo and Chang, "Efficient Identification of Hot Data for Flash Memory Storage Systems" (ACM Transactions on
//! Storage 2(1), 2006): two hash functions, counters of four bits whose upper bits tell hot from cold, only the
//! smallest counters increased, all halved at intervals. Their numbers (4,096 counters for a disk of any size, halved
//! after 5,117 writes, hot from 4 on) call a page hot that is written again within a few thousand writes. What
//! collection gains from depends on another scale: whether a page is written more often than the average page of the
//! drive. With c counters a page, halved after d writes a page, a page that is written k times as often as the average
//! counts from k d just after a decay to 2 k d just before the next. So there is a counter for every page, whatever the
//! drive's size; and with d = 2 and 8 for hot (the upper one of the four bits), k = 4 is hot all the time and k = 1,
//! with a count of 2 to 4, nearly never. A window without a quarter of hot writes separates nothing, because an open
//! block costs spare space: under uniform writes, where a few per cent are taken for hot by chance, nothing changes.
//! What the paper says nothing of, a survivor, is judged as it is moved: all in one block, hot survivors would leave
//! holes among the cold ones.
//!
//! `known` takes the first `hot_share` of the pages for hot instead: a bound for whoever has to find out.
//!
//! O(1) a page, the decay included; memory: one to two bytes for every page of the host.

use flashloom_nand::Lpn;
use flashloom_units::{Violation, violation};

use crate::lane::{DeclaredLane, Lane};
use crate::{Demands, FtlParams, HotCold};

/// Two odd multipliers, for hashing by multiplication and shift.
const MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];
/// The highest count of four bits.
const HIGHEST: u8 = 15;
/// A window is that part of the logical pages, and that part of it has to be hot.
const QUARTER: u64 = 4;

/// The lanes of pages that are written often, and of those that collections move where others have a lane apart.
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
    /// How far a product is shifted, so that the rest is an index.
    shift: u32,
    threshold: u8,
    /// Pages below are hot, where that is known.
    known: Option<Lpn>,
    interval: u64,
    until_decay: u64,
    window: u64,
    until_window: u64,
    /// Writes of hot pages in this window, and whether there were enough in the last one.
    hot_in_window: u64,
    separates: bool,
    hot_writes: u64,
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
    /// Nothing where hot pages are not kept apart.
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

    /// Counts a write of a page, and returns whether it goes where hot pages go.
    pub(super) fn is_hot(&mut self, lpn: Lpn) -> bool {
        let is_hot = match self.known {
            Some(end) => lpn < end,
            None => self.count(lpn) >= self.threshold && self.separates,
        };
        self.hot_writes += u64::from(is_hot);
        is_hot
    }

    /// Whether a page that survived a collection goes where hot ones go.
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

    /// Counts a write of a page, and returns its count.
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

    /// Checks counters that were loaded: a window has at least a write to go.
    pub(super) fn check(&self) -> Result<(), Violation> {
        let is_counted = self.counters.iter().all(|&counter| counter <= HIGHEST);
        if is_counted && self.until_window > 0 {
            return Ok(());
        }
        Err(violation!("hot pages: a counter is above {HIGHEST}, or a window that is over was not ended"))
    }

    /// Writes of pages that went where hot pages go.
    pub(super) fn hot_writes(&self) -> u64 {
        self.hot_writes
    }

    /// Counts writes anew; what is known of pages stays.
    pub(super) fn reset(&mut self) {
        self.hot_writes = 0;
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

    /// Pages that take 80 % of the writes, four times as many as the average page, and all the others.
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
