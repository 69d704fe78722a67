//! Anatomy inside the array: what an operation waits for, from its issue by the FTL to its end.
//!
//! Each die keeps one clock for each cause. An operation reads the clocks of its die when it is queued and when it
//! starts, so its wait is divided in constant time. Before it is queued, it waits for another operation. If the FTL
//! ordered it after that one, it takes over that operation's parts. If the block requires the order (an earlier page,
//! the page itself, an erase), the other operation is on the same die, and the wait is attributed to what that die
//! executes. If that die is idle, because the other operation waits for another die itself, the wait is attributed to
//! the job that the other operation belongs to. After the die come channel and array.

use flashloom_nand::{Command, DieId, Event, Geometry, OperationKind, Origin};
use flashloom_units::{NO_INDEX, Ns};
use serde::{Deserialize, Serialize};

use super::cause::{Cause, Parts};
use super::host::put;

/// The cause of waiting for a die that executes this operation.
fn cause_of(kind: OperationKind, origin: Origin) -> Cause {
    if kind == OperationKind::Erase { Cause::Erase } else { job_of(kind, origin) }
}

/// The cause of waiting for the job that this operation belongs to.
fn job_of(kind: OperationKind, origin: Origin) -> Cause {
    match origin {
        Origin::Host if kind == OperationKind::Read => Cause::HostRead,
        Origin::Host => Cause::HostProgram,
        Origin::Gc => Cause::Collection,
        Origin::Merge => Cause::Merge,
        Origin::Map => Cause::Map,
        Origin::Wear => Cause::Wear,
        Origin::Fold => Cause::Fold,
    }
}

/// An operation in progress.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Running {
    cause: Cause,
    is_read: bool,
    /// Latency by cause, up to this operation's issue, of the request that waits for it. `own` is added to it.
    before: Parts,
    /// Time by cause from this operation's issue to `mark`.
    own: Parts,
    issued_ns: Ns,
    started_ns: Ns,
    /// Time up to which `own` is known. May lie in the future.
    mark: Ns,
    /// At `mark`, the clocks of its die, or of the die whose operation it waits for.
    clocks: Parts,
    /// Channel time of its program.
    transfer_ns: Ns,
    /// Array time of the retries of its read.
    repeated_ns: Ns,
    /// First operation that waits for this one, and the next one in the list that this one is in.
    waiters: u32,
    sibling: u32,
}

/// The end of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Latency by cause, from dispatch to now, of the request that waited for this operation.
    pub(super) parts: Parts,
    pub(super) issued_ns: Ns,
    pub(super) started_ns: Ns,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Die {
    clocks: Parts,
    since: Ns,
    /// Cause attributed to waiting for this die; `None` while it is idle.
    occupant: Option<Cause>,
    /// A change of occupant that is already known, with its time.
    next: Option<(Ns, Cause)>,
    active: Vec<u32>,
    suspended: Vec<u32>,
}

impl Die {
    /// Advances the clocks to a time.
    fn advance(&mut self, now: Ns) {
        if let Some((at, cause)) = self.next.filter(|&(at, _)| at <= now) {
            self.next = None;
            self.run(at);
            self.occupant = Some(cause);
        }
        self.run(now);
    }

    fn run(&mut self, to: Ns) {
        if let Some(cause) = self.occupant {
            self.clocks[cause] += to - self.since;
        }
        self.since = to;
    }

    fn occupy(&mut self, now: Ns, occupant: Option<Cause>) {
        self.advance(now);
        (self.occupant, self.next) = (occupant, None);
    }
}

/// Anatomy of all operations in the array.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Flash {
    operations: Vec<Option<Running>>,
    dies: Vec<Die>,
    /// Die of each operation.
    die_of: Vec<u32>,
    /// Job of the operation that ended last; operations queued right after it waited for it.
    last: Cause,
}

impl Flash {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            operations: Vec::new(),
            dies: vec![Die::default(); geometry.total_dies() as usize],
            die_of: Vec::new(),
            last: Cause::Served,
        }
    }

    /// Occupant and clocks of each die, advanced to now.
    pub(super) fn dies(&mut self, now: Ns) -> impl Iterator<Item = (Option<Cause>, Parts)> + '_ {
        self.dies.iter_mut().map(move |die| {
            die.advance(now);
            (die.occupant, die.clocks)
        })
    }

    /// Handles one event of the array. `before` returns the parts of the request that waits for an operation, and is
    /// called when that is issued. Returns the end of an operation, if the event is one.
    pub(super) fn see(&mut self, now: Ns, event: &Event, before: impl FnOnce(&Command) -> Parts) -> Option<Ended> {
        match *event {
            Event::Issued(command, after) => self.issue(now, &command, after, before(&command)),
            Event::Queued { number, die } => self.queue(now, number, die),
            Event::Held { number, by } => self.hold(now, number, by),
            Event::Started { command, transfer_ns, is_staged: true, .. } => {
                self.operation(command.number).transfer_ns = transfer_ns;
            }
            Event::Started { command, array_from, transfer_ns, .. } => {
                self.operation(command.number).transfer_ns = transfer_ns;
                self.begin(now, command.number, array_from);
            }
            Event::Began { number, array_from } => self.begin(now, number, array_from),
            Event::Repeated { number, array_ns, .. } => {
                let read = self.operation(number);
                read.own[Cause::Retry] += array_ns;
                read.repeated_ns = array_ns;
            }
            Event::Suspended { die, .. } => self.suspend(now, die),
            Event::Resumed { die, array_from } => self.resume(now, die, array_from),
            Event::Transferring { number, ends, transfer_ns } => {
                let read = self.operation(number);
                read.own[Cause::Served] += now - read.mark - read.repeated_ns;
                read.cross(now, ends, transfer_ns);
            }
            Event::Ended { command, .. } | Event::Missed { command } => return Some(self.end(now, &command)),
            _ => {}
        }
        None
    }

    fn operation(&mut self, number: u32) -> &mut Running {
        self.operations[number as usize].as_mut().expect("an operation is issued before anything else happens to it")
    }

    fn issue(&mut self, now: Ns, command: &Command, after: Option<u32>, before: Parts) {
        let Command { number, kind, origin, die, .. } = *command;
        let watched = after.map_or(die.0, |after| self.die_of[after as usize]);
        let clocks = self.clocks(now, watched);
        let mut running = Running {
            cause: cause_of(kind, origin),
            is_read: kind == OperationKind::Read,
            before,
            own: Parts::default(),
            issued_ns: now,
            started_ns: now,
            mark: now,
            clocks,
            transfer_ns: 0,
            repeated_ns: 0,
            waiters: NO_INDEX,
            sibling: NO_INDEX,
        };
        if let Some(after) = after {
            running.sibling = std::mem::replace(&mut self.operation(after).waiters, number);
        }
        put(&mut self.operations, number, running);
        self.die_of.resize(self.die_of.len().max(number as usize + 1), NO_INDEX);
        self.die_of[number as usize] = die.0;
    }

    /// From now on only its die delays it; until now it waited for the operation that has just ended.
    fn queue(&mut self, now: Ns, number: u32, die: DieId) {
        let (last, clocks) = (self.last, self.clocks(now, self.die_of[number as usize]));
        self.operation(number).wait_for(now, &clocks, last);
        if self.die_of[number as usize] != die.0 {
            self.die_of[number as usize] = die.0;
            self.redirect(now, number, &clocks);
        }
    }

    /// An operation will run on another die than it was issued for, whose clocks are given: those that wait for it
    /// watch the new die from now on.
    fn redirect(&mut self, now: Ns, number: u32, from: &Parts) {
        let (last, to) = (self.last, self.clocks(now, self.die_of[number as usize]));
        let operation = self.operation(number);
        operation.clocks = to;
        let mut waiter = operation.waiters;
        while waiter != NO_INDEX {
            let waiting = self.operation(waiter);
            waiting.wait_for(now, from, last);
            waiting.clocks = to;
            waiter = waiting.sibling;
        }
    }

    /// A read that was not waiting starts to wait for a program.
    fn hold(&mut self, now: Ns, number: u32, by: u32) {
        let clocks = self.clocks(now, self.die_of[by as usize]);
        let sibling = std::mem::replace(&mut self.operation(by).waiters, number);
        let read = self.operation(number);
        (read.mark, read.clocks, read.sibling) = (now, clocks, sibling);
    }

    /// The clocks of a die, advanced to now.
    fn clocks(&mut self, now: Ns, die: u32) -> Parts {
        let die = &mut self.dies[die as usize];
        die.advance(now);
        die.clocks
    }

    /// Handles the begin of an operation on its die.
    fn begin(&mut self, now: Ns, number: u32, array_from: Ns) {
        let Self { operations, dies, .. } = self;
        let die = &mut dies[self.die_of[number as usize] as usize];
        die.advance(now);
        let operation = operations[number as usize].as_mut().expect("as in `operation`");
        operation.wait_out(now, &die.clocks);
        operation.started_ns = now;
        operation.cross(now, array_from, operation.transfer_ns);
        // With operations on several planes, the first determines the occupant of the die.
        if die.active.is_empty() {
            die.occupy(now, Some(operation.cause));
        }
        die.active.push(number);
    }

    fn suspend(&mut self, now: Ns, die: DieId) {
        let Self { operations, dies, .. } = self;
        let die = &mut dies[die.at()];
        die.occupy(now, Some(Cause::Suspension));
        std::mem::swap(&mut die.active, &mut die.suspended);
        for &number in &die.suspended {
            let operation = operations[number as usize].as_mut().expect("as in `operation`");
            operation.own[Cause::Served] += now - operation.mark;
            (operation.mark, operation.clocks) = (now, die.clocks);
        }
    }

    fn resume(&mut self, now: Ns, die: DieId, array_from: Ns) {
        let Self { operations, dies, .. } = self;
        let die = &mut dies[die.at()];
        die.occupy(now, Some(Cause::Suspension));
        std::mem::swap(&mut die.active, &mut die.suspended);
        for &number in &die.active {
            let operation = operations[number as usize].as_mut().expect("as in `operation`");
            operation.wait_out(now, &die.clocks);
            operation.own[Cause::Suspension] += array_from - now;
            operation.mark = array_from;
            die.next.get_or_insert((array_from, operation.cause));
        }
    }

    fn end(&mut self, now: Ns, command: &Command) -> Ended {
        let mut operation = self.operations[command.number as usize].take().expect("as in `operation`");
        if !operation.is_read {
            operation.own[Cause::Served] += now - operation.mark;
        }
        let die = &mut self.dies[command.die.at()];
        die.active.retain(|&number| number != command.number);
        if die.active.is_empty() {
            die.occupy(now, (!die.suspended.is_empty()).then_some(Cause::Suspension));
        }
        let ended_on = self.clocks(now, command.die.0);
        self.last = job_of(command.kind, command.origin);
        let mut waiter = operation.waiters;
        while waiter != NO_INDEX {
            let clocks = self.clocks(now, self.die_of[waiter as usize]);
            let last = self.last;
            let waiting = self.operation(waiter);
            if waiting.issued_ns == operation.issued_ns {
                waiting.own = operation.own.for_waiters(operation.cause);
                waiting.mark = now;
            } else {
                waiting.wait_for(now, &ended_on, last);
            }
            waiting.clocks = clocks;
            waiter = waiting.sibling;
        }
        let mut parts = operation.before;
        parts.add(&operation.own);
        Ended { parts, issued_ns: operation.issued_ns, started_ns: operation.started_ns }
    }
}

impl Running {
    /// Attributes the time since `mark` to what the operation's die executed.
    fn wait_out(&mut self, now: Ns, clocks: &Parts) {
        self.own.add(&clocks.since(&self.clocks));
        self.mark = now;
    }

    /// Attributes the time since `mark` to what the die executed, or to `job` while the die was idle.
    fn wait_for(&mut self, now: Ns, clocks: &Parts, job: Cause) {
        let waited = clocks.since(&self.clocks);
        self.own.add(&waited);
        self.own[job] += now - self.mark - waited.total();
        (self.mark, self.clocks) = (now, *clocks);
    }

    /// Attributes the time from `mark` to `ends`: `transfer_ns` to the transfer itself, the rest to the wait for the
    /// channel. `ends` may lie in the future.
    fn cross(&mut self, now: Ns, ends: Ns, transfer_ns: Ns) {
        let served = transfer_ns.min(ends - now);
        self.own[Cause::Served] += served;
        self.own[Cause::Channel] += ends - now - served;
        self.mark = ends;
    }
}

#[cfg(test)]
mod tests;
