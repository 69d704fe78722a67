//! Flash of runs that have ended, for later runs on the same aged drive: they roll it back to what it was when it was
//! aged, instead of loading all of it anew.
//!
//! ```text
//! before    a run takes flash that a run before it has left, and rolls it back; if there is none, it builds its own,
//!           and loads it or ages it
//! during    the flash keeps what it changes of the map, chunk by chunk
//! after     it is left to the runs that are yet to come, of which there is a count: no more waits than they are
//! ```
//!
//! Flash goes from one configuration to another only if they have all keys of device and FTL in common, and built-in
//! policies: others may keep more than they save. A way back takes as long as what was written; what is not the map is
//! loaded as always.

use std::sync::{Mutex, MutexGuard, PoisonError};

use flashloom_device::SpentFlash;
use flashloom_units::Value;

use super::aged::has_built_in_policies;
use flashloom_config::{Config, KeyId, SECTIONS};

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
pub(super) struct Spent(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    /// Number of runs that have yet to come, and may take flash.
    runs: usize,
    flash: Vec<(Keys, SpentFlash)>,
}

impl Spent {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Expects more runs on the drive.
    pub(super) fn expect(&self, runs: usize) {
        self.waiting().runs += runs;
    }

    /// Whether a run is yet to come.
    pub(super) fn is_expecting(&self) -> bool {
        self.waiting().runs > 0
    }

    /// Takes flash with these keys for a run that was expected, if some is left.
    pub(super) fn take(&self, keys: Option<&Keys>) -> Option<SpentFlash> {
        let mut waiting = self.waiting();
        waiting.runs = waiting.runs.saturating_sub(1);
        let place = waiting.flash.iter().rposition(|(of, _)| Some(of) == keys);
        let taken = place.map(|place| waiting.flash.remove(place).1);
        let runs = waiting.runs;
        waiting.flash.truncate(runs);
        taken
    }

    /// Leaves flash to the runs to come, unless there is some for each of them. That of other keys is dropped first: it
    /// takes memory, and most sweeps vary no keys of flash.
    pub(super) fn leave(&self, keys: Keys, flash: SpentFlash) {
        let mut waiting = self.waiting();
        waiting.flash.retain(|(of, _)| *of == keys);
        if waiting.flash.len() < waiting.runs {
            waiting.flash.push((keys, flash));
        }
    }
}

impl std::fmt::Debug for Spent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spent").field("waiting", &self.waiting().flash.len()).finish()
    }
}
