//! Tables that may have thousands of rows: `long.js` sorts them by a column, and finds rows by words.

use flashloom_figures::number::Format;

use super::markup::{Markup, cell, heads};

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

    /// A figure, or a dash for one that there is none of.
    pub(super) fn figure(format: Format, value: Option<f64>) -> Self {
        value.map_or_else(|| Self::text("-"), |value| Self::number(value, format.text(value)))
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
    /// Writes the table.
    pub(super) fn show(&self, markup: &mut Markup) {
        if self.is_folded {
            markup.element("details", &[], |details| {
                details.leaf("summary", &[], &self.caption).end_line();
                self.table(details);
            });
        } else {
            self.table(markup);
        }
    }

    fn table(&self, markup: &mut Markup) {
        markup.element("div", &[("class", "long")], |long| {
            long.end_line().element("div", &[("class", "table"), ("tabindex", "0")], |div| {
                div.element("table", &[], |table| {
                    table.end_line().leaf("caption", &[], &self.caption).end_line();
                    heads(&self.head, table);
                    table.element("tbody", &[], |body| self.rows.iter().for_each(|row| show(row, body.end_line())));
                });
            });
            long.end_line();
        });
        markup.end_line();
    }
}

fn show(row: &[Cell], markup: &mut Markup) {
    markup.element("tr", &[], |inside| {
        for (at, Cell { text, number }) in row.iter().enumerate() {
            let (element, scope) = cell(at);
            let number = number.map(|number| number.to_string());
            let sorted = number.as_deref().map(|number| ("data-n", number));
            let attributes: Vec<_> = scope.iter().copied().chain(sorted).collect();
            inside.leaf(element, &attributes, text);
        }
    });
}
