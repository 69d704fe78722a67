//! Cache of aged drives in a folder, so that a drive is aged once and not by every run.
//!
//! ```text
//! FOLDER/<key>.state      a drive, in the format of `run --save-state`
//! key                     SHA-256 of the program and of everything that ageing depends on
//! ```
//!
//! A drive is stored when it was aged to its steady state, or filled page by page; one that is filled in closed form is
//! filled again as fast as a file is read, and a small one is aged as fast. The key covers every byte of the program's
//! executable, because ageing depends on its code: another version never sees the drives of this one.
//!
//! The folder is the user's own, and its files are written whole ([`Store`]). A failure of the folder costs time, never
//! a run: one that others may write to is not used, and an entry that cannot be loaded is removed and made anew.

mod store;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use flashloom_files::open_own;
use flashloom_ftl::PAGE_MAPPING;
use flashloom_units::{Value, visible_path};

use super::aged::{AgedDrive, hash_of, unsaved_policy};
use super::provenance::program_sha256;
use flashloom_config::{Config, Precondition};

pub use store::{Cleared, DEFAULT_LIMIT_BYTES, Entry, EntryKind, LIMIT_VARIABLE, Store};

/// Number of physical pages above which ageing takes longer than reading a file.
const LEAST_PAGES: u64 = 1 << 18;

/// Number of physical pages above which ageing takes longer than most users wait, and of a drive that is aged in
/// seconds.
const SLOW_PAGES: u64 = 1 << 24;
const QUICK_PAGES: u64 = 1 << 22;
/// Fewest blocks a plane of a quick drive.
const QUICK_BLOCKS: u32 = 64;

/// Blocks a plane with which a drive of that many pages is aged in seconds, with the effective over-provisioning that
/// it should have; `None` if it is anyway, or without such a drive.
fn quick(config: &Config, pages: u64) -> Option<(u32, f64)> {
    if pages < SLOW_PAGES || !config.mapping_offers(PAGE_MAPPING) {
        return None;
    }
    let nand = &config.device.nand;
    let blocks = (u64::from(nand.blocks) * QUICK_PAGES / pages).max(QUICK_BLOCKS.into()) as u32;
    let effective = ("device.over_provisioning_counts", Value::Name("effective"));
    let quick = config.with(&[("device.blocks", Value::Count(blocks.into())), effective]);
    // What is not partitioned stays so on the smaller drive, and is spare space on top.
    let partitioned = config.with(&[("device.unpartitioned", Value::Ratio(0.0))])?;
    quick.filter(|_| blocks < nand.blocks).and_then(|_| Some((blocks, partitioned.effective_over_provisioning()?)))
}

/// Message about a drive, for a user who waits for it.
#[derive(Debug)]
pub enum Notice<'a> {
    /// The drive is being aged, because the cache has none like it.
    Ageing {
        /// Number of its physical pages.
        pages: u64,
        /// True if it will be stored in the cache, as far as is known beforehand.
        is_kept: bool,
        /// Blocks a plane of a drive that is aged in seconds, and the effective over-provisioning of this one, if it
        /// takes much longer.
        quick: Option<(u32, f64)>,
    },
    /// The drive was taken from this file.
    Taken(&'a Path),
    /// This file is unusable and will be replaced; with the reason.
    Unusable(&'a Path, String),
    /// No drive is taken from this folder, nor stored there; with the reason. Reported once.
    NotUsed(&'a Path, String),
    /// The drive is not stored in this file or folder; with the reason. Reported once.
    NotKept(&'a Path, String),
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ageing { pages, is_kept, quick } => {
                let next = if *is_kept { "; the next run of the same takes it" } else { "" };
                write!(f, "ageing a drive of {pages} pages{next}")?;
                quick.map_or(Ok(()), |(blocks, spare)| {
                    write!(
                        f,
                        "\n      a quick answer: `--set device.blocks={blocks}` `--set \
                         device.over_provisioning_counts=effective` `--set device.over_provisioning={spare:.4}` leaves \
                         collection the same share of spare space, so that write amplification and drive writes a day \
                         are close to those of the whole drive; bytes of a lifetime are those of the smaller one"
                    )
                })
            }
            Self::Taken(path) => write!(f, "the drive was aged before: {}", visible_path(path)),
            Self::Unusable(path, why) => write!(f, "{} is not used, and will be replaced: {why}", visible_path(path)),
            Self::NotUsed(path, why) => write!(f, "the cache of aged drives {} is not used: {why}", visible_path(path)),
            Self::NotKept(path, why) => write!(f, "the aged drive is not kept in {}: {why}", visible_path(path)),
        }
    }
}

/// A folder of aged drives.
pub struct Cache {
    store: Store,
    tell: Box<dyn Fn(&Notice<'_>) + Send + Sync>,
    /// Hash of the running program; `None` if it cannot be read, and then nothing is stored.
    program: OnceLock<Option<String>>,
    /// True if the folder, as it was found, may be used.
    is_usable: OnceLock<bool>,
    /// True once it has been reported that drives are not stored.
    has_told: AtomicBool,
}

impl Cache {
    /// A cache in a folder, which is created when the first drive is stored. The least recently used entries are
    /// removed if all together exceed the limit. Several threads may call `tell` at a time.
    pub fn new(folder: PathBuf, limit_bytes: u64, tell: impl Fn(&Notice<'_>) + Send + Sync + 'static) -> Self {
        Self {
            store: Store::new(folder, limit_bytes),
            tell: Box::new(tell),
            program: OnceLock::new(),
            is_usable: OnceLock::new(),
            has_told: AtomicBool::new(false),
        }
    }

    /// Takes the hash of another file for that of the running program's: of a library that Flashloom is part of.
    #[must_use]
    pub fn of_program(self, sha256: String) -> Self {
        Self { program: OnceLock::from(Some(sha256)), ..self }
    }

    /// File of a configuration's drive; `None` for a drive that is aged as fast, or cannot be saved.
    pub fn place(&self, config: &Config, verify: bool) -> Option<PathBuf> {
        let is_worth_it = config.run.precondition != Precondition::None
            && config.device.geometry().total_pages() >= LEAST_PAGES
            && unsaved_policy(config).is_none();
        if !is_worth_it {
            return None;
        }
        let program = self.program.get_or_init(|| program_sha256().ok()).as_ref()?;
        let key = hash_of(program.as_bytes(), AgedDrive::origin_text(config, verify).as_bytes());
        Some(self.store.folder().join(format!("{key}.state")))
    }

    /// True if the folder may be used. If not, that is reported once.
    fn is_usable(&self) -> bool {
        let told = |error: io::Error| (self.tell)(&Notice::NotUsed(self.store.folder(), error.to_string()));
        *self.is_usable.get_or_init(|| self.store.check().map_err(told).is_ok())
    }

    /// Reads the drive of a configuration from a file, if it holds that. A file that does not is removed.
    pub(super) fn take(&self, path: &Path, config: &Config, verify: bool) -> Option<AgedDrive> {
        if !self.is_usable() {
            return None;
        }
        let drive = match open_own(path) {
            Ok(file) => {
                store::touch(&file);
                AgedDrive::of_cache(file, config, verify)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => Err(error.to_string()),
        };
        drive.map_err(|why| self.refuse(path, why)).ok()
    }

    /// Reports that a drive was taken from a file, and loaded.
    pub(super) fn tell_of_use(&self, path: &Path) {
        (self.tell)(&Notice::Taken(path));
    }

    /// Reports that a file cannot be used, and removes it.
    pub(super) fn refuse(&self, path: &Path, why: String) {
        (self.tell)(&Notice::Unusable(path, why));
        // One that stays is replaced when the new drive is stored.
        let _ = fs::remove_file(path);
    }

    /// Reports that a drive is being aged and, if it is already known, that it will not be stored. Of one that is only
    /// filled nothing is known before.
    pub(super) fn tell_of_ageing(&self, config: &Config) {
        if config.run.precondition == Precondition::Fill {
            return;
        }
        let told = |error: io::Error| self.tell_of_loss(self.store.folder(), error.to_string());
        let is_kept = self.is_usable() && self.store.check_writable().map_err(told).is_ok();
        let pages = config.device.geometry().total_pages();
        (self.tell)(&Notice::Ageing { pages, is_kept, quick: quick(config, pages) });
    }

    /// Reports once that a drive is not stored: the same holds for later drives, and no run is affected.
    fn tell_of_loss(&self, path: &Path, why: String) {
        if !self.has_told.swap(true, Ordering::Relaxed) {
            (self.tell)(&Notice::NotKept(path, why));
        }
    }

    /// Stores a drive, and removes the least recently used entries if there are too many.
    pub(super) fn keep(&self, path: &Path, drive: &AgedDrive) {
        let kept = || self.store.write(path, &drive.to_file()?);
        if let Err(why) = if self.is_usable() { kept() } else { Ok(()) } {
            self.tell_of_loss(path, why);
        }
    }
}
