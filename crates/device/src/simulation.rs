//! One run: a workload drives an engine to its end.

use std::collections::VecDeque;

use flashloom_host::Class;
use flashloom_units::{Ns, Problem};
use flashloom_workload::{Arrivals, Op, Request};

use crate::engine::{Client, Engine};
use crate::event::{Interest, Observer};
use crate::outcome::Outcome;
use crate::status::Status;

/// Requests of a class that may wait for room in the block layer before the workload itself is held up.
const BACKLOG: usize = 65_536;

/// One run of a workload through host and drive.
pub struct Simulation {
    engine: Engine,
    drain: Drain,
    /// Pages programmed for the host between two samples, where they are not taken by time.
    sample_pages: Option<u64>,
    /// What was measured until the drive's life ended, where the run ends with it.
    cut: Option<Box<Outcome>>,
}

/// Requests that found their class full (`nr_requests`), by class, in order of arrival.
#[derive(Default)]
struct Backlog([VecDeque<(Request, u32)>; 2]);

/// Whether the run ends when the last request has completed, or when the buffer is empty.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drain {
    /// What the buffer holds stays there.
    No,
    /// It will be written once the last request has completed.
    AtTheEnd,
    /// That many pages are being, or have been, written.
    Begun(u64),
}

impl Backlog {
    fn is_full(&self) -> bool {
        self.0.iter().any(|waiting| waiting.len() == BACKLOG)
    }

    /// A request arrives, behind those of its class that wait already.
    fn admit(&mut self, engine: &mut Engine, request: &Request, cookie: u32) {
        let waiting = &mut self.0[Class::of(request).at()];
        let behind = request.op != Op::Flush && !waiting.is_empty();
        if behind || !engine.offer(request, cookie) {
            waiting.push_back((*request, cookie));
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.iter().all(VecDeque::is_empty)
    }

    #[inline(never)] // Most moments have no backlog.
    fn resubmit(&mut self, engine: &mut Engine) {
        for waiting in &mut self.0 {
            while let Some((request, cookie)) = waiting.front() {
                if !engine.offer(request, *cookie) {
                    break;
                }
                waiting.pop_front();
            }
        }
    }
}

/// The workload and those who look at the run, as the engine sees them in the middle of a moment.
struct Driver<'a, 'b> {
    arrivals: &'a mut dyn Arrivals,
    /// What the workload said at `asked_ns` of its next arrival: [`Ns::MAX`] for none, nothing before that time.
    arrival_ns: Ns,
    /// [`Ns::MAX`] where it has to be asked, because a request has come or completed since.
    asked_ns: Ns,
    backlog: Backlog,
    observers: &'a mut [&'b mut dyn Observer],
    samples: Option<PageSamples>,
}

/// A sample is taken whenever so many more pages were programmed for the host.
struct PageSamples {
    every: u64,
    next: u64,
}

/// When the observers are shown the state of the run: samples at intervals, the engine when they ask for it.
struct Clock {
    interval_ns: Ns,
    sample_ns: Ns,
    look_ns: Ns,
}

impl Clock {
    fn due_ns(&self) -> Ns {
        self.sample_ns.min(self.look_ns)
    }

    /// Shows what is due.
    fn show(&mut self, engine: &mut Engine, observers: &mut [&mut dyn Observer]) {
        let due_ns = self.due_ns();
        if self.look_ns == due_ns {
            show_engine(engine, due_ns, observers);
            self.look_ns = next_look_ns(observers);
            debug_assert!(self.look_ns > due_ns, "an observer looks at a time once");
        }
        if self.sample_ns == due_ns {
            show_sample(engine, due_ns, observers);
            self.sample_ns = due_ns.saturating_add(self.interval_ns);
        }
    }
}

impl Driver<'_, '_> {
    /// When the next request arrives; [`Ns::MAX`] at the end, and while the backlog is full: then the workload itself
    /// has to wait.
    #[inline]
    fn next_arrival_ns(&mut self, now: Ns) -> Result<Ns, Problem> {
        if self.backlog.is_full() {
            return Ok(Ns::MAX);
        }
        if self.asked_ns != now {
            self.arrival_ns = self.arrivals.next_ns(now)?.map_or(Ns::MAX, |at| at.max(now));
            self.asked_ns = now;
        }
        Ok(self.arrival_ns)
    }

    fn admit_arrivals(&mut self, now: Ns, engine: &mut Engine) -> Result<(), Problem> {
        engine.come_to(now);
        while self.next_arrival_ns(now)? == now {
            self.asked_ns = Ns::MAX;
            let (request, cookie) = self.arrivals.take(now);
            let report = engine.report();
            report.generated += 1;
            report.last_arrival_ns = request.arrival_ns;
            self.backlog.admit(engine, &request, cookie);
        }
        Ok(())
    }

    #[inline(never)] // Few runs have samples, and most of those by time.
    fn sample_by_pages(&mut self, engine: &mut Engine) {
        let Some(PageSamples { every, next }) = &mut self.samples else { return };
        let pages = engine.host_programs();
        if pages >= *next {
            *next = (pages / *every + 1) * *every;
            show_sample(engine, engine.now_ns(), self.observers);
        }
    }

    /// Shows the observers what has happened since they were shown something last.
    fn show(&mut self, engine: &mut Engine) {
        for (at, event) in engine.events() {
            self.observers.iter_mut().filter(|each| each.interest().events).for_each(|each| each.event(at, &event));
        }
        for served in engine.served() {
            self.observers.iter_mut().filter(|each| each.interest().served).for_each(|each| each.served(&served));
        }
    }
}

fn show_sample(engine: &mut Engine, time_ns: Ns, observers: &mut [&mut dyn Observer]) {
    let sample = engine.sample(time_ns);
    observers.iter_mut().filter(|each| each.interest().samples).for_each(|each| each.sample(&sample));
}

/// When the first of the observers wants to look at the engine.
fn next_look_ns(observers: &[&mut dyn Observer]) -> Ns {
    observers.iter().map(|each| each.next_look_ns()).min().unwrap_or(Ns::MAX)
}

/// Shows the engine to the observers that want to look at it by then.
fn show_engine(engine: &Engine, time_ns: Ns, observers: &mut [&mut dyn Observer]) {
    observers.iter_mut().filter(|each| each.next_look_ns() <= time_ns).for_each(|each| each.look(time_ns, engine));
}

impl Client for Driver<'_, '_> {
    #[inline]
    fn completed(&mut self, now: Ns, cookie: u32, _status: Status) {
        self.asked_ns = Ns::MAX;
        self.arrivals.completed(now, cookie);
    }

    #[inline]
    fn resubmit(&mut self, engine: &mut Engine) {
        if !self.backlog.is_empty() {
            self.backlog.resubmit(engine);
        }
        if self.samples.is_some() {
            self.sample_by_pages(engine);
        }
    }
}

impl Simulation {
    /// A run of an engine that nothing was submitted to. It ends when the drive's life does, if that comes first.
    pub fn new(mut engine: Engine) -> Self {
        engine.stop_at_end_of_life(true);
        Self { engine, drain: Drain::No, sample_pages: None, cut: None }
    }

    /// The workload goes on when the drive's life has ended, against a drive that can only be read.
    #[must_use]
    pub fn beyond_end_of_life(mut self) -> Self {
        self.engine.stop_at_end_of_life(false);
        self
    }

    /// The run is to end when everything that was written is in flash, not when the last request has completed.
    #[must_use]
    pub fn with_drain(mut self) -> Self {
        self.drain = Drain::AtTheEnd;
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
    /// ([`Engine::interrupted_by`]).
    ///
    /// # Errors
    /// What the workload finds wrong with its input; one that was checked before does not fail.
    pub fn run(
        &mut self,
        arrivals: &mut dyn Arrivals,
        interval_ns: Ns,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Ns, Problem> {
        let interest = self.interest_of(observers);
        let by_pages = self.sample_pages.filter(|_| interest.samples);
        let interval_ns = if interest.samples && by_pages.is_none() { interval_ns } else { Ns::MAX };
        if interest.samples {
            self.engine.keep_samples();
        }
        observers.iter_mut().for_each(|each| each.begin(&self.engine));
        let mut clock = Clock { interval_ns, sample_ns: interval_ns, look_ns: next_look_ns(observers) };
        let mut shown_ns = clock.due_ns();
        let samples = by_pages.map(|every| PageSamples { every, next: every });
        let backlog = Backlog::default();
        let mut driver = Driver { arrivals, arrival_ns: 0, asked_ns: Ns::MAX, backlog, observers, samples };
        let mut arrival_ns = driver.next_arrival_ns(self.engine.now_ns())?;
        let interrupt = self.engine.interrupt().clone();
        while !self.engine.has_stopped() && !interrupt.is_raised() {
            let (drive_ns, others_ns) = self.engine.due();
            let next_ns = drive_ns.min(arrival_ns).min(others_ns);
            if next_ns == Ns::MAX {
                break;
            }
            while shown_ns <= next_ns {
                clock.show(&mut self.engine, driver.observers);
                shown_ns = clock.due_ns();
            }
            let host_acts = if drive_ns == next_ns {
                self.engine.step(next_ns, arrival_ns.min(others_ns).min(shown_ns - 1))
            } else if arrival_ns == next_ns {
                driver.admit_arrivals(next_ns, &mut self.engine)?;
                true
            } else {
                self.engine.wake(next_ns)
            };
            let is_at_rest = if host_acts {
                let is_at_rest = self.engine.settle(&mut driver);
                arrival_ns = driver.next_arrival_ns(self.engine.now_ns())?;
                is_at_rest
            } else {
                self.engine.note_idleness()
            };
            if interest.events || interest.served {
                driver.show(&mut self.engine);
            }
            if is_at_rest && driver.arrivals.is_over() && self.has_ended() {
                break;
            }
        }
        let end_ns = self.engine.now_ns();
        self.engine.look();
        driver.show(&mut self.engine);
        show_sample(&mut self.engine, end_ns, driver.observers);
        let looking = driver.observers.iter_mut().filter(|each| each.next_look_ns() < Ns::MAX);
        looking.for_each(|each| each.look(end_ns, &self.engine));
        if self.engine.has_stopped() {
            self.cut();
        }
        Ok(end_ns)
    }

    /// Asks for what any of the observers wants to be told.
    fn interest_of(&mut self, observers: &[&mut dyn Observer]) -> Interest {
        let any = |wants: fn(Interest) -> bool| observers.iter().any(|observer| wants(observer.interest()));
        let events = any(|interest| interest.events).then_some(Interest { events: true, ..Interest::default() });
        let served = any(|interest| interest.served).then_some(Interest { served: true, ..Interest::default() });
        Interest {
            samples: any(|interest| interest.samples),
            events: events.is_some_and(|events| self.engine.watch(events).is_ok()),
            served: served.is_some_and(|served| self.engine.watch(served).is_ok()),
        }
    }

    /// Whether all requests have ended and nothing has to be written any more. If something has, it is now, and its
    /// time is part of the run's.
    fn has_ended(&mut self) -> bool {
        if self.engine.report().outstanding() > 0 {
            return false;
        }
        if self.drain == Drain::AtTheEnd {
            self.drain = Drain::Begun(self.engine.drain_buffer());
        }
        let is_over = self.engine.is_at_rest();
        if is_over && matches!(self.drain, Drain::Begun(_)) {
            self.engine.report().duration_ns = self.engine.now_ns();
        }
        is_over
    }

    /// The drive's life has ended, and the run with it: what was measured is what was until now, and all that had
    /// arrived and was not done has failed.
    fn cut(&mut self) {
        if self.cut.is_none() {
            self.engine.fail_outstanding();
            self.cut = Some(Box::new(self.measured()));
            self.engine.abandon();
        }
    }

    fn measured(&self) -> Outcome {
        let drained_pages = if let Drain::Begun(pages) = self.drain { Some(pages) } else { None };
        Outcome { drained_pages, ..self.engine.outcome() }
    }

    /// What was measured, after [`Self::run`].
    pub fn outcome(&self) -> Outcome {
        self.cut.as_deref().cloned().unwrap_or_else(|| self.measured())
    }

    /// Checks that everything adds up at the end of a run, as [`Engine::check`].
    ///
    /// # Errors
    /// The first account that does not, with its numbers.
    pub fn check(&self) -> Result<(), String> {
        self.engine.check()
    }
}
