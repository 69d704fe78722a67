//! Statistics over the seeds of a combination, combinations left out, and the file of a kept run.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RunResult;

/// Format identifier of [`KeptRun`].
pub const KEPT_SCHEMA: &str = "flashloom/kept/2";

result_types! {
    /// Statistics of one combination over several seeds.
    RepeatedResult {
        /// The varied keys with the values of this combination, without the seed.
        vary: serde_json::Map<String, serde_json::Value>,
        /// Seeds of its runs, in their order.
        seeds: Vec<u64>,
        /// Every number that all of its runs have, by the path of its field, such as `host.iops`.
        figures: BTreeMap<String, RepeatedFigure>,
    }

    /// A figure over several seeds, with 95 % confidence intervals (Student's t): the mean plus and minus half their
    /// width.
    RepeatedFigure {
        /// The mean over the seeds.
        mean: f64,
        /// Half the width of the mean's interval; zero for a figure that no seed changes.
        half_width: f64,
        /// Mean difference to the first combination's run of the same seed; absent if that has no such figure.
        difference?: f64,
        /// Half the width of the difference's interval.
        difference_half_width?: f64,
        /// Half the width that it would have if the seeds of the two combinations had nothing in common.
        unpaired_half_width?: f64,
    }

    /// A combination that was left out.
    LeftOutResult {
        /// The varied keys with the values of this combination.
        vary: serde_json::Map<String, serde_json::Value>,
        /// The problems why its values cannot work together, as shown when they refuse a comparison.
        problems: Vec<String>,
    }

    /// One run of a comparison in a file of its own (`flashloom compare --out`).
    KeptRun {
        /// Format identifier of this object.
        schema: String,
        /// Version of the program that ran it.
        version: String,
        /// SHA-256 of that program's file: a comparison continues only with results of the same build.
        program_sha256: String,
        /// The varied keys with the values of this run.
        vary: serde_json::Map<String, serde_json::Value>,
        /// Result of the run.
        result: RunResult,
    }
}
