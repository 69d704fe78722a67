//! The hand-written documents: every key, field and file that they name exists.
#![allow(missing_docs)]

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

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README, contributing, and the pages of docs/ but for the generated one.
fn documents() -> Vec<PathBuf> {
    let pages = fs::read_dir(project().join("docs")).expect("the documents are checked in");
    let pages = pages.map(|entry| entry.expect("the folder can be read").path());
    let pages = pages.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut documents: Vec<_> = pages.filter(|path| !path.ends_with("reference.md")).collect();
    documents.extend(["README.md", "CONTRIBUTING.md"].map(|name| project().join(name)));
    documents.sort();
    documents
}

/// What a document has in single backticks, outside of blocks of code, with the line.
fn quoted(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    let prose = text.lines().enumerate().filter(move |(_, line)| {
        is_code ^= line.trim_start().starts_with("```");
        !is_code
    });
    prose.flat_map(|(index, line)| line.split('`').skip(1).step_by(2).map(move |name| (index + 1, name)))
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

/// What a document names that is not there.
fn unknown(catalog: &Catalog, text: &str) -> Vec<(usize, String)> {
    let is_unknown = |name: &str| {
        let is_path = FOLDERS.iter().any(|folder| name.starts_with(folder)) && !name.contains([' ', '*', '{', '<']);
        // A name in capitals stands for one of the reader's own.
        let is_pattern = name.contains("NAME");
        (is_path && !is_pattern && !project().join(name).exists())
            || (is_dotted(name) && reference::explain(catalog, name).is_err())
    };
    quoted(text).filter(|(_, name)| is_unknown(name)).map(|(line, name)| (line, name.to_owned())).collect()
}

#[test]
fn keys_fields_and_files_that_documents_name_exist() {
    let catalog = Catalog::builtin();
    let mut names = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a document is text");
        names += quoted(&text).filter(|(_, name)| is_dotted(name)).count();
        let unknown = unknown(&catalog, &text);
        assert!(unknown.is_empty(), "{} names what is not there: {unknown:?}", path.display());
    }
    assert!(names > 50, "documents name keys and fields, not only {names}");
}

#[test]
fn a_name_that_does_not_exist_is_found() {
    let text = "`ftl.waf` and `ftl.wav`,\n```\n`ftl.code`\n```\n`crates/ftl/src/lib.rs`, `crates/ftl/src/nothing.rs`";
    let found = unknown(&Catalog::builtin(), text);
    assert_eq!(found, [(1, "ftl.wav".to_owned()), (5, "crates/ftl/src/nothing.rs".to_owned())]);
}
