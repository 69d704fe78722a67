//! A run as a trace for the Perfetto viewer: requests, scheduler, buffer, channels, dies and the jobs of the FTL as
//! tracks.
//!
//! ```text
//! Requests    a slice for each, from its admission to its end, in as many lanes as are outstanding at once
//! Scheduler   the requests that wait in it; a slice for each command, from dispatch to return
//! Buffer      dirty pages; a slice for each page that is evicted, until it is in flash
//! FTL         collections, merges, moves for wear: a slice for each job
//! Channels    a slice for each transfer
//! Dies        a slice for each array operation, of one plane or several, from its start to its end; reads that
//!             suspend one lie on top of it, so that the slices below add up to the die's busy time
//! ```
//!
//! Arrows (flows) lead from a request to its command and on to the flash operations that are done for it, those of a
//! buffered write included, which come when its page is evicted. The trace is written as the run goes; what is kept is
//! what has not ended. Packets are encoded by `prost` from messages that are declared here, without a compiler of
//! `.proto` files.

mod array;
mod packet;
#[cfg(test)]
mod tests;
mod track;

use std::io::{self, Write};

use flashloom_device::{CommandId, DriveEvent, Event, Interest, Observer, Target, Waiter};
use flashloom_host::{Dispatched, RequestId};
use flashloom_nand::{BlockId, Origin};
use flashloom_units::Ns;
use flashloom_workload::Request;

use array::Array;
use track::{Flow, Lanes, Trace, Track};

/// A request that has not ended.
#[derive(Clone, Copy)]
struct Admitted {
    at: Ns,
    lane: usize,
    request: Request,
}

/// A command at the drive.
#[derive(Clone, Copy)]
struct Sent {
    lane: usize,
    flow: Flow,
}

/// A page in a slot of the buffer.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// That of the command that wrote it, or that it was read for.
    flow: Flow,
    is_dirty: bool,
    /// Its lane while it is evicted.
    lane: Option<usize>,
}

/// Observer that writes a run as a trace. The first error stops the trace, not the run; [`Self::finish`] returns it.
pub struct Perfetto<W> {
    trace: Trace<W>,
    requests: Lanes,
    members: Vec<Option<Admitted>>,
    queued: (Track, i64),
    commands: Lanes,
    sent: Vec<Option<Sent>>,
    /// Commands so far; each has a flow of its own.
    flows: u64,
    returned: Flow,
    /// Flow of each command of the drive.
    held: Vec<Flow>,
    dirty: (Track, i64),
    evictions: Lanes,
    slots: Vec<Slot>,
    jobs: Lanes,
    running: Vec<(Origin, BlockId, usize)>,
    array: Array,
}

/// The entry of a number in a table that grows to the greatest number ever used.
fn entry<T: Clone + Default>(table: &mut Vec<T>, number: u32) -> &mut T {
    let at = number as usize;
    if at >= table.len() {
        table.resize(at + 1, T::default());
    }
    &mut table[at]
}

impl<W: Write> Perfetto<W> {
    /// Starts a trace on an output.
    pub fn new(output: W) -> Self {
        let mut trace = Trace::new(output);
        let [requests, scheduler, buffer, ftl] =
            [("Requests", 0), ("Scheduler", 1), ("Buffer", 2), ("FTL", 3)].map(|(name, rank)| trace.group(name, rank));
        let queued = trace.counter(scheduler, "requests in the scheduler");
        let dirty = trace.counter(buffer, "dirty pages");
        Self {
            requests: Lanes::new(requests, "request"),
            members: Vec::new(),
            queued,
            commands: Lanes::new(scheduler, "command"),
            sent: Vec::new(),
            flows: 0,
            returned: Flow::NONE,
            held: Vec::new(),
            dirty,
            evictions: Lanes::new(buffer, "eviction"),
            slots: Vec::new(),
            jobs: Lanes::new(ftl, "job"),
            running: Vec::new(),
            array: Array::default(),
            trace,
        }
    }

    /// Returns the output.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(self) -> io::Result<W> {
        self.trace.finish()
    }

    fn admit(&mut self, now: Ns, member: u32, request: Request) {
        let lane = self.requests.take(&mut self.trace);
        *entry(&mut self.members, member) = Some(Admitted { at: now, lane, request });
        self.trace.count(now, &mut self.queued, 1);
    }

    fn dispatch(&mut self, now: Ns, command: &Dispatched) {
        self.flows += 1;
        let flow = Flow(self.flows);
        let lane = self.commands.take(&mut self.trace);
        *entry(&mut self.sent, command.id.0) = Some(Sent { lane, flow });
        let notes = [("lba", command.lba), ("sectors", command.sectors.into())];
        self.trace.begin(now, self.commands.track(lane), command.op.name(), &[flow], &notes);
    }

    fn returned(&mut self, now: Ns, id: RequestId) {
        if let Some(Sent { lane, flow }) = entry(&mut self.sent, id.0).take() {
            let track = self.commands.free(lane);
            self.trace.end(now, track);
            self.returned = flow;
        }
    }

    /// A request is written when it ends, because its command is known then.
    fn ended(&mut self, now: Ns, member: u32) {
        let Some(Admitted { at, lane, request }) = entry(&mut self.members, member).take() else { return };
        let track = self.requests.free(lane);
        let notes = [
            ("lba", request.lba),
            ("sectors", request.sectors.into()),
            ("task", request.task.into()),
            ("held_ns", at - request.arrival_ns),
        ];
        self.trace.begin(at, track, request.op.name(), &[self.returned], &notes);
        self.trace.end(now, track);
    }

    fn flow_of(&self, command: CommandId) -> Flow {
        self.held.get(command.0 as usize).copied().unwrap_or_default()
    }

    fn drive(&mut self, now: Ns, event: &DriveEvent) {
        match *event {
            DriveEvent::Accepted { command, id } => {
                let sent = *entry(&mut self.sent, id.0);
                *entry(&mut self.held, command.0) = sent.map_or(Flow::NONE, |sent| sent.flow);
            }
            DriveEvent::ReadFlash { command, slot: Some(slot), .. } => {
                entry(&mut self.slots, slot.0).flow = self.flow_of(command);
            }
            DriveEvent::Stored { command, slot, .. } => {
                let flow = self.flow_of(command);
                let page = entry(&mut self.slots, slot.0);
                page.flow = flow;
                if !std::mem::replace(&mut page.is_dirty, true) {
                    self.trace.count(now, &mut self.dirty, 1);
                }
            }
            DriveEvent::Evicted { slot: Some(slot), page } => {
                let lane = self.evictions.take(&mut self.trace);
                let held = entry(&mut self.slots, slot.0);
                held.lane = Some(lane);
                let (flow, was_dirty) = (held.flow, std::mem::take(&mut held.is_dirty));
                let track = self.evictions.track(lane);
                self.trace.begin(now, track, "eviction", &[flow], &[("lpn", page.lpn.0.into())]);
                self.trace.count(now, &mut self.dirty, -i64::from(was_dirty));
            }
            _ => {}
        }
    }

    fn flash(&mut self, now: Ns, event: &flashloom_nand::Event) {
        use flashloom_nand::Event as Flash;
        let flow = match *event {
            Flash::Issued(command, _) => match Waiter::of(command.tag) {
                Waiter::Command(id) => self.flow_of(id),
                Waiter::Programmed(slot) | Waiter::Filled(slot) => entry(&mut self.slots, slot.0).flow,
                Waiter::Cached(_) | Waiter::Nobody => Flow::NONE,
            },
            Flash::Ended { command, .. } => {
                if let Waiter::Programmed(slot) = Waiter::of(command.tag)
                    && let Some(lane) = entry(&mut self.slots, slot.0).lane.take()
                {
                    let track = self.evictions.free(lane);
                    self.trace.end(now, track);
                }
                Flow::NONE
            }
            Flash::JobBegan { origin, block } => {
                let lane = self.jobs.take(&mut self.trace);
                self.running.push((origin, block, lane));
                self.trace.begin(now, self.jobs.track(lane), job(origin), &[], &[("block", block.0.into())]);
                Flow::NONE
            }
            Flash::JobEnded { origin, block } => {
                let at = self.running.iter().position(|&(of, freed, _)| (of, freed) == (origin, block));
                if let Some(at) = at {
                    let track = self.jobs.free(self.running.swap_remove(at).2);
                    self.trace.end(now, track);
                }
                Flow::NONE
            }
            _ => Flow::NONE,
        };
        self.array.see(now, event, flow, &mut self.trace);
    }
}

const fn job(origin: Origin) -> &'static str {
    match origin {
        Origin::Host => "write",
        Origin::Gc => "collection",
        Origin::Merge => "merge",
        Origin::Map => "map",
        Origin::Wear => "wear levelling",
        Origin::Fold => "folding",
    }
}

impl<W: Write> Observer for Perfetto<W> {
    fn interest(&self) -> Interest {
        Interest { events: true, ..Interest::default() }
    }

    fn begin(&mut self, target: &dyn Target) {
        if let Some(engine) = target.engines().first() {
            self.array = Array::new(engine.nand().geometry(), &mut self.trace);
        }
    }

    fn event(&mut self, now: Ns, event: &Event) {
        match event {
            Event::Admitted { member, request } => self.admit(now, *member, *request),
            Event::Dispatched(command) => self.dispatch(now, command),
            Event::Returned { id, .. } => self.returned(now, *id),
            Event::Ended { member } => self.ended(now, *member),
            Event::Drive(event) => self.drive(now, event),
            Event::Flash(event) => self.flash(now, event),
            _ => {}
        }
    }
}
