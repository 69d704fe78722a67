//! Comparisons: ranges, columns, seeds, combinations that cannot work, and kept results.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::commands::{small, timeless, validate};
use crate::lab::{Lab, has, json, sets};

/// A comparison without the cost of its runs.
fn without_cost(text: &str) -> Value {
    let mut comparison = json(text);
    for run in comparison["runs"].as_array_mut().expect("a comparison has runs") {
        run["result"] = timeless(run["result"].take());
    }
    comparison
}

/// Contents of the files in the folder `kept`, by name.
fn kept(lab: &Lab) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(lab.path("kept")) else { return BTreeMap::new() };
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.ends_with(".json").then(|| (name.clone(), lab.read(&format!("kept/{name}"))))
    };
    entries.filter_map(file).collect()
}

#[test]
fn a_comparison_that_is_killed_goes_on_where_it_was() {
    let lab = small();
    let sweep = "compare small.toml --vary run.seed=1..30 --vary host.scheduler=noop,deadline --jobs 2 \
                 --set run.precondition=steady";
    let keeping = format!("{sweep} --json resumed.json --out kept");

    let mut child = lab.line(&keeping).stderr(Stdio::null()).spawn().expect("the program can be started");
    for _ in 0..60_000 {
        if kept(&lab).len() >= 3 {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let before = kept(&lab);
    assert!((3..60).contains(&before.len()), "{} of 60 runs had ended", before.len());
    assert!(!lab.files().contains(&"resumed.json".to_owned()));
    before.values().for_each(|text| validate("kept.json", &json(text)));

    let resumed = lab.run(&keeping).ended(0, &[&format!("{} of 60 results are in kept already", before.len())]);
    let after = kept(&lab);
    assert_eq!(after.len(), 60);
    assert!(before.iter().all(|(name, text)| after.get(name) == Some(text)), "what was there is not written again");
    let partial = |entry: fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".partial");
    let folder = fs::read_dir(lab.path("kept")).expect("it can be listed");
    assert_eq!(folder.flatten().map(partial).filter(|is_partial| *is_partial).count(), 0);
    let whole = lab.succeed(&format!("{sweep} --json whole.json"));
    assert_eq!(whole.stdout, resumed.stdout);
    let [whole, resumed] = ["whole.json", "resumed.json"].map(|file| without_cost(&lab.read(file)).to_string());
    assert_eq!(whole, resumed);

    let once_more = lab.read("resumed.json");
    lab.succeed(&keeping);
    assert_eq!((lab.read("resumed.json"), kept(&lab)), (once_more, after));
}

#[test]
fn the_number_of_jobs_changes_no_byte_of_what_is_printed_or_written() {
    let lab = small();
    let sweep = "compare small.toml --vary workload.synthetic.requests=300,2000 \
                 --vary host.scheduler=noop,deadline,cfq --json all.json --csv all.csv --out kept";
    let with_jobs = |jobs: u32| {
        let answer = lab.succeed(&format!("{sweep} --jobs {jobs}"));
        let results = kept(&lab).into_iter().map(|(name, text)| {
            let mut result = json(&text);
            result["result"] = timeless(result["result"].take());
            (name, result.to_string())
        });
        let results: Vec<_> = results.collect();
        fs::remove_dir_all(lab.path("kept")).expect("it can be removed");
        (answer.stdout, without_cost(&lab.read("all.json")).to_string(), lab.read("all.csv"), results)
    };
    let alone = with_jobs(1);
    assert_eq!(alone.3.len(), 6);
    for jobs in [2, 3, 8] {
        assert!(with_jobs(jobs) == alone, "--jobs {jobs}");
    }
}

#[test]
fn each_run_is_told_as_it_ends_beside_the_table_the_longest_first() {
    let lab = small();
    let sweep = "compare small.toml --vary workload.synthetic.requests=300,2000,900 --jobs 1";
    let answer = lab.succeed(sweep);
    let is_told = |line: &&str| line.starts_with("done ");
    let told: Vec<&str> = answer.stderr.lines().filter(is_told).collect();
    assert!(told.len() == 3 && !answer.stdout.contains("done"), "{}", answer.stderr);
    for (index, (line, requests)) in told.iter().zip([2000, 900, 300]).enumerate() {
        has(line, &[&format!("done {} of 3 in ", index + 1), &format!("requests={requests}: requests/s ")]);
    }
    let quiet = lab.succeed(&format!("{sweep} --quiet"));
    let others = |text: &str| text.lines().filter(|line| !is_told(line)).map(str::to_owned).collect::<Vec<_>>();
    assert!(quiet.stderr.contains("hint ") && !quiet.stderr.contains("done "), "{}", quiet.stderr);
    assert_eq!((quiet.stdout, others(&quiet.stderr)), (answer.stdout, others(&answer.stderr)));
}

#[test]
fn what_a_killed_program_left_behind_is_removed_and_nothing_else() {
    let lab = small();
    let names = [".flashloom-abcdef123456.partial", ".tmpabc123", ".flashloom-notes", "a.partial"];
    for name in names {
        lab.write(&format!("kept/{name}"), "{");
    }
    fs::create_dir(lab.path("kept/.flashloom-folder.partial")).expect("a folder can be made");
    lab.succeed("compare small.toml --vary host.scheduler=noop,deadline --out kept");
    let left = |name: &str| lab.path(&format!("kept/{name}")).exists();
    assert_eq!(names.map(left), [false, true, true, true]);
    assert!(left(".flashloom-folder.partial"));
    assert_eq!(kept(&lab).len(), 2);
}

#[test]
fn a_kept_result_is_taken_only_by_the_same_run() {
    let lab = small();
    lab.write("a.csv", "timestamp_ns,op,lba,sectors,task\n0,W,0,8,1\n");
    let replay = "--set workload.kind=trace --set workload.path=a.csv";
    for (index, way) in ["", "--verify", "--set host.queue_depth=3", replay, replay].into_iter().enumerate() {
        if index == 4 {
            lab.write("a.csv", "timestamp_ns,op,lba,sectors,task\n0,W,0,8,1\n9,W,8,8,1\n");
        }
        let answer = lab.succeed(&format!("compare small.toml --vary host.scheduler=noop,deadline --out kept {way}"));
        assert_eq!(kept(&lab).len(), 2 * (index + 1), "{answer:?}");
        assert!(!answer.stderr.contains("already"), "{answer:?}");
    }
}

#[test]
fn a_folder_holds_results_of_one_build_and_nothing_is_run_beside_others() {
    let lab = small();
    let sweep = "compare small.toml --vary host.scheduler=noop,deadline --out kept --json all.json";
    lab.succeed(sweep);
    let (name, text) = kept(&lab).pop_first().expect("there are two");
    let spoilt = |text: &str| {
        lab.write(&format!("kept/{name}"), text);
        fs::remove_file(lab.path("all.json")).ok();
        let message = lab.refuses(sweep, &[]);
        assert_eq!(lab.files(), ["kept", "small.toml"]);
        assert_eq!(lab.read(&format!("kept/{name}")), text);
        message
    };
    let mut other = json(&text);
    other["program_sha256"] = "0".repeat(64).into();
    has(&spoilt(&other.to_string()), &["1 of the results were written by another build (version 0."]);
    has(&spoilt("{"), &["the file is damaged"]);
    lab.refuses("compare small.toml --vary host.scheduler=noop --out small.toml", &["this is not a folder"]);
}

#[test]
fn seeds_give_means_with_intervals_and_paired_differences() {
    let lab = small();
    lab.shows(
        "compare small.toml --vary host.scheduler=noop,deadline --seeds 4 --json seeds.json --csv seeds.csv",
        &[
            "means of 4 seeds (7 to 10) ±",
            "Differences to host.scheduler=noop, by pairs of the same seed",
            " ~",
            "Width of these intervals relative to unpaired seeds: ",
            "Seeds needed to detect a 2 % difference (80 % power)",
        ],
    );
    let comparison = lab.read_json("seeds.json");
    validate("compare.json", &comparison);
    let iops = |run: usize| comparison["runs"][run]["result"]["host"]["iops"].as_f64().expect("it has a throughput");
    let [noop, deadline] = [0, 4].map(|first| [0, 1, 2, 3].map(|seed| iops(first + seed)));
    let figure = |at: usize, name: &str| comparison["repeated"][at]["figures"]["host.iops"][name].as_f64();
    let mean = |values: [f64; 4]| values.iter().sum::<f64>() / 4.0;
    let difference: [f64; 4] = std::array::from_fn(|seed| deadline[seed] - noop[seed]);
    let close = |one: Option<f64>, other: f64| assert!((one.unwrap() - other).abs() < 1e-9, "{one:?} {other}");
    close(figure(0, "mean"), mean(noop));
    close(figure(1, "difference"), mean(difference));
    let variance = noop.iter().map(|value| (value - mean(noop)).powi(2)).sum::<f64>() / 3.0;
    close(figure(0, "half_width"), 3.182 * (variance / 4.0).sqrt());
    assert!(figure(1, "unpaired_half_width").expect("there are two combinations") > 0.0);
    assert_eq!(comparison["repeated"][0]["seeds"], serde_json::json!([7, 8, 9, 10]));
    assert_eq!(comparison["repeated"][0]["vary"].to_string(), r#"{"host.scheduler":"noop"}"#);

    let csv = lab.read("seeds.csv");
    let rows: Vec<&str> = csv.lines().filter_map(|line| line.split(',').next()).collect();
    let each = ["run"; 8].into_iter().chain(["mean", "half_width", "mean", "half_width"]);
    let all: Vec<&str> = ["row"].into_iter().chain(each).chain(["difference", "difference_half_width"]).collect();
    assert_eq!(rows, all);

    let alone = lab.shows("compare small.toml --seeds 2 --columns iops", &["means of 2 seeds (7 to 8)"]);
    assert!(!alone.contains("Differences"), "{alone}");
}

#[test]
fn seeds_of_a_recording_are_replicates() {
    let lab = small();
    let requests = (0..400).map(|number| format!("{},W,{},8\n", number * 50_000, number * 56 % 4_000));
    lab.write("t.csv", format!("timestamp_ns,op,lba,sectors\n{}", requests.collect::<String>()));
    let recording = sets("workload.kind=trace workload.path=t.csv workload.replay=closed run.precondition=fill");
    let vary = "compare small.toml --vary host.scheduler=noop,deadline --seeds 3 --columns iops";
    lab.shows(&format!("{vary}{recording}"), &["each seed is a replicate of the recording"]);
    lab.refuses(
        &format!("{vary}{recording} --set workload.requests=1"),
        &["3 seeds, and nothing is drawn: a recording of one or two requests", "leave --seeds out"],
    );
}

#[test]
fn an_expectation_of_several_seeds_is_about_their_mean() {
    let lab = small();
    let expect = "[[expect]]\nclaim = \"deadline is as fast\"\nformula = \"host.iops{scheduler=deadline} / \
                  host.iops{scheduler=noop}\"\nat_least = 0.5\n";
    let vary = "[vary]\nhost.scheduler = [\"noop\", \"deadline\"]\n";
    lab.write("small.toml", format!("{}\n{vary}{expect}", lab.read("small.toml")));
    let comparison = lab.json("compare small.toml --seeds 3 --json -");
    let iops = |run: usize| comparison["runs"][run]["result"]["host"]["iops"].as_f64().expect("it has a throughput");
    let mean = (0..3).map(|seed| iops(3 + seed) / iops(seed)).sum::<f64>() / 3.0;
    let found = comparison["expectations"][0]["value"].as_f64().expect("it has a value");
    assert!((found - mean).abs() < 1e-12, "{found} {mean}");
}

#[test]
fn combinations_that_do_not_go_together_are_left_out_on_request_and_listed() {
    let lab = small();
    let vary = "compare small.toml --set ftl.bast.log_blocks=5 --vary ftl.mapping=page,bast";
    let sweep = format!("{vary} --vary ftl.gc=greedy,fifo");
    let message = lab.refuses(&sweep, &["`ftl.gc` with `ftl.mapping` = \"bast\""]);
    assert!(message.starts_with("note: 1 of 4 combinations does not go together"), "{message}");
    let listed = "1 left out, because their values do not go together:\n  ftl.mapping=bast, ftl.gc=fifo: `ftl.gc` with";
    lab.shows(&format!("{sweep} --skip-unfit --json all.json"), &[listed]);
    let comparison = lab.read_json("all.json");
    validate("compare.json", &comparison);
    assert_eq!(comparison["runs"].as_array().map(Vec::len), Some(3));
    assert_eq!(comparison["left_out"][0]["vary"]["ftl.gc"], "fifo");
    let more = "--vary ftl.gc=greedy,fifo,d-choices --vary host.queue_depth=1,2 --skip-unfit";
    let table = lab.succeed(&format!("{vary} {more}")).stdout;
    insta::assert_snapshot!("left_out", table.split_once("4 left out").expect("four are left out").1);
    // Nothing would remain.
    lab.refuses("compare small.toml --vary ftl.mapping=bast,fast --set ftl.gc=fifo --skip-unfit", &[]);
}

#[test]
fn columns_are_chosen_by_the_names_of_fields() {
    let lab = small();
    let sweep = "compare small.toml --vary host.queue_depth=1..7..3 --columns";
    let table = lab.succeed(&format!("{sweep} read.p99_9,WAF,host.flushes,waf_bytes")).stdout;
    assert!(table.starts_with("queue_depth"), "{table}");
    let header: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["queue_depth", "read.p99_9", "WAF", "of", "pages", "host.flushes", "waf_bytes"]);
    let depths: Vec<&str> = table.lines().skip(1).take(3).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(depths, ["1", "4", "7"]);
    insta::assert_snapshot!("columns_refused", lab.refuses(&format!("{sweep} wafe,p99,waf,WAF"), &[]));
}

#[test]
fn ranges_are_checked_like_lists() {
    let lab = small();
    let vary = |text: &str| lab.refuses(&format!("compare small.toml --vary {text}"), &[]);
    insta::assert_snapshot!(
        "ranges_refused",
        ["run.seed=1..=4", "run.seed=9..1", "run.seed=1..10..4", "host.queue_depth=0..3", "run.seed=1..3,2"]
            .map(vary)
            .join("\n")
    );
    lab.write("small.toml", format!("{}\n[vary]\nrun.seed = \"1..3\"\n", lab.read("small.toml")));
    let seeds = lab.succeed("compare small.toml --columns iops").stdout;
    assert_eq!(seeds.lines().filter(|line| line.starts_with(['1', '2', '3'])).count(), 3, "{seeds}");
    insta::assert_snapshot!("seeds_and_vary_seed", lab.refuses("compare small.toml --seeds 3", &[]));
}

#[test]
fn a_replay_that_needs_more_than_a_recording_has_is_left_out_on_request() {
    let lab = Lab::new();
    lab.write("a.csv", "timestamp_ns,op,lba,sectors\n0,W,0,8\n1000,R,8,8\n2000,R,16,8\n");
    lab.write("small.toml", "workload.kind = \"trace\"\nworkload.path = \"a.csv\"\nrun.timeline_interval = \"10ms\"\n");
    let sweep = "compare small.toml --vary workload.replay=closed,dependent,timestamps";
    for seeds in ["", "--seeds 2"] {
        let message = lab.refuses(&format!("{sweep} {seeds}"), &[]);
        let note =
            "note: 1 of 3 combinations does not go together, as below; --skip-unfit leaves it out and lists it\n";
        assert!(message.starts_with(note), "{message}");
    }
    let missing = lab.refuses(&format!("{sweep} --set workload.path=b.csv"), &[]);
    assert!(!missing.contains("--skip-unfit"), "{missing}");
    let comparison = lab.json(&format!("{sweep} --skip-unfit --seeds 2 --json -"));
    assert_eq!(comparison["runs"].as_array().map(Vec::len), Some(4));
    assert_eq!(comparison["left_out"].as_array().map(Vec::len), Some(1));
    assert_eq!(comparison["left_out"][0]["vary"].to_string(), r#"{"workload.replay":"dependent"}"#);
}
