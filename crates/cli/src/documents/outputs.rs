//! The commands of documents, run: each ends well, and prints what the page shows.
//!
//! Those of decisions are left out, which are records of what was measured when they were taken. A command runs in a
//! folder of its page that has the experiments of the project; a file that is not there is the experiment shown last on
//! the page, or one without any key. Runs share the drives that were aged.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use rayon::prelude::*;
use tempfile::TempDir;

use super::block::{Block, Mark, blocks};
use super::{documents, is_experiment, project};

/// The target of the Makefile that writes what the pages show anew.
const RENEW: &str = "make docs-outputs UPDATE=1";

/// The page that says of which program the outputs are, and the lines around that.
const LAST_RUN: (&str, &str, &str) = ("docs/verification.md", "<!-- last run -->\n", "<!-- /last run -->");

/// Which commands are run.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    Quick,
    Slow,
}

/// True if the pages are written anew.
fn updates() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
}

/// The release build beside this test's.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let program = test.ancestors().nth(3).expect("it is in target/PROFILE/deps").join("release/flashloom");
    assert!(program.exists(), "{} is missing: cargo build --release", program.display());
    program
}

/// Where the commands of a page run.
struct OutputPlace<'a> {
    folder: TempDir,
    cache: &'a Path,
    shown: String,
}

impl<'a> OutputPlace<'a> {
    fn new(cache: &'a Path) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let project = project().canonicalize().expect("the project is there");
        for name in ["crates", "examples", "experiments"] {
            symlink(project.join(name), folder.path().join(name)).expect("a link can be made");
        }
        symlink(program(), folder.path().join("flashloom")).expect("a link can be made");
        Self { folder, cache, shown: String::new() }
    }

    /// Runs a command as a shell does; returns what it printed.
    fn run(&self, command: &str) -> Result<String, String> {
        for word in command.split_whitespace().filter(|word| word.ends_with(".toml")) {
            let path = self.folder.path().join(word);
            if !path.starts_with(self.folder.path().join("experiments")) && !path.exists() {
                fs::write(path, &self.shown).map_err(|error| format!("{word}: {error}"))?;
            }
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec ./{command}")]).current_dir(self.folder.path());
        let Output { status, stdout, stderr } =
            shell.env("FLASHLOOM_CACHE", self.cache).output().map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("`{command}` ended with {status}: {}", String::from_utf8_lossy(&stderr)));
        }
        String::from_utf8(stdout).map_err(|error| error.to_string())
    }
}

/// What was found on a page.
#[derive(Default)]
struct Found {
    commands: usize,
    faults: Vec<String>,
    /// Blocks to be written anew: their first line, how many lines they have, and their text.
    changes: Vec<(usize, usize, String)>,
}

/// Runs the commands of a page, and compares what they print.
fn check(name: &str, text: &str, which: Which, cache: &Path) -> Found {
    let (mut found, mut place) = (Found::default(), OutputPlace::new(cache));
    let (mut printed, mut has_commands): (Option<String>, bool) = (None, false);
    for block in blocks(text) {
        let at = format!("{name}:{}", block.first + 1);
        let commands = block.commands();
        if !commands.is_empty() {
            has_commands = true;
            let is_due = match block.mark {
                Mark::NotRun => false,
                Mark::Slow => which == Which::Slow,
                _ => which == Which::Quick,
            };
            printed = is_due.then(|| run_all(&at, &commands, &place, &mut found)).flatten();
        } else if let Mark::Output { from } = block.mark {
            let Some(printed) = &printed else { continue };
            let start = printed.lines().position(|line| line.starts_with(from));
            let lines: Vec<&str> = printed.lines().skip(start.unwrap_or(usize::MAX)).collect();
            if lines.is_empty() {
                found.faults.push(format!("{at}: nothing of what is printed begins with `{from}`"));
            } else if lines != block.lines {
                found.faults.push(format!("{at}: {}", difference(&block.lines, &lines)));
                found.changes.push((block.first, block.lines.len(), lines.join("\n")));
            }
        } else if is_experiment(&block.lines.join("\n")) && block.language == "toml" {
            place.shown = block.lines.join("\n");
        } else if has_commands && is_unmarked(&block) {
            found.faults.push(format!("{at}: a block below commands says what it is, see documents/block.rs"));
        }
    }
    found
}

/// True for a block that could be an output and is not said to be one.
fn is_unmarked(block: &Block) -> bool {
    let is_shell = |line: &&str| ["cargo ", "make ", "pip ", "python"].iter().any(|start| line.starts_with(start));
    block.language.is_empty()
        && block.mark == Mark::None
        && !block.lines.iter().any(|line| is_shell(&line.trim_start()))
}

/// Runs the commands of a block and says how long they took; returns what they printed unless one fails.
// The time is that of the program on this machine, which its reader waits for.
#[allow(clippy::disallowed_methods)]
fn run_all(at: &str, commands: &[String], place: &OutputPlace, found: &mut Found) -> Option<String> {
    let begin = Instant::now();
    found.commands += commands.len();
    let printed: Result<String, String> = commands.iter().map(|command| place.run(command)).collect();
    eprintln!("{at}: {:.1} s", begin.elapsed().as_secs_f64());
    printed.map_err(|fault| found.faults.push(format!("{at}: {fault}"))).ok()
}

/// The first line in which what is shown and what is printed differ.
fn difference(shown: &[&str], printed: &[&str]) -> String {
    let at = shown.iter().zip(printed).take_while(|(shown, printed)| shown == printed).count();
    let line = |lines: &[&str]| lines.get(at).map_or("nothing more".to_owned(), |line| format!("`{line}`"));
    format!("line {} shows\n  {}\nwhere the command prints\n  {}", at + 1, line(shown), line(printed))
}

/// A text with blocks in other words.
fn renewed(text: &str, changes: &[(usize, usize, String)]) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    for (first, count, block) in changes.iter().rev() {
        lines.splice(first..&(first + count), block.split('\n'));
    }
    lines.join("\n")
}

/// Runs the commands of all pages, two pages at a time on two processors; writes the pages anew if that is asked for.
fn hold(which: Which) -> usize {
    let cache = tempfile::tempdir().expect("a temporary folder can be made");
    let mut pages = documents();
    pages.retain(|path| !path.to_string_lossy().contains("/decisions/"));
    let found: Vec<Found> = pages
        .par_iter()
        .with_max_len(1)
        .map(|path| {
            let text = fs::read_to_string(path).expect("a document is text");
            let name = path.strip_prefix(project()).expect("it is in the project").to_string_lossy();
            let found = check(&name, &text, which, cache.path());
            if updates() && !found.changes.is_empty() {
                fs::write(path, renewed(&text, &found.changes)).expect("a document can be written");
            }
            found
        })
        .collect();
    let commands = found.iter().map(|page| page.commands).sum();
    let faults: Vec<String> = found.into_iter().flat_map(|page| page.faults).collect();
    let is_written = updates() && faults.iter().all(|fault| fault.contains("where the command prints"));
    assert!(faults.is_empty() || is_written, "{}\n`{RENEW}` writes outputs anew", faults.join("\n"));
    commands
}

#[test]
#[ignore = "it needs a release build and a minute: make outputs"]
fn quick_commands_of_documents_print_what_the_pages_show() {
    let commands = hold(Which::Quick);
    assert!(commands >= 20, "documents have more than {commands} commands");
    eprintln!("outputs: {commands} commands print what the documents show");
}

#[test]
#[ignore = "it needs a release build and some minutes: make docs-outputs"]
fn slow_commands_of_documents_print_what_the_pages_show() {
    let commands = hold(Which::Slow);
    assert!(commands > 0, "documents have slow commands");
    eprintln!("docs-outputs: {commands} commands print what the documents show");
    if updates() {
        let (page, begin, end) = LAST_RUN;
        let path = project().join(page);
        let text = fs::read_to_string(&path).expect("the page is text");
        let (before, rest) = text.split_once(begin).expect("it says when they were run last");
        let (_, after) = rest.split_once(end).expect("that ends");
        fs::write(&path, format!("{before}{begin}{}\n{end}{after}", last_run())).expect("it can be written");
    }
}

/// Of which program the outputs are, and on which machine they were made.
fn last_run() -> String {
    let git = Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(project()).output();
    let commit = git.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let machine = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models = machine.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let models: Vec<&str> = models.map(|(_, model)| model).collect();
    let model = models.first().unwrap_or(&"an unknown processor");
    format!("Last run: at commit {commit}, on {} processors of {}, {model}.", models.len(), std::env::consts::ARCH)
}

#[test]
fn an_output_that_differs_is_found_and_written() {
    let text = "```\nflashloom list\n```\n<!-- output from: b -->\n```\nb\nc\n```\n";
    let blocks = blocks(text);
    assert_eq!(blocks[0].commands(), ["flashloom list"]);
    assert_eq!((blocks[1].first, blocks[1].mark), (5, Mark::Output { from: "b" }));
    assert_eq!(difference(&["b", "c"], &["b", "d"]), "line 2 shows\n  `c`\nwhere the command prints\n  `d`");
    assert_eq!(difference(&["b"], &["b", "d"]), "line 2 shows\n  nothing more\nwhere the command prints\n  `d`");
    let changed = renewed(text, &[(5, 2, "b\nd\ne".to_owned())]);
    assert_eq!(changed, "```\nflashloom list\n```\n<!-- output from: b -->\n```\nb\nd\ne\n```\n");
    assert!(is_unmarked(&super::block::blocks("```\na  b\n```")[0]));
}
