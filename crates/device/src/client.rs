//! The interface between a target and its driver: acceptance of requests, completions, and callbacks.

use flashloom_units::Ns;
use serde::{Deserialize, Serialize};

use crate::status::Status;

/// Result of submitting a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// Accepted; it will end with a [`Completion`].
    Accepted,
    /// No room. Nothing has changed; submit it again after a completion.
    Full,
}

/// A request that has completed or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Completion {
    /// The cookie given when it was submitted.
    pub cookie: u32,
    /// Time of its end.
    pub time_ns: Ns,
    /// How it ended, with the value of the operation.
    pub status: Status,
}

impl Completion {
    /// The end of the request submitted with `cookie`, at the given time.
    #[inline]
    pub const fn new(cookie: u32, time_ns: Ns, status: Status) -> Self {
        Self { cookie, time_ns, status }
    }
}

/// Callbacks to the driver of a target while one timestamp is processed ([`Target::settle`](crate::Target::settle)).
pub trait Client<T> {
    /// Called once for each request that has ended, in order.
    fn completed(&mut self, completion: &Completion);

    /// Called when there may be room again, after completions and before the target starts new work. The driver submits
    /// the requests that found no room, in order, until one is refused.
    fn resubmit(&mut self, _target: &mut T) {}
}
