//! A plug: the requests that a task has submitted together, before the block layer goes on with them
//! (docs/linux-schedulers.md, "Plugging, and `none`").

use flashloom_units::{KIB, Ns, SECTOR_BYTES};

use crate::id::RequestId;
use crate::linux::Linux;
use crate::requests::Requests;

/// Maximum number of requests in a plug.
const PLUG_REQUESTS: usize = 32;
/// Size of a request behind which a plug is emptied.
const PLUG_BYTES: u64 = 128 * KIB;

/// The requests of one task and one moment, in the order of submission.
pub(crate) struct Plug {
    requests: Vec<RequestId>,
    /// When the last request was added.
    added_ns: Ns,
    linux: Linux,
}

flashloom_units::state! { Plug { list requests [PLUG_REQUESTS]; value added_ns; fixed linux; } }

impl Plug {
    /// Makes an empty plug.
    pub fn new(linux: Linux) -> Self {
        Self { requests: Vec::with_capacity(PLUG_REQUESTS), added_ns: 0, linux }
    }

    /// True if it holds requests of another task or of an earlier moment, whose submission is over.
    pub fn is_of_others(&self, now: Ns, requests: &Requests, task: u32) -> bool {
        self.last().is_some_and(|last| now > self.added_ns || requests[last].task != task)
    }

    /// True if it has to be emptied before the same task adds another request.
    pub fn is_full(&self, requests: &Requests) -> bool {
        let decisive = if self.linux < Linux::V6_12 { self.requests.last() } else { self.requests.first() };
        let is_large = |&id: &RequestId| u64::from(requests[id].sectors) * SECTOR_BYTES >= PLUG_BYTES;
        self.requests.len() == PLUG_REQUESTS || decisive.is_some_and(is_large)
    }

    /// The request that was added last, with which one more of its task and moment may merge.
    pub fn last(&self) -> Option<RequestId> {
        self.requests.last().copied()
    }

    /// The requests, in the order of submission.
    pub fn requests(&self) -> &[RequestId] {
        &self.requests
    }

    /// Adds a request at `now`; the plug is not full.
    pub fn add(&mut self, now: Ns, id: RequestId) {
        debug_assert!(self.requests.len() < PLUG_REQUESTS, "a full plug is emptied first");
        self.requests.push(id);
        self.added_ns = now;
    }

    /// Takes all requests out, in the order of submission.
    pub fn empty(&mut self) -> std::vec::Drain<'_, RequestId> {
        self.requests.drain(..)
    }
}
