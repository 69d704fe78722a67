//! Random plans: a drive, what is above it, how it is aged, and what is asked of it, from a seed.

use flashloom_device::{Ageing, Drive, DriveSetup, Engine, Overwrite, Preconditioned, SpentFlash};
use flashloom_ftl::{allocation, mapping};
use flashloom_host::{BlockLayer, HostParams, Scheduler, Throttling, scheduler};
use flashloom_units::{Chosen, KIB, Kind, MS, Ns, OrName, Param, ParamSet, Prng, US, Value};
use flashloom_workload::{Op, Request};

use super::random::{pick, random_requests, random_setup, with_cache};

/// What an engine is built from, and what is done with it.
#[derive(Clone)]
pub struct Plan {
    pub drive: DriveSetup,
    pub host: HostPlan,
    pub ageing: Ageing,
    pub timed: bool,
    pub requests: Vec<Request>,
    /// How far time is advanced beyond what is due, unless a request arrives before.
    pub overshoot_ns: Ns,
    /// Completions are collected after so many advances.
    pub collected_after: u64,
}

/// The host.
#[derive(Clone)]
pub struct HostPlan {
    pub params: HostParams,
    pub scheduler: Chosen<dyn Scheduler>,
    /// Whether there is none but the list of what the drive holds.
    pub is_bare: bool,
    pub idle_delay_ns: Ns,
}

impl HostPlan {
    /// None where the scheduler does not go with the host.
    pub fn new(prng: &mut Prng, drive: &DriveSetup) -> Option<Self> {
        let schedulers = scheduler::builtin();
        let policy = pick(prng, &schedulers.policies().iter().collect::<Vec<_>>());
        let values = policy.spec.params.iter().map(|param| impatient(prng, param)).collect();
        let params = HostParams {
            queue_depth: pick(prng, &[1, 4, 31]),
            scheduler: policy.spec.name,
            nr_requests: OrName::Number(pick(prng, &[2, 8, 64])),
            merging: prng.chance(0.7),
            // By a stream of its own, as below.
            plug: prng.branch("plug").chance(0.5),
            max_request_bytes: OrName::Number(pick(&mut prng.branch("size"), &[4 * KIB, 16 * KIB, 512 * KIB])),
            wbt: if prng.branch("wbt").chance(0.5) { Throttling::On } else { Throttling::Off },
            ..HostParams::defaults()
        };
        let scheduler = policy.with_values(values);
        scheduler.build(&BlockLayer::setup(&params, drive.device.capacity_sectors())).ok()?;
        Some(Self { params, scheduler, is_bare: prng.chance(0.2), idle_delay_ns: pick(prng, &[0, MS]) })
    }
}

impl Plan {
    /// None where policies and device do not go together.
    pub fn new(prng: &mut Prng, requests: usize) -> Option<Self> {
        let mut drive = random_setup(prng);
        if prng.chance(0.15) {
            spread_streams(&mut drive);
        } else if ["page", "dftl", "sftl"].contains(&drive.ftl.mapping.name()) && prng.chance(0.3) {
            // Worn out before its first request, or soon after.
            drive.device.nand.program_failures = pick(prng, &[0.1, 0.8]);
        }
        // By a stream of its own, as in `random_setup`.
        let mut of_cache = prng.branch("cache");
        if ["page", "dftl", "sftl"].contains(&drive.ftl.mapping.name()) && of_cache.chance(0.3) {
            with_cache(&mut of_cache, &mut drive);
        }
        if drive.ftl.profile(&drive.device.space()).is_err() {
            return None;
        }
        let host = HostPlan::new(prng, &drive)?;
        let mut requests = random_requests(prng, drive.device.capacity_sectors(), requests);
        let tasks = pick(prng, &[1, 5, 4_000]);
        for request in requests.iter_mut().filter(|request| request.op != Op::Flush) {
            request.task = prng.below(tasks) as u32;
            request.flags |= if prng.chance(0.3) { Request::SYNC } else { 0 };
        }
        Some(Self {
            host,
            ageing: random_ageing(prng, drive.device.logical_pages()),
            timed: prng.chance(0.7),
            requests,
            overshoot_ns: pick(prng, &[0, 0, 30 * US, 2 * MS]),
            collected_after: pick(prng, &[1, 1, 7]),
            drive,
        })
    }

    /// The same flash and requests below another host and write buffer; none where they do not go together.
    pub fn with_another_host(&self, prng: &mut Prng) -> Option<Self> {
        let DriveSetup { buffer_bytes, order, rate, device, .. } = random_setup(prng);
        let buffer_bytes = buffer_bytes / device.nand.page_bytes * self.drive.device.nand.page_bytes;
        let drive = DriveSetup { buffer_bytes, order, rate, ..self.drive.clone() };
        let host = HostPlan::new(prng, &drive)?;
        Some(Self { drive, host, ..self.clone() })
    }

    pub fn policies(&self) -> Vec<(&'static str, &'static str)> {
        let (drive, ftl) = (&self.drive, &self.drive.ftl);
        let scheduler = [("host", "bare"), ("scheduler", self.host.scheduler.name())];
        let buffer = [("order", drive.order.name()), ("rate", drive.rate.name())];
        let ftl = [
            ("mapping", ftl.mapping.name()),
            ("allocation", ftl.allocation.name()),
            ("collection", ftl.collection.name()),
            ("placement", ftl.placement.name()),
            ("reliability", drive.reliability.name()),
        ];
        let scheduler = scheduler[usize::from(!self.host.is_bare)];
        let buffer = if drive.buffer_bytes > 0 { &buffer[..] } else { &[] };
        [&[scheduler, ("mode", if self.timed { "timed" } else { "counting" })], buffer, &ftl].concat()
    }

    /// A new engine, whose drive is new.
    pub fn build(&self) -> Engine {
        self.build_on(Drive::new(&self.drive).unwrap())
    }

    /// A new engine over flash that another one had.
    pub fn build_over(&self, flash: SpentFlash) -> Engine {
        self.build_on(Drive::over(&self.drive, flash).unwrap())
    }

    fn build_on(&self, drive: Drive) -> Engine {
        let HostPlan { params, scheduler, is_bare, idle_delay_ns } = &self.host;
        if *is_bare {
            return Engine::bare(drive, params.queue_depth, *idle_delay_ns);
        }
        let setup = BlockLayer::setup(params, self.drive.device.capacity_sectors());
        Engine::new(BlockLayer::new(params, scheduler.build(&setup).unwrap()), drive, *idle_delay_ns)
    }

    pub fn aged(&self) -> (Engine, Preconditioned) {
        let mut engine = self.build();
        let aged = engine.precondition(&self.ageing, &mut |_| {});
        (engine, aged)
    }

    pub fn start(&self, engine: &mut Engine) {
        if self.timed {
            engine.start_timing(&self.drive.device.nand);
            if self.drive.verify {
                engine.keep_anatomy().unwrap();
            }
        }
    }
}

fn random_ageing(prng: &mut Prng, logical_pages: u64) -> Ageing {
    let overwrite = prng.chance(0.4).then(|| Overwrite {
        prng: prng.branch("overwrites"),
        window: pick(prng, &[0.1, 0.5]),
        tolerance: 0.2,
        max_windows: pick(prng, &[1, 6]),
        rest: prng.chance(0.5),
    });
    Ageing { fill_pages: prng.below(logical_pages + 1), fill_streams: prng.chance(0.5), overwrite }
}

/// Makes it a page map that spreads streams when it collects them, over blocks that fail often: chance seldom does.
fn spread_streams(drive: &mut DriveSetup) {
    let set = [("stream_threshold", 2), ("read_hot", 1)].map(|(name, value)| (name, Value::Count(value)));
    let set = [&set[..], &[("read_reorganization", Value::Flag(true))]].concat();
    drive.ftl.mapping = mapping::builtin().choose("page", &[]).unwrap();
    drive.ftl.allocation = allocation::builtin().choose("slap", &set).unwrap();
    (drive.device.nand.program_failures, drive.device.nand.erase_failures) = (0.005, 0.05);
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
