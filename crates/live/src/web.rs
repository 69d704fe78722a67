//! The page of a session: what a drive does, drawn in a browser on this machine while it is served.
//!
//! ```text
//! GET /                    the page, with its style and its script within
//! GET /live.json?since=N   the samples after the first N, and the latest look, as the page asks for them
//! ```
//!
//! HTTP/1.1 with one request a connection, whose head is read by `httparse`. There is nothing to be changed here, and
//! nothing that a client sends comes back. Pages of other origins get no answer: the name of the host has to be one of
//! this address (against names that somebody else lets point here), and so has the origin, if a browser tells it. Each
//! client has a thread; their number, the bytes of a head and the time for a request and an answer are bounded.

mod page;
mod watch;

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::server::now;
use crate::session::Session;

pub(crate) use page::Page;
pub(crate) use watch::Watch;
#[cfg(test)]
pub(crate) use watch::Wear;

/// Most bytes of the head of a request.
const HEAD_BYTES: usize = 8 << 10;
/// Most fields in it.
const FIELDS: usize = 64;
/// Most clients at a time.
const CLIENTS: usize = 16;
/// Time between two clients: a flood of them costs the drive little.
const PAUSE: Duration = Duration::from_millis(4);
/// Time for a client to send its request.
const ASKING: Duration = Duration::from_secs(5);
/// Time for it to read the answer.
const HEARING: Duration = Duration::from_secs(10);
/// Time, and bytes, for it to leave after that.
const LEAVING: Duration = Duration::from_secs(1);
const LEAVING_BYTES: usize = 64 << 10;

/// Listens at an address of this machine alone.
///
/// # Errors
/// Why that is not possible, in words.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address).map_err(|error| format!("{address}: {error}"))
}

/// Looks at the drive, and answers clients for as long as the process lives.
///
/// # Errors
/// A thread that cannot be made, in words.
pub(crate) fn show(session: &'static Session, listener: TcpListener) -> Result<(), String> {
    let no_thread = |error: io::Error| format!("a thread cannot be made: {error}");
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let site: &'static Site = Box::leak(Box::new(Site::new(address)));
    let look = || site.watch.look(session);
    thread::Builder::new().name("web watch".to_owned()).spawn(look).map_err(no_thread)?;
    let answer = move || answer(site, &listener);
    thread::Builder::new().name("web".to_owned()).spawn(answer).map_err(no_thread)?;
    Ok(())
}

/// The page, its figures, and the names under which they are asked for.
pub(crate) struct Site {
    page: Page,
    watch: Watch,
    hosts: Vec<String>,
}

impl Site {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string(), format!("localhost:{port}")];
        if port == 80 {
            // Browsers leave out the port that everybody has.
            hosts.extend([address.to_string().trim_end_matches(":80").to_owned(), "localhost".to_owned()]);
        }
        Self { page: Page::new(), watch: Watch::default(), hosts }
    }
}

fn answer(site: &'static Site, listener: &TcpListener) {
    let clients = Arc::new(());
    for stream in listener.incoming() {
        thread::sleep(PAUSE);
        // Too many open files, for one.
        let Ok(mut stream) = stream else { continue };
        // Counted until its thread has ended, however it ends.
        let inside = Arc::clone(&clients);
        if Arc::strong_count(&clients) > CLIENTS + 1 {
            let crowded = Answer::refused(503, "Service Unavailable", "There are too many clients.");
            let _ = stream.set_nonblocking(true).and_then(|()| stream.write_all(&crowded.bytes(false)));
            continue;
        }
        let client = move || {
            // A client that has left needs no answer.
            let _ = converse(site, stream);
            drop(inside);
        };
        // Without a thread the connection is closed.
        let _ = thread::Builder::new().name("web client".to_owned()).spawn(client);
    }
}

/// A connection whose time is bounded, however slowly its bytes go.
struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(to)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Answers one request, and takes leave.
fn converse(site: &Site, stream: TcpStream) -> io::Result<()> {
    let mut stream = Timed { stream, until: now() + ASKING };
    let (answer, is_head) = hear(site, &mut stream)?;
    stream.until = now() + HEARING;
    stream.write_all(&answer.bytes(is_head))?;
    stream.stream.shutdown(Shutdown::Write)?;
    // What is not read when a connection is closed may cost the client its answer.
    stream.until = now() + LEAVING;
    let (mut rest, mut bytes) = ([0; 1024], 0);
    while bytes < LEAVING_BYTES {
        match stream.read(&mut rest)? {
            0 => break,
            more => bytes += more,
        }
    }
    Ok(())
}

/// The answer to the request of a client, and whether it is to be told without its content.
///
/// # Errors
/// A client that has left.
fn hear(site: &Site, stream: &mut impl Read) -> io::Result<(Answer, bool)> {
    let refused = |code, name, why| Ok((Answer::refused(code, name, why), false));
    let (mut head, mut length) = ([0; HEAD_BYTES], 0);
    loop {
        let more = match stream.read(&mut head[length..]) {
            Ok(more) => more,
            Err(error) if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => {
                return refused(408, "Request Timeout", "The request takes too long.");
            }
            Err(error) => return Err(error),
        };
        length += more;
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(&head[..length]) {
            Ok(httparse::Status::Complete(_)) => return Ok((site.answer(&request), request.method == Some("HEAD"))),
            Ok(httparse::Status::Partial) if length == HEAD_BYTES => {
                return refused(431, "Request Header Fields Too Large", "The head of the request is too long.");
            }
            Ok(httparse::Status::Partial) if more == 0 => {
                return refused(400, "Bad Request", "The request is not whole.");
            }
            Ok(httparse::Status::Partial) => {}
            Err(httparse::Error::TooManyHeaders) => {
                return refused(431, "Request Header Fields Too Large", "The request has too many fields.");
            }
            Err(_) => return refused(400, "Bad Request", "That is no request of HTTP/1.1."),
        }
    }
}

/// Answers a request that is complete; true if the answer has status 200.
pub(crate) fn answers(site: &Site, mut sent: &[u8]) -> bool {
    hear(site, &mut sent).is_ok_and(|(answer, is_head)| !answer.bytes(is_head).is_empty() && answer.code == 200)
}

impl Site {
    fn answer(&self, request: &httparse::Request) -> Answer {
        // A field that comes twice has no meaning.
        let only = |name: &str| {
            let mut values = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
            let first = values.next().map(|field| std::str::from_utf8(field.value).unwrap_or("\u{fffd}"));
            if values.next().is_some() { Some("\u{fffd}") } else { first }
        };
        let is_own = |host: &str| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
        match only("host") {
            None => return Answer::refused(400, "Bad Request", "The request names no host."),
            Some(host) if is_own(host) => {}
            Some(_) => return Answer::refused(403, "Forbidden", "This drive is not shown under another name."),
        }
        let is_from_here = only("origin").is_none_or(|origin| origin.strip_prefix("http://").is_some_and(is_own));
        let is_site = only("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
        if !is_from_here || !is_site {
            let why = "Another site has asked for this. Type the address into the browser to see the drive.";
            return Answer::refused(403, "Forbidden", why);
        }
        if !matches!(request.method, Some("GET" | "HEAD")) {
            return Answer::refused(405, "Method Not Allowed", "There is nothing to be changed here.");
        }
        let target = request.path.unwrap_or_default();
        match target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query))) {
            ("/", None) => Answer::of("text/html; charset=utf-8", self.page.text().to_owned()),
            ("/live.json", query) => match query.map_or(Some(0), since) {
                Some(since) => Answer::of("application/json", self.watch.since(since)),
                None => Answer::refused(400, "Bad Request", "Expected since=N, a whole number."),
            },
            // Browsers ask for it, and tell that it is not there as an error.
            ("/favicon.ico", None) => Answer { code: 204, name: "No Content", ..Answer::refused(0, "", "") },
            _ => Answer::refused(404, "Not Found", "There is / and /live.json."),
        }
    }
}

/// The number in `since=N`.
fn since(query: &str) -> Option<u64> {
    let digits = query.strip_prefix("since=")?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// An answer; its fields are those of every answer, so that no page can read, frame or keep it.
struct Answer {
    code: u16,
    name: &'static str,
    kind: &'static str,
    content: String,
}

impl Answer {
    fn refused(code: u16, name: &'static str, why: &str) -> Self {
        let content = if why.is_empty() { String::new() } else { format!("{why}\n") };
        Self { code, name, kind: "text/plain; charset=utf-8", content }
    }

    fn of(kind: &'static str, content: String) -> Self {
        Self { code: 200, name: "OK", kind, content }
    }

    fn bytes(&self, is_head: bool) -> Vec<u8> {
        let Self { code, name, kind, content } = self;
        let extra = if *code == 405 { "Allow: GET, HEAD\r\n" } else { "" };
        let policy = Page::policy();
        // An answer without content has no length either, by the protocol.
        let length = if *code == 204 { String::new() } else { format!("Content-Length: {}\r\n", content.len()) };
        let head = format!(
            "HTTP/1.1 {code} {name}\r\nContent-Type: {kind}\r\n{length}{extra}\
             Connection: close\r\nCache-Control: no-store\r\nContent-Security-Policy: {policy}\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\r\n"
        );
        let content = if is_head { "" } else { content };
        [head.as_bytes(), content.as_bytes()].concat()
    }
}
