//! Commands on good input: their output and their files.

use serde_json::Value;

use crate::lab::{Lab, has, json, sets};

/// A small drive under a short workload of every operation: reads, writes, discards, flushes.
const SMALL: &str = "
[workload.synthetic]
requests = 4000
read_share = 0.4
discard_share = 0.02
sync_share = 0.2
flush_every = 100
request_size = \"8KiB\"
interarrival = \"100us\"
tasks = 4

[device]
channels = 2
ways = 2
planes = 1
blocks = 40
pages = 32
over_provisioning = \"25%\"

[buffer]
capacity = \"256KiB\"

[run]
seed = 7
timeline_interval = \"10ms\"
";

/// A short recording.
pub const TRACE: &str = "timestamp_ns,op,lba,sectors,task\n0,W,0,8,1\n1000,R,8,8,2\n2000,W,16,8,1\n2000,F,0,0,1\n";

/// A lab with the small experiment in `small.toml`.
pub fn small() -> Lab {
    let lab = Lab::new();
    lab.write("small.toml", SMALL);
    lab
}

/// The result of the small experiment with these keys.
pub fn result(lab: &Lab, keys: &str) -> Value {
    lab.json(&format!("run small.toml --json -{}", sets(keys)))
}

/// Asserts that the checked-in schema of that name accepts the value.
pub fn validate(name: &str, value: &Value) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema").join(name);
    let schema = json(&std::fs::read_to_string(file).expect("the schema is checked in"));
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    let errors: Vec<_> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// A result without the run's own cost (wall time and the like).
pub fn timeless(mut result: Value) -> Value {
    result.as_object_mut().expect("a result is an object").remove("run");
    result
}

#[test]
fn a_run_prints_tables_and_nothing_beside() {
    let answer = small().succeed("run small.toml --verify");
    assert_eq!(answer.stderr, "");
    has(
        &answer.stdout,
        &["requests", "4,000 (", "noop", "write amplification", "every flash command", "reads", "p99.9"],
    );
}

#[test]
fn json_on_standard_output_is_alone_there_and_is_what_the_schema_says() {
    for timing in ["timed", "counting"] {
        for precondition in ["none", "fill", "steady"] {
            let result = result(&small(), &format!("run.timing={timing} run.precondition={precondition}"));
            validate("result.json", &result);
            validate("config.json", &result["config"]);
            assert_eq!(result["host"]["requests"], 4_000);
            assert_eq!(result["host"]["completed"], 4_000);
            assert_eq!(result["host"]["latency_ns"].is_object(), timing == "timed");
            assert_eq!(result["precondition"].is_object(), precondition != "none");
        }
    }
}

#[test]
fn a_drive_that_never_becomes_steady_fails_its_check() {
    let keys = "run.precondition=steady run.steady_windows=3 run.steady_tolerance=0.0001 run.steady_window=0.01";
    let lab = small();
    let answer = lab.run(&format!("run small.toml --json result.json{}", sets(keys)));
    let answer = answer.ended(
        1,
        &["on a drive of 5120 which are all to be used first", "raise run.steady_windows or run.steady_tolerance"],
    );
    assert_eq!(answer.stdout, "");
    assert_eq!(lab.files(), ["small.toml"]);
}

#[test]
fn a_drive_that_dies_is_validated_by_nothing_and_generates_no_whole_trace() {
    let lab = small();
    lab.succeed("run small.toml --log log.csv");
    let validate = "validate small.toml --against log.csv --set workload.sort=true";
    lab.succeed(validate);
    for command in [validate, "generate small.toml --out cut.csv"] {
        let answer = lab.run(&format!("{command} --set device.program_failures=0.004"));
        answer.ended(1, &["the drive's life ended after "]);
    }
}

#[test]
fn the_end_of_a_drives_life_is_told_with_the_result_until_then_and_fails() {
    let lab = small();
    let failing = sets("device.program_failures=0.001 workload.synthetic.requests=40000");
    let answer = lab.run(&format!("run small.toml --json result.json{failing}")).ended(1, &[]);
    assert!(answer.stderr.starts_with("error: the drive's life ended after "), "{}", answer.stderr);
    has(&answer.stdout, &["end of life"]);
    let result = lab.read_json("result.json");
    validate("result.json", &result);
    assert!(result["end_of_life"]["unserved_requests"].as_u64() > Some(0));
    assert!(result["ftl"]["retired_blocks"]["program"].as_u64() > Some(0));
    assert!(result["nand"]["failed_programs"]["total"].as_u64() > Some(0));
    let answer = lab.run(&format!("compare small.toml --vary ftl.gc=greedy,fifo{failing}"));
    has(&answer.ended(1, &["ended in 2 of 2 runs"]).stdout, &["life in pages"]);
}

/// Keys of a drive that wears out before its workload ends.
const READ_ONLY: &str = "device.program_failures=0.001 workload.synthetic.requests=40000 run.end_of_life=read-only";

#[test]
fn a_workload_can_go_on_against_a_worn_out_drive_and_an_experiment_can_expect_that() {
    let lab = small();
    let failing = sets(READ_ONLY);
    let run = |file| lab.run(&format!("run {file} --json -{failing}"));
    let result = json(&run("small.toml").ended(1, &[]).stdout);
    validate("result.json", &result);
    let number = |path: &str| result.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    assert_eq!(number("/host/requests"), 40_000);
    let failed = number("/host/failed/end_of_life") + number("/host/failed/read_only");
    assert!(number("/host/failed/end_of_life") > 0 && number("/host/failed/read_only") > 0, "{result:#}");
    assert_eq!((number("/host/completed") + failed, number("/end_of_life/unserved_requests")), (40_000, failed));

    for (field, code) in [("host.failed.read_only", 0), ("end_of_life.host_page_writes", 0), ("host.completed", 1)] {
        let expect = format!("[[expect]]\nclaim = \"it wears out\"\nformula = \"min({field})\"\nat_least = 1\n");
        lab.write("expecting.toml", format!("{SMALL}\n{expect}"));
        run("expecting.toml").ended(code, &[]);
        let compare = format!("compare expecting.toml --vary ftl.gc=greedy,fifo{failing}");
        lab.run(&compare).ended(code, &[]);
        lab.run(&format!("{compare} --no-expect")).ended(1, &[]);
    }
}

#[test]
fn the_summary_of_a_run_says_how_many_requests_failed() {
    let text = small().run(&format!("run small.toml{}", sets(READ_ONLY))).stdout;
    let line = text.lines().find(|line| line.trim_start().starts_with("failed")).unwrap_or_default();
    assert!(line.contains(" with the drive's life, ") && line.ends_with(" on a read-only drive"), "{text}");
}

#[test]
fn a_drive_whose_life_ends_while_it_is_aged_serves_nothing() {
    let failing = sets("device.program_failures=0.2 run.precondition=steady");
    let result = json(&small().run(&format!("run small.toml --json -{failing}")).ended(1, &[]).stdout);
    assert_eq!(result["host"]["completed"], 0);
    assert_eq!(result["end_of_life"]["host_page_writes"], result["precondition"]["page_writes"]);
}

#[test]
fn a_result_has_what_applies_to_its_mapping_and_nothing_else() {
    let lab = small();
    let result = |keys: &str| {
        let result = lab.json(&format!("run small.toml --verify --json -{}", sets(keys)));
        validate("result.json", &result);
        result
    };
    let has = |result: &Value, present: &[&str], absent: &[&str]| {
        let is_there = |path: &&str| result.pointer(path).is_some();
        let (missing, odd) = (present.iter().find(|path| !is_there(path)), absent.iter().find(|path| is_there(path)));
        assert_eq!((missing, odd), (None, None), "{result:#}");
    };
    let of_pages = ["/ftl/allocation", "/ftl/gc", "/ftl/gc/foreground_collections"];
    let of_logs = [
        "/ftl/mapping/full_merges",
        "/ftl/mapping/associativity",
        "/ftl/mapping/blocking_bound_ns",
        "/ftl/mapping/longest_wait_ns",
        "/ftl/placement",
    ];
    let of_some = [
        "/ftl/mapping/map_hits",
        "/ftl/mapping/streams",
        "/ftl/allocation/streams",
        "/ftl/mapping/wear_moves",
        "/buffer/order/padding_pages",
        "/buffer/order/filled_pages",
    ];
    has(&result(""), &of_pages, &[&of_logs[..], &of_some].concat());
    let kast = result("ftl.mapping=kast ftl.kast.log_blocks=5 buffer.rate=cave ftl.placement=round-robin");
    has(&kast, &of_logs, &[&of_pages[..], &of_some].concat());
    let kast = &kast["ftl"]["mapping"];
    assert!(kast["blocking_ns"]["max"].as_u64() <= kast["blocking_bound_ns"].as_u64());
    for (keys, present) in [
        ("ftl.mapping=dftl ftl.dftl.cache=1KiB", &["/ftl/mapping/map_hit_ratio"][..]),
        ("ftl.allocation=slap", &["/ftl/allocation/streams"]),
        ("ftl.wear_levelling=static", &["/ftl/mapping/wear_moves"]),
        ("buffer.order=block-lru buffer.block-lru.padding=true", &["/buffer/order/padding_pages"]),
        ("buffer.order=cflru", &["/buffer/order/filled_pages", "/buffer/order/dropped_pages"]),
    ] {
        has(&result(keys), present, &of_logs);
    }
}

#[test]
fn a_run_and_a_comparison_show_what_matters_for_their_mapping() {
    let lab = small();
    let logs = sets("ftl.kast.log_blocks=5 ftl.bast.log_blocks=5 ftl.dftl.cache=1KiB");
    let run = |mapping: &str, parts: &[&str]| lab.shows(&format!("run small.toml --set {mapping}{logs}"), parts);
    run("ftl.mapping=kast", &["full merges", "longest merge", "merge bound", "largest k"]);
    run("ftl.mapping=dftl", &["map hits", "translation pages read"]);
    let varies = "--vary ftl.mapping=page,dftl,bast,kast --vary buffer.order=page-lru,block-lru";
    lab.shows(
        &format!("compare small.toml{logs} {varies}"),
        &["buffer hits", "map hits", "merges", "largest k", "longest merge"],
    );
    let text = lab.succeed("compare small.toml --vary host.queue_depth=1,8").stdout;
    let shown = ["buffer hits", "map hits", "merges", "life in pages"].iter().find(|&&part| text.contains(part));
    assert_eq!(shown, None, "{text}");
}

#[test]
fn verification_adds_integrity_and_anatomy_and_changes_nothing_else() {
    let lab = small();
    let mut plain = timeless(result(&lab, ""));
    let mut verified = timeless(lab.json("run small.toml --json - --verify"));
    assert!(verified["integrity"]["sectors_checked"].as_u64().is_some_and(|sectors| sectors > 0));
    assert!(verified["host"].as_object_mut().unwrap().remove("anatomy").is_some());
    for result in [&mut plain, &mut verified] {
        result.as_object_mut().unwrap().remove("integrity");
    }
    assert_eq!(plain, verified);
}

#[test]
fn a_comparison_is_in_the_order_of_the_cross_product() {
    let lab = small();
    let varies = "--vary host.scheduler=noop,deadline,cfq,anticipatory,pardispatcher --vary host.queue_depth=1,8";
    let comparison = lab.json(&format!("compare small.toml --json - --csv all.csv --verify {varies}"));
    validate("compare.json", &comparison);
    let runs = comparison["runs"].as_array().unwrap();
    let varied: Vec<_> = runs.iter().map(|run| run["vary"].to_string()).collect();
    assert_eq!(varied.len(), 10);
    assert_eq!(varied[0], r#"{"host.scheduler":"noop","host.queue_depth":1}"#);
    assert_eq!(varied[3], r#"{"host.scheduler":"deadline","host.queue_depth":8}"#);
    let csv = lab.read("all.csv");
    assert_eq!(csv.lines().count(), 11);
    assert!(csv.starts_with("host.scheduler,host.queue_depth,host.requests,"), "{csv}");
}

#[test]
fn a_comparison_of_a_file_with_a_vary_section_needs_no_options() {
    let lab = small();
    lab.write("vary.toml", format!("{SMALL}\n[vary]\nhost.scheduler = [\"noop\", \"pardispatcher\"]\n"));
    let table = lab.shows("compare vary.toml", &["\nnoop ", "\npardispatcher "]);
    assert!(table.starts_with("scheduler"), "{table}");
    lab.run("run vary.toml").ended(0, &["`flashloom compare` runs them all"]);
}

#[test]
fn what_an_experiment_expects_is_shown_and_decides_the_exit_status() {
    let lab = small();
    let expect = |bound: &str| {
        let vary = "[vary]\nhost.scheduler = [\"noop\", \"pardispatcher\"]\nhost.queue_depth = [1, 8]\n";
        let formula = "min(host.iops{queue_depth=8} / host.iops{queue_depth=1})";
        let expect = format!("[[expect]]\nclaim = \"more at once is faster\"\nformula = \"{formula}\"\n{bound}\n");
        lab.write("expect.toml", format!("{SMALL}\n{vary}\n{expect}"));
        lab.run("compare expect.toml --json expect.json --quiet --no-hints")
    };
    let held = expect("at_least = 1");
    assert_eq!((held.code, held.stderr.as_str()), (Some(0), ""));
    has(&held.stdout, &["more at once is faster  holds"]);
    let comparison = lab.read_json("expect.json");
    validate("compare.json", &comparison);
    let found = comparison["expectations"][0]["value"].as_f64().expect("the drive has a throughput");
    let runs: Vec<f64> =
        (0..4).map(|run| comparison["runs"][run]["result"]["host"]["iops"].as_f64().unwrap()).collect();
    assert_eq!(found, (runs[1] / runs[0]).min(runs[3] / runs[2]));
    let failed = expect("at_most = 1");
    assert_eq!((failed.code, failed.stderr.as_str()), (Some(1), "error: 1 of 1 expectations do not hold\n"));
    has(&failed.stdout, &["more at once is faster  FAILS"]);
    assert_eq!(lab.read_json("expect.json")["expectations"][0]["holds"], false);
    let other = "compare expect.toml --set host.queue_depth=4";
    lab.refuses(other, &[]);
    assert!(!lab.succeed(&format!("{other} --no-expect")).stdout.contains("more at once"));
    lab.succeed("run expect.toml");
}

#[test]
fn files_are_written_whole_and_nothing_is_left_beside_them() {
    let lab = small();
    lab.succeed("run small.toml --json result.json --timeline timeline.csv");
    assert_eq!(lab.files(), ["result.json", "small.toml", "timeline.csv"]);
    let (result, timeline) = (lab.read_json("result.json"), lab.read("timeline.csv"));
    assert_eq!(result["host"]["completed"], column(&timeline, "completed").iter().sum::<u64>());
    assert!(timeline.lines().count() > 10, "{timeline}");
}

/// The numbers of a column of a timeline.
fn column(timeline: &str, name: &str) -> Vec<u64> {
    let mut lines = timeline.lines();
    let at = lines.next().and_then(|header| header.split(',').position(|column| column == name)).unwrap();
    lines.map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
}

#[test]
fn a_timeline_has_two_lines_for_a_long_silence() {
    let lab = small();
    lab.write("far.csv", "timestamp_ns,op,lba,sectors\n0,W,0,8\n1000000000000000000,R,0,8\n");
    let far = sets("workload.kind=trace workload.path=far.csv workload.replay=timestamps");
    lab.succeed(&format!("run small.toml{far} --timeline timeline.csv"));
    let timeline = lab.read("timeline.csv");
    assert_eq!(column(&timeline, "completed").iter().sum::<u64>(), 2);
    assert!(timeline.lines().count() < 10, "{timeline}");
}

#[test]
fn a_timeline_without_time_has_a_line_for_each_so_many_pages() {
    let lab = small();
    let counting = sets("run.timing=counting run.timeline_pages=100");
    lab.succeed(&format!("run small.toml{counting} --json result.json --timeline timeline.csv"));
    let (result, timeline) = (lab.read_json("result.json"), lab.read("timeline.csv"));
    let total = |name: &str| column(&timeline, name).iter().sum::<u64>();
    assert_eq!(result["host"]["completed"], total("completed"));
    let programs = &result["nand"]["programs"];
    assert_eq!(programs["total"], total("programs"));
    for origin in ["host", "gc", "merge", "map", "wear"] {
        assert_eq!(programs[origin], total(&format!("programs_{origin}")), "{origin}");
    }
    let written = column(&timeline, "pages_written");
    assert!(written.len() > 10 && written.windows(2).all(|pair| pair[0] < pair[1]), "{timeline}");
    assert_eq!(result["ftl"]["host_page_writes"], written[written.len() - 1]);
    assert!(timeline.lines().skip(1).all(|line| line.starts_with(',')), "no time: {timeline}");
}

#[test]
fn what_takes_part_in_few_runs_is_shown_where_it_does() {
    let lab = small();
    let rated = "device.rated_cycles=3000 run.fill=0.9 run.precondition=steady run.rest=never";
    let result = result(&lab, rated);
    validate("result.json", &result);
    let host = &result["host"];
    assert!(host["unmapped_read_sectors"].as_u64() > Some(0));
    assert_eq!(host["latency_ns"]["flush"]["count"], host["flushes"]);
    assert_eq!(host["latency_ns"]["discard"]["count"], host["discards"]);
    assert_eq!((&host["fua_writes"], host["latency_ns"].get("fua_write")), (&Value::from(0), None));
    let busiest = |part: &str| result["nand"][part]["utilization"].as_f64().unwrap();
    assert!(busiest("busiest_die") >= result["nand"]["die_utilization"].as_f64().unwrap());
    assert!(busiest("busiest_channel") >= result["nand"]["channel_utilization"].as_f64().unwrap());
    let lifetime = &result["wear"]["lifetime"];
    let written = host["write_bytes"].as_f64().unwrap();
    let worst = lifetime["worst_bytes"].as_f64().unwrap();
    let charge = result["ftl"]["room"]["charge"].as_f64().unwrap();
    assert_eq!(worst, written * 3_000.0 / (lifetime["erases_max"].as_f64().unwrap() * charge));
    lab.shows(&format!("run small.toml{}", sets(rated)), &["flushes  ", "discards  ", "not stored", "lifetime"]);
    let shown =
        lab.shows("run small.toml --set workload.synthetic.discard_share=0", &["3,000 cycles a block, assumed"]);
    for row in ["FUA", "\ndiscards", "not stored"] {
        assert!(!shown.contains(row), "{row:?}: {shown}");
    }
}

#[test]
fn durable_writes_and_those_after_a_flush_are_counted() {
    let lab = Lab::new();
    lab.write("durable.csv", "timestamp_ns,op,lba,sectors,flush,fua\n0,W,0,8,0,1\n9,W,8,8,1,1\n99,W,0,8,0,0\n");
    let info = lab.json("trace info durable.csv --json");
    assert_eq!((&info["writes"], &info["fua_writes"], &info["preflush_writes"]), (&3.into(), &2.into(), &1.into()));
    lab.write("durable.toml", "[workload]\nkind = \"trace\"\npath = \"durable.csv\"\n[device]\nblocks = 64\n");
    let host = lab.json("run durable.toml --json -")["host"].take();
    assert_eq!((&host["fua_writes"], &host["preflush_writes"]), (&2.into(), &1.into()));
    lab.shows("run durable.toml", &["durable (FUA)", "after a flush (PREFLUSH)"]);
}

/// A timeline with a line per millisecond of half a year would never end.
#[test]
fn long_silences_cost_nothing_where_nobody_reads_the_timeline() {
    let silences = sets("workload.synthetic.interarrival=3600s run.timeline_interval=1ms");
    small().succeed(&format!("run small.toml{silences}"));
}

#[test]
fn bad_lines_are_counted_and_reported_when_they_are_skipped() {
    let lab = Lab::new();
    lab.write("trace.csv", TRACE.replace("1000,R,8,8,2", "oops"));
    lab.write("trace.toml", "[workload]\nkind = \"trace\"\npath = \"trace.csv\"\nskip_bad_lines = true\n");
    let [run, _] = ["run trace.toml --json -", "trace info trace.csv --skip-bad-lines --json"]
        .map(|command| lab.run(command).ended(0, &["trace.csv:3:1", "1 bad lines"]).stdout);
    let result = json(&run);
    assert_eq!((&result["host"]["requests"], &result["host"]["skipped_lines"]), (&Value::from(3), &Value::from(1)));
}

#[test]
fn sorting_repairs_a_trace_whose_time_goes_backwards() {
    let lab = Lab::new();
    lab.write("trace.csv", TRACE.replace("1000,R", "9000,R"));
    lab.refuses("trace info trace.csv", &[]);
    let info = lab.json("trace info trace.csv --sort --json");
    assert_eq!((&info["requests"], &info["duration_ns"]), (&Value::from(4), &Value::from(9_000)));
}

#[test]
fn all_replays_of_a_trace_complete_every_request() {
    let lab = Lab::new();
    lab.write("trace.csv", TRACE);
    lab.write("trace.toml", "[workload]\nkind = \"trace\"\npath = \"trace.csv\"\n[device]\nblocks = 64\n");
    for replay in ["timestamps", "closed", "dependent"] {
        let host = lab.json(&format!("run trace.toml --json - --set workload.replay={replay}"))["host"].take();
        assert_eq!((&host["completed"], &host["flushes"]), (&Value::from(4), &Value::from(1)), "{replay}");
    }
}

#[test]
fn conversion_to_the_own_format_and_back_loses_nothing() {
    let lab = Lab::new();
    lab.write("trace.csv", TRACE);
    lab.succeed("trace convert trace.csv copy.csv.gz");
    lab.succeed("trace convert copy.csv.gz again.csv");
    let info = |file: &str| lab.succeed(&format!("trace info {file} --json")).stdout;
    assert_eq!(info("trace.csv"), info("again.csv"));
    lab.shows("trace convert trace.csv less.ssdsim --drop-unsupported", &["1 requests left out"]);
}

#[test]
fn lists_and_explanations() {
    let lab = Lab::new();
    insta::assert_snapshot!("list", lab.succeed("list").stdout);
    for name in ["host.scheduler", "deadline", "buffer", "kast-slc", "msr", "result.ftl.waf", "gc"] {
        let text = lab.succeed(&format!("explain {name}")).stdout;
        insta::assert_snapshot!(format!("explain_{}", name.replace('.', "_")), text);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}

#[test]
fn a_recording_of_issued_requests_is_what_the_scheduler_sent_and_replays_to_the_same_bytes() {
    let lab = small();
    let of_run = result(&lab, "host.scheduler=deadline")["host"].take();
    for (event, requests) in [("queue", &of_run["requests"]), ("issue", &of_run["scheduler"]["dispatched"])] {
        lab.succeed(&format!("generate small.toml --set host.scheduler=deadline --event {event} --out out.csv"));
        let info = lab.json("trace info out.csv --json");
        assert_eq!(info["requests"], *requests, "{event}");
        assert_eq!(info["write_bytes"], of_run["write_bytes"], "{event}");
    }
    assert_ne!(of_run["requests"], of_run["scheduler"]["dispatched"], "something was merged");
    let replay = "[workload]\nkind = \"trace\"\npath = \"out.csv\"\nreplay = \"closed\"\n[host]\nmerging = false\n";
    let device = SMALL.split_once("[device]").expect("it has a device").1;
    lab.write("replay.toml", format!("{replay}[device]{device}"));
    let replayed = lab.json("run replay.toml --json -")["host"].take();
    for bytes in ["read_bytes", "write_bytes"] {
        assert_eq!(replayed[bytes], of_run[bytes], "{bytes}");
    }
    assert_eq!(replayed["scheduler"]["dispatched"], of_run["scheduler"]["dispatched"]);
}

#[test]
fn a_probe_prints_its_curves_and_what_follows_and_is_the_same_twice() {
    let lab = small();
    let probe = "probe small.toml --seeds 2 --outstanding 8";
    lab.shows(probe, &["no region size and no batches follow"]);
    let of_regions = format!("{probe}{}", sets("ftl.allocation=static ftl.static.layout=contiguous"));
    let parts =
        ["reads/s of 512 B by span, with", "writes/s of", "span matters", "[host.pardispatcher]\nregion_size = "];
    let contiguous = lab.shows(&of_regions, &parts);
    assert_eq!(contiguous, lab.succeed(&of_regions).stdout);
    // What is printed can be pasted into a configuration.
    let table = contiguous.split_once("[host.pardispatcher]").expect("it is there").1;
    lab.write("pasted.toml", format!("{SMALL}\n[host.pardispatcher]{table}"));
    lab.succeed("run pasted.toml --set host.scheduler=pardispatcher");
    let result = lab.json(&format!("{of_regions} --json -"));
    validate("probe.json", &result);
    assert_eq!(result["search"]["effect"]["kind"], "parallel");
    assert_eq!(result["seeds"], serde_json::json!([7, 8]));
}

#[test]
fn a_validation_of_a_log_against_its_own_drive_prints_no_error_and_is_valid_json() {
    let lab = small();
    lab.succeed("run small.toml --log log.csv");
    let own = "validate small.toml --against log.csv --set workload.sort=true";
    lab.shows(
        own,
        &["small.toml against log.csv: recording (flashloom)", "read, 1,5", "null's error", "distance", "KS"],
    );
    let result = lab.json(&format!("{own} --json -"));
    validate("validation.json", &result);
    let cells = result["comparisons"][0]["cells"].as_array().expect("a list");
    assert!(cells.iter().all(|cell| cell["distance"]["simulated"] == 0.0) && cells.len() == 2, "{cells:?}");
    // A drive of slower reads, and both in a file of their own.
    lab.succeed(&format!("{own} --set device.read_time=200us --json slower.json"));
    let read = lab.read_json("slower.json")["comparisons"][0]["cells"][0]["mean_ns"]["error"].as_f64();
    assert!(read > Some(0.0), "{read:?}");
}

/// Reads one at a time and four at a time, with what fio measured of them in `fio.json`.
pub fn measured() -> Lab {
    let lab = small();
    let job = "[global]\nfilename=/dev/nvme0n1\ndirect=1\nioengine=libaio\nrw=randread\nbs=4k\nnumber_ios=2000\n\
               size=100%\nnorandommap=1\nstonewall=1\n[one]\niodepth=1\n[four]\niodepth=4\n";
    lab.write("job.fio", job);
    let fio = sets("workload.kind=fio workload.path=job.fio device.read_time=90us");
    lab.succeed(&format!("run small.toml --fio-json fio.json{fio}"));
    lab
}

/// A fit to what [`measured`] has, to a drive whose name follows.
pub const FIT: &str =
    "fit fio.json --start small.toml --vary device.read_time=20us..200us --requests 2000 --restarts 1 -o";

#[test]
fn a_fit_writes_a_drive_that_other_experiments_take() {
    let lab = measured();
    lab.shows(
        &format!("{FIT} mine.toml"),
        &["2 cells of at most 2000 requests", "device.read_time", "fio.json, one", "fio.json, four (held out)", "null"],
    );
    assert!(!lab.files().contains(&"mine.toml.journal".to_owned()), "the journal is removed at the end");
    let kept = format!("{FIT} again.toml --json - --journal kept");
    let result = lab.json(&kept);
    validate("fit.json", &result);
    assert_eq!(lab.read("again.toml"), lab.read("mine.toml"));
    // With the journal nothing is simulated again, and the result is the same.
    let again = lab.run(&kept).ended(0, &["simulations are taken from kept"]);
    assert_eq!(json(&again.stdout), result);

    let read_time = result["parameters"][0]["value"].as_str().expect("a text");
    has(&lab.read("mine.toml"), &[&format!("read_time = \"{read_time}\" # fitted")]);
    lab.write("use.toml", "[device]\npreset = \"./mine.toml\"\n[workload.synthetic]\nrequests = 100\n");
    let used = lab.json("run use.toml --json -");
    validate("config.json", &used["config"]);
    assert_eq!(used["config"]["device"]["preset"], "./mine.toml");
    assert_eq!(used["config"]["device"]["read_time"], read_time);
    assert_eq!(used["provenance"]["inputs"][1]["role"], "preset");
    lab.refuses("run use.toml --json mine.toml", &["this is read"]);
}

#[test]
fn what_cannot_be_fitted_or_validated_ends_with_status_2_and_writes_nothing() {
    let lab = measured();
    lab.write("empty.json", "{}").write("other", "not a journal\n").write("thesis", "my only copy");
    lab.write("n.toml", "[device]\nblocks = 64\n").write("use.toml", "[device]\npreset = \"./n.toml\"\n");
    lab.write("trace.csv", TRACE);
    for (arguments, found) in [
        ("fit empty.json --start small.toml -o a.toml", "missing field `fio version`"),
        ("fit fio.json --start nvme-tlc-512 -o a.toml", "did you mean `nvme-tlc-512g`?"),
        ("fit fio.json --start missing.toml -o a.toml", "missing.toml"),
        ("fit fio.json --start small.toml --vary device.read_time=1us -o a.toml", "`1us` is not a range"),
        ("fit fio.json --start small.toml --hold-out some -o a.toml", "[possible values: second, each, none]"),
        ("fit fio.json --start small.toml -o fio.json", "this is read"),
        ("fit fio.json --start use.toml --vary device.read_time=20us..200us -o n.toml", "this is read"),
        ("fit fio.json --start small.toml --journal thesis -o a.toml", "no journal of a fit"),
        ("fit fio.json --start small.toml --journal other -o a.toml", "no journal of a fit"),
        ("validate small.toml --against trace.csv --json result.json", "0 of 4 requests have a latency"),
        ("validate small.toml --against empty.json --json result.json", "missing field `fio version`"),
        ("validate small.toml --against missing.csv --json result.json", "missing.csv"),
        ("validate small.toml --against trace.csv --json trace.csv", ""),
    ] {
        lab.refuses(arguments, &[found]);
    }
    assert_eq!(lab.read("thesis"), "my only copy");
}
