//! Write-back throttling, judged by the kernel's own code: the same random submissions, dispatches, completions, joins,
//! returns and times, and who is let in when compared after each.
//!
//! In the kernel each task that has to wait sleeps; here its request stands in line, and is tried again after each
//! completion and at the end of each window, as a run does. FLASHLOOM_CHOICES is the number of states to compare; a
//! failure prints the seed, and FLASHLOOM_SEED=seed repeats that run alone.

use std::collections::{BTreeMap, VecDeque};

use flashloom_host::{
    HostParams, Line, Linux, Queued, RequestId, Requests, SyncWrites, Throttle, Throttling, WriteCache, Writeback,
};
use flashloom_kernel_policies::{KernelThrottle, PACKAGES, ThrottleSetup, Throttled, Version};
use flashloom_units::{MS, Ns, ParamSet, Prng, US};
use flashloom_workload::{Op, Request};

/// States that are compared for each version if FLASHLOOM_CHOICES says nothing.
const STATES: u64 = 100_000;
const OPERATIONS: u32 = 4_000;
/// Requests that are outstanding at most.
const CAPACITY: u32 = 512;

const KINDS: [&str; 12] = [
    "states",
    "let in at once",
    "held up",
    "let in after a completion",
    "let in after a window",
    "sent",
    "completed",
    "returned",
    "joined",
    "steps to fewer",
    "steps to more",
    "states below step 0",
];
type Counts = BTreeMap<&'static str, u64>;

struct Run {
    at: String,
    random: Prng,
    host: HostParams,
    weights: [u64; 5],
    kinds: [u64; 4],
    pass_ns: Ns,
    now: Ns,
    ours: Throttle,
    kernel: KernelThrottle,
    pool: Requests,
    free: Vec<u32>,
    /// Requests that wait, with their numbers.
    lines: [VecDeque<(u32, Request)>; 2],
    /// Requests that were let in and are not at the device, and those that are, with their numbers.
    inside: Vec<(u32, RequestId)>,
    sent: Vec<(u32, RequestId)>,
    /// Numbers of those that were let in since the last comparison, by line; reads are of neither.
    let_in: [Vec<u32>; 2],
    step: i32,
    counts: Counts,
}

impl Run {
    fn new(version: Version, seed: u64) -> Self {
        let mut random = Prng::new(seed);
        let depth = [1, 2, 3, 8, 31, 62, 256][random.below(7) as usize];
        let mut host = HostParams {
            scheduler: "none",
            queue_depth: depth,
            linux: if version == Version::V6_1 { Linux::V6_1 } else { Linux::V6_12 },
            wbt: Throttling::On,
            wbt_latency_ns: [100 * US, 2 * MS, 75 * MS][random.below(3) as usize],
            ..HostParams::defaults()
        };
        host.write_cache = if random.chance(0.5) { WriteCache::Back } else { WriteCache::Through };
        host.sync_writes = if random.chance(0.3) { SyncWrites::Direct } else { SyncWrites::Fsync };
        host.writeback =
            [Writeback::Normal, Writeback::Normal, Writeback::Background, Writeback::HeldUp][random.below(4) as usize];
        let setup = ThrottleSetup {
            capacity: CAPACITY,
            depth,
            latency_ns: host.wbt_latency_ns,
            has_volatile_cache: host.write_cache == WriteCache::Back,
            is_held_up: host.writeback == Writeback::HeldUp,
        };
        let reads = [0, 1, 4, 30][random.below(4) as usize];
        Self {
            at: format!("linux-{}, seed {seed}", version.name()),
            weights: [8, 6, 6, random.below(2), 1 + random.below(6)],
            kinds: [reads, random.below(30), random.below(10), 1 + random.below(4)],
            pass_ns: [MS, 10 * MS, 40 * MS, 400 * MS][random.below(4) as usize],
            now: 1,
            ours: Throttle::new(&host).expect("it is on"),
            kernel: KernelThrottle::new(version, &setup),
            pool: Requests::new(CAPACITY),
            free: (0..CAPACITY).rev().collect(),
            lines: Default::default(),
            inside: Vec::new(),
            sent: Vec::new(),
            let_in: Default::default(),
            step: 0,
            counts: KINDS.map(|kind| (kind, 0)).into(),
            host,
            random,
        }
    }

    fn count(&mut self, kind: &'static str, by: u64) {
        *self.counts.get_mut(kind).expect("it is one of the kinds") += by;
    }

    fn enter(&mut self, number: u32, request: &Request) {
        self.ours.entered(request);
        let member = self.pool.admit(request, number);
        self.inside.push((number, self.pool.queue(request, member)));
        if let Some(line) = self.ours.line_of(request.op, request.flags) {
            self.let_in[line as usize].push(number);
        }
    }

    fn submit(&mut self) {
        let Some(number) = self.free.pop() else { return };
        let mut at = self.random.below(self.kinds.iter().sum());
        let kinds = self.kinds;
        let which = kinds.iter().position(|&weight| at.checked_sub(weight).map(|rest| at = rest).is_none());
        let (op, is_sync) = [(Op::Read, true), (Op::Write, false), (Op::Write, true), (Op::Discard, false)]
            [which.expect("a number below the sum")];
        let request = Request::new(op, 0, 8).with_flags(if is_sync && op == Op::Write { Request::SYNC } else { 0 });
        let throttled = Throttled {
            op: [Op::Read, Op::Write, Op::Discard].iter().position(|&one| one == op).expect("it is one of them") as u32,
            is_sync,
            is_direct: is_sync && self.host.sync_writes == SyncWrites::Direct,
            is_background: op == Op::Write && !is_sync && self.host.writeback == Writeback::Background,
        };
        self.kernel.submit(self.now, number, &throttled);
        let line = self.ours.line_of(op, request.flags);
        let is_behind = line.is_some_and(|line| !self.lines[line as usize].is_empty());
        if !is_behind && self.ours.admit(self.now, &request) {
            self.enter(number, &request);
            self.count("let in at once", u64::from(line.is_some()));
        } else {
            self.lines[line.expect("reads are let in") as usize].push_back((number, request));
            self.count("held up", 1);
        }
        self.compare();
    }

    /// Tries those that wait again.
    fn try_again(&mut self, why: &'static str) {
        for line in [Line::Writes, Line::Discards] {
            while let Some(&(number, request)) = self.lines[line as usize].front() {
                if !self.ours.admit(self.now, &request) {
                    break;
                }
                self.lines[line as usize].pop_front();
                self.enter(number, &request);
                self.count(why, 1);
            }
        }
        self.compare();
    }

    fn compare(&mut self) {
        let mut kernels: [Vec<u32>; 2] = Default::default();
        for number in self.kernel.let_in() {
            let (_, id) = *self.inside.iter().find(|(inside, _)| *inside == number).unwrap_or_else(|| {
                panic!(
                    "{}, {} ns: the kernel lets {number} in: {:?}, {:?}, lines {:?}",
                    self.at,
                    self.now,
                    self.ours,
                    self.kernel.state(),
                    [self.lines[0].len(), self.lines[1].len()]
                )
            });
            let request = self.pool[id];
            if let Some(line) = self.ours.line_of(request.op, request.flags) {
                kernels[line as usize].push(number);
            }
        }
        assert_eq!(self.let_in, kernels, "{}, {} ns", self.at, self.now);
        self.let_in = Default::default();
        let state = self.kernel.state();
        self.ours.wakes_ns(self.now);
        let limits = (state.step, [state.most, state.normal, state.background]);
        assert_eq!(self.ours.limits(), limits, "{}, {} ns: {:?}", self.at, self.now, self.ours);
        assert_eq!(self.ours.taken(), state.writes + state.discards, "{}, {} ns: {state:?}", self.at, self.now);
        self.count("states", 1);
        self.count("states below step 0", u64::from(state.step < 0));
        self.count("steps to fewer", u64::from(state.step > self.step));
        self.count("steps to more", u64::from(state.step < self.step));
        self.step = state.step;
    }

    fn taken_of(&mut self, of: fn(&mut Self) -> &mut Vec<(u32, RequestId)>) -> Option<(u32, RequestId)> {
        let length = of(self).len() as u64;
        if length == 0 {
            return None;
        }
        let at = self.random.below(length) as usize;
        Some(of(self).swap_remove(at))
    }

    fn send(&mut self) {
        let Some((number, id)) = self.taken_of(|run| &mut run.inside) else { return };
        self.pool.start(id, self.now);
        self.kernel.issue(self.now, number);
        self.ours.sent(self.now, id, &self.pool[id]);
        self.sent.push((number, id));
        self.count("sent", 1);
        self.compare();
    }

    fn complete(&mut self) {
        let Some((number, id)) = self.taken_of(|run| &mut run.sent) else { return };
        self.kernel.complete(self.now, number, false);
        self.ours.completed(self.now, id, &self.pool[id]);
        self.pool.finish(id, |_| {});
        self.free.push(number);
        self.count("completed", 1);
        self.try_again("let in after a completion");
    }

    /// A request becomes part of another one, or the device returns one, which is sent again at once.
    fn join_or_return(&mut self) {
        if self.random.chance(0.5) {
            let Some((number, id)) = self.taken_of(|run| &mut run.inside) else { return };
            self.kernel.complete(self.now, number, true);
            self.ours.left(self.now, id, &self.pool[id]);
            self.pool.start(id, self.now);
            self.pool.finish(id, |_| {});
            self.free.push(number);
            self.count("joined", 1);
            self.try_again("let in after a completion");
        } else if let Some((number, id)) = self.taken_of(|run| &mut run.sent) {
            self.kernel.requeue(self.now, number);
            self.ours.returned(id);
            // It gets another place in the pool, as it is sent with another time.
            let Queued { op, flags, .. } = self.pool[id];
            self.pool.finish(id, |_| {});
            let request = Request::new(op, 0, 8).with_flags(flags);
            let member = self.pool.admit(&request, number);
            let id = self.pool.queue(&request, member);
            self.inside.push((number, id));
            self.count("returned", 1);
            self.compare();
        }
    }

    fn pass(&mut self) {
        let until = self.now + self.random.below(self.pass_ns);
        loop {
            let wakes_ns = self.ours.wakes_ns(self.now);
            self.now = wakes_ns.min(until);
            self.kernel.pass(self.now);
            if wakes_ns > until {
                break;
            }
            self.try_again("let in after a window");
        }
        self.compare();
    }

    fn operate(mut self) -> Counts {
        for _ in 0..OPERATIONS {
            let mut at = self.random.below(self.weights.iter().sum());
            match self.weights.iter().position(|&weight| at.checked_sub(weight).map(|rest| at = rest).is_none()) {
                Some(0) => self.submit(),
                Some(1) => self.send(),
                Some(2) => self.complete(),
                Some(3) => self.join_or_return(),
                _ => self.pass(),
            }
        }
        self.counts
    }
}

fn judge(version: Version) {
    if let Ok(seed) = std::env::var("FLASHLOOM_SEED") {
        Run::new(version, seed.parse().expect("FLASHLOOM_SEED is a number")).operate();
        return;
    }
    let states = std::env::var("FLASHLOOM_CHOICES").map_or(STATES, |text| text.parse().expect("a number"));
    let (mut sums, mut seed) = (Counts::from(KINDS.map(|kind| (kind, 0))), 0);
    while sums["states"] < states {
        for (kind, count) in Run::new(version, seed).operate() {
            *sums.get_mut(kind).expect("it is one of the kinds") += count;
        }
        seed += 1;
    }
    let shown: Vec<String> = KINDS.iter().map(|kind| format!("{} {kind}", sums[kind])).collect();
    println!("throttling of Linux {} ({PACKAGES}), seeds 0 to {}: {}", version.name(), seed - 1, shown.join(", "));
    assert!(sums.values().all(|&sum| sum > 0), "{sums:?}");
}

#[test]
fn who_is_throttled_is_let_in_when_linux_6_1_does_so() {
    judge(Version::V6_1);
}

#[test]
fn who_is_throttled_is_let_in_when_linux_6_12_does_so() {
    judge(Version::V6_12);
}
