//! Fills of the drives with SLC caches that presets have, on a sixteenth of their blocks: where their rate falls, to
//! what, and the figures that their presets were not given.

use crate::support::{Sound, prepared, single, with_timeline};
use flashloom_device::preset;
use flashloom_run::Quiet;

/// A sixteenth of the blocks of a plane.
const BLOCKS: u64 = 86;

/// The fill of a drive from its first to its last byte, in MB/s of each hundredth of it, and of all.
struct Fill {
    hundredths: Vec<f64>,
    mean: f64,
}

impl Fill {
    fn of(name: &str) -> Self {
        let text = format!(
            "device = {{ preset = \"{name}\", blocks = {BLOCKS} }}\nrun.precondition = \"none\"\n\
             workload = {{ replay = \"closed\", queue_depth = 32, synthetic = {{ pattern = \"sequential\", \
             request_size = \"1MiB\", requests = REQUESTS }} }}\n"
        );
        let of = |requests: u64| text.replace("REQUESTS", &requests.to_string());
        let capacity = single(&of(1), &[]).variants[0].config.device.capacity_sectors() * 512;
        let (finished, lines) = with_timeline(&of(capacity >> 20), ["time_ns", "write_bytes"]);
        let hundredth = (capacity >> 20 << 20) as f64 / 100.0;
        let (mut ends, mut written, mut before) = (vec![0.0], 0.0, 0.0);
        for [now, more] in lines {
            while written + more >= ends.len() as f64 * hundredth && ends.len() <= 100 {
                ends.push(before + (now - before) * (ends.len() as f64 * hundredth - written) / more);
            }
            (before, written) = (now, written + more);
        }
        let host = &finished.result.host;
        let mean = host.write_bytes as f64 / host.duration_ns.expect("it is timed") as f64 * 1e3;
        Self { hundredths: ends.windows(2).map(|pair| hundredth / (pair[1] - pair[0]) * 1e3).collect(), mean }
    }

    /// Rate between two hundredths of the drive.
    fn rate(&self, from: usize, to: usize) -> f64 {
        let part = &self.hundredths[from..to];
        part.len() as f64 / part.iter().map(|rate| 1.0 / rate).sum::<f64>()
    }
}

fn is_near(found: f64, expected: f64, tolerance: f64, what: &str) {
    let error = found / expected - 1.0;
    assert!(error.abs() <= tolerance, "{what}: {found:.0} MB/s in place of {expected}: {:+.1} %", 100.0 * error);
}

/// 5 GB/s to 280 GB, 2.5 to 1,300, then 0.8 GB/s; 1.45 GB/s on average, which is no input.
#[test]
fn the_nm790_has_three_phases_and_the_mean_that_was_measured() {
    let fill = Fill::of("lexar-nm790-2tb");
    is_near(fill.rate(0, 13), 5_000.0, 0.02, "the cache");
    is_near(fill.rate(16, 62), 2_500.0, 0.02, "beside the cache");
    is_near(fill.rate(65, 98), 800.0, 0.15, "folding");
    is_near(fill.mean, 1_450.0, 0.1, "mean");
}

/// "Full rate again", says the review of a pause after half of the drive; the preset was not given it. Without a pause
/// the rate stays that of the second phase.
#[test]
fn the_nm790_has_its_full_rate_again_after_a_pause() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let rate_after = |pause: &str| {
        let path = folder.path().join("pause.fio");
        let job = format!(
            "[global]\nfilename=/dev/nvme0n1\ndirect=1\nioengine=libaio\nrw=write\nbs=1m\niodepth=32\n\
             [half]\nsize=50%\n[after]\nstonewall\nstartdelay={pause}\noffset=50%\nsize=4g\n"
        );
        std::fs::write(&path, job).expect("a file of the test can be written");
        let text = format!(
            "device = {{ preset = \"lexar-nm790-2tb\", blocks = {BLOCKS} }}\nrun.precondition = \"none\"\n\
             workload = {{ kind = \"fio\", path = {path:?} }}\n"
        );
        let finished = prepared(single(&text, &[])).run(false, &Quiet, &mut []).sound();
        let jobs = finished.fio_json.expect("the workload is a fio job file");
        jobs["jobs"][1]["write"]["bw_bytes"].as_f64().expect("it wrote") / 1e6
    };
    is_near(rate_after("300s"), 5_000.0, 0.03, "after a pause");
    is_near(rate_after("0s"), 2_500.0, 0.03, "without a pause");
}

/// 4 GB/s to 231 GB, then 0.1 GB/s; 0.122 GB/s on average, which is no input.
#[test]
fn the_mp44s_has_two_phases_and_the_mean_that_was_measured() {
    let fill = Fill::of("team-group-mp44s-1tb");
    // On a sixteenth of the blocks the knee comes two hundredths of the drive earlier: the blocks that planes keep free
    // are a larger share.
    is_near(fill.rate(0, 21), 4_000.0, 0.02, "the cache");
    is_near(fill.rate(26, 98), 100.0, 0.05, "folding");
    is_near(fill.mean, 122.0, 0.1, "mean");
}

/// What the sources of the described drives say follows from their figures, except the rate of folding.
#[test]
fn the_described_drives_write_as_fast_as_their_planes_program() {
    let tlc = Fill::of("nvme-tlc-1t");
    is_near(tlc.rate(0, 14), 4_000.0, 0.02, "the cache");
    is_near(tlc.rate(18, 70), 1_280.0, 0.02, "eight dies of 160 MB/s");
    let qlc = Fill::of("nvme-qlc-2t");
    is_near(qlc.rate(0, 22), 3_500.0, 0.02, "the cache");
    let folding = qlc.rate(28, 98);
    assert!(folding < 16.0 * 40.0 / 1.25, "{folding} MB/s: every page is programmed twice, and read");
    let kinds = [("nvme-tlc-1t", "described"), ("nvme-qlc-2t", "described")];
    for (name, kind) in kinds.into_iter().chain([("lexar-nm790-2tb", "fitted"), ("team-group-mp44s-1tb", "fitted")]) {
        assert_eq!(preset(name).map(|preset| preset.kind()), Some(kind), "{name}");
    }
}
