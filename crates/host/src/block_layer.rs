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
//! In blk-mq ([`HostParams::linux`]) there is one set of tags for all requests instead, of which a scheduler may let
//! some have only a part ([`Scheduler::tags`]). If it serves several hardware queues ([`Scheduler::serves`]), each of
//! them has such a set, and its own queue depth.
//!
//! With [`HostParams::plug`] such a scheduler gets what a task submits at one moment in lists (`plugging`).
//!
//! A flush has no address to sort by: it goes to the device before any request in the scheduler, and `nr_requests`
//! does not count it.

use std::collections::VecDeque;

use flashloom_units::{Figure, Ns, Refusal, SECTOR_BYTES, Value};
use flashloom_workload::{Op, Request};

use crate::end_index::EndIndex;
use crate::hardware_queues::{HardwareQueues, Step};
use crate::id::RequestId;
use crate::linux::Linux;
use crate::params::{HostParams, Throttling};
use crate::plug::Plug;
use crate::queue_map::QueueMap;
use crate::requests::{Class, Completed, Direction, Queued, Requests, Stage};
use crate::scheduler::{Choice, Join, Merge, Scheduler, SchedulerSetup, Serves};
use crate::stats::SchedulerStats;
use crate::tags::Tags;
use crate::throttle::Throttle;

mod checks;
mod plugging;

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

impl Decision {
    /// The request that is sent; none while nothing is.
    pub fn request(self) -> Option<Dispatched> {
        if let Self::Dispatch(request) = self { Some(request) } else { None }
    }
}

/// A request on its way to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dispatched {
    /// First sector; zero for a flush.
    pub lba: u64,
    // Sectors and id are in another order than in the drive's command. Side by side in both, they would be copied as
    // one word right after they were stored as two, and that load waits for the stores. Only time depends on it.
    /// Length in sectors; zero for a flush.
    pub sectors: u32,
    /// Identifier, to be passed back at its completion.
    pub id: RequestId,
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
    /// Number of requests in the scheduler, and behind it without a tag of the device.
    queued: u32,
    in_flight: u32,
    last_direction: Option<Direction>,
    stats: SchedulerStats,
    queue_depth: u32,
    nr_requests: u32,
    /// The tags of blk-mq, one set for all requests.
    tags: Option<Tags>,
    /// Write-back throttling, if it is on.
    throttle: Option<Box<Throttle>>,
    /// The hardware queues, if there are several and the scheduler serves them.
    hardware: Option<Box<HardwareQueues>>,
    max_request_bytes: u64,
    most_sectors: u32,
    merging: bool,
    /// True if the scheduler decides on merges, so that `ends` stays empty.
    merges_itself: bool,
    /// The plug, if the scheduler gets one.
    plug: Option<Box<Plug>>,
    /// True if a plug was emptied and its moment is not over.
    is_unplugged: bool,
}

flashloom_units::state! {
    BlockLayer {
        nested requests, ends;
        policy scheduler;
        nested stats, hardware, plug, throttle;
        value flushes, held, queued, in_flight, last_direction, is_unplugged;
        fixed queue_depth, nr_requests, tags, max_request_bytes, most_sectors, merging, merges_itself;
    }
}

impl BlockLayer {
    /// Returns the facts that a scheduler for a device of that capacity is built with.
    pub fn setup(params: &HostParams, capacity_sectors: u64) -> SchedulerSetup {
        let HostParams { queue_depth, hz, .. } = *params;
        let max_request_sectors = if params.merging { params.max_request_bytes() / SECTOR_BYTES } else { 0 };
        SchedulerSetup {
            capacity_sectors,
            requests: params.requests() as u32,
            queue_depth,
            max_request_sectors,
            nr_requests: params.class_requests(),
            tags: params.tag_set(),
            linux: params.linux(),
            hz,
            queues: QueueMap::new(params.processors, params.hardware_queues, params.linux()),
        }
    }

    /// Makes an empty block layer; `scheduler` must have been built with [`Self::setup`] of the same parameters.
    pub fn new(params: &HostParams, scheduler: Box<dyn Scheduler>) -> Self {
        let SchedulerSetup { requests: capacity, queues, queue_depth, linux, tags, .. } = Self::setup(params, 0);
        let serves = if queues.queues() > 1 { scheduler.serves() } else { Serves::One };
        let max_request_sectors = (params.max_request_bytes() / SECTOR_BYTES) as u32;
        let hardware = || Box::new(HardwareQueues::new(queues, serves, queue_depth));
        let is_throttled = params.wbt == Throttling::On || scheduler.is_throttled();
        let throttle = Throttle::new(params).filter(|_| is_throttled);
        Self {
            hardware: (serves != Serves::One).then(hardware),
            tags: scheduler.tags().or((linux > Linux::V2_6_32).then(|| Tags::of(tags.tags))),
            throttle: throttle.map(Box::new),
            merges_itself: scheduler.merges_itself(),
            plug: (params.plug && scheduler.merges_itself()).then(|| Box::new(Plug::new(params.linux()))),
            is_unplugged: false,
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
            nr_requests: params.class_requests(),
            max_request_bytes: params.max_request_bytes(),
            most_sectors: if linux > Linux::V2_6_32 { max_request_sectors } else { u32::MAX },
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
        if self.plug.is_some() {
            self.leave_to(now, request.task);
        }
        let merges = self.merges(request.op, request.flags);
        // With none queued there is nothing to merge with.
        let may_merge = merges && self.queued > 0;
        let is_merged = may_merge
            && if self.merges_itself {
                self.merge_by_scheduler(now, request, cookie)
            } else {
                self.merge_back(now, request, cookie) || self.merge_front(now, request, cookie)
            };
        if is_merged {
            self.stats.inserted += 1;
            self.stats.merged += 1;
            self.throttle.iter_mut().for_each(|throttle| throttle.merged(request));
            return Admission::Merged;
        }
        if self.throttle.is_some() && !self.has_token(now, request) {
            return Admission::Full;
        }
        if !self.has_room(request) && !self.makes_room(now, request) {
            return Admission::Full;
        }
        let member = self.requests.admit(request, cookie);
        let id = self.requests.queue(request, member);
        self.held[Class::of(request).at()] += 1;
        self.queued += 1;
        self.stats.inserted += 1;
        self.throttle.iter_mut().for_each(|throttle| throttle.entered(request));
        self.hardware.iter_mut().for_each(|hardware| hardware.admitted(request.task));
        if self.plug.is_some() {
            self.add_to_plug(now, id);
            return Admission::Queued;
        }
        self.insert(now, id);
        if merges && !self.merges_itself {
            self.ends.insert(&self.requests, id);
        }
        Admission::Queued
    }

    /// Gives a request that was admitted to the scheduler.
    #[inline]
    fn insert(&mut self, now: Ns, id: RequestId) {
        let deadline_ns = self.scheduler.insert(now, &self.requests, id);
        self.requests.set_deadline(id, deadline_ns);
        self.hardware.iter_mut().for_each(|hardware| hardware.queued(self.requests[id].task));
        self.join_by_scheduler(now);
    }

    /// True if `nr_requests`, or the scheduler's set of tags, allows this request to be queued. A request that merges
    /// needs no room.
    #[inline]
    pub fn has_room(&self, request: &Request) -> bool {
        let is_free = match &self.tags {
            None => self.held[Class::of(request).at()] < self.nr_requests,
            Some(tags) => self.tags_held(request.task) < tags.open_to(request),
        };
        is_free || request.op == Op::Flush
    }

    /// True if write-back throttling lets a request in. A task that it holds up goes to sleep, and its plug is emptied
    /// before.
    #[inline(never)]
    fn has_token(&mut self, now: Ns, request: &Request) -> bool {
        let Some(throttle) = &mut self.throttle else { return true };
        let is_let_in = throttle.admit(now, request);
        self.stats.throttled = throttle.waited();
        if !is_let_in && self.plug.is_some() {
            self.empty_plug(now);
        }
        is_let_in
    }

    /// Number of tags that are taken of the set that a task's requests are in.
    #[inline]
    fn tags_held(&self, task: u32) -> u32 {
        self.hardware.as_ref().map_or(self.held[0] + self.held[1], |hardware| hardware.held(task))
    }

    /// The line that a request waits in while it is refused: those of a line wait for the same room. That is the room
    /// of a class, or tags of a set with the same limit; what is throttled waits in lines of its own.
    #[inline]
    pub fn line_of(&self, request: &Request) -> u32 {
        let Some(tags) = &self.tags else { return Class::of(request).at() as u32 };
        let (set, sets) = self.hardware.as_ref().map_or((0, 1), |all| (all.queue_of(request.task), all.count()));
        let limits = [tags.reads, tags.sync_writes, tags.async_writes];
        if let Some(throttle) = &self.throttle
            && let Some(line) = throttle.line_of(request.op, request.flags)
        {
            return limits.len() as u32 * sets + line as u32;
        }
        let first = limits.iter().position(|&limit| limit == tags.open_to(request)).unwrap_or(0);
        limits.len() as u32 * set + first as u32
    }

    /// Returns the next request for the device, or [`Decision::Idle`] while the device is at its queue depth. All that
    /// is submitted at this moment has been.
    #[inline]
    pub fn dispatch(&mut self, now: Ns) -> Decision {
        if self.plug.is_some() {
            self.empty_plug(now);
            self.is_unplugged = false;
        }
        let decision = self.run(now);
        if self.throttle.is_some() { self.with_window(now, decision) } else { decision }
    }

    /// A decision to wait, no longer than the window of those that are throttled.
    #[inline(never)]
    fn with_window(&mut self, now: Ns, decision: Decision) -> Decision {
        let ends_ns = self.throttle.as_mut().map_or(Ns::MAX, |throttle| throttle.wakes_ns(now));
        match decision {
            Decision::Idle if ends_ns < Ns::MAX => Decision::NotBefore(ends_ns),
            Decision::NotBefore(time) => Decision::NotBefore(time.min(ends_ns)),
            other => other,
        }
    }

    /// Follows a run of one hardware queue, for hosts that know when each is run, as recordings tell it;
    /// [`Self::dispatch`] runs all that are due in a circle. At the beginning of a run, `asks` is false, and what the
    /// scheduler gave before is sent, a request with each call. With `asks` the scheduler is asked once, if the run has
    /// come to that and goes on ([`Self::is_run`]). A scheduler that knows one queue alone is asked anyway.
    ///
    /// # Panics
    ///
    /// If there is no such hardware queue.
    pub fn run_queue(&mut self, now: Ns, queue: u32, asks: bool) -> Option<Dispatched> {
        let Some(mut hardware) = self.hardware.take() else { return self.dispatch(now).request() };
        assert!(queue < hardware.count(), "there are {} hardware queues", hardware.count());
        hardware.turn_to(queue, asks);
        let next = self.step(now, &mut hardware, asks);
        if next == Err(false) {
            hardware.end();
        }
        self.hardware = Some(hardware);
        next.ok().map(|id| self.send_of_queue(now, id))
    }

    /// Number of requests that the scheduler has and can give.
    pub fn with_scheduler(&self) -> u32 {
        self.queued - self.hardware.as_ref().map_or(0, |hardware| hardware.taken())
    }

    /// True if the run of a hardware queue has begun and not ended.
    pub fn is_run(&self, queue: u32) -> bool {
        self.hardware.as_ref().is_some_and(|hardware| hardware.is_run(queue))
    }

    /// Asks for the next request of those that the scheduler has.
    #[inline]
    fn run(&mut self, now: Ns) -> Decision {
        if self.hardware.is_some() {
            return self.run_hardware_queues(now);
        }
        if self.in_flight == self.queue_depth {
            return Decision::Idle;
        }
        let id = if !self.flushes.is_empty() {
            self.take_flush(0)
        } else {
            match self.scheduler.dispatch(now, &self.requests) {
                Choice::Request(id) => {
                    self.leave_scheduler(id);
                    self.leave_queue(now, id)
                }
                Choice::Idle => return Decision::Idle,
                Choice::NotBefore(time) => {
                    assert!(time > now, "a scheduler that waits waits for a time to come");
                    return Decision::NotBefore(time);
                }
            }
        };
        Decision::Dispatch(self.send(now, id))
    }

    #[inline]
    fn send(&mut self, now: Ns, id: RequestId) -> Dispatched {
        self.requests.start(id, now);
        self.throttle.iter_mut().for_each(|throttle| throttle.sent(now, id, &self.requests[id]));
        self.in_flight += 1;
        self.stats.dispatched += 1;
        let Queued { lba, sectors, task, op, flags, queue, handle, .. } = self.requests[id];
        Dispatched { lba, id, sectors, task, op, flags, queue, handle }
    }

    /// Runs the hardware queues in turn until one of them sends a request.
    #[inline(never)] // Most hosts have one.
    fn run_hardware_queues(&mut self, now: Ns) -> Decision {
        let Some(mut hardware) = self.hardware.take() else { return Decision::Idle };
        let sent = self.next_of_queues(now, &mut hardware);
        let wakes_ns = hardware.wakes_ns();
        self.hardware = Some(hardware);
        match sent {
            Some(id) => Decision::Dispatch(self.send_of_queue(now, id)),
            None if wakes_ns == Ns::MAX => Decision::Idle,
            None => Decision::NotBefore(wakes_ns),
        }
    }

    fn send_of_queue(&mut self, now: Ns, id: RequestId) -> Dispatched {
        let task = self.requests[id].task;
        self.hardware.iter_mut().for_each(|hardware| hardware.sent(task));
        self.send(now, id)
    }

    fn next_of_queues(&mut self, now: Ns, hardware: &mut HardwareQueues) -> Option<RequestId> {
        if let Some(at) = self.flushes.iter().position(|(flush, _)| hardware.has_room(flush.task)) {
            return Some(self.take_flush(at));
        }
        let mut passed = 0;
        while passed < hardware.count() {
            match self.step(now, hardware, true) {
                Ok(id) => return Some(id),
                Err(true) => {}
                Err(false) => {
                    hardware.pass();
                    passed += 1;
                }
            }
        }
        None
    }

    /// Takes a step of a hardware queue's run; the step asks the scheduler only if `asks`. Returns the request to send,
    /// `Err(true)` if the run continues without a request, or `Err(false)` if the run ends.
    fn step(&mut self, now: Ns, hardware: &mut HardwareQueues, asks: bool) -> Result<RequestId, bool> {
        match hardware.step(now) {
            Step::Send(id) => return Ok(self.leave_queue(now, id)),
            Step::Nothing => return Err(false),
            Step::Ask if !asks => return Err(true),
            Step::Ask => {}
        }
        match self.scheduler.dispatch_for(now, &self.requests, hardware.turn()) {
            Choice::Request(id) => {
                let task = self.requests[id].task;
                self.leave_scheduler(id);
                if hardware.takes(task) {
                    return Ok(self.leave_queue(now, id));
                }
                self.requests.pass(id, Stage::Queued, Stage::Taken);
                Err(hardware.keep(task, id, self.queued > hardware.taken() + 1))
            }
            nothing => Err(hardware.gave_nothing(nothing)),
        }
    }

    #[cold]
    fn take_flush(&mut self, at: usize) -> RequestId {
        let (flush, member) = self.flushes.remove(at).expect("taken when there is one");
        self.requests.queue(&flush, member)
    }

    /// Follows a request that leaves the scheduler: nothing can merge with it any more.
    #[inline]
    fn leave_scheduler(&mut self, id: RequestId) {
        let Queued { op, flags, .. } = self.requests[id];
        if self.merges(op, flags) && !self.merges_itself {
            self.ends.remove(&self.requests, id);
        }
    }

    /// Counts a request that goes to the device.
    #[inline]
    fn leave_queue(&mut self, now: Ns, id: RequestId) -> RequestId {
        let request = self.requests[id];
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
            self.throttle.iter_mut().for_each(|throttle| throttle.completed(now, id, &self.requests[id]));
        }
        self.in_flight -= 1;
        if let Some(hardware) = &mut self.hardware {
            let Queued { op, task, .. } = self.requests[id];
            hardware.returned(task, op != Op::Flush);
        }
    }

    /// Takes back a request that was dispatched and that the device could not take; it is dispatched again. `now` must
    /// not be before its dispatch.
    pub fn requeue(&mut self, now: Ns, id: RequestId) {
        assert_ne!(self.requests[id].op, Op::Flush, "a flush is always taken");
        self.requests.pass(id, Stage::InFlight, Stage::Queued);
        self.throttle.iter_mut().for_each(|throttle| throttle.returned(id));
        self.in_flight -= 1;
        self.queued += 1;
        self.stats.dispatched -= 1;
        if let Some(hardware) = &mut self.hardware {
            hardware.returned(self.requests[id].task, false);
            hardware.queued(self.requests[id].task);
        }
        let deadline_ns = self.scheduler.requeue(now, &self.requests, id);
        self.requests.set_deadline(id, deadline_ns);
        let request = self.requests[id];
        if self.merges(request.op, request.flags) && !self.merges_itself {
            self.ends.insert(&self.requests, id);
        }
        self.join_by_scheduler(now);
    }

    /// Gives the scheduler new values for all of its parameters.
    ///
    /// # Errors
    /// The scheduler refuses the values, see [`Scheduler::reconfigure`].
    pub fn reconfigure(&mut self, values: &[Value]) -> Result<(), Refusal> {
        self.scheduler.reconfigure(&self.requests, values)?;
        self.tags = self.tags.map(|tags| self.scheduler.tags().unwrap_or(tags));
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
        if self.plug.is_some() && self.merge_in_plug(request, cookie) {
            return true;
        }
        let Some(Merge { into, is_front }) = self.scheduler.merge(now, &self.requests, request) else { return false };
        self.requests.grow(into, is_front, request, cookie);
        self.join_by_scheduler(now);
        true
    }

    fn join_by_scheduler(&mut self, now: Ns) {
        if !self.merges_itself {
            return;
        }
        while let Some(Join { kept, gone }) = self.scheduler.join(&self.requests) {
            self.join(now, kept, gone);
        }
    }

    /// Makes `gone`, which the scheduler has given up, the end of `kept`.
    fn join(&mut self, now: Ns, kept: RequestId, gone: RequestId) {
        let end = self.requests[gone];
        self.throttle.iter_mut().for_each(|throttle| throttle.left(now, gone, &end));
        self.hardware.iter_mut().for_each(|hardware| hardware.joined(end.task));
        self.requests.join(kept, gone);
        self.held[end.class().at()] -= 1;
        self.queued -= 1;
        self.stats.merged += 1;
    }

    fn merge_back(&mut self, now: Ns, request: &Request, cookie: u32) -> bool {
        let candidates = self.ends.ending_at(&self.requests, request.lba);
        let Some(id) = candidates.into_iter().find(|&id| self.accepts(id, request)) else { return false };
        self.ends.remove(&self.requests, id);
        self.requests.grow(id, false, request, cookie);
        self.ends.insert(&self.requests, id);
        if let Some(latter) = self.scheduler.latter(&self.requests, id) {
            self.join_if_touching(now, id, latter);
        }
        true
    }

    fn merge_front(&mut self, now: Ns, request: &Request, cookie: u32) -> bool {
        let end = request.end();
        let first = self.scheduler.front_merge_candidate(&self.requests, request);
        let candidate = std::iter::successors(first, |&id| self.scheduler.latter(&self.requests, id))
            .take_while(|&id| self.requests[id].lba == end)
            .find(|&id| self.accepts(id, request));
        let Some(id) = candidate else { return false };
        self.requests.grow(id, true, request, cookie);
        self.scheduler.moved(&self.requests, id);
        if let Some(former) = self.scheduler.former(&self.requests, id) {
            self.join_if_touching(now, former, id);
        }
        true
    }

    /// Joins two neighbours in the scheduler's order, one of which has just grown towards the other, if they are
    /// adjacent.
    fn join_if_touching(&mut self, now: Ns, kept: RequestId, gone: RequestId) {
        let (first, second) = (self.requests[kept], self.requests[gone]);
        let fits = self.merges(first.op, first.flags) && self.fits(first.op, first.sectors, gone);
        if first.end() != second.lba || !fits || !second.goes_with(first.queue, first.handle, first.flags) {
            return;
        }
        self.scheduler.absorb(&self.requests, kept, gone);
        self.ends.remove(&self.requests, kept);
        self.ends.remove(&self.requests, gone);
        self.join(now, kept, gone);
        self.ends.insert(&self.requests, kept);
    }

    /// The counters.
    pub fn stats(&self) -> &SchedulerStats {
        &self.stats
    }

    /// Values of the statistics of the slot and of its scheduler.
    pub fn figures(&self) -> Vec<Figure> {
        let counted = self.stats.figures(self.throttle.is_some());
        counted.into_iter().chain(self.scheduler.figures()).collect()
    }

    /// Member number of the original request that was queued or merged last.
    #[inline]
    pub fn newest_member(&self) -> u32 {
        self.requests.newest_member()
    }

    /// Maximum number of requests that the device holds, in all of its hardware queues.
    pub fn queue_depth(&self) -> u32 {
        self.queue_depth * self.hardware.as_ref().map_or(1, |hardware| hardware.count())
    }

    /// Sectors of a request at most: who submits a larger one splits it. Linux 2.6.32 refuses them a page at a time
    /// while they are made, so that there is no limit here.
    pub fn most_sectors(&self) -> u32 {
        self.most_sectors
    }

    /// Number of requests that wait, including flushes.
    pub fn queued(&self) -> u64 {
        u64::from(self.queued) + self.flushes.len() as u64
    }

    /// Number of requests that the device holds.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

#[cfg(test)]
mod tests;
