//! SSDsim's and MQSim's ASCII traces: arrival time in nanoseconds, device, first sector, sectors, and 1 for a read or 0
//! for a write. Other programs write the same columns in other units, which `size_unit` and `time_unit` name.
//!
//! The format holds neither discards nor flushes, neither flags nor tasks. Source: the README of MQSim, "Trace-based
//! workloads", which took the format over from SSDsim (Hu et al., ICS '11).

use super::{Clock, Format, FormatSpec, LatencySource, Reader, Units, stateless};
use crate::Op;
use crate::trace::digits::push_number;
use crate::trace::field::{BlankFields, FieldError};
use crate::trace::record::Record;
use crate::trace::units::TimeUnit;

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Ssdsim,
    example: "97900000 0 287641400 128 1",
    source: "MQSim README, \"Trace-based workloads\"; SSDsim, ICS '11",
    latencies: LatencySource::None,
    clock: Clock::Recording,
    header: &[],
    reader: Reader::Text(|_, units| stateless(move |fields| parse(fields, units), [0, 2])),
};

#[inline]
fn parse(fields: &mut BlankFields, units: Units) -> Result<Record, FieldError> {
    let time_ns = Units::time(units.time.unwrap_or(TimeUnit::Nanoseconds), fields)?;
    let device = fields.small("the device number")?;
    let (lba, sectors) = units.extent(fields)?;
    let op = fields.direction(b"1", b"0", "1 for a read or 0 for a write")?;
    Ok(Record::new(time_ns, op, lba, sectors).on_device(device))
}

/// Writes a read or a write.
pub(crate) fn write(record: &Record, out: &mut Vec<u8>) {
    let request = &record.request;
    let read = u64::from(request.op == Op::Read);
    for number in [request.arrival_ns, u64::from(record.device), request.lba, u64::from(request.sectors)] {
        push_number(out, number);
        out.push(b' ');
    }
    push_number(out, read);
    out.push(b'\n');
}
