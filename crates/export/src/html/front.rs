//! The Pareto front: combinations that no other beats in two figures.
//!
//! ```text
//! a beats b      a is better in one figure, and not worse in the other
//! better, worse  beyond the 95 % interval of the difference, by pairs of the same seed
//!                without such pairs: the intervals of the two means do not overlap
//!                of one run: its interval is taken to be 1 % to either side, so that 2 % tell
//! ```
//!
//! So a difference that may be chance wins nothing. All pairs of combinations are looked at if they are few; of many
//! the intervals of the means alone count, which takes one pass over each figure.

use std::cmp::Ordering;

use flashloom_figures::estimate::Estimate;
use flashloom_figures::number::count;
use flashloom_units::Best;
use serde_json::{Value, json};

use super::chart::{Chart, Kind, MAX_ROWS, Table, head, unit};
use super::figure::{ERASES, FIGURES, P99_9, WAF, estimated};
use super::section::Part;

/// Half the width of the interval of a single run, as a share of its figure.
const OF_ONE: f64 = 0.01;
/// Combinations whose differences are looked at one by one, at most.
const MAX_PAIRED: usize = 300;
/// Combinations on the front that the sentence below the picture names, at most.
const MAX_NAMED: usize = 4;

/// A combination in the picture.
pub(super) struct Candidate {
    pub(super) label: String,
    /// The seeds of its runs.
    pub(super) seeds: Vec<String>,
    /// Values of each of [`FIGURES`], in the order of the seeds; nothing if a run lacks it.
    pub(super) figures: Vec<Option<Vec<f64>>>,
}

impl Candidate {
    fn estimate(&self, figure: usize) -> Option<Estimate> {
        self.figures[figure].as_deref().filter(|values| !values.is_empty()).map(Estimate::of)
    }

    /// A figure as tables show it.
    pub(super) fn text(&self, figure: usize) -> String {
        let shown = |estimate| estimated(estimate, self.seeds.len(), FIGURES[figure].format);
        self.estimate(figure).map_or_else(|| "-".to_owned(), shown)
    }

    /// Its cost in a figure, of which less is better.
    fn cost(&self, figure: usize) -> Option<Cost<'_>> {
        let sign = if FIGURES[figure].best == Best::Highest { -1.0 } else { 1.0 };
        let Estimate { mean, half_width } = self.estimate(figure)?;
        let half_width = if self.seeds.len() > 1 { half_width } else { OF_ONE * mean.abs() };
        let values = self.figures[figure].as_deref()?;
        Some(Cost { low: sign * mean - half_width, high: sign * mean + half_width, values, sign, seeds: &self.seeds })
    }
}

/// A figure of a combination as a cost.
struct Cost<'a> {
    low: f64,
    high: f64,
    values: &'a [f64],
    sign: f64,
    seeds: &'a [String],
}

impl Cost<'_> {
    /// Less if it is better than another beyond what may be chance.
    fn compare(&self, other: &Self) -> Ordering {
        let (low, high) = if self.seeds.len() > 1 && self.seeds == other.seeds {
            let pairs = self.values.iter().zip(other.values);
            let difference = Estimate::of(&pairs.map(|(own, other)| self.sign * (own - other)).collect::<Vec<_>>());
            (difference.low(), difference.high())
        } else {
            (self.low - other.high, self.high - other.low)
        };
        match (low, high) {
            (_, high) if high < 0.0 => Ordering::Less,
            (low, _) if low > 0.0 => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}

/// How a figure of a combination differs from that of the first one.
pub(super) struct Difference {
    /// Relative to the first one's mean; nothing if that is zero.
    pub(super) relative: Option<f64>,
    /// Whether it is told from what may be chance.
    pub(super) is_told: bool,
}

impl Candidate {
    /// The difference of a figure from that of another; nothing if one of them lacks it.
    pub(super) fn difference(&self, from: &Self, figure: usize) -> Option<Difference> {
        let (own, other) = (self.cost(figure)?, from.cost(figure)?);
        let [mean, base] = [self.estimate(figure)?.mean, from.estimate(figure)?.mean];
        let relative = (base != 0.0).then(|| mean / base - 1.0);
        Some(Difference { relative, is_told: own.compare(&other).is_ne() })
    }
}

/// Whether a figure differs between the first combination and another.
fn differs(all: &[Candidate], figure: usize) -> bool {
    let first = &all[0];
    all[1..].iter().any(|other| other.difference(first, figure).is_some_and(|difference| difference.is_told))
}

/// The axes at first: blocks erased and p99.9 of all requests, without time write amplification; but figures that
/// differ, if there are two.
fn axes(all: &[Candidate], offered: &[usize]) -> (usize, usize) {
    let usual = (ERASES, if offered.contains(&P99_9) { P99_9 } else { WAF });
    let mut differing = offered.iter().copied().filter(|&figure| differs(all, figure));
    if differs(all, usual.0) && differs(all, usual.1) {
        return usual;
    }
    match (differing.next(), differing.next_back()) {
        (Some(first), Some(last)) => (last, first),
        _ => usual,
    }
}

/// The front of some combinations over two figures, to be chosen.
pub(super) fn front(all: &[Candidate]) -> Vec<Part> {
    let has = |figure: &usize| all.iter().any(|candidate| candidate.figures[*figure].is_some());
    let offered: Vec<usize> = (0..FIGURES.len()).filter(has).collect();
    let (x, y) = if all.is_empty() { (ERASES, WAF) } else { axes(all, &offered) };
    if !(has(&x) && has(&y)) {
        return vec![Part::Missing(format!(
            "No Pareto front: no run has {} and {}.",
            FIGURES[x].title, FIGURES[y].title
        ))];
    }
    let is_paired = all.len() <= MAX_PAIRED && all.iter().any(|candidate| candidate.seeds.len() > 1);
    let fronts = fronts(all, &offered, is_paired);
    let chosen = fronts.iter().find(|front| front.is_of(x, y));
    let on = chosen.map_or(&[][..], |front| &front.on);
    let place = |figure: usize| offered.iter().position(|&one| one == figure);
    let is_listed = |at: &usize| on.contains(at) || all.len() <= MAX_ROWS;
    let row = |at: usize| {
        let mark = if on.contains(&at) { "on the front" } else { "" };
        vec![all[at].label.clone(), all[at].text(x), all[at].text(y), mark.to_owned()]
    };
    let names = |figure: &usize| {
        let of = &FIGURES[*figure];
        json!({ "name": of.title, "unit": unit(of.format), "more": of.best == Best::Highest })
    };
    let chart = Chart {
        title: "Combinations that no other beats".to_owned(),
        summary: chosen.map_or_else(String::new, |front| front.summary.clone()),
        kind: Kind::Front,
        spec: json!({
            "figures": offered.iter().map(names).collect::<Vec<_>>(),
            "runs": all.iter().map(|candidate| drawn(candidate, &offered)).collect::<Vec<_>>(),
            "fronts": fronts.iter().map(|front| json!({
                "x": place(front.x), "y": place(front.y), "on": front.on, "summary": front.summary,
            })).collect::<Vec<_>>(),
            "x": place(x), "y": place(y), "listed": MAX_ROWS,
        }),
        table: Table {
            head: head("run", [FIGURES[x].title, FIGURES[y].title, ""].into_iter()),
            rows: (0..all.len()).filter(is_listed).map(row).collect(),
        },
    };
    vec![Part::Chart(chart), Part::Text(rule(all, is_paired))]
}

/// What `front.js` draws of a combination.
fn drawn(candidate: &Candidate, offered: &[usize]) -> Value {
    let estimate = |of: fn(Estimate) -> f64| -> Vec<Option<f64>> {
        offered.iter().map(|&figure| candidate.estimate(figure).map(of)).collect()
    };
    let texts: Vec<String> = offered.iter().map(|&figure| candidate.text(figure)).collect();
    json!({
        "name": candidate.label, "means": estimate(|of| of.mean), "halves": estimate(|of| of.half_width),
        "texts": texts,
    })
}

/// What counts as better, in words.
fn rule(all: &[Candidate], is_paired: bool) -> String {
    let beats = "One beats another if it is better in one figure and not worse in the other";
    if is_paired {
        format!(
            "{beats}, both beyond the 95 % interval of their difference, by pairs of the same seed; so those on the \
             front may be no better than others there. Bars are the intervals of the means."
        )
    } else if all.iter().any(|candidate| candidate.seeds.len() > 1) {
        format!("{beats}, both by more than the 95 % intervals of the means, which are the bars.")
    } else {
        format!(
            "{beats}, both by more than {} %: of one run each nobody knows what is chance. Several seeds measure it, \
             and the front then counts what they tell.",
            200.0 * OF_ONE
        )
    }
}

/// The front over two figures.
struct Front {
    x: usize,
    y: usize,
    /// Indices of the combinations on it.
    on: Vec<usize>,
    summary: String,
}

impl Front {
    fn is_of(&self, x: usize, y: usize) -> bool {
        [(x, y), (y, x)].contains(&(self.x, self.y))
    }
}

/// The front over each two of the figures offered.
fn fronts(all: &[Candidate], offered: &[usize], is_paired: bool) -> Vec<Front> {
    let costs = |&figure: &usize| -> Vec<Option<Cost<'_>>> { all.iter().map(|of| of.cost(figure)).collect() };
    let costs: Vec<_> = offered.iter().map(costs).collect();
    let orders: Vec<_> = costs.iter().map(|costs| if is_paired { orders(costs) } else { Vec::new() }).collect();
    let mut fronts = Vec::new();
    for one in 0..offered.len() {
        for other in one + 1..offered.len() {
            let both = |at: &usize| costs[one][*at].is_some() && costs[other][*at].is_some();
            let members: Vec<usize> = (0..all.len()).filter(both).collect();
            let beaten = if is_paired {
                beaten_by_pairs(&members, &orders[one], &orders[other], all.len())
            } else {
                beaten_by_intervals(&members, &costs[one], &costs[other])
            };
            let on: Vec<usize> = members.iter().zip(beaten).filter_map(|(&at, is)| (!is).then_some(at)).collect();
            let summary = summary(all, &on, members.len());
            fronts.push(Front { x: offered[one], y: offered[other], on, summary });
        }
    }
    fronts
}

fn summary(all: &[Candidate], on: &[usize], members: usize) -> String {
    let names = on.iter().map(|&at| all[at].label.as_str()).collect::<Vec<_>>().join("; ");
    let named = if on.is_empty() || on.len() > MAX_NAMED { String::new() } else { format!(": {names}") };
    let of_these = if all.len() > MAX_ROWS { " The table has these." } else { "" };
    let number = |number: usize| count(number as u64);
    format!("{} of {} combinations are on the front{named}.{of_these}", number(on.len()), number(members))
}

/// How the cost of each combination compares with that of each other.
fn orders(costs: &[Option<Cost<'_>>]) -> Vec<Ordering> {
    let mut orders = vec![Ordering::Equal; costs.len() * costs.len()];
    for (a, one) in costs.iter().enumerate() {
        for (b, other) in costs[..a].iter().enumerate() {
            if let (Some(one), Some(other)) = (one, other) {
                let order = one.compare(other);
                (orders[a * costs.len() + b], orders[b * costs.len() + a]) = (order, order.reverse());
            }
        }
    }
    orders
}

/// Whether each member is beaten by another.
fn beaten_by_pairs(members: &[usize], x: &[Ordering], y: &[Ordering], all: usize) -> Vec<bool> {
    let beats = |a: usize, b: usize| {
        let (x, y) = (x[a * all + b], y[a * all + b]);
        (x.is_lt() && y.is_le()) || (y.is_lt() && x.is_le())
    };
    members.iter().map(|&b| members.iter().any(|&a| beats(a, b))).collect()
}

/// Whether each member is beaten by another, if intervals tell where they do not overlap.
fn beaten_by_intervals(members: &[usize], x: &[Option<Cost<'_>>], y: &[Option<Cost<'_>>]) -> Vec<bool> {
    let ends = |of: &[Option<Cost<'_>>]| -> Vec<(f64, f64)> {
        members.iter().filter_map(|&at| of[at].as_ref()).map(|cost| (cost.low, cost.high)).collect()
    };
    let (x, y) = (ends(x), ends(y));
    let by_x = beaten_by_first(&x, &y);
    by_x.into_iter().zip(beaten_by_first(&y, &x)).map(|(by_x, by_y)| by_x || by_y).collect()
}

/// Whether another interval ends below each in the first figure, and does not lie above it in the second.
fn beaten_by_first(first: &[(f64, f64)], second: &[(f64, f64)]) -> Vec<bool> {
    let sorted = |end: fn(&(f64, f64)) -> f64| {
        let mut order: Vec<usize> = (0..first.len()).collect();
        order.sort_by(|&a, &b| end(&first[a]).total_cmp(&end(&first[b])));
        order
    };
    let mut ended = sorted(|of| of.1).into_iter().peekable();
    let mut least = f64::INFINITY;
    let mut beaten = vec![false; first.len()];
    for at in sorted(|of| of.0) {
        while let Some(other) = ended.next_if(|&other| first[other].1 < first[at].0) {
            least = least.min(second[other].0);
        }
        beaten[at] = least <= second[at].1;
    }
    beaten
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A combination with these values of erases and p99.9, one a seed.
    fn candidate(erases: &[f64], tail: &[f64]) -> Candidate {
        let mut figures = vec![None; FIGURES.len()];
        (figures[ERASES], figures[P99_9]) = (Some(erases.to_vec()), Some(tail.to_vec()));
        Candidate { label: String::new(), seeds: (0..erases.len()).map(|seed| seed.to_string()).collect(), figures }
    }

    /// Indices of those on the front.
    fn on(all: &[Candidate]) -> Vec<usize> {
        let is_paired = all.iter().any(|of| of.seeds.len() > 1);
        fronts(all, &[P99_9, ERASES], is_paired).remove(0).on
    }

    #[test]
    fn a_combination_is_on_the_front_if_no_other_is_better_in_one_figure_and_as_good_in_the_other() {
        let points = [(9.0, 9.0), (1.0, 9.0), (2.0, 5.0), (2.0, 6.0), (3.0, 5.0), (4.0, 1.0), (4.0, 1.0), (9.0, 9.0)];
        assert_eq!(on(&points.map(|(x, y)| candidate(&[x], &[y]))), [1, 2, 5, 6]);
    }

    #[test]
    fn the_front_opens_on_figures_that_differ() {
        let offered = [0, P99_9, ERASES];
        let of = |rate: f64, erases: f64, tail: f64| {
            let mut of = candidate(&[erases], &[tail]);
            of.figures[0] = Some(vec![rate]);
            of
        };
        assert_eq!(axes(&[of(1.0, 10.0, 5.0), of(2.0, 20.0, 9.0)], &offered), (ERASES, P99_9));
        assert_eq!(axes(&[of(1.0, 10.0, 5.0), of(2.0, 10.0, 9.0)], &offered), (P99_9, 0), "as many erases");
        assert_eq!(axes(&[of(1.0, 10.0, 5.0), of(1.0, 10.0, 9.0)], &offered), (ERASES, P99_9), "one differs");
    }

    #[test]
    fn one_erase_of_1647_wins_nothing() {
        // README's first comparison: erases, and p99 of reads in ms.
        let schedulers = [(1_647.0, 5.01), (1_646.0, 5.57), (1_646.0, 6.53), (1_724.0, 62.9), (1_648.0, 4.12)];
        assert_eq!(on(&schedulers.map(|(x, y)| candidate(&[x], &[y]))), [4]);
        let [few, many] = [candidate(&[1_600.0], &[14.0]), candidate(&[1_647.0], &[13.0])];
        assert_eq!(on(&[few, many]), [0, 1], "3 % do, in either figure");
    }

    #[test]
    fn of_several_seeds_the_interval_of_the_paired_difference_tells() {
        // Their own intervals overlap, but the second is 1 less with every seed.
        let paired = [candidate(&[100.0, 200.0, 300.0], &[5.0; 3]), candidate(&[99.0, 199.1, 298.9], &[5.0; 3])];
        assert_eq!(on(&paired), [1]);
        let chance = [candidate(&[100.0, 200.0, 300.0], &[5.0; 3]), candidate(&[99.0, 201.0, 298.0], &[5.0; 3])];
        assert_eq!(on(&chance), [0, 1]);
        let mut strangers = paired;
        strangers[1].seeds = ["7", "8", "9"].map(str::to_owned).to_vec();
        assert_eq!(on(&strangers), [0, 1], "other seeds are no pairs");
    }

    #[test]
    fn a_figure_of_which_more_is_better_counts_so() {
        let rate = |rate: f64, erases: f64| {
            let mut of = candidate(&[erases], &[5.0]);
            of.figures[0] = Some(vec![rate]);
            of
        };
        let all = [rate(100.0, 10.0), rate(200.0, 10.0), rate(300.0, 20.0)];
        assert_eq!(fronts(&all, &[0, ERASES], false).remove(0).on, [1, 2]);
    }

    #[test]
    fn one_pass_over_intervals_finds_what_every_pair_of_them_does() {
        // Numbers that are neither in order nor all different.
        let value = |at: usize, by: usize| ((at * by) % 97) as f64 / 10.0;
        let all: Vec<Candidate> =
            (0..200).map(|at| candidate(&[1.0 + value(at, 31)], &[1.0 + value(at, 57)])).collect();
        let of = |figure: usize| -> Vec<Option<Cost<'_>>> { all.iter().map(|of| of.cost(figure)).collect() };
        let (x, y): (Vec<_>, Vec<_>) = (of(P99_9), of(ERASES));
        let members: Vec<usize> = (0..all.len()).collect();
        let by_pairs = beaten_by_pairs(&members, &orders(&x), &orders(&y), all.len());
        assert_eq!(beaten_by_intervals(&members, &x, &y), by_pairs);
        assert!(by_pairs.contains(&false) && by_pairs.contains(&true));
    }
}
