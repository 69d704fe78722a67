//! Inputs that are no ordinary files, or larger than their limits.

use std::fs;
use std::process::{Command, Stdio};

use crate::lab::{Answer, Lab};

/// Recording of three requests, the last one first.
const BACKWARDS: &str = "timestamp_ns,op,lba,sectors\n20,R,0,8\n10,R,8,8\n0,R,16,8\n";

fn with(lab: &Lab, variable: (&str, &str), arguments: &[&str]) -> Answer {
    let ended = lab.command(arguments).env(variable.0, variable.1).output().expect("it can be started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Answer { code: ended.status.code(), stdout: text(&ended.stdout), stderr: text(&ended.stderr) }
}

#[test]
fn a_pipe_is_refused_by_every_reader_and_nothing_waits_for_it() {
    let lab = Lab::new();
    lab.write("sweep/note.txt", "");
    let pipes = [lab.path("pipe"), lab.path("sweep/data.parquet")];
    assert!(Command::new("mkfifo").args(pipes).status().expect("there is mkfifo").success());
    let fio = ["--set", "workload.kind=fio", "--set", "workload.path=pipe"];
    let trace = ["--set", "workload.kind=trace", "--set", "workload.path=pipe"];
    for arguments in [
        vec!["trace", "info", "pipe"],
        vec!["run", "pipe"],
        vec!["report", "pipe", "-o", "page.html"],
        vec!["report", "sweep", "-o", "page.html"],
        [&["run", "empty.toml"], &fio[..]].concat(),
        [&["run", "empty.toml"], &trace[..]].concat(),
    ] {
        let refused = lab.write("empty.toml", "").run(&arguments);
        assert!(refused.code == Some(2) && refused.stderr.contains("this is a pipe"), "{arguments:?}: {refused:?}");
    }
}

/// The exit status and the errors of the program, with a file on its standard input by a pipe.
fn piped(lab: &Lab, file: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut writer = Command::new("cat").arg(lab.path(file)).stdout(Stdio::piped()).spawn().expect("cat");
    let pipe = writer.stdout.take().expect("it is piped");
    let ended = lab.command(arguments).stdin(pipe).output().expect("it can be started");
    writer.wait().expect("cat ends");
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[test]
fn what_the_caller_has_opened_is_read() {
    let lab = Lab::new();
    lab.write("trace.csv", "timestamp_ns,op,lba,sectors\n0,R,0,8\n");
    let (code, stderr) = piped(&lab, "trace.csv", &["trace", "info", "/dev/stdin"]);
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn standard_input_is_named_and_a_pipe_is_read_once() {
    let lab = Lab::new();
    lab.write("trace.csv", "timestamp_ns,op,lba,sectors\n0,R,0,8\n");
    lab.write("pipe.toml", "[workload]\nkind = \"trace\"\npath = \"/dev/stdin\"\n");
    let refused = lab.run(&["trace", "info", "-"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("standard input is read as /dev/stdin"), "{refused:?}");
    let (code, stderr) = piped(&lab, "trace.csv", &["run", "pipe.toml"]);
    assert!(code == Some(2) && stderr.contains("a pipe can be read only once"), "{stderr}");
}

#[test]
fn a_measurement_from_a_pipe_is_refused_because_it_is_read_more_than_once() {
    let lab = Lab::new();
    lab.write("drive.toml", "[device]\npreset = \"mlc-16g\"\n").write("fio.json", "{}");
    for arguments in [
        &["fit", "/dev/stdin", "--start", "mlc-16g", "-o", "fitted.toml"][..],
        &["validate", "drive.toml", "--against", "/dev/stdin"],
    ] {
        let (code, stderr) = piped(&lab, "fio.json", arguments);
        assert!(code == Some(2) && stderr.contains("can be read only once"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_byte_order_mark_before_a_text_is_skipped() {
    let lab = Lab::new();
    lab.write("job.fio", "\u{feff}[job]\nrw=read\nsize=1m\n");
    lab.write("drive.toml", "\u{feff}[workload]\nkind = \"fio\"\npath = \"job.fio\"\n[run]\ntiming = \"counting\"\n");
    let run = lab.run(&["run", "drive.toml", "--json", "result.json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let result = fs::read_to_string(lab.path("result.json")).expect("the run wrote it");
    lab.write("marked.json", format!("\u{feff}{result}"));
    let report = lab.run(&["report", "marked.json", "--out", "marked.html"]);
    assert_eq!(report.code, Some(0), "{report:?}");
}

#[test]
fn the_limits_on_texts_and_sorted_recordings_are_named_and_can_be_raised() {
    let lab = Lab::new();
    lab.write("long.toml", "# a comment\n").write("back.csv", BACKWARDS);
    let refused = with(&lab, ("FLASHLOOM_TEXT_LIMIT", "11"), &["run", "long.toml"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("longer than 11 bytes"), "{refused:?}");
    assert!(refused.stderr.contains("FLASHLOOM_TEXT_LIMIT"), "{refused:?}");
    let sort = ["trace", "info", "back.csv", "--sort"];
    let refused = with(&lab, ("FLASHLOOM_SORT_LIMIT", "2"), &sort);
    assert!(refused.code == Some(2) && refused.stderr.contains("more than 2 requests to sort"), "{refused:?}");
    assert!(refused.stderr.contains("FLASHLOOM_SORT_LIMIT"), "{refused:?}");
    assert_eq!(with(&lab, ("FLASHLOOM_SORT_LIMIT", "3"), &sort).code, Some(0));
}

#[test]
fn what_the_clones_of_fio_jobs_hold_is_limited_and_each_iolog_is_read_once() {
    let lab = Lab::new();
    lab.write("drive.toml", "[workload]\nkind = \"fio\"\npath = \"job.fio\"\n[run]\ntiming = \"counting\"\n");
    lab.write("two.log", "fio version 2 iolog\nf add\nf open\nf read 4096 4096\nf read 8192 4096\nf close\n");
    let (sort, maps) = ("FLASHLOOM_SORT_LIMIT", "FLASHLOOM_MAPS_LIMIT");
    let job = |job: &str, limit| with(lab.write("job.fio", job), limit, &["run", "drive.toml"]);
    let many = "[a]\nread_iolog=two.log\nnumjobs=4096\n";
    let refused = job(many, (sort, "1"));
    assert!(refused.code == Some(2) && refused.stderr.contains("job.fio:2:12"), "{refused:?}");
    assert!(refused.stderr.contains("more than 1 requests of iologs that several jobs replay"), "{refused:?}");
    // More clones than files may be open at once.
    assert_eq!(job(many, (sort, "2")).code, Some(0));
    assert_eq!(job("[a]\nread_iolog=two.log\n", (sort, "1")).code, Some(0));
    // 64 maps of 64 words.
    let random = "[a]\nrw=randread\nfilename=a\nsize=16m\nnumber_ios=1\nnumjobs=64\n";
    let refused = job(random, (maps, "32767"));
    assert!(refused.code == Some(2) && refused.stderr.contains("random maps of 32768 bytes"), "{refused:?}");
    assert!(refused.stderr.contains("job.fio:6:9") && refused.stderr.contains(maps), "{refused:?}");
    assert_eq!(job(random, (maps, "32768")).code, Some(0));
    let refused = job(random, (maps, "1G"));
    assert!(refused.code == Some(2) && refused.stderr.contains("FLASHLOOM_MAPS_LIMIT is `1G`"), "{refused:?}");
}

#[test]
fn iologs_are_one_by_their_file_and_few_are_open_at_a_time() {
    let lab = Lab::new();
    lab.write("drive.toml", "[workload]\nkind = \"fio\"\npath = \"job.fio\"\n[run]\ntiming = \"counting\"\n");
    let text = "fio version 2 iolog\nf add\nf open\nf read 4096 4096\nf close\n";
    let sort = "FLASHLOOM_SORT_LIMIT";
    let job = |job: &str, limit| with(lab.write("job.fio", job), (sort, limit), &["run", "drive.toml"]);
    // Ten jobs, each with its own way to spell one file: its request is kept once.
    lab.write("one.log", text);
    let spelled: String = (0..10).map(|at| format!("[{at}]\nread_iolog={}one.log\n", "./".repeat(at))).collect();
    assert_eq!(job(&spelled, "1").code, Some(0));
    assert_eq!(job(&spelled, "0").code, Some(2));
    // Ten files: those behind the eighth are kept.
    for at in 0..10 {
        lab.write(&format!("{at}.log"), text);
    }
    let files: String = (0..10).map(|at| format!("[{at}]\nread_iolog={at}.log\n")).collect();
    assert_eq!(job(&files, "2").code, Some(0));
    let refused = job(&files, "1");
    assert!(refused.code == Some(2) && refused.stderr.contains("job.fio:20:12"), "{refused:?}");
}

#[test]
fn a_replay_that_is_slowed_down_beyond_simulated_time_is_refused() {
    let lab = Lab::new();
    lab.write("drive.toml", "[workload]\nkind = \"fio\"\npath = \"job.fio\"\n");
    let line = |at: u64| format!("{at} f read 4096 4096\n");
    let log = format!("fio version 3 iolog\n0 f add\n0 f open\n{}{}", line(1), line(2_000_000_000_000_000));
    lab.write("late.log", &log);
    let refused = with(
        lab.write("job.fio", "[a]\nread_iolog=late.log\nreplay_time_scale=1\n"),
        ("FLASHLOOM_SORT_LIMIT", ""),
        &["run", "drive.toml"],
    );
    assert!(refused.code == Some(2) && refused.stderr.contains("job.fio:3:19"), "{refused:?}");
    assert!(refused.stderr.contains("more than 146 years"), "{refused:?}");
}
