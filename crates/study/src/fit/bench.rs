//! Simulates loads at points, on drives that are aged once.

use std::sync::{Arc, Mutex, PoisonError};

use flashloom_config::Variant;
use flashloom_run::{AgedDrive, Failure, Prepared, Progress};
use flashloom_units::Refusal;
use serde::{Deserialize, Serialize};

use super::load::{ReadyLoad, Simulated};

/// A simulation that a fit needs: a load with a point. Its JSON is for a fit of the same fingerprint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Index of the load.
    pub(super) load: usize,
    /// Index of the combination of listed values.
    pub(super) combination: usize,
    /// Number of the seed: 0 is that of the fit.
    pub(super) seed: u64,
    /// Options of the simulated drive.
    pub(super) sets: Vec<String>,
}

/// What came of a simulation; nothing if the values cannot work together, or the drive's life ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer(pub(super) Option<Simulated>);

/// Simulates what a fit needs. A [`Fit`](super::Fit) does so itself; another one may hand the questions to fits in
/// other processes.
pub trait Simulator: Sync {
    /// Answers a question. Called from many threads at a time, up to as many as the pool has that the fit runs in; each
    /// waits for its answer. Equal questions have equal answers, whoever gives them.
    ///
    /// # Errors
    /// A simulation that failed; the fit fails with it.
    fn simulate(&self, question: &Question, progress: &dyn Progress) -> Result<Answer, Failure>;
}

/// The aged drive of a combination, once it is needed; `None` if its runs age their own.
type Shared = Mutex<Option<Option<Arc<AgedDrive>>>>;

/// Loads on the drive of each combination.
pub struct Bench {
    loads: Vec<ReadyLoad>,
    /// Aged drives of each combination: for loads before which a steady drive has not rested, and for others.
    drives: Vec<[Shared; 2]>,
}

impl Bench {
    /// A bench; each load has a run for each of so many combinations, and then of each with other seeds.
    pub fn new(loads: Vec<ReadyLoad>, combinations: usize) -> Self {
        Self { loads, drives: (0..combinations).map(|_| Default::default()).collect() }
    }

    /// The loads.
    pub fn loads(&self) -> &[ReadyLoad] {
        &self.loads
    }

    /// Answers a question.
    ///
    /// # Errors
    /// A simulation that failed, or a question of another fit.
    pub fn simulate(&self, question: &Question, progress: &dyn Progress) -> Result<Answer, Failure> {
        let Question { load, combination, seed, ref sets } = *question;
        let combinations = self.drives.len();
        let of_load = self.loads.get(load).filter(|_| combination < combinations);
        let of_run = of_load.and_then(|load| {
            let index = usize::try_from(seed).ok()?.checked_mul(combinations)?.checked_add(combination)?;
            Some((load, index, load.prepared.experiment().variants.get(index)?))
        });
        let Some((ready, index, own)) = of_run else {
            return Err(Refusal::new("a question of another fit", "one of this fit").into());
        };
        let Ok(variant) = ready.prepared.experiment().replaced(own, sets) else { return Ok(Answer(None)) };
        let capacity = |of: &Variant| of.config.device.capacity_sectors();
        let simulated = if capacity(&variant) == capacity(own) {
            let drive = self.drive(load, combination, progress)?;
            ready.simulate(&ready.prepared, index, &variant.config, drive.as_deref(), progress)?
        } else {
            // Its requests are laid out anew.
            let Ok(alone) = ready.alone(&variant) else { return Ok(Answer(None)) };
            let Ok(prepared) = Prepared::new(&alone) else { return Ok(Answer(None)) };
            ready.simulate(&prepared, 0, &variant.config, None, progress)?
        };
        Ok(Answer(simulated))
    }

    /// The aged drive of a combination for a load; whoever comes while it is aged waits for it.
    fn drive(
        &self,
        load: usize,
        combination: usize,
        progress: &dyn Progress,
    ) -> Result<Option<Arc<AgedDrive>>, Failure> {
        let prepared = &self.loads[load].prepared;
        let rests = prepared.experiment().variants[combination].config.rests();
        let mut shared = self.drives[combination][usize::from(rests)].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(drive) = &*shared {
            return Ok(drive.clone());
        }
        let drive = prepared.aged_drive(combination, progress)?;
        Ok(shared.insert(drive).clone())
    }
}
