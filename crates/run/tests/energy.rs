//! The energy of a result is what the array did, counted again from its events, times what the keys say that it takes;
//! it changes nothing else, and is known whole or not at all.

use crate::support::{Sound, try_busy};
use flashloom_device::{Event, Interest, Observer};
use flashloom_figures::result::{EnergyResult, RunResult};
use flashloom_nand::{Command, Event as NandEvent, OperationKind};

const ENERGY: [&str; 5] = [
    "device.read_energy=3uJ",
    "device.program_energy=17uJ",
    "device.erase_energy=110uJ",
    "device.bus_energy=250pJ",
    "device.idle_power=1500uW",
];

/// Operations of the array that have ended, and the sectors that they moved.
#[derive(Default)]
struct Recount {
    reads: u64,
    programs: u64,
    erases: u64,
    sectors: u64,
    /// Those of the reads and programs in SLC mode.
    slc: [u64; 2],
}

impl Observer for Recount {
    fn interest(&self) -> Interest {
        Interest { events: true, ..Interest::default() }
    }

    fn event(&mut self, _now: u64, event: &Event) {
        let Event::Flash(NandEvent::Ended { command: Command { kind, mask, in_other_mode, .. }, .. }) = event else {
            return;
        };
        let (of_copyback, sectors) = (u64::from(*kind == OperationKind::Copyback), u64::from(mask.count_ones()));
        let is_read = matches!(kind, OperationKind::Read | OperationKind::Copyback);
        let is_program = matches!(kind, OperationKind::Program | OperationKind::Copyback);
        self.slc[0] += u64::from(is_read && *in_other_mode);
        self.slc[1] += u64::from(is_program && *in_other_mode);
        self.reads += of_copyback;
        self.programs += of_copyback;
        match kind {
            OperationKind::Read => (self.reads, self.sectors) = (self.reads + 1, self.sectors + sectors),
            // Pages of 8 KiB.
            OperationKind::Program => (self.programs, self.sectors) = (self.programs + 1, self.sectors + 16),
            OperationKind::Erase => self.erases += 1,
            OperationKind::Copyback | OperationKind::Hold => {}
        }
    }
}

fn run(sets: &[&str]) -> (RunResult, Recount) {
    let mut recount = Recount::default();
    // Half a page, so that some programs read first.
    let sets = [&["workload.synthetic.request_size=4KiB"], sets].concat();
    let result = try_busy(&sets, &mut [&mut recount]).sound();
    (result, recount)
}

fn energy(result: &RunResult) -> &EnergyResult {
    result.nand.energy.as_ref().expect("every key of energy is given")
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= expected * 1e-12, "{found} in place of {expected}");
}

#[test]
fn energy_is_conserved_over_operations_bytes_and_time() {
    let variants: [&[&str]; 4] = [
        &["run.precondition=steady"],
        &["device.cache_program=true", "device.suspend=program-erase", "run.drain=true"],
        &["device.copyback=true", "ftl.stripe_order=CWDP"],
        &["ftl.mapping=dftl", "ftl.dftl.cache=64KiB"],
    ];
    for sets in variants {
        let (result, recount) = run(&[&ENERGY[..], &["run.series=20ms"][..], sets].concat());
        let found = energy(&result);
        assert_near(found.read_joules, recount.reads as f64 * 3e-6);
        assert_near(found.program_joules, recount.programs as f64 * 17e-6);
        assert_near(found.erase_joules, recount.erases as f64 * 110e-6);
        assert_eq!(found.bus_bytes, recount.sectors * 512);
        assert_near(found.bus_joules, (recount.sectors * 512) as f64 * 250e-12);
        assert!(recount.sectors < (recount.reads + recount.programs) * 16, "some reads are of a part of a page");
        let end_ns = *result.series.as_ref().and_then(|series| series.end_ns.last()).expect("it has a series");
        let idle = 1.0 - result.nand.die_utilization.expect("time passes");
        assert!((found.idle_joules - idle * 4.0 * end_ns as f64 * 1e-9 * 1.5e-3).abs() < 1e-9);
        let parts = found.read_joules + found.program_joules + found.erase_joules + found.bus_joules;
        assert_near(found.total_joules, parts + found.idle_joules);
        let host_gb = (result.host.read_bytes + result.host.write_bytes) as f64 / 1e9;
        assert_near(found.joules_per_gb.expect("the host moved data"), found.total_joules / host_gb);
    }
}

/// What an SLC cache is given besides.
const CACHE: [&str; 5] = [
    "ftl.slc_cache=static",
    "ftl.slc_static_share=0.05",
    "ftl.slc_when_full=fold",
    "device.slc_read_time=20us",
    "device.slc_program_time=100us",
];

#[test]
fn pages_in_slc_mode_take_an_energy_of_their_own() {
    let slc = ["device.slc_read_energy=1uJ", "device.slc_program_energy=5uJ"];
    let (result, recount) = run(&[&ENERGY[..], &CACHE[..], &slc[..], &["device.copyback=true"][..]].concat());
    let found = energy(&result);
    let [reads, programs] = recount.slc;
    assert!(reads > 1_000 && programs > 1_000, "{reads} reads and {programs} programs in SLC mode");
    assert_near(found.read_joules, (recount.reads - reads) as f64 * 3e-6 + reads as f64 * 1e-6);
    assert_near(found.program_joules, (recount.programs - programs) as f64 * 17e-6 + programs as f64 * 5e-6);
    assert_near(found.erase_joules, recount.erases as f64 * 110e-6);
    // A sum that takes an SLC program for another one looks like a figure.
    let message = try_busy(&[&ENERGY[..], &CACHE[..], &slc[..1]].concat(), &mut []).expect_err("a key is missing");
    assert!(message.contains("without `device.slc_program_energy`"), "{message}");
    assert!(message.contains("all seven keys of energy of a drive with an SLC cache, or none"), "{message}");
    let message = try_busy(&[&CACHE[..], &slc[..]].concat(), &mut []).expect_err("five keys are missing");
    assert!(message.contains("without `device.read_energy`, `device.program_energy`"), "{message}");
}

#[test]
fn retries_in_slc_mode_take_its_energy() {
    let slc = ["device.slc_read_energy=1uJ", "device.slc_program_energy=5uJ"];
    let worn = ["device.reliability=linear", "device.linear.erases_a_retry=1", "run.precondition=steady"];
    let (result, recount) = run(&[&ENERGY[..], &CACHE[..], &slc[..], &worn[..]].concat());
    let retries = result.nand.retries.as_ref().expect("pages are judged").total;
    let least_joules = (recount.reads - recount.slc[0]) as f64 * 3e-6 + recount.slc[0] as f64 * 1e-6;
    let all_slc = least_joules + retries as f64 * 1e-6;
    let none_slc = least_joules + retries as f64 * 3e-6;
    let found = energy(&result).read_joules;
    assert!(all_slc < found && found < none_slc, "{all_slc} < {found} < {none_slc} J");
}

#[test]
fn energy_changes_nothing_else() {
    let (without, with) = (run(&[]).0, run(&ENERGY).0);
    assert!(without.nand.energy.is_none());
    assert!(energy(&with).total_joules > 0.0);
    let nand = flashloom_figures::result::NandResult { energy: None, ..with.nand };
    assert_eq!((with.host, with.ftl, nand), (without.host, without.ftl, without.nand));
}

#[test]
fn without_time_there_is_no_energy() {
    assert!(run(&[&ENERGY[..], &["run.timing=counting"][..]].concat()).0.nand.energy.is_none());
}

#[test]
fn a_part_of_the_keys_is_refused_with_what_is_missing() {
    let message = try_busy(&[ENERGY[0], ENERGY[4]], &mut []).expect_err("three keys are missing");
    for part in [
        "`device.read_energy`, `device.idle_power` without `device.program_energy`, `device.erase_energy`",
        "all five keys of energy, or none",
        "set `device.program_energy`, `device.erase_energy`, `device.bus_energy`",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let message = try_busy(&["device.read_energy=3"], &mut []).expect_err("it has no unit");
    assert!(message.contains("has no unit") && message.contains("pJ, nJ, uJ, mJ, J"), "{message}");
}
