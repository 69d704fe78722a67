//! What happens to a service from outside: another one for its image, files that go, clients that flood its log.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::nbd::Nbd;
use crate::service::{Place, Service, child_of, comes, has_ended, names, refused, send};

/// One of two servers has the image from the first moment, and the other is refused, whichever comes first.
#[test]
#[ignore = "needs nbdkit: make live"]
fn two_servers_of_one_image_are_refused_before_there_is_one() {
    let place = Place::new();
    let path = |name: &str| place.path(name);
    std::os::unix::fs::symlink(".", path("other")).expect("there is room");
    for turn in 0..2 {
        let begin = |(socket, image): (&str, &str)| -> Child {
            let mut command = Command::new(env!("CARGO_BIN_EXE_flashloom"));
            command.env("FLASHLOOM_CACHE", "").current_dir(path(""));
            command.args(["serve", "drive.toml", "--unix", socket, "--image", image]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program can be started")
        };
        let mut servers = [("a", "image"), ("b", "other/image")].map(begin);
        let mut refused = None;
        comes(1_000, || {
            refused = servers.iter_mut().position(|server| server.try_wait().expect("it is a child").is_some());
            refused.is_some()
        });
        let [a, b] = servers;
        let (refused, served) = if refused.expect("one is refused") == 0 { (a, b) } else { (b, a) };
        let refused = refused.wait_with_output().expect("it has ended");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains("an image that another server has"), "{said}");
        assert!(comes(1_000, || ["a", "b"].iter().any(|socket| path(socket).exists())));
        thread::sleep(Duration::from_millis(200));
        send("TERM", served.id());
        let served = served.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&served.stderr).into_owned();
        assert_eq!(served.status.code(), Some(0), "turn {turn}: {said}");
        assert!(fs::metadata(path("image")).expect("it is there").len() > 1_000);
    }
}

/// Programs that remove old temporary files, and people who remove what they do not know, cost nothing.
#[test]
#[ignore = "needs nbdkit: make live"]
fn files_that_are_removed_while_a_drive_is_served_are_made_anew() {
    let folder = tempfile::tempdir().expect("there is room");
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).expect("there is room");
    let kept = tempfile::tempdir().expect("there is room");
    let [image, log] = ["image", "log.csv"].map(|name| kept.path().join(name));
    let arguments = ["--image", &image.display().to_string(), "--log", &log.display().to_string()];
    let server = Service::begin_with(folder, &arguments, &[("TMPDIR", &temporary)]);
    Nbd::connect(&server.path("socket")).expect("it listens").write(0, &[7; 4_096], true).expect("it is written");
    let own = names(&temporary);
    assert!(own.len() == 1 && own[0].starts_with("flashloom-serve-"), "{own:?}");
    fs::remove_dir_all(temporary.join(&own[0])).expect("it is there");
    for hidden in [kept.path(), server.folder.path()] {
        for name in names(hidden).iter().filter(|name| name.starts_with(".flashloom-")) {
            fs::remove_file(hidden.join(name)).expect("it is there");
        }
    }
    let ended = server.end_with("TERM", |folder| assert_eq!(names(&folder.join("tmp")), [""; 0])).sound();
    assert_eq!(ended.result["host"]["writes"], 1);
    assert!(fs::metadata(&image).expect("it is there").len() > 1_000);
    let log = fs::read_to_string(&log).expect("it is there");
    assert_eq!(log.lines().count(), 3, "a write, and the flush at the end: {log}");
    assert_eq!(names(kept.path()), ["image", "log.csv"]);
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn what_killed_servers_leave_is_removed_by_the_next_one() {
    let temporary = tempfile::tempdir().expect("there is room");
    let kept = tempfile::tempdir().expect("there is room");
    let image = kept.path().join("image").display().to_string();
    let begin = || {
        let folder = tempfile::tempdir().expect("there is room");
        Service::begin_with(folder, &["--image", &image], &[("TMPDIR", temporary.path())])
    };
    let server = begin();
    let nbdkit = server.nbdkit();
    // Both at once, as a machine without memory does.
    send("STOP", server.process());
    send("KILL", nbdkit);
    assert_eq!(server.end("KILL").code, None);
    assert!((0..1_000).any(|_| has_ended(nbdkit)));
    assert_eq!((names(temporary.path()).len(), names(kept.path()).len()), (1, 2), "and an image to come");
    fs::write(kept.path().join(".flashloom-abcDEF012345.partial"), "half an image").expect("there is room");
    let left = fs::read_to_string(&image).expect("it is text");
    assert!(left.starts_with("flashloom-image 0\n"), "nothing is kept yet: {left}");
    let server = begin();
    assert_eq!(names(temporary.path()).len(), 1, "its own");
    server.finish();
    assert_eq!((names(temporary.path()), names(kept.path())), (vec![], vec!["image".to_owned()]));
}

/// Clients decide how much nbdkit says, and not whether the reason for an end is told.
#[test]
#[ignore = "needs nbdkit: make live"]
fn the_reason_of_an_end_is_told_however_much_was_said_before() {
    let logs = tempfile::tempdir().expect("there is room");
    let log = logs.path().join("log.csv").display().to_string();
    let server = Service::begin(&["--log", &log]);
    let mut client = Nbd::connect(&server.path("socket")).expect("it listens");
    for _ in 0..1_100 {
        client.read(1 << 40, &mut [0; 512]).expect_err("it is beyond the end");
    }
    drop(client);
    logs.close().expect("it is removed");
    let ended = server.end("TERM");
    let lines: Vec<&str> = ended.said.lines().collect();
    assert!((1_000..1_300).contains(&lines.len()), "{} lines", lines.len());
    let told = lines.iter().any(|line| line.starts_with("error: the log cannot be written"));
    assert!(ended.code == Some(1) && told, "{}", ended.said);
    assert!(!ended.said.contains("to replay what was served"), "there is nothing to replay");
}

/// A file of another program in the image's place is not replaced, and the drive is not lost.
#[test]
#[ignore = "needs nbdkit: make live"]
fn a_file_that_has_come_in_the_place_of_an_image_stays() {
    let kept = Place::new();
    let (image, name) = (kept.path("image"), kept.name("image"));
    let server = Service::begin(&["--image", &name]);
    fs::remove_file(&image).expect("the name is kept by a file");
    fs::write(&image, "precious").expect("there is room");
    let ended = server.end("TERM");
    assert!(ended.code == Some(1) && ended.said.contains("image.1"), "{}", ended.said);
    assert_eq!(kept.read("image"), b"precious");
    // It is no image.
    refused(&["serve", &kept.name("drive.toml"), "--unix", &kept.name("s"), "--image", &name], "");
    Service::begin(&["--image", &kept.name("image.1")]).finish();
}

/// A machine that loses power leaves the old image or the new one.
#[test]
#[ignore = "traces system calls: make test-live"]
fn long_an_image_is_stored_before_it_takes_its_place_and_so_is_its_name() {
    let place = Place::new();
    let path = |name: &str| place.path(name);
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-o", "trace", "-e", "trace=fsync,rename,renameat,renameat2"]);
    command.args([env!("CARGO_BIN_EXE_flashloom"), "serve", "drive.toml", "--unix", "socket", "--image", "image"]);
    command.env("FLASHLOOM_CACHE", "").current_dir(path("")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut strace = command.spawn().expect("strace");
    assert!(comes(3_000, || Nbd::connect(&path("socket")).is_ok()));
    send("TERM", child_of(strace.id()));
    assert!(strace.wait().expect("it ends").success());
    let trace = fs::read_to_string(path("trace")).expect("it is text");
    let own = path("").canonicalize().expect("it is there").display().to_string();
    let calls: Vec<&str> = trace.lines().filter(|line| line.contains(&own)).collect();
    let renamed = calls.iter().rposition(|call| call.contains("rename") && call.contains("/image\"")).expect("it is");
    let partial = calls[renamed].split('"').nth(1).expect("from a name");
    let stored = |call: &str, name: &str| call.contains("fsync(") && call.contains(&format!("<{name}>)"));
    assert!(calls[..renamed].iter().any(|call| stored(call, partial)), "{calls:#?}");
    assert!(calls[renamed..].iter().any(|call| stored(call, &own)), "{calls:#?}");
}
