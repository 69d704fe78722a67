//! Observers of a run: logs, timelines, pictures and checks. The events that they receive are in `event.rs`, which is
//! independent of them.

use flashloom_units::Ns;

use crate::anatomy::Served;
use crate::event::{Event, Interest};
use crate::outcome::Sample;
use crate::target::Target;

/// An observer of a run. Its methods are called in order of simulated time, and cannot change the run.
pub trait Observer {
    /// What it wants to receive. Called once, before the run begins.
    fn interest(&self) -> Interest {
        Interest::default()
    }

    /// Called before the run begins: drives are preconditioned, and no request has been submitted. [`Target::engines`]
    /// has them.
    fn begin(&mut self, _target: &dyn Target) {}

    /// Called after each interval of simulated time or of pages, and at the end, if it asked for [`Interest::samples`].
    fn sample(&mut self, _sample: &Sample) {}

    /// Returns the next time at which it wants to inspect the target. Called before the run begins and after every
    /// [`Self::look`].
    fn next_look_ns(&self) -> Ns {
        Ns::MAX
    }

    /// Called at the time returned by [`Self::next_look_ns`], before anything happens at that time, and at the end of
    /// the run.
    fn look(&mut self, _time_ns: Ns, _target: &dyn Target) {}

    /// Called for every event, if it asked for [`Interest::events`].
    fn event(&mut self, _now: Ns, _event: &Event) {}

    /// Called when a request has ended, if it asked for [`Interest::served`].
    fn served(&mut self, _served: &Served) {}
}
