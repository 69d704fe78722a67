//! Results as text: the bytes that the program writes.

use serde_json::Value;

/// JSON as `--json` writes it.
pub(crate) fn json_text(value: &Value) -> String {
    format!("{value:#}\n")
}
