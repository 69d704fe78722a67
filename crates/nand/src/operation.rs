//! Flash operations in flight, their identity and result, and the counters of them.

use crate::{BlockId, DieId, Lpn, PlaneId, Ppn};
use flashloom_units::NO_INDEX;
use serde::{Deserialize, Serialize};

use crate::event::{Command, OperationKind};

/// On whose behalf an operation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Origin {
    /// A host request or the eviction of its data from the write buffer.
    Host,
    /// Garbage collection of a page map.
    Gc,
    /// A merge of log blocks.
    Merge,
    /// Reading or writing the mapping itself.
    Map,
    /// Wear levelling.
    Wear,
}

impl Origin {
    /// All origins, in the order of the counters.
    pub const ALL: [Origin; 5] = [Origin::Host, Origin::Gc, Origin::Merge, Origin::Map, Origin::Wear];

    /// As in a result.
    pub const fn name(self) -> &'static str {
        ["host", "gc", "merge", "map", "wear"][self as usize]
    }
}

/// Whether somebody waits for work that is not the host's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Urgency {
    /// It is part of a job that is not interrupted: what the host asks of the die meanwhile waits until it is over.
    Blocking,
    /// A host write cannot go on for long without it: it has the priority of host programs. Work with less would be
    /// overtaken by the very writes that wait for it.
    Needed,
    /// It is done ahead of need: everything of the host goes first.
    Spare,
}

/// Operations by origin, in the order of [`Origin::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pages read from the array.
    pub reads: [u64; 5],
    /// Pages programmed, copies included.
    pub programs: [u64; 5],
    /// Blocks erased.
    pub erases: [u64; 5],
    /// Those of the programs that failed.
    pub failed_programs: [u64; 5],
    /// Those of the erases that failed.
    pub failed_erases: [u64; 5],
}

/// Names an emitted operation, so that one emitted in the same step can wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpId(pub(crate) u32);

impl OpId {
    /// An operation that is done: waiting for it is not waiting.
    pub const DONE: Self = Self(NO_INDEX);
    /// The same of a page of the map that could not be read: what is read after it is given up.
    pub(crate) const UNREADABLE: Self = Self(NO_INDEX - 1);
}

/// The result of a program or an erase, as a chip's status has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was done.
    Passed,
    /// Its block is bad from now on: no program or erase may follow, and what the page holds is lost. What replaces the
    /// operation waits for it, because nobody knows of the failure before it has ended.
    Failed(OpId),
}

impl Status {
    pub(crate) fn new(failed: bool, operation: OpId) -> Self {
        if failed { Self::Failed(operation) } else { Self::Passed }
    }
}

/// Whether an operation waits for the one that it was emitted after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Waits {
    No,
    Yes,
    /// So does a read, in the life of its block that it was emitted for.
    InItsLife,
}

/// An operation in flight in the timed back end: one cache line, and not parts of two.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(align(64))]
pub(crate) struct Operation {
    pub(crate) ppn: Ppn,
    pub(crate) block: BlockId,
    /// Where the page is; kept because every step asks for it.
    pub(crate) plane: PlaneId,
    /// Copy source of a program, page beneath a partial write, or none.
    pub(crate) from: Ppn,
    /// The logical page that a read returns, or whose data a program writes, or none.
    pub(crate) lpn: Lpn,
    /// Which write of that page a program for the host does; of a program of the map the number of its page, from 1; of
    /// a read its retries, or [`Self::NOT_ASKED`].
    pub(crate) write: u32,
    pub(crate) mask: u32,
    pub(crate) tag: u32,
    /// Next in the plane's queue, the block's list, the die's group or the free list: it is in one at a time.
    pub(crate) next: u32,
    /// First of the operations that wait for this one.
    pub(crate) waiters: u32,
    /// Next of those that wait for the same operation.
    pub(crate) sibling: u32,
    /// The program of the page that a read asks for, or that a program takes data from, if that had not ended when this
    /// was emitted.
    pub(crate) before: u32,
    /// Counts the operations in order of emission; [`Self::ENDED`] afterwards.
    pub(crate) sequence: u64,
    /// Index of the page in its block; kept for the same reason as the plane.
    pub(crate) page: u16,
    pub(crate) kind: OperationKind,
    pub(crate) origin: Origin,
    pub(crate) waits: Waits,
    /// Which queue of its plane it goes to.
    pub(crate) class: u8,
    pub(crate) urgency: Urgency,
    /// It takes its time, and its block is bad; or a read does not bring its data.
    pub(crate) failed: bool,
}

const _: () = assert!(size_of::<Operation>() == 64);

impl Operation {
    /// The sequence number of an operation that has ended.
    pub(crate) const ENDED: u64 = u64::MAX;
    /// In the place of a read's retries: they are known when a die takes it up.
    pub(crate) const NOT_ASKED: u32 = u32::MAX;

    pub(crate) fn new(kind: OperationKind, ppn: Ppn, block: BlockId, origin: Origin, tag: u32) -> Self {
        Self {
            ppn,
            block,
            plane: PlaneId::NONE,
            from: Ppn::NONE,
            lpn: Lpn::NONE,
            write: 0,
            mask: 0,
            tag,
            next: NO_INDEX,
            waiters: NO_INDEX,
            sibling: NO_INDEX,
            before: NO_INDEX,
            sequence: 0,
            page: 0,
            kind,
            origin,
            waits: Waits::No,
            class: 0,
            urgency: Urgency::Needed,
            failed: false,
        }
    }

    pub(crate) fn is_read(&self) -> bool {
        self.kind == OperationKind::Read
    }

    /// The page of the map that a program writes, if it does.
    pub(crate) fn map_page(&self) -> Option<u32> {
        if self.lpn.is_some() || self.is_read() { None } else { self.write.checked_sub(1) }
    }

    /// As those who look at the array see it.
    pub(crate) fn command(&self, number: u32, die: DieId) -> Command {
        let Self { kind, ppn, block, from, lpn, mask, origin, urgency, tag, .. } = *self;
        let write = if lpn.is_some() && !self.is_read() { self.write } else { 0 };
        Command { number, kind, ppn, block, die, from, lpn, write, mask, origin, urgency, tag }
    }
}
