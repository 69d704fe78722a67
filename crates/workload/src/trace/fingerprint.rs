//! Hashes of files, computed while a file is read anyway, so that it is not read twice.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sha2::{Digest, Sha256};

/// Identity of a file's content, independent of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The name of the file, without its folder.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl Fingerprint {
    /// The fingerprint of content in memory; `path` names it.
    pub fn of(path: &str, content: &[u8]) -> Self {
        Self::finished(path, content.len() as u64, Sha256::new().chain_update(content))
    }

    fn finished(path: &str, bytes: u64, hash: Sha256) -> Self {
        let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        Self { name: name.into_owned(), bytes, sha256: format!("{:x}", hash.finalize()) }
    }
}

/// Fingerprints of files that were read to their ends, by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fingerprints(Arc<Mutex<BTreeMap<String, Fingerprint>>>);

impl Fingerprints {
    /// Passes the bytes of `file` through and hashes them. The hash is stored by [`Pending::store`].
    pub fn take<R: Read>(&self, path: &str, file: R) -> (impl Read + use<R>, Pending) {
        let finished = Arc::default();
        let pending = Pending { finished: Arc::clone(&finished), path: path.to_owned(), taken: self.clone() };
        (Hashed { file, hash: Sha256::new(), bytes: 0, path: path.to_owned(), finished }, pending)
    }

    /// Paths of the files whose fingerprints were taken.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().map(PathBuf::from).collect()
    }

    /// The fingerprints taken, in order of path.
    pub fn into_list(self) -> Vec<Fingerprint> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// The fingerprint of a file that is being read. It is stored when the parser has come to the end of the file, because
/// a thread that decompresses may be there long before a parser that gives up.
pub(crate) struct Pending {
    finished: Arc<OnceLock<Fingerprint>>,
    path: String,
    taken: Fingerprints,
}

impl Pending {
    /// Stores the fingerprint if the file has been read to its end.
    pub fn store(self) {
        if let Some(print) = self.finished.get() {
            let mut taken = self.taken.0.lock().unwrap_or_else(PoisonError::into_inner);
            taken.insert(self.path, print.clone());
        }
    }
}

struct Hashed<R> {
    file: R,
    hash: Sha256,
    bytes: u64,
    path: String,
    finished: Arc<OnceLock<Fingerprint>>,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        if read > 0 {
            self.hash.update(&buffer[..read]);
            self.bytes += read as u64;
        } else if !buffer.is_empty() {
            self.finished.get_or_init(|| Fingerprint::finished(&self.path, self.bytes, self.hash.clone()));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_read_in_parts_has_the_hash_of_the_whole() {
        let content = b"timestamp_ns,op,lba,sectors\n0,W,0,8\n".repeat(1_000);
        let prints = Fingerprints::default();
        let (mut file, pending) = prints.take("folder/a.csv", &content[..]);
        let mut part = [0; 777];
        while file.read(&mut part).expect("memory can be read") > 0 {}
        pending.store();
        let taken = prints.into_list();
        assert_eq!(taken, [Fingerprint::of("a.csv", &content)]);
        assert_eq!(Fingerprint::of("x", b"abc").sha256[..8], *"ba7816bf", "FIPS 180-2, example B.1");
    }

    #[test]
    fn a_file_that_is_left_in_the_middle_has_none() {
        let prints = Fingerprints::default();
        let (mut file, pending) = prints.take("a.csv", &b"abc"[..]);
        assert_eq!(file.read(&mut [0; 2]).expect("memory can be read"), 2);
        pending.store();
        assert_eq!(prints.into_list(), []);
    }
}
