//! Hints that stop a wrong conclusion: about arrivals, recordings that are too short for their drive, tails, and rows
//! of a comparison. Each on a configuration that triggers it, and on one that does not.

use std::fmt::Write as _;

use crate::commands::{result, small, validate};
use crate::hints::{about, given_and_not};
use crate::lab::{Lab, has, sets};

/// Writes at random over 12 MB, one every 2 ms: 9,000 of them program that many pages of the small drive.
fn recorded(writes: u64) -> Lab {
    let lab = small();
    let mut trace = "timestamp_ns,op,lba,sectors\n".to_owned();
    for request in 0..writes {
        let page = request.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        writeln!(trace, "{},W,{},16", request * 2_000_000, page % 1_500 * 16).expect("a text takes text");
    }
    lab.write("trace.csv", trace);
    let text = lab.read("small.toml");
    let (_, device) = text.split_once("[device]").expect("the drive follows the workload");
    lab.write("small.toml", format!("[workload]\nkind = \"trace\"\npath = \"trace.csv\"\n[device]{device}"));
    lab
}

/// Keys of an aged drive without a buffer: every write is a program.
const AGED: &str = "run.precondition=steady buffer.capacity=0B";

/// Asserts that a run with these keys has a hint of these words.
fn told(lab: &Lab, keys: &str, hint: &str, words: &[&str]) {
    let result = result(lab, keys);
    let found = result["hints"].as_array().and_then(|hints| hints.iter().find(|one| one["about"] == hint));
    has(&found.unwrap_or_else(|| panic!("{hint} is not among {}", result["hints"]))["text"].to_string(), words);
}

/// The end of the recording finds the queue empty, but most of its requests came in a burst of one moment.
#[test]
fn bursts_that_the_drive_fell_behind_in() {
    let lab = recorded(1);
    let burst = |requests: u64, last_ns: u64| {
        let requests = (0..requests).map(|at| format!("0,W,{},16\n", at * 16)).collect::<String>();
        lab.write("trace.csv", format!("timestamp_ns,op,lba,sectors\n{requests}{last_ns},R,0,16\n"));
        about(&lab, &format!("{AGED} run.precondition=none host.queue_depth=4"))
    };
    assert!(burst(500, 120_000_000).contains(&"overload".to_owned()));
    assert!(!burst(500, 60_000_000_000).contains(&"overload".to_owned()), "idle for most of the time");
}

#[test]
fn a_recording_too_short_for_its_drive_is_told_which_one_it_fills() {
    let lab = recorded(9_000);
    let large = format!("{AGED} device.blocks=1000");
    told(&lab, &large, "short-for-drive", &["wrote 7.03 % of the drive", "`--set device.blocks=70`."]);
    let smaller = about(&lab, &format!("{AGED} device.blocks=70 device.rated_cycles=3000"));
    for hint in ["short-for-drive", "lifetime", "never-collected"] {
        assert!(!smaller.contains(&hint.to_owned()), "{hint}");
    }
    // A smaller drive without room for the addresses wraps them.
    lab.write("trace.csv", lab.read("trace.csv") + "20000000000,W,1000000,16\n");
    told(&lab, &large, "short-for-drive", &["`--set device.blocks=70` `--set workload.addresses=wrap`."]);
}

#[test]
fn a_recording_that_erased_nothing_may_need_smaller_blocks_too() {
    let lab = recorded(9_000);
    let large = format!("{AGED} device.pages=4096");
    told(&lab, &large, "never-collected", &["`--set device.blocks=32` `--set device.pages=70`."]);
    let smaller = about(&lab, &format!("{AGED} device.blocks=32 device.pages=70"));
    assert!(!smaller.contains(&"never-collected".to_owned()));
    lab.write("trace.csv", "timestamp_ns,op,lba,sectors\n0,W,0,16\n2000,W,16,16\n");
    told(&lab, &large, "never-collected", &["or a drive of fewer planes than these 4"]);
}

#[test]
fn a_generated_workload_can_be_longer() {
    let words = "too short for this drive; about 2,000 requests pay for half of it \
                 (`--set workload.synthetic.requests=2000`), and `--set run.timing=counting`";
    told(&small(), &format!("{AGED} workload.synthetic.requests=10"), "never-collected", &[words]);
}

#[test]
fn arrivals_caches_and_retries_that_mislead() {
    let fast = "workload.synthetic.interarrival=20us";
    // Writes that hardly ever wait for the buffer, on a drive of three bits a cell.
    let few_wait = "workload.synthetic.requests=20000 workload.synthetic.read_share=0.1 \
                    workload.synthetic.discard_share=0 workload.synthetic.interarrival=1ms \
                    workload.synthetic.flush_every=0";
    let writes = format!("device.bits_per_cell=3 {few_wait}");
    let reads = format!("{few_wait} workload.synthetic.read_share=1 workload.synthetic.interarrival=2ms");
    for (hint, given, not) in [
        ("overload", fast, "workload.synthetic.interarrival=10ms"),
        ("overload", fast, "workload.replay=closed"),
        ("no-slc-cache", &writes, "device.bits_per_cell=2"),
        ("no-slc-cache", &writes, "buffer.capacity=8MiB"),
        ("no-read-retries", &reads, "device.bits_per_cell=1"),
        ("no-read-retries", &reads, "workload.synthetic.interarrival=30us"),
    ] {
        given_and_not(hint, given, not);
    }
}

/// Writes to a filled drive with a static SLC cache of 832 pages.
const CACHED: &str = "workload.replay=closed workload.queue_depth=8 workload.synthetic.requests=700 \
                      workload.synthetic.read_share=0 workload.synthetic.discard_share=0 \
                      workload.synthetic.flush_every=0 buffer.capacity=0B device.bits_per_cell=3 device.blocks=256 \
                      device.pages=48 device.over_provisioning=0.28 device.slc_read_time=20us \
                      device.slc_program_time=100us ftl.slc_cache=static ftl.slc_static_share=0.1 \
                      run.precondition=fill";

#[test]
fn an_slc_cache_that_was_full_when_the_run_began() {
    for kind in ["ftl.slc_cache=static", "ftl.slc_cache=dynamic"] {
        for when in ["ftl.slc_when_full=beside", "ftl.slc_when_full=fold"] {
            // An empty one, far more than it holds, and hardly any writes.
            for other in
                ["run.precondition=none", "workload.synthetic.requests=60000", "workload.synthetic.read_share=1"]
            {
                given_and_not("slc-cache-full", &format!("{CACHED} {kind} {when}"), other);
            }
        }
    }
    let steady = format!("{CACHED} run.precondition=steady");
    given_and_not("slc-cache-full", &steady, "run.rest=always");
    given_and_not("slc-cache-full", &steady, "ftl.slc_cache=dynamic");
    // A buffer that takes the writes hides it.
    given_and_not("slc-cache-full", CACHED, "buffer.capacity=64MiB");
    told(&small(), CACHED, "slc-cache-full", &["700 of 700 pages found no room in it"]);
}

#[test]
fn the_rate_of_cave_is_not_its_channel_allocator() {
    let lab = small();
    let cave = "buffer.rate=cave ftl.mapping=bast ftl.bast.log_blocks=4";
    for (precondition, words) in [
        ("run.precondition=none", &["first-touch", "sends blocks that leave together"][..]),
        ("run.precondition=fill", &["is the same on this drive"]),
    ] {
        let given = format!("{cave} {precondition}");
        // The paper's allocator in both readings, another rate, and a mapping that spreads pages itself.
        for other in
            ["ftl.placement=first-touch", "ftl.placement=round-robin", "buffer.rate=single", "ftl.mapping=page"]
        {
            given_and_not("no-allocator", &given, other);
        }
        told(&lab, &given, "no-allocator", words);
    }
    let page = lab.succeed("explain cave").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    has(&page, &["`ftl.placement` = \"first-touch\""]);
}

/// Hints that a comparison of two schedulers prints, and those of its JSON.
fn compared(keys: &str) -> (String, Vec<String>) {
    let lab = small();
    let command = "compare small.toml --vary host.scheduler=noop,deadline --json out.json";
    let printed = lab.succeed(&format!("{command}{}", sets(keys))).stderr;
    let comparison = lab.read_json("out.json");
    validate("compare.json", &comparison);
    let hints = comparison["hints"].as_array().cloned().unwrap_or_default();
    assert!(hints.iter().all(|hint| hint["rows"] == serde_json::json!([1, 2])), "{hints:?}");
    (printed, hints.iter().filter_map(|hint| hint["about"].as_str().map(str::to_owned)).collect())
}

#[test]
fn schedulers_without_a_choice() {
    let closed = "workload.replay=closed workload.queue_depth=4";
    let (printed, hints) = compared(&format!("{closed} host.queue_depth=31"));
    has(&printed, &["hint (all rows): Requests hardly waited in the host, because the drive takes 31"]);
    assert_eq!(hints, ["never-queued"]);
    let (printed, hints) = compared(&format!("{closed} host.queue_depth=2"));
    assert!(!printed.contains("hardly waited") && hints.is_empty(), "{printed}");
}

#[test]
fn a_rate_that_is_the_workloads_own() {
    let (printed, hints) = compared("workload.synthetic.interarrival=2ms host.queue_depth=1");
    has(&printed, &["requests/s and throughput, and their intervals, are the workload's"]);
    assert_eq!(hints, ["own-rate"]);
    // One row, with an interval over seeds.
    let seeds = "compare small.toml --set workload.synthetic.interarrival=2ms --seeds 2";
    small().run(seeds).ended(0, &["and their intervals, are the workload's"]);
    for other in ["workload.replay=closed", "workload.synthetic.interarrival=20us"] {
        let (_, hints) = compared(&format!("{other} host.queue_depth=1"));
        assert!(hints.is_empty(), "{other}: {hints:?}");
    }
}
