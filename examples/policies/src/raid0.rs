//! RAID-0: chunks of the address space lie on the drives in turn. A target over a queue for each
//! drive; a request has one part on each drive that it touches, and comes back with the last.

use flashloom::device::{Completion, Engine, Misuse, Queues, Status, Submitted, Target};
use flashloom::units::{Ns, StateError, load_with, save_with};
use flashloom::workload::{Op, Request};

/// Drives behind one address space. Of each request under way `held` has cookie, parts and status.
pub struct Raid0<T> {
    pub queues: Queues<T>,
    pub drives: u64,
    pub chunk_sectors: u64,
    pub held: Vec<Option<(u32, usize, Status)>>,
}

impl<T: Target> Raid0<T> {
    /// A request's part on a drive, which has every n-th chunk in a row; none if it has none.
    fn part(&self, request: &Request, drive: u64) -> Option<Request> {
        let (size, row) = (self.chunk_sectors, self.chunk_sectors * self.drives);
        let before = |at: u64| at / row * size + (at % row).saturating_sub(drive * size).min(size);
        let mut part = request.on_queue(drive as u8);
        part.lba = before(request.lba);
        part.sectors = (before(request.end()) - part.lba) as u32;
        (part.sectors > 0 || request.op == Op::Flush).then_some(part)
    }
}

impl<T: Target> Target for Raid0<T> {
    fn capacity_sectors(&self) -> u64 {
        self.queues.capacity_sectors() / self.chunk_sectors * self.chunk_sectors * self.drives
    }
    fn submit(&mut self, now: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse> {
        Misuse::check_sectors(request, self.capacity_sectors())?;
        let Some(free) = self.held.iter().position(Option::is_none) else {
            return Ok(Submitted::Full);
        };
        let parts = (0..self.drives).filter_map(|drive| self.part(request, drive));
        let parts: Vec<_> = parts.collect();
        for part in &parts {
            let cookie = free as u32 * 256 + u32::from(part.queue);
            let taken = self.queues.submit(now, part, cookie)?;
            assert_eq!(taken, Submitted::Accepted, "there is room on every drive");
        }
        self.held[free] = Some((cookie, parts.len(), Status::DONE));
        Ok(Submitted::Accepted)
    }
    fn now_ns(&self) -> Ns {
        self.queues.now_ns()
    }
    fn next_event_ns(&mut self) -> Option<Ns> {
        self.queues.next_event_ns()
    }
    fn advance_to(&mut self, to_ns: Ns) -> Result<(), Misuse> {
        self.queues.advance_to(to_ns)
    }
    fn take_completion(&mut self) -> Option<Completion> {
        let part = self.queues.take_completion()?;
        let held = &mut self.held[part.cookie as usize / 256];
        let (cookie, left, status) = held.take()?;
        let status = status.and(part.status);
        if left == 1 {
            return Some(Completion::new(cookie, part.time_ns, status));
        }
        *held = Some((cookie, left - 1, status));
        self.take_completion()
    }
    fn snapshot(&self) -> Result<Vec<u8>, StateError> {
        let queues = self.queues.snapshot()?;
        save_with(|to| to.value(&(&queues, &self.held)))
    }
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let (queues, held): (Vec<u8>, _) = load_with(state, |from| from.value())?;
        self.held = held;
        self.queues.restore(&queues)
    }
    fn engines(&self) -> Vec<&Engine> {
        self.queues.engines()
    }
}
