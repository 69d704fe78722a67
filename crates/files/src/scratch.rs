//! Temporary folders: locked as long as their process lives, and removed at its end.

use std::env;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::own::left_behind;
use crate::system::{is_at, open_unfollowed, try_lock};

/// Letters and digits of a name, behind its prefix.
const DIGITS: usize = 12;
/// Retries if another process removes a new folder as a leftover before its lock is taken.
const RETRIES: u32 = 10;

/// A private folder for temporary files. On drop the path is removed with its content, also if another process replaced
/// the folder.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    /// The lock that marks the folder as in use; `None` on file systems without locks, where leftovers are not removed.
    /// Cleaners of temporary files respect it, too.
    _locked: Option<File>,
}

impl Scratch {
    /// Makes a folder whose name begins with `prefix` among the temporary files. Those of processes that have ended
    /// are removed.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn create(prefix: &str) -> io::Result<Self> {
        Self::create_in(&env::temp_dir(), prefix)
    }

    fn create_in(above: &Path, prefix: &str) -> io::Result<Self> {
        remove_leftovers(above, prefix);
        for _ in 0..RETRIES {
            let folder = tempfile::Builder::new().prefix(prefix).rand_bytes(DIGITS).tempdir_in(above)?;
            let Ok(file) = open_unfollowed(folder.path(), false) else { continue };
            match try_lock(&file) {
                // Another process may come between: it holds the lock, or has removed the folder.
                Ok(is_locked) if !is_locked || !is_at(&file, folder.path()).unwrap_or(false) => {}
                Ok(_) => return Ok(Self { folder, _locked: Some(file) }),
                Err(_) => return Ok(Self { folder, _locked: None }),
            }
        }
        Err(io::Error::other("other processes remove every new folder".to_owned()))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of processes that have ended.
fn remove_leftovers(above: &Path, prefix: &str) {
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    let is_name = |name: &str| {
        let digits = name.strip_prefix(prefix);
        digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    };
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_name));
    for path in named.map(|entry| entry.path()) {
        // Locked until it is removed, so that a process that has just made it sees that it is lost.
        if let Some(_locked) = left_behind(&path, Metadata::is_dir, false) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::own_folder;

    #[test]
    fn folders_without_a_lock_are_leftovers_and_no_others() {
        let above = tempfile::tempdir().expect("there is room");
        let at = |name: &str| above.path().join(name);
        let others = ["serve-0123456789a", "serve-0123456789a_", "other-0123456789ab"];
        for name in others.into_iter().chain(["serve-0123456789ab"]) {
            fs::create_dir(at(name)).expect("there is room");
            fs::write(at(name).join("aged"), "bytes").expect("there is room");
        }
        fs::write(at("serve-0123456789ac"), "a file").expect("there is room");
        std::os::unix::fs::symlink(at(others[0]), at("serve-0123456789ad")).expect("there is room");
        let first = Scratch::create_in(above.path(), "serve-").expect("there is room");
        let second = Scratch::create_in(above.path(), "serve-").expect("there is room");
        assert!(first.path().exists() && second.path().exists(), "both processes live");
        assert!(!at("serve-0123456789ab").exists(), "its process has ended");
        assert!(others.iter().all(|name| at(name).join("aged").exists()));
        assert!(at("serve-0123456789ac").exists() && at("serve-0123456789ad").exists());
        let path = first.path().to_owned();
        fs::remove_dir_all(&path).expect("it is there");
        own_folder(&path).expect("there is room");
        drop(first);
        assert!(!path.exists(), "what was made anew is removed, too");
    }
}
