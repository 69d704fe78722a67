//! The file layer: turns each call on a file into changes of inodes, directories, bitmaps and the page cache, and into
//! requests to the device.
//!
//! Every call changes the state at once and appends the requests that its thread has to wait for; the thread issues
//! them one after another. The caller models the passing of time.

use std::collections::VecDeque;

use flashloom_units::{Ns, Prng};

use super::cache::{Cache, METADATA};
use super::journal::Journal;
use super::layout::{Disk, Extent};
use super::personality::Figures;
use super::{BLOCK_BYTES, Io, gamma};
use crate::Request;

/// Blocks of the longest request: the pages of one Linux bio.
const LONGEST_BLOCKS: u32 = 256;
/// Bytes of a directory entry: a name of about thirty characters plus the slack of a hashed directory.
const ENTRY_BYTES: u32 = 64;

/// A file of the set, existing or not.
#[derive(Default)]
struct File {
    /// Size of the file once it is written whole.
    planned_bytes: u64,
    bytes: u64,
    blocks: u32,
    extents: Vec<Extent>,
    /// Written since it was last read, so that the next read updates the access time (relatime).
    unread: bool,
    /// The latest journal transaction that holds its inode.
    transaction: u32,
    /// Time at which it became dirty.
    dirtied_ns: Ns,
}

/// Error of a call that found no free block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The file system. File numbers below `files` are the file set, the one after them is the log file.
pub struct FileSystem {
    disk: Disk,
    cache: Cache,
    pub journal: Journal,
    files: Vec<File>,
    directories: Vec<Extent>,
    directory_width: u32,
    read_ahead: u32,
    /// Inodes with dirty pages, by the time at which they became dirty; some have been written back since.
    dirtied: VecDeque<(Ns, u32)>,
    pages: Vec<(u32, bool)>,
}

impl FileSystem {
    /// Creates the directories and the initially existing files, without requests: this happened before the run.
    pub fn new(disk: Disk, cache_pages: u32, read_ahead: u32, figures: &Figures, prng: &Prng) -> Result<Self, Full> {
        let directories = figures.files.div_ceil(figures.directory_width);
        let journal = Journal::new(disk.journal());
        let cache = Cache::new(cache_pages, disk.blocks(), figures.files as usize + 2);
        let mut fs = Self {
            disk,
            cache,
            journal,
            files: Vec::new(),
            directories: Vec::new(),
            directory_width: figures.directory_width,
            read_ahead,
            dirtied: VecDeque::new(),
            pages: Vec::new(),
        };
        let entries = figures.directory_width.min(figures.files);
        for directory in 0..directories {
            let inode = fs.directory_inode(directory, figures.files);
            let mut extents = Vec::new();
            let blocks = (u64::from(entries) * u64::from(ENTRY_BYTES)).div_ceil(BLOCK_BYTES) as u32;
            // One extent serves a look-up; what does not fit in the first is given back.
            if !fs.disk.allocate(inode, blocks, None, &mut extents) {
                return Err(Full);
            }
            extents.drain(1..).for_each(|extent| fs.disk.release(extent));
            fs.directories.push(extents[0]);
        }
        let mut sizes = prng.branch("file sizes");
        let existing = (f64::from(figures.files) * figures.preallocated).round() as u32;
        for file in 0..figures.files {
            let planned_bytes = (gamma::draw(figures.shape, figures.file_bytes as f64, &mut sizes) as u64).max(1);
            fs.files.push(File { planned_bytes, ..File::default() });
            if file < existing {
                fs.grow(file, planned_bytes)?;
            }
        }
        fs.files.push(File::default());
        fs.grow(figures.files, figures.log_bytes.unwrap_or(0))?;
        for file in &mut fs.files {
            file.unread = true;
        }
        Ok(fs)
    }

    /// Current size of a file, in bytes.
    pub fn bytes(&self, file: u32) -> u64 {
        self.files[file as usize].bytes
    }

    /// Size of a file once it is written whole, in bytes.
    pub fn planned_bytes(&self, file: u32) -> u64 {
        self.files[file as usize].planned_bytes
    }

    /// Number of pages waiting for write-back.
    pub fn dirty_pages(&self) -> u32 {
        self.cache.dirty_pages()
    }

    /// Looks a file up by name: reads its directory's block, then its inode.
    pub fn look_up(&mut self, file: u32, out: &mut VecDeque<Io>) {
        let directory = self.directory_block(file);
        self.read_metadata(directory, out);
        self.read_metadata(self.disk.inode_block(self.inode(file)), out);
    }

    /// Creates an empty file.
    pub fn create(&mut self, file: u32, out: &mut VecDeque<Io>) {
        self.look_up(file, out);
        self.change_name(file);
        self.files[file as usize].unread = true;
    }

    /// Deletes a file; its dirty pages are dropped unwritten.
    pub fn delete(&mut self, file: u32, out: &mut VecDeque<Io>) {
        self.look_up(file, out);
        self.change_name(file);
        let mut extents = std::mem::take(&mut self.files[file as usize].extents);
        for &extent in &extents {
            (extent.start..extent.end()).for_each(|block| self.cache.forget(block));
            self.disk.release(extent);
            self.hold_bitmaps(extent.start);
        }
        extents.clear();
        let emptied = &mut self.files[file as usize];
        (emptied.extents, emptied.bytes, emptied.blocks) = (extents, 0, 0);
    }

    /// Reads a byte range of a file. A read from the start of the file counts as sequential and reads ahead.
    pub fn read(&mut self, file: u32, offset: u64, bytes: u64, call_bytes: u64, out: &mut VecDeque<Io>) {
        let state = &mut self.files[file as usize];
        let end = (offset + bytes).min(state.bytes).div_ceil(BLOCK_BYTES) as u32;
        let mut page = (offset / BLOCK_BYTES) as u32;
        if std::mem::take(&mut state.unread) {
            self.change_inode(file, out);
        }
        let call = bytes.min(call_bytes).div_ceil(BLOCK_BYTES) as u32;
        let mut window = if offset == 0 { first_window(call, self.read_ahead) } else { end - page };
        while page < end {
            let block = self.block(file, page);
            if self.cache.touch(block) {
                page += 1;
                continue;
            }
            let stop = if offset == 0 { self.files[file as usize].blocks } else { end };
            let ahead = stop.min(page.saturating_add(window));
            self.read_pages(file, page, ahead, out);
            page = ahead;
            window = next_window(window, self.read_ahead);
        }
    }

    /// Writes a byte range of a file into the page cache. A page that is written in part is read first.
    pub fn write(&mut self, file: u32, offset: u64, bytes: u64, now: Ns, out: &mut VecDeque<Io>) -> Result<(), Full> {
        let end = offset + bytes;
        let (old_bytes, old_blocks) = (self.bytes(file), self.files[file as usize].blocks);
        for (at, page) in [(offset, offset / BLOCK_BYTES), (end, (end - 1) / BLOCK_BYTES)] {
            let in_part = !at.is_multiple_of(BLOCK_BYTES) && (at == offset || at < old_bytes);
            if in_part && page < u64::from(old_blocks) {
                self.read_pages(file, page as u32, page as u32 + 1, out);
            }
        }
        self.grow(file, end)?;
        let owner = file + 1;
        if !self.cache.is_dirty(owner) {
            self.files[file as usize].dirtied_ns = now;
            self.note_dirtied(now, owner);
        }
        for page in (offset / BLOCK_BYTES) as u32..end.div_ceil(BLOCK_BYTES) as u32 {
            let block = self.block(file, page);
            self.cache.write(block, owner, page >= old_blocks);
        }
        self.files[file as usize].unread = true;
        self.change_inode(file, out);
        Ok(())
    }

    /// Writes back every dirty page of a file, as requests that the thread waits for.
    pub fn write_durably(&mut self, file: u32, out: &mut VecDeque<Io>) {
        self.write_back(file + 1, Request::SYNC, out);
    }

    /// The journal transaction whose commit makes a file durable.
    pub fn transaction_of(&self, file: u32) -> u32 {
        self.files[file as usize].transaction
    }

    /// Adds the bitmap and extent metadata of a file's newly written blocks to the journal.
    pub fn written(&mut self, file: u32, block: u32) {
        self.hold_bitmaps(block);
        self.hold_inode(file);
    }

    /// Marks the blocks of a committed transaction dirty.
    pub fn committed(&mut self, transaction: u32, now: Ns) {
        let blocks = self.journal.take_committed();
        let was_dirty = self.cache.is_dirty(METADATA);
        for &block in &blocks {
            self.cache.let_go(block, transaction);
        }
        if !was_dirty && self.cache.is_dirty(METADATA) {
            self.note_dirtied(now, METADATA);
        }
        self.journal.give_back(blocks);
    }

    /// Writes back the inode that has been dirty longest, if it became dirty before `before`, and returns it.
    pub fn write_back_oldest(&mut self, before: Ns, out: &mut VecDeque<Io>) -> Option<u32> {
        while let Some(&(since, owner)) = self.dirtied.front() {
            let is_current = owner == METADATA || self.files[owner as usize - 1].dirtied_ns == since;
            if is_current && since > before && self.cache.is_dirty(owner) {
                return None;
            }
            self.dirtied.pop_front();
            if is_current && self.cache.is_dirty(owner) {
                self.write_back(owner, 0, out);
                return Some(owner);
            }
        }
        None
    }

    /// Checkpoint: writes back every logged block.
    pub fn write_back_metadata(&mut self, out: &mut VecDeque<Io>) {
        self.write_back(METADATA, Request::SYNC, out);
    }

    fn note_dirtied(&mut self, now: Ns, owner: u32) {
        // What was written back since it was noted does not pile up behind the oldest.
        while let Some(&(_, oldest)) = self.dirtied.front()
            && !self.cache.is_dirty(oldest)
        {
            self.dirtied.pop_front();
        }
        self.dirtied.push_back((now, owner));
    }

    fn write_back(&mut self, owner: u32, flags: u8, out: &mut VecDeque<Io>) {
        let mut pages = std::mem::take(&mut self.pages);
        self.cache.clean(owner, &mut pages);
        let first = out.len();
        for &(block, fresh) in &pages {
            match out.iter_mut().skip(first).last() {
                Some(io) if io.block + io.blocks == block && io.blocks < LONGEST_BLOCKS => {
                    io.blocks += 1;
                    io.allocated |= fresh;
                }
                _ => out.push_back(Io { allocated: fresh, ..Io::write(block, flags) }),
            }
        }
        self.pages = pages;
    }

    fn directory(&self, file: u32) -> u32 {
        (file / self.directory_width).min(self.directories.len() as u32 - 1)
    }

    /// Inode number of a file. In the spread layout a directory's inode comes before those of its files; in the packed
    /// layout all directories come after all files.
    fn inode(&self, file: u32) -> u32 {
        if self.disk.is_spread() { file + 1 + self.directory(file) } else { file }
    }

    /// Inode number of a directory, in a set of `files` files.
    fn directory_inode(&self, directory: u32, files: u32) -> u32 {
        if self.disk.is_spread() { directory * (self.directory_width + 1) } else { files + 1 + directory }
    }

    /// The directory block that holds a file's entry, chosen as if by a hash.
    fn directory_block(&self, file: u32) -> u32 {
        let extent = self.directories[self.directory(file) as usize];
        extent.start + (file.wrapping_mul(0x9e37_79b1) >> 8) % extent.blocks
    }

    fn block(&self, file: u32, page: u32) -> u32 {
        let mut before = 0;
        for extent in &self.files[file as usize].extents {
            if page < before + extent.blocks {
                return extent.start + page - before;
            }
            before += extent.blocks;
        }
        unreachable!("page {page} of file {file} has a block")
    }

    fn grow(&mut self, file: u32, bytes: u64) -> Result<(), Full> {
        let inode = self.inode(file);
        let Self { files, disk, .. } = self;
        let state = &mut files[file as usize];
        state.bytes = state.bytes.max(bytes);
        let blocks = u32::try_from(state.bytes.div_ceil(BLOCK_BYTES)).map_err(|_| Full)?;
        if blocks > state.blocks {
            let near = state.extents.last().map(|extent| extent.end());
            if !disk.allocate(inode, blocks - state.blocks, near, &mut state.extents) {
                return Err(Full);
            }
            state.blocks = blocks;
        }
        Ok(())
    }

    fn read_metadata(&mut self, block: u32, out: &mut VecDeque<Io>) {
        if !self.cache.touch(block) {
            self.cache.insert(block, METADATA);
            out.push_back(Io::read(block));
        }
    }

    /// Reads the pages of a range that are not in memory, one request per run of consecutive blocks.
    fn read_pages(&mut self, file: u32, from: u32, to: u32, out: &mut VecDeque<Io>) {
        let mut run: Option<Io> = None;
        for page in from..to {
            let block = self.block(file, page);
            if self.cache.touch(block) {
                continue;
            }
            self.cache.insert(block, file + 1);
            match &mut run {
                Some(io) if io.block + io.blocks == block && io.blocks < LONGEST_BLOCKS => io.blocks += 1,
                _ => out.extend(run.replace(Io::read(block))),
            }
        }
        out.extend(run);
    }

    fn hold(&mut self, block: u32) {
        let transaction = self.journal.running();
        if self.cache.hold(block, transaction) != transaction {
            self.journal.join(block);
        }
    }

    fn hold_inode(&mut self, file: u32) {
        self.hold(self.disk.inode_block(self.inode(file)));
        self.files[file as usize].transaction = self.journal.running();
    }

    fn change_inode(&mut self, file: u32, out: &mut VecDeque<Io>) {
        self.read_metadata(self.disk.inode_block(self.inode(file)), out);
        self.hold_inode(file);
    }

    /// Adds the metadata of a name's creation or deletion to the journal: directory block, inode, the directory's own
    /// inode, inode bitmap, group descriptor.
    fn change_name(&mut self, file: u32) {
        let directory_inode = self.directory_inode(self.directory(file), self.files.len() as u32 - 1);
        let bitmap = self.disk.inode_bitmap(self.inode(file));
        for block in
            [self.directory_block(file), self.disk.inode_block(directory_inode), bitmap, self.disk.descriptor(bitmap)]
        {
            self.hold(block);
        }
        self.hold_inode(file);
    }

    fn hold_bitmaps(&mut self, block: u32) {
        self.hold(self.disk.block_bitmap(block));
        self.hold(self.disk.descriptor(block));
    }
}

/// First read-ahead window of a sequential read, from the pages of a call (`get_init_ra_size`).
fn first_window(call: u32, most: u32) -> u32 {
    let pages = call.max(1).next_power_of_two();
    let window = if pages <= most / 32 {
        4 * pages
    } else if pages <= most / 4 {
        2 * pages
    } else {
        most
    };
    window.max(1)
}

/// Read-ahead window that follows `window` (`get_next_ra_size`).
fn next_window(window: u32, most: u32) -> u32 {
    if window < most / 16 {
        4 * window
    } else if window <= most / 2 {
        2 * window
    } else {
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::filebench::layout::Layout;
    use crate::filebench::personality::Personality;
    use flashloom_units::NO_INDEX;

    fn file_system() -> FileSystem {
        let figures = Figures { files: 10, file_bytes: 1 << 20, shape: 0.0, ..Personality::Fileserver.figures() };
        let disk = Disk::new(Disk::MIN_BLOCKS, Layout::Packed, 12);
        FileSystem::new(disk, 4_096, 32, &figures, &Prng::new(1)).expect("it has room")
    }

    fn shape(out: &mut VecDeque<Io>) -> Vec<(Op, u32, bool)> {
        out.drain(..).map(|io| (io.op, io.blocks, io.allocated)).collect()
    }

    #[test]
    fn read_ahead_doubles_up_to_its_window() {
        assert_eq!((first_window(1, 32), first_window(4, 32), first_window(256, 32)), (4, 8, 32));
        let windows: Vec<u32> =
            std::iter::successors(Some(4), |&window| Some(next_window(window, 32))).take(5).collect();
        assert_eq!(windows, [4, 8, 16, 32, 32]);
    }

    #[test]
    fn a_whole_file_is_read_in_windows_and_then_from_memory() {
        let (mut fs, mut out) = (file_system(), VecDeque::new());
        fs.look_up(0, &mut out);
        assert_eq!(shape(&mut out), [(Op::Read, 1, false); 2], "the directory and the inode");
        fs.read(0, 0, 1 << 20, 16 << 10, &mut out);
        let windows: Vec<u32> = shape(&mut out).iter().map(|&(_, blocks, _)| blocks).collect();
        assert_eq!(windows, [8, 16, 32, 32, 32, 32, 32, 32, 32, 8]);
        fs.read(0, 0, 1 << 20, 16 << 10, &mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn an_append_to_a_cold_file_reads_its_last_page_if_that_is_not_full() {
        let (mut fs, mut out) = (file_system(), VecDeque::new());
        fs.look_up(0, &mut out);
        out.clear();
        fs.write(0, 1 << 20, 100, 0, &mut out).expect("there is room");
        assert!(out.is_empty(), "the last page was full");
        fs.write_durably(0, &mut out);
        assert_eq!(shape(&mut out), [(Op::Write, 1, true)], "one new page");
        fs.cache.forget(fs.block(0, 256));
        fs.write(0, (1 << 20) + 100, 8_000, 0, &mut out).expect("there is room");
        assert_eq!(shape(&mut out), [(Op::Read, 1, false)]);
        fs.write_durably(0, &mut out);
        assert_eq!(shape(&mut out), [(Op::Write, 2, true)], "the page that was read and a new one");
    }

    #[test]
    fn dirty_data_is_written_back_oldest_first_when_it_has_expired_and_never_after_a_deletion() {
        let (mut fs, mut out) = (file_system(), VecDeque::new());
        for (file, now) in [(3, 10), (1, 20), (2, 30)] {
            fs.write(file, 0, 8_192, now, &mut out).expect("there is room");
        }
        fs.delete(1, &mut out);
        out.clear();
        assert_eq!(fs.write_back_oldest(9, &mut out), None);
        assert_eq!(fs.write_back_oldest(25, &mut out), Some(4), "owner 4 is file 3");
        assert_eq!(shape(&mut out), [(Op::Write, 2, false)]);
        assert_eq!(fs.write_back_oldest(25, &mut out), None, "file 1 is gone and file 2 is too young");
        assert_eq!(fs.write_back_oldest(30, &mut out), Some(3));
    }

    #[test]
    fn a_block_joins_a_transaction_once_and_is_dirty_when_that_is_committed() {
        let (mut fs, mut out) = (file_system(), VecDeque::new());
        fs.create(9, &mut out);
        fs.create(8, &mut out);
        fs.journal.want(1);
        let logged = std::iter::from_fn(|| fs.journal.next(true)).count();
        assert_eq!(logged, 1 + 4, "a descriptor; directory, inodes of files and directory together, bitmap, group");
        assert_eq!(fs.transaction_of(9), 1);
        assert!(!fs.cache.is_dirty(METADATA));
        fs.committed(1, 5);
        assert!(fs.cache.is_dirty(METADATA));
        let held = fs.cache.hold(fs.disk.inode_block(9), 2);
        assert!(held == 1 && held != NO_INDEX);
    }
}
