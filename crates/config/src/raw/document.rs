//! Reads a configuration file against the catalog: every problem in one pass.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use flashloom_files::{NoInput, TEXT_LIMIT_BYTES, TEXT_LIMIT_VARIABLE, limit_of};
use flashloom_units::{Kind, Lines, Refusal, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::blank::{blanked, words_within};
use super::expectation::{self, Expectation, Numbers};
use super::other_kind::other_kind;
use super::range;
use super::source::{Origin, Report, Source};
use super::value::check;
use crate::catalog::{
    Catalog, DeadEnd, EXPECT, FIT, KeyId, MOST_WORKLOADS, Member, SECTIONS, VARY, WORKLOAD, WorkloadName,
};

/// Key of the name of one of several workloads, `[[workload]]`.
pub const NAME: &str = "name";

/// Lists of keys that vary together, in `[vary]`.
const TOGETHER: &str = "together";

/// Maximum number of runs of a comparison, and so of values of one key.
pub const MOST_RUNS: u64 = 100_000;

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
    /// The group of neighbouring axes that it varies together with, the first value with the first; none if it varies
    /// beside all others.
    pub group: Option<usize>,
}

/// Content of a configuration file.
#[derive(Debug, Default)]
pub struct Document {
    /// Values of keys, in the order of the file.
    pub assignments: Vec<Assignment>,
    /// Keys that a comparison varies, in the order of the file.
    pub axes: Vec<Axis>,
    /// Keys that a fit varies, in the order of the file: the two ends of the range of a quantity, all values of others.
    pub fit: Vec<Axis>,
    /// Expectations about a comparison, in the order of the file.
    pub expectations: Vec<Expectation>,
    /// Place where the name of each table was first written, by index of the table.
    pub headers: Vec<Option<Origin>>,
}

/// Reads the text of a source; problems go to the report, and the rest is read all the same. Returns the catalog of
/// what it has, which is another one if it has several workloads.
pub fn read(catalog: &Arc<Catalog>, report: &mut Report, source: usize) -> (Arc<Catalog>, Document) {
    let headers = vec![None; catalog.tables.len()];
    let document = Document { headers, ..Document::default() };
    let sources = report.sources.clone();
    let (text, lines) = (&sources.get(source).text, sources.lines(source));
    let Some(parsed) = few_words(report, source, text) else { return (Arc::clone(catalog), document) };
    let (root, errors) = DeTable::parse_recoverable(&parsed);
    if let Some((span, refusal)) = no_experiment(sources.get(source), lines, &errors) {
        report.distrust(&Origin { source, span }, refusal, None);
        return (Arc::clone(catalog), document);
    }
    let bad_lines = report_syntax(report, source, text, lines, errors);
    let (known, workload) = (OnceCell::new(), None);
    let mut reader = Reader { catalog, report, source, lines, bad_lines, document, known, group: None, workload };
    let names = reader.names(root.get_ref());
    let several = (!names.is_empty()).then(|| Arc::new(catalog.with_workloads(&names)));
    let catalog = several.as_ref().unwrap_or(catalog);
    reader.catalog = catalog;
    reader.root(root.get_ref());
    (Arc::clone(catalog), reader.document)
}

/// The text for the parser, if it has no more words than the parser has memory for; otherwise the report has the
/// problem.
fn few_words(report: &mut Report, source: usize, text: &str) -> Option<String> {
    let limit = limit_of(TEXT_LIMIT_VARIABLE, TEXT_LIMIT_BYTES).map_err(NoInput::Limit);
    let (span, refusal) = match limit.map(words_within) {
        Err(reason) => (0..0, Refusal::new(reason.to_string(), "a number of bytes")),
        Ok(most) => match blanked(text, most) {
            Ok(parsed) => return Some(parsed),
            Err(span) => {
                let found = format!("more than {most} keys, values and marks, the limit on texts");
                let refusal = Refusal::new(found, "fewer");
                (span, refusal.help(format!("{TEXT_LIMIT_VARIABLE} (bytes, 32 for each of them) raises it")))
            }
        },
    };
    report.distrust(&Origin { source, span }, refusal, None);
    None
}

/// Refusal of a text that is something else altogether, with its first place that is not TOML: of a known kind, or with
/// errors on most of its lines.
fn no_experiment(source: &Source, lines: &Lines, errors: &[toml::de::Error]) -> Option<(Range<usize>, Refusal)> {
    const FEW: usize = 5;
    let spans = || errors.iter().filter_map(toml::de::Error::span);
    let first = spans().min_by_key(|span| span.start)?;
    if let Some(refusal) = other_kind(&source.name, source.text.as_bytes()) {
        return Some((first, refusal));
    }
    let bad = spans().map(|span| lines.line_of(span.start)).collect::<BTreeSet<_>>().len();
    let has_words = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let all = source.text.lines().filter(has_words).count();
    (bad > FEW && 2 * bad > all).then(|| {
        let found = format!("this is not TOML: {bad} of {all} lines are not");
        (first, Refusal::new(found, "an experiment, a configuration file in TOML"))
    })
}

/// Reports what is not TOML, from top to bottom, each once; returns the lines that are lost.
fn report_syntax(
    report: &mut Report,
    source: usize,
    text: &str,
    lines: &Lines,
    mut errors: Vec<toml::de::Error>,
) -> Vec<Range<usize>> {
    let start_of = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    errors.sort_by_key(start_of);
    let (mut lost, mut last): (Vec<Range<usize>>, Option<usize>) = (Vec::new(), None);
    for of_place in errors.chunk_by(|one, next| start_of(one) == start_of(next)) {
        let line = lines.line_of(start_of(&of_place[0]));
        // A line may have many errors, and be as long as the text.
        if last.replace(line) != Some(line) {
            lose(&mut lost, lines_lost(text, lines, line));
        }
        let mut told = BTreeSet::new();
        for error in of_place {
            let span = error.span().unwrap_or(0..0);
            if told.insert((span.end, error.message())) {
                let refusal = || syntax_refusal(text, &span, error.message());
                report.distrust_once(&Origin { source, span: span.clone() }, None, refusal);
            }
        }
    }
    lost
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
        let refusal = Refusal::new(format!("`{word}` is not a value"), "a number, true, false, or a text");
        return refusal.help(format!("a text needs quotes: `\"{word}\"`"));
    }
    let otherwise = if message == "duplicate key" { "each key once in a table" } else { "" };
    let (found, expected) = message.split_once(", expected ").unwrap_or((message, otherwise));
    Refusal::new(found, expected)
}

struct Reader<'a> {
    catalog: &'a Catalog,
    report: &'a mut Report,
    source: usize,
    lines: &'a Lines,
    /// Lines that are not TOML, in order: their meaning would be a guess, and not worth a second problem.
    bad_lines: Vec<Range<usize>>,
    document: Document,
    /// Fields that formulas may read, once one is.
    known: OnceCell<Numbers>,
    /// The group of the keys that are read.
    group: Option<usize>,
    /// The workload whose keys are read, where there are several.
    workload: Option<WorkloadName>,
}

impl Reader<'_> {
    fn origin<T>(&self, spanned: &Spanned<T>) -> Origin {
        Origin { source: self.source, span: spanned.span() }
    }

    fn distrust<T>(&mut self, at: &Spanned<T>, section: Option<usize>, refusal: impl FnOnce() -> Refusal) {
        let origin = self.origin(at);
        if !self.is_lost(&origin) {
            self.report.distrust_once(&origin, section, refusal);
        }
    }

    /// True if a place is on a lost line.
    fn is_lost(&self, origin: &Origin) -> bool {
        let line = self.lines.line_of(origin.span.start);
        let after = self.bad_lines.partition_point(|lost| lost.start <= line);
        self.bad_lines[..after].last().is_some_and(|lost| lost.contains(&line))
    }

    /// The names of the workloads of a list `[[workload]]`, whose keys are read later; those that are none are refused.
    fn names(&mut self, root: &DeTable<'_>) -> Vec<String> {
        let mut names = Vec::new();
        let Some(DeValue::Array(list)) = root.get(WORKLOAD).map(Spanned::get_ref) else { return names };
        let section = SECTIONS.iter().position(|section| section.name == WORKLOAD);
        let catalog = self.catalog;
        for workload in list {
            let DeValue::Table(content) = workload.get_ref() else {
                self.distrust(workload, section, || not_a_table(WORKLOAD));
                continue;
            };
            let Some(name) = content.get(NAME) else {
                let refusal = || Refusal::new("a workload without a name", format!("`{NAME}`, which its keys go by"));
                self.distrust(workload, section, refusal);
                continue;
            };
            match name.get_ref() {
                DeValue::String(text) => match catalog.check_name(text, &names) {
                    Ok(()) => names.push(text.to_string()),
                    Err(refusal) => self.distrust(name, section, || refusal),
                },
                _ => self.distrust(name, section, || Refusal::new("a name that is no text", "a text in quotes")),
            }
        }
        if names.len() > MOST_WORKLOADS {
            let found = format!("{} workloads", names.len());
            self.distrust(&root[WORKLOAD], section, || Refusal::new(found, format!("at most {MOST_WORKLOADS}")));
            names.truncate(MOST_WORKLOADS);
        }
        names
    }

    /// Reads the keys of the workloads of a list `[[workload]]`.
    fn workloads(&mut self, table: usize, list: &[Spanned<DeValue<'_>>]) {
        for workload in list {
            let DeValue::Table(content) = workload.get_ref() else { continue };
            let Some(DeValue::String(name)) = content.get(NAME).map(Spanned::get_ref) else { continue };
            self.workload = self.catalog.workload(name);
            if self.workload.is_some() {
                self.table(table, workload, content);
            }
            self.workload = None;
        }
    }

    fn root(&mut self, root: &DeTable<'_>) {
        let catalog = self.catalog;
        for (key, value) in root {
            let name = key.get_ref().as_ref();
            if let Some(section) = [VARY, FIT].into_iter().find(|section| name == *section) {
                match value.get_ref() {
                    DeValue::Table(table) => self.vary(section, table, None),
                    _ => self.distrust(value, None, || not_a_table(section)),
                }
                continue;
            }
            if name == EXPECT {
                self.expect(value);
                continue;
            }
            match (catalog.section_table(name), value.get_ref()) {
                (None, _) => self.distrust(key, None, || catalog.unknown_section(name)),
                (Some(table), DeValue::Table(content)) => self.table(table, key, content),
                (Some(table), DeValue::Array(list)) if name == WORKLOAD => self.workloads(table, list),
                (Some(table), _) => {
                    self.distrust(value, Some(catalog.tables[table].section), || not_a_table(name));
                }
            }
        }
    }

    fn expect(&mut self, list: &Spanned<DeValue<'_>>) {
        let (catalog, source) = (self.catalog, self.source);
        let known = self.known.get_or_init(|| Numbers::of(catalog)).clone();
        let DeValue::Array(tables) = list.get_ref() else {
            let refusal = || Refusal::new(format!("a value for `{EXPECT}`"), format!("a list, [[{EXPECT}]]"));
            return self.refuse(list.span(), &refusal);
        };
        for table in tables {
            let read = expectation::read(&known, source, table, &mut |span, refusal| self.refuse(span, refusal));
            self.document.expectations.extend(read);
        }
    }

    /// Adds a problem on which nothing else depends.
    fn refuse(&mut self, span: Range<usize>, refusal: &dyn Fn() -> Refusal) {
        let origin = Origin { source: self.source, span };
        if !self.is_lost(&origin) {
            self.report.refuse_once(&origin, refusal);
        }
    }

    fn table<T>(&mut self, table: usize, header: &Spanned<T>, content: &DeTable<'_>) {
        self.document.headers[table] = Some(self.origin(header));
        let catalog = self.catalog;
        let section = Some(catalog.tables[table].section);
        for (key, value) in content {
            match (catalog.member(table, key.get_ref()), value.get_ref()) {
                (None, _) if self.workload.is_some() && catalog.has_named(table) && key.get_ref() == NAME => {}
                (None, _) => self.distrust(key, section, || catalog.unknown_member(table, key.get_ref())),
                (Some(Member::Table(inner)), DeValue::Table(content)) => self.table(inner, key, content),
                (Some(Member::Table(inner)), _) => {
                    self.distrust(value, section, || not_a_table(&catalog.tables[inner].path()));
                }
                (Some(Member::Key(id)), written) => match check(catalog, id.param(), written) {
                    Ok(checked) => {
                        let (origin, key) = (self.origin(value), id.of_workload(self.workload));
                        self.document.assignments.push(Assignment { key, value: checked, origin });
                    }
                    Err(refusal) => self.distrust(value, section, || refusal),
                },
            }
        }
    }

    /// Keys are quoted paths (`"host.scheduler" = [..]`) or plain ones, which TOML nests (`host.scheduler = [..]`).
    fn vary(&mut self, of: &'static str, content: &DeTable<'_>, table: Option<usize>) {
        let catalog = self.catalog;
        for (key, value) in content {
            let name = key.get_ref().as_ref();
            if (table, name, of, self.group) == (None, TOGETHER, VARY, None) {
                self.together(value);
                continue;
            }
            let found = match table {
                Some(table) if catalog.has_named(table) && self.workload.is_none() => {
                    match (catalog.workload(name), value.get_ref()) {
                        (Some(workload), DeValue::Table(content)) => {
                            self.workload = Some(workload);
                            self.vary(of, content, Some(table));
                            self.workload = None;
                            continue;
                        }
                        (Some(_), _) => {
                            self.distrust(value, None, || not_a_table(&format!("{WORKLOAD}.{name}")));
                            continue;
                        }
                        (None, _) => Err(DeadEnd::Workload(name)),
                    }
                }
                Some(table) => catalog.member(table, name).ok_or(DeadEnd::Member(table, name)),
                None if name.contains('.') => catalog.follow(name).map(Member::Key).map_err(|(_, end)| end),
                None => catalog.section_table(name).map(Member::Table).ok_or(DeadEnd::Section(name)),
            };
            let section = table.map(|table| catalog.tables[table].section);
            let of_workload = |id: KeyId| id.of_workload(id.workload.or(self.workload));
            let found =
                found.map(|found| if let Member::Key(id) = found { Member::Key(of_workload(id)) } else { found });
            match (found, value.get_ref()) {
                (Err(end), _) => self.distrust(key, section, || catalog.refusal(name, end)),
                (Ok(Member::Table(inner)), DeValue::Table(content)) => self.vary(of, content, Some(inner)),
                (Ok(Member::Table(inner)), _) => {
                    self.distrust(value, section, || not_a_table(&catalog.tables[inner].path()));
                }
                (Ok(Member::Key(id)), DeValue::Array(values)) => self.axis(of, id, key, value, values.iter()),
                (Ok(Member::Key(id)), DeValue::String(text)) if range::is_range(id.param(), text) => {
                    self.axis(of, id, key, value, std::iter::once(value));
                }
                (Ok(Member::Key(id)), _) => {
                    let expected = || format!("a list of values for `{}`", id.path());
                    self.distrust(value, Some(id.section()), || Refusal::new("a single value", expected()));
                }
            }
        }
    }

    /// Lists of keys that vary together: `[[vary.together]]`.
    fn together(&mut self, list: &Spanned<DeValue<'_>>) {
        let not_a_list = || Refusal::new(format!("a value for `{VARY}.{TOGETHER}`"), format!("[[{VARY}.{TOGETHER}]]"));
        let DeValue::Array(tables) = list.get_ref() else { return self.distrust(list, None, not_a_list) };
        for table in tables {
            let DeValue::Table(content) = table.get_ref() else {
                self.distrust(table, None, not_a_list);
                continue;
            };
            let (first, problems) = (self.document.axes.len(), self.report.found());
            self.group = Some(first);
            self.vary(VARY, content, None);
            self.group = None;
            // What was refused would be missing.
            if self.report.found() == problems {
                Axis::check_group(&self.document.axes[first..], self.report, &self.origin(table));
            }
        }
    }

    fn axis<'v, 'i: 'v, T, L>(
        &mut self,
        of: &'static str,
        key: KeyId,
        name: &Spanned<T>,
        list: &Spanned<L>,
        values: impl Iterator<Item = &'v Spanned<DeValue<'i>>>,
    ) {
        let known = if of == FIT { &self.document.fit } else { &self.document.axes };
        if known.iter().any(|axis| axis.key == key) {
            let path = key.path();
            let how = if self.group.is_none() { format!(", as \"{path}\" and without quotes") } else { String::new() };
            let found = format!("`{path}` is listed twice in [{of}]{how}");
            return self.distrust(name, Some(key.section()), || Refusal::new(found, "all its values in one list"));
        }
        let mut axis = Axis { key, origin: self.origin(name), values: Vec::new(), group: self.group };
        for value in values {
            let (catalog, param) = (self.catalog, key.param());
            let range = value.get_ref().as_str().and_then(|text| range::expand(catalog, param, text));
            match range.unwrap_or_else(|| Ok(vec![check(catalog, param, value.get_ref())?])) {
                Ok(values) => axis.extend(values, &self.origin(value)),
                Err(refusal) => self.distrust(value, Some(key.section()), || refusal),
            }
            if axis.is_too_long() {
                break;
            }
        }
        let list = self.origin(list);
        axis.check(self.report, &list);
        if of == FIT {
            axis.check_ends(self.report, &list);
            self.document.fit.push(axis);
        } else {
            self.document.axes.push(axis);
        }
    }
}

impl Axis {
    /// True if a fit takes any value of the key between two ends; of the others it takes those that are listed. Sizes
    /// are among these: most are multiples of a page, or powers of two.
    pub fn is_range(&self) -> bool {
        use Kind::{Energy, Power, Rate, Ratio, Time};
        let kind = self.key.param().kind;
        matches!(kind, Time { .. } | Rate { .. } | Energy { .. } | Power { .. } | Ratio { .. })
    }

    /// Refuses a range of a fit that is none: other than two ends, or an end that is not above its beginning.
    pub(super) fn check_ends(&self, report: &mut Report, list: &Origin) {
        if !self.is_range() || !report.trusts(&[SECTIONS[self.key.section()].name]) {
            return;
        }
        let path = self.key.path();
        let found = match &self.values[..] {
            [(from, _), (to, _)] if number(from) < number(to) => return,
            [(from, _), (to, _)] => format!("the empty range from {} to {}", from.show(), to.show()),
            values => format!("{} values for `{path}`", values.len()),
        };
        let expected = format!("the two ends of the range of `{path}`, the lower one first");
        report.distrust_once(list, Some(self.key.section()), || Refusal::new(found, expected));
    }

    /// Adds values that were written at one place.
    pub(super) fn extend(&mut self, values: Vec<Value>, origin: &Origin) {
        self.values.extend(values.into_iter().map(|value| (value, origin.clone())));
    }

    /// True if there are more values than a comparison has runs, so that the others need not be read.
    pub(super) fn is_too_long(&self) -> bool {
        self.values.len() as u64 > MOST_RUNS
    }

    /// Refuses axes that are to vary together: fewer than two, lists of different lengths, and values that are listed
    /// together twice.
    pub(super) fn check_group(group: &[Self], report: &mut Report, place: &Origin) {
        let section = group.first().map(|axis| axis.key.section());
        if let [] | [_] = group {
            let refusal = || Refusal::new("fewer than two keys that vary together", "two or more");
            return report.distrust_once(place, section, refusal);
        }
        let (first, others) = group.split_first().expect("there are two");
        if let Some(other) = others.iter().find(|other| other.values.len() != first.values.len()) {
            let of = |axis: &Self| format!("{} values of `{}`", axis.values.len(), axis.key.path());
            let refusal = || Refusal::new(format!("{} with {}", of(other), of(first)), "as many, one with the other");
            return report.distrust_once(&other.origin, section, refusal);
        }
        let mut listed = BTreeSet::new();
        for (index, (value, origin)) in first.values.iter().enumerate() {
            let together = || group.iter().map(|axis| format!("{:?}", axis.values[index].0)).collect::<Vec<_>>();
            if !listed.insert(together()) {
                let found = || format!("`{}` is listed twice with the same", value.show());
                report.distrust_once(origin, section, || Refusal::new(found(), "each combination once"));
            }
        }
    }

    /// Refuses an empty list, one that is too long, and a value that is listed twice.
    pub(super) fn check(&self, report: &mut Report, list: &Origin) {
        let section = Some(self.key.section());
        if self.values.is_empty() && report.trusts(&[SECTIONS[self.key.section()].name]) {
            let expected = format!("at least one value for `{}`", self.key.path());
            report.distrust_once(list, section, || Refusal::new("an empty list", expected));
        }
        if self.is_too_long() {
            let found = format!("more than {MOST_RUNS} values for `{}`", self.key.path());
            let expected = format!("at most {MOST_RUNS} runs in one comparison");
            return report.distrust_once(list, section, || Refusal::new(found, expected));
        }
        if self.group.is_some() {
            return;
        }
        let mut listed = BTreeSet::new();
        for (value, origin) in &self.values {
            if !listed.insert(format!("{value:?}")) {
                let found = || format!("`{}` is listed twice", value.show());
                report.distrust_once(origin, section, || Refusal::new(found(), "each value once"));
            }
        }
    }
}

/// A quantity in its unit; nothing for other values.
fn number(value: &Value) -> Option<f64> {
    match *value {
        Value::Time(number) | Value::Rate(number) | Value::Energy(number) | Value::Power(number) => Some(number as f64),
        Value::Ratio(number) => Some(number),
        _ => None,
    }
}

fn not_a_table(path: &str) -> Refusal {
    Refusal::new(format!("a value for `{path}`"), format!("a table, [{path}]"))
}
