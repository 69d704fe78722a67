//! Execution of a run with observers: of events in the stack, of progress, and of requests as they arrive.

use std::cell::RefCell;

use flashloom_device::{Event, HostReport, Interest, Observer, Simulation, Tenant};
use flashloom_units::{Ns, Problem};
use flashloom_workload::workload::Running;
use flashloom_workload::{Arrivals, Request};

use super::{Failure, Progress};
use crate::series::Series;

/// Observers of a run; by default none.
#[derive(Default)]
pub struct Watched<'a, 'b> {
    /// Receive the events of the stack.
    pub observers: &'a mut [&'b mut dyn Observer],
    /// Called with every request as it arrives, before it may have to wait in front of the block layer.
    pub queued: Option<ShowRequest<'a>>,
}

impl Watched<'_, '_> {
    /// Runs workloads to their ends, and returns the time of the last; with several, what came of the requests of each.
    /// `series` is one more observer. `progress` receives the number of requests that have arrived, a few thousand at a
    /// time.
    ///
    /// # Errors
    /// A problem in a workload's input, or an interruption.
    pub fn run(
        self,
        simulation: &mut Simulation,
        workloads: &mut [Box<dyn Running + '_>],
        interval_ns: Ns,
        series: Option<&mut Series>,
        progress: &dyn Progress,
    ) -> Result<(Ns, Vec<HostReport>), Failure> {
        let (interrupt, queued) = (progress.interrupt(), RefCell::new(self.queued));
        let shown = |arrivals| Shown { arrivals, progress, queued: &queued, untold: 0 };
        let mut shown: Vec<_> = workloads.iter_mut().map(|each| shown(&mut **each as &mut dyn Arrivals)).collect();
        let observers = self.observers.iter_mut().map(|each| &mut **each as &mut dyn Observer);
        let mut observers: Vec<_> = observers.chain(series.map(|each| each as &mut dyn Observer)).collect();
        let mut reports = Vec::new();
        let end_ns = if let [one] = &mut shown[..] {
            simulation.run(one, interval_ns, &mut observers)
        } else {
            let queues = shown.iter_mut().zip(0..);
            let mut tenants: Vec<_> = queues.map(|(each, queue)| Tenant::new(each).on_queue(queue)).collect();
            let end_ns = simulation.run_together(&mut tenants, interval_ns, &mut observers);
            reports = tenants.iter().map(|tenant| tenant.report().clone()).collect();
            end_ns
        };
        let end_ns = end_ns.map_err(Failure::Input)?;
        shown.iter_mut().for_each(Shown::tell);
        if interrupt.is_raised() { Err(Failure::Interrupted) } else { Ok((end_ns, reports)) }
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

/// What is told every request.
type ShowRequest<'a> = &'a mut dyn FnMut(&Request);

/// Arrivals that are counted, and passed on, as they are taken.
struct Shown<'a, 'b> {
    arrivals: &'a mut dyn Arrivals,
    progress: &'a dyn Progress,
    queued: &'a RefCell<Option<ShowRequest<'b>>>,
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
        self.queued.borrow_mut().iter_mut().for_each(|show| show(&request));
        (request, cookie)
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        self.arrivals.completed(now, cookie);
    }

    fn is_over(&self) -> bool {
        self.arrivals.is_over()
    }
}
