//! The table of schedulers: names and help are complete and agree with the code.

use std::collections::BTreeSet;
use std::path::Path;

use flashloom_host::scheduler::builtin;
use flashloom_host::{BlockLayer, HostParams, Serves};
use flashloom_units::{Figure, Param, ParamSet};

fn check_param(owner: &str, param: &Param) {
    let name = format!("{owner}.{}", param.name);
    assert!(param.accepts(&param.default), "{name}: the default is within the range");
    assert!(param.help.ends_with('.') && param.tradeoff.ends_with('.'), "{name}: help and trade-off are sentences");
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    assert!(param.name.chars().all(plain), "{name}: a plain key");
}

fn check_unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) {
    let mut seen = BTreeSet::new();
    names.for_each(|name| assert!(seen.insert(name), "{what}: {name} is there twice"));
}

#[test]
fn every_parameter_is_documented_and_its_default_within_its_range() {
    HostParams::PARAMS.iter().for_each(|param| check_param("host", param));
    check_unique("host", HostParams::PARAMS.iter().map(|param| param.name));
    for spec in builtin().specs() {
        spec.params.iter().for_each(|param| check_param(spec.name, param));
        check_unique(spec.name, spec.params.iter().map(|param| param.name));
        for text in [spec.summary, spec.details, spec.source] {
            assert!(!text.is_empty(), "{} is described", spec.name);
        }
    }
}

#[test]
fn every_scheduler_is_listed_once_and_has_the_name_of_its_file() {
    check_unique("schedulers", builtin().specs().map(|spec| spec.name));
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
    let setup = BlockLayer::setup(&HostParams::defaults(), 1 << 27);
    for spec in builtin().specs() {
        let chosen = builtin().choose(spec.name, &[]).expect("the name is known");
        let scheduler = chosen.build(&setup).unwrap_or_else(|refusal| panic!("{}: {refusal}", spec.name));
        let units = |figures: Vec<Figure>| figures.iter().filter_map(Figure::unit).collect::<Vec<_>>();
        let described: Vec<_> = spec.statistics.iter().map(|statistic| statistic.unit).collect();
        assert_eq!(units(scheduler.figures()), described, "{}", spec.name);
        check_unique(spec.name, spec.statistics.iter().map(|statistic| statistic.name));
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
