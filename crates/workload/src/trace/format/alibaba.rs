//! Alibaba Cloud block traces: `device_id,opcode,offset,length,timestamp`, without a header.
//!
//! The opcode is `R` or `W`; offset and length are in bytes; the time is in microseconds of Unix time. Source: README
//! of github.com/alibaba/block-traces.

use std::ops::Range;

use super::{Clock, Format, FormatSpec, Reader};
use crate::Op;
use crate::trace::LatencySource;
use crate::trace::field::{CommaFields, Fault, FieldError, locate};
use crate::trace::record::{Part, Record};
use crate::trace::text::LineParser;
use flashloom_units::US;

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Alibaba,
    example: "0,R,126703644672,4096,1577808000000626",
    source: "Alibaba Block Traces, README",
    latencies: LatencySource::None,
    clock: Clock::World,
    header: &[
        &["deviceid", "device", "volumeid"],
        &["opcode", "op", "type"],
        &["offset"],
        &["length", "size"],
        &["timestamp", "time"],
    ],
    reader: Reader::Text(|_, _| Box::new(Alibaba)),
};

struct Alibaba;

impl LineParser for Alibaba {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        let mut fields = CommaFields::new(line);
        let device = fields.small("the device")?;
        let op = match fields.word("`R` or `W`")? {
            b"R" => Op::Read,
            b"W" => Op::Write,
            _ => return Err(fields.error(Fault::Unknown, "`R` or `W`")),
        };
        let offset = fields.number("the offset in bytes")?;
        let length = fields.number("the length in bytes")?;
        let (lba, sectors) = fields.extent(offset, length)?;
        let time = fields.number("the time in microseconds")?;
        let time_ns = fields.scaled(time, US)?;
        fields.finish()?;
        Ok(Some(Record::new(time_ns, op, lba, sectors).on_device(device)))
    }

    fn locate(&self, part: Part, line: &[u8]) -> Range<usize> {
        locate::<b','>(line, if part == Part::Time { 4 } else { 2 })
    }
}
