//! The engine: a host, a drive and a clock, to be stepped from outside.
//!
//! Every moment of simulated time goes in the same order:
//!
//! ```text
//! what ends in the drive      after each command that ends, what waited for room is queued, and the scheduler asked
//! what arrives                all of it is queued before the scheduler is asked, as a plugged list is
//! timers of the scheduler     it wanted to be asked again
//! background collection       the drive has been idle for long enough
//! ```
//!
//! so that requests can still be submitted at a moment that the engine was advanced to. An engine is a
//! [`Target`](crate::Target) of a run (`engine/target.rs`).

mod account;
mod ending;
mod looking;
mod state;
mod target;

use std::collections::VecDeque;

use flashloom_host::{BlockLayer, Decision, Dispatched, RequestId};
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
use crate::precondition::{Ageing, Preconditioned, precondition};
use crate::status::{Reason, Status};
use ending::Ending;
use looking::Looking;

/// A drive under its host, stepped from outside: requests go in, time is advanced, completions come out.
///
/// Sixteen reads of a drive that was written once, as fast as it can:
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
///     let next_ns = engine.next_event_ns().expect("a drive that holds requests is at them");
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
    drive: Drive,
    now: Ns,
    timed: bool,
    /// Whether requests were submitted that the scheduler has not been asked about.
    plugged: bool,
    /// When the scheduler wants to be asked again; [`Ns::MAX`] for not before something happens.
    scheduler_wakes_ns: Ns,
    idle_delay_ns: Ns,
    idle: Idle,
    report: HostReport,
    preconditioned: Option<Preconditioned>,
    /// Erases of each block before the workload.
    erased_before: Vec<u32>,
    ending: Ending,
    /// When the drive's life ended.
    ended_ns: Option<Ns>,
    handed: Handed,
    looking: Looking,
    /// What the next sample will say of latency, where anybody asked for samples.
    sampled: Option<Box<account::Sampled>>,
    interrupt: Interrupt,
}

/// What the drive does about background work.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Idle {
    /// The host keeps it busy.
    No,
    /// It will begin, or go on, at that time unless a request comes first.
    From(Ns),
    /// A step is running.
    Collecting,
    /// There is nothing to collect until the host has written more.
    Done,
}

/// What goes in and comes out at the public calls.
#[derive(Default)]
struct Handed {
    completions: VecDeque<Completion>,
    /// Cookies of requests that have not come back, in order.
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

/// Making an engine, and bringing it into the state that it starts in.
impl Engine {
    /// The latest time that an engine can be advanced to: 146 years.
    pub const LAST_NS: Ns = Request::LAST_ARRIVAL_NS;

    /// A new drive under an empty block layer. Background collection begins when the drive has held nothing for
    /// `idle_delay_ns`. Nothing takes time before [`Self::start_timing`].
    pub fn new(host: BlockLayer, drive: Drive, idle_delay_ns: Ns) -> Self {
        Self::with_host(Host::Layer(Box::new(host)), drive, idle_delay_ns)
    }

    /// A new drive alone, for hosts that bring their own scheduler: every request goes to it at once, as it is, and
    /// [`Self::submit`] returns [`Submitted::Full`] while it holds `queue_depth` of them.
    pub fn bare(drive: Drive, queue_depth: u32, idle_delay_ns: Ns) -> Self {
        Self::with_host(Host::Bare(Box::new(Bare::new(queue_depth))), drive, idle_delay_ns)
    }

    fn with_host(host: Host, mut drive: Drive, idle_delay_ns: Ns) -> Self {
        Self {
            looking: Looking::new(&mut drive),
            erased_before: drive.nand().erase_counts().to_vec(),
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
            ending: Ending::default(),
            ended_ns: None,
            handed: Handed::default(),
            sampled: None,
            interrupt: Interrupt::default(),
        }
    }

    /// The flag that ends ageing and runs of this engine early. Steps from outside do not ask for it.
    pub fn interrupted_by(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }

    /// Fills and ages the drive in counting mode; its counters start again at zero. `progress` is told pages written.
    /// An interrupted drive is in the middle of it, and only to be dropped.
    pub fn precondition(&mut self, ageing: &Ageing, progress: &mut dyn FnMut(u64)) -> Preconditioned {
        let (looking, interrupt) = (&mut self.looking, &self.interrupt);
        let aged = precondition(&mut self.drive, ageing, interrupt, progress, &mut |drive| looking.follow(0, drive));
        let before = self.preconditioned.map_or(0, |before| before.pages);
        self.preconditioned = Some(Preconditioned { pages: before + aged.pages, ..aged });
        self.erased_before = self.drive.nand().erase_counts().to_vec();
        self.follow_life();
        aged
    }

    /// From now on the drive takes time.
    pub fn start_timing(&mut self, params: &NandParams) {
        self.drive.start_timing(params);
        self.timed = true;
    }
}

/// Requests in, time on, completions out.
impl Engine {
    /// A request arrives now. What ends in the drive at this moment has ended before it arrives; the scheduler is asked
    /// about all requests of a moment together, when the engine is advanced the next time. `cookie` comes back with its
    /// completion; no two requests may have the same one at a time.
    ///
    /// # Errors
    /// A time that has passed, or one after something that is due ([`Self::next_event_ns`]); a request that arrives
    /// later, that is not within the drive, or that has no sectors and is no flush; a cookie that is in use.
    pub fn submit(&mut self, now_ns: Ns, request: &Request, cookie: u32) -> Result<Submitted, Misuse> {
        self.check_submission(now_ns, request, cookie)?;
        // Once something was submitted all that ends at this moment has ended, and dies are not to begin before the
        // moment is complete.
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
            // What the drive has done at once comes back before what it does next.
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
        Misuse::check_sectors(request, self.drive.capacity_sectors())?;
        match self.handed.cookies.binary_search(&cookie) {
            Ok(_) => Err(Misuse::CookieInUse(cookie)),
            Err(_) => Ok(()),
        }
    }

    /// When something will happen by itself; nothing while the engine waits for requests.
    pub fn next_event_ns(&mut self) -> Option<Ns> {
        if self.plugged {
            return Some(self.now);
        }
        let (drive_ns, others_ns) = self.due();
        Some(drive_ns.min(others_ns)).filter(|&at| at != Ns::MAX)
    }

    /// Time comes to `to_ns`, and everything that is due until then happens. Only the scheduler's timers and the
    /// background work of that very moment are left to the next call, because requests that arrive at it go first: a
    /// call that finds the engine there already, and nothing else due, does them.
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

    /// What has completed or failed since the last call, in order of time.
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
        let mut handed = std::mem::take(&mut self.handed);
        self.settle(&mut handed);
        self.handed = handed;
    }
}

/// The order of a moment.
impl Engine {
    /// When something ends in the drive, and when the scheduler or background work is due; each [`Ns::MAX`] for never.
    #[inline]
    fn due(&mut self) -> (Ns, Ns) {
        let idle_ns = if let Idle::From(at) = self.idle { at } else { Ns::MAX };
        let drive_ns = self.drive_due();
        (drive_ns.unwrap_or(Ns::MAX), self.scheduler_wakes_ns.min(idle_ns))
    }

    /// When something ends in the drive. Asked before time goes on, and so the moment for those who look.
    #[inline]
    fn drive_due(&mut self) -> Option<Ns> {
        let due_ns = self.drive.next_event_ns();
        self.look();
        due_ns
    }

    /// Something that is due ends in the drive, and so does what is due there until `until_ns` as long as that changes
    /// nothing for the host: most events are the array's own. Whether the host has to act, by [`Self::settle`];
    /// otherwise [`Self::note_idleness`] follows.
    #[inline(never)] // One copy, so that all that an event sets off in the drive can be inlined into it.
    fn step(&mut self, mut at: Ns, until_ns: Ns) -> bool {
        loop {
            self.now = self.drive.step(at, until_ns);
            self.follow_life();
            if self.drive.has_completed() {
                return true;
            }
            // What an idle drive is given at this moment belongs to it, and its dies are not to be asked before.
            if self.drive.is_idle() || self.has_stopped() || self.has_much_to_show() {
                return false;
            }
            match self.drive_due() {
                Some(next_ns) if next_ns <= until_ns => at = next_ns,
                _ => return false,
            }
        }
    }

    /// What the scheduler waited for, or else background work, is due; returns as [`Self::step`].
    fn wake(&mut self, at: Ns) -> bool {
        self.now = at;
        if self.scheduler_wakes_ns == at {
            return true;
        }
        self.idle = if self.drive.idle_step(at) { Idle::Collecting } else { Idle::Done };
        self.follow_life();
        self.drive.has_completed()
    }

    /// A request arrives at the host, or is offered again; false if there is no room for it.
    #[inline(never)] // As `step`.
    fn enter(&mut self, request: &Request, cookie: u32) -> bool {
        match self.host.submit(self.now, request, cookie) {
            Entry::Queued => {
                self.tell_admission(request);
                true
            }
            Entry::Full => false,
            Entry::Sent(command) => {
                self.tell_admission(request);
                self.send(&command);
                true
            }
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

    /// Hands completions to the host and requests to the drive until neither has anything for the other; returns as
    /// [`Self::note_idleness`].
    #[inline]
    fn settle(&mut self, client: &mut impl Client<Self>) -> bool {
        loop {
            self.complete(client);
            client.resubmit(self);
            if self.has_stopped() {
                break;
            }
            match self.host.dispatch(self.now) {
                Decision::Dispatch(request) => {
                    self.scheduler_wakes_ns = Ns::MAX;
                    self.send(&request);
                }
                Decision::NotBefore(at) => {
                    self.scheduler_wakes_ns = at;
                    break;
                }
                Decision::Idle => {
                    self.scheduler_wakes_ns = Ns::MAX;
                    break;
                }
            }
        }
        self.note_idleness()
    }

    #[inline]
    fn complete(&mut self, client: &mut impl Client<Self>) {
        while let Some((id, status)) = self.drive.take_completed() {
            self.tell(|_| Event::Returned { id, status });
            if let Status::Failed(reason) = status {
                self.fail(id, reason, client);
                continue;
            }
            let Self { host, drive, now, report, looking, sampled, .. } = self;
            let mut looking = drive.is_watched().then_some(looking);
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

    #[cold]
    fn fail(&mut self, id: RequestId, reason: Reason, client: &mut impl Client<Self>) {
        let (now, is_watched) = (self.now, self.drive.is_watched());
        let Self { host, report, looking, .. } = self;
        host.fail(now, id, |failed| {
            report.fail(now, reason);
            if is_watched {
                looking.see(now, &Event::Ended { member: failed.member });
            }
            client.completed(&Completion::new(failed.cookie, now, Status::Failed(reason)));
        });
    }

    /// If the drive is idle, it waits for the idle delay, or goes on at once after a background step. Returns whether
    /// it is.
    #[inline]
    fn note_idleness(&mut self) -> bool {
        let is_idle = self.drive.is_idle();
        if is_idle {
            self.idle = match self.idle {
                _ if !self.timed => Idle::No,
                Idle::Collecting => Idle::From(self.now),
                Idle::No => Idle::From(self.now + self.idle_delay_ns),
                waiting @ (Idle::From(_) | Idle::Done) => waiting,
            };
        }
        is_idle
    }
}

/// What can be asked of an engine.
impl Engine {
    /// The time that the engine has come to.
    pub fn now_ns(&self) -> Ns {
        self.now
    }

    /// Whether [`Self::start_timing`] was called.
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// Whether no request is outstanding, and the drive is at nothing: no eviction, no collection.
    pub fn is_idle(&self) -> bool {
        self.outstanding() == 0 && self.drive.is_idle()
    }

    /// Whether the drive's life is over, because too many blocks have failed. It can only be read then.
    pub fn is_worn_out(&self) -> bool {
        self.ended_ns.is_some()
    }

    /// The flash array.
    pub fn nand(&self) -> &Nand {
        self.drive.nand()
    }

    /// The counters of the host side so far.
    pub fn host_report(&self) -> &HostReport {
        &self.report
    }

    /// Requests that were accepted and have neither completed nor failed.
    pub fn outstanding(&self) -> u64 {
        self.host.held()
    }

    /// Sectors of 512 bytes that the drive offers.
    pub fn capacity_sectors(&self) -> u64 {
        self.drive.capacity_sectors()
    }
}
