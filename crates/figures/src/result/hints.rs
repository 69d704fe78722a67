//! Hints in a result: warnings that its figures mean less than they seem.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

result_types! {
    /// A warning that figures of a result mean less than they seem.
    HintResult {
        /// Identifier of the hint, such as `never-collected` or `die`; `flashloom explain hints` lists them.
        about: String,
        /// Text of the hint, one sentence.
        text: String,
        /// Configuration key to change.
        key: String,
    }

    /// A warning that rows of a comparison mean less than they seem, which no run says by itself.
    ComparedHintResult {
        /// Identifier of the hint, such as `never-queued`; `flashloom explain hints` lists them.
        about: String,
        /// Text of the hint, one sentence.
        text: String,
        /// Configuration key to change.
        key: String,
        /// Rows that it holds for, from 1: combinations of varied keys, in their order.
        rows: Vec<u32>,
    }
}
