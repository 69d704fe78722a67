//! Generated files that are checked in are current: the JSON schemas and the reference. So are the names of the causes
//! of latency in their page.
//!
//! `INSTA_UPDATE=always cargo test` rewrites them, like the snapshots of the other tests.

use std::fs;
use std::path::PathBuf;

use flashloom::config::schema;
use flashloom::device::Cause;
use flashloom::explain;

use crate::support::{project, read};

fn hold(path: &str, text: &str) {
    let file = project().join(path);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::create_dir_all(file.parent().expect("the path has a folder")).expect("the folder can be made");
        fs::write(&file, text).expect("the file can be written");
    }
    let current = fs::read_to_string(&file).unwrap_or_default();
    assert!(current == text, "{path} is not current: INSTA_UPDATE=always cargo test -p flashloom");
}

#[test]
fn the_json_schemas_are_current() {
    for (name, text) in schema::schemas(&crate::catalog()) {
        hold(&format!("schema/{name}"), &text);
    }
}

#[test]
fn the_reference_and_the_page_of_every_policy_are_current() {
    let documents = explain::documents(&crate::catalog());
    for (path, text) in &documents {
        hold(&format!("docs/{path}"), text);
    }
    let is_left_over = |path: &PathBuf| !documents.iter().any(|(known, _)| project().join("docs").join(known) == *path);
    let folders = fs::read_dir(project().join("docs/reference")).expect("the folder is checked in");
    let path = |entry: std::io::Result<fs::DirEntry>| entry.expect("it can be read").path();
    let files = folders.flat_map(|folder| fs::read_dir(path(folder)).expect("it is a folder"));
    let left: Vec<PathBuf> = files.map(path).filter(is_left_over).collect();
    assert!(left.is_empty(), "pages of policies that are no more: {left:?}");
}

#[test]
fn the_summary_of_the_site_lists_every_policy() {
    let path = "docs/SUMMARY.md";
    let summary = read(path);
    let (before, rest) = summary.split_once("# Policies\n\n").expect("it has that part");
    let (_, after) = rest.split_once("\n# ").expect("another part follows");
    hold(path, &format!("{before}# Policies\n\n{}\n# {after}", explain::summary(&crate::catalog())));
}

#[test]
fn the_page_on_the_anatomy_explains_every_cause_in_order() {
    let page = read("docs/anatomy.md");
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let explained: Vec<String> = page.lines().filter_map(name).collect();
    assert_eq!(explained, Cause::ALL.map(Cause::name));
}
