//! Checks across keys: combinations that cannot work are refused before anything runs, naming both sides.

use flashloom_ftl::mapping::{offering, offers};
use flashloom_ftl::{Misfit, WearLevelling};
use flashloom_host::BlockLayer;
use flashloom_units::{Need, Prng, format_size};
use flashloom_workload::{Filebench, Replay, Synthesized, Synthetic};

use super::Config;
use super::need::need_in_words;
use super::section::Fault;
use super::source::Report;

/// One rule: the sections that it reads, and the check.
struct Rule {
    sections: &'static [&'static str],
    broken: fn(&Config) -> Option<Broken>,
}

/// A rule that does not hold: the keys to point at, the most telling first, and what to say.
struct Broken {
    keys: Vec<String>,
    fault: Fault,
}

impl Broken {
    fn at(keys: &[&str], fault: Fault) -> Option<Self> {
        Some(Self { keys: keys.iter().map(|&key| key.to_owned()).collect(), fault })
    }
}

/// The shape of the drive: no other rule that reads it is applied while one of these is broken.
const SHAPE: &[Rule] = &[
    Rule { sections: &["device"], broken: page_size_is_a_power_of_two },
    Rule { sections: &["device"], broken: pages_have_32_bit_numbers },
];

/// Everything else.
const RULES: &[Rule] = &[
    Rule { sections: &["ftl", "device"], broken: log_blocks_have_no_collection },
    Rule { sections: &["device", "ftl"], broken: the_ftl_fits_the_device },
    Rule { sections: &["device", "buffer"], broken: buffer_is_whole_pages },
    Rule { sections: &["host", "buffer", "ftl"], broken: policies_have_what_they_need },
    Rule { sections: &["workload"], broken: recordings_have_a_path },
    Rule { sections: &["workload"], broken: job_files_say_it_all },
    Rule { sections: &["workload"], broken: personalities_are_not_replayed },
    Rule { sections: &["workload"], broken: generated_requests_have_what_the_replay_needs },
    Rule { sections: &["workload", "device"], broken: generated_requests_fit_the_device },
    Rule { sections: &["host", "device"], broken: schedulers_fit_the_device },
];

/// Holds one configuration against every rule whose sections are without problems of their own.
pub fn check(config: &Config, report: &mut Report) {
    let mut shapely = true;
    for (rules, is_shape) in [(SHAPE, true), (RULES, false)] {
        for rule in rules {
            let applies = report.trusts(rule.sections) && (is_shape || shapely || !rule.sections.contains(&"device"));
            let Some(Broken { keys, fault }) = applies.then(|| (rule.broken)(config)).flatten() else { continue };
            shapely &= !is_shape;
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            report.refuse(&config.settings.pointer(&keys), fault);
        }
    }
}

fn page_size_is_a_power_of_two(config: &Config) -> Option<Broken> {
    let bytes = config.device.page_bytes;
    if bytes.is_power_of_two() {
        return None;
    }
    let expected = format!("a power of two, such as \"{}\"", format_size(bytes.next_power_of_two()));
    Broken::at(&["device.page_size"], Fault::new(format!("a page of {bytes} bytes"), expected))
}

fn pages_have_32_bit_numbers(config: &Config) -> Option<Broken> {
    let device = &config.device;
    let factors = [device.channels, device.ways, device.dies, device.planes, device.blocks, device.pages];
    let pages = factors.iter().map(|&factor| u128::from(factor)).product::<u128>();
    if pages < u128::from(u32::MAX) {
        return None;
    }
    let keys = ["device.blocks", "device.pages", "device.planes", "device.dies", "device.ways", "device.channels"];
    let fault = Fault::new(
        format!("a drive of {pages} pages (channels x ways x dies x planes x blocks x pages)"),
        format!("at most {} pages, whose numbers fit in 32 bits", u32::MAX - 1),
    );
    Broken::at(&keys, Fault { help: Some("use fewer blocks, or larger pages".to_owned()), ..fault })
}

fn the_ftl_fits_the_device(config: &Config) -> Option<Broken> {
    let Misfit { keys, found, expected, help } = flashloom_ftl::misfit(&config.device, &config.drive_setup(false).ftl)?;
    Some(Broken { keys, fault: Fault { help: Some(help), ..Fault::new(found, expected) } })
}

/// Keys that only a page-level mapping follows, and why the others do not.
const OF_PAGE_MAPPINGS: &[(&str, &str)] = &[
    ("ftl.gc", MERGES),
    ("ftl.gc_threshold", MERGES),
    ("ftl.background_threshold", MERGES),
    ("ftl.gc_blocks", MERGES),
    ("ftl.hot_cold", MERGES),
    ("device.bad_blocks", NO_SPARES),
    ("device.program_failures", NO_SPARES),
    ("device.erase_failures", NO_SPARES),
];
const MERGES: &str = "merges log blocks and collects nothing";
const NO_SPARES: &str = "cannot replace a bad block";
const MOVES_NOTHING: &str = "merges log blocks and moves no cold data";
const BY_ADDRESS: &str = "gives every page its block by its own rules";

fn log_blocks_have_no_collection(config: &Config) -> Option<Broken> {
    let mapping = config.ftl.mapping;
    if offers(mapping, Need::PageMapping) {
        return None;
    }
    let levels = config.ftl.wear_levelling == WearLevelling::Static;
    // An allocation that needs a page-level mapping says so itself.
    let (_, allocation) = config.policies().find(|(key, _)| key.path() == "ftl.allocation")?;
    let allocates = config.settings.asks("ftl.allocation") && allocation.needs.is_empty();
    let asked = OF_PAGE_MAPPINGS.iter().find(|(key, _)| config.settings.asks(key)).copied();
    let asked = asked.or(levels.then_some(("ftl.wear_levelling", MOVES_NOTHING)));
    let (key, why) = asked.or(allocates.then_some(("ftl.allocation", BY_ADDRESS)))?;
    let found = format!("`{key}` with `ftl.mapping` = \"{mapping}\", which {why}");
    let fault = Fault::new(found, format!("a page-level mapping: {}", offering(Need::PageMapping).join(" or ")));
    Broken::at(
        &[key, "ftl.mapping"],
        Fault { help: Some(format!("leave `{key}` out, or change `ftl.mapping`")), ..fault },
    )
}

fn buffer_is_whole_pages(config: &Config) -> Option<Broken> {
    let (capacity, page) = (config.buffer.capacity_bytes, config.device.page_bytes);
    if capacity.is_multiple_of(page) {
        return None;
    }
    let found =
        format!("a buffer of {}, with pages of {} (device.page_size)", format_size(capacity), format_size(page));
    Broken::at(&["buffer.capacity", "device.page_size"], Fault::new(found, "a multiple of the page size"))
}

/// The key that leaves a need unmet, with its value. Task ids are known only once a recording has been read: they are
/// checked then.
fn unmet(need: Need, config: &Config) -> Option<(&'static str, String)> {
    match need {
        Need::TaskIds => None,
        Need::WriteBuffer => (config.buffer.capacity_bytes == 0).then(|| ("buffer.capacity", "\"0B\"".to_owned())),
        Need::SingleChannelFtl | Need::PageMapping => {
            let mapping = config.ftl.mapping;
            (!offers(mapping, need)).then(|| ("ftl.mapping", format!("\"{mapping}\"")))
        }
    }
}

fn policies_have_what_they_need(config: &Config) -> Option<Broken> {
    config.policies().find_map(|(key, policy)| {
        let (need, (other, value)) = policy.needs.iter().find_map(|&need| Some((need, unmet(need, config)?)))?;
        let found = format!("`{}` = \"{}\" with `{other}` = {value}", key.path(), policy.name);
        let expected = format!("another of the two: `{}` needs {}", policy.name, need_in_words(need));
        Broken::at(
            &[&key.path(), other],
            Fault { help: Some(way_out(need, &key.path())), ..Fault::new(found, expected) },
        )
    })
}

/// What to change where a policy, the value of `key`, lacks what it needs.
fn way_out(need: Need, key: &str) -> String {
    let instead = match need {
        Need::TaskIds => "use a workload whose requests carry task ids".to_owned(),
        Need::WriteBuffer => "raise buffer.capacity".to_owned(),
        Need::SingleChannelFtl | Need::PageMapping => format!("set ftl.mapping to {}", offering(need).join(" or ")),
    };
    format!("{instead}, or change {key}")
}

fn recordings_have_a_path(config: &Config) -> Option<Broken> {
    let workload = &config.workload;
    match (workload.kind, &workload.path) {
        ("trace", None) => {
            let fault = Fault::new("`kind` = \"trace\" without a path", "`path` in [workload], naming the recording");
            Broken::at(&["workload.kind"], fault)
        }
        ("fio", None) => {
            let fault = Fault::new("`kind` = \"fio\" without a path", "`path` in [workload], naming the job file");
            Broken::at(&["workload.kind"], fault)
        }
        ("synthetic", Some(_)) if !config.settings.is_written("workload.kind") => {
            let found = "a path, but `kind` is left at \"synthetic\"";
            Broken::at(&["workload.path"], Fault::new(found, "`kind` = \"trace\" in [workload] too"))
        }
        _ => None,
    }
}

/// A job file decides by itself when its requests arrive, how many there are, and where they go.
fn job_files_say_it_all(config: &Config) -> Option<Broken> {
    const OF_OTHERS: &[&str] =
        &["format", "event", "sort", "skip_bad_lines", "replay", "queue_depth", "speed", "addresses", "requests"];
    let of_others = || OF_OTHERS.iter().map(|name| (name, format!("workload.{name}")));
    let (name, key) = of_others().find(|(_, key)| config.workload.kind == "fio" && config.settings.asks(key))?;
    let fault = Fault::new(format!("`{name}` with `kind` = \"fio\""), "the options of the job file alone");
    Broken::at(&[&key], fault)
}

fn generated_requests_have_what_the_replay_needs(config: &Config) -> Option<Broken> {
    let generator = config.synthetic()?;
    let (found, expected) = match config.workload.replay? {
        Replay::Dependent if generator.tasks == 0 => {
            ("a dependent replay of requests without task ids", "`tasks` of at least 1 in [workload.synthetic]")
        }
        Replay::Timestamps if generator.interarrival_ns.is_none() => {
            ("a replay by time of requests without times", "`interarrival` in [workload.synthetic], or another replay")
        }
        _ => return None,
    };
    Broken::at(&["workload.replay"], Fault::new(found, expected))
}

/// What a thread of a personality does next depends on what it waited for, and on nothing else.
fn personalities_are_not_replayed(config: &Config) -> Option<Broken> {
    const OF_OTHERS: &[&str] = &["path", "replay", "queue_depth", "speed", "addresses"];
    let is_filebench = config.workload.kind == "filebench";
    let of_others = || OF_OTHERS.iter().map(|name| (name, format!("workload.{name}")));
    let (name, key) = of_others().find(|(_, key)| is_filebench && config.settings.asks(key))?;
    let fault = Fault::new(format!("`{name}` with `kind` = \"filebench\""), "the keys of [workload.filebench] alone");
    Broken::at(&[&key], fault)
}

fn generated_requests_fit_the_device(config: &Config) -> Option<Broken> {
    let (capacity, prng) = (config.device.capacity_sectors(), Prng::new(config.run.seed).branch("workload"));
    let problem = match (config.synthetic(), config.filebench(), config.synthesized()) {
        (Some(params), ..) => Synthetic::new(&params, capacity, &prng).err(),
        (_, Some(params), _) => Filebench::new(&params, capacity, None, &prng).err(),
        (.., Some(params)) => Synthesized::new(&params, capacity, &prng).err(),
        (None, None, None) => None,
    }?;
    // The generator names its key where a reader would name a file.
    let keys = [problem.file.as_str(), "device.blocks", "device.preset"];
    Broken::at(&keys, Fault { found: problem.found, expected: problem.expected, help: problem.help })
}

fn schedulers_fit_the_device(config: &Config) -> Option<Broken> {
    let (scheduler, values) = config.policy("host.scheduler");
    let setup = BlockLayer::setup(&config.host, config.device.capacity_sectors());
    let refusal = flashloom_host::build(scheduler.name, values, &setup)?.err()?;
    Broken::at(&["host.scheduler"], Fault::new(refusal, "a scheduler whose parameters fit the device"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Experiment, Source};

    #[test]
    fn a_need_names_the_key_that_leaves_it_unmet() {
        let config = |text: &str| {
            let mut experiment =
                Experiment::from_source(Source::option("a.toml", text), &[], None).expect("it is sound");
            experiment.variants.remove(0).config
        };
        let (with, without) = (config(""), config("buffer.capacity = \"0B\""));
        assert_eq!(unmet(Need::WriteBuffer, &with), None);
        assert_eq!(unmet(Need::WriteBuffer, &without), Some(("buffer.capacity", "\"0B\"".to_owned())));
        assert_eq!(unmet(Need::PageMapping, &with), None);
        assert_eq!(unmet(Need::SingleChannelFtl, &with), Some(("ftl.mapping", "\"page\"".to_owned())));
    }

    #[test]
    fn a_way_out_names_the_mappings_that_would_do() {
        assert_eq!(
            way_out(Need::PageMapping, "ftl.allocation"),
            "set ftl.mapping to page or dftl, or change ftl.allocation"
        );
        assert!(way_out(Need::SingleChannelFtl, "buffer.placement").starts_with("set ftl.mapping to bast or fast or"));
    }
}
