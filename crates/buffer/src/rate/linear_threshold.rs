//! Linear threshold: evict ahead of need, the faster the fuller the buffer (the future work of CAVE, section 4.2).
//!
//! ```text
//! dirty <= low:   nothing
//! dirty >  low:   keep  dies * (dirty - low) / (high - low), rounded up,  pages on their way to flash
//! and never fewer than pages that wait
//! ```
//!
//! `low` and `high` are shares of the buffer's room. What is above the low mark leaves even when no more is written, a
//! page for each that has come to flash; clean pages do not count, because they are room already. A request then seldom
//! finds the buffer full, at the price of hits that a page evicted late would have had. O(1).

use flashloom_units::{Kind, ParamSet, PolicySpec, Value, params};

use super::{Occupancy, Rate};

params! {
    /// Parameters of the linear threshold.
    pub struct Params {
        /// Share of the buffer above which eviction begins.
        low: f64 => "low", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.5), "A lower mark keeps more room free and absorbs fewer rewrites.";
        /// Share of the buffer at which every die is kept busy.
        high: f64 => "high", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.9), "A mark near `low` turns eviction on at once, one far above it by degrees.";
    }
}

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "linear-threshold",
    summary: "ahead of need, the faster the fuller the buffer",
    details: "Between two marks the number of pages on their way to flash grows from none to one for each die. A low \
              mark that is not below the high one acts as a single threshold.",
    source: "Park et al.: CAVE, SAC 2011, section 4.2, future work",
    needs: &[],
    params: Params::PARAMS,
    statistics: &[],
};

pub(super) struct State {
    params: Params,
    dies: u32,
}

impl State {
    pub(super) fn new(values: &[Value], dies: u32) -> Self {
        Self { params: Params::from_values(values), dies }
    }

    /// How many pages should be on their way.
    fn wanted(&self, occupancy: &Occupancy) -> u32 {
        let filled = f64::from(occupancy.dirty) / f64::from(occupancy.pages);
        if filled <= self.params.low {
            return 0;
        }
        let range = self.params.high - self.params.low;
        let share = if range > 0.0 { ((filled - self.params.low) / range).min(1.0) } else { 1.0 };
        (f64::from(self.dies) * share).ceil() as u32
    }
}

impl Rate for State {
    fn victims(&mut self, occupancy: &Occupancy) -> u32 {
        u32::from(occupancy.evicting < self.wanted(occupancy).max(occupancy.waiting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_on_their_way_grow_with_what_the_buffer_holds() {
        let occupancy = |dirty, evicting, waiting| Occupancy { pages: 100, dirty, evicting, waiting };
        let mut rate = State { params: Params { low: 0.5, high: 0.9 }, dies: 8 };
        assert_eq!(rate.victims(&occupancy(50, 0, 0)), 0);
        assert_eq!([50, 51, 60, 70, 90, 100].map(|dirty| rate.wanted(&occupancy(dirty, 0, 0))), [0, 1, 2, 4, 8, 8]);
        assert_eq!(rate.victims(&occupancy(70, 3, 0)), 1);
        assert_eq!(rate.victims(&occupancy(70, 4, 0)), 0);
        assert_eq!(rate.victims(&occupancy(20, 4, 5)), 1);
        let step = State { params: Params { low: 0.9, high: 0.5 }, dies: 8 };
        assert_eq!([90, 91].map(|dirty| step.wanted(&occupancy(dirty, 0, 0))), [0, 8]);
    }
}
