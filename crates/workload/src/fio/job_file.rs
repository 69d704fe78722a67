//! The syntax of a job file: sections of options, one per line.
//!
//! `[name]` begins a job, `[global]` sets options for the jobs below it. A line is `option=value`, or `option` alone
//! for a flag. `;` and `#` begin a comment. Every problem is found in one pass.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use flashloom_files::BYTE_ORDER_MARK;
use flashloom_units::{Lines, Problem, Problems, Refusal};

use super::foreign::{Origin, origin};
use super::options::{OptionSpec, Use, find, names};

/// An option as written.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub spec: &'static OptionSpec,
    /// The value, trimmed; "1" for an option without a value.
    pub value: String,
    /// Byte range of the value, or of the option if it stands alone.
    pub span: Range<usize>,
}

impl Entry {
    /// Name and value, as a report has them.
    pub fn written(&self) -> (String, String) {
        (self.spec.name.to_owned(), self.value.clone())
    }
}

/// A section that begins a job; the options of the `[global]` sections above it come first.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    pub name: String,
    pub span: Range<usize>,
    /// The options of the section itself.
    pub entries: Vec<Entry>,
    /// Those of all `[global]` sections of the file.
    globals: Arc<Globals>,
    /// Number of these that stand above it.
    inherited: usize,
}

/// The options of all `[global]` sections of a file, in order.
#[derive(Debug, Default)]
struct Globals {
    entries: Vec<Entry>,
    /// Places of each option among them, from first to last, by name: jobs without number ask for it.
    places: BTreeMap<&'static str, Vec<usize>>,
}

impl Globals {
    fn of(entries: Vec<Entry>) -> Self {
        let mut places = BTreeMap::<_, Vec<_>>::new();
        for (at, entry) in entries.iter().enumerate() {
            places.entry(entry.spec.name).or_default().push(at);
        }
        Self { entries, places }
    }

    /// The last entry of an option among the first `count`.
    fn last(&self, name: &str, count: usize) -> Option<&Entry> {
        let places = self.places.get(name)?;
        let before = places.partition_point(|&at| at < count);
        before.checked_sub(1).map(|last| &self.entries[places[last]])
    }
}

impl Section {
    /// The options of the `[global]` sections above it, in order.
    pub fn globals(&self) -> &[Entry] {
        &self.globals.entries[..self.inherited]
    }

    /// The effective entry of an option: the last one.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        let own = self.entries.iter().rev().find(|entry| entry.spec.name == name);
        own.or_else(|| self.globals.last(name, self.inherited))
    }

    /// Where a problem of the job is told: at the first of the named options that it has, or at its name.
    pub fn place(&self, names: &[&str]) -> Range<usize> {
        let entry = names.iter().find_map(|name| self.entry(name));
        entry.map_or(&self.span, |entry| &entry.span).clone()
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

    pub fn refuse(&self, span: Range<usize>, refusal: Refusal) -> Problem {
        Problem::in_lines(&self.name, &self.text, &self.lines, span, refusal)
    }
}

/// What is wrong with a job file: the first problems, and how many more there are.
pub(super) struct Findings<'a> {
    text: &'a Text,
    /// Problems with the place at which each is reported.
    first: Vec<(usize, Problem)>,
    /// All places: an option of `[global]` may be a problem of several jobs, and is reported once.
    places: BTreeSet<usize>,
}

impl<'a> Findings<'a> {
    pub fn of(text: &'a Text) -> Self {
        Self { text, first: Vec::new(), places: BTreeSet::new() }
    }

    /// Adds a problem of a place, which is made only if it will be told.
    pub fn refuse(&mut self, span: Range<usize>, refusal: impl FnOnce() -> Refusal) {
        let text = self.text;
        self.add(span.start, || text.refuse(span, refusal()));
    }

    /// Adds a problem that an option at `place` leads to, such as one of the file that it names.
    pub fn add(&mut self, place: usize, problem: impl FnOnce() -> Problem) {
        if self.places.insert(place) && self.first.len() < Problems::MOST {
            self.first.push((place, problem()));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns `value` if nothing was found; otherwise the problems from top to bottom.
    pub fn unless_any<T>(mut self, value: T) -> Result<T, Problems> {
        if self.is_empty() {
            return Ok(value);
        }
        let more = self.places.len() - self.first.len();
        self.first.sort_by_key(|(place, _)| *place);
        Err(Problems::counting(self.first.into_iter().map(|(_, problem)| problem).collect(), more))
    }
}

/// Number of jobs that fio runs at most (`REAL_MAX_JOBS` of its source), each of `numjobs` counted.
pub(super) const MAX_JOBS: u32 = 4_096;

/// Options of a file at most: 64 for each of the jobs that fio runs. Each takes a hundred bytes.
const MOST_OPTIONS: usize = 64 * MAX_JOBS as usize;

/// Bytes of a line that fio reads as one (`OPT_LEN_MAX` of its source, without the line end and the end of the text).
/// What is written in a line is kept for each job that it applies to.
const LONGEST_LINE: usize = 8_190;

/// What is expected of a file with more.
pub(super) fn at_most() -> String {
    format!("at most {MAX_JOBS} jobs in a file, each of `numjobs` counted")
}

/// Reads the sections of a job file; every problem is added to `findings`.
pub(super) fn sections(text: &Text, findings: &mut Findings) -> Vec<Section> {
    let (mut globals, mut jobs) = (Vec::<Entry>::new(), Vec::<Section>::new());
    let mut is_global = false;
    let (mut start, mut options) = (0, 0);
    for line in text.text.split_inclusive('\n') {
        let (at, content) = content_of(start, line);
        start += line.len();
        if content.is_empty() {
            continue;
        }
        let span = at..at + content.len();
        if content.len() > LONGEST_LINE {
            let found = || format!("a line of {} bytes", content.len());
            findings.refuse(at..at + 1, || Refusal::new(found(), format!("at most {LONGEST_LINE}, as fio reads")));
            continue;
        }
        if content.starts_with('[') {
            let name = section_name(at, content, findings);
            is_global = name == "global";
            if !is_global {
                if jobs.len() == MAX_JOBS as usize {
                    findings.refuse(span, || Refusal::new("one job more than fio runs", at_most()));
                    break;
                }
                jobs.push(Section { name: name.to_owned(), span, inherited: globals.len(), ..Section::default() });
            }
            continue;
        }
        let Some(entry) = entry(at, content, findings) else { continue };
        options += 1;
        if options > MOST_OPTIONS {
            let expected = format!("at most {MOST_OPTIONS} options in a file");
            findings.refuse(span, || Refusal::new("one option more than a file may have", expected));
            break;
        }
        match jobs.last_mut() {
            _ if is_global => globals.push(entry),
            Some(job) => job.entries.push(entry),
            None => findings.refuse(span, || Refusal::new("an option outside of a section", "`[job name]` above")),
        }
    }
    if jobs.is_empty() && findings.is_empty() {
        findings.add(0, || Problem::file(&text.name, "holds no job", "at least one section, `[job name]`"));
    }
    let globals = Arc::new(Globals::of(globals));
    jobs.iter_mut().for_each(|job| job.globals = Arc::clone(&globals));
    jobs
}

/// The trimmed part of a line before a comment, and its start.
fn content_of(start: usize, line: &str) -> (usize, &str) {
    let line = line.find([';', '#']).map_or(line, |comment| &line[..comment]);
    let content = line.trim_start();
    (start + line.len() - content.len(), content.trim_end())
}

/// The name in the header of a section; empty if it is refused, which is added to `findings`.
fn section_name<'a>(at: usize, content: &'a str, findings: &mut Findings) -> &'a str {
    let name = content[1..].strip_suffix(']').unwrap_or_default();
    if name.is_empty() {
        let refusal = || Refusal::new("the name of a section is missing or not closed", "`[job name]`");
        findings.refuse(at..at + content.len(), refusal);
    }
    name
}

/// An option; `None` if it is refused, which is added to `findings`.
fn entry(at: usize, content: &str, findings: &mut Findings) -> Option<Entry> {
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
        findings.refuse(name_span, || Refusal::new("a job file that includes another is not supported", expected));
        return None;
    }
    if let Some(variable) = value.find("${") {
        let expected = "the value itself, so that a run can be repeated";
        findings.refuse(span.start + variable..span.end, || Refusal::new("an environment variable", expected));
        return None;
    }
    let Some(spec) = find(name) else {
        findings.refuse(name_span, || no_option(name));
        return None;
    };
    match spec.usage {
        Use::Refused(why) => findings.refuse(name_span, || {
            Refusal::new(format!("the option `{name}` is not supported: {why}"), "")
                .help("remove it; the requests are then those of a job without it")
        }),
        Use::Only(values, why) if !values.contains(&value) => findings.refuse(span, || {
            let allowed = values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" or ");
            Refusal::new(format!("`{name}` = `{value}` is not supported: {why}"), allowed)
        }),
        _ => return Some(Entry { spec, value: value.to_owned(), span }),
    }
    None
}

/// The refusal of a name that is no option here.
fn no_option(name: &str) -> Refusal {
    const EXPECTED: &str = "an option of fio 3.33";
    match origin(name) {
        None => Refusal::new(format!("unknown option `{name}`"), EXPECTED).suggesting(name, names()),
        Some(Origin::Engine(engine)) => {
            let found = format!("`{name}`, an option of the engine `{engine}`, which is not simulated");
            Refusal::new(found, "an option of fio 3.33 itself, or of an engine that is simulated")
        }
        Some(Origin::Later(version)) => {
            let found = format!("`{name}`, an option that came with fio {version}");
            Refusal::new(found, EXPECTED).help("jobs run as fio 3.33 runs them: remove it")
        }
        Some(Origin::Earlier) => {
            Refusal::new(format!("`{name}`, an option that fio 3.33 refuses as deprecated"), EXPECTED)
        }
    }
}

/// Decodes the text of a job file.
pub(super) fn text_of(name: &str, bytes: &[u8]) -> Result<Text, Problems> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Text::new(name, text.to_owned())),
        Err(error) => {
            let at = error.valid_up_to();
            let text = Text::new(name, String::from_utf8_lossy(bytes).into_owned());
            Err(text.refuse(at..at + 1, Refusal::new("this is not UTF-8 text", "a fio job file")).into())
        }
    }
}
