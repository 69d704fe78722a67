//! What the tests of the path share: a run of a list of requests, with its checks.
#![allow(dead_code, missing_docs)]

pub mod plan;
pub mod random;

use std::collections::VecDeque;
use std::sync::Arc;

use flashloom_buffer::{order, rate};
use flashloom_device::{
    Ageing, DeviceParams, Drive, DriveSetup, Engine, Interest, Observer, Outcome, Overwrite, Sample, Served, Simulation,
};
use flashloom_ftl::{CapacityParams, allocation, mapping, placement};
use flashloom_host::{BlockLayer, HostParams, scheduler};
use flashloom_nand::{NandParams, PageCondition, Reading, Reliability, reliability};
use flashloom_units::{
    Chosen, Component, Figure, Ns, OrName, ParamSet, Policy, PolicySpec, Prng, Problem, S, Slot, Value, state,
    stateful, transfer_ns,
};
use flashloom_workload::{Op, Pace, Replayed, Request, Source};

pub struct List(pub VecDeque<Request>);

impl Source for List {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        Ok(self.0.pop_front())
    }
}

/// A workload of those requests.
pub fn replayed(requests: impl IntoIterator<Item = Request>, pace: Pace) -> Replayed<List> {
    Replayed::new(List(requests.into_iter().collect()), pace)
}

pub fn request(arrival_ns: Ns, op: Op, lba: u64, sectors: u32) -> Request {
    Request::new(op, lba, sectors).arriving_at(arrival_ns)
}

/// An array of one plane a die, whose parts are easy to reckon with.
pub fn plain_nand() -> NandParams {
    NandParams { channels: 4, ways: 2, planes: 1, blocks: 64, pages: 64, page_bytes: 4_096, ..NandParams::defaults() }
}

/// A drive of that array.
pub fn plain(nand: NandParams) -> DeviceParams {
    plain_with(nand, 0.2)
}

/// A drive of that array with that over-provisioning.
pub fn plain_with(nand: NandParams, over_provisioning: f64) -> DeviceParams {
    DeviceParams { nand, capacity: CapacityParams::of(over_provisioning), ..DeviceParams::defaults() }
}

pub fn plain_device() -> DeviceParams {
    plain(plain_nand())
}

pub fn unbuffered(device: DeviceParams) -> DriveSetup {
    let mut setup = DriveSetup::with_defaults(device);
    setup.buffer_bytes = 0;
    setup.verify = true;
    setup
}

/// A verified drive with a buffer of that many pages of 4 KiB, under those policies.
pub fn buffered(device: DeviceParams, pages: u64, order: &'static str, rate: &'static str) -> DriveSetup {
    let mut setup = unbuffered(device);
    setup.buffer_bytes = pages * 4_096;
    setup.order = order::builtin().choose(order, &[]).unwrap();
    setup.rate = rate::builtin().choose(rate, &[]).unwrap();
    setup
}

/// The drive under that mapping, with those parameters besides.
pub fn mapped(mut setup: DriveSetup, name: &str, set: &[(&str, Value)]) -> DriveSetup {
    setup.ftl.mapping = mapping::builtin().choose(name, set).unwrap();
    setup
}

/// The drive with its map on flash, and room for that many entries in memory.
pub fn dftl(setup: DriveSetup, entries: u64) -> DriveSetup {
    mapped(setup, "dftl", &[("cache", Value::Size(8 * entries))])
}

/// The drive under that allocation, with those parameters besides.
pub fn allocated(mut setup: DriveSetup, name: &str, set: &[(&str, Value)]) -> DriveSetup {
    setup.ftl.allocation = allocation::builtin().choose(name, set).unwrap();
    setup
}

/// Transfer time of a page of 4 KiB over the link.
pub fn link_ns(device: &DeviceParams) -> Ns {
    transfer_ns(4_096, device.interface.link_rate)
}

/// Transfer time of such a page over a channel.
pub fn channel_ns(device: &DeviceParams) -> Ns {
    device.nand.timing().transfer_ns(8)
}

/// An engine of a new drive under a block layer.
pub fn under(host: &HostParams, setup: &DriveSetup, idle_delay_ns: Ns) -> Engine {
    let layer = BlockLayer::setup(host, setup.device.capacity_sectors());
    let scheduler = scheduler::builtin().choose(host.scheduler, &[]).unwrap().build(&layer).unwrap();
    Engine::new(BlockLayer::new(host, scheduler), Drive::new(setup).unwrap(), idle_delay_ns)
}

/// Fills that many pages of a drive in order of address.
pub fn filled_with(fill_pages: u64) -> Ageing {
    Ageing { fill_pages, fill_streams: true, overwrite: None }
}

/// Advances time until all requests have come back.
pub fn serve_all(engine: &mut Engine) {
    while engine.outstanding() > 0 {
        let next_ns = engine.next_event_ns().expect("requests are outstanding");
        engine.advance_to(next_ns).unwrap();
    }
}

/// Advances time until the drive is idle.
pub fn finish(engine: &mut Engine) {
    while let Some(next_ns) = engine.next_event_ns().filter(|_| !engine.is_idle()) {
        engine.advance_to(next_ns).unwrap();
    }
}

/// Requests of whole pages.
pub fn pages(op: Op, at: u64, lpns: impl IntoIterator<Item = u64>) -> Vec<Request> {
    lpns.into_iter().map(|lpn| request(at, op, 8 * lpn, 8)).collect()
}

/// A statistic of the FTL's policies by name: the policies that count it all have it at the same place.
pub fn figure(outcome: &Outcome, name: &str) -> Option<Figure> {
    let slots = [
        (&mapping::SLOT, mapping::builtin().specs().collect::<Vec<_>>()),
        (&allocation::SLOT, allocation::builtin().specs().collect()),
        (&placement::SLOT, placement::builtin().specs().collect()),
    ];
    slots.into_iter().find_map(|(slot, specs)| {
        let place = specs.iter().find_map(|spec| slot.statistics_of(spec).position(|one| one.name == name))?;
        outcome.figures.of(slot).get(place).cloned()
    })
}

/// One that is a count or a time.
pub fn count(outcome: &Outcome, name: &str) -> u64 {
    figure(outcome, name).and_then(|figure| figure.whole()).unwrap_or_else(|| panic!("`{name}` is counted"))
}

pub struct Run {
    pub setup: DriveSetup,
    pub queue_depth: u32,
    pub pace: Pace,
    pub fill: bool,
    pub fill_streams: bool,
    /// Whether flash operations take time, or are only counted.
    pub timed: bool,
    pub scheduler: &'static str,
    pub merging: bool,
    pub idle_delay_ns: Ns,
    /// Whether the run ends when all that was written is in flash.
    pub drain: bool,
    /// Whether the workload goes on when the drive's life has ended.
    pub read_only: bool,
    /// Whether a timed run keeps the anatomy of its latencies.
    pub anatomy: bool,
}

impl Run {
    pub fn new(setup: DriveSetup) -> Self {
        Self {
            setup,
            queue_depth: 32,
            pace: Pace::Timestamps(1.0),
            fill: true,
            fill_streams: true,
            timed: true,
            scheduler: "noop",
            merging: false,
            idle_delay_ns: 3_600 * S,
            drain: false,
            read_only: false,
            anatomy: true,
        }
    }

    pub fn engine(&self) -> Engine {
        let host = HostParams {
            queue_depth: self.queue_depth,
            nr_requests: OrName::Number(8_192),
            scheduler: self.scheduler,
            merging: self.merging,
            ..HostParams::defaults()
        };
        under(&host, &self.setup, self.idle_delay_ns)
    }

    /// The engine with the drive filled, and in time if the run is.
    pub fn started(&self) -> Engine {
        let mut engine = self.engine();
        let fill_pages = if self.fill { self.setup.device.logical_pages() } else { 0 };
        engine.precondition(&Ageing { fill_streams: self.fill_streams, ..filled_with(fill_pages) }, &mut |_| {});
        if self.timed {
            engine.start_timing(&self.setup.device.nand);
            if self.anatomy {
                engine.keep_anatomy().unwrap();
            }
        }
        engine
    }

    /// Runs the requests on a filled drive, and checks every account.
    pub fn run(&self, requests: impl IntoIterator<Item = Request>) -> Outcome {
        self.simulated(requests, &mut []).outcome()
    }

    /// [`Self::run`] before an observer.
    pub fn observed(&self, requests: impl IntoIterator<Item = Request>, observer: &mut dyn Observer) -> Outcome {
        self.simulated(requests, &mut [observer]).outcome()
    }

    /// The requests of a run, in order of completion, and its outcome.
    pub fn served(&self, requests: impl IntoIterator<Item = Request>) -> (Vec<Served>, Outcome) {
        let mut kept = Kept::default();
        let outcome = self.observed(requests, &mut kept);
        (kept.served, outcome)
    }

    /// A run of the requests before observers, with every account checked.
    pub fn simulated(
        &self,
        requests: impl IntoIterator<Item = Request>,
        observers: &mut [&mut dyn Observer],
    ) -> Simulation {
        let mut simulation = Simulation::new(self.started());
        if self.drain {
            simulation = simulation.with_drain();
        }
        if self.read_only {
            simulation = simulation.beyond_end_of_life();
        }
        simulation.run(&mut replayed(requests, self.pace), Ns::MAX, observers).unwrap();
        simulation.check().unwrap();
        simulation
    }

    /// Write amplification of uniform random page writes in steady state, measured in counting mode.
    pub fn steady_waf(&self) -> f64 {
        let mut engine = self.engine();
        let fill_pages = self.setup.device.logical_pages();
        // Two windows are enough to reach the steady state from a sequential fill; the last is the measurement.
        let overwrite = Overwrite { prng: Prng::new(11), window: 4.0, tolerance: 0.0, max_windows: 3, rest: false };
        let aged = engine.precondition(&Ageing { overwrite: Some(overwrite), ..filled_with(fill_pages) }, &mut |_| {});
        engine.check().unwrap();
        aged.waf.unwrap()
    }
}

/// The requests of a run that have ended, in order of completion, and its samples.
#[derive(Default)]
pub struct Kept {
    pub served: Vec<Served>,
    pub samples: Vec<Sample>,
}

impl Observer for Kept {
    fn interest(&self) -> Interest {
        Interest { served: true, samples: true, ..Interest::default() }
    }

    fn served(&mut self, served: &Served) {
        self.served.push(*served);
    }

    fn sample(&mut self, sample: &Sample) {
        self.samples.push(*sample);
    }
}

/// A policy of read reliability that decides as a function says.
struct Deciding {
    decide: Arc<dyn Fn(&PageCondition) -> Reading + Send + Sync>,
}

state! { Deciding { fixed decide; } }

impl Component for Deciding {
    stateful!();
}

impl Reliability for Deciding {
    fn read(&mut self, page: &PageCondition) -> Reading {
        (self.decide)(page)
    }
}

pub fn deciding(decide: impl Fn(&PageCondition) -> Reading + Send + Sync + 'static) -> Chosen<dyn Reliability> {
    static SPEC: PolicySpec = PolicySpec { name: "deciding", ..PolicySpec::BLANK };
    let decide: Arc<dyn Fn(&PageCondition) -> Reading + Send + Sync> = Arc::new(decide);
    let build = move || Box::new(Deciding { decide: Arc::clone(&decide) });
    let policy = Policy::<dyn Reliability>::new(&SPEC, move |(), _| Ok(build()));
    Slot::new(&reliability::SLOT, [policy]).choose("deciding", &[]).unwrap()
}
