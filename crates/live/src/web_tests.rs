//! Clients of the page, also such as come from elsewhere, stall, flood, or send rubbish.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use data_encoding::BASE64;
use flashloom_units::Prng;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::frames::SECTOR;
use crate::tests::{Folder, catalog, read, write};
use crate::{Command, Options, Session, web};

/// A session with a page. Its threads live as long as the process.
struct Paged {
    folder: Folder,
    session: &'static Session,
    address: SocketAddr,
}

impl Paged {
    fn new(keys: &str) -> Self {
        Self::shown(keys, true)
    }

    /// A session whose page is shown, or is not there.
    fn shown(keys: &str, is_shown: bool) -> Self {
        let folder = Folder::new();
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there are ports");
        let address = listener.local_addr().expect("it is bound");
        let mut options = folder.options("result=result.json log=log.csv", keys);
        if is_shown {
            options.set("web", &address.to_string()).expect("an option");
        }
        let session: &'static Session = Box::leak(Box::new(Session::new(&catalog(), &options).expect("it ages")));
        if is_shown {
            web::show(session, listener).expect("there are threads");
        }
        Self { folder, session, address }
    }

    fn client(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it has one");
        stream
    }

    /// What a client is told that sends this.
    fn tell(&self, bytes: &[u8]) -> String {
        let mut stream = self.client();
        // Who sends too much is not heard to the end.
        let _ = stream.write_all(bytes);
        hear(stream)
    }

    /// The head and the content of the answer to this line, with these fields beside that of the host.
    fn ask(&self, line: &str, fields: &str) -> (String, String) {
        let answer = self.tell(format!("{line} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n", self.address).as_bytes());
        let (head, content) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{line}: {answer:?}"));
        (head.to_owned(), content.to_owned())
    }

    fn live(&self, since: u64) -> Value {
        let (_, content) = self.ask(&format!("GET /live.json?since={since}"), "");
        serde_json::from_str(&content).unwrap_or_else(|error| panic!("{error}: {content}"))
    }

    /// [`Self::live`] after the drive was looked at twice more.
    fn live_now(&self) -> Value {
        let looks = |live: &Value| live["looks"].as_u64().expect("a number");
        let before = looks(&self.live(0));
        let mut later = (0..600).map(|_| {
            thread::sleep(Duration::from_millis(20));
            self.live(0)
        });
        later.find(|live| looks(live) >= before + 2).expect("somebody looks")
    }

    fn write(&self, at: u64) {
        write(self.session.server(), 8 * (at % 100), &[7; 8 * SECTOR]).expect("it is written");
    }
}

/// All that a client is told.
fn hear(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).expect("text")
}

fn code(answer: &str) -> u16 {
    let code = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    code.unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

/// What stands between two texts.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text.split_once(from).unwrap_or_else(|| panic!("there is {from}")).1;
    rest.split_once(to).unwrap_or_else(|| panic!("there is {to}")).0
}

#[test]
fn the_page_loads_nothing_and_runs_nothing_but_itself() {
    let drive = Paged::new("");
    let (head, page) = drive.ask("GET /", "");
    assert_eq!(code(&head), 200);
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(&Sha256::digest(text)));
    let (script, style) = (between(&page, "<script>", "</script>"), between(&page, "<style>", "</style>"));
    let policy = format!(
        "Content-Security-Policy: default-src 'none'; script-src {}; style-src {}; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash(script),
        hash(style)
    );
    for field in [
        &*policy,
        "Content-Type: text/html; charset=utf-8",
        "Cross-Origin-Resource-Policy: same-origin",
        "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "Connection: close",
    ] {
        assert!(head.lines().any(|line| line == field), "{field}: {head}");
    }
    assert!(!head.to_ascii_lowercase().contains("access-control-"));
    let own = page.replace("http://www.w3.org/2000/svg", "");
    for foreign in ["http://", "https://", "//cdn", "@import", "url(", " src=", " href=", " style=", " onclick="] {
        assert!(!own.contains(foreign), "{foreign}");
    }
    assert_eq!((page.matches("<script").count(), page.matches("<style").count()), (1, 1));
    // The same without content.
    let (told, nothing) = drive.ask("HEAD /", "");
    assert_eq!((told, &*nothing), (head, ""));
    let (head, _) = drive.ask("GET /live.json", "Sec-Fetch-Site: same-origin\r\n");
    assert!(head.contains(&policy) && head.contains("Content-Type: application/json\r\n"), "{head}");
    assert_eq!(code(&drive.ask("GET /favicon.ico", "").0), 204);
}

/// Reports and this page have the same colours for the same things.
#[test]
fn colours_are_those_of_a_report() {
    let style = include_str!("web/live.css");
    let report = [include_str!("../../export/src/html/style.css"), include_str!("../../export/src/html/charts.js")];
    let colours = style.match_indices('#').filter_map(|(at, _)| style.get(at..at + 7));
    let is_colour = |text: &&str| text[1..].bytes().all(|byte| byte.is_ascii_hexdigit());
    let colours: Vec<&str> = colours.filter(is_colour).collect();
    assert!(colours.len() > 40);
    for colour in colours {
        assert!(report.iter().any(|report| report.contains(colour)), "{colour}");
    }
}

#[test]
fn who_comes_from_elsewhere_or_wants_something_else_is_refused() {
    let drive = Paged::new("");
    let port = drive.address.port();
    let get = |fields: &str| code(&drive.tell(format!("GET /live.json HTTP/1.1\r\n{fields}\r\n\r\n").as_bytes()));
    let host = format!("Host: 127.0.0.1:{port}");
    for (fields, expected) in [
        (&*host, 200),
        (&format!("host: LOCALHOST:{port}"), 200),
        (&format!("{host}\r\nOrigin: http://127.0.0.1:{port}\r\nSec-Fetch-Site: same-origin"), 200),
        (&format!("{host}\r\nSec-Fetch-Site: none"), 200),
        // A name that somebody lets point here, the right one on another port, or none.
        ("Host: rebound.example", 403),
        (&format!("Host: rebound.example:{port}"), 403),
        (&format!("Host: 127.0.0.1:{port}.rebound.example"), 403),
        ("Host: 127.0.0.1:1", 403),
        ("Host: 127.0.0.1", 403),
        ("Host:", 403),
        ("Accept: */*", 400),
        (&format!("{host}\r\n{host}"), 403),
        (&format!("{host}\r\nHost: rebound.example"), 403),
        // Pages of other origins.
        (&format!("{host}\r\nOrigin: http://rebound.example"), 403),
        (&format!("{host}\r\nOrigin: https://127.0.0.1:{port}"), 403),
        (&format!("{host}\r\nOrigin: http://127.0.0.1:{}", port ^ 1), 403),
        (&format!("{host}\r\nOrigin: null"), 403),
        (&format!("{host}\r\nOrigin: "), 403),
        (&format!("{host}\r\nOrigin: http://127.0.0.1:{port}\r\nOrigin: null"), 403),
        (&format!("{host}\r\nSec-Fetch-Site: cross-site"), 403),
        (&format!("{host}\r\nSec-Fetch-Site: same-site"), 403),
        (&format!("{host}\r\nsec-fetch-site: \u{fffd}"), 403),
    ] {
        assert_eq!(get(fields), expected, "{fields}");
    }
    for (line, expected) in [
        ("POST /", 405),
        ("PUT /live.json", 405),
        ("DELETE /", 405),
        ("OPTIONS /live.json", 405),
        ("CONNECT 127.0.0.1", 405),
        ("GET /nowhere", 404),
        ("GET /../../etc/passwd", 404),
        ("GET /?x", 404),
        ("GET http://127.0.0.1/", 404),
        ("GET *", 404),
        ("GET /live.json?since=0", 200),
        ("HEAD /live.json", 200),
        ("GET /live.json?since=18446744073709551615", 200),
        ("GET /live.json?since=18446744073709551616", 400),
        ("GET /live.json?since=", 400),
        ("GET /live.json?since=-1", 400),
        ("GET /live.json?since=+1", 400),
        ("GET /live.json?since=1&since=2", 400),
        ("GET /live.json?", 400),
    ] {
        let (head, content) = drive.ask(line, "");
        assert_eq!(code(&head), expected, "{line}: {head}");
        assert_eq!(head.contains("\r\nAllow: GET, HEAD"), expected == 405, "{head}");
        assert!(!content.contains("passwd"), "nothing that was sent comes back");
    }
    // A request with content is answered, and its content is no second request.
    let post = format!("POST / HTTP/1.1\r\n{host}\r\nContent-Length: 30\r\n\r\nGET / HTTP/1.1\r\n{host}\r\n\r\n");
    let answer = drive.tell(post.as_bytes());
    assert_eq!((code(&answer), answer.matches("HTTP/1.1 ").count()), (405, 1));
}

/// Rubbish, heads without an end, clients that never read and never write, and more of them than there may be: the
/// drive serves its requests all the while, and others are answered afterwards.
#[test]
fn hostile_clients_hold_up_nobody() {
    let drive = Paged::new("");
    let host = format!("Host: {}\r\n", drive.address);
    for (request, expected) in [
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 400),
        ("\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}".to_owned(), 400),
        ("GET / HTTP/1.1\r\nno field\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\n{host} folded: x\r\n\r\n"), 400),
        (format!("GET /{} HTTP/1.1\r\n{host}\r\n", "x".repeat(9_000)), 431),
        (format!("GET / HTTP/1.1\r\n{host}{}\r\n", "a: b\r\n".repeat(64)), 431),
        (format!("GET / HTTP/1.1\r\n{host}{}", "a: b\r\n".repeat(9_000)), 431),
    ] {
        let answer = drive.tell(request.as_bytes());
        assert_eq!(code(&answer), expected, "{request:.60}");
    }
    let mut half = drive.client();
    half.write_all(b"GET / HT").expect("it is read");
    half.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(code(&hear(half)), 400);
    let mut prng = Prng::new(5);
    for _ in 0..100 {
        let bytes: Vec<u8> = (0..1 + prng.below(3_000)).map(|_| prng.below(256) as u8).collect();
        let mut stream = drive.client();
        let _ = stream.write_all(&bytes).and_then(|()| stream.shutdown(Shutdown::Write));
        let answer = hear(stream);
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    // One byte a second is too slow, and whoever never writes leaves their place as well.
    let stalled: Vec<TcpStream> = (0..40).map(|_| drive.client()).collect();
    (0..3_000).for_each(|at| drive.write(at));
    let told: Vec<u16> = stalled.into_iter().rev().map(|stream| code(&hear(stream))).collect();
    assert!(told.iter().all(|code| [408, 503].contains(code)), "{told:?}");
    assert!(told.contains(&408) && told.contains(&503), "{told:?}");
    // Floods of requests whose answers nobody reads.
    let request = format!("GET / HTTP/1.1\r\n{host}\r\n");
    let floods: Vec<TcpStream> = (0..30).map(|_| drive.client()).collect();
    floods.iter().for_each(|mut stream| drop(stream.write_all(request.repeat(100).as_bytes())));
    (0..3_000).for_each(|at| drive.write(at));
    drop(floods);
    let is_served = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(50));
        drive.tell(request.as_bytes()).starts_with("HTTP/1.1 200 OK")
    });
    assert!(is_served);
    assert_eq!(drive.live_now()["status"]["requests"]["writes"], 6_000);
}

#[test]
fn figures_of_the_page_are_those_of_the_drive() {
    let drive = Paged::new("ftl.mapping=fast buffer.capacity=0B");
    let before = drive.live_now();
    assert_eq!((before["samples"].as_array().expect("a list").len(), &before["first"]), (0, &0.into()));
    assert_eq!(before["drive"]["mapping"], "fast");
    for round in 0..4 {
        (0..600).for_each(|at| drive.write(37 * at + round));
        drive.live_now();
    }
    read(drive.session.server(), 0).expect("it is read");
    let live = drive.live_now();
    let samples = live["samples"].as_array().expect("a list");
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no number: {value}"));
    let total = |figure: &dyn Fn(&Value) -> u64| samples.iter().map(figure).sum::<u64>();
    let status = &live["status"];
    assert_eq!((&status["requests"]["writes"], &status["requests"]["reads"]), (&2_400.into(), &1.into()));
    assert_eq!(total(&|sample| number(&sample["write_bytes"])), 2_400 * 4_096);
    assert_eq!(total(&|sample| number(&sample["read_bytes"])), 4_096);
    let ended = |kind: &str| total(&|sample| sample[kind]["count"].as_u64().unwrap_or(0));
    assert_eq!((ended("write_ns"), ended("read_ns")), (2_400, 1));
    let programs = total(&|sample| sample["programs"].as_array().expect("a list").iter().map(number).sum());
    let pages = total(&|sample| number(&sample["host_pages"]));
    let amplification = status["write_amplification"].as_f64().expect("a number");
    assert!((programs as f64 / pages as f64 - amplification).abs() < 1e-9 && amplification > 1.5);
    assert!(samples.windows(2).all(|pair| pair[0]["to_ns"] == pair[1]["from_ns"]), "no time is left out");
    assert_eq!(samples.last().expect("there are some")["to_ns"], status["model_ns"]);
    let erases: u64 = live["wear"]["erases"].as_array().expect("a list").iter().map(number).sum();
    assert!(erases > 0 && erases == number(&status["block_erases"]));
    assert_eq!(total(&|sample| number(&sample["erases"])), erases);
    let jobs = live["busy"]["jobs"].as_array().expect("a list");
    assert!(jobs.iter().any(|job| job["origin"] == "merge") && jobs.len() <= 32);
    let slowest = samples.iter().flat_map(|sample| sample["slowest"].as_array().expect("a list"));
    for slowest in slowest.clone() {
        let parts = slowest["parts_ns"].as_object().expect("an object").values().map(number).sum::<u64>();
        assert_eq!(parts, number(&slowest["latency_ns"]), "{slowest}");
    }
    assert!(slowest.count() >= 4);
    // Only what is new is told again, and time that stands still has no samples.
    let known = samples.len() as u64;
    let again = drive.live(known - 1);
    assert_eq!((&again["first"], again["samples"].as_array().expect("a list").len()), (&(known - 1).into(), 1));
    assert_eq!(drive.live(u64::MAX)["samples"].as_array().expect("a list").len(), 0);
    assert_eq!(drive.live_now()["samples"].as_array().expect("a list").len(), samples.len());
    // The end is told.
    drive.session.end().expect("everything adds up");
    let told = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        drive.live(0)["is_ended"] == true
    });
    assert!(told);
}

/// Whether a drive is shown changes nothing in what it does: the same log and the same result, to the byte.
#[test]
fn a_drive_that_is_shown_does_the_same() {
    let served = |is_shown: bool| {
        let Paged { folder, session, .. } = Paged::shown("ftl.mapping=kast run.anatomy=false", is_shown);
        let (mut prng, pages) = (Prng::new(9), session.bytes() / 4_096);
        for at in 0..4_000 {
            let lba = 8 * prng.below(pages);
            let command = match prng.below(10) {
                0..6 => Command::Write { lba, data: &[7; 8 * SECTOR], fua: at % 50 == 0 },
                6..8 => Command::Discard { lba, sectors: 8 },
                _ => Command::Flush,
            };
            session.server().execute(command, &mut []).expect("it is done");
            if at % 1_000 == 999 {
                // The drive is looked at meanwhile.
                thread::sleep(Duration::from_millis(300));
            }
        }
        session.end().expect("everything adds up");
        ["result.json", "log.csv"].map(|name| folder.read(name))
    };
    let [plain, shown] = [false, true].map(served);
    assert!(plain == shown, "other results");
    assert!(plain[0].contains("\"merge\"") && plain[1].lines().count() == 4_002);
}

#[test]
fn only_addresses_of_this_machine_alone_are_taken() {
    let mut options = Options::default();
    for address in
        ["0.0.0.0:8080", "[::]:8080", "192.168.0.1:8080", "[::ffff:127.0.0.1]:8080", "localhost:8080", "8080"]
    {
        let refused = options.set("web", address).expect_err("others may reach it");
        assert!(refused.contains("an address of this machine alone"), "{refused}");
    }
    options.set("web", "127.0.0.2:8080").expect("a loopback address");
    options.set("web", "[::1]:8080").expect("a loopback address");
}
