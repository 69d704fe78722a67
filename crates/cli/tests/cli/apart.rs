//! No output is an input of its command or another output, whatever its name: a table of commands, their options that
//! write, and the kinds of files that they read.

use std::fs;
use std::os::unix::fs::symlink;

use crate::commands::{TRACE, measured};
use crate::lab::{Answer, Lab};

/// A blktrace record of a read that was queued on one processor.
fn record(time_ns: u64) -> Vec<u8> {
    const QUEUED_READ: u32 = 1 | 1 << 20 | 1 << 16;
    let mut record = 0x6561_7407_u32.to_le_bytes().to_vec();
    record.extend(1_u32.to_le_bytes());
    record.extend(time_ns.to_le_bytes());
    record.extend(8_u64.to_le_bytes());
    for word in [4_096, QUEUED_READ, 7, 8 << 20 | 16, 0] {
        record.extend(word.to_le_bytes());
    }
    record.extend([0; 4]);
    record
}

/// A lab with a file of every kind that is read, and the experiments that read them.
fn everything() -> Lab {
    let lab = measured();
    let small = lab.read("small.toml");
    let with = |workload: &str| small.replace("[workload.synthetic]", &format!("{workload}\n[workload.synthetic]"));
    let path = |kind: &str, path: &str| with(&format!("[workload]\nkind = \"{kind}\"\npath = \"{path}\""));
    lab.write("trace.csv", TRACE).write("recorded.toml", path("trace", "trace.csv"));
    lab.write("x.blktrace.0", record(0)).write("x.blktrace.1", record(500)).write("x.blktrace.2", record(900));
    lab.write("blktrace.toml", path("trace", "x.blktrace.0"));
    lab.write("read.iolog", "fio version 2 iolog\nf add\nf open\nf read 4096 4096\nf close\n");
    lab.write("replay.fio", "[a]\nread_iolog=read.iolog\n").write("replay.toml", path("fio", "replay.fio"));
    lab.write("drive.toml", "[device]\nblocks = 64\n").write("preset.toml", "[device]\npreset = \"./drive.toml\"\n");
    lab.write("curve.csv", "written_bytes,bytes_per_second\n1000000,4e8\n2000000,3e8\n");
    let filled = small.replace("[run]", "[run]\nprecondition = \"fill\"");
    lab.write("filled.toml", &filled).succeed("run filled.toml --save-state saved.state --json a.json");
    lab.write("aged.toml", filled.replace("[run]", "[run]\nstate = \"saved.state\""));
    lab.succeed("run small.toml --log log.csv");
    lab.succeed("compare small.toml --vary run.seed=1,2 --out kept");
    fs::create_dir(lab.path("sub")).expect("there is room");
    lab
}

/// Asserts that an output is refused by every name that leads to an input: its own, longer ones, a link, a hard link.
fn refused(lab: &Lab, command: &str, input: &str) {
    let before = fs::read(lab.path(input)).expect("it is there");
    fs::hard_link(lab.path(input), lab.path("hard.csv")).expect("there is room");
    symlink(lab.path(input), lab.path("soft.csv")).expect("there is room");
    let whole = lab.path(input).display().to_string();
    for name in [input, &format!("./{input}"), &format!("sub/../{input}"), &whole, "soft.csv", "hard.csv"] {
        let arguments = command.split(' ').map(|word| if word == "OUTPUT" { name } else { word });
        Answer::of(&mut lab.command(arguments)).refused(&["this is read", name]);
        assert!(fs::read(lab.path(input)).expect("it is there") == before, "{command}: {name}");
    }
    assert!(lab.path("soft.csv").is_symlink());
    ["soft.csv", "hard.csv"].iter().for_each(|name| fs::remove_file(lab.path(name)).expect("it is there"));
    assert!(lab.files().iter().all(|name| !name.ends_with(".partial")), "{:?}", lab.files());
}

#[test]
fn no_output_of_a_run_is_one_of_its_inputs() {
    let lab = everything();
    for (experiment, inputs) in [
        ("recorded.toml", &["recorded.toml", "trace.csv"][..]),
        ("blktrace.toml", &["x.blktrace.0", "x.blktrace.2"]),
        ("replay.toml", &["replay.fio", "read.iolog"]),
        ("preset.toml", &["drive.toml"]),
        ("aged.toml", &["saved.state"]),
    ] {
        for input in inputs {
            refused(&lab, &format!("run {experiment} --json OUTPUT"), input);
        }
    }
    // Every other option, with a file that only the recording names.
    for option in ["--timeline", "--perfetto", "--save-state"] {
        refused(&lab, &format!("run blktrace.toml --set run.precondition=fill {option} OUTPUT"), "x.blktrace.1");
    }
    refused(&lab, "run replay.toml --fio-json OUTPUT", "read.iolog");
    refused(&lab, "run recorded.toml --log OUTPUT", "trace.csv");
}

#[test]
fn no_output_of_another_command_is_one_of_its_inputs() {
    let lab = everything();
    let kept = fs::read_dir(lab.path("kept")).expect("it is there").flatten().next().expect("a result was kept");
    let kept = format!("kept/{}", kept.file_name().to_string_lossy());
    for (command, input) in [
        ("compare blktrace.toml --vary run.seed=1,2 --json OUTPUT", "x.blktrace.1"),
        ("compare replay.toml --vary run.seed=1,2 --csv OUTPUT", "read.iolog"),
        ("compare small.toml --vary run.seed=1,2 --out kept --json OUTPUT", &kept),
        ("generate blktrace.toml --to flashloom --out OUTPUT", "x.blktrace.1"),
        ("generate replay.toml --to flashloom --out OUTPUT", "read.iolog"),
        ("probe preset.toml --json OUTPUT", "drive.toml"),
        ("validate small.toml --against fio.json --json OUTPUT", "fio.json"),
        ("validate small.toml --against curve.csv --json OUTPUT", "curve.csv"),
        ("validate small.toml --set workload.sort=true --against fio.json --against log.csv --json OUTPUT", "log.csv"),
        (
            "fit log.csv --set workload.sort=true --start small.toml --vary device.read_time=20us..90us -o OUTPUT",
            "log.csv",
        ),
        ("fit fio.json --start small.toml --vary device.read_time=20us..200us -o a.toml --json OUTPUT", "fio.json"),
        ("fit fio.json --start small.toml --vary device.read_time=20us..200us -o a.toml --journal OUTPUT", "fio.json"),
        ("trace convert x.blktrace.0 --to flashloom OUTPUT", "x.blktrace.0"),
        ("trace convert x.blktrace.0 --to flashloom OUTPUT", "x.blktrace.2"),
        ("trace convert trace.csv --to flashloom OUTPUT", "trace.csv"),
        ("report a.json -o OUTPUT", "a.json"),
        ("serve aged.toml --unix s --json OUTPUT", "saved.state"),
        ("serve aged.toml --unix s --image OUTPUT", "saved.state"),
    ] {
        refused(&lab, command, input);
    }
}

#[test]
fn no_report_of_a_paper_is_one_of_its_recordings() {
    let lab = Lab::new();
    let requests: String = (0..600).map(|at| format!("{},W,{},8\n", at * 1_000, at * 8)).collect();
    let (recording, trace) =
        ("traces/windows-pc-mayun2.diskmon.txt.zst", format!("timestamp_ns,op,lba,sectors\n{requests}"));
    lab.write(recording, &trace).write("out/csv/other.csv", "");
    for report in ["out/cave.json", "out/csv/cave-runs.csv"] {
        fs::hard_link(lab.path(recording), lab.path(report)).expect("there is room");
        lab.refuses("reproduce cave --quick --traces traces --out out", &["this is read"]);
        assert_eq!(lab.read(report), trace);
        fs::remove_file(lab.path(report)).expect("it is there");
    }
}

#[test]
fn two_outputs_are_two_files() {
    let lab = everything();
    lab.write("there", "old");
    fs::hard_link(lab.path("there"), lab.path("other")).expect("there is room");
    for (one, other) in [("new", "new"), ("new", "sub/../new"), ("there", "./there"), ("there", "other")] {
        for arguments in [
            format!("run small.toml --json {one} --timeline {other}"),
            format!("compare small.toml --vary run.seed=1,2 --json {one} --csv {other}"),
            format!("fit fio.json --start small.toml -o {one} --json {other}"),
        ] {
            lab.refuses(&arguments, &["something else is written to it"]);
        }
    }
    assert!(!lab.path("new").exists());
    assert_eq!(lab.read("there"), "old");
    // A link is replaced, so two links to one file are two outputs.
    ["one", "two"].iter().for_each(|name| symlink(lab.path("there"), lab.path(name)).expect("there is room"));
    lab.succeed("run small.toml --json one --timeline two");
    assert_eq!(lab.read("there"), "old");
}
