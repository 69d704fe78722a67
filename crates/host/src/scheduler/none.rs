//! none: no scheduler; a request goes to the device as soon as its plug is emptied.
//!
//! ```text
//! admit:    while fewer than queue_depth requests hold a tag of the device
//! insert:   empty the plug first if it is another task's, has 32 requests, or has a large one (6.1: the last one,
//!           6.12: the first one, of 128 KiB or more); then put the request at the end of the plug
//! empty:    append the plug to the queue; 6.12: in its order, 6.1: in the reverse order
//! merge:    with the last request of the plug, at either end
//! dispatch: empty the plug, and take the first of the queue
//! ```
//! Source: Linux 6.1 and 6.12, `block/blk-mq.c` and `block/blk-merge.c`, by way of docs/linux-schedulers.md. What is
//! submitted at one moment is one plug, or one for each run of requests of the same task. Cost: O(1) each.

use super::prelude::*;
use crate::plug::Plug;

/// Specification of the policy.
pub static SPEC: PolicySpec = PolicySpec {
    name: "none",
    summary: "No scheduler: requests hold a tag of the device and go to it at once (Linux 6.1, 6.12, 6.18)",
    details: "A request is admitted when the device has a free tag, and is sent in the order of submission. Only \
              requests that a task submits together merge, each with the one before it. On Linux 6.1 those are sent \
              last first. Works without task ids.",
    source: "Linux 6.1 and 6.12, block/blk-mq.c and block/blk-merge.c; docs/linux-schedulers.md",
    example: "host.scheduler=none host.linux=6.1 workload.queue_depth=64 workload.synthetic.read_share=0.6",
    instead: "Reads wait for tags behind writes: `mq-deadline` sends reads first, and `kyber` holds back what keeps \
              them from their target.",
    offers: &[Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

/// State of none: the plug, and what it was emptied to.
pub struct NoScheduler {
    plug: Plug,
    queue: Lists<RequestId>,
    linux: Linux,
    tags: u32,
}

flashloom_units::state! { NoScheduler { nested plug, queue; fixed linux, tags; } }

/// The list that plugs are emptied to.
const QUEUE: usize = 0;

impl NoScheduler {
    /// Makes an empty plug.
    pub fn new((): (), setup: &SchedulerSetup) -> Result<Self, Refusal> {
        let SchedulerSetup { requests, linux, queue_depth: tags, .. } = *setup;
        Ok(Self { plug: Plug::new(linux), queue: Lists::new(requests, 1), linux, tags })
    }

    fn empty_plug(&mut self) {
        let Self { plug, queue, linux, .. } = self;
        if *linux < Linux::V6_12 {
            plug.empty().rev().for_each(|id| queue.push_back(QUEUE, id));
        } else {
            plug.empty().for_each(|id| queue.push_back(QUEUE, id));
        }
    }
}

flashloom_units::component! { NoScheduler }

impl Scheduler for NoScheduler {
    fn tags(&self) -> Option<Tags> {
        Some(Tags::of(self.tags))
    }

    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        if self.plug.is_of_others(now, requests, requests[id].task) || self.plug.is_full(requests) {
            self.empty_plug();
        }
        self.plug.add(now, id);
        Ns::MAX
    }

    fn front_merge_candidate(&self, requests: &Requests, incoming: &Request) -> Option<RequestId> {
        self.plug.last().filter(|&last| requests[last].lba == incoming.end())
    }

    fn allows_merge(&self, requests: &Requests, id: RequestId, incoming: &Request) -> bool {
        self.plug.last() == Some(id) && requests[id].task == incoming.task
    }

    fn dispatch(&mut self, _now: Ns, _requests: &Requests) -> Choice {
        self.empty_plug();
        self.queue.pop_front(QUEUE).map_or(Choice::Idle, Choice::Request)
    }

    fn serves(&self) -> Serves {
        Serves::Any
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let (plugged, waiting) = (self.plug.requests().len(), self.queue.iter(QUEUE).count());
        let queued = requests.count(Stage::Queued);
        let is_all = (plugged + waiting) as u64 == queued;
        ensure!(is_all, "none: {queued} queued, {plugged} in the plug, {waiting} behind it");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Lab;
    use crate::{Admission, HostParams};

    fn lab(linux: Linux) -> Lab {
        lab_of_depth(linux, 31)
    }

    fn lab_of_depth(linux: Linux, queue_depth: u32) -> Lab {
        Lab::of_blk_mq(
            NoScheduler::new,
            |_| {},
            |host: &mut HostParams| {
                (host.linux, host.queue_depth) = (linux, queue_depth);
            },
        )
    }

    #[test]
    fn a_plug_is_sent_in_its_order_by_6_12_and_last_first_by_6_1() {
        for (linux, order) in [(Linux::V6_12, [500, 100, 300]), (Linux::V6_1, [300, 100, 500])] {
            let mut lab = lab(linux);
            lab.reads([500, 100]);
            lab.writes([300]);
            assert_eq!(lab.serve(9), order, "{linux:?}");
            lab.reads([700]);
            lab.now += 1;
            lab.reads([800]);
            assert_eq!(lab.serve(9), [700, 800], "{linux:?}: two moments, two plugs");
        }
    }

    #[test]
    fn a_plug_is_emptied_before_its_33rd_request() {
        let mut lab = lab_of_depth(Linux::V6_1, 64);
        lab.reads((0..33).map(|n| n * 100));
        let order: Vec<u64> = (0..32).rev().chain([32]).map(|n| n * 100).collect();
        assert_eq!(lab.serve(99), order);
    }

    #[test]
    fn a_large_request_ends_a_plug_as_its_last_in_6_1_and_as_its_first_in_6_12() {
        let orders = [(Linux::V6_1, [9_000, 100, 700]), (Linux::V6_12, [100, 9_000, 700])];
        for (linux, order) in orders {
            let mut lab = lab(linux);
            lab.reads([100]);
            lab.submit(Op::Read, 0, 0, 9_000, 256);
            // 6.1: the plug of 100 and 9000 is emptied here, the later one first. 6.12: its first is small.
            lab.reads([700]);
            assert_eq!(lab.submit(Op::Read, 0, 0, 708, 8), Admission::Merged, "{linux:?}");
            assert_eq!(lab.serve(9), order, "{linux:?}");
        }
        let mut lab = lab(Linux::V6_12);
        lab.submit(Op::Read, 0, 0, 9_000, 256);
        lab.reads([100]);
        assert_eq!(lab.submit(Op::Read, 0, 0, 92, 8), Admission::Merged, "with the last of the new plug");
    }

    #[test]
    fn only_the_last_of_the_plug_merges_at_either_end_and_only_for_its_task() {
        let mut lab = lab(Linux::V6_12);
        lab.reads([100]);
        assert_eq!(lab.submit(Op::Read, 0, 0, 108, 8), Admission::Merged);
        assert_eq!(lab.submit(Op::Read, 0, 0, 92, 8), Admission::Merged);
        lab.reads([500]);
        assert_eq!(lab.submit(Op::Read, 0, 0, 116, 8), Admission::Queued, "no longer the last");
        assert_eq!(lab.submit(Op::Read, 1, 0, 124, 8), Admission::Queued, "another task");
        assert_eq!(lab.serve(9), [92, 500, 116, 124]);
    }

    #[test]
    fn tags_of_the_device_are_all_there_are_for_reads_and_writes_together() {
        let mut lab = lab(Linux::V6_12);
        lab.reads((0..20).map(|n| n * 100));
        lab.writes((20..31).map(|n| n * 100));
        assert_eq!(lab.submit(Op::Read, 0, 0, 50_000, 8), Admission::Full);
        assert_eq!(lab.submit(Op::Flush, 0, 0, 0, 0), Admission::Queued);
        (0..31).for_each(|_| {
            lab.start();
        });
        assert_eq!(lab.submit(Op::Read, 0, 0, 50_000, 8), Admission::Full, "at the device they keep them");
        lab.finish(0);
        lab.finish(100);
        assert_eq!(lab.submit(Op::Read, 0, 0, 50_000, 8), Admission::Queued);
    }
}
