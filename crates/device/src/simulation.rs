//! The event loop of one run: workload, block layer, drive.
//!
//! Every moment of simulated time goes in the same order: what ends in the drive, what arrives, then the scheduler is
//! asked until the drive is full or it has nothing to give. Requests that arrive at one moment are queued together
//! before the scheduler is asked, as a plugged list is.

use std::collections::VecDeque;

use flashloom_host::{Admission, BlockLayer, Class, Completed, Decision};
use flashloom_nand::DeviceParams;
use flashloom_units::{Ns, Problem, SECTOR_BYTES};
use flashloom_workload::{Arrivals, Op, Request};

use crate::drive::Drive;
use crate::outcome::{EndOfLife, Figures, HostReport, Outcome, Sample};
use crate::precondition::{Ageing, Preconditioned, precondition};

/// Requests of a class that may wait for room in the block layer before the workload itself is held up.
const BACKLOG: usize = 65_536;

/// One run of a workload through host and drive.
pub struct Simulation {
    host: BlockLayer,
    drive: Drive,
    now: Ns,
    timed: bool,
    /// Requests that found their class full (`nr_requests`), by class, in order of arrival.
    backlog: [VecDeque<(Request, u32)>; 2],
    /// When the scheduler wants to be asked again; [`Ns::MAX`] for not before something happens.
    scheduler_wakes_ns: Ns,
    idle_delay_ns: Ns,
    idle: Idle,
    report: HostReport,
    /// Pages that preconditioning wrote.
    aged_pages: u64,
    drain: Drain,
}

/// Whether the run ends when the last request has completed, or when the buffer is empty.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drain {
    /// What the buffer holds stays there.
    No,
    /// It will be written once the last request has completed.
    AtTheEnd,
    /// That many pages are being, or have been, written.
    Begun(u64),
}

/// What the drive does about background work.
#[derive(Clone, Copy, PartialEq, Eq)]
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

impl Simulation {
    /// A run of a new drive under an empty block layer. It takes time only after [`Self::start_timing`].
    pub fn new(host: BlockLayer, drive: Drive, idle_delay_ns: Ns) -> Self {
        Self {
            host,
            drive,
            now: 0,
            timed: false,
            backlog: [VecDeque::new(), VecDeque::new()],
            scheduler_wakes_ns: Ns::MAX,
            idle_delay_ns,
            idle: Idle::No,
            report: HostReport::default(),
            aged_pages: 0,
            drain: Drain::No,
        }
    }

    /// The run is to end when everything that was written is in flash, not when the last request has completed.
    #[must_use]
    pub fn with_drain(mut self) -> Self {
        self.drain = Drain::AtTheEnd;
        self
    }

    /// Fills and ages the drive in counting mode; its counters start again at zero. `progress` is told pages written.
    pub fn precondition(&mut self, ageing: &Ageing, progress: &mut dyn FnMut(u64)) -> Preconditioned {
        let aged = precondition(&mut self.drive, ageing, progress);
        self.aged_pages += aged.pages;
        aged
    }

    /// From now on the drive takes time.
    pub fn start_timing(&mut self, params: &DeviceParams) {
        self.drive.start_timing(params);
        self.timed = true;
    }

    /// Runs a workload to its end, or to that of the drive's life. `observe` gets a sample after every `interval_ns` of
    /// simulated time.
    ///
    /// # Errors
    /// What the workload finds wrong with its input; one that was checked before does not fail.
    pub fn run(
        &mut self,
        arrivals: &mut dyn Arrivals,
        interval_ns: Ns,
        observe: &mut dyn FnMut(&Sample),
    ) -> Result<(), Problem> {
        self.run_watched(arrivals, interval_ns, observe, &mut |_| {})
    }

    /// As [`Self::run`]; `issued` gets every request that the scheduler sends to the drive, merged, with the time of that.
    ///
    /// # Errors
    /// As of [`Self::run`].
    pub fn run_watched(
        &mut self,
        arrivals: &mut dyn Arrivals,
        interval_ns: Ns,
        observe: &mut dyn FnMut(&Sample),
        issued: &mut dyn FnMut(&Request),
    ) -> Result<(), Problem> {
        let mut sample_ns = interval_ns;
        let mut arrival_ns = self.next_arrival_ns(arrivals)?;
        while !self.drive.is_worn_out() {
            let drive_ns = self.drive.next_event_ns().unwrap_or(Ns::MAX);
            let idle_ns = if let Idle::From(at) = self.idle { at } else { Ns::MAX };
            let next_ns = drive_ns.min(arrival_ns).min(self.scheduler_wakes_ns).min(idle_ns);
            if next_ns == Ns::MAX {
                break;
            }
            while sample_ns <= next_ns {
                observe(&self.sample(sample_ns));
                sample_ns = sample_ns.saturating_add(interval_ns);
            }
            self.now = next_ns;
            let host_acts = if drive_ns == next_ns {
                self.drive.step(next_ns);
                self.drive.has_completed()
            } else if arrival_ns == next_ns {
                self.admit_arrivals(arrivals)?;
                true
            } else if self.scheduler_wakes_ns == next_ns {
                true
            } else {
                self.collect_in_background();
                false
            };
            // Most events are the array's own, and change nothing for the host.
            if host_acts {
                self.settle(arrivals, issued);
                arrival_ns = self.next_arrival_ns(arrivals)?;
            }
            if self.drive.is_idle() {
                self.note_idleness();
                if arrivals.is_over() && self.report.total_completed() == self.report.generated && self.has_drained() {
                    break;
                }
            }
        }
        observe(&self.sample(self.now));
        Ok(())
    }

    /// All requests have completed: whether nothing has to be written any more. If it has, it is now, and its time is part
    /// of the run's.
    fn has_drained(&mut self) -> bool {
        if self.drain == Drain::AtTheEnd {
            self.idle = Idle::No;
            self.drain = Drain::Begun(self.drive.drain_buffer(self.now));
        }
        let is_over = self.drive.is_idle();
        if is_over && matches!(self.drain, Drain::Begun(_)) {
            self.report.duration_ns = self.now;
        }
        is_over
    }

    /// [`Ns::MAX`] at the end, and while the backlog is full: then the workload itself has to wait.
    fn next_arrival_ns(&self, arrivals: &mut dyn Arrivals) -> Result<Ns, Problem> {
        if self.backlog[0].len() == BACKLOG || self.backlog[1].len() == BACKLOG {
            return Ok(Ns::MAX);
        }
        Ok(arrivals.next_ns(self.now)?.map_or(Ns::MAX, |at| at.max(self.now)))
    }

    fn admit_arrivals(&mut self, arrivals: &mut dyn Arrivals) -> Result<(), Problem> {
        while self.next_arrival_ns(arrivals)? == self.now {
            let (request, cookie) = arrivals.take(self.now);
            self.report.generated += 1;
            let waiting = &mut self.backlog[Class::of(&request).at()];
            let behind = request.op != Op::Flush && !waiting.is_empty();
            if behind || self.host.submit(self.now, &request, cookie) == Admission::Full {
                waiting.push_back((request, cookie));
            }
        }
        Ok(())
    }

    /// Hands completions to the host and requests to the drive until neither has anything for the other.
    fn settle(&mut self, arrivals: &mut dyn Arrivals, issued: &mut dyn FnMut(&Request)) {
        loop {
            while let Some(id) = self.drive.take_completed() {
                let (now, report) = (self.now, &mut self.report);
                self.host.complete(now, id, |completed| {
                    report.add(now, completed);
                    arrivals.completed(now, completed.cookie);
                });
            }
            self.admit_backlog();
            if self.drive.is_worn_out() {
                break;
            }
            match self.host.dispatch(self.now) {
                Decision::Dispatch(request) => {
                    self.idle = Idle::No;
                    self.scheduler_wakes_ns = Ns::MAX;
                    issued(&request.issued(self.now));
                    self.drive.accept(self.now, &request);
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
    }

    fn admit_backlog(&mut self) {
        for waiting in &mut self.backlog {
            while let Some((request, cookie)) = waiting.front() {
                if self.host.submit(self.now, request, *cookie) == Admission::Full {
                    break;
                }
                waiting.pop_front();
            }
        }
    }

    /// The drive is idle: it waits for the idle delay, or goes on at once after a background step.
    fn note_idleness(&mut self) {
        self.idle = match self.idle {
            _ if !self.timed => Idle::No,
            Idle::Collecting => Idle::From(self.now),
            Idle::No => Idle::From(self.now + self.idle_delay_ns),
            waiting @ (Idle::From(_) | Idle::Done) => waiting,
        };
    }

    fn collect_in_background(&mut self) {
        self.idle = if self.drive.idle_step(self.now) { Idle::Collecting } else { Idle::Done };
    }

    fn sample(&self, time_ns: Ns) -> Sample {
        let counts = self.drive.nand().counts();
        Sample {
            time_ns,
            completed: self.report.total_completed(),
            read_bytes: self.report.read_bytes,
            write_bytes: self.report.write_bytes,
            latency_sum_ns: self.report.latency_sum_ns(),
            outstanding: self.report.generated - self.report.total_completed(),
            dirty_pages: self.drive.dirty_pages(),
            programs: counts.programs.iter().sum(),
            erases: counts.erases.iter().sum(),
            free_blocks: self.drive.ftl().free_blocks(),
        }
    }

    /// What was measured, after [`Self::run`].
    pub fn outcome(&self) -> Outcome {
        let buffer = self.drive.buffer_report(self.now);
        let padding = buffer.map_or(0, |buffer| buffer.padding_pages);
        Outcome {
            host: self.report.clone(),
            scheduler: self.host.stats().clone(),
            figures: Figures {
                scheduler: self.host.figures(),
                buffer: self.drive.buffer_figures(),
                ftl: self.drive.ftl().figures(),
            },
            buffer,
            stall_ns: buffer.map_or(0, |buffer| buffer.stall_ns),
            drained_pages: if let Drain::Begun(pages) = self.drain { Some(pages) } else { None },
            ftl: self.drive.ftl().report(),
            counts: *self.drive.nand().counts(),
            utilization: self.drive.nand().utilization(),
            erase_counts: self.drive.nand().erase_counts().to_vec(),
            sectors_checked: self.drive.nand().sectors_checked(),
            end_of_life: self.drive.is_worn_out().then(|| EndOfLife {
                time_ns: self.now,
                host_page_writes: self.aged_pages + self.drive.ftl().report().host_page_writes - padding,
                unserved_requests: self.report.generated - self.report.total_completed(),
                unwritten_pages: self.drive.unwritten_pages(),
            }),
        }
    }

    /// Checks that everything adds up at the end of a run: requests, merges, operations by origin, valid pages.
    ///
    /// # Errors
    /// The first account that does not, with its numbers.
    pub fn check(&self) -> Result<(), String> {
        let (generated, completed) = (self.report.generated, self.report.total_completed());
        if generated != completed && !self.drive.is_worn_out() {
            return Err(format!("host: {generated} requests generated, but {completed} completed"));
        }
        self.host.check()?;
        self.drive.check()?;
        let counts = self.drive.nand().counts();
        let report = self.drive.ftl().report();
        let passed = |all: &[u64], failed: &[u64]| all.iter().sum::<u64>() - failed.iter().sum::<u64>();
        let host = passed(&counts.programs[..1], &counts.failed_programs[..1]);
        let others = passed(&counts.programs[1..], &counts.failed_programs[1..]);
        let erases = passed(&counts.erases, &counts.failed_erases);
        let accounted = (report.host_page_writes, report.other_programs(), report.block_erases);
        if (host, others, erases) != accounted {
            return Err(format!(
                "NAND: {host} host programs, {others} others and {erases} erases that passed, but the FTL counts {}, \
                 {} and {}",
                accounted.0, accounted.1, accounted.2
            ));
        }
        Ok(())
    }
}

impl HostReport {
    fn add(&mut self, now: Ns, request: &Completed) {
        let latency_ns = now - request.arrival_ns;
        let bytes = u64::from(request.sectors) * SECTOR_BYTES;
        self.completed[request.op as usize] += 1;
        match request.op {
            Op::Read => {
                self.read_bytes += bytes;
                self.read_latency.record(latency_ns);
            }
            Op::Write => {
                self.write_bytes += bytes;
                self.write_latency.record(latency_ns);
            }
            Op::Discard | Op::Flush => self.other_latency.record(latency_ns),
        }
        self.device_latency.record(now - request.dispatched_ns);
        self.duration_ns = now;
    }
}
