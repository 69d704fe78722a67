//! Aged drives that are kept in a folder, so that a drive is aged once and not by every run.
//!
//! ```text
//! FOLDER/<key>.state      a drive, in the format of `run --save-state`
//! key                     SHA-256 of the program and of everything that ageing depends on
//! ```
//!
//! A drive goes in when it was aged into its steady state; one that is only filled is filled again as fast as a file is
//! read, and a small one is aged as fast. The program counts with every byte of its executable, because what ageing
//! does is what its code does: another version never sees the drives of this one. Files are written under another name
//! and renamed, so that there is never a part of one. Whatever goes wrong with the folder costs time, never a run.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::aged::{AgedDrive, hash_of, unsaved_policy};
use super::provenance::program_sha256;
use crate::config::{Config, Precondition};

/// Bytes that the files of a folder may have together, unless the caller says otherwise: about 35 drives of 512 GiB.
pub const DEFAULT_LIMIT_BYTES: u64 = 8 << 30;

/// Physical pages from which on ageing takes longer than reading a file.
const LEAST_PAGES: u64 = 1 << 18;

/// What is said of a drive, to whoever waits for it.
#[derive(Debug)]
pub enum Notice<'a> {
    /// It is being aged now, because the folder has none like it.
    Ageing {
        /// Its physical pages.
        pages: u64,
        /// Whether it will be kept, as far as is known before.
        is_kept: bool,
    },
    /// It was taken from this file.
    Taken(&'a Path),
    /// This file is of no use, and will be replaced: why.
    Unusable(&'a Path, String),
    /// It is not kept in this file or folder: why. Said once.
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
    /// The hash of the running program; nothing where it cannot be read, and then nothing is kept.
    program: OnceLock<Option<String>>,
    /// Whether it was said that drives are not kept.
    has_told: AtomicBool,
}

impl Cache {
    /// The drives in a folder, which is made when the first is kept; with the oldest of them removed where they take
    /// more bytes than the limit. Several threads may call `tell` at a time.
    pub fn new(folder: PathBuf, limit_bytes: u64, tell: impl Fn(&Notice<'_>) + Send + Sync + 'static) -> Self {
        Self { folder, limit_bytes, tell: Box::new(tell), program: OnceLock::new(), has_told: AtomicBool::new(false) }
    }

    /// Where the drive of a configuration is kept; nothing for one that is aged as fast, or cannot be saved.
    pub(super) fn place(&self, config: &Config, verify: bool) -> Option<PathBuf> {
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

    /// The drive that a file holds, if there is one of that configuration.
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

    /// Says that a drive is being aged, and before, that it will not be kept, where that is plain already.
    pub(super) fn tell_of_ageing(&self, config: &Config) {
        let usable = self.check_folder();
        let is_kept = usable.is_ok();
        if let Err(error) = usable {
            self.tell_of_loss(&self.folder, error.to_string());
        }
        (self.tell)(&Notice::Ageing { pages: config.device.geometry().total_pages(), is_kept });
    }

    /// Whether a file can be written to the folder.
    fn check_folder(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let partial = self.folder.join(format!("{}-{}.partial", std::process::id(), next_number()));
        File::create(&partial)?;
        fs::remove_file(partial)
    }

    /// Says that a drive is not kept, the first time: the same holds for the next, and no run is worse for it.
    fn tell_of_loss(&self, path: &Path, why: String) {
        if !self.has_told.swap(true, Ordering::Relaxed) {
            (self.tell)(&Notice::NotKept(path, why));
        }
    }

    /// Keeps a drive, and removes the oldest others where there are too many.
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

    /// Removes the files that were used longest ago until the others fit, the one that was just written among them.
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

/// A file that was used counts as new. Where that cannot be noted it is removed earlier, and no harm is done.
#[allow(clippy::disallowed_methods, reason = "only the order in which files are removed depends on it, no result")]
fn touch(path: &Path) {
    let now = std::time::SystemTime::now();
    let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(now));
}

/// A number that no other thread of the process has.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
