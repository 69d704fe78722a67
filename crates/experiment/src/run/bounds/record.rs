//! Record of a run's accesses to its write buffer and its FTL, in order.

use flashloom_buffer::order::belady::Access;
use flashloom_device::{CommandId, DriveEvent, Engine, Event, Interest, Observer};
use flashloom_ftl::collection::clairvoyant::Change;
use flashloom_host::Dispatched;
use flashloom_nand::Lpn;
use flashloom_units::Ns;
use flashloom_workload::{Op, Request};

/// Maximum number of accesses, or changes, recorded of a run: 8 bytes each, and 8 more while a bound is computed.
const MOST: usize = 1 << 25;

/// Observer that records the accesses to write buffer and FTL.
#[derive(Default)]
pub struct Record {
    /// Logical pages of the drive.
    pages: u32,
    accesses: Vec<Access>,
    changes: Vec<Change>,
    /// Pages that flash holds as the run begins.
    valid: Vec<u32>,
    padding: u64,
    /// The last dispatched command, and a mark for each of the drive's commands that begins with a flush.
    dispatched: Option<Dispatched>,
    flushes: Vec<bool>,
    queue: Queue,
}

/// Requests in front of the drive and in it.
#[derive(Default)]
struct Queue {
    depth: u64,
    waiting: u64,
    in_drive: u64,
    now: Ns,
    /// True once time has passed while a request waited and the drive had room.
    was_held_back: bool,
}

impl Queue {
    fn come_to(&mut self, now: Ns) {
        self.was_held_back |= now > self.now && self.waiting > 0 && self.in_drive < self.depth;
        self.now = now;
    }
}

impl Record {
    /// An empty record of a drive of `pages` logical pages that holds `queue_depth` commands at once.
    pub fn new(pages: u32, queue_depth: u32) -> Self {
        Self { pages, queue: Queue { depth: u64::from(queue_depth), ..Queue::default() }, ..Self::default() }
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

    /// Accesses to the write buffer.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// Changes of pages in the FTL: writes and discards.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Pages that flash held when the run began.
    pub fn valid(&self) -> &[u32] {
        &self.valid
    }

    /// Number of pages written to the FTL.
    pub fn page_writes(&self) -> u64 {
        self.changes.iter().filter(|change| matches!(change, Change::Write { .. })).count() as u64
    }

    /// Number of written pages that only pad an evicted block.
    pub fn padding(&self) -> u64 {
        self.padding
    }

    /// True if the scheduler ever let time pass while a request waited and the drive had room. Meaningless for a run
    /// with merged requests.
    pub fn was_held_back(&self) -> bool {
        self.queue.was_held_back
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

    fn begin(&mut self, engine: &Engine) {
        self.valid = (0..self.pages).filter(|&lpn| engine.is_mapped(Lpn(lpn))).collect();
    }

    fn event(&mut self, now: Ns, event: &Event) {
        self.queue.come_to(now);
        match event {
            Event::Admitted { request, .. } => self.queue.waiting += u64::from(request.op != Op::Flush),
            Event::Dispatched(command) => {
                self.dispatched = Some(*command);
                self.queue.waiting -= u64::from(command.op != Op::Flush && self.queue.waiting > 0);
                self.queue.in_drive += 1;
            }
            Event::Returned { .. } => self.queue.in_drive -= 1,
            Event::Drive(event) => self.drive(event),
            Event::Ended { .. } | Event::Flash(_) => {}
        }
    }
}
