//! What SLAP finds out for itself: Delta from what reads take, and streams of pages that were written at the same time.
//! Each on the workload that suits it perfectly, and on one where there is nothing to find.

use std::fmt::Write as _;

use crate::support;
use flashloom_figures::result::RunResult;
use flashloom_units::Prng;

/// Section 3 of the paper: a page is read in 150 us, and takes 50 us on the link. One stream is read at a time.
const READS: &str = r#"
[workload]
replay = "closed"
queue_depth = 1

[workload.synthetic]
pattern = "extents"
extents = "48KiB:1"
footprint_size = "24MiB"
read_share = 0.9
requests = 12000

[device]
preset = "disksim-ssd"
planes = 1
blocks = 40
read_time = "150us"
bus_rate = "4GB/s"
link_rate = "81.92MB/s"

[buffer]
capacity = "512KiB"
rate = "cave"

[ftl]
allocation = "slap"
slap.stream_threshold = 12
"#;
/// Long enough that most of what is read was written again after the first choice.
const LONG: &str = "workload.synthetic.requests=40000";

fn run(text: &str, sets: &[&str]) -> RunResult {
    support::run(text, sets, true)
}

fn read_mean_ns(result: &RunResult) -> f64 {
    result.host.latency_ns.as_ref().and_then(|latency| latency.read.as_ref()).expect("there are reads").mean
}

fn counted(result: &RunResult, name: &str) -> Option<u64> {
    result.ftl.allocation.as_ref().expect("slap is one").whole(name)
}

fn substreams(result: &RunResult) -> Option<u64> {
    counted(result, "substreams")
}

fn stream_pages(result: &RunResult) -> u64 {
    counted(result, "stream_pages").expect("slap looks for streams")
}

#[test]
fn auto_finds_the_delta_of_the_paper_and_reads_as_fast_as_with_it() {
    let sets = |substreams: &str| run(READS, &[&format!("ftl.slap.substreams={substreams}"), LONG]);
    let [auto, given, one] = ["auto", "4", "1"].map(sets);
    // 150 us of the chip and 1 us of the channel, over 50 us of the link.
    assert_eq!((substreams(&auto), substreams(&given)), (Some(4), None));
    // What was written before the first choice lies on one chip until it is written again.
    let [auto_ns, given_ns, one_ns] = [&auto, &given, &one].map(read_mean_ns);
    assert!(auto_ns < 1.25 * given_ns, "{auto_ns} and {given_ns}");
    assert!(one_ns > 1.8 * auto_ns, "a Delta of 1 waits for its chip: {one_ns} and {auto_ns}");
    let of_overhead = run(READS, &["ftl.slap.substreams=auto", "ftl.slap.delta_channel=overhead"]);
    assert_eq!(substreams(&of_overhead), Some(3), "150 us over 50 us and a little");
}

/// The drive of the paper, whose channels are slower than its chips and its link.
#[test]
fn the_side_that_the_channel_counts_on_decides_on_a_drive_with_slow_channels() {
    let slow = ["device.bus_rate=40MB/s", "device.read_time=25us", "device.link_rate=300MB/s"];
    let of = |set: &str| run(READS, &[&slow[..], &[set, "ftl.slap.delta_channel=overhead", LONG]].concat());
    let [auto, one, all] = ["auto", "1", "8"].map(|substreams| of(&format!("ftl.slap.substreams={substreams}")));
    assert_eq!(substreams(&auto), Some(1));
    assert_eq!((&auto.host, &auto.nand), (&one.host, &one.nand), "it is a Delta of 1");
    let of_chip = run(READS, &[&slow[..], &["ftl.slap.substreams=auto", LONG]].concat());
    assert_eq!(substreams(&of_chip), Some(8));
    let [found_ns, all_ns, one_ns] = [&of_chip, &all, &one].map(read_mean_ns);
    assert!(found_ns < 1.5 * all_ns && one_ns > 2.5 * found_ns, "{found_ns}, {all_ns} and {one_ns}");
}

#[test]
fn auto_splits_no_stream_where_chips_are_not_what_reads_wait_for() {
    let slow_link = |substreams: &str| run(READS, &["device.link_rate=20MB/s", substreams]);
    let [auto, one] = ["ftl.slap.substreams=auto", "ftl.slap.substreams=1"].map(slow_link);
    assert_eq!(substreams(&auto), Some(1));
    assert_eq!((&auto.host, &auto.nand), (&one.host, &one.nand), "it is a Delta of 1");
}

/// The null: where nothing is read, nothing is observed, and it is the Delta that it starts from.
#[test]
fn auto_stays_where_it_starts_as_long_as_nothing_is_read() {
    let written = |sets: &[&str]| run(READS, &[&["workload.synthetic.read_share=0"], sets].concat());
    let auto = written(&["ftl.slap.substreams=auto", "ftl.slap.delta_start=2"]);
    let [two, four] = ["ftl.slap.substreams=2", "ftl.slap.substreams=4"].map(|set| written(&[set]));
    assert_eq!(substreams(&auto), Some(2));
    assert_eq!((&auto.host, &auto.nand), (&two.host, &two.nand));
    assert_ne!((&auto.host, &auto.nand), (&four.host, &four.nand), "another Delta would tell");
}

const GROUPS: u64 = 256;
const PAGES: usize = 8;

/// Groups of 8 pages whose addresses have nothing to do with each other, written again in random order: each group in
/// one moment, or its pages one after the other in rounds over all groups.
fn recording(at_once: bool) -> String {
    let mut prng = Prng::new(3);
    let mut pages: Vec<u64> = (0..GROUPS * PAGES as u64).collect();
    (1..pages.len()).rev().for_each(|at| pages.swap(at, prng.below(at as u64 + 1) as usize));
    let (mut text, mut now) = ("timestamp_ns,op,lba,sectors\n".to_owned(), 0);
    let mut write = |group: u64, page: usize, later: u64| {
        now += later;
        let lpn = pages[group as usize * PAGES + page];
        writeln!(text, "{now},W,{},8", lpn * 8).expect("a text has room");
    };
    for _ in 0..3_000 / if at_once { 1 } else { PAGES } {
        if at_once {
            let group = prng.below(GROUPS);
            (0..PAGES).for_each(|page| write(group, page, if page == 0 { 4_000_000 } else { 1_000 }));
        } else {
            (0..PAGES).for_each(|_| {
                (0..PAGES).for_each(|_| write(prng.below(GROUPS), prng.below(PAGES as u64) as usize, 500_000));
            });
        }
    }
    text
}

const GROUPED: &str = r#"
[workload]
kind = "trace"
format = "flashloom"
replay = "timestamps"

[device]
preset = "disksim-ssd"
channels = 4
planes = 1
blocks = 40
pages = 16
over_provisioning = 0.25

[buffer]
capacity = "512KiB"
rate = "cave"

[ftl]
allocation = "slap"
slap.stream_threshold = 8
slap.window = "100us"

[run]
precondition = "fill"
"#;

/// Runs over the recording, each with one key set.
fn grouped(at_once: bool, sets: [&str; 2]) -> [RunResult; 2] {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("groups.csv");
    std::fs::write(&path, recording(at_once)).expect("there is room");
    let path = format!("workload.path={}", path.display());
    sets.map(|set| run(GROUPED, &[&path, set]))
}

#[test]
fn pages_that_are_written_at_the_same_time_die_together_in_streams_by_window() {
    let [window, buffer] = grouped(true, ["ftl.slap.search=window", "ftl.slap.search=buffer"]);
    let (found, written) = (stream_pages(&window), window.ftl.host_page_writes);
    assert!(found * 10 > written * 9, "{found} of {written} pages are in streams");
    assert!(stream_pages(&buffer) * 20 < buffer.ftl.host_page_writes, "their addresses have nothing in common");
    let [window, buffer] = [window, buffer].map(|result| result.ftl.page_copies);
    assert!(window * 3 < buffer * 2, "{window} and {buffer} copies");
}

#[test]
fn pages_that_are_written_apart_are_no_streams_by_window() {
    let [window, without] = grouped(false, ["ftl.slap.search=window", "ftl.slap.stream_threshold=1"]);
    assert_eq!(stream_pages(&window), 0);
    // One of the two looks for pages to gather, and finds none.
    let [one, other] = [&window, &without].map(|result| {
        let mut buffer = result.buffer.clone().expect("there is one");
        buffer.order.figures.clear();
        (&result.host, &result.nand, buffer)
    });
    assert_eq!(one, other);
}
