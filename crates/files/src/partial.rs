//! Partial files: written under a name of their own, locked as long as their writer lives, and renamed when complete.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{self, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempPath;

use crate::folder_of;
use crate::own::left_behind;
use crate::system::{is_at, sync_folder, try_lock};

/// Prefix and suffix of the names of partial files; letters and digits are between them.
const NAME: (&str, &str) = (".flashloom-", ".partial");
/// Number of letters and digits: nobody guesses a name, or finds one taken.
const DIGITS: usize = 12;
/// Number of times that another process may take a new file for a leftover, before it is locked.
const RETRIES: u32 = 10;

/// Partial files of this process.
static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who may open a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whom the user's mask admits, as to any new file.
    Usual,
    /// The user alone.
    Own,
}

/// A file that is being written. Dropped before it is complete, it is removed.
#[derive(Debug)]
pub struct Partial {
    file: File,
    path: TempPath,
    live: Live,
}

/// An entry of [`LIVE`]: absolute, because the working folder may change.
#[derive(Debug)]
struct Live(PathBuf);

impl Drop for Live {
    fn drop(&mut self) {
        live().remove(&self.0);
    }
}

impl Partial {
    /// Creates a partial file in a folder, under a name that no file has, and locks it. On file systems
    /// without locks it stays unlocked, and leftovers are not removed there.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn create(folder: &Path, access: Access) -> io::Result<Self> {
        let mut named = tempfile::Builder::new();
        named.prefix(NAME.0).suffix(NAME.1).rand_bytes(DIGITS);
        #[cfg(unix)]
        if access == Access::Usual {
            named.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        #[cfg(not(unix))]
        let _ = access;
        for _ in 0..RETRIES {
            let mut all = live();
            let (file, path) = named.tempfile_in(folder)?.into_parts();
            // Another process may come between: it holds the lock, or has removed the file.
            let is_taken = match try_lock(&file) {
                Ok(is_locked) => !is_locked || !is_at(&file, &path).unwrap_or(false),
                Err(_) => false,
            };
            if !is_taken {
                let live = path::absolute(&path)?;
                all.insert(live.clone());
                return Ok(Self { file, path, live: Live(live) });
            }
        }
        Err(io::Error::other("other processes remove every new file".to_owned()))
    }

    /// Moves the file to its place: at once, in place of what is there. A file whose name was removed is written again,
    /// because its content is still there.
    ///
    /// # Errors
    /// The place cannot be written to; then the file is removed.
    pub fn place(self, at: &Path) -> io::Result<()> {
        self.named()?.persist(at)
    }

    fn persist(self, at: &Path) -> io::Result<()> {
        // Unlocked only under its new name.
        let Self { file: _locked, path, live: _live } = self;
        path.persist(at).map_err(|error| error.error)
    }

    /// The file, if it has its name, or another one with what was written to it.
    fn named(mut self) -> io::Result<Self> {
        if is_at(&self.file, &self.path).unwrap_or(false) {
            return Ok(self);
        }
        let mut again = Self::create(folder_of(&self.path), Access::Own)?;
        again.file.set_permissions(self.file.metadata()?.permissions())?;
        self.file.rewind()?;
        io::copy(&mut self.file, &mut again.file)?;
        Ok(again)
    }

    /// [`Self::place`], once the system has stored what was written; it has stored the name, too, when this returns.
    ///
    /// # Errors
    /// It cannot be stored, or the place cannot be written to; then the file is removed.
    pub fn place_durably(self, at: &Path) -> io::Result<()> {
        let named = self.named()?;
        named.sync()?;
        named.persist(at)?;
        sync_folder(folder_of(at))
    }

    /// [`Self::place_durably`] at the first of these paths that no file has. Returns the file, still locked, and its
    /// path.
    ///
    /// # Errors
    /// Files have all of them ([`ErrorKind::AlreadyExists`]), it cannot be stored, or a path cannot be written to; then
    /// the file is removed.
    pub fn place_new(self, paths: impl IntoIterator<Item = PathBuf>) -> io::Result<(File, PathBuf)> {
        self.sync()?;
        let Self { file, mut path, live: _live } = self;
        for at in paths {
            match path.persist_noclobber(&at) {
                Ok(()) => {
                    sync_folder(folder_of(&at))?;
                    return Ok((file, at));
                }
                Err(taken) if taken.error.kind() == ErrorKind::AlreadyExists => path = taken.path,
                Err(refused) => return Err(refused.error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Waits until the system has stored what was written.
    ///
    /// # Errors
    /// It cannot be stored.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a file atomically and durably: after a crash of the program or the machine it is either complete or as
/// before.
///
/// # Errors
/// It cannot be written.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut partial = Partial::create(folder_of(path), Access::Usual)?;
    partial.write_all(content)?;
    partial.place_durably(path)
}

/// Removes the partial files of this process, and lets none be created any more. For a program that is about to end
/// without unwinding, because a signal asks for it.
pub fn end_writing() {
    let mut all = live();
    while let Some(path) = all.pop_first() {
        // One that was completed in the meantime has another name by now.
        let _ = fs::remove_file(path);
    }
    // Kept for ever: a thread that wants to create a file waits until the process ends.
    std::mem::forget(all);
}

/// Removes partial files of processes that have ended from a folder, and returns how many there were. What has another
/// name, belongs to another user, is no ordinary file or is locked stays; so does what cannot be removed.
pub fn remove_leftovers(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.filter(|entry| is_name(&entry.file_name())).map(|entry| entry.path());
    let is_removed = |path: &PathBuf| {
        left_behind(path, Metadata::is_file, true).is_some_and(|_locked| fs::remove_file(path).is_ok())
    };
    paths.filter(is_removed).count()
}

/// True for a name that [`Partial::create`] gives, that earlier versions gave, or that the package for Python gives. A
/// file of the user's with a name of another length stays.
fn is_name(name: &OsStr) -> bool {
    let between = name.to_str().and_then(|name| name.strip_prefix(NAME.0)?.strip_suffix(NAME.1));
    let is_of = |digits: &str, length, extra: &[u8]| {
        digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || extra.contains(&byte))
    };
    between.is_some_and(|digits| match digits.strip_prefix("output-") {
        // tempfile's own number of them, behind a word.
        Some(digits) => is_of(digits, 6, b""),
        // Python's own, with an underscore among its letters.
        None => is_of(digits, DIGITS, b"") || is_of(digits, 8, b"_"),
    })
}
