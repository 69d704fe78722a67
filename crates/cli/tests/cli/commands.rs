//! Commands on good input: their output and their files.

use crate::lab::Lab;
use serde_json::Value;

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

/// Parses a text as JSON.
pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
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
    let answer = small().succeed(&["run", "small.toml", "--verify"]);
    assert_eq!(answer.stderr, "");
    for part in ["requests", "4,000 (", "noop", "write amplification", "every flash command", "reads", "p99.9"] {
        assert!(answer.stdout.contains(part), "`{part}` is not in\n{}", answer.stdout);
    }
}

#[test]
fn json_on_standard_output_is_alone_there_and_is_what_the_schema_says() {
    for timing in ["timed", "counting"] {
        for precondition in ["none", "fill", "steady"] {
            let sets = [format!("run.timing={timing}"), format!("run.precondition={precondition}")];
            let answer = small().succeed(&["run", "small.toml", "--json", "-", "--set", &sets[0], "--set", &sets[1]]);
            let result = json(&answer.stdout);
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
    let sets =
        ["run.precondition=steady", "run.steady_windows=3", "run.steady_tolerance=0.0001", "run.steady_window=0.01"];
    let options = sets.iter().flat_map(|&set| ["--set", set]);
    let lab = small();
    let answer =
        lab.run(&["run", "small.toml", "--json", "result.json"].into_iter().chain(options).collect::<Vec<_>>());
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(1), ""), "{}", answer.stderr);
    for part in
        ["on a drive of 5120 which are all to be used first", "raise run.steady_windows or run.steady_tolerance"]
    {
        assert!(answer.stderr.contains(part), "{part} is not in\n{}", answer.stderr);
    }
    assert_eq!(lab.files(), ["small.toml"]);
}

#[test]
fn a_drive_that_dies_is_validated_by_nothing_and_generates_no_whole_trace() {
    let lab = small();
    lab.succeed(&["run", "small.toml", "--log", "log.csv"]);
    let validate = ["validate", "small.toml", "--against", "log.csv", "--set", "workload.sort=true"];
    lab.succeed(&validate);
    let failing = ["--set", "device.program_failures=0.004"];
    for command in [&validate[..], &["generate", "small.toml", "--out", "cut.csv"]] {
        let answer = lab.run(&[command, &failing].concat());
        assert!(answer.code == Some(1) && answer.stderr.contains("the drive's life ended after "), "{answer:?}");
    }
}

#[test]
fn the_end_of_a_drives_life_is_told_with_the_result_until_then_and_fails() {
    let lab = small();
    let failing = ["--set", "device.program_failures=0.001", "--set", "workload.synthetic.requests=40000"];
    let arguments = |command: &[&'static str]| [command, &failing[..]].concat();
    let answer = lab.run(&arguments(&["run", "small.toml", "--json", "result.json"]));
    assert_eq!(answer.code, Some(1), "{}", answer.stdout);
    assert!(answer.stderr.starts_with("error: the drive's life ended after "), "{}", answer.stderr);
    assert!(answer.stdout.contains("end of life"), "{}", answer.stdout);
    let result = json(&lab.read("result.json"));
    validate("result.json", &result);
    assert!(result["end_of_life"]["unserved_requests"].as_u64() > Some(0));
    assert!(result["ftl"]["retired_blocks"]["program"].as_u64() > Some(0));
    assert!(result["nand"]["failed_programs"]["total"].as_u64() > Some(0));
    let answer = lab.run(&arguments(&["compare", "small.toml", "--vary", "ftl.gc=greedy,fifo"]));
    assert_eq!(answer.code, Some(1));
    assert!(answer.stdout.contains("life in pages"), "{}", answer.stdout);
    assert!(answer.stderr.contains("ended in 2 of 2 runs"), "{}", answer.stderr);
}

#[test]
fn a_workload_can_go_on_against_a_worn_out_drive_and_an_experiment_can_expect_that() {
    let lab = small();
    let failing = ["device.program_failures=0.001", "workload.synthetic.requests=40000", "run.end_of_life=read-only"];
    let options = || failing.iter().flat_map(|&set| ["--set", set]);
    let run = |file| lab.run(&["run", file, "--json", "-"].into_iter().chain(options()).collect::<Vec<_>>());
    let answer = run("small.toml");
    assert_eq!(answer.code, Some(1), "{}", answer.stderr);
    let result = json(&answer.stdout);
    validate("result.json", &result);
    let number = |path: &str| result.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    assert_eq!(number("/host/requests"), 40_000);
    let failed = number("/host/failed/end_of_life") + number("/host/failed/read_only");
    assert!(number("/host/failed/end_of_life") > 0 && number("/host/failed/read_only") > 0, "{result:#}");
    assert_eq!((number("/host/completed") + failed, number("/end_of_life/unserved_requests")), (40_000, failed));

    let expect =
        |field: &str| format!("[[expect]]\nclaim = \"it wears out\"\nformula = \"min({field})\"\nat_least = 1\n");
    let vary = ["--vary", "ftl.gc=greedy,fifo"];
    for (field, code) in [("host.failed.read_only", 0), ("end_of_life.host_page_writes", 0), ("host.completed", 1)] {
        lab.write("expecting.toml", format!("{}\n{}", lab.read("small.toml"), expect(field)));
        assert_eq!(run("expecting.toml").code, Some(code), "{field}");
        let arguments = ["compare", "expecting.toml"].into_iter().chain(vary).chain(options());
        let answer = lab.run(&arguments.clone().collect::<Vec<_>>());
        assert_eq!(answer.code, Some(code), "{field}: {}", answer.stderr);
        let answer = lab.run(&arguments.chain(["--no-expect"]).collect::<Vec<_>>());
        assert_eq!(answer.code, Some(1), "{field}");
    }
}

#[test]
fn the_summary_of_a_run_says_how_many_requests_failed() {
    let sets = ["device.program_failures=0.001", "workload.synthetic.requests=40000", "run.end_of_life=read-only"];
    let options = sets.iter().flat_map(|&set| ["--set", set]);
    let answer = small().run(&["run", "small.toml"].into_iter().chain(options).collect::<Vec<_>>());
    let line = answer.stdout.lines().find(|line| line.trim_start().starts_with("failed")).unwrap_or_default();
    assert!(line.contains(" with the drive's life, ") && line.ends_with(" on a read-only drive"), "{}", answer.stdout);
}

#[test]
fn a_drive_whose_life_ends_while_it_is_aged_serves_nothing() {
    let sets = ["--set", "device.program_failures=0.2", "--set", "run.precondition=steady"];
    let answer = small().run(&[&["run", "small.toml", "--json", "-"][..], &sets[..]].concat());
    assert_eq!(answer.code, Some(1), "{}", answer.stderr);
    let result = json(&answer.stdout);
    assert_eq!(result["host"]["completed"], 0);
    assert_eq!(result["end_of_life"]["host_page_writes"], result["precondition"]["page_writes"]);
}

#[test]
fn a_result_has_what_applies_to_its_mapping_and_nothing_else() {
    let lab = small();
    let result = |sets: &[&str]| {
        let options = sets.iter().flat_map(|&set| ["--set", set]);
        let arguments: Vec<_> = ["run", "small.toml", "--verify", "--json", "-"].into_iter().chain(options).collect();
        let result = json(&lab.succeed(&arguments).stdout);
        validate("result.json", &result);
        result
    };
    let has = |result: &Value, present: &[&str], absent: &[&str]| {
        let is_there = |path: &&str| result.pointer(path).is_some();
        let (missing, odd) = (present.iter().find(|path| !is_there(path)), absent.iter().find(|path| is_there(path)));
        assert_eq!((missing, odd), (None, None), "{result:#}");
    };
    let of_pages = ["/ftl/allocation", "/ftl/gc", "/ftl/gc/foreground_collections"];
    let of_logs = ["full_merges", "associativity", "blocking_bound_ns", "longest_wait_ns"]
        .map(|name| format!("/ftl/mapping/{name}"));
    let of_logs = [&of_logs.each_ref().map(String::as_str)[..], &["/ftl/placement"]].concat();
    let of_some = ["mapping/map_hits", "mapping/streams", "allocation/streams", "mapping/wear_moves"]
        .map(|path| format!("/ftl/{path}"));
    let of_some = of_some.each_ref().map(String::as_str);
    let of_some = [&of_some[..], &["/buffer/order/padding_pages", "/buffer/order/filled_pages"]].concat();
    has(&result(&[]), &of_pages, &[&of_logs[..], &of_some].concat());
    let kast = ["ftl.mapping=kast", "ftl.kast.log_blocks=5", "buffer.rate=cave", "ftl.placement=round-robin"];
    let kast = result(&kast);
    has(&kast, &of_logs, &[&of_pages[..], &of_some].concat());
    let kast = &kast["ftl"]["mapping"];
    assert!(kast["blocking_ns"]["max"].as_u64() <= kast["blocking_bound_ns"].as_u64());
    has(&result(&["ftl.mapping=dftl", "ftl.dftl.cache=1KiB"]), &["/ftl/mapping/map_hit_ratio"], &of_logs);
    has(&result(&["ftl.allocation=slap"]), &["/ftl/allocation/streams"], &of_logs);
    has(&result(&["ftl.wear_levelling=static"]), &["/ftl/mapping/wear_moves"], &of_logs);
    has(
        &result(&["buffer.order=block-lru", "buffer.block-lru.padding=true"]),
        &["/buffer/order/padding_pages"],
        &of_logs,
    );
    has(&result(&["buffer.order=cflru"]), &["/buffer/order/filled_pages", "/buffer/order/dropped_pages"], &of_logs);
}

#[test]
fn a_run_and_a_comparison_show_what_matters_for_their_mapping() {
    let lab = small();
    let logs = ["--set", "ftl.kast.log_blocks=5", "--set", "ftl.bast.log_blocks=5", "--set", "ftl.dftl.cache=1KiB"];
    let run =
        |mapping: &'static str| lab.succeed(&[&["run", "small.toml", "--set", mapping][..], &logs].concat()).stdout;
    let shows = |text: &str, parts: &[&str]| {
        let missing = parts.iter().find(|&&part| !text.contains(part));
        assert_eq!(missing, None, "{text}");
    };
    shows(&run("ftl.mapping=kast"), &["full merges", "longest merge", "merge bound", "largest k"]);
    shows(&run("ftl.mapping=dftl"), &["map hits", "translation pages read"]);
    let varies = ["--vary", "ftl.mapping=page,dftl,bast,kast", "--vary", "buffer.order=page-lru,block-lru"];
    let text = lab.succeed(&[&["compare", "small.toml"][..], &logs, &varies].concat()).stdout;
    shows(&text, &["buffer hits", "map hits", "merges", "largest k", "longest merge"]);
    let text = lab.succeed(&["compare", "small.toml", "--vary", "host.queue_depth=1,8"]).stdout;
    let shown = ["buffer hits", "map hits", "merges", "life in pages"].iter().find(|&&part| text.contains(part));
    assert_eq!(shown, None, "{text}");
}

#[test]
fn the_same_configuration_gives_the_same_result_and_another_seed_another() {
    let lab = small();
    let run = |seed: &str| timeless(json(&lab.succeed(&["run", "small.toml", "--json", "-", "--set", seed]).stdout));
    assert_eq!(run("run.seed=7"), run("run.seed=7"));
    assert_ne!(run("run.seed=7")["host"], run("run.seed=8")["host"]);
}

#[test]
fn verification_adds_integrity_and_anatomy_and_changes_nothing_else() {
    let lab = small();
    let mut plain = timeless(json(&lab.succeed(&["run", "small.toml", "--json", "-"]).stdout));
    let mut verified = timeless(json(&lab.succeed(&["run", "small.toml", "--json", "-", "--verify"]).stdout));
    assert!(verified["integrity"]["sectors_checked"].as_u64().is_some_and(|sectors| sectors > 0));
    assert!(verified["host"].as_object_mut().unwrap().remove("anatomy").is_some());
    for result in [&mut plain, &mut verified] {
        result.as_object_mut().unwrap().remove("integrity");
    }
    assert_eq!(plain, verified);
}

#[test]
fn a_comparison_is_in_the_order_of_the_cross_product_whatever_the_number_of_jobs() {
    let lab = small();
    let compare = |jobs: &str| {
        let varies =
            ["--vary", "host.scheduler=noop,deadline,cfq,anticipatory,pardispatcher", "--vary", "host.queue_depth=1,8"];
        let arguments = ["compare", "small.toml", "--json", "-", "--csv", "all.csv", "--jobs", jobs, "--verify"];
        let answer = lab.succeed(&arguments.into_iter().chain(varies).collect::<Vec<_>>());
        let mut comparison = json(&answer.stdout);
        validate("compare.json", &comparison);
        for run in comparison["runs"].as_array_mut().unwrap() {
            run["result"].as_object_mut().unwrap().remove("run");
        }
        (comparison, lab.read("all.csv"))
    };
    let (alone, csv) = compare("1");
    assert_eq!((&alone, &csv), (&compare("3").0, &compare("3").1));
    let runs = alone["runs"].as_array().unwrap();
    let varied: Vec<_> = runs.iter().map(|run| run["vary"].to_string()).collect();
    assert_eq!(varied.len(), 10);
    assert_eq!(varied[0], r#"{"host.scheduler":"noop","host.queue_depth":1}"#);
    assert_eq!(varied[3], r#"{"host.scheduler":"deadline","host.queue_depth":8}"#);
    assert_eq!(csv.lines().count(), 11);
    assert!(csv.starts_with("host.scheduler,host.queue_depth,host.requests,"), "{csv}");
}

#[test]
fn a_comparison_of_a_file_with_a_vary_section_needs_no_options() {
    let lab = small();
    lab.write("vary.toml", format!("{SMALL}\n[vary]\nhost.scheduler = [\"noop\", \"pardispatcher\"]\n"));
    let table = lab.succeed(&["compare", "vary.toml"]).stdout;
    assert!(table.starts_with("scheduler"), "{table}");
    assert!(table.contains("\nnoop ") && table.contains("\npardispatcher "), "{table}");
    let run = lab.succeed(&["run", "vary.toml"]);
    assert!(run.stderr.contains("`flashloom compare` runs them all"), "{}", run.stderr);
}

#[test]
fn what_an_experiment_expects_is_shown_and_decides_the_exit_status() {
    let lab = small();
    let expect = |bound: &str| {
        let vary = "[vary]\nhost.scheduler = [\"noop\", \"pardispatcher\"]\nhost.queue_depth = [1, 8]\n";
        let formula = "min(host.iops{queue_depth=8} / host.iops{queue_depth=1})";
        let expect = format!("[[expect]]\nclaim = \"more at once is faster\"\nformula = \"{formula}\"\n{bound}\n");
        lab.write("expect.toml", format!("{SMALL}\n{vary}\n{expect}"));
        lab.run(&["compare", "expect.toml", "--json", "expect.json", "--quiet", "--no-hints"])
    };
    let held = expect("at_least = 1");
    assert_eq!((held.code, held.stderr.as_str()), (Some(0), ""));
    assert!(held.stdout.contains("more at once is faster  holds"), "{}", held.stdout);
    let comparison = json(&lab.read("expect.json"));
    validate("compare.json", &comparison);
    let found = comparison["expectations"][0]["value"].as_f64().expect("the drive has a throughput");
    let runs: Vec<f64> =
        (0..4).map(|run| comparison["runs"][run]["result"]["host"]["iops"].as_f64().unwrap()).collect();
    assert_eq!(found, (runs[1] / runs[0]).min(runs[3] / runs[2]));
    let failed = expect("at_most = 1");
    assert_eq!(failed.code, Some(1));
    assert!(failed.stdout.contains("more at once is faster  FAILS"), "{}", failed.stdout);
    assert_eq!(failed.stderr, "error: 1 of 1 expectations do not hold\n");
    assert_eq!(json(&lab.read("expect.json"))["expectations"][0]["holds"], false);
    let other = ["compare", "expect.toml", "--set", "host.queue_depth=4"];
    assert_eq!(lab.run(&other).code, Some(2));
    assert!(!lab.succeed(&[&other[..], &["--no-expect"]].concat()).stdout.contains("more at once"));
    assert_eq!(lab.run(&["run", "expect.toml"]).code, Some(0));
}

#[test]
fn files_are_written_whole_and_nothing_is_left_beside_them() {
    let lab = small();
    lab.succeed(&["run", "small.toml", "--json", "result.json", "--timeline", "timeline.csv"]);
    assert_eq!(lab.files(), ["result.json", "small.toml", "timeline.csv"]);
    let result = json(&lab.read("result.json"));
    let timeline = lab.read("timeline.csv");
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
    let far = ["workload.kind=trace", "workload.path=far.csv", "workload.replay=timestamps"];
    let sets = far.iter().flat_map(|set| ["--set", set]);
    let arguments: Vec<&str> = ["run", "small.toml"].into_iter().chain(sets).collect();
    lab.succeed(&[&arguments[..], &["--timeline", "timeline.csv"]].concat());
    let timeline = lab.read("timeline.csv");
    assert_eq!(column(&timeline, "completed").iter().sum::<u64>(), 2);
    assert!(timeline.lines().count() < 10, "{timeline}");
}

#[test]
fn a_timeline_without_time_has_a_line_for_each_so_many_pages() {
    let lab = small();
    let counting = ["--set", "run.timing=counting", "--set", "run.timeline_pages=100"];
    let files = ["--json", "result.json", "--timeline", "timeline.csv"];
    lab.succeed(&[&["run", "small.toml"], &counting[..], &files].concat());
    let (result, timeline) = (json(&lab.read("result.json")), lab.read("timeline.csv"));
    let total = |name: &str| column(&timeline, name).iter().sum::<u64>();
    assert_eq!(result["host"]["completed"], total("completed"));
    let programs = &result["nand"]["programs"];
    let by_origin = ["host", "gc", "merge", "map", "wear"].map(|origin| total(&format!("programs_{origin}")));
    assert_eq!(programs["total"], total("programs"));
    assert_eq!(
        by_origin.map(Value::from),
        ["host", "gc", "merge", "map", "wear"].map(|origin| programs[origin].clone())
    );
    let written = column(&timeline, "pages_written");
    assert!(written.len() > 10 && written.windows(2).all(|pair| pair[0] < pair[1]), "{timeline}");
    assert_eq!(result["ftl"]["host_page_writes"], written[written.len() - 1]);
    assert!(timeline.lines().skip(1).all(|line| line.starts_with(',')), "no time: {timeline}");
}

#[test]
fn what_takes_part_in_few_runs_is_shown_where_it_does() {
    let lab = small();
    let sets = ["device.rated_cycles=3000", "run.fill=0.9", "run.precondition=steady", "run.rest=never"];
    let rated: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    let result = json(&lab.succeed(&[&["run", "small.toml", "--json", "-"], &rated[..]].concat()).stdout);
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
    let shown = lab.succeed(&[&["run", "small.toml"], &rated[..]].concat()).stdout;
    for row in ["flushes  ", "discards  ", "not stored", "lifetime"] {
        assert!(shown.contains(row), "{row}: {shown}");
    }
    let shown = lab.succeed(&["run", "small.toml", "--set", "workload.synthetic.discard_share=0"]).stdout;
    for row in ["FUA", "\ndiscards", "not stored"] {
        assert!(!shown.contains(row), "{row:?}: {shown}");
    }
    assert!(shown.contains("3,000 cycles a block, assumed"), "{shown}");
}

#[test]
fn durable_writes_and_those_after_a_flush_are_counted() {
    let lab = Lab::new();
    lab.write("durable.csv", "timestamp_ns,op,lba,sectors,flush,fua\n0,W,0,8,0,1\n9,W,8,8,1,1\n99,W,0,8,0,0\n");
    let info = json(&lab.succeed(&["trace", "info", "durable.csv", "--json"]).stdout);
    assert_eq!((&info["writes"], &info["fua_writes"], &info["preflush_writes"]), (&3.into(), &2.into(), &1.into()));
    lab.write("durable.toml", "[workload]\nkind = \"trace\"\npath = \"durable.csv\"\n[device]\nblocks = 64\n");
    let host = json(&lab.succeed(&["run", "durable.toml", "--json", "-"]).stdout)["host"].take();
    assert_eq!((&host["fua_writes"], &host["preflush_writes"]), (&2.into(), &1.into()));
    let shown = lab.succeed(&["run", "durable.toml"]).stdout;
    assert!(shown.contains("durable (FUA)") && shown.contains("after a flush (PREFLUSH)"), "{shown}");
}

/// A timeline with a line per millisecond of half a year would never end.
#[test]
fn long_silences_cost_nothing_where_nobody_reads_the_timeline() {
    let lab = small();
    let silences = ["--set", "workload.synthetic.interarrival=3600s", "--set", "run.timeline_interval=1ms"];
    lab.succeed(&[&["run", "small.toml"], &silences[..]].concat());
}

#[test]
fn bad_lines_are_counted_and_reported_when_they_are_skipped() {
    let lab = Lab::new();
    lab.write("trace.csv", TRACE.replace("1000,R,8,8,2", "oops"));
    lab.write("trace.toml", "[workload]\nkind = \"trace\"\npath = \"trace.csv\"\nskip_bad_lines = true\n");
    for arguments in
        [vec!["run", "trace.toml", "--json", "-"], vec!["trace", "info", "trace.csv", "--skip-bad-lines", "--json"]]
    {
        let answer = lab.succeed(&arguments);
        assert!(answer.stderr.contains("trace.csv:3:1") && answer.stderr.contains("1 bad lines"), "{}", answer.stderr);
    }
    let result = json(&lab.succeed(&["run", "trace.toml", "--json", "-"]).stdout);
    assert_eq!((&result["host"]["requests"], &result["host"]["skipped_lines"]), (&Value::from(3), &Value::from(1)));
}

#[test]
fn sorting_repairs_a_trace_whose_time_goes_backwards() {
    let lab = Lab::new();
    lab.write("trace.csv", TRACE.replace("1000,R", "9000,R"));
    assert_eq!(lab.run(&["trace", "info", "trace.csv"]).code, Some(2));
    let info = json(&lab.succeed(&["trace", "info", "trace.csv", "--sort", "--json"]).stdout);
    assert_eq!((&info["requests"], &info["duration_ns"]), (&Value::from(4), &Value::from(9_000)));
}

#[test]
fn all_replays_of_a_trace_complete_every_request() {
    let lab = Lab::new();
    lab.write("trace.csv", TRACE);
    lab.write("trace.toml", "[workload]\nkind = \"trace\"\npath = \"trace.csv\"\n[device]\nblocks = 64\n");
    for replay in ["timestamps", "closed", "dependent"] {
        let set = format!("workload.replay={replay}");
        let result = json(&lab.succeed(&["run", "trace.toml", "--json", "-", "--set", &set]).stdout);
        assert_eq!(
            (&result["host"]["completed"], &result["host"]["flushes"]),
            (&Value::from(4), &Value::from(1)),
            "{replay}"
        );
    }
}

#[test]
fn conversion_to_the_own_format_and_back_loses_nothing() {
    let lab = Lab::new();
    lab.write("trace.csv", TRACE);
    lab.succeed(&["trace", "convert", "trace.csv", "copy.csv.gz"]);
    lab.succeed(&["trace", "convert", "copy.csv.gz", "again.csv"]);
    let info = |file: &str| lab.succeed(&["trace", "info", file, "--json"]).stdout;
    assert_eq!(info("trace.csv"), info("again.csv"));
    let answer = lab.succeed(&["trace", "convert", "trace.csv", "less.ssdsim", "--drop-unsupported"]);
    assert!(answer.stdout.contains("1 requests left out"), "{}", answer.stdout);
}

#[test]
fn lists_and_explanations() {
    let lab = Lab::new();
    insta::assert_snapshot!("list", lab.succeed(&["list"]).stdout);
    for name in ["host.scheduler", "deadline", "buffer", "kast-slc", "msr", "result.ftl.waf", "gc"] {
        let text = lab.succeed(&["explain", name]).stdout;
        insta::assert_snapshot!(format!("explain_{}", name.replace('.', "_")), text);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}

#[test]
fn a_recording_of_issued_requests_is_what_the_scheduler_sent_and_replays_to_the_same_bytes() {
    let lab = small();
    let of_run = json(&lab.succeed(&["run", "small.toml", "--set", "host.scheduler=deadline", "--json", "-"]).stdout);
    for (event, requests) in
        [("queue", &of_run["host"]["requests"]), ("issue", &of_run["host"]["scheduler"]["dispatched"])]
    {
        let set = ["--set", "host.scheduler=deadline", "--event", event, "--out", "out.csv"];
        lab.succeed(&[&["generate", "small.toml"][..], &set].concat());
        let info = json(&lab.succeed(&["trace", "info", "out.csv", "--json"]).stdout);
        assert_eq!(info["requests"], *requests, "{event}");
        assert_eq!(info["write_bytes"], of_run["host"]["write_bytes"], "{event}");
    }
    assert_ne!(of_run["host"]["requests"], of_run["host"]["scheduler"]["dispatched"], "something was merged");
    let replay = "[workload]\nkind = \"trace\"\npath = \"out.csv\"\nreplay = \"closed\"\n[host]\nmerging = false\n";
    let device = SMALL.split_once("[device]").expect("it has a device").1;
    lab.write("replay.toml", format!("{replay}[device]{device}"));
    let replayed = json(&lab.succeed(&["run", "replay.toml", "--json", "-"]).stdout);
    for bytes in ["read_bytes", "write_bytes"] {
        assert_eq!(replayed["host"][bytes], of_run["host"][bytes], "{bytes}");
    }
    assert_eq!(replayed["host"]["scheduler"]["dispatched"], of_run["host"]["scheduler"]["dispatched"]);
}

#[test]
fn a_probe_prints_its_curves_and_what_follows_and_is_the_same_twice() {
    let lab = small();
    let fast = ["--seeds", "2", "--outstanding", "8"];
    let regions = ["--set", "ftl.allocation=static", "--set", "ftl.static.layout=contiguous"];
    let probed = |more: &[&str]| lab.succeed(&[&["probe", "small.toml"][..], &fast, more].concat()).stdout;
    let (striped, contiguous) = (probed(&[]), probed(&regions));
    assert!(striped.contains("no region size and no batches follow"), "{striped}");
    for part in
        ["reads/s of 512 B by span, with", "writes/s of", "span matters", "[host.pardispatcher]\nregion_size = "]
    {
        assert!(contiguous.contains(part), "`{part}` is not in\n{contiguous}");
    }
    assert_eq!(contiguous, probed(&regions));
    // What is printed can be pasted into a configuration.
    let table = contiguous.split_once("[host.pardispatcher]").expect("it is there").1;
    lab.write("pasted.toml", format!("{SMALL}\n[host.pardispatcher]{table}"));
    lab.succeed(&["run", "pasted.toml", "--set", "host.scheduler=pardispatcher"]);
    let result = json(&probed(&[&regions[..], &["--json", "-"]].concat()));
    validate("probe.json", &result);
    assert_eq!(result["search"]["effect"]["kind"], "parallel");
    assert_eq!(result["seeds"], serde_json::json!([7, 8]));
}

#[test]
fn a_validation_of_a_log_against_its_own_drive_prints_no_error_and_is_valid_json() {
    let lab = small();
    lab.succeed(&["run", "small.toml", "--log", "log.csv"]);
    let own = ["validate", "small.toml", "--against", "log.csv", "--set", "workload.sort=true"];
    let table = lab.succeed(&own).stdout;
    for part in ["small.toml against log.csv: recording (flashloom)", "read, 1,5", "null's error", "distance", "KS"] {
        assert!(table.contains(part), "`{part}` is not in\n{table}");
    }
    let result = json(&lab.succeed(&[&own[..], &["--json", "-"]].concat()).stdout);
    validate("validation.json", &result);
    let cells = result["comparisons"][0]["cells"].as_array().expect("a list");
    assert!(cells.iter().all(|cell| cell["distance"]["simulated"] == 0.0) && cells.len() == 2, "{cells:?}");
    // A drive of slower reads, and both in a file of their own.
    let slower = [&own[..], &["--set", "device.read_time=200us", "--json", "slower.json"]].concat();
    lab.succeed(&slower);
    let read = json(&lab.read("slower.json"))["comparisons"][0]["cells"][0]["mean_ns"]["error"].as_f64();
    assert!(read > Some(0.0), "{read:?}");
}

/// Reads one at a time and four at a time, with what fio measured of them in `fio.json`.
pub fn measured() -> Lab {
    let lab = small();
    let job = "[global]\nfilename=/dev/nvme0n1\ndirect=1\nioengine=libaio\nrw=randread\nbs=4k\nnumber_ios=2000\n\
               size=100%\nnorandommap=1\nstonewall=1\n[one]\niodepth=1\n[four]\niodepth=4\n";
    lab.write("job.fio", job);
    let fio = ["--set", "workload.kind=fio", "--set", "workload.path=job.fio", "--set", "device.read_time=90us"];
    lab.succeed(&[&["run", "small.toml", "--fio-json", "fio.json"][..], &fio].concat());
    lab
}

#[test]
fn a_fit_writes_a_drive_that_other_experiments_take() {
    let lab = measured();
    let fit = "fit fio.json --start small.toml --vary device.read_time=20us..200us --requests 2000 --restarts 1 -o";
    let fit: Vec<&str> = fit.split(' ').collect();
    let table = lab.succeed(&[&fit[..], &["mine.toml"]].concat()).stdout;
    for part in
        ["2 cells of at most 2000 requests", "device.read_time", "fio.json, one", "fio.json, four (held out)", "null"]
    {
        assert!(table.contains(part), "`{part}` is not in\n{table}");
    }
    assert!(!lab.files().contains(&"mine.toml.journal".to_owned()), "the journal is removed at the end");
    let result = json(&lab.succeed(&[&fit[..], &["again.toml", "--json", "-", "--journal", "kept"]].concat()).stdout);
    validate("fit.json", &result);
    assert_eq!(lab.read("again.toml"), lab.read("mine.toml"));
    // With the journal nothing is simulated again, and the result is the same.
    let again = lab.succeed(&[&fit[..], &["again.toml", "--json", "-", "--journal", "kept"]].concat());
    assert!(again.stderr.contains("simulations are taken from kept"), "{}", again.stderr);
    assert_eq!(json(&again.stdout), result);

    let read_time = result["parameters"][0]["value"].as_str().expect("a text");
    let preset = lab.read("mine.toml");
    assert!(preset.contains(&format!("read_time = \"{read_time}\" # fitted")), "{preset}");
    lab.write("use.toml", "[device]\npreset = \"./mine.toml\"\n[workload.synthetic]\nrequests = 100\n");
    let used = json(&lab.succeed(&["run", "use.toml", "--json", "-"]).stdout);
    validate("config.json", &used["config"]);
    assert_eq!(used["config"]["device"]["preset"], "./mine.toml");
    assert_eq!(used["config"]["device"]["read_time"], read_time);
    assert_eq!(used["provenance"]["inputs"][1]["role"], "preset");
    let over = lab.run(&["run", "use.toml", "--json", "mine.toml"]);
    assert!(over.code == Some(2) && over.stderr.contains("this is read"), "{}", over.stderr);
}

#[test]
fn what_cannot_be_fitted_ends_a_fit_with_status_2_and_writes_nothing() {
    let lab = measured();
    lab.write("empty.json", "{}").write("other", "not a journal\n");
    let fit = |arguments: &str, found: &str| {
        let all: Vec<&str> = ["fit"].into_iter().chain(arguments.split(' ')).collect();
        let answer = lab.run(&all);
        assert_eq!(answer.code, Some(2), "{arguments}: {}", answer.stderr);
        assert!(answer.stderr.contains(found) && answer.stdout.is_empty(), "{arguments}: {}", answer.stderr);
    };
    fit("empty.json --start small.toml -o a.toml", "missing field `fio version`");
    fit("fio.json --start nvme-tlc-512 -o a.toml", "did you mean `nvme-tlc-512g`?");
    fit("fio.json --start missing.toml -o a.toml", "missing.toml");
    fit("fio.json --start small.toml --vary device.read_time=1us -o a.toml", "`1us` is not a range");
    fit("fio.json --start small.toml --hold-out some -o a.toml", "[possible values: second, each, none]");
    fit("fio.json --start small.toml -o fio.json", "this is read");
    lab.write("n.toml", "[device]\nblocks = 64\n").write("use.toml", "[device]\npreset = \"./n.toml\"\n");
    fit("fio.json --start use.toml --vary device.read_time=20us..200us -o n.toml", "this is read");
    lab.write("thesis", "my only copy");
    fit("fio.json --start small.toml --journal thesis -o a.toml", "no journal of a fit");
    assert_eq!(lab.read("thesis"), "my only copy");
    fit("fio.json --start small.toml --journal other -o a.toml", "no journal of a fit");
    assert!(lab.files().iter().all(|file| !file.contains("a.toml")), "{:?}", lab.files());
}

#[test]
fn a_measurement_that_cannot_be_compared_ends_a_validation_with_status_2() {
    let lab = small();
    lab.write("trace.csv", TRACE).write("fio.json", "{}");
    for (file, found) in [
        ("trace.csv", "0 of 4 requests have a latency"),
        ("fio.json", "missing field `fio version`"),
        ("missing.csv", "missing.csv"),
    ] {
        let answer = lab.run(&["validate", "small.toml", "--against", file, "--json", "result.json"]);
        assert_eq!(answer.code, Some(2), "{file}: {}", answer.stderr);
        assert!(answer.stderr.contains(found) && answer.stdout.is_empty(), "{file}: {}", answer.stderr);
    }
    let answer = lab.run(&["validate", "small.toml", "--against", "trace.csv", "--json", "trace.csv"]);
    assert_eq!(answer.code, Some(2));
    assert!(!lab.files().contains(&"result.json".to_owned()));
}
