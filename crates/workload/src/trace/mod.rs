//! Recordings (traces): opening one in any format, reading it as a stream, summarising it, writing it in another
//! format.

mod ahead;
pub(crate) mod convert;
pub(crate) mod devices;
mod digits;
pub(crate) mod field;
mod fingerprint;
mod footprint;
pub(crate) mod format;
mod info;
pub(crate) mod input;
mod latencies;
mod pairing;
pub(crate) mod record;
mod replicate;
pub(crate) mod text;
mod units;
mod zst;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flashloom_files::limit_of;
use flashloom_units::{Ns, Problem, choice};

pub use convert::{ConvertReport, OutFormat, TraceWriter, Unconverted, convert_trace};
pub use devices::{ALL_DEVICES, DeviceInfo};
pub use fingerprint::Fingerprint;
pub(crate) use footprint::TouchedPages;
pub use format::flashloom::LOG_COLUMNS;
pub use format::{FORMATS, Format, FormatSpec};
pub use info::{Footprint, TraceInfo, scan_trace};
pub use latencies::{LatencySource, RecordedLatencies, scan_latencies};
pub use pairing::Pairs;
pub use record::SkippedLines;
pub(crate) use replicate::Replicate;
pub use units::{SizeUnit, TimeUnit};

use crate::{Op, Request, Source};
use devices::{Chosen, Tally, Volumes};
use format::Reader;
use input::Input;
use pairing::{Pairing, Requeues};
use record::{Column, Columns, Moment, Part, Record, RecordSource};
use units::Units;

choice! {
    /// Event of the kernel's block layer that counts as a request.
    pub enum Event {
        /// Requests of the host, before merging; if a recording has no such events, the issued ones.
        Queue = "queue",
        /// Requests that the recorded scheduler sent to the device.
        Issue = "issue",
    }
}

impl Default for Event {
    /// That of `workload.event`.
    fn default() -> Self {
        Self::Queue
    }
}

/// Options for reading a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// Format; detected from the content if it is `None`.
    pub format: Option<Format>,
    /// Event that counts as a request, in the formats that have several.
    pub event: Event,
    /// Pair the issued requests of blktrace and blkparse with their completions: the time between is their recorded
    /// latency, and `event` has no effect. Other formats have latencies of their own, or none.
    pub completions: bool,
    /// Sort the requests by time. All of them are then held in memory, 48 bytes each, up to a limit ([`SORT_LIMIT`]).
    pub sort: bool,
    /// Leave out and count bad lines, instead of refusing the recording.
    pub skip_bad_lines: bool,
    /// Read the requests of this device alone, by its name in the recording ([`DeviceInfo::name`]).
    pub device: Option<String>,
    /// Unit of addresses and sizes; that of the format if it is `None`. For the formats of five columns.
    pub size_unit: Option<SizeUnit>,
    /// Unit of the times, likewise.
    pub time_unit: Option<TimeUnit>,
}

impl TraceOptions {
    /// The event that readers return as a request. Beside issues they return completions, without which an extent that
    /// is issued twice could not be told from two requests.
    fn event(&self) -> Event {
        if self.completions { Event::Issue } else { self.event }
    }

    fn units(&self) -> Units {
        Units { size: self.size_unit, time: self.time_unit }
    }
}

/// A recording that is being read. The first request arrives at time zero. Requests of several devices come in one
/// stream, with the addresses that each has on its own device, unless [`TraceOptions::device`] chooses one.
pub struct Trace {
    spec: &'static FormatSpec,
    event: Option<Event>,
    reader: Box<dyn RecordSource>,
    /// The device whose records are read, if one was chosen.
    chosen: Option<Chosen>,
    /// Counts requests once that devices hand down, of a format that has events, unless one device was chosen.
    volumes: Option<Volumes>,
    /// First sector of the range that each device's requests are moved to, by its number; empty if they stay.
    ranges: BTreeMap<u32, u64>,
    /// The remaining records, if they were sorted.
    sorted: Option<std::vec::IntoIter<Record>>,
    /// Pairs requests with their completions, if that was asked for.
    pairing: Option<Pairing>,
    /// Drops repeated issues, if issues are read and not paired.
    requeues: Option<Requeues>,
    /// The first request, until it is taken.
    first: Option<Record>,
    /// Time of the first request on the recording's clock.
    pub(crate) start_ns: Ns,
    /// Time of the last record that was read, on the recording's clock.
    last_ns: Ns,
    /// Origin of the last record that was read or taken.
    origin: u64,
    /// Device of the last request that was taken.
    last_device: u32,
}

/// Opens a recording. `path` names a file, or for blktrace any of the per-CPU files or their prefix.
pub fn open_trace(path: &str, options: &TraceOptions) -> Result<Trace, Problem> {
    Trace::open(&Input::file(path), options, &BTreeSet::new())
}

/// [`open_trace`] with the devices that are known to have requests ([`TraceInfo::seen`]).
pub(crate) fn open_trace_of(path: &str, options: &TraceOptions, seen: &BTreeSet<u32>) -> Result<Trace, Problem> {
    Trace::open(&Input::file(path), options, seen)
}

/// Reads a recording from memory; `name` stands for the file in errors.
pub fn read_trace(name: &str, bytes: Arc<[u8]>, options: &TraceOptions) -> Result<Trace, Problem> {
    Trace::open(&Input::memory(name, bytes), options, &BTreeSet::new())
}

fn open_reader(input: &Input, options: &TraceOptions) -> Result<(&'static FormatSpec, Box<dyn RecordSource>), Problem> {
    let may_be_blktrace = options.format.is_none_or(|format| format == Format::Blktrace);
    if may_be_blktrace
        && input.is_file()
        && let Some(files) = format::blktrace::per_cpu_files(&input.name)?
    {
        let files: Vec<Input> = files.into_iter().map(|file| input.sibling(file)).collect();
        let reader = format::blktrace::BlktraceReader::new(&files, options.event(), options.skip_bad_lines)?;
        return Ok((Format::Blktrace.spec(), Box::new(reader)));
    }
    let mut chunks = input.open()?;
    if chunks.peek(1)?.is_empty() {
        let problem = Problem::file(&input.name, "is empty", "a trace of at least one request");
        let is_read_once = input.is_file() && !std::path::Path::new(&input.name).is_file();
        let help = "a pipe can be read only once, and a run reads its recording twice: write it to a file";
        return Err(if is_read_once { problem.with_help(help) } else { problem });
    }
    if let Some(problem) = format::container(&input.name, &mut chunks)? {
        return Err(problem);
    }
    let detected = format::detect(&mut chunks)?;
    let Some(format) = options.format.or(detected) else { return Err(format::unknown(&input.name, &mut chunks)?) };
    let (spec, units) = (format.spec(), options.units());
    if units.are_said() && !spec.has_units() {
        let found = format!("the units of the columns are said of the format `{}`, which has its own", spec.name());
        let expected = "`size_unit` and `time_unit` for `disksim` and `ssdsim`, whose columns other programs write too";
        return Err(Problem::file(&input.name, found, expected));
    }
    if options.format.is_none()
        && spec.has_units()
        && let Some(problem) = format::five_columns::ambiguous(&input.name, &mut chunks, format, units)?
    {
        return Err(problem);
    }
    let looks_like = detected.filter(|&detected| detected != format);
    let hinted = |problem: Problem| match looks_like {
        Some(format) => problem.with_help(format!("the content looks like the format `{}`", format.name())),
        None => problem,
    };
    let skip = options.skip_bad_lines;
    let reader: Box<dyn RecordSource> = match spec.reader {
        Reader::Text(parser) => {
            let parser = parser(options.event(), units);
            Box::new(text::TextReader::new(input, chunks, spec, parser, skip, looks_like))
        }
        Reader::Vscsi => Box::new(format::vscsi::VscsiReader::new(input, chunks, skip).map_err(hinted)?),
        Reader::Blktrace => {
            let inputs = std::slice::from_ref(input);
            Box::new(format::blktrace::BlktraceReader::new(inputs, options.event(), skip).map_err(hinted)?)
        }
    };
    Ok((spec, reader))
}

impl Trace {
    fn open(input: &Input, options: &TraceOptions, seen: &BTreeSet<u32>) -> Result<Self, Problem> {
        let mut trace = Self::unread(input, options, seen)?;
        let mut first = trace.next_recorded()?;
        if first.is_none() && trace.event == Some(Event::Queue) {
            trace = Self::unread(input, &TraceOptions { event: Event::Issue, ..options.clone() }, seen)?;
            first = trace.next_recorded()?;
        }
        let Some(first) = first else {
            let queued = TraceOptions { event: Event::Queue, completions: false, ..options.clone() };
            let is_queued =
                trace.event == Some(Event::Issue) && Self::unread(input, &queued, seen)?.next_recorded()?.is_some();
            return Err(if is_queued { not_issued(input) } else { trace.no_requests(input) });
        };
        (trace.first, trace.start_ns) = (Some(first), first.request.arrival_ns);
        Ok(trace)
    }

    /// A recording of which no request has been taken.
    fn unread(input: &Input, options: &TraceOptions, seen: &BTreeSet<u32>) -> Result<Self, Problem> {
        let (spec, mut reader) = open_reader(input, options)?;
        let has_events = spec.latencies == LatencySource::Events;
        let event = has_events.then_some(options.event());
        let pairing = (has_events && options.completions).then(Pairing::default);
        let is_issued = event == Some(Event::Issue);
        let requeues = (is_issued && pairing.is_none()).then(Requeues::default);
        let mut chosen = options.device.clone().map(Chosen::new);
        let volumes = (has_events && chosen.is_none()).then(|| Volumes::new(seen.clone()));
        let mut sorted = None;
        if options.sort {
            let limit = sort_limit(&input.name)?;
            let mut records = Vec::new();
            while let Some(record) = reader.next_record()? {
                if chosen.as_mut().is_some_and(|chosen| !chosen.admits(&record, &*reader)) {
                    continue;
                }
                if records.len() as u64 >= limit {
                    return Err(too_many_in_memory(&input.name, limit, "to sort"));
                }
                records.push(record);
            }
            records.sort_by_key(|record| record.request.arrival_ns);
            sorted = Some(records.into_iter());
        }
        Ok(Self {
            spec,
            event,
            reader,
            chosen,
            volumes,
            ranges: BTreeMap::new(),
            sorted,
            pairing,
            requeues,
            first: None,
            start_ns: 0,
            last_ns: 0,
            origin: 0,
            last_device: 0,
        })
    }

    /// Format of the recording.
    pub fn format(&self) -> Format {
        self.spec.format
    }

    /// Event that counts as a request, for a format that has several.
    pub fn event(&self) -> Option<Event> {
        self.event
    }

    /// Device of the last request, by its number ([`DeviceInfo::number`]).
    pub fn device(&self) -> u32 {
        self.last_device
    }

    /// Bad lines left out so far.
    pub fn skipped(&self) -> &SkippedLines {
        self.reader.skipped()
    }

    /// True if the requests carry task ids.
    pub fn has_task_ids(&self) -> bool {
        self.columns().has(Column::Task)
    }

    /// Optional columns of the requests, beside time, operation and address.
    pub(crate) fn columns(&self) -> Columns {
        self.reader.columns()
    }

    /// The devices of the requests that were added to a tally, and of those that were left out.
    pub(crate) fn devices(&self, tally: &Tally) -> Vec<DeviceInfo> {
        let none = BTreeMap::new();
        tally.finish(self.volumes.as_ref().map_or(&none, Volumes::handed_down), &*self.reader)
    }

    /// All devices that have requests, if any of them is above a request that was counted before it was seen.
    pub(crate) fn seen_too_late(&self) -> Option<BTreeSet<u32>> {
        self.volumes.as_ref()?.seen_too_late()
    }

    /// Moves every device's requests to a range of its own, as [`devices::ranges`] lays them.
    pub(crate) fn in_ranges(self, ranges: BTreeMap<u32, u64>) -> Self {
        Self { ranges, ..self }
    }

    /// Name of a device that a request so far is of, in the recording.
    pub(crate) fn device_name(&self, device: u32) -> String {
        self.reader.device_name(device)
    }

    /// Counts of requests and completions that were paired so far, if pairs were asked for and the format has them.
    pub fn pairs(&self) -> Option<Pairs> {
        self.pairing.as_ref().map(Pairing::pairs)
    }

    /// Reads the next request, its time counted from the first.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record>, Problem> {
        let next = match self.first.take() {
            Some(first) => Some(first),
            None => self.next_recorded()?,
        };
        let Some(mut record) = next else { return Ok(None) };
        self.origin = record.origin;
        self.last_device = record.device;
        record.request.arrival_ns -= self.start_ns;
        if record.request.arrival_ns > Request::LAST_ARRIVAL_NS {
            return Err(self.too_late(record.request.arrival_ns));
        }
        Ok(Some(record))
    }

    /// Reads the next request, on the recording's clock.
    #[inline]
    fn next_recorded(&mut self) -> Result<Option<Record>, Problem> {
        if self.pairing.is_some() { self.next_paired() } else { self.next_in_time() }
    }

    fn next_paired(&mut self) -> Result<Option<Record>, Problem> {
        loop {
            let pairing = self.pairing.as_mut().expect("the caller has seen it");
            if let Some(record) = pairing.next() {
                return Ok(Some(record));
            }
            let record = self.next_in_time()?;
            let pairing = self.pairing.as_mut().expect("it stays");
            match record {
                Some(record) => pairing.take(record),
                None => {
                    pairing.end();
                    return Ok(pairing.next());
                }
            }
        }
    }

    /// Reads the next record of a request that is read, which is not before the last one.
    #[inline]
    fn next_in_time(&mut self) -> Result<Option<Record>, Problem> {
        loop {
            let next = match &mut self.sorted {
                Some(sorted) => sorted.next(),
                None => self.reader.next_record()?,
            };
            let Some(record) = next else { return Ok(None) };
            if let Some(chosen) = &mut self.chosen
                && !chosen.admits(&record, &*self.reader)
            {
                continue;
            }
            let time_ns = record.request.arrival_ns;
            if time_ns < self.last_ns {
                self.origin = record.origin;
                return Err(self.backwards(time_ns));
            }
            self.last_ns = time_ns;
            if self.event.is_none() || self.counts(&record) {
                return Ok(Some(record));
            }
        }
    }

    /// True for an event of a request that is read.
    fn counts(&mut self, record: &Record) -> bool {
        let is_highest = match &mut self.volumes {
            Some(volumes) => volumes.admits(record),
            None => record.moment != Moment::HandedDown,
        };
        is_highest && self.requeues.as_mut().is_none_or(|requeues| requeues.admits(record))
    }

    /// Nothing is left of the recording.
    fn no_requests(&self, input: &Input) -> Problem {
        if let Some(chosen) = self.chosen.as_ref().filter(|chosen| chosen.has_others()) {
            return chosen.missing(&input.name, &*self.reader);
        }
        let skipped = self.skipped();
        let problem = Problem::file(&input.name, "holds no request", "a trace of at least one request");
        match skipped.first.first() {
            Some(first) => {
                let (count, at, found) = (skipped.count, first.location(), &first.refusal.found);
                problem.with_help(format!("{count} bad lines were skipped, the first at {at}: {found}"))
            }
            None => problem,
        }
    }

    #[cold]
    fn too_late(&self, arrival_ns: Ns) -> Problem {
        let found = format!("{arrival_ns} ns after the first request");
        let expected = format!("a time at most {} ns (146 years) after the first", Request::LAST_ARRIVAL_NS);
        self.reader.problem_at(self.origin, Part::Time, found, expected)
    }

    #[cold]
    fn backwards(&self, time_ns: Ns) -> Problem {
        let found = format!("the time goes back by {} ns", self.last_ns - time_ns);
        let expected = "a time that is not before that of the request above it".to_owned();
        let problem = self.reader.problem_at(self.origin, Part::Time, found, expected);
        problem.with_help("`--sort` (workload.sort = true) orders the requests by time")
    }
}

impl Source for Trace {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        let Some(Record { mut request, device, .. }) = self.next_record()? else { return Ok(None) };
        if !self.ranges.is_empty()
            && let Some(start) = self.ranges.get(&device)
            && request.op != Op::Flush
        {
            request.lba += start;
        }
        Ok(Some(request))
    }

    fn address_problem(&self, found: String, expected: String) -> Problem {
        self.reader.problem_at(self.origin, Part::Address, found, expected)
    }
}

/// A recording has queued requests and no issued ones.
fn not_issued(input: &Input) -> Problem {
    let found = "holds queued requests (Q), and none that was issued (D)";
    let problem = Problem::file(&input.name, found, "a recording of issues and completions (D and C)");
    problem
        .with_help("blktrace records them unless a mask (-a) leaves them out; `workload.event = \"queue\"` replays Q")
}

/// Number of requests that are sorted, or replayed by several fio jobs, at most: 384 MB.
pub const SORT_LIMIT: u64 = 8_000_000;

/// Variable with another limit, for the user who has the memory.
pub const SORT_LIMIT_VARIABLE: &str = "FLASHLOOM_SORT_LIMIT";

/// Number of requests that are held in memory at most; `name` is that of the recording in errors.
pub(crate) fn sort_limit(name: &str) -> Result<u64, Problem> {
    let refuse = |value| Problem::file(name, format!("{SORT_LIMIT_VARIABLE} is `{value}`"), "a number of requests");
    limit_of(SORT_LIMIT_VARIABLE, SORT_LIMIT).map_err(refuse)
}

/// A recording has more requests than are held in memory; `purpose` says what they would be held for.
pub(crate) fn too_many_in_memory(name: &str, limit: u64, purpose: &str) -> Problem {
    let found = format!("more than {limit} requests {purpose}, which take 48 bytes each in memory");
    let problem = Problem::file(name, found, "a shorter recording");
    problem.with_help(format!("{SORT_LIMIT_VARIABLE} (requests) raises the limit"))
}
