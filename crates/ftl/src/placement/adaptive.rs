//! Adaptive: how many chips a logical block spans follows what it costs (CAVE, section 6, future work).
//!
//! ```text
//! region   `widest` logical blocks that follow each other; with a span of c, page p of c of them is on chip p mod c
//! watched  for each region: pages written, how many of them together, and pages that merges copied for it
//! after `window` pages of a region:
//!     copies a page > narrow_above                            halve the span: merges of scattered pages cost too much
//!     copies a page < widen_below, and at least twice the
//!     span of pages are written together on average           double it: more chips can take them at once
//! ```
//!
//! A wider span writes and reads a run on several chips at once, and makes every merge of its pages a merge of several
//! blocks. A change moves the whole region, which is counted as migrated pages. The paper names the idea and no rule:
//! this one is ours. Regions begin with a span of one; the last, incomplete region keeps it.

use flashloom_units::{Kind, Lbn, Need, ParamSet, PolicySpec, Value, params};

use super::{Placement, Region};

params! {
    /// Parameters of the adaptive placement.
    pub struct Params {
        /// Most chips that a logical block spans, rounded down to a power of two and to the chips there are.
        widest: u32 => "widest", Kind::Count { min: 2, max: 65_536 }, Value::Count(8), "Wider spans are faster for long runs and cost more to merge; a region is moved as a whole.";
        /// Pages of a region after which its span is thought over.
        window: u32 => "window", Kind::Count { min: 1, max: 1 << 30 }, Value::Count(4_096), "A short window follows the load quickly and moves regions often.";
        /// Copies a page above which the span is halved.
        narrow_above: f64 => "narrow_above", Kind::Ratio { min: 0.0, max: 1_000.0 }, Value::Ratio(2.0), "A higher limit accepts more copies for parallelism.";
        /// Copies a page below which the span may be doubled.
        widen_below: f64 => "widen_below", Kind::Ratio { min: 0.0, max: 1_000.0 }, Value::Ratio(0.5), "A higher limit widens more regions.";
    }
}

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "adaptive",
    summary: "a logical block spans as many chips as its merges can afford",
    details: "Logical block lbn begins on chip lbn mod chips. Regions that are written in long runs and merge cheaply are \
              spread over more chips, those that merge dearly over fewer.",
    source: "Park et al.: CAVE, SAC 2011, section 6 (future work); the rule is this project's",
    needs: &[Need::SingleChannelFtl, Need::WriteBuffer],
    params: Params::PARAMS,
    statistics: &[],
};

pub(super) struct State {
    chips: u32,
    widest: u32,
    params: Params,
}

impl State {
    pub(super) fn new(values: &[Value], chips: u32) -> Self {
        let params = Params::from_values(values);
        let most = params.widest.min(chips);
        Self { chips, widest: 1 << most.ilog2(), params }
    }
}

impl Placement for State {
    fn place(&mut self, lbn: Lbn, _home: Option<u32>) -> u32 {
        lbn.0 % self.chips
    }

    fn widest(&self) -> u32 {
        self.widest
    }

    fn window(&self) -> u32 {
        self.params.window
    }

    fn span(&mut self, region: &Region) -> u32 {
        let cost = f64::from(region.copies) / f64::from(region.pages.max(1));
        let together = region.pages / region.runs.max(1);
        if cost > self.params.narrow_above {
            (region.span / 2).max(1)
        } else if cost < self.params.widen_below && together >= 2 * region.span {
            (region.span * 2).min(self.widest)
        } else {
            region.span
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_widen_a_span_step_by_step_and_dear_merges_narrow_it() {
        let values: Vec<Value> = Params::PARAMS.iter().map(|param| param.default.clone()).collect();
        let mut adaptive = State::new(&values, 6);
        assert_eq!(adaptive.widest(), 4);
        let region = |span, pages, runs, copies| Region { span, pages, runs, copies };
        assert_eq!(adaptive.span(&region(1, 4_096, 64, 0)), 2);
        assert_eq!(adaptive.span(&region(2, 4_096, 64, 0)), 4);
        assert_eq!(adaptive.span(&region(4, 4_096, 64, 0)), 4);
        assert_eq!(adaptive.span(&region(2, 4_096, 4_096, 0)), 2, "single pages have nothing to spread");
        assert_eq!(adaptive.span(&region(2, 4_096, 64, 4_096)), 2);
        assert_eq!(adaptive.span(&region(2, 4_096, 64, 9_000)), 1);
    }
}
