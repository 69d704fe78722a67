//! Arguments of `report`.

use std::num::NonZeroUsize;

use clap::Args;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Result, as `run --json`, `compare --json`, `compare --out` or `validate --json` wrote it; or the data set of a
    /// sweep, the folder that `flashloom.sweep` of the Python package wrote, or one of its files.
    #[arg(value_name = "RESULT.json|DATASET")]
    pub result: String,
    /// Page to write.
    #[arg(short, long, value_name = "FILE.html")]
    pub out: String,
    /// Report on one run of a comparison, by its number from 1.
    #[arg(long, value_name = "N")]
    pub run: Option<NonZeroUsize>,
}
