//! One page of help, and its two renderings: plain text for a terminal, Markdown for the checked-in document.

use std::fmt::Write;

/// Columns of plain text.
const WIDTH: usize = 100;

/// A page of help.
#[derive(Clone, Debug)]
pub struct Page {
    /// What it is found by.
    pub names: Vec<String>,
    /// Its heading.
    pub title: String,
    /// Level of the heading in the document; none for a page whose content is already on another one.
    pub level: Option<usize>,
    /// Its content.
    pub blocks: Vec<Block>,
}

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A list of described terms under a heading.
    Entries(String, Vec<Entry>),
}

/// A term and what there is to say of it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The term, as it would be typed.
    pub term: String,
    /// What kind of thing it is; may be empty.
    pub kind: String,
    /// What it means.
    pub text: String,
}

impl Page {
    /// For a terminal.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for block in &self.blocks {
            text.push('\n');
            match block {
                Block::Text(paragraph) => text.push_str(&wrapped(paragraph, 2)),
                Block::Entries(heading, entries) => {
                    let _ = writeln!(text, "  {heading}:");
                    for Entry { term, kind, text: help } in entries {
                        let kind = if kind.is_empty() { String::new() } else { format!("  ({kind})") };
                        let _ = write!(text, "{}{}", wrapped(&format!("{term}{kind}"), 4), wrapped(help, 8));
                    }
                }
            }
        }
        text
    }

    /// For the document; nothing for a page that is not in it.
    pub fn to_markdown(&self) -> Option<String> {
        let mut text = format!("{} {}\n", "#".repeat(self.level?), self.title);
        for block in &self.blocks {
            text.push('\n');
            match block {
                Block::Text(paragraph) => {
                    let _ = writeln!(text, "{}", escaped(paragraph));
                }
                Block::Entries(heading, entries) => {
                    let _ = writeln!(text, "{heading}:\n");
                    for Entry { term, kind, text: help } in entries {
                        let kind = if kind.is_empty() { String::new() } else { format!(" ({})", escaped(kind)) };
                        let _ = writeln!(text, "- `{term}`{kind}: {}", escaped(help));
                    }
                }
            }
        }
        Some(text)
    }
}

/// Characters that Markdown would take for markup outside of code.
fn escaped(text: &str) -> String {
    text.replace('<', "\\<").replace('*', "\\*")
}

/// Lines of at most [`WIDTH`] columns, all indented; nothing for an empty text.
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
