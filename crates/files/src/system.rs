//! Owners, locks and identities of files, as far as the system has them.

#[cfg(unix)]
pub use of_unix::*;
#[cfg(not(unix))]
pub use others::*;

#[cfg(unix)]
mod of_unix {
    use std::fs::{self, File, Metadata};
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use rustix::fs::{FlockOperation, Mode, OFlags};
    use rustix::io::Errno;

    /// Identity of a file, whatever its names: device and inode.
    pub(crate) type FileId = (u64, u64);

    /// Bits of a mode with which others than the owner may write.
    const OTHERS_WRITE: u32 = 0o022;

    /// Locks a file for this process alone, until it is closed; false if another has a lock on it.
    ///
    /// # Errors
    /// The file system has no locks.
    pub fn try_lock(file: &File) -> io::Result<bool> {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The identity of a file.
    pub(crate) fn id_of(_: &Path, metadata: &Metadata) -> Option<FileId> {
        Some((metadata.dev(), metadata.ino()))
    }

    /// Ends the lock of [`try_lock`] before the file is closed.
    ///
    /// # Errors
    /// The file system has no locks.
    pub fn unlock(file: &File) -> io::Result<()> {
        rustix::fs::flock(file, FlockOperation::Unlock).map_err(io::Error::from)
    }

    /// Waits until the system has stored the names in a folder. One that cannot be opened, or whose file system has no
    /// such order, is left to the system.
    pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
        let Ok(folder) = File::open(path) else { return Ok(()) };
        match folder.sync_all() {
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
            synced => synced,
        }
    }

    /// True if a file belongs to the user who runs the program.
    pub fn is_own(metadata: &Metadata) -> bool {
        metadata.uid() == rustix::process::geteuid().as_raw()
    }

    /// True if a link may be trusted to lead where the user wants: it is the user's, or the administrator's.
    pub(crate) fn is_trusted_link(metadata: &Metadata) -> bool {
        is_own(metadata) || metadata.uid() == 0
    }

    /// What is wrong with a file or folder that only its owner is to change; `None` if nothing is.
    pub(crate) fn is_open_to_others(metadata: &Metadata) -> Option<String> {
        if !is_own(metadata) {
            return Some(format!("it belongs to another user (uid {})", metadata.uid()));
        }
        let mode = metadata.mode() & 0o7777;
        (mode & OTHERS_WRITE != 0)
            .then(|| format!("other users may write to it (mode {mode:o}; `chmod go-w` mends it)"))
    }

    /// True if a path still names an open file.
    ///
    /// # Errors
    /// The path names nothing, or the system refuses.
    pub fn is_at(file: &File, path: &Path) -> io::Result<bool> {
        let (open, named) = (file.metadata()?, fs::symlink_metadata(path)?);
        Ok(id_of(path, &open) == id_of(path, &named))
    }

    /// Opens a file to read it, or to lock it; no link is followed, and a pipe does not wait for its other end.
    pub(crate) fn open_unfollowed(path: &Path, writing: bool) -> io::Result<File> {
        let access = if writing { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens a file to read it; links are followed, and nothing waits for the other end of a pipe.
    pub(crate) fn open_waitless(path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
    }
}

#[cfg(not(unix))]
mod others {
    use std::fs::{self, File, Metadata};
    use std::io;
    use std::path::{Path, PathBuf};

    /// Identity of a file: its path without links.
    pub(crate) type FileId = PathBuf;

    /// The identity of a file; of a link none is known.
    pub(crate) fn id_of(path: &Path, known: &Metadata) -> Option<FileId> {
        if known.is_symlink() { None } else { fs::canonicalize(path).ok() }
    }

    /// Locks a file for this process alone: there are no such locks here.
    ///
    /// # Errors
    /// Always.
    pub fn try_lock(_: &File) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Ends the lock of [`try_lock`]: there is none here.
    ///
    /// # Errors
    /// Always.
    pub fn unlock(_: &File) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Waits until the system has stored the names in a folder: folders are no files here.
    pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
        Ok(())
    }

    /// True if a file belongs to the user who runs the program: as far as is known here.
    pub fn is_own(_: &Metadata) -> bool {
        true
    }

    /// True if a link may be trusted to lead where the user wants.
    pub(crate) fn is_trusted_link(_: &Metadata) -> bool {
        true
    }

    /// What is wrong with a file or folder that only its owner is to change: nothing is known of it here.
    pub(crate) fn is_open_to_others(_: &Metadata) -> Option<String> {
        None
    }

    /// True if a path still names an open file: names of open files stay here.
    ///
    /// # Errors
    /// Never.
    pub fn is_at(_: &File, path: &Path) -> io::Result<bool> {
        Ok(path.exists())
    }

    /// Opens a file to read it, or to lock it.
    pub(crate) fn open_unfollowed(path: &Path, writing: bool) -> io::Result<File> {
        File::options().read(true).write(writing).open(path)
    }

    /// Opens a file to read it.
    pub(crate) fn open_waitless(path: &Path) -> io::Result<File> {
        File::open(path)
    }
}
