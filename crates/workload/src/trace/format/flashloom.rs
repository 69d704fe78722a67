//! Flashloom's own CSV: a header `timestamp_ns,op,lba,sectors`, then one request per line.
//!
//! Time is in nanoseconds, the address in sectors of 512 bytes; the operation is `R`, `W`, `D` (discard) or `F` (flush,
//! with address and length 0). The header may name further columns, in any order: `task` (a number), `sync`, `flush` (a
//! flush goes before the write) and `fua`, each 0 or 1, `ioprio` (the I/O priority: `none`, or a class, `rt`, `be` or
//! `idle`, and its level, such as `be/4`), `device` (a number; which device of a recording of several), and
//! `latency_ns` (how long the device took to serve it; 0 where that is not known). Written are the columns that the
//! input declares or needs, in the order of this paragraph.
//!
//! A latency longer than 32 bits hold (4.294967295 s) is read as that maximum, and a conversion counts it.
//!
//! The log of a run (`run --log`) is such a file with more columns, [`LOG_COLUMNS`]; those that a trace does not have
//! are ignored.

use std::ops::Range;

use flashloom_units::nearest;

use super::{Clock, Format, FormatSpec, LatencySource, LineParser, Reader};
use crate::trace::digits::push_number;
use crate::trace::field::{CommaFields, Fault, FieldError, locate};
use crate::trace::record::{Column, Columns, Part, Record};
use crate::{Op, Priority, Request};

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Flashloom,
    example: "timestamp_ns,op,lba,sectors,fua\n35081,W,1652552,256,0",
    source: "Flashloom",
    latencies: LatencySource::Column,
    clock: Clock::Recording,
    header: &[],
    reader: Reader::Text(|_, _| Box::new(Flashloom { header: None })),
};

/// The columns that every file has.
pub(super) const HEADER: &str = "timestamp_ns,op,lba,sectors";
const REQUIRED: [&str; 4] = ["timestamp_ns", "op", "lba", "sectors"];
const EXPECTED_OP: &str = "R, W, D or F";
const EXPECTED_COLUMN: &str =
    "one of the columns task, sync, flush, fua, ioprio, device, latency_ns, or a further one of a log, each once";

/// The array of these words.
macro_rules! words {
    ($($word:ident)*) => { [$(stringify!($word)),*] };
}

/// The columns of the log of a run, in order: a trace with `latency_ns`, then the times at which the request passed
/// each stage, its status, and one column per cause of latency, which add up to `latency_ns`.
pub const LOG_COLUMNS: [&str; 31] = words! {
    timestamp_ns op lba sectors task sync flush fua ioprio latency_ns admitted_ns dispatched_ns completed_ns status
    nr_requests_ns tag_ns scheduler_ns controller_ns link_ns flush_ns slot_ns host_read_ns host_program_ns
    collection_ns merge_ns map_ns wear_ns erase_ns suspension_ns channel_ns served_ns
};

/// A column that the header names beyond those that every file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// A part of the request.
    Column(Column),
    /// A column of a log alone, by its index in [`LOG_COLUMNS`]: ignored.
    OfLog(usize),
}

impl Named {
    /// Names of all further columns.
    fn names() -> impl Iterator<Item = &'static str> {
        let is_of_trace = |name: &&str| REQUIRED.contains(name) || Column::ALL.iter().any(|(_, known)| known == name);
        let of_log = LOG_COLUMNS.into_iter().filter(move |name| !is_of_trace(name));
        Column::ALL.into_iter().map(|(_, name)| name).chain(of_log)
    }

    fn of(name: &[u8]) -> Option<Self> {
        if REQUIRED.iter().any(|known| known.as_bytes() == name) {
            return None;
        }
        let column = Column::ALL.iter().find(|(_, known)| known.as_bytes() == name);
        let of_log = || LOG_COLUMNS.iter().position(|known| known.as_bytes() == name);
        column.map(|(column, _)| Self::Column(*column)).or_else(|| of_log().map(Self::OfLog))
    }
}

struct Flashloom {
    /// The further columns in the order of the file.
    header: Option<Vec<Named>>,
}

/// True if the content begins with the header of this format, whatever its further columns: a mistake among those is
/// then reported as such.
pub(super) fn has_header(sample: &[u8]) -> bool {
    sample.strip_prefix(HEADER.as_bytes()).is_some_and(|rest| matches!(rest.first(), None | Some(b',' | b'\r' | b'\n')))
}

fn parse_header(line: &[u8]) -> Result<Vec<Named>, FieldError> {
    let mut fields = CommaFields::new(line);
    for name in REQUIRED {
        if fields.word("a header that begins with timestamp_ns,op,lba,sectors")? != name.as_bytes() {
            return Err(fields.error(Fault::Unknown, "a header that begins with timestamp_ns,op,lba,sectors"));
        }
    }
    let mut columns = Vec::new();
    while let Ok(name) = fields.word("") {
        match Named::of(name) {
            Some(named) if !columns.contains(&named) => columns.push(named),
            known => {
                let near = || nearest(&String::from_utf8_lossy(name), Named::names());
                let nearest = if known.is_none() { near() } else { None };
                return Err(FieldError { nearest, ..fields.error(Fault::Unknown, EXPECTED_COLUMN) });
            }
        }
    }
    Ok(columns)
}

#[inline]
fn flag(fields: &mut CommaFields, request: &mut Request, flag: u8, only_writes: bool) -> Result<(), FieldError> {
    match fields.word("0 or 1")? {
        b"0" => Ok(()),
        b"1" if only_writes && request.op != Op::Write => Err(fields.error(Fault::NotAWrite, "0, or a write")),
        b"1" => {
            request.flags |= flag;
            Ok(())
        }
        _ => Err(fields.error(Fault::Unknown, "0 or 1")),
    }
}

fn priority(fields: &mut CommaFields) -> Result<Priority, FieldError> {
    const EXPECTED: &str = "none, or a class and its level, such as rt/0, be/4 or idle/7";
    let word = fields.word(EXPECTED)?;
    Priority::of_name(word).ok_or_else(|| {
        let nearest = nearest(&String::from_utf8_lossy(word), Priority::NAMES);
        FieldError { nearest, ..fields.error(Fault::Unknown, EXPECTED) }
    })
}

/// Operations, and what other programs write for them.
const OTHER_OPS: [(&str, &str); 4] =
    [("R", "read"), ("W", "write"), ("D", "discard trim unmap deallocate"), ("F", "flush")];

/// The operation that a word means that is none.
fn nearest_op(word: &str) -> Option<&'static str> {
    // A letter is close to every other one: it is one of these, or none.
    if word.len() <= 1 {
        return OTHER_OPS.iter().map(|(op, _)| *op).find(|op| op.eq_ignore_ascii_case(word));
    }
    let found = nearest(word, OTHER_OPS.iter().flat_map(|(_, others)| others.split(' ')))?;
    OTHER_OPS.iter().find(|(_, others)| others.contains(found)).map(|(op, _)| *op)
}

impl LineParser for Flashloom {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        let Some(columns) = &self.header else {
            self.header = Some(parse_header(line)?);
            return Ok(None);
        };
        let mut fields = CommaFields::new(line);
        let time_ns = fields.number("the time in nanoseconds")?;
        let op = match fields.word(EXPECTED_OP)? {
            b"R" => Op::Read,
            b"W" => Op::Write,
            b"D" => Op::Discard,
            b"F" => Op::Flush,
            word => {
                let nearest = nearest_op(&String::from_utf8_lossy(word));
                return Err(FieldError { nearest, ..fields.error(Fault::Unknown, EXPECTED_OP) });
            }
        };
        let lba = fields.number("the first sector")?;
        if op == Op::Flush && lba != 0 {
            return Err(fields.error(Fault::HasData, "0: a flush has no address"));
        }
        let sectors = fields.number("the number of sectors")?;
        let sectors = match op {
            Op::Flush if sectors == 0 => 0,
            Op::Flush => return Err(fields.error(Fault::HasData, "0: a flush has no length")),
            _ => fields.sectors(lba, sectors)?,
        };
        let mut record = Record::new(time_ns, op, lba, sectors);
        for named in columns {
            let Named::Column(column) = named else {
                fields.word("a column of a log")?;
                continue;
            };
            match column {
                Column::Task => record.request.task = fields.small("the task")?,
                Column::Device => record.device = fields.small("the device")?,
                Column::Sync => flag(&mut fields, &mut record.request, Request::SYNC, false)?,
                Column::Flush => flag(&mut fields, &mut record.request, Request::PREFLUSH, true)?,
                Column::Ioprio => record.request = record.request.with_priority(priority(&mut fields)?),
                Column::Fua => flag(&mut fields, &mut record.request, Request::FUA, true)?,
                Column::Latency => record = record.with_latency(fields.number("the latency in nanoseconds")?),
            }
        }
        fields.finish()?;
        Ok(Some(record))
    }

    fn locate(&self, part: Part, line: &[u8]) -> Range<usize> {
        locate::<b','>(line, if part == Part::Time { 0 } else { 2 })
    }

    fn columns(&self) -> Columns {
        Columns::of(self.header.iter().flatten().filter_map(|named| match named {
            Named::Column(column) => Some(*column),
            Named::OfLog(_) => None,
        }))
    }
}

/// Writes the header.
pub(crate) fn write_header(columns: Columns, out: &mut Vec<u8>) {
    out.extend_from_slice(HEADER.as_bytes());
    for (_, name) in Column::ALL.iter().filter(|(column, _)| columns.has(*column)) {
        out.push(b',');
        out.extend_from_slice(name.as_bytes());
    }
    out.push(b'\n');
}

/// Writes a request.
pub(crate) fn write(record: &Record, columns: Columns, out: &mut Vec<u8>) {
    let request = &record.request;
    push_number(out, request.arrival_ns);
    out.extend_from_slice(match request.op {
        Op::Read => b",R,",
        Op::Write => b",W,",
        Op::Discard => b",D,",
        Op::Flush => b",F,",
    });
    push_number(out, request.lba);
    out.push(b',');
    push_number(out, u64::from(request.sectors));
    for (column, _) in Column::ALL.into_iter().filter(|(column, _)| columns.has(*column)) {
        out.push(b',');
        match (column, column.value(record)) {
            (Column::Ioprio, index) => out.extend_from_slice(Priority::NAMES[index as usize].as_bytes()),
            (_, number) => push_number(out, number),
        }
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PriorityClass;

    fn parse(header: &str, line: &str) -> Result<Record, (Range<usize>, Fault)> {
        let mut parser = Flashloom { header: None };
        parser.parse(header.as_bytes()).map_err(|error| (error.span, error.fault))?;
        let record = parser.parse(line.as_bytes()).map_err(|error| (error.span, error.fault))?;
        Ok(record.expect("a line after the header is a request"))
    }

    #[test]
    fn optional_columns_stand_in_any_order() {
        let record = parse("timestamp_ns,op,lba,sectors,fua,device,task,sync,flush", "5,W,8,16,1,2,77,0,1").unwrap();
        let request = record.request;
        assert_eq!((request.arrival_ns, request.lba, request.sectors, request.task), (5, 8, 16, 77));
        assert_eq!((request.flags, record.device), (Request::FUA | Request::PREFLUSH, 2));
    }

    #[test]
    fn a_header_is_held_to_the_letter() {
        let fault = |header: &str| parse(header, "0,R,0,8").unwrap_err();
        assert_eq!(fault("timestamp,op,lba,sectors"), (0..9, Fault::Unknown));
        assert_eq!(fault("timestamp_ns,op,lba"), (19..19, Fault::Missing));
        assert_eq!(fault("timestamp_ns,op,lba,sectors,sync,sync"), (33..37, Fault::Unknown));
    }

    #[test]
    fn a_log_is_a_trace_whose_further_columns_are_read_over() {
        let values = ["5,W,8,16,77,1,0,1,rt/3,4294967300,5,6,4294967305,done"].into_iter().chain([""; 17]);
        let record = parse(&LOG_COLUMNS.join(","), &values.collect::<Vec<_>>().join(",")).unwrap();
        let request = record.request;
        assert_eq!((request.arrival_ns, request.lba, request.sectors, request.task), (5, 8, 16, 77));
        let flags = request.flags & !Priority::MASK;
        assert_eq!((flags, request.recorded_latency_ns), (Request::SYNC | Request::FUA, u32::MAX));
        assert_eq!(request.priority(), Priority::new(PriorityClass::RealTime, 3));
        assert!(record.has_capped_latency());
    }

    #[test]
    fn a_column_that_no_file_has_is_told_the_nearest_that_one_has() {
        let near = |header: &str| parse_header(header.as_bytes()).unwrap_err().nearest;
        assert_eq!(near("timestamp_ns,op,lba,sectors,latency_ms"), Some("latency_ns"));
        assert_eq!(near("timestamp_ns,op,lba,sectors,colection_ns"), Some("collection_ns"));
        assert_eq!(near("timestamp_ns,op,lba,sectors,status,status"), None, "it is known, and there already");
        assert_eq!(near("timestamp_ns,op,lba,sectors,bananas"), None);
    }

    #[test]
    fn a_word_in_the_place_of_an_operation_is_told_its_letter() {
        let near = |op: &str| {
            let mut parser = Flashloom { header: None };
            parser.parse(HEADER.as_bytes()).expect("it is a header");
            parser.parse(format!("0,{op},0,8").as_bytes()).unwrap_err().nearest
        };
        let of = |ops: &[&str]| ops.iter().map(|op| near(op)).collect::<Vec<_>>();
        assert_eq!(of(&["read", "Read", "READ", "raed", "r"]), [Some("R"); 5]);
        assert_eq!(of(&["write", "Writes", "wirte", "w"]), [Some("W"); 4]);
        assert_eq!(of(&["discard", "trim", "TRIM", "unmap", "d"]), [Some("D"); 5]);
        assert_eq!(of(&["flush", "FLUSH", "f"]), [Some("F"); 3]);
        assert_eq!(of(&["", "x", "0", "2a", "metadata"]), [None; 5]);
    }

    #[test]
    fn every_field_of_a_line_is_checked() {
        let fault = |line: &str| parse("timestamp_ns,op,lba,sectors,fua", line).unwrap_err();
        assert_eq!(fault("0,T,0,8,0"), (2..3, Fault::Unknown));
        assert_eq!(fault("0,R,0,99999999999,0"), (6..17, Fault::TooLarge));
        assert_eq!(fault("0,W,0,8,2"), (8..9, Fault::Unknown));
        assert_eq!(fault("0,R,0,8,1"), (8..9, Fault::NotAWrite));
        assert_eq!(fault("0,F,0,8,0"), (6..7, Fault::HasData));
        assert_eq!(fault("0,F,1,0,0"), (4..5, Fault::HasData));
        assert_eq!(parse("timestamp_ns,op,lba,sectors,ioprio", "0,R,0,8,be").unwrap_err(), (8..10, Fault::Unknown));
        assert_eq!(fault("0,R,0,8"), (7..7, Fault::Missing));
        assert_eq!(fault("0,R,0,8,0,9"), (10..11, Fault::Trailing));
    }
}
