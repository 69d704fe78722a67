//! Simulates loads at points, and compares their cells.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use flashloom_units::Value;
use rayon::prelude::*;

use super::cell::Cell;
use super::combination::Combination;
use super::figures::Figures;
use super::journal::Journal;
use super::load::Load;
use super::space::Space;
use crate::config::Variant;
use crate::run::{AgedDrive, Failure, Prepared, Progress};

/// Objective of a point whose values cannot work together, or of a drive that does not serve the load to its end: far
/// above any other, so that searches turn back.
pub const IMPOSSIBLE: f64 = 1e6;

/// True if both drives have the same addresses.
fn has_capacity_of(one: &Variant, other: &Variant) -> bool {
    one.config.device.capacity_sectors() == other.config.device.capacity_sectors()
}

/// The aged drive of a combination, once it is needed; `None` if its runs age their own.
type Shared = Mutex<Option<Option<Arc<AgedDrive>>>>;

/// Loads with their prepared drives, and their cells.
pub struct Evaluator<'a> {
    space: &'a Space,
    combinations: &'a [Combination],
    loads: &'a [Load],
    cells: &'a [Cell],
    prepared: Vec<Prepared<'a>>,
    /// Those of each combination: for loads before which a steady drive has not rested, and for others.
    drives: Vec<[Shared; 2]>,
    journal: Journal,
    progress: &'a dyn Progress,
    points: AtomicU64,
}

impl<'a> Evaluator<'a> {
    /// An evaluator; each load has a prepared variant for each combination, and then of each with other seeds.
    pub fn new(
        space: &'a Space,
        combinations: &'a [Combination],
        (loads, cells): (&'a [Load], &'a [Cell]),
        prepared: Vec<Prepared<'a>>,
        journal: Journal,
        progress: &'a dyn Progress,
    ) -> Self {
        let drives = combinations.iter().map(|_| Default::default()).collect();
        Self { space, combinations, loads, cells, prepared, drives, journal, progress, points: AtomicU64::new(0) }
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
        self.space.point_of(&self.loads[0].experiment.variants[combination].config)
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

    /// Objective of a drive of which every figure is off by as little as a measurement knows.
    pub fn known(&self, cells: &[usize]) -> f64 {
        cells.iter().map(|cell| self.cells[*cell].recorded.known()).sum::<f64>() / cells.len() as f64
    }

    fn mean_error(&self, cells: &[usize], combination: usize, point: &[f64], seed: u64) -> Result<f64, Failure> {
        let values = self.space.values(point);
        let mut loads: Vec<usize> = cells.iter().map(|cell| self.cells[*cell].load).collect();
        loads.dedup();
        let simulate = |load: &usize| self.figures(*load, combination, &values, seed);
        let simulated = loads.par_iter().map(simulate).collect::<Result<Vec<_>, Failure>>()?;
        let error = |cell: &usize| {
            let Cell { recorded, load, part, .. } = &self.cells[*cell];
            let of_load = loads.iter().position(|known| known == load).and_then(|at| simulated[at].as_ref());
            of_load.and_then(|figures| recorded.error(&figures[*part])).unwrap_or(IMPOSSIBLE)
        };
        let errors: Vec<f64> = cells.iter().map(error).collect();
        // One cell that is never reached is not made good by the others.
        let is_served = errors.iter().all(|error| *error < IMPOSSIBLE);
        Ok(if is_served { errors.iter().sum::<f64>() / cells.len() as f64 } else { IMPOSSIBLE })
    }

    /// Simulated figures of the cells of a load; `None` if the values cannot work together, or the drive's life
    /// ends. Seed 0 is that of the fit.
    ///
    /// # Errors
    /// A simulation that failed, or a journal that cannot be written.
    pub fn figures(
        &self,
        load: usize,
        combination: usize,
        values: &[Value],
        seed: u64,
    ) -> Result<Option<Vec<Figures>>, Failure> {
        if self.progress.interrupt().is_raised() {
            return Err(Failure::Interrupted);
        }
        let sets = self.space.sets(&self.combinations[combination], values);
        let seeded = if seed > 0 { format!(", seed {seed}") } else { String::new() };
        let at = sets.join(", ") + &seeded;
        if let Some(known) = self.journal.get(load, &at) {
            return Ok(Some(known));
        }
        let prepared = &self.prepared[load];
        let experiment = prepared.experiment();
        let index = seed as usize * self.combinations.len() + combination;
        let Ok(variant) = experiment.replaced(&experiment.variants[index], &sets) else { return Ok(None) };
        let figures = if has_capacity_of(&variant, &experiment.variants[index]) {
            let drive = self.drive(load, combination)?;
            self.loads[load].simulate(prepared, index, &variant.config, drive.as_deref(), self.progress)?
        } else {
            // Its requests are laid out anew.
            let Ok(alone) = self.loads[load].alone(&variant) else { return Ok(None) };
            let Ok(prepared) = Prepared::new(&alone) else { return Ok(None) };
            self.loads[load].simulate(&prepared, 0, &variant.config, None, self.progress)?
        };
        let Some(figures) = figures else { return Ok(None) };
        self.journal.keep(load, &at, &figures).map_err(Failure::Unkept)?;
        Ok(Some(figures))
    }

    /// The aged drive of a combination for a load; whoever comes while it is aged waits for it.
    fn drive(&self, load: usize, combination: usize) -> Result<Option<Arc<AgedDrive>>, Failure> {
        let rests = self.loads[load].experiment.variants[combination].config.rests();
        let mut shared = self.drives[combination][usize::from(rests)].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(drive) = &*shared {
            return Ok(drive.clone());
        }
        let drive = self.prepared[load].aged_drive(combination, self.progress)?;
        Ok(shared.insert(drive).clone())
    }
}
