//! Flash commands that the FTL emits.

use crate::{BlockId, Lpn, Nand, OpId, Origin, Ppn, Urgency};

/// A read of sectors of a page.
///
/// ```
/// use flashloom_nand::{Lpn, Origin, Ppn, Read};
///
/// let beneath = Read::new(Ppn(7), 0b1100, Origin::Host);
/// let for_host = Read { lpn: Lpn(3), tag: 1, ..beneath };
/// assert_eq!(for_host.mask, 0b1100);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// The physical page.
    pub ppn: Ppn,
    /// Mask of the sectors to read.
    pub mask: u32,
    /// Origin of the read.
    pub origin: Origin,
    /// Urgency of the read.
    pub urgency: Urgency,
    /// The logical page that the layer above reads; [`Lpn::NONE`] for a read that only provides data for a program.
    pub lpn: Lpn,
    /// The operation that has to end before the read starts, such as the read of its map entry.
    pub after: OpId,
    /// Tag returned when the read has ended, or [`Nand::NO_TAG`].
    pub tag: u32,
}

impl Read {
    /// A read that provides data for a program, waits for no other operation and has no tag.
    #[inline(always)]
    pub const fn new(ppn: Ppn, mask: u32, origin: Origin) -> Self {
        let (urgency, after) = (Urgency::Needed, OpId::DONE);
        Self { ppn, mask, origin, urgency, lpn: Lpn::NONE, after, tag: Nand::NO_TAG }
    }
}

/// A program of the next page of a block. It starts after all lower pages of the block and after a pending erase of it.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The block.
    pub block: BlockId,
    /// Index of the page in the block; must be the next one.
    pub page: u32,
    /// The data.
    pub data: Data,
    /// Origin of the program.
    pub origin: Origin,
    /// Urgency of the program.
    pub urgency: Urgency,
    /// The operation that has to end before the program starts: a read of its data, or an earlier program of it that
    /// failed.
    pub after: OpId,
    /// Tag returned when the program has ended without failing, or [`Nand::NO_TAG`].
    pub tag: u32,
}

impl Program {
    /// A program that waits for no other operation and has no tag.
    #[inline(always)]
    pub const fn new(block: BlockId, page: u32, data: Data, origin: Origin) -> Self {
        let (urgency, after) = (Urgency::Needed, OpId::DONE);
        Self { block, page, data, origin, urgency, after, tag: Nand::NO_TAG }
    }
}

/// A copy of a page to the next page of a block.
#[derive(Clone, Copy, Debug)]
pub struct PageCopy {
    /// The source page.
    pub from: Ppn,
    /// The target block.
    pub block: BlockId,
    /// Index of the target page in its block; must be the next one.
    pub page: u32,
    /// Origin of the copy.
    pub origin: Origin,
    /// Urgency of the copy.
    pub urgency: Urgency,
}

impl PageCopy {
    /// A copy of urgency [`Urgency::Needed`].
    #[inline(always)]
    pub const fn new(from: Ppn, block: BlockId, page: u32, origin: Origin) -> Self {
        Self { from, block, page, origin, urgency: Urgency::Needed }
    }
}

/// An erase of a block. It starts after all operations emitted for the block before, including programs of copies from
/// it.
#[derive(Clone, Copy, Debug)]
pub struct Erase {
    /// The block.
    pub block: BlockId,
    /// Origin of the erase.
    pub origin: Origin,
    /// Urgency of the erase.
    pub urgency: Urgency,
}

impl Erase {
    /// An erase of urgency [`Urgency::Needed`].
    #[inline(always)]
    pub const fn new(block: BlockId, origin: Origin) -> Self {
        Self { block, origin, urgency: Urgency::Needed }
    }
}

/// A host page, as the layer above the FTL writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPage {
    /// The logical page.
    pub lpn: Lpn,
    /// Mask of the sectors written.
    pub mask: u32,
    /// Sequence number of the write in that layer; wraps to zero after 2^32.
    pub write: u32,
}

impl HostPage {
    /// No host page.
    pub(crate) const NONE: Self = Self { lpn: Lpn::NONE, mask: 0, write: 0 };
}

/// The data of a program.
#[derive(Clone, Copy, Debug)]
pub enum Data {
    /// Sectors of a host page; sectors outside its mask are taken from an older page.
    Host {
        /// The host page, and the mask of the sectors that the host wrote.
        page: HostPage,
        /// The older page that the other sectors are taken from, or none.
        base: Ppn,
    },
    /// The contents of another page.
    Copy(Ppn),
    /// Entries of a map page; unchanged entries are taken from an older copy of it. Until the program has ended, a read
    /// of the map page reads the older copy, and the controller has the changed entries in memory.
    Map {
        /// Number of the map page, as its owner counts them.
        page: u32,
        /// The older copy, or none.
        base: Ppn,
    },
    /// Dummy data that is never read, programmed because a later page of the block is needed.
    Filler,
}

impl Data {
    /// The host page and the source page of this data; none if it has none.
    #[inline]
    pub(crate) const fn parts(self) -> (HostPage, Ppn) {
        match self {
            Self::Host { page, base } => (page, base),
            Self::Copy(from) => (HostPage::NONE, from),
            Self::Map { base, .. } => (HostPage::NONE, base),
            Self::Filler => (HostPage::NONE, Ppn::NONE),
        }
    }
}
