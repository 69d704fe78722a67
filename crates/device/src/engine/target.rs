//! The engine as a target of a run: the public calls, and the steps of a timestamp without the checks of these.

use flashloom_units::{Interrupt, Ns, Problem, StateError};
use flashloom_workload::Request;

use super::Engine;
use crate::client::{Client, Completion, Submitted};
use crate::event::Interest;
use crate::misuse::Misuse;
use crate::outcome::Sample;
use crate::simulation::Run;
use crate::target::{Target, Terms};
use crate::watchers::Watchers;

impl Target for Engine {
    fn capacity_sectors(&self) -> u64 {
        Self::capacity_sectors(self)
    }

    fn submit(&mut self, now_ns: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse> {
        Self::submit(self, now_ns, request, cookie)
    }

    #[inline]
    fn now_ns(&self) -> Ns {
        Self::now_ns(self)
    }

    fn next_event_ns(&mut self) -> Option<Ns> {
        Self::next_event_ns(self)
    }

    fn advance_to(&mut self, to_ns: Ns) -> Result<(), Misuse> {
        Self::advance_to(self, to_ns)
    }

    fn take_completion(&mut self) -> Option<Completion> {
        self.handed.completions.pop_front()
    }

    fn snapshot(&self) -> Result<Vec<u8>, StateError> {
        Self::snapshot(self)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        Self::restore(self, state)
    }

    fn engines(&self) -> Vec<&Engine> {
        vec![self]
    }

    fn begin(&mut self, terms: Terms) {
        self.end_on(terms);
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    #[inline]
    fn has_stopped(&self) -> bool {
        Self::has_stopped(self)
    }

    #[inline]
    fn come_to(&mut self, now_ns: Ns) -> Result<(), Misuse> {
        self.now = now_ns;
        Ok(())
    }

    #[inline]
    fn arrived(&mut self, request: &Request) {
        self.report.generated += 1;
        self.report.last_arrival_ns = request.arrival_ns;
    }

    #[inline]
    fn line_of(&self, request: &Request) -> u32 {
        self.host.line_of(request)
    }

    #[inline]
    fn offer(&mut self, now_ns: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse> {
        debug_assert_eq!(self.now, now_ns, "a run offers requests now");
        Ok(if self.enter(request, cookie) { Submitted::Accepted } else { Submitted::Full })
    }

    #[inline]
    fn due(&mut self) -> (Ns, Ns) {
        Self::due(self)
    }

    #[inline]
    fn step(&mut self, at_ns: Ns, until_ns: Ns) -> Result<bool, Misuse> {
        Ok(Self::step(self, at_ns, until_ns))
    }

    fn wake(&mut self, at_ns: Ns) -> Result<bool, Misuse> {
        Ok(Self::wake(self, at_ns))
    }

    fn complete(&mut self) {
        self.with_handed(Self::complete);
    }

    fn dispatch(&mut self) -> bool {
        Self::dispatch(self)
    }

    #[inline]
    fn settle<C: Client<Self>>(&mut self, client: &mut C) -> bool {
        Self::settle(self, client)
    }

    #[inline]
    fn rest(&mut self) -> bool {
        self.note_idleness()
    }

    fn finish(&mut self) -> bool {
        self.has_ended()
    }

    fn end(&mut self) {
        if Self::has_stopped(self) {
            self.cut();
        }
    }

    fn watch(&mut self, interest: Interest) -> Option<Interest> {
        if interest.samples {
            self.keep_samples();
        }
        let mut keeps = |part: Interest| Self::watch(self, part).is_ok();
        Some(Interest {
            samples: interest.samples,
            events: interest.events && keeps(Interest { events: true, ..Interest::default() }),
            served: interest.served && keeps(Interest { served: true, ..Interest::default() }),
        })
    }

    fn tell(&mut self, watchers: &mut Watchers<'_, '_>) {
        self.look();
        self.events().for_each(|(at, event)| watchers.event(at, &event));
        self.served().for_each(|served| watchers.served(&served));
    }

    fn sample(&mut self, time_ns: Ns) -> Option<Sample> {
        Some(Self::sample(self, time_ns))
    }

    fn carry(&mut self, run: &mut Run<'_, '_, '_, '_>) -> Result<(), Problem> {
        run.carry(self)
    }

    #[inline]
    fn host_programs(&self) -> u64 {
        Self::host_programs(self)
    }
}
