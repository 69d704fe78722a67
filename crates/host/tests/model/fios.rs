//! FIOS by its rules: eligible, awaited and served tasks are found by a search of all requests and tasks.

use flashloom_units::Ns;
use flashloom_workload::Op;

use super::{Model, Waiting};

/// Parameters of the scheduler.
#[derive(Clone, Debug)]
pub struct Fios {
    pub timeslice_ns: i64,
    /// Linear costs of a read and of a write: the constant, and the part for each 4 KiB; none for shared cost.
    pub linear_ns: Option<[(u64, u64); 2]>,
    pub carry_debt: bool,
    pub block_writes: bool,
    pub alpha: f64,
    pub write_expire_ns: Ns,
}

/// A task that has been seen.
#[derive(Clone, Debug)]
pub struct Task {
    task: u32,
    left_ns: i64,
    samples: u64,
    total: u64,
    /// True if awaited after a read, and the end of the wait.
    awaited: Option<(bool, Ns)>,
}

/// State of the scheduler.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    tasks: Vec<Task>,
    /// Tasks with turns, by line: reads with expired writes, then writes.
    turns: [Vec<u32>; 2],
    out_of_time: Vec<u32>,
    shared_until_ns: Ns,
}

impl Model {
    fn of(&mut self, task: u32) -> &mut Task {
        self.fios.tasks.iter_mut().find(|known| known.task == task).expect("the task was seen")
    }

    /// Requests of a task in one of its lines, in order.
    pub fn fios_line(&self, task: u32, line: usize) -> Vec<&Waiting> {
        let mut all: Vec<&Waiting> =
            self.waiting.iter().filter(|waiting| waiting.task == task && waiting.line == line).collect();
        all.sort_by_key(|waiting| waiting.lined_up);
        all
    }

    fn offer(&mut self, task: u32, line: usize) {
        let eligible = self.of(task).left_ns > 0;
        if eligible && !self.fios_line(task, line).is_empty() && !self.fios.turns[line].contains(&task) {
            self.fios.turns[line].push(task);
        }
    }

    /// Removes tasks without requests in a line from its turns. Called after every change.
    pub fn fios_tidy(&mut self) {
        for line in [0, 1] {
            let with: Vec<u32> =
                self.waiting.iter().filter(|other| other.line == line).map(|other| other.task).collect();
            self.fios.turns[line].retain(|task| with.contains(task));
        }
    }

    /// Adds the last request of `waiting`.
    pub fn fios_insert(&mut self, rule: &Fios) {
        let Waiting { task, sync, line, .. } = *self.waiting.last().expect("it has just come");
        if !self.fios.tasks.iter().any(|known| known.task == task) {
            self.fios.tasks.push(Task { task, left_ns: rule.timeslice_ns, samples: 0, total: 0, awaited: None });
        }
        if sync {
            self.of(task).awaited = None;
        }
        self.offer(task, line);
    }

    fn share_time(&mut self, now: Ns) {
        let passed_ns = now - std::mem::replace(&mut self.fios.shared_until_ns, now);
        let held = self.at_device.len() as u64;
        self.at_device.iter_mut().for_each(|request| request.share += passed_ns * 256 / held);
    }

    fn charge(&mut self, task: u32, cost_ns: u64) {
        let before_ns = self.of(task).left_ns;
        self.of(task).left_ns -= cost_ns.max(1) as i64;
        if before_ns > 0 && self.of(task).left_ns <= 0 {
            self.of(task).awaited = None;
            self.fios.out_of_time.push(task);
            self.fios.turns.iter_mut().for_each(|turns| turns.retain(|other| *other != task));
        }
    }

    fn begin_epochs(&mut self, rule: &Fios) {
        let waits = |task: &u32| self.waiting.iter().any(|waiting| waiting.task == *task);
        let debtors: Vec<u32> = self.fios.out_of_time.iter().copied().filter(waits).collect();
        let least_ns = debtors.iter().map(|task| -self.of(*task).left_ns).min().expect("something waits");
        let epochs = if rule.carry_debt { least_ns / rule.timeslice_ns + 1 } else { 1 };
        for known in &mut self.fios.tasks {
            let paid_ns = (known.left_ns + epochs * rule.timeslice_ns).min(rule.timeslice_ns);
            known.left_ns = if rule.carry_debt { paid_ns } else { rule.timeslice_ns };
        }
        for task in std::mem::take(&mut self.fios.out_of_time) {
            if self.of(task).left_ns <= 0 {
                self.fios.out_of_time.push(task);
            }
            self.offer(task, 0);
            self.offer(task, 1);
        }
    }

    /// Age of the request to send next, or the time until which to wait.
    pub fn fios_dispatch(&mut self, now: Ns, rule: &Fios) -> Result<u64, Option<Ns>> {
        if self.waiting.is_empty() {
            return Err(None);
        }
        let late = |waiting: &Waiting| waiting.line == 1 && now > waiting.deadline_ns;
        let mut expired: Vec<u64> = self.waiting.iter().filter(|waiting| late(waiting)).map(|late| late.age).collect();
        expired.sort_unstable();
        for age in expired {
            let event = self.event();
            let waiting = self.waiting.iter_mut().find(|waiting| waiting.age == age).expect("it waits");
            (waiting.line, waiting.lined_up) = (0, event);
            let task = waiting.task;
            self.fios_tidy();
            self.offer(task, 0);
        }
        loop {
            let awaited = |after_read: bool| {
                let until = self.fios.tasks.iter().filter_map(|known| known.awaited);
                until.filter(|(read, until)| *read == after_read && *until > now).map(|(_, until)| until).min()
            };
            let is_served =
                |known: &Task| known.left_ns > 0 && self.at_device.iter().any(|request| request.task == known.task);
            let reads_held = self.at_device.iter().any(Waiting::is_read);
            let (task, line) = match (self.fios.turns[0].first(), self.fios.turns[1].first()) {
                (Some(reader), _) => (*reader, 0),
                (None, Some(_)) if rule.block_writes && reads_held => return Err(None),
                (None, Some(_)) if rule.block_writes && awaited(true).is_some() => return Err(awaited(true)),
                (None, Some(writer)) => (*writer, 1),
                (None, None) if self.fios.tasks.iter().any(is_served) => return Err(None),
                (None, None) => match awaited(true).into_iter().chain(awaited(false)).min() {
                    Some(until) => return Err(Some(until)),
                    None => {
                        self.begin_epochs(rule);
                        continue;
                    }
                },
            };
            return Ok(self.fios_line(task, line)[0].age);
        }
    }

    /// Follows the dispatch of the last request of `at_device`.
    pub fn fios_started(&mut self, now: Ns, rule: &Fios) {
        let started = self.at_device.pop().expect("it has just gone");
        self.share_time(now);
        let (task, line, sectors, is_read) = (started.task, started.line, started.sectors, started.is_read());
        self.at_device.push(started);
        self.fios.turns[line].retain(|other| *other != task);
        self.offer(task, line);
        if let Some(costs_ns) = rule.linear_ns {
            let (each_ns, each_4k_ns) = costs_ns[usize::from(!is_read)];
            self.charge(task, each_ns + each_4k_ns * (sectors * 512).div_ceil(4_096));
        }
    }

    /// Follows the completion of the request at an index of `at_device`, before it is removed.
    pub fn fios_completed(&mut self, now: Ns, at: usize, rule: &Fios) {
        self.share_time(now);
        let request = self.at_device[at].clone();
        let task = request.task;
        let mut mean_ns = 0;
        if request.sync {
            let known = self.of(task);
            known.samples = (7 * known.samples + 256) / 8;
            known.total = (7 * known.total + 256 * (now - request.issued_ns)) / 8;
            mean_ns = (known.total + known.samples / 2) / known.samples;
        }
        if rule.linear_ns.is_none() {
            self.charge(task, request.share / 256);
        }
        let others =
            self.waiting.iter().chain(self.at_device.iter().take(at)).chain(self.at_device.iter().skip(at + 1));
        let has_others = others.filter(|other| other.task == task).any(|other| other.sync);
        let patience_ns = (mean_ns as f64 * (rule.alpha / (1.0 - rule.alpha))) as Ns;
        if request.sync && !has_others && patience_ns > 0 && self.of(task).left_ns > 0 {
            self.of(task).awaited = Some((request.op == Op::Read, now + patience_ns));
        }
    }
}
