//! The control socket of a session: one JSON object a line in, one a line out.
//!
//! ```text
//! {"do": "status"}    what the drive does and has done, in short
//! {"do": "result"}    the result as it would be without an end: nothing is flushed for it
//! {"do": "snapshot", "to": "FILE"}
//!                     saves the drive as it would be switched off now
//! {"do": "end"}       ends the session as a signal does; the answer comes when log and result are written
//! ```
//!
//! An answer has the key `did` with the name of the command, or `error` with what was found and expected. Each client
//! has a thread of its own, so that one that stalls waits alone. The drive stands still while a figure is taken, for
//! microseconds, and a client gets at most one answer in [`PAUSE`], however many it asks for.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use flashloom_units::{Refusal, visible_json};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::session::Session;
use crate::status::status;

/// The commands.
const COMMANDS: [&str; 4] = ["status", "result", "snapshot", "end"];
/// Most bytes of a line.
const LINE_BYTES: u64 = 4096;
/// Most clients at a time.
const CLIENTS: usize = 32;
/// Time between an answer and the next line of the same client.
const PAUSE: Duration = Duration::from_millis(10);
/// Time for which an answer waits for a client that does not read.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a line has to be.
const EXPECTED: &str = "an object such as {\"do\": \"status\"}";

/// A line of a client.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    r#do: String,
    to: Option<String>,
}

/// What a line asks for.
pub(crate) enum ControlOrder {
    Status,
    Result,
    Snapshot(String),
    End,
}

/// What becomes of a line.
enum Answer {
    Done(Value),
    Refused(Refusal),
    /// The session has ended, well or not.
    Ended(Result<(), String>),
}

/// Listens at a path where no file is, with the rights of its folder.
///
/// # Errors
/// Why that is not possible, in words.
pub fn listen(path: &Path) -> Result<UnixListener, String> {
    UnixListener::bind(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Answers clients for as long as the process lives. `shut_down` is called once a client has ended the session.
pub fn answer(session: &'static Session, listener: UnixListener, shut_down: fn()) {
    let clients = Arc::new(());
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else {
            // Too many open files, for one.
            thread::sleep(PAUSE);
            continue;
        };
        // Counted until its thread has ended, however it ends.
        let inside = Arc::clone(&clients);
        if Arc::strong_count(&clients) > CLIENTS + 1 {
            let refusal = Refusal::new(format!("a client beyond {CLIENTS}"), "that one of them leaves first");
            let _ = stream.set_nonblocking(true).and_then(|()| stream.write_all(refused(&refusal).as_bytes()));
            continue;
        }
        let client = move || {
            // A client that has left needs no answer.
            let _ = converse(session, &stream, shut_down);
            drop(inside);
        };
        // Without a thread the connection is closed.
        let _ = thread::Builder::new().name("control client".to_owned()).spawn(client);
    }
}

/// Answers a client until it leaves, sends a line that is too long, or ends the session.
fn converse(session: &Session, mut stream: &UnixStream, shut_down: fn()) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut lines, mut line) = (BufReader::new(stream), Vec::new());
    loop {
        line.clear();
        if (&mut lines).take(LINE_BYTES + 1).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.len() as u64 > LINE_BYTES {
            let refusal = Refusal::new(format!("a line of more than {LINE_BYTES} bytes"), EXPECTED);
            return stream.write_all(refused(&refusal).as_bytes());
        }
        let (text, has_ended) = match answer_to(session, &line) {
            Answer::Done(answer) => (written(&answer), false),
            Answer::Refused(refusal) => (refused(&refusal), false),
            Answer::Ended(Ok(())) => (written(&json!({"did": "end"})), true),
            Answer::Ended(Err(reason)) => (refused(&Refusal::new(reason, "a session that ends well")), true),
        };
        let told = stream.write_all(text.as_bytes());
        if has_ended {
            shut_down();
            return told;
        }
        told?;
        thread::sleep(PAUSE);
    }
}

fn answer_to(session: &Session, line: &[u8]) -> Answer {
    let order = match order(line) {
        Ok(_) if session.is_ended() => {
            Err(Refusal::new("a command after the end of the session", "no further command"))
        }
        order => order,
    };
    match order {
        Ok(ControlOrder::Status) => Answer::Done(json!({"did": "status", "status": status(session, &session.look())})),
        Ok(ControlOrder::Result) => Answer::Done(json!({"did": "result", "result": session.result_so_far()})),
        Ok(ControlOrder::Snapshot(to)) => match session.save_snapshot(&to) {
            Ok(()) => Answer::Done(json!({"did": "snapshot", "to": to})),
            Err(refusal) => Answer::Refused(refusal),
        },
        Ok(ControlOrder::End) => Answer::Ended(session.end()),
        Err(refusal) => Answer::Refused(refusal),
    }
}

/// Reads a line.
pub(crate) fn order(line: &[u8]) -> Result<ControlOrder, Refusal> {
    // An array would be taken for an object by the order of its fields.
    let parsed = match line.trim_ascii_start().first() {
        Some(b'{') => serde_json::from_slice::<Line>(line).map_err(|error| error.to_string()),
        Some(_) => Err(format!("`{}`", String::from_utf8_lossy(line).trim())),
        None => Err("an empty line".to_owned()),
    };
    let Line { r#do: command, to } = parsed.map_err(|found| Refusal::new(found, EXPECTED))?;
    match (&*command, to) {
        ("status" | "result" | "end", Some(_)) => {
            Err(Refusal::new(format!("a file for the command `{command}`"), "it without `to`"))
        }
        ("snapshot", None) => Err(Refusal::new("a snapshot without `to`", r#"{"do": "snapshot", "to": "FILE"}"#)),
        ("snapshot", Some(to)) => Ok(ControlOrder::Snapshot(to)),
        ("status", None) => Ok(ControlOrder::Status),
        ("result", None) => Ok(ControlOrder::Result),
        ("end", None) => Ok(ControlOrder::End),
        _ => {
            let refusal = Refusal::new(format!("the command `{command}`"), COMMANDS.join(", "));
            Err(refusal.suggesting(&command, COMMANDS))
        }
    }
}

pub(crate) fn refused(Refusal { found, expected, help, .. }: &Refusal) -> String {
    let help = help.iter().map(|help| ("help".to_owned(), help.clone().into()));
    let parts = [("found".to_owned(), found.clone().into()), ("expected".to_owned(), expected.clone().into())];
    written(&json!({"error": parts.into_iter().chain(help).collect::<serde_json::Map<_, _>>()}))
}

fn written(answer: &Value) -> String {
    format!("{}\n", visible_json(&answer.to_string()))
}
