//! Recordings that jobs replay (`read_iolog`). The first few that a single clone replays are read as the clone goes on.
//! The requests of all others are kept in memory, once for all clones, so that neither memory nor open files follow the
//! number of clones or of files.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use flashloom_units::{Problem, ProblemPlace, Refusal};

use super::as_recording;
use super::job::FioJob;
use super::job_file::{Findings, Section};
use super::jobs::scaled_ns;
use crate::trace::{sort_limit, too_many_in_memory};
use crate::{Footprint, Format, Request, Source, Trace, TraceInfo, TraceOptions, open_trace, scan_trace};

/// Recordings that are open at a time at most. One that is compressed takes the window of its decoder, up to 128 MiB,
/// and a thread.
const MOST_OPEN: usize = 8;

/// What the requests of recordings are kept in memory for.
const PURPOSE: &str = "of iologs that several jobs replay, or behind the first eight";

fn options() -> TraceOptions {
    TraceOptions { format: Some(Format::Fio), ..TraceOptions::default() }
}

/// A file that jobs replay.
struct Recording<'a> {
    /// Its name in the first job that replays it.
    path: &'a str,
    clones: u32,
    /// True if its requests are kept in memory.
    is_kept: bool,
    kept: Option<Arc<[Request]>>,
}

/// The recordings of a job file.
pub(super) struct Iologs<'a> {
    recordings: Vec<Recording<'a>>,
    /// The recording that each job replays.
    of_job: Vec<Option<usize>>,
}

impl<'a> Iologs<'a> {
    /// The recordings that jobs replay: one for each file, however its name is spelled.
    pub fn of(jobs: &'a [FioJob]) -> Self {
        let mut numbers = BTreeMap::new();
        let mut recordings = Vec::<Recording>::new();
        let mut number = |job: &'a FioJob| {
            let path = &*job.iolog.as_ref()?.path;
            // A file that cannot be found is told of when it is read.
            let file = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
            let number = *numbers.entry(file).or_insert(recordings.len());
            if number == recordings.len() {
                recordings.push(Recording { path, clones: 0, is_kept: false, kept: None });
            }
            recordings[number].clones += job.clones;
            Some(number)
        };
        let of_job = jobs.iter().map(&mut number).collect();
        let mut open = 0;
        for recording in &mut recordings {
            recording.is_kept = recording.clones > 1 || open == MOST_OPEN;
            open += usize::from(!recording.is_kept);
        }
        Self { recordings, of_job }
    }

    /// Begins to replay the recording of a job.
    ///
    /// # Errors
    /// A problem that [`check`] did not meet, such as a file that has changed since.
    pub fn open(&mut self, job: usize) -> Result<Replay, Problem> {
        let recording = &mut self.recordings[self.of_job[job].expect("the job replays a recording")];
        if !recording.is_kept {
            return Ok(Replay::Alone(Box::new(open_trace(recording.path, &options())?)));
        }
        let requests = match &recording.kept {
            Some(requests) => Arc::clone(requests),
            None => Arc::clone(recording.kept.insert(read(recording.path)?)),
        };
        Ok(Replay::Shared { requests, next: 0 })
    }
}

/// Reads each recording to its end, once; what is wrong is added to `findings` at the first job that names it, or at
/// the job whose speed does not suit it.
pub(super) fn check(sections: &[Section], jobs: &[FioJob], capacity_bytes: u64, findings: &mut Findings) {
    let iologs = Iologs::of(jobs);
    let mut lengths_ns = vec![None; iologs.recordings.len()];
    let mut kept = 0;
    for ((job, section), number) in jobs.iter().zip(sections).zip(&iologs.of_job) {
        let (Some(iolog), Some(number)) = (&job.iolog, *number) else { continue };
        if lengths_ns[number].is_none() {
            let scanned = scan(&iologs.recordings[number], &mut kept);
            lengths_ns[number] = Some(scanned.as_ref().map_or(0, |info| info.duration_ns));
            tell(&iolog.path, scanned, capacity_bytes, section, findings);
        }
        let ends_ns = lengths_ns[number].zip(iolog.time_scale).map_or(0, |(length, scale)| scaled_ns(length, scale));
        if ends_ns > Request::LAST_ARRIVAL_NS {
            findings.refuse(section.place(&["replay_time_scale"]), || {
                let found = format!("the iolog {} would take more than 146 years", iolog.path);
                Refusal::new(found, "a speed at which its last request arrives before")
            });
        }
    }
}

/// Adds what is wrong with a recording.
fn tell(
    path: &str,
    scanned: Result<TraceInfo, Problem>,
    capacity_bytes: u64,
    section: &Section,
    findings: &mut Findings,
) {
    let at = section.place(&["read_iolog"]);
    match scanned {
        Ok(info) if info.span_bytes > capacity_bytes => findings.refuse(at, || {
            let found = format!("the iolog {path} reaches to {} bytes", info.span_bytes);
            let refusal = Refusal::new(found, format!("addresses within the {capacity_bytes} bytes of the device"));
            refusal.help(as_recording(path, ", which `workload.addresses` fits to the device"))
        }),
        Ok(_) => {}
        // An iolog of another kind may be a recording that is known.
        Err(problem) if matches!(problem.place, ProblemPlace::Text { line: 1, .. }) => {
            let better = " in any of `flashloom list formats`";
            findings.add(at.start, || problem.with_help(as_recording(path, better)));
        }
        Err(problem) if matches!(problem.place, ProblemPlace::File) => findings.refuse(at, || problem.into_refusal()),
        Err(problem) => findings.add(at.start, || problem),
    }
}

/// Reads a recording to its end; `kept` counts the requests of those that are kept in memory.
fn scan(recording: &Recording, kept: &mut u64) -> Result<TraceInfo, Problem> {
    let info = scan_trace(recording.path, &options(), Footprint::Skip)?;
    if recording.is_kept {
        let limit = sort_limit(recording.path)?;
        *kept += info.requests;
        if *kept > limit {
            return Err(too_many_in_memory(recording.path, limit, PURPOSE));
        }
    }
    Ok(info)
}

fn read(path: &str) -> Result<Arc<[Request]>, Problem> {
    let limit = sort_limit(path)?;
    let mut trace = open_trace(path, &options())?;
    let mut requests = Vec::new();
    while let Some(request) = trace.next_request()? {
        if requests.len() as u64 == limit {
            return Err(too_many_in_memory(path, limit, PURPOSE));
        }
        requests.push(request);
    }
    Ok(requests.into())
}

/// The requests of a recording, as one clone replays them.
pub(super) enum Replay {
    Alone(Box<Trace>),
    Shared { requests: Arc<[Request]>, next: usize },
}

impl Replay {
    /// The next request; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Request>, Problem> {
        match self {
            Self::Alone(trace) => trace.next_request(),
            Self::Shared { requests, next } => {
                let request = requests.get(*next).copied();
                *next += 1;
                Ok(request)
            }
        }
    }
}
