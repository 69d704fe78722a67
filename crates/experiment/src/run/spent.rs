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
use crate::config::{Config, KeyId, SECTIONS};

/// Every key of some sections, and of the policies chosen there, with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Keys(Vec<(KeyId, Value)>);

impl Keys {
    pub(super) fn of(config: &Config, sections: &[&str]) -> Self {
        let is_within = |key: &KeyId| sections.contains(&SECTIONS[key.section()].name);
        let keys = config.values().filter(|(key, _)| is_within(key)).map(|(key, value)| (key, value.clone()));
        Self(keys.collect())
    }
}

/// What makes the flash of a configuration; `None` if it is not to go to other runs.
pub(super) fn flash_keys(config: &Config) -> Option<Keys> {
    has_built_in_policies(config).then(|| Keys::of(config, &["device", "ftl"]))
}

/// Flash that waits for the next run.
#[derive(Default)]
pub(super) struct Spent {
    waiting: Mutex<Vec<(Keys, SpentFlash)>>,
}

impl Spent {
    fn waiting(&self) -> MutexGuard<'_, Vec<(Keys, SpentFlash)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes flash with these keys, if some is left.
    pub(super) fn take(&self, keys: &Keys) -> Option<SpentFlash> {
        let mut waiting = self.waiting();
        let place = waiting.iter().rposition(|(of, _)| of == keys)?;
        Some(waiting.remove(place).1)
    }

    /// Leaves flash to others. That of other keys is dropped, because the runs of a sweep come in the order of its
    /// keys.
    pub(super) fn leave(&self, keys: Keys, flash: SpentFlash) {
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
