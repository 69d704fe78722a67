//! A modelled drive to probe: without scheduler or merging.

use flashloom_config::{Config, Timing};
use flashloom_device::Simulation;
use flashloom_run::{Failure, Progress, unscheduled};
use flashloom_units::{Ns, Prng, Problem, SECTOR_BYTES, Violation};
use flashloom_workload::{Arrivals, Op, Request};

use super::{Load, Measure, Size, Target};

/// The drive of an experiment, aged as configured.
pub struct ModelledDrive<'a> {
    config: Config,
    simulation: Simulation,
    request_sectors: u32,
    prng: Prng,
    progress: &'a dyn Progress,
}

impl<'a> ModelledDrive<'a> {
    /// The drive of a configuration in its state before the workload, with the random draws of a seed.
    pub fn new(config: &Config, seed: u64, request_bytes: u64, progress: &'a dyn Progress) -> Result<Self, Failure> {
        let mut config = config.clone();
        (config.run.seed, config.run.timing) = (seed, Timing::Timed);
        let simulation = Simulation::new(unscheduled(&config)?);
        let request_sectors = (request_bytes / SECTOR_BYTES) as u32;
        Ok(Self { config, simulation, request_sectors, prng: Prng::new(seed).branch("probe"), progress })
    }
}

impl Target for ModelledDrive<'_> {
    fn capacity(&self) -> u64 {
        self.config.device.capacity_sectors() / u64::from(self.request_sectors)
    }

    fn buffered(&self) -> u32 {
        let sectors = self.config.buffer.capacity_bytes / SECTOR_BYTES;
        u32::try_from(sectors / u64::from(self.request_sectors)).unwrap_or(u32::MAX)
    }

    fn renew(&mut self) -> Result<(), Failure> {
        self.simulation.check().map_err(Failure::Check)?;
        self.simulation = Simulation::new(unscheduled(&self.config)?);
        Ok(())
    }

    fn measure(&mut self, load: &Load) -> Result<Measure, Failure> {
        let mut arrivals = Loaded::new(load, self.request_sectors, &mut self.prng);
        self.simulation.run(&mut arrivals, Ns::MAX, &mut []).map_err(Failure::Input)?;
        let Some(measure) = arrivals.until else {
            let ended = "the drive's life ended while it was probed, because too many blocks failed";
            return Err(Failure::Check(Violation::new(ended)));
        };
        self.progress.requests(measure.requests);
        Ok(measure)
    }
}

/// A load as arrivals that keep its number of requests outstanding. The measurement begins when the queue has been
/// filled once, and ends with the last arrival, so that the queue is full throughout.
struct Loaded<'a> {
    load: &'a Load,
    request_sectors: u32,
    prng: &'a mut Prng,
    credit: u32,
    left: u64,
    completed: u64,
    from_ns: Option<Ns>,
    until: Option<Measure>,
}

impl<'a> Loaded<'a> {
    fn new(load: &'a Load, request_sectors: u32, prng: &'a mut Prng) -> Self {
        let left = u64::from(load.requests) + 2 * u64::from(load.outstanding);
        let credit = load.outstanding;
        Self { load, request_sectors, prng, credit, left, completed: 0, from_ns: None, until: None }
    }

    fn draw(&mut self) -> u64 {
        let [first, second] = &self.load.places;
        let place = if !second.is_empty() && self.prng.chance(0.5) { second } else { first };
        place.start + self.prng.below(place.end - place.start)
    }
}

impl Arrivals for Loaded<'_> {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        Ok((self.credit > 0 && self.left > 0).then_some(now))
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        self.credit -= 1;
        self.left -= 1;
        if self.left == 0
            && let Some(from_ns) = self.from_ns
        {
            let requests = self.completed - u64::from(self.load.outstanding);
            self.until = Some(Measure { requests, elapsed_ns: now - from_ns });
        }
        let lba = self.draw() * u64::from(self.request_sectors);
        let sectors = if self.load.size == Size::Sector { 1 } else { self.request_sectors };
        let flags = if self.load.op == Op::Read { Request::SYNC } else { 0 };
        (Request::new(self.load.op, lba, sectors).arriving_at(now).with_flags(flags), 0)
    }

    fn completed(&mut self, now: Ns, _cookie: u32) {
        self.credit += 1;
        self.completed += 1;
        if self.completed == u64::from(self.load.outstanding) {
            self.from_ns = Some(now);
        }
    }

    fn is_over(&self) -> bool {
        self.left == 0
    }
}
