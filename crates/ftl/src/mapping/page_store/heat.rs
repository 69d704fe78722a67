//! Which pages are hot: a sketch of how often pages were written lately.
//!
//! ```text
//! write lpn:  of the lpn's two counters the smaller, or both if they are equal, goes up by one, to at most 15
//!             the page is hot if both are at least 4
//! decay:      after 5/4 as many writes as there are counters, all counters are halved
//! ```
//!
//! Hsieh, Kuo and Chang, "Efficient Identification of Hot Data for Flash Memory Storage Systems" (ACM Transactions on
//! Storage 2(1), 2006): two hash functions, counters of four bits of which the upper two tell hot from cold, only the
//! smallest counters increased, and the decay that their analysis gives for a fifth of hot data. A page that is seldom
//! written is taken for hot only where others share both of its counters. O(1) a page, the decay included; memory: a byte for
//! every four pages of the host.

use flashloom_units::Lpn;

/// Two odd multipliers, for hashing by multiplication and shift.
const MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];
const HIGHEST: u8 = 15;
const HOT: u8 = 4;
const PAGES_A_COUNTER: u64 = 4;

/// Counters of writes by hash of the page.
pub(super) struct Heat {
    counters: Vec<u8>,
    /// How far a product is shifted, so that the rest is an index.
    shift: u32,
    until_decay: usize,
    hot_writes: u64,
}

flashloom_units::state! { Heat { nested counters; value until_decay, hot_writes; fixed shift; } }

impl Heat {
    pub(super) fn new(logical_pages: u64) -> Self {
        let size = (logical_pages / PAGES_A_COUNTER).next_power_of_two().max(64);
        let shift = u64::BITS - size.trailing_zeros();
        Self { counters: vec![0; size as usize], shift, until_decay: interval(size as usize), hot_writes: 0 }
    }

    /// Counts a write of a page, and tells whether it is hot.
    pub(super) fn is_hot(&mut self, lpn: Lpn) -> bool {
        if self.until_decay == 0 {
            self.counters.iter_mut().for_each(|counter| *counter /= 2);
            self.until_decay = interval(self.counters.len());
        }
        self.until_decay -= 1;
        let slots = MULTIPLIERS.map(|by| ((u64::from(lpn.0) + 1).wrapping_mul(by) >> self.shift) as usize);
        let least = slots.map(|slot| self.counters[slot]).into_iter().min().unwrap_or(0);
        let more = (least + 1).min(HIGHEST);
        for slot in slots {
            self.counters[slot] = self.counters[slot].max(more);
        }
        let is_hot = more >= HOT;
        self.hot_writes += u64::from(is_hot);
        is_hot
    }

    /// Writes of pages that were hot.
    pub(super) fn hot_writes(&self) -> u64 {
        self.hot_writes
    }

    /// Counts writes anew; what is known of pages stays.
    pub(super) fn reset(&mut self) {
        self.hot_writes = 0;
    }
}

fn interval(counters: usize) -> usize {
    counters + counters / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::Prng;

    #[test]
    fn a_page_is_hot_from_its_fourth_write_and_cools_down_when_it_is_left_alone() {
        let mut heat = Heat::new(4_096);
        let mut prng = Prng::new(5);
        assert_eq!([(); 5].map(|()| heat.is_hot(Lpn(7))), [false, false, false, true, true]);
        let mut spread = |heat: &mut Heat, writes: usize| {
            (0..writes).filter(|_| heat.is_hot(Lpn(100 + prng.below(100_000) as u32))).count()
        };
        spread(&mut heat, 3 * interval(1_024));
        assert!(!heat.is_hot(Lpn(7)), "three decays halve five writes to none");
        assert_eq!(heat.until_decay, interval(1_024) - 6);
    }

    #[test]
    fn few_pages_that_take_most_writes_are_told_from_many_that_take_the_rest() {
        let (pages, writes) = (16_384, 200_000);
        let mut heat = Heat::new(pages);
        let mut prng = Prng::new(6);
        let (mut hot, mut cold) = ([0u32; 2], [0u32; 2]);
        for _ in 0..writes {
            let is_hot_page = prng.chance(0.8);
            let lpn = if is_hot_page { prng.below(pages / 50) } else { pages / 50 + prng.below(pages * 49 / 50) };
            let told = usize::from(heat.is_hot(Lpn(lpn as u32)));
            if is_hot_page { hot[told] += 1 } else { cold[told] += 1 }
        }
        assert!(hot[1] > 19 * hot[0] && cold[0] > 19 * cold[1], "hot pages {hot:?}, cold ones {cold:?}");
    }
}
