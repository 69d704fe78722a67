//! A figure by the values of a varied key: a point for each combination, and the mean of those that share a value.

use serde_json::{Value, json};

use super::chart::{Chart, Kind, Table, head, unit};
use super::facts;
use crate::dataset::{Measure, Rank, amount};
use flashloom_figures::core_figure::CoreFigure;

/// Values that have a place of their own on the axis, at most; numbers beyond that are drawn to scale.
const MAX_PLACES: usize = 24;
/// Ranges that values to scale are gathered in for means.
const RANGES: usize = 8;

/// A combination: its value of the key, its figure, and its name.
pub(super) type Combination<'a> = (&'a Value, f64, &'a str);

/// Combinations whose values are equal or near.
struct Group {
    name: String,
    /// Its place on the axis.
    x: f64,
    figures: Vec<f64>,
}

impl Group {
    fn mean(&self) -> f64 {
        self.figures.iter().sum::<f64>() / self.figures.len() as f64
    }
}

/// The picture of a key; nothing if it has only one value.
pub(super) fn chart(key: &str, mut all: Vec<Combination<'_>>, of: &CoreFigure) -> Option<Chart> {
    all.sort_by_cached_key(|combination| Rank::of(Some(combination.0)));
    let distinct: Vec<&[Combination<'_>]> = all.chunk_by(|a, b| a.0 == b.0).collect();
    if distinct.len() < 2 {
        return None;
    }
    let measure = to_scale(&distinct);
    let (groups, points) = if measure.is_some() { scaled(&all) } else { placed(&distinct) };
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    let (least, most) = extremes(&groups)?;
    let row = |group: &Group| {
        let least = group.figures.iter().copied().fold(f64::INFINITY, f64::min);
        let most = group.figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let figures = [group.mean(), least, most].map(|figure| of.format.text(figure));
        [group.name.clone(), group.figures.len().to_string()].into_iter().chain(figures).collect()
    };
    let columns = ["combinations", "mean", "least", "most"];
    Some(Chart {
        title: format!("By {key}: {}", of.title),
        summary: format!(
            "The mean is least at {}, {}, and most at {}, {}.",
            least.name,
            of.format.text(least.mean()),
            most.name,
            of.format.text(most.mean())
        ),
        kind: Kind::Values,
        spec: json!({
            "key": key, "y": of.title, "unit": unit(of.format),
            "measure": measure.map(Measure::name), "places": measure.is_none().then_some(&names),
            "joined": distinct.iter().all(|group| amount(group[0].0).is_some()),
            "points": points,
            "means": groups.iter().map(|group| json!([group.x, group.mean(), group.name])).collect::<Vec<_>>(),
        }),
        table: Table { head: head(key, columns.into_iter()), rows: groups.iter().map(row).collect() },
    })
}

/// The measure of many numbers of one kind; nothing if each value has a place of its own.
fn to_scale(distinct: &[&[Combination<'_>]]) -> Option<Measure> {
    let mut measures = distinct.iter().map(|group| amount(group[0].0).map(|(measure, _)| measure));
    let first = measures.next()??;
    (distinct.len() > MAX_PLACES && measures.all(|measure| measure == Some(first))).then_some(first)
}

/// A place for each value.
fn placed(distinct: &[&[Combination<'_>]]) -> (Vec<Group>, Vec<Value>) {
    let group = |(at, group): (usize, &&[Combination<'_>])| Group {
        name: facts::short(group[0].0),
        x: at as f64,
        figures: group.iter().map(|&(_, figure, _)| figure).collect(),
    };
    let points = |(at, group): (usize, &&[Combination<'_>])| {
        group.iter().map(|(_, figure, label)| json!([at, figure, label])).collect::<Vec<_>>()
    };
    (distinct.iter().enumerate().map(group).collect(), distinct.iter().enumerate().flat_map(points).collect())
}

/// Numbers to scale, with means over ranges that have about as many combinations each.
fn scaled(all: &[Combination<'_>]) -> (Vec<Group>, Vec<Value>) {
    let number = |of: &Combination<'_>| amount(of.0).map_or(0.0, |(_, number)| number);
    let range = |range: &[Combination<'_>]| {
        let (first, last) = (&range[0], &range[range.len() - 1]);
        Group {
            name: format!("{} to {}", facts::short(first.0), facts::short(last.0)),
            x: number(&range[range.len() / 2]),
            figures: range.iter().map(|&(_, figure, _)| figure).collect(),
        }
    };
    let points = all.iter().map(|of| json!([number(of), of.1, of.2])).collect();
    (all.chunks(all.len().div_ceil(RANGES)).map(range).collect(), points)
}

/// The groups of the least and the largest mean.
fn extremes(groups: &[Group]) -> Option<(&Group, &Group)> {
    let by_mean = |a: &&Group, b: &&Group| a.mean().total_cmp(&b.mean());
    Some((groups.iter().min_by(by_mean)?, groups.iter().max_by(by_mean)?))
}
