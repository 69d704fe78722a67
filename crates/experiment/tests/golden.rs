//! Golden counts: two recordings of ours, cut to 15,000 requests, through the whole stack with every check on.
//!
//! Every figure is exact. A change that moves one of them either has a reason, which its commit says, or is a mistake.
//! `INSTA_UPDATE=always cargo test -p flashloom-experiment --test golden` writes them anew.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use flashloom_experiment::config::{Experiment, Source};
use flashloom_experiment::run::{Prepared, Progress};

struct Silent;

impl Progress for Silent {
    fn requests(&self, _count: u64) {}
    fn run_ended(&self) {}
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A small drive that was aged, under a load that keeps the scheduler's queue busy.
fn configuration(recording: &str) -> String {
    format!(
        "[workload]\npath = \"{recording}.flashloom.csv.zst\"\nkind = \"trace\"\naddresses = \"wrap\"\n\
         replay = \"closed\"\nqueue_depth = 96\n\
         [host]\nqueue_depth = 16\n\
         [device]\nchannels = 4\nways = 1\nblocks = 64\npages = 128\nover_provisioning = 0.25\n\
         [run]\nprecondition = \"steady\"\n\
         [vary]\n\"buffer.capacity\" = [\"0B\", \"4MiB\"]\n\
         \"host.scheduler\" = [\"noop\", \"deadline\", \"anticipatory\", \"cfq\", \"pardispatcher\"]\n"
    )
}

fn counts(recording: &str) -> String {
    let source = Source { name: recording.to_owned(), text: configuration(recording), folder: folder() };
    let experiment = Experiment::from_source(source, &[], Some(&[])).unwrap_or_else(|problems| panic!("{problems}"));
    let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
    let comparison = prepared.compare(true, &Silent).unwrap_or_else(|failure| panic!("{failure}"));
    let mut lines = String::new();
    for run in comparison.runs {
        let result = serde_json::to_value(&run.result).expect("a result is JSON");
        let figure = |path: &str| result.pointer(path).map_or("-".to_owned(), |value| value.to_string());
        write!(lines, "{recording}").unwrap();
        run.vary.values().for_each(|value| write!(lines, " {}", value.as_str().unwrap_or_default()).unwrap());
        for path in [
            "/host/completed",
            "/host/duration_ns",
            "/scheduler/merged",
            "/scheduler/dispatched",
            "/scheduler/direction_switches",
            "/buffer/write_hits",
            "/buffer/evicted_pages",
            "/ftl/host_page_writes",
            "/ftl/page_copies",
            "/ftl/block_erases",
            "/integrity/sectors_checked",
        ] {
            write!(lines, " {}={}", path.rsplit('/').next().unwrap_or_default(), figure(path)).unwrap();
        }
        lines.push('\n');
    }
    lines
}

#[test]
fn the_counts_of_our_recordings_are_those_that_are_checked_in() {
    let counts: String = ["varmail", "fileserver"].into_iter().map(counts).collect();
    let file = folder().join("counts.txt");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&file, &counts).expect("the file can be written");
    }
    let golden = fs::read_to_string(&file).unwrap_or_default();
    for (now, golden) in counts.lines().zip(golden.lines()) {
        assert_eq!(now, golden);
    }
    assert_eq!(counts.lines().count(), golden.lines().count());
}
