//! mq-deadline: deadline's batches within priority classes, whose lower ones wait for the higher ones to complete.
//!
//! ```text
//! insert:   into tree and FIFO of class and direction; deadline = tick + read/write_expire
//! dispatch: if two classes have requests, here or at the device, and one of best effort or idle can be chosen that was
//!             queued prio_aging_expire ago: that one
//!           else in the order of classes, down to the first that has any request here or at the device: choose
//! choose:   if the batch has sent fewer than fifo_batch and a request follows in its direction: that one
//!           else choose a direction as deadline does, and in it
//!             the head of the FIFO, if its deadline's tick has come or none follows; otherwise the one that follows
//! follows:  6.12: begins at or behind the beginning of the last one of its class and direction, at first sector 0
//!           6.1:  was next to the last one when that was dispatched
//! merge:    anywhere, at the front only with front_merges
//! ```
//! Source: Linux 6.1 and 6.12, `block/mq-deadline.c`, by way of docs/linux-schedulers.md, which has what the kernel
//! does and what is left out. All classes share the direction and count of the batch, and how often writes were passed
//! over; a choice that aging then forbids has changed them, as in the kernel. Time is counted in ticks (`host.hz`).
//!
//! Bound: as deadline's, within a class and while no other class has requests. Cost: O(log n) each.

use flashloom_workload::{IO_PRIORITIES, Priority, PriorityClass};

use super::Join;
use super::deadline::direction_of_batch;
use super::prelude::*;
use crate::end_index::EndIndex;
use crate::merging::Merging;
use crate::tags::TagSet;
use crate::ticks::Ticks;

/// Specification of the policy.
pub static SPEC: PolicySpec = PolicySpec {
    name: "mq-deadline",
    summary: "Sorted batches of one direction, reads first, bounded waiting, priority classes (Linux 6.1, 6.12, 6.18)",
    details: "Requests are sorted by address in each priority class and direction and sent in batches, as by \
              deadline. A class is served when those above it have completed everything, or when its requests have \
              waited for `prio_aging_expire`. Reads and writes share `nr_requests`. Works without task ids; priorities \
              are those of the workload's requests.",
    source: "Linux 6.1 and 6.12, block/mq-deadline.c; docs/linux-schedulers.md",
    example: "host.scheduler=mq-deadline host.mq-deadline.writes_starved=4 workload.queue_depth=64 \
              workload.synthetic.read_share=0.6",
    instead: "A task that submits much gets much: `fios` shares the drive by task. If the drive has a free tag for \
              every request (`host.queue_depth`) there is nothing to sort, and `none` gives the same order.",
    offers: &[IO_PRIORITIES, Capability::SAVED_STATE],
    params: MqDeadlineParams::PARAMS,
    statistics: &[Statistic::count(
        "aged",
        "Requests of best effort or idle sent because they had waited for prio_aging_expire.",
    )],
    ..PolicySpec::BLANK
};

params! {
    /// Parameters of mq-deadline, the attributes of the kernel's scheduler.
    pub struct MqDeadlineParams {
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
        /// Number of tags that may be taken before a write has to wait for one; reads may take all of `nr_requests`.
        async_depth: OrName<u32> => "async_depth", Kind::CountOr { min: 1, max: 1_048_576, or: NR_REQUESTS },
            Value::Name("nr_requests"),
            "A smaller number leaves tags to reads beside a flood of writes, and gives fewer writes to sort.";
        /// Wait after which a request goes before requests of higher priority classes.
        prio_aging_expire_ns: Ns => "prio_aging_expire", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(10 * S),
            "A longer time keeps classes further apart; a shorter one bounds the wait of the lower ones.";
    }
}

/// Number of priority classes that are kept apart: real time, best effort, idle.
const CLASSES: usize = 3;
/// Number of trees and FIFOs: one for each class and direction.
const QUEUES: usize = 2 * CLASSES;

fn class_of(flags: u8) -> usize {
    match Priority::of_flags(flags).class() {
        PriorityClass::RealTime => 0,
        PriorityClass::None | PriorityClass::BestEffort => 1,
        PriorityClass::Idle => 2,
    }
}

/// The list of requests of a class that the device returned. Linux 6.12 has one for all classes.
fn returned_of(class: usize, linux: Linux) -> usize {
    if linux < Linux::V6_12 { QUEUES + class } else { QUEUES }
}

fn queue_of(class: usize, direction: Direction) -> usize {
    2 * class + direction.at()
}

/// State of mq-deadline: the queues of all classes and directions, and the current batch.
pub struct MqDeadline {
    params: MqDeadlineParams,
    linux: Linux,
    ticks: Ticks,
    tags: TagSet,
    /// The queued requests of each class and direction in the order of their deadlines; behind them, for each class,
    /// those that the device returned.
    fifo: Lists<RequestId>,
    sorted: Forest<RequestId>,
    merging: Merging,
    /// Requests that may merge, by their ends.
    ends: EndIndex,
    /// The request that merged last, or the first that was queued since there was none.
    last_merge: Option<RequestId>,
    /// What the last merge or insertion has left to do.
    after: After,
    /// Linux 6.1: the request of each queue that was next to its last one when that was dispatched.
    next: [Option<RequestId>; QUEUES],
    /// Linux 6.12: the first sector of the last request of each queue that was dispatched.
    latest: [u64; QUEUES],
    direction: Direction,
    batched: u32,
    starved: u32,
    /// Number of requests of each class, here and at the device.
    held: [u32; CLASSES],
    aged: u64,
    /// True once parameters were changed; deadlines of before and after need not be in order.
    is_changed: bool,
}

flashloom_units::state! {
    MqDeadline {
        nested fifo, sorted, merging, ends;
        value last_merge, after, next, latest, direction, batched, starved, held, aged, is_changed;
        fixed params, linux, ticks, tags;
    }
}

/// What a merge or an insertion has left to do when the block layer has followed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum After {
    /// Nothing.
    Nothing,
    /// The request has grown at its back.
    Grown(RequestId),
    /// The request has grown at its front, and is still sorted by where it began before.
    Moved(RequestId),
    /// The new request, which is nowhere yet, becomes the end of another one. `goes_on` is true if that may become the
    /// end of a third one.
    Inserted { kept: RequestId, gone: RequestId, goes_on: bool },
    /// Two requests were joined.
    Joined { kept: RequestId, goes_on: bool },
}

impl MqDeadline {
    /// Makes empty queues.
    pub fn new(params: MqDeadlineParams, setup: &SchedulerSetup) -> Result<Self, Refusal> {
        let SchedulerSetup { requests, tags, linux, hz, .. } = *setup;
        Ok(Self {
            params,
            linux,
            ticks: Ticks::new(hz),
            tags,
            fifo: Lists::new(requests, (QUEUES + CLASSES) as u32),
            sorted: Forest::new(requests, QUEUES as u32),
            merging: Merging::new(setup),
            ends: EndIndex::new(requests),
            last_merge: None,
            after: After::Nothing,
            next: [None; QUEUES],
            latest: [0; QUEUES],
            direction: Direction::Write,
            batched: 0,
            starved: 0,
            held: [0; CLASSES],
            aged: 0,
            is_changed: false,
        })
    }

    fn expire_ticks(&self, direction: Direction) -> u64 {
        self.ticks.lasting([self.params.read_expire_ns, self.params.write_expire_ns][direction.at()])
    }

    /// The tick at which a request has to be sent.
    fn due(&self, requests: &Requests, id: RequestId) -> u64 {
        self.ticks.at(requests[id].deadline_ns)
    }

    /// The tick at which a request was queued, by the expire of now; before the start if that has become longer.
    fn queued_tick(&self, requests: &Requests, id: RequestId) -> i64 {
        let expire = self.expire_ticks(requests[id].direction());
        self.due(requests, id).cast_signed() - expire.cast_signed()
    }

    fn queue(&self, requests: &Requests, id: RequestId) -> usize {
        queue_of(class_of(requests[id].flags), requests[id].direction())
    }

    fn following(&self, queue: usize) -> Option<RequestId> {
        if self.linux < Linux::V6_12 { self.next[queue] } else { self.sorted.at_or_after(queue, self.latest[queue]) }
    }

    /// Takes a request that may have waited for as long as `prio_aging_expire`, while others of another class are here
    /// or at the device.
    fn choose_aged(&mut self, tick: u64, requests: &Requests) -> Option<RequestId> {
        if self.held.iter().filter(|&&held| held > 0).count() < 2 {
            return None;
        }
        // Before that much time has passed no request is old enough, but the choice is made.
        let latest = tick.cast_signed() - self.ticks.lasting(self.params.prio_aging_expire_ns).cast_signed();
        let aged = (1..CLASSES).find_map(|class| self.choose(class, tick, latest, requests));
        self.aged += u64::from(aged.is_some());
        aged
    }

    /// Takes a request of the first class that holds any.
    fn choose_by_class(&mut self, tick: u64, requests: &Requests) -> Option<RequestId> {
        let class = self.held.iter().position(|&held| held > 0)?;
        self.choose(class, tick, tick.cast_signed(), requests)
    }

    /// Takes the next request of a class, if it was queued by the tick `latest`.
    fn choose(&mut self, class: usize, tick: u64, latest: i64, requests: &Requests) -> Option<RequestId> {
        if self.linux < Linux::V6_12
            && let Some(id) = self.fifo.front(returned_of(class, self.linux))
        {
            let is_chosen = self.queued_tick(requests, id) <= latest;
            return if is_chosen { self.fifo.pop_front(returned_of(class, self.linux)) } else { None };
        }
        let following = self.following(queue_of(class, self.direction));
        let in_batch = following.filter(|_| self.batched < self.params.fifo_batch);
        let id = in_batch.or_else(|| self.begin_batch(class, tick, requests))?;
        if self.queued_tick(requests, id) > latest {
            return None;
        }
        self.batched += 1;
        let queue = queue_of(class, self.direction);
        self.latest[queue] = requests[id].lba;
        self.next[queue] = self.sorted.next(queue, id);
        self.sorted.remove(queue, id);
        self.fifo.remove(id);
        self.forget(requests, id);
        Some(id)
    }

    /// Takes a request out of what may merge, by the end that it was put there with.
    fn forget(&mut self, requests: &Requests, id: RequestId) {
        if self.merging.is_open(requests, id) {
            self.ends.remove(requests, id);
        }
        if self.last_merge == Some(id) {
            self.last_merge = None;
        }
    }

    /// The queued request that an arriving one touches: the one that merged last, before one that ends where it begins,
    /// before one of its class and direction that begins where it ends.
    fn candidate(&self, requests: &Requests, incoming: &Request) -> Option<Merge> {
        if let Some(last) = self.last_merge.and_then(|last| self.merging.touch(requests, last, incoming)) {
            return Some(last);
        }
        let back = self.ends.ending_at(requests, incoming.lba).next();
        if let Some(back) = back.filter(|&back| self.merging.goes_with(requests, back, incoming)) {
            return Some(Merge { into: back, is_front: false });
        }
        let tree = queue_of(class_of(incoming.flags), Direction::of(incoming.op));
        let front = self.params.front_merges.then(|| self.sorted.at(tree, incoming.end())).flatten()?;
        self.merging.goes_with(requests, front, incoming).then_some(Merge { into: front, is_front: true })
    }

    /// The merge of a request that is inserted with one that it continues. An arriving request that did not fit a first
    /// one gets here, and may fit a second one.
    fn merge_of_inserted(&self, requests: &Requests, id: RequestId) -> Option<After> {
        if !self.merging.is_open(requests, id) {
            return None;
        }
        let may_join = |kept: &RequestId| self.merging.may_join(requests, *kept, id);
        if let Some(kept) = self.last_merge.filter(may_join) {
            return Some(After::Inserted { kept, gone: id, goes_on: false });
        }
        let kept = self.ends.ending_at(requests, requests[id].lba).next().filter(may_join)?;
        Some(After::Inserted { kept, gone: id, goes_on: true })
    }

    /// Follows the growth of a request that was taken out of the index of ends.
    fn settle(&mut self, requests: &Requests, id: RequestId) {
        self.ends.insert(requests, id);
        self.last_merge = Some(id);
    }

    /// Takes `gone` out of everything before it is joined to `kept`, which is to be settled afterwards. The earlier
    /// deadline is kept, with its place in the FIFO.
    fn absorb_into(&mut self, requests: &Requests, kept: RequestId, gone: RequestId) {
        let queue = self.queue(requests, gone);
        leave_fifo(&mut self.fifo, requests, kept, gone);
        if self.next[queue] == Some(gone) {
            self.next[queue] = self.sorted.next(queue, gone);
        }
        self.sorted.remove(queue, gone);
        self.forget(requests, gone);
        self.ends.remove(requests, kept);
        self.held[class_of(requests[gone].flags)] -= 1;
    }

    fn begin_batch(&mut self, class: usize, tick: u64, requests: &Requests) -> Option<RequestId> {
        let waits = Direction::BOTH.map(|direction| !self.fifo.is_empty(queue_of(class, direction)));
        let direction = direction_of_batch(waits, &mut self.starved, self.params.writes_starved)?;
        let queue = queue_of(class, direction);
        let eldest = self.fifo.front(queue)?;
        let is_due = self.due(requests, eldest) <= tick;
        self.direction = direction;
        self.batched = 0;
        Some(self.following(queue).filter(|_| !is_due).unwrap_or(eldest))
    }
}

flashloom_units::component! { MqDeadline: aged }

impl Scheduler for MqDeadline {
    fn tags(&self) -> Option<Tags> {
        let depth = self.params.async_depth.number_or(self.tags.limited);
        let limited = Limit::Depth(depth).of(self.tags, self.linux);
        Some(Tags { reads: self.tags.tags, sync_writes: limited, async_writes: limited })
    }

    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        self.merging.open(requests, id);
        self.held[class_of(requests[id].flags)] += 1;
        if let Some(after) = self.merge_of_inserted(requests, id) {
            self.after = after;
            return Ns::MAX;
        }
        let queue = self.queue(requests, id);
        self.fifo.push_back(queue, id);
        self.sorted.insert(queue, id, requests[id].lba);
        if self.merging.is_open(requests, id) {
            self.ends.insert(requests, id);
            self.last_merge.get_or_insert(id);
        }
        self.ticks.moment(self.ticks.at(now) + self.expire_ticks(requests[id].direction()))
    }

    fn merges_itself(&self) -> bool {
        true
    }

    fn merge(&mut self, _now: Ns, requests: &Requests, incoming: &Request) -> Option<Merge> {
        let Merge { into, is_front } = self.candidate(requests, incoming)?;
        let fits = self.merging.fits(requests, into, incoming);
        if !is_front || !fits {
            // The index is by the end, which is about to change, or the request merges no more.
            self.ends.remove(requests, into);
        }
        if !fits {
            self.last_merge = self.last_merge.filter(|&last| last != into);
            return None;
        }
        self.after = if is_front { After::Moved(into) } else { After::Grown(into) };
        Some(Merge { into, is_front })
    }

    fn join(&mut self, requests: &Requests) -> Option<Join> {
        let (kept, gone, goes_on) = match std::mem::replace(&mut self.after, After::Nothing) {
            After::Nothing => return None,
            After::Inserted { kept, gone, goes_on } => {
                self.held[class_of(requests[gone].flags)] -= 1;
                self.ends.remove(requests, kept);
                self.after = After::Joined { kept, goes_on };
                return Some(Join { kept, gone });
            }
            After::Joined { kept, goes_on } => {
                self.settle(requests, kept);
                let next = goes_on.then(|| self.ends.ending_at(requests, requests[kept].lba).next()).flatten();
                let next = next.filter(|&next| self.merging.may_join(requests, next, kept));
                (next?, kept, true)
            }
            After::Grown(id) => {
                self.settle(requests, id);
                let latter = self.sorted.next(self.queue(requests, id), id);
                (id, latter.filter(|&latter| self.merging.may_join(requests, id, latter))?, false)
            }
            After::Moved(id) => {
                self.last_merge = Some(id);
                let queue = self.queue(requests, id);
                let former = self.sorted.prev(queue, id).filter(|&former| self.merging.may_join(requests, former, id));
                if former.is_none() {
                    self.sorted.resort(queue, id, requests[id].lba);
                }
                (former?, id, false)
            }
        };
        self.absorb_into(requests, kept, gone);
        self.after = After::Joined { kept, goes_on };
        Some(Join { kept, gone })
    }

    fn requeue(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        // It is nowhere that a merge could find it, as in the kernel.
        self.fifo.push_front(returned_of(class_of(requests[id].flags), self.linux), id);
        self.ticks.moment(self.ticks.at(now))
    }

    fn reconfigure(&mut self, _requests: &Requests, values: &[Value]) -> Result<(), Refusal> {
        self.params = MqDeadlineParams::from_values(values);
        self.is_changed = true;
        Ok(())
    }

    fn serves(&self) -> Serves {
        Serves::Any
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        if (0..QUEUES + CLASSES).all(|queue| self.fifo.is_empty(queue)) {
            return Choice::Idle;
        }
        if self.linux >= Linux::V6_12
            && let Some(id) = self.fifo.pop_front(returned_of(0, self.linux))
        {
            self.latest[self.queue(requests, id)] = requests[id].lba;
            return Choice::Request(id);
        }
        let tick = self.ticks.at(now);
        let chosen = self.choose_aged(tick, requests).or_else(|| self.choose_by_class(tick, requests));
        chosen.map_or_else(|| Choice::NotBefore(self.ticks.retry(now)), Choice::Request)
    }

    fn completed(&mut self, _now: Ns, requests: &Requests, id: RequestId) {
        self.held[class_of(requests[id].flags)] -= 1;
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let (mut queued, mut held) = ([0; QUEUES], [0; CLASSES]);
        for request in requests.in_scheduler_or_device() {
            let class = class_of(request.flags);
            held[class] += 1;
            queued[queue_of(class, request.direction())] += usize::from(request.stage == Stage::Queued);
        }
        for id in (QUEUES..QUEUES + CLASSES).flat_map(|list| self.fifo.iter(list)) {
            queued[self.queue(requests, id)] -= 1;
        }
        ensure!(held == self.held, "mq-deadline: {held:?} requests of each class, not {:?}", self.held);
        for (queue, &queued) in queued.iter().enumerate() {
            let (listed, sorted) = (self.fifo.iter(queue).count(), self.sorted.iter(queue).count());
            ensure!(
                [listed, sorted] == [queued; 2],
                "mq-deadline: {queued} queued in queue {queue}, {listed} in its FIFO, {sorted} in its tree"
            );
            if let Some(next) = self.next[queue] {
                let is_here = self.sorted.iter(queue).any(|id| id == next);
                ensure!(is_here, "mq-deadline: queue {queue} goes on with {next:?}, which it has not");
            }
            let in_order = self.fifo.iter(queue).is_sorted_by_key(|id| requests[id].deadline_ns);
            ensure!(
                in_order || self.is_changed,
                "mq-deadline: the FIFO of queue {queue} is not in the order of deadlines"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
