//! The page of a served drive, as programs ask for it. `crates/export/tests/browser` opens it in a browser.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::service::{Place, Service, number, refused};

/// An address that is free.
pub fn address() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there are ports");
    listener.local_addr().expect("it is bound")
}

/// The answer to a request for this path, with these fields beside that of the host.
fn ask(address: SocketAddr, path: &str, fields: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it has one");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{fields}\r\n").expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

/// What the page is given, with the samples after the first `since`.
pub fn live(address: SocketAddr, since: usize) -> Value {
    let answer = ask(address, &format!("/live.json?since={since}"), "");
    let (head, content) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    serde_json::from_str(content).expect("JSON")
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn page_shows_a_drive_while_fio_writes() {
    let address = address();
    let server =
        Service::begin(&["--web", &address.to_string(), "--set", "ftl.mapping=fast", "--set", "ftl.fast.log_blocks=8"]);
    assert!(server.before.contains(&format!("shown at http://{address}/; Ctrl-C ends it")), "{}", server.before);
    assert!(ask(address, "/", "").contains("<title>Flashloom: a live drive</title>"));
    let job = "--thread --name=w --ioengine=nbd --rw=randwrite --bs=4k --iodepth=16 --size=40m --loops=4 --minimal";
    let mut fio = server.fio(job);
    let (mut samples, mut seen) = (Vec::new(), Vec::new());
    while fio.try_wait().expect("it is a child").is_none() {
        let mut live = live(address, samples.len());
        seen.push(number(&live["status"]["requests"]["writes"]));
        samples.append(live["samples"].as_array_mut().expect("a list"));
        // Another site's page, and a client that stalls, at each look.
        assert!(ask(address, "/live.json", "Sec-Fetch-Site: cross-site\r\n").starts_with("HTTP/1.1 403 "));
        let mut stalled = TcpStream::connect(address).expect("it listens");
        let _ = stalled.write_all(b"GET / HT");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(seen.is_sorted() && seen.iter().filter(|&&writes| 0 < writes && writes < 40_960).count() > 1, "{seen:?}");
    std::thread::sleep(Duration::from_secs(1));
    let mut last = live(address, samples.len());
    samples.append(last["samples"].as_array_mut().expect("a list"));
    let total = |name: &str| samples.iter().map(|sample| number(&sample[name])).sum::<u64>();
    assert_eq!(total("write_bytes"), 160 << 20);
    assert!(last["busy"]["jobs"].as_array().expect("a list").iter().any(|job| job["origin"] == "merge"));
    assert_eq!(total("erases"), number(&last["status"]["block_erases"]));
    let result = server.finish();
    assert!(TcpStream::connect(address).is_err(), "the page ends with the drive");
    assert!(number(&result["ftl"]["block_erases"]) >= total("erases"));
}

/// One client that waits for each of its requests, so that nothing but the drive decides what happens.
#[test]
#[ignore = "needs nbdkit: make live"]
fn page_changes_nothing_in_log_and_result() {
    let served = |web: Option<SocketAddr>| {
        let address = web.map(|address| address.to_string());
        let page = address.iter().flat_map(|address| ["--web", address]);
        let arguments = ["--log", "log.csv", "--control", "control"].into_iter().chain(page).collect::<Vec<_>>();
        let server = Service::begin(&arguments);
        let uri = format!("--uri={}", server.uri());
        let job = "--name=w --ioengine=nbd --rw=randrw --bs=4k --iodepth=1 --size=40m --randseed=7 --minimal";
        server.client("fio", &job.split(' ').chain([&*uri]).collect::<Vec<_>>());
        if let Some(address) = web {
            assert!(!live(address, 0)["samples"].as_array().expect("a list").is_empty());
        }
        let (ended, log) = server.finish_with("log.csv");
        (ended.result, log)
    };
    let (plain, shown) = (served(None), served(Some(address())));
    assert!(plain.1 == shown.1, "another log");
    assert_eq!(plain.0, shown.0);
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn page_is_shown_to_this_machine_alone_or_not_at_all() {
    let place = Place::new();
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("there are ports");
    let taken = taken.local_addr().map(|address| (address.to_string(), taken)).expect("it is bound");
    for (web, expected) in [
        ("0.0.0.0:8080", "an address that others may reach"),
        ("[::]:8080", "an address that others may reach"),
        ("127.0.0.1:0", "port 0"),
        (&taken.0, "in use"),
        ("localhost:8080", "localhost is 127.0.0.1:8080"),
        ("localhost", "localhost is 127.0.0.1:PORT"),
        ("example.org:8080", "expected an address and a port"),
    ] {
        refused(&["serve", &place.name("drive.toml"), "--unix", &place.name("socket"), "--web", web], expected);
        assert!(!place.path("socket").exists());
    }
}
