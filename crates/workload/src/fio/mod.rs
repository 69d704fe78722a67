//! fio jobs: the requests of a fio job file, against the simulated device.
//!
//! [`FioJobFile`] is a checked job file, [`FioJobs`] its requests as they arrive, in a closed loop: each clone of a job
//! keeps up to `iodepth` of them outstanding. Source: the manual of fio 3.33, and the source of that version where the
//! manual leaves the order of requests open.
//!
//! [`job_file`] parses the text, with [`options`] as the table of all fio options; [`job`] gives the options their
//! meaning; [`layout`] places files on the device; [`requests`] makes the requests of one clone, or [`iolog`] reads
//! them, and [`jobs`] decides when they arrive.

mod iolog;
mod job;
mod job_file;
mod jobs;
mod law;
mod layout;
mod options;
mod random_map;
mod report;
mod requests;
mod value;

use flashloom_files::{TEXT_LIMIT_BYTES, read_input};
use flashloom_units::{PolicySpec, Prng, Problem, Problems, Refusal};

use job::{Amount, FioJob};
use job_file::{Findings, Section, Text};

pub use jobs::FioJobs;
pub use report::{FioDirection, FioReport, FioSamples};

/// Number of directions: reads, writes and discards, as fio numbers them.
const DIRECTIONS: usize = 3;
const READ: usize = 0;
const WRITE: usize = 1;
const TRIM: usize = 2;

/// Entry of the table of workloads.
pub(crate) static SPEC: PolicySpec = PolicySpec {
    name: "fio",
    summary: "the jobs of a fio job file, as fio 3.33 would issue them",
    details: "A closed loop: each job keeps `iodepth` requests outstanding. Without a page cache in between, every job \
              is a direct one. A file named /dev/... is the device; every other file gets an extent of its own, in \
              order. `run --fio-json` writes the results as fio does.",
    source: "fio 3.33, fio(1)",
    example: "workload.kind=fio workload.path=experiments/fio-randrw.fio",
    instead: "No file system and no page cache lie in between: for the requests that these leave over use `filebench` \
              or a recording (`trace`).",
    needs: &[],
    offers: &[],
    params: &[],
    statistics: &[],
};

/// A job file that has been read and checked.
#[derive(Clone, Debug)]
pub struct FioJobFile {
    text: Text,
    sections: Vec<Section>,
    jobs: Vec<FioJob>,
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
        let mut file = Self::parse(path, &bytes)?;
        let folder = std::path::Path::new(path).parent().unwrap_or(std::path::Path::new(""));
        for iolog in file.jobs.iter_mut().filter_map(|job| job.iolog.as_mut()) {
            iolog.path = folder.join(&iolog.path).to_string_lossy().into_owned();
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
        let jobs = FioJob::read_all(&sections, &mut findings);
        let (sections, jobs) = findings.unless_any((sections, jobs))?;
        Ok(Self { text, sections, jobs })
    }

    /// Checks the jobs against a device, and reads the iologs that they replay to their ends. If `is_timed` is false,
    /// simulated time does not pass, and a job that ends by time is refused.
    ///
    /// # Errors
    /// Everything that does not fit.
    pub fn check(&self, capacity_bytes: u64, is_timed: bool) -> Result<(), Problems> {
        let mut findings = Findings::of(&self.text);
        let placed = layout::regions(&self.sections, &self.jobs, capacity_bytes, &mut findings);
        requests::check_maps(&self.sections, &self.jobs, &placed, &mut findings);
        report::check_options(&self.sections, &self.jobs, &mut findings);
        iolog::check(&self.sections, &self.jobs, capacity_bytes, &mut findings);
        for (job, section) in self.jobs.iter().zip(&self.sections) {
            if job.iolog.is_none() && !is_timed && job.time_based {
                let expected = "`run.timing` = \"timed\", or a job that ends with its size";
                let refusal = || Refusal::new("a job by time, in a run that takes none", expected);
                findings.refuse(section.place(&["time_based"]), refusal);
            }
        }
        findings.unless_any(())
    }

    /// Starts the jobs on a device that [`Self::check`] found large enough.
    ///
    /// # Errors
    /// A problem with the device or an iolog that [`Self::check`] did not meet, such as a file that has changed since.
    pub fn start(&self, capacity_bytes: u64, seed: &Prng) -> Result<FioJobs, Problems> {
        let mut findings = Findings::of(&self.text);
        let placed = layout::regions(&self.sections, &self.jobs, capacity_bytes, &mut findings);
        let placed = findings.unless_any(placed)?;
        FioJobs::new(self.text.name.clone(), self.jobs.clone(), placed, seed).map_err(Problems::from)
    }

    /// The `[global]` options that apply to the first job, as written.
    pub fn global_options(&self) -> Vec<(String, String)> {
        let Some(first) = self.sections.first() else { return Vec::new() };
        first.globals().iter().map(|entry| (entry.spec.name.to_owned(), entry.value.clone())).collect()
    }

    /// The iolog that the only job replays; `None` if there are more jobs, or it replays none.
    pub fn only_iolog(&self) -> Option<&str> {
        match &self.jobs[..] {
            [FioJob { iolog: Some(iolog), clones: 1, .. }] => Some(&iolog.path),
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

/// Advice to replay an iolog without its job file: what is recorded, and how a recording is better off.
pub(crate) fn as_recording(path: &str, better: &str) -> String {
    format!("`workload.kind` = \"trace\" with `workload.path` = \"{path}\" replays it as a recording{better}")
}
