//! Storage Performance Council traces: `ASU,LBA,Size,Opcode,Timestamp` and optional fields, which are ignored.
//!
//! The address is in blocks of 512 bytes, relative to the application storage unit (ASU); the size is in bytes; the
//! opcode is `R` or `W` in either case; the time is in seconds from the start of the recording. Blanks around a field
//! are allowed. Source: SPC Trace File Format Specification 1.0.1 (2002); the UMass repository's traces are of it.

use flashloom_units::SECTOR_BYTES;

use super::{Clock, Format, FormatSpec, LatencySource, Reader, stateless};
use crate::Op;
use crate::trace::field::{CommaFields, Fault, FieldError};
use crate::trace::record::Record;

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Spc,
    example: "0,20941264,8192,W,0.551706",
    source: "SPC Trace File Format Specification 1.0.1",
    latencies: LatencySource::None,
    clock: Clock::Recording,
    header: &[&["asu"], &["lba"], &["size"], &["opcode", "op"], &["timestamp", "time"]],
    reader: Reader::Text(|_, _| stateless(parse, [4, 1])),
};

fn parse(fields: &mut CommaFields) -> Result<Record, FieldError> {
    let device = fields.small("the application storage unit")?;
    let lba = fields.number("the address in blocks of 512 bytes")?;
    let size = fields.number("the size in bytes")?;
    let sectors = fields.sectors(lba, size.div_ceil(SECTOR_BYTES))?;
    let op = match fields.word("`R` or `W`")? {
        b"R" | b"r" => Op::Read,
        b"W" | b"w" => Op::Write,
        _ => return Err(fields.error(Fault::Unknown, "`R` or `W`")),
    };
    let time_ns = fields.decimal(9, "the time in seconds")?;
    fields.pass_rest();
    Ok(Record::new(time_ns, op, lba, sectors).on_device(device))
}
