//! Objectives of points: their cells, simulated or known from the journal, compared with what was measured.

use std::sync::atomic::{AtomicU64, Ordering};

use flashloom_run::{Failure, Progress};
use flashloom_units::{Value, violation};
use rayon::prelude::*;

use super::bench::{Answer, Bench, Question, Simulator};
use super::cell::Cell;
use super::combination::Combination;
use super::figures::Figures;
use super::journal::Journal;
use super::load::Simulated;
use super::space::Space;

/// Objective of a point whose values cannot work together, or of a drive that does not serve the load to its end: far
/// above any other, so that searches turn back.
pub const IMPOSSIBLE: f64 = 1e6;

/// A point of a combination with its objective.
#[derive(Clone, Debug)]
pub struct Found {
    /// Index of the combination.
    pub combination: usize,
    /// The point.
    pub point: Vec<f64>,
    /// Its objective.
    pub objective: f64,
}

/// The cells with what simulates them.
pub struct Evaluator<'a> {
    /// The parameters.
    pub space: &'a Space,
    /// The combinations of listed values.
    pub combinations: &'a [Combination],
    /// The loads on the drive of each combination.
    pub bench: &'a Bench,
    /// The cells.
    pub cells: &'a [Cell],
    /// The simulator, which runs what the journal does not have.
    pub simulator: &'a dyn Simulator,
    /// Known simulations.
    pub journal: Journal,
    /// Progress of the fit.
    pub progress: &'a dyn Progress,
    /// Number of points that were asked for, known ones included, so that a resumed fit counts the same.
    pub points: AtomicU64,
}

impl Evaluator<'_> {
    /// The point of the start's own values.
    pub fn start(&self, combination: usize) -> Vec<f64> {
        self.space.point_of(&self.bench.loads()[0].prepared.experiment().variants[combination].config)
    }

    /// A point with its objective.
    ///
    /// # Errors
    /// A simulation that failed.
    pub fn found(&self, cells: &[usize], combination: usize, point: Vec<f64>) -> Result<Found, Failure> {
        self.points.fetch_add(1, Ordering::Relaxed);
        let objective = self.objective(cells, combination, &point, 0)?;
        Ok(Found { combination, point, objective })
    }

    /// Objective of a drive of which every figure is off by as little as a measurement knows.
    pub fn known(&self, cells: &[usize]) -> f64 {
        cells.iter().map(|cell| self.cells[*cell].recorded.known()).sum::<f64>() / cells.len() as f64
    }

    /// Objective of a point, the mean error of the cells, in simulations with a seed by its number.
    ///
    /// # Errors
    /// A simulation that failed.
    pub fn objective(&self, cells: &[usize], combination: usize, point: &[f64], seed: u64) -> Result<f64, Failure> {
        let values = self.space.values(point);
        let mut loads: Vec<usize> = cells.iter().map(|cell| self.cells[*cell].load).collect();
        loads.dedup();
        let simulate = |load: &usize| self.simulated(*load, combination, &values, seed);
        let simulated = loads.par_iter().map(simulate).collect::<Result<Vec<_>, Failure>>()?;
        let error = |cell: &usize| {
            let Cell { recorded, load, part, .. } = &self.cells[*cell];
            let of_load = loads.iter().position(|known| known == load).and_then(|at| simulated[at].as_ref());
            of_load.and_then(|simulated| recorded.error(&simulated.figures[*part])).unwrap_or(IMPOSSIBLE)
        };
        let errors: Vec<f64> = cells.iter().map(error).collect();
        // One cell that is never reached is not made good by the others.
        let is_served = errors.iter().all(|error| *error < IMPOSSIBLE);
        Ok(if is_served { errors.iter().sum::<f64>() / cells.len() as f64 } else { IMPOSSIBLE })
    }

    /// A load at a point; `None` if the values cannot work together, or the drive's life ends. Seed 0 is that of the
    /// fit.
    ///
    /// # Errors
    /// A simulation that failed, or a journal that cannot be written.
    pub fn simulated(
        &self,
        load: usize,
        combination: usize,
        values: &[Value],
        seed: u64,
    ) -> Result<Option<Simulated>, Failure> {
        if self.progress.interrupt().is_raised() {
            return Err(Failure::Interrupted);
        }
        let sets = self.combinations[combination].options(self.space, values);
        let seeded = if seed > 0 { format!(", seed {seed}") } else { String::new() };
        let at = sets.join(", ") + &seeded;
        if let Some(known) = self.journal.get(load, &at) {
            return Ok(Some(known));
        }
        let question = Question { load, combination, seed, sets };
        let Answer(Some(simulated)) = self.simulator.simulate(&question, self.progress)? else { return Ok(None) };
        let cells = self.cells.iter().filter(|cell| cell.load == load).count();
        if simulated.figures.len() != cells || !simulated.figures.iter().all(Figures::is_sound) {
            let found = simulated.figures.len();
            return Err(Failure::Check(violation!("fit: a simulation has figures of {found} cells, of {cells}")));
        }
        self.journal.keep(load, &at, &simulated).map_err(Failure::Unkept)?;
        Ok(Some(simulated))
    }
}
