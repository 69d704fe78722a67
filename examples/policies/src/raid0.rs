//! RAID-0: a target over a queue for each drive. A request comes back with the last of its parts.

use flashloom::device::{Completion, Engine, Misuse, Queues, Status, Submitted, Target};
use flashloom::units::{Ns, StateError, load_with, save_with};
use flashloom::workload::Request;

/// Drives behind one address space. Of each request, by its cookie, `held` has the number of parts
/// that have not ended and the status; `waiting` has parts for which their drive has no room yet.
pub struct Raid0<T> {
    pub queues: Queues<T>,
    pub stripe: crate::stripe::Stripe,
    pub held: std::collections::BTreeMap<u32, (usize, Status)>,
    pub waiting: Vec<(Request, u32)>,
}

impl<T: Target> Raid0<T> {
    /// Submits what waits to drives that have room.
    fn pass_on(&mut self, now: Ns) -> Result<(), Misuse> {
        for (part, cookie) in std::mem::take(&mut self.waiting) {
            if self.queues.submit(now, &part, cookie)? == Submitted::Full {
                self.waiting.push((part, cookie));
            }
        }
        Ok(())
    }
}

impl<T: Target> Target for Raid0<T> {
    fn capacity_sectors(&self) -> u64 {
        self.stripe.capacity_sectors(self.queues.capacity_sectors())
    }
    fn submit(&mut self, now: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse> {
        Misuse::check_sectors(request, self.capacity_sectors())?;
        if !self.waiting.is_empty() {
            return Ok(Submitted::Full);
        }
        self.waiting = self.stripe.parts(request).map(|p| (p, cookie)).collect();
        let parts = self.waiting.len();
        self.pass_on(now)?;
        self.held.insert(cookie, (parts, Status::DONE));
        Ok(Submitted::Accepted)
    }
    fn now_ns(&self) -> Ns {
        self.queues.now_ns()
    }
    fn next_event_ns(&mut self) -> Option<Ns> {
        self.queues.next_event_ns()
    }
    fn advance_to(&mut self, to_ns: Ns) -> Result<(), Misuse> {
        while let Some(at) = self.next_event_ns().filter(|&at| at < to_ns) {
            self.queues.advance_to(at)?;
            self.pass_on(at)?;
        }
        self.queues.advance_to(to_ns)?;
        self.pass_on(to_ns)
    }
    fn take_completion(&mut self) -> Option<Completion> {
        let part = self.queues.take_completion()?;
        let (left, status) = self.held.remove(&part.cookie)?;
        let status = status.and(part.status);
        if left > 1 {
            self.held.insert(part.cookie, (left - 1, status));
            return self.take_completion();
        }
        Some(Completion::new(part.cookie, part.time_ns, status))
    }
    fn snapshot(&self) -> Result<Vec<u8>, StateError> {
        let parts = (self.queues.snapshot()?, (&self.held, &self.waiting));
        save_with(|to| to.value(&parts))
    }
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let (queues, of_array): (Vec<u8>, _) = load_with(state, |from| from.value())?;
        (self.held, self.waiting) = of_array;
        self.queues.restore(&queues)
    }
    fn engines(&self) -> Vec<&Engine> {
        self.queues.engines()
    }
}
