//! cfq, completely fair queueing: a queue for each task's synchronous requests, each with a slice of the device's time.
//!
//! ```text
//! insert:   into the sorted tree and FIFO of the task's queue, whose class and level become those of the request;
//!           asynchronous ones into the queue that all tasks of their class and level share
//!           updates the task's think time and the queue's seek distance, which decide whether to idle for it
//!           takes the device from the active queue: any request if the slice is over; except for a queue of the idle
//!           class, any if the active queue is of that class, a synchronous one from an asynchronous queue, one of the
//!           real-time class from another class, one near the head from a queue that is being idled for
//! dispatch: while the active queue has time left and requests: the head of its FIFO if expired (once a slice),
//!           otherwise the next in elevator order
//!           while it has none: wait for its requests at the device if idling pays, and then slice_idle for another
//!           otherwise the queue with the least key in the service tree of the highest class becomes active
//!           no more than `quantum` of a queue at the device, 4 times that if it is the only one; asynchronous ones
//!           wait until no synchronous ones are at the device, and go deeper only as time goes by without any
//!           a queue of the idle class has one request at the device and gives way after each
//! complete: the first completion of a slice starts its clock: slice_sync or slice_async, longer by a fifth for each
//!           level below 4 and shorter by a fifth for each level above
//! key:      now + (other queues with requests) * (longest slice - own slice) - what was left of the last slice
//!           of the idle class: 200 ms after the last of all queues
//! merge:    within a queue
//! ```
//! Source: Linux 2.6.32, `block/cfq-iosched.c`. A request without a class is of best effort, level 4, as in Linux those
//! of a task without a priority whose niceness is 0. Levels of the idle class count as 7. In Linux the priority is the
//! task's; here it is the request's, and a request whose priority is another one than that of the task's queue changes
//! the queue, with all requests in it, as if the task had called `ioprio_set` before it. The queue keeps its place in
//! the service tree until it is inserted anew. Differences:
//! - There is no plugging: a request that was idled for goes at once, not after the kernel's unplug delay.
//! - Queues of different tasks that work in the same place are not run in turn or merged into one ("cooperators").
//! - Two requests that begin at the same sector both stay sorted; Linux sends the older one at once.
//! - A task that changes its priority merges with its new asynchronous queue at once, not from its next request on.
//! - Metadata and tasks that hold a lock of a file system have no privileges, because traces do not tell of them.
//! - Tasks do not exit.
//!
//! As in Linux, cfq never idles on a device that is not `rotational` and queues commands. The parameter `hw_tag`
//! chooses the rule that detects command queueing: 2.6.32 measures again and again and can revoke its finding; 2.6.33,
//! whose rule distributions adopted together with CFQ's groups, keeps it (docs/decisions/0030-hw-tag.md). Nothing else
//! of 2.6.33 is here: no groups, no trees by kind of workload, no slices that shrink with the number of tasks.
//!
//! Without task ids there is one synchronous queue, task 0's, with the priority of its latest request. The memory of
//! tasks without requests is bounded. Cost: O(log n) each.

use flashloom_workload::{IO_PRIORITIES, Priority, PriorityClass};

use super::prelude::*;
use crate::depth::{DepthDetector, HwTag};
use crate::elevator::Elevator;
use crate::tasks::{DecayingMean, Tasks};

/// Specification of the policy.
pub static SPEC: PolicySpec = PolicySpec {
    name: "cfq",
    summary: "A queue with slices of time for each task, writes after reads: fair between tasks (Linux 2.6.32)",
    details: "Each task's synchronous requests have a queue of their own, sorted by address; queues take turns with \
              slices of time. Asynchronous writes share a queue, which waits for the others. Queues of the real-time \
              class go first and those of the idle class last; a lower level has longer slices. On a trace without \
              task ids all synchronous requests belong to one task.",
    source: "Linux 2.6.32, block/cfq-iosched.c",
    example: "host.scheduler=cfq host.cfq.slice_sync=20ms workload.queue_depth=64 workload.synthetic.read_share=0.6 \
              workload.synthetic.tasks=8 workload.synthetic.sync_share=1",
    instead: "Made for disks: it serves one task at a time and leaves most chips of a drive idle. `fios` shares the \
              drive by task and keeps many tasks at it.",
    offers: &[IO_PRIORITIES, Capability::SAVED_STATE],
    params: CfqParams::PARAMS,
    statistics: &[
        Statistic::count("slices", "Slices of time that were begun."),
        Statistic::count("preemptions", "Slices that a request of another queue cut short."),
        Statistic::count("idle_waits", "Times that the device was kept idle for the active queue's next request."),
    ],
    ..PolicySpec::BLANK
};

params! {
    /// Parameters of cfq, the tunables of the kernel's scheduler.
    pub struct CfqParams {
        /// Maximum number of requests of one queue at the device while others wait.
        quantum: u32 => "quantum", Kind::Count { min: 1, max: 65_536 }, Value::Count(4),
            "A larger number uses more of the device's parallelism and lets one task fill its queue.";
        /// Deadline of a synchronous request: the time after queueing by which it should be dispatched.
        fifo_expire_sync_ns: Ns => "fifo_expire_sync", Kind::Time { min: MS, max: 3_600 * S }, Value::Time(125 * MS),
            "Earlier deadlines bound waiting within a queue more tightly and seek more.";
        /// Deadline of an asynchronous request: the time after queueing by which it should be dispatched.
        fifo_expire_async_ns: Ns => "fifo_expire_async", Kind::Time { min: MS, max: 3_600 * S }, Value::Time(250 * MS),
            "Earlier deadlines bound waiting within the queue more tightly and seek more.";
        /// Longest back seek of the elevator.
        back_seek_max_bytes: u64 => "back_seek_max", Kind::Size { min: 0, max: 1 << 50 }, Value::Size(16 * MIB),
            "Farther back seeks serve near requests sooner and those ahead later.";
        /// Factor by which the elevator multiplies the distance of a back seek.
        back_seek_penalty: u32 => "back_seek_penalty", Kind::Count { min: 1, max: 65_536 }, Value::Count(2),
            "A higher price keeps the elevator going one way.";
        /// Length of a synchronous queue's slice at level 4 of its priority class; it is 1.8 times that at level 0 and
        /// 0.4 times that at level 7.
        slice_sync_ns: Ns => "slice_sync", Kind::Time { min: MS, max: 3_600 * S }, Value::Time(100 * MS),
            "Longer slices keep one task's locality and let the others wait longer.";
        /// Length of an asynchronous queue's slice at level 4 of its priority class; it is 1.8 times that at level 0
        /// and 0.4 times that at level 7.
        slice_async_ns: Ns => "slice_async", Kind::Time { min: MS, max: 3_600 * S }, Value::Time(40 * MS),
            "Longer slices favour writes.";
        /// An eighth of the maximum number of asynchronous requests in a slice at level 4 while others wait; a
        /// sixteenth of it at level 0, half of it at level 7.
        slice_async_rq: u32 => "slice_async_rq", Kind::Count { min: 1, max: 65_536 }, Value::Count(2),
            "A larger number favours writes.";
        /// Longest wait for the active queue's next request; zero never waits.
        slice_idle_ns: Ns => "slice_idle", Kind::Time { min: 0, max: S }, Value::Time(8 * MS),
            "Longer waits keep a task's sequential reads together and leave the device idle for longer.";
        /// True to raise the number of asynchronous requests at the device only as time passes without synchronous
        /// ones.
        low_latency: bool => "low_latency", Kind::Flag, Value::Flag(true),
            "Synchronous requests find a shorter queue at the device; asynchronous throughput suffers.";
        /// True if the device seeks mechanically. cfq does not idle on a device without seeks that queues commands.
        rotational: bool => "rotational", Kind::Flag, Value::Flag(false),
            "Idling on a device without seeks wastes its time, but keeps the tasks' slices apart.";
        /// Rule that detects whether the device queues commands, named after the kernel version that has it.
        hw_tag: HwTag => "hw_tag", Kind::Choice(HwTag::CHOICES), Value::Name("2.6.33"),
            "After a while of shallow queues 2.6.32 takes the device for one without command queueing, and idles on it \
             and holds it back; 2.6.33 does not.";
    }
}

/// Mean seek distance in sectors above which a queue is seeky. cfq idles only briefly for a seeky queue.
const SEEKY_SECTORS: u64 = 8 * 1_024;
/// Longest idling for a seeky queue.
const SEEKY_IDLE_NS: Ns = 2 * MS;
/// Distance of a queue of the idle class from the last queue of the service trees.
const IDLE_DELAY_NS: i64 = 200 * MS as i64;
/// Added to keys of the service tree, so that keys below zero keep their order as unsigned numbers.
const KEY_BIAS: i64 = 1 << 62;

/// Class of a queue: the number of its service tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
enum Class {
    RealTime,
    BestEffort,
    Idle,
}

/// Number of classes, each of which has a service tree.
const CLASSES: usize = 3;

/// Priority of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rank {
    class: Class,
    level: u8,
}

impl Default for Rank {
    #[inline]
    fn default() -> Self {
        Self { class: Class::BestEffort, level: Self::NORMAL }
    }
}

impl Rank {
    /// Level of tasks that were given none, at which a slice has the length of the parameters.
    const NORMAL: u8 = 4;
    const LOWEST: u8 = Priority::LEVELS - 1;
    /// Number of asynchronous queues: one for each level of the real-time class and of best effort, and one for the
    /// idle class.
    const COUNT: u32 = 2 * Priority::LEVELS as u32 + 1;

    /// The priority in the flags of a request.
    #[inline]
    fn of_flags(flags: u8) -> Self {
        // Nearly all requests have none.
        if flags & Priority::MASK == 0 {
            return Self::default();
        }
        let priority = Priority::of_flags(flags);
        match priority.class() {
            PriorityClass::None => Self::default(),
            PriorityClass::RealTime => Self { class: Class::RealTime, level: priority.level() },
            PriorityClass::BestEffort => Self { class: Class::BestEffort, level: priority.level() },
            PriorityClass::Idle => Self { class: Class::Idle, level: Self::LOWEST },
        }
    }

    /// Its place among the asynchronous queues.
    #[inline]
    fn index(self) -> u32 {
        match self.class {
            Class::Idle => Self::COUNT - 1,
            Class::RealTime => u32::from(self.level),
            Class::BestEffort => u32::from(Priority::LEVELS + self.level),
        }
    }

    /// All priorities, in the order of [`Self::index`].
    fn all() -> impl Iterator<Item = Self> {
        let levels = |class| (0..Priority::LEVELS).map(move |level| Self { class, level });
        let idle = Self { class: Class::Idle, level: Self::LOWEST };
        levels(Class::RealTime).chain(levels(Class::BestEffort)).chain([idle])
    }

    /// Scales the slice of level 4: each level is a fifth of it.
    #[inline]
    fn slice_ns(self, normal_ns: Ns) -> Ns {
        normal_ns - normal_ns / 5 * Ns::from(Self::NORMAL) + normal_ns / 5 * Ns::from(2 * Self::NORMAL - self.level)
    }
}

/// A queue: a task's synchronous requests, or all asynchronous ones of a class and level.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Queue {
    sync: bool,
    rank: Rank,
    queued: u32,
    at_device: u32,
    next: Option<RequestId>,
    /// The service tree that it is in, while it has requests; its class may have changed since.
    served_in: Option<Class>,
    /// True until the first completion of the slice, which starts its clock.
    slice_unstarted: bool,
    slice_end_ns: Ns,
    /// Unused time of the last slice; negative if it was overrun.
    slice_left_ns: i64,
    slice_dispatched: u32,
    fifo_checked: bool,
    /// True if cfq has idled for the queue in this slice.
    waited_for: bool,
    /// True if a request came while cfq idled for the queue: one may be sent even if the slice has ended.
    must_dispatch: bool,
    /// True if idling for the queue pays.
    idle_window: bool,
    think: DecayingMean,
    completed_ns: Ns,
    seek: DecayingMean,
    ended_at: Option<u64>,
}

impl Queue {
    fn is_seeky(&self) -> bool {
        self.seek.mean() > SEEKY_SECTORS
    }

    fn slice_used(&self, now: Ns) -> bool {
        !self.slice_unstarted && now >= self.slice_end_ns
    }
}

/// State of cfq: all queues, their service order, and the active one.
pub struct Cfq {
    params: CfqParams,
    elevator: Elevator,
    tasks: Tasks,
    /// Queues by task slot, and behind them the shared asynchronous queues in the order of [`Rank::index`].
    queues: Vec<Queue>,
    /// The first asynchronous queue.
    asynchronous: TaskSlot,
    queue_of: Vec<TaskSlot>,
    sorted: Forest<RequestId>,
    fifo: Lists<RequestId>,
    /// Queues with requests by the time of their turn, a tree for each class.
    service: Forest<TaskSlot>,
    busy: u32,
    active: Option<TaskSlot>,
    idle_until_ns: Option<Ns>,
    /// End sector of the last dispatched request.
    head: u64,
    /// Number of synchronous requests at the device.
    sync_at_device: u32,
    async_at_device: u32,
    queued: u32,
    sync_completed_ns: Ns,
    depth: DepthDetector,
    slices: u64,
    preemptions: u64,
    idle_waits: u64,
}

flashloom_units::state! {
    Cfq {
        nested tasks, queue_of, sorted, fifo, service, depth;
        array queues;
        value busy, active, idle_until_ns, head, sync_at_device, async_at_device, queued, sync_completed_ns, slices,
            preemptions, idle_waits;
        fixed params, elevator, asynchronous;
    }
}

impl Cfq {
    /// Makes empty queues.
    pub fn new(params: CfqParams, setup: &SchedulerSetup) -> Result<Self, Refusal> {
        // Each request holds its task, and so does the active slice.
        let tasks = Tasks::new(setup.requests + 1);
        let mut queues = vec![Queue::default(); tasks.slots() as usize];
        queues.extend(Rank::all().map(|rank| Queue { rank, ..Queue::default() }));
        let trees = queues.len() as u32;
        Ok(Self {
            elevator: Elevator {
                back_seek_max_sectors: params.back_seek_max_bytes / SECTOR_BYTES,
                back_penalty: u64::from(params.back_seek_penalty),
            },
            asynchronous: TaskSlot(tasks.slots()),
            tasks,
            queues,
            queue_of: vec![TaskSlot(0); setup.requests as usize],
            sorted: Forest::new(setup.requests, trees),
            fifo: Lists::new(setup.requests, trees),
            service: Forest::new(trees, CLASSES as u32),
            busy: 0,
            active: None,
            idle_until_ns: None,
            head: 0,
            sync_at_device: 0,
            async_at_device: 0,
            queued: 0,
            sync_completed_ns: 0,
            depth: DepthDetector::new(params.hw_tag),
            slices: 0,
            preemptions: 0,
            idle_waits: 0,
            params,
        })
    }

    #[inline]
    fn slice_ns(&self, queue: TaskSlot) -> Ns {
        let Queue { sync, rank, .. } = self.queues[queue.at()];
        rank.slice_ns(if sync { self.params.slice_sync_ns } else { self.params.slice_async_ns })
    }

    fn is_shared(&self, queue: TaskSlot) -> bool {
        queue.0 >= self.asynchronous.0
    }

    fn async_queue(&self, rank: Rank) -> TaskSlot {
        TaskSlot(self.asynchronous.0 + rank.index())
    }

    /// Returns the queue for a request of a task, with the priority of the request; resets the queue of a task that is
    /// `new`.
    fn queue_for(&mut self, now: Ns, task: TaskSlot, new: bool, sync: bool, rank: Rank) -> TaskSlot {
        if new {
            self.queues[task.at()] = Queue { sync: true, idle_window: true, completed_ns: now, ..Queue::default() };
        }
        if !sync {
            return self.async_queue(rank);
        }
        let queue = &mut self.queues[task.at()];
        queue.rank = rank;
        queue.idle_window &= rank.class != Class::Idle;
        task
    }

    /// The queue that a request would join; none if its task is not remembered.
    fn queue_known(&self, incoming: &Request) -> Option<TaskSlot> {
        if incoming.is_sync() {
            self.tasks.find(incoming.task)
        } else {
            Some(self.async_queue(Rank::of_flags(incoming.flags)))
        }
    }

    fn hold(&mut self, queue: TaskSlot) {
        if !self.is_shared(queue) {
            self.tasks.hold(queue);
        }
    }

    fn release(&mut self, queue: TaskSlot) {
        if !self.is_shared(queue) {
            self.tasks.release(queue);
        }
    }

    fn key_ns(&self, queue: TaskSlot) -> i64 {
        self.service.key(queue) as i64 - KEY_BIAS
    }

    /// The queue whose turn is next.
    fn first_served(&self) -> Option<TaskSlot> {
        (0..CLASSES).find_map(|class| self.service.first(class))
    }

    /// The queue whose turn is last.
    fn last_served(&self) -> Option<TaskSlot> {
        (0..CLASSES).rev().find_map(|class| self.service.last(class))
    }

    /// Inserts a queue with requests into the service tree of its class, or moves it there.
    fn serve_by(&mut self, key_ns: i64, queue: TaskSlot) {
        let class = self.queues[queue.at()].rank.class;
        if let Some(tree) = self.queues[queue.at()].served_in.replace(class) {
            self.service.remove(tree as usize, queue);
        } else {
            self.busy += 1;
        }
        self.service.insert(class as usize, queue, (key_ns + KEY_BIAS) as u64);
    }

    /// Inserts a queue of the idle class behind all others. What was left of its last slice stays.
    fn serve_last(&mut self, now: Ns, queue: TaskSlot) {
        let last = self.last_served().filter(|&last| last != queue).map(|last| self.key_ns(last));
        self.serve_by(last.unwrap_or(now as i64) + IDLE_DELAY_NS, queue);
    }

    fn serve_in_turn(&mut self, now: Ns, queue: TaskSlot, others: u32) {
        if self.queues[queue.at()].rank.class == Class::Idle {
            return self.serve_last(now, queue);
        }
        let longest = self.params.slice_sync_ns + self.params.slice_sync_ns / 5 * 4;
        let own = self.slice_ns(queue);
        let offset = i64::from(others) * (longest as i64 - own as i64);
        let left = std::mem::take(&mut self.queues[queue.at()].slice_left_ns);
        self.serve_by(now as i64 + offset - left, queue);
    }

    /// Inserts a queue a second before the one whose turn is next, which keeps its turn if it is of a higher class. A
    /// queue of the idle class goes last.
    fn serve_first(&mut self, now: Ns, queue: TaskSlot) {
        if self.queues[queue.at()].rank.class == Class::Idle {
            return self.serve_last(now, queue);
        }
        let first = self.first_served().map(|first| self.key_ns(first));
        self.serve_by(first.unwrap_or(now as i64) - S as i64, queue);
    }

    fn activate(&mut self, queue: TaskSlot) {
        self.hold(queue);
        self.slices += 1;
        self.idle_until_ns = None;
        let state = &mut self.queues[queue.at()];
        state.slice_end_ns = 0;
        state.slice_dispatched = 0;
        state.waited_for = false;
        state.must_dispatch = false;
        state.fifo_checked = false;
        state.slice_unstarted = true;
        self.active = Some(queue);
    }

    /// Ends the active slice. With `carry_over` its unused or overrun time counts for the queue's next slice.
    fn end_slice(&mut self, now: Ns, carry_over: bool) {
        let Some(queue) = self.active.take() else { return };
        self.idle_until_ns = None;
        let state = &mut self.queues[queue.at()];
        state.waited_for = false;
        if carry_over && !state.slice_unstarted {
            state.slice_left_ns = state.slice_end_ns as i64 - now as i64;
        }
        if state.served_in.is_some() {
            self.serve_in_turn(now, queue, self.busy - 1);
        }
        self.release(queue);
    }

    /// Ends idling that has expired. Called on every event, in place of the kernel's idle timer.
    fn stop_idling_in_time(&mut self, now: Ns) {
        let Some(queue) = self.active.filter(|_| self.idle_until_ns.is_some_and(|until| now >= until)) else { return };
        self.idle_until_ns = None;
        let state = &self.queues[queue.at()];
        if !state.must_dispatch && (state.slice_used(now) || (self.busy > 0 && state.queued == 0)) {
            self.end_slice(now, false);
        }
    }

    /// True if a request is as near to the head as the queue's own requests usually are.
    fn is_close(&self, queue: TaskSlot, lba: u64) -> bool {
        let seek = &self.queues[queue.at()].seek;
        lba.abs_diff(self.head) <= if seek.is_settled() { seek.mean() } else { SEEKY_SECTORS }
    }

    /// Updates the task's think time, the queue's seek distance, and whether idling pays for the queue.
    fn observe(&mut self, now: Ns, task: TaskSlot, queue: TaskSlot, lba: u64, end: u64) {
        let think_ns = (now - self.queues[task.at()].completed_ns).min(2 * self.params.slice_idle_ns);
        self.queues[task.at()].think.add(think_ns);
        let think = self.queues[task.at()].think;
        let state = &mut self.queues[queue.at()];
        state.seek.add_seek(state.ended_at.map_or(0, |ended_at| lba.abs_diff(ended_at)));
        state.ended_at = Some(end);
        if !state.sync || state.rank.class == Class::Idle {
            return;
        }
        let pointless = !self.params.low_latency && self.depth.queues() && state.is_seeky();
        if self.params.slice_idle_ns == 0 || pointless {
            state.idle_window = false;
        } else if think.is_settled() {
            let seeky = state.seek.is_settled() && state.is_seeky();
            state.idle_window = think.mean() <= if seeky { SEEKY_IDLE_NS } else { self.params.slice_idle_ns };
        }
    }

    /// True if a new request of a queue that is not the active one preempts that.
    fn preempts(&self, now: Ns, queue: TaskSlot, lba: u64) -> bool {
        let Some(active) = self.active else { return false };
        let (state, new) = (&self.queues[active.at()], &self.queues[queue.at()]);
        if state.slice_used(now) {
            return true;
        }
        match (new.rank.class, state.rank.class) {
            (Class::Idle, _) => false,
            (_, Class::Idle) | (Class::RealTime, Class::BestEffort) => true,
            _ => (new.sync && !state.sync) || (state.waited_for && self.is_close(active, lba)),
        }
    }

    /// Returns the queue whose request may be sent next, or how long to wait for one.
    fn select(&mut self, now: Ns) -> Result<TaskSlot, Choice> {
        if let Some(queue) = self.active {
            let state = &self.queues[queue.at()];
            if !state.slice_used(now) || state.must_dispatch {
                if state.queued > 0 {
                    return Ok(queue);
                }
                if let Some(until) = self.idle_until_ns {
                    return Err(Choice::NotBefore(until));
                }
                if state.at_device > 0 && state.idle_window {
                    return Err(Choice::Idle);
                }
            }
            self.end_slice(now, false);
        }
        let queue = self.first_served().ok_or(Choice::Idle)?;
        self.activate(queue);
        Ok(queue)
    }

    fn may_dispatch(&self, now: Ns, queue: TaskSlot) -> bool {
        let state = &self.queues[queue.at()];
        if (state.idle_window && self.async_at_device > 0) || (!state.sync && self.sync_at_device > 0) {
            return false;
        }
        let is_idle_class = state.rank.class == Class::Idle;
        let mut most = if is_idle_class { 1 } else { self.params.quantum };
        if state.at_device >= most {
            if is_idle_class || self.busy > 1 {
                return false;
            }
            most *= 4;
        }
        if !state.sync && self.params.low_latency {
            let calm = (now - self.sync_completed_ns) / self.params.slice_sync_ns;
            let depth = if calm == 0 && state.at_device == 0 { 1 } else { calm };
            most = most.min(u32::try_from(depth).unwrap_or(u32::MAX));
        }
        state.at_device < most
    }

    /// The head of the queue's FIFO, if it has expired. Checked once a slice.
    fn eldest_expired(&mut self, now: Ns, requests: &Requests, queue: TaskSlot) -> Option<RequestId> {
        if std::mem::replace(&mut self.queues[queue.at()].fifo_checked, true) {
            return None;
        }
        self.fifo.front(queue.at()).filter(|&id| now >= requests[id].deadline_ns)
    }

    fn following(&self, queue: TaskSlot, id: RequestId) -> Option<RequestId> {
        self.elevator.following(&self.sorted, queue.at(), self.head, id)
    }

    /// Removes a request from the trees and the counts, but not from the FIFO.
    fn leave_tree(&mut self, queue: TaskSlot, id: RequestId) {
        self.sorted.remove(queue.at(), id);
        self.queued -= 1;
        let state = &mut self.queues[queue.at()];
        state.queued -= 1;
        if state.queued == 0 {
            let tree = state.served_in.take().expect("a queue with requests is served");
            self.service.remove(tree as usize, queue);
            self.busy -= 1;
        }
    }

    /// Begins to idle for the active queue after its last completion, if that pays.
    fn idle_for(&mut self, now: Ns, queue: TaskSlot) {
        let state = &self.queues[queue.at()];
        let seekless = !self.params.rotational && self.depth.queues();
        if seekless || !state.idle_window || self.sync_at_device + self.async_at_device > 0 {
            return;
        }
        if state.think.is_settled() && state.slice_end_ns - now < state.think.mean() {
            return;
        }
        let seeky = state.seek.is_settled() && state.is_seeky();
        let most = if seeky { SEEKY_IDLE_NS } else { Ns::MAX };
        self.idle_until_ns = Some(now + self.params.slice_idle_ns.min(most));
        self.queues[queue.at()].waited_for = true;
        self.idle_waits += 1;
    }

    /// Reports a completion to the detector of command queueing.
    fn sample_depth(&mut self) {
        let active = self.active.map(|queue| &self.queues[queue.at()]).filter(|state| state.idle_window);
        let idling = active.map(|state| state.queued + state.at_device);
        self.depth.completes(self.queued, self.sync_at_device + self.async_at_device, idling);
    }
}

flashloom_units::component! { Cfq: slices, preemptions, idle_waits }

impl Scheduler for Cfq {
    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        self.stop_idling_in_time(now);
        let (request, sync) = (&requests[id], requests[id].is_sync());
        let (task, new) = self.tasks.enter(request.task);
        let queue = self.queue_for(now, task, new, sync, Rank::of_flags(request.flags));
        self.hold(queue);
        self.queue_of[id.at()] = queue;
        self.sorted.insert(queue.at(), id, request.lba);
        self.fifo.push_back(queue.at(), id);
        self.queued += 1;
        self.queues[queue.at()].queued += 1;
        if self.queues[queue.at()].served_in.is_none() {
            self.serve_in_turn(now, queue, self.busy);
        }
        let next = self.queues[queue.at()].next;
        self.queues[queue.at()].next = self.elevator.better(&self.sorted, self.head, next, Some(id));
        self.observe(now, task, queue, request.lba, request.end());
        if self.active == Some(queue) {
            let state = &mut self.queues[queue.at()];
            if state.waited_for {
                self.idle_until_ns = None;
                state.must_dispatch = true;
            }
        } else if self.preempts(now, queue, request.lba) {
            self.preemptions += 1;
            self.end_slice(now, true);
            self.serve_first(now, queue);
            self.queues[queue.at()].slice_unstarted = true;
        }
        now + if sync { self.params.fifo_expire_sync_ns } else { self.params.fifo_expire_async_ns }
    }

    fn front_merge_candidate(&self, _requests: &Requests, incoming: &Request) -> Option<RequestId> {
        self.sorted.at(self.queue_known(incoming)?.at(), incoming.end())
    }

    fn allows_merge(&self, _requests: &Requests, id: RequestId, incoming: &Request) -> bool {
        self.queue_known(incoming) == Some(self.queue_of[id.at()])
    }

    fn former(&self, _requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.sorted.prev(self.queue_of[id.at()].at(), id)
    }

    fn latter(&self, _requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.sorted.next(self.queue_of[id.at()].at(), id)
    }

    fn moved(&mut self, requests: &Requests, id: RequestId) {
        let queue = self.queue_of[id.at()];
        self.sorted.resort(queue.at(), id, requests[id].lba);
        let next = self.queues[queue.at()].next;
        self.queues[queue.at()].next = self.elevator.better(&self.sorted, self.head, next, Some(id));
    }

    fn absorb(&mut self, requests: &Requests, kept: RequestId, gone: RequestId) {
        let queue = self.queue_of[gone.at()];
        leave_fifo(&mut self.fifo, requests, kept, gone);
        if self.queues[queue.at()].next == Some(gone) {
            self.queues[queue.at()].next = self.following(queue, gone);
        }
        self.leave_tree(queue, gone);
        self.release(queue);
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        self.stop_idling_in_time(now);
        if self.busy == 0 {
            return Choice::Idle;
        }
        let queue = match self.select(now) {
            Ok(queue) => queue,
            Err(wait) => return wait,
        };
        if !self.may_dispatch(now, queue) {
            return Choice::Idle;
        }
        let eldest = self.eldest_expired(now, requests, queue);
        let id = eldest.or(self.queues[queue.at()].next).expect("a queue with requests has a next one");
        self.queues[queue.at()].next = self.following(queue, id);
        self.fifo.remove(id);
        self.leave_tree(queue, id);
        self.head = requests[id].end();
        let state = &mut self.queues[queue.at()];
        state.at_device += 1;
        state.slice_dispatched += 1;
        state.must_dispatch = false;
        let share = 2 * u32::from(Priority::LEVELS - state.rank.level);
        let spent = !state.sync && state.slice_dispatched >= share * self.params.slice_async_rq;
        let gives_way = spent || state.rank.class == Class::Idle;
        if state.sync {
            self.sync_at_device += 1;
        } else {
            self.async_at_device += 1;
        }
        if self.busy > 1 && gives_way {
            self.end_slice(now, false);
        }
        Choice::Request(id)
    }

    fn completed(&mut self, now: Ns, requests: &Requests, id: RequestId) {
        self.stop_idling_in_time(now);
        self.sample_depth();
        let (queue, sync) = (self.queue_of[id.at()], requests[id].is_sync());
        let state = &mut self.queues[queue.at()];
        state.at_device -= 1;
        if sync {
            self.sync_at_device -= 1;
            self.sync_completed_ns = now;
            state.completed_ns = now;
        } else {
            self.async_at_device -= 1;
        }
        if self.active == Some(queue) {
            if std::mem::take(&mut state.slice_unstarted) {
                let slice_ns = self.slice_ns(queue);
                self.queues[queue.at()].slice_end_ns = now + slice_ns;
            }
            let state = &self.queues[queue.at()];
            if state.slice_used(now) || state.rank.class == Class::Idle {
                self.end_slice(now, true);
            } else if state.queued == 0 && sync {
                self.idle_for(now, queue);
            }
        }
        self.release(queue);
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let queued = requests.count(Stage::Queued);
        let mut busy = 0;
        for (index, queue) in self.queues.iter().enumerate() {
            let listed = self.fifo.iter(index).count() as u32;
            let sorted = self.sorted.iter(index).count() as u32;
            ensure!(
                [listed, sorted] == [queue.queued; 2] && queue.served_in.is_some() == (listed > 0),
                "cfq: queue {index} has {listed} listed, {sorted} sorted, counts {}",
                queue.queued
            );
            busy += u32::from(queue.served_in.is_some());
        }
        let served = (0..CLASSES).map(|class| self.service.iter(class).count() as u32).sum();
        ensure!(
            u64::from(self.queued) == queued && [busy, served] == [self.busy; 2],
            "cfq: {queued} queued, counts {}; {busy} busy, {served} served, counts {}",
            self.queued,
            self.busy
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests;
