//! A stack that is saved at a random moment and loaded into one that is built anew goes on as if nothing had happened.
//!
//! Strategy: a random drive under a random combination of policies, the same as in `random_operations.rs`, below a block
//! layer with a random scheduler, few requests and merging. It is aged by writes that take no time, and then serves some
//! hundred random requests, timed or only counted, with steps of background work between them. On the way it is saved
//! at random moments. Each state is loaded into a stack of its own, which then serves what is left of the requests: it
//! must make the same decisions at the same times, report the same in the end, and have the same state in the end, to
//! the byte. The checks of a verified run are on in all of them. Every policy of every slot must have taken part.
#![allow(missing_docs)]

mod support;

use std::collections::{BTreeSet, VecDeque};

use flashloom_buffer::{order, rate};
use flashloom_device::{Ageing, Completion, Drive, DriveSetup, Engine, Outcome, Submitted};
use flashloom_ftl::{allocation, collection, mapping, placement};
use flashloom_host::{BlockLayer, HostParams};
use flashloom_units::{
    Kind, Latency, MS, Ns, Param, ParamSet, PolicySpec, Prng, Slot, US, Value, load_state, save_state,
};
use flashloom_workload::{Op, Request};
use support::random::{pick, random_requests, random_setup, seeds_asked_for};

/// What a stack is built from.
struct Plan {
    drive: DriveSetup,
    host: HostParams,
    scheduler: Vec<Value>,
    timed: bool,
    requests: Vec<Request>,
    idle_delay_ns: Ns,
}

impl Plan {
    /// None where policies and device do not go together.
    fn new(prng: &mut Prng, requests: usize) -> Option<Self> {
        let mut drive = random_setup(prng);
        if prng.chance(0.15) {
            spread_streams(&mut drive);
        }
        if flashloom_ftl::misfit(&drive.device, &drive.ftl).is_some() {
            return None;
        }
        let scheduler = pick(prng, flashloom_host::SLOT.policies);
        let host = HostParams {
            scheduler: scheduler.name,
            queue_depth: pick(prng, &[1, 4, 31]),
            nr_requests: pick(prng, &[2, 8, 64]),
            merging: prng.chance(0.7),
            ..HostParams::defaults()
        };
        let values: Vec<Value> = scheduler.params.iter().map(|param| impatient(prng, param)).collect();
        let setup = BlockLayer::setup(&host, drive.device.capacity_sectors());
        flashloom_host::build(scheduler.name, &values, &setup)?.ok()?;
        let mut requests = random_requests(prng, drive.device.capacity_sectors(), requests);
        let tasks = pick(prng, &[1, 5, 4_000]);
        for request in requests.iter_mut().filter(|request| request.op != Op::Flush) {
            request.task = prng.below(tasks) as u32;
            request.flags |= if prng.chance(0.3) { Request::SYNC } else { 0 };
        }
        let idle_delay_ns = pick(prng, &[0, MS]);
        Some(Self { drive, host, scheduler: values, timed: prng.chance(0.7), requests, idle_delay_ns })
    }

    fn policies(&self) -> [(&'static str, &'static str); 8] {
        let ftl = &self.drive.ftl;
        [
            ("scheduler", self.host.scheduler),
            ("order", self.drive.buffer.order),
            ("rate", self.drive.buffer.rate),
            ("mapping", ftl.params.mapping),
            ("allocation", ftl.params.allocation),
            ("collection", ftl.params.gc),
            ("placement", ftl.placement.0),
            ("mode", if self.timed { "timed" } else { "counting" }),
        ]
    }

    /// A new stack, whose drive is new.
    fn build(&self) -> Stack {
        let setup = BlockLayer::setup(&self.host, self.drive.device.capacity_sectors());
        let scheduler = flashloom_host::build(self.host.scheduler, &self.scheduler, &setup).unwrap().unwrap();
        let engine = Engine::new(BlockLayer::new(&self.host, scheduler), Drive::new(&self.drive), self.idle_delay_ns);
        Stack { engine, next: 0, backlog: VecDeque::new(), log: Vec::new() }
    }

    /// A stack that goes on from a state.
    fn load(&self, bytes: &[u8], is_aged_only: bool) -> Stack {
        let mut stack = self.build();
        if self.timed && !is_aged_only {
            stack.engine.start_timing(&self.drive.device);
        }
        load_state(&mut stack, bytes).unwrap();
        assert!(save_state(&stack).unwrap() == bytes, "what was loaded is saved as it was");
        stack
    }
}

/// Makes it a page map that spreads streams when it collects them, over blocks that fail often: what chance seldom meets.
fn spread_streams(drive: &mut DriveSetup) {
    let slap = allocation::SLOT.find("slap").unwrap();
    let set = [("stream_threshold", 2), ("read_hot", 1)].map(|(name, value)| (name, Value::Count(value)));
    drive.ftl = drive.ftl.clone().with_mapping("page", &[]);
    drive.ftl.params.allocation = slap.name;
    drive.ftl.allocation = slap.values(&[&set[..], &[("read_reorganization", Value::Flag(true))]].concat());
    (drive.device.program_failures, drive.device.erase_failures) = (0.005, 0.05);
}

/// A value that lets the few requests of a run see all that a scheduler does: its times are short where they can be.
fn impatient(prng: &mut Prng, param: &Param) -> Value {
    match param.kind {
        Kind::Flag => Value::Flag(prng.chance(0.5)),
        Kind::Time { min, .. } if prng.chance(0.7) => Value::Time(min.max(pick(prng, &[100 * US, MS, 5 * MS]))),
        Kind::Size { min, .. } if prng.chance(0.7) => Value::Size(min * pick(prng, &[1, 4, 64])),
        _ => param.default.clone(),
    }
}

/// An engine with all that whoever drives it remembers.
struct Stack {
    engine: Engine,
    /// The next request to arrive, and those that found no room.
    next: usize,
    backlog: VecDeque<usize>,
    log: Vec<Event>,
}

flashloom_units::state! { Stack { nested engine; value next, backlog; fixed log; } }

#[derive(Debug, PartialEq)]
enum Event {
    Submitted(Ns, usize, Submitted),
    Completed(Completion),
    Advanced(Ns),
}

impl Stack {
    fn age(&mut self, plan: &Plan, prng: &mut Prng) {
        let fill_pages = prng.below(plan.drive.device.logical_pages() + 1);
        self.engine.precondition(&Ageing { fill_pages, fill_streams: false, overwrite: None }, &mut |_| {});
    }

    /// Does what is due next; false once all is served.
    fn step(&mut self, plan: &Plan) -> bool {
        let now = self.engine.now_ns();
        let arrives = plan.requests.get(self.next).map_or(Ns::MAX, |request| request.arrival_ns.max(now));
        let due = self.engine.next_event_ns().unwrap_or(Ns::MAX);
        if arrives.min(due) == Ns::MAX {
            return false;
        }
        if arrives <= due {
            self.backlog.push_back(self.next);
            self.next += 1;
            if self.backlog.len() == 1 {
                self.submit(plan, arrives);
            }
            return true;
        }
        self.engine.advance_to(due).unwrap();
        self.log.push(Event::Advanced(due));
        self.log.extend(self.engine.completions().map(Event::Completed));
        while !self.backlog.is_empty() && self.submit(plan, due) {}
        true
    }

    fn submit(&mut self, plan: &Plan, at: Ns) -> bool {
        let index = self.backlog[0];
        let submitted = self.engine.submit(at, &plan.requests[index], index as u32).unwrap();
        self.log.push(Event::Submitted(at, index, submitted));
        let is_accepted = submitted == Submitted::Accepted;
        if is_accepted {
            self.backlog.pop_front();
        }
        is_accepted
    }

    /// Everything that is reported at the end, and the state then.
    fn finish(mut self, plan: &Plan) -> (Vec<Event>, String, Vec<u8>) {
        while self.step(plan) {}
        assert_eq!((self.engine.outstanding(), self.backlog.len()), (0, 0), "all is served or has failed");
        self.engine.check().unwrap();
        let bytes = save_state(&self).unwrap();
        (self.log, shown(self.engine.outcome()), bytes)
    }
}

/// An outcome in words, its distributions by their moments.
fn shown(outcome: Outcome) -> String {
    let Outcome { host, scheduler, mut ftl, .. } = outcome;
    let of = |latency: &Latency| (latency.count(), latency.sum(), latency.percentile(90.0), latency.stddev());
    let latencies = [&host.read_latency, &host.write_latency, &host.other_latency, &host.device_latency].map(of);
    let waits = scheduler.wait.each_ref().map(of);
    let merges = ftl.merges.take().map(|merges| {
        (
            of(&merges.blocking_ns),
            merges.switch,
            merges.partial,
            merges.full,
            merges.filler_pages,
            merges.migrated_pages,
        )
    });
    format!(
        "{latencies:?} {waits:?} {merges:?} {ftl:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {}",
        (host.generated, host.completed, host.failed, host.read_bytes, host.write_bytes, host.duration_ns),
        outcome.scheduler_figures,
        outcome.buffer,
        outcome.counts,
        outcome.utilization,
        outcome.erase_counts,
        outcome.sectors_checked,
        outcome.end_of_life,
        (scheduler.merged, scheduler.expired),
        scheduler.direction_switches,
    )
}

/// Saves a stack at some random moments and lets each state go on; returns at how many.
fn run(seed: u64, requests: usize, moments: u64, policies: &mut BTreeSet<(&'static str, &'static str)>) -> u64 {
    let mut prng = Prng::new(seed);
    let Some(plan) = Plan::new(&mut prng, requests) else { return 0 };
    policies.extend(plan.policies());
    let mut stack = plan.build();
    stack.age(&plan, &mut prng);
    // Steps at which a state is saved: the first one before time is started.
    let mut at: Vec<u64> = (1..moments).map(|_| prng.below(2 * plan.requests.len() as u64)).collect();
    at.sort_unstable();
    let mut saved = vec![(0, save_state(&stack).unwrap())];
    if plan.timed {
        stack.engine.start_timing(&plan.drive.device);
    }
    let mut at = at.into_iter().peekable();
    for step in 0.. {
        while at.next_if_eq(&step).is_some() {
            saved.push((stack.log.len(), save_state(&stack).unwrap()));
        }
        if at.peek().is_none() || !stack.step(&plan) {
            break;
        }
    }
    let (log, report, bytes) = stack.finish(&plan);
    for (index, (done, state)) in saved.iter().enumerate() {
        let mut loaded = plan.load(state, index == 0);
        if index == 0 && plan.timed {
            loaded.engine.start_timing(&plan.drive.device);
        }
        let (its_log, its_report, its_bytes) = loaded.finish(&plan);
        let place = format!("seed {seed}, state {index} after {done} events of {:?}", plan.policies());
        for (own, other) in log[*done..].iter().zip(&its_log) {
            assert_eq!(own, other, "{place}");
        }
        assert_eq!(log.len() - done, its_log.len(), "{place}");
        assert_eq!(report, its_report, "{place}");
        assert!(bytes == its_bytes, "{place}: the states in the end differ");
    }
    saved.len() as u64
}

#[test]
fn a_loaded_stack_goes_on_as_the_saved_one_at_2500_random_moments() {
    let (mut moments, mut policies) = (0, BTreeSet::new());
    for seed in 0.. {
        moments += run(seed, 200, 5, &mut policies);
        if moments >= 2_500 {
            break;
        }
    }
    let slots: [(&str, &Slot); 7] = [
        ("scheduler", &flashloom_host::SLOT),
        ("order", &order::SLOT),
        ("rate", &rate::SLOT),
        ("mapping", &mapping::SLOT),
        ("allocation", &allocation::SLOT),
        ("collection", &collection::SLOT),
        ("placement", &placement::SLOT),
    ];
    let named = |(kind, slot): &(&'static str, &'static Slot)| {
        let kind = *kind;
        slot.policies.iter().map(move |policy: &&PolicySpec| (kind, policy.name)).collect::<Vec<_>>()
    };
    let modes = [("mode", "timed"), ("mode", "counting")];
    let all: BTreeSet<_> = slots.iter().flat_map(named).chain(modes).collect();
    assert_eq!(all.difference(&policies).collect::<Vec<_>>(), Vec::<&(&str, &str)>::new(), "policies not tried");
}

/// The long form.
#[test]
fn as_many_runs_as_are_asked_for() {
    for seed in seeds_asked_for() {
        println!("seed {seed}");
        run(seed, 1_600, 20, &mut BTreeSet::new());
    }
}

/// States of a few hundred to a few thousand bytes, taken in the midst of a run, with what they were saved from.
fn small_states() -> impl Iterator<Item = (Plan, Vec<u8>)> {
    (0..).filter_map(|seed| {
        let mut prng = Prng::new(seed);
        let mut plan = Plan::new(&mut prng, 160)?;
        plan.timed = true;
        let mut stack = plan.build();
        stack.age(&plan, &mut prng);
        stack.engine.start_timing(&plan.drive.device);
        (0..prng.below(200)).all(|_| stack.step(&plan)).then_some(())?;
        let bytes = save_state(&stack).unwrap();
        (bytes.len() < 6_000).then_some((plan, bytes))
    })
}

#[test]
fn a_state_that_ends_early_is_refused_wherever_it_ends() {
    for (plan, bytes) in small_states().take(4) {
        let mut stack = plan.build();
        stack.engine.start_timing(&plan.drive.device);
        for length in 0..bytes.len() {
            let error = load_state(&mut stack, &bytes[..length]).unwrap_err();
            assert!(error.at <= length && !error.field.is_empty(), "{error}");
        }
        load_state(&mut stack, &bytes).unwrap();
    }
}

/// What it is may be wrong, which only a checksum can tell; but loading it never panics.
#[test]
fn a_damaged_state_is_refused_or_loaded() {
    let (mut refused, mut loaded) = (0, 0);
    for (seed, (plan, bytes)) in small_states().take(12).enumerate() {
        let mut prng = Prng::new(seed as u64);
        let mut stack = plan.build();
        stack.engine.start_timing(&plan.drive.device);
        for _ in 0..400 {
            let mut damaged = bytes.clone();
            for _ in 0..=prng.below(3) {
                let at = prng.below(bytes.len() as u64) as usize;
                damaged[at] = pick(&mut prng, &[0, 0x7f, 0x80, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x40]);
            }
            match load_state(&mut stack, &damaged) {
                Ok(()) => loaded += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 100 && loaded > 100, "{refused} refused, {loaded} loaded");
}

#[test]
fn a_state_of_another_configuration_is_refused_with_the_field_that_does_not_fit() {
    let plan = |change: fn(&mut Plan)| {
        let mut drive = DriveSetup::with_defaults(support::plain_device());
        drive.verify = true;
        let host = HostParams::defaults();
        let scheduler = flashloom_host::SLOT.find(host.scheduler).unwrap().values(&[]);
        let mut plan = Plan { drive, host, scheduler, timed: false, requests: Vec::new(), idle_delay_ns: 0 };
        change(&mut plan);
        plan
    };
    let bytes = save_state(&plan(|_| {}).build()).unwrap();
    let refused = |change| load_state(&mut plan(change).build(), &bytes).unwrap_err().to_string();
    let expected = |text: &str, message: String| assert!(message.contains(text), "{message}");
    expected("`engine.drive.nand.written`", refused(|plan| plan.drive.device.blocks += 1));
    expected("`engine.drive.nand.verifier`", refused(|plan| plan.drive.verify = false));
    expected("`engine.drive.buffer.slots`", refused(|plan| plan.drive.buffer.capacity_bytes -= 1 << 20));
    expected("`engine.host.requests.slots`", refused(|plan| plan.host.nr_requests += 1));
    let mut timed = plan(|_| {}).build();
    timed.engine.start_timing(&support::plain_device());
    expected("`engine.drive.nand.timed`", load_state(&mut timed, &bytes).unwrap_err().to_string());
}
