//! A naive block layer with naive schedulers, written from the rules and not from the code: one vector of waiting
//! requests, searched from end to end for every decision.

use flashloom_host::Admission;
use flashloom_units::Ns;
use flashloom_workload::{Op, Priority, Request};

mod fios;
mod kyber;
mod mq_deadline;

pub use fios::Fios;
pub use kyber::Kyber;
pub use mq_deadline::MqDeadline;

/// A waiting request.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub lba: u64,
    pub sectors: u64,
    pub op: Op,
    pub durable: bool,
    /// Class and level of its priority, as in the flags of a request.
    pub priority: u8,
    /// True if the first original request in it is a read or a synchronous write.
    pub sync: bool,
    pub task: u32,
    /// fios: its line, and the event since which it is in it; its share of the drive's time; its time of dispatch.
    pub line: usize,
    pub lined_up: u64,
    pub share: u64,
    pub issued_ns: Ns,
    pub deadline_ns: Ns,
    /// Order of queueing, which decides among requests with the same deadline.
    pub age: u64,
    /// True if it arrived before the sweep under way of its region and direction began.
    pub in_sweep: bool,
    /// Event at which it got its first sector, which decides among requests with the same.
    pub begun: u64,
    /// Event at which it got its end sector, which decides among requests with the same.
    pub ended: u64,
    /// mq-deadline: a name of its own, and whether it merges no more because something did not fit.
    pub serial: u64,
    pub closed: bool,
    /// The original requests in it, in address order.
    pub cookies: Vec<u32>,
}

impl Waiting {
    fn end(&self) -> u64 {
        self.lba + self.sectors
    }

    pub fn is_read(&self) -> bool {
        self.op == Op::Read
    }
}

/// Rules of the naive schedulers.
#[derive(Clone, Debug)]
pub enum Rule {
    Noop,
    Deadline { expire_ns: [Ns; 2], fifo_batch: usize, writes_starved: usize, front_merges: bool },
    Fios(Fios),
    MqDeadline(MqDeadline),
    ParDispatcher { region: u64, batch: [usize; 2], expire_ns: [Ns; 2], resume: bool, front_merges: bool },
}

/// The naive block layer.
#[derive(Clone, Debug)]
pub struct Model {
    pub rule: Rule,
    pub waiting: Vec<Waiting>,
    /// Requests at the device.
    pub at_device: Vec<Waiting>,
    nr_requests: usize,
    max_sectors: u64,
    events: u64,
    // deadline: how many the batch has sent, the one that follows (by its age), how often writes were passed over.
    batched: usize,
    follows: Option<u64>,
    starved: usize,
    // pardispatcher: the turn (region, is_read, sent, from), the last region of the round, and what regions remember.
    turn: Option<(u64, bool, usize, u64)>,
    last_in_round: Option<u64>,
    expired_turn: bool,
    last_was_read: Vec<(u64, bool)>,
    stopped_at: Vec<((u64, bool), u64)>,
    fios: fios::Memory,
    mq: mq_deadline::Memory,
}

/// The value last noted for a key.
fn noted<K: PartialEq, V: Copy>(notes: &[(K, V)], key: &K) -> Option<V> {
    notes.iter().rev().find(|(noted, _)| noted == key).map(|(_, value)| *value)
}

impl Model {
    pub fn new(rule: Rule, nr_requests: usize, max_sectors: u64) -> Self {
        Self {
            rule,
            waiting: Vec::new(),
            at_device: Vec::new(),
            nr_requests,
            max_sectors,
            events: 0,
            batched: 0,
            follows: None,
            starved: 0,
            turn: None,
            last_in_round: None,
            expired_turn: false,
            last_was_read: Vec::new(),
            stopped_at: Vec::new(),
            fios: fios::Memory::default(),
            mq: mq_deadline::Memory::default(),
        }
    }

    fn event(&mut self) -> u64 {
        self.events += 1;
        self.events
    }

    fn region(&self, lba: u64) -> u64 {
        if let Rule::ParDispatcher { region, .. } = self.rule { lba / region } else { 0 }
    }

    fn deadline_ns(&self, now: Ns, op: Op) -> Ns {
        match &self.rule {
            Rule::Noop => Ns::MAX,
            Rule::Fios(Fios { write_expire_ns, .. }) if op != Op::Read => now + write_expire_ns,
            Rule::Fios(_) => Ns::MAX,
            Rule::MqDeadline(rule) => rule.deadline_ns(now, op == Op::Read),
            Rule::Deadline { expire_ns, .. } | Rule::ParDispatcher { expire_ns, .. } => {
                now + expire_ns[usize::from(op != Op::Read)]
            }
        }
    }

    fn may_become_one(&self, a: &Waiting, op: Op, priority: u8, durable: bool, sectors: u64) -> bool {
        a.op == op && a.priority == priority && !a.durable && !durable && a.sectors + sectors <= self.max_sectors
    }

    /// Requests that a scheduler sorts together with a given one, in its order.
    fn neighbours(&self, of: &Waiting) -> Vec<&Waiting> {
        if let Rule::Fios(_) = self.rule {
            return self.fios_line(of.task, of.line);
        }
        let together = |other: &&Waiting| match self.rule {
            Rule::Noop => true,
            Rule::MqDeadline(_) => {
                let class = mq_deadline::class;
                other.is_read() == of.is_read() && class(other.priority) == class(of.priority)
            }
            _ => {
                let of_region = other.is_read() == of.is_read() && self.region(other.lba) == self.region(of.lba);
                of_region && other.in_sweep == of.in_sweep
            }
        };
        let mut all: Vec<&Waiting> = self.waiting.iter().filter(together).collect();
        match self.rule {
            Rule::Noop => all.sort_by_key(|waiting| waiting.age),
            _ => all.sort_by_key(|waiting| (waiting.lba, waiting.begun)),
        }
        all
    }

    /// Submits a request.
    pub fn submit(&mut self, now: Ns, request: &Request, cookie: u32) -> Admission {
        let durable = request.flags & (Request::FUA | Request::PREFLUSH) != 0;
        let (priority, sectors) = (request.flags & Priority::MASK, u64::from(request.sectors));
        if let Rule::MqDeadline(rule) = self.rule.clone() {
            if self.mq_merge(request, cookie, &rule) {
                return Admission::Merged;
            }
            return self.queue(now, request, cookie);
        }
        let fits = |model: &Self, waiting: &Waiting| {
            model.may_become_one(waiting, request.op, priority, durable, sectors)
                && model.region(waiting.lba) == model.region(request.lba)
                && (waiting.task == request.task || !matches!(model.rule, Rule::Fios(_)))
        };
        let back = (0..self.waiting.len())
            .filter(|&at| self.waiting[at].end() == request.lba && fits(self, &self.waiting[at]))
            .max_by_key(|&at| self.waiting[at].ended);
        if let Some(at) = back {
            let event = self.event();
            let waiting = &mut self.waiting[at];
            waiting.sectors += sectors;
            waiting.ended = event;
            waiting.cookies.push(cookie);
            let age = waiting.age;
            self.join(age, true);
            return Admission::Merged;
        }
        let front_merges = match self.rule {
            Rule::Noop | Rule::Fios(_) | Rule::MqDeadline(_) => false,
            Rule::Deadline { front_merges, .. } | Rule::ParDispatcher { front_merges, .. } => front_merges,
        };
        let begins = |waiting: &Waiting| {
            let alike = waiting.is_read() == (request.op == Op::Read);
            alike && waiting.lba == request.end() && self.region(waiting.lba) == self.region(request.lba)
        };
        // What the sweep under way has at that sector hides what the next one has.
        let in_sweep = self.waiting.iter().any(|waiting| waiting.in_sweep && begins(waiting));
        let front = (0..self.waiting.len())
            .filter(|&at| front_merges && self.waiting[at].lba == request.end() && fits(self, &self.waiting[at]))
            .filter(|&at| self.waiting[at].in_sweep == in_sweep)
            .min_by_key(|&at| self.waiting[at].begun);
        if let Some(at) = front {
            let event = self.event();
            let waiting = &mut self.waiting[at];
            waiting.lba = request.lba;
            waiting.sectors += sectors;
            waiting.begun = event;
            waiting.cookies.insert(0, cookie);
            let age = waiting.age;
            self.join(age, false);
            return Admission::Merged;
        }
        self.queue(now, request, cookie)
    }

    /// Queues a request that was not merged, if there is room.
    fn queue(&mut self, now: Ns, request: &Request, cookie: u32) -> Admission {
        let durable = request.flags & (Request::FUA | Request::PREFLUSH) != 0;
        let (priority, sectors) = (request.flags & Priority::MASK, u64::from(request.sectors));
        let sync = request.op == Op::Read || request.flags & Request::SYNC != 0;
        let mut held = self.waiting.iter().chain(&self.at_device);
        let is_full = match self.rule {
            Rule::MqDeadline(MqDeadline { write_tags, .. }) if request.op != Op::Read => held.count() >= write_tags,
            Rule::MqDeadline(_) => held.count() >= self.nr_requests,
            _ => held.by_ref().filter(|other| other.sync == sync).count() >= self.nr_requests,
        };
        if is_full {
            return Admission::Full;
        }
        let event = self.event();
        self.waiting.push(Waiting {
            lba: request.lba,
            sectors,
            op: request.op,
            durable,
            priority,
            sync,
            task: request.task,
            line: usize::from(request.op != Op::Read),
            lined_up: event,
            share: 0,
            issued_ns: 0,
            deadline_ns: self.deadline_ns(now, request.op),
            age: event,
            in_sweep: false,
            begun: event,
            ended: event,
            serial: event,
            closed: false,
            cookies: vec![cookie],
        });
        if let Rule::Fios(rule) = self.rule.clone() {
            self.fios_insert(&rule);
        }
        if let Rule::MqDeadline(_) = self.rule {
            self.mq_inserted();
        }
        Admission::Queued
    }

    /// Joins the request of the given age with its next or previous neighbour, if they are now adjacent.
    fn join(&mut self, age: u64, with_latter: bool) {
        let grown = self.waiting.iter().find(|waiting| waiting.age == age).expect("it waits").clone();
        let neighbours = self.neighbours(&grown);
        let at = neighbours.iter().position(|waiting| waiting.age == age).expect("it is its own neighbour");
        let pair = if with_latter { (at, at + 1) } else { (at.wrapping_sub(1), at) };
        let (Some(first), Some(second)) = (neighbours.get(pair.0), neighbours.get(pair.1)) else { return };
        let touching = first.end() == second.lba;
        if !touching || !self.may_become_one(first, second.op, second.priority, second.durable, second.sectors) {
            return;
        }
        let (first, second) = ((*first).clone(), (*second).clone());
        let event = self.event();
        if self.follows == Some(second.age) {
            let neighbours = self.neighbours(&second);
            let at = neighbours.iter().position(|waiting| waiting.age == second.age).expect("it waits");
            self.follows = neighbours.get(at + 1).map(|waiting| waiting.age);
        }
        let takes_place = second.deadline_ns < first.deadline_ns;
        self.waiting.retain(|waiting| waiting.age != second.age);
        self.fios_tidy();
        let follows_first = self.follows == Some(first.age);
        let kept = self.waiting.iter_mut().find(|waiting| waiting.age == first.age).expect("it waits");
        kept.sectors += second.sectors;
        kept.ended = event;
        kept.cookies.extend(second.cookies);
        if takes_place {
            kept.deadline_ns = second.deadline_ns;
            kept.age = second.age;
            if follows_first {
                self.follows = Some(second.age);
            }
        }
    }

    fn eldest(&self, is_read: bool) -> Option<&Waiting> {
        self.waiting.iter().filter(|waiting| waiting.is_read() == is_read).min_by_key(|waiting| waiting.age)
    }

    /// Dispatches the next request and returns it; if there is none, returns the time until which to wait, if any.
    pub fn dispatch(&mut self, now: Ns) -> Result<Waiting, Option<Ns>> {
        let age = match self.rule.clone() {
            Rule::Noop => self.waiting.iter().map(|waiting| waiting.age).min().ok_or(None),
            Rule::Deadline { fifo_batch, writes_starved, .. } => {
                self.deadline(now, fifo_batch, writes_starved).ok_or(None)
            }
            Rule::Fios(rule) => self.fios_dispatch(now, &rule),
            Rule::MqDeadline(rule) => self.mq_dispatch(now, &rule),
            Rule::ParDispatcher { batch, resume, .. } => self.pardispatcher(now, batch, resume).ok_or(None),
        }?;
        let at = self.waiting.iter().position(|waiting| waiting.age == age).expect("it waits");
        let mut chosen = self.waiting.remove(at);
        chosen.issued_ns = now;
        self.at_device.push(chosen.clone());
        if let Rule::Fios(rule) = self.rule.clone() {
            self.fios_started(now, &rule);
        }
        Ok(chosen)
    }

    /// Completes the request with the given members.
    pub fn complete(&mut self, now: Ns, cookies: &[u32]) {
        let at = self.at_device.iter().position(|request| request.cookies == cookies).expect("the device holds it");
        if let Rule::Fios(rule) = self.rule.clone() {
            self.fios_completed(now, at, &rule);
        }
        self.at_device.remove(at);
    }

    fn deadline(&mut self, now: Ns, fifo_batch: usize, writes_starved: usize) -> Option<u64> {
        let follows = self.follows.and_then(|age| self.waiting.iter().find(|waiting| waiting.age == age)).cloned();
        let chosen = match follows.clone() {
            Some(next) if self.batched < fifo_batch => next,
            _ => {
                let (read, write) = (self.eldest(true).cloned(), self.eldest(false).cloned());
                let read_turn = read.is_some() && (write.is_none() || self.starved < writes_starved);
                if read_turn && write.is_some() {
                    self.starved += 1;
                }
                if !read_turn {
                    self.starved = 0;
                }
                let eldest = if read_turn { read } else { write }?;
                self.batched = 0;
                match follows {
                    Some(next) if next.is_read() == eldest.is_read() && now <= eldest.deadline_ns => next,
                    _ => eldest,
                }
            }
        };
        self.batched += 1;
        let neighbours = self.neighbours(&chosen);
        let at = neighbours.iter().position(|waiting| waiting.age == chosen.age).expect("it waits");
        self.follows = neighbours.get(at + 1).map(|waiting| waiting.age);
        Some(chosen.age)
    }

    fn pardispatcher(&mut self, now: Ns, batch: [usize; 2], resume: bool) -> Option<u64> {
        let of_turn = |model: &Self, region: u64, is_read: bool| {
            let mut all: Vec<Waiting> = model.waiting.clone();
            all.retain(|waiting| model.region(waiting.lba) == region && waiting.is_read() == is_read);
            all.sort_by_key(|waiting| (waiting.lba, waiting.begun));
            all
        };
        if self.turn.is_none() {
            let late = [true, false]
                .into_iter()
                .filter_map(|is_read| self.eldest(is_read))
                .reduce(|read, write| if write.deadline_ns < read.deadline_ns { write } else { read });
            let late = late.filter(|late| late.deadline_ns < now && !self.expired_turn).cloned();
            let expired_turn = late.is_some();
            let (region, is_read, from) = if let Some(late) = late {
                (self.region(late.lba), late.is_read(), late.lba)
            } else {
                let mut regions: Vec<u64> = self.waiting.iter().map(|waiting| self.region(waiting.lba)).collect();
                regions.sort_unstable();
                let after = |region: &&u64| self.last_in_round.is_none_or(|last| **region > last);
                let region = *regions.iter().find(after).or(regions.first())?;
                self.last_in_round = Some(region);
                let turn_about = !noted(&self.last_was_read, &region).unwrap_or(false);
                let is_read = if of_turn(self, region, turn_about).is_empty() { !turn_about } else { turn_about };
                let stopped = noted(&self.stopped_at, &(region, is_read)).unwrap_or(0);
                (region, is_read, if resume { stopped } else { 0 })
            };
            self.expired_turn = expired_turn;
            self.last_was_read.push((region, is_read));
            self.turn = Some((region, is_read, 0, from));
        }
        let (region, is_read, sent, from) = self.turn?;
        if !of_turn(self, region, is_read).iter().any(|waiting| waiting.in_sweep) {
            for at in 0..self.waiting.len() {
                if self.region(self.waiting[at].lba) == region && self.waiting[at].is_read() == is_read {
                    self.waiting[at].in_sweep = true;
                }
            }
        }
        let candidates = of_turn(self, region, is_read);
        let sweep = candidates.iter().filter(|waiting| waiting.in_sweep);
        let chosen = sweep.clone().find(|waiting| waiting.lba >= from).or(sweep.clone().next())?.clone();
        self.stopped_at.push(((region, is_read), chosen.lba));
        let over = sent + 1 == batch[usize::from(!is_read)] || candidates.len() == 1;
        self.turn = if over { None } else { Some((region, is_read, sent + 1, chosen.lba)) };
        Some(chosen.age)
    }
}
