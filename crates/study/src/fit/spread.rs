//! Which other values are as good as the fitted ones, as far as these measurements can tell.
//!
//! ```text
//! noise        standard deviation of the objective over [`SEEDS`] seeds of the simulation, at the best point
//! known        the objective of a drive of which every figure is off by a hundredth
//! as good      an objective of at most that of the best point plus twice the noise; where nothing is drawn, as in the
//!              replay of a recording, plus what is known
//! of a range   the least and the greatest value among all simulated points that are as good: those of the searches,
//!              and those on both sides of the best point along each parameter, as far as they are as good
//! of a list    the values of all combinations of which a point is as good
//! determined   these values are within a tenth of the fitted one; of a range from 0, within a tenth of the range
//! ```
//! Parameters that make up for one another are found by searches that end elsewhere, so more restarts find more.

use flashloom_config::Config;
use flashloom_run::Failure;
use flashloom_units::Value;
use rayon::prelude::*;

use super::combination::Combination;
use super::evaluate::{Evaluator, Found};
use super::result::FittedParameter;
use super::search::Search;
use super::space::{Space, number};

/// Seeds of the noise, besides that of the fit.
pub const SEEDS: u64 = 4;
/// Deviations of the noise that are as good.
const DEVIATIONS: f64 = 2.0;
/// First step away from the best point, as a share of a side; each next one is twice as long.
const STEP: f64 = 0.01;
/// Times that the last step is halved.
const HALVES: u32 = 3;
/// Share of a value within which it is determined.
const DETERMINED: f64 = 0.1;

/// Points that are as good as the best.
pub struct Spread {
    /// Standard deviation of the objective over seeds.
    pub noise: f64,
    /// They.
    pub as_good: Vec<Found>,
}

/// Looks for points that are as good as the best of a search.
///
/// # Errors
/// A simulation that failed.
pub fn spread(evaluator: &Evaluator<'_>, cells: &[usize], search: &Search) -> Result<Spread, Failure> {
    let best = &search.best;
    let reseeded = |seed: u64| evaluator.objective(cells, best.combination, &best.point, seed);
    let mut objectives = (1..=SEEDS).into_par_iter().map(reseeded).collect::<Result<Vec<f64>, Failure>>()?;
    objectives.push(best.objective);
    let mean = objectives.iter().sum::<f64>() / objectives.len() as f64;
    let squares: f64 = objectives.iter().map(|one| (one - mean).powi(2)).sum();
    let noise = (squares / (objectives.len() - 1) as f64).sqrt();
    let limit = best.objective + if noise > 0.0 { DEVIATIONS * noise } else { evaluator.known(cells) };
    let directions: Vec<(usize, f64)> = (0..best.point.len()).flat_map(|side| [(side, -1.0), (side, 1.0)]).collect();
    let along = |(side, sign): (usize, f64)| away(evaluator, cells, best, side, sign, limit);
    let sides = directions.into_par_iter().map(along).collect::<Result<Vec<_>, Failure>>()?;
    let seen = search.all.iter().filter(|found| found.objective <= limit).cloned();
    Ok(Spread { noise, as_good: seen.chain(sides.into_iter().flatten()).collect() })
}

/// Points as good as the best along one side of the cube: doubled steps until one is not, then half steps back.
fn away(
    evaluator: &Evaluator<'_>,
    cells: &[usize],
    best: &Found,
    side: usize,
    sign: f64,
    limit: f64,
) -> Result<Option<Found>, Failure> {
    let at = |distance: f64| {
        let mut point = best.point.clone();
        point[side] = (point[side] + sign * distance).clamp(0.0, 1.0);
        evaluator.found(cells, best.combination, point)
    };
    let room = if sign > 0.0 { 1.0 - best.point[side] } else { best.point[side] };
    let (mut good, mut farthest, mut step) = (0.0, None, STEP);
    let mut bad = loop {
        let distance = step.min(room);
        if distance <= good {
            return Ok(farthest);
        }
        let found = at(distance)?;
        if found.objective > limit {
            break distance;
        }
        (good, farthest, step) = (distance, Some(found), step * 2.0);
    };
    for _ in 0..HALVES {
        let middle = (good + bad) / 2.0;
        let found = at(middle)?;
        if found.objective > limit {
            bad = middle;
        } else {
            (good, farthest) = (middle, Some(found));
        }
    }
    Ok(farthest)
}

/// The parameters with their spread.
pub fn parameters(
    space: &Space,
    combinations: &[Combination],
    start: &Config,
    best: &Found,
    spread: &Spread,
) -> Vec<FittedParameter> {
    let own = |key| {
        let value = start.values().find(|(known, _)| *known == key).map(|(_, value)| value.show());
        value.unwrap_or_else(|| Value::Absent.show())
    };
    let of_list = |(number, list): (usize, &super::space::List)| {
        let value_of = |combination: usize| combinations[combination].values[number].clone();
        let mut good = vec![value_of(best.combination)];
        for found in &spread.as_good {
            let value = value_of(found.combination);
            if !good.contains(&value) {
                good.push(value);
            }
        }
        let order = |value: &Value| list.values.iter().position(|known| known == value);
        good.sort_by_key(order);
        FittedParameter {
            key: list.key.path(),
            tried: list.values.iter().map(Value::show).collect(),
            is_range: false,
            start: own(list.key),
            value: value_of(best.combination).show(),
            is_determined: good.len() == 1,
            as_good: good.iter().map(Value::show).collect(),
        }
    };
    let values = space.values(&best.point);
    let of_best = spread.as_good.iter().filter(|found| found.combination == best.combination);
    let good: Vec<Vec<Value>> = of_best.map(|found| space.values(&found.point)).chain([values.clone()]).collect();
    let of_range = |(side, range): (usize, &super::space::Range)| {
        let order = |one: &&Value, other: &&Value| number(one).total_cmp(&number(other));
        let of_side = || good.iter().map(|values| &values[side]);
        let value = &values[side];
        let [least, greatest] = [of_side().min_by(order), of_side().max_by(order)].map(|end| end.unwrap_or(value));
        let about = if range.is_logarithmic() { number(value) } else { number(&range.to) - number(&range.from) };
        let off = (number(greatest) - number(value)).max(number(value) - number(least));
        FittedParameter {
            key: range.key.path(),
            tried: [&range.from, &range.to].map(Value::show).to_vec(),
            is_range: true,
            start: own(range.key),
            value: value.show(),
            as_good: [least, greatest].map(Value::show).to_vec(),
            is_determined: off <= DETERMINED * about,
        }
    };
    let lists = space.lists.iter().enumerate().map(of_list);
    lists.chain(space.ranges.iter().enumerate().map(of_range)).collect()
}
