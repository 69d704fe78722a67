//! Flash commands as the FTL emits them.

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
    /// Which page.
    pub ppn: Ppn,
    /// Which of its sectors.
    pub mask: u32,
    /// On whose behalf.
    pub origin: Origin,
    /// Who waits for it.
    pub urgency: Urgency,
    /// The logical page that the layer above asks for, or [`Lpn::NONE`] where what is read serves a program.
    pub lpn: Lpn,
    /// The operation that it starts after: where a page is must be known before it is read.
    pub after: OpId,
    /// Handed back when the data is there, or [`Nand::NO_TAG`].
    pub tag: u32,
}

impl Read {
    /// A read that serves a program, starts at once and gives no notice.
    #[inline(always)]
    pub const fn new(ppn: Ppn, mask: u32, origin: Origin) -> Self {
        let (urgency, after) = (Urgency::Needed, OpId::DONE);
        Self { ppn, mask, origin, urgency, lpn: Lpn::NONE, after, tag: Nand::NO_TAG }
    }
}

/// A program of the next page of a block. It starts after every page below it, and after a pending erase of the block.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Which block.
    pub block: BlockId,
    /// Which of its pages: the next one.
    pub page: u32,
    /// What is written.
    pub data: Data,
    /// On whose behalf.
    pub origin: Origin,
    /// Who waits for it.
    pub urgency: Urgency,
    /// The operation that it starts after: a read of what it writes, or a program of it that failed.
    pub after: OpId,
    /// Handed back when it ends, unless it fails, or [`Nand::NO_TAG`].
    pub tag: u32,
}

impl Program {
    /// A program that waits for no other operation and gives no notice.
    #[inline(always)]
    pub const fn new(block: BlockId, page: u32, data: Data, origin: Origin) -> Self {
        let (urgency, after) = (Urgency::Needed, OpId::DONE);
        Self { block, page, data, origin, urgency, after, tag: Nand::NO_TAG }
    }
}

/// A copy of a page to the next page of a block.
#[derive(Clone, Copy, Debug)]
pub struct PageCopy {
    /// The page that is copied.
    pub from: Ppn,
    /// The block that it is copied to.
    pub block: BlockId,
    /// Which of its pages: the next one.
    pub page: u32,
    /// On whose behalf.
    pub origin: Origin,
    /// Who waits for it.
    pub urgency: Urgency,
}

impl PageCopy {
    /// A copy that a host write cannot go on for long without.
    #[inline(always)]
    pub const fn new(from: Ppn, block: BlockId, page: u32, origin: Origin) -> Self {
        Self { from, block, page, origin, urgency: Urgency::Needed }
    }
}

/// An erase of a block, after everything that was emitted for it, the programs of its copies included.
#[derive(Clone, Copy, Debug)]
pub struct Erase {
    /// Which block.
    pub block: BlockId,
    /// On whose behalf.
    pub origin: Origin,
    /// Who waits for it.
    pub urgency: Urgency,
}

impl Erase {
    /// An erase that a host write cannot go on for long without.
    #[inline(always)]
    pub const fn new(block: BlockId, origin: Origin) -> Self {
        Self { block, origin, urgency: Urgency::Needed }
    }
}

/// A page as the layer above the FTL writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPage {
    /// Which logical page.
    pub lpn: Lpn,
    /// Which of its sectors.
    pub mask: u32,
    /// Which write of that layer: they are counted, from the first on, and begin again at zero after 2^32.
    pub write: u32,
}

impl HostPage {
    /// No page of the host.
    pub(crate) const NONE: Self = Self { lpn: Lpn::NONE, mask: 0, write: 0 };
}

/// What a program writes.
#[derive(Clone, Copy, Debug)]
pub enum Data {
    /// Host sectors, over the sectors of an older page where the mask has gaps.
    Host {
        /// Which page, and which of its sectors the host wrote.
        page: HostPage,
        /// The page that the others come from, or none.
        base: Ppn,
    },
    /// The contents of another page.
    Copy(Ppn),
    /// Entries of a map, over those of an older page of it. A read of it takes the older page until the program has
    /// ended: the controller still has the entries that have changed.
    Map {
        /// Which page of the map, as its owner counts them.
        page: u32,
        /// The older page, or none.
        base: Ppn,
    },
    /// Nothing that is ever read: a page above it is needed.
    Filler,
}

impl Data {
    /// The page of the host that it is, and the page of the array that it comes from; none where there is none.
    #[inline]
    pub(crate) const fn parts(self) -> (HostPage, Ppn) {
        match self {
            Self::Host { page, base } => (page, base),
            Self::Copy(from) => (HostPage::NONE, from),
            Self::Map { page, base } => (HostPage { write: page + 1, ..HostPage::NONE }, base),
            Self::Filler => (HostPage::NONE, Ppn::NONE),
        }
    }
}
