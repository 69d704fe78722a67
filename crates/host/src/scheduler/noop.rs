//! noop: no reordering; requests are dispatched in the order of arrival.
//!
//! ```text
//! insert:   append to the queue
//! dispatch: take the first of the queue
//! merge:    at the back of a request that ends where the new one begins; a request that has grown is joined with
//!           the one queued after it if they are now adjacent
//! ```
//! Source: Linux 2.6.32, `block/noop-iosched.c`. As there, nothing is sorted, so there are no front merges. (Linux
//! also tries a front merge with the request that it merged last, whatever the scheduler; that cache is left out.)
//! Cost: O(1) each.

use super::prelude::*;

/// Specification of the policy.
pub static SPEC: PolicySpec = PolicySpec {
    name: "noop",
    summary: "First in, first out, with merging (Linux 2.6.32)",
    details: "Requests go to the device in the order of arrival. One that begins where a queued request ends is merged \
              into it. Works without task ids. `none` of today's kernels keeps the order of arrival too, and \
              merges less.",
    source: "Linux 2.6.32, block/noop-iosched.c",
    example: "host.scheduler=noop workload.queue_depth=64 workload.synthetic.read_share=0.6",
    instead: "Reads wait behind all earlier writes: `deadline` sends reads first and bounds the wait of writes. `fios` \
              shares the drive fairly between tasks.",
    offers: &[Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

/// State of noop: a FIFO.
pub struct Noop {
    queue: Lists<RequestId>,
}

flashloom_units::state! { Noop { nested queue; } }

const QUEUE: usize = 0;

impl Noop {
    /// Makes an empty queue.
    pub fn new((): (), setup: &SchedulerSetup) -> Result<Self, Refusal> {
        Ok(Self { queue: Lists::new(setup.requests, 1) })
    }
}

flashloom_units::component! { Noop }

impl Scheduler for Noop {
    fn insert(&mut self, _now: Ns, _requests: &Requests, id: RequestId) -> Ns {
        self.queue.push_back(QUEUE, id);
        Ns::MAX
    }

    fn former(&self, _requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.queue.prev(id)
    }

    fn latter(&self, _requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.queue.next(id)
    }

    fn absorb(&mut self, _requests: &Requests, _kept: RequestId, gone: RequestId) {
        self.queue.remove(gone);
    }

    fn dispatch(&mut self, _now: Ns, _requests: &Requests) -> Choice {
        self.queue.pop_front(QUEUE).map_or(Choice::Idle, Choice::Request)
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let (listed, queued) = (self.queue.iter(QUEUE).count() as u64, requests.count(Stage::Queued));
        ensure!(listed == queued, "noop: {listed} listed, {queued} queued");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Lab;

    fn lab() -> Lab {
        Lab::new(Noop::new, |_| {})
    }

    #[test]
    fn requests_leave_in_the_order_of_arrival_whatever_they_ask() {
        let mut lab = lab();
        lab.reads([500, 100]);
        lab.writes([300]);
        lab.reads([200]);
        lab.submit(Op::Discard, 0, 0, 50, 8);
        assert_eq!(lab.serve(9), [500, 100, 300, 200, 50]);
    }
}
