//! Images: a drive with its data in a file.
//!
//! ```text
//! line 1   flashloom-image 2
//! line 2   {"drive_bytes": N, "page_bytes": N}, as JSON
//! then     the drive, N bytes: a saved drive (`flashloom run --save-state`) that has served requests
//! then     compressed by zstd: each logical page that has other data than zeros, by its number (4 bytes, ascending)
//!          and its data; 4 bytes of ones; the SHA-256 of all before, from line 2 on and not compressed. Numbers are
//!          little-endian
//! ```
//!
//! The drive is read by the build that saved it, as every saved drive is. The data says nothing of the drive that holds
//! it, so that every build can put it on another one ([`Pages`]).
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
use flashloom_device::Status;
use flashloom_files::{Access, Output, Partial, folder_of, is_at, open_input, try_lock, unlock};
use flashloom_nand::Lpn;
use flashloom_run::{AgedDrive, served_again};
use flashloom_units::{Problem, Refusal, SECTOR_BYTES};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::drive::{Command, LiveDrive};
use crate::frames::Memory;
use crate::session::SessionError;

/// First line of a file.
const MAGIC: &str = "flashloom-image 2";
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
/// Largest page of any drive in bytes, and most bytes that a saved drive takes, whatever drive that is.
const MOST_PAGE_BYTES: u32 = 16 << 10;
const MOST_DRIVE_BYTES: u64 = 64 << 30;
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
        self.opened(|file| Image::read(file, config, &self.path))
    }

    /// The data of the image that has the name, whatever drive and build it is of.
    ///
    /// # Errors
    /// There is no image yet, or the file holds none.
    pub fn pages(&self) -> Result<Pages, Problem> {
        let none = || Refusal::new("no image yet", EXPECTED).in_file(self.path.display().to_string());
        self.opened(Pages::read)?.ok_or_else(none)
    }

    fn opened<T>(&self, read: impl FnOnce(File) -> Result<T, Refusal>) -> Result<Option<T>, Problem> {
        if self.is_new {
            return Ok(None);
        }
        let file = self.file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
        let read = file.map_err(unread).and_then(read).map(Some);
        read.map_err(|refusal| refusal.in_file(self.path.display().to_string()))
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
    let (engine, contents) = drive.parts();
    let sectors = u64::from(engine.nand().geometry().sectors_per_page());
    let logical = (0..engine.capacity_sectors().div_ceil(sectors) as u32).map(Lpn);
    let places = logical.filter_map(|lpn| Some((lpn, engine.place_of(lpn)?)));
    let header = Header { drive_bytes: saved.len() as u64, page_bytes: config.device.geometry().page_bytes };
    let header = serde_json::to_string(&header).expect("numbers are JSON");
    let cannot = |error: io::Error| error.to_string();
    let head = [MAGIC.as_bytes(), b"\n", header.as_bytes(), b"\n", saved];
    head.iter().try_for_each(|part| to.write_all(part)).map_err(cannot)?;
    let mut sha256 = Sha256::new().chain_update(&header).chain_update(saved);
    let mut pages = zstd::Encoder::new(to, 1).map_err(cannot)?;
    contents
        .each_page(places, |lpn, data| {
            let number = lpn.0.to_le_bytes();
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
    drive: AgedDrive,
    pages: Pages,
}

impl Image {
    fn read(file: File, config: &Config, path: &Path) -> Result<Self, Refusal> {
        let mut pages = Pages::begun(file)?;
        let (most, page_bytes) = (AgedDrive::most_bytes(config), config.device.geometry().page_bytes);
        let drive_bytes = pages.header.drive_bytes;
        if drive_bytes > most {
            return Err(damaged(&format!("line 2: a drive of {drive_bytes} bytes, where {most} are most")));
        }
        let mut drive = Vec::new();
        pages.take_drive(&mut drive)?;
        let name = path.display().to_string();
        let drive = AgedDrive::of_bytes(&drive, config, &name).map_err(|refusal| {
            let of_key = refusal.keys.iter().find(|key| *key != "run.state");
            let anew = "`--age-anew` puts its data on a newly aged drive";
            let help = of_key.map_or_else(|| anew.to_owned(), |key| format!("set {key} to that, or {anew}"));
            let expected = if of_key.is_none() { EXPECTED.to_owned() } else { refusal.expected };
            Refusal { help: Some(help).filter(|_| refusal.help.is_some()), expected, ..refusal }
        })?;
        if pages.header.page_bytes != page_bytes {
            return Err(damaged(&format!("line 2: pages of {} bytes, not {page_bytes}", pages.header.page_bytes)));
        }
        Ok(Self { name, drive, pages })
    }

    /// The drive, with its data.
    ///
    /// # Errors
    /// A policy that cannot be built, or a damaged image.
    pub fn load(self, experiment: &Experiment, memory: Memory) -> Result<LiveDrive, SessionError> {
        let Self { name, drive, pages } = self;
        let engine = served_again(experiment, &drive)?;
        drop(drive);
        let mut drive = LiveDrive::new(engine, memory).map_err(|misuse| misuse.to_string())?;
        let (engine, contents) = drive.parts();
        let end = engine.capacity_sectors().div_ceil(engine.nand().geometry().sectors_per_page().into());
        let held = |lpn: Lpn| if u64::from(lpn.0) < end { engine.place_of(lpn) } else { None };
        let read = pages.each(|lpn, data| {
            let place = held(lpn).ok_or_else(|| damaged(&format!("data of page {}, which flash lacks", lpn.0)))?;
            contents.set_page(place, data);
            Ok(())
        });
        read.map_err(|refusal| refusal.in_file(name))?;
        drive.check_data().map_err(|violation| violation.to_string())?;
        Ok(drive)
    }
}

/// The data of an image, which has not been read.
pub struct Pages {
    file: BufReader<File>,
    header: Header,
    /// Of what was read.
    sha256: Sha256,
}

impl Pages {
    fn read(file: File) -> Result<Self, Refusal> {
        let mut pages = Self::begun(file)?;
        if pages.header.drive_bytes > MOST_DRIVE_BYTES {
            return Err(damaged(&format!("line 2: a drive of {} bytes", pages.header.drive_bytes)));
        }
        pages.take_drive(&mut io::sink())?;
        Ok(pages)
    }

    /// An image whose lines were read.
    fn begun(file: File) -> Result<Self, Refusal> {
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
        if header.page_bytes > MOST_PAGE_BYTES || !header.page_bytes.is_power_of_two() || header.page_bytes < 512 {
            return Err(damaged(&format!("line 2: pages of {} bytes", header.page_bytes)));
        }
        Ok(Self { file, header, sha256: Sha256::new().chain_update(&text) })
    }

    /// Reads the drive that comes before the data.
    fn take_drive(&mut self, to: &mut impl Write) -> Result<(), Refusal> {
        let (mut left, most) = (self.header.drive_bytes, self.header.drive_bytes);
        while left > 0 {
            let found = self.file.fill_buf().map_err(unread)?;
            let found = &found[..found.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            if found.is_empty() {
                return Err(damaged(&format!("its drive ends after {} of {most} bytes", most - left)));
            }
            to.write_all(found).map_err(unread)?;
            self.sha256.update(found);
            let length = found.len();
            self.file.consume(length);
            left -= length as u64;
        }
        Ok(())
    }

    /// Puts the data on a drive of the experiment, on which nothing was written yet, and switches that off and on: it
    /// is then as one of an image, at the begin of a service.
    ///
    /// # Errors
    /// Data beyond the drive, a damaged image, or a drive that is worn out by it.
    pub fn put_on(self, drive: &mut LiveDrive, experiment: &Experiment, path: &Path) -> Result<(), SessionError> {
        let sectors = u64::from(self.header.page_bytes) / SECTOR_BYTES;
        let capacity = drive.capacity_sectors();
        let written = self.each(|lpn, data| {
            let lba = u64::from(lpn.0) * sectors;
            let (data, beyond) = data.split_at((capacity.saturating_sub(lba).min(sectors) * SECTOR_BYTES) as usize);
            if let Some(at) = beyond.iter().position(|&byte| byte != 0) {
                let found = format!("data in byte {} of the drive", lba * SECTOR_BYTES + (data.len() + at) as u64);
                let expected = format!("data in the first {} bytes", capacity * SECTOR_BYTES);
                return Err(Refusal::new(found, expected).help("make the drive larger, as by device.blocks"));
            }
            done(drive.execute(Command::Write { lba, data, fua: false }))
        });
        let flushed = written.and_then(|()| done(drive.execute(Command::Flush)));
        flushed.map_err(|refusal| refusal.in_file(path.display().to_string()))?;
        drive.come_to_rest()?;
        let saved = AgedDrive::switched_off(&experiment.variants[0].config, drive.parts().0)?;
        drive.switch_on(served_again(experiment, &saved)?).map_err(|misuse| misuse.to_string())?;
        drive.check_data().map_err(|violation| violation.to_string())?;
        Ok(())
    }

    /// Reads each page, and checks at the end that they are those that were written.
    fn each(self, mut take: impl FnMut(Lpn, &[u8]) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let Self { mut file, header, mut sha256 } = self;
        let mut pages = zstd::Decoder::with_buffer(&mut file).map_err(unread)?.single_frame();
        pages.window_log_max(WINDOW_LOG).map_err(unread)?;
        let mut data = vec![0; header.page_bytes as usize];
        let (mut next, mut number) = (0, [0; 4]);
        loop {
            let place = |error: io::Error| match next {
                0 => damaged(&format!("before its first page: {error}")),
                _ => damaged(&format!("after page {}: {error}", next - 1)),
            };
            pages.read_exact(&mut number).map_err(place)?;
            sha256.update(number);
            let lpn = match u32::from_le_bytes(number) {
                END => break,
                lpn => Lpn(lpn),
            };
            if lpn.0 < next {
                return Err(damaged(&format!("data of page {}, which is out of order", lpn.0)));
            }
            pages.read_exact(&mut data).map_err(place)?;
            sha256.update(&data);
            // So that nobody reads more than a drive holds, however well it is compressed.
            if data.iter().all(|&byte| byte == 0) {
                return Err(damaged(&format!("page {} of zeros, which have no place in it", lpn.0)));
            }
            take(lpn, &data)?;
            next = lpn.0 + 1;
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
}

/// Refuses a drive that does not do what it has to for the data of an image.
fn done(status: Result<Status, String>) -> Result<(), Refusal> {
    match status {
        Ok(Status::Done(_)) => Ok(()),
        Ok(Status::Failed(_)) => Err(Refusal::new("a drive that is worn out by the data", "one that lives longer")),
        Err(reason) => Err(Refusal::new(reason, "a drive that takes the data")),
    }
}

fn unread(error: io::Error) -> Refusal {
    Refusal::new(format!("the file cannot be read: {error}"), EXPECTED)
}

fn damaged(what: &str) -> Refusal {
    Refusal::new(format!("the image is damaged: {what}"), EXPECTED)
}
