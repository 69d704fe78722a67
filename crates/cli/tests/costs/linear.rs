//! Time in proportion: every reader takes ten times the input with at most twelve times the instructions.
//!
//! What is fed is what a reader may have to look up among all that came before: other devices, unknown keys, options of
//! `[global]`, problems. Instructions of the least input, which are those of the program's start, are subtracted.

use std::fs;
use std::process::Command;

use rayon::prelude::*;

use crate::count::{collected, release, valgrind_into};

/// Lines of the two inputs that are compared.
const LINES: [u64; 2] = [500, 5_000];

/// Growth that ten times the input may have.
const MOST: f64 = 12.0;

/// An input, and the command that reads it.
struct Input {
    name: &'static str,
    /// Arguments in front of the file.
    arguments: &'static [&'static str],
    head: &'static str,
    line: fn(u64) -> String,
}

const fn trace(name: &'static str, head: &'static str, line: fn(u64) -> String) -> Input {
    Input { name, arguments: &["trace", "info"], head, line }
}

const INPUTS: [Input; 12] = [
    trace("own.csv", "timestamp_ns,op,lba,sectors,device\n", |at| {
        format!("{},R,{},8,{}\n", at * 1000, at * 8, at % 60_000)
    }),
    trace("hosts.csv", "", |at| format!("{},h{at},0,Read,{},4096,10\n", 128_166_372_003_061_629 + at, at * 4096)),
    trace("blkparse.txt", "", |at| {
        format!("  8,{at}  0 {at} {}.{:09} 1 Q R {} + 8 [a]\n", at / 1000, at % 1000 * 1000, at * 8)
    }),
    Input { name: "keys.toml", arguments: &["run"], head: "[host]\n", line: |at| format!("key{at} = 1\n") },
    Input { name: "lines.toml", arguments: &["run"], head: "", line: |at| format!("[a{at}\nb = \n") },
    Input { name: "sections.toml", arguments: &["run"], head: "", line: |at| format!("key{at} = 1\n") },
    // Errors in one line, which is as long as the text.
    Input { name: "marks.toml", arguments: &["run"], head: "a = ", line: |_| " = =".to_owned() },
    Input {
        name: "expect.toml",
        arguments: &["run"],
        head: "",
        line: |at| format!("[[expect]]\nclaim = \"{at}\"\nformula = \"max(host.iops)\"\nat_least = {at}\n"),
    },
    Input {
        name: "fields.toml",
        arguments: &["run"],
        head: "",
        line: |at| format!("[[expect]]\nclaim = \"{at}\"\nformula = \"host.iobs{at}\"\nat_least = {at}\n"),
    },
    Input {
        name: "twice.toml",
        arguments: &["compare"],
        head: "vary.\"workload.synthetic.requests\" = [1",
        line: |at| format!(",\n{}", at + 1),
    },
    Input {
        name: "global.fio",
        arguments: &["run"],
        head: "",
        line: |at| format!("[global]\nbs={}k\nunknown{at}=1\n", at % 7 * 4 + 4),
    },
    Input {
        name: "result.json",
        arguments: &["report", "--out", "/dev/null"],
        head: "[0",
        line: |at| format!(",\n{{\"key{at}\": {at}}}"),
    },
];

/// Instructions of reading an input of so many lines.
fn instructions(input: &Input, lines: u64) -> u64 {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join(input.name);
    let text: String = (1..=lines).map(input.line).collect();
    fs::write(&path, input.head.to_owned() + &text).expect("the folder can be written to");
    let log = folder.path().join("log");
    let mut command: Command = valgrind_into(&log);
    let is_job = input.name.ends_with(".fio");
    let experiment = folder.path().join("job.toml");
    fs::write(&experiment, format!("workload.kind = \"fio\"\nworkload.path = \"{}\"\n", input.name))
        .expect("as before");
    let path = if is_job { experiment } else { path };
    command.arg(release()).args(input.arguments).arg(path).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    // Most of these inputs are refused, which is as it should be.
    command.output().expect("valgrind can be started");
    collected(&log)
}

#[test]
#[ignore = "it takes valgrind: `make budget` runs it"]
fn ten_times_the_input_takes_at_most_twelve_times_the_instructions() {
    let growth = |input: &Input| {
        let counts: Vec<u64> = [1, LINES[0], LINES[1]].par_iter().map(|&lines| instructions(input, lines)).collect();
        assert!(counts[0] + LINES[0] * 100 < counts[1], "{} is read: {counts:?}", input.name);
        let growth = (counts[2] - counts[0]) as f64 / (counts[1] - counts[0]) as f64;
        println!("{}: {} instructions a line, {growth:.1} times", input.name, (counts[2] - counts[0]) / LINES[1]);
        (growth > MOST).then_some((input.name, growth))
    };
    let grown: Vec<_> = INPUTS.iter().filter_map(growth).collect();
    assert!(grown.is_empty(), "more than {MOST} times the instructions for ten times the input: {grown:?}");
}
