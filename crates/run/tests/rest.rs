//! A drive aged until steady has as many free blocks as after its last overwrite: fewer than with idle time. These
//! tests show who makes up for that: the rest before the workload, or the workload.

use crate::support::run;
use flashloom_figures::result::RunResult;

const PLANES: u64 = 4;
const PAGES: u64 = 64;

/// Writes that leave the drive idle most of the time: a tenth of its throughput.
const LIGHT: &str = "
[workload.synthetic]
requests = 6000
request_size = \"8KiB\"
interarrival = \"8ms\"

[device]
channels = 2
ways = 2
planes = 1
blocks = 64
pages = 64
over_provisioning = 0.2

[run]
precondition = \"steady\"
";

#[test]
fn idle_time_collects_in_proportion_to_what_was_written_and_not_what_ageing_left() {
    let [rested, unrested] = [&[][..], &["run.rest=never"]].map(|sets| run(LIGHT, sets, true));
    let collections = |name: &str| rested.ftl.gc.as_ref().expect("it collects").whole(name);
    assert!(collections("foreground_collections") == Some(0) && collections("background_collections") > Some(0));
    let waf = rested.precondition.as_ref().and_then(|aged| aged.waf).expect("it is steady");
    let in_proportion = rested.ftl.host_page_writes as f64 * (waf - 1.0);
    let copies = |result: &RunResult| result.ftl.page_copies as f64;
    // A plane opens whole blocks, so that what was written may ask for one more or one less in each. Two more free
    // blocks of 64 are so much less spare space.
    let a_block = (PLANES * PAGES) as f64 * (waf - 1.0);
    assert!(copies(&rested) <= 1.25 * in_proportion + a_block, "{} copies, {in_proportion}", copies(&rested));
    // The level of idle time is two blocks a plane above the one that a steady load holds.
    assert!(copies(&unrested) >= copies(&rested) + a_block, "{} and {}", copies(&unrested), copies(&rested));
}

#[test]
fn a_workload_that_gives_no_idle_time_finds_the_drive_as_the_last_overwrite_left_it() {
    let with = |rest: &str| {
        let text = LIGHT.replace("interarrival = \"8ms\"\n", "");
        run(&text, &[&format!("run.rest={rest}")], false).ftl
    };
    assert_eq!(with("open"), with("never"));
    assert!(with("always").page_copies < with("never").page_copies, "free blocks that it has not paid for");
}
