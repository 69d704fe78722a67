//! Alibaba Cloud block traces: `device_id,opcode,offset,length,timestamp`, without a header.
//!
//! The opcode is `R` or `W`; offset and length are in bytes; the time is in microseconds of Unix time. Source: README
//! of github.com/alibaba/block-traces.

use flashloom_units::US;

use super::{Clock, Format, FormatSpec, LatencySource, Reader, stateless};
use crate::trace::field::{CommaFields, FieldError};
use crate::trace::record::Record;

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
    reader: Reader::Text(|_, _| stateless(parse, [4, 2])),
};

fn parse(fields: &mut CommaFields) -> Result<Record, FieldError> {
    let device = fields.small("the device")?;
    let op = fields.direction(b"R", b"W", "`R` or `W`")?;
    let (lba, sectors) = fields.byte_extent("the length in bytes")?;
    let time_ns = fields.time(US, "the time in microseconds")?;
    Ok(Record::new(time_ns, op, lba, sectors).on_device(device))
}
