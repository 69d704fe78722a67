//! The anatomy of a request in the host: from arrival to dispatch.

use flashloom_host::{Dispatched, RequestId};
use flashloom_units::Ns;
use flashloom_workload::{Op, Request};
use serde::{Deserialize, Serialize};

use super::cause::{Cause, Parts};

/// An outstanding request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Waiting {
    request: Request,
    admitted_ns: Ns,
    /// [`Host::clock`] at its admission.
    full_ns: Ns,
}

/// A command in the drive.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) dispatched_ns: Ns,
    pub(super) lba: u64,
    pub(super) sectors: u32,
    pub(super) op: Op,
    pub(super) flags: u8,
    /// [`Host::clock`] at its dispatch.
    full_ns: Ns,
}

/// Requests and commands, and a clock that runs only while the drive is full, with `queue_depth` commands. Time in the
/// scheduler while it runs is [`Cause::Tag`]; other time there is [`Cause::Scheduler`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Host {
    queue_depth: u32,
    in_flight: u32,
    full_ns: Ns,
    full_since: Ns,
    members: Vec<Option<Waiting>>,
    sent: Vec<Option<Sent>>,
}

impl Host {
    pub(super) fn new(queue_depth: u32) -> Self {
        Self { queue_depth, in_flight: 0, full_ns: 0, full_since: 0, members: Vec::new(), sent: Vec::new() }
    }

    fn clock(&self, now: Ns) -> Ns {
        self.full_ns + if self.in_flight >= self.queue_depth { now - self.full_since } else { 0 }
    }

    pub(super) fn admit(&mut self, now: Ns, member: u32, request: Request) {
        let waiting = Waiting { request, admitted_ns: now, full_ns: self.clock(now) };
        put(&mut self.members, member, waiting);
    }

    pub(super) fn dispatch(&mut self, now: Ns, command: &Dispatched) {
        let Dispatched { lba, id, sectors, op, flags, .. } = *command;
        let sent = Sent { dispatched_ns: now, lba, sectors, op, flags, full_ns: self.clock(now) };
        put(&mut self.sent, id.0, sent);
        self.in_flight += 1;
        if self.in_flight == self.queue_depth {
            self.full_since = now;
        }
    }

    pub(super) fn sent(&self, id: RequestId) -> Option<&Sent> {
        self.sent.get(id.0 as usize)?.as_ref()
    }

    pub(super) fn finish(&mut self, now: Ns, id: RequestId) -> Option<Sent> {
        self.full_ns = self.clock(now);
        self.full_since = now;
        self.in_flight -= 1;
        self.sent.get_mut(id.0 as usize)?.take()
    }

    /// Called when a request of a command has ended; returns the request, its admission time, and its parts up to
    /// dispatch.
    pub(super) fn end(&mut self, member: u32, sent: &Sent) -> Option<(Request, Ns, Parts)> {
        let Waiting { request, admitted_ns, full_ns } = self.members.get_mut(member as usize)?.take()?;
        let mut parts = Parts::default();
        parts[Cause::NrRequests] = admitted_ns - request.arrival_ns;
        parts[Cause::Tag] = sent.full_ns - full_ns;
        parts[Cause::Scheduler] = sent.dispatched_ns - admitted_ns - parts[Cause::Tag];
        Some((request, admitted_ns, parts))
    }
}

/// Stores a value at index `number` of a table, which grows as needed.
pub(super) fn put<T: Clone>(table: &mut Vec<Option<T>>, number: u32, value: T) {
    let at = number as usize;
    if at >= table.len() {
        table.resize(at + 1, None);
    }
    table[at] = Some(value);
}
