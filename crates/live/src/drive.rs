//! A drive with data, stepped through simulated time.

use std::io::{self, Write};

use flashloom_device::{Completion, Engine, Interest, Misuse, Status, Submitted};
use flashloom_units::{Ns, StateError, Violation};
use flashloom_workload::{Op, Request};

use crate::contents::Contents;
use crate::frames::{Memory, SECTOR};
use crate::log::RequestLog;
use crate::picture::{Picture, Shown};

/// What a client asks of a drive. Addresses are in sectors of 512 bytes.
#[derive(Clone, Copy, Debug)]
pub enum Command<'a> {
    /// Reads sectors; [`LiveDrive::finish`] returns them.
    Read {
        /// First sector.
        lba: u64,
        /// Number of sectors.
        sectors: u32,
    },
    /// Writes whole sectors.
    Write {
        /// First sector.
        lba: u64,
        /// The data.
        data: &'a [u8],
        /// Whether the data is durable when the command completes.
        fua: bool,
    },
    /// Writes sectors of zeros.
    WriteZeros {
        /// First sector.
        lba: u64,
        /// Number of sectors.
        sectors: u32,
        /// Whether they are durable when the command completes.
        fua: bool,
    },
    /// Discards the whole pages among sectors, which then hold zeros. Parts of pages keep their data.
    Discard {
        /// First sector.
        lba: u64,
        /// Number of sectors.
        sectors: u32,
    },
    /// Makes all writes that have completed durable.
    Flush,
}

/// A command that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The cookie of [`LiveDrive::submit`].
    pub cookie: u32,
    /// How it ended.
    pub status: Status,
    /// When it ended.
    pub time_ns: Ns,
}

/// A drive whose reads return what was written to it, under a host that merges no requests.
pub struct LiveDrive {
    engine: Engine,
    contents: Contents,
    /// The requests that have not been finished, by their cookies; those of other cookies mean nothing.
    requests: Vec<Request>,
    free_cookies: Vec<u32>,
    ended: Vec<Ended>,
    /// Whether the present moment is over: what it began by itself has happened, as after the requests of a moment.
    is_over: bool,
    log: Option<RequestLog>,
    picture: Option<Box<Picture>>,
}

impl LiveDrive {
    /// A drive on which nothing was written since it was aged: all its pages hold zeros.
    ///
    /// # Errors
    /// An engine that keeps no events.
    pub fn new(mut engine: Engine, memory: Memory) -> Result<Self, Misuse> {
        engine.watch(Interest { events: true, ..Interest::default() })?;
        let contents = Contents::new(*engine.nand().geometry(), memory);
        let (requests, free_cookies, ended) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { engine, contents, requests, free_cookies, ended, is_over: false, log: None, picture: None })
    }

    /// Logs every request from now on: a trace in order of submission, with latencies. Replayed, each request arrives
    /// at the time at which it was submitted.
    ///
    /// # Errors
    /// An error of the output.
    pub fn log_to(&mut self, output: Box<dyn Write + Send>) -> io::Result<()> {
        self.log = Some(RequestLog::new(output)?);
        Ok(())
    }

    /// Writes what is left of the log.
    ///
    /// # Errors
    /// The first error of its output.
    pub fn finish_log(&mut self) -> io::Result<()> {
        self.log.take().map_or(Ok(()), RequestLog::finish)
    }

    /// Follows the events for a page from now on. No request has been submitted yet; the host sends at most
    /// `queue_depth` at a time.
    pub(crate) fn keep_picture(&mut self, queue_depth: u32) {
        let picture = Picture::new(self.engine.nand().geometry(), queue_depth);
        self.picture = Some(Box::new(picture));
    }

    /// What there is to show since the last call; `None` if no picture is kept.
    pub(crate) fn show(&mut self) -> Option<Shown> {
        let now_ns = self.engine.now_ns();
        self.picture.as_mut().map(|picture| picture.show(now_ns))
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The whole state of the engine now, without data.
    ///
    /// # Errors
    /// A policy that cannot be saved.
    pub fn snapshot(&self) -> Result<Vec<u8>, StateError> {
        self.engine.snapshot()
    }

    /// The engine, to be switched off, and the data.
    pub(crate) fn parts(&mut self) -> (&mut Engine, &mut Contents) {
        (&mut self.engine, &mut self.contents)
    }

    /// Replaces the engine, which was switched off, by one that was loaded from what that saved.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub(crate) fn switch_on(&mut self, mut engine: Engine) -> Result<(), Misuse> {
        engine.watch(Interest { events: true, ..Interest::default() })?;
        (self.engine, self.is_over) = (engine, false);
        self.contents.forget_slots();
        Ok(())
    }

    /// Capacity in sectors.
    pub fn capacity_sectors(&self) -> u64 {
        self.engine.capacity_sectors()
    }

    /// Bytes of data in memory, and in the file.
    pub fn data_bytes(&self) -> (u64, u64) {
        self.contents.frames().taken_bytes()
    }

    /// Fails if data could not be kept: the file for it could not be read or written.
    ///
    /// # Errors
    /// The first error of the file.
    pub fn check_data(&self) -> Result<(), Violation> {
        match self.contents.frames().error() {
            Some(error) => Err(Violation::new(format!("the file for data beyond the limit of memory: {error}"))),
            None => Ok(()),
        }
    }
}

/// Commands, time and completions.
impl LiveDrive {
    /// Submits a command now, or in the next nanosecond if now is over: requests of one time are those of one moment,
    /// so that a log says what happened. Returns its cookie, for [`Self::finish`]; `None` if the drive is full.
    ///
    /// # Errors
    /// A command that is not within the drive, or has no sectors and is no flush.
    pub fn submit(&mut self, command: Command<'_>) -> Result<Option<u32>, Misuse> {
        if self.is_over {
            self.advance_to(self.engine.now_ns() + 1)?;
        }
        let now_ns = self.engine.now_ns();
        let (request, data) = request(command);
        let request = request.arriving_at(now_ns);
        let cookie = self.free_cookies.pop().unwrap_or(self.requests.len() as u32);
        // Checked before data is copied; the engine checks the rest.
        let end = request.lba.saturating_add(request.sectors.into());
        let is_within = end <= self.engine.capacity_sectors();
        self.contents.submit(cookie, &request, if is_within { data } else { &[] });
        let submitted = self.engine.submit(now_ns, &request, cookie);
        self.look();
        if cookie as usize == self.requests.len() {
            self.requests.push(request);
        } else {
            self.requests[cookie as usize] = request;
        }
        if !matches!(submitted, Ok(Submitted::Accepted)) {
            self.contents.refuse(cookie);
            self.free_cookies.push(cookie);
            return submitted.map(|_| None);
        }
        if let Some(log) = &mut self.log {
            log.submitted(cookie, request);
        }
        Ok(Some(cookie))
    }

    /// Time of the next event; `None` while the drive only waits for commands.
    pub fn next_event_ns(&mut self) -> Option<Ns> {
        self.engine.next_event_ns()
    }

    /// Advances time to `to_ns` and processes the events up to it.
    ///
    /// # Errors
    /// A time that has passed.
    pub fn advance_to(&mut self, to_ns: Ns) -> Result<(), Misuse> {
        self.is_over = to_ns == self.engine.now_ns();
        // A step at a time, so that few events are kept.
        while let Some(next_ns) = self.engine.next_event_ns().filter(|&next_ns| next_ns < to_ns) {
            self.engine.advance_to(next_ns)?;
            self.look();
        }
        self.engine.advance_to(to_ns)?;
        self.look();
        let Self { engine, log, requests, ended, .. } = self;
        for Completion { cookie, status, time_ns, .. } in engine.completions() {
            if let Some(log) = log {
                log.ended(cookie, time_ns - requests[cookie as usize].arrival_ns);
            }
            ended.push(Ended { cookie, status, time_ns });
        }
        Ok(())
    }

    /// Submits a command to a drive with nothing else inside, and waits for its end.
    ///
    /// # Errors
    /// The errors of [`Self::submit`], or a drive that never ends the command, in words.
    pub(crate) fn execute(&mut self, command: Command<'_>) -> Result<Status, String> {
        let cookie = loop {
            match self.submit(command).map_err(|misuse| misuse.to_string())? {
                Some(cookie) => break cookie,
                None => self.step()?,
            }
        };
        let ended = loop {
            match self.take_ended() {
                Some(ended) => break ended,
                None => self.step()?,
            }
        };
        self.finish(cookie, &mut []);
        Ok(ended.status)
    }

    /// Lets the drive work until it is idle.
    ///
    /// # Errors
    /// A drive that never is, in words.
    pub(crate) fn come_to_rest(&mut self) -> Result<(), String> {
        while !self.engine.is_idle() {
            self.step()?;
        }
        Ok(())
    }

    /// Advances to the next event.
    fn step(&mut self) -> Result<(), String> {
        let next_ns = self.next_event_ns().ok_or("the drive is at work, and nothing is to happen")?;
        self.advance_to(next_ns).map_err(|misuse| misuse.to_string())
    }

    /// Takes a command that has ended, the latest first.
    pub fn take_ended(&mut self) -> Option<Ended> {
        self.ended.pop()
    }

    /// Takes leave of a command that has ended, with the data of a read that is done: `data` has the length of what was
    /// read, or is empty.
    ///
    /// # Panics
    /// Data of another length.
    pub fn finish(&mut self, cookie: u32, data: &mut [u8]) {
        if !data.is_empty() {
            let Request { lba, sectors, .. } = self.requests[cookie as usize];
            assert_eq!(data.len(), sectors as usize * SECTOR, "the data of a read has its length");
            let found = self.contents.take(cookie, lba, data);
            assert_eq!(found, u64::from(sectors), "every sector of a read that is done was found");
        }
        self.contents.end(cookie);
        self.free_cookies.push(cookie);
    }

    /// Commands that have not ended.
    pub fn outstanding(&self) -> u64 {
        self.engine.outstanding()
    }

    /// Makes this the mutant that leaves the data of copied pages behind.
    #[cfg(test)]
    pub(crate) fn forget_copies(&mut self) {
        self.contents.forgets_copies = true;
    }

    /// Follows the events since the last look.
    fn look(&mut self) {
        let Self { engine, contents, picture, .. } = self;
        for (now_ns, event) in engine.events() {
            contents.see(&event);
            if let Some(picture) = picture {
                picture.see(now_ns, &event);
            }
        }
    }
}

/// The request of a command, and its data.
fn request(command: Command<'_>) -> (Request, &[u8]) {
    let flags = |fua| if fua { Request::FUA } else { 0 };
    match command {
        Command::Read { lba, sectors } => (Request::new(Op::Read, lba, sectors).with_flags(Request::SYNC), &[]),
        Command::Write { lba, data, fua } => {
            let sectors = (data.len() / SECTOR) as u32;
            (Request::new(Op::Write, lba, sectors).with_flags(flags(fua)), data)
        }
        Command::WriteZeros { lba, sectors, fua } => {
            (Request::new(Op::Write, lba, sectors).with_flags(flags(fua)), &[])
        }
        Command::Discard { lba, sectors } => (Request::new(Op::Discard, lba, sectors), &[]),
        Command::Flush => (Request::flush(), &[]),
    }
}
