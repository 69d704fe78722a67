//! fio jobs: the requests of a fio job file, against the simulated device.
//!
//! [`FioJobFile`] is a checked job file, [`FioJobs`] its requests as they arrive, in a closed loop: each clone of a job
//! keeps up to `iodepth` of them outstanding. Source: the manual of fio 3.33, and the source of that version where the
//! manual leaves the order of requests open.
//!
//! [`job_file`] parses the text, with [`options`] as the table of all fio options and [`foreign`] as that of names of
//! other versions; [`job`] gives the options their meaning; [`layout`] places files on the drive; [`requests`] makes
//! the requests of one clone, or [`iolog`] reads them, and [`jobs`] decides when they arrive.

mod foreign;
mod iolog;
mod job;
mod job_file;
mod jobs;
mod law;
mod layout;
mod options;
mod priority;
mod random_map;
mod report;
mod requests;
mod value;

use std::sync::{Arc, OnceLock};

use flashloom_files::{TEXT_LIMIT_BYTES, read_input};
use flashloom_units::{PolicySpec, Prng, Problem, Problems, SECTOR_BYTES, format_size};

use crate::address::Placement;
use crate::trace::devices::listed;
use crate::{Addresses, Op, Remark, TraceOptions, open_trace};
use iolog::Recordings;
use job::{Amount, FioJob};
use job_file::{Entry, Findings, Text};
use layout::{Devices, Layout};
use options::Use;

pub use jobs::FioJobs;
pub use report::{FioDirection, FioPercentiles, FioReport, FioSamples, Samples};

/// Devices in a remark at most.
const MOST_LISTED: usize = 8;

/// Number of directions: reads, writes and discards, which fio numbers as [`Op`] does.
const DIRECTIONS: usize = 3;
const READ: usize = Op::Read as usize;
const WRITE: usize = Op::Write as usize;
const TRIM: usize = Op::Discard as usize;

/// Entry of the table of workloads.
pub(crate) static SPEC: PolicySpec = PolicySpec {
    name: "fio",
    summary: "the jobs of a fio job file, as fio 3.33 would issue them",
    details: "A closed loop: each job keeps `iodepth` requests outstanding. Without a page cache in between, every job \
              is a direct one. A file named /dev/... is the device; every other file gets an extent of its own, in \
              order. `run --fio-json` writes the results as fio does.",
    source: "fio 3.33, fio(1)",
    example: "workload.kind=fio workload.path=experiments/fio-randrw.fio",
    instead: "No file system and no page cache lie in between: for the requests below them, use `filebench` or a \
              recording (`trace`).",
    ..PolicySpec::BLANK
};

/// The drive that jobs run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FioDrive {
    /// Its capacity, in bytes.
    pub capacity_bytes: u64,
    /// True if simulated time passes; if it does not, a job that ends by time is refused.
    pub is_timed: bool,
    /// Treatment of requests beyond its end.
    pub addresses: Addresses,
}

impl FioDrive {
    /// A timed drive of `capacity_bytes`, which refuses requests beyond its end.
    pub fn of_bytes(capacity_bytes: u64) -> Self {
        Self { capacity_bytes, is_timed: true, addresses: Addresses::Error }
    }
}

/// The range of the drive that a device of the jobs has for its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioRange {
    /// Name of the device.
    pub name: String,
    /// First byte on the drive.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// A job file that has been read and checked.
#[derive(Clone, Debug)]
pub struct FioJobFile {
    text: Text,
    jobs: Vec<FioJob>,
    devices: Devices,
    /// The recordings that the jobs replay, once they have been read.
    recordings: Arc<OnceLock<Recordings>>,
}

impl FioJobFile {
    /// Reads a job file; relative paths in it start from its own folder.
    ///
    /// # Errors
    /// Every problem of the file.
    pub fn read(path: &str) -> Result<Self, Problems> {
        const EXPECTED: &str = "a fio job file";
        let bytes = read_input(std::path::Path::new(path), TEXT_LIMIT_BYTES)
            .map_err(|reason| Problem::file(path, reason.to_string(), EXPECTED))?;
        let mut file =
            Self::parse(path, &bytes).map_err(|problems| match open_trace(path, &TraceOptions::default()) {
                Ok(trace) => {
                    let found = format!("this is a recording of the format `{}`", trace.format().name());
                    Problem::file(path, found, EXPECTED).with_help(as_recording(path, "")).into()
                }
                Err(_) => problems,
            })?;
        let folder = std::path::Path::new(path).parent().unwrap_or(std::path::Path::new(""));
        for path in file.jobs.iter_mut().filter_map(|job| job.iolog.as_mut()).flat_map(|iolog| &mut iolog.paths) {
            *path = folder.join(&*path).to_string_lossy().into_owned();
        }
        Ok(file)
    }

    /// Reads a job file from memory; `name` stands for it in errors.
    ///
    /// # Errors
    /// Every problem of the file.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, Problems> {
        let text = job_file::text_of(name, bytes)?;
        let mut findings = Findings::of(&text);
        let sections = job_file::sections(&text, &mut findings);
        let jobs = FioJob::read_all(sections, &mut findings);
        let jobs = findings.unless_any(jobs)?;
        Ok(Self { text, jobs, devices: Devices::Unasked, recordings: Arc::default() })
    }

    /// The same file for jobs of several devices: those of one, by its name, or with "all" each device in a range of
    /// its own.
    ///
    /// # Errors
    /// A name that no job has, or a job that spreads its requests over that device and others.
    pub fn on_device(&self, device: &str) -> Result<Self, Problems> {
        if device == crate::ALL_DEVICES {
            return Ok(Self { devices: Devices::Each, ..self.clone() });
        }
        let mut findings = Findings::of(&self.text);
        let run = layout::of_device(&self.jobs, self.recordings(), device, &mut findings);
        let run = findings.unless_any(run)?;
        let jobs = self.jobs.iter().zip(run).filter(|(_, runs)| *runs).map(|(job, _)| job.clone()).collect();
        let devices = Devices::Only(device.to_owned());
        Ok(Self { text: self.text.clone(), jobs, devices, recordings: Arc::default() })
    }

    fn recordings(&self) -> &Recordings {
        self.recordings.get_or_init(|| Recordings::read(&self.jobs))
    }

    /// Checks the jobs against a drive, and reads the iologs that they replay to their ends.
    ///
    /// # Errors
    /// Everything that does not fit.
    pub fn check(&self, drive: &FioDrive) -> Result<(), Problems> {
        let mut findings = Findings::of(&self.text);
        let placed = self.layout(drive, &mut findings);
        requests::check_maps(&self.jobs, &placed.regions, &mut findings);
        report::check_options(&self.jobs, &mut findings);
        report::check_percentiles(&self.jobs, &mut findings);
        self.recordings().check(&self.jobs, &self.devices, drive, &mut findings);
        for job in self.jobs.iter().filter(|job| job.iolog.is_none() && !drive.is_timed && job.time_based) {
            let expected = "`run.timing` = \"timed\", or a job that ends with its size";
            job.refuse(&mut findings, &["time_based"], "a job by time, in a run that takes none", expected);
        }
        findings.unless_any(())
    }

    fn layout(&self, drive: &FioDrive, findings: &mut Findings) -> Layout {
        layout::layout(&self.jobs, (self.recordings(), &self.devices), drive, findings)
    }

    /// Starts the jobs on a drive that [`Self::check`] found large enough.
    ///
    /// # Errors
    /// A problem with the drive or an iolog that [`Self::check`] did not meet, such as a file that has changed since.
    pub fn start(&self, drive: &FioDrive, seed: &Prng) -> Result<FioJobs, Problems> {
        let mut findings = Findings::of(&self.text);
        let placed = self.layout(drive, &mut findings);
        let placed = findings.unless_any(placed)?;
        let placement = Placement {
            capacity: drive.capacity_bytes / SECTOR_BYTES,
            span: placed.span.div_ceil(SECTOR_BYTES),
            addresses: drive.addresses,
        };
        Ok(FioJobs::new(self, &placed, placement, seed)?)
    }

    /// What a user of these jobs should know.
    pub fn remarks(&self, drive: &FioDrive) -> Vec<Remark> {
        let mut findings = Findings::of(&self.text);
        let placed = self.layout(drive, &mut findings);
        let (span, capacity) = (placed.span, drive.capacity_bytes);
        let wrapped = (span > capacity && drive.addresses == Addresses::Wrap).then(|| {
            let text = format!(
                "The jobs reach to {} and the drive holds {}, so that parts of their files lie over one another: a \
                 larger drive or \"scale\" avoids that.",
                format_size(span),
                format_size(capacity)
            );
            Remark { about: "wrapped", key: "workload.addresses", text }
        });
        let ranges = (!placed.ranges.is_empty()).then(|| {
            let range = |range: &FioRange| {
                format!("`{}` {} from {}", range.name, format_size(range.bytes), format_size(range.start))
            };
            let listed = listed(placed.ranges.iter().map(range), MOST_LISTED);
            let text = format!("The devices of the jobs lie one after another on the drive: {listed}.");
            Remark { about: "devices", key: "workload.device", text }
        });
        wrapped.into_iter().chain(ranges).chain(self.same_order()).chain(self.unheeded()).collect()
    }

    /// The remark on jobs whose passes write in the same random order.
    fn same_order(&self) -> Option<Remark> {
        let job = self.jobs.iter().find(|job| job.repeats_its_order())?;
        let text = format!(
            "The job `{}` writes its blocks in the same random order in each of its passes (`loops`, `io_size`, \
             `randrepeat`), so that each overwrites in the order of the one before: write amplification is that of \
             sequential writes. `randrepeat=0` draws another order for each.",
            job.name
        );
        Some(Remark { about: "same-order", key: "workload.path", text })
    }

    /// The remark on options that have no effect here.
    fn unheeded(&self) -> Option<Remark> {
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        let sections = self.jobs.iter().map(|job| &job.section);
        for entry in sections.flat_map(|section| section.globals().iter().chain(&section.entries)) {
            let Use::Unheeded(instead) = entry.spec.usage else { continue };
            if entry.value == "0" {
                continue;
            }
            let name = format!("`{}`", entry.spec.name);
            match reasons.iter_mut().find(|(known, _)| *known == instead) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name),
                None => reasons.push((instead, vec![name])),
            }
        }
        let one = |(instead, names): &(&str, Vec<String>)| format!("{}: {instead}", names.join(", "));
        let listed = reasons.iter().map(one).collect::<Vec<_>>().join("; ");
        let text = format!("Options of the jobs without effect here: {listed}.");
        (!reasons.is_empty()).then_some(Remark { about: "without-effect", key: "workload.path", text })
    }

    /// True if requests of the jobs have priorities.
    pub fn has_priorities(&self) -> bool {
        self.jobs.iter().any(FioJob::has_priorities)
    }

    /// The `[global]` options that apply to the first job, as written.
    fn global_options(&self) -> Vec<(String, String)> {
        self.jobs.iter().take(1).flat_map(|job| job.section.globals()).map(Entry::written).collect()
    }

    /// The iolog that the only job replays; `None` if there are more jobs, or it replays none.
    pub fn only_iolog(&self) -> Option<&str> {
        match &self.jobs[..] {
            [FioJob { iolog: Some(iolog), clones: 1, .. }] => Some(&iolog.paths[0]),
            _ => None,
        }
    }

    /// Memory of the reports at the end of a run, in bytes: an estimate from above.
    pub fn memory_bytes(&self) -> u64 {
        report::memory_bytes(&self.jobs)
    }

    /// True if the requests of any job depend on the run's seed.
    pub fn draws(&self) -> bool {
        self.jobs.iter().any(FioJob::draws)
    }

    /// Approximate number of requests, to show progress; a job that ends by time counts as one pass.
    pub fn expected_requests(&self) -> u64 {
        let of = |job: &FioJob| {
            let mean = job.sizes[READ].min().midpoint(job.sizes[READ].max());
            let whole = if let Some(Amount::Bytes(bytes)) = job.io_size.or(job.size) { bytes } else { 0 };
            (whole / mean).saturating_mul(job.loops).min(job.most_requests()).saturating_mul(u64::from(job.clones))
        };
        self.jobs.iter().map(of).fold(0, u64::saturating_add)
    }
}

/// Advice to replay an iolog as a recording; `better` is the advantage.
pub(crate) fn as_recording(path: &str, better: &str) -> String {
    format!("`workload.kind` = \"trace\" with `workload.path` = \"{path}\" replays it as a recording{better}")
}
