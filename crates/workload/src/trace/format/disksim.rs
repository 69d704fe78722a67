//! DiskSim's ASCII traces: arrival time in milliseconds, device, first block, blocks, flags.
//!
//! Blocks are of 512 bytes. The flags are hexadecimal; bit 0 marks a read, the others are DiskSim's own hints
//! (time-critical, time-limited, ...) and are ignored. Source: DiskSim 4.0 reference manual, "Traces", and
//! `disksim_iotrace.c`.

use std::ops::Range;

use super::{Clock, Format, FormatSpec, Reader};
use crate::Op;
use crate::trace::LatencySource;
use crate::trace::field::{BlankFields, FieldError, locate};
use crate::trace::record::{Part, Record};
use crate::trace::text::LineParser;

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Disksim,
    example: "5265.313 0 6357144 8 0",
    source: "DiskSim 4.0 reference manual, default ASCII trace format",
    latencies: LatencySource::None,
    clock: Clock::Recording,
    reader: Reader::Text(|_| Box::new(Disksim)),
};

const READ_FLAG: u64 = 1;

struct Disksim;

impl LineParser for Disksim {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        let mut fields = BlankFields::new(line);
        let time_ns = fields.decimal(6, "the arrival time in milliseconds")?;
        let device = fields.small("the device number")?;
        let lba = fields.number("the first block")?;
        let blocks = fields.number("the number of blocks")?;
        let sectors = fields.sectors(lba, blocks)?;
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
