//! What several seeds of a combination say together, which combinations were left out, and the file of a run that is
//! kept.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RunResult;

/// The format of [`KeptRun`].
pub const KEPT_SCHEMA: &str = "flashloom/kept/1";

result_types! {
    /// One combination, run with several seeds.
    RepeatedResult {
        /// The varied keys with the values of this combination, without the seed.
        vary: serde_json::Map<String, serde_json::Value>,
        /// The seeds of its runs, in their order.
        seeds: Vec<u64>,
        /// Every number that each of its runs has, by the path of its field, such as `host.iops`.
        figures: BTreeMap<String, RepeatedFigure>,
    }

    /// A figure over several seeds, with intervals at 95 % (Student's t): the mean plus and minus half their width.
    RepeatedFigure {
        /// The mean over the seeds.
        mean: f64,
        /// Half the width of its interval; zero for a figure that no seed changes.
        half_width: f64,
        /// The mean difference to the first combination's run of the same seed; absent where that has no such figure.
        #[serde(skip_serializing_if = "Option::is_none")]
        difference: Option<f64>,
        /// Half the width of the interval of that difference.
        #[serde(skip_serializing_if = "Option::is_none")]
        difference_half_width: Option<f64>,
    }

    /// A combination that was left out.
    LeftOutResult {
        /// The varied keys with its values.
        vary: serde_json::Map<String, serde_json::Value>,
        /// Why its values do not go together: the problems as they are shown where they refuse a comparison.
        problems: Vec<String>,
    }

    /// One run of a comparison in a file of its own (`flashloom compare --out`).
    KeptRun {
        /// The format of this object.
        schema: String,
        /// The version of the program that ran it.
        version: String,
        /// SHA-256 of that program's file: a comparison goes on only with results of the same build.
        program_sha256: String,
        /// The varied keys with the values of this run.
        vary: serde_json::Map<String, serde_json::Value>,
        /// What the run found out.
        result: RunResult,
    }
}
