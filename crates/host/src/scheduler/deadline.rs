//! deadline: sorted batches of one direction, reads before writes, and a deadline for each request.
//!
//! ```text
//! insert:   into the sorted tree and at the end of the FIFO of its direction; deadline = now + read/write_expire
//! dispatch: if the batch has sent fewer than fifo_batch and there is a request after the last one: that one
//!           else begin a batch:
//!             direction = read, if there are reads and writes have not been passed over writes_starved times;
//!                         otherwise write
//!             first     = the head of the direction's FIFO, if it has expired or nothing follows the last request
//!                         of this direction; otherwise that one
//! merge:    anywhere, at the front only with front_merges
//! ```
//! Source: Linux 2.6.32, `block/deadline-iosched.c`. Difference: two requests that begin at the same sector both stay
//! sorted, the older first, as in Linux since 3.0; 2.6.32 dispatches the older one at once.
//!
//! Bound: once expired, a request with `e` older ones of its direction before it is dispatched within
//! `(e + 1) * (writes_starved + 1) * fifo_batch` dispatches, because at most `writes_starved` batches of reads, or one
//! of writes, come between two batches of its direction, and each of those begins with the oldest.
//! Cost: O(log n) each.

use super::prelude::*;

/// Specification of the policy.
pub static SPEC: PolicySpec = PolicySpec {
    name: "deadline",
    summary: "Sorted batches of one direction, reads first, bounded waiting (Linux 2.6.32)",
    details: "Requests are sorted by address in each direction and sent in batches. Reads go first, but writes are \
              passed over a bounded number of times, and a batch begins with the oldest request once it has expired. \
              Works without task ids. It is the ancestor of `mq-deadline`.",
    source: "Linux 2.6.32, block/deadline-iosched.c",
    example: "host.scheduler=deadline host.deadline.writes_starved=4 workload.queue_depth=64 \
              workload.synthetic.read_share=0.6",
    instead: "The task with the most requests gets the most service: `fios` shares the drive by task. If the drive has \
              a free tag for every request (`host.queue_depth`) there is nothing to sort, and `noop` gives the \
              same order.",
    offers: &[Capability::SAVED_STATE],
    params: DeadlineParams::PARAMS,
    ..PolicySpec::BLANK
};

params! {
    /// Parameters of deadline, the tunables of the kernel's scheduler.
    pub struct DeadlineParams {
        /// Deadline of a read: the time after queueing by which it should be dispatched.
        read_expire_ns: Ns => "read_expire", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(500 * MS),
            "Earlier deadlines bound read latency more tightly and break up more batches.";
        /// Deadline of a write: the time after queueing by which it should be dispatched.
        write_expire_ns: Ns => "write_expire", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(5 * S),
            "Earlier deadlines bound write latency more tightly and break up more batches.";
        /// Maximum number of requests in a batch.
        fifo_batch: u32 => "fifo_batch", Kind::Count { min: 1, max: 65_536 }, Value::Count(16),
            "Longer batches gain throughput from address order; shorter ones bound the wait of all other requests.";
        /// Maximum number of read batches that are sent while writes wait, before a write batch.
        writes_starved: u32 => "writes_starved", Kind::Count { min: 1, max: 65_536 }, Value::Count(2),
            "A larger number favours reads more, and makes writes wait longer.";
        /// True to allow front merges: a new request joins one that begins where it ends.
        front_merges: bool => "front_merges", Kind::Flag, Value::Flag(true),
            "Workloads that never write backwards save the look-up without it.", Used::with("host.merging", &["true"]);
    }
}

/// State of deadline: the queues of both directions, and the current batch.
pub struct Deadline {
    params: DeadlineParams,
    fifo: Lists<RequestId>,
    sorted: Forest<RequestId>,
    /// The request after the last dispatched one in its direction; none in the other direction.
    next: [Option<RequestId>; 2],
    batched: u32,
    starved: u32,
}

flashloom_units::state! { Deadline { nested fifo, sorted; value next, batched, starved; fixed params; } }

impl Deadline {
    /// Makes empty queues.
    pub fn new(params: DeadlineParams, setup: &SchedulerSetup) -> Result<Self, Refusal> {
        Ok(Self {
            params,
            fifo: Lists::new(setup.requests, 2),
            sorted: Forest::new(setup.requests, 2),
            next: [None; 2],
            batched: 0,
            starved: 0,
        })
    }

    fn begin_batch(&mut self, now: Ns, requests: &Requests) -> Option<RequestId> {
        let waits = Direction::BOTH.map(|direction| !self.fifo.is_empty(direction.at()));
        let direction = direction_of_batch(waits, &mut self.starved, self.params.writes_starved)?;
        self.batched = 0;
        let eldest = self.fifo.front(direction.at())?;
        let expired = now > requests[eldest].deadline_ns;
        Some(self.next[direction.at()].filter(|_| !expired).unwrap_or(eldest))
    }
}

/// The direction of a new batch, of reads and writes that wait or not: reads, until they have passed writes over `most`
/// times, as `starved` counts.
pub(super) fn direction_of_batch([reads, writes]: [bool; 2], starved: &mut u32, most: u32) -> Option<Direction> {
    if reads && !(writes && *starved >= most) {
        *starved += u32::from(writes);
        return Some(Direction::Read);
    }
    writes.then(|| {
        *starved = 0;
        Direction::Write
    })
}

flashloom_units::component! { Deadline }

impl Scheduler for Deadline {
    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        let direction = requests[id].direction();
        self.fifo.push_back(direction.at(), id);
        self.sorted.insert(direction.at(), id, requests[id].lba);
        now + [self.params.read_expire_ns, self.params.write_expire_ns][direction.at()]
    }

    fn front_merge_candidate(&self, _requests: &Requests, incoming: &Request) -> Option<RequestId> {
        let tree = Direction::of(incoming.op).at();
        self.params.front_merges.then(|| self.sorted.at(tree, incoming.end())).flatten()
    }

    fn former(&self, requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.sorted.prev(requests[id].direction().at(), id)
    }

    fn latter(&self, requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.sorted.next(requests[id].direction().at(), id)
    }

    fn moved(&mut self, requests: &Requests, id: RequestId) {
        self.sorted.resort(requests[id].direction().at(), id, requests[id].lba);
    }

    fn absorb(&mut self, requests: &Requests, kept: RequestId, gone: RequestId) {
        leave_fifo(&mut self.fifo, requests, kept, gone);
        let tree = requests[gone].direction().at();
        if self.next[tree] == Some(gone) {
            self.next[tree] = self.sorted.next(tree, gone);
        }
        self.sorted.remove(tree, gone);
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        let following = self.next[Direction::Write.at()].or(self.next[Direction::Read.at()]);
        let in_batch = following.filter(|_| self.batched < self.params.fifo_batch);
        let Some(id) = in_batch.or_else(|| self.begin_batch(now, requests)) else { return Choice::Idle };
        let tree = requests[id].direction().at();
        self.batched += 1;
        self.next = [None; 2];
        self.next[tree] = self.sorted.next(tree, id);
        self.sorted.remove(tree, id);
        self.fifo.remove(id);
        Choice::Request(id)
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let queued = requests.count(Stage::Queued);
        let listed = (0..2).map(|list| self.fifo.iter(list).count() as u64).sum::<u64>();
        let sorted = (0..2).map(|tree| self.sorted.iter(tree).count() as u64).sum::<u64>();
        let agree = [listed, sorted] == [queued; 2];
        ensure!(agree, "deadline: {queued} queued, {listed} in the FIFOs, {sorted} in the trees");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Lab;

    fn lab(change: impl FnOnce(&mut DeadlineParams)) -> Lab {
        Lab::new(Deadline::new, change)
    }

    #[test]
    fn a_batch_begins_with_the_eldest_and_ascends_then_begins_again_with_the_eldest_left() {
        let mut lab = lab(|_| {});
        lab.reads([500, 100, 900, 300, 700]);
        assert_eq!(lab.serve(9), [500, 700, 900, 100, 300]);
    }

    #[test]
    fn reads_go_first_until_writes_have_been_passed_over_writes_starved_times() {
        let mut lab = lab(|params| (params.fifo_batch, params.writes_starved) = (2, 2));
        lab.writes([1_000, 1_100, 1_200, 1_300]);
        lab.reads([100, 200, 300, 400, 500, 600, 700]);
        let order = [100, 200, 300, 400, 1_000, 1_100, 500, 600, 700, 1_200, 1_300];
        assert_eq!(lab.serve(99), order);
    }

    #[test]
    fn an_expired_request_begins_the_next_batch_and_not_before() {
        let mut lab = lab(|params| params.fifo_batch = 2);
        lab.reads([300]);
        assert_eq!(lab.serve(1), [300]);
        lab.reads([400, 100, 500, 600, 700]);
        lab.now = 500 * MS;
        assert_eq!(lab.serve(2), [400, 500], "at the deadline it has not passed");
        lab.now += 1;
        lab.reads([800]);
        assert_eq!(lab.serve(9), [100, 600, 700, 800], "600 is what follows 100 within the batch");
        assert_eq!(lab.layer.stats().expired, 3, "the reads queued at 0 that went at 500 ms and a nanosecond");
    }
}
