//! The interface of a policy of read reliability, and what it is built from.

use flashloom_units::{Component, Ns, Prng, Role};

use crate::{BlockId, Geometry, Ppn};

/// Condition of a page at the time when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageCondition {
    /// The physical page.
    pub ppn: Ppn,
    /// Its block.
    pub block: BlockId,
    /// Its index in the block.
    pub page: u32,
    /// Wear: erases of the block since it was new.
    pub erases: u32,
    /// Age of the data: simulated time since the program of the page ended. Zero in counting mode, where no time
    /// passes. Data written before time began has existed since time zero.
    pub age_ns: Ns,
    /// Reads of the block since its last erase, without this one.
    pub reads: u64,
}

impl PageCondition {
    /// A page just programmed and never read, in a block with this many erases.
    pub const fn new(ppn: Ppn, block: BlockId, page: u32, erases: u32) -> Self {
        Self { ppn, block, page, erases, age_ns: 0, reads: 0 }
    }
}

/// Outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Number of retries. Each adds one tR of the page to the array time.
    pub retries: u16,
    /// Whether the data was read in the end.
    pub is_readable: bool,
}

impl Reading {
    /// The read succeeds without a retry.
    pub const AT_ONCE: Self = Self::after(0);

    /// The read succeeds after this many retries.
    pub const fn after(retries: u16) -> Self {
        Self { retries, is_readable: true }
    }

    /// The read fails after this many retries.
    pub const fn never(retries: u16) -> Self {
        Self { retries, is_readable: false }
    }
}

/// A policy of read reliability: it decides how often a read is repeated and whether it fails.
pub trait Reliability: Component {
    /// Called once for each read. A host read or a read of the map is decided when a die begins it; a read that
    /// provides data for a program when the FTL emits it; in counting mode every read when it is emitted.
    fn read(&mut self, page: &PageCondition) -> Reading;

    /// Whether [`Self::read`] can return anything but [`Reading::AT_ONCE`]. Called once. If false, `read` is never
    /// called, and the array keeps no data for the policy.
    fn is_asked(&self) -> bool {
        true
    }
}

/// What a policy of read reliability is built from.
#[derive(Clone, Copy, Debug)]
pub struct ReliabilitySetup<'a> {
    /// The array.
    pub geometry: &'a Geometry,
    /// Root of the run's random streams. A policy that draws random numbers takes a branch of its own.
    pub prng: &'a Prng,
}

impl Role for dyn Reliability {
    type Site<'a> = ReliabilitySetup<'a>;
    type Profile = ();
    type Context<'a> = ReliabilitySetup<'a>;
}
