//! Remarks on a result, for whoever reads its figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

result_types! {
    /// What makes figures of a result mean less than they seem.
    HintResult {
        /// What it is about, such as `never-collected` or `die`; `flashloom explain hints` lists them.
        about: String,
        /// The remark, one sentence.
        text: String,
        /// The key of the configuration to turn.
        key: String,
    }
}
