//! Conversion of a recording to another format.
//!
//! The input is read twice: first to its end, so that nothing is written of a recording that is bad or that the output
//! format cannot hold; then to write it. The output takes its place when it is complete (`flashloom_files`).

use std::io::{self, BufWriter, Write};
use std::path::Path;

use flashloom_files::{NoOutput, Output, conflict};
use flashloom_units::{Problem, US, choice};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use super::fingerprint::Fingerprints;
use super::format::{Clock, fio, flashloom, ssdsim};
use super::info::scan;
use super::record::{Column, Columns, Record};
use super::{Footprint, TraceOptions, open_trace_of};
use crate::{Op, Request};

choice! {
    /// Format of a written recording.
    pub enum OutFormat {
        /// Flashloom's own CSV; holds everything.
        Flashloom = "flashloom",
        /// fio iolog, version 3; holds neither tasks nor flags, and times in microseconds.
        Fio = "fio",
        /// SSDsim's and MQSim's ASCII; holds reads and writes, neither tasks nor flags.
        Ssdsim = "ssdsim",
    }
}

impl OutFormat {
    /// The format implied by the extension of a file name, whatever its compression: `.csv` is Flashloom's own,
    /// `.iolog` and `.fio` are fio's, `.ssdsim`, `.mqsim` and `.trace` are SSDsim's.
    pub fn of_path(path: &str) -> Option<Self> {
        let path = path.strip_suffix(".gz").or_else(|| path.strip_suffix(".zst")).unwrap_or(path);
        match path.rsplit_once('.')?.1 {
            "csv" => Some(Self::Flashloom),
            "iolog" | "fio" => Some(Self::Fio),
            "ssdsim" | "mqsim" | "trace" => Some(Self::Ssdsim),
            _ => None,
        }
    }

    fn holds(self, op: Op) -> bool {
        self != Self::Ssdsim || matches!(op, Op::Read | Op::Write)
    }
}

/// Summary of a conversion.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ConvertReport {
    /// Number of requests written.
    pub requests: u64,
    /// Format that was read.
    pub from: &'static str,
    /// Format that was written.
    pub to: &'static str,
    /// Number of discards and flushes left out because the output format cannot hold them.
    pub dropped_requests: u64,
    /// Number of requests written without their task, sync, flush or FUA mark, or priority, because the output format
    /// cannot hold it.
    pub stripped_requests: u64,
    /// Number of requests whose time was truncated to the microseconds of the output.
    pub rounded_times: u64,
    /// Number of requests whose recorded latency was capped at 4.294967295 s.
    pub capped_latencies: u64,
    /// Number of bad input lines that were left out, as asked for.
    pub skipped_lines: u64,
}

/// Reason why a recording is not converted.
#[derive(Debug)]
pub enum Unconverted {
    /// The input, the options or the place of the output are wrong, and nothing was written.
    Refused(Problem),
    /// The output was opened, and then could not be written.
    Unwritten(Problem),
}

impl From<Problem> for Unconverted {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

/// Writes the recording at `input` to `output`, compressed if that ends in `.gz` or `.zst`.
///
/// Content that the output format cannot hold is an error, or is left out and counted in the report with
/// `drop_unsupported`. Times are kept if the recording's clock starts with it, else they count from the first request.
/// A recorded latency is not part of the workload: Flashloom's own format keeps it, the others are written without it.
///
/// # Errors
/// A bad input, an output that is one of the files of the input, or one that cannot be written.
pub fn convert_trace(
    input: &str,
    options: &TraceOptions,
    output: &str,
    to: OutFormat,
    drop_unsupported: bool,
) -> Result<ConvertReport, Unconverted> {
    let prints = Fingerprints::default();
    let info = scan(input, options, Footprint::Skip, prints.clone())?;
    if let Some((output, found)) = conflict(&prints.paths(), [output]) {
        return Err(Problem::file(output, found, "another file to write to").into());
    }
    if !drop_unsupported && let Some(found) = unsupported(to, info.discards, info.flushes, info.used) {
        return Err(cannot_hold(input, found, to).into());
    }
    let mut trace = open_trace_of(input, options, &info.seen)?;
    let keeps_times = trace.spec.clock == Clock::Recording;
    let base_ns = if keeps_times { info.start_ns } else { 0 };
    let mut writer = TraceWriter::with_columns(output, to, info.columns)?;
    while let Some(mut record) = trace.next_record()? {
        record.request.arrival_ns += base_ns;
        writer.write_record(&record).map_err(Unconverted::Unwritten)?;
    }
    let written = writer.finish(info.format).map_err(Unconverted::Unwritten)?;
    Ok(ConvertReport { skipped_lines: info.skipped_lines, ..written })
}

fn cannot_hold(file: &str, found: String, to: OutFormat) -> Problem {
    let expected = format!("requests that the format `{}` can hold", to.name());
    Problem::file(file, found, expected).with_help("`--drop-unsupported` leaves out what it cannot hold and counts it")
}

/// Describes what the requests have that a format cannot hold.
fn unsupported(to: OutFormat, discards: u64, flushes: u64, columns: Columns) -> Option<String> {
    if to == OutFormat::Flashloom {
        return None;
    }
    let mut parts = Vec::new();
    for (op, count, name) in [(Op::Discard, discards, "discards"), (Op::Flush, flushes, "flushes")] {
        if count > 0 && !to.holds(op) {
            parts.push(format!("{count} {name}"));
        }
    }
    let marks = [
        (Column::Task, "task ids"),
        (Column::Sync, "sync marks"),
        (Column::Flush, "flush marks"),
        (Column::Fua, "FUA marks"),
        (Column::Ioprio, "priorities"),
    ];
    parts.extend(marks.iter().filter(|(column, _)| columns.has(*column)).map(|(_, name)| (*name).to_owned()));
    (!parts.is_empty()).then(|| format!("holds {}", parts.join(", ")))
}

/// Writes a trace request by request.
pub struct TraceWriter {
    to: OutFormat,
    sink: Sink,
    writer: RecordWriter,
    /// Optional columns that the requests so far have used.
    seen: Columns,
    discards: u64,
    flushes: u64,
    report: ConvertReport,
}

impl TraceWriter {
    /// Writes to `output`, compressed if that ends in `.gz` or `.zst`; the file appears only with [`Self::finish`].
    /// Recorded latencies are left out, because they do not belong to requests served by a simulated drive. Priorities
    /// have a column if the requests have them.
    ///
    /// # Errors
    /// A problem if the file cannot be written.
    pub fn create(output: &str, to: OutFormat, has_priorities: bool) -> Result<Self, Problem> {
        let always = [Column::Task, Column::Sync, Column::Flush, Column::Fua];
        let columns = always.into_iter().chain(has_priorities.then_some(Column::Ioprio));
        Self::with_columns(output, to, Columns::of(columns))
    }

    fn with_columns(output: &str, to: OutFormat, columns: Columns) -> Result<Self, Problem> {
        let mut sink = Sink::create(output)?;
        let writer = RecordWriter::begin(to, columns, &mut sink.buffer);
        let report = ConvertReport { to: to.name(), ..ConvertReport::default() };
        Ok(Self { to, sink, writer, seen: Columns::default(), discards: 0, flushes: 0, report })
    }

    /// Writes a request, without anything that the format cannot hold.
    ///
    /// # Errors
    /// A problem if the file cannot be written.
    pub fn write(&mut self, request: &Request) -> Result<(), Problem> {
        self.write_record(&Record::of(*request))
    }

    fn write_record(&mut self, record: &Record) -> Result<(), Problem> {
        let request = &record.request;
        self.seen.see(record);
        self.discards += u64::from(request.op == Op::Discard);
        self.flushes += u64::from(request.op == Op::Flush);
        if !self.to.holds(request.op) {
            self.report.dropped_requests += 1;
            return Ok(());
        }
        self.report.requests += 1;
        let marked = request.task != 0 || request.flags != 0;
        self.report.stripped_requests += u64::from(marked && self.to != OutFormat::Flashloom);
        self.report.rounded_times += u64::from(self.to == OutFormat::Fio && !request.arrival_ns.is_multiple_of(US));
        self.report.capped_latencies += u64::from(self.writer.holds_latencies() && record.has_capped_latency());
        self.writer.write(record, &mut self.sink.buffer);
        self.sink.drain(Sink::BUFFER_BYTES)
    }

    /// Checks that the format could hold everything that was written.
    ///
    /// # Errors
    /// A problem that names what it could not hold.
    pub fn check(&self) -> Result<(), Problem> {
        let found = unsupported(self.to, self.discards, self.flushes, self.seen);
        found.map_or(Ok(()), |found| Err(cannot_hold("the workload", found, self.to)))
    }

    /// Moves the file to its place; `from` names the origin of the requests in the report.
    ///
    /// # Errors
    /// A problem if the file cannot be written.
    pub fn finish(mut self, from: &'static str) -> Result<ConvertReport, Problem> {
        self.writer.finish(&mut self.sink.buffer);
        self.sink.drain(0)?;
        self.sink.commit()?;
        Ok(ConvertReport { from, ..self.report })
    }
}

enum RecordWriter {
    Flashloom(Columns),
    Fio(fio::Writer),
    Ssdsim,
}

impl RecordWriter {
    /// Writes the header.
    fn begin(to: OutFormat, columns: Columns, out: &mut Vec<u8>) -> Self {
        match to {
            OutFormat::Flashloom => {
                flashloom::write_header(columns, out);
                Self::Flashloom(columns)
            }
            OutFormat::Fio => Self::Fio(fio::Writer::begin(out)),
            OutFormat::Ssdsim => Self::Ssdsim,
        }
    }

    fn holds_latencies(&self) -> bool {
        matches!(self, Self::Flashloom(columns) if columns.has(Column::Latency))
    }

    fn write(&mut self, record: &Record, out: &mut Vec<u8>) {
        match self {
            Self::Flashloom(columns) => flashloom::write(record, *columns, out),
            Self::Fio(writer) => writer.write(record, out),
            Self::Ssdsim => ssdsim::write(record, out),
        }
    }

    fn finish(&self, out: &mut Vec<u8>) {
        if let Self::Fio(writer) = self {
            writer.finish(out);
        }
    }
}

enum Compressed {
    Plain(BufWriter<Output>),
    Gzip(flate2::write::GzEncoder<BufWriter<Output>>),
    #[cfg(feature = "zst")]
    Zstd(zstd::Encoder<'static, BufWriter<Output>>),
}

/// The output file while it is being written.
struct Sink {
    path: String,
    file: Compressed,
    /// Bytes not yet written to the file.
    buffer: Vec<u8>,
}

impl Sink {
    const BUFFER_BYTES: usize = 256 << 10;

    fn problem(path: &str, error: &io::Error) -> Problem {
        Problem::file(path, format!("cannot be written: {error}"), "a place for a file that can be written")
    }

    fn create(path: &str) -> Result<Self, Problem> {
        let fail = |error: io::Error| Self::problem(path, &error);
        let output = Output::create(Path::new(path)).map_err(|reason| match reason {
            NoOutput::Folder => Problem::file(path, "is a directory", "the name of a file to write"),
            NoOutput::Refused(error) => fail(error),
            other => Problem::file(path, other.to_string(), "a place for a file that can be written"),
        })?;
        let file = BufWriter::new(output);
        let file = if path.ends_with(".gz") {
            Compressed::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
        } else if path.ends_with(".zst") {
            Self::zstd(path, file)?
        } else {
            Compressed::Plain(file)
        };
        Ok(Self { path: path.to_owned(), file, buffer: Vec::with_capacity(2 * Self::BUFFER_BYTES) })
    }

    #[cfg(feature = "zst")]
    fn zstd(path: &str, file: BufWriter<Output>) -> Result<Compressed, Problem> {
        let encoder = zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL);
        encoder.map(Compressed::Zstd).map_err(|error| Self::problem(path, &error))
    }

    #[cfg(not(feature = "zst"))]
    fn zstd(path: &str, _: BufWriter<Output>) -> Result<Compressed, Problem> {
        let problem = Problem::file(path, "writing .zst is not part of this build", "a build with every feature");
        Err(problem.with_help("a name in .gz is written by every build"))
    }

    /// Writes the buffer to the file once it holds more than `bytes`.
    fn drain(&mut self, bytes: usize) -> Result<(), Problem> {
        if self.buffer.len() <= bytes {
            return Ok(());
        }
        let written = match &mut self.file {
            Compressed::Plain(file) => file.write_all(&self.buffer),
            Compressed::Gzip(file) => file.write_all(&self.buffer),
            #[cfg(feature = "zst")]
            Compressed::Zstd(file) => file.write_all(&self.buffer),
        };
        self.buffer.clear();
        written.map_err(|error| Self::problem(&self.path, &error))
    }

    /// Completes the file and moves it to its place.
    fn commit(self) -> Result<(), Problem> {
        let fail = |error: io::Error| Self::problem(&self.path, &error);
        let file = match self.file {
            Compressed::Plain(file) => file,
            Compressed::Gzip(file) => file.finish().map_err(fail)?,
            #[cfg(feature = "zst")]
            Compressed::Zstd(file) => file.finish().map_err(fail)?,
        };
        file.into_inner().map_err(|error| fail(error.into_error()))?.commit().map_err(fail)
    }
}
