//! What `max_overtakes` counts, held against the events of arrays under random operations.
//!
//! Counted are the commands of classes above one that a die begins while something of that class waits for the die,
//! from one turn of the class to its next; and the reads that it begins before one operation that is suspended or
//! staged. Planes that work together are one command, and jobs that nothing interrupts do not count.

use std::collections::BTreeMap;

use flashloom_nand::{
    BlockId, Command, Data, Erase, Event, MultiPlane, Nand, NandParams, OperationKind, Origin, Ppn, Program, Read,
    Suspend, Urgency,
};
use flashloom_units::{Ns, Prng, US};

use crate::support::device;

const CLASSES: usize = 4;

/// The classes as docs/model.md describes them.
fn class_of(command: &Command) -> usize {
    match (command.urgency, command.origin, command.kind) {
        (Urgency::Blocking, ..) => 0,
        (_, Origin::Host | Origin::Map, OperationKind::Read) => 1,
        (Urgency::Needed, ..) => 2,
        (Urgency::Spare, ..) => 3,
    }
}

/// State of one die.
#[derive(Default)]
struct Die {
    /// The class of each operation that has not ended.
    classes: BTreeMap<u32, usize>,
    waiting: [u32; CLASSES],
    overtaken: [u32; CLASSES],
    most_overtaken: u32,
    /// Operations that are suspended, or staged and not begun, and reads that began before each of them.
    suspended: Vec<u32>,
    staged: Vec<u32>,
    active: Vec<u32>,
    read_before: BTreeMap<u32, u32>,
    most_before: u32,
    /// The class and time of the command that began last: planes that join it begin at the same time.
    began: Option<(Ns, usize, bool)>,
}

impl Die {
    fn start(&mut self, now: Ns, command: &Command, is_staged: bool) {
        let class = class_of(command);
        self.waiting[class] -= 1;
        let is_new = self.began != Some((now, class, is_staged));
        self.began = Some((now, class, is_staged));
        if is_staged {
            self.staged.push(command.number);
        } else {
            self.active.push(command.number);
        }
        if !is_new {
            return;
        }
        self.overtaken[class] = 0;
        if class > 0 {
            for lower in (class + 1..CLASSES).filter(|&lower| self.waiting[lower] > 0) {
                self.overtaken[lower] += 1;
                self.most_overtaken = self.most_overtaken.max(self.overtaken[lower]);
            }
        }
        // What is suspended goes on before what is staged, so that reads go before the first of them.
        let held = if self.suspended.is_empty() { &self.staged } else { &self.suspended };
        if !is_staged && class == 1 {
            for number in held {
                let before = self.read_before.entry(*number).or_default();
                *before += 1;
                self.most_before = self.most_before.max(*before);
            }
        }
    }

    fn follow(&mut self, now: Ns, event: &Event) {
        match event {
            Event::Issued(command, _) => {
                self.classes.insert(command.number, class_of(command));
            }
            Event::Queued { number, .. } => self.waiting[self.classes[number]] += 1,
            Event::Started { command, is_staged, .. } => self.start(now, command, *is_staged),
            Event::Began { number, .. } => {
                self.staged.retain(|staged| staged != number);
                self.active.push(*number);
            }
            Event::Suspended { .. } => self.suspended = std::mem::take(&mut self.active),
            Event::Resumed { .. } => self.active = std::mem::take(&mut self.suspended),
            Event::Ended { command, .. } => self.end(command.number),
            _ => {}
        }
    }

    fn end(&mut self, number: u32) {
        self.active.retain(|active| *active != number);
        self.read_before.remove(&number);
    }
}

/// Runs random operations on four planes of a die; returns the most that a class and an operation were overtaken.
fn overtaken(params: &NandParams, prng: &mut Prng) -> (u32, u32) {
    let mut nand = Nand::new(params);
    for block in 0..4 * params.blocks {
        nand.program(of_map(block, 0, Origin::Host));
    }
    nand.watch();
    nand.start_timing(params);
    nand.events().for_each(drop);
    let mut next_page = vec![1; 4 * params.blocks as usize];
    let (mut die, mut now, mut left) = (Die::default(), 0, 3_000);
    while left > 0 || nand.in_flight() > 0 {
        let next = nand.next_event_ns().unwrap_or(Ns::MAX);
        let arrives = now + prng.below(60) * US;
        if left > 0 && (arrives <= next || nand.in_flight() < 40) {
            now = arrives.min(next);
            nand.set_now(now);
            left -= 1;
            emit(&mut nand, &mut next_page, params, prng);
        } else if next < Ns::MAX {
            now = nand.step(next, next);
            while nand.take_completed().is_some() {}
        }
        nand.next_event_ns();
        nand.events().for_each(|event| die.follow(now, &event));
    }
    (die.most_overtaken, die.most_before)
}

fn of_map(block: u32, page: u32, origin: Origin) -> Program {
    Program::new(BlockId(block), page, Data::Map { page: 0, base: Ppn::NONE }, origin)
}

fn emit(nand: &mut Nand, next_page: &mut [u32], params: &NandParams, prng: &mut Prng) {
    let block = prng.below(next_page.len() as u64) as u32;
    let page = &mut next_page[block as usize];
    let urgency = if prng.chance(0.3) { Urgency::Spare } else { Urgency::Needed };
    let origin = if urgency == Urgency::Spare { Origin::Gc } else { Origin::Host };
    if prng.chance(0.7) {
        nand.read(Read { tag: 1, ..Read::new(Ppn(block * params.pages), 0xff, Origin::Host) });
    } else if *page < params.pages {
        nand.program(Program { urgency, ..of_map(block, *page, origin) });
        *page += 1;
    } else {
        nand.erase(Erase { urgency, ..Erase::new(BlockId(block), Origin::Gc) });
        nand.program(Program { urgency, ..of_map(block, 0, origin) });
        *page = 1;
    }
}

#[test]
fn no_class_and_no_operation_is_overtaken_more_often_than_the_bound() {
    let mut reached = (0, 0);
    for seed in 0..60 {
        let mut prng = Prng::new(seed);
        let pick = |prng: &mut Prng, of: u64| prng.below(of) as usize;
        let params = NandParams {
            ways: 1,
            planes: 4,
            pages: 4,
            max_overtakes: [1, 2, 5, 16][pick(&mut prng, 4)],
            suspend: [Suspend::None, Suspend::Erase, Suspend::ProgramErase][pick(&mut prng, 3)],
            suspend_ns: 5 * US,
            multi_plane: [MultiPlane::None, MultiPlane::Aligned, MultiPlane::Independent][pick(&mut prng, 3)],
            cache_program: prng.chance(0.5),
            ..device()
        };
        let (class, operation) = overtaken(&params, &mut prng);
        let most = params.max_overtakes;
        assert!(class <= most && operation <= most, "seed {seed}: {class} and {operation} at {params:?}");
        reached.0 += u32::from(class == most);
        reached.1 += u32::from(operation == most);
    }
    assert!(reached.0 > 30 && reached.1 > 10, "the bounds are reached: {reached:?}");
}
