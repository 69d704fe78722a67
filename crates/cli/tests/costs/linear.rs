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
    line: fn(u64) -> Vec<u8>,
}

const fn trace(name: &'static str, head: &'static str, line: fn(u64) -> Vec<u8>) -> Input {
    Input { name, arguments: &["trace", "info"], head, line }
}

/// An experiment, or a job of one.
const fn run(name: &'static str, head: &'static str, line: fn(u64) -> Vec<u8>) -> Input {
    Input { name, arguments: &["run"], head, line }
}

/// A request of a device of its own that was queued: 48 bytes.
fn blktrace(at: u64) -> Vec<u8> {
    let (number, queued) = (at as u32, 1 | 1 << 20 | 1 << 17);
    let times = [at * 1000, at * 8].map(u64::to_le_bytes).concat();
    let words = [4096, queued, 7, number, 0, 0].map(u32::to_le_bytes).concat();
    [[0x6561_7407, number].map(u32::to_le_bytes).concat(), times, words].concat()
}

/// A command of version 1: 32 bytes.
fn vscsi(at: u64) -> Vec<u8> {
    let words = [at as u32, 4096, 1].map(u32::to_le_bytes).concat();
    [words, 0x0100_002a_u32.to_le_bytes().to_vec(), [at * 8, at * 40].map(u64::to_le_bytes).concat()].concat()
}

const INPUTS: [Input; 22] = [
    trace("own.csv", "timestamp_ns,op,lba,sectors,device\n", |at| {
        format!("{},R,{},8,{}\n", at * 1000, at * 8, at % 60_000).into()
    }),
    trace("hosts.csv", "", |at| {
        format!("{},h{at},0,Read,{},4096,10\n", 128_166_372_003_061_629 + at, at * 4096).into()
    }),
    trace("blkparse.txt", "", |at| {
        format!("  8,{at}  0 {at} {}.{:09} 1 Q R {} + 8 [a]\n", at / 1000, at % 1000 * 1000, at * 8).into()
    }),
    trace("spc.csv", "", |at| format!("{},{},4096,W,{at}.5\n", at % 60_000, at * 8).into()),
    trace("iolog", "fio version 3 iolog\n", |at| {
        format!("0 /dev/{at} add\n0 /dev/{at} open\n{at} /dev/{at} write {} 4096\n", at * 4096).into()
    }),
    trace("ssdsim.txt", "", |at| format!("{} {} {} 8 1\n", at * 1000, at % 60_000, at * 8).into()),
    trace("disksim.txt", "", |at| format!("{at}.313 {} {} 8 0\n", at % 60_000, at * 8).into()),
    trace("diskmon.txt", "", |at| {
        format!("{at}\t{at}.016375\t0.00038147\t{}\tWrite\t{}\t8\n", at % 60_000, at * 8).into()
    }),
    trace("systor.csv", "", |at| format!("{at}.133076000,0.000806000,R,{},{},4096\n", at % 60_000, at * 4096).into()),
    trace("alibaba.csv", "", |at| format!("{at},R,{},4096,{}\n", at * 4096, 1_577_808_000_000_626 + at).into()),
    trace("tencent.csv", "", |at| format!("{},{},8,0,{at}\n", 1_538_323_200 + at, at * 8).into()),
    trace("x.blktrace.0", "", blktrace),
    trace("x.vscsi", "", vscsi),
    run("keys.toml", "[host]\n", |at| format!("key{at} = 1\n").into()),
    run("lines.toml", "", |at| format!("[a{at}\nb = \n").into()),
    run("sections.toml", "", |at| format!("key{at} = 1\n").into()),
    // Errors in one line, which is as long as the text.
    run("marks.toml", "a = ", |_| b" = =".to_vec()),
    // It is sound, and would run a million requests.
    run("expect.toml", "device.blocks = 64\nworkload.synthetic.requests = 1\n", |at| {
        format!("[[expect]]\nclaim = \"{at}\"\nformula = \"max(host.iops)\"\nat_least = {at}\n").into()
    }),
    run("fields.toml", "", |at| {
        format!("[[expect]]\nclaim = \"{at}\"\nformula = \"host.iobs{at}\"\nat_least = {at}\n").into()
    }),
    run("global.fio", "", |at| format!("[global]\nbs={}k\nunknown{at}=1\n", at % 7 * 4 + 4).into()),
    Input {
        name: "twice.toml",
        arguments: &["compare"],
        head: "vary.\"workload.synthetic.requests\" = [1",
        line: |at| format!(",\n{}", at + 1).into(),
    },
    Input {
        name: "result.json",
        arguments: &["report", "--out", "/dev/null"],
        head: "[0",
        line: |at| format!(",\n{{\"key{at}\": {at}}}").into(),
    },
];

/// Instructions of reading an input of so many lines.
fn instructions(input: &Input, lines: u64) -> u64 {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join(input.name);
    let text: Vec<u8> = (1..=lines).flat_map(input.line).collect();
    fs::write(&path, [input.head.as_bytes(), &text].concat()).expect("the folder can be written to");
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
    collected(&log).instructions
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
    let grown: Vec<_> = INPUTS.par_iter().filter_map(growth).collect();
    assert!(grown.is_empty(), "more than {MOST} times the instructions for ten times the input: {grown:?}");
}
