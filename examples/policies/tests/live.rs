//! A drive with a policy of this crate, served by nbdkit with the plugin of `examples/plugin`. Left out of
//! `cargo test`: `make live` builds the plugins and runs it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_flashloom-example-policies");

/// A drive of some megabytes that copies whole blocks.
const DRIVE: &str = "
[device]
channels = 2
ways = 1
dies = 1
planes = 1
blocks = 24
pages = 32
page_size = \"4KiB\"
over_provisioning = 0.33

[buffer]
capacity = \"64KiB\"

[run]
precondition = \"fill\"
";

/// Writes and discards at random, and compares what is read with an array.
const CLIENT: &str = "
import nbd, random
random.seed(7)
h = nbd.NBD()
h.connect_uri('nbd+unix:///?socket=drive.sock')
size = h.get_size()
data = bytearray(size)
for turn in range(300):
    count = 512 * random.randrange(1, 65)
    offset = 512 * random.randrange((size - count) // 512 + 1)
    if turn % 10 == 9:
        h.zero(count, offset)
        data[offset : offset + count] = bytes(count)
    else:
        written = random.randbytes(count)
        h.pwrite(written, offset, nbd.CMD_FLAG_FUA if turn % 7 == 0 else 0)
        data[offset : offset + count] = written
    offset = 512 * random.randrange((size - count) // 512 + 1)
    assert h.pread(count, offset) == data[offset : offset + count], turn
h.flush()
assert b''.join(h.pread(min(1 << 16, size - offset), offset) for offset in range(0, size, 1 << 16)) == data
h.shutdown()
";

/// A plugin that is built as this test is.
fn plugin(name: &str) -> PathBuf {
    let path = Path::new(PROGRAM).with_file_name(format!("lib{name}.so"));
    assert!(path.is_file(), "{}: `make live` builds it", path.display());
    path
}

fn serve(folder: &Path, plugin: &Path, set: &str) -> Command {
    fs::write(folder.join("drive.toml"), DRIVE).expect("there is room");
    // A shell turns INT off for what its scripts run in the background, and the program leaves it so.
    let mut command = Command::new("env");
    let arguments = [
        "serve",
        "drive.toml",
        "--unix",
        "drive.sock",
        "--json",
        "result.json",
    ];
    command
        .args(["--default-signal=INT", PROGRAM])
        .args(arguments);
    command.args(["--no-cache", "--set", set]);
    command
        .env("FLASHLOOM_NBDKIT_PLUGIN", plugin)
        .current_dir(folder);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn a_drive_with_a_mapping_of_this_crate_has_data() {
    for mapping in ["block-map", "ctp"] {
        let folder = tempfile::tempdir().expect("there is room");
        let set = format!("ftl.mapping={mapping}");
        let mut command = serve(folder.path(), &plugin("flashloom_example_plugin"), &set);
        let server = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut server = server.expect("the program can be started");
        let mut errors = BufReader::new(server.stderr.take().expect("it is a pipe"));
        let mut said_before = String::new();
        while !said_before.contains("; Ctrl-C ends it") {
            let read = errors.read_line(&mut said_before).expect("text");
            assert!(read > 0, "{mapping}: it does not serve: {said_before}");
        }
        let client = Command::new("timeout")
            .args(["300", "/usr/bin/python3", "-c", CLIENT])
            .current_dir(folder.path())
            .output()
            .expect("it can be started");
        let kill = ["-INT".to_owned(), server.id().to_string()];
        let killed = Command::new("kill").args(kill).status();
        assert!(killed.expect("it can be started").success());
        let mut said_after = String::new();
        errors.read_to_string(&mut said_after).expect("text");
        let status = server.wait().expect("it is a child");
        assert!(client.status.success(), "{mapping}: {}", said(&client));
        assert!(status.success(), "{mapping}: {said_after}");
        let result = fs::read(folder.path().join("result.json")).expect("it was written");
        let result: serde_json::Value = serde_json::from_slice(&result).expect("it is JSON");
        assert_eq!(result["config"]["ftl"]["mapping"], mapping);
        assert!(result["ftl"]["page_copies"].as_u64() > Some(0), "{mapping}");
    }
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn plugins_that_do_not_fit_are_refused_before_anything_is_aged() {
    let folder = tempfile::tempdir().expect("there is room");
    let no_plugin = folder.path().join("no-plugin.so");
    fs::write(&no_plugin, "no library").expect("there is room");
    for (plugin, set, words) in [
        (
            plugin("flashloom_nbdkit"),
            "ftl.gc=rested",
            &["`rested`", "flashloom_plugin::nbdkit!"],
        ),
        (
            no_plugin,
            "ftl.gc=greedy",
            &["does not say what it is built of", "build both anew"],
        ),
    ] {
        let output = serve(folder.path(), &plugin, set).output();
        let output = output.expect("the program can be started");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        for words in words.iter().chain([&&*plugin.display().to_string()]) {
            assert!(said.contains(words), "{words} is not in: {said}");
        }
    }
}
