//! Sysinternals DiskMon's saved logs: number, time, duration, disk, `Read` or `Write`, first sector, sectors; separated
//! by tabs, lines end in CR LF.
//!
//! Time and duration are in seconds, the time from the start of the recording. Sectors are of 512 bytes. The running
//! number is not used. Source: the help of DiskMon 2.01 (Sysinternals) and the columns of its window.

use std::ops::Range;

use super::{Clock, Format, FormatSpec, Reader};
use crate::Op;
use crate::trace::LatencySource;
use crate::trace::field::{BlankFields, Fault, FieldError, locate};
use crate::trace::record::{Part, Record};
use crate::trace::text::LineParser;

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Diskmon,
    example: "0\t0.016375\t0.00038147\t0\tWrite\t3271215\t8",
    source: "Sysinternals DiskMon 2.01, saved log",
    latencies: LatencySource::CoarseColumn,
    clock: Clock::Recording,
    header: &[],
    reader: Reader::Text(|_, _| Box::new(Diskmon)),
};

struct Diskmon;

impl LineParser for Diskmon {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        let mut fields = BlankFields::new(line);
        fields.number("the running number")?;
        let time_ns = fields.decimal(9, "the time in seconds")?;
        let latency_ns = fields.decimal(9, "the duration in seconds")?;
        let device = fields.small("the disk number")?;
        let op = match fields.word("`Read` or `Write`")? {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            _ => return Err(fields.error(Fault::Unknown, "`Read` or `Write`")),
        };
        let lba = fields.number("the first sector")?;
        let sectors = fields.number("the number of sectors")?;
        let sectors = fields.sectors(lba, sectors)?;
        fields.finish()?;
        Ok(Some(Record::new(time_ns, op, lba, sectors).on_device(device).with_latency(latency_ns)))
    }

    fn locate(&self, part: Part, line: &[u8]) -> Range<usize> {
        locate::<b' '>(line, if part == Part::Time { 1 } else { 5 })
    }
}
