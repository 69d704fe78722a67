//! The engine: a host, a drive and a clock, stepped by its caller.
//!
//! Events of one timestamp are processed in this order:
//!
//! ```text
//! drive events              after each completed command the backlog is offered again, and the scheduler asked
//! arrivals                  all are queued before the scheduler is asked, like a plug list
//! timers of the scheduler   the scheduler is asked again
//! background collection     begins if the drive has been idle for long enough
//! ```
//!
//! so that requests can still be submitted at the time that the engine was advanced to. An engine is a
//! [`Target`](crate::Target) of a run (`engine/target.rs`).

mod account;
mod ending;
mod looking;
mod splits;
mod state;
mod target;

use std::collections::VecDeque;

use flashloom_host::{BlockLayer, Completed, Decision, Dispatched, RequestId};
use flashloom_nand::{Nand, NandParams};
use flashloom_units::{Interrupt, Ns};
use flashloom_workload::Request;
use serde::{Deserialize, Serialize};

use crate::client::{Client, Completion, Submitted};
use crate::drive::Drive;
use crate::event::Event;
use crate::host::{Bare, Entry, Host};
use crate::misuse::Misuse;
use crate::outcome::HostReport;
use crate::precondition::{Ageing, Filled, Preconditioned, precondition};
use crate::status::Status;
use account::Before;
use ending::Ending;
use looking::Looking;
use splits::Splits;

/// A drive under its host, stepped by its caller: submit requests, advance time, take completions.
///
/// Sixteen reads, submitted at once, on a drive that was written once:
///
/// ```
/// use flashloom_device::{Ageing, DeviceParams, Drive, DriveSetup, Engine, Status, Submitted};
/// use flashloom_nand::NandParams;
/// use flashloom_units::ParamSet;
/// use flashloom_workload::{Op, Request};
///
/// let nand = NandParams { blocks: 64, ..NandParams::defaults() };
/// let device = DeviceParams { nand: nand.clone(), ..DeviceParams::defaults() };
/// let mut engine = Engine::bare(Drive::new(&DriveSetup::with_defaults(device))?, 32, 0);
/// engine.precondition(&Ageing { fill_pages: 64, fill_streams: true, overwrite: None }, &mut |_| {});
/// engine.start_timing(&nand);
///
/// for cookie in 0..16 {
///     let request = Request::new(Op::Read, u64::from(cookie) * 16, 16).with_flags(Request::SYNC);
///     assert_eq!(engine.submit(0, &request, cookie)?, Submitted::Accepted);
/// }
/// let mut served = Vec::new();
/// while engine.outstanding() > 0 {
///     let next_ns = engine.next_event_ns().expect("requests are outstanding, so an event is pending");
///     engine.advance_to(next_ns)?;
///     served.extend(engine.completions());
/// }
/// assert_eq!(served.len(), 16);
/// assert!(served.iter().all(|completion| completion.status == Status::DONE));
/// assert!(served[0].time_ns >= nand.read_ns, "a read takes tR at least");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine {
    host: Host,
    splits: Splits,
    drive: Drive,
    now: Ns,
    timed: bool,
    /// True if requests were submitted since the scheduler was last asked.
    plugged: bool,
    /// When the scheduler wants to be asked again; [`Ns::MAX`] if only after another event.
    scheduler_wakes_ns: Ns,
    idle_delay_ns: Ns,
    /// Idle time after the end of background collection before the FTL's flush; `None` without one.
    flush_after_ns: Option<Ns>,
    idle: Idle,
    report: HostReport,
    preconditioned: Option<Preconditioned>,
    /// How the drive was filled, if this engine filled it.
    filled: Option<Filled>,
    /// The drive before the workload.
    before: Before,
    ending: Ending,
    /// Time of the drive's end of life.
    ended_ns: Option<Ns>,
    handed: Handed,
    looking: Looking,
    /// Latencies since the last sample, kept if an observer asked for samples.
    sampled: Option<Box<account::Sampled>>,
    interrupt: Interrupt,
}

/// State of the drive's background work.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Idle {
    /// Not scheduled, because requests are outstanding.
    No,
    /// Scheduled for this time, unless a request arrives first.
    From(Ns),
    /// A step is running.
    Collecting,
    /// Complete: nothing to collect until the host writes more.
    Done,
    /// Nothing to collect; what waits for a longer idle time begins at this time, unless a request arrives first.
    FlushFrom(Ns),
    /// A step of that is running.
    Flushing,
}

/// Cookies and completions at the public interface.
#[derive(Default)]
struct Handed {
    completions: VecDeque<Completion>,
    /// Cookies of outstanding requests, sorted.
    cookies: Vec<u32>,
}

impl Client<Engine> for Handed {
    fn completed(&mut self, completion: &Completion) {
        if let Ok(at) = self.cookies.binary_search(&completion.cookie) {
            self.cookies.remove(at);
        }
        self.completions.push_back(*completion);
    }
}

/// Construction and preconditioning.
impl Engine {
    /// The latest time that an engine can be advanced to: 146 years.
    pub const LAST_NS: Ns = Request::LAST_ARRIVAL_NS;

    /// A new drive under an empty block layer. Background collection begins when the drive has held nothing for
    /// `idle_delay_ns`. Nothing takes time before [`Self::start_timing`].
    pub fn new(host: BlockLayer, drive: Drive, idle_delay_ns: Ns) -> Self {
        Self::with_host(Host::Layer(Box::new(host)), drive, idle_delay_ns)
    }

    /// A new drive without a block layer, for callers with a scheduler of their own: every request goes to the drive at
    /// once, unmerged, and [`Self::submit`] returns [`Submitted::Full`] while it holds `queue_depth` of them.
    pub fn bare(drive: Drive, queue_depth: u32, idle_delay_ns: Ns) -> Self {
        Self::with_host(Host::Bare(Box::new(Bare::new(queue_depth))), drive, idle_delay_ns)
    }

    fn with_host(host: Host, mut drive: Drive, idle_delay_ns: Ns) -> Self {
        Self {
            splits: Splits::new(host.most_sectors()),
            looking: Looking::new(&mut drive),
            before: Before::of(&drive),
            flush_after_ns: drive.ftl().traits().flush_delay_ns.map(|delay_ns| delay_ns.saturating_sub(idle_delay_ns)),
            host,
            drive,
            now: 0,
            timed: false,
            plugged: false,
            scheduler_wakes_ns: Ns::MAX,
            idle_delay_ns,
            idle: Idle::No,
            report: HostReport::default(),
            preconditioned: None,
            filled: None,
            ending: Ending::default(),
            ended_ns: None,
            handed: Handed::default(),
            sampled: None,
            interrupt: Interrupt::default(),
        }
    }

    /// The flag that ends ageing and runs of this engine early. Steps by the caller ignore it.
    pub fn interrupted_by(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }

    /// Fills and ages the drive in counting mode, then resets its counters. `progress` is called with the pages written
    /// so far. An interrupted drive is partly aged and must be dropped.
    pub fn precondition(&mut self, ageing: &Ageing, progress: &mut dyn FnMut(u64)) -> Preconditioned {
        let (looking, interrupt) = (&mut self.looking, &self.interrupt);
        let look = &mut |drive: &mut Drive| looking.follow(0, drive);
        let (aged, filled) = precondition(&mut self.drive, ageing, interrupt, progress, look);
        self.filled = filled;
        let before = self.preconditioned.map_or(0, |before| before.pages);
        self.preconditioned = Some(Preconditioned { pages: before + aged.pages, ..aged });
        self.before = Before::of(&self.drive);
        self.follow_life();
        aged
    }

    /// Switches from counting to timed mode.
    pub fn start_timing(&mut self, params: &NandParams) {
        self.drive.flash.start_timing(params);
        self.timed = true;
    }
}

/// Submission, time and completions.
impl Engine {
    /// Submits a request that arrives now. Drive events of this timestamp are processed before it; the scheduler is
    /// asked for all requests of a timestamp together, when the engine is next advanced. Its completion has its
    /// `cookie`, which no other outstanding request may have.
    ///
    /// # Errors
    /// A time that has passed, or that is after a pending event ([`Self::next_event_ns`]); a request that arrives
    /// later, is not within the drive, or has no sectors and is no flush; a cookie that is in use.
    pub fn submit(&mut self, now_ns: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse> {
        self.check_submission(now_ns, request, cookie)?;
        // After the first submission of a timestamp its drive events are done; dies must not begin before all of the
        // timestamp's requests are in.
        while !self.plugged && self.due().0 == now_ns {
            let host_acts = self.step(now_ns, now_ns);
            self.act(host_acts);
        }
        self.now = now_ns;
        if !self.enter(request, cookie) {
            self.look();
            return Ok(Submitted::Full);
        }
        self.report.generated += 1;
        self.report.last_arrival_ns = request.arrival_ns;
        let place = self.handed.cookies.partition_point(|&used| used < cookie);
        self.handed.cookies.insert(place, cookie);
        self.plugged = true;
        if let Host::Bare(_) = self.host {
            // Completions of what the drive does at once come before those of later events.
            self.settle_handed();
        }
        self.look();
        Ok(Submitted::Accepted)
    }

    fn check_submission(&mut self, now_ns: Ns, request: &Request, cookie: u32) -> Result<(), Misuse> {
        Misuse::check_time(now_ns, self.now)?;
        if let Some(due_ns) = self.next_event_ns().filter(|&due_ns| due_ns < now_ns) {
            return Err(Misuse::Skipped { now_ns, due_ns });
        }
        let arrival_ns = request.arrival_ns;
        if arrival_ns > now_ns {
            return Err(Misuse::NotArrived { arrival_ns, now_ns });
        }
        Misuse::check_sectors(request, self.drive.flash.capacity_sectors())?;
        match self.handed.cookies.binary_search(&cookie) {
            Ok(_) => Err(Misuse::CookieInUse(cookie)),
            Err(_) => Ok(()),
        }
    }

    /// Time of the next event; `None` while the engine only waits for requests.
    pub fn next_event_ns(&mut self) -> Option<Ns> {
        if self.plugged {
            return Some(self.now);
        }
        let (drive_ns, others_ns) = self.due();
        Some(drive_ns.min(others_ns)).filter(|&at| at != Ns::MAX)
    }

    /// Advances time to `to_ns` and processes the events up to it. Timers of the scheduler and background work that are
    /// due at `to_ns` itself are left to a second call with the same time, so that requests can arrive before them.
    ///
    /// # Errors
    /// A time that has passed.
    pub fn advance_to(&mut self, to_ns: Ns) -> Result<(), Misuse> {
        Misuse::check_time(to_ns, self.now)?;
        let mut is_last = to_ns == self.now;
        if std::mem::take(&mut self.plugged) {
            is_last = false;
            self.settle_handed();
        }
        loop {
            let (drive_ns, others_ns) = self.due();
            let host_acts = if drive_ns <= others_ns.min(to_ns) {
                is_last = false;
                self.step(drive_ns, others_ns.min(to_ns))
            } else if others_ns < to_ns || (others_ns == to_ns && is_last) {
                self.wake(others_ns)
            } else {
                break;
            };
            self.act(host_acts);
        }
        self.now = to_ns;
        Ok(())
    }

    /// Requests that have completed or failed since the last call, in order of time.
    pub fn completions(&mut self) -> impl Iterator<Item = Completion> + '_ {
        self.handed.completions.drain(..)
    }

    fn act(&mut self, host_acts: bool) {
        if host_acts {
            self.settle_handed();
        } else {
            self.note_idleness();
        }
    }

    fn settle_handed(&mut self) {
        self.with_handed(Self::settle);
    }

    /// Passes completions to the public interface.
    fn with_handed<R>(&mut self, act: impl FnOnce(&mut Self, &mut Handed) -> R) {
        let mut handed = std::mem::take(&mut self.handed);
        act(self, &mut handed);
        self.handed = handed;
    }
}

/// The order of events within a timestamp.
impl Engine {
    /// Times of the next drive event, and of the next scheduler timer or background work; [`Ns::MAX`] for never.
    #[inline]
    fn due(&mut self) -> (Ns, Ns) {
        let idle_ns = if let Idle::From(at) | Idle::FlushFrom(at) = self.idle { at } else { Ns::MAX };
        let drive_ns = self.drive_due();
        (drive_ns.unwrap_or(Ns::MAX), self.scheduler_wakes_ns.min(idle_ns))
    }

    /// Time of the next drive event. Called before time advances, so observers see the past events here.
    #[inline]
    fn drive_due(&mut self) -> Option<Ns> {
        let due_ns = self.drive.next_event_ns();
        self.look();
        due_ns
    }

    /// Processes the drive event that is due, and further ones up to `until_ns` while they concern only the drive: most
    /// are the array's own. Returns true if the host has to act, by [`Self::settle`]; otherwise the caller calls
    /// [`Self::note_idleness`].
    #[inline(never)] // One copy, so that the drive's event handlers can be inlined into it.
    fn step(&mut self, mut at: Ns, until_ns: Ns) -> bool {
        loop {
            self.now = self.drive.step(at, until_ns);
            self.follow_life();
            if self.drive.has_completed() {
                return true;
            }
            // An idle drive may still get requests at this time, so its dies must not begin yet.
            if self.drive.is_idle() || self.has_stopped() || self.has_much_to_show() {
                return false;
            }
            match self.drive_due() {
                Some(next_ns) if next_ns <= until_ns => at = next_ns,
                _ => return false,
            }
        }
    }

    /// Processes the timer of the scheduler that is due, or else background work; returns as [`Self::step`].
    fn wake(&mut self, at: Ns) -> bool {
        self.now = at;
        if self.scheduler_wakes_ns == at {
            return true;
        }
        self.idle = self.work_in_background(at);
        self.follow_life();
        self.drive.has_completed()
    }

    /// Submits a request to the host, for the first time or again; false if the host is full.
    #[inline(never)] // As `step`.
    fn enter(&mut self, request: &Request, cookie: u32) -> bool {
        if self.splits.has_waiting() && self.is_behind_a_part(request) {
            return false;
        }
        if self.splits.splits(request) {
            self.enter_in_parts(request, cookie)
        } else {
            self.enter_whole(request, cookie)
        }
    }

    #[inline]
    fn enter_whole(&mut self, request: &Request, cookie: u32) -> bool {
        let entry = self.host.submit(self.now, request, cookie);
        let is_accepted = !matches!(entry, Entry::Full);
        if is_accepted {
            self.tell_admission(request);
        }
        if let Entry::Sent(command) = entry {
            self.send(&command);
        }
        if self.host.is_unplugged() {
            self.send_unplugged();
        }
        is_accepted
    }

    /// Sends what an emptied plug has brought to the scheduler, and for which the drive has room.
    #[cold]
    fn send_unplugged(&mut self) {
        while !self.has_stopped()
            && let Some(command) = self.host.dispatch_unplugged(self.now)
        {
            self.send(&command);
        }
    }

    #[inline]
    fn tell_admission(&mut self, request: &Request) {
        self.tell(|engine| Event::Admitted { member: engine.host.newest_member(), request: *request });
    }

    #[inline(never)] // As `step`.
    fn send(&mut self, command: &Dispatched) {
        self.idle = Idle::No;
        self.tell(|_| Event::Dispatched(*command));
        self.drive.accept(self.now, command);
        self.follow_life();
    }

    /// Passes completions to the host and requests to the drive until there are no more; returns as
    /// [`Self::note_idleness`].
    #[inline]
    fn settle(&mut self, client: &mut impl Client<Self>) -> bool {
        loop {
            self.complete(client);
            if self.splits.has_waiting() {
                self.enter_rest();
            }
            client.resubmit(self);
            // Where nothing takes time, what was sent from a full plug has completed by now.
            if !self.dispatch() && !self.drive.has_completed() {
                return self.note_idleness();
            }
        }
    }

    /// Sends the request that the scheduler chooses to the drive; false if it chooses none now.
    #[inline]
    fn dispatch(&mut self) -> bool {
        if self.has_stopped() {
            return false;
        }
        self.scheduler_wakes_ns = Ns::MAX;
        match self.host.dispatch(self.now) {
            Decision::Dispatch(request) => {
                self.send(&request);
                return true;
            }
            Decision::NotBefore(at) => self.scheduler_wakes_ns = at,
            Decision::Idle => {}
        }
        false
    }

    #[inline]
    fn complete(&mut self, client: &mut impl Client<Self>) {
        while let Some((id, status)) = self.drive.take_completed() {
            self.tell(|_| Event::Returned { id, status });
            if !status.is_done() || !self.splits.is_empty() {
                self.complete_parts(id, status, client);
                continue;
            }
            let Self { host, drive, now, report, looking, sampled, .. } = self;
            let mut looking = drive.nand().is_watched().then_some(looking);
            let mut completion = Completion::new(0, *now, status);
            host.complete(*now, id, |completed| {
                report.add(completion.time_ns, completed);
                if let Some(sampled) = sampled {
                    sampled.add(completion.time_ns, completed);
                }
                if let Some(looking) = &mut looking {
                    looking.see(completion.time_ns, &Event::Ended { member: completed.member });
                }
                completion.cookie = completed.cookie;
                client.completed(&completion);
            });
        }
    }

    /// Completes a command that failed, or that may have parts of requests.
    #[cold]
    fn complete_parts(&mut self, id: RequestId, status: Status, client: &mut impl Client<Self>) {
        let (now, is_watched) = (self.now, self.drive.nand().is_watched());
        let Self { host, splits, report, looking, sampled, .. } = self;
        let each = |ended: &Completed| {
            if is_watched {
                looking.see(now, &Event::Ended { member: ended.member });
            }
            let Some((completed, status)) = splits.ended(ended, status) else { return };
            match status {
                Status::Failed(reason) => report.fail(now, reason),
                Status::Done(_) => {
                    report.add(now, &completed);
                    if let Some(sampled) = sampled {
                        sampled.add(now, &completed);
                    }
                }
            }
            client.completed(&Completion::new(completed.cookie, now, status));
        };
        if status.is_done() {
            host.complete(now, id, each);
        } else {
            host.fail(now, id, each);
        }
    }

    fn work_in_background(&mut self, at: Ns) -> Idle {
        match (self.idle, self.flush_after_ns) {
            (Idle::FlushFrom(_), _) if self.drive.flash.flush_step(at) => Idle::Flushing,
            (Idle::FlushFrom(_), _) => Idle::Done,
            _ if self.drive.idle_step(at) => Idle::Collecting,
            (_, Some(after_ns)) => Idle::FlushFrom(at + after_ns),
            (_, None) => Idle::Done,
        }
    }

    /// If the drive is idle, schedules background work: after the idle delay, or at once after a background step.
    /// Returns whether it is idle.
    #[inline]
    fn note_idleness(&mut self) -> bool {
        let is_idle = self.drive.is_idle();
        if is_idle {
            self.idle = match self.idle {
                _ if !self.timed => Idle::No,
                Idle::Collecting => Idle::From(self.now),
                Idle::Flushing => Idle::FlushFrom(self.now),
                Idle::No => Idle::From(self.now + self.idle_delay_ns),
                waiting @ (Idle::From(_) | Idle::FlushFrom(_) | Idle::Done) => waiting,
            };
        }
        is_idle
    }
}

/// Queries.
impl Engine {
    /// The current simulated time.
    pub fn now_ns(&self) -> Ns {
        self.now
    }

    /// True in timed mode: [`Self::start_timing`] was called.
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// True if no request is outstanding and the drive is idle: no eviction, no collection.
    pub fn is_idle(&self) -> bool {
        self.outstanding() == 0 && self.drive.is_idle()
    }

    /// True if the drive is worn out, because too many blocks have failed, and so read-only.
    pub fn is_worn_out(&self) -> bool {
        self.ended_ns.is_some()
    }

    /// How this engine filled its drive; `None` if it did not.
    pub fn filled(&self) -> Option<Filled> {
        self.filled
    }

    /// The flash array.
    pub fn nand(&self) -> &Nand {
        self.drive.nand()
    }

    /// The counters of the host side so far.
    pub fn host_report(&self) -> &HostReport {
        &self.report
    }

    /// The number of requests accepted that have neither completed nor failed.
    pub fn outstanding(&self) -> u64 {
        self.host.held()
    }

    /// The capacity of the drive in 512-byte sectors.
    pub fn capacity_sectors(&self) -> u64 {
        self.drive.flash.capacity_sectors()
    }
}
