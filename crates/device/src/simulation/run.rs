//! A run: its loop, and its host side, which the target calls while it processes a timestamp.

use flashloom_units::{Ns, Problem};
use flashloom_workload::Op;

use super::tenant::{Entry, Ledger, Tenant};
use crate::anatomy::{Cause, Parts, Served};
use crate::client::Client;
use crate::client::{Completion, Submitted};
use crate::engine::Engine;
use crate::event::Interest;
use crate::misuse::Misuse;
use crate::observer::Observer;
use crate::outcome::Sample;
use crate::target::Target;
use crate::watchers::Watchers;

/// A run: its workloads and observers, for [`Target::carry`].
pub struct Run<'a, 'b, 'c, 'd> {
    tenants: &'a mut [Tenant<'b>],
    /// The outstanding requests. `None` with a single workload, whose cookies and report are the target's.
    ledger: Option<Ledger>,
    /// Requests in the backlogs of all workloads.
    held: usize,
    /// The workload that may next submit from its backlog.
    turn: usize,
    watchers: Watchers<'c, 'd>,
    /// The part of the observers' interests that the target reports; `None` if it reports nothing.
    told: Option<Interest>,
    /// Time of the next sample, and the interval to the one after it.
    sample_ns: Ns,
    interval_ns: Ns,
    page_samples: Option<PageSamples>,
    /// Why the target refused a request of a backlog.
    misuse: Option<Misuse>,
}

/// Samples by pages: one after each interval of pages programmed for the host.
struct PageSamples {
    every: u64,
    next: u64,
}

/// Reports a call that the target refused as a problem of the workload.
#[cold]
fn problem(misuse: Misuse) -> Problem {
    Problem::file("workload", misuse.to_string(), "requests that its target takes")
}

impl<'a, 'b, 'c, 'd> Run<'a, 'b, 'c, 'd> {
    /// A run on a target, which starts to report what the observers want. Samples are taken every `interval_ns`, or by
    /// pages programmed.
    pub(super) fn new<T: Target>(
        tenants: &'a mut [Tenant<'b>],
        keeps_reports: bool,
        observers: &'c mut [&'d mut dyn Observer],
        (interval_ns, pages): (Ns, Option<u64>),
        target: &mut T,
    ) -> Self {
        let watchers = Watchers::new(observers);
        let interest = watchers.interest();
        let told = target.watch(interest);
        (0..).zip(&mut *tenants).for_each(|(number, tenant)| tenant.number = number);
        let ledger = (keeps_reports || told.is_none()).then(Ledger::default);
        let page_samples = pages.filter(|_| interest.samples).map(|every| PageSamples { every, next: every });
        let interval_ns = if interest.samples && page_samples.is_none() { interval_ns } else { Ns::MAX };
        let (held, turn, misuse, sample_ns) = (0, 0, None, interval_ns);
        Self { tenants, ledger, held, turn, watchers, told, sample_ns, interval_ns, page_samples, misuse }
    }
}

/// The loop.
impl Run<'_, '_, '_, '_> {
    /// Runs to the end.
    #[inline(always)] // Into `Target::carry`, so that it is compiled with the target.
    pub(crate) fn carry<T: Target>(&mut self, target: &mut T) -> Result<(), Problem> {
        self.watchers.begin(target);
        let mut shown_ns = self.shown_ns();
        let mut arrival_ns = self.next_arrival_ns(target.now_ns())?;
        let interrupt = target.interrupt();
        let tells = self.told.is_some_and(|told| told.events || told.served);
        while !target.has_stopped() && !interrupt.is_raised() {
            let (ends_ns, begins_ns) = target.due();
            let next_ns = ends_ns.min(arrival_ns).min(begins_ns);
            if next_ns == Ns::MAX {
                self.check()?;
                break;
            }
            while shown_ns <= next_ns {
                self.show(target, next_ns);
                shown_ns = self.shown_ns();
            }
            let host_acts = if ends_ns == next_ns {
                target.step(next_ns, arrival_ns.min(begins_ns).min(shown_ns - 1)).map_err(problem)?
            } else if arrival_ns == next_ns {
                self.admit_arrivals(next_ns, target)?;
                true
            } else {
                target.wake(next_ns).map_err(problem)?
            };
            let is_at_rest = if host_acts {
                let is_at_rest = target.settle(self);
                arrival_ns = self.next_arrival_ns(target.now_ns())?;
                is_at_rest
            } else {
                target.rest()
            };
            if tells {
                target.tell(&mut self.watchers);
            }
            if is_at_rest && self.is_over() && target.finish() {
                break;
            }
        }
        let end_ns = target.now_ns();
        target.tell(&mut self.watchers);
        self.show_sample(target, end_ns);
        self.watchers.look_last(end_ns, target);
        target.end();
        Ok(())
    }
}

/// Arrivals and completions.
impl Run<'_, '_, '_, '_> {
    /// Time of the next arrival of any workload; [`Ns::MAX`] if there is none before a completion.
    #[inline]
    fn next_arrival_ns(&mut self, now: Ns) -> Result<Ns, Problem> {
        if let [one] = &mut *self.tenants { one.next_arrival_ns(now) } else { self.first_arrival_ns(now) }
    }

    /// [`Self::next_arrival_ns`] with several workloads.
    #[inline(never)] // Most runs have one.
    fn first_arrival_ns(&mut self, now: Ns) -> Result<Ns, Problem> {
        let mut first_ns = Ns::MAX;
        for tenant in &mut *self.tenants {
            first_ns = first_ns.min(tenant.next_arrival_ns(now)?);
        }
        Ok(first_ns)
    }

    /// True if all requests have arrived, the backlogs are empty, and no request is known to be outstanding.
    fn is_over(&self) -> bool {
        let is_quiet = self.held == 0 && self.ledger.as_ref().is_none_or(Ledger::is_empty);
        is_quiet && self.tenants.iter().all(Tenant::is_over)
    }

    /// Admits the requests that are due, each behind the backlog of its workload and line.
    fn admit_arrivals<T: Target>(&mut self, now: Ns, target: &mut T) -> Result<(), Problem> {
        target.come_to(now).map_err(problem)?;
        let Self { tenants, ledger, held, .. } = self;
        for tenant in &mut **tenants {
            while tenant.next_arrival_ns(now)? == now {
                let (ref request, mut cookie) = tenant.take(now);
                target.arrived(request);
                if let Some(ledger) = ledger {
                    cookie = tenant.enter(ledger, now, request, cookie);
                }
                let line = target.line_of(request) as usize;
                let behind = request.op != Op::Flush && tenant.holds(line);
                if behind || target.offer(now, request, cookie).map_err(problem)? == Submitted::Full {
                    tenant.hold(line, request, cookie);
                    *held += 1;
                }
            }
        }
        Ok(())
    }

    /// Submits requests of the backlogs: for each line, one request of each workload in turn.
    #[inline(never)] // Most timestamps have no backlog.
    fn offer_again<T: Target>(&mut self, target: &mut T) {
        let now = target.now_ns();
        let lines = self.tenants.iter().map(Tenant::lines).max().unwrap_or(0);
        for line in 0..lines {
            let mut refused = 0;
            while refused < self.tenants.len() {
                match self.tenants[self.turn].offer_first(now, line, target) {
                    Ok(Some(cookie)) => {
                        (self.held, refused) = (self.held - 1, 0);
                        self.ledger.iter_mut().for_each(|ledger| ledger.admitted(now, cookie));
                    }
                    Ok(None) => refused += 1,
                    Err(misuse) => {
                        self.misuse = Some(misuse);
                        return;
                    }
                }
                self.turn = (self.turn + 1) % self.tenants.len();
            }
        }
    }

    /// Counts the completion of a request in the ledger, and passes it to its workload.
    #[inline(never)] // A run of one workload has no ledger.
    fn settle_account(&mut self, completion: &Completion) {
        let Some(ledger) = &mut self.ledger else { return };
        let entry = ledger.leave(completion.cookie);
        let tenant = &mut self.tenants[entry.tenant];
        tenant.count_end(&entry.request, completion);
        tenant.completed(completion.time_ns, entry.cookie);
        if self.told.is_none() {
            self.watchers.served(&served(&entry, completion));
        }
    }

    /// Checks that no backlog is left when the target has no events left.
    fn check(&self) -> Result<(), Problem> {
        if self.held == 0 {
            return Ok(());
        }
        if let Some(misuse) = self.misuse {
            return Err(problem(misuse));
        }
        let found = format!("{} requests for which its target has no room, though it is at rest", self.held);
        Err(Problem::file("workload", found, "a target that takes them"))
    }
}

/// The record of a request on a target that reports nothing: time of acceptance and of completion.
fn served(entry: &Entry, completion: &Completion) -> Served {
    let Entry { request, admitted_ns, .. } = *entry;
    let mut parts = Parts::default();
    parts[Cause::NrRequests] = admitted_ns - request.arrival_ns;
    parts[Cause::Served] = completion.time_ns - admitted_ns;
    Served {
        request,
        admitted_ns,
        dispatched_ns: admitted_ns,
        ended_ns: completion.time_ns,
        status: completion.status,
        command: (request.lba, request.sectors),
        parts,
        last: None,
    }
}

/// Most intervals in a row without events that are all sampled; of more only the first and the last are.
const MAX_IDLE_SAMPLES: u64 = 1_000;

/// Samples and looks.
impl Run<'_, '_, '_, '_> {
    /// Time of the next sample or look.
    fn shown_ns(&self) -> Ns {
        self.sample_ns.min(self.watchers.look_ns())
    }

    /// Takes the samples and looks that are due before the events at `next_ns`.
    #[inline(never)] // Few timestamps have any.
    fn show<T: Target>(&mut self, target: &mut T, next_ns: Ns) {
        let due_ns = self.shown_ns();
        if self.watchers.look_ns() == due_ns {
            self.watchers.look(due_ns, target);
        }
        if self.sample_ns == due_ns {
            self.show_sample(target, due_ns);
            let idle = (next_ns - due_ns) / self.interval_ns;
            // Without events, samples differ only in their time.
            let skipped = if idle > MAX_IDLE_SAMPLES { idle } else { 1 };
            self.sample_ns = due_ns.saturating_add(skipped * self.interval_ns);
        }
    }

    #[inline(never)]
    fn show_sample<T: Target>(&mut self, target: &mut T, time_ns: Ns) {
        if self.watchers.interest().samples {
            let sample = target.sample(time_ns).unwrap_or_else(|| self.sample(&target.engines(), time_ns));
            self.watchers.sample(&sample);
        }
    }

    /// A sample of a target that takes none itself: requests from the reports of the workloads, flash from
    /// [`Target::engines`].
    fn sample(&self, engines: &[&Engine], time_ns: Ns) -> Sample {
        let mut all = Sample { is_timed: engines.iter().all(|engine| engine.is_timed()), time_ns, ..Sample::default() };
        for engine in engines {
            let one = engine.sample_at(time_ns);
            all.dirty_pages += one.dirty_pages;
            all.host_page_writes += one.host_page_writes;
            all.erases += one.erases;
            all.free_blocks += one.free_blocks;
            all.programs.iter_mut().zip(one.programs).for_each(|(sum, programs)| *sum += programs);
        }
        for report in self.tenants.iter().map(Tenant::report) {
            all.completed += report.total_completed();
            all.read_bytes += report.read_bytes;
            all.write_bytes += report.write_bytes;
            all.latency_sum_ns += report.latency_sum_ns();
            all.outstanding += report.outstanding();
        }
        all
    }

    #[inline(never)] // Few runs have samples, and most of those by time.
    fn sample_by_pages<T: Target>(&mut self, target: &mut T) {
        let Some(PageSamples { every, next }) = &mut self.page_samples else { return };
        let pages = target.host_programs();
        if pages >= *next {
            *next = (pages / *every + 1) * *every;
            self.show_sample(target, target.now_ns());
        }
    }
}

impl<T: Target> Client<T> for Run<'_, '_, '_, '_> {
    #[inline(never)] // So that what calls it is inlined.
    fn completed(&mut self, completion: &Completion) {
        if self.ledger.is_some() {
            self.settle_account(completion);
        } else {
            self.tenants[0].completed(completion.time_ns, completion.cookie);
        }
    }

    #[inline]
    fn resubmit(&mut self, target: &mut T) {
        if self.held > 0 {
            self.offer_again(target);
        }
        if self.page_samples.is_some() {
            self.sample_by_pages(target);
        }
    }
}
