//! The table of schedulers: names and help are complete and agree with the code.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::layer;
use flashloom_host::scheduler::{SLOT, builtin};
use flashloom_host::{BlockLayer, HostParams, Serves};
use flashloom_units::{Figure, ParamSet};

#[test]
fn every_scheduler_is_described_and_every_tradeoff_is_a_sentence() {
    for spec in builtin().specs() {
        assert!([spec.summary, spec.details, spec.source].iter().all(|text| !text.is_empty()), "{}", spec.name);
    }
    for param in builtin().specs().flat_map(|spec| spec.params).chain(HostParams::PARAMS) {
        assert!(param.tradeoff.ends_with('.'), "{}", param.name);
    }
}

#[test]
fn every_scheduler_has_the_name_of_its_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scheduler");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the schedulers have a folder")
        .map(|entry| entry.expect("it can be read").path())
        .map(|path| path.file_stem().expect("a file has a name").to_string_lossy().replace('_', "-"))
        .collect();
    assert_eq!(files, builtin().specs().map(|spec| spec.name.to_owned()).collect());
}

#[test]
fn every_scheduler_is_built_by_its_name_and_reports_the_figures_that_it_describes() {
    for spec in builtin().specs() {
        let figures =
            layer(&HostParams::defaults(), 1 << 27, spec.name, &[]).figures().split_off(SLOT.statistics.len());
        let units: Vec<_> = figures.iter().filter_map(Figure::unit).collect();
        let described: Vec<_> = spec.statistics.iter().map(|statistic| statistic.unit).collect();
        assert_eq!(units, described, "{}", spec.name);
    }
    assert!(builtin().choose("elevator", &[]).is_err());
}

#[test]
fn no_scheduler_refuses_a_trace_without_task_ids() {
    for spec in builtin().specs() {
        assert!(spec.needs.is_empty(), "{}", spec.name);
    }
}

#[test]
fn the_schedulers_that_serve_hardware_queues_are_those_that_the_keys_of_the_host_name() {
    let host = HostParams { queue_depth: 3, processors: 4, hardware_queues: 4, ..HostParams::defaults() };
    for spec in builtin().specs() {
        let scheduler = builtin().choose(spec.name, &[]).expect("known").build(&BlockLayer::setup(&host, 1 << 27));
        let scheduler = scheduler.unwrap_or_else(|refusal| panic!("{}: {refusal}", spec.name));
        let serves = scheduler.serves() != Serves::One;
        let layer = BlockLayer::new(&host, scheduler);
        assert_eq!(layer.queue_depth(), if serves { 12 } else { 3 }, "{}", spec.name);
        let named = HostParams { scheduler: spec.name, ..host.clone() };
        assert_eq!(named.device_depth(), layer.queue_depth(), "{}", spec.name);
    }
}
