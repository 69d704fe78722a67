//! Reads `--set KEY=VALUE` and `--vary KEY=A,B,C`, `KEY=1..10` or `KEY=A,B; OTHER=C,D`; problems point into the text of
//! the option.

use std::ops::Range;

use flashloom_units::{Refusal, Value};

use super::document::{Assignment, Axis};
use super::range;
use super::source::{Origin, Report, Source};
use super::value::check_option;
use crate::catalog::{Catalog, KeyId};

/// Reads a `--set` option.
pub fn read_set(catalog: &Catalog, report: &mut Report, text: &str) -> Option<Assignment> {
    let mut option = Reader::of("--set", catalog, report, text);
    let (key, value_span) = option.key(0..text.len())?;
    let origin = option.origin(value_span);
    match check_option(catalog, key.param(), &text[origin.span.clone()]) {
        Ok(value) => Some(Assignment { key, value, origin }),
        Err(refusal) => {
            let help = several(catalog, key, text, origin.span.clone()).or(refusal.help);
            report.distrust(&origin, Refusal { help, ..refusal }, Some(key.section()));
            None
        }
    }
}

/// Help for several values, or a range, where one value is set.
fn several(catalog: &Catalog, key: KeyId, text: &str, value: Range<usize>) -> Option<String> {
    let param = key.param();
    let is_value = |part: &str| range::is_range(param, part) || check_option(catalog, param, part).is_ok();
    let parts = split(text, value.clone(), ',');
    let is_several = parts.len() > 1 || range::is_range(param, &text[value.clone()]);
    let written = range::rewritten(&text[value.clone()]).unwrap_or_else(|| text[value].to_owned());
    let are_values = parts.into_iter().all(|part| is_value(&text[trimmed(text, part)]));
    (is_several && are_values)
        .then(|| format!("several values make several runs: `flashloom compare --vary {}={written}`", key.path()))
}

/// Reads a `--vary` option: a key and its values, or several, `KEY=A,B; OTHER=C,D`, that vary together. `number` is its
/// number among the options.
pub fn read_vary(catalog: &Catalog, report: &mut Report, text: &str, number: usize) -> Vec<Axis> {
    let problems = report.found();
    let parts = split(text, 0..text.len(), ';');
    // Groups of a file have numbers from 0 on.
    let group = (parts.len() > 1).then_some(usize::MAX - number);
    let mut option = Reader::of("--vary", catalog, report, text);
    let axes: Vec<Axis> = parts.into_iter().filter_map(|part| option.axis(part, group)).collect();
    let whole = Origin { source: option.source, span: 0..text.len() };
    // What was refused would be missing.
    if group.is_some() && report.found() == problems {
        Axis::check_group(&axes, report, &whole);
    }
    axes
}

/// Reads a `--vary` option of a fit: the ends of the range of a quantity, `KEY=FROM..TO`, or the values of another key.
pub fn read_ends(catalog: &Catalog, report: &mut Report, text: &str) -> Option<Axis> {
    let mut option = Reader::of("--vary", catalog, report, text);
    let (key, span) = option.key(0..text.len())?;
    let (source, start) = (option.source, span.start);
    let mut axis = Axis { key, origin: Origin { source, span: 0..start - 1 }, values: Vec::new(), group: None };
    if !axis.is_range() {
        return option.axis(0..text.len(), None);
    }
    let written = &text[span.clone()];
    let Some(dots) = written.find("..") else {
        let refusal = Refusal::new(format!("`{}` is not a range", written.trim()), "FROM..TO, such as `20us..80us`");
        report.distrust(&Origin { source, span }, refusal, Some(key.section()));
        return None;
    };
    for end in [start..start + dots, start + dots + 2..span.end] {
        option.extend(&mut axis, end, |written| Ok(vec![check_option(catalog, key.param(), written)?]));
    }
    axis.check_ends(report, &Origin { source, span });
    Some(axis)
}

/// An option while it is read: its text is a source of its own.
struct Reader<'a> {
    catalog: &'a Catalog,
    report: &'a mut Report,
    source: usize,
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn of(name: &str, catalog: &'a Catalog, report: &'a mut Report, text: &'a str) -> Self {
        let source = report.sources.add(Source::text(name, text));
        Self { catalog, report, source, text }
    }

    /// The place of a span, without the blanks around it.
    fn origin(&self, span: Range<usize>) -> Origin {
        Origin { source: self.source, span: trimmed(self.text, span) }
    }

    /// Adds the values that are written in a span.
    fn extend(&mut self, axis: &mut Axis, span: Range<usize>, read: impl Fn(&str) -> Result<Vec<Value>, Refusal>) {
        let origin = self.origin(span);
        match read(&self.text[origin.span.clone()]) {
            Ok(values) => axis.extend(values, &origin),
            Err(refusal) => self.report.distrust(&origin, refusal, Some(axis.key.section())),
        }
    }

    /// Reads a key and its values from a part of a `--vary` option.
    fn axis(&mut self, part: Range<usize>, group: Option<usize>) -> Option<Axis> {
        let (catalog, source, part) = (self.catalog, self.source, trimmed(self.text, part));
        let (key, list) = self.key(part.clone())?;
        let origin = Origin { source, span: part.start..list.start - 1 };
        let mut axis = Axis { key, origin, values: Vec::new(), group };
        for span in split(self.text, list.clone(), ',') {
            self.extend(&mut axis, span, |written| {
                range::expand(catalog, key.param(), written)
                    .unwrap_or_else(|| Ok(vec![check_option(catalog, key.param(), written)?]))
            });
            if axis.is_too_long() {
                break;
            }
        }
        axis.check(self.report, &Origin { source, span: list });
        Some(axis)
    }

    /// Reads the key from a part of the option, and returns it with the span of its value.
    fn key(&mut self, part: Range<usize>) -> Option<(KeyId, Range<usize>)> {
        let written = &self.text[part.clone()];
        let (span, refusal) = match written.find('=') {
            Some(equals) => match self.catalog.resolve(&written[..equals]) {
                Ok(key) => return Some((key, part.start + equals + 1..part.end)),
                Err((span, refusal)) => (part.start + span.start..part.start + span.end, refusal),
            },
            None => {
                let found = format!("`{written}` has no `=`");
                let refusal = Refusal::new(found, "a key and its value, such as `host.scheduler=noop`");
                let is_whole = part.len() == self.text.len();
                (part, if is_whole { refusal } else { refusal.help("a value that has a `;` stands in quotes") })
            }
        };
        self.report.distrust(&Origin { source: self.source, span }, refusal, None);
        None
    }
}

/// Splits a span at a mark, except where it is within quotes.
fn split(text: &str, span: Range<usize>, mark: char) -> Vec<Range<usize>> {
    let (mut spans, mut start, mut quote) = (Vec::new(), span.start, None);
    for (offset, character) in text[span.clone()].char_indices() {
        match (quote, character) {
            (None, _) if character == mark => {
                spans.push(start..span.start + offset);
                start = span.start + offset + 1;
            }
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    spans.push(start..span.end);
    spans
}

/// Shrinks a span by the blanks around its text.
fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let part = &text[span.clone()];
    let start = span.start + part.len() - part.trim_start().len();
    start..(start + part.trim().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_values_unless_they_are_quoted() {
        let text = "k=a, 'b,c',\"d\"";
        let parts: Vec<_> =
            split(text, 2..text.len(), ',').into_iter().map(|span| &text[trimmed(text, span)]).collect();
        assert_eq!(parts, ["a", "'b,c'", "\"d\""]);
    }
}
