//! Results that the program wrote before mappings, maps, streams and placements described their figures are read, and
//! today's run of the same configuration has each of their paths with the same value: what owners count stands beside
//! them, under `statistics`. `results/drive.toml` is the drive. The tests of reports read the data set of a sweep that
//! is older still.

use std::fs;
use std::path::{Path, PathBuf};

use flashloom_config::{Catalog, Experiment, Source};
use flashloom_figures::result::{Comparison, KeptRun, NOT_FOUND_OUT, RunResult, parse, schema_of};
use flashloom_run::{Prepared, Quiet};
use serde::de::DeserializeOwned;
use serde_json::Value;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/results").join(name)
}

/// An old result, read as the program reads one, and as JSON.
fn old<T: DeserializeOwned>(name: &str, schema: &str) -> (T, Value) {
    let text = fs::read(file(name)).expect("the result is there");
    assert_eq!(schema_of(&text).unwrap_or_else(|unread| panic!("{name}: {unread}")), schema);
    let read = parse(&text).unwrap_or_else(|unread| panic!("{name}: {unread}"));
    (read, serde_json::from_slice(&text).expect("it is JSON"))
}

/// The runs of the drive with these keys set, and others varied.
fn runs(set: &[&str], vary: &[&str]) -> Value {
    let text = fs::read_to_string(file("drive.toml")).expect("the drive is there");
    let source = Source { name: "drive.toml".to_owned(), text, folder: file("") };
    let [set, vary] = [set, vary].map(|texts| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
    let experiment = Experiment::from_source(&Catalog::builtin(), source, &set, Some(&vary))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
    let comparison = prepared.compare(false, &Quiet).unwrap_or_else(|failure| panic!("{failure}"));
    serde_json::to_value(comparison.runs).expect("results are JSON")
}

fn run(set: &[&str]) -> Value {
    runs(set, &["run.seed=1"])[0]["result"].take()
}

/// Asserts that a value has everything that an older one has, but for what describes a run and its cost, and for hints,
/// of which a result has at most three.
fn holds(older: &Value, newer: &Value, path: &str) {
    match older {
        Value::Object(members) => {
            let found_out =
                members.iter().filter(|(name, _)| !NOT_FOUND_OUT.contains(&name.as_str()) && *name != "hints");
            found_out.for_each(|(name, value)| holds(value, &newer[name], &format!("{path}.{name}")));
        }
        Value::Array(members) => {
            assert_eq!(Some(members.len()), newer.as_array().map(Vec::len), "{path}");
            (0..).zip(members).for_each(|(at, value)| holds(value, &newer[at], &format!("{path}[{at}]")));
        }
        value => assert_eq!(value, newer, "{path}"),
    }
}

#[test]
fn a_run_of_log_blocks_with_streams_and_a_placement_has_what_it_had() {
    let (result, older) = old::<RunResult>("merges.json", "flashloom/result/1");
    assert!(result.ftl.merges.is_some() && result.ftl.streams.is_some() && result.ftl.wait_ns.is_some());
    let newer = run(&[
        "ftl.mapping=kast",
        "ftl.kast.log_blocks=4",
        "ftl.kast.stream_threshold=2",
        "ftl.preemption=page",
        "ftl.placement=round-robin",
        "buffer.order=region",
        "workload.synthetic.requests=3000",
        "workload.synthetic.read_share=0.1",
    ]);
    holds(&older, &newer, "result");
    let (ftl, statistics) = (&newer["ftl"], &newer["ftl"]["statistics"]);
    let beside = [
        (&ftl["merges"]["full"], &statistics["mapping"]["full_merges"]),
        (&ftl["associativity"], &statistics["mapping"]["associativity"]),
        (&ftl["blocking_ns"]["max"], &statistics["mapping"]["blocking_ns"]["max"]),
        (&ftl["wait_ns"]["bound"], &statistics["mapping"]["wait_bound_ns"]),
        (&ftl["streams"]["pages"], &statistics["mapping"]["stream_pages"]),
        (&newer["buffer"]["migrated_pages"], &statistics["placement"]["migrated_pages"]),
    ];
    for (at, (field, statistic)) in beside.into_iter().enumerate() {
        assert!(!field.is_null() && field == statistic, "{at}: {field}, {statistic}");
    }
}

#[test]
fn a_run_of_an_allocation_by_streams_has_what_it_had() {
    let (result, older) = old::<RunResult>("streams.json", "flashloom/result/1");
    assert!(result.ftl.streams.is_some_and(|streams| streams.substreams.is_some()));
    let newer =
        run(&["ftl.allocation=slap", "ftl.slap.substreams=auto", "ftl.slap.stream_threshold=2", "host.scheduler=cfq"]);
    holds(&older, &newer, "result");
    assert_eq!(newer["ftl"]["streams"]["detected"], newer["ftl"]["statistics"]["allocation"]["streams"]);
}

#[test]
fn a_comparison_over_seeds_has_what_it_had() {
    let (comparison, older) = old::<Comparison>("comparison.json", "flashloom/compare/1");
    assert!(comparison.runs.iter().any(|run| run.result.ftl.map_cache.is_some()) && comparison.repetitions() == 2);
    let vary = ["ftl.mapping=page,dftl", "run.seed=1,2"];
    let newer = runs(&["run.precondition=steady"], &vary);
    holds(&older["runs"], &newer, "comparison.runs");
}

#[test]
fn a_kept_run_has_what_it_had() {
    let (kept, older) = old::<KeptRun>("kept.json", "flashloom/kept/1");
    assert!(kept.result.ftl.map_cache.is_some());
    let newer = run(&["ftl.mapping=dftl"]);
    let mut without_hints = older["result"].clone();
    without_hints.as_object_mut().expect("a result is an object").remove("hints");
    holds(&without_hints, &newer, "kept.result");
}
