//! The texts of a configuration, and the problems found in them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use flashloom_files::read_input;
use flashloom_units::{Problem, Refusal};

use crate::config::catalog::SECTIONS;

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
        let bytes = read_input(Path::new(path)).map_err(|reason| Problem::file(path, reason.to_string(), EXPECTED))?;
        let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_owned();
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { name: path.to_owned(), text, folder }),
            Err(error) => {
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
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text, and returns its index.
    pub fn add(&mut self, source: Source) -> usize {
        self.0.push(source);
        self.0.len() - 1
    }

    /// Returns the text with an index.
    pub fn get(&self, index: usize) -> &Source {
        &self.0[index]
    }

    /// Turns a refusal into a problem at a place, which replaces its keys.
    pub fn problem(&self, origin: &Origin, refusal: Refusal) -> Problem {
        let source = &self.0[origin.source];
        Problem::in_text(&source.name, &source.text, origin.span.clone(), Refusal { keys: Vec::new(), ..refusal })
    }
}

/// Collects every problem, and the sections that can no longer be relied on.
#[derive(Debug, Default)]
pub struct Report {
    /// Texts that the problems point into.
    pub sources: Sources,
    /// Problems, each with its source and its position there.
    problems: Vec<(usize, usize, Problem)>,
    tainted: BTreeSet<usize>,
}

impl Report {
    /// An empty report on texts that were read before.
    pub fn on(sources: Sources) -> Self {
        Self { sources, ..Self::default() }
    }

    /// Adds a refusal as a problem at its place. The given section can no longer be relied on; without one, none can.
    pub fn distrust(&mut self, origin: &Origin, refusal: Refusal, section: Option<usize>) {
        match section {
            Some(section) => drop(self.tainted.insert(section)),
            None => self.tainted.extend(0..SECTIONS.len()),
        }
        self.refuse(origin, refusal);
    }

    /// Adds a refusal as a problem at its place, once; sections remain reliable.
    pub fn refuse(&mut self, origin: &Origin, refusal: Refusal) {
        let problem = self.sources.problem(origin, refusal);
        if self.problems.iter().all(|(_, _, other)| *other != problem) {
            self.problems.push((origin.source, origin.span.start, problem));
        }
    }

    /// True if all of these sections can be relied on.
    pub fn trusts(&self, sections: &[&str]) -> bool {
        !self.tainted.iter().any(|&index| sections.contains(&SECTIONS[index].name))
    }

    /// All problems: those of the file and of the options in the order in which they were given, each from top to
    /// bottom.
    pub fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|(source, position, _)| (*source, *position));
        self.problems.into_iter().map(|(_, _, problem)| problem).collect()
    }

    /// True if no problem was found.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}
