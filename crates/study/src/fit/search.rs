//! The search for the best point: rounds over the combinations of listed values, and in each a search of the cube.
//!
//! ```text
//! round 1   every combination: the start, and points spread evenly over the cube (Roberts' sequence, moved by the
//!           seed)
//! round 2   the better half, four at least: one search from the best of its points
//! round 3   the best two: searches from the best point known and from the next best of round 1, one for each restart;
//!           then one in a smaller neighbourhood of the best end. If each cell was left out in turn, the fit of all
//!           cells also searches from where those fits ended
//! ```
//! A search is BOBYQA (Powell 2009): a quadratic model through 2 n + 1 points within a box, in a region of trust that
//! shrinks. It takes no derivatives, makes few simulations, and is the same each time.

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};

use basin::{Bobyqa, BoxBounds, ConstraintSet, Constraints, CostFunction, Executor, PointState};
use flashloom_run::Failure;
use flashloom_units::Prng;
use rayon::prelude::*;

use super::evaluate::{Evaluator, Found};

/// Points of round 1 for each side of the cube and one more.
const SPREAD: usize = 4;
/// Simulated points of a search for each side of the cube and one more, at most: in round 2, in round 3, and of the
/// last search.
const BUDGETS: [u64; 3] = [10, 24, 12];
/// Radii of the region of trust, as shares of a side, at the beginning and at the end of these.
const RADII: [[f64; 2]; 3] = [[0.15, 0.02], [0.15, 0.004], [0.03, 0.002]];
/// Combinations that stay for round 2 at least, and for round 3.
const KEPT: [usize; 2] = [4, 2];

/// What a search found.
pub struct Search {
    /// The best point.
    pub best: Found,
    /// Every point that was simulated.
    pub all: Vec<Found>,
    /// Ends of the searches of round 3 in the best combination, the best first.
    pub ends: Vec<Found>,
    /// The last round of each combination.
    pub rounds: Vec<u64>,
}

/// The best of some points: of equal ones the first.
fn best<'a>(found: impl IntoIterator<Item = &'a Found>) -> Option<&'a Found> {
    found.into_iter().min_by(|one, other| by_objective(one, other))
}

fn by_objective(one: &Found, other: &Found) -> Ordering {
    one.objective.total_cmp(&other.objective)
}

/// Searches the parameters that repeat these cells best; round 3 also searches from points that are known already.
///
/// # Errors
/// A simulation that failed.
pub fn search(
    evaluator: &Evaluator<'_>,
    cells: &[usize],
    restarts: u64,
    seed: u64,
    known: &[Found],
) -> Result<Search, Failure> {
    let sides = evaluator.space.ranges.len();
    let combinations = evaluator.combinations.len();
    let mut rounds = vec![1; combinations];
    let first = |combination: usize| -> Result<Vec<Found>, Failure> {
        let points = spread(&evaluator.start(combination), SPREAD * (sides + 1), seed);
        points.into_par_iter().map(|point| evaluator.found(cells, combination, point)).collect()
    };
    let of_first: Vec<Vec<Found>> = (0..combinations).into_par_iter().map(first).collect::<Result<_, Failure>>()?;
    let mut all: Vec<Found> = of_first.concat();
    if sides > 0 {
        let mut order: Vec<Found> = of_first.iter().filter_map(best).cloned().collect();
        order.sort_by(by_objective);
        if combinations > 1 {
            order.truncate(KEPT[0].max(combinations.div_ceil(2)));
            let ends = searches(evaluator, cells, &order, 0)?;
            order = ends.iter().filter_map(best).cloned().collect();
            order.iter().for_each(|found| rounds[found.combination] = 2);
            order.sort_by(by_objective);
            all.extend(ends.concat());
        }
        order.truncate(KEPT[1]);
        let mut starts = Vec::new();
        for known in &order {
            rounds[known.combination] = 3;
            let mut others = of_first[known.combination].clone();
            others.sort_by(by_objective);
            let others = others.into_iter().filter(|other| other.point != known.point);
            starts.extend([known.clone()].into_iter().chain(others).take(restarts as usize));
        }
        for other in known {
            rounds[other.combination] = 3;
            starts.push(evaluator.found(cells, other.combination, other.point.clone())?);
        }
        let ends = searches(evaluator, cells, &starts, 1)?;
        all.extend(ends.iter().flatten().cloned());
        let last = best(&all).map(|found| vec![found.clone()]).unwrap_or_default();
        all.extend(searches(evaluator, cells, &last, 2)?.concat());
        let best = best(&all).expect("every combination has a point").clone();
        let mut ends: Vec<Found> = ends.iter().filter_map(self::best).cloned().collect();
        ends.retain(|end| end.combination == best.combination);
        ends.sort_by(by_objective);
        return Ok(Search { best, all, ends, rounds });
    }
    let best = best(&all).expect("every combination has a point").clone();
    Ok(Search { ends: vec![best.clone()], best, all, rounds })
}

/// Searches from each of these points; the result of each is all that it simulated.
fn searches(
    evaluator: &Evaluator<'_>,
    cells: &[usize],
    starts: &[Found],
    round: usize,
) -> Result<Vec<Vec<Found>>, Failure> {
    starts.par_iter().map(|start| descend(evaluator, cells, start, round)).collect()
}

/// One search. Every point that it simulates is part of the result, the start too.
fn descend(evaluator: &Evaluator<'_>, cells: &[usize], start: &Found, round: usize) -> Result<Vec<Found>, Failure> {
    let sides = start.point.len();
    let seen = Mutex::new(vec![start.clone()]);
    let problem = Cube {
        ends: [vec![0.0; sides], vec![1.0; sides]],
        cost: &|point: &Vec<f64>| {
            let found = evaluator.found(cells, start.combination, point.clone())?;
            let objective = found.objective;
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(found);
            Ok(objective)
        },
    };
    let [from, to] = RADII[round];
    let solver = Bobyqa::new().with_initial_radius(from).with_final_radius(to);
    let budget = BUDGETS[round] * (sides as u64 + 1);
    let ended = Executor::new(problem, solver, PointState::new(start.point.clone())).max_cost_evals(budget).run();
    match ended {
        Ok(_) => {}
        Err(basin::ConstraintSolveError::Evaluation(Stopped(failure))) => return Err(failure),
        Err(error) => unreachable!("the unit cube is a box: {error}"),
    }
    Ok(seen.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The unit cube with the objective.
struct Cube<'a> {
    ends: [Vec<f64>; 2],
    cost: &'a dyn Fn(&Vec<f64>) -> Result<f64, Failure>,
}

/// The failure of a simulation, in the form of an error.
#[derive(Debug)]
struct Stopped(Failure);

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Stopped {}

impl CostFunction for Cube<'_> {
    type Param = Vec<f64>;
    type Output = f64;
    type Error = Stopped;

    fn cost(&self, point: &Vec<f64>) -> Result<f64, Stopped> {
        (self.cost)(point).map_err(Stopped)
    }
}

impl Constraints for Cube<'_> {
    type Set = ConstraintSet<BoxBounds<Vec<f64>>>;

    fn constraints(&self) -> <Self::Set as basin::ConstraintDescription>::Borrowed<'_> {
        ConstraintSet::new().with_bounds(BoxBounds::new(Some(&self.ends[0]), Some(&self.ends[1])))
    }
}

/// A start, and so many points less one that are spread evenly over the cube: the additive sequence of the generalised
/// golden ratio (Roberts 2018), moved by the seed.
fn spread(start: &[f64], points: usize, seed: u64) -> Vec<Vec<f64>> {
    let sides = start.len();
    // The root of x^(n+1) = x + 1, by a fixed number of steps that converge.
    let root = (0..64).fold(2.0_f64, |root, _| libm::pow(1.0 + root, 1.0 / (sides as f64 + 1.0)));
    let mut prng = Prng::new(seed).branch("fit");
    let offset: Vec<f64> = (0..sides).map(|_| prng.below(1 << 32) as f64 / (1_u64 << 32) as f64).collect();
    let point = |number: usize| -> Vec<f64> {
        let step = |side: usize| offset[side] + number as f64 * libm::pow(root, -(side as f64 + 1.0));
        (0..sides).map(|side| step(side).fract()).collect()
    };
    let others = if sides == 0 { 1 } else { points.max(1) };
    std::iter::once(start.to_vec()).chain((1..others).map(point)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_spread_evenly_and_moved_by_the_seed() {
        let points = spread(&[0.5, 0.5], 41, 1);
        assert_eq!((points.len(), &points[0]), (41, &vec![0.5, 0.5]));
        for quarter in 0..4 {
            let within = |point: &&Vec<f64>| (point[0] * 2.0) as usize + 2 * (point[1] * 2.0) as usize == quarter;
            let count = points[1..].iter().filter(within).count();
            assert!((8..=12).contains(&count), "{count} of 40 points in a quarter");
        }
        assert_ne!(points[1], spread(&[0.5, 0.5], 2, 2)[1]);
        assert_eq!(spread(&[], 9, 1), vec![Vec::<f64>::new()]);
    }
}
