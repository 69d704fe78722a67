//! The files of a cache: which of a folder's files are its own, how much they take, and which go first.
//!
//! ```text
//! FOLDER/<64 hexadecimal digits>.state            an aged drive
//! FOLDER/inputs/<64 hexadecimal digits>[.ENDING]  an input that the package for Python has downloaded
//! ```
//!
//! Every other name is somebody else's, and stays. So does an ordinary-looking file of another user, and an input on
//! which a process has a lock, because a run reads it. The folder is trusted as its owner is: a hash finds damage, not
//! forgery, so nobody else may be able to write to it.

use std::env;
use std::fs::{self, File, FileTimes, Metadata};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use flashloom_files as files;
use flashloom_units::{Problem, choice, parse_size};

/// Default limit of the total size of a folder's entries, in bytes: about 35 drives of 512 GiB.
pub const DEFAULT_LIMIT_BYTES: u64 = 8 << 30;

/// Environment variable with another limit, such as 20GiB.
pub const LIMIT_VARIABLE: &str = "FLASHLOOM_CACHE_LIMIT";

/// Folder of inputs within that of the cache.
const INPUTS: &str = "inputs";

/// Length of the hash in a name.
const DIGITS: usize = 64;

choice! {
    /// Kind of an entry, by its name in lists.
    pub enum EntryKind {
        /// A drive that was aged.
        Drive = "drive",
        /// A file that was downloaded.
        Input = "input",
    }
}

impl EntryKind {
    /// True for a file name that an entry of this kind has.
    fn owns(self, name: &str) -> bool {
        let Some((digits, ending)) = name.split_at_checked(DIGITS) else { return false };
        let is_hash = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        is_hash
            && match self {
                Self::Drive => ending == ".state",
                Self::Input => ending.is_empty() || ending.starts_with('.') && ending.bytes().all(is_plain),
            }
    }
}

/// A file of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Time at which it was last used or written.
    pub used: SystemTime,
    /// Path within the folder of the cache.
    pub file: PathBuf,
    /// What it holds.
    pub kind: EntryKind,
    /// Size in bytes.
    pub bytes: u64,
}

impl Entry {
    /// Time at which it was last used or written, in seconds since 1970.
    pub fn used_unix_s(&self) -> u64 {
        self.used.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}

/// What [`Store::clear`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Number of entries that were removed.
    pub entries: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// Number of entries that a process uses, which stay.
    pub in_use: usize,
    /// Number of partial files of processes that were killed, which were removed.
    pub leftovers: usize,
}

/// The folder of a cache.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    limit_bytes: u64,
}

impl Store {
    /// The cache in a folder, which need not exist, and the size that its entries may have together.
    pub fn new(folder: PathBuf, limit_bytes: u64) -> Self {
        Self { folder, limit_bytes }
    }

    /// The limit that the user's environment sets, or [`DEFAULT_LIMIT_BYTES`].
    ///
    /// # Errors
    /// The variable holds no size.
    pub fn limit_of_user() -> Result<u64, Problem> {
        let Some(text) = env::var_os(LIMIT_VARIABLE).filter(|text| !text.is_empty()) else {
            return Ok(DEFAULT_LIMIT_BYTES);
        };
        parse_size(&text.to_string_lossy()).map_err(|refusal| refusal.in_file(LIMIT_VARIABLE))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Size in bytes that the entries may have together.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Checks the folder, if it exists: nobody else may be able to write to it. Leftovers of killed processes are
    /// removed.
    ///
    /// # Errors
    /// The reason why the folder is not used.
    pub fn check(&self) -> io::Result<()> {
        match files::check_own(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            checked => checked?,
        }
        self.remove_leftovers();
        Ok(())
    }

    /// Creates the folder, and checks that a file can be written to it.
    ///
    /// # Errors
    /// It cannot.
    pub(super) fn check_writable(&self) -> io::Result<()> {
        files::own_folder(&self.folder)?;
        files::Partial::create(&self.folder, files::Access::Own).map(drop)
    }

    fn remove_leftovers(&self) -> usize {
        let inputs = self.folder.join(INPUTS);
        let is_own = !inputs.is_symlink() && files::check_own(&inputs).is_ok();
        files::remove_leftovers(&self.folder) + if is_own { files::remove_leftovers(&inputs) } else { 0 }
    }

    /// All entries, the least recently used first; none if there is no folder.
    ///
    /// # Errors
    /// The folder cannot be read, or others may write to it.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for (kind, within) in [(EntryKind::Drive, ""), (EntryKind::Input, INPUTS)] {
            let folder = self.folder.join(within);
            // The folder of the cache may be a link of the user's; what a link within it leads to is not the cache's.
            if kind == EntryKind::Input && folder.is_symlink() {
                continue;
            }
            match files::check_own(&folder) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                checked => checked?,
            }
            for found in fs::read_dir(&folder)? {
                let name = found?.file_name();
                if !name.to_str().is_some_and(|name| kind.owns(name)) {
                    continue;
                }
                // One that another process has removed in the meantime is no entry any more.
                let metadata = fs::symlink_metadata(folder.join(&name)).ok();
                if let Some(metadata) = metadata.filter(|metadata| metadata.is_file() && files::is_own(metadata)) {
                    let (used, bytes) = (used(&metadata), metadata.len());
                    entries.push(Entry { used, file: Path::new(within).join(name), kind, bytes });
                }
            }
        }
        entries.sort_by(|one, other| (one.used, &one.file).cmp(&(other.used, &other.file)));
        Ok(entries)
    }

    /// Removes the least recently used entries until the others fit; `kept` stays, and so does what is in use.
    ///
    /// # Errors
    /// The errors of [`Self::entries`].
    pub fn trim(&self, kept: Option<&Path>) -> io::Result<()> {
        let entries = self.entries()?;
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries {
            if bytes <= self.limit_bytes {
                break;
            }
            let path = self.folder.join(&entry.file);
            if kept != Some(&path) && files::remove_unless_locked(&path).unwrap_or(false) {
                bytes -= entry.bytes;
            }
        }
        Ok(())
    }

    /// Removes all entries that no process uses, and leftovers of killed processes.
    ///
    /// # Errors
    /// The errors of [`Self::entries`], or an entry that cannot be removed.
    pub fn clear(&self) -> io::Result<Cleared> {
        let mut cleared = Cleared::default();
        for entry in self.entries()? {
            if files::remove_unless_locked(&self.folder.join(&entry.file))? {
                cleared.entries += 1;
                cleared.bytes += entry.bytes;
            } else {
                cleared.in_use += 1;
            }
        }
        if files::check_own(&self.folder).is_ok() {
            cleared.leftovers = self.remove_leftovers();
        }
        Ok(cleared)
    }

    /// Writes an entry as a whole, and removes the least recently used others if there are too many. An error says in
    /// words why it is not written.
    pub(super) fn write(&self, path: &Path, content: &[u8]) -> Result<(), String> {
        let bytes = content.len() as u64;
        if bytes > self.limit_bytes {
            return Err(format!("its {bytes} bytes are more than all may have, {}", self.limit_bytes));
        }
        self.write_whole(path, content).map_err(|error| error.to_string())
    }

    fn write_whole(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        files::own_folder(&self.folder)?;
        let mut partial = files::Partial::create(&self.folder, files::Access::Own)?;
        partial.write_all(content)?;
        partial.place(path)?;
        self.trim(Some(path))
    }
}

/// Time of the last use. Where the system notes no accesses, [`touch`] does.
fn used(metadata: &Metadata) -> SystemTime {
    let known = [metadata.accessed(), metadata.modified()];
    known.into_iter().flatten().max().unwrap_or(UNIX_EPOCH)
}

/// Marks an open file as just used. If that fails it is removed earlier, which does no harm.
#[allow(clippy::disallowed_methods, reason = "only the order in which files are removed depends on it, no result")]
pub(super) fn touch(file: &File) {
    let _ = file.set_times(FileTimes::new().set_accessed(SystemTime::now()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_ours_only_as_a_whole() {
        let hash = "0123456789abcdef".repeat(4);
        for (kind, ending) in [(EntryKind::Drive, ".state"), (EntryKind::Input, ""), (EntryKind::Input, ".csv.gz")] {
            assert!(kind.owns(&format!("{hash}{ending}")), "{kind:?} {ending}");
        }
        let not_ours = ["vm.state", "my-vm.state", "notes", "\u{e9}"];
        assert!(not_ours.iter().all(|name| !EntryKind::Drive.owns(name) && !EntryKind::Input.owns(name)));
        for name in [format!("{hash}.state.old"), format!("{}.state", &hash[1..]), hash.to_uppercase() + ".state"] {
            assert!(!EntryKind::Drive.owns(&name), "{name}");
        }
        assert!(!EntryKind::Input.owns(&format!("{hash}-notes")) && !EntryKind::Input.owns(&format!("{hash}.a b")));
    }
}
