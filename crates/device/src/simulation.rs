//! One run: workloads drive a target to their end.
//!
//! Every moment goes in the same order: what ends in the target, what arrives, what the target begins by itself
//! ([`Target::due`]). After each of them the target and its host settle what they have for each other.

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

/// One run of workloads on a target: an engine, unless another is named.
pub struct Simulation<T = Engine> {
    target: T,
    terms: Terms,
    /// Pages programmed for the host between two samples, where they are not taken by time.
    sample_pages: Option<u64>,
}

impl<T: Target> Simulation<T> {
    /// A run of a target that nothing was submitted to. It ends when the life of a drive does, if that comes first.
    pub fn new(target: T) -> Self {
        Self { target, terms: Terms { stops_at_end_of_life: true, drains: false }, sample_pages: None }
    }

    /// The workload goes on when the drive's life has ended, against a drive that can only be read.
    #[must_use]
    pub fn beyond_end_of_life(mut self) -> Self {
        self.terms.stops_at_end_of_life = false;
        self
    }

    /// The run is to end when everything that was written is in flash, not when the last request has completed.
    #[must_use]
    pub fn with_drain(mut self) -> Self {
        self.terms.drains = true;
        self
    }

    /// Samples are to come after every `pages` programmed for the host, not by time: for counting mode, where most
    /// happens at a few moments. One request may program more than that, and two samples are then further apart.
    #[must_use]
    pub fn with_samples_by_pages(mut self, pages: u64) -> Self {
        self.sample_pages = Some(pages);
        self
    }

    /// Runs a workload to its end, or to that of the drive's life; returns when that was. `observers` get what they are
    /// interested in, samples after every `interval_ns` of simulated time. An interrupted run ends where it is
    /// ([`Target::interrupt`]).
    ///
    /// # Errors
    /// What the workload finds wrong with its input, which one that was checked before does not; a request that the
    /// target refuses.
    pub fn run(
        &mut self,
        arrivals: &mut dyn Arrivals,
        interval_ns: Ns,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Ns, Problem> {
        self.drive(&mut [Tenant::new(arrivals)], false, interval_ns, observers)
    }

    /// Runs several workloads on the target until all of them have ended, as [`Self::run`]. Each has its own arrivals,
    /// its own backlog, and its own report ([`Tenant::report`]); those that wait for room take turns.
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
    /// What was measured, after [`Self::run`].
    pub fn outcome(&self) -> Outcome {
        self.target.outcome()
    }

    /// Checks that everything adds up at the end of a run, as [`Engine::check`].
    ///
    /// # Errors
    /// The first account that does not, with its numbers.
    pub fn check(&self) -> Result<(), Violation> {
        self.target.check()
    }
}
