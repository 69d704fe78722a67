//! Clients of the control socket, also such as stall, flood, or send rubbish.

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use flashloom_config::Experiment;
use flashloom_run::{self, SERVED_HOST};
use flashloom_units::Prng;
use serde_json::Value;

use crate::frames::SECTOR;
use crate::tests::{Folder, catalog, read, write};
use crate::{Command, Fault, Session};

/// A session with a control socket. Its threads live as long as the process.
struct Controlled {
    folder: Folder,
    session: &'static Session,
}

impl Controlled {
    fn new() -> Self {
        Self::ended_by(|| ())
    }

    fn ended_by(shut_down: fn()) -> Self {
        let folder = Folder::new();
        let session = folder.session("control=control result=result.json", "").expect("it ages");
        let session: &'static Session = Box::leak(Box::new(session));
        session.answer_control(shut_down).expect("there is room");
        Self { folder, session }
    }

    fn client(&self) -> Client {
        let stream = UnixStream::connect(self.folder.path("control")).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it has one");
        Client(BufReader::new(stream))
    }

    fn write(&self, at: u64) -> Result<(), Fault> {
        write(self.session.server(), 8 * (at % 100), &[7; 8 * SECTOR])
    }
}

struct Client(BufReader<UnixStream>);

impl Client {
    fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).expect("it is read");
    }

    /// The next line; empty once the server has left.
    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("it answers");
        line
    }

    fn ask(&mut self, line: &str) -> Value {
        self.send(format!("{line}\n").as_bytes());
        serde_json::from_str(&self.hear()).expect("JSON")
    }
}

#[test]
fn status_and_result_tell_what_was_served_so_far() {
    let server = Controlled::new();
    let mut client = server.client();
    let before = client.ask(r#"{"do": "status"}"#);
    assert_eq!((&before["status"]["commands"], &before["status"]["latency_ns"]["write"]), (&0.into(), &Value::Null));
    (0..400).for_each(|at| server.write(at).expect("it is written"));
    read(server.session.server(), 0).expect("it is read");
    server.session.server().execute(Command::Flush, &mut []).expect("it is done");
    let answer = client.ask(r#"{"do": "status"}"#);
    let status = &answer["status"];
    assert_eq!(answer["did"], "status");
    let of = |name: &str| status["requests"][name].as_u64().expect("a number");
    assert_eq!(["reads", "writes", "flushes", "discards", "failed"].map(of), [1, 400, 1, 0, 0]);
    assert_eq!((of("write_bytes"), &status["commands"], &status["inside"]), (400 * 4096, &402.into(), &0.into()));
    assert_eq!((&status["pace"]["name"], &status["pace"]["gather"]), (&"fast".into(), &false.into()));
    assert_eq!(status["latency_ns"]["write"]["count"], 400);
    let data = status["data"]["memory_bytes"].as_u64().expect("a number");
    assert!(data >= 100 * 4096 && status["data"]["file_bytes"] == 0, "{status}");
    let now_ns = server.session.server().look(|drive, _| drive.engine().now_ns());
    assert_eq!((&status["model_ns"], &status["is_worn_out"]), (&now_ns.into(), &false.into()));
    let answer = client.ask(r#"{"do": "result"}"#);
    let so_far = &answer["result"];
    assert_eq!((&so_far["host"]["writes"], &so_far["ftl"]["waf"]), (&400.into(), &status["write_amplification"]));
    // A run of the experiment would have a hint on the workload, which is not used here.
    let drive = server.folder.path("drive.toml");
    let experiment = Experiment::load_run(&catalog(), &drive, &SERVED_HOST.map(str::to_owned)).expect("it is right");
    let of_run = server.session.server().look(|drive, _| {
        flashloom_run::result_so_far(&experiment.variants[0].config, &drive.engine().outcome(), drive.engine().now_ns())
    });
    let is_of_workload = |hint: &Value| hint["key"].as_str().is_some_and(|key| key.starts_with("workload."));
    let hints = |result: &Value| result["hints"].as_array().cloned().unwrap_or_default();
    let of_run = serde_json::to_value(of_run).expect("JSON");
    assert!(hints(&of_run).iter().any(is_of_workload) && !hints(so_far).iter().any(is_of_workload), "{so_far}");
    // Two clients at once, and neither changes anything.
    assert_eq!(server.client().ask(r#"{"do":"result"}"#), answer);
    // At the end there is one more flush, and nothing else has changed that a drive at rest has.
    let ended = client.ask(r#"{"do": "end"}"#);
    assert_eq!(ended.to_string(), r#"{"did":"end"}"#);
    assert_eq!(client.hear(), "", "the session is over");
    let mut result: Value = serde_json::from_str(&server.folder.read("result.json")).expect("JSON");
    assert_eq!(result["host"]["flushes"], 2);
    assert!(!hints(&result).iter().any(is_of_workload));
    for part in ["ftl", "wear", "precondition", "config"] {
        assert_eq!(result[part].take(), so_far[part], "{part}");
    }
}

#[test]
fn a_client_may_end_the_session_once_and_for_all() {
    static ENDED: AtomicU32 = AtomicU32::new(0);
    fn shut_down() {
        ENDED.fetch_add(1, Ordering::Relaxed);
    }
    let server = Controlled::ended_by(shut_down);
    server.write(1).expect("it is written");
    let (mut other, mut client) = (server.client(), server.client());
    assert_eq!(client.ask(r#"{"do":"end"}"#)["did"], "end");
    assert_eq!(client.hear(), "");
    assert!(server.write(2) == Err(Fault::Broken) && server.folder.has("result.json"));
    for command in ["status", "result", "end"] {
        let refused = other.ask(&format!(r#"{{"do": "{command}"}}"#));
        assert_eq!(refused["error"]["found"], "a command after the end of the session");
    }
    assert_eq!(ENDED.load(Ordering::Relaxed), 1);
}

#[test]
fn what_is_no_command_is_told_what_was_found_and_expected() {
    let server = Controlled::new();
    let mut client = server.client();
    for (line, found, help) in [
        (r#"{"do": "stauts"}"#, "the command `stauts`", Some("did you mean `status`?")),
        (r#"{"do": "x"}"#, "the command `x`", None),
        (r#"{"too": "a"}"#, "unknown field `too`", None),
        (r#"{"do": "status", "to": "a"}"#, "a file for the command `status`", None),
        (r#"{"do": "snapshot"}"#, "a snapshot without `to`", None),
        (r#"{"do": "snapshot", "to": "/nowhere/a"}"#, "/nowhere/a: there is no folder `/nowhere`", None),
        ("{}", "missing field `do`", None),
        (r#"{"do": "status", "do": "end"}"#, "duplicate field `do`", None),
        (r#"{"do": 7}"#, "invalid type: integer `7`", None),
        (r#"["status"]"#, r#"`["status"]`"#, None),
        ("status", "`status`", None),
        ("", "an empty line", None),
        (r#"{"do": "status"} {"do": "end"}"#, "trailing characters", None),
        (r#"{"do": "status""#, "EOF while parsing", None),
        ("\u{1b}[2J\u{202e}", "", None),
        (&format!(r#"{{"do": {}"#, "[".repeat(3000)), "", None),
    ] {
        let answer = client.ask(line);
        let error = &answer["error"];
        let told = error["found"].as_str().expect("it says what was found");
        assert!(told.contains(found) && !error["expected"].as_str().expect("and expected").is_empty(), "{answer}");
        assert_eq!(error["help"].as_str(), help, "{answer}");
    }
    client.send(b"{\"do\": \"\\u001b[2J\xf0\x9f\x98\x80\xe2\x80\xae\"}\n");
    let line = client.hear();
    assert!(line.trim_end().chars().all(|letter| !letter.is_control() && letter != '\u{202e}'), "{line}");
    assert_eq!(client.ask(r#"{"do": "status"}"#)["did"], "status", "the connection goes on");
    // A last line without an end is one.
    client.send(br#"{"do": "status"}"#);
    client.0.get_mut().shutdown(Shutdown::Write).expect("it is open");
    assert!(client.hear().starts_with(r#"{"did":"status""#) && client.hear().is_empty());
}

/// Lines without an end, clients that never read and never write, more clients than there may be, and rubbish: the
/// drive serves its requests all the while.
#[test]
fn hostile_clients_hold_up_nobody() {
    let server = Controlled::new();
    let mut long = server.client();
    long.send(&[b'{'; 4097]);
    assert!(long.hear().contains("a line of more than 4096 bytes") && long.hear().is_empty());
    let stalled: Vec<Client> = (0..8).map(|_| server.client()).collect();
    let mut half = server.client();
    half.send(br#"{"do": "#);
    // Floods of questions whose answers nobody reads, from threads that end with the test.
    let floods: Vec<UnixStream> = (0..4).map(|_| server.client().0.into_inner()).collect();
    thread::scope(|scope| {
        for mut flood in floods.iter().map(|flood| flood.try_clone().expect("a stream has handles")) {
            scope.spawn(move || while flood.write_all(b"{\"do\":\"result\"}\n").is_ok() {});
        }
        let mut prng = Prng::new(5);
        for _ in 0..200 {
            let mut rubbish = server.client();
            let bytes: Vec<u8> = (0..prng.below(3_000)).map(|_| prng.below(256) as u8).collect();
            let _ = rubbish.0.get_mut().write_all(&bytes);
        }
        (0..3_000).for_each(|at| server.write(at).expect("it is written"));
        half.send(b"\"status\"}\n");
        assert_eq!(serde_json::from_str::<Value>(&half.hear()).expect("JSON")["status"]["requests"]["writes"], 3_000);
        floods.iter().for_each(|flood| flood.shutdown(Shutdown::Both).expect("it is open"));
    });
    drop((stalled, half, floods));
    // A client beyond those that there may be is told so, and the places of others that leave are free again.
    let crowd: Vec<Client> = (0..40).map(|_| server.client()).collect();
    let told = |mut client: Client| {
        // Who is one too many may be gone before it asks.
        let _ = client.0.get_mut().write_all(b"{\"do\":\"status\"}\n");
        client.hear()
    };
    let told: Vec<String> = crowd.into_iter().rev().map(told).collect();
    assert!(told.iter().any(|line| line.contains("a client beyond 32")), "{told:?}");
    let is_served = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(50));
        let mut client = server.client();
        let _ = client.0.get_mut().write_all(b"{\"do\":\"status\"}\n");
        client.hear().contains("\"did\":\"status\"")
    });
    assert!(is_served);
}

/// Opening a pipe without a reader blocks; 32 blocked threads would use up every client of the control socket.
#[test]
fn a_snapshot_goes_to_files_alone() {
    let server = Controlled::new();
    let [pipe, link, control] = ["pipe", "link", "control"].map(|name| server.folder.path(name));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    std::os::unix::fs::symlink("pipe", &link).expect("there is room");
    let mut clients: Vec<Client> = (0..30).map(|_| server.client()).collect();
    for (to, found) in [
        (&*pipe, "this is a pipe, no ordinary file"),
        (&*control, "this is a socket, no ordinary file"),
        ("/dev/full", "this is a device, no ordinary file"),
        ("/dev/stdout", "this is a link of the system, no ordinary file"),
    ] {
        let line = format!("{{\"do\": \"snapshot\", \"to\": \"{to}\"}}\n");
        clients.iter_mut().for_each(|client| client.send(line.as_bytes()));
        for client in &mut clients {
            let line = client.hear();
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            assert!(answer["error"]["found"].as_str().is_some_and(|told| told.contains(found)), "{answer}");
        }
    }
    // A link is replaced, and what it leads to is not opened.
    let answer = clients[0].ask(&format!("{{\"do\": \"snapshot\", \"to\": \"{link}\"}}"));
    assert_eq!(answer["did"], "snapshot", "{answer}");
    assert!(std::fs::symlink_metadata(link).expect("it is there").is_file());
    assert_eq!(server.client().ask(r#"{"do": "status"}"#)["did"], "status");
}

#[test]
fn a_socket_takes_no_other_files_place() {
    let server = Controlled::new();
    let refused = server.session.answer_control(|| ()).expect_err("it is there");
    assert!(refused.contains("control: Address already in use"), "{refused}");
}
