//! VMware vscsiStats traces in binary, versions 1 and 2, as CloudPhysics published them. Little endian.
//!
//! | version | bytes | fields in order |
//! |---|---|---|
//! | 1 | 32 | serial u32, length u32, segments u32, command u16, version u16, block u64, time u64 |
//! | 2 | 40 | command u16, version u16, serial u32, length u32, segments u32, block u64, time u64, response u64 |
//!
//! The high byte of the version field is the version. The length is in bytes, the block of 512 bytes, time and
//! response time in microseconds. The command is the SCSI opcode: the reads and writes of 6, 10, 12 and 16 bytes, UNMAP
//! and WRITE SAME as discards, SYNCHRONIZE CACHE as a flush; a record with any other is an error. Source: the trace
//! reader of libCacheSim (`vscsi.h`), written by CloudPhysics; opcodes of SBC-3.

use flashloom_units::{Problem, ProblemPlace, SECTOR_BYTES, US};

use super::{Clock, Format, FormatSpec, LatencySource, Reader};
use crate::Op;
use crate::trace::field::MAX_SECTOR;
use crate::trace::input::{Chunks, Input};
use crate::trace::record::{Part, Record, RecordSource, SkippedLines, bytes_at};

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Vscsi,
    example: "binary: records of 32 bytes (version 1) or 40 bytes (version 2)",
    source: "vscsi.h of libCacheSim, by CloudPhysics",
    latencies: LatencySource::Column,
    clock: Clock::World,
    header: &[],
    reader: Reader::Vscsi,
};

/// Offsets of the fields in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    bytes: usize,
    command: usize,
    version: usize,
    length: usize,
    block: usize,
    time: usize,
    response: Option<usize>,
    high_byte: u8,
}

const VERSION_1: Layout =
    Layout { bytes: 32, command: 12, version: 14, length: 4, block: 16, time: 24, response: None, high_byte: 1 };
const VERSION_2: Layout =
    Layout { bytes: 40, command: 0, version: 2, length: 8, block: 16, time: 24, response: Some(32), high_byte: 2 };

/// The version whose layout the first two records have, if they fit one.
pub(crate) fn version(sample: &[u8]) -> Option<Layout> {
    [VERSION_2, VERSION_1].into_iter().find(|layout| {
        let records = sample.chunks_exact(layout.bytes).take(2);
        records.len() > 0 && records.into_iter().all(|record| record[layout.version + 1] == layout.high_byte)
    })
}

/// Reads records one after another.
pub(crate) struct VscsiReader {
    input: Input,
    chunks: Chunks,
    layout: Layout,
    record: u64,
    skipped: SkippedLines,
}

impl VscsiReader {
    /// A reader from the first record on; a problem if the first records are of neither version.
    pub fn new(input: &Input, mut chunks: Chunks, skip_bad_lines: bool) -> Result<Self, Problem> {
        let layout = version(chunks.peek(2 * VERSION_2.bytes)?).ok_or_else(|| Problem {
            place: ProblemPlace::Record { record: 1, offset: 0 },
            ..Problem::file(&input.name, "the version of the first record is neither 1 nor 2", "a vscsi trace")
        })?;
        let skipped = SkippedLines::new(skip_bad_lines);
        Ok(Self { input: input.clone(), chunks, layout, record: 0, skipped })
    }

    fn place(&self, record: u64) -> ProblemPlace {
        ProblemPlace::Record { record, offset: (record - 1) * self.layout.bytes as u64 }
    }

    #[cold]
    fn refuse(&mut self, found: String, expected: &str) -> Result<(), Problem> {
        let problem = Problem { place: self.place(self.record), ..Problem::file(&self.input.name, found, expected) };
        self.skipped.refuse(problem)
    }
}

fn parse(record: &[u8], layout: &Layout) -> Result<Record, (String, &'static str)> {
    if record[layout.version + 1] != layout.high_byte {
        let found = format!("the version is {}", record[layout.version + 1]);
        return Err((found, "the version of the first record"));
    }
    let command = u16::from_le_bytes(bytes_at(record, layout.command));
    let op = match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Op::Read,
        0x0a | 0x2a | 0xaa | 0x8a => Op::Write,
        0x41 | 0x42 | 0x93 => Op::Discard,
        0x35 | 0x91 => Op::Flush,
        _ => return Err((format!("SCSI command {command:#04x}"), "a read, write, unmap or cache flush")),
    };
    let time = u64::from_le_bytes(bytes_at(record, layout.time));
    let Some(time_ns) = time.checked_mul(US) else {
        return Err((format!("the time is {time} us"), "a time of at most 584 years"));
    };
    let response = layout.response.map_or(0, |at| u64::from_le_bytes(bytes_at(record, at)));
    let (mut lba, mut sectors) = (0, 0);
    if op != Op::Flush {
        let length = u32::from_le_bytes(bytes_at(record, layout.length));
        lba = u64::from_le_bytes(bytes_at(record, layout.block));
        if op != Op::Discard && !u64::from(length).is_multiple_of(SECTOR_BYTES) {
            return Err((format!("the length is {length}"), "whole sectors of 512 bytes: the length is in bytes"));
        }
        sectors = length.div_ceil(SECTOR_BYTES as u32);
        if sectors == 0 {
            return Err(("the length is zero".to_owned(), "at least one byte"));
        }
        if lba > MAX_SECTOR - u64::from(sectors) {
            return Err((format!("the block is {lba}"), "a request that ends within 64 bits of bytes"));
        }
    }
    Ok(Record::new(time_ns, op, lba, sectors).with_latency(response.saturating_mul(US)))
}

impl RecordSource for VscsiReader {
    fn next_record(&mut self) -> Result<Option<Record>, Problem> {
        loop {
            let bytes = self.chunks.peek(self.layout.bytes)?;
            let length = bytes.len();
            if length == 0 {
                return Ok(None);
            }
            self.record += 1;
            if length < self.layout.bytes {
                let found = format!("the file ends after {length} bytes of a record");
                let expected = format!("records of {} bytes", self.layout.bytes);
                self.refuse(found, &expected)?;
                return Ok(None);
            }
            let parsed = parse(bytes, &self.layout);
            self.chunks.advance(length);
            match parsed {
                Ok(mut record) => {
                    record.origin = self.record;
                    return Ok(Some(record));
                }
                Err((found, expected)) => self.refuse(found, expected)?,
            }
        }
    }

    fn skipped(&self) -> &SkippedLines {
        &self.skipped
    }

    fn problem_at(&self, origin: u64, _: Part, found: String, expected: String) -> Problem {
        Problem { place: self.place(origin), ..Problem::file(&self.input.name, found, expected) }
    }
}
