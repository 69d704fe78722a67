//! Results that cannot be written when they are there: they are kept aside, nothing else is lost, and the status is 1.

use std::fs::{self, DirEntry};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::commands::{FIT, TRACE, measured, small};
use crate::lab::{Answer, Lab, has, json};

/// The program with a folder for temporary files of its own.
fn command(lab: &Lab, arguments: &str) -> Command {
    fs::create_dir_all(lab.path("tmp")).expect("there is room");
    let mut command = lab.line(arguments);
    command.env("TMPDIR", lab.path("tmp"));
    command
}

/// Runs it; what it says at its end has all of these words.
fn fails(lab: &Lab, arguments: &str, words: &[&str]) -> Answer {
    Answer::of(&mut command(lab, arguments)).ended(1, words)
}

/// What the files hold that an error names as kept aside.
fn kept_aside(stderr: &str) -> Vec<String> {
    let named = stderr.lines().filter_map(|line| line.split_once("the content is in "));
    named.map(|(_, path)| fs::read_to_string(Path::new(path)).expect("it was kept")).collect()
}

#[test]
fn results_are_kept_aside_where_the_disk_is_full_and_tables_are_printed() {
    let lab = measured();
    lab.succeed("run small.toml --log log.csv");
    for (command, printed) in [
        ("run small.toml --json /dev/full", "write amplification"),
        ("compare small.toml --vary run.seed=1,2 --json /dev/full", "requests/s"),
        ("probe small.toml --seeds 2 --outstanding 8 --json /dev/full", "writes/s of"),
        ("validate small.toml --against log.csv --set workload.sort=true --json /dev/full", "null's error"),
        (&format!("{FIT} fitted.toml --json /dev/full"), "device.read_time"),
    ] {
        let answer = fails(&lab, command, &["error: /dev/full cannot be written: No space left"]);
        has(&answer.stdout, &[printed]);
        let kept = kept_aside(&answer.stderr);
        assert_eq!(kept.len(), 1, "{command}: {answer:?}");
        assert!(json(&kept[0])["schema"].as_str().is_some_and(|schema| schema.starts_with("flashloom/")), "{command}");
    }
    let answer = fails(&lab, &format!("{FIT} /dev/full --journal kept"), &[]);
    has(&answer.stdout, &["device.read_time"]);
    has(&kept_aside(&answer.stderr)[0], &["[device]"]);
    // Every file of several is kept, and those that can be written are.
    let answer = fails(&lab, "compare small.toml --vary run.seed=1,2 --csv /dev/full --json all.json", &[]);
    assert_eq!(kept_aside(&answer.stderr)[0].lines().count(), 3, "{answer:?}");
    assert!(lab.path("all.json").exists());
}

#[test]
fn results_for_standard_output_are_kept_aside_where_it_is_full() {
    let lab = small();
    let full = fs::File::options().write(true).open("/dev/full").expect("it is there");
    let answer = Answer::of(command(&lab, "run small.toml --json -").stdout(full));
    let stderr = answer.ended(1, &["standard output cannot be written"]).stderr;
    assert_eq!(json(&kept_aside(&stderr)[0])["schema"], "flashloom/result/2");
}

#[test]
fn a_full_disk_fails_a_trace_that_is_written_and_is_no_bad_input() {
    let lab = small();
    lab.write("trace.csv", TRACE);
    for command in ["generate small.toml --to flashloom --out", "trace convert trace.csv --to flashloom"] {
        fails(&lab, &format!("{command} /dev/full"), &["/dev/full", "No space left"]);
        lab.refuses(&format!("{command} none/a"), &[]);
    }
}

/// The whole results in the folder of a reproduction, which may have partial ones beside them.
fn kept(lab: &Lab) -> usize {
    let is_result = |file: &DirEntry| file.file_name().to_string_lossy().ends_with(".json");
    fs::read_dir(lab.path("out/runs")).map_or(0, |files| files.flatten().filter(is_result).count())
}

/// Starts a reproduction and waits until its folder holds `results` kept results.
fn reproducing(lab: &Lab, results: usize) -> Child {
    // One run at a time, so that it is stopped among them.
    let mut command = command(lab, &format!("{REPRODUCE} --jobs 1"));
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it can be started");
    while kept(lab) < results {
        assert!(child.try_wait().expect("it can be asked").is_none(), "it ended before");
        thread::sleep(Duration::from_millis(1));
    }
    child
}

/// How many results of how many were there, by the note on them.
fn kept_by(stderr: &str) -> (usize, usize) {
    let (note, _) = stderr.split_once(" results are in out/runs already").expect("there is a note");
    let numbers = note.trim_start_matches("note: ").split_once(" of ").expect("it has two numbers");
    (numbers.0.parse().expect("a number"), numbers.1.parse().expect("a number"))
}

const REPRODUCE: &str = "reproduce kast --quick --out out";

#[test]
fn a_reproduction_that_was_killed_goes_on_with_what_was_run() {
    let lab = Lab::new();
    lab.succeed("reproduce kast --quick --out whole");
    let mut child = reproducing(&lab, 10);
    child.kill().and_then(|()| child.wait()).expect("it ends");
    let kept = kept(&lab);
    let again = lab.succeed(REPRODUCE);
    let (had, all) = kept_by(&again.stderr);
    assert!(had == kept && all > kept, "{kept}: {again:?}");
    assert_eq!(lab.read("out/kast.json"), lab.read("whole/kast.json"));
    assert_eq!(lab.read("out/csv/kast-runs.csv"), lab.read("whole/csv/kast-runs.csv"));
    assert!(!lab.path("out/runs").exists() && !lab.path("whole/runs").exists());
}

#[test]
fn a_reproduction_whose_reports_cannot_be_written_prints_its_table_and_keeps_its_runs() {
    let lab = Lab::new();
    let child = reproducing(&lab, 1);
    fs::remove_dir_all(lab.path("out/csv")).expect("it is there");
    let ended = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert!(String::from_utf8_lossy(&ended.stdout).contains("kast"), "{stderr}");
    assert_eq!(kept_aside(&stderr).len(), 2, "the two of csv: {stderr}");
    let again = lab.succeed(REPRODUCE);
    let all = kept_by(&again.stderr);
    assert!(all.0 == all.1 && lab.path("out/csv/kast.csv").exists(), "{again:?}");
}
