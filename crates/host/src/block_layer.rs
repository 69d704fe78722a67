//! The block layer: admits requests, merges them, asks the scheduler for the next one, and keeps the counters.
//!
//! Requests that merge: two that are adjacent, have the same operation (a discard counts as a write everywhere else)
//! and together are not larger than `max_request`. A write with FUA or PREFLUSH never merges, because its durability
//! would spread to its neighbours, and a flush has no address. Requests of different queues, placement handles or
//! priorities do not merge, because the result has one of each. Synchronous and asynchronous writes merge, and the
//! result keeps the flags and the task of the first, as in Linux; a scheduler that keeps them apart (cfq) refuses.
//!
//! Order of attempts, as in Linux (`elv_merge`, `attempt_back_merge`, `attempt_front_merge`): first a back merge with a
//! request that ends where the new one begins (of several, the one that last got this end is tried first); then a front
//! merge with one that begins where the new one ends. A request that has grown is joined with its neighbour in the
//! scheduler's order if they are now adjacent. Linux tries one candidate for each of the two merges; here the next
//! candidate is tried if the first does not fit.
//!
//! `nr_requests` counts the requests of one class from queueing to completion, those at the device included, as in
//! Linux 2.6.32 (`get_request`, `freed_request`). The classes are synchronous (reads, and writes that a task waits for)
//! and asynchronous (all other writes), each with a limit of its own; before 2.6.30 they were reads and writes. A merge
//! takes no request, and two requests that join free one. Left out, because the simulator knows no processes behind
//! requests: a process that waited may take up to 32 requests above the limit within 20 ms ("batching", up to one and a
//! half times `nr_requests`), cfq lets the task that it idles for pass the limit, and the congestion thresholds that
//! hold back the page cache's writeback.
//!
//! A scheduler of blk-mq has one set of tags for all requests instead ([`Scheduler::tags`]), of which some may have
//! only a part.
//!
//! A flush has no address to sort by: it goes to the device before any request in the scheduler, and `nr_requests`
//! does not count it.

use std::collections::VecDeque;

use flashloom_units::{Figure, Ns, Refusal, SECTOR_BYTES, Value, Violation, violation};
use flashloom_workload::{Op, Request};

use crate::end_index::EndIndex;
use crate::id::RequestId;
use crate::params::HostParams;
use crate::requests::{Class, Completed, Direction, Queued, Requests, Stage};
use crate::scheduler::{Choice, Join, Merge, Scheduler, SchedulerSetup};
use crate::stats::SchedulerStats;
use crate::tags::Tags;

/// Result of submitting a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The request waits to be dispatched.
    Queued,
    /// The request was merged into one that waits.
    Merged,
    /// The request was not admitted, because its class holds `nr_requests` already. Submit it again after a completion.
    Full,
}

/// Result of asking for the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send this request to the device.
    Dispatch(Dispatched),
    /// Send nothing until a request is submitted or completed.
    Idle,
    /// Send nothing before that time, unless a request is submitted or completed.
    NotBefore(Ns),
}

/// A request on its way to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dispatched {
    /// First sector; zero for a flush.
    pub lba: u64,
    /// Identifier, to be passed back at its completion.
    pub id: RequestId,
    /// Length in sectors; zero for a flush.
    pub sectors: u32,
    /// Task of the first original request in it.
    pub task: u32,
    /// Operation.
    pub op: Op,
    /// Flags and priority of the first original request in it, as [`Request`] defines them.
    pub flags: u8,
    /// Queue that all of its original requests were submitted to.
    pub queue: u8,
    /// Placement handle of all of its original requests.
    pub handle: u8,
}

impl Dispatched {
    /// A request as it is, under the identifier that is passed back at its completion.
    #[inline]
    pub fn new(id: RequestId, request: &Request) -> Self {
        let Request { lba, sectors, task, op, flags, queue, handle, .. } = *request;
        Self { lba, id, sectors, task, op, flags, queue, handle }
    }

    /// Converts it to a request of a recording that arrives at the device at `now`.
    pub fn issued(&self, now: Ns) -> Request {
        let Self { lba, sectors, task, op, flags, queue, handle, .. } = *self;
        let request = Request::new(op, lba, sectors).arriving_at(now).of_task(task).with_flags(flags);
        request.on_queue(queue).with_handle(handle)
    }
}

/// The host's block layer above one device.
pub struct BlockLayer {
    scheduler: Box<dyn Scheduler>,
    requests: Requests,
    ends: EndIndex,
    /// Flushes that wait, with their member numbers in the pool.
    flushes: VecDeque<(Request, u32)>,
    /// Number of requests of each class from queueing to completion, without flushes.
    held: [u32; 2],
    /// Number of requests in the scheduler.
    queued: u32,
    in_flight: u32,
    last_direction: Option<Direction>,
    stats: SchedulerStats,
    queue_depth: u32,
    nr_requests: u32,
    /// The tags of a scheduler that has one set for all requests.
    tags: Option<Tags>,
    max_request_bytes: u64,
    merging: bool,
    /// True if the scheduler decides on merges, so that `ends` stays empty.
    merges_itself: bool,
}

flashloom_units::state! {
    BlockLayer {
        nested requests, ends;
        policy scheduler;
        nested stats;
        value flushes, held, queued, in_flight, last_direction;
        fixed queue_depth, nr_requests, tags, max_request_bytes, merging, merges_itself;
    }
}

impl BlockLayer {
    /// Returns the facts that a scheduler for a device of that capacity is built with.
    pub fn setup(params: &HostParams, capacity_sectors: u64) -> SchedulerSetup {
        let HostParams { queue_depth, nr_requests, linux, hz, .. } = *params;
        // Of both classes as many as they may have, or one for each tag of the device; flushes come on top.
        let requests = (2 * nr_requests).max(queue_depth) + queue_depth;
        let max_request_sectors = if params.merging { params.max_request_bytes / SECTOR_BYTES } else { 0 };
        SchedulerSetup { capacity_sectors, requests, queue_depth, max_request_sectors, nr_requests, linux, hz }
    }

    /// Makes an empty block layer; `scheduler` must have been built with [`Self::setup`] of the same parameters.
    pub fn new(params: &HostParams, scheduler: Box<dyn Scheduler>) -> Self {
        let capacity = Self::setup(params, 0).requests;
        Self {
            tags: scheduler.tags(),
            merges_itself: scheduler.merges_itself(),
            scheduler,
            requests: Requests::new(capacity),
            ends: EndIndex::new(capacity),
            flushes: VecDeque::new(),
            held: [0; 2],
            queued: 0,
            in_flight: 0,
            last_direction: None,
            stats: SchedulerStats::default(),
            queue_depth: params.queue_depth,
            nr_requests: params.nr_requests,
            max_request_bytes: params.max_request_bytes,
            merging: params.merging,
        }
    }

    /// Submits a request that arrives, or one that was refused before. `cookie` is handed back when it completes.
    #[inline]
    pub fn submit(&mut self, now: Ns, request: &Request, cookie: u32) -> Admission {
        if request.op == Op::Flush {
            let member = self.requests.admit(request, cookie);
            self.flushes.push_back((*request, member));
            self.stats.inserted += 1;
            return Admission::Queued;
        }
        debug_assert!(request.sectors > 0, "only a flush has no length");
        let merges = self.merges(request.op, request.flags);
        // With none queued there is nothing to merge with.
        let may_merge = merges && self.queued > 0;
        let is_merged = may_merge
            && if self.merges_itself {
                self.merge_by_scheduler(now, request, cookie)
            } else {
                self.merge_back(request, cookie) || self.merge_front(request, cookie)
            };
        if is_merged {
            self.stats.inserted += 1;
            self.stats.merged += 1;
            return Admission::Merged;
        }
        if !self.has_room(request) {
            return Admission::Full;
        }
        let member = self.requests.admit(request, cookie);
        let id = self.requests.queue(request, member);
        let deadline_ns = self.scheduler.insert(now, &self.requests, id);
        self.requests.set_deadline(id, deadline_ns);
        if merges && !self.merges_itself {
            self.ends.insert(&self.requests, id);
        }
        self.held[Class::of(request).at()] += 1;
        self.queued += 1;
        self.stats.inserted += 1;
        self.join_by_scheduler();
        Admission::Queued
    }

    /// True if `nr_requests`, or the scheduler's set of tags, allows this request to be queued. A request that merges
    /// needs no room.
    #[inline]
    pub fn has_room(&self, request: &Request) -> bool {
        let is_free = match &self.tags {
            None => self.held[Class::of(request).at()] < self.nr_requests,
            Some(tags) => self.held[0] + self.held[1] < tags.open_to(request),
        };
        is_free || request.op == Op::Flush
    }

    /// Returns the next request for the device, or [`Decision::Idle`] while the device is at its queue depth.
    #[inline]
    pub fn dispatch(&mut self, now: Ns) -> Decision {
        if self.in_flight == self.queue_depth {
            return Decision::Idle;
        }
        let id = if !self.flushes.is_empty() {
            self.take_flush()
        } else {
            match self.scheduler.dispatch(now, &self.requests) {
                Choice::Request(id) => self.leave_queue(now, id),
                Choice::Idle => return Decision::Idle,
                Choice::NotBefore(time) => {
                    assert!(time > now, "a scheduler that waits waits for a time to come");
                    return Decision::NotBefore(time);
                }
            }
        };
        self.requests.start(id, now);
        self.in_flight += 1;
        self.stats.dispatched += 1;
        let Queued { lba, sectors, task, op, flags, queue, handle, .. } = self.requests[id];
        Decision::Dispatch(Dispatched { lba, id, sectors, task, op, flags, queue, handle })
    }

    #[cold]
    fn take_flush(&mut self) -> RequestId {
        let (flush, member) = self.flushes.pop_front().expect("taken when there is one");
        self.requests.queue(&flush, member)
    }

    /// Updates counters and indices for a request that leaves the queue, with which nothing can merge any more.
    #[inline]
    fn leave_queue(&mut self, now: Ns, id: RequestId) -> RequestId {
        let request = self.requests[id];
        if self.merges(request.op, request.flags) && !self.merges_itself {
            self.ends.remove(&self.requests, id);
        }
        let direction = request.direction();
        self.queued -= 1;
        if self.last_direction.replace(direction).is_some_and(|last| last != direction) {
            self.stats.direction_switches += 1;
        }
        if now > request.deadline_ns {
            self.stats.expired += 1;
        }
        id
    }

    /// Frees a request that the device has completed, and hands each original request in it to `each`, in address
    /// order.
    #[inline]
    pub fn complete(&mut self, now: Ns, id: RequestId, mut each: impl FnMut(&Completed)) {
        self.leave_device(now, id);
        let stats = &mut self.stats;
        self.requests.finish(id, |completed| {
            stats.completed += 1;
            if completed.op != Op::Flush {
                // A replay may submit a request before its recorded arrival, never after its dispatch.
                let wait_ns = completed.dispatched_ns.saturating_sub(completed.arrival_ns);
                stats.wait[Direction::of(completed.op).at()].record(wait_ns);
            }
            each(completed);
        });
    }

    /// Frees a request that the device has failed. Like [`Self::complete`], but its wait is not recorded.
    pub fn fail(&mut self, now: Ns, id: RequestId, mut each: impl FnMut(&Completed)) {
        self.leave_device(now, id);
        let stats = &mut self.stats;
        self.requests.finish(id, |failed| {
            stats.completed += 1;
            each(failed);
        });
    }

    #[inline]
    fn leave_device(&mut self, now: Ns, id: RequestId) {
        if self.requests[id].op != Op::Flush {
            self.scheduler.completed(now, &self.requests, id);
            self.held[self.requests[id].class().at()] -= 1;
        }
        self.in_flight -= 1;
    }

    /// Takes back a request that was dispatched and that the device could not take; it is dispatched again. `now` must
    /// not be before its dispatch.
    pub fn requeue(&mut self, now: Ns, id: RequestId) {
        assert_ne!(self.requests[id].op, Op::Flush, "a flush is always taken");
        self.requests.stop(id);
        self.in_flight -= 1;
        self.queued += 1;
        self.stats.dispatched -= 1;
        let deadline_ns = self.scheduler.requeue(now, &self.requests, id);
        self.requests.set_deadline(id, deadline_ns);
        let request = self.requests[id];
        if self.merges(request.op, request.flags) && !self.merges_itself {
            self.ends.insert(&self.requests, id);
        }
        self.join_by_scheduler();
    }

    /// Gives the scheduler new values for all of its parameters.
    ///
    /// # Errors
    /// The scheduler refuses the values, see [`Scheduler::reconfigure`].
    pub fn reconfigure(&mut self, values: &[Value]) -> Result<(), Refusal> {
        self.scheduler.reconfigure(&self.requests, values)?;
        self.tags = self.scheduler.tags();
        Ok(())
    }

    #[inline]
    fn merges(&self, op: Op, flags: u8) -> bool {
        self.merging && op != Op::Flush && flags & (Request::FUA | Request::PREFLUSH) == 0
    }

    /// True if operation, flags and length allow a request to grow by `sectors` of the operation `op`.
    fn fits(&self, op: Op, sectors: u32, id: RequestId) -> bool {
        let queued = &self.requests[id];
        let bytes = (u64::from(queued.sectors) + u64::from(sectors)) * SECTOR_BYTES;
        queued.op == op && self.merges(queued.op, queued.flags) && bytes <= self.max_request_bytes
    }

    fn accepts(&self, id: RequestId, request: &Request) -> bool {
        self.fits(request.op, request.sectors, id)
            && self.requests[id].goes_with(request.queue, request.handle, request.flags)
            && self.scheduler.allows_merge(&self.requests, id, request)
    }

    fn merge_by_scheduler(&mut self, now: Ns, request: &Request, cookie: u32) -> bool {
        let Some(Merge { into, is_front }) = self.scheduler.merge(now, &self.requests, request) else { return false };
        if is_front {
            self.requests.grow_front(into, request, cookie);
        } else {
            self.requests.grow_back(into, request, cookie);
        }
        self.join_by_scheduler();
        true
    }

    fn join_by_scheduler(&mut self) {
        if !self.merges_itself {
            return;
        }
        while let Some(Join { kept, gone }) = self.scheduler.join(&self.requests) {
            let class = self.requests[gone].class();
            self.requests.join(kept, gone);
            self.held[class.at()] -= 1;
            self.queued -= 1;
            self.stats.merged += 1;
        }
    }

    fn merge_back(&mut self, request: &Request, cookie: u32) -> bool {
        let candidates = self.ends.ending_at(&self.requests, request.lba);
        let Some(id) = candidates.into_iter().find(|&id| self.accepts(id, request)) else { return false };
        self.ends.remove(&self.requests, id);
        self.requests.grow_back(id, request, cookie);
        self.ends.insert(&self.requests, id);
        if let Some(latter) = self.scheduler.latter(&self.requests, id) {
            self.join_if_touching(id, latter);
        }
        true
    }

    fn merge_front(&mut self, request: &Request, cookie: u32) -> bool {
        let end = request.end();
        let first = self.scheduler.front_merge_candidate(&self.requests, request);
        let candidate = std::iter::successors(first, |&id| self.scheduler.latter(&self.requests, id))
            .take_while(|&id| self.requests[id].lba == end)
            .find(|&id| self.accepts(id, request));
        let Some(id) = candidate else { return false };
        self.requests.grow_front(id, request, cookie);
        self.scheduler.moved(&self.requests, id);
        if let Some(former) = self.scheduler.former(&self.requests, id) {
            self.join_if_touching(former, id);
        }
        true
    }

    /// Joins two neighbours in the scheduler's order, one of which has just grown towards the other, if they are
    /// adjacent.
    fn join_if_touching(&mut self, kept: RequestId, gone: RequestId) {
        let (first, second) = (self.requests[kept], self.requests[gone]);
        let fits = self.merges(first.op, first.flags) && self.fits(first.op, first.sectors, gone);
        if first.end() != second.lba || !fits || !second.goes_with(first.queue, first.handle, first.flags) {
            return;
        }
        self.scheduler.absorb(&self.requests, kept, gone);
        self.ends.remove(&self.requests, kept);
        self.ends.remove(&self.requests, gone);
        self.requests.join(kept, gone);
        self.ends.insert(&self.requests, kept);
        self.held[second.class().at()] -= 1;
        self.queued -= 1;
        self.stats.merged += 1;
    }

    /// The counters.
    pub fn stats(&self) -> &SchedulerStats {
        &self.stats
    }

    /// Values of the scheduler's statistics, in the order of its specification.
    pub fn figures(&self) -> Vec<Figure> {
        self.scheduler.figures()
    }

    /// Member number of the original request that was queued or merged last.
    #[inline]
    pub fn newest_member(&self) -> u32 {
        self.requests.newest_member()
    }

    /// Maximum number of requests that the device holds.
    pub fn queue_depth(&self) -> u32 {
        self.queue_depth
    }

    /// Number of requests that wait, including flushes.
    pub fn queued(&self) -> u64 {
        u64::from(self.queued) + self.flushes.len() as u64
    }

    /// Number of requests that the device holds.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// True if the count of each class equals that of the pool.
    fn limits_hold(&self) -> bool {
        match &self.tags {
            None => self.held.iter().all(|&n| n <= self.nr_requests),
            Some(tags) => self.held[0] + self.held[1] <= tags.reads.max(tags.sync_writes).max(tags.async_writes),
        }
    }

    fn classes_add_up(&self) -> bool {
        let in_pool = |class| {
            let all = self.requests.at_stage(Stage::Queued).chain(self.requests.at_stage(Stage::InFlight));
            all.filter(|&id| self.requests[id].op != Op::Flush && self.requests[id].class() == class).count() as u32
        };
        Class::BOTH.iter().all(|&class| self.held[class.at()] == in_pool(class))
    }

    /// Checks that no request was lost or counted twice.
    ///
    /// # Errors
    /// The first rule that does not hold, with the values of all counters.
    pub fn check(&self) -> Result<(), Violation> {
        let SchedulerStats { inserted, merged, dispatched, completed, .. } = self.stats;
        let (queued, in_flight, flushes) = (self.queued(), u64::from(self.in_flight), self.flushes.len() as u64);
        let listed = self.requests.count(Stage::Queued) + flushes;
        let held = self.requests.count(Stage::InFlight);
        let waiting = self.requests.count_members(Stage::Queued) + flushes;
        let members = waiting + self.requests.count_members(Stage::InFlight);
        let counters = violation!(
            "inserted {inserted}, merged {merged}, dispatched {dispatched}, completed {completed}, queued {queued} \
             ({listed} in the pool), in flight {in_flight} ({held} in the pool), original requests held {members}"
        );
        let rules = [
            ("inserted = merged + dispatched + queued", inserted == merged + dispatched + queued),
            ("inserted = completed + original requests held", inserted == completed + members),
            ("queued and in flight are what the pool holds", queued == listed && in_flight == held),
            ("the device holds no more than its queue depth", self.in_flight <= self.queue_depth),
            ("no class holds more than nr_requests, and all no more than their tags", self.limits_hold()),
            ("what the classes hold is what waits and what is in flight", self.classes_add_up()),
        ];
        match rules.iter().find(|(_, holds)| !holds) {
            Some((rule, _)) => Err(violation!("host: it does not hold that {rule}: {counters}")),
            None => self.scheduler.check().and_then(|()| self.scheduler.check_queued(&self.requests)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Lab;
    use crate::scheduler::deadline;
    use flashloom_workload::{Priority, PriorityClass};

    fn lab() -> Lab {
        Lab::new(deadline::Deadline::new, |_| {})
    }

    #[test]
    fn only_requests_that_ask_the_same_merge() {
        let mut lab = lab();
        for op in [Op::Read, Op::Write, Op::Discard] {
            assert_eq!(lab.submit(op, 0, 0, 100, 8), Admission::Queued, "{op:?}");
        }
        for op in [Op::Read, Op::Write, Op::Discard] {
            assert_eq!(lab.submit(op, 0, 0, 108, 8), Admission::Merged, "{op:?} behind");
            assert_eq!(lab.submit(op, 0, 0, 92, 8), Admission::Merged, "{op:?} before");
        }
        assert_eq!(lab.layer.queued(), 3);
        assert_eq!((lab.layer.stats().inserted, lab.layer.stats().merged), (9, 6));
    }

    #[test]
    fn requests_of_different_queues_handles_or_priorities_do_not_merge_and_reach_the_device_with_theirs() {
        let at = |lba| Request::new(Op::Write, lba, 8);
        let urgent = Priority::new(PriorityClass::RealTime, 0);
        let kinds: [fn(Request, Priority) -> Request; 3] = [
            |request, _| request.on_queue(1),
            |request, _| request.with_handle(7),
            |request, priority| request.with_priority(priority),
        ];
        for kind in kinds {
            let mut lab = lab();
            let of_kind = |lba| kind(at(lba), urgent);
            for request in [at(100), of_kind(108), at(124), of_kind(132)] {
                assert_eq!(lab.layer.submit(0, &request, 0), Admission::Queued, "it touches only others");
            }
            assert_eq!(lab.layer.submit(0, &of_kind(116), 0), Admission::Merged, "behind 108, and 124 stays another");
            assert_eq!(lab.layer.submit(0, &of_kind(140), 0), Admission::Merged);
            let sent = std::iter::from_fn(|| match lab.start() {
                Decision::Dispatch(dispatched) => Some(dispatched.issued(0)),
                _ => None,
            });
            let of = |request: Request| (request.lba, request.sectors, request.queue, request.handle, request.flags);
            let kept = |lba, sectors| of(kind(Request::new(Op::Write, lba, sectors), urgent));
            assert_eq!(sent.map(of).collect::<Vec<_>>(), [of(at(100)), kept(108, 16), of(at(124)), kept(132, 16)]);
        }
    }

    #[test]
    fn durable_writes_never_merge_and_neither_does_anything_with_them() {
        for flag in [Request::FUA, Request::PREFLUSH] {
            let mut lab = lab();
            lab.writes([100]);
            assert_eq!(lab.submit(Op::Write, 0, flag, 108, 8), Admission::Queued);
            assert_eq!(lab.submit(Op::Write, 0, 0, 116, 8), Admission::Queued);
            assert_eq!(lab.serve(9), [100, 108, 116]);
        }
    }

    #[test]
    fn a_synchronous_and_an_asynchronous_write_merge_and_keep_the_flags_of_the_first() {
        let mut lab = lab();
        lab.writes([100]);
        assert_eq!(lab.submit(Op::Write, 3, Request::SYNC, 108, 8), Admission::Merged);
        let Decision::Dispatch(dispatched) = lab.start() else { panic!("one request waits") };
        assert_eq!((dispatched.sectors, dispatched.flags), (16, 0));
    }

    #[test]
    fn max_request_bounds_what_merging_makes_to_the_sector() {
        let mut lab = lab();
        lab.submit(Op::Write, 0, 0, 0, 1_000);
        assert_eq!(lab.submit(Op::Write, 0, 0, 1_000, 25), Admission::Queued);
        assert_eq!(lab.submit(Op::Write, 0, 0, 5_000, 24), Admission::Queued);
        assert_eq!(lab.submit(Op::Write, 0, 0, 4_000, 1_000), Admission::Merged);
        lab.submit(Op::Read, 0, 0, 0, 600);
        lab.submit(Op::Read, 0, 0, 700, 600);
        assert_eq!(lab.submit(Op::Read, 0, 0, 600, 100), Admission::Merged, "but 1300 sectors are not joined");
        assert_eq!(lab.layer.queued(), 5);
    }

    #[test]
    fn a_request_that_closes_a_gap_joins_both_sides_and_their_members_complete_in_address_order() {
        let mut lab = lab();
        lab.reads([116, 100]);
        assert_eq!(lab.submit(Op::Read, 0, 0, 108, 8), Admission::Merged);
        assert_eq!(lab.layer.queued(), 1);
        assert_eq!(lab.start_one(), 100);
        assert_eq!(lab.finish(100), [100, 108, 116]);
        assert_eq!((lab.layer.stats().merged, lab.layer.stats().completed), (2, 3));
    }

    #[test]
    fn the_request_that_came_to_end_at_a_sector_last_takes_the_back_merge() {
        let mut lab = lab();
        lab.submit(Op::Write, 0, 0, 100, 8);
        lab.submit(Op::Write, 0, 0, 92, 16);
        assert_eq!(lab.submit(Op::Write, 0, 0, 108, 8), Admission::Merged);
        assert_eq!(lab.start_one(), 100, "the eldest");
        assert_eq!(lab.finish(100), [100]);
        assert_eq!(lab.start_one(), 92);
        assert_eq!(lab.finish(92), [92, 108]);
    }

    #[test]
    fn what_is_at_the_device_no_longer_merges() {
        let mut lab = lab();
        lab.reads([100]);
        assert_eq!(lab.start_one(), 100);
        assert_eq!(lab.submit(Op::Read, 0, 0, 108, 8), Admission::Queued);
        assert_eq!(lab.submit(Op::Read, 0, 0, 92, 8), Admission::Queued);
    }

    #[test]
    fn nr_requests_holds_for_synchronous_and_asynchronous_requests_each_and_merging_needs_no_room() {
        let mut lab = lab();
        lab.reads((0..127).map(|n| n * 100));
        assert_eq!(lab.submit(Op::Write, 0, Request::SYNC, 70_000, 8), Admission::Queued, "counts with the reads");
        for (op, flags) in [(Op::Read, 0), (Op::Write, Request::SYNC)] {
            assert_eq!(lab.submit(op, 0, flags, 50_000, 8), Admission::Full, "{op:?}");
        }
        assert_eq!(lab.submit(Op::Read, 0, 0, 8, 8), Admission::Merged);
        lab.writes((0..127).map(|n| n * 100));
        assert_eq!(lab.submit(Op::Discard, 0, 0, 50_000, 8), Admission::Queued, "a discard counts with the writes");
        assert_eq!(lab.submit(Op::Write, 0, 0, 60_000, 8), Admission::Full);
        assert_eq!(lab.submit(Op::Flush, 0, 0, 0, 0), Admission::Queued);
    }

    #[test]
    fn nr_requests_counts_what_the_device_holds_until_it_has_completed() {
        let mut lab = lab();
        lab.reads((0..128).map(|n| n * 100));
        let held: Vec<u64> = (0..31).map(|_| lab.start_one()).collect();
        assert_eq!(lab.layer.queued(), 97);
        assert_eq!(lab.submit(Op::Read, 0, 0, 50_000, 8), Admission::Full, "97 wait and the device holds 31");
        lab.finish(held[3]);
        assert_eq!(lab.submit(Op::Read, 0, 0, 50_000, 8), Admission::Queued);
        assert_eq!(lab.submit(Op::Read, 0, 0, 60_000, 8), Admission::Full);
    }

    #[test]
    fn two_requests_that_join_free_one_of_nr_requests() {
        let mut lab = lab();
        lab.writes((0..127).map(|n| 1_000 + n * 100));
        lab.writes([1_016]);
        assert_eq!(lab.submit(Op::Write, 0, 0, 50_000, 8), Admission::Full);
        assert_eq!(lab.submit(Op::Write, 0, 0, 1_008, 8), Admission::Merged, "and closes the gap to 1016");
        assert_eq!(lab.submit(Op::Write, 0, 0, 50_000, 8), Admission::Queued);
    }

    #[test]
    fn the_device_holds_no_more_than_its_queue_depth() {
        let mut lab = lab();
        lab.reads((0..40).map(|n| n * 100));
        let held: Vec<u64> = (0..31).map(|_| lab.start_one()).collect();
        assert_eq!(lab.start(), Decision::Idle);
        lab.finish(held[7]);
        assert_eq!(lab.start_one(), 3_100);
    }

    #[test]
    fn a_flush_overtakes_what_is_queued_and_needs_no_room() {
        let mut lab = lab();
        lab.reads((0..128).map(|n| n * 100));
        assert_eq!(lab.submit(Op::Flush, 0, 0, 0, 0), Admission::Queued);
        let Decision::Dispatch(Dispatched { op, sectors, .. }) = lab.start() else { panic!("a flush waits") };
        assert_eq!((op, sectors), (Op::Flush, 0));
        assert_eq!(lab.finish(0), [0]);
        assert_eq!(lab.layer.stats().max_wait_ns(), 0);
        assert_eq!(lab.serve(999).len(), 128);
    }

    #[test]
    fn the_wait_is_counted_from_arrival_to_dispatch_by_direction() {
        let mut lab = lab();
        lab.reads([100]);
        lab.writes([500]);
        lab.now = 70;
        assert_eq!(lab.start_one(), 100);
        lab.now = 90;
        assert_eq!(lab.start_one(), 500);
        lab.now = 1_000;
        lab.finish(100);
        lab.finish(500);
        let stats = lab.layer.stats();
        assert_eq!((stats.max_wait_ns_of(Direction::Read), stats.max_wait_ns_of(Direction::Write)), (70, 90));
        assert_eq!((stats.max_wait_ns(), stats.direction_switches), (90, 1));
    }
}
