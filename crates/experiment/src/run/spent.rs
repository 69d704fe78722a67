//! Flash of runs that have ended, for later runs on the same aged drive: they roll it back to what it was when it was
//! aged, instead of loading all of it anew.
//!
//! ```text
//! before    a run takes flash that a run before it has left, and rolls it back; if there is none, it builds its own,
//!           and loads it or ages it
//! during    the flash keeps what it changes of the map, chunk by chunk
//! after     it is left to others: there is one for each run at a time, and that is what a sweep holds
//! ```
//!
//! Flash goes from one configuration to another only if they have all keys of device and FTL in common, and built-in
//! policies: others may keep more than they save. A way back takes as long as what was written; what is not the map is
//! loaded as always.

use std::sync::{Mutex, MutexGuard, PoisonError};

use flashloom_device::SpentFlash;
use flashloom_units::Value;

use super::aged::has_built_in_policies;
use crate::config::Config;

/// Sections whose keys make the flash of a drive.
const SECTIONS: [&str; 2] = ["device.", "ftl."];

/// Every key that makes the flash of a drive, with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FlashKeys(Vec<(String, Value)>);

impl FlashKeys {
    /// Those of a configuration; `None` if its flash is not to go to others.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let is_of_flash = |path: &String| SECTIONS.iter().any(|section| path.starts_with(section));
        let keys = config.values().map(|(key, value)| (key.path(), value.clone()));
        has_built_in_policies(config).then(|| Self(keys.filter(|(path, _)| is_of_flash(path)).collect()))
    }
}

/// Flash that waits for the next run.
#[derive(Default)]
pub(super) struct Spent {
    waiting: Mutex<Vec<(FlashKeys, SpentFlash)>>,
}

impl Spent {
    fn waiting(&self) -> MutexGuard<'_, Vec<(FlashKeys, SpentFlash)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes flash with these keys, if some is left.
    pub(super) fn take(&self, keys: &FlashKeys) -> Option<SpentFlash> {
        let mut waiting = self.waiting();
        let place = waiting.iter().rposition(|(of, _)| of == keys)?;
        Some(waiting.remove(place).1)
    }

    /// Leaves flash to others. That of other keys is dropped, because the runs of a sweep come in the order of its
    /// keys.
    pub(super) fn leave(&self, keys: FlashKeys, flash: SpentFlash) {
        let mut waiting = self.waiting();
        waiting.retain(|(of, _)| *of == keys);
        waiting.push((keys, flash));
    }
}

impl std::fmt::Debug for Spent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spent").field("waiting", &self.waiting().len()).finish()
    }
}
