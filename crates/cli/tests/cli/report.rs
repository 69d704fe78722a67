//! `flashloom report`, and the traces of `run --perfetto`.

use crate::commands::small;
use crate::lab::{Answer, has};

#[test]
fn a_result_and_a_comparison_become_pages() {
    let lab = small();
    lab.succeed("run small.toml --set run.series=5ms --json result.json");
    lab.succeed("compare small.toml --vary host.scheduler=noop,deadline --json compare.json");
    for (arguments, parts) in [
        ("result.json", &["<!DOCTYPE html>", "<h1>Run: result.json</h1>", ">Throughput</figcaption>"][..]),
        ("compare.json", &["One beats another if it is better in one figure"]),
        ("compare.json --run 2", &["<h1>Run: compare.json</h1>"]),
    ] {
        lab.succeed(&format!("report {arguments} --out page.html"));
        let page = lab.read("page.html");
        assert!(page.starts_with("<!DOCTYPE html>"), "{arguments}");
        has(&page, parts);
    }
}

#[test]
fn what_is_no_result_is_refused_and_nothing_is_written() {
    let lab = small();
    lab.succeed("run small.toml --json result.json");
    lab.write("broken.json", "{\n  \"schema\": oops\n}\n").write("other.json", "{\"schema\": \"flashloom/probe/1\"}");
    for (arguments, expected) in [
        ("broken.json -o page.html", "broken.json:2:13"),
        ("other.json -o page.html", "flashloom/result/2"),
        ("missing.json -o page.html", "missing.json"),
        (". -o page.html", "a folder without files that end in `.parquet`"),
        ("result.json -o result.json", "this is read"),
        ("result.json -o page.html --run 1", "expected a comparison"),
        ("result.json -o nowhere/page.html", "there is no folder"),
    ] {
        lab.refuses(&format!("report {arguments}"), &[expected]);
    }
}

/// The data set that `make.py` beside it made, with the package for Python.
const SWEEP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../export/tests/sweep");

#[test]
fn a_data_set_becomes_a_page_and_is_not_written_over() {
    let lab = small();
    Answer::of(&mut lab.command(["report", SWEEP, "-o", "sweep.html"])).ended(0, &[]);
    has(&lab.read("sweep.html"), &["<h1>Sweep: sweep</h1>", ">By host.queue_depth: "]);
    std::fs::create_dir(lab.path("data")).expect("a folder can be made");
    std::fs::copy(format!("{SWEEP}/data.parquet"), lab.path("data/data.parquet")).expect("it can be copied");
    lab.succeed("report data/data.parquet -o one.html");
    lab.refuses("report data -o data/data.parquet", &["this is read"]);
    lab.refuses("report data -o page.html --run 1", &["`--run` with the data set of a sweep"]);
    lab.write("data/torn.parquet", "PAR1, and no more");
    lab.refuses("report data -o page.html", &["data/torn.parquet"]);
}

#[test]
fn a_trace_is_written_beside_the_result_and_needs_time() {
    let lab = small();
    lab.succeed("run small.toml --perfetto run.perfetto-trace");
    let bytes = std::fs::read(lab.path("run.perfetto-trace")).expect("it is written");
    assert_eq!(bytes[0], 0x0A, "it begins with a packet");
    assert!(bytes.len() > 10_000, "{} bytes", bytes.len());
    let counting = "run small.toml --set run.timing=counting --perfetto none";
    lab.refuses(counting, &["`--perfetto` of a run without time"]);
}
