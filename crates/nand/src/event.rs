//! What happens in the array, for those who look: the checks of a verified run, the anatomy of latency, pictures.

use crate::{BlockId, DieId, Lpn, Origin, Ppn, Urgency};
use flashloom_units::Ns;
use serde::{Deserialize, Serialize};

/// What an operation does.
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
    /// Not a command, and never told: the data of a page is on its way to another block, and the page's own must not be
    /// erased.
    Hold,
}

/// A flash operation, as the chips see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its number among those that have not ended; used again after that.
    pub number: u32,
    /// What it does.
    pub kind: OperationKind,
    /// Which page; of an erase the first of the block. A read of a page that is being moved may begin at another one.
    pub ppn: Ppn,
    /// The block of that page.
    pub block: BlockId,
    /// The die of that block.
    pub die: DieId,
    /// Where a program's data comes from: the source of a copy, or the page beneath a partial write; or none.
    pub from: Ppn,
    /// The logical page that a read returns to the host, or whose data a program writes for it; none for other
    /// operations, and for reads that serve a program.
    pub lpn: Lpn,
    /// Which write of that page a program for the host does, as [`HostPage`](crate::HostPage) has it.
    pub write: u32,
    /// Which sectors a read takes, or the host wrote.
    pub mask: u32,
    /// On whose behalf.
    pub origin: Origin,
    /// Who waits for it.
    pub urgency: Urgency,
    /// Whose notice of completion it carries, or [`Nand::NO_TAG`](crate::Nand::NO_TAG).
    pub tag: u32,
}

/// Something that happened in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The FTL asks for an operation, which begins after the one of the given number, if any.
    Issued(Command, Option<u32>),
    /// Nothing but its die holds back an operation any more. Where the event follows the end of another operation at
    /// the same time, that end is what it waited for.
    Queued {
        /// Its number.
        number: u32,
        /// The die: of a read of a page that is being moved, the one where the page still is.
        die: DieId,
    },
    /// A read waits for the program of a page, from which the page that it asks for is being copied.
    Held {
        /// Its number.
        number: u32,
        /// The number of the program.
        by: u32,
    },
    /// A die takes an operation up: commands, and the data of a program, take the channel.
    Started {
        /// What it is.
        command: Command,
        /// When the array begins, in the die that is idle; for a program that is staged, when its data is in the die.
        array_from: Ns,
        /// Time of the channel that it takes until then.
        transfer_ns: Ns,
        /// Whether it waits for the program that its die is at (cache program), to begin by [`Event::Began`].
        is_staged: bool,
    },
    /// A staged operation is what its die works at from now on.
    Began {
        /// Its number.
        number: u32,
        /// When the array begins.
        array_from: Ns,
    },
    /// The operations that a die is at are suspended; the die takes nothing else up before it is settled.
    Suspended {
        /// Which die.
        die: DieId,
        /// When it can take up reads.
        settled: Ns,
    },
    /// The suspended operations of a die go on.
    Resumed {
        /// Which die.
        die: DieId,
        /// When the array goes on.
        array_from: Ns,
    },
    /// The array has a page: its data crosses the channel.
    Transferring {
        /// The number of the read.
        number: u32,
        /// When it has crossed.
        ends: Ns,
        /// Time of the channel that it takes.
        transfer_ns: Ns,
    },
    /// The die that has just taken up a read repeats it, or another page's that it reads by the same command.
    Repeated {
        /// The number of the read.
        number: u32,
        /// How often it is repeated itself.
        retries: u32,
        /// By how much longer the array works at the command for it.
        array_ns: Ns,
    },
    /// An operation has ended; its number is free.
    Ended {
        /// What it was.
        command: Command,
        /// Whether it failed: the block of a program or an erase is bad, and a read did not bring its data, or asked
        /// for sectors that were lost before.
        failed: bool,
    },
    /// A read for the host ends that no die has taken up, because the page of the map that says where its own is could
    /// not be read; its number is free.
    Missed {
        /// What it was.
        command: Command,
    },
    /// The FTL begins a collection, a merge, or moves the data of a block that is little worn.
    JobBegan {
        /// Which of them.
        origin: Origin,
        /// The block that it is to free, of several the first.
        block: BlockId,
    },
    /// That job is over: its last operation was asked for.
    JobEnded {
        /// Which of them.
        origin: Origin,
        /// The block that it has freed.
        block: BlockId,
    },
}
