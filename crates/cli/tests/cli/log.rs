//! The log of a run: its content, and its replay.

use serde_json::Value;

use crate::commands::small;
use crate::lab::{json, sets};

/// The rows of a log or a trace, each split into its cells.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect()).collect()
}

fn number(cell: &str) -> u64 {
    cell.parse().unwrap_or_else(|_| panic!("`{cell}` is no number"))
}

/// The columns that a log and a trace share, sorted by time and, at the same time, by the rest of the row.
fn requests(text: &str) -> Vec<String> {
    let mut rows: Vec<_> = rows(text).into_iter().map(|row| (number(row[0]), row[1..8].join(","))).collect();
    rows.sort();
    rows.into_iter().map(|(time_ns, rest)| format!("{time_ns},{rest}")).collect()
}

#[test]
fn a_log_has_every_request_as_it_arrived_in_the_order_in_which_they_ended() {
    let lab = small();
    lab.succeed("run small.toml --log log.csv --json result.json");
    lab.succeed("generate small.toml --out arrivals.csv");
    assert_eq!(lab.files(), ["arrivals.csv", "log.csv", "result.json", "small.toml"]);
    let log = lab.read("log.csv");
    assert_eq!(requests(&log), requests(&lab.read("arrivals.csv")));
    let rows = rows(&log);
    assert!(rows.is_sorted_by_key(|row| number(row[12])), "in order of completion");
    assert!(!rows.is_sorted_by_key(|row| number(row[0])), "which is not that of arrival");
    for row in &rows {
        let [arrived, latency, admitted, dispatched, completed] = [0, 9, 10, 11, 12].map(|at| number(row[at]));
        assert!(arrived <= admitted && admitted <= dispatched && dispatched <= completed, "{row:?}");
        assert_eq!(arrived + latency, completed, "{row:?}");
        assert_eq!(row[14..].iter().map(|cell| number(cell)).sum::<u64>(), latency, "{row:?}");
        assert_eq!((row[8], row[13]), ("none", "done"));
    }
    let result = lab.read_json("result.json");
    assert_eq!(result["host"]["completed"], rows.len());
    for (op, name) in [("R", "read"), ("W", "write")] {
        let longest = rows.iter().filter(|row| row[1] == op).map(|row| number(row[9])).max();
        assert_eq!(result["host"]["latency_ns"][name]["max"].as_u64(), longest, "{name}");
    }
}

#[test]
fn a_log_is_replayed_as_a_trace_of_the_same_requests() {
    let lab = small();
    lab.succeed("run small.toml --log log.csv");
    let log = lab.read("log.csv");
    let info = lab.json("trace info log.csv --sort --json");
    assert_eq!((info["requests"].as_u64(), &info["has_latencies"]), (Some(4_000), &Value::Bool(true)));
    let replay = sets("workload.kind=trace workload.path=log.csv workload.sort=true");
    lab.succeed(&format!("run small.toml --log again.csv{replay}"));
    let first_ns = number(rows(&log).iter().min_by_key(|row| number(row[0])).unwrap()[0]);
    assert_eq!(first_ns, 0, "a trace counts from its first request, as this run does");
    assert_eq!(requests(&lab.read("again.csv")), requests(&log));
    lab.succeed("trace convert log.csv own.csv --sort");
    let own = lab.read("own.csv");
    assert_eq!(own.lines().next(), Some("timestamp_ns,op,lba,sectors,task,sync,flush,fua,ioprio,latency_ns"));
    assert_eq!(requests(&own), requests(&log));
}

#[test]
fn a_log_is_the_same_bytes_for_the_same_run_in_both_formats() {
    let lab = small();
    for format in ["csv", "parquet"] {
        let [first, second] = ["first", "second"].map(|name| {
            let name = format!("{name}.{format}");
            lab.succeed(&format!("run small.toml --log {name}"));
            std::fs::read(lab.path(&name)).expect("the log is there")
        });
        assert_eq!(first, second);
        assert!(first.len() > 10_000, "it has rows");
    }
}

#[test]
fn requests_that_failed_are_in_the_log_with_the_reason() {
    let lab = small();
    let worn = sets("device.program_failures=0.004 run.end_of_life=read-only");
    let answer = lab.run(&format!("run small.toml --log log.csv --json result.json{worn}"));
    answer.ended(1, &["the drive's life ended"]);
    let failed = &lab.read_json("result.json")["host"]["failed"];
    let log = lab.read("log.csv");
    let rows = rows(&log);
    for reason in ["end_of_life", "read_only"] {
        let logged = rows.iter().filter(|row| row[13] == reason).count();
        assert_eq!(failed[reason].as_u64().unwrap_or(0), logged as u64, "{reason}");
    }
    assert!(rows.iter().any(|row| row[13] == "read_only"), "the drive's life ended");
    assert_eq!(rows.len(), 4_000);
}

#[test]
fn the_slowest_are_told_after_the_result_and_beside_json() {
    let lab = small();
    lab.shows("run small.toml --slowest 3", &["slowest"]);
    let answer = lab.run("run small.toml --slowest 3 --json -").ended(0, &["slowest"]);
    json(&answer.stdout);
}
