//! A folder of the user's own, and files in it.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::path::Path;

use crate::system::{is_at, is_open_to_others, is_own, is_trusted_link, open_unfollowed, try_lock};

/// Creates a folder that nobody else may enter, with those above it, unless it exists; and checks it.
///
/// # Errors
/// The folder cannot be created, or [`check_own`] refuses it.
pub fn own_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    check_own(path)
}

/// Checks that an existing folder is the user's own: whoever else may write there could replace what is read back. A
/// link to a folder is followed if it is the user's or the administrator's.
///
/// # Errors
/// The reason why it is not, in words.
pub fn check_own(path: &Path) -> io::Result<()> {
    let refuse = |why: &str| Err(io::Error::other(why.to_owned()));
    let link = fs::symlink_metadata(path)?;
    if link.is_symlink() && !is_trusted_link(&link) {
        return refuse("it is a link of another user");
    }
    let metadata = fs::metadata(path)?;
    if !metadata.is_dir() {
        return refuse("it is no folder");
    }
    is_open_to_others(&metadata).map_or(Ok(()), |why| refuse(&why))
}

/// Opens a file of the user's own to be read. No link is followed.
///
/// # Errors
/// There is none ([`io::ErrorKind::NotFound`]), it is no ordinary file, or other users may have written it.
pub fn open_own(path: &Path) -> io::Result<File> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("it is no ordinary file".to_owned()));
    }
    let file = open_unfollowed(path, false)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no ordinary file".to_owned()));
    }
    is_open_to_others(&metadata).map_or(Ok(file), |why| Err(io::Error::other(why)))
}

/// The user's file or folder of this kind, locked, if the process that made it has ended. The lock is kept until the
/// file is removed, so that no other process uses it meanwhile.
pub(crate) fn left_behind(path: &Path, is_kind: fn(&Metadata) -> bool, writing: bool) -> Option<File> {
    fs::symlink_metadata(path).ok().filter(|metadata| is_kind(metadata) && is_own(metadata))?;
    let file = open_unfollowed(path, writing).ok()?;
    (try_lock(&file).ok()? && is_at(&file, path).ok()?).then_some(file)
}

/// Removes a file unless a process has a lock on it; false if one has. A link itself is removed, not what it leads to.
///
/// # Errors
/// It cannot be removed.
pub fn remove_unless_locked(path: &Path) -> io::Result<bool> {
    let is_ordinary = fs::symlink_metadata(path)?.is_file();
    // Kept until the file is gone: nobody gets a lock on it any more.
    let file = if is_ordinary { open_unfollowed(path, false).ok() } else { None };
    if file.as_ref().is_some_and(|file| matches!(try_lock(file), Ok(false))) {
        return Ok(false);
    }
    fs::remove_file(path).map(|()| true)
}
