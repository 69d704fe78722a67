//! A page of help, and its two renderings: plain text for a terminal, Markdown for the checked-in documents.

use std::fmt::Write;

/// Width of plain text, in columns.
const WIDTH: usize = 100;

/// A page of help.
#[derive(Clone, Debug)]
pub struct Page {
    /// Names of the page.
    pub names: Vec<String>,
    /// Its heading.
    pub title: String,
    /// Place in the documents.
    pub place: DocumentPlace,
    /// Its content.
    pub blocks: Vec<Block>,
}

/// Place of a page in the checked-in documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentPlace {
    /// No page of its own: its content is on another page already.
    Elsewhere,
    /// In `docs/reference.md`, under a heading of this level.
    Section(usize),
    /// In this file below `docs/`.
    File(String),
}

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A list of described terms under a heading.
    Entries(String, Vec<Entry>),
    /// A configuration, line by line.
    Configuration(String),
}

impl Block {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(crate) fn entries(heading: &str, entries: impl IntoIterator<Item = Entry>) -> Self {
        Self::Entries(heading.to_owned(), entries.into_iter().collect())
    }
}

/// A term and its description.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The term, as a user types it.
    pub term: String,
    /// Kind of the term; may be empty.
    pub kind: String,
    /// Description.
    pub text: String,
    /// File with more about it, relative to the page's file; may be empty.
    pub link: String,
}

impl Page {
    /// A page with a section in the reference, after a text and with these blocks behind it.
    pub(crate) fn section(title: &str, names: &[&str], text: &str, more: impl IntoIterator<Item = Block>) -> Self {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let blocks = std::iter::once(Block::text(text)).chain(more).collect();
        Self { names, title: title.to_owned(), place: DocumentPlace::Section(2), blocks }
    }

    /// A page of what stands on another page of the documents too.
    pub(crate) fn part(title: String, names: Vec<String>, text: &str) -> Self {
        Self { names, title, place: DocumentPlace::Elsewhere, blocks: vec![Block::text(text)] }
    }

    /// Renders plain text for a terminal.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for block in &self.blocks {
            text.push('\n');
            match block {
                Block::Text(paragraph) => text.push_str(&wrapped(paragraph, 2)),
                Block::Entries(heading, entries) => {
                    let _ = writeln!(text, "  {heading}:");
                    for Entry { term, kind, text: help, .. } in entries {
                        let kind = if kind.is_empty() { String::new() } else { format!("  ({kind})") };
                        let _ = write!(text, "{}{}", wrapped(&format!("{term}{kind}"), 4), wrapped(help, 8));
                    }
                }
                Block::Configuration(lines) => lines.lines().for_each(|line| {
                    let indent = if line.is_empty() { 0 } else { 4 };
                    let _ = writeln!(text, "{:indent$}{line}", "");
                }),
            }
        }
        text
    }

    /// Renders Markdown; `None` for a page without a place of its own in the documents.
    pub fn to_markdown(&self) -> Option<String> {
        let level = match self.place {
            DocumentPlace::Elsewhere => return None,
            DocumentPlace::Section(level) => level,
            DocumentPlace::File(_) => 1,
        };
        let mut text = format!("{} {}\n", "#".repeat(level), self.title);
        for block in &self.blocks {
            text.push('\n');
            match block {
                Block::Text(paragraph) => {
                    let _ = writeln!(text, "{}", escaped(paragraph));
                }
                Block::Entries(heading, entries) => {
                    let _ = writeln!(text, "{heading}:\n");
                    for Entry { term, kind, text: help, link } in entries {
                        let kind = if kind.is_empty() { String::new() } else { format!(" ({})", escaped(kind)) };
                        let term = if link.is_empty() { format!("`{term}`") } else { format!("[`{term}`]({link})") };
                        let _ = writeln!(text, "- {term}{kind}: {}", escaped(help));
                    }
                }
                Block::Configuration(lines) => {
                    let _ = writeln!(text, "```toml\n{}\n```", lines.trim_end());
                }
            }
        }
        Some(text)
    }
}

/// Escapes characters that Markdown would take for markup outside of code.
fn escaped(text: &str) -> String {
    text.replace('<', "\\<").replace('*', "\\*")
}

/// Wraps a text into indented lines of at most [`WIDTH`] columns; empty for an empty text.
fn wrapped(text: &str, indent: usize) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(lines, "{:indent$}{line}", "");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        let _ = writeln!(lines, "{:indent$}{line}", "");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_wrapped_between_words_and_indented() {
        let text = wrapped(&"word ".repeat(40), 4);
        assert!(text.lines().count() == 3 && text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().all(|line| line.starts_with("    word")), "{text}");
        assert_eq!(wrapped("", 4), "");
    }
}
