//! Text output of blkparse: by default `dev cpu sequence time pid action rwbs sector + sectors [command]`, and the
//! shorter `time action rwbs sector sectors command` of `-f "%T.%t %a %d %S %n %C\n"`.
//!
//! Time is in seconds from the start of the recording, addresses in sectors of 512 bytes. Of the actions, Q (queued by
//! the host) or D (dispatched to the device) is read, as chosen by the event; beside D, R (given back to be issued
//! again) and C (completed). A (remapped: `SECTOR + SECTORS <- (DEVICE) SECTOR`) says
//! that the next event of the device at that sector is the request of another device. All others are ignored, and so
//! are commands that are not of the file system (a packet in parentheses instead of an address) and the summary at the
//! end. In `rwbs`, an F before the operation is a flush that goes before it and an F after it is FUA, S is synchronous,
//! B (barrier) was both in old kernels; A, M and E have no meaning here. Without data, an F is a flush. The process is
//! the task.
//!
//! A time before the start of the recording is printed as its remainder after wrapping at 64 bits of nanoseconds and
//! then at 32 bits of seconds: about 1,266,874,889 s, which no recording lasts. It is read as the negative time that it
//! stands for.
//!
//! Source: blkparse(1), and `blkparse_fmt.c` of blktrace.

use std::ops::Range;

use flashloom_units::{Ns, S};

use super::{Clock, Event, Format, FormatSpec, LatencySource, LineParser, Reader};
use crate::trace::field::{BlankFields, Fault, FieldError, locate};
use crate::trace::record::{Column, Columns, Moment, Numbering, Part, Place, Record};
use crate::{Op, Request};

pub(crate) const SPEC: FormatSpec = FormatSpec {
    format: Format::Blkparse,
    example: "  8,16   3        5     0.000026421  3645  Q   R 4938888 + 256 [java]",
    source: "blkparse(1)",
    latencies: LatencySource::Events,
    clock: Clock::World,
    header: &[],
    reader: Reader::Text(|event, _| Box::new(Blkparse::new(event))),
};

/// Wrap-around of printed times: minus one nanosecond is printed as one less than this.
const WRAPPED_NS: Ns = ((1 << 64) % ((1u128 << 32) * S as u128)) as Ns;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Default,
    Short,
}

struct Blkparse {
    /// Letter of the chosen event.
    action: u8,
    devices: Numbering<Box<[u8]>>,
    /// Layout of the last parsed line.
    layout: Layout,
    /// True once an event has been read, after which a summary may follow.
    began: bool,
    in_summary: bool,
}

impl Blkparse {
    fn new(event: Event) -> Self {
        let action = match event {
            Event::Queue => b'Q',
            Event::Issue => b'D',
        };
        Self { action, devices: Numbering::default(), layout: Layout::Default, began: false, in_summary: false }
    }

    /// The layout of a line that begins with the field `first`: only a device has a comma.
    fn layout(first: &[u8]) -> Layout {
        if first.contains(&b',') { Layout::Default } else { Layout::Short }
    }

    /// Parses the time, on a clock that begins [`WRAPPED_NS`] before the recording, so that it is never negative.
    #[inline(always)]
    fn time(fields: &mut BlankFields) -> Result<Ns, FieldError> {
        let time_ns = fields.decimal(9, "the time in seconds")?;
        if time_ns > WRAPPED_NS / 2 {
            return Ok(time_ns);
        }
        Ok(time_ns + WRAPPED_NS)
    }

    /// Letters of the action; others are an error.
    #[inline(always)]
    fn action<'a>(fields: &mut BlankFields<'a>) -> Result<&'a [u8], FieldError> {
        let action = fields.word("the action, such as Q or D")?;
        if action.len() > 2 || !action.iter().all(u8::is_ascii_alphabetic) {
            return Err(fields.error(Fault::Unknown, "an action, such as Q or D"));
        }
        Ok(action)
    }

    /// The moment that an action is about, if it is a chosen event.
    #[inline(always)]
    fn moment(&self, action: &[u8]) -> Option<Moment> {
        match action {
            _ if action == [self.action] => Some(Moment::Begins),
            b"C" if self.action == b'D' => Some(Moment::Completes),
            b"R" if self.action == b'D' => Some(Moment::Requeued),
            b"A" => Some(Moment::HandedDown),
            _ => None,
        }
    }

    /// Parses the end of a remap, `<- (DEVICE) SECTOR`: the place above.
    #[cold]
    fn place_above(&mut self, fields: &mut BlankFields) -> Result<Place, FieldError> {
        const EXPECTED: &str = "`<-`, the device above in parentheses, and its sector";
        if fields.word(EXPECTED)? != b"<-" {
            return Err(fields.error(Fault::Unknown, EXPECTED));
        }
        let word = fields.word(EXPECTED)?;
        let Some(device) = word.strip_prefix(b"(").and_then(|word| word.strip_suffix(b")")) else {
            return Err(fields.error(Fault::Unknown, EXPECTED));
        };
        let device = self.devices.number(device, || device.into());
        Ok((device, fields.number("the first sector on the device above")?))
    }

    /// Parses the fields after the device.
    fn default_line(&mut self, device: &[u8], mut fields: BlankFields) -> Result<Option<Record>, FieldError> {
        fields.number("the CPU")?;
        fields.number("the sequence number")?;
        let time_ns = Self::time(&mut fields)?;
        let task = fields.small("the process")?;
        let Some(mut moment) = self.moment(Self::action(&mut fields)?) else { return Ok(None) };
        let what = What::parse(&mut fields)?;
        let (lba, sectors) = if fields.next_begins_with(b'[') {
            fields.word("the command")?;
            (0, 0)
        } else {
            let lba = fields.number("the first sector")?;
            match fields.word("`+` and the number of sectors")? {
                // The end of a request without data: the sector, and the error in brackets.
                [b'[', ..] if moment != Moment::Begins => (lba, 0),
                b"+" => (lba, fields.number("the number of sectors")?),
                [b'(', ..] => return Ok(None),
                _ => return Err(fields.error(Fault::Unknown, "`+` and the number of sectors")),
            }
        };
        let Some(mut record) = what.record(time_ns, lba, sectors, &fields)? else { return Ok(None) };
        if moment == Moment::Completes && !ends_without_error(&mut fields) {
            moment = Moment::Fails;
        }
        record.moment = moment;
        record.request.task = task;
        record.device = self.devices.number(device, || device.into());
        Ok(Some(match moment {
            Moment::HandedDown => record.handed_down_from(self.place_above(&mut fields)?),
            _ => record,
        }))
    }

    fn short_line(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        let mut fields = BlankFields::new(line);
        let time_ns = Self::time(&mut fields)?;
        let moment = self.moment(Self::action(&mut fields)?);
        let what = What::parse(&mut fields)?;
        let lba = fields.number("the first sector")?;
        let sectors = fields.number("the number of sectors")?;
        let Some(moment) = moment else { return Ok(None) };
        let record = what.record(time_ns, lba, sectors, &fields)?;
        Ok(record.map(|record| Record { moment, ..record }))
    }
}

/// True unless a line of a completion ends with an error in brackets, such as `[-5]`, or `[5]` in old releases.
fn ends_without_error(fields: &mut BlankFields) -> bool {
    let is_error = |word: &[u8]| word.starts_with(b"[") && word != b"[0]";
    if is_error(&fields.line()[fields.span()]) {
        return false;
    }
    std::iter::from_fn(|| fields.word("").ok()).all(|word| !is_error(word))
}

impl LineParser for Blkparse {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        self.in_summary |= self.began && (line.starts_with(b"CPU") || line.starts_with(b"Total ("));
        if self.in_summary || line.starts_with(b"Input file ") {
            return Ok(None);
        }
        let mut fields = BlankFields::new(line);
        let first = fields.word("").unwrap_or_default();
        self.layout = Self::layout(first);
        let record = match self.layout {
            Layout::Default => self.default_line(first, fields)?,
            Layout::Short => self.short_line(line)?,
        };
        self.began = true;
        Ok(record)
    }

    fn locate(&self, part: Part, line: &[u8]) -> Range<usize> {
        let index = match (Self::layout(&line[locate::<b' '>(line, 0)]), part) {
            (Layout::Default, Part::Time) => 3,
            (Layout::Default, Part::Address) => 7,
            (Layout::Short, Part::Time) => 0,
            (Layout::Short, Part::Address) => 3,
        };
        locate::<b' '>(line, index)
    }

    fn device_name(&self, device: u32) -> String {
        self.devices.text(device)
    }

    fn columns(&self) -> Columns {
        Columns::of((self.layout == Layout::Default).then_some(Column::Task))
    }
}

/// The field `rwbs`.
struct What {
    /// `None` for a request without data and direction.
    op: Option<Op>,
    flush_before: bool,
    fua: bool,
    sync: bool,
}

impl What {
    #[inline(always)]
    fn parse(fields: &mut BlankFields) -> Result<Self, FieldError> {
        const EXPECTED: &str = "what it does: F, then R, W, D or N, then F, A, S, M, E or B";
        let letters = fields.word(EXPECTED)?;
        let (flush_before, rest) = match letters {
            [b'F', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (op, rest) = match rest {
            [b'R', rest @ ..] => (Some(Op::Read), rest),
            [b'W', rest @ ..] => (Some(Op::Write), rest),
            [b'D', rest @ ..] => (Some(Op::Discard), rest),
            [b'N', rest @ ..] => (None, rest),
            rest if flush_before => (None, rest),
            _ => return Err(fields.error(Fault::Unknown, EXPECTED)),
        };
        let mut what = Self { op, flush_before, fua: false, sync: false };
        for letter in rest {
            match letter {
                b'F' => what.fua = true,
                b'S' => what.sync = true,
                b'B' => (what.flush_before, what.fua) = (true, true),
                b'A' | b'M' | b'E' => {}
                _ => return Err(fields.error(Fault::Unknown, EXPECTED)),
            }
        }
        Ok(what)
    }

    /// The request; `None` for one that neither transfers data nor flushes.
    #[inline(always)]
    fn record(self, time_ns: Ns, lba: u64, sectors: u64, at: &BlankFields) -> Result<Option<Record>, FieldError> {
        let mut record = match self.op {
            _ if sectors == 0 && self.flush_before => Record::new(time_ns, Op::Flush, 0, 0),
            None => return Ok(None),
            Some(op) => Record::new(time_ns, op, lba, at.sectors(lba, sectors)?),
        };
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        record.request.flags = flag(self.sync, Request::SYNC);
        if record.request.op == Op::Write {
            record.request.flags |= flag(self.fua, Request::FUA) | flag(self.flush_before, Request::PREFLUSH);
        }
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(text: &str) -> Vec<Result<Option<Request>, FieldError>> {
        let mut parser = Blkparse::new(Event::Issue);
        let parsed = text.lines().map(|line| parser.parse(line.as_bytes()));
        let is_request = |record: &Record| record.moment == Moment::Begins;
        parsed.map(|record| record.map(|record| record.filter(is_request).map(|record| record.request))).collect()
    }

    #[test]
    fn only_the_event_that_was_asked_for_is_a_request() {
        let text = "8,0 1 1 0.5 7 Q WS 8 + 16 [a b]\n8,0 1 2 0.6 7 D WS 8 + 16 [a b]\n8,0 1 3 0.7 0 C WS 8 + 16 [0]\n\
                    8,0 1 4 0.8 7 m N cfq7 slice\n8,0 1 5 0.9 7 D R 36 (12 00) [hdparm]\n\
                    8,0 1 6 1 7 A R 8 + 8 <- (8,1) 0";
        let requests: Vec<_> = issue(text).into_iter().flat_map(|request| request.expect("a good line")).collect();
        assert_eq!(requests.len(), 1);
        let request = requests[0];
        assert_eq!((request.lba, request.sectors, request.task, request.flags), (8, 16, 7, Request::SYNC));
    }

    #[test]
    fn completions_are_read_beside_issues_alone() {
        let text = "8,0 1 2 0.6 7 D WS 8 + 16 [a b]\n8,0 1 3 0.7 0 C WS 8 + 16 [0]\n8,0 1 4 0.8 0 C FN 0 [0]\n\
                    8,0 1 5 0.9 0 C R 8 + 8 ( 1234) [0]\n8,0 1 6 0.9 0 C R 8 + 8 [-5]\n0.9 C W 8 8 swapper/3";
        let read = |event| {
            let mut parser = Blkparse::new(event);
            let parsed = text.lines().filter_map(|line| parser.parse(line.as_bytes()).expect("a good line"));
            parsed.map(|record| (record.moment, record.request.op, record.request.sectors)).collect::<Vec<_>>()
        };
        assert_eq!(read(Event::Queue), []);
        assert_eq!(read(Event::Issue)[0], (Moment::Begins, Op::Write, 16));
        let ends = [
            (Moment::Completes, Op::Write, 16),
            (Moment::Completes, Op::Flush, 0),
            (Moment::Completes, Op::Read, 8),
            (Moment::Fails, Op::Read, 8),
            (Moment::Completes, Op::Write, 8),
        ];
        assert_eq!(read(Event::Issue)[1..], ends);
    }

    #[test]
    fn a_remap_names_the_place_above() {
        let parse = |line: &str| Blkparse::new(Event::Queue).parse(line.as_bytes());
        let above = |line: &str| parse(line).unwrap().map(|record| (record.moment, record.request.lba, record.above()));
        let sector = (1 << 40) + 9;
        let line = format!("8,0 1 1 0.5 7 A WS 3048 + 8 <- (253,0) {sector}");
        assert_eq!(above(&line), Some((Moment::HandedDown, 3_048, (1, sector))));
        assert_eq!(above("8,0 1 1 0.5 7 A FWS 2048 + 0 <- (253,0) 0").map(|seen| seen.1), Some(0));
        for (line, span) in [
            ("8,0 1 1 0.5 7 A W 8 + 8 (253,0) 0", 24..31),
            ("8,0 1 1 0.5 7 A W 8 + 8 <- 253,0 0", 27..32),
            ("8,0 1 1 0.5 7 A W 8 + 8 <- (253,0) x", 35..36),
        ] {
            assert_eq!(parse(line).unwrap_err().span, span, "{line}");
        }
    }

    #[test]
    fn the_letters_tell_flush_before_from_fua() {
        let flags = |rwbs: &str, extent: &str| {
            let request = issue(&format!("8,0 1 1 0 7 D {rwbs} {extent} [x]")).remove(0).unwrap();
            request.map(|request| (request.op, request.flags))
        };
        assert_eq!(flags("FWFS", "8 + 8"), Some((Op::Write, Request::PREFLUSH | Request::FUA | Request::SYNC)));
        assert_eq!(flags("WFSM", "8 + 8"), Some((Op::Write, Request::FUA | Request::SYNC)));
        assert_eq!(flags("WB", "8 + 8"), Some((Op::Write, Request::PREFLUSH | Request::FUA)));
        assert_eq!(flags("DS", "8 + 8"), Some((Op::Discard, Request::SYNC)));
        assert_eq!(flags("RA", "8 + 8"), Some((Op::Read, 0)));
        assert_eq!(flags("FWS", ""), Some((Op::Flush, Request::SYNC)));
        assert_eq!(flags("FN", "0 + 0"), Some((Op::Flush, 0)));
        assert_eq!(flags("N", "0 + 0"), None);
    }

    #[test]
    fn the_summary_and_the_other_layout_are_understood() {
        let text = "0.000000000 D W 133799992 8 kworker/0:1H\n0.5 C W 8 8 swapper/3\nCPU0 (8,16):\n Reads Queued: 0";
        let read: Vec<_> = issue(text).into_iter().map(|request| request.expect("a good line").is_some()).collect();
        assert_eq!(read, [true, false, false, false]);
    }

    #[test]
    fn a_time_before_the_start_comes_before_it() {
        let times: Vec<_> = issue("8,0 1 1 0.000026421 7 D R 8 + 8 [x]\n8,0 1 2 1266874889.708668759 7 D R 8 + 8 [x]")
            .into_iter()
            .map(|request| request.unwrap().unwrap().arrival_ns)
            .collect();
        assert_eq!(times[0] - times[1], 26_421 + 882_857);
    }

    #[test]
    fn a_bad_field_is_named() {
        let error = |line: &str| issue(line).remove(0).unwrap_err();
        assert_eq!(error("8,0 x 1 0 7 D R 8 + 8 [x]").span, 4..5);
        assert_eq!(error("8,0 1 1 0 7 D Z 8 + 8 [x]").span, 14..15);
        assert_eq!(error("8,0 1 1 0 7 D R 8 + 0 [x]").fault, Fault::ZeroLength);
        assert_eq!(error("8,0 1 1 0 7 D R 8x + 8 [x]").span, 16..18);
        assert_eq!(error("garbage").fault, Fault::NotANumber);
    }
}
