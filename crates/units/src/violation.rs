//! A rule that does not hold.

use std::fmt;

/// What does not add up, in words: the first violation that a check found, of invariants or of a state that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(String);

impl Violation {
    /// A violation in words: what was found, with its place, and what should be.
    pub fn new(found: impl Into<String>) -> Self {
        Self(found.into())
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

impl From<String> for Violation {
    fn from(found: String) -> Self {
        Self(found)
    }
}

impl From<Violation> for String {
    fn from(violation: Violation) -> Self {
        violation.0
    }
}

/// Makes a [`Violation`] from what `format!` takes.
#[macro_export]
macro_rules! violation {
    ($($found:tt)+) => {
        $crate::Violation::new(format!($($found)+))
    };
}

/// Returns a [`Violation`] from a check where a rule does not hold: `ensure!(listed == queued, "{listed} listed")`.
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $($found:tt)+) => {
        if !$holds {
            return Err($crate::violation!($($found)+));
        }
    };
}
