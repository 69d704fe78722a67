//! Other drives, on which experiments of a paper are repeated.
//!
//! What a paper leaves open of its drive may decide its figures. A data file then names further drives, and says which
//! experiments, groups and tables to repeat on them. Each repetition is an experiment or group like any other, with the
//! drive's name at the end of its own; its rows are counted apart.

use serde::{Deserialize, Serialize};

/// Seeds of an experiment.
pub type Seeds = [u64; 5];

/// Seeds of an experiment on the drive that the configurations describe.
pub const SEEDS: Seeds = [1, 2, 3, 4, 5];

/// A drive besides the one that the configurations of a paper's experiments describe.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherDrive {
    /// Suffix of the names of its experiments and groups.
    pub name: String,
    /// Description in a few words; summaries count the rows of each description.
    pub title: String,
    /// Settings that turn the drive of the configurations into it, as `--set` takes them.
    pub set: Vec<String>,
    /// Seeds of its experiments.
    pub seeds: Seeds,
    /// True if the settings were found by trying to reach the published figures that are repeated on it.
    #[serde(default)]
    pub fitted: bool,
}

/// Name of an experiment or group on a drive: that of the drive is its suffix.
pub fn on(drive: Option<&str>, name: &str) -> String {
    drive.map_or(name.to_owned(), |drive| format!("{name}-{drive}"))
}
