//! Checks the reports in docs/reproduction/results: they hold the figures of the present data files, come from full
//! runs, and count no null as its policy.

use std::path::{Path, PathBuf};

use flashloom_report::published::{Kind, PAPERS, Paper, scoped};
use serde_json::Value;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn report(paper: &str) -> Value {
    let path = project().join("docs/reproduction/results").join(format!("{paper}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("a report is JSON")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} is a text"))
}

fn rows(report: &Value) -> impl Iterator<Item = &Value> {
    report["rows"].as_array().expect("a list").iter()
}

#[test]
fn every_report_is_of_a_full_run_of_the_rows_of_its_data_file() {
    for name in PAPERS {
        let (paper, report) = (Paper::named(name).expect("it is one"), report(name));
        assert_eq!(report["quick"], Value::Bool(false), "{name}");
        let mut expected = Vec::new();
        for group in &paper.groups {
            for workload in paper.each(group.each_workload) {
                for row in &group.rows {
                    let id = format!("{}-{}", scoped(workload, &group.id), row.id);
                    let published = serde_json::to_value(row.published).expect("it is a number or a bound");
                    expected.push((id, row.claim.clone(), published, row.ours.text().to_owned()));
                }
            }
        }
        assert_eq!(rows(&report).count(), expected.len(), "{name}: make the reports anew");
        for (row, expected) in rows(&report).zip(expected) {
            let of = |key| text(row, key).to_owned();
            let found = (of("id"), of("claim"), row["published"].clone(), of("formula"));
            assert_eq!(found, expected, "{name}: make the reports anew");
        }
    }
}

#[test]
fn no_null_is_reproduced_in_a_published_row_but_in_those_that_cannot_tell() {
    let decided_by_the_null = |row: &&Value| {
        let kind: Kind = serde_json::from_value(row["kind"].clone()).expect("it is a kind");
        matches!(kind, Kind::Published | Kind::Fitted) && row["verdict"] != "too small to tell"
    };
    let mut compared = 0;
    for name in PAPERS {
        for row in rows(&report(name)).filter(decided_by_the_null) {
            compared += 1;
            assert_ne!(row["null"]["verdict"], "reproduced", "{name}: {}", text(row, "id"));
        }
    }
    assert!(compared > 200, "{compared} rows");
}

#[test]
fn every_row_that_is_not_reproduced_says_why() {
    for name in PAPERS {
        for row in rows(&report(name)).filter(|row| row["verdict"] != "reproduced") {
            assert!(row["why"].is_string(), "{name}: {}", text(row, "id"));
        }
    }
}

#[test]
fn the_readme_sums_up_the_reports() {
    let readme = std::fs::read_to_string(project().join("README.md")).expect("there is one");
    for name in PAPERS.iter().filter(|name| **name != "together") {
        let report = report(name);
        let published = report["summary"].as_array().expect("a list").iter().find(|line| line["kind"] == "published");
        let published = published.expect("a paper has published rows");
        let verdicts: Vec<String> =
            published["verdicts"].as_array().expect("a list").iter().map(Value::to_string).collect();
        let line = format!(
            "(docs/reproduction/results/{name}.md) | {} | {} | {} |",
            published["rows"],
            verdicts.join(" | "),
            published["null_reproduces"]
        );
        assert!(readme.contains(&line), "README.md lacks: {line}");
    }
}
