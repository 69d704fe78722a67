//! What a result says of the drive's lifetime.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

result_types! {
    /// How much the host could write, if it wrote as in this run from the drive's first day on, until blocks reach the
    /// cycles that they are rated for (`device.rated_cycles`):
    ///
    /// ```text
    /// mean_bytes  = host bytes written * rated cycles / erases a block, on average over the blocks that are not bad
    ///               from the factory
    /// worst_bytes = host bytes written * rated cycles / erases of the block that was erased most
    /// drive writes a day = bytes / (capacity * 365 * 5)
    /// ```
    ///
    /// What counts is what was written and erased in the run itself, not what aged the drive before. A run that erases
    /// each block a few times says little of the worst one, which chance picks then.
    LifetimeResult {
        /// Erases in the run, on average over the blocks.
        erases_mean: f64,
        /// Erases in the run of the block that was erased most in it.
        erases_max: u32,
        /// Bytes that the host could write until the mean block reaches its rating (TBW with perfect wear levelling).
        mean_bytes: f64,
        /// Bytes that the host could write until the worst block reaches its rating.
        worst_bytes: f64,
        /// How often the host could write the whole drive each day for five years until `mean_bytes`.
        mean_drive_writes_per_day: f64,
        /// How often the host could write the whole drive each day for five years until `worst_bytes`.
        worst_drive_writes_per_day: f64,
    }
}
