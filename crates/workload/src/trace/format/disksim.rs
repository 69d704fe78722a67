//! DiskSim's ASCII traces: arrival time in milliseconds, device, first block, blocks, flags.
//!
//! Blocks are of 512 bytes. Other programs write the same columns in other units, named by `size_unit` and `time_unit`.
//! The flags are hexadecimal; bit 0 marks a read, the others are DiskSim's own hints
//! (time-critical, time-limited, ...) and are ignored. Source: DiskSim 4.0 reference manual, "Traces", and
//! `disksim_iotrace.c`.

use std::ops::Range;

use super::{Clock, Format, FormatSpec, Reader};
use crate::Op;
use crate::trace::LatencySource;
use crate::trace::field::{BlankFields, FieldError, locate};
use crate::trace::record::{Part, Record};
use crate::trace::text::LineParser;
use crate::trace::units::{TimeUnit, Units};

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Disksim,
    example: "5265.313 0 6357144 8 0",
    source: "DiskSim 4.0 reference manual, default ASCII trace format",
    latencies: LatencySource::None,
    clock: Clock::Recording,
    header: &[],
    reader: Reader::Text(|_, units| Box::new(Disksim { units })),
};

const READ_FLAG: u64 = 1;

struct Disksim {
    units: Units,
}

impl LineParser for Disksim {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        let mut fields = BlankFields::new(line);
        let unit = self.units.time.unwrap_or(TimeUnit::Milliseconds);
        let time_ns = Units::time(unit, &mut fields)?;
        let device = fields.small("the device number")?;
        let (lba, sectors) = self.units.extent(&mut fields)?;
        let flags = fields.hexadecimal("the flags, hexadecimal")?;
        fields.finish()?;
        let op = if flags & READ_FLAG != 0 { Op::Read } else { Op::Write };
        Ok(Some(Record::new(time_ns, op, lba, sectors).on_device(device)))
    }

    fn locate(&self, part: Part, line: &[u8]) -> Range<usize> {
        locate::<b' '>(line, if part == Part::Time { 0 } else { 2 })
    }

    fn is_evidence(&self, line: &[u8]) -> bool {
        // DiskSim prints fractions; whole numbers could be another format's nanoseconds.
        line[locate::<b' '>(line, 0)].contains(&b'.')
    }
}
