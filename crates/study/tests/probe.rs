//! The probe on drives whose regions are known by construction.

use flashloom_config::{Catalog, Experiment, Source};
use flashloom_run::Quiet;
use flashloom_study::probe::{Probe, ProbeParams, ProbeResult, SpanEffect};

/// Sixteen chips of one plane behind a link that none of this fills; the host sees 48 MiB of each, and the rest is more
/// than a probe writes, so that no garbage is collected.
const DRIVE: &str = "
[host]
queue_depth = 64

[device]
channels = 8
ways = 2
dies = 1
planes = 1
blocks = 256
pages = 64
page_size = \"4KiB\"
over_provisioning = 0.3333333333
bus_rate = \"1GB/s\"

[buffer]
capacity = \"256KiB\"
rate = \"single\"

[ftl]
allocation = \"static\"
";
const CHIPS: u32 = 16;
const CHIP_BYTES: u64 = 48 << 20;

fn probe(more: &str, sets: &[&str]) -> ProbeResult {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let source = Source::text("drive.toml", &format!("{DRIVE}{more}"));
    let experiment = Experiment::from_source(&Catalog::builtin(), source, &sets, None).expect("it is sound");
    let params = ProbeParams { seeds: 3, ..ProbeParams::DEFAULT };
    Probe::new(&experiment, &params).expect("it can be probed").run(&Quiet).expect("every check holds")
}

fn grouped(chips: u32, seed: u64) -> ProbeResult {
    let layout = format!("[ftl.static]\nlayout = \"contiguous\"\nregion_chips = {chips}\n");
    probe(&layout, &[&format!("run.seed={seed}")])
}

#[test]
fn a_region_is_the_share_of_its_chips_and_its_batches_grow_with_them() {
    let mut before = (0, 0);
    for chips in [1, 2, 4, 8] {
        let region = grouped(chips, 1).region.expect("regions are groups of chips");
        assert_eq!(region.region_size_bytes, CHIP_BYTES * u64::from(chips), "{chips} chips");
        assert!(!region.at_most);
        // One chip is kept busy by one write, and by two reads of which one is transferred.
        assert!(chips > 1 || (region.write_batch == 1 && region.read_batch <= 2), "{region:?}");
        assert!(
            (region.read_batch, region.write_batch) > before && region.write_batch > before.1,
            "{chips}: {region:?}"
        );
        before = (region.read_batch, region.write_batch);
    }
}

#[test]
fn a_drive_striped_over_all_chips_has_no_region_however_it_is_striped() {
    let all = format!("[ftl.static]\nlayout = \"contiguous\"\nregion_chips = {CHIPS}\n");
    for layout in [&all, "[ftl.static]\nlayout = \"striped\"\n"] {
        let result = probe(layout, &["run.seed=1"]);
        assert_eq!((result.search.effect, result.region), (SpanEffect::None, None), "{layout}");
    }
}

#[test]
fn a_map_that_is_cached_makes_small_spans_faster_and_no_region() {
    // One chip: pages of the map that lie on few of several chips would be parts that are slower than the whole.
    let one_chip = ["device.channels=1", "device.ways=1"];
    let result = probe("mapping = \"dftl\"\n[ftl.dftl]\ncache = \"8KiB\"\n", &one_chip);
    assert!(matches!(result.search.effect, SpanEffect::Cached { .. }), "{:?}", result.search);
    assert_eq!(result.region, None);
}

#[test]
fn other_seeds_change_no_region_and_a_batch_by_one_at_most_in_six() {
    for chips in [1, 4, 8] {
        let regions = [1, 1_000].map(|seed| grouped(chips, seed).region.expect("regions are groups of chips"));
        let [one, other] = regions;
        assert_eq!(one.region_size_bytes, other.region_size_bytes);
        for (one, other) in [(one.read_batch, other.read_batch), (one.write_batch, other.write_batch)] {
            assert!(one.abs_diff(other) <= one.div_ceil(6), "{one} and {other} with {chips} chips");
        }
    }
}

#[test]
fn the_same_seeds_give_the_same_result() {
    assert_eq!(grouped(2, 5), grouped(2, 5));
}
