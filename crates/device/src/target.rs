//! A target: what requests are submitted to, and come back from in time.

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
/// submit(now, request, cookie)   a request arrives now: accepted, or full
/// next_event_ns() -> Option      when something will happen by itself
/// advance_to(t)                  everything that is due until t happens
/// take_completion() -> Option    what has come back, in order: cookie, time, status
/// capacity_sectors, now_ns, snapshot, restore
/// ```
///
/// An [`Engine`] is a target, under a block layer or bare; [`Queues`](crate::Queues) are several targets under one
/// host. A target of one's own has these methods, and a [`Simulation`](crate::Simulation) drives it by workloads, with
/// the same observers and logs: `examples/policies/src/raid0.rs` is one. The methods that have a body here are for
/// targets that know more: an engine has an order within a moment, events, samples, and a life that can end.
pub trait Target {
    /// Sectors of 512 bytes that can be addressed.
    fn capacity_sectors(&self) -> u64;

    /// A request arrives now. What ends at this moment has ended before it arrives, and requests of one moment may be
    /// looked at together when time goes on. `cookie` comes back with its completion; no two requests may have the same
    /// one at a time.
    ///
    /// # Errors
    /// A time that has passed, or one after something that is due; a request that the target cannot have.
    fn submit(&mut self, now_ns: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse>;

    /// The time that the target has come to.
    fn now_ns(&self) -> Ns;

    /// When something will happen by itself; nothing while the target waits for requests. That is now while requests
    /// were submitted that it has not looked at.
    fn next_event_ns(&mut self) -> Option<Ns>;

    /// Time comes to `to_ns`, and everything that is due until then happens. What the target would begin at that very
    /// moment by itself, such as background work, may be left to a second call, so that requests can go before it.
    ///
    /// # Errors
    /// A time that has passed.
    fn advance_to(&mut self, to_ns: Ns) -> Result<(), Misuse>;

    /// Takes the request that came back first.
    fn take_completion(&mut self) -> Option<Completion>;

    /// The whole state.
    ///
    /// # Errors
    /// A part that cannot be saved.
    fn snapshot(&self) -> Result<Vec<u8>, StateError>;

    /// Takes over a state that was saved from a target of the same configuration, and goes on exactly as that one.
    ///
    /// # Errors
    /// A state that does not fit. The target is then to be dropped.
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError>;

    /// The engines in it, in order, for those who look at drives; none that it does not show.
    fn engines(&self) -> Vec<&Engine> {
        Vec::new()
    }

    /// A run begins. Called once, before its first request.
    fn begin(&mut self, _terms: Terms) {}

    /// The flag that ends a run early: that of the first engine.
    fn interrupt(&self) -> Interrupt {
        self.engines().first().map_or_else(Interrupt::default, |engine| engine.interrupt())
    }

    /// Whether the run is to end now, whatever its workloads still have. Asked before every event.
    fn has_stopped(&self) -> bool {
        false
    }

    /// A request of a run has arrived, and is offered next; it may have to be offered again.
    fn arrived(&mut self, _now_ns: Ns, _request: &Request) {}

    /// [`Self::submit`] for a request of a run: the time is right, and the cookie is free.
    ///
    /// # Errors
    /// A request that the target cannot have.
    fn offer(&mut self, now_ns: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse> {
        self.submit(now_ns, request, cookie)
    }

    /// When something ends in the target, and when it begins something by itself; each [`Ns::MAX`] for never. Requests
    /// that arrive at a moment come after the former and before the latter.
    fn due(&mut self) -> (Ns, Ns) {
        (self.next_event_ns().unwrap_or(Ns::MAX), Ns::MAX)
    }

    /// What ends at a time that [`Self::due`] returned happens, and what is due until `until_ns` may, as long as no
    /// request comes back. Returns whether the host has to act, by [`Self::settle`]; otherwise [`Self::rest`] follows.
    ///
    /// # Errors
    /// What [`Self::advance_to`] refuses.
    fn step(&mut self, at_ns: Ns, _until_ns: Ns) -> Result<bool, Misuse> {
        self.advance_to(at_ns).map(|()| true)
    }

    /// What the target begins by itself at a time that [`Self::due`] returned begins; returns as [`Self::step`].
    ///
    /// # Errors
    /// What [`Self::advance_to`] refuses.
    fn wake(&mut self, at_ns: Ns) -> Result<bool, Misuse> {
        self.step(at_ns, at_ns)
    }

    /// Tells `client` what has come back, and lets it submit what waits for room. Called after requests arrived and
    /// after events. Returns as [`Self::rest`].
    fn settle<C: Client<Self>>(&mut self, client: &mut C) -> bool
    where
        Self: Sized,
    {
        while let Some(completion) = self.take_completion() {
            client.completed(&completion);
        }
        client.resubmit(self);
        self.rest()
    }

    /// Whether nothing is under way in the target that belongs to a run, beside its requests: a write that was accepted
    /// into a buffer, for example.
    fn rest(&mut self) -> bool {
        true
    }

    /// The workloads are over, their requests have come back, and the target is at rest. Whether the run is over: here
    /// once its engines are idle. A target that has something left to do begins it, and is asked again when it rests.
    fn finish(&mut self) -> bool {
        self.engines().into_iter().all(Engine::is_idle)
    }

    /// The run has ended.
    fn end(&mut self) {}

    /// Tells from now on what an observer asked for, by [`Self::tell`]. Returns what of it there will be, or nothing
    /// for a target that tells nothing: of its requests the simulation then tells what it knows itself.
    fn watch(&mut self, _interest: Interest) -> Option<Interest> {
        None
    }

    /// Tells the observers what has happened since the last call.
    fn tell(&mut self, _watchers: &mut Watchers<'_, '_>) {}

    /// The state at a time at which nothing has happened since the target's own, with latencies since the sample
    /// before; nothing if the simulation is to take it of its workloads and of [`Self::engines`].
    fn sample(&mut self, _time_ns: Ns) -> Option<Sample> {
        None
    }

    /// Takes a run to its end. No target needs another body: an engine has this one once more, so that the loop is
    /// compiled together with all that it calls.
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

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Terms {
    /// Whether it ends when a drive's life does. Otherwise it goes on against a drive that can only be read.
    pub stops_at_end_of_life: bool,
    /// Whether it ends when everything that was written is in flash, not when the last request has come back.
    pub drains: bool,
}
