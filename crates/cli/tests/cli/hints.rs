//! Hints after a run: each on a configuration that triggers it, and on one that does not.

use crate::commands::{result, small, timeless};
use crate::lab::{Lab, has, sets};

/// Subjects of the hints of a run.
pub fn about(lab: &Lab, keys: &str) -> Vec<String> {
    let result = result(lab, keys);
    let hints = result["hints"].as_array().cloned().unwrap_or_default();
    hints.iter().map(|hint| hint["about"].as_str().expect("a hint is about something").to_owned()).collect()
}

/// Asserts that the hint is given with the first keys, and not with the others added.
pub fn given_and_not(hint: &str, given: &str, not: &str) {
    let lab = small();
    let with = about(&lab, given);
    assert!(with.iter().any(|one| one == hint), "{hint} is not among {with:?} with {given}");
    let without = about(&lab, &format!("{given} {not}"));
    assert!(without.iter().all(|one| one != hint), "{hint} is among {without:?} with {given} {not}");
}

#[test]
fn each_hint_is_given_where_it_is_true_and_not_elsewhere() {
    for (hint, given, not) in [
        (
            "never-collected",
            "run.precondition=none workload.synthetic.requests=200",
            "run.precondition=steady workload.synthetic.requests=4000",
        ),
        (
            "unpaid",
            "run.precondition=fill workload.synthetic.requests=4000 workload.synthetic.read_share=0",
            "run.precondition=steady run.rest=never workload.synthetic.requests=20000",
        ),
        // The workload leaves what ageing wrote.
        (
            "kept-data",
            "run.precondition=steady workload.synthetic.footprint=0.5 workload.synthetic.read_share=0",
            "run.fill=0.5",
        ),
        // A drive of fewer blocks than its preset.
        (
            "scaled-down",
            "run.precondition=steady workload.synthetic.read_share=0",
            "device.over_provisioning_counts=effective",
        ),
        // A sequential workload that began again.
        (
            "wrapped",
            "workload.synthetic.pattern=sequential workload.synthetic.footprint_size=1MiB",
            "workload.synthetic.requests=100",
        ),
        // A buffer that evicts too late.
        (
            "buffer",
            "buffer.rate=single workload.replay=closed workload.queue_depth=1 workload.synthetic.read_share=0 \
             run.precondition=none workload.synthetic.requests=1000 workload.synthetic.discard_share=0",
            "buffer.rate=linear-threshold workload.replay=timestamps workload.synthetic.interarrival=10ms",
        ),
        ("link", "device.link_rate=5MB/s workload.replay=closed", "device.link_rate=5GB/s"),
        (
            "queue-depth",
            "host.queue_depth=1 workload.replay=closed workload.queue_depth=16 workload.synthetic.read_share=1 \
             workload.synthetic.discard_share=0",
            "host.queue_depth=64",
        ),
        // Writes that never left the buffer.
        (
            "buffered",
            "workload.synthetic.read_share=0 workload.synthetic.requests=10",
            "workload.synthetic.requests=4000",
        ),
        // A workload that asked for little.
        (
            "outstanding",
            "workload.replay=closed workload.queue_depth=1 workload.synthetic.read_share=1 \
             workload.synthetic.flush_every=0",
            "workload.queue_depth=64",
        ),
        (
            "few-samples",
            "workload.synthetic.read_share=1 workload.synthetic.discard_share=0 run.precondition=none \
             workload.replay=closed workload.queue_depth=64",
            "workload.synthetic.requests=10000",
        ),
    ] {
        given_and_not(hint, given, not);
    }
}

#[test]
fn a_run_without_time_has_no_latencies_to_speak_of() {
    let keys = sets("workload.synthetic.requests=200 run.timing=counting run.precondition=none");
    let hint = "so that write amplification is that of a drive that never collects garbage: after";
    let text = small().shows(&format!("run small.toml{keys}"), &[hint]);
    assert!(!text.contains("latenc"), "{text}");
}

/// The small experiment on a recording.
fn on(trace: &str, more: &str) -> Lab {
    let lab = small();
    let workload = format!("[workload]\nkind = \"trace\"\npath = \"trace.csv\"\n{more}[workload.synthetic]");
    lab.write("trace.csv", trace);
    lab.write("small.toml", lab.read("small.toml").replace("[workload.synthetic]", &workload));
    lab
}

#[test]
fn a_recording_that_was_wrapped() {
    let trace = "timestamp_ns,op,lba,sectors\n0,W,0,8\n1000,W,1000000000,8\n";
    let lab = on(trace, "addresses = \"wrap\"\n");
    assert!(about(&lab, "").contains(&"wrapped".to_owned()));
    assert!(!about(&lab, "workload.addresses=scale").contains(&"wrapped".to_owned()));
}

/// All requests go to one plane of four.
#[test]
fn one_die_that_all_wait_for() {
    let given = "workload.replay=closed workload.queue_depth=16 workload.synthetic.read_share=1 \
                 workload.synthetic.discard_share=0 workload.synthetic.footprint=0.1 ftl.allocation=static \
                 ftl.static.layout=contiguous";
    given_and_not("die", given, "ftl.static.layout=striped");
    assert!(!about(&small(), given).contains(&"outstanding".to_owned()));
}

#[test]
fn hints_are_three_at_most_follow_the_tables_and_can_be_left_out() {
    let lab = small();
    let text = lab.succeed("run small.toml").stdout;
    let shown = text.matches("\nhint: ").count();
    assert!((1..=3).contains(&shown), "{text}");
    for (flag, has_hints) in [("--no-hints", false), ("--quiet", true)] {
        let text = lab.succeed(&format!("run small.toml {flag}")).stdout;
        assert_eq!(text.contains("hint: "), has_hints, "{flag}");
        let result = lab.json(&format!("run small.toml --json - {flag}"));
        assert_eq!(result.get("hints").is_some(), has_hints, "{flag}");
    }
}

#[test]
fn a_result_names_the_program_its_files_and_its_configuration() {
    let lab = on("timestamp_ns,op,lba,sectors\n0,W,0,8\n1000,R,8,8\n", "");
    let run = |keys: &str| timeless(result(&lab, keys));
    let result = run("");
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
    assert_eq!(run(""), result, "the same bytes");
    let other = run("run.seed=9");
    assert_ne!(other["provenance"]["config_sha256"], provenance["config_sha256"]);
    assert_eq!(other["provenance"]["inputs"], provenance["inputs"]);
}

#[test]
fn a_comparison_says_each_hint_once_with_its_rows() {
    let lab = small();
    let compare = |more: &str| {
        let vary = "--vary device.link_rate=5MB/s,5GB/s --vary host.scheduler=noop,fios --set workload.replay=closed";
        lab.succeed(&format!("compare small.toml {vary} {more}"))
    };
    let answer = compare("--set device.full_duplex=false --columns iops,read.p99_9,read.p99");
    assert!(!answer.stdout.contains("hint"), "{}", answer.stdout);
    let hints: Vec<&str> = answer.stderr.lines().filter(|line| line.starts_with("hint")).collect();
    assert!(hints.iter().all(|hint| !hint.contains("link")), "the link's rate varies: {}", answer.stderr);
    let few = "hint (all rows): Fewer than 10 samples lie beyond a percentile, so that it moves with chance: \
               read.p99_9 rests on 1 of 1,";
    assert_eq!(hints.iter().filter(|hint| hint.starts_with(few)).count(), 1, "{}", answer.stderr);
    let never = "--set run.precondition=none --set workload.synthetic.requests=300 --columns waf";
    let said = compare(never).stderr;
    has(&said, &["hint (all rows): No block was erased"]);
    assert_eq!(said.matches("hint").count(), 1, "no column is about time: {said}");
    assert!(!compare(&format!("{never} --no-hints")).stderr.contains("hint"));
    let some = "--vary workload.synthetic.read_share=0,0.1,0.4 --columns read.p99_9 --set workload.replay=closed";
    let answer = lab.run(&format!("compare small.toml {some}"));
    answer.ended(0, &["hint (rows 2, 3; figures of row 2): Fewer than 10"]);
}
