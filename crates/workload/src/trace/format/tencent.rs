//! Tencent Cloud block storage traces: `Timestamp,Offset,Size,IOType,VolumeID`, without a header.
//!
//! The time is in whole seconds of Unix time, so many requests arrive at once; offset and size are in sectors of 512
//! bytes; the type is 0 for a read and 1 for a write. Source: README of the traces (SNIA IOTTA); Zhang et al.,
//! "OSCA", USENIX ATC '20.

use std::ops::Range;

use super::{Clock, Format, FormatSpec, Reader};
use crate::Op;
use crate::trace::LatencySource;
use crate::trace::field::{CommaFields, Fault, FieldError, locate};
use crate::trace::record::{Part, Record};
use crate::trace::text::LineParser;
use flashloom_units::S;

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Tencent,
    example: "1538323200,12910952,128,0,1063",
    source: "SNIA IOTTA, Tencent block storage traces, README",
    latencies: LatencySource::None,
    clock: Clock::World,
    header: &[
        &["timestamp", "time"],
        &["offset"],
        &["size", "length"],
        &["iotype", "type", "op"],
        &["volumeid", "volume", "deviceid"],
    ],
    reader: Reader::Text(|_, _| Box::new(Tencent)),
};

struct Tencent;

impl LineParser for Tencent {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        let mut fields = CommaFields::new(line);
        let time = fields.number("the time in seconds")?;
        let time_ns = fields.scaled(time, S)?;
        let lba = fields.number("the offset in sectors")?;
        let size = fields.number("the size in sectors")?;
        let sectors = fields.sectors(lba, size)?;
        let op = match fields.word("0 for a read or 1 for a write")? {
            b"0" => Op::Read,
            b"1" => Op::Write,
            _ => return Err(fields.error(Fault::Unknown, "0 for a read or 1 for a write")),
        };
        let device = fields.small("the volume")?;
        fields.finish()?;
        Ok(Some(Record::new(time_ns, op, lba, sectors).on_device(device)))
    }

    fn locate(&self, part: Part, line: &[u8]) -> Range<usize> {
        locate::<b','>(line, if part == Part::Time { 0 } else { 1 })
    }
}
