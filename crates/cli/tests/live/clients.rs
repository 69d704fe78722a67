//! Short tests with every client.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::service::{Place, Service, flashloom, number, refused};

/// Bytes that repeat nowhere soon.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let word = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u8
    };
    (0..bytes).map(word).collect()
}

/// Has fio write, and read back what it wrote. It submits a trim and the write behind it together, so that a depth of 1
/// alone says which of the two comes last.
fn verify(server: &Service, kind: &str, depth: &str, size: &str) {
    let job = "--name=verify --ioengine=nbd --bs=4k --verify=crc32c --do_verify=1 --verify_fatal=1 --minimal";
    let own = [format!("--uri={}", server.uri()), format!("--rw={kind}"), format!("--iodepth={depth}")];
    let size = format!("--size={size}");
    let arguments: Vec<&str> = job.split_whitespace().chain(own.iter().map(String::as_str)).chain([&*size]).collect();
    server.client("fio", &arguments);
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn nbdinfo_shows_what_the_drive_offers() {
    let server = Service::begin(&[]);
    let info: Value = serde_json::from_str(&server.client("nbdinfo", &["--json", &server.uri()])).expect("JSON");
    let export = &info["exports"][0];
    for offered in ["can_flush", "can_fua", "can_trim", "can_zero", "can_multi_conn"] {
        assert_eq!(export[offered], true, "{offered}");
    }
    assert_eq!((&export["block_size_minimum"], &export["block_size_preferred"]), (&512.into(), &4_096.into()));
    assert_eq!(server.finish()["host"]["writes"], 0);
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn nbdcopy_and_qemu_img_get_back_what_they_wrote() {
    for set in ["ftl.mapping=page", "ftl.mapping=fast"] {
        let server = Service::begin(&["--set", set, "--set", "ftl.fast.log_blocks=6", "--memory", "4MiB"]);
        let data = noise(20 << 20);
        fs::write(server.path("in"), &data).expect("there is room");
        server.client("nbdcopy", &["in", &server.uri()]);
        server.client("nbdcopy", &[&server.uri(), "out"]);
        assert!(fs::read(server.path("out")).expect("it was written")[..data.len()] == data, "{set}: nbdcopy");
        server.client("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", "in", &server.uri()]);
        let compared = ["compare", "-f", "raw", "-F", "raw", "in", &server.uri()];
        server.client("qemu-img", &compared);
        let bytes = number(&server.end("INT").sound().result["host"]["write_bytes"]);
        assert!(bytes >= 20 << 20, "{set}: {bytes} bytes were written");
    }
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn every_command_of_the_protocol_does_what_it_says() {
    let server = Service::begin(&["--log", "log.csv"]);
    server.script(
        "
h.pwrite(b'a' * 8192, 4096)
assert h.pread(8192, 4096) == b'a' * 8192
h.pwrite(b'b' * 512, 4608, nbd.CMD_FLAG_FUA)
assert h.pread(1024, 4096) == b'a' * 512 + b'b' * 512
h.trim(4096, 8192)
assert h.pread(4096, 8192) == b'\\0' * 4096
h.zero(1024, 4096)
h.zero(4096, 4096, nbd.CMD_FLAG_NO_HOLE | nbd.CMD_FLAG_FUA)
assert h.pread(12288, 0) == b'\\0' * 12288
h.flush()
other = nbd.NBD()
other.connect_uri(h.get_uri())
h.pwrite(b'c' * 4096, 0)
assert other.pread(4096, 0) == b'c' * 4096
other.flush()
",
    );
    let (_, log) = server.finish_with("log.csv");
    let count = |op: &str| log.lines().filter(|line| line.split(',').nth(1) == Some(op)).count();
    assert_eq!((count("W"), count("R"), count("D")), (5, 5, 1), "{log}");
    assert!(count("F") >= 3, "two by clients and one at the end: {log}");
    let fua = log.lines().filter(|line| line.split(',').nth(5) == Some("1")).count();
    assert_eq!(fua, 2, "{log}");
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn wrong_requests_are_errors_of_the_protocol_and_others_go_on() {
    let server = Service::begin(&[]);
    server.script(
        "
h.set_strict_mode(0)
h.pwrite(b'k' * 4096, 0)
size = h.get_size()
def refused(act):
    try:
        act()
    except nbd.Error as error:
        return error.errno
    raise SystemExit('it was not refused')
assert refused(lambda: h.pread(512, size)) == 'EINVAL'
assert refused(lambda: h.pwrite(b'x' * 1024, size - 512)) in ('EINVAL', 'ENOSPC')
assert refused(lambda: h.pread(100, 0)) == 'EINVAL'
assert refused(lambda: h.pwrite(b'x' * 512, 7)) == 'EINVAL'
assert refused(lambda: h.pread(33 << 20, 0)) == 'EINVAL'
assert refused(lambda: h.zero(8192, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE)) == 'ENOTSUP'
h.zero(4096, 8192, nbd.CMD_FLAG_FAST_ZERO)
assert h.pread(4096, 0) == b'k' * 4096
",
    );
    // Rubbish, before and after the handshake, and a client that leaves in the middle of a write.
    for rubbish in [&noise(5_000)[..], b"GET / HTTP/1.1\r\n\r\n", &[0; 64], b""] {
        let mut stream = UnixStream::connect(server.path("socket")).expect("it listens");
        let _ = stream.write_all(rubbish);
    }
    server.script("h.aio_pwrite(b'z' * (8 << 20), 1 << 20)\nimport os\nos._exit(0)");
    server.script("assert h.pread(4096, 0) == b'k' * 4096");
    let ended = server.end("TERM").sound();
    assert!(ended.said.chars().all(|letter| letter == '\n' || !letter.is_control()), "{}", ended.said);
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn clients_that_are_killed_leave_the_data_of_others_alone() {
    // Versions with this fault end when a client with several requests goes; the program says so, and how to avoid it.
    let told = Command::new("nbdkit").arg("--version").output().expect("nbdkit");
    let version = String::from_utf8_lossy(&told.stdout).into_owned();
    let has_fault = ["nbdkit 1.32.", "nbdkit 1.33."].iter().any(|faulty| version.starts_with(faulty));
    let plain = Service::begin(&[]);
    assert_eq!(plain.before.contains("--threads 1"), has_fault, "{}", plain.before);
    drop(plain);
    let kast = ["--set", "ftl.mapping=kast", "--set", "ftl.kast.log_blocks=6"];
    let one_at_a_time: &[&str] = if has_fault { &["--threads", "1"] } else { &[] };
    let server = Service::begin(&[&kast, one_at_a_time, &["--control", "control"]].concat());
    server.script("h.pwrite(b'k' * 65536, 0)");
    let writes = || number(&server.status()["requests"]["writes"]);
    // A job is a thread, not a process: what is killed is the client itself, and nothing of it stays.
    let job = "--thread --name=w --ioengine=nbd --rw=randwrite --bs=4k --iodepth=16 --offset=1m --size=16m \
               --time_based --runtime=60";
    for delay_ms in (0..300).step_by(15) {
        let before = writes();
        let mut client = server.fio(job);
        // A busy machine may take seconds to start it.
        while writes() == before {
            assert!(client.try_wait().expect("it is a child").is_none(), "it has begun to write");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(delay_ms));
        assert!(client.try_wait().expect("it is a child").is_none(), "it still writes");
        client.kill().expect("it runs");
        client.wait().expect("it ends");
        server.script("assert h.pread(65536, 0) == b'k' * 65536");
    }
    let writes = number(&server.finish()["host"]["writes"]);
    assert!(writes > 100, "the clients wrote {writes} times before they were killed");
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn fio_verifies_random_writes_and_trims_and_the_log_replays_to_the_same_account() {
    for mapping in ["page", "fast"] {
        let sets = [format!("ftl.mapping={mapping}"), "ftl.fast.log_blocks=6".to_owned()];
        let served = logged(&sets, &[], |server| {
            verify(server, "randwrite", "16", "32m");
            verify(server, "randtrimwrite", "1", "8m");
        });
        assert!(number(&served["ftl"]["page_copies"]) > 0, "{mapping} had nothing to collect");
    }
}

/// Serves a drive with these settings and arguments while `act` lasts, and replays what it logged, which must come to
/// the same account. Returns the result.
pub fn logged(sets: &[String], arguments: &[&str], act: impl FnOnce(&Service)) -> Value {
    let mut with_log = vec!["--log", "log.csv", "--gather"];
    with_log.extend(arguments);
    sets.iter().for_each(|set| with_log.extend(["--set", set]));
    let server = Service::begin(&with_log);
    act(&server);
    let (ended, log) = server.finish_with("log.csv");
    assert!(log.lines().count() > 1_000 && ended.said.contains("to replay what was served"), "{}", ended.said);
    let served = ended.result;
    let kept = Place::new();
    kept.write("log.csv", log);
    let path = format!("workload.path={}", kept.name("log.csv"));
    let own = ["workload.kind=trace", &path, "host.scheduler=noop", "host.merging=false"];
    let again = kept.name("drive.toml");
    let mut run = vec!["run", &*again, "--json", "-"];
    own.into_iter().chain(sets.iter().map(String::as_str)).for_each(|set| run.extend(["--set", set]));
    let output = flashloom(&run);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let replayed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for part in ["host", "buffer", "ftl", "nand", "wear"] {
        assert_eq!(served[part], replayed[part], "{sets:?}: {part}");
    }
    served
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn a_read_takes_its_time_at_a_real_pace() {
    let server = Service::begin(&["--pace", "real", "--set", "device.read_time=5ms"]);
    let took = server.script(
        "import time\nt = time.monotonic()\nfor i in range(20): h.pread(4096, 4096 * i)\nprint(time.monotonic() - t)",
    );
    let seconds: f64 = took.trim().parse().expect("a number");
    assert!(seconds >= 0.1, "20 reads of 5 ms in {seconds} s");
    let p50 = number(&server.finish()["host"]["latency_ns"]["read"]["p50"]);
    assert!((5_000_000..5_200_000).contains(&p50), "{p50}");
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn a_port_is_served_too_and_a_second_server_is_refused() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("it has one").to_string();
    drop(free);
    let folder = tempfile::tempdir().expect("there is room");
    let server = Service::begin_in(folder, &["--tcp", &address], &[]);
    server.client("nbdinfo", &["--size", &format!("nbd://{address}")]);
    let stream = TcpStream::connect(&address).expect("it listens");
    let experiment = server.path("drive.toml").display().to_string();
    refused(&["serve", &experiment, "--tcp", &address], "Address already in use");
    // A client that says nothing and stays does not keep the server from ending.
    let before = now();
    server.finish();
    assert!(before.elapsed() < Duration::from_secs(20));
    drop(stream);
}

#[expect(clippy::disallowed_methods, reason = "A test of how long something takes.")]
fn now() -> Instant {
    Instant::now()
}
