//! Golden counts: two recordings of the project, cut to 15,000 requests, through the whole stack with every check on:
//! with every scheduler, and with every mapping.
//!
//! Every figure is exact. A change that moves one of them either has a reason, stated in its commit, or is a mistake.
//! `INSTA_UPDATE=always cargo test -p flashloom-run --test all golden::` rewrites them.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use crate::support::{Sound, prepared, varied_in};
use flashloom_run::Quiet;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A small drive under a load that keeps the scheduler's queue busy.
fn configuration(recording: &str, more: &str) -> String {
    format!(
        "workload.path = \"{recording}.flashloom.csv.zst\"\nworkload.kind = \"trace\"\nworkload.addresses = \"wrap\"\n\
         workload.replay = \"closed\"\nworkload.queue_depth = 96\nhost.queue_depth = 16\n\
         device.channels = 4\ndevice.ways = 1\ndevice.blocks = 64\ndevice.pages = 128\n\
         device.over_provisioning = 0.25\nftl.gc_pace = \"share\"\n{more}"
    )
}

/// Aged drives, with and without a buffer; only a drive with a buffer has an eviction rate.
const DRIVES: [(&str, &str); 2] = [("", "\"0B\""), ("buffer.rate = \"single\"\n", "\"4MiB\"")];

/// Filled drives, with few log blocks per chip and a small cache, so that every part of a mapping is used.
const MAPPINGS: &str = "run.precondition = \"fill\"\nbuffer.capacity = \"1MiB\"\nbuffer.rate = \"single\"\n\
    ftl.dftl.cache = \"16KiB\"\n\
    ftl.bast.log_blocks = 8\nftl.fast.log_blocks = 8\nftl.sast.log_blocks = 8\nftl.kast.log_blocks = 8\n\
    ftl.mcsplit.log_blocks = 8\n[vary]\n\
    \"ftl.mapping\" = [\"page\", \"dftl\", \"bast\", \"fast\", \"sast\", \"kast\", \"mcsplit\"]\n";

/// The figures of every variant of an experiment on a recording, one line each.
fn counts(recording: &str, experiment: &str, paths: &[&str]) -> String {
    let experiment = varied_in(folder(), &configuration(recording, experiment), &[], &[]);
    let comparison = prepared(experiment).compare(true, &Quiet).sound();
    let mut lines = String::new();
    for run in comparison.runs {
        let result = serde_json::to_value(&run.result).expect("a result is JSON");
        let figure = |path: &str| result.pointer(path).map_or("-".to_owned(), |value| value.to_string());
        write!(lines, "{recording}").unwrap();
        run.vary.values().for_each(|value| write!(lines, " {}", value.as_str().unwrap_or_default()).unwrap());
        for path in paths {
            // A figure has its name, or that of the figure which stood there when the counts were checked in.
            let last = path.rsplit('/').next().unwrap_or_default();
            let (path, name) = path.split_once(' ').unwrap_or((path, last));
            write!(lines, " {name}={}", figure(path)).unwrap();
        }
        lines.push('\n');
    }
    lines
}

/// Asserts that the figures of both recordings are those in the file.
fn golden(file: &str, experiments: &[String], paths: &[&str]) {
    let all = |recording| experiments.iter().map(move |experiment| counts(recording, experiment, paths));
    let counts: String = ["varmail", "fileserver"].into_iter().flat_map(all).collect();
    let file = folder().join(file);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&file, &counts).expect("the file can be written");
    }
    let golden = fs::read_to_string(&file).unwrap_or_default();
    for (now, golden) in counts.lines().zip(golden.lines()) {
        assert_eq!(now, golden);
    }
    assert_eq!(counts.lines().count(), golden.lines().count());
}

const OF_SCHEDULERS: [&str; 11] = [
    "/host/completed",
    "/host/duration_ns",
    "/host/scheduler/merged",
    "/host/scheduler/dispatched",
    "/host/scheduler/direction_switches",
    "/buffer/write_hits",
    "/buffer/evicted_pages",
    "/ftl/host_page_writes",
    "/ftl/page_copies",
    "/ftl/block_erases",
    "/integrity/sectors_checked",
];

/// Experiments with some schedulers on each of the drives.
fn of_schedulers(settings: &str, schedulers: &str) -> [String; 2] {
    DRIVES.map(|(rate, capacity)| {
        format!(
            "run.precondition = \"steady\"\n{settings}{rate}[vary]\n\"buffer.capacity\" = [{capacity}]\n\
             \"host.scheduler\" = [{schedulers}]\n"
        )
    })
}

#[test]
fn the_counts_of_every_scheduler_are_those_that_are_checked_in() {
    let older = "\"noop\", \"deadline\", \"anticipatory\", \"cfq\", \"pardispatcher\"";
    golden("counts.txt", &of_schedulers("", older), &OF_SCHEDULERS);
}

/// By the tags, limits and request sizes that these schedulers had here before Linux's own were the default, and as
/// Linux has them.
#[test]
fn the_counts_of_the_schedulers_of_today_are_those_that_are_checked_in() {
    let schedulers = "\"none\", \"mq-deadline\", \"kyber\", \"pardispatcher\"";
    let before = "host.nr_requests = 128\nhost.async_limits = \"nr_requests\"\nhost.max_request = \"512KiB\"\n\
                  host.wbt = \"off\"\nhost.linux = \"6.12\"\n";
    let experiments = [before, "host.linux = \"6.12\"\n"].map(|settings| of_schedulers(settings, schedulers));
    golden("../golden-blk-mq/counts.txt", experiments.as_flattened(), &OF_SCHEDULERS);
}

#[test]
fn the_counts_of_every_mapping_are_those_that_are_checked_in() {
    let paths = [
        "/host/completed",
        "/host/duration_ns",
        "/ftl/host_page_writes",
        "/ftl/page_copies",
        "/ftl/block_erases",
        "/ftl/mapping/switch_merges switch",
        "/ftl/mapping/partial_merges partial",
        "/ftl/mapping/full_merges full",
        "/ftl/mapping/associativity/histogram",
        "/ftl/mapping/blocking_ns/max",
        "/ftl/mapping/longest_wait_ns max",
        "/ftl/mapping/map_hits hits",
        "/ftl/mapping/map_reads reads",
        "/ftl/mapping/map_writes writes",
        "/integrity/sectors_checked",
    ];
    golden("mappings.txt", &[MAPPINGS.to_owned()], &paths);
}
