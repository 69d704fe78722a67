//! `flashloom report`, and the traces of `run --perfetto`.

use crate::commands::small;

#[test]
fn a_result_and_a_comparison_become_pages() {
    let lab = small();
    lab.succeed(&["run", "small.toml", "--set", "run.series=5ms", "--json", "result.json"]);
    lab.succeed(&["report", "result.json", "-o", "run.html"]);
    let page = lab.read("run.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<h1>Run: result.json</h1>"));
    assert!(page.contains(">Throughput</figcaption>"), "it has a series");
    let vary = ["--vary", "host.scheduler=noop,deadline", "--json", "compare.json"];
    lab.succeed(&[&["compare", "small.toml"], &vary[..]].concat());
    lab.succeed(&["report", "compare.json", "--out", "compare.html"]);
    assert!(lab.read("compare.html").contains("One beats another if it is better in one figure"));
    lab.succeed(&["report", "compare.json", "--run", "2", "--out", "second.html"]);
    assert!(lab.read("second.html").contains("<h1>Run: compare.json</h1>"));
}

#[test]
fn what_is_no_result_is_refused_and_nothing_is_written() {
    let lab = small();
    lab.succeed(&["run", "small.toml", "--json", "result.json"]);
    lab.write("broken.json", "{\n  \"schema\": oops\n}\n").write("other.json", "{\"schema\": \"flashloom/probe/1\"}");
    let refused = |arguments: &[&str], expected: &str| {
        let answer = lab.run(&[&["report"], arguments].concat());
        assert_eq!(answer.code, Some(2), "{}", answer.stderr);
        assert!(answer.stderr.contains(expected), "{}", answer.stderr);
    };
    refused(&["broken.json", "-o", "page.html"], "broken.json:2:13");
    refused(&["other.json", "-o", "page.html"], "flashloom/result/2");
    refused(&["missing.json", "-o", "page.html"], "missing.json");
    refused(&[".", "-o", "page.html"], "a folder without files that end in `.parquet`");
    refused(&["result.json", "-o", "result.json"], "this is read");
    refused(&["result.json", "-o", "page.html", "--run", "1"], "expected a comparison");
    refused(&["result.json", "-o", "nowhere/page.html"], "there is no folder");
    assert!(!lab.files().contains(&"page.html".to_owned()));
}

/// The data set that `make.py` beside it made, with the package for Python.
const SWEEP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../export/tests/sweep");

#[test]
fn a_data_set_becomes_a_page_and_is_not_written_over() {
    let lab = small();
    lab.succeed(&["report", SWEEP, "-o", "sweep.html"]);
    let page = lab.read("sweep.html");
    assert!(page.contains("<h1>Sweep: sweep</h1>") && page.contains(">By host.queue_depth: "));
    std::fs::create_dir(lab.path("data")).expect("a folder can be made");
    std::fs::copy(format!("{SWEEP}/data.parquet"), lab.path("data/data.parquet")).expect("it can be copied");
    lab.succeed(&["report", "data/data.parquet", "-o", "one.html"]);
    let refused = |arguments: &[&str], expected: &str| {
        let answer = lab.run(&[&["report", "data"], arguments].concat());
        assert_eq!(answer.code, Some(2), "{}", answer.stderr);
        assert!(answer.stderr.contains(expected), "{}", answer.stderr);
    };
    refused(&["-o", "data/data.parquet"], "this is read");
    refused(&["-o", "page.html", "--run", "1"], "`--run` with the data set of a sweep");
    lab.write("data/torn.parquet", "PAR1, and no more");
    refused(&["-o", "page.html"], "data/torn.parquet");
    assert!(!lab.files().contains(&"page.html".to_owned()));
}

#[test]
fn a_trace_is_written_beside_the_result_and_needs_time() {
    let lab = small();
    lab.succeed(&["run", "small.toml", "--perfetto", "run.perfetto-trace"]);
    let bytes = std::fs::read(lab.path("run.perfetto-trace")).expect("it is written");
    assert_eq!(bytes[0], 0x0A, "it begins with a packet");
    assert!(bytes.len() > 10_000, "{} bytes", bytes.len());
    let counting = ["--set", "run.timing=counting", "--perfetto", "none"];
    let answer = lab.run(&[&["run", "small.toml"], &counting[..]].concat());
    assert_eq!(answer.code, Some(2));
    assert!(answer.stderr.contains("`--perfetto` of a run without time"), "{}", answer.stderr);
    assert!(!lab.files().contains(&"none".to_owned()));
}
