//! A section of a page: its parts, and how each is written.

use serde_json::{Value, json};

use super::chart::{Chart, Table};
use super::long::Long;
use super::markup::{Markup, cell, heads};

/// A part of a page under a heading.
pub(super) struct Section {
    /// Name in links to it.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) parts: Vec<Part>,
}

/// A part of a section.
pub(super) enum Part {
    Chart(Chart),
    Choice(Choice),
    Table(Table),
    /// A table that may have thousands of rows.
    Long(Long),
    /// A sentence.
    Text(String),
    /// What the result lacks, and how to have it the next time.
    Missing(String),
}

/// Pictures of which one is shown at a time. Without scripts all of their tables are.
pub(super) struct Choice {
    /// What there is a choice of.
    of: &'static str,
    charts: Vec<(&'static str, Chart)>,
}

impl Part {
    /// Pictures to choose from by their names; a single one is shown without a choice.
    pub(super) fn choice(of: &'static str, mut charts: Vec<(&'static str, Chart)>) -> Self {
        match charts.len() {
            1 => Self::Chart(charts.remove(0).1),
            _ => Self::Choice(Choice { of, charts }),
        }
    }
}

/// What a page lacks.
pub(super) fn missing(text: &str, markup: &mut Markup) {
    markup.leaf("p", &[("class", "missing")], text);
}

/// Writes a section. Each picture in it is appended to `charts`, for the script to draw.
pub(super) fn show(section: &Section, charts: &mut Vec<Value>, markup: &mut Markup) {
    markup.element("section", &[("id", section.id)], |inside| {
        inside.end_line().leaf("h2", &[], section.title).end_line();
        for part in &section.parts {
            match part {
                Part::Chart(chart) => figure(chart, charts, inside),
                Part::Choice(choice) => choose(choice, charts, inside),
                Part::Table(of) => table(of, inside),
                Part::Long(long) => long.show(inside),
                Part::Text(text) => {
                    inside.leaf("p", &[], text);
                }
                Part::Missing(text) => missing(text, inside),
            }
            inside.end_line();
        }
    });
    markup.end_line();
}

/// Pictures one of which `draw.js` shows.
fn choose(choice: &Choice, charts: &mut Vec<Value>, markup: &mut Markup) {
    markup.element("div", &[("class", "choice"), ("data-of", choice.of)], |group| {
        for (name, chart) in &choice.charts {
            group.end_line().element("div", &[("data-name", name)], |part| figure(chart, charts, part));
        }
        group.end_line();
    });
}

/// Writes a picture with its figures in a table that opens below it, and appends it to `charts`.
fn figure(chart: &Chart, charts: &mut Vec<Value>, markup: &mut Markup) {
    // By its number: what names a picture may come from a file.
    let id = format!("chart-{}", charts.len() + 1);
    charts.push(json!({ "id": id, "kind": chart.kind.name(), "spec": chart.spec }));
    let (title, summary) = (format!("{id}-title"), format!("{id}-summary"));
    let class = format!("chart {}", chart.kind.name());
    let drawn: [(&str, &str); 6] = [
        ("class", &class),
        ("id", &id),
        ("role", "img"),
        ("tabindex", "0"),
        ("aria-labelledby", &title),
        ("aria-describedby", &summary),
    ];
    markup.element("figure", &[], |figure| {
        figure.end_line().leaf("figcaption", &[("id", &title)], &chart.title).end_line();
        figure.leaf("div", &drawn, "").end_line();
        figure.leaf("p", &[("class", "summary"), ("id", &summary)], &chart.summary).end_line();
        figure.element("details", &[], |details| {
            details.leaf("summary", &[], "The figures of this picture as a table").end_line();
            table(&chart.table, details);
        });
        figure.end_line();
    });
}

fn table(of: &Table, markup: &mut Markup) {
    markup.element("div", &[("class", "table"), ("tabindex", "0")], |div| {
        div.element("table", &[], |table| {
            table.end_line();
            if !of.head.is_empty() {
                heads(&of.head, table);
            }
            table.element("tbody", &[], |body| {
                body.end_line();
                for row in &of.rows {
                    let cells = |inside: &mut Markup| {
                        for (at, text) in row.iter().enumerate() {
                            let (element, attributes) = cell(at);
                            inside.leaf(element, attributes, text);
                        }
                    };
                    body.element("tr", &[], cells).end_line();
                }
            });
        });
    });
}
