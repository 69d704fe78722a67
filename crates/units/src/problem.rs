//! Errors in input files: file, line, column, what was found, what was expected, and what to do about it.

use std::fmt;
use std::ops::Range;

use crate::{Lines, Refusal, visible, visible_line};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Bytes of a line that is shown, at most; a longer one would fill the screen.
const MAX_SHOWN_BYTES: usize = 8 << 10;

/// Position of a problem in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemPlace {
    /// The file as a whole: it is missing, empty, or a directory.
    File,
    /// Characters of a line of text.
    Text {
        /// Line, from 1.
        line: u64,
        /// Column in characters, from 1.
        column: u64,
        /// Number of characters to underline, at least 1.
        width: u64,
        /// The whole line, without its line ending; nothing if it is too long to be shown.
        source: String,
    },
    /// A record of a binary file.
    Record {
        /// Number of the record, from 1.
        record: u64,
        /// Byte offset in the (decompressed) file.
        offset: u64,
    },
}

/// One error in the user's input, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file as the user named it, or the command-line option that holds the text.
    pub file: String,
    /// Position in the file.
    pub place: ProblemPlace,
    /// The error itself: what was found, what was expected, and what to do.
    pub refusal: Refusal,
}

impl Problem {
    /// Makes a problem with a file as a whole.
    pub fn file(file: impl Into<String>, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Refusal::new(found, expected).in_file(file)
    }

    /// Makes a problem at `span` (byte offsets) of `text`, the whole contents of a file such as a configuration.
    pub fn in_text(file: &str, text: &str, span: Range<usize>, refusal: Refusal) -> Self {
        Self::in_lines(file, text, &Lines::of(text), span, refusal)
    }

    /// [`Self::in_text`] of a text whose lines are known, as it has many problems.
    pub fn in_lines(file: &str, text: &str, lines: &Lines, span: Range<usize>, refusal: Refusal) -> Self {
        let floor = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let (start, end) = (floor(span.start), floor(span.end));
        let line = lines.line_of(start);
        let line_start = lines.start(line).expect("a line that a byte is in");
        let line_end = lines.start(line + 1).map_or(text.len(), |next| next - 1);
        let is_shown = line_end - line_start <= MAX_SHOWN_BYTES;
        let place = ProblemPlace::Text {
            line: line as u64 + 1,
            column: text[line_start..start].chars().count() as u64 + 1,
            width: text[start..end.clamp(start, line_end)].chars().count().max(1) as u64,
            source: if is_shown { text[line_start..line_end].trim_end_matches('\r').to_owned() } else { String::new() },
        };
        Self { file: file.to_owned(), place, refusal }
    }

    /// Returns the refusal without its position, for a message that shows another position: the file's name goes in
    /// front of what was found.
    pub fn into_refusal(mut self) -> Refusal {
        self.refusal.found = format!("{}: {}", self.file, self.refusal.found);
        self.refusal
    }

    /// Adds advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.refusal = self.refusal.help(help);
        self
    }

    /// Adds "did you mean" with the valid name nearest to `written`, if one is near.
    #[must_use]
    pub fn suggesting<'a>(mut self, written: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        self.refusal = self.refusal.suggesting(written, valid);
        self
    }

    /// The position as compilers write it: `file:line:column`, `file: record N, byte M`, or the file alone.
    pub fn location(&self) -> String {
        match &self.place {
            ProblemPlace::File => self.file.clone(),
            ProblemPlace::Text { line, column, .. } => format!("{}:{line}:{column}", self.file),
            ProblemPlace::Record { record, offset } => format!("{}: record {record}, byte {offset}", self.file),
        }
    }
}

impl fmt::Display for Problem {
    /// What came from a file is made visible: its line and column stay those of the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { found, expected, help, .. } = &self.refusal;
        let (file, found) = (visible_line(&self.file), visible_line(found));
        let expected = if expected.is_empty() { String::new() } else { format!("expected {}", visible_line(expected)) };
        let help = help.as_deref().map(visible_line);
        let is_shown = |column: u64, source: &str| column == 1 || !source.is_empty();
        if let ProblemPlace::Text { line, column, width, source } = &self.place
            && is_shown(*column, source)
        {
            let byte = |chars: u64| source.char_indices().nth(chars as usize).map_or(source.len(), |(at, _)| at);
            let (start, end) = (byte(column - 1), byte(column - 1 + width));
            let [before, marked, after] = [&source[..start], &source[start..end], &source[end..]].map(visible);
            let mut annotation = AnnotationKind::Primary.span(before.len()..before.len() + marked.len());
            if !expected.is_empty() {
                annotation = annotation.label(expected.as_str());
            }
            let is_column_shown = before.chars().count() as u64 == column - 1;
            let source = [before, marked, after].concat();
            let snippet = Snippet::source(source).line_start(*line as usize).path(file.as_ref()).annotation(annotation);
            let mut group = Group::with_title(Level::ERROR.primary_title(found)).element(snippet);
            if let Some(help) = help {
                group = group.element(Level::HELP.message(help));
            }
            let shown = Renderer::plain().render(&[group]);
            // The second line is `--> file:line:column`, with the column of what is shown.
            let mut lines = shown.splitn(3, '\n');
            return match [lines.next(), lines.next(), lines.next()] {
                [Some(title), Some(place), Some(rest)] if !is_column_shown => {
                    let indent = " ".repeat(place.len() - place.trim_start().len());
                    write!(f, "{title}\n{indent}--> {file}:{line}:{column}\n{rest}")
                }
                _ => f.write_str(&shown),
            };
        }
        write!(f, "error: {found}\n --> {}", visible_line(&self.location()))?;
        if !expected.is_empty() {
            write!(f, "\n  = {expected}")?;
        }
        help.iter().try_for_each(|help| write!(f, "\n  = help: {help}"))
    }
}

impl std::error::Error for Problem {}

/// A refusal of a configuration that is not in a file: its keys take the place of the file's name.
impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let keys = refusal.keys.join(", ");
        refusal.in_file(keys)
    }
}

/// All errors in one input, found in one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Number of problems that are told of one input; of more there is their number.
    pub const MOST: usize = 100;

    /// The first problems of an input, and last how many `more` it has, if any.
    pub fn counting(mut first: Vec<Problem>, more: usize) -> Self {
        if let Some(last) = first.last().filter(|_| more > 0) {
            let found = format!("{more} more {}", if more == 1 { "problem" } else { "problems" });
            first.push(Problem::file(last.file.clone(), found, ""));
        }
        Self(first)
    }

    /// Adds a problem, unless it is there already.
    pub fn add(&mut self, problem: Problem) {
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }

    /// Returns the value, if there are no problems.
    ///
    /// # Errors
    /// The problems.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl From<Refusal> for Problems {
    fn from(refusal: Refusal) -> Self {
        Problem::from(refusal).into()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if index == 0 { "" } else { "\n\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_points_at_line_and_column_and_suggests_a_name() {
        let text = "[host]\nschedular = \"noop\"\n";
        let problem =
            Problem::in_text("a.toml", text, 7..16, Refusal::new("unknown key `schedular`", "a key of [host]"))
                .suggesting("schedular", ["scheduler", "queue_depth"]);
        assert_eq!(problem.location(), "a.toml:2:1");
        let shown = problem.to_string();
        for part in
            ["error: unknown key `schedular`", "a.toml:2:1", "^^^^^^^^^ expected a key of [host]", "`scheduler`?"]
        {
            assert!(shown.contains(part), "{part} is not in\n{shown}");
        }
    }

    #[test]
    fn what_is_hidden_in_a_line_is_shown_and_the_caret_still_points_at_its_place() {
        let text = "\u{1b}[2K\tkey\u{202e} = \u{200b}x\u{9b}y # \u{7}\n";
        let at = text.find('\u{200b}').expect("it is there");
        let refusal = Refusal::new("`\u{1b}[31m\nerror: faked`", "a \u{2066}value").help("not \u{e0041}");
        let problem = Problem::in_text("\u{1b}]0;a.toml", text, at..at + "\u{200b}x\u{9b}y".len(), refusal);
        assert_eq!(problem.location(), "\u{1b}]0;a.toml:1:13");
        let expected = r"error: `\u{1b}[31m\nerror: faked`
 --> \u{1b}]0;a.toml:1:13
  |
1 | \u{1b}[2K    key\u{202e} = \u{200b}x\u{9b}y # \u{7}
  |                            ^^^^^^^^^^^^^^^^ expected a \u{2066}value
  |
  = help: not \u{e0041}";
        assert_eq!(problem.to_string(), expected);
        let whole = Problem { place: ProblemPlace::Record { record: 2, offset: 9 }, ..problem }.to_string();
        assert!(
            whole.starts_with(r"error: `\u{1b}[31m\nerror: faked`") && whole.contains(r"\u{1b}]0;a.toml: record 2")
        );
    }

    #[test]
    fn a_problem_is_short_however_long_what_it_repeats_is() {
        let key = "k".repeat(1 << 20);
        for text in [key.clone(), format!("{}\n{key}", "x".repeat(8_000))] {
            let refusal = Refusal::new(format!("unknown key `{key}` in [host]"), key.as_str()).help(key.as_str());
            let shown = Problem::in_text("a.toml", &text, 7..9, refusal).to_string();
            assert!(shown.len() < 20_000, "{}: {}", text.len(), shown.len());
            assert!(shown.contains("characters ...]") && shown.contains("` in [host]"), "{shown}");
        }
        let refusal = Refusal::new(key.as_str(), key.as_str()).help(key.as_str());
        assert!(refusal.to_string().len() < 4_000 && refusal.in_file(key).to_string().len() < 5_000);
    }

    #[test]
    fn spans_outside_the_text_and_inside_a_character_do_not_panic() {
        for (start, end) in [(0, 99), (99, 100), (1, 2), (2, 1)] {
            let _ = Problem::in_text("f", "ä\n", start..end, Refusal::new("x", "y")).to_string();
        }
    }
}
