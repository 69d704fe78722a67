//! Bounds of comparisons: no policy beats one, and each is as tight as it says.
//!
//! A run whose figures beat its bounds fails its checks, so that every run here is a test of them.

use crate::support::{Sound, prepared, varied};
use flashloom_figures::result::{BoundsResult, ComparedRun};
use flashloom_run::{Prepared, Quiet};

/// A drive of 1,000 logical pages of 8 KiB, which has to collect.
const DRIVE: &str = r#"
[device]
channels = 2
ways = 1
dies = 1
planes = 1
blocks = 40
pages = 16
page_size = "8KiB"
over_provisioning = 0.28

[run]
precondition = "fill"
"#;

fn compare(text: &str, sets: &[&str], varies: &[&str]) -> Vec<ComparedRun> {
    let experiment = varied(&format!("{text}{DRIVE}"), sets, varies);
    prepared(experiment).with_bounds(true).compare(true, &Quiet).sound().runs
}

fn bounds(run: &ComparedRun) -> &BoundsResult {
    run.result.bounds.as_ref().expect("they were asked for")
}

const BUFFERED: &str = r#"
[workload.synthetic]
requests = 4_000
pattern = "zipf"
read_share = 0.3
request_size = "12KiB"
flush_every = 500
discard_share = 0.03

[buffer]
capacity = "256KiB"
"#;

#[test]
fn no_order_with_any_rate_beats_the_bound_of_the_write_buffer() {
    let orders = "buffer.order=page-lru,block-lru,fab,clc,ref,bpac,cflru,region";
    for timing in ["counting", "timed"] {
        let timing = format!("run.timing={timing}");
        for drain in ["run.drain=false", "run.drain=true"] {
            let rates = "buffer.rate=single,cave,linear-threshold";
            let runs = compare(BUFFERED, &[&timing, drain], &[orders, rates]);
            assert_eq!(runs.len(), 24);
            for run in &runs {
                let bound = bounds(run).buffer.as_ref().expect("the drive has a buffer");
                let buffer = run.result.buffer.as_ref().expect("the drive has a buffer");
                assert!(bound.misses_over_fewest >= 1.0, "{:?}: {bound:?}", run.vary);
                assert!(buffer.write_hits <= bound.most_write_hits && bound.most_write_hits > 0, "{:?}", run.vary);
                assert!(buffer.evicted_pages >= bound.fewest_evicted_pages, "{:?}", run.vary);
            }
            let worst = runs.iter().filter_map(|run| bounds(run).buffer.as_ref()).map(|bound| bound.misses_over_fewest);
            assert!(worst.fold(1.0, f64::max) > 1.1, "some order is far from the best");
        }
    }
}

#[test]
fn a_buffer_that_holds_everything_is_at_its_bound() {
    let runs = compare(BUFFERED, &["buffer.capacity=16MiB", "buffer.rate=single"], &["buffer.order=page-lru,fab"]);
    for run in &runs {
        let bound = bounds(run).buffer.as_ref().expect("the drive has a buffer");
        assert_eq!(bound.misses_over_fewest, 1.0, "{:?}: {bound:?}", run.vary);
    }
}

const OVERWRITES: &str = r#"
buffer.capacity = "0B"

[workload.synthetic]
requests = 12_000
read_share = 0.0
request_size = "8KiB"
discard_share = 0.02
"#;

#[test]
fn no_collection_and_no_mapping_beats_the_bound_of_erases_and_none_the_clairvoyant_one() {
    let set = ["run.timing=counting"];
    let collections = compare(OVERWRITES, &set, &["ftl.gc=greedy,cost-benefit,d-choices,fifo,windowed-greedy"]);
    let [bast, fast, sast, kast] = ["bast", "fast", "sast", "kast"].map(|name| format!("ftl.{name}.log_blocks=5"));
    let set = [set[0], &bast, &fast, &sast, &kast];
    let mappings = compare(OVERWRITES, &set, &["ftl.mapping=dftl,bast,fast,sast,kast"]);
    for run in collections.iter().chain(&mappings) {
        let bound = bounds(run).ftl.as_ref().expect("every drive has an FTL");
        let erases = bound.erases_over_fewest.expect("more is written than is spare");
        assert!(erases >= 1.0, "{:?}: {bound:?}", run.vary);
        let (waf, clairvoyant) = (run.result.ftl.waf.unwrap(), bound.clairvoyant_waf.expect("there is spare space"));
        // It is no bound, but what knows the future had better be ahead of what does not.
        assert!((1.0..waf).contains(&clairvoyant), "{:?}: {waf}, clairvoyant {clairvoyant}", run.vary);
        assert!(bounds(run).left_out.contains_key("buffer"), "a drive without a buffer has no bound of it");
    }
}

/// Blocks that are bad from the factory are no spare space of the drive that knows the future either.
#[test]
fn bad_blocks_are_no_room_of_the_clairvoyant_drive() {
    let runs = compare(OVERWRITES, &["run.timing=counting"], &["device.bad_blocks=0,0.1"]);
    let waf = |run: &ComparedRun| bounds(run).ftl.as_ref().and_then(|bound| bound.clairvoyant_waf);
    let [all, fewer] = &runs[..] else { panic!("two runs") };
    assert!(waf(all).expect("there is spare space") < waf(fewer).expect("there is spare space"));
}

/// A run that beats the bound fails, so that none of these does: drives that are new, filled and aged, under every
/// mapping.
#[test]
fn no_mapping_erases_less_than_the_pages_written_beyond_the_erased_ones_need() {
    let log_blocks = ["bast", "fast", "last", "sast", "kast", "mcsplit", "superblock-ftl"];
    let log_blocks = log_blocks.map(|name| format!("ftl.{name}.log_blocks=5"));
    let mappings =
        "ftl.mapping=page,dftl,sftl,leaftl,lazyftl,u-ftl,bast,fast,last,sast,kast,mcsplit,superblock-ftl,janus-ftl";
    for (precondition, timing) in [("none", "timed"), ("fill", "timed"), ("steady", "timed"), ("steady", "counting")] {
        // With one of so few log blocks left to sequences, random writes reach no steady state in time.
        // Nor with a defusion of Janus-FTL now and then.
        let janus = ["janus-ftl.streams=2", "janus-ftl.patience=2"];
        let room = ["kast.reserved_log_blocks=0", "last.sequential_log_blocks=2", janus[0], janus[1]];
        let room = room.map(|key| format!("ftl.{key}"));
        let own = [format!("run.timing={timing}"), format!("run.precondition={precondition}")];
        let sets: Vec<&str> = log_blocks.iter().chain(&own).chain(&room).map(String::as_str).collect();
        let requests = "workload.synthetic.requests=150,600,2_500";
        for run in &compare(OVERWRITES, &sets, &[mappings, requests]) {
            let bound = bounds(run).ftl.as_ref().expect("every drive has an FTL");
            let erases = run.result.ftl.block_erases;
            assert!(erases >= bound.fewest_block_erases, "{precondition}, {:?}: {erases} erases", run.vary);
        }
    }
}

/// The worst drive of [`OVERWRITES`] at the start: all that is not valid is dead, but for what collection keeps free. A
/// bound that takes dead pages as room has 0 here.
#[test]
fn dead_pages_of_an_aged_drive_are_no_room() {
    let sets = ["run.timing=counting", "run.precondition=steady", "workload.synthetic.discard_share=0.0"];
    for run in compare(OVERWRITES, &sets, &["workload.synthetic.requests=120,200"]) {
        let bound = bounds(&run).ftl.as_ref().expect("every drive has an FTL");
        assert!(bound.fewest_block_erases > 0, "{:?}: {bound:?}", run.vary);
        let over = bound.erases_over_fewest.expect("some are necessary");
        assert!((1.0..12.0).contains(&over), "{:?}: {bound:?}", run.vary);
    }
}

const SHORT: &str = r#"
[workload]
kind = "synthetic"
replay = "closed"
queue_depth = 5

[workload.synthetic]
requests = 5
read_share = 0.6
request_size = "32KiB"

[host]
queue_depth = 1
"#;

#[test]
fn every_scheduler_that_holds_nothing_back_is_among_the_orders_and_none_beats_them() {
    let mut far = 1.0f64;
    for seed in 1..6 {
        let seed = format!("run.seed={seed}");
        let runs = compare(SHORT, &[&seed, "host.merging=false"], &["host.scheduler=noop,deadline,pardispatcher"]);
        let found: Vec<_> = runs.iter().filter_map(|run| bounds(run).scheduler.as_ref()).collect();
        assert!(!found.is_empty(), "{:?}", bounds(&runs[0]).left_out);
        for bound in &found {
            assert_eq!(bound.orders, 120, "five requests that are queued at once");
            assert!(bound.duration_over_shortest >= 1.0 && bound.mean_latency_over_least >= 1.0, "{bound:?}");
            assert_eq!(bound.shortest_duration_ns, found[0].shortest_duration_ns, "the same drive and requests");
            far = far.max(bound.mean_latency_over_least);
        }
    }
    assert!(far > 1.02, "the order matters: {far}");
}

#[test]
fn what_has_no_bound_says_why() {
    let of = |text: &str, sets: &[&str]| bounds(&compare(text, sets, &["run.seed=1"])[0]).left_out.clone();
    let long = of(BUFFERED, &[]);
    assert_eq!(long["scheduler"], "every order is tried of at most 8 requests");
    assert_eq!(long.len(), 1);
    let counting = of(OVERWRITES, &["run.timing=counting"]);
    assert_eq!(counting["scheduler"], "in counting mode nothing takes time");
    assert_eq!(counting["buffer"], "the drive has no write buffer");
    let reads = of(BUFFERED, &["workload.synthetic.read_share=1.0", "workload.synthetic.discard_share=0.0"]);
    assert_eq!(reads["buffer"], "no page was written");
}

#[test]
fn a_run_is_the_same_with_bounds() {
    let experiment = varied(&format!("{BUFFERED}{DRIVE}"), &[], &["run.seed=1"]);
    let run = |has_bounds| {
        let prepared = Prepared::new(&experiment).expect("nothing is read").with_bounds(has_bounds);
        let mut result = prepared.compare(false, &Quiet).expect("it runs").runs.remove(0).result;
        (result.run, result.bounds) = (None, None);
        result
    };
    assert!(run(false) == run(true));
}
