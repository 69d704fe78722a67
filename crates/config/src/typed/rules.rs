//! Checks across keys: combinations that cannot work are refused before anything runs, naming both sides.

use flashloom_ftl::{OF_PAGE_MAPPINGS, PAGE_MAPPING, WRITE_BUFFER, other_mappings_offer};
use flashloom_host::{BlockLayer, HostParams, Linux, Throttling};
use flashloom_units::{Capability, PolicySpec, Refusal, Value, format_ratio, format_size};
use flashloom_workload::workload::{self, Context};
use flashloom_workload::{TASK_IDS, WorkloadParams};

use super::{Config, toml_value};
use crate::catalog::{KeyId, Timing, WORKLOAD};
use crate::raw::{Report, Sources};

/// A rule: the sections that it reads, and the check.
struct Rule {
    sections: &'static [&'static str],
    broken: Check,
}

/// The check of a rule: at most one refusal, or several; `Located` also gets the sources that paths are relative to.
enum Check {
    One(fn(&Config) -> Option<Refusal>),
    Each(fn(&Config) -> Vec<Refusal>),
    Located(fn(&Config, &Sources) -> Vec<Refusal>),
}

impl Check {
    /// The refusals; without sources none that asks for them.
    fn of(&self, config: &Config, sources: Option<&Sources>) -> Vec<Refusal> {
        match self {
            Check::One(broken) => broken(config).into_iter().collect(),
            Check::Each(broken) => broken(config),
            Check::Located(broken) => sources.map_or(Vec::new(), |sources| broken(config, sources)),
        }
    }
}

/// Rules about the shape of the drive: while one of them is broken, no other rule that reads it is applied.
const SHAPE: &[Rule] = &[
    Rule { sections: &["device"], broken: Check::One(page_size_is_a_power_of_two) },
    Rule { sections: &["device"], broken: Check::One(pages_have_32_bit_numbers) },
];

/// All other rules.
const RULES: &[Rule] = &[
    Rule { sections: &["device", "ftl"], broken: Check::One(energy_is_known_whole) },
    Rule { sections: &["device"], broken: Check::One(the_reads_fit_the_device) },
    Rule { sections: &["device", "ftl"], broken: Check::One(effective_spare_space_is_left) },
    Rule { sections: &["ftl", "device"], broken: Check::Each(log_blocks_have_no_collection) },
    Rule { sections: &["device", "ftl"], broken: Check::One(the_ftl_fits_the_device) },
    Rule { sections: &["device", "buffer"], broken: Check::One(buffer_is_whole_pages) },
    Rule { sections: &["device"], broken: Check::One(the_read_cache_holds_what_is_read_ahead) },
    Rule { sections: &["buffer"], broken: Check::Each(only_a_buffer_evicts) },
    Rule { sections: &["buffer", "device"], broken: Check::Each(the_buffer_fits_the_device) },
    Rule { sections: &["buffer", "device", "ftl"], broken: Check::One(the_buffer_holds_a_stream) },
    Rule { sections: &["host", "buffer", "ftl"], broken: Check::Each(policies_have_what_they_need) },
    Rule { sections: &["workload"], broken: Check::Each(|config| misfits(config, None)) },
    Rule { sections: &["workload", "device"], broken: Check::One(the_workload_has_a_part_of_the_drive) },
    Rule { sections: &["workload", "device"], broken: Check::Located(the_workload_fits_the_device) },
    Rule { sections: &["host", "device"], broken: Check::One(schedulers_fit_the_device) },
    Rule { sections: &["host"], broken: Check::One(the_hardware_queues_fit_the_host) },
    Rule { sections: &["host"], broken: Check::One(the_scheduler_is_of_its_linux) },
    Rule { sections: &["host"], broken: Check::One(throttling_needs_blk_mq) },
    Rule { sections: &["run"], broken: Check::One(an_anatomy_needs_time) },
    Rule { sections: &["run"], broken: Check::One(a_series_needs_time) },
    Rule { sections: &["ftl", "run"], broken: Check::Each(slap_needs_time) },
    Rule { sections: &["ftl", "buffer"], broken: Check::One(streams_by_time_need_a_buffer) },
];

/// Checks a configuration against every rule whose sections have no problems of their own.
pub fn check(config: &Config, report: &mut Report) {
    let mut shapely = true;
    for (rules, is_shape) in [(SHAPE, true), (RULES, false)] {
        for rule in rules.iter().filter(|rule| !is_of_each(config, rule)) {
            let applies = report.trusts(rule.sections) && (is_shape || shapely || !rule.sections.contains(&"device"));
            let broken = if applies { rule.broken.of(config, Some(&report.sources)) } else { Vec::new() };
            shapely &= !is_shape || broken.is_empty();
            for refusal in broken {
                report.refuse(&config.settings.pointer(&refusal.keys), refusal);
            }
        }
    }
    if shapely {
        check_each(config, report);
    }
}

/// Checks every workload of several against the rules that read its section.
fn check_each(config: &Config, report: &mut Report) {
    for (_, one) in &config.workloads {
        for rule in RULES.iter().filter(|rule| rule.sections.contains(&WORKLOAD)) {
            let broken = if report.trusts(rule.sections) { rule.broken.of(one, Some(&report.sources)) } else { vec![] };
            for refusal in broken {
                report.refuse(&one.settings.pointer(&refusal.keys), refusal);
            }
        }
    }
}

/// True for a rule of the workload where there are several: it is held against each of them.
fn is_of_each(config: &Config, rule: &Rule) -> bool {
    !config.workloads.is_empty() && rule.sections.contains(&WORKLOAD)
}

/// True if a configuration breaks no rule but, perhaps, one about files.
pub(super) fn is_sound(config: &Config) -> bool {
    let all = || SHAPE.iter().chain(RULES);
    let holds = |config: &Config| {
        all().filter(|rule| !is_of_each(config, rule)).all(|rule| rule.broken.of(config, None).is_empty())
    };
    holds(config) && config.workloads.iter().all(|(_, one)| holds(one))
}

/// True if the drive has a shape that its size can be worked out from.
pub(super) fn has_shape(config: &Config) -> bool {
    page_size_is_a_power_of_two(config).is_none() && pages_have_32_bit_numbers(config).is_none()
}

fn page_size_is_a_power_of_two(config: &Config) -> Option<Refusal> {
    let bytes = config.device.nand.page_bytes;
    if bytes.is_power_of_two() {
        return None;
    }
    let expected = format!("a power of two, such as \"{}\"", format_size(bytes.next_power_of_two()));
    Some(Refusal::new(format!("a page of {bytes} bytes"), expected).at(["device.page_size"]))
}

fn pages_have_32_bit_numbers(config: &Config) -> Option<Refusal> {
    let device = &config.device.nand;
    let factors = [device.channels, device.ways, device.dies, device.planes, device.blocks, device.pages];
    let pages = factors.iter().map(|&factor| u128::from(factor)).product::<u128>();
    if pages < u128::from(u32::MAX) {
        return None;
    }
    let keys = ["device.blocks", "device.pages", "device.planes", "device.dies", "device.ways", "device.channels"];
    let refusal = Refusal::new(
        format!("a drive of {pages} pages (channels x ways x dies x planes x blocks x pages)"),
        format!("at most {} pages, whose numbers fit in 32 bits", u32::MAX - 1),
    );
    Some(refusal.at(keys).help("use fewer blocks, or larger pages"))
}

fn the_workload_has_a_part_of_the_drive(config: &Config) -> Option<Refusal> {
    if config.range_of_workload().is_some() {
        return None;
    }
    let WorkloadParams { range_begin, range_end, .. } = config.workload;
    let found = format!("a part of the drive from {} to {} of it", format_ratio(range_begin), format_ratio(range_end));
    let expected = "one that ends a page or more after its beginning";
    Some(Refusal::new(found, expected).at(["workload.range_begin", "workload.range_end"]))
}

/// Refuses some of the keys of energy without the others: a sum that lacks a part looks like a figure.
fn energy_is_known_whole(config: &Config) -> Option<Refusal> {
    let nand = &config.device.nand;
    let of_cache = if config.has_slc_cache() { nand.slc_energy_keys().to_vec() } else { Vec::new() };
    let (given, missing): (Vec<_>, Vec<_>) =
        nand.energy_keys().into_iter().chain(of_cache).partition(|(_, given)| *given);
    if given.is_empty() || missing.is_empty() {
        return None;
    }
    let named = |keys: &[(&str, bool)]| keys.iter().map(|(key, _)| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let found = format!("{} without {}", named(&given), named(&missing));
    let all = match config.has_slc_cache() {
        true => "all seven keys of energy of a drive with an SLC cache",
        false => "all five keys of energy",
    };
    let refusal = Refusal::new(found, format!("{all}, or none: the energy of a run is their sum"));
    Some(refusal.at(given.iter().map(|(key, _)| *key)).help(format!("set {}", named(&missing))))
}

fn the_reads_fit_the_device(config: &Config) -> Option<Refusal> {
    let (setup, geometry) = (config.drive_setup(false), config.device.geometry());
    let refusal = setup.reliability.profile(&setup.reliability_setup(&geometry)).err()?;
    Some(refusal.or_at("device.reliability"))
}

fn the_ftl_fits_the_device(config: &Config) -> Option<Refusal> {
    let refusal = config.drive_setup(false).ftl.profile(&config.device.space()).err()?;
    Some(refusal.or_at("ftl.mapping"))
}

/// Refuses an over-provisioning that is counted after what planes set aside, where they set aside nothing or too much.
fn effective_spare_space_is_left(config: &Config) -> Option<Refusal> {
    if !config.counts_effective() {
        return None;
    }
    let (key, mapping) = ("device.over_provisioning_counts", config.ftl.mapping);
    if !config.mapping_offers(PAGE_MAPPING) {
        let found =
            format!("`{key}` = \"effective\" with `ftl.mapping` = \"{mapping}\", whose spare blocks are log blocks");
        let expected = format!("a page-level mapping: {}", offering(config, PAGE_MAPPING));
        return Some(Refusal::new(found, expected).at([key, "ftl.mapping"]).help("count from the raw blocks"));
    }
    if config.raw_over_provisioning().is_some() {
        return None;
    }
    let blocks = config.device.nand.blocks;
    let found = format!("planes of {blocks} blocks, all of which are kept free, open, bad or of an SLC cache");
    let refusal = Refusal::new(found, "blocks that are left for data").at([key, "device.blocks"]);
    Some(refusal.help("use more blocks a plane"))
}

fn log_blocks_have_no_collection(config: &Config) -> Vec<Refusal> {
    let mapping = config.ftl.mapping;
    if config.mapping_offers(PAGE_MAPPING) {
        return Vec::new();
    }
    let is_asked = |key: &str| {
        // An allocation that needs a page-level mapping says so itself.
        let says_so = key == "ftl.allocation" && !config.policy(key).0.needs.is_empty();
        let has_effect = other_mappings_offer(key).is_some_and(|capability| config.mapping_offers(capability));
        !says_so && !has_effect && config.ftl.asks_of_page_mapping(key, config.settings.asks(key))
    };
    let broken = |(key, why): &(&str, &str)| {
        let found = format!("`{key}` with `ftl.mapping` = \"{mapping}\", which {why}");
        let page_level = offering(config, PAGE_MAPPING);
        let expected = match other_mappings_offer(key) {
            Some(capability) => format!("another mapping: {page_level}, {}", offering(config, capability)),
            None => format!("a page-level mapping: {page_level}"),
        };
        // What a preset says cannot be left out.
        let of_preset = config.catalog().find(key).filter(|_| !config.settings.is_written(key));
        let default = of_preset.and_then(|id| toml_value(&id.param().default));
        let off = default.map_or(format!("leave `{key}` out"), |value| format!("set `{key}` = {value}"));
        let help = format!("{off}, or change `ftl.mapping`");
        Refusal::new(found, expected).at([*key, "ftl.mapping"]).help(help)
    };
    OF_PAGE_MAPPINGS.iter().filter(|(key, _)| is_asked(key)).map(broken).collect()
}

/// Names the policies that offer a capability that another needs.
fn offering(config: &Config, need: Capability) -> String {
    match config.catalog().registry().offering(need).as_slice() {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        all => all.concat(),
    }
}

fn buffer_is_whole_pages(config: &Config) -> Option<Refusal> {
    let (capacity, page) = (config.buffer.capacity_bytes, config.device.nand.page_bytes);
    if capacity.is_multiple_of(page) {
        return None;
    }
    let found =
        format!("a buffer of {}, with pages of {} (device.page_size)", format_size(capacity), format_size(page));
    Some(Refusal::new(found, "a multiple of the page size").at(["buffer.capacity", "device.page_size"]))
}

fn the_read_cache_holds_what_is_read_ahead(config: &Config) -> Option<Refusal> {
    let (cache, page) = (&config.device.read_cache, config.device.nand.page_bytes);
    let capacity = cache.capacity_bytes;
    if capacity == 0 {
        return None;
    }
    if !capacity.is_multiple_of(page) {
        let (capacity, page) = (format_size(capacity), format_size(page));
        let found = format!("a read cache of {capacity}, with pages of {page} (device.page_size)");
        return Some(Refusal::new(found, "a multiple of the page size").at(["device.read_cache", "device.page_size"]));
    }
    let ahead = u64::from(cache.pages);
    (ahead > capacity / page).then(|| {
        let found = format!("{ahead} pages read ahead (device.readahead_pages) into a cache of {}", capacity / page);
        let expected = "a read cache that holds what is read ahead of a stream";
        Refusal::new(found, expected).at(["device.read_cache", "device.readahead_pages"])
    })
}

/// Refuses settings of replacement policy and eviction batch size without a buffer: once for all policies, not for
/// each.
fn only_a_buffer_evicts(config: &Config) -> Vec<Refusal> {
    if config.buffer.capacity_bytes > 0 {
        return Vec::new();
    }
    let broken = |key: &&str| {
        let found = format!("`{key}` = \"{}\" with `buffer.capacity` = \"0B\"", config.policy(key).0.name);
        let expected = "a write buffer of at least one page to evict from";
        let help = format!("raise buffer.capacity, or leave {key} out");
        Refusal::new(found, expected).at([*key, "buffer.capacity"]).help(help)
    };
    ["buffer.order", "buffer.rate"].iter().filter(|key| config.settings.asks(key)).map(broken).collect()
}

/// Refuses a buffer that is too small for a stream: the pages of a stream leave the buffer together.
fn the_buffer_holds_a_stream(config: &Config) -> Option<Refusal> {
    let wanted = config.drive_setup(false).ftl.profile(&config.device.space()).ok()?.stream_pages?;
    let held = config.buffer.capacity_bytes / config.device.nand.page_bytes;
    if held == 0 || u64::from(wanted) <= held {
        return None;
    }
    let found = format!("streams of {wanted} pages from a buffer of {held} (buffer.capacity)");
    let expected = "a buffer that holds a stream, because its pages leave together";
    let keys = ["ftl.slap.stream_threshold", "ftl.kast.stream_threshold", "buffer.capacity", "ftl.allocation"];
    let help = "raise buffer.capacity, or lower the stream_threshold";
    Some(Refusal::new(found, expected).at(keys).help(help))
}

/// Returns the key that leaves a need unmet, with its value: a slot with policies that offer it, of which none is
/// chosen. Task ids are known only once a recording has been read, and are checked then; saved states are asked for by
/// what saves or loads a drive.
fn unmet(need: Capability, config: &Config) -> Option<(&'static str, String)> {
    match need {
        TASK_IDS | Capability::SAVED_STATE => None,
        WRITE_BUFFER => (config.buffer.capacity_bytes == 0).then(|| ("buffer.capacity", "\"0B\"".to_owned())),
        _ => {
            let slot = slot_offering(config, need)?;
            let (policy, _) = config.policy(slot);
            (!policy.offers.contains(&need)).then(|| (slot, format!("\"{}\"", policy.name)))
        }
    }
}

/// Returns the key of the slot whose policies can offer a capability.
fn slot_offering(config: &Config, need: Capability) -> Option<&'static str> {
    let slots = config.catalog().registry().slots().into_iter();
    slots.filter(|(_, specs)| specs.iter().any(|spec| spec.offers.contains(&need))).map(|(slot, _)| slot.key).next()
}

fn policies_have_what_they_need(config: &Config) -> Vec<Refusal> {
    let broken = |(key, policy): (KeyId, &'static PolicySpec)| {
        let (need, (other, value)) = policy.needs.iter().find_map(|&need| Some((need, unmet(need, config)?)))?;
        let found = format!("`{}` = \"{}\" with `{other}` = {value}", key.path(), policy.name);
        let expected = format!("another of the two: `{}` needs {}", policy.name, need.in_words());
        let help = way_out(config, need, &key.path());
        Some(Refusal::new(found, expected).at([key.path().as_str(), other]).help(help))
    };
    config.policies().filter_map(broken).collect()
}

/// Describes the change that helps if a policy, the value of `key`, lacks a capability that it needs.
fn way_out(config: &Config, need: Capability, key: &str) -> String {
    let instead = match need {
        WRITE_BUFFER => "raise buffer.capacity".to_owned(),
        _ => format!("set {} to {}", slot_offering(config, need).unwrap_or(key), offering(config, need)),
    };
    format!("{instead}, or change {key}")
}

/// Refuses keys that the chosen workload cannot follow. The check of the section alone finds some of them too; a report
/// shows each problem once.
fn the_workload_fits_the_device(config: &Config, sources: &Sources) -> Vec<Refusal> {
    misfits(config, Some(&config.workload_context(sources)))
}

fn misfits(config: &Config, context: Option<&Context>) -> Vec<Refusal> {
    let is_asked = |key: &str| config.settings.asks(key);
    let refusals = workload::misfits(&config.chosen_workload(), &config.workload_site(&is_asked, context)).into_iter();
    refusals.map(|refusal| refusal.or_at("workload.kind")).collect()
}

/// Checks the policies of the buffer against the device, if the drive has a buffer.
fn the_buffer_fits_the_device(config: &Config) -> Vec<Refusal> {
    if config.buffer.capacity_bytes == 0 {
        return Vec::new();
    }
    let setup = config.drive_setup(false);
    let order = setup.order.profile(&setup.order_setup()).err().map(|refusal| (refusal, "buffer.order"));
    let rate = setup.rate.profile(&setup.rate_setup()).err().map(|refusal| (refusal, "buffer.rate"));
    order.into_iter().chain(rate).map(|(refusal, key)| refusal.or_at(key)).collect()
}

/// Maximum number of requests in the block layer.
const MAX_REQUESTS: u64 = 1 << 22;

/// Refuses more hardware queues than processors, which Linux never has, and more requests than there are to count.
fn the_hardware_queues_fit_the_host(config: &Config) -> Option<Refusal> {
    let HostParams { processors, hardware_queues, .. } = config.host;
    if hardware_queues > processors {
        let found = format!("`host.hardware_queues` = {hardware_queues} with `host.processors` = {processors}");
        let help = format!("set host.processors to {hardware_queues} or more, or host.hardware_queues to {processors}");
        let refusal = Refusal::new(found, "at most one hardware queue a processor, as Linux has them");
        return Some(refusal.at(["host.hardware_queues", "host.processors"]).help(help));
    }
    let requests = config.host.requests();
    (requests > MAX_REQUESTS).then(|| {
        let found = format!("room for {requests} requests in {hardware_queues} hardware queues");
        let help = "lower host.nr_requests, host.queue_depth or host.hardware_queues";
        let refusal = Refusal::new(found, format!("room for at most {MAX_REQUESTS} requests in the block layer"));
        refusal.at(["host.hardware_queues", "host.nr_requests", "host.queue_depth"]).help(help)
    })
}

/// Refuses a scheduler of blk-mq in the block layer of before it.
fn the_scheduler_is_of_its_linux(config: &Config) -> Option<Refusal> {
    let host = &config.host;
    (host.linux == Linux::V2_6_32 && host.is_of_blk_mq()).then(|| {
        let found = format!("`host.linux` = 2.6.32 with `host.scheduler` = {}", host.scheduler);
        let refusal = Refusal::new(found, "a version that has blk-mq, or a scheduler of before");
        refusal.at(["host.linux", "host.scheduler"]).help("leave host.linux out, or set it to 6.1, 6.12 or 6.18")
    })
}

/// Refuses write-back throttling in the block layer of before blk-mq, which has none.
fn throttling_needs_blk_mq(config: &Config) -> Option<Refusal> {
    let host = &config.host;
    (host.wbt == Throttling::On && !host.throttles()).then(|| {
        let scheduler = host.scheduler;
        let found = format!("`host.wbt` = on with `host.scheduler` = {scheduler} in the block layer of Linux 2.6.32");
        let refusal = Refusal::new(found, "the block layer of a version that has blk-mq");
        refusal.at(["host.wbt", "host.linux", "host.scheduler"]).help("set host.linux to 6.1, 6.12 or 6.18")
    })
}

fn schedulers_fit_the_device(config: &Config) -> Option<Refusal> {
    if the_hardware_queues_fit_the_host(config).is_some() {
        return None;
    }
    let setup = BlockLayer::setup(&config.host, config.device.capacity_sectors());
    let scheduler = config.scheduler();
    let refusal = scheduler.profile(&setup).err().or_else(|| scheduler.build(&setup).err())?;
    Some(refusal.or_at("host.scheduler"))
}

/// Refuses a value that needs time where nothing takes time, if it is set.
fn without_time(config: &Config, is_set: bool, key: &str, value: &str, [why, otherwise]: [&str; 2]) -> Option<Refusal> {
    (is_set && config.run.timing != Timing::Timed).then(|| {
        let found = format!("`{key}`{value} with `run.timing` = \"counting\", where nothing takes time");
        let refusal = Refusal::new(found, format!("`run.timing` = \"timed\": {why}"));
        refusal.at([key, "run.timing"]).help(format!("set run.timing to \"timed\", or {otherwise}"))
    })
}

fn an_anatomy_needs_time(config: &Config) -> Option<Refusal> {
    let told = ["an anatomy says where time went", "leave run.anatomy out"];
    without_time(config, config.run.anatomy, "run.anatomy", " = true", told)
}

fn a_series_needs_time(config: &Config) -> Option<Refusal> {
    let otherwise = "leave run.series out; `run --timeline` has lines by pages written";
    without_time(config, config.run.series_ns.is_some(), "run.series", "", ["a series is over time", otherwise])
}

fn slap_needs_time(config: &Config) -> Vec<Refusal> {
    let timed = [(SUBSTREAMS, "auto", "it follows what reads take"), (SEARCH, "window", "pages are written within it")];
    let broken = |(key, value, why): (&str, &'static str, &str)| {
        let (is_set, written) = (slap_has(config, key, value), format!(" = \"{value}\""));
        without_time(config, is_set, key, &written, [why, &format!("change {key}")])
    };
    timed.into_iter().filter_map(broken).collect()
}

/// Refuses streams by time without a buffer, which would hold the pages that were written at the same time.
fn streams_by_time_need_a_buffer(config: &Config) -> Option<Refusal> {
    if config.buffer.capacity_bytes > 0 || !slap_has(config, SEARCH, "window") {
        return None;
    }
    let found = "`ftl.slap.search` = \"window\" with `buffer.capacity` = \"0B\"";
    let refusal = Refusal::new(found, "a write buffer, whose pages are searched");
    Some(refusal.at([SEARCH, "buffer.capacity"]).help("raise buffer.capacity, or set ftl.slap.search to \"batch\""))
}

const SUBSTREAMS: &str = "ftl.slap.substreams";
const SEARCH: &str = "ftl.slap.search";

/// True if SLAP allocates pages, and a key of it has that name as its value.
fn slap_has(config: &Config, key: &str, name: &'static str) -> bool {
    config.ftl.allocation == "slap" && *config.settings.value(key) == Value::Name(name)
}

#[cfg(test)]
mod tests {
    use flashloom_ftl::SINGLE_CHIP;

    use super::*;
    use crate::{Catalog, Experiment, Source};

    fn config(text: &str) -> Config {
        let experiment = Experiment::from_source(&Catalog::builtin(), Source::text("a.toml", text), &[], None);
        experiment.expect("it is sound").variants.remove(0).config
    }

    #[test]
    fn a_need_names_the_key_that_leaves_it_unmet() {
        let (with, without) = (config(""), config("buffer.capacity = \"0B\""));
        assert_eq!(unmet(WRITE_BUFFER, &with), None);
        assert_eq!(unmet(WRITE_BUFFER, &without), Some(("buffer.capacity", "\"0B\"".to_owned())));
        assert_eq!(unmet(PAGE_MAPPING, &with), None);
        assert_eq!(unmet(SINGLE_CHIP, &with), Some(("ftl.mapping", "\"page\"".to_owned())));
    }

    #[test]
    fn a_way_out_names_the_mappings_that_would_do() {
        let config = config("");
        let page_mappings = way_out(&config, PAGE_MAPPING, "ftl.allocation");
        assert_eq!(
            page_mappings,
            "set ftl.mapping to page, dftl, sftl, leaftl, lazyftl or u-ftl, or change ftl.allocation"
        );
        let single = way_out(&config, SINGLE_CHIP, "ftl.placement");
        assert!(single.starts_with("set ftl.mapping to bast, fast,"), "{single}");
    }
}
