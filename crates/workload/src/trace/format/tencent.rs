//! Tencent Cloud block storage traces: `Timestamp,Offset,Size,IOType,VolumeID`, without a header.
//!
//! The time is in whole seconds of Unix time, so many requests arrive at once; offset and size are in sectors of 512
//! bytes; the type is 0 for a read and 1 for a write. Source: README of the traces (SNIA IOTTA); Zhang et al.,
//! "OSCA", USENIX ATC '20.

use flashloom_units::S;

use super::{Clock, Format, FormatSpec, LatencySource, Reader, stateless};
use crate::trace::field::{CommaFields, FieldError};
use crate::trace::record::Record;

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
    reader: Reader::Text(|_, _| stateless(parse, [0, 1])),
};

fn parse(fields: &mut CommaFields) -> Result<Record, FieldError> {
    let time_ns = fields.time(S, "the time in seconds")?;
    let lba = fields.number("the offset in sectors")?;
    let size = fields.number("the size in sectors")?;
    let sectors = fields.sectors(lba, size)?;
    let op = fields.direction(b"0", b"1", "0 for a read or 1 for a write")?;
    let device = fields.small("the volume")?;
    Ok(Record::new(time_ns, op, lba, sectors).on_device(device))
}
