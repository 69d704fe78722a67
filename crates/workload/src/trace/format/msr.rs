//! MSR Cambridge traces: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Time and response time are in Windows filetime units of 100 ns, the time since 1601; offset and size are in bytes;
//! the type is `Read` or `Write`. A device is a disk of a host, named as the published files are: disk 0 of `prxy` is
//! `prxy_0`. Source: README of the traces (SNIA IOTTA), which belong to
//! Narayanan et al., "Write off-loading", FAST '08.

use std::ops::Range;

use super::{Clock, Format, FormatSpec, LatencySource, LineParser, Reader};
use crate::trace::field::{CommaFields, FieldError, locate};
use crate::trace::record::{Numbering, Part, Record};

const FILETIME_NS: u64 = 100;

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Msr,
    example: "128166391024154329,prxy,0,Write,1105182720,1024,1514",
    source: "SNIA IOTTA, MSR Cambridge block I/O traces, README",
    latencies: LatencySource::Column,
    clock: Clock::World,
    header: &[
        &["timestamp", "time"],
        &["hostname", "host"],
        &["disknumber", "disk"],
        &["type", "iotype", "op"],
        &["offset"],
        &["size", "length"],
        &["responsetime", "latency"],
    ],
    reader: Reader::Text(|_, _| Box::new(Msr { disks: Numbering::default() })),
};

struct Msr {
    /// Numbers of the disks, by `HOST,DISK` as a line has it.
    disks: Numbering<Box<[u8]>>,
}

impl LineParser for Msr {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        let mut fields = CommaFields::new(line);
        let time_ns = fields.time(FILETIME_NS, "the time, in units of 100 ns")?;
        fields.word("the host name")?;
        let host = fields.span().start;
        fields.small("the disk number")?;
        let disk = &line[host..fields.span().end];
        let op = fields.direction(b"Read", b"Write", "`Read` or `Write`")?;
        let (lba, sectors) = fields.byte_extent("the size in bytes")?;
        let response = fields.number("the response time, in units of 100 ns")?;
        fields.finish()?;
        let latency_ns = response.saturating_mul(FILETIME_NS);
        let device = self.disks.number(disk, || disk.into());
        Ok(Some(Record::new(time_ns, op, lba, sectors).on_device(device).with_latency(latency_ns)))
    }

    fn device_name(&self, device: u32) -> String {
        self.disks.text(device).replace(',', "_")
    }

    fn locate(&self, part: Part, line: &[u8]) -> Range<usize> {
        locate::<b','>(line, if part == Part::Time { 0 } else { 4 })
    }
}
