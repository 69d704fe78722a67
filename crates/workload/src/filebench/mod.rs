//! The Filebench personalities: threads of flow operations over a modelled file system, in a closed loop.
//!
//! A thread runs the operations of its personality in turn. Each takes some processor time, changes the state of the
//! file system, issues the resulting requests one after another, and may then wait for a commit of the journal or for
//! dirty pages to be written back. The flusher and the journal run beside the threads, with at most
//! [`BACKGROUND_DEPTH`] requests each outstanding; a thread has at most one.

mod cache;
mod file_set;
mod file_system;
mod gamma;
mod journal;
mod layout;
mod params;
mod personality;
mod report;
mod thread;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use flashloom_units::{NO_INDEX, Ns, Prng, Problem, Refusal, SECTOR_BYTES, format_size};

use crate::slots::Slots;
use crate::{Arrivals, Op, Request};
use file_set::FileSet;
use file_system::FileSystem;
use journal::DEPTH;
use layout::Disk;
pub use params::FilebenchParams;
pub(crate) use params::SPEC;
pub use personality::Personality;
use personality::{Figures, TRANSACTIONS_A_LOG_WRITE, TRANSACTIONS_A_ROUND};
pub use report::{FilebenchReport, FlowReport};
use thread::{Group, Thread};

/// Bytes of a file system block and of a page of memory.
const BLOCK_BYTES: u64 = 4_096;
const BLOCK_SECTORS: u64 = BLOCK_BYTES / SECTOR_BYTES;
/// Requests that the flusher and the journal each keep outstanding at most.
pub const BACKGROUND_DEPTH: u32 = DEPTH;

/// A request of the file layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Io {
    op: Op,
    block: u32,
    blocks: u32,
    flags: u8,
    /// True for a write to blocks newly allocated to their file.
    allocated: bool,
}

impl Io {
    fn read(block: u32) -> Self {
        Self { op: Op::Read, ..Self::write(block, Request::SYNC) }
    }

    fn write(block: u32, flags: u8) -> Self {
        Self { op: Op::Write, block, blocks: 1, flags, allocated: false }
    }

    fn flush() -> Self {
        Self { op: Op::Flush, blocks: 0, ..Self::write(0, Request::SYNC) }
    }
}

/// Issuer of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Issuer {
    Thread(u32),
    Flusher,
    Journal,
}

/// Data kept for an outstanding request until it completes.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    issuer: Issuer,
    /// The file whose newly allocated blocks it writes, or [`NO_INDEX`].
    file: u32,
    block: u32,
}

/// Timed event: a thread continues, the flusher looks for expired pages, the journal commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    Thread(u32),
    Flusher,
    Commit,
}

/// A running personality.
pub struct Filebench {
    params: FilebenchParams,
    fs: FileSystem,
    set: FileSet,
    threads: Vec<Thread>,
    groups: Vec<Group>,
    figures: Figures,
    alarms: BinaryHeap<Reverse<(Ns, u64, Alarm)>>,
    alarms_set: u64,
    out: VecDeque<(Request, u32)>,
    outstanding: Slots<Outstanding>,
    flusher: Flusher,
    checkpoint: VecDeque<Io>,
    /// Threads that wait until there are fewer dirty pages and the journal has room.
    throttled: Vec<u32>,
    /// Time at which each processor becomes idle; `None` if every thread has a processor of its own.
    processors: Option<BinaryHeap<Reverse<Ns>>>,
    draws: Prng,
    /// Operations and latencies of the threads so far.
    pub(crate) report: FilebenchReport,
    /// Number of requests issued so far.
    pub(crate) issued: u64,
    most_requests: u64,
    ended: bool,
    failed: Option<Problem>,
}

/// Background write-back.
#[derive(Default)]
struct Flusher {
    requests: VecDeque<Io>,
    /// Owner of the pages that the requests write.
    owner: u32,
    in_flight: u32,
    /// Pages that became dirty at this time or before are written back, however few they are.
    expired_ns: Option<Ns>,
    background_pages: u32,
    most_pages: u32,
}

fn refuse(key: &str, found: String, expected: String) -> Refusal {
    Refusal::new(found, expected).at([format!("workload.filebench.{key}")])
}

impl Filebench {
    /// A personality on a device of `capacity` sectors that issues at most `requests`. A refusal names the key that
    /// does not fit.
    pub fn new(params: &FilebenchParams, capacity: u64, requests: Option<u64>, prng: &Prng) -> Result<Self, Refusal> {
        let figures = params.figures();
        let least = FileSet::least_files(params.personality, figures.threads, figures.preallocated);
        if figures.files < least {
            let found = format!("{} files for {} threads", figures.files, figures.threads);
            return Err(refuse("files", found, format!("at least {least} files, so that no thread waits for one")));
        }
        let inodes = figures.files + figures.files.div_ceil(figures.directory_width) + 1;
        let disk = Disk::new(file_system_blocks(params, capacity)?, params.layout, inodes);
        if inodes > disk.inodes() {
            let found = format!("{inodes} inodes for files and directories, where there are {}", disk.inodes());
            return Err(refuse("files", found, "fewer files, or a larger file system".to_owned()));
        }
        if params.background_share > params.dirty_share {
            let found = "a background share of dirty pages above the share at which writers wait".to_owned();
            return Err(refuse("dirty_background_ratio", found, "at most `dirty_ratio`".to_owned()));
        }
        let pages = |bytes: u64| u32::try_from(bytes / BLOCK_BYTES).expect("the greatest cache has 2^28 pages");
        let cache_pages = pages(params.cache_bytes);
        let read_ahead = pages(params.read_ahead_bytes);
        let fs = FileSystem::new(disk, cache_pages, read_ahead, &figures, prng).map_err(|_| no_room(&figures))?;
        let share = |share: f64| (f64::from(cache_pages) * share) as u32;
        let flusher = Flusher {
            background_pages: share(params.background_share),
            most_pages: share(params.dirty_share),
            ..Flusher::default()
        };
        let (threads, groups) = thread::crew(params, &figures);
        let mut filebench = Self {
            fs,
            set: FileSet::new(figures.files, figures.preallocated, &mut prng.branch("file set")),
            report: FilebenchReport::new(params.personality, &threads),
            threads,
            groups,
            figures,
            alarms: BinaryHeap::new(),
            alarms_set: 0,
            out: VecDeque::new(),
            outstanding: Slots::default(),
            flusher,
            checkpoint: VecDeque::new(),
            throttled: Vec::new(),
            processors: params.processors.map(|processors| (0..processors).map(|_| Reverse(0)).collect()),
            draws: prng.branch("flow operations"),
            issued: 0,
            most_requests: requests.unwrap_or(u64::MAX),
            ended: false,
            failed: None,
            params: params.clone(),
        };
        for thread in 0..filebench.threads.len() as u32 {
            filebench.set_alarm(0, Alarm::Thread(thread));
        }
        filebench.set_alarm(params.flush_ns, Alarm::Flusher);
        filebench.set_alarm(params.commit_ns, Alarm::Commit);
        Ok(filebench)
    }

    fn set_alarm(&mut self, at: Ns, alarm: Alarm) {
        self.alarms.push(Reverse((at, self.alarms_set, alarm)));
        self.alarms_set += 1;
    }

    /// Gives a thread processor time, first come first served if processors are shared; the thread continues
    /// afterwards.
    fn compute(&mut self, now: Ns, thread: u32, cpu_ns: Ns) {
        let free_ns =
            self.processors.as_mut().and_then(BinaryHeap::pop).map_or(now, |Reverse(free_ns)| free_ns.max(now));
        let done_ns = free_ns + cpu_ns;
        if let Some(processors) = &mut self.processors {
            processors.push(Reverse(done_ns));
        }
        self.report.cpu_ns += cpu_ns;
        self.set_alarm(done_ns, Alarm::Thread(thread));
    }

    fn ring(&mut self, now: Ns, alarm: Alarm) {
        match alarm {
            Alarm::Thread(thread) => self.advance(thread, now),
            Alarm::Flusher => {
                self.flusher.expired_ns = now.checked_sub(self.params.expire_ns);
                self.set_alarm(now + self.params.flush_ns, Alarm::Flusher);
            }
            Alarm::Commit => {
                let running = self.fs.journal.running();
                self.fs.journal.want(running);
                self.set_alarm(now + self.params.commit_ns, Alarm::Commit);
            }
        }
        self.work_in_background(now);
    }

    fn end(&mut self, now: Ns) {
        self.ended = true;
        self.report.duration_ns = now;
        self.out.clear();
    }

    /// True if the workload is over at `now`; the first such call ends it.
    fn is_time_up(&mut self, now: Ns) -> bool {
        let is_up = now >= self.params.runtime_ns
            || self.params.operations.is_some_and(|most| self.report.operations >= most)
            || self.issued >= self.most_requests;
        if is_up && !self.ended {
            self.end(now.min(self.params.runtime_ns));
        }
        self.ended
    }

    fn issue(&mut self, now: Ns, io: Io, issuer: Issuer, file: u32) {
        let outstanding = Outstanding { issuer, file: if io.allocated { file } else { NO_INDEX }, block: io.block };
        let cookie = self.outstanding.put(outstanding);
        let threads = self.threads.len() as u32;
        let task = match issuer {
            Issuer::Thread(thread) => 1 + thread,
            Issuer::Flusher => 1 + threads,
            Issuer::Journal => 2 + threads,
        };
        let (lba, sectors) = (u64::from(io.block) * BLOCK_SECTORS, io.blocks * BLOCK_SECTORS as u32);
        let request = Request::new(io.op, lba, sectors).arriving_at(now).of_task(task).with_flags(io.flags);
        self.out.push_back((request, cookie));
    }

    /// Issues the requests of the flusher and the journal that are possible now, and resumes throttled threads whose
    /// reason to wait has passed.
    fn work_in_background(&mut self, now: Ns) {
        loop {
            self.flush(now);
            self.write_journal(now);
            if self.throttled.is_empty() || self.must_wait() {
                return;
            }
            for thread in std::mem::take(&mut self.throttled) {
                self.advance(thread, now);
            }
        }
    }

    fn must_wait(&self) -> bool {
        self.fs.dirty_pages() > self.flusher.most_pages || self.fs.journal.is_full()
    }

    fn flush(&mut self, now: Ns) {
        while self.flusher.in_flight < BACKGROUND_DEPTH {
            let Some(io) = self.flusher.requests.pop_front() else {
                let is_pressed = self.fs.dirty_pages() > self.flusher.background_pages;
                let before = if is_pressed { Some(Ns::MAX) } else { self.flusher.expired_ns };
                let Some(before) = before else { return };
                let Some(owner) = self.fs.write_back_oldest(before, &mut self.flusher.requests) else { return };
                self.flusher.owner = owner;
                continue;
            };
            self.flusher.in_flight += 1;
            let file = self.flusher.owner.wrapping_sub(1);
            self.issue(now, io, Issuer::Flusher, file);
        }
    }

    fn write_journal(&mut self, now: Ns) {
        let mut in_flight = self.fs.journal.in_flight();
        if self.fs.journal.begin_checkpoint() {
            self.fs.write_back_metadata(&mut self.checkpoint);
        }
        while in_flight < BACKGROUND_DEPTH
            && let Some(io) = self.checkpoint.pop_front()
        {
            self.fs.journal.checkpoint_write();
            in_flight += 1;
            self.issue(now, io, Issuer::Journal, NO_INDEX);
        }
        while let Some(io) = self.fs.journal.next(self.checkpoint.is_empty()) {
            self.issue(now, io, Issuer::Journal, NO_INDEX);
        }
    }

    fn journal_completed(&mut self, now: Ns) {
        let (next, committed) = self.fs.journal.completed();
        if let Some(io) = next {
            self.issue(now, io, Issuer::Journal, NO_INDEX);
        }
        if let Some(transaction) = committed {
            self.fs.committed(transaction, now);
            for thread in 0..self.threads.len() as u32 {
                if self.threads[thread as usize].waits_for_commit(transaction) {
                    self.advance(thread, now);
                }
            }
        }
    }
}

impl Arrivals for Filebench {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        while !self.is_time_up(now) && self.out.is_empty() {
            match self.alarms.peek() {
                Some(&Reverse((at, _, alarm))) if at <= now => {
                    self.alarms.pop();
                    self.ring(now, alarm);
                }
                next => return Ok(next.map(|&Reverse((at, _, _))| at)),
            }
        }
        self.failed.take().map_or(Ok((!self.out.is_empty()).then_some(now)), Err)
    }

    fn take(&mut self, _now: Ns) -> (Request, u32) {
        self.issued += 1;
        self.out.pop_front().expect("taken when it is due")
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        let Outstanding { issuer, file, block } = self.outstanding.take(cookie);
        if self.is_time_up(now) {
            return;
        }
        if file != NO_INDEX {
            self.fs.written(file, block);
        }
        match issuer {
            Issuer::Thread(thread) => self.advance(thread, now),
            Issuer::Flusher => self.flusher.in_flight -= 1,
            Issuer::Journal => self.journal_completed(now),
        }
        self.work_in_background(now);
    }

    fn is_over(&self) -> bool {
        self.ended && self.out.is_empty() && self.failed.is_none()
    }
}

fn file_system_blocks(params: &FilebenchParams, capacity: u64) -> Result<u32, Refusal> {
    let device = capacity.saturating_mul(SECTOR_BYTES);
    let bytes = params.size_bytes.unwrap_or(device);
    if bytes > device {
        let found = format!("a file system of {} on a device of {}", format_size(bytes), format_size(device));
        return Err(refuse("file_system_size", found, "at most the capacity of the device".to_owned()));
    }
    let blocks = u32::try_from(bytes / BLOCK_BYTES).unwrap_or(0);
    if blocks < Disk::MIN_BLOCKS {
        let found = format!("a file system of {}", format_size(bytes));
        return Err(refuse("file_system_size", found, "from 128 MiB to less than 16 TiB".to_owned()));
    }
    Ok(blocks)
}

fn no_room(figures: &Figures) -> Refusal {
    let found = format!("{} files of {} do not fit", figures.files, format_size(figures.file_bytes));
    refuse("file_size", found, "files that the file system has room for".to_owned())
}

#[cfg(test)]
mod tests;
