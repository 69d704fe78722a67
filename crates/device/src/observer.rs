//! Observers of a run: logs, timelines, pictures and checks. What they are told of is in `event.rs`, which knows none
//! of them.

use flashloom_units::Ns;

use crate::anatomy::Served;
use crate::event::{Event, Interest};
use crate::outcome::Sample;
use crate::target::Target;

/// Who looks at a run, and is told in order of time.
pub trait Observer {
    /// What it is told. Asked once, before the run begins.
    fn interest(&self) -> Interest {
        Interest::default()
    }

    /// The run is about to begin: drives are aged, and no request was submitted. [`Target::engines`] has them.
    fn begin(&mut self, _target: &dyn Target) {}

    /// The state after an interval of simulated time or of pages, for those with [`Interest::samples`], and at the end.
    fn sample(&mut self, _sample: &Sample) {}

    /// When it wants to look at the target next; asked before the run begins, and after every [`Self::look`].
    fn next_look_ns(&self) -> Ns {
        Ns::MAX
    }

    /// The target at the time that was asked for, at which nothing has happened yet, and at the end of the run; for
    /// those with [`Self::next_look_ns`].
    fn look(&mut self, _time_ns: Ns, _target: &dyn Target) {}

    /// Something happened; for those with [`Interest::events`].
    fn event(&mut self, _now: Ns, _event: &Event) {}

    /// A request has ended; for those with [`Interest::served`].
    fn served(&mut self, _served: &Served) {}
}
