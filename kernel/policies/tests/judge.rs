//! The built-in mq-deadline and kyber, judged by the kernel's own code: the same random submissions, dispatches,
//! completions, returns of requests, times and changes of attributes, and every answer compared.
//!
//! Both are behind a block layer of the simulator, which leaves merging to them. A run draws its own mix of operations
//! and priorities, its limits and its attributes, and whether the number of tags is set after the scheduler was
//! selected; addresses are few, so that requests touch, overlap and begin alike. A third of the runs has several
//! processors, up to one for each task, most of them with several hardware queues; a hint of kyber's tokens is one for
//! all of them, as in the built-in one. In half of the runs requests come in plugs, which the compiled scheduler gets
//! as one list and the built-in one request by request; what is done within a plug is the block layer's of both, and
//! judged by its own tests.
//! Seeds go on until so many choices were compared as FLASHLOOM_CHOICES says; a failure prints the seed, and
//! FLASHLOOM_SEED=seed repeats that run alone.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use flashloom_host::scheduler::builtin;
use flashloom_host::{
    Admission, AsyncLimits, BlockLayer, Decision, Dispatched, HostParams, Linux, RequestId, Throttling,
};
use flashloom_kernel_policies::{Compiled, PACKAGES, Version};
use flashloom_units::{Figure, MS, Ns, OrName, ParamSet, Prng, Value};
use flashloom_workload::{Op, Priority, PriorityClass, Request};

/// Choices that are compared for each scheduler and version if FLASHLOOM_CHOICES says nothing.
const CHOICES: u64 = 100_000;
const SECTORS: u64 = 1 << 20;

/// What was compared, by kind.
const KINDS: [&str; 20] = [
    "dispatched",
    "dispatched from one of several queues",
    "idle",
    "not yet",
    "expired",
    "inserted",
    "full",
    "merged at the back",
    "merged at the front",
    "joined",
    "merged in a plug",
    "dispatched before a plug's moment was over",
    "completed",
    "returned",
    "time passed",
    "attributes changed",
    "aged or resized",
    "dispatched with as many tags as at first",
    "dispatched with more",
    "dispatched with fewer",
];
type Counts = [u64; KINDS.len()];

fn count(counts: &mut Counts, kind: &str, by: u64) {
    counts[KINDS.iter().position(|&other| other == kind).expect("it is one of the kinds")] += by;
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Submit,
    Dispatch,
    Complete,
    Return,
    Pass,
    Change,
}

const STEPS: [Step; 6] = [Step::Submit, Step::Dispatch, Step::Complete, Step::Return, Step::Pass, Step::Change];

/// A scheduler under judgement.
struct Case {
    name: &'static str,
    version: Version,
    values: fn(&mut Prng, bool) -> Vec<Value>,
    /// Share of the runs with room for hundreds of requests, which kyber's tokens are a limit of.
    deep: f64,
    /// Share of the drawn changes of attributes that are made: kyber takes long to answer to its targets.
    changes: f64,
    operations: u32,
}

/// `may_front_merge` is false in runs in which several requests that wait may begin alike.
fn deadline_values(random: &mut Prng, may_front_merge: bool) -> Vec<Value> {
    let ms = |random: &mut Prng, below: u64| Value::Time(random.below(below) * MS);
    vec![
        ms(random, 200),
        ms(random, 400),
        Value::Count(1 + random.below(20)),
        Value::Count(1 + random.below(4)),
        Value::Flag(may_front_merge && random.chance(0.8)),
        Value::Count(1 + random.below(40)),
        ms(random, 300),
    ]
}

fn kyber_values(random: &mut Prng, _may_front_merge: bool) -> Vec<Value> {
    let scales = [MS, 10 * MS, 100 * MS, 4_000 * MS];
    let mut target = || {
        let below = scales[random.below(4) as usize];
        Value::Time(random.below(below))
    };
    vec![target(), target()]
}

struct Run<'a> {
    case: &'a Case,
    seed: u64,
    random: Prng,
    weights: [u64; STEPS.len()],
    ops: Vec<Op>,
    priorities: Vec<u8>,
    places: u64,
    now: Ns,
    pass_ns: Ns,
    cookies: u32,
    is_plugged: bool,
    /// True if the device has several hardware queues.
    has_queues: bool,
    /// What was done with the number of tags after the scheduler was selected.
    tags: &'static str,
    /// The task that submitted last.
    task: u32,
    /// True if no two requests of a direction that are queued or at the device begin alike; then a request that ends
    /// there has one that it can become the beginning of. Of several the kernel takes that highest in its tree.
    is_distinct: bool,
    /// Beginning and direction of what was submitted and has not completed, by cookie.
    beginnings: BTreeMap<u32, (u64, bool)>,
    built_in: BlockLayer,
    compiled: BlockLayer,
    held: Vec<(RequestId, RequestId)>,
    counts: Counts,
}

fn figures(layer: &BlockLayer) -> Vec<u64> {
    let count = |figure: &Figure| if let Figure::Count(count) = figure { *count } else { panic!("{figure:?}") };
    layer.figures()[flashloom_host::scheduler::SLOT.statistics.len()..].iter().map(count).collect()
}

impl<'a> Run<'a> {
    fn new(case: &'a Case, seed: u64) -> Self {
        let mut random = Prng::new(seed);
        let most_requests = if random.chance(case.deep) { 400 } else { 64 };
        let most_at_device = if random.chance(case.deep) { 300 } else { 16 };
        let is_plugged = random.chance(0.5);
        let processors = if random.chance(0.33) { 2 + random.below(3) as u32 } else { 1 };
        let hardware_queues = 1 + random.below(processors.into()) as u32;
        let host = HostParams {
            plug: is_plugged,
            processors,
            hardware_queues,
            nr_requests: if random.chance(0.3) {
                OrName::Name
            } else {
                OrName::Number(1 + random.below(most_requests) as u32)
            },
            async_limits: if random.chance(0.8) { AsyncLimits::Selected } else { AsyncLimits::NrRequests },
            queue_depth: 1 + random.below(most_at_device) as u32,
            max_request_bytes: OrName::Number(512 * (8 + random.below(64))),
            linux: match case.version {
                Version::V6_1 => Linux::V6_1,
                Version::V6_12 => Linux::V6_12,
            },
            merging: random.chance(0.95),
            wbt: Throttling::Off,
            ..HostParams::defaults()
        };
        let setup = BlockLayer::setup(&host, SECTORS);
        let is_distinct = random.chance(0.5);
        let values = (case.values)(&mut random, is_distinct);
        let slot = builtin();
        let spec = slot.find(case.name).expect("it is built in").spec;
        let named: Vec<_> = spec.params.iter().zip(&values).map(|(param, value)| (param.name, value.clone())).collect();
        let chosen = slot.choose(case.name, &named).expect("the values are in range");
        let built_in = chosen.build(&setup).expect("the values are in order");
        let compiled = Compiled::new(case.version, case.name, spec.params, &values, &setup, 0).expect("likewise");
        let mut weights = [12, 8, 6, 1, 2, 1];
        weights[3..].iter_mut().for_each(|weight| *weight *= random.below(3));
        let mut ops = vec![Op::Read, Op::Write, Op::Discard];
        ops.retain(|_| random.chance(0.75));
        if ops.is_empty() {
            ops.push(Op::Read);
        }
        let of = |class, level| Request::new(Op::Write, 0, 8).with_priority(Priority::new(class, level)).flags;
        let mut priorities = vec![
            of(PriorityClass::RealTime, 0),
            of(PriorityClass::BestEffort, 4),
            of(PriorityClass::BestEffort, 7),
            of(PriorityClass::Idle, 0),
        ];
        priorities.retain(|_| random.chance(0.3));
        priorities.extend([0; 2]);
        Self {
            case,
            seed,
            weights,
            ops,
            priorities,
            places: [12, 100, 5_000][random.below(3) as usize],
            now: 0,
            pass_ns: [4 * MS, 20 * MS, 60 * MS, 300 * MS][random.below(4) as usize],
            cookies: 0,
            is_plugged,
            has_queues: hardware_queues > 1,
            tags: match setup.tags.tags.cmp(&setup.tags.selected) {
                Ordering::Equal => "dispatched with as many tags as at first",
                Ordering::Greater => "dispatched with more",
                Ordering::Less => "dispatched with fewer",
            },
            task: 0,
            is_distinct,
            beginnings: BTreeMap::new(),
            built_in: BlockLayer::new(&host, built_in),
            compiled: BlockLayer::new(&host, Box::new(compiled)),
            held: Vec::new(),
            counts: [0; KINDS.len()],
            random,
        }
    }

    fn at(&self) -> String {
        format!(
            "linux-{}/{}, seed {}, request {}, {} ns",
            self.case.version.name(),
            self.case.name,
            self.seed,
            self.cookies,
            self.now
        )
    }

    fn submit(&mut self) {
        let random = &mut self.random;
        let op = self.ops[random.below(self.ops.len() as u64) as usize];
        let flags =
            [0, 0, 0, 0, Request::SYNC, Request::SYNC, Request::FUA, Request::PREFLUSH][random.below(8) as usize];
        let flags = if op == Op::Write { flags } else { 0 };
        let flags = flags | self.priorities[random.below(self.priorities.len() as u64) as usize];
        let (lba, sectors) = (4 * random.below(self.places), 4 * (1 + random.below(4)) as u32);
        let beginning = (lba, op == Op::Read);
        if self.is_distinct && self.beginnings.values().any(|&other| other == beginning) {
            return;
        }
        if !self.is_plugged || random.chance(0.1) {
            self.task = random.below(4) as u32;
        }
        let request = Request::new(op, lba, sectors).arriving_at(self.now).of_task(self.task).with_flags(flags);
        let cookie = self.cookies;
        self.cookies += 1;
        let [one, other] =
            [&mut self.built_in, &mut self.compiled].map(|layer| layer.submit(self.now, &request, cookie));
        assert_eq!(one, other, "{}: {request:?}", self.at());
        if one != Admission::Full {
            self.beginnings.insert(cookie, beginning);
        }
        match one {
            Admission::Queued => count(&mut self.counts, "inserted", 1),
            Admission::Full => count(&mut self.counts, "full", 1),
            // Less those that the scheduler merged, at the end.
            Admission::Merged => count(&mut self.counts, "merged in a plug", 1),
        }
        assert_eq!(self.built_in.queued(), self.compiled.queued(), "{}: queued after {request:?}", self.at());
    }

    fn dispatch(&mut self) {
        let expired = self.compiled.stats().expired;
        let [one, other] = [&mut self.built_in, &mut self.compiled].map(|layer| layer.dispatch(self.now));
        match (one, other) {
            (Decision::Dispatch(real), Decision::Dispatch(kernel)) => self.keep(real, kernel),
            _ => {
                assert_eq!(one, other, "{}", self.at());
                count(&mut self.counts, if one == Decision::Idle { "idle" } else { "not yet" }, 1);
            }
        }
        assert_eq!(self.built_in.stats().expired, self.compiled.stats().expired, "{}: expired", self.at());
        count(&mut self.counts, "expired", self.compiled.stats().expired - expired);
    }

    /// What the device takes of an emptied plug before its moment is over.
    fn dispatch_unplugged(&mut self) {
        while self.built_in.is_unplugged() || self.compiled.is_unplugged() {
            let now = self.now;
            match [&mut self.built_in, &mut self.compiled].map(|layer| layer.dispatch_unplugged(now)) {
                [Some(real), Some(kernel)] => {
                    self.keep(real, kernel);
                    count(&mut self.counts, "dispatched before a plug's moment was over", 1);
                }
                [one, other] => assert_eq!(one, other, "{}", self.at()),
            }
        }
    }

    fn keep(&mut self, real: Dispatched, kernel: Dispatched) {
        let seen = |sent: &Dispatched| (sent.op, sent.lba, sent.sectors, sent.task, sent.flags);
        assert_eq!(seen(&real), seen(&kernel), "{}", self.at());
        self.held.push((real.id, kernel.id));
        count(&mut self.counts, "dispatched", 1);
        count(&mut self.counts, "dispatched from one of several queues", u64::from(self.has_queues));
        count(&mut self.counts, self.tags, 1);
    }

    fn take_held(&mut self) -> Option<(RequestId, RequestId)> {
        if self.held.is_empty() {
            return None;
        }
        let which = self.random.below(self.held.len() as u64) as usize;
        Some(self.held.swap_remove(which))
    }

    fn complete(&mut self) {
        let Some((real, kernel)) = self.take_held() else { return };
        let mut cookies = [Vec::new(), Vec::new()];
        self.built_in.complete(self.now, real, |completed| cookies[0].push(completed.cookie));
        self.compiled.complete(self.now, kernel, |completed| cookies[1].push(completed.cookie));
        assert_eq!(cookies[0], cookies[1], "{}: what was merged", self.at());
        self.beginnings.retain(|cookie, _| !cookies[0].contains(cookie));
        count(&mut self.counts, "completed", 1);
    }

    fn give_back(&mut self) {
        let Some((real, kernel)) = self.take_held() else { return };
        self.built_in.requeue(self.now, real);
        self.compiled.requeue(self.now, kernel);
        count(&mut self.counts, "returned", 1);
    }

    fn change(&mut self) {
        let values = (self.case.values)(&mut self.random, self.is_distinct);
        for layer in [&mut self.built_in, &mut self.compiled] {
            layer.reconfigure(&values).expect("the values are in order");
        }
        count(&mut self.counts, "attributes changed", 1);
    }

    fn check(&self) {
        for (layer, which) in [(&self.built_in, "built in"), (&self.compiled, "compiled")] {
            layer.check().unwrap_or_else(|error| panic!("{}: {which}: {error}", self.at()));
        }
    }

    fn step(&mut self) {
        let mut at = self.random.below(self.weights.iter().sum());
        let weights = self.weights;
        let which = weights.iter().position(|&weight| at.checked_sub(weight).map(|rest| at = rest).is_none());
        match STEPS[which.expect("a number below the sum of the weights falls on one of them")] {
            Step::Submit => {
                let most = if self.is_plugged && self.random.chance(0.1) { 40 } else { 1 };
                for _ in 0..=self.random.below(most) {
                    self.submit();
                    self.dispatch_unplugged();
                }
            }
            Step::Dispatch => self.dispatch(),
            Step::Complete => self.complete(),
            Step::Return => self.give_back(),
            Step::Pass => {
                self.now += self.random.below(self.pass_ns);
                count(&mut self.counts, "time passed", 1);
            }
            Step::Change if self.random.chance(self.case.changes) => self.change(),
            Step::Change => {}
        }
    }

    fn operate(mut self) -> Counts {
        for operation in 0..self.case.operations {
            self.step();
            if operation % 200 == 0 {
                self.check();
            }
        }
        while self.built_in.queued() > 0 {
            self.dispatch();
            self.complete();
            self.now += self.random.below(MS);
        }
        while !self.held.is_empty() {
            self.complete();
        }
        self.check();
        let [back, front, joined] = figures(&self.compiled)[..] else { panic!("three statistics") };
        let of_built_in = figures(&self.built_in);
        count(&mut self.counts, "merged at the back", back);
        count(&mut self.counts, "merged at the front", front);
        count(&mut self.counts, "joined", joined);
        let at = KINDS.iter().position(|&kind| kind == "merged in a plug").expect("it is one of the kinds");
        self.counts[at] -= back + front;
        count(&mut self.counts, "aged or resized", *of_built_in.last().expect("both schedulers have statistics"));
        self.counts
    }
}

fn judge(case: &Case) {
    if let Ok(seed) = std::env::var("FLASHLOOM_SEED") {
        Run::new(case, seed.parse().expect("FLASHLOOM_SEED is a number")).operate();
        return;
    }
    let choices = std::env::var("FLASHLOOM_CHOICES").map_or(CHOICES, |text| text.parse().expect("a number"));
    let (mut sums, mut seed) = ([0; KINDS.len()], 0);
    while sums[0] < choices {
        let counts = Run::new(case, seed).operate();
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        seed += 1;
    }
    let kinds: Vec<String> = KINDS.iter().zip(sums).map(|(kind, sum)| format!("{sum} {kind}")).collect();
    println!(
        "{} of Linux {} ({PACKAGES}), seeds 0 to {}: {}",
        case.name,
        case.version.name(),
        seed - 1,
        kinds.join(", ")
    );
    for (kind, sum) in KINDS.iter().zip(sums) {
        let cannot = case.name == "kyber" && ["joined", "expired"].contains(kind);
        assert_eq!(sum == 0, cannot, "{kind}: {sum}");
    }
}

#[test]
fn mq_deadline_of_6_1_makes_the_kernels_choices() {
    judge(&Case {
        name: "mq-deadline",
        version: Version::V6_1,
        values: deadline_values,
        deep: 0.1,
        changes: 1.0,
        operations: 4_000,
    });
}

#[test]
fn mq_deadline_of_6_12_makes_the_kernels_choices() {
    judge(&Case {
        name: "mq-deadline",
        version: Version::V6_12,
        values: deadline_values,
        deep: 0.1,
        changes: 1.0,
        operations: 4_000,
    });
}

#[test]
fn kyber_of_6_1_makes_the_kernels_choices() {
    judge(&Case {
        name: "kyber",
        version: Version::V6_1,
        values: kyber_values,
        deep: 0.6,
        changes: 0.05,
        operations: 40_000,
    });
}

#[test]
fn kyber_of_6_12_makes_the_kernels_choices() {
    judge(&Case {
        name: "kyber",
        version: Version::V6_12,
        values: kyber_values,
        deep: 0.6,
        changes: 0.05,
        operations: 40_000,
    });
}
