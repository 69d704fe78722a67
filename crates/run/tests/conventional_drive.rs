//! The preset of the conventional drive beside the ZN540: reads beside a writer, on an eighth of its blocks, and four
//! writers that pass over a part of the drive again and again, on a sixteenth.

use std::fmt::Write;

use crate::support::with_timeline;
use flashloom_run::Finished;

/// Runs a fio job on the drive, with these keys of `[device]`; returns too what was written in each window of its
/// timeline.
fn run(device: &str, job: &str) -> (Finished, Vec<[f64; 1]>) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("job.fio");
    std::fs::write(&path, job).expect("a file of the test can be written");
    let text = format!(
        "device = {{ preset = \"vu-conventional-1tb\", {device} }}\n\
         run = {{ precondition = \"fill\", timeline_interval = \"625ms\" }}\n\
         workload = {{ kind = \"fio\", path = {path:?} }}\n"
    );
    with_timeline(&text, ["write_bytes"])
}

/// Mean of reads of 4 KiB beside a sequential writer of 128 KiB, and the rate of the writer in MiB/s.
fn beside_writer(device: &str, limit: u32) -> [f64; 2] {
    let mut job = String::from(
        "[global]\nfilename=/dev/nvme0n1\nioengine=libaio\niodepth=1\ntime_based=1\nruntime=2\n[reader]\nrw=randread\n\
         bs=4k\nnorandommap=1\n",
    );
    if limit > 0 {
        let _ = write!(job, "[writer]\nrw=write\nbs=128k\nrate={limit}m\n");
    }
    let (finished, _) = run(&format!("blocks = 123{device}"), &job);
    let jobs = finished.fio_json.expect("the workload is a fio job file");
    let of = |job: usize, path: &str| jobs.pointer(&format!("/jobs/{job}/{path}")).and_then(|value| value.as_f64());
    let written = of(1, "write/bw_bytes").unwrap_or(0.0) / f64::from(1 << 20);
    [of(0, "read/clat_ns/mean").expect("it has read") / 1e3, written]
}

/// The preset was given the reads beside 0, 100 and 500 MiB/s; the bound of the others is 15 %.
#[test]
fn reads_beside_a_writer_wait_as_long_as_was_measured() {
    for (limit, measured, bound) in [
        (0, 72.6, 0.06),
        (50, 78.2, 0.05),
        (100, 83.7, 0.05),
        (250, 100.4, 0.1),
        (500, 128.0, 0.05),
        (1_000, 187.0, 0.08),
    ] {
        let [mean, written] = beside_writer("", limit);
        let error = mean / measured - 1.0;
        assert!(error.abs() < bound, "beside {limit} MiB/s: {mean:.1} us in place of {measured}");
        assert!((written - f64::from(limit)).abs() <= 0.01 * f64::from(limit), "{written} of {limit} MiB/s");
    }
    // A die that is free at once is not this drive.
    let [mean, _] = beside_writer(", suspend_time = \"20us\"", 1_000);
    assert!(mean < 0.7 * 187.0, "{mean:.1} us");
}

/// Mean of the windows after the first of three parts of the run, in MB/s, their coefficient of variation, and the
/// windows.
fn four_writers(more: &str) -> (f64, f64, Vec<f64>) {
    let job = format!(
        "[writers]\nfilename=/dev/nvme0n1\nioengine=libaio\ntime_based=1\nruntime=150\nrw=randwrite\nbs=1m\n\
         iodepth=32\nnumjobs=4\nsize=6400m\noffset_increment=6400m\n{more}"
    );
    // Of fewer blocks those that are kept free or open are a larger share: the spare space is that of the preset.
    let (_, timeline) = run("blocks = 64, over_provisioning = 0.2", &job);
    let all: Vec<f64> = timeline.into_iter().map(|[bytes]| bytes / 625e3).collect();
    let windows = all[all.len() / 3..all.len() - 1].to_vec();
    let mean = windows.iter().sum::<f64>() / windows.len() as f64;
    let squares: f64 = windows.iter().map(|rate| (rate - mean).powi(2)).sum();
    (mean, (squares / windows.len() as f64).sqrt() / mean, windows)
}

/// A random job of fio covers all of its blocks before it repeats any. Late in a pass the blocks that were filled in
/// the one before hold hardly anything; when the next begins, they hold nearly all. Without the map nothing varies.
#[test]
fn passes_over_the_drive_make_its_rate_rise_and_fall() {
    let (mean, variation, windows) = four_writers("");
    assert!((550.0..900.0).contains(&mean), "{mean:.0} MB/s");
    assert!((0.22..0.88).contains(&variation), "{variation:.2}, where 0.44 was measured");
    // From the full rate of the planes to a third of it, once a pass: 4 x 6,400 MiB.
    let ends: Vec<usize> = (4..windows.len())
        .filter(|&end| windows[end] <= 1_150.0 && windows[end - 4..end].iter().all(|&rate| rate > 1_150.0))
        .collect();
    let [first, last] = [ends[0], ends[ends.len() - 1]];
    let written = windows[first..last].iter().sum::<f64>() * 0.625e6 / (ends.len() - 1) as f64;
    let pass = f64::from(4 * 6_400) * f64::from(1 << 20);
    assert!(ends.len() >= 2 && (written / pass - 1.0).abs() < 0.05, "{ends:?}: {written} of {pass} bytes");
    let (_, variation, _) = four_writers("norandommap=1\n");
    assert!(variation < 0.15, "{variation:.2} without a map of what was written");
}
