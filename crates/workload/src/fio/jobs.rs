//! Arrival of the clones' requests: depth, rate, think time, start delays, groups and the end by time.
//!
//! A clone is idle until its group starts; then it has one request ready whenever fewer than `iodepth` are outstanding,
//! no flush of its own is, and it is not thinking. The ready requests of all clones lie in a heap by due time, first
//! come first served. `stonewall` begins a group, which starts when the last clone of the previous one has nothing left
//! to issue or to wait for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashloom_units::{NO_INDEX, Ns, Prng, Problem, S, SECTOR_BYTES};

use super::iolog::{KeptInMemory, Recorded, Replay};
use super::job::{FioJob, Mix, Rate};
use super::layout::Layout;
use super::report::{self, FioReport};
use super::requests::{Requests, Step};
use super::{FioJobFile, READ, WRITE};
use crate::address::Placement;
use crate::slots::Slots;
use crate::{Arrivals, Op, Priority, Request};

/// Origin of a clone's requests.
enum Origin {
    Made(Box<Requests>),
    Replayed(Replay),
}

/// One clone of a job.
struct Clone {
    job: u32,
    report: u32,
    origin: Origin,
    group: u32,
    delay_ns: Ns,
    start_ns: Ns,
    last_issue_ns: Ns,
    /// Draws the priorities of single requests.
    prng: Prng,
    /// The request that it issues when due.
    ready: Option<Step>,
    outstanding: u32,
    is_flushing: bool,
    /// The clone waits for its outstanding requests, and then begins the next pass.
    is_draining: bool,
    /// The clone waits for its outstanding requests, and then for the think time.
    is_thinking: bool,
    think_until_ns: Ns,
    since_thought: u64,
    /// The clone issues nothing more, except the flush at the end.
    is_over: bool,
    flush_left: bool,
    is_done: bool,
}

/// An outstanding request.
#[derive(Clone, Copy)]
struct OnItsWay {
    clone: u32,
    issued_ns: Ns,
    bytes: u64,
    /// The direction; `None` for a flush.
    direction: Option<u8>,
    priority: Priority,
}

/// The requests of a job file, as arrivals.
pub struct FioJobs {
    /// Name of the job file, for problems.
    file: String,
    /// Options of its `[global]` sections, for the report.
    pub(crate) global_options: Vec<(String, String)>,
    jobs: Vec<FioJob>,
    placement: Placement,
    clones: Vec<Clone>,
    pub(crate) reports: Vec<FioReport>,
    /// Due time and clone of each ready request, in the order in which they became ready.
    due: BinaryHeap<Reverse<(Ns, u64, u32)>>,
    order: u64,
    on_their_way: Slots<OnItsWay>,
    /// Clones that may have become able to issue something.
    touched: Vec<u32>,
    group: u32,
    /// Clones of the current group that have something left to do.
    busy_in_group: u32,
    /// Clones of all groups that may still issue something.
    issuing: u32,
    /// Requests that have arrived so far, flushes included.
    pub(crate) issued: u64,
    started: bool,
    /// Start of all jobs.
    genesis_ns: Ns,
    /// True if latencies are kept sparsely, because there are many reports.
    are_sparse: bool,
}

impl FioJobs {
    pub(super) fn new(file: &FioJobFile, layout: &Layout, placement: Placement, seed: &Prng) -> Result<Self, Problem> {
        let jobs = &file.jobs;
        let mut fio = Self {
            file: file.text.name.clone(),
            global_options: file.global_options(),
            jobs: jobs.clone(),
            placement,
            clones: Vec::new(),
            reports: Vec::new(),
            due: BinaryHeap::new(),
            order: 0,
            on_their_way: Slots::default(),
            touched: Vec::new(),
            group: 0,
            busy_in_group: 0,
            issuing: 0,
            issued: 0,
            started: false,
            genesis_ns: 0,
            are_sparse: report::are_sparse(jobs),
        };
        let start_of = |name: &str| Some(layout.start_of(name, &file.devices)? / SECTOR_BYTES);
        let mut kept = KeptInMemory::default();
        let (mut group, mut reporting) = (0, 0);
        for (index, (job, regions)) in jobs.iter().zip(&layout.regions).enumerate() {
            let stonewalled = job.stonewall && index > 0;
            group += u32::from(stonewalled);
            reporting += u32::from(stonewalled || (job.new_group && index > 0));
            for (place, regions) in regions.iter().enumerate() {
                let clone = job.number_of_clone(place) as usize;
                let number = fio.clones.len();
                let seed = job.seed.map_or_else(|| seed.clone(), Prng::new).branch(&format!("clone {number}"));
                let origin = match &job.iolog {
                    Some(_) => Origin::Replayed(file.recordings().open((index, job), clone, start_of, &mut kept)?),
                    None => Origin::Made(Box::new(Requests::new(job, regions, seed.clone()))),
                };
                fio.add_clone(job, index as u32, origin, (group, reporting), &seed);
            }
        }
        fio.reports.iter_mut().for_each(FioReport::settle_priorities);
        fio.issuing = fio.clones.len() as u32;
        fio.due.reserve(fio.clones.len());
        Ok(fio)
    }

    fn add_clone(&mut self, job: &FioJob, index: u32, origin: Origin, (group, reporting): (u32, u32), seed: &Prng) {
        let shares = job.reports_as_group && self.reports.last().is_some_and(|report| report.group == reporting);
        if !shares {
            self.reports.push(FioReport::new(job, reporting, self.are_sparse));
        }
        self.reports.last_mut().expect("it has one").add(job);
        let (low, high) = job.start_delay_ns;
        let delay_ns = low + if high > low { seed.branch("delay").below(high - low + 1) } else { 0 };
        self.clones.push(Clone {
            job: index,
            report: self.reports.len() as u32 - 1,
            origin,
            group,
            delay_ns,
            start_ns: 0,
            last_issue_ns: 0,
            prng: seed.branch("priority"),
            ready: None,
            outstanding: 0,
            is_flushing: false,
            is_draining: false,
            is_thinking: false,
            think_until_ns: 0,
            since_thought: 0,
            is_over: false,
            flush_left: job.flushes_at_end(),
            is_done: false,
        });
    }

    /// One report per clone, or one for all clones that report as a group.
    pub fn reports(&self) -> &[FioReport] {
        &self.reports
    }

    /// Starts the clones of the current group.
    fn start_group(&mut self, now: Ns) {
        for (index, clone) in self.clones.iter_mut().enumerate().filter(|(_, clone)| clone.group == self.group) {
            clone.start_ns = now.saturating_add(clone.delay_ns);
            (clone.think_until_ns, clone.last_issue_ns) = (clone.start_ns, clone.start_ns);
            self.reports[clone.report as usize].started(clone.start_ns);
            self.busy_in_group += 1;
            self.touched.push(index as u32);
        }
    }

    /// Prepares requests for the clones whose state has changed, and starts the next group when one is done.
    fn prepare_touched(&mut self, now: Ns) -> Result<(), Problem> {
        loop {
            for at in 0..self.touched.len() {
                self.prepare(self.touched[at], now)?;
            }
            self.touched.clear();
            if self.busy_in_group > 0 || self.clones.last().is_none_or(|last| last.group <= self.group) {
                return Ok(());
            }
            self.group += 1;
            self.start_group(now);
        }
    }

    /// Prepares the next request of a clone, if it may have one.
    fn prepare(&mut self, index: u32, now: Ns) -> Result<(), Problem> {
        let clone = &mut self.clones[index as usize];
        let job = &self.jobs[clone.job as usize];
        let waits = clone.is_flushing || clone.is_draining || clone.is_thinking || clone.outstanding >= job.depth;
        if clone.ready.is_some() || clone.is_done || waits {
            return Ok(());
        }
        if !clone.is_over {
            let earliest = now.max(clone.think_until_ns);
            let end_ns = job.runtime_ns.map_or(Ns::MAX, |runtime| clone.start_ns.saturating_add(runtime));
            let next = clone.next(job, earliest, (self.genesis_ns, &self.placement))?;
            // A flush that ended the last pass is not repeated.
            if let (None, Origin::Made(requests)) = (&next, &clone.origin) {
                clone.flush_left &= !requests.flushed_last;
            }
            match next.filter(|(due, _)| *due < end_ns) {
                Some((_, Step::Drain)) => {
                    clone.is_draining = true;
                    return Ok(());
                }
                Some((due, _)) if due > Request::LAST_ARRIVAL_NS => return Err(too_late(&self.file, &job.name)),
                Some((due, step)) => {
                    clone.ready = Some(step);
                    self.due.push(Reverse((due, self.order, index)));
                    self.order += 1;
                    return Ok(());
                }
                None => {
                    clone.is_over = true;
                    self.issuing -= u32::from(!clone.flush_left);
                }
            }
        }
        if clone.outstanding == 0 {
            if clone.flush_left {
                clone.ready = Some(Step::Flush);
                self.due.push(Reverse((now, self.order, index)));
                self.order += 1;
            } else {
                clone.is_done = true;
                self.busy_in_group -= 1;
            }
        }
        Ok(())
    }
}

impl Clone {
    /// Returns the next step and its due time, not before `earliest`; `None` at the end.
    fn next(
        &mut self,
        job: &FioJob,
        earliest: Ns,
        (genesis_ns, placement): (Ns, &Placement),
    ) -> Result<Option<(Ns, Step)>, Problem> {
        let start_ns = self.start_ns;
        match &mut self.origin {
            Origin::Made(requests) => {
                let paced =
                    |requests: &Requests, drawn: usize| paced_direction(job, requests, drawn, start_ns, earliest);
                let step = match requests.next(job, paced) {
                    Some(Step::Drain) if self.outstanding == 0 => requests.next(job, paced),
                    step => step,
                };
                let due = |step: &Step| match step {
                    // The request itself is among those issued by now: its turn comes after those before it.
                    Step::Io { direction, bytes, .. } => {
                        let (count, sum) = (requests.issued[*direction] - 1, requests.issued_bytes[*direction] - bytes);
                        start_ns.saturating_add(paced_ns(job.rate[*direction], count, sum)).max(earliest)
                    }
                    Step::Flush | Step::Drain => earliest,
                };
                Ok(step.map(|step| (due(&step), step)))
            }
            Origin::Replayed(replay) => {
                let Some((request, recorded)) = replay.next()? else { return Ok(None) };
                let scale = job.iolog.as_ref().and_then(|iolog| iolog.time_scale);
                if request.op != Op::Flush && placement.place(&request).is_none() {
                    return Err(changed(job));
                }
                // fio scales the times of version 3 alone. A request that is late delays those after it.
                let due = match (scale, recorded) {
                    (None, _) => earliest,
                    (_, Recorded::At(at)) => earliest.max(genesis_ns.saturating_add(at)),
                    (Some(scale), Recorded::After(gap)) => {
                        earliest.max(self.last_issue_ns.saturating_add(scaled_ns(gap, scale)))
                    }
                };
                let (at, bytes) = (request.lba * SECTOR_BYTES, u64::from(request.sectors) * SECTOR_BYTES);
                let step = match request.op {
                    Op::Flush => Step::Flush,
                    op => Step::Io { direction: op as usize, at, bytes },
                };
                Ok(Some((due, step)))
            }
        }
    }
}

/// The time of a recorded request in a replay at `scale` per cent of the recorded speed.
pub(super) fn scaled_ns(recorded_ns: Ns, scale: u64) -> Ns {
    bounded(u128::from(recorded_ns) * 100 / u128::from(scale))
}

/// A time beyond all that can be told apart is the last one, which is later than any request may arrive.
fn bounded(ns: u128) -> Ns {
    Ns::try_from(ns).unwrap_or(Ns::MAX)
}

/// A request lies beyond the drive; when the iolog was checked, none did.
#[cold]
fn changed(job: &FioJob) -> Problem {
    let path = job.iolog.as_ref().map_or("", |iolog| &*iolog.paths[0]);
    let found = format!("an iolog of the job `{}` has changed: a request lies beyond the drive", job.name);
    Problem::file(path, found, "the iologs as they were when the run began")
}

/// A job that has something left to do goes on beyond the end of simulated time.
#[cold]
fn too_late(file: &str, job: &str) -> Problem {
    let found = format!("a request of the job `{job}` is due more than 146 years after the first");
    Problem::file(file, found, "delays, rates and think times by which the job ends before")
        .with_help("`runtime` ends a job by time")
}

/// Earliest time, from the start of a job, at which a rate allows the next request after `count` requests of `bytes`
/// bytes together.
fn paced_ns(rate: Option<Rate>, count: u64, bytes: u64) -> Ns {
    let (done, per_second) = match rate {
        None => return 0,
        Some(Rate::Bytes(per_second)) => (bytes, per_second),
        Some(Rate::Requests(per_second)) => (count, per_second),
    };
    bounded((u128::from(done) * u128::from(S)).div_ceil(u128::from(per_second)))
}

/// Returns the drawn direction, or the other one of a mix if that is due earlier by its rate.
fn paced_direction(job: &FioJob, requests: &Requests, drawn: usize, start_ns: Ns, now: Ns) -> usize {
    let due = |direction: usize| {
        let paced = paced_ns(job.rate[direction], requests.issued[direction], requests.issued_bytes[direction]);
        start_ns.saturating_add(paced).max(now)
    };
    let other = if drawn == READ { WRITE } else { READ };
    if job.mix == Mix::ReadWrite && due(other) < due(drawn) { other } else { drawn }
}

impl Arrivals for FioJobs {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        if !self.started {
            (self.started, self.genesis_ns) = (true, now);
            self.start_group(now);
        }
        self.prepare_touched(now)?;
        Ok(self.due.peek().map(|Reverse((at, _, _))| *at))
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        let Reverse((_, _, index)) = self.due.pop().expect("taken when it is due");
        let clone = &mut self.clones[index as usize];
        let job = &self.jobs[clone.job as usize];
        let step = clone.ready.take().expect("a clone that is due has a request");
        clone.outstanding += 1;
        clone.last_issue_ns = now;
        let task = index + 1;
        let mut request = Request::flush().arriving_at(now).of_task(task).with_priority(job.priority);
        let mut on_its_way =
            OnItsWay { clone: index, issued_ns: now, bytes: 0, direction: None, priority: job.priority };
        match step {
            Step::Flush => {
                clone.is_flushing = true;
                if clone.is_over {
                    clone.flush_left = false;
                    self.issuing -= 1;
                }
            }
            Step::Drain => unreachable!("a pass that ends has no request"),
            Step::Io { direction, at, bytes } => {
                request.op = Op::ALL[direction];
                (request.lba, request.sectors) = (at / SECTOR_BYTES, (bytes / SECTOR_BYTES) as u32);
                request.lba = self.placement.place(&request).expect("the layout fits on the drive");
                // Direct writes are waited for.
                request.flags |= if direction == WRITE { Request::SYNC } else { 0 };
                request.flags |= if direction == WRITE && job.durable { Request::FUA } else { 0 };
                if let Some(priority) = job.commands.draw(direction, bytes, &mut clone.prng) {
                    request = request.with_priority(priority);
                    on_its_way.priority = priority;
                }
                on_its_way.bytes = bytes;
                on_its_way.direction = Some(direction as u8);
                self.reports[clone.report as usize].issued(clone.outstanding);
                clone.since_thought += 1;
                if job.think_ns > 0 && clone.since_thought >= job.think_blocks {
                    clone.since_thought = 0;
                    clone.is_thinking = true;
                }
            }
        }
        self.touched.push(index);
        self.issued += 1;
        (request, self.on_their_way.put(on_its_way))
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        debug_assert_ne!(cookie, NO_INDEX, "every request of a job has a cookie");
        let OnItsWay { clone: index, issued_ns, bytes, direction, priority } = self.on_their_way.take(cookie);
        self.touched.push(index);
        let clone = &mut self.clones[index as usize];
        clone.outstanding -= 1;
        let report = &mut self.reports[clone.report as usize];
        match direction {
            Some(direction) => report.completed(now, (usize::from(direction), priority), bytes, now - issued_ns),
            None => {
                clone.is_flushing = false;
                report.flushed(now, now - issued_ns);
            }
        }
        clone.is_draining &= clone.outstanding > 0;
        if clone.is_thinking && clone.outstanding == 0 {
            clone.is_thinking = false;
            clone.think_until_ns = now.saturating_add(self.jobs[clone.job as usize].think_ns);
        }
    }

    fn is_over(&self) -> bool {
        self.issuing == 0
    }
}
