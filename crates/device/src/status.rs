//! How a request ends: done, or failed and why.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// The drive did what was asked.
    Done,
    /// The drive did not, or only in part: after a write that failed, each of its sectors holds what it held before or
    /// what was to be written.
    Failed(Reason),
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    /// The drive held it when its life ended: a page of it, or one that it had to make durable, could not be stored,
    /// because too many blocks had failed.
    EndOfLife,
    /// It was to change a drive whose life had ended before, or to make durable what that drive cannot store.
    ReadOnly,
}

impl Reason {
    /// How many there are.
    pub const COUNT: usize = 2;

    /// As an index into counters by reason.
    #[inline]
    pub fn at(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndOfLife => "the drive's life ended",
            Self::ReadOnly => "the drive is read-only",
        })
    }
}
