//! Write amplification against the mean-field limit of greedy collection, at the effective over-provisioning that a
//! result states: for planes of 64, 256 and 1,024 blocks, and with more blocks set aside.

use std::path::PathBuf;

use flashloom_config::{Catalog, Experiment, Source};
use flashloom_run::{Prepared, Quiet};
use flashloom_verify::closed_forms::greedy_mean_field;

const PAGES: u32 = 128;

/// [`steady`] of a drive whose over-provisioning of 15 % is counted after what planes set aside.
fn steady_of_effective(blocks: u32, sets: &[&str]) -> (f64, f64) {
    steady(blocks, &[sets, &["device.over_provisioning_counts=effective"]].concat())
}

/// Write amplification and effective over-provisioning under uniform random page writes of four times the drive's
/// capacity.
fn steady(blocks: u32, sets: &[&str]) -> (f64, f64) {
    let text = format!(
        "[workload.synthetic]\nrequests = {}\nrequest_size = \"4KiB\"\n\
         [device]\nchannels = 2\nways = 1\nplanes = 1\nblocks = {blocks}\npages = {PAGES}\npage_size = \"4KiB\"\n\
         over_provisioning = \"15 %\"\n[buffer]\ncapacity = \"0B\"\n\
         [run]\nprecondition = \"steady\"\ntiming = \"counting\"\n",
        8 * blocks * PAGES
    );
    let source = Source { name: "test".to_owned(), text, folder: PathBuf::new() };
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let experiment = Experiment::from_source(&Catalog::builtin(), source, &sets, None)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
    let result = prepared.run_variant(0, false, &Quiet).unwrap_or_else(|failure| panic!("{failure}"));
    let effective = result.ftl.effective_over_provisioning.expect("a page mapping has spare blocks to collect with");
    (result.ftl.waf.expect("pages were written"), effective)
}

#[test]
fn few_blocks_a_plane_amplify_as_the_effective_over_provisioning_says() {
    let cases: [(u32, &[&str]); 10] = [
        (64, &[]),
        (256, &[]),
        (1_024, &[]),
        (64, &["device.over_provisioning=28%", "ftl.gc_threshold=4"]),
        (256, &["device.over_provisioning=28%", "ftl.gc_threshold=16"]),
        (256, &["device.bad_blocks=5%", "device.over_provisioning=28%"]),
        (64, &["ftl.gc_blocks=shared"]),
        (64, &["device.program_failures=0.000000000001"]),
        (64, &["ftl.preemption=none"]),
        (64, &["ftl.mapping=dftl", "ftl.dftl.cache=16MiB"]),
    ];
    for (blocks, sets) in cases {
        let (waf, effective) = steady(blocks, sets);
        let expected = greedy_mean_field(1.0 + effective, PAGES).expect("there is spare space");
        println!("{blocks} blocks {sets:?}: {waf:.3} at {:.2} %, by the formula {expected:.3}", 100.0 * effective);
        assert!((waf / expected - 1.0).abs() < 0.05, "{blocks} blocks {sets:?}: {waf:.3}, not {expected:.3}");
    }
}

#[test]
fn an_effective_over_provisioning_is_left_whatever_planes_set_aside() {
    let cases: [(u32, &[&str]); 6] = [
        (32, &[]),
        (256, &[]),
        (64, &["ftl.gc_threshold=8"]),
        (64, &["device.bad_blocks=5%"]),
        (64, &["ftl.gc_blocks=shared"]),
        (64, &["ftl.mapping=dftl", "ftl.dftl.cache=16KiB"]),
    ];
    let expected = greedy_mean_field(1.15, PAGES).expect("there is spare space");
    for (blocks, sets) in cases {
        let (waf, effective) = steady_of_effective(blocks, sets);
        assert!((effective - 0.15).abs() < 0.001, "{blocks} blocks {sets:?}: {effective:.4}");
        // Pages of a map amplify beside collection.
        let has_map = sets.iter().any(|set| set.contains("dftl"));
        assert!(
            has_map || (waf / expected - 1.0).abs() < 0.05,
            "{blocks} blocks {sets:?}: {waf:.3}, not {expected:.3}"
        );
    }
    let ([few, many], [raw_few, raw_many]) =
        ([32, 256].map(|blocks| steady_of_effective(blocks, &[]).0), [32, 256].map(|blocks| steady(blocks, &[]).0));
    assert!((few / many - 1.0).abs() < 0.05, "{few:.3} and {many:.3}");
    assert!(raw_few / raw_many > 1.2, "counted from raw blocks: {raw_few:.3} and {raw_many:.3}");
}

/// A fifth of the drive without a partition is as good as a fifth that neither ageing nor workload writes; one of the
/// two alone is not.
#[test]
fn what_is_not_partitioned_is_spare_space() {
    let of = |sets: &[&str]| steady(64, sets);
    let unpartitioned = of(&["device.unpartitioned=0.2"]);
    let (fill, footprint) = ("run.fill=0.8", "workload.synthetic.footprint=0.8");
    let (waf, spare) = of(&[fill, footprint]);
    assert!((unpartitioned.0 / waf - 1.0).abs() < 0.01, "{unpartitioned:?} and {waf:.3}");
    assert!((unpartitioned.1 - spare).abs() < 0.001 && spare > 0.3, "{unpartitioned:?} and {spare:.3}");
    assert!(of(&[footprint]).0 > 1.5 * waf && of(&[fill]).0 > 1.1 * waf, "neither is enough");
}
