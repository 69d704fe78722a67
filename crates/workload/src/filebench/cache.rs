//! The page cache: the blocks in memory, their state (clean, dirty, held by the journal) and their owners.
//!
//! Clean pages are in one list in order of last use; the least recently used one is dropped first. Dirty pages are in a
//! list of their owner, an inode. Pages held by a journal transaction are in no list: they can neither be dropped nor
//! written back. Memory grows with the blocks that were ever touched (4 bytes each) and with the capacity, not with the
//! requests.

use flashloom_units::{Lists, NO_INDEX};

/// Owner number of the file system's metadata blocks.
pub const METADATA: u32 = 0;

const CHUNK: usize = 1_024;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Residence {
    /// As the device has it.
    Clean,
    /// `fresh`: the block was allocated to the file after the file's last write-back.
    Dirty { fresh: bool },
    /// In no list: held by a transaction, or about to be put into a list.
    Held,
}

struct Frame {
    block: u32,
    owner: u32,
    state: Residence,
    /// The latest journal transaction that held it.
    transaction: u32,
}

/// Index of the list of clean pages; owner N's dirty pages are in list N + 1.
const CLEAN: usize = 0;

/// Index of the list of an owner's dirty pages.
fn dirty(owner: u32) -> usize {
    CLEAN + 1 + owner as usize
}

/// The page cache.
pub struct Cache {
    frames: Vec<Frame>,
    spare: Vec<u32>,
    chunks: Vec<Option<Box<[u32; CHUNK]>>>,
    lists: Lists<u32>,
    dirty_pages: u32,
    capacity: usize,
}

impl Cache {
    /// An empty cache of `capacity` pages over a disk of `blocks`, for owners numbered below `owners`.
    pub fn new(capacity: u32, blocks: u32, owners: usize) -> Self {
        Self {
            frames: Vec::new(),
            spare: Vec::new(),
            chunks: (0..(blocks as usize).div_ceil(CHUNK)).map(|_| None).collect(),
            lists: Lists::new(0, 1 + owners as u32),
            dirty_pages: 0,
            capacity: capacity as usize,
        }
    }

    /// Number of dirty pages, without those held by a transaction.
    pub fn dirty_pages(&self) -> u32 {
        self.dirty_pages
    }

    /// True if an owner has dirty pages.
    pub fn is_dirty(&self, owner: u32) -> bool {
        !self.lists.is_empty(dirty(owner))
    }

    /// True if a block is in memory.
    #[cfg(test)]
    pub fn contains(&self, block: u32) -> bool {
        self.find(block) != NO_INDEX
    }

    /// Returns true if a block is in memory, and marks it most recently used.
    pub fn touch(&mut self, block: u32) -> bool {
        let frame = self.find(block);
        if frame == NO_INDEX {
            return false;
        }
        if self.frames[frame as usize].state == Residence::Clean {
            self.unlink(frame);
            self.link(frame, Residence::Clean);
        }
        true
    }

    /// Inserts a block that is being read as a clean page, if it is absent.
    pub fn insert(&mut self, block: u32, owner: u32) {
        if !self.touch(block) {
            let frame = self.frame(block, owner);
            self.link(frame, Residence::Clean);
        }
    }

    /// Marks a page dirty after a write to its file. `fresh`: the block was newly allocated to the file.
    pub fn write(&mut self, block: u32, owner: u32, fresh: bool) {
        let frame = self.frame(block, owner);
        let fresh = fresh || self.frames[frame as usize].state == (Residence::Dirty { fresh: true });
        self.unlink(frame);
        self.link(frame, Residence::Dirty { fresh });
    }

    /// Lets a transaction hold the block. Returns the transaction that held it last, or [`NO_INDEX`].
    pub fn hold(&mut self, block: u32, transaction: u32) -> u32 {
        let frame = self.frame(block, METADATA);
        self.unlink(frame);
        self.frames[frame as usize].state = Residence::Held;
        std::mem::replace(&mut self.frames[frame as usize].transaction, transaction)
    }

    /// Releases a block whose transaction has been committed: it becomes dirty unless a later transaction holds it.
    /// Returns true if it became dirty.
    pub fn let_go(&mut self, block: u32, transaction: u32) -> bool {
        let frame = self.find(block);
        let is_latest = self.frames[frame as usize].transaction == transaction;
        if is_latest {
            self.link(frame, Residence::Dirty { fresh: false });
        }
        is_latest
    }

    /// Collects all dirty pages of an owner, in order of block, each with its `fresh` mark, and marks them clean.
    pub fn clean(&mut self, owner: u32, out: &mut Vec<(u32, bool)>) {
        out.clear();
        while let Some(frame) = self.lists.front(dirty(owner)) {
            let Frame { block, state, .. } = self.frames[frame as usize];
            out.push((block, state == (Residence::Dirty { fresh: true })));
            self.unlink(frame);
            self.link(frame, Residence::Clean);
        }
        out.sort_unstable();
    }

    /// Drops a block of a deleted file, dirty or not.
    pub fn forget(&mut self, block: u32) {
        let frame = self.find(block);
        if frame != NO_INDEX {
            self.unlink(frame);
            self.set(block, NO_INDEX);
            self.spare.push(frame);
        }
    }

    fn find(&self, block: u32) -> u32 {
        let chunk = &self.chunks[block as usize / CHUNK];
        chunk.as_ref().map_or(NO_INDEX, |chunk| chunk[block as usize % CHUNK])
    }

    fn set(&mut self, block: u32, frame: u32) {
        let chunk = self.chunks[block as usize / CHUNK].get_or_insert_with(|| Box::new([NO_INDEX; CHUNK]));
        chunk[block as usize % CHUNK] = frame;
    }

    /// Returns the block's frame, or assigns one; a newly assigned frame is in no list.
    fn frame(&mut self, block: u32, owner: u32) -> u32 {
        let found = self.find(block);
        if found != NO_INDEX {
            return found;
        }
        let full = self.frames.len() - self.spare.len() >= self.capacity;
        // Where everything is dirty or held, the cache grows until what is dirty has been written back.
        if full && let Some(oldest) = self.lists.front(CLEAN) {
            self.forget(self.frames[oldest as usize].block);
        }
        let fresh = Frame { block, owner, state: Residence::Held, transaction: NO_INDEX };
        let frame = match self.spare.pop() {
            Some(frame) => {
                self.frames[frame as usize] = fresh;
                frame
            }
            None => {
                self.frames.push(fresh);
                self.lists.grow();
                self.frames.len() as u32 - 1
            }
        };
        self.set(block, frame);
        frame
    }

    /// Removes a frame from the list of its state.
    fn unlink(&mut self, frame: u32) {
        let state = std::mem::replace(&mut self.frames[frame as usize].state, Residence::Held);
        if state != Residence::Held {
            self.lists.remove(frame);
            self.dirty_pages -= u32::from(state != Residence::Clean);
        }
    }

    /// Appends a frame that is in no list to the clean list or to its owner's dirty list.
    fn link(&mut self, frame: u32, state: Residence) {
        debug_assert!(state != Residence::Held, "what is held is in no list");
        let Frame { owner, .. } = self.frames[frame as usize];
        let is_clean = state == Residence::Clean;
        self.lists.push_back(if is_clean { CLEAN } else { dirty(owner) }, frame);
        self.frames[frame as usize].state = state;
        self.dirty_pages += u32::from(!is_clean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clean_page_that_was_used_longest_ago_makes_room_and_dirty_ones_stay() {
        let mut cache = Cache::new(3, 4_096, 2);
        cache.write(10, 1, true);
        cache.insert(11, 1);
        cache.insert(12, 1);
        assert!(cache.touch(11));
        cache.insert(13, 1);
        let there: Vec<u32> = (10..14).filter(|&block| cache.contains(block)).collect();
        assert_eq!(there, [10, 11, 13]);
    }

    #[test]
    fn cleaning_gives_the_dirty_pages_by_block_and_a_rewrite_keeps_them_fresh() {
        let mut cache = Cache::new(8, 4_096, 2);
        cache.write(7, 1, true);
        cache.write(3, 1, false);
        cache.write(7, 1, false);
        let mut out = Vec::new();
        cache.clean(1, &mut out);
        assert_eq!(out, [(3, false), (7, true)]);
        assert_eq!((cache.dirty_pages(), cache.is_dirty(1)), (0, false));
    }

    #[test]
    fn a_held_block_is_not_written_back_until_its_last_transaction_is_in_the_log() {
        let mut cache = Cache::new(8, 4_096, 1);
        assert_eq!(cache.hold(5, 1), NO_INDEX);
        assert_eq!(cache.hold(5, 2), 1, "the later transaction takes it over");
        assert!(!cache.let_go(5, 1));
        assert!(!cache.is_dirty(METADATA));
        assert!(cache.let_go(5, 2));
        assert!(cache.is_dirty(METADATA));
        assert_eq!(cache.hold(5, 3), 2, "a dirty block that is changed again is held again");
        assert_eq!(cache.dirty_pages(), 0);
    }

    #[test]
    fn what_is_forgotten_is_neither_there_nor_dirty() {
        let mut cache = Cache::new(8, 4_096, 2);
        cache.write(9, 1, true);
        cache.forget(9);
        assert_eq!((cache.contains(9), cache.is_dirty(1), cache.dirty_pages()), (false, false, 0));
    }
}
