//! The Pareto front: runs that no other beats in two figures, of which less is better.

use flashloom_experiment::figures::{count, factor, time};
use serde_json::json;

use super::chart::{Chart, Kind, MAX_ROWS, Table, head};
use super::page::Part;

/// A run in the picture.
pub(super) struct Candidate {
    pub(super) label: String,
    /// Blocks that it erased.
    pub(super) erases: f64,
    /// The other figure.
    pub(super) other: f64,
}

/// What is drawn against erases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    /// Latency that 999 of 1,000 requests do not exceed.
    Tail,
    /// Write amplification, of runs that take no time.
    Amplification,
}

impl Against {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tail => "p99.9 of all requests",
            Self::Amplification => "write amplification",
        }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Tail => "time",
            Self::Amplification => "number",
        }
    }

    pub(super) fn text(self, value: f64) -> String {
        match self {
            Self::Tail => time(value),
            Self::Amplification => factor(value),
        }
    }
}

/// The front of some runs, those that are on it joined.
pub(super) fn front(all: &[Candidate], against: Against) -> Part {
    let name = against.name();
    if all.is_empty() {
        return Part::Missing(format!("No Pareto front: no run has {name}."));
    }
    let on_front = is_on_front(&all.iter().map(|run| (run.erases, run.other)).collect::<Vec<_>>());
    let runs = || all.iter().zip(&on_front);
    let is_listed = |is_on: bool| is_on || all.len() <= MAX_ROWS;
    let rows = runs().filter(|&(_, &is_on)| is_listed(is_on)).map(|(run, &is_on)| {
        let place = if is_on { "on the front" } else { "" };
        vec![run.label.clone(), factor(run.erases), against.text(run.other), place.to_owned()]
    });
    let of_these = if all.len() > MAX_ROWS { " The table has these." } else { "" };
    let points = runs().map(|(run, is_on)| json!([run.erases, run.other, run.label, is_on]));
    let on = on_front.iter().filter(|&&is_on| is_on).count();
    Part::Chart(Chart {
        title: format!("Blocks erased and {name}: lower and further left is better"),
        summary: format!("{} of {} runs are on the front.{of_these}", count(on as u64), count(all.len() as u64)),
        kind: Kind::Front,
        spec: json!({
            "x": "blocks erased", "y": name, "unit": against.unit(), "points": points.collect::<Vec<_>>(),
        }),
        table: Table { head: head("run", ["blocks erased", name, ""].into_iter()), rows: rows.collect() },
    })
}

/// Whether each point is on the Pareto front: no other is as low in both figures and lower in one.
fn is_on_front(points: &[(f64, f64)]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    let by_figures =
        |&a: &usize, &b: &usize| points[a].0.total_cmp(&points[b].0).then(points[a].1.total_cmp(&points[b].1));
    order.sort_by(by_figures);
    let mut is_on = vec![false; points.len()];
    let (mut least, mut last) = (f64::INFINITY, None);
    for at in order {
        // Of the points before, which are as low in the first figure, none may be as low in the second, but its twin.
        is_on[at] = points[at].1 < least || last == Some(points[at]);
        if is_on[at] {
            (least, last) = (points[at].1, Some(points[at]));
        }
    }
    is_on
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_on_the_front_if_none_is_better_in_both() {
        let points = [(9.0, 9.0), (1.0, 9.0), (2.0, 5.0), (2.0, 6.0), (3.0, 5.0), (4.0, 1.0), (4.0, 1.0), (9.0, 9.0)];
        assert_eq!(is_on_front(&points), [false, true, true, false, false, true, true, false]);
    }
}
