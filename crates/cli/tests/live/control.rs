//! Orders at the control socket of a server, and its end.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::service::{DRIVE, Place, Service, comes, flashloom, names, number, refused, send};

/// Asks a server's control socket, as one of several clients.
pub fn ask(server: &Service, line: &str) -> Value {
    let mut stream = UnixStream::connect(server.path("control")).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it has one");
    stream.write_all(format!("{line}\n").as_bytes()).expect("it is read");
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).expect("it answers");
    serde_json::from_str(&answer).expect("JSON")
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn control_tells_how_far_a_drive_is_while_fio_writes_and_ends_it() {
    let server = Service::begin(&["--control", "control", "--gather", "--log", "log.csv"]);
    assert_eq!(server.status()["commands"], 0);
    let mut fio =
        server.fio("--thread --name=w --ioengine=nbd --rw=randwrite --bs=4k --iodepth=16 --size=40m --minimal");
    let (mut seen, mut most_inside) = (Vec::new(), 0);
    while fio.try_wait().expect("it is a child").is_none() {
        let status = server.status();
        seen.push(number(&status["requests"]["writes"]));
        most_inside = most_inside.max(number(&status["inside"]));
        // A client that stalls, and one that leaves rubbish, at each look.
        let mut stalled = UnixStream::connect(server.path("control")).expect("it listens");
        stalled.write_all(b"{\"do\"").expect("it is read");
        std::thread::sleep(Duration::from_millis(30));
    }
    assert!(seen.is_sorted() && seen.iter().filter(|&&writes| 0 < writes && writes < 10_240).count() > 1, "{seen:?}");
    assert!(most_inside > 1, "fio has up to 16 requests inside");
    let so_far = ask(&server, r#"{"do": "result"}"#)["result"].take();
    assert_eq!(so_far["host"]["writes"], 10_240);
    let answer = ask(&server, r#"{"do": "end"}"#);
    assert_eq!(answer["did"], "end");
    let ended = server.wait().sound();
    assert_eq!(ended.left, ["drive.toml", "log.csv", "result.json"]);
    let result = ended.result;
    assert_eq!(result["buffer"]["page_writes"], so_far["buffer"]["page_writes"]);
    let flushes = |result: &Value| number(&result["host"]["flushes"]);
    assert_eq!(flushes(&result), flushes(&so_far) + 1, "the end flushes the drive");
}

/// A client that stays does not keep an order from ending the server.
#[test]
#[ignore = "needs nbdkit: make live"]
fn control_ends_a_server_whose_clients_stay() {
    let server = Service::begin(&["--control", "control"]);
    let stream = UnixStream::connect(server.path("socket")).expect("it listens");
    assert_eq!(ask(&server, r#"{"do": "end"}"#)["did"], "end");
    assert_eq!(server.wait().sound().left, ["drive.toml", "result.json"]);
    drop(stream);
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn names_of_sockets_are_refused_before_anything_runs_and_other_files_stay() {
    let place = Place::new();
    let path = |name: &str| place.name(name);
    place.write("precious", "precious");
    let _listens = UnixListener::bind(path("taken")).expect("it is free");
    let free = path("free");
    for (options, expected) in [
        (&["--unix", &path("taken")][..], "a socket: another server's"),
        (&["--unix", &free, "--control", &path("precious")], "a file that is no socket"),
        (&["--unix", &free, "--control", &free], "something else is written to it"),
        (&["--unix", &path("a.csv"), "--log", &path("a.csv")], "something else is written to it"),
        (&["--unix", &path("none/s")], "there is no folder"),
        (&["--tcp", "127.0.0.1:0"], "port 0"),
    ] {
        refused(&[&["serve", &*path("drive.toml")], options].concat(), expected);
    }
    assert_eq!(place.read("precious"), b"precious");
    // A file that has come in the place of a socket is somebody else's.
    let server = Service::begin(&[]);
    let socket = server.path("socket");
    fs::remove_file(&socket).expect("it is there");
    fs::write(&socket, "precious").expect("there is room");
    assert_eq!(server.end("TERM").left, ["drive.toml", "result.json", "socket"]);
}

/// The result is sound, and is told; the program fails all the same.
#[test]
#[ignore = "needs nbdkit: make live"]
fn a_log_that_cannot_be_written_does_not_cost_the_result() {
    let logs = tempfile::tempdir().expect("there is room");
    let log = logs.path().join("log.csv").display().to_string();
    let server = Service::begin(&["--log", &log]);
    server.script("h.pwrite(b'k' * 4096, 0)");
    logs.close().expect("it is removed");
    let ended = server.end("TERM");
    assert!(ended.code == Some(1) && ended.said.contains("the log cannot be written"), "{}", ended.said);
    assert_eq!(ended.result["host"]["writes"], 1);
}

/// A drive that is used, ended and served again three times, the second time as a snapshot of the first had it before.
#[test]
#[ignore = "needs nbdkit: make live"]
fn an_image_keeps_drive_and_data_and_a_snapshot_begins_a_run() {
    let kept = Place::new();
    let path = |name: &str| kept.name(name);
    let (image, snapshot) = (path("image"), path("snapshot"));
    let mut last: Option<Value> = None;
    for (turn, mapping) in [(0, "dftl"), (1, "dftl"), (2, "dftl"), (0, "kast"), (1, "kast")] {
        if turn == 0 {
            last = None;
            let _ = fs::remove_file(&image);
        }
        let sets = [&format!("ftl.mapping={mapping}"), "ftl.kast.log_blocks=6"];
        let server = Service::begin(&["--set", sets[0], "--set", sets[1], "--image", &image, "--control", "control"]);
        if last.is_some() {
            server.client("nbdcopy", &[&server.uri(), "copy"]);
            let copy = fs::read(server.path("copy")).expect("it was written");
            assert!(copy == kept.read("copy"), "{mapping}, turn {turn}: other data");
        }
        let uri = format!("--uri={}", server.uri());
        let job = "--name=v --ioengine=nbd --rw=randwrite --bs=4k --iodepth=16 --size=40m --verify=crc32c --minimal";
        let seed = format!("--randseed={turn}");
        server.client("fio", &[&job.split(' ').collect::<Vec<_>>()[..], &[&uri, &seed]].concat());
        let answer = ask(&server, &format!(r#"{{"do": "snapshot", "to": "{snapshot}"}}"#));
        assert_eq!(answer["did"], "snapshot", "{answer}");
        server.client("nbdcopy", &[&server.uri(), &path("copy")]);
        let result = server.finish();
        let erased = |result: &Value| result["wear"]["erase_count"]["mean"].as_f64().expect("a number");
        let before = last.as_ref().map(erased);
        let own = result["ftl"]["block_erases"].as_f64().expect("a number") / 256.0;
        let before = before.unwrap_or_else(|| erased(&result) - own);
        assert!(
            (erased(&result) - before - own).abs() < 1e-9,
            "{mapping}, turn {turn}: {before} + {own} erases a block"
        );
        last = Some(result);
    }
    let experiment = path("drive.toml");
    let state = format!("run.state={snapshot}");
    let sets = [&*state, "ftl.mapping=kast", "ftl.kast.log_blocks=6", "workload.synthetic.requests=1000"];
    let mut arguments = vec!["run", &*experiment];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    let output = flashloom(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Another drive, and something else than an image.
    let unix = path("s");
    let refused = |arguments: &[&str], words: &str| {
        refused(&[&["serve", &*experiment, "--unix", &*unix], arguments].concat(), words);
    };
    refused(&["--image", &image], "`ftl.mapping` = \"page\"");
    refused(&["--image", &snapshot], "no image");
    refused(&["--image", &path("none"), "--age-anew"], "no image yet");
    // Its data on a drive of another mapping.
    let server = Service::begin(&["--image", &image, "--age-anew"]);
    server.client("nbdcopy", &[&server.uri(), "copy"]);
    assert!(fs::read(server.path("copy")).expect("it was written") == kept.read("copy"), "aged anew: other data");
    let result = server.finish();
    assert_eq!((&result["ftl"]["mapping"]["policy"], &result["host"]["writes"]), (&"page".into(), &0.into()));
    // Damage that only reading all of it tells, and a machine that has no room for the next one.
    let mut damaged = kept.read("image");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    kept.write("damaged", &damaged);
    refused(&["--image", &path("damaged")], "error: the image is damaged");
    assert!(kept.read("damaged") == damaged, "what is refused stays as it is");
}

/// Clients that stay do not keep alive what nobody can end any more.
#[test]
#[ignore = "needs nbdkit: make live"]
fn a_program_that_is_killed_takes_its_nbdkit_along() {
    let server = Service::begin(&[]);
    let (socket, stream) = (server.path("socket"), UnixStream::connect(server.path("socket")).expect("it listens"));
    // Another name, because the folder goes with the server.
    let kept = tempfile::tempdir().expect("there is room");
    let name = kept.path().join("socket");
    fs::rename(socket, &name).expect("it is there");
    UnixStream::connect(&name).expect("it listens under this name, too");
    drop(server);
    let is_gone =
        || UnixStream::connect(&name).is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused);
    assert!(comes(3_000, is_gone), "nbdkit still listens");
    drop(stream);
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn a_signal_while_the_drive_ages_leaves_nothing_behind() {
    let place = Place::new();
    let path = |name: &str| place.path(name);
    fs::create_dir(path("tmp")).expect("there is room");
    let never = "\"steady\"\nsteady_window = 10\nsteady_tolerance = 0.0001\nsteady_windows = 100000\n";
    place.write("drive.toml", DRIVE.replace("\"fill\"", never));
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_flashloom"), "serve", "drive.toml", "--unix", "socket"]);
    command.env("FLASHLOOM_CACHE", "").env("TMPDIR", path("tmp")).current_dir(path("")).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program can be started");
    let begins = comes(600, || !names(&path("tmp")).is_empty());
    assert!(begins && !path("socket").exists(), "it ages, and has a folder for the drive");
    send("INT", child.id());
    assert!(!child.wait().expect("it ends").success());
    assert_eq!((names(&path("tmp")), names(&path(""))), (vec![], vec!["drive.toml".into(), "tmp".into()]));
}
