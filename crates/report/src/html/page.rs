//! The page: sections in order, and the frame around them.

use std::fmt::Write;

use serde_json::{Value, json};

use super::chart::{Chart, Table};
use super::long::Long;
use super::{Document, ECHARTS, comparison, run, sweep};

/// Nothing is loaded: styles, scripts and drawings are in the page.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

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
    Table(Table),
    /// A table that may have thousands of rows.
    Long(Long),
    /// A sentence.
    Text(String),
    /// What the result lacks, and how to have it the next time.
    Missing(String),
}

/// Escapes a text for an element or a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// JSON that can stand in a script element: nothing in it looks like a tag or a comment.
fn json_in_script(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// The page of a document; `name` is that of its file.
pub fn page(name: &str, document: &Document) -> String {
    let (title, sections) = match document {
        Document::Run(result) => ("Run", run::sections(result)),
        Document::Comparison(comparison) => ("Comparison", comparison::sections(comparison)),
        Document::Sweep(data) => ("Sweep", sweep::sections(data)),
    };
    let charts: Vec<Value> = sections.iter().flat_map(|section| &section.parts).filter_map(spec_of).collect();
    let heading = format!("{title}: {}", escaped(name));
    let links: String = sections.iter().map(link).collect();
    let body: String = sections.iter().map(shown).collect();
    let style = include_str!("style.css");
    let script = concat!(include_str!("charts.js"), include_str!("long.js"));
    let data = json_in_script(&json!(charts));
    format!(
        r##"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="flashloom report">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{heading}</title>
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<header>
<h1>{heading}</h1>
<nav aria-label="Sections"><ul>{links}</ul></nav>
<button type="button" id="theme" aria-pressed="false">Dark</button>
</header>
<main id="main">
<noscript><p class="missing">Pictures need JavaScript; the tables below hold the same figures.</p></noscript>
{body}</main>
<script type="application/json" id="charts">{data}</script>
<script>{ECHARTS}</script>
<script>
{script}</script>
</body>
</html>
"##
    )
}

fn link(section: &Section) -> String {
    format!("<li><a href=\"#{}\">{}</a></li>", section.id, escaped(section.title))
}

fn spec_of(part: &Part) -> Option<Value> {
    let Part::Chart(chart) = part else { return None };
    Some(json!({ "id": chart.id, "kind": chart.kind.name(), "spec": chart.spec }))
}

fn shown(section: &Section) -> String {
    let mut html = format!("<section id=\"{}\">\n<h2>{}</h2>\n", section.id, escaped(section.title));
    for part in &section.parts {
        match part {
            Part::Chart(chart) => html.push_str(&figure(chart)),
            Part::Table(table) => html.push_str(&table_of(table)),
            Part::Long(long) => html.push_str(&long.html()),
            Part::Text(text) => drop(writeln!(html, "<p>{}</p>", escaped(text))),
            Part::Missing(text) => drop(writeln!(html, "<p class=\"missing\">{}</p>", escaped(text))),
        }
    }
    html + "</section>\n"
}

/// A picture, and what it shows as a table that opens below it.
fn figure(chart: &Chart) -> String {
    let (id, title, summary) = (&chart.id, escaped(&chart.title), escaped(&chart.summary));
    format!(
        "<figure>\n<figcaption id=\"{id}-title\">{title}</figcaption>\n\
         <div class=\"chart {}\" id=\"{id}\" role=\"img\" tabindex=\"0\" aria-labelledby=\"{id}-title\" \
         aria-describedby=\"{id}-summary\"></div>\n\
         <p class=\"summary\" id=\"{id}-summary\">{summary}</p>\n\
         <details><summary>The figures of this picture as a table</summary>\n{}</details>\n</figure>\n",
        chart.kind.name(),
        table_of(&chart.table)
    )
}

fn table_of(table: &Table) -> String {
    let cells = |row: &[String], of: &str| -> String {
        let cell = |(at, text): (usize, &String)| match (at, of) {
            (0, "td") => format!("<th scope=\"row\">{}</th>", escaped(text)),
            (_, "th") => format!("<th scope=\"col\">{}</th>", escaped(text)),
            _ => format!("<td>{}</td>", escaped(text)),
        };
        row.iter().enumerate().map(cell).collect()
    };
    let head = if table.head.is_empty() {
        String::new()
    } else {
        format!("<thead><tr>{}</tr></thead>\n", cells(&table.head, "th"))
    };
    let rows: String = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row, "td"))).collect();
    format!("<div class=\"table\" tabindex=\"0\"><table>\n{head}<tbody>\n{rows}</tbody></table></div>\n")
}
