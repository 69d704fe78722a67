//! SSDsim's and MQSim's ASCII traces: arrival time in nanoseconds, device, first sector, sectors, and 1 for a read or 0
//! for a write. Other programs write the same columns in other units, which `size_unit` and `time_unit` name.
//!
//! The format holds neither discards nor flushes, neither flags nor tasks. Source: the README of MQSim, "Trace-based
//! workloads", which took the format over from SSDsim (Hu et al., ICS '11).

use std::ops::Range;

use super::{Clock, Format, FormatSpec, Reader};
use crate::Op;
use crate::trace::LatencySource;
use crate::trace::digits::push_number;
use crate::trace::field::{BlankFields, Fault, FieldError, locate};
use crate::trace::record::{Part, Record};
use crate::trace::text::LineParser;
use crate::trace::units::{TimeUnit, Units};

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Ssdsim,
    example: "97900000 0 287641400 128 1",
    source: "MQSim README, \"Trace-based workloads\"; SSDsim, ICS '11",
    latencies: LatencySource::None,
    clock: Clock::Recording,
    header: &[],
    reader: Reader::Text(|_, units| Box::new(Ssdsim { units })),
};

struct Ssdsim {
    units: Units,
}

impl LineParser for Ssdsim {
    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        let mut fields = BlankFields::new(line);
        let unit = self.units.time.unwrap_or(TimeUnit::Nanoseconds);
        let time_ns = Units::time(unit, &mut fields)?;
        let device = fields.small("the device number")?;
        let (lba, sectors) = self.units.extent(&mut fields)?;
        let op = match fields.word("1 for a read or 0 for a write")? {
            b"1" => Op::Read,
            b"0" => Op::Write,
            _ => return Err(fields.error(Fault::Unknown, "1 for a read or 0 for a write")),
        };
        fields.finish()?;
        Ok(Some(Record::new(time_ns, op, lba, sectors).on_device(device)))
    }

    fn locate(&self, part: Part, line: &[u8]) -> Range<usize> {
        locate::<b' '>(line, if part == Part::Time { 0 } else { 2 })
    }
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
