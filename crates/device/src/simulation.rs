//! A run: workloads drive a target until they end.
//!
//! At each timestamp events are processed in this order: what ends in the target, what arrives, what the target starts
//! by itself ([`Target::due`]). After each of them, target and host exchange completions and new requests.

mod run;
mod tenant;

use flashloom_units::{Ns, Problem, Violation};
use flashloom_workload::Arrivals;

use crate::engine::Engine;
use crate::observer::Observer;
use crate::outcome::Outcome;
use crate::target::{Target, Terms};
pub use run::Run;
pub use tenant::Tenant;

/// A run of workloads on a target, by default an engine.
pub struct Simulation<T = Engine> {
    target: T,
    terms: Terms,
    /// Pages programmed for the host between two samples, if samples are taken by pages rather than by time.
    sample_pages: Option<u64>,
}

impl<T: Target> Simulation<T> {
    /// A run on a target without submitted requests. It also ends when the life of a drive ends.
    pub fn new(target: T) -> Self {
        Self { target, terms: Terms { stops_at_end_of_life: true, drains: false }, sample_pages: None }
    }

    /// Continues the workload after the end of the drive's life, when the drive is read-only.
    #[must_use]
    pub fn beyond_end_of_life(mut self) -> Self {
        self.terms.stops_at_end_of_life = false;
        self
    }

    /// Ends the run when all written data is on flash, instead of when the last request has completed.
    #[must_use]
    pub fn with_drain(mut self) -> Self {
        self.terms.drains = true;
        self
    }

    /// Takes samples after every `pages` pages programmed for the host instead of by time. For counting mode, where
    /// most events share a few timestamps. A request may program more pages than that; two samples are then further
    /// apart.
    #[must_use]
    pub fn with_samples_by_pages(mut self, pages: u64) -> Self {
        self.sample_pages = Some(pages);
        self
    }

    /// Runs a workload until it, or the drive's life, ends; returns the time of the end. `observers` are called as
    /// their interest says, with a sample every `interval_ns` of simulated time. An interrupted run stops where it is
    /// ([`Target::interrupt`]).
    ///
    /// # Errors
    /// An error in the workload's input, unless it was checked before; a request that the target refuses.
    pub fn run(
        &mut self,
        arrivals: &mut dyn Arrivals,
        interval_ns: Ns,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Ns, Problem> {
        self.drive(&mut [Tenant::new(arrivals)], false, interval_ns, observers)
    }

    /// Runs several workloads on the target until all have ended, like [`Self::run`]. Each has its own arrivals,
    /// backlog and report ([`Tenant::report`]). Workloads that wait for room take turns.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_together(
        &mut self,
        tenants: &mut [Tenant<'_>],
        interval_ns: Ns,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Ns, Problem> {
        self.drive(tenants, true, interval_ns, observers)
    }

    /// The target.
    pub fn target(&self) -> &T {
        &self.target
    }

    fn drive(
        &mut self,
        tenants: &mut [Tenant<'_>],
        keeps_reports: bool,
        interval_ns: Ns,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Ns, Problem> {
        let Self { target, terms, sample_pages } = self;
        target.begin(*terms);
        let mut run = Run::new(tenants, keeps_reports, observers, (interval_ns, *sample_pages), target);
        target.carry(&mut run)?;
        Ok(target.now_ns())
    }
}

impl Simulation {
    /// Measurements of the run, after [`Self::run`].
    pub fn outcome(&self) -> Outcome {
        self.target.outcome()
    }

    /// The engine, whatever it does.
    pub fn into_engine(self) -> Engine {
        self.target
    }

    /// Checks at the end of a run that all counters add up, like [`Engine::check`].
    ///
    /// # Errors
    /// The first counter that does not add up, with its values.
    pub fn check(&self) -> Result<(), Violation> {
        self.target.check()
    }
}
