//! Charts: a picture's numbers for the library that draws it, and the same numbers as a table.

use flashloom_figures::number::{Format, time};
use serde_json::{Value, json};

/// Kind of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Latency over the share of requests that do not exceed it.
    Percentiles,
    /// Lines over time.
    Lines,
    /// Bars of stacked parts.
    Stack,
    /// A map of cells.
    Heat,
    /// Points of two figures, those of the Pareto front joined.
    Front,
    /// A figure by the values of a key.
    Values,
}

impl Kind {
    /// Its name on the page.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Percentiles => "percentiles",
            Self::Lines => "lines",
            Self::Stack => "stack",
            Self::Heat => "heat",
            Self::Front => "front",
            Self::Values => "values",
        }
    }
}

/// Rows under a head.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Names of the columns; nothing for pairs of name and value.
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of names and values.
    pub(super) fn pairs<N: Into<String>>(rows: impl IntoIterator<Item = (N, String)>) -> Self {
        Self { head: Vec::new(), rows: rows.into_iter().map(|(name, value)| vec![name.into(), value]).collect() }
    }
}

/// A picture.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    pub(super) title: String,
    /// What it shows, in a sentence.
    pub(super) summary: String,
    pub(super) kind: Kind,
    /// What `charts.js` draws.
    pub(super) spec: Value,
    pub(super) table: Table,
}

/// Rows of a table beneath a chart, at most: it is to be read.
pub(super) const MAX_ROWS: usize = 64;

/// A line of a chart over time.
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) values: Vec<Option<f64>>,
}

impl Line {
    /// A line of numbers that are all defined.
    pub(super) fn of(name: &'static str, values: impl Iterator<Item = f64>) -> Self {
        Self { name, values: values.map(Some).collect() }
    }
}

/// What `charts.js` draws an axis of this format as: nanoseconds on a logarithmic one, bytes a second, or numbers.
pub(super) const fn unit(format: Format) -> &'static str {
    match format {
        Format::Time => "time",
        Format::Rate => "rate",
        _ => "number",
    }
}

/// Lines over simulated time.
pub(super) fn over_time(title: &str, format: Format, ends_ns: &[u64], lines: &[Line]) -> Chart {
    let spec = json!({
        "unit": unit(format),
        "x": ends_ns.iter().map(|&ns| ns as f64 / 1e9).collect::<Vec<_>>(),
        "lines": lines.iter().map(|line| json!({ "name": line.name, "values": line.values })).collect::<Vec<_>>(),
    });
    let step = ends_ns.len().div_ceil(MAX_ROWS).max(1);
    let row = |at: usize| {
        let cell = |line: &Line| {
            line.values.get(at).copied().flatten().map_or_else(|| "-".to_owned(), |value| format.text(value))
        };
        std::iter::once(time(ends_ns[at] as f64)).chain(lines.iter().map(cell)).collect()
    };
    // The last interval is always shown.
    let rows = (0..ends_ns.len()).rev().step_by(step).map(row).collect::<Vec<_>>().into_iter().rev().collect();
    let range = |line: &Line| {
        let defined = || line.values.iter().flatten().copied();
        let (least, most) = (defined().fold(f64::INFINITY, f64::min), defined().fold(0.0, f64::max));
        if least.is_finite() {
            format!("{} from {} to {}", line.name, format.text(least), format.text(most))
        } else {
            format!("{} has no value", line.name)
        }
    };
    let of_these = if step > 1 { format!(" The table has every {step}th interval.") } else { String::new() };
    Chart {
        title: title.to_owned(),
        summary: format!("{}.{of_these}", lines.iter().map(range).collect::<Vec<_>>().join("; ")),
        kind: Kind::Lines,
        spec,
        table: Table { head: head("to", lines.iter().map(|line| line.name)), rows },
    }
}

/// The head of a table: its first column, then the others.
pub(super) fn head<'a>(first: &'a str, others: impl Iterator<Item = &'a str>) -> Vec<String> {
    std::iter::once(first).chain(others).map(str::to_owned).collect()
}
