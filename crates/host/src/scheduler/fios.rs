//! FIOS: equal timeslices of the drive for every task, reads before writes, many tasks at the drive at once.
//!
//! ```text
//! epoch:    every task may use `timeslice` of the drive's time; time that it leaves unused is lost, time that it
//!           overdrew is owed
//! eligible: a task with some of its timeslice left; only eligible tasks issue requests
//! dispatch: a read of an eligible task, if there is one; eligible tasks take turns, a request each
//!           otherwise a write of an eligible task, but not while reads are at the drive or awaited
//!           otherwise, if no eligible task has requests at the drive or is awaited: begin an epoch
//! charge:   shared: every moment at the drive, divided by the number of requests there; when it completes
//!           linear: the modelled time of the request alone, by operation and length; when it is issued
//! await:    a task whose last synchronous request has completed, for alpha / (1 - alpha) times the mean time that its
//!           requests take at the drive, so that the drive idles for a share alpha of the time at most
//! expire:   a write older than write_expire goes in line behind the reads that its task has queued by then
//! merge:    at the back, within a task; nothing is sorted, because flash does not seek
//! ```
//! Source: Park and Shen, "FIOS: A Fair, Efficient Flash I/O Scheduler", FAST 2012, from published descriptions, which
//! docs/decisions/0029-fios.md names. They leave open the length of a timeslice (`timeslice`), the cost of a request
//! (`cost`), whether writes wait for reads at the drive (`block_writes`), the treatment of an overdrawn timeslice
//! (`carry_debt`), the bound of anticipation (`alpha`), the order among eligible tasks, and the way to keep the reads
//! of a task from starving its own writes (`write_expire`).
//!
//! Bound: a task with requests issues at least one in every epoch in which it is not in debt, and an epoch lasts no
//! longer than the timeslices of all tasks, divided by `1 - alpha`, plus the requests that overdrew them.
//! Without task ids there is one task: only reads before writes and the short wait after reads remain.
//! Cost: O(1) a request and O(log n) an anticipation; an epoch costs O(tasks that have used their timeslices up).

use super::prelude::*;
use crate::requests::Queued;
use crate::tasks::{DecayingMean, Tasks};

/// Specification of the policy.
pub static SPEC: PolicySpec = PolicySpec {
    name: "fios",
    summary: "Equal timeslices of the drive for every task, reads first, many tasks at the drive at once \
              (FIOS, FAST 2012)",
    details: "In an epoch every task may use an equal timeslice of the drive's time, whenever it has requests and at \
              the same time as others. Reads go before writes, writes wait until no read is at the drive, and a task \
              that has just read is awaited briefly. On a trace without task ids all requests belong to one task, and \
              only reads before writes remains.",
    source: "Park and Shen, FAST 2012, from published descriptions: docs/decisions/0029-fios.md",
    example: "host.scheduler=fios host.fios.timeslice=5ms workload.queue_depth=64 workload.synthetic.read_share=0.6 \
              workload.synthetic.tasks=8 workload.synthetic.sync_share=1",
    instead: "Without task ids only reads before writes remains: `deadline` does that and bounds the wait of every \
              request. If throughput matters more than fairness, use `noop`.",
    offers: &[Capability::SAVED_STATE],
    params: FiosParams::PARAMS,
    statistics: &[
        Statistic::count("epochs", "Epochs that were begun after the first."),
        Statistic::count("anticipations", "Times that a task's next request was awaited."),
        Statistic::count("anticipations_in_vain", "Of these, times that the request did not come in time."),
        Statistic::count("expired_writes", "Expired writes, which were queued behind the reads of their task."),
    ],
    ..PolicySpec::BLANK
};

choice! {
    /// Cost of a request, charged to its task's timeslice.
    pub enum Cost {
     /// Its time at the drive, every moment divided by the number of requests there: together the tasks are charged the
     /// time for which the drive was busy.
        Shared = "shared",
        /// A model of the time that it would take alone: a constant plus a part for each 4 KiB.
        Linear = "linear",
    }
}

params! {
    /// Parameters of FIOS: those of the published descriptions, and of the choices that these leave open.
    pub struct FiosParams {
        /// Time of the drive that a task may use in an epoch.
        timeslice_ns: Ns => "timeslice", Kind::Time { min: 10 * US, max: 3_600 * S }, Value::Time(10 * MS),
            "Shorter timeslices make a task that has used its own up wait less, and change between reads and writes \
             more often.";
            /// Cost of a request, charged to its task's timeslice.
        cost: Cost => "cost", Kind::Choice(Cost::CHOICES), Value::Name("shared"),
            "Shared time needs no calibration, but charges a request for delays that others cause; linear cost is as \
             calibrated, whatever the drive does.";
            /// Constant part of the linear cost of a read.
        read_cost_ns: Ns => "read_cost", Kind::Time { min: 1, max: S }, Value::Time(60 * US),
            "Measure it on the drive: the time of a small read alone.", Used::with("cost", &["linear"]);
        /// Linear cost of each 4 KiB of a read, in addition to `read_cost`.
        read_cost_4k_ns: Ns => "read_cost_4k", Kind::Time { min: 0, max: S }, Value::Time(15 * US),
            "Measure it on the drive: how much longer a longer read takes.", Used::with("cost", &["linear"]);
        /// Constant part of the linear cost of a write.
        write_cost_ns: Ns => "write_cost", Kind::Time { min: 1, max: S }, Value::Time(300 * US),
            "Measure it on the drive: the time of a small write alone.", Used::with("cost", &["linear"]);
        /// Linear cost of each 4 KiB of a write, in addition to `write_cost`.
        write_cost_4k_ns: Ns => "write_cost_4k", Kind::Time { min: 0, max: S }, Value::Time(15 * US),
            "Measure it on the drive: how much longer a longer write takes.", Used::with("cost", &["linear"]);
        /// True to subtract time that a task used beyond its timeslice from its next ones.
        carry_debt: bool => "carry_debt", Kind::Flag, Value::Flag(true),
            "Without it a task gains by filling the drive's queue just before its timeslice ends.";
        /// True to hold writes back until no read is at the drive and none is awaited.
        block_writes: bool => "block_writes", Kind::Flag, Value::Flag(true),
            "Keeps writes from slowing reads down; on a drive where they do not, parallelism is lost.";
            /// Share of the time for which the drive may idle for a task; zero never waits.
        alpha: f64 => "alpha", Kind::Ratio { min: 0.0, max: 0.99 }, Value::Ratio(0.5),
            "A larger share protects tasks that think longer between requests and leaves the drive idle for longer.";
        /// Deadline of a write: the age at which it is queued behind the reads of its task.
        write_expire_ns: Ns => "write_expire", Kind::Time { min: MS, max: 3_600 * S }, Value::Time(5 * S),
            "Earlier expiry bounds the wait of a task's writes behind its own reads more tightly.";
    }
}

/// The two FIFOs of a task ("lines"), as indices: reads with expired writes, and writes.
const READS: usize = 0;
const WRITES: usize = 1;
/// Index of the only list of a set with one list.
const ALL: usize = 0;

/// State of a task.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Task {
    /// Rest of its timeslice in the epoch `epoch`. In a later epoch a task that is not out of time has a whole one.
    left_ns: i64,
    epoch: u64,
    /// Number of its requests at the drive.
    at_device: u32,
    /// Number of its synchronous requests, queued or at the drive.
    sync: u32,
    /// Mean time of its synchronous requests at the drive.
    service: DecayingMean,
    /// Tree of `Fios::awaited` that it is in, if it is awaited.
    awaited_in: Option<usize>,
}

/// State of FIOS: the lines of all tasks, and the tasks that are eligible or awaited.
pub struct Fios {
    params: FiosParams,
    idle_per_service: f64,
    tasks: Tasks,
    known: Vec<Task>,
    task_of: Vec<TaskSlot>,
    /// Value of `shared` when each request was issued.
    issued_at: Vec<u64>,
    /// Lines of the tasks, two for each, in order of arrival.
    lines: Lists<RequestId>,
    /// Writes that have not expired, the oldest first.
    writes_by_age: Lists<RequestId>,
    /// Eligible tasks with requests, by line, the next one to be served first.
    turns: [Lists<TaskSlot>; 2],
    /// Tasks that have used their timeslices up.
    out_of_time: Lists<TaskSlot>,
    /// Awaited tasks, sorted by the end of the wait: those after a read in one tree, after a synchronous write in the
    /// other.
    awaited: Forest<TaskSlot>,
    epoch: u64,
    queued: u32,
    at_device: u32,
    reads_at_device: u32,
    /// Charge in 1/256 ns of an imagined request that has been at the drive since the beginning, and the time of its
    /// last update. The charge of a real request is the difference over its stay.
    shared: u64,
    shared_until_ns: Ns,
    /// Number of eligible tasks with requests at the drive.
    served: u32,
    epochs: u64,
    anticipations: u64,
    in_vain: u64,
    expired_writes: u64,
}

flashloom_units::state! {
    Fios {
        nested tasks, task_of, issued_at, lines, writes_by_age, out_of_time, awaited;
        array known;
        each turns;
        value epoch, queued, at_device, reads_at_device, shared, shared_until_ns, served, epochs, anticipations,
            in_vain, expired_writes;
        fixed params, idle_per_service;
    }
}

fn line(task: TaskSlot, line: usize) -> usize {
    2 * task.at() + line
}

impl Fios {
    /// Makes empty lines.
    pub fn new(params: FiosParams, setup: &SchedulerSetup) -> Result<Self, Refusal> {
        let tasks = Tasks::new(setup.requests);
        let slots = tasks.slots();
        Ok(Self {
            idle_per_service: params.alpha / (1.0 - params.alpha),
            params,
            tasks,
            known: vec![Task::default(); slots as usize],
            task_of: vec![TaskSlot(0); setup.requests as usize],
            issued_at: vec![0; setup.requests as usize],
            lines: Lists::new(setup.requests, 2 * slots),
            writes_by_age: Lists::new(setup.requests, 1),
            turns: [Lists::new(slots, 1), Lists::new(slots, 1)],
            out_of_time: Lists::new(slots, 1),
            awaited: Forest::new(slots, 2),
            epoch: 0,
            queued: 0,
            at_device: 0,
            reads_at_device: 0,
            shared: 0,
            shared_until_ns: 0,
            served: 0,
            epochs: 0,
            anticipations: 0,
            in_vain: 0,
            expired_writes: 0,
        })
    }

    fn timeslice_ns(&self) -> i64 {
        self.params.timeslice_ns as i64
    }

    fn is_eligible(&self, task: TaskSlot) -> bool {
        !self.out_of_time.contains(task)
    }

    /// The line that a queued request is in.
    fn line_of(&self, requests: &Requests, id: RequestId) -> usize {
        if requests[id].op == Op::Read || !self.writes_by_age.contains(id) { READS } else { WRITES }
    }

    /// Resets the slot of a new task, which begins with a whole timeslice.
    fn introduce(&mut self, task: TaskSlot) {
        self.stop_awaiting(task);
        if !self.is_eligible(task) {
            self.out_of_time.remove(task);
        }
        self.known[task.at()] = Task { left_ns: self.timeslice_ns(), epoch: self.epoch, ..Task::default() };
    }

    /// Adds a task to the turns of a line, if it has requests in it and is eligible.
    fn offer(&mut self, task: TaskSlot, of: usize) {
        let waits = !self.lines.is_empty(line(task, of));
        if waits && self.is_eligible(task) && !self.turns[of].contains(task) {
            self.turns[of].push_back(ALL, task);
        }
    }

    /// Removes a request from its line.
    fn leave_line(&mut self, requests: &Requests, id: RequestId) {
        let (task, of) = (self.task_of[id.at()], self.line_of(requests, id));
        self.lines.remove(id);
        if of == WRITES {
            self.writes_by_age.remove(id);
        }
        self.queued -= 1;
        if self.lines.is_empty(line(task, of)) && self.turns[of].contains(task) {
            self.turns[of].remove(task);
        }
    }

    /// Subtracts the cost of a request from its task's timeslice.
    fn charge(&mut self, task: TaskSlot, cost_ns: Ns) {
        let (epoch, timeslice_ns) = (self.epoch, self.timeslice_ns());
        let eligible = self.is_eligible(task);
        let state = &mut self.known[task.at()];
        if eligible && state.epoch != epoch {
            (state.epoch, state.left_ns) = (epoch, timeslice_ns);
        }
        state.left_ns = state.left_ns.saturating_sub_unsigned(cost_ns.max(1));
        if eligible && state.left_ns <= 0 {
            self.served -= u32::from(state.at_device > 0);
            self.stop_awaiting(task);
            self.out_of_time.push_back(ALL, task);
            self.turns.iter_mut().filter(|turns| turns.contains(task)).for_each(|turns| turns.remove(task));
        }
    }

    /// Divides the time since the last update among the requests at the drive.
    fn share_time(&mut self, now: Ns) {
        let passed_ns = now - std::mem::replace(&mut self.shared_until_ns, now);
        self.shared += (passed_ns * 256).checked_div(self.at_device.into()).unwrap_or(0);
    }

    fn linear_cost_ns(&self, request: &Queued) -> Ns {
        let params = &self.params;
        let (each_ns, each_4k_ns) = match request.op {
            Op::Read => (params.read_cost_ns, params.read_cost_4k_ns),
            _ => (params.write_cost_ns, params.write_cost_4k_ns),
        };
        each_ns + each_4k_ns * (u64::from(request.sectors) * SECTOR_BYTES).div_ceil(4_096)
    }

    /// Begins as many epochs as the least indebted waiting task needs to have time again. Called when all tasks that
    /// wait are out of time.
    fn begin_epochs(&mut self) {
        let timeslice_ns = self.timeslice_ns();
        let waits = |task: &TaskSlot| [READS, WRITES].iter().any(|&of| !self.lines.is_empty(line(*task, of)));
        let debts_ns = self.out_of_time.iter(ALL).filter(waits).map(|task| -self.known[task.at()].left_ns);
        let least_ns = debts_ns.min().expect("whatever waits belongs to a task that is out of time");
        let epochs = if self.params.carry_debt { least_ns / timeslice_ns + 1 } else { 1 };
        self.epoch += 1;
        self.epochs += epochs as u64;
        let mut next = self.out_of_time.front(ALL);
        while let Some(task) = next {
            next = self.out_of_time.next(task);
            let state = &mut self.known[task.at()];
            let paid_ns = state.left_ns.saturating_add(epochs * timeslice_ns).min(timeslice_ns);
            state.left_ns = if self.params.carry_debt { paid_ns } else { timeslice_ns };
            state.epoch = self.epoch;
            if state.left_ns > 0 {
                self.served += u32::from(state.at_device > 0);
                self.out_of_time.remove(task);
                self.offer(task, READS);
                self.offer(task, WRITES);
            }
        }
    }

    fn stop_awaiting(&mut self, task: TaskSlot) {
        if let Some(tree) = self.known[task.at()].awaited_in.take() {
            self.awaited.remove(tree, task);
        }
    }

    /// Begins to await the next request of a task that has none left, for a time in proportion to its mean time at the
    /// drive.
    fn wait_for(&mut self, now: Ns, task: TaskSlot, tree: usize) {
        let state = &self.known[task.at()];
        let patience_ns = (state.service.mean() as f64 * self.idle_per_service) as Ns;
        if patience_ns == 0 || state.sync > 0 || !self.is_eligible(task) {
            return;
        }
        self.stop_awaiting(task);
        self.awaited.insert(tree, task, now + patience_ns);
        self.known[task.at()].awaited_in = Some(tree);
        self.anticipations += 1;
    }

    /// The earliest time at which the wait for a task of the tree ends; none if none is awaited. Waits that have ended
    /// by now are removed.
    fn awaited_until(&mut self, now: Ns, tree: usize) -> Option<Ns> {
        while let Some(task) = self.awaited.first(tree) {
            let until = self.awaited.key(task);
            if until > now {
                return Some(until);
            }
            self.stop_awaiting(task);
            self.in_vain += 1;
        }
        None
    }

    /// Moves expired writes behind the reads of their tasks.
    fn promote_expired(&mut self, now: Ns, requests: &Requests) {
        while let Some(id) = self.writes_by_age.front(ALL).filter(|&id| now > requests[id].deadline_ns) {
            let task = self.task_of[id.at()];
            self.writes_by_age.remove(id);
            self.lines.remove(id);
            self.lines.push_back(line(task, READS), id);
            if self.lines.is_empty(line(task, WRITES)) && self.turns[WRITES].contains(task) {
                self.turns[WRITES].remove(task);
            }
            self.offer(task, READS);
            self.expired_writes += 1;
        }
    }

    /// Returns the task whose request is sent next and its line, or how long to wait.
    fn select(&mut self, now: Ns) -> Result<(TaskSlot, usize), Choice> {
        loop {
            if let Some(task) = self.turns[READS].front(ALL) {
                return Ok((task, READS));
            }
            let reader = self.awaited_until(now, READS);
            if let Some(task) = self.turns[WRITES].front(ALL) {
                return match reader {
                    _ if !self.params.block_writes => Ok((task, WRITES)),
                    _ if self.reads_at_device > 0 => Err(Choice::Idle),
                    Some(until) => Err(Choice::NotBefore(until)),
                    None => Ok((task, WRITES)),
                };
            }
            if self.served > 0 {
                return Err(Choice::Idle);
            }
            let writer = self.awaited_until(now, WRITES);
            if let Some(until) = reader.into_iter().chain(writer).min() {
                return Err(Choice::NotBefore(until));
            }
            self.begin_epochs();
        }
    }
}

flashloom_units::component! { Fios: epochs, anticipations, in_vain, expired_writes }

impl Scheduler for Fios {
    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        let request = &requests[id];
        let (task, new) = self.tasks.enter(request.task);
        if new {
            self.introduce(task);
        }
        self.tasks.hold(task);
        self.task_of[id.at()] = task;
        self.queued += 1;
        if request.is_sync() {
            self.known[task.at()].sync += 1;
            self.stop_awaiting(task);
        }
        let (of, deadline_ns) = match request.op {
            Op::Read => (READS, Ns::MAX),
            _ => (WRITES, now.saturating_add(self.params.write_expire_ns)),
        };
        self.lines.push_back(line(task, of), id);
        if of == WRITES {
            self.writes_by_age.push_back(ALL, id);
        }
        self.offer(task, of);
        deadline_ns
    }

    fn allows_merge(&self, _requests: &Requests, id: RequestId, incoming: &Request) -> bool {
        self.tasks.find(incoming.task) == Some(self.task_of[id.at()])
    }

    fn former(&self, _requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.lines.prev(id)
    }

    fn latter(&self, _requests: &Requests, id: RequestId) -> Option<RequestId> {
        self.lines.next(id)
    }

    fn absorb(&mut self, requests: &Requests, _kept: RequestId, gone: RequestId) {
        let task = self.task_of[gone.at()];
        self.leave_line(requests, gone);
        self.known[task.at()].sync -= u32::from(requests[gone].is_sync());
        self.tasks.release(task);
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        if self.queued == 0 {
            return Choice::Idle;
        }
        self.promote_expired(now, requests);
        let (task, of) = match self.select(now) {
            Ok(chosen) => chosen,
            Err(wait) => return wait,
        };
        let id = self.lines.front(line(task, of)).expect("a task with a turn has requests in the line");
        self.turns[of].remove(task);
        self.leave_line(requests, id);
        self.offer(task, of);
        self.share_time(now);
        self.at_device += 1;
        self.issued_at[id.at()] = self.shared;
        self.reads_at_device += u32::from(requests[id].op == Op::Read);
        let state = &mut self.known[task.at()];
        self.served += u32::from(state.at_device == 0);
        state.at_device += 1;
        if self.params.cost == Cost::Linear {
            self.charge(task, self.linear_cost_ns(&requests[id]));
        }
        Choice::Request(id)
    }

    fn completed(&mut self, now: Ns, requests: &Requests, id: RequestId) {
        let (request, task) = (&requests[id], self.task_of[id.at()]);
        let elapsed_ns = now - request.dispatched_ns;
        let is_read = request.op == Op::Read;
        self.share_time(now);
        self.at_device -= 1;
        self.reads_at_device -= u32::from(is_read);
        let eligible = self.is_eligible(task);
        let state = &mut self.known[task.at()];
        state.at_device -= 1;
        self.served -= u32::from(eligible && state.at_device == 0);
        if request.is_sync() {
            state.service.add(elapsed_ns);
            state.sync -= 1;
        }
        if self.params.cost == Cost::Shared {
            self.charge(task, (self.shared - self.issued_at[id.at()]) / 256);
        }
        if request.is_sync() {
            self.wait_for(now, task, if is_read { READS } else { WRITES });
        }
        self.tasks.release(task);
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let (queued, in_flight) = (requests.count(Stage::Queued), self.at_device);
        let (mut listed, mut at_device, mut served) = (0, 0, 0);
        for task in (0..self.tasks.slots()).map(TaskSlot) {
            let (state, eligible) = (&self.known[task.at()], self.is_eligible(task));
            for of in [READS, WRITES] {
                let waiting = self.lines.iter(line(task, of)).count();
                listed += waiting as u64;
                let is_right = self.turns[of].contains(task) == (eligible && waiting > 0);
                ensure!(is_right, "fios: task slot {} has {waiting} in line {of} and the wrong turn", task.0);
            }
            at_device += state.at_device;
            served += u32::from(eligible && state.at_device > 0);
        }
        ensure!(
            [listed, u64::from(self.queued)] == [queued; 2] && at_device == in_flight && served == self.served,
            "fios: {queued} queued, {listed} listed, counts {}; {at_device} of tasks at the drive, counts {in_flight}; \
             {served} tasks served, counts {}",
            self.queued,
            self.served
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decision;
    use crate::lab::Lab;

    const LONG: u32 = 256;

    fn lab(change: impl FnOnce(&mut FiosParams)) -> Lab {
        Lab::new(Fios::new, change)
    }

    /// Linear costs of 75 us for a read of 4 KiB and 540 us for one of 128 KiB, and no anticipation.
    fn linear(timeslice_ns: Ns) -> Lab {
        lab(|params| (params.cost, params.timeslice_ns, params.alpha) = (Cost::Linear, timeslice_ns, 0.0))
    }

    #[test]
    fn reads_go_first_and_writes_wait_until_no_read_is_at_the_drive_or_awaited() {
        let mut lab = lab(|_| {});
        lab.writes([1_000, 1_100]);
        lab.reads_of(1, [100]);
        assert_eq!(lab.start_one(), 100);
        assert_eq!(lab.start(), Decision::Idle);
        lab.now = 50 * US;
        lab.finish(100);
        assert_eq!(
            lab.start(),
            Decision::NotBefore(100 * US),
            "as long again as the read took, with alpha at one half"
        );
        lab.now = 80 * US;
        lab.reads_of(1, [200]);
        assert_eq!(lab.start_one(), 200);
        lab.now = 130 * US;
        lab.finish(200);
        assert_eq!(lab.start(), Decision::NotBefore(180 * US));
        lab.now = 180 * US;
        assert_eq!([lab.start_one(), lab.start_one()], [1_000, 1_100]);
        lab.reads_of(1, [300]);
        assert_eq!(lab.start_one(), 300, "a read does not wait for the writes");
        assert_eq!(lab.counts(), [0, 2, 1, 0]);
    }

    #[test]
    fn tasks_take_turns_a_request_each_while_they_have_time() {
        let mut lab = lab(|_| {});
        lab.reads_of(1, [100, 200, 300]);
        lab.reads_of(2, [500, 600]);
        lab.reads_of(3, [900]);
        assert_eq!(lab.serve(9), [100, 500, 900, 200, 600, 300]);
    }

    /// Long reads of one task beside short ones of another.
    fn long_and_short(lab: &mut Lab) -> Vec<u64> {
        for n in 0..4 {
            lab.submit(Op::Read, 1, 0, 100_000 + 1_000 * n, LONG);
        }
        lab.reads_of(2, (0..26).map(|n| 100 * n));
        let order = lab.serve(99);
        assert_eq!(order.len(), 30);
        (0..30).filter(|&at| order[at] >= 100_000).map(|at| at as u64).collect()
    }

    #[test]
    fn every_task_gets_an_equal_timeslice_of_cost_in_an_epoch_and_owes_what_it_overdrew() {
        let mut lab = linear(600 * US);
        // Epochs of eight short reads; of the long ones two go first and overdraw by 480, 420 and 360 us, then one
        // each.
        assert_eq!(long_and_short(&mut lab), [0, 2, 10, 19]);
        let mut without = self::lab(|params| {
            (params.cost, params.timeslice_ns, params.alpha) = (Cost::Linear, 600 * US, 0.0);
            params.carry_debt = false;
        });
        assert_eq!(long_and_short(&mut without), [0, 2, 10, 12], "two an epoch, nearly twice the timeslice");
    }

    #[test]
    fn what_a_task_does_not_use_of_its_timeslice_is_lost() {
        let mut lab = linear(150 * US);
        lab.reads_of(2, (0..7).map(|n| 1_000 + 100 * n));
        assert_eq!(lab.serve(4), [1_000, 1_100, 1_200, 1_300]);
        lab.reads_of(1, (0..5).map(|n| 100 * n));
        assert_eq!(lab.serve(2), [0, 100], "two reads, not the four of two epochs");
        assert_eq!(lab.serve(9), [1_400, 200, 1_500, 300, 1_600, 400]);
    }

    #[test]
    fn an_epoch_does_not_end_while_a_task_with_time_is_served_or_awaited() {
        let mut lab = lab(|params| params.timeslice_ns = MS);
        lab.reads_of(1, [100, 200]);
        assert_eq!(lab.start_one(), 100);
        lab.now = 2 * MS;
        lab.reads_of(2, [500]);
        assert_eq!([lab.start_one(), lab.start_one()], [200, 500]);
        lab.finish(100);
        lab.reads_of(1, [300]);
        assert_eq!(lab.start(), Decision::Idle, "task 1 has used 2 ms, and a read of task 2 is at the drive");
        lab.now = 3 * MS;
        lab.finish(500);
        assert_eq!(lab.start(), Decision::NotBefore(4 * MS), "task 2 has used half of its timeslice");
        lab.now = 3 * MS + 500 * US;
        lab.reads_of(2, [600]);
        assert_eq!(lab.start_one(), 600);
        lab.now = 5 * MS;
        lab.finish(600);
        assert_eq!(lab.start_one(), 300, "now both have used theirs up");
        assert_eq!(lab.counts(), [2, 1, 0, 0], "one to pay the 1 ms that task 1 owed, one to spend");
    }

    #[test]
    fn every_moment_at_the_drive_is_divided_among_the_requests_there() {
        let mut lab = lab(|params| (params.timeslice_ns, params.alpha) = (100 * US, 0.0));
        lab.reads_of(1, [100, 200, 300]);
        assert_eq!([lab.start_one(), lab.start_one()], [100, 200]);
        lab.now = 100 * US;
        lab.finish(200);
        assert_eq!((lab.start_one(), lab.counts()[0]), (300, 0), "half of 100 us is used");
        lab.finish(100);
        lab.reads_of(1, [400]);
        assert_eq!((lab.start_one(), lab.counts()[0]), (400, 1), "and now the other half");
    }

    #[test]
    fn a_write_that_has_expired_stands_behind_the_reads_that_its_task_has_queued_by_then() {
        let mut lab = lab(|params| params.write_expire_ns = MS);
        lab.writes([1_000]);
        lab.reads([100, 200]);
        lab.now = MS;
        assert_eq!(lab.serve(1), [100], "at its time it has not expired");
        lab.now = MS + 1;
        lab.reads([300]);
        assert_eq!(lab.serve(1), [200]);
        lab.reads([400]);
        assert_eq!(lab.serve(9), [300, 1_000, 400]);
        assert_eq!(lab.counts()[3], 1);
        assert_eq!(lab.layer.stats().expired, 1);
    }
}
