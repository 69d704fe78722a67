//! The anatomy of latency: the causes of each request's latency, to the nanosecond.
//!
//! An observer of the whole stack follows every request along its critical path: held before the block layer, queued in
//! the scheduler, in the controller, on the link, waiting for a flush or a buffer slot, and then with the page
//! operation that ended last. A check asserts that the parts of every request add up to its latency. Memory does not
//! grow with the run: it holds requests in progress, and sums by latency.

mod cause;
mod flash;
mod host;
mod sums;

use flashloom_buffer::SlotId;
use flashloom_host::RequestId;
use flashloom_nand::{Command, Geometry, Lpn, OperationKind, Origin, Ppn};
use flashloom_units::{Ns, Violation, violation};
use flashloom_workload::{Op, Request};
use serde::{Deserialize, Serialize};

use crate::drive::{CommandId, Waiter};
use crate::event::{DriveEvent, Event};
use crate::status::Status;
pub use cause::{Cause, Parts};
use flash::Flash;
use host::{Host, Sent, put};
use sums::ByLatency;
pub use sums::{AnatomyReport, Sums, Tail};

/// A request that has ended, with its anatomy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The request as the workload issued it, before merging.
    pub request: Request,
    /// Time of its admission to the block layer, which may have held it back for `nr_requests`.
    pub admitted_ns: Ns,
    /// Time at which its command was dispatched to the drive.
    pub dispatched_ns: Ns,
    /// Time of its completion or failure.
    pub ended_ns: Ns,
    /// How it ended.
    pub status: Status,
    /// First sector and length of its command. Longer than the request if the block layer merged it with others.
    pub command: (u64, u32),
    /// Latency by cause, from arrival to end.
    pub parts: Parts,
    /// The flash operation that it waited for last; `None` if it waited for none.
    pub last: Option<LastOperation>,
}

impl Served {
    /// Latency: time from arrival to end.
    pub fn latency_ns(&self) -> Ns {
        self.ended_ns - self.request.arrival_ns
    }
}

/// The flash operation at the end of a request's critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastOperation {
    /// Logical page.
    pub lpn: Lpn,
    /// Physical page.
    pub ppn: Ppn,
    /// True for a program, false for a read.
    pub is_program: bool,
    /// Origin of the operation: the host for the request's own pages.
    pub origin: Origin,
    /// Time at which the FTL issued it.
    pub issued_ns: Ns,
    /// Time at which a die began it.
    pub started_ns: Ns,
    /// Time at which it ended.
    pub ended_ns: Ns,
}

/// A command outstanding in the drive.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Held {
    id: RequestId,
    /// Latency by cause, from dispatch to `mark`.
    parts: Parts,
    mark: Ns,
    /// Cause of the wait that began at `mark`, unless it turns out to be a flash operation.
    stage: Cause,
    /// Whether only flash operations and the link remain: all pages of a write have their slots.
    waits_for_flash: bool,
    last: Option<LastOperation>,
}

impl Held {
    /// Adds the time since `mark` to its current cause.
    fn book(&mut self, now: Ns) {
        self.parts[self.stage] += now - self.mark;
        self.mark = now;
    }

    fn go_on(&mut self, now: Ns, stage: Cause) {
        self.book(now);
        self.stage = stage;
    }
}

/// A command that has completed, for the requests merged into it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Returned {
    sent: Sent,
    status: Status,
    parts: Parts,
    last: Option<LastOperation>,
}

/// Follows every request and attributes its time, from the events of an engine that begins at rest. It is part of an
/// engine that keeps it ([`Engine::keep_anatomy`](crate::Engine::keep_anatomy)), or follows one from outside.
#[derive(Debug)]
pub struct Anatomy {
    host: Host,
    /// Outstanding commands by the drive's id.
    commands: Vec<Option<Held>>,
    /// Commands that the drive has completed and the host has not taken yet, by the host's id.
    done: Vec<Option<Held>>,
    /// For each buffer slot, the command that waits for its flash operation.
    slot_waiter: Vec<Option<CommandId>>,
    flash: Flash,
    returned: Option<Returned>,
    reads: ByLatency,
    writes: ByLatency,
    violation: Option<String>,
}

flashloom_units::state! {
    Anatomy { value host, commands, done, slot_waiter, flash, returned, reads, writes, violation; }
}

impl Anatomy {
    /// Anatomy of an idle drive with this queue depth.
    pub fn new(geometry: &Geometry, queue_depth: u32) -> Self {
        Self {
            host: Host::new(queue_depth),
            commands: Vec::new(),
            done: Vec::new(),
            slot_waiter: Vec::new(),
            flash: Flash::new(geometry),
            returned: None,
            reads: ByLatency::default(),
            writes: ByLatency::default(),
            violation: None,
        }
    }

    /// Sums of the parts of all completed requests.
    pub(crate) fn report(&self) -> AnatomyReport {
        AnatomyReport { read: self.reads.tail(), write: self.writes.tail() }
    }

    /// Checks that the parts of every request added up to its latency.
    pub(crate) fn check(&self) -> Result<(), Violation> {
        self.violation.as_ref().map_or(Ok(()), |violation| Err(violation!("anatomy: {violation}")))
    }

    /// What each die executes at `now`, `None` for nothing, and how long it has executed what so far. `now` is not
    /// before the last event. The causes are those of a request that waits for the die, but for
    /// [`Cause::Suspension`]; their times add up to the busy time of the die.
    pub fn dies(&mut self, now: Ns) -> impl Iterator<Item = (Option<Cause>, Parts)> + '_ {
        self.flash.dies(now)
    }

    /// Handles one event. Returns the request that ended with it, if any.
    pub fn see(&mut self, now: Ns, event: &Event) -> Option<Served> {
        match event {
            Event::Admitted { member, request } => self.host.admit(now, *member, *request),
            Event::Dispatched(command) => self.host.dispatch(now, command),
            Event::Returned { id, status } => self.returned = self.command_returned(now, *id, *status),
            Event::Ended { member } => return self.request_ended(now, *member),
            Event::Drive(event) => self.see_drive(now, event),
            Event::Flash(event) => self.see_flash(now, event),
        }
        None
    }

    fn held(&mut self, command: CommandId) -> Option<&mut Held> {
        self.commands.get_mut(command.0 as usize)?.as_mut()
    }

    fn see_drive(&mut self, now: Ns, event: &DriveEvent) {
        match *event {
            DriveEvent::Accepted { command, id } => {
                let (parts, stage) = (Parts::default(), Cause::Controller);
                let held = Held { id, parts, mark: now, stage, waits_for_flash: false, last: None };
                put(&mut self.commands, command.0, held);
            }
            DriveEvent::Fetched { command } => {
                if let Some(held) = self.held(command) {
                    held.stage = Cause::Front;
                    held.go_on(now, Cause::Controller);
                }
            }
            DriveEvent::Commanded { command } => self.go_on(now, command, Cause::Link),
            DriveEvent::Arrived { command } => self.arrived(now, command),
            DriveEvent::Flushed { command } => self.go_on(now, command, Cause::Slot),
            DriveEvent::ReadFlash { command, slot: Some(slot), .. } => self.wait_for_slot(slot, Some(command)),
            DriveEvent::ReadCached { command, is_ready: false, .. } => self.go_on(now, command, Cause::Served),
            DriveEvent::CacheFilled { command } => self.go_on(now, command, Cause::Link),
            DriveEvent::Stored { command, slot, is_durable, .. } => {
                self.go_on(now, command, Cause::Slot);
                self.wait_for_slot(slot, is_durable.then_some(command));
            }
            DriveEvent::Completed { command } => {
                if let Some(held) = self.commands.get_mut(command.0 as usize).and_then(Option::take) {
                    put(&mut self.done, held.id.0, held);
                }
            }
            DriveEvent::StoredAll { command } | DriveEvent::WrittenThrough { command: Some(command), .. } => {
                self.go_on(now, command, Cause::Served);
                if let Some(held) = self.held(command) {
                    held.waits_for_flash = true;
                }
            }
            _ => {}
        }
    }

    fn go_on(&mut self, now: Ns, command: CommandId, stage: Cause) {
        if let Some(held) = self.held(command) {
            held.go_on(now, stage);
        }
    }

    /// A command, including the data of a write, has reached the drive.
    fn arrived(&mut self, now: Ns, command: CommandId) {
        let id = self.held(command).map(|held| held.id);
        let Some((op, flags)) = id.and_then(|id| self.host.sent(id)).map(|sent| (sent.op, sent.flags)) else { return };
        let stage = match op {
            Op::Read => Cause::Link,
            Op::Flush => Cause::Flush,
            Op::Write if flags & Request::PREFLUSH != 0 => Cause::Flush,
            _ => Cause::Slot,
        };
        if let Some(held) = self.held(command) {
            held.go_on(now, stage);
            held.waits_for_flash = op == Op::Read;
        }
    }

    fn wait_for_slot(&mut self, slot: SlotId, command: Option<CommandId>) {
        let at = slot.0 as usize;
        self.slot_waiter.resize(self.slot_waiter.len().max(at + 1), None);
        self.slot_waiter[at] = command;
    }

    fn see_flash(&mut self, now: Ns, event: &flashloom_nand::Event) {
        let Self { flash, commands, slot_waiter, .. } = self;
        let ended = flash.see(now, event, |command| {
            let waiting = waiter_of(slot_waiter, command.tag).and_then(|id| commands.get_mut(id.0 as usize)?.as_mut());
            waiting.map_or(Parts::default(), |held| {
                held.book(now);
                held.parts
            })
        });
        use flashloom_nand::Event::{Ended, Missed};
        let (Some(ended), Ended { command, .. } | Missed { command }) = (ended, event) else { return };
        let Some(waiter) = waiter_of(slot_waiter, command.tag) else { return };
        let Some(held) = self.held(waiter).filter(|held| held.waits_for_flash) else { return };
        let Command { lpn, ppn, kind, origin, .. } = *command;
        (held.parts, held.mark) = (ended.parts, now);
        held.last = Some(LastOperation {
            lpn,
            ppn,
            is_program: kind == OperationKind::Program,
            origin,
            issued_ns: ended.issued_ns,
            started_ns: ended.started_ns,
            ended_ns: now,
        });
    }

    fn command_returned(&mut self, now: Ns, id: RequestId, status: Status) -> Option<Returned> {
        let sent = self.host.finish(now, id);
        let held = self.done.get_mut(id.0 as usize).and_then(Option::take);
        let Some((sent, mut held)) = sent.zip(held) else {
            self.reject(|| format!("command {} came back, and was never sent", id.0));
            return None;
        };
        held.book(now);
        Some(Returned { sent, status, parts: held.parts, last: held.last })
    }

    fn request_ended(&mut self, now: Ns, member: u32) -> Option<Served> {
        let Returned { sent, status, parts: at_drive, last } = self.returned?;
        let Some((request, admitted_ns, mut parts)) = self.host.end(member, &sent) else {
            self.reject(|| format!("request {member} has ended, and never arrived"));
            return None;
        };
        parts.add(&at_drive);
        let served = Served {
            request,
            admitted_ns,
            dispatched_ns: sent.dispatched_ns,
            ended_ns: now,
            status,
            command: (sent.lba, sent.sectors),
            parts,
            last,
        };
        self.account(&served);
        Some(served)
    }

    fn reject(&mut self, what: impl FnOnce() -> String) {
        self.violation.get_or_insert_with(what);
    }

    fn account(&mut self, served: &Served) {
        let (latency_ns, Request { op, lba, arrival_ns, .. }) = (served.latency_ns(), served.request);
        if served.parts.total() != latency_ns {
            self.reject(|| format!(
                "the parts of the {op:?} at sector {lba} that arrived at {arrival_ns} ns add up to {} ns, but it took \
                 {latency_ns} ns: {:?}",
                served.parts.total(),
                served.parts
            ));
        }
        match op {
            _ if !served.status.is_done() => {}
            Op::Read => self.reads.record(latency_ns, &served.parts),
            Op::Write => self.writes.record(latency_ns, &served.parts),
            _ => {}
        }
    }
}

/// The command that waits for the operation with this tag.
fn waiter_of(slot_waiter: &[Option<CommandId>], tag: u32) -> Option<CommandId> {
    match Waiter::of(tag) {
        Waiter::Command(id) => Some(id),
        Waiter::Programmed(slot) | Waiter::Filled(slot) => slot_waiter.get(slot.0 as usize).copied().flatten(),
        Waiter::Cached(_) | Waiter::Nobody => None,
    }
}
