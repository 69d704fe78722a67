//! What a policy of reliability is, and what it is built for.

use flashloom_units::{Component, Ns, Prng, Role};

use crate::{BlockId, Geometry, Ppn};

/// What is known of a page at the moment when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageCondition {
    /// Which page.
    pub ppn: Ppn,
    /// Its block.
    pub block: BlockId,
    /// Its index in the block.
    pub page: u32,
    /// Wear: erases of the block since it was new.
    pub erases: u32,
    /// Age of the data: simulated time since the program of the page ended. Zero in counting mode, where no time
    /// passes; what was there when time began is as old as the time.
    pub age_ns: Ns,
    /// Reads of the block since its last erase, this one not among them.
    pub reads: u64,
}

impl PageCondition {
    /// A page of a block that was erased so often, just programmed and never read.
    pub const fn new(ppn: Ppn, block: BlockId, page: u32, erases: u32) -> Self {
        Self { ppn, block, page, erases, age_ns: 0, reads: 0 }
    }
}

/// How the array reads a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How often the read is repeated. Each time takes the array one more tR of the page.
    pub retries: u16,
    /// Whether the data is there in the end.
    pub is_readable: bool,
}

impl Reading {
    /// The data is there at once.
    pub const AT_ONCE: Self = Self::after(0);

    /// The data is there after so many retries.
    pub const fn after(retries: u16) -> Self {
        Self { retries, is_readable: true }
    }

    /// The data is not there after so many retries, and the drive gives up.
    pub const fn never(retries: u16) -> Self {
        Self { retries, is_readable: false }
    }
}

/// A policy of reliability: which reads are repeated, and which fail.
pub trait Reliability: Component {
    /// A page is read. Called once for each read: of a read for the host or of the map when the array takes it, and of
    /// one that a program needs when the FTL asks for it; in counting mode always then.
    fn read(&mut self, page: &PageCondition) -> Reading;

    /// Whether [`Self::read`] ever says anything but [`Reading::AT_ONCE`]. Asked once; a policy that never does is not
    /// asked, and the array keeps nothing for it.
    fn is_asked(&self) -> bool {
        true
    }
}

/// What a policy of reliability is built for.
#[derive(Clone, Copy, Debug)]
pub struct ReliabilitySetup<'a> {
    /// The array.
    pub geometry: &'a Geometry,
    /// The root of the run's random streams: a policy that draws branches off its own.
    pub prng: &'a Prng,
}

impl Role for dyn Reliability {
    type Site<'a> = ReliabilitySetup<'a>;
    type Profile = ();
    type Context<'a> = ReliabilitySetup<'a>;
}
