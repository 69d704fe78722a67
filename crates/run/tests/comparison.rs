//! Comparisons: their progress, and their threads, which change no result and have one drive each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flashloom_buffer::rate::{Occupancy, Rate};
use flashloom_config::registry::Registry;
use flashloom_config::{Experiment, Source};
use flashloom_run::{Failure, Prepared, Progress, Quiet};
use flashloom_units::{Component, Interrupt, Policy, PolicySpec};
use rayon::ThreadPoolBuilder;

use crate::support::{Sound, owned, prepared, varied};

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
    /// Pages of ageing as they are written, and those told at its end and expected of it.
    ageing: AtomicU64,
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
        self.ageing.fetch_add(pages, Ordering::Relaxed);
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
    let prepared = prepared(varied(EXPERIMENT, &[], &[]));
    let told = Told::default();
    let comparison = prepared.compare(false, &told).expect("it runs");
    let Told { requests, ageing, aged, expected, drives, runs } = told;
    let [requests, pages, aged, expected, drives, runs] =
        [requests, ageing, aged, expected, drives, runs].map(AtomicU64::into_inner);
    assert_eq!((requests, runs, drives), (6 * 500, 6, 2));
    let written = |run: usize| comparison.runs[run].result.precondition.as_ref().map_or(0, |aged| aged.page_writes);
    assert_eq!((pages, aged), (written(0) + written(1), written(0) + written(1)));
    assert_eq!(expected, prepared.expected_ageing(false, &|_| true));
    // What is expected is the least that it takes.
    assert!(expected <= aged && aged < 4 * expected, "{aged} pages, {expected} expected");
}

/// Progress that interrupts the runs at their first sign of ageing, or at the first requests.
struct Impatient {
    interrupt: Interrupt,
    at_ageing: bool,
}

impl Progress for Impatient {
    fn requests(&self, _count: u64) {
        self.interrupt.raise();
    }

    fn ageing(&self, _pages: u64) {
        if self.at_ageing {
            self.interrupt.raise();
        }
    }

    fn ageing_ended(&self, _pages: u64, _expected: u64) {
        assert!(!self.at_ageing, "an interrupted ageing does not end");
    }

    fn run_ended(&self) {
        panic!("an interrupted run does not end");
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

#[test]
fn an_interrupted_run_ends_early_without_a_result() {
    let prepared = prepared(varied(EXPERIMENT, &["workload.synthetic.requests=20000"], &[]));
    for at_ageing in [true, false] {
        let impatient = || Impatient { interrupt: Interrupt::default(), at_ageing };
        assert!(matches!(prepared.run(false, &impatient(), &mut []), Err(Failure::Interrupted)));
        assert!(matches!(prepared.compare(false, &impatient()), Err(Failure::Interrupted)));
    }
}

/// The results of a comparison in a pool of threads, without their cost.
fn results(prepared: &Prepared<'_>, threads: usize) -> String {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    let mut comparison = pool.install(|| prepared.compare(true, &Quiet)).expect("it runs");
    comparison.runs.iter_mut().for_each(|run| run.result.run = None);
    serde_json::to_string(&comparison).expect("a comparison is JSON")
}

#[test]
fn the_number_of_threads_changes_no_byte_of_a_result() {
    // Drives that are shared and drives of a run's own, long runs and short ones in another order than they start in.
    let varies = ["run.precondition=none,fill,steady", "workload.synthetic.requests=100,900"];
    let prepared = prepared(varied(EXPERIMENT, &[], &varies));
    let alone = results(&prepared, 1);
    for threads in [2, 3, 8] {
        assert_eq!(results(&prepared, threads), alone, "{threads} threads");
    }
}

/// Number of drives that exist, and the most that have existed at once.
#[derive(Default)]
struct Drives {
    alive: AtomicU64,
    most: AtomicU64,
}

/// A policy of which every drive has one.
struct Counted(Arc<Drives>);

impl Component for Counted {}

impl Rate for Counted {
    fn victims(&mut self, occupancy: &Occupancy) -> u32 {
        u32::from(occupancy.waiting > occupancy.evicting)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

static COUNTED: PolicySpec = PolicySpec { name: "counted", ..PolicySpec::BLANK };

#[test]
fn a_comparison_has_one_drive_a_thread() {
    let drives = Arc::new(Drives::default());
    let mut registry = Registry::builtin();
    let counter = Arc::clone(&drives);
    let counted = Policy::<dyn Rate>::new(&COUNTED, move |(), _| {
        counter.most.fetch_max(counter.alive.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        Ok(Box::new(Counted(Arc::clone(&counter))))
    });
    registry.rates.add(counted).expect("the name is free");
    let catalog = registry.catalog().expect("the tables are in order");
    let varies = owned(&["buffer.rate=counted", "run.seed=1,2", "host.queue_depth=1..4"]);
    let experiment = Experiment::from_source(&catalog, Source::text("threads.toml", EXPERIMENT), &[], Some(&varies));
    let prepared = prepared(experiment.sound());
    for threads in [1, 2, 3, 8] {
        drives.most.store(0, Ordering::Relaxed);
        results(&prepared, threads);
        let (alive, most) = (drives.alive.load(Ordering::Relaxed), drives.most.load(Ordering::Relaxed));
        assert!(alive == 0 && (1..=threads as u64).contains(&most), "{most} drives of {threads} threads, {alive} left");
    }
}
