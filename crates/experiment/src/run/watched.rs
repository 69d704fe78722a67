//! A run that others look at: every request is shown as it arrives or as it is issued, and counted.

use flashloom_device::{Event as DeviceEvent, Interest, Observer, Sample, Simulation};
use flashloom_units::{Ns, Problem};
use flashloom_workload::{Arrivals, Event, Request};

use super::{Failure, Progress};

/// Those who look.
pub struct Watched<'a> {
    /// Is told how many requests have arrived, a few thousand at a time.
    pub progress: &'a dyn Progress,
    /// Gets a sample after every interval. Where nobody looks there are none: a long silence has many.
    pub observe: Option<&'a mut dyn FnMut(&Sample)>,
    /// Gets every request, at the event that it names: as the workload queues it, or as the scheduler issues it.
    pub requests: (Event, OfRequests<'a>),
    /// Requests that the progress has not been told of.
    pub untold: u64,
}

/// What is told of requests.
type OfRequests<'a> = &'a mut dyn FnMut(&Request);

impl Watched<'_> {
    const STEP: u64 = 4_096;

    /// Runs a workload to its end, and says when that was.
    ///
    /// # Errors
    /// What is wrong with the workload's input.
    pub fn run(
        &mut self,
        simulation: &mut Simulation,
        arrivals: &mut dyn Arrivals,
        interval_ns: Ns,
    ) -> Result<Ns, Failure> {
        let Self { progress, observe, requests: (event, each), untold } = self;
        let mut nobody = |_: &Request| {};
        let (queued, issued): (OfRequests<'_>, OfRequests<'_>) = match event {
            Event::Queue => (*each, &mut nobody),
            Event::Issue => (&mut nobody, *each),
        };
        let interval_ns = if observe.is_some() { interval_ns } else { Ns::MAX };
        let mut looking = Looking { observe, issued, end_ns: 0 };
        let mut shown = Shown { arrivals, progress: *progress, queued, untold };
        simulation.run(&mut shown, interval_ns, &mut [&mut looking]).map_err(Failure::Input)?;
        shown.tell();
        Ok(looking.end_ns)
    }
}

/// What the simulation shows.
struct Looking<'a, 'b> {
    observe: &'a mut Option<&'b mut dyn FnMut(&Sample)>,
    issued: OfRequests<'a>,
    /// When the latest sample was taken, at the end that of the run.
    end_ns: Ns,
}

impl Observer for Looking<'_, '_> {
    fn interest(&self) -> Interest {
        Interest { events: true, served: false }
    }

    fn sample(&mut self, sample: &Sample) {
        self.end_ns = sample.time_ns;
        self.observe.iter_mut().for_each(|observe| observe(sample));
    }

    fn event(&mut self, now: Ns, event: &DeviceEvent) {
        if let DeviceEvent::Dispatched(command) = event {
            (self.issued)(&command.issued(now));
        }
    }
}

/// Arrivals that are shown as they are taken.
struct Shown<'a> {
    arrivals: &'a mut dyn Arrivals,
    progress: &'a dyn Progress,
    queued: OfRequests<'a>,
    untold: &'a mut u64,
}

impl Shown<'_> {
    fn tell(&mut self) {
        self.progress.requests(std::mem::take(self.untold));
    }
}

impl Arrivals for Shown<'_> {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        self.arrivals.next_ns(now)
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        let (request, cookie) = self.arrivals.take(now);
        *self.untold += 1;
        if *self.untold == Watched::STEP {
            self.tell();
        }
        (self.queued)(&request);
        (request, cookie)
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        self.arrivals.completed(now, cookie);
    }

    fn is_over(&self) -> bool {
        self.arrivals.is_over()
    }
}
