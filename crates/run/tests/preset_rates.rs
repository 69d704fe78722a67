//! Every preset, held to the rates that its sources publish and to what it says that it reaches of them.

use crate::support;
use flashloom_device::{Load, PRESETS, PerSecond, PublishedRate, preset};

/// Blocks of a plane, so that drives of terabytes are soon filled.
const BLOCKS: u64 = 160;

/// Presets of whose sources none publishes a rate: the drive of the benchmarks is our own, ParDispatcher's is described
/// by its size, and what the last two reach are the cells of their fits.
const WITHOUT: [&str; 4] = ["mlc-16g", "kingston-mlc-60g", "vu-conventional-1tb", "crucial-250gb-sata"];

/// What a preset reaches of a rate, in per cent of the published one.
fn reached(name: &str, published: &PublishedRate) -> f64 {
    let Load { writes, random, bytes, depth, uncached } = published.load;
    let pattern = if random { "random" } else { "sequential" };
    let share = if writes { 0 } else { 1 };
    // The one chip has to be larger than the write buffer.
    let blocks = if name == "kast-slc" { 2_048 } else { BLOCKS };
    let precondition = if writes { "none" } else { "fill" };
    let text = format!(
        "run.precondition = \"{precondition}\"\ndevice = {{ preset = \"{name}\", blocks = {blocks} }}\n\
         workload = {{ replay = \"closed\", queue_depth = {depth}, synthetic = {{ pattern = \"{pattern}\", \
         request_size = \"{bytes}B\", read_share = {share}, requests = REQUESTS }} }}\n"
    );
    let sets: &[&str] = if uncached { &["ftl.slc_cache=none"] } else { &[] };
    let of = |requests: u64| text.replace("REQUESTS", &requests.to_string());
    // Writes are those of an empty drive: none is collected yet, and an SLC cache has room.
    let config = support::single(&of(1), sets).variants[0].config.clone();
    let (capacity, buffered) = (config.device.capacity_sectors() * 512, config.buffer.capacity_bytes);
    let requests = (capacity / 4 / bytes).min(if random { 50_000 } else { 800 });
    let result = support::run(&of(requests), sets, false);
    let seconds = result.host.duration_ns.expect("the run is timed") as f64 / 1e9;
    // At the last completion the write buffer is full of what is not yet written.
    let done = requests as f64 - if writes { buffered as f64 / bytes as f64 } else { 0.0 };
    let (found, expected) = match published.rate {
        PerSecond::Bytes(rate) => (done * bytes as f64 / seconds, rate),
        PerSecond::Requests(rate) => (done / seconds, rate),
    };
    100.0 * (found / expected - 1.0)
}

#[test]
fn presets_reach_what_their_sources_publish_or_say_by_how_much_not() {
    let mut problems = Vec::new();
    for preset in PRESETS.iter().map(|choice| preset(choice.name).expect("every name is that of a preset")) {
        assert_eq!(preset.rates.is_empty(), WITHOUT.contains(&preset.name), "{}", preset.name);
        for published in preset.rates {
            let (found, said) = (reached(preset.name, published), f64::from(published.percent));
            let is_reached = found.abs() < 3.0;
            if (found - said).abs() > 0.1 || published.why.is_empty() != is_reached {
                problems.push(format!("{}, {}: {found:+.1} %, said {said:+.1} %", preset.name, published.load));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Collection writes as fast as dies are published to program only where it writes all planes of a die at once.
#[test]
fn dies_reach_their_published_throughput_in_steady_state_by_superblocks() {
    let programmed = |name: &str, superblock: &str| {
        let text = format!(
            "run.precondition = \"steady\"\nftl = {{ superblock = \"{superblock}\", slc_cache = \"none\" }}\n\
             device = {{ preset = \"{name}\", blocks = 64, pages = 96, \
             over_provisioning_counts = \"effective\" }}\nworkload = {{ replay = \"closed\", \
             queue_depth = 32, synthetic = {{ request_size = \"16KiB\", read_share = 0, requests = 30000 }} }}\n"
        );
        let result = support::run(&text, &[], false);
        let seconds = result.host.duration_ns.expect("the run is timed") as f64 / 1e9;
        result.ftl.waf_bytes.expect("it wrote") * result.host.write_bytes as f64 / seconds
    };
    for name in ["nvme-tlc-512g", "nvme-qlc-1t", "nvme-tlc-1t", "nvme-qlc-2t"] {
        let rates = preset(name).expect("it is a preset").rates;
        let published = rates.iter().rfind(|rate| rate.load.random).expect("a rate at random is published").rate;
        let PerSecond::Bytes(published) = published else { panic!("dies have rates in bytes") };
        let [none, die] = ["none", "die"].map(|superblock| programmed(name, superblock) / published);
        assert!(die > 0.65 && none < 0.25, "{name}: {none:.2} of the published throughput, {die:.2} with superblocks");
    }
}
