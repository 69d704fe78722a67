//! Results of schema 1 are read as if they had been written today: today's run of the same configuration has each of
//! their figures, under its name of today. `results/drive.toml` is the drive. The tests of reports read the data set of
//! a sweep that is older still.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Sound, prepared, varied_in};
use flashloom_figures::result::{Comparison, KeptRun, NOT_FOUND_OUT, RunResult, of_today, parse};
use flashloom_run::Quiet;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/results").join(name)
}

/// An old result, read as the program reads one, and written again; and its text, with what is today's.
fn old<T: DeserializeOwned + Serialize>(name: &str, schema: &str) -> Value {
    let text = fs::read(file(name)).expect("the result is there");
    let (found, today) = of_today(&text).unwrap_or_else(|unread| panic!("{name}: {unread}"));
    assert_eq!(found, schema);
    let read: T = parse(&today).unwrap_or_else(|unread| panic!("{name}: {unread}"));
    let again = serde_json::to_value(read).expect("it is JSON");
    holds(&serde_json::from_slice(&today).expect("it is JSON"), &again, name);
    again
}

/// The runs of the drive with these keys set, and others varied.
fn runs(set: &[&str], vary: &[&str]) -> Value {
    let text = fs::read_to_string(file("drive.toml")).expect("the drive is there");
    let comparison = prepared(varied_in(file(""), &text, set, vary)).compare(false, &Quiet).sound();
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

/// The numbers of a result that was written then.
fn numbers(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.values().map(numbers).sum(),
        Value::Array(members) => members.iter().map(numbers).sum(),
        value => usize::from(value.is_number()),
    }
}

#[test]
fn a_run_of_log_blocks_with_streams_and_a_placement_has_what_it_had() {
    let older = old::<RunResult>("merges.json", "flashloom/result/2");
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
    let ftl = &older["ftl"];
    for found in [&ftl["mapping"]["full_merges"], &ftl["mapping"]["streams"], &ftl["placement"]["migrated_pages"]] {
        assert!(found.is_u64(), "{ftl}");
    }
    // What stood twice then stands once now, and nothing else is lost.
    let then = then("merges.json");
    let of_then: usize = ["ftl", "buffer", "scheduler"].map(|part| numbers(&then[part])).iter().sum();
    let twice = TWICE.map(|path| numbers(then.pointer(path).expect("it stood there"))).iter().sum::<usize>();
    let now = numbers(ftl) + numbers(&older["buffer"]) + numbers(&older["host"]["scheduler"]);
    assert_eq!(of_then - twice, now);
}

/// What stood twice in a run of log blocks with streams and a placement.
const TWICE: [&str; 7] = [
    "/buffer/migrated_pages",
    "/ftl/merges",
    "/ftl/associativity",
    "/ftl/blocking_ns",
    "/ftl/wait_ns",
    "/ftl/reserved_pages",
    "/ftl/streams",
];

fn then(name: &str) -> Value {
    serde_json::from_slice(&fs::read(file(name)).expect("the result is there")).expect("it is JSON")
}

#[test]
fn a_run_of_an_allocation_by_streams_has_what_it_had() {
    let older = old::<RunResult>("streams.json", "flashloom/result/2");
    let slap = ["ftl.allocation=slap", "ftl.slap.substreams=auto", "ftl.slap.stream_threshold=2"];
    holds(&older, &run(&[&slap[..], &["host.scheduler=kyber"]].concat()), "result");
    let scheduler = &older["host"]["scheduler"];
    assert!(older["ftl"]["allocation"]["substreams"].is_u64() && scheduler["token_waits"].is_u64(), "{scheduler}");
    assert_eq!(scheduler["policy"], "kyber");
}

#[test]
fn a_comparison_over_seeds_has_what_it_had() {
    let older = old::<Comparison>("comparison.json", "flashloom/compare/2");
    holds(&older["runs"], &runs(&["run.precondition=steady"], &["ftl.mapping=page,dftl", "run.seed=1,2"]), "runs");
    assert!(older["repeated"][1]["figures"]["ftl.mapping.map_hit_ratio"]["mean"].is_f64());
}

#[test]
fn a_kept_run_has_what_it_had() {
    let mut older = old::<KeptRun>("kept.json", "flashloom/kept/2")["result"].take();
    older.as_object_mut().expect("a result is an object").remove("hints");
    holds(&older, &run(&["ftl.mapping=dftl"]), "result");
    assert!(older["ftl"]["mapping"]["map_hits"].is_u64());
}
