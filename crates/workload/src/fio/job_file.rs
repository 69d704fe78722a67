//! The syntax of a job file: sections of options, one per line.
//!
//! `[name]` begins a job, `[global]` sets options for the jobs below it. A line is `option=value`, or `option` alone
//! for a flag. `;` and `#` begin a comment. Every problem is found in one pass.

use std::ops::Range;
use std::sync::Arc;

use flashloom_units::{Lines, Problem, Problems, Refusal};

use super::options::{OptionSpec, Use, find, nearest_name};

/// An option as written.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub spec: &'static OptionSpec,
    /// The value, trimmed; "1" for an option without a value.
    pub value: String,
    /// Byte range of the value, or of the option if it stands alone.
    pub span: Range<usize>,
}

/// A section that begins a job; the options of the `[global]` sections above it come first.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub name: String,
    pub span: Range<usize>,
    /// The options of the section itself.
    pub entries: Vec<Entry>,
    /// Those of all `[global]` sections of the file, in order.
    globals: Arc<Vec<Entry>>,
    /// Number of these that stand above it.
    inherited: usize,
}

impl Section {
    /// The options of the `[global]` sections above it, in order.
    pub fn globals(&self) -> &[Entry] {
        &self.globals[..self.inherited]
    }

    /// The effective entry of an option: the last one.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.globals().iter().chain(&self.entries).rev().find(|entry| entry.spec.name == name)
    }
}

/// The text of a job file, for problems to point into.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub name: String,
    text: String,
    lines: Lines,
}

impl Text {
    fn new(name: &str, text: String) -> Self {
        Self { name: name.to_owned(), lines: Lines::of(&text), text }
    }

    pub fn problem(&self, span: Range<usize>, found: impl Into<String>, expected: impl Into<String>) -> Problem {
        self.refuse(span, Refusal::new(found, expected))
    }

    pub fn refuse(&self, span: Range<usize>, refusal: Refusal) -> Problem {
        Problem::in_lines(&self.name, &self.text, &self.lines, span, refusal)
    }
}

/// Number of jobs that fio runs at most (`REAL_MAX_JOBS` of its source), each of `numjobs` counted.
pub(super) const MAX_JOBS: u32 = 4_096;

/// What is expected of a file with more.
pub(super) fn at_most() -> String {
    format!("at most {MAX_JOBS} jobs in a file, each of `numjobs` counted")
}

/// Reads the sections of a job file; every problem is added to `problems`.
pub(super) fn sections(text: &Text, problems: &mut Vec<Problem>) -> Vec<Section> {
    let (mut globals, mut jobs) = (Vec::<Entry>::new(), Vec::<Section>::new());
    let mut place = Place::Nowhere;
    let mut start = 0;
    for line in text.text.split_inclusive('\n') {
        let (at, content) = content_of(start, line);
        start += line.len();
        if content.is_empty() {
            continue;
        }
        if content.starts_with('[') {
            place = header(text, at, content, problems);
            if let Place::Job(name) = &place {
                if jobs.len() == MAX_JOBS as usize {
                    problems.push(text.problem(at..at + content.len(), "one job more than fio runs", at_most()));
                    break;
                }
                let section = Section {
                    name: name.clone(),
                    span: at..at + content.len(),
                    entries: Vec::new(),
                    globals: Arc::default(),
                    inherited: globals.len(),
                };
                jobs.push(section);
            }
            continue;
        }
        match (entry(text, at, content), &place) {
            (Err(problem), _) => problems.push(problem),
            (Ok(_), Place::Nowhere) => {
                let problem =
                    text.problem(at..at + content.len(), "an option outside of a section", "`[job name]` above");
                problems.push(problem);
            }
            (Ok(entry), Place::Global) => globals.push(entry),
            (Ok(entry), Place::Job(_)) => jobs.last_mut().expect("a job's section was begun").entries.push(entry),
        }
    }
    if jobs.is_empty() && problems.is_empty() {
        problems.push(Problem::file(&text.name, "holds no job", "at least one section, `[job name]`"));
    }
    let globals = Arc::new(globals);
    jobs.iter_mut().for_each(|job| job.globals = Arc::clone(&globals));
    jobs
}

enum Place {
    Nowhere,
    Global,
    Job(String),
}

/// The trimmed part of a line before a comment, and its start.
fn content_of(start: usize, line: &str) -> (usize, &str) {
    let line = line.find([';', '#']).map_or(line, |comment| &line[..comment]);
    let content = line.trim_start();
    (start + line.len() - content.len(), content.trim_end())
}

fn header(text: &Text, at: usize, content: &str, problems: &mut Vec<Problem>) -> Place {
    let name = content[1..].strip_suffix(']').unwrap_or_default();
    if name.is_empty() {
        let span = at..at + content.len();
        problems.push(text.problem(span, "the name of a section is missing or not closed", "`[job name]`"));
    }
    if name == "global" { Place::Global } else { Place::Job(name.to_owned()) }
}

fn entry(text: &Text, at: usize, content: &str) -> Result<Entry, Problem> {
    let (name, value, span) = match content.split_once('=') {
        Some((name, value)) => {
            let start = at + content.len() - value.trim_start().len();
            (name.trim_end(), value.trim(), start..at + content.len())
        }
        None => (content, "1", at..at + content.len()),
    };
    let name_span = at..at + name.len();
    if name == "include" || name.starts_with("include ") {
        let expected = "the sections themselves, in one file";
        return Err(text.problem(name_span, "a job file that includes another is not supported", expected));
    }
    if let Some(variable) = value.find("${") {
        let span = span.start + variable..span.end;
        return Err(text.problem(span, "an environment variable", "the value itself, so that a run can be repeated"));
    }
    let Some(spec) = find(name) else {
        let problem = text.problem(name_span, format!("unknown option `{name}`"), "an option of fio 3.33");
        return Err(match nearest_name(name) {
            Some(near) => problem.with_help(format!("did you mean `{near}`?")),
            None => problem,
        });
    };
    match spec.usage {
        Use::Refused(why) => {
            let problem = text.problem(name_span, format!("the option `{name}` is not supported: {why}"), "");
            Err(problem.with_help("remove it; the requests are then those of a job without it"))
        }
        Use::Only(values, why) if !values.contains(&value) => {
            let allowed = values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" or ");
            Err(text.problem(span, format!("`{name}` = `{value}` is not supported: {why}"), allowed))
        }
        _ => Ok(Entry { spec, value: value.to_owned(), span }),
    }
}

/// Decodes the text of a job file.
pub(super) fn text_of(name: &str, bytes: &[u8]) -> Result<Text, Problems> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Text::new(name, text.to_owned())),
        Err(error) => {
            let at = error.valid_up_to();
            let text = Text::new(name, String::from_utf8_lossy(bytes).into_owned());
            Err(text.problem(at..at + 1, "this is not UTF-8 text", "a fio job file").into())
        }
    }
}
