//! Reads a configuration file against the catalog: every problem in one pass.

use std::collections::BTreeSet;
use std::ops::Range;

use flashloom_units::{Lines, Refusal, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::blank::blanked;
use super::expectation::{self, Expectation};
use super::range;
use super::source::{Origin, Report};
use super::value::check;
use crate::config::catalog::{Catalog, EXPECT, KeyId, Member, SECTIONS, VARY};

/// A value assigned to a key.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The key.
    pub key: KeyId,
    /// Its checked value.
    pub value: Value,
    /// Place where the value was written.
    pub origin: Origin,
}

/// A key that takes several values, one per run.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The key.
    pub key: KeyId,
    /// Place where the key was written.
    pub origin: Origin,
    /// Checked values, each with its place.
    pub values: Vec<(Value, Origin)>,
}

/// Content of a configuration file.
#[derive(Debug, Default)]
pub struct Document {
    /// Values of keys, in the order of the file.
    pub assignments: Vec<Assignment>,
    /// Keys that a comparison varies, in the order of the file.
    pub axes: Vec<Axis>,
    /// Expectations about a comparison, in the order of the file.
    pub expectations: Vec<Expectation>,
    /// Place where the name of each table was first written, by index of the table.
    pub headers: Vec<Option<Origin>>,
}

/// Reads the text of a source; problems go to the report, and the rest is read all the same.
pub fn read(catalog: &Catalog, report: &mut Report, source: usize) -> Document {
    let text = report.sources.get(source).text.clone();
    let parsed = blanked(&text);
    let (root, errors) = DeTable::parse_recoverable(&parsed);
    let lines = report.sources.lines(source).clone();
    let mut bad_lines: Vec<Range<usize>> = Vec::new();
    let mut errors: Vec<_> = errors.iter().collect();
    errors.sort_by_key(|error| error.span().map_or(0, |span| span.start));
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        lose(&mut bad_lines, lines_lost(&text, &lines, lines.line_of(span.start)));
        let refusal = syntax_refusal(&text, &span, error.message());
        report.distrust(&Origin { source, span }, refusal, None);
    }
    let headers = vec![None; catalog.tables.len()];
    let document = Document { headers, ..Document::default() };
    let mut reader = Reader { catalog, report, source, lines, bad_lines, document };
    reader.root(root.get_ref());
    reader.document
}

/// Adds lines to those that are lost. Errors come from top to bottom, so they meet the last ones at most.
fn lose(lost: &mut Vec<Range<usize>>, lines: Range<usize>) {
    match lost.last_mut().filter(|last| lines.start <= last.end && last.start <= lines.start) {
        Some(last) => last.end = last.end.max(lines.end),
        None => lost.push(lines),
    }
}

/// Lines that are lost because one of them is not TOML: that line or, if it is a header, its whole table.
fn lines_lost(text: &str, lines: &Lines, line: usize) -> Range<usize> {
    let is_header = |line: &str| line.trim_start().starts_with('[');
    let mut below = text[lines.start(line).unwrap_or(text.len())..].lines();
    if !below.next().is_some_and(is_header) {
        return line..line + 1;
    }
    let content = below.take_while(|line| !is_header(line)).count();
    line..line + 1 + content
}

/// Refusal of invalid TOML; a word in the place of a value most likely lacks its quotes.
fn syntax_refusal(text: &str, span: &Range<usize>, message: &str) -> Refusal {
    let word = text.get(span.clone()).unwrap_or_default();
    let is_value = text.get(..span.start).is_some_and(|before| before.trim_end_matches([' ', '\t']).ends_with('='));
    if is_value && word.starts_with(|first: char| first.is_ascii_alphabetic()) {
        let help = Some(format!("a text needs quotes: `\"{word}\"`"));
        return Refusal {
            help,
            ..Refusal::new(format!("`{word}` is not a value"), "a number, true, false, or a text")
        };
    }
    let otherwise = if message == "duplicate key" { "each key once in a table" } else { "" };
    let (found, expected) = message.split_once(", expected ").unwrap_or((message, otherwise));
    Refusal::new(found, expected)
}

struct Reader<'a> {
    catalog: &'a Catalog,
    report: &'a mut Report,
    source: usize,
    lines: Lines,
    /// Lines that are not TOML, in order: their meaning would be a guess, and not worth a second problem.
    bad_lines: Vec<Range<usize>>,
    document: Document,
}

impl Reader<'_> {
    fn origin<T>(&self, spanned: &Spanned<T>) -> Origin {
        Origin { source: self.source, span: spanned.span() }
    }

    fn distrust<T>(&mut self, at: &Spanned<T>, refusal: Refusal, section: Option<usize>) {
        let origin = self.origin(at);
        if !self.is_lost(&origin) {
            self.report.distrust(&origin, refusal, section);
        }
    }

    /// True if a place is on a lost line.
    fn is_lost(&self, origin: &Origin) -> bool {
        let line = self.lines.line_of(origin.span.start);
        let after = self.bad_lines.partition_point(|lost| lost.start <= line);
        self.bad_lines[..after].last().is_some_and(|lost| lost.contains(&line))
    }

    fn root(&mut self, root: &DeTable<'_>) {
        for (key, value) in root {
            let name = key.get_ref().as_ref();
            if name == VARY {
                match value.get_ref() {
                    DeValue::Table(table) => self.vary(table, None),
                    _ => self.distrust(value, not_a_table(VARY), None),
                }
                continue;
            }
            if name == EXPECT {
                self.expect(value);
                continue;
            }
            match (self.catalog.section_table(name), value.get_ref()) {
                (Err(refusal), _) => self.distrust(key, refusal, None),
                (Ok(table), DeValue::Table(content)) => self.table(table, key, content),
                (Ok(table), _) => self.distrust(value, not_a_table(name), Some(self.catalog.tables[table].section)),
            }
        }
    }

    fn expect(&mut self, list: &Spanned<DeValue<'_>>) {
        let mut refusals = Vec::new();
        let mut collect = |span: Range<usize>, refusal: Refusal| refusals.push(Spanned::new(span, refusal));
        match list.get_ref() {
            DeValue::Array(tables) => {
                let read =
                    tables.iter().filter_map(|table| expectation::read(self.catalog, self.source, table, &mut collect));
                self.document.expectations.extend(read);
            }
            _ => collect(list.span(), Refusal::new(format!("a value for `{EXPECT}`"), format!("a list, [[{EXPECT}]]"))),
        }
        for refusal in refusals {
            let origin = self.origin(&refusal);
            if !self.is_lost(&origin) {
                // Nothing else depends on it.
                self.report.refuse(&origin, refusal.into_inner());
            }
        }
    }

    fn table<T>(&mut self, table: usize, header: &Spanned<T>, content: &DeTable<'_>) {
        self.document.headers[table] = Some(self.origin(header));
        let section = Some(self.catalog.tables[table].section);
        for (key, value) in content {
            match (self.catalog.member(table, key.get_ref()), value.get_ref()) {
                (Err(refusal), _) => self.distrust(key, refusal, section),
                (Ok(Member::Table(inner)), DeValue::Table(content)) => self.table(inner, key, content),
                (Ok(Member::Table(inner)), _) => {
                    self.distrust(value, not_a_table(&self.catalog.tables[inner].path()), section)
                }
                (Ok(Member::Key(id)), written) => match check(self.catalog, id.param(), written) {
                    Ok(checked) => {
                        let origin = self.origin(value);
                        self.document.assignments.push(Assignment { key: id, value: checked, origin });
                    }
                    Err(refusal) => self.distrust(value, refusal, section),
                },
            }
        }
    }

    /// Keys are quoted paths (`"host.scheduler" = [..]`) or plain ones, which TOML nests (`host.scheduler = [..]`).
    fn vary(&mut self, content: &DeTable<'_>, table: Option<usize>) {
        for (key, value) in content {
            let name = key.get_ref().as_ref();
            let found = match table {
                Some(table) => self.catalog.member(table, name),
                None if name.contains('.') => {
                    self.catalog.resolve(name).map(Member::Key).map_err(|(_, refusal)| refusal)
                }
                None => self.catalog.section_table(name).map(Member::Table),
            };
            let section = table.map(|table| self.catalog.tables[table].section);
            match (found, value.get_ref()) {
                (Err(refusal), _) => self.distrust(key, refusal, section),
                (Ok(Member::Table(inner)), DeValue::Table(content)) => self.vary(content, Some(inner)),
                (Ok(Member::Table(inner)), _) => {
                    self.distrust(value, not_a_table(&self.catalog.tables[inner].path()), section)
                }
                (Ok(Member::Key(id)), DeValue::Array(values)) => self.axis(id, key, value, values.iter()),
                (Ok(Member::Key(id)), DeValue::String(text))
                    if range::expand(self.catalog, id.param(), text).is_some() =>
                {
                    self.axis(id, key, value, std::iter::once(value));
                }
                (Ok(Member::Key(id)), _) => {
                    let refusal = Refusal::new("a single value", format!("a list of values for `{}`", id.path()));
                    self.distrust(value, refusal, Some(id.section()));
                }
            }
        }
    }

    fn axis<'v, 'i: 'v, T, L>(
        &mut self,
        key: KeyId,
        name: &Spanned<T>,
        list: &Spanned<L>,
        values: impl Iterator<Item = &'v Spanned<DeValue<'i>>>,
    ) {
        let mut axis = Axis { key, origin: self.origin(name), values: Vec::new() };
        for value in values {
            let range = match value.get_ref() {
                DeValue::String(text) => range::expand(self.catalog, key.param(), text),
                _ => None,
            };
            let values =
                range.unwrap_or_else(|| check(self.catalog, key.param(), value.get_ref()).map(|value| vec![value]));
            match values {
                Ok(values) => {
                    let origin = self.origin(value);
                    axis.values.extend(values.into_iter().map(|value| (value, origin.clone())));
                }
                Err(refusal) => self.distrust(value, refusal, Some(key.section())),
            }
        }
        let list = self.origin(list);
        check_axis(self.report, &axis, &list);
        self.document.axes.push(axis);
    }
}

/// Refuses an empty list, and a value that is listed twice.
pub fn check_axis(report: &mut Report, axis: &Axis, list: &Origin) {
    let section = Some(axis.key.section());
    if axis.values.is_empty() && report.trusts(&[SECTIONS[axis.key.section()].name]) {
        let refusal = Refusal::new("an empty list", format!("at least one value for `{}`", axis.key.path()));
        report.distrust(list, refusal, section);
    }
    let mut listed = BTreeSet::new();
    for (value, origin) in &axis.values {
        if !listed.insert(format!("{value:?}")) {
            let refusal = Refusal::new(format!("`{}` is listed twice", value.show()), "each value once");
            report.distrust(origin, refusal, section);
        }
    }
}

fn not_a_table(path: &str) -> Refusal {
    Refusal::new(format!("a value for `{path}`"), format!("a table, [{path}]"))
}
