//! The part of a result about the drive's lifetime.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

result_types! {
    /// Data that the host could write, at the rate of erases of this run from the drive's first day on, until blocks
    /// reach their rated program/erase cycles (an erase in SLC mode counts as
    /// `device.rated_cycles / device.slc_rated_cycles` of one, if the latter is given):
    ///
    /// ```text
    /// mean_bytes  = host bytes written * rated cycles / (charge * erases a block, on average over the blocks that are
    ///               not bad from the factory)
    /// worst_bytes = host bytes written * rated cycles / (charge * erases of the block that was erased most)
    /// drive writes a day = bytes / (capacity * 365 * 5)
    /// years = bytes / host bytes written * duration of the run / (365 days)
    /// ```
    ///
    /// The charge, `ftl.room.charge`, covers erased pages that the run used up without erasing others, and pages that
    /// are still in memory. Without a charge there is no lifetime. Drive writes a day are a budget, whatever the
    /// workload writes; years are the time until that budget is spent at the write rate of this run. Only writes and
    /// erases of the run count, not those of ageing. In a run that erases each block a few times, chance picks the
    /// worst block.
    LifetimeResult {
        /// Program/erase cycles that a block is rated for; results of older versions have it in `config` alone.
        rated_cycles?: u32,
        /// True if the rating is the usual one of the kind of cell, because `device.rated_cycles` is not given.
        #[serde(default)]
        is_assumed_rating: bool,
        /// Erases per block in the run, on average.
        erases_mean: f64,
        /// Erases of the most erased block in the run.
        erases_max: u32,
        /// Bytes that the host could write until the mean block reaches its rating (TBW with perfect wear levelling).
        mean_bytes: f64,
        /// Bytes that the host could write until the worst block reaches its rating.
        worst_bytes: f64,
        /// Drive writes per day for five years that come to `mean_bytes`.
        mean_drive_writes_per_day: f64,
        /// Drive writes per day for five years that come to `worst_bytes`.
        worst_drive_writes_per_day: f64,
        /// Years until `mean_bytes` are written at the rate of this run; absent if its requests have no times.
        mean_years?: f64,
        /// Years until `worst_bytes` are written at the rate of this run.
        worst_years?: f64,
        /// Bytes that the drive's data sheet lets the host write: `device.rated_writes`.
        sheet_bytes?: u64,
    }
}
