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
use flashloom_device::{Drive, DriveSetup};
use flashloom_ftl::{allocation, collection, mapping, placement};
use flashloom_host::{Admission, BlockLayer, Decision, Dispatched, HostParams, RequestId, Scheduler, scheduler};
use flashloom_units::{
    Chosen, Kind, Latency, MS, Ns, Param, ParamSet, Prng, Role, Slot, US, Value, load_state, save_state,
};
use flashloom_workload::{Op, Request};
use support::random::{pick, random_requests, random_setup, seeds_asked_for};

/// What a stack is built from.
struct Plan {
    drive: DriveSetup,
    host: HostParams,
    scheduler: Chosen<dyn Scheduler>,
    timed: bool,
    requests: Vec<Request>,
    /// Steps of background work before each request that finds the drive idle.
    background: Vec<u32>,
}

impl Plan {
    /// None where policies and device do not go together.
    fn new(prng: &mut Prng, requests: usize) -> Option<Self> {
        let mut drive = random_setup(prng);
        if prng.chance(0.15) {
            spread_streams(&mut drive);
        }
        if drive.ftl.profile(&drive.device).is_err() {
            return None;
        }
        let schedulers = scheduler::builtin();
        let policy = pick(prng, &schedulers.policies().iter().collect::<Vec<_>>());
        let host = HostParams {
            queue_depth: pick(prng, &[1, 4, 31]),
            nr_requests: pick(prng, &[2, 8, 64]),
            merging: prng.chance(0.7),
            ..HostParams::defaults()
        };
        let values = policy.spec.params.iter().map(|param| impatient(prng, param)).collect();
        let scheduler = policy.with_values(values);
        let setup = BlockLayer::setup(&host, drive.device.capacity_sectors());
        scheduler.build(&setup).ok()?;
        let mut requests = random_requests(prng, drive.device.capacity_sectors(), requests);
        let tasks = pick(prng, &[1, 5, 4_000]);
        for request in requests.iter_mut().filter(|request| request.op != Op::Flush) {
            request.task = prng.below(tasks) as u32;
            request.flags |= if prng.chance(0.3) { Request::SYNC } else { 0 };
        }
        let background = requests.iter().map(|_| prng.below(3) as u32).collect();
        Some(Self { drive, host, scheduler, timed: prng.chance(0.7), requests, background })
    }

    fn policies(&self) -> [(&'static str, &'static str); 8] {
        let ftl = &self.drive.ftl;
        [
            ("scheduler", self.scheduler.name()),
            ("order", self.drive.order.name()),
            ("rate", self.drive.rate.name()),
            ("mapping", ftl.mapping.name()),
            ("allocation", ftl.allocation.name()),
            ("collection", ftl.collection.name()),
            ("placement", ftl.placement.name()),
            ("mode", if self.timed { "timed" } else { "counting" }),
        ]
    }

    /// A new stack, whose drive is new.
    fn build(&self) -> Stack {
        let setup = BlockLayer::setup(&self.host, self.drive.device.capacity_sectors());
        let scheduler = self.scheduler.build(&setup).unwrap();
        Stack {
            layer: BlockLayer::new(&self.host, scheduler),
            drive: Drive::new(&self.drive).unwrap(),
            now: 0,
            wakes_ns: Ns::MAX,
            next: 0,
            backlog: VecDeque::new(),
            log: Vec::new(),
        }
    }

    /// A stack that goes on from a state.
    fn load(&self, bytes: &[u8], is_aged_only: bool) -> Stack {
        let mut stack = self.build();
        if self.timed && !is_aged_only {
            stack.drive.start_timing(&self.drive.device);
        }
        load_state(&mut stack, bytes).unwrap();
        assert!(save_state(&stack).unwrap() == bytes, "what was loaded is saved as it was");
        stack
    }
}

/// Makes it a page map that spreads streams when it collects them, over blocks that fail often: what chance seldom meets.
fn spread_streams(drive: &mut DriveSetup) {
    let set = [("stream_threshold", 2), ("read_hot", 1)].map(|(name, value)| (name, Value::Count(value)));
    let set = [&set[..], &[("read_reorganization", Value::Flag(true))]].concat();
    drive.ftl.mapping = mapping::builtin().choose("page", &[]).unwrap();
    drive.ftl.allocation = allocation::builtin().choose("slap", &set).unwrap();
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

/// A block layer and a drive, with all that a loop around them remembers.
struct Stack {
    layer: BlockLayer,
    drive: Drive,
    now: Ns,
    wakes_ns: Ns,
    /// The next request to arrive, and those that found the block layer full.
    next: usize,
    backlog: VecDeque<usize>,
    log: Vec<Event>,
}

flashloom_units::state! {
    Stack {
        nested layer, drive;
        value now, wakes_ns, next, backlog;
        fixed log;
    }
}

#[derive(Debug, PartialEq)]
enum Event {
    Arrived(Ns, usize, Admission),
    Dispatched(Ns, Dispatched),
    Completed(Ns, u32),
    NotBefore(Ns, Ns),
    Background(Ns, bool),
}

impl Stack {
    /// Writes much of the drive, in counting mode and without the block layer.
    fn age(&mut self, plan: &Plan, prng: &mut Prng) {
        let capacity = plan.drive.device.capacity_sectors();
        for _ in 0..prng.below(40) {
            let sectors = 1 + prng.below(capacity.min(600));
            let lba = prng.below(capacity - sectors + 1);
            let write = Dispatched { lba, id: RequestId(0), sectors: sectors as u32, task: 0, op: Op::Write, flags: 0 };
            self.drive.accept(0, &write);
            while self.drive.take_completed().is_some() {}
        }
    }

    /// Does what is due next; false once all is served, or the drive is worn out.
    fn step(&mut self, plan: &Plan) -> bool {
        let arrives = plan.requests.get(self.next).map_or(Ns::MAX, |request| request.arrival_ns);
        let ends = self.drive.next_event_ns().unwrap_or(Ns::MAX);
        let due = arrives.min(ends).min(self.wakes_ns);
        if due == Ns::MAX || self.drive.is_worn_out() {
            return false;
        }
        self.now = self.now.max(due);
        if due == ends {
            self.drive.step(self.now);
        } else if due == arrives {
            if self.drive.is_idle() {
                (0..plan.background[self.next]).for_each(|_| {
                    let more = self.drive.idle_step(self.now);
                    self.log.push(Event::Background(self.now, more));
                });
            }
            self.backlog.push_back(self.next);
            self.next += 1;
        }
        self.wakes_ns = Ns::MAX;
        self.settle(plan);
        true
    }

    fn settle(&mut self, plan: &Plan) {
        loop {
            while let Some((id, _)) = self.drive.take_completed() {
                let (now, log) = (self.now, &mut self.log);
                self.layer.complete(now, id, |request| log.push(Event::Completed(now, request.cookie)));
            }
            while let Some(&index) = self.backlog.front() {
                let admission = self.layer.submit(self.now, &plan.requests[index], index as u32);
                if admission == Admission::Full {
                    break;
                }
                self.log.push(Event::Arrived(self.now, index, admission));
                self.backlog.pop_front();
            }
            match self.layer.dispatch(self.now) {
                Decision::Dispatch(request) => {
                    self.log.push(Event::Dispatched(self.now, request));
                    self.drive.accept(self.now, &request);
                }
                Decision::NotBefore(time) => {
                    self.log.push(Event::NotBefore(self.now, time));
                    self.wakes_ns = time;
                    return;
                }
                Decision::Idle => return,
            }
        }
    }

    /// Everything that is reported at the end, and the state then.
    fn finish(mut self, plan: &Plan) -> (Vec<Event>, String, Vec<u8>) {
        while self.step(plan) {}
        // A drive whose life ends here is left in the middle of what it was at.
        if !self.drive.is_worn_out() {
            self.drive.check().unwrap();
        }
        self.layer.check().unwrap();
        let ftl = self.drive.ftl();
        let nand = self.drive.nand();
        let of = |latency: &Latency| (latency.count(), latency.sum(), latency.percentile(90.0), latency.stddev());
        let latencies = self.layer.stats().wait.each_ref().map(of);
        let mut ftl_report = ftl.report();
        let merges = ftl_report.merges.take().map(|mut merges| {
            let blocking = of(&std::mem::take(&mut merges.blocking_ns));
            (blocking, merges.switch, merges.partial, merges.full, merges.filler_pages, merges.migrated_pages)
        });
        let report = format!(
            "{:?} {:?} {:?} {ftl_report:?} {merges:?} {:?} {:?} {:?} {:?} {} {latencies:?} {}",
            nand.counts(),
            nand.utilization(),
            nand.sectors_checked(),
            nand.erase_counts(),
            ftl.wanted_streams(),
            self.drive.buffer_report(self.now),
            self.layer.figures(),
            self.layer.stats().direction_switches,
            self.drive.is_worn_out(),
        );
        let bytes = save_state(&self).unwrap();
        (self.log, report, bytes)
    }
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
        stack.drive.start_timing(&plan.drive.device);
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
            loaded.drive.start_timing(&plan.drive.device);
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
    fn named<P: Role + ?Sized>(kind: &'static str, slot: &Slot<P>) -> Vec<(&'static str, &'static str)> {
        slot.specs().map(|spec| (kind, spec.name)).collect()
    }
    let slots = [
        named("scheduler", &scheduler::builtin()),
        named("order", &order::builtin()),
        named("rate", &rate::builtin()),
        named("mapping", &mapping::builtin()),
        named("allocation", &allocation::builtin()),
        named("collection", &collection::builtin()),
        named("placement", &placement::builtin()),
    ];
    let modes = [("mode", "timed"), ("mode", "counting")];
    let all: BTreeSet<_> = slots.into_iter().flatten().chain(modes).collect();
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
        stack.drive.start_timing(&plan.drive.device);
        (0..prng.below(200)).all(|_| stack.step(&plan)).then_some(())?;
        let bytes = save_state(&stack).unwrap();
        (bytes.len() < 6_000).then_some((plan, bytes))
    })
}

#[test]
fn a_state_that_ends_early_is_refused_wherever_it_ends() {
    for (plan, bytes) in small_states().take(4) {
        let mut stack = plan.build();
        stack.drive.start_timing(&plan.drive.device);
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
        stack.drive.start_timing(&plan.drive.device);
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
        let scheduler = scheduler::builtin().choose(host.scheduler, &[]).unwrap();
        let mut plan = Plan { drive, host, scheduler, timed: false, requests: Vec::new(), background: Vec::new() };
        change(&mut plan);
        plan
    };
    let bytes = save_state(&plan(|_| {}).build()).unwrap();
    let refused = |change| load_state(&mut plan(change).build(), &bytes).unwrap_err().to_string();
    let expected = |text: &str, message: String| assert!(message.contains(text), "{message}");
    expected("`drive.nand.written`", refused(|plan| plan.drive.device.blocks += 1));
    expected("`drive.nand.verifier`", refused(|plan| plan.drive.verify = false));
    expected("`drive.buffer.slots`", refused(|plan| plan.drive.buffer_bytes -= 1 << 20));
    expected("`layer.requests.slots`", refused(|plan| plan.host.nr_requests += 1));
    let mut timed = plan(|_| {}).build();
    timed.drive.start_timing(&support::plain_device());
    expected("`drive.nand.timed`", load_state(&mut timed, &bytes).unwrap_err().to_string());
}
