//! Placement of the files of a job file on the device.
//!
//! A file whose name begins with `/dev/` is the device: its offsets are the device's. Every other file gets an extent
//! of its own, in the order of the jobs, each from the next multiple of [`ALIGNMENT`] on; its size is the farthest
//! offset that any of its jobs reaches. Jobs that name the same file share its extent; a job without `filename` has one
//! file per clone. The offsets of a replayed iolog are the device's.

use std::collections::BTreeMap;

use flashloom_units::{Refusal, format_size};

use super::job::{Amount, FioJob, is_device};
use super::job_file::{Findings, Section};

/// Alignment of extents, in bytes.
const ALIGNMENT: u64 = 1 << 20;

/// The part of the device that one clone of a job accesses, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// First byte on the device.
    pub start: u64,
    /// Length; at least the largest request of the job.
    pub length: u64,
}

/// The extent of a file.
struct File {
    start: u64,
    length: u64,
}

/// The regions of all clones of all jobs, in order; what does not fit is added to `findings`.
pub(super) fn regions(
    sections: &[Section],
    jobs: &[FioJob],
    capacity: u64,
    findings: &mut Findings,
) -> Vec<Vec<Region>> {
    let mut spans: Vec<Vec<Region>> = Vec::new();
    for (job, section) in jobs.iter().zip(sections) {
        let on_device = job.file.as_deref().is_some_and(is_device) || job.iolog.is_some();
        // The bytes of a file are its size, those of the device its capacity.
        let whole = if on_device { capacity } else { size_in_bytes(job) };
        let within = |clone| within_file(job, clone, whole, on_device);
        let regions: Vec<Region> = (0..u64::from(job.clones)).map_while(within).collect();
        let largest = (0..super::DIRECTIONS).filter(|&at| job.has(at)).map(|at| job.sizes[at].max()).max().unwrap_or(0);
        let too_small = job.iolog.is_none() && regions.iter().any(|region| region.length < largest);
        if regions.len() < job.clones as usize || too_small {
            let refusal = || {
                let (found, room) = if too_small {
                    (format!("the job `{}` has less room than its largest request", job.name), largest)
                } else {
                    (format!("the job `{}` begins beyond the end of the device", job.name), capacity)
                };
                Refusal::new(found, format!("room of at least {}", format_size(room)))
            };
            findings.refuse(section.place(&["size", "offset", "offset_increment", "bs"]), refusal);
        }
        spans.push(regions);
    }
    if findings.is_empty() {
        place(sections, jobs, capacity, &mut spans, findings);
    }
    spans
}

fn size_in_bytes(job: &FioJob) -> u64 {
    if let Some(Amount::Bytes(bytes)) = job.size { bytes } else { 0 }
}

/// The region of a clone in its file; `None` if it lies beyond what can be addressed.
fn within_file(job: &FioJob, clone: u64, whole: u64, on_device: bool) -> Option<Region> {
    let least = (0..super::DIRECTIONS).filter(|&at| job.has(at)).map(|at| job.sizes[at].min()).min().unwrap_or(512);
    let mut offset = job.offset.of(whole);
    if let Amount::Percent(_) = job.offset {
        offset = offset.checked_next_multiple_of(job.offset_align.unwrap_or(least))?;
    }
    let increment = job.offset_increment.of(whole) / 512 * 512;
    let start = offset.checked_add(increment.checked_mul(clone)?)? / 512 * 512;
    let length = match job.size {
        Some(size) => size.of(whole) / 512 * 512,
        None => whole.checked_sub(start)?,
    };
    let end = start.checked_add(length)?;
    if on_device && start >= whole {
        return None;
    }
    Some(Region { start, length: if on_device { end.min(whole) - start } else { length } })
}

/// Moves the regions of files to their extents, and refuses those that do not fit on the device.
fn place(sections: &[Section], jobs: &[FioJob], capacity: u64, spans: &mut [Vec<Region>], findings: &mut Findings) {
    let mut shared: BTreeMap<&str, File> = BTreeMap::new();
    for (job, regions) in jobs.iter().zip(&*spans) {
        if let Some(name) = job.file.as_deref().filter(|name| !is_device(name)).filter(|_| job.iolog.is_none()) {
            let length = regions.iter().map(|region| region.start + region.length).max().unwrap_or(0);
            let file = shared.entry(name).or_insert(File { start: u64::MAX, length });
            file.length = file.length.max(length);
        }
    }
    let mut next = 0u64;
    let mut claim = |length: u64| {
        let start = next;
        next = next.saturating_add(length).checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
        start
    };
    for ((job, section), regions) in jobs.iter().zip(sections).zip(spans) {
        if job.iolog.is_some() || job.file.as_deref().is_some_and(is_device) {
            continue;
        }
        if let Some(file) = job.file.as_deref().and_then(|name| shared.get_mut(name)) {
            if file.start == u64::MAX {
                file.start = claim(file.length);
            }
            regions.iter_mut().for_each(|region| region.start = region.start.saturating_add(file.start));
        } else {
            for region in &mut *regions {
                region.start = region.start.saturating_add(claim(region.start.saturating_add(region.length)));
            }
        }
        let end = regions.iter().map(|region| region.start.saturating_add(region.length)).max().unwrap_or(0);
        if end > capacity {
            findings.refuse(section.place(&["size", "numjobs", "offset_increment", "offset"]), || {
                let found = format!("the files of the job `{}` reach to {end} bytes of the device", job.name);
                Refusal::new(found, format!("all files within the {capacity} bytes that the device holds"))
            });
        }
    }
}
