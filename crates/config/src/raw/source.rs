//! The texts of a configuration, and the problems found in them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashloom_files::{NoInput, TEXT_LIMIT_BYTES, read_input};
use flashloom_units::{Lines, Problem, Problems, Refusal};

use super::other_kind::other_kind;
use crate::catalog::SECTIONS;

/// A configuration file, or the text of one command-line option.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name shown in front of line and column.
    pub name: String,
    /// The text.
    pub text: String,
    /// Folder that relative paths in the text start from.
    pub folder: PathBuf,
}

impl Source {
    /// Reads a configuration file; relative paths in it start from its own folder.
    pub fn read(path: &str) -> Result<Self, Problem> {
        const EXPECTED: &str = "a configuration file in TOML";
        let bytes = read_input(Path::new(path), TEXT_LIMIT_BYTES).map_err(|reason| {
            let other = matches!(reason, NoInput::TooLong(_)).then(|| other_kind(path, &[])).flatten();
            other.map_or_else(|| Problem::file(path, reason.to_string(), EXPECTED), |found| found.in_file(path))
        })?;
        let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_owned();
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { name: path.to_owned(), text, folder }),
            Err(error) => {
                if let Some(found) = other_kind(path, error.as_bytes()) {
                    return Err(found.in_file(path));
                }
                let at = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes());
                Err(Problem::in_text(path, &text, at..at + 1, Refusal::new("this is not UTF-8 text", EXPECTED)))
            }
        }
    }

    /// A text in memory, such as that of an option; relative paths in it start from the working directory.
    pub fn text(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), folder: PathBuf::new() }
    }
}

/// Place where something was written: a byte range of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Index of the source.
    pub source: usize,
    /// Byte range in its text.
    pub span: Range<usize>,
}

/// All texts read so far, in order; an [`Origin`] contains an index into it.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<Arc<(Source, Lines)>>);

impl Sources {
    /// Adds a text, and returns its index.
    pub fn add(&mut self, source: Source) -> usize {
        let lines = Lines::of(&source.text);
        self.0.push(Arc::new((source, lines)));
        self.0.len() - 1
    }

    /// Returns the text with an index.
    pub fn get(&self, index: usize) -> &Source {
        &self.0[index].0
    }

    /// Where the lines of the text with an index begin.
    pub fn lines(&self, index: usize) -> &Lines {
        &self.0[index].1
    }

    /// Turns a refusal into a problem at a place, which replaces its keys.
    pub fn problem(&self, origin: &Origin, refusal: Refusal) -> Problem {
        let (source, lines) = &*self.0[origin.source];
        let refusal = Refusal { keys: Vec::new(), ..refusal };
        Problem::in_lines(&source.name, &source.text, lines, origin.span.clone(), refusal)
    }
}

/// Collects every problem, and the sections that can no longer be relied on.
#[derive(Debug, Default)]
pub struct Report {
    /// Texts that the problems point into.
    pub sources: Sources,
    /// Problems, each with its source and its position there: the first hundred that were found.
    problems: Vec<(usize, usize, Problem)>,
    /// Sources, places and findings of those that may be found again.
    found: BTreeSet<(usize, usize, usize, String)>,
    /// Number of all problems.
    count: usize,
    tainted: BTreeSet<usize>,
}

impl Report {
    /// An empty report on texts that were read before.
    pub fn on(sources: Sources) -> Self {
        Self { sources, ..Self::default() }
    }

    /// How many problems were found.
    pub fn found(&self) -> usize {
        self.count
    }

    /// Adds a refusal as a problem at its place. The given section can no longer be relied on; without one, none can.
    pub fn distrust(&mut self, origin: &Origin, refusal: Refusal, section: Option<usize>) {
        self.taint(section);
        self.refuse(origin, refusal);
    }

    /// [`Self::distrust`] of what is found once, where a text is read; the refusal is made only if it will be told.
    pub fn distrust_once(&mut self, origin: &Origin, section: Option<usize>, refusal: impl FnOnce() -> Refusal) {
        self.taint(section);
        self.refuse_once(origin, refusal);
    }

    fn taint(&mut self, section: Option<usize>) {
        match section {
            Some(section) => drop(self.tainted.insert(section)),
            // All that there are, so that a text of errors costs no more than its length.
            None if self.tainted.len() < SECTIONS.len() => self.tainted.extend(0..SECTIONS.len()),
            None => {}
        }
    }

    /// Adds a refusal as a problem at its place, once; sections remain reliable.
    pub fn refuse(&mut self, origin: &Origin, refusal: Refusal) {
        let Origin { source, span } = origin;
        if self.found.insert((*source, span.start, span.end, refusal.found.clone())) {
            self.refuse_once(origin, || refusal);
        }
    }

    /// [`Self::refuse`] of what is found once, where a text is read; the refusal is made only if it will be told.
    pub fn refuse_once(&mut self, origin: &Origin, refusal: impl FnOnce() -> Refusal) {
        self.count += 1;
        if self.problems.len() < Problems::MOST {
            self.problems.push((origin.source, origin.span.start, self.sources.problem(origin, refusal())));
        }
    }

    /// True if all of these sections can be relied on.
    pub fn trusts(&self, sections: &[&str]) -> bool {
        !self.tainted.iter().any(|&index| sections.contains(&SECTIONS[index].name))
    }

    /// All problems: those of the file and of the options in the order in which they were given, each from top to
    /// bottom. Beyond a hundred there is only their number.
    pub fn into_problems(mut self) -> Problems {
        let more = self.count - self.problems.len();
        self.problems.sort_by_key(|(source, position, _)| (*source, *position));
        let problems: Vec<Problem> = self.problems.into_iter().map(|(_, _, problem)| problem).collect();
        Problems::counting(problems, more)
    }

    /// Returns the value, if no problem was found.
    ///
    /// # Errors
    /// All problems.
    pub fn or<T>(self, value: T) -> Result<T, Problems> {
        self.into_problems().or(value)
    }

    /// True if no problem was found.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}
