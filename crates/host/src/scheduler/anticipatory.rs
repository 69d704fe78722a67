//! anticipatory: batches of synchronous and asynchronous requests, and after a task's read a short wait for its next
//! one nearby.
//!
//! ```text
//! insert:   into the sorted tree and FIFO of its class (synchronous: reads and sync writes; or asynchronous);
//!           a synchronous one updates its task's mean think time and seek distance
//! dispatch: the batch's class goes on until its time is up (for writes: or its number is sent) and the other waits
//!           in a synchronous batch, after a synchronous request of task T, hold back and
//!             wait for that request to complete, then antic_expire long for another, unless
//!             the next request is T's, T has others queued, T thinks longer than antic_expire on average,
//!             new tasks mostly ask once, or the next request is near the head or nearer than T's mean seek
//!           otherwise send the next in elevator order, or the head of the FIFO where that has expired
//! switch:   the first request of another class waits until all of the old batch have completed
//! complete: a write batch that took longer than write_batch_expire makes the next one shorter, and the reverse
//! merge:    anywhere
//! ```
//! Source: Linux 2.6.32, `block/as-iosched.c`, at 1000 ticks a second. Differences:
//! - The simulator does not see a task exit. Linux stops waiting for new tasks when both `exit_prob` and
//!   `exit_no_coop` are high; the second is learned from exits alone and counts as one here, so new tasks are no
//!   longer waited for once more than half of them were waited for in vain.
//! - A front merge looks in the tree of the incoming request's own class; Linux indexes its trees by class and looks
//!   by direction.
//! - Two requests that begin at the same sector both stay sorted; Linux sends the older one at once.
//! - A request that is joined to another does not count as its task's last completion.
//!
//! Without task ids all requests belong to task 0, which therefore has another one queued whenever any is held back:
//! nothing is ever waited for, and only the batches remain. Cost: O(log n) each.

use super::prelude::*;
use crate::elevator::Elevator;
use crate::requests::Class;
use crate::tasks::{DecayingMean, Tasks};

/// Specification of the policy.
pub static SPEC: PolicySpec = PolicySpec {
    name: "anticipatory",
    summary: "Read and write batches, with a short wait after a read for the task's next one nearby (Linux 2.6.32)",
    details: "Requests are sorted by address and sent in batches of bounded time. After a task's read the device is \
              kept idle for a moment if the task's history suggests that its next read will come soon and near. On a \
              trace without task ids all requests belong to one task, and nothing is ever waited for.",
    source: "Linux 2.6.32, block/as-iosched.c; Iyer and Druschel, SOSP 2001",
    example: "host.scheduler=anticipatory host.anticipatory.antic_expire=1ms workload.queue_depth=64 \
              workload.synthetic.read_share=0.6 workload.synthetic.tasks=8 workload.synthetic.sync_share=1",
    instead: "Made for disks: flash has no seek to save, and chips are idle while it waits. `deadline` sends batches \
              without waiting; `fios` waits only to be fair.",
    offers: &[Capability::SAVED_STATE],
    params: AnticipatoryParams::PARAMS,
    statistics: &[
        Statistic::count("anticipations", "Times that requests were held back for a task's next request."),
        Statistic::count("anticipations_in_vain", "Of these, times that antic_expire passed without that request."),
    ],
    ..PolicySpec::BLANK
};

params! {
    /// Parameters of anticipatory, the tunables of the kernel's scheduler.
    pub struct AnticipatoryParams {
        /// Deadline of a synchronous request: the time after queueing by which it should be dispatched.
        read_expire_ns: Ns => "read_expire", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(125 * MS),
            "Earlier deadlines bound read latency more tightly and seek more.";
        /// Deadline of an asynchronous request: the time after queueing by which it should be dispatched.
        write_expire_ns: Ns => "write_expire", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(250 * MS),
            "Earlier deadlines bound write latency more tightly and seek more.";
        /// Length of a batch of synchronous requests while others wait.
        read_batch_expire_ns: Ns => "read_batch_expire", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(500 * MS),
            "Longer batches favour reads and change direction less often.";
        /// Target length of a batch of asynchronous requests while others wait; the number of its requests adapts to
        /// this.
        write_batch_expire_ns: Ns => "write_batch_expire", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(125 * MS),
            "Longer batches favour writes and change direction less often.";
        /// Longest wait for a task's next request; zero never waits.
        antic_expire_ns: Ns => "antic_expire", Kind::Time { min: 0, max: S }, Value::Time(6_667 * US),
            "Longer waits keep more sequential readers together and leave the device idle for longer.";
    }
}

/// Upper limit of a measured think time.
const MAX_THINK_NS: Ns = 20 * MS - 1;
/// Distance from the head in sectors within which any request counts as near, at the beginning of a wait.
const NEAR_SECTORS: u64 = 8_192;
const ELEVATOR: Elevator = Elevator { back_seek_max_sectors: 1_024 * 1_024, back_penalty: 2 };

/// The two classes, as indices of trees and FIFOs.
const SYNC: usize = Class::Sync as usize;
const ASYNC: usize = Class::Async as usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Anticipation {
    /// No wait.
    Off,
    /// Waiting for the completion of the awaited task's last request.
    ForCompletion,
    /// Waiting for the task's next request, or until the wait has expired.
    ForNext,
    /// The wait is over: the next request is sent, whatever it is.
    Over,
}

/// State and history of a task.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Task {
    think: DecayingMean,
    seek: DecayingMean,
    /// Time of completion of its last synchronous request.
    completed_ns: Option<Ns>,
    /// End sector of its last synchronous request.
    ended_at: Option<u64>,
    queued: u32,
}

/// State of anticipatory: the queues of both classes, the current batch, and the awaited task.
pub struct Anticipatory {
    params: AnticipatoryParams,
    fifo: Lists<RequestId>,
    sorted: Forest<RequestId>,
    tasks: Tasks,
    known: Vec<Task>,
    task_of: Vec<TaskSlot>,
    /// The best next request of each class.
    next: [Option<RequestId>; 2],
    /// End sector of the last request of each class.
    head: [u64; 2],
    fifo_checked_ns: [Ns; 2],
    batch: usize,
    batch_expires_ns: Ns,
    /// True if the class has changed and requests of the old one are still at the device.
    changing: bool,
    /// True until the first completion of a synchronous batch, from which its time counts.
    starting: bool,
    write_batch: u32,
    writes_left: u32,
    write_batch_idled: bool,
    at_device: u32,
    anticipation: Anticipation,
    anticipating_since_ns: Ns,
    /// The task of the last dispatched request, if that was synchronous.
    awaited: Option<TaskSlot>,
    awaited_completed: bool,
    /// Share of new tasks that were waited for in vain, in 256ths.
    exit_probability: u64,
    new_think_total: u64,
    new_seek_total: u64,
    anticipations: u64,
    in_vain: u64,
}

flashloom_units::state! {
    Anticipatory {
        nested fifo, sorted, tasks, task_of;
        array known;
        value next, head, fifo_checked_ns, batch, batch_expires_ns, changing, starting, write_batch, writes_left,
            write_batch_idled, at_device, anticipation, anticipating_since_ns, awaited, awaited_completed,
            exit_probability, new_think_total, new_seek_total, anticipations, in_vain;
        fixed params;
    }
}

impl Anticipatory {
    /// Makes empty queues.
    pub fn new(params: AnticipatoryParams, setup: &SchedulerSetup) -> Result<Self, Refusal> {
        // Each request holds its task, and so does the anticipation.
        let tasks = Tasks::new(setup.requests + 1);
        let ticks = (params.write_batch_expire_ns / MS) as u32;
        Ok(Self {
            fifo: Lists::new(setup.requests, 2),
            sorted: Forest::new(setup.requests, 2),
            known: vec![Task::default(); tasks.slots() as usize],
            tasks,
            task_of: vec![TaskSlot(0); setup.requests as usize],
            next: [None; 2],
            head: [0; 2],
            fifo_checked_ns: [0; 2],
            batch: SYNC,
            batch_expires_ns: params.read_batch_expire_ns,
            changing: false,
            starting: false,
            write_batch: (ticks / 10).max(2),
            writes_left: 0,
            write_batch_idled: false,
            at_device: 0,
            anticipation: Anticipation::Off,
            anticipating_since_ns: 0,
            awaited: None,
            awaited_completed: false,
            exit_probability: 0,
            new_think_total: 0,
            new_seek_total: 0,
            anticipations: 0,
            in_vain: 0,
            params,
        })
    }

    /// Updates a task's think time and seek distance with a synchronous request, its own or another's nearby.
    fn observe(&mut self, now: Ns, slot: TaskSlot, lba: u64, end: u64) {
        let task = &mut self.known[slot.at()];
        if let Some(ended_at) = task.ended_at {
            let idle_since = task.completed_ns.filter(|_| task.queued == 0);
            let think_ns = idle_since.map_or(0, |since| (now - since).min(MAX_THINK_NS));
            if task.think.is_empty() {
                self.new_think_total = (7 * self.new_think_total + 256 * think_ns) / 8;
                self.exit_probability = 7 * self.exit_probability / 8;
            }
            task.think.add(think_ns);
            let distance = lba.abs_diff(ended_at);
            if task.seek.is_empty() {
                self.new_seek_total = (7 * self.new_seek_total + 256 * distance) / 8;
            }
            task.seek.add_seek(distance);
        }
        task.ended_at = Some(end);
    }

    fn is_anticipating(&self) -> bool {
        matches!(self.anticipation, Anticipation::ForCompletion | Anticipation::ForNext)
    }

    fn gives_up_at(&self) -> Ns {
        self.anticipating_since_ns + self.params.antic_expire_ns
    }

    /// Ends a wait that has expired. Called on every event, in place of the kernel's timer.
    fn give_up_in_time(&mut self, now: Ns) {
        if self.anticipation != Anticipation::ForNext || now < self.gives_up_at() {
            return;
        }
        self.anticipation = Anticipation::Over;
        self.in_vain += 1;
        if self.awaited.is_some_and(|task| self.known[task.at()].think.is_empty()) {
            self.exit_probability = (7 * self.exit_probability + 256) / 8;
        }
    }

    /// True if a request of another task than the awaited one is near enough to be sent. The accepted distance grows
    /// with the time waited.
    fn is_close(&self, now: Ns, awaited: TaskSlot, lba: u64) -> bool {
        let waiting = self.anticipation != Anticipation::Off && self.awaited_completed;
        let waited_ms = if waiting { (now - self.anticipating_since_ns) / MS } else { 0 };
        if waited_ms > 20 || waited_ms > self.params.antic_expire_ns / MS {
            return true;
        }
        let (head, near) = (self.head[self.batch], NEAR_SECTORS << waited_ms);
        let seek = &self.known[awaited.at()].seek;
        let usual = if seek.is_empty() { self.new_seek_total / 256 } else { seek.mean() };
        (head <= lba + near / 2 && lba <= head + near) || usual > lba.abs_diff(head)
    }

    /// True if there is no reason to go on waiting for the awaited task, given the next candidate.
    fn ends_anticipation(&mut self, now: Ns, requests: &Requests, candidate: Option<RequestId>) -> bool {
        let Some(awaited) = self.awaited else { return true };
        if candidate.is_some_and(|id| self.task_of[id.at()] == awaited)
            || (self.awaited_completed && now >= self.gives_up_at())
            || self.known[awaited.at()].queued > 0
        {
            return true;
        }
        if let Some(request) = candidate.map(|id| &requests[id])
            && request.is_sync()
            && self.is_close(now, awaited, request.lba)
        {
            // Tasks that work in the same place count as one.
            self.observe(now, awaited, request.lba, request.end());
            return true;
        }
        let think = &self.known[awaited.at()].think;
        if think.is_empty() {
            self.new_think_total / 256 > self.params.antic_expire_ns || self.exit_probability > 128
        } else {
            think.mean() > self.params.antic_expire_ns
        }
    }

    /// The oldest request of a class, if it has expired. Checked no more often than once per expiry time, or a backlog
    /// would turn the sorted order into a FIFO.
    fn eldest_expired(&mut self, now: Ns, requests: &Requests, class: usize) -> Option<RequestId> {
        let expire_ns = [self.params.read_expire_ns, self.params.write_expire_ns][class];
        if now - self.fifo_checked_ns[class] < expire_ns {
            return None;
        }
        self.fifo_checked_ns[class] = now;
        self.fifo.front(class).filter(|&id| now > requests[id].deadline_ns)
    }

    fn batch_is_over(&self, now: Ns) -> bool {
        let spent = now > self.batch_expires_ns || (self.batch == ASYNC && self.writes_left == 0);
        !self.changing && !self.starting && spent
    }

    /// Returns the request that is sent next, of the batch or as the first of a new one, or how long to wait.
    fn select(&mut self, now: Ns, requests: &Requests, waiting: [bool; 2]) -> Result<RequestId, Choice> {
        let [reads, writes] = waiting;
        if reads && writes && self.batch_is_over(now) {
            return Ok(self.begin_batch(now, waiting));
        }
        let next = self.next[self.batch];
        if self.batch == SYNC && self.params.antic_expire_ns > 0 {
            if let Some(eldest) = self.eldest_expired(now, requests, SYNC) {
                return Ok(eldest);
            }
            let may_wait = self.awaited.is_some() && self.anticipation != Anticipation::Over;
            if may_wait && !self.ends_anticipation(now, requests, next) {
                return Err(self.hold_back());
            }
        }
        let Some(next) = next else { return Ok(self.begin_batch(now, waiting)) };
        if reads && !writes {
            self.batch_expires_ns = now + self.params.read_batch_expire_ns;
        }
        Ok(self.eldest_expired(now, requests, self.batch).unwrap_or(next))
    }

    /// Begins a batch: chooses its class and returns the oldest request of that.
    fn begin_batch(&mut self, now: Ns, [reads, writes]: [bool; 2]) -> RequestId {
        let class = if reads && !(writes && self.batch == SYNC) { SYNC } else { ASYNC };
        if self.batch != class {
            self.changing = true;
            self.starting = false;
        }
        self.batch = class;
        if class == ASYNC {
            self.writes_left = self.write_batch;
            self.write_batch_idled = false;
        }
        self.fifo_checked_ns[class] = now;
        self.fifo.front(class).expect("a batch begins while requests wait, with a class that has some")
    }

    /// Begins or continues a wait.
    fn hold_back(&mut self) -> Choice {
        if self.anticipation == Anticipation::Off {
            self.anticipations += 1;
            let completed = self.awaited_completed;
            self.anticipation = if completed { Anticipation::ForNext } else { Anticipation::ForCompletion };
        }
        match self.anticipation {
            Anticipation::ForNext => Choice::NotBefore(self.gives_up_at()),
            _ => Choice::Idle,
        }
    }

    fn await_task(&mut self, task: Option<TaskSlot>) {
        task.into_iter().for_each(|task| self.tasks.hold(task));
        if let Some(before) = std::mem::replace(&mut self.awaited, task) {
            self.tasks.release(before);
        }
        self.awaited_completed = false;
    }

    /// Removes a request from the tree and the counts, but not from the FIFO.
    fn leave_tree(&mut self, class: usize, id: RequestId) {
        if self.next[class] == Some(id) {
            self.next[class] = ELEVATOR.following(&self.sorted, class, self.head[class], id);
        }
        self.sorted.remove(class, id);
        self.known[self.task_of[id.at()].at()].queued -= 1;
    }

    fn send(&mut self, requests: &Requests, id: RequestId) -> Choice {
        let class = requests[id].class().at();
        self.anticipation = Anticipation::Off;
        self.head[class] = requests[id].end();
        if class == SYNC {
            self.await_task(Some(self.task_of[id.at()]));
        } else {
            self.await_task(None);
            self.writes_left = self.writes_left.saturating_sub(1);
        }
        self.next[class] = Some(id);
        self.leave_tree(class, id);
        self.fifo.remove(id);
        self.at_device += 1;
        Choice::Request(id)
    }

    /// Adapts the number of requests of the next write batch to the time that the last one took.
    fn adapt_write_batch(&mut self, now: Ns) {
        let target = i128::from(self.params.write_batch_expire_ns);
        let took = (i128::from(now) - i128::from(self.batch_expires_ns) + target).max(0);
        if took > target && !self.write_batch_idled {
            self.write_batch = if took > target * 3 { self.write_batch / 2 } else { self.write_batch - 1 };
        } else if took < target && self.writes_left == 0 {
            let grown = if target > took * 3 { self.write_batch.saturating_mul(2) } else { self.write_batch + 1 };
            self.write_batch = grown.min(u32::MAX - 1);
        }
        self.write_batch = self.write_batch.max(1);
    }
}

flashloom_units::component! { Anticipatory: anticipations, in_vain }

impl Scheduler for Anticipatory {
    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        self.give_up_in_time(now);
        let (request, class) = (&requests[id], requests[id].class().at());
        let (task, new) = self.tasks.enter(request.task);
        if new {
            self.known[task.at()] = Task::default();
        }
        self.tasks.hold(task);
        self.task_of[id.at()] = task;
        if class == SYNC {
            self.observe(now, task, request.lba, request.end());
        }
        self.known[task.at()].queued += 1;
        self.sorted.insert(class, id, request.lba);
        self.fifo.push_back(class, id);
        self.next[class] = ELEVATOR.better(&self.sorted, self.head[class], Some(id), self.next[class]);
        if self.is_anticipating() && self.ends_anticipation(now, requests, Some(id)) {
            self.anticipation = Anticipation::Over;
        }
        now + [self.params.read_expire_ns, self.params.write_expire_ns][class]
    }

    fn front_merge_candidate(&self, _requests: &Requests, incoming: &Request) -> Option<RequestId> {
        self.sorted.at(Class::of(incoming).at(), incoming.end())
    }

    fn former(&self, requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.sorted.prev(requests[id].class().at(), id)
    }

    fn latter(&self, requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.sorted.next(requests[id].class().at(), id)
    }

    fn moved(&mut self, requests: &Requests, id: RequestId) {
        self.sorted.resort(requests[id].class().at(), id, requests[id].lba);
    }

    fn absorb(&mut self, requests: &Requests, kept: RequestId, gone: RequestId) {
        leave_fifo(&mut self.fifo, requests, kept, gone);
        self.leave_tree(requests[gone].class().at(), gone);
        self.tasks.release(self.task_of[gone.at()]);
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        self.give_up_in_time(now);
        let waiting @ [reads, writes] = [SYNC, ASYNC].map(|class| !self.fifo.is_empty(class));
        if self.batch == ASYNC && !reads && (self.writes_left == 0 || !writes) {
            self.write_batch_idled = true;
        }
        if !(reads || writes) || self.changing {
            return Choice::Idle;
        }
        if self.is_anticipating() {
            return self.hold_back();
        }
        let id = match self.select(now, requests, waiting) {
            Ok(id) => id,
            Err(wait) => return wait,
        };
        if self.changing {
            if self.at_device > 0 {
                return Choice::Idle;
            }
            if self.batch == ASYNC {
                self.batch_expires_ns = now + self.params.write_batch_expire_ns;
            } else {
                self.starting = true;
            }
            self.changing = false;
        }
        self.send(requests, id)
    }

    fn completed(&mut self, now: Ns, requests: &Requests, id: RequestId) {
        self.give_up_in_time(now);
        let (class, task) = (requests[id].class().at(), self.task_of[id.at()]);
        if self.changing && self.at_device == 1 {
            let batch_expire_ns = [self.params.read_batch_expire_ns, self.params.write_batch_expire_ns][self.batch];
            self.batch_expires_ns = now + batch_expire_ns;
            self.changing = false;
            self.starting |= self.batch == SYNC;
        }
        self.at_device -= 1;
        if self.starting && self.batch == class {
            self.adapt_write_batch(now);
            self.batch_expires_ns = now + self.params.read_batch_expire_ns;
            self.starting = false;
        }
        if self.awaited == Some(task) {
            self.anticipating_since_ns = now;
            self.awaited_completed = true;
            if self.anticipation == Anticipation::ForCompletion {
                self.anticipation = Anticipation::ForNext;
            }
        }
        if class == SYNC {
            self.known[task.at()].completed_ns = Some(now);
        }
        self.tasks.release(task);
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let queued = requests.count(Stage::Queued);
        let listed = (0..2).map(|class| self.fifo.iter(class).count() as u64).sum::<u64>();
        let sorted = (0..2).map(|class| self.sorted.iter(class).count() as u64).sum::<u64>();
        let of_tasks = self.known.iter().map(|task| u64::from(task.queued)).sum::<u64>();
        ensure!(
            [listed, sorted, of_tasks] == [queued; 3],
            "anticipatory: {queued} queued, {listed} in the FIFOs, {sorted} in the trees, {of_tasks} of tasks"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Lab;
    use crate::{Admission, Decision};

    const FAR: u64 = 1 << 20;
    const WAIT: Ns = 6_667 * US;

    fn lab(change: impl FnOnce(&mut AnticipatoryParams)) -> Lab {
        Lab::new(Anticipatory::new, change)
    }

    #[test]
    fn after_a_tasks_read_the_device_waits_for_its_next_one_nearby() {
        let mut lab = lab(|_| {});
        lab.reads_of(1, [1_000]);
        assert_eq!(lab.start_one(), 1_000);
        lab.reads_of(2, [FAR]);
        assert_eq!(lab.start(), Decision::Idle, "the wait begins with the completion");
        lab.now = MS;
        lab.finish(1_000);
        assert_eq!(lab.start(), Decision::NotBefore(MS + WAIT));
        lab.now = 3 * MS;
        lab.reads_of(1, [1_008]);
        assert_eq!(lab.start_one(), 1_008);
        lab.now = 4 * MS;
        lab.finish(1_008);
        assert_eq!(lab.start(), Decision::NotBefore(4 * MS + WAIT));
        lab.now = 4 * MS + WAIT;
        assert_eq!(lab.start_one(), FAR);
        assert_eq!(lab.counts(), [2, 1], "waited twice, once in vain");
    }

    #[test]
    fn a_near_read_of_another_task_does_not_wait() {
        let mut lab = lab(|_| {});
        lab.reads_of(1, [1_000]);
        assert_eq!(lab.start_one(), 1_000);
        lab.reads_of(2, [1_008 + NEAR_SECTORS]);
        assert_eq!(lab.start_one(), 1_008 + NEAR_SECTORS);
        lab.reads_of(3, [1_017 + 2 * NEAR_SECTORS]);
        assert_eq!(lab.start(), Decision::Idle, "one sector farther is not near");
    }

    #[test]
    fn a_task_that_thinks_longer_than_the_wait_is_not_waited_for() {
        let mut lab = lab(|_| {});
        for now in [0, 15 * MS] {
            lab.now = now;
            lab.reads_of(1, [1_000 + now]);
            assert_eq!(lab.serve(1), [1_000 + now]);
        }
        lab.reads_of(2, [500 * FAR]);
        assert_eq!(lab.serve(1), [500 * FAR]);
    }

    #[test]
    fn new_tasks_are_no_longer_waited_for_once_most_never_came_back() {
        let mut lab = lab(|_| {});
        for task in 0..10 {
            lab.reads_of(task, [u64::from(task) * FAR]);
            while let Decision::NotBefore(time) = lab.start() {
                lab.now = time;
            }
            lab.finish(u64::from(task) * FAR);
        }
        // 0, 32, 60, 84, 105, 123, 139 of 256: the sixth wait in vain passes one half.
        assert_eq!(lab.counts(), [6, 6]);
    }

    #[test]
    fn without_task_ids_nothing_waits() {
        let mut lab = lab(|_| {});
        lab.reads([FAR, 0, 9 * FAR]);
        lab.writes([5_000]);
        assert_eq!(lab.serve(9), [0, FAR, 9 * FAR, 5_000]);
        assert_eq!(lab.counts(), [0, 0]);
    }

    #[test]
    fn the_first_request_of_the_other_class_waits_until_the_device_is_empty() {
        let mut lab = lab(|params| params.antic_expire_ns = 0);
        lab.reads([100]);
        assert_eq!(lab.start_one(), 100);
        lab.writes([5_000]);
        assert_eq!(lab.start(), Decision::Idle);
        lab.finish(100);
        assert_eq!(lab.start_one(), 5_000);
        lab.reads([200]);
        assert_eq!(lab.start(), Decision::Idle);
        lab.finish(5_000);
        assert_eq!(lab.start_one(), 200);
    }

    #[test]
    fn a_read_batch_whose_time_is_up_gives_way_to_the_eldest_write() {
        let mut lab = lab(|params| params.antic_expire_ns = 0);
        lab.reads([100, 200, 300]);
        lab.writes([1_100, 1_000]);
        assert_eq!(lab.serve(1), [100]);
        lab.now = 500 * MS + 1;
        assert_eq!(lab.serve(9), [1_100, 1_000, 200, 300], "200 is the eldest read that is left");
    }

    #[test]
    fn a_write_batch_that_was_quick_is_doubled() {
        let mut lab = lab(|params| {
            (params.antic_expire_ns, params.read_batch_expire_ns, params.write_batch_expire_ns) = (0, 10 * MS, 20 * MS);
        });
        lab.reads([100, 200, 300, 400]);
        lab.writes((0..8).map(|n| 1_000 + 100 * n));
        assert_eq!(lab.serve(1), [100]);
        lab.now = 11 * MS;
        assert_eq!(lab.serve(3), [1_000, 1_100, 200], "20 ms begin with two writes");
        lab.now = 22 * MS;
        assert_eq!(lab.serve(5), [1_200, 1_300, 1_400, 1_500, 300]);
    }

    #[test]
    fn the_eldest_goes_first_once_it_has_expired_and_is_looked_at_once_per_expiry() {
        let mut lab = lab(|_| {});
        lab.reads([1_000]);
        assert_eq!(lab.serve(1), [1_000]);
        lab.now = MS;
        lab.reads([20 * FAR, 30 * FAR, 2_000, 3_000, 4_000]);
        assert_eq!(lab.serve(1), [2_000]);
        lab.now = 127 * MS;
        assert_eq!(lab.serve(2), [20 * FAR, 30 * FAR], "the eldest, then in elevator order: nothing is checked");
        assert_eq!(lab.serve(9), [3_000, 4_000], "round the end");
    }

    #[test]
    fn the_longer_the_wait_has_lasted_the_farther_is_near() {
        let mut lab = lab(|_| {});
        lab.reads_of(1, [1_000]);
        assert_eq!(lab.serve(1), [1_000]);
        lab.reads_of(2, [500 * FAR]);
        assert_eq!(lab.start(), Decision::NotBefore(WAIT));
        lab.now = 3 * MS;
        lab.reads_of(3, [1_009 + 8 * NEAR_SECTORS]);
        assert_eq!(lab.start(), Decision::NotBefore(WAIT));
        lab.reads_of(4, [1_008 + 8 * NEAR_SECTORS]);
        assert_eq!(lab.start_one(), 1_008 + 8 * NEAR_SECTORS);
    }

    #[test]
    fn after_twenty_milliseconds_everything_is_near() {
        let mut lab = lab(|params| params.antic_expire_ns = S);
        lab.reads_of(1, [1_000]);
        assert_eq!(lab.serve(1), [1_000]);
        lab.reads_of(2, [500 * FAR]);
        assert_eq!(lab.start(), Decision::NotBefore(S));
        lab.now = 900 * MS;
        lab.reads_of(3, [900 * FAR]);
        assert_eq!(lab.serve(9), [500 * FAR], "and then the next task is waited for");
    }

    #[test]
    fn a_request_that_takes_in_an_elder_one_takes_its_place_in_the_fifo() {
        let mut lab = lab(|_| {});
        for lba in [116, 50, 100] {
            lab.reads([lba]);
            lab.now += MS;
        }
        assert_eq!(lab.submit(Op::Read, 0, 0, 108, 8), Admission::Merged);
        lab.now = 125 * MS + 1;
        assert_eq!(lab.serve(9), [100, 50]);
    }
}
