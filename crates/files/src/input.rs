//! Inputs: files that a user names, or that an experiment or a job of a stranger names.

use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::folder_of;
use crate::system::{FileId, id_of, open_waitless};

/// Files that this process has opened as inputs.
static OPENED: Mutex<BTreeSet<FileId>> = Mutex::new(BTreeSet::new());

/// Variable with the limit on texts in bytes, for the user who trusts a longer one.
pub const TEXT_LIMIT_VARIABLE: &str = "FLASHLOOM_TEXT_LIMIT";

/// Limit on experiments and jobs without it: 100 MB of comments in TOML took 1.1 GB.
pub const TEXT_LIMIT_BYTES: u64 = 16 << 20;

/// Limit on results without it, which programs write: one of a thousand runs has some ten megabytes.
pub const RESULT_LIMIT_BYTES: u64 = 128 << 20;

/// UTF-8 byte order mark, which some programs put before a text; readers of texts skip it.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reason why a file is no input.
#[derive(Debug)]
pub enum NoInput {
    /// There is no file of the name.
    Missing,
    /// The name is `-`, by which other programs mean their standard input, and there is no file of that name.
    Dash,
    /// The name is that of a folder.
    Folder,
    /// The name is that of a pipe, a device or a socket.
    Special(&'static str),
    /// The text is longer than this limit in bytes.
    TooLong(u64),
    /// The value of [`TEXT_LIMIT_VARIABLE`] is no number of bytes.
    Limit(String),
    /// The system refuses.
    Refused(io::Error),
}

impl fmt::Display for NoInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "there is no such file"),
            Self::Dash => write!(f, "there is no such file; standard input is read as /dev/stdin"),
            Self::Folder => write!(f, "this is a directory"),
            Self::Special(kind) => write!(
                f,
                "this is {kind}, no ordinary file; one that you open yourself is read as /dev/stdin or /dev/fd/N"
            ),
            Self::TooLong(limit) => {
                write!(f, "longer than {limit} bytes, the limit on texts; {TEXT_LIMIT_VARIABLE} (bytes) raises it")
            }
            Self::Limit(value) => write!(f, "{TEXT_LIMIT_VARIABLE} is `{value}`, which is no number of bytes"),
            Self::Refused(error) => write!(f, "the file cannot be read: {error}"),
        }
    }
}

impl From<io::Error> for NoInput {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::Missing,
            ErrorKind::IsADirectory => Self::Folder,
            _ => Self::Refused(error),
        }
    }
}

/// Opens an input. Links are followed. A pipe, a device or a socket is refused, without waiting for its other end or
/// touching it. The exception are names of what the program's caller opened (/dev/stdin, /dev/fd/3, and so the
/// `<(command)` of a shell). The file is noted for [`conflict_with_opened`](crate::conflict_with_opened).
///
/// # Errors
/// There is no such file, it is no ordinary one, or it cannot be read.
pub fn open_input(path: &Path) -> Result<File, NoInput> {
    let file = open(path)?;
    if let Some(id) = id_of(path, &file.metadata()?) {
        OPENED.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    }
    Ok(file)
}

/// The files that this process has opened as inputs so far.
pub(crate) fn opened() -> BTreeSet<FileId> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn open(path: &Path) -> Result<File, NoInput> {
    if is_of_caller(path) {
        let file = File::open(path)?;
        return if file.metadata()?.is_dir() { Err(NoInput::Folder) } else { Ok(file) };
    }
    // Asked first, because opening is enough to move some devices; and again, because another may have the name by now.
    let known = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && path == Path::new("-") => return Err(NoInput::Dash),
        known => known?,
    };
    check_ordinary(&known)?;
    let file = open_waitless(path)?;
    check_ordinary(&file.metadata()?)?;
    Ok(file)
}

/// Reads a text as [`open_input`] opens it, if it is not longer than a limit, or than what [`TEXT_LIMIT_VARIABLE`] has
/// in its place.
///
/// # Errors
/// As for [`open_input`], or it is too long.
pub fn read_input(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, NoInput> {
    let limit = limit_of(TEXT_LIMIT_VARIABLE, limit_bytes).map_err(NoInput::Limit)?;
    read_within(open_input(path)?, limit)
}

/// The limit that a variable of the environment has, or `default` if it is not set, or empty.
///
/// # Errors
/// The value, if it is no whole number.
pub fn limit_of(variable: &str, default: u64) -> Result<u64, String> {
    let Some(value) = env::var_os(variable).filter(|value| !value.is_empty()) else { return Ok(default) };
    let value = value.to_string_lossy();
    value.parse().map_err(|_| value.into_owned())
}

fn read_within(file: File, limit: u64) -> Result<Vec<u8>, NoInput> {
    let known = file.metadata()?;
    if known.is_file() && known.len() > limit {
        return Err(NoInput::TooLong(limit));
    }
    // Its length may be unknown, or grow.
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(NoInput::TooLong(limit)) } else { Ok(bytes) }
}

fn check_ordinary(metadata: &Metadata) -> Result<(), NoInput> {
    match metadata.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(NoInput::Folder),
        kind => Err(NoInput::Special(name_of(kind))),
    }
}

#[cfg(unix)]
pub(crate) fn name_of(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

#[cfg(not(unix))]
pub(crate) fn name_of(_: FileType) -> &'static str {
    "a device"
}

/// True for names of files that the program's caller has opened: a stranger's file cannot lead elsewhere with them.
fn is_of_caller(path: &Path) -> bool {
    let is_standard_input = path == Path::new("/dev/stdin");
    let own = fs::canonicalize("/proc/self/fd").or_else(|_| fs::canonicalize("/dev/fd"));
    is_standard_input || own.is_ok_and(|own| fs::canonicalize(folder_of(path)).is_ok_and(|folder| folder == own))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn refusal(path: &Path) -> String {
        open_input(path).expect_err("it is no ordinary file").to_string()
    }

    #[test]
    fn what_is_no_ordinary_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        std::os::unix::fs::symlink(at("pipe"), at("link")).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        assert!(refusal(&at("pipe")).starts_with("this is a pipe"));
        assert!(refusal(&at("link")).starts_with("this is a pipe"));
        assert!(refusal(&at("socket")).starts_with("this is a socket"));
        assert!(refusal(Path::new("/dev/zero")).starts_with("this is a device"));
        assert_eq!(refusal(folder.path()), "this is a directory");
        assert_eq!(refusal(&at("nothing")), "there is no such file");
        assert_eq!(refusal(Path::new("-")), "there is no such file; standard input is read as /dev/stdin");
    }

    #[test]
    fn a_text_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, "12345678").unwrap();
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        let read = |name: &str, limit| read_within(open_input(&folder.path().join(name)).unwrap(), limit);
        assert_eq!(read("text", 8).unwrap(), b"12345678");
        assert_eq!(read("link", 8).unwrap(), b"12345678");
        let problem = read("text", 7).expect_err("it is too long").to_string();
        assert!(problem.contains("longer than 7 bytes") && problem.contains(TEXT_LIMIT_VARIABLE), "{problem}");
    }

    #[test]
    fn what_the_caller_has_opened_is_read_and_has_a_limit_too() {
        let (mut writer, reader) = (Vec::new(), io::pipe().unwrap());
        writer.push(reader.1);
        io::Write::write_all(&mut writer[0], b"12345678").unwrap();
        writer.clear();
        let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader.0));
        let file = open_input(Path::new(&name)).expect("the caller has opened it");
        assert!(matches!(read_within(file, 7), Err(NoInput::TooLong(7))));
    }
}
