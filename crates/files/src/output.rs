//! Outputs: files that a user names.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf, is_separator};

use crate::folder_of;
use crate::input::name_of;
use crate::partial::{Access, Partial, remove_leftovers};

/// Reason why there is no output of a name.
#[derive(Debug)]
pub enum NoOutput {
    /// The name is that of a folder.
    Folder,
    /// This folder, which it is to be in, does not exist.
    Missing(PathBuf),
    /// The name is that of a pipe, a socket or a device, where a file is wanted.
    Special(&'static str),
    /// The name is a link of the system to an open file (/dev/stdout), which has a name of its own.
    OpenFile,
    /// The system refuses.
    Refused(io::Error),
}

impl fmt::Display for NoOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder => write!(f, "this is a directory"),
            Self::Missing(folder) => write!(f, "there is no folder `{}`", folder.display()),
            Self::Special(kind) => write!(f, "this is {kind}, no ordinary file"),
            Self::OpenFile => write!(f, "this leads to a file that is open, which would be overwritten"),
            Self::Refused(error) => write!(f, "the file cannot be written: {error}"),
        }
    }
}

impl From<io::Error> for NoOutput {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

/// An output, opened before anything runs. A file takes its place when it is complete; what had its name stays until
/// then. A device or a pipe is written directly.
#[derive(Debug)]
pub struct Output(To);

#[derive(Debug)]
enum To {
    Place(Partial, PathBuf),
    Device(File),
}

impl Output {
    /// Opens an output. A link is replaced, never followed: it may have been put there by somebody else. The exception
    /// are links of the system, such as /dev/stdout and /dev/fd/3, which lead to what the program's caller opened.
    ///
    /// Leftovers of processes that were killed while they wrote to the same folder are removed.
    ///
    /// # Errors
    /// The name is that of a folder, or cannot be written.
    pub fn create(path: &Path) -> Result<Self, NoOutput> {
        match special(path)? {
            Some(_) => {
                let file = OpenOptions::new().write(true).open(path)?;
                if file.metadata()?.is_file() {
                    return Err(NoOutput::OpenFile);
                }
                Ok(Self(To::Device(file)))
            }
            None => Self::file(path),
        }
    }

    /// [`Self::create`] for names that are known while a program runs: a pipe, which may wait for its other end, and a
    /// device are refused unopened.
    ///
    /// # Errors
    /// As for [`Self::create`].
    pub fn file(path: &Path) -> Result<Self, NoOutput> {
        if let Some(kind) = special(path)? {
            return Err(NoOutput::Special(kind));
        }
        let folder = folder_of(path);
        if !folder.is_dir() {
            return Err(NoOutput::Missing(folder.to_owned()));
        }
        remove_leftovers(folder);
        Ok(Self(To::Place(Partial::create(folder, Access::Usual)?, path.to_owned())))
    }

    /// Moves a file to its place. To be called once everything is written.
    ///
    /// # Errors
    /// The place cannot be written to.
    pub fn commit(self) -> io::Result<()> {
        match self.0 {
            To::Place(partial, place) => partial.place(&place),
            To::Device(mut file) => file.flush(),
        }
    }

    /// [`Self::commit`] for data that cannot be computed again: after a crash of the machine the place holds the old
    /// file or the whole new one.
    ///
    /// # Errors
    /// The place cannot be written to.
    pub fn commit_durably(self) -> io::Result<()> {
        match self.0 {
            To::Place(partial, place) => partial.place_durably(&place),
            To::Device(mut file) => file.flush(),
        }
    }
}

/// The kind of a name that is neither a file nor a link; a link of the system has a kind of its own.
///
/// # Errors
/// It is that of a folder, or empty, or the system refuses the name itself, such as for its length: long before a file
/// takes its place.
fn special(path: &Path) -> Result<Option<&'static str>, NoOutput> {
    if path.as_os_str().is_empty() {
        return Err(io::Error::other("an empty name").into());
    }
    let ends_as_folder = path.as_os_str().as_encoded_bytes().last().is_some_and(|byte| is_separator(*byte as char));
    if ends_as_folder || fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return Err(NoOutput::Folder);
    }
    Ok(match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() && lies_in_system(path) => Some("a link of the system"),
        Ok(found) if !found.is_file() && !found.is_symlink() => Some(name_of(found.file_type())),
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Err(error.into());
        }
        Ok(_) | Err(_) => None,
    })
}

/// True for names that the system makes for devices and open files.
fn lies_in_system(path: &Path) -> bool {
    let folder = fs::canonicalize(folder_of(path));
    folder.is_ok_and(|folder| folder == Path::new("/dev") || folder.starts_with("/proc"))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            To::Place(partial, _) => partial.write(bytes),
            To::Device(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            To::Place(partial, _) => partial.flush(),
            To::Device(file) => file.flush(),
        }
    }
}
