//! The journal, after jbd2: one running transaction that takes in changes, at most one that is being committed, and a
//! log.
//!
//! ```text
//! commit:      a descriptor block for every 254 blocks, the blocks, wait; the commit block behind a flush, with FUA
//! checkpoint:  when the log has no room: write every logged block to its place, wait; flush; the journal's superblock
//! ```
//! A block that changes again before its transaction commits costs nothing; one commit serves all threads that wait for
//! it. The caller writes the blocks of a checkpoint, because they are dirty pages like any other.

use crate::Request;

use super::Io;
use super::layout::Extent;

/// Blocks listed by one descriptor block.
const DESCRIBED: u32 = 254;
/// Requests that the journal keeps outstanding at most: the default `nr_requests` of a Linux queue.
pub const DEPTH: u32 = 128;

/// State of the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing is being written.
    #[default]
    Idle,
    /// Logged blocks are being written to their places.
    Checkpoint,
    /// The flush after a checkpoint's writes.
    CheckpointFlush,
    /// Writing the journal's superblock, which records the new start of the log.
    Superblock,
    /// Writing a transaction to the log, block by block.
    Log { next: u32 },
    /// Writing the block that ends a transaction.
    CommitBlock,
}

/// The journal of a file system.
#[derive(Default)]
pub struct Journal {
    log: Extent,
    /// Log block to be written next, and number of free log blocks, without the superblock.
    head: u32,
    free: u32,
    phase: Phase,
    running: u32,
    blocks: Vec<u32>,
    committing: Vec<u32>,
    /// The transaction that somebody waits for.
    wanted: Option<u32>,
    in_flight: u32,
}

impl Journal {
    /// A journal with an empty log.
    pub fn new(log: Extent) -> Self {
        Self { log, free: log.blocks - 1, running: 1, ..Self::default() }
    }

    /// The running transaction: the one that takes in changes.
    pub fn running(&self) -> u32 {
        self.running
    }

    /// True if a transaction has been committed.
    pub fn is_committed(&self, transaction: u32) -> bool {
        let is_committing = matches!(self.phase, Phase::Log { .. } | Phase::CommitBlock);
        transaction < self.running - u32::from(is_committing)
    }

    /// Adds a new block to the running transaction. A transaction that fills a quarter of the log is
    /// committed at once.
    pub fn join(&mut self, block: u32) {
        self.blocks.push(block);
        if self.is_full() {
            self.want(self.running);
        }
    }

    /// True if no further change may join before the next commit begins.
    pub fn is_full(&self) -> bool {
        self.blocks.len() as u32 >= self.log.blocks / 4
    }

    /// Requests the commit of a transaction, if it holds any block.
    pub fn want(&mut self, transaction: u32) {
        if transaction == self.running && !self.blocks.is_empty() {
            self.wanted = Some(transaction);
        }
    }

    /// Takes the blocks of the committed transaction, for the caller to release.
    pub fn take_committed(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.committing)
    }

    /// Takes the list of [`Self::take_committed`] back, so that its memory is reused.
    pub fn give_back(&mut self, mut blocks: Vec<u32>) {
        blocks.clear();
        self.committing = blocks;
    }

    /// Returns true if a checkpoint begins: the caller then writes every logged block that is dirty now.
    pub fn begin_checkpoint(&mut self) -> bool {
        if self.phase != Phase::Idle || self.wanted.is_none() || self.need() <= self.free {
            return false;
        }
        self.phase = Phase::Checkpoint;
        true
    }

    /// Requests of the journal and its checkpoint that have not completed.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Counts a checkpoint request that was issued.
    pub fn checkpoint_write(&mut self) {
        self.in_flight += 1;
    }

    fn need(&self) -> u32 {
        log_blocks(self.blocks.len() as u32)
    }

    /// Returns the journal's next request, if one may be issued now. `checkpointed`: the checkpoint has no more
    /// requests to issue.
    pub fn next(&mut self, checkpointed: bool) -> Option<Io> {
        match self.phase {
            Phase::Idle if self.wanted.is_some() && self.need() <= self.free => {
                std::mem::swap(&mut self.blocks, &mut self.committing);
                self.running += 1;
                self.wanted = None;
                self.phase = Phase::Log { next: 0 };
            }
            Phase::Checkpoint if checkpointed && self.in_flight == 0 => {
                self.phase = Phase::CheckpointFlush;
                self.in_flight += 1;
                return Some(Io::flush());
            }
            _ => {}
        }
        let Phase::Log { next } = self.phase else { return None };
        let data = log_blocks(self.committing.len() as u32) - 1;
        if next < data {
            if self.in_flight == DEPTH {
                return None;
            }
            self.phase = Phase::Log { next: next + 1 };
            return Some(self.append(Request::SYNC));
        }
        if self.in_flight > 0 {
            return None;
        }
        self.phase = Phase::CommitBlock;
        Some(self.append(Request::SYNC | Request::PREFLUSH | Request::FUA))
    }

    /// Counts the completion of a request of the journal or its checkpoint. Returns the request that follows it at
    /// once, and a transaction that has been committed by it: the caller releases its blocks and wakes the threads
    /// that wait for it.
    pub fn completed(&mut self) -> (Option<Io>, Option<u32>) {
        self.in_flight -= 1;
        match self.phase {
            Phase::CheckpointFlush => {
                self.phase = Phase::Superblock;
                self.in_flight += 1;
                return (Some(Io::write(self.log.start, Request::SYNC | Request::FUA)), None);
            }
            Phase::Superblock => {
                self.free = self.log.blocks - 1;
                self.phase = Phase::Idle;
            }
            Phase::CommitBlock => {
                self.phase = Phase::Idle;
                return (None, Some(self.running - 1));
            }
            Phase::Idle | Phase::Checkpoint | Phase::Log { .. } => {}
        }
        (None, None)
    }

    /// Writes the next block of the log, which wraps around to the block after the superblock.
    fn append(&mut self, flags: u8) -> Io {
        let block = self.log.start + 1 + self.head;
        self.head = (self.head + 1) % (self.log.blocks - 1);
        self.free -= 1;
        self.in_flight += 1;
        Io::write(block, flags)
    }
}

/// Log blocks needed by a transaction of `blocks` blocks: descriptors, blocks, the commit block.
fn log_blocks(blocks: u32) -> u32 {
    blocks + blocks.div_ceil(DESCRIBED) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    fn journal() -> Journal {
        Journal::new(Extent { start: 100, blocks: 17 })
    }

    #[test]
    fn a_commit_writes_descriptor_and_blocks_and_then_the_commit_block_behind_a_flush() {
        let mut journal = journal();
        journal.join(7);
        journal.join(8);
        assert_eq!(journal.next(true), None, "nobody asks for a commit");
        journal.want(1);
        let written: Vec<u32> = std::iter::from_fn(|| journal.next(true)).map(|io| io.block).collect();
        assert_eq!(written, [101, 102, 103]);
        assert!(!journal.is_committed(1));
        for _ in 0..2 {
            journal.completed();
            assert_eq!(journal.next(true), None, "the commit block waits for all the others");
        }
        journal.completed();
        let commit = journal.next(true).expect("all are there");
        assert_eq!((commit.block, commit.flags), (104, Request::SYNC | Request::PREFLUSH | Request::FUA));
        assert_eq!(journal.completed(), (None, Some(1)));
        assert_eq!(journal.take_committed(), [7, 8]);
        assert!(journal.is_committed(1) && !journal.is_committed(2));
    }

    #[test]
    fn changes_during_a_commit_wait_for_the_next_one() {
        let mut journal = journal();
        journal.join(7);
        journal.want(1);
        assert!(journal.next(true).is_some());
        journal.join(7);
        assert_eq!(journal.running(), 2);
        journal.want(2);
        assert!(journal.next(true).is_some(), "the block of the first transaction");
        assert_eq!(journal.next(true), None);
    }

    #[test]
    fn a_full_log_is_checkpointed_before_the_next_commit() {
        let mut journal = journal();
        for transaction in 1..=5 {
            journal.join(7);
            journal.want(transaction);
            assert!(!journal.begin_checkpoint());
            while journal.next(true).is_some() {}
            journal.completed();
            journal.completed();
            assert!(journal.next(true).is_some());
            journal.completed();
            let blocks = journal.take_committed();
            journal.give_back(blocks);
        }
        journal.join(7);
        journal.want(6);
        assert!(journal.begin_checkpoint(), "16 blocks hold five commits of three");
        journal.checkpoint_write();
        assert_eq!(journal.next(true), None);
        journal.completed();
        assert_eq!(journal.next(true).map(|io| io.op), Some(Op::Flush));
        assert_eq!(journal.completed(), (Some(Io::write(100, Request::SYNC | Request::FUA)), None));
        journal.completed();
        assert_eq!(journal.next(true).map(|io| io.block), Some(116), "the log goes on where it was");
    }
}
