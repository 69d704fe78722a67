//! Tests of aged drives in files.

use super::*;
use flashloom_config::{Catalog, Source};
use flashloom_units::{Ageing, Param};

/// Every key that is meant to have no effect on ageing, with another value than its default.
const OTHER_TIMES: &str = "device.link_rate=1MB/s device.full_duplex=false device.controller_time=9us \
    device.controller_page_time=1us device.controller_processors=3 device.link_packet_size=128B \
    device.link_packet_overhead=16B device.link_command_time=2us device.copyback=true \
    device.cache_program=true device.suspend=program-erase \
    device.suspend_time=7us device.max_overtakes=2 device.die_order=fifo \
    device.slc_read_time=11us device.slc_program_time=12us";
const OTHER_COSTS: &str = "device.multi_plane=none device.bits_per_cell=4 device.read_time=1ms device.read_time_2=2ms \
    device.read_time_3=3us device.read_time_4=4us device.program_time=5us device.program_time_2=6us \
    device.program_time_3=7us device.program_time_4=8us device.erase_time=9s device.command_time=1ms \
    device.bus_rate=2MB/s device.read_spread=0.1 device.program_spread=0.2 device.erase_spread=0.3";

fn config(sets: &[&str]) -> Config {
    let text = "run.precondition = \"steady\"\nrun.rest = \"always\"\nrun.steady_tolerance = 0.2\n\
                device.over_provisioning = 0.5\ndevice.channels = 2\ndevice.blocks = 40\ndevice.pages = 32\n";
    let sets: Vec<String> = sets.iter().flat_map(|sets| sets.split_whitespace()).map(str::to_owned).collect();
    let experiment = Experiment::from_source(&Catalog::builtin(), Source::text("a.toml", text), &sets, None);
    experiment.unwrap_or_else(|problems| panic!("{sets:?}\n{problems}")).variants.remove(0).config
}

fn aged(config: &Config) -> AgedDrive {
    AgedDrive::age(Preparation::quiet(config)).expect("it becomes steady")
}

#[test]
fn the_keys_of_time_are_those_that_the_test_changes() {
    let shown = |config: &Config| config.values().map(|(key, value)| (key.path(), value.show())).collect::<Vec<_>>();
    let (first, other) = (shown(&config(&[])), shown(&config(&[OTHER_TIMES, OTHER_COSTS])));
    let changed = first.iter().zip(&other).filter(|(one, other)| one != other).map(|((key, _), _)| key.as_str());
    let mut changed: Vec<&str> = changed.chain(["device.preset"]).collect();
    let params = SECTIONS.iter().flat_map(|section| section.params().iter().map(|param| (section.name, param)));
    let is_of_time = |param: &Param| matches!(param.ageing, Ageing::Timed | Ageing::Merges | Ageing::MergesAndModes);
    let expected =
        params.filter(|(_, param)| is_of_time(param)).map(|(section, param)| format!("{section}.{}", param.name));
    let mut expected: Vec<String> = expected.collect();
    changed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(changed, expected);
}

#[test]
fn a_drive_of_pages_is_aged_alike_whatever_time_its_parts_take() {
    let page = ["greedy", "cost-benefit", "fifo", "d-choices", "windowed-greedy"].map(|gc| format!("ftl.gc={gc}"));
    let allocations = ["interleave", "static", "slap"].map(|name| format!("ftl.allocation={name}"));
    let others = ["ftl.mapping=dftl", "ftl.superblock=die", "ftl.hot_cold=multi-hash", "ftl.wear_levelling=static"];
    let others = others.map(str::to_owned);
    for policy in page.iter().chain(&allocations).chain(&others) {
        let (first, other) = (config(&[policy]), config(&[policy, OTHER_TIMES, OTHER_COSTS]));
        assert_eq!(Origin::of(&first, false), Origin::of(&other, false), "{policy}");
        let (first, other) = (aged(&first), aged(&other));
        assert!(first.state == other.state && first.aged == other.aged, "{policy}");
    }
}

#[test]
fn a_drive_with_an_slc_cache_is_aged_alike_but_for_its_bits_per_cell() {
    for kind in ["static", "dynamic"] {
        let cache = format!("ftl.slc_cache={kind} device.slc_read_time=1us device.slc_program_time=2us");
        let bits = |config: &Config| config.device.nand.bits_per_cell;
        let first = config(&[&cache]);
        let all = OTHER_COSTS.replace("device.bits_per_cell=4", "");
        let later = "ftl.slc_flush_delay=7ms device.slc_rated_cycles=9";
        let other = config(&[&cache, OTHER_TIMES, &all.replace("device.read_time_4=4us", ""), later]);
        assert_eq!((Origin::of(&first, false), bits(&first)), (Origin::of(&other, false), 2), "{kind}");
        assert!(aged(&first).state == aged(&other).state, "{kind}");
        let other = config(&[&cache, "device.bits_per_cell=4"]);
        assert_ne!(Origin::of(&first, false), Origin::of(&other, false), "{kind}");
        assert!(aged(&first).state != aged(&other).state, "{kind}");
        // A drive without a cache does not know of those keys.
        let plain = serde_json::to_string(&Origin::of(&config(&[]), false)).expect("it is JSON");
        assert!(!plain.contains("slc") && !plain.contains("bits_per_cell"), "{plain}");
    }
}

#[test]
fn a_drive_of_log_blocks_is_aged_alike_but_for_what_merges_cost() {
    for mapping in ["bast", "fast", "last", "sast", "kast", "mcsplit", "superblock-ftl", "janus-ftl"] {
        let blocks = if mapping == "janus-ftl" { "streams=2" } else { "log_blocks=8" };
        let chosen = format!("ftl.mapping={mapping} ftl.{mapping}.{blocks}");
        let (first, other) = (config(&[&chosen]), config(&[&chosen, OTHER_TIMES]));
        assert_eq!(Origin::of(&first, false), Origin::of(&other, false), "{mapping}");
        assert!(aged(&first).state == aged(&other).state, "{mapping}");
        assert_ne!(Origin::of(&first, false), Origin::of(&config(&[&chosen, OTHER_COSTS]), false), "{mapping}");
    }
}

#[test]
fn a_drive_whose_flash_is_lost_is_aged_anew() {
    let config = config(&[]);
    let whole = AgedDrive::age(Preparation::quiet(&config)).expect("it becomes steady");
    let drive = AgedDrive::age_to_share(Preparation::quiet(&config), 4, false).expect("it becomes steady");
    assert!(!drive.is_whole && 10 * drive.state.len() < 9 * whole.state.len());
    let build = |drive| Ok(Engine::bare(drive, 1, 0));
    let engine = |of: &AgedDrive| of.engine_to_leave(Preparation::quiet(&config), &build).expect("there is a drive");
    // The first takes what ageing has left, the second nothing, the third what the first has left.
    let first = engine(&drive);
    let second = engine(&drive);
    assert!(first.snapshot() == second.snapshot(), "they are the same");
    drive.leave(&config, false, first);
    let third = engine(&drive);
    assert!(!cfg!(debug_assertions) || second.snapshot() == third.snapshot(), "but for what nothing reads");
    // A fourth is expected, then nobody, and what is left is dropped.
    drive.leave(&config, false, second);
    drop(engine(&drive));
    drive.leave(&config, false, third);
    assert_eq!(format!("{:?}", drive.spent), "Spent { waiting: 0 }");
}

#[test]
fn figures_that_no_drive_is_aged_with_are_refused() {
    let config = config(&[]);
    let drive = aged(&config);
    let Preconditioned { pages, waf, .. } = drive.aged;
    assert_eq!(check_aged(&config, &drive.aged), Ok(()));
    for other in [
        Preconditioned { pages: pages + 1, ..drive.aged },
        Preconditioned { pages: 0, ..drive.aged },
        Preconditioned { pages: u64::MAX, ..drive.aged },
        Preconditioned { waf: None, ..drive.aged },
        Preconditioned { waf: Some(f64::NAN), ..drive.aged },
        Preconditioned { stable: false, ..drive.aged },
        Preconditioned { is_worn_out: true, ..drive.aged },
    ] {
        let bytes = AgedDrive { aged: other, ..aged(&config) }.to_file().expect("there is memory");
        let mut file = tempfile::tempfile().expect("a file");
        std::io::Write::write_all(&mut file, &bytes).expect("written");
        file.rewind().expect("it is a file");
        let found = AgedDrive::of_cache(file, &config, false).expect_err("no drive is aged with them");
        assert!(found.contains("is damaged"), "{other:?}: {found}");
    }
    assert!(waf.is_some_and(|waf| waf > 1.0));
}

#[test]
fn the_limit_of_a_state_is_several_times_what_any_drive_needs() {
    for mapping in flashloom_ftl::mapping::builtin().policies().iter().map(|policy| policy.spec.name) {
        let config = config(&[&format!("ftl.mapping={mapping}")]);
        let pages = config.device.geometry().total_pages();
        for (verified, per_page) in [(false, PAGE_BYTES), (true, VERIFIED_PAGE_BYTES)] {
            let with = Preparation { verify: verified, ..Preparation::quiet(&config) };
            let drive = AgedDrive::age(with).expect("it becomes steady");
            let needed = drive.state.len() as u64 / pages;
            assert!(4 * needed < per_page, "{mapping}, verified: {verified}: {needed} B a page");
        }
    }
}

#[test]
fn a_drive_is_of_a_build_of_the_same_sources_and_of_no_other_policies() {
    for (own, other, is_of) in [
        ("flashloom-state 0.1.0 a", "flashloom-state 0.1.0 a", true),
        ("flashloom-state 0.1.0 a", "flashloom-state 0.1.0 b", false),
        ("flashloom-state 0.1.0 a", "flashloom-state 0.2.0 a", false),
        ("flashloom-state 0.1.0 a mine", "flashloom-state 0.1.0 a mine", true),
        ("flashloom-state 0.1.0 a mine", "flashloom-state 0.1.0 a yours", false),
        // A program and a plugin that states nothing.
        ("flashloom-state 0.1.0 a mine", "flashloom-state 0.1.0 a", true),
        ("flashloom-state 0.1.0 a", "flashloom-state 0.1.0 a mine", true),
        ("flashloom-state 0.1.0 a", "flashloom-state 9", false),
        ("flashloom-state 0.1.0 a", "", false),
    ] {
        assert_eq!(is_of_build(own, other), is_of, "{own}, {other}");
    }
}
