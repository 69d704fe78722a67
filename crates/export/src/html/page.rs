//! The page: sections in order, and the frame around them.

use sha2::{Digest, Sha256};

use super::markup::Markup;
use super::section::{Section, missing, show};
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
