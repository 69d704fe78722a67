//! Progress of a comparison: the requests, and the pages that age its drives.

use std::sync::atomic::{AtomicU64, Ordering};

use flashloom_experiment::config::{Catalog, Experiment, Source};
use flashloom_experiment::run::{Prepared, Progress};

const EXPERIMENT: &str = r#"
workload.synthetic = { requests = 500 }
device = { channels = 2, ways = 1, planes = 1, blocks = 60, pages = 32, over_provisioning = 0.25 }
run.precondition = "steady"

[vary]
host.queue_depth = ["1..3"]
run.seed = [1, 2]
"#;

/// Sums of the reported progress.
#[derive(Default)]
struct Told {
    requests: AtomicU64,
    pages: AtomicU64,
    aged: AtomicU64,
    expected: AtomicU64,
    drives: AtomicU64,
    runs: AtomicU64,
}

impl Progress for Told {
    fn requests(&self, count: u64) {
        self.requests.fetch_add(count, Ordering::Relaxed);
    }

    fn ageing(&self, pages: u64) {
        self.pages.fetch_add(pages, Ordering::Relaxed);
    }

    fn ageing_ended(&self, pages: u64, expected: u64) {
        self.aged.fetch_add(pages, Ordering::Relaxed);
        self.expected.fetch_add(expected, Ordering::Relaxed);
        self.drives.fetch_add(1, Ordering::Relaxed);
    }

    fn run_ended(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn every_request_and_every_page_that_ages_a_drive_is_told() {
    let source = Source::text("progress.toml", EXPERIMENT);
    let experiment = Experiment::from_source(&Catalog::builtin(), source, &[], Some(&[])).expect("it is sound");
    let prepared = Prepared::new(&experiment).expect("nothing is read");
    let told = Told::default();
    let comparison = prepared.compare(false, &told).expect("it runs");
    let [requests, pages, aged, expected, drives, runs] =
        [&told.requests, &told.pages, &told.aged, &told.expected, &told.drives, &told.runs]
            .map(|count| count.load(Ordering::Relaxed));
    assert_eq!((requests, runs, drives), (6 * 500, 6, 2));
    let written = |run: usize| comparison.runs[run].result.precondition.as_ref().map_or(0, |aged| aged.page_writes);
    assert_eq!((pages, aged), (written(0) + written(1), written(0) + written(1)));
    assert_eq!(expected, prepared.expected_ageing(false, &|_| true));
    // What is expected is the least that it takes.
    assert!(expected <= aged && aged < 4 * expected, "{aged} pages, {expected} expected");
}
