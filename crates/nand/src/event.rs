//! Events of the array for observers: the checks of a verified run, the anatomy of latency, pictures.

use crate::{BlockId, DieId, Lpn, Origin, Ppn, Urgency};
use flashloom_units::Ns;
use serde::{Deserialize, Serialize};

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperationKind {
    /// Reads a page.
    Read,
    /// Programs a page.
    Program,
    /// Copies a page within its die.
    Copyback,
    /// Erases a block.
    Erase,
    /// Internal, never reported: holds off the erase of a block while a page of it is being copied to another block.
    Hold,
}

/// Kinds of operations that a die runs: the first of [`OperationKind`].
pub(crate) const KINDS: usize = OperationKind::Hold as usize;

/// A flash operation as the chips see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Number of the operation, unique among those that have not ended; reused afterwards.
    pub number: u32,
    /// Kind of the operation.
    pub kind: OperationKind,
    /// The physical page; for an erase the first of the block. A read of a page that is being moved may start at
    /// another one.
    pub ppn: Ppn,
    /// The block of that page.
    pub block: BlockId,
    /// The die of that block.
    pub die: DieId,
    /// Source of a program's data, or none: the source of a copy, or the old copy for a partial write.
    pub from: Ppn,
    /// The logical page that a read returns to the host or a program writes for it. None for other operations, and for
    /// reads that only provide data for a program.
    pub lpn: Lpn,
    /// Sequence number of the write that a host program belongs to, as in [`HostPage`](crate::HostPage).
    pub write: u32,
    /// Mask of the sectors that a read takes, or that the host wrote.
    pub mask: u32,
    /// Origin of the operation.
    pub origin: Origin,
    /// Urgency of the operation.
    pub urgency: Urgency,
    /// Tag of the operation, or [`Nand::NO_TAG`](crate::Nand::NO_TAG).
    pub tag: u32,
    /// Whether its block is in the other cell mode of the array.
    pub in_other_mode: bool,
}

/// An event in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The FTL emits an operation. It starts after the operation of the given number, if any.
    Issued(Command, Option<u32>),
    /// From now on only its die delays an operation. If this follows the end of another operation at the same time, the
    /// operation waited for that one.
    Queued {
        /// Number of the operation.
        number: u32,
        /// Its die. For a read of a page that is being moved, the die that still has the data.
        die: DieId,
    },
    /// A read waits for a program: the page that it asks for is being copied from the page that is programmed.
    Held {
        /// Number of the read.
        number: u32,
        /// Number of the program.
        by: u32,
    },
    /// A die begins an operation: its command and, for a program, its data are transferred.
    Started {
        /// The operation.
        command: Command,
        /// Start of the array operation if the die is idle. For a staged program, the time at which its data is in the
        /// die.
        array_from: Ns,
        /// Channel time used until then.
        transfer_ns: Ns,
        /// Whether it waits for the program that its die executes (cache program); [`Event::Began`] reports its start.
        is_staged: bool,
    },
    /// A die starts the array operation of a staged program.
    Began {
        /// Number of the operation.
        number: u32,
        /// Start of the array operation.
        array_from: Ns,
    },
    /// A die suspends the operations that it executes. It begins nothing else before `settled`.
    Suspended {
        /// The die.
        die: DieId,
        /// Time from which it can begin reads.
        settled: Ns,
    },
    /// A die resumes its suspended operations.
    Resumed {
        /// The die.
        die: DieId,
        /// Time at which the array operation continues.
        array_from: Ns,
    },
    /// The array has read a page; its data is transferred over the channel.
    Transferring {
        /// Number of the read.
        number: u32,
        /// End of the transfer.
        ends: Ns,
        /// Channel time of the transfer.
        transfer_ns: Ns,
    },
    /// A die that has just begun a read repeats it, or repeats a read on another plane in the same command.
    Repeated {
        /// Number of the read.
        number: u32,
        /// Number of retries of this read.
        retries: u32,
        /// Array time that the retries add to the command.
        array_ns: Ns,
    },
    /// An operation has ended; its number is free.
    Ended {
        /// The operation.
        command: Command,
        /// Whether it failed. After a failed program or erase the block is bad. A failed read did not return its data,
        /// or asked for sectors that were lost earlier.
        failed: bool,
    },
    /// A host read ends before any die has begun it, because the map page with its address could not be read. Its
    /// number is free.
    Missed {
        /// The read.
        command: Command,
    },
    /// The FTL begins a job: a collection, a merge, or the move of a block by wear levelling.
    JobBegan {
        /// Origin of the job.
        origin: Origin,
        /// The block that it will free; with several, the first.
        block: BlockId,
    },
    /// A job has ended: its last operation was emitted.
    JobEnded {
        /// Origin of the job.
        origin: Origin,
        /// The block that it freed.
        block: BlockId,
    },
}
