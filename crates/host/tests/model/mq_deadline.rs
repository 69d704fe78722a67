//! mq-deadline by searching all waiting requests, from docs/linux-schedulers.md: ticks of 4 ms, no trees, no lists.

use flashloom_units::{MS, Ns};
use flashloom_workload::{Op, Priority, PriorityClass, Request};

use super::{Model, Waiting};

const TICK_NS: Ns = 4 * MS;

/// Rules of mq-deadline.
#[derive(Clone, Debug)]
pub struct MqDeadline {
    /// True for Linux 6.1, false for 6.12.
    pub is_6_1: bool,
    pub expire_ns: [Ns; 2],
    pub fifo_batch: usize,
    pub writes_starved: usize,
    pub front_merges: bool,
    pub aging_ns: Ns,
    pub write_tags: usize,
}

/// What it remembers between dispatches.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    reads_are_batched: bool,
    batched: usize,
    starved: usize,
    /// The request that merged last, or the first since there was none.
    last: Option<u64>,
    /// By class and direction: the request that was next to the last one, and where the last one began.
    next: [[Option<u64>; 2]; 3],
    latest: [[u64; 2]; 3],
}

pub fn class(priority: u8) -> usize {
    match Priority::of_flags(priority).class() {
        PriorityClass::RealTime => 0,
        PriorityClass::Idle => 2,
        PriorityClass::BestEffort | PriorityClass::None => 1,
    }
}

/// The queue of a request: class, and 0 for reads.
fn queue(waiting: &Waiting) -> (usize, usize) {
    (class(waiting.priority), usize::from(!waiting.is_read()))
}

impl MqDeadline {
    pub fn deadline_ns(&self, now: Ns, is_read: bool) -> Ns {
        now / TICK_NS * TICK_NS + self.rounded(self.expire_ns[usize::from(!is_read)])
    }

    fn rounded(&self, ns: Ns) -> Ns {
        ns.div_ceil(TICK_NS) * TICK_NS
    }
}

impl Model {
    fn mq_at(&self, serial: u64) -> usize {
        self.waiting.iter().position(|waiting| waiting.serial == serial).expect("it waits")
    }

    /// True if two requests may be one, whatever their size; `other` is one that waits or comes.
    fn mq_goes(first: &Waiting, op: Op, priority: u8, durable: bool) -> bool {
        !first.closed && !first.durable && !durable && first.op == op && first.priority == priority
    }

    fn mq_may_join(&self, first: &Waiting, second: &Waiting) -> bool {
        Self::mq_goes(first, second.op, second.priority, second.durable)
            && !second.closed
            && first.op != Op::Discard
            && first.end() == second.lba
            && first.sectors + second.sectors <= self.max_sectors
    }

    /// The request that ends at a sector, may merge, and got that end last.
    fn mq_ending_at(&self, sector: u64, except: u64) -> Option<Waiting> {
        let ends = |waiting: &&Waiting| {
            waiting.end() == sector && !waiting.closed && !waiting.durable && waiting.serial != except
        };
        self.waiting.iter().filter(ends).max_by_key(|waiting| waiting.ended).cloned()
    }

    /// Merges a request that comes, and joins what grew with its neighbour.
    pub(super) fn mq_merge(&mut self, request: &Request, cookie: u32, rule: &MqDeadline) -> bool {
        let (priority, sectors) = (request.flags & Priority::MASK, u64::from(request.sectors));
        if request.flags & (Request::FUA | Request::PREFLUSH) != 0 {
            return false;
        }
        let goes = |waiting: &Waiting| Self::mq_goes(waiting, request.op, priority, false);
        let touches = |waiting: &Waiting| waiting.end() == request.lba || waiting.lba == request.end();
        let last = self.mq.last.map(|serial| self.waiting[self.mq_at(serial)].clone());
        let back = self.mq_ending_at(request.lba, u64::MAX);
        let sorted = self.mq_sorted(class(priority), usize::from(request.op != Op::Read));
        let front = sorted.iter().find(|waiting| waiting.lba == request.end() && rule.front_merges).cloned();
        let chosen = last.filter(|last| goes(last) && touches(last)).or(back.filter(goes)).or(front.filter(goes));
        let Some(chosen) = chosen else { return false };
        let at = self.mq_at(chosen.serial);
        if chosen.sectors + sectors > self.max_sectors {
            self.waiting[at].closed = true;
            self.mq.last = self.mq.last.filter(|&last| last != chosen.serial);
            return false;
        }
        let (class, direction) = queue(&chosen);
        let before = self.mq_sorted(class, direction);
        let place = before.iter().position(|waiting| waiting.serial == chosen.serial).expect("it waits");
        let event = self.event();
        let grown = &mut self.waiting[at];
        grown.sectors += sectors;
        let is_back = chosen.end() == request.lba;
        if is_back {
            grown.ended = event;
            grown.cookies.push(cookie);
        } else {
            grown.lba = request.lba;
            grown.cookies.insert(0, cookie);
        }
        let grown = grown.clone();
        self.mq.last = Some(grown.serial);
        let beside = if is_back { before.get(place + 1) } else { place.checked_sub(1).map(|place| &before[place]) };
        let pair = beside.map(|beside| if is_back { (&grown, beside) } else { (beside, &grown) });
        match pair.filter(|(first, second)| self.mq_may_join(first, second)) {
            Some((first, second)) => self.mq_join(&first.clone(), &second.clone(), &before),
            None if !is_back => self.waiting[at].begun = event,
            None => {}
        }
        true
    }

    /// Joins two neighbours of `sorted`.
    fn mq_join(&mut self, first: &Waiting, second: &Waiting, sorted: &[Waiting]) {
        let (class, direction) = queue(second);
        let event = self.event();
        let takes_place = second.deadline_ns < first.deadline_ns;
        let place = sorted.iter().position(|waiting| waiting.serial == second.serial).expect("it waits");
        let next = &mut self.mq.next[class][direction];
        if *next == Some(second.serial) {
            *next = sorted.get(place + 1).map(|waiting| waiting.serial);
        }
        self.waiting.retain(|waiting| waiting.serial != second.serial);
        let at = self.mq_at(first.serial);
        let kept = &mut self.waiting[at];
        kept.sectors += second.sectors;
        kept.ended = event;
        kept.cookies.extend(&second.cookies);
        if takes_place {
            (kept.deadline_ns, kept.age) = (second.deadline_ns, second.age);
        }
        self.mq.last = Some(first.serial);
    }

    /// What becomes of the request that was queued last: it may continue one that did not fit what it touched first.
    pub(super) fn mq_inserted(&mut self) {
        let new = self.waiting.last().expect("it was queued").clone();
        if new.durable {
            return;
        }
        let last = self.mq.last.map(|serial| self.waiting[self.mq_at(serial)].clone());
        let by_last = last.filter(|last| self.mq_may_join(last, &new));
        let is_by_last = by_last.is_some();
        let by_end = || self.mq_ending_at(new.lba, new.serial).filter(|back| self.mq_may_join(back, &new));
        let Some(mut kept) = by_last.or_else(by_end) else {
            self.mq.last.get_or_insert(new.serial);
            return;
        };
        let event = self.event();
        self.waiting.pop();
        let at = self.mq_at(kept.serial);
        self.waiting[at].sectors += new.sectors;
        self.waiting[at].ended = event;
        self.waiting[at].cookies.extend(&new.cookies);
        self.mq.last = Some(kept.serial);
        if is_by_last {
            return;
        }
        loop {
            kept = self.waiting[self.mq_at(kept.serial)].clone();
            let before = self.mq_ending_at(kept.lba, u64::MAX).filter(|before| self.mq_may_join(before, &kept));
            let Some(before) = before else { return };
            let (class, direction) = queue(&kept);
            let sorted = self.mq_sorted(class, direction);
            self.mq_join(&before, &kept, &sorted);
            kept = before;
        }
    }

    pub(super) fn mq_dispatch(&mut self, now: Ns, rule: &MqDeadline) -> Result<u64, Option<Ns>> {
        if self.waiting.is_empty() {
            return Err(None);
        }
        let held = |class_asked: usize| {
            self.waiting.iter().chain(&self.at_device).any(|request| class(request.priority) == class_asked)
        };
        let held: Vec<usize> = (0..3).filter(|&class| held(class)).collect();
        let tick_ns = now / TICK_NS * TICK_NS;
        let oldest_ns = tick_ns.checked_sub(rule.rounded(rule.aging_ns));
        let mut chosen = None;
        if held.len() > 1 {
            chosen = self.mq_choose(1, now, oldest_ns, rule);
            if chosen.is_none() {
                chosen = self.mq_choose(2, now, oldest_ns, rule);
            }
        }
        chosen.or_else(|| self.mq_choose(held[0], now, Some(now), rule)).ok_or(Some(tick_ns + TICK_NS))
    }

    fn mq_sorted(&self, class: usize, direction: usize) -> Vec<Waiting> {
        let mut sorted: Vec<Waiting> = self.waiting.clone();
        sorted.retain(|waiting| queue(waiting) == (class, direction));
        sorted.sort_by_key(|waiting| (waiting.lba, waiting.begun));
        sorted
    }

    fn mq_following(&self, class: usize, direction: usize, rule: &MqDeadline) -> Option<Waiting> {
        let is_next = |waiting: &Waiting| {
            if rule.is_6_1 {
                self.mq.next[class][direction] == Some(waiting.serial)
            } else {
                waiting.lba >= self.mq.latest[class][direction]
            }
        };
        self.mq_sorted(class, direction).into_iter().find(is_next)
    }

    fn mq_choose(&mut self, class: usize, now: Ns, latest_ns: Option<Ns>, rule: &MqDeadline) -> Option<u64> {
        let current = usize::from(!self.mq.reads_are_batched);
        let goes_on = self.mq_following(class, current, rule).filter(|_| self.mq.batched < rule.fifo_batch);
        let chosen = if let Some(goes_on) = goes_on {
            goes_on
        } else {
            let eldest =
                |direction: usize| self.mq_sorted(class, direction).into_iter().min_by_key(|waiting| waiting.age);
            let (read, write) = (eldest(0), eldest(1));
            let is_read = read.is_some() && (write.is_none() || self.mq.starved < rule.writes_starved);
            match (&read, &write) {
                (Some(_), Some(_)) if is_read => self.mq.starved += 1,
                (_, Some(_)) if !is_read => self.mq.starved = 0,
                _ => {}
            }
            let first = if is_read { read } else { write }?;
            (self.mq.reads_are_batched, self.mq.batched) = (is_read, 0);
            let following = self.mq_following(class, usize::from(!is_read), rule);
            following.filter(|_| now / TICK_NS * TICK_NS < first.deadline_ns).unwrap_or(first)
        };
        let direction = usize::from(!chosen.is_read());
        let queued_ns = chosen.deadline_ns - rule.rounded(rule.expire_ns[direction]);
        if latest_ns.is_none_or(|latest_ns| queued_ns > latest_ns) {
            return None;
        }
        self.mq.batched += 1;
        let sorted = self.mq_sorted(class, direction);
        let at = sorted.iter().position(|waiting| waiting.age == chosen.age).expect("it waits");
        self.mq.next[class][direction] = sorted.get(at + 1).map(|waiting| waiting.serial);
        self.mq.last = self.mq.last.filter(|&last| last != chosen.serial);
        self.mq.latest[class][direction] = chosen.lba;
        Some(chosen.age)
    }
}
