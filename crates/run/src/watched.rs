//! Execution of a run with observers: of events in the stack, of progress, and of requests as they arrive.

use flashloom_device::{Event, Interest, Observer, Simulation};
use flashloom_units::{Ns, Problem};
use flashloom_workload::{Arrivals, Request};

use super::{Failure, Progress};
use crate::series::Series;

/// Observers of a run; by default none.
#[derive(Default)]
pub struct Watched<'a, 'b> {
    /// Receive the events of the stack.
    pub observers: &'a mut [&'b mut dyn Observer],
    /// Called with every request as it arrives, before it may have to wait in front of the block layer.
    pub queued: Option<&'a mut dyn FnMut(&Request)>,
}

impl Watched<'_, '_> {
    /// Runs a workload to its end, and returns the time of the end; `series` is one more observer. `progress` receives
    /// the number of requests that have arrived, a few thousand at a time.
    ///
    /// # Errors
    /// A problem in the workload's input, or an interruption.
    pub fn run(
        self,
        simulation: &mut Simulation,
        arrivals: &mut dyn Arrivals,
        interval_ns: Ns,
        series: Option<&mut Series>,
        progress: &dyn Progress,
    ) -> Result<Ns, Failure> {
        let interrupt = progress.interrupt();
        let mut shown = Shown { arrivals, progress, queued: self.queued, untold: 0 };
        let observers = self.observers.iter_mut().map(|each| &mut **each as &mut dyn Observer);
        let mut observers: Vec<_> = observers.chain(series.map(|each| each as &mut dyn Observer)).collect();
        let end_ns = simulation.run(&mut shown, interval_ns, &mut observers).map_err(Failure::Input)?;
        shown.tell();
        if interrupt.is_raised() { Err(Failure::Interrupted) } else { Ok(end_ns) }
    }
}

/// Observer that passes every request that the scheduler issues to the drive, in its merged form, to a callback.
pub struct Issues<F>(pub F);

impl<F: FnMut(&Request)> Observer for Issues<F> {
    fn interest(&self) -> Interest {
        Interest { events: true, ..Interest::default() }
    }

    fn event(&mut self, now: Ns, event: &Event) {
        if let Event::Dispatched(command) = event {
            (self.0)(&command.issued(now));
        }
    }
}

/// Arrivals that are counted, and passed on, as they are taken.
struct Shown<'a, 'b> {
    arrivals: &'a mut dyn Arrivals,
    progress: &'a dyn Progress,
    queued: Option<&'b mut dyn FnMut(&Request)>,
    /// Requests not yet reported as progress.
    untold: u64,
}

impl Shown<'_, '_> {
    const STEP: u64 = 4_096;

    fn tell(&mut self) {
        self.progress.requests(std::mem::take(&mut self.untold));
    }
}

impl Arrivals for Shown<'_, '_> {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        self.arrivals.next_ns(now)
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        let (request, cookie) = self.arrivals.take(now);
        self.untold += 1;
        if self.untold == Self::STEP {
            self.tell();
        }
        self.queued.iter_mut().for_each(|show| show(&request));
        (request, cookie)
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        self.arrivals.completed(now, cookie);
    }

    fn is_over(&self) -> bool {
        self.arrivals.is_over()
    }
}
