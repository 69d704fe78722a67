//! Markup: the one place where elements, attributes and texts are written.
//!
//! Names of elements and attributes are constants of the program. Everything else may come from a file: it is made
//! visible and escaped here, so that no caller can forget to.

use std::borrow::Cow;

use flashloom_units::{visible, visible_line, visible_whole_line};
use serde_json::Value;

/// An attribute: its name and its value.
pub(super) type Attribute<'a> = (&'static str, &'a str);

/// A page as far as it is written.
pub(super) struct Markup(String);

impl Markup {
    /// A document without anything in it.
    pub(super) fn document() -> Self {
        Self("<!DOCTYPE html>\n".to_owned())
    }

    /// Writes an element with what `content` writes into it.
    pub(super) fn element(
        &mut self,
        name: &'static str,
        attributes: &[Attribute<'_>],
        content: impl FnOnce(&mut Self),
    ) -> &mut Self {
        self.void(name, attributes);
        content(self);
        self.0.extend(["</", name, ">"]);
        self
    }

    /// Writes an element with a text in it.
    pub(super) fn leaf(&mut self, name: &'static str, attributes: &[Attribute<'_>], text: &str) -> &mut Self {
        self.element(name, attributes, |leaf| leaf.escaped(&visible(text)))
    }

    /// Writes an element that has no content, and no end.
    pub(super) fn void(&mut self, name: &'static str, attributes: &[Attribute<'_>]) -> &mut Self {
        self.0.extend(["<", name]);
        for (attribute, value) in attributes {
            self.0.extend([" ", attribute, "=\""]);
            self.escaped(&visible_whole_line(value));
            self.0.push('"');
        }
        self.0.push('>');
        self
    }

    /// Writes a script or a style sheet, which browsers read as it stands: only constants of the program are.
    pub(super) fn constant(&mut self, name: &'static str, text: &'static str) -> &mut Self {
        self.element(name, &[], |constant| constant.0.push_str(text))
    }

    /// Writes data for scripts: JSON that nothing runs, in which nothing looks like a tag or a comment.
    pub(super) fn data(&mut self, id: &'static str, value: Value) -> &mut Self {
        let json = shown(value).to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        self.element("script", &[("type", "application/json"), ("id", id)], |data| data.0.push_str(&json))
    }

    /// Ends the line, for those who read the source of a page.
    pub(super) fn end_line(&mut self) -> &mut Self {
        self.0.push('\n');
        self
    }

    /// All that was written.
    pub(super) fn into_string(self) -> String {
        self.0
    }

    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
    }
}

/// JSON with every text made visible; its keys are the program's own.
fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => match visible_line(&text) {
            Cow::Borrowed(_) => text.into(),
            Cow::Owned(shown) => shown.into(),
        },
        Value::Array(values) => values.into_iter().map(shown).collect(),
        Value::Object(members) => members.into_iter().map(|(key, value)| (key, shown(value))).collect(),
        other => other,
    }
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
