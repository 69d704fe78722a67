//! Placement of the files of a job file on the drive.
//!
//! A file whose name begins with `/dev/` is a device. If the jobs name one and no other file, it is the drive, and its
//! offsets are the drive's; so are those of iologs. Every other file gets an extent of its own, in the order of the
//! jobs, each from the next multiple of [`ALIGNMENT`] on; its size is the farthest offset that any of its jobs reaches.
//! Jobs that name the same file share its extent; a job without `filename` has files of its own for each clone.
//!
//! Jobs that name several devices, or a device and files, would lie over one another. [`Devices`] is what was chosen
//! for them: one of them, or each in an extent of its own, as if it were a file. A device whose jobs do not say in
//! bytes what they use then has an equal part of what the others leave.

use std::collections::{BTreeMap, BTreeSet};

use flashloom_units::{Refusal, SECTOR_BYTES, format_size};

use super::iolog::Recordings;
use super::job::{Amount, FioJob, is_device};
use super::job_file::Findings;
use super::{DIRECTIONS, FioDrive, FioRange};
use crate::trace::devices;
use crate::{ALL_DEVICES, Addresses};

/// Alignment of extents, in bytes.
const ALIGNMENT: u64 = 1 << 20;

/// What was chosen of several devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Devices {
    /// Nothing: there must be one.
    Unasked,
    /// The jobs of one.
    Only(String),
    /// Each in an extent of its own.
    Each,
}

/// Size of a device that is as large as its jobs need.
const OPEN_END: u64 = 1 << 62;

/// Bytes that all files may reach to, whatever becomes of addresses beyond the drive.
const MOST_BYTES: u64 = 1 << 62;

/// The part of the drive that one clone of a job accesses in a file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// First byte on the drive.
    pub start: u64,
    /// First byte in the file.
    pub offset: u64,
    /// Length; at least the largest request of the job.
    pub length: u64,
    /// Size of the file: a request that begins in the region may end behind it, but not behind the file.
    pub whole: u64,
}

impl Region {
    /// The byte of the file after the last that requests of a job reach.
    fn end(&self, job: &FioJob) -> u64 {
        let beyond = (0..DIRECTIONS).filter(|&at| job.has(at)).map(|at| self.overhang(job, at)).max().unwrap_or(0);
        (self.offset + self.length).saturating_add(beyond).min(self.whole)
    }

    /// Bytes behind the region that requests of a direction may reach: those of one size that does not divide it.
    fn overhang(&self, job: &FioJob, direction: usize) -> u64 {
        let (bytes, align) = (job.sizes[direction].min(), job.align[direction]);
        let is_drawn = job.random && !job.draws_on() && job.run_length == 1 && job.random_percent[direction] == 100;
        let divides = job.skip == 0 && self.length.is_multiple_of(bytes) && align.is_multiple_of(bytes);
        if bytes < job.sizes[direction].max() || is_drawn || divides { 0 } else { bytes }
    }
}

/// Regions of one clone, a file each.
pub(super) type Regions = Vec<Region>;

/// The extent of a file.
struct File {
    start: u64,
    length: u64,
}

/// Where everything lies.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The regions of all clones of all jobs, in the order in which they start.
    pub regions: Vec<Vec<Regions>>,
    /// The extents of devices that have one of their own, and the first byte of each by name.
    pub ranges: Vec<FioRange>,
    starts: BTreeMap<String, u64>,
    /// The byte after the last that any job or iolog reaches.
    pub span: u64,
}

impl Layout {
    /// The first byte of a file of an iolog.
    pub fn start_of(&self, name: &str, devices: &Devices) -> Option<u64> {
        match devices {
            Devices::Unasked => Some(0),
            Devices::Only(only) => (only == name).then_some(0),
            Devices::Each => self.starts.get(name).copied(),
        }
    }
}

/// The names of the files that each job names, with its iologs'.
fn named<'a>(jobs: &'a [FioJob], recordings: &'a Recordings) -> Vec<Vec<&'a str>> {
    let of_job = |(number, job): (usize, &'a FioJob)| match &job.iolog {
        Some(_) => recordings.files(number, job).into_iter().map(|(name, _)| name).collect(),
        None => job.files.iter().map(String::as_str).collect(),
    };
    jobs.iter().enumerate().map(of_job).collect()
}

/// True if a job uses a name as that of a device: addresses of an iolog are a device's, whatever it names.
fn is_of_device(job: &FioJob, name: &str) -> bool {
    job.iolog.is_some() || is_device(name)
}

/// The devices and files that would lie over one another, in order of appearance; empty if nothing would.
fn overlaid<'a>(jobs: &'a [FioJob], named: &[Vec<&'a str>]) -> Vec<&'a str> {
    let (mut devices, mut seen, mut all) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let mut has_files = false;
    for (job, names) in jobs.iter().zip(named) {
        has_files |= job.iolog.is_none() && !names.iter().any(|name| is_device(name));
        for &name in names {
            let is_device = is_of_device(job, name);
            has_files |= !is_device;
            if is_device {
                devices.insert(name);
            }
            if seen.insert(name) {
                all.push(name);
            }
        }
    }
    if devices.len() > 1 || (devices.len() == 1 && has_files) { all } else { Vec::new() }
}

/// Names in an error at most.
const MOST_NAMES: usize = 16;

fn listed(names: &[&str]) -> String {
    devices::listed(names.iter().map(|name| format!("`{name}`")), MOST_NAMES)
}

/// Which jobs run on the drive: those of the device that was chosen.
pub(super) fn of_device(jobs: &[FioJob], recordings: &Recordings, device: &str, findings: &mut Findings) -> Vec<bool> {
    let named = named(jobs, recordings);
    let mut seen = BTreeSet::new();
    let all: Vec<&str> = named.iter().flatten().copied().filter(|name| seen.insert(*name)).collect();
    if !seen.contains(device) {
        let place = jobs.first().map_or(0..0, |job| job.place(&["filename", "read_iolog"]));
        findings.refuse(place, || {
            let found = format!("no job of the device `{device}` (`workload.device`)");
            let expected = format!("\"{ALL_DEVICES}\" or one that the jobs name: {}", listed(&all));
            Refusal::new(found, expected).suggesting(device, all.iter().copied())
        });
    }
    for (job, names) in jobs.iter().zip(&named) {
        if job.iolog.is_none() && names.contains(&device) && names.iter().any(|name| *name != device) {
            findings.refuse(job.place(&["filename"]), || {
                let found = format!("the job `{}` spreads its requests over {}", job.name, listed(names));
                let help = format!(
                    "the requests to one device depend on those to the others; `workload.device` = \"{ALL_DEVICES}\" \
                     simulates all"
                );
                Refusal::new(found, format!("jobs of `{device}` alone")).help(help)
            });
        }
    }
    named.iter().map(|names| names.contains(&device)).collect()
}

/// Lays out the jobs on a drive; what does not fit is added to `findings`.
pub(super) fn layout(
    jobs: &[FioJob],
    (recordings, devices): (&Recordings, &Devices),
    drive: &FioDrive,
    findings: &mut Findings,
) -> Layout {
    let named = named(jobs, recordings);
    if *devices == Devices::Unasked {
        refuse_overlaid(jobs, &named, findings);
    }
    let sizes = match devices {
        Devices::Each => device_sizes(jobs, recordings, drive, findings),
        Devices::Unasked | Devices::Only(_) => BTreeMap::new(),
    };
    let mut spans: Vec<_> = jobs.iter().map(|job| regions_of(job, (drive, devices), &sizes, findings)).collect();
    grow_files(jobs, &mut spans);
    let mut layout = Layout { regions: spans, ..Layout::default() };
    if findings.is_empty() {
        place(jobs, recordings, &sizes, drive, &mut layout, findings);
    }
    layout
}

/// Refuses jobs that would lie over one another, at the first that names another device or file.
fn refuse_overlaid(jobs: &[FioJob], named: &[Vec<&str>], findings: &mut Findings) {
    let names = overlaid(jobs, named);
    let Some(first) = names.first() else { return };
    let other = |names: &&Vec<&str>| names.is_empty() || names.iter().any(|name| name != first);
    let Some(at) = named.iter().position(|names| other(&names)) else { return };
    findings.refuse(jobs[at].place(&["filename", "read_iolog", "directory"]), || {
        let own = if named.iter().any(Vec::is_empty) { ", and files of jobs that name none" } else { "" };
        let found = format!("the jobs use several devices or files: {}{own}", listed(&names));
        let help = format!("\"{ALL_DEVICES}\" gives each a range of its own on the drive, one after another");
        Refusal::new(found, format!("`workload.device`, one of them or \"{ALL_DEVICES}\"")).help(help)
    });
}

/// Sizes of the devices that have extents of their own: what their jobs use, or an equal part of what is left.
fn device_sizes<'a>(
    jobs: &'a [FioJob],
    recordings: &'a Recordings,
    drive: &FioDrive,
    findings: &mut Findings,
) -> BTreeMap<&'a str, u64> {
    let align = |bytes: u64| bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
    let mut used: BTreeMap<&str, Option<u64>> = BTreeMap::new();
    let mut files = 0u64;
    for (number, job) in jobs.iter().enumerate() {
        if job.iolog.is_some() {
            for (name, end) in recordings.files(number, job) {
                let known = used.entry(name).or_insert(Some(0));
                *known = known.map(|known| known.max(end));
            }
            continue;
        }
        let of_jobs = span_in_bytes(job);
        let of_device = of_jobs.map(|span| span.saturating_add(overhang_in_bytes(job)));
        for name in job.files.iter().filter(|name| is_device(name)) {
            let known = used.entry(name).or_insert(Some(0));
            *known = known.zip(of_device).map(|(known, span)| known.max(span));
        }
        let regular = job.files.iter().filter(|name| !is_device(name)).count() as u64;
        let own = if job.files.is_empty() { u64::from(job.clones) * job.files_of_clone() } else { regular };
        files = files.saturating_add(align(of_jobs.unwrap_or(0)).saturating_mul(own));
    }
    let taken = used.values().flatten().map(|bytes| align(*bytes)).fold(files, u64::saturating_add);
    let open = used.values().filter(|bytes| bytes.is_none()).count() as u64;
    let part = drive.capacity_bytes.saturating_sub(taken) / open.max(1) / ALIGNMENT * ALIGNMENT;
    if open > 0 && part == 0 {
        let found = "devices that fill the drive, and others whose jobs have no `size` in bytes";
        jobs[0].refuse(findings, &["size", "filename"], found, "a larger drive, or `size` in bytes in every job");
    }
    used.into_iter().map(|(name, bytes)| (name, bytes.map_or(part, align))).collect()
}

/// The farthest byte of a file that any clone of a job reaches, if its options say it in bytes.
fn span_in_bytes(job: &FioJob) -> Option<u64> {
    let bytes = |amount: Amount| if let Amount::Bytes(bytes) = amount { Some(bytes) } else { None };
    let size = bytes(job.size?)? / job.files_of_clone();
    let last = u64::from(job.clones - 1).checked_mul(bytes(job.offset_increment)?)?;
    bytes(job.offset)?.checked_add(last)?.checked_add(size)
}

/// Bytes that requests of a job may reach behind its part of a device.
fn overhang_in_bytes(job: &FioJob) -> u64 {
    let Some(Amount::Bytes(size)) = job.size else { return 0 };
    let length = size / job.files_of_clone();
    let region = Region { start: 0, offset: 0, length, whole: OPEN_END };
    region.end(job) - length
}

/// The regions of a job's clones in its files, which all begin at zero.
fn regions_of(
    job: &FioJob,
    (drive, devices): (&FioDrive, &Devices),
    sizes: &BTreeMap<&str, u64>,
    findings: &mut Findings,
) -> Vec<Regions> {
    let has_own_end = |at: usize| job.iolog.is_some() || job.files.get(at).is_some_and(|name| is_device(name));
    let whole_of = |at: usize| match job.files.get(at) {
        // The bytes of a file are its size, those of a device its capacity.
        Some(name) if is_device(name) => sizes.get(&**name).copied().unwrap_or(drive.capacity_bytes),
        None if job.iolog.is_some() => drive.capacity_bytes,
        _ => size_of_file(job),
    };
    let is_bounded = drive.addresses == Addresses::Error || has_percent(job);
    // A range that is as long as what its jobs use stands for a device that is larger.
    let is_known = is_bounded && (*devices != Devices::Each || has_percent(job));
    let files = if job.iolog.is_some() { 1 } else { job.files_of_clone() as usize };
    let within = |clone: u64| -> Option<Regions> {
        let of_file = |at: usize| {
            let mut region = within_file(job, clone, whole_of(at), has_own_end(at) && is_bounded)?;
            if has_own_end(at) {
                region.whole = if is_known { whole_of(at) } else { OPEN_END };
            }
            Some(region)
        };
        (0..files).map(of_file).collect()
    };
    let mut regions = Vec::with_capacity(job.clones as usize);
    for place in 0..job.clones as usize {
        let Some(of_clone) = within(job.number_of_clone(place)) else {
            let found = format!("the job `{}` begins beyond the end of the device", job.name);
            let expected = format!("an offset below {}", format_size(whole_of(0)));
            job.refuse(findings, &["offset", "offset_increment", "size"], found, expected);
            break;
        };
        if job.iolog.is_none() && is_bounded {
            for at in (0..files).filter(|&at| has_own_end(at)) {
                refuse_beyond(job, (at, &of_clone[at]), whole_of(at), findings);
            }
        }
        regions.push(of_clone);
    }
    let largest = (0..DIRECTIONS).filter(|&at| job.has(at)).map(|at| job.sizes[at].max()).max().unwrap_or(0);
    let is_too_large = |region: &Region| region.length.min(drive.capacity_bytes) < largest;
    let is_broken = |region: &Region| !region.length.is_multiple_of(SECTOR_BYTES);
    if job.iolog.is_none() && job.skip < 0 && regions.iter().flatten().any(is_broken) {
        let found = format!("the job `{}` goes backwards through files that end within a sector", job.name);
        let expected = format!("files of a multiple of {SECTOR_BYTES} bytes each");
        job.refuse(findings, &["nrfiles", "filename", "size"], found, expected);
    }
    if job.iolog.is_none() && regions.iter().flatten().any(is_too_large) {
        let found = format!("the job `{}` has less room than its largest request", job.name);
        let expected = format!("room of at least {}", format_size(largest));
        job.refuse(findings, &["size", "offset", "offset_increment", "bs"], found, expected);
    }
    regions
}

/// Refuses a region that reaches beyond its device. One of a share of the device never does.
fn refuse_beyond(job: &FioJob, (at, region): (usize, &Region), whole: u64, findings: &mut Findings) {
    let end = region.offset.saturating_add(region.length);
    if end > whole {
        findings.refuse(job.place(&["size", "offset", "offset_increment"]), || {
            let device = job.files.get(at).map_or("the drive", String::as_str);
            let found = format!("the job `{}` reaches to {} of `{device}`", job.name, format_size(end));
            let refusal = Refusal::new(found, format!("at most the {} that the drive holds there", format_size(whole)));
            refusal.help(
                "choose a larger drive, a smaller `size`, a share of the device such as `size=100%`, or \
                 workload.addresses = \"wrap\" or \"scale\"",
            )
        });
    }
}

fn has_percent(job: &FioJob) -> bool {
    !matches!(job.size, Some(Amount::Bytes(_)))
}

/// Bytes of each file of a job that says its size.
fn size_of_file(job: &FioJob) -> u64 {
    if let Some(Amount::Bytes(bytes)) = job.size { bytes / job.files_of_clone() } else { 0 }
}

/// The region of a clone in a file of `whole` bytes; `None` if it begins beyond a file that has an end, or lies beyond
/// what can be addressed. A share of a device ends with it, and an offset that depends on a share begins at a whole
/// block, as in fio.
fn within_file(job: &FioJob, clone: u64, whole: u64, has_end: bool) -> Option<Region> {
    let least = job.least_bytes();
    let mut offset = job.offset.of(whole).checked_add(job.offset_increment.of(whole).checked_mul(clone)?)?;
    if [job.offset, job.offset_increment].iter().any(|amount| matches!(amount, Amount::Percent(_))) {
        offset = offset.checked_next_multiple_of(job.offset_align.unwrap_or(least))?;
    }
    if has_end && offset >= whole {
        return None;
    }
    let length = match job.size {
        Some(Amount::Bytes(bytes)) => bytes / job.files_of_clone(),
        Some(share) => share.of(whole).min(whole.checked_sub(offset)?) / least * least,
        None => whole.checked_sub(offset)?,
    };
    let end = offset.checked_add(length).filter(|end| *end <= MOST_BYTES)?;
    Some(Region { start: offset, offset, length, whole: end })
}

/// Sets the size of every named file to what its jobs have made of it when a clone begins: fio lays out the files of
/// all clones in turn before it starts any.
fn grow_files(jobs: &[FioJob], regions: &mut [Vec<Regions>]) {
    let mut sizes = BTreeMap::<&str, u64>::new();
    for (job, regions) in jobs.iter().zip(regions).filter(|(job, _)| job.iolog.is_none()) {
        for of_clone in regions {
            for (name, region) in job.files.iter().zip(of_clone).filter(|(name, _)| !is_device(name)) {
                let size = sizes.entry(name).or_default();
                *size = (*size).max(region.whole);
                region.whole = *size;
            }
        }
    }
}

/// Extents of files, one after another.
#[derive(Default)]
struct Extents<'a> {
    next: u64,
    shared: BTreeMap<&'a str, File>,
}

impl<'a> Extents<'a> {
    fn claim(&mut self, length: u64) -> u64 {
        let start = self.next;
        self.next = start.saturating_add(length).checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
        start
    }

    /// The first byte of a file, which has an extent from then on.
    fn start_of(&mut self, name: &'a str) -> u64 {
        let file = &self.shared[name];
        if file.start == u64::MAX {
            let start = self.claim(file.length);
            self.shared.get_mut(name).expect("it was there").start = start;
        }
        self.shared[name].start
    }
}

/// Moves the regions of files to their extents, and refuses those that do not fit on the drive.
fn place<'a>(
    jobs: &'a [FioJob],
    recordings: &'a Recordings,
    sizes: &BTreeMap<&'a str, u64>,
    drive: &FioDrive,
    layout: &mut Layout,
    findings: &mut Findings,
) {
    let mut extents = Extents::default();
    for (name, &length) in sizes {
        extents.shared.insert(name, File { start: u64::MAX, length });
    }
    let is_extent = |name: &str| !is_device(name) || sizes.contains_key(name);
    for (job, regions) in jobs.iter().zip(&layout.regions).filter(|(job, _)| job.iolog.is_none()) {
        for (at, name) in job.files.iter().enumerate().filter(|(_, name)| is_extent(name)) {
            let ends = regions.iter().map(|of_clone| of_clone[at].end(job));
            let length = ends.max().unwrap_or(0);
            let file = extents.shared.entry(name).or_insert(File { start: u64::MAX, length });
            file.length = file.length.max(length);
        }
    }
    for (number, job) in jobs.iter().enumerate() {
        if job.iolog.is_some() {
            for (name, end) in recordings.files(number, job) {
                let has_extent = sizes.contains_key(name);
                let start = if has_extent { extents.start_of(name) } else { 0 };
                let end = start.saturating_add(end);
                layout.span = layout.span.max(end);
                // An iolog beyond the whole drive is refused where iologs are checked.
                let is_beyond = drive.addresses == Addresses::Error && end > drive.capacity_bytes;
                if end > MOST_BYTES || (has_extent && is_beyond) {
                    refuse_files(job, end, drive, findings);
                }
            }
            continue;
        }
        for of_clone in &mut layout.regions[number] {
            for (at, region) in of_clone.iter_mut().enumerate() {
                let start = match job.files.get(at) {
                    Some(name) if is_extent(name) => extents.start_of(name),
                    Some(_) => 0,
                    None => extents.claim(region.end(job)),
                };
                region.start = start.saturating_add(region.offset);
            }
        }
        let end_of = |region: &Region| region.start.saturating_add(region.end(job) - region.offset);
        let end = layout.regions[number].iter().flatten().map(end_of).max().unwrap_or(0);
        layout.span = layout.span.max(end);
        if end > MOST_BYTES || (drive.addresses == Addresses::Error && end > drive.capacity_bytes) {
            refuse_files(job, end, drive, findings);
        }
    }
    let of_devices = extents.shared.iter().filter(|(name, _)| sizes.contains_key(*name));
    let range =
        |(name, file): (&&str, &File)| FioRange { name: (*name).to_owned(), start: file.start, bytes: file.length };
    layout.ranges = of_devices.map(range).collect();
    layout.ranges.sort_by_key(|range| range.start);
    layout.starts = layout.ranges.iter().map(|range| (range.name.clone(), range.start)).collect();
}

fn refuse_files(job: &FioJob, end: u64, drive: &FioDrive, findings: &mut Findings) {
    findings.refuse(job.place(&["size", "numjobs", "offset_increment", "offset", "read_iolog"]), || {
        if end > MOST_BYTES {
            let found = format!("files that are too large to be addressed, up to the job `{}`", job.name);
            return Refusal::new(found, format!("at most {} together", format_size(MOST_BYTES)));
        }
        let found = format!("the files of the job `{}` reach to {} of the drive", job.name, format_size(end));
        let refusal = Refusal::new(found, format!("all files within its {}", format_size(drive.capacity_bytes)));
        refusal.help("choose a larger drive, smaller files, or workload.addresses = \"wrap\" or \"scale\"")
    });
}
