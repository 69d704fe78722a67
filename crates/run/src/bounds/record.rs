//! Record of a run's accesses to its write buffer and its FTL, in order.

use flashloom_buffer::order::belady::Access;
use flashloom_device::{CommandId, DriveEvent, Event, Interest, Observer, Target};
use flashloom_ftl::collection::clairvoyant::Change;
use flashloom_host::Dispatched;
use flashloom_nand::Lpn;
use flashloom_units::Ns;
use flashloom_workload::{Op, Request};

/// Maximum number of accesses, or changes, recorded of a run: 8 bytes each, and 8 more while a bound is computed.
const MOST: usize = 1 << 25;

/// Observer that records the accesses to write buffer and FTL.
pub struct Record {
    /// Logical pages of the drive.
    pages: u32,
    /// Accesses to the write buffer.
    pub(super) accesses: Vec<Access>,
    /// Changes of pages in the FTL: writes and discards.
    pub(super) changes: Vec<Change>,
    /// Pages that flash holds as the run begins.
    pub(super) valid: Vec<u32>,
    /// Pages that were erased then.
    pub(super) erased_pages: u64,
    /// Number of written pages that only pad an evicted block.
    pub(super) padding: u64,
    /// The last dispatched command, and a mark for each of the drive's commands that begins with a flush.
    dispatched: Option<Dispatched>,
    flushes: Vec<bool>,
    pub(super) queue: Queue,
}

/// Requests in front of the drive and in it.
pub(super) struct Queue {
    depth: u64,
    waiting: u64,
    in_drive: u64,
    now: Ns,
    /// True from a completion or a dispatch on, until the next request arrives: the scheduler has been asked since.
    was_asked: bool,
    /// True if the scheduler ever left a request waiting while the drive had room, until time passed or a request
    /// arrived. Meaningless for a run with merged requests.
    pub(super) was_held_back: bool,
    /// Product of the requests that waited at each dispatch: orders in which the requests could have been dispatched,
    /// if each dispatch had as many to choose from as in this run; exact if all were queued at once.
    pub(super) orders: u64,
}

impl Queue {
    fn new(depth: u32) -> Self {
        let depth = u64::from(depth);
        Self { depth, waiting: 0, in_drive: 0, now: 0, was_asked: false, was_held_back: false, orders: 1 }
    }

    fn come_to(&mut self, now: Ns) {
        self.was_held_back |= now > self.now && self.waits_in_vain();
        self.now = now;
    }

    fn waits_in_vain(&self) -> bool {
        self.waiting > 0 && self.in_drive < self.depth
    }

    /// A request arrives. Those of a moment come together, before the scheduler is asked; but a moment may have further
    /// ones, which arrive because of what has completed. A request that the backlog has kept comes before the scheduler
    /// is asked too.
    fn admit(&mut self, request: &Request) {
        let is_from_backlog = request.arrival_ns < self.now;
        self.was_held_back |= self.was_asked && !is_from_backlog && self.waits_in_vain();
        self.was_asked &= is_from_backlog;
        self.waiting += u64::from(request.op != Op::Flush);
    }

    fn dispatch(&mut self, op: Op) {
        self.was_asked = true;
        if op != Op::Flush && self.waiting > 0 {
            self.orders = self.orders.saturating_mul(self.waiting);
            self.waiting -= 1;
        }
        self.in_drive += 1;
    }

    fn complete(&mut self) {
        self.was_asked = true;
        self.in_drive -= 1;
    }
}

impl Record {
    /// An empty record of a drive of `pages` logical pages that holds `queue_depth` commands at once.
    pub fn new(pages: u32, queue_depth: u32) -> Self {
        Self {
            pages,
            accesses: Vec::new(),
            changes: Vec::new(),
            valid: Vec::new(),
            erased_pages: 0,
            padding: 0,
            dispatched: None,
            flushes: Vec::new(),
            queue: Queue::new(queue_depth),
        }
    }

    /// The record of a run that has ended, if it is complete. A drain at the end flushes the write buffer.
    ///
    /// # Errors
    /// Reason why it is incomplete.
    pub fn complete(mut self, drains: bool) -> Result<Self, String> {
        if self.accesses.len().max(self.changes.len()) > MOST {
            return Err(format!("the run has more page accesses than the {MOST} that are recorded"));
        }
        self.accesses.extend(drains.then_some(Access::Flush));
        Ok(self)
    }

    /// Number of pages written to the FTL.
    pub fn page_writes(&self) -> u64 {
        self.changes.iter().filter(|change| matches!(change, Change::Write { .. })).count() as u64
    }

    fn access(&mut self, access: Access) {
        if self.accesses.len() <= MOST {
            self.accesses.push(access);
        }
    }

    fn change(&mut self, change: Change) {
        if self.changes.len() <= MOST {
            self.changes.push(change);
        }
    }

    fn accepted(&mut self, command: CommandId) {
        let Some(dispatched) = self.dispatched else { return };
        let is_flush = dispatched.op == Op::Flush || dispatched.flags & Request::PREFLUSH != 0;
        let at = command.at();
        self.flushes.resize(self.flushes.len().max(at + 1), false);
        self.flushes[at] = is_flush;
    }

    fn drive(&mut self, event: &DriveEvent) {
        match *event {
            DriveEvent::Accepted { command, .. } => self.accepted(command),
            DriveEvent::Arrived { command } if self.flushes[command.at()] => self.access(Access::Flush),
            DriveEvent::Stored { lpn: Lpn(lpn), is_durable, .. } => self.access(Access::Write { lpn, is_durable }),
            DriveEvent::WrittenThrough { page, .. } => self.change(Change::Write { lpn: page.lpn.0 }),
            DriveEvent::Evicted { slot, page } => {
                self.padding += u64::from(slot.is_none());
                self.change(Change::Write { lpn: page.lpn.0 });
            }
            DriveEvent::Discarded { lpn: Lpn(lpn) } => {
                self.access(Access::Discard { lpn });
                self.change(Change::Trim { lpn });
            }
            _ => {}
        }
    }
}

impl Observer for Record {
    fn interest(&self) -> Interest {
        Interest { events: true, ..Interest::default() }
    }

    fn begin(&mut self, target: &dyn Target) {
        let engines = target.engines();
        let Some(engine) = engines.first() else { return };
        self.valid = (0..self.pages).filter(|&lpn| engine.place_of(Lpn(lpn)).is_some()).collect();
        self.erased_pages = engine.erased_pages();
    }

    fn event(&mut self, now: Ns, event: &Event) {
        self.queue.come_to(now);
        match event {
            Event::Admitted { request, .. } => self.queue.admit(request),
            Event::Dispatched(command) => {
                self.dispatched = Some(*command);
                self.queue.dispatch(command.op);
            }
            Event::Returned { .. } => self.queue.complete(),
            Event::Drive(event) => self.drive(event),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arrival_ns: Ns) -> Request {
        Request::new(Op::Read, 0, 8).arriving_at(arrival_ns).of_task(1)
    }

    /// A drive of one command that completes one at 5 ns, while another request waits.
    fn at_a_completion() -> Queue {
        let mut queue = Queue::new(1);
        [read(0), read(0)].iter().for_each(|request| queue.admit(request));
        queue.dispatch(Op::Read);
        queue.come_to(5);
        queue.complete();
        queue
    }

    #[test]
    fn waiting_for_a_request_that_comes_in_the_same_moment_is_holding_back() {
        let mut queue = at_a_completion();
        queue.admit(&read(5));
        assert!(queue.was_held_back, "the scheduler was asked at the completion, and did not take what waited");
    }

    #[test]
    fn what_comes_before_the_scheduler_is_asked_holds_nothing_back() {
        let mut queue = at_a_completion();
        queue.admit(&read(3));
        assert!(!queue.was_held_back, "the backlog has kept it until the completion");
        queue.dispatch(Op::Read);
        queue.come_to(9);
        queue.complete();
        queue.dispatch(Op::Read);
        queue.come_to(12);
        queue.complete();
        [read(12), read(12)].iter().for_each(|request| queue.admit(request));
        assert!(!queue.was_held_back, "requests of a moment come together");
    }

    #[test]
    fn time_that_passes_while_a_request_could_be_dispatched_is_holding_back() {
        let mut queue = at_a_completion();
        queue.come_to(6);
        assert!(queue.was_held_back);
    }

    #[test]
    fn orders_are_the_choices_of_all_dispatches() {
        let mut queue = Queue::new(4);
        [read(0), read(0), read(0)].iter().for_each(|request| queue.admit(request));
        (0..3).for_each(|_| queue.dispatch(Op::Read));
        assert_eq!(queue.orders, 6);
    }
}
