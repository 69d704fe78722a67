//! The module's core and the simulator's `pardispatcher` make the same decisions for the same operations.
//!
//! Both run behind the same block layer, which merges. An operation submits a request, dispatches, completes, advances
//! time, or changes parameters while requests are queued; the size of a region changes when none is, because the module
//! freezes the queue for that. Each run draws its own mix of operations, some left out, and
//! its own addresses: a few regions whose requests mostly touch or overlap, or thousands of regions. The decisions are
//! compared after each operation. A failure prints the seed; FLASHLOOM_SEED=seed repeats that run alone.

use flashloom_host::scheduler::pardispatcher::{ParDispatcher, ParDispatcherParams, Scan};
use flashloom_host::{BlockLayer, Decision, HostParams, RequestId};
use flashloom_kernel_agreement::KernelCore;
use flashloom_units::{Figure, MIB, MS, Ns, OrName, ParamSet, Prng, Value};
use flashloom_workload::{Op, Request};

const RUNS: u64 = 500;
const OPERATIONS: u64 = 10_000;
/// Sectors of the smallest region.
const REGION: u64 = MIB / 512;
const CAPACITY: u64 = 16_384 * REGION;

/// The place of the region size among the parameters.
const REGION_SIZE: usize = 0;

/// The operations, weighted by a run's mix.
const KINDS: [Kind; 5] = [Kind::Submit, Kind::Dispatch, Kind::Complete, Kind::Pass, Kind::Change];

#[derive(Clone, Copy, Debug)]
enum Kind {
    Submit,
    Dispatch,
    Complete,
    Pass,
    Change,
}

struct Run {
    seed: u64,
    random: Prng,
    weights: [u64; 5],
    ops: Vec<Op>,
    /// Requests begin in this many of the smallest regions, spaced this many regions apart.
    regions: u64,
    apart: u64,
    now: Ns,
    real: BlockLayer,
    core: BlockLayer,
    held: Vec<(RequestId, RequestId)>,
    values: Vec<Value>,
    resized: u64,
}

fn values(random: &mut Prng) -> Vec<Value> {
    let set = |name: &str, random: &mut Prng| match name {
        "region_size" => Some(Value::Size(MIB << random.below(6))),
        "read_batch" | "write_batch" => Some(Value::Count(1 + random.below(20))),
        "read_expire" | "write_expire" => Some(Value::Time((1 + random.below(200)) * MS)),
        "scan" => Some(Value::Name(if random.chance(0.5) { Scan::Lowest } else { Scan::Continue }.name())),
        "front_merges" => Some(Value::Flag(random.chance(0.8))),
        _ => None,
    };
    ParDispatcherParams::PARAMS
        .iter()
        .map(|param| set(param.name, random).unwrap_or_else(|| param.default.clone()))
        .collect()
}

/// The scheduler's own statistics.
fn counts(layer: &BlockLayer) -> Vec<u64> {
    let count = |figure: &Figure| if let Figure::Count(count) = figure { *count } else { panic!("{figure:?}") };
    layer.figures()[flashloom_host::scheduler::SLOT.statistics.len()..].iter().map(count).collect()
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Prng::new(seed);
        let host = HostParams {
            nr_requests: OrName::Number(1 + random.below(64) as u32),
            queue_depth: 1 + random.below(8) as u32,
            max_request_bytes: OrName::Number(512 * (8 + random.below(64))),
            ..HostParams::defaults()
        };
        let setup = BlockLayer::setup(&host, CAPACITY);
        let values = values(&mut random);
        let params = ParDispatcherParams::from_values(&values);
        let core = KernelCore::new(&params, &setup);
        let state = ParDispatcher::new(params, &setup).expect("the parameters are in order");
        let mut weights = [12, 8, 4, 2, 1];
        // Without submissions and dispatches nothing happens; the others are left out at random.
        weights[2..].iter_mut().for_each(|weight| *weight *= random.below(3));
        let mut ops = vec![Op::Read, Op::Write, Op::Discard, Op::Flush];
        ops.retain(|_| random.chance(0.75));
        if ops.is_empty() {
            ops.push(Op::Read);
        }
        let (regions, apart) = [(6, 1), (2, 64), (400, 40)][random.below(3) as usize];
        let [real, core] = [BlockLayer::new(&host, Box::new(state)), BlockLayer::new(&host, Box::new(core))];
        Self { seed, random, weights, ops, regions, apart, now: 0, real, core, held: Vec::new(), values, resized: 0 }
    }

    fn kind(&mut self) -> Kind {
        let mut at = self.random.below(self.weights.iter().sum());
        let weights = self.weights;
        let which = weights.iter().position(|&weight| at.checked_sub(weight).map(|rest| at = rest).is_none());
        KINDS[which.expect("a number below the sum of the weights falls on one of them")]
    }

    fn submit(&mut self, cookie: u32) {
        let random = &mut self.random;
        let op = self.ops[random.below(self.ops.len() as u64) as usize];
        let flush = op == Op::Flush;
        // Close together at the beginning and at the end of a region.
        let offset = random.below(24) * 4 + if random.chance(0.5) { REGION - 96 } else { 0 };
        let lba = if flush { 0 } else { random.below(self.regions) * self.apart * REGION + offset };
        let sectors = if flush { 0 } else { 4 * (1 + random.below(4) as u32) };
        let flags = [0, 0, 0, Request::SYNC, Request::FUA, Request::PREFLUSH][random.below(6) as usize];
        let flags = if op == Op::Write { flags } else { 0 };
        let request = Request::new(op, lba, sectors).arriving_at(self.now).with_flags(flags);
        let answers = [&mut self.real, &mut self.core].map(|layer| layer.submit(self.now, &request, cookie));
        assert_eq!(answers[0], answers[1], "seed {}: {request:?}", self.seed);
    }

    fn dispatch(&mut self) {
        let answers = [&mut self.real, &mut self.core].map(|layer| layer.dispatch(self.now));
        assert_eq!(answers[0], answers[1], "seed {}, at {} ns", self.seed, self.now);
        if let [Decision::Dispatch(real), Decision::Dispatch(core)] = answers {
            self.held.push((real.id, core.id));
        }
    }

    fn complete(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let which = self.random.below(self.held.len() as u64) as usize;
        let (real, core) = self.held.swap_remove(which);
        let mut cookies = [Vec::new(), Vec::new()];
        self.real.complete(self.now, real, |completed| cookies[0].push(completed.cookie));
        self.core.complete(self.now, core, |completed| cookies[1].push(completed.cookie));
        assert_eq!(cookies[0], cookies[1], "seed {}", self.seed);
    }

    fn change(&mut self) {
        let mut values = values(&mut self.random);
        if self.random.chance(0.05) {
            self.drain();
            self.resized += 1;
        } else {
            values[REGION_SIZE] = self.values[REGION_SIZE].clone();
        }
        self.values.clone_from(&values);
        for layer in [&mut self.real, &mut self.core] {
            layer.reconfigure(&values).expect("the parameters are in order");
        }
    }

    fn check(&self) {
        for layer in [&self.real, &self.core] {
            layer.check().unwrap_or_else(|error| panic!("seed {}: {error}", self.seed));
        }
    }

    /// Returns the numbers of requests dispatched and merged, and of changes of the region size.
    fn operate(mut self) -> [u64; 3] {
        for operation in 0..OPERATIONS {
            match self.kind() {
                Kind::Submit => self.submit(operation as u32),
                Kind::Dispatch => self.dispatch(),
                Kind::Complete => self.complete(),
                // Whole milliseconds, so that dispatches also happen exactly at a deadline.
                Kind::Pass => self.now += self.random.below(60) * MS,
                Kind::Change => self.change(),
            }
            if operation % 100 == 0 {
                self.check();
            }
            // A device that never completes would end the run at its queue depth.
            if self.weights[2] == 0 {
                self.complete();
            }
        }
        self.finish()
    }

    fn drain(&mut self) {
        while self.real.queued() > 0 {
            self.dispatch();
            self.complete();
        }
    }

    fn finish(mut self) -> [u64; 3] {
        self.drain();
        self.check();
        let [real, core] = [&self.real, &self.core].map(counts);
        assert_eq!(real, core, "seed {}: turns and switches", self.seed);
        let [real, core] = [&self.real, &self.core].map(|layer| {
            let stats = layer.stats();
            [stats.inserted, stats.merged, stats.dispatched, stats.direction_switches, stats.expired]
        });
        assert_eq!(real, core, "seed {}: counters", self.seed);
        [real[2], real[1], self.resized]
    }
}

#[test]
fn a_million_dispatches_are_in_the_same_order() {
    if let Ok(seed) = std::env::var("FLASHLOOM_SEED") {
        Run::new(seed.parse().expect("FLASHLOOM_SEED is a number")).operate();
        return;
    }
    let mut sums = [0; 3];
    for seed in 0..RUNS {
        let counts = Run::new(seed).operate();
        sums = std::array::from_fn(|at| sums[at] + counts[at]);
    }
    let [dispatched, merged, resized] = sums;
    println!("{} operations: {dispatched} dispatched and {merged} merged alike, {resized} sizes", RUNS * OPERATIONS);
    let enough = dispatched > 1_000_000 && merged > 90_000 && resized > 5_000;
    assert!(enough, "the mix leaves too little to compare: {sums:?}");
}
