//! The status of a request: done with a value, or failed with a reason.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a request ended.
// Not `#[non_exhaustive]`: a request is done or failed, and any further detail belongs to one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// The drive did what was requested. The value is the result of the operation; reads, writes, discards and flushes
    /// have none and return 0.
    Done(u64),
    /// The drive did not do it, or only in part. After a failed write each of its sectors has either its old or its new
    /// data.
    Failed(Reason),
}

impl Status {
    /// Done, with value 0.
    pub const DONE: Self = Self::Done(0);

    /// Whether the request is done.
    #[inline]
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// The status of a request whose two parts ended with these: the first failure, or, if both are done, the status of
    /// `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        if self.is_done() { other } else { self }
    }

    /// One word for logs: `done`, or the reason of the failure.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed(reason) => reason.name(),
        }
    }
}

flashloom_units::names! {
    /// Reason of a failure. The names are those in logs and in `host.failed` in a result.
    // As wide as the value, so that a status is passed in two registers.
    #[repr(u64)]
    #[non_exhaustive]
    pub enum Reason {
        /// The command was outstanding when the drive's life ended: a page of it, or one that it had to make durable,
        /// could not be stored because too many blocks had failed.
        EndOfLife = "end_of_life",
        /// A command, after the end of the drive's life, that would change the drive or make durable what the drive
        /// cannot store.
        ReadOnly = "read_only",
        /// A read of a page that the array could not read, or whose data was lost earlier, when the page was moved.
        Unreadable = "unreadable",
    }
}

impl Reason {
    /// Index into counters by reason.
    #[inline]
    pub const fn at(self) -> usize {
        self as usize
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
