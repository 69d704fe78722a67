//! SYSTOR '17 virtual desktop traces: `Timestamp,Response,IOType,LUN,Offset,Size`, with that line as a header.
//!
//! The time is Unix time in seconds, its nanoseconds without meaning; the response time is in seconds, offset and size
//! are in bytes. The type is `R`, `W`, or blank if the capture saw no response; such a request cannot be replayed and
//! is an error, unless bad lines are skipped. A blank response time is taken as unknown. Source: README of the traces
//! (SNIA IOTTA 4928); Lee et al., "Understanding storage traffic characteristics", SYSTOR '17.

use super::{Clock, Format, FormatSpec, LatencySource, Reader, stateless};
use crate::Op;
use crate::trace::field::{CommaFields, Fault, FieldError};
use crate::trace::record::Record;

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Systor,
    example: "1456095145.133076000,0.000806000,R,0,899056122368,131072",
    source: "SNIA IOTTA, Systor '17 traces, README",
    latencies: LatencySource::Column,
    clock: Clock::World,
    header: &[&["timestamp"], &["response"], &["iotype"], &["lun"], &["offset"], &["size"]],
    reader: Reader::Text(|_, _| stateless(parse, [0, 4])),
};

fn parse(fields: &mut CommaFields) -> Result<Record, FieldError> {
    let time_ns = fields.decimal(9, "the time in seconds")?;
    let latency_ns = match fields.word("the response time in seconds")? {
        b"" => 0,
        response => CommaFields::new(response)
            .decimal(9, "the response time in seconds")
            .map_err(|error| fields.error(error.fault, error.expected))?,
    };
    let op = match fields.word("`R` or `W`")? {
        b"R" => Op::Read,
        b"W" => Op::Write,
        _ => return Err(fields.error(Fault::Unknown, "`R` or `W` (blank: no response was captured)")),
    };
    let device = fields.small("the logical unit number")?;
    let (lba, sectors) = fields.byte_extent("the size in bytes")?;
    Ok(Record::new(time_ns, op, lba, sectors).on_device(device).with_latency(latency_ns))
}
