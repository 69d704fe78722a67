//! Hints after a run: each on a configuration that triggers it, and on one that does not.

use crate::commands::{json, small, timeless};
use crate::lab::Lab;

/// Subjects of the hints of a run.
pub fn about(lab: &Lab, sets: &[&str]) -> Vec<String> {
    let mut arguments = vec!["run", "small.toml", "--json", "-"];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    let result = json(&lab.succeed(&arguments).stdout);
    let hints = result["hints"].as_array().cloned().unwrap_or_default();
    hints.iter().map(|hint| hint["about"].as_str().expect("a hint is about something").to_owned()).collect()
}

/// Asserts that the hint is given with the first keys, and not with the others added.
pub fn given_and_not(hint: &str, given: &[&str], not: &[&str]) {
    let lab = small();
    let with = about(&lab, given);
    assert!(with.iter().any(|one| one == hint), "{hint} is not among {with:?}");
    let without = about(&lab, &[given, not].concat());
    assert!(without.iter().all(|one| one != hint), "{hint} is among {without:?}");
}

const WRITES: &str = "workload.synthetic.read_share=0";

#[test]
fn a_drive_that_never_collected() {
    given_and_not(
        "never-collected",
        &["run.precondition=none", "workload.synthetic.requests=200"],
        &["run.precondition=steady", "workload.synthetic.requests=4000"],
    );
}

#[test]
fn a_run_that_lived_on_erased_pages() {
    given_and_not(
        "unpaid",
        &["run.precondition=fill", "workload.synthetic.requests=4000", WRITES],
        &["run.precondition=steady", "run.rest=never", "workload.synthetic.requests=20000"],
    );
}

#[test]
fn a_workload_that_leaves_what_ageing_wrote() {
    let writes = ["run.precondition=steady", "workload.synthetic.footprint=0.5", WRITES];
    given_and_not("kept-data", &writes, &["run.fill=0.5"]);
}

#[test]
fn a_drive_of_fewer_blocks_than_its_preset() {
    given_and_not("scaled-down", &["run.precondition=steady", WRITES], &["device.over_provisioning_counts=effective"]);
}

#[test]
fn a_run_without_time_has_no_latencies_to_speak_of() {
    let counting = ["--set", "run.timing=counting", "--set", "run.precondition=none"];
    let text =
        small().succeed(&[&["run", "small.toml", "--set", "workload.synthetic.requests=200"], &counting[..]].concat());
    let hint = "so that write amplification is that of a drive that never collects garbage: after";
    assert!(text.stdout.contains(hint) && !text.stdout.contains("latenc"), "{}", text.stdout);
}

#[test]
fn a_sequential_workload_that_began_again() {
    let sequential = ["workload.synthetic.pattern=sequential", "workload.synthetic.footprint_size=1MiB"];
    given_and_not("wrapped", &sequential, &["workload.synthetic.requests=100"]);
}

#[test]
fn a_recording_that_was_wrapped() {
    let lab = small();
    lab.write("trace.csv", "timestamp_ns,op,lba,sectors\n0,W,0,8\n1000,W,1000000000,8\n");
    let text = lab.read("small.toml").replace(
        "[workload.synthetic]",
        "[workload]\nkind = \"trace\"\npath = \"trace.csv\"\naddresses = \"wrap\"\n[workload.synthetic]",
    );
    lab.write("small.toml", text);
    assert!(about(&lab, &[]).contains(&"wrapped".to_owned()));
    assert!(!about(&lab, &["workload.addresses=scale"]).contains(&"wrapped".to_owned()));
}

#[test]
fn a_buffer_that_evicts_too_late() {
    let given = [
        "buffer.rate=single",
        "workload.replay=closed",
        "workload.queue_depth=1",
        WRITES,
        "run.precondition=none",
        "workload.synthetic.requests=1000",
        "workload.synthetic.discard_share=0",
    ];
    given_and_not(
        "buffer",
        &given,
        &["buffer.rate=linear-threshold", "workload.replay=timestamps", "workload.synthetic.interarrival=10ms"],
    );
}

#[test]
fn a_link_that_was_full() {
    given_and_not("link", &["device.link_rate=5MB/s", "workload.replay=closed"], &["device.link_rate=5GB/s"]);
}

#[test]
fn a_queue_that_was_too_short() {
    given_and_not(
        "queue-depth",
        &[
            "host.queue_depth=1",
            "workload.replay=closed",
            "workload.queue_depth=16",
            "workload.synthetic.read_share=1",
            "workload.synthetic.discard_share=0",
        ],
        &["host.queue_depth=64"],
    );
}

/// All requests go to one plane of four.
#[test]
fn one_die_that_all_wait_for() {
    let given = [
        "workload.replay=closed",
        "workload.queue_depth=16",
        "workload.synthetic.read_share=1",
        "workload.synthetic.discard_share=0",
        "workload.synthetic.footprint=0.1",
        "ftl.allocation=static",
        "ftl.static.layout=contiguous",
    ];
    given_and_not("die", &given, &["ftl.static.layout=striped"]);
    assert!(!about(&small(), &given).contains(&"outstanding".to_owned()));
}

#[test]
fn writes_that_never_left_the_buffer() {
    given_and_not("buffered", &[WRITES, "workload.synthetic.requests=10"], &["workload.synthetic.requests=4000"]);
}

#[test]
fn a_workload_that_asked_for_little() {
    let given = [
        "workload.replay=closed",
        "workload.queue_depth=1",
        "workload.synthetic.read_share=1",
        "workload.synthetic.flush_every=0",
    ];
    given_and_not("outstanding", &given, &["workload.queue_depth=64"]);
}

#[test]
fn a_percentile_of_few_samples() {
    let reads = [
        "workload.synthetic.read_share=1",
        "workload.synthetic.discard_share=0",
        "run.precondition=none",
        "workload.replay=closed",
        "workload.queue_depth=64",
    ];
    given_and_not("few-samples", &reads, &["workload.synthetic.requests=10000"]);
}

#[test]
fn hints_are_three_at_most_follow_the_tables_and_can_be_left_out() {
    let lab = small();
    let text = lab.succeed(&["run", "small.toml"]).stdout;
    let shown = text.matches("\nhint: ").count();
    assert!((1..=3).contains(&shown), "{text}");
    for (flag, has_hints) in [("--no-hints", false), ("--quiet", true)] {
        assert_eq!(lab.succeed(&["run", "small.toml", flag]).stdout.contains("hint: "), has_hints, "{flag}");
        let result = json(&lab.succeed(&["run", "small.toml", "--json", "-", flag]).stdout);
        assert_eq!(result.get("hints").is_some(), has_hints, "{flag}");
    }
}

#[test]
fn a_result_names_the_program_its_files_and_its_configuration() {
    let lab = small();
    lab.write("trace.csv", "timestamp_ns,op,lba,sectors\n0,W,0,8\n1000,R,8,8\n");
    let text = lab
        .read("small.toml")
        .replace("[workload.synthetic]", "[workload]\nkind = \"trace\"\npath = \"trace.csv\"\n[workload.synthetic]");
    lab.write("small.toml", text);
    let run =
        |sets: &[&str]| timeless(json(&lab.succeed(&[&["run", "small.toml", "--json", "-"], sets].concat()).stdout));
    let result = run(&[]);
    let provenance = &result["provenance"];
    assert_eq!(provenance["version"], env!("CARGO_PKG_VERSION"));
    let revision = provenance["revision"].as_str().expect("there is a revision");
    let is_hash =
        |text: &str, digits: usize| text.len() == digits && text.chars().all(|digit| digit.is_ascii_hexdigit());
    let (commit, changes) = revision.split_once("-dirty-").unwrap_or((revision, "000000000000"));
    assert!(revision == "unknown" || is_hash(commit, 40) && is_hash(changes, 12), "{revision}");
    let inputs = provenance["inputs"].as_array().expect("there are inputs");
    let named: Vec<_> = inputs.iter().map(|input| (input["role"].as_str(), input["name"].as_str())).collect();
    assert_eq!(named, [(Some("experiment"), Some("small.toml")), (Some("workload"), Some("trace.csv"))]);
    for input in inputs {
        let content = lab.read(input["name"].as_str().expect("a name"));
        let print = flashloom::workload::Fingerprint::of("x", content.as_bytes());
        assert_eq!((&input["sha256"], &input["bytes"]), (&print.sha256.into(), &print.bytes.into()));
    }
    assert_eq!(run(&[]), result, "the same bytes");
    let other = run(&["--set", "run.seed=9"]);
    assert_ne!(other["provenance"]["config_sha256"], provenance["config_sha256"]);
    assert_eq!(other["provenance"]["inputs"], provenance["inputs"]);
}

#[test]
fn a_comparison_says_each_hint_once_with_its_rows() {
    let lab = small();
    let sweep =
        ["compare", "small.toml", "--vary", "device.link_rate=5MB/s,5GB/s", "--vary", "host.scheduler=noop,fios"];
    let compare = |more: &[&str]| lab.succeed(&[&sweep[..], &["--set", "workload.replay=closed"], more].concat());
    let answer = compare(&["--set", "device.full_duplex=false", "--columns", "iops,read.p99_9,read.p99"]);
    assert!(!answer.stdout.contains("hint"), "{}", answer.stdout);
    let hints: Vec<&str> = answer.stderr.lines().filter(|line| line.starts_with("hint")).collect();
    assert!(hints.iter().all(|hint| !hint.contains("link")), "the link's rate varies: {}", answer.stderr);
    let few = "hint (all rows): Fewer than 10 samples lie beyond a percentile, so that it moves with chance: \
               read.p99_9 rests on 1 of 1,";
    assert_eq!(hints.iter().filter(|hint| hint.starts_with(few)).count(), 1, "{}", answer.stderr);
    let never = ["--set", "run.precondition=none", "--set", "workload.synthetic.requests=300", "--columns", "waf"];
    let answer = compare(&never);
    assert!(answer.stderr.contains("hint (all rows): No block was erased"), "{}", answer.stderr);
    assert_eq!(answer.stderr.matches("hint").count(), 1, "no column is about time: {}", answer.stderr);
    assert!(!compare(&[&never[..], &["--no-hints"]].concat()).stderr.contains("hint"));
    let some =
        ["compare", "small.toml", "--vary", "workload.synthetic.read_share=0,0.1,0.4", "--columns", "read.p99_9"];
    let answer = lab.succeed(&[&some[..], &["--set", "workload.replay=closed"]].concat());
    assert!(answer.stderr.contains("hint (rows 2, 3; figures of row 2): Fewer than 10"), "{}", answer.stderr);
}
