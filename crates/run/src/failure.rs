//! Why a run has no result.

use std::fmt;

use flashloom_units::{Problem, Refusal, Violation};

/// Reason why a run has no result.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The accounts do not add up, a check of a verified run failed, or the drive never became steady.
    Check(Violation),
    /// A recording that was valid when it was checked no longer is.
    Input(Problem),
    /// A policy that was accepted with the configuration could not be built.
    Refused(Refusal),
    /// The result of a run could not be kept.
    Unkept(String),
    /// A drive did not live through what it is compared by: which load, and when it ended.
    Unserved(String),
    /// It was interrupted.
    Interrupted,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Check(message) => write!(f, "error: a check failed: {message}"),
            Failure::Input(problem) => problem.fmt(f),
            Failure::Refused(refusal) => write!(f, "error: {refusal}"),
            Failure::Unkept(message) | Failure::Unserved(message) => write!(f, "error: {message}"),
            Failure::Interrupted => write!(f, "error: the run was interrupted"),
        }
    }
}

impl std::error::Error for Failure {}
