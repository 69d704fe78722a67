//! Cache of aged drives in a folder, so that a drive is aged once and not by every run.
//!
//! ```text
//! FOLDER/<key>.state      a drive, in the format of `run --save-state`
//! key                     SHA-256 of the program and of everything that ageing depends on
//! ```
//!
//! A drive is stored when it was aged to its steady state; one that is only filled is filled again as fast as a file is
//! read, and a small one is aged as fast. The key covers every byte of the program's executable, because ageing depends
//! on its code: another version never sees the drives of this one. Files are written under another name and renamed, so
//! that there is never a partial one. A failure of the folder costs time, never a run.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::aged::{AgedDrive, hash_of, unsaved_policy};
use super::provenance::program_sha256;
use crate::config::{Config, Precondition};

/// Default limit of the total size of a folder's files, in bytes: about 35 drives of 512 GiB.
pub const DEFAULT_LIMIT_BYTES: u64 = 8 << 30;

/// Number of physical pages above which ageing takes longer than reading a file.
const LEAST_PAGES: u64 = 1 << 18;

/// Message about a drive, for a user who waits for it.
#[derive(Debug)]
pub enum Notice<'a> {
    /// The drive is being aged, because the cache has none like it.
    Ageing {
        /// Number of its physical pages.
        pages: u64,
        /// True if it will be stored in the cache, as far as is known beforehand.
        is_kept: bool,
    },
    /// The drive was taken from this file.
    Taken(&'a Path),
    /// This file is unusable and will be replaced; with the reason.
    Unusable(&'a Path, String),
    /// The drive is not stored in this file or folder; with the reason. Reported once.
    NotKept(&'a Path, String),
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ageing { pages, is_kept } => {
                let next = if *is_kept { "; the next run of the same takes it" } else { "" };
                write!(f, "ageing a drive of {pages} pages{next}")
            }
            Self::Taken(path) => write!(f, "the drive was aged before: {}", path.display()),
            Self::Unusable(path, why) => write!(f, "{} is not used, and will be replaced: {why}", path.display()),
            Self::NotKept(path, why) => write!(f, "the aged drive is not kept in {}: {why}", path.display()),
        }
    }
}

/// A folder of aged drives.
pub struct Cache {
    folder: PathBuf,
    limit_bytes: u64,
    tell: Box<dyn Fn(&Notice<'_>) + Send + Sync>,
    /// Hash of the running program; `None` if it cannot be read, and then nothing is stored.
    program: OnceLock<Option<String>>,
    /// True once it has been reported that drives are not stored.
    has_told: AtomicBool,
}

impl Cache {
    /// A cache in a folder, which is created when the first drive is stored. The least recently used drives are removed
    /// if the files exceed the limit. Several threads may call `tell` at a time.
    pub fn new(folder: PathBuf, limit_bytes: u64, tell: impl Fn(&Notice<'_>) + Send + Sync + 'static) -> Self {
        Self { folder, limit_bytes, tell: Box::new(tell), program: OnceLock::new(), has_told: AtomicBool::new(false) }
    }

    /// Takes the hash of another file for that of the running program's: of a library that Flashloom is part of.
    #[must_use]
    pub fn of_program(self, sha256: String) -> Self {
        Self { program: OnceLock::from(Some(sha256)), ..self }
    }

    /// File of a configuration's drive; `None` for a drive that is aged as fast, or cannot be saved.
    pub fn place(&self, config: &Config, verify: bool) -> Option<PathBuf> {
        let is_worth_it = config.run.precondition == Precondition::Steady
            && config.device.geometry().total_pages() >= LEAST_PAGES
            && unsaved_policy(config).is_none();
        if !is_worth_it {
            return None;
        }
        let program = self.program.get_or_init(|| program_sha256().ok()).as_ref()?;
        let key = hash_of(program.as_bytes(), AgedDrive::origin_text(config, verify).as_bytes());
        Some(self.folder.join(format!("{key}.state")))
    }

    /// Loads the drive from a file, if it holds the drive of that configuration.
    pub(super) fn take(&self, path: &Path, config: &Config, verify: bool) -> Option<AgedDrive> {
        if !path.exists() {
            return None;
        }
        match AgedDrive::read(&path.to_string_lossy()) {
            Ok(drive) if drive.is_of(config, verify) => {
                (self.tell)(&Notice::Taken(path));
                touch(path);
                Some(drive.unnamed())
            }
            Ok(_) => {
                (self.tell)(&Notice::Unusable(path, "it holds another drive".to_owned()));
                None
            }
            Err(problem) => {
                (self.tell)(&Notice::Unusable(path, problem.refusal.found));
                None
            }
        }
    }

    /// Reports that a drive is being aged and, if it is already known, that it will not be stored.
    pub(super) fn tell_of_ageing(&self, config: &Config) {
        let usable = self.check_folder();
        let is_kept = usable.is_ok();
        if let Err(error) = usable {
            self.tell_of_loss(&self.folder, error.to_string());
        }
        (self.tell)(&Notice::Ageing { pages: config.device.geometry().total_pages(), is_kept });
    }

    /// Checks that a file can be written to the folder.
    fn check_folder(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let partial = self.folder.join(format!("{}-{}.partial", std::process::id(), next_number()));
        File::create(&partial)?;
        fs::remove_file(partial)
    }

    /// Reports once that a drive is not stored: the same holds for later drives, and no run is affected.
    fn tell_of_loss(&self, path: &Path, why: String) {
        if !self.has_told.swap(true, Ordering::Relaxed) {
            (self.tell)(&Notice::NotKept(path, why));
        }
    }

    /// Stores a drive, and removes the least recently used others if there are too many.
    pub(super) fn keep(&self, path: &Path, drive: &AgedDrive) {
        if let Err(why) = self.write(path, drive) {
            self.tell_of_loss(path, why);
        }
    }

    fn write(&self, path: &Path, drive: &AgedDrive) -> Result<(), String> {
        let file = drive.to_file()?;
        let bytes = file.len() as u64;
        if bytes > self.limit_bytes {
            return Err(format!("its {bytes} bytes are more than all may have, {}", self.limit_bytes));
        }
        fs::create_dir_all(&self.folder).map_err(|error| error.to_string())?;
        let partial = path.with_extension(format!("{}-{}.partial", std::process::id(), next_number()));
        let written = File::create(&partial).and_then(|mut to| to.write_all(&file));
        let placed = written.and_then(|()| fs::rename(&partial, path));
        placed.map_err(|error| {
            // Nothing is lost if it stays: it counts, and grows old.
            let _ = fs::remove_file(&partial);
            error.to_string()
        })?;
        self.evict(path).map_err(|error| error.to_string())
    }

    /// Removes the least recently used files until the others fit, the newly written one among them.
    fn evict(&self, kept: &Path) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let is_ours = path.extension().is_some_and(|extension| extension == "state" || extension == "partial");
            // One that another process has removed in the meantime is no file of ours any more.
            if let Some(metadata) = fs::metadata(&path).ok().filter(|metadata| is_ours && metadata.is_file()) {
                files.push((metadata.modified()?, path, metadata.len()));
            }
        }
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, path, freed) in files.iter().filter(|(_, path, _)| path != kept) {
            if bytes <= self.limit_bytes {
                break;
            }
            if fs::remove_file(path).is_ok() {
                bytes -= freed;
            }
        }
        Ok(())
    }
}

/// Marks a file as just used. If that fails it is removed earlier, which does no harm.
#[allow(clippy::disallowed_methods, reason = "only the order in which files are removed depends on it, no result")]
fn touch(path: &Path) {
    let now = std::time::SystemTime::now();
    let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(now));
}

/// A number that no other thread of the process gets.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
