//! Sysinternals DiskMon's saved logs: number, time, duration, disk, `Read` or `Write`, first sector, sectors; separated
//! by tabs, lines end in CR LF.
//!
//! Time and duration are in seconds, the time from the start of the recording. Sectors are of 512 bytes. The running
//! number is not used. Source: the help of DiskMon 2.01 (Sysinternals) and the columns of its window.

use super::{Clock, Format, FormatSpec, LatencySource, Reader, stateless};
use crate::trace::field::{BlankFields, FieldError};
use crate::trace::record::Record;

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Diskmon,
    example: "0\t0.016375\t0.00038147\t0\tWrite\t3271215\t8",
    source: "Sysinternals DiskMon 2.01, saved log",
    latencies: LatencySource::CoarseColumn,
    clock: Clock::Recording,
    header: &[],
    reader: Reader::Text(|_, _| stateless(parse, [1, 5])),
};

fn parse(fields: &mut BlankFields) -> Result<Record, FieldError> {
    fields.number("the running number")?;
    let time_ns = fields.decimal(9, "the time in seconds")?;
    let latency_ns = fields.decimal(9, "the duration in seconds")?;
    let device = fields.small("the disk number")?;
    let op = fields.direction(b"Read", b"Write", "`Read` or `Write`")?;
    let (lba, sectors) = fields.sector_extent()?;
    Ok(Record::new(time_ns, op, lba, sectors).on_device(device).with_latency(latency_ns))
}
