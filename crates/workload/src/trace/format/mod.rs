//! All trace formats, in one table.
//!
//! A text format is a [`LineParser`]; the two binary ones have readers of their own. To add a format, add its file, its
//! name to [`Format`] and its line to [`FORMATS`], in the same order.

pub(crate) mod alibaba;
pub(crate) mod blkparse;
pub(crate) mod blktrace;
pub(crate) mod diskmon;
pub(crate) mod disksim;
pub(crate) mod fio;
pub(crate) mod five_columns;
pub(crate) mod flashloom;
pub(crate) mod msr;
pub(crate) mod spc;
pub(crate) mod ssdsim;
pub(crate) mod systor;
pub(crate) mod tencent;
pub(crate) mod vscsi;

use flashloom_units::{Problem, Refusal, choice, nearest};

use super::field::{FieldError, locate};
use super::input::Chunks;
use super::text::{LineParser, place, stateless};
use super::units::Units;
use super::{Event, LatencySource};

choice! {
    /// Format of a recording.
    pub enum Format {
        /// Flashloom's own CSV: timestamp_ns,op,lba,sectors and optional columns.
        Flashloom = "flashloom",
        /// Microsoft Research Cambridge CSV (SNIA).
        Msr = "msr",
        /// Storage Performance Council text (UMass trace repository).
        Spc = "spc",
        /// Linux blktrace, binary; name one of the per-CPU files or their prefix.
        Blktrace = "blktrace",
        /// Text that Linux blkparse prints of a blktrace.
        Blkparse = "blkparse",
        /// fio iolog, version 2 or 3.
        Fio = "fio",
        /// SSDsim's and MQSim's ASCII traces.
        Ssdsim = "ssdsim",
        /// DiskSim's ASCII traces.
        Disksim = "disksim",
        /// VMware vscsiStats, binary, version 1 or 2 (CloudPhysics).
        Vscsi = "vscsi",
        /// Sysinternals DiskMon's saved logs.
        Diskmon = "diskmon",
        /// SYSTOR '17 virtual desktop CSV (SNIA).
        Systor = "systor",
        /// Alibaba Cloud block traces.
        Alibaba = "alibaba",
        /// Tencent Cloud block storage traces (SNIA).
        Tencent = "tencent",
    }
}

impl Format {
    /// Entry of the format in the table.
    pub fn spec(self) -> &'static FormatSpec {
        &FORMATS[self as usize]
    }
}

/// Origin of a format's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The clock starts with the recording: a conversion keeps the times.
    Recording,
    /// The clock counts from the boot of a machine or an epoch: a conversion counts from the first request.
    World,
}

/// Makes a parser. The event counts as a request, in formats that have several; the units are those of the columns, in
/// formats that other programs write in other units.
pub(crate) type MakeParser = fn(Event, Units) -> Box<dyn LineParser>;

/// Reader of a format.
#[derive(Clone, Copy)]
pub(crate) enum Reader {
    Text(MakeParser),
    Blktrace,
    Vscsi,
}

/// Description of a format.
pub struct FormatSpec {
    /// The format.
    pub format: Format,
    /// A line as it stands in such a file; for a binary format, its layout.
    pub example: &'static str,
    /// Publisher of the format.
    pub source: &'static str,
    /// Where the latencies of its requests are.
    pub latencies: LatencySource,
    pub(crate) clock: Clock,
    /// Names of each column in the header that published files have; none if the format has no header of that kind.
    pub(crate) header: &'static [&'static [&'static str]],
    pub(crate) reader: Reader,
}

impl FormatSpec {
    /// Name in a configuration.
    pub fn name(&self) -> &'static str {
        self.format.name()
    }

    /// True if a line is the header of the format: a known name for every column, in the format's order.
    pub(crate) fn is_header(&self, line: &[u8]) -> bool {
        let plain = |field: &[u8]| -> Vec<u8> {
            field.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
        };
        let fields: Vec<_> = line.split(|&byte| byte == b',').map(plain).collect();
        let has = |(names, field): (&&[&str], &Vec<u8>)| names.iter().any(|name| name.as_bytes() == field);
        !self.header.is_empty() && fields.len() == self.header.len() && self.header.iter().zip(&fields).all(has)
    }

    /// True if the units of its columns can be named.
    pub(crate) fn has_units(&self) -> bool {
        matches!(self.format, Format::Disksim | Format::Ssdsim)
    }

    /// One line of help.
    pub fn help(&self) -> &'static str {
        Format::CHOICES[self.format as usize].help
    }
}

/// Every format, in the order in which they are listed; if a file fits two equally well, the first is taken.
pub static FORMATS: &[FormatSpec] = &[
    flashloom::SPEC,
    msr::SPEC,
    spc::SPEC,
    blktrace::SPEC,
    blkparse::SPEC,
    fio::SPEC,
    ssdsim::SPEC,
    disksim::SPEC,
    vscsi::SPEC,
    diskmon::SPEC,
    systor::SPEC,
    alibaba::SPEC,
    tencent::SPEC,
];

/// Bytes and lines at the start of a file that the detection reads.
pub(crate) const SAMPLE_BYTES: usize = 64 << 10;
const SAMPLE_LINES: usize = 64;

/// The lines of a sample, without one that is cut off at its end.
fn lines(sample: &[u8]) -> impl Iterator<Item = &[u8]> {
    let cut = memchr::memrchr(b'\n', sample).filter(|_| sample.len() == SAMPLE_BYTES).unwrap_or(sample.len());
    sample[..cut].split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end)
}

/// True if a line that a format reads is evidence for it.
fn is_evidence(format: Format, line: &[u8]) -> bool {
    // DiskSim prints fractions; whole numbers could be another format's nanoseconds.
    format != Format::Disksim || line[locate::<b' '>(line, 0)].contains(&b'.')
}

/// Detects the format of the content: by a binary signature or Flashloom's own header, else the format that parses most
/// of the first lines.
pub(crate) fn detect(chunks: &mut Chunks) -> Result<Option<Format>, Problem> {
    let sample = chunks.peek(SAMPLE_BYTES)?;
    if blktrace::has_signature(sample) {
        return Ok(Some(Format::Blktrace));
    }
    if vscsi::version(sample).is_some() {
        return Ok(Some(Format::Vscsi));
    }
    if flashloom::has_header(sample) {
        return Ok(Some(Format::Flashloom));
    }
    let score = |spec: &FormatSpec| match spec.reader {
        Reader::Text(parser) => {
            let mut parser = parser(Event::Queue, Units::default());
            let mut fits = |line: &[u8]| parser.parse(line).is_ok() && is_evidence(spec.format, line);
            lines(sample).filter(|line| !line.is_empty()).take(SAMPLE_LINES).filter(|line| fits(line)).count()
        }
        Reader::Blktrace | Reader::Vscsi => 0,
    };
    let scores = FORMATS.iter().map(|spec| (score(spec), spec.format));
    Ok(scores.reduce(|best, other| if other.0 > best.0 { other } else { best }).filter(|best| best.0 > 0).map(|b| b.1))
}

/// Files that hold recordings or tables and are none of a known format: where their signature stands, the signature,
/// what they are, and what to do.
const CONTAINERS: [(usize, &[u8], &str, &str); 9] = [
    (257, b"ustar", "a tar archive", "unpack it: a recording is a file of its own"),
    (0, b"PAR1", "a Parquet file", "`run --log` with a name in .csv writes a log that can be replayed"),
    (0, b"ARROW1", "an Arrow file", "write it as CSV"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", "write it as CSV"),
    (0, b"SQLite format 3\0", "an SQLite database", "write it as CSV"),
    (
        0,
        b"\x17\x08Dtracing",
        "a recording of trace-cmd",
        "record with blktrace, or `trace-cmd report` is no format here",
    ),
    (0, b"PERFILE2", "a recording of perf", "record with blktrace"),
    (0, b"PK", "a zip archive", "unpack it: a recording is a file of its own"),
    (0, b"{", "JSON", "write it as Flashloom's own CSV, `timestamp_ns,op,lba,sectors`"),
];

/// The problem of a file that is known to be no recording, by its signature.
pub(crate) fn container(file: &str, chunks: &mut Chunks) -> Result<Option<Problem>, Problem> {
    let head = chunks.peek(512)?;
    let is_of = |(at, signature, ..): &&(usize, &[u8], &str, &str)| {
        head.get(*at..).is_some_and(|rest| rest.starts_with(signature))
    };
    Ok(CONTAINERS.iter().find(is_of).map(|(_, _, name, help)| {
        let problem =
            Problem::file(file, format!("this is {name}"), "a recording: plain, or compressed by gzip or zstd");
        problem.with_help(*help)
    }))
}

/// Least number of fields that a format reads of a line that is said to be like it.
const LIKE: usize = 3;

/// The format that reads most fields of a line before the first fault, with that fault.
fn closest(line: &[u8]) -> Option<(&'static FormatSpec, FieldError)> {
    let mut best: Option<(usize, &FormatSpec, FieldError)> = None;
    for spec in FORMATS {
        let Reader::Text(parser) = spec.reader else { continue };
        let Err(fault) = parser(Event::Queue, Units::default()).parse(line) else { continue };
        let separators: &[u8] = if spec.example.contains([' ', '\t']) { b" \t" } else { b"," };
        let fields = line[..fault.span.start].split(|byte| separators.contains(byte)).filter(|field| !field.is_empty());
        let fields = fields.count();
        if fields >= LIKE && best.as_ref().is_none_or(|best| best.0 < fields) {
            best = Some((fields, spec, fault));
        }
    }
    best.map(|(_, spec, fault)| (spec, fault))
}

/// Builds the problem of a file of unknown format: its first line, and the known formats. A line of names of columns is
/// told the header of Flashloom's own CSV.
pub(crate) fn unknown(file: &str, chunks: &mut Chunks) -> Result<Problem, Problem> {
    const SHOWN: usize = 80;
    let names = Format::CHOICES.iter().map(|choice| choice.name).collect::<Vec<_>>().join(", ");
    let expected = format!("a trace in one of the formats {names}");
    let line = chunks.line()?.unwrap_or_default();
    let is_word = |field: &[u8]| {
        let field = field.trim_ascii();
        field.strip_prefix(b"\"").unwrap_or(field).first().is_some_and(u8::is_ascii_alphabetic)
    };
    let has_names = line.split(|&byte| byte == b',').filter(|field| is_word(field)).count() >= 3;
    let shown = &line[..line.len().min(SHOWN)];
    let own = nearest(&String::from_utf8_lossy(shown), [flashloom::HEADER]);
    let help = if let Some(header) = own {
        format!("did you mean `{header}`? It is the header of Flashloom's own CSV")
    } else if let Some((spec, fault)) = closest(line) {
        let column = String::from_utf8_lossy(&line[..fault.span.start]).chars().count() + 1;
        let (found, expected) = (fault.found(line), fault.expected);
        format!("this is most like `{}`, but at column {column} {found}; expected {expected}", spec.name())
    } else if has_names {
        format!(
            "Flashloom's own CSV has the header `{}`: times in nanoseconds, R, W, D or F, sectors of 512 bytes; \
             `flashloom list formats` shows a line of each format",
            flashloom::HEADER
        )
    } else {
        "`flashloom list formats` shows a line of each".to_owned()
    };
    Ok(Problem {
        file: file.to_owned(),
        place: place(1, shown, 0..shown.len()),
        refusal: Refusal::new("this is no trace format that is known", expected).help(help),
    })
}

#[cfg(test)]
mod tests {
    use super::super::input::Input;
    use super::*;

    fn text_formats() -> impl Iterator<Item = (&'static FormatSpec, MakeParser)> {
        FORMATS.iter().filter_map(|spec| match spec.reader {
            Reader::Text(parser) => Some((spec, parser)),
            Reader::Blktrace | Reader::Vscsi => None,
        })
    }

    #[test]
    fn the_table_and_the_names_are_in_the_same_order_and_complete() {
        assert_eq!(FORMATS.len(), Format::CHOICES.len());
        for (index, spec) in FORMATS.iter().enumerate() {
            assert_eq!(spec.format as usize, index);
            assert_eq!(spec.name(), Format::CHOICES[index].name);
            assert!(!spec.example.is_empty() && !spec.source.is_empty() && !spec.help().is_empty());
        }
    }

    #[test]
    fn the_example_of_every_text_format_is_read_by_it_and_recognised_as_it() {
        for (spec, parser) in text_formats() {
            let mut parser = parser(Event::Queue, Units::default());
            let last = spec.example.lines().map(|line| parser.parse(line.as_bytes())).last().expect("a line");
            assert!(matches!(last, Ok(Some(_))), "{}: {last:?}", spec.name());
            assert_eq!(detected(spec.example), Some(spec.format));
        }
    }

    #[test]
    fn every_parser_points_at_time_and_address_of_its_own_example() {
        use super::super::record::Part;
        for (spec, parser) in text_formats() {
            let mut parser = parser(Event::Queue, Units::default());
            let line = spec.example.lines().inspect(|line| drop(parser.parse(line.as_bytes()))).last().unwrap();
            for part in [Part::Time, Part::Address] {
                let text = &line[parser.locate(part, line.as_bytes())];
                assert!(text.starts_with(|c: char| c.is_ascii_digit()), "{} {part:?}: `{text}`", spec.name());
            }
        }
    }

    fn detected(text: &str) -> Option<Format> {
        detect(&mut Input::memory("t", text.as_bytes().into()).open().unwrap()).unwrap()
    }

    /// The help in the problem of a text of no known format.
    fn help(text: &str) -> String {
        let mut chunks = Input::memory("t", text.as_bytes().into()).open().unwrap();
        unknown("t", &mut chunks).unwrap().refusal.help.unwrap()
    }

    #[test]
    fn a_garbage_line_at_the_start_does_not_hide_the_format() {
        assert_eq!(detected("garbage\n0 0 8 8 1\n5 0 16 8 0\n"), Some(Format::Ssdsim));
    }

    #[test]
    fn a_header_that_is_none_of_a_format_is_told_our_own() {
        for header in [
            "timestamp_ms,op,lba,sectors",
            "time,offset,size",
            "time,offset,size,rw",
            "\"ts\",\"op\",\"lba\",\"len\"",
            "Timestamp,Type,Offset,Size",
            "arrival,kind,sector,count",
        ] {
            let help = help(&format!("{header}\n1,2,3,4\n"));
            assert!(help.contains("`timestamp_ns,op,lba,sectors`"), "{header}: {help}");
        }
        assert!(help("time;offset;size\n").contains("flashloom list formats"));
    }

    #[test]
    fn a_line_with_one_fault_is_told_the_format_that_it_is_like() {
        for (line, told) in [
            (
                "128166391024154329,prxy,0,Wrte,0,4096,500",
                "this is most like `msr`, but at column 27 `Wrte` is not known here; expected `Read` or `Write`",
            ),
            ("128166391024154329,prxy,0,Write,0,4096", "`msr`, but at column 39 the line ends too early"),
            ("0 0 8 8 7 x", "most like `disksim`"),
        ] {
            let help = help(&format!("{line}\n"));
            assert!(help.contains(told), "{line}: {help}");
        }
        assert!(!help("hello, good world\n").contains("most like"));
    }

    #[test]
    fn only_times_with_a_fraction_speak_for_disksim() {
        assert_eq!(detected("0 0 8 8 1\n1.5 0 8 8 0\n1.7 0 8 8 0\n"), Some(Format::Disksim));
        assert_eq!(detected("0 0 8 8 1\n2 0 8 8 0\n3 0 8 8 2\n"), Some(Format::Ssdsim));
    }
}
