//! The array's part of a trace: what dies and channels are at.

use std::io::Write;

use flashloom_nand::{Command, DieId, Event, Geometry, OperationKind, Origin};
use flashloom_units::Ns;

use super::track::{Flow, Trace, Track};

/// Operations of the planes of a die that run as one.
#[derive(Clone, Debug)]
struct Group {
    since: Ns,
    command: Command,
    flows: Vec<Flow>,
    planes: u32,
    array_from: Ns,
    transfer_ns: Ns,
    is_staged: bool,
}

impl Group {
    fn is_one_with(&self, other: &Self) -> bool {
        let key =
            |group: &Self| (group.command.die, group.command.kind, group.since, group.array_from, group.is_staged);
        key(self) == key(other)
    }
}

#[derive(Debug)]
struct Die {
    track: Track,
    channel: Track,
    /// Operations that have not ended, of each group that the die is at; more than one while one is suspended.
    active: Vec<u32>,
    /// A group whose data is in the die while that still programs.
    staged: Option<Group>,
}

/// Tracks of dies and channels.
#[derive(Debug, Default)]
pub(super) struct Array {
    dies: Vec<Die>,
    /// By the number of the operation: where its arrow comes from, and its die.
    operations: Vec<(Flow, u32)>,
    /// A group that others may join: the operations of a group are told one after the other.
    joining: Option<Group>,
}

impl Array {
    pub(super) fn new<W: Write>(geometry: &Geometry, trace: &mut Trace<W>) -> Self {
        let (channels, dies) = (trace.group("Channels", 4), trace.group("Dies", 5));
        let tracks = |trace: &mut Trace<W>, group, name: &str, count: u32| {
            (0..count).map(|number| trace.track(group, &format!("{name} {number}"), number)).collect::<Vec<_>>()
        };
        let channels = tracks(trace, channels, "channel", geometry.channels);
        let dies = tracks(trace, dies, "die", geometry.total_dies());
        let die = |(number, track)| {
            let channel = channels[geometry.channel_of(DieId(number)) as usize];
            Die { track, channel, active: Vec::new(), staged: None }
        };
        Self { dies: (0..).zip(dies).map(die).collect(), operations: Vec::new(), joining: None }
    }

    /// Something happened in the array; `flow` is that of an operation that was issued.
    pub(super) fn see<W: Write>(&mut self, now: Ns, event: &Event, flow: Flow, trace: &mut Trace<W>) {
        if let Event::Started { command, array_from, transfer_ns, is_staged } = *event {
            let flows = vec![self.operations[command.number as usize].0];
            let group = Group { since: now, command, flows, planes: 1, array_from, transfer_ns, is_staged };
            return self.start(group, trace);
        }
        self.settle(trace);
        match *event {
            Event::Issued(command, _) => *super::entry(&mut self.operations, command.number) = (flow, command.die.0),
            Event::Queued { number, die } => self.operations[number as usize].1 = die.0,
            Event::Began { number, .. } => self.go_on(now, number, trace),
            Event::Transferring { number, ends, transfer_ns } => {
                let die = &self.dies[self.operations[number as usize].1 as usize];
                transfer(trace, die.channel, ends, transfer_ns, "data of a read");
            }
            Event::Ended { command, .. } => self.end(now, command.die, trace),
            _ => {}
        }
    }

    /// An operation starts: as part of the group that was told right before it, or of one of its own.
    fn start<W: Write>(&mut self, group: Group, trace: &mut Trace<W>) {
        if let Some(before) = &mut self.joining
            && before.is_one_with(&group)
        {
            before.flows.extend(group.flows);
            before.planes += 1;
            return;
        }
        self.settle(trace);
        self.joining = Some(group);
    }

    /// The group that others might have joined is whole.
    fn settle<W: Write>(&mut self, trace: &mut Trace<W>) {
        let Some(group) = self.joining.take() else { return };
        let die = &mut self.dies[group.command.die.0 as usize];
        let transfer_ns = group.transfer_ns * Ns::from(group.planes);
        let is_program = group.command.kind == OperationKind::Program;
        let what = if is_program { "data of a program" } else { "command" };
        transfer(trace, die.channel, group.array_from, transfer_ns, what);
        if group.is_staged {
            die.staged = Some(group);
        } else {
            die.begin(group.since, &group, trace);
        }
    }

    /// A staged operation is what its die is at from now on; it is told once for each plane.
    fn go_on<W: Write>(&mut self, now: Ns, number: u32, trace: &mut Trace<W>) {
        let die = &mut self.dies[self.operations[number as usize].1 as usize];
        if let Some(group) = die.staged.take() {
            die.begin(now, &group, trace);
        }
    }

    /// An operation ends; what a die began last ends first.
    fn end<W: Write>(&mut self, now: Ns, die: DieId, trace: &mut Trace<W>) {
        let die = &mut self.dies[die.0 as usize];
        let left = die.active.last_mut().expect("an operation starts before it ends");
        *left -= 1;
        if *left == 0 {
            die.active.pop();
            trace.end(now, die.track);
        }
    }
}

impl Die {
    fn begin<W: Write>(&mut self, now: Ns, group: &Group, trace: &mut Trace<W>) {
        let Command { kind, origin, block, ppn, .. } = group.command;
        let notes = [("block", block.0.into()), ("ppn", ppn.0.into()), ("planes", group.planes.into())];
        trace.begin(now, self.track, operation(kind, origin), &group.flows, &notes);
        self.active.push(group.planes);
    }
}

/// A transfer on a channel, known when it is booked.
fn transfer<W: Write>(trace: &mut Trace<W>, channel: Track, ends: Ns, transfer_ns: Ns, what: &'static str) {
    if transfer_ns > 0 {
        trace.begin(ends - transfer_ns, channel, what, &[], &[]);
        trace.end(ends, channel);
    }
}

/// Name of an operation, and of the work that it is part of.
const fn operation(kind: OperationKind, origin: Origin) -> &'static str {
    match (kind, origin) {
        (OperationKind::Read, Origin::Host) => "read",
        (OperationKind::Read, Origin::Gc) => "read for a collection",
        (OperationKind::Read, Origin::Merge) => "read for a merge",
        (OperationKind::Read, Origin::Map) => "read of the map",
        (OperationKind::Read, Origin::Wear) => "read for wear levelling",
        (OperationKind::Read, Origin::Fold) => "read for folding",
        (OperationKind::Program, Origin::Host) => "program",
        (OperationKind::Program, Origin::Gc) => "program for a collection",
        (OperationKind::Program, Origin::Merge) => "program for a merge",
        (OperationKind::Program, Origin::Map) => "program of the map",
        (OperationKind::Program, Origin::Wear) => "program for wear levelling",
        (OperationKind::Program, Origin::Fold) => "program for folding",
        (OperationKind::Copyback, _) => "copyback",
        (OperationKind::Erase, _) => "erase",
        (OperationKind::Hold, _) => "hold",
    }
}
