//! What is generated from the code and checked in is current: the JSON schemas and the reference. So are the names of
//! the causes of latency in their page.
//!
//! `INSTA_UPDATE=always cargo test` writes them anew, as it does the snapshots of the other tests.

use std::fs;
use std::path::PathBuf;

use flashloom_device::Cause;
use flashloom_experiment::config::Catalog;
use flashloom_experiment::{reference, schema};

fn hold(path: &str, text: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::create_dir_all(file.parent().expect("the path has a folder")).expect("the folder can be made");
        fs::write(&file, text).expect("the file can be written");
    }
    let current = fs::read_to_string(&file).unwrap_or_default();
    assert!(current == text, "{path} is not current: INSTA_UPDATE=always cargo test -p flashloom-experiment");
}

#[test]
fn the_json_schemas_are_current() {
    for (name, text) in schema::schemas(&Catalog::builtin()) {
        hold(&format!("schema/{name}"), &text);
    }
}

#[test]
fn the_reference_is_current() {
    hold("docs/reference.md", &reference::document(&Catalog::builtin()));
}

#[test]
fn the_page_on_the_anatomy_explains_every_cause_in_order() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/anatomy.md");
    let page = fs::read_to_string(file).expect("the page is checked in");
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let explained: Vec<String> = page.lines().filter_map(name).collect();
    assert_eq!(explained, Cause::ALL.map(Cause::name));
}
