//! kyber over software and hardware queues as docs/linux-schedulers.md tells it, in lists that are searched whole.

use std::collections::VecDeque;

use flashloom_host::{Admission, HostParams, Linux};
use flashloom_units::{MS, Ns, S};
use flashloom_workload::{Op, Priority, Request};

/// Where a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Software,
    DispatchList,
    /// At its hardware queue, because the device had no tag for it.
    Kept,
    Device,
}

/// A request of the block layer.
#[derive(Clone, Debug)]
pub struct Item {
    pub op: Op,
    pub lba: u64,
    pub sectors: u64,
    pub cookies: Vec<u32>,
    flags: u8,
    task: u32,
    place: Place,
    /// Order in its place.
    order: i64,
    queued_ns: Ns,
    sent_ns: Ns,
    /// True if it merges no more.
    is_closed: bool,
    token: usize,
}

impl Item {
    fn is_durable(&self) -> bool {
        self.flags & (Request::FUA | Request::PREFLUSH) != 0
    }
}

const DOMAINS: [(usize, u32, Ns); 3] = [(256, 16, 2 * MS), (128, 8, 10 * MS), (64, 1, 5 * S)];

fn domain(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Discard => 2,
        Op::Flush => panic!("a flush has no domain"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Free,
    InUse,
    /// Given back, and still passed over.
    Returned,
}

#[derive(Clone, Debug)]
struct Domain {
    tokens: Vec<Token>,
    /// Number of tokens; those behind it are no more.
    depth: usize,
    hint: usize,
    /// Samples since the last percentile: of total latency, and of I/O latency.
    latencies: [Vec<usize>; 2],
    deadline: Option<u64>,
    remembered: Option<usize>,
}

impl Domain {
    fn new(most: usize) -> Self {
        let (latencies, deadline, remembered) = Default::default();
        Self { tokens: vec![Token::Free; most], depth: most, hint: 0, latencies, deadline, remembered }
    }

    /// Bits of a word: a quarter of all tokens of a domain, with the numbers of tokens that kyber has.
    fn word(&self) -> usize {
        self.tokens.len() / 4
    }

    fn take(&mut self) -> Option<usize> {
        if self.hint >= self.depth {
            self.hint = 0;
        }
        let (words, first) = (self.depth.div_ceil(self.word()), self.hint / self.word());
        for word in (0..words).map(|n| (first + n) % words) {
            let bits = word * self.word()..self.depth.min((word + 1) * self.word());
            if bits.clone().all(|bit| self.tokens[bit] != Token::Free) {
                // The whole word is looked over, also what is no token any more.
                for bit in word * self.word()..(word + 1) * self.word() {
                    if self.tokens[bit] == Token::Returned {
                        self.tokens[bit] = Token::Free;
                    }
                }
            }
            if let Some(bit) = bits.into_iter().find(|&bit| self.tokens[bit] == Token::Free) {
                self.tokens[bit] = Token::InUse;
                if bit == self.hint {
                    self.hint = if bit + 2 >= self.depth { 0 } else { bit + 1 };
                }
                return Some(bit);
            }
        }
        self.hint = 0;
        None
    }

    fn give_back(&mut self, token: usize) {
        self.tokens[token] = Token::Returned;
        if token < self.depth {
            self.hint = token;
        }
    }

    fn resize(&mut self, depth: usize) {
        let words = self.depth.div_ceil(self.word()) * self.word();
        self.tokens[..words].iter_mut().filter(|token| **token == Token::Returned).for_each(|token| {
            *token = Token::Free;
        });
        self.depth = depth;
    }

    fn percentile(&mut self, kind: usize, percent: usize, tick: u64, hz: u64) -> Option<usize> {
        let mut samples = self.latencies[kind].clone();
        if samples.is_empty() {
            return None;
        }
        let deadline = *self.deadline.get_or_insert(tick + hz);
        if samples.len() < 500 && tick < deadline {
            return None;
        }
        self.deadline = None;
        self.latencies[kind].clear();
        samples.sort_unstable();
        Some(samples[(samples.len() * percent).div_ceil(100) - 1])
    }
}

fn bucket(latency_ns: Ns, target_ns: Ns) -> usize {
    if latency_ns == 0 { 0 } else { ((latency_ns - 1) / (target_ns / 4).max(1)).min(7) as usize }
}

/// A hardware queue.
#[derive(Clone, Debug, Default)]
struct Queue {
    domain: usize,
    batch: u32,
    is_due: bool,
    /// Whether a request waits for its tags, so that a completion runs it.
    is_awaited: bool,
    wakes_ns: Option<Ns>,
}

/// A block layer with kyber.
pub struct Kyber {
    host: HostParams,
    async_tags: usize,
    max_sectors: u64,
    targets_ns: [Ns; 3],
    items: Vec<Item>,
    flushes: VecDeque<Item>,
    domains: [Domain; 3],
    queues: Vec<Queue>,
    turn: usize,
    has_sent: bool,
    timer: Option<u64>,
    orders: [i64; 2],
}

impl Kyber {
    /// An empty one, of which `async_tags` of a hardware queue are open to requests that no task waits for.
    pub fn new(host: &HostParams, async_tags: usize, targets_ns: [Ns; 2]) -> Self {
        Self {
            max_sectors: host.max_request_bytes() / 512,
            async_tags,
            targets_ns: [targets_ns[0], targets_ns[1], DOMAINS[2].2],
            items: Vec::new(),
            flushes: VecDeque::new(),
            domains: DOMAINS.map(|(tokens, ..)| Domain::new(tokens)),
            queues: vec![Queue::default(); host.hardware_queues as usize],
            turn: 0,
            has_sent: false,
            timer: None,
            orders: [0, 0],
            host: host.clone(),
        }
    }

    fn processor(&self, task: u32) -> u32 {
        task % self.host.processors
    }

    /// The hardware queue of a task, by dealing the queues or the processors out one by one.
    fn queue(&self, task: u32) -> usize {
        let HostParams { processors, hardware_queues, linux, .. } = self.host;
        let mut of_processor = Vec::new();
        match linux {
            Linux::V6_1 => of_processor.extend((0..hardware_queues).cycle().take(processors as usize)),
            _ => {
                for queue in 0..hardware_queues {
                    let more = u32::from(queue < processors % hardware_queues);
                    (0..processors / hardware_queues + more).for_each(|_| of_processor.push(queue));
                }
            }
        }
        of_processor[self.processor(task) as usize] as usize
    }

    fn tick(&self, now: Ns) -> u64 {
        now * u64::from(self.host.hz) / S
    }

    fn next_order(&mut self) -> i64 {
        self.orders[1] += 1;
        self.orders[1]
    }

    fn at_device(&self, queue: usize) -> usize {
        let here = |item: &&Item| item.place == Place::Device && self.queue(item.task) == queue;
        self.items.iter().filter(here).count()
    }

    fn has_room(&self, task: u32) -> bool {
        self.at_device(self.queue(task)) < self.host.queue_depth as usize
    }

    /// Numbers of the requests in a place that are of a domain, in their order.
    fn listed(&self, place: Place, domain_of: usize, is_here: impl Fn(&Item) -> bool) -> Vec<usize> {
        let is_listed = |item: &Item| item.place == place && item.op != Op::Flush && domain(item.op) == domain_of;
        let mut listed: Vec<usize> =
            (0..self.items.len()).filter(|&at| is_listed(&self.items[at]) && is_here(&self.items[at])).collect();
        listed.sort_by_key(|&at| self.items[at].order);
        listed
    }

    /// Number of requests that wait.
    pub fn waiting(&self) -> u64 {
        (self.items.iter().filter(|item| item.place != Place::Device).count() + self.flushes.len()) as u64
    }

    /// Number of requests that wait at their hardware queues.
    pub fn kept(&self) -> u64 {
        self.items.iter().filter(|item| item.place == Place::Kept).count() as u64
    }

    /// Submits a request.
    pub fn submit(&mut self, now: Ns, request: &Request, cookie: u32) -> Admission {
        let Request { op, lba, task, flags, .. } = *request;
        let sectors = u64::from(request.sectors);
        let order = self.next_order();
        let item = Item {
            op,
            lba,
            sectors,
            cookies: vec![cookie],
            flags,
            task,
            place: Place::Software,
            order,
            queued_ns: now,
            sent_ns: 0,
            is_closed: false,
            token: 0,
        };
        if op == Op::Flush {
            self.flushes.push_back(item);
            return Admission::Queued;
        }
        if !item.is_durable() {
            let processor = self.processor(task);
            let queue = self.listed(Place::Software, domain(op), |other| self.processor(other.task) == processor);
            let touched = queue.into_iter().rev().take(8).find_map(|at| {
                let other = &self.items[at];
                let alike = other.flags & Priority::MASK == flags & Priority::MASK;
                let is_front = lba + sectors == other.lba;
                let touches = other.lba + other.sectors == lba || is_front;
                let is_back = other.lba + other.sectors == lba;
                (!other.is_durable() && !other.is_closed && alike && touches).then_some((at, is_front && !is_back))
            });
            if let Some((at, is_front)) = touched {
                let other = &mut self.items[at];
                if other.sectors + sectors <= self.max_sectors {
                    other.sectors += sectors;
                    if is_front {
                        other.lba = lba;
                        other.cookies.insert(0, cookie);
                    } else {
                        other.cookies.push(cookie);
                    }
                    return Admission::Merged;
                }
                other.is_closed = true;
            }
        }
        let queue = self.queue(task);
        let of_queue = |other: &&Item| other.op != Op::Flush && self.queue(other.task) == queue;
        let held = self.items.iter().filter(of_queue).count();
        let is_awaited = op == Op::Read || flags & (Request::SYNC | Request::FUA | Request::PREFLUSH) != 0;
        if held >= if is_awaited { self.host.tag_set().tags as usize } else { self.async_tags } {
            return Admission::Full;
        }
        self.items.push(item);
        self.queues[queue].is_due = true;
        Admission::Queued
    }

    fn catch_up(&mut self, now: Ns) {
        let Some(tick) = self.timer.filter(|&tick| tick <= self.tick(now)) else { return };
        self.timer = None;
        let hz = u64::from(self.host.hz);
        let mut is_congested = false;
        for domain in &mut self.domains {
            is_congested |= domain.percentile(1, 90, tick, hz).is_some_and(|bucket| bucket >= 4);
        }
        for (domain, (most, ..)) in self.domains.iter_mut().zip(DOMAINS) {
            let mut p99 = domain.percentile(0, 99, tick, hz);
            match (is_congested, p99) {
                (true, None) => p99 = domain.remembered.take(),
                (true, Some(_)) => domain.remembered = None,
                (false, Some(bucket)) => domain.remembered = Some(bucket),
                (false, None) => {}
            }
            if let Some(bucket) = p99.filter(|&bucket| is_congested || bucket >= 4) {
                let depth = (domain.depth * (bucket + 1) / 4).clamp(1, most);
                if depth != domain.depth {
                    domain.resize(depth);
                }
            }
        }
    }

    /// The next request of a hardware queue's domain, if it has one and a token.
    fn give(&mut self, queue: usize) -> Option<usize> {
        let domain = self.queues[queue].domain;
        let of_queue = |item: &Item| self.queue(item.task) == queue;
        let mut list = self.listed(Place::DispatchList, domain, of_queue);
        let mut software = self.listed(Place::Software, domain, of_queue);
        if list.is_empty() && software.is_empty() {
            return None;
        }
        let token = self.domains[domain].take()?;
        if list.is_empty() {
            software.sort_by_key(|&at| (self.processor(self.items[at].task), self.items[at].order));
            for &at in &software {
                self.items[at].order = self.next_order();
                self.items[at].place = Place::DispatchList;
            }
            list = software;
        }
        self.items[list[0]].token = token;
        self.queues[queue].batch += 1;
        Some(list[0])
    }

    /// The answer of the scheduler to a hardware queue.
    fn ask(&mut self, now: Ns, queue: usize) -> Result<usize, Option<Ns>> {
        self.catch_up(now);
        let waits = |item: &Item| matches!(item.place, Place::Software | Place::DispatchList);
        if !self.items.iter().any(|item| waits(item) && self.queue(item.task) == queue) {
            return Err(None);
        }
        if self.queues[queue].batch < DOMAINS[self.queues[queue].domain].1
            && let Some(at) = self.give(queue)
        {
            return Ok(at);
        }
        self.queues[queue].batch = 0;
        for _ in DOMAINS {
            self.queues[queue].domain = (self.queues[queue].domain + 1) % 3;
            if let Some(at) = self.give(queue) {
                return Ok(at);
            }
        }
        let hz = u64::from(self.host.hz);
        let retry = self.tick(now) + (3 * hz).div_ceil(1_000);
        Err(Some((retry * S).div_ceil(hz)))
    }

    fn send(&mut self, now: Ns, at: usize) -> Item {
        (self.items[at].place, self.items[at].sent_ns) = (Place::Device, now);
        self.items[at].clone()
    }

    /// Dispatches the next request and returns it; if there is none, returns the time until which to wait, if any.
    pub fn dispatch(&mut self, now: Ns) -> Result<Item, Option<Ns>> {
        if let Some(at) = self.flushes.iter().position(|flush| self.has_room(flush.task)) {
            let flush = self.flushes.remove(at).expect("it is there");
            self.items.push(flush);
            return Ok(self.send(now, self.items.len() - 1));
        }
        if self.queues.len() == 1 {
            if !self.has_room(0) {
                return Err(None);
            }
            return self.ask(now, 0).map(|at| self.send(now, at));
        }
        for _ in 0..self.queues.len() {
            while let Some(at) = self.run(now) {
                match at {
                    Some(at) => return Ok(self.send(now, at)),
                    None => continue,
                }
            }
            self.turn = (self.turn + 1) % self.queues.len();
            self.has_sent = false;
        }
        Err(self.queues.iter().filter_map(|queue| queue.wakes_ns).min())
    }

    /// A step of the run of the queue whose turn it is: a request to send, or one that was kept; none at its end.
    fn run(&mut self, now: Ns) -> Option<Option<usize>> {
        let turn = self.turn;
        let here = |item: &Item| item.place == Place::Kept && self.queue(item.task) == turn;
        let kept = (0..self.items.len()).filter(|&at| here(&self.items[at])).min_by_key(|&at| self.items[at].order);
        if let Some(at) = kept {
            let is_open = self.has_room(self.items[at].task);
            self.queues[turn].is_due &= is_open;
            self.queues[turn].is_awaited = true;
            return is_open.then_some(Some(at));
        }
        if !self.queues[turn].is_due && self.queues[turn].wakes_ns.is_none_or(|at| at > now) {
            return None;
        }
        match self.ask(now, turn) {
            Ok(at) if self.has_room(self.items[at].task) => Some(Some(at)),
            Ok(at) => {
                // It is of this queue, which therefore stops.
                self.items[at].place = Place::Kept;
                self.items[at].order = self.next_order();
                (self.queues[turn].is_due, self.queues[turn].is_awaited) = (false, true);
                None
            }
            Err(wakes_ns) => {
                (self.queues[turn].is_due, self.queues[turn].wakes_ns) = (false, wakes_ns);
                None
            }
        }
    }

    /// Takes the request with these members from the device.
    fn leave(&mut self, cookies: &[u32]) -> usize {
        let at = self.items.iter().position(|item| item.place == Place::Device && item.cookies == cookies);
        let at = at.expect("the device holds it");
        let queue = self.queue(self.items[at].task);
        let queue = &mut self.queues[queue];
        queue.is_due |= std::mem::take(&mut queue.is_awaited);
        self.queues.iter_mut().for_each(|queue| queue.is_due |= queue.wakes_ns.is_some());
        at
    }

    /// Completes the request with the given members.
    pub fn complete(&mut self, now: Ns, cookies: &[u32]) {
        let at = self.leave(cookies);
        let item = self.items.remove(at);
        if item.op == Op::Flush {
            return;
        }
        self.catch_up(now);
        let of = domain(item.op);
        self.domains[of].give_back(item.token);
        for (kind, since_ns) in [item.queued_ns, item.sent_ns].into_iter().enumerate() {
            self.domains[of].latencies[kind].push(bucket(now - since_ns, self.targets_ns[of]));
        }
        let tick = self.tick(now) + u64::from(self.host.hz) / 10;
        self.timer = Some(self.timer.map_or(tick, |timer| timer.min(tick)));
    }

    /// Takes back the request with the given members, which the device did not take.
    pub fn requeue(&mut self, now: Ns, cookies: &[u32]) {
        let at = self.leave(cookies);
        let queue = self.queue(self.items[at].task);
        self.queues[queue].is_due = true;
        self.catch_up(now);
        let (of, token) = (domain(self.items[at].op), self.items[at].token);
        self.domains[of].give_back(token);
        self.orders[0] -= 1;
        (self.items[at].place, self.items[at].order) = (Place::Software, self.orders[0]);
    }
}
