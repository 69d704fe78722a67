//! Real recordings: a small one in `data`, and larger ones that lie beside the project on some machines, whose counts
//! must be those of their README.
//!
//! `data/varmail.blktrace.*` is the start, 600 records of each CPU, of a recording of Filebench's varmail on ext4,
//! made for this project.

use std::collections::BTreeMap;
use std::path::PathBuf;

use flashloom_workload::{Event, Footprint, Pairs, TraceInfo, TraceOptions, scan_latencies, scan_trace};

#[test]
fn a_small_blktrace_holds_what_an_independent_count_found() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let queue = info(&data, "varmail.blktrace", Event::Queue, false);
    assert_eq!(counts(&queue), [485, 410, 72, 0, 3]);
    assert_eq!((queue.duration_ns, queue.footprint_bytes), (182_126_110, Some(517 * 4096)));
    let issue = info(&data, "varmail.blktrace.1.zst", Event::Issue, false);
    assert_eq!(counts(&issue), [86, 49, 24, 0, 13]);
    assert_eq!(issue.duration_ns, 181_823_890);
}

/// The folder of recordings, if this machine has one.
fn recordings() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !folder.is_dir() {
        eprintln!("skipped: there are no recordings at {}", folder.display());
        return None;
    }
    Some(folder)
}

fn info(folder: &std::path::Path, name: &str, event: Event, sort: bool) -> TraceInfo {
    let path = folder.join(name);
    let options = TraceOptions { event, sort, ..TraceOptions::default() };
    let info = scan_trace(path.to_str().expect("a name in UTF-8"), &options, Footprint::Count);
    info.unwrap_or_else(|problem| panic!("{name}: {problem}"))
}

/// Requests, reads, writes, discards, flushes.
type Counts = [u64; 5];

fn counts(info: &TraceInfo) -> Counts {
    [info.requests, info.reads, info.writes, info.discards, info.flushes]
}

#[test]
fn one_file_recordings_hold_what_their_readme_says() {
    let Some(folder) = recordings() else { return };
    // Counts; then duration in s, footprint in MB and span in GB, which the README rounds to two or three digits.
    type Row = (&'static str, &'static str, Counts, f64, f64, f64);
    let rows: [Row; 9] = [
        ("ycsb-a-rocksdb-nvme.flashloom.csv.zst", "flashloom", [64_420, 1, 64_188, 231, 0], 24.7, 1786.2, 187.5),
        ("msr-prxy_0-sample.msr.csv.zst", "msr", [20_000, 336, 19_664, 0, 0], 938.8, 12.2, 22.0),
        ("ms-dtrs-100m.ssdsim.trace.zst", "ssdsim", [127_043, 113_123, 13_920, 0, 0], 30_000.0, 5211.2, 164.5),
        ("websearch-60s.ssdsim.trace.zst", "ssdsim", [24_783, 24_779, 4, 0, 0], 60.1, 381.0, 17.9),
        ("oltp-financial1-10k.ssdsim.trace.zst", "ssdsim", [10_000, 4_077, 5_923, 0, 0], 259.6, 30.0, 0.5),
        ("cloudphysics-2h.vscsi.zst", "vscsi", [113_872, 46_974, 66_898, 0, 0], 7_200.1, 1102.7, 33.6),
        ("windows-pc-mayun2.diskmon.txt.zst", "diskmon", [87_160, 36_705, 50_455, 0, 0], 11_719.8, 861.4, 142.3),
        ("postmark.disksim.trace.zst", "disksim", [62_257, 51_780, 10_477, 0, 0], 490.4, 6280.8, 22.9),
        ("iozone-100k.disksim.trace.zst", "disksim", [100_000, 0, 100_000, 0, 0], 936.4, 1111.3, 17.3),
    ];
    for (name, format, expected, seconds, footprint_mb, span_gb) in rows {
        let info = info(&folder, name, Event::Queue, false);
        assert_eq!((info.format, counts(&info)), (format, expected), "{name}");
        let near = |value: u64, unit: f64, expected: f64, what: &str| {
            let value = value as f64 / unit;
            assert!((value - expected).abs() <= 0.051, "{name}: {what} is {value}, not {expected}");
        };
        near(info.duration_ns, 1e9, seconds, "the duration in s");
        near(info.footprint_bytes.expect("it was counted"), 1e6, footprint_mb, "the footprint in MB");
        near(info.span_bytes, 1e9, span_gb, "the span in GB");
    }
}

#[test]
fn blktrace_recordings_hold_what_their_readme_says_of_both_events() {
    let Some(folder) = recordings() else { return };
    type Row = (&'static str, Counts, Counts, u64, u64);
    // Queued, issued, footprint in MiB, duration in s. The README counts the mean sizes from the same requests.
    let rows: [Row; 5] = [
        ("filebench-fileserver", [206_747, 67_010, 139_737, 0, 0], [163_573, 66_978, 96_544, 0, 51], 2_478, 112),
        ("filebench-webserver", [214_514, 121_756, 92_740, 0, 18], [130_543, 115_724, 14_745, 0, 74], 2_071, 58),
        ("filebench-varmail", [255_400, 29_383, 219_850, 0, 6_167], [132_121, 25_671, 83_004, 0, 23_446], 799, 54),
        ("filebench-oltp", [139_622, 103_128, 36_406, 0, 88], [140_021, 103_128, 35_939, 0, 954], 418, 55),
        ("linux-desktop", [111_794, 20_947, 76_694, 2_321, 11_832], [83_078, 19_722, 42_572, 2_321, 18_463], 809, 182),
    ];
    for (name, queued, issued, footprint_mib, seconds) in rows {
        let prefix = format!("{name}/{name}.blktrace");
        let queue = info(&folder, &prefix, Event::Queue, false);
        assert_eq!((counts(&queue), queue.event), (queued, Some("queue")), "{name}");
        let mib = queue.footprint_bytes.expect("it was counted") as f64 / 1_048_576.0;
        assert!((mib - footprint_mib as f64).abs() < 1.0, "{name}: {mib} MiB");
        assert!((queue.duration_ns as f64 / 1e9 - seconds as f64).abs() < 0.5, "{name}: {} ns", queue.duration_ns);
        assert!(queue.has_task_ids);
        assert_eq!(counts(&info(&folder, &prefix, Event::Issue, false)), issued, "{name}");
    }
}

#[test]
fn one_of_the_per_cpu_files_stands_for_all_of_them() {
    let Some(folder) = recordings() else { return };
    let by_prefix = info(&folder, "keks-blktrace/keks.blktrace", Event::Issue, false);
    // The README counts discards (`DS` in blkparse's own text) among the flushes, and twice the five writes and five
    // discards that were issued again.
    assert_eq!(counts(&by_prefix), [1_182, 0, 1_153, 5, 24]);
    assert_eq!(by_prefix.duration_ns, 56_332_277_322);
    for name in ["keks-blktrace/keks", "keks-blktrace/keks.blktrace.3", "keks-blktrace/keks.blkparse.txt.zst"] {
        assert_eq!(counts(&info(&folder, name, Event::Issue, false)), counts(&by_prefix), "{name}");
    }
}

#[test]
fn a_recording_without_queue_events_gives_those_that_were_issued_and_says_so() {
    let Some(folder) = recordings() else { return };
    let info = info(&folder, "keks-blktrace/keks.blktrace", Event::Queue, false);
    assert_eq!((info.requests, info.event), (1_182, Some("issue")));
}

#[test]
fn blkparse_text_with_a_wrapped_time_is_repaired_by_sorting() {
    let Some(folder) = recordings() else { return };
    let name = "ycsb-ext4.blkparse.txt.zst";
    let sorted = info(&folder, name, Event::Issue, true);
    assert_eq!(counts(&sorted), [9_887, 9_039, 848, 0, 0]);
    assert_eq!(sorted.duration_ns / 1_000_000_000, 810);
    let path = folder.join(name);
    let options = TraceOptions { event: Event::Issue, ..TraceOptions::default() };
    let problem = scan_trace(path.to_str().unwrap(), &options, Footprint::Skip).unwrap_err();
    assert!(problem.refusal.found.starts_with("the time goes back"), "{problem}");
    assert!(problem.refusal.help.unwrap().contains("--sort"));
}

/// Pairs of issue and completion that [`scan_latencies`] finds, and the mean latency in ns.
fn pairs(path: &std::path::Path, sort: bool) -> (Pairs, u64) {
    let options = TraceOptions { completions: true, sort, ..TraceOptions::default() };
    let path = path.to_str().expect("a name in UTF-8");
    let scan = scan_latencies(path, &options, None).unwrap_or_else(|problem| panic!("{path}: {problem}"));
    (scan.pairs.expect("it has events"), scan.latencies.mean().round() as u64)
}

#[test]
fn completions_pair_with_their_requests_as_an_independent_count_found() {
    let paired = |paired, unpaired| Pairs { paired, unpaired, ..Pairs::default() };
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    assert_eq!(pairs(&data.join("varmail.blktrace"), false), (paired(81, 5), 637_155));
    let Some(folder) = recordings() else { return };
    assert_eq!(pairs(&folder.join("ycsb-ext4.blkparse.txt.zst"), true), (paired(9_887, 0), 1_693_058));
    for name in ["keks.blktrace", "keks.blkparse.txt.zst"] {
        // Ten requests were given back and issued again, by blkparse's text: last D to C of each extent.
        let expected = Pairs { reissued: 10, ..paired(1_182, 0) };
        assert_eq!(pairs(&folder.join("keks-blktrace").join(name), false), (expected, 210_470), "{name}");
    }
    let of = |name: &str| pairs(&folder.join(format!("{name}/{name}.blktrace")), false);
    assert_eq!(of("filebench-fileserver"), (paired(163_573, 0), 1_414_293));
    // Of flushes of both processors at once no completion says whose it is.
    let varmail = Pairs { void: 1_037, ..paired(131_082, 2) };
    assert_eq!(of("filebench-varmail"), (varmail, 458_909));
    assert_eq!(of("linux-desktop"), (paired(83_078, 0), 264_396));
}

/// Requests, issues of requests that were issued before, and the mean time from the last issue (D) of an extent to its
/// completion (C), as blkparse prints them.
fn from_the_last_issue(text: &str) -> (u64, u64, u64) {
    let (mut issued, mut requests, mut again, mut sum_ns) = (BTreeMap::new(), 0, 0, 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [device, _, _, time, _, event @ ("D" | "C"), what, sector, "+", ..] = fields[..] else { continue };
        let extent = (device, &what[..1], sector);
        let time_ns: u64 = time.replace('.', "").parse().expect("a time with nine decimals");
        if event == "D" {
            again += u64::from(issued.insert(extent, time_ns).is_some());
        } else if let Some(issued_ns) = issued.remove(&extent) {
            requests += 1;
            sum_ns += time_ns - issued_ns;
        }
    }
    (requests, again, (sum_ns as f64 / requests as f64).round() as u64)
}

/// A fio job on scsi_debug with `every_nth=50 opts=0x8000`, whose host is busy at every fiftieth command:
/// `flashloom-lab record requeues.fio --scsi-debug dev_size_mb=64 max_queue=4 every_nth=50 opts=0x8000 --out requeues`.
#[test]
fn requests_that_a_busy_host_gives_back_have_their_true_latency() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let printed = std::fs::File::open(data.join("requeues.blkparse.txt.zst")).expect("it is there");
    let printed = std::io::read_to_string(zstd::Decoder::new(printed).expect("zstd")).expect("text");
    let (requests, again, mean_ns) = from_the_last_issue(&printed);
    assert!(requests > 700 && again > 10, "{requests} requests, {again} issued again");
    let expected = (Pairs { paired: requests, reissued: again, ..Pairs::default() }, mean_ns);
    assert_eq!(pairs(&data.join("requeues.blktrace"), false), expected);
    assert_eq!(pairs(&data.join("requeues.blkparse.txt.zst"), false), expected);
    let issued = info(&data, "requeues.blktrace", Event::Issue, false);
    assert_eq!((issued.requests, issued.pairs, issued.has_latencies), (requests, Some(expected.0), true));
}
