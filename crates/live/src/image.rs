//! Images: a drive with its data in a file.
//!
//! ```text
//! line 1   flashloom-image 1
//! line 2   {"drive_bytes": N, "page_bytes": N}, as JSON
//! then     the drive, N bytes: a saved drive (`flashloom run --save-state`) that has served requests
//! then     compressed by zstd: each physical page that has other data than zeros, by its number (4 bytes, ascending)
//!          and its data; 4 bytes of ones; the SHA-256 of all before, from line 2 on and not compressed. Numbers are
//!          little-endian
//! ```
//!
//! The name of an image belongs to one server from the first moment ([`Claim`]): the file that has it is locked, and if
//! there is none, a file of the format 0 is put there, which says that nothing is kept yet. A server that is killed
//! leaves that behind, and the next one takes it.
//!
//! A file may come from anybody. It is read once, from its beginning to its end, into the memory of a drive of this
//! experiment, and no further: the lines and the drive have bounds, and the data of pages goes where the data of a
//! drive goes. Nothing that is read is served before the hash at the end was found to be right.

use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flashloom_config::{Config, Experiment};
use flashloom_files::{Access, Output, Partial, folder_of, is_at, open_input, try_lock, unlock};
use flashloom_nand::Ppn;
use flashloom_run::{AgedDrive, served_again};
use flashloom_units::{Problem, Refusal};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::drive::LiveDrive;
use crate::frames::Memory;
use crate::session::SessionError;

/// First line of a file.
const MAGIC: &str = "flashloom-image 1";
/// What keeps the name of an image that has not been written yet.
const CLAIM: &[u8] =
    b"flashloom-image 0\nA server has this name. Nothing is kept before its first service has ended.\n";
/// Number of times that other processes may replace an image before it is locked.
const RETRIES: u32 = 10;
/// Most bytes of a line.
const LINE_BYTES: u64 = 4096;
/// In place of the number of a page, behind the last one.
const END: u32 = u32::MAX;
/// Largest window of the compressed pages, as the binary logarithm of its bytes: what every decoder has to have.
const WINDOW_LOG: u32 = 23;
/// What a file has to be.
const EXPECTED: &str = "an image that `flashloom serve --image` wrote";

/// The second line.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    drive_bytes: u64,
    page_bytes: u32,
}

/// The name of an image, which is this server's alone while it is locked.
pub struct Claim {
    path: PathBuf,
    /// The locked file, its length, and the time of its last change.
    file: File,
    state: Option<(u64, SystemTime)>,
    /// Whether the file is a placeholder for an image to come. A placeholder is removed with the claim.
    is_new: bool,
    /// The image to come: at the end a process may have no room for another open file.
    output: Option<Output>,
}

impl Claim {
    /// Takes the name of an image, which may be there or not.
    ///
    /// # Errors
    /// Another server has it, it does not name a file, or no image can be written there.
    pub fn take(path: &Path) -> Result<Self, Problem> {
        let of_file = |found: String, expected: &str| Refusal::new(found, expected).in_file(path.display().to_string());
        let refused =
            |error: io::Error| of_file(format!("the file cannot be written: {error}"), "a place for an image");
        for _ in 0..RETRIES {
            // That no image can be written is said before anything is served.
            let Some(file) = Self::open(path).map_err(|refusal| refusal.in_file(path.display().to_string()))? else {
                let output = Self::output(path)?;
                let mut partial = Partial::create(folder_of(path), Access::Usual).map_err(refused)?;
                partial.write_all(CLAIM).map_err(refused)?;
                match partial.place_new([path.to_owned()]) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                    placed => return Ok(Self::of(path, placed.map_err(refused)?.0, true, output)),
                }
            };
            let output = Self::output(path)?;
            let mut begin = Vec::new();
            let is_read = (&file).take(CLAIM.len() as u64 + 1).read_to_end(&mut begin).is_ok();
            let is_new = is_read && begin == CLAIM;
            return Ok(Self::of(path, file, is_new, output));
        }
        Err(of_file("a file that others replace all the time".to_owned(), "the name of an image"))
    }

    fn of(path: &Path, file: File, is_new: bool, output: Output) -> Self {
        Self { path: path.to_owned(), state: state(&file), file, is_new, output: Some(output) }
    }

    fn output(path: &Path) -> Result<Output, Problem> {
        let named = |found: String| Problem::file(path.display().to_string(), found, "a place for an image");
        Output::file(path).map_err(|no_output| named(no_output.to_string()))
    }

    /// Whether another file has come in its place. A name that was removed is still this server's.
    fn is_replaced(&self) -> bool {
        let is_same = is_at(&self.file, &self.path).unwrap_or(false) && state(&self.file) == self.state;
        !is_same && fs::symlink_metadata(&self.path).is_ok()
    }

    /// The file that has the name, locked; `None` if there is none.
    fn open(path: &Path) -> Result<Option<File>, Refusal> {
        let found = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(unread)?,
        };
        if found.is_symlink() {
            return Err(Refusal::new("a link, which would be replaced by a file at the end", "the name of the file"));
        }
        let file = open_input(path).map_err(|no_input| Refusal::new(no_input.to_string(), EXPECTED))?;
        match try_lock(&file) {
            Ok(false) => Err(Refusal::new("an image that another server has", "one that no server has")),
            // The server that had it has put another file there by now.
            Ok(true) if !is_at(&file, path).unwrap_or(false) => Ok(None),
            _ => Ok(Some(file)),
        }
    }

    /// The image that has the name; `None` if there is none yet.
    ///
    /// # Errors
    /// The file holds no image, or that of another drive.
    pub fn image(&self, config: &Config) -> Result<Option<Image>, Problem> {
        let of_file = |refusal: Refusal| refusal.in_file(self.path.display().to_string());
        if self.is_new {
            return Ok(None);
        }
        let file = self.file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
        let file = file.map_err(|error| of_file(unread(error)))?;
        Image::read(file, config, &self.path).map(Some).map_err(of_file)
    }

    /// Lets another process have the name from now on.
    pub fn release(&mut self) {
        self.output = None;
        let _ = unlock(&self.file);
    }

    /// Writes a drive at rest, which is switched off by that, in place of what has the name. Where that is not
    /// possible, it is written to another file: the data cannot be computed again.
    ///
    /// # Errors
    /// The obstacle, in words, and where the drive is.
    pub(crate) fn keep(mut self, drive: &mut LiveDrive, config: &Config) -> Result<(), String> {
        let name = self.path.display().to_string();
        let saved = saved(drive, config).map_err(|reason| format!("the image {name} cannot be written: {reason}"))?;
        let reason = match self.is_replaced() {
            true => "something else has come in its place".to_owned(),
            false => {
                let output = self.output.take().map_or_else(|| Output::file(&self.path), Ok);
                let written = output.map_err(|no_output| no_output.to_string()).and_then(|mut output| {
                    write(drive, config, &saved, &mut output)?;
                    output.commit_durably().map_err(|error| error.to_string())
                });
                match written {
                    Ok(()) => return Ok(()),
                    Err(reason) => reason,
                }
            }
        };
        // A name too long to take a number is not used.
        let file_name = self.path.file_name().map(|name| name.to_string_lossy()).filter(|name| name.len() < 250);
        let file_name = file_name.unwrap_or("flashloom-image".into());
        let other = [folder_of(&self.path).to_owned(), env::temp_dir()].into_iter().find_map(|folder| {
            let mut partial = Partial::create(&folder, Access::Own).ok()?;
            write(drive, config, &saved, &mut partial).ok()?;
            let paths = (1..1_000).map(|number| folder.join(format!("{file_name}.{number}")));
            partial.place_new(paths).ok().map(|(_, path)| path)
        });
        let kept = other.map_or("the drive is lost".to_owned(), |other| format!("the drive is in {}", other.display()));
        Err(format!("the image {name} cannot be written: {reason}; {kept}"))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Another server may have the name by now.
        let is_free = self.is_new && !matches!(try_lock(&self.file), Ok(false));
        if is_free && !self.is_replaced() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Length of a file, and when it was written to.
fn state(file: &File) -> Option<(u64, SystemTime)> {
    let metadata = file.metadata().ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

/// A drive at rest, switched off, as it is in an image.
fn saved(drive: &mut LiveDrive, config: &Config) -> Result<Vec<u8>, String> {
    AgedDrive::switched_off(config, drive.parts().0)?.to_file()
}

/// Writes the image of a drive that was switched off.
fn write(drive: &mut LiveDrive, config: &Config, saved: &[u8], to: &mut impl Write) -> Result<(), String> {
    let (_, contents) = drive.parts();
    let header = Header { drive_bytes: saved.len() as u64, page_bytes: config.device.geometry().page_bytes };
    let header = serde_json::to_string(&header).expect("numbers are JSON");
    let cannot = |error: io::Error| error.to_string();
    let head = [MAGIC.as_bytes(), b"\n", header.as_bytes(), b"\n", saved];
    head.iter().try_for_each(|part| to.write_all(part)).map_err(cannot)?;
    let mut sha256 = Sha256::new().chain_update(&header).chain_update(saved);
    let mut pages = zstd::Encoder::new(to, 1).map_err(cannot)?;
    contents
        .each_page(|ppn, data| {
            let number = ppn.0.to_le_bytes();
            sha256.update(number);
            sha256.update(data);
            pages.write_all(&number).and_then(|()| pages.write_all(data))
        })
        .map_err(cannot)?;
    // What could not be read again for it is not there.
    drive.check_data().map_err(|violation| violation.to_string())?;
    sha256.update(END.to_le_bytes());
    let end = [&END.to_le_bytes()[..], &sha256.finalize()].concat();
    pages.write_all(&end).and_then(|()| pages.finish().map(drop)).map_err(cannot)
}

/// An image whose drive is known to be that of an experiment; its pages have not been read.
pub struct Image {
    name: String,
    file: BufReader<File>,
    drive: AgedDrive,
    header: Header,
    sha256: Sha256,
}

impl Image {
    fn read(file: File, config: &Config, path: &Path) -> Result<Self, Refusal> {
        let mut file = BufReader::new(file);
        let mut line = || {
            let mut line = Vec::new();
            (&mut file).take(LINE_BYTES).read_until(b'\n', &mut line).map_err(unread)?;
            line.pop_if(|byte| *byte == b'\n').map(|_| line).ok_or_else(|| Refusal::new("no image", EXPECTED))
        };
        let magic = line()?;
        if magic != MAGIC.as_bytes() {
            let version = magic.strip_prefix(b"flashloom-image ").filter(|version| version.len() < 20);
            let of_format = |version: &[u8]| format!("an image of format {}", version.escape_ascii());
            let found = version.map_or("no image".to_owned(), of_format);
            return Err(Refusal::new(found, format!("{EXPECTED}, which begins with `{MAGIC}`")));
        }
        let text = line()?;
        let header: Header = serde_json::from_slice(&text).map_err(|error| damaged(&format!("line 2: {error}")))?;
        let (most, page_bytes) = (AgedDrive::most_bytes(config), config.device.geometry().page_bytes);
        if header.drive_bytes > most {
            return Err(damaged(&format!("line 2: a drive of {} bytes, where {most} are most", header.drive_bytes)));
        }
        let mut drive = Vec::new();
        (&mut file).take(header.drive_bytes).read_to_end(&mut drive).map_err(unread)?;
        if drive.len() as u64 != header.drive_bytes {
            return Err(damaged(&format!("its drive ends after {} of {} bytes", drive.len(), header.drive_bytes)));
        }
        let sha256 = Sha256::new().chain_update(&text).chain_update(&drive);
        let drive = AgedDrive::of_bytes(&drive, config, &path.display().to_string()).map_err(|refusal| {
            let help = refusal.keys.first().map(|key| format!("set {key} to that, or name another image"));
            let is_drive = refusal.keys.iter().all(|key| key == "run.state");
            let expected = if is_drive { EXPECTED.to_owned() } else { refusal.expected };
            Refusal { help: help.filter(|_| refusal.help.is_some()), expected, ..refusal }
        })?;
        if header.page_bytes != page_bytes {
            return Err(damaged(&format!("line 2: pages of {} bytes, not {page_bytes}", header.page_bytes)));
        }
        Ok(Self { name: path.display().to_string(), file, drive, header, sha256 })
    }

    /// The drive, with its data.
    ///
    /// # Errors
    /// A policy that cannot be built, or a damaged image.
    pub fn load(self, experiment: &Experiment, memory: Memory) -> Result<LiveDrive, SessionError> {
        let Self { name, mut file, drive, header, mut sha256 } = self;
        let engine = served_again(experiment, &drive)?;
        drop(drive);
        let mut drive = LiveDrive::new(engine, memory).map_err(|misuse| misuse.to_string())?;
        read_pages(&mut file, &mut drive, &header, &mut sha256).map_err(|refusal| refusal.in_file(name))?;
        drive.check_data().map_err(|violation| violation.to_string())?;
        Ok(drive)
    }
}

/// Reads the pages, and checks that they are those that were written.
fn read_pages(
    file: &mut BufReader<File>,
    drive: &mut LiveDrive,
    header: &Header,
    sha256: &mut Sha256,
) -> Result<(), Refusal> {
    let mut pages = zstd::Decoder::with_buffer(&mut *file).map_err(unread)?.single_frame();
    pages.window_log_max(WINDOW_LOG).map_err(unread)?;
    let (engine, contents) = drive.parts();
    let (nand, mut data) = (engine.nand(), vec![0; header.page_bytes as usize]);
    let (mut next, mut number) = (0, [0; 4]);
    loop {
        let place = |error: io::Error| match next {
            0 => damaged(&format!("before its first page: {error}")),
            _ => damaged(&format!("after page {}: {error}", next - 1)),
        };
        pages.read_exact(&mut number).map_err(place)?;
        sha256.update(number);
        let ppn = match u32::from_le_bytes(number) {
            END => break,
            ppn => Ppn(ppn),
        };
        let geometry = nand.geometry();
        let is_there = ppn.0 >= next && u64::from(ppn.0) < geometry.total_pages();
        if !is_there || geometry.page_in_block(ppn) >= nand.written(geometry.block_of(ppn)) {
            return Err(damaged(&format!("data of page {}, which is out of order, or was never programmed", ppn.0)));
        }
        pages.read_exact(&mut data).map_err(place)?;
        sha256.update(&data);
        contents.set_page(ppn, &data);
        next = ppn.0 + 1;
    }
    let mut hash = Vec::new();
    pages.take(1 << 16).read_to_end(&mut hash).map_err(unread)?;
    if hash != sha256.finalize_reset().as_slice() {
        return Err(damaged("its hash is another"));
    }
    match file.fill_buf().map_err(unread)?.len() {
        0 => Ok(()),
        _ => Err(damaged("something comes after its end")),
    }
}

fn unread(error: io::Error) -> Refusal {
    Refusal::new(format!("the file cannot be read: {error}"), EXPECTED)
}

fn damaged(what: &str) -> Refusal {
    Refusal::new(format!("the image is damaged: {what}"), EXPECTED)
}
