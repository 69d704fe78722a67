//! The load of a run: its workload, or each of several, with their input read.

use flashloom_units::{Problems, Violation};
use flashloom_workload::workload::{Running, Workload};
use flashloom_workload::{Placed, Remark, Throttled, TraceInfo};

use flashloom_config::Config;

use crate::failure::Failure;

/// The workloads of a run, in the order of the configuration; at least one.
pub struct Load<'a> {
    workloads: Vec<Box<dyn Workload + 'a>>,
    /// Whether they are put into the parts of the drive and of the time that their configurations name, and held to
    /// their limits.
    has_parts: bool,
}

impl<'a> Load<'a> {
    /// The load of these workloads.
    ///
    /// # Panics
    /// There is none.
    pub fn new(workloads: Vec<Box<dyn Workload + 'a>>) -> Self {
        assert!(!workloads.is_empty(), "a run has a workload");
        Self { workloads, has_parts: true }
    }

    /// The load of requests that are of the drive as they are.
    pub fn of_drive(workload: Box<dyn Workload + 'a>) -> Self {
        Self { workloads: vec![workload], has_parts: false }
    }

    /// Each workload.
    pub fn each(&self) -> impl Iterator<Item = &(dyn Workload + 'a)> {
        self.workloads.iter().map(AsRef::as_ref)
    }

    /// The workload, if there is one alone.
    pub fn only(&self) -> Option<&(dyn Workload + 'a)> {
        if let [one] = &self.workloads[..] { Some(&**one) } else { None }
    }

    /// Summary of the recording that it replays, if it is one alone.
    pub fn scanned(&self) -> Option<&TraceInfo> {
        self.only()?.scanned()
    }

    /// Number of requests; approximate for workloads that count them as they issue them.
    pub fn expected_requests(&self) -> u64 {
        self.each().map(|workload| workload.expected_requests()).sum()
    }

    /// True if requests may have I/O priorities.
    pub fn has_priorities(&self) -> bool {
        self.each().any(|workload| workload.has_priorities())
    }

    /// True if it is known which writes tasks wait for.
    pub fn tells_sync_writes(&self) -> bool {
        self.each().all(|workload| workload.tells_sync_writes())
    }

    /// What the user should know of the requests that the configuration asks for.
    pub fn remarks(&self) -> Vec<Remark> {
        self.each().flat_map(|workload| workload.remarks()).collect()
    }

    /// Memory that one run takes beside its requests, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.each().map(|workload| workload.memory_bytes()).fold(0, u64::saturating_add)
    }

    /// True if its runs end with a report as fio has it.
    pub fn reports_fio(&self) -> bool {
        self.only().is_some_and(|workload| workload.reports_fio())
    }

    /// Starts one run of each workload, in its part of drive and time and within its limits.
    ///
    /// # Errors
    /// A problem with input that has changed since it was read.
    pub fn start(&self, config: &Config) -> Result<Vec<Box<dyn Running + '_>>, Failure> {
        let failed = |Problems(problems): Problems| match problems.into_iter().next() {
            Some(problem) => Failure::Input(problem),
            None => Failure::Check(Violation::new("the workload cannot be started, and nothing says why")),
        };
        let mut started: Vec<Box<dyn Running + '_>> = Vec::with_capacity(self.workloads.len());
        for (config, workload) in config.each().zip(self.each()) {
            let running = workload.start().map_err(failed)?;
            let running: Box<dyn Running> = match config.limits().filter(|_| self.has_parts) {
                Some(limits) => Box::new(Throttled::new(running, limits)),
                None => running,
            };
            started.push(match config.part().filter(|_| self.has_parts) {
                Some(part) => Box::new(Placed::new(running, part)),
                None => running,
            });
        }
        Ok(started)
    }
}
