//! Recordings that jobs replay (`read_iolog`). The first few that a single clone replays are read as the clone goes on.
//! The requests of all others are kept in memory, once for all clones, so that neither memory nor open files follow the
//! number of clones or of files.
//!
//! Of several files, clone n replays the one at n modulo their number. A file of version 3 is replayed by the times
//! between its lines, of which fio passes over those up to the first time that is not zero; one of version 2 by its
//! waits, which count from the start of all jobs.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use flashloom_units::{Ns, Problem, ProblemPlace, Refusal, SECTOR_BYTES, US};

use super::job::FioJob;
use super::job_file::Findings;
use super::jobs::scaled_ns;
use super::layout::Devices;
use super::{FioDrive, as_recording};
use crate::trace::input::Input;
use crate::trace::record::Record;
use crate::trace::{sort_limit, too_many_in_memory};
use crate::{Addresses, Format, Op, Request, Trace, TraceOptions, open_trace};

/// Recordings that are open at a time at most. One that is compressed takes the window of its decoder, up to 128 MiB,
/// and a thread.
const MOST_OPEN: usize = 8;

/// Files of a recording whose requests are replayed, at most.
const MOST_FILES: usize = 1 << 15;

/// What the requests of recordings are kept in memory for.
const PURPOSE: &str = "of iologs that several jobs replay, or behind the first eight";

fn options() -> TraceOptions {
    TraceOptions { format: Some(Format::Fio), ..TraceOptions::default() }
}

/// A file that jobs replay.
#[derive(Clone, Debug)]
struct Recording {
    /// Its name in the first job that replays it.
    path: String,
    clones: u32,
    /// True if its requests are kept in memory.
    is_kept: bool,
    scan: Result<Scan, Problem>,
}

/// What a file holds.
#[derive(Clone, Debug)]
struct Scan {
    requests: u64,
    largest_bytes: u64,
    duration_ns: Ns,
    /// Time of its first request.
    start_ns: Ns,
    /// Of version 3: the first time that is not zero, of any line. `None` for version 2, whose waits count from the
    /// start of all jobs.
    first_ns: Option<Ns>,
    /// The files whose requests it holds, in order of appearance: number, name, and the byte after the last.
    files: Vec<(u32, String, u64)>,
}

/// The recordings of a job file.
#[derive(Clone, Debug, Default)]
pub(super) struct Recordings {
    recordings: Vec<Recording>,
    /// The recordings that each job replays, in the order of its files.
    of_jobs: Vec<Vec<usize>>,
}

impl Recordings {
    /// Reads the recordings that jobs replay to their ends: one for each file, however its name is spelled.
    pub fn read(jobs: &[FioJob]) -> Self {
        let mut numbers = BTreeMap::new();
        let mut recordings = Vec::<Recording>::new();
        let mut of_jobs = Vec::with_capacity(jobs.len());
        for job in jobs {
            let paths = job.iolog.as_ref().map_or(&[][..], |iolog| &iolog.paths);
            let mut of_job = Vec::with_capacity(paths.len());
            for (at, path) in paths.iter().enumerate().take(job.clones as usize) {
                // A file that cannot be found is reported when it is read.
                let file = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
                let number = *numbers.entry(file).or_insert(recordings.len());
                if number == recordings.len() {
                    recordings.push(Recording { path: path.clone(), clones: 0, is_kept: false, scan: scan(path) });
                }
                recordings[number].clones += (job.clones - at as u32).div_ceil(paths.len() as u32);
                of_job.push(number);
            }
            of_jobs.push(of_job);
        }
        let mut open = 0;
        for recording in &mut recordings {
            recording.is_kept = recording.clones > 1 || open == MOST_OPEN;
            open += usize::from(!recording.is_kept);
        }
        Self { recordings, of_jobs }
    }

    /// The files whose requests a job replays, each with the byte after the last: those that its iologs name, or the
    /// one that all are redirected to.
    pub fn files<'a>(&'a self, number: usize, job: &'a FioJob) -> Vec<(&'a str, u64)> {
        let scans = self.of_jobs[number].iter().filter_map(|&number| self.recordings[number].scan.as_ref().ok());
        let files = scans.flat_map(|scan| &scan.files).map(|(_, name, end)| (&**name, *end));
        match job.iolog.as_ref().and_then(|iolog| iolog.redirect.as_deref()) {
            None => files.collect(),
            Some(redirect) => vec![(redirect, files.map(|(_, end)| end).max().unwrap_or(0))],
        }
    }

    /// Adds what is wrong with recordings to `findings`: once at the first job that names one, or at the job whose
    /// speed does not suit it.
    pub fn check(&self, jobs: &[FioJob], devices: &Devices, drive: &FioDrive, findings: &mut Findings) {
        let mut told = vec![false; self.recordings.len()];
        let mut kept = 0;
        for (job, of_job) in jobs.iter().zip(&self.of_jobs) {
            let Some(iolog) = &job.iolog else { continue };
            for &number in of_job {
                let recording = &self.recordings[number];
                if !told[number] {
                    told[number] = true;
                    let only = match devices {
                        Devices::Only(device) if iolog.redirect.is_none() => Some(&**device),
                        _ => None,
                    };
                    tell((recording, only), drive, &mut kept, job, findings);
                }
                let ends_ns = match (&recording.scan, iolog.time_scale) {
                    (Err(_), _) | (_, None) => 0,
                    (Ok(scan), Some(scale)) if scan.first_ns.is_some() => scaled_ns(scan.duration_ns, scale),
                    // fio does not scale the waits of version 2.
                    (Ok(scan), Some(_)) => scan.start_ns.saturating_add(scan.duration_ns),
                };
                if ends_ns > Request::LAST_ARRIVAL_NS {
                    let found = format!("the iolog {} would take more than 146 years", recording.path);
                    let expected = "a speed at which its last request arrives before";
                    job.refuse(findings, &["replay_time_scale"], found, expected);
                }
            }
        }
    }

    /// Begins to replay the recording of a clone. `start_of` returns the first sector of a file on the drive, `None`
    /// for one whose requests are left out; `kept` is what earlier calls have read for the other clones.
    ///
    /// # Errors
    /// A problem that [`Self::check`] did not meet, such as a file that has changed since.
    pub fn open(
        &self,
        (number, job): (usize, &FioJob),
        clone: usize,
        start_of: impl Fn(&str) -> Option<u64>,
        kept: &mut KeptInMemory,
    ) -> Result<Replay, Problem> {
        let of_job = &self.of_jobs[number];
        let at = of_job[clone % of_job.len()];
        let recording = &self.recordings[at];
        let scan = recording.scan.as_ref().map_err(Clone::clone)?;
        let redirect = job.iolog.as_ref().and_then(|iolog| iolog.redirect.as_deref());
        let start = |(device, name, _): &(u32, String, u64)| Some((*device, start_of(redirect.unwrap_or(name))?));
        let starts = || {
            let mut starts: Vec<_> = scan.files.iter().filter_map(start).collect();
            starts.sort_unstable();
            starts.into()
        };
        let starts = Arc::clone(kept.starts.entry((number, at)).or_insert_with(starts));
        let records = if !recording.is_kept {
            Records::Alone(Box::new(open_trace(&recording.path, &options())?))
        } else {
            let records = match kept.records.get(&at) {
                Some(records) => Arc::clone(records),
                None => Arc::clone(kept.records.entry(at).or_insert(read(&recording.path)?)),
            };
            Records::Shared { records, next: 0 }
        };
        let (begin_ns, first_ns) = (scan.start_ns, scan.first_ns);
        Ok(Replay { records, starts, begin_ns, first_ns, last_ns: first_ns.unwrap_or(0) })
    }
}

/// What the clones of a job file share of their recordings.
#[derive(Default)]
pub(super) struct KeptInMemory {
    /// Requests by recording.
    records: BTreeMap<usize, Arc<[Record]>>,
    /// First sectors of files by job and recording.
    starts: BTreeMap<(usize, usize), Starts>,
}

/// Files by number, and the first sector of each on the drive.
type Starts = Arc<[(u32, u64)]>;

/// Adds what is wrong with a recording, of which only one file may be replayed; `kept` counts the requests of those
/// that are kept in memory.
fn tell(
    (recording, only): (&Recording, Option<&str>),
    &FioDrive { capacity_bytes, addresses, .. }: &FioDrive,
    kept: &mut u64,
    job: &FioJob,
    findings: &mut Findings,
) {
    let (at, path) = (job.place(&["read_iolog"]), &recording.path);
    match &recording.scan {
        Ok(scan) => {
            let replayed = scan.files.iter().filter(|(_, name, _)| only.is_none_or(|only| only == name));
            let end = replayed.map(|(_, _, end)| *end).max().unwrap_or(0);
            if end > capacity_bytes && addresses == Addresses::Error {
                findings.refuse(at.clone(), || {
                    let found = format!("the iolog {path} reaches to {end} bytes");
                    let expected = format!("addresses within the {capacity_bytes} bytes of the device");
                    let better = ", which `workload.addresses` fits to the device";
                    Refusal::new(found, expected).help(as_recording(path, better))
                });
            }
            if scan.largest_bytes > capacity_bytes {
                findings.refuse(at.clone(), || {
                    let found = format!("the iolog {path} has a request of {} bytes", scan.largest_bytes);
                    Refusal::new(found, format!("requests within the {capacity_bytes} bytes of the device"))
                });
            }
            match sort_limit(path) {
                Err(problem) => findings.add(at.start, || problem),
                Ok(limit) if recording.is_kept => {
                    *kept += scan.requests;
                    if *kept > limit {
                        let refusal = || too_many_in_memory(path, limit, PURPOSE).into_refusal();
                        findings.refuse(at, refusal);
                    }
                }
                Ok(_) => {}
            }
        }
        Err(problem) => match &problem.place {
            ProblemPlace::Text { line: 1, .. } => match other_format(path) {
                Some(format) => findings.refuse(at, || {
                    let found = format!("the iolog {path} is a recording of the format `{}`", format.name());
                    Refusal::new(found, "an iolog of fio, version 2 or 3").help(as_recording(path, ""))
                }),
                None => {
                    let better = " in any of `flashloom list formats`";
                    findings.add(at.start, || problem.clone().with_help(as_recording(path, better)));
                }
            },
            ProblemPlace::File => findings.refuse(at, || problem.clone().into_refusal()),
            _ => findings.add(at.start, || problem.clone()),
        },
    }
}

/// The format of a file that is no iolog, if it is a recording that is known.
fn other_format(path: &str) -> Option<Format> {
    let trace = open_trace(path, &TraceOptions::default()).ok()?;
    (trace.format() != Format::Fio).then(|| trace.format())
}

/// Reads a recording to its end.
fn scan(path: &str) -> Result<Scan, Problem> {
    let first_ns = first_time(path)?;
    let mut trace = open_trace(path, &options())?;
    let mut scan =
        Scan { requests: 0, largest_bytes: 0, duration_ns: 0, start_ns: trace.start_ns, first_ns, files: Vec::new() };
    let mut ends: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
    while let Some(record) = trace.next_record()? {
        scan.requests += 1;
        scan.largest_bytes = scan.largest_bytes.max(u64::from(record.request.sectors) * SECTOR_BYTES);
        scan.duration_ns = record.request.arrival_ns;
        let order = ends.len();
        if order > MOST_FILES {
            let found = format!("holds requests to more than {MOST_FILES} files");
            return Err(Problem::file(path, found, "an iolog of fewer files"));
        }
        let (_, end) = ends.entry(record.device).or_insert((order, 0));
        *end = (*end).max(record.request.end().saturating_mul(SECTOR_BYTES));
    }
    let mut ends: Vec<_> = ends.into_iter().collect();
    ends.sort_by_key(|(_, (order, _))| *order);
    let named = |(device, (_, end)): (u32, (usize, u64))| (device, trace.device_name(device), end);
    scan.files = ends.into_iter().map(named).collect();
    Ok(scan)
}

/// The first time that is not zero, of any line of a recording of version 3; `None` for version 2.
fn first_time(path: &str) -> Result<Option<Ns>, Problem> {
    let mut lines = Input::file(path).open()?;
    if lines.line()?.is_some_and(|line| line.starts_with(b"fio version 2")) {
        return Ok(None);
    }
    while let Some(line) = lines.line()? {
        // Lines that cannot be read are reported as those of the recording.
        let time = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty());
        let time = time.and_then(|word| std::str::from_utf8(word).ok()?.parse::<Ns>().ok());
        if let Some(time_us @ 1..) = time {
            return Ok(Some(time_us.saturating_mul(US)));
        }
    }
    Ok(Some(0))
}

fn read(path: &str) -> Result<Arc<[Record]>, Problem> {
    let limit = sort_limit(path)?;
    let mut trace = open_trace(path, &options())?;
    let mut records = Vec::new();
    while let Some(record) = trace.next_record()? {
        if records.len() as u64 == limit {
            return Err(too_many_in_memory(path, limit, PURPOSE));
        }
        records.push(record);
    }
    Ok(records.into())
}

enum Records {
    Alone(Box<Trace>),
    Shared { records: Arc<[Record]>, next: usize },
}

/// The requests of a recording, as one clone replays them.
pub(super) struct Replay {
    records: Records,
    /// The files whose requests are replayed.
    starts: Starts,
    /// Recorded time of the first request.
    begin_ns: Ns,
    /// Of version 3: the time from which on gaps are replayed.
    first_ns: Option<Ns>,
    /// Recorded time of the last request of version 3, or that from which on gaps are replayed.
    last_ns: Ns,
}

/// When a recorded request is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    /// This long after the request before it was issued.
    After(Ns),
    /// At this time from the start of all jobs.
    At(Ns),
}

impl Replay {
    /// The next request and when it is due; `None` at the end.
    pub fn next(&mut self) -> Result<Option<(Request, Recorded)>, Problem> {
        loop {
            let record = match &mut self.records {
                Records::Alone(trace) => trace.next_record()?,
                Records::Shared { records, next } => {
                    *next += 1;
                    records.get(*next - 1).copied()
                }
            };
            let Some(Record { mut request, device, .. }) = record else { return Ok(None) };
            let Ok(at) = self.starts.binary_search_by_key(&device, |(known, _)| *known) else { continue };
            if request.op != Op::Flush {
                request.lba += self.starts[at].1;
            }
            let at_ns = self.begin_ns.saturating_add(request.arrival_ns);
            let due = match self.first_ns {
                None => Recorded::At(at_ns),
                Some(first_ns) => {
                    let last_ns = std::mem::replace(&mut self.last_ns, at_ns.max(first_ns));
                    Recorded::After(self.last_ns.saturating_sub(last_ns))
                }
            };
            return Ok(Some((request, due)));
        }
    }
}
