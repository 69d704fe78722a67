//! Recordings that jobs replay (`read_iolog`). One that a single clone replays is read as the clone goes on. The
//! requests of one that several clones replay are kept in memory once, so that neither memory nor open files follow the
//! number of clones.

use std::collections::BTreeMap;
use std::sync::Arc;

use flashloom_units::{Place, Problem, Refusal};

use super::as_recording;
use super::job::Job;
use super::job_file::{Findings, Section};
use crate::trace::{sort_limit, too_many_in_memory};
use crate::{Footprint, Format, Request, Source, Trace, TraceInfo, TraceOptions, open_trace, scan_trace};

fn options() -> TraceOptions {
    TraceOptions { format: Some(Format::Fio), ..TraceOptions::default() }
}

/// Number of clones that replay each recording, by its path.
fn readers(jobs: &[Job]) -> BTreeMap<&str, u32> {
    let mut readers = BTreeMap::new();
    for job in jobs {
        if let Some(iolog) = &job.iolog {
            *readers.entry(&*iolog.path).or_default() += job.clones;
        }
    }
    readers
}

/// Reads each recording to its end, once; what is wrong is added to `findings` at the first job that names it.
pub(super) fn check(sections: &[Section], jobs: &[Job], capacity_bytes: u64, findings: &mut Findings) {
    let mut unread = readers(jobs);
    for (job, section) in jobs.iter().zip(sections) {
        let Some(iolog) = &job.iolog else { continue };
        let Some(clones) = unread.remove(&*iolog.path) else { continue };
        let at = section.place(&["read_iolog"]);
        match scan(&iolog.path, clones) {
            Ok(info) if info.span_bytes > capacity_bytes => findings.refuse(at, || {
                let found = format!("the iolog {} reaches to {} bytes", iolog.path, info.span_bytes);
                let refusal = Refusal::new(found, format!("addresses within the {capacity_bytes} bytes of the device"));
                refusal.help(as_recording(&iolog.path, ", which `workload.addresses` fits to the device"))
            }),
            Ok(_) => {}
            // An iolog of another kind may be a recording that is known.
            Err(problem) if matches!(problem.place, Place::Text { line: 1, .. }) => {
                let better = " in any of `flashloom list formats`";
                findings.add(at.start, || problem.with_help(as_recording(&iolog.path, better)));
            }
            Err(problem) if matches!(problem.place, Place::File) => findings.refuse(at, || problem.into_refusal()),
            Err(problem) => findings.add(at.start, || problem),
        }
    }
}

fn scan(path: &str, clones: u32) -> Result<TraceInfo, Problem> {
    let info = scan_trace(path, &options(), Footprint::Skip)?;
    let limit = sort_limit(path)?;
    if clones > 1 && info.requests > limit {
        return Err(too_many_in_memory(path, limit, "for several jobs to replay"));
    }
    Ok(info)
}

/// The recordings of a job file, as their clones are started.
pub(super) struct Iologs<'a> {
    readers: BTreeMap<&'a str, u32>,
    shared: BTreeMap<&'a str, Arc<[Request]>>,
}

impl<'a> Iologs<'a> {
    pub fn of(jobs: &'a [Job]) -> Self {
        Self { readers: readers(jobs), shared: BTreeMap::new() }
    }

    /// Begins to replay a recording.
    ///
    /// # Errors
    /// A problem that [`check`] did not meet, such as a file that has changed since.
    pub fn open(&mut self, path: &'a str) -> Result<Replay, Problem> {
        if self.readers.get(path).is_none_or(|clones| *clones == 1) {
            return Ok(Replay::Alone(Box::new(open_trace(path, &options())?)));
        }
        let requests = match self.shared.get(path) {
            Some(requests) => Arc::clone(requests),
            None => {
                let requests = read(path)?;
                self.shared.insert(path, Arc::clone(&requests));
                requests
            }
        };
        Ok(Replay::Shared { requests, next: 0 })
    }
}

fn read(path: &str) -> Result<Arc<[Request]>, Problem> {
    let limit = sort_limit(path)?;
    let mut trace = open_trace(path, &options())?;
    let mut requests = Vec::new();
    while let Some(request) = trace.next_request()? {
        if requests.len() as u64 == limit {
            return Err(too_many_in_memory(path, limit, "for several jobs to replay"));
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
