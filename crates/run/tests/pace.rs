//! Maximum wait of a write while the drive collects garbage: with deadlines at most eight block erases, for any mapping
//! and any size of the map (four on the drive of small blocks); with shares, that is without looking ahead, longer.

use crate::support;
use flashloom_units::{MS, Ns};

const ERASE: Ns = 8 * MS;

/// A TLC drive in its steady state, on which the host keeps four page writes outstanding.
const EXPERIMENT: &str = r#"
[workload]
queue_depth = 4

[workload.synthetic]
requests = 20_000

[device]
channels = 2
ways = 2
planes = 2
over_provisioning = "15 %"
bits_per_cell = 3
read_time = "40us"
program_time = "300us"
program_time_2 = "600us"
program_time_3 = "900us"
erase_time = "8ms"
suspend = "program-erase"

[run]
precondition = "steady"
"#;

/// Pages of 16 KiB, so that the map of a plane is a small part of a block.
const LARGE_PAGES: [&str; 4] =
    ["device.page_size=16KiB", "workload.synthetic.request_size=16KiB", "device.blocks=64", "device.pages=192"];

/// Pages of 4 KiB and many small blocks, so that a plane has several blocks of the map.
const LARGE_MAP: [&str; 4] =
    ["device.page_size=4KiB", "workload.synthetic.request_size=4KiB", "device.blocks=512", "device.pages=48"];

fn longest_write(pace: &str, seed: u64, sets: &[&str]) -> Ns {
    let [pace, seed] = [format!("ftl.gc_pace={pace}"), format!("run.seed={seed}")];
    let result = support::run(EXPERIMENT, &[sets, &[&pace[..], &seed[..]]].concat(), false);
    let writes = result.host.latency_ns.and_then(|latency| latency.write);
    writes.expect("writes completed").max
}

/// Checks a bound of so many erases on the drive with a mapping and each of two seeds.
fn hold(erases: u64, sets: &[&str]) {
    let bound = erases * ERASE;
    for seed in [1, 2] {
        let [deadline, share] = ["deadline", "share"].map(|pace| longest_write(pace, seed, sets));
        println!("{sets:?}, seed {seed}: {deadline} ns with deadlines, {share} ns with shares");
        assert!(deadline <= bound, "{sets:?}, seed {seed}: a write took {deadline} ns");
        assert!(share > bound, "{sets:?}, seed {seed}: without deadlines no write took longer than {share} ns");
    }
}

#[test]
fn with_the_map_in_memory_no_write_waits_longer_than_eight_erases() {
    hold(8, &LARGE_PAGES);
}

#[test]
fn with_a_small_map_on_flash_no_write_waits_longer_than_eight_erases() {
    hold(8, &[&LARGE_PAGES[..], &["ftl.mapping=dftl", "ftl.dftl.cache=16KiB"]].concat());
}

#[test]
fn with_a_map_of_several_blocks_a_plane_no_write_waits_longer_than_four_erases() {
    hold(4, &[&LARGE_MAP[..], &["ftl.mapping=dftl", "ftl.dftl.cache=16KiB"]].concat());
}
