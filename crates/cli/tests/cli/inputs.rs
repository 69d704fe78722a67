//! Inputs that are no ordinary files, or larger than their limits.

use std::process::{Command, Stdio};

use crate::lab::{Answer, Lab};

/// Recording of three requests, the last one first.
const BACKWARDS: &str = "timestamp_ns,op,lba,sectors\n20,R,0,8\n10,R,8,8\n0,R,16,8\n";

/// Variables of the environment with limits.
const SORT: &str = "FLASHLOOM_SORT_LIMIT";
const MAPS: &str = "FLASHLOOM_MAPS_LIMIT";

#[test]
fn a_pipe_is_refused_by_every_reader_and_nothing_waits_for_it() {
    let lab = Lab::new();
    lab.write("sweep/note.txt", "");
    let pipes = [lab.path("pipe"), lab.path("sweep/data.parquet")];
    assert!(Command::new("mkfifo").args(pipes).status().expect("there is mkfifo").success());
    lab.write("empty.toml", "");
    for arguments in [
        "trace info pipe",
        "run pipe",
        "report pipe -o page.html",
        "report sweep -o page.html",
        "run empty.toml --set workload.kind=fio --set workload.path=pipe",
        "run empty.toml --set workload.kind=trace --set workload.path=pipe",
    ] {
        lab.refuses(arguments, &["this is a pipe"]);
    }
}

/// Runs the program with a file on its standard input by a pipe.
fn piped(lab: &Lab, file: &str, arguments: &str) -> Answer {
    let mut writer = Command::new("cat").arg(lab.path(file)).stdout(Stdio::piped()).spawn().expect("cat");
    let pipe = writer.stdout.take().expect("it is piped");
    let answer = Answer::of(lab.line(arguments).stdin(pipe));
    writer.wait().expect("cat ends");
    answer
}

#[test]
fn standard_input_is_named_and_a_pipe_is_read_once() {
    let lab = Lab::new();
    lab.write("trace.csv", "timestamp_ns,op,lba,sectors\n0,R,0,8\n");
    lab.write("pipe.toml", "[workload]\nkind = \"trace\"\npath = \"/dev/stdin\"\n");
    piped(&lab, "trace.csv", "trace info /dev/stdin").ended(0, &[]);
    lab.refuses("trace info -", &["standard input is read as /dev/stdin"]);
    piped(&lab, "trace.csv", "run pipe.toml").refused(&["a pipe can be read only once"]);
    // Measurements are read more than once.
    lab.write("drive.toml", "[device]\npreset = \"mlc-16g\"\n").write("fio.json", "{}");
    for arguments in ["fit /dev/stdin --start mlc-16g -o fitted.toml", "validate drive.toml --against /dev/stdin"] {
        piped(&lab, "fio.json", arguments).refused(&["can be read only once"]);
    }
}

#[test]
fn a_byte_order_mark_before_a_text_is_skipped() {
    let lab = Lab::new();
    lab.write("job.fio", "\u{feff}[job]\nrw=read\nsize=1m\n");
    lab.write("drive.toml", "\u{feff}[workload]\nkind = \"fio\"\npath = \"job.fio\"\n[run]\ntiming = \"counting\"\n");
    lab.succeed("run drive.toml --json result.json");
    lab.write("marked.json", format!("\u{feff}{}", lab.read("result.json")));
    lab.succeed("report marked.json --out marked.html");
}

#[test]
fn the_limits_on_texts_and_sorted_recordings_are_named_and_can_be_raised() {
    let lab = Lab::new();
    lab.write("long.toml", "# a comment\n").write("back.csv", BACKWARDS);
    let text = "FLASHLOOM_TEXT_LIMIT";
    lab.run_with([(text, "11")], "run long.toml").refused(&["longer than 11 bytes", text]);
    let sort = "trace info back.csv --sort";
    lab.run_with([(SORT, "2")], sort).refused(&["more than 2 requests to sort", SORT]);
    lab.run_with([(SORT, "3")], sort).ended(0, &[]);
}

/// Runs a job of fio without time, with a limit.
fn job(lab: &Lab, job: &str, limit: (&str, &str)) -> Answer {
    let experiment = "[workload]\nkind = \"fio\"\npath = \"job.fio\"\n[run]\ntiming = \"counting\"\n";
    lab.write("drive.toml", experiment).write("job.fio", job).run_with([limit], "run drive.toml")
}

#[test]
fn what_the_clones_of_fio_jobs_hold_is_limited_and_each_iolog_is_read_once() {
    let lab = Lab::new();
    lab.write("two.log", "fio version 2 iolog\nf add\nf open\nf read 4096 4096\nf read 8192 4096\nf close\n");
    let many = "[a]\nread_iolog=two.log\nnumjobs=4096\n";
    let found = "more than 1 requests of iologs that several jobs replay";
    job(&lab, many, (SORT, "1")).refused(&["job.fio:2:12", found]);
    // More clones than files may be open at once.
    job(&lab, many, (SORT, "2")).ended(0, &[]);
    job(&lab, "[a]\nread_iolog=two.log\n", (SORT, "1")).ended(0, &[]);
    // 64 maps of 64 words.
    let random = "[a]\nrw=randread\nfilename=a\nsize=16m\nnumber_ios=1\nnumjobs=64\n";
    job(&lab, random, (MAPS, "32767")).refused(&["random maps of 32768 bytes", "job.fio:6:9", MAPS]);
    job(&lab, random, (MAPS, "32768")).ended(0, &[]);
    job(&lab, random, (MAPS, "1G")).refused(&["FLASHLOOM_MAPS_LIMIT is `1G`"]);
}

#[test]
fn iologs_are_one_by_their_file_and_few_are_open_at_a_time() {
    let lab = Lab::new();
    let text = "fio version 2 iolog\nf add\nf open\nf read 4096 4096\nf close\n";
    // Ten jobs, each with its own way to spell one file: its request is kept once.
    lab.write("one.log", text);
    let spelled: String = (0..10).map(|at| format!("[{at}]\nread_iolog={}one.log\n", "./".repeat(at))).collect();
    job(&lab, &spelled, (SORT, "1")).ended(0, &[]);
    job(&lab, &spelled, (SORT, "0")).refused(&[]);
    // Ten files: those behind the eighth are kept.
    for at in 0..10 {
        lab.write(&format!("{at}.log"), text);
    }
    let files: String = (0..10).map(|at| format!("[{at}]\nread_iolog={at}.log\n")).collect();
    job(&lab, &files, (SORT, "2")).ended(0, &[]);
    job(&lab, &files, (SORT, "1")).refused(&["job.fio:20:12"]);
}

#[test]
fn a_replay_that_is_slowed_down_beyond_simulated_time_is_refused() {
    let lab = Lab::new();
    let line = |at: u64| format!("{at} f read 4096 4096\n");
    let log = format!("fio version 3 iolog\n0 f add\n0 f open\n{}{}", line(1), line(2_000_000_000_000_000));
    lab.write("late.log", &log).write("job.fio", "[a]\nread_iolog=late.log\nreplay_time_scale=1\n");
    lab.write("drive.toml", "[workload]\nkind = \"fio\"\npath = \"job.fio\"\n");
    lab.refuses("run drive.toml", &["job.fio:3:19", "more than 146 years"]);
}
