//! `flashloom report`, and the traces of `run --perfetto`.

use crate::commands::small;

#[test]
fn a_result_and_a_comparison_become_pages() {
    let lab = small();
    lab.succeed(&["run", "small.toml", "--set", "run.series=5ms", "--json", "result.json"]);
    lab.succeed(&["report", "result.json", "-o", "run.html"]);
    let page = lab.read("run.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<h1>Run: result.json</h1>"));
    assert!(page.contains("chart-throughput"), "it has a series");
    let vary = ["--vary", "host.scheduler=noop,deadline", "--json", "compare.json"];
    lab.succeed(&[&["compare", "small.toml"], &vary[..]].concat());
    lab.succeed(&["report", "compare.json", "--out", "compare.html"]);
    assert!(lab.read("compare.html").contains("chart-front"));
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
    refused(&["other.json", "-o", "page.html"], "flashloom/result/1");
    refused(&["missing.json", "-o", "page.html"], "missing.json");
    refused(&[".", "-o", "page.html"], "this is a directory");
    refused(&["result.json", "-o", "result.json"], "this is read");
    refused(&["result.json", "-o", "page.html", "--run", "1"], "expected a comparison");
    refused(&["result.json", "-o", "nowhere/page.html"], "there is no folder");
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
