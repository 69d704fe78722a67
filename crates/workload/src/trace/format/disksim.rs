//! DiskSim's ASCII traces: arrival time in milliseconds, device, first block, blocks, flags.
//!
//! Blocks are of 512 bytes. Other programs write the same columns in other units, named by `size_unit` and `time_unit`.
//! The flags are hexadecimal; bit 0 marks a read, the others are DiskSim's own hints
//! (time-critical, time-limited, ...) and are ignored. Source: DiskSim 4.0 reference manual, "Traces", and
//! `disksim_iotrace.c`.

use super::{Clock, Format, FormatSpec, LatencySource, Reader, Units, stateless};
use crate::Op;
use crate::trace::field::{BlankFields, FieldError};
use crate::trace::record::Record;
use crate::trace::units::TimeUnit;

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Disksim,
    example: "5265.313 0 6357144 8 0",
    source: "DiskSim 4.0 reference manual, default ASCII trace format",
    latencies: LatencySource::None,
    clock: Clock::Recording,
    header: &[],
    reader: Reader::Text(|_, units| stateless(move |fields| parse(fields, units), [0, 2])),
};

const READ_FLAG: u64 = 1;

fn parse(fields: &mut BlankFields, units: Units) -> Result<Record, FieldError> {
    let time_ns = Units::time(units.time.unwrap_or(TimeUnit::Milliseconds), fields)?;
    let device = fields.small("the device number")?;
    let (lba, sectors) = units.extent(fields)?;
    let flags = fields.hexadecimal("the flags, hexadecimal")?;
    let op = if flags & READ_FLAG != 0 { Op::Read } else { Op::Write };
    Ok(Record::new(time_ns, op, lba, sectors).on_device(device))
}
