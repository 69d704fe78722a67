//! The hand-written documents: every key, field, file, link and name of the code in them exists, every page is in the
//! summary of the site, and no line of text or code is longer than 120 columns.
#![allow(missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use flashloom_experiment::config::Catalog;
use flashloom_experiment::reference;

/// Folders of the project that documents name files of.
const FOLDERS: [&str; 5] = ["crates/", "docs/", "examples/", "experiments/", "kernel/"];

/// Sections of a configuration, and of a result.
const SECTIONS: [&str; 8] = ["workload", "host", "device", "buffer", "ftl", "run", "nand", "wear"];

/// Endings of files: `own.toml` is no key.
const ENDINGS: [&str; 8] = ["toml", "csv", "json", "md", "rs", "c", "parquet", "state"];

/// Columns of a line.
const WIDTH: usize = 120;

/// What has longer lines still.
const WIDE: [&str; 5] = ["crates/units/", "crates/ftl/", "crates/nand/", "crates/device/", "docs/walk.md"];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files of a folder of the project with that ending, however deep, by their path in the project.
fn files(folder: &str, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(project().join(folder)).expect("the folder is checked in") {
        let entry = entry.expect("the folder can be read");
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().expect("it is known").is_dir() {
            found.extend(files(&path, ending));
        } else if path.ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Whether a document is written by the program.
fn is_generated(path: &str) -> bool {
    path == "docs/reference.md" || path.starts_with("docs/reference/") || path.starts_with("docs/reproduction/results/")
}

/// README, contributing, changes, and the pages of docs/ but for the generated ones.
fn documents() -> Vec<(String, String)> {
    let mut paths = files("docs", ".md");
    paths.retain(|path| !is_generated(path));
    paths.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned));
    paths.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(project().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The lines outside of blocks of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    let lines = text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.map(|(index, line)| (index + 1, line))
}

/// What a document has in single backticks, outside of blocks of code, with the line.
fn quoted(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| line.split('`').skip(1).step_by(2).map(move |name| (number, name)))
}

/// Whether a name is that of a key or a field: words joined by dots, the first a section.
fn is_dotted(name: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-')
    };
    let parts: Vec<_> = name.split('.').collect();
    parts.len() > 1
        && parts.iter().all(|part| is_word(part))
        && SECTIONS.contains(&parts[0])
        && !ENDINGS.contains(&parts[parts.len() - 1])
}

/// The words of a name of the code: `Type`, `Type::method`, `function()`, `module::function`. Nothing for other text.
fn words_of_code(name: &str) -> Option<Vec<&str>> {
    let bare = name.split_once('(').map_or(name, |(bare, rest)| if rest.ends_with(')') { bare } else { name });
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let words: Vec<&str> = bare.split("::").collect();
    let is_type =
        |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().any(|c| c.is_ascii_lowercase());
    let is_of_code = words.len() > 1 || bare != name || is_type(bare);
    (is_of_code && words.iter().all(is_word)).then_some(words)
}

/// The names of the code.
#[derive(Default)]
struct Code {
    /// What follows `fn`, `struct`, `enum`, `trait`, `type` or `mod`.
    declared: BTreeSet<String>,
    /// Every word: fields, variants and constants among them.
    words: BTreeSet<String>,
}

impl Code {
    fn of(texts: impl IntoIterator<Item = String>) -> Self {
        let mut code = Self::default();
        for text in texts {
            let mut declares = false;
            for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
                if declares {
                    code.declared.insert(word.to_owned());
                }
                code.words.insert(word.to_owned());
                declares = ["fn", "struct", "enum", "trait", "type", "mod"].contains(&word);
            }
        }
        code
    }

    /// Whether the words of a name are there: the last may be a field or a variant unless it is called.
    fn has(&self, words: &[&str], is_called: bool) -> bool {
        let (last, before) = words.split_last().expect("a name has a word");
        let is_member = !is_called && self.words.contains(*last);
        (is_member || self.declared.contains(*last)) && before.iter().all(|word| self.words.contains(*word))
    }
}

/// What a document names that is not there.
fn unknown(catalog: &Catalog, code: &Code, text: &str) -> Vec<(usize, String)> {
    let is_unknown = |name: &str| {
        let is_path = FOLDERS.iter().any(|folder| name.starts_with(folder)) && !name.contains([' ', '*', '{', '<']);
        // A name in capitals stands for one of the reader's own.
        let is_pattern = name.contains("NAME");
        (is_path && !is_pattern && !project().join(name).exists())
            || (is_dotted(name) && reference::explain(catalog, name).is_err())
            || words_of_code(name).is_some_and(|words| !code.has(&words, name.ends_with(')')))
    };
    quoted(text).filter(|(_, name)| is_unknown(name)).map(|(line, name)| (line, name.to_owned())).collect()
}

/// The files that a document links to and that are not there. What a link says of a heading, the site checks.
fn dead_links(path: &str, text: &str) -> Vec<(usize, String)> {
    let folder = project().join(path).parent().expect("a file has a folder").to_owned();
    // The site has the pages below docs/ and nothing else.
    let depth = path.strip_prefix("docs/").map_or(usize::MAX, |path| path.matches('/').count());
    let targets = prose(text).flat_map(|(number, line)| line.split("](").skip(1).map(move |rest| (number, rest)));
    let targets = targets.filter_map(|(number, rest)| Some((number, rest.split([')', '#']).next()?)));
    let is_dead = |target: &str| {
        let leaves_the_site = target.matches("../").count() > depth;
        !target.is_empty() && !target.contains("://") && (leaves_the_site || !folder.join(target).exists())
    };
    targets.filter(|(_, target)| is_dead(target)).map(|(number, target)| (number, target.to_owned())).collect()
}

#[test]
fn what_documents_name_and_link_to_exists() {
    let sources = ["crates", "examples", "kernel"].into_iter().flat_map(|folder| files(folder, ".rs"));
    let (catalog, code) = (Catalog::builtin(), Code::of(sources.map(|path| read(&path))));
    let (mut names, mut faults) = (0, Vec::new());
    for (path, text) in documents() {
        names += quoted(&text).filter(|(_, name)| is_dotted(name) || words_of_code(name).is_some()).count();
        // The names of the walk have a test of their own, which knows where each is declared.
        let unknown = unknown(&catalog, &code, &text).into_iter().filter(|_| path != "docs/walk.md");
        faults.extend(unknown.map(|(line, name)| format!("{path}:{line}: nothing is named {name}")));
        faults.extend(dead_links(&path, &text).into_iter().map(|(line, to)| format!("{path}:{line}: no page {to}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(names > 250, "documents name keys, fields and code, not only {names}");
}

#[test]
fn every_page_is_in_the_summary_of_the_site() {
    let summary = read("docs/SUMMARY.md");
    let is_missing = |path: &&String| {
        let path = path.trim_start_matches("docs/");
        path != "SUMMARY.md" && !summary.contains(&format!("]({path})"))
    };
    let pages = files("docs", ".md");
    let missing: Vec<_> = pages.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}");
}

/// Tables, links that stand alone and blocks of code in a document may be longer: nothing can break them. So may the
/// published figures, which are tables in TOML.
#[test]
fn no_line_is_longer_than_120_columns() {
    let is_long = |line: &str| line.chars().count() > WIDTH;
    let is_whole = |line: &str| line.trim_start().starts_with('|') || line.trim_start().starts_with("- [");
    let mut long = Vec::new();
    for (path, text) in documents() {
        let lines = prose(&text).filter(|(_, line)| is_long(line) && !is_whole(line));
        long.extend(lines.map(|(number, _)| format!("{path}:{number}")));
    }
    for ending in [".rs", ".toml"] {
        let folders = ["crates", "examples", "experiments", "kernel"];
        for path in folders.into_iter().flat_map(|folder| files(folder, ending)) {
            let text = read(&path);
            let lines = text.lines().enumerate().filter(|(_, line)| is_long(line));
            long.extend(lines.map(|(index, _)| format!("{path}:{}", index + 1)));
        }
    }
    let is_exempt = |line: &str| WIDE.iter().chain(&["crates/report/data/"]).any(|wide| line.starts_with(wide));
    long.retain(|line| !is_exempt(line));
    assert!(long.is_empty(), "longer than {WIDTH} columns:\n{}", long.join("\n"));
}

#[test]
fn a_name_or_page_that_does_not_exist_is_found() {
    let text = "`ftl.waf` and `ftl.wav`,\n```\n`ftl.code`\n```\n`crates/ftl/src/lib.rs`, `crates/ftl/src/nothing.rs`, \
                `Mapping::write`, `Mapping::wrong`, `nothing()`\n[a](model.md), [b](none.md#x), [c](../README.md)";
    let code = Code::of(["trait Mapping { fn write(); }".to_owned()]);
    let found: Vec<String> = unknown(&Catalog::builtin(), &code, text).into_iter().map(|(_, name)| name).collect();
    assert_eq!(found, ["ftl.wav", "crates/ftl/src/nothing.rs", "Mapping::wrong", "nothing()"]);
    let dead: Vec<String> = dead_links("docs/README.md", text).into_iter().map(|(_, target)| target).collect();
    assert_eq!(dead, ["none.md", "../README.md"]);
}
