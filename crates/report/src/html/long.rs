//! Tables that may have thousands of rows: `long.js` sorts them by a column, and finds rows by words.

use super::page::escaped;

/// A cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    text: String,
    /// What it is sorted by in place of its text.
    number: Option<f64>,
}

impl Cell {
    /// A number, and how it is written.
    pub(super) fn number(number: f64, text: impl Into<String>) -> Self {
        Self { text: text.into(), number: Some(number) }
    }

    /// A text, which is sorted as one.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), number: None }
    }
}

/// A long table.
#[derive(Clone, Debug)]
pub(super) struct Long {
    /// Name of what its rows are.
    pub(super) caption: String,
    /// True if it is folded away under its caption.
    pub(super) is_folded: bool,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

impl Long {
    pub(super) fn html(&self) -> String {
        let caption = escaped(&self.caption);
        let head: String = self.head.iter().map(|name| format!("<th scope=\"col\">{}</th>", escaped(name))).collect();
        let mut rows = String::new();
        for row in &self.rows {
            rows.push_str("<tr>");
            for (at, cell) in row.iter().enumerate() {
                let (element, scope) = if at == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
                let number = cell.number.map_or_else(String::new, |number| format!(" data-n=\"{number}\""));
                rows.push_str(&format!("<{element}{scope}{number}>{}</{element}>", escaped(&cell.text)));
            }
            rows.push_str("</tr>\n");
        }
        let table = format!(
            "<div class=\"long\">\n<div class=\"table\" tabindex=\"0\"><table>\n<caption>{caption}</caption>\n\
             <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n</div>\n"
        );
        if self.is_folded {
            return format!("<details><summary>{caption}</summary>\n{table}</details>\n");
        }
        table
    }
}
