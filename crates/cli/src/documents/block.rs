//! Code blocks of a document: the commands that are run, and what they printed.
//!
//! A comment on the line before a block says what it is, and is not seen on the page:
//!
//! ```text
//! <!-- output -->                   what the commands above it print
//! <!-- output from: TEXT -->        the same from the first line on that begins with TEXT
//! <!-- output of one machine -->    the same, but it differs from run to run or from machine to machine
//! <!-- slow -->                     commands of more than 20 s: `make docs-outputs` runs them
//! <!-- not run: REASON -->          commands that need something which the project has not
//! ```

/// A fenced code block.
#[derive(Debug)]
pub struct Block<'a> {
    /// Index of its first line within the text, behind the fence.
    pub first: usize,
    /// What stands behind the fence: the language, or nothing.
    pub language: &'a str,
    /// What the comment before it says.
    pub mark: Mark<'a>,
    /// Its lines.
    pub lines: Vec<&'a str>,
}

/// What the comment before a block says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark<'a> {
    /// There is none.
    None,
    /// What the commands above print, from the first line on that begins so.
    Output { from: &'a str },
    /// What the commands above print on one machine.
    OfOneMachine,
    /// Commands for `make docs-outputs`.
    Slow,
    /// Commands that cannot be run.
    NotRun,
    /// A name by which another test finds the block.
    Named,
}

impl<'a> Mark<'a> {
    fn of(line: Option<&'a str>) -> Self {
        let comment = line.and_then(|line| line.trim().strip_prefix("<!-- ")?.strip_suffix(" -->"));
        match comment {
            None => Self::None,
            Some("output") => Self::Output { from: "" },
            Some("output of one machine") => Self::OfOneMachine,
            Some("slow") => Self::Slow,
            Some(comment) => {
                let from = comment.strip_prefix("output from: ").map(|from| Self::Output { from });
                from.or(comment.strip_prefix("not run: ").map(|_| Self::NotRun)).unwrap_or(Self::Named)
            }
        }
    }
}

impl Block<'_> {
    /// Its commands of this program, in the form that a shell takes, those that go over several lines in one.
    pub fn commands(&self) -> Vec<String> {
        if !self.language.is_empty() {
            return Vec::new();
        }
        let whole = self.lines.join("\n").replace("\\\n", " ");
        whole.lines().filter_map(command).collect()
    }
}

/// The command of a shell line, if it is one of this program without shell variables.
fn command(line: &str) -> Option<String> {
    let line = line.split(" #").next()?.trim();
    let arguments = ["flashloom ", "cargo run --release -- ", "cargo run --release --no-default-features -- "]
        .iter()
        .find_map(|start| line.strip_prefix(start))?;
    (!arguments.contains('$')).then(|| format!("flashloom {arguments}"))
}

/// The code blocks of a text, in their order.
pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut before) = (Vec::new(), None);
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| !line.trim_start().starts_with("```"));
            blocks.push(Block { first: index + 1, language, mark: Mark::of(before), lines: inside.collect() });
        }
        before = Some(line);
    }
    blocks
}
