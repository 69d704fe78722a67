//! The page: sections in order, and the frame around them.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::chart::{Chart, Table};
use super::long::Long;
use super::markup::Markup;
use super::{Document, ECHARTS, comparison, run, sweep, validation};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = concat!(
    include_str!("charts.js"),
    include_str!("front.js"),
    include_str!("legend.js"),
    include_str!("draw.js"),
    include_str!("long.js")
);

/// The policy of the page, which browsers hold it to. Nothing is loaded and nothing is sent. Of scripts and styles only
/// those with these hashes count: were a name of a file to become an element or an attribute after all, it could do
/// nothing. The library sets styles of elements one by one (`element.style`), which no policy has to allow.
fn policy() -> String {
    let [style, library, script] = [STYLE, ECHARTS, SCRIPT].map(|text| {
        let hash = data_encoding::BASE64.encode(&Sha256::digest(text));
        format!("'sha256-{hash}'")
    });
    format!("default-src 'none'; script-src {library} {script}; style-src {style}; base-uri 'none'; form-action 'none'")
}

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

/// The page of a document; `name` is that of its file.
pub fn page(name: &str, document: &Document) -> String {
    let (title, sections) = match document {
        Document::Run(result) => ("Run", run::sections(result)),
        Document::Comparison(comparison) => ("Comparison", comparison::sections(comparison)),
        Document::Sweep(data) => ("Sweep", sweep::sections(data)),
        Document::Validation(result) => ("Validation", validation::sections(result)),
    };
    let heading = format!("{title}: {name}");
    let mut markup = Markup::document();
    markup.element("html", &[("lang", "en")], |html| {
        html.end_line().element("head", &[], |inside| head(&heading, inside)).end_line();
        html.element("body", &[], |inside| body(&heading, &sections, inside)).end_line();
    });
    markup.end_line();
    markup.into_string()
}

fn head(heading: &str, markup: &mut Markup) {
    markup.end_line().void("meta", &[("charset", "utf-8")]).end_line();
    // Before anything that it is about.
    markup.void("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy())]).end_line();
    markup.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]).end_line();
    markup.void("meta", &[("name", "generator"), ("content", "flashloom report")]).end_line();
    markup.leaf("title", &[], heading).end_line().constant("style", STYLE).end_line();
}

fn body(heading: &str, sections: &[Section], markup: &mut Markup) {
    markup.end_line().leaf("a", &[("class", "skip"), ("href", "#main")], "Skip to the report").end_line();
    markup.element("header", &[], |header| {
        header.end_line().leaf("h1", &[], heading).end_line();
        header.element("nav", &[("aria-label", "Sections")], |nav| {
            nav.element("ul", &[], |links| sections.iter().for_each(|section| link(section, links)));
        });
        let theme = [("type", "button"), ("id", "theme"), ("aria-pressed", "false")];
        header.end_line().leaf("button", &theme, "Dark").end_line();
    });
    let mut charts = Vec::new();
    markup.end_line().element("main", &[("id", "main")], |main| {
        main.end_line().element("noscript", &[], |inside| {
            missing("Pictures need JavaScript; the tables below hold the same figures.", inside);
        });
        main.end_line();
        sections.iter().for_each(|section| show(section, &mut charts, main));
    });
    markup.end_line().data("charts", charts.into()).end_line();
    markup.constant("script", ECHARTS).end_line().constant("script", SCRIPT).end_line();
}

fn link(section: &Section, markup: &mut Markup) {
    let target = format!("#{}", section.id);
    markup.element("li", &[], |item| {
        item.leaf("a", &[("href", &target)], section.title);
    });
}

fn missing(text: &str, markup: &mut Markup) {
    markup.leaf("p", &[("class", "missing")], text);
}

/// Writes a section, and adds what is to be drawn in it to `charts`.
fn show(section: &Section, charts: &mut Vec<Value>, markup: &mut Markup) {
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

/// A picture, and what it shows as a table that opens below it; adds what is to be drawn to `charts`.
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

/// Writes the head of a table.
pub(super) fn heads(names: &[String], markup: &mut Markup) {
    markup.element("thead", &[], |head| {
        head.element("tr", &[], |row| {
            for name in names {
                row.leaf("th", &[("scope", "col")], name);
            }
        });
    });
    markup.end_line();
}

/// Element of a cell of a row, and its attributes: the first names the row.
pub(super) fn cell(at: usize) -> (&'static str, &'static [(&'static str, &'static str)]) {
    if at == 0 { ("th", &[("scope", "row")]) } else { ("td", &[]) }
}
