//! fio's iologs, versions 2 and 3, told apart by the first line, `fio version N iolog`.
//!
//! Version 3: `timestamp filename action [offset length]`, the time in microseconds from the start. Version 2 has no
//! timestamp; `filename wait offset length` waits until `offset` milliseconds after the start of the replay, or not at
//! all if they have passed. Offset and length are in bytes. `add`, `open` and `close` manage files and are no requests;
//! `read`, `write` and `trim` are; `sync` and `datasync` are flushes. All but those that manage files have an offset
//! and a length; fio skips a line without them. Each file is a device, numbered in order of appearance. Tasks and flags
//! are not held.
//!
//! fio appends to an iolog that exists: the same header within the file begins another recording. If the clock begins
//! again there, it continues at the last line above.
//!
//! Source: fio documentation, "Trace file format v2" and "v3"; `iolog.c` of fio 3.33 for the units of both, the columns
//! of `sync` and headers within. The documentation has microseconds after the previous wait in version 2.

use std::collections::BTreeSet;
use std::ops::Range;

use flashloom_units::{MS, Ns, SECTOR_BYTES, US};

use super::{Clock, Format, FormatSpec, LatencySource, LineParser, Reader};
use crate::Op;
use crate::trace::digits::push_number;
use crate::trace::field::{BlankFields, Fault, FieldError, locate};
use crate::trace::record::{Numbering, Part, Record};

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Fio,
    example: "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n812 /dev/sda write 1048576 4096",
    source: "fio documentation, trace file formats v2 and v3",
    latencies: LatencySource::None,
    clock: Clock::Recording,
    header: &[],
    reader: Reader::Text(|_, _| Box::new(Fio::default())),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

#[derive(Default)]
struct Fio {
    version: Option<Version>,
    /// Time of the last line of version 3, moved; or the latest wait of version 2 so far.
    clock_ns: Ns,
    /// Time of the last line of version 3, as it stands there.
    written_ns: Ns,
    /// What the times of version 3 are moved by.
    shift_ns: i128,
    /// True after a header within the file, until the next line.
    may_begin_again: bool,
    files: Numbering<Box<[u8]>>,
}

const ACTION: &str = "add, open, close, read, write, trim, sync or datasync";
const ACTION_OR_WAIT: &str = "add, open, close, read, write, trim, sync, datasync or wait";

impl Fio {
    fn header(&mut self, line: &[u8]) -> Result<(), FieldError> {
        self.version = Some(match line {
            b"fio version 2 iolog" => Version::Two,
            b"fio version 3 iolog" => Version::Three,
            _ => return Err(whole(line, "`fio version 2 iolog` or `fio version 3 iolog`")),
        });
        Ok(())
    }

    /// Parses a header within the file.
    fn header_within(&mut self, version: Version, line: &[u8]) -> Result<(), FieldError> {
        let (before, mut other) = (version, Self::default());
        other.header(line)?;
        if other.version != Some(before) {
            return Err(whole(line, "the version of the header above, with which fio reads the whole file"));
        }
        self.may_begin_again = true;
        Ok(())
    }

    /// The time of a line of version 3. A clock that begins again behind a header continues at the line above; one that
    /// runs on keeps the gap.
    fn moved(&mut self, time_ns: Ns) -> Option<Ns> {
        if std::mem::take(&mut self.may_begin_again) && time_ns < self.written_ns {
            self.shift_ns = i128::from(self.clock_ns) - i128::from(time_ns);
        }
        self.written_ns = time_ns;
        self.clock_ns = Ns::try_from(i128::from(time_ns) + self.shift_ns).ok()?;
        Some(self.clock_ns)
    }

    fn wait(&mut self, fields: &mut BlankFields) -> Result<(), FieldError> {
        let wait_ns = fields.time(MS, "the time to wait for, in milliseconds from the start")?;
        self.clock_ns = self.clock_ns.max(wait_ns);
        // fio skips a line without it.
        fields.number("a length, which does not matter")?;
        fields.finish()
    }

    /// The number of a file. fio crashes at a file without an `add` line.
    fn added(&self, name: &[u8], span: Range<usize>) -> Result<u32, FieldError> {
        let expected = "a file that is added above (`FILE add`)";
        self.files.known(name).ok_or(FieldError { span, fault: Fault::Unknown, expected, nearest: None })
    }
}

impl LineParser for Fio {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        let Some(version) = self.version else { return self.header(line).map(|()| None) };
        if line.starts_with(b"fio version ") {
            return self.header_within(version, line).map(|()| None);
        }
        let mut fields = BlankFields::new(line);
        if version == Version::Three {
            let time_ns = fields.time(US, "the time in microseconds")?;
            self.moved(time_ns).ok_or_else(|| whole(line, "times of at most 584 years"))?;
        }
        let name = fields.word("the name of a file")?;
        let named = fields.span();
        let op = match fields.word(ACTION)? {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Discard,
            b"sync" | b"datasync" => Op::Flush,
            b"add" => {
                fields.finish()?;
                self.files.number(name, || name.into());
                return Ok(None);
            }
            b"open" | b"close" => {
                fields.finish()?;
                return self.added(name, named).map(|_| None);
            }
            b"wait" if version == Version::Two => return self.wait(&mut fields).map(|()| None),
            _ if version == Version::Two => return Err(fields.error(Fault::Unknown, ACTION_OR_WAIT)),
            _ => return Err(fields.error(Fault::Unknown, ACTION)),
        };
        let (lba, sectors) = if op == Op::Flush {
            // fio skips a line without them.
            fields.number("an offset, which does not matter")?;
            fields.number("a length, which does not matter")?;
            (0, 0)
        } else {
            fields.byte_extent("the length in bytes")?
        };
        fields.finish()?;
        let device = self.added(name, named)?;
        Ok(Some(Record::new(self.clock_ns, op, lba, sectors).on_device(device)))
    }

    fn device_name(&self, device: u32) -> String {
        self.files.text(device)
    }

    fn locate(&self, part: Part, line: &[u8]) -> Range<usize> {
        let shift = usize::from(self.version == Some(Version::Three));
        locate::<b' '>(line, if part == Part::Time { 0 } else { 2 + shift })
    }
}

fn whole(line: &[u8], expected: &'static str) -> FieldError {
    FieldError { span: 0..line.len(), fault: Fault::Unknown, expected, nearest: None }
}

/// Writes an iolog of version 3; device N is the file `deviceN`.
#[derive(Default)]
pub(crate) struct Writer {
    /// The devices that were added and opened, in order.
    devices: Vec<u32>,
    added: BTreeSet<u32>,
    last_us: u64,
}

impl Writer {
    pub fn begin(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(b"fio version 3 iolog\n");
        Self::default()
    }

    fn action(&self, device: u32, action: &[u8], out: &mut Vec<u8>) {
        push_number(out, self.last_us);
        out.extend_from_slice(b" device");
        push_number(out, u64::from(device));
        out.extend_from_slice(action);
    }

    /// Writes a request; its time is cut to microseconds.
    pub fn write(&mut self, record: &Record, out: &mut Vec<u8>) {
        let request = &record.request;
        self.last_us = request.arrival_ns / US;
        if self.added.insert(record.device) {
            self.devices.push(record.device);
            self.action(record.device, b" add\n", out);
            self.action(record.device, b" open\n", out);
        }
        let action: &[u8] = match request.op {
            Op::Read => b" read ",
            Op::Write => b" write ",
            Op::Discard => b" trim ",
            Op::Flush => b" sync ",
        };
        self.action(record.device, action, out);
        push_number(out, request.lba * SECTOR_BYTES);
        out.push(b' ');
        push_number(out, u64::from(request.sectors) * SECTOR_BYTES);
        out.push(b'\n');
    }

    pub fn finish(&self, out: &mut Vec<u8>) {
        for &device in &self.devices {
            self.action(device, b" close\n", out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time, operation, first sector, sectors, device.
    type Seen = (Ns, Op, u64, u32, u32);

    fn records(text: &str) -> Result<Vec<Seen>, FieldError> {
        let mut parser = Fio::default();
        let parsed = text.lines().map(|line| parser.parse(line.as_bytes()));
        let records = parsed.collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
        Ok(records.map(|r| (r.request.arrival_ns, r.request.op, r.request.lba, r.request.sectors, r.device)).collect())
    }

    #[test]
    fn version_3_has_microseconds_and_a_sync_has_an_offset_and_a_length() {
        let text = "fio version 3 iolog\n0 a add\n1 b add\n2 a open\n5 b write 4096 8192\n7 a sync 0 0\n\
                    9 a datasync 0 0\n\
                    11 a trim 512 512\n12 a close";
        let expected = [
            (5_000, Op::Write, 8, 16, 1),
            (7_000, Op::Flush, 0, 0, 0),
            (9_000, Op::Flush, 0, 0, 0),
            (11_000, Op::Discard, 1, 1, 0),
        ];
        assert_eq!(records(text).unwrap(), expected);
    }

    #[test]
    fn a_wait_of_version_2_ends_at_its_milliseconds_from_the_start() {
        let text = "fio version 2 iolog\na add\na open\na write 0 512\na wait 500 0\na write 512 512\na wait 300 0\n\
                    a write 1024 512\na wait 900 0\na write 1536 512\na close";
        let times: Vec<_> = records(text).unwrap().iter().map(|record| record.0 / MS).collect();
        assert_eq!(times, [0, 500, 500, 900]);
    }

    #[test]
    fn a_clock_that_begins_again_behind_a_header_continues_at_the_line_above() {
        let begins = "fio version 3 iolog\n0 a add\n100 a write 0 512\n400 a write 512 512\n";
        let of = |first: &str, second: &str| format!("{begins}{first}fio version 3 iolog\n{second}");
        // The times at which fio 3.33 sent the requests, each 1,000 times as long after the first.
        for (first, second, times) in [
            ("", "900 a read 1024 512\n1000 a read 1536 512\n", [0, 300, 800, 900]),
            ("", "250 a read 1024 512\n550 a read 1536 512\n", [0, 300, 300, 600]),
            ("400 a close\n", "50 a add\n50 a open\n150 a read 1024 512\n250 a read 1536 512\n", [0, 300, 400, 500]),
        ] {
            let found = records(&of(first, second)).unwrap();
            assert_eq!(found.iter().map(|record| record.0 / US - 100).collect::<Vec<_>>(), times);
        }
        let other = of("", "").replace("512 512\nfio version 3", "512 512\nfio version 2");
        let expected = "the version of the header above, with which fio reads the whole file";
        assert_eq!(records(&other).unwrap_err().expected, expected);
    }

    #[test]
    fn version_3_knows_no_wait_and_no_other_version_is_read() {
        assert_eq!(records("fio version 3 iolog\n0 a wait 5 0").unwrap_err().span, 4..8);
        assert_eq!(records("fio version 1 iolog").unwrap_err().fault, Fault::Unknown);
        assert_eq!(records("fio version 3 iolog\n0 a read 0").unwrap_err().fault, Fault::Missing);
        let other = records("fio version 3 iolog\n0 a add\n1 a write 0 4096\n2 b write 0 4096").unwrap_err();
        assert_eq!((other.span, other.fault), (2..3, Fault::Unknown), "`b` was not added");
    }
}
