//! Linear threshold: evict before the buffer is full, the more at a time the fuller it is (named as future work by
//! CAVE, section 4.2).
//!
//! ```text
//! occupied <= low:   nothing
//! occupied >  low:   keep  dies * (occupied - low) / (high - low), rounded up,  victims on their way to flash
//! and never fewer pages than pages that wait
//! superpages of p pages:  p pages on their way make one of these
//! ```
//!
//! `low` and `high` are shares of the buffer's capacity. A victim is a page or a block, depending on the replacement
//! policy, and is on its way until its last page is programmed: a block occupies one chip, however many pages it has.
//! Eviction goes on until the low mark even when no more is written: each victim that is programmed lets another leave.
//! `occupied` counts the dirty pages, and the clean pages that cannot be dropped before a dirty one; other clean pages
//! are free room. A request then seldom finds the buffer full, at the price of hits that a page evicted late would have
//! had. O(1).

use flashloom_units::{Capability, Component, Divisor, Kind, ParamSet, PolicySpec, Value, params};

use super::{Occupancy, Rate, RateSetup};

params! {
    /// Parameters of the linear threshold.
    pub struct LinearThresholdParams {
        /// Share of the buffer above which eviction begins.
        low: f64 => "low", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.5),
            "A lower mark keeps more room free and absorbs fewer rewrites.";
        /// Share of the buffer at which as many victims as dies are being programmed at a time.
        high: f64 => "high", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.9),
            "A mark near `low` turns eviction on at once, one far above it by degrees.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "linear-threshold",
    summary: "evicts before the buffer is full, the more at a time the fuller it is",
    details: "Between two marks the number of victims that are being programmed, pages or blocks depending on the \
              replacement policy, grows from none to one for each die. A low mark that is not below the high one acts \
              as a single threshold.",
    source: "Park et al.: CAVE, SAC 2011, section 4.2, future work",
    example: "buffer.rate=linear-threshold buffer.linear-threshold.low=0.25 buffer.linear-threshold.high=0.75",
    instead: "To repeat a paper that evicts only when the buffer is full, use `single` or `cave`. They also keep pages \
              longer, which counts where the buffer is small and pages are written again late.",
    needs: &[],
    offers: &[Capability::SAVED_STATE],
    params: LinearThresholdParams::PARAMS,
    statistics: &[],
};

pub(super) struct LinearThreshold {
    params: LinearThresholdParams,
    dies: u32,
    superpage: Divisor,
}

flashloom_units::state! { LinearThreshold { fixed params, dies, superpage; } }

impl LinearThreshold {
    pub(super) fn new(values: &[Value], on: &RateSetup) -> Self {
        Self {
            params: LinearThresholdParams::from_values(values),
            dies: on.dies,
            superpage: Divisor::new(on.superpage),
        }
    }

    /// Number of dies that should have a victim to program.
    fn wanted(&self, occupancy: &Occupancy) -> u32 {
        let filled = f64::from(occupancy.occupied) / f64::from(occupancy.pages);
        if filled <= self.params.low {
            return 0;
        }
        let range = self.params.high - self.params.low;
        let share = if range > 0.0 { ((filled - self.params.low) / range).min(1.0) } else { 1.0 };
        (f64::from(self.dies) * share).ceil() as u32
    }
}

impl Component for LinearThreshold {
    flashloom_units::stateful!();
}

impl Rate for LinearThreshold {
    fn victims(&mut self, occupancy: &Occupancy) -> u32 {
        let Occupancy { leaving, evicting, waiting, .. } = *occupancy;
        // One at a time, because what has left may have filled half a superpage.
        let busy = leaving.min(self.superpage.quotient(evicting));
        // No more are ever wanted than dies.
        u32::from(evicting < waiting || (busy < self.dies && busy < self.wanted(occupancy)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With 8 dies.
    fn threshold(low: f64, high: f64, superpage: u32) -> LinearThreshold {
        LinearThreshold { params: LinearThresholdParams { low, high }, dies: 8, superpage: Divisor::new(superpage) }
    }

    #[test]
    fn victims_on_their_way_grow_with_what_the_buffer_holds() {
        let occupancy = |occupied, leaving| Occupancy { pages: 100, occupied, evicting: leaving, leaving, waiting: 0 };
        let mut rate = threshold(0.5, 0.9, 1);
        assert_eq!(rate.victims(&occupancy(50, 0)), 0);
        assert_eq!([50, 51, 60, 70, 90, 100].map(|pages| rate.wanted(&occupancy(pages, 0))), [0, 1, 2, 4, 8, 8]);
        assert_eq!(rate.victims(&occupancy(70, 3)), 1);
        assert_eq!(rate.victims(&occupancy(70, 4)), 0);
        let step = threshold(0.9, 0.5, 1);
        assert_eq!([90, 91].map(|pages| step.wanted(&occupancy(pages, 0))), [0, 8]);
    }

    #[test]
    fn a_block_on_its_way_keeps_one_die_busy_however_many_pages_it_has() {
        let occupancy =
            |leaving| Occupancy { pages: 1_000, occupied: 900, evicting: 64 * leaving, leaving, waiting: 0 };
        let mut rate = threshold(0.5, 0.9, 2);
        assert_eq!([1, 7, 8].map(|leaving| rate.victims(&occupancy(leaving))), [1, 1, 0]);
    }

    #[test]
    fn a_die_that_programs_superpages_has_one_on_its_way_and_not_a_page() {
        let occupancy = |leaving| Occupancy { pages: 100, occupied: 60, evicting: leaving, leaving, waiting: 0 };
        let mut rate = threshold(0.5, 0.9, 4);
        assert_eq!(rate.wanted(&occupancy(0)), 2);
        assert_eq!([0, 1, 4, 7, 8].map(|pages| rate.victims(&occupancy(pages))), [1, 1, 1, 1, 0]);
    }

    #[test]
    fn pages_that_wait_have_as_many_pages_on_their_way() {
        let occupancy = |evicting| Occupancy { pages: 100, occupied: 20, evicting, leaving: 1, waiting: 5 };
        let mut rate = threshold(0.5, 0.9, 1);
        assert_eq!([4, 5].map(|evicting| rate.victims(&occupancy(evicting))), [1, 0]);
    }
}
