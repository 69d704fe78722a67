//! Where a drive is served: the names of its sockets, checked before anything runs, and removed when it ends.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use flashloom::units::Problem;
use flashloom_files::folder_of;

/// Longest path of a socket that systems take, in bytes.
const PATH_BYTES: usize = 107;

/// Refuses a name at which no socket can be made.
///
/// # Errors
/// The obstacle.
pub fn check_socket(path: &Path) -> Result<(), Problem> {
    let refuse = |found: &str, expected: &str| Err(Problem::file(path.display().to_string(), found, expected));
    let expected = "a name that no file has";
    match fs::symlink_metadata(path) {
        Ok(found) if is_socket(&found) => {
            return refuse("a socket: another server's, or what one that was killed has left", expected);
        }
        Ok(found) if found.is_dir() => return refuse("a folder", "a name in it that no file has"),
        Ok(found) if found.is_symlink() => return refuse("a link", expected),
        Ok(_) => return refuse("a file that is no socket", expected),
        Err(_) => {}
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        return refuse(&format!("there is no folder `{}`", folder.display()), "a name in a folder");
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match whole.as_os_str().len() {
        0..=PATH_BYTES => Ok(()),
        length => refuse(
            &format!("a path of {length} bytes, from the root on"),
            &format!("at most {PATH_BYTES} bytes, the limit of the system for sockets"),
        ),
    }
}

/// Refuses a port that is chosen by the system, because nobody would learn which it is, and one where something
/// listens.
///
/// # Errors
/// What is wrong with it.
pub fn check_port(option: &str, address: SocketAddr) -> Result<(), Problem> {
    if address.port() == 0 {
        return Err(Problem::file(option, format!("port 0 in {address}"), "a port from 1 to 65535"));
    }
    match TcpListener::bind(address) {
        Ok(_) => Ok(()),
        Err(error) => Err(Problem::file(option, format!("{address}: {error}"), "an address that is free")),
    }
}

/// Refuses an address at which no page can be shown: one that others reach, that of the drive, or where something
/// listens.
///
/// # Errors
/// What is wrong with it.
pub fn check_page(address: SocketAddr, tcp: Option<SocketAddr>) -> Result<(), Problem> {
    let refuse = |found: &str, expected: &str| Err(Problem::file("--web", format!("{address}: {found}"), expected));
    if !address.ip().is_loopback() {
        let expected =
            "an address of this machine alone, such as 127.0.0.1:8080, because the page asks nobody who they are";
        return refuse("an address that others may reach", expected);
    }
    if tcp == Some(address) {
        return refuse("the address of --tcp", "another port");
    }
    check_port("--web", address)
}

/// A socket that was made for this program.
pub struct Socket {
    path: PathBuf,
    /// Its device and number, once it is there.
    id: Option<(u64, u64)>,
}

impl Socket {
    /// A socket that is to be made.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), id: None }
    }

    /// Notes the socket, if it is there; false if it is not.
    pub fn note(&mut self) -> bool {
        self.id = id(&self.path);
        self.id.is_some()
    }

    /// Removes the socket; a file that has taken its place stays.
    pub fn remove(&self) {
        if self.id.is_some() && id(&self.path) == self.id {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(unix)]
fn is_socket(found: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_socket(&found.file_type())
}

#[cfg(not(unix))]
fn is_socket(_found: &fs::Metadata) -> bool {
    false
}

/// Device and number of the socket at a path.
#[cfg(unix)]
fn id(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(path).ok().filter(is_socket).map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn id(_path: &Path) -> Option<(u64, u64)> {
    None
}

/// The address of a socket as clients take it: what has a meaning in addresses is escaped.
pub fn uri(path: &Path) -> String {
    let escaped = path.as_os_str().as_encoded_bytes().iter().map(|&byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    format!("nbd+unix:///?socket={}", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_socket_that_was_noted_is_removed() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("s");
        let bind = || std::os::unix::net::UnixListener::bind(&path).expect("it is free");
        let mut socket = Socket::new(&path);
        assert!(!socket.note());
        let other = bind();
        socket.remove();
        assert!(path.exists(), "it was never noted");
        assert!(socket.note());
        // The number of a file that is removed may be used again, but not while it is open.
        fs::rename(&path, folder.path().join("t")).expect("it is there");
        fs::write(&path, "precious").expect("there is room");
        socket.remove();
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "precious");
        drop(other);
        fs::remove_file(&path).expect("it is there");
        fs::rename(folder.path().join("t"), &path).expect("it is there");
        socket.remove();
        assert!(!path.exists());
    }

    #[test]
    fn names_without_a_place_for_a_socket_are_refused_by_what_is_there() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "").expect("there is room");
        std::os::unix::fs::symlink("nowhere", path("link")).expect("there is room");
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).expect("it is free");
        for (name, found) in [
            ("file", "a file that is no socket"),
            ("link", "a link"),
            ("socket", "a socket: another server's"),
            ("", "a folder"),
            ("none/s", "there is no folder"),
            (&"x".repeat(120), "bytes, from the root on"),
        ] {
            let problem = check_socket(&path(name)).expect_err("it is refused");
            assert!(problem.refusal.found.contains(found), "{name}: {problem}");
        }
        check_socket(&path("free")).expect("there is room");
        check_port("--tcp", ([127, 0, 0, 1], 0).into()).expect_err("no client would know it");
    }

    #[test]
    fn a_page_is_for_this_machine_alone_and_for_a_port_that_is_free() {
        let taken = TcpListener::bind(("127.0.0.1", 0)).expect("there are ports");
        let taken = taken.local_addr().map(|address| (address, taken)).expect("it is bound");
        for (address, tcp, found) in [
            ("0.0.0.0:8080", None, "others may reach"),
            ("[::]:8080", None, "others may reach"),
            ("192.168.0.1:8080", None, "others may reach"),
            ("[::ffff:127.0.0.1]:8080", None, "others may reach"),
            ("127.0.0.1:0", None, "port 0"),
            ("127.0.0.1:8080", Some("127.0.0.1:8080"), "the address of --tcp"),
            (&taken.0.to_string(), None, "in use"),
        ] {
            let parsed = |text: &str| text.parse().expect("an address");
            let problem = check_page(parsed(address), tcp.map(parsed)).expect_err("it is refused");
            assert!(problem.refusal.found.contains(found), "{address}: {problem}");
        }
        drop(taken.1);
        check_page(taken.0, None).expect("it is free again");
    }

    #[test]
    fn an_address_is_escaped() {
        assert_eq!(uri(Path::new("/a b/%#\n")), "nbd+unix:///?socket=/a%20b/%25%23%0A");
    }
}
