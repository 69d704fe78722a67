//! Origin of a result: the program, the files and the configuration.

use flashloom_workload::Fingerprint;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Role of the experiment's file among the inputs.
pub const EXPERIMENT: &str = "experiment";

result_types! {
    /// Origin of a result; the hash of a drive that was aged before is `precondition.state_sha256`.
    ProvenanceResult {
        /// Version of the program.
        version: String,
        /// Git revision of its sources; -dirty- and a hash follow if they were changed; unknown without a repository.
        revision: String,
        /// SHA-256 of the effective configuration: `config`, its keys sorted, as JSON without blanks.
        config_sha256: String,
        /// Files that were read, the experiment first.
        inputs: Vec<InputResult>,
    }

    /// A file that was read.
    InputResult {
        /// Role of the file: experiment, or workload for a recording or a job file.
        role: String,
        /// Name of the file, without its folder.
        name: String,
        /// Length in bytes.
        bytes: u64,
        /// SHA-256 of the content, as `sha256sum` prints it.
        sha256: String,
    }
}

impl InputResult {
    /// Makes an input of a file and its role.
    pub fn of(role: &str, file: &Fingerprint) -> Self {
        let Fingerprint { name, bytes, sha256 } = file.clone();
        Self { role: role.to_owned(), name, bytes, sha256 }
    }
}

/// Hash of an effective configuration, independent of the order of its keys.
pub fn config_hash(config: &serde_json::Value) -> String {
    let mut sorted = config.clone();
    sorted.sort_all_objects();
    format!("{:x}", Sha256::digest(sorted.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_hash_of_a_configuration_is_that_of_its_sorted_compact_json() {
        let expected = format!("{:x}", Sha256::digest(r#"{"a":0.5,"b":{"c":1,"d":"2KiB"}}"#));
        assert_eq!(config_hash(&json!({"b": {"d": "2KiB", "c": 1}, "a": 0.5})), expected);
    }
}
