//! What goes between a target and who drives it: whether a request was accepted, how it came back, and who is told.

use flashloom_units::Ns;
use serde::{Deserialize, Serialize};

use crate::status::Status;

/// What became of a request that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It will come back as a [`Completion`].
    Accepted,
    /// There is no room for it, and nothing has changed: submit it again after a completion.
    Full,
}

/// A request that has come back, done or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Completion {
    /// What was given along when it was submitted.
    pub cookie: u32,
    /// When.
    pub time_ns: Ns,
    /// How it ended, and with which value.
    pub status: Status,
}

impl Completion {
    /// The request that was submitted with `cookie` ends at that time.
    #[inline]
    pub const fn new(cookie: u32, time_ns: Ns, status: Status) -> Self {
        Self { cookie, time_ns, status }
    }
}

/// Who drives a target, which calls it in the middle of a moment ([`Target::settle`](crate::Target::settle)).
pub trait Client<T> {
    /// A request has come back. Called once for each, in order.
    fn completed(&mut self, completion: &Completion);

    /// There may be room for requests that found none: they are offered again, in order, until one is refused. Called
    /// after completions, and before the target decides what it does next.
    fn resubmit(&mut self, _target: &mut T) {}
}
