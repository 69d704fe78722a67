//! Targets: what a run submits requests to.

use flashloom_host::Class;
use flashloom_units::{Interrupt, Ns, Problem, StateError};
use flashloom_workload::Request;

use crate::client::{Client, Completion, Submitted};
use crate::engine::Engine;
use crate::event::Interest;
use crate::misuse::Misuse;
use crate::outcome::Sample;
use crate::simulation::Run;
use crate::watchers::Watchers;

/// Something that serves requests in simulated time.
///
/// ```text
/// submit(now, request, cookie)   submits a request that arrives now: accepted, or full
/// next_event_ns() -> Option      time of the next event
/// advance_to(t)                  processes all events up to t
/// take_completion() -> Option    takes the next completion: cookie, time, status
/// capacity_sectors, now_ns, snapshot, restore
/// ```
///
/// An [`Engine`] is a target, with a block layer or without; [`Queues`](crate::Queues) are several targets under one
/// host. Your own target implements these methods, and a [`Simulation`](crate::Simulation) drives it with workloads and
/// the same observers and logs: `examples/policies/src/raid0.rs` is an example. The methods with a default body are for
/// targets with an order of events within a timestamp, events to observe, samples, or an end of life, like an engine.
pub trait Target {
    /// Capacity in 512-byte sectors.
    fn capacity_sectors(&self) -> u64;

    /// Submits a request that arrives now. Events of this timestamp are processed before it; requests of one timestamp
    /// may be considered together when time advances. Its completion has its `cookie`, which no other outstanding
    /// request may have.
    ///
    /// # Errors
    /// A time that has passed, or that is after a pending event; a request that the target refuses.
    fn submit(&mut self, now_ns: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse>;

    /// The current time.
    fn now_ns(&self) -> Ns;

    /// Time of the next event; `None` while the target only waits for requests. The current time if requests were
    /// submitted that it has not considered yet.
    fn next_event_ns(&mut self) -> Option<Ns>;

    /// Advances time to `to_ns` and processes the events up to it. Work that the target begins by itself at `to_ns`,
    /// such as background work, may be left to a second call, so that requests can arrive before it.
    ///
    /// # Errors
    /// A time that has passed.
    fn advance_to(&mut self, to_ns: Ns) -> Result<(), Misuse>;

    /// Takes the earliest completion.
    fn take_completion(&mut self) -> Option<Completion>;

    /// Saves the whole state.
    ///
    /// # Errors
    /// A part that cannot be saved.
    fn snapshot(&self) -> Result<Vec<u8>, StateError>;

    /// Loads the state of a target of the same configuration; the future is then that of the saved target.
    ///
    /// # Errors
    /// A state that does not fit. The target must then be dropped.
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError>;

    /// The engines that it shows to observers, in order; none by default.
    fn engines(&self) -> Vec<&Engine> {
        Vec::new()
    }

    /// Called once, before the first request of a run.
    fn begin(&mut self, _terms: Terms) {}

    /// The flag that ends a run early: by default that of the first engine.
    fn interrupt(&self) -> Interrupt {
        self.engines().first().map_or_else(Interrupt::default, |engine| engine.interrupt())
    }

    /// True to end the run now, with requests left in its workloads. Called before every event.
    fn has_stopped(&self) -> bool {
        false
    }

    /// Advances to a time at which a workload of the run may have requests, not after the first pending event. A
    /// workload that was only woken has none then, and time has passed all the same.
    ///
    /// # Errors
    /// What [`Self::advance_to`] refuses.
    fn come_to(&mut self, now_ns: Ns) -> Result<(), Misuse> {
        // Work that the target begins by itself now would otherwise come before the requests of now.
        if self.now_ns() < now_ns { self.advance_to(now_ns) } else { Ok(()) }
    }

    /// Called when a request of a run arrives, before it is first submitted.
    fn arrived(&mut self, _request: &Request) {}

    /// [`Self::submit`] for a request of a run: the caller guarantees a valid time and a free cookie.
    ///
    /// # Errors
    /// A request that the target refuses.
    fn offer(&mut self, now_ns: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse> {
        self.submit(now_ns, request, cookie)
    }

    /// The line of requests that are refused which this one waits in: only those that wait for the same room need to
    /// wait for each other. Lines are numbered from 0 on, without large gaps. By default synchronous requests wait in
    /// one, and all others in another.
    fn line_of(&self, request: &Request) -> u32 {
        Class::of(request).at() as u32
    }

    /// Times of the next event that ends something, and of the next work that the target begins by itself; [`Ns::MAX`]
    /// for never. Arrivals of the same timestamp come between the two.
    fn due(&mut self) -> (Ns, Ns) {
        (self.next_event_ns().unwrap_or(Ns::MAX), Ns::MAX)
    }

    /// Processes the event at the first time of [`Self::due`], and may process further ones up to `until_ns` until a
    /// request completes. Returns true if the host has to act, by [`Self::settle`]; otherwise [`Self::rest`] follows.
    ///
    /// # Errors
    /// What [`Self::advance_to`] refuses.
    fn step(&mut self, at_ns: Ns, _until_ns: Ns) -> Result<bool, Misuse> {
        self.advance_to(at_ns).map(|()| true)
    }

    /// Begins the work at the second time of [`Self::due`]; returns as [`Self::step`].
    ///
    /// # Errors
    /// What [`Self::advance_to`] refuses.
    fn wake(&mut self, at_ns: Ns) -> Result<bool, Misuse> {
        self.step(at_ns, at_ns)
    }

    /// Makes available to [`Self::take_completion`] what has completed in a step of a run, if it is not yet.
    fn complete(&mut self) {}

    /// Sends a request that waits in the target on its way; more may then have completed, or have room. Returns false
    /// if none can be sent now.
    fn dispatch(&mut self) -> bool {
        false
    }

    /// Passes completions to `client`, lets it submit from its backlogs, and then dispatches, until there is nothing
    /// more. Called after arrivals and events. Returns as [`Self::rest`].
    fn settle<C: Client<Self>>(&mut self, client: &mut C) -> bool
    where
        Self: Sized,
    {
        loop {
            self.complete();
            while let Some(completion) = self.take_completion() {
                client.completed(&completion);
            }
            client.resubmit(self);
            if !self.dispatch() {
                return self.rest();
            }
        }
    }

    /// True if the target is idle but for outstanding requests: it has no other work of the run, such as the eviction
    /// of a write that has completed into a buffer.
    fn rest(&mut self) -> bool {
        true
    }

    /// Called when all requests have completed and the target is idle. Returns true if the run has ended, by default
    /// when the engines are idle. A target that has work left starts it; this is called again when the target is idle.
    fn finish(&mut self) -> bool {
        self.engines().into_iter().all(Engine::is_idle)
    }

    /// Called when the run has ended.
    fn end(&mut self) {}

    /// Starts to report to observers by [`Self::tell`]. Returns the part of `interest` that the target will report, or
    /// `None` if it reports nothing. The simulation then reports arrivals and completions of requests itself.
    fn watch(&mut self, _interest: Interest) -> Option<Interest> {
        None
    }

    /// Passes the events since the last call to the observers.
    fn tell(&mut self, _watchers: &mut Watchers<'_, '_>) {}

    /// A sample at a time before the next event, with the latencies since the last sample; `None` to have the
    /// simulation take it from its workloads and [`Self::engines`].
    fn sample(&mut self, _time_ns: Ns) -> Option<Sample> {
        None
    }

    /// Runs to the end. No target needs a different body; an engine repeats this one so that the loop is compiled
    /// together with all that it calls.
    ///
    /// # Errors
    /// As [`Simulation::run`](crate::Simulation::run).
    fn carry(&mut self, run: &mut Run<'_, '_, '_, '_>) -> Result<(), Problem>
    where
        Self: Sized,
    {
        run.carry(self)
    }

    /// Pages programmed for the host.
    fn host_programs(&self) -> u64 {
        self.engines().into_iter().map(Engine::host_programs).sum()
    }
}

/// Rules for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Terms {
    /// True to end the run at a drive's end of life. If false, the run continues on the read-only drive.
    pub stops_at_end_of_life: bool,
    /// True to drain the buffer after the last request before the run ends.
    pub drains: bool,
}
