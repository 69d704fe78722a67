//! `explain` knows every name that a configuration takes or an output writes: a new name without a description fails
//! here.

use flashloom::config::schema;
use flashloom::config::{Catalog, SECTIONS, numbers, statistics};
use flashloom::device::Cause;
use flashloom::explain;
use flashloom::run::timeline;
use flashloom::units::Kind;
use flashloom::workload::{Event, LOG_COLUMNS, OutFormat};
use serde_json::Value;

/// Every property name in a schema, however deep.
fn properties(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                names.extend(properties.keys().cloned());
            }
            object.values().for_each(|inner| properties(inner, names));
        }
        Value::Array(list) => list.iter().for_each(|inner| properties(inner, names)),
        _ => {}
    }
}

/// Every name, with its kind.
fn names(catalog: &Catalog) -> Vec<(&'static str, String)> {
    let mut names: Vec<(&'static str, String)> = Vec::new();
    for (_, text) in schema::schemas(catalog) {
        let mut found = Vec::new();
        properties(&serde_json::from_str(&text).expect("a schema is JSON"), &mut found);
        names.extend(found.into_iter().map(|name| ("a property", name)));
    }
    for key in catalog.keys() {
        names.push(("a key", key.path()));
        names.push(("a key", key.param().name.to_owned()));
        names.extend(catalog.names(key.param()).into_iter().map(|value| ("a value", value.to_owned())));
        if let Kind::Choice(choices) = key.param().kind {
            let with_key = |choice: &flashloom::units::Choice| ("a value", format!("{}={}", key.path(), choice.name));
            let has_pages_of_its_own = ["device.preset", "workload.format"].contains(&key.path().as_str());
            names.extend(choices.iter().filter(|_| !has_pages_of_its_own).map(with_key));
        }
    }
    names.extend(SECTIONS.iter().map(|section| ("a section", section.name.to_owned())));
    names.extend(explain::list_names().map(|name| ("a list", name.to_owned())));
    names.extend(timeline::COLUMNS.iter().map(|column| ("a column of the timeline", column.name.to_owned())));
    names.extend(LOG_COLUMNS.iter().map(|column| ("a column of the log", (*column).to_owned())));
    names.extend(Cause::ALL.iter().map(|cause| ("a cause", cause.name().to_owned())));
    names.extend(numbers(catalog).into_iter().map(|path| ("a column of compare --csv", path)));
    names.extend(statistics(catalog).map(|(_, _, _, one)| ("a statistic", one.name.to_owned())));
    let choices = OutFormat::CHOICES.iter().chain(Event::CHOICES);
    names.extend(choices.map(|choice| ("a choice of an option", choice.name.to_owned())));
    names
}

#[test]
fn every_name_that_goes_in_or_comes_out_is_explained() {
    let catalog = crate::catalog();
    let pages = explain::names(&catalog);
    let lacks = |(_, name): &(&str, String)| !pages.contains(name.as_str());
    let missing: Vec<_> = names(&catalog).into_iter().filter(lacks).collect();
    assert!(missing.is_empty(), "nothing explains {missing:#?}");
}

/// Asserts that the pages on a name have a text, however their lines are broken.
fn says(name: &str, part: &str) {
    let pages = explain::explain(&crate::catalog(), name).unwrap_or_else(|problem| panic!("{problem}"));
    let text: String = pages.iter().map(explain::Page::to_text).collect();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(part), "{name}: {part} is not in\n{text}");
}

#[test]
fn a_name_may_be_written_as_tables_show_it() {
    for (written, part) in [
        ("WAF", "Write amplification"),
        ("p99.9", "99.9 %"),
        ("Longest Merge", "otherwise idle chip"),
        ("MULTI-HASH", "hot"),
        ("steady", "until write amplification is stable"),
        ("timeline", "free_blocks"),
    ] {
        says(written, part);
    }
}

#[test]
fn a_key_says_what_follows_from_it_where_that_surprises() {
    for (name, part) in [
        ("rate", "every write of a new page waits for a flash program"),
        ("single", "as long as a program of flash"),
        ("precondition", "before the drive ever collects"),
        ("over_provisioning", "is 7 %"),
    ] {
        says(name, part);
    }
}
