//! How a request ends: done, and with which value, or failed and why.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What became of a request.
// Not `#[non_exhaustive]`: a request is done or it is not, and what else there is to say belongs to one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// The drive did what was asked. The value is what the operation returns: zero for reads, writes, discards and
    /// flushes, which return none.
    Done(u64),
    /// The drive did not, or only in part: after a write that failed, each of its sectors holds what it held before or
    /// what was to be written.
    Failed(Reason),
}

impl Status {
    /// Done, without a value.
    pub const DONE: Self = Self::Done(0);

    /// Whether the drive did what was asked.
    #[inline]
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// The status of a whole, of which this is the status of one part and `other` that of another: the first failure,
    /// or else that of the other part.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        if self.is_done() { other } else { self }
    }

    /// In one word, as in a log: `done`, or why not.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed(reason) => reason.name(),
        }
    }
}

/// Why a request failed.
// As wide as a value, so that a status goes from hand to hand in two registers.
#[repr(u64)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Reason {
    /// The drive held it when its life ended: a page of it, or one that it had to make durable, could not be stored,
    /// because too many blocks had failed.
    EndOfLife,
    /// It was to change a drive whose life had ended before, or to make durable what that drive cannot store.
    ReadOnly,
    /// It was to read a page that the array could not read, or that was lost when it was moved before.
    Unreadable,
}

impl Reason {
    /// How many there are.
    pub const COUNT: usize = 3;

    /// All of them, in order.
    pub const ALL: [Self; Self::COUNT] = [Self::EndOfLife, Self::ReadOnly, Self::Unreadable];

    /// As an index into counters by reason.
    #[inline]
    pub const fn at(self) -> usize {
        self as usize
    }

    /// In one word, as in a log and in `host.failed` of a result.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EndOfLife => "end_of_life",
            Self::ReadOnly => "read_only",
            Self::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndOfLife => "the drive's life ended",
            Self::ReadOnly => "the drive is read-only",
            Self::Unreadable => "its data cannot be read",
        })
    }
}
