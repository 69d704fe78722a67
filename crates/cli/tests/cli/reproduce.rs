//! `flashloom reproduce`, in its quick form.

use serde_json::Value;

use crate::lab::{Answer, Lab};

const KEYS: &str = "id claim kind source published ours seeds effect ratio verdict null why workload";
const VERDICTS: [&str; 4] = ["reproduced", "direction only", "too small to tell", "not reproduced"];

#[test]
fn a_paper_gives_a_report_as_json_markdown_and_csv_and_the_same_bytes_again() {
    let lab = Lab::new();
    let first = lab.succeed("reproduce kast --quick --out one");
    let second = lab.succeed("reproduce kast --quick --out two --jobs 1");
    assert_eq!(first.stdout, second.stdout);
    for file in ["kast.json", "csv/kast.csv", "csv/kast-runs.csv"] {
        assert_eq!(lab.read(&format!("one/{file}")), lab.read(&format!("two/{file}")), "{file}");
    }
    let report = lab.read_json("one/kast.json");
    assert_eq!(report["paper"], "kast");
    let rows = report["rows"].as_array().expect("rows are a list");
    let markdown = lab.read("one/kast.md");
    for row in rows {
        assert!(KEYS.split(' ').all(|key| row.get(key).is_some()), "{row}");
        assert!(VERDICTS.iter().any(|verdict| row["verdict"] == *verdict), "{row}");
        assert!(row["why"].is_null() || row["verdict"] != "reproduced", "{row}");
        assert!(row["why"].is_string() || row["verdict"] != "not reproduced", "{row}");
        let null = &row["null"];
        assert!(null.is_null() || VERDICTS.iter().any(|verdict| null["verdict"] == *verdict), "{row}");
        assert!(row["kind"] != "published" || null.is_object(), "{row}");
        assert!(row["seeds"] == 1 || row["seeds"] == 5, "{row}");
        assert!(markdown.contains(row["id"].as_str().expect("an id is text")), "{row}");
    }
    assert!(lab.read("one/README.md").contains("(kast.md)"));
    // The guarantee of KAST holds at every K.
    let is_guarantee = |row: &&Value| row["id"].as_str().is_some_and(|id| id.contains("-guarantee-"));
    let guarantee: Vec<&Value> = rows.iter().filter(is_guarantee).collect();
    assert_eq!(guarantee.len(), 14, "seven values of K, two workloads");
    guarantee.iter().for_each(|row| assert_eq!(row["verdict"], "reproduced", "{row}"));
}

#[test]
fn what_cannot_be_reproduced_or_written_is_refused_before_anything_runs() {
    let lab = Lab::new();
    lab.write("file", "").write("mine/README.md", "precious").write("other/README.md", b"pr\xe9cieux");
    for (arguments, expected) in [
        ("reproduce fios", "pardispatcher"),
        ("reproduce kast --quick --out mine", "a folder of reports, or one without a README.md"),
        ("reproduce kast --quick --out other", "a folder of reports, or one without a README.md"),
        ("reproduce kast --quick --traces nowhere", "a folder of recordings"),
        ("reproduce kast --quick --out file", "a folder that can be written to"),
    ] {
        lab.refuses(arguments, &[expected]);
    }
    let nameless = Answer::of(&mut lab.command(["reproduce", "kast", "--quick", "--out", ""]));
    nameless.refused(&["a folder that can be written to"]);
    assert_eq!(lab.read("mine/README.md"), "precious");
}
