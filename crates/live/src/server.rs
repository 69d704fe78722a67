//! Clients of a drive: threads that wait for their commands, and the clock.
//!
//! One of the waiting threads drives: it lets time pass, tells the others which of their commands have ended, and
//! leaves when its own has; one of the others goes on. Time passes at a [`Pace`]:
//!
//! ```text
//! fast    commands that are inside together are submitted at one time of the model; time then jumps to the next
//!         completion, and stands still while no command is inside. Who gathers lets in what clients have sent first
//! real    a command is submitted at the time that the wall clock says, and ends when the wall clock has come to the
//!         model's time of its completion; the drive works in the background while no command is inside
//! ```
//!
//! Both clocks begin with the first command. The wall clock is read here, and nowhere below.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use flashloom_device::{Misuse, Reason, Status};
use flashloom_units::Ns;

use crate::drive::{Command, Ended, LiveDrive};
use crate::frames::SECTOR;

/// Most bytes of data of the commands inside, unless one alone has more; others wait as if the drive were full. It is
/// what 128 requests of 512 KiB have. Without a bound, clients would decide how much memory a server takes.
pub(crate) const DATA_INSIDE_BYTES: u64 = 64 << 20;

/// How time passes on a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As fast as the simulation goes.
    Fast {
        /// Whether commands that clients have sent come in before time jumps, as far as threads are there to take them.
        /// Otherwise those are together that happen to be inside together: on one processor, few.
        gathers: bool,
    },
    /// By the wall clock.
    Real {
        /// Nanoseconds of the model that pass in a nanosecond.
        speed: f64,
    },
}

impl Default for Pace {
    fn default() -> Self {
        Self::Fast { gathers: false }
    }
}

/// Why a command has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The drive failed it.
    Failed(Reason),
    /// It is not within the drive, or is no whole number of sectors.
    Invalid,
    /// The server has failed, and serves nothing any more.
    Broken,
}

/// What a server has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commands submitted.
    pub commands: u64,
    /// Commands inside now: those of the drive, and those that wait because it is full.
    pub inside: u64,
    /// How much later by the wall clock than the model says the latest completion was, in nanoseconds.
    pub latest_ns: Ns,
}

/// A drive and those who wait for it.
pub struct Server {
    shared: Mutex<Shared>,
    pace: Pace,
    /// For the driver at a real pace, which sleeps until the next event: there may be an earlier one.
    sooner: Condvar,
    /// For the thread that lets the drive work in the background.
    ending: Condvar,
}

struct Shared {
    drive: LiveDrive,
    /// By cookie.
    waiters: Vec<Caller>,
    /// Commands whose threads wait.
    waiting: u32,
    is_driven: bool,
    /// Data of the commands inside, in bytes.
    inside_bytes: u64,
    /// Threads that wait because the drive is full, the first to come first, with the bytes of their data; each once.
    crowd: VecDeque<(Thread, u64)>,
    /// When the first command came.
    began: Option<Instant>,
    /// Time of the model until which the driver sleeps.
    sleeps_until_ns: Ns,
    counts: Counts,
    broken: Option<String>,
    is_ending: bool,
}

#[derive(Clone, Default)]
enum Caller {
    #[default]
    Nobody,
    Waits(Thread),
    Ended(Status),
}

/// The cookie of no command.
const NOBODY: u32 = u32::MAX;
/// Time before an event at which a sleeping driver wakes up, to wait for the rest without sleeping: systems wake
/// sleepers too late by some microseconds.
const AWAKE_NS: Ns = 30_000;
/// Time between two looks at a drive that works in the background, and at one that does not.
const NAP: Duration = Duration::from_millis(1);
const LONG_NAP: Duration = Duration::from_millis(20);
/// Longest sleep of a driver.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// A thread that panics while it uses the drive breaks the server, and the waiting threads are told.
struct Breaks<'a>(&'a Server);

impl Drop for Breaks<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().break_off("a check of the simulation failed".to_owned());
        }
    }
}

impl Server {
    /// Serves a drive.
    pub fn new(drive: LiveDrive, pace: Pace) -> Self {
        let shared = Shared {
            drive,
            waiters: Vec::new(),
            waiting: 0,
            is_driven: false,
            inside_bytes: 0,
            crowd: VecDeque::new(),
            began: None,
            sleeps_until_ns: 0,
            counts: Counts::default(),
            broken: None,
            is_ending: false,
        };
        Self { shared: Mutex::new(shared), pace, sooner: Condvar::new(), ending: Condvar::new() }
    }

    /// How time passes.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Executes a command; the data of a read goes to `to`, which has its length and is empty otherwise. Returns when
    /// it has ended.
    ///
    /// # Errors
    /// The command has failed.
    pub fn execute(&self, command: Command<'_>, to: &mut [u8]) -> Result<(), Fault> {
        let _breaks = Breaks(self);
        let bytes = data_bytes(command);
        let mut shared = self.lock();
        let mut was_called = false;
        let cookie = loop {
            if shared.broken.is_some() || shared.is_ending {
                return Err(Fault::Broken);
            }
            shared.begin();
            self.come_to_now(&mut shared, NOBODY);
            match if shared.has_room_for(bytes) { shared.submit(command) } else { Ok(None) } {
                Ok(Some(cookie)) => break cookie,
                Ok(None) => {
                    if was_called && !shared.has_room_for(bytes) {
                        shared.call_one_with_room();
                    }
                    shared = self.wait_for_room(shared, bytes);
                    was_called = true;
                }
                Err(_) => {
                    // Room that this thread was woken for is for another.
                    shared.call_the_crowd(bytes);
                    return Err(Fault::Invalid);
                }
            }
        };
        shared.inside_bytes += bytes;
        let next_ns = shared.drive.next_event_ns().unwrap_or(Ns::MAX);
        if next_ns < shared.sleeps_until_ns {
            self.sooner.notify_one();
        }
        let (mut shared, status) = self.wait(shared, cookie)?;
        shared.drive.finish(cookie, if status.is_done() { to } else { &mut [] });
        shared.inside_bytes -= bytes;
        shared.call_the_crowd(bytes);
        match status {
            Status::Done(_) => Ok(()),
            Status::Failed(reason) => Err(Fault::Failed(reason)),
        }
    }

    /// Lets the drive work in the background, at a real pace, until [`Self::end`]. For a thread of its own. It comes
    /// now and then, whether or not anybody drives: nobody waits for it, and the next command finds little left to do.
    pub fn attend(&self) {
        let _breaks = Breaks(self);
        let mut shared = self.lock();
        while !shared.is_ending && shared.broken.is_none() {
            self.come_to_now(&mut shared, NOBODY);
            let is_at_rest = shared.waiting == 0 && shared.drive.next_event_ns().is_none();
            let nap = if is_at_rest { LONG_NAP } else { NAP };
            shared = self.ending.wait_timeout(shared, nap).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the service: lets the commands that the drive has end, makes everything durable, and lets the drive finish
    /// its work. Time does not wait for the wall clock any more. Commands that come later fail, and so do those that
    /// wait because the drive is full. Returns what `take` makes of the drive.
    ///
    /// # Errors
    /// The server broke, for this reason.
    pub fn end<T>(&self, take: impl FnOnce(&mut LiveDrive, Counts) -> T) -> Result<T, String> {
        let _breaks = Breaks(self);
        let mut shared = self.lock();
        self.come_to_now(&mut shared, NOBODY);
        shared.is_ending = true;
        let shared = &mut *shared;
        if shared.broken.is_none() {
            // A flush covers the writes that have ended, so it is submitted after the last of them.
            shared.come_to_rest(|drive| drive.outstanding() == 0);
            // A drive that is worn out may fail it; what was asked of the drive is told by its result.
            let flush = if shared.began.is_some() { shared.flush() } else { None };
            shared.come_to_rest(|drive| drive.engine().is_idle());
            flush.into_iter().for_each(|cookie| shared.drive.finish(cookie, &mut []));
        }
        shared.crowd.drain(..).for_each(|(thread, _)| thread.unpark());
        self.ending.notify_all();
        self.sooner.notify_all();
        if let Some(reason) = &shared.broken {
            return Err(reason.clone());
        }
        shared.drive.check_data().map_err(|violation| violation.to_string())?;
        Ok(take(&mut shared.drive, shared.counts))
    }

    /// What the server has done so far, and the drive.
    pub fn look<T>(&self, look: impl FnOnce(&mut LiveDrive, Counts) -> T) -> T {
        let _breaks = Breaks(self);
        let mut shared = self.lock();
        if shared.broken.is_none() {
            self.come_to_now(&mut shared, NOBODY);
        }
        let shared = &mut *shared;
        let inside = u64::from(shared.waiting) + shared.crowd.len() as u64;
        look(&mut shared.drive, Counts { inside, ..shared.counts })
    }

    /// Why the server serves nobody any more; `None` while it does.
    pub fn broken(&self) -> Option<String> {
        self.lock().broken.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waiting and driving.
impl Server {
    /// Waits until a command has ended, driving if nobody else does. Returns its status.
    fn wait<'a>(
        &'a self,
        mut shared: MutexGuard<'a, Shared>,
        cookie: u32,
    ) -> Result<(MutexGuard<'a, Shared>, Status), Fault> {
        loop {
            if let Caller::Ended(status) = shared.waiters[cookie as usize] {
                shared.waiters[cookie as usize] = Caller::Nobody;
                return Ok((shared, status));
            }
            if shared.broken.is_some() {
                return Err(Fault::Broken);
            }
            if shared.is_driven {
                drop(shared);
                thread::park();
                shared = self.lock();
                continue;
            }
            shared.is_driven = true;
            shared = match self.pace {
                Pace::Fast { gathers } => self.jump(shared, gathers, cookie),
                Pace::Real { .. } => self.sleep(shared),
            };
            self.come_to_now(&mut shared, cookie);
            shared.is_driven = false;
            if matches!(shared.waiters[cookie as usize], Caller::Ended(_)) {
                shared.call_driver();
            }
        }
    }

    fn wait_for_room<'a>(&'a self, mut shared: MutexGuard<'a, Shared>, bytes: u64) -> MutexGuard<'a, Shared> {
        shared.crowd.push_back((thread::current(), bytes));
        drop(shared);
        thread::park();
        shared = self.lock();
        // Threads also wake up for what was told them earlier; then this one has not been taken from the crowd.
        let own = thread::current().id();
        shared.crowd.retain(|(thread, _)| thread.id() != own);
        shared
    }

    /// Lets time jump to the next completion. If commands are gathered, those that are about to come are let in first,
    /// and time goes on until half of all have ended: a client is woken for several at once.
    fn jump<'a>(&'a self, mut shared: MutexGuard<'a, Shared>, gathers: bool, driver: u32) -> MutexGuard<'a, Shared> {
        if gathers {
            drop(shared);
            thread::yield_now();
            shared = self.lock();
        }
        let left = if gathers { shared.waiting / 2 } else { shared.waiting.saturating_sub(1) };
        while shared.waiting > left && shared.broken.is_none() {
            match shared.drive.next_event_ns() {
                Some(next_ns) => shared.drive.advance_to(next_ns).expect("the time of an event has not passed"),
                None => shared.break_off("commands are outstanding, and nothing is to happen".to_owned()),
            }
            shared.take_ended(None, driver);
        }
        shared
    }

    /// Sleeps until the next event is due by the wall clock, or something has become due sooner.
    fn sleep<'a>(&'a self, mut shared: MutexGuard<'a, Shared>) -> MutexGuard<'a, Shared> {
        let Pace::Real { speed } = self.pace else { return shared };
        let next_ns = shared.drive.next_event_ns().unwrap_or(Ns::MAX);
        let left = |shared: &Shared| {
            let left_ns = next_ns.saturating_sub(shared.wall_ns(speed)) as f64 / speed;
            Duration::from_nanos(left_ns as u64)
        };
        let left_at_first = left(&shared);
        let sleeps = left_at_first.saturating_sub(Duration::from_nanos(AWAKE_NS)).min(LONGEST_SLEEP);
        if !sleeps.is_zero() {
            shared.sleeps_until_ns = next_ns;
            shared = self.sooner.wait_timeout(shared, sleeps).unwrap_or_else(PoisonError::into_inner).0;
            shared.sleeps_until_ns = 0;
            return shared;
        }
        if !left_at_first.is_zero() {
            let until = now() + left_at_first;
            drop(shared);
            while now() < until {
                thread::yield_now();
            }
            shared = self.lock();
        }
        shared
    }

    /// At a real pace, lets the model come to the time of the wall clock. `driver` is the command of who calls.
    fn come_to_now(&self, shared: &mut Shared, driver: u32) {
        let Pace::Real { speed } = self.pace else { return };
        if shared.is_ending {
            return;
        }
        let now_ns = shared.wall_ns(speed);
        if now_ns > shared.drive.engine().now_ns() {
            shared.drive.advance_to(now_ns).expect("the wall clock does not go back");
            shared.take_ended(Some(now_ns), driver);
        }
    }
}

impl Shared {
    /// Starts the clocks with the first command.
    fn begin(&mut self) {
        self.began.get_or_insert_with(now);
    }

    /// Time of the model by the wall clock; zero before the first command.
    fn wall_ns(&self, speed: f64) -> Ns {
        self.began.map_or(0, |began| (now().duration_since(began).as_nanos() as f64 * speed) as Ns)
    }

    /// Submits a command of the calling thread; its cookie, or `None` if the drive is full.
    fn submit(&mut self, command: Command<'_>) -> Result<Option<u32>, Misuse> {
        let Some(cookie) = self.drive.submit(command)? else { return Ok(None) };
        self.note(cookie, Caller::Waits(thread::current()));
        Ok(Some(cookie))
    }

    /// Submits the flush of the end, for which nobody waits; its cookie, unless the server breaks before.
    fn flush(&mut self) -> Option<u32> {
        while self.broken.is_none() {
            if let Some(cookie) = self.drive.submit(Command::Flush).expect("a flush is always sound") {
                self.note(cookie, Caller::Nobody);
                return Some(cookie);
            }
            self.step();
        }
        None
    }

    /// Lets time go on until the drive is at rest.
    fn come_to_rest(&mut self, is_at_rest: impl Fn(&LiveDrive) -> bool) {
        while self.broken.is_none() && !is_at_rest(&self.drive) {
            self.step();
        }
        self.take_ended(None, NOBODY);
    }

    /// Advances time to the next event.
    fn step(&mut self) {
        match self.drive.next_event_ns() {
            Some(next_ns) => self.drive.advance_to(next_ns).expect("the time of an event has not passed"),
            None => self.break_off("the drive is at work, and nothing is to happen".to_owned()),
        }
        self.take_ended(None, NOBODY);
    }

    /// Notes who waits for a command that was submitted.
    fn note(&mut self, cookie: u32, caller: Caller) {
        if cookie as usize >= self.waiters.len() {
            self.waiters.resize(cookie as usize + 1, Caller::Nobody);
        }
        self.waiters[cookie as usize] = caller;
        self.waiting += 1;
        self.counts.commands += 1;
    }

    /// Tells those whose commands have ended, but for the driver, who knows.
    fn take_ended(&mut self, now_ns: Option<Ns>, driver: u32) {
        let mut any = false;
        while let Some(Ended { cookie, status, time_ns }) = self.drive.take_ended() {
            any = true;
            self.waiting -= 1;
            let waiter = std::mem::replace(&mut self.waiters[cookie as usize], Caller::Ended(status));
            if let Caller::Waits(thread) = waiter
                && cookie != driver
            {
                thread.unpark();
            }
            let late_ns = now_ns.map_or(0, |now_ns| now_ns - time_ns);
            self.counts.latest_ns = self.counts.latest_ns.max(late_ns);
        }
        if let Some(violation) = any.then(|| self.drive.check_data().err()).flatten() {
            self.break_off(violation.to_string());
        }
    }

    /// Wakes one of those who wait, if there are any, to drive.
    fn call_driver(&self) {
        self.callers().take(1).for_each(Thread::unpark);
    }

    /// The threads that wait for their commands.
    fn callers(&self) -> impl Iterator<Item = &Thread> {
        self.waiters.iter().filter_map(|waiter| match waiter {
            Caller::Waits(thread) => Some(thread),
            _ => None,
        })
    }

    /// Whether the data of one more command may come in.
    fn has_room_for(&self, bytes: u64) -> bool {
        bytes == 0 || self.inside_bytes == 0 || self.inside_bytes + bytes <= DATA_INSIDE_BYTES
    }

    /// Wakes the first thread that waits for room, and further ones until their data equals that of the command that
    /// has left.
    fn call_the_crowd(&mut self, mut bytes: u64) {
        while let Some((thread, own)) = self.crowd.pop_front() {
            thread.unpark();
            bytes = bytes.saturating_sub(own.max(SECTOR as u64));
            if bytes == 0 {
                break;
            }
        }
    }

    /// Wakes the first thread that waits for room and whose data has room now: the one that was woken has more.
    fn call_one_with_room(&mut self) {
        let fits = self.crowd.iter().position(|&(_, bytes)| self.has_room_for(bytes));
        if let Some((thread, _)) = fits.and_then(|at| self.crowd.remove(at)) {
            thread.unpark();
        }
    }

    /// Ends the service for all.
    fn break_off(&mut self, reason: String) {
        self.broken.get_or_insert(reason);
        self.callers().for_each(Thread::unpark);
        self.crowd.drain(..).for_each(|(thread, _)| thread.unpark());
    }
}

/// Bytes of data that a server keeps for a command while it is inside.
fn data_bytes(command: Command<'_>) -> u64 {
    match command {
        Command::Read { sectors, .. } => u64::from(sectors) * SECTOR as u64,
        Command::Write { data, .. } => data.len() as u64,
        Command::WriteZeros { .. } | Command::Discard { .. } | Command::Flush => 0,
    }
}

/// The wall clock.
#[expect(clippy::disallowed_methods, reason = "Clients wait by it; the model's time does not come from here.")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{engine, experiment, live, write};

    /// A command that is woken and has no room lets one with less data go before it.
    #[test]
    fn room_that_is_too_small_for_the_first_is_for_the_next() {
        let server = Server::new(live(engine(&experiment(""))), Pace::Fast { gathers: false });
        let waits = |threads: usize| {
            while server.lock().crowd.len() != threads {
                thread::yield_now();
            }
        };
        server.lock().inside_bytes = DATA_INSIDE_BYTES;
        thread::scope(|scope| {
            let first = scope.spawn(|| write(&server, 0, &[0; 16 * SECTOR]));
            waits(1);
            let second = scope.spawn(|| write(&server, 0, &[0; SECTOR]));
            waits(2);
            let mut shared = server.lock();
            shared.inside_bytes -= 4 * SECTOR as u64;
            shared.call_the_crowd(4 * SECTOR as u64);
            drop(shared);
            second.join().expect("it has room").expect("it is written");
            waits(1);
            let mut shared = server.lock();
            shared.inside_bytes = 0;
            shared.call_the_crowd(SECTOR as u64);
            drop(shared);
            first.join().expect("it has room").expect("it is written");
        });
    }
}
