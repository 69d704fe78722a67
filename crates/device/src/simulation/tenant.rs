//! Tenants, the workloads of a run: each has its own arrivals, backlog and report.

use std::collections::VecDeque;

use flashloom_units::{NO_INDEX, Ns, Problem};
use flashloom_workload::{Arrivals, Request};

use crate::client::{Completion, Submitted};
use crate::misuse::Misuse;
use crate::outcome::HostReport;
use crate::status::Status;
use crate::target::Target;

/// Requests in a line of a workload's backlog, above which the workload stops.
const BACKLOG: usize = 65_536;

/// A workload of a run that may share its target with others.
pub struct Tenant<'a> {
    /// Its index among the workloads of the run.
    pub(super) number: usize,
    arrivals: &'a mut dyn Arrivals,
    queue: Option<u8>,
    /// Next arrival by the workload's answer at `asked_ns`; [`Ns::MAX`] for none.
    arrival_ns: Ns,
    /// Time of that answer; [`Ns::MAX`] if a request has arrived or completed since, so that it has to be asked again.
    asked_ns: Ns,
    /// Backlog by line of the target: requests that found no room (`nr_requests`), in order of arrival.
    backlog: Vec<VecDeque<(Request, u32)>>,
    /// True if a line of the backlog is full, so that the workload has to stop.
    is_held_up: bool,
    report: HostReport,
}

impl<'a> Tenant<'a> {
    /// A tenant with a workload that has not begun.
    pub fn new(arrivals: &'a mut dyn Arrivals) -> Self {
        let (backlog, report) = Default::default();
        Self { number: 0, arrivals, queue: None, arrival_ns: 0, asked_ns: Ns::MAX, backlog, is_held_up: false, report }
    }

    /// Submits all its requests to that queue of the host, whatever the workload's choice.
    #[must_use]
    pub fn on_queue(self, queue: u8) -> Self {
        Self { queue: Some(queue), ..self }
    }

    /// The report of its requests in a run by [`Simulation::run_together`](crate::Simulation::run_together).
    /// `device_latency` is empty, because only the target knows when commands were dispatched.
    pub fn report(&self) -> &HostReport {
        &self.report
    }

    pub(super) fn is_over(&self) -> bool {
        self.arrivals.is_over()
    }

    /// Time of its next arrival; [`Ns::MAX`] at the end, and while the backlog is full.
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

    /// Takes the request that is due, with the workload's cookie.
    #[inline]
    pub(super) fn take(&mut self, now: Ns) -> (Request, u32) {
        self.asked_ns = Ns::MAX;
        // One value, so that it is not copied on return.
        let mut taken = self.arrivals.take(now);
        if let Some(queue) = self.queue {
            taken.0.queue = queue;
        }
        taken
    }

    /// Called when the request with that cookie of the workload has completed.
    #[inline]
    pub(super) fn completed(&mut self, now: Ns, cookie: u32) {
        self.asked_ns = Ns::MAX;
        self.arrivals.completed(now, cookie);
    }

    /// Appends a request to a line of the backlog.
    pub(super) fn hold(&mut self, line: usize, request: &Request, cookie: u32) {
        if self.backlog.len() <= line {
            self.backlog.resize_with(line + 1, Default::default);
        }
        let waiting = &mut self.backlog[line];
        waiting.push_back((*request, cookie));
        self.is_held_up |= waiting.len() == BACKLOG;
    }

    /// Number of lines that have had a backlog.
    pub(super) fn lines(&self) -> usize {
        self.backlog.len()
    }

    /// True if a line has a backlog.
    #[inline]
    pub(super) fn holds(&self, line: usize) -> bool {
        self.backlog.get(line).is_some_and(|waiting| !waiting.is_empty())
    }

    /// Submits the first request of a line of the backlog; returns its cookie if it was accepted.
    pub(super) fn offer_first<T: Target>(
        &mut self,
        now: Ns,
        line: usize,
        target: &mut T,
    ) -> Result<Option<u32>, Misuse> {
        let Some(waiting) = self.backlog.get_mut(line) else { return Ok(None) };
        let Some((request, cookie)) = waiting.front() else { return Ok(None) };
        if target.offer(now, request, *cookie)? == Submitted::Full {
            return Ok(None);
        }
        let first = waiting.pop_front();
        self.is_held_up = self.backlog.iter().any(|waiting| waiting.len() == BACKLOG);
        Ok(first.map(|(_, cookie)| cookie))
    }
}

/// The ledger: outstanding requests by the cookie that the target knows them by.
#[derive(Default)]
pub(super) struct Ledger {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

/// An outstanding request.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) request: Request,
    /// Its workload, and the workload's cookie for it.
    pub(super) tenant: usize,
    pub(super) cookie: u32,
    /// Time of acceptance by the target; `None` before that.
    pub(super) admitted_ns: Ns,
}

impl Ledger {
    /// Adds an arriving request; returns its cookie for the target.
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

    /// Called when the target accepts a request of a backlog.
    pub(super) fn admitted(&mut self, now: Ns, place: u32) {
        self.entries[place as usize].admitted_ns = now;
    }

    /// Removes a completed request; its cookie is free again.
    pub(super) fn leave(&mut self, place: u32) -> Entry {
        self.free.push(place);
        self.entries[place as usize]
    }
}

/// Reports of workloads that share a target.
impl Tenant<'_> {
    /// Counts an arriving request and adds it to the ledger; returns its cookie for the target.
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
