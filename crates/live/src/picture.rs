//! What a page shows of a drive beside its counters: an observer of its events, for a drive that is shown.
//!
//! It follows requests and dies by the model's own anatomy, from outside of the engine, which does not know of it.
//! Memory is bounded: figures are kept since the last look alone, and the last [`JOBS`] jobs.

use std::collections::VecDeque;

use flashloom_device::{Anatomy, Cause, Event, Parts, Served};
use flashloom_nand::{BlockId, ByOrigin, Event as FlashEvent, Geometry, Origin};
use flashloom_units::{Latency, Ns};
use flashloom_workload::Op;

/// Jobs that are kept, the latest.
pub(crate) const JOBS: usize = 32;

/// A job of the FTL: a collection, a merge, or a move by wear levelling or out of an SLC cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// Its number, by which a page knows it again.
    pub(crate) number: u64,
    pub(crate) origin: Origin,
    /// The block that it frees.
    pub(crate) block: BlockId,
    pub(crate) began_ns: Ns,
    /// When its last operation was emitted; `None` while it goes on.
    pub(crate) ended_ns: Option<Ns>,
}

/// Requests that have ended and jobs that have begun since the last look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    pub(crate) reads: Latency,
    pub(crate) writes: Latency,
    /// The slowest read, and the slowest of the other requests; of equally slow ones the first.
    pub(crate) slowest: [Option<Served>; 2],
    pub(crate) jobs: ByOrigin,
}

/// What was copied at a look.
pub(crate) struct Shown {
    pub(crate) window: Window,
    /// What each die executes, and for how long it has executed what since the drive is served.
    pub(crate) dies: Vec<(Option<Cause>, Parts)>,
    /// The latest jobs, in order of their begin.
    pub(crate) jobs: Vec<Job>,
}

/// The observer.
pub(crate) struct Picture {
    anatomy: Anatomy,
    window: Window,
    jobs: VecDeque<Job>,
    began: u64,
}

impl Picture {
    /// The picture of a drive at rest, whose host sends so many commands at a time.
    pub(crate) fn new(geometry: &Geometry, queue_depth: u32) -> Self {
        let anatomy = Anatomy::new(geometry, queue_depth);
        Self { anatomy, window: Window::default(), jobs: VecDeque::new(), began: 0 }
    }

    /// Follows an event.
    pub(crate) fn see(&mut self, now: Ns, event: &Event) {
        if let Some(served) = self.anatomy.see(now, event) {
            self.window.add(&served);
        }
        match *event {
            Event::Flash(FlashEvent::JobBegan { origin, block }) => self.begin(now, origin, block),
            Event::Flash(FlashEvent::JobEnded { origin, block }) => {
                let is_it = |job: &&mut Job| (job.origin, job.block, job.ended_ns) == (origin, block, None);
                if let Some(job) = self.jobs.iter_mut().rev().find(is_it) {
                    job.ended_ns = Some(now);
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, now: Ns, origin: Origin, block: BlockId) {
        self.window.jobs[origin as usize] += 1;
        if self.jobs.len() == JOBS {
            self.jobs.pop_front();
        }
        self.jobs.push_back(Job { number: self.began, origin, block, began_ns: now, ended_ns: None });
        self.began += 1;
    }

    /// What there is to show at `now`, which is not before the last event, and begins the next window.
    pub(crate) fn show(&mut self, now: Ns) -> Shown {
        let window = std::mem::take(&mut self.window);
        Shown { window, dies: self.anatomy.dies(now).collect(), jobs: self.jobs.iter().copied().collect() }
    }
}

impl Window {
    fn add(&mut self, served: &Served) {
        let latency_ns = served.latency_ns();
        match served.request.op {
            _ if !served.status.is_done() => {}
            Op::Read => self.reads.record(latency_ns),
            Op::Write => self.writes.record(latency_ns),
            Op::Discard | Op::Flush => {}
        }
        let slowest = &mut self.slowest[usize::from(served.request.op != Op::Read)];
        if slowest.is_none_or(|slowest| slowest.latency_ns() < latency_ns) {
            *slowest = Some(*served);
        }
    }
}
