//! Errors in the user's input, without their position in a file.

use std::fmt;

use crate::{Problem, ProblemPlace, nearest, visible_line};

/// An error in something that the user wrote: a value, a key, a combination of policies.
///
/// A refusal names the configuration keys that it is about; a [`Problem`] adds the position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Configuration keys to point at, the most telling first. Empty where the caller knows the key, such as the one
    /// that chose the policy.
    pub keys: Vec<String>,
    /// Description of what was found, as one clause without a full stop.
    pub found: String,
    /// Description of what was expected; empty where `found` says it all.
    pub expected: String,
    /// Advice that goes beyond what was expected: the nearest valid name, or an option to use.
    pub help: Option<String>,
}

impl Refusal {
    /// Makes a refusal without keys and advice.
    pub fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { keys: Vec::new(), found: found.into(), expected: expected.into(), help: None }
    }

    /// Points the refusal at these configuration keys, the most telling first.
    #[must_use]
    pub fn at<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Points the refusal at `key`, unless it has keys already.
    #[must_use]
    pub fn or_at(mut self, key: &str) -> Self {
        if self.keys.is_empty() {
            self.keys.push(key.to_owned());
        }
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Makes a problem with a file as a whole; `file` is its name as the user wrote it.
    pub fn in_file(self, file: impl Into<String>) -> Problem {
        Problem { file: file.into(), place: ProblemPlace::File, refusal: self }
    }

    /// Adds "did you mean" with the valid name nearest to `written`, if one is near.
    #[must_use]
    pub fn suggesting<'a>(mut self, written: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        self.help = nearest(written, valid).map(|name| format!("did you mean `{name}`?")).or(self.help);
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected {}", visible_line(&self.found), visible_line(&self.expected))?;
        self.help.iter().try_for_each(|help| write!(f, " ({})", visible_line(help)))
    }
}

impl std::error::Error for Refusal {}
