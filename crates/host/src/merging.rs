//! Merging as blk-mq does it, for schedulers that merge by themselves (docs/linux-schedulers.md, "Merging").

use flashloom_workload::{Op, Request};

use crate::id::RequestId;
use crate::requests::Requests;
use crate::scheduler::{Merge, SchedulerSetup};

/// Which requests merge.
pub struct Merging {
    /// Maximum size that a request may reach by merging; zero if none may.
    max_sectors: u64,
    /// True for a request that merges no more: another one did not fit.
    closed: Vec<bool>,
}

flashloom_units::state! { Merging { value closed; fixed max_sectors; } }

impl Merging {
    /// Makes the rules of a block layer, for its pool of requests.
    pub fn new(setup: &SchedulerSetup) -> Self {
        Self { max_sectors: setup.max_request_sectors, closed: vec![false; setup.requests as usize] }
    }

    /// Allows a request of the pool that was just queued to merge, unless another one did not fit it in its plug.
    pub fn open(&mut self, requests: &Requests, id: RequestId) {
        self.closed[id.at()] = requests[id].is_closed;
    }

    /// True if a queued request may merge with anything.
    pub fn is_open(&self, requests: &Requests, id: RequestId) -> bool {
        let is_barrier = requests[id].flags & (Request::FUA | Request::PREFLUSH) != 0;
        self.max_sectors > 0 && !self.closed[id.at()] && !is_barrier
    }

    /// True if operation, priority, queue and placement handle of an arriving request are those of a queued one that
    /// may merge.
    pub fn goes_with(&self, requests: &Requests, id: RequestId, incoming: &Request) -> bool {
        let queued = &requests[id];
        self.is_open(requests, id)
            && queued.op == incoming.op
            && queued.goes_with(incoming.queue, incoming.handle, incoming.flags)
    }

    /// The merge of an arriving request with a queued one, if they touch and go together.
    pub fn touch(&self, requests: &Requests, id: RequestId, incoming: &Request) -> Option<Merge> {
        let (is_back, is_front) = (requests[id].end() == incoming.lba, requests[id].lba == incoming.end());
        let merge = Merge { into: id, is_front: !is_back };
        ((is_back || is_front) && self.goes_with(requests, id, incoming)).then_some(merge)
    }

    /// True if a queued request may grow by an arriving one. If it would be too large, it merges no more.
    pub fn fits(&mut self, requests: &Requests, id: RequestId, incoming: &Request) -> bool {
        let is_small = u64::from(requests[id].sectors) + u64::from(incoming.sectors) <= self.max_sectors;
        self.closed[id.at()] |= !is_small;
        is_small
    }

    /// True if a queued request may become the end of another one. Two discards are never joined, because each is a
    /// range of its own then and a command has one.
    pub fn may_join(&self, requests: &Requests, kept: RequestId, gone: RequestId) -> bool {
        let (first, second) = (&requests[kept], &requests[gone]);
        self.is_open(requests, kept)
            && self.is_open(requests, gone)
            && first.op == second.op
            && first.op != Op::Discard
            && first.goes_with(second.queue, second.handle, second.flags)
            && first.end() == second.lba
            && u64::from(first.sectors) + u64::from(second.sectors) <= self.max_sectors
    }
}
