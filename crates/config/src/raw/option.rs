//! Reads `--set KEY=VALUE` and `--vary KEY=A,B,C`, `KEY=1..10` or `KEY=A,B; OTHER=C,D`; problems point into the text of
//! the option.

use std::ops::Range;

use flashloom_units::Refusal;

use super::document::{Assignment, Axis};
use super::range;
use super::source::{Origin, Report, Source};
use super::value::check_option;
use crate::catalog::{Catalog, KeyId};

/// Reads a `--set` option.
pub fn read_set(catalog: &Catalog, report: &mut Report, text: &str) -> Option<Assignment> {
    let source = report.sources.add(Source::text("--set", text));
    let (key, value_span) = read_key(catalog, report, source, text)?;
    let origin = Origin { source, span: trimmed(text, value_span) };
    match check_option(catalog, key.param(), &text[origin.span.clone()]) {
        Ok(value) => Some(Assignment { key, value, origin }),
        Err(refusal) => {
            let refusal = match several(catalog, key, text, origin.span.clone()) {
                Some(help) => refusal.help(help),
                None => refusal,
            };
            report.distrust(&origin, refusal, Some(key.section()));
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
    let source = report.sources.add(Source::text("--vary", text));
    let parts = split(text, 0..text.len(), ';');
    // Groups of a file have numbers from 0 on.
    let group = (parts.len() > 1).then_some(usize::MAX - number);
    let problems = report.found();
    let mut axes: Vec<Axis> = Vec::new();
    for part in parts {
        axes.extend(read_axis(catalog, report, source, text, part, group));
    }
    // What was refused would be missing.
    if group.is_some() && report.found() == problems {
        Axis::check_group(&axes, report, &Origin { source, span: 0..text.len() });
    }
    axes
}

/// Reads a key and its values from a part of a `--vary` option.
fn read_axis(
    catalog: &Catalog,
    report: &mut Report,
    source: usize,
    text: &str,
    part: Range<usize>,
    group: Option<usize>,
) -> Option<Axis> {
    let part = trimmed(text, part);
    let (key, value_span) = read_key_of(catalog, report, source, text, part.clone())?;
    let list = Origin { source, span: value_span.clone() };
    let origin = Origin { source, span: part.start..value_span.start - 1 };
    let mut axis = Axis { key, origin, values: Vec::new(), group };
    for span in split(text, value_span, ',') {
        let origin = Origin { source, span: trimmed(text, span) };
        let written = &text[origin.span.clone()];
        let values = range::expand(catalog, key.param(), written)
            .unwrap_or_else(|| check_option(catalog, key.param(), written).map(|value| vec![value]));
        match values {
            Ok(values) => axis.extend(values, &origin),
            Err(refusal) => report.distrust(&origin, refusal, Some(key.section())),
        }
        if axis.is_too_long() {
            break;
        }
    }
    axis.check(report, &list);
    Some(axis)
}

/// Reads a `--vary` option of a fit: the ends of the range of a quantity, `KEY=FROM..TO`, or the values of another key.
pub fn read_ends(catalog: &Catalog, report: &mut Report, text: &str) -> Option<Axis> {
    let axis = read_key_axis(catalog, report, text)?;
    if !axis.is_range() {
        let source = axis.origin.source;
        return read_axis(catalog, report, source, text, 0..text.len(), None);
    }
    let source = axis.origin.source;
    let list = Origin { source, span: axis.origin.span.end + 1..text.len() };
    let written = &text[list.span.clone()];
    let Some(dots) = written.find("..") else {
        let refusal = Refusal::new(format!("`{}` is not a range", written.trim()), "FROM..TO, such as `20us..80us`");
        report.distrust(&list, refusal, Some(axis.key.section()));
        return None;
    };
    let mut axis = axis;
    for span in [list.span.start..list.span.start + dots, list.span.start + dots + 2..list.span.end] {
        let origin = Origin { source, span: trimmed(text, span) };
        match check_option(catalog, axis.key.param(), &text[origin.span.clone()]) {
            Ok(value) => axis.extend(vec![value], &origin),
            Err(refusal) => report.distrust(&origin, refusal, Some(axis.key.section())),
        }
    }
    axis.check_ends(report, &list);
    Some(axis)
}

/// An axis without values, of the key of an option.
fn read_key_axis(catalog: &Catalog, report: &mut Report, text: &str) -> Option<Axis> {
    let source = report.sources.add(Source::text("--vary", text));
    let (key, value_span) = read_key(catalog, report, source, text)?;
    Some(Axis { key, origin: Origin { source, span: 0..value_span.start - 1 }, values: Vec::new(), group: None })
}

/// Reads the key, and returns it with the span of its value.
fn read_key(catalog: &Catalog, report: &mut Report, source: usize, text: &str) -> Option<(KeyId, Range<usize>)> {
    read_key_of(catalog, report, source, text, 0..text.len())
}

/// [`read_key`] of a part of the option.
fn read_key_of(
    catalog: &Catalog,
    report: &mut Report,
    source: usize,
    text: &str,
    part: Range<usize>,
) -> Option<(KeyId, Range<usize>)> {
    let written = &text[part.clone()];
    let Some(equals) = written.find('=') else {
        let refusal =
            Refusal::new(format!("`{written}` has no `=`"), "a key and its value, such as `host.scheduler=noop`");
        let is_whole = part.len() == text.len();
        let refusal = if is_whole { refusal } else { refusal.help("a value that has a `;` stands in quotes") };
        report.distrust(&Origin { source, span: part }, refusal, None);
        return None;
    };
    match catalog.resolve(&written[..equals]) {
        Ok(key) => Some((key, part.start + equals + 1..part.end)),
        Err((span, refusal)) => {
            let span = part.start + span.start..part.start + span.end;
            report.distrust(&Origin { source, span }, refusal, None);
            None
        }
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
