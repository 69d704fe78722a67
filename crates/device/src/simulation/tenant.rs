//! The workloads of a run: each with its own arrivals, requests that wait for room, and report.

use std::collections::VecDeque;

use flashloom_host::Class;
use flashloom_units::{NO_INDEX, Ns, Problem};
use flashloom_workload::{Arrivals, Request};

use crate::client::{Completion, Submitted};
use crate::misuse::Misuse;
use crate::outcome::HostReport;
use crate::status::Status;
use crate::target::Target;

/// Requests of a class that may wait for room in the target before the workload itself is held up.
const BACKLOG: usize = 65_536;

/// A workload of a run that may share its target with others.
pub struct Tenant<'a> {
    /// Its place among the workloads of the run.
    pub(super) number: usize,
    arrivals: &'a mut dyn Arrivals,
    queue: Option<u8>,
    /// What the workload said at `asked_ns` of its next arrival: [`Ns::MAX`] for none, nothing before that time.
    arrival_ns: Ns,
    /// [`Ns::MAX`] where it has to be asked, because a request has come or completed since.
    asked_ns: Ns,
    /// Requests that found their class full (`nr_requests`), by class, in order of arrival.
    backlog: [VecDeque<(Request, u32)>; 2],
    /// Whether a class of it is full, so that the workload has to wait itself.
    is_held_up: bool,
    report: HostReport,
}

impl<'a> Tenant<'a> {
    /// A workload that has not begun.
    pub fn new(arrivals: &'a mut dyn Arrivals) -> Self {
        let (backlog, report) = Default::default();
        Self { number: 0, arrivals, queue: None, arrival_ns: 0, asked_ns: Ns::MAX, backlog, is_held_up: false, report }
    }

    /// All of its requests are submitted to that queue of the host, whatever the workload says.
    #[must_use]
    pub fn on_queue(self, queue: u8) -> Self {
        Self { queue: Some(queue), ..self }
    }

    /// What its requests saw, in a run by [`Simulation::run_together`](crate::Simulation::run_together). Its target
    /// alone knows when commands were dispatched: `device_latency` is empty.
    pub fn report(&self) -> &HostReport {
        &self.report
    }

    pub(super) fn is_over(&self) -> bool {
        self.arrivals.is_over()
    }

    /// When its next request arrives; [`Ns::MAX`] at the end, and while the backlog is full: then the workload itself
    /// has to wait.
    #[inline]
    pub(super) fn next_arrival_ns(&mut self, now: Ns) -> Result<Ns, Problem> {
        if self.is_held_up {
            return Ok(Ns::MAX);
        }
        if self.asked_ns != now {
            self.arrival_ns = self.arrivals.next_ns(now)?.map_or(Ns::MAX, |at| at.max(now));
            self.asked_ns = now;
        }
        Ok(self.arrival_ns)
    }

    /// The request that is due, with the workload's cookie.
    #[inline]
    pub(super) fn take(&mut self, now: Ns) -> (Request, u32) {
        self.asked_ns = Ns::MAX;
        // As one value, which is not copied on its way out.
        let mut taken = self.arrivals.take(now);
        if let Some(queue) = self.queue {
            taken.0.queue = queue;
        }
        taken
    }

    /// A request of this workload, by its cookie, has come back.
    #[inline]
    pub(super) fn completed(&mut self, now: Ns, cookie: u32) {
        self.asked_ns = Ns::MAX;
        self.arrivals.completed(now, cookie);
    }

    /// Puts a request behind those of its class that wait for room.
    pub(super) fn hold(&mut self, request: &Request, cookie: u32) {
        let waiting = &mut self.backlog[Class::of(request).at()];
        waiting.push_back((*request, cookie));
        self.is_held_up |= waiting.len() == BACKLOG;
    }

    /// Whether requests of a class wait for room.
    #[inline]
    pub(super) fn holds(&self, class: Class) -> bool {
        !self.backlog[class.at()].is_empty()
    }

    /// Offers the first request of a class that waits for room; its cookie, if it was accepted.
    pub(super) fn offer_first<T: Target>(
        &mut self,
        now: Ns,
        class: Class,
        target: &mut T,
    ) -> Result<Option<u32>, Misuse> {
        let waiting = &mut self.backlog[class.at()];
        let Some((request, cookie)) = waiting.front() else { return Ok(None) };
        if target.offer(now, request, *cookie)? == Submitted::Full {
            return Ok(None);
        }
        let first = waiting.pop_front();
        self.is_held_up = self.backlog.iter().any(|waiting| waiting.len() == BACKLOG);
        Ok(first.map(|(_, cookie)| cookie))
    }
}

/// Requests on their way through the target, by the cookie that they have there.
#[derive(Default)]
pub(super) struct Ledger {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

/// A request that has arrived and not come back.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) request: Request,
    /// Which workload it is of, and that one's cookie for it.
    pub(super) tenant: usize,
    pub(super) cookie: u32,
    /// When the target accepted it, if it has.
    pub(super) admitted_ns: Ns,
}

impl Ledger {
    /// Enters a request that arrives, and returns its cookie for the target.
    fn enter(&mut self, entry: Entry) -> u32 {
        if let Some(place) = self.free.pop() {
            self.entries[place as usize] = entry;
            return place;
        }
        self.entries.push(entry);
        let place = self.entries.len() as u32 - 1;
        assert!(place < NO_INDEX, "fewer requests wait than there are cookies");
        place
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.entries.len()
    }

    /// The target has accepted a request that had to wait for room.
    pub(super) fn admitted(&mut self, now: Ns, place: u32) {
        self.entries[place as usize].admitted_ns = now;
    }

    /// The request has come back: its cookie is free.
    pub(super) fn leave(&mut self, place: u32) -> Entry {
        self.free.push(place);
        self.entries[place as usize]
    }
}

/// Reports of workloads that share a target.
impl Tenant<'_> {
    /// Counts a request that arrives, and enters it into the ledger: its cookie for the target.
    #[inline(never)] // A run of one workload has no ledger.
    pub(super) fn enter(&mut self, ledger: &mut Ledger, now: Ns, request: &Request, cookie: u32) -> u32 {
        self.report.generated += 1;
        self.report.last_arrival_ns = request.arrival_ns;
        ledger.enter(Entry { request: *request, tenant: self.number, cookie, admitted_ns: now })
    }

    pub(super) fn count_end(&mut self, request: &Request, completion: &Completion) {
        match completion.status {
            Status::Done(_) => self.report.served(completion.time_ns, request),
            Status::Failed(reason) => self.report.fail(completion.time_ns, reason),
        }
    }
}
