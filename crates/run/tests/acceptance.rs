//! Acceptance: every FTL and every write buffer on real recordings, timed, with every check on, and twice, with
//! identical results.
//!
//! The recordings belong to their publishers and are not part of the project, so these tests run only on request: `make
//! acceptance TRACES=DIR`. They take the better part of an hour.

use std::path::PathBuf;

use crate::support::{prepared, varied_in};
use flashloom_figures::result::{Comparison, FigureResult, RunResult};
use flashloom_run::Quiet;

/// A recording and a drive. The drives are presets with fewer blocks, so that garbage collection and merges happen;
/// addresses beyond their end wrap.
type Recording = (&'static str, &'static str);

const YCSB: Recording = ("ycsb-a-rocksdb-nvme.flashloom.csv.zst", NVME);
const PROXY: Recording = ("msr-prxy_0-sample.msr.csv.zst", SATA);
const OLTP: Recording = ("oltp-financial1-10k.ssdsim.trace.zst", SATA);
const WINDOWS: Recording = ("windows-pc-mayun2.diskmon.txt.zst", NVME);
const IOZONE: Recording = ("iozone-100k.disksim.trace.zst", SATA);

/// Drives of 64 GiB and of 2 GiB.
const NVME: &str = "device.preset = \"nvme-mlc-512g\"\ndevice.blocks = 256\n";
const SATA: &str = "device.preset = \"disksim-ssd\"\ndevice.blocks = 64\n";

/// Pages that were written together are evicted together, so that an allocation detects streams and log blocks
/// sequences.
const OF_FTLS: &str = "run.precondition = \"fill\"\nbuffer.order = \"block-lru\"\nbuffer.rate = \"cave\"\n";

/// Runs an experiment twice on a recording and checks each run's figures.
fn accept((file, drive): Recording, text: &str) {
    let folder = PathBuf::from(std::env::var("FLASHLOOM_TRACES").expect("FLASHLOOM_TRACES names the folder"));
    let workload = format!("workload.kind = \"trace\"\nworkload.path = \"{file}\"\nworkload.device = \"all\"\n");
    let text = format!("{workload}workload.addresses = \"wrap\"\n{drive}{text}");
    let prepared = prepared(varied_in(folder, &text, &[], &[])).with_bounds(true);
    let compare = || prepared.compare(true, &Quiet).unwrap_or_else(|failure| panic!("{file}: {failure}"));
    let (once, again) = (timeless(compare()), timeless(compare()));
    for (one, other) in once.runs.iter().zip(&again.runs) {
        let what = format!("{file} with {}", serde_json::to_string(&one.vary).expect("names and values are JSON"));
        assert!(one == other, "{what} gives two results");
        holds(&what, &one.result);
        eprintln!("{what}: {} requests", one.result.host.completed);
    }
}

/// A comparison without the cost of its runs.
fn timeless(mut comparison: Comparison) -> Comparison {
    comparison.runs.iter_mut().for_each(|run| run.result.run = None);
    comparison
}

fn holds(what: &str, result: &RunResult) {
    assert_eq!(result.host.requests, result.host.completed, "{what}");
    let checked = result.integrity.sectors_checked.expect("the runs are verified");
    assert!(checked > 0 || result.host.reads == 0, "{what}: nothing was compared");
    // A figure that beats its bound has failed the run already.
    let bounds = result.bounds.as_ref().expect("the runs have bounds");
    let misses = bounds.buffer.as_ref().map(|bound| bound.misses_over_fewest);
    assert!(misses.is_some_and(|misses| misses >= 1.0) || result.host.writes == 0, "{what}: {bounds:?}");
    assert!(bounds.ftl.is_some(), "{what}: {bounds:?}");
    let mapping = &result.ftl.mapping;
    if let (Some(wait), Some(bound)) = (mapping.whole("longest_wait_ns"), mapping.whole("wait_bound_ns")) {
        assert!(wait <= bound, "{what}: {mapping:?}");
    }
    if let (Some(FigureResult::Times(blocking)), Some(bound)) =
        (mapping.figures.get("blocking_ns"), mapping.whole("blocking_bound_ns"))
    {
        assert!(blocking.max <= bound, "{what}: {mapping:?}");
    }
}

#[test]
#[ignore = "needs a folder of recordings: make acceptance TRACES=DIR"]
fn every_page_level_mapping_with_every_allocation() {
    let vary = "[vary]\n\"ftl.mapping\" = [\"page\", \"dftl\", \"sftl\", \"leaftl\", \"lazyftl\", \"u-ftl\"]\n\
                \"ftl.allocation\" = [\"interleave\", \"static\", \"slap\"]\n";
    for recording in [OLTP, PROXY, YCSB, WINDOWS, IOZONE] {
        accept(recording, &format!("{OF_FTLS}{vary}"));
    }
}

#[test]
#[ignore = "needs a folder of recordings: make acceptance TRACES=DIR"]
fn every_log_block_mapping_with_and_without_preemption() {
    let vary = "[vary]\n\"ftl.mapping\" = [\"bast\", \"fast\", \"last\", \"sast\", \"kast\", \"mcsplit\", \
                \"superblock-ftl\", \"janus-ftl\"]\n\
                \"ftl.preemption\" = [\"page\", \"none\"]\n";
    for recording in [OLTP, PROXY, YCSB, WINDOWS, IOZONE] {
        accept(recording, &format!("{OF_FTLS}{vary}"));
    }
}

#[test]
#[ignore = "needs a folder of recordings: make acceptance TRACES=DIR"]
fn every_placement_with_every_mapping_of_one_ftl_a_chip() {
    let vary = "[vary]\n\"ftl.mapping\" = [\"bast\", \"fast\", \"last\", \"sast\", \"kast\"]\n\
                \"ftl.placement\" = [\"first-touch\", \"round-robin\", \"adaptive\"]\n";
    for recording in [OLTP, WINDOWS] {
        accept(recording, &format!("{OF_FTLS}{vary}"));
    }
}

#[test]
#[ignore = "needs a folder of recordings: make acceptance TRACES=DIR"]
fn every_order_with_every_rate_over_every_kind_of_mapping() {
    let vary = "\"buffer.capacity\" = [\"128KiB\", \"16MiB\"]\n\
                \"buffer.rate\" = [\"single\", \"cave\", \"linear-threshold\"]\n";
    let orders = "\"buffer.order\" = [\"page-lru\", \"chip-aware\", \"block-lru\", \"fab\", \"clc\", \"ref\", \
                  \"bpac\", \"cflru\", \"region\"]\n";
    let bplru = "buffer.order = \"block-lru\"\nbuffer.block-lru.padding = true\nbuffer.block-lru.compensation = true\n";
    // A merge of a striped block copies as much as all chips hold of it, so that takes the longest by far.
    let others = "\"page\", \"dftl\", \"sftl\", \"bast\", \"kast\"";
    let mappings = [(others, ""), ("\"mcsplit\"", "workload.requests = 30000\n")];
    for recording in [OLTP, YCSB, WINDOWS] {
        for (mappings, limit) in mappings {
            let vary = format!("[vary]\n\"ftl.mapping\" = [{mappings}]\n{vary}");
            let empty = "run.precondition = \"none\"\n";
            accept(recording, &format!("{limit}{empty}{vary}{orders}"));
            // The smaller buffer has 8 pages of the larger drive, and padding programs 249 pages for each of them.
            accept(recording, &format!("workload.requests = 2000\n{empty}{bplru}{vary}"));
        }
    }
}
