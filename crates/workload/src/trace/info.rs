//! Summary of a whole recording, made in one pass that checks every line.

use std::collections::{BTreeMap, BTreeSet};

use flashloom_units::{Ns, Problem, SECTOR_BYTES};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use super::devices::{DeviceInfo, Tally, ranges};
use super::fingerprint::{Fingerprint, Fingerprints};
use super::footprint::TouchedPages;
use super::input::Input;
use super::pairing::Pairs;
use super::record::{Column, Columns, Record};
use super::{LatencySource, SkippedLines, Trace, TraceOptions, scan_latencies};
use crate::{Op, Request};

/// Choice whether to compute the footprint, which takes time, and memory that grows with the address space touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footprint {
    /// Compute the footprint.
    Count,
    /// Leave the footprint out.
    Skip,
}

/// Summary of a recording. Figures of a recording of several devices are sums over all of them, each at its own
/// addresses.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TraceInfo {
    /// Number of requests.
    pub requests: u64,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Number of discards.
    pub discards: u64,
    /// Number of flushes without data. A write preceded by a flush counts as a write.
    pub flushes: u64,
    /// Number of writes that are durable when they complete (FUA).
    pub fua_writes: u64,
    /// Number of writes preceded by a flush (PREFLUSH). One with both marks counts in both.
    pub preflush_writes: u64,
    /// Bytes transferred by reads.
    pub read_bytes: u64,
    /// Bytes transferred by writes.
    pub write_bytes: u64,
    /// Bytes of the distinct 4 KiB pages that reads and writes touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footprint_bytes: Option<u64>,
    /// Bytes from address zero to the end of the last sector that any request names: the smallest capacity that holds
    /// it.
    pub span_bytes: u64,
    /// Time from the first arrival to the last.
    pub duration_ns: Ns,
    /// Share of the reads and writes after the first that begin where the read or write before them ended.
    pub sequential_share: f64,
    /// Format of the recording.
    pub format: &'static str,
    /// Event taken as a request, for a format that has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<&'static str>,
    /// Lowest sector that any request names; the maximum number if none does.
    #[serde(skip)]
    pub first_sector: u64,
    /// True if the requests carry task ids.
    pub has_task_ids: bool,
    /// True if the requests have recorded latencies: of their own, or by the completions of issued requests.
    pub has_latencies: bool,
    /// Issued requests and their completions, of a format that has events; counted with the footprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Pairs>,
    /// Devices of the recording, in the order of their numbers.
    pub devices: Vec<DeviceInfo>,
    /// Devices that the scan knew to have requests from its start; empty unless a first scan found some too late.
    #[serde(skip)]
    pub(crate) seen: BTreeSet<u32>,
    /// Devices that have requests, if the scan counted requests handed down by one of them before it saw that one's
    /// own.
    #[serde(skip)]
    seen_too_late: Option<BTreeSet<u32>>,
    /// First sector of the range of each device that is replayed in one of its own.
    #[serde(skip)]
    pub(crate) ranges: BTreeMap<u32, u64>,
    /// Number of bad lines left out, as asked for.
    pub skipped_lines: u64,
    /// Problems of the first few of those lines.
    #[serde(skip)]
    pub skipped: SkippedLines,
    /// Optional columns of the requests, beside time, operation and address.
    #[serde(skip)]
    pub(crate) columns: Columns,
    /// Those in which some request has a value.
    #[serde(skip)]
    pub(crate) used: Columns,
    /// Fingerprints of the recording's files.
    #[serde(skip)]
    pub files: Vec<Fingerprint>,
    /// Time of the first request on the recording's clock.
    #[serde(skip)]
    pub(crate) start_ns: Ns,
}

impl TraceInfo {
    /// The sector after the last one that any request names.
    pub fn end_sector(&self) -> u64 {
        self.span_bytes / SECTOR_BYTES
    }

    /// Summary of the replay of every device in a range of its own.
    pub(crate) fn in_ranges(&self) -> Self {
        let (ranges, end) = ranges(&self.devices);
        Self { ranges, span_bytes: end * SECTOR_BYTES, ..self.clone() }
    }

    /// First sector of the range of each device by its name, if they are replayed in ranges of their own.
    pub fn device_ranges(&self) -> impl Iterator<Item = (&str, u64)> {
        let start = |device: &DeviceInfo| self.ranges.get(&device.number).copied();
        self.devices.iter().filter_map(move |device| Some((device.name.as_str(), start(device)?)))
    }

    /// Adds a request to the sums.
    fn add(&mut self, record: &Record) {
        let request = &record.request;
        let bytes = u64::from(request.sectors) * SECTOR_BYTES;
        self.requests += 1;
        self.span_bytes = self.span_bytes.max(request.end() * SECTOR_BYTES);
        self.duration_ns = request.arrival_ns;
        self.used.see(record);
        match request.op {
            Op::Read => {
                self.reads += 1;
                self.read_bytes += bytes;
            }
            Op::Write => {
                self.writes += 1;
                self.write_bytes += bytes;
                self.fua_writes += u64::from(request.has(Request::FUA));
                self.preflush_writes += u64::from(request.has(Request::PREFLUSH));
            }
            Op::Discard => self.discards += 1,
            Op::Flush => {
                self.flushes += 1;
                return;
            }
        }
        self.first_sector = self.first_sector.min(request.lba);
    }
}

/// Reads a recording to its end and summarises it. A bad line is an error unless bad lines are skipped.
pub fn scan_trace(path: &str, options: &TraceOptions, footprint: Footprint) -> Result<TraceInfo, Problem> {
    scan(path, options, footprint, Fingerprints::default())
}

/// [`scan_trace`] that notes the files that were read in `prints`.
pub(super) fn scan(
    path: &str,
    options: &TraceOptions,
    footprint: Footprint,
    prints: Fingerprints,
) -> Result<TraceInfo, Problem> {
    let info = scan_with(path, options, footprint, prints.clone(), BTreeSet::new())?;
    // A recording that begins in mid-load has requests of a volume at its disk before the volume's first.
    match info.seen_too_late {
        Some(seen) => scan_with(path, options, footprint, prints, seen),
        None => Ok(info),
    }
}

/// Scans a recording. `seen` are devices that are known to have requests.
fn scan_with(
    path: &str,
    options: &TraceOptions,
    footprint: Footprint,
    prints: Fingerprints,
    seen: BTreeSet<u32>,
) -> Result<TraceInfo, Problem> {
    let mut trace = Trace::open(&Input::file(path).hashed(&prints), options, &seen)?;
    let mut info = TraceInfo {
        format: trace.format().name(),
        event: trace.event().map(|event| event.name()),
        columns: trace.columns(),
        first_sector: u64::MAX,
        start_ns: trace.start_ns,
        seen,
        ..TraceInfo::default()
    };
    let counts = footprint == Footprint::Count;
    let (mut tally, mut touched) = (Tally::default(), BTreeMap::<u32, TouchedPages>::new());
    // Device and sector at which the last read or write ended, and how many begin where the one before them ended.
    let (mut last_end, mut sequential) = (None, 0u64);
    while let Some(record) = trace.next_record()? {
        let Record { request, device, .. } = &record;
        info.add(&record);
        tally.add(&record);
        if matches!(request.op, Op::Read | Op::Write) {
            sequential += u64::from(last_end == Some((*device, request.lba)));
            last_end = Some((*device, request.end()));
            if counts {
                touched.entry(*device).or_default().touch(request);
            }
        }
    }
    // Of a recording without a completion nothing can be paired: that is no fault of the summary.
    let has_events = trace.format().spec().latencies == LatencySource::Events;
    let completions = TraceOptions { completions: true, ..options.clone() };
    let paired = if counts && has_events { scan_latencies(path, &completions, None).ok() } else { None };
    info.pairs = paired.and_then(|scan| scan.pairs);
    info.footprint_bytes = counts.then(|| touched.values().map(TouchedPages::bytes).sum());
    info.sequential_share = sequential as f64 / (info.reads + info.writes).saturating_sub(1).max(1) as f64;
    info.columns = info.columns.with(info.used);
    info.has_task_ids = trace.has_task_ids();
    info.has_latencies = info.columns.has(Column::Latency) || info.pairs.is_some_and(|pairs| pairs.paired > 0);
    info.devices = trace.devices(&tally);
    info.seen_too_late = trace.seen_too_late();
    info.skipped = trace.skipped().clone();
    info.skipped_lines = info.skipped.count;
    info.files = prints.into_list();
    Ok(info)
}
