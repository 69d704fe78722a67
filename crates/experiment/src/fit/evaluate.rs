//! Simulates cells at points.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use flashloom_units::{Problems, Value};
use rayon::prelude::*;

use super::cell::Cell;
use super::combination::Combination;
use super::figures::Figures;
use super::journal::Journal;
use super::space::Space;
use crate::config::Config;
use crate::run::{AgedDrive, Failure, Prepared, Progress};

/// Error of a cell at a point whose values cannot work together, or whose drive does not serve what was measured: far
/// above any other, so that searches turn back.
pub const IMPOSSIBLE: f64 = 1e6;

/// The aged drive of a combination, once it is needed; `None` if its runs age their own.
type Shared = Mutex<Option<Option<Arc<AgedDrive>>>>;

/// Cells with their prepared drives.
pub struct Evaluator<'a> {
    space: &'a Space,
    combinations: &'a [Combination],
    cells: &'a [Cell],
    prepared: Vec<Prepared<'a>>,
    drives: Vec<Shared>,
    journal: Journal,
    progress: &'a dyn Progress,
    points: AtomicU64,
}

impl<'a> Evaluator<'a> {
    /// An evaluator; each cell has a prepared variant for each combination, and then of each with other seeds.
    pub fn new(
        space: &'a Space,
        combinations: &'a [Combination],
        cells: &'a [Cell],
        prepared: Vec<Prepared<'a>>,
        journal: Journal,
        progress: &'a dyn Progress,
    ) -> Self {
        let drives = combinations.iter().map(|_| Shared::default()).collect();
        Self { space, combinations, cells, prepared, drives, journal, progress, points: AtomicU64::new(0) }
    }

    /// The parameters.
    pub fn space(&self) -> &'a Space {
        self.space
    }

    /// Number of combinations.
    pub fn combinations(&self) -> usize {
        self.combinations.len()
    }

    /// Number of points that were asked for, known ones included, so that a resumed fit counts the same.
    pub fn points(&self) -> u64 {
        self.points.load(Ordering::Relaxed)
    }

    /// The point of the start's own values.
    pub fn start(&self, combination: usize) -> Vec<f64> {
        self.space.point_of(&self.cells[0].experiment.variants[combination].config)
    }

    /// Objective of a point: the mean error of the cells.
    ///
    /// # Errors
    /// A simulation that failed.
    pub fn objective(&self, cells: &[usize], combination: usize, point: &[f64]) -> Result<f64, Failure> {
        self.points.fetch_add(1, Ordering::Relaxed);
        self.mean_error(cells, combination, point, 0)
    }

    /// Objective of a point in simulations with another seed, by its number.
    ///
    /// # Errors
    /// A simulation that failed.
    pub fn reseeded(&self, cells: &[usize], combination: usize, point: &[f64], seed: u64) -> Result<f64, Failure> {
        self.mean_error(cells, combination, point, seed)
    }

    fn mean_error(&self, cells: &[usize], combination: usize, point: &[f64], seed: u64) -> Result<f64, Failure> {
        let values = self.space.values(point);
        let error = |cell: &usize| -> Result<f64, Failure> {
            let simulated = self.figures(*cell, combination, &values, seed)?;
            let error = simulated.and_then(|simulated| self.cells[*cell].recorded.error(&simulated));
            Ok(error.unwrap_or(IMPOSSIBLE))
        };
        let errors: Vec<f64> = cells.par_iter().map(error).collect::<Result<_, Failure>>()?;
        Ok(errors.iter().sum::<f64>() / errors.len() as f64)
    }

    /// Simulated figures of a cell; `None` if the values cannot work together. Seed 0 is that of the fit.
    ///
    /// # Errors
    /// A simulation that failed, or a journal that cannot be written.
    pub fn figures(
        &self,
        cell: usize,
        combination: usize,
        values: &[Value],
        seed: u64,
    ) -> Result<Option<Figures>, Failure> {
        if self.progress.interrupt().is_raised() {
            return Err(Failure::Interrupted);
        }
        let sets = self.space.sets(&self.combinations[combination], values);
        let seeded = if seed > 0 { format!(", seed {seed}") } else { String::new() };
        let at = sets.join(", ") + &seeded;
        if let Some(known) = self.journal.get(cell, &at) {
            return Ok(Some(known));
        }
        let prepared = &self.prepared[cell];
        let experiment = prepared.experiment();
        let index = seed as usize * self.combinations.len() + combination;
        let Ok(variant) = experiment.replaced(&experiment.variants[index], &sets) else { return Ok(None) };
        let sectors = |config: &Config| config.device.capacity_sectors();
        let finished = if sectors(&variant.config) == sectors(&experiment.variants[index].config) {
            let drive = self.drive(combination)?;
            prepared.run_as(index, &variant.config, drive.as_deref(), self.progress)?
        } else {
            // The load spans the drive, so that it is laid out anew on one of another size.
            let mut own = experiment.clone();
            own.variants = vec![variant];
            Prepared::new(&own).map_err(first)?.run_as(0, &own.variants[0].config, None, self.progress)?
        };
        // A drive that fails requests is none that was measured.
        let serves_all = finished.result.host.failed.is_none();
        let figures = if serves_all { self.cells[cell].simulated(&finished.host) } else { Figures([None, None]) };
        self.journal.keep(cell, &at, &figures).map_err(Failure::Unkept)?;
        Ok(Some(figures))
    }

    /// The aged drive of a combination; whoever comes while it is aged waits for it.
    fn drive(&self, combination: usize) -> Result<Option<Arc<AgedDrive>>, Failure> {
        let mut shared = self.drives[combination].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(drive) = &*shared {
            return Ok(drive.clone());
        }
        let drive = self.prepared[0].aged_drive(combination, self.progress)?;
        Ok(shared.insert(drive).clone())
    }
}

/// The first of some problems, as the failure of a fit.
pub fn first(Problems(problems): Problems) -> Failure {
    let problem = problems.into_iter().next();
    problem.map_or_else(|| Failure::Unkept("an input cannot be prepared".to_owned()), Failure::Input)
}
