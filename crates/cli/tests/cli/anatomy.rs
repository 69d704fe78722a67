//! Latency by cause, as the program shows it.

use serde_json::Value;

use crate::commands::{small, timeless, validate};

/// Result of the small experiment, with or without an anatomy.
fn result(anatomy: bool) -> Value {
    let result = crate::commands::result(&small(), &format!("run.anatomy={anatomy}"));
    validate("result.json", &result);
    result
}

#[test]
fn the_parts_of_every_slice_add_up_and_are_those_of_the_latencies() {
    let host = &result(true)["host"];
    for op in ["read", "write"] {
        let (tail, latency) = (&host["anatomy"][op], &host["latency_ns"][op]);
        for slice in ["whole", "p99", "p99_9"].map(|name| &tail[name]) {
            let parts = slice["parts_ns"].as_object().expect("a slice has parts");
            let sum: u64 = parts.values().filter_map(Value::as_u64).sum();
            assert_eq!((parts.len(), Value::from(sum)), (17, slice["latency_ns"].clone()), "{op}");
        }
        let requests = |slice: &str| tail[slice]["requests"].as_u64().expect("a slice counts its requests");
        assert_eq!(Value::from(requests("whole")), latency["count"], "{op}");
        assert!(requests("p99") * 100 >= requests("whole") && requests("p99_9") * 1_000 >= requests("whole"), "{op}");
        assert!(requests("p99") <= requests("whole") && requests("p99_9") <= requests("p99"), "{op}");
        let mean = tail["whole"]["latency_ns"].as_f64().unwrap_or(0.0) / requests("whole") as f64;
        assert!((mean - latency["mean"].as_f64().unwrap_or(0.0)).abs() < 1e-6 * mean, "{op}");
        for slice in ["p99", "p99_9"] {
            let percentile = latency[slice].as_u64().expect("a latency has percentiles");
            let from = tail[slice]["from_ns"].as_u64().expect("a tail begins somewhere");
            assert!(from <= percentile && percentile - from <= percentile / 100, "{op} {slice}: {from}, {percentile}");
        }
    }
}

#[test]
fn an_anatomy_is_there_if_it_is_asked_for_and_changes_no_other_figure() {
    let (mut with, mut without) = (timeless(result(true)), timeless(result(false)));
    with["host"].as_object_mut().expect("a host is an object").remove("anatomy").expect("it was asked for");
    for result in [&mut with, &mut without] {
        result["config"]["run"].as_object_mut().expect("a section is an object").remove("anatomy");
        result["provenance"].as_object_mut().expect("a provenance is an object").remove("config_sha256");
    }
    assert_eq!(with, without);
}

#[test]
fn the_summary_shows_where_the_time_went() {
    let lab = small();
    lab.shows("run small.toml --set run.anatomy=true", &["time went to", "from p99.9", "  served"]);
    assert!(!lab.succeed("run small.toml").stdout.contains("time went to"));
}

#[test]
fn an_expectation_can_be_about_a_cause() {
    let lab = small();
    let share = "min(host.anatomy.read.p99.parts_ns.served / host.anatomy.read.p99.latency_ns)";
    let expect = format!("[[expect]]\nclaim = \"reads are served\"\nformula = \"{share}\"\nat_least = 0.0001\n");
    let text = lab.read("small.toml").replace("[run]", "[run]\nanatomy = true");
    lab.write("expecting.toml", text + "\n" + &expect);
    lab.succeed("compare expecting.toml --vary host.scheduler=noop,deadline");
}
