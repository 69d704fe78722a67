//! The page cache: which blocks are in memory, which of them are dirty and whose they are.
//!
//! Clean pages are in one list by last use, the oldest of which makes room. Dirty pages are in a list of their owner,
//! an inode. Pages that a transaction of the journal holds are in no list: they can neither be dropped nor written
//! back. Memory follows the blocks that were ever touched (4 bytes each) and the capacity, not the requests.

use flashloom_units::{Lists, NO_INDEX};

/// The owner of the file system's own blocks.
pub const METADATA: u32 = 0;

const CHUNK: usize = 1_024;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Residence {
    Clean,
    /// `fresh`: its block was given to the file since the file was written back last.
    Dirty {
        fresh: bool,
    },
    /// In no list: held by a transaction, or about to be put into a list.
    Held,
}

struct Frame {
    block: u32,
    owner: u32,
    state: Residence,
    /// The latest transaction that held it.
    transaction: u32,
}

/// The list of clean pages; the dirty ones of an owner are in the list after it that has the owner's number.
const CLEAN: usize = 0;

/// The list of an owner's dirty pages.
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
    /// Of `capacity` pages, over a disk of `blocks`, for owners numbered below `owners`.
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

    /// Pages that are dirty, those that a transaction holds left out.
    pub fn dirty_pages(&self) -> u32 {
        self.dirty_pages
    }

    /// Whether an owner has dirty pages.
    pub fn is_dirty(&self, owner: u32) -> bool {
        !self.lists.is_empty(dirty(owner))
    }

    /// Whether a block is in memory.
    #[cfg(test)]
    pub fn contains(&self, block: u32) -> bool {
        self.find(block) != NO_INDEX
    }

    /// Whether a block is in memory; then it has just been used.
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

    /// Takes a block in that is being read, if it is not there.
    pub fn insert(&mut self, block: u32, owner: u32) {
        if !self.touch(block) {
            let frame = self.frame(block, owner);
            self.link(frame, Residence::Clean);
        }
    }

    /// A page of a file was written. `fresh` says that its block is new to the file.
    pub fn write(&mut self, block: u32, owner: u32, fresh: bool) {
        let frame = self.frame(block, owner);
        let fresh = fresh || self.frames[frame as usize].state == (Residence::Dirty { fresh: true });
        self.unlink(frame);
        self.link(frame, Residence::Dirty { fresh });
    }

    /// A transaction holds the block from now on. Gives the transaction that held it last, [`NO_INDEX`] if none did.
    pub fn hold(&mut self, block: u32, transaction: u32) -> u32 {
        let frame = self.frame(block, METADATA);
        self.unlink(frame);
        self.frames[frame as usize].state = Residence::Held;
        std::mem::replace(&mut self.frames[frame as usize].transaction, transaction)
    }

    /// A transaction is in the log: unless a later one holds the block, it is dirty. Gives whether it is.
    pub fn let_go(&mut self, block: u32, transaction: u32) -> bool {
        let frame = self.find(block);
        let is_latest = self.frames[frame as usize].transaction == transaction;
        if is_latest {
            self.link(frame, Residence::Dirty { fresh: false });
        }
        is_latest
    }

    /// Takes every dirty page of an owner, by block, with whether it was fresh. They are clean from now on.
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

    /// Forgets a block of a file that was deleted, dirty or not.
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

    /// The block's frame, which it gets if it has none; then it is in no list.
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

    /// Takes a frame out of the list of its state.
    fn unlink(&mut self, frame: u32) {
        let state = std::mem::replace(&mut self.frames[frame as usize].state, Residence::Held);
        if state != Residence::Held {
            self.lists.remove(frame);
            self.dirty_pages -= u32::from(state != Residence::Clean);
        }
    }

    /// Puts a frame that is in no list at the end of the clean list, or of its owner's dirty one.
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
