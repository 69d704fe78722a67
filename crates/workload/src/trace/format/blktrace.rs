//! Linux blktrace in binary: one file for each CPU, merged by time.
//!
//! A record has 48 bytes: magic u32 (0x656174 and the version, 7, in the low byte), sequence u32, time u64 in ns,
//! sector u64, bytes u32, action u32, process u32, device u32, cpu u32, error u16, length of what follows u16; then as
//! many bytes, which are used of a remap alone: device above u32, device u32, sector above u64, big-endian. The byte
//! order of the rest is that of the recording machine and told from the magic number.
//!
//! The low byte of the action is the event: 1 queued by the host, 7 issued to the device; beside 7, 6 given back to be
//! issued again, and 8 completed. 15 is a remap: the next event of the device at that
//! sector is the request of another device. All others are ignored. Its high half has a bit for each property: read,
//! write, flush, sync, ..., discard, FUA. Notes of the kernel (process names, messages) and passthrough commands are
//! not requests. An action without data is a flush if the flush bit is set, and is ignored otherwise (a zone command).
//! A flush with data goes before its write. The process is the task. Flushes and FUA writes of a file system are one
//! request when queued; the kernel issues several for them to a device without FUA. Source: `blktrace_api.h` of Linux.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::Path;

use flashloom_units::{Ns, Problem, ProblemPlace, SECTOR_BYTES};

use super::{Clock, Event, Format, FormatSpec, LatencySource, Reader};
use crate::trace::field::MAX_SECTOR;
use crate::trace::input::{Chunks, Input};
use crate::trace::record::{Column, Columns, Moment, Numbering, Part, Record, RecordSource, SkippedLines, bytes_at};
use crate::{Op, Request};

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Blktrace,
    example: "binary: NAME.blktrace.0, NAME.blktrace.1, ...; name any of them, or NAME.blktrace",
    source: "blktrace_api.h of Linux",
    latencies: LatencySource::Events,
    clock: Clock::World,
    header: &[],
    reader: Reader::Blktrace,
};

const EXTENSION: &str = ".blktrace";
const HEADER_BYTES: usize = 48;
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

const QUEUED: u32 = 1;
const REQUEUED: u32 = 6;
const ISSUED: u32 = 7;
const COMPLETED: u32 = 8;
const REMAPPED: u32 = 15;

/// Bits of a device number that hold the minor number.
const MINOR_BITS: u32 = 20;

/// Bits of the high half of the action.
mod category {
    pub const WRITE: u32 = 1 << 1;
    pub const FLUSH: u32 = 1 << 2;
    pub const SYNC: u32 = 1 << 3;
    pub const PASSTHROUGH: u32 = 1 << 9;
    pub const NOTIFY: u32 = 1 << 10;
    pub const DISCARD: u32 = 1 << 13;
    pub const FUA: u32 = 1 << 15;
}

/// True if a file begins like a recording, in either byte order.
pub(crate) fn has_signature(sample: &[u8]) -> bool {
    matches!(sample, [_, 0x74, 0x61, 0x65, ..] | [0x65, 0x61, 0x74, _, ..])
}

/// The files of a recording, if `path` is one of the per-CPU files, their prefix `NAME.blktrace`, or NAME.
pub(crate) fn per_cpu_files(path: &str) -> Result<Option<Vec<String>>, Problem> {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (&path[..folder.len() + 1], name));
    let prefix = if Path::new(path).exists() {
        let Some(prefix) = prefix_of(name) else { return Ok(None) };
        prefix.to_owned()
    } else if name.ends_with(EXTENSION) {
        name.to_owned()
    } else {
        format!("{name}{EXTENSION}")
    };
    let files = siblings(folder, &prefix)?;
    Ok((!files.is_empty()).then_some(files))
}

/// `NAME.blktrace` of `NAME.blktrace.3` and `NAME.blktrace.3.zst`.
fn prefix_of(name: &str) -> Option<&str> {
    let (prefix, _) = cpu_of(name)?;
    prefix.ends_with(EXTENSION).then_some(prefix)
}

fn cpu_of(name: &str) -> Option<(&str, u32)> {
    let name = name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(name);
    let (prefix, cpu) = name.rsplit_once('.')?;
    Some((prefix, cpu.parse().ok().filter(|_| cpu.bytes().all(|digit| digit.is_ascii_digit()))?))
}

fn siblings(folder: &str, prefix: &str) -> Result<Vec<String>, Problem> {
    let Ok(entries) = std::fs::read_dir(if folder.is_empty() { "." } else { folder }) else { return Ok(Vec::new()) };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_of = |name: &String| cpu_of(name).filter(|(of, _)| *of == prefix).map(|(_, cpu)| cpu);
    let mut files: Vec<(u32, String)> = names.filter_map(|name| Some((is_of(&name)?, name))).collect();
    files.sort();
    if let Some(pair) = files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let found = format!("CPU {} is there twice, as {} and {}", pair[0].0, pair[0].1, pair[1].1);
        return Err(Problem::file(format!("{folder}{prefix}"), found, "one file for each CPU"));
    }
    Ok(files.into_iter().map(|(_, name)| format!("{folder}{name}")).collect())
}

/// Fields of a record, in the machine's byte order.
struct Entry {
    time_ns: Ns,
    sector: u64,
    bytes: u32,
    action: u32,
    process: u32,
    device: u32,
    error: u16,
    /// Device and first sector above, of a remap.
    above: Option<(u32, u64)>,
}

impl Entry {
    /// The request of a record of a chosen event. The error text says what is impossible in it.
    fn record(&self, event: Event, devices: &mut Numbering<u32>) -> Result<Option<Record>, (String, &'static str)> {
        let category = self.action >> 16;
        let is = |bit: u32| category & bit != 0;
        let moment = match self.action & 0xff {
            QUEUED if event == Event::Queue => Moment::Begins,
            ISSUED if event == Event::Issue => Moment::Begins,
            COMPLETED if event == Event::Issue && self.error == 0 => Moment::Completes,
            COMPLETED if event == Event::Issue => Moment::Fails,
            REQUEUED if event == Event::Issue => Moment::Requeued,
            REMAPPED if self.above.is_some() => Moment::HandedDown,
            _ => return Ok(None),
        };
        if is(category::NOTIFY) || is(category::PASSTHROUGH) {
            return Ok(None);
        }
        let op = match () {
            _ if self.bytes == 0 && is(category::FLUSH) => Op::Flush,
            _ if self.bytes == 0 => return Ok(None),
            _ if is(category::DISCARD) => Op::Discard,
            _ if is(category::WRITE) => Op::Write,
            _ => Op::Read,
        };
        if !u64::from(self.bytes).is_multiple_of(SECTOR_BYTES) {
            let found = format!("the length is {}", self.bytes);
            return Err((found, "whole sectors of 512 bytes: the length is in bytes"));
        }
        let sectors = self.bytes / SECTOR_BYTES as u32;
        if op != Op::Flush && self.sector > MAX_SECTOR - u64::from(sectors) {
            return Err((format!("the sector is {}", self.sector), "a request that ends within 64 bits of bytes"));
        }
        let mut record = Record::new(self.time_ns, op, if op == Op::Flush { 0 } else { self.sector }, sectors);
        let flag = |bit: u32, flag: u8| if is(bit) { flag } else { 0 };
        record.moment = moment;
        record.request.task = self.process;
        record.request.flags = flag(category::SYNC, Request::SYNC);
        if op == Op::Write {
            record.request.flags |= flag(category::FUA, Request::FUA) | flag(category::FLUSH, Request::PREFLUSH);
        }
        record.device = devices.number(&self.device, || self.device);
        Ok(Some(match self.above {
            Some((above, sector)) => record.handed_down_from((devices.number(&above, || above), sector)),
            None => record,
        }))
    }
}

/// The bytes of a number in the order of this machine.
fn ordered<const N: usize>(mut bytes: [u8; N], big_endian: bool) -> [u8; N] {
    if big_endian != cfg!(target_endian = "big") {
        bytes.reverse();
    }
    bytes
}

/// One file.
struct Stream {
    input: Input,
    chunks: Chunks,
    /// Records read so far.
    records: u64,
    /// Byte order, known from the first record on.
    big_endian: Option<bool>,
}

impl Stream {
    fn open(input: &Input) -> Result<Self, Problem> {
        Ok(Self { input: input.clone(), chunks: input.open()?, records: 0, big_endian: None })
    }

    fn problem(&self, offset: u64, found: String, expected: &str) -> Problem {
        let place = ProblemPlace::Record { record: self.records, offset };
        Problem { place, ..Problem::file(&self.input.name, found, expected) }
    }

    /// Reads the next record of any kind. `None` at the end; an error if the file breaks off or is not a blktrace.
    fn next_entry(&mut self) -> Result<Option<Entry>, Problem> {
        let offset = self.chunks.offset();
        let header = self.chunks.peek(HEADER_BYTES)?;
        if header.is_empty() {
            return Ok(None);
        }
        self.records += 1;
        let length = header.len();
        let Ok(header) = <[u8; HEADER_BYTES]>::try_from(header) else {
            let found = format!("the file ends after {length} of the {HEADER_BYTES} bytes of a record");
            return Err(self.problem(offset, found, "a whole record"));
        };
        let big_endian = *self.big_endian.get_or_insert(header[..3] == [0x65, 0x61, 0x74]);
        let number = |at| u32::from_ne_bytes(ordered(bytes_at(&header, at), big_endian));
        let wide = |at| u64::from_ne_bytes(ordered(bytes_at(&header, at), big_endian));
        let half = |at| u16::from_ne_bytes(ordered(bytes_at(&header, at), big_endian));
        let magic = number(0);
        if magic & !0xff != MAGIC {
            let found = format!("the record begins with {magic:#010x}");
            return Err(self.problem(offset, found, "the magic number of blktrace, 0x656174.."));
        }
        if magic & 0xff != VERSION {
            let found = format!("the record has version {} of blktrace", magic & 0xff);
            return Err(self.problem(offset, found, "version 7"));
        }
        let extra = usize::from(half(46));
        let entry = Entry {
            time_ns: wide(8),
            sector: wide(16),
            bytes: number(24),
            action: number(28),
            process: number(32),
            device: number(36),
            error: half(44),
            above: None,
        };
        let above = if extra > 0 { self.payload(offset, extra)? } else { None };
        let is_remap = entry.action & 0xff == REMAPPED;
        let entry = Entry { above: above.filter(|_| is_remap), ..entry };
        self.chunks.advance(HEADER_BYTES + extra);
        Ok(Some(entry))
    }

    /// Checks that the bytes behind a record's head are there, and reads them as those of a remap: the device above and
    /// its sector.
    fn payload(&mut self, offset: u64, extra: usize) -> Result<Option<(u32, u64)>, Problem> {
        let payload = &self.chunks.peek(HEADER_BYTES + extra)?[HEADER_BYTES..];
        if payload.len() < extra {
            let found = format!("the file ends after {} of the {extra} bytes that follow a record", payload.len());
            return Err(self.problem(offset, found, "a whole record"));
        }
        let Some((device, rest)) = payload.split_first_chunk::<4>() else { return Ok(None) };
        let sector = rest.get(4..).and_then(|rest| rest.first_chunk::<8>());
        Ok(sector.map(|sector| (u32::from_be_bytes(*device), u64::from_be_bytes(*sector))))
    }
}

/// Merges the streams of a recording by time, then by CPU.
pub(crate) struct BlktraceReader {
    streams: Vec<Stream>,
    /// Time and stream of the next request of each stream that has one.
    next: BinaryHeap<Reverse<(Ns, u32)>>,
    /// The last request or remap read of each stream; of a stream in `next`, that one.
    heads: Vec<Record>,
    event: Event,
    devices: Numbering<u32>,
    skipped: SkippedLines,
}

/// Low bits of an origin that hold the record's number; the stream's number is above them.
const RECORD_BITS: u32 = 40;

impl BlktraceReader {
    pub fn new(inputs: &[Input], event: Event, skip_bad_lines: bool) -> Result<Self, Problem> {
        let streams = inputs.iter().map(Stream::open).collect::<Result<Vec<_>, _>>()?;
        let (next, heads) = (BinaryHeap::new(), vec![Record::new(0, Op::Flush, 0, 0); streams.len()]);
        let (devices, skipped) = (Numbering::default(), SkippedLines::new(skip_bad_lines));
        let mut reader = Self { streams, next, heads, event, devices, skipped };
        for stream in 0..inputs.len() {
            if let Some(time_ns) = reader.advance(stream)? {
                reader.next.push(Reverse((time_ns, stream as u32)));
            }
        }
        Ok(reader)
    }

    /// Reads a stream up to its next request, and returns the time of that.
    fn advance(&mut self, index: usize) -> Result<Option<Ns>, Problem> {
        let stream = &mut self.streams[index];
        loop {
            let offset = stream.chunks.offset();
            let entry = match stream.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => return Ok(None),
                // What follows a record that breaks off or is none cannot be found, so the stream ends with it.
                Err(problem) => return self.skipped.refuse(problem).map(|()| None),
            };
            match entry.record(self.event, &mut self.devices) {
                Ok(Some(mut record)) => {
                    record.origin = (index as u64) << RECORD_BITS | stream.records;
                    self.heads[index] = record;
                    return Ok(Some(entry.time_ns));
                }
                Ok(None) => {}
                Err((found, expected)) => {
                    self.skipped.refuse(stream.problem(offset, found, expected))?;
                }
            }
        }
    }
}

impl RecordSource for BlktraceReader {
    fn next_record(&mut self) -> Result<Option<Record>, Problem> {
        let Some(&Reverse((_, stream))) = self.next.peek() else { return Ok(None) };
        let record = self.heads[stream as usize];
        let following = self.advance(stream as usize);
        let mut first = self.next.peek_mut().expect("the stream was found at the top");
        match following {
            // In place: requests of one CPU often follow one another, and the heap is then left as it is.
            Ok(Some(time_ns)) => *first = Reverse((time_ns, stream)),
            Ok(None) | Err(_) => drop(PeekMut::pop(first)),
        }
        following.map(|_| Some(record))
    }

    fn skipped(&self) -> &SkippedLines {
        &self.skipped
    }

    fn device_name(&self, device: u32) -> String {
        let number = self.devices.key(device).copied().unwrap_or_default();
        format!("{},{}", number >> MINOR_BITS, number & ((1 << MINOR_BITS) - 1))
    }

    fn columns(&self) -> Columns {
        Columns::of([Column::Task])
    }

    fn problem_at(&self, origin: u64, _: Part, found: String, expected: String) -> Problem {
        let (stream, record) = (&self.streams[(origin >> RECORD_BITS) as usize], origin & ((1 << RECORD_BITS) - 1));
        let mut problem = Problem::file(&stream.input.name, found, expected);
        let Ok(mut again) = Stream::open(&stream.input) else { return problem };
        for _ in 1..record {
            let _ = again.next_entry();
        }
        problem.place = ProblemPlace::Record { record, offset: again.chunks.offset() };
        problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes a record in the given byte order.
    fn record(big_endian: bool, time_ns: u64, sector: u64, bytes: u32, action: u32, extra: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = |number: u64, length: usize| {
            let (big, little) = (number.to_be_bytes(), number.to_le_bytes());
            out.extend_from_slice(if big_endian { &big[8 - length..] } else { &little[..length] });
        };
        [MAGIC | VERSION, 1].into_iter().for_each(|word| put(word.into(), 4));
        [time_ns, sector].into_iter().for_each(|number| put(number, 8));
        [bytes, action, 42, 0x0080_0010, 0].into_iter().for_each(|word| put(word.into(), 4));
        [0, extra.len() as u64].into_iter().for_each(|half| put(half, 2));
        out.extend_from_slice(extra);
        out
    }

    fn records(parts: &[Vec<u8>], event: Event) -> Result<Vec<Record>, Problem> {
        let inputs: Vec<_> = parts.iter().map(|part| Input::memory("t.blktrace.0", part[..].into())).collect();
        let mut reader = BlktraceReader::new(&inputs, event, false)?;
        std::iter::from_fn(|| reader.next_record().transpose()).collect()
    }

    fn all(parts: &[Vec<u8>], event: Event) -> Result<Vec<Request>, Problem> {
        Ok(records(parts, event)?.into_iter().map(|record| record.request).collect())
    }

    const WRITE_QUEUED: u32 = category::WRITE << 16 | QUEUED;

    #[test]
    fn both_byte_orders_are_read_and_merged_by_time() {
        let little =
            [record(false, 10, 8, 4096, WRITE_QUEUED, &[]), record(false, 30, 16, 512, QUEUED, b"abc")].concat();
        let big = [
            record(true, 20, 1 << 33, 512, WRITE_QUEUED, &[]),
            record(true, 25, 0, 0, category::NOTIFY << 16 | QUEUED, b"cfq"),
        ];
        let requests = all(&[little, big.concat()], Event::Queue).unwrap();
        let seen: Vec<_> = requests.iter().map(|r| (r.arrival_ns, r.op, r.lba, r.sectors, r.task)).collect();
        assert_eq!(seen, [(10, Op::Write, 8, 8, 42), (20, Op::Write, 1 << 33, 1, 42), (30, Op::Read, 16, 1, 42)]);
    }

    #[test]
    fn bits_of_the_action_make_flushes_discards_and_flags() {
        let of = |bits: u32, bytes: u32| {
            let requests = all(&[record(false, 0, 8, bytes, bits << 16 | ISSUED, &[])], Event::Issue).unwrap();
            requests.first().map(|request| (request.op, request.flags))
        };
        use category::*;
        assert_eq!(of(FLUSH | SYNC | WRITE, 0), Some((Op::Flush, Request::SYNC)));
        assert_eq!(of(FLUSH | WRITE | FUA, 512), Some((Op::Write, Request::PREFLUSH | Request::FUA)));
        assert_eq!(of(DISCARD | WRITE, 512), Some((Op::Discard, 0)));
        assert_eq!(of(PASSTHROUGH, 512), None);
        assert_eq!(of(0, 0), None);
        assert_eq!(all(&[record(false, 0, 8, 512, WRITE_QUEUED, &[])], Event::Issue).unwrap(), []);
    }

    #[test]
    fn completions_are_read_beside_issues_alone() {
        let end = |big_endian, time_ns, error: u16| {
            let mut bytes = record(big_endian, time_ns, 8, 512, category::WRITE << 16 | COMPLETED, &[]);
            bytes[44..46].copy_from_slice(&if big_endian { error.to_be_bytes() } else { error.to_le_bytes() });
            bytes
        };
        for big_endian in [false, true] {
            let issue = record(big_endian, 1, 8, 512, category::WRITE << 16 | ISSUED, &[]);
            let bytes = [issue, end(big_endian, 5, 0), end(big_endian, 6, 5)].concat();
            let moments = |event| {
                let read = records(std::slice::from_ref(&bytes), event).unwrap();
                read.iter().map(|record| (record.request.arrival_ns, record.moment)).collect::<Vec<_>>()
            };
            assert_eq!(moments(Event::Queue), []);
            assert_eq!(moments(Event::Issue), [(1, Moment::Begins), (5, Moment::Completes), (6, Moment::Fails)]);
        }
    }

    #[test]
    fn a_file_that_breaks_off_names_record_and_byte() {
        let whole = [record(false, 1, 8, 512, WRITE_QUEUED, b"xy"), record(false, 2, 8, 512, WRITE_QUEUED, b"xy")];
        for cut in [1, 2, 3, 40] {
            let bytes = whole.concat();
            let problem = all(&[bytes[..bytes.len() - cut].to_vec()], Event::Queue).unwrap_err();
            assert_eq!(problem.location(), "t.blktrace.0: record 2, byte 50", "{cut} bytes cut");
        }
    }

    #[test]
    fn another_magic_number_or_version_is_refused() {
        let mut bytes = record(false, 1, 8, 512, WRITE_QUEUED, &[]);
        bytes[0] = 8;
        assert!(all(&[bytes.clone()], Event::Queue).unwrap_err().refusal.found.contains("version 8"));
        bytes[1] = 0;
        assert!(all(&[bytes], Event::Queue).unwrap_err().refusal.found.contains("begins with"));
    }

    #[test]
    fn names_of_per_cpu_files_are_taken_apart() {
        assert_eq!(prefix_of("a.blktrace.3"), Some("a.blktrace"));
        assert_eq!(prefix_of("a.blktrace.12.zst"), Some("a.blktrace"));
        assert_eq!(prefix_of("a.csv.3"), None);
        assert_eq!(prefix_of("a.blktrace.+3"), None);
        assert_eq!(prefix_of("a.blktrace"), None);
    }
}
