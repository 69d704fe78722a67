//! Aged drives that several runs of a comparison use: each is aged by the first run that needs it, and dropped after
//! the last has taken it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Failure;
use super::aged::{AgedDrive, AgedDrives, check_saving};
use super::engines::Preparation;
use super::spent::{Keys, flash_keys};
use flashloom_config::{Config, Experiment};

/// The drives that the runs of a comparison share.
pub struct Shares {
    /// Index of each variant's drive; `None` for a variant that ages its own.
    of_variants: Vec<Option<usize>>,
    drives: Vec<Mutex<Share>>,
    handing: Handing,
}

/// Whether runs hand the flash of their drive on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Handing {
    /// They do not.
    Never,
    /// Each to one that comes later, of several at a time.
    AmongSeveral,
    /// Each to the next: there is no other run while there is one.
    OneByOne,
}

/// A drive shared by several runs.
#[derive(Default)]
struct Share {
    /// Number of runs that still need it.
    left: usize,
    /// Whether its flash goes from each of them to the next.
    is_one_by_one: bool,
    drive: Option<Result<Arc<AgedDrive>, Failure>>,
}

impl Shares {
    /// Groups the runs by their aged drives.
    pub fn new(experiment: &Experiment, verify: bool, handing: Handing) -> Self {
        let (mut aged, mut drives) = (AgedDrives::new(verify), Vec::<Share>::new());
        let mut flash: Vec<Option<Keys>> = Vec::new();
        let mut share_of = |config: &Config| {
            if check_saving(experiment, config).is_err() {
                return None;
            }
            let (known, keys) = (aged.number_of(config), flash_keys(config));
            if known == drives.len() {
                flash.push(keys.clone());
                drives.push(Share { is_one_by_one: handing == Handing::OneByOne, ..Share::default() });
            }
            let share = &mut drives[known];
            share.left += 1;
            share.is_one_by_one = share.is_one_by_one && keys.is_some() && flash[known] == keys;
            Some(known)
        };
        let of_variants: Vec<_> = experiment.variants.iter().map(|variant| share_of(&variant.config)).collect();
        let is_shared = |drive: &usize| drives[*drive].left > 1;
        let of_variants = of_variants.into_iter().map(|drive| drive.filter(is_shared)).collect();
        Self { of_variants, drives: drives.into_iter().map(Mutex::new).collect(), handing }
    }

    /// Index of the drive that a variant shares with others of the same index; `None` if it ages its own.
    pub fn of(&self, index: usize) -> Option<usize> {
        self.of_variants[index]
    }

    fn share(&self, index: usize) -> Option<MutexGuard<'_, Share>> {
        let share = &self.drives[self.of(index)?];
        Some(share.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Releases the share of a variant that does not run, instead of taking its drive.
    pub fn forgo(&self, index: usize) {
        if let Some(mut share) = self.share(index) {
            share.left -= 1;
        }
    }

    /// The drive of a variant; `None` if it ages its own, because no other run needs it. To be called once per variant.
    ///
    /// # Errors
    /// The errors of ageing it.
    pub fn drive(&self, index: usize, with: Preparation<'_>) -> Result<Option<Arc<AgedDrive>>, Failure> {
        // Whoever comes meanwhile waits here for the drive that it would otherwise age itself.
        let Some(mut share) = self.share(index) else { return Ok(None) };
        share.left -= 1;
        if share.left == 0 && share.drive.is_none() {
            return Ok(None);
        }
        let runs = if self.handing == Handing::Never { 0 } else { share.left + 1 };
        let is_whole = !share.is_one_by_one;
        let aged = || AgedDrive::age_to_share(with, runs, is_whole).map(Arc::new);
        let drive = share.drive.get_or_insert_with(aged).clone();
        if share.left == 0 {
            share.drive = None;
        }
        drive.map(Some)
    }
}
