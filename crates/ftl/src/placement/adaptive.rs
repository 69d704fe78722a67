//! Adaptive: the number of chips that a logical block spans is adapted to the time that parallelism saves and the cost
//! of merges (CAVE, section 6, future work: "adaptively regulate a level of the channel number by examining a
//! relationship between I/O parallelism and garbage collection").
//!
//! ```text
//! region     `widest` consecutive logical blocks; with a span of c, page p of c of them is on chip p mod c
//! run        pages of a region at consecutive addresses that are read or written at the same time
//! time(c)    of a run of r pages with w flash operations outstanding:  max(r / c, w / chips), rounded up, operations
//! blocks(c)  that a run of r pages is written to:  min(r, c)
//! after every run of a region with span c, in flash time:
//!     wider    += time(c) - time(2c)  -  copies * (blocks(2c) / blocks(c) - 1)      at least 0
//!     narrower += copies * (1 - blocks(c/2) / blocks(c))  -  (time(c/2) - time(c))  at least 0
//! if wider    >= payback * cost of a change * 2^reversals:  double the span
//! if narrower >= payback * cost of a change * 2^reversals:  halve the span
//! ```
//!
//! A wide span reads and writes a run on several chips at once, which CAVE's logical blocks cannot, as each is on one
//! chip. It also writes the run to several log blocks, each of which has to be merged. If other requests keep the chips
//! busy anyway, nothing is saved.
//!
//! The paper names the idea but no rule; this rule is ours. It changes a span only when keeping it has already cost as
//! much as the change will, so it never loses much more than the best fixed span. Each reversal doubles the gain
//! required for the next change. A change moves the whole region, counted as migrated pages. A span is widened between
//! reads, or before a write that starts with the region's first page, so that a sequence goes to the log in order.
//! Regions start with a span of one; the last, incomplete region keeps it. Without time (`run.timing = "counting"`, and
//! during preconditioning) nothing can be saved, and spans do not change. O(1) a run.

use flashloom_nand::Lbn;
use flashloom_units::{Capability, Kind, Ns, PolicySpec, Value, params};

use super::{Ledger, Placement, PlacementSetup, Profile, Region, Run, Times};
use crate::capability::{SINGLE_CHIP, WRITE_BUFFER};

params! {
    /// Parameters of the adaptive placement.
    pub struct AdaptiveParams {
        /// Maximum span in chips, rounded down to a power of two and to the number of chips.
        widest: u32 => "widest", Kind::Count { min: 2, max: 65_536 }, Value::Count(8),
            "Wider spans are faster for long runs and cost more to merge; a region is moved as a whole.";
        /// Ratio of the loss by keeping a span to the cost of changing it, at which it is changed.
        payback: f64 => "payback", Kind::Ratio { min: 0.01, max: 1_000.0 }, Value::Ratio(1.0),
            "Less adapts sooner, and moves regions that it did not pay to move.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "adaptive",
    summary: "a logical block spans as many chips as its merges can afford",
    details: "Logical block lbn begins on chip lbn mod chips. Regions that are read in long runs, or written in long \
              runs and merged cheaply, are spread over more chips; those that merge dearly over fewer.",
    source: "Park et al.: CAVE, SAC 2011, section 6 (future work); the rule is this project's",
    example: "ftl.placement=adaptive ftl.adaptive.widest=4 buffer.order=block-lru ftl.mapping=bast \
              workload.synthetic.request_size=64KiB",
    instead: "Where writes are small and random a wider span gains nothing and merges cost more, so that no region \
              changes: `static` does the same. `first-touch` is enough to balance chips.",
    needs: &[SINGLE_CHIP, WRITE_BUFFER],
    offers: &[Capability::SAVED_STATE],
    params: AdaptiveParams::PARAMS,
    statistics: &[],
};

pub(super) struct Adaptive {
    chips: u32,
    widest: u32,
    payback: f64,
}

/// Declares the largest span: a power of two, at most the number of chips.
pub(super) fn profile(params: &AdaptiveParams, chips: u32) -> Profile {
    Profile { widest: 1 << params.widest.min(chips).ilog2() }
}

flashloom_units::state! { Adaptive { fixed chips, widest, payback; } }

impl Adaptive {
    pub(super) fn new(params: AdaptiveParams, &PlacementSetup { chips }: &PlacementSetup) -> Self {
        Self { chips, widest: profile(&params, chips).widest, payback: params.payback }
    }

    /// Time of a run with a span.
    fn time(&self, run: &Run, span: u32, times: &Times) -> Ns {
        let operation_ns = if run.is_write { times.program_ns } else { times.read_ns };
        u64::from(run.pages.div_ceil(span).max(run.together.div_ceil(self.chips))) * operation_ns
    }
}

flashloom_units::component! { Adaptive }

impl Placement for Adaptive {
    fn place(&mut self, lbn: Lbn, _home: Option<u32>) -> u32 {
        lbn.0 % self.chips
    }

    fn chip_of(&self, lbn: Lbn, _home: Option<u32>) -> Option<u32> {
        Some(lbn.0 % self.chips)
    }

    fn watch(&mut self, region: &mut Region, run: &Run, times: &Times) {
        let Region { span, ledger, .. } = region;
        let (narrower, wider) = ((*span / 2).max(1), (*span * 2).min(self.widest));
        if run.is_write {
            ledger.blocks_written += u64::from(run.pages.min(*span));
            ledger.blocks_if_narrower += u64::from(run.pages.min(narrower));
            ledger.blocks_if_wider += u64::from(run.pages.min(wider));
        }
        let copies_ns = u64::from(run.copied) * times.copy_ns;
        let of_copies = |blocks: u64| copies_ns * blocks / ledger.blocks_written.max(1);
        let added_ns = of_copies(ledger.blocks_if_wider - ledger.blocks_written);
        let spared_ns = of_copies(ledger.blocks_written - ledger.blocks_if_narrower);
        let time_ns = self.time(run, *span, times);
        let Ledger { wider_ns, narrower_ns, .. } = ledger;
        *wider_ns = (*wider_ns + time_ns - self.time(run, wider, times)).saturating_sub(added_ns);
        *narrower_ns = (*narrower_ns + spared_ns).saturating_sub(self.time(run, narrower, times) - time_ns);
    }

    fn span(&self, region: &Region, times: &Times) -> u32 {
        let due_ns = self.payback * times.change_ns as f64 * f64::from(region.reversals).exp2();
        if region.ledger.wider_ns as f64 >= due_ns {
            (region.span * 2).min(self.widest)
        } else if region.ledger.narrower_ns as f64 >= due_ns {
            (region.span / 2).max(1)
        } else {
            region.span
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::ParamSet;

    const TIMES: Times = Times { read_ns: 10, program_ns: 20, copy_ns: 30, change_ns: 200 };

    fn adaptive() -> Adaptive {
        Adaptive::new(AdaptiveParams::defaults(), &PlacementSetup { chips: 6 })
    }

    /// The span after each of the given runs of a region. The change of a span resets the measurements.
    fn spans(region: &mut Region, runs: impl IntoIterator<Item = Run>) -> Vec<u32> {
        let mut policy = adaptive();
        let after = |run| {
            policy.watch(region, &run, &TIMES);
            region.change_to(policy.span(region, &TIMES));
            region.span
        };
        runs.into_iter().map(after).collect()
    }

    fn run(pages: u32, together: u32, is_write: bool, copied: u32) -> Run {
        Run { pages, together, is_write, copied }
    }

    #[test]
    fn the_widest_span_is_a_power_of_two_of_the_chips_there_are() {
        assert_eq!(adaptive().widest, 4);
    }

    #[test]
    fn long_reads_widen_a_span_once_a_narrow_one_has_cost_as_much_as_the_change() {
        let read = run(20, 20, false, 0);
        // With a span of one each read takes 20 operations, with two 10: keeping the span loses 100 ns each time.
        assert_eq!(spans(&mut Region::NARROW.clone(), [read; 3]), [1, 2, 2]);
        assert_eq!(spans(&mut Region::NARROW.clone(), [read; 6]), [1, 2, 2, 2, 2, 4]);
    }

    #[test]
    fn single_pages_and_busy_chips_have_nothing_to_spread() {
        for read in [run(1, 1, false, 0), run(4, 24, false, 0)] {
            assert_eq!(spans(&mut Region::NARROW.clone(), [read; 1_000]), [1; 1_000]);
        }
    }

    #[test]
    fn copies_that_more_blocks_would_cost_keep_a_span_narrow() {
        // Twice the span saves 200 ns a write, but doubles its copies, which take 300 ns.
        assert_eq!(spans(&mut Region::NARROW.clone(), [run(20, 20, true, 10); 1_000]), [1; 1_000]);
        assert_eq!(spans(&mut Region::NARROW.clone(), [run(20, 20, true, 0); 1])[0], 2);
    }

    #[test]
    fn dear_merges_narrow_a_span_and_what_goes_back_and_forth_has_to_earn_more() {
        let mut region = Region { span: 2, widened: Some(true), ..Region::NARROW };
        // The second block causes half of the copies: 15 copies of 30 ns. Halving saves these, less the 200 ns that the
        // run takes longer.
        assert_eq!(spans(&mut region, [run(20, 20, true, 30); 1]), [1]);
        assert_eq!(region.reversals, 1);
        let read = run(20, 20, false, 0);
        assert_eq!(spans(&mut region, [read; 4]), [1, 1, 1, 2], "400 ns now, not 200");
        assert_eq!(region.reversals, 2);
    }
}
