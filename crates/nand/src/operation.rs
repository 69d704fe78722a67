//! Flash operations in flight, their identity and result, and the counters of them.

use crate::{BlockId, DieId, Lpn, PlaneId, Ppn};
use flashloom_units::{NO_INDEX, Reader, State, StateError, Writer};
use serde::{Deserialize, Serialize};

use crate::event::{Command, OperationKind};

flashloom_units::names! {
    /// The cause of an operation. Counters by origin are in this order.
    #[repr(u8)]
    pub enum Origin {
        /// A host request or the eviction of its data from the write buffer.
        Host = "host",
        /// Garbage collection of a page map.
        Gc = "gc",
        /// A merge of log blocks.
        Merge = "merge",
        /// Reading or writing the mapping itself.
        Map = "map",
        /// Wear levelling.
        Wear = "wear",
        /// Folding: moving pages out of an SLC cache.
        Fold = "fold",
    }
}

/// A count for each origin, in the order of [`Origin::ALL`].
pub type ByOrigin = [u64; Origin::COUNT];

/// Origins whose counts every state has, the first of [`Origin::ALL`]. Only the state of an array with another cell
/// mode has the counts of the last one.
const SAVED: usize = Origin::Fold as usize;

/// Saves the counts that every state has.
pub(crate) fn save_counts(to: &mut Writer, counts: &ByOrigin) {
    counts[..SAVED].iter().for_each(|count| to.value(count));
}

/// Loads what [`save_counts`] saved.
pub(crate) fn load_counts(from: &mut Reader) -> Result<ByOrigin, StateError> {
    let mut counts = ByOrigin::default();
    for count in &mut counts[..SAVED] {
        *count = from.value()?;
    }
    Ok(counts)
}

/// Urgency of an operation, relative to those of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Urgency {
    /// Part of an uninterrupted job: host operations on its die wait until the job is over.
    Blocking,
    /// A host write depends on it, so it has the priority of host programs. With a lower priority, writes would
    /// overtake the operation that they wait for.
    Needed,
    /// Done ahead of need: all host operations have priority.
    Spare,
}

/// Operations by origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages read from the array.
    pub reads: ByOrigin,
    /// Pages programmed, copies included.
    pub programs: ByOrigin,
    /// Blocks erased.
    pub erases: ByOrigin,
    /// Failed programs; `programs` includes them.
    pub failed_programs: ByOrigin,
    /// Failed erases; `erases` includes them.
    pub failed_erases: ByOrigin,
}

impl Counts {
    fn kinds(&mut self) -> [&mut ByOrigin; 5] {
        let Self { reads, programs, erases, failed_programs, failed_erases } = self;
        [reads, programs, erases, failed_programs, failed_erases]
    }

    /// Saves the counts of folding, which only some arrays have.
    pub(crate) fn save_folds(mut self, to: &mut Writer) {
        self.kinds().into_iter().for_each(|counts| to.value(&counts[SAVED]));
    }

    /// Loads what [`Self::save_folds`] saved.
    pub(crate) fn load_folds(&mut self, from: &mut Reader) -> Result<(), StateError> {
        self.kinds().into_iter().try_for_each(|counts| {
            counts[SAVED] = from.value()?;
            Ok(())
        })
    }
}

impl State for Counts {
    fn save(&self, to: &mut Writer) {
        let mut counts = *self;
        counts.kinds().into_iter().for_each(|counts| save_counts(to, counts));
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        self.kinds().into_iter().try_for_each(|counts| {
            *counts = load_counts(from)?;
            Ok(())
        })
    }
}

/// Id of an emitted operation, so that one emitted in the same call can be ordered after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpId(pub(crate) u32);

impl OpId {
    /// An operation that has ended: nothing waits for it.
    pub const DONE: Self = Self(NO_INDEX);
    /// A read of a map page that has ended without its data: host reads ordered after it are given up.
    pub(crate) const UNREADABLE: Self = Self(NO_INDEX - 1);

    /// Whether this is a read of a map page that has ended without its data, as in counting mode.
    pub fn is_unreadable(self) -> bool {
        self == Self::UNREADABLE
    }
}

/// Identity of an operation for calls after the one that emitted it. An [`OpId`] is reused when its operation has
/// ended; the sequence number is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emitted {
    /// Number of the operation, unique among those in flight, and below the most that ever were.
    pub number: u32,
    /// Sequence number of the operation in order of emission.
    pub sequence: u64,
}

/// Result of a program or an erase, as a chip's status register reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Passed,
    /// Failure: the block is bad from now on. No program or erase may follow, and the data of the page is lost. The
    /// operation that replaces it has to wait for this one, whose failure is known only at its end.
    Failed(OpId),
}

impl Status {
    pub(crate) fn new(failed: bool, operation: OpId) -> Self {
        if failed { Self::Failed(operation) } else { Self::Passed }
    }
}

/// Whether an operation waits for the one that it is ordered after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Waits {
    No,
    Yes,
    /// A read waits, and counts for the life of its block (the time between two erases) that it was emitted for.
    InItsLife,
}

/// An operation in flight in timed mode. Exactly one cache line, and aligned to it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(align(64))]
pub(crate) struct Operation {
    pub(crate) ppn: Ppn,
    pub(crate) block: BlockId,
    /// Plane of the page; stored because every step needs it.
    pub(crate) plane: PlaneId,
    /// Source page of a copy, old copy for a partial write, or none.
    pub(crate) from: Ppn,
    /// The logical page that a read returns or a program writes, or none.
    pub(crate) lpn: Lpn,
    /// For a host program, the sequence number of the write; else 0.
    pub(crate) write: u32,
    pub(crate) mask: u32,
    pub(crate) tag: u32,
    /// Next operation in the one list that it is in: the plane's queue, the block's list, the die's group, or the free
    /// list.
    pub(crate) next: u32,
    /// First operation that waits for this one.
    pub(crate) waiters: u32,
    /// Next operation that waits for the same one.
    pub(crate) sibling: u32,
    /// The program of the page that a read asks for, or that a program takes data from, if it had not ended when this
    /// operation was emitted.
    pub(crate) before: u32,
    /// Sequence number in order of emission; [`Self::ENDED`] after its end.
    pub(crate) sequence: u64,
    /// Row of the page in the table of times ([`crate::region`]); stored for the same reason as the plane.
    pub(crate) row: u16,
    pub(crate) kind: OperationKind,
    pub(crate) origin: Origin,
    pub(crate) waits: Waits,
    /// Class, which is the queue of its plane that it enters.
    pub(crate) class: u8,
    pub(crate) urgency: Urgency,
    /// Whether it will fail. A program or an erase takes its time, and its block is bad; a read does not return its
    /// data.
    pub(crate) failed: bool,
}

const _: () = assert!(size_of::<Operation>() == 64);

impl Operation {
    /// The sequence number of an operation that has ended.
    pub(crate) const ENDED: u64 = u64::MAX;

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
            row: 0,
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

    /// The operation as observers see it, on an array whose blocks have so many pages.
    pub(crate) fn command(&self, number: u32, die: DieId, pages: u32) -> Command {
        let Self { kind, ppn, block, from, lpn, write, mask, origin, urgency, tag, .. } = *self;
        let in_other_mode = u32::from(self.row) >= pages;
        Command { number, kind, ppn, block, die, from, lpn, write, mask, origin, urgency, tag, in_other_mode }
    }
}
