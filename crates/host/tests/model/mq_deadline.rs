//! mq-deadline by searching all waiting requests, from docs/linux-schedulers.md: ticks of 4 ms, no trees, no lists.

use flashloom_units::{MS, Ns};
use flashloom_workload::{Priority, PriorityClass};

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
    /// By class and direction: the age of the request that was next to the last one, and where the last one began.
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
    pub(super) fn mq_joined(&mut self, first: &Waiting, second: &Waiting, after: Option<u64>, takes_place: bool) {
        let (class, direction) = queue(second);
        let next = &mut self.mq.next[class][direction];
        if *next == Some(second.age) {
            *next = after;
        } else if *next == Some(first.age) && takes_place {
            *next = Some(second.age);
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
                self.mq.next[class][direction] == Some(waiting.age)
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
        self.mq.next[class][direction] = sorted.get(at + 1).map(|waiting| waiting.age);
        self.mq.latest[class][direction] = chosen.lba;
        Some(chosen.age)
    }
}
