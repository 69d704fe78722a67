//! Recordings in lines of text: one reader for all formats, which differ only in their [`LineParser`].

use std::ops::Range;

use flashloom_units::{Problem, ProblemPlace, Refusal};

use super::field::{FieldError, Fields, locate};
use super::format::{Format, FormatSpec};
use super::input::{Chunks, Input};
use super::record::{Columns, Part, Record, RecordSource, SkippedLines};

/// Maximum length of a line in any format, in bytes; and the part shown of a longer one.
const MAX_LINE_BYTES: usize = 8 << 10;
const SHOWN_BYTES: usize = 80;

/// A parser that turns one line of a format into a request.
pub(crate) trait LineParser: Send {
    /// Returns the request of a line, or `None` for a line that belongs to the format but holds none: a header, an
    /// event of another kind. The line is not empty and has no end of line.
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError>;

    /// Byte range of the time or the address in a line that was parsed.
    fn locate(&self, part: Part, line: &[u8]) -> Range<usize>;

    /// Name of a device in the recording, by its number in the records parsed so far.
    fn device_name(&self, device: u32) -> String {
        device.to_string()
    }

    /// Optional columns of the lines, beside time, operation and address; known once the first line was parsed.
    fn columns(&self) -> Columns {
        Columns::default()
    }
}

/// A parser without state of its own, for a format whose every line is a request.
struct Stateless<P, const SEPARATOR: u8> {
    parse: P,
    /// Indices of the fields that hold time and address.
    places: [usize; 2],
}

impl<P, const SEPARATOR: u8> LineParser for Stateless<P, SEPARATOR>
where
    P: Fn(&mut Fields<SEPARATOR>) -> Result<Record, FieldError> + Send,
{
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        let mut fields = Fields::new(line);
        let record = (self.parse)(&mut fields)?;
        fields.finish()?;
        Ok(Some(record))
    }

    fn locate(&self, part: Part, line: &[u8]) -> Range<usize> {
        locate::<SEPARATOR>(line, self.places[usize::from(part == Part::Address)])
    }
}

/// The parser of a format whose every line is a request, read by `parse`. `places` are the indices of the fields that
/// hold time and address.
pub(crate) fn stateless<const SEPARATOR: u8>(
    parse: impl Fn(&mut Fields<SEPARATOR>) -> Result<Record, FieldError> + Send + 'static,
    places: [usize; 2],
) -> Box<dyn LineParser> {
    Box::new(Stateless { parse, places })
}

/// Reads a recording line by line.
pub(crate) struct TextReader {
    input: Input,
    chunks: Chunks,
    spec: &'static FormatSpec,
    parser: Box<dyn LineParser>,
    line: u64,
    /// True until a line that is not empty was read: it may be a header.
    is_at_start: bool,
    skipped: SkippedLines,
    /// Another format that the content looks like; named in an error before the first request.
    looks_like: Option<Format>,
}

impl TextReader {
    pub fn new(
        input: &Input,
        chunks: Chunks,
        spec: &'static FormatSpec,
        parser: Box<dyn LineParser>,
        skip_bad_lines: bool,
        looks_like: Option<Format>,
    ) -> Self {
        let (input, skipped) = (input.clone(), SkippedLines::new(skip_bad_lines));
        Self { input, chunks, spec, parser, line: 0, is_at_start: true, skipped, looks_like }
    }

    /// Keeps a problem if bad lines are skipped, else returns it as an error.
    #[cold]
    fn refuse(&mut self, mut problem: Problem) -> Result<(), Problem> {
        if let Some(format) = self.looks_like {
            problem = problem.with_help(format!("the content looks like the format `{}`", format.name()));
        }
        self.skipped.refuse(problem)
    }
}

impl RecordSource for TextReader {
    fn next_record(&mut self) -> Result<Option<Record>, Problem> {
        loop {
            let Some(line) = self.chunks.line()? else { return Ok(None) };
            self.line += 1;
            if line.first().is_none_or(u8::is_ascii_whitespace) && line.trim_ascii().is_empty() {
                continue;
            }
            if std::mem::take(&mut self.is_at_start) && self.spec.is_header(line) {
                continue;
            }
            let problem = if line.len() > MAX_LINE_BYTES {
                too_long(&self.input.name, self.line, line)
            } else {
                match self.parser.parse(line) {
                    Ok(Some(mut record)) => {
                        record.origin = self.line;
                        self.looks_like = None;
                        return Ok(Some(record));
                    }
                    Ok(None) => continue,
                    Err(error) => line_problem(&self.input.name, self.line, line, &error),
                }
            };
            self.refuse(problem)?;
        }
    }

    fn skipped(&self) -> &SkippedLines {
        &self.skipped
    }

    fn columns(&self) -> Columns {
        self.parser.columns()
    }

    fn device_name(&self, device: u32) -> String {
        self.parser.device_name(device)
    }

    fn problem_at(&self, origin: u64, part: Part, found: String, expected: String) -> Problem {
        let mut problem = Problem::file(&self.input.name, found, expected);
        let Ok(mut chunks) = self.input.open() else { return problem };
        for _ in 1..origin {
            let _ = chunks.line();
        }
        if let Ok(Some(line)) = chunks.line() {
            problem.place = place(origin, line, self.parser.locate(part, line));
        }
        problem
    }
}

/// The place of a part of a line.
pub(crate) fn place(number: u64, line: &[u8], span: Range<usize>) -> ProblemPlace {
    let chars = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().count() as u64;
    ProblemPlace::Text {
        line: number,
        column: chars(&line[..span.start]) + 1,
        width: chars(&line[span]).max(1),
        source: String::from_utf8_lossy(line).into_owned(),
    }
}

/// Builds the problem of a faulty field.
pub(crate) fn line_problem(file: &str, number: u64, line: &[u8], error: &FieldError) -> Problem {
    let place = place(number, line, error.span.clone());
    let help = error.nearest.map(|name| format!("did you mean `{name}`?"));
    let refusal = Refusal { help, ..Refusal::new(error.found(line), error.expected) };
    Problem { file: file.to_owned(), place, refusal }
}

#[cold]
fn too_long(file: &str, number: u64, line: &[u8]) -> Problem {
    let found = format!("a line of more than {MAX_LINE_BYTES} bytes");
    let place = place(number, &line[..SHOWN_BYTES], 0..SHOWN_BYTES);
    Problem { file: file.to_owned(), place, refusal: Refusal::new(found, "a line of a trace") }
}
