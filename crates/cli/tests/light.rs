//! The program without its default features: what README's first command builds. It runs and compares, knows every key
//! and command, and refuses what it does not have, before anything is run or written. `make light` builds it, and names
//! it in `FLASHLOOM_LIGHT`.
#![allow(missing_docs)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the program in a folder: its exit status, and what it wrote on both streams.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let program = std::env::var_os("FLASHLOOM_LIGHT").expect("`make light` names the program");
    let program = Command::new(program).args(arguments).current_dir(folder).output();
    let program = program.expect("it can be started");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it writes text");
    (program.status.code(), text(program.stdout), text(program.stderr))
}

/// A folder with a small experiment.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    let experiment = "workload.synthetic.requests = 500\ndevice.preset = \"mlc-16g\"\ndevice.blocks = 64\n";
    fs::write(folder.path().join("small.toml"), experiment).expect("there is room");
    folder
}

#[test]
#[ignore = "needs the program without its default features: make light"]
fn it_compares_and_explains_as_every_build() {
    let folder = folder();
    let compare =
        ["compare", "small.toml", "--vary", "host.scheduler=noop,mq-deadline", "--json", "out.json", "--verify"];
    let (status, table, said) = run(folder.path(), &compare);
    assert_eq!(status, Some(0), "{said}");
    assert!(table.contains("mq-deadline") && folder.path().join("out.json").is_file(), "{table}");
    for name in ["p99_9", "ftl.mapping", "device.preset", "segment_bytes"] {
        let (status, page, said) = run(folder.path(), &["explain", name]);
        assert!(status == Some(0) && !page.is_empty(), "{name}: {said}");
    }
}

#[test]
#[ignore = "needs the program without its default features: make light"]
fn commands_that_it_lacks_are_refused_by_name_whatever_they_are_given() {
    let folder = folder();
    for command in ["probe", "validate", "fit", "reproduce", "serve", "report", "completions", "man"] {
        for arguments in [&[command][..], &[command, "small.toml", "--json", "x.json"], &[command, "--help"]] {
            let (status, shown, said) = run(folder.path(), arguments);
            assert_eq!((status, shown.as_str()), (Some(2), ""), "{arguments:?}");
            let expected = format!("the command `{command}` is not part of this build");
            assert!(said.contains(&expected) && said.contains("cargo install --path crates/cli"), "{said}");
        }
    }
    let (status, shown, _) = run(folder.path(), &["--help"]);
    let joined = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(status == Some(0) && joined.matches("(not part of this build)").count() == 8, "{shown}");
    let (status, shown, _) = run(folder.path(), &["help", "serve"]);
    assert!(status == Some(0) && shown.contains("cargo install --path crates/cli"), "{shown}");
}

#[test]
#[ignore = "needs the program without its default features: make light"]
fn formats_that_it_lacks_are_refused_before_anything_is_written() {
    let folder = folder();
    let outputs = [
        (&["run", "small.toml", "--log", "x.parquet"][..], "a log as Parquet is not part of this build"),
        (&["run", "small.toml", "--perfetto", "x.pftrace"], "`--perfetto` is not part of this build"),
        (&["generate", "small.toml", "--out", "x.csv.zst"], "writing .zst is not part of this build"),
    ];
    for (arguments, expected) in outputs {
        let (status, _, said) = run(folder.path(), arguments);
        assert!(status == Some(2) && said.contains(expected), "{status:?} {said}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1, "nothing is left");
}

/// A frame of zstd that holds so few bytes as they are.
fn frame(content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).expect("few bytes");
    let block = (u32::from(length) << 3 | 1).to_le_bytes();
    [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, length][..], &block[..3], content].concat()
}

#[test]
#[ignore = "needs the program without its default features: make light"]
fn recordings_compressed_by_zstd_are_read() {
    let folder = folder();
    let recording = [frame(b"timestamp_ns,op,lba,sectors\n"), frame(b"0,R,0,8\n5,W,8,8\n")].concat();
    fs::write(folder.path().join("recording.csv.zst"), recording).expect("there is room");
    let (status, shown, said) = run(folder.path(), &["trace", "info", "recording.csv.zst"]);
    assert!(status == Some(0) && shown.contains("flashloom"), "{shown}{said}");
}
