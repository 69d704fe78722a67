//! What is wrong with an input, before it is known where that was written.

use std::fmt;

use crate::{Place, Problem, nearest};

/// Why something that a user wrote cannot be: a value, a key, a combination of policies.
///
/// It says what, and which configuration keys it is about, but not where in a file; [`Problem`](crate::Problem) does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The configuration keys that it is about, the most telling first; none where that is known from the context, such
    /// as the key that chose a policy.
    pub keys: Vec<String>,
    /// What was found, as one clause without a full stop.
    pub found: String,
    /// What was expected; empty where `found` says it all.
    pub expected: String,
    /// What to do, where there is something better to say than what was expected: the nearest valid name, an option.
    pub help: Option<String>,
}

impl Refusal {
    /// A refusal without keys and advice.
    pub fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { keys: Vec::new(), found: found.into(), expected: expected.into(), help: None }
    }

    /// The same, pointing at these keys of a configuration, the most telling first.
    #[must_use]
    pub fn at<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// The same, pointing at the key that chose the policy if it names no other.
    #[must_use]
    pub fn or_at(mut self, key: &str) -> Self {
        if self.keys.is_empty() {
            self.keys.push(key.to_owned());
        }
        self
    }

    /// The same with a way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The refusal of a file as a whole; `file` is as the user named it.
    pub fn in_file(self, file: impl Into<String>) -> Problem {
        Problem { file: file.into(), place: Place::File, refusal: self }
    }

    /// The same, suggesting the valid name nearest to `written` if one is near.
    #[must_use]
    pub fn suggesting<'a>(mut self, written: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        self.help = nearest(written, valid).map(|name| format!("did you mean `{name}`?")).or(self.help);
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected {}", self.found, self.expected)?;
        self.help.iter().try_for_each(|help| write!(f, " ({help})"))
    }
}

impl std::error::Error for Refusal {}
